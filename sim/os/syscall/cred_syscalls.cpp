// SPDX-License-Identifier: Apache-2.0
// Identity and capabilities.
#include "sim/os/kernel.h"
#include "sim/os/ns/namespaces.h"
#include "sim/os/ns/pid_namespace.h"
#include "sim/os/process/credentials.h"
#include "sim/os/syscall/tables.h"

#include <algorithm>
#include <cerrno>

namespace rkperf::os {

namespace {

constexpr int kCapSetgid = 6, kCapSetuid = 7, kCapSetpcap = 8;
constexpr std::uint64_t kAllCaps = (1ull << 41) - 1;

std::uint32_t shown_uid(const Task& t, std::uint32_t kuid) { return from_kuid_munged(t.cred.user_ns.get(), kuid); }
std::uint32_t shown_gid(const Task& t, std::uint32_t kgid) { return from_kgid_munged(t.cred.user_ns.get(), kgid); }
std::uint32_t kuid_of(const Task& t, std::uint64_t uid) {
    return make_kuid(t.cred.user_ns.get(), static_cast<std::uint32_t>(uid));
}
std::uint32_t kgid_of(const Task& t, std::uint64_t gid) {
    return make_kgid(t.cred.user_ns.get(), static_cast<std::uint32_t>(gid));
}
constexpr std::uint32_t kKeep = ~0u;
/// For calls that leave an id alone when they are given -1.
template <std::uint32_t (*Of)(const Task&, std::uint64_t)>
bool take_ids(const Task& t, const SyscallArgs& a, std::span<std::uint32_t> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
        const auto id = static_cast<std::uint32_t>(a[i]);
        out[i] = id == kKeep ? kKeep : Of(t, id);
        if (id != kKeep && out[i] == kKeep) return false; // no such id in this namespace
    }
    return true;
}

std::int64_t sys_getuid(Kernel&, Task& t, const SyscallArgs&) { return shown_uid(t, t.cred.uid); }
std::int64_t sys_geteuid(Kernel&, Task& t, const SyscallArgs&) { return shown_uid(t, t.cred.euid); }
std::int64_t sys_getgid(Kernel&, Task& t, const SyscallArgs&) { return shown_gid(t, t.cred.gid); }
std::int64_t sys_getegid(Kernel&, Task& t, const SyscallArgs&) { return shown_gid(t, t.cred.egid); }

void after_setuid(Kernel& k, Task& t, const Credentials& old) {
    Credentials& c = t.cred;
    fix_caps_after_setuid(c, old);
    c.fsuid = c.euid;
    commit_creds(t, old);
    t.user = k.user_info(c.uid);
}

std::int64_t sys_setuid(Kernel& k, Task& t, const SyscallArgs& a) {
    const std::uint32_t uid = kuid_of(t, a[0]);
    if (uid == kKeep) return -EINVAL;
    const Credentials old = t.cred;
    if (own_capable(t.cred, kCapSetuid))
        t.cred.uid = t.cred.suid = uid;
    else if (uid != old.uid && uid != old.suid)
        return -EPERM;
    t.cred.euid = uid;
    after_setuid(k, t, old);
    return 0;
}
std::int64_t sys_setresuid(Kernel& k, Task& t, const SyscallArgs& a) {
    const Credentials old = t.cred;
    const auto ok = [&](std::uint32_t u) { return u == kKeep || u == old.uid || u == old.euid || u == old.suid; };
    std::uint32_t v[3];
    if (!take_ids<kuid_of>(t, a, v)) return -EINVAL;
    for (const std::uint32_t id : v)
        if (!ok(id) && !own_capable(t.cred, kCapSetuid)) return -EPERM;
    if (v[0] != kKeep) t.cred.uid = v[0];
    if (v[1] != kKeep) t.cred.euid = v[1];
    if (v[2] != kKeep) t.cred.suid = v[2];
    after_setuid(k, t, old);
    return 0;
}
std::int64_t sys_setreuid(Kernel& k, Task& t, const SyscallArgs& a) {
    const Credentials old = t.cred;
    std::uint32_t v[2];
    if (!take_ids<kuid_of>(t, a, v)) return -EINVAL;
    const std::uint32_t r = v[0], e = v[1];
    const bool cap = own_capable(t.cred, kCapSetuid);
    if (r != kKeep && r != old.uid && r != old.euid && !cap) return -EPERM;
    if (e != kKeep && e != old.uid && e != old.euid && e != old.suid && !cap) return -EPERM;
    if (r != kKeep) t.cred.uid = r;
    if (e != kKeep) t.cred.euid = e;
    if (r != kKeep || (e != kKeep && e != old.uid)) t.cred.suid = t.cred.euid;
    after_setuid(k, t, old);
    return 0;
}
std::int64_t sys_setgid(Kernel&, Task& t, const SyscallArgs& a) {
    const std::uint32_t gid = kgid_of(t, a[0]);
    if (gid == kKeep) return -EINVAL;
    const Credentials old = t.cred;
    if (own_capable(t.cred, kCapSetgid))
        t.cred.gid = t.cred.sgid = gid;
    else if (gid != t.cred.gid && gid != t.cred.sgid)
        return -EPERM;
    t.cred.egid = t.cred.fsgid = gid;
    commit_creds(t, old);
    return 0;
}
std::int64_t sys_setresgid(Kernel&, Task& t, const SyscallArgs& a) {
    const Credentials old = t.cred;
    const auto ok = [&](std::uint32_t g) { return g == kKeep || g == old.gid || g == old.egid || g == old.sgid; };
    std::uint32_t v[3];
    if (!take_ids<kgid_of>(t, a, v)) return -EINVAL;
    for (const std::uint32_t id : v)
        if (!ok(id) && !own_capable(t.cred, kCapSetgid)) return -EPERM;
    if (v[0] != kKeep) t.cred.gid = v[0];
    if (v[1] != kKeep) t.cred.egid = v[1];
    if (v[2] != kKeep) t.cred.sgid = v[2];
    t.cred.fsgid = t.cred.egid;
    commit_creds(t, old);
    return 0;
}
std::int64_t sys_setregid(Kernel&, Task& t, const SyscallArgs& a) {
    const Credentials old = t.cred;
    std::uint32_t v[2];
    if (!take_ids<kgid_of>(t, a, v)) return -EINVAL;
    const std::uint32_t r = v[0], e = v[1];
    const bool cap = own_capable(t.cred, kCapSetgid);
    if (r != kKeep && r != old.gid && r != old.egid && !cap) return -EPERM;
    if (e != kKeep && e != old.gid && e != old.egid && e != old.sgid && !cap) return -EPERM;
    if (r != kKeep) t.cred.gid = r;
    if (e != kKeep) t.cred.egid = e;
    if (r != kKeep || (e != kKeep && e != old.gid)) t.cred.sgid = t.cred.egid;
    t.cred.fsgid = t.cred.egid;
    commit_creds(t, old);
    return 0;
}
std::int64_t sys_getresuid(Kernel& k, Task& t, const SyscallArgs& a) {
    const Credentials& c = t.cred;
    const bool bad =
        k.put(a[0], shown_uid(t, c.uid)) || k.put(a[1], shown_uid(t, c.euid)) || k.put(a[2], shown_uid(t, c.suid));
    return bad ? -EFAULT : 0;
}
std::int64_t sys_getresgid(Kernel& k, Task& t, const SyscallArgs& a) {
    const Credentials& c = t.cred;
    const bool bad =
        k.put(a[0], shown_gid(t, c.gid)) || k.put(a[1], shown_gid(t, c.egid)) || k.put(a[2], shown_gid(t, c.sgid));
    return bad ? -EFAULT : 0;
}
std::int64_t sys_setfsuid(Kernel&, Task& t, const SyscallArgs& a) {
    const Credentials old = t.cred;
    const std::uint32_t uid = kuid_of(t, a[0]);
    if (uid != kKeep && (uid == old.uid || uid == old.euid || uid == old.suid || own_capable(old, kCapSetuid))) {
        t.cred.fsuid = uid;
        fix_caps_after_setfsuid(t.cred, old);
        commit_creds(t, old);
    }
    return shown_uid(t, old.fsuid);
}
std::int64_t sys_setfsgid(Kernel&, Task& t, const SyscallArgs& a) {
    const Credentials old = t.cred;
    const std::uint32_t gid = kgid_of(t, a[0]);
    if (gid != kKeep && (gid == old.gid || gid == old.egid || gid == old.sgid || own_capable(old, kCapSetgid))) {
        t.cred.fsgid = gid;
        commit_creds(t, old);
    }
    return shown_gid(t, old.fsgid);
}
std::int64_t sys_getgroups(Kernel& k, Task& t, const SyscallArgs& a) {
    const auto n = static_cast<std::int64_t>(t.cred.groups.size());
    if (!a[0]) return n;
    if (static_cast<std::int64_t>(a[0]) < n) return -EINVAL;
    std::vector<std::uint32_t> groups;
    for (const std::uint32_t g : t.cred.groups) groups.push_back(shown_gid(t, g));
    return k.put_user(a[1], groups.data(), groups.size() * 4) ? -EFAULT : n;
}
std::int64_t sys_setgroups(Kernel& k, Task& t, const SyscallArgs& a) {
    // Not before the namespace has a group map, nor where giving up groups is forbidden.
    const UserNamespace* user = t.cred.user_ns.get();
    if (!own_capable(t.cred, kCapSetgid) || (user && (user->gid_map.empty() || !user->setgroups_allowed)))
        return -EPERM;
    if (a[0] > 65536) return -EINVAL;
    std::vector<std::uint32_t> g(a[0]);
    if (k.get_user(g.data(), a[1], g.size() * 4)) return -EFAULT;
    for (std::uint32_t& id : g)
        if ((id = make_kgid(user, id)) == kNoId) return -EINVAL;
    std::sort(g.begin(), g.end());
    t.cred.groups = std::move(g);
    return 0;
}

struct CapHeader {
    std::uint32_t version;
    std::int32_t pid;
};
constexpr std::uint32_t kCapVersion3 = 0x20080522;
std::int64_t sys_capget(Kernel& k, Task& t, const SyscallArgs& a) {
    CapHeader h;
    if (k.get(a[0], h)) return -EFAULT;
    if (h.version != kCapVersion3 && h.version != 0x20071026) {
        h.version = kCapVersion3;
        return k.put(a[0], h) ? -EFAULT : a[1] ? -EINVAL : 0;
    }
    Task* x = h.pid ? k.find_task_vpid(h.pid) : &t;
    if (!x) return -ESRCH;
    const Credentials& c = x->cred;
    const auto lo = [](std::uint64_t v) { return static_cast<std::uint32_t>(v); };
    const auto hi = [](std::uint64_t v) { return static_cast<std::uint32_t>(v >> 32); };
    const std::uint32_t d[6] = {lo(c.cap_effective), lo(c.cap_permitted), lo(c.cap_inheritable),
                                hi(c.cap_effective), hi(c.cap_permitted), hi(c.cap_inheritable)};
    return k.put(a[1], d) ? -EFAULT : 0;
}
std::int64_t sys_capset(Kernel& k, Task& t, const SyscallArgs& a) {
    CapHeader h;
    std::uint32_t d[6];
    if (k.get(a[0], h)) return -EFAULT;
    if (h.version != kCapVersion3 && h.version != 0x20071026) return -EINVAL;
    if (h.pid && h.pid != pid_vnr(t, t.pid)) return -EPERM;
    if (k.get(a[1], d)) return -EFAULT;
    const auto join = [&](int i) { return (std::uint64_t{d[i + 3]} << 32 | d[i]) & kAllCaps; };
    const std::uint64_t e = join(0), p = join(1), i = join(2);
    Credentials& c = t.cred;
    if (p & ~c.cap_permitted || e & ~p) return -EPERM;
    if (i & ~(c.cap_inheritable | c.cap_permitted) && !own_capable(c, kCapSetpcap)) return -EPERM;
    c.cap_effective = e, c.cap_permitted = p, c.cap_inheritable = i;
    c.cap_ambient &= p & i;
    return 0;
}

constexpr SyscallRow kRows[] = {
    {90, "capget", sys_capget, 2},        {91, "capset", sys_capset, 2},        {143, "setregid", sys_setregid, 2},
    {144, "setgid", sys_setgid, 1},       {145, "setreuid", sys_setreuid, 2},   {146, "setuid", sys_setuid, 1},
    {147, "setresuid", sys_setresuid, 3}, {148, "getresuid", sys_getresuid, 3}, {149, "setresgid", sys_setresgid, 3},
    {150, "getresgid", sys_getresgid, 3}, {151, "setfsuid", sys_setfsuid, 1},   {152, "setfsgid", sys_setfsgid, 1},
    {158, "getgroups", sys_getgroups, 2}, {159, "setgroups", sys_setgroups, 2}, {174, "getuid", sys_getuid, 0},
    {175, "geteuid", sys_geteuid, 0},     {176, "getgid", sys_getgid, 0},       {177, "getegid", sys_getegid, 0},
};

} // namespace

std::span<const SyscallRow> cred_syscalls() { return kRows; }

} // namespace rkperf::os
