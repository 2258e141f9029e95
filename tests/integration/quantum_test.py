#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# rk-timeout: 300
"""How far a core runs ahead of the others changes nothing for a task that is alone: interrupts of a core's own PMU and
timer come at the same instruction for every quantum."""
import rk

QUANTA = ("100ns", "1us", "10us", "100us")
STAT_EVENTS = "cycles,instructions,branch-misses,L1-dcache-load-misses,page-faults,context-switches"


class Quantum(rk.Case):
    def same_for_all(self, observe):
        seen = {quantum: observe(quantum) for quantum in QUANTA}
        for quantum in QUANTA[1:]:
            for name, value in seen[QUANTA[0]].items():
                self.assertEqual(value, seen[quantum][name], f"{name} with {QUANTA[0]} and {quantum}")

    def test_counts(self):
        for program in (["quicksort", "20000"], ["exactloop", "100000"], ["pages", "300", "1"], ["syscalls", "200"]):
            for cpu in ("0", "4"):
                with self.subTest(program=program, cpu=cpu):
                    def observe(quantum, program=program, cpu=cpu):
                        r = self.ok("stat", "--quantum", quantum, "--cpus", cpu, "-e", STAT_EVENTS, "--",
                                    rk.workload(program[0]), *program[1:])
                        return {"output": r.stdout, "counts and truth": r.stderr}
                    self.same_for_all(observe)

    def test_recordings(self):
        """The client and the program share the CPU, so they run in turns and there is one order of everything."""
        for event, period in (("cycles", "10000"), ("instructions:u", "100003"), ("L1-dcache-loads:u", "50000")):
            for cpu in ("0", "4"):
                with self.subTest(event=event, cpu=cpu):
                    def observe(quantum, event=event, period=period, cpu=cpu):
                        r = self.ok("record", "--quantum", quantum, "--cpus", cpu, "-e", event, "-c", period, "-g",
                                    "-o", "X", "--", rk.workload("quicksort"), "20000")
                        return {"output": r.stdout, "counts and truth": r.stderr, "perf.data": self.take("X")}
                    self.same_for_all(observe)

    def test_user_counts_beside_others(self):
        """On a CPU of its own the program executes the same instructions, whatever the others do meanwhile."""
        def observe(quantum):
            r = self.ok("stat", "--quantum", quantum, "-x,", "-e", "instructions:u", "--", rk.workload("exactloop"), "50000")
            return {"count": r.stderr.split(",")[0]}
        self.same_for_all(observe)


rk.main("quicksort", "exactloop", "pages", "syscalls")
