// SPDX-License-Identifier: Apache-2.0
// A task (thread) of the simulated kernel and what threads of a process share.
#pragma once

#include "kernel_events/kernel.h"
#include "models/a64/state.h"
#include "sim/os/fibre.h"
#include "sim/os/ptrace/link.h"
#include "sim/os/seccomp/seccomp.h"
#include "sim/os/wait_queue.h"

#include <array>
#include <csignal>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rkperf::os {

class Kernel;
class FdTable;
class File;
struct Cgroup;
struct NsProxy;
struct PidNamespace;
struct UserNamespace;
struct FsContext;
class AddressSpace;

/// User registers of a task that is not on a CPU.
struct UserContext {
    std::uint64_t x[31]{};
    std::uint64_t sp{}, pc{};
    std::uint32_t nzcv{}, fpcr{}, fpsr{};
    a64::Vec v[32]{};
    std::uint64_t tpidr_el0{}, tpidrro_el0{};
    void save(const a64::CpuState& s);
    void load(a64::CpuState& s) const;
};

enum class TaskState : std::uint8_t { running, interruptible, uninterruptible, stopped, traced, zombie, dead };

inline constexpr int kNumSignals = 64;
using SigSet = std::uint64_t; ///< bit n-1: signal n

/// siginfo_t as the guest sees it: 128 bytes, built by signal/siginfo.h.
struct SigInfo {
    std::array<std::uint8_t, 128> raw{};
    int signo() const;
    int code() const;
};

/// struct sigaction of arm64.
struct SigAction {
    std::uint64_t handler{}; ///< SIG_DFL 0, SIG_IGN 1
    std::uint64_t flags{};
    std::uint64_t restorer{};
    SigSet mask{};
};

struct SigHand {
    std::array<SigAction, kNumSignals + 1> action{};
    SigSet immutable{}; ///< SA_IMMUTABLE: nobody changes the action any more, and no tracer sees the signal
};

struct PendingSignals {
    SigSet set{};
    std::deque<SigInfo> queue;
};

struct Credentials {
    std::uint32_t uid{}, euid{}, suid{}, fsuid{}, gid{}, egid{}, sgid{}, fsgid{};
    std::vector<std::uint32_t> groups;
    std::uint64_t cap_effective{}, cap_permitted{}, cap_inheritable{}, cap_bounding{~0ull >> 23}, cap_ambient{};
    std::uint32_t securebits{}; ///< process/credentials.h
    bool no_new_privs{};
    std::shared_ptr<UserNamespace> user_ns; ///< null: the initial one
};

struct Rlimit {
    std::uint64_t cur{}, max{};
};

/// Resources used (struct rusage).
struct Rusage {
    std::uint64_t utime{}, stime{}; ///< ns
    std::uint64_t min_flt{}, maj_flt{}, nvcsw{}, nivcsw{};
    std::uint64_t maxrss{}; ///< pages: the most that one of them had

    Rusage& operator+=(const Rusage& u) {
        utime += u.utime, stime += u.stime, min_flt += u.min_flt, maj_flt += u.maj_flt;
        nvcsw += u.nvcsw, nivcsw += u.nivcsw;
        maxrss = std::max(maxrss, u.maxrss);
        return *this;
    }
};

/// What the threads of one process share (struct signal_struct).
struct Process {
    int tgid{}, pgid{}, sid{};
    std::vector<struct Task*> threads;
    struct Task* leader{};
    PendingSignals shared_pending;
    std::shared_ptr<SigHand> sighand;
    std::array<Rlimit, 16> rlimits{};
    std::unique_ptr<WaitQueueHead> wait_chldexit;
    std::unique_ptr<WaitQueueHead> wait_pidfd; ///< made by the first pidfd
    std::vector<struct Task*> children;        ///< leaders of child processes
    bool group_exit{};
    int group_exit_code{};
    // group stop (signal_struct::flags and its companions)
    int group_stop_count{};                       ///< threads that have still to stop
    int group_stop_code{};                        ///< the signal, for wait(); 0 once reported
    bool stop_stopped{}, stop_continued{};        ///< SIGNAL_STOP_STOPPED, SIGNAL_STOP_CONTINUED
    bool cld_stopped{}, cld_continued{};          ///< the parent has still to be told
    struct Task* exec_waiter{};                   ///< thread in execve that waits for the others to end
    int live{};                                   ///< threads that have not exited
    Rusage exited;                                ///< by threads that have exited
    Rusage reaped;                                ///< by children that have been waited for, and theirs
    std::shared_ptr<struct ProcessTimers> timers; ///< made on first use
    bool dumpable{true};
    bool child_subreaper{};
    std::string exe_path;           ///< as the guest sees it
    std::shared_ptr<File> exe_file; ///< what /proc/PID/exe leads to, whoever may walk to it
    std::vector<std::uint8_t> auxv;
    std::uint64_t start_time_ns{};
};

/// Scheduling entity.
struct SchedEntity {
    int policy{}; ///< SCHED_OTHER 0, FIFO 1, RR 2, BATCH 3, IDLE 5
    int nice{};
    int rt_priority{};
    bool reset_on_fork{};
    std::uint64_t vruntime{};
    std::uint64_t exec_start{};          ///< ns
    std::uint64_t slice_start_runtime{}; ///< sum_exec_runtime when it was picked
    std::uint64_t order{};               ///< position among equals
    bool on_rq{};
    bool slice_used{};         ///< SCHED_RR: goes to the end of its priority
    Picoseconds runnable_at{}; ///< local time at which it last ran or was woken; not picked earlier
    std::uint64_t last_ran_ns{};
    std::uint64_t migrations{};
    std::uint64_t wake_seq{};
};

struct Task : ke::TaskBase {
    Task(Kernel& k) : os(k) {}
    ~Task() override;

    Kernel& os;
    std::unique_ptr<Fibre> fibre;
    TaskState state{TaskState::running};
    std::shared_ptr<Process> process;
    std::shared_ptr<AddressSpace> as; ///< null: kernel thread
    std::shared_ptr<FdTable> files;
    std::shared_ptr<FsContext> fs;
    Credentials cred;
    std::shared_ptr<NsProxy> nsproxy;     ///< null once it has ended
    std::shared_ptr<PidNamespace> pid_ns; ///< null: the initial one
    std::shared_ptr<Cgroup> cgroup;
    UserContext ctx;    ///< valid while not on a CPU
    ke::PtRegs pt_regs; ///< filled at each entry from EL0
    SchedEntity se;
    ke::CpuMask cpus_allowed{0xff};
    bool need_resched{};
    int preempt_count{};

    // relations; parents own nothing
    Task* parent{}; ///< leader of the parent process, whoever traces the task
    PtraceLink ptrace;
    std::uint32_t jobctl{};
    std::uint64_t clear_child_tid{}, set_child_tid{};
    std::uint64_t robust_list{}, robust_list_len{};
    int exit_signal{};
    int exit_code{}; ///< wait status
    WaitQueueHead* vfork_done{};
    bool vfork_released{};
    bool wakekill{};    ///< TASK_WAKEKILL: SIGKILL ends its uninterruptible sleep
    bool exec_killed{}; ///< ends because another thread of the process executes a program

    // signals
    SigSet blocked{}, saved_sigmask{};
    SigSet real_blocked{}; ///< what rt_sigtimedwait has unblocked for its time
    bool restore_sigmask{};
    PendingSignals pending;
    std::uint64_t altstack_sp{}, altstack_size{};
    int altstack_flags{2};                       ///< SS_DISABLE
    std::unique_ptr<WaitQueueHead> signalfd_wq;  ///< made on first use
    std::uint64_t fault_address{}, fault_code{}; ///< of the last synchronous fault, for sigcontext
    int syscall_nr{-1};                          ///< of the system call being executed, for restart
    bool syscall_restart{}; ///< it returned one of the kernel's restart codes, still to be resolved
    std::uint64_t orig_x0{};
    std::function<std::int64_t()> restart_block;
    int pdeath_signal{};
    std::uint64_t rseq{}; ///< address of the restartable-sequence area, 0: none
    std::uint32_t rseq_sig{};
    bool rseq_event{}; ///< switched, migrated or signalled since the last return to EL0
    SeccompState seccomp;
    std::uint32_t personality{}; ///< PER_LINUX and flags; no flag changes anything here
    std::uint64_t timer_slack_ns{50000}, default_timer_slack_ns{50000}; ///< the latter: of the task that forked it
    bool tagged_addr{};           ///< TIF_TAGGED_ADDR: system calls take tagged addresses
    std::uint8_t mce_kill{2};     ///< PR_MCE_KILL_LATE 0, EARLY 1, DEFAULT 2
    bool io_flusher{};            ///< PR_SET_IO_FLUSHER
    std::uint8_t store_bypass{2}; ///< one of PR_SPEC_*: what it asked for; nothing here depends on it

    // accounting
    /// The task's own, but for maxrss, which is of address spaces.
    Rusage usage() const { return {utime, stime, min_flt, maj_flt, nvcsw, nivcsw, 0}; }
    std::uint64_t utime{}, stime{};  ///< ns
    std::uint64_t kernel_since_ps{}; ///< local time up to which stime is accounted
    /// Current's time in the kernel up to `now` is system time.
    void account_kernel_time(Picoseconds now) {
        if (now.v <= kernel_since_ps) return;
        stime += (now.v - kernel_since_ps) / 1000;
        kernel_since_ps = now.v;
    }
    std::uint64_t min_flt{}, maj_flt{}, nvcsw{}, nivcsw{};
    std::uint64_t start_time_ns{};

    // kernel call frames: what KernelFrame has entered (innermost last), for kernel call chains
    struct Frame {
        KernelSymbol symbol{};
        std::uint32_t offset{};    ///< bytes charged from the function's beginning on
        std::uint32_t kretprobe{}; ///< return probes follow this call
        std::int64_t result{};     ///< for them, if the function said it
    };
    std::vector<Frame> kstack;

    std::deque<std::function<void()>> task_work; ///< run before the return to EL0
    std::uint64_t wake_cpu_hint{};
    int refs{1};
    bool on_rq() const override { return state == TaskState::running; }
    int prio() const override {
        const bool real_time = se.policy == 1 || se.policy == 2;
        return real_time ? 99 - se.rt_priority : 120 + se.nice;
    }
    std::string name() const { return comm; }
};

} // namespace rkperf::os
