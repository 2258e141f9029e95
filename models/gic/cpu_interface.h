// SPDX-License-Identifier: Apache-2.0
// The GIC CPU interface of one core, ICC_*_EL1 (IHI 0069 chapter 12.2), as Cortex-A55 and Cortex-A76 implement it: five
// bits of priority, 32 levels of preemption, 16-bit INTIDs, system registers only. No SystemC.
#pragma once

#include "models/gic/distributor.h"
#include "sim/base/sysreg.h"
#include "sim/base/wires.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace rkperf::gic {

class CpuInterface : public PendingListener {
  public:
    CpuInterface(Distributor& distributor, CpuId cpu) : distributor_(distributor), cpu_(cpu) {
        distributor.connect(cpu, *this);
    }

    /// Where the lines go: Group 1 is signalled as IRQ, Group 0 as FIQ.
    void connect_irq(LevelSink& sink) { lines_[1].sink = &sink; }
    void connect_fiq(LevelSink& sink) { lines_[0].sink = &sink; }

    struct Access {
        bool decoded{}, allowed{};
        std::uint64_t value{};
    };
    /// `t` is the core's local time.
    Access read(SysReg reg, ExceptionLevel el, Picoseconds t);
    Access write(SysReg reg, std::uint64_t value, ExceptionLevel el, Picoseconds t);

    void offers_changed(Picoseconds t, Picoseconds fall) override;
    bool participates() const override { return group_enabled_[1]; }

    struct Row {
        std::string_view name;
        SysReg reg;
        unsigned group; ///< where a register exists per group
        std::uint64_t (CpuInterface::*read)(unsigned group, Picoseconds t);
        void (CpuInterface::*write)(unsigned group, std::uint64_t value, Picoseconds t);
    };
    static std::span<const Row> rows();

  private:
    /// One of the two interrupt lines: what was last said, and from when on.
    struct Line {
        LevelSink* sink{};
        bool level{};
        Picoseconds when{};
    };

    /// Highest-priority offer visible at `t`, of the groups that are enabled here.
    std::optional<Offer> highest(Picoseconds t);
    bool signals(const Offer& offer) const;
    std::uint8_t group_mask(bool group1) const;
    /// Group priority of the highest-priority active interrupt, 0xff if idle.
    std::uint8_t running() const;
    void drive(Picoseconds t, Picoseconds fall);
    void drive(bool group1, Picoseconds t, Picoseconds fall);
    void deactivate(std::uint64_t intid, Picoseconds t);
    void send_sgi(std::uint64_t value, bool group1, Picoseconds t);

    std::uint64_t read_pmr(unsigned, Picoseconds) { return pmr_; }
    void write_pmr(unsigned, std::uint64_t value, Picoseconds t);
    std::uint64_t acknowledge(unsigned group, Picoseconds t);
    void end(unsigned group, std::uint64_t value, Picoseconds t);
    std::uint64_t read_highest(unsigned group, Picoseconds t);
    std::uint64_t read_bpr(unsigned group, Picoseconds);
    void write_bpr(unsigned group, std::uint64_t value, Picoseconds t);
    std::uint64_t read_active_priorities(unsigned group, Picoseconds) { return active_priorities_[group]; }
    void write_active_priorities(unsigned group, std::uint64_t value, Picoseconds t);
    void write_dir(unsigned, std::uint64_t value, Picoseconds t);
    std::uint64_t read_running(unsigned, Picoseconds) { return running(); }
    void write_sgi(unsigned group, std::uint64_t value, Picoseconds t) { send_sgi(value, group == 1, t); }
    std::uint64_t read_ctlr(unsigned, Picoseconds);
    void write_ctlr(unsigned, std::uint64_t value, Picoseconds t);
    std::uint64_t read_sre(unsigned, Picoseconds);
    void write_sre(unsigned, std::uint64_t, Picoseconds) {}
    std::uint64_t read_group_enable(unsigned group, Picoseconds) { return group_enabled_[group]; }
    void write_group_enable(unsigned group, std::uint64_t value, Picoseconds t);

    Distributor& distributor_;
    CpuId cpu_;
    std::uint8_t pmr_{};
    std::uint8_t ctlr_{};
    std::array<std::uint8_t, 2> bpr_{2, 3};
    std::array<bool, 2> group_enabled_{};
    std::array<std::uint32_t, 2> active_priorities_{}; ///< bit n: an active interrupt has group priority 8 n
    std::array<Line, 2> lines_{};                      ///< by group
};

} // namespace rkperf::gic
