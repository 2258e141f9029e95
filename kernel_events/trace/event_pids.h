// SPDX-License-Identifier: Apache-2.0
// Whose events go into ftrace's buffer: set_event_pid, set_event_notrace_pid and the option event-fork (trace_events.c,
// trace_pid.c). perf's events have nothing to do with it.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace rkperf::ke {

struct TraceEventCall;

class EventPids {
  public:
    enum class List : std::uint8_t { only, except };

    /// One pid a line.
    std::string text(List list) const;
    /// Adds pids, divided by blanks, or none of them: -EINVAL.
    int store(List list, std::string_view text);
    void clear(List list) { set(list).clear(); }

    bool event_fork{}; ///< children of listed tasks are listed, too, and ended ones no longer
    void forked(std::int32_t parent, std::int32_t child);
    void freed(std::int32_t pid);

    /// Whether a record is left out that is made while `current` runs.
    bool ignores(const TraceEventCall& call, std::span<const std::uint8_t> record, std::int32_t current) const {
        return (!only_.empty() || !except_.empty()) && ignores_listed(call, record, current);
    }

  private:
    std::set<std::int32_t>& set(List list) { return list == List::only ? only_ : except_; }
    bool ignores_task(std::int32_t pid) const;
    bool ignores_listed(const TraceEventCall& call, std::span<const std::uint8_t> record, std::int32_t current) const;

    std::set<std::int32_t> only_, except_;
};

} // namespace rkperf::ke
