#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# rk-timeout: 300
"""Kernel code has a footprint: after a system call the user's next instructions find their lines and pages gone."""
import os
import shutil
import subprocess
import unittest

import rk

ROUNDS = 104
# What fills the structure but for the little that the program itself needs: places, bytes between them.
REFILLS = {0: {"01 L1I_CACHE_REFILL": (496, 64), "03 L1D_CACHE_REFILL": (508, 64), "02 L1I_TLB_REFILL": (13, 4096),
               "05 L1D_TLB_REFILL": (10, 4096)},
           4: {"01 L1I_CACHE_REFILL": (1008, 64), "03 L1D_CACHE_REFILL": (1020, 64), "02 L1I_TLB_REFILL": (46, 4096),
               "05 L1D_TLB_REFILL": (42, 4096)}}


class Pollution(rk.Case):
    @classmethod
    def setUpClass(cls):
        cls.cc = os.environ.get("CC_GUEST", "aarch64-linux-gnu-gcc")
        if not shutil.which(cls.cc):
            raise unittest.SkipTest("no cross compiler")

    def count(self, cpu, event, calls, places, step):
        r = self.ok("run", "--quiet", "--cpus", str(cpu), "--", self.path("pollution"), event, str(ROUNDS), str(calls),
                    str(places), str(step))
        return int(r.stdout) / (ROUNDS - 4)

    def test_a_system_call_in_between(self):
        subprocess.run([self.cc, "-O1", "-static", "-o", self.path("pollution"), rk.SOURCE / "tests/integration/pollution.c"],
                       check=True)
        for cpu, events in REFILLS.items():
            for event, (places, step) in events.items():
                with self.subTest(cpu=cpu, event=event):
                    without, with_calls = (self.count(cpu, event[:2], calls, places, step) for calls in (0, 3))
                    print(f"  cpu{cpu} {event}: {without:.2f} a round without, {with_calls:.2f} with system calls")
                    self.assertGreater(with_calls, without + 0.5)


rk.main()
