// SPDX-License-Identifier: Apache-2.0
// What the perf subsystem needs from the rest of the kernel and from the hardware. sim/os implements it. No SystemC.
//
// Execution model: kernel code runs natively on the current task's stack (a fibre). Simulated time passes only inside
// the calls named "charges time" below; an unmasked interrupt nests there, and another CPU may run there unless
// interrupts are masked. So a region with interrupts masked is atomic towards all CPUs and needs no spin lock of its
// own; a region that sleeps needs a Mutex.
#pragma once

#include "kernel_events/event_list.h"
#include "kernel_events/kernel_symbols.h"
#include "sim/base/sysreg.h"
#include "sim/base/types.h"
#include "sim/base/wires.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rkperf::ke {

class Perf;
struct PerfEvent;
struct PerfEventContext;

inline constexpr int kMaxCpus = 8;
/// A set of CPUs, bit n = CPU n.
using CpuMask = std::uint32_t;

/// Registers at an exception, as perf sees them (struct pt_regs of arm64).
struct PtRegs {
    std::uint64_t regs[31]{};
    std::uint64_t sp{}, pc{}, pstate{};
    bool user_mode() const { return (pstate & 0xf) == 0; }
};

/// Physical page of the simulated machine, as the ring buffer uses them.
struct Page {
    PhysAddr pa{};
    std::uint8_t* host{}; ///< host address of its 4096 bytes
    explicit operator bool() const { return host != nullptr; }
};

/// File-backed part of a mapping, for MMAP records.
struct InodeInfo {
    std::uint32_t maj{}, min{};
    std::uint64_t ino{}, generation{};
};

/// A mapping of a task's address space (struct vm_area_struct).
struct VmaInfo {
    std::uint64_t start{}, end{};
    std::uint64_t pgoff{}; ///< in pages
    std::uint32_t prot{};  ///< PROT_*
    std::uint32_t flags{}; ///< MAP_* as perf reports them (MAP_SHARED/PRIVATE, DENYWRITE, LOCKED...)
    bool vm_exec{}, has_file{};
    std::string path; ///< file path, "[heap]", "[stack]", "[vdso]", "//anon" ...
    InodeInfo inode{};
    std::vector<std::uint8_t> build_id; ///< of the mapped ELF file, may be empty
};

/// The memory descriptor; perf compares and accounts against it.
struct MmInfo {
    virtual ~MmInfo() = default;
    std::uint64_t pinned_vm{}; ///< pages
};

/// The user a task runs as, for the locked-memory limit.
struct UserInfo {
    std::uint32_t uid{};
    std::uint64_t locked_vm{}; ///< pages
};

/// Part of a kernel stack: bytes from low up to, without, high.
struct StackRange {
    std::uint64_t low{}, high{};
    bool holds(std::uint64_t at, std::uint64_t bytes) const { return at >= low && at < high && bytes <= high - at; }
};
/// Kernel stacks of the running context with their frame records. A range that is empty is not there.
struct KernelStacks {
    struct Record {
        std::uint64_t at, fp, lr; ///< address of the record; the frame pointer and the return address in it
    };
    StackRange task, irq, overflow;
    std::uint64_t outermost{};   ///< address of the record in the registers saved at the entry from EL0
    std::vector<Record> records; ///< innermost first
};

/// Sleeping lock.
class Mutex {
  public:
    virtual ~Mutex() = default;
    virtual void lock() = 0;
    virtual void unlock() = 0;
    virtual bool try_lock() = 0;
    virtual bool is_locked() const = 0;
};
class MutexGuard {
  public:
    explicit MutexGuard(Mutex& m) : m_(&m) { m_->lock(); }
    ~MutexGuard() {
        if (m_) m_->unlock();
    }
    MutexGuard(const MutexGuard&) = delete;
    MutexGuard& operator=(const MutexGuard&) = delete;
    void unlock() {
        if (m_) m_->unlock();
        m_ = nullptr;
    }

  private:
    Mutex* m_;
};

/// Slots of a kind that the kernel has room for (ARM_MAX_BRP, ARM_MAX_WRP).
inline constexpr unsigned kArmMaxHbpSlots = 16;

/// thread_struct::debug (struct debug_info of arm64).
struct ThreadDebug {
    bool suspended_step{};               ///< somebody else was stepping when a breakpoint began to
    bool bps_disabled{}, wps_disabled{}; ///< being stepped over a hit breakpoint, watchpoint
    std::array<PerfEvent*, kArmMaxHbpSlots> hbp_break{}, hbp_watch{}; ///< ptrace's
};

/// The part of struct task_struct that perf uses. os::Task derives from it.
struct TaskBase {
    virtual ~TaskBase() = default;
    /// Still wants a CPU (task_struct::on_rq): a switch away from it is a preemption.
    virtual bool on_rq() const { return false; }
    /// The kernel's priority: 0 to 99 real-time, 100 to 139 by nice value.
    virtual int prio() const { return 120; }
    std::int32_t pid{};  ///< thread id (kernel's "pid")
    std::int32_t tgid{}; ///< process id
    TaskBase* real_parent{};
    TaskBase* group_leader{};
    char comm[16]{};
    bool exiting{}; ///< PF_EXITING
    bool dead{};    ///< no longer findable
    bool kthread{}; ///< PF_KTHREAD, idle included
    bool compat{};  ///< TIF_32BIT
    int on_cpu{-1}; ///< CPU it runs on now, or -1
    int task_cpu{}; ///< CPU whose run queue it belongs to
    MmInfo* mm{};
    UserInfo* user{};
    bool sched_migrated{};            ///< owned by perf: moved to another CPU since it last ran
    std::uint64_t sum_exec_runtime{}; ///< ns, up to date only for current after a call of Kernel::update_task_clock

    // owned by perf
    PerfEventContext* perf_event_ctxp[2]{};          ///< hardware context, software context
    EventList<EventListKind::owner> perf_event_list; ///< events this task owns (opened)
    std::unique_ptr<Mutex> perf_event_mutex;

    // owned by debug_monitors.cpp, hw_breakpoint*.cpp and ptrace
    ThreadDebug debug;
    bool tif_singlestep{}; ///< TIF_SINGLESTEP: SPSR.SS (PtRegs::pstate) is what is left to do

    // owned by uprobes.cpp
    std::shared_ptr<struct UprobeTask> utask; ///< made at the first hit
    bool tif_uprobe{};                        ///< TIF_UPROBE: uprobe_notify_resume is due before the return to EL0
};

/// struct poll_table's other side: a list of sleepers.
class WaitQueue {
  public:
    virtual ~WaitQueue() = default;
    virtual void wake_up_all() = 0;
};

/// A timer on the clock CLOCK_MONOTONIC of one CPU, expiring in hard interrupt context (HRTIMER_MODE_*_PINNED_HARD).
struct HrTimer {
    enum class Restart { no, restart };
    std::function<Restart(HrTimer&)> function; ///< interrupts masked, in hard interrupt context
    std::uint64_t expires{};                   ///< ns; function may advance it and return restart
    int cpu{-1};                               ///< queue it is on
    bool queued{}, running{};
    KernelSymbol symbol{KernelSymbol::hrtimer_wakeup}; ///< what trace events show as its function
    std::uint64_t trace_address{};                     ///< what they show as its address; set at first use
};

/// struct irq_work: a function to run in hard interrupt context soon, on this CPU (self-IPI).
struct IrqWork {
    std::function<void()> func;
    bool pending{};
};

/// Poll result bits (POLLIN, POLLHUP, POLLERR... of <poll.h>).
using PollMask = std::uint32_t;

/// A mapping being made by mmap(2) of a perf file, or living. Implemented by os.
class MmapRequest {
  public:
    virtual ~MmapRequest() = default;
    virtual std::uint64_t start() const = 0;
    virtual std::uint64_t size() const = 0;  ///< bytes
    virtual std::uint64_t pgoff() const = 0; ///< pages
    virtual bool shared() const = 0;
    virtual bool writable() const = 0;
    virtual MmInfo* mm() const = 0;
};

/// File operations of an open file that the perf subsystem owns.
/// All return a negative errno on failure.
class FileOperations {
  public:
    virtual ~FileOperations() = default;
    virtual std::int64_t read(std::uint64_t user_buf, std::uint64_t count, bool nonblock) = 0;
    virtual PollMask poll(WaitQueue*& wq) = 0; ///< events now; wq: where to sleep
    virtual std::int64_t ioctl(std::uint32_t cmd, std::uint64_t arg) = 0;
    virtual std::int64_t mmap(MmapRequest& vma) = 0;
    /// The mapping was duplicated (fork, split) / removed.
    virtual void mmap_open(MmapRequest& vma) = 0;
    virtual void mmap_close(MmapRequest& vma) = 0;
    /// Page `pgoff` of the mapping for a fault; an empty page gives SIGBUS. `write` is the kind of access.
    virtual Page fault(MmapRequest& vma, std::uint64_t pgoff, bool write) = 0;
    /// O_ASYNC of the open file was switched on or off (fcntl F_SETFL, ioctl FIOASYNC).
    virtual void fasync(bool on) = 0;
    virtual void release() = 0; ///< last reference to the open file is gone; the object may delete itself
};

/// An open file seen from perf: keeps the file alive while held.
class FileRef {
  public:
    virtual ~FileRef() = default;
    virtual FileOperations* perf_ops() = 0; ///< null if this is not a perf file
    /// F_SETOWN/F_SETSIG/O_ASYNC: sends SIGIO or the chosen signal, with band POLL_IN or POLL_HUP, if asked for.
    virtual void kill_fasync(int band) = 0;
};

/// Device and number of a namespace's file (struct perf_ns_link_info).
struct NsLinkInfo {
    std::uint64_t dev{}, ino{};
};

/// A cgroup's clock on one CPU (struct perf_cgroup_info), ns.
struct PerfCgroupInfo {
    std::uint64_t time{}, timestamp{}, timeoffset{};
    bool active{};
};

/// A cgroup as perf sees it (struct perf_cgroup and its css).
struct PerfCgroup {
    virtual ~PerfCgroup() = default;
    virtual std::string path() const = 0; ///< from the hierarchy's root
    std::uint64_t id{};
    PerfCgroup* parent{};
    bool online{true};
    std::array<PerfCgroupInfo, kMaxCpus> info{}; ///< owned by perf
    bool is_descendant(const PerfCgroup& of) const {
        for (const PerfCgroup* c = this; c; c = c->parent)
            if (c == &of) return true;
        return false;
    }
};

/// What perf_event_open asks security modules about (PERF_SECURITY_*).
enum class PerfSecurity : std::uint8_t { open, cpu, kernel, tracepoint };

enum class Capability : std::uint8_t { perfmon, sys_admin, sys_ptrace, ipc_lock, kill, bpf, net_admin };

/// A readable and maybe writable file below /sys, /proc/sys or tracefs.
struct Attribute {
    std::string path; ///< absolute, e.g. "/sys/bus/event_source/devices/armv8_pmuv3/type"
    std::uint32_t mode{0444};
    std::function<std::string()> show;
    /// Negative errno, how many bytes it took, or 0: all. Those below /proc/sys are numbers: a write elsewhere than at
    /// the start stores nothing, it comes as an empty text.
    std::function<int(std::string_view)> store;
};

/// What perf tells about an event, for the trace and for ground truth. See sim/os for the listeners.
struct EventNotice {
    enum class What : std::uint8_t {
        opened,
        enabled,
        disabled,
        scheduled_in,
        scheduled_out,
        overflow,
        sample_written,
        sample_lost,
        wakeup,
        read,
        throttled,
        unthrottled,
        error,
        freed,
        task_in,
        task_out,
        reset ///< PERF_EVENT_IOC_RESET: a is the count that goes
    };
    What what{};
    const PerfEvent* event{};
    std::uint64_t a{}, b{};
};

class Kernel {
  public:
    virtual ~Kernel() = default;

    // --- where am I ---
    virtual int smp_processor_id() = 0;
    virtual TaskBase* current() = 0;
    virtual bool in_hardirq() = 0;
    virtual bool in_softirq() = 0;
    virtual bool in_nmi() = 0;
    virtual CpuMask cpu_possible_mask() = 0;
    virtual CpuMask cpu_online_mask() = 0;
    /// Registers saved at this CPU's last exception from user (task_pt_regs(current)); null for kernel threads.
    virtual PtRegs* task_pt_regs(TaskBase* task) = 0;
    /// Registers of the interrupt being handled (get_irq_regs), or null outside.
    virtual PtRegs* get_irq_regs() = 0;
    /// Registers at an event that the running function raises (perf_arch_fetch_caller_regs): pc is in the one that called
    /// it but the frame pointer its own, so that a chain from here has the caller twice.
    virtual void fetch_caller_regs(PtRegs& regs) = 0;
    /// The stacks that kernel code of the running context may be on, and what lies there.
    virtual KernelStacks kernel_stacks() = 0;
    /// The running context may be taken from its CPU (preemptible()).
    virtual bool preemptible() = 0;

    // --- interrupts and time ---
    virtual bool irqs_disabled() { return false; }
    virtual bool need_resched() { return false; } ///< of current
    virtual std::uint64_t kernel_symbol_address(KernelSymbol symbol) {
        (void)symbol;
        return 0;
    }
    /// Masks interrupts; returns the former state for local_irq_restore.
    virtual bool local_irq_save() = 0;
    virtual void local_irq_restore(bool was_masked) = 0;
    virtual void preempt_disable() = 0;
    virtual void preempt_enable() = 0;
    /// Enters a kernel function: charges its cost (charges time) and shows it in kernel call chains until leave().
    virtual void enter(KernelSymbol symbol) = 0;
    virtual void leave() = 0;
    /// Charges `units` times the symbol's unit cost (per record word, per frame, per event ...) inside the function entered.
    virtual void charge(std::uint32_t instructions) = 0;
    virtual std::uint64_t local_clock() = 0;             ///< sched_clock of this CPU, ns (from CNTVCT_EL0 by TLM)
    virtual std::uint64_t ktime_get_ns(int clockid) = 0; ///< CLOCK_MONOTONIC, MONOTONIC_RAW, REALTIME, BOOTTIME, TAI
    virtual std::uint64_t tick_nsec() = 0;               ///< 10^9 / HZ
    virtual unsigned hz() = 0;
    virtual std::uint64_t jiffies() = 0;
    virtual void hrtimer_start(HrTimer& timer, std::uint64_t expires_ns, int cpu) = 0; ///< absolute; cpu = this CPU
    virtual bool hrtimer_cancel(HrTimer& timer) = 0; ///< true if it was queued; waits for a running callback elsewhere
    virtual void irq_work_queue(IrqWork& work) = 0;
    virtual void irq_work_sync(IrqWork& work) = 0;
    /// The same on another CPU. The default, on this one, is right only for a machine with one CPU.
    virtual void irq_work_queue_on(IrqWork& work, int cpu) {
        (void)cpu;
        irq_work_queue(work);
    }
    /// Runs `fn` on `cpu` in hard interrupt context with interrupts masked; waits (charges time). -ENXIO if offline.
    virtual int smp_call_function_single(int cpu, const std::function<void()>& fn) = 0;

    // --- hardware of this CPU (charges time) ---
    virtual std::uint64_t mrs(SysReg reg) = 0;
    virtual void msr(SysReg reg, std::uint64_t value) = 0;
    virtual void isb() = 0;

    /// Registers the handler of a per-CPU interrupt (PPI) and enables it in this CPU's redistributor. The handler gets the
    /// interrupted registers and returns true for IRQ_HANDLED. cpu hotplug: enable/disable act on the calling CPU.
    virtual void request_percpu_irq(unsigned intid, std::string_view name, std::function<bool(PtRegs&)> handler) = 0;
    virtual void enable_percpu_irq(unsigned intid) = 0;
    virtual void disable_percpu_irq(unsigned intid) = 0;
    /// The same for an interrupt that comes while interrupts are masked: 0, or -EINVAL from a kernel without NMIs.
    virtual int request_percpu_nmi(unsigned intid, std::string_view name, std::function<bool(PtRegs&)> handler) {
        (void)intid, (void)name, (void)handler;
        return -EINVAL;
    }
    virtual void enable_percpu_nmi(unsigned intid) { enable_percpu_irq(intid); }
    virtual void disable_percpu_nmi(unsigned intid) { disable_percpu_irq(intid); }
    /// Is it an interrupt that each CPU has one of (a PPI)?
    virtual bool irq_is_percpu_devid(unsigned intid) { return intid < 32; }
    /// Shared interrupts (SPIs). The CPU that gets it; it stays disabled when it is requested (IRQF_NO_AUTOEN).
    virtual int irq_force_affinity(unsigned intid, int cpu) = 0;
    virtual int request_irq(unsigned intid, std::string_view name, std::function<bool(PtRegs&)> handler) = 0;
    /// -EINVAL from a kernel without NMIs.
    virtual int request_nmi(unsigned intid, std::string_view name, std::function<bool(PtRegs&)> handler) = 0;
    virtual void enable_irq(unsigned intid) = 0;
    virtual void disable_irq(unsigned intid) = 0;
    /// Of either kind; nobody has it enabled any more.
    virtual void free_irq(unsigned intid) = 0;

    // --- tasks ---
    virtual TaskBase* find_task_by_vpid(std::int32_t pid) = 0; ///< takes a reference, or null
    virtual void get_task(TaskBase* task) = 0;
    virtual void put_task(TaskBase* task) = 0;
    virtual void update_task_clock(TaskBase* task) = 0;
    /// The pid namespace that current lives in, for pid_nr_ns; null: the initial one.
    virtual std::shared_ptr<const void> task_active_pid_ns() { return nullptr; }
    /// A number of the initial namespace (TaskBase::pid, tgid) as seen from another; 0: not to be seen there.
    virtual std::int32_t pid_nr_ns(std::int32_t pid, const void* ns) {
        (void)ns;
        return pid;
    }
    /// Namespaces of a task in the order of NAMESPACES records: net, uts, ipc, pid, user, mnt, cgroup. All zero: none.
    virtual std::array<NsLinkInfo, 7> task_namespaces(TaskBase&) { return {}; }
    /// The cgroup that counts for a task: the nearest above it that has the perf_event controller. Null: no cgroups.
    virtual std::shared_ptr<PerfCgroup> perf_cgroup_from_task(TaskBase&) { return nullptr; }
    /// css_tryget_online_from_dir: -EBADF, -ENOENT; -EINVAL from a kernel without cgroups.
    virtual std::shared_ptr<PerfCgroup> perf_cgroup_of_fd(int fd, int& error) {
        (void)fd;
        error = -EINVAL;
        return nullptr;
    }
    virtual bool capable(Capability cap) = 0;
    // --- what BPF programs may ask for ---
    virtual std::uint64_t current_uid_gid() { return 0; } ///< gid << 32 | uid, of the initial user namespace
    virtual std::uint32_t get_random_u32() { return 0; }
    virtual int send_signal(int signo, bool thread) { ///< to current: 0, -EINVAL, -EPERM
        (void)signo, (void)thread;
        return -EINVAL;
    }
    virtual bool copy_to_user_nofault(std::uint64_t to, const void* from, std::size_t n) {
        (void)to, (void)from, (void)n;
        return false;
    }
    /// Hooks of security modules: 0, or a negative errno that ends what was asked for. A kernel without any allows all.
    virtual int security_perf_event_open(PerfSecurity) { return 0; }
    virtual int security_perf_event_alloc(PerfEvent&) { return 0; }
    virtual void security_perf_event_free(PerfEvent&) {}
    virtual int security_perf_event_read(PerfEvent&) { return 0; }  ///< read(2), mmap(2)
    virtual int security_perf_event_write(PerfEvent&) { return 0; } ///< ioctl(2)
    virtual int security_locked_down_perf() { return 0; }           ///< LOCKDOWN_PERF: -EPERM
    virtual bool ptrace_may_access(TaskBase* task) = 0;
    virtual std::uint64_t rlimit(int resource) = 0;
    virtual void send_sigtrap_perf(TaskBase* task, std::uint64_t addr, std::uint32_t type, std::uint64_t sig_data) = 0;
    /// true if a signal is pending for current: interruptible sleeps end with -EINTR.
    virtual bool signal_pending() = 0;
    virtual void cond_resched() = 0; ///< may schedule (charges time)
    /// force_sig_fault of current for the exception it has taken; `esr` not 0: it becomes thread.fault_code. A kernel
    /// without signals cannot be asked.
    virtual void force_sig_fault(int signo, int code, std::uint64_t addr, std::uint32_t esr);

    // --- locks, sleeping, waking ---
    virtual std::unique_ptr<Mutex> make_mutex() = 0;
    virtual std::unique_ptr<WaitQueue> make_waitqueue() = 0;
    /// Waits until all CPUs have passed a quiescent state.
    virtual void synchronize_rcu() = 0;

    // --- user memory of current (charges time) ---
    virtual bool copy_from_user(void* to, std::uint64_t from, std::size_t n) = 0; ///< false: -EFAULT
    virtual bool copy_to_user(std::uint64_t to, const void* from, std::size_t n) = 0;
    /// Without page faults, usable in interrupt context; returns bytes copied.
    virtual std::size_t copy_from_user_nofault(void* to, std::uint64_t from, std::size_t n) = 0;
    /// Of kernel memory there is the running context's stack; false: -EFAULT.
    virtual bool copy_from_kernel_nofault(void* to, std::uint64_t from, std::size_t n) {
        (void)to, (void)from, (void)n;
        return false;
    }
    virtual bool access_ok(std::uint64_t addr, std::uint64_t n) = 0;
    virtual std::string strndup_user(std::uint64_t from, std::size_t max, int& error) = 0;
    /// Walks the tables without filling anything: 0 if unmapped.
    virtual std::uint64_t virt_to_phys(std::uint64_t user_va) = 0;
    virtual std::uint64_t page_size_at(std::uint64_t va) = 0;

    // --- pages ---
    virtual Page alloc_page(int cpu) = 0; ///< zeroed; empty if out of memory
    virtual void free_page(Page page) = 0;
    /// 2^order neighbours, zeroed, each to be freed alone; empty if there is no such run. By default memory is too
    /// fragmented for more than one page.
    virtual std::vector<Page> alloc_pages(unsigned order, int cpu) {
        const Page page = order ? Page{} : alloc_page(cpu);
        return page ? std::vector<Page>{page} : std::vector<Page>{};
    }
    /// Stores into a page as kernel code of this CPU does: bytes appear in simulated memory, caches see it (charges time).
    virtual void page_write(const Page& page, unsigned offset, const void* from, std::size_t n) = 0;

    // --- files ---
    /// The inode of a regular file, for address filters: 0, the error of the lookup, or -EINVAL. A kernel all of whose
    /// PMUs have no address filters is never asked.
    virtual int kern_path(std::string_view path, InodeInfo& inode) {
        (void)path, (void)inode;
        return -ENOENT;
    }
    /// 0 if current can have one more descriptor, else -EMFILE: perf_event_open looks before it does anything else.
    virtual int fd_available() { return 0; }
    /// A new descriptor in current's table for ops (takes ownership through release()); negative errno.
    virtual int anon_inode_getfd(std::string_view name, FileOperations* ops, bool cloexec) = 0;
    virtual std::unique_ptr<FileRef> fget(int fd) = 0; ///< null: EBADF
    virtual FileRef* file_of(FileOperations* ops) = 0; ///< the open file of ops while it is open
    virtual void add_attribute(Attribute attribute) = 0;
    virtual void remove_attribute(std::string_view path) = 0;

    // --- names ---
    virtual void for_each_vma(TaskBase* task, const std::function<void(const VmaInfo&)>& fn) = 0;

    /// What uprobes need beyond this (uprobes.h); null: this kernel has none.
    virtual class UprobeServices* uprobe_services() { return nullptr; }

    /// tick_nohz_dep_set_cpu and its companions with TICK_DEP_BIT_PERF_EVENTS: a nohz_full CPU keeps its tick while an event
    /// on it is throttled, all do while any event adjusts its frequency. A kernel without such CPUs has nothing to do.
    virtual void tick_dep_set_cpu(int cpu) { (void)cpu; }
    virtual void tick_dep_clear_cpu(int cpu) { (void)cpu; }
    virtual void tick_dep_set(bool on) { (void)on; }

    virtual void pr_info(std::string_view message) = 0; ///< the kernel log
    virtual void notice(const EventNotice& notice) = 0; ///< cheap when nobody listens
};

/// RAII for Kernel::enter/leave.
class KernelFrame {
  public:
    KernelFrame(Kernel& k, KernelSymbol s) : k_(k) { k_.enter(s); }
    ~KernelFrame() { k_.leave(); }
    KernelFrame(const KernelFrame&) = delete;
    KernelFrame& operator=(const KernelFrame&) = delete;

  private:
    Kernel& k_;
};

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

} // namespace rkperf::ke
