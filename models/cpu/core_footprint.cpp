// SPDX-License-Identifier: Apache-2.0
// Charges of native kernel code: what they count, and what they leave in caches, TLBs and predictors.
#include "models/cpu/core_base.h"
#include "models/memory/kernel_layout.h"

#include <algorithm>
#include <cstring>

namespace rkperf::cpu {
namespace {

namespace layout = mem::kernel_layout;

constexpr unsigned kStackLines = 32; ///< of a stack that are in use at a time
constexpr unsigned kDataPages = 2;   ///< of a function: one of the stack, one of other data
constexpr unsigned kChargesLog2 = 9; ///< of the charges that are remembered

constexpr std::uint64_t scaled(std::uint64_t n) { return n * kKernelRate; }

/// `all` in the proportion of `part` to `whole`.
std::uint64_t portion(std::uint64_t all, std::uint64_t part, std::uint64_t whole) {
    return whole ? all * part / whole : 0;
}

void add_mispredicts(const KernelRates& k, std::uint64_t n, KernelLanes& counts) {
    of<Lane::cond_mispredict>(counts) += n;
    // What was issued in vain is of the same mix as what retires.
    const std::uint64_t wrong = n * k.wrong_path;
    of<Lane::wrong_path>(counts) += wrong;
    of<Lane::wrong_load>(counts) += wrong / 4;
    of<Lane::wrong_store>(counts) += wrong / 8;
    of<Lane::wrong_branch_immed>(counts) += wrong / 6;
    of<Lane::wrong_data_processing>(counts) += wrong - wrong / 4 - wrong / 8 - wrong / 6;
}

} // namespace

/// Finds or makes the record of a charge.
inline KernelCharge& CoreBase::charge_for(const KernelWork& work) {
    if (__builtin_expect(kernel_charges_.empty(), 0)) kernel_charges_.resize(1u << kChargesLog2);
    const std::uint64_t hash = (work.code_address ^ std::uint64_t{work.instructions} << 40) * 0x9e3779b97f4a7c15;
    KernelCharge& c = kernel_charges_[hash >> (64 - kChargesLog2)];
    if (__builtin_expect(!c.is_of(work, simple_), 0)) make_charge(work, c);
    return c;
}

[[gnu::noinline]] void CoreBase::make_charge(const KernelWork& work, KernelCharge& c) {
    add_passes(c);
    c.begin(work, simple_);
    const KernelRates& k = tables_.kernel;
    const std::uint64_t n = work.instructions, b = work.branches;
    if (physical_.contains(PhysAddr(physical_.base().v + layout::kText), layout::kEnd - layout::kText)) {
        std::uint64_t lines = std::min<std::uint64_t>(k.code_lines, n / (kLineSize / 4) + 1);
        if (work.function_bytes) lines = std::clamp<std::uint64_t>(work.function_bytes / kLineSize, 1, lines);
        c.lines = static_cast<unsigned>(lines);
        c.data_lines = std::min(k.data_lines, (work.loads + work.stores) / 8);
        find_code(work, c);
        c.passage.begin(work.code_address, std::min(c.lines, work.branches));
    }

    const std::uint64_t indirect = b * k.branch_indirect, returns = b * k.branch_return;
    const std::uint64_t immed = scaled(b) - std::min(scaled(b), indirect + returns);
    const std::uint64_t conditional = std::min(immed, b * k.branch_cond);
    c.cycles = simple_ ? scaled(n) : n * k.cycles;
    of<Lane::instruction>(c.counts) = scaled(n);
    of<Lane::load>(c.counts) = of<Lane::read_hit>(c.counts) = scaled(work.loads);
    of<Lane::store>(c.counts) = of<Lane::write_hit>(c.counts) = scaled(work.stores);
    of<Lane::branch_immed>(c.counts) = immed;
    of<Lane::branch_indirect>(c.counts) = indirect;
    of<Lane::branch_return>(c.counts) = returns;
    of<Lane::branch_cond>(c.counts) = conditional;
    of<Lane::branch_taken>(c.counts) = std::clamp(b * k.branch_taken, scaled(b) - conditional, scaled(b));
    of<Lane::data_processing>(c.counts) =
        scaled(n - std::min<std::uint64_t>(n, std::uint64_t{work.loads} + work.stores + b));
    of<Lane::fetch>(c.counts) = n * k.fetches;
    of<Lane::load_acquire>(c.counts) = std::min(n * k.load_acquire, scaled(work.loads));
    of<Lane::store_release>(c.counts) = std::min(n * k.store_release, scaled(work.stores));
    of<Lane::dmb>(c.counts) = n * k.dmb;
    of<Lane::dsb>(c.counts) = n * k.dsb;
    of<Lane::isb>(c.counts) = n * k.isb;
    if (simple_) return;
    const std::uint64_t backend = c.cycles * k.stall_backend / kKernelRate;
    // Its causes at EL1 (estimate): interlocks five eighths, loads a quarter, stores the rest.
    const std::uint64_t interlock = backend * 5 / 8, load = backend / 4;
    of<Lane::stall_frontend>(c.counts) = c.cycles * k.stall_frontend / kKernelRate;
    of<Lane::stall_backend>(c.counts) = backend;
    of<Lane::stall_interlock>(c.counts) = interlock;
    of<Lane::stall_interlock_agu>(c.counts) = interlock / 4;
    of<Lane::stall_load>(c.counts) = load;
    of<Lane::stall_store>(c.counts) = backend - interlock - load;
    add_mispredicts(k, std::min(conditional, b * k.mispredicts), c.counts);
}

void CoreBase::charge(const KernelWork& work) {
    kernel_pc_ = work.code_address;
    kernel_function_ = work.function;
    kernel_function_bytes_ = work.function_bytes;
    if (!work.instructions) return simple_ ? void() : spend(0, work.extra_cycles);
    stats_.kernel_instructions += work.instructions;
    if (boundary_due()) kernel_boundary();
    KernelCharge& c = charge_for(work);
    const std::uint64_t scaled_cycles = c.cycles + kernel_cycles_;
    std::uint64_t cycles = scaled_cycles / kKernelRate;
    kernel_cycles_ = scaled_cycles % kKernelRate;
    if (!simple_) {
        cycles += work.extra_cycles;
        if (c.code_seen != code_losses_ || c.data_seen != data_losses_ || c.pages_seen != page_losses_)
            return charge_touching(work, c, cycles);
        if (const unsigned wrong = kernel_branches(c.passage); __builtin_expect(wrong != 0, 0)) {
            KernelFootprint f;
            f.mispredicts = wrong;
            return run_charge(c, cycles, &f);
        }
    }
    if (passes_in_one_piece(cycles, c.counts)) return pass(c, cycles);
    run_charge(c, cycles, nullptr);
}

/// Some of its lines or pages may be gone.
void CoreBase::charge_touching(const KernelWork& work, KernelCharge& c, std::uint64_t cycles) {
    KernelFootprint f;
    if (c.code_seen != code_losses_) {
        touch_kernel_code(c, f);
        c.code_seen = code_losses_;
    }
    f.mispredicts = kernel_branches(c.passage);
    if (const bool lines_gone = c.data_seen != data_losses_; lines_gone || c.pages_seen != page_losses_) {
        touch_kernel_data(work, lines_gone ? c.data_lines : std::min(c.data_lines, kDataPages), lines_gone, f);
        c.data_seen = data_losses_;
        c.pages_seen = page_losses_;
    }
    run_charge(c, cycles, f.any() ? &f : nullptr);
}

KernelStalls CoreBase::stalls_of(const KernelFootprint& f) const {
    const KernelRates& k = tables_.kernel;
    return {.code = (f.code_wait + f.code_tlb_wait) * k.code_wait / kKernelRate,
            .data = (f.data_wait + f.data_tlb_wait) * k.data_wait / kKernelRate,
            .flushed = std::uint64_t{f.mispredicts} * k.mispredict_cycles};
}

void CoreBase::add_passes(KernelCharge& c) const {
    using Two = std::uint64_t __attribute__((vector_size(16)));
    if (!c.passes) return;
    if (c.passes == 1) { // as most often; vectors of two can be added, but not multiplied
        for (std::size_t i = 0; i < kernel_lanes_.size(); i += 2) {
            Two sum, more;
            std::memcpy(&sum, &kernel_lanes_[i], sizeof sum);
            std::memcpy(&more, &c.counts[i], sizeof more);
            sum += more;
            std::memcpy(&kernel_lanes_[i], &sum, sizeof sum);
        }
    } else {
        for (std::size_t i = 0; i < kernel_lanes_.size(); ++i) kernel_lanes_[i] += c.passes * c.counts[i];
    }
    c.passes = 0;
}

/// The lines of its text that the code runs through, and their page. Always the same for the same piece of code.
void CoreBase::find_code(const KernelWork& work, KernelCharge& c) const {
    const std::uint64_t begin = work.function_bytes ? work.function : work.code_address;
    const std::uint64_t circle =
        work.function_bytes ? std::max<std::uint64_t>(work.function_bytes / kLineSize, 1) : c.lines;
    const std::uint64_t first = (work.code_address - begin) / kLineSize % circle;
    const std::uint64_t text = physical_.base().v + layout::kText;
    c.page = layout::kImageVa + begin % layout::kTextBytes;
    // A function's lines are gone through in a circle, and the text may end among them.
    auto* piece = c.pieces.begin();
    const auto add = [&](std::uint64_t line, std::uint64_t n) {
        const std::uint64_t at = (begin + line * kLineSize) % layout::kTextBytes & ~std::uint64_t{kLineSize - 1};
        const std::uint64_t before_end = std::min(n, (layout::kTextBytes - at) / kLineSize);
        if (before_end) *piece++ = {text + at, before_end};
        if (before_end < n) *piece++ = {text, n - before_end};
    };
    const std::uint64_t before_wrap = std::min<std::uint64_t>(c.lines, circle - first);
    add(first, before_wrap);
    add(0, c.lines - before_wrap);
}

void CoreBase::touch_kernel_code(const KernelCharge& c, KernelFootprint& f) {
    if (!c.lines) return;
    const mem::Translation page = memory_.translate_data(VirtAddr(c.page), false, true, cycle_);
    std::uint64_t now = cycle_ + page.cycles;
    for (const KernelCharge::Piece& p : c.pieces) {
        if (!p.lines) break;
        now = memory_.touch_code(PhysAddr(p.at), p.lines, now);
    }
    f.code = c.lines;
    f.code_tlb_wait = page.cycles;
    f.code_wait = now - cycle_ - page.cycles;
    if (c.lines > 1) totals_.add(pmu_event::L1I_TLB, c.lines - 1);
}

/// Lines of the CPU's stack and of data that belong to the function, and their two pages. Without `lines_gone` only these
/// are looked up.
void CoreBase::touch_kernel_data(const KernelWork& work, unsigned lines, bool lines_gone, KernelFootprint& f) {
    namespace ev = pmu_event;
    const std::uint64_t dram = physical_.base().v;
    const std::uint64_t id = (work.function_bytes ? work.function : work.code_address) / kLineSize;
    const std::uint64_t stack = layout::kStacks + config_.cpu.v * layout::kStackBytes;
    const std::uint64_t page = (id * 0x9e3779b1u >> 8) % (layout::kDataBytes / kPageSize);
    const std::uint64_t other = layout::kData + config_.cpu.v * layout::kDataBytes + page * kPageSize;
    const std::uint64_t now = cycle_ + f.code_wait + f.code_tlb_wait;
    for (std::uint64_t i = 0; i < lines; ++i) {
        const bool write = i % 4 == 0 && f.stores < work.stores;
        if (!write && f.loads >= work.loads) break;
        const std::uint64_t at = i % 2 == 0 ? stack + (id * 5 + i / 2) % kStackLines * kLineSize
                                            : other + (id * 7 + i) * kLineSize % kPageSize;
        std::uint64_t translated = 0;
        if (i < kDataPages) {
            translated = memory_.translate_data(VirtAddr(layout::kLinearVa + at), write, true, now).cycles;
        } else {
            totals_.add(ev::L1D_TLB);
            totals_.add(write ? ev::L1D_TLB_WR : ev::L1D_TLB_RD);
        }
        ++(write ? f.stores : f.loads);
        f.data_tlb_wait += translated;
        if (!lines_gone) {
            totals_.add(ev::L1D_CACHE);
            totals_.add(write ? ev::L1D_CACHE_WR : ev::L1D_CACHE_RD);
            continue;
        }
        const mem::Timing d = memory_.touch_data(PhysAddr(dram + at), write, now + translated);
        if (!write) f.data_wait += d.ready - (now + translated); // stores drain behind the core's back
    }
}

/// Adds to `to` what the footprint changes of a charge's counts: what was looked up has been counted by the memory side, and
/// what was waited for adds to the stalls.
void CoreBase::add_footprint(const KernelFootprint& f, const KernelStalls& stalls, const KernelLanes& counts,
                             KernelLanes& to) const {
    of<Lane::fetch>(to) -= std::min(of<Lane::fetch>(counts), scaled(f.code));
    of<Lane::read_hit>(to) -= scaled(f.loads);
    of<Lane::write_hit>(to) -= scaled(f.stores);
    of<Lane::read_slow>(to) += scaled(f.loads);
    of<Lane::write_slow>(to) += scaled(f.stores);
    if (!stalls.sum() && !f.mispredicts) return;

    const std::uint64_t code = scaled(stalls.code), data = scaled(stalls.data);
    of<Lane::stall_frontend>(to) += scaled(stalls.code + stalls.flushed);
    of<Lane::stall_frontend_cache>(to) += portion(code, f.code_wait, f.code_wait + f.code_tlb_wait);
    of<Lane::stall_frontend_tlb>(to) += portion(code, f.code_tlb_wait, f.code_wait + f.code_tlb_wait);
    of<Lane::stall_backend>(to) += data;
    of<Lane::stall_load>(to) += data;
    of<Lane::stall_load_cache>(to) += portion(data, f.data_wait, f.data_wait + f.data_tlb_wait);
    of<Lane::stall_load_tlb>(to) += portion(data, f.data_tlb_wait, f.data_wait + f.data_tlb_wait);
    if (!f.mispredicts) return;
    add_mispredicts(tables_.kernel, scaled(f.mispredicts), to);
    const std::uint64_t wrong = of<Lane::cond_mispredict>(counts) + scaled(f.mispredicts);
    of<Lane::cond_mispredict>(to) -= wrong - std::min(wrong, of<Lane::branch_cond>(counts));
}

} // namespace rkperf::cpu
