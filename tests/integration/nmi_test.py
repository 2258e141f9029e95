#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# rk-timeout: 600
"""irqchip.pseudo_nmi: the PMU's interrupt comes where the kernel has masked interrupts, also in the middle of what it
writes then, and nothing else changes. [ARMPMU-032] [RB-078]"""
import re
import shutil
import subprocess
import unittest
import os

import rk

NMI = ["--set", "irqchip.pseudo_nmi=true"]


class Nmi(rk.Case):
    def build(self, source):
        cc = os.environ.get("CC_GUEST", "aarch64-linux-gnu-gcc")
        if not shutil.which(cc):
            self.skipTest("no cross compiler")
        program = self.path(os.path.splitext(os.path.basename(source))[0])
        subprocess.run([cc, "-O1", "-std=gnu11", "-Wno-unused-result", "-static", "-pthread", "-o", program,
                        rk.SOURCE / source], check=True)
        return program

    def run_program(self, *options):
        r = self.ok("run", "--timeout-sim", "20s", *options, "--", self.build("tests/integration/nmi.c"))
        found = re.fullmatch(r"switches 1 samples 1 masked (\d+) lost 0 torn 0\n", r.stdout)
        self.assertTrue(found, r.stdout)
        return int(found.group(1))

    def test_samples_where_interrupts_are_masked(self):
        for cpus in ("0-3", "4-7"):
            with self.subTest(cpus=cpus):
                self.assertEqual(self.run_program("--cpus", cpus), 0)
                self.assertGreater(self.run_program("--cpus", cpus, *NMI), 20)

    def test_the_description_says_so(self):
        self.assertIn("pseudo_nmi = true", self.ok("machine", *NMI).stdout)
        self.assertIn("pseudo_nmi = false", self.ok("machine").stdout)

    def test_what_nests_is_whole(self):
        program = self.build("tests/guest/perf_nest.c")
        expected = (rk.SOURCE / "tests/guest/perf_nest.expected").read_text()
        self.assertEqual(self.ok("run", "--quiet", "--timeout-sim", "20s", *NMI, "--", program).stdout, expected)


rk.main()
