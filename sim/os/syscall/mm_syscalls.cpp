// SPDX-License-Identifier: Apache-2.0
#include "sim/os/kernel.h"
#include "sim/os/process/tagged_addr.h"
#include "sim/os/syscall/tables.h"

#include <sys/mman.h>
#include <cerrno>

namespace rkperf::os {

namespace {

std::int64_t sys_mmap(Kernel&, Task& t, const SyscallArgs& a) {
    const int flags = static_cast<int>(a[3]);
    FileHandle file;
    if (!(flags & MAP_ANONYMOUS)) {
        file = t.files->get(static_cast<int>(a[4]));
        if (!file) return -EBADF;
    }
    return t.as->mmap(a[0], a[1], static_cast<int>(a[2]), flags, file, a[5]);
}

// Calls that only name existing mappings take tagged addresses from everybody.

std::int64_t sys_munmap(Kernel&, Task& t, const SyscallArgs& a) { return t.as->munmap(untagged_addr(a[0]), a[1]); }
std::int64_t sys_mprotect(Kernel&, Task& t, const SyscallArgs& a) {
    return t.as->mprotect(untagged_addr(a[0]), a[1], static_cast<int>(a[2]));
}
std::int64_t sys_mremap(Kernel&, Task& t, const SyscallArgs& a) {
    return t.as->mremap(untagged_addr(a[0]), a[1], a[2], static_cast<int>(a[3]), a[4]);
}
std::int64_t sys_madvise(Kernel&, Task& t, const SyscallArgs& a) {
    return t.as->madvise(untagged_addr(a[0]), a[1], static_cast<int>(a[2]));
}
std::int64_t sys_brk(Kernel&, Task& t, const SyscallArgs& a) { return t.as->brk(a[0]); }
std::int64_t sys_msync(Kernel&, Task& t, const SyscallArgs& a) {
    return t.as->msync(untagged_addr(a[0]), a[1], static_cast<int>(a[2]));
}
std::int64_t sys_mincore(Kernel&, Task& t, const SyscallArgs& a) {
    return t.as->mincore(untagged_addr(a[0]), a[1], a[2]);
}
std::int64_t sys_mlock(Kernel&, Task& t, const SyscallArgs& a) {
    return t.as->mlock(untagged_addr(a[0]), a[1], true, true);
}
std::int64_t sys_mlock2(Kernel&, Task& t, const SyscallArgs& a) {
    return a[2] & ~1ull ? -EINVAL : t.as->mlock(untagged_addr(a[0]), a[1], true, !a[2]);
}
std::int64_t sys_munlock(Kernel&, Task& t, const SyscallArgs& a) {
    return t.as->mlock(untagged_addr(a[0]), a[1], false, false);
}

std::int64_t lock_all(Task& t, bool lock, bool populate) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
    for (const auto& [start, v] : t.as->vmas())
        if (!v.ops && v.kind != VmaKind::special) ranges.emplace_back(start, v.end - start);
    for (const auto& [start, n] : ranges)
        if (const auto r = t.as->mlock(start, n, lock, populate, false)) return r;
    return 0;
}
std::int64_t sys_mlockall(Kernel& k, Task& t, const SyscallArgs& a) {
    constexpr std::uint64_t kCurrent = 1, kFuture = 2, kOnFault = 4;
    if (!a[0] || (a[0] & ~7ull) || a[0] == kOnFault) return -EINVAL;
    if (!k.capable(ke::Capability::ipc_lock)) {
        const std::uint64_t limit = k.rlimit(8 /* RLIMIT_MEMLOCK */);
        if (!limit) return -EPERM;
        if ((a[0] & kCurrent) && t.as->total_vm() > limit >> kPageShift) return -ENOMEM;
    }
    t.as->lock_future = a[0] & kFuture;
    t.as->lock_on_fault = a[0] & kOnFault;
    return a[0] & kCurrent ? lock_all(t, true, !(a[0] & kOnFault)) : 0;
}
std::int64_t sys_munlockall(Kernel&, Task& t, const SyscallArgs&) {
    t.as->lock_future = t.as->lock_on_fault = false;
    return lock_all(t, false, false);
}

constexpr SyscallRow kRows[] = {
    {214, "brk", sys_brk, 1},           {215, "munmap", sys_munmap, 2},
    {216, "mremap", sys_mremap, 5},     {222, "mmap", sys_mmap, 6},
    {226, "mprotect", sys_mprotect, 3}, {227, "msync", sys_msync, 3},
    {228, "mlock", sys_mlock, 2},       {229, "munlock", sys_munlock, 2},
    {230, "mlockall", sys_mlockall, 1}, {231, "munlockall", sys_munlockall, 0},
    {232, "mincore", sys_mincore, 3},   {233, "madvise", sys_madvise, 3},
    {284, "mlock2", sys_mlock2, 3},
};

} // namespace

std::span<const SyscallRow> mm_syscalls() { return kRows; }

} // namespace rkperf::os
