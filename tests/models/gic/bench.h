// SPDX-License-Identifier: Apache-2.0
// A whole GIC with eight cores' interfaces, lines that remember, and memory-mapped access.
#pragma once

#include "models/gic/gic600.h"
#include "tests/models/pmu_v3/fakes.h"

#include <tlm_utils/simple_initiator_socket.h>
#include <array>
#include <memory>
#include <string>
#include <systemc>
#include <tlm>
#include <vector>

namespace rkperf::test {

class FakeBus : public sc_core::sc_module {
  public:
    tlm_utils::simple_initiator_socket<FakeBus> socket;
    explicit FakeBus(sc_core::sc_module_name name) : sc_module(name), socket("socket") {}

    std::uint64_t read(PhysAddr address, unsigned bytes = 4) {
        std::uint64_t value = 0;
        access(tlm::TLM_READ_COMMAND, address, value, bytes);
        return value;
    }
    void write(PhysAddr address, std::uint64_t value, unsigned bytes = 4) {
        access(tlm::TLM_WRITE_COMMAND, address, value, bytes);
    }
    tlm::tlm_response_status status{};
    Picoseconds time{};

  private:
    void access(tlm::tlm_command command, PhysAddr address, std::uint64_t& value, unsigned bytes) {
        tlm::tlm_generic_payload trans;
        trans.set_command(command);
        trans.set_address(address.v);
        trans.set_data_ptr(reinterpret_cast<unsigned char*>(&value));
        trans.set_data_length(bytes);
        trans.set_streaming_width(bytes);
        sc_core::sc_time delay = to_sc_time(time) - sc_core::sc_time_stamp();
        socket->b_transport(trans, delay);
        status = trans.get_response_status();
    }
};

struct GicBench {
    explicit GicBench(unsigned n)
        : gic(("gic" + std::to_string(n)).c_str(), config()), bus(("bus" + std::to_string(n)).c_str()) {
        bus.socket.bind(gic.mmio);
        for (unsigned c = 0; c < gic::kCpus; ++c) {
            cores[c] = std::make_unique<FakeCore>(("core" + std::to_string(n) + "_" + std::to_string(c)).c_str());
            cores[c]->sysreg.bind(gic.sysreg(CpuId(c)));
            gic.connect_cpu(CpuId(c), irq[c]);
            gic.connect_cpu_fiq(CpuId(c), fiq[c]);
        }
    }
    /// Round figures, so that a test's times can be read.
    static gic::GicConfig config() {
        gic::GicConfig c;
        c.params = {Picoseconds(50'000), Picoseconds(80'000), Picoseconds(100'000)};
        return c;
    }
    /// Sets up as Linux does: all Group 1 at priority 0xa0, PMR 0xf0, drop and deactivate split or not.
    void boot(bool eoi_mode = false) {
        using namespace gic;
        bus.write(gicd_address(gicd::CTLR), gicd::kAre | gicd::kEnableGrp1);
        for (unsigned n = 1; n < kIntids / 32; ++n) bus.write(gicd_address(gicd::IGROUPR + 4 * n), ~0u);
        for (unsigned n = 8; n < kIntids / 4; ++n) bus.write(gicd_address(gicd::IPRIORITYR + 4 * n), 0xa0a0a0a0);
        for (unsigned c = 0; c < kCpus; ++c) {
            bus.write(gicr_address(CpuId(c), gicr::WAKER), 0);
            bus.write(gicr_address(CpuId(c), gicr::IGROUPR0), ~0u);
            for (unsigned n = 0; n < 8; ++n) bus.write(gicr_address(CpuId(c), gicr::IPRIORITYR0 + 4 * n), 0xa0a0a0a0);
            bus.write(gicr_address(CpuId(c), gicr::ISENABLER0), 0xffff);
            cores[c]->msr(sysreg::ICC_PMR_EL1, 0xf0);
            cores[c]->msr(sysreg::ICC_CTLR_EL1, eoi_mode ? kCtlrEoiMode : 0);
            cores[c]->msr(sysreg::ICC_IGRPEN1_EL1, 1);
        }
    }
    void enable_ppi(unsigned cpu, unsigned intid) {
        bus.write(gic::gicr_address(CpuId(cpu), gic::gicr::ISENABLER0), 1u << intid);
    }
    void set_private_priority(unsigned cpu, unsigned intid, unsigned priority) {
        bus.write(gic::gicr_address(CpuId(cpu), gic::gicr::IPRIORITYR0 + intid), priority, 1);
    }
    void enable_spi(unsigned intid, std::uint64_t route) {
        bus.write(gic::gicd_address(gic::gicd::IROUTER + 8 * intid), route, 8);
        bus.write(gic::gicd_address(gic::gicd::ISENABLER + intid / 32 * 4), 1u << intid % 32);
    }
    FakeCore& core(unsigned n) { return *cores[n]; }
    std::uint64_t iar(unsigned n) { return core(n).mrs(sysreg::ICC_IAR1_EL1); }
    void eoi(unsigned n, std::uint64_t intid) { core(n).msr(sysreg::ICC_EOIR1_EL1, intid); }
    std::uint64_t rpr(unsigned n) { return core(n).mrs(sysreg::ICC_RPR_EL1); }

    std::array<FakeLine, gic::kCpus> irq, fiq;
    std::array<std::unique_ptr<FakeCore>, gic::kCpus> cores;
    gic::Gic600 gic;
    FakeBus bus;
};

} // namespace rkperf::test
