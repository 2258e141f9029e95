// SPDX-License-Identifier: Apache-2.0
// Memory as the machine's debugger sees it: no simulated time passes, and a look leaves no trace.
#include "sim/os/exec/vdso.h"
#include "sim/os/kernel.h"
#include "sim/os/mm/address_space.h"

#include <sys/mman.h>
#include <cstring>

namespace rkperf::os {

namespace d = mem::desc;

bool AddressSpace::peek_page(std::uint64_t addr, std::span<std::uint8_t, kPageSize> to) const {
    const std::uint64_t page = addr & kPageMask;
    const std::uint64_t* pte = const_cast<PageTable&>(table_).entry(page, false);
    if (pte && d::is_valid(*pte)) {
        std::memcpy(to.data(), os_.pages().host(d::address(*pte, 3)), kPageSize);
        return true;
    }
    const Vma* v = find(addr);
    if (!v || v->ops) return false;
    if (v->kind == VmaKind::vdso || v->kind == VmaKind::vvar) {
        const std::uint64_t index = (page - v->start) >> kPageShift;
        const PhysAddr pa = v->kind == VmaKind::vdso ? os_.vdso().text(index) : os_.vdso().data(index);
        if (pa.v) std::memcpy(to.data(), os_.pages().host(pa), kPageSize);
        return pa.v != 0;
    }
    if (v->kind != VmaKind::file && !v->file) {
        std::memset(to.data(), 0, kPageSize);
        return true;
    }
    Inode* inode = v->file ? v->file->inode() : nullptr;
    return inode && inode->peek(v->pgoff + ((page - v->start) >> kPageShift), to);
}

std::optional<PhysAddr> AddressSpace::poke_page(std::uint64_t addr) {
    const std::uint64_t page = addr & kPageMask;
    const Vma* v = find(addr);
    if (!v || v->ops || v->kind == VmaKind::vvar) return std::nullopt;
    const bool shared = v->map_flags & MAP_SHARED;
    if (shared && !(v->max_prot & PROT_WRITE)) return std::nullopt; // the file was opened for reading
    PageAllocator& pages = os_.pages();
    std::uint64_t* pte = table_.entry(page, true);
    const bool present = d::is_valid(*pte);
    Inode* inode = v->file ? v->file->inode() : nullptr;
    const std::uint64_t index = v->pgoff + ((page - v->start) >> kPageShift);
    if (shared && inode) {
        bool major = false;
        const PhysAddr pa = present ? d::address(*pte, 3) : inode->page(index, major);
        if (!pa.v) return std::nullopt;
        inode->mark_dirty(index);
        return pa; // of the file: it need not be in this address space for that
    }
    if (present && (shared || pages.refs(d::address(*pte, 3)) == 1)) return d::address(*pte, 3);
    std::array<std::uint8_t, kPageSize> now;
    if (!peek_page(page, now)) return std::nullopt;
    const PhysAddr pa = pages.alloc(Gfp::copy);
    if (!pa.v) return std::nullopt;
    std::memcpy(pages.host(pa), now.data(), kPageSize);
    if (present) {
        put_page(*pte);
    } else {
        ++rss_;
    }
    *pte = d::page(pa, attributes(v->prot, v->prot & PROT_WRITE));
    anon_vma_prepare(vmas_.find(v->start)->second);
    sync_icache(pa);
    if (present) flush(page, page + kPageSize);
    return pa;
}

} // namespace rkperf::os
