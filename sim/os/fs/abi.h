// SPDX-License-Identifier: Apache-2.0
// Numbers of the arm64 Linux file ABI that differ from the host's, or that no user-space header offers.
// Sources: include/uapi/asm-generic/fcntl.h, arch/arm64/include/uapi/asm/fcntl.h, uapi/linux/{stat,eventpoll,magic}.h.
// errno values, S_IF*, AT_* and poll bits are the same on both and come from the host's headers.
#pragma once

#include <cstdint>

namespace rkperf::os::abi {

// open(2) flags of arm64.
inline constexpr std::uint32_t o_accmode = 03, o_rdonly = 0, o_wronly = 01, o_rdwr = 02, o_creat = 0100, o_excl = 0200,
                               o_noctty = 0400, o_trunc = 01000, o_append = 02000, o_nonblock = 04000, o_dsync = 010000,
                               o_async = 020000, o_directory = 040000, o_nofollow = 0100000, o_direct = 0200000,
                               o_largefile = 0400000, o_noatime = 01000000, o_cloexec = 02000000, o_sync = 04010000,
                               o_path = 010000000, o_tmpfile = 020000000 | o_directory;
/// Every flag openat2 accepts.
inline constexpr std::uint32_t o_valid = o_accmode | o_creat | o_excl | o_noctty | o_trunc | o_append | o_nonblock |
                                         o_dsync | o_async | o_directory | o_nofollow | o_direct | o_largefile |
                                         o_noatime | o_cloexec | o_sync | o_path | o_tmpfile;
/// Flags that F_SETFL changes.
inline constexpr std::uint32_t setfl_mask = o_append | o_nonblock | o_async | o_direct | o_noatime;

inline constexpr int at_fdcwd = -100;
inline constexpr int at_symlink_nofollow = 0x100, at_eaccess = 0x200, at_removedir = 0x200, at_symlink_follow = 0x400,
                     at_no_automount = 0x800, at_empty_path = 0x1000, at_statx_sync_type = 0x6000;

inline constexpr std::uint32_t rename_noreplace = 1, rename_exchange = 2, rename_whiteout = 4;

/// openat2's struct open_how.
struct open_how {
    std::uint64_t flags{}, mode{}, resolve{};
};
inline constexpr std::uint64_t resolve_no_xdev = 1, resolve_no_magiclinks = 2, resolve_no_symlinks = 4,
                               resolve_beneath = 8, resolve_in_root = 16, resolve_cached = 32;

/// struct stat of arm64 (asm-generic/stat.h).
struct stat {
    std::uint64_t st_dev, st_ino;
    std::uint32_t st_mode, st_nlink, st_uid, st_gid;
    std::uint64_t st_rdev, pad1;
    std::int64_t st_size;
    std::int32_t st_blksize, pad2;
    std::int64_t st_blocks;
    std::int64_t atime_s, atime_ns, mtime_s, mtime_ns, ctime_s, ctime_ns;
    std::uint32_t unused4, unused5;
};
static_assert(sizeof(stat) == 128);

/// struct flock.
struct flock {
    std::int16_t l_type, l_whence;
    std::int32_t pad;
    std::int64_t l_start, l_len;
    std::int32_t l_pid, pad2;
};
static_assert(sizeof(flock) == 32);

/// struct epoll_event: packed only on x86.
struct epoll_event {
    std::uint32_t events;
    std::uint32_t pad;
    std::uint64_t data;
};
inline constexpr std::uint32_t epollin = 1, epollpri = 2, epollout = 4, epollerr = 8, epollhup = 0x10, epollnval = 0x20,
                               epollrdnorm = 0x40, epollrdband = 0x80, epollwrnorm = 0x100, epollwrband = 0x200,
                               epollmsg = 0x400, epollrdhup = 0x2000, epollexclusive = 1u << 28, epollwakeup = 1u << 29,
                               epolloneshot = 1u << 30, epollet = 1u << 31;

// fcntl commands beyond the ones of POSIX, which have the same numbers everywhere.
inline constexpr int f_setown = 8, f_getown = 9, f_setsig = 10, f_getsig = 11, f_setown_ex = 15, f_getown_ex = 16,
                     f_ofd_getlk = 36, f_ofd_setlk = 37, f_ofd_setlkw = 38, f_setlease = 1024, f_getlease = 1025,
                     f_notify = 1026, f_dupfd_cloexec = 1030, f_setpipe_sz = 1031, f_getpipe_sz = 1032,
                     f_add_seals = 1033, f_get_seals = 1034;
inline constexpr std::uint32_t f_seal_seal = 1, f_seal_shrink = 2, f_seal_grow = 4, f_seal_write = 8,
                               f_seal_future_write = 16;

// statfs f_type (linux/magic.h).
inline constexpr std::uint64_t tmpfs_magic = 0x01021994, proc_super_magic = 0x9fa0, sysfs_magic = 0x62656572,
                               tracefs_magic = 0x74726163, debugfs_magic = 0x64626720, ext4_super_magic = 0xef53,
                               pipefs_magic = 0x50495045, anon_inode_fs_magic = 0x09041934,
                               devtmpfs_magic = tmpfs_magic;

/// dev_t as user space sees it (new_encode_dev).
constexpr std::uint64_t make_dev(std::uint32_t major, std::uint32_t minor) {
    return (minor & 0xffu) | (std::uint64_t{major} << 8) | (std::uint64_t{minor & ~0xffu} << 12);
}

inline constexpr std::uint64_t max_file_size = 0x7fffffffffffffff; ///< MAX_LFS_FILESIZE
inline constexpr std::uint64_t max_rw_count = 0x7ffff000;          ///< MAX_RW_COUNT

} // namespace rkperf::os::abi
