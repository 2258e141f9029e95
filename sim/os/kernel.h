// SPDX-License-Identifier: Apache-2.0
// The simulated kernel: what runs on the cores at EL1. Native C++ on the current task's fibre; time passes where it is
// charged (see kernel_events/kernel.h, execution model).
#pragma once

#include "kernel_events/kernel.h"
#include "kernel_events/perf_event.h"
#include "models/cpu/core.h"
#include "models/memory/physical_memory.h"
#include "sim/os/fs/file.h"
#include "sim/os/mm/address_space.h"
#include "sim/os/mm/page_allocator.h"
#include "sim/os/task.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rkperf::os {

class Cgroups;
class Namespaces;
class Scheduler;
class GicDriver;
class TimeKeeper;
class Signals;
class UprobeServices;
class Vdso;

/// Told about what happens in the kernel (trace, ground truth). All calls come with the acting CPU's local time.
class KernelObserver {
  public:
    virtual ~KernelObserver() = default;
    virtual void task_switch(int cpu, const Task& prev, const Task& next) { (void)cpu, (void)prev, (void)next; }
    /// kernel_enter() and kernel_leave() are called.
    virtual bool follows_frames() const { return true; }
    virtual void kernel_enter(int cpu, KernelSymbol s) { (void)cpu, (void)s; }
    virtual void kernel_leave(int cpu, KernelSymbol s) { (void)cpu, (void)s; }
    virtual void exception(int cpu, std::string_view kind, bool enter) { (void)cpu, (void)kind, (void)enter; }
    virtual void irq(int cpu, unsigned intid, bool enter) { (void)cpu, (void)intid, (void)enter; }
    virtual void perf_notice(int cpu, const ke::EventNotice& n) { (void)cpu, (void)n; }
    virtual void task_created(const Task& t) { (void)t; }
    virtual void task_exited(const Task& t) { (void)t; }
    virtual void syscall(int cpu, const Task& t, int nr, bool enter) { (void)cpu, (void)t, (void)nr, (void)enter; }
    virtual void user_copy(int cpu, const Task& t, PhysAddr pa, std::uint64_t bytes, bool write) {
        (void)cpu, (void)t, (void)pa, (void)bytes, (void)write;
    }
};

struct KernelConfig {
    unsigned hz{300};                   ///< CONFIG_HZ: 300 in the RK3588 BSP, 250 in Debian
    std::vector<unsigned> cpu_capacity; ///< per CPU, 1024 = fastest
    std::uint64_t dram_bytes{};
    PhysAddr dram_first{}; ///< first physical address the kernel gives out
    ke::PerfConfig perf;
    MountConfig mounts;
    std::uint64_t seed{1};
    std::string hostname{"rk3588"};
    std::uint64_t epoch_s{1700000000}; ///< CLOCK_REALTIME at boot
    Picoseconds timeout{kNever};       ///< --timeout-sim
    bool pseudo_nmi{};                 ///< irqchip.gicv3_pseudo_nmi: interrupts are masked by priority
    std::uint64_t gicd_base{0xFE600000}, gicr_base{0xFE680000}, gicr_stride{0x20000};
};

/// The program to start.
struct InitProgram {
    std::string path; ///< guest path, or looked up in PATH by the caller
    std::vector<std::string> argv, envp;
    ke::CpuMask affinity{0xff};
};

using SyscallArgs = std::array<std::uint64_t, 6>;
struct SyscallRow {
    int nr;
    const char* name;                                               ///< as in the kernel's table: "openat"
    std::int64_t (*call)(Kernel& k, Task& t, const SyscallArgs& a); ///< result or negative errno
    int nargs;
};

/// What uname(2) and /proc/version say.
inline constexpr const char* kOsRelease = "6.1.0-rkperf";
inline constexpr const char* kOsVersion = "#1 SMP PREEMPT_VOLUNTARY rkperf";

/// Wait status reported when --timeout-sim ended the run.
inline constexpr int kStatusTimeout = -1;

/// Internal error codes of the kernel that never reach user space.
inline constexpr std::int64_t kERESTARTSYS = -512, kERESTARTNOINTR = -513, kERESTARTNOHAND = -514,
                              kERESTART_RESTARTBLOCK = -516;

class Kernel final : public cpu::Software, public ke::Kernel {
  public:
    Kernel(std::span<cpu::Core* const> cores, mem::PhysicalMemory& memory, const KernelConfig& config);
    ~Kernel() override;

    /// Memory-mapped device registers (GIC) are reached through this, set before simulation: (core, address, write, value).
    using MmioAccess = std::function<std::uint64_t(int cpu, std::uint64_t address, bool write, std::uint64_t value)>;
    void set_mmio(MmioAccess access);
    std::uint64_t mmio_read(std::uint64_t address) { return mmio_(this_cpu(), address, false, 0); }
    void mmio_write(std::uint64_t address, std::uint64_t value) { mmio_(this_cpu(), address, true, value); }
    void set_init(InitProgram program);
    void add_observer(KernelObserver& o);
    /// Called once when the init program has ended, with its wait status, or when the run is stopped.
    void set_on_exit(std::function<void(int status)> fn);
    /// Asks for an orderly end (Ctrl-C): SIGINT to the init program's group first; a second call stops at once.
    void interrupt();

    // --- cpu::Software ---
    void cpu_main(cpu::Core& core) override;
    void irq_from_el1(cpu::Core& core) override;

    // --- parts ---
    struct PerCpu {
        cpu::Core* core{};
        Task* current{};
        Task* idle{};
        a64::CpuState user;  ///< registers of current while it is on this CPU
        ke::PtRegs irq_regs; ///< of the innermost interrupt
        ke::PtRegs* irq_regs_ptr{};
        int hardirq_depth{}, nmi_depth{};
        bool pmr_masked{};                  ///< ICC_PMR_EL1 lets only NMIs pass
        std::vector<Task::Frame>* frames{}; ///< kernel frames of the running context
        std::uint64_t irqs{};
        bool online{true};
        const int* kernel_bps{}; ///< breakpoints for kernel code in this CPU's registers
        bool debug_masked{};     ///< PSTATE.D: a debug exception of the kernel is being handled
    };
    PerCpu& pcpu(int cpu) { return percpu_[static_cast<unsigned>(cpu)]; }
    int num_cpus() const { return static_cast<int>(percpu_.size()); }
    int this_cpu() const {
        if (__builtin_expect(running_ && running_->process_handle == last_process_, 1)) return last_cpu_;
        return find_this_cpu();
    }
    PerCpu& here() { return pcpu(this_cpu()); }
    cpu::Core& core() { return *here().core; }
    Task& cur() { return *here().current; }

    Scheduler& sched() { return *sched_; }
    GicDriver& gic() { return *gic_; }
    TimeKeeper& time() { return *time_; }
    Signals& signals() { return *signals_; }
    struct FutexTable& futexes() {
        return *futexes_;
    }
    PageAllocator& pages() { return *pages_; }
    ke::Perf& perf() { return *perf_; }
    ke::Tracepoints& tracepoints() { return perf_->tracepoints(); }
    ke::Uprobes& uprobes() { return *perf_->uprobes(); }
    UprobeServices& uprobe_glue() { return *uprobe_services_; }
    Vfs& vfs() { return *vfs_; }
    Vdso& vdso() { return *vdso_; }
    Namespaces& namespaces() { return *namespaces_; }
    Cgroups& cgroups() { return *cgroups_; }
    const KernelConfig& config() const { return config_; }
    mem::PhysicalMemory& memory() { return memory_; }

    // --- tasks ---
    Task* find_task(int tid);
    Task* find_task_vpid(int tid); ///< by its number in current's pid namespace
    const std::map<int, Task*>& tasks() const { return pids_; }
    int alloc_pid();
    /// Registers of a task, wherever they are now.
    void read_user_context(const Task& t, UserContext& out);
    void write_user_context(Task& t, const UserContext& in);
    void drop_ref(Task& t);
    void register_task(Task& t);
    void unregister_task(Task& t);
    /// The user registers of the current task on this CPU.
    a64::CpuState& user() { return here().user; }
    /// Ends current (one thread); never returns. `code`: wait status.
    [[noreturn]] void do_exit(int code);
    [[noreturn]] void do_group_exit(int code);
    /// The fibre body of a user task: returns to EL0 and handles what comes back, for ever.
    [[noreturn]] void user_loop();
    /// The machine's run is over: tells whoever called set_on_exit, once.
    void end_run(int status);
    /// Work before ERET: signals, reschedule, task work. Interrupts masked on return.
    void exit_to_user_mode();

    // --- sleeping ---
    /// Sleeps until woken; returns after a switch back. Current's state must have been set to a sleeping one.
    void schedule();
    /// Sleeps on a queue until `cond`, interruptible: 0, or kERESTARTSYS if a signal came, or 0 with timed_out.
    std::int64_t wait_event_interruptible(WaitQueueHead& wq, const std::function<bool()>& cond);
    void wait_event(WaitQueueHead& wq, const std::function<bool()>& cond);
    /// With an absolute CLOCK_MONOTONIC deadline (ns; ~0: none). -ETIME (-62) when it passed.
    std::int64_t wait_event_interruptible_until(WaitQueueHead& wq, const std::function<bool()>& cond,
                                                std::uint64_t deadline_ns);
    /// Sleeps interruptibly until a wake-up of the task or the deadline; the caller sets the state first. -ETIME or 0.
    std::int64_t schedule_until(std::uint64_t deadline_ns);
    void wake_up_process(Task& t);

    // --- user memory of current; may fault and sleep; -EFAULT or 0 ---
    int get_user(void* to, std::uint64_t from, std::size_t n);
    int put_user(std::uint64_t to, const void* from, std::size_t n);
    template <class T>
    int get(std::uint64_t from, T& v) {
        return get_user(&v, from, sizeof v);
    }
    template <class T>
    int put(std::uint64_t to, const T& v) {
        return put_user(to, &v, sizeof v);
    }
    /// NUL-terminated; -EFAULT, -ENAMETOOLONG beyond max.
    int get_string(std::uint64_t from, std::string& out, std::size_t max = 4096);

    // --- ke::Kernel ---
    int smp_processor_id() override { return this_cpu(); }
    ke::TaskBase* current() override { return here().current; }
    bool in_hardirq() override { return here().hardirq_depth > 0; }
    bool in_softirq() override { return false; }
    bool irqs_disabled() override { return core().irq_masked(); }
    /// Enables interrupts, whatever masks them.
    void local_irq_enable();
    /// Masks all, NMIs too, in PSTATE.
    void local_daif_mask();
    /// With pseudo-NMIs: while an interrupt is handled only those of a higher priority may come.
    void open_for_nmi(bool open);
    void write_pmr(std::uint64_t priority);
    bool need_resched() override { return cur().need_resched; }
    std::uint64_t kernel_symbol_address(KernelSymbol s) override { return symbol_address(s); }
    bool in_nmi() override { return here().nmi_depth > 0; }
    ke::CpuMask cpu_possible_mask() override;
    ke::CpuMask cpu_online_mask() override;
    ke::PtRegs* task_pt_regs(ke::TaskBase* task) override;
    ke::PtRegs* get_irq_regs() override { return here().irq_regs_ptr; }
    void fetch_caller_regs(ke::PtRegs& regs) override;
    /// Registers of the innermost function where it touches user memory that is not there.
    void fault_regs(ke::PtRegs& regs);
    ke::KernelStacks kernel_stacks() override;
    bool preemptible() override;
    bool copy_from_kernel_nofault(void* to, std::uint64_t from, std::size_t n) override;
    bool local_irq_save() override;
    void local_irq_restore(bool was_masked) override;
    void preempt_disable() override;
    void preempt_enable() override;
    void enter(KernelSymbol symbol) override;
    void leave() override;
    void charge(std::uint32_t instructions) override;
    std::uint64_t local_clock() override;
    std::uint64_t ktime_get_ns(int clockid) override;
    std::uint64_t tick_nsec() override { return 1'000'000'000ull / config_.hz; }
    unsigned hz() override { return config_.hz; }
    std::uint64_t jiffies() override;
    void hrtimer_start(ke::HrTimer& timer, std::uint64_t expires_ns, int cpu) override;
    bool hrtimer_cancel(ke::HrTimer& timer) override;
    void irq_work_queue(ke::IrqWork& work) override;
    void irq_work_queue_on(ke::IrqWork& work, int cpu) override;
    void irq_work_sync(ke::IrqWork& work) override;
    int smp_call_function_single(int cpu, const std::function<void()>& fn) override;
    std::uint64_t mrs(SysReg reg) override;
    void msr(SysReg reg, std::uint64_t value) override;
    void isb() override;
    void request_percpu_irq(unsigned intid, std::string_view name, std::function<bool(ke::PtRegs&)> handler) override;
    int request_percpu_nmi(unsigned intid, std::string_view name, std::function<bool(ke::PtRegs&)> handler) override;
    void enable_percpu_nmi(unsigned intid) override;
    void enable_percpu_irq(unsigned intid) override;
    void disable_percpu_irq(unsigned intid) override;
    int irq_force_affinity(unsigned intid, int cpu) override;
    int request_irq(unsigned intid, std::string_view name, std::function<bool(ke::PtRegs&)> handler) override;
    int request_nmi(unsigned intid, std::string_view name, std::function<bool(ke::PtRegs&)> handler) override;
    void enable_irq(unsigned intid) override;
    void disable_irq(unsigned intid) override;
    void free_irq(unsigned intid) override;
    ke::TaskBase* find_task_by_vpid(std::int32_t pid) override;
    void get_task(ke::TaskBase* task) override;
    void put_task(ke::TaskBase* task) override;
    std::int64_t perf_task_refs() const { return perf_task_refs_; } ///< given to perf and not put, for leak checks
    void update_task_clock(ke::TaskBase* task) override;
    std::shared_ptr<const void> task_active_pid_ns() override;
    std::int32_t pid_nr_ns(std::int32_t pid, const void* ns) override;
    std::array<ke::NsLinkInfo, 7> task_namespaces(ke::TaskBase& task) override;
    std::shared_ptr<ke::PerfCgroup> perf_cgroup_from_task(ke::TaskBase& task) override;
    std::shared_ptr<ke::PerfCgroup> perf_cgroup_of_fd(int fd, int& error) override;
    bool capable(ke::Capability cap) override;
    std::uint64_t current_uid_gid() override;
    std::uint32_t get_random_u32() override { return static_cast<std::uint32_t>(random()); }
    int send_signal(int signo, bool thread) override;
    bool copy_to_user_nofault(std::uint64_t to, const void* from, std::size_t n) override;
    bool ptrace_may_access(ke::TaskBase* task) override;
    std::uint64_t rlimit(int resource) override;
    void send_sigtrap_perf(ke::TaskBase* task, std::uint64_t addr, std::uint32_t type, std::uint64_t sig_data) override;
    bool signal_pending() override;
    void force_sig_fault(int signo, int code, std::uint64_t addr, std::uint32_t esr) override;
    void cond_resched() override;
    /// The run is over and the kernel is being taken apart outside the simulation: nothing sleeps or waits any more.
    bool dismantling() const { return dismantling_; }
    std::unique_ptr<ke::Mutex> make_mutex() override;
    std::uint64_t new_lock_address() { return 0xffff000080000000 + 64 * locks_++; } ///< of the linear map
    std::unique_ptr<ke::WaitQueue> make_waitqueue() override;
    void synchronize_rcu() override;
    bool copy_from_user(void* to, std::uint64_t from, std::size_t n) override;
    bool copy_to_user(std::uint64_t to, const void* from, std::size_t n) override;
    std::size_t copy_from_user_nofault(void* to, std::uint64_t from, std::size_t n) override;
    bool access_ok(std::uint64_t addr, std::uint64_t n) override;
    std::string strndup_user(std::uint64_t from, std::size_t max, int& error) override;
    std::uint64_t virt_to_phys(std::uint64_t user_va) override;
    std::uint64_t page_size_at(std::uint64_t va) override;
    ke::Page alloc_page(int cpu) override;
    void free_page(ke::Page page) override;
    void page_write(const ke::Page& page, unsigned offset, const void* from, std::size_t n) override;
    int fd_available() override;
    int anon_inode_getfd(std::string_view name, ke::FileOperations* ops, bool cloexec) override;
    std::unique_ptr<ke::FileRef> fget(int fd) override;
    ke::FileRef* file_of(ke::FileOperations* ops) override;
    void add_attribute(ke::Attribute attribute) override;
    void remove_attribute(std::string_view path) override;
    void for_each_vma(ke::TaskBase* task, const std::function<void(const ke::VmaInfo&)>& fn) override;
    class ke::UprobeServices* uprobe_services() override;
    void pr_info(std::string_view message) override;
    void pr_info_once(std::string_view message); ///< a message that says the same each time
    void notice(const ke::EventNotice& notice) override;

    /// The last descriptor of a perf file is gone.
    void perf_file_released(ke::FileOperations* ops);
    static bool has_cap(const Task& t, int cap); ///< number of <linux/capability.h>; in the initial user namespace

    ke::UserInfo* user_info(std::uint32_t uid);
    std::uint16_t alloc_asid();
    std::uint64_t next_anon_ino() { return ++anon_ino_; }
    /// The page that fills anonymous memory until it is written.
    PhysAddr zero_page() const { return zero_page_; }
    /// The file's pages from `first` on leave all address spaces, private copies too (mm/unmap_range.cpp).
    void unmap_mapping_range(const Inode& inode, std::uint64_t first);
    /// Of /proc/vmstat: what all tasks that ever were have had.
    struct VmEvents {
        std::uint64_t pgfault{}, pgmajfault{};
    } vm_events;
    /// The kernel accesses user memory without privilege: a watchpoint may stop it.
    void watch_user_access(std::uint64_t addr, std::size_t n, bool write);
    /// The branch-history loop that exceptions from EL0 run on the Cortex-A76.
    void charge_bhb();
    void report_unknown_syscall(Task& t, int nr);
    void report_undefined(Task& t, std::uint64_t pc);
    /// Tells the restartable-sequence area the CPU, and aborts a sequence that was interrupted.
    void rseq_handle_resume(Task& t);

    // --- kernel text ---
    /// What the innermost function is about to return, for return probes.
    void function_returns(std::int64_t result);
    /// Address of a function of the simulated kernel, and the symbol an address belongs to.
    static std::uint64_t symbol_address(KernelSymbol s);
    static std::optional<KernelSymbol> symbol_at(std::uint64_t address);
    /// Identifies this kernel's set of functions, as the linker's build id does; in /sys/kernel/notes.
    static std::array<std::uint8_t, 20> build_id();
    /// The lines of /proc/kallsyms, by address; addresses read as zeros if they are not to be shown.
    static std::string kallsyms(bool addresses);
    /// The ELF note with the build id.
    static std::string notes();

    const std::vector<std::string>& log() const { return log_; }
    std::span<KernelObserver* const> observers() const { return observers_; }
    std::uint64_t random(); ///< xorshift, seeded (getrandom, stack and ASLR offsets)

  private:
    /// Where in the innermost function entered on this CPU.
    enum class CodeAt : std::uint8_t { entry, inside, returned };
    void start_init();
    [[noreturn]] void idle_loop(int cpu);
    void run_irq(ke::PtRegs& regs, KernelSymbol entry);
    void on_irq_stack(ke::PtRegs& regs);
    void kernel_breakpoint(std::uint64_t pc);
    void kernel_debug_exception(std::uint64_t addr, std::uint32_t esr, std::uint64_t pc, CodeAt where);
    void deliver_interrupt();
    /// Takes every task from its CPU, closes its files and mappings, and drops it.
    void dismantle();
    void dismantle_task(Task& t);
    void save_pt_regs(Task& t, const a64::CpuState& s);
    void kprobe_entry(KernelSymbol symbol);
    void arguments(ke::PtRegs& regs, KernelSymbol symbol); ///< puts a function's arguments in
    /// Charges up to the last probe within the next `instructions` of the present function, with their hits; less what
    /// was charged.
    void kprobes_inside(std::uint32_t& instructions);
    int move_in(void* to, std::uint64_t from, std::size_t n); ///< 0 or -EFAULT
    int move_out(std::uint64_t to, const void* from, std::size_t n);
    void charge_plain(PerCpu& p, std::uint32_t instructions);
    void kprobe_return(std::uint32_t instance);
    /// Registers of kernel code at `pc`.
    void kernel_regs(ke::PtRegs& regs, std::uint64_t pc, CodeAt where);
    std::uint64_t task_pt_regs_address(); ///< of current's registers at its entry from EL0
    std::uint64_t task_stack();           ///< the lowest address of current's kernel stack
    /// Where a frame's function is: charges go through its text from the beginning to the end, and begin anew.
    static std::uint64_t place_in(const Task::Frame& f);
    mem::PhysicalMemory& memory_;
    KernelConfig config_;
    std::vector<PerCpu> percpu_;
    std::unique_ptr<PageAllocator> pages_;
    std::unique_ptr<Cgroups> cgroups_;
    std::unique_ptr<Vfs> vfs_;
    std::unique_ptr<Namespaces> namespaces_;
    std::unique_ptr<UprobeServices> uprobe_services_;
    std::unique_ptr<ke::Perf> perf_;
    std::unique_ptr<Scheduler> sched_;
    std::unique_ptr<GicDriver> gic_;
    std::unique_ptr<TimeKeeper> time_;
    std::unique_ptr<Signals> signals_;
    std::unique_ptr<FutexTable> futexes_;
    std::unique_ptr<Vdso> vdso_;
    std::map<int, Task*> pids_;
    int last_pid_{};
    std::uint16_t last_asid_{};
    std::uint64_t anon_ino_{};
    PhysAddr zero_page_{};
    std::set<int> unknown_syscalls_;
    std::set<std::string, std::less<>> said_once_;
    std::map<std::uint32_t, std::unique_ptr<ke::UserInfo>> users_;
    std::vector<KernelObserver*> observers_, frame_observers_; ///< the latter: of those who follow frames
    std::vector<std::string> log_;
    std::function<void(int)> on_exit_;
    std::optional<InitProgram> init_;
    MmioAccess mmio_;
    std::uint64_t random_state_{};
    std::int64_t perf_task_refs_{};
    std::uint64_t locks_{};
    int find_this_cpu() const;
    sc_core::sc_curr_proc_handle running_{}; ///< says which process SystemC executes
    mutable const void* last_process_{};     ///< the one that this_cpu() last found, and its CPU
    mutable int last_cpu_{};
    bool dismantling_{};
    int dismantling_cpu_{};                                         ///< the CPU in whose name it is dismantled
    std::map<ke::FileOperations*, std::weak_ptr<File>> perf_files_; ///< looked up only
    std::unique_ptr<ke::FileRef> file_of_;                          ///< what file_of returned last; owns no file
    struct Private;
    std::unique_ptr<Private> private_;
};

/// Sends what F_SETOWN and F_SETSIG of the file ask for; band is POLL_IN (1) ... POLL_HUP (6).
void send_fasync(Kernel& os, File& file, int band);

/// RAII kernel function frame (see ke::KernelFrame), usable with os::Kernel.
using Frame = ke::KernelFrame;

/// Interrupts of this CPU masked for a scope. While they are, no other CPU runs: what is done then is atomic.
class IrqGuard {
  public:
    explicit IrqGuard(Kernel& k) : k_(k), was_(k.local_irq_save()) {}
    ~IrqGuard() { k_.local_irq_restore(was_); }
    IrqGuard(const IrqGuard&) = delete;
    IrqGuard& operator=(const IrqGuard&) = delete;

  private:
    Kernel& k_;
    bool was_;
};

} // namespace rkperf::os
