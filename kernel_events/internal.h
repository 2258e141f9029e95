// SPDX-License-Identifier: Apache-2.0
// Inside of the perf subsystem: what its source files share (kernel/events/internal.h and the file-local part of
// kernel/events/core.c in Linux). Functions have the kernel's names; "-errno" results are negative error numbers.
//
// Locking. A region with interrupts masked (IrqGuard) stands for ctx->lock and rq->lock: nothing else runs in it.
// Sleeping locks: TaskBase::perf_event_mutex, PerfEventContext::mutex, PerfEvent::child_mutex, PerfEvent::mmap_mutex, in
// that order as in Linux.
#pragma once

#include "kernel_events/perf_event.h"
#include "kernel_events/trace/trace_events.h"
#include "kernel_events/trace/tracepoints.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rkperf::ke {

// --- constants of include/linux/perf_event.h and kernel/events/core.c (CORE-006 to CORE-012) ---
inline constexpr int EVENT_FLEXIBLE = 0x1, EVENT_PINNED = 0x2, EVENT_TIME = 0x4, EVENT_CPU = 0x8;
inline constexpr int EVENT_ALL = EVENT_FLEXIBLE | EVENT_PINNED;
inline constexpr int PERF_ATTACH_CONTEXT = 0x01, PERF_ATTACH_GROUP = 0x02, PERF_ATTACH_TASK = 0x04,
                     PERF_ATTACH_TASK_DATA = 0x08, PERF_ATTACH_ITRACE = 0x10, PERF_ATTACH_SCHED_CB = 0x20,
                     PERF_ATTACH_CHILD = 0x40;
inline constexpr int PERF_EV_CAP_SOFTWARE = 1, PERF_EV_CAP_READ_ACTIVE_PKG = 2, PERF_EV_CAP_SIBLING = 4;
inline constexpr int PERF_EVENT_FLAG_USER_READ_CNT = static_cast<int>(0x80000000u);
inline constexpr unsigned long DETACH_GROUP = 0x1, DETACH_CHILD = 0x2, DETACH_EXIT = 0x4, DETACH_DEAD = 0x8;
inline constexpr unsigned PERF_PMU_TXN_ADD = 0x1, PERF_PMU_TXN_READ = 0x2;
inline constexpr std::uint64_t MAX_INTERRUPTS = ~std::uint64_t{0};
inline constexpr std::uint64_t NSEC_PER_SEC = 1'000'000'000;
inline constexpr unsigned SWEVENT_HLIST_SIZE = 256;
inline constexpr unsigned PERF_NR_CONTEXTS = 4;                  ///< task, softirq, hardirq, NMI
inline constexpr std::uint64_t PERF_MEM_NA_DATA_SRC = 0x5080021; ///< data_src of a source that knows nothing (CORE-375)
/// Results of poll (include/uapi/asm-generic/poll.h) and bands of SIGIO (si_code).
inline constexpr PollMask kPollIn = 0x0001 | 0x0040, kPollHup = 0x0010;
inline constexpr int POLL_BAND_IN = 1, POLL_BAND_HUP = 6;

/// Values of sysctls that a running kernel changes; initial values come from PerfConfig.
struct PerfSysctls {
    int perf_event_paranoid{2};
    int perf_event_mlock_kb{516};
    int perf_event_max_sample_rate{100000};
    int perf_cpu_time_max_percent{25};
    int perf_event_max_stack{127};
    int perf_event_max_contexts_per_stack{8};
    int perf_user_access{0};
};

/// Number of live events that ask for a kind of side-band record (core.c's atomic_t nr_*_events): CORE-090.
struct PerfEventCounts {
    int nr_mmap{}, nr_comm{}, nr_namespaces{}, nr_task{}, nr_freq{}, nr_switch{}, nr_ksymbol{}, nr_bpf{}, nr_cgroup{},
        nr_text_poke{}, nr_build_id{};
    int perf_sched_count{};                     ///< perf_sched_events: the scheduler hooks are on while it is not 0
    int nr_callchain{};                         ///< nr_callchain_events (callchain.cpp)
    std::array<int, 12> perf_swevent_enabled{}; ///< by PERF_COUNT_SW_*
};

/// The ring buffer of one or more events (struct perf_buffer). Pages are the simulated machine's.
class PerfBuffer {
  public:
    explicit PerfBuffer(Kernel& k) : kernel(k) {}
    ~PerfBuffer(); ///< frees the pages (ring_buffer.cpp)
    PerfBuffer(const PerfBuffer&) = delete;
    PerfBuffer& operator=(const PerfBuffer&) = delete;

    Kernel& kernel;
    int nr_pages{};   ///< data pages, 0 or a power of two
    bool overwrite{}; ///< data_tail is ignored
    bool paused{};
    PollMask poll{};      ///< set by a wakeup, taken by perf_poll
    std::uint64_t head{}; ///< write position, bytes
    unsigned nest{};      ///< writers under way on this CPU
    std::uint64_t events{};
    std::uint64_t wakeup{};
    std::uint64_t lost{};
    std::uint64_t watermark{};
    std::uint64_t aux_watermark{};
    EventList<EventListKind::buffer> event_list; ///< events whose output goes here; newest first
    int mmap_count{};
    std::uint64_t mmap_locked{}; ///< pages charged to mmap_user's mm
    UserInfo* mmap_user{};
    Page user_page;
    std::vector<Page> data_pages;
    // AUX area (ring_buffer_aux.cpp)
    std::uint64_t aux_head{}, aux_wakeup{};
    unsigned aux_nest{}; ///< a transaction is open
    std::uint64_t aux_pgoff{};
    bool aux_overwrite{}, aux_in_sampling{};
    int aux_mmap_count{}, aux_refcount{};
    std::uint64_t aux_mmap_locked{};
    std::vector<Page> aux_pages;
    std::vector<unsigned> aux_orders; ///< sizes of the runs the pages came in, as powers of two
    std::unique_ptr<AuxArea> aux_priv;
    std::unique_ptr<Mutex> aux_mutex;
    bool has_aux() const { return !aux_pages.empty(); }
    std::uint64_t perf_aux_size() const { return static_cast<std::uint64_t>(aux_pages.size()) << 12; }

    std::uint64_t perf_data_size() const { return static_cast<std::uint64_t>(nr_pages) << 12; }
};

/// What perf keeps per CPU (the per_cpu variables of core.c).
struct PerfPerCpu {
    EventList<EventListKind::sideband> pmu_sb_events; ///< CPU-wide side-band receivers, newest first
    std::vector<PerfEventContext*> active_ctx_list;   ///< contexts with is_active, newest first
    std::array<EventList<EventListKind::hash>, SWEVENT_HLIST_SIZE> swevent_hlist; ///< newest first in each bucket
    std::array<std::uint8_t, PERF_NR_CONTEXTS> swevent_recursion{};
    std::array<std::uint8_t, PERF_NR_CONTEXTS> callchain_recursion{};
    std::uint64_t perf_throttled_seq{};
    int perf_throttled_count{};
    std::uint64_t running_sample_length{};
    std::vector<PerfCpuContext*> cgrp_cpuctx_list; ///< with enabled cgroup events, newest first
    std::vector<PerfCpuContext*> sched_cb_list;    ///< whose drivers see every switch, newest first
};

/// The open file of an event: what read, poll, ioctl, mmap and close of its descriptor do.
class PerfFile final : public FileOperations {
  public:
    PerfFile(Perf::Impl& perf, PerfEvent& event) : perf_(perf), event_(event) {}
    PerfEvent& event() { return event_; }
    std::int64_t read(std::uint64_t user_buf, std::uint64_t count, bool nonblock) override;
    PollMask poll(WaitQueue*& wq) override;
    std::int64_t ioctl(std::uint32_t cmd, std::uint64_t arg) override;
    std::int64_t mmap(MmapRequest& vma) override;
    void mmap_open(MmapRequest& vma) override;
    void mmap_close(MmapRequest& vma) override;
    Page fault(MmapRequest& vma, std::uint64_t pgoff, bool write) override;
    void fasync(bool on) override;
    void release() override;

  private:
    Perf::Impl& perf_;
    PerfEvent& event_;
};

// --- small helpers ---
inline bool is_sampling_event(const PerfEvent& e) { return e.attr.sample_period != 0; }
inline bool is_software_event(const PerfEvent& e) { return e.event_caps & PERF_EV_CAP_SOFTWARE; }
inline bool in_software_context(const PerfEvent& e) { return e.ctx->pmu->task_ctx_nr == Pmu::TaskContext::software; }
inline bool is_write_backward(const PerfEvent& e) { return e.attr.write_backward; }
inline bool has_aux(const PerfEvent& e) { return e.pmu->has_setup_aux(); }
inline bool has_addr_filter(const PerfEvent& e) { return e.pmu->nr_addr_filters != 0; }
inline bool perf_need_aux_event(const PerfEvent& e) { return e.attr.aux_output || e.attr.aux_sample_size; }
inline bool is_kernel_event(const PerfEvent& e) { return e.kernel_counter; }
inline bool has_inherit_and_sample_read(const perf_event_attr& a) {
    return a.inherit && (a.sample_type & PERF_SAMPLE_READ);
}
/// The id that users see: the root parent's (CORE-010).
inline std::uint64_t primary_event_id(const PerfEvent& e) { return e.parent ? e.parent->id : e.id; }
/// Own count plus that of children that have exited.
inline std::uint64_t perf_event_count(const PerfEvent& e) { return e.count + e.child_count; }
inline PerfEvent& root_event(PerfEvent& e) { return e.parent ? *e.parent : e; }
/// Class and place of an event, as bits EVENT_*.
inline int get_event_type(const PerfEvent& e, const PerfEventContext& ctx) {
    return (e.group_leader->attr.pinned ? EVENT_PINNED : EVENT_FLEXIBLE) | (ctx.cpu >= 0 ? EVENT_CPU : 0);
}
/// All members of e's group, leader first.
template <class Fn>
void for_each_group_member(PerfEvent& leader, Fn&& fn) {
    fn(leader);
    for (PerfEvent* s : leader.sibling_list) fn(*s);
}
inline void perf_sample_data_init(PerfSampleData& d, std::uint64_t addr, std::uint64_t period) {
    d = PerfSampleData{};
    d.period = period;
    d.sample_flags = PERF_SAMPLE_PERIOD;
    if (addr) {
        d.addr = addr;
        d.sample_flags |= PERF_SAMPLE_ADDR;
    }
    d.data_src = PERF_MEM_NA_DATA_SRC;
}
/// hrtimer_forward: moves the expiry past `now` in whole intervals; returns how many.
std::uint64_t hrtimer_forward(HrTimer& timer, std::uint64_t now, std::uint64_t interval);
/// The kernel's notation for a set of CPUs.
std::string cpu_list(CpuMask mask); ///< "0-3,6"

/// Everything. Methods are grouped by the file that defines them.
struct Perf::Impl {
    Impl(Perf& perf, Kernel& kernel, PerfConfig config);
    ~Impl();

    Perf& perf;
    Kernel& kernel;
    PerfConfig config;
    PerfSysctls sysctl;
    std::unique_ptr<TraceEvents> trace_events;
    std::shared_ptr<struct ProbeEvents> probe_events; ///< of kprobes and uprobes
    std::unique_ptr<Tracepoints> tracepoints;
    PerfEventCounts counts;
    std::array<PerfPerCpu, kMaxCpus> percpu;
    std::uint64_t perf_event_id{};
    PerfGuestInfoCallbacks* guest_info{};
    unsigned perf_guest_state() const { return guest_info ? guest_info->state() : 0; }
    // sampling limits (throttle.cpp)
    int max_samples_per_tick{};
    std::uint64_t perf_sample_period_ns{};
    std::uint64_t perf_sample_allowed_ns{};

    std::vector<std::unique_ptr<Pmu>> pmu_objects; ///< owners
    std::vector<Pmu*> pmus;                        ///< in the order in which they are tried
    std::map<std::uint32_t, Pmu*> pmu_idr;
    std::vector<std::unique_ptr<std::array<PerfCpuContext, kMaxCpus>>> cpu_contexts;
    std::array<std::array<PerfCpuContext, kMaxCpus>*, 2> shared_cpu_contexts{}; ///< hardware, software
    std::array<class ArmPmu*, kMaxCpus> cpu_armpmu{};                           ///< whose interrupt it is on each CPU
    std::array<unsigned, kMaxCpus> armpmu_cpu_irq{};                            ///< which it is, if requested
    bool armpmu_has_nmi{};                                                      ///< and that it is an NMI
    /// Factors of local_clock: ns = cycles of CNTVCT_EL0 * mult >> shift. mult 0: unknown.
    struct SchedClock {
        std::uint32_t mult{};
        unsigned shift{};
    };
    const SchedClock& sched_clock();
    SchedClock sched_clock_;
    bool sched_clock_known_{};
    CpuMask perf_online_mask{};
    std::uint64_t perf_sched_off_at{}; ///< when the scheduler's hooks go off after the last user, local_clock ns
    std::uint64_t nr_live_events{}, nr_live_contexts{}; ///< for leak checks
    std::vector<std::weak_ptr<PerfBuffer>> buffers;     ///< made by perf_mmap, for leak checks
    std::uint64_t nr_live_buffers() const;              ///< mmap.cpp

    PerfPerCpu& this_cpu() { return percpu[static_cast<unsigned>(kernel.smp_processor_id())]; }
    PerfCpuContext& get_cpu_context(const PerfEventContext& ctx); ///< __get_cpu_context: this CPU's, of ctx's class
    PerfCpuContext& this_cpu_context(const Pmu& pmu);
    void notice(EventNotice::What what, const PerfEvent& e, std::uint64_t a = 0, std::uint64_t b = 0) {
        kernel.notice(EventNotice{what, &e, a, b});
    }
    /// Context level as an index: 0 task, 1 softirq, 2 hardirq, 3 NMI.
    unsigned interrupt_context_level();
    int get_recursion_context(std::array<std::uint8_t, PERF_NR_CONTEXTS>& recursion); ///< level, or -1: already inside
    void put_recursion_context(std::array<std::uint8_t, PERF_NR_CONTEXTS>& recursion, int rctx);

    // --- core/attr.cpp ---
    int perf_copy_attr(std::uint64_t uattr, perf_event_attr& attr);
    int perf_reg_validate(std::uint64_t mask);
    bool perfmon_capable();
    int perf_allow_kernel();
    int perf_allow_cpu();
    int perf_allow_tracepoint();
    bool perf_check_permission(const perf_event_attr& attr, TaskBase& task);
    // PMUs with PERF_PMU_CAP_EXCLUSIVE: tasks' and CPUs' events exclude each other, and so do two that could meet
    int exclusive_event_init(PerfEvent& event);
    void exclusive_event_destroy(PerfEvent& event);
    bool exclusive_event_installable(PerfEvent& event, PerfEventContext& ctx);

    // --- core/alloc.cpp ---
    struct EventRequest {
        int cpu{-1};
        TaskBase* task{};
        PerfEvent* group_leader{};
        PerfEvent* parent{};
        std::function<void(PerfEvent&, PerfSampleData&, PtRegs&)> overflow_handler;
        int cgroup_fd{-1};
    };
    PerfEvent* perf_event_alloc(const perf_event_attr& attr, const EventRequest& request, int& error);
    Pmu* perf_init_event(PerfEvent& event, int& error);
    int perf_try_init_event(Pmu& pmu, PerfEvent& event);
    bool perf_sched_hooks_on(); ///< static key perf_sched_events
    void account_event(PerfEvent& event);
    void unaccount_event(PerfEvent& event);
    void account_pmu_sb_event(PerfEvent& event);
    void unaccount_pmu_sb_event(PerfEvent& event);
    void _free_event(PerfEvent& event);
    void free_event(PerfEvent& event);
    void put_event(PerfEvent& event);
    void get_event(PerfEvent& event) { ++event.refcount; }
    int perf_event_set_clock(PerfEvent& event, int clockid);
    int perf_event_release_kernel(PerfEvent& event);
    void perf_remove_from_owner(PerfEvent& event);

    // --- core/open.cpp ---
    std::int64_t sys_perf_event_open(std::uint64_t uattr, std::int32_t pid, std::int32_t cpu, std::int32_t group_fd,
                                     std::uint64_t flags);
    int check_open_attr(const perf_event_attr& attr); ///< checks that need no target
    int perf_event_validate_size(PerfEvent& event);   ///< -E2BIG if its group could not be read
    void perf_event__state_init(PerfEvent& event);
    int perf_event_join(PerfEvent& event, PerfEventContext& ctx, PerfEvent* group_leader, TaskBase* task,
                        bool move_group);
    void perf_move_group(PerfEvent& leader, PerfEventContext& gctx, PerfEventContext& ctx);
    PerfEvent* perf_event_of(FileRef* file); ///< null if not a perf file
    PerfEvent* perf_event_create_kernel_counter(const perf_event_attr& attr, int cpu, TaskBase* task,
                                                std::function<void(PerfEvent&, PerfSampleData&, PtRegs&)> overflow,
                                                int& error);

    // --- core/context.cpp ---
    PerfEventContext* alloc_perf_context(Pmu& pmu, TaskBase* task);
    PerfEventContext* find_get_context(Pmu& pmu, TaskBase* task, PerfEvent& event, int& error);
    PerfEventContext* perf_lock_task_context(TaskBase& task, int ctxn); ///< takes a reference; null if none alive
    PerfEventContext* perf_pin_task_context(TaskBase& task, int ctxn);
    void perf_unpin_context(PerfEventContext& ctx);
    void get_ctx(PerfEventContext& ctx);
    void put_ctx(PerfEventContext& ctx);
    PerfEventContext* unclone_ctx(PerfEventContext& ctx); ///< the former parent context, to be put by the caller
    void list_add_event(PerfEvent& event, PerfEventContext& ctx);
    void list_del_event(PerfEvent& event, PerfEventContext& ctx);
    void add_event_to_ctx(PerfEvent& event, PerfEventContext& ctx);
    void add_event_to_groups(PerfEvent& event, PerfEventContext& ctx);
    void del_event_from_groups(PerfEvent& event, PerfEventContext& ctx);
    void perf_group_attach(PerfEvent& event);
    void perf_group_detach(PerfEvent& event);
    void perf_promote_sibling_to_leader(PerfEvent& sibling, PerfEventContext& ctx, int group_caps);
    bool perf_get_aux_event(PerfEvent& event, PerfEvent* group_leader); ///< may the leader's AUX area serve the event?
    void perf_put_aux_event(PerfEvent& event);
    void perf_child_detach(PerfEvent& event);
    void perf_event_ctx_activate(PerfEventContext& ctx);
    void perf_event_ctx_deactivate(PerfEventContext& ctx);
    Mutex& perf_event_mutex(TaskBase& task);

    // --- core/time.cpp ---
    std::uint64_t perf_clock() { return kernel.local_clock(); }
    std::uint64_t perf_event_clock(PerfEvent& event); ///< TIME of the event's records
    void update_context_time(PerfEventContext& ctx);
    void __update_context_time(PerfEventContext& ctx, bool advance);
    std::uint64_t perf_event_time(PerfEvent& event);                        ///< context time
    std::uint64_t perf_event_time_now(PerfEvent& event, std::uint64_t now); ///< the same, brought up to `now`
    void perf_event_update_time(PerfEvent& event);
    void perf_event_update_sibling_time(PerfEvent& leader);
    void perf_event_set_state(PerfEvent& event, PerfEventState state);
    PerfEventState effective_state(const PerfEvent& event);
    /// Time since the context was active, and enabled/running as of now (without children's).
    void calc_timer_values(PerfEvent& event, std::uint64_t& now, std::uint64_t& enabled, std::uint64_t& running);

    // --- core/install.cpp ---
    using EventFunction =
        std::function<void(PerfEvent&, PerfCpuContext* cpuctx, PerfEventContext& ctx)>; ///< cpuctx: null if not running
    int task_function_call(TaskBase& task, const std::function<int()>& fn);
    int cpu_function_call(int cpu, const std::function<int()>& fn);
    void event_function_call(PerfEvent& event, const EventFunction& fn);
    void event_function_local(PerfEvent& event, const EventFunction& fn);
    void perf_install_in_context(PerfEventContext& ctx, PerfEvent& event, int cpu);
    void perf_remove_from_context(PerfEvent& event, unsigned long flags);
    void __perf_remove_from_context(PerfEvent& event, PerfCpuContext& cpuctx, PerfEventContext& ctx,
                                    unsigned long flags);

    // --- core/enable.cpp ---
    void perf_event_disable(PerfEvent& event);
    void _perf_event_disable(PerfEvent& event);
    void perf_event_disable_local(PerfEvent& event);
    void perf_event_disable_inatomic(PerfEvent& event);
    void __perf_event_disable(PerfEvent& event, PerfCpuContext* cpuctx, PerfEventContext& ctx);
    void perf_event_enable(PerfEvent& event);
    std::uint64_t perf_event_pause(PerfEvent& event, bool reset); ///< disables; the own count
    void __event_disable(PerfEvent& event, PerfCpuContext& cpuctx, PerfEventContext& ctx, PerfEventState state);
    void __perf_event_enable(PerfEvent& event, PerfCpuContext* cpuctx, PerfEventContext& ctx);
    void _perf_event_enable(PerfEvent& event);
    int _perf_event_refresh(PerfEvent& event, int refresh);
    int _perf_event_period(PerfEvent& event, std::uint64_t value);
    void _perf_event_reset(PerfEvent& event);
    void perf_event_for_each_child(PerfEvent& event, void (Impl::*fn)(PerfEvent&));
    void perf_event_for_each(PerfEvent& event, void (Impl::*fn)(PerfEvent&));

    // --- core/schedule.cpp ---
    bool event_filter_match(PerfEvent& event); ///< this CPU and the PMU filter of the event
    bool pmu_filter_match(PerfEvent& event);   ///< PMU filters of its whole group
    void event_sched_out(PerfEvent& event, PerfCpuContext& cpuctx, PerfEventContext& ctx);
    int event_sched_in(PerfEvent& event, PerfCpuContext& cpuctx, PerfEventContext& ctx);
    void group_sched_out(PerfEvent& leader, PerfCpuContext& cpuctx, PerfEventContext& ctx);
    int group_sched_in(PerfEvent& leader, PerfCpuContext& cpuctx, PerfEventContext& ctx);
    bool group_can_go_on(PerfEvent& leader, PerfCpuContext& cpuctx, bool can_add_hw);
    void ctx_sched_out(PerfEventContext& ctx, PerfCpuContext& cpuctx, int event_type);
    void ctx_sched_in(PerfEventContext& ctx, PerfCpuContext& cpuctx, int event_type);
    void ctx_groups_sched_in(PerfEventContext& ctx, PerfCpuContext& cpuctx, bool pinned);
    void merge_sched_in(PerfEvent& leader, PerfCpuContext& cpuctx, PerfEventContext& ctx, bool& can_add_hw);
    void cpu_ctx_sched_out(PerfCpuContext& cpuctx, int event_type);
    void cpu_ctx_sched_in(PerfCpuContext& cpuctx, int event_type);
    void task_ctx_sched_out(PerfCpuContext& cpuctx, PerfEventContext& ctx, int event_type);
    void perf_event_sched_in(PerfCpuContext& cpuctx, PerfEventContext* task_ctx);
    void ctx_resched(PerfCpuContext& cpuctx, PerfEventContext* task_ctx, int event_type);
    void perf_event_update_group_userpage(PerfEvent& leader);
    void perf_pmu_resched(Pmu& pmu); ///< for drivers: everything on this CPU off and on again

    // --- core/switch.cpp ---
    void perf_event_context_sched_out(TaskBase& task, int ctxn, TaskBase& next);
    void perf_event_context_sched_in(PerfEventContext& ctx, TaskBase& task);
    void perf_event_sync_stat(PerfEventContext& ctx, PerfEventContext& next_ctx);
    void perf_sched_cb_inc(Pmu& pmu); ///< for drivers: sched_task at every switch of this CPU
    void perf_sched_cb_dec(Pmu& pmu);
    void perf_pmu_sched_task(TaskBase& prev, TaskBase& next, bool sched_in);

    // --- core/cgroup.cpp ---
    int perf_cgroup_connect(PerfEvent& event, int fd, const PerfEvent* group_leader);
    bool perf_cgroup_match(const PerfEvent& event); ///< is a task of its cgroup current?
    void perf_cgroup_event_enable(PerfEvent& event, PerfEventContext& ctx);
    void perf_cgroup_event_disable(PerfEvent& event, PerfEventContext& ctx);
    void perf_cgroup_switch(TaskBase& task); ///< the task becomes current, or has moved while it is
    void perf_cgroup_set_timestamp(PerfCpuContext& cpuctx);
    void update_cgrp_time_from_cpuctx(PerfCpuContext& cpuctx, bool final);
    void update_cgrp_time_from_event(PerfEvent& event);
    /// The cgroup's clock on the event's CPU, brought up to `now` if given.
    std::uint64_t perf_cgroup_event_time(const PerfEvent& event, const std::uint64_t* now);

    // --- core/rotate.cpp ---
    void perf_mux_hrtimer_init(PerfCpuContext& cpuctx, int cpu);
    void perf_mux_hrtimer_restart(PerfCpuContext& cpuctx);
    bool perf_rotate_context(PerfCpuContext& cpuctx);

    // --- core/pmu.cpp ---
    int perf_pmu_register(std::unique_ptr<Pmu>&& pmu, std::string name, int type); ///< type -1: any free one
    void perf_pmu_disable(Pmu& pmu);
    void perf_pmu_enable(Pmu& pmu);
    void pmu_dev_alloc(Pmu& pmu); ///< files below /sys/bus/event_source/devices
    void init_cpu_contexts(Pmu& pmu);
    int perf_event_mux_interval_ms_store(Pmu& pmu, std::string_view text);
    void perf_pmu_unregister(Pmu& pmu); ///< no event of it may live
    /// Moves the events of an uncore PMU from a CPU that goes to another; those that were off come out on.
    void perf_pmu_migrate_context(Pmu& pmu, int src_cpu, int dst_cpu);

    // --- core/read.cpp ---
    int perf_event_read(PerfEvent& event, bool group);
    void __perf_event_read(PerfEvent& event, bool group, int& error);
    int perf_read_group_add(PerfEvent& leader, std::uint64_t format, std::span<std::uint64_t> values);
    std::int64_t perf_read_group(PerfEvent& event, std::uint64_t buf);
    std::int64_t perf_read_one(PerfEvent& event, std::uint64_t buf);
    std::uint64_t __perf_event_read_value(PerfEvent& event, std::uint64_t& enabled, std::uint64_t& running);
    std::uint64_t perf_event_read_value(PerfEvent& event, std::uint64_t& enabled, std::uint64_t& running);
    int perf_event_read_local(PerfEvent& event, std::uint64_t& value, std::uint64_t* enabled, std::uint64_t* running);
    std::int64_t perf_read(PerfEvent& event, std::uint64_t buf, std::uint64_t count);
    void perf_event__read_size(PerfEvent& event, int nr_siblings);
    bool is_event_hup(PerfEvent& event);
    PollMask perf_poll(PerfEvent& event, WaitQueue*& wq);

    // --- core/ioctl.cpp ---
    std::int64_t perf_ioctl(PerfEvent& event, std::uint32_t cmd, std::uint64_t arg);
    int perf_event_set_output(PerfEvent& event, PerfEvent* output);
    int perf_event_modify_attr(PerfEvent& event, const perf_event_attr& attr);
    int perf_event_set_filter(PerfEvent& event, std::uint64_t arg);
    int perf_event_set_bpf_prog(PerfEvent& event, int fd);
    int perf_event_query_prog_array(PerfEvent& event, std::uint64_t info);

    // --- core/addr_filter.cpp ---
    int perf_event_set_addr_filter(PerfEvent& event, std::string_view text);
    int perf_event_parse_addr_filter(PerfEvent& event, std::string_view text, std::vector<PerfAddrFilter>& filters);
    void perf_event_addr_filters_apply(PerfEvent& event); ///< looks for the files among the task's mappings
    void perf_addr_filters_adjust(const VmaInfo& vma);    ///< current has a new mapping
    void perf_event_addr_filters_exec(PerfEvent& event);  ///< the mappings are gone
    void perf_event_addr_filters_sync(PerfEvent& event);  ///< for drivers, at the start

    // --- core/inherit.cpp, exit.cpp, exec.cpp ---
    int perf_event_init_context(TaskBase& child, int ctxn, std::uint64_t clone_flags);
    int inherit_task_group(PerfEvent& source, TaskBase& child, int ctxn, std::uint64_t clone_flags,
                           bool& inherited_all);
    int inherit_group(PerfEvent& source, TaskBase& child, PerfEventContext& child_ctx);
    PerfEvent* inherit_event(PerfEvent& source, TaskBase& child, PerfEvent* group_leader, PerfEventContext& child_ctx,
                             int& error);
    void perf_event_exit_task_context(TaskBase& child, int ctxn);
    void perf_event_exit_event(PerfEvent& event, PerfEventContext& ctx);
    void sync_child_event(PerfEvent& child);
    void perf_event_enable_on_exec(int ctxn);
    void perf_event_remove_on_exec(int ctxn);

    // --- core/throttle.cpp, freq.cpp ---
    /// An event's counter has run through its period. Returns true if the driver must stop it.
    bool perf_event_overflow(PerfEvent& event, PerfSampleData& data, PtRegs& regs);
    bool __perf_event_overflow(PerfEvent& event, bool throttle, PerfSampleData& data, PtRegs& regs);
    bool __perf_event_account_interrupt(PerfEvent& event, bool throttle);
    /// For drivers that write no sample: throttles like an overflow.
    bool perf_event_account_interrupt(PerfEvent& event) { return __perf_event_account_interrupt(event, true); }
    void perf_event_unthrottle(PerfEvent& event); ///< interrupts = 0 and the UNTHROTTLE record; the caller restarts it
    void update_perf_cpu_limits();
    std::uint64_t perf_calculate_period(PerfEvent& event, std::uint64_t nsec, std::uint64_t count);
    void perf_adjust_period(PerfEvent& event, std::uint64_t nsec, std::uint64_t count, bool disable);
    void perf_adjust_freq_unthr_context(PerfEventContext& ctx, bool needs_unthr);

    // --- core/signal.cpp ---
    void perf_pending_irq(PerfEvent& event);
    void perf_sigtrap(PerfEvent& event);
    bool perf_event_has_fasync(PerfEvent& event) { return root_event(event).fasync; }

    // --- core/swevent.cpp ---
    void perf_swevent_event(PerfEvent& event, std::uint64_t nr, PerfSampleData& data, PtRegs* regs);
    std::uint64_t perf_swevent_set_period(PerfEvent& event);
    void perf_swevent_overflow(PerfEvent& event, std::uint64_t overflow, PerfSampleData& data, PtRegs& regs);
    void do_perf_sw_event(std::uint32_t type, std::uint32_t event_id, std::uint64_t nr, PerfSampleData& data,
                          PtRegs& regs);
    int perf_swevent_add(PerfEvent& event, int flags);
    void perf_swevent_del(PerfEvent& event, int flags);
    bool perf_exclude_event(const PerfEvent& event, const PtRegs* regs);

    // --- core/sysctl.cpp ---
    void register_sysctls();
    void set_max_sample_rate(); ///< derives the limits from sysctl.perf_event_max_sample_rate
    int store_max_sample_rate(std::string_view text);
    int store_cpu_time_max_percent(std::string_view text);
    int store_callchain_limit(std::string_view text, int max, int& value);

    // =====================================================================================================
    // The other half: ring buffer, mmap, samples, side-band, call chains. Declared here because the first half calls it.

    // --- core/rcu.cpp: while somebody walks over events, those that are freed stay readable ---
    unsigned rcu_readers{};
    std::vector<std::unique_ptr<PerfEvent>> rcu_freed;
    void rcu_read_lock() { ++rcu_readers; }
    void rcu_read_unlock();
    void free_event_rcu(PerfEvent& event); ///< deletes it when no reader and no irq_work can see it any more
    struct RcuReadLock {
        explicit RcuReadLock(Impl& p) : perf(p) { perf.rcu_read_lock(); }
        ~RcuReadLock() { perf.rcu_read_unlock(); }
        RcuReadLock(const RcuReadLock&) = delete;
        RcuReadLock& operator=(const RcuReadLock&) = delete;
        Impl& perf;
    };

    // --- ring_buffer.cpp ---
    void ring_buffer_attach(PerfEvent& event,
                            std::shared_ptr<PerfBuffer> rb);       ///< null detaches; wakes waiters (CORE-335)
    std::shared_ptr<PerfBuffer> ring_buffer_get(PerfEvent& event); ///< the root event's; may be null
    void ring_buffer_wakeup(PerfEvent& event);                     ///< wakes all events of its buffer
    int perf_event_stop(PerfEvent& event, bool restart);           ///< where it runs; core/aux.cpp
    void perf_pmu_output_stop(PerfBuffer& rb);                     ///< stops all that write to the buffer's AUX area
    void perf_event_aux_event(PerfEvent& event, std::uint64_t head, std::uint64_t size, std::uint64_t flags);
    void perf_report_aux_output_id(PerfEvent& event, std::uint64_t hw_id);

    // --- core/mmap.cpp ---
    std::int64_t perf_mmap(PerfEvent& event, MmapRequest& vma);
    void perf_mmap_open(PerfEvent& event, MmapRequest& vma);
    void perf_mmap_close(PerfEvent& event, MmapRequest& vma);
    Page perf_mmap_fault(PerfEvent& event, MmapRequest& vma, std::uint64_t pgoff, bool write);
    void perf_event_update_userpage(
        PerfEvent& event); ///< control page: index, offset, times (CORE-355); no buffer: nothing

    // --- core/output.cpp ---
    /// The default overflow handlers: prepare a sample and write it.
    void perf_event_output_forward(PerfEvent& event, PerfSampleData& data, PtRegs& regs);
    void perf_event_output_backward(PerfEvent& event, PerfSampleData& data, PtRegs& regs);
    void perf_event_wakeup(PerfEvent& event);              ///< wakes waiters; sends SIGIO if pending_kill is set
    void perf_log_throttle(PerfEvent& event, bool enable); ///< enable: UNTHROTTLE
    void perf_log_itrace_start(PerfEvent& event);
    void perf_log_lost_samples(PerfEvent& event, std::uint64_t lost); ///< a driver lost samples

    // --- core/sample.cpp ---
    /// Sets read_size (by perf_event__read_size, from the size of its group) and header_size.
    void perf_event__header_size(PerfEvent& event);
    void perf_event__id_header_size(PerfEvent& event); ///< sets id_header_size

    // --- core/sideband.cpp ---
    /// FORK (fresh) or EXIT record of task; task_ctx: the dying context to be told, null: current's contexts.
    void perf_event_task(TaskBase& task, PerfEventContext* task_ctx, bool fresh);
    void perf_event_switch(TaskBase& task, TaskBase* next_prev, bool sched_in); ///< SWITCH, SWITCH_CPU_WIDE
    void perf_event_read_event(PerfEvent& event, TaskBase& task);               ///< READ record
    void perf_event_mmap_event(const VmaInfo& vma);
    /// KSYMBOL: ksym_type is PERF_RECORD_KSYMBOL_TYPE_*.
    void perf_event_ksymbol(std::uint16_t ksym_type, std::uint64_t addr, std::uint32_t len, bool unregister,
                            std::string_view sym);
    /// BPF_EVENT: type is PERF_BPF_EVENT_PROG_*.
    void perf_event_bpf_event(std::uint16_t type, std::uint32_t id, std::span<const std::uint8_t, 8> tag);
    void perf_event_text_poke(std::uint64_t addr, std::span<const std::uint8_t> old_bytes,
                              std::span<const std::uint8_t> new_bytes); ///< TEXT_POKE

    // --- callchain.cpp ---
    int get_callchain_buffers(int max_stack); ///< -EOVERFLOW; counts nr_callchain
    void put_callchain_buffers();

    // =====================================================================================================
    // Called by the other half, defined by the first:
    /// Fills the capability and clock fields of a control page (arch_perf_update_userpage), pmu/armv8_pmuv3.cpp.
    void arch_perf_update_userpage(PerfEvent& event, perf_event_mmap_page& userpg, std::uint64_t now);
    int perf_event_index(PerfEvent& event); ///< number of the counter for a user's read, 0: none (core/read.cpp)
};

} // namespace rkperf::ke
