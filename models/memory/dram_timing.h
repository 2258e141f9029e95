// SPDX-License-Identifier: Apache-2.0
// Timing of the DRAM devices and their controllers, as tables.
#pragma once

#include <cstdint>
#include <string_view>

namespace rkperf::mem {

/// Times in picoseconds.
struct DramTiming {
    std::string_view name;
    unsigned channels;         ///< power of two
    unsigned banks;            ///< per channel, all ranks; power of two
    unsigned row_bytes;        ///< per channel; power of two
    unsigned channel_shift;    ///< consecutive bytes on one channel: 1 << channel_shift
    std::uint64_t line;        ///< 64 bytes on a channel's data pins
    std::uint64_t rl;          ///< read command to first data
    std::uint64_t t_rcd;       ///< activate to read or write
    std::uint64_t t_rp;        ///< precharge, one bank
    std::uint64_t t_ras;       ///< activate to precharge
    std::uint64_t t_refi;      ///< between two per-bank refreshes of a channel
    std::uint64_t t_rfc;       ///< per-bank refresh
    std::uint64_t idle_close;  ///< a row that is not used this long is closed
    std::uint64_t write_queue; ///< time's worth of writes that a channel takes without making anyone wait
    std::uint64_t controller;  ///< scheduling and physical interface, both ways together
    /// Time of the pins that a write among reads costs: of a change of direction and back (tWTR, tRTW and latencies),
    /// divided by the writes that a controller gathers.
    std::uint64_t turnaround;
};

/// RK3588: four 16-bit channels (facts: rk3588.md 4). Device times from JESD209-4 (LPDDR4X: tRCD 18 ns, tRPpb 18 ns,
/// tRAS 42 ns, tRFCpb 140 ns for 8 Gbit, tREFIpb 488 ns, RL 40 tCK with DBI at 2112 MHz); mapping, policy and controller
/// time are estimates fitted to sbc-bench ramlat, the turnaround to tinymembench.
inline constexpr DramTiming kLpddr4x2112{
    .name = "LPDDR4X-4224",
    .channels = 4,
    .banks = 16,
    .row_bytes = 2048,
    .channel_shift = 8,
    .line = 7576,
    .rl = 18940,
    .t_rcd = 18000,
    .t_rp = 18000,
    .t_ras = 42000,
    .t_refi = 488000,
    .t_rfc = 140000,
    .idle_close = 200000,
    .write_queue = 300000,
    .controller = 9000,
    .turnaround = 7000, // M: copies reach 24 GB/s in all where writes alone reach 30
};

/// LPDDR5 at 2736 MHz (5472 MT/s), JESD209-5. Boards with it show about 11 ns more latency than LPDDR4X ones (128 MiB:
/// 144..152 ns), which the controller's figure takes up.
inline constexpr DramTiming kLpddr5_2736{
    .name = "LPDDR5-5472",
    .channels = 4,
    .banks = 16,
    .row_bytes = 2048,
    .channel_shift = 8,
    .line = 5848,
    .rl = 22000,
    .t_rcd = 18000,
    .t_rp = 18000,
    .t_ras = 42000,
    .t_refi = 488000,
    .t_rfc = 140000,
    .idle_close = 200000,
    .write_queue = 300000,
    .controller = 19000,
    .turnaround = 3900, // est.
};

} // namespace rkperf::mem
