#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# rk-timeout: 300
"""Same inputs give the same bytes, and nothing of the host gets in: neither its time, addresses, environment nor the
number of its CPUs."""
import os
import subprocess

import rk


class Determinism(rk.Case):
    def twice(self, observe):
        first = observe({})
        # Another time zone, language, size of the environment, and a single CPU of the host.
        other = observe({"TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8", "RK_PADDING": "x" * 4000})
        for name, value in first.items():
            self.assertEqual(value, other[name], f"{name} differs")

    def pinned(self, env, *args):
        """With an environment, on one CPU of the host and without random addresses: another host, so to speak."""
        command = [rk.RKPERF, *args]
        if env:
            command = ["taskset", "-c", str(min(os.sched_getaffinity(0))), "setarch", "-R", *command]
        r = subprocess.run(command, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=200,
                           check=False, env={**os.environ, "HOME": self.folder, **env})
        self.assertEqual(r.returncode, 0, r.stderr)
        return r

    def test_a_recording_and_its_trace(self):
        def observe(env):
            r = self.pinned(env, "record", "-e", "cycles", "-c", "10000", "-g", "-o", "X", "--trace", "T", "--",
                            rk.workload("quicksort"), "20000")
            return {"output": r.stdout, "errors": r.stderr, "perf.data": self.take("X"), "trace": self.take("T")}
        self.twice(observe)

    def test_threads_and_processes(self):
        for program in (["locks", "4", "500"], ["falseshare", "8", "2", "5000"], ["forktree", "2", "5000"]):
            with self.subTest(program=program):
                def observe(env, program=program):
                    r = self.pinned(env, "record", "-e", "{cycles,instructions}", "-F", "20000", "-g", "-o", "X", "--",
                                    rk.workload(program[0]), *program[1:])
                    return {"output": r.stdout, "errors": r.stderr, "perf.data": self.take("X")}
                self.twice(observe)

    def test_the_whole_machine(self):
        def observe(env):
            r = self.pinned(env, "stat", "-a", "-A", "-e", "cycles,context-switches", "--", rk.workload("syscalls"), "200")
            return {"output": r.stdout, "errors": r.stderr}
        self.twice(observe)

    def test_a_seed_is_an_input(self):
        """Another seed may change what programs draw at random (stack, mappings), the same one never."""
        def observe(env):
            r = self.pinned(env, "record", "--seed", "7", "-e", "cycles", "-c", "20000", "-g", "-o", "X", "--",
                            rk.workload("quicksort"), "10000")
            return {"errors": r.stderr, "perf.data": self.take("X")}
        self.twice(observe)


rk.main("quicksort", "locks", "falseshare", "forktree", "syscalls")
