#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tracepoints whose sources a recorded program does not have: they fire here when they should, and say what they should."""
import os
import re
import shutil
import subprocess
import unittest

import rk


class Sources(rk.Case):
    @classmethod
    def setUpClass(cls):
        cls.cc = os.environ.get("CC_GUEST", "aarch64-linux-gnu-gcc")
        if not shutil.which(cls.cc):
            raise unittest.SkipTest("no cross compiler")

    def test_they_fire(self):
        program, data = self.path("tracepoint_sources"), self.path("data")
        subprocess.run([self.cc, "-O1", "-static", "-pthread", "-I", rk.SOURCE, "-o", program,
                        rk.SOURCE / "tests/integration/tracepoint_sources.c"], check=True)
        with open(data, "wb") as f:
            f.write(b"x" * (4 * 4096 + 1))
        out = self.ok("run", "--quiet", "--timeout-sim", "20s", "--", program, data).stdout
        # Both CPUs of the pair, and what the operating points leave of the limit.
        self.assertIn("write 7\nlimits 1200000 1608000 cpu 4\nfrequency 1608000 cpu 4\nfrequency 1608000 cpu 5\n", out)
        begins, ends, spins, sleeps = map(int, re.search(
            r"contended: begins (\d+) ends (\d+) spins (\d+) sleeps (\d+)", out).groups())
        self.assertGreater(ends, 0)
        self.assertEqual((begins, spins, sleeps), (2 * ends, ends, ends))
        for crowd in ("pollers", "readers"):
            with self.subTest(crowd):
                woken, begins, spins, ends = map(int, re.search(
                    crowd + r": woken (\d+) begins (\d+) spins (\d+) ends (\d+)", out).groups())
                self.assertEqual(woken, 40)
                self.assertGreater(spins, 0)
                self.assertEqual((begins, ends), (spins, spins))
        self.assertIn("read 16385, came into the page cache 5, then 0\n", out)


rk.main()
