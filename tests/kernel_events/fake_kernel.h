// SPDX-License-Identifier: Apache-2.0
// A kernel for unit tests of kernel_events: CPUs, tasks, files, user memory, hrtimers and the PMU's registers, all driven
// by hand. Code runs on the CPU chosen by on_cpu(); time moves only by advance(). Interrupts that arrive while they are
// masked wait until they are unmasked.
#pragma once

#include "kernel_events/internal.h"
#include "tests/kernel_events/fake_pmu.h"

#include <time.h>
#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

namespace rkperf::ke::test {

struct FakeCgroup final : PerfCgroup {
    std::string name;
    std::string path() const override { return name; }
};

struct FakeTask : TaskBase {
    std::shared_ptr<FakeCgroup> cgroup; ///< null: the root
    bool may_trace{true};               ///< answer of ptrace_may_access
    PtRegs regs{};
    int refs{1};
    bool runnable{};
    bool on_rq() const override { return runnable; }
};

class FakeMutex final : public Mutex {
  public:
    void lock() override {
        if (locked_) throw std::logic_error("FakeMutex: locked twice");
        locked_ = true;
    }
    void unlock() override {
        if (!locked_) throw std::logic_error("FakeMutex: not locked");
        locked_ = false;
    }
    bool try_lock() override { return locked_ ? false : (locked_ = true); }
    bool is_locked() const override { return locked_; }

  private:
    bool locked_{};
};

class FakeWaitQueue final : public WaitQueue {
  public:
    void wake_up_all() override { ++wakeups; }
    unsigned wakeups{};
};

class FakeMmap : public MmapRequest {
  public:
    std::uint64_t start_{0x7000000000}, size_{}, pgoff_{};
    bool shared_{true}, writable_{true};
    MmInfo* mm_{};
    std::uint64_t start() const override { return start_; }
    std::uint64_t size() const override { return size_; }
    std::uint64_t pgoff() const override { return pgoff_; }
    bool shared() const override { return shared_; }
    bool writable() const override { return writable_; }
    MmInfo* mm() const override { return mm_; }
};

class FakeKernel final : public Kernel {
  public:
    static constexpr std::uint64_t kUserBase = 0x400000;
    static constexpr unsigned kIntid = 23;

    explicit FakeKernel(int cpus = 2) : cpus_(cpus), cpu_(static_cast<std::size_t>(cpus)) {
        user.resize(1 << 20);
        mm_user.uid = 0;
        for (int c = 0; c < cpus; ++c) {
            auto& idle = make_task(0, "swapper");
            idle.kthread = true;
            idle.mm = nullptr;
            idle.pid = idle.tgid = 0;
            idle.on_cpu = idle.task_cpu = c;
            cpu_[static_cast<std::size_t>(c)].idle = cpu_[static_cast<std::size_t>(c)].current = &idle;
        }
    }

    // --- what tests set and look at ---
    struct Cpu {
        FakeTask* current{};
        FakeTask* idle{};
        bool masked{};
        int hardirq{}, softirq{}, nmi{};
        FakePmuRegs pmu;
        std::vector<std::pair<unsigned, std::function<bool(PtRegs&)>>> handlers;
        bool irq_enabled{}, irq_is_nmi{};
        std::vector<IrqWork*> irq_works;
        PtRegs* irq_regs{};
        std::map<std::uint16_t, std::uint64_t> debug; ///< debug registers (op0 = 2) by encoding
    };
    struct Write {
        int cpu;
        SysReg reg;
        std::uint64_t value;
    };
    std::vector<Write> debug_writes; ///< every MSR of a debug register
    struct Fault {
        int signo, code;
        std::uint64_t addr;
        std::uint32_t esr;
    };
    std::vector<Fault> faults;      ///< every force_sig_fault
    std::vector<std::uint8_t> user; ///< user memory of every task, at kUserBase
    std::deque<FakeTask> tasks;
    std::map<std::string, Attribute> attributes;
    std::map<int, FileOperations*> files;
    struct File {
        int refs{1};
        bool fasync{};
    };
    std::map<FileOperations*, File> open_files;
    std::vector<int> fasync_bands; ///< every kill_fasync
    int max_fds{64};
    std::vector<EventNotice::What> notices;
    bool record_notices{};
    std::vector<EventNotice> notice_log; ///< with record_notices: all of them
    std::function<void()> time_passes;   ///< called wherever an interrupt can come in between
    int preempt_count{};
    unsigned pages_left{~0u}; ///< then alloc_page fails
    static constexpr std::uint64_t kKernelStack = 0xffff80000b000000;
    std::vector<std::uint64_t> kernel_frames; ///< return addresses on the kernel's stack, from kKernelStack up
    std::optional<KernelStacks> stacks;       ///< in place of those
    std::vector<std::string> log;
    std::uint64_t charged{};                                                        ///< instructions, all CPUs
    std::array<unsigned, static_cast<std::size_t>(KernelSymbol::count_)> entered{}; ///< how often each function was
    std::vector<KernelSymbol> stack;
    bool cap_perfmon{true}, cap_sys_admin{true}, cap_ipc_lock{true}, cap_kill{true};
    std::vector<std::string> lsm_log; ///< calls of security hooks
    int lsm_refuses{-1}, lsm_refuses_alloc{}, lsm_refuses_use{};
    bool locked_down{};
    std::function<void()> on_ptrace_check; ///< once
    unsigned max_order{};                  ///< of alloc_pages
    std::uint64_t rlimit_memlock{64 * 1024}, now_ns{1'000'000'000};
    CpuMask online{};                               ///< 0: all
    bool pseudo_nmi{};                              ///< the PMU's interrupts are NMIs
    std::map<std::string, InodeInfo> regular_files; ///< that kern_path finds
    MmInfo mm;
    UserInfo mm_user;
    struct Sigtrap {
        TaskBase* task;
        std::uint64_t addr;
        std::uint32_t type;
        std::uint64_t sig_data;
    };
    std::vector<Sigtrap> sigtraps;
    unsigned pages_in_use{};
    unsigned rcu_waits{};
    bool signal{};
    std::vector<VmaInfo> vmas;
    std::shared_ptr<FakeCgroup> root_cgroup = make_cgroup(nullptr, "/", 1);
    std::map<int, std::shared_ptr<FakeCgroup>> cgroup_fds; ///< descriptors that are cgroups' folders
    std::shared_ptr<const void> pid_ns;                    ///< of current
    std::map<const void*, std::map<int, int>> pid_maps;    ///< numbers in other namespaces
    static std::shared_ptr<FakeCgroup> make_cgroup(PerfCgroup* parent, std::string name, std::uint64_t id) {
        auto c = std::make_shared<FakeCgroup>();
        c->parent = parent;
        c->name = std::move(name);
        c->id = id;
        return c;
    }
    Perf* perf{};       ///< set by the test, for the scheduler's calls
    PtRegs user_regs{}; ///< registers at an interrupt from user code

    Cpu& cpu(int n) { return cpu_.at(static_cast<std::size_t>(n)); }
    Cpu& here() { return cpu(this_cpu_); }
    void on_cpu(int n) { this_cpu_ = n; }
    bool cpu_is_on(int n) { return cpu_online_mask() >> n & 1; }
    FakeTask& make_task(std::int32_t pid, const char* comm = "task", TaskBase* leader = nullptr) {
        FakeTask& t = tasks.emplace_back();
        t.pid = pid;
        t.tgid = leader ? leader->pid : pid;
        t.group_leader = leader ? leader : &t;
        std::strncpy(t.comm, comm, sizeof t.comm - 1);
        t.mm = &mm;
        t.user = &mm_user;
        t.real_parent = tasks.empty() ? nullptr : &tasks.front();
        return t;
    }
    /// The scheduler of `cpu` switches from its present task to `next` (or to idle).
    void switch_to(int c, FakeTask* next) {
        const int old_cpu = this_cpu_;
        on_cpu(c);
        FakeTask* prev = here().current;
        FakeTask* n = next ? next : here().idle;
        if (prev != n) {
            const bool was = local_irq_save();
            if (n->task_cpu != c && !n->kthread) {
                n->task_cpu = c;
                if (perf) perf->perf_event_task_migrate(*n);
            }
            if (perf) perf->perf_event_task_sched_out(*prev, *n);
            prev->on_cpu = -1;
            n->on_cpu = c;
            here().current = n;
            if (perf) perf->perf_event_task_sched_in(*prev, *n);
            local_irq_restore(was);
        }
        on_cpu(old_cpu);
    }
    /// `n` events on CPU `c` at level 0 (user) or 1; takes the overflow interrupt at once if it is not masked.
    void count(int c, EventNumber event, std::uint64_t n, unsigned el = 0) {
        cpu(c).pmu.count(event, n, el);
        const int old = this_cpu_;
        on_cpu(c);
        if (!here().masked) take_interrupts();
        on_cpu(old);
    }
    /// Time passes; hrtimers fire in order of expiry.
    void advance(std::uint64_t ns) {
        const std::uint64_t end = now_ns + ns;
        for (;;) {
            HrTimer* next = nullptr;
            for (HrTimer* t : timers_)
                if (t->expires <= end && (!next || t->expires < next->expires)) next = t;
            if (!next) break;
            now_ns = std::max(now_ns, next->expires);
            fire(*next);
        }
        now_ns = end;
    }
    void tick(int c) {
        const int old = this_cpu_;
        on_cpu(c);
        in_interrupt([&] { perf->perf_event_task_tick(); });
        on_cpu(old);
    }
    void page_fault(int c, std::uint64_t addr) {
        const int old = this_cpu_;
        on_cpu(c);
        perf->perf_sw_event(PERF_COUNT_SW_PAGE_FAULTS, 1, &user_regs, addr);
        on_cpu(old);
    }
    /// A user object of type T at a fresh address.
    template <class T>
    std::uint64_t put_user(const T& v) {
        const std::uint64_t a = alloc_user(sizeof v);
        std::memcpy(user_ptr(a), &v, sizeof v);
        return a;
    }
    std::uint64_t alloc_user(std::size_t n) {
        const std::uint64_t a = user_next_;
        user_next_ += (n + 15) & ~std::size_t{15};
        if (user_next_ > kUserBase + user.size()) {
            user_next_ = kUserBase;
            return alloc_user(n);
        }
        return a;
    }
    std::uint8_t* user_ptr(std::uint64_t a) { return user.data() + (a - kUserBase); }
    template <class T>
    T get_user(std::uint64_t a) {
        T v;
        std::memcpy(&v, user_ptr(a), sizeof v);
        return v;
    }
    FileOperations* ops(int fd) { return files.at(fd); }
    void close(int fd) {
        FileOperations* o = files.at(fd);
        files.erase(fd);
        next_fd_ = std::min(next_fd_, fd);
        fput(o);
    }
    void fput(FileOperations* o) {
        if (--open_files.at(o).refs > 0) return;
        o->release();
        open_files.erase(o);
    }
    bool timer_queued(const HrTimer& t) const { return t.queued; }

    // --- Kernel ---
    int smp_processor_id() override { return this_cpu_; }
    TaskBase* current() override { return here().current; }
    bool in_hardirq() override { return here().hardirq > 0; }
    bool in_softirq() override { return here().softirq > 0; }
    bool in_nmi() override { return here().nmi > 0; }
    CpuMask cpu_possible_mask() override { return (1u << cpus_) - 1; }
    CpuMask cpu_online_mask() override { return online ? online : cpu_possible_mask(); }
    PtRegs* task_pt_regs(TaskBase* task) override {
        return task->kthread ? nullptr : &static_cast<FakeTask*>(task)->regs;
    }
    PtRegs* get_irq_regs() override { return here().irq_regs; }
    void fetch_caller_regs(PtRegs& regs) override {
        regs = PtRegs{};
        regs.pc = 0xffff800008000000;
        regs.pstate = 0x5;
    }
    /// Every function is 64 instructions long.
    std::uint64_t kernel_symbol_address(KernelSymbol symbol) override {
        return 0xffff800008000000 + static_cast<std::uint64_t>(symbol) * 256;
    }
    KernelStacks kernel_stacks() override {
        if (stacks) return *stacks;
        KernelStacks out;
        out.task = {kKernelStack, kKernelStack + 0x4000};
        out.outermost = kKernelStack + 0x3ff0;
        std::uint64_t at = kKernelStack;
        for (std::size_t i = 0; i < kernel_frames.size(); ++i, at += 16)
            out.records.push_back({at, i + 1 < kernel_frames.size() ? at + 16 : out.outermost, kernel_frames[i]});
        return out;
    }
    bool preemptible() override { return !preempt_count && !here().masked && !in_hardirq(); }
    bool local_irq_save() override {
        const bool was = here().masked;
        here().masked = true;
        return was;
    }
    void local_irq_restore(bool was) override {
        here().masked = was;
        if (!was) take_interrupts();
    }
    void preempt_disable() override { ++preempt_count; }
    void preempt_enable() override { --preempt_count; }
    void enter(KernelSymbol symbol) override {
        stack.push_back(symbol);
        charged += info(symbol).instructions;
        ++entered[static_cast<std::size_t>(symbol)];
        if (time_passes) time_passes();
    }
    void leave() override { stack.pop_back(); }
    void charge(std::uint32_t n) override {
        charged += n;
        if (time_passes) time_passes();
    }
    std::uint64_t local_clock() override { return now_ns; }
    std::uint64_t ktime_get_ns(int clockid) override {
        // hrtimers expire by CLOCK_MONOTONIC; the others differ from it.
        return clockid == CLOCK_MONOTONIC ? now_ns
                                          : now_ns + static_cast<std::uint64_t>(clockid + 1) * 1'000'000'000'000;
    }
    std::uint64_t tick_nsec() override { return 4'000'000; }
    void tick_dep_set_cpu(int cpu) override { ticks_kept.insert(cpu); }
    void tick_dep_clear_cpu(int cpu) override { ticks_kept.erase(cpu); }
    void tick_dep_set(bool on) override { all_ticks_kept = on; }
    std::set<int> ticks_kept; ///< CPUs that may not stop their tick for a throttled event
    bool all_ticks_kept{};
    unsigned hz() override { return 250; }
    std::uint64_t jiffies() override { return now_ns / tick_nsec(); }
    void hrtimer_start(HrTimer& t, std::uint64_t expires, int c) override {
        if (!t.queued) timers_.push_back(&t);
        t.queued = true;
        t.expires = expires;
        t.cpu = c;
    }
    bool hrtimer_cancel(HrTimer& t) override {
        const bool was = t.queued;
        timers_.erase(std::remove(timers_.begin(), timers_.end(), &t), timers_.end());
        t.queued = false;
        return was;
    }
    void irq_work_queue(IrqWork& w) override {
        if (w.pending) return;
        w.pending = true;
        here().irq_works.push_back(&w);
        if (!here().masked) take_interrupts();
    }
    void irq_work_sync(IrqWork& w) override {
        for (int c = 0; c < cpus_; ++c) {
            auto& l = cpu(c).irq_works;
            if (std::find(l.begin(), l.end(), &w) == l.end()) continue;
            const int old = this_cpu_;
            on_cpu(c);
            take_interrupts();
            on_cpu(old);
        }
    }
    int smp_call_function_single(int c, const std::function<void()>& fn) override {
        if (c < 0 || c >= cpus_ || !(cpu_online_mask() >> c & 1)) return -ENXIO;
        if (here().masked) throw std::logic_error("FakeKernel: smp_call_function_single with interrupts masked");
        const int old = this_cpu_;
        on_cpu(c);
        in_interrupt(fn);
        on_cpu(old);
        return 0;
    }
    std::uint64_t mrs(SysReg r) override {
        ++charged;
        if (r.op0() == 2) return here().debug[r.encoding];
        return r == sysreg::CNTVCT_EL0 ? now_ns * 24 / 1000 : here().pmu.read(r);
    }
    void msr(SysReg r, std::uint64_t v) override {
        ++charged;
        if (r.op0() == 2) {
            here().debug[r.encoding] = v;
            debug_writes.push_back({this_cpu_, r, v});
            return;
        }
        here().pmu.write(r, v);
    }
    void isb() override { ++charged; }
    void request_percpu_irq(unsigned intid, std::string_view, std::function<bool(PtRegs&)> handler) override {
        for (int c = 0; c < cpus_; ++c) cpu(c).handlers.emplace_back(intid, handler);
        here().irq_enabled = true;
    }
    int request_percpu_nmi(unsigned intid, std::string_view name, std::function<bool(PtRegs&)> handler) override {
        if (!pseudo_nmi) return -EINVAL;
        request_percpu_irq(intid, name, std::move(handler));
        return 0;
    }
    void enable_percpu_nmi(unsigned) override { here().irq_enabled = here().irq_is_nmi = true; }
    int kern_path(std::string_view path, InodeInfo& inode) override {
        const auto it = regular_files.find(std::string(path));
        if (it == regular_files.end()) return path == "/" ? -EINVAL : -ENOENT;
        inode = it->second;
        return 0;
    }
    /// The PMU's interrupt on this CPU, if it is raised: an NMI does not ask whether interrupts are masked.
    bool take_nmi() {
        Cpu& c = here();
        if (!c.irq_is_nmi || c.nmi || !c.irq_enabled || !c.pmu.line()) return false;
        ++c.nmi;
        in_masked([&] {
            for (auto& [intid, h] : c.handlers) h(*c.irq_regs);
        });
        --c.nmi;
        return true;
    }
    void enable_percpu_irq(unsigned) override { here().irq_enabled = true; }
    void disable_percpu_irq(unsigned) override { here().irq_enabled = false; }
    /// Shared interrupts: what each was told, in order.
    std::vector<std::string> shared_irqs;
    int affinity_error{}; ///< what irq_force_affinity gives
    unsigned irq_fails{}; ///< an interrupt that is not to be had
    int irq_force_affinity(unsigned intid, int cpu) override {
        shared_irqs.push_back("affinity " + std::to_string(intid) + " " + std::to_string(cpu));
        shared_cpu[intid] = cpu;
        return affinity_error;
    }
    int request_irq(unsigned intid, std::string_view, std::function<bool(PtRegs&)> handler) override {
        shared_irqs.push_back("request " + std::to_string(intid));
        if (intid == irq_fails) return -EBUSY;
        cpu(shared_cpu[intid]).handlers.emplace_back(intid, std::move(handler));
        return 0;
    }
    int request_nmi(unsigned intid, std::string_view name, std::function<bool(PtRegs&)> handler) override {
        if (!pseudo_nmi) return -EINVAL;
        const int error = request_irq(intid, name, std::move(handler));
        if (!error) cpu(shared_cpu[intid]).irq_is_nmi = true;
        return error;
    }
    void enable_irq(unsigned intid) override {
        shared_irqs.push_back("enable " + std::to_string(intid));
        cpu(shared_cpu[intid]).irq_enabled = true;
    }
    void disable_irq(unsigned intid) override {
        shared_irqs.push_back("disable " + std::to_string(intid));
        cpu(shared_cpu[intid]).irq_enabled = false;
    }
    void free_irq(unsigned intid) override {
        shared_irqs.push_back("free " + std::to_string(intid));
        for (int c = 0; c < cpus_; ++c) std::erase_if(cpu(c).handlers, [&](const auto& h) { return h.first == intid; });
    }
    std::map<unsigned, int> shared_cpu;
    TaskBase* find_task_by_vpid(std::int32_t pid) override {
        for (FakeTask& t : tasks)
            if (t.pid == pid && !t.dead && pid > 0) {
                ++t.refs;
                return &t;
            }
        return nullptr;
    }
    void get_task(TaskBase* t) override { ++static_cast<FakeTask*>(t)->refs; }
    void put_task(TaskBase* t) override { --static_cast<FakeTask*>(t)->refs; }
    void update_task_clock(TaskBase*) override {}
    std::shared_ptr<const void> task_active_pid_ns() override { return pid_ns; }
    std::int32_t pid_nr_ns(std::int32_t pid, const void* ns) override {
        const auto& map = pid_maps[ns];
        const auto it = map.find(pid);
        return it == map.end() ? 0 : it->second;
    }
    std::array<NsLinkInfo, 7> task_namespaces(TaskBase&) override {
        return {{{4, 0xf0000000},
                 {4, 0xeffffffe},
                 {4, 0xefffffff},
                 {4, 0xeffffffc},
                 {4, 0xeffffffd},
                 {4, 0xf0000001},
                 {4, 0xeffffffb}}};
    }
    std::shared_ptr<PerfCgroup> perf_cgroup_from_task(TaskBase& t) override {
        const auto& c = static_cast<FakeTask&>(t).cgroup;
        return c ? c : root_cgroup;
    }
    std::shared_ptr<PerfCgroup> perf_cgroup_of_fd(int fd, int& error) override {
        const auto it = cgroup_fds.find(fd);
        error = it == cgroup_fds.end() ? -EBADF : it->second->online ? 0 : -ENOENT;
        return error ? nullptr : it->second;
    }
    bool capable(Capability c) override {
        switch (c) {
            case Capability::perfmon: return cap_perfmon;
            case Capability::sys_admin: return cap_sys_admin;
            case Capability::ipc_lock: return cap_ipc_lock;
            case Capability::kill: return cap_sys_admin && cap_kill;
            case Capability::sys_ptrace:
            case Capability::bpf:
            case Capability::net_admin: return cap_sys_admin;
        }
        return false;
    }
    bool ptrace_may_access(TaskBase* t) override {
        if (const auto hook = std::exchange(on_ptrace_check, nullptr)) hook();
        return static_cast<FakeTask*>(t)->may_trace;
    }
    int security_perf_event_open(PerfSecurity what) override {
        lsm_log.push_back("open " + std::to_string(static_cast<int>(what)));
        return lsm_refuses == static_cast<int>(what) ? -EXDEV : 0;
    }
    int security_perf_event_alloc(PerfEvent&) override {
        lsm_log.emplace_back("alloc");
        return lsm_refuses_alloc;
    }
    void security_perf_event_free(PerfEvent&) override { lsm_log.emplace_back("free"); }
    int security_perf_event_read(PerfEvent&) override {
        lsm_log.emplace_back("read");
        return lsm_refuses_use;
    }
    int security_perf_event_write(PerfEvent&) override {
        lsm_log.emplace_back("write");
        return lsm_refuses_use;
    }
    int security_locked_down_perf() override { return locked_down ? -EPERM : 0; }
    std::uint64_t rlimit(int) override { return rlimit_memlock; }
    void send_sigtrap_perf(TaskBase* t, std::uint64_t addr, std::uint32_t type, std::uint64_t data) override {
        sigtraps.push_back({t, addr, type, data});
    }
    bool signal_pending() override { return signal; }
    void force_sig_fault(int signo, int code, std::uint64_t addr, std::uint32_t esr) override {
        faults.push_back({signo, code, addr, esr});
    }
    void cond_resched() override {}
    std::unique_ptr<Mutex> make_mutex() override { return std::make_unique<FakeMutex>(); }
    std::unique_ptr<WaitQueue> make_waitqueue() override { return std::make_unique<FakeWaitQueue>(); }
    void synchronize_rcu() override { ++rcu_waits; }
    bool copy_from_user(void* to, std::uint64_t from, std::size_t n) override {
        if (!mapped(from, n)) return false;
        std::memcpy(to, user_ptr(from), n);
        return true;
    }
    bool copy_to_user(std::uint64_t to, const void* from, std::size_t n) override {
        if (!mapped(to, n)) return false;
        std::memcpy(user_ptr(to), from, n);
        return true;
    }
    std::size_t copy_from_user_nofault(void* to, std::uint64_t from, std::size_t n) override {
        if (from < kUserBase || from >= kUserBase + user.size()) return 0;
        const std::size_t m = std::min<std::size_t>(n, kUserBase + user.size() - from);
        std::memcpy(to, user_ptr(from), m);
        return m;
    }
    bool access_ok(std::uint64_t addr, std::uint64_t n) override {
        return addr + n <= (1ull << 48) && addr + n >= addr;
    }
    std::string strndup_user(std::uint64_t from, std::size_t max, int& error) override {
        std::string s;
        error = 0;
        for (std::size_t i = 0; i < max; ++i) {
            if (!mapped(from + i, 1)) {
                error = -EFAULT;
                return {};
            }
            const char c = static_cast<char>(*user_ptr(from + i));
            if (!c) return s;
            s += c;
        }
        error = -EINVAL;
        return {};
    }
    std::uint64_t virt_to_phys(std::uint64_t va) override { return mapped(va, 1) ? va + 0x80000000 : 0; }
    std::uint64_t page_size_at(std::uint64_t va) override { return mapped(va, 1) ? 4096 : 0; }
    Page alloc_page(int) override {
        if (!pages_left) return {};
        --pages_left;
        ++pages_in_use;
        auto* p = new std::uint8_t[4096]();
        return Page{PhysAddr(reinterpret_cast<std::uintptr_t>(p)), p};
    }
    std::vector<Page> alloc_pages(unsigned order, int c) override {
        std::vector<Page> run;
        if (order > max_order) return run;
        for (unsigned i = 0; i < 1u << order; ++i) {
            const Page page = alloc_page(c);
            if (!page) {
                for (const Page& p : run) free_page(p);
                return {};
            }
            run.push_back(page);
        }
        return run;
    }
    void free_page(Page p) override {
        --pages_in_use;
        delete[] p.host;
    }
    void page_write(const Page& p, unsigned offset, const void* from, std::size_t n) override {
        if (offset + n > 4096) throw std::logic_error("FakeKernel: page_write beyond the page");
        std::memcpy(p.host + offset, from, n);
        if (time_passes) time_passes();
    }
    int fd_available() override {
        while (next_fd_ < max_fds && files.count(next_fd_)) ++next_fd_;
        return next_fd_ < max_fds ? 0 : -EMFILE;
    }
    void irq_work_queue_on(IrqWork& w, int c) override {
        const int old = this_cpu_;
        on_cpu(c);
        irq_work_queue(w);
        on_cpu(old);
    }
    int anon_inode_getfd(std::string_view, FileOperations* o, bool) override {
        if (fd_available()) return -EMFILE;
        files[next_fd_] = o;
        open_files[o] = File{};
        return next_fd_;
    }
    std::unique_ptr<FileRef> fget(int fd) override {
        auto it = files.find(fd);
        if (it == files.end()) return nullptr;
        ++open_files.at(it->second).refs;
        return std::make_unique<Ref>(*this, it->second);
    }
    FileRef* file_of(FileOperations* o) override {
        if (!open_files.count(o)) return nullptr;
        file_of_ = std::make_unique<Ref>(*this, o, false);
        return file_of_.get();
    }
    void add_attribute(Attribute a) override { attributes[a.path] = std::move(a); }
    void remove_attribute(std::string_view path) override {
        std::erase_if(attributes,
                      [&](const auto& a) { return a.first == path || a.first.starts_with(std::string(path) + "/"); });
    }
    void for_each_vma(TaskBase*, const std::function<void(const VmaInfo&)>& fn) override {
        for (const VmaInfo& v : vmas) fn(v);
    }
    void pr_info(std::string_view m) override { log.emplace_back(m); }
    void notice(const EventNotice& n) override {
        if (!record_notices) return;
        notices.push_back(n.what);
        notice_log.push_back(n);
    }

    /// Runs fn as an interrupt handler of this CPU.
    template <class Fn>
    void in_interrupt(Fn&& fn) {
        const bool was = here().masked;
        PtRegs* old = here().irq_regs;
        here().masked = true;
        ++here().hardirq;
        if (!old) here().irq_regs = &user_regs;
        fn();
        here().irq_regs = old;
        --here().hardirq;
        here().masked = was;
        if (!was) take_interrupts();
    }

  private:
    class Ref final : public FileRef {
      public:
        Ref(FakeKernel& k, FileOperations* o, bool owns = true) : k_(k), o_(o), owns_(owns) {}
        ~Ref() override {
            if (owns_) k_.fput(o_);
        }
        FileOperations* perf_ops() override { return o_; }
        void kill_fasync(int band) override { k_.fasync_bands.push_back(band); }

      private:
        FakeKernel& k_;
        FileOperations* o_;
        bool owns_;
    };

    bool mapped(std::uint64_t a, std::size_t n) const {
        return a >= kUserBase && a + n <= kUserBase + user.size() && a + n >= a;
    }
    void take_interrupts() {
        Cpu& c = here();
        for (int guard = 0; guard < 1000; ++guard) {
            if (!c.irq_works.empty()) {
                IrqWork* w = c.irq_works.front();
                c.irq_works.erase(c.irq_works.begin());
                w->pending = false;
                in_masked([&] { w->func(); });
                continue;
            }
            if (c.irq_enabled && c.pmu.line()) {
                bool handled = false;
                in_masked([&] {
                    for (auto& [intid, h] : c.handlers)
                        if (h(*c.irq_regs)) {
                            handled = true;
                            break;
                        }
                });
                if (handled) continue;
                throw std::logic_error("FakeKernel: PMU interrupt that nobody handled");
            }
            return;
        }
        throw std::logic_error("FakeKernel: interrupt storm");
    }
    template <class Fn>
    void in_masked(Fn&& fn) {
        Cpu& c = here();
        const bool was = c.masked;
        PtRegs* old = c.irq_regs;
        c.masked = true;
        ++c.hardirq;
        if (!old) c.irq_regs = &user_regs;
        fn();
        c.irq_regs = old;
        --c.hardirq;
        c.masked = was;
    }
    void fire(HrTimer& t) {
        const int old = this_cpu_;
        on_cpu(t.cpu);
        timers_.erase(std::remove(timers_.begin(), timers_.end(), &t), timers_.end());
        t.queued = false;
        t.running = true;
        in_interrupt([&] {
            if (t.function(t) == HrTimer::Restart::restart) {
                timers_.push_back(&t);
                t.queued = true;
            }
        });
        t.running = false;
        on_cpu(old);
    }

    int cpus_;
    std::vector<Cpu> cpu_;
    int this_cpu_{};
    std::vector<HrTimer*> timers_;
    int next_fd_{3}; ///< all below are in use
    std::uint64_t user_next_{kUserBase};
    std::unique_ptr<Ref> file_of_;
};

} // namespace rkperf::ke::test
