// SPDX-License-Identifier: Apache-2.0
// The records of the trace events of trace_events.def, one structure each: trace_event_raw_NAME.
#pragma once

#include "kernel_events/trace/trace_field.h"

#include <sys/types.h>
#include <cstdint>

namespace rkperf::ke {

static_assert(sizeof(long) == 8 && sizeof(void*) == 8, "records are those of a 64-bit kernel");

#define FIELD(type, name) type name;
#define FIELD_AS(text, type, member, name) type member;
#define ARRAY(type, name, n) type name[n];
#define DATA_LOC(text, name) std::uint32_t __data_loc_##name;
#define TRACE_EVENT(system, name, id, fields, fmt) \
    struct trace_event_raw_##name { \
        TraceEntry ent; \
        fields \
    };
#include "kernel_events/trace/trace_events.def"
#undef TRACE_EVENT
#undef DATA_LOC
#undef ARRAY
#undef FIELD_AS
#undef FIELD

/// The records of syscalls:sys_enter_* and sys_exit_*.
struct syscall_trace_enter {
    TraceEntry ent;
    std::int32_t nr;
    // unsigned long args[] from here on
};
struct syscall_trace_exit {
    TraceEntry ent;
    std::int32_t nr;
    std::int64_t ret;
};

} // namespace rkperf::ke
