// SPDX-License-Identifier: Apache-2.0
// From the nodes of the device tree to registered core PMUs (ARMPMU-031 to 033, 038, 039).
#include "kernel_events/pmu/arm_pmu_platform.h"

#include "kernel_events/pmu/armv8_pmuv3.h"
#include "kernel_events/pmu/pmus.h"

#include <algorithm>
#include <string>
#include <utility>

namespace rkperf::ke {

namespace {

void dev_warn(Kernel& kernel, const PmuNode& node, const std::string& text) {
    kernel.pr_info("armv8-pmu " + node.name + ": hw perfevents: " + text);
}

int nr_cpu_ids(Kernel& kernel) {
    const CpuMask possible = kernel.cpu_possible_mask();
    int n = kMaxCpus;
    while (n && !(possible >> (n - 1) & 1)) --n;
    return n;
}

/// The CPU of the node's i-th interrupt; one beyond all CPUs if the tree names something that is none.
int pmu_parse_irq_affinity(Kernel& kernel, const PmuNode& node, std::size_t i) {
    // Without the property interrupts are taken to come in the order of CPUs.
    if (!node.interrupt_affinity) return static_cast<int>(i);
    const auto& affinity = *node.interrupt_affinity;
    if (i >= affinity.size() || affinity[i] == PmuNode::kBadPhandle) {
        dev_warn(kernel, node, "failed to parse interrupt-affinity[" + std::to_string(i) + "]");
        return -EINVAL;
    }
    if (affinity[i] < 0 || affinity[i] >= nr_cpu_ids(kernel)) {
        dev_warn(kernel, node, "failed to find logical CPU for cpu");
        return nr_cpu_ids(kernel);
    }
    return affinity[i];
}

bool probe_on(Perf::Impl& perf, Armv8Pmu& pmu, int cpu, bool& found) {
    return pmu.supports(cpu) && !perf.cpu_function_call(cpu, [&] {
        found = pmu.probe();
        return 0;
    });
}

/// Runs on the node's probe CPU, or on another of its CPUs if that one is offline.
bool probe_on_a_cpu(Perf::Impl& perf, Armv8Pmu& pmu, int first) {
    bool found = false;
    if (probe_on(perf, pmu, first, found)) return found;
    for (int cpu = 0; cpu < kMaxCpus; ++cpu)
        if (probe_on(perf, pmu, cpu, found)) return found;
    return false;
}

int armpmu_request_irq(Perf::Impl& perf, unsigned irq, int cpu) {
    Kernel& kernel = perf.kernel;
    if (!irq) return 0;
    const auto dispatch = [&perf](PtRegs& regs) {
        ArmPmu* pmu = perf.cpu_armpmu[static_cast<unsigned>(perf.kernel.smp_processor_id())];
        return pmu && pmu->dispatch_irq(regs);
    };
    int error = 0;
    bool nmi = false;
    if (!kernel.irq_is_percpu_devid(irq)) {
        error = kernel.irq_force_affinity(irq, cpu);
        if (error && nr_cpu_ids(kernel) > 1) {
            kernel.pr_info("hw perfevents: unable to set irq affinity (irq=" + std::to_string(irq) +
                           ", cpu=" + std::to_string(cpu) + ")");
        } else {
            nmi = !kernel.request_nmi(irq, "arm-pmu", dispatch);
            error = nmi ? 0 : kernel.request_irq(irq, "arm-pmu", dispatch);
        }
    } else if (std::count(perf.armpmu_cpu_irq.begin(), perf.armpmu_cpu_irq.end(), irq) == 0) {
        nmi = !kernel.request_percpu_nmi(irq, "arm-pmu", dispatch);
        if (!nmi) kernel.request_percpu_irq(irq, "arm-pmu", dispatch);
    } else {
        nmi = perf.armpmu_has_nmi;
    }
    if (error) {
        kernel.pr_info("hw perfevents: unable to request IRQ" + std::to_string(irq) + " for ARM PMU counters");
        return error;
    }
    perf.armpmu_has_nmi |= nmi;
    perf.armpmu_cpu_irq[static_cast<unsigned>(cpu)] = irq;
    return 0;
}

int armpmu_request_irqs(Perf::Impl& perf, const PmuIrqs& irqs) {
    for (unsigned cpu = 0; cpu < kMaxCpus; ++cpu)
        if (const int error = armpmu_request_irq(perf, irqs.irq[cpu], static_cast<int>(cpu))) return error;
    return 0;
}

/// Gives back what was got; an interrupt of several CPUs with the last of them.
void armpmu_free_irqs(Perf::Impl& perf, const PmuIrqs& irqs) {
    for (unsigned cpu = 0; cpu < kMaxCpus; ++cpu) {
        unsigned& irq = perf.armpmu_cpu_irq[cpu];
        if (!irq || irq != irqs.irq[cpu]) continue;
        const unsigned freed = std::exchange(irq, 0);
        if (std::count(perf.armpmu_cpu_irq.begin(), perf.armpmu_cpu_irq.end(), freed) == 0) perf.kernel.free_irq(freed);
    }
}

/// cpu_pmu_init: every CPU of the PMU that is online is made ready; with `on` false the way back.
void set_up_cpus(Perf::Impl& perf, ArmPmu& pmu, bool on) {
    for (int cpu = 0; cpu < kMaxCpus; ++cpu)
        if (pmu.supports(cpu) && (perf.kernel.cpu_online_mask() >> cpu & 1))
            perf.cpu_function_call(cpu, [&] {
                if (on)
                    pmu.cpu_starting(cpu);
                else
                    pmu.cpu_dying(cpu);
                return 0;
            });
}

/// Returns whether there is such a PMU, registered or not.
bool arm_pmu_device_probe(Perf::Impl& perf, const PmuNode& node) {
    Kernel& kernel = perf.kernel;
    PmuIrqs irqs;
    if (pmu_parse_irqs(kernel, node, irqs)) return false;
    auto owned = std::make_unique<Armv8Pmu>(perf, irqs);
    Armv8Pmu& pmu = *owned;
    if (!probe_on_a_cpu(perf, pmu, node.probe_cpu)) {
        kernel.pr_info("hw perfevents: " + node.name + ": failed to probe PMU!");
        return false;
    }
    if (armpmu_request_irqs(perf, irqs)) {
        armpmu_free_irqs(perf, irqs);
        return true;
    }
    set_up_cpus(perf, pmu, true);
    if (perf.perf_pmu_register(std::move(owned), node.name, -1)) {
        set_up_cpus(perf, pmu, false); // it is still ours
        armpmu_free_irqs(perf, irqs);
        kernel.pr_info("hw perfevents: " + node.name + ": failed to register PMU devices!");
        return true;
    }
    pmu.add_sysfs_files();
    kernel.pr_info("hw perfevents: enabled with " + node.name + " PMU driver, " + std::to_string(pmu.num_events()) +
                   " counters available" + (perf.armpmu_has_nmi ? ", using NMIs" : ""));
    return true;
}

} // namespace

int pmu_parse_irqs(Kernel& kernel, const PmuNode& node, PmuIrqs& irqs) {
    irqs = {};
    if (node.interrupts.empty()) {
        dev_warn(kernel, node, "no irqs for PMU, sampling events not supported");
        irqs.no_interrupt = true;
        irqs.supported_cpus = kernel.cpu_possible_mask();
        return 0;
    }
    if (node.interrupts.size() == 1 && node.interrupts[0] && kernel.irq_is_percpu_devid(node.interrupts[0])) {
        irqs.supported_cpus = node.partition & kernel.cpu_possible_mask();
        for (unsigned cpu = 0; cpu < kMaxCpus; ++cpu)
            if (irqs.supported_cpus >> cpu & 1) irqs.irq[cpu] = node.interrupts[0];
        return 0;
    }
    if (nr_cpu_ids(kernel) != 1 && !node.interrupt_affinity)
        dev_warn(kernel, node, "no interrupt-affinity property, guessing.");
    for (std::size_t i = 0; i < node.interrupts.size(); ++i) {
        const unsigned irq = node.interrupts[i];
        if (!irq) { // one that the interrupt controller does not have
            kernel.pr_info("WARNING: pmu_parse_irqs: no interrupt " + std::to_string(i));
            continue;
        }
        if (kernel.irq_is_percpu_devid(irq)) {
            dev_warn(kernel, node, "multiple PPIs or mismatched SPI/PPI detected");
            return -EINVAL;
        }
        const int cpu = pmu_parse_irq_affinity(kernel, node, i);
        if (cpu < 0) return cpu;
        if (cpu >= nr_cpu_ids(kernel)) continue;
        unsigned& of_cpu = irqs.irq[static_cast<unsigned>(cpu)];
        if (of_cpu) {
            dev_warn(kernel, node, "multiple PMU IRQs for the same CPU detected");
            return -EINVAL;
        }
        of_cpu = irq;
        irqs.supported_cpus |= CpuMask{1} << cpu;
    }
    return 0;
}

void register_core_pmus(Perf::Impl& perf) {
    bool any = false;
    for (const PmuNode& node : perf.config.pmus) any |= arm_pmu_device_probe(perf, node);
    if (any) register_user_access_sysctl(perf);
}

} // namespace rkperf::ke
