// SPDX-License-Identifier: Apache-2.0
// Folders and files of the host. Every step goes through a descriptor of the folder above with a single name and
// O_NOFOLLOW, so neither links nor renames on the host lead out of what was given; links are the walker's business.
// Contents are read into simulated pages on demand and written through; pages changed by mappings are written back by
// fsync, close and at the end.
#pragma once

#include "sim/os/fs/page_cache.h"

#include <sys/stat.h>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <utility>

namespace rkperf::os {

/// Owns a descriptor of the host.
class HostFd {
  public:
    HostFd() = default;
    explicit HostFd(int fd) : fd_(fd) {}
    ~HostFd() { reset(); }
    HostFd(HostFd&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
    HostFd& operator=(HostFd&& o) noexcept {
        if (this != &o) reset(std::exchange(o.fd_, -1));
        return *this;
    }
    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }
    void reset(int fd = -1);

  private:
    int fd_{-1};
};

class HostFs final : public FileSystem {
  public:
    explicit HostFs(FsServices& services);
    ~HostFs() override;
    void statfs(StatFs& out) override;
    void forget(const NodePtr& node) override { recent_.remove(node); }
    int sync() override;

    /// The node of a host path that the user named; links in it are followed. -errno if it is not there.
    int open_root(const std::string& host_path, NodePtr& out);
    /// The node behind an O_PATH descriptor; one per host inode.
    int node_of(HostFd fd, NodePtr& out);

    // --- the limit of cached pages ---
    void page_reserved() { ++*cached; }
    void page_added(const std::shared_ptr<PagedNode>& node, std::uint64_t index);
    std::uint64_t cached_pages() const { return *cached; }
    /// Files that outlive the file system give their pages back all the same.
    const std::shared_ptr<std::uint64_t> cached = std::make_shared<std::uint64_t>(0);

  private:
    using Key = std::pair<std::uint64_t, std::uint64_t>; ///< host's device and inode
    std::map<Key, std::weak_ptr<Node>> nodes_;
    std::list<NodePtr> recent_; ///< keeps the caches of files that nobody has open
    std::deque<std::pair<std::weak_ptr<PagedNode>, std::uint64_t>> fifo_;
    HostFd statfs_fd_;
};

/// Host errors as results: -errno.
std::int64_t host_result(std::int64_t r);
/// Owner and group as the guest sees them: what belongs to the user who runs the simulation, or to root, is root's.
std::uint32_t guest_uid(std::uint32_t host_uid);
std::uint32_t guest_gid(std::uint32_t host_gid);
FileStat stat_of_host(const struct ::stat& st);

} // namespace rkperf::os
