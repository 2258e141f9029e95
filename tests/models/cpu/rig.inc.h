// SPDX-License-Identifier: Apache-2.0
// The rest of the bench, and sc_main: included by each test file once.
#pragma once

#include "tests/models/cpu/rig.h"
#include "tests/support/run_catch.h"

namespace rkperf::test {

Machine::Machine(const std::string& name, const Setup& setup, Body body)
    : memory(PhysAddr(0), kBytes),
      dsu((name + "_dsu").c_str(), setup.cores, {}),
      dram((name + "_dram").c_str(), PhysAddr(0), kBytes),
      body_(std::move(body)) {
    dsu.to_dram.bind(dram.socket);
    root_ = allocate();
    for (unsigned i = 0; i < setup.cores; ++i) {
        const std::string n = name + "_cpu" + std::to_string(i);
        cpu::CoreConfig config;
        config.cpu = CpuId(setup.first_cpu + i);
        config.hertz = setup.hertz;
        config.quantum = Picoseconds(setup.quantum_ps);
        config.simple = setup.simple;
        config.plain = setup.plain;
        config.domain = &domain;
        cores.push_back(setup.make(n.c_str(), config, memory));
        cpu::Core& core = *cores.back();
        core.memory().to_dsu.bind(dsu.from_core[i]);
        dsu.attach(i, core.memory().snoop_port());
        buses_.push_back(std::make_unique<Bus>((n + "_bus").c_str()));
        core.sysreg.bind(buses_.back()->socket);
        core.set_software(*this);
        pmus.push_back(std::make_unique<FakePmu>(core));
        core.set_overflow_monitor(*pmus.back());
    }
    map(kCode, 4 * kPageSize);
    map(kData, 64 * kPageSize);
}

PhysAddr Machine::map(std::uint64_t va, std::uint64_t bytes, bool writable) {
    PhysAddr first{};
    for (std::uint64_t at = va; at < va + bytes; at += kPageSize) {
        std::uint64_t table = root_.v;
        for (unsigned level = 0; level < 3; ++level) {
            std::uint64_t* e = entry(table, at, level);
            if (!mem::desc::is_valid(*e)) *e = mem::desc::table(allocate());
            table = *e & mem::desc::kAddressMask;
        }
        const PhysAddr page = allocate();
        if (at == va) first = page;
        *entry(table, at, 3) = mem::desc::page(page, mem::desc::kAf | mem::desc::kApUser | mem::desc::kNotGlobal |
                                                         mem::desc::kShInner | (writable ? 0 : mem::desc::kApReadOnly));
        pages_[at >> kPageShift] = page.v;
    }
    return first;
}

Machine& machine(const std::string& name) {
    for (Run& r : runs())
        if (r.name == name) return *r.machine;
    throw std::logic_error("no run " + name);
}

} // namespace rkperf::test

int sc_main(int argc, char** argv) {
    sc_core::sc_report_handler::set_actions(sc_core::SC_INFO, sc_core::SC_DO_NOTHING);
    unsigned number = 0;
    for (rkperf::test::Run& r : rkperf::test::runs())
        r.machine = std::make_unique<rkperf::test::Machine>("run" + std::to_string(number++), r.setup, r.body);
    sc_core::sc_start();
    return run_catch(argc, argv);
}
