// SPDX-License-Identifier: Apache-2.0
// /proc: files about the machine, about tasks, and /proc/sys.
#pragma once

#include "sim/os/fs/vfs_impl.h"

namespace rkperf::os {

void add_procfs(VfsImpl& vfs, Kernel& kernel);
/// Files of the root folder that are not about tasks (proc_files.cpp), and /proc/sys (proc_sys.cpp).
void add_proc_files(AttrFs& fs, VfsImpl& vfs, Kernel& kernel);
void add_proc_sys(AttrFs& fs, VfsImpl& vfs, Kernel& kernel);
/// Folder of the tasks in the root, by number, self and thread-self (proc_pid.cpp).
int proc_task_lookup(AttrFs& fs, VfsImpl& vfs, Kernel& kernel, const std::string& name, NodePtr& out);
void proc_task_list(AttrFs& fs, Kernel& kernel, std::vector<DirEntry>& out);

/// Text of one line or block of a task's files (proc_task_text.cpp). They return 0 or -errno.
int proc_stat_text(Kernel& k, Task& t, bool whole_process, std::string& out);
int proc_status_text(Kernel& k, Task& t, std::string& out);
int proc_maps_text(Kernel& k, Task& t, std::string& out);
int proc_smaps_text(Kernel& k, Task& t, bool rollup, std::string& out);
int proc_limits_text(Kernel& k, Task& t, std::string& out);
/// /proc/mounts (false) or mountinfo (true), as seen from the root.
std::string proc_mounts_text(VfsImpl& vfs, bool info);

/// printf into a string that grows.
void append(std::string& out, const char* format, ...) __attribute__((format(printf, 2, 3)));

} // namespace rkperf::os
