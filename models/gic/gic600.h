// SPDX-License-Identifier: Apache-2.0
// GIC-600 of the RK3588: distributor, eight redistributors and eight CPU interfaces (Arm GIC architecture v3, IHI 0069).
// SGIs, PPIs and SPIs; one security state (GICD_CTLR.DS = 1); no LPIs, so no ITS.
//
// Software programs it as any GICv3: GICD_CTLR, GICR_WAKER and the set-up registers through `mmio`, at the addresses of
// models/gic/registers.h, then ICC_PMR_EL1, ICC_CTLR_EL1 and ICC_IGRPEN1_EL1 of each core. At reset every interrupt is
// disabled and in Group 0, and every redistributor is asleep.
//
// Times: an input changes at the local time its caller states; the core's line changes at the later time that GicParams
// gives. LevelSink::set_level of the core is a statement about all time from `when` on, and so cancels what was announced
// for later than that.
#pragma once

#include "models/gic/cpu_interface.h"
#include "models/gic/distributor.h"
#include "models/gic/registers.h"
#include "sim/base/sysreg_bus.h"
#include "sim/base/wires.h"

#include <tlm_utils/simple_target_socket.h>
#include <array>
#include <memory>
#include <systemc>
#include <tlm>
#include <vector>

namespace rkperf::gic {

class Gic600 : public sc_core::sc_module {
  public:
    /// Distributor and redistributors by physical address. 32-bit accesses; also 64-bit ones, and 8- and 16-bit ones to
    /// the priority and message registers. Refused: other sizes (TLM_BURST_ERROR_RESPONSE), addresses outside
    /// (TLM_ADDRESS_ERROR_RESPONSE). Reserved registers read as zero and ignore writes.
    tlm_utils::simple_target_socket<Gic600> mmio;

    explicit Gic600(sc_core::sc_module_name name, const GicConfig& config = {});
    ~Gic600() override;

    /// System registers ICC_* of one core; conventions in sim/base/sysreg_bus.h. UNDEFINED at EL0.
    using CpuSocket = tlm_utils::simple_target_socket_tagged_optional<Gic600>; // a machine may have fewer cores
    CpuSocket& sysreg(CpuId cpu) { return *sockets_[cpu.v]; }

    /// Inputs. A PPI is INTID 16-31, an SPI INTID 32-511; anything else is a bug of ours and stops the run.
    LevelSink& ppi(CpuId cpu, unsigned intid);
    LevelSink& spi(unsigned intid);
    /// Outputs.
    void connect_cpu(CpuId cpu, LevelSink& irq);
    void connect_cpu_fiq(CpuId cpu, LevelSink& fiq);

    /// For tests and displays.
    const Interrupt& state(CpuId cpu, unsigned intid) const { return distributor_.state(cpu, intid); }

  private:
    class Input : public LevelSink {
      public:
        Input(Distributor& distributor, CpuId cpu, unsigned intid)
            : distributor_(distributor), cpu_(cpu), intid_(intid) {}
        void set_level(bool level, Picoseconds when) override;

      private:
        Distributor& distributor_;
        CpuId cpu_;
        unsigned intid_;
    };
    /// A 32-bit access: `lanes` has ones in the bits that a write changes.
    struct Word {
        std::uint32_t offset{};
        std::uint32_t value{};
        std::uint32_t lanes{};
        bool write{};
        Picoseconds t{};
    };

    void transport_mmio(tlm::tlm_generic_payload& trans, sc_core::sc_time& delay);
    void transport_sysreg(int cpu, tlm::tlm_generic_payload& trans, sc_core::sc_time& delay);
    /// Both return the value read. `cpu` is empty for the distributor.
    std::uint32_t access(const MmioRow& row, std::optional<CpuId> cpu, const Word& word);
    std::uint32_t access_bits(const MmioRow& row, CpuId cpu, unsigned first_intid, const Word& word);
    std::uint32_t access_route(unsigned intid, bool high, const Word& word);

    Distributor distributor_;
    std::array<std::unique_ptr<CpuInterface>, kCpus> interfaces_;
    std::array<std::unique_ptr<CpuSocket>, kCpus> sockets_;
    std::vector<std::unique_ptr<Input>> ppis_, spis_;
};

} // namespace rkperf::gic
