// SPDX-License-Identifier: Apache-2.0
// Events that are defined while the kernel runs (kernel/trace/trace_dynevent.c): the list behind uprobe_events,
// kprobe_events and dynamic_events, and what the kinds of probes share.
#pragma once

#include "kernel_events/trace/trace_probe.h"

#include <list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rkperf::ke {

/// What a file of tracefs takes when it is opened with O_TRUNC, beside the texts of writes (which may be empty).
inline constexpr std::string_view kTruncated{};
inline bool is_truncated(std::string_view text) { return text.data() == nullptr; }

/// struct trace_probe_event with the filter of perf events (struct trace_uprobe_filter): one event, one or more places.
struct TraceProbeEvent {
    TraceEventCall call;
    std::vector<struct TraceProbe*> probes;
    bool flag_trace{}, flag_profile{}; ///< TP_FLAG_TRACE, TP_FLAG_PROFILE
    int nr_systemwide{};
    std::vector<PerfEvent*> perf_events; ///< of tasks
    bool enabled() const { return flag_trace || flag_profile; }
};

/// A place with its arguments (struct trace_probe with struct dyn_event).
struct TraceProbe {
    virtual ~TraceProbe() = default;
    std::shared_ptr<TraceProbeEvent> event;
    std::vector<ProbeArg> args;
    unsigned size{}; ///< bytes of the arguments, strings not counted
    bool is_return{};
    std::uint64_t nhit{};

    unsigned head() const { return kTraceEntrySize + (is_return ? 16u : 8u); }
    const std::string& name() const { return event->call.name; }
    const std::string& group() const { return event->call.system; }
    /// The place as written in a definition, without arguments.
    virtual std::string place() const = 0;
    /// The line that defines it.
    virtual std::string show() const;
    /// Whether the words behind a "-:NAME" mean it.
    bool match(std::string_view system, std::string_view event_name, std::span<const std::string> words) const;
    /// Fills in fields, print_fmt and flags of a new event.
    void describe(unsigned flags);
};

/// Definitions of one kind. Implemented by TraceUprobes and TraceKprobes.
class DynEventKind {
  public:
    virtual ~DynEventKind() = default;
    /// -ECANCELED: not of this kind.
    virtual int create(std::vector<std::string> argv) = 0;
    /// Removes a probe; -EBUSY.
    virtual int release(TraceProbe& probe) = 0;
};

/// The list of definitions and the texts written to its files.
class DynEvents {
  public:
    explicit DynEvents(TraceEvents& events) : events_(events) {}

    void add(DynEventKind& kind, std::unique_ptr<TraceProbe> probe) { list_.push_back({&kind, std::move(probe)}); }
    void remove(const TraceProbe& probe);
    /// The first probe of that event and kind.
    TraceProbe* find(const DynEventKind& kind, std::string_view event, std::string_view group) const;
    template <class Fn>
    void for_each(const DynEventKind* kind, Fn&& fn) const {
        for (const Entry& e : list_)
            if (!kind || e.kind == kind) fn(*e.probe);
    }
    std::string show(const DynEventKind* kind) const;
    /// What was written to a file: lines, each a definition or a deletion; nothing at all clears the list (O_TRUNC).
    int store(std::string_view text, std::span<DynEventKind* const> kinds);

  private:
    struct Entry {
        DynEventKind* kind;
        std::unique_ptr<TraceProbe> probe;
    };
    int release_all(std::span<DynEventKind* const> kinds);
    int run(std::string_view line, std::span<DynEventKind* const> kinds);
    int release(std::vector<std::string> argv, std::span<DynEventKind* const> kinds);

    TraceEvents& events_;
    std::list<Entry> list_;
};

} // namespace rkperf::ke
