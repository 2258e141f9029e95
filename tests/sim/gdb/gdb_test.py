#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# rk-timeout: 600
"""The real gdb-multiarch on `rkperf run --gdb`: over a Unix socket, TCP and a pipe."""
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

RKPERF = os.path.abspath(os.environ.get("RKPERF", "build/rkperf"))
HERE = pathlib.Path(__file__).resolve().parent
CC = os.environ.get("CC_GUEST", "aarch64-linux-gnu-gcc")
GDB = shutil.which("gdb-multiarch")
SKIPPED = 77


class Stub(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="rkperf-gdb-")
        cls.program = os.path.join(cls.folder, "guest")
        subprocess.run([CC, "-O1", "-g", "-static", "-o", cls.program, str(HERE / "gdb_guest.c")], check=True)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def start(self, where, *options):
        run = subprocess.Popen([RKPERF, "run", "--quiet", "--gdb", where, *options, "--", self.program], cwd=self.folder,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(run.kill)
        line = run.stderr.readline()
        match = re.fullmatch(r"rkperf: gdb: target remote (\S+)\n", line)
        self.assertTrue(match, line + (run.stderr.read() if not match else ""))
        return run, match[1]

    def gdb(self, address, *commands, program=None):
        args = [GDB, "-nx", "-batch", "-ex", "set confirm off", "-ex", "set architecture aarch64", "-ex",
                f"target remote {address}"]
        for c in commands:
            args += ["-ex", c]
        done = subprocess.run([*args, program or self.program], capture_output=True, text=True, timeout=200, check=False)
        return done.stdout + done.stderr

    def session(self, *commands, options=()):
        """Output of gdb, and of the program; the run ends as the program does."""
        run, address = self.start("unix:" + os.path.join(self.folder, "socket"), *options)
        text = self.gdb(address, *commands)
        out, errors = run.communicate(timeout=200)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "socket")))
        return text, out, run.returncode, errors

    def test_breakpoints_steps_and_the_end(self):
        text, out, status, errors = self.session(
            "break work", "continue", "print n", "hbreak tick", "continue", "print n", "finish", "delete", "stepi",
            "print/x $cpsr & 15", "continue")
        self.assertIn("hit Breakpoint 1, work (n=n@entry=100)", text)
        self.assertIn("$1 = 100", text)
        self.assertIn("hit Breakpoint 2, tick (n=n@entry=1)", text)
        self.assertIn("exited with code 03", text)
        self.assertEqual(out, "before 274250\n")
        self.assertTrue(out.startswith("before "), out)
        self.assertEqual(status, 3, errors)

    def test_watchpoint_stops_after_the_write(self):
        text, _, status, _ = self.session("watch counter", "continue", "continue", "delete", "continue")
        self.assertIn("Old value = 0\nNew value = 1", text)
        self.assertIn("Old value = 1\nNew value = 2", text)
        self.assertEqual(status, 3)

    def test_watchpoint_where_nothing_is(self):
        # tum-ei-eda/etiss#21: the stub refused it.
        text, _, status, _ = self.session("watch *0x0", "watch counter", "continue", "delete 2", "continue")
        self.assertNotIn("Could not insert", text)
        self.assertIn("Hardware watchpoint 2: counter", text)
        self.assertIn("Old value = 0\nNew value = 1", text)
        self.assertIn("exited with code 03", text)
        self.assertEqual(status, 3)

    def test_read_and_access_watchpoints(self):
        text, _, _, _ = self.session("rwatch message[0]", "continue", "delete", "kill")
        self.assertIn("read watchpoint", text)
        self.assertIn("Value = 98 'b'", text)

    def test_memory_and_registers_are_written(self):
        text, out, status, _ = self.session(
            "break tick", "continue", 'set var message = "after"', "print message", "set var $x0 = 77", "finish",
            "print counter", "delete", "print $v0", "print $tpidr != 0", "print $currentel", "continue")
        self.assertIn('$1 = "after"', text)
        self.assertIn("$2 = 77", text)
        self.assertRegex(text, r"\$3 = \{d = \{f = ")
        self.assertIn("$4 = 1", text)
        self.assertIn("$5 = 0", text)
        self.assertTrue(out.startswith("after "), out)
        self.assertEqual(status, 3)

    def test_gdb_finds_program_and_libraries_by_itself(self):
        # No file on gdb's command line, a position-independent program, a library that only the machine knows.
        program = os.path.join(self.folder, "dynamic")
        subprocess.run([CC, "-O1", "-g", "-o", program, str(HERE / "gdb_guest.c")], check=True)
        # Asked of the compiler, because the cross libraries may lie anywhere.
        libc = subprocess.run([CC, "-print-file-name=libc.so.6"], capture_output=True, text=True, check=True).stdout.strip()
        root = pathlib.Path(os.path.realpath(libc)).parent.parent
        args = [GDB, "-nx", "-batch", "-ex", "set confirm off", "-ex",
                f"target remote | {RKPERF} run --quiet --gdb stdio --root {root} -- {program}"]
        for c in ("break tick", "continue", "bt", "info sharedlibrary", "delete", "break puts", "break printf", "continue",
                  "bt 1", "kill"):
            args += ["-ex", c]
        done = subprocess.run(args, capture_output=True, text=True, timeout=200, check=False)
        text = done.stdout + done.stderr
        self.assertRegex(text, r"hit Breakpoint 1, tick \(n=n@entry=1\) at .*gdb_guest.c:\d+")
        self.assertRegex(text, r"#1 .* main \(\) at ")
        self.assertRegex(text, r"0x\w+ +0x\w+ +Yes.*libc.so.6")
        self.assertRegex(text, r"hit Breakpoint 3.* printf \(\) from .*libc.so.6")

    def test_pages_that_are_not_there_yet(self):
        source = os.path.join(self.folder, "pages.c")
        pathlib.Path(source).write_text('''
            #include <fcntl.h>
            #include <stdio.h>
            #include <sys/mman.h>
            #include <unistd.h>
            const volatile char untouched[20000] = {[15000] = 42};
            volatile char zeros[20000];
            char *file, *copy, *readonly;
            __attribute__((noinline)) void ready(void) { __asm__ volatile(""); }
            int main(void) {
                int fd = open("shared", O_RDWR | O_CREAT | O_TRUNC, 0600);
                write(fd, "file", 4);
                file = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
                copy = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
                readonly = mmap(0, 4096, PROT_READ, MAP_SHARED, open("shared", O_RDONLY), 0);
                ready();
                char now[5] = {0};
                pread(fd, now, 4, 0);
                printf("%d %d %s %s %s\\n", untouched[15000], zeros[15000], now, file, copy);
                return 0;
            }''')
        program = os.path.join(self.folder, "pages")
        subprocess.run([CC, "-O1", "-g", "-static", "-o", program, source], check=True, stderr=subprocess.DEVNULL)
        looks = ["break ready", "continue", "print (int)untouched[15000]", "print (int)zeros[15000]", "print *copy@4",
                 "print *file@4"]
        writes = ["set var zeros[15000] = 7", "set var file[0] = 'F'", "set var copy[1] = 'I'",
                  "set var *(char*)(untouched+15000) = 43", "set var readonly[0] = 'x'", "print (int)untouched[15000]"]
        def run(*commands):
            pathlib.Path(self.folder, "shared").unlink(missing_ok=True)
            args = [GDB, "-nx", "-batch", "-ex", "set confirm off", "-ex", "set trust-readonly-sections off", "-ex",
                    f"target remote | {RKPERF} run --quiet --gdb stdio -- {program}"]
            for c in (*commands, "delete", "continue"):
                args += ["-ex", c]
            done = subprocess.run([*args, program], cwd=self.folder, capture_output=True, text=True, timeout=200, check=False)
            return done.stdout + done.stderr
        end = ["delete", "break _exit", "continue", "monitor time"]
        text = run(*looks, *end)
        for line in ("$1 = 42", "$2 = 0", '$3 = "file"', '$4 = "file"', "42 0 file file file"):
            self.assertIn(line, text)
        def time_of(output):
            return re.search(r"SystemC time.*instructions.*", output, re.S)[0]
        self.assertEqual(time_of(text), time_of(run("break ready", "continue", *end)))  # a look leaves no trace
        text = run(*looks, *writes)
        self.assertIn("$5 = 43", text)
        self.assertIn("Cannot access memory", text)  # the file that was opened for reading
        self.assertIn("43 7 File File FIle", text)  # the copy was made of the changed file

    def test_cpus_are_threads(self):
        text, _, _, _ = self.session("break work", "continue", "info threads", "thread 1", "info registers pc", "kill",
                                     options=("--cpus", "6"))
        self.assertRegex(text, r"\* 7 .*Cortex-A76, guest\[\d+\]")
        self.assertEqual(len(re.findall(r"^[* ] \d+ ", text, re.M)), 8, text)
        self.assertRegex(text, r"Cortex-A55, idle")

    def test_scheduler_locking(self):
        # CPU 4 is thread 5. What is held neither counts on nor loses anything.
        program = os.path.join(self.folder, "two")
        subprocess.run([CC, "-O1", "-g", "-static", "-pthread", "-o", program, str(HERE / "gdb_two.c")], check=True)
        run = subprocess.Popen([RKPERF, "run", "--quiet", "--quantum", "200ns", "--gdb", "unix:" + program + ".socket", "--",
                                program], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(run.kill)
        run.stderr.readline()
        show = r'printf "{}: mine %d others %d\n", mine, others'.format
        text = self.gdb(program + ".socket", "break turn", "continue", "info threads", "delete", "set scheduler-locking on", show("held"),
                        "stepi 100", show("after steps"), "tbreak turn", "continue", "tbreak turn", "continue", show("after continue"),
                        "set scheduler-locking step", "stepi", show("after a step"), "set scheduler-locking off",
                        "tbreak turn", "continue", show("free"), "continue", program=program)
        out, errors = run.communicate(timeout=200)
        seen = {m[1]: (int(m[2]), int(m[3])) for m in re.finditer(r"^([a-z ]+): mine (\d+) others (\d+)$", text, re.M)}
        self.assertEqual(len(seen), 5, text + errors)
        self.assertRegex(text, r"\* 5 ")
        others = seen["held"][1]
        self.assertGreaterEqual(others, 1000)
        for name in ("after steps", "after continue", "after a step"):
            self.assertEqual(seen[name][1], others, text)
        self.assertGreater(seen["after steps"][0], seen["held"][0])
        self.assertEqual(seen["after continue"][0], 2000)
        self.assertGreater(seen["free"][1], others, text)
        self.assertEqual(out, "40000, the other too\n")
        self.assertEqual(run.returncode, 0, errors)

    def test_monitor_commands(self):
        text, _, _, _ = self.session("break work", "continue", "monitor help", "monitor time", "monitor pmu 4",
                                     "monitor contexts", "monitor rings", "monitor tasks", "monitor pmu 9", "monitor no", "kill")
        for words in ("contexts   perf contexts", "SystemC time", "CPU 4: PMCR", "no events", "no ring buffers",
                      "guest ", 'there is no CPU "9"', '"no" is no command'):
            self.assertIn(words, text)

    def test_a_debugger_changes_nothing_but_what_it_is_told_to(self):
        # The simulated time at the end is the same with a debugger that only looks.
        plain = subprocess.run([RKPERF, "run", "--stats", "--", self.program], cwd=self.folder, capture_output=True,
                               text=True, check=False)
        _, _, status, errors = self.session("break work", "continue", "continue", "watch counter", "continue", "delete",
                                            "continue", options=("--stats",))
        self.assertEqual(status, 3)

        def figures(text):
            return re.search(r"rkperf: (.* instructions .* simulated)", text)[1]
        self.assertEqual(figures(plain.stderr), figures(errors))

    def test_interrupt(self):
        source = os.path.join(self.folder, "spin.c")
        pathlib.Path(source).write_text("int main(void) { for (volatile long i = 0;; i++) {} }\n")
        spin = os.path.join(self.folder, "spin")
        subprocess.run([CC, "-O1", "-g", "-static", "-o", spin, source], check=True)
        run = subprocess.Popen([RKPERF, "run", "--quiet", "--gdb", "0", "--", spin], cwd=self.folder,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(run.kill)
        address = run.stderr.readline().split()[-1]
        self.assertTrue(address.startswith("127.0.0.1:"), address)
        gdb = subprocess.Popen([GDB, "-nx", "-q", spin], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
        self.addCleanup(gdb.kill)
        gdb.stdin.write(f"set confirm off\ntarget remote {address}\ncontinue\n")
        gdb.stdin.flush()
        time.sleep(4)
        gdb.send_signal(signal.SIGINT)
        gdb.stdin.write("print i > 0\nkill\nquit\n")
        gdb.stdin.flush()
        out, _ = gdb.communicate(timeout=200)
        self.assertIn("received signal SIGINT", out)
        self.assertIn("$1 = 1", out)
        run.wait(timeout=100)

    def test_pipe(self):
        text = self.gdb(f"| {RKPERF} run --quiet --gdb stdio -- {self.program}", "break tick", "continue", "print n",
                        "delete", "continue")
        self.assertIn("$1 = 1", text)
        self.assertIn("exited with code 03", text)

    def test_bad_debuggers(self):
        run, address = self.start("unix:" + os.path.join(self.folder, "socket"))
        s = socket.socket(socket.AF_UNIX)
        s.connect(address)
        s.sendall(b"$m0,ffffffffffffffff#00$$$#zz\x03+-$vCont;s:99#00" + bytes(range(256)) * 20 + b"$?#3f")
        s.settimeout(60)
        got = b""
        while b"T05thread" not in got:
            part = s.recv(4096)
            self.assertTrue(part, got)
            got += part
        s.close()  # goes without a word: the run goes on
        out, _ = run.communicate(timeout=200)
        self.assertTrue(out.startswith("before "), out)
        self.assertEqual(run.returncode, 3)

    def test_bad_addresses(self):
        for where, words in (("nonsense", "no port"), ("70000", "no port"), ("unix:", "path"),
                             ("unix:/nowhere/at/all", "No such file")):
            r = subprocess.run([RKPERF, "run", "--gdb", where, "--", self.program], capture_output=True, text=True, check=False)
            self.assertEqual(r.returncode, 2, r.stderr)
            self.assertIn(words, r.stderr)
            self.assertEqual(r.stderr.count("\n"), 1)
        r = subprocess.run([RKPERF, "stat", "--gdb", "0", "--", self.program], capture_output=True, text=True, check=False)
        self.assertEqual(r.returncode, 2)


if __name__ == "__main__":
    if not GDB or not shutil.which(CC):
        print("no gdb-multiarch or no cross compiler")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
