// SPDX-License-Identifier: Apache-2.0
#include "models/gic/registers.h"

#include <algorithm>

namespace rkperf::gic {

namespace {

// GIC-600 r1p6 as the RK3588 has it; Linux prints and matches this value.
constexpr std::uint32_t kIidr = 0x0201743B;
// ITLinesNumber 15 (512 INTIDs), MBIS, IDbits 15 (16 bits), A3V, No1N clear; no LPIs, one security state.
constexpr std::uint32_t kTyper = (kIntids / 32 - 1) | 1u << 16 | 15u << 19 | 1u << 24;
constexpr std::uint32_t kArchRev3 = 0x3B;

using K = MmioRow::Kind;

// clang-format off
constexpr MmioRow kDistributor[] = {
    {"GICD_CTLR",       0x0000, 0x0003, K::control},
    {"GICD_TYPER",      0x0004, 0x0007, K::constant, kTyper},
    {"GICD_IIDR",       0x0008, 0x000B, K::constant, kIidr},
    {"GICD_TYPER2",     0x000C, 0x000F, K::zero},
    {"GICD_STATUSR",    0x0010, 0x0013, K::zero},
    {"GICD_SETSPI_NSR", 0x0040, 0x0043, K::message_set, 0, true},
    {"GICD_CLRSPI_NSR", 0x0048, 0x004B, K::message_clear, 0, true},
    {"GICD_SETSPI_SR",  0x0050, 0x0053, K::zero, 0, true},
    {"GICD_CLRSPI_SR",  0x0058, 0x005B, K::zero, 0, true},
    {"GICD_IGROUPR",    0x0080, 0x00FF, K::group},
    {"GICD_ISENABLER",  0x0100, 0x017F, K::enable_set},
    {"GICD_ICENABLER",  0x0180, 0x01FF, K::enable_clear},
    {"GICD_ISPENDR",    0x0200, 0x027F, K::pending_set},
    {"GICD_ICPENDR",    0x0280, 0x02FF, K::pending_clear},
    {"GICD_ISACTIVER",  0x0300, 0x037F, K::active_set},
    {"GICD_ICACTIVER",  0x0380, 0x03FF, K::active_clear},
    {"GICD_IPRIORITYR", 0x0400, 0x07FB, K::priority, 0, true},
    {"GICD_ITARGETSR",  0x0800, 0x0BFB, K::zero, 0, true},   // affinity routing is always on
    {"GICD_ICFGR",      0x0C00, 0x0CFF, K::config},
    {"GICD_IGRPMODR",   0x0D00, 0x0D7F, K::zero},            // one security state
    {"GICD_NSACR",      0x0E00, 0x0EFF, K::zero},
    {"GICD_SGIR",       0x0F00, 0x0F03, K::zero},
    {"GICD_CPENDSGIR",  0x0F10, 0x0F1F, K::zero, 0, true},
    {"GICD_SPENDSGIR",  0x0F20, 0x0F2F, K::zero, 0, true},
    {"GICD_IROUTER",    0x6100, 0x7FDF, K::router},
    {"GICD_PIDR4",      0xFFD0, 0xFFD3, K::constant, 0x44},
    {"GICD_PIDR0",      0xFFE0, 0xFFE3, K::constant, 0x92},
    {"GICD_PIDR1",      0xFFE4, 0xFFE7, K::constant, 0xB4},
    {"GICD_PIDR2",      0xFFE8, 0xFFEB, K::constant, kArchRev3},
    {"GICD_CIDR0",      0xFFF0, 0xFFF3, K::constant, 0x0D},
    {"GICD_CIDR1",      0xFFF4, 0xFFF7, K::constant, 0xF0},
    {"GICD_CIDR2",      0xFFF8, 0xFFFB, K::constant, 0x05},
    {"GICD_CIDR3",      0xFFFC, 0xFFFF, K::constant, 0xB1},
};

constexpr MmioRow kRedistributor[] = {
    {"GICR_CTLR",       0x00000, 0x00003, K::redist_control},
    {"GICR_IIDR",       0x00004, 0x00007, K::constant, kIidr},
    {"GICR_TYPER",      0x00008, 0x0000F, K::redist_type},
    {"GICR_STATUSR",    0x00010, 0x00013, K::zero},
    {"GICR_WAKER",      0x00014, 0x00017, K::waker},
    {"GICR_PWRR",       0x00024, 0x00027, K::zero},          // powered since before the kernel
    {"GICR_PROPBASER",  0x00070, 0x00077, K::zero},          // no LPIs
    {"GICR_PENDBASER",  0x00078, 0x0007F, K::zero},
    {"GICR_PIDR4",      0x0FFD0, 0x0FFD3, K::constant, 0x44},
    {"GICR_PIDR0",      0x0FFE0, 0x0FFE3, K::constant, 0x93},
    {"GICR_PIDR1",      0x0FFE4, 0x0FFE7, K::constant, 0xB4},
    {"GICR_PIDR2",      0x0FFE8, 0x0FFEB, K::constant, kArchRev3},
    {"GICR_CIDR0",      0x0FFF0, 0x0FFF3, K::constant, 0x0D},
    {"GICR_CIDR1",      0x0FFF4, 0x0FFF7, K::constant, 0xF0},
    {"GICR_CIDR2",      0x0FFF8, 0x0FFFB, K::constant, 0x05},
    {"GICR_CIDR3",      0x0FFFC, 0x0FFFF, K::constant, 0xB1},
    {"GICR_IGROUPR0",   0x10080, 0x10083, K::group},
    {"GICR_ISENABLER0", 0x10100, 0x10103, K::enable_set},
    {"GICR_ICENABLER0", 0x10180, 0x10183, K::enable_clear},
    {"GICR_ISPENDR0",   0x10200, 0x10203, K::pending_set},
    {"GICR_ICPENDR0",   0x10280, 0x10283, K::pending_clear},
    {"GICR_ISACTIVER0", 0x10300, 0x10303, K::active_set},
    {"GICR_ICACTIVER0", 0x10380, 0x10383, K::active_clear},
    {"GICR_IPRIORITYR", 0x10400, 0x1041F, K::priority, 0, true},
    {"GICR_ICFGR",      0x10C00, 0x10C07, K::config},
    {"GICR_IGRPMODR0",  0x10D00, 0x10D03, K::zero},
    {"GICR_NSACR",      0x10E00, 0x10E03, K::zero},
};
// clang-format on

} // namespace

std::span<const MmioRow> distributor_rows() { return kDistributor; }
std::span<const MmioRow> redistributor_rows() { return kRedistributor; }

const MmioRow* find_row(std::span<const MmioRow> rows, std::uint32_t offset) {
    const auto it = std::lower_bound(rows.begin(), rows.end(), offset,
                                     [](const MmioRow& row, std::uint32_t x) { return row.last < x; });
    return it != rows.end() && it->first <= offset ? &*it : nullptr;
}

} // namespace rkperf::gic
