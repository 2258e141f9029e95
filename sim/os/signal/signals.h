// SPDX-License-Identifier: Apache-2.0
// Signals: sending, dequeuing, delivering through a frame on the user stack, rt_sigreturn.
#pragma once

#include "sim/os/task.h"

#include <cstdint>

namespace rkperf::os {

/// Builders of siginfo_t (asm-generic layout, 128 bytes).
SigInfo siginfo_user(int signo, int code, int pid, std::uint32_t uid, std::uint64_t value = 0);
SigInfo siginfo_fault(int signo, int code, std::uint64_t addr);
SigInfo siginfo_child(int signo, int code, int pid, std::uint32_t uid, int status, std::uint64_t utime_ticks,
                      std::uint64_t stime_ticks);
SigInfo siginfo_poll(int signo, int code, std::int64_t band, int fd);
SigInfo siginfo_perf(std::uint64_t addr, std::uint32_t type, std::uint64_t data); ///< SIGTRAP TRAP_PERF
SigInfo siginfo_timer(int signo, int timerid, int overrun, std::uint64_t value);
SigInfo siginfo_kernel(int signo);
SigInfo siginfo_sys(int code, int error, std::uint64_t call_addr, int nr, std::uint32_t arch); ///< SIGSYS
/// True if `info` is from the POSIX timer; its overrun count then.
bool siginfo_is_timer(const SigInfo& info, int timerid, int& overrun);

/// No member of the process group but `ignored` has a parent in another group of the same session: nobody could continue
/// it.
bool will_become_orphaned_pgrp(const Kernel& k, int pgid, const Task* ignored);
/// A process ends, or (`old_parent`) loses its parent: if that orphans its group and something in it is stopped, the group
/// gets SIGHUP and SIGCONT. `leader`: the process's. Interrupts masked.
void kill_orphaned_pgrp(Kernel& k, const Task& leader, const Task* old_parent);

class Signals {
  public:
    explicit Signals(Kernel& k) : os_(k) {}

    /// To one thread, or to the process (any thread that does not block it). 0 or -EAGAIN.
    int send_thread(Task& t, const SigInfo& info);
    int send_process(Task& any_thread, const SigInfo& info);
    /// A synchronous fault: unblocks and resets to default if it is blocked or ignored.
    void force(Task& t, const SigInfo& info);
    /// The same with the default action, whatever there was, and out of a tracer's sight (HANDLER_EXIT).
    void force_exit(Task& t, const SigInfo& info);
    /// kill(2) semantics incl. groups and permissions; negative errno.
    std::int64_t kill(int pid, int signo);
    std::int64_t tgkill(int tgid, int tid, int signo);

    /// Makes a task notice its pending signals: wakes it from an interruptible sleep (`fatal`: from a stop too) or kicks
    /// it out of EL0.
    void wake(Task& t, bool fatal);
    static bool pending(const Task& t);       ///< an unblocked one, or an exit, stop or trap to do
    static bool fatal_pending(const Task& t); ///< SIGKILL is on its way to this thread
    /// Takes the next signal that the mask lets through (lowest number first, synchronous ones before). `shared`: whether
    /// it was the process's.
    bool dequeue(Task& t, SigSet mask, SigInfo& info, bool* shared = nullptr);
    /// Before the return to EL0: delivers what is pending, restarts or ends the interrupted system call.
    void do_notify_resume();
    std::int64_t sigreturn(); ///< rt_sigreturn; returns x0 of the restored frame
    void set_blocked(Task& t, SigSet set);
    void flush_ignored(Process& p, int signo);
    /// exec: handlers back to default.
    void flush_handlers(Task& t);
    /// Tells whoever waits for `t` (tracer or parent) that it has ended, with `signo` (<= 0: none). True if nobody will
    /// reap it, because the parent ignores SIGCHLD.
    bool notify_parent(Task& t, int signo);
    int setup_frame(Task& t, const SigInfo& info, const SigAction& action, SigSet old_mask);
    std::uint64_t find_fpsimd(std::uint64_t frame);
    int do_sigaction(Task& t, int signo, const SigAction* act, SigAction* old);

    // --- stops, of the group and for a tracer (jobctl.cpp); interrupts masked ---
    /// Asks a thread to stop or trap; false if it is about to die.
    static bool set_jobctl_pending(Task& t, std::uint32_t mask);
    static void clear_jobctl_pending(Task& t, std::uint32_t mask);
    /// This thread has done its part of the group stop; true if it was the last.
    bool participate_group_stop(Task& t);
    /// A seized task looks at the state of its group anew.
    void ptrace_trap_notify(Task& t);
    /// Wakes a task that signals pending wake; `resume`: out of a ptrace stop, too.
    void ptrace_wake(Task& t, bool resume);
    /// CLD_STOPPED, CLD_CONTINUED or CLD_TRAPPED to the tracer of `t`, or to the parent of its process.
    void notify_parent_cldstop(Task& t, bool for_ptracer, int why);
    /// Marks the process as killed by `signo`, every thread of it.
    void kill_all_threads(Process& p, int signo);

  private:
    int queue(Task& t, PendingSignals& where, const SigInfo& info, Task* wake_target);
    /// The next signal with a handler; stops, traps and dies on the way.
    bool get_signal(SigInfo& info, SigAction& action);
    void handle_signal(const SigInfo& info, const SigAction& action);
    /// Starts or joins a group stop; true if current has slept in it.
    bool do_signal_stop(int signo);
    void do_jobctl_trap();
    /// Shows a signal to the tracer; the signal to go on with, 0 for none.
    int ptrace_signal(SigInfo& info, bool shared);
    void continue_group(Process& p);

    Kernel& os_;
};

} // namespace rkperf::os
