// SPDX-License-Identifier: Apache-2.0
#include "sim/os/fs/attr_tree.h"

#include "kernel_events/trace/dynevent.h"
#include "sim/os/fs/tmpfs.h"

namespace rkperf::os {

namespace {

struct StyleInfo {
    std::int64_t size;
    int no_read, no_write;
    TextPositions positions{};
};
constexpr StyleInfo style_info(AttrStyle s) {
    switch (s) {
        case AttrStyle::sysfs: return {4096, -EIO, -EIO};
        case AttrStyle::tracefs: return {0, -EINVAL, -EINVAL};
        case AttrStyle::sysctl: return {0, -EPERM, -EPERM, TextPositions::number};
        case AttrStyle::sysctl_string: return {0, -EPERM, -EPERM, TextPositions::string};
        default: return {0, -EIO, -EIO};
    }
}

std::vector<std::string> split(std::string_view path) {
    std::vector<std::string> out;
    for (std::size_t at = 0; at < path.size();) {
        const std::size_t next = std::min(path.find('/', at), path.size());
        if (next > at) out.emplace_back(path.substr(at, next - at));
        at = next + 1;
    }
    return out;
}

} // namespace

int AttrDir::lookup(const std::string& name, NodePtr& out) {
    const auto it = entries.find(name);
    if (it == entries.end()) return -ENOENT;
    out = it->second;
    return 0;
}

int AttrDir::list(std::vector<DirEntry>& out) {
    for (const auto& [name, node] : entries) out.push_back({name, node->attr.ino, node->attr.mode});
    return 0;
}

AttrFile::AttrFile(FileSystem& fs, AttrStyle style, std::uint32_t mode, ShowFn show, StoreFn store)
    : Node(fs, S_IFREG | (mode & 07777)), style_(style), show_(std::move(show)), store_(std::move(store)) {
    // sysfs does not ask about writes of nothing.
    if (style == AttrStyle::sysfs && store_)
        store_ = [to = std::move(store_)](std::string_view text) { return text.empty() ? 0 : to(text); };
}

FileStat AttrFile::stat() {
    FileStat st = attr;
    st.size = style_info(style_).size;
    return st;
}

int AttrFile::permission(int mask, const Credentials& cred) {
    if (style_ != AttrStyle::sysctl && style_ != AttrStyle::sysctl_string) return Node::permission(mask, cred);
    std::uint32_t bits = attr.mode;
    if (cred.euid == 0)
        bits >>= 6;
    else if (cred.egid == 0)
        bits >>= 3;
    return static_cast<std::uint32_t>(mask) & ~bits & 7 ? -EACCES : 0;
}

int AttrFile::open_permission(std::uint32_t flags) {
    if (style_ != AttrStyle::sysfs) return 0;
    const std::uint32_t mode = flags & abi::o_accmode;
    if (mode != abi::o_rdonly && (!(attr.mode & 0222) || !store_)) return -EACCES;
    if (mode != abi::o_wronly && (!(attr.mode & 0444) || !show_)) return -EACCES;
    return 0;
}

int AttrFile::open(const DentryPtr& name, std::uint32_t flags, FileHandle& out) {
    const StyleInfo i = style_info(style_);
    out = make_text_file(name, flags, show_, store_, {i.no_read, i.no_write, true, i.positions});
    return 0;
}

int AttrFile::set_size(std::uint64_t) {
    if (style_ == AttrStyle::tracefs && store_) {
        const std::int64_t r = store_(ke::kTruncated);
        return r < 0 ? static_cast<int>(r) : 0;
    }
    return 0;
}

AttrFs::AttrFs(FsServices& services, std::string type, std::uint64_t magic, std::uint32_t minor, AttrStyle style,
               std::shared_ptr<AttrDir> (*make_root)(AttrFs&))
    : FileSystem(services, std::move(type), magic, 0, minor), style_(style) {
    root_ = make_root ? make_root(*this) : std::make_shared<AttrDir>(*this, 0555);
}

AttrDir& AttrFs::dir_of(std::string_view path, std::string& name) {
    std::vector<std::string> parts = split(path);
    name = parts.empty() ? "" : parts.back();
    AttrDir* dir = root_.get();
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
        NodePtr& slot = dir->entries[parts[i]];
        if (!std::dynamic_pointer_cast<AttrDir>(slot)) {
            auto made = std::make_shared<AttrDir>(
                *this, style_ == AttrStyle::sysfs || style_ == AttrStyle::tracefs ? 0755 : 0555);
            made->implied = true;
            slot = made;
            ++dir->attr.nlink;
        }
        dir = static_cast<AttrDir*>(slot.get());
    }
    return *dir;
}

void AttrFs::add_node(std::string_view path, NodePtr node) {
    std::string name;
    AttrDir& dir = dir_of(path, name);
    dir.entries[name] = std::move(node);
}

void AttrFs::add_file(std::string_view path, std::uint32_t mode, ShowFn show, StoreFn store) {
    add_file(path, mode, style_, std::move(show), std::move(store));
}

void AttrFs::add_file(std::string_view path, std::uint32_t mode, AttrStyle style, ShowFn show, StoreFn store) {
    add_node(path, std::make_shared<AttrFile>(*this, style, mode, std::move(show), std::move(store)));
}

void AttrFs::add_text(std::string_view path, std::string text) {
    add_file(path, 0444, [t = std::move(text)](std::string& out) {
        out = t;
        return 0;
    });
}

void AttrFs::add_link(std::string_view path, std::string target) {
    auto link = std::make_shared<LinkNode>(*this, std::move(target));
    if (style_ == AttrStyle::sysfs) link->attr.size = 0; // kernfs does not say
    add_node(path, std::move(link));
}

void AttrFs::add_dir(std::string_view path) {
    std::string name, below(path);
    below += "/x"; // its folder is the one wanted
    dir_of(below, name).implied = false;
}

void AttrFs::remove(std::string_view path) {
    const std::vector<std::string> parts = split(path);
    if (parts.empty()) return;
    std::vector<AttrDir*> way{root_.get()};
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
        const auto it = way.back()->entries.find(parts[i]);
        if (it == way.back()->entries.end()) return;
        auto* dir = dynamic_cast<AttrDir*>(it->second.get());
        if (!dir) return;
        way.push_back(dir);
    }
    way.back()->entries.erase(parts.back());
    for (std::size_t i = way.size(); i-- > 1 && way[i]->implied && way[i]->entries.empty();) {
        way[i - 1]->entries.erase(parts[i - 1]);
        --way[i - 1]->attr.nlink;
    }
}

NodePtr AttrFs::node_at(std::string_view path) const {
    NodePtr n = root_;
    for (const std::string& part : split(path)) {
        NodePtr next;
        if (n->lookup(part, next)) return nullptr;
        n = next;
    }
    return n;
}

std::string AttrFs::show(std::string_view path) {
    const NodePtr n = node_at(path);
    if (!n) return {};
    FileHandle f;
    std::string out;
    auto d = std::make_shared<Dentry>(nullptr, nullptr, "", n);
    if (n->open(d, abi::o_rdonly, f)) return out;
    std::uint8_t buffer[4096];
    const std::int64_t got = f->pread(buffer, 0);
    if (got > 0) out.assign(reinterpret_cast<char*>(buffer), static_cast<std::size_t>(got));
    return out;
}

} // namespace rkperf::os
