// SPDX-License-Identifier: Apache-2.0
// What uprobes do with the pages of an address space: a private copy with a breakpoint in it, the way back to the file's
// page, the page for execution out of line (ke::UprobeMm).
#include "sim/os/kernel.h"
#include "sim/os/mm/address_space.h"

#include <sys/mman.h>
#include <cerrno>
#include <cstring>

namespace rkperf::os {

namespace d = mem::desc;

namespace {
constexpr std::uint64_t kTaskSize = 1ull << 48;
}

ke::UprobeVma AddressSpace::uprobe_vma(const Vma& v) {
    ke::UprobeVma u;
    u.start = v.start;
    u.end = v.end;
    u.pgoff = v.pgoff;
    u.inode = v.file && v.kind == VmaKind::file ? v.file->inode() : nullptr;
    u.write = v.prot & PROT_WRITE;
    u.may_exec = v.max_prot & PROT_EXEC;
    u.may_share = v.map_flags & MAP_SHARED;
    u.shared = u.may_share && v.file && v.file->writable();
    return u;
}

void AddressSpace::tell_uprobes(const Vma& v) {
    if (v.file && !os_.uprobes().no_uprobe_events()) os_.uprobes().uprobe_mmap(*this, uprobe_vma(v));
}

void AddressSpace::for_each_mapping(const std::function<void(const ke::UprobeVma&)>& fn) {
    for (const auto& [start, v] : vmas_) fn(uprobe_vma(v));
}

std::optional<ke::UprobeVma> AddressSpace::mapping_at(std::uint64_t address) {
    const Vma* v = find(address);
    if (!v) return std::nullopt;
    return uprobe_vma(*v);
}

int AddressSpace::fault_forced(std::uint64_t page, bool write) {
    for (;;) {
        const Vma* v = find(page);
        if (!v || v->kind == VmaKind::special) return -EFAULT;
        const Found found = look(*v, page);
        const bool present = d::is_valid(found.pte);
        if (present && !(write && (found.pte & d::kApReadOnly))) return 0;
        FaultResult r;
        if (fault_in(found, page, write, r) == Step::done) return r.signal ? -EFAULT : 0;
    }
}

int AddressSpace::get_page(std::uint64_t address, bool write, PageView& view) {
    const std::uint64_t page = address & kPageMask;
    const Vma* v = find(page);
    if (!v || (write && !(v->prot & PROT_WRITE))) return -EFAULT;
    if (const int e = fault_forced(page, write)) return e;
    const std::uint64_t* pte = table_.entry(page, false);
    v = find(page);
    if (!v || !pte || !d::is_valid(*pte)) return 0;
    const PhysAddr pa = d::address(*pte, 3);
    view.bytes = os_.pages().host(pa);
    view.zero = pa == os_.zero_page();
    bool major = false;
    Inode* inode = v->kind == VmaKind::file && v->file ? v->file->inode() : nullptr;
    view.anonymous = !view.zero && (!inode || inode->page(v->pgoff + ((page - v->start) >> kPageShift), major) != pa);
    return 1;
}

int AddressSpace::replace_page(std::uint64_t address, std::uint32_t opcode, bool drop_if_original) {
    const std::uint64_t page = address & kPageMask;
    std::uint64_t* pte = table_.entry(page, false);
    const Vma* v = find(page);
    if (!v || !pte || !d::is_valid(*pte)) return -EAGAIN;
    PageAllocator& pages = os_.pages();
    const PhysAddr old = d::address(*pte, 3);
    const PhysAddr fresh = pages.alloc(Gfp::copy);
    if (!fresh.v) return -ENOMEM;
    std::memcpy(pages.host(fresh), pages.host(old), kPageSize);
    std::memcpy(pages.host(fresh) + (address & ~kPageMask), &opcode, sizeof opcode);
    const std::uint64_t seen = *pte;
    os_.core().kernel_access(old, kPageSize, false);
    os_.core().kernel_access(fresh, kPageSize, true);
    if (*pte != seen) { // another thread has faulted meanwhile
        pages.put(fresh);
        return -EAGAIN;
    }
    if (drop_if_original && v->file && v->file->inode()) {
        bool major = false;
        const PhysAddr original = v->file->inode()->page(v->pgoff + ((page - v->start) >> kPageShift), major);
        if (original.v && std::memcmp(pages.host(original), pages.host(fresh), kPageSize) == 0) {
            pages.put(fresh);
            put_page(*pte);
            *pte = 0;
            --rss_;
            os_.charge(flush(page, page + kPageSize));
            return 0;
        }
    }
    // A page of its own, but no right to write that the mapping did not have.
    put_page(*pte);
    *pte = d::page(fresh, attributes(v->prot, v->prot & PROT_WRITE));
    anon_vma_prepare(vmas_.find(v->start)->second);
    sync_icache(fresh);
    os_.charge(flush(page, page + kPageSize));
    return 0;
}

void AddressSpace::store(std::uint64_t address, const void* from, std::size_t n) {
    const auto pa = lookup(address, true);
    if (!pa) return;
    std::memcpy(os_.memory().host(*pa), from, n);
    os_.core().kernel_access(*pa, n, true);
}

void AddressSpace::put_page(std::uint64_t pte) {
    const PhysAddr pa = d::address(pte, 3);
    if (!(pte & d::kUxn) && os_.pages().refs(pa) == 1) sync_icache(pa);
    os_.pages().put(pa);
}

void AddressSpace::sync_icache(PhysAddr pa) {
    for (int c = 0; c < os_.num_cpus(); ++c) os_.pcpu(c).core->icache_invalidated(pa);
}

std::int64_t AddressSpace::install_xol_page(std::uint64_t hint) {
    // As high as possible below TASK_SIZE - PAGE_SIZE, which is given as a hint.
    std::uint64_t at = hint ? hint : kTaskSize - kPageSize;
    if (!is_free(at, at + kPageSize)) {
        if (hint) return -ENOMEM;
        const auto gap = find_gap(kPageSize);
        if (!gap) return -ENOMEM;
        at = *gap;
    }
    Vma v;
    v.start = at;
    v.end = at + kPageSize;
    v.prot = PROT_EXEC;
    v.max_prot = PROT_EXEC;
    v.map_flags = MAP_PRIVATE;
    v.name = "[uprobes]";
    v.kind = VmaKind::special;
    v.dont_copy = v.dont_expand = v.io = true;
    const PhysAddr page = os_.pages().alloc(Gfp::zeroed);
    if (!page.v) return -ENOMEM;
    std::memcpy(os_.pages().host(page), &ke::UPROBE_SWBP_INSN, sizeof ke::UPROBE_SWBP_INSN);
    os_.core().kernel_access(page, kPageSize, true);
    sync_icache(page);
    std::uint64_t* pte = table_.entry(at, true);
    if (!pte) {
        os_.pages().put(page);
        return -ENOMEM;
    }
    xol_page_ = page;
    os_.pages().get(page);
    *pte = d::page(page, attributes(v.prot, false));
    ++rss_;
    const Iter it = insert(std::move(v));
    os_.perf().perf_event_mmap(info(it->second));
    return static_cast<std::int64_t>(at);
}

void AddressSpace::write_xol(std::uint64_t address, std::uint32_t insn) {
    // Into the page, whatever is mapped at its address by now.
    const PhysAddr pa(xol_page_.v + (address & ~kPageMask));
    std::uint8_t* host = os_.memory().host(pa);
    if (std::memcmp(host, &insn, sizeof insn) == 0) {
        // Most often the slot holds it already. The lines are invalidated all the same; what was decoded stays right.
        os_.core().kernel_access(pa, sizeof insn, false);
        for (int c = 0; c < os_.num_cpus(); ++c) os_.pcpu(c).core->memory().invalidate_icache_line(pa);
        return;
    }
    std::memcpy(host, &insn, sizeof insn);
    os_.core().kernel_access(pa, sizeof insn, true);
    sync_icache(pa);
}

void AddressSpace::drop_xol_page() {
    if (xol_page_.v) os_.pages().put(xol_page_);
    xol_page_ = PhysAddr(0);
}

} // namespace rkperf::os
