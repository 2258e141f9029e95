// SPDX-License-Identifier: Apache-2.0
// Reading, writing, positions, sizes.
#include "sim/os/fs/inotify.h"
#include "sim/os/fs/page_cache.h"
#include "sim/os/fs/pipe.h"
#include "sim/os/syscall/fs_common.h"

#include <linux/falloc.h>
#include <sys/resource.h>
#include <algorithm>
#include <csignal>

namespace rkperf::os {

namespace {

// preadv2, pwritev2 (linux/fs.h).
constexpr std::uint64_t kRwfHipri = 1, kRwfDsync = 2, kRwfSync = 4, kRwfNowait = 8, kRwfAppend = 16;
constexpr std::uint64_t kRwfAll = kRwfHipri | kRwfDsync | kRwfSync | kRwfNowait | kRwfAppend;

/// Pipes and perf events cannot be read or written at an offset.
bool has_position(File& f) { return !dynamic_cast<PipeFile*>(&f) && !f.perf_ops(); }

/// read and write, at the file's own position or at the offset in the fourth argument.
std::int64_t plain_io(Kernel& k, Task& t, const SyscallArgs& a, KernelSymbol function, bool write, bool at_offset) {
    return kernel_function(k, function, [&]() -> std::int64_t {
        if (at_offset && static_cast<std::int64_t>(a[3]) < 0) return -EINVAL;
        const FileHandle file = file_of_fd(t, a[0]);
        if (!file) return -EBADF;
        if (at_offset && !has_position(*file)) return -ESPIPE;
        if (!(write ? file->writable() : file->readable())) return -EBADF;
        if (!k.access_ok(a[1], a[2])) return -EFAULT;
        if (static_cast<std::int64_t>(a[2]) < 0) return -EINVAL;
        UserBuffers b(k, a[1], a[2]);
        const auto offset = at_offset ? std::optional(a[3]) : std::nullopt;
        return write ? do_write(k, *file, b, offset) : do_read(k, *file, b, offset);
    });
}

std::int64_t sys_read(Kernel& k, Task& t, const SyscallArgs& a) {
    return plain_io(k, t, a, KernelSymbol::ksys_read, false, false);
}
std::int64_t sys_write(Kernel& k, Task& t, const SyscallArgs& a) {
    return plain_io(k, t, a, KernelSymbol::ksys_write, true, false);
}
std::int64_t sys_pread64(Kernel& k, Task& t, const SyscallArgs& a) {
    return plain_io(k, t, a, KernelSymbol::ksys_pread64, false, true);
}
std::int64_t sys_pwrite64(Kernel& k, Task& t, const SyscallArgs& a) {
    return plain_io(k, t, a, KernelSymbol::ksys_pwrite64, true, true);
}

/// readv of a file that knows read only: one after the other, up to the first that is not filled.
std::int64_t read_each(Kernel& k, File& file, std::uint64_t iov, std::uint64_t count) {
    std::int64_t total = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        std::uint64_t part[2]; // struct iovec
        if (const int e = k.get_user(part, iov + i * sizeof part, sizeof part)) return total ? total : e;
        if (!part[1]) continue;
        UserBuffers b(k, part[0], part[1]);
        const std::int64_t n = do_read(k, file, b, std::nullopt);
        if (n < 0) return total ? total : n;
        total += n;
        if (static_cast<std::uint64_t>(n) != part[1]) break;
    }
    return total;
}

/// readv, writev, preadv(2), pwritev(2). `offset`: position, or none for the file's own.
std::int64_t vector_io(Kernel& k, Task& t, const SyscallArgs& a, bool write, std::optional<std::uint64_t> offset,
                       std::uint64_t flags) {
    Frame f(k, write ? KernelSymbol::do_writev : KernelSymbol::do_readv);
    if (offset && static_cast<std::int64_t>(*offset) < 0) return -EINVAL;
    const FileHandle file = file_of_fd(t, a[0]);
    if (!file) return -EBADF;
    if (offset && !has_position(*file)) return -ESPIPE;
    if (!(write ? file->writable() : file->readable())) return -EBADF;
    if (flags & ~kRwfAll) return -EOPNOTSUPP;
    std::int64_t error = 0;
    UserBuffers b(k, a[1], a[2], error);
    if (error) return error;
    if (b.size() == 0) return 0;
    if (!write && file->perf_ops()) return read_each(k, *file, a[1], a[2]);
    if (!write) return do_read(k, *file, b, offset);
    if (flags & kRwfAppend) {
        FileStat st;
        file->stat(st);
        offset = static_cast<std::uint64_t>(st.size);
    }
    const std::int64_t n = do_write(k, *file, b, offset);
    if (n > 0 && flags & (kRwfDsync | kRwfSync))
        if (const std::int64_t err = file->fsync(); err) return err;
    return n;
}

std::int64_t sys_readv(Kernel& k, Task& t, const SyscallArgs& a) { return vector_io(k, t, a, false, std::nullopt, 0); }
std::int64_t sys_writev(Kernel& k, Task& t, const SyscallArgs& a) { return vector_io(k, t, a, true, std::nullopt, 0); }
std::int64_t sys_preadv(Kernel& k, Task& t, const SyscallArgs& a) { return vector_io(k, t, a, false, a[3], 0); }
std::int64_t sys_pwritev(Kernel& k, Task& t, const SyscallArgs& a) { return vector_io(k, t, a, true, a[3], 0); }
std::optional<std::uint64_t> offset_or_own(std::uint64_t v) {
    return v == ~0ull ? std::nullopt : std::optional<std::uint64_t>(v);
}
std::int64_t sys_preadv2(Kernel& k, Task& t, const SyscallArgs& a) {
    return vector_io(k, t, a, false, offset_or_own(a[3]), a[5] & 0xffffffff);
}
std::int64_t sys_pwritev2(Kernel& k, Task& t, const SyscallArgs& a) {
    return vector_io(k, t, a, true, offset_or_own(a[3]), a[5] & 0xffffffff);
}

std::int64_t sys_lseek(Kernel& k, Task& t, const SyscallArgs& a) {
    Frame f(k, KernelSymbol::ksys_lseek);
    const FileHandle file = file_of_fd(t, a[0]);
    if (!file) return -EBADF;
    const auto whence = static_cast<std::uint32_t>(a[2]);
    if (whence > SEEK_HOLE) return -EINVAL;
    return file->lseek(static_cast<std::int64_t>(a[1]), static_cast<int>(whence));
}

std::int64_t sys_truncate(Kernel& k, Task&, const SyscallArgs& a) {
    if (static_cast<std::int64_t>(a[1]) < 0) return -EINVAL;
    std::string path;
    if (const int err = k.get_string(a[0], path); err) return err;
    return vfs_of(k).truncate(path, a[1]);
}

std::int64_t sys_ftruncate(Kernel& k, Task& t, const SyscallArgs& a) {
    if (static_cast<std::int64_t>(a[1]) < 0) return -EINVAL;
    const FileHandle file = file_of_fd(t, a[0]);
    if (!file) return -EBADF;
    const DentryPtr d = file->dentry();
    if (!d || !d->node->is(S_IFREG) || !file->writable()) return -EINVAL;
    if (const std::int64_t err = file->truncate(a[1]); err) return err;
    vfs_of(k).notify().file(d, inotify::modify);
    return 0;
}

std::int64_t do_fallocate(Kernel& k, Task& t, const SyscallArgs& a) {
    const FileHandle file = file_of_fd(t, a[0]);
    if (!file) return -EBADF;
    const auto mode = static_cast<std::uint32_t>(a[1]);
    const auto offset = static_cast<std::int64_t>(a[2]), length = static_cast<std::int64_t>(a[3]);
    if (offset < 0 || length <= 0) return -EINVAL;
    constexpr std::uint32_t kKnown = FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_COLLAPSE_RANGE |
                                     FALLOC_FL_ZERO_RANGE | FALLOC_FL_INSERT_RANGE | FALLOC_FL_UNSHARE_RANGE;
    if (mode & ~kKnown) return -EOPNOTSUPP;
    if ((mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) == (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))
        return -EOPNOTSUPP;
    if (mode & FALLOC_FL_PUNCH_HOLE && !(mode & FALLOC_FL_KEEP_SIZE)) return -EOPNOTSUPP;
    if (!file->writable()) return -EBADF;
    if (dynamic_cast<PipeFile*>(file.get())) return -ESPIPE;
    const DentryPtr d = file->dentry();
    if (d && d->node->is_dir()) return -EISDIR;
    auto* node = d ? dynamic_cast<PagedNode*>(d->node.get()) : nullptr;
    if (!node) return -ENODEV;
    std::int64_t end;
    if (__builtin_add_overflow(offset, length, &end)) return -EFBIG;
    if (mode & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE | FALLOC_FL_UNSHARE_RANGE)) return -EOPNOTSUPP;
    const auto last = static_cast<std::uint64_t>(end);
    if (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) {
        if (node->seals & (abi::f_seal_write | abi::f_seal_future_write)) return -EPERM;
        if (const int err = node->zero_range(a[2], last); err) return err;
    }
    if (mode & FALLOC_FL_KEEP_SIZE || last <= node->size()) return 0;
    if (node->seals & abi::f_seal_grow) return -EPERM;
    if (last > k.rlimit(RLIMIT_FSIZE)) {
        vfs_of(k).services().send_signal(SIGXFSZ);
        return -EFBIG;
    }
    return node->set_size(last);
}
std::int64_t sys_fallocate(Kernel& k, Task& t, const SyscallArgs& a) {
    const std::int64_t r = do_fallocate(k, t, a);
    if (!r) vfs_of(k).notify().accessed(*file_of_fd(t, a[0]), true);
    return r;
}

std::int64_t sys_fsync(Kernel& k, Task& t, const SyscallArgs& a) {
    Frame f(k, KernelSymbol::vfs_fsync_range);
    const FileHandle file = file_of_fd(t, a[0]);
    return file ? file->fsync() : -EBADF;
}

std::int64_t sys_sync(Kernel& k, Task&, const SyscallArgs&) {
    vfs_of(k).sync(nullptr);
    return 0;
}

std::int64_t sys_syncfs(Kernel& k, Task& t, const SyscallArgs& a) {
    const FileHandle file = file_of_fd(t, a[0]);
    return file ? vfs_of(k).sync(file.get()) : -EBADF;
}

std::int64_t sys_sync_file_range(Kernel&, Task& t, const SyscallArgs& a) {
    const FileHandle file = file_of_fd(t, a[0]);
    if (!file) return -EBADF;
    if (a[3] & ~7ull || static_cast<std::int64_t>(a[1]) < 0 || static_cast<std::int64_t>(a[1] + a[2]) < 0)
        return -EINVAL;
    const DentryPtr d = file->dentry();
    if (!d || (!d->node->is(S_IFREG) && !d->node->is_dir())) return -ESPIPE;
    return file->fsync();
}

/// Only what brings pages into the page cache or drops them makes a difference, to later page faults.
std::int64_t sys_fadvise64(Kernel&, Task& t, const SyscallArgs& a) {
    const FileHandle file = file_of_fd(t, a[0]);
    if (!file) return -EBADF;
    if (dynamic_cast<PipeFile*>(file.get())) return -ESPIPE;
    constexpr std::uint64_t kWillNeed = 3, kDontNeed = 4, kLast = 5;
    if (static_cast<std::int64_t>(a[2]) < 0 || a[3] > kLast) return -EINVAL;
    Inode* inode = file->inode();
    if (!inode || (a[3] != kWillNeed && a[3] != kDontNeed)) return 0;
    const std::uint64_t size = inode->size(), end = a[2] && a[1] + a[2] > a[1] ? a[1] + a[2] : ~0ull;
    // A page that is meant in part is brought in, but not dropped, except for the last one of the file.
    const bool drop = a[3] == kDontNeed;
    const std::uint64_t first = (a[1] + (drop ? kPageSize - 1 : 0)) / kPageSize;
    const std::uint64_t last = drop && end < size ? end / kPageSize : (std::min(end, size) + kPageSize - 1) / kPageSize;
    if (first >= last) return 0;
    if (drop)
        inode->drop_cache(first, last - first);
    else
        inode->readahead(first, last - first);
    return 0;
}

std::int64_t sys_readahead(Kernel&, Task& t, const SyscallArgs& a) {
    const FileHandle file = file_of_fd(t, a[0]);
    if (!file || !file->readable()) return -EBADF;
    const DentryPtr d = file->dentry();
    if (!d || !d->node->is(S_IFREG)) return -EINVAL;
    if (Inode* inode = file->inode(); inode && a[2])
        inode->readahead(a[1] / kPageSize, (a[2] + kPageSize - 1) / kPageSize);
    return 0;
}

constexpr SyscallRow kRows[] = {
    {45, "truncate", sys_truncate, 2},
    {46, "ftruncate", sys_ftruncate, 2},
    {47, "fallocate", sys_fallocate, 4},
    {62, "lseek", sys_lseek, 3},
    {63, "read", sys_read, 3},
    {64, "write", sys_write, 3},
    {65, "readv", sys_readv, 3},
    {66, "writev", sys_writev, 3},
    {67, "pread64", sys_pread64, 4},
    {68, "pwrite64", sys_pwrite64, 4},
    {69, "preadv", sys_preadv, 5},
    {70, "pwritev", sys_pwritev, 5},
    {81, "sync", sys_sync, 0},
    {82, "fsync", sys_fsync, 1},
    {83, "fdatasync", sys_fsync, 1},
    {84, "sync_file_range", sys_sync_file_range, 4},
    {213, "readahead", sys_readahead, 3},
    {223, "fadvise64", sys_fadvise64, 4},
    {267, "syncfs", sys_syncfs, 1},
    {286, "preadv2", sys_preadv2, 6},
    {287, "pwritev2", sys_pwritev2, 6},
};

} // namespace

std::span<const SyscallRow> fs_io_rows() { return kRows; }

} // namespace rkperf::os
