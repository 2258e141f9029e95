// SPDX-License-Identifier: Apache-2.0
// The trace file is read back with a decoder of its own: only the encoding's rules and Perfetto's field numbers.
#include "sim/soc/trace_file.h"

#include <catch2/catch.hpp>

#include <unistd.h>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

using namespace rkperf;
using namespace rkperf::soc;

namespace {

struct Field {
    unsigned number{};
    std::uint64_t value{};
    std::string bytes;
};

std::uint64_t take_varint(const std::string& s, std::size_t& at) {
    std::uint64_t v = 0;
    for (unsigned shift = 0;; shift += 7) {
        REQUIRE(at < s.size());
        REQUIRE(shift < 64);
        const auto byte = static_cast<unsigned char>(s[at++]);
        v |= std::uint64_t{byte & 0x7fu} << shift;
        if (byte < 0x80) return v;
    }
}

std::vector<Field> decode(const std::string& s) {
    std::vector<Field> out;
    for (std::size_t at = 0; at < s.size();) {
        const std::uint64_t key = take_varint(s, at);
        Field f{static_cast<unsigned>(key >> 3), 0, {}};
        const std::uint64_t v = take_varint(s, at);
        if ((key & 7) == 2) {
            REQUIRE(v <= s.size() - at);
            f.bytes = s.substr(at, v);
            at += v;
        } else {
            REQUIRE((key & 7) == 0);
            f.value = v;
        }
        out.push_back(std::move(f));
    }
    return out;
}

const Field* find(const std::vector<Field>& fields, unsigned number) {
    for (const Field& f : fields)
        if (f.number == number) return &f;
    return nullptr;
}

std::vector<std::vector<Field>> packets_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    const std::string all{std::istreambuf_iterator<char>(in), {}};
    std::vector<std::vector<Field>> out;
    for (const Field& f : decode(all)) {
        REQUIRE(f.number == 1);
        out.push_back(decode(f.bytes));
    }
    return out;
}

} // namespace

TEST_CASE("protobuf fields are encoded as the format says") {
    ProtoMessage m;
    m.number(1, 150);
    m.text(2, "testing");
    ProtoMessage outer;
    outer.message(3, m);
    // The examples of the encoding's documentation.
    CHECK(m.bytes() == std::string("\x08\x96\x01\x12\x07testing"));
    CHECK(outer.bytes() == std::string("\x1a\x0c") + m.bytes());
    ProtoMessage negative;
    negative.number(1, static_cast<std::uint64_t>(std::int64_t{-2}));
    CHECK(negative.bytes() == std::string("\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
}

TEST_CASE("a trace holds its tracks and events") {
    const std::string path = "/tmp/rkperf-trace-test-" + std::to_string(::getpid());
    {
        TraceFile f(path);
        const TrackId group = f.track("CPU 0", 0, 0);
        const TrackId slices = f.track("task", group, 1);
        const TrackId counter = f.counter_track("PMCCNTR", group, 2);
        f.begin(slices, Picoseconds(1'000'500), "work");
        f.counter(counter, Picoseconds(2'000'000), -5);
        f.begin(slices, Picoseconds(3'000'000), "inner");
        f.end(slices, Picoseconds(4'000'000));
        f.instant(slices, Picoseconds(5'000'000), "work");
        f.end(slices, Picoseconds(6'000'000));
        REQUIRE(f.close().empty());
    }
    const auto packets = packets_of(path);
    std::remove(path.c_str());
    REQUIRE(packets.size() == 9);

    std::map<std::uint64_t, std::string> names, tracks;
    std::vector<std::string> events;
    for (const auto& p : packets) {
        REQUIRE(find(p, 10)); // trusted_packet_sequence_id
        if (const Field* t = find(p, 60)) {
            const auto d = decode(t->bytes);
            tracks[find(d, 1)->value] = find(d, 2)->bytes + (find(d, 8) ? " counter" : "") +
                                        (find(d, 5) ? " in " + std::to_string(find(d, 5)->value) : "");
            continue;
        }
        if (const Field* i = find(p, 12)) {
            const auto entry = decode(find(decode(i->bytes), 2)->bytes);
            names[find(entry, 1)->value] = find(entry, 2)->bytes;
        }
        const auto e = decode(find(p, 11)->bytes);
        std::string text = std::to_string(find(p, 8)->value) + " type " + std::to_string(find(e, 9)->value) + " on " +
                           std::to_string(find(e, 11)->value);
        if (const Field* n = find(e, 10)) text += " " + names.at(n->value);
        if (const Field* v = find(e, 30)) text += " " + std::to_string(static_cast<std::int64_t>(v->value));
        events.push_back(text);
    }
    CHECK(find(packets[0], 13)->value == 1); // the first packet clears the state
    CHECK(tracks == std::map<std::uint64_t, std::string>{{1, "CPU 0"}, {2, "task in 1"}, {3, "PMCCNTR counter in 1"}});
    CHECK(events == std::vector<std::string>{"1000 type 1 on 2 work", "2000 type 4 on 3 -5", "3000 type 1 on 2 inner",
                                             "4000 type 2 on 2", "5000 type 3 on 2 work", "6000 type 2 on 2"});
    CHECK(names.size() == 2); // "work" is stored once
}

TEST_CASE("a trace that cannot be written says so") {
    CHECK_THROWS_WITH(TraceFile("/nonexistent/trace"), Catch::Contains("/nonexistent/trace: cannot write the trace"));
    TraceFile full("/dev/full");
    const TrackId t = full.track("a", 0, 0);
    full.begin(t, Picoseconds(0), "b");
    CHECK_THAT(full.close(), Catch::Contains("No space left"));
}
