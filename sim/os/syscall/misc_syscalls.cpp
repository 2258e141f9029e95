// SPDX-License-Identifier: Apache-2.0
// What belongs nowhere else.
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
    {116, "syslog", sys_syslog, 3},
    {160, "uname", sys_uname, 1},
    {168, "getcpu", sys_getcpu, 3},
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
