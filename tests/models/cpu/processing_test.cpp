// SPDX-License-Identifier: Apache-2.0
// Handlers with bodies inlined do what the bodies do, and go on with the next operation.
#include "models/cpu/processing.h"
#include "models/a64/crypto_aes.h"
#include "models/a64/fp_host.h"

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstring>
#include <memory>
#include <random>

namespace {

using namespace rkperf;
using namespace rkperf::cpu;

enum class Body { inlined, inlined_with_fma, inlined_with_aes, called }; // with: on a host that has it
struct Encoding {
    const char* text;
    std::uint32_t raw;
    Body body{Body::inlined};
};
constexpr Encoding kEncodings[] = {
    {"add x2, x0, x1", 0x8b010002},
    {"adds w2, w0, w1", 0x2b010002},
    {"adrp x2, .+4096", 0xb0000002},
    {"csel x2, x0, x1, ne", 0x9a811002},
    {"fadd d2, d0, d1", 0x1e612802},
    {"fsub s2, s0, s1", 0x1e213802},
    {"fmul d2, d0, d1", 0x1e610802},
    {"fmadd d2, d0, d1, d2", 0x1f410802, Body::inlined_with_fma},
    {"fnmsub s2, s0, s1, s2", 0x1f218802, Body::inlined_with_fma},
    {"fadd v2.4s, v0.4s, v1.4s", 0x4e21d402},
    {"fsub v2.2d, v0.2d, v1.2d", 0x4ee1d402},
    {"fmul v2.4s, v0.4s, v1.s[2]", 0x4f819802},
    {"fmla v2.4s, v0.4s, v1.4s", 0x4e21cc02, Body::inlined_with_fma},
    {"fmls v2.2d, v0.2d, v1.2d", 0x4ee1cc02, Body::inlined_with_fma},
    {"smlal v2.4s, v0.4h, v1.4h", 0x0e618002},
    {"umull2 v2.2d, v0.4s, v1.4s", 0x6ea1c002},
    {"aese v2.16b, v0.16b", 0x4e284802, Body::inlined_with_aes},
    {"aesmc v2.16b, v0.16b", 0x4e286802, Body::inlined_with_aes},
    {"sdiv x2, x0, x1", 0x9ac10c02, Body::called},
    {"fdiv d2, d0, d1", 0x1e611802, Body::called},
};

bool inlined(Body b) {
    if (b == Body::inlined_with_fma) return a64::host_has_fma();
    if (b == Body::inlined_with_aes) return a64::aes::host_has_aes();
    return b == Body::inlined;
}

std::uint64_t next_pc;
void note_pc(CoreBase&, a64::CpuState&, const DecodedOp*, std::uint64_t pc) { next_pc = pc; }

/// A number as programs have them: small whole ones, any fraction, and now and then something special.
std::uint32_t some_float(std::mt19937& random) {
    constexpr std::uint32_t kSpecial[] = {0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 1, 0x807fffff};
    switch (random() % 8) {
        case 0: return kSpecial[random() % std::size(kSpecial)];
        case 1:
        case 2: return static_cast<std::uint32_t>(random());
        default: {
            const float f = static_cast<float>(random() % 4096) - 2048;
            std::uint32_t bits = 0;
            std::memcpy(&bits, &f, sizeof bits);
            return bits;
        }
    }
}
std::uint64_t some_double(std::mt19937& random) {
    float f = 0;
    const std::uint32_t single = some_float(random);
    std::memcpy(&f, &single, sizeof f);
    const double d = f;
    std::uint64_t bits = 0;
    std::memcpy(&bits, &d, sizeof bits);
    if (random() % 16 == 0) bits += random() % 3;
    return bits;
}

void fill(a64::CpuState& s, std::mt19937& random) {
    for (unsigned r = 0; r < 3; ++r) {
        const std::uint64_t high = random(); // one draw a statement: their order is to be the same for every compiler
        s.x[r] = high << 32 | random();
        if (random() & 1) {
            for (std::uint32_t& lane : s.v[r].s) lane = some_float(random);
        } else {
            for (std::uint64_t& lane : s.v[r].d) lane = some_double(random);
        }
    }
    s.nzcv = static_cast<std::uint32_t>(random()) & 0xf0000000;
    constexpr std::uint32_t kFlushToZero = 1u << 24, kInexact = 1u << 4;
    s.fpcr = 0;
    if (random() % 4 == 0) {
        s.fpcr = static_cast<std::uint32_t>(random() % 4 << 22);
        if (random() & 1) s.fpcr |= kFlushToZero;
        s.fpcr &= a64::kFpcrMask;
    }
    s.fpsr = random() & 1 ? kInexact : 0;
}

} // namespace

TEST_CASE("a handler with its body inlined does what the body does") {
    std::mt19937 random(1);
    const auto start = std::make_unique<a64::CpuState>(), called = std::make_unique<a64::CpuState>(),
               handled = std::make_unique<a64::CpuState>();
    alignas(std::max_align_t) std::byte nobody[sizeof(std::max_align_t)]{}; // no handler looks at the core
    CoreBase& core = reinterpret_cast<CoreBase&>(nobody);
    for (const Encoding& e : kEncodings) {
        INFO(e.text);
        DecodedOp ops[2];
        ops[0].insn = a64::decode(e.raw);
        ops[0].handler = processing_handler(ops[0].insn);
        ops[1].handler = note_pc;
        CHECK((ops[0].handler != process_called) == inlined(e.body));
        for (unsigned n = 0; n < 2000; ++n) {
            fill(*start, random);
            start->pc = 0x400000;
            *called = *handled = *start;
            ops[0].insn.fn(*called, ops[0].insn);
            ops[0].handler(core, *handled, &ops[0], start->pc);
            REQUIRE(next_pc == start->pc + 4);
            for (unsigned r = 0; r < 3; ++r) {
                REQUIRE(handled->x[r] == called->x[r]);
                REQUIRE(std::memcmp(&handled->v[r], &called->v[r], sizeof(a64::Vec)) == 0);
            }
            REQUIRE(handled->nzcv == called->nzcv);
            REQUIRE(handled->fpsr == called->fpsr);
        }
    }
}
