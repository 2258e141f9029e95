// SPDX-License-Identifier: Apache-2.0
// Filters: what is accepted and how errors read (filters.txt, recorded on a real Linux 6.1), and what matches.
#include "kernel_events/trace/event_filter.h"
#include "tests/kernel_events/fixture.h"

#include <fstream>

namespace rkperf::ke::test::filter_test {

struct Recorded {
    std::string filter;
    int error{};
    std::string text;
};

std::vector<Recorded> recorded() {
    std::ifstream in(RK_SOURCE_DIR "/tests/kernel_events/trace/filters.txt");
    REQUIRE(in);
    std::vector<Recorded> out;
    std::string line;
    while (std::getline(in, line)) {
        if (line.starts_with("@")) {
            out.push_back({line.substr(1), 0, ""});
            REQUIRE(std::getline(in, line));
            out.back().error = std::stoi(line);
        } else {
            out.back().text.append(line).append("\n");
        }
    }
    return out;
}

TEST_CASE("a filter file takes and shows what Linux does", "[CORE-477]") {
    World w;
    TraceEvents& events = w.perf.trace_events();
    TraceEventCall& call = *events.find("sched", "sched_switch");
    const auto all = recorded();
    REQUIRE(all.size() == 50);
    for (const Recorded& r : all) {
        INFO(r.filter);
        CHECK(-events.store_filter(call, r.filter) == r.error);
        CHECK(TraceEvents::filter_text(call) == r.text);
        CHECK((call.filter != nullptr) == (r.error == 0 && r.filter != "0"));
    }
    CHECK(events.error_log_text().find("event filter parse error: error: Too many '('") != std::string::npos);
    events.clear_error_log();
    CHECK(events.error_log_text().empty());
}

TEST_CASE("a system's filter goes to the events that have its fields", "[CORE-477]") {
    World w;
    TraceEvents& events = w.perf.trace_events();
    CHECK(events.store_system_filter("sched", "prev_pid == 3\n") == 0);
    CHECK(TraceEvents::filter_text(*events.find("sched", "sched_switch")) == "prev_pid == 3\n");
    CHECK(TraceEvents::filter_text(*events.find("sched", "sched_waking")) ==
          "prev_pid == 3\n^\nparse_error: Couldn't find or set field in one of a subsystem's events\n\n");
    CHECK(events.store_system_filter("sched", "0") == 0);
    CHECK(TraceEvents::filter_text(*events.find("sched", "sched_switch")) == "none\n");
    CHECK(events.store_system_filter("nothing", "0") == -ENODEV);
}

/// A record with fields of every kind.
struct Sample {
    World w;
    TraceEventCall call;
    std::vector<std::uint8_t> record = std::vector<std::uint8_t>(104);

    Sample() {
        call.fields = {trace_field("s8", "s8", 8, 1, true),
                       trace_field("u8", "u8", 9, 1, false),
                       trace_field("short", "s16", 10, 2, true),
                       trace_field("u16", "u16", 12, 2, false),
                       trace_field("int", "s32", 16, 4, true),
                       trace_field("u32", "u32", 20, 4, false),
                       trace_field("long", "s64", 24, 8, true),
                       trace_field("u64", "u64", 32, 8, false),
                       trace_field("char[16]", "text", 40, 16, false),
                       trace_field("__data_loc char[]", "dyn", 56, 4, false),
                       trace_field("__rel_loc char[]", "rel", 60, 4, false),
                       trace_field("const char *", "ptr", 64, 8, false),
                       trace_field("u32[3]", "array", 72, 12, false)};
        for (unsigned offset = 8; offset < 40; ++offset) record[offset] = 0xff; // -1, or the largest
        put("text", std::string("hello"));
        put("dyn", std::uint32_t{6 << 16 | 88});
        put("rel", std::uint32_t{6 << 16 | 24});
        std::memcpy(&record[88], "world", 6);
        put("ptr", w.k.put_user(std::array<char, 8>{"a/b.c"}));
    }
    template <class T>
    void put(const char* name, const T& v) {
        const TraceField* f = trace_find_event_field(call, name);
        if constexpr (std::is_same_v<T, std::string>)
            std::memcpy(&record[f->offset], v.data(), v.size());
        else
            std::memcpy(&record[f->offset], &v, sizeof v);
    }
    bool match(std::string_view text) {
        FilterError error;
        const auto filter = EventFilter::create(call, text, error);
        INFO(text);
        REQUIRE(filter);
        return filter->match(w.k, record);
    }
};

TEST_CASE("numbers are compared by size and sign", "[CORE-477]") {
    Sample s;
    for (const char* f : {"s8", "s16", "s32", "s64"}) {
        const std::string name(f);
        CHECK(s.match(name + " == -1"));
        CHECK(s.match(name + " < 0"));
        CHECK(s.match(name + " <= -1"));
        CHECK_FALSE(s.match(name + " > -1"));
        CHECK(s.match(name + " & 4"));
    }
    for (const char* f : {"u8", "u16", "u32", "u64"}) {
        const std::string name(f);
        CHECK(s.match(name + " > 0"));
        CHECK(s.match(name + " >= 0xff"));
        CHECK_FALSE(s.match(name + " < 0x7f"));
        CHECK_FALSE(s.match(name + " != 0xffffffffffffffff"));
    }
    s.put("u8", std::uint8_t{8});
    CHECK(s.match("u8 == 010"));
    CHECK_FALSE(s.match("u8 & 7"));
    CHECK_FALSE(s.match("array == 0")); // an array has no value
    CHECK_FALSE(s.match("array != 0"));
}

TEST_CASE("strings are compared whole or by pattern", "[CORE-477]") {
    Sample s;
    CHECK(s.match("text == \"hello\""));
    CHECK_FALSE(s.match("text == \"hell\""));
    CHECK_FALSE(s.match("text != 'hello'"));
    CHECK(s.match("text ~ \"hel*\""));
    CHECK(s.match("text ~ \"*ell*\""));
    CHECK(s.match("text ~ \"h?l*o\""));
    CHECK(s.match("text ~ \"h[a-f]l[!a-k]o\""));
    CHECK_FALSE(s.match("text ~ \"h[!a-f]llo\""));
    CHECK(s.match("text ~ \"!x*\""));
    CHECK_FALSE(s.match("text ~ \"!hel*\""));
    // "*end" looks at the end of the field, not of the string in it.
    CHECK_FALSE(s.match("text ~ \"*llo\""));
    CHECK(s.match("dyn ~ \"*rld\""));
    CHECK(s.match("dyn == \"world\""));
    CHECK(s.match("rel == \"world\""));
    CHECK_FALSE(s.match("rel == \"worl\""));
}

TEST_CASE("pointers to strings, CPU and COMM", "[CORE-477]") {
    Sample s;
    CHECK(s.match("ptr.ustring == \"a/b.c\""));
    CHECK(s.match("ptr.ustring ~ \"a/*\""));
    CHECK_FALSE(s.match("ptr == \"a/b.c\"")); // a user's address is none of the kernel's
    s.put("ptr", std::uint64_t{16});
    CHECK_FALSE(s.match("ptr.ustring != \"x\""));
    CHECK(s.match("CPU == 0"));
    CHECK(s.match("cpu < 1"));
    CHECK(s.match("common_cpu != 3"));
    CHECK(s.match("COMM == \"first\""));
    CHECK(s.match("comm ~ \"f*\""));
}

TEST_CASE("terms join by && before ||, with ! and parentheses", "[CORE-477]") {
    Sample s;
    const std::string yes = "s32 == -1", no = "s32 == 0";
    CHECK(s.match(yes + " || " + no + " && " + no));
    CHECK_FALSE(s.match("(" + yes + " || " + no + ") && " + no));
    CHECK(s.match("!(" + yes + " && " + no + ") && !" + no));
    CHECK(s.match("!!(" + yes + ")"));
    CHECK_FALSE(s.match("!(" + no + " || !(" + no + "))"));
    CHECK(s.match(no + "||" + no + "||" + yes));
    CHECK_FALSE(s.match(yes + "&&" + yes + "&&" + no));
}

TEST_CASE("glob patterns") {
    CHECK(glob_match_len("", ""));
    CHECK(glob_match_len("*", ""));
    CHECK_FALSE(glob_match_len("?", ""));
    CHECK(glob_match_len("a*b*c", "axxbyybzc"));
    CHECK_FALSE(glob_match_len("a*b*c", "axxbyybz"));
    CHECK(glob_match_len("[]a]x", "]x"));
    CHECK(glob_match_len("[!]]x", "ax"));
    CHECK(glob_match_len("\\*x", "*x"));
    CHECK_FALSE(glob_match_len("\\*x", "ax"));
    CHECK(glob_match_len("[abc", "[abc"));
    CHECK(glob_match_len("ab", std::string_view("ab\0c", 4)));
}

} // namespace rkperf::ke::test::filter_test
