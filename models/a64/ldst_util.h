// SPDX-License-Identifier: Apache-2.0
// Addressing of loads and stores. A body is instantiated per addressing form and for base SP or not; the decode function
// takes the right one from a pair.
#pragma once

#include "models/a64/decode_util.h"
#include "models/a64/exec_util.h"

#include <utility>

namespace rkperf::a64 {

/// How the address comes about, and whether the base is written back.
enum class Address : u8 { offset, post, pre, reg_uxtw, reg_lsl, reg_sxtw };

constexpr bool writes_back(Address a) { return a == Address::post || a == Address::pre; }

/// Address of the access. Insn::imm is the offset, Insn::b the shift of a register offset.
template <Address kAddress>
inline u64 address_of(const CpuState& s, const Insn& i) {
    const u64 base = s.x[i.rn];
    if constexpr (kAddress == Address::post) return base;
    if constexpr (kAddress == Address::reg_uxtw) return base + (u64{static_cast<u32>(s.x[i.rm])} << i.b);
    if constexpr (kAddress == Address::reg_lsl) return base + (s.x[i.rm] << i.b);
    if constexpr (kAddress == Address::reg_sxtw) return base + (extend<Extend::sxtw>(s.x[i.rm]) << i.b);
    return base + static_cast<u64>(i.imm);
}
/// Last step of a body, after nothing can fault any more; `va` is the address accessed. Comes after the write of loaded
/// registers, so where base and target are the same register (constrained unpredictable) the written-back address wins,
/// as in QEMU.
template <Address kAddress>
inline void write_back(CpuState& s, const Insn& i, u64 va) {
    if constexpr (kAddress == Address::pre) s.x[i.rn] = va;
    if constexpr (kAddress == Address::post) s.x[i.rn] = va + static_cast<u64>(i.imm);
}

/// Base register, its dependency and write-back.
inline void decode_base(u32 raw, Insn& out, bool write_back) {
    out.rn = sp_slot(rn_of(raw));
    out.src[0] = sp_dep(rn_of(raw));
    if (write_back) out.dst[2] = sp_dep(rn_of(raw));
}
/// Register offset: false if the option is reserved. Gives the addressing form.
inline bool decode_reg_offset(u32 raw, Insn& out, unsigned log2_size, Address& form) {
    switch (field(raw, 13, 3)) {
        case 2: form = Address::reg_uxtw; break;
        case 3:
        case 7: form = Address::reg_lsl; break;
        case 6: form = Address::reg_sxtw; break;
        default: return false;
    }
    decode_base(raw, out, false);
    out.rm = src_slot(rm_of(raw));
    out.src[1] = zr_dep(rm_of(raw));
    out.b = static_cast<u8>(field(raw, 12, 1) ? log2_size : 0);
    return true;
}

constexpr unsigned log2_of(unsigned size) { return static_cast<unsigned>(std::bit_width(size)) - 1; }

} // namespace rkperf::a64
