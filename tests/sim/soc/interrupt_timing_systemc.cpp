// SPDX-License-Identifier: Apache-2.0
// The way from a counter's wrap to its handler on the whole machine, cycle by cycle. A few lines of software take the
// kernel's place; they program PMU and GIC by transactions. In each machine one core works, a Cortex-A55 (CPU 0) or a
// Cortex-A76 (CPU 4); machines differ in quantum and in the GIC's delay.
#include "models/cpu_a55/core_a55.h"
#include "models/cpu_a76/core_a76.h"
#include "models/gic/registers.h"
#include "models/memory/descriptors.h"
#include "sim/soc/machine.h"
#include "tests/models/cpu/asm.h"
#include "tests/support/run_catch.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace rkperf;
namespace a = rkperf::test::a;
namespace ev = pmu_event;

constexpr unsigned kLittle = 0, kBig = 4, kPmuIntid = 23;
constexpr std::uint64_t kCode = 0x400000, kData = 0x10000000;
constexpr std::uint32_t kCounter0 = 1;
/// PMEVTYPER filters: P and U exclude EL1 and EL0 (Arm ARM D17.5.9).
constexpr std::uint64_t kNotEl1 = 1u << 31, kNotEl0 = 1u << 30;

/// One overflow, from the wrap to the handler.
struct Passage {
    std::uint64_t events{};                ///< total of the event at the wrap, since the counter was started
    std::uint64_t instructions_at_wrap{};  ///< executed by the core until the wrap
    std::uint64_t instructions_at_entry{}; ///< and until the interrupt was taken
    Picoseconds wrap{}, line{}, gic{};     ///< the flag is set, the PMU's line rises, the core's line rises
    Cycles wrap_cycle{}, gic_cycle{};      ///< the first and the last of these in the core's clock
    Cycles entry{}, pmu_read{};            ///< first cycle of the handler, and of what follows its look at PMOVSCLR_EL0
    Cycles unmasked{};                     ///< where a mask ended
    std::uint64_t flags{};                 ///< what the handler read
    bool operator==(const Passage&) const = default;
};

/// What happens on one core.
class Lab : public pmu::PmuListener {
  public:
    Lab(soc::Machine& machine, unsigned cpu) : machine_(machine), core_(machine.core(cpu)), cpu_(cpu) {
        machine.pmu(cpu).add_listener(*this);
        machine.irq_line(cpu).listener = [this](bool level, Picoseconds when) {
            if (!level) return;
            now_.gic = when;
            now_.gic_cycle = core_.clock().cycle_at(when);
        };
    }

    // PmuListener
    void overflowed(std::uint32_t counters, Picoseconds when) override {
        if (counters != kCounter0) throw std::logic_error("another counter wrapped");
        now_.wrap = when;
        now_.wrap_cycle = core_.cycle();
        now_.events = events() - start_;
        now_.instructions_at_wrap = instructions();
    }
    void line_changed(bool level, Picoseconds when) override {
        if (level) now_.line = when;
    }
    void register_accessed(SysReg reg, bool write, std::uint64_t, Picoseconds) override {
        if (reg == sysreg::PMOVSCLR_EL0 && !write) now_.pmu_read = core_.cycle();
    }

    void mmio(std::uint64_t address, std::uint32_t value) {
        tlm::tlm_generic_payload p;
        p.set_command(tlm::TLM_WRITE_COMMAND);
        p.set_address(address);
        p.set_data_ptr(reinterpret_cast<unsigned char*>(&value));
        p.set_data_length(sizeof value);
        p.set_streaming_width(sizeof value);
        sc_core::sc_time delay = to_sc_time(core_.now()) - sc_core::sc_time_stamp();
        machine_.gic().mmio.get_base_export()->b_transport(p, delay);
        if (!p.is_response_ok()) throw std::logic_error("the GIC refused an access");
    }
    void boot() {
        core_.set_irq_mask(true);
        const CpuId id(cpu_);
        mmio(gic::gicd_address(gic::gicd::CTLR).v, gic::gicd::kEnableGrp1 | gic::gicd::kAre);
        mmio(gic::gicr_address(id, gic::gicr::WAKER).v, 0);
        mmio(gic::gicr_address(id, gic::gicr::IGROUPR0).v, ~0u);
        mmio(gic::gicr_address(id, gic::gicr::IPRIORITYR0 + kPmuIntid / 4 * 4).v, 0xa0a0a0a0);
        mmio(gic::gicr_address(id, gic::gicr::ISENABLER0).v, 1u << kPmuIntid);
        core_.msr(sysreg::ICC_PMR_EL1, 0xf0);
        core_.msr(sysreg::ICC_IGRPEN1_EL1, 1);
        core_.msr(sysreg::PMCR_EL0, 1); // E
    }
    /// Counter 0 wraps after `period` more events.
    void start(EventNumber event, std::uint64_t filter, std::uint64_t period) {
        event_ = event;
        filter_ = filter;
        core_.msr(sysreg::PMEVTYPER_EL0(0), event | filter);
        core_.msr(sysreg::PMEVCNTR_EL0(0), (std::uint64_t{1} << 32) - period);
        core_.msr(sysreg::PMINTENSET_EL1, kCounter0);
        core_.msr(sysreg::PMCNTENSET_EL0, kCounter0); // counts from its end on
        start_ = events();
        now_ = {};
    }
    /// The handler: what a driver does first, in its order. Clears the flag if told to.
    void handle(bool clear = true) {
        now_.entry = core_.cycle();
        now_.instructions_at_entry = instructions();
        intids.push_back(core_.mrs(sysreg::ICC_IAR1_EL1));
        now_.flags = core_.mrs(sysreg::PMOVSCLR_EL0);
        if (clear) {
            core_.msr(sysreg::PMCNTENCLR_EL0, kCounter0);
            core_.msr(sysreg::PMOVSCLR_EL0, now_.flags);
        }
        core_.msr(sysreg::ICC_EOIR1_EL1, kPmuIntid);
        passages.push_back(now_);
    }
    Passage& present() { return now_; }
    cpu::Core& core() { return core_; }
    unsigned cpu() const { return cpu_; }

    std::vector<Passage> passages;
    std::vector<std::uint64_t> intids;

  private:
    std::uint64_t events() const {
        std::uint64_t n = 0;
        if (!(filter_ & kNotEl0)) n += core_.total(event_, ExceptionLevel::el0);
        if (!(filter_ & kNotEl1)) n += core_.total(event_, ExceptionLevel::el1);
        return n;
    }
    std::uint64_t instructions() const {
        return core_.total(ev::INST_RETIRED, ExceptionLevel::el0) + core_.total(ev::INST_RETIRED, ExceptionLevel::el1);
    }

    soc::Machine& machine_;
    cpu::Core& core_;
    unsigned cpu_;
    EventNumber event_{};
    std::uint64_t filter_{}, start_{};
    Passage now_;
};

/// A loop for ever of `body`, executed at EL0.
std::vector<a::W> endless(std::vector<a::W> body) {
    body.push_back(a::b(-static_cast<int>(body.size())));
    return body;
}
/// One instruction a cycle, each waiting for the one before. The Cortex-A55 issues them in pairs, one pair in two cycles.
std::vector<a::W> chain() { return endless(std::vector<a::W>(1000, a::add_imm(0, 0, 1))); }
/// Long operations, cache misses, stores and branches.
std::vector<a::W> mixture() {
    return endless({a::udiv(2, 0, 3), a::ldr_reg(4, 1, 5, false), a::add_imm(5, 5, 4040), a::and_low(20, 5, 5),
                    a::mul(6, 2, 3), a::str(6, 1, 64), a::tbz(6, 3, 2), a::eor(7, 7, 6), a::add_imm(0, 0, 77)});
}

class Software : public cpu::Software {
  public:
    Software(soc::Machine& m, unsigned cpu) : lab(m, cpu), machine_(m), root_(page()) {
        for (unsigned n = 0; n < m.cores(); ++n) m.core(n).set_software(*this);
        map(kCode, 4);
        map(kCode + 0x10000, 4);
        map(kData, 512);
        load(kCode, chain());
        load(kCode + 0x10000, mixture());
    }
    void cpu_main(cpu::Core& core) override {
        if (core.id().v == lab.cpu()) experiments();
        sc_core::wait(sc_core::sc_event{}); // for ever
    }
    void irq_from_el1(cpu::Core&) override { lab.handle(); }

    Lab lab;
    /// Passages of each experiment.
    std::map<std::string, std::vector<Passage>> results;
    /// Cycles from the end of a handler that cleared nothing to the next one.
    std::vector<std::uint64_t> again;

  private:
    void experiments() {
        cpu::Core& core = lab.core();
        lab.boot();
        core.set_address_space(root_, 1);
        a64::CpuState s;
        s.x[1] = kData;
        s.x[3] = 3;
        s.x[0] = ~std::uint64_t{0} >> 3;

        s.pc = kCode;
        lab.start(ev::CPU_CYCLES, kNotEl1, 100'000); // warm caches and predictors
        until_irq(s);
        lab.passages.clear();
        for (std::uint64_t period = 5000; period < 5400; period += 7) {
            lab.start(ev::CPU_CYCLES, kNotEl1, period);
            until_irq(s);
        }
        keep("cycles");
        for (std::uint64_t period = 3000; period < 3400; period += 7) {
            lab.start(ev::INST_RETIRED, kNotEl1, period);
            until_irq(s);
        }
        keep("instructions");

        s.pc = kCode + 0x10000;
        for (const EventNumber event : {ev::CPU_CYCLES, ev::INST_RETIRED, ev::L1D_CACHE_REFILL, ev::BR_RETIRED})
            for (std::uint64_t period = 50; period < 2000; period += 37) {
                lab.start(event, kNotEl1, period);
                until_irq(s);
            }
        keep("mixture");

        // At EL1 with interrupts masked: the counter wraps after 1000 instructions, the mask lasts for `length` more.
        for (std::uint32_t length = 0; length < 3000; length += 131) {
            lab.start(ev::INST_RETIRED, kNotEl0, 1000);
            core.charge(work(1000));
            if (length) core.charge(work(length));
            lab.present().unmasked = core.cycle();
            core.set_irq_mask(false);
            core.charge(work(2000)); // it comes in here if it was not there yet
            core.set_irq_mask(true);
        }
        keep("masked");

        // A level that the handler does not take away comes again.
        s.pc = kCode;
        lab.start(ev::CPU_CYCLES, kNotEl1, 5000);
        core.run_user(s);
        lab.handle(false);
        for (int i = 0; i < 5; ++i) {
            const Cycles before = core.cycle();
            if (core.run_user(s) != cpu::UserExit::irq) throw std::logic_error("the program came back by itself");
            again.push_back((core.cycle() - before).v);
            lab.handle(i == 4);
        }
        lab.passages.clear();
    }
    static cpu::KernelWork work(std::uint32_t instructions) {
        cpu::KernelWork w;
        w.instructions = instructions;
        w.code_address = 0xffff'8000'0801'0000;
        return w;
    }
    void until_irq(a64::CpuState& s) {
        if (lab.core().run_user(s) != cpu::UserExit::irq) throw std::logic_error("the program came back by itself");
        lab.handle();
    }
    void keep(const std::string& name) {
        results[name] = std::move(lab.passages);
        lab.passages.clear();
    }

    PhysAddr page() {
        next_ += kPageSize;
        return PhysAddr(next_);
    }
    std::uint64_t& entry(PhysAddr table, std::uint64_t va, unsigned level) {
        return reinterpret_cast<std::uint64_t*>(machine_.memory().host(table))[mem::desc::index(VirtAddr(va), level)];
    }
    void map(std::uint64_t va, unsigned pages) {
        for (unsigned i = 0; i < pages; ++i, va += kPageSize) {
            PhysAddr table = root_;
            for (unsigned level = 0; level < mem::desc::kLastLevel; ++level) {
                std::uint64_t& e = entry(table, va, level);
                if (!mem::desc::is_valid(e)) e = mem::desc::table(page());
                table = PhysAddr(e & mem::desc::kAddressMask);
            }
            const PhysAddr p = page();
            entry(table, va, mem::desc::kLastLevel) =
                mem::desc::page(p, mem::desc::kAf | mem::desc::kApUser | mem::desc::kNotGlobal | mem::desc::kShInner);
            pages_[va] = p;
        }
    }
    void load(std::uint64_t va, const std::vector<a::W>& words) {
        for (std::size_t i = 0; i < words.size(); ++i) {
            const std::uint64_t at = va + 4 * i;
            std::memcpy(machine_.memory().host(pages_.at(at & kPageMask)) + (at & (kPageSize - 1)), &words[i], 4);
        }
    }

    soc::Machine& machine_;
    std::uint64_t next_{64ull << 20}; // clear of what stands for the kernel's image
    PhysAddr root_;
    std::map<std::uint64_t, PhysAddr> pages_;
};

struct Setup {
    const char* name;
    std::uint64_t quantum_ps, ppi_delay_ps;
};
constexpr Setup kSetups[] = {
    {"q1us", 1'000'000, 40'000},
    {"q100ns", 100'000, 40'000},
    {"q50us", 50'000'000, 40'000},
    {"far", 1'000'000, 250'000},
};
struct Bench {
    Setup setup;
    unsigned cpu;
    std::unique_ptr<soc::Machine> machine;
    std::unique_ptr<Software> software;

    const cpu::SystemCosts& costs() const { return (cpu == kLittle ? cpu_a55::tables() : cpu_a76::tables()).costs; }
    /// Cycles from one instruction boundary of the chain to the next.
    std::uint64_t boundary() const { return cpu == kLittle ? 2 : 1; }
    const std::vector<Passage>& result(const char* name) const { return software->results.at(name); }
    std::uint64_t cycles_of(std::uint64_t ps) const {
        return ps * machine->config().cpus[cpu].hertz / Clock::kPicosPerSecond;
    }
};
std::vector<Bench> benches;

TEST_CASE("an overflow raises the line at the very event, and the handler begins a fixed time later",
          "[PMUV3-062][PMUV3-063]") {
    for (const Bench& b : benches)
        for (const char* name : {"cycles", "instructions"}) {
            CAPTURE(b.setup.name, b.cpu, name);
            const bool cycles = std::strcmp(name, "cycles") == 0;
            std::uint64_t period = cycles ? 5000 : 3000;
            REQUIRE(b.result(name).size() == 58);
            for (const Passage& p : b.result(name)) {
                CAPTURE(period);
                CHECK(p.events >= period);
                CHECK(p.events - period < (cycles ? b.boundary() : 1));
                CHECK(p.line == p.wrap);
                CHECK(p.gic.v - p.line.v == b.setup.ppi_delay_ps);
                // The interrupt is taken at the first boundary.
                CHECK(p.entry.v >= p.gic_cycle.v + b.costs().exception_entry);
                CHECK(p.entry.v - p.gic_cycle.v - b.costs().exception_entry < b.boundary());
                CHECK(p.pmu_read.v - p.entry.v == b.costs().gic_access + b.costs().sysreg_read);
                CHECK(p.flags == kCounter0);
                // What the skid is made of: the way through the GIC, at one instruction a cycle.
                const std::uint64_t way = p.gic_cycle.v - p.wrap_cycle.v;
                CHECK(way >= b.cycles_of(b.setup.ppi_delay_ps));
                CHECK(way <= b.cycles_of(b.setup.ppi_delay_ps) + 1);
                const std::uint64_t skid = p.instructions_at_entry - p.instructions_at_wrap;
                CHECK(skid <= way + b.boundary());
                CHECK(skid + 3 >= way);
                period += 7;
            }
        }
}

TEST_CASE("the skid is never negative, whatever the program and the event") {
    for (const Bench& b : benches) {
        CAPTURE(b.setup.name, b.cpu);
        REQUIRE(b.result("mixture").size() == 4 * 53);
        std::uint64_t longest = 0;
        for (const Passage& p : b.result("mixture")) {
            CHECK(p.instructions_at_entry >= p.instructions_at_wrap);
            CHECK(p.line == p.wrap);
            CHECK(p.gic.v - p.line.v == b.setup.ppi_delay_ps);
            REQUIRE(p.entry.v >= p.gic_cycle.v + b.costs().exception_entry);
            longest = std::max(longest, p.entry.v - p.gic_cycle.v - b.costs().exception_entry);
        }
        // The interrupt waits for the end of an instruction, which may wait for memory.
        CHECK(longest > 0);
        CHECK(longest < 2000);
    }
}

TEST_CASE("a mask delays the interrupt by exactly what is left of it") {
    for (const Bench& b : benches) {
        CAPTURE(b.setup.name, b.cpu);
        REQUIRE(b.result("masked").size() == 23);
        unsigned waited = 0;
        for (const Passage& p : b.result("masked")) {
            CHECK(p.events == 1000);
            CHECK(p.gic.v - p.line.v == b.setup.ppi_delay_ps);
            const std::uint64_t begin = p.entry.v - b.costs().exception_entry;
            if (p.unmasked >= p.gic_cycle) {
                CHECK(begin == p.unmasked.v);
                ++waited;
            } else {
                CHECK(begin >= p.gic_cycle.v);
                CHECK(begin <= p.gic_cycle.v + 2); // the end of the kernel's present instruction
            }
        }
        CHECK(waited > 10);
        CHECK(waited < 23);
    }
}

TEST_CASE("a level that nobody takes away interrupts again as soon as the GIC can tell", "[PMUV3-063]") {
    for (const Bench& b : benches) {
        CAPTURE(b.setup.name, b.cpu);
        REQUIRE(b.software->again.size() == 5);
        for (const std::uint64_t cycles : b.software->again) {
            CHECK(cycles >= b.costs().exception_return + b.costs().exception_entry);
            CHECK(cycles <= b.cycles_of(b.setup.ppi_delay_ps) + b.costs().exception_return + b.costs().exception_entry);
        }
        for (const std::uint64_t intid : b.software->lab.intids) REQUIRE(intid == kPmuIntid);
        CHECK_FALSE(b.software->lab.core().irq_signalled());
    }
}

TEST_CASE("all of this is the same for every quantum") {
    const auto find = [](const char* name, unsigned cpu) -> const Software& {
        return *std::find_if(benches.begin(), benches.end(), [&](const Bench& b) {
                    return b.cpu == cpu && !std::strcmp(b.setup.name, name);
                })->software;
    };
    for (const unsigned cpu : {kLittle, kBig})
        for (const char* other : {"q100ns", "q50us"})
            for (const auto& [name, passages] : find("q1us", cpu).results) {
                CAPTURE(other, cpu, name);
                CHECK((find(other, cpu).results.at(name) == passages));
            }
}

} // namespace

int sc_main(int argc, char** argv) {
    sc_core::sc_report_handler::set_actions(sc_core::SC_INFO, sc_core::SC_DO_NOTHING);
    for (const Setup& setup : kSetups)
        for (const unsigned cpu : {kLittle, kBig}) {
            soc::MachineConfig config = soc::MachineConfig::rk3588();
            config.dram_mib = 256;
            config.quantum = Picoseconds(setup.quantum_ps);
            config.gic_ppi_delay_ps = setup.ppi_delay_ps;
            Bench b{setup, cpu, nullptr, nullptr};
            const std::string name = setup.name + std::string("_") + std::to_string(cpu);
            b.machine = std::make_unique<soc::Machine>(name.c_str(), config, os::MountConfig{});
            b.software = std::make_unique<Software>(*b.machine, cpu);
            benches.push_back(std::move(b));
        }
    sc_core::sc_start();
    const int status = run_catch(argc, argv);
    benches.clear();
    return status;
}
