// SPDX-License-Identifier: Apache-2.0
#include "sim/os/irq/gic_driver.h"

#include "kernel_events/trace/tracepoints.h"
#include "sim/os/kernel.h"
#include "sim/os/sched/scheduler.h"
#include "sim/os/time/time_keeper.h"

namespace rkperf::os {

namespace {
// GICD and GICR registers this driver uses (GICv3 architecture, IHI 0069, chapter 12).
constexpr std::uint64_t GICD_CTLR = 0x0000, GICD_TYPER = 0x0004, GICR_WAKER = 0x0014, GICR_SGI = 0x10000;
constexpr std::uint64_t GICR_IGROUPR0 = GICR_SGI + 0x0080, GICR_ISENABLER0 = GICR_SGI + 0x0100,
                        GICR_ICENABLER0 = GICR_SGI + 0x0180, GICR_IPRIORITYR = GICR_SGI + 0x0400;
constexpr std::uint64_t GICD_IGROUPR = 0x0080, GICD_ISENABLER = 0x0100, GICD_ICENABLER = 0x0180,
                        GICD_IPRIORITYR = 0x0400, GICD_IROUTER = 0x6000;
constexpr std::uint64_t kCtlrEnableGrp1 = 1u << 1, kCtlrAre = 1u << 4;
constexpr std::uint64_t kDefaultPriority = 0xa0a0a0a0;
constexpr std::uint64_t kNmiPriority = 0x20;
constexpr std::uint64_t kPsrISet = 0x10; // in ICC_PMR_EL1: PSTATE.I masks
constexpr unsigned kSpurious = 1020, kFirstPpi = 16, kFirstSpi = 32;
} // namespace

void GicDriver::init_distributor() { os_.mmio_write(os_.config().gicd_base + GICD_CTLR, kCtlrEnableGrp1 | kCtlrAre); }

void GicDriver::init_cpu(int cpu) {
    const std::uint64_t rd = os_.config().gicr_base + static_cast<unsigned>(cpu) * os_.config().gicr_stride;
    os_.mmio_write(rd + GICR_WAKER, 0);
    os_.mmio_write(rd + GICR_IGROUPR0, 0xffffffff);
    os_.mmio_write(rd + GICR_ICENABLER0, 0xffff0000);
    for (unsigned i = 0; i < 8; ++i) os_.mmio_write(rd + GICR_IPRIORITYR + 4 * i, kDefaultPriority);
    os_.mmio_write(rd + GICR_ISENABLER0, 0x0000ffff); // all SGIs
    os_.msr(sysreg::ICC_SRE_EL1, 7);
    os_.msr(sysreg::ICC_PMR_EL1, 0xf0);
    os_.msr(sysreg::ICC_BPR1_EL1, 0);
    os_.msr(sysreg::ICC_CTLR_EL1, 0); // EOImode 0: EOIR drops priority and deactivates
    os_.msr(sysreg::ICC_IGRPEN1_EL1, 1);
}

void GicDriver::send(int cpu, Ipi ipi) {
    // Aff0 is 0 on every core of the cluster, Aff1 the core's number.
    const auto aff1 = static_cast<std::uint64_t>(cpu);
    os_.tracepoints().trace_ipi_raise(1u << cpu, static_cast<unsigned>(ipi));
    os_.msr(sysreg::ICC_SGI1R_EL1, static_cast<std::uint64_t>(ipi) << 24 | aff1 << 16 | 1);
}

void GicDriver::request_percpu(unsigned intid, std::string_view name, std::function<bool(ke::PtRegs&)> handler,
                               bool nmi) {
    for (auto& p : irqs_)
        if (p.intid == intid) return;
    Irq p;
    p.intid = intid;
    p.name = name;
    p.handler = std::move(handler);
    p.nmi = nmi;
    irqs_.push_back(std::move(p));
}

void GicDriver::enable_percpu(unsigned intid, bool on) {
    const std::uint64_t rd = os_.config().gicr_base + static_cast<unsigned>(os_.this_cpu()) * os_.config().gicr_stride;
    os_.mmio_write(rd + (on ? GICR_ISENABLER0 : GICR_ICENABLER0), 1u << intid);
}

void GicDriver::prepare_percpu_nmi(unsigned intid) {
    const std::uint64_t rd = os_.config().gicr_base + static_cast<unsigned>(os_.this_cpu()) * os_.config().gicr_stride;
    set_priority(rd + GICR_IPRIORITYR, intid, kNmiPriority);
}

/// Whether the distributor has it.
bool GicDriver::is_shared(unsigned intid) {
    constexpr std::uint64_t kITLinesNumber = 0x1f;
    return intid >= kFirstSpi &&
           intid < 32 * ((os_.mmio_read(os_.config().gicd_base + GICD_TYPER) & kITLinesNumber) + 1);
}

int GicDriver::set_affinity(unsigned intid, int cpu) {
    if (!is_shared(intid)) return -EINVAL;
    os_.mmio_write(os_.config().gicd_base + GICD_IROUTER + std::uint64_t{8} * intid,
                   std::uint64_t{static_cast<unsigned>(cpu)} << 8); // Aff1
    return 0;
}

int GicDriver::request_shared(unsigned intid, std::string_view name, std::function<bool(ke::PtRegs&)> handler,
                              bool nmi) {
    if (!is_shared(intid)) return -EINVAL;
    for (const Irq& i : irqs_)
        if (i.intid == intid) return -EBUSY;
    const std::uint64_t gicd = os_.config().gicd_base;
    const std::uint64_t group = gicd + GICD_IGROUPR + intid / 32 * 4;
    os_.mmio_write(group, os_.mmio_read(group) | 1u << intid % 32);
    set_priority(gicd + GICD_IPRIORITYR, intid, nmi ? kNmiPriority : kDefaultPriority & 0xff);
    irqs_.push_back({intid, std::string(name), std::move(handler), {}, nmi});
    return 0;
}

void GicDriver::enable_shared(unsigned intid, bool on) {
    os_.mmio_write(os_.config().gicd_base + (on ? GICD_ISENABLER : GICD_ICENABLER) + intid / 32 * 4, 1u << intid % 32);
}

void GicDriver::free(unsigned intid) {
    std::erase_if(irqs_, [intid](const Irq& i) { return i.intid == intid; });
}

/// `registers`: the first of a distributor's or redistributor's priority registers.
void GicDriver::set_priority(std::uint64_t registers, unsigned intid, std::uint64_t priority) {
    const std::uint64_t word = registers + intid / 4 * 4;
    const unsigned shift = intid % 4 * 8;
    os_.mmio_write(word, (os_.mmio_read(word) & ~(std::uint64_t{0xff} << shift)) | priority << shift);
}

void GicDriver::handle(ke::PtRegs& regs) {
    Frame f(os_, KernelSymbol::gic_handle_irq);
    const bool pseudo_nmi = os_.config().pseudo_nmi;
    if (pseudo_nmi && os_.here().pmr_masked) return handle_irq_from_irqsoff(regs);
    for (;;) {
        const auto intid = static_cast<unsigned>(os_.mrs(sysreg::ICC_IAR1_EL1) & 0xffffff);
        if (intid >= kSpurious && intid < 1024) break;
        if (pseudo_nmi && os_.mrs(sysreg::ICC_RPR_EL1) == kNmiPriority) {
            handle_nmi(intid, regs);
            continue;
        }
        if (pseudo_nmi) os_.open_for_nmi(true);
        handle_one(intid, regs);
        if (pseudo_nmi) os_.open_for_nmi(false);
    }
}

/// What comes while the kernel has masked interrupts is an NMI.
void GicDriver::handle_irq_from_irqsoff(ke::PtRegs& regs) {
    // With the priority that was, the number could be that of a lesser interrupt only if the NMI has gone.
    os_.msr(sysreg::ICC_PMR_EL1, kPriorityIrqOn | kPsrISet);
    const auto intid = static_cast<unsigned>(os_.mrs(sysreg::ICC_IAR1_EL1) & 0xffffff);
    os_.msr(sysreg::ICC_PMR_EL1, kPriorityIrqOff);
    if (intid < kSpurious || intid >= 1024) handle_nmi(intid, regs);
}

void GicDriver::handle_nmi(unsigned intid, ke::PtRegs& regs) {
    ++os_.here().nmi_depth;
    handle_one(intid, regs);
    --os_.here().nmi_depth;
}

void GicDriver::handle_one(unsigned intid, ke::PtRegs& regs) {
    const int cpu = os_.this_cpu();
    for (auto* o : os_.observers()) o->irq(cpu, intid, true);
    if (intid < kFirstPpi) {
        os_.msr(sysreg::ICC_EOIR1_EL1, intid);
        // Linux numbers the inter-processor interrupts from 1 on.
        ke::Tracepoints& trace = os_.tracepoints();
        trace.trace_irq_handler_entry(static_cast<int>(intid) + 1, "IPI");
        trace.trace_ipi_entry(intid);
        handle_ipi(static_cast<Ipi>(intid));
        trace.trace_ipi_exit(intid);
        trace.trace_irq_handler_exit(static_cast<int>(intid) + 1, true);
    } else {
        Frame f(os_, KernelSymbol::generic_handle_domain_irq);
        dispatch(intid, regs);
        os_.msr(sysreg::ICC_EOIR1_EL1, intid);
    }
    for (auto* o : os_.observers()) o->irq(cpu, intid, false);
}

void GicDriver::dispatch(unsigned intid, ke::PtRegs& regs) {
    const bool shared = intid >= kFirstSpi, nmi = os_.in_nmi();
    Frame f(os_, shared ? nmi ? KernelSymbol::handle_fasteoi_nmi : KernelSymbol::handle_fasteoi_irq
                 : nmi  ? KernelSymbol::handle_percpu_devid_fasteoi_nmi
                        : KernelSymbol::handle_percpu_devid_irq);
    for (auto& p : irqs_) {
        if (p.intid != intid) continue;
        ++p.count[static_cast<unsigned>(os_.this_cpu())];
        os_.tracepoints().trace_irq_handler_entry(static_cast<int>(intid), p.name);
        const bool handled = p.handler(regs);
        os_.tracepoints().trace_irq_handler_exit(static_cast<int>(intid), handled);
        return;
    }
    os_.pr_info("irq: unexpected interrupt " + std::to_string(intid));
    // A level that nobody clears would storm.
    if (shared)
        enable_shared(intid, false);
    else
        enable_percpu(intid, false);
}

void GicDriver::queue_call(int cpu, std::shared_ptr<Call> call) {
    calls_[static_cast<unsigned>(cpu)].push_back(std::move(call));
    send(cpu, Ipi::call_func);
}

void GicDriver::queue_irq_work(int cpu, ke::IrqWork& work) {
    works_[static_cast<unsigned>(cpu)].push_back(&work);
    send(cpu, Ipi::irq_work);
}

void GicDriver::drop_irq_work(ke::IrqWork& work) {
    for (auto& list : works_) std::erase(list, &work);
    work.pending = false;
}

void GicDriver::handle_ipi(Ipi ipi) {
    const auto cpu = static_cast<unsigned>(os_.this_cpu());
    ++ipis_[cpu][static_cast<unsigned>(ipi)];
    switch (ipi) {
        case Ipi::reschedule: {
            Frame f(os_, KernelSymbol::scheduler_ipi);
            os_.sched().ipi();
            break;
        }
        case Ipi::call_func: {
            Frame f(os_, KernelSymbol::generic_smp_call_function_single_interrupt);
            while (!calls_[cpu].empty()) {
                auto c = calls_[cpu].front();
                calls_[cpu].pop_front();
                c->fn();
                c->done_at = os_.core().now();
                c->done = true;
            }
            break;
        }
        case Ipi::irq_work: {
            Frame f(os_, KernelSymbol::irq_work_run);
            while (!works_[cpu].empty()) {
                ke::IrqWork* w = works_[cpu].front();
                works_[cpu].pop_front();
                w->pending = false;
                w->func();
            }
            break;
        }
        case Ipi::timer: os_.time().ipi_timer(static_cast<int>(cpu)); break;
        default: os_.pr_info("IPI " + std::to_string(static_cast<int>(ipi)) + " has no handler"); break;
    }
}

} // namespace rkperf::os
