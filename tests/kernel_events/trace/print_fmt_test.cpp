// SPDX-License-Identifier: Apache-2.0
// Print formats rendered from records, and the ring they come from.
#include "kernel_events/trace/print_fmt.h"

#include <catch2/catch.hpp>
#include <cstring>

using namespace rkperf::ke;

namespace {

const PrintFmtSymbols kSymbols{[](std::uint64_t a) { return a == 0x1000 ? "schedule+0x0/0x100" : "0x5"; },
                               [](std::uint64_t) { return "text"; }};

struct Record {
    std::int32_t small;
    std::uint32_t loc;
    std::int64_t big;
    char name[8];
    std::uint16_t array[3];
    char tail[6];
};

std::string render(std::string_view fmt) {
    static const TraceField kFields[] = {
        trace_field("int", "small", 0, 4, true),      trace_field("__data_loc char[]", "where", 4, 4, true),
        trace_field("long", "big", 8, 8, true),       trace_field("char[8]", "name", 16, 8, true),
        trace_field("u16[3]", "array", 24, 6, false), trace_field("const char *", "reason", 8, 8, false)};
    Record r{-2, 6u << 16 | 30, 0x1000, {}, {1, 2, 0xffff}, "there"};
    std::memcpy(r.name, "eight\0xx", 8); // what follows the end is not shown
    std::vector<std::uint8_t> bytes(sizeof r);
    std::memcpy(bytes.data(), &r, sizeof r);
    return render_print_fmt(fmt, kFields, bytes, kSymbols);
}

} // namespace

TEST_CASE("numbers are shown in the width that the conversion has") {
    CHECK(render(R"("%d %u %x %lx", REC->small, REC->small, REC->small, REC->small)") ==
          "-2 4294967294 fffffffe fffffffffffffffe");
    CHECK(render(R"("%hd %hhx %llu %03d|%-4d|%#x", REC->small, REC->small, REC->big, 7, 7, 7)") ==
          "-2 fe 4096 007|7   |0x7");
    CHECK(render(R"("%d%%", 5)") == "5%");
}

TEST_CASE("expressions of print formats") {
    CHECK(render(R"("%d %d %d", 1 + 2 * 3, (1 << 4) - 1, (unsigned long)REC->big / 1000L)") == "7 15 4");
    CHECK(render(R"("%s", REC->small < 0 ? "below" : "above")") == "below");
    CHECK(render(R"("%d", REC->small & ~1 | 1 && 0)") == "0");
    CHECK(render(R"("%ld %ld %ld", (1 << 63) / -1, (1 << 63) % -1, -(1 << 63))") ==
          "-9223372036854775808 0 -9223372036854775808");
    CHECK(render(R"("%d %d", 7 / -1, 7 % -1)") == "-7 0");
    CHECK(render(R"("%d %d", REC->array[0], REC->array[2])") == "1 65535");
}

TEST_CASE("texts of records") {
    CHECK(render(R"("%s %s|%8s|%.3s", REC->name, __get_str(where), REC->name, REC->name)") ==
          "eight there|   eight|eig");
    CHECK(render(R"("%s", REC->reason)") == "text");
    CHECK(render(R"("%ps %pS", REC->big, (void *)REC->big)") == "schedule schedule+0x0/0x100");
    CHECK(render(R"("%p", (void *)0)") == "0000000000000000");
}

TEST_CASE("flags and symbols") {
    CHECK(render(R"("%s", __print_flags(5, "|", { 1, "S" }, { 2, "D" }, { 4, "T" }))") == "S|T");
    CHECK(render(R"("%s", __print_flags(9, "|", { 1, "S" }))") == "S|0x8");
    CHECK(render(R"("%s", __print_symbolic(REC->array[1], { 1, "ONE" }, { 2, "TWO" }))") == "TWO");
    CHECK(render(R"("%s", __print_symbolic(9, { HRTIMER_MODE_REL_HARD, "REL|HARD" }))") == "REL|HARD");
    CHECK(render(R"("%s", __print_symbolic(77, { 1, "ONE" }))") == "0x4d");
}

TEST_CASE("what the compiler would work out in formats of pages") {
    CHECK(render(R"("%d %d", sizeof(struct page), sizeof((sizeof(struct page)) - 1))") == "64 8");
    CHECK(render(R"("%d", ( __builtin_constant_p(sizeof(struct page)) ? 1 : __order_base_2(sizeof(struct page)) ))") ==
          "6");
    CHECK(render(R"("%d %d %d", __builtin_clzll(1), __ilog2_u32(63), __order_base_2(65))") == "63 5 7");
    CHECK(render(R"("%s", __print_flags(0x18, "|", {( unsigned long)((( gfp_t)0x10u) | (( gfp_t)0x08u)), "BOTH"}, )"
                 R"({( unsigned long)(( gfp_t)0x08u), "ONE"}))") == "BOTH");
}

TEST_CASE("a format that cannot be read shows its fields") {
    CHECK(render(R"("%d", no_such(1))").starts_with("[FAILED TO PARSE] small=0xfffffffe where="));
    CHECK(render(R"("%d %d", 1)").starts_with("[FAILED TO PARSE]"));
}
