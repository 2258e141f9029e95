// SPDX-License-Identifier: Apache-2.0
// Nodes of HostFs by kind.
#pragma once

#include "sim/os/fs/host_fs.h"

#include <set>

namespace rkperf::os {

/// The node for a host inode of any kind; takes the O_PATH descriptor.
NodePtr make_host_node(HostFs& fs, HostFd fd, const struct ::stat& st);

/// What is common: attributes read from and written to the host.
class HostAttr {
  public:
    explicit HostAttr(HostFd fd) : fd_(std::move(fd)) {}
    int fd() const { return fd_.get(); }
    /// "/proc/self/fd/N": reopens exactly this inode, whatever its name leads to by now.
    std::string self() const;

  protected:
    FileStat host_stat(const Node& n) const;
    HostFd fd_;
};

class HostFile final : public PagedNode, public HostAttr {
  public:
    HostFile(HostFs& fs, HostFd fd, const struct ::stat& st);
    ~HostFile() override;
    FileStat stat() override;
    int chmod(std::uint32_t mode) override;
    int chown(std::uint32_t uid, std::uint32_t gid) override;
    int utimes(const std::int64_t times[4]) override;
    int open(const DentryPtr& name, std::uint32_t flags, FileHandle& out) override;
    std::int64_t seek_hole(std::uint64_t offset, bool data) override;
    int write_back() override;
    PhysAddr cached_page(std::uint64_t index) override;
    void readahead(std::uint64_t first, std::uint64_t pages) override;
    void drop_cache(std::uint64_t first, std::uint64_t pages) override;
    bool wants_write_notify() const override { return true; }
    void opened(std::uint32_t flags) override;
    void closed(std::uint32_t flags) override;

    bool holds(std::uint64_t index) const { return pages_.count(index) != 0; }
    bool evict(std::uint64_t index); ///< false: dirty or mapped

  private:
    int fill(std::uint64_t index, std::uint8_t* to) override;
    std::int64_t store(std::span<const std::uint8_t> from, std::uint64_t offset) override;
    int resize(std::uint64_t size) override;
    int reserve() override {
        host_.page_reserved();
        return 0;
    }
    void released(std::uint64_t pages) override;
    bool holes() const override { return false; }
    bool cold(std::uint64_t index) const override { return cold_.count(index) != 0 && !pages_.count(index); }
    void modified() override {}
    /// A descriptor for reading, or for both; -errno.
    int io(bool write);
    /// Notices what others did to the file on the host while nobody had it open here.
    void revalidate();
    void remember();

    HostFs& host_;
    std::shared_ptr<std::uint64_t> cached_;
    HostFd io_;
    bool io_writes_{};
    int open_{};
    std::int64_t seen_s_{}, seen_ns_{};
    std::set<std::uint64_t> cold_; ///< dropped from the cache; all else counts as being in it from the start
};

class HostDir final : public Node, public HostAttr {
  public:
    HostDir(HostFs& fs, HostFd fd, const struct ::stat& st);
    FileStat stat() override;
    int lookup(const std::string& name, NodePtr& out) override;
    int list(std::vector<DirEntry>& out) override;
    int create(const std::string& name, std::uint32_t mode, std::uint64_t rdev, NodePtr& out) override;
    int symlink(const std::string& name, const std::string& target) override;
    int link(const std::string& name, Node& target) override;
    int unlink(const std::string& name, bool directory) override;
    int rename(const std::string& name, Node& new_dir, const std::string& new_name, bool exchange) override;
    int chmod(std::uint32_t mode) override;
    int chown(std::uint32_t uid, std::uint32_t gid) override;
    int utimes(const std::int64_t times[4]) override;

  private:
    HostFs& host_;
};

/// Symbolic links, FIFOs (a pipe of the guest's own behind the host's name), and what is never opened: devices, sockets.
class HostOther final : public Node, public HostAttr {
  public:
    HostOther(HostFs& fs, HostFd fd, const struct ::stat& st);
    FileStat stat() override;
    int readlink(std::string& out) override;
    int open(const DentryPtr& name, std::uint32_t flags, FileHandle& out) override;
    int utimes(const std::int64_t times[4]) override;
};

} // namespace rkperf::os
