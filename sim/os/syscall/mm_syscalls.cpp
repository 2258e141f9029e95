// SPDX-License-Identifier: Apache-2.0
#include "sim/os/kernel.h"
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

std::int64_t sys_munmap(Kernel&, Task& t, const SyscallArgs& a) { return t.as->munmap(a[0], a[1]); }
std::int64_t sys_mprotect(Kernel&, Task& t, const SyscallArgs& a) {
    return t.as->mprotect(a[0], a[1], static_cast<int>(a[2]));
}
std::int64_t sys_mremap(Kernel&, Task& t, const SyscallArgs& a) {
    return t.as->mremap(a[0], a[1], a[2], static_cast<int>(a[3]), a[4]);
}
std::int64_t sys_madvise(Kernel&, Task& t, const SyscallArgs& a) {
    return t.as->madvise(a[0], a[1], static_cast<int>(a[2]));
}
std::int64_t sys_brk(Kernel&, Task& t, const SyscallArgs& a) { return t.as->brk(a[0]); }
std::int64_t sys_msync(Kernel&, Task& t, const SyscallArgs& a) {
    return t.as->msync(a[0], a[1], static_cast<int>(a[2]));
}
std::int64_t sys_mincore(Kernel&, Task& t, const SyscallArgs& a) { return t.as->mincore(a[0], a[1], a[2]); }
std::int64_t sys_mlock(Kernel&, Task& t, const SyscallArgs& a) { return t.as->mlock(a[0], a[1], true); }
std::int64_t sys_mlock2(Kernel&, Task& t, const SyscallArgs& a) {
    return a[2] & ~1ull ? -EINVAL : t.as->mlock(a[0], a[1], true);
}
std::int64_t sys_munlock(Kernel&, Task& t, const SyscallArgs& a) { return t.as->mlock(a[0], a[1], false); }

std::int64_t lock_all(Task& t, bool lock) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
    for (const auto& [start, v] : t.as->vmas())
        if (!v.ops && v.kind != VmaKind::special) ranges.emplace_back(start, v.end - start);
    for (const auto& [start, n] : ranges)
        if (const auto r = t.as->mlock(start, n, lock)) return r;
    return 0;
}
std::int64_t sys_mlockall(Kernel&, Task& t, const SyscallArgs& a) {
    if (!a[0] || (a[0] & ~7ull) || a[0] == 4) return -EINVAL;
    return a[0] & 1 ? lock_all(t, true) : 0;
}
std::int64_t sys_munlockall(Kernel&, Task& t, const SyscallArgs&) { return lock_all(t, false); }

std::int64_t remote_vec(Kernel& k, const SyscallArgs& a, bool write) {
    constexpr std::uint64_t kMaxIov = 1024;
    if (a[5]) return -EINVAL;
    if (a[2] > kMaxIov || a[4] > kMaxIov) return -EINVAL;
    Task* other = k.find_task(static_cast<int>(a[0]));
    if (!other || !other->as) return -ESRCH;
    if (!k.ptrace_may_access(other)) return -EPERM;
    const std::shared_ptr<AddressSpace> as = other->as; // it may end meanwhile
    std::vector<std::uint64_t> local(a[2] * 2), remote(a[4] * 2);
    if (k.get_user(local.data(), a[1], local.size() * 8) || k.get_user(remote.data(), a[3], remote.size() * 8))
        return -EFAULT;
    std::int64_t total = 0;
    std::size_t l = 0;
    std::uint64_t loff = 0;
    for (std::size_t r = 0; r < remote.size(); r += 2) {
        std::uint64_t done = 0;
        while (done < remote[r + 1]) {
            while (l < local.size() && loff == local[l + 1]) l += 2, loff = 0;
            if (l >= local.size()) return total;
            const std::uint64_t n = std::min({remote[r + 1] - done, local[l + 1] - loff, kPageSize});
            std::vector<std::uint8_t> buffer(n);
            if (write && k.get_user(buffer.data(), local[l] + loff, n)) return total ? total : -EFAULT;
            const std::size_t got = k.access_remote(*as, remote[r] + done, buffer.data(), n, write);
            if (!got) return total ? total : -EFAULT;
            if (!write && k.put_user(local[l] + loff, buffer.data(), got)) return total ? total : -EFAULT;
            total += static_cast<std::int64_t>(got);
            done += got;
            loff += got;
            if (got < n) return total;
        }
    }
    return total;
}
std::int64_t sys_process_vm_readv(Kernel& k, Task&, const SyscallArgs& a) { return remote_vec(k, a, false); }
std::int64_t sys_process_vm_writev(Kernel& k, Task&, const SyscallArgs& a) { return remote_vec(k, a, true); }

constexpr SyscallRow kRows[] = {
    {214, "brk", sys_brk, 1},
    {215, "munmap", sys_munmap, 2},
    {216, "mremap", sys_mremap, 5},
    {222, "mmap", sys_mmap, 6},
    {226, "mprotect", sys_mprotect, 3},
    {227, "msync", sys_msync, 3},
    {228, "mlock", sys_mlock, 2},
    {229, "munlock", sys_munlock, 2},
    {230, "mlockall", sys_mlockall, 1},
    {231, "munlockall", sys_munlockall, 0},
    {232, "mincore", sys_mincore, 3},
    {233, "madvise", sys_madvise, 3},
    {270, "process_vm_readv", sys_process_vm_readv, 6},
    {271, "process_vm_writev", sys_process_vm_writev, 6},
    {284, "mlock2", sys_mlock2, 3},
};

} // namespace

std::span<const SyscallRow> mm_syscalls() { return kRows; }

} // namespace rkperf::os
