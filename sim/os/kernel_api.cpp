// SPDX-License-Identifier: Apache-2.0
// What the perf subsystem asks of the kernel (ke::Kernel), except user memory (user_memory.cpp) and text (kernel_text.cpp).
#include "sim/os/cgroup/cgroup_fs.h"
#include "sim/os/irq/gic_driver.h"
#include "sim/os/kernel.h"
#include "sim/os/ns/nsfs.h"
#include "sim/os/ns/pid_namespace.h"
#include "sim/os/ptrace/ptrace.h"
#include "sim/os/sched/scheduler.h"
#include "sim/os/signal/signals.h"
#include "sim/os/time/time_keeper.h"
#include "sim/os/uprobe_services.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rkperf::os {

namespace {

// Numbers of <linux/capability.h>.
constexpr int CAP_KILL = 5, CAP_IPC_LOCK = 14, CAP_SYS_PTRACE = 19, CAP_SYS_ADMIN = 21, CAP_NET_ADMIN = 12,
              CAP_PERFMON = 38, CAP_BPF = 39;

class PerfFileRef final : public ke::FileRef {
  public:
    PerfFileRef(Kernel& os, FileHandle file) : os_(os), file_(std::move(file)) {}
    ke::FileOperations* perf_ops() override { return file_->perf_ops(); }
    void kill_fasync(int band) override {
        if (!(file_->flags & 020000) || !file_->owner_pid) return; // O_ASYNC
        send_fasync(os_, *file_, band);
    }

  private:
    Kernel& os_;
    FileHandle file_;
};

/// The same for code that must not keep the file open.
class PerfFileName final : public ke::FileRef {
  public:
    PerfFileName(Kernel& os, const FileHandle& file) : os_(os), file_(file) {}
    ke::FileOperations* perf_ops() override {
        const FileHandle f = file_.lock();
        return f ? f->perf_ops() : nullptr;
    }
    void kill_fasync(int band) override {
        if (const FileHandle f = file_.lock()) PerfFileRef(os_, f).kill_fasync(band);
    }

  private:
    Kernel& os_;
    std::weak_ptr<File> file_;
};

} // namespace

void send_fasync(Kernel& os, File& file, int band) {
    // si_band by si_code POLL_IN, POLL_OUT, POLL_MSG, POLL_ERR, POLL_PRI, POLL_HUP (sigaction(2)).
    static constexpr std::int64_t kBand[] = {0x41, 0x304, 0x441, 8, 0x82, 0x18};
    const int signo = file.owner_sig ? file.owner_sig : SIGIO;
    SigInfo info = siginfo_kernel(SIGIO);
    if (file.owner_sig) info = siginfo_poll(signo, band, kBand[band - 1], file.async_fd);
    const int pid = file.owner_pid < 0 ? -file.owner_pid : file.owner_pid;
    if (file.owner_pid < 0) {
        for (auto& [tid, t] : os.tasks())
            if (t->process->pgid == pid && t->process->leader == t) os.signals().send_process(*t, info);
        return;
    }
    Task* t = os.find_task(pid);
    if (!t) return;
    if (file.owner_type == 0) // F_OWNER_TID
        os.signals().send_thread(*t, info);
    else
        os.signals().send_process(*t, info);
}

ke::CpuMask Kernel::cpu_possible_mask() { return static_cast<ke::CpuMask>((1u << percpu_.size()) - 1); }

ke::CpuMask Kernel::cpu_online_mask() {
    ke::CpuMask m = 0;
    for (std::size_t i = 0; i < percpu_.size(); ++i) m |= static_cast<ke::CpuMask>(percpu_[i].online) << i;
    return m;
}

ke::PtRegs* Kernel::task_pt_regs(ke::TaskBase* task) {
    auto* t = static_cast<Task*>(task);
    return t->as ? &t->pt_regs : nullptr;
}

bool Kernel::local_irq_save() {
    cpu::Core& c = core();
    const bool was = c.irq_masked();
    if (was) return was;
    if (config_.pseudo_nmi) {
        write_pmr(GicDriver::kPriorityIrqOff);
        c.set_priority_mask(true);
    } else {
        c.set_irq_mask(true);
    }
    return was;
}

void Kernel::local_irq_restore(bool was_masked) {
    if (!was_masked) local_irq_enable();
}

void Kernel::local_irq_enable() {
    if (!config_.pseudo_nmi) return core().set_irq_mask(false);
    core().set_priority_mask(false);
    if (here().pmr_masked) write_pmr(GicDriver::kPriorityIrqOn);
}

void Kernel::local_daif_mask() {
    core().set_irq_mask(true);
    if (here().pmr_masked) write_pmr(GicDriver::kPriorityIrqOn);
}

void Kernel::open_for_nmi(bool open) {
    if (open) {
        write_pmr(GicDriver::kPriorityIrqOff);
        core().mask_nmi(false);
    } else {
        core().mask_nmi(true);
        write_pmr(GicDriver::kPriorityIrqOn);
    }
}

void Kernel::write_pmr(std::uint64_t priority) {
    here().pmr_masked = priority == GicDriver::kPriorityIrqOff;
    msr(sysreg::ICC_PMR_EL1, priority);
}

void Kernel::preempt_disable() { ++cur().preempt_count; }
void Kernel::preempt_enable() { --cur().preempt_count; }

std::uint64_t Kernel::local_clock() { return time_->now_ns(); }
std::uint64_t Kernel::ktime_get_ns(int clockid) { return time_->clock_ns(clockid); }
std::uint64_t Kernel::jiffies() { return time_->jiffies(); }

void Kernel::hrtimer_start(ke::HrTimer& timer, std::uint64_t expires_ns, int cpu) {
    const bool was = local_irq_save();
    time_->start(timer, expires_ns, cpu < 0 ? this_cpu() : cpu);
    local_irq_restore(was);
}

bool Kernel::hrtimer_cancel(ke::HrTimer& timer) {
    const bool was = local_irq_save();
    const bool queued = time_->cancel(timer);
    local_irq_restore(was);
    while (timer.running && timer.cpu != this_cpu() && !dismantling_) {
        charge(20);
        core().sync();
    }
    return queued;
}

void Kernel::irq_work_queue(ke::IrqWork& work) {
    if (work.pending) return;
    work.pending = true;
    gic_->queue_irq_work(this_cpu(), work);
}

void Kernel::irq_work_queue_on(ke::IrqWork& work, int cpu) {
    if (work.pending) return;
    work.pending = true;
    gic_->queue_irq_work(cpu, work);
}

void Kernel::irq_work_sync(ke::IrqWork& work) {
    if (dismantling_) gic_->drop_irq_work(work);
    while (work.pending) {
        charge(20);
        core().sync();
    }
}

int Kernel::smp_call_function_single(int cpu, const std::function<void()>& fn) {
    if (cpu == this_cpu()) {
        const bool was = local_irq_save();
        fn();
        local_irq_restore(was);
        return 0;
    }
    if (cpu < 0 || cpu >= num_cpus() || !pcpu(cpu).online) return -ENXIO;
    if (dismantling_) {
        const int here = dismantling_cpu_;
        dismantling_cpu_ = cpu;
        fn();
        dismantling_cpu_ = here;
        return 0;
    }
    Frame f(*this, KernelSymbol::smp_call_function_single);
    auto call = std::make_shared<GicDriver::Call>();
    call->fn = fn;
    gic_->queue_call(cpu, call);
    // The answer is seen when this CPU's own time has reached the moment at which it was given.
    while (!call->done || core().now() < call->done_at) {
        charge(20);
        core().sync();
    }
    return 0;
}

std::uint64_t Kernel::mrs(SysReg reg) { return core().mrs(reg); }
void Kernel::msr(SysReg reg, std::uint64_t value) { core().msr(reg, value); }

void Kernel::isb() {
    // The pipeline refills; the figure is the kernel-side estimate for both cores.
    cpu::KernelWork w;
    w.instructions = 1;
    w.extra_cycles = 12;
    core().charge(w);
}

void Kernel::request_percpu_irq(unsigned intid, std::string_view name, std::function<bool(ke::PtRegs&)> handler) {
    gic_->request_percpu(intid, name, std::move(handler));
}
void Kernel::enable_percpu_irq(unsigned intid) { gic_->enable_percpu(intid, true); }
int Kernel::request_percpu_nmi(unsigned intid, std::string_view name, std::function<bool(ke::PtRegs&)> handler) {
    if (!config_.pseudo_nmi) return -EINVAL;
    gic_->request_percpu(intid, name, std::move(handler), true);
    return 0;
}
void Kernel::enable_percpu_nmi(unsigned intid) {
    gic_->prepare_percpu_nmi(intid);
    gic_->enable_percpu(intid, true);
}
void Kernel::disable_percpu_irq(unsigned intid) { gic_->enable_percpu(intid, false); }
int Kernel::irq_force_affinity(unsigned intid, int cpu) { return gic_->set_affinity(intid, cpu); }
int Kernel::request_irq(unsigned intid, std::string_view name, std::function<bool(ke::PtRegs&)> handler) {
    return gic_->request_shared(intid, name, std::move(handler), false);
}
int Kernel::request_nmi(unsigned intid, std::string_view name, std::function<bool(ke::PtRegs&)> handler) {
    if (!config_.pseudo_nmi) return -EINVAL;
    return gic_->request_shared(intid, name, std::move(handler), true);
}
void Kernel::enable_irq(unsigned intid) { gic_->enable_shared(intid, true); }
void Kernel::disable_irq(unsigned intid) { gic_->enable_shared(intid, false); }
void Kernel::free_irq(unsigned intid) { gic_->free(intid); }

// --- tasks ---

ke::UserInfo* Kernel::user_info(std::uint32_t uid) {
    auto& u = users_[uid];
    if (!u) {
        u = std::make_unique<ke::UserInfo>();
        u->uid = uid;
    }
    return u.get();
}

Task* Kernel::find_task(int tid) {
    const auto it = pids_.find(tid);
    return it == pids_.end() ? nullptr : it->second;
}

int Kernel::alloc_pid() {
    do {
        last_pid_ = last_pid_ >= 32767 ? 301 : last_pid_ + 1;
    } while (pids_.contains(last_pid_));
    return last_pid_;
}

void Kernel::register_task(Task& t) {
    pids_[t.pid] = &t;
    for (auto* o : observers_) o->task_created(t);
}

void Kernel::unregister_task(Task& t) {
    if (pids_.erase(t.pid))
        for (auto* o : observers_) o->task_exited(t);
    t.dead = true;
    if (!t.pid_ns) return;
    // The number is not free before the group and the session of that name have ended, too.
    const bool used = std::any_of(pids_.begin(), pids_.end(), [&](const auto& e) {
        return e.second->process->pgid == t.pid || e.second->process->sid == t.pid;
    });
    if (!used) t.pid_ns->leave(t.pid);
}

void Kernel::drop_ref(Task& t) {
    if (--t.refs == 0) delete &t;
}

void Kernel::read_user_context(const Task& t, UserContext& out) {
    if (t.on_cpu >= 0)
        out.save(pcpu(t.on_cpu).user);
    else
        out = t.ctx;
}

void Kernel::write_user_context(Task& t, const UserContext& in) {
    if (t.on_cpu >= 0)
        in.load(pcpu(t.on_cpu).user);
    else
        t.ctx = in;
}

Task* Kernel::find_task_vpid(int tid) {
    const int global = pid_global(cur(), tid);
    return tid > 0 && global ? find_task(global) : nullptr;
}

ke::TaskBase* Kernel::find_task_by_vpid(std::int32_t pid) {
    Task* t = find_task_vpid(pid);
    if (t) get_task(t);
    return t;
}

void Kernel::get_task(ke::TaskBase* task) {
    ++static_cast<Task*>(task)->refs;
    ++perf_task_refs_;
}

void Kernel::put_task(ke::TaskBase* task) {
    --perf_task_refs_;
    drop_ref(*static_cast<Task*>(task));
}

void Kernel::update_task_clock(ke::TaskBase* task) {
    auto* t = static_cast<Task*>(task);
    if (t->on_cpu >= 0) sched_->update_curr(t->on_cpu);
}

std::shared_ptr<const void> Kernel::task_active_pid_ns() { return cur().pid_ns; }

std::int32_t Kernel::pid_nr_ns(std::int32_t pid, const void* ns) {
    return ns ? static_cast<const PidNamespace*>(ns)->local(pid) : pid;
}

std::array<ke::NsLinkInfo, 7> Kernel::task_namespaces(ke::TaskBase& task) {
    static constexpr NsKind kOrder[] = {NsKind::net,  NsKind::uts, NsKind::ipc,   NsKind::pid,
                                        NsKind::user, NsKind::mnt, NsKind::cgroup};
    std::array<ke::NsLinkInfo, 7> out{};
    for (std::size_t i = 0; i < out.size(); ++i)
        if (const NsPtr ns = namespaces_->of_task(static_cast<Task&>(task), kOrder[i], false))
            out[i] = {abi::make_dev(0, kNsfsMinor), ns->ino};
    return out;
}

std::shared_ptr<ke::PerfCgroup> Kernel::perf_cgroup_from_task(ke::TaskBase& task) {
    CgroupPtr c = static_cast<Task&>(task).cgroup;
    if (!c) c = cgroups_->root();
    while (!(c->css & kCgroupPerfEvent)) c = c->up;
    return c;
}

std::shared_ptr<ke::PerfCgroup> Kernel::perf_cgroup_of_fd(int fd, int& error) {
    error = -EBADF;
    const FileHandle f = cur().files->get(fd);
    const CgroupPtr c = f ? cgroup_of(*f) : nullptr;
    if (!c) return nullptr;
    error = -ENOENT;
    if (c->dead || !(c->css & kCgroupPerfEvent)) return nullptr;
    error = 0;
    return c;
}

bool Kernel::has_cap(const Task& t, int cap) { return !t.cred.user_ns && (t.cred.cap_effective >> cap & 1); }

bool Kernel::capable(ke::Capability cap) {
    const Task& t = cur();
    switch (cap) {
        case ke::Capability::perfmon: return has_cap(t, CAP_PERFMON);
        case ke::Capability::sys_admin: return has_cap(t, CAP_SYS_ADMIN);
        case ke::Capability::sys_ptrace: return has_cap(t, CAP_SYS_PTRACE);
        case ke::Capability::ipc_lock: return has_cap(t, CAP_IPC_LOCK);
        case ke::Capability::kill: return has_cap(t, CAP_KILL);
        case ke::Capability::bpf: return has_cap(t, CAP_BPF);
        case ke::Capability::net_admin: return has_cap(t, CAP_NET_ADMIN);
    }
    return false;
}

std::uint64_t Kernel::current_uid_gid() { return static_cast<std::uint64_t>(cur().cred.gid) << 32 | cur().cred.uid; }

int Kernel::send_signal(int signo, bool thread) {
    Task& t = cur();
    if (t.kthread || t.exiting) return -EPERM;
    if (signo < 0 || signo > kNumSignals) return -EINVAL;
    if (!signo) return 0;
    const SigInfo info = siginfo_kernel(signo);
    return thread ? signals_->send_thread(t, info) : signals_->send_process(t, info);
}

bool Kernel::ptrace_may_access(ke::TaskBase* task) {
    return os::ptrace_may_access(cur(), *static_cast<Task*>(task), PtraceMode::realcreds);
}

std::uint64_t Kernel::rlimit(int resource) { return cur().process->rlimits[static_cast<unsigned>(resource)].cur; }

void Kernel::send_sigtrap_perf(ke::TaskBase* task, std::uint64_t addr, std::uint32_t type, std::uint64_t sig_data) {
    // Not forced: a program that blocks SIGTRAP gets it late, and is told so (si_perf_flags).
    constexpr std::size_t kPerfFlagsOffset = 36;
    constexpr std::uint32_t kTrapPerfFlagAsync = 1;
    Task& t = *static_cast<Task*>(task);
    SigInfo info = siginfo_perf(addr, type, sig_data);
    if (t.blocked >> (SIGTRAP - 1) & 1)
        std::memcpy(info.raw.data() + kPerfFlagsOffset, &kTrapPerfFlagAsync, sizeof kTrapPerfFlagAsync);
    signals_->send_thread(t, info);
}

bool Kernel::signal_pending() { return Signals::pending(cur()); }

void Kernel::cond_resched() {
    if (cur().need_resched && !core().irq_masked() && !dismantling_) sched_->schedule(true, true);
}

std::unique_ptr<ke::Mutex> Kernel::make_mutex() { return std::make_unique<KernelMutex>(*this); }
std::unique_ptr<ke::WaitQueue> Kernel::make_waitqueue() { return std::make_unique<WaitQueueHead>(*this); }

void Kernel::synchronize_rcu() {
    if (dismantling_) return;
    // A grace period was measured to take three ticks.
    Frame f(*this, KernelSymbol::synchronize_rcu);
    const std::uint64_t until = time_->now_ns() + 3 * tick_nsec();
    Task& me = cur();
    for (;;) {
        me.state = TaskState::uninterruptible;
        if (schedule_until(until) == -ETIME) return;
    }
}

ke::UprobeServices* Kernel::uprobe_services() { return uprobe_services_.get(); }

// --- files ---

int Kernel::fd_available() { return std::min(cur().files->first_free(rlimit(7)), 0); }

int Kernel::anon_inode_getfd(std::string_view name, ke::FileOperations* ops, bool cloexec) {
    // ops passes to the file only if there is a descriptor for it.
    const int free = cur().files->first_free(rlimit(7));
    if (free < 0) return free;
    FileHandle f = vfs_->perf_file(name, ops, 2 /* O_RDWR */);
    perf_files_[ops] = f;
    return cur().files->alloc(f, cloexec, rlimit(7));
}

std::unique_ptr<ke::FileRef> Kernel::fget(int fd) {
    FileHandle f = cur().files->get(fd);
    if (!f) return nullptr;
    return std::make_unique<PerfFileRef>(*this, std::move(f));
}

ke::FileRef* Kernel::file_of(ke::FileOperations* ops) {
    const auto it = perf_files_.find(ops);
    if (it == perf_files_.end()) return nullptr;
    const FileHandle f = it->second.lock();
    if (!f) {
        perf_files_.erase(it);
        return nullptr;
    }
    file_of_ = std::make_unique<PerfFileName>(*this, f);
    return file_of_.get();
}

void Kernel::perf_file_released(ke::FileOperations* ops) { perf_files_.erase(ops); }

void Kernel::add_attribute(ke::Attribute attribute) { vfs_->add_attribute(std::move(attribute)); }
void Kernel::remove_attribute(std::string_view path) { vfs_->remove_attribute(path); }

void Kernel::for_each_vma(ke::TaskBase* task, const std::function<void(const ke::VmaInfo&)>& fn) {
    auto* t = static_cast<Task*>(task);
    if (!t->as) return;
    for (const auto& [start, v] : t->as->vmas()) {
        (void)start;
        fn(t->as->info(v));
    }
}

// --- pages ---

ke::Page Kernel::alloc_page(int) {
    const PhysAddr pa = pages_->alloc(Gfp::kernel);
    if (!pa.v) return {};
    return {pa, pages_->host(pa)};
}

void Kernel::free_page(ke::Page page) {
    if (page) pages_->put(page.pa);
}

void Kernel::page_write(const ke::Page& page, unsigned offset, const void* from, std::size_t n) {
    std::memcpy(page.host + offset, from, n);
    core().kernel_access(page.pa + PhysAddr(offset), n, true);
}

void Kernel::notice(const ke::EventNotice& n) {
    for (auto* o : observers_) o->perf_notice(this_cpu(), n);
}

} // namespace rkperf::os
