// SPDX-License-Identifier: Apache-2.0
// Renders a trace event's record by its "print fmt" (what trace_raw_output_NAME does in the kernel, where a compiler reads it).
#pragma once

#include "kernel_events/trace/trace_field.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rkperf::ke {

/// What a text needs to know of the kernel beyond the record.
struct PrintFmtSymbols {
    std::function<std::string(std::uint64_t)> symbol; ///< "name+0xoffset/0xsize" for %pS
    std::function<std::string(std::uint64_t)> string; ///< of a `const char *` field
};

/// The text without the event's name and without a newline. What cannot be read in `fmt` is shown as "[FAILED TO PARSE]"
/// followed by the fields, as libtraceevent does. `fields`: the event's own.
std::string render_print_fmt(std::string_view fmt, std::span<const TraceField> fields,
                             std::span<const std::uint8_t> record, const PrintFmtSymbols& symbols);

} // namespace rkperf::ke
