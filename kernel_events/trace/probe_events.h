// SPDX-License-Identifier: Apache-2.0
// The events that uprobes and kprobes make, with their files in tracefs.
#pragma once

#include "kernel_events/trace/trace_kprobe.h"
#include "kernel_events/trace/trace_uprobe.h"

#include <optional>

namespace rkperf::ke {

struct ProbeEvents {
    explicit ProbeEvents(Perf::Impl& perf);
    DynEvents dynamic;
    TraceKprobes kprobes;
    std::optional<TraceUprobes> uprobes; ///< not on a kernel without Kernel::uprobe_services
};

/// Makes Perf::Impl::probe_events and its files, once.
void init_probe_events(Perf::Impl& perf);

} // namespace rkperf::ke
