// SPDX-License-Identifier: Apache-2.0
// Base of PMUs that are registered, so that types and sysfs files are right, but that cannot run any event yet.
#pragma once

#include "kernel_events/internal.h"

namespace rkperf::ke {

class RefusedPmu : public Pmu {
  public:
    explicit RefusedPmu(Perf::Impl& perf) : Pmu(perf.kernel), perf_(perf) { task_ctx_nr = TaskContext::software; }
    // event_init lets none through, so there is never an event to schedule.
    int add(PerfEvent&, int) override { return -EINVAL; }
    void del(PerfEvent&, int) override {}
    void start(PerfEvent&, int) override {}
    void stop(PerfEvent&, int) override {}
    void read(PerfEvent&) override {}

  protected:
    Perf::Impl& perf_;
};

} // namespace rkperf::ke
