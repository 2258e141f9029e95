#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# rk-timeout: 400
"""Breakpoints and watchpoints from the command to the count, and the steps of a hit that explain shows."""
import glob
import os
import struct

import rk


def symbol(program, name):
    """Value of a symbol of a 64-bit ELF file."""
    with open(program, "rb") as f:
        data = f.read()
    shoff, = struct.unpack_from("<Q", data, 40)
    shentsize, shnum = struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, shoff + i * shentsize) for i in range(shnum)]
    for s in sections:
        if s[1] != 2:  # SHT_SYMTAB
            continue
        strings = sections[s[6]][4]
        for at in range(s[4], s[4] + s[5], s[9]):
            st_name, _, _, _, value, _ = struct.unpack_from("<IBBHQQ", data, at)
            end = data.index(b"\0", strings + st_name)
            if data[strings + st_name:end].decode() == name:
                return value
    raise KeyError(name)


class Breakpoints(rk.Case):
    program = rk.workload("breakpoints")

    def test_stat(self):
        leaf, words = symbol(self.program, "turns_leaf"), symbol(self.program, "words")
        events = f"mem:{leaf:#x}:x,mem:{words:#x}/8:w,mem:{words + 512:#x}/8:rw"
        r = self.ok("stat", "-x;", "-e", events, "--", self.program, "500", "none")
        counts = [int(line.split(";")[0]) for line in r.stderr.splitlines() if ";mem:" in line]
        self.assertEqual(counts, [500, 500, 0])

    def test_the_program_itself(self):
        for kind, hits in (("x", 2000), ("w", 2000), ("far", 0), ("none", 0)):
            for cpus in ("0", "4"):
                r = self.ok("run", "--quiet", "--cpus", cpus, "--", self.program, "2000", kind)
                self.assertEqual(r.stdout, f"{kind}: 2000 turns, {hits} hits\n")

    def test_record(self):
        if not rk.perf_command():
            self.skipTest("the host has no perf")
        words = symbol(self.program, "words")
        self.ok("record", "-e", f"mem:{words:#x}/8:w", "-d", "-o", "X", "--", self.program, "40", "none")
        out = self.perf("script", "-i", "X", "-F", "addr,ip,sym")
        self.assertEqual(len(out.splitlines()), 40)
        for line in out.splitlines():
            self.assertIn(f"{words:x}", line)
            self.assertIn("turns", line)

    def test_slots(self):
        words = symbol(self.program, "words")
        events = ",".join(f"mem:{words + 8 * i:#x}/8:w" for i in range(5))
        r = self.rkperf("stat", "-e", events, "--", self.program, "1", "none")
        self.assertNotEqual(r.returncode, 0)
        self.assertIn("no hardware register is left", r.stderr)

    def test_kernel_function(self):
        """A breakpoint on a function of the kernel is hit where it begins."""
        self.ok("record", "-e", "cycles", "-c", "100000", "-o", "X", "--", self.program, "1000", "none")
        names = glob.glob(os.path.join(self.folder, ".debug", "**", "kallsyms"), recursive=True)
        self.assertTrue(names, "record leaves no symbols of the kernel")
        with open(names[0]) as f:
            addresses = {line.split()[2]: int(line.split()[0], 16) for line in f}
        event = f"mem:{addresses['invoke_syscall']:#x}/4:x"
        few, many = (self.ok("stat", "-a", "-x;", "-e", event, "--", rk.workload("syscalls"), n) for n in ("10", "110"))
        calls = [int(line.split(";")[0]) for r in (few, many) for line in r.stderr.splitlines() if ";mem:" in line]
        self.assertEqual(calls[1] - calls[0], 400)  # four calls a round
        # An exception sets PSTATE.D: the functions that handle a breakpoint are not stopped themselves [DBG-015].
        event = f"mem:{addresses['breakpoint_handler']:#x}/4:x"
        r = self.ok("stat", "-a", "-x;", "-e", event, "--", self.program, "50", "x")
        self.assertEqual(r.stdout, "x: 50 turns, 50 hits\n")
        self.assertEqual([line.split(";")[0] for line in r.stderr.splitlines() if ";mem:" in line], ["0"])

    def test_explain(self):
        words = symbol(self.program, "words")
        r = self.ok("explain", "-n", "2", "-e", f"mem:{words:#x}/8:w", "-c", "1", "--", self.program, "10", "none")
        at = -1
        for step in ("a watchpoint matches: exception before the instruction", "overflow of mem:", "room is reserved",
                     "PERF_RECORD_SAMPLE", "back to the program for one instruction", "the step exception",
                     "arms the registers again", "back to the program, which goes on", "a breakpoint: no counter wrapped"):
            found = r.stdout.find(step, at + 1)
            self.assertGreater(found, at, f"'{step}' is missing or out of order in\n{r.stdout}")
            at = found

    def test_explain_uprobe(self):
        """The way of a uprobe's hit, in a slot, and of its return."""
        event = f"uprobe:{self.program}:main"
        for kind, steps in (("", ("BRK in place of the instruction", "uprobe_notify_resume begins", "handle_swbp",
                                  "the consumers' handlers run", "a consumer", "overflow of uprobe/0x0/",
                                  "PERF_RECORD_SAMPLE", "a slot is taken", "back to the program for one instruction",
                                  "the step exception: the copy in the slot", "post-step", "back to the program, which goes on",
                                  "a uprobe: no counter wrapped")),
                            ("%return", ("BRK in place of the instruction", "the return trampoline", "a consumer",
                                         "overflow of uprobe/0x1/", "PERF_RECORD_SAMPLE",
                                         "back to the program, which goes on", "a uprobe: no counter wrapped"))):
            r = self.ok("explain", "-e", event + kind, "--", self.program, "10", "none")
            at = -1
            for step in steps:
                found = r.stdout.find(step, at + 1)
                self.assertGreater(found, at, f"'{step}' is missing or out of order in\n{r.stdout}")
                at = found

    def test_uprobe_events(self):
        """Those of the command line count every call and every return."""
        r = self.ok("stat", "-x;", "-e", f"uprobe:{self.program}:main,uprobe:{self.program}:main%return", "--",
                    self.program, "10", "none")
        counts = [line.split(";")[0] for line in r.stderr.splitlines() if "uprobe:" in line]
        self.assertEqual(counts, ["1", "1"])
        for text, reason in ((f"uprobe:{self.program}:nothing", "has no symbol 'nothing'"),
                             (f"uprobe:{self.program}", "needs PROGRAM:SYMBOL"),
                             ("uprobe:./nowhere:main", "cannot open ./nowhere")):
            r = self.rkperf("stat", "-e", text, "--", self.program, "1", "none")
            self.assertEqual(r.returncode, 2)
            self.assertIn(reason, r.stderr)


rk.main("breakpoints", "syscalls")
