// SPDX-License-Identifier: Apache-2.0
// The DSU's snoop filter: for each line in any core's L1D or L2, which cores have it, and which one alone, if any. It
// is exact and never full: cores report every line they give up.
#pragma once

#include <cstdint>
#include <vector>

namespace rkperf::mem {

/// What is known of the use of a line.
enum class Standing : std::uint8_t {
    ahead,  ///< a stream of stores wrote it, or a prefetcher brought it; nobody has asked for it yet
    asked,  ///< a core asked for it
    reused, ///< and a core asked for it while the L3 had it
};

class Directory {
  public:
    struct Entry {
        std::uint64_t pline{kEmpty};
        std::uint32_t holders{};   ///< bit n: the core on port n
        std::int16_t owner{kNone}; ///< port that holds the line exclusive or modified
        Standing standing{};       ///< with which the line comes to the L3 as a victim
    };
    static constexpr std::int32_t kNone = -1;

    Directory() : slots_(1u << 12) {}

    Entry* find(std::uint64_t pline);
    /// The entry of `pline`, made if need be. Entries move: a pointer is good until the next insert or erase.
    Entry& insert(std::uint64_t pline);
    void erase(Entry& e);
    std::size_t size() const { return used_; }
    /// Lets the host fetch what find() will read.
    void expect(std::uint64_t pline) const { __builtin_prefetch(&slots_[home(pline)]); }

  private:
    static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
    /// Four neighbouring lines stay together, which is one line of the host's cache.
    std::size_t home(std::uint64_t pline) const {
        const std::uint64_t group = (pline >> 2) * 0x9E37'79B9'7F4A'7C15ull >> 20;
        return static_cast<std::size_t>(group << 2 | (pline & 3)) & (slots_.size() - 1);
    }
    void grow();

    std::vector<Entry> slots_; ///< open addressing, linear probing
    std::size_t used_{};
};

} // namespace rkperf::mem
