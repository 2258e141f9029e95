// SPDX-License-Identifier: Apache-2.0
// Open files, inodes and descriptor tables of the simulated kernel (struct file, struct inode, files_struct).
// Buffers handed to read and write are host memory; system calls copy between them and the guest.
#pragma once

#include "kernel_events/kernel.h"
#include "sim/os/wait_queue.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rkperf::os {

class Kernel;
struct Task;
class Inode;
class Dentry;
class FileLocks;
class File;

/// Hears that an open file goes away: epoll, which holds no reference.
class FileWatcher {
  public:
    virtual ~FileWatcher() = default;
    virtual void file_gone(File& file) = 0;
};

/// What stat(2) shows.
struct FileStat {
    std::uint64_t dev{}, ino{};
    std::uint32_t mode{}; ///< S_IFMT | permissions
    std::uint32_t nlink{1}, uid{}, gid{};
    std::uint64_t rdev{};
    std::int64_t size{};
    std::uint32_t blksize{4096};
    std::int64_t blocks{};
    std::int64_t atime_s{}, mtime_s{}, ctime_s{};
    std::uint32_t atime_ns{}, mtime_ns{}, ctime_ns{};
};

/// An open file description. Sizes and results in bytes; negative results are -errno. Methods may sleep.
class File : public std::enable_shared_from_this<File> {
  public:
    explicit File(Kernel& k) : os(k) {}
    virtual ~File() { detach_watchers(); }

    virtual std::int64_t read(std::span<std::uint8_t> to) {
        (void)to;
        return -22;
    }
    /// What splice() takes from here for a pipe; `no_wait` is its own flag.
    virtual std::int64_t splice_read(std::span<std::uint8_t> to, bool no_wait) {
        (void)no_wait;
        return read(to);
    }
    virtual std::int64_t write(std::span<const std::uint8_t> from) {
        (void)from;
        return -22;
    }
    virtual std::int64_t pread(std::span<std::uint8_t> to, std::uint64_t offset) {
        (void)to, (void)offset;
        return -29;
    }
    virtual std::int64_t pwrite(std::span<const std::uint8_t> from, std::uint64_t offset) {
        (void)from, (void)offset;
        return -29;
    }
    virtual std::int64_t lseek(std::int64_t offset, int whence) {
        (void)offset, (void)whence;
        return -29;
    }
    virtual std::int64_t ioctl(std::uint32_t cmd, std::uint64_t arg) {
        (void)cmd, (void)arg;
        return -25;
    }
    /// Bits that are ready now; `wq` (may stay null: always ready) is where their change is announced.
    virtual ke::PollMask poll(WaitQueueHead*& wq) {
        wq = nullptr;
        return 0x145;
    }
    virtual std::int64_t fsync() { return -22; }
    virtual std::int64_t truncate(std::uint64_t size) {
        (void)size;
        return -22;
    }
    virtual std::int64_t getdents64(std::span<std::uint8_t> to) {
        (void)to;
        return -20;
    }
    virtual int stat(FileStat& st) = 0;
    virtual Inode* inode() { return nullptr; }
    /// Files without an inode that may be mapped like anonymous memory (/dev/zero) return 0.
    virtual std::int64_t mmap_anonymous(bool shared) {
        (void)shared;
        return -19;
    }
    /// The name it was opened by; null for pipes, sockets and anonymous inodes.
    virtual std::shared_ptr<Dentry> dentry() const { return nullptr; }
    /// A descriptor for it is being closed (others may stay): errors of delayed writing come out here.
    virtual std::int64_t flush() { return 0; }
    /// O_ASYNC is switched on or off; 0 or -errno. `flags` changes afterwards.
    virtual int fasync(bool on) {
        (void)on;
        return 0;
    }
    /// A new open file description for the same object: opening /proc/PID/fd/N of what has no path.
    virtual int reopen(std::uint32_t new_flags, std::shared_ptr<File>& out) {
        (void)new_flags, (void)out;
        return -6;
    }
    /// Readiness comes from outside the simulation, so nobody announces it: sleepers look again from time to time.
    virtual bool host_polled() const { return false; }
    /// Waits on the host until such a file is ready, at most `ms` of real time: a guest that waits for input with a limit
    /// should not see its time fly by.
    virtual void host_wait(int ms) { (void)ms; }
    /// write(2) does not look at the bytes, nor fault on them.
    virtual bool ignores_data() const { return false; }
    /// epoll takes it; poll takes every file.
    virtual bool pollable() const { return true; }
    /// Extra lines of /proc/PID/fdinfo/FD.
    virtual std::string fdinfo() const { return {}; }
    /// Name for /proc/PID/fd and maps.
    virtual std::string path() const { return {}; }
    /// Set for perf files: system calls read, ioctl, mmap go there with user addresses.
    virtual ke::FileOperations* perf_ops() { return nullptr; }

    Kernel& os;
    std::uint32_t flags{}; ///< O_*; access mode and status flags
    std::uint64_t pos{};
    // F_SETOWN and friends
    int owner_pid{}, owner_type{}, owner_sig{};
    int async_fd{-1}; ///< descriptor given as si_fd
    std::vector<FileWatcher*> watchers;
    bool nonblock() const { return flags & 04000; }
    bool readable() const { return (flags & 3) != 1; }
    bool writable() const { return (flags & 3) != 0; }

  protected:
    /// Destructors of files with a wait queue of their own call it first, while the queue still is.
    void detach_watchers() {
        while (!watchers.empty()) {
            FileWatcher* w = watchers.back();
            watchers.pop_back();
            w->file_gone(*this);
        }
    }
};
using FileHandle = std::shared_ptr<File>;

/// The page cache's view of a regular file: what file mappings need. Implemented by file systems with mappable files.
class Inode : public std::enable_shared_from_this<Inode> {
  public:
    virtual ~Inode() = default;
    virtual FileStat stat() = 0;
    virtual std::uint64_t size() = 0;
    /// Page `index` of the file in the page cache, read in if need be (`major` set then); 0: beyond the end or error.
    /// The inode keeps a reference; the caller takes its own.
    virtual PhysAddr page(std::uint64_t index, bool& major) = 0;
    /// What page() would hold, for a look that leaves the page cache as it is; false: beyond the end or error.
    virtual bool peek(std::uint64_t index, std::span<std::uint8_t, kPageSize> to) {
        (void)index, (void)to;
        return false;
    }
    /// What the page cache holds of a page, without bringing it in.
    struct Cached {
        PhysAddr page{};       ///< 0: nothing
        bool dirty{};          ///< changed since it was read or written back
        bool in_memory_only{}; ///< the page is all there is: shared memory, tmpfs
    };
    virtual Cached cached(std::uint64_t index) {
        (void)index;
        return {};
    }
    /// The page if a real machine would have it in the page cache, else 0. Takes no simulated time.
    virtual PhysAddr cached_page(std::uint64_t index) { return cached(index).page; }
    /// Brings pages into the page cache that were dropped from it.
    virtual void readahead(std::uint64_t first, std::uint64_t pages) { (void)first, (void)pages; }
    /// Drops pages from the cache that are clean and not mapped (POSIX_FADV_DONTNEED).
    virtual void drop_cache(std::uint64_t first, std::uint64_t pages) { (void)first, (void)pages; }
    /// The first write to a page of a shared mapping is noticed (vma_wants_writenotify): not with files in memory only.
    virtual bool wants_write_notify() const { return false; }
    /// A shared mapping or write changed the page.
    virtual void mark_dirty(std::uint64_t index) = 0;
    virtual std::vector<std::uint8_t> build_id() { return {}; }
    std::uint32_t dev_major{}, dev_minor{};
    std::uint64_t ino{}, generation{};
    std::shared_ptr<FileLocks> locks; ///< made by the first fcntl or flock lock
    int deny_write{};                 ///< programs running from it: opening it for writing gives ETXTBSY
    int writers{};                    ///< open files that may write: running a program from it gives ETXTBSY
};

/// Descriptors of a process.
class FdTable {
  public:
    struct Slot {
        FileHandle file;
        bool cloexec{};
    };
    /// Lowest free descriptor >= min below the limit; -EMFILE.
    int alloc(FileHandle file, bool cloexec, std::uint64_t limit, int min = 0);
    int first_free(std::uint64_t limit, int min = 0) const;              ///< what alloc would give
    int set(int fd, FileHandle file, bool cloexec, std::uint64_t limit); ///< dup2; closes what was there
    FileHandle get(int fd) const;                                        ///< null: EBADF
    int close(int fd);                                                   ///< -EBADF
    void close_on_exec();
    void close_all();
    bool cloexec(int fd) const;
    void set_cloexec(int fd, bool on);
    std::shared_ptr<FdTable> clone() const;
    const std::map<int, Slot>& slots() const { return slots_; }
    int users{1};
    std::int64_t last_error{}; ///< what flush() said at the last close

  private:
    std::map<int, Slot> slots_;
    mutable int next_free_{}; ///< all below are in use
};

/// Current directory, root, umask of a process.
struct FsContext {
    std::string cwd{"/"}; ///< absolute, guest's name; used until the first path is looked up
    std::uint32_t umask{022};
    std::shared_ptr<Dentry> pwd;  ///< current directory once it was looked up; follows renames
    std::shared_ptr<Dentry> root; ///< after chroot; null: the namespace's
};

/// The mount table and path lookup. See vfs.cpp. Paths are guest paths; a guest never leaves what it was given.
class Vfs {
  public:
    virtual ~Vfs() = default;
    /// open(2) for current; dirfd as in openat.
    virtual std::int64_t openat(int dirfd, std::string_view path, std::uint32_t flags, std::uint32_t mode,
                                FileHandle& out) = 0;
    virtual int statat(int dirfd, std::string_view path, int flags, FileStat& st) = 0;
    virtual std::int64_t readlinkat(int dirfd, std::string_view path, std::string& out) = 0;
    /// Absolute normalised guest path for display, or negative errno.
    virtual int resolve(int dirfd, std::string_view path, bool follow, std::string& out) = 0;
    virtual int faccessat(int dirfd, std::string_view path, int mode, int flags) = 0;
    virtual int mkdirat(int dirfd, std::string_view path, std::uint32_t mode) = 0;
    virtual int unlinkat(int dirfd, std::string_view path, int flags) = 0;
    virtual int renameat2(int odir, std::string_view from, int ndir, std::string_view to, unsigned flags) = 0;
    virtual int linkat(int odir, std::string_view from, int ndir, std::string_view to, int flags) = 0;
    virtual int symlinkat(std::string_view target, int dirfd, std::string_view path) = 0;
    virtual int fchmodat(int dirfd, std::string_view path, std::uint32_t mode) = 0;
    virtual int fchownat(int dirfd, std::string_view path, std::uint32_t uid, std::uint32_t gid, int flags) = 0;
    virtual int utimensat(int dirfd, std::string_view path, const std::int64_t times[4], int flags) = 0;
    virtual int truncate(std::string_view path, std::uint64_t size) = 0;
    virtual int chdir(std::string_view path) = 0;
    virtual int mknodat(int dirfd, std::string_view path, std::uint32_t mode, std::uint64_t dev) = 0;
    virtual int statfs(std::string_view path, std::array<std::uint64_t, 15>& out) = 0;
    /// Files below /sys, /proc/sys, tracefs that other parts of the kernel own.
    virtual void add_attribute(ke::Attribute attribute) = 0;
    virtual void remove_attribute(std::string_view path) = 0;
    /// pipe2, eventfd2, ... create anonymous files.
    virtual int pipe(FileHandle& read_end, FileHandle& write_end, std::uint32_t flags) = 0;
    virtual FileHandle eventfd(std::uint64_t init, std::uint32_t flags) = 0;
    virtual FileHandle perf_file(std::string_view name, ke::FileOperations* ops, std::uint32_t flags) = 0;
    virtual FileHandle stdio(int host_fd) = 0; ///< standard stream of the host's command
    /// Writes everything back to the host that the guest has written (end of run, Ctrl-C).
    virtual void sync_all() = 0;
};

/// What the guest is given.
struct MountConfig {
    std::string root; ///< host folder shown as /, empty: an empty root
    struct Bind {
        std::string host, guest;
        bool writable{true};
    };
    std::vector<Bind> binds;
    std::string cwd; ///< guest's name of the starting folder
};
std::unique_ptr<Vfs> make_vfs(Kernel& kernel, const MountConfig& config);

} // namespace rkperf::os
