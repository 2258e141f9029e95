// SPDX-License-Identifier: Apache-2.0
#include "sim/os/kernel.h"
#include "sim/os/ns/pid_namespace.h"
#include "sim/os/signal/signals.h"
#include "sim/os/syscall/tables.h"
#include "sim/os/time/time_keeper.h"

#include <cerrno>
#include <cstring>

namespace rkperf::os {

namespace {

constexpr SigSet kUnblockable = 1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1);

std::int64_t sys_rt_sigaction(Kernel& k, Task& t, const SyscallArgs& a) {
    if (a[3] != sizeof(SigSet)) return -EINVAL;
    // struct kernel_sigaction of arm64: handler, flags, restorer, mask
    SigAction act, old;
    if (a[1] && k.get(a[1], act)) return -EFAULT;
    if (const int e = k.signals().do_sigaction(t, static_cast<int>(a[0]), a[1] ? &act : nullptr, &old)) return e;
    return a[2] && k.put(a[2], old) ? -EFAULT : 0;
}

std::int64_t sys_rt_sigprocmask(Kernel& k, Task& t, const SyscallArgs& a) {
    if (a[3] != sizeof(SigSet)) return -EINVAL;
    const SigSet old = t.blocked;
    if (a[1]) {
        SigSet set;
        if (k.get(a[1], set)) return -EFAULT;
        set &= ~kUnblockable;
        switch (static_cast<int>(a[0])) {
            case SIG_BLOCK: set |= old; break;
            case SIG_UNBLOCK: set = old & ~set; break;
            case SIG_SETMASK: break;
            default: return -EINVAL;
        }
        k.signals().set_blocked(t, set);
    }
    return a[2] && k.put(a[2], old) ? -EFAULT : 0;
}

std::int64_t sys_rt_sigpending(Kernel& k, Task& t, const SyscallArgs& a) {
    if (a[1] > sizeof(SigSet)) return -EINVAL;
    const SigSet set = (t.pending.set | t.process->shared_pending.set) & t.blocked;
    return k.put_user(a[0], &set, a[1]) ? -EFAULT : 0;
}

std::int64_t sys_rt_sigsuspend(Kernel& k, Task& t, const SyscallArgs& a) {
    if (a[1] != sizeof(SigSet)) return -EINVAL;
    SigSet set;
    if (k.get(a[0], set)) return -EFAULT;
    t.saved_sigmask = t.blocked;
    k.signals().set_blocked(t, set);
    while (!Signals::pending(t)) {
        t.state = TaskState::interruptible;
        if (Signals::pending(t)) break;
        k.schedule();
    }
    t.state = TaskState::running;
    t.restore_sigmask = true;
    return kERESTARTNOHAND;
}

std::int64_t sys_rt_sigtimedwait(Kernel& k, Task& t, const SyscallArgs& a) {
    if (a[3] != sizeof(SigSet)) return -EINVAL;
    SigSet set;
    if (k.get(a[0], set)) return -EFAULT;
    set &= ~kUnblockable;
    std::uint64_t deadline = ~std::uint64_t{0};
    if (a[2]) {
        std::int64_t ts[2];
        if (k.get(a[2], ts)) return -EFAULT;
        if (ts[0] < 0 || ts[1] < 0 || ts[1] >= 1'000'000'000) return -EINVAL;
        deadline =
            k.time().now_ns() + static_cast<std::uint64_t>(ts[0]) * 1'000'000'000 + static_cast<std::uint64_t>(ts[1]);
    }
    SigInfo info;
    const SigSet blocked = t.blocked;
    std::int64_t result = 0;
    // The awaited signals are unblocked while sleeping, so that they wake.
    if (!k.signals().dequeue(t, ~set, info)) {
        if (deadline <= k.time().now_ns()) return -EAGAIN;
        t.real_blocked = blocked;
        t.blocked = blocked & ~set;
        for (;;) {
            t.state = TaskState::interruptible;
            if (Signals::pending(t)) break;
            if (result == -ETIME) break;
            result = k.schedule_until(deadline);
        }
        t.state = TaskState::running;
        t.real_blocked = 0;
        t.blocked = blocked;
        if (!k.signals().dequeue(t, ~set, info)) return result == -ETIME ? -EAGAIN : -EINTR;
    }
    if (a[1] && k.put_user(a[1], info.raw.data(), info.raw.size())) return -EFAULT;
    return info.signo();
}

int user_siginfo(Kernel& k, Task& t, int pid, int signo, std::uint64_t at, SigInfo& info) {
    if (k.get_user(info.raw.data(), at, info.raw.size())) return -EFAULT;
    std::int32_t n = signo, code;
    std::memcpy(info.raw.data(), &n, 4);
    std::memcpy(&code, info.raw.data() + 8, 4);
    if ((code >= 0 || code == -6 /* SI_TKILL */) && pid != pid_vnr(t, t.tgid)) return -EPERM;
    return 0;
}
std::int64_t sys_rt_sigqueueinfo(Kernel& k, Task& t, const SyscallArgs& a) {
    SigInfo info;
    if (const int e = user_siginfo(k, t, static_cast<int>(a[0]), static_cast<int>(a[1]), a[2], info)) return e;
    Task* x = k.find_task_vpid(static_cast<int>(a[0]));
    if (!x) return -ESRCH;
    if (a[1] > static_cast<unsigned>(kNumSignals)) return -EINVAL;
    return a[1] ? k.signals().send_process(*x, info) : 0;
}
std::int64_t sys_rt_tgsigqueueinfo(Kernel& k, Task& t, const SyscallArgs& a) {
    SigInfo info;
    if (const int e = user_siginfo(k, t, static_cast<int>(a[0]), static_cast<int>(a[2]), a[3], info)) return e;
    Task* x = k.find_task_vpid(static_cast<int>(a[1]));
    if (!x || pid_vnr(t, x->tgid) != static_cast<int>(a[0])) return -ESRCH;
    if (a[2] > static_cast<unsigned>(kNumSignals)) return -EINVAL;
    return a[2] ? k.signals().send_thread(*x, info) : 0;
}

struct StackT {
    std::uint64_t sp;
    std::int32_t flags, pad;
    std::uint64_t size;
};
std::int64_t sys_sigaltstack(Kernel& k, Task& t, const SyscallArgs& a) {
    constexpr std::uint64_t kMinSize = 5120; // MINSIGSTKSZ of arm64
    constexpr int kDisable = 2, kAutodisarm = static_cast<int>(1u << 31);
    const std::uint64_t sp = k.user().x[a64::kSp];
    const bool on = t.altstack_size && sp > t.altstack_sp && sp <= t.altstack_sp + t.altstack_size;
    const StackT old{t.altstack_sp, t.altstack_size ? (on ? 1 : 0) | (t.altstack_flags & kAutodisarm) : kDisable, 0,
                     t.altstack_size};
    if (a[0]) {
        StackT s;
        if (k.get(a[0], s)) return -EFAULT;
        if (on) return -EPERM;
        const int mode = s.flags & ~kAutodisarm;
        if (mode != 0 && mode != 1 && mode != kDisable) return -EINVAL;
        if (mode == kDisable) {
            t.altstack_sp = t.altstack_size = 0;
            t.altstack_flags = kDisable;
        } else {
            if (s.size < kMinSize) return -ENOMEM;
            t.altstack_sp = s.sp;
            t.altstack_size = s.size;
            t.altstack_flags = s.flags & kAutodisarm;
        }
    }
    return a[1] && k.put(a[1], old) ? -EFAULT : 0;
}

std::int64_t sys_rt_sigreturn(Kernel& k, Task&, const SyscallArgs&) { return k.signals().sigreturn(); }
std::int64_t sys_kill(Kernel& k, Task&, const SyscallArgs& a) {
    return k.signals().kill(static_cast<int>(a[0]), static_cast<int>(a[1]));
}
std::int64_t sys_tkill(Kernel& k, Task&, const SyscallArgs& a) {
    return k.signals().tgkill(-1, static_cast<int>(a[0]), static_cast<int>(a[1]));
}
std::int64_t sys_tgkill(Kernel& k, Task&, const SyscallArgs& a) {
    if (static_cast<int>(a[0]) <= 0) return -EINVAL;
    return k.signals().tgkill(static_cast<int>(a[0]), static_cast<int>(a[1]), static_cast<int>(a[2]));
}
std::int64_t sys_restart_syscall(Kernel&, Task& t, const SyscallArgs&) {
    if (!t.restart_block) return -EINTR;
    auto fn = std::move(t.restart_block);
    t.restart_block = nullptr;
    return fn();
}

constexpr SyscallRow kRows[] = {
    {128, "restart_syscall", sys_restart_syscall, 0},
    {129, "kill", sys_kill, 2},
    {130, "tkill", sys_tkill, 2},
    {131, "tgkill", sys_tgkill, 3},
    {132, "sigaltstack", sys_sigaltstack, 2},
    {133, "rt_sigsuspend", sys_rt_sigsuspend, 2},
    {134, "rt_sigaction", sys_rt_sigaction, 4},
    {135, "rt_sigprocmask", sys_rt_sigprocmask, 4},
    {136, "rt_sigpending", sys_rt_sigpending, 2},
    {137, "rt_sigtimedwait", sys_rt_sigtimedwait, 4},
    {138, "rt_sigqueueinfo", sys_rt_sigqueueinfo, 3},
    {139, "rt_sigreturn", sys_rt_sigreturn, 0},
    {240, "rt_tgsigqueueinfo", sys_rt_tgsigqueueinfo, 4},
};

} // namespace

std::span<const SyscallRow> signal_syscalls() { return kRows; }

} // namespace rkperf::os
