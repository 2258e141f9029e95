// SPDX-License-Identifier: Apache-2.0
// The parts of a core that need no simulation: what instructions count, the fast port's bookkeeping, decoded blocks.
#include "models/cpu/branch_predictor.h"
#include "models/cpu/code_cache.h"
#include "models/cpu/decoded_op.h"
#include "models/cpu/event_lanes.h"
#include "models/cpu/fast_port.h"
#include "tests/models/cpu/asm.h"

#include <catch2/catch.hpp>
#include <cstring>

namespace {

using namespace rkperf;
using namespace rkperf::cpu;
using namespace rkperf::test;

OpTiming one_cycle(const a64::Insn&) { return {}; }

std::uint32_t lanes(std::initializer_list<Lane> list) {
    std::uint32_t bits = 1u << index_of(Lane::instruction);
    for (Lane l : list) bits |= 1u << index_of(l);
    return bits;
}

TEST_CASE("what an instruction counts is fixed when it is decoded") {
    struct Case {
        std::uint32_t raw;
        std::uint32_t lanes;
        OpGroup group;
    };
    const Case cases[] = {
        {a::add_imm(1, 2, 3), lanes({Lane::data_processing}), OpGroup::simple},
        {a::mul(1, 2, 3), lanes({Lane::data_processing}), OpGroup::simple},
        {0xeb02003f, lanes({Lane::data_processing}), OpGroup::flags},   // CMP
        {0x9a820020, lanes({Lane::data_processing}), OpGroup::flags},   // CSEL
        {0xf1000421, lanes({Lane::data_processing}), OpGroup::flags},   // SUBS
        {0x9b031041, lanes({Lane::data_processing}), OpGroup::general}, // MADD
        {a::udiv(1, 2, 3), lanes({Lane::data_processing}), OpGroup::divide},
        {a::nop(), lanes({}), OpGroup::simple},
        {a::ldr(1, 2), lanes({Lane::load}), OpGroup::load},
        {a::str(1, 2), lanes({Lane::store}), OpGroup::store},
        {a::ldadd(1, 2, 3), lanes({Lane::load, Lane::store}), OpGroup::store},
        {0xf8e10043, lanes({Lane::load, Lane::store, Lane::load_acquire, Lane::store_release}),
         OpGroup::store},                                                        // LDADDAL
        {0xc8dffc41, lanes({Lane::load, Lane::load_acquire}), OpGroup::load},    // LDAR
        {0xc89ffc41, lanes({Lane::store, Lane::store_release}), OpGroup::store}, // STLR
        {0xf8bfc041, lanes({Lane::load, Lane::load_acquire}), OpGroup::load},    // LDAPR
        {a::ldxr(1, 2), lanes({Lane::load, Lane::load_exclusive}), OpGroup::load},
        {0xc85ffc41, lanes({Lane::load, Lane::load_exclusive, Lane::load_acquire}), OpGroup::load}, // LDAXR
        {a::stxr(1, 2, 3), lanes({}), OpGroup::store}, // a store only if it passes
        {0xc8e1fc43, lanes({Lane::load, Lane::store, Lane::load_acquire, Lane::store_release}),
         OpGroup::store},                                               // CASAL
        {0xc8a17c43, lanes({Lane::load, Lane::store}), OpGroup::store}, // CAS
        {0xf9800041, lanes({Lane::load}), OpGroup::load},               // PRFM
        {a::dc_zva(1), lanes({Lane::store}), OpGroup::store},
        {a::b(2), lanes({Lane::branch_immed}), OpGroup::branch},
        {a::b_ne(2), lanes({Lane::branch_immed, Lane::branch_cond}), OpGroup::branch},
        {a::cbz(1, 2), lanes({Lane::branch_immed, Lane::branch_cond}), OpGroup::branch},
        {a::bl(2), lanes({Lane::branch_immed}), OpGroup::branch},
        {a::br(2), lanes({Lane::branch_indirect}), OpGroup::branch},
        {a::ret(), lanes({Lane::branch_return}), OpGroup::branch},
        {a::dmb_ish(), lanes({Lane::dmb}), OpGroup::system},
        {a::dsb_ish(), lanes({Lane::dsb}), OpGroup::system},
        {a::isb(), lanes({}), OpGroup::system},
        {a::svc(), lanes({}), OpGroup::system},
        {a::fadd_d(1, 2, 3), lanes({Lane::fp}), OpGroup::simple},
        {0x4e22d420, lanes({Lane::simd}), OpGroup::simple},    // FADD v.4s
        {0x4e284820, lanes({Lane::crypto}), OpGroup::general}, // AESE
        {0x00000000, lanes({}), OpGroup::system},              // UDF
    };
    for (const Case& c : cases) {
        CAPTURE(c.raw, a64::disassemble(c.raw, 0));
        const DecodedOp op = make_op(c.raw, one_cycle);
        CHECK(static_lanes(op.insn, 4, false) == c.lanes);
        CHECK(op.group == c.group);
    }
    // Fetches: one where a block is entered, and one per 16 bytes.
    CHECK(static_lanes(a64::decode(a::nop()), 4, true) == lanes({Lane::fetch}));
    CHECK(static_lanes(a64::decode(a::nop()), 32, false) == lanes({Lane::fetch}));
}

TEST_CASE("alignment is that of one element") {
    const auto mask = [](std::uint32_t raw) { return make_op(raw, one_cycle).align_mask; };
    CHECK(mask(a::ldr(1, 2)) == 7);
    CHECK(mask(a::ldr_w(1, 2)) == 3);
    CHECK(mask(a::ldp(1, 2, 3)) == 7);
    CHECK(mask(0x39400041) == 0);  // LDRB
    CHECK(mask(0x3dc00041) == 15); // LDR Q
    CHECK(mask(0x4c407841) == 3);  // LD1 {v.4s}
    CHECK(mask(a::dc_zva(1)) == 0);
}

TEST_CASE("the instruction budget of an event follows from its lanes") {
    static constexpr EventNumber kEvents[] = {1, 2, 3, 4};
    static constexpr LaneEvent kLanes_[] = {
        {Lane::instruction, 1},   {Lane::load, 2}, {Lane::store, 2},    {Lane::branch_immed, 3},
        {Lane::branch_return, 3}, {Lane::isb, 3},  {Lane::read_hit, 4},
    };
    const EventList list{kEvents, kLanes_, 0, 0};
    CHECK(fast_weight(list, 1) == 1);
    CHECK(fast_weight(list, 2) == 2);
    CHECK(fast_weight(list, 3) == 1); // an instruction is one kind of branch
    CHECK(fast_weight(list, 4) == 4);
    CHECK(fast_weight(list, 5) == 0);
    const LaneMap map(list);
    CHECK(map.lanes_of(2) == std::vector<Lane>{Lane::load, Lane::store});
}

TEST_CASE("blocks end at branches and at lines, and their sums are those of their instructions") {
    mem::PhysicalMemory memory(PhysAddr(0), 1 << 20);
    CodeCache cache(memory, one_cycle);
    std::vector<std::uint32_t> code(64, a::nop());
    code[5] = a::ldr(1, 2);
    code[9] = a::b_ne(-3);
    std::memcpy(memory.host(PhysAddr(0x3000)), code.data(), code.size() * 4);
    CodePage& page = cache.page(3);
    CHECK_FALSE(cache.holds_code(3));
    const Block* b = cache.decode(page, 8);
    CHECK(cache.holds_code(3));
    CHECK(page.at[2] == b);
    CHECK(b->size == 8); // words 2 to 9
    CHECK(b->lanes[index_of(Lane::instruction)] == 8);
    CHECK(b->lanes[index_of(Lane::load)] == 1);
    CHECK(b->lanes[index_of(Lane::branch_cond)] == 1);
    CHECK(b->fetches == 3); // words 2, 4, 8
    const Block* next = cache.decode(page, 40);
    CHECK(next->size == 6); // to the end of the line
    cache.drop_blocks(3);
    CHECK_FALSE(cache.holds_code(3));
    CHECK(page.at[2] == nullptr);
}

TEST_CASE("the fast port drops what is lost and nothing else") {
    alignas(4096) static std::uint8_t memory[2 * kPageSize];
    a64::MemPort port;
    mem::TlbEntry tlb, other;
    mem::CacheLine line, next, third;
    FastPort f;
    f.attach(&port, false);
    const auto fill = [&](std::uint64_t va, unsigned offset, bool writable) {
        f.fill(va, memory + offset, va >> kPageShift == 0x10 ? tlb : other,
               va == 0x10040   ? line
               : va == 0x10080 ? next
                               : third,
               writable);
    };
    fill(0x10040, 0x40, true);
    fill(0x10080, 0x80, true);
    fill(0x23040, 0x1040, false);
    CHECK(f.find(0x10047) == memory + 0x40);
    CHECK(port.lines[a64::MemPort::slot(0x10040)].wtag == 0x10040);
    CHECK(port.lines[a64::MemPort::slot(0x23040)].wtag == ~0ull);
    f.drop_line(memory + 0x40, line.fast_slot, true);
    CHECK(port.lines[a64::MemPort::slot(0x10040)].wtag == ~0ull);
    CHECK(f.find(0x10040));
    f.drop_line(memory + 0x40, line.fast_slot, false);
    CHECK_FALSE(f.find(0x10040));
    CHECK(f.find(0x10080));
    f.drop_writes(memory);
    CHECK(port.lines[a64::MemPort::slot(0x10080)].wtag == ~0ull);
    CHECK(f.find(0x10080));
    f.drop_page(0x23, 1);
    CHECK(f.find(0x23040)); // another line of the page
    f.drop_page(0x23, other.fast_lines);
    CHECK_FALSE(f.find(0x23040));
    CHECK(f.find(0x10080));
    f.drop_all();
    CHECK_FALSE(f.find(0x10080));
    // A port that was elsewhere is not trusted.
    fill(0x10040, 0x40, true);
    f.attach(&port, true);
    CHECK(f.find(0x10040));
    f.attach(&port, false);
    CHECK_FALSE(f.find(0x10040));
}

TEST_CASE("a line reachable under two addresses is dropped under both") {
    alignas(4096) static std::uint8_t memory[kPageSize];
    a64::MemPort port;
    mem::TlbEntry tlb;
    mem::CacheLine line;
    FastPort f;
    f.attach(&port, false);
    f.fill(0x10100, memory + 0x100, tlb, line, true);
    f.fill(0x75100, memory + 0x100, tlb, line, true);
    CHECK(line.fast_slot == mem::CacheLine::kManySlots);
    f.drop_line(memory + 0x100, line.fast_slot, false);
    CHECK_FALSE(f.find(0x10100));
    CHECK_FALSE(f.find(0x75100));
}

constexpr PredictorParams kSmallPredictor{.bimodal = 64,
                                          .tagged = 64,
                                          .history = {4, 8, 16, 32},
                                          .nano_btb = 4,
                                          .micro_btb = 8,
                                          .main_btb_sets = 0,
                                          .main_btb_ways = 0,
                                          .indirect = 16,
                                          .return_stack = 4,
                                          .nano_bubble = 0,
                                          .micro_bubble = 1,
                                          .main_bubble = 2,
                                          .decode_bubble = 3};

TEST_CASE("a branch that repeats another is predicted if the longest history reaches back to that one") {
    // given a branch at random, a loop of so many rounds, and a branch that goes the way of the first
    const auto wrong_of_last = [](unsigned longest, unsigned rounds) {
        PredictorParams p = kSmallPredictor;
        p.bimodal = p.tagged = 4096;
        p.history.back() = longest;
        BranchPredictor b(p);
        std::uint64_t random = 88172645463325252ull;
        unsigned wrong = 0;
        for (unsigned i = 0; i < 4000; ++i) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            const bool taken = random >> 40 & 1;
            b.conditional(0x1000, taken);
            for (unsigned r = 0; r < rounds; ++r) b.conditional(0x1040, r + 1 < rounds);
            // when it has learned for a while
            const bool said = b.conditional(0x1080, taken);
            if (i >= 2000) wrong += said != taken;
        }
        return wrong;
    };
    // then it is known from as far away as the history is long, also beyond one word of it, and a guess from further
    const auto [longest, known, unknown] =
        GENERATE(table<unsigned, unsigned, unsigned>({{32, 28, 40}, {63, 58, 70}, {96, 90, 100}, {128, 120, 132}}));
    CAPTURE(longest);
    CHECK(wrong_of_last(longest, known) < 40);
    CHECK(wrong_of_last(longest, unknown) > 500);
}

TEST_CASE("the return stack gives addresses back in reverse and forgets the oldest") {
    BranchPredictor b(kSmallPredictor);
    using a64::InsnKind;
    for (std::uint64_t i = 0; i < 5; ++i) b.resolve(InsnKind::branch_call, 0x1000 + i * 64, true, 0x8000);
    for (std::uint64_t i = 5; i-- > 1;)
        CHECK(b.resolve(InsnKind::branch_return, 0x8000, true, 0x1004 + i * 64).mispredict == Mispredict::none);
    CHECK(b.resolve(InsnKind::branch_return, 0x8000, true, 0x1004).mispredict == Mispredict::return_address);
    // Targets: unknown at first, then in the nearest table.
    CHECK(b.resolve(InsnKind::branch_immed, 0x2000, true, 0x3000).bubble == 3);
    CHECK(b.resolve(InsnKind::branch_immed, 0x2000, true, 0x3000).bubble == 0);
    for (std::uint64_t i = 1; i <= 4; ++i) // take the places of the nearest
        CHECK(b.resolve(InsnKind::branch_immed, 0x2000 + 4 * i, true, 0x3000).bubble == 3);
    CHECK(b.resolve(InsnKind::branch_immed, 0x2000, true, 0x3000).bubble == 1);
}

namespace {

/// Cycles of each branch in a chain of so many, so many bytes apart, that is gone through again and again.
double cycles_of_chain(const PredictorParams& params, unsigned branches, unsigned spacing) {
    BranchPredictor b(params);
    constexpr unsigned kRounds = 6, kWarm = 4;
    std::uint64_t cycles = 0;
    for (unsigned round = 0; round < kRounds; ++round)
        for (unsigned i = 0; i < branches; ++i) {
            const std::uint64_t pc = 0x400000 + std::uint64_t{i} * spacing, next = pc + spacing;
            const unsigned bubble =
                b.resolve(a64::InsnKind::branch_immed, pc, true, i + 1 < branches ? next : 0x400000).bubble;
            if (round >= kWarm) cycles += 1 + bubble;
        }
    return static_cast<double>(cycles) / branches / (kRounds - kWarm);
}

} // namespace

TEST_CASE("chains of branches take as long as on a Neoverse N1") {
    // given a BTB like that of the Cortex-A76
    PredictorParams p = kSmallPredictor;
    p.nano_btb = 16;
    p.micro_btb = 64;
    p.main_btb_sets = 1024;
    p.main_btb_ways = 6;
    p.main_bubble = p.main_choice = 1;
    p.decode_bubble = 4;
    // then one of 16 takes a cycle each, one of 80 two, and longer ones what the windows of 32 bytes make of them (measured:
    // J. Jia, "ARM Neoverse N1 BTB", 2025)
    for (const unsigned spacing : {4u, 8u, 16u, 32u, 64u, 128u}) {
        CAPTURE(spacing);
        CHECK(cycles_of_chain(p, 16, spacing) == 1);
        CHECK(cycles_of_chain(p, 80, spacing) == Approx(2).margin(0.01));
    }
    CHECK(cycles_of_chain(p, 1000, 4) == Approx(5).margin(0.01));
    CHECK(cycles_of_chain(p, 4000, 8) == Approx(2.75).margin(0.01));
    CHECK(cycles_of_chain(p, 8192, 8) == Approx(5).margin(0.01));
    CHECK(cycles_of_chain(p, 6000, 16) == Approx(2.5).margin(0.01));
    CHECK(cycles_of_chain(p, 6144, 32) == Approx(2).margin(0.01));
    CHECK(cycles_of_chain(p, 3072, 64) == Approx(2).margin(0.01));
    CHECK(cycles_of_chain(p, 4200, 64) == Approx(5).margin(0.5));
}

} // namespace
