// SPDX-License-Identifier: Apache-2.0
// Inside of event filters: the tree that a text becomes.
#pragma once

#include "kernel_events/trace/event_filter.h"

#include <memory>
#include <string>
#include <vector>

namespace rkperf::ke {

enum class FilterOp : std::uint8_t { glob, ne, eq, le, lt, ge, gt, band };
enum class RegexType : std::uint8_t { full, front, middle, end, glob };

struct FilterPredicate {
    const TraceField* field{};
    FilterOp op{};
    bool is_string{};
    bool ustring{}; ///< FIELD.ustring: the pointer is a user's
    bool negated{}; ///< of strings only
    RegexType regex{};
    std::string pattern;
    std::uint64_t value{};
    bool match(Kernel& kernel, std::span<const std::uint8_t> record) const;
};

struct EventFilter::Node {
    enum class Kind : std::uint8_t { predicate, all, any };
    Kind kind{};
    bool inverted{};
    FilterPredicate predicate;
    std::vector<std::unique_ptr<Node>> parts;
    bool match(Kernel& kernel, std::span<const std::uint8_t> record) const;
};

/// event_filter_parse.cpp. Null and `error` if the text is wrong.
std::unique_ptr<EventFilter::Node> parse_filter(const TraceEventCall& call, std::string_view text, FilterError& error);

} // namespace rkperf::ke
