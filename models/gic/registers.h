// SPDX-License-Identifier: Apache-2.0
// Memory-mapped registers of a GICv3 distributor and redistributor as offsets, and their fields (Arm GIC architecture
// specification, IHI 0069, chapter 12; GIC-600 TRM, 100336). Whoever programs the model uses these names too.
#pragma once

#include "sim/base/sysreg.h"
#include "sim/base/types.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace rkperf::gic {

/// RK3588 (facts: rk3588.md section 2).
inline constexpr PhysAddr kGicdBase{0xFE600000};
inline constexpr std::uint64_t kGicdSize = 0x10000;
inline constexpr PhysAddr kGicrBase{0xFE680000};
inline constexpr std::uint64_t kGicrStride = 0x20000;
inline constexpr std::uint64_t kSgiFrame = 0x10000; ///< SGI_base within a redistributor
inline constexpr unsigned kCpus = 8;

inline constexpr unsigned kPrivate = 32; ///< SGIs 0-15 and PPIs 16-31
inline constexpr unsigned kSgis = 16;
inline constexpr unsigned kSpis = 480; ///< INTIDs 32-511
inline constexpr unsigned kIntids = kPrivate + kSpis;
inline constexpr unsigned kSpurious = 1023;

namespace gicd {
inline constexpr std::uint32_t CTLR = 0x0, TYPER = 0x4, IIDR = 0x8, SETSPI_NSR = 0x40, CLRSPI_NSR = 0x48;
inline constexpr std::uint32_t IGROUPR = 0x80, ISENABLER = 0x100, ICENABLER = 0x180, ISPENDR = 0x200, ICPENDR = 0x280,
                               ISACTIVER = 0x300, ICACTIVER = 0x380, IPRIORITYR = 0x400, ICFGR = 0xC00,
                               IGRPMODR = 0xD00, IROUTER = 0x6000, PIDR4 = 0xFFD0, PIDR2 = 0xFFE8;
/// CTLR with DS = 1.
inline constexpr std::uint32_t kEnableGrp0 = 1u << 0, kEnableGrp1 = 1u << 1, kAre = 1u << 4, kDs = 1u << 6;
/// IROUTER: any participating core.
inline constexpr std::uint64_t kIrm = std::uint64_t{1} << 31;
} // namespace gicd

namespace gicr {
inline constexpr std::uint32_t CTLR = 0x0, IIDR = 0x4, TYPER = 0x8, WAKER = 0x14, PWRR = 0x24, PIDR2 = 0xFFE8;
inline constexpr std::uint32_t kProcessorSleep = 1u << 1, kChildrenAsleep = 1u << 2;
/// SGI_base frame: offsets as the distributor's, of which only the first 32 interrupts exist.
inline constexpr std::uint32_t IGROUPR0 = kSgiFrame + gicd::IGROUPR, ISENABLER0 = kSgiFrame + gicd::ISENABLER,
                               ICENABLER0 = kSgiFrame + gicd::ICENABLER, ISPENDR0 = kSgiFrame + gicd::ISPENDR,
                               ICPENDR0 = kSgiFrame + gicd::ICPENDR, ISACTIVER0 = kSgiFrame + gicd::ISACTIVER,
                               ICACTIVER0 = kSgiFrame + gicd::ICACTIVER, IPRIORITYR0 = kSgiFrame + gicd::IPRIORITYR,
                               ICFGR0 = kSgiFrame + gicd::ICFGR, IGRPMODR0 = kSgiFrame + gicd::IGRPMODR;
} // namespace gicr

/// System registers of the CPU interface that sim/base/sysreg.h does not name.
inline constexpr SysReg ICC_HPPIR0_EL1 = SysReg::make(3, 0, 12, 8, 2);
inline constexpr SysReg ICC_BPR0_EL1 = SysReg::make(3, 0, 12, 8, 3);
inline constexpr SysReg ICC_AP0R0_EL1 = SysReg::make(3, 0, 12, 8, 4);
inline constexpr SysReg ICC_AP1R0_EL1 = SysReg::make(3, 0, 12, 9, 0);
inline constexpr SysReg ICC_ASGI1R_EL1 = SysReg::make(3, 0, 12, 11, 6);
inline constexpr SysReg ICC_SGI0R_EL1 = SysReg::make(3, 0, 12, 11, 7);

/// ICC_CTLR_EL1.
inline constexpr std::uint64_t kCtlrCbpr = 1u << 0, kCtlrEoiMode = 1u << 1;

/// Physical address of a register in the distributor or in a core's redistributor.
constexpr PhysAddr gicd_address(std::uint64_t offset) { return PhysAddr(kGicdBase.v + offset); }
constexpr PhysAddr gicr_address(CpuId cpu, std::uint64_t offset) {
    return PhysAddr(kGicrBase.v + cpu.v * kGicrStride + offset);
}

/// One register or array of registers of the memory-mapped interface.
struct MmioRow {
    enum class Kind : std::uint8_t {
        constant, ///< reads `value`
        zero,     ///< architecturally RAZ/WI in this implementation
        control,  ///< GICD_CTLR
        group,
        enable_set,
        enable_clear,
        pending_set,
        pending_clear,
        active_set,
        active_clear, ///< 1 bit per interrupt
        config,       ///< 2 bits per interrupt
        priority,     ///< 8 bits per interrupt
        router,       ///< 64 bits per interrupt
        message_set,
        message_clear, ///< GICD_SETSPI_NSR, GICD_CLRSPI_NSR
        redist_control,
        redist_type,
        waker,
    };
    std::string_view name;
    std::uint32_t first, last; ///< byte offsets, inclusive
    Kind kind;
    std::uint32_t value{};
    bool bytes{}; ///< accesses narrower than 32 bits are allowed
};
std::span<const MmioRow> distributor_rows();
std::span<const MmioRow> redistributor_rows();
/// The row of `offset`, or null for a reserved one.
const MmioRow* find_row(std::span<const MmioRow> rows, std::uint32_t offset);

} // namespace rkperf::gic
