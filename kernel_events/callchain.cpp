// SPDX-License-Identifier: Apache-2.0
#include "kernel_events/callchain.h"

#include "kernel_events/output_costs.h"
#include "kernel_events/stacktrace.h"

namespace rkperf::ke {

namespace {

/// A chain being built (struct perf_callchain_entry_ctx).
class EntryContext {
  public:
    EntryContext(std::vector<std::uint64_t>& entry, std::uint32_t max_stack, std::uint32_t max_contexts)
        : entry_(entry), max_stack_(max_stack), max_contexts_(max_contexts) {
        entry_.clear();
    }
    bool store(std::uint64_t ip) {
        if (contexts_maxed_ || full()) return false;
        entry_.push_back(ip);
        ++nr_;
        return true;
    }
    void store_context(std::uint64_t marker) {
        if (contexts_ < max_contexts_) {
            entry_.push_back(marker);
            ++contexts_;
        } else {
            contexts_maxed_ = true;
        }
    }
    bool full() const { return nr_ >= max_stack_; }

  private:
    std::vector<std::uint64_t>& entry_;
    std::uint32_t max_stack_, max_contexts_, nr_{}, contexts_{};
    bool contexts_maxed_{};
};

void perf_callchain_kernel(Kernel& kernel, EntryContext& ctx, const PtRegs& regs) {
    KernelFrame frame(kernel, KernelSymbol::perf_callchain_kernel);
    std::uint32_t frames = 0;
    arch_stack_walk(kernel, regs, [&](std::uint64_t pc) { return ctx.store(pc) && ++frames; });
    kernel.charge(frames * cost::kFrame);
}

/// The frames of an AArch32 program: a record lies right below the address that its frame pointer holds.
void compat_user_backtrace(Kernel& kernel, EntryContext& ctx, const PtRegs& regs) {
    struct FrameRecord {
        std::uint32_t fp, sp, lr;
    } record;
    constexpr unsigned kCompatFp = 11;
    // A frame pointer of 0 is no address of a user's then, but not 0 either (CC-035).
    std::uint64_t tail = regs.regs[kCompatFp] - sizeof record;
    while (!ctx.full() && tail && !(tail & 3)) {
        kernel.charge(cost::kFrame);
        if (!kernel.access_ok(tail, sizeof record)) return;
        if (kernel.copy_from_user_nofault(&record, tail, sizeof record) != sizeof record) return;
        ctx.store(record.lr);
        if (tail + sizeof record >= record.fp) return;
        tail = record.fp - sizeof record;
    }
}

void perf_callchain_user(Kernel& kernel, EntryContext& ctx, const PtRegs& regs) {
    KernelFrame frame(kernel, KernelSymbol::perf_callchain_user);
    kernel.charge(2 * cost::kFrame); // the marker and the first address
    ctx.store(regs.pc);
    if (compat_user_mode(regs)) return compat_user_backtrace(kernel, ctx, regs);
    struct FrameRecord {
        std::uint64_t fp, lr;
    } record;
    std::uint64_t tail = regs.regs[29];
    while (!ctx.full() && tail && !(tail & 7)) {
        kernel.charge(cost::kFrame);
        if (!kernel.access_ok(tail, sizeof record)) return;
        if (kernel.copy_from_user_nofault(&record, tail, sizeof record) != sizeof record) return;
        ctx.store(ptrauth_strip_insn_pac(record.lr));
        // Frames lie one above the other, else it could go round in circles.
        if (tail >= record.fp) return;
        tail = record.fp;
    }
}

} // namespace

bool get_perf_callchain(Perf::Impl& perf, PtRegs& regs, const CallchainRequest& request,
                        std::vector<std::uint64_t>& entry) {
    Kernel& kernel = perf.kernel;
    KernelFrame frame(kernel, KernelSymbol::get_perf_callchain);
    auto& recursion = perf.this_cpu().callchain_recursion;
    const int rctx = perf.get_recursion_context(recursion);
    if (rctx < 0) return false;
    if (!perf.counts.nr_callchain) {
        perf.put_recursion_context(recursion, rctx);
        return false;
    }
    EntryContext ctx(entry, request.max_stack,
                     static_cast<std::uint32_t>(perf.sysctl.perf_event_max_contexts_per_stack));
    // A guest's frames cannot be followed from here.
    const bool in_guest = perf.perf_guest_state() != 0;
    if (request.kernel && !regs.user_mode()) {
        if (request.add_mark) ctx.store_context(PERF_CONTEXT_KERNEL);
        if (!in_guest) perf_callchain_kernel(kernel, ctx, regs);
    }
    if (request.user && !request.crosstask) {
        TaskBase* task = kernel.current();
        const PtRegs* user_regs = regs.user_mode()             ? &regs
                                  : task->mm && !task->kthread ? kernel.task_pt_regs(task)
                                                               : nullptr;
        if (user_regs) {
            if (request.add_mark) ctx.store_context(PERF_CONTEXT_USER);
            if (!in_guest) perf_callchain_user(kernel, ctx, *user_regs);
        }
    }
    perf.put_recursion_context(recursion, rctx);
    return true;
}

void perf_callchain(Perf::Impl& perf, const PerfEvent& event, PtRegs& regs, std::vector<std::uint64_t>& entry) {
    const TaskBase* current = perf.kernel.current();
    CallchainRequest request;
    request.kernel = !event.attr.exclude_callchain_kernel;
    request.user = !event.attr.exclude_callchain_user && current->mm;
    request.max_stack = event.attr.sample_max_stack;
    request.crosstask = event.ctx->task && event.ctx->task != current;
    entry.clear();
    if (request.kernel || request.user) get_perf_callchain(perf, regs, request, entry);
}

int Perf::Impl::get_callchain_buffers(int max_stack) {
    KernelFrame frame(kernel, KernelSymbol::get_callchain_buffers);
    if (max_stack > sysctl.perf_event_max_stack) return -EOVERFLOW;
    ++counts.nr_callchain;
    return 0;
}

void Perf::Impl::put_callchain_buffers() { --counts.nr_callchain; }

} // namespace rkperf::ke
