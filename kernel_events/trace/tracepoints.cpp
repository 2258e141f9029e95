// SPDX-License-Identifier: Apache-2.0
// What each tracepoint writes into its record (the TP_fast_assign parts of include/trace/events/*.h).
#include "kernel_events/trace/tracepoints.h"

#include "kernel_events/internal.h"
#include "kernel_events/trace/trace_records.h"

#include <bit>
#include <cstddef>
#include <cstring>

namespace rkperf::ke {

namespace {

constexpr std::uint64_t kLinearMap = 0xffff000000000000, kTimers = kLinearMap + 0x40000000, kTimerBytes = 64;

/// The kernel's names of its inter-processor interrupts, in the order of their numbers.
constexpr std::string_view kIpiTypes[] = {"Rescheduling interrupts",    "Function call interrupts",
                                          "CPU stop interrupts",        "CPU stop (for crash dump) interrupts",
                                          "Timer broadcast interrupts", "IRQ work interrupts"};
constexpr std::uint64_t kRodata = 0xffff800008fea858;

/// Where such a name lies.
std::uint64_t ipi_reason(unsigned ipi) {
    std::uint64_t at = kRodata;
    for (unsigned i = 0; i < ipi && i < std::size(kIpiTypes); ++i) at += (kIpiTypes[i].size() + 8) & ~std::uint64_t{7};
    return at;
}

template <std::size_t N>
void copy_comm(char (&to)[N], const TaskBase& task) {
    static_assert(N == sizeof task.comm);
    std::memcpy(to, task.comm, N);
}

/// A __data_loc word for `length` bytes right behind the fixed part.
template <class Record>
constexpr std::uint32_t data_loc(std::size_t end_of_fixed, std::size_t length) {
    return static_cast<std::uint32_t>(length << 16 | end_of_fixed);
}

/// Where the fixed part ends: behind the last field, not behind the structure's padding.
#define RK_END_OF(record, last) (offsetof(record, last) + sizeof(record::last))

} // namespace

template <class Record>
void Tracepoints::submit(Tracepoint t, const Record& record, std::string_view tail, std::uint64_t count,
                         TaskBase* task) {
    submit_bytes(t, {reinterpret_cast<const std::uint8_t*>(&record), sizeof record}, tail, count, task);
}

void Tracepoints::submit_bytes(Tracepoint t, std::span<const std::uint8_t> fixed, std::string_view tail,
                               std::uint64_t count, TaskBase* task) {
    TraceEventCall& c = call(t);
    if (!task && !events_.wanted_here(c)) return;
    KernelFrame frame(perf_.kernel, KernelSymbol::perf_trace_run_bpf_submit);
    perf_.kernel.preempt_disable();
    if (PerfTraceBuf buf = events_.perf_trace_buf_alloc(fixed.size() + tail.size())) {
        std::memcpy(buf.record(), fixed.data(), fixed.size());
        if (!tail.empty()) std::memcpy(buf.record() + fixed.size(), tail.data(), tail.size());
        PtRegs regs;
        perf_.kernel.fetch_caller_regs(regs);
        events_.perf_trace_buf_submit(buf, c, count, regs, task);
    }
    perf_.kernel.preempt_enable();
}

void Tracepoints::perf_trace_sched_switch(TaskBase& prev, long prev_state, TaskBase& next) {
    trace_event_raw_sched_switch r{};
    copy_comm(r.prev_comm, prev);
    r.prev_pid = prev.pid;
    r.prev_prio = prev.prio();
    r.prev_state = prev_state;
    copy_comm(r.next_comm, next);
    r.next_pid = next.pid;
    r.next_prio = next.prio();
    submit(Tracepoint::sched_switch, r);
}

template <class Record>
void Tracepoints::wakeup(Tracepoint t, TaskBase& task) {
    Record r{};
    copy_comm(r.comm, task);
    r.pid = task.pid;
    r.prio = task.prio();
    r.target_cpu = task.task_cpu;
    submit(t, r, {}, 1, &task);
}

void Tracepoints::perf_trace_sched_waking(TaskBase& task) {
    wakeup<trace_event_raw_sched_waking>(Tracepoint::sched_waking, task);
}
void Tracepoints::perf_trace_sched_wakeup(TaskBase& task) {
    wakeup<trace_event_raw_sched_wakeup>(Tracepoint::sched_wakeup, task);
}
void Tracepoints::perf_trace_sched_wakeup_new(TaskBase& task) {
    wakeup<trace_event_raw_sched_wakeup_new>(Tracepoint::sched_wakeup_new, task);
}

void Tracepoints::perf_trace_sched_migrate_task(TaskBase& task, int dest_cpu) {
    trace_event_raw_sched_migrate_task r{};
    copy_comm(r.comm, task);
    r.pid = task.pid;
    r.prio = task.prio();
    r.orig_cpu = task.task_cpu;
    r.dest_cpu = dest_cpu;
    submit(Tracepoint::sched_migrate_task, r);
}

void Tracepoints::perf_trace_sched_stat_runtime(TaskBase& task, std::uint64_t runtime, std::uint64_t vruntime) {
    trace_event_raw_sched_stat_runtime r{};
    copy_comm(r.comm, task);
    r.pid = task.pid;
    r.runtime = runtime;
    r.vruntime = vruntime;
    submit(Tracepoint::sched_stat_runtime, r, {}, runtime);
}

void Tracepoints::perf_trace_sched_process_fork(TaskBase& parent, TaskBase& child) {
    trace_event_raw_sched_process_fork r{};
    copy_comm(r.parent_comm, parent);
    r.parent_pid = parent.pid;
    copy_comm(r.child_comm, child);
    r.child_pid = child.pid;
    submit(Tracepoint::sched_process_fork, r);
}

void Tracepoints::perf_trace_sched_process_exec(TaskBase& task, int old_pid, std::string_view filename) {
    using Record = trace_event_raw_sched_process_exec;
    constexpr std::size_t kEnd = RK_END_OF(Record, old_pid);
    Record r{};
    r.__data_loc_filename = data_loc<Record>(kEnd, filename.size() + 1);
    r.pid = task.pid;
    r.old_pid = old_pid;
    const std::string tail = std::string(filename) + '\0';
    submit_bytes(Tracepoint::sched_process_exec, {reinterpret_cast<const std::uint8_t*>(&r), kEnd}, tail, 1, nullptr);
}

void Tracepoints::perf_trace_sched_process_exit(TaskBase& task) {
    trace_event_raw_sched_process_exit r{};
    copy_comm(r.comm, task);
    r.pid = task.pid;
    r.prio = task.prio();
    submit(Tracepoint::sched_process_exit, r);
}

void Tracepoints::perf_trace_sched_process_free(TaskBase& task) {
    trace_event_raw_sched_process_free r{};
    copy_comm(r.comm, task);
    r.pid = task.pid;
    r.prio = task.prio();
    submit(Tracepoint::sched_process_free, r);
}

void Tracepoints::perf_trace_sched_process_wait(int pid) {
    const TaskBase& me = *perf_.kernel.current();
    trace_event_raw_sched_process_wait r{};
    copy_comm(r.comm, me);
    r.pid = pid;
    r.prio = me.prio();
    submit(Tracepoint::sched_process_wait, r);
}

void Tracepoints::perf_trace_task_newtask(TaskBase& task, std::uint64_t clone_flags, int oom_score_adj) {
    trace_event_raw_task_newtask r{};
    r.pid = task.pid;
    copy_comm(r.comm, task);
    r.clone_flags = clone_flags;
    r.oom_score_adj = static_cast<short>(oom_score_adj);
    submit(Tracepoint::task_newtask, r);
}

void Tracepoints::perf_trace_task_rename(TaskBase& task, std::string_view name, int oom_score_adj) {
    trace_event_raw_task_rename r{};
    r.pid = task.pid;
    copy_comm(r.oldcomm, task);
    name.copy(r.newcomm, sizeof r.newcomm - 1);
    r.oom_score_adj = static_cast<short>(oom_score_adj);
    submit(Tracepoint::task_rename, r);
}

void Tracepoints::perf_trace_signal_generate(const TraceSignalInfo& info, TaskBase& task, bool group, int result) {
    trace_event_raw_signal_generate r{};
    r.sig = info.signo;
    r.errno_ = info.error;
    r.code = info.code;
    copy_comm(r.comm, task);
    r.pid = task.pid;
    r.group = group;
    r.result = result;
    submit(Tracepoint::signal_generate, r);
}

void Tracepoints::perf_trace_signal_deliver(const TraceSignalInfo& info, std::uint64_t handler, std::uint64_t flags) {
    trace_event_raw_signal_deliver r{};
    r.sig = info.signo;
    r.errno_ = info.error;
    r.code = info.code;
    r.handler = handler;
    r.flags = flags;
    submit(Tracepoint::signal_deliver, r);
}

void Tracepoints::perf_trace_irq_handler_entry(int irq, std::string_view name) {
    using Record = trace_event_raw_irq_handler_entry;
    Record r{};
    r.irq = irq;
    r.__data_loc_name = data_loc<Record>(sizeof r, name.size() + 1);
    submit(Tracepoint::irq_handler_entry, r, std::string(name) + '\0');
}

void Tracepoints::perf_trace_irq_handler_exit(int irq, bool handled) {
    trace_event_raw_irq_handler_exit r{};
    r.irq = irq;
    r.ret = handled;
    submit(Tracepoint::irq_handler_exit, r);
}

void Tracepoints::perf_trace_ipi_raise(CpuMask target, unsigned ipi) {
    using Record = trace_event_raw_ipi_raise;
    Record r{};
    char mask[32]{}; // a cpumask of CONFIG_NR_CPUS=256 bits
    std::memcpy(mask, &target, sizeof target);
    r.__data_loc_target_cpus = data_loc<Record>(sizeof r, sizeof mask);
    r.reason = ipi_reason(ipi);
    submit(Tracepoint::ipi_raise, r, {mask, sizeof mask});
}

void Tracepoints::perf_trace_ipi_entry(unsigned ipi) {
    trace_event_raw_ipi_entry r{};
    r.reason = ipi_reason(ipi);
    submit(Tracepoint::ipi_entry, r);
}

void Tracepoints::perf_trace_ipi_exit(unsigned ipi) {
    trace_event_raw_ipi_exit r{};
    r.reason = ipi_reason(ipi);
    submit(Tracepoint::ipi_exit, r);
}

std::uint64_t Tracepoints::address(HrTimer& timer) {
    // A host address would differ from run to run.
    if (!timer.trace_address) timer.trace_address = kTimers + kTimerBytes * hrtimers_++;
    return timer.trace_address;
}

void Tracepoints::perf_trace_hrtimer_init(HrTimer& timer, int clockid, std::uint32_t mode) {
    trace_event_raw_hrtimer_init r{};
    r.hrtimer = address(timer);
    r.clockid = clockid;
    r.mode = mode;
    submit(Tracepoint::hrtimer_init, r);
}

void Tracepoints::perf_trace_hrtimer_start(HrTimer& timer, std::uint32_t mode, bool was_armed) {
    trace_event_raw_hrtimer_start r{};
    r.hrtimer = address(timer);
    r.function = perf_.kernel.kernel_symbol_address(timer.symbol);
    r.expires = r.softexpires = static_cast<std::int64_t>(timer.expires);
    r.mode = mode;
    r.was_armed = was_armed;
    submit(Tracepoint::hrtimer_start, r);
}

void Tracepoints::perf_trace_hrtimer_expire_entry(HrTimer& timer, std::uint64_t now) {
    trace_event_raw_hrtimer_expire_entry r{};
    r.hrtimer = address(timer);
    r.now = static_cast<std::int64_t>(now);
    r.function = perf_.kernel.kernel_symbol_address(timer.symbol);
    submit(Tracepoint::hrtimer_expire_entry, r);
}

void Tracepoints::perf_trace_hrtimer_expire_exit(HrTimer& timer) {
    trace_event_raw_hrtimer_expire_exit r{};
    r.hrtimer = address(timer);
    submit(Tracepoint::hrtimer_expire_exit, r);
}

void Tracepoints::perf_trace_hrtimer_cancel(HrTimer& timer) {
    trace_event_raw_hrtimer_cancel r{};
    r.hrtimer = address(timer);
    submit(Tracepoint::hrtimer_cancel, r);
}

void Tracepoints::perf_trace_itimer_state(int which, std::uint64_t expires, const TraceItimer& value) {
    trace_event_raw_itimer_state r{};
    r.which = which;
    r.expires = expires;
    r.value_sec = value.value_sec;
    r.value_nsec = value.value_nsec;
    r.interval_sec = value.interval_sec;
    r.interval_nsec = value.interval_nsec;
    submit(Tracepoint::itimer_state, r);
}

void Tracepoints::perf_trace_itimer_expire(int which, int pid, std::uint64_t now) {
    trace_event_raw_itimer_expire r{};
    r.which = which;
    r.pid = pid;
    r.now = now;
    submit(Tracepoint::itimer_expire, r);
}

void Tracepoints::perf_trace_tick_stop(bool success, int dependency) {
    trace_event_raw_tick_stop r{};
    r.success = success;
    r.dependency = dependency;
    submit(Tracepoint::tick_stop, r);
}

void Tracepoints::perf_trace_cpu_idle(std::uint32_t state, int cpu) {
    trace_event_raw_cpu_idle r{};
    r.state = state;
    r.cpu_id = static_cast<std::uint32_t>(cpu);
    submit(Tracepoint::cpu_idle, r);
}

void Tracepoints::perf_trace_cpu_frequency(std::uint32_t khz, int cpu) {
    trace_event_raw_cpu_frequency r{};
    r.state = khz;
    r.cpu_id = static_cast<std::uint32_t>(cpu);
    submit(Tracepoint::cpu_frequency, r);
}

void Tracepoints::perf_trace_cpu_frequency_limits(std::uint32_t min, std::uint32_t max, int cpu) {
    trace_event_raw_cpu_frequency_limits r{};
    r.min_freq = min;
    r.max_freq = max;
    r.cpu_id = static_cast<std::uint32_t>(cpu);
    submit(Tracepoint::cpu_frequency_limits, r);
}

void Tracepoints::perf_trace_mm_page_alloc(std::uint64_t pfn, std::uint32_t gfp_flags) {
    constexpr std::uint32_t kMovable = 8; // __GFP_MOVABLE
    trace_event_raw_mm_page_alloc r{};
    r.pfn = pfn;
    r.gfp_flags = gfp_flags;
    r.migratetype = gfp_flags & kMovable ? 1 : 0; // MIGRATE_MOVABLE, MIGRATE_UNMOVABLE
    submit(Tracepoint::mm_page_alloc, r);
}

void Tracepoints::perf_trace_mm_page_free(std::uint64_t pfn) {
    trace_event_raw_mm_page_free r{};
    r.pfn = pfn;
    submit(Tracepoint::mm_page_free, r);
}

namespace {

template <class Record>
Record page_cache_record(std::uint64_t pfn, std::uint64_t ino, std::uint64_t index, std::uint32_t dev) {
    Record r{};
    r.pfn = pfn;
    r.i_ino = ino;
    r.index = index;
    r.s_dev = dev;
    return r;
}

} // namespace

void Tracepoints::perf_trace_mm_filemap_add_to_page_cache(std::uint64_t pfn, std::uint64_t ino, std::uint64_t index,
                                                          std::uint32_t dev) {
    submit(Tracepoint::mm_filemap_add_to_page_cache,
           page_cache_record<trace_event_raw_mm_filemap_add_to_page_cache>(pfn, ino, index, dev));
}

void Tracepoints::perf_trace_mm_filemap_delete_from_page_cache(std::uint64_t pfn, std::uint64_t ino,
                                                               std::uint64_t index, std::uint32_t dev) {
    submit(Tracepoint::mm_filemap_delete_from_page_cache,
           page_cache_record<trace_event_raw_mm_filemap_delete_from_page_cache>(pfn, ino, index, dev));
}

void Tracepoints::perf_trace_contention_begin(std::uint64_t lock, unsigned flags) {
    trace_event_raw_contention_begin r{};
    r.lock_addr = lock;
    r.flags = flags;
    submit(Tracepoint::contention_begin, r);
}

void Tracepoints::perf_trace_contention_end(std::uint64_t lock, int ret) {
    trace_event_raw_contention_end r{};
    r.lock_addr = lock;
    r.ret = ret;
    submit(Tracepoint::contention_end, r);
}

void Tracepoints::perf_trace_page_fault_user(std::uint64_t address, PtRegs& regs, std::uint64_t error_code) {
    trace_event_raw_page_fault_user r{};
    r.address = address;
    r.ip = regs.pc;
    r.error_code = error_code;
    submit(Tracepoint::page_fault_user, r);
}

std::string Tracepoints::printk_string(std::uint64_t address) {
    for (unsigned i = 0; i < std::size(kIpiTypes); ++i)
        if (ipi_reason(i) == address) return std::string(kIpiTypes[i]);
    return "(null)";
}

std::string Tracepoints::printk_formats() {
    std::string out;
    for (unsigned i = 0; i < std::size(kIpiTypes); ++i) {
        char address[32];
        std::snprintf(address, sizeof address, "0x%llx : \"", static_cast<unsigned long long>(ipi_reason(i)));
        out.append(address).append(kIpiTypes[i]).append("\"\n");
    }
    return out;
}

} // namespace rkperf::ke
