# SPDX-License-Identifier: Apache-2.0
# rk-timeout: 900
"""Every event of both cores counts what Arm's list says: pieces of code that do one countable thing n times
(event_kernels.c), measured with all events, against what the code must give. figures_identities_test.py has what must hold
among the events of one run.

The expectations are written from the meaning of the events and the text of the pieces, not from the model. A number is a
count per round; a pair is a range of it, where replacement, timing or the kernel have a say.
"""
import os
import pathlib
import re
import subprocess

import rk

HERE = pathlib.Path(__file__).resolve().parent
CC = os.environ.get("CC_GUEST", "aarch64-linux-gnu-gcc")
CPUS = {"a55": "0-1", "a76": "4-5"}


def events(core):
    """Number -> name, and the numbers that stay 0: what docs/pmu-events.md lists for a core."""
    text = (HERE.parents[1] / "docs" / "pmu-events.md").read_text()
    part = text.split(f"\n## Cortex-{core.upper()}\n")[1].split("\n## ")[0]
    listed, zero = part.split("Always 0:")
    row = re.compile(r"^\| 0x([0-9A-F]{2}) \| (\w+) \|", re.M)
    named = {int(n, 16): name for n, name in row.findall(part)}
    return named, {int(n, 16) for n, _ in row.findall(zero)}, {int(n, 16) for n, _ in row.findall(listed)}


# What each piece does in a round: its own instructions (the loop's subs and b.ne beside them), and the events of its
# kind. Events that are not named here are not judged for that piece.
LOOP = {"BR_RETIRED": 1, "BR_IMMED_RETIRED": 1, "BR_IMMED_SPEC": 1, "PC_WRITE_RETIRED": 1, "BR_RETURN_RETIRED": 0,
        "BR_RETURN_SPEC": 0, "BR_INDIRECT_SPEC": 0, "BR_PRED": 1, "PC_WRITE_SPEC": 1, "BR_COND_PRED": 1,
        "BR_MIS_PRED": (0, 0.01), "BR_MIS_PRED_RETIRED": (0, 0.01)}
NO_DATA = {"MEM_ACCESS": 0, "MEM_ACCESS_RD": 0, "MEM_ACCESS_WR": 0, "L1D_CACHE": (0, 0.01), "L1D_TLB": 0, "LD_SPEC": 0,
           "ST_SPEC": 0, "LDST_SPEC": 0, "LD_RETIRED": 0, "ST_RETIRED": 0, "UNALIGNED_LDST_SPEC": 0,
           "UNALIGNED_LDST_RETIRED": 0, "L1D_CACHE_REFILL": (0, 0.01), "BUS_ACCESS": (-0.05, 0.05)}
NO_VECTOR = {"ASE_SPEC": 0, "VFP_SPEC": 0, "CRYPTO_SPEC": 0}
NO_ORDER = {"DMB_SPEC": 0, "DSB_SPEC": 0, "ISB_SPEC": 0, "LDREX_SPEC": 0, "STREX_SPEC": 0, "RC_LD_SPEC": 0, "RC_ST_SPEC": 0}
NO_EXCEPTION = {"EXC_TAKEN": 0, "EXC_RETURN": 0, "EXC_SVC": 0, "EXC_UNDEF": 0, "EXC_DABORT": 0, "EXC_PABORT": 0,
                "CID_WRITE_RETIRED": 0, "TTBR_WRITE_RETIRED": 0}


def code(instructions, **counts):
    out = {**LOOP, **NO_DATA, **NO_VECTOR, **NO_ORDER, **NO_EXCEPTION, "INST_RETIRED": instructions + 2,
           "INST_SPEC": (instructions + 1.9, instructions + 2.2), "DP_SPEC": 1, **counts}
    return out


def data(loads, stores, **counts):
    n = loads + stores
    return {"MEM_ACCESS": n, "MEM_ACCESS_RD": loads, "MEM_ACCESS_WR": stores, "L1D_CACHE": n, "L1D_CACHE_RD": loads,
            "L1D_CACHE_WR": stores, "L1D_TLB": n, "L1D_TLB_RD": loads, "L1D_TLB_WR": stores, "LD_SPEC": loads,
            "ST_SPEC": stores, "LDST_SPEC": n, "LD_RETIRED": loads, "ST_RETIRED": stores, **counts}


def unaligned(loads, stores):
    return {"UNALIGNED_LD_SPEC": loads, "UNALIGNED_ST_SPEC": stores, "UNALIGNED_LDST_SPEC": loads + stores,
            "UNALIGNED_LDST_RETIRED": loads + stores}


ABOUT_ONE = (0.93, 1.07)
SOME = (0.009, 1e9)
EXPECTED = {
    "nops": code(8, L1I_CACHE=(2, 4), L1I_TLB=(2, 4), L1I_CACHE_REFILL=(0, 0.01), L1I_TLB_REFILL=(0, 0.01),
                 ITLB_WALK=(0, 0.01)),
    "adds": code(4, DP_SPEC=5),
    "loads": code(3, **data(3, 0)),
    "stores": code(2, **data(0, 2)),
    # An atomic looks up the L1D once, for writing.
    "atomics": code(2, DP_SPEC=2, **data(0, 1, LD_SPEC=1, LDST_SPEC=2, LD_RETIRED=1)),
    # STADD gives nothing back: no load, the event lists say.
    "store_atomics": code(2, DP_SPEC=2, **data(0, 1)),
    "prefetches": code(1, LD_RETIRED=1, LD_SPEC=1, LDST_SPEC=1, L1D_TLB=1),
    "unaligned_loads": code(4, **data(4, 0), **unaligned(3, 0)),
    "unaligned_stores": code(3, **data(0, 3), **unaligned(0, 2)),
    "exclusive_pass": code(2, **data(1, 1), LDREX_SPEC=1, STREX_SPEC=1, STREX_PASS_SPEC=1, STREX_FAIL_SPEC=0),
    # A store that fails is left out of the A55's counts, and no access follows from it.
    "exclusive_fail": code(3, **data(1, 0, ST_SPEC={"a55": 0, "a76": 1}, LDST_SPEC={"a55": 1, "a76": 2}), LDREX_SPEC=1,
                           STREX_SPEC=1, STREX_PASS_SPEC=0, STREX_FAIL_SPEC=1),
    "acquire_release": code(2, **data(1, 1), RC_LD_SPEC=1, RC_ST_SPEC=1),
    "data_barriers": code(3, DMB_SPEC=2, DSB_SPEC=1),
    "isbs": code(1, ISB_SPEC=1, BR_RETIRED={"a55": 2, "a76": 1}, STALL_FRONTEND=SOME),
    "aes": code(3, CRYPTO_SPEC=3),
    "simd": code(3, ASE_SPEC=3),
    "fp": code(2, VFP_SPEC=2),
    "calls": code(3, BR_RETIRED=4, BR_IMMED_RETIRED=3, BR_IMMED_SPEC=3, BR_RETURN_RETIRED=1, BR_RETURN_SPEC=1,
                  BR_INDIRECT_SPEC=1, PC_WRITE_RETIRED=4, PC_WRITE_SPEC=4, BR_PRED=4, BR_RETURN_ADDR_PRED=1,
                  BR_RETURN_ADDR_MIS_PRED=(0, 0.01)),
    "odd_returns": code(2, BR_RETIRED=2, BR_RETURN_RETIRED=1, BR_RETURN_SPEC=1, BR_INDIRECT_SPEC=1, PC_WRITE_RETIRED=2,
                        PC_WRITE_SPEC=2, BR_PRED=2, BR_MIS_PRED=ABOUT_ONE, BR_MIS_PRED_RETIRED=ABOUT_ONE, DP_SPEC=2,
                        BR_RETURN_ADDR_PRED=1, BR_RETURN_ADDR_MIS_PRED=ABOUT_ONE, INST_SPEC={"a55": 4, "a76": (4, 40)}),
    "indirect": code(2, BR_RETIRED=2, BR_INDIRECT_SPEC=1, PC_WRITE_RETIRED=2, PC_WRITE_SPEC=2, BR_PRED=2, DP_SPEC=2,
                     BR_INDIRECT_ADDR_PRED=1, BR_INDIRECT_MIS_PRED=(0, 0.01), BR_INDIRECT_ADDR_MIS_PRED=(0, 0.01)),
    # Conditional branches that are never taken: retired, predicted, but no software change of the PC.
    "untaken": code(2, BR_RETIRED=3, BR_IMMED_RETIRED=3, BR_IMMED_SPEC=3, BR_PRED=3, PC_WRITE_RETIRED=1, PC_WRITE_SPEC=3,
                    BR_COND_PRED=3),
    "add_chain": code(3, DP_SPEC=4, STALL_BACKEND=SOME, STALL_BACKEND_ILOCK=SOME),
    "div_chain": code(5, DP_SPEC=6, STALL_BACKEND=SOME, STALL_BACKEND_ILOCK=SOME),
    "fp_chain": code(4, CPU_CYCLES={"a55": (15.98, 16.3), "a76": (7.98, 8.3)},
                     BUS_CYCLES={"a55": (15.98, 16.3), "a76": (7.98, 8.3)}, VFP_SPEC=4,
                     # Something goes out in five cycles of a round, on the A76 in four: with each FADD.
                     STALL_BACKEND={"a55": (10.9, 11.1), "a76": (3.9, 4.1)}, STALL_BACKEND_ILOCK=SOME, STALL_BACKEND_ILOCK_FPU=SOME),
    "address_chain": code(3, DP_SPEC=3, **data(1, 0), STALL_BACKEND_ILOCK=SOME, STALL_BACKEND_ILOCK_AGU=SOME),
    # DC ZVA is a store.
    "zero_line": code(1, **data(0, 1), BUS_ACCESS_WR=(0, 0.05)),
    # One load and one store each, though of two registers.
    "pairs": code(2, **data(1, 1)),
    "compare_swaps": code(1, **data(0, 1, LD_SPEC=1, LDST_SPEC=2, LD_RETIRED=1)),
    "ordered_atomics": code(1, **data(0, 1, LD_SPEC=1, LDST_SPEC=2, LD_RETIRED=1), RC_LD_SPEC=1, RC_ST_SPEC=1),
    "ordered_exclusives": code(2, **data(1, 1), LDREX_SPEC=1, STREX_SPEC=1, STREX_PASS_SPEC=1, STREX_FAIL_SPEC=0, RC_LD_SPEC=1,
                               RC_ST_SPEC=1),
    "indirect_calls": code(4, BR_RETIRED=4, BR_IMMED_RETIRED=2, BR_IMMED_SPEC=2, BR_RETURN_RETIRED=1, BR_RETURN_SPEC=1,
                           BR_INDIRECT_SPEC=2, PC_WRITE_RETIRED=4, PC_WRITE_SPEC=4, BR_PRED=4, DP_SPEC=2, BR_RETURN_ADDR_PRED=1,
                           BR_INDIRECT_ADDR_PRED=1, BR_RETURN_ADDR_MIS_PRED=(0, 0.01), BR_INDIRECT_MIS_PRED=(0, 0.01)),
    "long_products": code(1, CRYPTO_SPEC=1),
    "system_registers": code(2),
    # The A76 has the line in its L1D and asks nobody; the A55 has it in the L2 only, which is looked up each time.
    "far_prefetches": code(1, LD_RETIRED=1, LD_SPEC=1, LDST_SPEC=1, L1D_TLB=1, L2D_CACHE={"a55": 1, "a76": (0, 0.01)},
                           L2D_CACHE_RD={"a55": 1, "a76": (0, 0.01)}),
    # Whole lines are written without being read: an allocation in the L2 or a write to the outside, never a refill.
    "zero_lines": {"MEM_ACCESS_WR": (1, 3), "L2D_CACHE_WR": (0.8, 2.2), "L1D_CACHE_REFILL_WR": (0, 0.05),
                   "BUS_ACCESS_WR": SOME, "L2D_CACHE_REFILL_WR": 0},
    # The generator flips a coin.
    "random_branches": {"BR_MIS_PRED": (0.4, 0.6), "BR_COND_MIS_PRED": (0.4, 0.6), "BR_RETIRED": 2,
                        "INST_SPEC": {"a55": (6.4, 6.6), "a76": (6.6, 40)}, "DP_SPEC": {"a55": 4, "a76": (4.01, 40)},
                        "PC_WRITE_SPEC": {"a55": 2, "a76": (2.01, 40)}, "INST_RETIRED": (6.4, 6.6)},
    "random_targets": {"BR_MIS_PRED": (0.7, 1.1), "BR_INDIRECT_MIS_PRED": (0.7, 1.1), "BR_INDIRECT_SPEC": 1,
                       "BR_INDIRECT_ADDR_MIS_PRED": (0.7, 1.1)},
    "load_l2": {"L1D_CACHE_REFILL": ABOUT_ONE, "L1D_CACHE_REFILL_RD": ABOUT_ONE, "L1D_CACHE_REFILL_INNER": ABOUT_ONE,
                "L1D_CACHE_REFILL_OUTER": (0, 0.01), "L2D_CACHE": (0.93, 2.1), "L2D_CACHE_RD": ABOUT_ONE,
                "L2D_CACHE_REFILL": (-0.1, 0.1), "LD_SPEC": 1, "L1D_CACHE_RD": ABOUT_ONE,
                # The lines are dirty since they were linked. The A55's L2 gives them back whole, being exclusive.
                "L1D_CACHE_WB": {"a55": ABOUT_ONE, "a76": (-0.02, 0.02)},
                "STALL_BACKEND": SOME, "STALL_BACKEND_LD": SOME, "STALL_BACKEND_LD_CACHE": SOME},
    "load_l3": {"L2D_CACHE_REFILL": ABOUT_ONE, "L2D_CACHE_REFILL_RD": ABOUT_ONE, "L3D_CACHE_RD": (0.9, 1.2),
                "LL_CACHE_RD": (0.9, 1.2), "L3D_CACHE": (0.9, 2.3), "L3D_CACHE_REFILL": (0, 0.1),
                "LL_CACHE_MISS_RD": (0, 0.1), "BUS_ACCESS_RD": (1, 5), "L1D_CACHE_REFILL_INNER": (0.9, 1.4)},
    "load_dram": {"L3D_CACHE_REFILL": (0.9, 1.1), "L3D_CACHE_REFILL_RD": (0.9, 1.1), "LL_CACHE_MISS_RD": (0.9, 1.1),
                  "L1D_CACHE_REFILL_OUTER": (0.9, 1.1), "L2D_CACHE_WB": SOME, "L2D_CACHE_WB_VICTIM": SOME,
                  "L3D_CACHE_ALLOCATE": SOME},
    "load_tlb": {"L1D_TLB_REFILL": ABOUT_ONE, "L1D_TLB_REFILL_RD": ABOUT_ONE, "L1D_TLB_REFILL_WR": (0, 0.01),
                 "L2D_TLB": ABOUT_ONE, "L2D_TLB_RD": ABOUT_ONE, "DTLB_WALK": (0, 0.01), "L2D_TLB_REFILL": (0, 0.01)},
    "load_walk": {"DTLB_WALK": ABOUT_ONE, "L2D_TLB_REFILL": ABOUT_ONE, "L2D_TLB_REFILL_RD": ABOUT_ONE,
                  "L1D_TLB_REFILL": ABOUT_ONE, "L2D_LLWALK_TLB": ABOUT_ONE, "L2D_LLWALK_TLB_REFILL": (0, 0.01),
                  # The walk reads the last table, as a load on the A55, from the L2 on the A76.
                  "L1D_CACHE_RD": {"a55": (1.9, 2.1), "a76": 1}, "L1D_CACHE_REFILL_RD": {"a55": (1.5, 2.1), "a76": ABOUT_ONE},
                  "L2D_CACHE_RD": (1.5, 2.1), "MEM_ACCESS_RD": 1, "STALL_BACKEND_LD_TLB": SOME},
    "load_far": {"DTLB_WALK": ABOUT_ONE, "L2D_LLWALK_TLB": ABOUT_ONE, "L2D_LLWALK_TLB_REFILL": ABOUT_ONE,
                 "L2D_L2WALK_TLB": ABOUT_ONE, "L2D_L2WALK_TLB_REFILL": (0, 0.01)},
    "load_farthest": {"L2D_L2WALK_TLB": ABOUT_ONE, "L2D_L2WALK_TLB_REFILL": ABOUT_ONE},
    "store_l2": {"L1D_CACHE_REFILL_WR": ABOUT_ONE, "L1D_CACHE_REFILL_RD": (0, 0.05), "L1D_CACHE_WB": ABOUT_ONE,
                 "L1D_CACHE_WB_VICTIM": ABOUT_ONE, "L1D_CACHE_WB_CLEAN": 0, "L2D_CACHE_WR": ABOUT_ONE,
                 "L2D_CACHE_ALLOCATE": ABOUT_ONE, "L1D_CACHE_INVAL": (0, 0.02),
                 "L1D_CACHE_WR": 1},
    "store_l3": {"L2D_CACHE_REFILL": ABOUT_ONE, "L2D_CACHE_REFILL_RD": ABOUT_ONE, "L2D_CACHE_REFILL_WR": 0,
                 "L2D_CACHE_WB": (0.5, 1.1), "L2D_CACHE_WB_VICTIM": (0.5, 1.1), "BUS_ACCESS_WR": SOME},
    "store_tlb": {"L1D_TLB_REFILL": ABOUT_ONE, "L1D_TLB_REFILL_WR": ABOUT_ONE, "L2D_TLB_WR": ABOUT_ONE},
    "store_walk": {"DTLB_WALK": ABOUT_ONE, "L2D_TLB_REFILL_WR": ABOUT_ONE, "STALL_BACKEND_ST": SOME,
                   "STALL_BACKEND_ST_TLB": SOME},
    "fill": {"L1D_CACHE_REFILL_WR": (0, 0.05), "L1D_WS_MODE_ENTRY": (0, 0.1), "L1D_WS_MODE": SOME, "L2D_WS_MODE": SOME,
             # Each line goes out once, 16 bytes a beat, on the Cortex-A76 32, and with it some older one.
             "L3D_WS_MODE": SOME, "BUS_ACCESS_WR": {"a55": (3.9, 4.2), "a76": (1.9, 2.6)},
             # Alone it is 0. Once something else has interrupted the stores, lines ahead of them are prefetched, and as stores that
             # hit train on but are no lines that missed, write streaming does not begin again: up to half of the lines are read.
             "BUS_ACCESS_RD": (-2.5, 2.5)},
    "store_bursts": {"STALL_BACKEND_ST_STB": SOME, "L1D_CACHE_WR": (8, 20)},
    "short_fills": {"L2D_CACHE_ALLOCATE": SOME, "L1D_WS_MODE_ENTRY": (0.009, 0.1)},
    # On the A55 a few lines are asked for before they are prefetched; how many depends on the times of misses, and no board says.
    # On the A76 a prefetched line that comes late is a refill, and they come late in spells: no figure to hold it to.
    "read_on": {"L1D_CACHE_REFILL": {"a55": (0, 0.15)}, "L1D_CACHE_REFILL_PREFETCH": SOME, "BUS_ACCESS_RD": (1.9, 4.1),
                "L3D_CACHE_REFILL_PREFETCH": SOME},
    # A board's A76 counts in each round 0.418 refills, 1.000 look-ups of the L1D, 2.10 of the L2 (0.1 of them walks), 0.996
    # reads from the L3, 0.864 of them from memory, 0.1094 L1 TLB refills, and 0.0975 walks, the L2 TLB keeping some.
    "walk_by_seven": {"LD_SPEC": 1, "L1D_CACHE": {"a55": (1, 1.2), "a76": 1}, "L1D_CACHE_REFILL": {"a55": (0.1, 0.3), "a76": (0.2, 0.5)},
                      "L2D_CACHE": (1.8, 2.2), "L2D_CACHE_RD": {"a55": (1, 1.2), "a76": (1.8, 2.2)}, "LL_CACHE_RD": (0.95, 1.05),
                      "L2D_CACHE_REFILL": {"a55": (0.9, 1.1), "a76": (0.2, 0.25)}, "LL_CACHE_MISS_RD": {"a55": (0, 0.05), "a76": (0.8, 1.1)}, "L1D_TLB_REFILL": (0.109, 0.11),
                      "DTLB_WALK": (0.09, 0.11), "STALL_BACKEND": SOME},
    "clean_lines": {"L1D_CACHE_WB": ABOUT_ONE, "L1D_CACHE_WB_CLEAN": ABOUT_ONE, "L1D_CACHE_INVAL": ABOUT_ONE,
                    "L1D_CACHE_WB_VICTIM": (0, 0.01)},
    "clean_l2_lines": {"L2D_CACHE_WB_CLEAN": (0.5, 1.1), "L2D_CACHE_INVAL": (0.5, 1.1)},
    # The other CPU takes the line, modified, and gives it back.
    "shared_line": {"L1D_CACHE_WB_CLEAN": (0.9, 2.2), "L1D_CACHE_INVAL": (0.9, 2.2), "L1D_CACHE_REFILL_INNER": (0.9, 2.2),
                    "L1D_CACHE_REFILL_OUTER": (0, 0.2), "L3D_CACHE_REFILL": (0, 0.2)},
    "code_lines": {"L1I_CACHE_REFILL": (0.4, 1.05), "L1I_TLB_REFILL": (0, 0.6), "STALL_FRONTEND": SOME,
                   "STALL_FRONTEND_CACHE": SOME},
    "code_pages": {"L1I_TLB_REFILL": ABOUT_ONE, "ITLB_WALK": ABOUT_ONE, "L2D_TLB_REFILL": ABOUT_ONE,
                   "DTLB_WALK": (0, 0.01)},
    "code_tlb": {"L1I_TLB_REFILL": (0.5, 1.05), "ITLB_WALK": (0, 0.02), "STALL_FRONTEND_TLB": SOME},
    "svcs": {"EXC_SVC": 1, "EXC_TAKEN": (1, 1.1), "EXC_RETURN": (1, 1.1), "EXC_UNDEF": 0, "EXC_DABORT": (0, 0.02),
             "INST_RETIRED": (400, 620), "BR_MIS_PRED": (0.05, 20)},
    "undefined": {"EXC_UNDEF": 1, "EXC_SVC": 1, "EXC_TAKEN": (2, 2.3)},
    # One interrupt more or less in the empty run is 0.025 of these 40 rounds.
    "data_aborts": {"EXC_DABORT": 1, "EXC_TAKEN": (0.97, 1.3), "EXC_SVC": 0},
    "insn_aborts": {"EXC_PABORT": 1, "EXC_SVC": 1, "EXC_DABORT": 0},
    "breakpoints": {"EXC_TAKEN": (1.97, 2.3), "EXC_UNDEF": 0, "EXC_SVC": 1},
    "interrupts": {"EXC_IRQ": (0.6, 3)},
    "switches": {"TTBR_WRITE_RETIRED": (2, 2.5), "EXC_SVC": (4, 4.1)},
}

# Listed as counted, but nothing that a program under Linux 6.1 does makes them move.
UNREACHABLE = {
    "SW_INCR": "PMUSERENR_EL0.SW stays 0, and the kernel does not write PMSWINC_EL0 (tests/models/pmu_v3)",
    "CHAIN": "counts wraps of the counter below; the driver never schedules it alone (tests/models/pmu_v3)",
    "CID_WRITE_RETIRED": "CONFIG_PID_IN_CONTEXTIDR is off in Debian's and Rockchip's kernels",
}


class EventKernels(rk.Case):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.counts = {}

    def measured(self, core):
        """(kernel, event name) -> count per round."""
        if core in self.counts:
            return self.counts[core]
        program = self.path("event_kernels")
        done = subprocess.run([CC, "-std=gnu11", "-O1", "-Wall", "-static", "-march=armv8.2-a+crypto+lse", "-o", program,
                               HERE / "event_kernels.c"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        names, _, _ = events(core)
        chosen = [f"{n:02x}" for n, name in names.items() if name != "CHAIN"]
        r = self.rkperf("run", "--quiet", "--cpus", CPUS[core], "--", program, *chosen, timeout=800)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn(f"core {core}\n", r.stdout)
        out = {}
        for line in r.stdout.splitlines()[1:]:
            kernel, event, n, count = line.split()
            out[kernel, names[int(event, 16)]] = int(count) / int(n)
        self.counts[core] = out
        return out

    def check(self, core):
        counts = self.measured(core)
        names, zero, _ = events(core)
        faults, judged = [], set()
        for kernel, expected in EXPECTED.items():
            for event, value in expected.items():
                if isinstance(value, dict):
                    value = value.get(core)
                if value is None:
                    continue
                found = counts.get((kernel, event))
                if found is None:
                    continue
                low, high = value if isinstance(value, tuple) else (value, value)
                if high > 0:
                    judged.add(event)
                if not low - 0.006 <= found <= high + 0.006:
                    faults.append(f"{core} {kernel}: {event} {found:.4g}, not {low:.4g} to {high:.4g}")
        for n, name in names.items():
            here = [(k, v) for (k, e), v in counts.items() if e == name and v]
            if n in zero or name in UNREACHABLE:
                if here:
                    faults.append(f"{core}: {name} is said to stay 0, but {here[0]}")
            elif not here:
                faults.append(f"{core}: {name} never moves")
            elif name not in judged:
                faults.append(f"{core}: no piece of code judges {name}")
        self.assertFalse(faults, "\n" + "\n".join(faults))

    def test_a55(self):
        self.check("a55")

    def test_a76(self):
        self.check("a76")


if __name__ == "__main__":
    rk.main()
