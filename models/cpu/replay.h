// SPDX-License-Identifier: Apache-2.0
// Remembered blocks. What placing a block in a pipeline gives depends on the state that the pipeline is in at the block's
// entry, as seen from its present cycle, on the block, and on a few inputs: the addresses of its accesses, the bits of its
// quotients. Where a block comes again in the same state with inputs that act alike, its cycles, stalls and the state
// behind it are known, and the threaded loop (threads.h) need not place it ("memoization" in FastSim, Schnarr and Larus).
// The pipeline itself is brought up to date when something else has to be placed.
#pragma once

#include "models/cpu/code_cache.h"
#include "models/cpu/stall_counts.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <vector>

namespace rkperf::cpu {

/// State of a pipeline relative to its present cycle, without what cannot matter any more: equal images act alike.
class PipeImage {
  public:
    void clear() {
        size_ = 0;
        fits_ = true;
    }
    void put(std::uint64_t v) {
        fits_ &= v <= 0xffff && size_ < kMost;
        if (fits_) words_[size_++] = static_cast<std::uint16_t>(v);
    }
    /// Enters a number that is known later: returns where.
    unsigned reserve() {
        put(0);
        return size_ - 1;
    }
    void set(unsigned where, std::uint64_t v) {
        if (fits_) words_[where] = static_cast<std::uint16_t>(v);
    }
    void refuse() { fits_ = false; } ///< there is more than an image can hold
    bool fits() const { return fits_; }
    std::span<const std::uint16_t> words() const { return {words_.data(), size_}; }

  private:
    static constexpr unsigned kMost = 1024;
    std::array<std::uint16_t, kMost> words_;
    unsigned size_{};
    bool fits_{true};
};

class PipeImageReader {
  public:
    explicit PipeImageReader(std::span<const std::uint16_t> words) : at_(words.data()) {}
    unsigned get() { return *at_++; }

  private:
    const std::uint16_t* at_;
};

/// Calls one(r) for each register r with a time in `a` or `b` that is later than `at`, and perhaps for others. Most have
/// none: they are left out some at a time, by the signs of what is left until then.
template <std::size_t kSlots, class F>
inline void each_later(std::uint64_t at, const std::array<std::uint64_t, kSlots>& a,
                       const std::array<std::uint64_t, kSlots>& b, F one) {
    using Two = std::uint64_t __attribute__((vector_size(16)));
    constexpr unsigned kAtOnce = 8;
    static_assert(kSlots % kAtOnce == 0);
    const auto left = [&](const std::uint64_t* time) {
        Two t;
        std::memcpy(&t, time, sizeof t);
        return Two{at, at} - t;
    };
    for (unsigned r = 0; r < kSlots; r += kAtOnce) {
        Two sign{};
        for (unsigned k = r; k < r + kAtOnce; k += 2) sign |= left(&a[k]) | left(&b[k]);
        if (!((sign[0] | sign[1]) >> 63)) continue;
        for (unsigned k = r; k < r + kAtOnce; ++k) one(k);
    }
}

struct ReplayNode;

/// An image that was seen at the end of a block.
struct PipeState {
    std::uint64_t hash{};
    std::uint32_t ceiling{}; ///< a ceiling of the pipeline's, from the present cycle
    std::vector<std::uint16_t> words;
    PipeState* next_in_bucket{};
    ReplayNode* nodes{}; ///< blocks entered in it
};

/// An operation of a block whose placement depends on more than the state.
struct ReplayInput {
    std::uint8_t op{};   ///< within the block
    std::uint8_t slot{}; ///< note_slot() of it
    OpGroup group{};     ///< load, store or divide
    std::uint8_t latency{}, bytes{};
    bool from_cache{}; ///< load that no store gave its data
    /// From the block's entry, as the pipeline says. Divide: `done` is its bits.
    std::uint16_t issue{}, done{};
    union {
        std::uint16_t drained{}; ///< store
        std::uint16_t read_at;   ///< load
    };
};

/// Inputs of a block, or of a part of it.
struct ReplayInputs {
    Block* block{};
    const ReplayInput *first_input{}, *last_input{}; ///< the latter: behind the last
};

/// An access that was no plain hit, of a block that was entered in a state: when it is issued, the inputs in front of it, and
/// what followed from what it took. The rest of the block is a node of its own.
struct ReplayCut : ReplayInputs {
    struct Variant {
        ReplayInput access;   ///< itself, where addresses are inputs
        std::uint32_t took{}; ///< cycles from its issue until its data are there
        std::uint32_t slow{}; ///< as the pipelines are told
        std::uint32_t cycles{};
        PipeState* state{};
        ReplayNode* next{}; ///< the rest of the block
        std::array<std::uint16_t, kStalls> stalls{};
    };
    static constexpr unsigned kMostVariants = 12;

    std::uint8_t op{};
    std::uint8_t count{};  ///< of variants
    std::uint16_t issue{}; ///< from the node's entry
    ReplayCut* other{};    ///< of the same node
    std::array<Variant, kMostVariants> variants{};

    Variant* find(std::uint64_t took, std::uint32_t slow) {
        for (unsigned v = 0; v < count; ++v)
            if (variants[v].took == took && variants[v].slow == slow) return &variants[v];
        return nullptr;
    }
};

/// A block entered in a state, with inputs that act alike; or the rest of one behind an access.
struct ReplayNode : ReplayInputs {
    /// What came of the branch at its end.
    /// Mispredicted ones by where they lead, although the state is the same: what comes next is not.
    static constexpr unsigned kNotTaken = 0, kTaken = 1, kMostBubble = 5, kMispredicted = kTaken + kMostBubble + 1;
    struct Exit {
        PipeState* state{}; ///< null: not seen yet
        ReplayNode* next{}; ///< the block last entered behind it
        std::uint32_t cycles{};
        std::uint32_t passes{}; ///< since the core last noted them; of branches that were predicted rightly nobody asks
    };

    std::uint32_t executions{};   ///< since the core last counted
    std::uint16_t wrong_path{};   ///< operations issued in vain if its branch is predicted wrongly
    bool known{};                 ///< was placed, and can be replayed
    std::uint8_t first{};         ///< operation that it begins with
    std::uint32_t retired{};      ///< Pipe::retired() behind it, from its entry
    ReplayNode* counted_before{}; ///< the next node of those with executions
    std::array<Exit, kMispredicted + 2> exits{};
    ReplayNode* other{}; ///< of the same state
    std::array<std::uint16_t, kStalls> stalls{};
    ReplayCut* cuts{};           ///< accesses that were no plain hits
    bool listed{};               ///< among those with passes
    ReplayNode* listed_before{}; ///< the next one of them
    std::uint64_t branch{};      ///< pc of its branch then
};

class ReplayTable {
  public:
    /// Forgets everything. No node may have executions that are not counted.
    void clear();
    /// The state with this image, made if need be, with a ceiling() then; null if there is no room.
    template <class Ceiling>
    PipeState* state(const PipeImage& image, Ceiling ceiling) {
        const std::uint64_t hash = hash_of(image);
        if (PipeState* const s = find(image, hash)) return s;
        return make(image, hash, ceiling());
    }
    /// Another node for a block entered in a state; null if there is no room, or are too many that differ in the inputs.
    /// One that is not known yet is used first.
    ReplayNode* add(PipeState& state, Block& block, unsigned first = 0);
    /// A cut of the node at the operation; null if there is no room, or are too many that differ in the inputs.
    ReplayCut* add_cut(ReplayNode& node, unsigned op, std::span<const ReplayInput> inputs);
    /// Copies the inputs; false if there is no room.
    bool set_inputs(ReplayInputs& of, std::span<const ReplayInput> inputs);
    bool full() const { return full_; }

  private:
    static std::uint64_t hash_of(const PipeImage& image);
    PipeState* find(const PipeImage& image, std::uint64_t hash);
    PipeState* make(const PipeImage& image, std::uint64_t hash, std::uint64_t ceiling);

    static constexpr std::size_t kBuckets = 1 << 14, kMostStates = 16000, kMostNodes = 20000, kMostCuts = 4000;
    static constexpr std::size_t kMostWords = 4 << 20;
    static constexpr unsigned kMostVariants = 4;
    static constexpr std::size_t kChunk = 4096, kMostChunks = 32; ///< of inputs

    std::vector<PipeState*> buckets_;
    std::deque<PipeState> states_;
    std::deque<ReplayNode> nodes_;
    std::deque<ReplayCut> cuts_;
    std::vector<std::unique_ptr<ReplayInput[]>> inputs_; ///< in chunks of kChunk
    std::size_t chunk_used_{kChunk};                     ///< of the last one
    std::size_t words_{};
    bool full_{};
};

} // namespace rkperf::cpu
