#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# rk-timeout: 300
"""What the main job takes of the host: memory, which has a limit, and time, which is shown only."""
import os
import time

import rk

PEAK_MIB = 300


class Resources(rk.Case):
    def timed(self, *args):
        before, start = os.times(), time.monotonic()
        self.ok(*args)
        after = os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        return time.monotonic() - start, cpu

    def test_the_main_job(self):
        record = ["record", "--quiet", "-e", "cycles", "-c", "10000", "-g", "-o", "X"]
        # A program that ends at once: what it takes to start, sample and write.
        for name, program in (("start to end of a program of 4000 instructions", [rk.workload("exactloop"), "1000"]),
                              ("the main job", [rk.workload("quicksort")])):
            wall, cpu = min(self.timed(*record, "--", *program) for _ in range(3))
            print(f"{name}: {wall:.3f} s, of which {cpu:.3f} s CPU")
        print(f"peak memory: {rk.peak_memory_mib():.1f} MiB")
        self.assertLess(rk.peak_memory_mib(), PEAK_MIB)


rk.main("quicksort", "exactloop")
