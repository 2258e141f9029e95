// SPDX-License-Identifier: Apache-2.0
#include "kernel_events/trace/tracepoints.h"
#include "sim/os/cgroup/cgroup_fs.h"
#include "sim/os/exec/exec.h"
#include "sim/os/fs/pidfd.h"
#include "sim/os/ns/pid_namespace.h"
#include "sim/os/process/process.h"
#include "sim/os/ptrace/ptrace.h"
#include "sim/os/sched/scheduler.h"
#include "sim/os/signal/signals.h"
#include "sim/os/time/time_keeper.h"
#include "sim/os/uprobe_services.h"

#include <sched.h>
#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rkperf::os {

namespace {

constexpr std::uint64_t kInfinity = ~std::uint64_t{0};
constexpr std::uint64_t kAllCaps = (1ull << 41) - 1;
constexpr std::uint64_t kCloneIntoCgroup = 0x200000000ull, kCloneClearSighand = 0x100000000ull;

std::array<Rlimit, 16> default_rlimits() {
    std::array<Rlimit, 16> r;
    r.fill({kInfinity, kInfinity});
    r[3] = {8ull << 20, kInfinity};  // STACK
    r[4] = {0, kInfinity};           // CORE
    r[6] = {31000, 31000};           // NPROC
    r[7] = {1024, 524288};           // NOFILE
    r[8] = {8ull << 20, 8ull << 20}; // MEMLOCK
    r[11] = {31000, 31000};          // SIGPENDING
    r[12] = {819200, 819200};        // MSGQUEUE
    r[13] = {0, 0};                  // NICE
    r[14] = {0, 0};                  // RTPRIO
    return r;
}

/// clone3's set_tid: numbers for the child, innermost namespace first; the others follow their counters.
int set_tids(Kernel& k, Task& c, const CloneArgs& a) {
    const PidNamespace* ns = c.pid_ns ? c.pid_ns.get() : k.namespaces().init_pid().get();
    if (a.set_tid.size() > static_cast<std::size_t>(ns->level) + 1) return -EINVAL;
    std::vector<int> wanted = a.set_tid;
    for (const int tid : wanted) {
        if (tid < 1 || tid >= 32768) return -EINVAL;
        // Nobody may be number 1 but the first.
        if (tid != 1 && ns->level && !ns->child_reaper) return -EINVAL;
        if (!ns_capable(k.cur().cred, ns->owner.get(), 21 /* CAP_SYS_ADMIN */) &&
            !ns_capable(k.cur().cred, ns->owner.get(), 40 /* CAP_CHECKPOINT_RESTORE */))
            return -EPERM;
        if (ns->global(tid) && (ns->level || k.find_task(tid))) return -EEXIST;
        ns = ns->parent.get();
    }
    if (c.pid_ns) {
        if (static_cast<int>(wanted.size()) > c.pid_ns->level) {
            c.pid = wanted.back();
            wanted.pop_back();
        }
        c.pid_ns->enter(c.pid, wanted);
    } else if (!wanted.empty()) {
        c.pid = wanted.front();
    }
    if (c.process->leader == &c) c.tgid = c.process->tgid = c.pid;
    return 0;
}

void child_returns(Kernel& k, Task& child) {
    k.sched().finish_switch();
    if (child.set_child_tid) k.put(child.set_child_tid, pid_vnr(child, child.pid));
    child.kernel_since_ps = k.core().now().v;
    k.user_loop();
}

/// Process 1: waits for its children until the program has ended.
void init_main(Kernel& k, Task& init, int program_pid) {
    k.sched().finish_switch();
    k.local_irq_enable();
    for (;;) {
        WaitResult r;
        const std::int64_t pid = do_wait(k, init, 0, 0, 0x40000004 /* WEXITED | __WALL */, r);
        if (pid == program_pid) k.end_run(r.status);
        if (pid >= 0) continue;
        init.state = TaskState::interruptible; // no child left
        k.schedule();
    }
}

} // namespace

void set_comm(Kernel& k, Task& t, std::string_view name, bool exec) {
    k.tracepoints().trace_task_rename(t, name, 0);
    std::memset(t.comm, 0, sizeof t.comm);
    std::memcpy(t.comm, name.data(), std::min(name.size(), sizeof t.comm - 1));
    k.perf().perf_event_comm(t, exec);
}

Task& create_init_task(Kernel& k, const InitProgram& program) {
    auto process_of = [&](Task& t) {
        auto p = std::make_shared<Process>();
        p->tgid = t.pid;
        p->pgid = p->sid = t.pid;
        p->threads.push_back(&t);
        p->leader = &t;
        p->live = 1;
        p->sighand = std::make_shared<SigHand>();
        p->rlimits = default_rlimits();
        p->wait_chldexit = std::make_unique<WaitQueueHead>(k);
        p->start_time_ns = k.time().now_ns();
        t.process = p;
        t.group_leader = &t;
        t.tgid = t.pid;
    };
    auto* init = new Task(k);
    init->pid = 1;
    process_of(*init);
    init->kthread = true;
    init->real_parent = init->parent = k.here().idle;
    std::strcpy(init->comm, "init");
    init->user = k.user_info(0);
    init->files = std::make_shared<FdTable>();
    init->fs = std::make_shared<FsContext>();
    init->nsproxy = k.namespaces().init_proxy();
    init->cgroup = k.cgroups().root();
    k.cgroups().post_fork(*init, nullptr);
    k.register_task(*init);

    auto* t = new Task(k);
    t->pid = k.alloc_pid();
    process_of(*t);
    t->real_parent = t->parent = init;
    init->process->children.push_back(t);
    t->exit_signal = SIGCHLD;
    std::strcpy(t->comm, "init");
    t->user = k.user_info(0);
    t->cred.cap_effective = t->cred.cap_permitted = t->cred.cap_bounding = kAllCaps;
    t->files = std::make_shared<FdTable>();
    t->fs = std::make_shared<FsContext>();
    t->fs->cwd = k.config().mounts.cwd.empty() ? "/" : k.config().mounts.cwd;
    t->nsproxy = k.namespaces().init_proxy();
    t->cgroup = k.cgroups().root();
    k.cgroups().post_fork(*t, nullptr);
    t->cpus_allowed = program.affinity;
    t->start_time_ns = k.time().now_ns();
    for (int fd = 0; fd < 3; ++fd) t->files->set(fd, k.vfs().stdio(fd), false, 1024);
    k.register_task(*t);

    t->fibre = std::make_unique<Fibre>([&k, t, program] {
        k.sched().finish_switch();
        k.local_irq_enable();
        t->kernel_since_ps = k.core().now().v;
        FileHandle file;
        std::int64_t r = k.vfs().openat(-100, program.path, 0, 0, file);
        if (r >= 0) r = do_execve(k, *t, file, program.path, program.argv, program.envp);
        if (r < 0) {
            k.pr_info("cannot start " + program.path + ": errno " + std::to_string(-r));
            k.do_group_exit(127 << 8);
        }
        k.user_loop();
    });
    const int pid = t->pid;
    init->fibre = std::make_unique<Fibre>([&k, init, pid] { init_main(k, *init, pid); });
    init->cpus_allowed = k.cpu_possible_mask();
    k.sched().wake_up_new_task(*init);
    return *t;
}

/// Apart from do_clone, in which g++ 12 would else take the optional DupMmap for uninitialized.
[[gnu::noinline]] static void trace_new_task(Kernel& k, Task& parent, Task& child, std::uint64_t flags) {
    k.tracepoints().trace_task_newtask(child, flags, 0);
    k.tracepoints().trace_sched_process_fork(parent, child);
    k.perf().trace_events().pids().forked(parent.pid, child.pid);
}

std::int64_t do_clone(Kernel& k, Task& t, const CloneArgs& a) {
    const std::uint64_t flags = a.flags;
    Frame f(k, KernelSymbol::kernel_clone);
    if ((flags & (CLONE_NEWNS | CLONE_FS)) == (CLONE_NEWNS | CLONE_FS)) return -EINVAL;
    if ((flags & (CLONE_NEWUSER | CLONE_FS)) == (CLONE_NEWUSER | CLONE_FS)) return -EINVAL;
    if ((flags & CLONE_THREAD) && !(flags & CLONE_SIGHAND)) return -EINVAL;
    if ((flags & CLONE_SIGHAND) && !(flags & CLONE_VM)) return -EINVAL;
    if ((flags & kCloneClearSighand) && (flags & CLONE_SIGHAND)) return -EINVAL;
    const bool thread = flags & CLONE_THREAD;
    const bool is_reaper = t.pid_ns ? t.pid_ns->child_reaper == t.process->leader : t.tgid == 1;
    if ((flags & CLONE_PARENT) && is_reaper) return -EINVAL; // it would have a sibling outside
    const PidNamespace* mine = t.pid_ns ? t.pid_ns.get() : k.namespaces().init_pid().get();
    if (thread && ((flags & (CLONE_NEWUSER | CLONE_NEWPID)) || t.nsproxy->pid_for_children.get() != mine))
        return -EINVAL;
    if (flags & CLONE_PIDFD) {
        if (flags & (CLONE_DETACHED | CLONE_THREAD)) return -EINVAL;
        if (!a.pidfd_separate && (flags & CLONE_PARENT_SETTID)) return -EINVAL; // one argument for both
        if (a.pidfd_separate && (flags & CLONE_PARENT_SETTID) && a.pidfd == a.parent_tid) return -EINVAL;
    }
    CgroupPtr into;
    if (flags & kCloneIntoCgroup) {
        const FileHandle dir = t.files->get(a.cgroup);
        if (!dir) return -EBADF;
        into = cgroup_of(*dir);
        if (!into) return -EBADF;
    }

    auto owned = std::make_unique<Task>(k);
    Task& c = *owned;
    c.pid = k.alloc_pid();
    std::memcpy(c.comm, t.comm, sizeof c.comm);
    c.cred = t.cred;
    if (const int e = k.namespaces().copy_creds(t, c, flags)) return e;
    c.user = t.user;
    c.nsproxy = t.nsproxy;
    c.cgroup = t.cgroup;
    k.read_user_context(t, c.ctx);
    c.ctx.x[0] = 0;
    if (a.stack) c.ctx.sp = a.stack;
    if (flags & CLONE_SETTLS) c.ctx.tpidr_el0 = a.tls;
    c.pt_regs = t.pt_regs;
    c.pt_regs.regs[0] = 0;
    if (a.stack) c.pt_regs.sp = a.stack;
    c.blocked = t.blocked;
    c.seccomp = t.seccomp;
    c.personality = t.personality;
    c.timer_slack_ns = c.default_timer_slack_ns = t.timer_slack_ns;
    c.tagged_addr = t.tagged_addr;
    c.mce_kill = t.mce_kill;
    c.io_flusher = t.io_flusher;
    c.store_bypass = t.store_bypass;
    if (!(flags & CLONE_VM)) c.rseq = t.rseq, c.rseq_sig = t.rseq_sig, c.rseq_event = t.rseq != 0;
    c.start_time_ns = k.time().now_ns();
    c.files = flags & CLONE_FILES ? t.files : t.files->clone();
    c.fs = flags & CLONE_FS ? t.fs : std::make_shared<FsContext>(*t.fs);
    if (!(flags & CLONE_VM) || (flags & CLONE_VFORK)) {
        c.altstack_sp = t.altstack_sp, c.altstack_size = t.altstack_size, c.altstack_flags = t.altstack_flags;
    }
    if (thread) {
        c.process = t.process;
        c.tgid = t.tgid;
        c.group_leader = t.group_leader;
        c.parent = t.parent;
        c.real_parent = t.real_parent;
        c.exit_signal = -1;
    } else {
        auto p = std::make_shared<Process>();
        const Process& from = *t.process;
        p->tgid = c.pid;
        p->pgid = from.pgid;
        p->sid = from.sid;
        p->leader = &c;
        p->live = 1;
        p->rlimits = from.rlimits;
        p->dumpable = from.dumpable;
        p->exe_path = from.exe_path;
        p->exe_file = from.exe_file;
        p->auxv = from.auxv;
        p->start_time_ns = c.start_time_ns;
        p->wait_chldexit = std::make_unique<WaitQueueHead>(k);
        p->sighand = flags & CLONE_SIGHAND ? from.sighand : std::make_shared<SigHand>(*from.sighand);
        if (flags & kCloneClearSighand)
            for (SigAction& act : p->sighand->action)
                if (act.handler != 1) act = {};
        c.process = p;
        c.tgid = c.pid;
        c.group_leader = &c;
        c.parent = flags & CLONE_PARENT ? t.parent : t.process->leader;
        c.real_parent = c.parent;
        c.exit_signal = a.exit_signal;
    }
    k.sched().fork(c, t);
    if (const int r = k.perf().perf_event_init_task(c, flags)) {
        k.perf().perf_event_free_task(c);
        return r;
    }
    int pidfd = -1;
    const auto fail = [&](std::int64_t e) {
        k.perf().perf_event_free_task(c);
        if (c.pid_ns) c.pid_ns->leave(c.pid);
        return e;
    };
    if (const int e = k.namespaces().copy_namespaces(t, c, flags)) return fail(e);
    if (c.pid_ns && (c.pid_ns->dead || (c.pid_ns->child_reaper == nullptr && c.pid_ns->nr_tasks))) return fail(-ENOMEM);
    if (const int e = set_tids(k, c, a)) return fail(e);
    if (const int e = k.cgroups().can_fork(t, into)) return fail(e);
    if (flags & CLONE_PIDFD) {
        pidfd = t.files->first_free(k.rlimit(7));
        if (pidfd < 0) return fail(pidfd);
        if (k.put(a.pidfd, pidfd)) return fail(-EFAULT);
    }
    std::optional<UprobeServices::DupMmap> dup_mmap;
    if (flags & CLONE_VM) {
        c.as = t.as;
    } else {
        dup_mmap.emplace(k.uprobe_glue());
        Frame g(k, KernelSymbol::dup_mm);
        c.as = t.as->fork();
    }
    c.mm = c.as.get();
    k.uprobes().uprobe_copy_process(c, flags & CLONE_VFORK);
    if (flags & CLONE_CHILD_SETTID) c.set_child_tid = a.child_tid;
    if (flags & CLONE_CHILD_CLEARTID) c.clear_child_tid = a.child_tid;
    if (thread ? t.process->group_exit || t.exec_killed || t.process->exec_waiter : false) {
        return fail(kERESTARTNOINTR); // it is about to end
    }
    if (c.pid_ns) {
        ++c.pid_ns->nr_tasks;
        if (!c.pid_ns->child_reaper) c.pid_ns->child_reaper = &c;
    }
    k.cgroups().post_fork(c, into);
    const int vpid = pid_vnr(t, c.pid);
    if (flags & CLONE_PARENT_SETTID) k.put(a.parent_tid, vpid); // a bad address is ignored, as on Linux
    if (flags & CLONE_PIDFD) t.files->set(pidfd, make_pidfd(k, c, 0), true, k.rlimit(7));
    const int event = flags & CLONE_VFORK        ? ptrace_event_nr::vfork
                      : a.exit_signal == SIGCHLD ? ptrace_event_nr::fork
                                                 : ptrace_event_nr::clone;
    const bool trace = !(flags & CLONE_UNTRACED) && ptrace_event_enabled(t, event);
    if (thread) {
        c.process->threads.push_back(&c);
        ++c.process->live;
    } else {
        // The parent may have gone while memory was copied.
        c.real_parent = c.parent = flags & CLONE_PARENT ? t.parent : t.process->leader;
        c.process->threads.push_back(&c);
        c.parent->process->children.push_back(&c);
    }
    Task* child = owned.release();
    ptrace_init_task(k, *child, t, trace || (flags & CLONE_PTRACE));
    child->fibre = std::make_unique<Fibre>([&k, child] { child_returns(k, *child); });
    k.register_task(*child);
    dup_mmap.reset(); // probes find its address space from now on
    k.perf().perf_event_fork(*child);
    trace_new_task(k, t, *child, flags);
    const int pid = vpid;
    WaitQueueHead done(k);
    if (flags & CLONE_VFORK) {
        child->vfork_done = &done;
        ++child->refs;
    }
    k.sched().wake_up_new_task(*child);
    if (trace) ptrace_event(k, event, static_cast<std::uint64_t>(pid));
    if (flags & CLONE_VFORK) {
        t.wakekill = true;
        k.wait_event(done,
                     [&] { return child->vfork_released || child->process->group_exit || Signals::fatal_pending(t); });
        t.wakekill = false;
        child->vfork_done = nullptr;
        k.drop_ref(*child);
        if (!Signals::fatal_pending(t)) ptrace_event(k, ptrace_event_nr::vfork_done, static_cast<std::uint64_t>(pid));
    }
    return pid;
}

void release_vfork_parent(Task& t) {
    t.vfork_released = true;
    if (t.vfork_done) t.vfork_done->wake_up_all();
}

} // namespace rkperf::os
