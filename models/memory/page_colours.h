// SPDX-License-Identifier: Apache-2.0
// The virtual index of a cache whose ways are bigger than a page, looked up by physical lines: for each physical page, the
// low bits of the virtual page by which it was used last. Until it is used it has those of its own address.
#pragma once

#include "models/memory/physical_memory.h"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace rkperf::mem {

class PageColours {
  public:
    /// `way_bytes`: power of two.
    PageColours(const PhysicalMemory& memory, unsigned way_bytes)
        : first_(memory.base().v >> kPageShift),
          colours_(way_bytes > kPageSize ? way_bytes / static_cast<unsigned>(kPageSize) : 1),
          pages_(colours_ > 1 ? memory.size() >> kPageShift : 0),
          of_page_(static_cast<std::uint8_t*>(std::calloc(pages_ + 1, 1))) {
        if (!of_page_) throw std::bad_alloc();
    }

    unsigned colour(std::uint64_t ppn) const {
        const std::uint64_t i = ppn - first_;
        const unsigned c = i < pages_ ? of_page_[i] : 0;
        return c == 0 ? static_cast<unsigned>(ppn) & (colours_ - 1) : c - 1;
    }
    /// Used as `vpn` the page has another colour: its lines have to move. Never of what is no page of the memory (the
    /// kernel's own, which are not translated), and has no lines.
    bool changes(std::uint64_t ppn, std::uint64_t vpn) const {
        return ppn - first_ < pages_ && colour(ppn) != (vpn & (colours_ - 1));
    }
    void set(std::uint64_t ppn, std::uint64_t vpn) {
        const std::uint64_t i = ppn - first_;
        if (i < pages_) of_page_[i] = static_cast<std::uint8_t>((vpn & (colours_ - 1)) + 1);
    }
    /// The number of a line with its page's colour in the place of the page's lowest bits.
    std::uint64_t index(std::uint64_t pline) const {
        const std::uint64_t ppn = pline >> kLinesShift;
        return (pline & ((std::uint64_t{1} << kLinesShift) - 1)) | std::uint64_t{colour(ppn)} << kLinesShift;
    }

  private:
    static constexpr unsigned kLinesShift = kPageShift - kLineShift;
    struct Free {
        void operator()(std::uint8_t* p) const { std::free(p); }
    };
    std::uint64_t first_;
    unsigned colours_;
    std::uint64_t pages_;
    std::unique_ptr<std::uint8_t[], Free>
        of_page_; ///< colour + 1; 0: the page's own. The host gives memory for what is used.
};

} // namespace rkperf::mem
