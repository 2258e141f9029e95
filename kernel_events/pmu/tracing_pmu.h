// SPDX-License-Identifier: Apache-2.0
// What the PMUs "tracepoint", "kprobe" and "uprobe" have in common: their events are those of a TraceEventCall. A derived
// class has only event_init, which calls TraceEvents::perf_trace_init or perf_trace_event_init and sets event.destroy.
#pragma once

#include "kernel_events/internal.h"
#include "kernel_events/trace/trace_events.h"

namespace rkperf::ke {

class TracingPmu : public Pmu {
  public:
    explicit TracingPmu(Perf::Impl& perf) : Pmu(perf.kernel), perf_(perf) { task_ctx_nr = TaskContext::software; }
    int add(PerfEvent& event, int flags) override { return events().perf_trace_add(event, flags); }
    void del(PerfEvent& event, int flags) override { events().perf_trace_del(event, flags); }
    void start(PerfEvent& event, int) override { event.hw.state = 0; }
    void stop(PerfEvent& event, int) override { event.hw.state = PERF_HES_STOPPED; }
    void read(PerfEvent&) override {}
    int set_filter(PerfEvent& event, std::string_view text) override {
        return events().ftrace_profile_set_filter(event, text);
    }

  protected:
    TraceEvents& events() { return *perf_.trace_events; }
    Perf::Impl& perf_;
};

} // namespace rkperf::ke
