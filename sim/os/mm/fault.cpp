// SPDX-License-Identifier: Apache-2.0
// Page faults: demand zero, file pages, copy-on-write, stack growth, perf files' own pages.
#include "sim/os/exec/vdso.h"
#include "sim/os/kernel.h"
#include "sim/os/mm/address_space.h"

#include <sys/mman.h>
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace rkperf::os {

namespace d = mem::desc;

namespace {
constexpr std::uint64_t kFaultAroundBytes = 64 * 1024; // fault_around_bytes
constexpr std::uint32_t kMapPageCost = 482;            ///< instructions per page mapped besides the one that is needed
constexpr std::uint64_t kReadAroundPages = 32;         // VM_READAHEAD_PAGES
constexpr int SEGV_MAPERR_ = 1, SEGV_ACCERR_ = 2, BUS_ADRERR_ = 2;
} // namespace

std::uint64_t AddressSpace::attributes(std::uint32_t prot, bool writable) {
    std::uint64_t a = d::kAf | d::kNotGlobal | d::kShInner | d::kPxn;
    if (prot) a |= d::kApUser;
    if (!writable) a |= d::kApReadOnly;
    if (!(prot & PROT_EXEC)) a |= d::kUxn;
    return a;
}

bool AddressSpace::expand_stack(std::uint64_t addr) {
    auto it = vmas_.upper_bound(addr);
    if (it == vmas_.end() || !(it->second.map_flags & MAP_GROWSDOWN)) return false;
    const std::uint64_t start = addr & kPageMask;
    if (it->second.end - start > os_.rlimit(3 /* RLIMIT_STACK */)) return false;
    if (it != vmas_.begin() && std::prev(it)->second.end + 256 * kPageSize > start) return false; // guard gap
    // The mapping itself stays where it is in memory: others may be looking at it.
    auto node = vmas_.extract(it);
    node.mapped().pgoff -= (node.mapped().start - start) >> kPageShift;
    node.key() = node.mapped().start = start;
    const ke::VmaInfo grown = info(vmas_.insert(std::move(node)).position->second);
    os_.perf().perf_event_mmap(grown);
    return true;
}

FaultResult AddressSpace::handle_fault(std::uint64_t addr, bool write, bool exec, FaultBy by) {
    Task& t = os_.cur();
    if (addr >= 1ull << 48) return {SIGSEGV, SEGV_MAPERR_, false};
    // A fault of a kernel access to user memory carries the kernel's registers.
    ke::PtRegs kernel_regs;
    ke::PtRegs* regs = &t.pt_regs;
    if (by == FaultBy::kernel) {
        os_.fault_regs(kernel_regs);
        regs = &kernel_regs;
    }
    const bool counted = by != FaultBy::populate;
    if (counted) os_.perf().perf_sw_event(PERF_COUNT_SW_PAGE_FAULTS, 1, regs, addr);
    const std::uint64_t page = addr & kPageMask;
    ++os_.vm_events.pgfault;
    FaultResult r;
    for (;;) {
        const Vma* v = find(addr);
        if (!v && expand_stack(addr)) v = find(addr);
        if (!v) return {SIGSEGV, SEGV_MAPERR_, false};
        const std::uint32_t need = exec ? PROT_EXEC : write ? PROT_WRITE : PROT_READ | PROT_WRITE | PROT_EXEC;
        if (!(v->prot & need)) return {SIGSEGV, SEGV_ACCERR_, false};
        const Found found = look(*v, page);
        Frame f(os_, KernelSymbol::handle_mm_fault);
        const std::uint64_t pte = found.pte;
        const bool spurious =
            d::is_valid(pte) && (pte & d::kApUser) && !(write && (pte & d::kApReadOnly)) && !(exec && (pte & d::kUxn));
        if (spurious || fault_in(found, page, write, r) == Step::done) break;
    }
    if (r.signal == 0) {
        if (r.major)
            ++t.maj_flt, ++os_.vm_events.pgmajfault;
        else
            ++t.min_flt;
        if (counted)
            os_.perf().perf_sw_event(r.major ? PERF_COUNT_SW_PAGE_FAULTS_MAJ : PERF_COUNT_SW_PAGE_FAULTS_MIN, 1, regs,
                                     addr);
    }
    return r;
}

std::optional<PhysAddr> AddressSpace::access_page(std::uint64_t addr, bool write, bool force) {
    const std::uint64_t page = addr & kPageMask;
    if (addr >= 1ull << 48) return std::nullopt;
    for (;;) {
        const Vma* v = find(addr);
        if (!v && expand_stack(addr)) v = find(addr);
        if (!v || v->kind == VmaKind::vvar) return std::nullopt; // no page that could be had by get_user_pages
        const bool is_private = !(v->map_flags & MAP_SHARED);
        const std::uint32_t need = write ? PROT_WRITE : PROT_READ;
        const bool granted = v->prot & need;
        if (!granted && !(force && (v->max_prot & need) && (is_private || !write))) return std::nullopt;
        const Found found = look(*v, page);
        if (d::is_valid(found.pte)) {
            const PhysAddr pa = d::address(found.pte, 3);
            const bool own_copy = is_private && !granted && os_.pages().refs(pa) == 1;
            if (!write || !(found.pte & d::kApReadOnly) || own_copy) return PhysAddr(pa.v + (addr & ~kPageMask));
        }
        FaultResult r;
        Frame f(os_, KernelSymbol::handle_mm_fault);
        if (fault_in(found, page, write, r) == Step::done && r.signal) return std::nullopt;
    }
}

AddressSpace::Found AddressSpace::look(const Vma& v, std::uint64_t page) {
    const std::uint64_t* pte = table_.entry(page, false);
    return {v.start, v.end, v.pgoff, v.prot, v.map_flags, v.kind, v.file, v.ops, v.request, pte ? *pte : 0};
}

AddressSpace::Step AddressSpace::install(const Found& found, std::uint64_t page, PhysAddr pa, bool writable, bool own) {
    const bool had = d::is_valid(found.pte);
    const Vma* v = find(page);
    std::uint64_t* pte = v && look(*v, page) == found ? table_.entry(page, true) : nullptr;
    if (!pte) {
        os_.pages().put(pa);
        return Step::again;
    }
    if (own) anon_vma_prepare(vmas_.find(v->start)->second);
    if (had) put_page(found.pte);
    *pte = d::page(pa, attributes(found.prot, writable));
    if (!had) {
        ++rss_;
        return Step::done;
    }
    os_.charge(flush(page, page + kPageSize));
    return Step::done;
}

bool AddressSpace::writable_unnoticed(std::uint32_t prot, std::uint32_t map_flags, const FileHandle& file) {
    if (!(map_flags & MAP_SHARED) || !(prot & PROT_WRITE)) return false;
    const Inode* inode = file ? file->inode() : nullptr;
    return !inode || !inode->wants_write_notify();
}

AddressSpace::Step AddressSpace::map_pages(const Found& v, std::uint64_t page, bool& mapped) {
    Inode* inode = v.file->inode();
    const std::uint64_t start = std::max(page & ~(kFaultAroundBytes - 1), v.start);
    const std::uint64_t end = std::min({start + kFaultAroundBytes, (start | (d::span(2) - 1)) + 1, v.end});
    std::vector<std::pair<std::uint64_t, PhysAddr>> found;
    for (std::uint64_t va = start; va < end; va += kPageSize) {
        const std::uint64_t* pte = table_.entry(va, false);
        if (pte && d::is_valid(*pte)) continue;
        const PhysAddr pa = inode->cached_page(v.pgoff + ((va - v.start) >> kPageShift));
        if (!pa.v) continue;
        os_.pages().get(pa);
        found.emplace_back(va, pa);
    }
    {
        Frame f(os_, KernelSymbol::filemap_map_pages);
        os_.charge(static_cast<std::uint32_t>(found.size()) * kMapPageCost);
    }
    const Vma* now = find(page);
    const bool same = now && look(*now, page) == v;
    const bool writable = writable_unnoticed(v.prot, v.map_flags, v.file);
    for (const auto& [va, pa] : found) {
        std::uint64_t* pte = same ? table_.entry(va, true) : nullptr;
        if (!pte || d::is_valid(*pte)) {
            os_.pages().put(pa);
            continue;
        }
        *pte = d::page(pa, attributes(v.prot, writable));
        ++rss_;
        mapped |= va == page;
    }
    return same ? Step::done : Step::again;
}

AddressSpace::Step AddressSpace::fault_in(const Found& v, std::uint64_t page, bool write, FaultResult& r) {
    // Other CPUs run while time is charged: everything is made ready first, and installed at once at the end.
    PageAllocator& pages = os_.pages();
    const std::uint64_t index = v.pgoff + ((page - v.start) >> kPageShift);
    const bool shared = v.map_flags & MAP_SHARED;
    const bool present = d::is_valid(v.pte);
    const PhysAddr old = present ? d::address(v.pte, 3) : PhysAddr(0);
    const auto bus_error = [&r] {
        r = {SIGBUS, BUS_ADRERR_, false};
        return Step::done;
    };
    const auto fresh_copy = [&](PhysAddr from) {
        const PhysAddr pa = pages.alloc(from.v ? Gfp::copy : Gfp::zeroed);
        if (!pa.v) return pa;
        { Frame alloc(os_, KernelSymbol::__alloc_pages); }
        Frame fill(os_, from.v ? KernelSymbol::copy_page : KernelSymbol::clear_page);
        if (from.v) {
            pages.get(from);
            std::memcpy(pages.host(pa), pages.host(from), kPageSize);
            os_.core().kernel_access(from, kPageSize, false);
            pages.put(from);
        }
        os_.core().kernel_access(pa, kPageSize, true);
        if (v.prot & PROT_EXEC) // the page may have held other code before
            for (int cpu = 0; cpu < os_.num_cpus(); ++cpu) os_.pcpu(cpu).core->icache_invalidated(pa);
        return pa;
    };

    if (v.ops) {
        Frame f(os_, KernelSymbol::__do_fault);
        const ke::Page p = v.ops->fault(*v.request, index, write);
        if (!p) return bus_error();
        pages.get(p.pa);
        return install(v, page, p.pa, write);
    }
    if (present && write) {
        // The page is there, read only: copy-on-write, or the first write to a shared file page.
        Frame f(os_, KernelSymbol::do_wp_page);
        if (shared || pages.refs(old) == 1) {
            if (shared && v.file && v.file->inode()) v.file->inode()->mark_dirty(index);
            pages.get(old);
            return install(v, page, old, true);
        }
        const PhysAddr pa = fresh_copy(old == os_.zero_page() ? PhysAddr(0) : old);
        return pa.v ? install(v, page, pa, v.prot & PROT_WRITE, true) : bus_error();
    }
    if (present) {
        // Present without the right to read or execute it, which the mapping has got since.
        pages.get(old);
        return install(v, page, old, false);
    }
    if (v.kind == VmaKind::special) {
        Frame f(os_, KernelSymbol::__do_fault);
        pages.get(xol_page_);
        return install(v, page, xol_page_, false);
    }
    if (v.kind == VmaKind::vdso || v.kind == VmaKind::vvar) {
        const PhysAddr pa = v.kind == VmaKind::vdso ? os_.vdso().text(index) : os_.vdso().data(index);
        if (!pa.v) return bus_error();
        Frame f(os_, KernelSymbol::__do_fault);
        if (write && v.kind == VmaKind::vdso) {
            const PhysAddr copy = fresh_copy(pa);
            return copy.v ? install(v, page, copy, true, true) : bus_error();
        }
        pages.get(pa);
        return install(v, page, pa, false);
    }
    if (v.file || v.kind == VmaKind::file) {
        Inode* inode = v.file->inode();
        if (!write && inode) {
            bool mapped = false;
            if (map_pages(v, page, mapped) == Step::again) return Step::again;
            if (mapped) return Step::done;
        }
        Frame f(os_, KernelSymbol::do_fault);
        bool major = false;
        const PhysAddr pa = inode ? inode->page(index, major) : PhysAddr(0);
        if (!pa.v) return bus_error();
        pages.get(pa);
        if (major) {
            r.major = true;
            const Vma* now = find(page);
            if (!now || now->read_hint != ReadHint::random)
                inode->readahead(index - std::min(index, kReadAroundPages / 2), kReadAroundPages);
        }
        if (write && !shared) {
            const PhysAddr copy = fresh_copy(pa);
            pages.put(pa);
            return copy.v ? install(v, page, copy, v.prot & PROT_WRITE, true) : bus_error();
        }
        if (write) inode->mark_dirty(index);
        return install(v, page, pa, (write && shared) || writable_unnoticed(v.prot, v.map_flags, v.file));
    }
    Frame f(os_, KernelSymbol::do_anonymous_page);
    if (!write && !shared) {
        pages.get(os_.zero_page());
        return install(v, page, os_.zero_page(), false);
    }
    const PhysAddr pa = fresh_copy(PhysAddr(0));
    return pa.v ? install(v, page, pa, v.prot & PROT_WRITE, true) : bus_error();
}

} // namespace rkperf::os
