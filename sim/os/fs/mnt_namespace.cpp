// SPDX-License-Identifier: Apache-2.0
// Mount namespaces, and mount(2) as far as a program may use it.
#include "sim/os/fs/mnt_namespace.h"

#include "sim/os/fs/inotify.h"

#include <sys/mount.h>
#include <algorithm>
#include <cerrno>

namespace rkperf::os {

namespace {

using Copies = std::map<const Mount*, Mount*>;

/// The name that stands in the copied mounts where `d` stands in the old ones; null if its mount was not copied.
/// `pin`: it will be a mount point, so it must be seen whatever the file system says.
DentryPtr translate(const DentryPtr& d, const Copies& copies, bool pin) {
    const auto to = copies.find(d->mount);
    if (to == copies.end()) return nullptr;
    std::vector<DentryPtr> way;
    for (DentryPtr up = d; up->parent; up = up->parent) way.push_back(up);
    DentryPtr at = to->second->root;
    for (auto it = way.rbegin(); it != way.rend(); ++it) {
        const std::string& name = (*it)->name;
        const auto pinned = at->pinned.find(name);
        DentryPtr next = pinned != at->pinned.end() ? pinned->second : at->adopt(name, (*it)->node);
        if (pin) at->pinned[name] = next;
        at = next;
    }
    return at;
}

} // namespace

MntNamespace::~MntNamespace() { vfs.drop_mnt_namespace(*this); }

std::shared_ptr<MntNamespace> VfsImpl::init_mnt_namespace(Namespaces& all, const UserNsPtr& user) {
    auto ns = std::make_shared<MntNamespace>(all, user, *this);
    ns->root = root_;
    init_ns_ = ns.get();
    for (const auto& m : mounts_) m->ns = ns.get();
    return ns;
}

std::shared_ptr<MntNamespace> VfsImpl::copy_mnt_namespace(Namespaces& all, const UserNsPtr& user,
                                                          const MntNamespace& from, FsContext& fs) {
    auto ns = std::make_shared<MntNamespace>(all, user, *this);
    Copies copies;
    std::vector<std::unique_ptr<Mount>> made;
    for (const auto& m : mounts_) {
        if (m->ns != &from) continue;
        auto c = std::make_unique<Mount>();
        c->id = mount_id_++;
        c->fs = m->fs;
        c->read_only = m->read_only;
        c->given = m->given;
        c->source = m->source;
        c->subtree = m->subtree;
        c->ns = ns.get();
        c->root = std::make_shared<Dentry>(c.get(), nullptr, "", m->root->node);
        c->parent_id = c->id;
        if (const DentryPtr point = m->mountpoint.lock()) {
            const DentryPtr there = translate(point, copies, true);
            if (!there) continue;
            c->parent_id = there->mount->id;
            c->mountpoint = there;
            there->mounted = c.get();
        }
        if (m.get() == from.root) ns->root = c.get();
        copies[m.get()] = c.get();
        made.push_back(std::move(c));
    }
    for (auto& c : made) mounts_.push_back(std::move(c));
    const DentryPtr cwd = fs.pwd ? fs.pwd : process_cwd();
    const DentryPtr root = fs.root ? fs.root : process_root();
    fs.root = translate(root, copies, false);
    fs.pwd = translate(cwd, copies, false);
    if (!fs.root) fs.root = ns->root->root->covered();
    if (!fs.pwd) fs.pwd = fs.root;
    return ns;
}

void VfsImpl::enter_mnt_namespace(MntNamespace& ns, FsContext& fs) {
    fs.root = fs.pwd = ns.root->root->covered();
    fs.cwd.assign(1, '/');
}

void VfsImpl::drop_mnt_namespace(MntNamespace& ns) {
    for (auto it = mounts_.begin(); it != mounts_.end();) {
        if ((*it)->ns != &ns || &ns == init_ns_) {
            ++it;
            continue;
        }
        (*it)->root->unpin_all();
        gone_mounts_.push_back(std::move(*it));
        it = mounts_.erase(it);
    }
}

bool VfsImpl::chrooted(const FsContext& fs, const MntNamespace& ns) const {
    return fs.root && fs.root != ns.root->root->covered();
}

MntNamespace* VfsImpl::current_mnt_namespace() {
    const Task* t = s_->current();
    return t && t->nsproxy ? t->nsproxy->mnt.get() : init_ns_;
}

Mount& VfsImpl::attach(const DentryPtr& point, std::shared_ptr<FileSystem> fs, NodePtr node, bool read_only,
                       std::string source) {
    auto m = std::make_unique<Mount>();
    m->id = mount_id_++;
    m->parent_id = point->mount->id;
    m->fs = std::move(fs);
    m->ns = point->mount->ns;
    m->read_only = read_only;
    m->source = std::move(source);
    m->mountpoint = point;
    m->root = std::make_shared<Dentry>(m.get(), nullptr, "", std::move(node));
    point->mounted = m.get();
    if (point->parent) {
        // The name stays while something is mounted there.
        for (DentryPtr d = point; d->parent; d = d->parent) d->parent->pinned[d->name] = d;
    }
    mounts_.push_back(std::move(m));
    return *mounts_.back();
}

void VfsImpl::add_fs_type(std::string type, bool in_user_namespace, FsMaker make) {
    fs_types_[std::move(type)] = {in_user_namespace, std::move(make)};
}

int VfsImpl::do_mount(const std::string& source, std::string_view path, const std::string& type, std::uint64_t flags,
                      const std::string& data) {
    if ((flags & MS_MGC_MSK) == MS_MGC_VAL) flags &= ~static_cast<std::uint64_t>(MS_MGC_MSK);
    Found what;
    if (const int err = walk(abi::at_fdcwd, path, true, false, what); err) return err;
    if (!what.dentry) return -ENOTDIR;
    const MntNamespace* ns = current_mnt_namespace();
    if (!ns_capable(s_->cred(), ns ? ns->owner.get() : nullptr, kCapSysAdmin)) return -EPERM;
    const bool is_root = !what.dentry->parent;
    constexpr std::uint64_t kPropagation = MS_SHARED | MS_PRIVATE | MS_SLAVE | MS_UNBINDABLE;
    if (flags & MS_REMOUNT) {
        if (!is_root) return -EINVAL;
        Mount& m = *what.dentry->mount;
        if (m.given && m.read_only && !(flags & MS_RDONLY)) return -EPERM; // the run was not given more
        m.read_only = flags & MS_RDONLY;
        return 0;
    }
    if (flags & MS_BIND) {
        if (source.empty()) return -EINVAL;
        Found from;
        if (const int err = walk(abi::at_fdcwd, source, true, false, from); err) return err;
        if (!from.dentry) return -EINVAL;
        if (from.dentry->node->is_dir() != what.dentry->node->is_dir()) return -ENOTDIR;
        Mount& old = *from.dentry->mount;
        Mount& m = attach(what.dentry, old.fs, from.dentry->node, old.read_only, old.source);
        const std::string inside = from.dentry->path(old.root.get());
        m.subtree = old.subtree;
        if (old.subtree == "/")
            m.subtree = inside;
        else if (inside.size() > 1)
            m.subtree.append(inside);
        return 0;
    }
    if (flags & kPropagation) return is_root ? 0 : -EINVAL; // nothing propagates either way
    if (flags & MS_MOVE) return -EINVAL;
    if (type.empty()) return -EINVAL;
    const auto it = fs_types_.find(type);
    if (it == fs_types_.end()) return -ENODEV;
    if (s_->cred().user_ns && !it->second.in_user_namespace) return -EPERM;
    if (!what.dentry->node->is_dir()) return -ENOTDIR;
    std::shared_ptr<FileSystem> fs;
    NodePtr root;
    if (const int err = it->second.make(data, fs, root); err) return err;
    attach(what.dentry, std::move(fs), std::move(root), flags & MS_RDONLY, source.empty() ? "none" : source);
    return 0;
}

bool VfsImpl::mount_busy(const Mount& m) {
    const auto inside = [&](const DentryPtr& d) { return d && d->mount == &m; };
    for (const auto& other : mounts_)
        if (inside(other->mountpoint.lock())) return true;
    const auto* tasks = s_->tasks();
    if (!tasks) return false;
    for (const auto& [tid, t] : *tasks) {
        if (t->fs && (inside(t->fs->root) || inside(t->fs->pwd))) return true;
        if (!t->files) continue;
        for (const auto& [fd, slot] : t->files->slots())
            if (inside(slot.file->dentry())) return true;
    }
    return false;
}

int VfsImpl::umount(std::string_view path, int flags) {
    Found f;
    if (const int err = walk(abi::at_fdcwd, path, !(flags & UMOUNT_NOFOLLOW), false, f); err) return err;
    const MntNamespace* ns = current_mnt_namespace();
    if (!ns_capable(s_->cred(), ns ? ns->owner.get() : nullptr, kCapSysAdmin)) return -EPERM;
    if (!f.dentry || f.dentry->parent) return -EINVAL;
    Mount& m = *f.dentry->mount;
    const DentryPtr point = m.mountpoint.lock();
    if (!point || (m.given && m.ns == init_ns_)) return -EBUSY; // the root, or part of what the guest was given
    if (flags & MNT_EXPIRE) {
        if (flags & (MNT_FORCE | MNT_DETACH)) return -EINVAL;
        if (mount_busy(m)) return -EBUSY;
        if (!m.expired) {
            m.expired = true;
            return -EAGAIN;
        }
    }
    const bool lazily = flags & MNT_DETACH;
    if (!lazily && mount_busy(m)) return -EBUSY;
    point->mounted = nullptr;
    // What was kept as a mount point may be removed now, unless it is there for the mount alone.
    for (DentryPtr d = point; d->parent && !d->mounted && d->pinned.empty(); d = d->parent) {
        NodePtr there;
        if (d->parent->node->lookup(d->name, there)) break;
        d->parent->pinned.erase(d->name);
    }
    // Mounts inside go along.
    std::vector<const Mount*> gone{&m};
    for (std::size_t i = 0; i < gone.size(); ++i)
        for (const auto& other : mounts_)
            if (const DentryPtr p = other->mountpoint.lock(); p && p->mount == gone[i]) gone.push_back(other.get());
    for (const Mount* g : gone) {
        const auto it = std::find_if(mounts_.begin(), mounts_.end(), [&](const auto& x) { return x.get() == g; });
        if (it == mounts_.end()) continue;
        (*it)->root->unpin_all();
        gone_mounts_.push_back(std::move(*it));
        mounts_.erase(it);
        const FileSystem& fs = *gone_mounts_.back()->fs;
        if (std::none_of(mounts_.begin(), mounts_.end(), [&](const auto& x) { return x->fs.get() == &fs; }))
            notify().unmounted(fs);
    }
    return 0;
}

} // namespace rkperf::os
