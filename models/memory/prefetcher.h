// SPDX-License-Identifier: Apache-2.0
// Stride detection on lines: follows several streams; a stream whose stride repeats is run ahead of. Whose lines they are is the
// caller's: private_caches.cpp passes virtual ones of loads, whose streams so run on across pages, and physical ones of stores,
// and takes nothing of a plan that lies beyond their page.
#pragma once

#include "models/memory/hierarchy.h"

#include <cstdint>
#include <vector>

namespace rkperf::mem {

class Prefetcher {
  public:
    explicit Prefetcher(const PrefetchParams& p) : p_(p), streams_(p.streams) {}

    /// One level's share of a stream: lines first, first + stride, ... (`count` of them) are to be fetched.
    struct Batch {
        std::uint64_t first{};
        std::int64_t stride{};
        unsigned count{};
    };
    struct Plan {
        Batch l1, l2, l3;
    };

    /// A demand access to `pline` missed or used a prefetched line for the first time, or a prefetch instruction missed:
    /// one leads a stream of neighbouring lines on, others it leaves alone. False: nothing to fetch.
    bool train(std::uint64_t pline, bool instruction, Plan& plan);

  private:
    struct Stream {
        std::uint64_t last{};
        std::int64_t stride{};
        unsigned confidence{};
        unsigned done_l1{}, done_l2{}, done_l3{}; ///< strides ahead of `last` already asked for
        std::uint64_t stamp{};
        bool valid{};

        std::uint64_t line(unsigned ahead) const {
            return last + static_cast<std::uint64_t>(stride * static_cast<std::int64_t>(ahead));
        }
    };
    static void step(unsigned& done) { done -= done != 0; }
    static bool neighbours(std::int64_t stride) { return stride >= -1 && stride <= 1; }
    Batch run_ahead(const Stream& s, unsigned& done, unsigned ahead) const;
    /// The L2's own part of a stream of lines that are no neighbours: it sees physical addresses, so it begins with the second
    /// line that the L1's part asks for in a page, and ends with the page.
    Batch run_on_in_page(Stream& s) const;

    PrefetchParams p_;
    std::vector<Stream> streams_;
    std::uint64_t clock_{};
};

} // namespace rkperf::mem
