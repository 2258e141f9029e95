// SPDX-License-Identifier: Apache-2.0
// Slot accounting (HWBP-002 to 026). All bps count as pinned; what is admitted can always be scheduled.
#include "kernel_events/hw_breakpoint.h"

#include <algorithm>
#include <stdexcept>

namespace rkperf::ke {

// --- BpConstraints ---

bool BpConstraints::Histogram::move(int from, int to) {
    const auto n = static_cast<int>(buckets_.size());
    if (from < 0 || to < 0 || from > n || to > n) return false;
    if (from > 0 && --buckets_[static_cast<unsigned>(from - 1)] < 0) return false;
    if (to > 0) ++buckets_[static_cast<unsigned>(to - 1)];
    return true;
}

int BpConstraints::Histogram::max() const {
    for (auto n = static_cast<int>(buckets_.size()); n > 0; --n)
        if (buckets_[static_cast<unsigned>(n - 1)] > 0) return n;
    return 0;
}

void BpConstraints::init(CpuMask possible, unsigned inst_slots, unsigned data_slots) {
    possible_ = possible;
    slots_ = {inst_slots, data_slots};
    for (unsigned t = 0; t < TYPE_MAX; ++t) {
        cpu_pinned_[t] = tsk_pinned_all_[t] = Histogram(slots_[t]);
        each_cpu([&](int c) { cpu_[static_cast<unsigned>(c)][t] = {0, Histogram(slots_[t])}; });
    }
}

void BpConstraints::check(bool ok) {
    if (!ok) throw std::logic_error("breakpoint slots: a histogram went below zero or beyond the slots");
}

int BpConstraints::task_bp_pinned(int cpu, const PerfEvent& bp, BpTypeIdx type) const {
    const auto list = task_bps_.find(bp.hw.target);
    if (list == task_bps_.end()) return 0;
    int count = 0;
    for (const PerfEvent* e : list->second) {
        if (find_slot_idx(e->attr.bp_type) != type) continue;
        if (e->cpu >= 0) {
            if (cpu == -1) return -1;
            if (cpu != e->cpu) continue;
        }
        ++count;
    }
    return count;
}

int BpConstraints::busy(const PerfEvent& bp, BpTypeIdx type) const {
    const unsigned t = index(type);
    if (bp.hw.target && bp.cpu < 0) {
        const int any = task_bp_pinned(-1, bp, type);
        if (any >= 0) return any + cpu_pinned_[t].max();
    }
    int most = 0;
    each_cpu([&](int c) {
        if (bp.cpu >= 0 && c != bp.cpu) return;
        const CpuInfo& info = cpu_[static_cast<unsigned>(c)][t];
        // Two tasks are never on one CPU at once, so the larger histogram counts, not the sum (HWBP-015).
        const int tasks =
            bp.hw.target ? task_bp_pinned(c, bp, type) : std::max(info.tsk_pinned.max(), tsk_pinned_all_[t].max());
        most = std::max(most, info.cpu_pinned + tasks);
    });
    return most;
}

/// Moves the task in the histograms for one bp that is about to come (delta 1) or has just gone (-1); task_bps_ does not
/// hold it.
void BpConstraints::toggle_task(const PerfEvent& bp, BpTypeIdx type, int delta) {
    const unsigned t = index(type);
    const int independent = task_bp_pinned(-1, bp, type);
    const auto tsk = [&](int c) -> Histogram& { return cpu_[static_cast<unsigned>(c)][t].tsk_pinned; };
    const auto step = [&](Histogram& h, int n) { check(delta > 0 ? h.move(n, n + 1) : h.move(n + 1, n)); };
    if (bp.cpu < 0) {
        if (independent >= 0) {
            step(tsk_pinned_all_[t], independent);
        } else {
            each_cpu([&](int c) { step(tsk(c), task_bp_pinned(c, bp, type)); });
        }
        return;
    }
    if (independent < 0) {
        step(tsk(bp.cpu), task_bp_pinned(bp.cpu, bp, type));
        return;
    }
    // The task's first or last bp that names a CPU: it changes between the common histogram and those of all CPUs.
    if (delta > 0) {
        each_cpu([&](int c) { check(tsk(c).move(0, independent)); });
        step(tsk(bp.cpu), independent);
        check(tsk_pinned_all_[t].move(independent, 0));
    } else {
        step(tsk(bp.cpu), independent);
        each_cpu([&](int c) { check(tsk(c).move(independent, 0)); });
        check(tsk_pinned_all_[t].move(0, independent));
    }
}

int BpConstraints::toggle(PerfEvent& bp, BpTypeIdx type, bool enable) {
    const int delta = enable ? 1 : -1;
    if (!bp.hw.target) {
        int& pinned = cpu_[static_cast<unsigned>(bp.cpu)][index(type)].cpu_pinned;
        check(cpu_pinned_[index(type)].move(pinned, pinned + delta));
        pinned += delta;
        return 0;
    }
    if (enable) {
        toggle_task(bp, type, delta);
        task_bps_[bp.hw.target].push_back(&bp);
        return 0;
    }
    const auto list = task_bps_.find(bp.hw.target);
    if (list == task_bps_.end()) return -ENOENT;
    const auto at = std::find(list->second.begin(), list->second.end(), &bp);
    if (at == list->second.end()) return -ENOENT;
    list->second.erase(at);
    toggle_task(bp, type, delta);
    if (list->second.empty()) task_bps_.erase(list);
    return 0;
}

bool BpConstraints::is_used() const {
    bool used = false;
    for (unsigned t = 0; t < TYPE_MAX; ++t) {
        used |= tsk_pinned_all_[t].any();
        each_cpu([&](int c) {
            const CpuInfo& info = cpu_[static_cast<unsigned>(c)][t];
            used |= info.cpu_pinned != 0 || info.tsk_pinned.any();
        });
    }
    return used;
}

// --- RwSem ---

void RwSem::init(Kernel& k) {
    door_ = k.make_mutex();
    room_ = k.make_mutex();
}

void RwSem::down_read() {
    MutexGuard door(*door_);
    if (readers_ == 0) room_->lock();
    ++readers_;
}

void RwSem::up_read() {
    if (--readers_ == 0) room_->unlock();
}

// --- HwBreakpoints ---

HwBreakpoints::HwBreakpoints(Perf::Impl& perf, DebugMonitors& monitors)
    : perf_(perf), kernel_(perf.kernel), monitors_(monitors) {}

void HwBreakpoints::init() {
    bp_cpuinfo_sem_.init(kernel_);
    constraints_.init(kernel_.cpu_possible_mask(), core_num_brps_, core_num_wrps_);
    constraints_initialized_ = true;
    monitors_.hook_debug_fault_code(
        DbgEvt::hwbp, [this](std::uint64_t, std::uint32_t esr, PtRegs& regs) { return breakpoint_handler(esr, regs); },
        5 /* SIGTRAP */, TRAP_HWBKPT);
    monitors_.hook_debug_fault_code(
        DbgEvt::hwwp,
        [this](std::uint64_t addr, std::uint32_t esr, PtRegs& regs) { return watchpoint_handler(addr, esr, regs); },
        5 /* SIGTRAP */, TRAP_HWBKPT);
    monitors_.set_reinstall_suspended_bps([this](PtRegs& regs) { return reinstall_suspended_bps(regs); });
    kernel_.pr_info("hw-breakpoint: found " + std::to_string(core_num_brps_) + " breakpoint and " +
                    std::to_string(core_num_wrps_) + " watchpoint registers.");
}

/// The task's own bps are changed under its mutex, those of different tasks at the same time; bps of CPUs change alone.
template <class F>
int HwBreakpoints::with_constraints_lock(const PerfEvent& bp, F f) {
    if (bp.hw.target) {
        MutexGuard task(perf_.perf_event_mutex(*bp.hw.target));
        bp_cpuinfo_sem_.down_read();
        const int result = f();
        bp_cpuinfo_sem_.up_read();
        return result;
    }
    bp_cpuinfo_sem_.down_write();
    const int result = f();
    bp_cpuinfo_sem_.up_write();
    return result;
}

int HwBreakpoints::__reserve_bp_slot(PerfEvent& bp, std::uint64_t bp_type) {
    if (!constraints_initialized_) return -ENOMEM;
    if (bp_type == HW_BREAKPOINT_EMPTY || bp_type == HW_BREAKPOINT_INVALID) return -EINVAL;
    const BpTypeIdx type = find_slot_idx(bp_type);
    if (constraints_.busy(bp, type) + 1 > static_cast<int>(constraints_.slots(type))) return -ENOSPC;
    return constraints_.toggle(bp, type, true);
}

int HwBreakpoints::reserve_bp_slot(PerfEvent& bp) {
    KernelFrame frame(kernel_, KernelSymbol::reserve_bp_slot);
    return with_constraints_lock(bp, [&] { return __reserve_bp_slot(bp, bp.attr.bp_type); });
}

void HwBreakpoints::release_bp_slot(PerfEvent& bp) {
    KernelFrame frame(kernel_, KernelSymbol::release_bp_slot);
    const int error =
        with_constraints_lock(bp, [&] { return constraints_.toggle(bp, find_slot_idx(bp.attr.bp_type), false); });
    if (error) kernel_.pr_info("hw-breakpoint: a breakpoint that was not booked is released");
}

int HwBreakpoints::dbg_reserve_bp_slot(PerfEvent& bp) {
    if (bp_cpuinfo_sem_.is_write_locked() ||
        (bp.hw.target ? perf_.perf_event_mutex(*bp.hw.target).is_locked() : bp_cpuinfo_sem_.is_read_locked()))
        return -1;
    return __reserve_bp_slot(bp, bp.attr.bp_type);
}

int HwBreakpoints::dbg_release_bp_slot(PerfEvent& bp) {
    if (bp_cpuinfo_sem_.is_write_locked() ||
        (bp.hw.target ? perf_.perf_event_mutex(*bp.hw.target).is_locked() : bp_cpuinfo_sem_.is_read_locked()))
        return -1;
    return constraints_.toggle(bp, find_slot_idx(bp.attr.bp_type), false);
}

int HwBreakpoints::modify_bp_slot(PerfEvent& bp, std::uint64_t old_type, std::uint64_t new_type) {
    return with_constraints_lock(bp, [&] {
        // bp must look like what is booked out and in.
        const std::uint64_t kept = bp.attr.bp_type;
        bp.attr.bp_type = static_cast<std::uint32_t>(old_type);
        constraints_.toggle(bp, find_slot_idx(old_type), false);
        bp.attr.bp_type = static_cast<std::uint32_t>(new_type);
        const int error = __reserve_bp_slot(bp, new_type);
        if (error) {
            bp.attr.bp_type = static_cast<std::uint32_t>(old_type);
            if (__reserve_bp_slot(bp, old_type))
                throw std::logic_error("breakpoint slots: no room for what was just taken out");
        }
        bp.attr.bp_type = static_cast<std::uint32_t>(kept);
        return error;
    });
}

int HwBreakpoints::register_perf_hw_breakpoint(PerfEvent& bp) {
    KernelFrame frame(kernel_, KernelSymbol::register_perf_hw_breakpoint);
    if (const int error = reserve_bp_slot(bp)) return error;
    ArchBreakpoint hw;
    if (const int error = hw_breakpoint_parse(bp, bp.attr, hw)) {
        release_bp_slot(bp);
        return error;
    }
    bp.hw.breakpoint = std::make_shared<ArchBreakpoint>(hw);
    return 0;
}

int HwBreakpoints::modify_user_hw_breakpoint_check(PerfEvent& bp, const perf_event_attr& attr, bool check) {
    ArchBreakpoint hw;
    if (const int error = hw_breakpoint_parse(bp, attr, hw)) return error;
    if (check) {
        perf_event_attr old_attr = bp.attr;
        old_attr.bp_addr = attr.bp_addr;
        old_attr.bp_type = attr.bp_type;
        old_attr.bp_len = attr.bp_len;
        old_attr.disabled = attr.disabled;
        if (!std::equal(reinterpret_cast<const std::uint8_t*>(&old_attr),
                        reinterpret_cast<const std::uint8_t*>(&old_attr + 1),
                        reinterpret_cast<const std::uint8_t*>(&attr)))
            return -EINVAL;
    }
    if (bp.attr.bp_type != attr.bp_type)
        if (const int error = modify_bp_slot(bp, bp.attr.bp_type, attr.bp_type)) return error;
    bp.attr.bp_addr = attr.bp_addr;
    bp.attr.bp_type = attr.bp_type;
    bp.attr.bp_len = attr.bp_len;
    bp.attr.disabled = attr.disabled;
    *bp.hw.breakpoint = hw;
    return 0;
}

} // namespace rkperf::ke
