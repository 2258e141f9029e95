// SPDX-License-Identifier: Apache-2.0
// Framing and commands of the remote protocol, good ones and bad ones.
#include "sim/gdb/server.h"
#include "tests/sim/gdb/fake_target.h"

#include <catch2/catch.hpp>

#include <cstdint>
#include <string>

using namespace rkperf::gdb;
using Event = PacketReader::Event;

namespace {

/// What the reader makes of some bytes: one letter an event.
std::string events(PacketReader& r, std::string_view bytes) {
    std::string out;
    for (const char c : bytes) switch (r.feed(static_cast<std::uint8_t>(c))) {
            case Event::none: break;
            case Event::packet: out += "P(" + r.data() + ")"; break;
            case Event::bad: out += "B"; break;
            case Event::interrupt: out += "I"; break;
            case Event::ack: out += "+"; break;
            case Event::nak: out += "-"; break;
        }
    return out;
}

std::string ask(Server& s, std::string_view packet) { return s.handle(packet).text; }

/// Deterministic, the same everywhere.
struct Random {
    std::uint64_t state;
    std::uint64_t next() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return state;
    }
};

} // namespace

TEST_CASE("packets are framed, escaped and checked", "[gdb]") {
    PacketReader r;
    CHECK(events(r, "$OK#9a") == "P(OK)");
    CHECK(events(r, "+-\x03") == "+-I");
    CHECK(events(r, "$OK#9b") == "B");
    CHECK(events(r, "$OK#xy") == "B");
    CHECK(events(r, "garbage$g#67") == "P(g)");
    CHECK(events(r, "$cut off$g#67") == "P(g)");
    CHECK(events(r, make_packet("a$b#c}d*e")) == "P(a$b#c}d*e)");
    CHECK(events(r, "$\x03#03") == "P(\x03)"); // Ctrl-C inside a packet is data
    CHECK(events(r, "$" + std::string(PacketReader::kMaxPacket + 1, 'a') + "#00") == "B");
    CHECK(events(r, "$g#67") == "P(g)");
}

TEST_CASE("fields take what is there and no more", "[gdb]") {
    Fields f("1f,zz");
    CHECK(f.hex() == 0x1f);
    CHECK_FALSE(f.skip(':'));
    CHECK(f.skip(','));
    CHECK_FALSE(f.hex());
    CHECK(f.rest() == "zz");
    CHECK(Fields("ffffffffffffffff").hex() == ~std::uint64_t{0});
    CHECK_FALSE(Fields("10000000000000000").hex());
    CHECK(from_hex("4a4B") == "JK");
    CHECK_FALSE(from_hex("4a4"));
    CHECK_FALSE(from_hex("4g"));
    CHECK(hex_le(0x1234, 4) == "34120000");
}

TEST_CASE("registers are read and written one by one and together", "[gdb]") {
    FakeTarget t;
    Server s(t);
    t.regs[0].x[2] = 0x1122334455667788;
    t.regs[0].pc = 0x400000;
    CHECK(ask(s, "p2") == "8877665544332211");
    CHECK(ask(s, "p20") == "0000400000000000");
    CHECK(ask(s, "P2=0100000000000000") == "OK");
    CHECK(t.regs[0].x[2] == 1);
    CHECK(ask(s, "P2=01") == "E01");
    CHECK(ask(s, "p47") == "E01");
    CHECK(ask(s, "P45=0000000000000000") == "E01"); // ttbr0_el1 is to be read only
    CHECK(ask(s, "p") == "E01");
    const std::string all = ask(s, "g");
    CHECK(all.size() == 2 * (34 * 8 - 4 + 32 * 16 + 2 * 4 + 2 * 8 + 4));
    CHECK(ask(s, "G" + all) == "OK");
    CHECK(ask(s, "G" + all + "00") == "E01");
    CHECK(ask(s, "G00") == "E01");
    t.writable = false;
    CHECK(ask(s, "P2=0100000000000000") == "E01");
}

TEST_CASE("CPUs are threads", "[gdb]") {
    FakeTarget t;
    Server s(t);
    t.regs[1].x[0] = 7;
    CHECK(ask(s, "qfThreadInfo") == "m1,2");
    CHECK(ask(s, "qsThreadInfo") == "l");
    CHECK(ask(s, "qC") == "QC1");
    CHECK(ask(s, "Hg2") == "OK");
    CHECK(ask(s, "p0") == "0700000000000000");
    CHECK(ask(s, "Hg0") == "OK");
    CHECK(ask(s, "qC") == "QC2");
    CHECK(ask(s, "Hg3") == "E01");
    CHECK(ask(s, "Hx1") == "E01");
    CHECK(ask(s, "T2") == "OK");
    CHECK(ask(s, "T9") == "E01");
    CHECK(from_hex(ask(s, "qThreadExtraInfo,1")) == "first");
    CHECK(ask(s, "qXfer:threads:read::0,1000").find("a&lt;b>&amp;c") != std::string::npos);
}

TEST_CASE("memory is reached through the target", "[gdb]") {
    FakeTarget t;
    Server s(t);
    CHECK(ask(s, "M1000,4:01020304") == "OK");
    CHECK(ask(s, "m1001,2") == "0203");
    CHECK(ask(s, "X1002,2:ab") == "OK");
    CHECK(ask(s, "m1000,4") == "01026162");
    CHECK(ask(s, "m0,4") == "E0e");
    CHECK(ask(s, "m1ffe,10") == "0000"); // up to the end
    CHECK(ask(s, "M1ffe,4:01020304") == "E0e");
    CHECK(ask(s, "M1000,4:0102") == "E01");
    CHECK(ask(s, "m1000") == "E01");
    CHECK(ask(s, "m1000,ffffffffffffffff").size() <= PacketReader::kMaxPacket);
    CHECK(ask(s, "m,") == "E01");
}

TEST_CASE("breakpoints and watchpoints are the target's", "[gdb]") {
    FakeTarget t;
    Server s(t);
    CHECK(ask(s, "Z0,1000,4") == "OK");
    CHECK(ask(s, "Z2,1010,8") == "OK");
    CHECK(t.points.size() == 2);
    CHECK(ask(s, "z0,1000,4") == "OK");
    CHECK(t.points.size() == 1);
    CHECK(ask(s, "Z5,1000,4").empty());
    CHECK(ask(s, "Z0,9000,4") == "E01");
    CHECK(ask(s, "Z0,1000") == "E01");
    CHECK(ask(s, "Z0,1000,4;X1,0") == "E01");
}

TEST_CASE("the machine goes on, steps and stops", "[gdb]") {
    FakeTarget t;
    Server s(t);
    CHECK(ask(s, "vCont?") == "vCont;c;C;s;S");
    const Server::Reply r = s.handle("vCont;s:2;c");
    CHECK(r.running);
    CHECK_FALSE(r.send);
    CHECK(s.handle("vCont;c").running);
    CHECK(s.handle("s").running);
    CHECK(s.handle("c").running);
    CHECK(t.resumed == std::vector<int>{1, -1, 0, -1});
    CHECK(t.held_back == std::vector<unsigned>{0, 0, 0, 0});
    // Who is in no action does not run; the first action for a CPU counts.
    for (const char* packet : {"vCont;s:2", "vCont;c:1", "vCont;c:1;s:2", "vCont;c:2;s:2;c:1", "vCont;s:p1.1;c:p1.-1"})
        CHECK(s.handle(packet).running);
    CHECK(std::vector<int>(t.resumed.begin() + 4, t.resumed.end()) == std::vector<int>{1, -1, 1, -1, 0});
    CHECK(std::vector<unsigned>(t.held_back.begin() + 4, t.held_back.end()) == std::vector<unsigned>{1, 2, 0, 0, 0});
    // An action for all others is none for the one that has its own.
    CHECK(s.handle("vCont;c:1;s").running);
    CHECK(t.resumed.back() == 1);
    CHECK(t.held_back.back() == 0);
    CHECK(ask(s, "vCont;x") == "E01");
    CHECK(ask(s, "vCont;s:7") == "E01");
    CHECK(ask(s, "vCont;") == "E01");
    CHECK(ask(s, "c1000") == "E01");
    CHECK(s.stopped({Stop::Why::breakpoint, 1, PointKind::hardware, 0, 0}) == "T05hwbreak:;thread:2;");
    CHECK(ask(s, "qC") == "QC2");
    CHECK(ask(s, "?") == "T05hwbreak:;thread:2;");
    CHECK(s.stopped({Stop::Why::watchpoint, 0, PointKind::write, 0x1234, 0}) == "T05watch:1234;thread:1;");
    CHECK(s.stopped({Stop::Why::watchpoint, 0, PointKind::access, 0, 0}) == "T05awatch:0;thread:1;");
    CHECK(s.stopped({Stop::Why::interrupt, 0, {}, 0, 0}) == "T02thread:1;");
    CHECK(s.stopped({Stop::Why::exited, 0, {}, 0, 3 << 8}) == "W03");
    CHECK(s.stopped({Stop::Why::exited, 0, {}, 0, 9}) == "X09");
    CHECK(s.handle("D").gone);
    CHECK(t.detached);
    CHECK(s.handle("k").gone);
    CHECK(t.killed);
}

TEST_CASE("queries, documents and monitor commands", "[gdb]") {
    FakeTarget t;
    Server s(t);
    CHECK(ask(s, "qSupported:multiprocess+").find("qXfer:features:read+") != std::string::npos);
    CHECK(s.handle("QStartNoAckMode").no_ack);
    CHECK(ask(s, "qUnknown").empty());
    CHECK(ask(s, "nonsense").empty());
    CHECK(ask(s, "").empty());
    // The description comes in parts, and is the same then.
    std::string xml;
    for (;;) {
        const std::string part = ask(
            s, "qXfer:features:read:target.xml:" + [&] {
                char b[32];
                std::snprintf(b, sizeof b, "%zx,3e", xml.size());
                return std::string(b);
            }());
        REQUIRE_FALSE(part.empty());
        xml += part.substr(1);
        if (part[0] == 'l') break;
    }
    CHECK(xml == target_xml());
    CHECK(ask(s, "qXfer:features:read:target.xml:zz,1") == "E01");
    CHECK(ask(s, "qXfer:features:read:target.xml:ffffffff,1") == "l");
    CHECK(from_hex(ask(s, "qRcmd,74696d65")) == "answer\n");
    CHECK(t.said == "0:time");
    CHECK(ask(s, "qRcmd,7") == "E01");
    CHECK(ask(s, "qRcmd,6c6f6e67").size() <= PacketReader::kMaxPacket);
}

TEST_CASE("no sequence of bytes confuses the stub", "[gdb]") {
    // Packets of the protocol's own letters, cut, joined and changed.
    constexpr std::string_view kSeeds[] = {
        "qSupported",   "m1000,10", "M1000,2:0102", "Z2,1000,8", "vCont;s:1;c",
        "qRcmd,74",     "p1f",      "P0=00",        "G00",       "qXfer:threads:read::0,9",
        "X1000,3:a}]b", "Hg-1",     "T2",           "?",         "qThreadExtraInfo,p1.2"};
    Random random{0x1234567};
    FakeTarget t;
    Server s(t);
    PacketReader reader;
    int packets = 0;
    for (int i = 0; i < 20000; ++i) {
        std::string p(kSeeds[random.next() % std::size(kSeeds)]);
        for (std::uint64_t n = random.next() % 4; n; --n) {
            const std::uint64_t at = random.next() % (p.size() + 1);
            switch (random.next() % 4) {
                case 0: p.resize(at); break;
                case 1: p.insert(at, 1, static_cast<char>(random.next())); break;
                case 2: p.insert(at, "ffffffffffffffff"); break;
                default:
                    if (at < p.size()) p[at] = static_cast<char>(random.next());
            }
        }
        std::string bytes = random.next() % 8 ? make_packet(p) : "$" + p + "#12";
        for (const char c : bytes)
            if (reader.feed(static_cast<std::uint8_t>(c)) == Event::packet) {
                ++packets;
                const Server::Reply r = s.handle(reader.data());
                REQUIRE(r.text.size() <= PacketReader::kMaxPacket);
            }
    }
    CHECK(packets > 15000);
    CHECK(events(reader, "$g#67") == "P(g)");
}

TEST_CASE("gdb reads the program, its files and its auxiliary vector out of the machine", "[gdb]") {
    FakeTarget target;
    Server s(target);
    CHECK(ask(s, "qXfer:auxv:read::0,8") == std::string("m\x09\0\0\0\0\0\0\0", 9));
    CHECK(ask(s, "qXfer:auxv:read::8,100") == std::string("l\0\x10\0\0\0\0\0\0", 9));
    CHECK(ask(s, "qXfer:exec-file:read:1:0,100") == "l/bin/prog");
    CHECK(ask(s, "qXfer:exec-file:read::5,100") == "lprog");
    CHECK(ask(s, "vFile:setfs:0") == "F0");
    const std::string path = to_hex("/bin/prog");
    CHECK(ask(s, "vFile:open:" + path + ",0,0") == "F3");
    CHECK(ask(s, "vFile:open:" + path + ",0,0") == "F4");
    CHECK(ask(s, "vFile:pread:3,4,2") == "F4;file");
    CHECK(ask(s, "vFile:pread:3,100,2") == "F4;file");
    CHECK(ask(s, "vFile:pread:3,100,6") == "F0;");
    const std::string stat = ask(s, "vFile:fstat:4");
    REQUIRE(stat.size() == 4 + 64);
    CHECK(stat.substr(0, 4) == "F40;");
    CHECK(stat.substr(4 + 28, 8) == std::string("\0\0\0\0\0\0\0\x06", 8));
    CHECK(ask(s, "vFile:close:3") == "F0");
    CHECK(ask(s, "vFile:close:3") == "F-1,9");
    CHECK(ask(s, "vFile:pread:3,4,2") == "F-1,9");
    CHECK(ask(s, "vFile:pread:4,4") == "F-1,16");
    CHECK(ask(s, "vFile:open:" + path + ",1,0") == "F-1,1e"); // writing
    CHECK(ask(s, "vFile:open:" + to_hex("/no") + ",0,0") == "F-1,2");
    CHECK(ask(s, "vFile:open:xy,0,0") == "F-1,16");
    CHECK(ask(s, "vFile:unlink:" + path) == "");
    for (int i = 0; i < 63; ++i) CHECK(ask(s, "vFile:open:" + path + ",0,0")[1] != '-');
    CHECK(ask(s, "vFile:open:" + path + ",0,0") == "F-1,18");
}
