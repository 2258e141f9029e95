// SPDX-License-Identifier: Apache-2.0
#include "models/memory/core_params.h"

namespace rkperf::mem {

CoreMemoryParams cortex_a55_memory() {
    CoreMemoryParams p;
    p.l1i = {32 * 1024, 4, 64};     // DT
    p.l1d = {32 * 1024, 4, 64};     // DT
    p.l2 = {128 * 1024, 4, 64};     // DT
    p.itlb_entries = 15;            // TRM
    p.dtlb_entries = 15;            // TRM: 16; M: of a walk through 16 pages all miss
    p.l2tlb_entries = 1024;         // TRM
    p.l2tlb_ways = 4;               // TRM
    p.walk_cache_entries = 64;      // TRM
    p.walk_cache_ways = 4;          // TRM
    p.l2_inclusive_of_l1d = false;  // not published; est.
    p.l2_hit = 7;                   // M: 9..10 load-to-use, of which 2 (pointer chase) or 3 in the pipeline
    p.l2tlb_hit = 8;                // M: 6..9
    p.walk_step = 4;                // est.
    p.mshrs = 3;                    // M: 2.4..2.7 lines sustained in flight
    p.mshr_release = 16;            // M: eight chains take 5.9 cycles a line from the L2, 12 from the L3
    p.mshr_release_memory = 40;     // M: four and eight chains take 46 and 41 ns a line from memory, one 130 ns
    p.l2_line_interval = 16;        // est.
    p.walks_in_flight = 1;          // est.
    p.to_dsu = 1;                   // M: L3 16..17 ns load-to-use with an L1 TLB miss
    p.bus_read_beat = 16;           // TRM: 128-bit read path
    p.bus_write_beat = 16;          // TRM: 128-bit write path
    p.bus_read_interval_ps = 4000;  // est.
    p.bus_write_interval_ps = 2900; // M: memset 22 GB/s
    p.l1i_next_lines = 1;           // est.
    p.prefetch = {.streams = 4,
                  .confirm = 2,
                  .l1_ahead = 5,
                  .l2_ahead = 0,
                  .l3_ahead = 16,
                  .in_flight = 5,
                  .crosses_pages = false,  // est.: by physical address
                  .l1_descending = false}; // M: copies backwards run at the L3's latency; TRM, the rest est.
    p.write_stream = {.l1_lines = 4, .l2_lines = 16, .l3_lines = 128}; // est.
    return p;
}

CoreMemoryParams cortex_a76_memory() {
    CoreMemoryParams p;
    p.l1i = {64 * 1024, 4, 64};                      // DT
    p.l1d = {64 * 1024, 4, 64};                      // DT
    p.l2 = {512 * 1024, 8, 64, Replacement::random}; // DT; est.: policy not published
    p.itlb_entries = 48;                             // TRM
    p.dtlb_entries = 48;                             // TRM
    p.l2tlb_entries = 1280;                          // TRM
    p.l2tlb_ways = 5;                                // TRM
    p.walk_cache_entries = 64;                       // est.: inside the L2 TLB, size not published
    p.walk_cache_ways = 4;                           // est.
    p.l2_inclusive_of_l1d = true;                    // TRM
    p.l2_hit = 8;                                    // M: 12 load-to-use, of which 4 in the pipeline
    p.l2tlb_hit = 3;                                 // TRM
    p.walk_step = 4;                                 // est.
    p.mshrs = 20;                                    // est. (AnandTech 12785, recalled)
    p.l2_line_interval = 14;                         // M: 3.8 cycles per line with eight chains
    p.walks_in_flight = 4;                           // TRM
    p.to_dsu = 16;                                   // M: L3 18 ns load-to-use with an L1 TLB miss
    p.bus_read_beat = 32;                            // DSU TRM: 256-bit read and write paths of the big cores
    p.bus_write_beat = 32;
    p.bus_read_interval_ps = 3300;  // M: LDP read 18.3 GB/s; eight chains in the L3 3.75 ns per line
    p.bus_write_interval_ps = 2100; // M: memset 29.5 GB/s
    p.l1i_next_lines = 2;           // est.
    p.prefetch = {.streams = 8,
                  .confirm = 2,
                  .l1_ahead = 12,
                  .l2_ahead = 44,
                  .l3_ahead = 0,
                  .in_flight = 96,                    // AnandTech 12785: 46 from the L2, and those to the L1D
                  .crosses_pages = true,              // TRM: by virtual address; the rest est.
                  .beyond_l1_neighbours_only = true}; // M: a walk by seven lines takes 22.6 cycles a step
    p.write_stream = {.l1_lines = 4, .l2_lines = 16, .l3_lines = 128, .buffers = 8}; // est.
    return p;
}

} // namespace rkperf::mem
