// SPDX-License-Identifier: Apache-2.0
// clone, unshare and setns (kernel/nsproxy.c, user_namespace.c, pid_namespace.c of Linux 6.1).
#include "sim/os/ns/namespaces.h"

#include "sim/os/cgroup/cgroup.h"
#include "sim/os/fs/mnt_namespace.h"
#include "sim/os/fs/pidfd.h"
#include "sim/os/kernel.h"
#include "sim/os/ns/nsfs.h"
#include "sim/os/ns/pid_namespace.h"
#include "sim/os/signal/signals.h"
#include "sim/os/syscall/fs_common.h"

#include <sched.h>
#include <algorithm>
#include <cerrno>

namespace rkperf::os {

namespace {

constexpr int kCapSysAdminNr = 21, kCapSysChrootNr = 18, kCapSetfcap = 31;
constexpr std::uint64_t kAllCaps = (1ull << 41) - 1;
constexpr int kMaxLevel = 32;
/// Numbers of the initial namespaces (include/linux/proc_ns.h) and the first that are given out.
constexpr std::uint64_t kIpcIno = 0xefffffff, kUtsIno = 0xeffffffe, kUserIno = 0xeffffffd, kPidIno = 0xeffffffc,
                        kCgroupIno = 0xeffffffb, kTimeIno = 0xeffffffa, kFirstDynamic = 0xf0000000;

constexpr NsKindInfo kKinds[] = {
    {NsKind::net, CLONE_NEWNET, "net", false, "net"},
    {NsKind::uts, CLONE_NEWUTS, "uts", false, "uts"},
    {NsKind::ipc, CLONE_NEWIPC, "ipc", false, "ipc"},
    {NsKind::pid, CLONE_NEWPID, "pid", false, "pid"},
    {NsKind::pid, CLONE_NEWPID, "pid_for_children", true, "pid"},
    {NsKind::user, CLONE_NEWUSER, "user", false, "user"},
    {NsKind::mnt, CLONE_NEWNS, "mnt", false, "mnt"},
    {NsKind::cgroup, CLONE_NEWCGROUP, "cgroup", false, "cgroup"},
    {NsKind::time, kCloneNewTime, "time", false, "time"},
    {NsKind::time, kCloneNewTime, "time_for_children", true, "time"},
};

/// What lives in an nsproxy: all but the user namespace.
constexpr std::uint64_t kProxyFlags = kCloneNewAny & ~std::uint64_t{CLONE_NEWUSER};

/// A namespace of which there is only which it is.
struct PlainNamespace final : Namespace {
    using Namespace::Namespace;
};

} // namespace

std::span<const NsKindInfo> ns_kinds() { return kKinds; }

std::uint64_t clone_flag(NsKind kind) {
    return std::find_if(std::begin(kKinds), std::end(kKinds), [&](const NsKindInfo& i) { return i.kind == kind; })
        ->flag;
}

Namespace::Namespace(Namespaces& all, NsKind kind, UserNsPtr owner, std::uint64_t fixed_ino)
    : all(all),
      numbers(all.numbers()),
      kind(kind),
      ino(fixed_ino ? fixed_ino : numbers->alloc()),
      owner(std::move(owner)) {}

Namespace::~Namespace() { numbers->free(ino); }

std::uint64_t NsNumbers::alloc() {
    std::uint64_t n = kFirstDynamic;
    while (used_.contains(n)) ++n;
    used_.insert(n);
    return n;
}

Namespaces::Namespaces(Kernel& kernel) : k_(kernel) {
    init_user_ = std::make_shared<UserNamespace>(*this, nullptr, kUserIno);
    init_user_->uid_map = init_user_->gid_map = init_user_->projid_map = {{0, 0, kNoId}};
    init_pid_ = std::make_shared<PidNamespace>(*this, init_user_, nullptr, kPidIno);
    init_ = std::make_shared<NsProxy>();
    init_->uts = std::make_shared<UtsNamespace>(*this, NsKind::uts, init_user_, kUtsIno);
    init_->uts->nodename = k_.config().hostname.substr(0, 64);
    init_->uts->domainname = "(none)";
    const auto plain = [&](NsKind kind, std::uint64_t ino) {
        return std::make_shared<PlainNamespace>(*this, kind, init_user_, ino);
    };
    init_->ipc = plain(NsKind::ipc, kIpcIno);
    init_->cgroup = std::make_shared<CgroupNamespace>(*this, init_user_, nullptr, kCgroupIno);
    init_->time = init_->time_for_children = plain(NsKind::time, kTimeIno);
    init_->net = plain(NsKind::net, 0); // the first number, as on Linux
    init_->mnt = vfs_of(k_).init_mnt_namespace(*this, init_user_);
    init_->pid_for_children = init_pid_;
}

Namespaces::~Namespaces() = default;

UserNsPtr Namespaces::user_of(const Credentials& cred) const { return cred.user_ns ? cred.user_ns : init_user_; }

int Namespaces::create_user_ns(const Task& t, Credentials& cred) {
    const UserNsPtr parent = user_of(cred);
    if (parent->level >= kMaxLevel) return -ENOSPC;
    // Who has left his root could get back to it.
    if (vfs_of(k_).chrooted(*t.fs, *t.nsproxy->mnt)) return -EPERM;
    if (from_kid(parent->uid_map, cred.euid) == kNoId || from_kid(parent->gid_map, cred.egid) == kNoId) return -EPERM;
    auto ns = std::make_shared<UserNamespace>(*this, parent);
    ns->level = parent->level + 1;
    ns->owner_uid = cred.euid;
    ns->owner_gid = cred.egid;
    ns->setgroups_allowed = parent->setgroups_allowed;
    ns->parent_could_setfcap = own_capable(cred, kCapSetfcap);
    cred.user_ns = std::move(ns);
    cred.cap_effective = cred.cap_permitted = cred.cap_bounding = kAllCaps;
    cred.cap_inheritable = cred.cap_ambient = 0;
    cred.securebits = 0;
    return 0;
}

int Namespaces::copy_creds(const Task& t, Task& child, std::uint64_t flags) {
    return flags & CLONE_NEWUSER ? create_user_ns(t, child.cred) : 0;
}

int Namespaces::create_new_namespaces(std::uint64_t flags, const Task& t, const UserNsPtr& user, FsContext& fs,
                                      std::shared_ptr<NsProxy>& out) {
    const NsProxy& old = *t.nsproxy;
    auto n = std::make_shared<NsProxy>(old);
    if (flags & CLONE_NEWNS) n->mnt = vfs_of(k_).copy_mnt_namespace(*this, user, *old.mnt, fs);
    if (flags & CLONE_NEWUTS) {
        n->uts = std::make_shared<UtsNamespace>(*this, NsKind::uts, user);
        n->uts->nodename = old.uts->nodename;
        n->uts->domainname = old.uts->domainname;
    }
    const auto plain = [&](NsKind kind) { return std::make_shared<PlainNamespace>(*this, kind, user); };
    if (flags & CLONE_NEWIPC) n->ipc = plain(NsKind::ipc);
    if (flags & CLONE_NEWPID) {
        const auto& parent = old.pid_for_children;
        if (!user->below(*parent->owner)) return -EINVAL;
        if (parent->level >= kMaxLevel) return -ENOSPC;
        n->pid_for_children = std::make_shared<PidNamespace>(*this, user, parent);
    }
    if (flags & CLONE_NEWCGROUP) n->cgroup = std::make_shared<CgroupNamespace>(*this, user, t.cgroup, 0);
    if (flags & CLONE_NEWNET) n->net = plain(NsKind::net);
    if (flags & kCloneNewTime) n->time_for_children = plain(NsKind::time);
    out = std::move(n);
    return 0;
}

int Namespaces::copy_namespaces(Task& t, Task& child, std::uint64_t flags) {
    const UserNsPtr user = user_of(child.cred);
    const bool new_time = t.nsproxy->time != t.nsproxy->time_for_children;
    if (!(flags & kProxyFlags)) {
        if (new_time) {
            // A thread or a sharer of memory would see another clock than the others.
            if ((flags & (CLONE_VM | CLONE_VFORK)) == CLONE_VM) return -EINVAL;
            child.nsproxy = std::make_shared<NsProxy>(*t.nsproxy);
            child.nsproxy->time = t.nsproxy->time_for_children;
        }
    } else {
        if (!ns_capable(child.cred, user.get(), kCapSysAdminNr)) return -EPERM;
        constexpr std::uint64_t kUndo = CLONE_NEWIPC | CLONE_SYSVSEM;
        if ((flags & kUndo) == kUndo) return -EINVAL;
        std::shared_ptr<NsProxy> made;
        if (const int e = create_new_namespaces(flags, t, user, *child.fs, made)) return e;
        if (new_time || (flags & kCloneNewTime)) made->time = made->time_for_children;
        child.nsproxy = std::move(made);
    }
    child.pid_ns = child.nsproxy->pid_for_children;
    if (!child.pid_ns->level) child.pid_ns = nullptr;
    return 0;
}

std::int64_t Namespaces::unshare(Task& t, std::uint64_t flags) {
    constexpr std::uint64_t kValid =
        CLONE_THREAD | CLONE_FS | CLONE_SIGHAND | CLONE_VM | CLONE_FILES | CLONE_SYSVSEM | kCloneNewAny;
    if (flags & CLONE_NEWUSER) flags |= CLONE_THREAD | CLONE_FS;
    if (flags & CLONE_VM) flags |= CLONE_SIGHAND;
    if (flags & CLONE_SIGHAND) flags |= CLONE_THREAD;
    if (flags & CLONE_NEWNS) flags |= CLONE_FS;
    if (flags & ~kValid) return -EINVAL;
    const bool alone = t.process->threads.size() == 1;
    if ((flags & (CLONE_THREAD | CLONE_SIGHAND | CLONE_VM)) && !alone) return -EINVAL;
    if ((flags & (CLONE_SIGHAND | CLONE_VM)) && t.process->sighand.use_count() > 1) return -EINVAL;
    if ((flags & CLONE_VM) && t.as.use_count() > 1) return -EINVAL;
    const std::shared_ptr<FsContext> fs =
        (flags & CLONE_FS) && t.fs.use_count() > 1 ? std::make_shared<FsContext>(*t.fs) : t.fs;
    Credentials cred = t.cred;
    if (flags & CLONE_NEWUSER)
        if (const int e = create_user_ns(t, cred)) return e;
    std::shared_ptr<NsProxy> proxy = t.nsproxy;
    if (flags & kProxyFlags) {
        const UserNsPtr user = user_of(cred);
        if (!ns_capable(cred, user.get(), kCapSysAdminNr)) return -EPERM;
        if (const int e = create_new_namespaces(flags, t, user, *fs, proxy)) return e;
    }
    t.fs = fs;
    if ((flags & CLONE_FILES) && t.files.use_count() > 1) t.files = t.files->clone();
    t.nsproxy = std::move(proxy);
    t.cred = std::move(cred);
    k_.perf().perf_event_namespaces(t);
    return 0;
}

// --- setns ---

struct Namespaces::NsSet {
    Task& t;
    std::uint64_t flags;
    std::shared_ptr<NsProxy> proxy;
    Credentials cred;
    std::optional<FsContext> fs;
};

int Namespaces::check_setns_flags(std::uint64_t flags) { return !flags || flags & ~kCloneNewAny ? -EINVAL : 0; }

int Namespaces::install(NsSet& set, const NsPtr& ns) {
    Task& t = set.t;
    const auto may = [&](const UserNamespace* towards) {
        return ns_capable(t.cred, towards, kCapSysAdminNr) &&
               ns_capable(set.cred, set.cred.user_ns.get(), kCapSysAdminNr);
    };
    switch (ns->kind) {
        case NsKind::user: {
            const auto user = std::static_pointer_cast<UserNamespace>(ns);
            if (user == user_of(t.cred)) return -EINVAL; // else one could get capabilities back
            if (t.process->threads.size() > 1 || t.fs.use_count() > 1) return -EINVAL;
            if (!ns_capable(t.cred, user.get(), kCapSysAdminNr)) return -EPERM;
            set.cred.user_ns = user->level ? user : nullptr;
            set.cred.cap_effective = set.cred.cap_permitted = set.cred.cap_bounding = kAllCaps;
            set.cred.cap_inheritable = set.cred.cap_ambient = 0;
            set.cred.securebits = 0;
            return 0;
        }
        case NsKind::mnt: {
            if (!may(ns->owner.get()) || !own_capable(set.cred, kCapSysChrootNr)) return -EPERM;
            if (t.fs.use_count() > 1) return -EINVAL;
            set.proxy->mnt = std::static_pointer_cast<MntNamespace>(ns);
            set.fs.emplace(*t.fs);
            vfs_of(k_).enter_mnt_namespace(*set.proxy->mnt, *set.fs);
            return 0;
        }
        case NsKind::pid: {
            if (!may(ns->owner.get())) return -EPERM;
            const auto pid = std::static_pointer_cast<PidNamespace>(ns);
            if (!pid->below(t.pid_ns ? *t.pid_ns : *init_pid_)) return -EINVAL;
            set.proxy->pid_for_children = pid;
            return 0;
        }
        case NsKind::time:
            if (t.process->threads.size() > 1) return -EUSERS;
            if (!may(ns->owner.get())) return -EPERM;
            set.proxy->time = set.proxy->time_for_children = ns;
            return 0;
        default: break;
    }
    if (!may(ns->owner.get())) return -EPERM;
    switch (ns->kind) {
        case NsKind::uts: set.proxy->uts = std::static_pointer_cast<UtsNamespace>(ns); break;
        case NsKind::ipc: set.proxy->ipc = ns; break;
        case NsKind::net: set.proxy->net = ns; break;
        default: set.proxy->cgroup = ns; break;
    }
    return 0;
}

std::int64_t Namespaces::setns(Task& t, File& file, int type) {
    NsSet set{t, 0, std::make_shared<NsProxy>(*t.nsproxy), t.cred, {}};
    int error = 0;
    if (const auto* ns_file = dynamic_cast<NsFile*>(&file)) {
        if (type && static_cast<std::uint64_t>(type) != clone_flag(ns_file->ns()->kind)) return -EINVAL;
        error = install(set, ns_file->ns());
    } else if (Task* other = pidfd_task(file)) {
        if ((error = check_setns_flags(static_cast<std::uint32_t>(type)))) return error;
        if (other->state == TaskState::zombie || other->dead) return -ESRCH;
        if (!k_.ptrace_may_access(other)) return -EPERM;
        // The user namespace first: it may give the right to join the others.
        static constexpr NsKind kOrder[] = {NsKind::user, NsKind::mnt,    NsKind::uts, NsKind::ipc,
                                            NsKind::pid,  NsKind::cgroup, NsKind::net, NsKind::time};
        for (const NsKind kind : kOrder)
            if (!error && (static_cast<std::uint32_t>(type) & clone_flag(kind)))
                error = install(set, of_task(*other, kind, false));
    } else {
        return is_pidfd(file) ? -ESRCH : -EINVAL;
    }
    if (error) return error;
    t.cred = std::move(set.cred);
    t.nsproxy = std::move(set.proxy);
    if (set.fs) *t.fs = *set.fs;
    k_.perf().perf_event_namespaces(t);
    return 0;
}

NsPtr Namespaces::of_task(const Task& t, NsKind kind, bool for_children) {
    if (kind == NsKind::user) return user_of(t.cred);
    if (kind == NsKind::pid && !for_children) return t.pid_ns ? t.pid_ns : init_pid_;
    if (!t.nsproxy) return nullptr;
    const NsProxy& n = *t.nsproxy;
    switch (kind) {
        case NsKind::uts: return n.uts;
        case NsKind::ipc: return n.ipc;
        case NsKind::mnt: return n.mnt;
        case NsKind::net: return n.net;
        case NsKind::cgroup: return n.cgroup;
        case NsKind::time: return for_children ? n.time_for_children : n.time;
        default: break;
    }
    // One without a first process cannot be named yet.
    const auto& pid = n.pid_for_children;
    return pid->level && !pid->nr_tasks ? nullptr : pid;
}

} // namespace rkperf::os
