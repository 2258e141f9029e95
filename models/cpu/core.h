// SPDX-License-Identifier: Apache-2.0
// One core: a SystemC module that executes EL0 programs instruction by instruction, is charged for the kernel's native
// EL1 code, counts everything, and takes interrupts. The software above (sim/os) sees the core only through this header.
#pragma once

#include "models/a64/state.h"
#include "models/memory/hierarchy.h"
#include "sim/base/clock.h"
#include "sim/base/event_totals.h"
#include "sim/base/sysreg.h"
#include "sim/base/sysreg_bus.h"
#include "sim/base/wires.h"

#include <tlm_utils/simple_initiator_socket.h>
#include <cstdint>
#include <memory>
#include <systemc>

namespace rkperf::cpu {

class Core;
class ExecutionMode;  // execution_mode.h
class InnerShareable; // inner_shareable.h

/// What the core asks of its debug registers about EL0 code (Arm ARM D2; the adapter to models/debug_regs is the
/// soc's). The kernel's native code has no instructions to match.
class DebugMonitor {
  public:
    virtual ~DebugMonitor() = default;
    /// True if an enabled breakpoint may match in [va, va + bytes), or software step is active.
    virtual bool may_stop(std::uint64_t va, std::uint64_t bytes) = 0;
    /// Software step is active and pending: the step exception comes instead of the next instruction.
    virtual bool step_pending() = 0;
    /// An enabled breakpoint matches the instruction about to execute at `pc`.
    virtual bool breakpoint_matches(std::uint64_t pc) = 0;
    /// One instruction was executed (active-not-pending becomes active-pending).
    virtual void stepped(bool load_exclusive) = 0;
    /// True if an enabled watchpoint may match in [va, va + bytes).
    virtual bool may_watch(std::uint64_t va, std::uint64_t bytes) = 0;
    /// Address range n that may_watch() answers for; false: there are no more.
    virtual bool watched_range(unsigned n, std::uint64_t& first, std::uint64_t& last) = 0;
    /// An enabled watchpoint matches the access; `far` receives the address to report (DBG-038).
    virtual bool watchpoint_matches(std::uint64_t va, unsigned bytes, bool write, std::uint64_t& far) = 0;
    /// ERET to EL0 with SPSR_EL1.SS = `spsr_ss`.
    virtual void exception_return(bool spsr_ss) = 0;
    /// Exception to EL1; `executed`: by an instruction that has executed (SVC). Returns what SPSR_EL1.SS becomes.
    virtual bool exception_entry(bool executed) = 0;
    /// ISS of the step exception that is pending (ISV, EX).
    virtual std::uint32_t step_syndrome() = 0;
    /// CONTEXTIDR_EL1 is written.
    virtual void contextidr(std::uint32_t value) = 0;
    /// For the native kernel, which knows where it is: a breakpoint matches its instruction at `pc`, PSTATE.D clear.
    virtual bool kernel_breakpoint_matches(std::uint64_t pc) { return (void)pc, false; }
    /// The same of its unprivileged access (LDTR, STTR) to user memory.
    virtual bool kernel_access_matches(std::uint64_t va, std::uint64_t bytes, bool write, std::uint64_t& far) {
        return (void)va, (void)bytes, (void)write, (void)far, false;
    }
};

/// What runs on the cores: the kernel. Each core's SystemC thread calls cpu_main once and is lost in it.
class Software {
  public:
    virtual ~Software() = default;
    virtual void cpu_main(Core& core) = 0;
    /// An interrupt was taken while kernel code (a charge, WFI, or irq unmask) executed at EL1. PSTATE.I is set on entry;
    /// the core unmasks it again after return. Runs on the stack of whoever was executing.
    virtual void irq_from_el1(Core& core) = 0;
};

/// Why run_user came back: an exception was taken to EL1 (EXC_TAKEN etc. already counted, PSTATE.I set).
enum class UserExit : std::uint8_t {
    irq,        ///< at an instruction boundary; pc = next instruction
    sync,       ///< state.stop says which synchronous exception (svc, data_abort, ...)
    breakpoint, ///< hardware breakpoint on the instruction at pc, which was not executed
    step,       ///< software step; pc = next instruction
};

/// EL1 code executed natively is charged in these units.
struct KernelWork {
    std::uint32_t instructions{};
    std::uint32_t loads{}, stores{}, branches{}; ///< part of `instructions`
    std::uint32_t extra_cycles{}; ///< beyond what the core's EL1 throughput gives (barriers, register accesses)
    std::uint64_t code_address{}; ///< kernel text it stands for (footprint on L1I, predictor; trace)
    /// The function it is part of: present_pc() moves on from code_address by 4 bytes an instruction and begins anew at
    /// the function's end. 0 bytes: it stays.
    std::uint64_t function{}, function_bytes{};
};

struct CoreStats {
    std::uint64_t user_instructions{}, kernel_instructions{}, idle_time_ps{};
};

class Core : public sc_core::sc_module, public EventTotalsView, public LevelSink {
  public:
    ~Core() override = default;

    virtual CpuId id() const = 0;
    virtual std::uint64_t midr() const = 0;
    virtual std::uint64_t mpidr() const = 0;

    /// --- wiring (before simulation) ---
    tlm_utils::simple_initiator_socket<Core>
        sysreg; ///< to PMU, GIC CPU interface, timer, debug registers, ID registers
    virtual mem::CoreMemory& memory() = 0;
    virtual void set_software(Software& software) = 0;
    virtual void set_overflow_monitor(OverflowMonitor& pmu) = 0;
    virtual void add_deadline_source(DeadlineSource& source) = 0;
    virtual void set_debug_monitor(DebugMonitor& debug) = 0;
    virtual DebugMonitor* debug_monitor() { return nullptr; }
    /// Breakpoints, watchpoints or stepping were changed: the core asks its DebugMonitor anew.
    virtual void debug_changed() = 0;
    /// LevelSink::set_level is the IRQ input from this core's redistributor.

    /// --- time ---
    /// EventTotalsView::now() is the core's local time. Runs ahead of sc_time_stamp() by at most the quantum, except
    /// with interrupts masked at EL1, where the core never yields to others.
    virtual Cycles cycle() const = 0;
    virtual const Clock& clock() const = 0;
    virtual void set_frequency(std::uint64_t hertz) = 0;
    virtual void set_quantum(Picoseconds quantum) = 0;
    /// Lets SystemC time catch up with the core's local time (other cores run). Interrupts are taken if unmasked.
    virtual void sync() = 0;

    /// --- EL0 ---
    /// Executes `state` at EL0 in the address space set by set_address_space until an exception to EL1.
    virtual UserExit run_user(a64::CpuState& state) = 0;
    virtual void set_address_space(PhysAddr ttbr0, std::uint16_t asid) = 0; ///< counts TTBR_WRITE_RETIRED
    virtual void write_contextidr(std::uint32_t value) = 0;                 ///< counts CID_WRITE_RETIRED
    /// ERET to EL0 is counted by run_user's entry (EXC_RETURN).
    /// SPSR_EL1.SS: run_user takes it for the exception return and leaves in it what the exception saved.
    bool spsr_ss{};
    /// ISS of the latest UserExit::step.
    std::uint32_t step_iss{};

    /// --- EL1 ---
    /// Charges kernel work: advances time and totals at EL1; counters wrap at the exact instruction within it, and an
    /// unmasked interrupt nests there (Software::irq_from_el1). May yield to SystemC if interrupts are unmasked.
    virtual void charge(const KernelWork& work) = 0;
    /// A data access by kernel code to a physical address (copy_to_user, ring buffer writes, page zeroing): one lookup per
    /// line, with its events (L1D_*, L2D_*, ..., one MEM_ACCESS a line) and the cycles beyond a hit. The instructions are
    /// the caller's, in KernelWork. A write drops the decoded code of its pages.
    virtual void kernel_access(PhysAddr pa, std::uint64_t bytes, bool write) = 0;
    /// TLM transactions on the system-register bus at EL1. An access that the bus refuses is a bug of ours: reported, fatal.
    virtual std::uint64_t mrs(SysReg reg) = 0;
    virtual void msr(SysReg reg, std::uint64_t value) = 0;
    virtual bool irq_masked() const = 0;
    /// DAIF.I. Unmasking takes a pending interrupt at once, before it returns.
    virtual void set_irq_mask(bool masked) = 0;
    /// For a kernel that masks by priority (ICC_PMR_EL1, which it writes itself) and keeps DAIF.I clear: masked is
    /// masked for irq_masked() and for yielding to others, but what the GIC signals all the same is taken.
    virtual void set_priority_mask(bool masked) { set_irq_mask(masked); }
    /// DAIF.I alone, while interrupts are masked by priority.
    virtual void mask_nmi(bool masked) { (void)masked; }
    /// True if the GIC signals an interrupt now (masked or not).
    virtual bool irq_signalled() const = 0;
    /// Stops the clock until the GIC signals an interrupt (CPU_CYCLES stand still), whatever the mask. Does not take it.
    virtual void wait_for_interrupt() = 0;

    virtual void tlb_invalidate(std::uint32_t asid, std::uint64_t vpn) = 0;
    /// Guest code at this physical page was or may have been changed: drop decoded blocks.
    virtual void code_changed(PhysAddr page) = 0;
    /// IC IVAU of one line reached this core.
    virtual void icache_invalidated(PhysAddr line) { code_changed(line); }

    /// --- observation ---
    virtual EventTotals& totals() = 0;
    virtual const CoreStats& stats() const = 0;
    /// pc and level of the present instruction: the user pc, or the kernel address being charged.
    virtual std::uint64_t present_pc() const = 0;

  protected:
    explicit Core(sc_core::sc_module_name name) : sc_module(name), sysreg("sysreg") {}
};

/// Parameters that the machine description may change; the rest are the core's own tables.
struct CoreConfig {
    CpuId cpu{};
    std::uint64_t hertz{};
    Picoseconds quantum{};
    std::uint64_t seed{};
    bool simple{}; ///< one instruction per cycle, no misses: comparable with an emulator that counts instructions
    bool plain{};  ///< only the plain execution loop, which is slower and gives the same results
    ExecutionMode* mode{};    ///< whether to time, shared by the cores; null: always
    InnerShareable* domain{}; ///< joins the cores that see each other's IC IVAU; null: the core is alone
};

} // namespace rkperf::cpu
