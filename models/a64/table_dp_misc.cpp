// SPDX-License-Identifier: Apache-2.0
// Data processing, register, the rest (DDI 0487 C4.1.89): with carry, conditional compare and select, one, two and three
// sources, CRC32.
#include "models/a64/body_dp_misc.h"
#include "models/a64/decode_util.h"
#include "models/a64/tables.h"

namespace rkperf::a64 {
namespace {

using namespace dp_misc;

bool decode_1(u32 raw, Insn& out) {
    out.rd = dst_slot(rd_of(raw));
    out.rn = src_slot(rn_of(raw));
    out.src[0] = zr_dep(rn_of(raw));
    out.dst[0] = zr_dep(rd_of(raw));
    return true;
}
bool decode_2(u32 raw, Insn& out) {
    decode_1(raw, out);
    out.rm = src_slot(rm_of(raw));
    out.src[1] = zr_dep(rm_of(raw));
    return true;
}
bool decode_3(u32 raw, Insn& out) {
    decode_2(raw, out);
    out.ra = src_slot(ra_of(raw));
    out.src[3] = zr_dep(ra_of(raw));
    return true;
}

// With carry

template <bool kFlags>
bool decode_adc(u32 raw, Insn& out) {
    decode_2(raw, out);
    out.src[2] = reg::flags;
    if (kFlags) out.dst[1] = reg::flags;
    return true;
}

// Conditional compare and select; Insn::imm is the condition's mask.

template <bool kImm>
bool decode_ccmp(u32 raw, Insn& out) {
    out.rn = src_slot(rn_of(raw));
    out.rm = src_slot(rm_of(raw));
    out.c = static_cast<u8>(rm_of(raw));
    out.d = static_cast<u8>(field(raw, 0, 4));
    out.imm = condition_mask(field(raw, 12, 4));
    out.src[0] = zr_dep(rn_of(raw));
    if (!kImm) out.src[1] = zr_dep(rm_of(raw));
    out.src[2] = reg::flags;
    out.dst[1] = reg::flags;
    return true;
}

bool decode_csel(u32 raw, Insn& out) {
    decode_2(raw, out);
    out.imm = condition_mask(field(raw, 12, 4));
    out.src[2] = reg::flags;
    return true;
}

template <class T>
bool decode_madd(u32 raw, Insn& out) {
    decode_3(raw, out);
    if (ra_of(raw) == 31 && field(raw, 15, 1) == 0) out.fn = mul<T>;
    if (ra_of(raw) == 31) out.timing = sizeof(T) == 8 ? TimingClass::mul64 : TimingClass::mul32;
    return true;
}
bool decode_madd_long(u32 raw, Insn& out) {
    decode_3(raw, out);
    if (ra_of(raw) == 31) out.timing = TimingClass::mul32;
    return true;
}

using Tc = TimingClass;
using Kind = InsnKind;
constexpr u32 kMask1 = 0xfffffc00, kMask2 = 0xffe0fc00, kMask3 = 0xffe08000, kMaskSel = 0xffe00c00,
              kMaskCcmp = 0xffe00c10;

// clang-format off
constexpr OpRow kRows[] = {
    {kMask2,    0x1a000000, "ADC_32",      "adc",     decode_adc<false>,  adc<u32, false, false>,  Tc::adc,       Kind::other},
    {kMask2,    0x9a000000, "ADC_64",      "adc",     decode_adc<false>,  adc<u64, false, false>,  Tc::adc,       Kind::other},
    {kMask2,    0x3a000000, "ADCS_32",     "adcs",    decode_adc<true>,   adc<u32, false, true>,   Tc::adc,       Kind::other},
    {kMask2,    0xba000000, "ADCS_64",     "adcs",    decode_adc<true>,   adc<u64, false, true>,   Tc::adc,       Kind::other},
    {kMask2,    0x5a000000, "SBC_32",      "sbc",     decode_adc<false>,  adc<u32, true, false>,   Tc::adc,       Kind::other},
    {kMask2,    0xda000000, "SBC_64",      "sbc",     decode_adc<false>,  adc<u64, true, false>,   Tc::adc,       Kind::other},
    {kMask2,    0x7a000000, "SBCS_32",     "sbcs",    decode_adc<true>,   adc<u32, true, true>,    Tc::adc,       Kind::other},
    {kMask2,    0xfa000000, "SBCS_64",     "sbcs",    decode_adc<true>,   adc<u64, true, true>,    Tc::adc,       Kind::other},

    {kMaskCcmp, 0x3a400000, "CCMN_reg_32", "ccmn",    decode_ccmp<false>, ccmp<u32, false, false>, Tc::ccmp,      Kind::other},
    {kMaskCcmp, 0xba400000, "CCMN_reg_64", "ccmn",    decode_ccmp<false>, ccmp<u64, false, false>, Tc::ccmp,      Kind::other},
    {kMaskCcmp, 0x7a400000, "CCMP_reg_32", "ccmp",    decode_ccmp<false>, ccmp<u32, true, false>,  Tc::ccmp,      Kind::other},
    {kMaskCcmp, 0xfa400000, "CCMP_reg_64", "ccmp",    decode_ccmp<false>, ccmp<u64, true, false>,  Tc::ccmp,      Kind::other},
    {kMaskCcmp, 0x3a400800, "CCMN_imm_32", "ccmn",    decode_ccmp<true>,  ccmp<u32, false, true>,  Tc::ccmp,      Kind::other},
    {kMaskCcmp, 0xba400800, "CCMN_imm_64", "ccmn",    decode_ccmp<true>,  ccmp<u64, false, true>,  Tc::ccmp,      Kind::other},
    {kMaskCcmp, 0x7a400800, "CCMP_imm_32", "ccmp",    decode_ccmp<true>,  ccmp<u32, true, true>,   Tc::ccmp,      Kind::other},
    {kMaskCcmp, 0xfa400800, "CCMP_imm_64", "ccmp",    decode_ccmp<true>,  ccmp<u64, true, true>,   Tc::ccmp,      Kind::other},

    {kMaskSel,  0x1a800000, "CSEL_32",     "csel",    decode_csel,        csel<u32, Select::sel>,  Tc::csel,      Kind::other},
    {kMaskSel,  0x9a800000, "CSEL_64",     "csel",    decode_csel,        csel<u64, Select::sel>,  Tc::csel,      Kind::other},
    {kMaskSel,  0x1a800400, "CSINC_32",    "csinc",   decode_csel,        csel<u32, Select::inc>,  Tc::csel,      Kind::other},
    {kMaskSel,  0x9a800400, "CSINC_64",    "csinc",   decode_csel,        csel<u64, Select::inc>,  Tc::csel,      Kind::other},
    {kMaskSel,  0x5a800000, "CSINV_32",    "csinv",   decode_csel,        csel<u32, Select::inv>,  Tc::csel,      Kind::other},
    {kMaskSel,  0xda800000, "CSINV_64",    "csinv",   decode_csel,        csel<u64, Select::inv>,  Tc::csel,      Kind::other},
    {kMaskSel,  0x5a800400, "CSNEG_32",    "csneg",   decode_csel,        csel<u32, Select::neg>,  Tc::csel,      Kind::other},
    {kMaskSel,  0xda800400, "CSNEG_64",    "csneg",   decode_csel,        csel<u64, Select::neg>,  Tc::csel,      Kind::other},

    {kMask2,    0x1ac00800, "UDIV_32",     "udiv",    decode_2,           udiv<u32>,               Tc::div32,     Kind::other},
    {kMask2,    0x9ac00800, "UDIV_64",     "udiv",    decode_2,           udiv<u64>,               Tc::div64,     Kind::other},
    {kMask2,    0x1ac00c00, "SDIV_32",     "sdiv",    decode_2,           sdiv<u32>,               Tc::div32,     Kind::other},
    {kMask2,    0x9ac00c00, "SDIV_64",     "sdiv",    decode_2,           sdiv<u64>,               Tc::div64,     Kind::other},
    {kMask2,    0x1ac02000, "LSLV_32",     "lslv",    decode_2,           lslv<u32>,               Tc::shift_reg, Kind::other},
    {kMask2,    0x9ac02000, "LSLV_64",     "lslv",    decode_2,           lslv<u64>,               Tc::shift_reg, Kind::other},
    {kMask2,    0x1ac02400, "LSRV_32",     "lsrv",    decode_2,           lsrv<u32>,               Tc::shift_reg, Kind::other},
    {kMask2,    0x9ac02400, "LSRV_64",     "lsrv",    decode_2,           lsrv<u64>,               Tc::shift_reg, Kind::other},
    {kMask2,    0x1ac02800, "ASRV_32",     "asrv",    decode_2,           asrv<u32>,               Tc::shift_reg, Kind::other},
    {kMask2,    0x9ac02800, "ASRV_64",     "asrv",    decode_2,           asrv<u64>,               Tc::shift_reg, Kind::other},
    {kMask2,    0x1ac02c00, "RORV_32",     "rorv",    decode_2,           rorv<u32>,               Tc::shift_reg, Kind::other},
    {kMask2,    0x9ac02c00, "RORV_64",     "rorv",    decode_2,           rorv<u64>,               Tc::shift_reg, Kind::other},

    {kMask2,    0x1ac04000, "CRC32B",      "crc32b",  decode_2,           crc<u8, kCrc32>,         Tc::crc,       Kind::other},
    {kMask2,    0x1ac04400, "CRC32H",      "crc32h",  decode_2,           crc<u16, kCrc32>,        Tc::crc,       Kind::other},
    {kMask2,    0x1ac04800, "CRC32W",      "crc32w",  decode_2,           crc<u32, kCrc32>,        Tc::crc,       Kind::other},
    {kMask2,    0x9ac04c00, "CRC32X",      "crc32x",  decode_2,           crc<u64, kCrc32>,        Tc::crc,       Kind::other},
    {kMask2,    0x1ac05000, "CRC32CB",     "crc32cb", decode_2,           crc<u8, kCrc32c>,        Tc::crc,       Kind::other},
    {kMask2,    0x1ac05400, "CRC32CH",     "crc32ch", decode_2,           crc<u16, kCrc32c>,       Tc::crc,       Kind::other},
    {kMask2,    0x1ac05800, "CRC32CW",     "crc32cw", decode_2,           crc<u32, kCrc32c>,       Tc::crc,       Kind::other},
    {kMask2,    0x9ac05c00, "CRC32CX",     "crc32cx", decode_2,           crc<u64, kCrc32c>,       Tc::crc,       Kind::other},

    {kMask1,    0x5ac00000, "RBIT_32",     "rbit",    decode_1,           rbit<u32>,               Tc::rev,       Kind::other},
    {kMask1,    0xdac00000, "RBIT_64",     "rbit",    decode_1,           rbit<u64>,               Tc::rev,       Kind::other},
    {kMask1,    0x5ac00400, "REV16_32",    "rev16",   decode_1,           rev16<u32>,              Tc::rev,       Kind::other},
    {kMask1,    0xdac00400, "REV16_64",    "rev16",   decode_1,           rev16<u64>,              Tc::rev,       Kind::other},
    {kMask1,    0x5ac00800, "REV_32",      "rev",     decode_1,           rev_w,                   Tc::rev,       Kind::other},
    {kMask1,    0xdac00800, "REV32",       "rev32",   decode_1,           rev32,                   Tc::rev,       Kind::other},
    {kMask1,    0xdac00c00, "REV_64",      "rev",     decode_1,           rev_x,                   Tc::rev,       Kind::other},
    {kMask1,    0x5ac01000, "CLZ_32",      "clz",     decode_1,           clz<u32>,                Tc::clz,       Kind::other},
    {kMask1,    0xdac01000, "CLZ_64",      "clz",     decode_1,           clz<u64>,                Tc::clz,       Kind::other},
    {kMask1,    0x5ac01400, "CLS_32",      "cls",     decode_1,           cls<u32>,                Tc::clz,       Kind::other},
    {kMask1,    0xdac01400, "CLS_64",      "cls",     decode_1,           cls<u64>,                Tc::clz,       Kind::other},

    {kMask3,    0x1b000000, "MADD_32",     "madd",    decode_madd<u32>,   madd<u32, false>,        Tc::madd32,    Kind::other},
    {kMask3,    0x9b000000, "MADD_64",     "madd",    decode_madd<u64>,   madd<u64, false>,        Tc::madd64,    Kind::other},
    {kMask3,    0x1b008000, "MSUB_32",     "msub",    decode_madd<u32>,   madd<u32, true>,         Tc::madd32,    Kind::other},
    {kMask3,    0x9b008000, "MSUB_64",     "msub",    decode_madd<u64>,   madd<u64, true>,         Tc::madd64,    Kind::other},
    {kMask3,    0x9b200000, "SMADDL",      "smaddl",  decode_madd_long,   madd_long<i32, false>,   Tc::madd32,    Kind::other},
    {kMask3,    0x9b208000, "SMSUBL",      "smsubl",  decode_madd_long,   madd_long<i32, true>,    Tc::madd32,    Kind::other},
    {kMask3,    0x9ba00000, "UMADDL",      "umaddl",  decode_madd_long,   madd_long<u32, false>,   Tc::madd32,    Kind::other},
    {kMask3,    0x9ba08000, "UMSUBL",      "umsubl",  decode_madd_long,   madd_long<u32, true>,    Tc::madd32,    Kind::other},
    {kMask3,    0x9b400000, "SMULH",       "smulh",   decode_2,           smulh,                   Tc::mulh,      Kind::other},
    {kMask3,    0x9bc00000, "UMULH",       "umulh",   decode_2,           umulh,                   Tc::mulh,      Kind::other},
};
// clang-format on
static_assert(table_sound(kRows, region::dp_reg));

} // namespace

std::span<const OpRow> dp_misc_rows() { return kRows; }

} // namespace rkperf::a64
