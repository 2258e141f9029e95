// SPDX-License-Identifier: Apache-2.0
// The set of mappings of an address space: finding, splitting, merging, removing.
#include "sim/os/mm/address_space.h"

#include "sim/os/kernel.h"
#include "sim/os/sched/scheduler.h"

#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <algorithm>
#include <cerrno>

namespace rkperf::os {

namespace {
constexpr std::uint64_t kMinAddress = 0x10000; // vm.mmap_min_addr
/// Instructions per page to unmap, for a page that is freed or mapped elsewhere besides; per mapping and page to copy.
constexpr std::uint32_t kZapCost = 100, kFreeCost = 900, kRmapCost = 120, kCopyVmaCost = 250, kCopyPageCost = 220;
} // namespace

AddressSpace::AddressSpace(Kernel& k) : os_(k), mmap_lock_(k), table_(k.pages()), asid_(k.alloc_asid()) {}

AddressSpace::~AddressSpace() {
    table_.for_each(0, 1ull << 48, [&](std::uint64_t, std::uint64_t& pte) { put_page(pte); });
    drop_xol_page();
    os_.sched().forget(*this);
}

const Vma* AddressSpace::find(std::uint64_t addr) const {
    auto it = vmas_.upper_bound(addr);
    if (it == vmas_.begin()) return nullptr;
    --it;
    return addr < it->second.end ? &it->second : nullptr;
}

ke::VmaInfo AddressSpace::info(const Vma& v) const {
    ke::VmaInfo i;
    i.start = v.start;
    i.end = v.end;
    i.pgoff = v.pgoff;
    i.prot = v.prot;
    i.flags = (v.map_flags & MAP_SHARED) ? MAP_SHARED : MAP_PRIVATE;
    if (v.map_flags & MAP_LOCKED) i.flags |= MAP_LOCKED;
    i.vm_exec = v.prot & PROT_EXEC;
    i.path = v.name;
    if (v.file) {
        i.has_file = true;
        i.path = v.file->path();
        if (Inode* n = v.file->inode()) {
            i.inode = {n->dev_major, n->dev_minor, n->ino, n->generation};
            i.build_id = n->build_id();
        } else if (FileStat st; v.file->stat(st) == 0) {
            i.inode = {gnu_dev_major(st.dev), gnu_dev_minor(st.dev), st.ino, 0};
        }
    } else if (i.path.empty()) {
        if (v.start <= cur_brk && v.end >= start_brk && start_brk != cur_brk)
            i.path = "[heap]";
        else if (v.start <= start_stack && v.end >= start_stack)
            i.path = "[stack]";
        else
            i.path = "//anon";
    }
    return i;
}

std::uint64_t AddressSpace::total_vm() const {
    std::uint64_t n = 0;
    for (const auto& [s, v] : vmas_) n += (v.end - s) >> kPageShift;
    return n;
}

std::optional<PhysAddr> AddressSpace::lookup(std::uint64_t addr, bool write) const {
    const std::uint64_t* pte = const_cast<PageTable&>(table_).entry(addr, false);
    if (!pte || !mem::desc::is_valid(*pte)) return std::nullopt;
    if (!(*pte & mem::desc::kApUser)) return std::nullopt;
    if (write && (*pte & mem::desc::kApReadOnly)) return std::nullopt;
    return PhysAddr(mem::desc::address(*pte, 3).v + (addr & ~kPageMask));
}

std::optional<std::uint64_t> AddressSpace::find_gap(std::uint64_t length) const {
    // Top down from mmap_base, as arm64 does with the default layout.
    std::uint64_t top = mmap_base;
    for (auto it = vmas_.rbegin(); it != vmas_.rend(); ++it) {
        const Vma& v = it->second;
        if (v.start >= mmap_base) continue;
        if (v.end <= top && top - v.end >= length) return top - length;
        top = std::min(top, v.start);
    }
    if (top >= kMinAddress && top - kMinAddress >= length) return top - length;
    return std::nullopt;
}

bool AddressSpace::is_free(std::uint64_t start, std::uint64_t end) const {
    auto it = vmas_.lower_bound(start);
    if (it != vmas_.end() && it->second.start < end) return false;
    return it == vmas_.begin() || std::prev(it)->second.end <= start;
}

bool AddressSpace::covered(std::uint64_t start, std::uint64_t end) const {
    while (start < end) {
        const Vma* v = find(start);
        if (!v) return false;
        start = v->end;
    }
    return true;
}

bool AddressSpace::may_split(std::uint64_t start, std::uint64_t end) const {
    const Vma *first = find(start), *last = find(end - 1);
    return !(first && first->ops && first->start < start) && !(last && last->ops && last->end > end);
}

AddressSpace::Iter AddressSpace::split(Iter it, std::uint64_t at) {
    Vma upper = it->second;
    upper.start = at;
    upper.pgoff += (at - it->second.start) >> kPageShift;
    it->second.end = at;
    if (upper.ops) {
        it->second.request = std::make_shared<VmaRequest>(it->second, this);
        upper.request = std::make_shared<VmaRequest>(upper, this);
        upper.ops->mmap_open(*upper.request);
    }
    const Iter result = vmas_.emplace(at, std::move(upper)).first;
    tell_uprobes(it->second);
    tell_uprobes(result->second);
    return result;
}

std::uint32_t AddressSpace::flush(std::uint64_t start, std::uint64_t end) {
    // TLBI VAE1IS reaches every core.
    const std::uint64_t pages = (end - start) >> kPageShift;
    for (int c = 0; c < os_.num_cpus(); ++c) {
        cpu::Core& core = *os_.pcpu(c).core;
        if (pages > 64) {
            core.tlb_invalidate(asid_, ~0ull);
        } else {
            for (std::uint64_t va = start; va < end; va += kPageSize) core.tlb_invalidate(asid_, va >> kPageShift);
        }
    }
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(pages, 64) * 4 + 20);
}

std::uint32_t AddressSpace::zap(std::uint64_t start, std::uint64_t end) {
    std::uint32_t n = 0;
    hiwater_rss_ = hiwater_rss();
    table_.for_each(start, end, [&](std::uint64_t, std::uint64_t& pte) {
        const PhysAddr pa = mem::desc::address(pte, 3);
        n += kZapCost;
        if (os_.pages().refs(pa) == 1)
            n += kFreeCost;
        else if (pa != os_.zero_page())
            n += kRmapCost;
        put_page(pte);
        pte = 0;
        --rss_;
    });
    return n ? n + flush(start, end) : 0;
}

void AddressSpace::remove_range(std::uint64_t start, std::uint64_t end) {
    hiwater_vm_ = hiwater_vm();
    auto it = vmas_.lower_bound(start);
    if (it != vmas_.begin() && std::prev(it)->second.end > start) it = split(std::prev(it), start);
    std::vector<Vma> gone;
    while (it != vmas_.end() && it->second.start < end) {
        if (it->second.end > end) split(it, end);
        gone.push_back(std::move(it->second));
        it = vmas_.erase(it);
    }
    // No other thread may fault a page in, or map anew, before the old pages are gone.
    std::uint32_t cost = 0;
    for (Vma& v : gone) {
        if (v.file) os_.uprobes().uprobe_munmap(*this, uprobe_vma(v), v.start, v.end);
        cost += zap(v.start, v.end);
    }
    os_.charge(cost);
    for (Vma& v : gone) {
        if (v.map_flags & MAP_LOCKED) locked_vm -= (v.end - v.start) >> kPageShift;
        // The mapping's reference keeps the file alive until its owner has been told.
        if (v.ops) v.ops->mmap_close(*v.request);
    }
}

namespace {
bool can_merge(const Vma& a, const Vma& b) {
    if (a.end != b.start || a.prot != b.prot || a.map_flags != b.map_flags || a.kind != b.kind || a.ops || b.ops)
        return false;
    if (a.name != b.name || a.file != b.file || a.dont_copy != b.dont_copy || a.wipe_on_fork != b.wipe_on_fork)
        return false;
    if (a.read_hint != b.read_hint || a.accounted != b.accounted || a.no_reserve != b.no_reserve) return false;
    if (a.dont_dump != b.dont_dump || a.max_prot != b.max_prot) return false;
    if (a.map_flags & MAP_GROWSDOWN) return false;
    return a.pgoff + ((a.end - a.start) >> kPageShift) == b.pgoff;
}
/// is_mergeable_anon_vma: a neighbour without one does not take pages of its own in, one that came by fork none without.
bool can_merge_anon(std::uint32_t anon_vma, const Vma& neighbour) {
    return anon_vma == neighbour.anon_vma || (!anon_vma && !neighbour.anon_forked);
}
/// anon_vma_compatible: what differs may be made equal by mprotect.
bool anon_compatible(const Vma& a, Vma b) {
    b.prot = a.prot;
    return can_merge(a, b);
}
} // namespace

void AddressSpace::anon_vma_prepare(Vma& v) {
    if (v.anon_vma) return;
    const auto it = vmas_.find(v.start);
    const auto reuse = [&v](const Vma& other) {
        if (!other.anon_forked) v.anon_vma = other.anon_vma;
    };
    if (const auto next = std::next(it); next != vmas_.end() && anon_compatible(v, next->second)) reuse(next->second);
    if (!v.anon_vma && it != vmas_.begin() && anon_compatible(std::prev(it)->second, v)) reuse(std::prev(it)->second);
    if (!v.anon_vma) v.anon_vma = ++last_anon_vma_;
}

void AddressSpace::absorb(Vma& into, const Vma& gone) {
    into.end = gone.end;
    if (!into.anon_vma) into.anon_vma = gone.anon_vma, into.anon_forked = gone.anon_forked;
}

AddressSpace::Iter AddressSpace::merge(Iter it, bool next_first) {
    const Iter next = std::next(it), prev = it == vmas_.begin() ? it : std::prev(it);
    const std::uint32_t own = it->second.anon_vma;
    bool with_next = next != vmas_.end() && can_merge(it->second, next->second) && can_merge_anon(own, next->second);
    bool with_prev = prev != it && can_merge(prev->second, it->second) && can_merge_anon(own, prev->second);
    if (with_next && with_prev) {
        const std::uint32_t a = prev->second.anon_vma, b = next->second.anon_vma;
        if (next_first)
            with_prev = can_merge_anon(b, prev->second);
        else
            with_next = !a || !b || a == b;
    }
    if (with_next) {
        absorb(it->second, next->second);
        vmas_.erase(next);
    }
    if (with_prev) {
        absorb(prev->second, it->second);
        vmas_.erase(it);
        it = prev;
    }
    if (with_next || with_prev) tell_uprobes(it->second);
    return it;
}

AddressSpace::Iter AddressSpace::insert(Vma v) {
    const std::uint64_t start = v.start;
    v.account();
    return merge(vmas_.emplace(start, std::move(v)).first, true);
}

void AddressSpace::unmap_all() {
    unmapping_ = true;
    os_.uprobes().uprobe_clear_state(*this);
    const ke::MutexGuard lock(mmap_lock_);
    if (!vmas_.empty()) remove_range(0, 1ull << 48);
    drop_xol_page();
    start_brk = cur_brk = 0;
}

std::shared_ptr<AddressSpace> AddressSpace::fork() {
    auto child = std::make_shared<AddressSpace>(os_);
    child->start_brk = start_brk, child->cur_brk = cur_brk, child->start_stack = start_stack,
    child->mmap_base = mmap_base;
    child->start_code = start_code, child->end_code = end_code, child->start_data = start_data,
    child->end_data = end_data;
    child->arg_start = arg_start, child->arg_end = arg_end, child->env_start = env_start, child->env_end = env_end;
    child->vdso = vdso;
    child->exe_denies_write = exe_denies_write;
    child->membarrier_state = membarrier_state;
    child->thp_disabled = thp_disabled;
    const ke::MutexGuard lock(mmap_lock_);
    std::uint32_t cost = 0;
    for (auto& [start, v] : vmas_) {
        if (v.dont_copy) continue;
        Vma copy = v;
        copy.map_flags &= ~static_cast<std::uint32_t>(MAP_LOCKED);
        if (v.wipe_on_fork)
            copy.anon_vma = 0, copy.anon_forked = false;
        else if (v.anon_vma)
            copy.anon_vma = ++child->last_anon_vma_, copy.anon_forked = true; // anon_vma_fork
        if (v.ops) {
            copy.request = std::make_shared<VmaRequest>(copy, child.get());
            copy.ops->mmap_open(*copy.request);
        }
        child->vmas_.emplace(start, copy);
        cost += kCopyVmaCost;
        if (v.wipe_on_fork || v.ops) continue;
        // vma_needs_copy: what the child can have by faults is left to them.
        if (!v.anon_vma && v.kind != VmaKind::vvar) continue;
        const bool shared = v.map_flags & MAP_SHARED;
        table_.for_each(v.start, v.end, [&](std::uint64_t va, std::uint64_t& pte) {
            if (!shared) pte |= mem::desc::kApReadOnly;
            std::uint64_t* to = child->table_.entry(va, true);
            if (!to) return;
            *to = pte;
            os_.pages().get(mem::desc::address(pte, 3));
            ++child->rss_;
            cost += kCopyPageCost;
        });
    }
    os_.uprobes().uprobe_dup_mmap(*this, *child);
    os_.charge(cost + flush(0, 1ull << 48));
    return child;
}

} // namespace rkperf::os
