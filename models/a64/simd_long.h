// SPDX-License-Identifier: Apache-2.0
// Widening operations of Advanced SIMD: lanes of E in, lanes twice as wide out. An operation has
//     template <class E> static Twice<E> run(Twice<E> d, E a, E b, auto& saturated)
// with d the old lane of rd. `upper` takes the upper halves of the sources ("2" forms), `by_element` one lane of rm.
#pragma once

#include "models/a64/simd_exec.h"
#include "models/a64/simd_ops.h"

namespace rkperf::a64 {

namespace lane_op {

/// W arithmetic without signed overflow.
template <class W>
constexpr W wrap_add(W a, W b) {
    return static_cast<W>(to_unsigned(a) + to_unsigned(b));
}
template <class W>
constexpr W wrap_sub(W a, W b) {
    return static_cast<W>(to_unsigned(a) - to_unsigned(b));
}

enum class Into { replace, add, sub };

template <bool sign, unsigned z, Into into>
struct Long : Int<sign, z> {
    static constexpr bool accumulates = into != Into::replace;
    template <class W>
    static W combine(W d, W v) {
        return into == Into::replace ? v : into == Into::add ? wrap_add(d, v) : wrap_sub(d, v);
    }
};
template <bool sign>
struct AddL : Long<sign, kNoD, Into::replace> {
    template <class E>
    static Twice<E> run(Twice<E>, E a, E b, auto&) {
        return static_cast<Twice<E>>(static_cast<Twice<E>>(a) + b);
    }
};
template <bool sign>
struct SubL : Long<sign, kNoD, Into::replace> {
    template <class E>
    static Twice<E> run(Twice<E>, E a, E b, auto&) {
        return static_cast<Twice<E>>(static_cast<Twice<E>>(a) - b);
    }
};
template <bool sign, Into into>
struct AbdL : Long<sign, kNoD, into> {
    template <class E>
    static Twice<E> run(Twice<E> d, E a, E b, auto&) {
        const auto x = static_cast<Twice<E>>(a), y = static_cast<Twice<E>>(b);
        return Long<sign, kNoD, into>::combine(d, static_cast<Twice<E>>(x > y ? x - y : y - x));
    }
};
template <bool sign, Into into, unsigned z = kNoD>
struct MulL : Long<sign, z, into> {
    template <class E>
    static Twice<E> run(Twice<E> d, E a, E b, auto&) {
        return Long<sign, z, into>::combine(d, static_cast<Twice<E>>(static_cast<Twice<E>>(a) * b));
    }
    /// All lanes of halfwords at once, in vectors: compilers make a loop of it whose narrow writes a wide read waits for.
    template <class E, unsigned N>
    static constexpr bool in_vectors = sizeof(E) == 2 && N == 4;
    template <class E, unsigned N>
    static void run_all(Lanes<Twice<E>, N>& d, const Lanes<E, N>& a, const Lanes<E, N>& b) {
        using W = Twice<E>;
        using U = std::make_unsigned_t<W>; // no overflow
        typedef E Narrow __attribute__((vector_size(N * sizeof(E))));
        typedef W Wide __attribute__((vector_size(N * sizeof(W))));
        typedef U Word __attribute__((vector_size(N * sizeof(W))));
        const auto widened = [](const Lanes<E, N>& from) {
            Narrow v;
            std::memcpy(&v, from.v, sizeof v);
            return reinterpret_cast<Word>(__builtin_convertvector(v, Wide));
        };
        Word sum{}, product = widened(a) * widened(b);
        if constexpr (into != Into::replace) std::memcpy(&sum, d.v, sizeof sum);
        sum = into == Into::sub ? sum - product : sum + product;
        std::memcpy(d.v, &sum, sizeof sum);
    }
};
template <Into into>
struct QDMulL : Long<true, kHS, into> {
    static constexpr bool saturates = true;
    template <class E>
    static Twice<E> run(Twice<E> d, E a, E b, auto& saturated) {
        using W = Twice<E>;
        // Only the square of the lowest number does not fit when doubled.
        const bool both_lowest = a == std::numeric_limits<E>::min() && b == a;
        saturated |= both_lowest;
        const W p =
            both_lowest ? std::numeric_limits<W>::max() : static_cast<W>(static_cast<W>(static_cast<W>(a) * b) * 2);
        if constexpr (into == Into::replace)
            return p;
        else if constexpr (into == Into::add)
            return QAdd<true>::template run<W>(d, p, saturated);
        else
            return QSub<true>::template run<W>(d, p, saturated);
    }
};
/// Carry-less product of two bytes.
struct PMulL : Long<false, kB, Into::replace> {
    template <class E>
    static Twice<E> run(Twice<E>, E a, E b, auto&) {
        unsigned r = 0;
        for (unsigned n = 0; n < 8; ++n) r ^= (b >> n & 1) ? static_cast<unsigned>(a) << n : 0;
        return static_cast<Twice<E>>(r);
    }
};

} // namespace lane_op

template <class E, unsigned N, class Op, bool upper, bool by_element>
void exec_long(CpuState& s, const Insn& i) {
    using W = lane_op::Twice<E>;
    const auto a = Lanes<E, N>::load(s.v[i.rn], upper ? N : 0), b = second_lanes<E, N, by_element>(s, i, upper ? N : 0);
    Lanes<W, N> d{};
    if constexpr (Op::accumulates) d = Lanes<W, N>::load(s.v[i.rd]);
    if constexpr (requires { requires Op::template in_vectors<E, N>; }) {
        Op::template run_all<E, N>(d, a, b);
        d.store(s.v[i.rd]);
    } else {
        std::make_unsigned_t<E> saturated = 0;
        for (unsigned l = 0; l < N; ++l) d.v[l] = Op::template run<E>(d.v[l], a.v[l], b.v[l], saturated);
        d.store(s.v[i.rd]);
        set_qc(s, saturated);
    }
}
template <bool upper, bool by_element>
struct LongBodies {
    template <class E, unsigned N, class Op>
    struct Body {
        static constexpr Exec fn = exec_long<E, N, Op, upper, by_element>;
    };
};
/// For the "L" forms, whose operands are both narrow.
template <class Op>
struct Widening : Op {
    template <bool upper>
    using Bodies = LongBodies<upper, false>;
};

} // namespace rkperf::a64
