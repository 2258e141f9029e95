// SPDX-License-Identifier: Apache-2.0
// Debug exceptions from EL0 (arch/arm64/kernel/entry-common.c, el0_dbg): the syndrome, and the way to the handlers.
#include "kernel_events/debug_monitors.h"
#include "sim/os/signal/signals.h"
#include "sim/os/syscall/dispatch.h"

#include <cstring>

namespace rkperf::os {

namespace {

std::uint32_t syndrome(const cpu::Core& core, const a64::CpuState& u, DebugStop why) {
    switch (why) {
        case DebugStop::breakpoint: return esr::make(esr::kBreakpointLower, esr::kDebugFault);
        case DebugStop::step: return esr::make(esr::kStepLower, core.step_iss);
        case DebugStop::watchpoint:
            return esr::make(esr::kWatchpointLower, esr::kDebugFault | (u.fault.write ? esr::kWnR : 0) |
                                                        (u.fault.cache_maintenance ? esr::kCM : 0));
        case DebugStop::brk: break;
    }
    return esr::make(esr::kBrk, u.stop_info & 0xffff);
}

} // namespace

void handle_debug_exception(Kernel& k, Task& t, DebugStop why) {
    a64::CpuState& u = k.user();
    const std::uint32_t esr = syndrome(k.core(), u, why);
    Frame entry(k, KernelSymbol::el0t_64_sync);
    k.charge_bhb();
    Frame handler(k, KernelSymbol::el0t_64_sync_handler);
    Frame f(k, KernelSymbol::el0_dbg);
    const std::uint64_t addr = why == DebugStop::watchpoint ? u.fault.addr : u.pc;
    const ke::PtRegs before = t.pt_regs;
    k.here().debug_masked = true; // until all exceptions are unmasked together
    k.perf().debug_monitors().do_debug_exception(addr, esr, t.pt_regs);
    k.here().debug_masked = false;
    // Handlers work on the saved registers; what runs at EL0 are the CPU's.
    if (std::memcmp(before.regs, t.pt_regs.regs, sizeof before.regs) != 0 || before.sp != t.pt_regs.sp ||
        before.pc != t.pt_regs.pc) {
        a64::CpuState& now = k.user();
        std::memcpy(now.x, t.pt_regs.regs, sizeof t.pt_regs.regs);
        now.x[a64::kSp] = t.pt_regs.sp;
        now.pc = t.pt_regs.pc;
    }
    k.core().set_irq_mask(false);
}

namespace {

/// The function begins before the exceptions that its own exception has masked are unmasked.
bool masks_debug(std::uint64_t pc) {
    const auto s = Kernel::symbol_at(pc);
    if (!s) return false;
    switch (*s) {
        case KernelSymbol::el0t_64_sync:
        case KernelSymbol::el0t_64_sync_handler:
        case KernelSymbol::el0_svc:
        case KernelSymbol::el0t_64_irq:
        case KernelSymbol::el0t_64_irq_handler:
        case KernelSymbol::__el0_irq_handler_common:
        case KernelSymbol::el0_interrupt:
        case KernelSymbol::el1h_64_irq:
        case KernelSymbol::el1h_64_irq_handler:
        case KernelSymbol::el1_interrupt:
        case KernelSymbol::el0_da:
        case KernelSymbol::el0_ia:
        case KernelSymbol::el0_dbg:
        case KernelSymbol::el1_dbg:
        case KernelSymbol::el0_undef:
        case KernelSymbol::el0_pc: return true;
        default: return false;
    }
}

} // namespace

// --- exceptions from the kernel itself (el1_dbg); its native code is entered at function granularity ---

void Kernel::kernel_debug_exception(std::uint64_t addr, std::uint32_t esr, std::uint64_t pc, CodeAt where) {
    PerCpu& p = here();
    const IrqGuard irq(*this);
    ke::PtRegs regs;
    kernel_regs(regs, pc, where);
    p.debug_masked = true;
    {
        Frame f(*this, KernelSymbol::el1_dbg);
        perf_->debug_monitors().do_debug_exception(addr, esr, regs);
    }
    if (regs.pstate & spsr::SS) {
        // One instruction executes, then the step exception comes.
        charge(1);
        regs.pstate &= ~spsr::SS;
        regs.pc += 4;
        Frame f(*this, KernelSymbol::el1_dbg);
        perf_->debug_monitors().do_debug_exception(regs.pc, esr::make(esr::kStepSame, esr::kDebugFault | esr::kISV),
                                                   regs);
    }
    p.debug_masked = false;
}

void Kernel::kernel_breakpoint(std::uint64_t pc) {
    PerCpu& p = here();
    cpu::DebugMonitor* debug = p.core->debug_monitor();
    if (p.debug_masked || !debug || !debug->kernel_breakpoint_matches(pc) || masks_debug(pc)) return;
    kernel_debug_exception(pc, esr::make(esr::kBreakpointSame, esr::kDebugFault), pc, CodeAt::entry);
}

void Kernel::watch_user_access(std::uint64_t addr, std::size_t n, bool write) {
    PerCpu& p = here();
    cpu::DebugMonitor* debug = p.core->debug_monitor();
    std::uint64_t far = addr;
    if (p.debug_masked || !debug || !debug->kernel_access_matches(addr, n, write, far)) return;
    kernel_debug_exception(far, esr::make(esr::kWatchpointSame, esr::kDebugFault | (write ? esr::kWnR : 0)),
                           p.core->present_pc(), CodeAt::inside);
}

void Kernel::force_sig_fault(int signo, int code, std::uint64_t addr, std::uint32_t esr) {
    Task& t = cur();
    if (esr) {
        t.fault_address = 0;
        t.fault_code = esr;
    }
    signals_->force(t, siginfo_fault(signo, code, addr));
}

} // namespace rkperf::os
