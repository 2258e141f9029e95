# SPDX-License-Identifier: Apache-2.0
# rk-timeout: 1500
"""Guest programs against Linux: NAME.c prints what NAME.expected holds, which was recorded on a real Linux 6.1.

Each program is cross-compiled and run on the Cortex-A55 cores, on the Cortex-A76 cores and on all together. Record anew
with LINUX_RUN=.../linux-run guest_test.py --record [NAME]... . Names as arguments select programs.

NAME.differs, where it exists, holds the lines in which rkperf is known to differ from Linux, as a diff: the test fails if
there are others, or if one of them is gone (--differs writes it anew).
"""
import difflib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CC = os.environ.get("CC_GUEST", "aarch64-linux-gnu-gcc")
FLAGS = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wno-unused-result", "-static", "-pthread"]
SETTINGS = {"a55": ["--cpus", "0-3"], "a76": ["--cpus", "4-7"], "all": ["--quantum", "1us", "--seed", "7"]}
LIMIT = 400  # seconds of the host per run


def build(name, folder):
    program = folder / name
    done = subprocess.run([CC, *FLAGS, "-o", program, HERE / f"{name}.c"], capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr
    return program, ""


def record(name, folder):
    program, errors = build(name, folder)
    if not program:
        print(errors)
        return False
    linux_run = os.environ["LINUX_RUN"]
    done = subprocess.run([linux_run, "--icount", "--timeout", "100", "--file", program, "--", name], capture_output=True,
                          text=True)
    if done.returncode:
        print(f"{name}: status {done.returncode}\n{done.stderr}")
        return False
    (HERE / f"{name}.expected").write_text(done.stdout)
    return True


def run(rkperf, program, options):
    command = [rkperf, "run", "--quiet", "--timeout-sim", "20s", *options, "--", str(program)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=LIMIT,
                              stdin=subprocess.DEVNULL, cwd=program.parent)
        return done.stdout, done.returncode, done.stderr
    except subprocess.TimeoutExpired as late:
        return (late.stdout or b"").decode(errors="replace"), "none: no end", ""


def check(rkperf, name, folder):
    program, errors = build(name, folder)
    if not program:
        print(f"FAIL {name}: does not build\n{errors}")
        return 1
    expected = (HERE / f"{name}.expected").read_text()
    failures = 0
    known_file = HERE / f"{name}.differs"
    known = known_file.read_text() if known_file.exists() else ""
    for setting, options in SETTINGS.items():
        out, status, errors = run(rkperf, program, options)
        found = "".join(line for line in difflib.unified_diff(expected.splitlines(True), out.splitlines(True), n=0)
                        if line[0] in "+-" and line[:3] not in ("+++", "---"))
        if "--differs" in sys.argv and found and status == 0:
            known_file.write_text(found)
            known = found
        if known and found == known and status == 0:
            print(f"ok   {name} on {setting}, but for {len(known.splitlines())} known lines of difference", flush=True)
            continue
        if out == expected and status == 0:
            print(f"ok   {name} on {setting}", flush=True)
            continue
        failures += 1
        print(f"FAIL {name} on {setting}: status {status}\n{errors[-2000:]}", flush=True)
        sys.stdout.writelines(difflib.unified_diff(expected.splitlines(True), out.splitlines(True), "Linux", "rkperf", n=1))
    return failures


def main():
    arguments = sys.argv[1:]
    recording = "--record" in arguments
    names = [a for a in arguments if not a.startswith("-")]
    if not names:
        names = sorted(p.stem for p in HERE.glob("*.c") if recording or p.with_suffix(".expected").exists())
    rkperf = os.environ.get("RKPERF", "")
    if not shutil.which(CC) or not (recording or os.access(rkperf, os.X_OK)):
        print("no cross compiler, or RKPERF is not set")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        if recording:
            return 0 if all([record(n, folder) for n in names]) else 1
        return 1 if sum(check(rkperf, n, folder) for n in names) else 0


sys.exit(main())
