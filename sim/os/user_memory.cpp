// SPDX-License-Identifier: Apache-2.0
// Kernel access to user memory: through the page tables, with faults resolved where that is allowed.
#include "sim/os/kernel.h"
#include "sim/os/process/tagged_addr.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rkperf::os {

namespace {
/// TASK_SIZE with 48-bit addresses.
constexpr std::uint64_t kTaskSize = 1ull << 48;
constexpr auto kFault = AddressSpace::FaultBy::kernel;
/// Copy loops move 16 bytes per instruction pair.
constexpr std::uint32_t copy_cost(std::size_t n) { return static_cast<std::uint32_t>(12 + n / 8); }
/// A word is moved in place.
constexpr std::size_t kInline = 8;
} // namespace

bool Kernel::access_ok(std::uint64_t addr, std::uint64_t n) {
    // The kernel takes tagged addresses only from whom has asked for it (PR_SET_TAGGED_ADDR_CTRL).
    if (cur().tagged_addr) addr = untagged_addr(addr);
    return addr <= kTaskSize && n <= kTaskSize - addr;
}

namespace {

/// Calls fn(host pointer, bytes, physical address) for the parts of [addr, addr + n) page by page; false on a fault.
template <class Fn>
bool for_each_part(Kernel& k, AddressSpace& as, std::uint64_t addr, std::size_t n, bool write,
                   std::optional<AddressSpace::FaultBy> fault, Fn&& fn) {
    while (n) {
        const std::size_t part = std::min<std::size_t>(n, kPageSize - (addr & ~kPageMask));
        auto pa = as.lookup(addr, write);
        if (!pa) {
            if (!fault || as.handle_fault(addr, write, false, *fault).signal) return false;
            pa = as.lookup(addr, write);
            if (!pa) return false;
        }
        fn(k.memory().host(*pa), part, *pa);
        addr += part;
        n -= part;
    }
    return true;
}

} // namespace

int Kernel::get_user(void* to, std::uint64_t from, std::size_t n) {
    return n > kInline ? copy_from_user(to, from, n) ? 0 : -EFAULT : move_in(to, from, n);
}

bool Kernel::copy_from_user(void* to, std::uint64_t from, std::size_t n) {
    if (!n) return true;
    if (!access_ok(from, n)) return false;
    Frame f(*this, KernelSymbol::__arch_copy_from_user);
    return move_in(to, from, n) == 0;
}

int Kernel::move_in(void* to, std::uint64_t from, std::size_t n) {
    if (!n) return 0;
    if (!access_ok(from, n) || !cur().as) return -EFAULT;
    from = untagged_addr(from);
    charge(copy_cost(n));
    watch_user_access(from, n, false);
    auto* out = static_cast<std::uint8_t*>(to);
    const bool ok = for_each_part(*this, *cur().as, from, n, false, kFault,
                                  [&](const std::uint8_t* host, std::size_t part, PhysAddr pa) {
                                      std::memcpy(out, host, part);
                                      out += part;
                                      core().kernel_access(pa, part, false);
                                  });
    return ok ? 0 : -EFAULT;
}

int Kernel::put_user(std::uint64_t to, const void* from, std::size_t n) {
    return n > kInline ? copy_to_user(to, from, n) ? 0 : -EFAULT : move_out(to, from, n);
}

bool Kernel::copy_to_user(std::uint64_t to, const void* from, std::size_t n) {
    if (!n) return true;
    if (!access_ok(to, n)) return false;
    Frame f(*this, KernelSymbol::__arch_copy_to_user);
    return move_out(to, from, n) == 0;
}

int Kernel::move_out(std::uint64_t to, const void* from, std::size_t n) {
    if (!n) return 0;
    if (!access_ok(to, n) || !cur().as) return -EFAULT;
    to = untagged_addr(to);
    charge(copy_cost(n));
    watch_user_access(to, n, true);
    auto* in = static_cast<const std::uint8_t*>(from);
    const bool ok =
        for_each_part(*this, *cur().as, to, n, true, kFault, [&](std::uint8_t* host, std::size_t part, PhysAddr pa) {
            std::memcpy(host, in, part);
            in += part;
            core().kernel_access(pa, part, true);
        });
    return ok ? 0 : -EFAULT;
}

int Kernel::get_string(std::uint64_t from, std::string& out, std::size_t max) {
    out.clear();
    if (!access_ok(from, 1)) return -EFAULT;
    from = untagged_addr(from);
    while (out.size() < max) {
        if (!access_ok(from, 1) || !cur().as) return -EFAULT;
        const std::size_t part = std::min<std::size_t>(max - out.size(), kPageSize - (from & ~kPageMask));
        bool end = false;
        const bool ok = for_each_part(*this, *cur().as, from, part, false, kFault,
                                      [&](const std::uint8_t* host, std::size_t n, PhysAddr pa) {
                                          const auto* z = static_cast<const std::uint8_t*>(std::memchr(host, 0, n));
                                          const std::size_t len = z ? static_cast<std::size_t>(z - host) : n;
                                          out.append(reinterpret_cast<const char*>(host), len);
                                          end = z != nullptr;
                                          core().kernel_access(pa, std::max<std::size_t>(len, 1), false);
                                      });
        if (!ok) return -EFAULT;
        if (end) {
            charge(static_cast<std::uint32_t>(20 + out.size() / 4));
            watch_user_access(from, part, false);
            return 0;
        }
        from += part;
    }
    return -ENAMETOOLONG;
}

std::string Kernel::strndup_user(std::uint64_t from, std::size_t max, int& error) {
    std::string s;
    error = get_string(from, s, max);
    if (error == -ENAMETOOLONG) error = -EINVAL;
    return s;
}

std::size_t Kernel::copy_from_user_nofault(void* to, std::uint64_t from, std::size_t n) {
    if (!access_ok(from, n) || !cur().as) return 0;
    from = untagged_addr(from);
    watch_user_access(from, n, false);
    auto* out = static_cast<std::uint8_t*>(to);
    std::size_t done = 0;
    for_each_part(*this, *cur().as, from, n, false, std::nullopt,
                  [&](const std::uint8_t* host, std::size_t part, PhysAddr pa) {
                      std::memcpy(out + done, host, part);
                      done += part;
                      core().kernel_access(pa, part, false);
                  });
    return done;
}

bool Kernel::copy_to_user_nofault(std::uint64_t to, const void* from, std::size_t n) {
    if (!access_ok(to, n) || !cur().as) return false;
    to = untagged_addr(to);
    watch_user_access(to, n, true);
    auto* in = static_cast<const std::uint8_t*>(from);
    return for_each_part(*this, *cur().as, to, n, true, std::nullopt,
                         [&](std::uint8_t* host, std::size_t part, PhysAddr pa) {
                             std::memcpy(host, in, part);
                             in += part;
                             core().kernel_access(pa, part, true);
                         });
}

std::uint64_t Kernel::virt_to_phys(std::uint64_t user_va) {
    if (!cur().as || user_va >= kTaskSize) return 0;
    const auto pa = cur().as->lookup(user_va, false);
    return pa ? pa->v : 0;
}

std::uint64_t Kernel::page_size_at(std::uint64_t va) { return virt_to_phys(va) ? kPageSize : 0; }

} // namespace rkperf::os
