// SPDX-License-Identifier: Apache-2.0
// The perf subsystem as the rest of the kernel calls it (the part of include/linux/perf_event.h that is not ABI), and
// its data structures. The ABI structures are <linux/perf_event.h>'s own.
#pragma once

#include "kernel_events/kernel.h"

#include <linux/perf_event.h>
#include <array>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rkperf::ke {

class Bpf;
class BpfProg;
class DebugMonitors;
class Kprobes;
class Uprobes;
class HwBreakpoints;
class Pmu;
class PerfBuffer;
class EventFilter;
class TraceEvents;
class Tracepoints;
struct TraceEventCall;
struct PerfCpuContext;
struct PerfSampleData;

/// enum perf_event_state (CORE spec): order matters.
enum class PerfEventState : int { dead = -4, exit = -3, error = -2, off = -1, inactive = 0, active = 1 };

/// hw.state / flags of pmu callbacks.
inline constexpr int PERF_HES_STOPPED = 1, PERF_HES_UPTODATE = 2, PERF_HES_ARCH = 4;
inline constexpr int PERF_EF_START = 1, PERF_EF_RELOAD = 2, PERF_EF_UPDATE = 4;

/// struct hw_perf_event.
struct HwPerfEvent {
    std::uint64_t config{}, config_base{}, event_base{};
    int idx{-1}, last_cpu{-1}, flags{};
    int state{};
    std::uint64_t prev_count{};
    std::uint64_t sample_period{}, last_period{};
    std::int64_t period_left{};
    std::uint64_t interrupts_seq{}, interrupts{};
    std::uint64_t freq_time_stamp{}, freq_count_stamp{};
    unsigned addr_filters_gen{}; ///< the event's that the hardware has
    TaskBase* target{};
    HrTimer hrtimer; ///< cpu-clock, task-clock
    std::shared_ptr<struct ArchBreakpoint> breakpoint;
};

/// struct perf_addr_filter: code that a PMU with address filters traces, or at which it starts or stops.
struct PerfAddrFilter {
    enum class Action : std::uint8_t { stop, start, filter };
    Action action{};
    bool has_file{};   ///< offset is in a file, else it is a kernel address
    InodeInfo inode{}; ///< of that file
    std::uint64_t offset{}, size{};
};
/// struct perf_addr_filter_range: where a filter is in the address space of the event's task. Size 0: nowhere.
struct PerfAddrFilterRange {
    std::uint64_t start{}, size{};
};

/// struct perf_event.
struct PerfEvent : EventLinks {
    PerfEvent() : EventLinks(this) {}

    perf_event_attr attr{};
    PerfEventState state{PerfEventState::off};
    std::uint32_t orig_type{}; ///< attr.type as the user gave it
    std::uint64_t id{}, own_id{};
    Pmu* pmu{};
    HwPerfEvent hw;

    PerfEvent* group_leader{};
    EventList<EventListKind::sibling> sibling_list; ///< of a leader, in order of joining
    int nr_siblings{};
    int group_caps{}; ///< PERF_EV_CAP_* held by the whole group (of a leader)
    unsigned group_generation{};
    bool kernel_counter{}; ///< made by perf_event_create_kernel_counter: no owner
    bool fasync{};         ///< O_ASYNC is set on its file
    int event_caps{};      ///< PERF_EV_CAP_*
    int attach_state{};    ///< PERF_ATTACH_*
    std::uint64_t group_index{};

    std::uint64_t count{}, child_count{};
    std::uint64_t total_time_enabled{}, total_time_running{}, tstamp{};
    std::uint64_t child_total_time_enabled{}, child_total_time_running{};

    PerfEventContext* ctx{};
    int cpu{-1}, oncpu{-1};
    PerfEvent* parent{};
    EventList<EventListKind::child> child_list;
    std::unique_ptr<Mutex> child_mutex;
    TaskBase* owner{};
    std::uint16_t header_size{}, id_header_size{}, read_size{};

    std::shared_ptr<PerfBuffer> rb;
    bool rcu_pending{};          ///< detached from a buffer less than a grace period ago
    std::uint64_t rcu_batches{}; ///< when that was, local_clock ns
    std::unique_ptr<Mutex> mmap_mutex;
    std::unique_ptr<WaitQueue> waitq;
    int mmap_count{};
    std::int64_t event_limit{};
    std::uint64_t lost_samples{};
    std::uint64_t sq_sequence{};
    int pending_kill{};
    bool pending_wakeup{}, pending_disable{}, pending_sigtrap{}, pending_work{};
    std::uint64_t pending_addr{};
    IrqWork pending_irq;
    int clock{-1}; ///< CLOCK_* of its records' TIME, -1: local_clock
    std::function<void(PerfEvent&, PerfSampleData&, PtRegs&)> overflow_handler;      ///< empty: perf_event_output
    std::function<void(PerfEvent&, PerfSampleData&, PtRegs&)> orig_overflow_handler; ///< behind a BPF program
    std::shared_ptr<BpfProg> prog;                                                   ///< PERF_EVENT_IOC_SET_BPF
    std::function<void(PerfEvent&)> destroy;
    FileOperations* file{};
    TraceEventCall* tp_event{};                          ///< of tracing events: what it is attached to
    std::shared_ptr<const EventFilter> filter;           ///< PERF_EVENT_IOC_SET_FILTER
    std::vector<PerfAddrFilter> addr_filters;            ///< of a root event; its copies use them, too
    std::vector<PerfAddrFilterRange> addr_filter_ranges; ///< by number of the filter
    unsigned addr_filters_gen{};                         ///< changes with the ranges
    std::shared_ptr<const void> ns;                      ///< pid namespace of who opened it; null: the initial one
    std::shared_ptr<PerfCgroup> cgrp;                    ///< PERF_FLAG_PID_CGROUP
    bool cgrp_counted{};                                 ///< one of its context's nr_cgroups
    PerfEvent* aux_event{}; ///< whose AUX data its samples hold, or to whose AUX area its driver writes
    int refcount{1};
};

/// Puts `n` bytes of a source at `dst`, after the `off` bytes that came before; `src` is always the source's beginning.
/// Returns how many bytes it did not put (perf_copy_f).
using PerfCopy = std::function<std::size_t(std::uint8_t* dst, const void* src, std::size_t off, std::size_t n)>;

/// A piece of raw data: bytes, or a source that is copied in its own way.
struct PerfRawFrag {
    const void* data{};
    std::uint32_t size{};
    const PerfRawFrag* next{};
    PerfCopy copy{};
};

/// struct perf_sample_data: what a source of samples has filled so far.
struct PerfSampleData {
    std::uint64_t sample_flags{}; ///< PERF_SAMPLE_* bits already provided
    std::uint64_t period{}, addr{}, weight{}, txn{}, data_src{}, phys_addr{}, data_page_size{}, code_page_size{},
        cgroup{};
    std::uint64_t type{}, ip{}, id{}, stream_id{}, time{};
    std::uint32_t pid{}, tid{}, cpu{};
    std::vector<std::uint64_t> callchain;
    const PerfRawFrag* raw{};
    std::uint64_t regs_user_abi{}, regs_intr_abi{};
    PtRegs* regs_user{};
    PtRegs* regs_intr{};
    std::uint64_t stack_user_size{};
    std::uint64_t aux_size{};
};

/// What a driver keeps for an AUX area (perf_buffer::aux_priv); destroyed before the pages go (pmu::free_aux).
class AuxArea {
  public:
    virtual ~AuxArea() = default;
};
struct PerfOutputHandle;
/// What a driver keeps per task context (task_ctx_data), for events with PERF_ATTACH_TASK_DATA.
class TaskContextData {
  public:
    virtual ~TaskContextData() = default;
};

/// struct pmu. One object per registered PMU.
class Pmu {
  public:
    enum Capabilities : unsigned {
        PERF_PMU_CAP_NO_INTERRUPT = 0x1,
        PERF_PMU_CAP_NO_NMI = 0x2,
        PERF_PMU_CAP_AUX_NO_SG = 0x4,
        PERF_PMU_CAP_EXTENDED_REGS = 0x8,
        PERF_PMU_CAP_EXCLUSIVE = 0x10,
        PERF_PMU_CAP_ITRACE = 0x20,
        PERF_PMU_CAP_HETEROGENEOUS_CPUS = 0x40,
        PERF_PMU_CAP_NO_EXCLUDE = 0x80,
        PERF_PMU_CAP_AUX_OUTPUT = 0x100,
        PERF_PMU_CAP_EXTENDED_HW_TYPE = 0x200,
    };
    enum class TaskContext : int { invalid = -1, hardware = 0, software = 1 };

    explicit Pmu(Kernel& k) : kernel(k) {}
    virtual ~Pmu() = default;

    virtual int event_init(PerfEvent& event) = 0; ///< 0, -ENOENT: not mine, or another negative errno
    virtual int add(PerfEvent& event, int flags) = 0;
    virtual void del(PerfEvent& event, int flags) = 0;
    virtual void start(PerfEvent& event, int flags) = 0;
    virtual void stop(PerfEvent& event, int flags) = 0;
    virtual void read(PerfEvent& event) = 0;
    virtual void pmu_enable() {}
    virtual void pmu_disable() {}
    virtual void start_txn(unsigned) {}
    virtual int commit_txn() { return 0; }
    virtual void cancel_txn() {}
    virtual bool filter_match(PerfEvent&) { return true; }
    /// A reference to the driver's module for each event; false: it is being unloaded.
    virtual bool try_module_get() { return true; }
    virtual void module_put() {}
    /// Address filters, if nr_addr_filters is not 0: may these be set (0 or a negative errno), and: the ranges of an
    /// event that is about to start have changed (see Perf::Impl::perf_event_addr_filters_sync).
    virtual int addr_filters_validate(const std::vector<PerfAddrFilter>&) { return 0; }
    virtual void addr_filters_sync(PerfEvent&) {}
    virtual int event_idx(PerfEvent&) { return 0; }
    virtual int check_period(PerfEvent&, std::uint64_t) { return 0; }
    virtual void event_mapped(PerfEvent&, MmInfo*) {}
    virtual void event_unmapped(PerfEvent&, MmInfo*) {}
    /// After perf_sched_cb_inc: at every switch of this CPU, with the context of the task or null.
    virtual void sched_task(PerfEventContext*, bool) {}
    virtual std::unique_ptr<TaskContextData> alloc_task_ctx_data() { return nullptr; }
    /// Two equal contexts change owners, their data go back; true: the driver has done that itself.
    virtual bool swap_task_ctx(PerfEventContext&, PerfEventContext&) { return false; }
    /// AUX area: a PMU that writes one says so and sets it up for `pages`; null: out of memory.
    virtual bool has_setup_aux() const { return false; }
    virtual std::unique_ptr<AuxArea> setup_aux(PerfEvent&, const std::vector<Page>&, bool) { return nullptr; }
    /// Samples with AUX data (attr.aux_sample_size): copies at most `size` bytes with perf_output_copy_aux; how many.
    virtual bool has_snapshot_aux() const { return false; }
    virtual std::int64_t snapshot_aux(PerfEvent&, PerfOutputHandle&, std::uint64_t) { return 0; }
    virtual bool aux_output_match(PerfEvent&) { return false; }
    /// PERF_EVENT_IOC_MODIFY_ATTRIBUTES, PERF_EVENT_IOC_SET_FILTER: 0 or a negative errno.
    virtual int modify_attr(PerfEvent&, const perf_event_attr&) { return -EOPNOTSUPP; }
    virtual int set_filter(PerfEvent&, std::string_view) { return -EINVAL; }
    /// CPU hotplug, on the CPU itself with interrupts masked.
    virtual void cpu_starting(int) {}
    virtual void cpu_dying(int) {}

    Kernel& kernel;
    std::string name;
    std::uint32_t type{};
    unsigned capabilities{};
    bool heterogeneous() const { return capabilities & PERF_PMU_CAP_HETEROGENEOUS_CPUS; }
    TaskContext task_ctx_nr{TaskContext::hardware};
    int hrtimer_interval_ms{}; ///< perf_event_mux_interval_ms; only the first PMU of a context class has one (CORE-098)
    std::array<int, kMaxCpus> pmu_disable_count{};
    std::array<PerfCpuContext*, kMaxCpus> cpu_context{}; ///< shared by PMUs of one task_ctx_nr
    CpuMask supported_cpus{~0u};
    unsigned nr_addr_filters{};
    int exclusive_cnt{}; ///< PERF_PMU_CAP_EXCLUSIVE: tasks' events, or minus the CPUs' events
};

/// Events of one CPU or one task for one class of PMUs (struct perf_event_context).
struct PerfEventContext {
    /// Flexible and pinned groups, ordered by CPU (-1 first), then group_index.
    struct Groups {
        std::map<std::pair<int, std::uint64_t>, PerfEvent*> tree;
        std::uint64_t index{};
    };
    Pmu* pmu{};
    Groups pinned_groups, flexible_groups;
    EventList<EventListKind::context> event_list; ///< newest first
    EventList<EventListKind::active> pinned_active, flexible_active;
    int nr_events{}, nr_active{}, nr_user{}, is_active{}, nr_stat{}, nr_freq{}, rotate_disable{};
    bool rotate_necessary{};
    int refcount{1};
    TaskBase* task{}; ///< null for a CPU's context
    int cpu{-1};      ///< CPU of a CPU context
    std::uint64_t time{}, timestamp{}, timeoffset{};
    PerfEventContext* parent_ctx{};
    std::uint64_t parent_gen{}, generation{};
    int pin_count{};
    int nr_cgroups{}; ///< enabled cgroup events (of a CPU's context)
    int nr_pending{}; ///< events with a SIGTRAP under way: the context must not be swapped
    std::unique_ptr<Mutex> mutex;
    std::unique_ptr<TaskContextData> task_ctx_data;
    bool dead{}; ///< TASK_TOMBSTONE
};

/// struct perf_cpu_context.
struct PerfCpuContext {
    PerfEventContext ctx;
    PerfEventContext* task_ctx{};
    int active_oncpu{};
    bool exclusive{};
    int sched_cb_usage{};             ///< perf_sched_cb_inc
    std::shared_ptr<PerfCgroup> cgrp; ///< whose events are on, while there are cgroup events
    HrTimer hrtimer;                  ///< rotation
    bool hrtimer_active{};
    std::uint64_t hrtimer_interval_ns{};
    bool online{true};
};

/// One node of the device tree that describes a core PMU.
struct PmuNode {
    static constexpr int kBadPhandle = -1;

    std::string name;                     ///< PMU name in perf: "armv8_pmuv3", "armv8_cortex_a55", "armv8_cortex_a76"
    CpuMask partition{};                  ///< if the interrupt is a PPI: the CPUs whose it is
    std::vector<unsigned> interrupts{23}; ///< INTIDs; PPI 7. 0: one that cannot be had
    int probe_cpu{0};                     ///< CPU on which the driver reads PMCEID
    /// The property interrupt-affinity: for each interrupt the CPU it comes from, or kBadPhandle.
    std::optional<std::vector<int>> interrupt_affinity{};
};

struct PerfConfig {
    std::vector<PmuNode> pmus;
    int paranoid{2};
    int mlock_kb{516};
    int max_sample_rate{100000};
    int cpu_time_max_percent{25};
    int max_stack{127};
    int max_contexts_per_stack{8};
    bool kernel_in_hyp_mode{}; ///< the kernel runs at EL2 (VHE)
    bool cgroup_perf{true};    ///< CONFIG_CGROUP_PERF
};

/// Flags for init_task.
inline constexpr std::uint64_t kCloneThread = 0x00010000;

/// What a hypervisor says of the virtual machine that an event interrupted (struct perf_guest_info_callbacks). Without one
/// every event is the host's.
struct PerfGuestInfoCallbacks {
    static constexpr unsigned kActive = 1, kUser = 2; ///< PERF_GUEST_ACTIVE, PERF_GUEST_USER
    virtual ~PerfGuestInfoCallbacks() = default;
    virtual unsigned state() = 0;       ///< 0: not in a guest
    virtual std::uint64_t get_ip() = 0; ///< where the guest was
};

/// The subsystem. One per simulated kernel. Methods are spread over kernel_events/core/*.cpp by topic, named as in Linux.
class Perf {
  public:
    Perf(Kernel& kernel, PerfConfig config);
    ~Perf();
    Perf(const Perf&) = delete;
    Perf& operator=(const Perf&) = delete;

    /// Registers the PMUs, sysfs and sysctl files, and prepares every CPU that is online. On the boot CPU, once, after
    /// the Kernel works (smp_call_function_single is used); core PMUs of CPUs that are offline are not found.
    void perf_event_init();
    void cpu_starting(int cpu); ///< on that CPU, interrupts masked; for CPUs that come later than perf_event_init
    void cpu_dying(int cpu);

    /// System call; all pointers are user addresses.
    std::int64_t sys_perf_event_open(std::uint64_t attr, std::int32_t pid, std::int32_t cpu, std::int32_t group_fd,
                                     std::uint64_t flags);

    // --- scheduler (interrupts masked) ---
    void perf_event_task_sched_out(TaskBase& task, TaskBase& next);
    void perf_event_task_sched_in(TaskBase& prev, TaskBase& task);
    void perf_event_task_migrate(TaskBase& task);
    void perf_event_task_tick();
    // --- life of tasks ---
    int perf_event_init_task(TaskBase& child, std::uint64_t clone_flags); ///< child inherits from current
    void perf_event_fork(TaskBase& child);                                ///< FORK record
    void perf_event_exit_task(TaskBase& child);                           ///< called by the exiting task
    void perf_event_free_task(TaskBase& task);                            ///< fork failed
    void perf_event_delayed_put(TaskBase& task);
    void perf_event_exec(); ///< enable_on_exec, remove_on_exec
    void perf_event_comm(TaskBase& task, bool exec);
    void perf_event_namespaces(TaskBase& task);
    void perf_event_cgroup(PerfCgroup& cgroup); ///< it has come online: CGROUP record
    void perf_cgroup_attach(TaskBase& task);    ///< a task that runs has moved to another cgroup
    void perf_event_mmap(const VmaInfo& vma);   ///< of current
    int perf_event_task_disable();              ///< prctl
    int perf_event_task_enable();
    // --- software events ---
    void perf_sw_event(std::uint32_t event_id, std::uint64_t nr, PtRegs* regs, std::uint64_t addr);
    /// From the scheduler with interrupts masked; regs are the caller's.
    void perf_sw_event_sched(std::uint32_t event_id, std::uint64_t nr, std::uint64_t addr);
    void perf_sample_event_took(std::uint64_t sample_len_ns);
    // --- virtual machines ---
    /// False: another hypervisor is registered, and stays it.
    bool perf_register_guest_info_cbs(PerfGuestInfoCallbacks& callbacks);
    void perf_unregister_guest_info_cbs(const PerfGuestInfoCallbacks& callbacks);
    // --- tracing ---
    TraceEvents& trace_events(); ///< the table behind tracefs (trace/trace_events.h)
    Tracepoints& tracepoints() { return *tracepoints_; }

    Kernel& kernel() { return kernel_; }
    DebugMonitors& debug_monitors() { return *debug_monitors_; }
    Bpf& bpf() { return *bpf_; }
    Kprobes& kprobes() { return *kprobes_; }
    Uprobes* uprobes() { return uprobes_.get(); } ///< null on a kernel without Kernel::uprobe_services
    HwBreakpoints& hw_breakpoints() { return *hw_breakpoints_; }
    struct Impl;
    Impl& impl() { return *impl_; }

  private:
    Kernel& kernel_;
    std::unique_ptr<DebugMonitors> debug_monitors_;
    std::unique_ptr<Kprobes> kprobes_;
    std::unique_ptr<Bpf> bpf_;
    std::unique_ptr<Uprobes> uprobes_;
    Tracepoints* tracepoints_{}; ///< impl_'s
    std::unique_ptr<HwBreakpoints> hw_breakpoints_;
    std::unique_ptr<Impl> impl_;
};

} // namespace rkperf::ke
