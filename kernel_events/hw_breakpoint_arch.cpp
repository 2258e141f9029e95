// SPDX-License-Identifier: Apache-2.0
// The arm64 side: attributes to registers, exceptions, stepping over what was hit (HWBP-045 to 083, 089).
#include "kernel_events/hw_breakpoint.h"

#include <algorithm>

namespace rkperf::ke {

namespace {

/// TASK_SIZE of a 64-bit thread.
constexpr std::uint64_t kTaskSize = std::uint64_t{1} << 48;
constexpr std::uint32_t kEnable = 1, kHmc = 1u << 13;
constexpr unsigned kLen4 = 0xf, kMaxMask = 0xff;

constexpr unsigned len_mask(std::uint64_t bytes) { return (1u << bytes) - 1; }

/// Bytes of a mask that is one of the eight lengths, else 0.
unsigned get_hbp_len(unsigned mask) {
    for (unsigned n = 1; n <= 8; ++n)
        if (mask == len_mask(n)) return n;
    return 0;
}

bool arch_check_bp_in_kernelspace(const ArchBreakpoint& hw) {
    return hw.address >= kTaskSize && hw.address + get_hbp_len(hw.ctrl.len) - 1 >= kTaskSize;
}

constexpr DbgActiveEl debug_exception_level(unsigned privilege) {
    return privilege == ArchBreakpoint::kEl1 ? DbgActiveEl::el1 : DbgActiveEl::el0;
}

/// Bytes between the address and the watched ones.
std::uint64_t get_distance_from_watchpoint(std::uint64_t addr, std::uint64_t value, std::uint64_t mask) {
    const std::uint64_t low = value + static_cast<unsigned>(__builtin_ctzll(mask));
    const std::uint64_t high = value + 63u - static_cast<unsigned>(__builtin_clzll(mask));
    if (addr < low) return low - addr;
    return addr > high ? addr - high : 0;
}

/// Without its tag, if it is in the lower half.
constexpr std::uint64_t untagged(std::uint64_t addr) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(addr << 8) >> 8);
}

} // namespace

// --- attributes ---

int HwBreakpoints::hw_breakpoint_parse(const PerfEvent& bp, const perf_event_attr& attr, ArchBreakpoint& hw) {
    KernelFrame frame(kernel_, KernelSymbol::hw_breakpoint_arch_parse);
    hw = ArchBreakpoint{};
    switch (attr.bp_type) {
        case HW_BREAKPOINT_X: hw.ctrl.type = ArchBreakpoint::execute; break;
        case HW_BREAKPOINT_R: hw.ctrl.type = ArchBreakpoint::load; break;
        case HW_BREAKPOINT_W: hw.ctrl.type = ArchBreakpoint::store; break;
        case HW_BREAKPOINT_RW: hw.ctrl.type = ArchBreakpoint::load | ArchBreakpoint::store; break;
        default: return -EINVAL;
    }
    if (attr.bp_len < 1 || attr.bp_len > 8) return -EINVAL;
    hw.ctrl.len = len_mask(attr.bp_len);
    const bool execute = attr.bp_type == HW_BREAKPOINT_X;
    const bool compat = bp.hw.target && bp.hw.target->compat;
    if (execute) {
        if (compat && attr.bp_len != 2 && attr.bp_len != 4) return -EINVAL;
        // Whoever asks for sizeof(long) gets an instruction.
        if (!compat) hw.ctrl.len = kLen4;
    }
    hw.address = attr.bp_addr;
    hw.ctrl.privilege = arch_check_bp_in_kernelspace(hw) ? ArchBreakpoint::kEl1 : ArchBreakpoint::kEl0;
    hw.ctrl.enabled = !attr.disabled;

    std::uint64_t alignment_mask = execute ? 3 : 7;
    if (compat) {
        alignment_mask = attr.bp_len == 8 ? 7 : 3;
        const std::uint64_t offset = hw.address & alignment_mask;
        const bool fits = offset == 0 || (offset <= 2 && attr.bp_len <= 2) || (offset == 3 && attr.bp_len == 1);
        if (!fits) return -EINVAL;
    }
    const auto offset = static_cast<unsigned>(hw.address & alignment_mask);
    // Bytes beyond the doubleword cannot be watched (rule of the stable tree; before, they were dropped).
    if (hw.ctrl.len << offset > kMaxMask) return -EINVAL;
    hw.address -= offset;
    hw.ctrl.len <<= offset;
    if (hw.ctrl.privilege == ArchBreakpoint::kEl1 && bp.hw.target) return -EINVAL;

    // hw_breakpoint_parse of the common part.
    if (arch_check_bp_in_kernelspace(hw)) {
        if (attr.exclude_kernel) return -EINVAL;
        if (!kernel_.capable(Capability::sys_admin)) return -EPERM;
    }
    return 0;
}

std::uint32_t HwBreakpoints::encode_ctrl_reg(const ArchBreakpoint::Ctrl& ctrl) const {
    std::uint32_t value = ctrl.len << 5 | ctrl.type << 3 | ctrl.privilege << 1;
    if (perf_.config.kernel_in_hyp_mode && ctrl.privilege == ArchBreakpoint::kEl1) value |= kHmc;
    return value;
}

// --- registers ---

HwBreakpoints::Set HwBreakpoints::set_of(BpTypeIdx type) {
    Cpu& cpu = here();
    if (type == BpTypeIdx::inst) return {cpu.bp_on_reg, core_num_brps_, sysreg::DBGBVR_EL1, sysreg::DBGBCR_EL1};
    return {cpu.wp_on_reg, core_num_wrps_, sysreg::DBGWVR_EL1, sysreg::DBGWCR_EL1};
}

void HwBreakpoints::write_wb_reg(SysReg reg, std::uint64_t value) {
    kernel_.msr(reg, value);
    kernel_.isb();
}

int HwBreakpoints::hw_breakpoint_control(PerfEvent& bp, Ops ops) {
    KernelFrame frame(kernel_, KernelSymbol::hw_breakpoint_control);
    const ArchBreakpoint& info = *bp.hw.breakpoint;
    const bool execute = info.ctrl.type == ArchBreakpoint::execute;
    const Set set = set_of(execute ? BpTypeIdx::inst : BpTypeIdx::data);
    const PerfEvent* wanted = ops == Ops::install ? nullptr : &bp;
    unsigned i = 0;
    while (i < set.count && set.slots[i] != wanted) ++i;
    if (i == set.count) {
        if (!warned_) kernel_.pr_info("Can't find any breakpoint slot");
        warned_ = true;
        return -ENOSPC;
    }
    const DbgActiveEl el = debug_exception_level(info.ctrl.privilege);
    const int kernel_bp = el == DbgActiveEl::el1;
    switch (ops) {
        case Ops::install:
            set.slots[i] = &bp;
            here().kernel_bps += kernel_bp;
            monitors_.enable_debug_monitors(el);
            [[fallthrough]];
        case Ops::restore: {
            const ThreadDebug& debug = kernel_.current()->debug;
            const bool enable = !(execute ? debug.bps_disabled : debug.wps_disabled);
            write_wb_reg(set.value(i), info.address);
            write_wb_reg(set.control(i), encode_ctrl_reg(info.ctrl) | (enable ? kEnable : 0));
            break;
        }
        case Ops::uninstall:
            set.slots[i] = nullptr;
            here().kernel_bps -= kernel_bp;
            write_wb_reg(set.control(i), 0);
            monitors_.disable_debug_monitors(el);
            break;
    }
    return 0;
}

int HwBreakpoints::arch_install_hw_breakpoint(PerfEvent& bp) { return hw_breakpoint_control(bp, Ops::install); }
void HwBreakpoints::arch_uninstall_hw_breakpoint(PerfEvent& bp) { hw_breakpoint_control(bp, Ops::uninstall); }

void HwBreakpoints::cpu_starting() {
    const std::uint64_t dfr0 = kernel_.mrs(sysreg::ID_AA64DFR0_EL1);
    const auto brps = static_cast<unsigned>(dfr0 >> 12 & 15) + 1, wrps = static_cast<unsigned>(dfr0 >> 20 & 15) + 1;
    core_num_brps_ = counted_ ? std::min(core_num_brps_, brps) : brps;
    core_num_wrps_ = counted_ ? std::min(core_num_wrps_, wrps) : wrps;
    debug_arch_ = static_cast<unsigned>(dfr0 & 15);
    counted_ = true;
    for (const BpTypeIdx type : {BpTypeIdx::inst, BpTypeIdx::data}) {
        const Set set = set_of(type);
        for (unsigned i = 0; i < set.count; ++i) {
            if (set.slots[i]) {
                hw_breakpoint_control(*set.slots[i], Ops::restore);
            } else {
                write_wb_reg(set.control(i), 0);
                write_wb_reg(set.value(i), 0);
            }
        }
    }
}

void HwBreakpoints::toggle_bp_registers(BpTypeIdx type, DbgActiveEl el, bool enable) {
    KernelFrame frame(kernel_, KernelSymbol::toggle_bp_registers);
    const Set set = set_of(type);
    for (unsigned i = 0; i < set.count; ++i) {
        if (!set.slots[i] || debug_exception_level(set.slots[i]->hw.breakpoint->ctrl.privilege) != el) continue;
        const std::uint64_t ctrl = kernel_.mrs(set.control(i));
        write_wb_reg(set.control(i), enable ? ctrl | kEnable : ctrl & ~std::uint64_t{kEnable});
    }
}

// --- exceptions ---

void HwBreakpoints::perf_bp_event(PerfEvent& bp, PtRegs& regs) {
    KernelFrame frame(kernel_, KernelSymbol::perf_bp_event);
    PerfSampleData data;
    perf_sample_data_init(data, bp.attr.bp_addr, 0);
    if (!bp.hw.state && !perf_.perf_exclude_event(bp, &regs)) perf_.perf_swevent_event(bp, 1, data, &regs);
}

/// One instruction of the user program without the registers that were just disabled.
void HwBreakpoints::step_from_user(TaskBase& task) {
    if (task.tif_singlestep)
        task.debug.suspended_step = true;
    else
        monitors_.user_enable_single_step(task);
}

void HwBreakpoints::step_from_kernel(PtRegs& regs) {
    KernelStep& state = here().stepping_kernel_bp;
    if (state != KernelStep::none) return;
    if (monitors_.kernel_active_single_step()) {
        state = KernelStep::suspend;
    } else {
        state = KernelStep::active;
        monitors_.kernel_enable_single_step(regs);
    }
}

int HwBreakpoints::breakpoint_handler(std::uint32_t, PtRegs& regs) {
    KernelFrame frame(kernel_, KernelSymbol::breakpoint_handler);
    bool step = false;
    {
        Perf::Impl::RcuReadLock rcu(perf_);
        const auto slots = here().bp_on_reg;
        for (unsigned i = 0; i < core_num_brps_; ++i) {
            PerfEvent* bp = slots[i];
            if (!bp) continue;
            ArchBreakpoint& info = *bp->hw.breakpoint;
            // The register, not the attr: only what the hardware compares counts.
            if (kernel_.mrs(sysreg::DBGBVR_EL1(i)) != (regs.pc & ~std::uint64_t{3})) continue;
            if (!(kernel_.mrs(sysreg::DBGBCR_EL1(i)) >> 5 >> (regs.pc & 3) & 1)) continue;
            info.trigger = regs.pc;
            perf_bp_event(*bp, regs);
            step |= is_default_overflow_handler(*bp);
        }
    }
    if (!step) return 0;
    if (!regs.user_mode()) {
        toggle_bp_registers(BpTypeIdx::inst, DbgActiveEl::el1, false);
        step_from_kernel(regs);
        return 0;
    }
    TaskBase& task = *kernel_.current();
    task.debug.bps_disabled = true;
    toggle_bp_registers(BpTypeIdx::inst, DbgActiveEl::el0, false);
    if (!task.debug.wps_disabled) step_from_user(task);
    return 0;
}

/// Tells the event; true if the access is to be stepped over.
bool HwBreakpoints::watchpoint_report(PerfEvent& wp, std::uint64_t addr, PtRegs& regs) {
    const bool step = is_default_overflow_handler(wp);
    ArchBreakpoint& info = *wp.hw.breakpoint;
    info.trigger = addr;
    // The kernel's access to user memory on behalf of the task: nobody is told, but it must get past.
    if (!regs.user_mode() && info.ctrl.privilege == ArchBreakpoint::kEl0) return true;
    perf_bp_event(wp, regs);
    return step;
}

int HwBreakpoints::watchpoint_handler(std::uint64_t addr, std::uint32_t esr, PtRegs& regs) {
    KernelFrame frame(kernel_, KernelSymbol::watchpoint_handler);
    const std::uint64_t access = esr & esr::kWnR ? HW_BREAKPOINT_W : HW_BREAKPOINT_R;
    const std::uint64_t far = untagged(addr);
    bool step = false;
    {
        Perf::Impl::RcuReadLock rcu(perf_);
        const auto slots = here().wp_on_reg;
        PerfEvent* closest = nullptr;
        std::uint64_t closest_distance = ~std::uint64_t{0};
        for (unsigned i = 0; i < core_num_wrps_; ++i) {
            PerfEvent* wp = slots[i];
            if (!wp || !(access & wp->attr.bp_type)) continue;
            const std::uint64_t value = kernel_.mrs(sysreg::DBGWVR_EL1(i)), ctrl = kernel_.mrs(sysreg::DBGWCR_EL1(i));
            const std::uint64_t distance = get_distance_from_watchpoint(far, value, ctrl >> 5 & kMaxMask);
            if (distance < closest_distance) {
                closest_distance = distance;
                closest = wp;
            }
            // The last one that is reported decides about the step.
            if (distance == 0) step = watchpoint_report(*wp, addr, regs);
        }
        // FAR may be anything near the access: the nearest watchpoint is taken for the one that was hit.
        if (closest && closest_distance != 0) step = watchpoint_report(*closest, addr, regs);
    }
    if (!step) return 0;
    toggle_bp_registers(BpTypeIdx::data, DbgActiveEl::el0, false);
    if (!regs.user_mode()) {
        toggle_bp_registers(BpTypeIdx::data, DbgActiveEl::el1, false);
        step_from_kernel(regs);
        return 0;
    }
    TaskBase& task = *kernel_.current();
    task.debug.wps_disabled = true;
    if (!task.debug.bps_disabled) step_from_user(task);
    return 0;
}

int HwBreakpoints::reinstall_suspended_bps(PtRegs& regs) {
    KernelFrame frame(kernel_, KernelSymbol::reinstall_suspended_bps);
    TaskBase& task = *kernel_.current();
    ThreadDebug& debug = task.debug;
    if (regs.user_mode()) {
        bool handled = false;
        if (debug.bps_disabled) {
            debug.bps_disabled = false;
            toggle_bp_registers(BpTypeIdx::inst, DbgActiveEl::el0, true);
            handled = true;
        }
        if (debug.wps_disabled) {
            debug.wps_disabled = false;
            toggle_bp_registers(BpTypeIdx::data, DbgActiveEl::el0, true);
            handled = true;
        }
        if (!handled) return 1;
        if (debug.suspended_step) {
            // Somebody else wants this step too.
            debug.suspended_step = false;
            return 1;
        }
        monitors_.user_disable_single_step(task);
        return 0;
    }
    KernelStep& state = here().stepping_kernel_bp;
    if (state == KernelStep::none) return 1;
    toggle_bp_registers(BpTypeIdx::inst, DbgActiveEl::el1, true);
    toggle_bp_registers(BpTypeIdx::data, DbgActiveEl::el1, true);
    if (!debug.wps_disabled) toggle_bp_registers(BpTypeIdx::data, DbgActiveEl::el0, true);
    const bool suspended = state == KernelStep::suspend;
    if (!suspended) monitors_.kernel_disable_single_step();
    state = KernelStep::none;
    return suspended ? 1 : 0;
}

void HwBreakpoints::hw_breakpoint_thread_switch(const TaskBase& next) {
    const ThreadDebug &now = kernel_.current()->debug, &then = next.debug;
    // Only bps of the CPU are in registers at this moment of a switch.
    if (now.bps_disabled != then.bps_disabled)
        toggle_bp_registers(BpTypeIdx::inst, DbgActiveEl::el0, !then.bps_disabled);
    if (now.wps_disabled != then.wps_disabled)
        toggle_bp_registers(BpTypeIdx::data, DbgActiveEl::el0, !then.wps_disabled);
}

} // namespace rkperf::ke
