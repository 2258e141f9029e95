// SPDX-License-Identifier: Apache-2.0
// The layer common to Arm core PMUs: start, stop, add, del, interrupts, power states, hotplug.
#include "kernel_events/pmu/armv8_pmuv3.h"
#include "tests/kernel_events/ring.h"

using namespace rkperf;
using namespace rkperf::ke;
using namespace rkperf::ke::test;

namespace {
FakePmuRegs& regs(World& w, int cpu = 0) { return w.k.cpu(cpu).pmu; }
ArmPmu& arm_pmu(World& w) { return static_cast<ArmPmu&>(*w.p().pmu_idr.at(kPmuType)); }
} // namespace

TEST_CASE("start programs the period, and complains once about a reload without a stop", "[ARMPMU-017]") {
    World w;
    perf_event_attr a = World::on(World::hw(kInstructions));
    a.sample_period = 1000;
    PerfEvent& e = w.event(w.must_open(a));
    w.k.log.clear();
    e.pmu->stop(e, 0);
    e.pmu->start(e, PERF_EF_RELOAD);
    CHECK(w.k.log.empty());
    CHECK(e.hw.state == 0);
    regs(w).cntr[0] = 5;
    e.pmu->start(e, 0); // always, asked for or not
    CHECK(regs(w).cntr[0] == 0x100000000 - 1000);
    CHECK((regs(w).cnten & 1) == 1);
    e.pmu->start(e, PERF_EF_RELOAD);
    e.pmu->start(e, PERF_EF_RELOAD);
    CHECK(w.k.log.size() == 1);
}

TEST_CASE("stop takes the count along, whatever its flags; a second one does nothing", "[ARMPMU-018]") {
    World w;
    const int fd = w.must_open(World::on(World::hw(kInstructions)));
    PerfEvent& e = w.event(fd);
    w.k.count(0, kInstructions, 40);
    CHECK(e.count == 0);
    e.pmu->stop(e, 0);
    CHECK(e.count == 40);
    CHECK(e.hw.state == (PERF_HES_STOPPED | PERF_HES_UPTODATE));
    CHECK((regs(w).cnten & 1) == 0);
    const unsigned writes = regs(w).writes[sysreg::PMCNTENCLR_EL0.encoding];
    regs(w).cntr[0] += 5;
    e.pmu->stop(e, PERF_EF_UPDATE);
    CHECK(e.count == 40);
    CHECK(regs(w).writes[sysreg::PMCNTENCLR_EL0.encoding] == writes);
    e.pmu->start(e, PERF_EF_RELOAD);
}

TEST_CASE("del: stopped, slot and number given back, the control page without a number", "[ARMPMU-019]") {
    World w;
    w.p().sysctl.perf_user_access = 1;
    perf_event_attr a = World::on(World::hw(kInstructions));
    a.config1 = 2;
    const int fd = w.must_open(a);
    Ring ring(w, fd, 0, false);
    PerfEvent& e = w.event(fd);
    CHECK(e.hw.idx == 1);
    CHECK(ring.control().index == 1);
    const std::uint32_t lock = ring.control().lock;
    w.disable(fd);
    CHECK(e.hw.idx == -1);
    CHECK((e.hw.state & PERF_HES_STOPPED));
    CHECK(ring.control().index == 0);
    CHECK(ring.control().lock > lock);
    // The slot is free again.
    CHECK(w.event(w.must_open(World::on(World::hw(0x100)))).hw.idx == 1);
}

TEST_CASE("an event of other CPUs' PMU is passed over and blocks nobody", "[ARMPMU-021][CORE-526]") {
    World w(2, {{"first", 1, {23}, 0, {}}, {"second", 2, {23}, 1, {}}});
    const int foreign = w.must_open(World::on(World::attr(kPmuType + 1, kInstructions)));
    const int chain = w.must_open(World::on(World::hw(0x1e)));
    const int own = w.must_open(World::on(World::hw(kInstructions)));
    CHECK(w.event(foreign).state == PerfEventState::inactive);
    CHECK(w.event(chain).state == PerfEventState::inactive);
    CHECK(w.event(own).state == PerfEventState::active);
    CHECK_FALSE(w.task.perf_event_ctxp[0]->rotate_necessary);
}

TEST_CASE("a counter that wraps twice unseen loses what it wrapped", "[ARMPMU-029]") {
    World w;
    const int fd = w.must_open(World::on(World::hw(kInstructions)));
    PerfEvent& e = w.event(fd);
    regs(w).inten = 0; // nobody comes
    w.k.count(0, kInstructions, 0x100000000);
    w.k.count(0, kInstructions, 0x100000000);
    w.k.count(0, kInstructions, 7);
    regs(w).ovs = 0;
    w.p().perf_event_read(e, false);
    CHECK(e.count == 7);
}

TEST_CASE("one handler for all CPUs of a line; each CPU switches it on itself", "[ARMPMU-031]") {
    World w(2, {{"first", 1, {23}, 0, {}}, {"second", 2, {23}, 1, {}}});
    CHECK(w.k.cpu(0).handlers.size() == 1);
    CHECK(w.k.cpu(0).irq_enabled);
    CHECK(w.k.cpu(1).irq_enabled);
    w.k.on_cpu(1);
    w.perf.cpu_dying(1);
    CHECK_FALSE(w.k.cpu(1).irq_enabled);
    CHECK(w.k.cpu(0).irq_enabled);
    regs(w, 1).cnten = 0x3f;
    w.perf.cpu_starting(1);
    CHECK(w.k.cpu(1).irq_enabled);
    CHECK(regs(w, 1).cnten == 0); // reset
    w.k.on_cpu(0);
    // An interrupt whose CPU has no PMU is nobody's.
    w.p().cpu_armpmu[0] = nullptr;
    PtRegs r;
    CHECK_FALSE(w.k.cpu(0).handlers[0].second(r));
}

TEST_CASE("the handler's time limits the sampling rate", "[CORE-279]") {
    World w;
    perf_event_attr a = World::on(World::hw(kInstructions));
    a.sample_period = 100;
    w.must_open(a);
    CHECK(w.p().percpu[0].running_sample_length == 0);
    w.k.time_passes = [&] { w.k.now_ns += 10; };
    w.k.count(0, kInstructions, 100);
    w.k.time_passes = nullptr;
    const std::uint64_t took = w.p().percpu[0].running_sample_length;
    CHECK(took > 0);
    CHECK(took % 10 == 0);
    CHECK(w.p().percpu[1].running_sample_length == 0);
}

TEST_CASE("power states that lose the registers", "[ARMPMU-036][ARMPMU-037]") {
    World w;
    ArmPmu& pmu = arm_pmu(w);
    using CpuPm = ArmPmu::CpuPm;
    // Without events: only the reset on the way out.
    FakePmuRegs& r = regs(w);
    CHECK(pmu.cpu_pm_notify(CpuPm::enter));
    r.cnten = 0x3f;
    CHECK(pmu.cpu_pm_notify(CpuPm::enter_failed));
    CHECK(r.cnten == 0x3f);
    CHECK(pmu.cpu_pm_notify(CpuPm::exit));
    CHECK(r.cnten == 0);
    perf_event_attr a = World::on(World::hw(kInstructions));
    a.read_format = PERF_FORMAT_TOTAL_TIME_RUNNING;
    const int fd = w.must_open(a);
    w.k.count(0, kInstructions, 30);
    CHECK(pmu.cpu_pm_notify(CpuPm::enter));
    CHECK((r.pmcr & 1) == 0);
    CHECK(w.event(fd).count == 30);
    CHECK((w.event(fd).hw.state & PERF_HES_STOPPED));
    w.k.count(0, kInstructions, 1000);
    w.k.advance(500);
    r.cntr.fill(0);
    r.type.fill(0);
    r.cnten = 0;
    CHECK(pmu.cpu_pm_notify(CpuPm::exit));
    CHECK((r.pmcr & 1) == 1);
    w.k.count(0, kInstructions, 12);
    // Nothing counted meanwhile; the time counts as running.
    CHECK(w.read(fd) == std::vector<std::uint64_t>{42, 500});
    pmu.cpu_pm_notify(CpuPm::enter);
    pmu.cpu_pm_notify(CpuPm::enter_failed);
    w.k.count(0, kInstructions, 3);
    CHECK(w.count(fd) == 45);
    World other(2, {{"second", 2, {23}, 1, {}}});
    CHECK_FALSE(arm_pmu(other).cpu_pm_notify(CpuPm::enter));
}

TEST_CASE("no 64-bit event counters before PMUv3p5", "[PMUV3-003]") {
    World w;
    perf_event_attr a = World::on(World::hw(kInstructions));
    a.config1 = 1;
    const int fd = w.must_open(a);
    // Two counters instead.
    CHECK(w.event(fd).hw.idx == 2);
    CHECK((regs(w).type[1] & 0xffff) == 0x1e);
    CHECK((regs(w).pmcr & 0x80) == 0);
}

TEST_CASE("filters of a kernel at EL2", "[PMUV3-014]") {
    PerfConfig config = World::config(1, {});
    config.kernel_in_hyp_mode = true;
    FakeKernel k(1);
    Perf perf(k, config);
    k.perf = &perf;
    FakeTask& task = k.make_task(100, "first");
    perf.perf_event_init();
    k.switch_to(0, &task);
    const auto base = [&](auto&& set) {
        perf_event_attr a = World::hw(kInstructions);
        a.exclude_kernel = a.exclude_hv = 0;
        set(a);
        const int fd = static_cast<int>(perf.sys_perf_event_open(k.put_user(a), 0, -1, -1, 0));
        REQUIRE(fd >= 0);
        const std::uint64_t bits = static_cast<PerfFile*>(k.ops(fd))->event().hw.config_base & 0xc8000000;
        k.close(fd);
        return bits;
    };
    using A = perf_event_attr;
    constexpr std::uint64_t el2 = 1u << 27, no_el0 = 1u << 30, no_el1 = 1u << 31;
    CHECK(base([](A&) {}) == el2);
    CHECK(base([](A& a) { a.exclude_hv = 1; }) == el2); // ignored
    CHECK(base([](A& a) { a.exclude_kernel = 1; }) == no_el1);
    CHECK(base([](A& a) { a.exclude_user = 1; }) == (el2 | no_el0));
    CHECK(base([](A& a) { a.exclude_host = 1; }) == no_el0);
    CHECK(base([](A& a) { a.exclude_guest = 1; }) == (el2 | no_el1));
    perf.perf_event_exit_task(task);
}

TEST_CASE("neither user nor kernel: accepted, counts nothing", "[PMUV3-016]") {
    World w;
    perf_event_attr a = World::on(World::hw(kInstructions));
    a.exclude_user = a.exclude_kernel = a.exclude_hv = 1;
    const int fd = w.must_open(a);
    w.k.count(0, kInstructions, 100, 0);
    w.k.count(0, kInstructions, 100, 1);
    CHECK(w.count(fd) == 0);
}
