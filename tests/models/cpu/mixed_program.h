// SPDX-License-Identifier: Apache-2.0
// A program with a bit of everything: xorshift, random loads and stores over `span` bytes, an unpredictable branch, a
// call, a division now and then.
#pragma once

#include "tests/models/cpu/asm.h"

#include <vector>

namespace rkperf::test {

/// X0 iterations; X1 data; X9 the generator's state, not 0; X10 = 1. Random accesses within 2^bits words of X1.
inline std::vector<a::W> mixed_program(unsigned bits = 16) {
    using namespace a;
    return {
        /* 0 */ eor(9, 9, 9, 0, 13),
        /* 1 */ eor(9, 9, 9, 1, 7),
        /* 2 */ eor(9, 9, 9, 0, 17),
        /* 3 */ and_low(bits, 2, 9),
        /* 4 */ 0xb8627823, // LDR W3, [X1, X2, LSL #2]
        /* 5 */ add(3, 3, 5),
        /* 6 */ 0xb8227823, // STR W3, [X1, X2, LSL #2]
        /* 7 */ tbz(9, 8, 3),
        /* 8 */ eor(6, 9, 9, 1, 20),
        /* 9 */ bl(11),
        /* 10 */ add(8, 8, 7),
        /* 11 */ add_imm(5, 5, 1),
        /* 12 */ and_low(bits, 6, 6),
        /* 13 */ 0xb8667827, // LDR W7, [X1, X6, LSL #2]
        /* 14 */ tbz(9, 3, 2),
        /* 15 */ udiv(11, 9, 5),
        /* 16 */ subs_imm(0, 0, 1),
        /* 17 */ b_ne(-17),
        /* 18 */ svc(),
        /* 19 */ nop(),
        /* 20 */ mul(12, 9, 3),
        /* 21 */ str(12, 1, 512),
        /* 22 */ ret(),
    };
}

} // namespace rkperf::test
