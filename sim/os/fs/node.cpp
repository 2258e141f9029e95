// SPDX-License-Identifier: Apache-2.0
#include "sim/os/fs/node.h"

#include "sim/os/fs/file_kinds.h"

#include <algorithm>
#include <vector>

namespace rkperf::os {

void FileSystem::statfs(StatFs& out) {
    out.fill(0);
    out[0] = magic;
    out[1] = kPageSize;
    out[7] = dev();
    out[8] = 255; // f_namelen: NAME_MAX
    out[9] = kPageSize;
    out[10] = 0x20; // f_flags: ST_VALID
}

Node::Node(FileSystem& fs, std::uint32_t mode) : fs(fs), services_(fs.s) {
    attr.mode = mode;
    attr.dev = fs.dev();
    if (fs.type == "proc")
        attr.blksize = 1024; // proc's superblock has blocks of that size: stdio takes it for its buffers
    attr.ino = ino = fs.next_ino();
    attr.nlink = (mode & S_IFMT) == S_IFDIR ? 2 : 1;
    dev_major = fs.dev_major;
    dev_minor = fs.dev_minor;
    touch_times(true, true, true);
}

void Node::touch_times(bool access, bool modify, bool change) {
    const std::uint64_t now = fs.s.realtime_ns();
    const auto s = static_cast<std::int64_t>(now / 1'000'000'000);
    const auto ns = static_cast<std::uint32_t>(now % 1'000'000'000);
    if (access) attr.atime_s = s, attr.atime_ns = ns;
    if (modify) attr.mtime_s = s, attr.mtime_ns = ns;
    if (change) attr.ctime_s = s, attr.ctime_ns = ns;
}

int Node::create(const std::string&, std::uint32_t mode, std::uint64_t, NodePtr&) {
    // /proc says of every unknown name that there is none, even to those who would make it.
    if (fs.magic == abi::proc_super_magic) return -ENOENT;
    return (mode & S_IFMT) == S_IFREG ? -EACCES : -EPERM;
}
int Node::symlink(const std::string&, const std::string&) {
    return fs.magic == abi::proc_super_magic ? -ENOENT : -EPERM;
}
int Node::link(const std::string&, Node&) { return fs.magic == abi::proc_super_magic ? -ENOENT : -EPERM; }
int Node::unlink(const std::string&, bool) { return -EPERM; }
int Node::rename(const std::string&, Node&, const std::string&, bool) { return -EPERM; }

int Node::open(const DentryPtr& name, std::uint32_t flags, FileHandle& out) {
    if (is_dir()) {
        out = make_dir_file(name, flags);
        return 0;
    }
    return -ENXIO;
}

int Node::permission(int mask, const Credentials& cred) { return generic_permission(stat(), cred, mask); }

int Node::chmod(std::uint32_t mode) {
    attr.mode = (attr.mode & S_IFMT) | (mode & 07777);
    touch_times(false, false, true);
    return 0;
}

int Node::chown(std::uint32_t uid, std::uint32_t gid) {
    if (uid != ~0u) attr.uid = uid;
    if (gid != ~0u) attr.gid = gid;
    touch_times(false, false, true);
    return 0;
}

int Node::utimes(const std::int64_t times[4]) {
    if (times[1] != UTIME_OMIT) attr.atime_s = times[0], attr.atime_ns = static_cast<std::uint32_t>(times[1]);
    if (times[3] != UTIME_OMIT) attr.mtime_s = times[2], attr.mtime_ns = static_cast<std::uint32_t>(times[3]);
    touch_times(false, false, true);
    return 0;
}

bool capable_of(const Credentials& cred, int capability) { return cred.cap_effective >> capability & 1; }

int generic_permission(const FileStat& st, const Credentials& cred, int mask) {
    std::uint32_t bits = st.mode;
    if (cred.fsuid == st.uid)
        bits >>= 6;
    else if (cred.fsgid == st.gid || std::find(cred.groups.begin(), cred.groups.end(), st.gid) != cred.groups.end())
        bits >>= 3;
    if ((static_cast<std::uint32_t>(mask) & ~bits & 7) == 0) return 0;
    const bool dir = (st.mode & S_IFMT) == S_IFDIR;
    if (dir && !(mask & kMayWrite) && capable_of(cred, kCapDacReadSearch)) return 0;
    if (mask == kMayRead && capable_of(cred, kCapDacReadSearch)) return 0;
    if ((dir || !(mask & kMayExec) || (st.mode & 0111)) && capable_of(cred, kCapDacOverride)) return 0;
    return -EACCES;
}

void Dentry::unpin_all() {
    const std::map<std::string, DentryPtr> below = std::move(pinned);
    pinned.clear();
    for (const auto& [_, d] : below) d->unpin_all();
}

Dentry::~Dentry() {
    if (!parent) return;
    const auto it = parent->children_.find(name);
    if (it != parent->children_.end() && it->second == this) parent->children_.erase(it);
}

int Dentry::child(const std::string& want, DentryPtr& out) {
    if (const auto pin = pinned.find(want); pin != pinned.end()) {
        out = pin->second;
        return 0;
    }
    NodePtr found;
    if (const int err = node->lookup(want, found); err) {
        if (err == -ENOENT) forget(want);
        return err;
    }
    out = adopt(want, std::move(found));
    return 0;
}

DentryPtr Dentry::adopt(const std::string& want, NodePtr found) {
    const auto it = children_.find(want);
    if (it != children_.end() && it->second->node == found)
        if (DentryPtr known = it->second->weak_from_this().lock()) return known;
    auto d = std::make_shared<Dentry>(mount, shared_from_this(), want, std::move(found));
    children_[want] = d.get();
    return d;
}

void Dentry::forget(const std::string& gone) {
    const auto it = children_.find(gone);
    if (it == children_.end()) return;
    it->second->unlinked_ = true;
    children_.erase(it);
}

void Dentry::move(const DentryPtr& new_parent, const std::string& new_name) {
    const auto it = parent->children_.find(name);
    if (it != parent->children_.end() && it->second == this) parent->children_.erase(it);
    new_parent->forget(new_name);
    parent = new_parent;
    name = new_name;
    new_parent->children_[new_name] = this;
}

void Dentry::exchange(const DentryPtr& a, const DentryPtr& b) {
    std::swap(a->parent, b->parent);
    std::swap(a->name, b->name);
    a->parent->children_[a->name] = a.get();
    b->parent->children_[b->name] = b.get();
}

DentryPtr Dentry::covered() {
    DentryPtr d = shared_from_this();
    while (d->mounted) d = d->mounted->root;
    return d;
}

std::string Dentry::path(const Dentry* root) const {
    std::vector<const Dentry*> up;
    std::shared_ptr<const Dentry> hold = shared_from_this();
    bool gone = false;
    while (hold.get() != root) {
        gone |= hold->unlinked_;
        if (hold->parent) {
            up.push_back(hold.get());
            hold = hold->parent;
        } else {
            const DentryPtr under = hold->mount->mountpoint.lock();
            if (!under) break;
            hold = under;
        }
    }
    std::string out;
    for (auto it = up.rbegin(); it != up.rend(); ++it) out.append(1, '/').append((*it)->name);
    if (out.empty()) out.push_back('/');
    if (gone) out += " (deleted)";
    return out;
}

bool Dentry::below(const Dentry& other) const {
    for (std::shared_ptr<const Dentry> d = shared_from_this(); d; d = d->parent)
        if (d.get() == &other) return true;
    return false;
}

} // namespace rkperf::os
