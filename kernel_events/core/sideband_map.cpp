// SPDX-License-Identifier: Apache-2.0
// Records about what is at an address: MMAP, MMAP2, KSYMBOL, BPF_EVENT, TEXT_POKE (CORE-417 to 422, 429, 430, 432).
#include "kernel_events/core/sideband.h"

#include <algorithm>
#include <string>

namespace rkperf::ke {

namespace {

constexpr std::size_t kPathMax = 4096, kKsymNameLen = 512, kBuildIdMax = 20;
constexpr std::size_t kVmaNameLen = 16; ///< of names that do not come from a file, with their end

std::string map_name(const VmaInfo& vma) {
    if (!vma.has_file) return vma.path.substr(0, kVmaNameLen - 1);
    return vma.path.size() + 1 > kPathMax - sizeof(std::uint64_t) ? "//toolong" : vma.path;
}

bool perf_event_mmap_match(const perf_event_attr& a, const VmaInfo& vma) {
    return vma.vm_exec ? a.mmap || a.mmap2 : bool(a.mmap_data);
}

} // namespace

void Perf::perf_event_mmap(const VmaInfo& vma) {
    if (!impl_->counts.nr_mmap) return;
    KernelFrame frame(kernel_, KernelSymbol::perf_event_mmap);
    impl_->perf_addr_filters_adjust(vma);
    impl_->perf_event_mmap_event(vma);
}

void Perf::Impl::perf_event_mmap_event(const VmaInfo& vma) {
    KernelFrame frame(kernel, KernelSymbol::perf_event_mmap_event);
    const std::string name = map_name(vma);
    const std::size_t build_id_size = counts.nr_build_id ? std::min(vma.build_id.size(), kBuildIdMax) : 0;
    std::uint16_t misc = PERF_RECORD_MISC_USER | (vma.vm_exec ? 0 : PERF_RECORD_MISC_MMAP_DATA);
    perf_iterate_sb(*this, nullptr, [&](PerfEvent& event) {
        const perf_event_attr& a = event.attr;
        if (!perf_event_mmap_match(a, vma)) return;
        KernelFrame f(kernel, KernelSymbol::perf_event_mmap_output);
        const bool use_build_id = a.mmap2 && a.build_id && build_id_size;
        // Not taken back for the next receiver, as in Linux (CORE-422).
        if (use_build_id) misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
        const std::size_t size = 32 + (a.mmap2 ? 32 : 0) + RecordBody::string_size(name);
        perf_output_record(*this, event, a.mmap2 ? PERF_RECORD_MMAP2 : PERF_RECORD_MMAP, misc, size,
                           [&](RecordBody& body) {
                               const TaskBase& task = *kernel.current();
                               body.put(perf_event_pid(*this, event, task));
                               body.put(perf_event_tid(*this, event, task));
                               body.put(vma.start);
                               body.put(vma.end - vma.start);
                               body.put(vma.pgoff << kPageShift);
                               if (use_build_id) {
                                   body.put(static_cast<std::uint32_t>(build_id_size));
                                   std::uint8_t id[kBuildIdMax]{};
                                   std::copy_n(vma.build_id.begin(), build_id_size, id);
                                   body.put_bytes(id, sizeof id);
                               } else if (a.mmap2) {
                                   body.put(vma.inode.maj);
                                   body.put(vma.inode.min);
                                   body.put(vma.inode.ino);
                                   body.put(vma.inode.generation);
                               }
                               if (a.mmap2) {
                                   body.put(vma.prot);
                                   body.put(vma.flags);
                               }
                               body.put_string(name);
                           });
    });
}

void Perf::Impl::perf_event_ksymbol(std::uint16_t ksym_type, std::uint64_t addr, std::uint32_t len, bool unregister,
                                    std::string_view sym) {
    if (!counts.nr_ksymbol) return;
    if (ksym_type == PERF_RECORD_KSYMBOL_TYPE_UNKNOWN || ksym_type >= PERF_RECORD_KSYMBOL_TYPE_MAX) {
        kernel.pr_info("Invalid KSYMBOL type " + std::to_string(ksym_type));
        return;
    }
    const std::string_view name = sym.substr(0, kKsymNameLen - 1);
    perf_iterate_sb(*this, nullptr, [&](PerfEvent& event) {
        if (!event.attr.ksymbol) return;
        perf_output_record(*this, event, PERF_RECORD_KSYMBOL, 0, 16 + RecordBody::string_size(name),
                           [&](RecordBody& body) {
                               body.put(addr);
                               body.put(len);
                               body.put(ksym_type);
                               body.put(std::uint16_t(unregister ? PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER : 0));
                               body.put_string(name);
                           });
    });
}

void Perf::Impl::perf_event_bpf_event(std::uint16_t type, std::uint32_t id, std::span<const std::uint8_t, 8> tag) {
    if (!counts.nr_bpf || type == PERF_BPF_EVENT_UNKNOWN || type >= PERF_BPF_EVENT_MAX) return;
    perf_iterate_sb(*this, nullptr, [&](PerfEvent& event) {
        if (!event.attr.bpf_event) return;
        perf_output_record(*this, event, PERF_RECORD_BPF_EVENT, 0, 16, [&](RecordBody& body) {
            body.put(type);
            body.put(std::uint16_t{0});
            body.put(id);
            body.put_bytes(tag.data(), tag.size());
        });
    });
}

void Perf::Impl::perf_event_text_poke(std::uint64_t addr, std::span<const std::uint8_t> old_bytes,
                                      std::span<const std::uint8_t> new_bytes) {
    if (!counts.nr_text_poke) return;
    const std::size_t bytes = 2 * sizeof(std::uint16_t) + old_bytes.size() + new_bytes.size();
    const std::size_t size = sizeof addr + ((bytes + 7) & ~std::size_t{7});
    perf_iterate_sb(*this, nullptr, [&](PerfEvent& event) {
        if (!event.attr.text_poke) return;
        perf_output_record(*this, event, PERF_RECORD_TEXT_POKE, PERF_RECORD_MISC_KERNEL, size, [&](RecordBody& body) {
            body.put(addr);
            body.put(static_cast<std::uint16_t>(old_bytes.size()));
            body.put(static_cast<std::uint16_t>(new_bytes.size()));
            body.put_bytes(old_bytes.data(), old_bytes.size());
            body.put_bytes(new_bytes.data(), new_bytes.size());
            body.pad_to(sizeof(perf_event_header) + size);
        });
    });
}

} // namespace rkperf::ke
