#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The share of the behaviour catalogues that tests cite does not fall, and the script notices if it does."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(root, *options):
    return subprocess.run([sys.executable, root / "scripts" / "spec-coverage", *options], capture_output=True, text=True)


def small_tree(folder):
    """A project with three statements, of which the tests cite two."""
    for name in ("scripts", "docs", "tests/x", "tests/guest"):
        (folder / name).mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "spec-coverage", folder / "scripts")
    (folder / "docs/spec-entries.tsv").write_text("core\tCORE-001\tA\ncore\tCORE-002\tA\ncore\tCORE-003\tB\n")
    (folder / "tests/x/a_test.cpp").write_text('TEST_CASE("a", "[CORE-001]") {}\n')
    (folder / "tests/guest/b.c").write_text("/* [CORE-003] */\n")


def main():
    here = run(ROOT, "--check")
    print(here.stdout, here.stderr)
    assert here.returncode == 0, "coverage fell"
    with tempfile.TemporaryDirectory() as name:
        tree = pathlib.Path(name) / "project"
        small_tree(tree)
        assert run(tree, "--raise", "--check").returncode == 0
        assert run(tree, "--open", "CORE").stdout == "CORE-002 [A]\n"
        (tree / "tests/guest/b.c").write_text("\n")
        fallen = run(tree, "--check")
        assert fallen.returncode == 1 and "guest is 0, was 1" in fallen.stdout, fallen.stdout
        # What was reached stays the measure.
        run(tree, "--raise")
        assert run(tree, "--check").returncode == 1
        (tree / "tests/guest/b.c").write_text("// [CORE-003] [CORE-004]\n")
        unknown = run(tree, "--check")
        assert unknown.returncode == 1 and "CORE-004 is no statement" in unknown.stdout, unknown.stdout


main()
