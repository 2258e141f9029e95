#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# rk-timeout: 300
"""Sampling on RK3588 and other big.LITTLE boards, as users have reported it or as it has to be there
(perf_boards_sampling.c asks)."""
import os
import shutil
import subprocess
import unittest

import rk


class Sampling(rk.Case):
    def setUp(self):
        super().setUp()
        cc = os.environ.get("CC_GUEST", "aarch64-linux-gnu-gcc")
        if not shutil.which(cc):
            raise unittest.SkipTest("no cross compiler")
        subprocess.run([cc, "-std=gnu11", "-O1", "-Wall", "-static", "-o", self.path("sampling"),
                        rk.SOURCE / "tests/integration/perf_boards_sampling.c"], check=True)

    def ask(self, question):
        r = self.ok("run", "--quiet", "--", self.path("sampling"), question)
        name, *numbers = r.stdout.split()
        self.assertEqual(name, question)
        return [int(n) for n in numbers]

    def test_a_task_that_changes_its_cpu_takes_the_rest_of_the_period_along(self):
        """rr 2720, 3607: no overflow is lost or doubled by moving between the A76 clusters."""
        samples, periods, moves = self.ask("bounce")
        self.assertGreater(periods, moves / 2)
        self.assertLessEqual(abs(samples - periods), 1)

    def test_a_frequency_settles(self):
        """Asked for 499 a second, a user of an RK1 got them; here 5000, to be short."""
        rate, = self.ask("frequency")
        self.assertAlmostEqual(rate, 5000, delta=500)

    def test_samples_lie_behind_the_load_that_waits(self):
        """Arm's Learning Path top-down-n1 on an RK3588S: every sample is on the instruction after the load."""
        load, behind, elsewhere = self.ask("walk")
        self.assertEqual(load, 0)
        self.assertGreater(behind, 50)
        self.assertLess(elsewhere, behind / 5)

    def test_bus_cycles_and_stalls(self):
        """raspberrypi/firmware 1854: the bus's cycles are the core's; what waits is part of them."""
        for cpu in (0, 4):
            with self.subTest(cpu=cpu):
                cycles, bus, front, back = self.ask(f"stalls-{cpu}")
                self.assertEqual(cycles, bus)
                self.assertGreater(back, cycles / 10)
                self.assertLess(front + back, cycles)


rk.main()
