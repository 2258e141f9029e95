#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# rk-timeout: 300
"""Shares and switches of tasks on one CPU, beside those that a real Linux 6.1 gave under an instruction-exact emulator."""
import os
import shutil
import subprocess

import rk

# Of each task: rounds of work, voluntary and involuntary switches.
LINUX = """
busy2 967/0/13 1032/0/13
busy4 479/0/6 479/0/6 497/0/7 542/0/7
nice 2718/0/14 959/0/12 321/0/5
yield 298/0/300 317/0/318 326/0/329
light 90/90/0 1953/0/95
heavy 153/153/1 1073/0/154
idle 79/0/1 1916/0/5
batch 25/25/0 1990/0/26
"""
READER = 368  # wake-ups in 480 samples, on average over when in a tick it starts


def table(text):
    rows = {}
    for line in text.strip().splitlines():
        name, *tasks = line.split()
        rows[name] = [tuple(map(int, t.split("/"))) for t in tasks]
    return rows


class FairScheduling(rk.Case):
    def test_patterns(self):
        cc = os.environ.get("CC_GUEST", "aarch64-linux-gnu-gcc")
        if not shutil.which(cc):
            self.skipTest("no cross compiler")
        program, machine = self.path("fair_scheduling"), self.path("one.toml")
        subprocess.run([cc, "-O1", "-static", "-o", program, rk.SOURCE / "tests/integration/fair_scheduling.c"], check=True)
        with open(machine, "w", encoding="ascii") as f:
            f.write(rk.ONE_CPU)
        found = table(self.ok("run", "--quiet", "--machine", machine, "--", program).stdout)
        self.assertEqual(found.pop("interval"), [(4_000_000,)])
        (woken,), = found.pop("reader")
        self.assertLess(abs(woken - READER), 0.05 * READER)
        linux = table(LINUX)
        self.assertEqual(found.keys(), linux.keys())
        for name, tasks in linux.items():
            for i, (rounds, voluntary, involuntary) in enumerate(tasks):
                with self.subTest(pattern=name, task=i):
                    mine = found[name][i]
                    self.assertLess(abs(mine[0] - rounds), 0.04 * rounds + 1, mine)
                    # Ticks of other work of a real kernel switch now and then.
                    self.assertLess(abs(mine[1] - voluntary), 0.05 * voluntary + 2, mine)
                    self.assertLess(abs(mine[2] - involuntary), 0.05 * involuntary + 4, mine)


rk.main()
