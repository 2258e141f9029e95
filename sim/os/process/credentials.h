// SPDX-License-Identifier: Apache-2.0
// What a change of a task's credentials brings with it (credentials(7), capabilities(7)).
#pragma once

#include "sim/os/task.h"

namespace rkperf::os {

/// Bits of Credentials::securebits; the bit above each locks it.
namespace securebit {
constexpr std::uint32_t noroot = 1u << 0, no_setuid_fixup = 1u << 2, keep_caps = 1u << 4,
                        no_cap_ambient_raise = 1u << 6;
constexpr std::uint32_t all_bits = 0x55, all_locks = 0xaa;
} // namespace securebit

/// The task's credentials were `old`. Who runs with rights other than before is not to be looked into, and its parent's
/// death no longer sends it a signal.
void commit_creds(Task& t, const Credentials& old);

/// cap_task_fix_setuid for changes of real, effective or saved user id.
void fix_caps_after_setuid(Credentials& c, const Credentials& old);
/// The same for the file system's user id: only capabilities that concern files come and go.
void fix_caps_after_setfsuid(Credentials& c, const Credentials& old);

} // namespace rkperf::os
