// SPDX-License-Identifier: Apache-2.0
// --check-fast: the same run twice, first by the cores' plain execution loop and then by the fast ones, and a comparison
// of everything that came of it, byte for byte.
#pragma once

#include "sim/cli/options.h"

namespace rkperf::cli {

/// Does both, each in a process of its own, because SystemC elaborates once per process. Standard output and standard
/// error are those of the second run. Compared are both, the exit status, the totals of all events on all cores
/// (soc::print_totals), and the files directly in the current folder and in the folders of --bind that came or were
/// replaced. The exit status is the program's, or kExitDiffers after naming what differs. Throws UserError, where a run
/// changed a file in place that was there before, and so cannot be repeated.
int check_fast(const Options& options);

/// What --check-fast ends with if the two runs differ.
inline constexpr int kExitDiffers = 3;

} // namespace rkperf::cli
