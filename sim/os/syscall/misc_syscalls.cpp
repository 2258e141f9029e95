// SPDX-License-Identifier: Apache-2.0
// Identity, capabilities, prctl, and what belongs nowhere else.
#include "sim/os/kernel.h"
#include "sim/os/ns/pid_namespace.h"
#include "sim/os/process/process.h"
#include "sim/os/signal/signals.h"
#include "sim/os/syscall/tables.h"
#include "sim/os/time/time_keeper.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rkperf::os {

namespace {

constexpr int kCapSetgid = 6, kCapSetuid = 7, kCapSetpcap = 8;
constexpr std::uint64_t kAllCaps = (1ull << 41) - 1;

std::int64_t sys_uname(Kernel& k, Task& t, const SyscallArgs& a) {
    char u[6][65] = {};
    std::strcpy(u[0], "Linux");
    std::strncpy(u[1], t.nsproxy->uts->nodename.c_str(), 64);
    std::strcpy(u[2], kOsRelease);
    std::strcpy(u[3], kOsVersion);
    std::strcpy(u[4], "aarch64");
    std::strncpy(u[5], t.nsproxy->uts->domainname.c_str(), 64);
    return k.put_user(a[0], u, sizeof u) ? -EFAULT : 0;
}

std::int64_t sys_sysinfo(Kernel& k, Task&, const SyscallArgs& a) {
    struct {
        std::int64_t uptime;
        std::uint64_t loads[3], totalram, freeram, sharedram, bufferram, totalswap, freeswap;
        std::uint16_t procs, pad;
        std::uint64_t totalhigh, freehigh;
        std::uint32_t mem_unit;
        char f[4];
    } s{};
    s.uptime = static_cast<std::int64_t>(k.time().now_ns() / 1'000'000'000);
    s.totalram = k.pages().total_pages() << kPageShift;
    s.freeram = k.pages().free_pages() << kPageShift;
    s.procs = static_cast<std::uint16_t>(k.tasks().size());
    s.mem_unit = 1;
    return k.put(a[0], s) ? -EFAULT : 0;
}

std::int64_t sys_getrandom(Kernel& k, Task&, const SyscallArgs& a) {
    if (a[2] & ~7ull || (a[2] & 6) == 6) return -EINVAL;
    const std::uint64_t n = std::min<std::uint64_t>(a[1], 33554431);
    std::vector<std::uint8_t> b(n);
    for (std::uint64_t i = 0; i < n; i += 8) {
        const std::uint64_t r = k.random();
        std::memcpy(b.data() + i, &r, std::min<std::uint64_t>(8, n - i));
    }
    return k.put_user(a[0], b.data(), n) ? -EFAULT : static_cast<std::int64_t>(n);
}

std::int64_t sys_getcpu(Kernel& k, Task&, const SyscallArgs& a) {
    const auto cpu = static_cast<std::uint32_t>(k.this_cpu());
    const std::uint32_t node = 0;
    if (a[0] && k.put(a[0], cpu)) return -EFAULT;
    return a[1] && k.put(a[1], node) ? -EFAULT : 0;
}

/// Cores execute in order towards one another here, so there is nothing to do. Registration is not asked for: Linux gives
/// EPERM for a private command without it.
/// Every system call orders memory here: what is left are the checks.
std::int64_t sys_membarrier(Kernel&, Task& t, const SyscallArgs& a) {
    constexpr std::uint32_t kCommands = 0x1ff, kPrivateExpeditedRseq = 128, kFlagCpu = 1;
    constexpr std::uint32_t kPrivate = 8 | 32 | kPrivateExpeditedRseq, kRegister = 4 | kPrivate << 1;
    const auto cmd = static_cast<std::uint32_t>(a[0]), flags = static_cast<std::uint32_t>(a[1]);
    if (flags && !(cmd == kPrivateExpeditedRseq && flags == kFlagCpu)) return -EINVAL;
    if (!cmd) return kCommands;
    const bool one = !(cmd & (cmd - 1));
    if (!one || !(cmd & kCommands)) return -EINVAL;
    if (cmd & kRegister) t.as->membarrier_state |= cmd;
    // A command comes one bit below its registration.
    if (cmd & kPrivate && !(t.as->membarrier_state & cmd << 1)) return -EPERM;
    return 0;
}

std::int64_t sys_syslog(Kernel& k, Task& t, const SyscallArgs& a) {
    if (!Kernel::has_cap(t, 34 /* CAP_SYSLOG */) && a[0] != 3 && a[0] != 10) return -EPERM;
    std::string all;
    for (const std::string& l : k.log()) all += "<6>" + l + "\n";
    switch (a[0]) {
        case 2:
        case 3:
        case 4: {
            const std::size_t n = std::min<std::size_t>(all.size(), a[2]);
            return k.put_user(a[1], all.data() + (all.size() - n), n) ? -EFAULT : static_cast<std::int64_t>(n);
        }
        case 10: return 1 << 17;
        case 9: return static_cast<std::int64_t>(all.size());
        default: return a[0] > 10 ? -EINVAL : 0;
    }
}

// --- identity ---

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

/// What changes of user ids do to capabilities (capabilities(7)).
void after_setuid(Kernel& k, Task& t, const Credentials& old) {
    Credentials& c = t.cred;
    const std::uint32_t root = make_kuid(c.user_ns.get(), 0);
    const bool had_root = old.uid == root || old.euid == root || old.suid == root;
    const bool has_root = c.uid == root || c.euid == root || c.suid == root;
    if (had_root && !has_root && !c.keep_caps) c.cap_permitted = c.cap_effective = c.cap_ambient = 0;
    if (old.euid == root && c.euid != root) c.cap_effective = 0;
    if (old.euid != root && c.euid == root) c.cap_effective = c.cap_permitted;
    if (c.euid != old.euid) t.process->dumpable = false;
    c.fsuid = c.euid;
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
    if (own_capable(t.cred, kCapSetgid))
        t.cred.gid = t.cred.sgid = gid;
    else if (gid != t.cred.gid && gid != t.cred.sgid)
        return -EPERM;
    t.cred.egid = t.cred.fsgid = gid;
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
    if (v[1] != kKeep) t.cred.egid = t.cred.fsgid = v[1];
    if (v[2] != kKeep) t.cred.sgid = v[2];
    return 0;
}
std::int64_t sys_setregid(Kernel& k, Task& t, const SyscallArgs& a) {
    return sys_setresgid(k, t, {a[0], a[1], ~0ull, 0, 0, 0});
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
    const std::uint32_t old = t.cred.fsuid, uid = kuid_of(t, a[0]);
    if (uid != kKeep &&
        (uid == t.cred.uid || uid == t.cred.euid || uid == t.cred.suid || own_capable(t.cred, kCapSetuid)))
        t.cred.fsuid = uid;
    return shown_uid(t, old);
}
std::int64_t sys_setfsgid(Kernel&, Task& t, const SyscallArgs& a) {
    const std::uint32_t old = t.cred.fsgid, gid = kgid_of(t, a[0]);
    if (gid != kKeep &&
        (gid == t.cred.gid || gid == t.cred.egid || gid == t.cred.sgid || own_capable(t.cred, kCapSetgid)))
        t.cred.fsgid = gid;
    return shown_gid(t, old);
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

std::int64_t sys_prctl(Kernel& k, Task& t, const SyscallArgs& a) {
    switch (static_cast<int>(a[0])) {
        case 1: // PR_SET_PDEATHSIG
            if (a[1] > static_cast<unsigned>(kNumSignals)) return -EINVAL;
            t.pdeath_signal = static_cast<int>(a[1]);
            return 0;
        case 2: return k.put(a[1], t.pdeath_signal) ? -EFAULT : 0;
        case 3: return t.process->dumpable;
        case 4:
            if (a[1] > 1) return -EINVAL;
            t.process->dumpable = a[1];
            return 0;
        case 7: return t.cred.keep_caps;
        case 8:
            if (a[1] > 1) return -EINVAL;
            t.cred.keep_caps = a[1];
            return 0;
        case 15: { // PR_SET_NAME
            std::string name;
            if (const int e = k.get_string(a[1], name, 16); e && e != -ENAMETOOLONG) return e;
            set_comm(k, t, name.substr(0, 15), false);
            return 0;
        }
        case 16: return k.put_user(a[1], t.comm, 16) ? -EFAULT : 0;
        case 21: return t.seccomp.mode;
        case 22: return prctl_set_seccomp(k, t, a[1], a[2]);
        case 23: return a[1] > 40 ? -EINVAL : static_cast<std::int64_t>(t.cred.cap_bounding >> a[1] & 1);
        case 24:
            if (!own_capable(t.cred, kCapSetpcap)) return -EPERM;
            if (a[1] > 40) return -EINVAL;
            t.cred.cap_bounding &= ~(1ull << a[1]);
            return 0;
        case 29: // PR_SET_TIMERSLACK
            t.timer_slack_ns = a[1] ? static_cast<int>(a[1]) : 50000;
            return 0;
        case 30: return t.timer_slack_ns;
        case 31: return k.perf().perf_event_task_disable();
        case 32: return k.perf().perf_event_task_enable();
        case 36: t.process->child_subreaper = a[1]; return 0;
        case 37: {
            const int v = t.process->child_subreaper;
            return k.put(a[1], v) ? -EFAULT : 0;
        }
        case 38:
            if (a[1] != 1 || a[2] || a[3] || a[4]) return -EINVAL;
            t.cred.no_new_privs = true;
            return 0;
        case 39: return t.cred.no_new_privs;
        case 0x59616d61: return 0;       // PR_SET_PTRACER without Yama's restriction
        case 0x53564d41: return -EINVAL; // PR_SET_VMA: the kernel is built without names for anonymous memory
        default:
            k.pr_info_once("prctl: option " + std::to_string(static_cast<int>(a[0])) + " is not implemented: EINVAL");
            return -EINVAL;
    }
}

// --- memory policy: one node ---

std::int64_t sys_get_mempolicy(Kernel& k, Task&, const SyscallArgs& a) {
    const int mode = 0; // MPOL_DEFAULT
    const std::uint64_t flags = a[4];
    if (flags & ~7ull) return -EINVAL;
    if (!(flags & 2) && a[3]) return -EINVAL; // an address needs MPOL_F_ADDR
    if (a[1] && a[2] < 1) return -EINVAL;
    if (a[0] && k.put(a[0], mode)) return -EFAULT;
    const std::uint64_t nodes = flags & 4 ? 1 : 0; // MPOL_F_MEMS_ALLOWED
    return a[1] && k.put(a[1], nodes) ? -EFAULT : 0;
}
std::int64_t sys_set_mempolicy(Kernel&, Task&, const SyscallArgs& a) { return (a[0] & 0x3fff) > 5 ? -EINVAL : 0; }
std::int64_t sys_mbind(Kernel&, Task&, const SyscallArgs& a) {
    if ((a[0] & ~kPageMask) || (a[2] & 0x3fff) > 5 || (a[5] & ~7ull)) return -EINVAL;
    return 0;
}

constexpr SyscallRow kRows[] = {
    {90, "capget", sys_capget, 2},
    {91, "capset", sys_capset, 2},
    {116, "syslog", sys_syslog, 3},
    {143, "setregid", sys_setregid, 2},
    {144, "setgid", sys_setgid, 1},
    {145, "setreuid", sys_setreuid, 2},
    {146, "setuid", sys_setuid, 1},
    {147, "setresuid", sys_setresuid, 3},
    {148, "getresuid", sys_getresuid, 3},
    {149, "setresgid", sys_setresgid, 3},
    {150, "getresgid", sys_getresgid, 3},
    {151, "setfsuid", sys_setfsuid, 1},
    {152, "setfsgid", sys_setfsgid, 1},
    {158, "getgroups", sys_getgroups, 2},
    {159, "setgroups", sys_setgroups, 2},
    {160, "uname", sys_uname, 1},
    {167, "prctl", sys_prctl, 5},
    {168, "getcpu", sys_getcpu, 3},
    {174, "getuid", sys_getuid, 0},
    {175, "geteuid", sys_geteuid, 0},
    {176, "getgid", sys_getgid, 0},
    {177, "getegid", sys_getegid, 0},
    {179, "sysinfo", sys_sysinfo, 1},
    {235, "mbind", sys_mbind, 6},
    {236, "get_mempolicy", sys_get_mempolicy, 5},
    {237, "set_mempolicy", sys_set_mempolicy, 3},
    {278, "getrandom", sys_getrandom, 3},
    {283, "membarrier", sys_membarrier, 3},
};

std::int64_t sys_perf_event_open(Kernel& k, Task&, const SyscallArgs& a) {
    return k.perf().sys_perf_event_open(a[0], static_cast<std::int32_t>(a[1]), static_cast<std::int32_t>(a[2]),
                                        static_cast<std::int32_t>(a[3]), a[4]);
}
constexpr SyscallRow kPerfRows[] = {{241, "perf_event_open", sys_perf_event_open, 5}};

} // namespace

std::span<const SyscallRow> misc_syscalls() { return kRows; }
std::span<const SyscallRow> perf_syscalls() { return kPerfRows; }

} // namespace rkperf::os
