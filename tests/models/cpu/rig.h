// SPDX-License-Identifier: Apache-2.0
// A bench for cores. SystemC elaborates once per process, so every run of a test file registers its machine (memory,
// DSU, DRAM, one to four cores, fake PMU and software) beforehand; sc_main simulates them all from time 0 side by side,
// which they do not notice, and the Catch2 tests look at what the runs left.
#pragma once

#include "models/a64/state.h"
#include "models/cpu/core.h"
#include "models/cpu/inner_shareable.h"
#include "models/memory/descriptors.h"
#include "models/memory/dram.h"
#include "models/memory/dsu.h"

#include <tlm_utils/simple_target_socket.h>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace rkperf::test {

using MakeCore = std::unique_ptr<cpu::Core> (*)(sc_core::sc_module_name, const cpu::CoreConfig&, mem::PhysicalMemory&);

inline constexpr std::uint64_t kCode = 0x400000, kData = 0x10000000;
inline constexpr ExceptionLevel EL0 = ExceptionLevel::el0, EL1 = ExceptionLevel::el1;

/// One counter that wraps every `period` events, and a note of each wrap.
class FakePmu : public OverflowMonitor {
  public:
    struct Wrap {
        std::uint64_t total, instructions, cycle, pc;
    };
    explicit FakePmu(cpu::Core& core) : core_(core) {}
    void arm(EventNumber event, std::uint64_t period, std::uint8_t el_mask) {
        counter_ = {event, el_mask, 1};
        period_ = period;
        target_ = sum(event) + period;
        core_.rearm();
    }
    void disarm() {
        period_ = 0;
        core_.rearm();
    }
    std::span<const ArmedCounter> armed() override {
        if (!period_) return {};
        const std::uint64_t total = sum(counter_.event);
        if (total >= target_) throw std::logic_error("armed() finds a wrap that sync() was not told of");
        counter_.left = target_ - total;
        return {&counter_, 1};
    }
    void sync() override {
        ++syncs;
        const std::uint64_t total = sum(counter_.event);
        if (!period_ || total < target_) return;
        wraps.push_back({total, instructions(), core_.cycle().v, core_.present_pc()});
        target_ += period_;
        while (target_ <= total) target_ += period_;
        if (on_wrap) on_wrap();
    }
    std::vector<Wrap> wraps;
    std::uint64_t syncs{};
    std::function<void()> on_wrap;

  private:
    std::uint64_t sum(EventNumber e) const {
        std::uint64_t n = 0;
        for (unsigned el = 0; el < kExceptionLevels; ++el)
            if (counter_.el_mask >> el & 1) n += core_.total(e, static_cast<ExceptionLevel>(el));
        return n;
    }
    std::uint64_t instructions() const {
        return core_.total(pmu_event::INST_RETIRED, EL0) + core_.total(pmu_event::INST_RETIRED, EL1);
    }
    cpu::Core& core_;
    ArmedCounter counter_;
    std::uint64_t period_{}, target_{};
};

struct Setup {
    MakeCore make{};
    unsigned cores{1};
    std::uint64_t hertz{2'000'000'000};
    std::uint64_t quantum_ps{100'000'000};
    bool simple{};
    unsigned first_cpu{4};
    bool plain{}; ///< only the plain execution loop
};

class Machine;
/// What a core does: runs on its thread, core number `n` of the machine.
using Body = std::function<void(Machine&, unsigned n)>;

class Machine : public cpu::Software {
  public:
    static constexpr std::uint64_t kBytes = 256ull << 20;

    Machine(const std::string& name, const Setup& setup, Body body);

    void cpu_main(cpu::Core& core) override {
        const unsigned n = number(core);
        body_(*this, n);
        ++finished;
        sc_core::wait(sc_core::sc_event{}); // for ever
    }
    void irq_from_el1(cpu::Core& core) override {
        ++irqs_at_el1;
        if (on_irq) on_irq(core);
    }

    /// Maps `bytes` at `va` for EL0, read, write and execute, and gives the physical address.
    PhysAddr map(std::uint64_t va, std::uint64_t bytes, bool writable = true);
    void load(std::uint64_t va, const std::vector<std::uint32_t>& words) {
        for (std::size_t i = 0; i < words.size(); ++i) std::memcpy(host(va + 4 * i), &words[i], 4);
    }
    std::uint8_t* host(std::uint64_t va) {
        return memory.host(PhysAddr(pages_.at(va >> kPageShift) | (va & (kPageSize - 1))));
    }
    std::uint64_t& word(std::uint64_t va) { return *reinterpret_cast<std::uint64_t*>(host(va)); }
    void use(unsigned n) { cores[n]->set_address_space(root_, 1); }
    /// Loads a program at kCode and runs it until something other than an interrupt comes.
    cpu::UserExit run(unsigned n, a64::CpuState& s) {
        for (;;) {
            const cpu::UserExit e = cores[n]->run_user(s);
            if (e != cpu::UserExit::irq) return e;
            ++irqs_at_el0;
            if (on_irq) on_irq(*cores[n]);
        }
    }
    std::uint64_t el0(EventNumber e, unsigned n = 0) { return cores[n]->total(e, EL0); }

    mem::PhysicalMemory memory;
    mem::Dsu dsu;
    mem::Dram dram;
    cpu::InnerShareable domain;
    std::vector<std::unique_ptr<cpu::Core>> cores;
    std::vector<std::unique_ptr<FakePmu>> pmus;
    std::function<void(cpu::Core&)> on_irq;
    unsigned irqs_at_el0{}, irqs_at_el1{}, finished{};
    std::map<std::string, std::uint64_t> values; ///< results
    std::vector<std::uint64_t> list;             ///< more results

  private:
    /// Decodes two registers: PMCR_EL0, which keeps what is written and takes 10 ns, and refuses EL0; and CNTVCT_EL0,
    /// which gives the local time in ps. Nobody decodes any other.
    struct Bus : sc_core::sc_module {
        explicit Bus(sc_core::sc_module_name n) : sc_module(n), socket("socket") {
            socket.register_b_transport(this, &Bus::b_transport);
        }
        void b_transport(tlm::tlm_generic_payload& p, sc_core::sc_time& delay) {
            const SysReg reg{static_cast<std::uint16_t>(p.get_address() / 8)};
            auto* x = p.get_extension<SysRegExtension>();
            if (reg == sysreg::CNTVCT_EL0 && p.is_read()) {
                const std::uint64_t now = local_time(delay).v;
                std::memcpy(p.get_data_ptr(), &now, 8);
            } else if (reg == sysreg::PMCR_EL0 && x->el == EL0) {
                x->outcome = SysRegOutcome::trap_el1;
                p.set_response_status(tlm::TLM_COMMAND_ERROR_RESPONSE);
                return;
            } else if (reg == sysreg::PMCR_EL0) {
                if (p.is_read()) {
                    std::memcpy(p.get_data_ptr(), &pmcr, 8);
                } else {
                    std::memcpy(&pmcr, p.get_data_ptr(), 8);
                }
                delay += sc_core::sc_time(10, sc_core::SC_NS);
            } else {
                p.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
                return;
            }
            p.set_response_status(tlm::TLM_OK_RESPONSE);
        }
        std::uint64_t pmcr{};
        tlm_utils::simple_target_socket<Bus> socket;
    };
    unsigned number(cpu::Core& core) const {
        for (unsigned i = 0; i < cores.size(); ++i)
            if (cores[i].get() == &core) return i;
        throw std::logic_error("unknown core");
    }
    PhysAddr allocate() {
        const PhysAddr p(next_page_);
        next_page_ += kPageSize;
        return p;
    }
    std::uint64_t* entry(std::uint64_t table, std::uint64_t va, unsigned level) {
        return reinterpret_cast<std::uint64_t*>(memory.host(PhysAddr(table))) + mem::desc::index(VirtAddr(va), level);
    }

    Body body_;
    std::vector<std::unique_ptr<Bus>> buses_;
    std::uint64_t next_page_{64ull << 20}; // clear of what stands for the kernel's image
    PhysAddr root_{};
    std::map<std::uint64_t, std::uint64_t> pages_;
};

/// Runs of this test file, by name. Registered before sc_main, simulated there.
struct Run {
    std::string name;
    Setup setup;
    Body body;
    std::unique_ptr<Machine> machine;
};
inline std::deque<Run>& runs() {
    static std::deque<Run> all;
    return all;
}
inline Run& add_run(std::string name, const Setup& setup, Body body) {
    return runs().emplace_back(Run{std::move(name), setup, std::move(body), nullptr});
}
Machine& machine(const std::string& name);

} // namespace rkperf::test
