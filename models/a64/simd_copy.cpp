// SPDX-License-Identifier: Apache-2.0
// Advanced SIMD data movement: copies between lanes and general registers, permutations, extraction, table look-up,
// modified immediates. Arm ARM C4.1.96.
#include "models/a64/simd_exec.h"

#include <bit>

namespace rkperf::a64 {
namespace {

using T = TimingClass;

// ---- copies; c is the destination's lane, d the source's

template <class E, unsigned N>
void fill(CpuState& s, unsigned rd, E value) {
    Lanes<E, N> d;
    for (unsigned l = 0; l < N; ++l) d.v[l] = value;
    d.store(s.v[rd]);
}
template <class E, unsigned N>
void exec_dup_element(CpuState& s, const Insn& i) {
    fill<E, N>(s, i.rd, lane<E>(s.v[i.rn], i.d));
}
template <class E, unsigned N>
void exec_dup_gpr(CpuState& s, const Insn& i) {
    fill<E, N>(s, i.rd, static_cast<E>(s.x[i.rn]));
}
template <class E>
void exec_ins_element(CpuState& s, const Insn& i) {
    lane<E>(s.v[i.rd], i.c) = lane<E>(s.v[i.rn], i.d);
}
template <class E>
void exec_ins_gpr(CpuState& s, const Insn& i) {
    lane<E>(s.v[i.rd], i.c) = static_cast<E>(s.x[i.rn]);
}
template <class E>
void exec_umov(CpuState& s, const Insn& i) {
    s.x[i.rd] = lane<E>(s.v[i.rn], i.d);
}
/// SMOV: the lane sign extended to 32 or 64 bits.
template <class E, class To>
void exec_smov(CpuState& s, const Insn& i) {
    s.x[i.rd] = static_cast<std::make_unsigned_t<To>>(static_cast<To>(lane<E>(s.v[i.rn], i.d)));
}

/// Element size and lane from imm5: the lowest bit set is the size. False if there is none.
bool imm5(std::uint32_t raw, unsigned& size, unsigned& index) {
    const unsigned f = field(raw, 16, 5);
    if ((f & 15) == 0) return false;
    size = static_cast<unsigned>(std::countr_zero(f));
    index = f >> (size + 1);
    return true;
}

template <class Bodies>
Exec by_lane_size(unsigned size) {
    using std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t;
    constexpr Exec fns[4] = {Bodies::template fn<uint8_t>, Bodies::template fn<uint16_t>, Bodies::template fn<uint32_t>,
                             Bodies::template fn<uint64_t>};
    return fns[size];
}
template <unsigned bytes>
struct DupElement {
    template <class E>
    static constexpr Exec fn = exec_dup_element<E, bytes / sizeof(E) ? bytes / sizeof(E) : 1>;
};
template <unsigned bytes>
struct DupGpr {
    template <class E>
    static constexpr Exec fn = exec_dup_gpr<E, bytes / sizeof(E)>;
};
struct InsElement {
    template <class E>
    static constexpr Exec fn = exec_ins_element<E>;
};
struct InsGpr {
    template <class E>
    static constexpr Exec fn = exec_ins_gpr<E>;
};
struct Umov {
    template <class E>
    static constexpr Exec fn = exec_umov<E>;
};

template <bool scalar>
bool dec_dup_element(std::uint32_t raw, Insn& out) {
    unsigned size, index;
    if (!imm5(raw, size, index)) return false;
    const bool q = raw >> 30 & 1 && !scalar;
    if (!scalar && size == 3 && !q) return false;
    set_v_unary(raw, out);
    set_shape(out, size, q);
    out.d = small(index);
    out.fn = scalar ? by_lane_size<DupElement<1>>(size)
             : q    ? by_lane_size<DupElement<16>>(size)
                    : by_lane_size<DupElement<8>>(size);
    return true;
}
bool dec_dup_gpr(std::uint32_t raw, Insn& out) {
    unsigned size, index;
    if (!imm5(raw, size, index)) return false;
    const bool q = raw >> 30 & 1;
    if (size == 3 && !q) return false;
    out.rd = small(rd_of(raw));
    out.rn = src_slot(rn_of(raw));
    out.src[0] = zr_dep(rn_of(raw));
    out.dst[0] = v_dep(out.rd);
    set_shape(out, size, q);
    out.fn = q ? by_lane_size<DupGpr<16>>(size) : by_lane_size<DupGpr<8>>(size);
    return true;
}
bool dec_ins_element(std::uint32_t raw, Insn& out) {
    unsigned size, index;
    if (!imm5(raw, size, index)) return false;
    set_v_unary(raw, out);
    set_v_merges(out);
    set_shape(out, size, true);
    out.c = small(index);
    out.d = small(field(raw, 11, 4) >> size);
    out.fn = by_lane_size<InsElement>(size);
    return true;
}
bool dec_ins_gpr(std::uint32_t raw, Insn& out) {
    unsigned size, index;
    if (!imm5(raw, size, index)) return false;
    out.rd = small(rd_of(raw));
    out.rn = src_slot(rn_of(raw));
    out.src[0] = zr_dep(rn_of(raw));
    out.dst[0] = v_dep(out.rd);
    set_v_merges(out);
    set_shape(out, size, true);
    out.c = small(index);
    out.fn = by_lane_size<InsGpr>(size);
    return true;
}
template <bool is_signed>
bool dec_mov_to_gpr(std::uint32_t raw, Insn& out) {
    unsigned size, index;
    if (!imm5(raw, size, index)) return false;
    const bool wide = raw >> 30 & 1;
    out.rd = dst_slot(rd_of(raw));
    out.rn = small(rn_of(raw));
    out.src[0] = v_dep(out.rn);
    out.dst[0] = zr_dep(rd_of(raw));
    out.d = small(index);
    set_shape(out, size, wide);
    if (!is_signed) {
        if (wide != (size == 3)) return false;
        out.fn = by_lane_size<Umov>(size);
        return true;
    }
    using std::int8_t, std::int16_t, std::int32_t, std::int64_t;
    constexpr Exec fns[2][4] = {
        {exec_smov<int8_t, int32_t>, exec_smov<int16_t, int32_t>, nullptr, nullptr},
        {exec_smov<int8_t, int64_t>, exec_smov<int16_t, int64_t>, exec_smov<int32_t, int64_t>, nullptr}};
    out.fn = fns[wide][size];
    return out.fn != nullptr;
}

// ---- permutations

enum class Permutation { uzp, trn, zip };

template <class E, unsigned N, Permutation kind, unsigned part>
void exec_permute(CpuState& s, const Insn& i) {
    const auto a = Lanes<E, N>::load(s.v[i.rn]), b = Lanes<E, N>::load(s.v[i.rm]);
    Lanes<E, N> d;
    for (unsigned l = 0; l < N / 2; ++l) {
        if (kind == Permutation::uzp) {
            d.v[l] = a.v[2 * l + part];
            d.v[l + N / 2] = b.v[2 * l + part];
        } else if (kind == Permutation::trn) {
            d.v[2 * l] = a.v[2 * l + part];
            d.v[2 * l + 1] = b.v[2 * l + part];
        } else {
            d.v[2 * l] = a.v[l + part * (N / 2)];
            d.v[2 * l + 1] = b.v[l + part * (N / 2)];
        }
    }
    d.store(s.v[i.rd]);
}
template <Permutation kind, unsigned part>
struct Permute {
    static constexpr bool is_signed = false, accumulates = false, merges = false;
    static constexpr unsigned sizes = 15;
    template <class E, unsigned N, class>
    struct Body {
        static constexpr Exec fn = exec_permute<E, N, kind, part>;
    };
};

/// EXT: bytes imm.. of the two registers one after the other.
template <unsigned bytes>
void exec_ext(CpuState& s, const Insn& i) {
    std::uint8_t both[2 * bytes];
    std::memcpy(both, s.v[i.rn].b, bytes);
    std::memcpy(both + bytes, s.v[i.rm].b, bytes);
    Lanes<std::uint8_t, bytes> d;
    std::memcpy(d.v, both + i.imm, bytes);
    d.store(s.v[i.rd]);
}
bool dec_ext(std::uint32_t raw, Insn& out) {
    set_v_binary(raw, out);
    const bool q = raw >> 30 & 1;
    set_shape(out, 0, q);
    out.imm = field(raw, 11, 4);
    out.fn = q ? exec_ext<16> : exec_ext<8>;
    return q || out.imm < 8;
}

/// TBL, TBX: bytes of a table of `count` registers.
template <unsigned count, unsigned bytes, bool keeps>
void exec_table(CpuState& s, const Insn& i) {
    std::uint8_t table[16 * count];
    for (unsigned n = 0; n < count; ++n) std::memcpy(table + 16 * n, s.v[(i.rn + n) & 31].b, 16);
    const auto index = Lanes<std::uint8_t, bytes>::load(s.v[i.rm]);
    Lanes<std::uint8_t, bytes> d{};
    if (keeps) d = Lanes<std::uint8_t, bytes>::load(s.v[i.rd]);
    for (unsigned l = 0; l < bytes; ++l)
        if (index.v[l] < 16 * count) d.v[l] = table[index.v[l]];
    d.store(s.v[i.rd]);
}
/// Insn has room for three sources beside TBX's rd; of a larger table the first registers are named.
template <unsigned count, bool keeps>
bool dec_table(std::uint32_t raw, Insn& out) {
    set_v_binary(raw, out);
    out.src[0] = v_dep(out.rm);
    for (unsigned n = 0, free = keeps ? 2 : 3; n < count && n < free; ++n) out.src[1 + n] = v_dep((out.rn + n) & 31);
    if (keeps) set_v_accumulates(out);
    const bool q = raw >> 30 & 1;
    set_shape(out, 0, q);
    out.fn = q ? exec_table<count, 16, keeps> : exec_table<count, 8, keeps>;
    return true;
}

// ---- modified immediates; imm is the pattern of 64 bits

enum class Apply { move, orr, bic };

template <unsigned words, Apply how>
void exec_imm(CpuState& s, const Insn& i) {
    auto d = Lanes<std::uint64_t, words>::load(s.v[i.rd]);
    for (unsigned l = 0; l < words; ++l) {
        const auto imm = static_cast<std::uint64_t>(i.imm);
        d.v[l] = how == Apply::move ? imm : how == Apply::orr ? d.v[l] | imm : d.v[l] & ~imm;
    }
    d.store(s.v[i.rd]);
}

std::uint64_t repeat(std::uint64_t v, unsigned bits) {
    for (; bits < 64; bits *= 2) v |= v << bits;
    return v;
}

/// The kinds of immediate: 32 and 16 bits with a zero-filling shift, 32 bits with a one-filling shift, bytes, one bit
/// per byte, and the FP formats.
enum class Pattern { words, halves, ones, bytes, mask, f16, f32, f64 };

template <Pattern pattern>
std::uint64_t expand(std::uint32_t raw) {
    const std::uint32_t imm8 = field(raw, 16, 3) << 5 | field(raw, 5, 5);
    switch (pattern) {
        case Pattern::words: return repeat(std::uint64_t{imm8} << 8 * field(raw, 13, 2), 32);
        case Pattern::halves: return repeat(std::uint64_t{imm8} << 8 * field(raw, 13, 1), 16);
        case Pattern::ones: return repeat(field(raw, 12, 1) ? imm8 << 16 | 0xffff : imm8 << 8 | 0xff, 32);
        case Pattern::bytes: return repeat(imm8, 8);
        case Pattern::mask: {
            std::uint64_t v = 0;
            for (unsigned n = 0; n < 8; ++n) v |= (imm8 >> n & 1) ? std::uint64_t{0xff} << 8 * n : 0;
            return v;
        }
        case Pattern::f16: return repeat(soft::expand_imm<F16>(imm8), 16);
        case Pattern::f32: return repeat(soft::expand_imm<F32>(imm8), 32);
        case Pattern::f64: return soft::expand_imm<F64>(imm8);
    }
    return 0;
}

template <Pattern pattern, Apply how, bool inverts>
bool dec_imm(std::uint32_t raw, Insn& out) {
    out.rd = small(rd_of(raw));
    out.dst[0] = v_dep(out.rd);
    if (how != Apply::move) set_v_merges(out);
    const bool q = raw >> 30 & 1;
    constexpr unsigned sizes[] = {2, 1, 2, 0, 3, 1, 2, 3};
    set_shape(out, sizes[static_cast<unsigned>(pattern)], q);
    const std::uint64_t v = expand<pattern>(raw);
    out.imm = static_cast<std::int64_t>(inverts ? ~v : v);
    out.fn = q ? exec_imm<2, how> : exec_imm<1, how>;
    return true;
}

// ---- rows

template <Permutation kind, unsigned part>
constexpr OpRow permutation(unsigned opcode, const char* name, const char* mnemonic) {
    using P = Permute<kind, part>;
    return {0xbf20fc00,
            0x0e000800u | opcode << 12,
            name,
            mnemonic,
            dec_vector2<P::template Body, P>,
            exec_permute<std::uint8_t, 16, kind, part>,
            T::simd_permute,
            kSimd};
}
template <unsigned count, bool keeps>
constexpr OpRow table(const char* name, const char* mnemonic) {
    constexpr T timings[] = {T::simd_tbl1, T::simd_tbl2, T::simd_tbl3, T::simd_tbl4};
    return {0xbfe0fc00,
            0x0e000000u | (count - 1) << 13 | keeps << 12,
            name,
            mnemonic,
            dec_table<count, keeps>,
            exec_table<count, 16, keeps>,
            timings[count - 1],
            kSimd};
}
/// `cmode` with its don't-care bits outside `cmode_mask`.
template <Pattern pattern, Apply how, bool inverts = false>
constexpr OpRow imm(unsigned op, unsigned cmode, unsigned cmode_mask, const char* name, const char* mnemonic,
                    T timing) {
    return {0xbff80c00u | cmode_mask << 12,
            0x0f000400u | op << 29 | cmode << 12,
            name,
            mnemonic,
            dec_imm<pattern, how, inverts>,
            exec_imm<2, how>,
            timing,
            kSimd};
}

// clang-format off
constexpr std::array kRows = {
    OpRow{0xbfe0fc00, 0x0e000400, "DUP_element", "dup", dec_dup_element<false>, exec_dup_element<std::uint8_t, 16>, T::simd_dup, kSimd},
    OpRow{0xffe0fc00, 0x5e000400, "DUP_element_scalar", "dup", dec_dup_element<true>, exec_dup_element<std::uint8_t, 1>, T::simd_dup, kSimd},
    OpRow{0xbfe0fc00, 0x0e000c00, "DUP_gpr", "dup", dec_dup_gpr, exec_dup_gpr<std::uint8_t, 16>, T::simd_dup_gpr, kSimd},
    OpRow{0xffe08400, 0x6e000400, "INS_element", "ins", dec_ins_element, exec_ins_element<std::uint8_t>, T::simd_ins, kSimd},
    OpRow{0xffe0fc00, 0x4e001c00, "INS_gpr", "ins", dec_ins_gpr, exec_ins_gpr<std::uint8_t>, T::simd_ins_gpr, kSimd},
    OpRow{0xbfe0fc00, 0x0e002c00, "SMOV", "smov", dec_mov_to_gpr<true>, exec_smov<std::int8_t, std::int64_t>, T::simd_umov, kSimd},
    OpRow{0xbfe0fc00, 0x0e003c00, "UMOV", "umov", dec_mov_to_gpr<false>, exec_umov<std::uint64_t>, T::simd_umov, kSimd},
    permutation<Permutation::uzp, 0>(1, "UZP1", "uzp1"),
    permutation<Permutation::trn, 0>(2, "TRN1", "trn1"),
    permutation<Permutation::zip, 0>(3, "ZIP1", "zip1"),
    permutation<Permutation::uzp, 1>(5, "UZP2", "uzp2"),
    permutation<Permutation::trn, 1>(6, "TRN2", "trn2"),
    permutation<Permutation::zip, 1>(7, "ZIP2", "zip2"),
    OpRow{0xbfe08400, 0x2e000000, "EXT", "ext", dec_ext, exec_ext<16>, T::simd_permute, kSimd},
    table<1, false>("TBL_1", "tbl"),
    table<2, false>("TBL_2", "tbl"),
    table<3, false>("TBL_3", "tbl"),
    table<4, false>("TBL_4", "tbl"),
    table<1, true>("TBX_1", "tbx"),
    table<2, true>("TBX_2", "tbx"),
    table<3, true>("TBX_3", "tbx"),
    table<4, true>("TBX_4", "tbx"),
    imm<Pattern::words, Apply::move>(0, 0x0, 0x9, "MOVI_words", "movi", T::simd_movi),
    imm<Pattern::words, Apply::orr>(0, 0x1, 0x9, "ORR_vector_imm_words", "orr", T::simd_logic),
    imm<Pattern::halves, Apply::move>(0, 0x8, 0xd, "MOVI_halves", "movi", T::simd_movi),
    imm<Pattern::halves, Apply::orr>(0, 0x9, 0xd, "ORR_vector_imm_halves", "orr", T::simd_logic),
    imm<Pattern::ones, Apply::move>(0, 0xc, 0xe, "MOVI_ones", "movi", T::simd_movi),
    imm<Pattern::bytes, Apply::move>(0, 0xe, 0xf, "MOVI_bytes", "movi", T::simd_movi),
    imm<Pattern::f32, Apply::move>(0, 0xf, 0xf, "FMOV_vector_imm", "fmov", T::simd_movi),
    imm<Pattern::words, Apply::move, true>(1, 0x0, 0x9, "MVNI_words", "mvni", T::simd_movi),
    imm<Pattern::words, Apply::bic>(1, 0x1, 0x9, "BIC_vector_imm_words", "bic", T::simd_logic),
    imm<Pattern::halves, Apply::move, true>(1, 0x8, 0xd, "MVNI_halves", "mvni", T::simd_movi),
    imm<Pattern::halves, Apply::bic>(1, 0x9, 0xd, "BIC_vector_imm_halves", "bic", T::simd_logic),
    imm<Pattern::ones, Apply::move, true>(1, 0xc, 0xe, "MVNI_ones", "mvni", T::simd_movi),
    imm<Pattern::mask, Apply::move>(1, 0xe, 0xf, "MOVI_mask", "movi", T::simd_movi),
    OpRow{0xfff8fc00, 0x6f00f400, "FMOV_vector_imm_double", "fmov", dec_imm<Pattern::f64, Apply::move, false>, exec_imm<2, Apply::move>, T::simd_movi, kSimd},
    OpRow{0xbff8fc00, 0x0f00fc00, "FMOV_vector_imm_half", "fmov", dec_imm<Pattern::f16, Apply::move, false>, exec_imm<2, Apply::move>, T::simd_movi, kSimd},
};
// clang-format on
static_assert(table_sound(kRows, region::fp_simd));

} // namespace

std::span<const OpRow> simd_copy_rows() { return kRows; }

} // namespace rkperf::a64
