// SPDX-License-Identifier: Apache-2.0
// PMU interrupts that are NMIs: asked for first, a level of their own, and in the middle of what others write with
// interrupts masked.
#include "tests/kernel_events/ring.h"

namespace rkperf::ke::test::nmi_test {

bool logged(World& w, std::string_view text) {
    return std::any_of(w.k.log.begin(), w.k.log.end(),
                       [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

TEST_CASE("the PMU's interrupt is an NMI where there are such, else an ordinary one", "[ARMPMU-031][ARMPMU-032]") {
    World irq;
    CHECK_FALSE(irq.p().armpmu_has_nmi);
    CHECK(logged(irq, "7 counters available"));
    CHECK_FALSE(logged(irq, "using NMIs"));
    CHECK_FALSE(irq.k.cpu(0).irq_is_nmi);
    World nmi(2, {}, true);
    CHECK(nmi.p().armpmu_has_nmi);
    CHECK(logged(nmi, "7 counters available, using NMIs"));
    for (int c = 0; c < 2; ++c) {
        CHECK(nmi.k.cpu(c).irq_is_nmi);
        CHECK(nmi.k.cpu(c).handlers.size() == 1);
    }
}

TEST_CASE("no interrupt is asked for as number 0", "[ARMPMU-033]") {
    World w(2, {{"armv8_pmuv3", 3, {}, 0, {}}});
    CHECK(w.k.cpu(0).handlers.empty());
    CHECK(w.k.shared_irqs.empty());
    CHECK(w.try_open(World::hw(kCycles)) == 0);
}

perf_event_attr sampled_cycles() {
    perf_event_attr a = World::hw(kCycles);
    a.exclude_kernel = 0;
    a.sample_period = 1000;
    a.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN;
    return a;
}

TEST_CASE("an NMI is a level of its own; a sample taken at it wakes its readers later", "[RB-078][RB-076]") {
    World w(1, {}, true);
    perf_event_attr a = sampled_cycles();
    a.wakeup_events = 1;
    const int fd = w.must_open(World::on(a));
    Ring ring(w, fd, 8);
    auto& waiters = static_cast<FakeWaitQueue&>(*w.event(fd).waitq);
    w.k.here().nmi = 1;
    CHECK(w.p().interrupt_context_level() == 3);
    w.k.here().nmi = 0;
    const bool was = w.k.local_irq_save();
    w.k.count(0, kCycles, 1000, 1);
    CHECK(ring.head() == 0);
    // The recursion guards of the levels below do not keep it out.
    w.p().this_cpu().callchain_recursion = {1, 1, 1, 0};
    CHECK(w.k.take_nmi());
    w.p().this_cpu().callchain_recursion = {};
    const Record r = ring.must_next();
    CHECK(r.header.type == PERF_RECORD_SAMPLE);
    CHECK(r.word(2) > 0);
    // irq_work is for the time when interrupts are on again.
    const unsigned before = waiters.wakeups;
    CHECK(w.event(fd).pending_irq.pending);
    w.k.local_irq_restore(was);
    CHECK(waiters.wakeups == before + 1);
}

/// SWITCH records are written with interrupts masked. At the n-th place at which something can come in between, the
/// counter wraps.
struct Interrupted {
    std::vector<Record> records;
    std::uint64_t switches_id{}, cycles_id{};
    bool came{}, in_a_write{};
};
Interrupted switch_interrupted_at(unsigned n) {
    World w(1, {}, true);
    perf_event_attr a = World::sw(PERF_COUNT_SW_DUMMY);
    a.context_switch = a.sample_id_all = 1;
    a.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID;
    const int switches = w.must_open(World::on(a), -1, 0);
    const int cycles = w.must_open(World::on(sampled_cycles()), -1, 0);
    Ring ring(w, switches, 8);
    REQUIRE(w.ioctl(cycles, PERF_EVENT_IOC_SET_OUTPUT, static_cast<std::uint64_t>(switches)) == 0);
    Interrupted result;
    result.switches_id = w.event(switches).id;
    result.cycles_id = w.event(cycles).id;
    unsigned at = 0;
    w.k.time_passes = [&] {
        if (w.k.here().nmi || !w.k.here().masked || at++ != n) return;
        w.k.count(0, kCycles, 1000, 1);
        result.in_a_write = ring.rb().nest > 0;
        result.came = w.k.take_nmi();
    };
    FakeTask& other = w.k.make_task(200, "other");
    w.k.switch_to(0, &other);
    w.k.time_passes = nullptr;
    result.records = ring.drain();
    return result;
}

TEST_CASE("an NMI may write in the middle of a record that is written with interrupts masked",
          "[RB-027][RB-035][RB-036][RB-038][RB-078]") {
    unsigned came = 0, inside = 0;
    for (unsigned n = 0;; ++n) {
        const Interrupted i = switch_interrupted_at(n);
        const std::size_t samples = count_type(i.records, PERF_RECORD_SAMPLE);
        CAPTURE(n);
        // Out of one task and into the other.
        CHECK(count_type(i.records, PERF_RECORD_SWITCH_CPU_WIDE) == 2);
        CHECK(samples == (i.came ? 1 : 0));
        CHECK(i.records.size() == samples + 2);
        for (const Record& r : i.records) {
            const bool sample = r.header.type == PERF_RECORD_SAMPLE;
            CHECK(r.word(sample ? 0 : r.words() - 1) == (sample ? i.cycles_id : i.switches_id));
        }
        came += i.came;
        inside += i.came && i.in_a_write;
        if (n > 20 && !i.came) break;
    }
    CHECK(came > 20);
    CHECK(inside > 4);
}

} // namespace rkperf::ke::test::nmi_test
