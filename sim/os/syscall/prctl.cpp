// SPDX-License-Identifier: Apache-2.0
// prctl(2): one function an option where it is more than a field of the task. Options of other architectures, of
// extensions that these cores lack (SVE, pointer authentication, MTE) and of features that arm64's Linux 6.1 is built
// without are EINVAL, as there.
#include "sim/os/kernel.h"
#include "sim/os/mm/address_space.h"
#include "sim/os/ns/namespaces.h"
#include "sim/os/process/credentials.h"
#include "sim/os/process/process.h"
#include "sim/os/process/tagged_addr.h"
#include "sim/os/seccomp/seccomp.h"
#include "sim/os/syscall/tables.h"

#include <linux/prctl.h>
#include <algorithm>
#include <cerrno>

namespace rkperf::os {

namespace {

constexpr int kCapSetpcap = 8, kLastCap = 40;

/// Whether the arguments from the n-th on (option: 0) are all 0.
bool unused(const SyscallArgs& a, std::size_t n) {
    return std::all_of(a.begin() + static_cast<std::ptrdiff_t>(n), a.begin() + 5,
                       [](std::uint64_t v) { return v == 0; });
}

std::int64_t set_name(Kernel& k, Task& t, std::uint64_t from) {
    std::string name;
    if (const int e = k.get_string(from, name, 16); e && e != -ENAMETOOLONG) return e;
    set_comm(k, t, name.substr(0, 15), false);
    return 0;
}

// --- capabilities ---

std::int64_t drop_bounding(Task& t, std::uint64_t cap) {
    if (!own_capable(t.cred, kCapSetpcap)) return -EPERM;
    if (cap > kLastCap) return -EINVAL;
    t.cred.cap_bounding &= ~(1ull << cap);
    return 0;
}

std::int64_t set_keep_caps(Task& t, std::uint64_t on) {
    if (on > 1) return -EINVAL;
    std::uint32_t& bits = t.cred.securebits;
    if (bits & securebit::keep_caps << 1) return -EPERM;
    bits = on ? bits | securebit::keep_caps : bits & ~securebit::keep_caps;
    return 0;
}

std::int64_t set_securebits(Task& t, std::uint64_t wanted) {
    const std::uint64_t old = t.cred.securebits;
    const bool changes_locked = (old & securebit::all_locks) >> 1 & (old ^ wanted);
    const bool unlocks = old & securebit::all_locks & ~wanted;
    const bool unknown = wanted & ~std::uint64_t{securebit::all_bits | securebit::all_locks};
    if (changes_locked || unlocks || unknown || !own_capable(t.cred, kCapSetpcap)) return -EPERM;
    t.cred.securebits = static_cast<std::uint32_t>(wanted);
    return 0;
}

std::int64_t cap_ambient(Task& t, const SyscallArgs& a) {
    Credentials& c = t.cred;
    if (a[1] == PR_CAP_AMBIENT_CLEAR_ALL) {
        if (!unused(a, 2)) return -EINVAL;
        c.cap_ambient = 0;
        return 0;
    }
    if (a[2] > kLastCap || !unused(a, 3)) return -EINVAL;
    const std::uint64_t bit = 1ull << a[2];
    switch (a[1]) {
        case PR_CAP_AMBIENT_IS_SET: return (c.cap_ambient & bit) != 0;
        case PR_CAP_AMBIENT_LOWER: c.cap_ambient &= ~bit; return 0;
        case PR_CAP_AMBIENT_RAISE:
            if (!(c.cap_permitted & c.cap_inheritable & bit) || c.securebits & securebit::no_cap_ambient_raise)
                return -EPERM;
            c.cap_ambient |= bit;
            return 0;
        default: return -EINVAL;
    }
}

// --- the task's wishes ---

std::int64_t set_mce_kill(Task& t, const SyscallArgs& a) {
    if (!unused(a, 3)) return -EINVAL;
    if (a[1] == PR_MCE_KILL_CLEAR && !a[2])
        t.mce_kill = PR_MCE_KILL_DEFAULT;
    else if (a[1] == PR_MCE_KILL_SET && a[2] <= PR_MCE_KILL_DEFAULT)
        t.mce_kill = static_cast<std::uint8_t>(a[2]);
    else
        return -EINVAL;
    return 0;
}

std::int64_t set_store_bypass(Task& t, std::uint64_t wanted) {
    const bool forced = t.store_bypass == PR_SPEC_FORCE_DISABLE;
    switch (wanted) {
        case PR_SPEC_ENABLE:
        case PR_SPEC_DISABLE_NOEXEC:
            if (forced) return -EPERM;
            break;
        case PR_SPEC_DISABLE:
            if (forced) return 0;
            break;
        case PR_SPEC_FORCE_DISABLE: break;
        default: return -ERANGE;
    }
    t.store_bypass = static_cast<std::uint8_t>(wanted);
    return 0;
}

std::int64_t speculation(Task& t, const SyscallArgs& a, bool set) {
    if (!unused(a, set ? 3 : 2)) return -EINVAL;
    if (a[1] != PR_SPEC_STORE_BYPASS) return -ENODEV; // the others are x86's
    return set ? set_store_bypass(t, a[2]) : PR_SPEC_PRCTL | t.store_bypass;
}

std::int64_t io_flusher(Kernel& k, Task& t, const SyscallArgs& a, bool set) {
    if (!k.has_cap(t, 24 /* CAP_SYS_RESOURCE */)) return -EPERM;
    if (!unused(a, set ? 2 : 1)) return -EINVAL;
    if (!set) return t.io_flusher;
    if (a[1] > 1) return -EINVAL;
    t.io_flusher = a[1];
    return 0;
}

std::int64_t tagged_addr_ctrl(Task& t, const SyscallArgs& a, bool set) {
    if (!unused(a, set ? 2 : 1)) return -EINVAL;
    return set ? set_tagged_addr_ctrl(t, a[1]) : static_cast<std::int64_t>(get_tagged_addr_ctrl(t));
}

std::int64_t thp_disable(Task& t, const SyscallArgs& a, bool set) {
    if (!unused(a, set ? 2 : 1)) return -EINVAL;
    if (!set) return t.as->thp_disabled;
    t.as->thp_disabled = a[1];
    return 0;
}

std::int64_t no_new_privs(Task& t, const SyscallArgs& a, bool set) {
    if ((set && a[1] != 1) || !unused(a, set ? 2 : 1)) return -EINVAL;
    if (!set) return t.cred.no_new_privs;
    t.cred.no_new_privs = true;
    return 0;
}

std::int64_t sys_prctl(Kernel& k, Task& t, const SyscallArgs& a) {
    const auto put = [&](const auto& value) { return k.put(a[1], value) ? -EFAULT : 0; };
    switch (static_cast<int>(a[0])) {
        case PR_SET_PDEATHSIG:
            if (a[1] > static_cast<unsigned>(kNumSignals)) return -EINVAL;
            t.pdeath_signal = static_cast<int>(a[1]);
            return 0;
        case PR_GET_PDEATHSIG: return put(t.pdeath_signal);
        case PR_GET_DUMPABLE: return t.process->dumpable;
        case PR_SET_DUMPABLE:
            if (a[1] > 1) return -EINVAL;
            t.process->dumpable = a[1];
            return 0;
        case PR_GET_KEEPCAPS: return (t.cred.securebits & securebit::keep_caps) != 0;
        case PR_SET_KEEPCAPS: return set_keep_caps(t, a[1]);
        case PR_GET_TIMING: return PR_TIMING_STATISTICAL;
        case PR_SET_TIMING: return a[1] == PR_TIMING_STATISTICAL ? 0 : -EINVAL;
        case PR_SET_NAME: return set_name(k, t, a[1]);
        case PR_GET_NAME: return k.put_user(a[1], t.comm, 16) ? -EFAULT : 0;
        case PR_GET_SECCOMP: return t.seccomp.mode;
        case PR_SET_SECCOMP: return prctl_set_seccomp(k, t, a[1], a[2]);
        case PR_CAPBSET_READ:
            return a[1] > kLastCap ? -EINVAL : static_cast<std::int64_t>(t.cred.cap_bounding >> a[1] & 1);
        case PR_CAPBSET_DROP: return drop_bounding(t, a[1]);
        case PR_GET_SECUREBITS: return t.cred.securebits;
        case PR_SET_SECUREBITS: return set_securebits(t, a[1]);
        case PR_SET_TIMERSLACK: t.timer_slack_ns = a[1] ? a[1] : t.default_timer_slack_ns; return 0;
        case PR_GET_TIMERSLACK: return static_cast<std::int64_t>(t.timer_slack_ns);
        case PR_TASK_PERF_EVENTS_DISABLE: return k.perf().perf_event_task_disable();
        case PR_TASK_PERF_EVENTS_ENABLE: return k.perf().perf_event_task_enable();
        case PR_MCE_KILL: return set_mce_kill(t, a);
        case PR_MCE_KILL_GET: return unused(a, 1) ? t.mce_kill : -EINVAL;
        case PR_SET_CHILD_SUBREAPER: t.process->child_subreaper = a[1]; return 0;
        case PR_GET_CHILD_SUBREAPER: return put(static_cast<int>(t.process->child_subreaper));
        case PR_SET_NO_NEW_PRIVS: return no_new_privs(t, a, true);
        case PR_GET_NO_NEW_PRIVS: return no_new_privs(t, a, false);
        case PR_GET_TID_ADDRESS: return put(t.clear_child_tid);
        case PR_SET_THP_DISABLE: return thp_disable(t, a, true);
        case PR_GET_THP_DISABLE: return thp_disable(t, a, false);
        case PR_CAP_AMBIENT: return cap_ambient(t, a);
        case PR_GET_SPECULATION_CTRL: return speculation(t, a, false);
        case PR_SET_SPECULATION_CTRL: return speculation(t, a, true);
        case PR_SET_TAGGED_ADDR_CTRL: return tagged_addr_ctrl(t, a, true);
        case PR_GET_TAGGED_ADDR_CTRL: return tagged_addr_ctrl(t, a, false);
        case PR_SET_IO_FLUSHER: return io_flusher(k, t, a, true);
        case PR_GET_IO_FLUSHER: return io_flusher(k, t, a, false);
        case PR_SET_PTRACER: return 0;   // without Yama's restriction
        case PR_SET_VMA: return -EINVAL; // the kernel is built without names for anonymous memory
        case PR_SET_MM: k.pr_info_once("prctl: PR_SET_MM is not implemented: EINVAL"); return -EINVAL;
        default: return -EINVAL;
    }
}

constexpr SyscallRow kRows[] = {{167, "prctl", sys_prctl, 5}};

} // namespace

std::span<const SyscallRow> prctl_syscalls() { return kRows; }

} // namespace rkperf::os
