// SPDX-License-Identifier: Apache-2.0
// /proc: files about the machine, about tasks, and /proc/sys.
#pragma once

#include "sim/os/fs/vfs_impl.h"

namespace rkperf::os {

class AddressSpace;
struct Vma;

void add_procfs(VfsImpl& vfs, Kernel& kernel);
/// Files of the root folder that are not about tasks (proc_files.cpp), and /proc/sys (proc_sys.cpp).
void add_proc_files(AttrFs& fs, VfsImpl& vfs, Kernel& kernel);
/// /proc/net (proc_net.cpp).
void add_proc_net(AttrFs& fs, VfsImpl& vfs);
void add_proc_sys(AttrFs& fs, VfsImpl& vfs, Kernel& kernel);
/// Folder of the tasks in the root, by number, self and thread-self (proc_pid.cpp).
/// with the numbers of a pid namespace (null: the initial one).
int proc_task_lookup(AttrFs& fs, VfsImpl& vfs, Kernel& kernel, const std::shared_ptr<PidNamespace>& ns,
                     const std::string& name, NodePtr& out);
void proc_task_list(AttrFs& fs, Kernel& kernel, const PidNamespace* ns, std::vector<DirEntry>& out);
/// Options of a mount of /proc.
struct ProcOptions {
    enum class HidePid : std::uint8_t { off = 0, noaccess = 1, invisible = 2, ptraceable = 4 };
    HidePid hidepid{HidePid::off}; ///< what others than a task's owner see of it
    std::uint32_t gid{};           ///< who is in this group sees all
    bool subset_pid{};             ///< no files but those of tasks
    std::string text() const;      ///< as in /proc/mounts
};
/// Parses mount(2)'s data; 0 or -EINVAL.
int proc_options(std::string_view data, ProcOptions& out);
/// The root for another mount of /proc, that of the tasks of a pid namespace.
NodePtr proc_root_for(VfsImpl& vfs, Kernel& kernel, const std::shared_ptr<PidNamespace>& ns,
                      const ProcOptions& options);

/// Text of one line or block of a task's files (proc_task_text.cpp). They return 0 or -errno.
int proc_stat_text(Kernel& k, Task& t, bool whole_process, const PidNamespace* ns, std::string& out);
int proc_status_text(Kernel& k, Task& t, const PidNamespace* ns, std::string& out);
int proc_maps_text(Kernel& k, Task& t, std::string& out);
/// The mapping's line of maps and smaps.
void proc_map_line(const AddressSpace& as, const Vma& v, std::string& out);
int proc_smaps_text(Kernel& k, Task& t, bool rollup, std::string& out);
int proc_limits_text(Kernel& k, Task& t, std::string& out);
/// What a task does in the kernel, and its page table (proc_kernel_view.cpp).
int proc_syscall_text(Kernel& k, Task& t, std::string& out);
int proc_wchan_text(Kernel& k, Task& t, std::string& out);
int proc_stack_text(Kernel& k, Task& t, std::string& out);
int proc_open_pagemap(Kernel& k, Task& t, const DentryPtr& name, std::uint32_t flags, FileHandle& out);
/// /proc/PID/mounts (false) or mountinfo (true), as seen from the task's root.
std::string proc_mounts_text(VfsImpl& vfs, const Task& t, bool info);

/// printf into a string that grows.
void append(std::string& out, const char* format, ...) __attribute__((format(printf, 2, 3)));

} // namespace rkperf::os
