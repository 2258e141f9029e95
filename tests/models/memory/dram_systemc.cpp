// SPDX-License-Identifier: Apache-2.0
// DRAM rows, refresh and bandwidth; bandwidth seen by cores through the whole hierarchy.
#include "tests/models/memory/machine.h"
#include "tests/support/run_catch.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

using namespace rkperf;
using namespace rkperf::mem;
using namespace rkperf::mem::test;

namespace {

Stock stock;

/// Drives a DRAM by TLM.
struct Driver : sc_core::sc_module {
    Driver(sc_core::sc_module_name module_name, const std::string& name, const DramTiming& t)
        : sc_module(module_name), out("out"), dram((name + "_dram").c_str(), PhysAddr(0), kDramBytes, t) {
        out.bind(dram.socket);
        payload.set_data_length(kLineSize);
        payload.set_streaming_width(kLineSize);
        payload.set_data_ptr(buffer);
    }
    /// Picoseconds from arrival to answer.
    std::uint64_t go(PhysAddr pa, std::uint64_t at, bool write = false) {
        payload.set_command(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
        payload.set_address(pa.v);
        payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
        sc_core::sc_time delay = sc_core::sc_time::from_value(at);
        out->b_transport(payload, delay);
        return delay.value() - at;
    }
    tlm_utils::simple_initiator_socket<Driver> out;
    Dram dram;
    tlm::tlm_generic_payload payload;
    unsigned char buffer[kLineSize]{};
};

std::deque<Driver> drivers;
Driver& next_driver() {
    static unsigned used = 0;
    return drivers.at(used++);
}

/// A time at which the refresh of the bank of `pa` begins.
std::uint64_t refresh(Driver& d, PhysAddr pa) { return d.dram.last_refresh(d.dram.place(pa), 40'000'000); }
/// A time at which none is near.
std::uint64_t quiet(Driver& d, PhysAddr pa) { return refresh(d, pa) + 2 * d.dram.timing().t_rfc; }

/// Lines on the same channel and bank as `pa`, in the same row or in another.
PhysAddr neighbour(const Driver& d, PhysAddr pa, bool same_row) {
    const Dram::Place p = d.dram.place(pa);
    for (PhysAddr a(pa.v + 64);; a += PhysAddr(64)) {
        const Dram::Place q = d.dram.place(a);
        if (q.channel == p.channel && q.bank == p.bank && (q.row == p.row) == same_row) return a;
    }
}

/// Time for one core to stream through `bytes` with up to `window` lines under way, in GB/s.
double stream_gbs(Machine& m, const std::vector<unsigned>& cores, unsigned window, std::uint64_t bytes, Access kind,
                  unsigned piece) {
    struct Position {
        std::uint64_t at{};
        std::vector<std::uint64_t> ready;
    };
    std::vector<Position> pos(cores.size());
    const auto time_of = [&](unsigned i) { return m[cores[i]].clock.time_of(Cycles(m[cores[i]].cycle)).v; };
    for (;;) {
        // The core that is furthest behind goes next.
        unsigned next = 0;
        for (unsigned i = 1; i < cores.size(); ++i) {
            if (pos[i].at < bytes && (pos[next].at >= bytes || time_of(i) < time_of(next))) next = i;
        }
        Position& p = pos[next];
        if (p.at >= bytes) break;
        TestCore& c = m[cores[next]];
        const Timing t =
            c.mem.access(PhysAddr(0x100'0000 + cores[next] * 0x200'0000ull + p.at), kind, c.cycle, nullptr, piece);
        p.at += piece;
        c.cycle += 1;
        p.ready.push_back(t.ready);
        if (p.ready.size() > window) {
            c.cycle = std::max(c.cycle, p.ready.front());
            p.ready.erase(p.ready.begin());
        }
    }
    std::uint64_t end = 0;
    for (unsigned i = 0; i < cores.size(); ++i) end = std::max(end, time_of(i));
    return static_cast<double>(bytes * cores.size()) * 1000.0 / static_cast<double>(end);
}

} // namespace

TEST_CASE("row hits, closed rows and conflicts differ by tRCD and tRP", "[memory][dram]") {
    Driver& d = next_driver();
    const DramTiming& t = d.dram.timing();
    const PhysAddr a(0x20'0000);
    const std::uint64_t at = quiet(d, a);
    const std::uint64_t closed = d.go(a, at);
    CHECK(d.dram.stats().row_closed == 1);
    CHECK(closed >= t.controller + t.t_rcd + t.rl + t.line);
    CHECK(closed < t.controller + t.t_rcd + t.rl + 2 * t.line);
    const std::uint64_t hit = d.go(neighbour(d, a, true), at + 100'000);
    CHECK(d.dram.stats().row_hits == 1);
    CHECK(hit + t.t_rcd <= closed + t.line);
    const std::uint64_t conflict = d.go(neighbour(d, a, false), at + 200'000);
    CHECK(d.dram.stats().row_conflicts == 1);
    CHECK(conflict + t.line >= hit + t.t_rcd + t.t_rp);
    // A row left alone is closed after a while.
    d.go(neighbour(d, a, false), at + 200'000 + 2 * t.idle_close);
    CHECK(d.dram.stats().row_closed == 2);
    CHECK(d.dram.stats().reads == 4);
}

TEST_CASE("a bank under refresh makes requests wait", "[memory][dram][refresh]") {
    Driver& d = next_driver();
    const DramTiming& t = d.dram.timing();
    const PhysAddr a(0x20'0000);
    const std::uint64_t begin = refresh(d, a);
    const std::uint64_t undisturbed = d.go(a, begin - 2 * t.t_rfc);
    const std::uint64_t delayed = d.go(a, begin + t.t_rfc / 4);
    CHECK(d.dram.last_refresh(d.dram.place(a), begin - 1) + t.t_refi * t.banks == begin);
    CHECK(delayed > undisturbed + t.t_rfc / 2);
    CHECK(d.dram.stats().row_closed == 2); // the refresh closed the row
}

TEST_CASE("consecutive lines use all channels, power-of-two strides do, too", "[memory][dram]") {
    Driver& d = next_driver();
    for (std::uint64_t stride = 64; stride <= 1 << 20; stride *= 2) {
        std::set<unsigned> channels, banks;
        for (unsigned i = 0; i < 4096; ++i) {
            const Dram::Place p = d.dram.place(PhysAddr(i * stride % kDramBytes));
            channels.insert(p.channel);
            banks.insert(p.bank);
        }
        CHECK(channels.size() == 4);
        CHECK(banks.size() >= 8);
    }
    // Different lines have different places, and a row holds as many as it should.
    std::map<std::tuple<unsigned, unsigned, std::uint64_t>, unsigned> rows;
    for (std::uint64_t a = 0; a < 16 << 20; a += 64) {
        const Dram::Place p = d.dram.place(PhysAddr(a));
        ++rows[{p.channel, p.bank, p.row}];
    }
    for (const auto& [row, n] : rows) REQUIRE(n == d.dram.timing().row_bytes / 64);
}

TEST_CASE("a channel carries one line per burst time, whatever the order of requests", "[memory][dram][bandwidth]") {
    for (const bool shuffled : {false, true}) {
        Driver& d = next_driver();
        const DramTiming& t = d.dram.timing();
        std::uint64_t last = 0;
        const unsigned lines = 4096;
        for (unsigned i = 0; i < lines; ++i) {
            const unsigned k = shuffled ? (i * 1021) % lines : i;
            const std::uint64_t at = 1'000'000 + k * 100; // far more than the pins can carry
            last = std::max(last, at + d.go(PhysAddr(k * 64), at));
        }
        const double ps_per_line = static_cast<double>(last - 1'000'000) / lines;
        CHECK(ps_per_line >= static_cast<double>(t.line) / t.channels);
        CHECK(ps_per_line < static_cast<double>(t.line) / t.channels * 1.6);
    }
}

TEST_CASE("a write among reads costs time of the pins, writes alone do not", "[memory][dram][bandwidth]") {
    const auto ps_per_line = [](unsigned writes_of_four) {
        Driver& d = next_driver();
        std::uint64_t last = 0;
        const unsigned lines = 4096;
        for (unsigned i = 0; i < lines; ++i) {
            const std::uint64_t at = 1'000'000 + i * 100; // far more than the pins can carry
            const std::uint64_t end = at + d.go(PhysAddr(i * 64), at, i % 4 < writes_of_four);
            last = std::max(last, end + (i % 4 < writes_of_four ? d.dram.timing().write_queue : 0));
        }
        return static_cast<double>(last - 1'000'000) / lines;
    };
    const double reads = ps_per_line(0), mixed = ps_per_line(2), writes = ps_per_line(4);
    // Half of the lines of each channel take the turnaround.
    const double turn = static_cast<double>(kLpddr4x2112.turnaround) / kLpddr4x2112.channels / 2;
    CHECK(mixed - reads == Approx(turn).epsilon(0.3));
    CHECK(writes == Approx(reads).epsilon(0.05));
}

TEST_CASE("an address outside of the DRAM is refused", "[memory][dram]") {
    Driver& d = next_driver();
    d.go(PhysAddr(kDramBytes - 32), 0);
    CHECK(d.payload.get_response_status() == tlm::TLM_ADDRESS_ERROR_RESPONSE);
}

TEST_CASE("LPDDR5 has more bandwidth and more latency than LPDDR4X", "[memory][dram]") {
    CHECK(kLpddr5_2736.line < kLpddr4x2112.line);
    // 64 bytes on four 16-bit channels: 33.8 and 43.8 GB/s.
    CHECK(4 * 64e3 / static_cast<double>(kLpddr4x2112.line) == Approx(33.8).epsilon(0.01));
    CHECK(4 * 64e3 / static_cast<double>(kLpddr5_2736.line) == Approx(43.8).epsilon(0.01));
    const auto random_access = [](const DramTiming& t) { return t.controller + t.rl + t.t_rcd + t.line; };
    CHECK(random_access(kLpddr5_2736) > random_access(kLpddr4x2112));
}

TEST_CASE("one core's reading is bound by its own path, eight cores' by the DRAM", "[memory][bandwidth]") {
    Machine& one = stock.take("octa");
    const double single = stream_gbs(one, {4}, 20, 8 << 20, Access::load, 64);
    Machine& all = stock.take("octa");
    const double together = stream_gbs(all, {0, 1, 2, 3, 4, 5, 6, 7}, 20, 2 << 20, Access::load, 64);
    UNSCOPED_INFO("A76 read " << single << " GB/s, eight cores " << together << " GB/s");
    CHECK(single > 15);
    CHECK(single < 20);
    CHECK(together > 20);
    CHECK(together < 33.8);
}

TEST_CASE("what one core reads is bound by its requests in flight: the more latency, the less bandwidth",
          "[memory][bandwidth]") {
    const double near = stream_gbs(stock.take("near"), {0}, 20, 8 << 20, Access::load, 64);
    const double far = stream_gbs(stock.take("far"), {0}, 20, 8 << 20, Access::load, 64);
    UNSCOPED_INFO("A76 read " << near << " GB/s, from a memory 20 ns further away " << far << " GB/s");
    CHECK(far < 0.95 * near); // boards with 116 and 134 ns of latency: 19.3 and 14.3 GB/s
    CHECK(far > 0.7 * near);
}

TEST_CASE("one core fills memory faster than it reads it", "[memory][bandwidth][stream]") {
    const double big = stream_gbs(stock.take("octa"), {4}, 20, 8 << 20, Access::store, 16);
    const double little = stream_gbs(stock.take("octa"), {0}, 4, 8 << 20, Access::store, 16);
    UNSCOPED_INFO("fill: A76 " << big << ", A55 " << little << " GB/s");
    CHECK(big > 22);
    CHECK(big < 33.8);
    CHECK(little > 14);
    CHECK(little < 26);
}

int sc_main(int argc, char** argv) {
    sc_core::sc_report_handler::set_actions(sc_core::SC_INFO, sc_core::SC_DO_NOTHING);
    for (int i = 0; i < 11; ++i) {
        const std::string name = "driver" + std::to_string(i);
        drivers.emplace_back(name.c_str(), name, kLpddr4x2112);
    }
    const CoreSpec a55_full{cortex_a55_memory(), kA55Hertz}, a76_full{cortex_a76_memory(), kA76Hertz};
    stock.add("octa", 4, [&](const std::string& n) {
        return std::make_unique<Machine>(
            n, std::vector{a55_full, a55_full, a55_full, a55_full, a76_full, a76_full, a76_full, a76_full});
    });
    DramTiming far = kLpddr4x2112;
    far.controller += 20'000;
    stock.add("near", 1, [&](const std::string& n) { return std::make_unique<Machine>(n, std::vector{a76_full}); });
    stock.add("far", 1, [&](const std::string& n) {
        return std::make_unique<Machine>(n, std::vector{a76_full}, DsuParams{}, far);
    });
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    return run_catch(argc, argv);
}
