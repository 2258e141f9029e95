// SPDX-License-Identifier: Apache-2.0
// Calls about namespaces, and about processes by descriptor.
#include "sim/os/cgroup/cgroup_fs.h"
#include "sim/os/fs/pidfd.h"
#include "sim/os/ns/nsfs.h"
#include "sim/os/ns/pid_namespace.h"
#include "sim/os/ptrace/ptrace.h"
#include "sim/os/signal/signals.h"
#include "sim/os/syscall/fs_common.h"
#include "sim/os/syscall/tables.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rkperf::os {

namespace {

constexpr int kCapSysAdminNr = 21, kCapDacReadSearchNr = 2;
constexpr std::size_t kNameLength = 64; ///< __NEW_UTS_LEN

std::int64_t sys_unshare(Kernel& k, Task& t, const SyscallArgs& a) { return k.namespaces().unshare(t, a[0]); }

std::int64_t sys_setns(Kernel& k, Task& t, const SyscallArgs& a) {
    const FileHandle f = file_of_fd(t, a[0]);
    return f ? k.namespaces().setns(t, *f, static_cast<int>(a[1])) : -EBADF;
}

std::int64_t set_uts_name(Kernel& k, Task& t, const SyscallArgs& a, std::string UtsNamespace::*field) {
    UtsNamespace& uts = *t.nsproxy->uts;
    if (!ns_capable(t.cred, uts.owner.get(), kCapSysAdminNr)) return -EPERM;
    const int length = static_cast<int>(a[1]);
    if (length < 0 || static_cast<std::size_t>(length) > kNameLength) return -EINVAL;
    std::string name(static_cast<std::size_t>(length), '\0');
    if (k.get_user(name.data(), a[0], name.size())) return -EFAULT;
    uts.*field = name.substr(0, std::min(name.find('\0'), name.size()));
    return 0;
}
std::int64_t sys_sethostname(Kernel& k, Task& t, const SyscallArgs& a) {
    return set_uts_name(k, t, a, &UtsNamespace::nodename);
}
std::int64_t sys_setdomainname(Kernel& k, Task& t, const SyscallArgs& a) {
    return set_uts_name(k, t, a, &UtsNamespace::domainname);
}

// --- pidfds ---

std::int64_t sys_pidfd_open(Kernel& k, Task& t, const SyscallArgs& a) {
    const int pid = static_cast<int>(a[0]);
    if (static_cast<std::uint32_t>(a[1]) & ~abi::o_nonblock) return -EINVAL;
    if (pid <= 0) return -EINVAL;
    Task* x = k.find_task_vpid(pid);
    if (!x) return -ESRCH;
    if (x->process->leader != x) return -EINVAL;
    return new_fd(k, t, make_pidfd(k, *x, static_cast<std::uint32_t>(a[1])), true);
}

std::int64_t sys_pidfd_send_signal(Kernel& k, Task& t, const SyscallArgs& a) {
    if (static_cast<std::uint32_t>(a[3])) return -EINVAL;
    const FileHandle f = t.files->get(static_cast<int>(a[0]));
    if (!f || !is_pidfd(*f)) return -EBADF;
    Task* x = pidfd_task(*f);
    if (x && !pid_visible(t, *x)) return -EINVAL;
    const int signo = static_cast<int>(a[1]);
    SigInfo info;
    if (a[2]) {
        if (k.get_user(info.raw.data(), a[2], info.raw.size())) return -EFAULT;
        if (info.signo() != signo) return -EINVAL;
        if ((!x || x->process != t.process) && (info.code() >= 0 || info.code() == -6 /* SI_TKILL */)) return -EPERM;
        if (!x) return -ESRCH;
        if (signo < 0 || signo > kNumSignals) return -EINVAL;
        return signo ? k.signals().send_process(*x, info) : 0;
    }
    return x ? k.signals().kill(pid_vnr(t, x->tgid), signo) : -ESRCH;
}

std::int64_t sys_pidfd_getfd(Kernel& k, Task& t, const SyscallArgs& a) {
    if (static_cast<std::uint32_t>(a[2])) return -EINVAL;
    const FileHandle f = t.files->get(static_cast<int>(a[0]));
    if (!f || !is_pidfd(*f)) return -EBADF;
    Task* x = pidfd_task(*f);
    if (!x) return -ESRCH;
    if (!ptrace_may_access(t, *x, PtraceMode::realcreds)) return -EPERM;
    if (x->state == TaskState::zombie) return -ESRCH;
    const FileHandle theirs = x->files->get(static_cast<int>(a[1]));
    return theirs ? new_fd(k, t, theirs, true) : -EBADF;
}

// --- file handles: cgroup folders have them ---

constexpr int kFileidKernfs = 0xfe;
constexpr std::uint32_t kHandleBytes = 8, kMaxHandle = 128;

std::int64_t sys_name_to_handle_at(Kernel& k, Task&, const SyscallArgs& a) {
    const auto flags = static_cast<std::uint32_t>(a[4]);
    if (flags & ~static_cast<std::uint32_t>(abi::at_symlink_follow | abi::at_empty_path)) return -EINVAL;
    std::string path;
    if (const int err = k.get_string(a[1], path); err) return err;
    Found what;
    if (const int err =
            vfs_of(k).walk(fd_of(a[0]), path, flags & abi::at_symlink_follow, flags & abi::at_empty_path, what);
        err)
        return err;
    const bool kernfs = what.dentry && what.dentry->node->fs.magic == kCgroup2Magic;
    if (!kernfs) return -EOPNOTSUPP;
    struct {
        std::uint32_t bytes;
        std::int32_t type;
    } handle{};
    if (k.get(a[2], handle)) return -EFAULT;
    if (handle.bytes > kMaxHandle) return -EINVAL;
    const int mount = what.dentry->mount->id;
    const std::uint64_t id = what.dentry->node->stat().ino;
    const bool fits = handle.bytes >= kHandleBytes;
    handle.bytes = kHandleBytes;
    handle.type = fits ? kFileidKernfs : 0xff;
    if (k.put(a[3], mount) || k.put(a[2], handle)) return -EFAULT;
    if (!fits) return -EOVERFLOW;
    return k.put(a[2] + sizeof handle, id) ? -EFAULT : 0;
}

std::int64_t sys_open_by_handle_at(Kernel& k, Task& t, const SyscallArgs& a) {
    if (!Kernel::has_cap(t, kCapDacReadSearchNr)) return -EPERM;
    struct {
        std::uint32_t bytes;
        std::int32_t type;
    } handle{};
    if (k.get(a[1], handle)) return -EFAULT;
    if (handle.bytes > kMaxHandle || !handle.bytes) return -EINVAL;
    DentryPtr at;
    if (fd_of(a[0]) == abi::at_fdcwd) {
        Found f;
        if (const int err = vfs_of(k).walk(abi::at_fdcwd, ".", true, false, f); err) return err;
        at = f.dentry;
    } else {
        const FileHandle f = t.files->get(fd_of(a[0]));
        if (!f) return -EBADF;
        at = f->dentry();
    }
    if (!at || at->node->fs.magic != kCgroup2Magic || handle.type != kFileidKernfs || handle.bytes != kHandleBytes)
        return -ESTALE;
    std::uint64_t id;
    if (k.get(a[1] + sizeof handle, id)) return -EFAULT;
    const CgroupPtr c = k.cgroups().of_id(id);
    if (!c) return -ESTALE;
    // Down from the mount's root by the names of its folders.
    std::vector<std::string> way;
    for (const Cgroup* x = c.get(); x->up; x = x->up.get()) way.push_back(x->name);
    DentryPtr d = at->mount->root;
    for (auto it = way.rbegin(); it != way.rend(); ++it) {
        DentryPtr next;
        if (d->child(*it, next)) return -ESTALE;
        d = next;
    }
    FileHandle out;
    if (const int err = d->node->open(d, static_cast<std::uint32_t>(a[2]) & ~abi::o_cloexec, out); err) return err;
    return new_fd(k, t, out, a[2] & abi::o_cloexec);
}

std::int64_t sys_process_mrelease(Kernel&, Task& t, const SyscallArgs& a) {
    if (static_cast<std::uint32_t>(a[1])) return -EINVAL;
    const FileHandle f = t.files->get(static_cast<int>(a[0]));
    if (!f || !is_pidfd(*f)) return -EBADF;
    const Task* x = pidfd_task(*f);
    if (!x) return -ESRCH;
    const Process& p = *x->process;
    const std::vector<Task*>& all = p.threads;
    const auto with_memory = std::find_if(all.begin(), all.end(), [](const Task* y) { return y->as && !y->exiting; });
    if (with_memory == all.end()) return -ESRCH;
    if (!p.group_exit) return -EINVAL; // it is not about to release it anyway
    const std::shared_ptr<AddressSpace> mm = (*with_memory)->as;
    mm->reap();
    return 0;
}

constexpr SyscallRow kRows[] = {
    {97, "unshare", sys_unshare, 1},
    {161, "sethostname", sys_sethostname, 2},
    {162, "setdomainname", sys_setdomainname, 2},
    {264, "name_to_handle_at", sys_name_to_handle_at, 5},
    {265, "open_by_handle_at", sys_open_by_handle_at, 3},
    {268, "setns", sys_setns, 2},
    {424, "pidfd_send_signal", sys_pidfd_send_signal, 4},
    {434, "pidfd_open", sys_pidfd_open, 2},
    {438, "pidfd_getfd", sys_pidfd_getfd, 3},
    {448, "process_mrelease", sys_process_mrelease, 2},
};

} // namespace

std::span<const SyscallRow> ns_syscalls() { return kRows; }

} // namespace rkperf::os
