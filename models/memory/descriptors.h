// SPDX-License-Identifier: Apache-2.0
// Armv8-A stage 1 translation table descriptors (Arm ARM DDI 0487, D8.3; VMSAv8-64), 4 KiB granule, 48-bit addresses,
// four levels (0..3) of 512 entries of 8 bytes, little endian. Used by the walker and by software that writes tables.
#pragma once

#include "sim/base/types.h"

#include <cstdint>

namespace rkperf::mem::desc {

inline constexpr unsigned kVaBits = 48;
inline constexpr unsigned kFirstLevel = 0;
inline constexpr unsigned kLastLevel = 3;
inline constexpr unsigned kEntries = 512;
inline constexpr std::uint64_t kTableBytes = kPageSize;

// Type, bits 1:0. A block at levels 1 and 2 is kValid alone; a table at levels 0..2 and a page at level 3 set both.
inline constexpr std::uint64_t kValid = 1u << 0;
inline constexpr std::uint64_t kTableOrPage = 1u << 1;

// Lower attributes of blocks and pages
inline constexpr unsigned kAttrIndxShift = 2; ///< MAIR index, bits 4:2
inline constexpr std::uint64_t kAttrIndxMask = 7u << kAttrIndxShift;
inline constexpr std::uint64_t kApUser = 1u << 6;     ///< AP[1]: accessible at EL0
inline constexpr std::uint64_t kApReadOnly = 1u << 7; ///< AP[2]: read only
inline constexpr std::uint64_t kShInner = 3u << 8;    ///< SH: inner shareable
inline constexpr std::uint64_t kAf = 1u << 10;        ///< access flag
inline constexpr std::uint64_t kNotGlobal = 1u << 11; ///< nG: belongs to the present ASID
// Upper attributes of blocks and pages
inline constexpr std::uint64_t kDbm = 1ull << 51;            ///< not acted upon: no hardware dirty state
inline constexpr std::uint64_t kContiguous = 1ull << 52;     ///< hint, not acted upon
inline constexpr std::uint64_t kPxn = 1ull << 53;            ///< not executable at EL1
inline constexpr std::uint64_t kUxn = 1ull << 54;            ///< not executable at EL0
inline constexpr std::uint64_t kSoftwareMask = 0xfull << 55; ///< bits 58:55 belong to software
// Attributes of tables, effective for everything below
inline constexpr std::uint64_t kPxnTable = 1ull << 59;
inline constexpr std::uint64_t kUxnTable = 1ull << 60;
inline constexpr std::uint64_t kApTableNoUser = 1ull << 61;   ///< APTable[0]
inline constexpr std::uint64_t kApTableReadOnly = 1ull << 62; ///< APTable[1]

inline constexpr std::uint64_t kAddressMask = 0x0000'ffff'ffff'f000; ///< output address, bits 47:12

/// Address bits below an entry of `level`: 39, 30, 21, 12.
constexpr unsigned shift(unsigned level) { return kPageShift + 9 * (kLastLevel - level); }
/// Bytes that an entry of `level` covers.
constexpr std::uint64_t span(unsigned level) { return std::uint64_t{1} << shift(level); }
/// Index of `va` in a table of `level`.
constexpr unsigned index(VirtAddr va, unsigned level) {
    return static_cast<unsigned>(va.v >> shift(level)) & (kEntries - 1);
}

/// An entry that points to the table of the next level.
constexpr std::uint64_t table(PhysAddr next) { return (next.v & kAddressMask) | kTableOrPage | kValid; }
/// A page entry (level 3). `attributes` is made of the lower and upper attribute bits above.
constexpr std::uint64_t page(PhysAddr output, std::uint64_t attributes) {
    return (output.v & kAddressMask) | attributes | kTableOrPage | kValid;
}
/// A block entry: level 1 (1 GiB) or level 2 (2 MiB); `output` aligned to its size.
constexpr std::uint64_t block(PhysAddr output, std::uint64_t attributes) {
    return (output.v & kAddressMask) | attributes | kValid;
}

constexpr bool is_valid(std::uint64_t d) { return (d & kValid) != 0; }
constexpr bool is_table(std::uint64_t d, unsigned level) {
    return level < kLastLevel && (d & (kTableOrPage | kValid)) == (kTableOrPage | kValid);
}
/// A block at level 1 or 2, or a page at level 3. Other encodings translate nothing.
constexpr bool is_leaf(std::uint64_t d, unsigned level) {
    if (level == kLastLevel) return (d & (kTableOrPage | kValid)) == (kTableOrPage | kValid);
    return level != kFirstLevel && (d & (kTableOrPage | kValid)) == kValid;
}
/// Output address of a leaf, or address of the next table.
constexpr PhysAddr address(std::uint64_t d, unsigned level) {
    const std::uint64_t a = d & kAddressMask;
    return PhysAddr(is_leaf(d, level) ? a & ~(span(level) - 1) : a);
}

/// Fault status codes as in ESR_ELx.DFSC and IFSC (Arm ARM D17.2.37).
namespace fsc {
inline constexpr std::uint8_t kTranslation = 0x04;       ///< + level
inline constexpr std::uint8_t kAccessFlag = 0x08;        ///< + level
inline constexpr std::uint8_t kPermission = 0x0c;        ///< + level
inline constexpr std::uint8_t kExternalAbort = 0x10;     ///< synchronous, not on a walk
inline constexpr std::uint8_t kExternalAbortWalk = 0x14; ///< + level
} // namespace fsc

} // namespace rkperf::mem::desc
