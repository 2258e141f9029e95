#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What goes from core to core takes what the caches take for it, not what the cores run ahead of each other."""
import rk


class CoreToCore(rk.Case):
    def test_a_value_is_handed_over_in_less_than_a_quantum(self):
        for pair in (("0", "1"), ("0", "4"), ("4", "6")):
            for quantum in ("200ns", "1us", "10us"):
                with self.subTest(cpus=pair, quantum=quantum):
                    r = self.ok("run", "--quiet", "--quantum", quantum, "--cpus", ",".join(pair), "--", rk.workload("calibrate"),
                                "core-to-core", *pair)
                    name, _, ns, unit = r.stdout.split()
                    self.assertEqual((name, unit), ("hand_over_" + "_".join(pair), "ns"))
                    # 67 to 73 on a board (scripts/calibration/measured.csv)
                    self.assertGreater(float(ns), 40)
                    self.assertLess(float(ns), 90)

    def test_a_line_that_two_write_goes_to_and_fro(self):
        """With a quantum each, it would some twenty times."""
        r = self.ok("run", "--quiet", "--cpus", "4-5", "--totals", "T", "--", rk.workload("falseshare"), "8", "2", "100000")
        self.assertIn("checksum", r.stdout)
        totals = {}
        for line in self.take("T").decode().splitlines():
            fields = line.split()
            if fields[0] in ("cpu4", "cpu5"):
                totals[fields[2]] = totals.get(fields[2], 0) + int(fields[3])
        self.assertGreater(totals["L1D_CACHE_INVAL"], 300)


rk.main("calibrate", "falseshare")
