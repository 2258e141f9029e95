// SPDX-License-Identifier: Apache-2.0
// What writing a sample costs, beside what was measured on a real Linux 6.1 arm64 (figures of overflow samples that
// differ in one thing).
#include "tests/kernel_events/ring.h"

namespace rkperf::ke::test::output_cost {

struct Options {
    std::uint64_t sample_type{PERF_SAMPLE_IP};
    unsigned wakeup_events{};
    unsigned frames{}; ///< frame records of the user's chain
};

/// Instructions of an overflow's handling by perf and the driver.
std::uint64_t overflow(const Options& o) {
    World w;
    perf_event_attr a = World::hw(kInstructions);
    a.sample_period = 1000;
    a.sample_type = o.sample_type;
    a.wakeup_events = o.wakeup_events;
    if (o.sample_type & PERF_SAMPLE_REGS_USER) a.sample_regs_user = (1ull << 33) - 1;
    if (o.sample_type & PERF_SAMPLE_STACK_USER) a.sample_stack_user = 8192;
    const int fd = w.must_open(a);
    Ring ring(w, fd, 64);
    w.enable(fd);
    const std::uint64_t s = w.k.alloc_user(16 * 64);
    for (unsigned i = 0; i < o.frames; ++i) {
        const std::uint64_t record[2] = {i + 1 < o.frames ? s + 16 * (i + 1) : 0, 0x2000};
        std::memcpy(w.k.user_ptr(s + 16 * i), record, sizeof record);
    }
    w.k.user_regs.regs[29] = o.frames ? s : 0;
    w.k.user_regs.sp = FakeKernel::kUserBase + 100'000;
    const std::uint64_t before = w.k.charged;
    w.k.count(0, EventNumber(kInstructions), 1000);
    REQUIRE(ring.drain().size() == 1);
    return w.k.charged - before;
}

constexpr std::uint64_t kBase = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD;
constexpr double kTolerance = 0.01;

TEST_CASE("costs of the fields of a sample", "[cost]") {
    const auto base = static_cast<double>(overflow({kBase}));
    const auto more = [&](std::uint64_t bits, unsigned frames = 0) {
        return static_cast<double>(overflow({kBase | bits, 0, frames})) - base;
    };
    CHECK(base - static_cast<double>(overflow({})) == Approx(2167 - 1848).epsilon(kTolerance));
    // Entries: the marker, the interrupted place, then one for each record.
    CHECK(more(PERF_SAMPLE_CALLCHAIN, 5) == Approx(675.5).epsilon(kTolerance));
    CHECK(more(PERF_SAMPLE_CALLCHAIN, 10) == Approx(1060.8).epsilon(kTolerance));
    CHECK(more(PERF_SAMPLE_CALLCHAIN, 25) == Approx(2212.5).epsilon(kTolerance));
    CHECK(more(PERF_SAMPLE_READ) == Approx(110).epsilon(kTolerance));
    const double regs = more(PERF_SAMPLE_REGS_USER);
    CHECK(regs == Approx(5397 - 2167).epsilon(kTolerance));
    CHECK(more(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER) - regs == Approx(8249 - 5094).epsilon(kTolerance));
}

TEST_CASE("cost of a wakeup for each sample", "[cost]") {
    // 1,190, of which 451 are the self-interrupt's entry, exit and dispatch, which the kernel around perf charges.
    const auto wakeup = static_cast<double>(overflow({kBase, 1}) - overflow({kBase}));
    CHECK(wakeup == Approx(1190 - 451).epsilon(kTolerance));
}

TEST_CASE("cost of the output of a sample with its IP only", "[cost]") {
    World w;
    const int fd = w.must_open(fault_attr(PERF_SAMPLE_IP));
    Ring ring(w, fd, 1);
    PerfSampleData data;
    perf_sample_data_init(data, 0, 1);
    const std::uint64_t before = w.k.charged;
    w.p().perf_event_output_forward(w.event(fd), data, w.k.user_regs);
    CHECK(w.k.charged - before == 546);
}

} // namespace rkperf::ke::test::output_cost
