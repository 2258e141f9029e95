#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# rk-timeout: 300
"""A user's mistake becomes one clear sentence on standard error and exit status 2, whatever is wrong with the input."""
import os
import pathlib
import shutil
import stat
import struct
import subprocess

import perfdata
import rk

EXACTLOOP, QUICKSORT = rk.workload("exactloop"), rk.workload("quicksort")
NOBODY = 65534
# What no message of a command may hold: traces of a crash or of our own source files.
INTERNAL = ("terminate called", "what():", "Traceback", ".cpp:", "Sanitizer", "core dumped", "SystemC")


class BadInput(rk.Case):
    def refused(self, *args, words=(), lines=1, **kwargs):
        """Gives the standard error of a command that must fail with `lines` sentences that name `words`."""
        r = self.rkperf(*args, timeout=60, **kwargs)
        self.assertEqual(r.returncode, 2, f"{args}: {r.stderr}")
        self.assertEqual(r.stdout or "", "")
        self.assertEqual(len(r.stderr.splitlines()), lines, r.stderr)
        for word in words:
            self.assertIn(word, r.stderr)
        for word in INTERNAL:
            self.assertNotIn(word, r.stderr)
        return r.stderr

    def file(self, name, content, mode=0o755):
        with open(self.path(name), "wb") as f:
            f.write(content)
        os.chmod(self.path(name), mode)
        return "./" + name


class Programs(BadInput):
    def test_files_that_are_no_programs(self):
        elf = pathlib.Path(QUICKSORT).read_bytes()

        def patched(offset, value):
            return elf[:offset] + bytes([value]) + elf[offset + 1:]

        (phoff,) = struct.unpack_from("<Q", elf, 32)
        for name, content, words in (
                ("text", b"hello\n", ["not an ELF file"]),
                ("empty", b"", ["empty"]),
                ("magic", elf[:4], ["cut off"]),
                ("header", elf[:63], ["cut off"]),
                ("headers", elf[:phoff + 60], []),
                ("half", elf[:len(elf) // 2], ["end of the file"]),
                ("elf32", patched(4, 1), ["32-bit"]),
                ("big_endian", patched(5, 2), ["big-endian"]),
                ("arm32", patched(18, 40), ["another architecture"]),
                ("object", patched(16, 1), ["not executable"]),
                ("far", patched(phoff + 16 + 7, 0x7f), []),  # p_vaddr of the first segment
                ("script", b"#!/nowhere/sh\n", ["/nowhere/sh"]),
        ):
            with self.subTest(name=name):
                self.refused("run", "--", self.file(name, content), words=["./" + name, *words])
                self.refused("record", "-o", "X", "--", "./" + name, words=["./" + name, *words])
                self.assertFalse(os.path.exists(self.path("X")))

    def test_what_is_not_there_or_not_allowed(self):
        self.refused("run", "--", "./missing", words=["./missing", "no such file"])
        self.refused("run", "--", "no-such-command", words=["no-such-command", "PATH"])
        self.refused("run", "--", self.folder, words=["folder"])
        self.refused("run", "--", "/bin/true", words=["another architecture"])
        self.refused("run", "--", "", words=["rkperf: "])
        self.refused("run", words=["program"])
        shutil.copy(QUICKSORT, self.path("plain"))
        os.chmod(self.path("plain"), 0o644)
        self.refused("run", "--", "./plain", words=["./plain", "executable"])

    def test_a_file_that_may_not_be_read(self):
        shutil.copy(QUICKSORT, self.path("secret"))
        os.chmod(self.path("secret"), stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
        as_nobody = {}
        if os.getuid() == 0:
            os.chmod(self.folder, 0o755)
            as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
            try:
                subprocess.run([rk.RKPERF, "--version"], check=True, capture_output=True, **as_nobody)
            except (PermissionError, subprocess.CalledProcessError):
                self.skipTest("another user cannot run the command from where it was built")
        self.refused("run", "--", "./secret", words=["./secret", "Permission denied"], **as_nobody)

    def test_damaged_program_headers(self):
        """Whatever a header says, the command refuses it or the guest ends by a signal; it never crashes itself."""
        elf = pathlib.Path(EXACTLOOP).read_bytes()
        state = 1
        for number in range(40):
            damaged = bytearray(elf)
            for _ in range(3):
                state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
                damaged[24 + (state >> 33) % 200] = state >> 56
            name = self.file(f"damaged{number}", bytes(damaged))
            r = self.rkperf("run", "--timeout-sim", "5ms", "--", name, timeout=60)
            self.assertGreaterEqual(r.returncode, 0, f"{name}: ended by signal {-r.returncode}: {r.stderr}")
            for word in INTERNAL:
                self.assertNotIn(word, r.stderr, name)


class Options(BadInput):
    def test_events_periods_and_frequencies(self):
        for command in ("stat", "record"):
            for event in ("nonsense", "cycles:z", "r", "armv8_pmuv3/event=0x11", "{cycles", "", "mem:x:r"):
                self.refused(command, "-e", event, "--", EXACTLOOP, "1000")
            self.refused(command, "--frobnicate", "--", EXACTLOOP, words=["--frobnicate"])
        for period in ("0", "-1", "x", "1e3", "", "9223372036854775808", "99999999999999999999999"):
            self.refused("record", "-c", period, "-o", "X", "--", EXACTLOOP, words=["-c"])
        for frequency in ("0", "-5", "fast"):
            self.refused("record", "-F", frequency, "-o", "X", "--", EXACTLOOP, words=["-F"])
        self.assertFalse(os.path.exists(self.path("X")))

    def test_a_period_of_one_is_throttled_not_endless(self):
        r = self.ok("record", "-e", "cycles", "-c", "1", "-o", "X", "--", EXACTLOOP, "1000")
        self.assertIn("throttled", r.stderr)
        self.assertGreater(len(perfdata.PerfData(self.path("X")).samples), 0)

    def test_the_highest_period_never_overflows(self):
        self.ok("record", "-e", "cycles", "-c", str((1 << 63) - 1), "-o", "X", "--", EXACTLOOP, "1000")
        self.assertEqual(perfdata.PerfData(self.path("X")).samples, [])

    def test_own_options(self):
        for args in (["--cpus", "8"], ["--cpus", "99"], ["--cpus", "-1"], ["--cpus", "4-2"], ["--cpus", "a"], ["--cpus", "0,"],
                     ["--quantum", "0"], ["--quantum", "soon"], ["--timeout-sim", "x"], ["--timeout-sim", "-1s"],
                     ["--seed", "x"], ["--set", "kernel.hz"], ["--set", "=1"], ["--set", "kernel.hz=abc"],
                     ["--set", "kernel.hz=-5"], ["--set", "no.such=1"], ["--set", "cluster.9.hertz=1"],
                     ["--bind", ":"], ["--env", "=x"], ["--machine", "missing.toml"], ["--machine", self.folder],
                     ["--root", "/no/such/folder"], ["--bind", "/no/such/folder"], ["--trace", "/no/such/folder/t"],
                     ["--no-such-option"]):
            with self.subTest(args=args):
                self.refused("run", *args, "--", EXACTLOOP, "10", words=[args[0]] if len(args) == 1 else [args[1]])
        self.refused("sleep", words=["sleep"])
        r = self.rkperf()
        self.assertEqual(r.returncode, 2)

    def test_a_machine_description_with_many_faults(self):
        text = ["kernel.hz = 42", "kernel.color = 'red'", "sim.quantum = 'soon'", "memory.dram_mib = 'much'",
                "[[cluster]]", "core = 'cortex-a99'", "cpus = 400", "hertz = '0Hz'"]
        self.file("m.toml", "\n".join(text).encode())
        err = self.refused("run", "--machine", "m.toml", "--", EXACTLOOP, lines=7)
        for line in (1, 2, 3, 4, 6, 7, 8):
            self.assertIn(f"m.toml:{line}: ", err)
        self.file("broken.toml", b"[[cluster\ncpus = \n")
        self.refused("run", "--machine", "broken.toml", "--", EXACTLOOP, words=["broken.toml:1"])
        self.file("binary.toml", bytes(range(256)))
        self.refused("run", "--machine", "binary.toml", "--", EXACTLOOP, words=["binary.toml"])


class Outputs(BadInput):
    def test_where_a_recording_cannot_be_written(self):
        for output, words in (("/dev/full", "No space left"), ("/no/such/folder/x", "No such file"), (self.folder, "directory")):
            with self.subTest(output=output):
                r = self.rkperf("record", "--quiet", "-e", "cycles", "-c", "10000", "-o", output, "--", EXACTLOOP, "100000")
                self.assertEqual(r.returncode, 2, r.stderr)
                self.assertEqual(len(r.stderr.splitlines()), 1, r.stderr)
                self.assertIn(output, r.stderr)
                self.assertIn(words, r.stderr)

    def test_a_full_disk_keeps_what_was_gathered(self):
        """The limit on the size of files stands for the disk; what was written before it stays readable."""
        def limit():
            import resource
            import signal
            resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        r = self.rkperf("record", "--quiet", "-e", "cycles:u", "-c", "10000", "-g", "-o", "X", "--", QUICKSORT, "100000",
                        preexec_fn=limit)
        self.assertEqual(r.returncode, 2, r.stderr)
        self.assertEqual(len(r.stderr.splitlines()), 1, r.stderr)
        self.assertIn("X", r.stderr)
        self.assertGreater(len(perfdata.PerfData(self.path("X")).samples), 10)

    def test_other_outputs(self):
        self.refused("stat", "--quiet", "-o", "/dev/full", "-e", "cycles", "--", EXACTLOOP, "1000", words=["/dev/full"])
        self.refused("run", "--trace", "/dev/full", "--", EXACTLOOP, "1000", words=["/dev/full"])
        with open("/dev/full", "w", encoding="utf-8") as full:
            self.refused("machine", stdout=full, words=["standard output"])
            self.refused("explain", "-e", "cycles", "-c", "10000", "--", EXACTLOOP, "100000", stdout=full,
                         words=["standard output"])

    def test_nobody_reads_the_output(self):
        """The guest gets EPIPE and SIGPIPE as on Linux; the command itself does not crash."""
        ends = os.pipe()
        os.close(ends[0])
        r = self.rkperf("run", "--", QUICKSORT, "100", stdout=ends[1])
        os.close(ends[1])
        self.assertIn(r.returncode, (1, 128 + 13), r.stderr)
        r = subprocess.run(["bash", "-c", '"$0" run -- "$1" 100 >&- 2>&-', rk.RKPERF, QUICKSORT], cwd=self.folder, check=False)
        self.assertIn(r.returncode, (0, 1, 2))

    def test_an_endless_program(self):
        r = self.rkperf("run", "--timeout-sim", "3ms", "--", EXACTLOOP, "100000000000")
        self.assertEqual(r.returncode, 124)
        self.assertRegex(r.stderr, r"^rkperf: [^\n]*3\.000 ms[^\n]*\n$")
        r = self.rkperf("record", "--quiet", "--timeout-sim", "30ms", "-e", "cycles", "-c", "100000", "-o", "X", "--",
                        EXACTLOOP, "100000000000")
        self.assertEqual(r.returncode, 124)
        self.assertGreater(len(perfdata.PerfData(self.path("X")).samples), 100)


rk.main("exactloop", "quicksort")
