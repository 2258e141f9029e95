#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# rk-timeout: 300
"""What users of perf on RK3588 and other big.LITTLE boards have reported: rkperf shows the same (perf_boards.c asks).

docs/user-guide.md, "As on the board", explains the answers.
"""
import os
import shutil
import subprocess
import unittest

import rk

# Device tree of mainline: two PMUs.
MAINLINE = {
    "software": "counts always-ran",
    # A task's event of the generic type belongs to the first PMU, the Cortex-A55's; perf stat: <not counted>.
    "legacy-0": "counts always-ran",
    "legacy-4": "zero never-ran",
    "legacycpu-0": "counts always-ran",
    "legacycpu-4": "counts always-ran",
    "a55-0": "counts always-ran",
    "a55-4": "zero never-ran",
    "a76-0": "zero never-ran",
    "a76-4": "counts always-ran",
    "wrong-cpu": "ENOENT",
    "extended-type": "ENOENT",
    "mixed-group": "EINVAL",
    # 20 and 60 times 10000 instructions; the shares of time add up.
    "migrate": "20 60 1",
    "hw-0": "opens opens",
    "hw-4": "opens ENOENT",      # branches: there is no 0x0C on the Cortex-A76, <not supported>
    "hw-6": "opens opens",       # bus-cycles
    "hw-9": "ENOENT ENOENT",     # ref-cycles
    "cache-100": "ENOENT",       # L1-dcache-stores
    "cache-200": "ENOENT",       # L1-dcache-prefetches
    "cache-10000": "opens",      # L1-dcache-load-misses
    "cache-6": "ENOENT",         # node-loads
    "raw-3f": "zero always-ran", # a number that nobody has
    "raw-11": "counts always-ran",
    "raw-1e": "zero never-ran",  # CHAIN alone
    "group-6": "opens",          # six others and cycles
    "group-7": "EINVAL",
    "long-3": "opens",
    "long-4": "EINVAL",
    "precise": "opens",
    "samples": "40",
    "devices": "0 0 0 0",        # no SPE, no DSU PMU, no DDR PMU
    "user-read": "ILL",
    "taken": "100",
    "breakpoints": "6 4 ENOSPC",
    "pmceid-armv8_cortex_a55/pc_write_retired": "named",
    "pmceid-armv8_cortex_a76/pc_write_retired": "ENOENT",
    "pmceid-armv8_cortex_a76/br_retired": "named",
    "pmceid-armv8_cortex_a55/ld_retired": "named",
    "pmceid-armv8_cortex_a76/ld_retired": "ENOENT",
    "pmceid-armv8_cortex_a55/chain": "ENOENT",
    "pmceid-armv8_cortex_a55/sw_incr": "ENOENT",
    "pmceid-armv8_cortex_a76/l3d_cache_rd": "ENOENT", # above 0x3f: no bit in PMCEID, no name
}
# Rockchip's kernel: one PMU, asked for its events on one CPU and believed for all.
VENDOR = {"legacy-0": "counts always-ran", "legacy-4": "counts always-ran", "hw-4": "opens opens", "samples": "40",
          "group-6": "opens", "group-7": "EINVAL"}


class Boards(rk.Case):
    @classmethod
    def setUpClass(cls):
        cls.cc = os.environ.get("CC_GUEST", "aarch64-linux-gnu-gcc")
        if not shutil.which(cls.cc):
            raise unittest.SkipTest("no cross compiler")

    def setUp(self):
        super().setUp()
        subprocess.run([self.cc, "-std=gnu11", "-O1", "-static", "-o", self.path("perf_boards"),
                        rk.SOURCE / "tests/integration/perf_boards.c"], check=True)

    def ask(self, questions, *options):
        r = self.ok("run", "--quiet", *options, "--", self.path("perf_boards"), *questions)
        return dict(line.split(" ", 1) for line in r.stdout.splitlines())

    def check(self, expected, *options):
        found = self.ask(expected, *options)
        self.assertEqual({q: found.get(q) for q in expected}, expected)

    def test_two_pmus(self):
        self.check(MAINLINE, "--machine", "rk3588-mainline")
        a55, a76, both = map(int, self.ask(["types"], "--machine", "rk3588-mainline")["types"].split())
        self.assertTrue(a55 > 5 and a76 > 5 and a55 != a76 and not both)

    def test_one_pmu_over_all(self):
        self.check(VENDOR)

    def test_user_reads_the_counter(self):
        found = self.ask(["rdpmc"], "--machine", "rk3588-mainline")["rdpmc"]
        # It works on the PMU's own CPUs; on the other cluster the page says that there is no counter.
        self.assertRegex(found, r"^cap=1 index=32 works there=0$")

    def test_one_node_missing(self):
        self.check({"legacy-0": "counts always-ran", "legacycpu-4": "ENOENT", "a55-0": "counts always-ran",
                    "samples": "40"}, "--set", "pmu.shape=a55")
        self.check({"legacy-4": "counts always-ran", "legacy-0": "zero never-ran", "a76-4": "counts always-ran"},
                   "--set", "pmu.shape=a76")

    def test_no_node(self):
        """No PMU: hardware events are ENOENT, software events work."""
        self.check({"software": "counts always-ran", "legacy-0": "ENOENT", "hw-1": "ENOENT ENOENT", "raw-11": "ENOENT"},
                   "--set", "pmu.shape=none")

    def test_no_interrupt(self):
        """A node without interrupts: counting works, sampling is refused."""
        for shape in ("vendor", "mainline"):
            self.check({"legacy-0": "counts always-ran", "samples": "EOPNOTSUPP"}, "--set", f"pmu.shape={shape}", "--set",
                       "pmu.intid=0")
        r = self.ok("run", "--log", "info", "--set", "pmu.intid=0", "--", self.path("perf_boards"), "software")
        self.assertIn("hw perfevents: no irqs for PMU, sampling events not supported", r.stderr)

    def test_shared_interrupts(self):
        """An SPI for each CPU: sampled as with a PPI; the node decides whose each is. [ARMPMU-032] [ARMPMU-038]"""
        spi = ("--set", "pmu.spi=260", "--set", "pmu.interrupts=260,261,262,263,264,265,266,267")
        self.check({"legacy-0": "counts always-ran", "samples": "40"}, *spi)
        r = self.ok("run", "--log", "info", *spi, "--", self.path("perf_boards"), "software")
        self.assertIn("hw perfevents: no interrupt-affinity property, guessing.", r.stderr)
        right, wrong, bad = "0,1,2,3,4,5,6,7", "7,6,5,4,3,2,1,0", "0,1,2,?,4,5,6,7"
        self.check({"samples": "40"}, *spi, "--set", f"pmu.interrupt_affinity={right}")
        self.check({"legacy-0": "counts always-ran", "samples": "0"}, *spi, "--set", f"pmu.interrupt_affinity={wrong}")
        self.check({"legacy-0": "ENOENT", "samples": "ENOENT"}, *spi, "--set", f"pmu.interrupt_affinity={bad}")
        # Some CPUs only: the PMU is for them.
        some = ("--set", "pmu.spi=260", "--set", "pmu.interrupts=264,265", "--set", "pmu.interrupt_affinity=4,5")
        self.check({"legacy-4": "counts always-ran", "legacy-0": "zero never-ran"}, *some)

    def test_mixed_interrupts(self):
        """A PPI among several: no PMU. [ARMPMU-038]"""
        self.check({"legacy-0": "ENOENT", "software": "counts always-ran"}, "--set", "pmu.interrupts=23,260")

    def test_wrong_interrupt(self):
        """The device tree names another interrupt: counting works, and not one sample comes."""
        self.check({"legacy-0": "counts always-ran", "samples": "0"}, "--set", "pmu.intid=22")

    def test_quirks_can_be_switched_off(self):
        self.check({"hw-4": "opens opens", "pmceid-armv8_cortex_a76/pc_write_retired": "named"}, "--machine",
                   "rk3588-mainline", "--set", "quirks.a76_no_pc_write_retired=false")

    def test_stat_shows_it(self):
        """perf stat of the time opens the generic type only: a program on big cores is not counted."""
        r = self.ok("stat", "--machine", "rk3588-mainline", "--cpus", "4", "-e", "cpu-clock,branches", "-e",
                    "armv8_cortex_a55/inst_retired/,armv8_cortex_a76/inst_retired/", "--", rk.workload("exactloop"), "10000")
        text = r.stdout + r.stderr
        self.assertRegex(text, r"<not counted>\s+branches")
        self.assertRegex(text, r"<not counted>\s+armv8_cortex_a55/inst_retired/")
        self.assertRegex(text, r"\d\s+armv8_cortex_a76/inst_retired/")


rk.main("exactloop", "miniperf")
