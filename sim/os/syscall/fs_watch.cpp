// SPDX-License-Identifier: Apache-2.0
// inotify.
#include "sim/os/fs/inotify.h"
#include "sim/os/fs/vfs_impl.h"
#include "sim/os/syscall/fs_common.h"

namespace rkperf::os {

namespace {

std::int64_t sys_inotify_init1(Kernel& k, Task& t, const SyscallArgs& a) {
    const auto flags = static_cast<std::uint32_t>(a[0]);
    if (flags & ~(abi::o_cloexec | abi::o_nonblock)) return -EINVAL;
    int error = 0;
    auto file = vfs_of(k).notify().make(flags & abi::o_nonblock, error);
    return file ? new_fd(k, t, std::move(file), flags & abi::o_cloexec) : error;
}

std::int64_t sys_inotify_add_watch(Kernel& k, Task& t, const SyscallArgs& a) {
    const auto mask = static_cast<std::uint32_t>(a[2]);
    if (mask & ~inotify::all_bits || !(mask & inotify::all_bits)) return -EINVAL;
    const FileHandle file = file_of_fd(t, a[0]);
    if (!file) return -EBADF;
    if (mask & inotify::mask_add && mask & inotify::mask_create) return -EINVAL;
    auto* group = dynamic_cast<InotifyFile*>(file.get());
    if (!group) return -EINVAL;
    std::string path;
    if (const int err = k.get_string(a[1], path); err) return err;
    Found what;
    if (const int err = vfs_of(k).walk(abi::at_fdcwd, path, !(mask & inotify::dont_follow), false, what); err)
        return err;
    // What has no name has no inode that could be watched.
    if (!what.dentry) return mask & inotify::onlydir ? -ENOTDIR : -EOPNOTSUPP;
    if (mask & inotify::onlydir && !what.dentry->node->is_dir()) return -ENOTDIR;
    if (const int err = what.dentry->node->permission(kMayRead, vfs_of(k).services().cred()); err) return err;
    return group->add_watch(what.dentry, mask);
}

std::int64_t sys_inotify_rm_watch(Kernel&, Task& t, const SyscallArgs& a) {
    const FileHandle file = file_of_fd(t, a[0]);
    if (!file) return -EBADF;
    auto* group = dynamic_cast<InotifyFile*>(file.get());
    return group ? group->rm_watch(static_cast<int>(a[1])) : -EINVAL;
}

constexpr SyscallRow kRows[] = {
    {26, "inotify_init1", sys_inotify_init1, 1},
    {27, "inotify_add_watch", sys_inotify_add_watch, 3},
    {28, "inotify_rm_watch", sys_inotify_rm_watch, 2},
};

} // namespace

std::span<const SyscallRow> fs_watch_rows() { return kRows; }

} // namespace rkperf::os
