#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# rk-timeout: 300
"""Ctrl-C in the middle of an endless program: what was measured until then is reported and readable."""
import os
import signal
import subprocess
import time

import perfdata
import rk

ENDLESS = [rk.workload("exactloop"), "100000000000000"]


# Host CPU time after which the program surely runs, however busy the host is.
RUNNING_S = 1.0


def cpu_time(pid):
    """User and system time of a process, in seconds."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Interrupt(rk.Case):
    def interrupted(self, *args, signo=signal.SIGINT, ready=None, times=1):
        """Sends a signal once the file `ready` has something in it; gives the status and standard error."""
        with subprocess.Popen([rk.RKPERF, *args], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, env={**os.environ, "HOME": self.folder}) as child:
            deadline = time.monotonic() + 120
            while (cpu_time(child.pid) < RUNNING_S or
                   ready and not (os.path.exists(self.path(ready)) and os.path.getsize(self.path(ready)))):
                self.assertIsNone(child.poll(), "it ended by itself")
                self.assertLess(time.monotonic(), deadline, f"not running, or no {ready}")
                time.sleep(0.05)
            for _ in range(times):
                child.send_signal(signo)
                time.sleep(0.2)
            _, err = child.communicate(timeout=120)
        return child.returncode, err

    def test_a_recording(self):
        for signo in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signo=signo):
                status, err = self.interrupted("record", "-e", "cycles", "-c", "1000000", "-g", "-o", "X", "--", *ENDLESS,
                                               ready="X", signo=signo)
                self.assertEqual(status, 130, err)
                self.assertIn("Captured and wrote", err)
                data = perfdata.PerfData(self.path("X"))
                self.assertGreater(len(data.samples), 10)
                row = rk.truth_table(err)["cycles"]
                self.assertEqual(rk.number(row["samples"]), len(data.samples))
                if rk.perf_command():
                    self.assertIn("exact_begin", self.perf("report", "--stdio", "-i", "X"))
                os.unlink(self.path("X"))

    def test_a_count(self):
        status, err = self.interrupted("stat", "-e", "instructions:u", "--", *ENDLESS)
        self.assertEqual(status, 130, err)
        row = rk.truth_table(err)["instructions:u"]
        self.assertGreater(rk.number(row["count"]), 1000)
        self.assertEqual(row["error"], "exact")

    def test_impatience(self):
        """Who presses it three times does not wait for anything."""
        status, _ = self.interrupted("run", "--", *ENDLESS, times=3)
        self.assertIn(status, (130, -signal.SIGINT))


rk.main("exactloop")
