// SPDX-License-Identifier: Apache-2.0
// Boot, the idle loop, and the way between EL0 and the kernel.
#include "sim/os/kernel.h"
#include "sim/os/cgroup/cgroup.h"
#include "sim/os/ns/namespaces.h"

#include "kernel_events/hw_breakpoint.h"
#include "kernel_events/trace/tracepoints.h"
#include "sim/os/exec/exec.h"
#include "sim/os/exec/vdso.h"
#include "sim/os/irq/gic_driver.h"
#include "sim/os/process/futex.h"
#include "sim/os/process/process.h"
#include "sim/os/sched/scheduler.h"
#include "sim/os/signal/signals.h"
#include "sim/os/syscall/dispatch.h"
#include "sim/os/time/time_keeper.h"
#include "sim/os/uprobe_services.h"

#include <cstring>

namespace rkperf::os {

struct Kernel::Private {
    std::vector<const void*> processes; ///< SystemC process of each core
    int cpus_up{};                      ///< CPUs whose part of the GIC is set up
    bool booted{};
    bool ended{};
    int interrupts{};
};

void UserContext::save(const a64::CpuState& s) {
    std::memcpy(x, s.x, sizeof x);
    sp = s.x[a64::kSp];
    pc = s.pc;
    nzcv = s.nzcv;
    fpcr = s.fpcr;
    fpsr = s.fpsr;
    std::memcpy(v, s.v, sizeof v);
    tpidr_el0 = s.tpidr_el0;
    tpidrro_el0 = s.tpidrro_el0;
}

void UserContext::load(a64::CpuState& s) const {
    std::memcpy(s.x, x, sizeof x);
    s.x[a64::kZr] = 0;
    s.x[a64::kSp] = sp;
    s.pc = pc;
    s.nzcv = nzcv;
    s.fpcr = fpcr;
    s.fpsr = fpsr;
    std::memcpy(s.v, v, sizeof v);
    s.tpidr_el0 = tpidr_el0;
    s.tpidrro_el0 = tpidrro_el0;
    s.stop = a64::Stop::none;
}

Task::~Task() = default;

Kernel::Kernel(std::span<cpu::Core* const> cores, mem::PhysicalMemory& memory, const KernelConfig& config)
    : memory_(memory), config_(config), percpu_(cores.size()), private_(std::make_unique<Private>()) {
    random_state_ = config_.seed * 0x9e3779b97f4a7c15ull + 0x2545f4914f6cdd1dull;
    config_.cpu_capacity.resize(cores.size(), 1024);
    private_->processes.resize(cores.size());
    for (std::size_t i = 0; i < cores.size(); ++i) {
        percpu_[i].core = cores[i];
        cores[i]->set_software(*this);
        auto* idle = new Task(*this);
        idle->kthread = true;
        idle->pid = idle->tgid = 0;
        std::strcpy(idle->comm, ("swapper/" + std::to_string(i)).c_str());
        idle->fibre = std::make_unique<Fibre>();
        idle->process = std::make_shared<Process>();
        idle->task_cpu = idle->on_cpu = static_cast<int>(i);
        idle->group_leader = idle->parent = idle;
        idle->real_parent = idle;
        percpu_[i].idle = percpu_[i].current = idle;
        percpu_[i].frames = &idle->kstack;
    }
    pages_ = std::make_unique<PageAllocator>(memory, config_.dram_first, config_.dram_bytes);
    zero_page_ = pages_->alloc(Gfp::kernel);
    sched_ = std::make_unique<Scheduler>(*this);
    gic_ = std::make_unique<GicDriver>(*this);
    time_ = std::make_unique<TimeKeeper>(*this);
    vdso_ = std::make_unique<Vdso>(*this);
    futexes_ = std::make_unique<FutexTable>();
    signals_ = std::make_unique<Signals>(*this);
    cgroups_ = std::make_unique<Cgroups>(*this);
    vfs_ = make_vfs(*this, config_.mounts);
    namespaces_ = std::make_unique<Namespaces>(*this);
    uprobe_services_ = std::make_unique<UprobeServices>(*this);
    perf_ = std::make_unique<ke::Perf>(*this, config_.perf);
    for (int c = 0; c < num_cpus(); ++c) pcpu(c).kernel_bps = &perf_->hw_breakpoints().kernel_bps(c);
    pages_->set_watch([this](PhysAddr page, const Gfp* gfp) {
        const auto which = gfp ? ke::Tracepoint::mm_page_alloc : ke::Tracepoint::mm_page_free;
        if (dismantling_ || !tracepoints().enabled(which)) return;
        IrqGuard guard(*this); // what the page is for must not change meanwhile
        if (gfp) {
            tracepoints().trace_mm_page_alloc(page.v >> kPageShift, static_cast<std::uint32_t>(*gfp));
        } else {
            tracepoints().trace_mm_page_free(page.v >> kPageShift);
        }
    });
}

Kernel::~Kernel() {
    dismantle();
    for (PerCpu& p : percpu_) delete p.idle;
}

void Kernel::dismantle() {
    observers_.clear();
    frame_observers_.clear();
    dismantling_ = true;
    last_process_ = this; // no process: from now on find_this_cpu() is asked
    std::vector<Task*> all;
    for (auto& [pid, t] : pids_) all.push_back(t);
    for (int c = 0; c < num_cpus(); ++c) {
        dismantling_cpu_ = c;
        PerCpu& p = pcpu(c);
        p.core->set_irq_mask(true);
        Task& t = *p.current;
        if (&t == p.idle) continue;
        perf_->perf_event_task_sched_out(t, *p.idle);
        t.on_cpu = -1;
        p.current = p.idle;
        p.frames = &p.idle->kstack;
    }
    dismantling_cpu_ = 0;
    // Tasks go first, with whatever their fibres were in the middle of; then what they held.
    for (Task* t : all) t->fibre.reset();
    for (Task* t : all) dismantle_task(*t);
    for (Task* t : all) {
        perf_->perf_event_delayed_put(*t);
        drop_ref(*t);
    }
    pids_.clear();
}

void Kernel::dismantle_task(Task& t) {
    if (t.process && t.process->timers) t.process->timers.reset();
    if (t.as && t.as.use_count() == 1) t.as->unmap_all();
    t.as.reset();
    t.mm = nullptr;
    if (t.files && t.files.use_count() == 1) t.files->close_all();
    t.files.reset();
    if (t.state != TaskState::zombie && t.state != TaskState::dead) perf_->perf_event_exit_task(t);
}

void Kernel::set_mmio(MmioAccess access) { mmio_ = std::move(access); }
void Kernel::set_init(InitProgram program) { init_ = std::move(program); }
void Kernel::add_observer(KernelObserver& o) {
    observers_.push_back(&o);
    if (o.follows_frames()) frame_observers_.push_back(&o);
}
void Kernel::set_on_exit(std::function<void(int)> fn) { on_exit_ = std::move(fn); }

int Kernel::find_this_cpu() const {
    if (dismantling_) return dismantling_cpu_;
    if (!running_) return 0;
    const void* p = running_->process_handle;
    for (std::size_t i = 0; i < private_->processes.size(); ++i)
        if (private_->processes[i] == p && p) {
            last_process_ = p;
            last_cpu_ = static_cast<int>(i);
            return last_cpu_;
        }
    return 0; // outside the simulation: construction and tests
}

std::uint64_t Kernel::random() {
    random_state_ ^= random_state_ << 13;
    random_state_ ^= random_state_ >> 7;
    random_state_ ^= random_state_ << 17;
    return random_state_;
}

void Kernel::pr_info(std::string_view message) { log_.emplace_back(message); }

void Kernel::pr_info_once(std::string_view message) {
    if (said_once_.emplace(message).second) pr_info(message);
}

// --- boot and idle ---

void Kernel::cpu_main(cpu::Core& core) {
    const int cpu = static_cast<int>(core.id().v);
    running_ = sc_core::sc_get_curr_simcontext()->get_curr_proc_info();
    private_->processes[static_cast<unsigned>(cpu)] = running_->process_handle;
    last_process_ = nullptr;
    core.set_irq_mask(true);
    if (cpu == 0) gic_->init_distributor();
    gic_->init_cpu(cpu);
    time_->init_cpu(cpu);
    perf_->debug_monitors().cpu_starting();
    perf_->hw_breakpoints().cpu_starting();
    ++private_->cpus_up;
    if (cpu == 0) {
        // An SGI to a CPU that has not yet put it into its group would be lost.
        while (private_->cpus_up < num_cpus()) {
            charge(20);
            core.sync();
        }
        perf_->perf_event_init();
        private_->booted = true;
        start_init();
    }
    idle_loop(cpu);
}

void Kernel::start_init() {
    if (!init_) return;
    Task& t = create_init_task(*this, *init_);
    sched_->wake_up_new_task(t);
}

void Kernel::idle_loop(int cpu) {
    PerCpu& p = pcpu(cpu);
    for (;;) {
        local_daif_mask();
        if (sched_->has_runnable(cpu)) {
            const Picoseconds at = sched_->next_runnable(cpu);
            if (at <= p.core->now()) {
                time_->start_tick(cpu);
                sched_->schedule(false);
                continue;
            }
            // A CPU whose time is ahead queued it without an interrupt, or with one that came together with an older one.
            time_->resched_at(cpu, at);
        }
        p.idle->need_resched = false;
        time_->stop_tick(cpu);
        {
            Frame f(*this, KernelSymbol::cpuidle_enter);
            constexpr std::uint32_t kWfi = 1;
            tracepoints().trace_cpu_idle(kWfi, cpu);
            p.core->wait_for_interrupt();
            tracepoints().trace_cpu_idle(ke::PWR_EVENT_EXIT, cpu);
        }
        p.core->set_irq_mask(false); // takes what woke us
        if (p.idle->need_resched && !sched_->has_runnable(cpu)) sched_->newidle_balance(cpu);
    }
}

void Kernel::interrupt() { ++private_->interrupts; }

void Kernel::deliver_interrupt() {
    private_->interrupts = 0;
    // As a terminal does: SIGINT to the group of the program that was started.
    for (const auto& [tid, t] : pids_)
        if (t->process->leader == t && t->parent && t->parent->pid == 1) {
            const int group = t->process->pgid;
            for (const auto& [id, member] : pids_)
                if (member->process->leader == member && member->process->pgid == group)
                    signals_->send_process(*member, siginfo_kernel(SIGINT));
            return;
        }
}

void Kernel::end_run(int status) {
    if (private_->ended) return;
    private_->ended = true;
    if (on_exit_) on_exit_(status);
}

std::uint16_t Kernel::alloc_asid() {
    if (++last_asid_ == 0) {
        // All 65535 were used: what any TLB still holds may carry a number that is given out again.
        for (PerCpu& p : percpu_) p.core->tlb_invalidate(~0u, ~0ull);
        ++last_asid_;
    }
    return last_asid_;
}

void Kernel::charge_bhb() {
    // 81 instructions were measured on each exception from EL0 on a Cortex-A76; the Cortex-A55 is not affected.
    constexpr std::uint64_t kPartMask = 0xfff0, kCortexA76 = 0xd0b0;
    if ((core().midr() & kPartMask) == kCortexA76) charge(81);
}

void Kernel::report_unknown_syscall(Task& t, int nr) {
    if (!unknown_syscalls_.insert(nr).second) return;
    pr_info(std::string(t.comm) + "[" + std::to_string(t.pid) + "]: system call " + std::to_string(nr) +
            " is not implemented: ENOSYS");
}

void Kernel::report_undefined(Task& t, std::uint64_t pc) {
    std::uint32_t insn = 0;
    copy_from_user_nofault(&insn, pc, sizeof insn);
    char text[128];
    std::snprintf(text, sizeof text, "%s[%d]: undefined instruction 0x%08x at 0x%llx", t.comm, t.pid, insn,
                  static_cast<unsigned long long>(pc));
    pr_info_once(text);
}

// --- interrupts ---

void Kernel::irq_from_el1(cpu::Core& core) {
    ke::PtRegs regs;
    kernel_regs(regs, core.present_pc(), CodeAt::inside);
    run_irq(regs, KernelSymbol::el1h_64_irq);
}

void Kernel::on_irq_stack(ke::PtRegs& regs) {
    Frame handler(*this, KernelSymbol::do_interrupt_handler);
    Frame stack(*this, KernelSymbol::call_on_irq_stack);
    gic_->handle(regs);
}

void Kernel::run_irq(ke::PtRegs& regs, KernelSymbol entry) {
    PerCpu& p = here();
    ke::PtRegs* outer = p.irq_regs_ptr;
    p.irq_regs_ptr = &regs;
    ++p.hardirq_depth;
    ++p.irqs;
    {
        Frame f(*this, entry);
        if (entry == KernelSymbol::el0t_64_irq) {
            charge_bhb();
            Frame handler(*this, KernelSymbol::el0t_64_irq_handler);
            Frame common(*this, KernelSymbol::__el0_irq_handler_common);
            Frame interrupt(*this, KernelSymbol::el0_interrupt);
            on_irq_stack(regs);
        } else {
            Frame handler(*this, KernelSymbol::el1h_64_irq_handler);
            Frame interrupt(*this, KernelSymbol::el1_interrupt);
            on_irq_stack(regs);
        }
    }
    if (core().now() >= config_.timeout) end_run(kStatusTimeout); // even if nothing runs but timers
    --p.hardirq_depth;
    p.irq_regs_ptr = outer;
}

// --- EL0 and back ---

void Kernel::save_pt_regs(Task& t, const a64::CpuState& s) {
    std::memcpy(t.pt_regs.regs, s.x, sizeof t.pt_regs.regs);
    t.pt_regs.sp = s.x[a64::kSp];
    t.pt_regs.pc = s.pc;
    t.pt_regs.pstate = (s.nzcv & 0xf0000000u) | (core().spsr_ss ? spsr::SS : 0);
}

namespace {

std::string_view exit_name(cpu::UserExit why) {
    switch (why) {
        case cpu::UserExit::irq: return "IRQ";
        case cpu::UserExit::sync: break;
        case cpu::UserExit::breakpoint: return "breakpoint";
        case cpu::UserExit::step: return "software step";
    }
    return "synchronous";
}

} // namespace

void Kernel::user_loop() {
    for (;;) {
        exit_to_user_mode();
        PerCpu& p = here();
        const std::uint64_t before = p.core->now().v;
        for (auto* o : observers_) o->exception(this_cpu(), "ERET", false);
        ke::DebugMonitors& debug = perf_->debug_monitors();
        debug.enable_step_tsk(*p.current);
        p.core->spsr_ss = p.current->pt_regs.pstate & spsr::SS;
        const cpu::UserExit why = p.core->run_user(p.user);
        debug.disable_step_tsk(*p.current);
        for (auto* o : observers_) o->exception(this_cpu(), exit_name(why), true);
        Task& t = *p.current;
        const std::uint64_t after = p.core->now().v;
        t.utime += (after - before) / 1000;
        t.kernel_since_ps = after;
        save_pt_regs(t, p.user);
        if (why == cpu::UserExit::irq)
            run_irq(t.pt_regs, KernelSymbol::el0t_64_irq);
        else if (why == cpu::UserExit::sync)
            handle_sync_exception(*this, t);
        else
            handle_debug_exception(*this, t, why == cpu::UserExit::step ? DebugStop::step : DebugStop::breakpoint);
    }
}

void Kernel::exit_to_user_mode() {
    for (;;) {
        local_daif_mask();
        Task& t = cur();
        if (t.need_resched) {
            local_irq_enable();
            sched_->schedule(true);
            continue;
        }
        if (t.tif_uprobe) {
            local_irq_enable();
            uprobe_resume(*this, t);
            continue;
        }
        if (!t.task_work.empty()) {
            local_irq_enable();
            auto w = std::move(t.task_work.front());
            t.task_work.pop_front();
            w();
            continue;
        }
        const bool signals_due = t.process->group_exit || Signals::pending(t) || t.restore_sigmask || t.syscall_restart;
        // While an instruction runs out of line signals wait, or abort it.
        if (signals_due && uprobes().uprobe_deny_signal()) {
            if (t.tif_uprobe) continue;
        } else if (signals_due) {
            local_irq_enable();
            signals_->do_notify_resume();
            continue;
        }
        if (t.rseq_event) {
            local_irq_enable();
            rseq_handle_resume(t);
            continue;
        }
        break;
    }
    Task& t = cur();
    t.syscall_nr = -1;
    t.account_kernel_time(core().now());
    if (config_.timeout != kNever && core().now() >= config_.timeout) end_run(kStatusTimeout);
    if (private_->interrupts) deliver_interrupt();
}

void Kernel::rseq_handle_resume(Task& t) {
    t.rseq_event = false;
    if (!t.rseq) return;
    const auto cpu = static_cast<std::uint32_t>(this_cpu());
    const std::uint32_t ids[2] = {cpu, cpu}; // cpu_id_start, cpu_id
    std::uint64_t cs = 0;
    bool ok = !put_user(t.rseq, ids, sizeof ids) && !get(t.rseq + 8, cs);
    if (ok && cs) {
        // struct rseq_cs: version, flags, start_ip, post_commit_offset, abort_ip
        std::uint64_t d[4];
        std::uint32_t sig = 0;
        ok = !get(cs, d) && !get(d[3] - 4, sig) && sig == t.rseq_sig;
        if (ok && user().pc - d[1] < d[2]) user().pc = d[3];
        const std::uint64_t none = 0;
        if (ok) ok = !put(t.rseq + 8, none);
    }
    if (!ok) signals_->force(t, siginfo_kernel(SIGSEGV));
}

// --- sleeping ---

void Kernel::schedule() {
    if (dismantling_) return;
    Frame f(*this, KernelSymbol::schedule);
    sched_->schedule(false);
}

void Kernel::wake_up_process(Task& t) { sched_->try_to_wake_up(t); }

std::int64_t Kernel::wait_event_interruptible(WaitQueueHead& wq, const std::function<bool()>& cond) {
    return wait_event_interruptible_until(wq, cond, ~std::uint64_t{0});
}

void Kernel::wait_event(WaitQueueHead& wq, const std::function<bool()>& cond) {
    if (dismantling_) return;
    Task& me = cur();
    WaitQueueHead::Entry e;
    e.task = &me;
    wq.add(e);
    for (;;) {
        wq.prepare_to_wait();
        me.state = TaskState::uninterruptible;
        if (cond()) break;
        schedule();
    }
    me.state = TaskState::running;
    wq.remove(e);
}

std::int64_t Kernel::wait_event_interruptible_until(WaitQueueHead& wq, const std::function<bool()>& cond,
                                                    std::uint64_t deadline_ns) {
    if (dismantling_) return kERESTARTSYS;
    Task& me = cur();
    WaitQueueHead::Entry e;
    e.task = &me;
    wq.add(e);
    std::int64_t result = 0;
    for (;;) {
        wq.prepare_to_wait();
        me.state = TaskState::interruptible;
        if (cond()) break;
        if (Signals::pending(me)) {
            result = kERESTARTSYS;
            break;
        }
        if (result == -ETIME) break;
        result = schedule_until(deadline_ns);
    }
    if (result == -ETIME && cond()) result = 0;
    me.state = TaskState::running;
    wq.remove(e);
    return result;
}

std::int64_t Kernel::schedule_until(std::uint64_t deadline_ns) {
    if (dismantling_) return -ETIME;
    if (deadline_ns == ~std::uint64_t{0}) {
        schedule();
        return 0;
    }
    Task& me = cur();
    bool expired = false;
    ke::HrTimer timer;
    timer.function = [&](ke::HrTimer&) {
        expired = true;
        wake_up_process(me);
        return ke::HrTimer::Restart::no;
    };
    tracepoints().trace_hrtimer_init(timer, CLOCK_MONOTONIC, ke::HRTIMER_MODE_REL);
    const bool was = local_irq_save();
    time_->start(timer, deadline_ns, this_cpu());
    local_irq_restore(was);
    if (!expired) schedule();
    me.state = TaskState::running;
    hrtimer_cancel(timer);
    return expired ? -ETIME : 0;
}

} // namespace rkperf::os
