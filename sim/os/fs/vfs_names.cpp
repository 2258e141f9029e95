// SPDX-License-Identifier: Apache-2.0
// Making, removing and renaming names; changing attributes.
#include "sim/os/fs/inotify.h"
#include "sim/os/fs/vfs_impl.h"
#include "sim/os/fs/walk.h"

#include <sys/resource.h>
#include <csignal>

namespace rkperf::os {

int VfsImpl::may_create(const Parent& p) {
    if (p.dir->mount->read_only) return -EROFS;
    if (p.dir->unlinked()) return -ENOENT;
    return p.dir->node->permission(kMayWrite | kMayExec, s_->cred());
}

int VfsImpl::may_delete(const Parent& p, const DentryPtr& victim, bool directory) {
    if (p.dir->mount->read_only) return -EROFS;
    if (const int err = p.dir->node->permission(kMayWrite | kMayExec, s_->cred()); err) return err;
    const FileStat dir = p.dir->node->stat(), st = victim->node->stat();
    const Credentials& c = s_->cred();
    if (dir.mode & S_ISVTX && st.uid != c.fsuid && dir.uid != c.fsuid && !capable_of(c, kCapFowner)) return -EPERM;
    if (directory && !victim->node->is_dir()) return -ENOTDIR;
    if (!directory && victim->node->is_dir()) return -EISDIR;
    if (victim->mounted || !victim->pinned.empty()) return -EBUSY;
    return 0;
}

int VfsImpl::made(const Parent& p, int error, bool directory) {
    if (!error) notify().name(*p.dir->node, p.name, inotify::create, directory);
    return error;
}

int VfsImpl::mkdirat(int dirfd, std::string_view path, std::uint32_t mode) {
    FsFrame f(*s_, KernelSymbol::do_mkdirat);
    Parent p;
    if (const int err = walk_parent(dirfd, path, p); err) return err;
    if (p.last != Parent::Last::normal) return -EEXIST;
    DentryPtr there;
    const int err = p.dir->child(p.name, there);
    if (err == 0) return -EEXIST;
    if (err != -ENOENT) return err;
    if (const int no = may_create(p); no) return no;
    NodePtr n;
    return made(p, p.dir->node->create(p.name, S_IFDIR | (mode & ~s_->fs().umask & 01777), 0, n), true);
}

int VfsImpl::mknodat(int dirfd, std::string_view path, std::uint32_t mode, std::uint64_t dev) {
    if ((mode & S_IFMT) == 0) mode |= S_IFREG;
    Parent p;
    if ((mode & S_IFMT) == S_IFDIR) return -EPERM;
    if (const int err = walk_parent(dirfd, path, p); err) return err;
    if (p.last != Parent::Last::normal) return -EEXIST;
    DentryPtr there;
    const int err = p.dir->child(p.name, there);
    if (err == 0) return -EEXIST;
    if (err != -ENOENT) return err;
    if (p.slash) return -ENOENT;
    const std::uint32_t type = mode & S_IFMT;
    if (type != S_IFREG && type != S_IFIFO && type != S_IFSOCK && type != S_IFCHR && type != S_IFBLK) return -EINVAL;
    if (const int no = may_create(p); no) return no;
    if ((type == S_IFCHR || type == S_IFBLK) && !capable_of(s_->cred(), kCapMknod)) return -EPERM;
    NodePtr n;
    return made(p, p.dir->node->create(p.name, type | (mode & ~s_->fs().umask & 07777), dev, n));
}

int VfsImpl::symlinkat(std::string_view target, int dirfd, std::string_view path) {
    if (target.empty()) return -ENOENT;
    Parent p;
    if (const int err = walk_parent(dirfd, path, p); err) return err;
    if (p.last != Parent::Last::normal) return -EEXIST;
    DentryPtr there;
    const int err = p.dir->child(p.name, there);
    if (err == 0) return -EEXIST;
    if (err != -ENOENT) return err;
    if (p.slash) return -ENOENT;
    if (const int no = may_create(p); no) return no;
    return made(p, p.dir->node->symlink(p.name, std::string(target)));
}

int VfsImpl::linkat(int odir, std::string_view from, int ndir, std::string_view to, int flags) {
    if (flags & ~(abi::at_symlink_follow | abi::at_empty_path)) return -EINVAL;
    Found what;
    if (const int err = walk(odir, from, flags & abi::at_symlink_follow, flags & abi::at_empty_path, what); err)
        return err;
    Parent p;
    if (const int err = walk_parent(ndir, to, p); err) return err;
    if (p.last != Parent::Last::normal) return -EEXIST;
    DentryPtr there;
    const int err = p.dir->child(p.name, there);
    if (err == 0) return -EEXIST;
    if (err != -ENOENT) return err;
    if (p.slash) return -ENOENT;
    if (!what.dentry || what.dentry->mount != p.dir->mount || &what.dentry->node->fs != &p.dir->node->fs) return -EXDEV;
    if (const int no = may_create(p); no) return no;
    if (what.dentry->node->is_dir()) return -EPERM;
    if (what.dentry->node->stat().nlink == 0 && !what.dentry->node->linkable) return -ENOENT;
    if (const int no = p.dir->node->link(p.name, *what.dentry->node); no) return no;
    notify().link_count(*what.dentry->node);
    return made(p, 0);
}

int VfsImpl::unlinkat(int dirfd, std::string_view path, int flags) {
    FsFrame f(*s_, KernelSymbol::do_unlinkat);
    if (flags & ~abi::at_removedir) return -EINVAL;
    const bool directory = flags & abi::at_removedir;
    Parent p;
    if (const int err = walk_parent(dirfd, path, p); err) return err;
    switch (p.last) {
        case Parent::Last::dot: return directory ? -EINVAL : -EISDIR;
        case Parent::Last::dotdot: return directory ? -ENOTEMPTY : -EISDIR;
        case Parent::Last::root: return directory ? -EBUSY : -EISDIR;
        default: break;
    }
    DentryPtr victim;
    if (const int err = p.dir->child(p.name, victim); err) return err;
    if (p.slash && !directory) return victim->node->is_dir() ? -EISDIR : -ENOTDIR;
    if (const int err = may_delete(p, victim, directory); err) return err;
    if (const int err = p.dir->node->unlink(p.name, directory); err) return err;
    p.dir->forget(p.name);
    if (!directory) notify().link_count(*victim->node);
    notify().unlinked(std::move(victim));
    notify().name(*p.dir->node, p.name, inotify::delete_, directory);
    return 0;
}

int VfsImpl::renameat2(int odir, std::string_view from, int ndir, std::string_view to, unsigned flags) {
    FsFrame f(*s_, KernelSymbol::do_renameat2);
    if (flags & ~(abi::rename_noreplace | abi::rename_exchange | abi::rename_whiteout)) return -EINVAL;
    if (flags & (abi::rename_noreplace | abi::rename_whiteout) && flags & abi::rename_exchange) return -EINVAL;
    if (flags & abi::rename_whiteout) return -EINVAL; // as by a file system without whiteouts
    Parent a, b;
    if (const int err = walk_parent(odir, from, a); err) return err;
    if (const int err = walk_parent(ndir, to, b); err) return err;
    if (a.dir->mount != b.dir->mount) return -EXDEV;
    if (a.last != Parent::Last::normal) return -EBUSY;
    if (b.last != Parent::Last::normal) return flags & abi::rename_noreplace ? -EEXIST : -EBUSY;
    DentryPtr old, there;
    if (const int err = a.dir->child(a.name, old); err) return err;
    const int found = b.dir->child(b.name, there);
    if (found && found != -ENOENT) return found;
    if (!found && flags & abi::rename_noreplace) return -EEXIST;
    const bool exchange = flags & abi::rename_exchange;
    if (exchange) {
        if (found) return -ENOENT;
        if (!there->node->is_dir() && b.slash) return -ENOTDIR;
    }
    if (!old->node->is_dir() && (a.slash || (!exchange && b.slash))) return -ENOTDIR;
    if (old->node->is_dir() && b.dir->below(*old)) return -EINVAL;
    if (there && a.dir->below(*there)) return exchange ? -EINVAL : -ENOTEMPTY;
    if (there && there->node == old->node) return 0;
    if (const int err = may_delete(a, old, old->node->is_dir()); err) return err;
    if (!there) {
        if (const int err = may_create(b); err) return err;
    } else {
        const bool want_dir = exchange ? there->node->is_dir() : old->node->is_dir();
        if (const int err = may_delete(b, there, want_dir); err) return err;
    }
    if (&old->node->fs != &b.dir->node->fs) return -EXDEV;
    // A folder that gets another parent changes its own "..".
    if (a.dir != b.dir && old->node->is_dir())
        if (const int err = old->node->permission(kMayWrite, s_->cred()); err) return err;
    if (const int err = a.dir->node->rename(a.name, *b.dir->node, b.name, exchange); err) return err;
    if (exchange)
        Dentry::exchange(old, there);
    else
        old->move(b.dir, b.name);
    notify().renamed(*a.dir->node, a.name, *b.dir->node, b.name, old, exchange ? nullptr : there);
    if (exchange)
        notify().renamed(*b.dir->node, b.name, *a.dir->node, a.name, there, nullptr);
    else if (there)
        notify().unlinked(std::move(there));
    return 0;
}

// --- attributes ---

int VfsImpl::setattr_allowed(const DentryPtr& d, bool owner_only) {
    if (d->mount->read_only) return -EROFS;
    if (owner_only && s_->cred().fsuid != d->node->stat().uid && !capable_of(s_->cred(), kCapFowner)) return -EPERM;
    return 0;
}

int VfsImpl::chmod_node(const DentryPtr& d, std::uint32_t mode) {
    if (const int err = setattr_allowed(d, true); err) return err;
    if (d->node->is(S_IFLNK)) return -EOPNOTSUPP;
    const FileStat st = d->node->stat();
    const Credentials& c = s_->cred();
    const bool in_group = st.gid == c.fsgid || std::find(c.groups.begin(), c.groups.end(), st.gid) != c.groups.end();
    if (!in_group && !capable_of(c, kCapFsetid)) mode &= ~static_cast<std::uint32_t>(S_ISGID);
    if (const int err = d->node->chmod(mode & 07777); err) return err;
    notify().file(d, inotify::attrib);
    return 0;
}

int VfsImpl::chown_node(const DentryPtr& d, std::uint32_t uid, std::uint32_t gid) {
    if (const int err = setattr_allowed(d, false); err) return err;
    const FileStat st = d->node->stat();
    const Credentials& c = s_->cred();
    if (!capable_of(c, kCapChown)) {
        if (uid != ~0u && (uid != st.uid || c.fsuid != st.uid)) return -EPERM;
        const bool in_group = gid == c.fsgid || std::find(c.groups.begin(), c.groups.end(), gid) != c.groups.end();
        if (gid != ~0u && (c.fsuid != st.uid || (!in_group && gid != st.gid))) return -EPERM;
    }
    // Who owns it now must not inherit set-id bits.
    if (!d->node->is_dir() && st.mode & (S_ISUID | S_ISGID)) {
        std::uint32_t mode = st.mode & ~static_cast<std::uint32_t>(S_ISUID);
        if (mode & S_IXGRP) mode &= ~static_cast<std::uint32_t>(S_ISGID);
        if (const int err = d->node->chmod(mode & 07777); err) return err;
    }
    const bool cleared = d->node->mode() != st.mode;
    if (const int err = d->node->chown(uid, gid); err) return err;
    if (uid != ~0u || gid != ~0u || cleared) notify().file(d, inotify::attrib);
    return 0;
}

int VfsImpl::utimes_node(const DentryPtr& d, const std::int64_t times[4]) {
    std::int64_t t[4] = {0, UTIME_NOW, 0, UTIME_NOW};
    if (times) std::copy(times, times + 4, t);
    if (t[1] == UTIME_OMIT && t[3] == UTIME_OMIT) return 0;
    if (d->mount->read_only) return -EROFS;
    const bool owner = s_->cred().fsuid == d->node->stat().uid || capable_of(s_->cred(), kCapFowner);
    if (!owner) {
        if (t[1] != UTIME_NOW || t[3] != UTIME_NOW) return -EPERM;
        if (const int err = d->node->permission(kMayWrite, s_->cred()); err) return err;
    }
    const std::uint64_t now = s_->realtime_ns();
    for (int i = 0; i < 4; i += 2)
        if (t[i + 1] == UTIME_NOW) {
            t[i] = static_cast<std::int64_t>(now / 1'000'000'000);
            t[i + 1] = static_cast<std::int64_t>(now % 1'000'000'000);
        }
    const std::uint32_t what = t[3] == UTIME_OMIT   ? inotify::access
                               : t[1] == UTIME_OMIT ? inotify::modify
                                                    : inotify::attrib;
    if (const int err = d->node->utimes(t); err) return err;
    notify().file(d, what);
    return 0;
}

int VfsImpl::fchmodat(int dirfd, std::string_view path, std::uint32_t mode) {
    Found what;
    if (const int err = walk(dirfd, path, true, false, what); err) return err;
    return what.dentry ? chmod_node(what.dentry, mode) : -EPERM;
}

int VfsImpl::fchownat(int dirfd, std::string_view path, std::uint32_t uid, std::uint32_t gid, int flags) {
    if (flags & ~(abi::at_symlink_nofollow | abi::at_empty_path)) return -EINVAL;
    Found what;
    const bool follow = !(flags & abi::at_symlink_nofollow);
    if (const int err = walk(dirfd, path, follow, flags & abi::at_empty_path, what); err) return err;
    return what.dentry ? chown_node(what.dentry, uid, gid) : -EPERM;
}

int VfsImpl::utimensat(int dirfd, std::string_view path, const std::int64_t times[4], int flags) {
    if (flags & ~(abi::at_symlink_nofollow | abi::at_empty_path)) return -EINVAL;
    Found what;
    const bool follow = !(flags & abi::at_symlink_nofollow);
    if (const int err = walk(dirfd, path, follow, flags & abi::at_empty_path, what); err) return err;
    return what.dentry ? utimes_node(what.dentry, times) : 0;
}

int VfsImpl::chmod_file(File& file, std::uint32_t mode) {
    return file.dentry() ? chmod_node(file.dentry(), mode) : -EPERM;
}
int VfsImpl::chown_file(File& file, std::uint32_t uid, std::uint32_t gid) {
    return file.dentry() ? chown_node(file.dentry(), uid, gid) : -EPERM;
}
int VfsImpl::utimes_file(File& file, const std::int64_t times[4]) {
    return file.dentry() ? utimes_node(file.dentry(), times) : 0;
}

int VfsImpl::truncate(std::string_view path, std::uint64_t size) {
    Found what;
    if (const int err = walk(abi::at_fdcwd, path, true, false, what); err) return err;
    if (!what.dentry) return -EINVAL;
    Node& n = *what.dentry->node;
    if (n.is_dir()) return -EISDIR;
    if (!n.is(S_IFREG)) return -EINVAL;
    if (const int err = n.permission(kMayWrite, s_->cred()); err) return err;
    if (what.dentry->mount->read_only) return -EROFS;
    if (n.deny_write > 0) return -ETXTBSY;
    if (size > n.size() && size > s_->rlimit(RLIMIT_FSIZE)) {
        s_->send_signal(SIGXFSZ);
        return -EFBIG;
    }
    if (const int err = n.set_size(size); err) return err;
    notify().file(what.dentry, inotify::modify);
    return 0;
}

} // namespace rkperf::os
