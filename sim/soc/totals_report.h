// SPDX-License-Identifier: Apache-2.0
// All that the cores have counted, as a text: for comparing runs.
#pragma once

#include <string>

namespace rkperf::soc {

class Machine;

/// The simulated time, then one line for each core and event that is not zero: "cpu4 0x11 CPU_CYCLES 123 45 0 0", the
/// totals at EL0 to EL3. In order of cores and event numbers.
std::string print_totals(Machine& machine);

} // namespace rkperf::soc
