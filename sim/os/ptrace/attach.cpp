// SPDX-License-Identifier: Apache-2.0
// Who traces whom: permission, attaching, detaching, and what happens to tracees whose tracer ends.
#include "sim/os/ns/namespaces.h"
#include "sim/os/process/process.h"
#include "sim/os/ptrace/ptrace.h"
#include "sim/os/signal/signals.h"

#include <algorithm>
#include <cerrno>

namespace rkperf::os {

namespace {

constexpr int kCapSysPtrace = 19, kCapSysAdmin = 21;

} // namespace

bool ptrace_may_access(const Task& me, const Task& t, PtraceMode mode) {
    if (me.process == t.process) return true;
    if (ns_capable(me.cred, t.cred.user_ns.get(), kCapSysPtrace)) return true;
    const bool fs = mode == PtraceMode::fscreds;
    const std::uint32_t uid = fs ? me.cred.fsuid : me.cred.uid, gid = fs ? me.cred.fsgid : me.cred.gid;
    const std::uint64_t caps = fs ? me.cred.cap_effective : me.cred.cap_permitted;
    return uid == t.cred.uid && uid == t.cred.euid && uid == t.cred.suid && gid == t.cred.gid && gid == t.cred.egid &&
           gid == t.cred.sgid && me.cred.user_ns == t.cred.user_ns && t.process->dumpable &&
           !(t.cred.cap_permitted & ~caps);
}

bool may_suspend_seccomp(const Task& t) {
    return Kernel::has_cap(t, kCapSysAdmin) && !t.seccomp.mode && !(t.ptrace.options & ptrace_option::suspend_seccomp);
}

void ptrace_link(Task& child, Task& tracer) {
    child.ptrace.tracer = &tracer;
    tracer.ptrace.tracees.push_back(&child);
}

void ptrace_unlink(Kernel& k, Task& child) {
    if (!child.ptrace) return;
    std::erase(child.ptrace.tracer->ptrace.tracees, &child);
    child.ptrace.tracer = nullptr;
    child.ptrace.seized = false;
    child.ptrace.options = 0;
    child.ptrace.syscall_trace = child.ptrace.syscall_emu = false;
    Signals::clear_jobctl_pending(child, jobctl::trap_mask);
    child.jobctl &= ~jobctl::trapping;
    const Process& p = *child.process;
    if (!child.exiting && (p.stop_stopped || p.group_stop_count)) {
        // The group is stopped: so is this thread from now on.
        child.jobctl |= jobctl::stop_pending;
        if (!(child.jobctl & jobctl::stop_sigmask)) child.jobctl |= SIGSTOP;
    }
    if ((child.jobctl & jobctl::stop_pending) || (child.jobctl & jobctl::traced)) k.signals().ptrace_wake(child, true);
}

void ptrace_init_task(Kernel& k, Task& child, Task& forker, bool trace) {
    (void)k;
    child.ptrace.forker = forker.pid;
    if (!trace || !forker.ptrace) return;
    ptrace_link(child, *forker.ptrace.tracer);
    child.ptrace.seized = forker.ptrace.seized;
    child.ptrace.options = forker.ptrace.options;
    if (child.ptrace.seized)
        Signals::set_jobctl_pending(child, jobctl::trap_stop);
    else
        child.pending.set |= 1ull << (SIGSTOP - 1);
}

bool ptrace_detach_links(Kernel& k, Task& tracer, Task& child) {
    ptrace_unlink(k, child);
    if (child.state != TaskState::zombie) return false;
    const Process& p = *child.process;
    if (p.leader != &child) return true;
    if (p.threads.size() != 1) return false;
    if (child.parent->process != tracer.process) return k.signals().notify_parent(child, child.exit_signal);
    const SigAction& chld = tracer.process->sighand->action[SIGCHLD];
    if (chld.handler != 1 && !(chld.flags & 2 /* SA_NOCLDWAIT */)) return false;
    tracer.process->wait_chldexit->wake_up_all();
    return true;
}

void exit_ptrace(Kernel& k, Task& tracer) {
    const IrqGuard guard(k);
    while (!tracer.ptrace.tracees.empty()) {
        Task& child = *tracer.ptrace.tracees.front();
        if (child.ptrace.options & ptrace_option::exitkill) k.signals().send_process(child, siginfo_kernel(SIGKILL));
        if (ptrace_detach_links(k, tracer, child)) release_task(k, child);
    }
}

std::int64_t ptrace_traceme(Kernel& k, Task& t) {
    const IrqGuard guard(k);
    if (t.ptrace) return -EPERM;
    // The thread that forked it, if it is still there.
    Task* tracer = k.find_task(t.ptrace.forker);
    if (!tracer || tracer->process != t.parent->process || tracer->exiting) tracer = t.parent;
    if (!tracer->exiting) ptrace_link(t, *tracer);
    return 0;
}

std::int64_t ptrace_attach(Kernel& k, Task& t, Task& child, bool seize, std::uint64_t addr, std::uint64_t options) {
    if (seize) {
        if (addr || (options & ~std::uint64_t{ptrace_option::mask})) return -EIO;
        if ((options & ptrace_option::suspend_seccomp) && !may_suspend_seccomp(t)) return -EPERM;
    }
    if (child.kthread || child.process == t.process) return -EPERM;
    if (!ptrace_may_access(t, child, PtraceMode::realcreds)) return -EPERM;
    {
        const IrqGuard guard(k);
        if (child.state == TaskState::zombie || child.state == TaskState::dead || child.ptrace) return -EPERM;
        ptrace_link(child, t);
        child.ptrace.seized = seize;
        child.ptrace.options = seize ? static_cast<std::uint32_t>(options) : 0;
        if (!seize) k.signals().send_thread(child, siginfo_kernel(SIGSTOP));
        // A task that is stopped goes over to the tracer's kind of stop; the caller may rely on that.
        if ((child.jobctl & jobctl::stopped) &&
            Signals::set_jobctl_pending(child, jobctl::trap_stop | jobctl::trapping)) {
            child.jobctl &= ~jobctl::stopped;
            k.wake_up_process(child);
        }
    }
    k.wait_event(*t.process->wait_chldexit, [&] { return !(child.jobctl & jobctl::trapping); });
    return 0;
}

} // namespace rkperf::os
