// SPDX-License-Identifier: Apache-2.0
// Page faults: demand zero, file pages, copy-on-write, stack growth, perf files' own pages.
#include "sim/os/kernel.h"
#include "sim/os/mm/address_space.h"

#include <cstring>
#include <sys/mman.h>

namespace rkperf::os {

namespace d = mem::desc;

namespace {
constexpr int SEGV_MAPERR_ = 1, SEGV_ACCERR_ = 2, BUS_ADRERR_ = 2;
} // namespace

std::uint64_t AddressSpace::attributes(const Vma& v, bool writable) const {
    std::uint64_t a = d::kAf | d::kNotGlobal | d::kShInner | d::kPxn;
    if (v.prot) a |= d::kApUser;
    if (!writable) a |= d::kApReadOnly;
    if (!(v.prot & PROT_EXEC)) a |= d::kUxn;
    return a;
}

bool AddressSpace::expand_stack(std::uint64_t addr) {
    auto it = vmas_.upper_bound(addr);
    if (it == vmas_.end() || !(it->second.map_flags & MAP_GROWSDOWN)) return false;
    const std::uint64_t start = addr & kPageMask;
    if (it->second.end - start > os_.rlimit(3 /* RLIMIT_STACK */)) return false;
    if (it != vmas_.begin() && std::prev(it)->second.end + 256 * kPageSize > start) return false; // guard gap
    Vma v = std::move(it->second);
    vmas_.erase(it);
    v.start = start;
    const auto now = vmas_.emplace(start, std::move(v)).first;
    os_.perf().perf_event_mmap(info(now->second));
    return true;
}

FaultResult AddressSpace::handle_fault(std::uint64_t addr, bool write, bool exec, FaultBy by) {
    Task& t = os_.cur();
    if (addr >= 1ull << 48) return {SIGSEGV, SEGV_MAPERR_, false};
    // A fault of a kernel access to user memory carries the kernel's registers.
    ke::PtRegs kernel_regs;
    ke::PtRegs* regs = &t.pt_regs;
    if (by == FaultBy::kernel) {
        os_.fetch_caller_regs(kernel_regs);
        regs = &kernel_regs;
    }
    const bool counted = by != FaultBy::populate;
    if (counted) os_.perf().perf_sw_event(PERF_COUNT_SW_PAGE_FAULTS, 1, regs, addr);
    Vma* v = const_cast<Vma*>(find(addr));
    if (!v) {
        if (!expand_stack(addr)) return {SIGSEGV, SEGV_MAPERR_, false};
        v = const_cast<Vma*>(find(addr));
    }
    const std::uint32_t need = exec ? PROT_EXEC : write ? PROT_WRITE : PROT_READ | PROT_WRITE | PROT_EXEC;
    if (!(v->prot & need)) return {SIGSEGV, SEGV_ACCERR_, false};
    Frame f(os_, KernelSymbol::handle_mm_fault);
    const std::uint64_t page = addr & kPageMask;
    std::uint64_t* pte = table_.entry(page, true);
    if (!pte) return {SIGBUS, BUS_ADRERR_, false};
    FaultResult r;
    const bool spurious = d::is_valid(*pte) && (*pte & d::kApUser) && !(write && (*pte & d::kApReadOnly));
    if (!spurious) r = fault_in(*v, page, write, pte);
    if (r.signal == 0) {
        if (r.major)
            ++t.maj_flt;
        else
            ++t.min_flt;
        if (counted)
            os_.perf().perf_sw_event(r.major ? PERF_COUNT_SW_PAGE_FAULTS_MAJ : PERF_COUNT_SW_PAGE_FAULTS_MIN, 1, regs, addr);
    }
    return r;
}

FaultResult AddressSpace::fault_in(Vma& v, std::uint64_t page, bool write, std::uint64_t* pte) {
    PageAllocator& pages = os_.pages();
    const std::uint64_t index = v.pgoff + ((page - v.start) >> kPageShift);
    const bool shared = v.map_flags & MAP_SHARED;
    const bool present = d::is_valid(*pte);
    const PhysAddr old = present ? d::address(*pte, 3) : PhysAddr(0);
    FaultResult r;

    const auto install = [&](PhysAddr pa, bool writable) {
        *pte = d::page(pa, attributes(v, writable));
        if (!present) ++rss_;
    };
    const auto fresh_copy = [&](PhysAddr from) {
        const PhysAddr pa = pages.alloc();
        if (!pa.v) return pa;
        if (from.v) {
            std::memcpy(pages.host(pa), pages.host(from), kPageSize);
            os_.core().kernel_access(from, kPageSize, false);
        }
        os_.core().kernel_access(pa, kPageSize, true);
        os_.charge(from.v ? 1100 : 550); // copy_page, clear_page
        return pa;
    };

    if (v.ops) {
        Frame f(os_, KernelSymbol::__do_fault);
        const ke::Page p = v.ops->fault(*v.request, index, write);
        if (!p) return {SIGBUS, BUS_ADRERR_, false};
        pages.get(p.pa);
        if (present) pages.put(old);
        install(p.pa, write);
        if (present) flush(page, page + kPageSize);
        return r;
    }
    if (present && write) {
        // The page is there, read only: copy-on-write, or the first write to a shared file page.
        Frame f(os_, KernelSymbol::do_wp_page);
        if (shared) {
            if (v.file && v.file->inode()) v.file->inode()->mark_dirty(index);
            install(old, true);
        } else if (pages.refs(old) == 1) {
            install(old, true);
        } else {
            const PhysAddr pa = fresh_copy(old == os_.zero_page() ? PhysAddr(0) : old);
            if (!pa.v) return {SIGBUS, BUS_ADRERR_, false};
            pages.put(old);
            install(pa, true);
        }
        flush(page, page + kPageSize);
        return r;
    }
    if (present) {
        // Present but without EL0 access: PROT_NONE was lifted by mprotect, which rewrote the entry; nothing to do.
        install(old, false);
        flush(page, page + kPageSize);
        return r;
    }
    if (v.file || v.kind == VmaKind::file) {
        Frame f(os_, KernelSymbol::do_fault);
        bool major = false;
        Inode* inode = v.file->inode();
        const PhysAddr pa = inode ? inode->page(index, major) : PhysAddr(0);
        if (!pa.v) return {SIGBUS, BUS_ADRERR_, false};
        r.major = major;
        if (write && !shared) {
            const PhysAddr copy = fresh_copy(pa);
            if (!copy.v) return {SIGBUS, BUS_ADRERR_, false};
            install(copy, true);
        } else {
            pages.get(pa);
            if (write) inode->mark_dirty(index);
            install(pa, write && shared);
        }
        return r;
    }
    Frame f(os_, KernelSymbol::do_anonymous_page);
    if (!write && !shared && v.kind != VmaKind::special) {
        pages.get(os_.zero_page());
        install(os_.zero_page(), false);
    } else {
        const PhysAddr pa = fresh_copy(PhysAddr(0));
        if (!pa.v) return {SIGBUS, BUS_ADRERR_, false};
        install(pa, v.prot & PROT_WRITE);
    }
    return r;
}

} // namespace rkperf::os
