#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# rk-timeout: 300
"""Clocks: what the machine description, --set cpuN.freq and cpufreq's files make of them, in cycles and in time."""
import os
import shutil
import subprocess
import unittest

import rk

ROUNDS = 100_000
CYCLES = {0: 4, 4: 4}  # of a round: four dependent additions; the A55 issues the rest beside them


class CpuFreq(rk.Case):
    @classmethod
    def setUpClass(cls):
        cls.cc = os.environ.get("CC_GUEST", "aarch64-linux-gnu-gcc")
        if not shutil.which(cls.cc):
            raise unittest.SkipTest("no cross compiler")

    def setUp(self):
        super().setUp()
        subprocess.run([self.cc, "-O1", "-static", "-o", self.path("cpufreq"), rk.SOURCE / "tests/integration/cpufreq.c"],
                       check=True)

    def guest(self, cpu, *args, options=()):
        """The lines of the program: list of (key, value)."""
        r = self.ok("run", "--quiet", *options, "--cpus", str(cpu), "--", self.path("cpufreq"), *args)
        return [tuple(line.split(" ", 1)) for line in r.stdout.splitlines()]

    def judge(self, cpu, timed, mhz):
        """Cycles are the loop's own, time is theirs at that clock, the timer's is its own."""
        values = {k: int(v) for k, v in timed}
        cycles = ROUNDS * CYCLES[cpu]
        self.assertLess(abs(values["cycles"] - cycles), 0.02 * cycles, values)
        self.assertLess(abs(values["ns"] - cycles * 1000 / mhz), 0.03 * cycles * 1000 / mhz, values)
        self.assertLess(abs(values["task_clock"] - values["ns"]), 0.02 * values["ns"] + 8000, values)
        self.assertLess(abs(values["ticks"] - values["ns"] * 24 / 1000), 200, values)

    def test_the_machine_says(self):
        for cpu, mhz in ((0, 1800), (4, 2400)):
            with self.subTest(cpu=cpu):
                self.judge(cpu, self.guest(cpu, "time", str(ROUNDS)), mhz)

    def test_set_on_the_command_line(self):
        self.judge(4, self.guest(4, "time", str(ROUNDS), options=["--set", "cpu4.freq=1.2GHz"]), 1200)
        self.judge(0, self.guest(0, "time", str(ROUNDS), options=["--set", "cpu2.freq=408MHz"]), 408)
        # The other pair of big cores has a clock of its own.
        found = dict(self.guest(6, "show", "policy4/scaling_cur_freq", "show", "policy6/scaling_cur_freq",
                                options=["--set", "cpu5.freq=1.416GHz"]))
        self.assertEqual(found, {"policy4/scaling_cur_freq": "1416000", "policy6/scaling_cur_freq": "2400000"})

    def test_mistakes(self):
        for key, reason in (("cpu9.freq=1GHz", "names no CPU of this machine, which has 8"),
                            ("cpu4.freq=1Hz", "must be between 10MHz and 4GHz"),
                            ("cpu4.frequency=1GHz", "did you mean cpu4.freq?")):
            r = self.rkperf("run", "--set", key, "--", self.path("cpufreq"))
            self.assertEqual(r.returncode, 2)
            self.assertIn(reason, r.stderr)

    def test_userspace_governor(self):
        """The clock changes in the middle of a run; what was counted before stays."""
        out = self.guest(4, "time", str(ROUNDS), "set", "policy4/scaling_governor", "userspace", "show",
                         "policy4/scaling_setspeed", "set", "policy4/scaling_setspeed", "1200000", "show",
                         "policy4/scaling_cur_freq", "time", str(ROUNDS), "set", "policy4/scaling_setspeed", "1500000",
                         "time", str(ROUNDS), "show", "policy4/stats/total_trans")
        self.judge(4, out[0:4], 2400)
        self.assertEqual(out[4:8], [("set", "ok"), ("policy4/scaling_setspeed", "2400000"), ("set", "ok"),
                                    ("policy4/scaling_cur_freq", "1200000")])
        self.judge(4, out[8:12], 1200)
        self.assertEqual(out[12], ("set", "ok"))
        self.judge(4, out[13:17], 1608)  # the next operating point above
        self.assertEqual(out[17], ("policy4/stats/total_trans", "2"))

    def test_from_another_cpu(self):
        """CPU 0's clock is set by a program on CPU 4: this one's own stays."""
        out = self.guest(4, "set", "policy0/scaling_governor", "powersave", "show", "policy0/scaling_cur_freq", "time",
                         str(ROUNDS))
        self.assertEqual(out[:2], [("set", "ok"), ("policy0/scaling_cur_freq", "1008000")])
        self.judge(4, out[2:], 2400)

    def test_limits(self):
        out = self.guest(4, "set", "policy6/scaling_max_freq", "1800000", "show", "policy6/scaling_cur_freq",
                         "set", "policy6/scaling_min_freq", "3000000", "show", "policy6/scaling_min_freq",
                         "set", "policy6/scaling_max_freq", "fast", "set", "policy6/scaling_governor", "schedutil",
                         "set", "policy6/scaling_setspeed", "1200000", "show", "policy6/scaling_setspeed")
        self.assertEqual(out, [("set", "ok"), ("policy6/scaling_cur_freq", "1800000"), ("set", "ok"),
                               ("policy6/scaling_min_freq", "1800000"), ("set", "EINVAL"), ("set", "EINVAL"),
                               ("set", "EINVAL"), ("policy6/scaling_setspeed", "<unsupported>")])

    def test_the_files(self):
        names = ["affected_cpus", "related_cpus", "scaling_available_frequencies", "scaling_available_governors",
                 "scaling_governor", "scaling_driver", "cpuinfo_min_freq", "cpuinfo_max_freq", "cpuinfo_transition_latency"]
        ask = [x for p in ("policy0", "policy4") for n in names for x in ("show", f"{p}/{n}")]
        found = {k: v.strip() for k, v in self.guest(0, *ask)}
        a76 = "1200000 1416000 1608000 1800000 2016000 2208000 2400000"
        self.assertEqual([found[f"policy4/{n}"] for n in names],
                         ["4 5", "4 5", a76, "performance powersave userspace", "performance", "scmi", "1200000", "2400000",
                          "40000"])
        self.assertEqual([found[f"policy0/{n}"] for n in names[:3]],
                         ["0 1 2 3", "0 1 2 3", "1008000 1200000 1416000 1608000 1800000"])


rk.main()
