#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# rk-timeout: 300
"""Counts are exact to the instruction on both kinds of core, counted or sampled; estimates are close."""
import os
import shutil
import subprocess

import perfdata
import rk

PROGRAM = rk.workload("exactloop")
LITTLE, BIG = "0", "4"


def instructions(n):
    """exactloop N executes so many at EL0; see the header of its source."""
    return 4 * n + 17 + 7 * len(str(n))


class Counting(rk.Case):
    def stat(self, cpu, events, *program):
        r = self.ok("stat", "-x,", "--cpus", cpu, *[x for e in events for x in ("-e", e)], "--", PROGRAM, *program)
        counts = {}
        for line in r.stderr.splitlines():
            cells = line.split(",")
            if len(cells) > 3 and cells[0].isdigit():
                counts[cells[2]] = (int(cells[0]), float(cells[4]))
        return counts, rk.truth_table(r.stderr)

    def test_instructions_are_exact(self):
        for cpu in (LITTLE, BIG):
            with self.subTest(cpu=cpu):
                for n in (1, 1000, 123457):
                    counts, truth = self.stat(cpu, ["instructions:u"], str(n))
                    self.assertEqual(counts["instructions:u"], (instructions(n), 100.0))
                    self.assertEqual(truth["instructions:u"]["error"], "exact")
                # Without argument the program skips the parsing.
                self.assertEqual(self.stat(cpu, ["instructions:u"])[0]["instructions:u"][0], 4 * 2500000 + 11)

    def test_groups_and_more_events_change_nothing(self):
        n = 50000
        for cpu in (LITTLE, BIG):
            for events in (["instructions:u", "cycles:u"], ["{instructions:u,cycles:u}"], ["{cycles:u,instructions:u}"],
                           ["cycles", "{instructions:u,r1b:u,r14:u}", "r11:k"]):
                with self.subTest(cpu=cpu, events=events):
                    counts, truth = self.stat(cpu, events, str(n))
                    self.assertEqual(counts["instructions:u"], (instructions(n), 100.0))
                    for name, row in truth.items():
                        if name.endswith(":u"):
                            self.assertEqual(row["error"], "exact", name)

    def test_a_loop_s_cost_is_its_difference(self):
        """What 1000 more iterations cost is 4000 instructions and, once the loop is warm, a fixed number of cycles."""
        for cpu in (LITTLE, BIG):
            with self.subTest(cpu=cpu):
                at = {n: self.stat(cpu, ["cycles:u,instructions:u"], str(n))[0] for n in (100000, 101000, 102000)}
                steps = [at[b]["cycles:u"][0] - at[a]["cycles:u"][0] for a, b in ((100000, 101000), (101000, 102000))]
                self.assertEqual(steps[0], steps[1])
                self.assertEqual(at[101000]["instructions:u"][0] - at[100000]["instructions:u"][0], 4000)

    def test_multiplexed_estimates(self):
        """Nine events share six counters. The loop is steady, so its estimates are within a percent."""
        events = ["r08:u", "r1b:u", "r14:u", "r03:u", "r10:u", "r04:u", "r16:u", "r01:u", "r11:u"]
        n = 16000000
        for cpu in (LITTLE, BIG):
            with self.subTest(cpu=cpu):
                counts, truth = self.stat(cpu, [",".join(events)], str(n))
                self.assertLess(counts["r08:u"][1], 100.0)
                self.assertAlmostEqual(counts["r08:u"][0] / instructions(n), 1, delta=0.01)
                row = truth["r8 INST_RETIRED:u"]
                self.assertEqual(rk.number(row["truth"]), instructions(n))
                self.assertLess(rk.number(row["count"]), instructions(n))


    def test_a_cpu_that_goes_takes_its_events_along(self):
        """They stay off when it is back, and the truth ends with them, whatever their number and order."""
        cc = os.environ.get("CC_GUEST", "aarch64-linux-gnu-gcc")
        if not shutil.which(cc):
            self.skipTest("no cross compiler")
        subprocess.run([cc, "-O1", "-static", "-o", self.path("offline"), rk.SOURCE / "tests/integration/offline.c"], check=True)
        counts = []
        for events in ("cycles:u,r08:u,r21:u", "r21:u,r08:u,cycles:u", "r08:u"):
            r = self.ok("stat", "-C", "6", "-e", events, "--cpus", "4,6", "--", self.path("offline"), "6", "4")
            for name, row in rk.truth_table(r.stderr).items():
                self.assertEqual(row["error"], "exact", f"{events}: {name} {row}")
            counts.append(rk.number(rk.truth_table(r.stderr)["r8 INST_RETIRED:u"]["count"]))
        r = self.ok("stat", "-C", "4", "-e", "r08:u", "--cpus", "4,6", "--", self.path("offline"), "6", "4")
        once = rk.number(rk.truth_table(r.stderr)["r8 INST_RETIRED:u"]["count"])
        for n in counts:
            self.assertAlmostEqual(n / once, 1, delta=0.05, msg=f"{counts}, and {once} on the other CPU")


class Sampling(rk.Case):
    def record(self, cpu, events, period, n):
        r = self.ok("record", "--cpus", cpu, "-e", events, "-c", str(period), "-o", "X", "--", PROGRAM, str(n))
        return perfdata.PerfData(self.path("X")), rk.truth_table(r.stderr)

    def test_periods_and_remainder_make_the_count(self):
        n, period = 500000, 100000
        for cpu in (LITTLE, BIG):
            with self.subTest(cpu=cpu):
                data, truth = self.record(cpu, "instructions:u", period, n)
                self.assertEqual(data.of_kind(perfdata.THROTTLE) + data.of_kind(perfdata.LOST), [])
                row = truth["instructions:u"]
                self.assertEqual(rk.number(row["count"]), instructions(n))
                self.assertEqual(rk.number(row["truth"]), instructions(n))
                periods = sum(s["period"] for s in data.samples)
                self.assertEqual(periods, rk.number(row["sum of periods"]))
                self.assertEqual(periods, instructions(n) // period * period)

    def test_other_periods(self):
        n = 200000
        for period in (99991, 65536, 2 * n, instructions(n), instructions(n) + 1):
            with self.subTest(period=period):
                data, truth = self.record(BIG, "instructions:u", period, n)
                self.assertEqual(len(data.samples), instructions(n) // period)
                self.assertEqual(rk.number(truth["instructions:u"]["count"]), instructions(n))

    def test_two_events(self):
        """A second event that samples neither loses nor adds anything, in a group or beside it."""
        n, period = 500000, 200000
        for events in ("instructions:u,cycles:u", "{instructions:u,cycles:u}"):
            for cpu in (LITTLE, BIG):
                with self.subTest(cpu=cpu, events=events):
                    _, truth = self.record(cpu, events, period, n)
                    row = truth["instructions:u"]
                    self.assertEqual(rk.number(row["count"]), instructions(n))
                    self.assertEqual(row["truth"], row["count"])
                    if not events.startswith("{"):
                        self.assertEqual(rk.number(row["sum of periods"]), instructions(n) // period * period)

    def test_skid_of_samples(self):
        """The interrupt comes after the wrap, and soon: every sample of the loop lies within it or in the kernel."""
        data, _ = self.record(BIG, "instructions:u", 40000, 500000)
        user = [s["ip"] for s in data.samples if s["misc"] & perfdata.CPU_MODE == perfdata.MODE_USER]
        self.assertGreater(len(user), len(data.samples) - 3)
        self.assertLess(max(user) - min(user), 4 * 4)


rk.main("exactloop")
