#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# rk-timeout: 300
"""miniperf's output has the same shape on Linux and in rkperf: the same commands, figures masked.

miniperf.shapes holds what a real Linux 6.1 gave; record anew with LINUX_RUN=.../linux-run miniperf_test.py --record. For
recordings it holds what the host's perf says of the file: the events' attributes as they are, and which kinds of record
there are.
"""
import difflib
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("RK_BUILD", "build")).resolve()
SHAPES = HERE / "miniperf.shapes"
LOOP = "exactloop 100000"

STAT = [
    f"stat -e cycles,instructions {LOOP}",
    f"stat -e cycles:u,instructions:k,page-faults,task-clock,context-switches,cpu-migrations {LOOP}",
    f"stat -e '{{cycles,instructions}}' -e cpu-clock {LOOP}",
    f"stat -x , -e cycles,instructions:u,page-faults,r17 {LOOP}",
    f"stat -r 3 -e instructions:u {LOOP}",
    f"stat -r 2 -x ';' -e instructions:u {LOOP}",
    f"stat -e r11,r8,r1e {LOOP}",
    f"stat -e '{{r8,r8,r8,r8,r8,r8,r8,r8}}' {LOOP}",
    f"stat -e r8:D,r8:D,r8:D,r8:D,r8:D,r8:D,r8:D {LOOP}",
    f"stat -a -e instructions {LOOP}",
    f"stat -a -A -C 0 -e instructions {LOOP}",
    f"stat --no-inherit -e instructions:u {LOOP}",
    f"stat -e sched:sched_switch,raw_syscalls:sys_enter {LOOP}",
    f"stat -e mem:0x400000:x {LOOP}",
    f"stat -e nonsense {LOOP}",
    "stat -e cycles no-such-program",
]
RECORD = [
    f"record -e cycles -c 50000 -g {LOOP}",
    f"record -F 4000 -e instructions:u {LOOP}",
    f"record -e '{{cycles,instructions}}' -c 100000 {LOOP}",
    f"record -e cpu-clock -c 100000 -d -T {LOOP}",
    f"record -a -e task-clock -c 100000 {LOOP}",
    f"record -e sched:sched_switch -e page-faults -c 1 {LOOP}",
]


def mask(text):
    """Lines with figures, and the blanks about them, taken out; the end of each line too."""
    lines = []
    for line in text.splitlines():
        line = re.sub(r"0x[0-9a-f]+", "ADDRESS", line) if "perf.data" in line else line
        if re.fullmatch(r"status \d+", line):
            lines.append(line)
            continue
        line = re.sub(r"\b\d+(,\d{3})*(\.\d+)?", "#", line)
        line = re.sub(r"# [KMG]?/sec", "# /sec", line)
        line = re.sub(r"\s+", " ", line).strip()
        # Shares are shown where an event did not run all the time, down to a rounding.
        lines.append(re.sub(r" \(#%\)$", "", line))
    while lines and not lines[-1]:
        lines.pop()
    return lines


def recording(path):
    """What the host's perf makes of a file."""
    def perf(*args):
        return subprocess.run(["perf", *args, "-i", str(path)], capture_output=True, text=True, errors="replace").stdout
    attributes = re.sub(r"id: [{ \d,}]+|, ID.*", "", perf("evlist", "-v"))
    kinds = sorted(set(re.findall(r"PERF_RECORD_\w+", perf("script", "-D"))) - {"PERF_RECORD_THROTTLE", "PERF_RECORD_UNTHROTTLE"})
    return attributes.splitlines() + kinds


def on_linux(folder):
    linux_run = os.environ["LINUX_RUN"]
    script = [f"miniperf {c} 2>stat{i} >/dev/null; echo status $? >>stat{i}" for i, c in enumerate(STAT)]
    script += [f"miniperf {c.replace('record', f'record -o data{i}', 1)} >/dev/null 2>&1" for i, c in enumerate(RECORD)]
    (folder / "all.sh").write_text("\n".join(script) + "\n")
    gets = []
    for i in range(len(STAT)):
        gets += ["--get", f"stat{i}:{folder}/stat{i}"]
    for i in range(len(RECORD)):
        gets += ["--get", f"data{i}:{folder}/data{i}"]
    done = subprocess.run([linux_run, "--icount", "--paranoid", "-1", "--timeout", "200", "--file", folder / "all.sh", "--file",
                           BUILD / "workloads/miniperf", "--file", BUILD / "workloads/exactloop", *gets, "--",
                           "sh all.sh"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    stats = [(folder / f"stat{i}").read_text() for i in range(len(STAT))]
    return stats, [folder / f"data{i}" for i in range(len(RECORD))]


def in_rkperf(folder):
    rkperf = os.path.abspath(os.environ.get("RKPERF", "build/rkperf"))
    for program in ("miniperf", "exactloop"):
        shutil.copy(BUILD / "workloads" / program, folder)

    def run(command, output):
        words = [("./" + w if w == "exactloop" else w) for w in shlex.split(command)]
        return subprocess.run([rkperf, "run", "--quiet", "--machine", "qemu-like", "--cpus", "0", "--timeout-sim", "20s", "--",
                               "./miniperf", *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=output, timeout=100).returncode
    stats = []
    for i, command in enumerate(STAT):
        with open(folder / f"stat{i}", "w") as f:
            status = run(command, f)
        stats.append((folder / f"stat{i}").read_text().replace("./exactloop", "exactloop") + f"status {status}\n")
    for i, command in enumerate(RECORD):
        run(command.replace("record", f"record -o data{i}", 1), subprocess.DEVNULL)
    return stats, [folder / f"data{i}" for i in range(len(RECORD))]


def shapes(stats, recordings):
    out = []
    for command, text in zip(STAT, stats):
        out += [f"== {command}", *mask(text)]
    for command, path in zip(RECORD, recordings):
        out += [f"== {command}", *recording(path)]
    return "\n".join(out) + "\n"


def main():
    if not shutil.which("perf"):
        print("no perf on this host")
        return 77
    if not (BUILD / "workloads/miniperf").exists():
        print("no miniperf")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if "--record" in sys.argv:
            SHAPES.write_text(shapes(*on_linux(folder)))
            return 0
        got = shapes(*in_rkperf(folder))
    want = SHAPES.read_text()
    if got == want:
        print(f"{len(STAT) + len(RECORD)} commands have the same shape")
        return 0
    sys.stdout.writelines(difflib.unified_diff(want.splitlines(True), got.splitlines(True), "Linux", "rkperf", n=2))
    return 1


if __name__ == "__main__":
    sys.exit(main())
