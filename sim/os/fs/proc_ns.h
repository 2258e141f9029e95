// SPDX-License-Identifier: Apache-2.0
// What /proc/PID says of namespaces: the folder ns, and the files uid_map, gid_map, projid_map and setgroups.
#pragma once

#include "sim/os/fs/attr_tree.h"
#include "sim/os/task.h"

namespace rkperf::os {

NodePtr make_ns_dir(AttrFs& fs, Kernel& k, int tid);

enum class IdMapFile : std::uint8_t { uid, gid, projid, setgroups };
std::string id_map_text(Kernel& k, Task& t, IdMapFile which);
/// Bytes taken or -errno (user_namespaces(7)).
std::int64_t id_map_write(Kernel& k, Task& t, IdMapFile which, std::string_view text);

} // namespace rkperf::os
