// SPDX-License-Identifier: Apache-2.0
// Nodes of the device tree: whose each interrupt is, and what is wrong with a node.
#include "kernel_events/pmu/arm_pmu_platform.h"
#include "tests/kernel_events/ring.h"

using namespace rkperf;
using namespace rkperf::ke;
using namespace rkperf::ke::test;

namespace arm_pmu_platform_test {

struct Parsed {
    int error;
    PmuIrqs irqs;
    std::vector<std::string> log;
};
Parsed parse(int cpus, const PmuNode& node) {
    FakeKernel k(cpus);
    Parsed p{};
    p.error = pmu_parse_irqs(k, node, p.irqs);
    p.log = k.log;
    return p;
}
std::vector<unsigned> irqs(const Parsed& p, unsigned cpus) { return {p.irqs.irq.begin(), p.irqs.irq.begin() + cpus}; }
using Irqs = std::vector<unsigned>;
using Log = std::vector<std::string>;
std::string said(const char* text) { return std::string("armv8-pmu pmu: hw perfevents: ") + text; }
const std::string kGuessing = said("no interrupt-affinity property, guessing.");

TEST_CASE("a node without interrupts: all CPUs, no sampling", "[ARMPMU-038]") {
    const Parsed p = parse(4, {"pmu", 0x3, {}, 0, {}});
    CHECK(p.error == 0);
    CHECK(p.irqs.no_interrupt);
    CHECK(p.irqs.supported_cpus == 0xf);
    CHECK(irqs(p, 4) == Irqs{0, 0, 0, 0});
    CHECK(p.log == Log{said("no irqs for PMU, sampling events not supported")});

    World w(4, {{"pmu", 0x3, {}, 0, {}}});
    CHECK(w.attribute("/sys/bus/event_source/devices/pmu/cpus") == "0-3\n");
    perf_event_attr a = World::hw(kCycles);
    CHECK(w.try_open(a, -1, 3) == 0);
    a.sample_period = 1000;
    CHECK(w.try_open(a, -1, 3) == EOPNOTSUPP);
    // The sysctl belongs to the driver, not to the interrupt.
    CHECK(w.attribute("/proc/sys/kernel/perf_user_access") == "0\n");
}

TEST_CASE("one interrupt of each CPU: those of its partition", "[ARMPMU-038]") {
    const Parsed p = parse(4, {"pmu", 0xc, {23}, 2, {}});
    CHECK(p.error == 0);
    CHECK_FALSE(p.irqs.no_interrupt);
    CHECK(p.irqs.supported_cpus == 0xc);
    CHECK(irqs(p, 4) == Irqs{0, 0, 23, 23});
    CHECK(p.log.empty());
    // CPUs of the partition that the machine does not have.
    CHECK(parse(3, {"pmu", 0xfc, {23}, 2, {}}).irqs.supported_cpus == 0x4);
    // An interrupt that cannot be had is none of a partition.
    const Parsed none = parse(4, {"pmu", 0xf, {0}, 0, {}});
    CHECK(none.irqs.supported_cpus == 0);
    CHECK(none.log.size() == 2);
}

TEST_CASE("shared interrupts go by interrupt-affinity", "[ARMPMU-038]") {
    const Parsed p = parse(4, {"pmu", 0xf, {260, 261}, 0, std::vector<int>{3, 1}});
    CHECK(p.error == 0);
    CHECK(p.irqs.supported_cpus == 0xa); // the partition is nothing to them
    CHECK(irqs(p, 4) == Irqs{0, 261, 0, 260});
    CHECK(p.log.empty());
}

TEST_CASE("without interrupt-affinity: CPU i for interrupt i, and a warning", "[ARMPMU-038]") {
    const Parsed p = parse(4, {"pmu", 0xf, {260, 261, 262}, 0, {}});
    CHECK(p.error == 0);
    CHECK(p.irqs.supported_cpus == 0x7);
    CHECK(irqs(p, 4) == Irqs{260, 261, 262, 0});
    CHECK(p.log == Log{kGuessing});
    // A single shared one, too; more than there are CPUs; and no guess where there is nothing to guess.
    CHECK(irqs(parse(2, {"pmu", 3, {260}, 0, {}}), 2) == Irqs{260, 0});
    CHECK(irqs(parse(2, {"pmu", 3, {260, 261, 262}, 0, {}}), 2) == Irqs{260, 261});
    CHECK(parse(1, {"pmu", 1, {260}, 0, {}}).log.empty());
}

TEST_CASE("an affinity that leads nowhere", "[ARMPMU-038]") {
    const Parsed bad = parse(4, {"pmu", 0xf, {260, 261}, 0, std::vector<int>{0, PmuNode::kBadPhandle}});
    CHECK(bad.error == -EINVAL);
    CHECK(bad.log == Log{said("failed to parse interrupt-affinity[1]")});
    const Parsed missing = parse(4, {"pmu", 0xf, {260, 261}, 0, std::vector<int>{0}});
    CHECK(missing.error == -EINVAL);
    CHECK(missing.log == Log{said("failed to parse interrupt-affinity[1]")});
    // A CPU that Linux does not know is passed over.
    const Parsed unknown = parse(4, {"pmu", 0xf, {260, 261}, 0, std::vector<int>{5, 2}});
    CHECK(unknown.error == 0);
    CHECK(unknown.irqs.supported_cpus == 0x4);
    CHECK(irqs(unknown, 4) == Irqs{0, 0, 261, 0});
    CHECK(unknown.log == Log{said("failed to find logical CPU for cpu")});
}

TEST_CASE("interrupts that do not go together", "[ARMPMU-038]") {
    for (const Irqs& mixed : {Irqs{260, 23}, Irqs{23, 24}}) {
        const Parsed p = parse(4, {"pmu", 0xf, mixed, 0, std::vector<int>{0, 1}});
        CHECK(p.error == -EINVAL);
        CHECK(p.log == Log{said("multiple PPIs or mismatched SPI/PPI detected")});
    }
    const Parsed twice = parse(4, {"pmu", 0xf, {260, 261}, 0, std::vector<int>{1, 1}});
    CHECK(twice.error == -EINVAL);
    CHECK(twice.log == Log{said("multiple PMU IRQs for the same CPU detected")});
    // One that cannot be had is passed over.
    const Parsed none = parse(4, {"pmu", 0xf, {0, 261}, 0, std::vector<int>{0, 1}});
    CHECK(none.error == 0);
    CHECK(irqs(none, 4) == Irqs{0, 261, 0, 0});
    CHECK(none.log == Log{"WARNING: pmu_parse_irqs: no interrupt 0"});
}

TEST_CASE("a node that is wrong gives no PMU, and the next one is looked at", "[ARMPMU-038][ARMPMU-039]") {
    World w(4, {{"bad", 0xf, {260, 23}, 0, {}}, {"good", 0xc, {23}, 2, {}}});
    CHECK(w.k.attributes.count("/sys/bus/event_source/devices/bad/type") == 0);
    CHECK(w.attribute("/sys/bus/event_source/devices/good/cpus") == "2-3\n");
    CHECK(w.k.shared_irqs.empty());
}

TEST_CASE("shared interrupts: affinity, request, and on at each CPU's start", "[ARMPMU-032][ARMPMU-035][ARMPMU-038]") {
    World w(2, {{"pmu", 0x3, {260, 261}, 0, std::vector<int>{1, 0}}});
    CHECK(w.k.shared_irqs ==
          Log{"affinity 261 0", "request 261", "affinity 260 1", "request 260", "enable 261", "enable 260"});
    perf_event_attr a = World::on(World::hw(kCycles));
    a.sample_period = 1000;
    a.sample_type = PERF_SAMPLE_IP;
    Ring ring(w, w.must_open(a), 1);
    w.k.count(0, kCycles, 1000);
    CHECK(ring.must_next().header.type == PERF_RECORD_SAMPLE);
    w.k.shared_irqs.clear();
    w.k.on_cpu(1);
    w.perf.cpu_dying(1);
    CHECK(w.k.shared_irqs == Log{"disable 260"});
    w.perf.cpu_starting(1);
    CHECK(w.k.shared_irqs == Log{"disable 260", "enable 260"});
    w.k.on_cpu(0);
}

TEST_CASE("shared interrupts may be NMIs", "[ARMPMU-032]") {
    World w(2, {{"pmu", 0x3, {260, 261}, 0, {}}}, true);
    CHECK(w.p().armpmu_has_nmi);
    CHECK(w.k.cpu(0).irq_is_nmi);
    CHECK(w.k.log.back() == "hw perfevents: enabled with pmu PMU driver, 7 counters available, using NMIs");
}

/// What the log says of the PMU's interrupts.
Log of_perf(const FakeKernel& k) {
    Log lines;
    for (const std::string& line : k.log)
        if (line.find("hw perfevents") != std::string::npos) lines.push_back(line);
    return lines;
}

/// perf_event_init on a kernel whose interrupts fail in some way.
std::unique_ptr<Perf> init(FakeKernel& k, PmuNode node) {
    PerfConfig config;
    config.pmus.push_back(std::move(node));
    auto perf = std::make_unique<Perf>(k, config);
    k.perf = perf.get();
    perf->perf_event_init();
    return perf;
}

TEST_CASE("an interrupt that is not given takes the others back", "[ARMPMU-032][ARMPMU-039]") {
    {
        FakeKernel k(2);
        k.affinity_error = -EINVAL;
        const auto perf = init(k, {"pmu", 0x3, {260, 261}, 0, std::vector<int>{0, 1}});
        CHECK(of_perf(k) == Log{"hw perfevents: unable to set irq affinity (irq=260, cpu=0)",
                                "hw perfevents: unable to request IRQ260 for ARM PMU counters"});
        CHECK(k.shared_irqs == Log{"affinity 260 0"});
        CHECK(k.attributes.count("/sys/bus/event_source/devices/pmu/type") == 0);
    }
    {
        // On a machine with one CPU there is nothing to route.
        FakeKernel k(1);
        k.affinity_error = -EINVAL;
        const auto perf = init(k, {"pmu", 0x1, {260}, 0, std::vector<int>{0}});
        CHECK(k.attributes.count("/sys/bus/event_source/devices/pmu/type") == 1);
    }
    {
        FakeKernel k(2);
        k.irq_fails = 261;
        const auto perf = init(k, {"pmu", 0x3, {260, 261}, 0, std::vector<int>{0, 1}});
        CHECK(of_perf(k) == Log{"hw perfevents: unable to request IRQ261 for ARM PMU counters"});
        CHECK(k.shared_irqs == Log{"affinity 260 0", "request 260", "affinity 261 1", "request 261", "free 260"});
        CHECK(k.cpu(0).handlers.empty());
        CHECK(k.attributes.count("/sys/bus/event_source/devices/pmu/type") == 0);
    }
}

} // namespace arm_pmu_platform_test
