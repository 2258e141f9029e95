// SPDX-License-Identifier: Apache-2.0
// Load and store pair of general registers, and load literal (DDI 0487 C4.1.88).
#include "models/a64/body_ldst.h"
#include "models/a64/tables.h"

namespace rkperf::a64 {
namespace {

using namespace ldst;

template <class Op, Address kAddress>
constexpr Exec kBody[2] = {body<Op, kAddress, false>, body<Op, kAddress, true>};

template <class Op, Address kAddress>
bool decode_pair(u32 raw, Insn& out) {
    constexpr int kSize = Op::kElement;
    decode_base(raw, out, writes_back(kAddress));
    out.imm = signed_field(raw, 15, 7) * kSize;
    out.mem_bytes = 2 * kSize;
    if constexpr (Op::kStore) {
        out.rd = src_slot(rd_of(raw));
        out.ra = src_slot(ra_of(raw));
        out.src[3] = zr_dep(rd_of(raw));
        out.src[2] = zr_dep(ra_of(raw));
    } else {
        out.rd = dst_slot(rd_of(raw));
        out.ra = dst_slot(ra_of(raw));
        out.dst[0] = zr_dep(rd_of(raw));
        out.dst[1] = zr_dep(ra_of(raw));
    }
    out.fn = kBody<Op, kAddress>[rn_of(raw) == 31];
    return true;
}

void prefetch_literal(CpuState& s, const Insn& i) { ldst::run_prefetch(s, s.pc + static_cast<u64>(i.imm), i); }
template <unsigned kBytes>
bool decode_literal(u32 raw, Insn& out) {
    out.imm = signed_field(raw, 5, 19) * 4;
    out.mem_bytes = kBytes;
    if (kBytes == 0) return true;
    out.rd = dst_slot(rd_of(raw));
    out.dst[0] = zr_dep(rd_of(raw));
    return true;
}

using Tc = TimingClass;
using Kind = InsnKind;

constexpr u32 kMask = 0xffc00000, kNoAlloc = 0x28000000, kPost = 0x28800000, kOffset = 0x29000000, kPre = 0x29800000;
constexpr u32 op(unsigned opc, unsigned load) { return opc << 30 | load << 22; }

using LdpW = LoadPair<u32, u32>;
using LdpX = LoadPair<u64, u64>;
using LdpSw = LoadPair<i32, u64>;
using StpW = StorePair<u32>;
using StpX = StorePair<u64>;

// clang-format off
#define RK_PAIR(NAME, MNEMONIC, TAG, OPC, LOAD, OP, TIMING, KIND)                                                                                              \
    {kMask, kPost   | op(OPC, LOAD), NAME TAG "_post",   MNEMONIC, decode_pair<OP, Address::post>,   kBody<OP, Address::post>[0],   Tc::TIMING, Kind::KIND}, \
    {kMask, kOffset | op(OPC, LOAD), NAME TAG "_offset", MNEMONIC, decode_pair<OP, Address::offset>, kBody<OP, Address::offset>[0], Tc::TIMING, Kind::KIND}, \
    {kMask, kPre    | op(OPC, LOAD), NAME TAG "_pre",    MNEMONIC, decode_pair<OP, Address::pre>,    kBody<OP, Address::pre>[0],    Tc::TIMING, Kind::KIND}

constexpr OpRow kRows[] = {
    RK_PAIR("STP",   "stp",   "_32", 0, 0, StpW,  store_pair, store),
    RK_PAIR("LDP",   "ldp",   "_32", 0, 1, LdpW,  load_pair,  load),
    RK_PAIR("LDPSW", "ldpsw", "",    1, 1, LdpSw, load_pair,  load),
    RK_PAIR("STP",   "stp",   "_64", 2, 0, StpX,  store_pair, store),
    RK_PAIR("LDP",   "ldp",   "_64", 2, 1, LdpX,  load_pair,  load),
    {kMask, kNoAlloc | op(0, 0), "STNP_32", "stnp", decode_pair<StpW, Address::offset>, kBody<StpW, Address::offset>[0], Tc::store_pair, Kind::store},
    {kMask, kNoAlloc | op(0, 1), "LDNP_32", "ldnp", decode_pair<LdpW, Address::offset>, kBody<LdpW, Address::offset>[0], Tc::load_pair,  Kind::load},
    {kMask, kNoAlloc | op(2, 0), "STNP_64", "stnp", decode_pair<StpX, Address::offset>, kBody<StpX, Address::offset>[0], Tc::store_pair, Kind::store},
    {kMask, kNoAlloc | op(2, 1), "LDNP_64", "ldnp", decode_pair<LdpX, Address::offset>, kBody<LdpX, Address::offset>[0], Tc::load_pair,  Kind::load},
    {0xff000000, 0x18000000, "LDR_lit_32", "ldr",   decode_literal<4>, literal<Load<u32, u32>>, Tc::load_lit, Kind::load},
    {0xff000000, 0x58000000, "LDR_lit_64", "ldr",   decode_literal<8>, literal<Load<u64, u64>>, Tc::load_lit, Kind::load},
    {0xff000000, 0x98000000, "LDRSW_lit",  "ldrsw", decode_literal<4>, literal<Load<i32, u64>>, Tc::load_lit, Kind::load},
    {0xff000000, 0xd8000000, "PRFM_lit",   "prfm",  decode_literal<0>, prefetch_literal,       Tc::prefetch, Kind::other},
};
#undef RK_PAIR
// clang-format on
static_assert(table_sound(kRows, region::load_store));

} // namespace

std::span<const OpRow> ldst_pair_rows() { return kRows; }

} // namespace rkperf::a64
