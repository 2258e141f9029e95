// SPDX-License-Identifier: Apache-2.0
// Bodies that apply a lane operation to whole vectors, and the choice of the body for an element size. An operation is
// a type with
//     static constexpr bool is_signed;     how lanes are read
//     static constexpr unsigned sizes;     bit n: elements of 2^n bytes exist
//     template <class T> static T run(...)
// whose arguments are [old rd lane, if `accumulates`], rn lane, [rm lane], [the flag `saturated`, if `saturates`].
#pragma once

#include "models/a64/fp_decode.h"
#include "models/a64/fp_format.h"
#include "models/a64/fp_ops.h"
#include "models/a64/fp_tables.h"

#include <array>
#include <cstring>

namespace rkperf::a64 {

/// A row name made of two parts at compile time: JoinedName<"FADD_vector", "_half">::text.
template <std::size_t N>
struct Name {
    char text[N]{};
    constexpr Name(const char (&t)[N]) {
        for (std::size_t n = 0; n < N; ++n) text[n] = t[n];
    }
};
template <Name first, Name second>
struct JoinedName {
    static constexpr auto chars = [] {
        std::array<char, sizeof first.text + sizeof second.text - 1> all{};
        std::size_t n = 0;
        for (std::size_t k = 0; k + 1 < sizeof first.text; ++k) all[n++] = first.text[k];
        for (char c : second.text) all[n++] = c;
        return all;
    }();
    static constexpr const char* text = chars.data();
};
/// Tables as one.
template <std::size_t... N>
constexpr auto concat(const std::array<OpRow, N>&... parts) {
    std::array<OpRow, (N + ...)> all{};
    std::size_t n = 0;
    const auto append = [&](const auto& part) {
        for (const OpRow& r : part) all[n++] = r;
    };
    (append(parts), ...);
    return all;
}

/// The integer of 2^size bytes.
template <bool is_signed, unsigned size>
using Element = std::conditional_t<
    is_signed,
    std::conditional_t<
        size == 0, std::int8_t,
        std::conditional_t<size == 1, std::int16_t, std::conditional_t<size == 2, std::int32_t, std::int64_t>>>,
    std::conditional_t<
        size == 0, std::uint8_t,
        std::conditional_t<size == 1, std::uint16_t, std::conditional_t<size == 2, std::uint32_t, std::uint64_t>>>>;

/// Traits of operations.
struct LaneOp {
    static constexpr bool accumulates = false, saturates = false, merges = false;
};

/// The first N lanes of a register as an array, which compilers turn into vector code.
template <class T, unsigned N>
struct Lanes {
    T v[N];

    static Lanes load(const Vec& r, unsigned first = 0) {
        Lanes l;
        std::memcpy(l.v, r.b + first * sizeof(T), sizeof l.v);
        return l;
    }
    /// Writes the register; lanes beyond the Nth become zero.
    void store(Vec& r) const {
        if constexpr (sizeof v < 16) {
            Vec whole{};
            std::memcpy(whole.b, v, sizeof v);
            r = whole;
        } else {
            std::memcpy(r.b, v, sizeof v);
        }
    }
};

/// Writes N lanes to the lower half of the register, whose rest becomes zero, or to its upper half, leaving the lower.
template <class T, unsigned N>
inline void store_half(Vec& r, const Lanes<T, N>& l, bool upper) {
    if (upper)
        std::memcpy(r.b + 8, l.v, sizeof l.v);
    else
        l.store(r);
}
/// The second operand: rm, or its lane Insn::c repeated.
template <class T, unsigned N, bool by_element>
inline Lanes<T, N> second_lanes(const CpuState& s, const Insn& i, unsigned first = 0) {
    if constexpr (by_element) {
        Lanes<T, N> b;
        const T e = lane<T>(s.v[i.rm], i.c);
        for (unsigned l = 0; l < N; ++l) b.v[l] = e;
        return b;
    } else {
        return Lanes<T, N>::load(s.v[i.rm], first);
    }
}

inline void set_qc(CpuState& s, bool saturated) {
    if (saturated) s.fpsr |= fpsr::QC;
}

template <class Op, class T>
inline T apply2(T d, T a, T b, auto& saturated) {
    if constexpr (Op::accumulates && Op::saturates)
        return Op::template run<T>(d, a, b, saturated);
    else if constexpr (Op::accumulates || Op::merges)
        return Op::template run<T>(d, a, b);
    else if constexpr (Op::saturates)
        return Op::template run<T>(a, b, saturated);
    else
        return Op::template run<T>(a, b);
}

template <class T, unsigned N, class Op, bool by_element = false>
void exec_map2(CpuState& s, const Insn& i) {
    const auto a = Lanes<T, N>::load(s.v[i.rn]), b = second_lanes<T, N, by_element>(s, i);
    Lanes<T, N> d = Lanes<T, N>::load(s.v[i.rd]);
    std::make_unsigned_t<T> saturated = 0; // as wide as a lane, so that loops become vector code
    for (unsigned l = 0; l < N; ++l) d.v[l] = apply2<Op, T>(d.v[l], a.v[l], b.v[l], saturated);
    d.store(s.v[i.rd]);
    set_qc(s, saturated);
}

template <class T, unsigned N, class Op>
void exec_map1(CpuState& s, const Insn& i) {
    const auto a = Lanes<T, N>::load(s.v[i.rn]);
    Lanes<T, N> d = Lanes<T, N>::load(s.v[i.rd]);
    std::make_unsigned_t<T> saturated = 0; // as wide as a lane, so that loops become vector code
    for (unsigned l = 0; l < N; ++l) {
        if constexpr (Op::accumulates)
            d.v[l] = Op::template run<T>(d.v[l], a.v[l], saturated);
        else if constexpr (Op::saturates)
            d.v[l] = Op::template run<T>(a.v[l], saturated);
        else
            d.v[l] = Op::template run<T>(a.v[l]);
    }
    d.store(s.v[i.rd]);
    set_qc(s, saturated);
}

/// Lanes of 2^size bytes in a 64-bit (q = 0) or 128-bit vector, or 1 for a scalar.
enum class Shape { d, q, scalar };
constexpr unsigned lane_count(unsigned size, Shape shape) {
    return shape == Shape::scalar ? 1 : (shape == Shape::q ? 16u : 8u) >> size;
}

/// Body for each element size; null where there is none. Body<T, N, Op>::fn is the body.
template <template <class, unsigned, class> class Body, class Op, Shape shape>
struct BySize {
    template <unsigned size>
    static constexpr Exec one() {
        if constexpr ((Op::sizes >> size & 1) == 0 || (size == 3 && shape == Shape::d))
            return nullptr;
        else
            return Body<Element<Op::is_signed, size>, lane_count(size, shape), Op>::fn;
    }
    static constexpr std::array<Exec, 4> fns{one<0>(), one<1>(), one<2>(), one<3>()};
    /// Any body, for the row's default.
    static constexpr Exec any() {
        for (unsigned size = 0; size < 4; ++size)
            if ((Op::sizes >> size & 1) && !(size == 3 && shape == Shape::d)) return fns[size];
        return nullptr;
    }
};

template <class T, unsigned N, class Op>
struct Map2 {
    static constexpr Exec fn = exec_map2<T, N, Op>;
};
template <class T, unsigned N, class Op>
struct Map2Element {
    static constexpr Exec fn = exec_map2<T, N, Op, true>;
};
template <class T, unsigned N, class Op>
struct Map1 {
    static constexpr Exec fn = exec_map1<T, N, Op>;
};

template <class Op>
inline void set_rd_use(Insn& out) {
    if constexpr (Op::accumulates) set_v_accumulates(out);
    if constexpr (Op::merges) set_v_merges(out);
}

/// Decoders of vector forms: size in bits 23:22, Q in bit 30.
template <template <class, unsigned, class> class Body, class Op>
bool dec_vector(std::uint32_t raw, Insn& out) {
    const unsigned size = field(raw, 22, 2);
    const bool q = raw >> 30 & 1;
    set_shape(out, size, q);
    out.fn = q ? BySize<Body, Op, Shape::q>::fns[size] : BySize<Body, Op, Shape::d>::fns[size];
    set_rd_use<Op>(out);
    return out.fn != nullptr;
}
template <template <class, unsigned, class> class Body, class Op>
bool dec_scalar(std::uint32_t raw, Insn& out) {
    const unsigned size = field(raw, 22, 2);
    set_shape(out, size, false);
    out.fn = BySize<Body, Op, Shape::scalar>::fns[size];
    set_rd_use<Op>(out);
    return out.fn != nullptr;
}
template <template <class, unsigned, class> class Body, class Op>
bool dec_vector2(std::uint32_t raw, Insn& out) {
    set_v_binary(raw, out);
    return dec_vector<Body, Op>(raw, out);
}
template <template <class, unsigned, class> class Body, class Op>
bool dec_scalar2(std::uint32_t raw, Insn& out) {
    set_v_binary(raw, out);
    return dec_scalar<Body, Op>(raw, out);
}
template <template <class, unsigned, class> class Body, class Op>
bool dec_vector1(std::uint32_t raw, Insn& out) {
    set_v_unary(raw, out);
    return dec_vector<Body, Op>(raw, out);
}
template <template <class, unsigned, class> class Body, class Op>
bool dec_scalar1(std::uint32_t raw, Insn& out) {
    set_v_unary(raw, out);
    return dec_scalar<Body, Op>(raw, out);
}

inline constexpr InsnKind kSimd = InsnKind::simd;

} // namespace rkperf::a64
