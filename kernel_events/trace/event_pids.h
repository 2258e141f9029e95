// SPDX-License-Identifier: Apache-2.0
// Whose events go into ftrace's buffer: set_event_pid, set_event_notrace_pid and the option event-fork (trace_events.c,
// trace_pid.c). perf's events have nothing to do with it.
#pragma once

#include <cstdint>
#include <optional>
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
    /// Adds pids, divided by blanks, or none of them: -EINVAL. With none in it there is no list any more.
    int store(List list, std::string_view text);
    void clear(List list) { set(list).reset(); }

    bool event_fork{}; ///< children of listed tasks are listed, too, and ended ones no longer
    void forked(std::int32_t parent, std::int32_t child);
    void freed(std::int32_t pid);

    /// Whether a record is left out that is made while `current` runs.
    bool ignores(const TraceEventCall& call, std::span<const std::uint8_t> record, std::int32_t current) const {
        return (only_ || except_) && ignores_listed(call, record, current);
    }

  private:
    /// A list whose last task has ended is empty, but there.
    using Pids = std::optional<std::set<std::int32_t>>;
    Pids& set(List list) { return list == List::only ? only_ : except_; }
    bool missing(std::int32_t pid) const { return only_ && !only_->count(pid); }
    bool excepted(std::int32_t pid) const { return except_ && except_->count(pid); }
    bool ignores_task(std::int32_t pid) const { return missing(pid) || excepted(pid); }
    bool ignores_listed(const TraceEventCall& call, std::span<const std::uint8_t> record, std::int32_t current) const;

    Pids only_, except_;
};

} // namespace rkperf::ke
