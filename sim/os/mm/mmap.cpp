// SPDX-License-Identifier: Apache-2.0
// mmap, munmap, mprotect, mremap, madvise, brk and their relations, with Linux's checks in Linux's order.
#include "sim/os/exec/vdso.h"
#include "sim/os/fs/page_cache.h"
#include "sim/os/kernel.h"
#include "sim/os/mm/address_space.h"
#include "sim/os/mm/shmem.h"

#include <sys/mman.h>
#include <algorithm>
#include <cerrno>
#include <utility>

namespace rkperf::os {

namespace {
constexpr std::uint64_t kTaskSize = 1ull << 48;
constexpr std::uint32_t kProtectCost = 30, kMoveCost = 60; ///< instructions per page
constexpr int kRlimitData = 2, kRlimitAs = 9, kRlimitMemlock = 8;
constexpr std::uint64_t align_up(std::uint64_t n) { return (n + kPageSize - 1) & kPageMask; }
} // namespace

bool AddressSpace::may_lock(std::uint64_t pages) const {
    return locked_vm + pages <= os_.rlimit(kRlimitMemlock) >> kPageShift || os_.capable(ke::Capability::ipc_lock);
}

std::int64_t AddressSpace::mmap(std::uint64_t addr, std::uint64_t length, int prot, int flags, FileHandle file,
                                std::uint64_t offset) {
    Frame f(os_, KernelSymbol::do_mmap);
    const ke::MutexGuard lock(mmap_lock_);
    if (offset & ~kPageMask) return -EINVAL;
    if (!length) return -EINVAL;
    const std::uint64_t len = align_up(length);
    if (!len || len > kTaskSize) return -ENOMEM;
    if (offset + len < offset) return -EOVERFLOW;
    constexpr int kMapSync = 0x80000; // asks for memory that survives a crash
    if ((flags & kMapSync) && (flags & 0xf) == 3) return -EOPNOTSUPP;
    if (vmas_.size() > 65530) return -ENOMEM;
    const int type = flags & 0xf;
    if (type != MAP_SHARED && type != MAP_PRIVATE && type != 3 /* MAP_SHARED_VALIDATE */) return -EINVAL;
    const bool shared = type != MAP_PRIVATE;

    std::uint64_t start = addr;
    if (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) {
        if (start & ~kPageMask) return -EINVAL;
        if (start > kTaskSize - len) return -ENOMEM;
        if (start < 0x10000 && !Kernel::has_cap(os_.cur(), 17 /* CAP_SYS_RAWIO */)) return -EPERM;
        if ((flags & MAP_FIXED_NOREPLACE) && !is_free(start, start + len)) return -EEXIST;
    } else {
        start = align_up(start);
        if (!start || start > kTaskSize - len || start < 0x10000 || !is_free(start, start + len)) {
            const auto gap = find_gap(len);
            if (!gap) return -ENOMEM;
            start = *gap;
        }
    }
    if ((total_vm() << kPageShift) + len > os_.rlimit(kRlimitAs)) return -ENOMEM;

    // Heuristic overcommit refuses what is obviously too much.
    constexpr int kNoReserve = 0x4000;
    if (!shared && (prot & PROT_WRITE) && !(flags & kNoReserve) && len >> kPageShift > os_.pages().total_pages())
        return -ENOMEM;

    Vma v;
    v.start = start;
    v.end = start + len;
    v.prot = static_cast<std::uint32_t>(prot) & 7;
    v.map_flags = shared ? MAP_SHARED : MAP_PRIVATE;
    v.pgoff = offset >> kPageShift;
    if (flags & MAP_LOCKED || lock_future) {
        const bool any = os_.rlimit(kRlimitMemlock) || os_.capable(ke::Capability::ipc_lock);
        if (flags & MAP_LOCKED && !any) return -EPERM;
        if (!may_lock(len >> kPageShift)) return -EAGAIN;
        v.map_flags |= MAP_LOCKED;
    }
    if (flags & MAP_GROWSDOWN) v.map_flags |= MAP_GROWSDOWN;
    v.no_reserve = flags & kNoReserve;
    const bool of_file = file && !(flags & MAP_ANONYMOUS);
    bool shmem = shared && !of_file;
    if (of_file) {
        if (shared && (prot & PROT_WRITE) && !file->writable()) return -EACCES;
        if (!file->readable()) return -EACCES;
        if (shared && !file->writable()) v.max_prot &= ~static_cast<std::uint32_t>(PROT_WRITE);
        if (const auto* node = dynamic_cast<const PagedNode*>(file->inode());
            shared && node && node->seals & (abi::f_seal_write | abi::f_seal_future_write)) {
            if (prot & PROT_WRITE) return -EPERM;
            v.max_prot &= ~static_cast<std::uint32_t>(PROT_WRITE);
        }
        v.file = file;
        if (file->perf_ops()) {
            v.kind = VmaKind::device_ops;
            v.ops = file->perf_ops();
            v.dont_copy = v.dont_expand = v.dont_dump = true;
        } else if (Inode* inode = file->inode(); inode && (inode->stat().mode & 0170000) == 0100000) {
            v.kind = VmaKind::file;
            constexpr std::uint64_t kMaxBytes = 0x7fffffffffffffff;
            if (offset > kMaxBytes - len) return -EOVERFLOW;
        } else {
            const std::int64_t r = file->mmap_anonymous(shared);
            if (r < 0) return r;
            v.file.reset(); // /dev/zero
            if (!shared) v.name = file->path();
            shmem = shared;
        }
    } else {
        v.pgoff = shared ? 0 : start >> kPageShift;
    }
    if (flags & MAP_GROWSDOWN && (of_file || shared)) return -EINVAL;
    if (shmem) {
        v.file = std::make_shared<ShmemFile>(os_, len);
        v.kind = VmaKind::file;
    }

    if (flags & MAP_FIXED) {
        if (!may_split(start, start + len)) return -ENOMEM;
        remove_range(start, start + len);
    }
    if (v.ops) {
        v.request = std::make_shared<VmaRequest>(v, this);
        const std::int64_t r = v.ops->mmap(*v.request);
        if (r < 0) return r;
        v.map_flags &= ~static_cast<std::uint32_t>(MAP_LOCKED); // its pages are always there
    }
    const bool locked = v.map_flags & MAP_LOCKED;
    const bool bring_in = locked ? !lock_on_fault : (flags & MAP_POPULATE) != 0;
    if (locked) locked_vm += len >> kPageShift;
    const Iter it = insert(std::move(v));
    os_.perf().perf_event_mmap(info(it->second));
    tell_uprobes(it->second);
    if (bring_in) populate(start, start + len);
    return static_cast<std::int64_t>(start);
}

std::int64_t AddressSpace::map_special(std::uint64_t addr, std::uint64_t length, int prot, std::string name, int flags,
                                       VmaKind kind) {
    Vma v;
    v.start = addr;
    v.end = addr + align_up(length);
    v.prot = static_cast<std::uint32_t>(prot);
    v.map_flags = static_cast<std::uint32_t>(MAP_PRIVATE | flags);
    // exec has the stack at the very top before it moves it to its place, and the offset stays.
    v.pgoff = (flags & MAP_GROWSDOWN ? kTaskSize - align_up(length) : addr) >> kPageShift;
    v.name = std::move(name);
    v.kind = kind;
    if (kind != VmaKind::anonymous) v.pgoff = 0, v.dont_expand = true;
    if (kind == VmaKind::vvar) v.max_prot = PROT_READ;
    const Iter it = insert(std::move(v));
    os_.perf().perf_event_mmap(info(it->second));
    return static_cast<std::int64_t>(addr);
}

std::int64_t AddressSpace::map_vdso() {
    constexpr std::uint64_t kData = Vdso::kDataPages * kPageSize, kText = Vdso::kTextPages * kPageSize;
    const ke::MutexGuard lock(mmap_lock_);
    const auto gap = find_gap(kData + kText);
    if (!gap) return -ENOMEM;
    vdso = *gap + kData;
    map_special(*gap, kData, PROT_READ, "[vvar]", 0, VmaKind::vvar);
    map_special(vdso, kText, PROT_READ | PROT_EXEC, "[vdso]", 0, VmaKind::vdso);
    return 0;
}

std::int64_t AddressSpace::munmap(std::uint64_t addr, std::uint64_t length) {
    Frame f(os_, KernelSymbol::__do_munmap);
    const ke::MutexGuard lock(mmap_lock_);
    if ((addr & ~kPageMask) || addr > kTaskSize || length > kTaskSize - addr) return -EINVAL;
    const std::uint64_t len = align_up(length);
    if (!len || !may_split(addr, addr + len)) return -EINVAL;
    remove_range(addr, addr + len);
    return 0;
}

std::int64_t AddressSpace::mprotect(std::uint64_t addr, std::uint64_t length, int prot) {
    Frame f(os_, KernelSymbol::do_mprotect_pkey);
    const ke::MutexGuard lock(mmap_lock_);
    const bool grows_down = prot & PROT_GROWSDOWN;
    prot &= ~(PROT_GROWSDOWN | PROT_GROWSUP);
    if (addr & ~kPageMask) return -EINVAL;
    if (!length) return 0;
    const std::uint64_t len = align_up(length), end = addr + len;
    if (end <= addr) return -ENOMEM;
    if (prot & ~7) return -EINVAL;
    const Vma* first = find(addr);
    if (!first) return -ENOMEM;
    if (grows_down) addr = first->start;
    for (std::uint64_t at = addr; at < end;) {
        auto it = vmas_.upper_bound(at);
        if (it == vmas_.begin() || std::prev(it)->second.end <= at) return -ENOMEM;
        --it;
        if (static_cast<std::uint32_t>(prot) & ~it->second.max_prot) return -EACCES;
        if (it->second.prot == static_cast<std::uint32_t>(prot)) {
            at = it->second.end;
            continue;
        }
        if (!may_split(at, std::min(end, it->second.end))) return -EINVAL;
        if (it->second.start < at) it = split(it, at);
        if (it->second.end > end) split(it, end);
        at = it->second.end;
        it->second.prot = static_cast<std::uint32_t>(prot);
        Vma& v = it->second;
        v.account();
        const bool shared = v.map_flags & MAP_SHARED;
        std::uint32_t n = 0;
        table_.for_each(v.start, v.end, [&](std::uint64_t, std::uint64_t& pte) {
            const PhysAddr pa = mem::desc::address(pte, 3);
            // Writable at once only where no copy can be needed; the rest is decided at the next write.
            const bool own = (prot & PROT_WRITE) && !shared && pa != os_.zero_page() && os_.pages().refs(pa) == 1;
            const bool writable = own || writable_unnoticed(v.prot, v.map_flags, v.file);
            pte = mem::desc::page(pa, attributes(v.prot, writable));
            ++n;
        });
        const std::uint32_t cost = n * kProtectCost + flush(v.start, v.end);
        const ke::VmaInfo changed = info(merge(it)->second);
        os_.charge(cost);
        os_.perf().perf_event_mmap(changed);
    }
    return 0;
}

std::int64_t AddressSpace::mremap(std::uint64_t old_addr, std::uint64_t old_len, std::uint64_t new_len, int flags,
                                  std::uint64_t new_addr) {
    Frame f(os_, KernelSymbol::do_mmap);
    const ke::MutexGuard lock(mmap_lock_);
    constexpr int kDontUnmap = 4;
    const bool fixed = flags & MREMAP_FIXED, keep_old = flags & kDontUnmap, may_move = flags & MREMAP_MAYMOVE;
    if (flags & ~(MREMAP_MAYMOVE | MREMAP_FIXED | kDontUnmap)) return -EINVAL;
    if (fixed && !may_move) return -EINVAL;
    if (keep_old && (!may_move || old_len != new_len)) return -EINVAL;
    if (old_addr & ~kPageMask) return -EINVAL;
    old_len = align_up(old_len);
    new_len = align_up(new_len);
    if (!new_len) return -EINVAL;
    const Vma* v = find(old_addr);
    if (!v) return -EFAULT;
    if (fixed || keep_old) {
        if ((new_addr & ~kPageMask) || new_len > kTaskSize || new_addr > kTaskSize - new_len) return -EINVAL;
        if (old_addr + old_len > new_addr && new_addr + new_len > old_addr) return -EINVAL;
        if (fixed) {
            if (!may_split(new_addr, new_addr + new_len)) return -EINVAL;
            remove_range(new_addr, new_addr + new_len);
        }
        if (old_len > new_len) {
            if (!may_split(old_addr + new_len, old_addr + old_len)) return -EINVAL;
            remove_range(old_addr + new_len, old_addr + old_len);
            old_len = new_len;
        }
        v = find(old_addr);
        if (!v) return -EFAULT;
    } else if (old_len >= new_len) {
        // What is beyond goes, wherever it belongs to.
        if (old_len > new_len) {
            if (!may_split(old_addr + new_len, old_addr + old_len)) return -EINVAL;
            remove_range(old_addr + new_len, old_addr + old_len);
        }
        return static_cast<std::int64_t>(old_addr);
    }
    if (!old_len && !(v->map_flags & MAP_SHARED)) return -EINVAL;
    if (keep_old && v->dont_expand) return -EINVAL;
    if (old_len > v->end - old_addr) return -EFAULT;
    if (new_len != old_len && v->dont_expand) return -EFAULT;
    if (new_len > old_len && (total_vm() << kPageShift) + (new_len - old_len) > os_.rlimit(kRlimitAs)) return -ENOMEM;
    if (v->map_flags & MAP_LOCKED && new_len > old_len) {
        const std::uint64_t more = (new_len - old_len) >> kPageShift;
        if (!may_lock(more)) return -EAGAIN;
    }
    const bool at_end = old_len && old_addr + old_len == v->end;
    if (!fixed && !keep_old && at_end && old_addr + new_len <= kTaskSize && is_free(v->end, old_addr + new_len)) {
        auto it = std::prev(vmas_.upper_bound(old_addr));
        it->second.end = old_addr + new_len;
        const bool locked = it->second.map_flags & MAP_LOCKED;
        merge(it);
        if (locked) lock_grown(old_addr + old_len, old_addr + new_len);
        return static_cast<std::int64_t>(old_addr);
    }
    if (!may_move) return -ENOMEM;
    if (old_len && !may_split(old_addr, old_addr + old_len)) return -EINVAL;
    std::uint64_t to = new_addr;
    if (!fixed) {
        const bool wanted = keep_old && new_addr && is_free(new_addr, new_addr + new_len);
        const auto gap = wanted ? std::optional(new_addr) : find_gap(new_len);
        if (!gap) return -ENOMEM;
        to = *gap;
    }
    const bool locked = v->map_flags & MAP_LOCKED;
    const std::int64_t at = move_mapping(old_addr, old_len, to, new_len, keep_old);
    if (at >= 0 && locked) lock_grown(to + old_len, to + new_len);
    return at;
}

void AddressSpace::lock_grown(std::uint64_t from, std::uint64_t to) {
    if (from >= to) return;
    locked_vm += (to - from) >> kPageShift;
    populate(from, to);
}

void AddressSpace::populate(std::uint64_t from, std::uint64_t to) {
    const Vma* v = find(from);
    if (!v || !v->prot || v->ops) return;
    // What is shared is not written to before its program does.
    const bool write = v->prot & PROT_WRITE && !(v->map_flags & MAP_SHARED);
    for (std::uint64_t a = from; a < to; a += kPageSize)
        if (!lookup(a, write) && handle_fault(a, write, false, FaultBy::populate).signal) return;
}

std::int64_t AddressSpace::move_mapping(std::uint64_t old_addr, std::uint64_t old_len, std::uint64_t to,
                                        std::uint64_t new_len, bool keep_old) {
    Vma moved = std::prev(vmas_.upper_bound(old_addr))->second;
    moved.pgoff += (old_addr - moved.start) >> kPageShift;
    // What has no pages yet is as good as new where it comes to lie; pages know the offset they were made at.
    if (!moved.file && !moved.anon_vma && moved.kind == VmaKind::anonymous) moved.pgoff = to >> kPageShift;
    // Without an old length it is a second mapping of the same shared pages.
    moved.start = to;
    moved.end = to + new_len;
    const std::shared_ptr<ke::MmapRequest> old_request = moved.request;
    if (moved.ops) moved.request = std::make_shared<VmaRequest>(moved, this);
    const std::shared_ptr<ke::MmapRequest> request = moved.request;
    ke::FileOperations* const ops = moved.ops;
    const FileHandle file = moved.file; // keeps ops
    // First the mapping, then its pages as they are, then the old one is cut out: who looks for probes in what grows or is
    // split finds none of the pages under way.
    insert(std::move(moved));
    std::uint32_t cost = 0;
    table_.for_each(old_addr, old_addr + old_len, [&](std::uint64_t va, std::uint64_t& pte) {
        const std::uint64_t taken = std::exchange(pte, 0);
        std::uint64_t& entry = *table_.entry(va - old_addr + to, true);
        if (mem::desc::is_valid(entry)) put_page(entry), --rss_;
        entry = taken;
        cost += kMoveCost;
    });
    if (old_len) cost += flush(old_addr, old_addr + old_len);
    if (old_len && !keep_old) {
        auto it = std::prev(vmas_.upper_bound(old_addr));
        if (it->second.start < old_addr) it = split(it, old_addr);
        if (it->second.end > old_addr + old_len) split(it, old_addr + old_len);
        if (it->second.file)
            os_.uprobes().uprobe_munmap(*this, uprobe_vma(it->second), it->second.start, it->second.end);
        vmas_.erase(it);
        cost += zap(old_addr, old_addr + old_len);
    }
    if (keep_old) {
        // What stays is unlocked, and knows no pages any more if all of it went.
        Vma& old = std::prev(vmas_.upper_bound(old_addr))->second;
        if (old.start == old_addr && old.end == old_addr + old_len) {
            old.map_flags &= ~static_cast<std::uint32_t>(MAP_LOCKED);
            old.anon_vma = 0;
            old.anon_forked = false;
        }
    }
    os_.charge(cost);
    if (ops) {
        ops->mmap_open(*request);
        if (old_len && !keep_old) ops->mmap_close(*old_request);
    }
    return static_cast<std::int64_t>(to);
}

std::int64_t AddressSpace::madvise(std::uint64_t addr, std::uint64_t length, int advice) {
    Frame f(os_, KernelSymbol::do_madvise);
    const ke::MutexGuard lock(mmap_lock_);
    switch (advice) {
        case MADV_NORMAL:
        case MADV_RANDOM:
        case MADV_SEQUENTIAL:
        case MADV_WILLNEED:
        case MADV_DONTNEED:
        case MADV_FREE:
        case MADV_REMOVE:
        case MADV_DONTFORK:
        case MADV_DOFORK:
        case MADV_MERGEABLE:
        case MADV_UNMERGEABLE:
        case MADV_HUGEPAGE:
        case MADV_NOHUGEPAGE:
        case MADV_DONTDUMP:
        case MADV_DODUMP:
        case MADV_WIPEONFORK:
        case MADV_KEEPONFORK:
        case MADV_COLD:
        case MADV_PAGEOUT:
        case MADV_POPULATE_READ:
        case MADV_POPULATE_WRITE: break;
        default: return -EINVAL;
    }
    if (addr & ~kPageMask) return -EINVAL;
    const std::uint64_t end = addr + align_up(length);
    if (end < addr) return -EINVAL;
    if (end == addr) return 0;
    bool hole = false;
    for (std::uint64_t at = addr; at < end;) {
        auto it = vmas_.upper_bound(at);
        if (it == vmas_.begin() || std::prev(it)->second.end <= at) {
            hole = true;
            if (it == vmas_.end()) break;
            at = it->second.start;
            continue;
        }
        --it;
        Vma& v = it->second;
        const std::uint64_t part_end = std::min(end, v.end);
        switch (advice) {
            case MADV_DONTNEED:
            case MADV_FREE:
                if (v.map_flags & MAP_LOCKED) return -EINVAL;
                if (advice == MADV_FREE && (v.file || v.kind != VmaKind::anonymous)) return -EINVAL;
                if (v.kind == VmaKind::vvar) return -EINVAL;
                if (!v.ops) os_.charge(zap(at, part_end));
                break;
            case MADV_REMOVE:
                if (v.map_flags & MAP_LOCKED || !v.file) return -EINVAL;
                if (!(v.map_flags & MAP_SHARED) || !(v.prot & PROT_WRITE)) return -EACCES;
                os_.pr_info("madvise: MADV_REMOVE is not implemented: EOPNOTSUPP");
                return -EOPNOTSUPP;
            case MADV_DONTFORK:
            case MADV_DOFORK:
            case MADV_DONTDUMP:
            case MADV_DODUMP:
            case MADV_WIPEONFORK:
            case MADV_KEEPONFORK: {
                if (advice == MADV_WIPEONFORK && (v.file || (v.map_flags & MAP_SHARED))) return -EINVAL;
                if (advice == MADV_DODUMP && v.dont_expand) return -EINVAL;
                if (advice == MADV_DOFORK && v.io) return -EINVAL;
                if (!may_split(at, part_end)) return -EINVAL;
                if (it->second.start < at) it = split(it, at);
                if (it->second.end > part_end) split(it, part_end);
                bool& flag = advice == MADV_DONTFORK || advice == MADV_DOFORK   ? it->second.dont_copy
                             : advice == MADV_DONTDUMP || advice == MADV_DODUMP ? it->second.dont_dump
                                                                                : it->second.wipe_on_fork;
                flag = advice == MADV_DONTFORK || advice == MADV_DONTDUMP || advice == MADV_WIPEONFORK;
                merge(it);
                break;
            }
            case MADV_NORMAL:
            case MADV_SEQUENTIAL:
            case MADV_RANDOM: {
                if (!may_split(at, part_end)) return -EINVAL;
                if (it->second.start < at) it = split(it, at);
                if (it->second.end > part_end) split(it, part_end);
                it->second.read_hint = advice == MADV_NORMAL   ? ReadHint::normal
                                       : advice == MADV_RANDOM ? ReadHint::random
                                                               : ReadHint::sequential;
                merge(it);
                break;
            }
            case MADV_WILLNEED:
                if (Inode* inode = v.file ? v.file->inode() : nullptr)
                    inode->readahead(v.pgoff + ((at - v.start) >> kPageShift), (part_end - at) >> kPageShift);
                break;
            case MADV_POPULATE_READ:
            case MADV_POPULATE_WRITE:
                if (v.io || v.kind == VmaKind::vvar) return -EINVAL;
                for (std::uint64_t a = at; a < part_end; a += kPageSize) {
                    const bool write = advice == MADV_POPULATE_WRITE;
                    if (!lookup(a, write) && handle_fault(a, write, false, FaultBy::populate).signal) return -EFAULT;
                }
                break;
            default: break; // hints without an effect that a program could see
        }
        at = part_end;
    }
    return hole ? -ENOMEM : 0;
}

void AddressSpace::reap() {
    const ke::MutexGuard lock(mmap_lock_);
    for (const auto& [start, v] : vmas_)
        if (!(v.map_flags & MAP_SHARED) && !v.ops && v.kind != VmaKind::special) os_.charge(zap(start, v.end));
}

std::int64_t AddressSpace::brk(std::uint64_t addr) {
    Frame f(os_, KernelSymbol::__do_sys_brk);
    const ke::MutexGuard lock(mmap_lock_);
    const auto same = static_cast<std::int64_t>(cur_brk);
    if (addr < start_brk) return same;
    if (addr - start_brk > os_.rlimit(kRlimitData)) return same;
    const std::uint64_t from = align_up(cur_brk), to = align_up(addr);
    if (from == to) {
        cur_brk = addr;
        return static_cast<std::int64_t>(addr);
    }
    if (to < from) {
        remove_range(to, from);
        cur_brk = addr;
        return static_cast<std::int64_t>(addr);
    }
    if ((to - from) >> kPageShift > os_.pages().total_pages()) return same; // more than could ever be there
    if (!is_free(from, to + kPageSize) || (total_vm() << kPageShift) + (to - from) > os_.rlimit(kRlimitAs)) return same;
    Vma v;
    v.start = from;
    v.end = to;
    v.prot = PROT_READ | PROT_WRITE;
    v.map_flags = MAP_PRIVATE;
    v.pgoff = from >> kPageShift;
    if (lock_future) {
        if (!may_lock((to - from) >> kPageShift)) return same;
        v.map_flags |= MAP_LOCKED;
        locked_vm += (to - from) >> kPageShift;
    }
    cur_brk = addr;
    const Iter it = insert(std::move(v));
    os_.perf().perf_event_mmap(info(it->second));
    if (lock_future && !lock_on_fault) populate(from, to);
    return static_cast<std::int64_t>(addr);
}

std::int64_t AddressSpace::msync(std::uint64_t addr, std::uint64_t length, int flags) {
    if (flags & ~(MS_ASYNC | MS_INVALIDATE | MS_SYNC)) return -EINVAL;
    if (addr & ~kPageMask) return -EINVAL;
    if ((flags & MS_ASYNC) && (flags & MS_SYNC)) return -EINVAL;
    const std::uint64_t end = addr + align_up(length);
    if (end < addr) return -ENOMEM;
    if (!covered(addr, end)) return -ENOMEM;
    if (flags & MS_SYNC)
        for (std::uint64_t at = addr; at < end;) {
            const Vma* v = find(at);
            if (v->file && (v->map_flags & MAP_SHARED)) v->file->fsync();
            at = v->end;
        }
    return 0;
}

std::int64_t AddressSpace::mincore(std::uint64_t addr, std::uint64_t length, std::uint64_t vec) {
    if (addr & ~kPageMask) return -EINVAL;
    if (addr > kTaskSize || length > kTaskSize - addr) return -ENOMEM;
    const std::uint64_t end = addr + align_up(length);
    if (!covered(addr, end)) return -ENOMEM;
    for (std::uint64_t a = addr; a < end; a += kPageSize) {
        const Vma* v = find(a);
        Inode* inode = v->file ? v->file->inode() : nullptr;
        const bool cached = inode && inode->cached_page(v->pgoff + ((a - v->start) >> kPageShift)).v;
        const std::uint8_t present = cached || lookup(a, false) ? 1 : 0;
        if (const int e = os_.put_user(vec + ((a - addr) >> kPageShift), &present, 1)) return e;
    }
    return 0;
}

std::int64_t AddressSpace::mlock(std::uint64_t addr, std::uint64_t length, bool lock, bool bring_in, bool limited) {
    const ke::MutexGuard mappings(mmap_lock_);
    const std::uint64_t start = addr & kPageMask, end = align_up(addr + length);
    if (end < start) return -EINVAL;
    if (start == end) return 0;
    const std::uint64_t limit = os_.rlimit(kRlimitMemlock);
    if (lock && limited && !os_.capable(ke::Capability::ipc_lock)) {
        if (!limit) return -EPERM;
        if (locked_vm + ((end - start) >> kPageShift) > limit >> kPageShift) return -ENOMEM;
    }
    for (std::uint64_t at = start; at < end;) {
        auto it = vmas_.upper_bound(at);
        if (it == vmas_.begin() || std::prev(it)->second.end <= at) return -ENOMEM;
        --it;
        if (it->second.dont_expand) { // perf's buffers are always there
            at = it->second.end;
            continue;
        }
        if (it->second.start < at) it = split(it, at);
        if (it->second.end > end) split(it, end);
        Vma& v = it->second;
        const bool was = v.map_flags & MAP_LOCKED;
        const std::uint64_t n = (v.end - v.start) >> kPageShift;
        if (lock && !was) v.map_flags |= MAP_LOCKED, locked_vm += n;
        if (!lock && was) v.map_flags &= ~static_cast<std::uint32_t>(MAP_LOCKED), locked_vm -= n;
        const std::uint64_t from = v.start, to = at = v.end;
        merge(it);
        if (bring_in) populate(from, to);
    }
    return 0;
}

} // namespace rkperf::os
