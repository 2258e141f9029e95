#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What must hold among the events of one run, for every workload on either core: the figures of figures.tsv, at EL0."""
import collections
import unittest

import identities
import rk


def runs():
    out = collections.defaultdict(dict)
    for line in (rk.SOURCE / "tests/integration/figures.tsv").read_text().splitlines():
        if not line.startswith("#"):
            program, core, event, count = line.split("\t")
            out[program, core][event.split()[1]] = int(count)
    return out


class Identities(unittest.TestCase):
    def test_every_run(self):
        found = runs()
        self.assertGreater(len(found), 20)
        for (program, core), counts in found.items():
            with self.subTest(program=program, core=core):
                for sign, whole, parts in identities.rows(core):
                    of_whole, of_parts = (sum(counts.get(e, 0) for e in names) for names in (whole, parts))
                    check = self.assertEqual if sign == "=" else self.assertLessEqual
                    check(of_parts, of_whole, f"{parts} {sign} {whole}")


unittest.main(verbosity=2)
