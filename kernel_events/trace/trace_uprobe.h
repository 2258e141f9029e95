// SPDX-License-Identifier: Apache-2.0
// Uprobes as trace events (kernel/trace/trace_uprobe.c): uprobe_events, and the probes that the PMU "uprobe" makes for its
// events. UPR-083 to 101.
#pragma once

#include "kernel_events/trace/dynevent.h"
#include "kernel_events/uprobes.h"

namespace rkperf::ke {

struct TraceUprobe final : TraceProbe {
    UprobeConsumer consumer;
    std::shared_ptr<ProbedInode> inode; ///< keeps the file, whatever its name leads to
    bool registered{};
    std::string filename;
    std::uint64_t offset{}, ref_ctr_offset{};
    std::string place() const override;
};

class TraceUprobes final : public DynEventKind {
  public:
    TraceUprobes(Perf::Impl& perf, Uprobes& uprobes, UprobeServices& services, TraceEvents& events, DynEvents& dynamic);

    int create(std::vector<std::string> argv) override;
    int release(TraceProbe& probe) override;
    std::string profile() const;

    // --- PMU "uprobe" ---
    int perf_uprobe_init(PerfEvent& event, std::uint64_t ref_ctr_offset, bool is_return);
    void perf_uprobe_destroy(PerfEvent& event);

  private:
    std::unique_ptr<TraceUprobe> alloc(std::string group, std::string event, bool is_return);
    void bind(TraceUprobe& tu);
    int register_trace_uprobe(ProbeParse& parse, std::unique_ptr<TraceUprobe> tu);
    int append(ProbeParse& parse, std::unique_ptr<TraceUprobe> tu, TraceUprobe& to);
    int reg(TraceProbeEvent& event, TraceReg what, PerfEvent* perf_event);
    int probe_event_enable(TraceProbeEvent& event, bool trace);
    void probe_event_disable(TraceProbeEvent& event, bool trace);
    void unregister_all(TraceProbeEvent& event);
    int uprobe_perf_open(TraceProbeEvent& event, PerfEvent& perf_event);
    int uprobe_perf_close(TraceProbeEvent& event, PerfEvent& perf_event);
    int dispatch(TraceUprobe& tu, PtRegs& regs);
    void dispatch_return(TraceUprobe& tu, std::uint64_t func, PtRegs& regs);
    void emit(TraceUprobe& tu, std::uint64_t func, std::uint64_t bp_addr, PtRegs& regs);

    Perf::Impl& perf_;
    Kernel& k_;
    Uprobes& uprobes_;
    UprobeServices& s_;
    TraceEvents& events_;
    DynEvents& dynamic_;
    std::list<std::unique_ptr<TraceUprobe>> local_; ///< of the PMU's events
};

} // namespace rkperf::ke
