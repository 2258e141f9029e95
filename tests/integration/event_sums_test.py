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

import rk

HERE = pathlib.Path(__file__).resolve().parent
CC = os.environ.get("CC_GUEST", "aarch64-linux-gnu-gcc")
CPU = {"a55": "0", "a76": "4"}

# (whole, parts): whole = sum of parts
EQUAL = {
    "both": [
        ("MEM_ACCESS", "MEM_ACCESS_RD MEM_ACCESS_WR"), ("L1D_CACHE", "L1D_CACHE_RD L1D_CACHE_WR"),
        ("L1D_CACHE_REFILL", "L1D_CACHE_REFILL_RD L1D_CACHE_REFILL_WR"),
        ("L1D_CACHE_REFILL", "L1D_CACHE_REFILL_INNER L1D_CACHE_REFILL_OUTER"), ("L2D_CACHE", "L2D_CACHE_RD L2D_CACHE_WR"),
        ("L2D_CACHE_REFILL", "L2D_CACHE_REFILL_RD L2D_CACHE_REFILL_WR"), ("L2D_TLB", "L1D_TLB_REFILL L1I_TLB_REFILL"),
        ("BUS_ACCESS", "BUS_ACCESS_RD BUS_ACCESS_WR"), ("LDST_SPEC", "LD_SPEC ST_SPEC"), ("BUS_CYCLES", "CPU_CYCLES"),
        ("LL_CACHE_RD", "L3D_CACHE_RD"), ("LL_CACHE_MISS_RD", "L3D_CACHE_REFILL"),
        ("BR_MIS_PRED_RETIRED", "BR_MIS_PRED"),
    ],
    "a55": [
        ("INST_SPEC", "INST_RETIRED"), ("LD_SPEC", "LD_RETIRED"), ("ST_SPEC", "ST_RETIRED"),
        ("BR_IMMED_SPEC", "BR_IMMED_RETIRED"), ("BR_RETURN_SPEC", "BR_RETURN_RETIRED"),
        ("L3D_CACHE_REFILL_RD", "L3D_CACHE_REFILL"), ("PC_WRITE_SPEC", "BR_IMMED_SPEC BR_INDIRECT_SPEC"),
        ("BR_PRED", "BR_IMMED_RETIRED BR_INDIRECT_ADDR_PRED BR_RETURN_ADDR_PRED"),
        ("BR_MIS_PRED", "BR_COND_MIS_PRED BR_INDIRECT_MIS_PRED BR_RETURN_ADDR_MIS_PRED"),
        ("STALL_BACKEND", "STALL_BACKEND_ILOCK STALL_BACKEND_LD STALL_BACKEND_ST"),
    ],
    "a76": [
        ("L1D_CACHE_WB", "L1D_CACHE_WB_VICTIM L1D_CACHE_WB_CLEAN"), ("L2D_CACHE_WB", "L2D_CACHE_WB_VICTIM L2D_CACHE_WB_CLEAN"),
        ("L1D_TLB", "L1D_TLB_RD L1D_TLB_WR"), ("L1D_TLB_REFILL", "L1D_TLB_REFILL_RD L1D_TLB_REFILL_WR"),
        ("L2D_TLB", "L2D_TLB_RD L2D_TLB_WR"), ("L2D_TLB_REFILL", "L2D_TLB_REFILL_RD L2D_TLB_REFILL_WR"),
        ("STREX_SPEC", "STREX_PASS_SPEC STREX_FAIL_SPEC"), ("UNALIGNED_LDST_SPEC", "UNALIGNED_LD_SPEC UNALIGNED_ST_SPEC"),
        ("PC_WRITE_SPEC", "BR_IMMED_SPEC BR_INDIRECT_SPEC"),
    ],
}
# (whole, parts): sum of parts <= whole
NOT_MORE = {
    "both": [
        ("CPU_CYCLES", "STALL_FRONTEND STALL_BACKEND"), ("L1D_CACHE", "L1D_CACHE_REFILL"), ("L1D_CACHE", "MEM_ACCESS"),
        ("L1I_CACHE", "L1I_CACHE_REFILL"), ("L2D_CACHE", "L2D_CACHE_REFILL"), ("L3D_CACHE", "L3D_CACHE_REFILL"),
        ("L2D_CACHE_RD", "L1D_CACHE_REFILL L1I_CACHE_REFILL"), ("L1D_TLB", "L1D_TLB_REFILL"),
        ("L1I_TLB", "L1I_TLB_REFILL"), ("L2D_TLB", "L2D_TLB_REFILL"), ("L2D_TLB", "DTLB_WALK ITLB_WALK"),
        ("DTLB_WALK ITLB_WALK", "L2D_TLB_REFILL"), ("BR_PRED", "BR_MIS_PRED"), ("INST_RETIRED", "BR_RETIRED"),
        ("INST_SPEC", "INST_RETIRED"), ("INST_SPEC", "LD_SPEC ST_SPEC DP_SPEC"), ("EXC_TAKEN", "EXC_IRQ"),
        ("L3D_CACHE_RD", "L2D_CACHE_REFILL"),
    ],
    "a55": [
        ("STALL_FRONTEND", "STALL_FRONTEND_CACHE STALL_FRONTEND_TLB"), ("STALL_BACKEND_LD", "STALL_BACKEND_LD_CACHE"),
        ("STALL_BACKEND_LD", "STALL_BACKEND_LD_TLB"), ("STALL_BACKEND_ST", "STALL_BACKEND_ST_STB STALL_BACKEND_ST_TLB"),
        ("STALL_BACKEND_ILOCK", "STALL_BACKEND_ILOCK_AGU STALL_BACKEND_ILOCK_FPU"), ("BR_RETIRED", "PC_WRITE_RETIRED"),
        ("BR_IMMED_RETIRED", "BR_COND_PRED"), ("BR_COND_PRED", "BR_COND_MIS_PRED"),
        ("BR_INDIRECT_ADDR_PRED", "BR_INDIRECT_ADDR_MIS_PRED"), ("BR_RETURN_ADDR_PRED", "BR_RETURN_ADDR_MIS_PRED"),
        ("L2D_LLWALK_TLB", "L2D_LLWALK_TLB_REFILL"), ("L2D_LLWALK_TLB", "L2D_L2WALK_TLB"),
        ("L2D_L2WALK_TLB", "L2D_L2WALK_TLB_REFILL"), ("L1D_WS_MODE", "L2D_WS_MODE"), ("L2D_WS_MODE", "L3D_WS_MODE"),
        ("L2D_CACHE_WR", "L1D_CACHE_WB"), ("L2D_CACHE_RD", "L1D_CACHE_REFILL L1I_CACHE_REFILL L1D_CACHE_REFILL_PREFETCH"),
    ],
    "a76": [
        ("L2D_CACHE_WR", "L1D_CACHE_WB"), ("BR_INDIRECT_SPEC", "BR_RETURN_SPEC"), ("ST_SPEC", "STREX_SPEC"),
        ("EXC_TAKEN", "EXC_SVC EXC_DABORT EXC_PABORT EXC_UNDEF EXC_IRQ"),
    ],
}


def events(core):
    """Name -> number, of what docs/pmu-events.md lists as counted for a core."""
    text = (HERE.parents[1] / "docs" / "pmu-events.md").read_text()
    part = text.split(f"\n## Cortex-{core.upper()}\n")[1].split("Always 0:")[0]
    return {name: int(n, 16) for n, name in re.findall(r"^\| 0x([0-9A-F]{2}) \| (\w+) \|", part, re.M)}


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
        named = [(name, number) for name, number in events(core).items() if name != "CHAIN"]
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
        numbers = events(core)
        rows = [(sign, whole.split(), parts.split()) for sign, table in (("=", EQUAL), ("<=", NOT_MORE))
                for whole, parts in table["both"] + table[core]]
        cases = [(row, level) for row in rows for level in ("u", "k", "")]
        # A name that the list does not have is 0, as its row says "or is named in pmu-events.md".
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
