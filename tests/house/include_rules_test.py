# SPDX-License-Identifier: Apache-2.0
"""scripts/check-includes finds each kind of fault, and nothing else."""
import os
import pathlib
import subprocess
import tempfile
import unittest

CHECK = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check-includes"
LICENCE = "// SPDX-License-Identifier: Apache-2.0\n"


class IncludeRules(unittest.TestCase):
    def check(self, files):
        """Runs the check on a tree of these files; returns the lines of faults."""
        with tempfile.TemporaryDirectory() as tmp:
            for name, text in files.items():
                path = pathlib.Path(tmp, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text if text.startswith("//") else LICENCE + text)
            run = subprocess.run([CHECK, tmp], capture_output=True, text=True, check=False)
            faults = run.stdout.splitlines()[:-1]
            self.assertEqual(run.returncode, 1 if faults else 0, run.stderr)
            return faults

    def test_arrows_of_the_table_are_allowed(self):
        self.assertEqual([], self.check({
            "sim/base/types.h": "",
            "models/a64/state.h": '#include "sim/base/types.h"\n',
            "models/cpu/core.h": '#include "models/a64/state.h"\n#include <systemc>\n',
            "models/cpu_a76/core.cpp": '#include "models/cpu/core.h"\n#include "sim/base/types.h"\n',
            "kernel_events/core/open.cpp": '#include "kernel_events/internal.h"\n#include <linux/perf_event.h>\n',
            "kernel_events/internal.h": '#include "sim/base/types.h"\n',
            "tests/models/cpu/core.cpp": '#include "models/a64/state.h"\n#include "tests/support/run_catch.h"\n',
            "tests/support/run_catch.h": "",
        }))

    def test_an_arrow_upwards_is_a_fault(self):
        faults = self.check({
            "sim/base/types.h": '#include "models/pmu_v3/pmu.h"\n',
            "models/pmu_v3/pmu.h": "",
        })
        self.assertEqual(1, len(faults))
        self.assertIn("sim/base may not include models/pmu_v3/pmu.h", faults[0])
        self.assertTrue(faults[0].startswith("sim/base/types.h:2:"))

    def test_an_arrow_sideways_is_a_fault_in_sources_and_tests(self):
        for place in ("", "tests/"):
            with self.subTest(place):
                faults = self.check({
                    place + "models/pmu_v3/pmu.cpp": '#include "models/cpu/core.h"\n',
                    "models/cpu/core.h": "",
                })
                self.assertEqual(1, len(faults))

    def test_a_relative_path_does_not_hide_an_arrow(self):
        self.assertEqual(1, len(self.check({
            "kernel_events/core/open.cpp": '#include "../../sim/os/task.h"\n',
            "sim/os/task.h": "",
        })))

    def test_systemc_does_not_reach_the_kernel_through_a_header(self):
        faults = self.check({
            "sim/base/tlm_bus.h": "#include <tlm>\n",
            "kernel_events/kernel.h": '#include "sim/base/tlm_bus.h"\n',
            "models/gic/gic.cpp": '#include "sim/base/tlm_bus.h"\n',
        })
        self.assertEqual(1, len(faults))
        self.assertIn("kernel_events may not know SystemC", faults[0])

    def test_a64_knows_no_linux(self):
        self.assertEqual(1, len(self.check({"models/a64/x.cpp": "#include <linux/perf_event.h>\n"})))

    def test_sources_do_not_include_tests(self):
        self.assertEqual(1, len(self.check({
            "models/gic/x.cpp": '#include "tests/support/x.h"\n', "tests/support/x.h": ""})))

    def test_missing_file_of_a_room(self):
        self.assertEqual(1, len(self.check({"models/gic/x.cpp": '#include "models/gic/gone.h"\n'})))

    def test_workloads_stand_alone(self):
        self.assertEqual(1, len(self.check({
            "workloads/a.c": '#include "lib/perf.h"\n#include "sim/base/types.h"\n#include <stdio.h>\n',
            "workloads/lib/perf.h": "", "sim/base/types.h": ""})))

    def test_length(self):
        self.assertEqual([], self.check({"models/gic/x.cpp": "\n" * 799}))
        self.assertEqual(1, len(self.check({"models/gic/x.cpp": "\n" * 800})))

    def test_licence(self):
        self.assertEqual(1, len(self.check({"models/gic/x.cpp": "// no licence\n"})))

    def test_unknown_room(self):
        self.assertEqual(1, len(self.check({"models/new_thing/x.cpp": ""})))


if __name__ == "__main__":
    unittest.main()
