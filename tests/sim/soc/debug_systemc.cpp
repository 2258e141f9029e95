// SPDX-License-Identifier: Apache-2.0
// A Cortex-A76 with real debug registers: software step, breakpoints and watchpoints on instructions, their priorities
// and syndromes. Spec DBG-017, 018, 023, 032 to 056, 073.
#include "models/cpu_a76/core_a76.h"
#include "sim/soc/debug_adapter.h"
#include "tests/models/cpu/asm.h"
#include "tests/models/cpu/rig.inc.h"

#include <tlm_utils/simple_initiator_socket.h>
#include <catch2/catch.hpp>

using namespace rkperf;
using namespace rkperf::test;
using namespace rkperf::test::a;
using a64::CpuState;
using a64::Stop;
using cpu::UserExit;

namespace {

constexpr std::uint64_t kWatched = kData + 256;
constexpr W ldxr_x(unsigned t, unsigned n) { return ldxr(t, n); }
constexpr W stp(unsigned t, unsigned t2, unsigned n) { return 0xa9000000 | r(t2) << 10 | r(n) << 5 | r(t); }
constexpr W str_post(unsigned t, unsigned n, int off) {
    return 0xf8000400 | (static_cast<W>(off) & 0x1ff) << 12 | r(n) << 5 | r(t);
}
constexpr W swp(unsigned s, unsigned t, unsigned n) { return 0xf8208000 | r(s) << 16 | r(n) << 5 | r(t); }
constexpr W prfm(unsigned n) { return 0xf9800000 | r(n) << 5; }
constexpr W hlt() { return 0xd4400000; }

constexpr W undefined() { return 0; }

/// Debug registers of one machine, written as the kernel writes them.
struct Debug : sc_core::sc_module {
    explicit Debug(sc_core::sc_module_name name) : sc_module(name), regs("regs", debug::DebugConfig{}), from("msr") {
        from.bind(regs.sysreg);
    }
    void attach(cpu::Core& core) {
        adapter = std::make_unique<soc::DebugAdapter>(regs, core);
        msr(sysreg::MDSCR_EL1, mdscr::TDCC);
        msr(sysreg::OSLAR_EL1, 0);
        for (unsigned n = 0; n < 6; ++n) msr(sysreg::DBGBCR_EL1(n), 0);
        for (unsigned n = 0; n < 4; ++n) msr(sysreg::DBGWCR_EL1(n), 0);
    }
    void msr(SysReg reg, std::uint64_t value) {
        tlm::tlm_generic_payload p;
        SysRegExtension ext;
        p.set_command(tlm::TLM_WRITE_COMMAND);
        p.set_address(std::uint64_t{reg.encoding} * 8);
        p.set_data_ptr(reinterpret_cast<unsigned char*>(&value));
        p.set_data_length(8);
        p.set_streaming_width(8);
        p.set_extension(&ext);
        sc_core::sc_time delay;
        from->b_transport(p, delay);
        p.clear_extension(&ext);
        if (!p.is_response_ok()) throw std::logic_error("a debug register refused a write");
    }
    void control(std::uint32_t bits) { msr(sysreg::MDSCR_EL1, mdscr::TDCC | bits); }
    void breakpoint(unsigned n, std::uint64_t at) {
        msr(sysreg::DBGBVR_EL1(n), at);
        msr(sysreg::DBGBCR_EL1(n), at ? 0x1e5 : 0);
    }
    /// lsc: 1 load, 2 store, 3 both.
    void watch(std::uint64_t at, unsigned lsc, unsigned bas = 0xff) {
        msr(sysreg::DBGWVR_EL1(0), at);
        msr(sysreg::DBGWCR_EL1(0), at ? 1 | 2 << 1 | lsc << 3 | bas << 5 : 0);
    }
    debug::DebugRegs regs;
    tlm_utils::simple_initiator_socket<Debug> from;
    std::unique_ptr<soc::DebugAdapter> adapter;
};

/// A new program at kCode.
void reload(Machine& m, const std::vector<std::uint32_t>& words) {
    m.load(kCode, words);
    m.cores[0]->code_changed(PhysAddr(static_cast<std::uint64_t>(m.host(kCode) - m.memory.host(PhysAddr(0)))));
}

Debug& debug_of(const std::string& name) {
    static std::map<std::string, std::unique_ptr<Debug>> all;
    auto& d = all[name];
    if (!d) d = std::make_unique<Debug>(("debug_of_" + name).c_str());
    return *d;
}

/// What a run of user code came back with.
struct Result {
    UserExit exit;
    Stop stop;
    std::uint64_t pc, far;
    bool ss, write;
    std::uint32_t iss;
};
std::map<std::string, std::vector<Result>> results;

using Program = void (*)(Machine& m, Debug& d, const std::function<Result(CpuState&, bool ss)>& go);

void add(const std::string& name, Program program) {
    Setup one;
    one.make = cpu_a76::make_core;
    debug_of(name);
    add_run(name, one, [name, program](Machine& m, unsigned) {
        m.use(0);
        cpu::Core& c = *m.cores[0];
        Debug& d = debug_of(name);
        d.attach(c);
        program(m, d, [&](CpuState& s, bool ss) {
            c.spsr_ss = ss;
            s.stop = Stop::none;
            const UserExit e = c.run_user(s);
            const Result r{e, s.stop, s.pc, s.fault.addr, c.spsr_ss, s.fault.write, c.step_iss};
            results[name].push_back(r);
            return r;
        });
    });
}

const bool registered = [] {
    add("steps", [](Machine& m, Debug& d, const auto& go) {
        m.load(kCode, {ldxr_x(2, 1), add_imm(3, 3, 1), b(2), nop(), svc(), add_imm(4, 4, 1), svc()});
        CpuState s;
        s.pc = kCode;
        s.x[1] = kData;
        d.control(mdscr::SS);
        for (int i = 0; i < 4; ++i) go(s, true);
        go(s, false); // after the SVC
        go(s, false); // and again
        d.control(0);
        go(s, false);
        m.values["x4"] = s.x[4];
    });
    add("unfinished", [](Machine& m, Debug& d, const auto& go) {
        m.load(kCode, {ldr(2, 5), brk(3), undefined(), hlt()});
        CpuState s;
        s.x[5] = 0x7000'0000'0000;
        d.control(mdscr::SS);
        for (unsigned i = 0; i < 4; ++i) {
            s.pc = kCode + 4 * i;
            go(s, true);
        }
    });
    add("interrupts", [](Machine& m, Debug& d, const auto& go) {
        m.load(kCode, {add_imm(2, 2, 1), add_imm(2, 2, 1), svc()});
        cpu::Core& c = *m.cores[0];
        CpuState s;
        s.pc = kCode;
        d.control(mdscr::SS);
        c.set_level(true, c.now());
        go(s, false); // pending step and pending interrupt
        go(s, true);  // the interrupt comes before the instruction
        c.set_level(false, c.now());
        go(s, true);
        m.values["x2"] = s.x[2];
    });
    add("breakpoints", [](Machine& m, Debug& d, const auto& go) {
        m.load(kCode, {add_imm(2, 2, 1), b_ne(2), undefined(), brk(1), svc()});
        CpuState s;
        d.control(mdscr::MDE);
        for (unsigned i = 0; i < 4; ++i) {
            d.breakpoint(0, kCode + 4 * i);
            d.breakpoint(1, kCode + 4 * i); // one exception for both
            s.pc = kCode + 4 * i;
            go(s, false);
        }
        m.values["x2"] = s.x[2];
        // Not executed, not hit: a branch passes over it.
        d.breakpoint(0, kCode + 8);
        d.breakpoint(1, 0);
        reload(m, {b(3), nop(), nop(), svc()});
        s.pc = kCode;
        go(s, false);
        // Step comes first, then the breakpoint of the same instruction.
        d.breakpoint(0, kCode);
        d.control(mdscr::MDE | mdscr::SS);
        s.pc = kCode;
        go(s, false);
        go(s, true);
        // A pc that cannot be fetched, or is not aligned, comes before the breakpoint.
        d.control(mdscr::MDE);
        for (const std::uint64_t at : {std::uint64_t{0x7000'0000'0000}, kCode + 2}) {
            d.breakpoint(0, at);
            s.pc = at;
            go(s, false);
        }
    });
    add("brk", [](Machine& m, Debug& d, const auto& go) {
        m.load(kCode, {brk(0x123)});
        CpuState s;
        s.pc = kCode;
        d.control(0);
        go(s, false);
        d.msr(sysreg::OSLAR_EL1, 1);
        go(s, false);
        m.values["imm"] = s.stop_info;
    });
    add("watchpoints", [](Machine& m, Debug& d, const auto& go) {
        m.load(kCode, {str(2, 1), svc()});
        CpuState s;
        d.control(mdscr::MDE);
        const auto one = [&](W insn, std::uint64_t base, unsigned lsc = 3) {
            reload(m, {insn, svc()});
            d.watch(kWatched, lsc, 0xf0);
            s.pc = kCode;
            s.x[1] = base;
            s.x[2] = 0x1111;
            s.x[3] = 0x2222;
            return go(s, false);
        };
        one(str_post(2, 1, 8), kWatched);
        m.values["base"] = s.x[1];
        m.values["stored"] = m.word(kWatched);
        one(stp(2, 3, 1), kWatched - 8); // second half
        m.values["first half"] = m.word(kWatched - 8);
        one(str(2, 1), kWatched + (std::uint64_t{0x5a} << 56)); // tagged
        one(str(2, 1), kWatched - 4 - 0);                       // unaligned, touches bytes 0 to 3 only
        one(prfm(1), kWatched);
        one(dc_cvau(1), kWatched);
        one(dc_zva(1), kWatched + 40);
        one(ldxr(2, 1), kWatched);
        one(stxr(4, 2, 1), kWatched); // no monitor: fails, nothing raised
        one(ldadd(2, 3, 1), kWatched);
        one(ldadd(2, 3, 1), kWatched, 2);
        one(swp(2, 3, 1), kWatched, 1);
        one(ldr(2, 1), kWatched);
        m.values["loaded"] = s.x[2];
        one(ldr(2, 1), kWatched, 2); // stores only
        // The second page of an access faults: the abort comes first.
        d.watch(kData + 64 * kPageSize - 8, 3);
        reload(m, {str(2, 1), svc()});
        s.pc = kCode;
        s.x[1] = kData + 64 * kPageSize - 4;
        go(s, false);
        m.values["before the end"] = m.word(kData + 64 * kPageSize - 8);
    });
    return true;
}();

const std::vector<Result>& of(const char* name) {
    machine(name);
    return results.at(name);
}

} // namespace

TEST_CASE("one instruction is stepped; what comes next is the return address",
          "[DBG-040][DBG-042][DBG-045][DBG-053][DBG-073]") {
    REQUIRE(registered);
    const auto& r = of("steps");
    REQUIRE(r.size() == 7);
    for (int i = 0; i < 3; ++i) CHECK(r[static_cast<std::size_t>(i)].exit == UserExit::step);
    CHECK(r[0].pc == kCode + 4);
    CHECK(r[0].iss == (0x22 | esr::kISV | esr::kEX)); // a load-exclusive
    CHECK(r[1].iss == (0x22 | esr::kISV));
    CHECK(r[2].pc == kCode + 16); // the branch's target
    CHECK(r[3].exit == UserExit::sync);
    CHECK(r[3].stop == Stop::svc);
    CHECK_FALSE(r[3].ss); // it has executed
    for (const std::size_t i : {4u, 5u}) {
        CHECK(r[i].exit == UserExit::step);
        CHECK(r[i].pc == kCode + 20);
        CHECK(r[i].iss == 0x22); // nothing was stepped
    }
    CHECK(r[6].stop == Stop::svc);
    CHECK(machine("steps").values.at("x4") == 1);
}

TEST_CASE("what did not complete is still to be stepped", "[DBG-042][DBG-048][DBG-054][DBG-056]") {
    const auto& r = of("unfinished");
    REQUIRE(r.size() == 4);
    const Stop stops[] = {Stop::data_abort, Stop::brk, Stop::undefined, Stop::hlt};
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(r[i].exit == UserExit::sync);
        CHECK(r[i].stop == stops[i]);
        CHECK(r[i].pc == kCode + 4 * i);
        CHECK(r[i].ss);
    }
}

TEST_CASE("a pending step comes before an interrupt, which comes before the instruction", "[DBG-043][DBG-044]") {
    const auto& r = of("interrupts");
    REQUIRE(r.size() == 3);
    CHECK(r[0].exit == UserExit::step);
    CHECK(r[0].pc == kCode);
    CHECK(r[1].exit == UserExit::irq);
    CHECK(r[1].pc == kCode);
    CHECK(r[1].ss);
    CHECK(r[2].exit == UserExit::step);
    CHECK(machine("interrupts").values.at("x2") == 1);
}

TEST_CASE("breakpoints come before the instruction, whatever it is", "[DBG-017][DBG-018][DBG-023][DBG-048][DBG-049]") {
    const auto& r = of("breakpoints");
    REQUIRE(r.size() == 9);
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(r[i].exit == UserExit::breakpoint);
        CHECK(r[i].pc == kCode + 4 * i);
    }
    CHECK(machine("breakpoints").values.at("x2") == 0);
    CHECK(r[4].stop == Stop::svc);
    CHECK(r[5].exit == UserExit::step);
    CHECK(r[5].pc == kCode);
    CHECK(r[6].exit == UserExit::breakpoint);
    CHECK(r[6].ss); // the step is still to do
    CHECK(r[7].stop == Stop::insn_abort);
    CHECK(r[8].stop == Stop::pc_alignment);
}

TEST_CASE("BRK is never masked", "[DBG-055]") {
    const auto& r = of("brk");
    REQUIRE(r.size() == 2);
    for (const Result& x : r) CHECK(x.stop == Stop::brk);
    CHECK(machine("brk").values.at("imm") == 0x123);
}

TEST_CASE("watchpoints on accesses of all kinds", "[DBG-032][DBG-033][DBG-034][DBG-035][DBG-036][DBG-052][DBG-054]") {
    const auto& r = of("watchpoints");
    auto& v = machine("watchpoints").values;
    REQUIRE(r.size() == 15);
    const auto hit = [&](std::size_t i, bool write, std::uint64_t far) {
        INFO(i);
        CHECK(r[i].stop == Stop::watchpoint);
        CHECK(r[i].pc == kCode);
        CHECK(r[i].write == write);
        CHECK(r[i].far == far);
    };
    const auto passes = [&](std::size_t i) {
        INFO(i);
        CHECK(r[i].stop == Stop::svc);
    };
    hit(0, true, kWatched);
    CHECK(v.at("base") == kWatched); // no write-back, nothing stored
    CHECK(v.at("stored") == 0);
    hit(1, true, kWatched); // the access begins in the block before
    CHECK(v.at("first half") == 0);
    hit(2, true, kWatched);
    passes(3);
    passes(4);
    passes(5);
    hit(6, true, kWatched);
    hit(7, false, kWatched);
    passes(8);
    hit(9, false, kWatched); // a plain read would have been caught
    hit(10, true, kWatched);
    hit(11, false, kWatched);
    hit(12, false, kWatched);
    CHECK(v.at("loaded") == 0x1111);
    passes(13);
    CHECK(r[14].stop == Stop::data_abort);
    CHECK(v.at("before the end") == 0);
}
