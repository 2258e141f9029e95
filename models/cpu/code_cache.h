// SPDX-License-Identifier: Apache-2.0
// Decoded basic blocks, by physical page and offset, so that address spaces share them. A block lies within one 64-byte
// line, so that one L1I presence test covers it.
#pragma once

#include "models/cpu/decoded_op.h"
#include "models/memory/hierarchy.h"
#include "models/memory/physical_memory.h"

#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

namespace rkperf::cpu {

/// Counts of the static lanes up to `instruction`, 16 bits each, added in one step per block: four to a word, as nothing
/// carries between them below 65536.
inline constexpr unsigned kVectorLanes = 16;
struct LaneVector {
    std::array<std::uint64_t, kVectorLanes / 4> words{};

    void add(const LaneVector& o, std::uint64_t times) {
        for (unsigned i = 0; i < kVectorLanes / 4; ++i) words[i] += o.words[i] * times;
    }
    bool any() const {
        std::uint64_t all = 0;
        for (const std::uint64_t w : words) all |= w;
        return all != 0;
    }
    void add(unsigned lane) { words[lane / 4] += std::uint64_t{1} << lane % 4 * 16; }
    std::uint16_t operator[](unsigned lane) const {
        return static_cast<std::uint16_t>(words[lane / 4] >> lane % 4 * 16);
    }
};
static_assert(index_of(Lane::instruction) == kVectorLanes - 1 && index_of(Lane::fetch) == kVectorLanes);

/// Cycles by which an operation whose accesses hit can delay the retirement of what follows, waits for older operations
/// aside. Generous: waiting for a port, an issue slot, a fetch, a store that forwards.
std::uint32_t most_cycles(const DecodedOp& op);

/// Where in its line a block begins, and how many operations it has.
class BlockPlace {
  public:
    constexpr BlockPlace() = default;
    constexpr BlockPlace(unsigned start, unsigned size) : bits_(static_cast<std::uint8_t>(start | (size - 1) << 4)) {}
    constexpr unsigned start() const { return bits_ & 15; } ///< in instructions
    constexpr unsigned size() const { return (bits_ >> 4) + 1u; }
    /// It begins inside the bytes that one fetch brings.
    constexpr bool inside() const { return bits_ & (kFetchBytes / 4 - 1); }

  private:
    std::uint8_t bits_{};
};

struct Block {
    static constexpr unsigned kMaxOps = kLineSize / 4;
    static_assert(kMaxOps <= kNoteSlots);
    std::uint64_t executions{}; ///< whole ones, since the core last counted
    Block* counted_before{};    ///< the next block of those with executions
    /// Where the block goes on by its end or without the branch there, and by the branch, if that is in the same page and
    /// was looked up before. The blocks of a page go together.
    std::array<Block*, 2> next{};
    std::uint32_t cost{};    ///< instruction budget it takes (event_lanes.h, fast_weight)
    std::uint32_t cycles{};  ///< that it can take at most beyond its pipeline's ceiling()
    std::uint16_t fetches{}; ///< sum of Lane::fetch
    std::uint16_t size{};    ///< operations
    std::uint8_t reads{};    ///< sum of kReads
    std::uint8_t line{};     ///< line within the page
    BlockPlace place{};
    bool replays{true};         ///< may be remembered as a whole (replay.h)
    bool has_inputs{};          ///< more than the pipeline's state decides what it takes (ReplayInput)
    std::vector<DecodedOp> ops; ///< `size` of them, and one more that ends a threaded loop's way through the block
    LaneVector lanes{};         ///< sums over all operations
    std::array<std::uint32_t, kMaxOps> op_lanes{}; ///< static_lanes() of each operation, and kReads
};

/// A physical page that code was executed from.
struct CodePage {
    std::uint64_t ppn{};
    std::array<Block*, kPageSize / 4> at{};                   ///< by instruction offset
    std::array<mem::CacheLine*, kPageSize / kLineSize> l1i{}; ///< lines the L1I holds, or null
    std::vector<std::unique_ptr<Block>> blocks;
};

class CodeCache {
  public:
    /// Which handler an operation of the block gets; clears Block::replays where the handler needs the pipeline,
    /// and sets Block::has_inputs.
    using HandlerOf = Handler (*)(const DecodedOp& op, Block& block);

    CodeCache(mem::PhysicalMemory& memory, TimingOf timing_of) : memory_(memory), timing_of_(timing_of) {}

    /// Handlers of blocks decoded from now on; `end` is that of the operation behind the last one.
    void set_handlers(HandlerOf handler_of, Handler end) {
        handler_of_ = handler_of;
        end_ = end;
    }

    /// The page's entry, made if need be. Precondition: the page is DRAM.
    CodePage& page(std::uint64_t ppn);
    CodePage* find(std::uint64_t ppn) {
        const auto i = pages_.find(ppn);
        return i == pages_.end() ? nullptr : i->second.get();
    }
    /// True if blocks were decoded from the page: writes to it must be seen.
    bool holds_code(std::uint64_t ppn) {
        if (!census_[ppn % kCensus]) return false;
        const CodePage* p = find(ppn);
        return p && !p->blocks.empty();
    }
    /// Decodes the block at `offset` (multiple of 4) of the page and enters it.
    Block* decode(CodePage& page, std::uint64_t offset);
    void drop_blocks(std::uint64_t ppn);
    void drop_all_blocks();
    /// Grows when blocks are dropped.
    unsigned drops() const { return drops_; }
    /// The same when any are decoded or dropped.
    unsigned changes() const { return drops_ + decoded_; }
    /// The L1I no longer holds the line (~0: any).
    void l1i_line_lost(std::uint64_t pline);

  private:
    static constexpr unsigned kCensus = 4096;

    void forget(CodePage& page);

    mem::PhysicalMemory& memory_;
    TimingOf timing_of_;
    HandlerOf handler_of_{};
    Handler end_{};
    unsigned drops_{}, decoded_{};
    std::array<std::uint16_t, kCensus> census_{}; ///< pages with blocks, by hash: spares most questions the look-up
    std::unordered_map<std::uint64_t, std::unique_ptr<CodePage>> pages_; // never walked in a way that shows
};

} // namespace rkperf::cpu
