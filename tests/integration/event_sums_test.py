# SPDX-License-Identifier: Apache-2.0
# rk-timeout: 600
"""Events that belong together, counted together: sums over the exception levels for every event of both cores, and what must
hold among a group of events at each level. figures_identities_test.py has the same of whole workloads, at EL0 only.

Counters of a group start and stop together, so equations hold exactly, however the work is interrupted.
"""
import os
import pathlib
import re
import subprocess

import identities
import rk

HERE = pathlib.Path(__file__).resolve().parent
CC = os.environ.get("CC_GUEST", "aarch64-linux-gnu-gcc")
CPU = {"a55": "0", "a76": "4"}


def events(core):
    """Name -> number, of what docs/pmu-events.md lists as counted for a core, and of what it lists as always 0."""
    text = (HERE.parents[1] / "docs" / "pmu-events.md").read_text()
    parts = text.split(f"\n## Cortex-{core.upper()}\n")[1].split("\n## ")[0].split("Always 0:")
    return [{name: int(n, 16) for n, name in re.findall(r"^\| 0x([0-9A-F]{2}) \| (\w+) \|", part, re.M)} for part in parts]


class EventSums(rk.Case):
    maxDiff = None

    def counts(self, core, groups):
        program = self.path("event_sums")
        done = subprocess.run([CC, "-std=gnu11", "-O1", "-Wall", "-Werror", "-static", "-o", program, HERE / "event_sums.c"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        r = self.ok("run", "--quiet", "--cpus", CPU[core], "--", program, *(",".join(g) for g in groups), timeout=500)
        lines = [[int(c) for c in line.split()] for line in r.stdout.splitlines()]
        self.assertEqual([len(c) for c in lines], [len(g) for g in groups])
        return lines

    def check_levels(self, core):
        """Counted at EL0 and at EL1, at both it is the sum."""
        named = [(name, number) for name, number in events(core)[0].items() if name != "CHAIN"]
        groups = [[f"{n:x}{level}" for _, n in named[i:i + 2] for level in ("", "u", "k")] for i in range(0, len(named), 2)]
        faults, both = [], 0
        for i, counts in enumerate(self.counts(core, groups)):
            for k, (name, _) in enumerate(named[2 * i:2 * i + 2]):
                whole, user, kernel = counts[3 * k:3 * k + 3]
                both += bool(user and kernel)
                if whole != user + kernel:
                    faults.append(f"{core}: {name} is {user} at EL0 and {kernel} at EL1, but {whole} at both")
        self.assertFalse(faults, "\n" + "\n".join(faults))
        self.assertGreater(both, 50)

    def check_identities(self, core):
        numbers, always_0 = events(core)
        rows = identities.rows(core)
        unknown = {e for _, whole, parts in rows for e in whole + parts} - numbers.keys() - always_0.keys()
        self.assertFalse(unknown)
        cases = [(row, level) for row in rows for level in ("u", "k", "")]
        groups = [[f"{numbers[e]:x}{level}" for e in whole + parts if e in numbers] for (_, whole, parts), level in cases]
        faults = []
        for ((sign, whole, parts), level), counts in zip(cases, self.counts(core, groups)):
            names = [e for e in whole + parts if e in numbers]
            of_whole = sum(c for e, c in zip(names, counts) if e in whole)
            of_parts = sum(c for e, c in zip(names, counts) if e in parts)
            if (of_parts != of_whole if sign == "=" else of_parts > of_whole):
                faults.append(f"{core} {level or 'uk'}: {' + '.join(parts)} {sign} {' + '.join(whole)}: {dict(zip(names, counts))}")
        self.assertFalse(faults, "\n" + "\n".join(faults))

    def test_levels_a55(self):
        self.check_levels("a55")

    def test_levels_a76(self):
        self.check_levels("a76")

    def test_identities_a55(self):
        self.check_identities("a55")

    def test_identities_a76(self):
        self.check_identities("a76")


if __name__ == "__main__":
    rk.main()
