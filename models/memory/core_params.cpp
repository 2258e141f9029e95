// SPDX-License-Identifier: Apache-2.0
#include "models/memory/core_params.h"

namespace rkperf::mem {

CoreMemoryParams cortex_a55_memory() {
    CoreMemoryParams p;
    p.l1i = {32 * 1024, 4, 64};     // DT
    p.l1d = {32 * 1024, 4, 64};     // DT
    p.l2 = {128 * 1024, 4, 64};     // DT
    p.itlb_entries = 15;            // TRM
    p.dtlb_entries = 16;            // TRM
    p.l2tlb_entries = 1024;         // TRM
    p.l2tlb_ways = 4;               // TRM
    p.walk_cache_entries = 64;      // TRM
    p.walk_cache_ways = 4;          // TRM
    p.l2_inclusive_of_l1d = false;  // TRM A7.1: strictly exclusive
    p.l2_hit = 6;                   // M: random reads of 64 KiB, half of which hit the L2, take 2.9 cycles more
    p.l2tlb_hit = 2;                // M: mperf, 2 stall cycles for each; random reads of 128 KiB
    p.walk_step = 4;                // est.
    p.mshrs = 3;                    // M: 2.4..2.7 lines sustained in flight
    p.mshr_release = 14;            // M: eight chains take 6.7 cycles a line from the L2, 12 from the L3
    p.mshr_release_memory = 40;     // M: four and eight chains take 48 and 42 ns a line from memory, one 133 ns
    p.mshrs_in_order = true;        // M: eight chains through 4 MiB take 28 ns a line, of which two in three hit the L3
    p.l2_line_interval = 16;        // est.
    p.walks_in_flight = 1;          // est.
    p.to_dsu = 9;                   // M: L3 16..17 ns load-to-use with an L1 TLB miss
    p.bus_read_beat = 16;           // TRM: 128-bit read path
    p.bus_write_beat = 16;          // TRM: 128-bit write path
    p.bus_read_interval_ps = 4000;  // est.
    p.bus_write_interval_ps = 2900; // M: memset 22 GB/s
    p.l1i_next_lines = 1;           // est.
    p.prefetch = {.streams = 4,
                  .confirm = 2,
                  .l1_ahead = 5,
                  .l2_ahead = 0,
                  .l3_ahead = 12, // M: LDP reads 7.07 GB/s, twelve lines in the time of an access to memory
                  .in_flight = 5,
                  .by_l2_hits = false,   // M: copies with PLDL2STRM take the time of their prefetches, 3.7 GB/s
                  .crosses_pages = true, // TRM A6.5: read streams by virtual address
                  .l1_ahead_down = 0};   // M: copies backwards take the L3's latency a line; TRM, the rest est.
    p.write_stream = {.l1_lines = 4, .l2_lines = 16, .l3_lines = 128}; // est.
    return p;
}

CoreMemoryParams cortex_a76_memory() {
    CoreMemoryParams p;
    p.l1i = {64 * 1024, 4, 64}; // DT
    p.l1d = {64 * 1024, 4, 64}; // DT
    // DT; replacement est. (not published): 0.65 of a walk through 512 KiB hit, by its latency.
    p.l2 = {512 * 1024, 8, 64, Replacement::random};
    p.itlb_entries = 48;          // TRM
    p.dtlb_entries = 48;          // TRM
    p.l2tlb_entries = 1280;       // TRM
    p.l2tlb_ways = 5;             // TRM
    p.walk_cache_entries = 64;    // est.: inside the L2 TLB, size not published
    p.walk_cache_ways = 4;        // est.
    p.l2_inclusive_of_l1d = true; // TRM
    p.l2_hit = 8;                 // M: 12 load-to-use, of which 4 in the pipeline
    p.l2tlb_hit = 3;              // TRM
    p.walk_step = 4;              // est.
    p.mshrs = 20;                 // est. (AnandTech 12785, recalled)
    p.l2_line_interval = 14;      // M: 3.8 cycles per line with eight chains
    p.walks_in_flight = 4;        // TRM
    p.to_dsu = 17;                // M: L3 18 ns load-to-use with an L1 TLB miss
    p.bus_read_beat = 32;         // DSU TRM: 256-bit read and write paths of the big cores
    p.bus_write_beat = 32;
    p.bus_read_interval_ps = 2100;  // as writes: the paths are as wide; eight chains in the L3 wait for one slice of it
    p.bus_write_interval_ps = 2100; // M: memset 29.5 GB/s
    p.l1i_next_lines = 2;           // est.
    p.prefetch = {
        .streams = 8,
        .confirm = 2,
        .l1_ahead = 12,
        .l2_ahead = 30, // M: memchr reads 15.9 GB/s and LDP 17.2 (medians of five boards), with the slots below
        .l3_ahead = 0,
        .in_flight = 72,       // AnandTech 12785: 46 from the L2, and those to the L1D. M: more latency, less bandwidth
        .asked_for = 46,       // AnandTech 12785
        .crosses_pages = true, // TRM: by virtual address; the rest est.
        .l1_ahead_down = 12,
        .apart_differs = true,
        // M: a walk by seven lines takes 22.6 cycles a step, and counts two L2D_CACHE_REFILL a page and 0.42
        // L1D_CACHE_REFILL a step (docs/fidelity.md).
        .l1_ahead_apart = 10,
        .l2_ahead_apart = 4};
    // M: the same walk counts 1.00 L1D_CACHE a step, its table walks apart, and 0.42 L1D_CACHE_REFILL: with this 0.3,
    // without 0. The N1's guide has walks among the accesses of the L2.
    p.walks_skip_l1d = true;
    p.late_prefetch_is_refill = true;
    // TRM A6.2.6: a high proportion of stores that hit ends it; how high, est.
    p.write_stream = {.l1_lines = 4, .l2_lines = 16, .l3_lines = 128, .buffers = 8, .pause = 256}; // est.
    return p;
}

} // namespace rkperf::mem
