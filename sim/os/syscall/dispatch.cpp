// SPDX-License-Identifier: Apache-2.0
#include "sim/os/syscall/dispatch.h"
#include "sim/os/kernel.h"

#include "kernel_events/debug_monitors.h"
#include "kernel_events/trace/tracepoints.h"
#include "sim/os/exec/id_registers.h"
#include "sim/os/process/tagged_addr.h"
#include "sim/os/ptrace/ptrace.h"
#include "sim/os/signal/signals.h"
#include "sim/os/syscall/tables.h"

#include <array>
#include <cerrno>
#include <cstdio>

namespace rkperf::os {

namespace {

constexpr int kMaxSyscalls = 512;

std::array<const SyscallRow*, kMaxSyscalls> build_table() {
    std::array<const SyscallRow*, kMaxSyscalls> table{};
    for (const auto rows : {fs_syscalls(), mm_syscalls(), process_syscalls(), signal_syscalls(), time_syscalls(),
                            misc_syscalls(), cred_syscalls(), prctl_syscalls(), ns_syscalls(), bpf_syscalls(),
                            perf_syscalls(), ptrace_syscalls(), process_vm_syscalls(), seccomp_syscalls()})
        for (const SyscallRow& r : rows) table[static_cast<unsigned>(r.nr)] = &r;
    return table;
}

/// The function of each system call; `count_` where syscall_events.def has none.
constexpr auto kFunctions = [] {
    std::array<KernelSymbol, kMaxSyscalls> functions{};
    functions.fill(KernelSymbol::count_);
#define X(nr, name, id, params) functions[nr] = KernelSymbol::__arm64_sys_##name;
#include "kernel_events/trace/syscall_events.def"
#undef X
    return functions;
}();

std::int64_t call_function(Kernel& k, Task& t, const SyscallRow& row) {
    const a64::CpuState& u = k.user();
    const auto run = [&] { return row.call(k, t, {u.x[0], u.x[1], u.x[2], u.x[3], u.x[4], u.x[5]}); };
    const KernelSymbol function = kFunctions[static_cast<unsigned>(row.nr)];
    if (function == KernelSymbol::count_) return run();
    Frame f(k, function);
    const std::int64_t result = run();
    k.function_returns(result);
    return result;
}

void call(Kernel& k, Task& t, int nr) {
    for (auto* o : k.observers()) o->syscall(k.this_cpu(), t, nr, true);
    std::int64_t result = -ENOSYS;
    const SyscallRow* row = find_syscall(nr);
    k.tracepoints().trace_sys_enter(t.pt_regs, nr);
    {
        Frame f(k, KernelSymbol::invoke_syscall);
        if (row) {
            result = call_function(k, t, *row);
        } else {
            k.report_unknown_syscall(t, nr);
        }
    }
    // The task may be on another CPU by now.
    k.user().x[0] = static_cast<std::uint64_t>(result);
    t.pt_regs.regs[0] = static_cast<std::uint64_t>(result);
    k.tracepoints().trace_sys_exit(t.pt_regs, nr, result);
    for (auto* o : k.observers()) o->syscall(k.this_cpu(), t, nr, false);
}

void do_syscall(Kernel& k, Task& t) {
    a64::CpuState& u = k.user();
    int nr = static_cast<int>(u.x[8]);
    t.syscall_nr = nr;
    t.orig_x0 = u.x[0];
    bool skip = false;
    if (has_syscall_work(t)) {
        if (nr == -1)
            u.x[0] = static_cast<std::uint64_t>(-ENOSYS); // what a call of no number returns, unless it is changed
        nr = syscall_trace_enter(k, t);
        skip = nr == -1;
    }
    if (!skip) call(k, t, nr);
    syscall_trace_exit(k, t);
    const auto result = static_cast<std::int64_t>(k.user().x[0]);
    if (t.syscall_nr != -1 && result <= kERESTARTSYS && result >= kERESTART_RESTARTBLOCK) t.syscall_restart = true;
}

void do_fault(Kernel& k, Task& t, bool exec) {
    const a64::Fault fault = k.user().fault;
    const std::uint64_t addr = exec ? k.user().pc : untagged_addr(fault.addr);
    if ((fault.status & 0x3f) == 0x21) {
        t.fault_address = fault.addr;
        t.fault_code = 0x92000000ull | (fault.write ? 0x40 : 0) | fault.status;
        k.signals().force(t, siginfo_fault(SIGBUS, 1 /* BUS_ADRALN */, fault.addr));
        return;
    }
    k.tracepoints().trace_page_fault_user(
        addr, t.pt_regs, (exec ? 0x82000000ull : 0x92000000ull) | (fault.write ? 0x40 : 0) | fault.status);
    Frame f(k, KernelSymbol::do_page_fault);
    const FaultResult r =
        t.as->handle_fault(addr, fault.write && !fault.cache_maintenance, exec, AddressSpace::FaultBy::user);
    if (r.signal) {
        // ESR_EL1: EC 0x20/0x24 (lower level instruction/data abort), IL, ISS with WnR and the fault status.
        t.fault_address = addr;
        // Linux makes entries of PROT_NONE invalid: a translation fault at level 3.
        const Vma* v = t.as->find(addr);
        const std::uint64_t status = v && !v->prot ? 0x07 : fault.status;
        t.fault_code = (exec ? 0x82000000ull : 0x92000000ull) | (fault.write ? 0x40 : 0) | status;
        char text[160];
        std::snprintf(text, sizeof text, "%s[%d]: %s fault at address 0x%llx, pc 0x%llx", t.comm, t.pid,
                      exec          ? "fetch"
                      : fault.write ? "write"
                                    : "read",
                      static_cast<unsigned long long>(addr), static_cast<unsigned long long>(k.user().pc));
        k.pr_info(text);
    }
    if (r.signal) k.signals().force(t, siginfo_fault(r.signal, r.code, exec ? k.user().pc : fault.addr));
}

} // namespace

const SyscallRow* find_syscall(int nr) {
    static const auto table = build_table();
    return nr >= 0 && nr < kMaxSyscalls ? table[static_cast<unsigned>(nr)] : nullptr;
}

void handle_sync_exception(Kernel& k, Task& t) {
    a64::CpuState& u = k.user();
    const a64::Stop stop = u.stop;
    u.stop = a64::Stop::none;
    if (stop == a64::Stop::brk) return handle_debug_exception(k, t, DebugStop::brk);
    if (stop == a64::Stop::watchpoint) return handle_debug_exception(k, t, DebugStop::watchpoint);
    Frame entry(k, KernelSymbol::el0t_64_sync);
    k.charge_bhb();
    Frame handler(k, KernelSymbol::el0t_64_sync_handler);
    k.core().set_irq_mask(false);
    switch (stop) {
        case a64::Stop::svc: {
            Frame f(k, KernelSymbol::el0_svc);
            Frame g(k, KernelSymbol::do_el0_svc);
            Frame h(k, KernelSymbol::el0_svc_common);
            do_syscall(k, t);
            break;
        }
        case a64::Stop::data_abort: {
            Frame f(k, KernelSymbol::el0_da);
            Frame g(k, KernelSymbol::do_mem_abort);
            do_fault(k, t, false);
            break;
        }
        case a64::Stop::insn_abort: {
            Frame f(k, KernelSymbol::el0_ia);
            Frame g(k, KernelSymbol::do_mem_abort);
            do_fault(k, t, true);
            break;
        }
        case a64::Stop::undefined:
        case a64::Stop::trap_sysreg: {
            Frame f(k, KernelSymbol::el0_undef);
            if (emulate_id_register_read(k, u)) {
                k.perf().debug_monitors().user_fastforward_single_step(t);
                break;
            }
            k.report_undefined(t, u.pc);
            t.fault_address = t.fault_code = 0;
            k.signals().force(t, siginfo_fault(SIGILL, 1 /* ILL_ILLOPC */, u.pc));
            break;
        }
        case a64::Stop::pc_alignment:
        case a64::Stop::sp_alignment: {
            Frame f(k, KernelSymbol::el0_pc);
            const bool pc = stop == a64::Stop::pc_alignment;
            k.signals().force(t, siginfo_fault(SIGBUS, 1 /* BUS_ADRALN */, pc ? u.pc : u.x[a64::kSp]));
            break;
        }
        case a64::Stop::wait:
        case a64::Stop::isb:
        case a64::Stop::none: break;
        default: {
            Frame f(k, KernelSymbol::el0_undef);
            k.report_undefined(t, u.pc);
            k.signals().force(t, siginfo_fault(SIGILL, 1 /* ILL_ILLOPC */, u.pc));
            break;
        }
    }
}

} // namespace rkperf::os
