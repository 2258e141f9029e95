// SPDX-License-Identifier: Apache-2.0
// A sample: what its fields are, how large it becomes, and how it is written (CORE-369 to 393; records.md section 4).
#include "kernel_events/callchain.h"
#include "kernel_events/core/output.h"
#include "kernel_events/core/sample_fields.h"
#include "kernel_events/output_costs.h"

#include <algorithm>
#include <bit>

namespace rkperf::ke {

namespace {

constexpr std::uint64_t kTaskSize = std::uint64_t{1} << 48;
constexpr std::uint64_t kMaxRecord = 0xffff; ///< perf_event_header::size is 16 bits
/// Of a kernel without cgroups, whose hierarchy would have but this one.
constexpr std::uint64_t kRootCgroupId = 1;

std::uint16_t add(std::uint16_t size, std::uint64_t more) { return static_cast<std::uint16_t>(size + more); }

std::uint16_t words_of(std::uint64_t mask) { return static_cast<std::uint16_t>(8 * std::popcount(mask)); }

template <std::size_t N>
std::uint16_t fields_size(const SampleField (&fields)[N], std::uint64_t sample_type, bool in_trailer) {
    std::uint16_t size = 0;
    for (const SampleField& f : fields)
        if (f.in_trailer == in_trailer && (f.sample_type & sample_type)) size = add(size, 8);
    return size;
}

/// Value of register `n` of a mask (CC-047); AArch32 has sp, lr and pc elsewhere (CC-048).
std::uint64_t perf_reg_value(const PtRegs& regs, int n) {
    if (compat_user_mode(regs)) {
        if (n == 31) return regs.regs[13];
        if (n == 30) return regs.regs[14];
        if (n == 15) return regs.pc;
    }
    if (n == 31) return regs.sp;
    if (n == 32) return regs.pc;
    return n <= 30 ? regs.regs[n] : 0;
}

std::uint64_t perf_reg_abi(const TaskBase& task) {
    return task.compat ? PERF_SAMPLE_REGS_ABI_32 : PERF_SAMPLE_REGS_ABI_64;
}

/// The user's registers, also if the sample is in the kernel; none for kernel threads.
void perf_sample_regs_user(Kernel& kernel, PerfSampleData& data, PtRegs& regs) {
    kernel.charge(cost::kUserRegs);
    TaskBase* task = kernel.current();
    data.regs_user = regs.user_mode() ? &regs : task->kthread ? nullptr : kernel.task_pt_regs(task);
    data.regs_user_abi = data.regs_user ? perf_reg_abi(*task) : std::uint64_t{PERF_SAMPLE_REGS_ABI_NONE};
}

/// How much of the user's stack to dump behind `header_size` bytes (CORE-387).
std::uint16_t perf_sample_ustack_size(const Kernel&, const TaskBase& task, std::uint16_t wanted,
                                      std::uint16_t header_size, const PtRegs* regs) {
    if (!regs || !task.mm || !regs->sp || regs->sp >= kTaskSize) return 0;
    auto size = static_cast<std::uint16_t>(std::min<std::uint64_t>(wanted, std::min(kMaxRecord, kTaskSize - regs->sp)));
    const std::uint64_t before = header_size + 2 * sizeof(std::uint64_t);
    if (before + size > kMaxRecord) size = static_cast<std::uint16_t>((kMaxRecord - before - 8 + 7) & ~7u);
    return size;
}

void output_regs(PerfOutputHandle& handle, std::uint64_t abi, const PtRegs* regs, std::uint64_t mask) {
    KernelFrame frame(handle.perf->kernel, KernelSymbol::perf_output_sample_regs);
    std::vector<std::uint64_t> words{abi};
    if (abi != PERF_SAMPLE_REGS_ABI_NONE)
        for (int n = 0; n < 64; ++n)
            if (mask >> n & 1) words.push_back(perf_reg_value(*regs, n));
    handle.perf->kernel.charge(static_cast<std::uint32_t>(words.size() - 1) * cost::kRegister);
    perf_output_words(handle, words);
}

void output_ustack(PerfOutputHandle& handle, std::uint64_t size, const PtRegs* regs) {
    KernelFrame frame(handle.perf->kernel, KernelSymbol::perf_output_sample_ustack);
    perf_output_put(handle, size);
    // Only the word was reserved then; Linux writes a dyn_size all the same (CORE-389).
    if (!size) return;
    const std::uint64_t missing = perf_output_copy_user(handle, regs->sp, size);
    perf_output_skip(handle, missing);
    perf_output_put(handle, size - missing);
}

/// Bytes of raw data with their padding, without the size word before them.
std::uint32_t raw_size(const PerfRawFrag& raw) {
    std::uint32_t sum = 0;
    for (const PerfRawFrag* frag = &raw; frag; frag = frag->next) sum += frag->size;
    return ((sum + sizeof(std::uint32_t) + 7) & ~7u) - sizeof(std::uint32_t);
}

void output_raw(PerfOutputHandle& handle, const PerfRawFrag* raw) {
    if (!raw) {
        const std::uint32_t none[2] = {sizeof(std::uint32_t), 0};
        perf_output_put(handle, none);
        return;
    }
    const std::uint32_t size = raw_size(*raw);
    perf_output_put(handle, size);
    std::uint32_t pad = size;
    for (const PerfRawFrag* frag = raw; frag; frag = frag->next) {
        // Bytes that a copy did not put are not made up for: what follows comes the earlier (RB-062).
        if (frag->copy)
            perf_output_custom(handle, frag->copy, frag->data, frag->size);
        else
            perf_output_copy(handle, frag->data, frag->size);
        pad -= frag->size;
    }
    perf_output_skip(handle, pad);
}

/// Address of the data of an access, physical (CORE-376); kernel addresses are not in the linear map.
std::uint64_t perf_virt_to_phys(Kernel& kernel, std::uint64_t virt) {
    return virt && virt < kTaskSize && kernel.current()->mm ? kernel.virt_to_phys(virt) : 0;
}

} // namespace

void Perf::Impl::perf_event__header_size(PerfEvent& event) {
    perf_event__read_size(event, event.group_leader->nr_siblings);
    const std::uint64_t t = event.attr.sample_type;
    std::uint16_t size = fields_size(kSampleHead, t, false);
    size = add(size, fields_size(kSampleMiddle, t, false));
    size = add(size, fields_size(kSampleTail, t, false));
    if (t & PERF_SAMPLE_READ) size = add(size, event.read_size);
    event.header_size = size;
}

void Perf::Impl::perf_event__id_header_size(PerfEvent& event) {
    event.id_header_size = fields_size(kSampleIdTrailer, event.attr.sample_type, true);
}

bool Perf::perf_register_guest_info_cbs(PerfGuestInfoCallbacks& callbacks) {
    if (impl_->guest_info) return false;
    impl_->guest_info = &callbacks;
    return true;
}
void Perf::perf_unregister_guest_info_cbs(const PerfGuestInfoCallbacks& callbacks) {
    if (impl_->guest_info == &callbacks) impl_->guest_info = nullptr;
}

namespace {
std::uint16_t perf_misc_flags(const Perf::Impl& perf, const PtRegs& regs) {
    if (const unsigned guest = perf.perf_guest_state())
        return guest & PerfGuestInfoCallbacks::kUser ? PERF_RECORD_MISC_GUEST_USER : PERF_RECORD_MISC_GUEST_KERNEL;
    return regs.user_mode() ? PERF_RECORD_MISC_USER : PERF_RECORD_MISC_KERNEL;
}
std::uint64_t perf_instruction_pointer(const Perf::Impl& perf, const PtRegs& regs) {
    return perf.perf_guest_state() ? perf.guest_info->get_ip() : regs.pc;
}
} // namespace

void perf_prepare_sample(Perf::Impl& perf, perf_event_header& header, PerfSampleData& data, PerfEvent& event,
                         PtRegs& regs) {
    Kernel& kernel = perf.kernel;
    KernelFrame frame(kernel, KernelSymbol::perf_prepare_sample);
    const std::uint64_t type = event.attr.sample_type;
    const std::uint64_t missing = type & ~data.sample_flags;
    header.type = PERF_RECORD_SAMPLE;
    header.misc = perf_misc_flags(perf, regs);
    std::uint16_t size = add(sizeof(perf_event_header), event.header_size + event.id_header_size);
    __perf_event_header__init_id(perf, data, event, missing);

    if (missing & (PERF_SAMPLE_IP | PERF_SAMPLE_CODE_PAGE_SIZE)) data.ip = perf_instruction_pointer(perf, regs);
    if (type & PERF_SAMPLE_CALLCHAIN) {
        if (missing & PERF_SAMPLE_CALLCHAIN) perf_callchain(perf, event, regs, data.callchain);
        size = add(size, 8 * (1 + data.callchain.size()));
    }
    if (type & PERF_SAMPLE_RAW) size = add(size, data.raw ? sizeof(std::uint32_t) + raw_size(*data.raw) : 8);
    if (type & PERF_SAMPLE_BRANCH_STACK) size = add(size, 8);
    if (type & (PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)) perf_sample_regs_user(kernel, data, regs);
    if (type & PERF_SAMPLE_REGS_USER)
        size = add(size, 8 + (data.regs_user ? words_of(event.attr.sample_regs_user) : 0));
    if (type & PERF_SAMPLE_STACK_USER) {
        data.stack_user_size = perf_sample_ustack_size(
            kernel, *kernel.current(), static_cast<std::uint16_t>(event.attr.sample_stack_user), size, data.regs_user);
        size = add(size, 8 + (data.stack_user_size ? 8 + data.stack_user_size : 0));
    }
    if (missing & kSampleWeightType) data.weight = 0;
    if (missing & PERF_SAMPLE_DATA_SRC) data.data_src = PERF_MEM_NA_DATA_SRC;
    if (missing & PERF_SAMPLE_TRANSACTION) data.txn = 0;
    if (!(data.sample_flags & PERF_SAMPLE_ADDR)) data.addr = 0;
    if (type & PERF_SAMPLE_REGS_INTR) {
        data.regs_intr = &regs;
        data.regs_intr_abi = perf_reg_abi(*kernel.current());
        size = add(size, 8 + words_of(event.attr.sample_regs_intr));
    }
    if (missing & PERF_SAMPLE_PHYS_ADDR) data.phys_addr = perf_virt_to_phys(kernel, data.addr);
    if (missing & PERF_SAMPLE_CGROUP) {
        const auto cgroup = kernel.perf_cgroup_from_task(*kernel.current());
        data.cgroup = cgroup ? cgroup->id : kRootCgroupId;
    }
    if (missing & PERF_SAMPLE_DATA_PAGE_SIZE) data.data_page_size = data.addr ? kernel.page_size_at(data.addr) : 0;
    if (missing & PERF_SAMPLE_CODE_PAGE_SIZE) data.code_page_size = data.ip ? kernel.page_size_at(data.ip) : 0;
    if (type & PERF_SAMPLE_AUX) {
        size = add(size, 8);
        const std::uint64_t room = std::min<std::uint64_t>(kMaxRecord - size, event.attr.aux_sample_size);
        size = add(size, perf_prepare_sample_aux(perf, event, data, room & ~std::uint64_t{7}));
    }
    header.size = size;
}

void perf_output_sample(PerfOutputHandle& handle, const perf_event_header& header, PerfSampleData& data,
                        PerfEvent& event) {
    KernelFrame frame(handle.perf->kernel, KernelSymbol::perf_output_sample);
    const std::uint64_t type = data.type;
    const std::uint64_t nothing = 0;
    perf_output_put(handle, header);
    perf_output_words(handle, SampleWords(kSampleHead, type, data));
    if (type & PERF_SAMPLE_READ) perf_output_read(handle, event);
    if (type & PERF_SAMPLE_CALLCHAIN) {
        data.callchain.insert(data.callchain.begin(), data.callchain.size());
        perf_output_copy(handle, data.callchain.data(), 8 * data.callchain.size());
    }
    if (type & PERF_SAMPLE_RAW) output_raw(handle, data.raw);
    if (type & PERF_SAMPLE_BRANCH_STACK) perf_output_put(handle, nothing);
    if (type & PERF_SAMPLE_REGS_USER)
        output_regs(handle, data.regs_user_abi, data.regs_user, event.attr.sample_regs_user);
    if (type & PERF_SAMPLE_STACK_USER) output_ustack(handle, data.stack_user_size, data.regs_user);
    perf_output_words(handle, SampleWords(kSampleMiddle, type, data));
    if (type & PERF_SAMPLE_REGS_INTR)
        output_regs(handle, data.regs_intr_abi, data.regs_intr, event.attr.sample_regs_intr);
    perf_output_words(handle, SampleWords(kSampleTail, type, data));
    if (type & PERF_SAMPLE_AUX) {
        perf_output_put(handle, data.aux_size);
        if (data.aux_size) perf_aux_sample_output(event, handle, data);
    }

    if (event.attr.watermark || !event.attr.wakeup_events) return;
    PerfBuffer& rb = *handle.rb;
    if (++rb.events < event.attr.wakeup_events) return;
    rb.events -= event.attr.wakeup_events;
    ++rb.wakeup;
}

} // namespace rkperf::ke
