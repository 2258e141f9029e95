// SPDX-License-Identifier: Apache-2.0
// The buffer that a hit of a probe writes its record into.
#include "tests/kernel_events/fixture.h"

using namespace rkperf::ke;
using namespace rkperf::ke::test;

TEST_CASE("A record is rounded up to words behind its u32 size, and refused beyond 8192 bytes", "[UPR-093]") {
    World w;
    TraceEvents& events = w.perf.trace_events();
    for (const auto& [size, room] : {std::pair{16u, 20u}, {20u, 20u}, {24u, 28u}, {8188u, 8188u}}) {
        PerfTraceBuf buf = events.perf_trace_buf_alloc(size);
        REQUIRE(buf);
        CHECK(buf.data().size() == room);
        CHECK(std::all_of(buf.data().begin(), buf.data().end(), [](std::uint8_t b) { return b == 0; }));
    }
    CHECK_FALSE(events.perf_trace_buf_alloc(8193));
    CHECK(std::any_of(w.k.log.begin(), w.k.log.end(),
                      [](const std::string& l) { return l.find("perf buffer not large enough") != l.npos; }));
}

TEST_CASE("A hit inside a hit at the same level of context is dropped", "[UPR-093]") {
    World w;
    TraceEvents& events = w.perf.trace_events();
    {
        const PerfTraceBuf outer = events.perf_trace_buf_alloc(16);
        REQUIRE(outer);
        CHECK_FALSE(events.perf_trace_buf_alloc(16));
        ++w.k.here().hardirq; // an interrupt's level is another
        CHECK(events.perf_trace_buf_alloc(16));
        --w.k.here().hardirq;
    }
    CHECK(events.perf_trace_buf_alloc(16));
}
