#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# rk-timeout: 300
"""Execution without timing: counts of instructions stay exact, and the change to timing comes where it was asked for."""
import os
import subprocess

import rk


class FastForward(rk.Case):
    def totals(self, *args, event="INST_RETIRED"):
        """(EL0, EL1) of an event, over all cores, and the number of events that were counted at EL0 at all."""
        self.ok("run", "--quiet", "--totals", "T", *args)
        sums, events = [0, 0], set()
        with open(self.path("T")) as f:
            for line in f:
                fields = line.split()
                if len(fields) != 7:
                    continue
                if int(fields[3]):
                    events.add(fields[2])
                if fields[2] == event:
                    sums = [sums[0] + int(fields[3]), sums[1] + int(fields[4])]
        return sums[0], sums[1], events

    def test_instructions_are_exact(self):
        for cpus in ("0", "4"):
            n = 100000
            el0, _, events = self.totals("--timing=none", "--cpus", cpus, "--", rk.workload("exactloop"), str(n))
            timed, _, _ = self.totals("--cpus", cpus, "--", rk.workload("exactloop"), str(n))
            self.assertEqual(el0, timed)
            self.assertNotIn("L1D_CACHE_REFILL", events)
            cycles, _, _ = self.totals("--timing=none", "--cpus", cpus, "--", rk.workload("exactloop"), str(n), event="CPU_CYCLES")
            self.assertEqual(cycles, el0)

    def test_what_retires_does_not_depend_on_timing(self):
        for event in ("INST_RETIRED", "BR_IMMED_RETIRED", "LD_RETIRED", "ST_RETIRED"):
            counts = {t: self.totals(f"--timing={t}", "--cpus", "0", "--", rk.workload("quicksort"), "3000", event=event)[0]
                      for t in ("full", "none")}
            self.assertEqual(counts["full"], counts["none"], event)

    def test_each_load_and_store_is_an_access(self):
        """As with timing, but for those across two lines; an atomic is a store only."""
        for program in (("quicksort", "3000"), ("locks",)):
            count = {}
            for option in ("--timing=full", "--timing=none", "--warm-up=30000"):
                for event in ("MEM_ACCESS", "MEM_ACCESS_RD", "MEM_ACCESS_WR", "LD_RETIRED", "ST_RETIRED"):
                    count[option, event] = self.totals(option, "--cpus", "0", "--", rk.workload(program[0]), *program[1:],
                                                       event=event)[0]
            of = {e: n for (option, e), n in count.items() if option == "--timing=none"}
            self.assertEqual(of["MEM_ACCESS_WR"], of["ST_RETIRED"])
            self.assertEqual(of["MEM_ACCESS"], of["MEM_ACCESS_RD"] + of["MEM_ACCESS_WR"])
            self.assertLessEqual(of["MEM_ACCESS_RD"], of["LD_RETIRED"])
            for event in ("MEM_ACCESS_RD", "MEM_ACCESS_WR"):
                full = count["--timing=full", event]
                self.assertTrue(full * 0.999 < of[event] <= count["--warm-up=30000", event] <= full, f"{program} {count}")

    def test_overflows_are_exact(self):
        """Every sample of instructions:u in a loop of 4 comes at the same distance: the error is that of the last period."""
        r = self.ok("record", "--timing=none", "--cpus", "4", "-e", "instructions:u", "-c", "10000", "-o", "X", "--",
                    rk.workload("exactloop"), "100000")
        row = rk.truth_table(r.stderr)["instructions:u"]
        self.assertEqual(rk.number(row["samples"]), rk.number(row["count"]) // 10000)
        self.assertEqual(row["count"], row["truth"])
        r = self.ok("record", "--timing=none", "--cpus", "4", "-e", "r13:u", "-c", "1000", "-o", "X", "--",
                    rk.workload("quicksort"), "3000")
        row = rk.truth_table(r.stderr)["r13 MEM_ACCESS:u"]
        self.assertEqual(rk.number(row["samples"]), rk.number(row["count"]) // 1000)
        self.assertEqual(row["count"], row["truth"])

    def test_warm_up_ends_at_its_instruction(self):
        n, warm = 50000, 123457
        el0, _, events = self.totals("--warm-up", str(warm), "--cpus", "4", "--", rk.workload("exactloop"), str(n))
        self.assertEqual(el0, self.totals("--cpus", "4", "--", rk.workload("exactloop"), str(n))[0])
        self.assertIn("STALL_BACKEND", events)
        # A warm-up instruction takes one cycle; the loop behind it takes what it takes without warm-up.
        cycles = [self.totals("--warm-up", str(w), "--cpus", "4", "--", rk.workload("exactloop"), str(n), event="CPU_CYCLES")[0]
                  for w in (warm, warm + 4)]
        self.assertLessEqual(abs(cycles[1] - cycles[0]), 8)
        never, _, _ = self.totals("--warm-up", str(10**12), "--cpus", "4", "--", rk.workload("exactloop"), str(n),
                                  event="CPU_CYCLES")
        self.assertEqual(never, el0)

    def test_regions_are_timed(self):
        loops, steps = 6, 20000
        timed = {t: self.totals(f"--timing={t}", "--cpus", "4", "--", rk.workload("regions"), str(loops), str(steps),
                                event="BR_RETIRED")[0] for t in ("full", "regions", "none")}
        self.assertEqual(timed["none"], timed["full"])  # counted at decode
        stalls = {t: self.totals(f"--timing={t}", "--cpus", "4", "--", rk.workload("regions"), str(loops), str(steps),
                                 event="STALL_BACKEND")[0] for t in ("full", "regions", "none")}
        self.assertEqual(stalls["none"], 0)
        # Half of the loops are marked.
        self.assertAlmostEqual(stalls["regions"] / stalls["full"], 0.5, delta=0.1)

    def test_a_longer_run_takes_no_more_memory(self):
        for timing in ("full", "none"):
            peaks = []
            for n in (300000, 3000000):
                command = [rk.RKPERF, "run", "--quiet", f"--timing={timing}", "--cpus", "4", "--", rk.workload("exactloop"), str(n)]
                with subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL) as child:
                    _, status, usage = os.wait4(child.pid, 0)
                    child.returncode = status
                self.assertEqual(status, 0)
                peaks.append(usage.ru_maxrss / 1024)
            self.assertLess(peaks[1] - peaks[0], 2, f"{timing}: {peaks}")
            self.assertLess(peaks[1], 200)


if __name__ == "__main__":
    rk.main("exactloop", "quicksort", "regions", "locks")
