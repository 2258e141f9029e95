// SPDX-License-Identifier: Apache-2.0
// Writes what happens in the machine to a trace file. For each core: the running task, the exception level, interrupts,
// the PMU's line and counters; for each task: system calls and kernel functions; for each perf event: its state.
#pragma once

#include "models/pmu_v3/pmu_v3.h"
#include "sim/os/kernel.h"
#include "sim/soc/machine.h"
#include "sim/soc/trace_file.h"

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace rkperf::soc {

class TraceObserver final : public os::KernelObserver {
  public:
    TraceObserver(Machine& machine, TraceFile& file);
    ~TraceObserver() override;

    void task_switch(int cpu, const os::Task& prev, const os::Task& next) override;
    void kernel_enter(int cpu, KernelSymbol s) override;
    void kernel_leave(int cpu, KernelSymbol s) override;
    void exception(int cpu, std::string_view kind, bool enter) override;
    void irq(int cpu, unsigned intid, bool enter) override;
    void perf_notice(int cpu, const ke::EventNotice& n) override;
    void task_created(const os::Task& t) override;
    void task_exited(const os::Task& t) override;
    void syscall(int cpu, const os::Task& t, int nr, bool enter) override;

    /// Ends all slices that are open.
    void finish();

  private:
    struct Ear;
    struct Slices {
        TrackId track{};
        unsigned open{};
        Picoseconds last{}; ///< slices of a track must not go back in time
    };
    struct CpuTracks {
        TrackId group{};
        Slices task, level, irq, line, pmu;
        std::string shown; ///< name of the task slice that is open
        std::array<TrackId, pmu::kCounters> counters{};
    };
    struct TaskTracks {
        Slices kernel;
        std::string name;
    };

    Picoseconds now(int cpu) const { return machine_.core(static_cast<unsigned>(cpu)).now(); }
    void begin(Slices& s, Picoseconds when, std::string_view name);
    void end(Slices& s, Picoseconds when);
    void end_all(Slices& s, Picoseconds when);
    void instant(Slices& s, Picoseconds when, std::string_view name);
    /// The kernel stack that is in use on a CPU belongs to a task; its frames are the key.
    TaskTracks& task_of_frames(int cpu);
    TaskTracks& task_tracks(const os::Task& t);
    Slices& event_track(const ke::PerfEvent& e);
    void show_task(int cpu, const os::Task& t);
    void show_counters(int cpu);
    void show_counter(int cpu, unsigned n);
    void overflowed(int cpu, std::uint32_t counters, Picoseconds when);
    void line_changed(int cpu, bool level, Picoseconds when);
    void accessed(int cpu, SysReg reg, bool write);

    Machine& machine_;
    TraceFile& file_;
    std::vector<CpuTracks> cpus_;
    std::map<const void*, TaskTracks> tasks_; ///< by kernel stack; looked up only
    std::vector<TaskTracks*> task_order_;
    std::map<const ke::PerfEvent*, Slices> events_; ///< looked up only
    std::vector<Slices*> event_order_;
    std::vector<std::unique_ptr<Ear>> ears_;
    TrackId tasks_group_{}, events_group_{};
    int tasks_made_{}, events_made_{};
};

} // namespace rkperf::soc
