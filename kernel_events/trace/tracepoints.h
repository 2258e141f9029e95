// SPDX-License-Identifier: Apache-2.0
// The tracepoints of the kernel: the rest of it calls trace_NAME() where Linux does. Without anybody attached that is one branch.
#pragma once

#include "kernel_events/trace/trace_events.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rkperf::ke {

/// One per trace event of trace_events.def.
enum class Tracepoint : std::uint8_t {
#define TRACE_EVENT(system, name, id, fields, fmt) name,
#include "kernel_events/trace/trace_events.def"
#undef TRACE_EVENT
    count_
};

inline constexpr int kNrSyscalls = 451; ///< NR_syscalls of 6.1

/// prev_state of sched_switch.
inline constexpr long TASK_RUNNING = 0, TASK_INTERRUPTIBLE = 1, TASK_UNINTERRUPTIBLE = 2, TASK_STOPPED = 4,
                      TASK_TRACED = 8, TASK_DEAD = 0x10, TASK_ZOMBIE = 0x20, TASK_PREEMPTED = 0x100;
/// result of signal_generate.
inline constexpr int TRACE_SIGNAL_DELIVERED = 0, TRACE_SIGNAL_IGNORED = 1, TRACE_SIGNAL_ALREADY_PENDING = 2,
                     TRACE_SIGNAL_OVERFLOW_FAIL = 3;
/// mode of hrtimer events.
inline constexpr std::uint32_t HRTIMER_MODE_ABS = 0, HRTIMER_MODE_REL = 1, HRTIMER_MODE_ABS_PINNED = 2,
                               HRTIMER_MODE_ABS_PINNED_HARD = 0xa, HRTIMER_MODE_REL_HARD = 9,
                               HRTIMER_MODE_REL_PINNED_HARD = 0xb;
/// state of cpu_idle when the CPU wakes up (PWR_EVENT_EXIT).
inline constexpr std::uint32_t PWR_EVENT_EXIT = ~0u;

/// flags of contention_begin.
inline constexpr unsigned LCB_F_SPIN = 1, LCB_F_MUTEX = 1 << 5;

/// si_signo, si_errno, si_code of a signal.
struct TraceSignalInfo {
    int signo{}, error{}, code{};
};
/// it_value and it_interval of an interval timer.
struct TraceItimer {
    long value_sec{}, value_nsec{}, interval_sec{}, interval_nsec{};
};

class Tracepoints {
  public:
    Tracepoints(Perf::Impl& perf, TraceEvents& events);
    ~Tracepoints();
    Tracepoints(const Tracepoints&) = delete;
    Tracepoints& operator=(const Tracepoints&) = delete;

    /// Whether trace_NAME of it would do anything.
    bool enabled(Tracepoint t) const { return enabled_[static_cast<unsigned>(t)]; }

/// trace_NAME(arguments): a branch, then what perf_trace_NAME does.
#define RK_TRACEPOINT(name, params, args) \
    void trace_##name params { \
        if (enabled(Tracepoint::name)) [[unlikely]] \
            perf_trace_##name args; \
    } \
    void perf_trace_##name params;
    // --- scheduler, interrupts masked ---
    RK_TRACEPOINT(sched_switch, (TaskBase & prev, long prev_state, TaskBase& next), (prev, prev_state, next))
    RK_TRACEPOINT(sched_waking, (TaskBase & task), (task))
    RK_TRACEPOINT(sched_wakeup, (TaskBase & task), (task))
    RK_TRACEPOINT(sched_wakeup_new, (TaskBase & task), (task))
    RK_TRACEPOINT(sched_migrate_task, (TaskBase & task, int dest_cpu), (task, dest_cpu))
    /// ns that `task` has run since the last time, and its virtual run time.
    RK_TRACEPOINT(sched_stat_runtime, (TaskBase & task, std::uint64_t runtime, std::uint64_t vruntime),
                  (task, runtime, vruntime))
    // --- life of tasks ---
    RK_TRACEPOINT(sched_process_fork, (TaskBase & parent, TaskBase& child), (parent, child))
    RK_TRACEPOINT(sched_process_exec, (TaskBase & task, int old_pid, std::string_view filename),
                  (task, old_pid, filename))
    RK_TRACEPOINT(sched_process_exit, (TaskBase & task), (task))
    RK_TRACEPOINT(sched_process_free, (TaskBase & task), (task))
    RK_TRACEPOINT(sched_process_wait, (int pid), (pid)) ///< 0: any child
    RK_TRACEPOINT(task_newtask, (TaskBase & task, std::uint64_t clone_flags, int oom_score_adj),
                  (task, clone_flags, oom_score_adj))
    RK_TRACEPOINT(task_rename, (TaskBase & task, std::string_view name, int oom_score_adj), (task, name, oom_score_adj))
    // --- signals ---
    RK_TRACEPOINT(signal_generate, (const TraceSignalInfo& info, TaskBase& task, bool group, int result),
                  (info, task, group, result))
    RK_TRACEPOINT(signal_deliver, (const TraceSignalInfo& info, std::uint64_t handler, std::uint64_t flags),
                  (info, handler, flags))
    // --- interrupts; irq is Linux's number, not the GIC's ---
    RK_TRACEPOINT(irq_handler_entry, (int irq, std::string_view name), (irq, name))
    RK_TRACEPOINT(irq_handler_exit, (int irq, bool handled), (irq, handled))
    /// ipi: its number, which tells the reason.
    RK_TRACEPOINT(ipi_raise, (CpuMask target, unsigned ipi), (target, ipi))
    RK_TRACEPOINT(ipi_entry, (unsigned ipi), (ipi))
    RK_TRACEPOINT(ipi_exit, (unsigned ipi), (ipi))
    // --- time ---
    RK_TRACEPOINT(hrtimer_init, (HrTimer & timer, int clockid, std::uint32_t mode), (timer, clockid, mode))
    RK_TRACEPOINT(hrtimer_start, (HrTimer & timer, std::uint32_t mode, bool was_armed), (timer, mode, was_armed))
    RK_TRACEPOINT(hrtimer_expire_entry, (HrTimer & timer, std::uint64_t now), (timer, now))
    RK_TRACEPOINT(hrtimer_expire_exit, (HrTimer & timer), (timer))
    RK_TRACEPOINT(hrtimer_cancel, (HrTimer & timer), (timer))
    RK_TRACEPOINT(itimer_state, (int which, std::uint64_t expires, const TraceItimer& value), (which, expires, value))
    RK_TRACEPOINT(itimer_expire, (int which, int pid, std::uint64_t now), (which, pid, now))
    RK_TRACEPOINT(tick_stop, (bool success, int dependency), (success, dependency))
    RK_TRACEPOINT(cpu_idle, (std::uint32_t state, int cpu), (state, cpu))
    RK_TRACEPOINT(cpu_frequency, (std::uint32_t khz, int cpu), (khz, cpu))
    RK_TRACEPOINT(cpu_frequency_limits, (std::uint32_t min, std::uint32_t max, int cpu), (min, max, cpu))
    // --- pages; order is 0 ---
    RK_TRACEPOINT(mm_page_alloc, (std::uint64_t pfn, std::uint32_t gfp_flags), (pfn, gfp_flags))
    RK_TRACEPOINT(mm_page_free, (std::uint64_t pfn), (pfn))
    RK_TRACEPOINT(mm_filemap_add_to_page_cache,
                  (std::uint64_t pfn, std::uint64_t ino, std::uint64_t index, std::uint32_t dev),
                  (pfn, ino, index, dev))
    RK_TRACEPOINT(mm_filemap_delete_from_page_cache,
                  (std::uint64_t pfn, std::uint64_t ino, std::uint64_t index, std::uint32_t dev),
                  (pfn, ino, index, dev))
    // --- locks that sleep ---
    RK_TRACEPOINT(contention_begin, (std::uint64_t lock, unsigned flags), (lock, flags))
    RK_TRACEPOINT(contention_end, (std::uint64_t lock, int ret), (lock, ret))
    // --- exceptions ---
    RK_TRACEPOINT(page_fault_user, (std::uint64_t address, PtRegs& regs, std::uint64_t error_code),
                  (address, regs, error_code))
#undef RK_TRACEPOINT
    /// raw_syscalls:sys_enter and syscalls:sys_enter_NAME: `regs` are the user's at the call.
    void trace_sys_enter(PtRegs& regs, long id) {
        if (enabled(Tracepoint::sys_enter) || sys_enter_refs_) [[unlikely]]
            sys_enter(regs, id);
    }
    void trace_sys_exit(PtRegs& regs, long id, std::int64_t ret) {
        if (enabled(Tracepoint::sys_exit) || sys_exit_refs_) [[unlikely]]
            sys_exit(regs, id, ret);
    }

    /// Contents of printk_formats: the strings that records point to.
    static std::string printk_formats();
    static std::string printk_string(std::uint64_t address);

  private:
    struct SyscallEvents {
        std::unique_ptr<TraceEventCall> enter, exit;
    };
    void add_syscall_events();
    /// Notes in `listeners` that perf or ftrace comes or goes.
    void switch_listener(std::uint8_t& listeners, TraceReg what);
    int reg_syscall(int nr, bool exit, TraceReg what);
    void sys_enter(PtRegs& regs, long id);
    void sys_exit(PtRegs& regs, long id, std::int64_t ret);
    TraceEventCall& call(Tracepoint t) { return *calls_[static_cast<unsigned>(t)]; }
    /// A hit with a record of fixed size and `tail` behind it. `task`: whose events see it, too.
    template <class Record>
    void submit(Tracepoint t, const Record& record, std::string_view tail = {}, std::uint64_t count = 1,
                TaskBase* task = nullptr);
    void submit_bytes(Tracepoint t, std::span<const std::uint8_t> fixed, std::string_view tail, std::uint64_t count,
                      TaskBase* task);
    template <class Record>
    void wakeup(Tracepoint t, TaskBase& task);
    std::uint64_t address(HrTimer& timer);

    Perf::Impl& perf_;
    TraceEvents& events_;
    /// 1: perf listens, 2: ftrace.
    std::array<std::uint8_t, static_cast<unsigned>(Tracepoint::count_)> enabled_{};
    std::array<std::unique_ptr<TraceEventCall>, static_cast<unsigned>(Tracepoint::count_)> calls_;
    std::array<SyscallEvents, kNrSyscalls> syscalls_;
    std::vector<std::unique_ptr<TraceEventCall>> ftrace_;
    std::array<std::uint8_t, kNrSyscalls> enabled_enter_syscalls_{}, enabled_exit_syscalls_{}; ///< bits as enabled_
    int sys_enter_refs_{}, sys_exit_refs_{}; ///< system calls of which somebody wants the entry, the exit
    std::uint64_t hrtimers_{};               ///< that have got an address
};

} // namespace rkperf::ke
