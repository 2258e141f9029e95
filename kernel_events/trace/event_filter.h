// SPDX-License-Identifier: Apache-2.0
// Filters of trace events (kernel/trace/trace_events_filter.c): "prev_pid == 12 && next_comm ~ \"ls*\"" (CORE-477).
#pragma once

#include "kernel_events/kernel.h"
#include "kernel_events/trace/trace_field.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace rkperf::ke {

struct TraceEventCall;

/// What is wrong with a filter's text.
struct FilterError {
    int result{};           ///< negative errno; the grammar's own -1, -2, -3 come out as EPERM, ENOENT, ESRCH
    const char* text{};     ///< what tracefs shows; null: only the number
    std::size_t position{}; ///< of the mark below the text
};

class EventFilter {
  public:
    /// Null if `text` is wrong; `error` says why.
    static std::shared_ptr<const EventFilter> create(const TraceEventCall& call, std::string_view text,
                                                     FilterError& error);
    ~EventFilter();
    /// Whether a record passes, on this CPU and for current (filter_match_preds).
    bool match(Kernel& kernel, std::span<const std::uint8_t> record) const;
    /// A filter file's contents after a wrong text.
    static std::string describe(std::string_view text, const FilterError& error);

    struct Node;

  private:
    explicit EventFilter(std::unique_ptr<Node> root);
    std::unique_ptr<Node> root_;
};

/// The field a filter means by `name`: the event's own, then CPU and COMM, then the common ones. Null: none.
const TraceField* trace_find_event_field(const TraceEventCall& call, std::string_view name);
/// common_type, common_flags, common_preempt_count, common_pid.
std::span<const TraceField> trace_common_fields();

/// Shell-like pattern with *, ?, [a-z], [!a-z] and backslash, over at most text.size() characters up to a NUL.
bool glob_match_len(std::string_view pattern, std::string_view text);

} // namespace rkperf::ke
