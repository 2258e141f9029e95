// SPDX-License-Identifier: Apache-2.0
// Kprobes as trace events (kernel/trace/trace_kprobe.c): kprobe_events, and the probes that the PMU "kprobe" makes for its
// events.
#pragma once

#include "kernel_events/kprobes.h"
#include "kernel_events/trace/dynevent.h"

namespace rkperf::ke {

struct TraceKprobe final : TraceProbe {
    Kprobe kprobe;
    std::optional<Kprobes::Place> at; ///< none: nothing is at the address, or the module is not there
    bool registered{};
    bool by_address{};
    std::string symbol;
    std::string place() const override;
    std::string show() const override;
};

class TraceKprobes final : public DynEventKind {
  public:
    TraceKprobes(Perf::Impl& perf, Kprobes& kprobes, TraceEvents& events, DynEvents& dynamic);

    int create(std::vector<std::string> argv) override;
    int release(TraceProbe& probe) override;
    std::string profile() const;

    // --- PMU "kprobe" ---
    int perf_kprobe_init(PerfEvent& event, bool is_return);
    void perf_kprobe_destroy(PerfEvent& event);

  private:
    std::unique_ptr<TraceKprobe> alloc(std::string group, std::string event, bool is_return);
    int register_probe(TraceKprobe& tk);
    int register_or_wait(ProbeParse& parse, TraceKprobe& tk);
    void unregister_probe(TraceKprobe& tk);
    int register_trace_kprobe(ProbeParse& parse, std::unique_ptr<TraceKprobe> tk);
    int append(ProbeParse& parse, std::unique_ptr<TraceKprobe> tk, TraceKprobe& to);
    int enable(TraceProbeEvent& event, TraceReg what);
    void dispatch(TraceKprobe& tk, PtRegs& regs);
    void dispatch_return(TraceKprobe& tk, std::uint64_t ret_addr, PtRegs& regs);
    void emit(TraceKprobe& tk, std::uint64_t first, std::uint64_t second, PtRegs& regs);

    Kernel& k_;
    Kprobes& kprobes_;
    TraceEvents& events_;
    DynEvents& dynamic_;
    std::list<std::unique_ptr<TraceKprobe>> local_;
};

} // namespace rkperf::ke
