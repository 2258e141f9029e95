// SPDX-License-Identifier: Apache-2.0
// The files of tracefs that show and set ftrace's own ring buffer: trace, trace_pipe, trace_marker, tracing_on, per_cpu/.
#pragma once

#include "sim/os/fs/attr_tree.h"

namespace rkperf::os {

class Kernel;

void add_ftrace_files(AttrFs& fs, Kernel& k);

} // namespace rkperf::os
