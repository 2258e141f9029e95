// SPDX-License-Identifier: Apache-2.0
// State of every interrupt and the choice of what each core is offered: the distributor and the redistributors without
// their registers. One security state, affinity routing always on. No SystemC.
//
// Cores run at different local times. So an interrupt that becomes eligible at a core is not simply there: it is visible
// to that core from a stated time on, the time of whoever caused it plus the way through the GIC.
#pragma once

#include "models/gic/registers.h"
#include "sim/base/types.h"

#include <array>
#include <cstdint>
#include <optional>

namespace rkperf::gic {

/// Time from a cause to the core's interrupt input. Estimates: neither Arm nor Rockchip publishes them. The way is a
/// synchroniser, about 10 clocks of redistributor or distributor at some 600 MHz, and one or two AXI-Stream messages
/// (GIC-600 TRM, 100336, chapter 2); measured inter-processor interrupts on such systems take 0.5 to 2 microseconds in
/// all, most of it software. The same delay applies when the cause goes away before the core has acknowledged it.
struct GicParams {
    Picoseconds ppi_to_cpu{40'000};
    Picoseconds spi_to_cpu{80'000};
    Picoseconds sgi_to_cpu{100'000};
};

struct GicConfig {
    GicParams params{};
    /// Aff3:Aff2:Aff1:Aff0 of each core, a byte each. RK3588: Aff1 is the CPU number.
    std::array<std::uint32_t, kCpus> affinity{0x000, 0x100, 0x200, 0x300, 0x400, 0x500, 0x600, 0x700};
};

/// A CPU interface as the distributor sees it.
class PendingListener {
  public:
    virtual ~PendingListener() = default;
    /// The interrupts offered to this core changed at `t`. If the line falls because of that, it does so at `fall`.
    virtual void offers_changed(Picoseconds t, Picoseconds fall) = 0;
    /// Group 1 is enabled, so an interrupt for "any core" may come here.
    virtual bool participates() const = 0;
};

/// Whether an interrupt number is private to a core. SPIs are the same object for all.
constexpr bool is_private(unsigned intid) { return intid < kPrivate; }

struct Interrupt {
    bool line{};  ///< input level
    bool latch{}; ///< pending by an edge, an SGI, a message or ISPENDR
    bool enabled{}, active{}, edge{}, group1{};
    std::uint8_t priority{};
    std::uint64_t route{};    ///< GICD_IROUTER, SPIs only
    int offered_to{-1};       ///< core it is eligible at, or -1
    Picoseconds visible_at{}; ///< while eligible
    bool pending() const { return latch || (!edge && line); }
};

/// An interrupt offered to a core.
struct Offer {
    unsigned intid{};
    std::uint8_t priority{};
    bool group1{};
};

class Distributor {
  public:
    explicit Distributor(const GicConfig& config);
    void connect(CpuId cpu, PendingListener& listener) { listeners_[cpu.v] = &listener; }

    const GicConfig& config() const { return config_; }
    const Interrupt& state(CpuId cpu, unsigned intid) const { return const_cast<Distributor*>(this)->at(cpu, intid); }

    // Causes. `cpu` is ignored for SPIs.
    void set_line(CpuId cpu, unsigned intid, bool level, Picoseconds t);
    void set_pending(CpuId cpu, unsigned intid, bool pending, Picoseconds t);
    void set_enabled(CpuId cpu, unsigned intid, bool enabled, Picoseconds t);
    void set_active(CpuId cpu, unsigned intid, bool active, Picoseconds t);
    void set_group1(CpuId cpu, unsigned intid, bool group1, Picoseconds t);
    void set_priority(CpuId cpu, unsigned intid, std::uint8_t priority, Picoseconds t);
    void set_edge(CpuId cpu, unsigned intid, bool edge, Picoseconds t);
    void set_route(unsigned intid, std::uint64_t route, Picoseconds t);
    void set_groups_enabled(bool group0, bool group1, Picoseconds t);
    void set_asleep(CpuId cpu, bool asleep, Picoseconds t);
    void set_excluded(CpuId cpu, bool excluded, Picoseconds t); ///< GICR_CTLR.DPG1NS
    /// A core began or ceased to participate: interrupts for any core may have to go elsewhere.
    void reroute_any(Picoseconds t);

    bool group_enabled(bool group1) const { return group1 ? group1_enabled_ : group0_enabled_; }
    bool asleep(CpuId cpu) const { return asleep_[cpu.v]; }
    bool excluded(CpuId cpu) const { return excluded_[cpu.v]; }

    /// The core with this affinity (Aff3:Aff2:Aff1:Aff0).
    std::optional<CpuId> find(std::uint32_t affinity) const;

    // For the CPU interface.
    /// Takes the interrupt: pending becomes active. Does not call the listener.
    void acknowledge(CpuId cpu, unsigned intid, Picoseconds t);
    /// Calls f(intid, interrupt) for each interrupt that is eligible at `cpu`, ascending.
    template <class F>
    void for_each_offer(CpuId cpu, F f) {
        for (std::size_t w = 0; w < kWords; ++w)
            for (std::uint64_t bits = offers_[cpu.v][w]; bits; bits &= bits - 1) {
                const auto intid = static_cast<unsigned>(w * 64 + static_cast<unsigned>(__builtin_ctzll(bits)));
                f(intid, at(cpu, intid));
            }
    }

  private:
    static constexpr std::size_t kWords = kIntids / 64;

    Interrupt& at(CpuId cpu, unsigned intid) {
        return is_private(intid) ? private_[cpu.v][intid] : shared_[intid - kPrivate];
    }
    Picoseconds delay(unsigned intid) const;
    int target(CpuId cpu, unsigned intid, const Interrupt& x) const;
    bool offerable(int cpu) const { return cpu >= 0 && !asleep_[static_cast<std::size_t>(cpu)]; }
    /// Brings the offers in line with the state. Returns the core that lost the offer, or -1.
    int settle(CpuId cpu, unsigned intid, Picoseconds t);
    /// settle, and the listeners hear of it.
    void refresh(CpuId cpu, unsigned intid, Picoseconds t);
    void refresh_all(Picoseconds t);

    GicConfig config_;
    std::array<std::array<Interrupt, kPrivate>, kCpus> private_{};
    std::array<Interrupt, kSpis> shared_{};
    std::array<std::array<std::uint64_t, kWords>, kCpus> offers_{}; ///< bit n: INTID n is eligible at this core
    std::array<bool, kCpus> asleep_{}, excluded_{};
    bool group0_enabled_{}, group1_enabled_{};
    std::array<PendingListener*, kCpus> listeners_{};
};

} // namespace rkperf::gic
