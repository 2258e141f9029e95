// SPDX-License-Identifier: Apache-2.0
// A file system in simulated memory: /tmp, /dev/shm, the root folder when the guest is given none, memfd.
#pragma once

#include "sim/os/fs/page_cache.h"

#include <memory>

namespace rkperf::os {

class TmpFs final : public FileSystem {
  public:
    /// `max_pages`: contents beyond give ENOSPC.
    TmpFs(FsServices& services, std::uint32_t minor, std::uint64_t max_pages, std::string type = "tmpfs");
    void statfs(StatFs& out) override;
    NodePtr root() const { return root_; }
    NodePtr make_file(std::uint32_t mode, std::uint32_t seals); ///< without a name (memfd_create, O_TMPFILE)

    std::uint64_t max_pages;
    /// Files that outlive the mount give their pages back all the same.
    const std::shared_ptr<std::uint64_t> used = std::make_shared<std::uint64_t>(0);

  private:
    NodePtr root_;
};

/// Directory of a TmpFs; also built by hand for the skeleton of the root.
class TmpDir : public Node {
  public:
    TmpDir(FileSystem& fs, std::uint32_t mode) : Node(fs, S_IFDIR | (mode & 07777)) {}
    int lookup(const std::string& name, NodePtr& out) override;
    int list(std::vector<DirEntry>& out) override;
    bool lists_in_order() const override { return true; }
    int create(const std::string& name, std::uint32_t mode, std::uint64_t rdev, NodePtr& out) override;
    int symlink(const std::string& name, const std::string& target) override;
    int link(const std::string& name, Node& target) override;
    int unlink(const std::string& name, bool directory) override;
    int rename(const std::string& name, Node& new_dir, const std::string& new_name, bool exchange) override;
    FileStat stat() override;
    /// Puts a node there, replacing what was.
    void put(const std::string& name, NodePtr node);

  private:
    struct Entry {
        NodePtr node;
        std::uint64_t since{}; ///< names are listed the latest first, as Linux lists its dentries
    };
    void own(Node& n);
    std::map<std::string, Entry> entries_;
    std::uint64_t latest_{};
};

/// A link with a fixed target.
class LinkNode final : public Node {
  public:
    LinkNode(FileSystem& fs, std::string target) : Node(fs, S_IFLNK | 0777), target_(std::move(target)) {
        attr.size = static_cast<std::int64_t>(target_.size());
    }
    int readlink(std::string& out) override {
        out = target_;
        return 0;
    }

  private:
    std::string target_;
};

/// FIFO, socket or device of a TmpFs.
class SpecialNode final : public Node {
  public:
    SpecialNode(FileSystem& fs, std::uint32_t mode, std::uint64_t rdev) : Node(fs, mode) { attr.rdev = rdev; }
    int open(const DentryPtr& name, std::uint32_t flags, FileHandle& out) override;
};

} // namespace rkperf::os
