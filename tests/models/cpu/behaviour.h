// SPDX-License-Identifier: Apache-2.0
// Behaviour that every core shares: interrupts, EL1 work, exclusives, self-modifying code, faults, waiting, event
// identities. Instantiated by the tests of each core, which call add_behaviour_runs() and include the test cases.
#pragma once

#include "tests/models/cpu/mixed_program.h"
#include "tests/models/cpu/rig.h"

#include <catch2/catch.hpp>

namespace rkperf::test {

namespace ev = pmu_event;
using a64::CpuState;
using a64::Stop;

/// Counts X2 up for ever.
inline std::vector<a::W> endless() { return {a::add_imm(2, 2, 1), a::b(-1)}; }

/// Raises the interrupt line at a given time by itself, like a timer.
struct FakeTimer : DeadlineSource {
    explicit FakeTimer(cpu::Core& c) : core(c) {}
    Picoseconds next_deadline() const override { return at; }
    void advance_to(Picoseconds t) override {
        if (t < at) throw std::logic_error("advance_to() before the deadline");
        advanced.push_back(t.v);
        core.set_level(true, Picoseconds(at.v + delay));
        at = kNever;
    }
    cpu::Core& core;
    Picoseconds at{kNever};
    std::uint64_t delay{};
    std::vector<std::uint64_t> advanced;
};

struct FakeDebug : cpu::DebugMonitor {
    bool may_stop(std::uint64_t va, std::uint64_t bytes) override {
        return stepping || (breakpoint >= va && breakpoint - va < bytes);
    }
    bool step_pending() override { return stepping && pending; }
    bool breakpoint_matches(std::uint64_t pc) override { return pc == breakpoint; }
    void stepped(bool) override { pending = true; }
    bool may_watch(std::uint64_t va, std::uint64_t bytes) override {
        return watch && watch + 8 > va && watch < va + bytes;
    }
    bool watchpoint_matches(std::uint64_t va, unsigned bytes, bool write, std::uint64_t& far) override {
        far = va;
        return write && watch && va < watch + 8 && watch < va + bytes;
    }
    bool watched_range(unsigned n, std::uint64_t& first, std::uint64_t& last) override {
        first = watch;
        last = watch + 7;
        return watch && n == 0;
    }
    void exception_return(bool spsr_ss) override { pending = !spsr_ss; }
    bool exception_entry(bool executed) override { return !executed && !pending; }
    std::uint32_t step_syndrome() override { return 0x22; }
    void contextidr(std::uint32_t) override {}
    std::uint64_t breakpoint{~0ull}, watch{};
    bool stepping{}, pending{};
};

inline void add_behaviour_runs(MakeCore make) {
    using namespace a;
    Setup one;
    one.make = make;

    // An interrupt whose line rises while the program runs.
    for (std::uint64_t q : {1'000u, 100'000'000u}) {
        Setup s = one;
        s.quantum_ps = q;
        add_run("irq " + std::to_string(q), s, [](Machine& m, unsigned) {
            m.use(0);
            m.load(kCode, endless());
            static std::deque<FakeTimer> timers;
            FakeTimer& timer = timers.emplace_back(*m.cores[0]);
            m.cores[0]->add_deadline_source(timer);
            CpuState s;
            s.pc = kCode;
            for (unsigned i = 0; i < 40; ++i) {
                const std::uint64_t due = m.cores[0]->now().v + 20'000'000 + i * 777;
                timer.at = Picoseconds(due);
                timer.delay = i % 2 ? 123'456 : 0;
                const std::uint64_t before = m.cores[0]->total(ev::CPU_CYCLES, EL0);
                const cpu::UserExit e = m.cores[0]->run_user(s);
                if (e != cpu::UserExit::irq) throw std::logic_error("not an interrupt");
                m.cores[0]->set_level(false, m.cores[0]->now());
                m.list.push_back(due + timer.delay);
                m.list.push_back(timer.advanced.back());
                // The boundary's time: cycles at EL0 before the exception's own cost.
                m.list.push_back(m.cores[0]->total(ev::CPU_CYCLES, EL0) - before);
                m.list.push_back(m.cores[0]->now().v);
                m.list.push_back(s.x[2]);
            }
            m.values["taken"] = m.cores[0]->total(ev::EXC_IRQ, EL1);
            m.values["pc ok"] = s.pc == kCode || s.pc == kCode + 4;
        });
    }

    // EL1: a lump that an armed counter wraps within, and one that an interrupt nests in.
    add_run("kernel", one, [](Machine& m, unsigned) {
        cpu::Core& c = *m.cores[0];
        c.set_irq_mask(true);
        m.pmus[0]->arm(ev::INST_RETIRED, 100, 2);
        c.charge({1050, 200, 100, 150, 0, 0xffff800008010000});
        m.pmus[0]->disarm();
        for (const auto& w : m.pmus[0]->wraps) m.list.push_back(w.total);
        m.values["instructions"] = c.total(ev::INST_RETIRED, EL1);
        // An overflow raises the line: nested at once if unmasked, at the end of the mask if not.
        m.pmus[0]->wraps.clear();
        m.pmus[0]->on_wrap = [&] { c.set_level(true, c.now()); };
        m.on_irq = [&](cpu::Core& core) {
            m.values.try_emplace("at", core.total(ev::INST_RETIRED, EL1));
            m.values["masked inside"] = core.irq_masked();
            core.set_level(false, core.now());
        };
        c.set_irq_mask(false);
        const std::uint64_t start = c.total(ev::INST_RETIRED, EL1);
        m.pmus[0]->arm(ev::INST_RETIRED, 400, 2);
        c.charge({1000, 0, 0, 0, 0, 0});
        m.values["nested at"] = m.values["at"] - start;
        m.values["nested"] = m.irqs_at_el1;
        c.set_irq_mask(true);
        c.charge({1000, 0, 0, 0, 0, 0});
        m.values["while masked"] = m.irqs_at_el1;
        m.values["signalled"] = c.irq_signalled();
        c.set_irq_mask(false);
        m.values["after"] = m.irqs_at_el1;
        m.values["unmasked after"] = !c.irq_masked();
        m.pmus[0]->disarm();
    });

    // Stalls of the back end and of their causes, as seen at each wrap within the kernel's work.
    add_run("kernel stalls", one, [](Machine& m, unsigned) {
        cpu::Core& c = *m.cores[0];
        c.set_irq_mask(true);
        m.pmus[0]->on_wrap = [&] {
            std::uint64_t causes = 0;
            for (EventNumber e : {ev::STALL_BACKEND_ILOCK, ev::STALL_BACKEND_LD, ev::STALL_BACKEND_ST})
                causes += c.total(e, EL1);
            m.list.push_back(causes);
            m.list.push_back(c.total(ev::STALL_BACKEND, EL1));
        };
        m.pmus[0]->arm(ev::INST_RETIRED, 37, 2);
        for (unsigned n = 1; n < 30; ++n) c.charge({100 * n, 20 * n, 10 * n, 15, 0, 0xffff800008010000});
        m.pmus[0]->disarm();
    });

    add_run("wfi", one, [](Machine& m, unsigned) {
        cpu::Core& c = *m.cores[0];
        static std::deque<FakeTimer> timers;
        FakeTimer& timer = timers.emplace_back(c);
        c.add_deadline_source(timer);
        timer.at = Picoseconds(5'000'000'123);
        const std::uint64_t cycles = c.total(ev::CPU_CYCLES, EL1);
        c.wait_for_interrupt();
        m.values["cycles"] = c.total(ev::CPU_CYCLES, EL1) - cycles;
        m.values["time"] = c.now().v;
        m.values["idle"] = c.stats().idle_time_ps;
        m.values["not taken"] = m.irqs_at_el1 == 0;
        c.set_level(false, c.now());
        c.charge({1000, 0, 0, 0, 1000, 0});
        m.values["later"] = c.now().v;
    });

    // Two cores add to one word with load and store exclusive; two more with an atomic instruction.
    for (std::uint64_t q : {2'000u, 1'000'000u}) {
        Setup s = one;
        s.cores = 2;
        s.quantum_ps = q;
        add_run("exclusive " + std::to_string(q), s, [](Machine& m, unsigned n) {
            m.use(n);
            if (n == 0)
                m.load(kCode, {ldxr(2, 1), add_imm(2, 2, 1), stxr(3, 2, 1), cbnz(3, -3), ldadd(4, 31, 5),
                               subs_imm(0, 0, 1), b_ne(-6), svc()});
            CpuState s;
            s.pc = kCode;
            s.x[0] = 3000;
            s.x[1] = kData;
            s.x[4] = 1;
            s.x[5] = kData + 8;
            m.run(n, s);
            m.values["stop " + std::to_string(n)] = static_cast<std::uint64_t>(s.stop);
            m.values["fails " + std::to_string(n)] = m.cores[n]->total(ev::STREX_FAIL_SPEC, EL0);
            m.values["passes " + std::to_string(n)] = m.cores[n]->total(ev::STREX_PASS_SPEC, EL0);
        });
    }

    // Code that changes itself; with and without cache maintenance by the book.
    add_run("self-modifying", one, [](Machine& m, unsigned) {
        m.use(0);
        // X1: address of the instruction at word 8, X2: its new word. First pass adds 1, second adds 2.
        m.load(kCode, {movz(0, 2), b(7), str_w(2, 1), dc_cvau(1), dsb_ish(), ic_ivau(1), dsb_ish(), isb(),
                       add_imm(3, 3, 1), subs_imm(0, 0, 1), b_ne(-8), svc()});
        CpuState s;
        s.pc = kCode;
        s.x[1] = kCode + 8 * 4;
        s.x[2] = add_imm(3, 3, 2);
        m.run(0, s);
        m.values["x3"] = s.x[3];
        m.values["stop"] = static_cast<std::uint64_t>(s.stop);
        m.values["isb"] = m.el0(ev::ISB_SPEC);
    });

    // One core changes the code that another one runs.
    Setup two = one;
    two.cores = 2;
    two.quantum_ps = 1'000'000;
    add_run("cross-modifying", two, [](Machine& m, unsigned n) {
        m.use(n);
        CpuState s;
        if (n == 0) {
            m.load(kCode,
                   {add_imm(3, 3, 1), ldr(4, 1), cbz(4, -2), isb(), b(3), nop(), nop(), add_imm(5, 5, 1), svc()});
            m.load(kCode + 0x1000, {str_w(2, 1), dc_cvau(1), dsb_ish(), ic_ivau(1), dsb_ish(), str(2, 6), svc()});
            // The first core executes the place once before, so that it is decoded and in its L1I.
            s.pc = kCode + 7 * 4;
            m.run(0, s);
            s.pc = kCode;
            s.x[5] = 0;
            s.x[1] = kData;
            m.run(0, s);
            m.values["x5"] = s.x[5];
        } else {
            s.pc = kCode + 0x1000;
            s.x[1] = kCode + 7 * 4;
            s.x[2] = add_imm(5, 5, 7);
            s.x[6] = kData;
            m.cores[1]->charge({20000, 0, 0, 0, 100000, 0}); // well after the first core has begun
            m.cores[1]->sync();
            m.run(1, s);
        }
    });

    add_run("faults", one, [](Machine& m, unsigned) {
        m.use(0);
        m.map(0x20000000, kPageSize, false);
        m.load(kCode, {add_imm(2, 2, 1), ldr(3, 1), add_imm(2, 2, 1), str(3, 4), svc()});
        CpuState s;
        s.pc = kCode;
        s.x[1] = 0x30000008; // not mapped
        s.x[4] = 0x20000010; // read only
        m.run(0, s);
        m.list = {static_cast<std::uint64_t>(s.stop),
                  s.pc,
                  s.fault.addr,
                  s.fault.status,
                  s.fault.write,
                  m.el0(ev::INST_RETIRED)};
        s.x[1] = kData;
        m.run(0, s);
        for (std::uint64_t v : {static_cast<std::uint64_t>(s.stop), s.pc, s.fault.addr, std::uint64_t{s.fault.status},
                                std::uint64_t{s.fault.write}})
            m.list.push_back(v);
        s.pc = 0x40000000;
        m.run(0, s);
        for (std::uint64_t v : {static_cast<std::uint64_t>(s.stop), s.pc, s.fault.addr, std::uint64_t{s.fault.status}})
            m.list.push_back(v);
        s.pc = kCode + 0x3ff0;
        m.load(s.pc, {0x00000000});
        m.run(0, s);
        m.list.push_back(static_cast<std::uint64_t>(s.stop));
        m.load(kCode, {mrs(3, sysreg::PMCCNTR_EL0.encoding), svc()});
        m.cores[0]->code_changed(m.memory.phys(m.host(kCode)));
        s.pc = kCode;
        m.run(0, s);
        m.list.push_back(static_cast<std::uint64_t>(s.stop));
        m.values["exceptions"] = m.cores[0]->total(ev::EXC_TAKEN, EL1);
        m.values["returns"] = m.cores[0]->total(ev::EXC_RETURN, EL1);
    });

    add_run("lookups", one, [](Machine& m, unsigned) {
        m.use(0);
        static std::deque<FakeDebug> monitors;
        FakeDebug& d = monitors.emplace_back();
        cpu::Core& c = *m.cores[0];
        c.set_debug_monitor(d);
        m.load(kCode, {ldr(3, 1)});
        m.load(kCode + 0x1000, {0x00000000});
        m.load(kCode + 0x2000, {svc()});
        CpuState s;
        s.x[1] = 0x30000008; // not mapped
        const auto look = [&](std::uint64_t pc, std::vector<EventNumber> events) {
            std::vector<std::uint64_t> before;
            for (const EventNumber e : events) before.push_back(m.el0(e));
            s.pc = pc;
            m.run(0, s);
            for (std::size_t i = 0; i < events.size(); ++i) m.list.push_back(m.el0(events[i]) - before[i]);
        };
        look(0x40000000, {ev::L1I_TLB, ev::L1I_TLB_REFILL, ev::L1I_CACHE});
        look(kCode, {ev::L1I_TLB, ev::L1I_TLB_REFILL, ev::L1I_CACHE, ev::L1D_TLB, ev::L1D_TLB_REFILL});
        look(kCode, {ev::L1I_TLB, ev::L1I_TLB_REFILL, ev::L1I_CACHE, ev::L1D_TLB, ev::L1D_TLB_REFILL});
        look(kCode + 0x1000, {ev::L1I_TLB, ev::L1I_TLB_REFILL, ev::L1I_CACHE});
        d.breakpoint = kCode + 0x2000;
        c.debug_changed();
        look(kCode + 0x2000, {ev::L1I_TLB, ev::L1I_TLB_REFILL});
        d.breakpoint = ~0ull;
        c.debug_changed();
        look(kCode + 0x2000, {ev::L1I_TLB, ev::L1I_TLB_REFILL, ev::L1I_CACHE});
    });

    add_run("debug", one, [](Machine& m, unsigned) {
        m.use(0);
        static std::deque<FakeDebug> monitors;
        FakeDebug& d = monitors.emplace_back();
        cpu::Core& c = *m.cores[0];
        c.set_debug_monitor(d);
        m.load(kCode, {movz(0, 5), add_imm(2, 2, 1), str(2, 1), subs_imm(0, 0, 1), b_ne(-3), svc()});
        CpuState s;
        s.pc = kCode;
        s.x[1] = kData + 64;
        d.breakpoint = kCode + 12;
        c.debug_changed();
        for (unsigned i = 0; i < 2; ++i) {
            m.list.push_back(static_cast<std::uint64_t>(c.run_user(s)));
            m.list.push_back(s.pc);
            m.list.push_back(s.x[2]);
            d.breakpoint = ~0ull; // step over it, as a kernel does
            d.stepping = true;
            c.spsr_ss = true;
            c.debug_changed();
            m.list.push_back(static_cast<std::uint64_t>(c.run_user(s)));
            m.list.push_back(s.pc);
            d.stepping = false;
            d.breakpoint = kCode + 12;
            c.debug_changed();
        }
        d.breakpoint = ~0ull;
        d.watch = kData + 64;
        c.debug_changed();
        m.list.push_back(static_cast<std::uint64_t>(c.run_user(s)));
        m.list.push_back(static_cast<std::uint64_t>(s.stop));
        m.list.push_back(s.pc);
        m.list.push_back(s.fault.addr);
        d.watch = 0;
        c.debug_changed();
        c.run_user(s);
        m.list.push_back(static_cast<std::uint64_t>(s.stop));
        m.list.push_back(s.x[2]);
    });

    // Armed where nothing goes: on the page that is executed, and a watchpoint two lines beside the data.
    for (const bool armed : {false, true})
        add_run(armed ? "debug armed" : "debug off", one, [armed](Machine& m, unsigned) {
            m.use(0);
            static std::deque<FakeDebug> monitors;
            FakeDebug& d = monitors.emplace_back();
            cpu::Core& c = *m.cores[0];
            c.set_debug_monitor(d);
            m.load(kCode, {movz(0, 2000), add_imm(2, 2, 1), str(2, 1), subs_imm(0, 0, 1), b_ne(-3), svc()});
            CpuState s;
            s.pc = kCode;
            s.x[1] = kData + 64;
            if (armed) {
                d.breakpoint = kCode + 512;
                d.watch = kData + 256;
            }
            c.debug_changed();
            m.list.push_back(static_cast<std::uint64_t>(c.run_user(s)));
            m.list.push_back(s.x[2]);
            for (const EventNumber e : {ev::CPU_CYCLES, ev::INST_RETIRED, ev::L1D_CACHE, ev::L1I_CACHE, ev::L1D_TLB,
                                        ev::BR_MIS_PRED, ev::MEM_ACCESS})
                m.list.push_back(c.total(e, EL0));
            m.list.push_back(c.now().v);
        });

    add_run("system registers", one, [](Machine& m, unsigned) {
        cpu::Core& c = *m.cores[0];
        std::uint64_t before = c.now().v;
        c.msr(sysreg::PMCR_EL0, 0x41);
        m.values["write"] = c.now().v - before;
        before = c.now().v;
        m.values["read"] = c.mrs(sysreg::PMCR_EL0);
        m.values["at"] = c.mrs(sysreg::CNTVCT_EL0) - before;
        m.values["now"] = c.now().v - before;
        try {
            c.mrs(sysreg::MIDR_EL1);
        } catch (const std::logic_error&) {
            m.values["refused"] = 1;
        }
        m.use(0);
        m.load(kCode, {mrs(2, sysreg::CNTVCT_EL0.encoding), mrs(3, sysreg::CNTVCT_EL0.encoding),
                       mrs(4, sysreg::PMCR_EL0.encoding), svc()});
        CpuState s;
        s.pc = kCode;
        m.run(0, s);
        m.list = {static_cast<std::uint64_t>(s.stop), s.stop_info, s.pc, s.x[2], s.x[3], c.now().v};
    });

    add_run("kernel accesses", one, [](Machine& m, unsigned) {
        cpu::Core& c = *m.cores[0];
        const std::uint64_t cycles = c.total(ev::CPU_CYCLES, EL1);
        c.kernel_access(PhysAddr(0x5000010), 100, false); // two lines, not in any cache
        m.values["cold"] = c.total(ev::CPU_CYCLES, EL1) - cycles;
        c.kernel_access(PhysAddr(0x5000010), 100, false);
        m.values["warm"] = c.total(ev::CPU_CYCLES, EL1) - cycles - m.values["cold"];
        c.kernel_access(PhysAddr(0x5000000), 64, true);
        m.list = {c.total(ev::MEM_ACCESS_RD, EL1), c.total(ev::MEM_ACCESS_WR, EL1), c.total(ev::L1D_CACHE_REFILL, EL1),
                  c.total(ev::L1D_CACHE, EL1)};
        c.set_frequency(1'000'000'000);
        const std::uint64_t t = c.now().v, n = c.cycle().v;
        c.charge({10000, 0, 0, 0, 0, 0});
        m.values["ps per cycle"] = (c.now().v - t) / (c.cycle().v - n);
        m.use(0);
        c.write_contextidr(7);
        m.values["ttbr"] = c.total(ev::TTBR_WRITE_RETIRED, EL1);
        m.values["cid"] = c.total(ev::CID_WRITE_RETIRED, EL1);
    });

    add_run("identities", one, [](Machine& m, unsigned) {
        m.use(0);
        m.load(kCode, mixed_program());
        CpuState s;
        s.pc = kCode;
        s.x[0] = 5000;
        s.x[1] = kData;
        s.x[9] = 12345678912345ull;
        s.x[5] = 3;
        m.run(0, s);
        m.load(kCode + 0x2000,
               {ldur(2, 1, 1), stxp(6, 2, 4, 1), ldur(2, 1, 62), str(2, 3), dc_zva(1), ldp(2, 4, 1, 8), svc()});
        s.pc = kCode + 0x2000;
        s.x[3] = kData + 12; // unaligned for 8 bytes
        s.stop = Stop::none;
        m.run(0, s);
    });

    Setup simple = one;
    simple.simple = true;
    add_run("simple", simple, [](Machine& m, unsigned) {
        m.use(0);
        m.load(kCode, mixed_program());
        CpuState s;
        s.pc = kCode;
        s.x[0] = 1000;
        s.x[1] = kData;
        s.x[9] = 12345678912345ull;
        s.x[5] = 3;
        m.run(0, s);
        m.values["stop"] = static_cast<std::uint64_t>(s.stop);
    });
}

} // namespace rkperf::test
