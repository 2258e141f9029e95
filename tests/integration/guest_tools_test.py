#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# rk-timeout: 1200
"""The real strace, gdb and gdbserver of arm64 Debian, run inside. Skipped unless RK_GUEST_TOOLS names the folder that
scripts/guest-tools has made."""
import os
import pathlib
import re
import shutil
import subprocess
import unittest

import rk

ROOT = os.environ.get("RK_GUEST_TOOLS", "")
PROGRAM = """
#include <stdio.h>
int total;
int work(int* p, int n) { int s = 0; for (int i = 0; i < n; ++i) { s += *p * i; total = s; } return s; }
int fact(int n) { if (n <= 1) return 1; return n * fact(n - 1); }
int main(int argc, char** argv) {
    int three = 3;
    printf("hello %d\\n", argc);
    int r = work(&three, 4), f = fact(5);
    printf("r %d f %d\\n", r, f);
    for (int i = 1; i < argc; ++i) puts(argv[i]);
    return 3;
}
"""


class Tools(rk.Case):
    def setUp(self):
        super().setUp()
        source = pathlib.Path(self.path("t.c"))
        source.write_text(PROGRAM)
        cc = os.environ.get("CC_GUEST", "aarch64-linux-gnu-gcc")
        subprocess.run([cc, "-g", "-O0", "-o", self.path("t"), source], check=True)

    def inside(self, *command):
        r = self.rkperf("run", "--quiet", "--root", ROOT, "--bind", self.folder + ":/mnt:ro", "--", *command, timeout=1000)
        return r.stdout + r.stderr

    def in_order(self, text, *patterns):
        at = 0
        for p in patterns:
            m = re.compile(p, re.M).search(text, at)
            self.assertTrue(m, f"no {p!r} after\n{text[:at]}\nin\n{text[at:]}")
            at = m.end()

    def test_strace(self):
        self.in_order(self.inside("/usr/bin/strace", "/mnt/t", "a"), r'^execve\("/mnt/t", \["/mnt/t", "a"\]',
                      r"^openat\(.*libc\.so\.6.*= 3$", r"^mmap\(", r'^write\(1, "hello 2', r"^exit_group\(3\) ", r"exited with 3")

    def test_strace_filters_with_seccomp(self):
        text = self.inside("/usr/bin/strace", "--seccomp-bpf", "-f", "-e", "trace=write,clone", "/bin/sh", "-c",
                           "/bin/echo hi; /bin/echo ho")
        self.in_order(text, r"clone\(", r'write\(1, "hi', r"exited with 0", r'write\(1, "ho', r"exited with 0")
        self.assertNotIn("openat", text)

    def test_gdb(self):
        commands = ["break work", "run", "bt", "watch total", "c", "c", "hbreak fact", "delete 2", "c", "bt", "print n", "stepi",
                    "delete 3", "finish", "delete", "c"]
        text = self.inside("/usr/bin/gdb", "-nx", "-batch", *(x for c in commands for x in ("-ex", c)), "/mnt/t")
        self.in_order(text, r"^Breakpoint 1, work \(p=0x[0-9a-f]+, n=4\)", r"^#1 .* in main \(argc=1",
                      r"Old value = 0\nNew value = 3", r"Old value = 3\nNew value = 9", r"^Hardware assisted breakpoint 3",
                      r"^Breakpoint 3, .*fact \(n=5\)", r"^#0  .*fact \(n=5\)", r"^\$1 = 5", r"Value returned is \$2 = 120",
                      r"r 18 f 120", r"exited with code 03")

    @unittest.skipUnless(shutil.which("gdb-multiarch"), "no gdb-multiarch on the host")
    def test_gdbserver(self):
        server = f"{rk.RKPERF} run --quiet --root {ROOT} --bind {self.folder}:/mnt:ro -- /usr/bin/gdbserver --once - /mnt/t x"
        commands = [f"set sysroot {ROOT}", "set remotetimeout 300", f"target remote | {server}", "break fact if n == 2", "c", "bt",
                    "hbreak puts", "c", "watch total", "info breakpoints", "delete", "c"]
        done = subprocess.run(["gdb-multiarch", "-nx", "-batch", *(x for c in commands for x in ("-ex", c)), self.path("t")],
                              capture_output=True, text=True, timeout=1000, check=False)
        self.in_order(done.stdout + done.stderr, r"fact \(n=2\)", r"^#4 .* in main \(argc=2", r"^Hardware assisted breakpoint 2",
                      r"^Breakpoint 2, .* puts", r"hw watchpoint", r"exited with code 03")


if __name__ == "__main__":
    if not ROOT:
        print("guest_tools_test: RK_GUEST_TOOLS is not set")
        raise SystemExit(rk.SKIPPED)
    unittest.main()
