// SPDX-License-Identifier: Apache-2.0
// Calls that take paths, and what they do with descriptors.
#include "sim/os/fs/inotify.h"
#include "sim/os/ns/namespaces.h"
#include "sim/os/syscall/fs_common.h"

#include <sys/stat.h>
#include <algorithm>
#include <cstring>

namespace rkperf::os {

namespace {

// --- stat ---

std::int64_t put_stat(Kernel& k, std::uint64_t address, const FileStat& s) {
    abi::stat o{};
    o.st_dev = s.dev;
    o.st_ino = s.ino;
    o.st_mode = s.mode;
    o.st_nlink = s.nlink;
    const UserNamespace* user = k.cur().cred.user_ns.get();
    o.st_uid = from_kuid_munged(user, s.uid);
    o.st_gid = from_kgid_munged(user, s.gid);
    o.st_rdev = s.rdev;
    o.st_size = s.size;
    o.st_blksize = static_cast<std::int32_t>(s.blksize);
    o.st_blocks = s.blocks;
    o.atime_s = s.atime_s, o.atime_ns = s.atime_ns;
    o.mtime_s = s.mtime_s, o.mtime_ns = s.mtime_ns;
    o.ctime_s = s.ctime_s, o.ctime_ns = s.ctime_ns;
    return k.put(address, o) ? -EFAULT : 0;
}

std::int64_t sys_newfstatat(Kernel& k, Task&, const SyscallArgs& a) {
    const int flags = static_cast<int>(a[3]);
    if (flags & ~(abi::at_symlink_nofollow | abi::at_empty_path | abi::at_no_automount | abi::at_statx_sync_type))
        return -EINVAL;
    std::string path;
    if (const int err = k.get_string(a[1], path); err) return err;
    FileStat st;
    if (const int err = vfs_of(k).statat(fd_of(a[0]), path, flags, st); err) return err;
    return put_stat(k, a[2], st);
}

std::int64_t sys_fstat(Kernel& k, Task& t, const SyscallArgs& a) {
    Frame f(k, KernelSymbol::vfs_fstat);
    const FileHandle file = file_of_fd(t, a[0], true);
    if (!file) return -EBADF;
    FileStat st;
    if (const int err = file->stat(st); err) return err;
    return put_stat(k, a[1], st);
}

std::int64_t sys_statx(Kernel& k, Task& t, const SyscallArgs& a) {
    constexpr std::uint32_t kMntId = 0x1000, kReserved = 0x80000000u;
    constexpr std::uint64_t kAttrMountRoot = 0x2000;
    const int flags = static_cast<int>(a[2]);
    const auto mask = static_cast<std::uint32_t>(a[3]);
    if (mask & kReserved || (flags & abi::at_statx_sync_type) == abi::at_statx_sync_type) return -EINVAL;
    if (flags & ~(abi::at_symlink_nofollow | abi::at_empty_path | abi::at_no_automount | abi::at_statx_sync_type))
        return -EINVAL;
    std::string path;
    if (const int err = k.get_string(a[1], path); err) return err;
    Found what;
    {
        Frame f(k, KernelSymbol::vfs_statx);
        const bool follow = !(flags & abi::at_symlink_nofollow);
        if (const int err = vfs_of(k).walk(fd_of(a[0]), path, follow, flags & abi::at_empty_path, what); err)
            return err;
    }
    FileStat s;
    if (const int err = what.stat(s); err) return err;
    struct ::statx o {};
    o.stx_mask = STATX_BASIC_STATS | kMntId;
    o.stx_blksize = s.blksize;
    o.stx_nlink = s.nlink;
    o.stx_uid = from_kuid_munged(t.cred.user_ns.get(), s.uid);
    o.stx_gid = from_kgid_munged(t.cred.user_ns.get(), s.gid);
    o.stx_mode = static_cast<std::uint16_t>(s.mode);
    o.stx_ino = s.ino;
    o.stx_size = static_cast<std::uint64_t>(s.size);
    o.stx_blocks = static_cast<std::uint64_t>(s.blocks);
    o.stx_atime.tv_sec = s.atime_s, o.stx_atime.tv_nsec = s.atime_ns;
    o.stx_mtime.tv_sec = s.mtime_s, o.stx_mtime.tv_nsec = s.mtime_ns;
    o.stx_ctime.tv_sec = s.ctime_s, o.stx_ctime.tv_nsec = s.ctime_ns;
    const auto major = [](std::uint64_t d) { return static_cast<std::uint32_t>(d >> 8 & 0xfff); };
    const auto minor = [](std::uint64_t d) { return static_cast<std::uint32_t>((d & 0xff) | (d >> 12 & 0xfff00)); };
    o.stx_rdev_major = major(s.rdev), o.stx_rdev_minor = minor(s.rdev);
    o.stx_dev_major = major(s.dev), o.stx_dev_minor = minor(s.dev);
    o.stx_attributes_mask = kAttrMountRoot;
    // stx_mnt_id is the first of the words that glibc's header of 2.36 names.
    std::uint64_t mnt_id = 12; // the mount of pipes and anonymous inodes
    if (what.dentry && what.dentry->mount) {
        mnt_id = static_cast<std::uint64_t>(what.dentry->mount->id);
        if (!what.dentry->parent) o.stx_attributes |= kAttrMountRoot;
    }
    constexpr std::size_t kMntIdOffset = 0x90;
    std::memcpy(reinterpret_cast<char*>(&o) + kMntIdOffset, &mnt_id, sizeof mnt_id);
    return k.put(a[4], o) ? -EFAULT : 0;
}

std::int64_t put_statfs(Kernel& k, std::uint64_t address, const StatFs& s) {
    return k.put_user(address, s.data(), sizeof s) ? -EFAULT : 0;
}

std::int64_t sys_statfs(Kernel& k, Task&, const SyscallArgs& a) {
    Frame f(k, KernelSymbol::do_statfs_native);
    std::string path;
    if (const int err = k.get_string(a[0], path); err) return err;
    StatFs s;
    if (const int err = vfs_of(k).statfs(path, s); err) return err;
    return put_statfs(k, a[1], s);
}

std::int64_t sys_fstatfs(Kernel& k, Task& t, const SyscallArgs& a) {
    Frame f(k, KernelSymbol::do_statfs_native);
    const FileHandle file = file_of_fd(t, a[0], true);
    if (!file) return -EBADF;
    StatFs s;
    if (const int err = vfs_of(k).statfs_file(*file, s); err) return err;
    return put_statfs(k, a[1], s);
}

// --- names ---

std::int64_t sys_readlinkat(Kernel& k, Task&, const SyscallArgs& a) {
    const auto size = static_cast<std::int32_t>(a[3]);
    if (size <= 0) return -EINVAL;
    std::string path, target;
    if (const int err = k.get_string(a[1], path); err) return err;
    if (const std::int64_t err = vfs_of(k).readlinkat(fd_of(a[0]), path, target); err < 0) return err;
    const std::size_t n = std::min(target.size(), static_cast<std::size_t>(size));
    return k.put_user(a[2], target.data(), n) ? -EFAULT : static_cast<std::int64_t>(n);
}

std::int64_t access_common(Kernel& k, const SyscallArgs& a, int flags) {
    if (a[2] & 0xffffffff & ~7ull) return -EINVAL;
    std::string path;
    if (const int err = k.get_string(a[1], path); err) return err;
    return vfs_of(k).faccessat(fd_of(a[0]), path, static_cast<int>(a[2]), flags);
}
std::int64_t sys_faccessat(Kernel& k, Task&, const SyscallArgs& a) { return access_common(k, a, 0); }
std::int64_t sys_faccessat2(Kernel& k, Task&, const SyscallArgs& a) {
    return access_common(k, a, static_cast<int>(a[3]));
}

std::int64_t sys_mkdirat(Kernel& k, Task&, const SyscallArgs& a) {
    std::string path;
    if (const int err = k.get_string(a[1], path); err) return err;
    return vfs_of(k).mkdirat(fd_of(a[0]), path, static_cast<std::uint32_t>(a[2]));
}

std::int64_t sys_unlinkat(Kernel& k, Task&, const SyscallArgs& a) {
    std::string path;
    if (const int err = k.get_string(a[1], path); err) return err;
    return vfs_of(k).unlinkat(fd_of(a[0]), path, static_cast<int>(a[2]));
}

std::int64_t rename_common(Kernel& k, const SyscallArgs& a, unsigned flags) {
    std::string from, to;
    if (const int err = k.get_string(a[1], from); err) return err;
    if (const int err = k.get_string(a[3], to); err) return err;
    return vfs_of(k).renameat2(fd_of(a[0]), from, fd_of(a[2]), to, flags);
}
std::int64_t sys_renameat(Kernel& k, Task&, const SyscallArgs& a) { return rename_common(k, a, 0); }
std::int64_t sys_renameat2(Kernel& k, Task&, const SyscallArgs& a) {
    return rename_common(k, a, static_cast<unsigned>(a[4]));
}

std::int64_t sys_linkat(Kernel& k, Task&, const SyscallArgs& a) {
    std::string from, to;
    if (const int err = k.get_string(a[1], from); err) return err;
    if (const int err = k.get_string(a[3], to); err) return err;
    return vfs_of(k).linkat(fd_of(a[0]), from, fd_of(a[2]), to, static_cast<int>(a[4]));
}

std::int64_t sys_symlinkat(Kernel& k, Task&, const SyscallArgs& a) {
    std::string target, path;
    if (const int err = k.get_string(a[0], target); err) return err;
    if (const int err = k.get_string(a[2], path); err) return err;
    return vfs_of(k).symlinkat(target, fd_of(a[1]), path);
}

std::int64_t sys_mknodat(Kernel& k, Task&, const SyscallArgs& a) {
    std::string path;
    if (const int err = k.get_string(a[1], path); err) return err;
    return vfs_of(k).mknodat(fd_of(a[0]), path, static_cast<std::uint32_t>(a[2]), a[3] & 0xffffffff);
}

// --- attributes ---

std::int64_t sys_fchmod(Kernel& k, Task& t, const SyscallArgs& a) {
    const FileHandle file = file_of_fd(t, a[0]);
    return file ? vfs_of(k).chmod_file(*file, static_cast<std::uint32_t>(a[1])) : -EBADF;
}

std::int64_t sys_fchmodat(Kernel& k, Task&, const SyscallArgs& a) {
    std::string path;
    if (const int err = k.get_string(a[1], path); err) return err;
    return vfs_of(k).fchmodat(fd_of(a[0]), path, static_cast<std::uint32_t>(a[2]));
}

std::int64_t sys_fchown(Kernel& k, Task& t, const SyscallArgs& a) {
    const FileHandle file = file_of_fd(t, a[0]);
    if (!file) return -EBADF;
    return vfs_of(k).chown_file(*file, static_cast<std::uint32_t>(a[1]), static_cast<std::uint32_t>(a[2]));
}

std::int64_t sys_fchownat(Kernel& k, Task&, const SyscallArgs& a) {
    std::string path;
    if (const int err = k.get_string(a[1], path); err) return err;
    return vfs_of(k).fchownat(fd_of(a[0]), path, static_cast<std::uint32_t>(a[2]), static_cast<std::uint32_t>(a[3]),
                              static_cast<int>(a[4]));
}

std::int64_t sys_utimensat(Kernel& k, Task& t, const SyscallArgs& a) {
    std::int64_t times[4] = {0, UTIME_NOW, 0, UTIME_NOW};
    if (a[2] && k.get_user(times, a[2], sizeof times)) return -EFAULT;
    if (times[1] == UTIME_OMIT && times[3] == UTIME_OMIT) return 0;
    for (int i = 1; i < 4; i += 2)
        if (times[i] != UTIME_NOW && times[i] != UTIME_OMIT && (times[i] < 0 || times[i] >= 1'000'000'000))
            return -EINVAL;
    if (!a[1]) {
        if (a[3]) return -EINVAL;
        const FileHandle file = file_of_fd(t, a[0]);
        return file ? vfs_of(k).utimes_file(*file, times) : -EBADF;
    }
    std::string path;
    if (const int err = k.get_string(a[1], path); err) return err;
    return vfs_of(k).utimensat(fd_of(a[0]), path, times, static_cast<int>(a[3]));
}

/// No file system here keeps extended attributes. a[0]: path or descriptor.
template <int Result, bool Follow>
std::int64_t xattr_path(Kernel& k, Task&, const SyscallArgs& a) {
    std::string path;
    if (const int err = k.get_string(a[0], path); err) return err;
    Found what;
    if (const int err = vfs_of(k).walk(abi::at_fdcwd, path, Follow, false, what); err) return err;
    return Result;
}
template <int Result>
std::int64_t xattr_fd(Kernel&, Task& t, const SyscallArgs& a) {
    return file_of_fd(t, a[0]) ? Result : -EBADF;
}

// --- where the process is ---

std::int64_t sys_getcwd(Kernel& k, Task&, const SyscallArgs& a) {
    std::string path;
    if (const int err = vfs_of(k).getcwd(path); err) return err;
    if (path.size() + 1 > a[1]) return -ERANGE;
    return k.put_user(a[0], path.c_str(), path.size() + 1) ? -EFAULT : static_cast<std::int64_t>(path.size() + 1);
}

std::int64_t sys_chdir(Kernel& k, Task&, const SyscallArgs& a) {
    std::string path;
    if (const int err = k.get_string(a[0], path); err) return err;
    return vfs_of(k).chdir(path);
}

std::int64_t sys_fchdir(Kernel& k, Task& t, const SyscallArgs& a) {
    const FileHandle file = file_of_fd(t, a[0], true);
    return file ? vfs_of(k).fchdir(*file) : -EBADF;
}

std::int64_t sys_chroot(Kernel& k, Task&, const SyscallArgs& a) {
    std::string path;
    if (const int err = k.get_string(a[0], path); err) return err;
    return vfs_of(k).chroot(path);
}

std::int64_t sys_umask(Kernel&, Task& t, const SyscallArgs& a) {
    const std::uint32_t old = t.fs->umask;
    t.fs->umask = a[0] & 0777;
    return old;
}

std::int64_t sys_mount(Kernel& k, Task&, const SyscallArgs& a) {
    std::string source, path, type, data;
    if (a[2])
        if (const int err = k.get_string(a[2], type, kPageSize); err) return err == -ENAMETOOLONG ? -EINVAL : err;
    if (a[0])
        if (const int err = k.get_string(a[0], source, kPageSize); err) return err == -ENAMETOOLONG ? -EINVAL : err;
    if (a[4])
        if (const int err = k.get_string(a[4], data, kPageSize); err && err != -ENAMETOOLONG) return err;
    if (const int err = k.get_string(a[1], path); err) return err;
    return vfs_of(k).do_mount(source, path, type, a[3], data);
}

std::int64_t sys_umount2(Kernel& k, Task&, const SyscallArgs& a) {
    if (a[1] & ~15ull) return -EINVAL;
    std::string path;
    if (const int err = k.get_string(a[0], path); err) return err;
    return vfs_of(k).umount(path, static_cast<int>(a[1]));
}

std::int64_t sys_pivot_root(Kernel&, Task& t, const SyscallArgs&) {
    return capable_of(t.cred, kCapSysAdmin) ? -EINVAL : -EPERM; // the root is not a mount that can be moved
}

std::int64_t sys_getdents64(Kernel& k, Task& t, const SyscallArgs& a) {
    Frame f(k, KernelSymbol::iterate_dir);
    const FileHandle file = file_of_fd(t, a[0]);
    if (!file) return -EBADF;
    constexpr std::uint64_t kMost = 1 << 20;
    std::vector<std::uint8_t> buffer(std::min<std::uint64_t>(a[2] & 0xffffffff, kMost));
    const std::uint64_t before = file->pos;
    const std::int64_t n = file->getdents64(buffer);
    if (n >= 0) vfs_of(k).notify().accessed(*file, false);
    if (n <= 0) return n;
    k.charge(static_cast<std::uint32_t>(n) * 2); // filldir64, per byte
    if (k.put_user(a[1], buffer.data(), static_cast<std::size_t>(n))) {
        file->pos = before;
        return -EFAULT;
    }
    return n;
}

constexpr SyscallRow kRows[] = {
    {5, "setxattr", xattr_path<-EOPNOTSUPP, true>, 5},
    {6, "lsetxattr", xattr_path<-EOPNOTSUPP, false>, 5},
    {7, "fsetxattr", xattr_fd<-EOPNOTSUPP>, 5},
    {8, "getxattr", xattr_path<-EOPNOTSUPP, true>, 4},
    {9, "lgetxattr", xattr_path<-EOPNOTSUPP, false>, 4},
    {10, "fgetxattr", xattr_fd<-EOPNOTSUPP>, 4},
    {11, "listxattr", xattr_path<0, true>, 3},
    {12, "llistxattr", xattr_path<0, false>, 3},
    {13, "flistxattr", xattr_fd<0>, 3},
    {14, "removexattr", xattr_path<-EOPNOTSUPP, true>, 2},
    {15, "lremovexattr", xattr_path<-EOPNOTSUPP, false>, 2},
    {16, "fremovexattr", xattr_fd<-EOPNOTSUPP>, 2},
    {17, "getcwd", sys_getcwd, 2},
    {33, "mknodat", sys_mknodat, 4},
    {34, "mkdirat", sys_mkdirat, 3},
    {35, "unlinkat", sys_unlinkat, 3},
    {36, "symlinkat", sys_symlinkat, 3},
    {37, "linkat", sys_linkat, 5},
    {38, "renameat", sys_renameat, 4},
    {39, "umount2", sys_umount2, 2},
    {40, "mount", sys_mount, 5},
    {41, "pivot_root", sys_pivot_root, 2},
    {43, "statfs", sys_statfs, 2},
    {44, "fstatfs", sys_fstatfs, 2},
    {48, "faccessat", sys_faccessat, 3},
    {49, "chdir", sys_chdir, 1},
    {50, "fchdir", sys_fchdir, 1},
    {51, "chroot", sys_chroot, 1},
    {52, "fchmod", sys_fchmod, 2},
    {53, "fchmodat", sys_fchmodat, 3},
    {54, "fchownat", sys_fchownat, 5},
    {55, "fchown", sys_fchown, 3},
    {61, "getdents64", sys_getdents64, 3},
    {78, "readlinkat", sys_readlinkat, 4},
    {79, "newfstatat", sys_newfstatat, 4},
    {80, "fstat", sys_fstat, 2},
    {88, "utimensat", sys_utimensat, 4},
    {166, "umask", sys_umask, 1},
    {276, "renameat2", sys_renameat2, 5},
    {291, "statx", sys_statx, 5},
    {439, "faccessat2", sys_faccessat2, 4},
};

} // namespace

std::span<const SyscallRow> fs_path_rows() { return kRows; }

} // namespace rkperf::os
