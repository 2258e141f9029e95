// SPDX-License-Identifier: Apache-2.0
// Trees of small files whose contents are made by functions: sysfs, /proc and /proc/sys, tracefs.
#pragma once

#include "sim/os/fs/file_kinds.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace rkperf::os {

/// Whose rules a file follows: who may open it, and what an operation without a function gives.
enum class AttrStyle : std::uint8_t {
    sysfs,  ///< size 4096; opening against the mode is EACCES even for root; reading or writing without function EIO
    sysctl, ///< numbers: the mode binds root too
    sysctl_string, ///< the same for a string
    proc,          ///< root may open; writing without function EIO
    tracefs,       ///< root may open; writing without function EINVAL; O_TRUNC stores ke::kTruncated
};

class AttrDir : public Node {
  public:
    AttrDir(FileSystem& fs, std::uint32_t mode) : Node(fs, S_IFDIR | mode) {}
    int lookup(const std::string& name, NodePtr& out) override;
    int list(std::vector<DirEntry>& out) override;
    int chmod(std::uint32_t) override { return -EPERM; }

    std::map<std::string, NodePtr> entries;
    bool implied{}; ///< made for a file below it; goes with the last one
};

class AttrFile final : public Node {
  public:
    AttrFile(FileSystem& fs, AttrStyle style, std::uint32_t mode, ShowFn show, StoreFn store);
    FileStat stat() override;
    int permission(int mask, const Credentials& cred) override;
    int open_permission(std::uint32_t flags) override;
    int open(const DentryPtr& name, std::uint32_t flags, FileHandle& out) override;
    int set_size(std::uint64_t size) override;

  private:
    AttrStyle style_;
    ShowFn show_;
    StoreFn store_;
};

class AttrFs final : public FileSystem {
  public:
    AttrFs(FsServices& services, std::string type, std::uint64_t magic, std::uint32_t minor, AttrStyle style,
           std::shared_ptr<AttrDir> (*make_root)(AttrFs&) = nullptr);

    std::shared_ptr<AttrDir> root() const { return root_; }
    void set_root(std::shared_ptr<AttrDir> root) { root_ = std::move(root); }
    /// Paths are relative to the tree's root; folders on the way are made. An entry of that name is replaced.
    void add_file(std::string_view path, std::uint32_t mode, ShowFn show, StoreFn store = {});
    void add_file(std::string_view path, std::uint32_t mode, AttrStyle style, ShowFn show, StoreFn store);
    void add_text(std::string_view path, std::string text); ///< constant, mode 0444
    void add_link(std::string_view path, std::string target);
    void add_dir(std::string_view path);
    void add_node(std::string_view path, NodePtr node);
    void remove(std::string_view path); ///< with everything below it
    bool exists(std::string_view path) const { return node_at(path) != nullptr; }
    /// What a file shows now; empty if there is none.
    std::string show(std::string_view path);

  private:
    NodePtr node_at(std::string_view path) const;
    AttrDir& dir_of(std::string_view path, std::string& name);
    AttrStyle style_;
    std::shared_ptr<AttrDir> root_;
};

} // namespace rkperf::os
