// SPDX-License-Identifier: Apache-2.0
// Numbers as the kernel reads them from /sys and /proc files.
#pragma once

#include <string_view>

namespace rkperf::ke {

/// kstrtoint with base 0: sign, 0x or 0 prefix, one trailing newline. 0, -EINVAL or -ERANGE.
int kstrtoint(std::string_view text, int& value);
/// proc_dointvec: leading blanks, a number, then a blank or the end; what follows is ignored. 0 or -EINVAL.
int proc_dointvec(std::string_view text, int& value);

} // namespace rkperf::ke
