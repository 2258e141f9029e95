// SPDX-License-Identifier: Apache-2.0
// A field of a trace event's record (struct ftrace_event_field).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rkperf::ke {

/// How a filter reads a field (FILTER_* of linux/trace_events.h).
enum class FilterType : std::uint8_t {
    other,         ///< a number
    static_string, ///< char[n]
    dyn_string,    ///< __data_loc char[]: u32, offset in the low half, length in the high half
    rdyn_string,   ///< __rel_loc char[]: the same, relative to its end
    ptr_string,    ///< char *: the address of a string
    cpu,           ///< the CPU it happened on
    comm           ///< the name of current
};

/// The filter type that a field of C type `type` has.
FilterType filter_assign_type(std::string_view type);

struct TraceField {
    std::string type; ///< as in C, arrays as "char[16]"
    std::string name;
    unsigned offset{}, size{}; ///< bytes
    bool is_signed{};
    FilterType filter_type{};
};

/// A field with the filter type that follows from its type.
inline TraceField trace_field(std::string type, std::string name, unsigned offset, unsigned size, bool is_signed) {
    const FilterType filter = filter_assign_type(type);
    return {std::move(type), std::move(name), offset, size, is_signed, filter};
}

/// The fields that every record begins with: common_type, common_flags, common_preempt_count, common_pid.
struct TraceEntry {
    std::uint16_t type;
    std::uint8_t flags, preempt_count;
    std::int32_t pid;
};
static_assert(sizeof(TraceEntry) == 8);
/// TraceEntry::flags.
inline constexpr std::uint8_t TRACE_FLAG_IRQS_OFF = 0x01, TRACE_FLAG_NEED_RESCHED = 0x04, TRACE_FLAG_HARDIRQ = 0x08,
                              TRACE_FLAG_SOFTIRQ = 0x10, TRACE_FLAG_PREEMPT_RESCHED = 0x20, TRACE_FLAG_NMI = 0x40;

} // namespace rkperf::ke
