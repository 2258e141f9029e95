// SPDX-License-Identifier: Apache-2.0
// Charges of kernel code while a counter is armed: most pass in one piece, and what they count is added when somebody looks.
// A counter wraps where it would if each was counted at once. Instantiated by the tests of each core.
#pragma once

#include "tests/models/cpu/asm.h"
#include "tests/models/cpu/rig.h"

#include <catch2/catch.hpp>
#include <deque>

namespace rkperf::test {

namespace ev = pmu_event;

/// Something is due every few cycles, and does nothing: a charge does not pass in one piece then.
struct Interruptions : DeadlineSource {
    Interruptions(cpu::Core& c, std::uint64_t a) : core(c), apart(a) {}
    Picoseconds next_deadline() const override { return core.clock().time_of(Cycles(due)); }
    void advance_to(Picoseconds) override { due = core.cycle().v + apart; }
    cpu::Core& core;
    std::uint64_t apart, due{1};
};

struct ChargeCase {
    EventNumber event;
    std::uint8_t el_mask;
    std::uint64_t most; ///< events left until the wrap, at most, when the charges begin
};
/// At EL1, at both levels, and at EL0 alone, which charges do not come near; and `more`, which not every core has.
inline std::vector<ChargeCase> charge_cases(std::vector<ChargeCase> more) {
    more.insert(more.end(), {{ev::INST_RETIRED, 2, 260},
                             {ev::INST_RETIRED, 3, 260},
                             {ev::INST_RETIRED, 1, 260},
                             {ev::CPU_CYCLES, 2, 400},
                             {ev::INST_SPEC, 2, 150},
                             {ev::BR_RETIRED, 2, 150},
                             {ev::BR_PRED, 2, 150},
                             {ev::MEM_ACCESS, 2, 150},
                             {ev::L1D_CACHE, 2, 150},
                             {ev::L1I_CACHE, 2, 150},
                             {ev::STALL_BACKEND, 2, 300},
                             {ev::STALL_FRONTEND, 2, 300},
                             {ev::BR_MIS_PRED, 2, 6},
                             {ev::DP_SPEC, 2, 150}});
    return more;
}
/// How they are charged.
struct ChargeWay {
    std::uint64_t interrupted{}; ///< every so many cycles: 1: each charge is counted at once; 0: never
    bool read{};                 ///< somebody reads the counter behind each
};
inline constexpr ChargeWay kChargeWays[] = {{1, true}, {0, true}, {1, false}, {0, false}, {97, false}};

inline std::string charge_name(const ChargeCase& c, const ChargeWay& w) {
    return "charges " + std::to_string(c.event) + " at " + std::to_string(c.el_mask) + " interrupted " +
           std::to_string(w.interrupted) + (w.read ? " read" : "");
}

inline const cpu::KernelWork kWorks[] = {
    {37, 9, 5, 6, 0, 0xffff800008010000},
    {61, 17, 8, 9, 3, 0xffff800008012340},
    {8, 2, 1, 1, 0, 0xffff800008014560},
    {150, 31, 22, 28, 0, 0xffff800008020000},
};

inline void run_charges(Machine& m, const ChargeCase& c, const ChargeWay& w) {
    cpu::Core& core = *m.cores[0];
    if (!core.knows(c.event)) return;
    static std::deque<Interruptions> sources;
    if (w.interrupted) core.add_deadline_source(sources.emplace_back(core, w.interrupted));
    core.set_irq_mask(true);
    m.use(0);
    m.load(kCode, {a::add_imm(2, 2, 1), a::ldr(3, 1), a::cbnz(3, 2), a::add_imm(4, 4, 1), a::svc()});
    const auto total = [&] {
        std::uint64_t n = 0;
        for (unsigned el = 0; el < kExceptionLevels; ++el)
            if (c.el_mask >> el & 1) n += core.total(c.event, static_cast<ExceptionLevel>(el));
        return n;
    };
    a64::CpuState s;
    s.x[1] = kData;
    for (std::uint64_t left = 1; left <= c.most; ++left) {
        m.pmus[0]->arm(c.event, left, c.el_mask);
        for (const cpu::KernelWork& work : kWorks) {
            core.charge(work);
            if (w.read) m.list.push_back(total());
        }
        if (left % 3 == 0) {
            s.pc = kCode;
            m.run(0, s);
            core.mrs(sysreg::PMCR_EL0);
        }
        core.charge(kWorks[left % 4]);
        if (w.read) m.list.push_back(total());
        m.pmus[0]->disarm();
        if (w.read) m.list.push_back(core.cycle().v);
    }
    m.values["total"] = total();
    m.values["cycle"] = core.cycle().v;
    for (unsigned el = 0; el < 2; ++el)
        for (unsigned e = 0; e < ev::kCount; ++e)
            m.values["event " + std::to_string(e) + " at " + std::to_string(el)] =
                core.total(static_cast<EventNumber>(e), static_cast<ExceptionLevel>(el));
}

/// Charges that are all alike, with so much left that the wrap falls on the end of one, before it and behind it.
inline constexpr cpu::KernelWork kWholeWork{100, 20, 10, 15, 0, 0xffff800008010000};
struct EdgeCase {
    EventNumber event;
    std::uint64_t first, second; ///< what one charge has of the two lanes that feed the event
    std::uint64_t each() const { return first + second; }
};
inline constexpr EdgeCase kEdges[] = {
    {ev::INST_RETIRED, 100, 0},
    {ev::MEM_ACCESS, 20, 10},
};
inline constexpr std::uint64_t kCharges = 6;
/// Instruction of the charge at which `n` of its events have happened.
inline std::uint64_t instruction_of(const EdgeCase& c, std::uint64_t n) {
    std::uint64_t i = 0;
    while (i * c.first / kWholeWork.instructions + i * c.second / kWholeWork.instructions < n) ++i;
    return i;
}

inline void run_edges(Machine& m) {
    cpu::Core& core = *m.cores[0];
    core.set_irq_mask(true);
    for (unsigned n = 0; n < 20; ++n) core.charge(kWholeWork); // all is in the caches
    for (const EdgeCase& c : kEdges)
        for (std::uint64_t whole = 1; whole < kCharges; ++whole)
            for (const std::uint64_t left : {whole * c.each() - 1, whole * c.each(), whole * c.each() + 1}) {
                m.pmus[0]->wraps.clear();
                const std::uint64_t total = core.total(c.event, EL1), start = core.total(ev::INST_RETIRED, EL1);
                m.pmus[0]->arm(c.event, left, 2);
                std::uint64_t wrapped_in = 0; // which charge
                for (std::uint64_t n = 1; n <= kCharges; ++n) {
                    core.charge(kWholeWork);
                    if (!wrapped_in && !m.pmus[0]->wraps.empty()) {
                        wrapped_in = n;
                        const FakePmu::Wrap& w = m.pmus[0]->wraps.front();
                        m.list.push_back(w.instructions - start);
                        m.list.push_back(w.total - total);
                    }
                }
                m.list.push_back(wrapped_in);
                m.list.push_back(core.total(c.event, EL1) - total);
                m.pmus[0]->disarm();
            }
}

inline bool add_charge_runs(MakeCore make, const std::vector<ChargeCase>& cases) {
    Setup setup;
    setup.make = make;
    for (const ChargeCase& c : cases)
        for (const ChargeWay& w : kChargeWays)
            add_run(charge_name(c, w), setup, [c, w](Machine& m, unsigned) { run_charges(m, c, w); });
    add_run("charge edges", setup, [](Machine& m, unsigned) { run_edges(m); });
    return true;
}

inline void check_charges(const std::vector<ChargeCase>& cases) {
    for (const ChargeCase& c : cases) {
        CAPTURE(c.event, unsigned{c.el_mask});
        const Machine& counted = machine(charge_name(c, kChargeWays[0]));
        REQUIRE(counted.finished == 1);
        REQUIRE(counted.cores[0]->knows(c.event));
        const auto& reference = counted.pmus[0]->wraps;
        REQUIRE(reference.size() > (c.el_mask == 1 ? 0 : c.most / 2));
        for (const ChargeWay& w : kChargeWays) {
            CAPTURE(w.interrupted, w.read);
            const Machine& other = machine(charge_name(c, w));
            CHECK(other.values == counted.values);
            if (w.read) CHECK(other.list == counted.list);
            const auto& wraps = other.pmus[0]->wraps;
            REQUIRE(wraps.size() == reference.size());
            CHECK(other.pmus[0]->syncs == wraps.size()); // never asked in vain
            for (std::size_t i = 0; i < wraps.size(); ++i)
                if (wraps[i].total != reference[i].total || wraps[i].instructions != reference[i].instructions ||
                    wraps[i].cycle != reference[i].cycle || wraps[i].pc != reference[i].pc)
                    FAIL("wrap " << i << " at total " << wraps[i].total << ", cycle " << wraps[i].cycle
                                 << " instead of " << reference[i].total << ", " << reference[i].cycle);
        }
    }
}

inline void check_charge_edges() {
    const std::vector<std::uint64_t>& seen = machine("charge edges").list;
    REQUIRE(seen.size() == std::size(kEdges) * (kCharges - 1) * 3 * 4);
    auto at = seen.begin();
    for (const EdgeCase& c : kEdges)
        for (std::uint64_t whole = 1; whole < kCharges; ++whole)
            for (int more = -1; more <= 1; ++more) {
                CAPTURE(c.event, whole, more);
                const std::uint64_t before = more > 0 ? whole : whole - 1; // charges that pass
                const std::uint64_t left = (whole - before) * c.each() + static_cast<std::uint64_t>(more);
                const std::uint64_t i = instruction_of(c, left);
                CHECK(*at++ == before * kWholeWork.instructions + i);
                CHECK(*at++ == before * c.each() + i * c.first / kWholeWork.instructions +
                                   i * c.second / kWholeWork.instructions);
                CHECK(*at++ == before + 1);
                CHECK(*at++ == kCharges * c.each());
            }
}

} // namespace rkperf::test
