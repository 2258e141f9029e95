// SPDX-License-Identifier: Apache-2.0
#include "sim/os/fs/host_nodes.h"

#include "sim/os/fs/pipe.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <memory>

namespace rkperf::os {

namespace {

int host_chmod(const HostAttr& n, std::uint32_t mode) {
    return static_cast<int>(host_result(::chmod(n.self().c_str(), mode & 07777)));
}

int host_chown(const HostAttr& n, const FileStat& now, std::uint32_t uid, std::uint32_t gid) {
    // What is shown as root's stays the host user's.
    const auto to_host = [](std::uint32_t id, std::uint32_t shown) { return id == shown ? ~0u : id; };
    const std::uint32_t u = to_host(uid, now.uid), g = to_host(gid, now.gid);
    if (u == ~0u && g == ~0u) return 0;
    return static_cast<int>(host_result(::fchownat(n.fd(), "", u, g, AT_EMPTY_PATH)));
}

int host_utimes(const HostAttr& n, const std::int64_t times[4], bool link) {
    const timespec ts[2] = {{times[0], times[1]}, {times[2], times[3]}};
    if (link) return static_cast<int>(host_result(::utimensat(n.fd(), "", ts, AT_EMPTY_PATH)));
    return static_cast<int>(host_result(::utimensat(AT_FDCWD, n.self().c_str(), ts, 0)));
}

} // namespace

std::string HostAttr::self() const { return "/proc/self/fd/" + std::to_string(fd_.get()); }

FileStat HostAttr::host_stat(const Node& n) const {
    struct ::stat st {};
    FileStat out = n.attr;
    if (::fstat(fd_.get(), &st) == 0) out = stat_of_host(st);
    out.dev = n.attr.dev;
    out.ino = n.attr.ino;
    return out;
}

NodePtr make_host_node(HostFs& fs, HostFd fd, const struct ::stat& st) {
    switch (st.st_mode & S_IFMT) {
        case S_IFREG: return std::make_shared<HostFile>(fs, std::move(fd), st);
        case S_IFDIR: return std::make_shared<HostDir>(fs, std::move(fd), st);
        default: return std::make_shared<HostOther>(fs, std::move(fd), st);
    }
}

// --- regular files ---

HostFile::HostFile(HostFs& fs, HostFd fd, const struct ::stat& st)
    : PagedNode(fs, st.st_mode), HostAttr(std::move(fd)), host_(fs), cached_(fs.cached) {
    bytes_ = static_cast<std::uint64_t>(st.st_size);
    seen_s_ = st.st_mtim.tv_sec;
    seen_ns_ = st.st_mtim.tv_nsec;
}

HostFile::~HostFile() {
    write_back();
    *cached_ -= pages_.size();
}

FileStat HostFile::stat() {
    if (!open_) revalidate();
    FileStat st = host_stat(*this);
    st.size = static_cast<std::int64_t>(bytes_);
    return st;
}

void HostFile::remember() {
    struct ::stat st {};
    if (::fstat(fd(), &st) != 0) return;
    seen_s_ = st.st_mtim.tv_sec;
    seen_ns_ = st.st_mtim.tv_nsec;
}

void HostFile::revalidate() {
    struct ::stat st {};
    if (::fstat(fd(), &st) != 0) return;
    const bool same = st.st_mtim.tv_sec == seen_s_ && st.st_mtim.tv_nsec == seen_ns_ &&
                      static_cast<std::uint64_t>(st.st_size) == bytes_;
    if (same) return;
    for (const auto& [index, slot] : pages_)
        if (slot.dirty || services().pages().refs(slot.pa) > 1) return; // a mapping lives on
    drop_all();
    cold_.clear();
    bytes_ = static_cast<std::uint64_t>(st.st_size);
    seen_s_ = st.st_mtim.tv_sec;
    seen_ns_ = st.st_mtim.tv_nsec;
}

int HostFile::io(bool write) {
    if (io_ && (io_writes_ || !write)) return io_.get();
    HostFd fd(::open(self().c_str(), (write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK));
    // A file that may be written but not read.
    if (!fd && write && errno == EACCES) fd.reset(::open(self().c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd) return -errno;
    io_ = std::move(fd);
    io_writes_ = write;
    return io_.get();
}

int HostFile::open(const DentryPtr& name, std::uint32_t flags, FileHandle& out) {
    if (!open_) revalidate();
    if (const int fd = io((flags & abi::o_accmode) != abi::o_rdonly); fd < 0) return fd;
    return PagedNode::open(name, flags, out);
}

void HostFile::opened(std::uint32_t) { ++open_; }

void HostFile::closed(std::uint32_t) {
    if (--open_ == 0) {
        write_back();
        if (pages_.empty()) io_.reset(), io_writes_ = false;
    }
}

int HostFile::fill(std::uint64_t index, std::uint8_t* to) {
    const int fd = io(false);
    if (fd < 0) return fd;
    std::size_t done = 0;
    while (done < kPageSize) {
        const ssize_t n = ::pread(fd, to + done, kPageSize - done, static_cast<off_t>(index * kPageSize + done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            // Write-only files keep their pages for what is written: nothing is ever read from them.
            if (errno == EBADF) break;
            return -errno;
        }
        if (n == 0) break;
        done += static_cast<std::size_t>(n);
    }
    host_.page_added(std::static_pointer_cast<PagedNode>(shared_from_this()), index);
    return 0;
}

std::int64_t HostFile::store(std::span<const std::uint8_t> from, std::uint64_t offset) {
    const int fd = io(true);
    if (fd < 0) return fd;
    for (;;) {
        const ssize_t n = ::pwrite(fd, from.data(), from.size(), static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) continue;
        const std::int64_t r = host_result(n);
        remember();
        return r;
    }
}

int HostFile::resize(std::uint64_t size) {
    const int fd = io(true);
    if (fd < 0) return fd;
    const int r = static_cast<int>(host_result(::ftruncate(fd, static_cast<off_t>(size))));
    cold_.erase(cold_.lower_bound((size + kPageSize - 1) / kPageSize), cold_.end());
    remember();
    return r;
}

void HostFile::released(std::uint64_t pages) { *cached_ -= pages; }

bool HostFile::evict(std::uint64_t index) {
    const auto it = pages_.find(index);
    if (it == pages_.end()) return true;
    if (it->second.dirty || services().pages().refs(it->second.pa) > 1) return false;
    page_cache_changed(index, it->second.pa, false);
    services().pages().put(it->second.pa);
    pages_.erase(it);
    cold_.insert(index);
    released(1);
    return true;
}

PhysAddr HostFile::cached_page(std::uint64_t index) {
    // A file that has just been made or run is in the page cache of a real machine; here it is read from the host meanwhile.
    PhysAddr pa{};
    bool filled = false;
    if (cold(index) || index >= (bytes_ + kPageSize - 1) / kPageSize) return PhysAddr{};
    return get_page(index, pa, filled) ? PhysAddr{} : pa;
}

void HostFile::readahead(std::uint64_t first, std::uint64_t pages) {
    const std::vector<std::uint64_t> wanted(cold_.lower_bound(first), cold_.lower_bound(first + pages));
    for (const std::uint64_t index : wanted) {
        PhysAddr pa{};
        bool filled = false;
        if (get_page(index, pa, filled)) return;
    }
}

void HostFile::drop_cache(std::uint64_t first, std::uint64_t pages) {
    write_back();
    const std::uint64_t end = std::min(first + pages, (bytes_ + kPageSize - 1) / kPageSize);
    // A page that was never asked for is in the cache as well, as far as a program can tell.
    for (std::uint64_t index = first; index < end; ++index)
        if (holds(index))
            evict(index);
        else
            cold_.insert(index);
}

int HostFile::write_back() {
    int first = 0;
    for (auto& [index, slot] : pages_) {
        if (!slot.dirty) continue;
        const std::uint64_t offset = index * kPageSize;
        if (offset < bytes_) {
            const std::size_t n = std::min(kPageSize, bytes_ - offset);
            const std::int64_t r = store({services().pages().host(slot.pa), n}, offset);
            if (r < 0) {
                if (!first) first = static_cast<int>(r);
                continue;
            }
            if (static_cast<std::size_t>(r) < n) {
                if (!first) first = -ENOSPC;
                continue;
            }
        }
        slot.dirty = false;
    }
    return first;
}

std::int64_t HostFile::seek_hole(std::uint64_t offset, bool data) {
    if (const int err = write_back(); err) return err;
    const int fd = io(false);
    if (fd < 0) return fd;
    return host_result(::lseek(fd, static_cast<off_t>(offset), data ? SEEK_DATA : SEEK_HOLE));
}

int HostFile::chmod(std::uint32_t mode) { return host_chmod(*this, mode); }
int HostFile::chown(std::uint32_t uid, std::uint32_t gid) { return host_chown(*this, host_stat(*this), uid, gid); }
int HostFile::utimes(const std::int64_t times[4]) {
    const int r = host_utimes(*this, times, false);
    remember();
    return r;
}

// --- directories ---

HostDir::HostDir(HostFs& fs, HostFd fd, const struct ::stat& st)
    : Node(fs, st.st_mode), HostAttr(std::move(fd)), host_(fs) {}

FileStat HostDir::stat() {
    FileStat st = host_stat(*this);
    st.size = kPageSize; // depends on the host's file system and on its past
    st.blocks = kPageSize / 512;
    return st;
}

int HostDir::lookup(const std::string& name, NodePtr& out) {
    HostFd child(::openat(fd(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!child) return -errno;
    return host_.node_of(std::move(child), out);
}

int HostDir::list(std::vector<DirEntry>& out) {
    const int d = ::openat(fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d < 0) return -errno;
    const std::unique_ptr<DIR, int (*)(DIR*)> dir(::fdopendir(d), ::closedir);
    if (!dir) return -errno;
    std::vector<std::string> names;
    while (const dirent* e = ::readdir(dir.get())) {
        const std::string name = e->d_name;
        if (name != "." && name != "..") names.push_back(name);
    }
    // Numbers are given by the order of the first look: it must not be the host's order.
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
        NodePtr n;
        if (lookup(name, n) == 0) out.push_back({name, n->attr.ino, n->attr.mode});
    }
    return 0;
}

int HostDir::create(const std::string& name, std::uint32_t mode, std::uint64_t, NodePtr& out) {
    switch (mode & S_IFMT) {
        case S_IFREG: {
            const HostFd made(::openat(fd(), name.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0600));
            if (!made) return -errno;
            ::fchmod(made.get(), mode & 07777); // the guest's umask has been applied, not the host's
            break;
        }
        case S_IFDIR:
            if (::mkdirat(fd(), name.c_str(), 0700) != 0) return -errno;
            break;
        case S_IFIFO:
            if (::mknodat(fd(), name.c_str(), S_IFIFO | 0600, 0) != 0) return -errno;
            break;
        default: return -EPERM; // no device or socket is made on the host
    }
    if (const int err = lookup(name, out); err) return err;
    return out->is(S_IFREG) ? 0 : host_chmod(dynamic_cast<HostAttr&>(*out), mode);
}

int HostDir::symlink(const std::string& name, const std::string& target) {
    return static_cast<int>(host_result(::symlinkat(target.c_str(), fd(), name.c_str())));
}

int HostDir::link(const std::string& name, Node& target) {
    const auto& from = dynamic_cast<HostAttr&>(target);
    // Through /proc because AT_EMPTY_PATH needs a capability.
    const int flags = target.is(S_IFLNK) ? 0 : AT_SYMLINK_FOLLOW;
    if (target.is(S_IFLNK))
        return static_cast<int>(host_result(::linkat(from.fd(), "", fd(), name.c_str(), AT_EMPTY_PATH)));
    return static_cast<int>(host_result(::linkat(AT_FDCWD, from.self().c_str(), fd(), name.c_str(), flags)));
}

int HostDir::unlink(const std::string& name, bool directory) {
    return static_cast<int>(host_result(::unlinkat(fd(), name.c_str(), directory ? AT_REMOVEDIR : 0)));
}

int HostDir::rename(const std::string& name, Node& new_dir, const std::string& new_name, bool exchange) {
    const auto& to = static_cast<HostDir&>(new_dir);
    return static_cast<int>(
        host_result(::renameat2(fd(), name.c_str(), to.fd(), new_name.c_str(), exchange ? RENAME_EXCHANGE : 0)));
}

int HostDir::chmod(std::uint32_t mode) { return host_chmod(*this, mode); }
int HostDir::chown(std::uint32_t uid, std::uint32_t gid) { return host_chown(*this, host_stat(*this), uid, gid); }
int HostDir::utimes(const std::int64_t times[4]) { return host_utimes(*this, times, false); }

// --- the rest ---

HostOther::HostOther(HostFs& fs, HostFd fd, const struct ::stat& st) : Node(fs, st.st_mode), HostAttr(std::move(fd)) {}

FileStat HostOther::stat() { return host_stat(*this); }

int HostOther::readlink(std::string& out) {
    if (!is(S_IFLNK)) return -EINVAL;
    char buffer[PATH_MAX];
    const ssize_t n = ::readlinkat(fd(), "", buffer, sizeof buffer);
    if (n < 0) return -errno;
    out.assign(buffer, static_cast<std::size_t>(n));
    return 0;
}

int HostOther::open(const DentryPtr& name, std::uint32_t flags, FileHandle& out) {
    return is(S_IFIFO) ? open_fifo(name, flags, out) : -ENXIO;
}

int HostOther::utimes(const std::int64_t times[4]) { return host_utimes(*this, times, true); }

} // namespace rkperf::os
