// SPDX-License-Identifier: Apache-2.0
#include "kernel_events/debug_monitors.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <stdexcept>

namespace rkperf::ke {

DebugMonitors::DebugMonitors(Kernel& kernel) : kernel_(kernel) {
    const auto info = [&](DbgEvt evt) -> FaultInfo& { return debug_fault_info_[static_cast<unsigned>(evt)]; };
    for (FaultInfo& f : debug_fault_info_) f = {nullptr, SIGKILL, 0};
    info(DbgEvt::hwbp) = {nullptr, SIGTRAP, TRAP_HWBKPT};
    info(DbgEvt::hwwp) = {nullptr, SIGTRAP, TRAP_HWBKPT};
    info(DbgEvt::bkpt32) = {nullptr, SIGTRAP, TRAP_BRKPT};
    hook_debug_fault_code(
        DbgEvt::hwss, [this](std::uint64_t, std::uint32_t e, PtRegs& r) { return single_step_handler(e, r); }, SIGTRAP,
        TRAP_TRACE);
    hook_debug_fault_code(
        DbgEvt::brk, [this](std::uint64_t, std::uint32_t e, PtRegs& r) { return brk_handler(e, r); }, SIGTRAP,
        TRAP_BRKPT);
}

void DebugMonitors::hook_debug_fault_code(DbgEvt evt, FaultHandler fn, int signo, int code) {
    debug_fault_info_[static_cast<unsigned>(evt)] = {std::move(fn), signo, code};
}

void Kernel::force_sig_fault(int, int, std::uint64_t, std::uint32_t) {
    throw std::logic_error("this kernel has no signals, but an exception asks for one");
}

// --- MDSCR_EL1 ---

std::uint32_t DebugMonitors::mdscr_read() { return static_cast<std::uint32_t>(kernel_.mrs(sysreg::MDSCR_EL1)); }

void DebugMonitors::mdscr_write(std::uint32_t value) {
    const IrqGuard daif(kernel_); // DBG-060
    kernel_.msr(sysreg::MDSCR_EL1, value);
}

void DebugMonitors::cpu_starting() {
    kernel_.msr(sysreg::MDSCR_EL1, mdscr::TDCC);
    kernel_.msr(sysreg::OSDLR_EL1, 0);
    kernel_.msr(sysreg::OSLAR_EL1, 0);
    kernel_.isb();
}

void DebugMonitors::enable_debug_monitors(DbgActiveEl el) {
    const auto cpu = static_cast<unsigned>(kernel_.smp_processor_id());
    std::uint32_t enable = 0;
    if (++mde_ref_count_[cpu] == 1) enable = mdscr::MDE;
    if (el == DbgActiveEl::el1 && ++kde_ref_count_[cpu] == 1) enable |= mdscr::KDE;
    if (enable && debug_enabled) mdscr_write(mdscr_read() | enable);
}

void DebugMonitors::disable_debug_monitors(DbgActiveEl el) {
    const auto cpu = static_cast<unsigned>(kernel_.smp_processor_id());
    std::uint32_t disable = 0;
    if (--mde_ref_count_[cpu] == 0) disable = ~mdscr::MDE;
    // The masks are combined by AND with one that starts at 0, so KDE alone is never cleared (DBG-058).
    if (el == DbgActiveEl::el1 && --kde_ref_count_[cpu] == 0) disable &= ~mdscr::KDE;
    if (disable) mdscr_write(mdscr_read() & disable);
}

// --- single step ---

void DebugMonitors::user_enable_single_step(TaskBase& task) {
    if (task.tif_singlestep) return;
    task.tif_singlestep = true;
    if (PtRegs* regs = kernel_.task_pt_regs(&task)) regs->pstate |= spsr::SS;
}

void DebugMonitors::user_disable_single_step(TaskBase& task) { task.tif_singlestep = false; }

void DebugMonitors::user_rewind_single_step(TaskBase& task) {
    PtRegs* regs = kernel_.task_pt_regs(&task);
    if (task.tif_singlestep && regs) regs->pstate |= spsr::SS;
}

void DebugMonitors::user_fastforward_single_step(TaskBase& task) {
    PtRegs* regs = kernel_.task_pt_regs(&task);
    if (task.tif_singlestep && regs) regs->pstate &= ~spsr::SS;
}

void DebugMonitors::user_regs_reset_single_step(PtRegs& regs, const TaskBase& task) {
    regs.pstate = task.tif_singlestep ? regs.pstate | spsr::SS : regs.pstate & ~spsr::SS;
}

void DebugMonitors::enable_step_tsk(const TaskBase& task) {
    if (task.tif_singlestep) kernel_.msr(sysreg::MDSCR_EL1, mdscr_read() | mdscr::SS);
}

void DebugMonitors::disable_step_tsk(const TaskBase& task) {
    if (task.tif_singlestep) kernel_.msr(sysreg::MDSCR_EL1, mdscr_read() & ~mdscr::SS);
}

void DebugMonitors::kernel_enable_single_step(PtRegs& regs) {
    regs.pstate |= spsr::SS;
    mdscr_write(mdscr_read() | mdscr::SS);
    enable_debug_monitors(DbgActiveEl::el1);
}

void DebugMonitors::kernel_disable_single_step() {
    mdscr_write(mdscr_read() & ~mdscr::SS);
    disable_debug_monitors(DbgActiveEl::el1);
}

bool DebugMonitors::kernel_active_single_step() { return mdscr_read() & mdscr::SS; }

// --- exceptions ---

void DebugMonitors::send_user_sigtrap(int code, const PtRegs& regs) {
    kernel_.force_sig_fault(SIGTRAP, code, regs.pc, 0);
}

int DebugMonitors::single_step_handler(std::uint32_t esr, PtRegs& regs) {
    KernelFrame frame(kernel_, KernelSymbol::single_step_handler);
    if (reinstall_suspended_bps_ && reinstall_suspended_bps_(regs) == 0) return 0;
    for (const Hook& hook : regs.user_mode() ? user_step_ : kernel_step_)
        if (hook(regs, esr)) return 0;
    if (regs.user_mode()) {
        send_user_sigtrap(TRAP_TRACE, regs);
        // The signal is taken on the way back to user mode; stepping goes on from there.
        user_rewind_single_step(*kernel_.current());
    } else {
        kernel_.pr_info("Unexpected kernel single-step exception at EL1");
        regs.pstate |= spsr::SS;
    }
    return 0;
}

int DebugMonitors::brk_handler(std::uint32_t esr, PtRegs& regs) {
    KernelFrame frame(kernel_, KernelSymbol::brk_handler);
    const auto comment = static_cast<std::uint16_t>(esr);
    const auto& hooks = regs.user_mode() ? user_break_ : kernel_break_;
    const auto hook = std::find_if(hooks.begin(), hooks.end(), [&](const BreakHook& h) {
        return static_cast<std::uint16_t>(comment & ~h.mask) == h.imm;
    });
    if (hook != hooks.end() && hook->fn(regs, esr)) return 0;
    if (!regs.user_mode()) {
        kernel_.pr_info("Unexpected kernel BRK exception at EL1");
        return -EFAULT;
    }
    send_user_sigtrap(TRAP_BRKPT, regs);
    return 0;
}

void DebugMonitors::do_debug_exception(std::uint64_t addr, std::uint32_t esr, PtRegs& regs) {
    KernelFrame frame(kernel_, KernelSymbol::do_debug_exception);
    kernel_.preempt_disable();
    const FaultInfo& info = debug_fault_info_[dbg_esr_evt(esr)];
    if (!info.fn || info.fn(addr, esr, regs) != 0) {
        if (!regs.user_mode()) throw std::logic_error("debug exception in the kernel that nobody handles");
        kernel_.force_sig_fault(info.signo, info.code, regs.pc, esr);
    }
    kernel_.preempt_enable();
}

bool DebugMonitors::aarch32_break(std::uint32_t insn, bool thumb) {
    constexpr std::uint32_t kArm = 0x07f001f0, kThumb = 0xde01, kThumb2 = 0xf7f0, kThumb2Second = 0xa000;
    if (!thumb) return (insn & 0x0fffffff) == kArm;
    return (insn & 0xffff) == kThumb || ((insn & 0xffff) == kThumb2 && insn >> 16 == kThumb2Second);
}

} // namespace rkperf::ke
