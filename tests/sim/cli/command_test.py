#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# rk-timeout: 600
"""The command as a user meets it: exit statuses, messages, files, tables, the trace and the way of a sample."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import trace_check  # noqa: E402

RKPERF = os.environ.get("RKPERF", "build/rkperf")
BUILD = pathlib.Path(os.environ.get("RK_BUILD", "build")).resolve()
EXACTLOOP = str(BUILD / "workloads/exactloop")
QUICKSORT = str(BUILD / "workloads/quicksort")
SKIPPED = 77


def rkperf(*args, cwd=None, timeout=300, env=None):
    return subprocess.run([RKPERF, *args], cwd=cwd, capture_output=True, text=True, timeout=timeout, check=False,
                          env={**os.environ, **(env or {})})


class Command(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="rkperf-command-")
        self.addCleanup(shutil.rmtree, self.folder)

    def run_here(self, *args, **kwargs):
        return rkperf(*args, cwd=self.folder, **kwargs)

    def refused(self, *args, words=(), **kwargs):
        """One sentence on standard error, status 2, nothing else."""
        r = self.run_here(*args, **kwargs)
        self.assertEqual(r.returncode, 2, r.stderr)
        self.assertEqual(r.stdout, "")
        for word in words:
            self.assertIn(word, r.stderr)
        return r.stderr


class Run(Command):
    def test_output_and_status_are_the_program_s(self):
        r = self.run_here("run", "--", QUICKSORT, "1000")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertRegex(r.stdout, r"^quicksort checksum [0-9a-f]+\n$")
        self.assertEqual(r.stderr, "")
        bad = self.run_here("run", "--", QUICKSORT, "nonsense")
        self.assertNotEqual(bad.returncode, 0)
        self.assertEqual(bad.stdout, "")

    def test_figures_only_when_asked_for(self):
        r = self.run_here("run", "--stats", "--", EXACTLOOP, "1000")
        self.assertRegex(r.stderr, r"^rkperf: [\d,]+ instructions \(user [\d,]+, kernel [\d,]+\), [\d.]+ \w+ simulated, "
                                   r"[\d.]+ MIPS\nrkperf: perf has 0 events, 0 contexts, 0 buffers and 0 references to tasks left\n$")

    def test_what_cannot_run_is_refused_before_the_simulation(self):
        self.refused("run", "--", "./missing", words=["./missing", "no such file"])
        self.refused("run", "--", self.folder, words=[self.folder, "folder"])
        self.refused("run", "--", "/bin/true", words=["/bin/true", "another architecture"])
        self.refused("run", words=["program"])
        self.refused("stat", "-e", "cycles", "--", "./missing", words=["./missing"])
        cut = os.path.join(self.folder, "cut")
        shutil.copy(QUICKSORT, cut)
        os.truncate(cut, 10000)
        self.refused("run", "--", "./cut", words=["./cut", "beyond the end of the file"])

    def test_the_affinity_chooses_the_kind_of_core(self):
        little = self.run_here("stat", "-x,", "-e", "cycles:u", "--cpus", "0", "--", EXACTLOOP, "100000")
        big = self.run_here("stat", "-x,", "-e", "cycles:u", "--cpus", "4", "--", EXACTLOOP, "100000")
        self.assertNotEqual(little.stderr.split(",")[0], big.stderr.split(",")[0])
        self.refused("run", "--cpus", "9", "--", EXACTLOOP, words=["--cpus 9", "0 to 7"])

    def test_time_out(self):
        r = self.run_here("run", "--timeout-sim", "2ms", "--", EXACTLOOP, "1000000000")
        self.assertEqual(r.returncode, 124)
        self.assertIn("2.000 ms", r.stderr)

    def test_interrupt_goes_to_the_guest(self):
        with subprocess.Popen([RKPERF, "run", "--", EXACTLOOP, "100000000000"], cwd=self.folder, stderr=subprocess.PIPE) as child:
            time.sleep(2)
            child.send_signal(signal.SIGINT)
            self.assertEqual(child.wait(60), 130)

    def test_interrupted_recording_is_complete(self):
        with subprocess.Popen([RKPERF, "record", "-e", "cycles:u", "-c", "1000000", "-o", "i.data", "--", EXACTLOOP, "100000000000"],
                              cwd=self.folder, stderr=subprocess.PIPE, text=True) as child:
            time.sleep(3)
            child.send_signal(signal.SIGINT)
            _, err = child.communicate(timeout=60)
        self.assertIn("Captured and wrote", err)
        with open(os.path.join(self.folder, "i.data"), "rb") as f:
            self.assertEqual(f.read(8), b"PERFILE2")


class Machines(Command):
    def test_all_faults_at_once(self):
        err = self.refused("machine", "--set", "kernel.hz=1", "--set", "kernel.hx=2", "--seed", "x")
        self.assertEqual(len(err.splitlines()), 3)
        self.refused("run", "--machine", "missing.toml", "--", EXACTLOOP, words=["missing.toml"])
        self.refused("machine", "--machine", "pdp11", words=["rk3588-mainline"])

    def test_the_effective_configuration_can_be_used_again(self):
        first = self.run_here("machine", "--machine", "qemu-like", "--set", "seed=5")
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertIn("# --set", first.stdout)
        with open(os.path.join(self.folder, "m.toml"), "w", encoding="utf-8") as f:
            f.write(first.stdout)
        again = self.run_here("machine", "--machine", "m.toml")
        strip = lambda text: [line.split("#")[0] for line in text.splitlines()]  # noqa: E731
        self.assertEqual(strip(first.stdout), strip(again.stdout))


    def test_every_machine_runs_a_program(self):
        for machine, cycles in (("rk3588", None), ("rk3588-mainline", None), ("qemu-like", True)):
            r = self.run_here("stat", "--machine", machine, "--cpus", "3", "-e", "cycles:u,instructions:u", "--", EXACTLOOP, "10000")
            self.assertEqual(r.returncode, 0, r.stderr)
            counts = re.findall(r"^  (?:cycles|instructions):u +([\d,]+) .* exact$", r.stderr, re.M)
            self.assertEqual(len(counts), 2, r.stderr)
            if cycles:
                self.assertEqual(counts[0], counts[1], "one instruction a cycle")
        one = self.run_here("run", "--set", "cluster.0.cpus=1", "--set", "cluster.1.cpus=0", "--", QUICKSORT, "100")
        self.assertEqual(one.returncode, 0, one.stderr)


class Stat(Command):
    def test_user_counts_are_the_truth(self):
        r = self.run_here("stat", "-e", "cycles:u,instructions:u", "--", EXACTLOOP, "100000")
        self.assertEqual(r.returncode, 0, r.stderr)
        rows = re.findall(r"^  (cycles:u|instructions:u) +([\d,]+) +([\d,]+) +exact$", r.stderr, re.M)
        self.assertEqual(len(rows), 2, r.stderr)
        for _, count, truth in rows:
            self.assertEqual(count, truth)
        # The loop alone is 4 N + 2 instructions.
        self.assertGreater(int(rows[1][2].replace(",", "")), 400000)

    def test_more_events_than_counters_are_scaled(self):
        events = ",".join(f"r{n:x}:u" for n in (0x01, 0x03, 0x04, 0x08, 0x10, 0x14, 0x16, 0x1B))
        r = self.run_here("stat", "-e", events, "--", EXACTLOOP, "12000000")
        self.assertRegex(r.stderr, r"r1b INST_SPEC:u +[\d,]+ +\d+\.\d% +[\d,]+ +[\d,]+ +[-+]")

    def test_mistakes_in_perf_s_options(self):
        self.refused("stat", "-e", "nonsense", "--", EXACTLOOP, words=["unknown event 'nonsense'"])
        self.refused("record", "-c", "0", "--", EXACTLOOP, words=["-c 0"])
        self.refused("record", "--frobnicate", "--", EXACTLOOP, words=["--frobnicate"])


class Record(Command):
    def test_a_recording(self):
        r = self.run_here("record", "-e", "instructions:u", "-c", "10000", "--", EXACTLOOP, "100000")
        self.assertEqual(r.returncode, 0, r.stderr)
        row = re.search(r"^  instructions:u +([\d,]+) +([\d,]+) +([\d,]+) +([\d,]+) +([\d,]+) ", r.stderr, re.M)
        self.assertTrue(row, r.stderr)
        samples, lost, periods, _, truth = (int(x.replace(",", "")) for x in row.groups())
        self.assertEqual(lost, 0)
        self.assertEqual(periods, samples * 10000)
        self.assertEqual(samples, truth // 10000)
        self.assertTrue(os.path.exists(os.path.join(self.folder, "perf.data")))

    def test_a_program_above_the_current_folder(self):
        """Its folder is visible, and read-only, but does not cover the current one."""
        shutil.copy(EXACTLOOP, self.folder)
        below = os.path.join(self.folder, "below")
        os.mkdir(below)
        r = rkperf("record", "-e", "instructions:u", "-c", "10000", "--", "../exactloop", "100000", cwd=below)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(os.listdir(below), ["perf.data"])

    def test_same_bytes_twice(self):
        seen = []
        for _ in range(2):
            # A file that is there already is one more thing for the client to do.
            for name in ("d.data", "d.trace"):
                pathlib.Path(self.folder, name).unlink(missing_ok=True)
            r = self.run_here("record", "-e", "cycles", "-c", "20000", "-g", "-o", "d.data", "--trace", "d.trace", "--", EXACTLOOP, "200000")
            self.assertEqual(r.returncode, 0, r.stderr)
            files = [pathlib.Path(self.folder, name).read_bytes() for name in ("d.data", "d.trace")]
            seen.append((r.stdout, r.stderr, files))
        self.assertEqual(seen[0][:2], seen[1][:2])
        self.assertEqual(seen[0][2][0], seen[1][2][0], "perf.data differs")
        self.assertEqual(seen[0][2][1], seen[1][2][1], "the trace differs")

    def test_observers_change_nothing(self):
        plain = self.run_here("record", "-e", "cycles", "-c", "20000", "-o", "a.data", "--", EXACTLOOP, "200000")
        traced = self.run_here("record", "-e", "cycles", "-c", "20000", "-o", "b.data", "--trace", "b.trace", "--", EXACTLOOP, "200000")
        # Names of the same length: they are on the guest's stack.
        self.assertEqual(plain.stderr.split("rkperf:")[1], traced.stderr.split("rkperf:")[1])


class Trace(Command):
    def test_the_trace_can_be_decoded_and_makes_sense(self):
        r = self.run_here("record", "-e", "instructions:u", "-c", "50000", "--cpus", "4", "--trace", "t", "--", EXACTLOOP, "200000")
        self.assertEqual(r.returncode, 0, r.stderr)
        tracks = trace_check.load(os.path.join(self.folder, "t"))
        core = next(u for u, t in tracks.items() if t.name == "CPU 4 Cortex-A76")
        of_core = {t.name: t for t in tracks.values() if t.parent == core}
        self.assertTrue(any(n.startswith("exactloop[") for n, *_ in of_core["running task"].slices))
        wraps = [n for n, _ in of_core["PMU"].instants if n.endswith("wraps")]
        lines = of_core["PMU line"].slices
        irqs = [s for s in of_core["interrupts"].slices if s[0] == "PMU (PPI 7)"]
        samples = [n for t in tracks.values() if t.name.startswith("instructions:u") for n, _ in t.instants if n.startswith("sample")]
        self.assertEqual(len(samples), 16)
        self.assertEqual(len(wraps), len(samples))
        self.assertEqual(len(lines), len(samples))
        self.assertEqual(len(irqs), len(samples))
        # The line is up when the core takes the interrupt, and falls in its handler.
        for (_, up, down, _), (_, start, end, _) in zip(lines, irqs):
            self.assertLess(up, start)
            self.assertTrue(start <= down <= end)
        self.assertTrue(any(v < 0 for _, v in of_core["PMEVCNTR0"].values))
        self.refused("run", "--trace", "/nonexistent/t", "--", EXACTLOOP, words=["/nonexistent/t"])


class Explain(Command):
    def test_the_steps_come_in_their_order(self):
        r = self.run_here("explain", "-n", "3", "-e", "instructions:u", "-c", "10000", "--", EXACTLOOP, "100000")
        self.assertEqual(r.returncode, 0, r.stderr)
        steps = ["PMEVCNTR0_EL0 wraps: event 0x08 INST_RETIRED", "overflow line rises", "GIC signals", "takes the IRQ",
                 "ICC_IAR1_EL1 gives INTID 23", "armv8pmu_handle_irq begins", "MRS PMOVSCLR_EL0 gives 0x1",
                 "overflow line falls", "counters stand still", "perf_event_overflow begins", "overflow of instructions:u: period 10000",
                 "contents are gathered", "room is reserved", "PERF_RECORD_SAMPLE", "is published", "counters count",
                 "handler of INTID 23 is done"]
        at = 0
        for step in steps:
            found = r.stdout.find(step, at)
            self.assertGreater(found, 0, f"'{step}' is missing or too early:\n{r.stdout}")
            at = found
        rows = re.findall(r"^ +([\d.]+) +([\d.]+) +(\d+) +(\d*)  4 ", r.stdout, re.M) or \
            re.findall(r"^ +([\d.]+) +([\d.]+) +(\d+) +(\d*)  \d ", r.stdout, re.M)
        times = [float(t) for t, *_ in rows]
        self.assertEqual(times, sorted(times))
        self.assertEqual(rows[0][1:], ("0.000", "0", "0"))
        self.assertIn("skid: ", r.stdout)

    def test_skid_of_all_samples(self):
        r = self.run_here("explain", "--skid", "-e", "instructions:u", "-c", "10000", "--cpus", "4", "--", EXACTLOOP,
                          "100000")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("skid of instructions:u on Cortex-A76", r.stdout)
        overflows = int(re.search(r"(\d+) overflows while interrupts could be taken", r.stdout).group(1))
        self.assertGreater(overflows, 10)
        rows = {m[1]: [float(n) for n in m[2].split()] for m in
                re.finditer(r"^ +(instructions|cycles|ns)((?: +[\d.]+){5})$", r.stdout, re.M)}
        self.assertEqual(sorted(rows), ["cycles", "instructions", "ns"])
        for name, row in rows.items():
            self.assertEqual(row, sorted(row), name)
        # The GIC's delay at least, and a cycle is 1/2.4 ns.
        self.assertGreaterEqual(rows["ns"][0], 40)
        for ns, cycles in zip(rows["ns"], rows["cycles"]):
            self.assertAlmostEqual(cycles, ns * 2.4, delta=1.5)
        # Every overflow is in one bar of each histogram.
        for name in ("instructions", "cycles"):
            bars = r.stdout.split(f" {name}  samples\n")[1].split("\n\n")[0]
            self.assertEqual(sum(int(line.split()[1]) for line in bars.splitlines()), overflows)

    def test_a_sample_that_does_not_come(self):
        r = self.run_here("explain", "-n", "1000", "-e", "instructions:u", "-c", "100000", "--", EXACTLOOP, "100000")
        self.assertEqual(r.returncode, 1)
        self.assertRegex(r.stderr, r"there is no sample 1000: only \d+ were written")


if __name__ == "__main__":
    if not os.path.exists(EXACTLOOP) or not os.path.exists(QUICKSORT):
        print(f"the guest programs are not in {BUILD}/workloads")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
