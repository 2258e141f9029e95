// SPDX-License-Identifier: Apache-2.0
// Mounts, lookup from the caller's point of view, and opening. What changes folders is in vfs_names.cpp.
#include "sim/os/fs/vfs_impl.h"

#include "sim/os/fs/anon_files.h"
#include "sim/os/fs/dev_files.h"
#include "sim/os/fs/device_files.h"
#include "sim/os/fs/inotify.h"
#include "sim/os/fs/locks.h"
#include "sim/os/fs/pipe.h"
#include "sim/os/fs/walk.h"
#include "sim/os/ns/nsfs.h"

#include <cstring>
#include <stdexcept>

namespace rkperf::os {

namespace {
constexpr std::uint64_t kTmpShare = 2; ///< a tmpfs may take half of memory
} // namespace

int Found::stat(FileStat& st) const {
    if (!dentry) return file->stat(st);
    st = dentry->node->stat();
    return 0;
}

VfsImpl::VfsImpl(std::unique_ptr<FsServices> services, const MountConfig& config) : s_(std::move(services)) {
    const std::uint64_t tmp_pages = s_->pages().total_pages() / kTmpShare;
    host_ = std::make_shared<HostFs>(*s_);
    skeleton_ = std::make_shared<TmpFs>(*s_, 1, tmp_pages, "rootfs");
    anonymous_ = std::make_shared<TmpFs>(*s_, 5, tmp_pages);
    anonymous_mount_ = std::make_shared<Mount>();
    anonymous_mount_->fs = anonymous_;
    std::string root = config.root;
    bool root_writable = false;
    for (const auto& b : config.binds)
        if (b.guest == "/") root = b.host, root_writable = b.writable;
    NodePtr top = skeleton_->root();
    if (!root.empty()) {
        const int err = host_->open_root(root, top);
        if (err || !top->is_dir()) throw std::invalid_argument(root + ": " + std::strerror(err ? -err : ENOTDIR));
    }
    auto m = std::make_unique<Mount>();
    m->id = mount_id_++;
    m->parent_id = m->id;
    m->fs = root.empty() ? std::static_pointer_cast<FileSystem>(skeleton_) : host_;
    m->read_only = !root.empty() && !root_writable;
    m->given = true;
    m->source = root.empty() ? "rootfs" : "/dev/root";
    m->root = std::make_shared<Dentry>(m.get(), nullptr, "", top);
    root_ = m.get();
    mounts_.push_back(std::move(m));

    const auto dev = std::make_shared<TmpFs>(*s_, 6, tmp_pages, "devtmpfs");
    auto& dev_root = static_cast<TmpDir&>(*dev->root());
    for (const DeviceInfo& d : char_devices()) {
        auto n = std::make_shared<SpecialNode>(*dev, d.mode, abi::make_dev(d.major, d.minor));
        dev_root.put(d.name, n);
    }
    static constexpr std::pair<const char*, const char*> kLinks[] = {{"fd", "/proc/self/fd"},
                                                                     {"stdin", "/proc/self/fd/0"},
                                                                     {"stdout", "/proc/self/fd/1"},
                                                                     {"stderr", "/proc/self/fd/2"}};
    for (const auto& [name, target] : kLinks) dev_root.put(name, std::make_shared<LinkNode>(*dev, target));
    mount(dev, dev->root(), "/dev", false, "devtmpfs");
    for (const char* at : {"/dev/shm", "/tmp"}) {
        const auto fs = std::make_shared<TmpFs>(*s_, next_minor(), tmp_pages);
        fs->root()->attr.mode = S_IFDIR | 01777;
        mount(fs, fs->root(), at, false, "tmpfs");
    }
    for (const auto& b : config.binds) {
        if (b.guest == "/") continue;
        NodePtr n;
        if (const int err = host_->open_root(b.host, n); err)
            throw std::invalid_argument(b.host + ": " + std::strerror(-err));
        mount(host_, n, b.guest, !b.writable, "/dev/root").subtree = b.guest;
    }
}

VfsImpl::~VfsImpl() {
    sync_all();
    for (const auto& m : mounts_) m->root->unpin_all();
    for (const auto& m : gone_mounts_) m->root->unpin_all();
}

DentryPtr VfsImpl::make_mountpoint(std::string_view at) {
    DentryPtr d = root_->root;
    while (!at.empty()) {
        const std::size_t next = std::min(at.find('/'), at.size());
        const std::string name(at.substr(0, next));
        at.remove_prefix(std::min(next + 1, at.size()));
        if (name.empty()) continue;
        Found f;
        Walker w(*s_, root_->root, 0);
        const bool there = w.walk(d, name, true, f) == 0 && f.dentry;
        if (!there || (!at.empty() && !f.dentry->node->is_dir())) {
            auto made = std::make_shared<TmpDir>(*skeleton_, 0755);
            f.dentry = std::make_shared<Dentry>(d->mount, d, name, made);
        }
        if (f.dentry->parent) f.dentry->parent->pinned[f.dentry->name] = f.dentry;
        d = f.dentry;
    }
    return d;
}

Mount& VfsImpl::mount(std::shared_ptr<FileSystem> fs, NodePtr node, std::string_view at, bool read_only,
                      std::string source) {
    Mount& m = attach(make_mountpoint(at), std::move(fs), std::move(node), read_only, std::move(source));
    m.given = true;
    return m;
}

DentryPtr VfsImpl::process_root() {
    FsContext& c = s_->fs();
    return c.root ? c.root : root_->root->covered();
}

DentryPtr VfsImpl::process_cwd() {
    FsContext& c = s_->fs();
    if (!c.pwd) {
        Found f;
        Walker w(*s_, process_root(), 0);
        const bool ok = w.walk(process_root(), c.cwd, true, f) == 0 && f.dentry && f.dentry->node->is_dir();
        c.pwd = ok ? f.dentry : process_root();
    }
    return c.pwd;
}

int VfsImpl::start_of(int dirfd, std::string_view path, DentryPtr& out) {
    if (!path.empty() && path[0] == '/') {
        out = process_root();
        return 0;
    }
    if (dirfd == abi::at_fdcwd) {
        out = process_cwd();
        return 0;
    }
    const FileHandle f = s_->files().get(dirfd);
    if (!f) return -EBADF;
    out = f->dentry();
    return out && out->node->is_dir() ? 0 : -ENOTDIR;
}

int VfsImpl::walk(int dirfd, std::string_view path, bool follow, bool empty_ok, Found& out, std::uint64_t resolve) {
    if (path.empty()) {
        if (!empty_ok) return -ENOENT;
        if (dirfd == abi::at_fdcwd) {
            out.dentry = process_cwd();
            return 0;
        }
        out.file = s_->files().get(dirfd);
        if (!out.file) return -EBADF;
        if ((out.dentry = out.file->dentry())) out.file = nullptr;
        return 0;
    }
    DentryPtr from;
    if (resolve & abi::resolve_in_root) {
        while (!path.empty() && path[0] == '/') path.remove_prefix(1);
        if (path.empty()) path = ".";
    } else if (resolve & abi::resolve_beneath && path[0] == '/') {
        return -EXDEV;
    }
    if (const int err = start_of(dirfd, path, from); err) return err;
    return Walker(*s_, process_root(), resolve).walk(from, path, follow, out);
}

int VfsImpl::walk_parent(int dirfd, std::string_view path, Parent& out) {
    if (path.empty()) return -ENOENT;
    DentryPtr from;
    if (const int err = start_of(dirfd, path, from); err) return err;
    return Walker(*s_, process_root(), 0).parent(from, path, out);
}

// --- opening ---

namespace {
/// What a file does not keep among its flags.
constexpr std::uint32_t kOnlyForOpen = abi::o_creat | abi::o_excl | abi::o_noctty | abi::o_trunc | abi::o_cloexec;
} // namespace

int VfsImpl::open_dentry(const DentryPtr& d, std::uint32_t flags, bool created, FileHandle& out) {
    Node& n = *d->node;
    if (flags & abi::o_path) {
        if (flags & abi::o_directory && !n.is_dir()) return -ENOTDIR;
        out = make_path_file(d, flags);
        return 0;
    }
    if (n.is(S_IFLNK)) return flags & abi::o_directory ? -ENOTDIR : -ELOOP;
    if (flags & abi::o_directory && !n.is_dir()) return -ENOTDIR;
    const std::uint32_t access = flags & abi::o_accmode;
    const bool writes = access != abi::o_rdonly || flags & abi::o_trunc;
    if (n.is_dir() && writes) return -EISDIR;
    if (writes && d->mount->read_only && n.is(S_IFREG)) return -EROFS;
    if (!created) {
        const int mask = (access == abi::o_wronly ? 0 : kMayRead) | (writes ? kMayWrite : 0);
        if (const int err = n.permission(mask, s_->cred()); err) return err;
        if (flags & abi::o_noatime && s_->cred().fsuid != n.stat().uid && !capable_of(s_->cred(), kCapFowner))
            return -EPERM;
    }
    if (writes && n.deny_write > 0) return -ETXTBSY;
    if (const int err = n.open_permission(flags); err) return err;
    if (const int err = n.open(d, flags & ~kOnlyForOpen, out); err) return err;
    const auto* paged = dynamic_cast<const PagedNode*>(&n);
    if (flags & abi::o_trunc && paged && paged->seals & abi::f_seal_shrink && n.size()) {
        out = nullptr;
        return -EPERM;
    }
    if (flags & abi::o_trunc && n.is(S_IFREG) && !created) {
        if (const int err = n.set_size(0); err) return err;
        notify().file(d, inotify::modify);
    }
    return 0;
}

int VfsImpl::open_found(const Found& what, std::uint32_t flags, FileHandle& out) {
    if (what.dentry) return open_dentry(what.dentry, flags, false, out);
    if (flags & abi::o_directory) return -ENOTDIR;
    if (flags & abi::o_path) {
        out = what.file; // no name to stand for it: the file itself
        return 0;
    }
    return what.file->reopen(flags & ~kOnlyForOpen, out);
}

std::int64_t VfsImpl::openat(int dirfd, std::string_view path, std::uint32_t flags, std::uint32_t mode,
                             FileHandle& out) {
    abi::open_how how;
    how.flags = flags & abi::o_valid;
    how.mode = mode & 07777;
    if (flags & abi::o_path) how.flags &= abi::o_directory | abi::o_nofollow | abi::o_path | abi::o_cloexec;
    return open_how(dirfd, path, how, out);
}

std::int64_t VfsImpl::open_how(int dirfd, std::string_view path, const abi::open_how& how, FileHandle& out) {
    const std::int64_t err = open_path(dirfd, path, how, out);
    if (err >= 0 && !(how.flags & abi::o_path)) notify().opened(out->dentry());
    return err;
}

std::int64_t VfsImpl::open_path(int dirfd, std::string_view path, const abi::open_how& how, FileHandle& out) {
    FsFrame f(*s_, KernelSymbol::path_openat);
    auto flags = static_cast<std::uint32_t>(how.flags);
    if (!(flags & abi::o_path)) flags |= abi::o_largefile;
    constexpr std::uint32_t kTmpBit = abi::o_tmpfile & ~abi::o_directory;
    if (flags & kTmpBit) {
        if (flags & abi::o_creat || (flags & abi::o_tmpfile) != abi::o_tmpfile ||
            (flags & abi::o_accmode) == abi::o_rdonly)
            return -EINVAL;
        Found dir;
        if (const int err = walk(dirfd, path, !(flags & abi::o_nofollow), false, dir, how.resolve); err) return err;
        if (!dir.dentry || !dir.dentry->node->is_dir()) return -ENOTDIR;
        if (dir.dentry->mount->read_only) return -EROFS;
        if (const int err = dir.dentry->node->permission(kMayWrite | kMayExec, s_->cred()); err) return err;
        auto* tmp = dynamic_cast<TmpFs*>(&dir.dentry->node->fs);
        if (!tmp) return -EOPNOTSUPP;
        const NodePtr n = tmp->make_file(static_cast<std::uint32_t>(how.mode) & ~s_->fs().umask, 1);
        n->attr.nlink = 0;
        n->linkable = !(flags & abi::o_excl);
        auto d = std::make_shared<Dentry>(dir.dentry->mount, dir.dentry, "#" + std::to_string(n->ino), n);
        return n->open(d, flags & ~kOnlyForOpen, out);
    }
    if (!(flags & abi::o_creat)) {
        Found what;
        if (const int err = walk(dirfd, path, !(flags & abi::o_nofollow), false, what, how.resolve); err) return err;
        return open_found(what, flags, out);
    }
    if (path.empty()) return -ENOENT;
    if (flags & abi::o_directory) return -EINVAL;
    DentryPtr from;
    if (const int err = start_of(dirfd, path, from); err) return err;
    Walker w(*s_, process_root(), how.resolve);
    Parent p;
    if (const int err = w.parent(from, path, p); err) return err;
    if (p.last != Parent::Last::normal || p.slash) return -EISDIR;
    Found what;
    const int err = w.last(p, !(flags & (abi::o_nofollow | abi::o_excl)), what);
    if (err == 0) {
        if (flags & abi::o_excl) return -EEXIST;
        if (what.dentry && what.dentry->node->is_dir()) return -EISDIR;
        return open_found(what, flags, out);
    }
    if (!p.missing) return err;
    if (const int no = may_create(p); no) return no;
    NodePtr n;
    const std::uint32_t mode = S_IFREG | (static_cast<std::uint32_t>(how.mode) & ~s_->fs().umask & 07777);
    {
        FsFrame g(*s_, KernelSymbol::vfs_create);
        if (const int no = made(p, p.dir->node->create(p.name, mode, 0, n)); no) return no;
    }
    return open_dentry(p.dir->adopt(p.name, n), flags, true, out);
}

// --- looking ---

int VfsImpl::statat(int dirfd, std::string_view path, int flags, FileStat& st) {
    FsFrame f(*s_, KernelSymbol::vfs_statx);
    Found what;
    const bool follow = !(flags & abi::at_symlink_nofollow);
    if (const int err = walk(dirfd, path, follow, flags & abi::at_empty_path, what); err) return err;
    return what.stat(st);
}

std::int64_t VfsImpl::readlinkat(int dirfd, std::string_view path, std::string& out) {
    Found what;
    if (const int err = walk(dirfd, path, false, true, what); err) return path.empty() && err == -EBADF ? -EBADF : err;
    if (!what.dentry || !what.dentry->node->is(S_IFLNK)) return path.empty() ? -ENOENT : -EINVAL;
    return what.dentry->node->readlink(out);
}

int VfsImpl::resolve(int dirfd, std::string_view path, bool follow, std::string& out) {
    Found what;
    if (const int err = walk(dirfd, path, follow, true, what); err) return err;
    out = what.dentry ? what.dentry->path(process_root().get()) : what.file->path();
    return 0;
}

int VfsImpl::access_found(const Found& what, int mode, const Credentials& cred) {
    if (!what.dentry) {
        FileStat st;
        what.file->stat(st);
        return mode ? generic_permission(st, cred, mode) : 0;
    }
    Node& n = *what.dentry->node;
    if (mode & kMayWrite && what.dentry->mount->read_only && (n.is(S_IFREG) || n.is_dir() || n.is(S_IFLNK)))
        return -EROFS;
    return n.permission(mode, cred);
}

int VfsImpl::faccessat(int dirfd, std::string_view path, int mode, int flags) {
    FsFrame f(*s_, KernelSymbol::do_faccessat);
    if (mode & ~7) return -EINVAL;
    if (flags & ~(abi::at_eaccess | abi::at_symlink_nofollow | abi::at_empty_path)) return -EINVAL;
    Credentials cred = s_->cred();
    if (!(flags & abi::at_eaccess)) {
        cred.fsuid = cred.euid = cred.uid;
        cred.fsgid = cred.egid = cred.gid;
        cred.cap_effective = cred.uid == 0 ? cred.cap_permitted : 0;
    }
    Found what;
    const bool follow = !(flags & abi::at_symlink_nofollow);
    if (const int err = walk(dirfd, path, follow, flags & abi::at_empty_path, what); err) return err;
    return access_found(what, mode, cred);
}

int VfsImpl::statfs(std::string_view path, StatFs& out) {
    Found what;
    if (const int err = walk(abi::at_fdcwd, path, true, false, what); err) return err;
    if (!what.dentry) return statfs_file(*what.file, out);
    what.dentry->mount->fs->statfs(out);
    if (what.dentry->mount->read_only) out[10] |= 1; // ST_RDONLY
    return 0;
}

int VfsImpl::statfs_file(File& file, StatFs& out) {
    if (const DentryPtr d = file.dentry()) {
        d->mount->fs->statfs(out);
        if (d->mount->read_only) out[10] |= 1;
        return 0;
    }
    out.fill(0);
    out[0] = dynamic_cast<AnonFile*>(&file) ? abi::anon_inode_fs_magic
             : dynamic_cast<NsFile*>(&file) ? kNsfsMagic
                                            : abi::pipefs_magic;
    out[1] = out[9] = kPageSize;
    out[8] = 255;
    out[10] = 0x20;
    return 0;
}

int VfsImpl::chdir(std::string_view path) {
    Found what;
    if (const int err = walk(abi::at_fdcwd, path, true, false, what); err) return err;
    if (!what.dentry || !what.dentry->node->is_dir()) return -ENOTDIR;
    if (const int err = what.dentry->node->permission(kMayExec, s_->cred()); err) return err;
    s_->fs().pwd = what.dentry;
    s_->fs().cwd = what.dentry->path(process_root().get());
    return 0;
}

int VfsImpl::fchdir(File& file) {
    const DentryPtr d = file.dentry();
    if (!d || !d->node->is_dir()) return -ENOTDIR;
    if (const int err = d->node->permission(kMayExec, s_->cred()); err) return err;
    s_->fs().pwd = d;
    s_->fs().cwd = d->path(process_root().get());
    return 0;
}

int VfsImpl::chroot(std::string_view path) {
    Found what;
    if (const int err = walk(abi::at_fdcwd, path, true, false, what); err) return err;
    if (!what.dentry || !what.dentry->node->is_dir()) return -ENOTDIR;
    if (const int err = what.dentry->node->permission(kMayExec, s_->cred()); err) return err;
    if (!capable_of(s_->cred(), kCapSysChroot)) return -EPERM;
    process_cwd(); // it stays where it is
    s_->fs().root = what.dentry;
    return 0;
}

int VfsImpl::getcwd(std::string& out) {
    const DentryPtr d = process_cwd();
    if (d->unlinked()) return -ENOENT;
    out = d->path(process_root().get());
    return 0;
}

// --- the rest of the interface ---

void VfsImpl::add_attribute(ke::Attribute a) {
    // The longest mount path that fits: /proc/sys lies in /proc's tree, tracefs has its own.
    const AttrFs* best = nullptr;
    std::size_t length = 0;
    AttrFs* tree = nullptr;
    for (const auto& [prefix, fs] : trees_)
        if (a.path.starts_with(prefix + "/") && prefix.size() > length) best = tree = fs.get(), length = prefix.size();
    if (!best) throw std::logic_error("an attribute outside the trees: " + a.path);
    std::string path = a.path.substr(length);
    constexpr std::string_view kEventSource = "/bus/event_source/devices/";
    if (path.starts_with(kEventSource)) {
        // What is seen there are links to folders below /sys/devices.
        const std::string rest = path.substr(kEventSource.size());
        const std::string device = rest.substr(0, rest.find('/'));
        if (!tree->exists("/devices/" + device)) {
            tree->add_link(std::string(kEventSource) + device, "../../../devices/" + device);
            tree->add_link("/devices/" + device + "/subsystem", "../../bus/event_source");
            add_device_files(*tree, "/devices/" + device + "/");
        }
        path = "/devices/" + rest;
    }
    if ((a.mode & S_IFMT) == S_IFLNK) {
        tree->add_link(path, a.show ? a.show() : std::string());
        return;
    }
    ShowFn show;
    StoreFn store;
    if (a.show)
        show = [fn = std::move(a.show)](std::string& out) {
            out = fn();
            return 0;
        };
    if (a.store)
        store = [fn = std::move(a.store)](std::string_view text) {
            const int r = fn(text);
            return r ? std::int64_t{r} : static_cast<std::int64_t>(text.size());
        };
    const bool sysctl = a.path.starts_with("/proc/sys/");
    if (sysctl)
        tree->add_file(path, a.mode, AttrStyle::sysctl, std::move(show), std::move(store));
    else
        tree->add_file(path, a.mode, std::move(show), std::move(store));
}

void VfsImpl::remove_attribute(std::string_view path) {
    std::size_t length = 0;
    AttrFs* tree = nullptr;
    for (const auto& [prefix, fs] : trees_)
        if (path.starts_with(prefix + "/") && prefix.size() > length) tree = fs.get(), length = prefix.size();
    if (!tree) return;
    std::string rest(path.substr(length));
    constexpr std::string_view kEventSource = "/bus/event_source/devices/";
    if (rest.starts_with(kEventSource)) {
        const std::string device = rest.substr(kEventSource.size());
        tree->remove("/devices/" + device);
        if (device.find('/') != std::string::npos) return;
    }
    tree->remove(rest);
}

int VfsImpl::pipe(FileHandle& read_end, FileHandle& write_end, std::uint32_t flags) {
    make_pipe(*s_, next_anon_ino(), flags, read_end, write_end);
    return 0;
}

FileHandle VfsImpl::eventfd(std::uint64_t init, std::uint32_t flags) { return make_eventfd(*s_, init, flags); }

FileHandle VfsImpl::perf_file(std::string_view name, ke::FileOperations* ops, std::uint32_t flags) {
    return make_perf_file(*s_, name, ops, flags);
}

FileHandle VfsImpl::stdio(int host_fd) { return make_host_stream(*s_, host_fd); }

FileHandle VfsImpl::memfd(std::string_view name, std::uint32_t seals) {
    const NodePtr n = anonymous_->make_file(0777, seals);
    n->attr.nlink = 0;
    // Its path is shown as "/memfd:NAME (deleted)".
    auto holder = std::make_shared<Dentry>(anonymous_mount_.get(), nullptr, "", anonymous_->root());
    auto d = holder->adopt("memfd:" + std::string(name), n);
    holder->forget(d->name);
    return make_regular_file(d, abi::o_rdwr | abi::o_largefile);
}

void VfsImpl::account_io(int tgid, int tid, bool write, std::int64_t result) {
    for (IoCounts* c : {&process_io_[tgid], &thread_io_[tid]}) {
        ++(write ? c->syscw : c->syscr);
        if (result > 0) (write ? c->wchar : c->rchar) += static_cast<std::uint64_t>(result);
    }
}

IoCounts VfsImpl::io_counts(int id, bool process) const {
    const auto& all = process ? process_io_ : thread_io_;
    const auto it = all.find(id);
    return it == all.end() ? IoCounts{} : it->second;
}

std::uint64_t VfsImpl::cached_pages() const {
    std::uint64_t n = host_->cached_pages() + *anonymous_->used;
    for (const auto& m : mounts_)
        if (const auto* t = dynamic_cast<const TmpFs*>(m->fs.get())) n += *t->used;
    return n;
}

void VfsImpl::sync_all() { host_->sync(); }

int VfsImpl::sync(File* file) {
    if (!file) return host_->sync();
    const DentryPtr d = file->dentry();
    return d ? d->mount->fs->sync() : 0;
}

} // namespace rkperf::os
