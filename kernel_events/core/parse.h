// SPDX-License-Identifier: Apache-2.0
// Numbers as the kernel reads them from /sys and /proc files.
#pragma once

#include <limits>
#include <string_view>

namespace rkperf::ke {

/// kstrtoint with base 0: sign, 0x or 0 prefix, one trailing newline. 0, -EINVAL or -ERANGE.
int kstrtoint(std::string_view text, int& value);
/// What proc_dointvec_minmax makes of a write: a number between blanks, up to whatever comes next. The bytes taken, or
/// -EINVAL. A write of nothing leaves the value alone.
int proc_dointvec(std::string_view text, int& value, int min = std::numeric_limits<int>::min(),
                  int max = std::numeric_limits<int>::max());

} // namespace rkperf::ke
