// SPDX-License-Identifier: Apache-2.0
// What the device tree says of a core PMU's interrupts (arm_pmu_platform.c).
#pragma once

#include "kernel_events/perf_event.h"

#include <array>

namespace rkperf::ke {

class Kernel;

/// The CPUs that a node is for, and the interrupt of each: 0 is none.
struct PmuIrqs {
    CpuMask supported_cpus{};
    std::array<unsigned, kMaxCpus> irq{};
    bool no_interrupt{}; ///< the node names none: no sampling
};

/// -EINVAL for a node that is in itself wrong. What is odd is said in the kernel's log.
int pmu_parse_irqs(Kernel& kernel, const PmuNode& node, PmuIrqs& irqs);

} // namespace rkperf::ke
