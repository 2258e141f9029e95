#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# rk-timeout: 300
"""The main job: a quicksort is recorded with call chains, and the host's own perf reads the file."""
import pathlib
import re
import subprocess

import perfdata
import rk

PROGRAM = rk.workload("quicksort")
PERIOD = 10000
# The kernel neither throttles nor lowers the rate, so that every period gives its sample.
UNTHROTTLED = ["--set", "kernel.perf_event_max_sample_rate=1000000", "--set", "kernel.perf_cpu_time_max_percent=100"]
PEAK_MIB = 300

# Flags of perf_event_attr (include/uapi/linux/perf_event.h) by the bit they have.
FLAGS = {"disabled": 0, "inherit": 1, "exclude_user": 4, "exclude_kernel": 5, "exclude_hv": 6, "mmap": 8, "comm": 9,
         "freq": 10, "enable_on_exec": 12, "task": 13, "sample_id_all": 18, "exclude_host": 19, "exclude_guest": 20,
         "mmap2": 23, "comm_exec": 24}


def functions(program):
    """name -> (first address, one past the last) by the program's symbol table."""
    text = subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^([0-9a-f]+) ([0-9a-f]+) [tT] (\S+)$", text, re.M)
    return {name: (int(at, 16), int(at, 16) + int(size, 16)) for at, size, name in found}


class MainJob(rk.Case):
    def record(self, *options, event="cycles"):
        return self.ok("record", *options, "-e", event, "-c", str(PERIOD), "-g", "-o", "X", "--", PROGRAM)

    def test_perf_reads_it(self):
        r = self.record()
        self.assertRegex(r.stdout, r"^quicksort checksum [0-9a-f]{16}\n$")
        self.assertLess(rk.peak_memory_mib(), PEAK_MIB)
        if not rk.perf_command():
            self.skipTest("no perf on this host")
        report = self.perf("report", "--stdio", "--no-children", "-g", "none", "-i", "X")
        share = {name: float(percent) for percent, name in
                 re.findall(r"^ +([\d.]+)% +quicksort +quicksort +\[\.\] (\S+)", report, re.M)}
        self.assertGreater(share["partition"], share["quicksort"])
        self.assertGreater(share["partition"], 40)
        self.assertIn("main", self.perf("report", "--stdio", "--children", "-g", "none", "-i", "X"))
        # Callers of the innermost frame, as perf resolves them.
        script = self.perf("script", "-i", "X", "-F", "comm,pid,ip,sym")
        chains = [re.findall(r"^\s+[0-9a-f]+ (\S+)", sample, re.M) for sample in script.split("\n\n")]
        straight = [c for c in chains if c[:1] == ["partition"] and "main" in c]
        self.assertGreater(len(straight), len(chains) // 4)
        for chain in straight:
            at = chain.index("main")
            self.assertEqual(set(chain[1:at]), {"quicksort"})
            self.assertEqual(chain[-1], "_start")
        # The kernel's functions have the names that the simulated kernel gives them, not those of the host's.
        names = set(re.findall(r"\[k\] (\S+)", report))
        known = "".join(f.read_text() for f in pathlib.Path(self.folder).glob(".debug/*/*/kallsyms"))
        self.assertGreater(len(names), 3)
        self.assertEqual(names - set(re.findall(r"^\S+ \S (\S+)", known, re.M)), set())
        header = self.perf("report", "--header-only", "-i", "X")
        self.assertRegex(header, r"(?m)^# arch : aarch64$")
        self.assertRegex(header, r"(?m)^# nrcpus online : 8$")
        self.assertIn(f"record -e cycles -c {PERIOD} -g -o X -- {PROGRAM}", header)
        evlist = self.perf("evlist", "-v", "-i", "X")
        self.assertRegex(evlist, r"^cycles: .*\{ sample_period, sample_freq \}: 10000, sample_type: IP\|TID\|TIME\|CALLCHAIN")

    def test_event_attr_is_perf_s(self):
        self.record()
        data = perfdata.PerfData(self.path("X"))
        self.assertEqual(len(data.attrs), 1)
        attr = data.attrs[0]
        self.assertEqual((attr["type"], attr["config"], attr["period"]), (0, 0, PERIOD))
        on = {name for name, bit in FLAGS.items() if attr["bits"] >> bit & 1}
        self.assertEqual(on, {"disabled", "inherit", "mmap", "comm", "enable_on_exec", "task", "sample_id_all",
                              "exclude_guest", "mmap2", "comm_exec"})
        # perf on arm64 samples the link register beside the chain: IP, TID, TIME, CALLCHAIN, REGS_USER.
        self.assertEqual(attr["sample_type"], 1 << 0 | 1 << 1 | 1 << 2 | 1 << 5 | 1 << 12)

    def test_samples_and_truth(self):
        r = self.record(*UNTHROTTLED, event="cycles:u")
        data = perfdata.PerfData(self.path("X"))
        row = rk.truth_table(r.stderr)["cycles:u"]
        samples, truth = rk.number(row["samples"]), rk.number(row["truth"])
        self.assertEqual(len(data.samples), samples)
        self.assertEqual(rk.number(row["count"]), truth)
        self.assertEqual(data.of_kind(perfdata.THROTTLE), [])
        # One task on one CPU: each full period made a sample.
        self.assertEqual(samples, truth // PERIOD)
        times = [s["time"] for s in data.samples]
        self.assertEqual(times, sorted(times))

    def test_chains_are_those_of_the_program(self):
        self.record(*UNTHROTTLED, event="cycles:u")
        data = perfdata.PerfData(self.path("X"))
        spans = functions(PROGRAM)

        def name(address):
            return next((n for n in ("main", "quicksort", "partition") if spans[n][0] <= address < spans[n][1]), None)

        depths = set()
        for sample in data.samples:
            chain = perfdata.user_chain(sample)
            # By its skid an interrupt of a counter of EL0 may come when the kernel has been entered.
            if sample["misc"] & perfdata.CPU_MODE == perfdata.MODE_USER:
                self.assertEqual(chain[0], sample["ip"])
            names = [name(a) for a in chain]
            if "quicksort" in names and names[0]:
                depths.add(names.count("quicksort"))
                at = names.index("main")
                # A leaf whose frame is not set up yet loses its caller, as on hardware; beyond it all are there.
                self.assertEqual(set(names[1:at]) - {"quicksort"}, set(), names)
        self.assertGreater(len(depths), 8)

    def test_a_throttled_recording_says_so(self):
        r = self.record()
        data = perfdata.PerfData(self.path("X"))
        throttled = len(data.of_kind(perfdata.THROTTLE))
        if throttled:
            self.assertIn("was throttled", r.stderr)
        row = rk.truth_table(r.stderr)["cycles"]
        self.assertLessEqual(rk.number(row["count"]), rk.number(row["truth"]))
        self.assertLessEqual(len(data.samples) * PERIOD, rk.number(row["count"]))

    def test_a_stream_is_read_too(self):
        if not rk.perf_command():
            self.skipTest("no perf on this host")
        with open(self.path("stream"), "wb") as out:
            self.ok("record", "-e", "cycles", "-c", "100000", "-g", "-o", "-", "--", rk.workload("exactloop"), stdout=out)
        self.assertIn("exact_begin", self.perf("report", "--stdio", "-i", "stream"))


rk.main("quicksort", "exactloop")
