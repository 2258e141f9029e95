#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What must hold among the events of one run, for every workload on either core: the figures of figures.tsv, at EL0."""
import collections
import unittest

import rk

# total = sum of parts, exactly
SUMS = [
    ("L1D_CACHE", "L1D_CACHE_RD", "L1D_CACHE_WR"), ("L1D_CACHE_REFILL", "L1D_CACHE_REFILL_RD", "L1D_CACHE_REFILL_WR"),
    ("L1D_CACHE_REFILL", "L1D_CACHE_REFILL_INNER", "L1D_CACHE_REFILL_OUTER"), ("L2D_CACHE", "L2D_CACHE_RD", "L2D_CACHE_WR"),
    ("L2D_CACHE_REFILL", "L2D_CACHE_REFILL_RD", "L2D_CACHE_REFILL_WR"), ("L2D_TLB", "L1D_TLB_REFILL", "L1I_TLB_REFILL"),
    ("BUS_ACCESS", "BUS_ACCESS_RD", "BUS_ACCESS_WR"), ("MEM_ACCESS", "MEM_ACCESS_RD", "MEM_ACCESS_WR"),
    ("LDST_SPEC", "LD_SPEC", "ST_SPEC"), ("BUS_CYCLES", "CPU_CYCLES"), ("LL_CACHE_RD", "L3D_CACHE_RD"),
    ("LL_CACHE_MISS_RD", "L3D_CACHE_REFILL"), ("BR_MIS_PRED_RETIRED", "BR_MIS_PRED"),
]
ONLY = {
    "a55": [("INST_SPEC", "INST_RETIRED"), ("LD_SPEC", "LD_RETIRED"), ("ST_SPEC", "ST_RETIRED"),
            ("BR_IMMED_SPEC", "BR_IMMED_RETIRED"), ("BR_RETURN_SPEC", "BR_RETURN_RETIRED"),
            ("BR_MIS_PRED", "BR_COND_MIS_PRED", "BR_INDIRECT_MIS_PRED", "BR_RETURN_ADDR_MIS_PRED"),
            ("STALL_BACKEND", "STALL_BACKEND_ILOCK", "STALL_BACKEND_LD", "STALL_BACKEND_ST")],
    "a76": [("L1D_CACHE_WB", "L1D_CACHE_WB_VICTIM", "L1D_CACHE_WB_CLEAN"), ("L2D_TLB", "L2D_TLB_RD", "L2D_TLB_WR"),
            ("L2D_CACHE_WB", "L2D_CACHE_WB_VICTIM", "L2D_CACHE_WB_CLEAN"), ("L1D_TLB", "L1D_TLB_RD", "L1D_TLB_WR"),
            ("L1D_TLB_REFILL", "L1D_TLB_REFILL_RD", "L1D_TLB_REFILL_WR"), ("STREX_SPEC", "STREX_PASS_SPEC", "STREX_FAIL_SPEC"),
            ("L2D_TLB_REFILL", "L2D_TLB_REFILL_RD", "L2D_TLB_REFILL_WR"),
            ("UNALIGNED_LDST_SPEC", "UNALIGNED_LD_SPEC", "UNALIGNED_ST_SPEC")],
}
# sum of the former <= the latter
NOT_MORE = [
    (["L1D_CACHE_REFILL"], "L1D_CACHE"), (["L1I_CACHE_REFILL"], "L1I_CACHE"), (["L2D_CACHE_REFILL"], "L2D_CACHE"),
    (["L3D_CACHE_REFILL"], "L3D_CACHE"), (["L1D_TLB_REFILL"], "L1D_TLB"), (["L1I_TLB_REFILL"], "L1I_TLB"),
    (["L2D_TLB_REFILL"], "L2D_TLB"), (["DTLB_WALK", "ITLB_WALK"], "L2D_TLB"), (["BR_MIS_PRED"], "BR_PRED"),
    (["BR_RETIRED"], "INST_RETIRED"), (["INST_RETIRED"], "INST_SPEC"), (["STALL_FRONTEND", "STALL_BACKEND"], "CPU_CYCLES"),
    (["STALL_FRONTEND_CACHE", "STALL_FRONTEND_TLB"], "STALL_FRONTEND"), (["MEM_ACCESS"], "L1D_CACHE"),
    (["STALL_BACKEND_LD_CACHE"], "STALL_BACKEND_LD"), (["STALL_BACKEND_LD_TLB"], "STALL_BACKEND_LD"),
    # What the L1s ask of the L2, and what they give back to it, are lookups there; the rest is prefetching.
    (["L1D_CACHE_REFILL", "L1I_CACHE_REFILL"], "L2D_CACHE_RD"), (["LD_SPEC", "ST_SPEC", "DP_SPEC"], "INST_SPEC"),
    (["BR_IMMED_SPEC", "BR_INDIRECT_SPEC"], "PC_WRITE_SPEC"), (["BR_RETURN_SPEC"], "BR_INDIRECT_SPEC"),
]


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
                for total, *parts in SUMS + ONLY[core]:
                    self.assertEqual(counts.get(total, 0), sum(counts.get(p, 0) for p in parts), f"{total} = {parts}")
                for parts, most in NOT_MORE:
                    self.assertLessEqual(sum(counts.get(p, 0) for p in parts), counts.get(most, 0) if most in counts or
                                         not any(p in counts for p in parts) else 0, f"{parts} <= {most}")


unittest.main(verbosity=2)
