// SPDX-License-Identifier: Apache-2.0
// The two events that measure time and sample by an hrtimer (CORE-460 to 472). They have no name and no type number of
// their own: they are reached as PERF_TYPE_SOFTWARE.
#pragma once

#include "kernel_events/internal.h"

namespace rkperf::ke {

/// What both have in common: one hrtimer per sampling event.
class ClockPmu : public Pmu {
  public:
    explicit ClockPmu(Perf::Impl& perf);
    void del(PerfEvent& event, int flags) override { stop(event, flags); }

  protected:
    int clock_event_init(PerfEvent& event, std::uint64_t config);
    void start_hrtimer(PerfEvent& event);
    void cancel_hrtimer(PerfEvent& event);
    HrTimer::Restart hrtimer_expired(PerfEvent& event, HrTimer& timer);
    Perf::Impl& perf_;
};

/// cpu-clock: time of the CPU while the event is scheduled in.
class CpuClockPmu final : public ClockPmu {
  public:
    using ClockPmu::ClockPmu;
    int event_init(PerfEvent& event) override { return clock_event_init(event, PERF_COUNT_SW_CPU_CLOCK); }
    int add(PerfEvent& event, int flags) override;
    void start(PerfEvent& event, int flags) override;
    void stop(PerfEvent& event, int flags) override;
    void read(PerfEvent& event) override { update(event); }

  private:
    void update(PerfEvent& event);
};

/// task-clock: time of the event's context.
class TaskClockPmu final : public ClockPmu {
  public:
    using ClockPmu::ClockPmu;
    int event_init(PerfEvent& event) override { return clock_event_init(event, PERF_COUNT_SW_TASK_CLOCK); }
    int add(PerfEvent& event, int flags) override;
    void start(PerfEvent& event, int flags) override;
    void stop(PerfEvent& event, int flags) override;
    void read(PerfEvent& event) override;

  private:
    void update(PerfEvent& event, std::uint64_t now);
};

} // namespace rkperf::ke
