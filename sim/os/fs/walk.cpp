// SPDX-License-Identifier: Apache-2.0
#include "sim/os/fs/walk.h"

namespace rkperf::os {

namespace {
constexpr int kMaxLinks = 40;
constexpr std::size_t kNameMax = 255;
} // namespace

/// Puts the components of a path before those that are pending. A slash at its end asks for a folder, like "/.".
int Walker::push(std::string_view path) {
    std::deque<std::string> parts;
    std::size_t at = 0;
    while (at < path.size()) {
        const std::size_t next = std::min(path.find('/', at), path.size());
        if (next > at) parts.emplace_back(path.substr(at, next - at));
        at = next + 1;
    }
    if (!path.empty() && path.back() == '/') parts.emplace_back(".");
    pending_.insert(pending_.begin(), parts.begin(), parts.end());
    return 0;
}

int Walker::go_up(Found& at) {
    DentryPtr d = at.dentry;
    if (resolve_ & abi::resolve_beneath && d == start_) return -EXDEV;
    if (d == root_) return 0;
    while (!d->parent) {
        const DentryPtr under = d->mount->mountpoint.lock();
        if (!under) return 0; // the root of the namespace
        if (resolve_ & abi::resolve_no_xdev) return -EXDEV;
        d = under;
        if (d == root_) break;
    }
    if (d->parent) d = d->parent;
    // The folder above may itself be covered by a mount.
    at.dentry = d == root_ ? d : d->covered();
    return 0;
}

int Walker::step(const std::string& name, bool last, bool follow, Found& at) {
    if (!at.dentry || !at.dentry->node->is_dir()) return -ENOTDIR;
    if (const int err = at.dentry->node->permission(kMayExec, s_.cred()); err) return err;
    if (name == ".") return 0;
    if (name == "..") return go_up(at);
    if (name.size() > kNameMax) return -ENAMETOOLONG;
    s_.charge(info(KernelSymbol::link_path_walk).instructions); // per component
    DentryPtr next;
    if (const int err = at.dentry->child(name, next); err) {
        if (err == -ENOENT) FsFrame f(s_, KernelSymbol::d_alloc_parallel); // no name is kept for what is not there
        return err;
    }
    if (next->mounted && resolve_ & abi::resolve_no_xdev) return -EXDEV;
    next = next->covered();
    Node& n = *next->node;
    if (!n.is(S_IFLNK) || (last && !follow)) {
        at = {next, nullptr};
        return 0;
    }
    if (++links_ > kMaxLinks || resolve_ & abi::resolve_no_symlinks) return -ELOOP;
    Found jumped;
    const int err = n.jump(jumped.dentry, jumped.file);
    if (err != -ENOSYS) {
        if (err) return err;
        if (resolve_ & abi::resolve_no_magiclinks) return -ELOOP;
        const bool crosses = !jumped.dentry || jumped.dentry->mount != at.dentry->mount;
        if (resolve_ & abi::resolve_no_xdev && crosses) return -EXDEV;
        if (resolve_ & (abi::resolve_beneath | abi::resolve_in_root)) return -EXDEV;
        at = jumped;
        return 0;
    }
    std::string target;
    if (const int e = n.readlink(target); e) return e;
    if (target.empty()) return -ENOENT;
    if (target.size() >= 4096) return -ENAMETOOLONG;
    if (target[0] == '/') {
        if (resolve_ & abi::resolve_beneath) return -EXDEV;
        if (resolve_ & abi::resolve_no_xdev && at.dentry->mount != root_->mount) return -EXDEV;
        at = {resolve_ & abi::resolve_in_root ? start_ : root_, nullptr};
    }
    return push(target);
}

int Walker::run(bool follow, bool keep_last, Found& at) {
    while (!pending_.empty()) {
        if (keep_last && pending_.size() == 1) break;
        const std::string name = std::move(pending_.front());
        pending_.pop_front();
        if (const int err = step(name, pending_.empty(), follow, at); err) {
            pending_.push_front(name); // so that the caller can tell which one it was
            return err;
        }
    }
    return 0;
}

int Walker::walk(DentryPtr from, std::string_view path, bool follow, Found& out) {
    FsFrame f(s_, KernelSymbol::path_lookupat);
    start_ = from;
    if (resolve_ & abi::resolve_in_root) root_ = start_;
    out = {std::move(from), nullptr};
    push(path);
    return run(follow, false, out);
}

int Walker::parent(DentryPtr from, std::string_view path, Parent& out) {
    FsFrame f(s_, KernelSymbol::path_parentat);
    start_ = from;
    if (resolve_ & abi::resolve_in_root) root_ = start_;
    while (path.size() > 1 && path.back() == '/') {
        out.slash = true;
        path.remove_suffix(1);
    }
    Found at{std::move(from), nullptr};
    if (path == "/") {
        out.dir = at.dentry;
        out.last = Parent::Last::root;
        return 0;
    }
    push(path);
    if (const int err = run(true, true, at); err) return err;
    if (!at.dentry || !at.dentry->node->is_dir()) return -ENOTDIR;
    if (const int err = at.dentry->node->permission(kMayExec, s_.cred()); err) return err;
    out.dir = at.dentry;
    out.name = pending_.front();
    pending_.clear();
    if (out.name == ".")
        out.last = Parent::Last::dot;
    else if (out.name == "..")
        out.last = Parent::Last::dotdot;
    else if (out.name.size() > kNameMax)
        return -ENAMETOOLONG;
    return 0;
}

int Walker::last(Parent& p, bool follow, Found& out) {
    out = {p.dir, nullptr};
    if (p.last == Parent::Last::root) return 0;
    pending_ = {p.name};
    while (!pending_.empty()) {
        // Keeps track of the folder that the last component stands in.
        p.dir = out.dentry;
        p.name = pending_.front();
        pending_.pop_front();
        if (const int err = step(p.name, pending_.empty(), follow || p.slash, out); err) {
            p.missing = err == -ENOENT && pending_.empty();
            return err;
        }
    }
    return 0;
}

} // namespace rkperf::os
