// SPDX-License-Identifier: Apache-2.0
// Loads and stores of one general register: unsigned offset, unscaled, unprivileged (the same at EL0), pre- and
// post-index, register offset; and prefetch (DDI 0487 C4.1.88).
#include "models/a64/body_ldst.h"
#include "models/a64/tables.h"

namespace rkperf::a64 {
namespace {

using namespace ldst;

/// PRFM. Nothing of it can fault, not even SP alignment; PLI and PST count as PLD does.
struct Prefetch {
    static constexpr unsigned kBytes = 8;
};
template <Address kAddress>
void prefetch(CpuState& s, const Insn& i) {
    run_prefetch(s, address_of<kAddress>(s, i), i);
}

template <class Op, Address kAddress>
constexpr Exec kBody[2] = {body<Op, kAddress, false>, body<Op, kAddress, true>};
template <Address kAddress>
constexpr Exec kBody<Prefetch, kAddress>[2] = {prefetch<kAddress>, prefetch<kAddress>};

template <class Op>
void decode_data(u32 raw, Insn& out) {
    if constexpr (!std::is_same_v<Op, Prefetch>) {
        out.mem_bytes = Op::kBytes;
        if constexpr (Op::kStore) {
            out.rd = src_slot(rd_of(raw));
            out.src[3] = zr_dep(rd_of(raw));
        } else {
            out.rd = dst_slot(rd_of(raw));
            out.dst[0] = zr_dep(rd_of(raw));
        }
    }
}
template <class Op>
bool decode_unsigned(u32 raw, Insn& out) {
    decode_data<Op>(raw, out);
    decode_base(raw, out, false);
    out.imm = field(raw, 10, 12) * static_cast<int>(Op::kBytes);
    out.fn = kBody<Op, Address::offset>[rn_of(raw) == 31];
    return true;
}
template <class Op, Address kAddress>
bool decode_imm9(u32 raw, Insn& out) {
    decode_data<Op>(raw, out);
    decode_base(raw, out, writes_back(kAddress));
    out.imm = signed_field(raw, 12, 9);
    out.fn = kBody<Op, kAddress>[rn_of(raw) == 31];
    return true;
}
template <class Op>
bool decode_reg(u32 raw, Insn& out) {
    decode_data<Op>(raw, out);
    Address form{};
    if (!decode_reg_offset(raw, out, log2_of(Op::kBytes), form)) return false;
    constexpr const Exec* kForms[3] = {kBody<Op, Address::reg_uxtw>, kBody<Op, Address::reg_lsl>,
                                       kBody<Op, Address::reg_sxtw>};
    out.fn = kForms[static_cast<unsigned>(form) - static_cast<unsigned>(Address::reg_uxtw)][rn_of(raw) == 31];
    return true;
}

using Tc = TimingClass;
using Kind = InsnKind;

constexpr u32 kUnsigned = 0x39000000, kUnscaled = 0x38000000, kPost = 0x38000400, kUnpriv = 0x38000800,
              kPre = 0x38000c00, kReg = 0x38200800;
constexpr u32 kMaskUnsigned = 0xffc00000, kMask9 = 0xffe00c00;
constexpr u32 op(unsigned size, unsigned opc) { return size << 30 | opc << 22; }

// clang-format off
/// SUFFIX is what follows LDR or STR (LDUR, LDTR) in the mnemonic.
#define RK_LDST(DIR, dir, SUFFIX, suffix, TAG, SIZE, OPC, OP, TIMING, KIND)                                                                                            \
    {kMaskUnsigned, kUnsigned | op(SIZE, OPC), DIR "R" SUFFIX TAG "_imm",  dir "r" suffix,  decode_unsigned<OP>,                  kBody<OP, Address::offset>[0],  Tc::TIMING, Kind::KIND}, \
    {kMask9,        kUnscaled | op(SIZE, OPC), DIR "UR" SUFFIX TAG,        dir "ur" suffix, decode_imm9<OP, Address::offset>,     kBody<OP, Address::offset>[0],  Tc::TIMING, Kind::KIND}, \
    {kMask9,        kPost     | op(SIZE, OPC), DIR "R" SUFFIX TAG "_post", dir "r" suffix,  decode_imm9<OP, Address::post>,       kBody<OP, Address::post>[0],    Tc::TIMING, Kind::KIND}, \
    {kMask9,        kUnpriv   | op(SIZE, OPC), DIR "TR" SUFFIX TAG,        dir "tr" suffix, decode_imm9<OP, Address::offset>,     kBody<OP, Address::offset>[0],  Tc::TIMING, Kind::KIND}, \
    {kMask9,        kPre      | op(SIZE, OPC), DIR "R" SUFFIX TAG "_pre",  dir "r" suffix,  decode_imm9<OP, Address::pre>,        kBody<OP, Address::pre>[0],     Tc::TIMING, Kind::KIND}, \
    {kMask9,        kReg      | op(SIZE, OPC), DIR "R" SUFFIX TAG "_reg",  dir "r" suffix,  decode_reg<OP>,                       kBody<OP, Address::reg_lsl>[0], Tc::TIMING, Kind::KIND}

using StoreB = Store<u8>;
using StoreH = Store<u16>;
using StoreW = Store<u32>;
using StoreX = Store<u64>;
using LoadB = Load<u8, u8>;
using LoadH = Load<u16, u16>;
using LoadW = Load<u32, u32>;
using LoadX = Load<u64, u64>;
using LoadSbX = Load<i8, u64>;
using LoadSbW = Load<i8, u32>;
using LoadShX = Load<i16, u64>;
using LoadShW = Load<i16, u32>;
using LoadSw = Load<i32, u64>;

constexpr OpRow kRows[] = {
    RK_LDST("ST", "st", "B",  "b",  "",    0, 0, StoreB,  store,       store),
    RK_LDST("LD", "ld", "B",  "b",  "",    0, 1, LoadB,   load,        load),
    RK_LDST("LD", "ld", "SB", "sb", "_64", 0, 2, LoadSbX, load_signed, load),
    RK_LDST("LD", "ld", "SB", "sb", "_32", 0, 3, LoadSbW, load_signed, load),
    RK_LDST("ST", "st", "H",  "h",  "",    1, 0, StoreH,  store,       store),
    RK_LDST("LD", "ld", "H",  "h",  "",    1, 1, LoadH,   load,        load),
    RK_LDST("LD", "ld", "SH", "sh", "_64", 1, 2, LoadShX, load_signed, load),
    RK_LDST("LD", "ld", "SH", "sh", "_32", 1, 3, LoadShW, load_signed, load),
    RK_LDST("ST", "st", "",   "",   "_32", 2, 0, StoreW,  store,       store),
    RK_LDST("LD", "ld", "",   "",   "_32", 2, 1, LoadW,   load,        load),
    RK_LDST("LD", "ld", "SW", "sw", "",    2, 2, LoadSw,  load_signed, load),
    RK_LDST("ST", "st", "",   "",   "_64", 3, 0, StoreX,  store,       store),
    RK_LDST("LD", "ld", "",   "",   "_64", 3, 1, LoadX,   load,        load),
    {kMaskUnsigned, kUnsigned | op(3, 2), "PRFM_imm", "prfm",  decode_unsigned<Prefetch>,               kBody<Prefetch, Address::offset>[0],  Tc::prefetch, Kind::other},
    {kMask9,        kUnscaled | op(3, 2), "PRFUM",    "prfum", decode_imm9<Prefetch, Address::offset>,  kBody<Prefetch, Address::offset>[0],  Tc::prefetch, Kind::other},
    {kMask9,        kReg      | op(3, 2), "PRFM_reg", "prfm",  decode_reg<Prefetch>,                    kBody<Prefetch, Address::reg_lsl>[0], Tc::prefetch, Kind::other},
};
#undef RK_LDST
// clang-format on
static_assert(table_sound(kRows, region::load_store));

} // namespace

std::span<const OpRow> ldst_rows() { return kRows; }

} // namespace rkperf::a64
