// SPDX-License-Identifier: Apache-2.0
#include "sim/os/fs/page_cache.h"

#include "sim/os/fs/file_kinds.h"

#include <elf.h>
#include <algorithm>
#include <cstring>

namespace rkperf::os {

PagedNode::~PagedNode() {
    for (auto& [index, slot] : pages_) {
        page_cache_changed(index, slot.pa, false);
        services().pages().put(slot.pa);
    }
}

int PagedNode::get_page(std::uint64_t index, PhysAddr& out, bool& filled) {
    filled = false;
    if (const auto it = pages_.find(index); it != pages_.end()) {
        out = it->second.pa;
        return 0;
    }
    if (const int err = reserve(); err) return err;
    PageAllocator& pages = services().pages();
    const PhysAddr pa = pages.alloc(Gfp::readahead);
    if (pa.v == 0) {
        released(1);
        return -ENOMEM;
    }
    if (const int err = fill(index, pages.host(pa)); err) {
        pages.put(pa);
        released(1);
        return err;
    }
    services().page_access(pa, 0, true); // what was decoded of the page's former contents is void
    pages_[index] = {pa, false};
    page_cache_changed(index, pa, true);
    out = pa;
    filled = true;
    return 0;
}

void PagedNode::page_cache_changed(std::uint64_t index, PhysAddr pa, bool added) {
    if (added && cached(index).in_memory_only) return; // shmem does not tell of these
    // The kernel's own dev_t: 12 bits of major, 20 of minor number.
    services().page_cache_changed(pa, ino, dev_major << 20 | dev_minor, index, added);
}

PhysAddr PagedNode::page(std::uint64_t index, bool& major) {
    PhysAddr pa{0};
    if (index >= (bytes_ + kPageSize - 1) / kPageSize) return PhysAddr{0};
    bool filled = false;
    const bool was_cold = cold(index);
    if (get_page(index, pa, filled)) return PhysAddr{0};
    if (filled && was_cold) major = true;
    return pa;
}

bool PagedNode::peek(std::uint64_t index, std::span<std::uint8_t, kPageSize> to) {
    if (index >= (bytes_ + kPageSize - 1) / kPageSize) return false;
    if (const auto it = pages_.find(index); it != pages_.end()) {
        std::memcpy(to.data(), services().pages().host(it->second.pa), kPageSize);
        return true;
    }
    std::memset(to.data(), 0, kPageSize);
    return fill(index, to.data()) == 0;
}

Inode::Cached PagedNode::cached(std::uint64_t index) {
    const auto it = pages_.find(index);
    if (it == pages_.end()) return {};
    return {it->second.pa, it->second.dirty || holes(), holes()};
}

void PagedNode::mark_dirty(std::uint64_t index) {
    if (const auto it = pages_.find(index); it != pages_.end()) it->second.dirty = true;
    modified();
}

void PagedNode::modified() { touch_times(false, true, true); }

std::int64_t PagedNode::read_at(std::span<std::uint8_t> to, std::uint64_t offset) {
    std::size_t done = 0;
    while (done < to.size() && offset < bytes_) {
        const std::uint64_t index = offset / kPageSize, start = offset % kPageSize;
        const std::size_t n = std::min<std::uint64_t>({to.size() - done, kPageSize - start, bytes_ - offset});
        if (holes() && !pages_.count(index)) {
            std::memset(to.data() + done, 0, n);
        } else {
            PhysAddr pa{};
            bool filled = false;
            if (const int err = get_page(index, pa, filled); err) return done ? static_cast<std::int64_t>(done) : err;
            services().page_access(PhysAddr(pa.v + start), n, false);
            std::memcpy(to.data() + done, services().pages().host(pa) + start, n);
        }
        done += n;
        offset += n;
    }
    return static_cast<std::int64_t>(done);
}

std::int64_t PagedNode::write_at(std::span<const std::uint8_t> from, std::uint64_t offset) {
    std::size_t done = 0;
    std::int64_t error = 0;
    while (done < from.size()) {
        const std::uint64_t index = offset / kPageSize, start = offset % kPageSize;
        std::size_t n = std::min<std::uint64_t>(from.size() - done, kPageSize - start);
        PhysAddr pa{};
        bool filled = false;
        if (const int err = get_page(index, pa, filled); err) {
            error = err == -ENOMEM && holes() ? -ENOSPC : err;
            break;
        }
        const std::int64_t stored = store(from.subspan(done, n), offset);
        if (stored <= 0) {
            error = stored;
            break;
        }
        n = static_cast<std::size_t>(stored);
        services().page_access(PhysAddr(pa.v + start), n, true);
        std::memcpy(services().pages().host(pa) + start, from.data() + done, n);
        done += n;
        offset += n;
        bytes_ = std::max(bytes_, offset);
    }
    if (done) modified();
    return done || from.empty() ? static_cast<std::int64_t>(done) : error;
}

int PagedNode::zero_range(std::uint64_t from, std::uint64_t to) {
    static constexpr std::uint8_t kZeros[kPageSize]{};
    to = std::min(to, bytes_);
    while (from < to) {
        const std::uint64_t n = std::min(kPageSize - from % kPageSize, to - from);
        const std::int64_t r =
            holes() && !pages_.count(from / kPageSize) ? static_cast<std::int64_t>(n) : write_at({kZeros, n}, from);
        if (r < 0) return static_cast<int>(r);
        from += static_cast<std::uint64_t>(r);
    }
    modified();
    return 0;
}

void PagedNode::drop_from(std::uint64_t first_index) {
    std::uint64_t n = 0;
    for (auto it = pages_.lower_bound(first_index); it != pages_.end(); it = pages_.erase(it), ++n) {
        page_cache_changed(it->first, it->second.pa, false);
        services().pages().put(it->second.pa);
    }
    if (n) released(n);
}

void PagedNode::drop_all() { drop_from(0); }

int PagedNode::set_size(std::uint64_t size) {
    if (const int err = resize(size); err) return err;
    if (size < bytes_) {
        const std::uint64_t kept = (size + kPageSize - 1) / kPageSize;
        bytes_ = size; // who faults from now on finds the new end
        services().unmap_mapping_range(*this, kept);
        drop_from(kept);
        const std::uint64_t start = size % kPageSize;
        if (const auto it = pages_.find(size / kPageSize); start && it != pages_.end()) {
            services().page_access(PhysAddr(it->second.pa.v + start), kPageSize - start, true);
            std::memset(services().pages().host(it->second.pa) + start, 0, kPageSize - start);
        }
    }
    bytes_ = size;
    modified();
    return 0;
}

std::int64_t PagedNode::seek_hole(std::uint64_t offset, bool data) {
    if (offset >= bytes_) return -ENXIO;
    std::uint64_t index = offset / kPageSize;
    const std::uint64_t end = (bytes_ + kPageSize - 1) / kPageSize;
    while (index < end && (pages_.count(index) != 0) != data) ++index;
    if (index >= end) return data ? -ENXIO : static_cast<std::int64_t>(bytes_);
    return static_cast<std::int64_t>(std::max(offset, index * kPageSize));
}

int PagedNode::open(const DentryPtr& name, std::uint32_t flags, FileHandle& out) {
    out = make_regular_file(name, flags);
    return 0;
}

/// As build_id_parse: everything must lie in the first page of the file.
std::vector<std::uint8_t> PagedNode::build_id() {
    bool major = false;
    const PhysAddr pa = page(0, major);
    if (pa.v == 0) return {};
    const std::uint8_t* base = services().pages().host(pa);
    Elf64_Ehdr eh;
    std::memcpy(&eh, base, sizeof eh);
    if (std::memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 || eh.e_ident[EI_CLASS] != ELFCLASS64) return {};
    if (eh.e_type != ET_EXEC && eh.e_type != ET_DYN) return {};
    if (eh.e_phoff != sizeof eh || eh.e_phnum > (kPageSize - sizeof eh) / sizeof(Elf64_Phdr)) return {};
    for (unsigned i = 0; i < eh.e_phnum; ++i) {
        Elf64_Phdr ph;
        std::memcpy(&ph, base + eh.e_phoff + i * sizeof ph, sizeof ph);
        if (ph.p_type != PT_NOTE || ph.p_filesz > kPageSize || ph.p_offset > kPageSize - ph.p_filesz) continue;
        for (std::uint64_t at = ph.p_offset, end = at + ph.p_filesz; at + sizeof(Elf64_Nhdr) <= end;) {
            Elf64_Nhdr nh;
            std::memcpy(&nh, base + at, sizeof nh);
            const std::uint64_t name = at + sizeof nh, desc = name + ((nh.n_namesz + 3ull) & ~3ull);
            const std::uint64_t next = desc + ((nh.n_descsz + 3ull) & ~3ull);
            if (next > end) break;
            if (nh.n_type == NT_GNU_BUILD_ID && nh.n_namesz == 4 && std::memcmp(base + name, "GNU", 4) == 0 &&
                nh.n_descsz > 0 && nh.n_descsz <= 20)
                return {base + desc, base + desc + nh.n_descsz};
            at = next;
        }
    }
    return {};
}

} // namespace rkperf::os
