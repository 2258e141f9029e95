#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# rk-timeout: 300
"""What the kernel's paths cost in the whole machine, beside a real Linux 6.1 arm64 that was counted by its emulator."""
import os
import shutil
import subprocess

import rk

# Instructions at EL1 of one operation on the real kernel (least of its batches).
MEASURED = {
    "getpid": 520, "no_call": 472, "yield": 1119, "write_null": 835, "mmap_munmap": 13851, "anonymous_fault": 4143,
    "kill_ignored": 1507, "kill_handled": 6623, "ioctl_disable_off": 1255, "ioctl_enable_disable": 5512, "read_off": 1290,
    "read_on": 1636, "sample_ip": 1848, "sample_regs": 5094, "sample_regs_stack": 8249, "sigtrap": 7982,
    "tick": 3431, "breakpoint": 1209, "watchpoint": 1214, "kprobe_getpid": 1613, "kretprobe_getpid": 1857,
    "uprobe_nop": 2402, "uprobe_ret": 1624, "uretprobe": 3700,
}
TOLERANCE = 0.05
SLACK = 25  # the loop around an operation is taken off as a round number


class KernelCosts(rk.Case):
    def test_every_path_costs_what_it_does_on_linux(self):
        cc = os.environ.get("CC_GUEST", "aarch64-linux-gnu-gcc")
        if not shutil.which(cc):
            self.skipTest("no cross compiler")
        program, machine = self.path("kernel_costs"), self.path("one.toml")
        subprocess.run([cc, "-O1", "-static", "-Wl,-z,norelro", "-o", program,
                        rk.SOURCE / "tests/integration/kernel_costs.c"], check=True)
        with open(machine, "w", encoding="ascii") as f:
            f.write(rk.ONE_CPU)
        r = self.ok("run", "--quiet", "--machine", machine, "--", program)
        found = {name: float(value) for name, value in (line.split() for line in r.stdout.splitlines())}
        self.assertEqual(sorted(found), sorted(MEASURED))
        for name, measured in MEASURED.items():
            with self.subTest(name=name):
                self.assertLess(abs(found[name] - measured), TOLERANCE * measured + SLACK, f"{found[name]} for {measured}")


rk.main()
