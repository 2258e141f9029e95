// SPDX-License-Identifier: Apache-2.0
// Trace events: the table behind tracefs' events/ and what a hit of one does for the perf events attached to it
// (include/linux/trace_events.h, kernel/trace/trace_events.c and trace_event_perf.c; CORE-473 to 478).
//
// A dynamic event (kprobe_events, uprobe_events, the PMUs "kprobe" and "uprobe") plugs in like this:
//
//     TraceEventCall call;                       // owned by the probe; must not move
//     call.system = "uprobes"; call.name = "p_main"; call.flags = TRACE_EVENT_FL_UPROBE | TRACE_EVENT_FL_DYNAMIC;
//     call.fields = {trace_field("unsigned long", "__probe_ip", 8, 8, false), ...};   // offsets count the common fields
//     call.print_fmt = "\"(%lx)\", REC->__probe_ip";
//     call.reg = [](TraceReg what, PerfEvent* event) { ... return 0; };
//     perf.trace_events().trace_add_event_call(call);     // id, tracefs folder; not for probes of the PMUs, whose event_init
//     perf.trace_events().perf_trace_event_init(call, event);  // takes the call as it is
//
// and at a hit:
//
//     if (PerfTraceBuf buf = events.perf_trace_buf_alloc(size_of_record)) {
//         std::memcpy(buf.record() + 8, ...);   // behind the common fields, which submitting fills in
//         events.perf_trace_buf_submit(buf, call, 1, regs);
//     }
//
// A PMU of tracing events derives from TracingPmu (kernel_events/pmu/tracing_pmu.h).
#pragma once

#include "kernel_events/perf_event.h"
#include "kernel_events/trace/event_pids.h"
#include "kernel_events/trace/trace_field.h"

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rkperf::ke {

class EventFilter;

/// Why TraceEventCall::reg is called (enum trace_reg). The PerfEvent is given with perf_open, perf_close, perf_add, perf_del.
enum class TraceReg : std::uint8_t {
    register_,       ///< the event's `enable` file was set
    unregister,      ///< ... and cleared
    perf_register,   ///< the first perf event attaches
    perf_unregister, ///< the last one has gone
    perf_open,       ///< each perf event; an error refuses it
    perf_close,
    perf_add, ///< scheduled in; 1: the call keeps its own list, 0: put it into perf_events
    perf_del
};

/// TraceEventCall::flags.
inline constexpr unsigned TRACE_EVENT_FL_CAP_ANY = 0x2, ///< a user may have RAW data of his own tasks
    TRACE_EVENT_FL_TRACEPOINT = 0x10, TRACE_EVENT_FL_DYNAMIC = 0x20, TRACE_EVENT_FL_KPROBE = 0x40,
                          TRACE_EVENT_FL_UPROBE = 0x80;

/// struct trace_event_call.
struct TraceEventCall {
    std::string system, name;
    int type{};                     ///< the id: 0 until trace_add_event_call has given it one, unless it is set before
    std::vector<TraceField> fields; ///< without the common fields
    std::string print_fmt;          ///< what follows "print fmt: "
    unsigned flags{};
    std::function<int(TraceReg, PerfEvent*)> reg;
    std::function<int(PerfEvent&)> perf_perm; ///< may be empty

    // kept by TraceEvents
    bool listed{};  ///< in the table
    bool enabled{}; ///< by its `enable` file
    bool was_enabled{};
    int perf_refcount{};
    std::vector<std::shared_ptr<class BpfProg>> prog_array;           ///< programs attached to it, in order
    std::array<EventList<EventListKind::hash>, kMaxCpus> perf_events; ///< scheduled in on each CPU, newest first
    std::string filter_text;                                          ///< of its `filter` file, "" if there is none
    std::shared_ptr<const EventFilter> filter;

    bool busy() const { return enabled || perf_refcount; }
};

/// The buffer for one record: one per CPU and context level. Destroying it without submitting drops the record.
class PerfTraceBuf {
  public:
    PerfTraceBuf() = default;
    PerfTraceBuf(Perf::Impl& perf, std::vector<std::uint8_t>& data, int rctx)
        : perf_(&perf), data_(&data), rctx_(rctx) {}
    PerfTraceBuf(PerfTraceBuf&& o) noexcept : perf_(o.perf_), data_(o.data_), rctx_(o.rctx_) { o.data_ = nullptr; }
    PerfTraceBuf& operator=(PerfTraceBuf&&) = delete;
    PerfTraceBuf(const PerfTraceBuf&) = delete;
    PerfTraceBuf& operator=(const PerfTraceBuf&) = delete;
    ~PerfTraceBuf();

    explicit operator bool() const { return data_; }
    std::uint8_t* record() { return data_->data(); }
    std::vector<std::uint8_t>& data() { return *data_; }

  private:
    Perf::Impl* perf_{};
    std::vector<std::uint8_t>* data_{};
    int rctx_{};
};

/// Largest record (PERF_MAX_TRACE_SIZE).
inline constexpr std::size_t PERF_MAX_TRACE_SIZE = 8192;
/// Bytes of the common fields (struct trace_entry).
inline constexpr unsigned kTraceEntrySize = 8;

class TraceBuffer;

class TraceEvents {
  public:
    explicit TraceEvents(Perf::Impl& perf);
    ~TraceEvents();
    TraceEvents(const TraceEvents&) = delete;
    TraceEvents& operator=(const TraceEvents&) = delete;

    // --- the table ---
    /// Lists the event: gives it an id if it has none, and a folder in tracefs. -EEXIST: the name is taken.
    int trace_add_event_call(TraceEventCall& call);
    /// -EBUSY while a perf event is attached or it is enabled.
    int trace_remove_event_call(TraceEventCall& call);
    TraceEventCall* find(int type) const;
    TraceEventCall* find(std::string_view system, std::string_view name) const;
    /// In order of listing.
    const std::vector<TraceEventCall*>& calls() const { return calls_; }
    using System = std::map<std::string, TraceEventCall*, std::less<>>;
    const std::map<std::string, System, std::less<>>& systems() const { return systems_; }

    // --- the files of tracefs (see sim/os/fs/tracefs.cpp) ---
    static std::string format_text(const TraceEventCall& call);
    static std::string filter_text(const TraceEventCall& call);
    int store_filter(TraceEventCall& call, std::string_view text);
    int store_system_filter(std::string_view system, std::string_view text);
    static std::string system_filter_text();
    int store_enable(TraceEventCall& call, bool on);
    /// "0", "1", "X" for some of them; an empty system: all.
    std::string enable_text(std::string_view system) const;
    int store_system_enable(std::string_view system, bool on);
    /// set_event: "SYS:EV", "SYS:*", "EV", with '!' before it to clear.
    int store_set_event(std::string_view text);
    /// error_log: what was wrong with a command written to tracefs; the last eight. `loc` says whose, as "trace_uprobe".
    void tracing_log_err(std::string_view loc, std::string_view cmd, std::string_view error, std::size_t pos);
    std::string error_log_text() const;
    void clear_error_log() { error_log_.clear(); }

    // --- perf events attached to them ---
    /// For attr.config as an id: PERF_TYPE_TRACEPOINT's event_init. Sets event.tp_event.
    int perf_trace_init(PerfEvent& event);
    /// Permission, registration and opening for a given call.
    int perf_trace_event_init(TraceEventCall& call, PerfEvent& event);
    void perf_trace_destroy(PerfEvent& event);
    int perf_trace_add(PerfEvent& event, int flags);
    void perf_trace_del(PerfEvent& event, int flags);
    /// PERF_EVENT_IOC_SET_FILTER.
    int ftrace_profile_set_filter(PerfEvent& event, std::string_view text);

    // --- hits ---
    /// Room for a record of `size` bytes, common fields included, zeroed; rounded up so that it and the u32 before it fill
    /// words of 8 bytes. Empty if this level of context is already inside a hit, or the record is too large.
    PerfTraceBuf perf_trace_buf_alloc(std::size_t size);
    /// Fills in the common fields and delivers to the events on this CPU, and to those of `task` if it is another one.
    /// `count` is what the hit weighs.
    void perf_trace_buf_submit(PerfTraceBuf& buf, TraceEventCall& call, std::uint64_t count, PtRegs& regs,
                               TaskBase* task = nullptr);
    /// Runs the BPF programs of a kprobe or uprobe on its registers; false: nobody is to hear of the hit.
    bool trace_call_bpf(TraceEventCall& call, PtRegs& regs);
    /// Whether a hit on this CPU would be seen by anybody there.
    bool perf_events_here(const TraceEventCall& call) const;
    /// The same, ftrace's own buffer included.
    bool wanted_here(const TraceEventCall& call) const { return call.enabled || perf_events_here(call); }
    /// As perf_trace_buf_submit, for ftrace's buffer alone.
    void ftrace_buf_submit(PerfTraceBuf& buf, TraceEventCall& call);
    TraceBuffer& buffer() { return *buffer_; }
    EventPids& pids() { return pids_; }

    Mutex& event_mutex();

  private:
    int perf_trace_event_perm(TraceEventCall& call, PerfEvent& event);
    int perf_trace_event_reg(TraceEventCall& call, PerfEvent& event);
    void perf_trace_event_unreg(TraceEventCall& call);
    bool perf_tp_event_match(PerfEvent& event, std::span<const std::uint8_t> record, const PtRegs& regs);
    void perf_tp_event(TraceEventCall& call, std::uint64_t count, const std::vector<std::uint8_t>& record, PtRegs& regs,
                       TaskBase* task);
    void perf_trace_buf_update(std::span<std::uint8_t> record, int type);
    void write_ftrace(TraceEventCall& call, std::span<const std::uint8_t> record);
    int set_enabled(TraceEventCall& call, bool on);
    void compile_filter(TraceEventCall& call, std::string_view text, bool whole_system, int& result);
    /// Empty names match everything; `match` is a system's or an event's. -EINVAL: no event fits.
    int set_clr_event(std::string_view match, std::string_view system, std::string_view name, bool on);

    Perf::Impl& perf_;
    std::vector<TraceEventCall*> calls_;
    std::map<int, TraceEventCall*> by_type_;
    std::map<std::string, System, std::less<>> systems_;
    int next_type_{};
    std::array<std::array<std::vector<std::uint8_t>, 4>, kMaxCpus> perf_trace_buf_; ///< by CPU and context level
    std::deque<std::string> error_log_;
    std::unique_ptr<Mutex> event_mutex_;
    std::unique_ptr<TraceBuffer> buffer_;
    EventPids pids_;
};

} // namespace rkperf::ke
