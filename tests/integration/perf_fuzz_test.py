#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# rk-timeout: 900
"""A program that does at random what can be done with perf events: it ends, nothing is left, and the same seed gives the
same run. In a build with sanitizers it runs under them (scripts/test does that).

PERF_FUZZ_STEPS and PERF_FUZZ_SEEDS make it longer: 100000 steps are some 10^8 instructions of the guest.
"""
import os
import re
import shutil
import subprocess
import unittest

import rk

STEPS = int(os.environ.get("PERF_FUZZ_STEPS", "700"))
SEEDS = int(os.environ.get("PERF_FUZZ_SEEDS", "4"))
MACHINES = ["rk3588", "rk3588-mainline"]
LEFT = "perf has 0 events, 0 contexts, 0 buffers and 0 references to tasks left"
RANDOM = rk.SOURCE / "tests/guest/perf_random"


class Fuzz(rk.Case):
    @classmethod
    def setUpClass(cls):
        cls.cc = os.environ.get("CC_GUEST", "aarch64-linux-gnu-gcc")
        if not shutil.which(cls.cc):
            raise unittest.SkipTest("no cross compiler")

    def run_seed(self, seed):
        program = self.path("perf_fuzz")
        if not os.path.exists(program):
            subprocess.run([self.cc, "-O2", "-static", "-pthread", "-o", program,
                            rk.SOURCE / "tests/integration/perf_fuzz.c"], check=True)
        machine = rk.SOURCE / "machines" / (MACHINES[seed % len(MACHINES)] + ".toml")
        r = self.rkperf("run", "--stats", "--machine", str(machine), "--timeout-sim", "60s", "--", program, str(seed),
                        str(STEPS), timeout=800)
        self.assertEqual(r.returncode, 0, f"seed {seed}: {r.stdout[-500:]}{r.stderr[-3000:]}")
        self.assertNotRegex(r.stderr, r"Sanitizer|runtime error|WARNING")
        return r

    def test_nothing_is_left(self):
        for seed in range(1, SEEDS + 1):
            with self.subTest(seed=seed):
                r = self.run_seed(seed)
                self.assertIn(LEFT, r.stderr)
                opened = re.search(r"^open (\d+) of (\d+)", r.stdout, re.M)
                # Most of what it asks for is possible; else it would test the checks alone.
                self.assertGreater(int(opened.group(1)), int(opened.group(2)) // 4)

    def test_what_linux_answers(self):
        """The same for a program of one CPU whose every result is digested: as on Linux, seed by seed."""
        program = self.path("perf_random")
        subprocess.run([self.cc, "-O1", "-static", "-pthread", "-Wno-unused-result", "-o", program,
                        RANDOM.with_suffix(".c")], check=True)
        r = self.rkperf("run", "--stats", "--cpus", "4-7", "--timeout-sim", "20s", "--", program, "1", str(SEEDS),
                        timeout=800)
        self.assertNotRegex(r.stderr, r"Sanitizer|runtime error|WARNING")
        self.assertIn(LEFT, r.stderr)
        self.assertEqual(r.stdout.splitlines(), RANDOM.with_suffix(".expected").read_text().splitlines()[:SEEDS])

    def test_a_seed_gives_one_run(self):
        self.assertEqual(self.run_seed(1).stdout, self.run_seed(1).stdout)


rk.main()
