// SPDX-License-Identifier: Apache-2.0
// Descriptors: opening, closing, duplicating, fcntl, ioctl, locks, pipes and nameless files.
#include "sim/os/fs/anon_files.h"
#include "sim/os/fs/locks.h"
#include "sim/os/fs/page_cache.h"
#include "sim/os/fs/pipe.h"
#include "sim/os/ns/pid_namespace.h"
#include "sim/os/syscall/fs_common.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <algorithm>
#include <limits>

namespace rkperf::os {

namespace {

std::int64_t open_common(Kernel& k, Task& t, int dirfd, std::uint64_t path_addr, const abi::open_how& how) {
    Frame f(k, KernelSymbol::do_sys_openat2);
    const auto open = [&]() -> std::int64_t {
        std::string path;
        if (const int err = k.get_string(path_addr, path); err) return err;
        FileHandle file;
        if (const std::int64_t err = vfs_of(k).open_how(dirfd, path, how, file); err < 0) return err;
        return new_fd(k, t, std::move(file), how.flags & abi::o_cloexec);
    };
    const std::int64_t result = open();
    k.function_returns(result);
    return result;
}

std::int64_t sys_openat(Kernel& k, Task& t, const SyscallArgs& a) {
    abi::open_how how;
    how.flags = a[2] & abi::o_valid;
    how.mode = a[3] & 07777;
    if (how.flags & abi::o_path) how.flags &= abi::o_directory | abi::o_nofollow | abi::o_path | abi::o_cloexec;
    return open_common(k, t, fd_of(a[0]), a[1], how);
}

std::int64_t sys_openat2(Kernel& k, Task& t, const SyscallArgs& a) {
    abi::open_how how;
    if (a[3] < sizeof how) return -EINVAL;
    if (a[3] > kPageSize) return -E2BIG;
    std::vector<std::uint8_t> raw(a[3]);
    if (k.get_user(raw.data(), a[2], raw.size())) return -EFAULT;
    if (std::any_of(raw.begin() + sizeof how, raw.end(), [](std::uint8_t b) { return b != 0; })) return -E2BIG;
    std::copy_n(raw.data(), sizeof how, reinterpret_cast<std::uint8_t*>(&how));
    constexpr std::uint64_t kResolve = abi::resolve_no_xdev | abi::resolve_no_magiclinks | abi::resolve_no_symlinks |
                                       abi::resolve_beneath | abi::resolve_in_root | abi::resolve_cached;
    if (how.flags & ~std::uint64_t{abi::o_valid} || how.resolve & ~kResolve) return -EINVAL;
    if ((how.resolve & abi::resolve_beneath) && (how.resolve & abi::resolve_in_root)) return -EINVAL;
    const bool makes = how.flags & (abi::o_creat | (abi::o_tmpfile & ~abi::o_directory));
    if (makes ? how.mode & ~07777ull : how.mode) return -EINVAL;
    constexpr std::uint64_t kPathFlags = abi::o_directory | abi::o_nofollow | abi::o_path | abi::o_cloexec;
    if (how.flags & abi::o_path && how.flags & ~kPathFlags) return -EINVAL;
    if (how.resolve & abi::resolve_cached) {
        // Nothing is ever looked up without the chance to sleep.
        return -EAGAIN;
    }
    return open_common(k, t, fd_of(a[0]), a[1], how);
}

std::int64_t sys_close(Kernel& k, Task& t, const SyscallArgs& a) {
    Frame f(k, KernelSymbol::close_fd);
    FdTable& files = *t.files;
    Frame g(k, KernelSymbol::fput);
    if (const int err = files.close(fd_of(a[0])); err) return err;
    return files.last_error;
}

std::int64_t sys_close_range(Kernel&, Task& t, const SyscallArgs& a) {
    constexpr std::uint64_t kUnshare = 2, kCloexec = 4;
    const auto first = static_cast<std::uint32_t>(a[0]), last = static_cast<std::uint32_t>(a[1]);
    if (a[2] & ~(kUnshare | kCloexec) || first > last) return -EINVAL;
    if (a[2] & kUnshare && t.files.use_count() > 1) t.files = t.files->clone();
    std::vector<int> fds;
    for (const auto& [fd, slot] : t.files->slots())
        if (static_cast<std::uint32_t>(fd) >= first && static_cast<std::uint32_t>(fd) <= last) fds.push_back(fd);
    for (const int fd : fds) a[2] & kCloexec ? t.files->set_cloexec(fd, true) : static_cast<void>(t.files->close(fd));
    return 0;
}

std::int64_t sys_dup(Kernel& k, Task& t, const SyscallArgs& a) {
    Frame f(k, KernelSymbol::do_dup2);
    const FileHandle file = file_of_fd(t, a[0], true);
    return file ? new_fd(k, t, file, false) : -EBADF;
}

std::int64_t sys_dup3(Kernel& k, Task& t, const SyscallArgs& a) {
    Frame f(k, KernelSymbol::do_dup2);
    const auto flags = static_cast<std::uint32_t>(a[2]);
    if (flags & ~abi::o_cloexec || fd_of(a[0]) == fd_of(a[1])) return -EINVAL;
    if (static_cast<std::uint32_t>(a[1]) >= k.rlimit(RLIMIT_NOFILE)) return -EBADF;
    const FileHandle file = file_of_fd(t, a[0], true);
    if (!file) return -EBADF;
    return t.files->set(fd_of(a[1]), file, flags & abi::o_cloexec, k.rlimit(RLIMIT_NOFILE));
}

// --- fcntl ---

std::int64_t set_flags(Task& t, int fd, File& f, std::uint32_t flags) {
    const std::uint32_t changed = (flags ^ f.flags) & abi::setfl_mask;
    const DentryPtr d = f.dentry();
    if (changed & flags & abi::o_noatime && d && t.cred.fsuid != d->node->stat().uid && !capable_of(t.cred, kCapFowner))
        return -EPERM;
    // Direct transfers exist for the host's files, and mean packets on a pipe.
    const bool direct_ok = dynamic_cast<PipeFile*>(&f) || (d && dynamic_cast<HostFs*>(&d->node->fs));
    if (changed & flags & abi::o_direct && !direct_ok) return -EINVAL;
    if (changed & abi::o_async) {
        if (flags & abi::o_async) f.async_fd = fd;
        if (const int err = f.fasync(flags & abi::o_async); err < 0) return err;
    }
    f.flags = (f.flags & ~abi::setfl_mask) | (flags & abi::setfl_mask);
    return 0;
}

bool exists(Kernel& k, int type, int pid) {
    if (type != 2) return k.find_task(pid) != nullptr;
    return std::any_of(k.tasks().begin(), k.tasks().end(),
                       [&](const auto& e) { return e.second->process->pgid == pid; });
}

/// F_SETOWN and F_SETOWN_EX. type: F_OWNER_TID 0, F_OWNER_PID 1, F_OWNER_PGRP 2.
std::int64_t set_owner(Kernel& k, File& f, int type, int pid) {
    if (pid && !(pid = pid_global(k.cur(), pid))) return -ESRCH;
    if (pid && !exists(k, type, pid)) return -ESRCH;
    f.owner_type = type;
    f.owner_pid = type == 2 ? -pid : pid;
    return 0;
}

/// The owner's number as `t` sees it; 0 if there is none any more.
int owner_vnr(Kernel& k, Task& t, const File& f) {
    const int pid = std::abs(f.owner_pid);
    return pid && exists(k, f.owner_type, pid) ? pid_vnr(t, pid) : 0;
}

std::int64_t lock_call(Kernel& k, Task& t, const FileHandle& f, int cmd, std::uint64_t address) {
    abi::flock fl;
    if (k.get(address, fl)) return -EFAULT;
    const bool ofd = cmd >= abi::f_ofd_getlk;
    const bool get = cmd == F_GETLK || cmd == abi::f_ofd_getlk, wait = cmd == F_SETLKW || cmd == abi::f_ofd_setlkw;
    if (ofd && fl.l_pid) return -EINVAL;
    if (fl.l_type != F_RDLCK && fl.l_type != F_WRLCK && (fl.l_type != F_UNLCK || (get && !ofd))) return -EINVAL;
    std::int64_t base = 0;
    switch (fl.l_whence) {
        case SEEK_SET: break;
        case SEEK_CUR: base = static_cast<std::int64_t>(f->pos); break;
        case SEEK_END: {
            FileStat st;
            f->stat(st);
            base = st.size;
            break;
        }
        default: return -EINVAL;
    }
    std::int64_t start;
    if (__builtin_add_overflow(base, fl.l_start, &start)) return -EOVERFLOW;
    std::int64_t end = std::numeric_limits<std::int64_t>::max();
    if (fl.l_len > 0) {
        if (__builtin_add_overflow(start, fl.l_len - 1, &end)) return -EOVERFLOW;
    } else if (fl.l_len < 0) {
        end = start - 1;
        start += fl.l_len;
    }
    if (start < 0) return -EINVAL;
    if (!get && ((fl.l_type == F_RDLCK && !f->readable()) || (fl.l_type == F_WRLCK && !f->writable()))) return -EBADF;
    Inode* inode = f->inode();
    if (!inode) return -EINVAL;
    FileLocks::Record r;
    r.owner = ofd ? static_cast<const void*>(f.get()) : t.files.get();
    r.pid = ofd ? -1 : t.tgid;
    r.exclusive = fl.l_type == F_WRLCK;
    r.start = static_cast<std::uint64_t>(start);
    r.end = end == std::numeric_limits<std::int64_t>::max() ? FileLocks::kEnd : static_cast<std::uint64_t>(end);
    FileLocks& locks = locks_of(vfs_of(k).services(), *inode);
    if (get) {
        const FileLocks::Record* other = locks.conflict(r);
        if (!other) {
            fl.l_type = F_UNLCK;
        } else {
            fl.l_type = other->exclusive ? F_WRLCK : F_RDLCK;
            fl.l_whence = SEEK_SET;
            fl.l_start = static_cast<std::int64_t>(other->start);
            fl.l_len = other->end == FileLocks::kEnd ? 0 : static_cast<std::int64_t>(other->end - other->start + 1);
            fl.l_pid = other->pid < 0 ? other->pid : pid_vnr(t, other->pid);
        }
        return k.put(address, fl) ? -EFAULT : 0;
    }
    if (fl.l_type == F_UNLCK) {
        locks.unlock(r.owner, r.start, r.end);
        return 0;
    }
    return locks.lock(r, wait, ofd ? nullptr : &vfs_of(k).lock_waits());
}

/// Does anybody map the file shared in a way that could write to it?
bool mapped_writable(Kernel& k, const Inode& inode) {
    for (const auto& [tid, t] : k.tasks()) {
        if (!t->as) continue;
        for (const auto& [start, v] : t->as->vmas())
            if (v.file && v.file->inode() == &inode && v.map_flags & MAP_SHARED && v.max_prot & PROT_WRITE) return true;
    }
    return false;
}

std::int64_t seals_call(Kernel& k, File& f, int cmd, std::uint64_t arg) {
    const DentryPtr d = f.dentry();
    auto* node = d ? dynamic_cast<PagedNode*>(d->node.get()) : nullptr;
    if (!node || !dynamic_cast<TmpFs*>(&node->fs)) return -EINVAL;
    if (cmd == abi::f_get_seals) return node->seals;
    constexpr std::uint64_t kAll = 0x1f;
    if (!f.writable()) return -EPERM;
    if (arg & ~kAll) return -EINVAL;
    if (node->seals & abi::f_seal_seal) return -EPERM;
    if (arg & abi::f_seal_write && !(node->seals & abi::f_seal_write) && mapped_writable(k, *node)) return -EBUSY;
    node->seals |= static_cast<std::uint32_t>(arg);
    return 0;
}

std::int64_t sys_fcntl(Kernel& k, Task& t, const SyscallArgs& a) {
    Frame frame(k, KernelSymbol::do_fcntl);
    const FileHandle f = file_of_fd(t, a[0], true);
    if (!f) return -EBADF;
    const int fd = fd_of(a[0]), cmd = static_cast<int>(a[1]);
    const std::uint64_t arg = a[2];
    const bool path_ok =
        cmd == F_DUPFD || cmd == abi::f_dupfd_cloexec || cmd == F_GETFD || cmd == F_SETFD || cmd == F_GETFL;
    if (f->flags & abi::o_path && !path_ok) return -EBADF;
    auto* pipe = dynamic_cast<PipeFile*>(f.get());
    switch (cmd) {
        case F_DUPFD:
        case abi::f_dupfd_cloexec:
            if (arg >= k.rlimit(RLIMIT_NOFILE)) return -EINVAL;
            return new_fd(k, t, f, cmd == abi::f_dupfd_cloexec, static_cast<int>(arg));
        case F_GETFD: return t.files->cloexec(fd) ? FD_CLOEXEC : 0;
        case F_SETFD: t.files->set_cloexec(fd, arg & FD_CLOEXEC); return 0;
        case F_GETFL: return f->flags;
        case F_SETFL: return set_flags(t, fd, *f, static_cast<std::uint32_t>(arg));
        case F_GETLK:
        case F_SETLK:
        case F_SETLKW:
        case abi::f_ofd_getlk:
        case abi::f_ofd_setlk:
        case abi::f_ofd_setlkw: return lock_call(k, t, f, cmd, arg);
        case abi::f_setown: {
            const int who = static_cast<int>(arg);
            if (who == std::numeric_limits<int>::min()) return -EINVAL;
            return set_owner(k, *f, who < 0 ? 2 : 1, who < 0 ? -who : who);
        }
        case abi::f_getown: return f->owner_pid < 0 ? -owner_vnr(k, t, *f) : owner_vnr(k, t, *f);
        case abi::f_setown_ex: {
            std::int32_t owner[2];
            if (k.get_user(owner, arg, sizeof owner)) return -EFAULT;
            if (owner[0] < 0 || owner[0] > 2) return -EINVAL;
            return set_owner(k, *f, owner[0], owner[1]);
        }
        case abi::f_getown_ex: {
            const std::int32_t owner[2] = {f->owner_type, owner_vnr(k, t, *f)};
            return k.put_user(arg, owner, sizeof owner) ? -EFAULT : 0;
        }
        case abi::f_setsig:
            if (arg > kNumSignals) return -EINVAL;
            f->owner_sig = static_cast<int>(arg);
            return 0;
        case abi::f_getsig: return f->owner_sig;
        case abi::f_setpipe_sz: return pipe ? pipe->pipe().set_size(static_cast<std::uint32_t>(arg)) : -EBADF;
        case abi::f_getpipe_sz: return pipe ? static_cast<std::int64_t>(pipe->pipe().size()) : -EBADF;
        case abi::f_add_seals:
        case abi::f_get_seals: return seals_call(k, *f, cmd, arg);
        case abi::f_getlease: return F_UNLCK;
        case abi::f_setlease:
        case abi::f_notify:
            k.pr_info_once("fcntl: leases and directory notification are not implemented");
            return -EINVAL;
        default: return -EINVAL;
    }
}

std::int64_t sys_flock(Kernel& k, Task& t, const SyscallArgs& a) {
    const FileHandle f = file_of_fd(t, a[0]);
    if (!f) return -EBADF;
    const int op = static_cast<int>(a[1]) & ~LOCK_NB;
    Inode* inode = f->inode();
    if (op != LOCK_SH && op != LOCK_EX && op != LOCK_UN) return -EINVAL;
    if (!inode) return -EBADF;
    FileLocks& locks = locks_of(vfs_of(k).services(), *inode);
    if (op == LOCK_UN) {
        locks.unflock(f.get());
        return 0;
    }
    return locks.flock(f.get(), op == LOCK_EX, !(a[1] & LOCK_NB));
}

std::int64_t sys_ioctl(Kernel& k, Task& t, const SyscallArgs& a) {
    Frame frame(k, KernelSymbol::do_vfs_ioctl);
    const FileHandle f = file_of_fd(t, a[0]);
    if (!f) return -EBADF;
    const int fd = fd_of(a[0]);
    const auto cmd = static_cast<std::uint32_t>(a[1]);
    switch (cmd) {
        case FIOCLEX: t.files->set_cloexec(fd, true); return 0;
        case FIONCLEX: t.files->set_cloexec(fd, false); return 0;
        case FIONBIO:
        case FIOASYNC: {
            std::int32_t on = 0;
            if (k.get(a[2], on)) return -EFAULT;
            const std::uint32_t bit = cmd == FIONBIO ? abi::o_nonblock : abi::o_async;
            const std::uint32_t flags = on ? f->flags | bit : f->flags & ~bit;
            return set_flags(t, fd, *f, flags);
        }
        case FIONREAD: {
            const DentryPtr d = f->dentry();
            if (!d || !d->node->is(S_IFREG)) break;
            const auto n = static_cast<std::int32_t>(f->inode()->size() - f->pos);
            return k.put(a[2], n) ? -EFAULT : 0;
        }
        default: break;
    }
    return f->ioctl(cmd, a[2]);
}

// --- pipes and nameless files ---

std::int64_t sys_pipe2(Kernel& k, Task& t, const SyscallArgs& a) {
    Frame f(k, KernelSymbol::do_pipe2);
    const auto flags = static_cast<std::uint32_t>(a[1]);
    if (flags & ~(abi::o_cloexec | abi::o_nonblock | abi::o_direct)) return -EINVAL;
    FileHandle ends[2];
    vfs_of(k).pipe(ends[0], ends[1], flags);
    const std::int64_t r = new_fd(k, t, ends[0], flags & abi::o_cloexec);
    if (r < 0) return r;
    const std::int64_t w = new_fd(k, t, ends[1], flags & abi::o_cloexec);
    const std::int32_t fds[2] = {static_cast<std::int32_t>(r), static_cast<std::int32_t>(w)};
    if (w >= 0 && k.put_user(a[0], fds, sizeof fds) == 0) return 0;
    t.files->close(fds[0]);
    if (w < 0) return w;
    t.files->close(fds[1]);
    return -EFAULT;
}

std::int64_t sys_eventfd2(Kernel& k, Task& t, const SyscallArgs& a) {
    Frame f(k, KernelSymbol::do_eventfd);
    const auto flags = static_cast<std::uint32_t>(a[1]);
    if (flags & ~(1u | abi::o_cloexec | abi::o_nonblock)) return -EINVAL;
    return new_fd(k, t, vfs_of(k).eventfd(static_cast<std::uint32_t>(a[0]), flags), flags & abi::o_cloexec);
}

std::int64_t sys_memfd_create(Kernel& k, Task& t, const SyscallArgs& a) {
    constexpr std::uint64_t kCloexec = 1, kAllowSealing = 2;
    if (a[1] & ~(kCloexec | kAllowSealing)) return -EINVAL; // huge pages too: there are none
    std::string name;
    constexpr std::size_t kMaxName = 249;
    if (const int err = k.get_string(a[0], name, kMaxName + 1); err) return err == -ENAMETOOLONG ? -EINVAL : err;
    return new_fd(k, t, vfs_of(k).memfd(name, a[1] & kAllowSealing ? 0 : abi::f_seal_seal), a[1] & kCloexec);
}

constexpr SyscallRow kRows[] = {
    {19, "eventfd2", sys_eventfd2, 2},
    {23, "dup", sys_dup, 1},
    {24, "dup3", sys_dup3, 3},
    {25, "fcntl", sys_fcntl, 3},
    {29, "ioctl", sys_ioctl, 3},
    {32, "flock", sys_flock, 2},
    {56, "openat", sys_openat, 4},
    {57, "close", sys_close, 1},
    {59, "pipe2", sys_pipe2, 2},
    {279, "memfd_create", sys_memfd_create, 2},
    {436, "close_range", sys_close_range, 3},
    {437, "openat2", sys_openat2, 4},
};

} // namespace

std::span<const SyscallRow> fs_open_rows() { return kRows; }

} // namespace rkperf::os
