// SPDX-License-Identifier: Apache-2.0
// What the calibration programs share. Each part prints lines "NAME SIZE VALUE UNIT".
#ifndef CALIBRATE_H
#define CALIBRATE_H

#include <stddef.h>
#include <stdint.h>

enum { LINE = 64, PAGE = 4096 };

// Nanoseconds of the monotonic clock, and those since then without what reading it costs.
double now_ns(void);
double since_ns(double begun);
// Fresh memory in small pages, every page present and zero.
void* fresh_memory(size_t bytes);
// Takes it out of all caches.
void clean_out(const void* memory, size_t bytes);
void report(const char* name, uint64_t size, double value, const char* unit);

// Where a small buffer's pages lie decides how much of it an L2 holds. The figures of boards are medians of several; these
// are medians of buffers in so many places.
enum { PLACES = 3, PLACED = 1 << 20 };
double median(const double values[PLACES]);

// Parts: the arguments after the part's name; give the exit status.
int ramlat(int argc, char** argv);
int random_read(int argc, char** argv);
int bandwidth(int argc, char** argv);
int instructions(int argc, char** argv);
int compute(int argc, char** argv);
int strided_walk(int argc, char** argv);
int core_to_core(int argc, char** argv);

#endif
