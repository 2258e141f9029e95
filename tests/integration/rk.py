# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests share: running the command, its table of truth, the host's perf."""
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

RKPERF = os.path.abspath(os.environ.get("RKPERF", "build/rkperf"))
BUILD = pathlib.Path(os.environ.get("RK_BUILD", "build")).resolve()
SOURCE = pathlib.Path(os.environ.get("RK_SOURCE", ".")).resolve()
SKIPPED = 77


# One CPU that executes an instruction each nanosecond, as the emulator did that counted a real kernel.
ONE_CPU = """
[[cluster]]
core = "cortex-a76"
cpus = 1
hertz = "1GHz"
[sim]
simple_cores = true
[kernel]
hz = 250
perf_event_paranoid = -1
"""


def workload(name):
    return str(BUILD / "workloads" / name)


def number(text):
    return int(text.replace(",", ""))


def truth_table(err):
    """The table behind 'what perf says': one dictionary of texts for each event, by name. Empty cells are left out."""
    lines = err.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("rkperf: what perf says"))
    # Columns are set apart by two blanks; all but the first are aligned to the right.
    heads = [(m.group(), m.end()) for m in re.finditer(r"\S+(?: \S+)*", lines[start + 1])]
    rows = {}
    for line in lines[start + 2:]:
        cells, left = {}, len(line) - len(line[heads[1][1] - len(heads[1][0]):])
        for name, right in heads[1:]:
            cells[name] = line[left:right].strip()
            left = right
        label = re.match(r"  (\S+(?: \S+)*)  ", line)
        if not label or not re.search(r"\d", cells[heads[1][0]]):
            break
        cells[heads[1][0]] = line[label.end():heads[1][1]].strip()
        rows[label.group(1)] = {k: v for k, v in cells.items() if v}
    return rows


class Case(unittest.TestCase):
    """A test with a folder of its own, which the guest sees as its current one."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="rkperf-integration-")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def rkperf(self, *args, timeout=300, **kwargs):
        kwargs.setdefault("stdout", subprocess.PIPE)
        kwargs.setdefault("stderr", subprocess.PIPE)
        # What perf keeps at home, the names of the simulated kernel's functions, is this test's own.
        env = {**os.environ, "HOME": self.folder, **kwargs.pop("env", {})}
        return subprocess.run([RKPERF, *args], cwd=self.folder, stdin=subprocess.DEVNULL, text=True, timeout=timeout,
                              check=False, env=env, **kwargs)

    def ok(self, *args, **kwargs):
        r = self.rkperf(*args, **kwargs)
        self.assertEqual(r.returncode, 0, f"{args}: {r.stderr}")
        return r

    def perf(self, *args):
        """The host's perf; -f because the file need not be the user's."""
        env = {**os.environ, "DEBUGINFOD_URLS": "", "PERF_PAGER": "cat", "HOME": self.folder}
        r = subprocess.run([perf_command(), args[0], "-f", *args[1:]], cwd=self.folder, stdin=subprocess.DEVNULL,
                           capture_output=True, text=True, timeout=120, check=False, env=env)
        self.assertEqual(r.returncode, 0, f"perf {args}: {r.stderr}")
        return r.stdout

    def take(self, name):
        """The bytes of a file that goes away: whether the program finds an older one is an input to it."""
        with open(self.path(name), "rb") as f:
            data = f.read()
        os.unlink(self.path(name))
        return data


def perf_command():
    return shutil.which("perf")


def peak_memory_mib():
    """Of all children that were waited for."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def main(*needs):
    """Runs the tests of the calling script, if the guest programs it needs are built."""
    if not os.path.exists(RKPERF):
        print(f"{RKPERF} has not been built")
        sys.exit(1)
    missing = [n for n in needs if not os.path.exists(workload(n))]
    if missing:
        print(f"not in {BUILD}/workloads: {' '.join(missing)}")
        sys.exit(SKIPPED)
    unittest.main(module="__main__", verbosity=2)
