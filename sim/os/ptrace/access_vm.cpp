// SPDX-License-Identifier: Apache-2.0
// Memory of other tasks: ptrace's words, /proc/PID/mem, process_vm_readv and process_vm_writev.
#include "sim/os/process/tagged_addr.h"
#include "sim/os/ptrace/ptrace.h"
#include "sim/os/syscall/tables.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace rkperf::os {

namespace {

constexpr std::uint64_t kMaxIov = 1024, kMaxRw = 0x7ffff000;
/// Instructions to get hold of one page of another task, and of a process_vm call beside that (measured: PEEKDATA 2234,
/// process_vm_readv of 8 bytes 3074 in all).
constexpr std::uint32_t kPinCost = 1060, kVectorCost = 1550;

struct Iovec {
    std::uint64_t base, length;
};

/// import_iovec: at most 1024 parts, no length with the highest bit; all together are cut at kMaxRw.
int import_iovec(Kernel& k, std::uint64_t at, std::uint64_t n, bool local, std::vector<Iovec>& out) {
    if (n > kMaxIov) return -EINVAL;
    out.resize(n);
    if (k.get_user(out.data(), at, n * sizeof(Iovec))) return -EFAULT;
    std::uint64_t total = 0;
    for (Iovec& v : out) {
        if (v.length >> 63) return -EINVAL;
        if (!local) continue;
        if (!k.access_ok(v.base, v.length)) return -EFAULT;
        v.length = std::min(v.length, kMaxRw - total);
        total += v.length;
    }
    return 0;
}

std::int64_t process_vm_rw(Kernel& k, Task& t, const SyscallArgs& a, bool write) {
    if (a[5]) return -EINVAL;
    std::vector<Iovec> local, remote;
    if (const int e = import_iovec(k, a[1], a[2], true, local)) return e;
    const auto bytes = [](const std::vector<Iovec>& list) {
        return std::any_of(list.begin(), list.end(), [](const Iovec& v) { return v.length; });
    };
    if (!bytes(local)) return 0;
    if (const int e = import_iovec(k, a[3], a[4], false, remote)) return e;
    if (!bytes(remote)) return 0;
    Task* other = k.find_task_vpid(static_cast<int>(a[0]));
    if (!other) return -ESRCH;
    if (!other->as) return -ESRCH;
    if (!ptrace_may_access(t, *other, PtraceMode::realcreds)) return -EPERM;
    const std::weak_ptr<AddressSpace> space = other->as; // it may end meanwhile
    const auto access = [&](std::uint64_t at, std::span<std::uint8_t> bytes) {
        std::shared_ptr<AddressSpace> as = space.lock();
        return as && access_remote_vm(k, std::move(as), at, bytes, write, false) == bytes.size();
    };
    k.charge(kVectorCost);
    std::int64_t total = 0;
    std::size_t l = 0;
    std::uint64_t used = 0; // of local[l]
    std::vector<std::uint8_t> buffer;
    for (const Iovec& r : remote) {
        for (std::uint64_t done = 0; done < r.length;) {
            while (l < local.size() && used == local[l].length) ++l, used = 0;
            if (l == local.size()) return total;
            const std::uint64_t page_left = kPageSize - ((r.base + done) & ~kPageMask);
            buffer.resize(std::min({r.length - done, local[l].length - used, page_left}));
            const std::uint64_t mine = local[l].base + used;
            const bool ok = write ? !k.get_user(buffer.data(), mine, buffer.size()) && access(r.base + done, buffer)
                                  : access(r.base + done, buffer) && !k.put_user(mine, buffer.data(), buffer.size());
            if (!ok) return total ? total : -EFAULT;
            total += static_cast<std::int64_t>(buffer.size());
            done += buffer.size();
            used += buffer.size();
        }
    }
    return total;
}

std::int64_t sys_process_vm_readv(Kernel& k, Task& t, const SyscallArgs& a) { return process_vm_rw(k, t, a, false); }
std::int64_t sys_process_vm_writev(Kernel& k, Task& t, const SyscallArgs& a) { return process_vm_rw(k, t, a, true); }

constexpr SyscallRow kRows[] = {
    {270, "process_vm_readv", sys_process_vm_readv, 6},
    {271, "process_vm_writev", sys_process_vm_writev, 6},
};

} // namespace

std::size_t access_remote_vm(Kernel& k, std::shared_ptr<AddressSpace> as, std::uint64_t addr,
                             std::span<std::uint8_t> buffer, bool write, bool force) {
    addr = untagged_addr(addr);
    std::size_t done = 0;
    while (done < buffer.size()) {
        const std::uint64_t at = addr + done;
        const std::size_t n = std::min<std::size_t>(buffer.size() - done, kPageSize - (at & ~kPageMask));
        const auto pa = as->access_page(at, write, force);
        if (!pa) break;
        std::uint8_t* host = k.memory().host(*pa);
        if (write)
            std::memcpy(host, buffer.data() + done, n);
        else
            std::memcpy(buffer.data() + done, host, n);
        const Vma* v = as->find(at);
        if (write && v && (v->prot & 4 /* PROT_EXEC */))
            for (int c = 0; c < k.num_cpus(); ++c) k.pcpu(c).core->code_changed(PhysAddr(pa->v & kPageMask));
        k.charge(kPinCost + static_cast<std::uint32_t>(12 + n / 8)); // a copy loop moves 16 bytes per instruction pair
        k.core().kernel_access(*pa, n, write);
        done += n;
    }
    if (as.use_count() == 1) as->unmap_all();
    return done;
}

std::span<const SyscallRow> process_vm_syscalls() { return kRows; }

} // namespace rkperf::os
