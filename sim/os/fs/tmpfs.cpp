// SPDX-License-Identifier: Apache-2.0
#include "sim/os/fs/tmpfs.h"

#include "sim/os/fs/dev_files.h"
#include "sim/os/fs/pipe.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace rkperf::os {

namespace {

class TmpFile final : public PagedNode {
  public:
    TmpFile(TmpFs& fs, std::uint32_t mode) : PagedNode(fs, S_IFREG | (mode & 07777)), tmp_(fs), used_(fs.used) {}
    ~TmpFile() override { *used_ -= pages_.size(); }
    FileStat stat() override {
        FileStat st = attr;
        st.size = static_cast<std::int64_t>(bytes_);
        st.blocks = static_cast<std::int64_t>(pages_.size() * (kPageSize / 512));
        return st;
    }

  private:
    int reserve() override {
        if (*used_ >= tmp_.max_pages) return -ENOSPC;
        ++*used_;
        return 0;
    }
    void released(std::uint64_t pages) override { *used_ -= pages; }

    TmpFs& tmp_;
    std::shared_ptr<std::uint64_t> used_;
};

constexpr std::int64_t kDirentSize = 20; // BOGO_DIRENT_SIZE: what an entry adds to a directory's size

} // namespace

TmpFs::TmpFs(FsServices& services, std::uint32_t minor, std::uint64_t max_pages, std::string type)
    : FileSystem(services, std::move(type), abi::tmpfs_magic, 0, minor), max_pages(max_pages) {
    root_ = std::make_shared<TmpDir>(*this, 0755);
}

void TmpFs::statfs(StatFs& out) {
    FileSystem::statfs(out);
    out[2] = max_pages;
    out[3] = out[4] = max_pages - *used;
    out[5] = out[6] = max_pages;
}

NodePtr TmpFs::make_file(std::uint32_t mode, std::uint32_t seals) {
    auto n = std::make_shared<TmpFile>(*this, mode);
    n->seals = seals;
    n->attr.uid = s.cred().fsuid;
    n->attr.gid = s.cred().fsgid;
    return n;
}

FileStat TmpDir::stat() {
    FileStat st = attr;
    st.size = static_cast<std::int64_t>(entries_.size() + 2) * kDirentSize;
    return st;
}

int TmpDir::lookup(const std::string& name, NodePtr& out) {
    const auto it = entries_.find(name);
    if (it == entries_.end()) return -ENOENT;
    out = it->second.node;
    return 0;
}

int TmpDir::list(std::vector<DirEntry>& out) {
    std::vector<std::map<std::string, Entry>::const_iterator> latest_first;
    latest_first.reserve(entries_.size());
    for (auto it = entries_.cbegin(); it != entries_.cend(); ++it) latest_first.push_back(it);
    std::sort(latest_first.begin(), latest_first.end(),
              [](const auto& a, const auto& b) { return a->second.since > b->second.since; });
    for (const auto& it : latest_first) {
        const FileStat& attr_of = it->second.node->attr;
        out.push_back({it->first, attr_of.ino, attr_of.mode});
    }
    return 0;
}

void TmpDir::own(Node& n) {
    n.attr.uid = services().cred().fsuid;
    // A directory with S_ISGID hands its group down.
    n.attr.gid = attr.mode & S_ISGID ? attr.gid : services().cred().fsgid;
    if (n.is_dir() && attr.mode & S_ISGID) n.attr.mode |= S_ISGID;
}

void TmpDir::put(const std::string& name, NodePtr node) {
    if (node->is_dir()) ++attr.nlink;
    entries_[name] = {std::move(node), ++latest_};
    touch_times(false, true, true);
}

int TmpDir::create(const std::string& name, std::uint32_t mode, std::uint64_t rdev, NodePtr& out) {
    if (entries_.count(name)) return -EEXIST;
    switch (mode & S_IFMT) {
        case S_IFREG: out = static_cast<TmpFs&>(fs).make_file(mode, 1); break;
        case S_IFDIR: out = std::make_shared<TmpDir>(fs, mode); break;
        default: out = std::make_shared<SpecialNode>(fs, mode, rdev); break;
    }
    own(*out);
    put(name, out);
    return 0;
}

int TmpDir::symlink(const std::string& name, const std::string& target) {
    if (entries_.count(name)) return -EEXIST;
    auto n = std::make_shared<LinkNode>(fs, target);
    own(*n);
    put(name, n);
    return 0;
}

int TmpDir::link(const std::string& name, Node& target) {
    if (entries_.count(name)) return -EEXIST;
    ++target.attr.nlink;
    target.touch_times(false, false, true);
    put(name, std::static_pointer_cast<Node>(target.shared_from_this()));
    return 0;
}

int TmpDir::unlink(const std::string& name, bool directory) {
    const auto it = entries_.find(name);
    if (it == entries_.end()) return -ENOENT;
    Node& n = *it->second.node;
    if (directory) {
        if (!static_cast<TmpDir&>(n).entries_.empty()) return -ENOTEMPTY;
        n.attr.nlink = 0;
        --attr.nlink;
    } else {
        --n.attr.nlink;
    }
    n.touch_times(false, false, true);
    entries_.erase(it);
    touch_times(false, true, true);
    return 0;
}

int TmpDir::rename(const std::string& name, Node& new_dir, const std::string& new_name, bool exchange) {
    auto& to = static_cast<TmpDir&>(new_dir);
    const auto from_it = entries_.find(name);
    if (from_it == entries_.end()) return -ENOENT;
    const NodePtr moved = from_it->second.node;
    const auto to_it = to.entries_.find(new_name);
    NodePtr there = to_it == to.entries_.end() ? nullptr : to_it->second.node;
    if (there == moved) return 0;
    if (exchange) {
        if (!there) return -ENOENT;
        from_it->second = {there, ++latest_};
        to_it->second = {moved, ++to.latest_};
        if (moved->is_dir() != there->is_dir()) {
            (moved->is_dir() ? attr.nlink : to.attr.nlink) -= 1;
            (moved->is_dir() ? to.attr.nlink : attr.nlink) += 1;
        }
    } else {
        if (there)
            if (const int err = to.unlink(new_name, there->is_dir()); err) return err;
        entries_.erase(name);
        to.entries_[new_name] = {moved, ++to.latest_};
        if (moved->is_dir()) {
            --attr.nlink;
            ++to.attr.nlink;
        }
    }
    touch_times(false, true, true);
    to.touch_times(false, true, true);
    moved->touch_times(false, false, true);
    return 0;
}

int SpecialNode::open(const DentryPtr& name, std::uint32_t flags, FileHandle& out) {
    if (is(S_IFIFO)) return open_fifo(name, flags, out);
    if (is(S_IFCHR)) return open_char_device(name, attr.rdev, flags, out);
    return -ENXIO;
}

} // namespace rkperf::os
