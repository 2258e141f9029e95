#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# rk-timeout: 1500
"""Uprobes on the functions of the shared C library that a program is dynamically linked with (uprobes_libc.c): what it computes
and what its child prints stays the same, on both kinds of core, and a hundred threads' hits are all counted.

RK_LIBC_ROOT names another root file system whose libc.so.6 is to be taken, RK_LIBC_SAMPLE the number of functions that are
probed one at a time (0: every one)."""
import os
import pathlib
import subprocess
import unittest

import rk

CC = os.environ.get("CC_GUEST", "aarch64-linux-gnu-gcc")
EXPECTED = """functions: 1
one at a time: refused few 1, other errors 0, wrong 0, some hit 1
all at once: refused few 1, other errors 0, same 1, child the same 1, many hit 1, afterwards 1
threads: sum 14991000, hits 1000000
"""


def cross_root():
    """The folder that the cross compiler's libraries are to be found in as in a root file system."""
    libc = subprocess.run([CC, "-print-file-name=libc.so.6"], capture_output=True, text=True, check=True).stdout.strip()
    return pathlib.Path(os.path.realpath(libc)).parent.parent


class Library(rk.Case):
    def probed(self, cpus):
        program = self.path("uprobes_libc")
        source = pathlib.Path(__file__).resolve().parent / "uprobes_libc.c"
        subprocess.run([CC, "-std=gnu11", "-O1", "-Wall", "-pthread", "-o", program, source], check=True)
        sample = os.environ.get("RK_LIBC_SAMPLE", "40")
        r = self.rkperf("run", "--quiet", "--root", os.environ.get("RK_LIBC_ROOT") or cross_root(), "--cpus", cpus, "--", program,
                        sample, timeout=700 if sample != "0" else 3000)
        self.assertEqual(r.stdout, EXPECTED, r.stderr)
        self.assertEqual(r.returncode, 0, r.stderr)

    def test_cortex_a55(self):
        self.probed("0-3")

    def test_cortex_a76(self):
        self.probed("4-7")


if __name__ == "__main__":
    unittest.main()
