// SPDX-License-Identifier: Apache-2.0
#include "sim/soc/explain_observer.h"

#include "kernel_events/internal.h"
#include "sim/os/syscall/dispatch.h"
#include "sim/soc/pmu_nodes.h"
#include "sim/soc/truth_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace rkperf::soc {

using ke::EventNotice;

namespace {

const ke::PerfEvent& root_of(const ke::PerfEvent& e) { return e.parent ? *e.parent : e; }

/// "PMOVSCLR_EL0", with the number for one of several.
std::string register_name(SysReg reg) {
    for (const pmu::Registers::Row& row : pmu::Registers::rows())
        for (unsigned n = 0; n < row.count; ++n) {
            if (row.encoding(n) != reg) continue;
            std::string name(row.name);
            if (const std::size_t at = name.find("<n>"); at != std::string::npos)
                name.replace(at, 3, std::to_string(n));
            return name;
        }
    return fmt::format("S{}_{}_C{}_C{}_{}", reg.op0(), reg.op1(), reg.crn(), reg.crm(), reg.op2());
}

std::string counter_name(unsigned n) {
    return n == pmu::kCycleCounter ? "PMCCNTR_EL0" : fmt::format("PMEVCNTR{}_EL0", n);
}

bool is_irq_entry(KernelSymbol s) { return s == KernelSymbol::el0t_64_irq || s == KernelSymbol::el1h_64_irq; }

bool is_poll(std::string_view name) {
    return name == "ppoll" || name == "epoll_pwait" || name == "epoll_pwait2" || name == "pselect6" || name == "poll";
}
bool is_write(std::string_view name) {
    return name == "write" || name == "pwrite64" || name == "writev" || name == "pwritev" || name == "splice";
}

/// What the functions on the way of a uprobe's hit do.
constexpr struct {
    KernelSymbol function;
    const char* text;
} kUprobeSteps[] = {
    {KernelSymbol::uprobe_notify_resume,
     "its notifier left the rest to the way back to the program: uprobe_notify_resume begins"},
    {KernelSymbol::handle_swbp, "handle_swbp looks up the probe of this place"},
    {KernelSymbol::handle_trampoline, "the return trampoline: handle_trampoline finds the call"},
    {KernelSymbol::handler_chain, "the consumers' handlers run (handler_chain)"},
    {KernelSymbol::uprobe_dispatcher, "a consumer, the handler of an event on one CPU, collects the arguments"},
    {KernelSymbol::uretprobe_dispatcher, "a consumer, the handler of an event on one CPU, collects the arguments"},
    {KernelSymbol::prepare_uretprobe, "the return address becomes the trampoline's (prepare_uretprobe)"},
    {KernelSymbol::arch_uprobe_skip_sstep, "the instruction is simulated, without a slot (arch_uprobe_skip_sstep)"},
    {KernelSymbol::arch_uprobe_pre_xol,
     "a slot is taken for a copy of the instruction, single step is set (arch_uprobe_pre_xol)"},
    {KernelSymbol::single_step_handler, "the step exception: the copy in the slot has executed (single_step_handler)"},
    {KernelSymbol::handle_singlestep,
     "post-step: the pc goes behind the probed instruction, the slot is free (handle_singlestep)"},
};

} // namespace

/// Passes what one PMU and one interrupt line do on, with the CPU's number.
struct ExplainObserver::Ear final : pmu::PmuListener {
    Ear(ExplainObserver& o, int c) : observer(o), cpu(c) {}
    void overflowed(std::uint32_t counters, Picoseconds) override { observer.overflowed(cpu, counters); }
    void line_changed(bool level, Picoseconds) override { observer.line_changed(cpu, level); }
    void register_accessed(SysReg reg, bool write, std::uint64_t value, Picoseconds) override {
        observer.accessed(cpu, reg, write, value);
    }
    ExplainObserver& observer;
    int cpu;
};

ExplainObserver::ExplainObserver(Machine& machine, std::uint64_t nth, Describe describe)
    : machine_(machine), nth_(nth), describe_(std::move(describe)), chains_(machine.cores()) {
    machine_.kernel().add_observer(*this);
    for (unsigned i = 0; i < machine_.cores(); ++i) {
        ears_.push_back(std::make_unique<Ear>(*this, static_cast<int>(i)));
        machine_.pmu(i).add_listener(*ears_.back());
        machine_.irq_line(i).listener = [this, i](bool level, Picoseconds when) {
            signalled(static_cast<int>(i), level, when);
        };
    }
}

ExplainObserver::~ExplainObserver() {
    for (unsigned i = 0; i < machine_.cores(); ++i) machine_.irq_line(i).listener = {};
}

std::uint64_t ExplainObserver::retired(int cpu) const {
    const cpu::Core& c = machine_.core(static_cast<unsigned>(cpu));
    return c.total(pmu_event::INST_RETIRED, ExceptionLevel::el0) +
           c.total(pmu_event::INST_RETIRED, ExceptionLevel::el1);
}

std::string ExplainObserver::address(std::uint64_t pc, const ke::TaskBase* task) const {
    if (const auto s = os::Kernel::symbol_at(pc))
        return fmt::format("{}+{:#x}", info(*s).name, pc - os::Kernel::symbol_address(*s));
    const std::string name = describe_ && task && !(pc >> 63) ? describe_(*task, pc) : "";
    return name.empty() ? fmt::format("{:#x}", pc) : fmt::format("{:#x} {}", pc, name);
}

void ExplainObserver::begin(int cpu, bool from_counter) {
    Chain& c = chain(cpu);
    const cpu::Core& core = machine_.core(static_cast<unsigned>(cpu));
    c = Chain{};
    c.open = true;
    c.way.from_counter = from_counter;
    c.way.cpu = cpu;
    c.way.start = core.now();
    c.cycle0 = core.cycle().v;
    c.instructions0 = retired(cpu);
}

ExplainStep ExplainObserver::make_step(int cpu, Picoseconds when, std::string text) const {
    ExplainStep s;
    s.cpu = cpu;
    s.when = when;
    s.text = std::move(text);
    const Chain& c = chains_[static_cast<std::size_t>(cpu)];
    const bool of_selected = selected_ && cpu == way_.cpu;
    if (!of_selected && !c.open) return s;
    const cpu::Core& core = machine_.core(static_cast<unsigned>(cpu));
    s.counted = true;
    s.predicted = when > core.now();
    const std::uint64_t cycle = s.predicted ? core.clock().cycle_at(when).v : core.cycle().v;
    s.cycles = cycle - (of_selected ? cycle0_ : c.cycle0);
    s.instructions = retired(cpu) - (of_selected ? instructions0_ : c.instructions0);
    return s;
}

void ExplainObserver::step_at(int cpu, Picoseconds when, std::string text) {
    if (selected_)
        way_.steps.push_back(make_step(cpu, when, std::move(text)));
    else
        chain(cpu).way.steps.push_back(make_step(cpu, when, std::move(text)));
}

void ExplainObserver::step(int cpu, std::string text) {
    step_at(cpu, machine_.core(static_cast<unsigned>(cpu)).now(), std::move(text));
}

// --- the PMU and its line ---

void ExplainObserver::overflowed(int cpu, std::uint32_t counters) {
    if (selected_) return;
    pmu::CounterBank& bank = machine_.pmu(static_cast<unsigned>(cpu)).counters();
    if (!(counters & bank.interrupts())) return;
    Chain& c = chain(cpu);
    if (!c.open) begin(cpu, true);
    if (!c.way.from_counter) {
        // It wrapped while another interrupt's kernel code ran: this is where its own way begins.
        begin(cpu, true);
    }
    const std::uint64_t pc = machine_.core(static_cast<unsigned>(cpu)).present_pc();
    if (c.way.steps.empty()) c.way.wrap_pc = pc;
    for (unsigned n = 0; n < pmu::kCounters; ++n) {
        if (!(counters >> n & 1)) continue;
        const EventNumber event =
            n == pmu::kCycleCounter ? pmu_event::CPU_CYCLES : static_cast<EventNumber>(bank.type(n));
        step(cpu, fmt::format("{} wraps: event {:#04x} {}, at {}", counter_name(n), event, pmu_event_name(event),
                              address(pc, machine_.kernel().pcpu(cpu).current)));
    }
}

void ExplainObserver::line_changed(int cpu, bool level) {
    if (selected_ || !chain(cpu).open) return;
    chain(cpu).line_up = level;
    if (!level) return step(cpu, "the overflow line falls");
    const unsigned intid = pmu_intid(machine_.config(), static_cast<unsigned>(cpu));
    step(cpu, intid == kPmuIntid
                  ? "the PMU's overflow line rises: PPI 7, INTID 23 is pending in the redistributor"
                  : fmt::format("the PMU's overflow line rises: INTID {} is pending in the distributor", intid));
}

void ExplainObserver::signalled(int cpu, bool level, Picoseconds when) {
    Chain& c = chain(cpu);
    if (selected_ || !c.open || !level || !c.line_up || c.in_handler) return;
    step_at(cpu, when, "the GIC signals the interrupt to the core");
}

void ExplainObserver::accessed(int cpu, SysReg reg, bool write, std::uint64_t value) {
    if (selected_ ? !mine(cpu) || irq_over_ : !chain(cpu).open || !chain(cpu).in_handler) return;
    std::string note;
    if (reg == sysreg::PMCR_EL0 && write) note = value & pmu::pmcr::E ? ": counters count" : ": counters stand still";
    step(cpu, write ? fmt::format("MSR {}, {:#x}{}", register_name(reg), value, note)
                    : fmt::format("MRS {} gives {:#x}", register_name(reg), value));
}

// --- the kernel ---

bool ExplainObserver::debug_step(int cpu, KernelSymbol s) {
    switch (s) {
        case KernelSymbol::el0_dbg:
        case KernelSymbol::el1_dbg:
            if (!selected_ && !chain(cpu).open) {
                begin(cpu, false);
                chain(cpu).way.from_breakpoint = true;
                chain(cpu).from_el0 = s == KernelSymbol::el0_dbg;
            }
            return true;
        case KernelSymbol::breakpoint_handler:
        case KernelSymbol::watchpoint_handler: {
            const os::Task* task = machine_.kernel().pcpu(cpu).current;
            step(cpu, fmt::format("{} matches: exception before the instruction at {} ({} begins)",
                                  s == KernelSymbol::breakpoint_handler ? "a breakpoint" : "a watchpoint",
                                  address(task->pt_regs.pc, task), info(s).name));
            return true;
        }
        case KernelSymbol::toggle_bp_registers:
            step(cpu,
                 "the registers of that kind are switched (toggle_bp_registers): off before the step, on after it");
            return true;
        case KernelSymbol::single_step_handler:
            step(cpu, "the step exception: that instruction has executed (single_step_handler)");
            return true;
        case KernelSymbol::reinstall_suspended_bps:
            step(cpu, "the step was the kernel's own: reinstall_suspended_bps arms the registers again");
            return true;
        default: return false;
    }
}

bool ExplainObserver::uprobe_step(int cpu, KernelSymbol s) {
    const os::Task* task = machine_.kernel().pcpu(cpu).current;
    if (s == KernelSymbol::brk_handler && !selected_) {
        Chain& c = chain(cpu);
        if (!c.open || !c.way.from_breakpoint || !c.from_el0) return false;
        c.way.from_breakpoint = false;
        c.way.from_uprobe = true;
        step(cpu, fmt::format("BRK in place of the instruction at {}: exception (brk_handler begins)",
                              address(task->pt_regs.pc, task)));
        return true;
    }
    if (!of_uprobe(cpu)) return false;
    const auto* known =
        std::find_if(std::begin(kUprobeSteps), std::end(kUprobeSteps), [&](const auto& u) { return u.function == s; });
    if (known == std::end(kUprobeSteps)) return false;
    step(cpu, known->text);
    return true;
}

void ExplainObserver::kernel_enter(int cpu, KernelSymbol s) {
    if (selected_ ? mine(cpu) && !stepped_over_ : true)
        if (uprobe_step(cpu, s)) return;
    if (selected_ ? mine(cpu) && way_.from_breakpoint && !stepped_over_ : true)
        if (debug_step(cpu, s)) return;
    if (selected_) {
        if (mine(cpu) && stage_ == Stage::woken && s == KernelSymbol::perf_pending_irq)
            step(cpu, "irq_work runs perf_pending_irq, which wakes the sleepers on the event");
        return;
    }
    Chain& c = chain(cpu);
    if (is_irq_entry(s)) {
        if (!c.open) begin(cpu, false);
        if (c.in_handler) return;
        const ke::PtRegs* regs = machine_.kernel().pcpu(cpu).irq_regs_ptr;
        step(cpu, fmt::format("the core takes the IRQ ({}), interrupted at {}", info(s).name,
                              address(regs ? regs->pc : 0, machine_.kernel().pcpu(cpu).current)));
        c.way.taken = c.way.steps.back();
    } else if (c.open && s == KernelSymbol::armv8pmu_handle_irq) {
        c.in_handler = true;
        step(cpu, "armv8pmu_handle_irq begins");
    } else if (c.open && s == KernelSymbol::perf_event_overflow) {
        step(cpu, "perf_event_overflow begins");
    }
}

void ExplainObserver::exception(int cpu, std::string_view kind, bool enter) {
    if (enter || kind != "ERET") return;
    const os::Task* task = machine_.kernel().pcpu(cpu).current;
    // A hit without the sample that is looked for.
    if (!selected_ && of_uprobe(cpu) && !task->tif_singlestep) chain(cpu).open = false;
    if (!selected_ || !(way_.from_breakpoint || way_.from_uprobe) || !mine(cpu) || stepped_over_) return;
    stepped_over_ = !task->tif_singlestep;
    if (way_.from_uprobe && !stepped_over_)
        return step(cpu, fmt::format("back to the program for one instruction, the copy at {:#x}", task->pt_regs.pc));
    step(cpu, stepped_over_ ? "back to the program, which goes on"
                            : "back to the program for one instruction: MDSCR_EL1.SS and SPSR_EL1.SS are set");
}

void ExplainObserver::kernel_leave(int cpu, KernelSymbol s) {
    if (s == KernelSymbol::el0_dbg || s == KernelSymbol::el1_dbg) {
        if (!selected_ && chain(cpu).way.from_breakpoint) chain(cpu).open = false;
        return;
    }
    if (selected_) {
        if (mine(cpu) && s == KernelSymbol::perf_output_put_handle) check_published(cpu);
        return;
    }
    if (!chain(cpu).open) return;
    if (s == KernelSymbol::perf_prepare_sample) step(cpu, "the sample's contents are gathered (perf_prepare_sample)");
    if (s == KernelSymbol::perf_output_begin_forward || s == KernelSymbol::perf_output_begin ||
        s == KernelSymbol::perf_output_begin_backward)
        step(cpu, "room is reserved in the ring buffer");
}

void ExplainObserver::irq(int cpu, unsigned intid, bool enter) {
    if (selected_) {
        if (mine(cpu) && !enter && !irq_over_ && !way_.from_breakpoint && !way_.from_uprobe) {
            irq_over_ = true;
            step(cpu, fmt::format("the handler of INTID {} is done: ICC_EOIR1_EL1 written", intid));
        }
        return;
    }
    Chain& c = chain(cpu);
    if (!c.open) return;
    if (enter) {
        step(cpu, fmt::format("ICC_IAR1_EL1 gives INTID {}", intid));
        return;
    }
    // A wrap that this handler has not seen yet goes on.
    const bool waiting =
        c.way.from_counter && !c.in_handler && intid != pmu_intid(machine_.config(), static_cast<unsigned>(cpu));
    if (!waiting) c.open = false;
}

void ExplainObserver::check_published(int cpu) {
    if (stage_ != Stage::written || !buffer_ || !buffer_->user_page) return;
    std::uint64_t head = 0;
    std::memcpy(&head, buffer_->user_page.host + offsetof(perf_event_mmap_page, data_head), sizeof head);
    if (head < record_end_) return;
    stage_ = Stage::published;
    step(cpu, fmt::format("data_head = {} is published: a reader sees the record", head));
    way_.published = way_.steps.back();
}

void ExplainObserver::perf_notice(int cpu, const EventNotice& n) {
    using What = EventNotice::What;
    if (selected_) {
        if (n.what != What::wakeup || !buffer_ || root_of(*n.event).rb != buffer_) return;
        if (mine(cpu)) check_published(cpu);
        if (stage_ != Stage::published) return;
        stage_ = Stage::woken;
        step(cpu, "wakeup: enough is in the buffer, irq_work is queued");
        return;
    }
    Chain& c = chain(cpu);
    if (n.what == What::overflow) {
        if (!c.open) begin(cpu, false);
        c.way.period = n.a;
        c.way.sample_pc = n.b;
        step(cpu, fmt::format("overflow of {}: period {}, the sample's pc is {}", event_label(root_of(*n.event)), n.a,
                              address(n.b, machine_.kernel().pcpu(cpu).current)));
        return;
    }
    if (n.what == What::sample_lost && c.open) step(cpu, "the ring buffer is full: this sample is lost");
    if (n.what != What::sample_written || ++samples_ != nth_) return;
    if (!c.open) begin(cpu, false);
    step(cpu, fmt::format("PERF_RECORD_SAMPLE, {} bytes, is in the ring buffer at offset {}", n.b,
                          root_of(*n.event).rb ? n.a % root_of(*n.event).rb->perf_data_size() : n.a));
    const ke::PerfEvent& root = root_of(*n.event);
    const os::Task* task = machine_.kernel().pcpu(cpu).current;
    way_ = std::move(c.way);
    way_.written = way_.steps.back();
    way_.event = event_label(root);
    way_.task = fmt::format("{}[{}]", task->comm, task->pid);
    cycle0_ = c.cycle0;
    instructions0_ = c.instructions0;
    buffer_ = root.rb;
    record_end_ = n.a + n.b;
    client_ = root.owner;
    selected_ = true;
    stage_ = Stage::written;
}

void ExplainObserver::task_switch(int cpu, const os::Task&, const os::Task& next) {
    if (!selected_ || stage_ < Stage::published || stage_ >= Stage::client_runs || &next != client_) return;
    stage_ = Stage::client_runs;
    step(cpu, fmt::format("the client {}[{}] is switched in on CPU {}", next.comm, next.pid, cpu));
}

void ExplainObserver::syscall(int cpu, const os::Task& t, int nr, bool enter) {
    if (!selected_ || &t != client_ || stage_ < Stage::published || stage_ == Stage::done) return;
    const os::SyscallRow* row = os::find_syscall(nr);
    const std::string_view name = row ? row->name : "";
    if (!enter && is_poll(name) && stage_ == Stage::client_runs) {
        stage_ = Stage::client_back;
        step(cpu, fmt::format("{} returns in the client", name));
    } else if (enter && is_write(name)) {
        stage_ = Stage::done;
        step(cpu, fmt::format("the client has read the record and saves it: {}", name));
        way_.read = way_.steps.back();
    }
}

} // namespace rkperf::soc
