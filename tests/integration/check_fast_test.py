#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# rk-timeout: 600
"""The fast execution loops give what the plain one gives, in every byte, for every workload: --check-fast."""
import os
import re

import rk

PROGRAMS = [["exactloop", "20000"], ["quicksort", "4000"], ["branchy", "50", "20000"], ["matmul", "20"], ["simd", "15"],
            ["deepstack", "40", "30"], ["syscalls", "60"], ["chase", "512", "20000"], ["phases", "1"], ["pages", "30", "2"],
            ["locks", "3", "200"], ["falseshare", "8", "2", "2000"], ["forktree", "2", "2000"], ["regions", "4", "3000"],
            ["breakpoints", "50", "x"], ["breakpoints", "50", "w"], ["probes", "50", "slot"]]
SAME = re.compile(r"--check-fast: (\d+) results are the same")


class CheckFast(rk.Case):
    def check(self, *args, results=4):
        r = self.ok(*args)
        same = SAME.search(r.stderr)
        self.assertTrue(same, r.stderr)
        self.assertGreaterEqual(int(same.group(1)), results)
        return r

    def test_every_workload(self):
        for program in PROGRAMS:
            for cpus in ("0", "4", "0-7"):
                with self.subTest(program=program, cpus=cpus):
                    self.check("run", "--check-fast", "--cpus", cpus, "--", rk.workload(program[0]), *program[1:])

    def test_counters_that_wrap(self):
        """Cycles, instructions, hits, misses, mispredicts and stalls each make the loops stop in their own way."""
        for event, period in (("cycles", 1009), ("instructions", 997), ("r04", 503), ("r03", 53), ("r10", 31), ("r21", 101),
                              ("r24", 211), ("r13", 401)):
            for cpus in ("0", "4"):
                with self.subTest(event=event, cpus=cpus):
                    self.check("record", "--check-fast", "--cpus", cpus, "-e", event, "-c", str(period), "-g", "-o", "X", "--",
                               rk.workload("quicksort"), "3000", results=5)
                    os.unlink(self.path("X"))

    def test_short_quanta(self):
        """The fast loop hands over to the plain one near each end, behind accesses that end a block as well."""
        for quantum in ("200ns", "1us", "3us"):
            for cpu in ("0", "4"):
                with self.subTest(quantum=quantum, cpu=cpu):
                    self.check("run", "--check-fast", "--quantum", quantum, "--cpus", cpu, "--", rk.workload("matmul"), "20")

    def test_fast_forward(self):
        for timing in (["--timing=none"], ["--timing=regions"], ["--warm-up", "30011"]):
            for program in PROGRAMS:
                with self.subTest(timing=timing, program=program):
                    self.check("run", "--check-fast", *timing, "--cpus", "4", "--", rk.workload(program[0]), *program[1:])

    def test_an_older_file_is_left_as_it_was(self):
        self.ok("record", "-o", "X", "--", rk.workload("exactloop"), "100")
        with open(self.path("X"), "rb") as f:
            old = f.read()
        self.check("record", "--check-fast", "-o", "X", "--", rk.workload("exactloop"), "20000", results=6)
        with open(self.path("X.old"), "rb") as f:
            self.assertEqual(f.read(), old)

    def test_a_run_that_cannot_be_repeated_says_so(self):
        with open(self.path("log"), "w") as f:
            f.write("before\n")
        r = self.rkperf("run", "--check-fast", "--trace", "T", "--", rk.workload("exactloop"), "100")
        self.assertEqual(r.returncode, 2)
        self.assertIn("runs twice", r.stderr)


if __name__ == "__main__":
    rk.main("quicksort", "regions")
