// SPDX-License-Identifier: Apache-2.0
// /proc/PID/smaps and smaps_rollup: what of each mapping is in memory, whose it is, and whether it was written.
#include "sim/os/fs/procfs.h"
#include "sim/os/kernel.h"

#include <sys/mman.h>
#include <algorithm>

namespace rkperf::os {

namespace {

using ull = unsigned long long;
constexpr std::uint64_t kKib = 1024;
/// Shares of a page are summed up in parts of a byte, as in the kernel.
constexpr unsigned kPssShift = 12;

/// Bytes; the shares in units of 2^-kPssShift bytes.
struct Usage {
    std::uint64_t resident{}, shared_clean{}, shared_dirty{}, private_clean{}, private_dirty{}, referenced{},
        anonymous{}, locked{};
    std::uint64_t pss{}, pss_dirty{}, pss_anon{}, pss_file{}, pss_shmem{};

    void operator+=(const Usage& o) {
        resident += o.resident, shared_clean += o.shared_clean, shared_dirty += o.shared_dirty;
        private_clean += o.private_clean, private_dirty += o.private_dirty, referenced += o.referenced;
        anonymous += o.anonymous, locked += o.locked;
        pss += o.pss, pss_dirty += o.pss_dirty, pss_anon += o.pss_anon, pss_file += o.pss_file,
            pss_shmem += o.pss_shmem;
    }
};

Usage usage_of(Kernel& k, const AddressSpace& as, const Vma& v) {
    Usage u;
    Inode* inode = v.file ? v.file->inode() : nullptr;
    for (std::uint64_t a = v.start; a < v.end; a += kPageSize) {
        const auto pa = as.lookup(a, false);
        if (!pa || *pa == k.zero_page() || v.ops) continue; // none of them is an ordinary page
        Inode::Cached cached;
        if (inode) cached = inode->cached(v.pgoff + ((a - v.start) >> kPageShift));
        const bool of_file = cached.page == *pa || v.kind == VmaKind::special; // the kernel's: clean, nobody's own
        const std::uint64_t references = k.pages().refs(*pa),
                            mappings = std::max<std::uint64_t>(references - of_file, 1);
        const bool dirty = !of_file || cached.dirty;
        const std::uint64_t share = (kPageSize << kPssShift) / mappings;
        u.resident += kPageSize;
        u.referenced += kPageSize;
        (mappings > 1 ? dirty ? u.shared_dirty : u.shared_clean
         : dirty      ? u.private_dirty
                      : u.private_clean) += kPageSize;
        if (!of_file) u.anonymous += kPageSize;
        u.pss += share;
        if (dirty) u.pss_dirty += share;
        (!of_file ? u.pss_anon : cached.in_memory_only ? u.pss_shmem : u.pss_file) += share;
        if (v.map_flags & MAP_LOCKED) u.locked += share >> kPssShift;
    }
    return u;
}

void row(std::string& out, const char* name, std::uint64_t bytes) {
    append(out, "%-16s%8llu kB\n", (std::string(name) + ":").c_str(), static_cast<ull>(bytes / kKib));
}

/// `rollup` tells apart what the shares are of.
void print(std::string& out, const Usage& u, bool rollup) {
    row(out, "Rss", u.resident);
    row(out, "Pss", u.pss >> kPssShift);
    row(out, "Pss_Dirty", u.pss_dirty >> kPssShift);
    if (rollup) {
        row(out, "Pss_Anon", u.pss_anon >> kPssShift);
        row(out, "Pss_File", u.pss_file >> kPssShift);
        row(out, "Pss_Shmem", u.pss_shmem >> kPssShift);
    }
    row(out, "Shared_Clean", u.shared_clean);
    row(out, "Shared_Dirty", u.shared_dirty);
    row(out, "Private_Clean", u.private_clean);
    row(out, "Private_Dirty", u.private_dirty);
    row(out, "Referenced", u.referenced);
    row(out, "Anonymous", u.anonymous);
    // No huge pages, no swap, and pages given back by MADV_FREE are gone at once.
    for (const char* none : {"LazyFree", "AnonHugePages", "ShmemPmdMapped", "FilePmdMapped", "Shared_Hugetlb",
                             "Private_Hugetlb", "Swap", "SwapPss"})
        row(out, none, 0);
    row(out, "Locked", u.locked);
}

std::string flags_of(const Vma& v) {
    std::string s;
    const auto flag = [&s](bool on, const char* name) {
        if (on) s += std::string(name) + " ";
    };
    const bool shared = v.map_flags & MAP_SHARED, writable_file = !v.file || v.file->writable();
    flag(v.prot & PROT_READ, "rd");
    flag(v.prot & PROT_WRITE, "wr");
    flag(v.prot & PROT_EXEC, "ex");
    flag(shared && writable_file, "sh");
    flag(v.max_prot & PROT_READ, "mr");
    flag(v.max_prot & PROT_WRITE, "mw");
    flag(v.max_prot & PROT_EXEC, "me");
    flag(shared && writable_file, "ms");
    flag(v.map_flags & MAP_GROWSDOWN, "gd");
    flag(v.map_flags & MAP_LOCKED, "lo");
    flag(v.io, "io");
    flag(v.read_hint == ReadHint::sequential, "sr");
    flag(v.read_hint == ReadHint::random, "rr");
    flag(v.dont_copy, "dc");
    flag(v.dont_expand, "de");
    flag(v.accounted, "ac");
    flag(v.no_reserve, "nr");
    flag(v.wipe_on_fork, "wf");
    flag(v.dont_dump, "dd");
    return s;
}

} // namespace

int proc_smaps_text(Kernel& k, Task& t, bool rollup, std::string& out) {
    if (!t.as) return 0;
    Usage sum;
    std::uint64_t first = ~0ull, last = 0;
    for (const auto& [start, v] : t.as->vmas()) {
        const Usage u = usage_of(k, *t.as, v);
        sum += u;
        first = std::min(first, v.start);
        last = std::max(last, v.end);
        if (rollup) continue;
        proc_map_line(*t.as, v, out);
        row(out, "Size", v.end - v.start);
        row(out, "KernelPageSize", kPageSize);
        row(out, "MMUPageSize", kPageSize);
        print(out, u, false);
        append(out, "THPeligible:    0\nVmFlags: %s\n", flags_of(v).c_str());
    }
    if (rollup && last) {
        constexpr std::size_t kNameColumn = 73;
        std::string line;
        append(line, "%08llx-%08llx ---p 00000000 00:00 0 ", static_cast<ull>(first), static_cast<ull>(last));
        line.resize(std::max<std::size_t>(line.size(), kNameColumn), ' ');
        out += line + "[rollup]\n";
        print(out, sum, true);
    }
    return 0;
}

} // namespace rkperf::os
