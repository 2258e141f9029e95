/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks the part of a program that is of interest.
 *
 * `rkperf run --timing=regions` executes a program without timing until rkperf_region_begin() and times what follows up
 * to rkperf_region_end(), as often as they come. Everywhere else the two do nothing: they are HINT instructions that the
 * architecture has not allocated, which every Armv8 core executes as NOP. They order memory accesses of the program, not
 * computations, which a compiler may move across them.
 */
#ifndef RKPERF_REGION_H
#define RKPERF_REGION_H

static inline void rkperf_region_begin(void) { __asm__ volatile("hint #120" ::: "memory"); }
static inline void rkperf_region_end(void) { __asm__ volatile("hint #121" ::: "memory"); }

#endif
