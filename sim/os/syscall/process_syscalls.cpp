// SPDX-License-Identifier: Apache-2.0
#include "sim/os/exec/exec.h"
#include "sim/os/fs/epoll.h"
#include "sim/os/fs/pidfd.h"
#include "sim/os/kernel.h"
#include "sim/os/ns/pid_namespace.h"
#include "sim/os/process/process.h"
#include "sim/os/ptrace/ptrace.h"
#include "sim/os/sched/scheduler.h"
#include "sim/os/signal/signals.h"
#include "sim/os/syscall/tables.h"

#include <sched.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

namespace rkperf::os {

namespace {

constexpr std::uint64_t kNsPerUs = 1000, kUsPerS = 1'000'000;

std::int64_t sys_clone(Kernel& k, Task& t, const SyscallArgs& a) {
    // arm64: flags, stack, parent_tid, tls, child_tid
    CloneArgs c;
    c.flags = a[0] & ~0xffull;
    c.exit_signal = static_cast<int>(a[0] & 0xff);
    c.stack = a[1], c.parent_tid = a[2], c.tls = a[3], c.child_tid = a[4];
    c.pidfd = c.parent_tid; // one argument serves both
    return do_clone(k, t, c);
}

std::int64_t sys_clone3(Kernel& k, Task& t, const SyscallArgs& a) {
    constexpr std::size_t kVer0 = 64, kVer2 = 88;
    std::uint64_t v[11] = {};
    if (a[1] > kPageSize) return -E2BIG;
    if (a[1] < kVer0) return -EINVAL;
    if (k.get_user(v, a[0], std::min<std::uint64_t>(a[1], kVer2))) return -EFAULT;
    // A bigger struct is one of a later kernel: what is not known must be 0.
    for (std::uint64_t at = kVer2; at < a[1]; ++at) {
        std::uint8_t byte;
        if (k.get(a[0] + at, byte)) return -EFAULT;
        if (byte) return -E2BIG;
    }
    CloneArgs c;
    c.flags = v[0], c.pidfd = v[1], c.child_tid = v[2], c.parent_tid = v[3];
    c.pidfd_separate = true;
    c.cgroup = static_cast<int>(v[10]);
    if (v[9] > 32 || (!v[8]) != (!v[9]) || v[4] > kNumSignals) return -EINVAL;
    if ((c.flags & 0x200000000ull /* CLONE_INTO_CGROUP */) && (v[10] > 0x7fffffff || a[1] < kVer2)) return -EINVAL;
    c.set_tid.resize(v[9]);
    if (v[9] && k.get_user(c.set_tid.data(), v[8], v[9] * sizeof(int))) return -EFAULT;
    c.exit_signal = static_cast<int>(v[4]);
    c.stack = v[5] + v[6];
    c.tls = v[7];
    if (c.flags & ~0x3ffffffffull) return -EINVAL;
    if ((c.flags & CLONE_DETACHED) || (c.flags & 0xff & ~kCloneNewTime)) return -EINVAL;
    if ((c.flags & (CLONE_THREAD | CLONE_PARENT)) && c.exit_signal) return -EINVAL;
    if ((v[5] == 0) != (v[6] == 0)) return -EINVAL;
    return do_clone(k, t, c);
}

int get_string_array(Kernel& k, std::uint64_t at, std::vector<std::string>& out) {
    if (!at) return 0;
    for (;; at += 8) {
        std::uint64_t p;
        if (k.get(at, p)) return -EFAULT;
        if (!p) return 0;
        std::string s;
        if (const int e = k.get_string(p, s, 32 * kPageSize)) return e == -ENAMETOOLONG ? -E2BIG : e;
        out.push_back(std::move(s));
        if (out.size() > 1'000'000) return -E2BIG;
    }
}

std::int64_t execve_common(Kernel& k, Task& t, int dirfd, std::uint64_t upath, std::uint64_t uargv, std::uint64_t uenvp,
                           int flags) {
    std::string path;
    if (const int e = k.get_string(upath, path)) return e;
    std::vector<std::string> argv, envp;
    if (const int e = get_string_array(k, uargv, argv)) return e;
    if (const int e = get_string_array(k, uenvp, envp)) return e;
    FileHandle file;
    constexpr int kEmptyPath = 0x1000, kNoFollow = 0x100;
    if (path.empty() && !(flags & kEmptyPath)) return -ENOENT;
    if (flags & ~(kEmptyPath | kNoFollow)) return -EINVAL;
    if (flags & kNoFollow) {
        FileStat link;
        if (const int e = k.vfs().statat(dirfd, path, kNoFollow | (flags & kEmptyPath), link)) return e;
        if ((link.mode & 0170000) == 0120000) return -ELOOP;
    }
    if (path.empty() && (flags & kEmptyPath)) {
        file = t.files->get(dirfd);
        if (!file) return -EBADF;
        path = file->path();
    } else {
        // Only plain files are executed, and none is opened to find out: that of a FIFO would wait for a writer.
        FileStat st;
        if (const int e = k.vfs().statat(dirfd, path, 0, st)) return e;
        if ((st.mode & 0170000) != 0100000) return -EACCES;
        if (const int e = k.vfs().faccessat(dirfd, path, 1 /* X_OK */, 0x200 /* AT_EACCESS */)) return e;
        if (const std::int64_t e = k.vfs().openat(dirfd, path, 0, 0, file); e < 0) return e;
    }
    FileStat st;
    if (const int e = file->stat(st)) return e;
    if ((st.mode & 0170000) != 0100000) return -EACCES;
    return do_execve(k, t, file, path, std::move(argv), std::move(envp));
}
std::int64_t sys_execve(Kernel& k, Task& t, const SyscallArgs& a) {
    return execve_common(k, t, -100, a[0], a[1], a[2], 0);
}
std::int64_t sys_execveat(Kernel& k, Task& t, const SyscallArgs& a) {
    return execve_common(k, t, static_cast<int>(a[0]), a[1], a[2], a[3], static_cast<int>(a[4]));
}

std::int64_t sys_exit(Kernel& k, Task&, const SyscallArgs& a) { k.do_exit(static_cast<int>(a[0] & 0xff) << 8); }
std::int64_t sys_exit_group(Kernel& k, Task&, const SyscallArgs& a) {
    k.do_group_exit(static_cast<int>(a[0] & 0xff) << 8);
}

int put_rusage(Kernel& k, std::uint64_t at, const Rusage& u) {
    const auto us = [](std::uint64_t ns) { return static_cast<std::int64_t>(ns / kNsPerUs); };
    const auto part = [](std::uint64_t n) { return static_cast<std::int64_t>(n); };
    std::int64_t r[18] = {};
    r[0] = us(u.utime) / static_cast<std::int64_t>(kUsPerS), r[1] = us(u.utime) % static_cast<std::int64_t>(kUsPerS);
    r[2] = us(u.stime) / static_cast<std::int64_t>(kUsPerS), r[3] = us(u.stime) % static_cast<std::int64_t>(kUsPerS);
    r[4] = part(u.maxrss * (kPageSize / 1024));
    r[8] = part(u.min_flt), r[9] = part(u.maj_flt);
    r[16] = part(u.nvcsw), r[17] = part(u.nivcsw);
    return k.put_user(at, r, sizeof r);
}

std::int64_t sys_wait4(Kernel& k, Task& t, const SyscallArgs& a) {
    const int pid = static_cast<int>(a[0]), options = static_cast<int>(a[2]);
    if (options & ~(1 | 2 | 8 | 0x20000000 | 0x40000000 | static_cast<int>(0x80000000))) return -EINVAL;
    if (pid == std::numeric_limits<int>::min()) return -ESRCH;
    int type = 0, id = 0;
    if (pid > 0)
        type = 1, id = pid_global(t, pid);
    else if (pid == 0)
        type = 2, id = t.process->pgid;
    else if (pid < -1)
        type = 2, id = pid_global(t, -pid);
    WaitResult r;
    const std::int64_t out = do_wait(k, t, type, id, options | 4, r);
    if (out <= 0) return out;
    if (a[1] && k.put(a[1], r.status)) return -EFAULT;
    if (a[3] && put_rusage(k, a[3], r.usage)) return -EFAULT;
    return out;
}

std::int64_t sys_waitid(Kernel& k, Task& t, const SyscallArgs& a) {
    int type = static_cast<int>(a[0]), options = static_cast<int>(a[3]);
    if (options & ~(1 | 2 | 4 | 8 | 0x01000000 | 0x20000000 | 0x40000000 | static_cast<int>(0x80000000)))
        return -EINVAL;
    if (!(options & (2 | 4 | 8))) return -EINVAL;
    if (type < 0 || type > 3) return -EINVAL;
    if (type == 1 && static_cast<int>(a[1]) <= 0) return -EINVAL;
    if (type == 2 && static_cast<int>(a[1]) < 0) return -EINVAL;
    int id = type == 2 && !a[1] ? t.process->pgid : pid_global(t, static_cast<int>(a[1]));
    bool nonblock = false;
    if (type == 3) { // P_PIDFD
        if (static_cast<int>(a[1]) < 0) return -EINVAL;
        const FileHandle f = t.files->get(static_cast<int>(a[1]));
        if (!f || !is_pidfd(*f)) return -EBADF;
        const Task* leader = pidfd_task(*f);
        type = 1;
        id = leader ? leader->tgid : -1;
        nonblock = f->nonblock() && !(options & 1);
        if (nonblock) options |= 1;
    }
    WaitResult r;
    const std::int64_t out = do_wait(k, t, type, id, options, r);
    if (!out && nonblock) return -EAGAIN;
    if (out < 0) return out;
    if (a[2]) {
        SigInfo info;
        if (out > 0) {
            const int value = r.code == 1                  ? r.status >> 8 & 0xff
                              : r.code == 4 || r.code == 5 ? r.status >> 8
                              : r.code == 6                ? SIGCONT
                                                           : r.status & 0x7f;
            info = siginfo_child(SIGCHLD, r.code, r.pid, from_kuid_munged(t.cred.user_ns.get(), r.uid), value, 0, 0);
        }
        if (k.put_user(a[2], info.raw.data(), info.raw.size())) return -EFAULT;
    }
    if (a[4] && out > 0 && put_rusage(k, a[4], r.usage)) return -EFAULT;
    return 0;
}

std::int64_t task_number(Kernel& k, std::int64_t number) {
    Frame f(k, KernelSymbol::__task_pid_nr_ns);
    k.function_returns(number);
    return number;
}
std::int64_t sys_getpid(Kernel& k, Task& t, const SyscallArgs&) { return task_number(k, pid_vnr(t, t.tgid)); }
std::int64_t sys_gettid(Kernel& k, Task& t, const SyscallArgs&) { return task_number(k, pid_vnr(t, t.pid)); }
std::int64_t sys_getppid(Kernel& k, Task& t, const SyscallArgs&) { return task_number(k, pid_vnr(t, t.parent->tgid)); }

std::int64_t sys_setpgid(Kernel& k, Task& t, const SyscallArgs& a) {
    const int group = static_cast<int>(a[1]) ? static_cast<int>(a[1]) : static_cast<int>(a[0]);
    if (group < 0) return -EINVAL;
    const int pid = static_cast<int>(a[0]) ? pid_global(t, static_cast<int>(a[0])) : t.tgid;
    const int pgid = group ? pid_global(t, group) : pid;
    Task* target = k.find_task(pid);
    if (!target || target->process->leader != target) return -ESRCH;
    if (target->process != t.process && target->parent != t.process->leader) return -ESRCH;
    if (target->process->sid != t.process->sid || target->process->sid == target->tgid) return -EPERM;
    if (pgid != pid) {
        const bool exists = std::any_of(k.tasks().begin(), k.tasks().end(), [&](const auto& e) {
            return e.second->process->pgid == pgid && e.second->process->sid == t.process->sid;
        });
        if (!exists) return -EPERM;
    }
    target->process->pgid = pgid;
    return 0;
}
std::int64_t sys_getpgid(Kernel& k, Task& t, const SyscallArgs& a) {
    if (!static_cast<int>(a[0])) return pid_vnr(t, t.process->pgid);
    Task* x = k.find_task_vpid(static_cast<int>(a[0]));
    return x ? pid_vnr(t, x->process->pgid) : -ESRCH;
}
std::int64_t sys_getsid(Kernel& k, Task& t, const SyscallArgs& a) {
    if (!static_cast<int>(a[0])) return pid_vnr(t, t.process->sid);
    Task* x = k.find_task_vpid(static_cast<int>(a[0]));
    return x ? pid_vnr(t, x->process->sid) : -ESRCH;
}
std::int64_t sys_setsid(Kernel& k, Task& t, const SyscallArgs&) {
    for (const auto& [tid, x] : k.tasks())
        if (x->process->pgid == t.tgid) return -EPERM;
    t.process->pgid = t.process->sid = t.tgid;
    return pid_vnr(t, t.tgid);
}

std::int64_t sys_set_tid_address(Kernel&, Task& t, const SyscallArgs& a) {
    t.clear_child_tid = a[0];
    return pid_vnr(t, t.pid);
}
std::int64_t sys_set_robust_list(Kernel&, Task& t, const SyscallArgs& a) {
    if (a[1] != 24) return -EINVAL;
    t.robust_list = a[0];
    t.robust_list_len = a[1];
    return 0;
}
std::int64_t sys_get_robust_list(Kernel& k, Task& t, const SyscallArgs& a) {
    Task* x = a[0] ? k.find_task_vpid(static_cast<int>(a[0])) : &t;
    if (!x) return -ESRCH;
    if (!k.ptrace_may_access(x)) return -EPERM;
    const std::uint64_t len = 24;
    return k.put(a[2], len) || k.put(a[1], x->robust_list) ? -EFAULT : 0;
}

std::int64_t sys_rseq(Kernel& k, Task& t, const SyscallArgs& a) {
    const auto flags = static_cast<int>(a[2]);
    const auto len = static_cast<std::uint32_t>(a[1]), sig = static_cast<std::uint32_t>(a[3]);
    if (flags & 1) { // RSEQ_FLAG_UNREGISTER
        if (flags & ~1) return -EINVAL;
        if (t.rseq != a[0] || !t.rseq) return -EINVAL;
        if (len != 32) return -EINVAL;
        if (sig != t.rseq_sig) return -EPERM;
        const std::uint32_t off[2] = {0, ~0u};
        if (k.put_user(a[0], off, sizeof off)) return -EFAULT;
        t.rseq = 0;
        return 0;
    }
    if (flags) return -EINVAL;
    if (t.rseq) return t.rseq != a[0] || len != 32 ? -EINVAL : sig != t.rseq_sig ? -EPERM : -EBUSY;
    if ((a[0] & 31) || len != 32) return -EINVAL;
    if (!k.access_ok(a[0], len)) return -EFAULT;
    t.rseq = a[0];
    t.rseq_sig = sig;
    t.rseq_event = true;
    return 0;
}

// --- scheduling ---

Task* target_of(Kernel& k, Task& t, std::uint64_t pid) {
    return static_cast<int>(pid) ? k.find_task_vpid(static_cast<int>(pid)) : &t;
}

bool may_schedule(const Task& me, const Task& x) {
    return Kernel::has_cap(me, 23 /* CAP_SYS_NICE */) || me.cred.euid == x.cred.euid || me.cred.euid == x.cred.uid;
}

std::int64_t sys_sched_setaffinity(Kernel& k, Task& t, const SyscallArgs& a) {
    std::uint64_t mask = 0;
    if (k.get_user(&mask, a[2], std::min<std::uint64_t>(a[1], 8))) return -EFAULT;
    Task* x = target_of(k, t, a[0]);
    if (!x) return -ESRCH;
    if (!may_schedule(t, *x)) return -EPERM;
    return k.sched().set_affinity(*x, static_cast<ke::CpuMask>(mask) & k.cpu_possible_mask());
}
std::int64_t sys_sched_getaffinity(Kernel& k, Task& t, const SyscallArgs& a) {
    constexpr std::uint64_t kMaskBytes = 8;
    if (a[1] < kMaskBytes || (a[1] & 7)) return -EINVAL;
    Task* x = target_of(k, t, a[0]);
    if (!x) return -ESRCH;
    const std::uint64_t mask = x->cpus_allowed & k.cpu_online_mask();
    return k.put(a[2], mask) ? -EFAULT : static_cast<std::int64_t>(kMaskBytes);
}
std::int64_t sys_sched_yield(Kernel& k, Task&, const SyscallArgs&) {
    Frame f(k, KernelSymbol::do_sched_yield);
    k.sched().yield();
    return 0;
}
std::int64_t set_scheduler(Kernel& k, Task& me, Task* x, int policy, int priority, int nice) {
    if (!x) return -ESRCH;
    const bool reset = policy & 0x40000000;
    policy &= ~0x40000000;
    if (policy != kSchedOther && policy != kSchedFifo && policy != kSchedRr && policy != kSchedBatch &&
        policy != kSchedIdle)
        return -EINVAL;
    const bool rt = policy == kSchedFifo || policy == kSchedRr;
    if (rt ? priority < 1 || priority > 99 : priority != 0) return -EINVAL;
    if (!Kernel::has_cap(me, 23)) {
        if (!may_schedule(me, *x)) return -EPERM;
        if (rt && static_cast<std::uint64_t>(priority) > x->process->rlimits[14].cur) return -EPERM;
        if (!rt && nice < x->se.nice) return -EPERM;
    }
    x->se.reset_on_fork = reset;
    return k.sched().set_policy(*x, policy, priority, nice);
}
std::int64_t sys_sched_setscheduler(Kernel& k, Task& t, const SyscallArgs& a) {
    int priority = 0;
    if (static_cast<int>(a[1]) < 0) return -EINVAL;
    if (!a[2]) return -EINVAL;
    if (k.get(a[2], priority)) return -EFAULT;
    Task* x = target_of(k, t, a[0]);
    return set_scheduler(k, t, x, static_cast<int>(a[1]), priority, x ? x->se.nice : 0);
}
std::int64_t sys_sched_setparam(Kernel& k, Task& t, const SyscallArgs& a) {
    int priority = 0;
    if (k.get(a[1], priority)) return -EFAULT;
    Task* x = target_of(k, t, a[0]);
    return set_scheduler(k, t, x, x ? x->se.policy : 0, priority, x ? x->se.nice : 0);
}
std::int64_t sys_sched_getscheduler(Kernel& k, Task& t, const SyscallArgs& a) {
    if (static_cast<int>(a[0]) < 0) return -EINVAL;
    Task* x = target_of(k, t, a[0]);
    return x ? x->se.policy | (x->se.reset_on_fork ? 0x40000000 : 0) : -ESRCH;
}
std::int64_t sys_sched_getparam(Kernel& k, Task& t, const SyscallArgs& a) {
    Task* x = target_of(k, t, a[0]);
    if (!x) return -ESRCH;
    return k.put(a[1], x->se.rt_priority) ? -EFAULT : 0;
}
std::int64_t sys_sched_get_priority_max(Kernel&, Task&, const SyscallArgs& a) {
    switch (a[0]) {
        case 1:
        case 2: return 99;
        case 0:
        case 3:
        case 5:
        case 6: return 0;
        default: return -EINVAL;
    }
}
std::int64_t sys_sched_get_priority_min(Kernel&, Task&, const SyscallArgs& a) {
    switch (a[0]) {
        case 1:
        case 2: return 1;
        case 0:
        case 3:
        case 5:
        case 6: return 0;
        default: return -EINVAL;
    }
}
std::int64_t sys_sched_rr_get_interval(Kernel& k, Task& t, const SyscallArgs& a) {
    Task* x = target_of(k, t, a[0]);
    if (!x) return -ESRCH;
    // In jiffies: the fair class's turn among what is ready on the task's CPU, 0 if that is nothing.
    const std::uint64_t tick_ns = 1'000'000'000 / k.hz();
    std::uint64_t jiffies = 0;
    if (x->se.policy == kSchedRr)
        jiffies = fair::kRrSliceNs / 1'000'000 * k.hz() / 1000;
    else if (x->se.policy != kSchedFifo && k.sched().nr_running(x->task_cpu))
        jiffies = k.sched().slice_ns(x->task_cpu, *x) / tick_ns;
    const std::uint64_t ns = jiffies * k.tick_nsec();
    const std::int64_t ts[2] = {static_cast<std::int64_t>(ns / 1'000'000'000),
                                static_cast<std::int64_t>(ns % 1'000'000'000)};
    return k.put(a[1], ts) ? -EFAULT : 0;
}
struct SchedAttr {
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime, deadline, period;
};
std::int64_t sys_sched_setattr(Kernel& k, Task& t, const SyscallArgs& a) {
    SchedAttr s{};
    if (a[2] || k.get(a[1], s)) return a[2] ? -EINVAL : -EFAULT;
    const int reset = s.flags & 1 ? 0x40000000 : 0;
    return set_scheduler(k, t, target_of(k, t, a[0]), static_cast<int>(s.policy) | reset, static_cast<int>(s.priority),
                         std::clamp(s.nice, -20, 19));
}
std::int64_t sys_sched_getattr(Kernel& k, Task& t, const SyscallArgs& a) {
    Task* x = target_of(k, t, a[0]);
    if (!x) return -ESRCH;
    if (a[3] || a[2] < sizeof(SchedAttr)) return -EINVAL;
    const SchedAttr s{sizeof(SchedAttr),
                      static_cast<std::uint32_t>(x->se.policy),
                      x->se.reset_on_fork,
                      x->se.nice,
                      static_cast<std::uint32_t>(x->se.rt_priority),
                      0,
                      0,
                      0};
    return k.put(a[1], s) ? -EFAULT : 0;
}
std::int64_t sys_getpriority(Kernel& k, Task& t, const SyscallArgs& a) {
    if (a[0] > 2) return -EINVAL;
    if (a[0] != 0) return 20 - t.se.nice;
    Task* x = target_of(k, t, a[1]);
    return x ? 20 - x->se.nice : -ESRCH;
}
std::int64_t sys_setpriority(Kernel& k, Task& t, const SyscallArgs& a) {
    if (a[0] > 2) return -EINVAL;
    const int nice = std::clamp(static_cast<int>(a[2]), -20, 19);
    Task* x = a[0] == 0 ? target_of(k, t, a[1]) : &t;
    if (!x) return -ESRCH;
    if (!may_schedule(t, *x)) return -EPERM;
    if (nice < x->se.nice && !Kernel::has_cap(t, 23)) return -EACCES;
    return k.sched().set_policy(*x, x->se.policy, x->se.rt_priority, nice);
}

std::int64_t sys_getrusage(Kernel& k, Task& t, const SyscallArgs& a) {
    const Process& p = *t.process;
    const int who = static_cast<int>(a[0]);
    t.account_kernel_time(k.core().now());
    Rusage u;
    switch (who) {
        case 0: // RUSAGE_SELF
            u = usage_of(p);
            break;
        case -1: return put_rusage(k, a[1], p.reaped);
        case 1: // RUSAGE_THREAD
            u = t.usage();
            u.maxrss = usage_of(p).maxrss;
            break;
        default: return -EINVAL;
    }
    return put_rusage(k, a[1], u);
}

std::int64_t sys_prlimit64(Kernel& k, Task& t, const SyscallArgs& a) {
    if (a[1] >= 16) return -EINVAL;
    Task* x = target_of(k, t, a[0]);
    if (!x) return -ESRCH;
    if (x->process != t.process && !k.ptrace_may_access(x)) return -EPERM;
    Rlimit& r = x->process->rlimits[a[1]];
    const Rlimit old = r;
    if (a[2]) {
        Rlimit n;
        if (k.get(a[2], n)) return -EFAULT;
        if (n.cur > n.max) return -EINVAL;
        if (n.max > r.max && !Kernel::has_cap(t, 24 /* CAP_SYS_RESOURCE */)) return -EPERM;
        r = n;
    }
    return a[3] && k.put(a[3], old) ? -EFAULT : 0;
}
std::int64_t sys_getrlimit(Kernel& k, Task& t, const SyscallArgs& a) {
    return sys_prlimit64(k, t, {0, a[0], 0, a[1], 0, 0});
}
std::int64_t sys_setrlimit(Kernel& k, Task& t, const SyscallArgs& a) {
    return sys_prlimit64(k, t, {0, a[0], a[1], 0, 0, 0});
}

std::int64_t sys_futex(Kernel& k, Task& t, const SyscallArgs& a) { return do_futex(k, t, a); }

std::int64_t sys_futex_waitv(Kernel& k, Task& t, const SyscallArgs& a) { return do_futex_waitv(k, t, a); }

/// KCMP_EPOLL_TFD: is the file of `x` the one that an epoll of `y` has for its descriptor slot.tfd?
std::int64_t kcmp_epoll(Kernel& k, Task& x, Task& y, int fd, std::uint64_t uslot) {
    struct {
        std::uint32_t efd, tfd, toff;
    } slot;
    if (k.get(uslot, slot)) return -EFAULT;
    const FileHandle file = x.files->get(fd), holder = y.files->get(static_cast<int>(slot.efd));
    if (!file || !holder) return -EBADF;
    const auto* epoll = dynamic_cast<const Epoll*>(holder.get());
    if (!epoll) return -EINVAL;
    const File* target = epoll->target(static_cast<int>(slot.tfd), slot.toff);
    return !target ? -ENOENT : target == file.get() ? 0 : 1;
}

std::int64_t sys_kcmp(Kernel& k, Task& t, const SyscallArgs& a) {
    Task *x = k.find_task_vpid(static_cast<int>(a[0])), *y = k.find_task_vpid(static_cast<int>(a[1]));
    if (!x || !y) return -ESRCH;
    if (!ptrace_may_access(t, *x, PtraceMode::realcreds) || !ptrace_may_access(t, *y, PtraceMode::realcreds))
        return -EPERM;
    const auto order = [](const void* p, const void* q) { return p == q ? 0 : 1; };
    switch (a[2]) {
        case 0: {
            const FileHandle f = x->files->get(static_cast<int>(a[3])), g = y->files->get(static_cast<int>(a[4]));
            return f && g ? order(f.get(), g.get()) : -EBADF;
        }
        case 1: return order(x->as.get(), y->as.get());
        case 2: return order(x->files.get(), y->files.get());
        case 3: return order(x->fs.get(), y->fs.get());
        case 4: return order(x->process->sighand.get(), y->process->sighand.get());
        case 5: // KCMP_IO, KCMP_SYSVSEM: no task has an I/O context or operations of semaphores to undo
        case 6: return 0;
        case 7: return kcmp_epoll(k, *x, *y, static_cast<int>(a[3]), a[4]);
        default: return -EINVAL;
    }
}
std::int64_t sys_personality(Kernel&, Task& t, const SyscallArgs& a) {
    const std::uint32_t old = t.personality, wanted = static_cast<std::uint32_t>(a[0]);
    if ((wanted & 0xff) == 8 /* PER_LINUX32 */) return -EINVAL; // no AArch32 at EL0
    if (wanted != 0xffffffff) t.personality = wanted;
    return old;
}

constexpr SyscallRow kRows[] = {
    {92, "personality", sys_personality, 1},
    {93, "exit", sys_exit, 1},
    {94, "exit_group", sys_exit_group, 1},
    {95, "waitid", sys_waitid, 5},
    {96, "set_tid_address", sys_set_tid_address, 1},
    {98, "futex", sys_futex, 6},
    {99, "set_robust_list", sys_set_robust_list, 2},
    {100, "get_robust_list", sys_get_robust_list, 3},
    {118, "sched_setparam", sys_sched_setparam, 2},
    {119, "sched_setscheduler", sys_sched_setscheduler, 3},
    {120, "sched_getscheduler", sys_sched_getscheduler, 1},
    {121, "sched_getparam", sys_sched_getparam, 2},
    {122, "sched_setaffinity", sys_sched_setaffinity, 3},
    {123, "sched_getaffinity", sys_sched_getaffinity, 3},
    {124, "sched_yield", sys_sched_yield, 0},
    {125, "sched_get_priority_max", sys_sched_get_priority_max, 1},
    {126, "sched_get_priority_min", sys_sched_get_priority_min, 1},
    {127, "sched_rr_get_interval", sys_sched_rr_get_interval, 2},
    {140, "setpriority", sys_setpriority, 3},
    {141, "getpriority", sys_getpriority, 2},
    {154, "setpgid", sys_setpgid, 2},
    {155, "getpgid", sys_getpgid, 1},
    {156, "getsid", sys_getsid, 1},
    {157, "setsid", sys_setsid, 0},
    {163, "getrlimit", sys_getrlimit, 2},
    {164, "setrlimit", sys_setrlimit, 2},
    {165, "getrusage", sys_getrusage, 2},
    {172, "getpid", sys_getpid, 0},
    {173, "getppid", sys_getppid, 0},
    {178, "gettid", sys_gettid, 0},
    {220, "clone", sys_clone, 5},
    {221, "execve", sys_execve, 3},
    {260, "wait4", sys_wait4, 4},
    {261, "prlimit64", sys_prlimit64, 4},
    {272, "kcmp", sys_kcmp, 5},
    {274, "sched_setattr", sys_sched_setattr, 3},
    {275, "sched_getattr", sys_sched_getattr, 4},
    {281, "execveat", sys_execveat, 5},
    {293, "rseq", sys_rseq, 4},
    {435, "clone3", sys_clone3, 2},
    {449, "futex_waitv", sys_futex_waitv, 5},
};

} // namespace

std::span<const SyscallRow> process_syscalls() { return kRows; }

} // namespace rkperf::os
