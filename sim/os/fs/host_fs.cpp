// SPDX-License-Identifier: Apache-2.0
#include "sim/os/fs/host_fs.h"

#include "sim/os/fs/host_nodes.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <algorithm>

namespace rkperf::os {

namespace {
// What the guest takes host folders for: the second partition of an SD card, as on RK3588 boards.
constexpr std::uint32_t kMajor = 179, kMinor = 2;
constexpr std::size_t kRecentNodes = 256;
constexpr std::uint64_t kCacheShare = 4; ///< at most a quarter of memory holds files

/// Each node holds a descriptor; the usual soft limit of 1024 is little for a guest that walks a big tree.
void raise_descriptor_limit() {
    rlimit r{};
    if (::getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
        r.rlim_cur = r.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &r);
    }
}
} // namespace

void HostFd::reset(int fd) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
}

std::int64_t host_result(std::int64_t r) { return r < 0 ? -static_cast<std::int64_t>(errno) : r; }

std::uint32_t guest_uid(std::uint32_t host_uid) { return host_uid == ::geteuid() ? 0 : host_uid; }
std::uint32_t guest_gid(std::uint32_t host_gid) { return host_gid == ::getegid() ? 0 : host_gid; }

FileStat stat_of_host(const struct ::stat& st) {
    FileStat out;
    out.mode = st.st_mode;
    out.nlink = static_cast<std::uint32_t>(st.st_nlink);
    out.uid = guest_uid(st.st_uid);
    out.gid = guest_gid(st.st_gid);
    out.size = st.st_size;
    out.blocks = st.st_blocks;
    out.atime_s = st.st_atim.tv_sec, out.atime_ns = static_cast<std::uint32_t>(st.st_atim.tv_nsec);
    out.mtime_s = st.st_mtim.tv_sec, out.mtime_ns = static_cast<std::uint32_t>(st.st_mtim.tv_nsec);
    out.ctime_s = st.st_ctim.tv_sec, out.ctime_ns = static_cast<std::uint32_t>(st.st_ctim.tv_nsec);
    return out;
}

HostFs::HostFs(FsServices& services) : FileSystem(services, "ext4", abi::ext4_super_magic, kMajor, kMinor) {
    raise_descriptor_limit();
}

HostFs::~HostFs() {
    sync();
    recent_.clear(); // while everything their files refer to is still there
}

void HostFs::statfs(StatFs& out) {
    FileSystem::statfs(out);
    struct ::statfs st {};
    if (!statfs_fd_ || ::fstatfs(statfs_fd_.get(), &st) != 0) return;
    // In blocks of 4 KiB, as bsize says.
    const auto blocks = [&](std::uint64_t n) { return n * static_cast<std::uint64_t>(st.f_bsize) / kPageSize; };
    out[2] = blocks(st.f_blocks);
    out[3] = blocks(st.f_bfree);
    out[4] = blocks(st.f_bavail);
    out[5] = st.f_files;
    out[6] = st.f_ffree;
}

int HostFs::sync() {
    int first = 0;
    for (auto& [key, weak] : nodes_)
        if (const auto n = std::dynamic_pointer_cast<PagedNode>(weak.lock()))
            if (const int err = n->write_back(); err && !first) first = err;
    return first;
}

int HostFs::open_root(const std::string& host_path, NodePtr& out) {
    HostFd fd(::open(host_path.c_str(), O_PATH | O_CLOEXEC));
    if (!fd) return -errno;
    if (!statfs_fd_) statfs_fd_.reset(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
    return node_of(std::move(fd), out);
}

int HostFs::node_of(HostFd fd, NodePtr& out) {
    struct ::stat st {};
    if (::fstat(fd.get(), &st) != 0) return -errno;
    const Key key{st.st_dev, st.st_ino};
    const auto it = nodes_.find(key);
    out = it == nodes_.end() ? nullptr : it->second.lock();
    // A number that the host has given to a new file of another kind.
    if (out && (out->attr.mode & S_IFMT) != (st.st_mode & S_IFMT)) out = nullptr;
    if (!out) {
        out = make_host_node(*this, std::move(fd), st);
        nodes_[key] = out;
        if (nodes_.size() > 4 * kRecentNodes) std::erase_if(nodes_, [](const auto& e) { return e.second.expired(); });
    }
    if (recent_.empty() || recent_.back() != out) {
        recent_.remove(out);
        recent_.push_back(out);
        if (recent_.size() > kRecentNodes) recent_.pop_front();
    }
    return 0;
}

void HostFs::page_added(const std::shared_ptr<PagedNode>& node, std::uint64_t index) {
    fifo_.emplace_back(node, index);
    const std::uint64_t limit = std::max<std::uint64_t>(s.pages().total_pages() / kCacheShare, 64);
    for (std::size_t tries = fifo_.size(); *cached > limit && tries > 1; --tries) {
        auto [weak, i] = std::move(fifo_.front());
        fifo_.pop_front();
        const auto n = std::static_pointer_cast<HostFile>(weak.lock());
        if (!n || !n->holds(i)) continue;
        if (!n->evict(i)) fifo_.emplace_back(weak, i);
    }
}

} // namespace rkperf::os
