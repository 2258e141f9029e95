// SPDX-License-Identifier: Apache-2.0
// Detection of write streaming, and the buffer that gathers the stores of a line meanwhile. While the core allocates on
// writes, the line that missed last is watched; once enough lines in a row that missed have been stored whole, lines
// are gathered without being fetched, and written whole to a level that depends on how long the stream already is.
#pragma once

#include "models/memory/hierarchy.h"

#include <cstdint>

namespace rkperf::mem {

class WriteStream {
  public:
    enum class Target : std::uint8_t { l1, l2, l3, memory };

    explicit WriteStream(const WriteStreamParams& p) : p_(p) {}

    bool enabled() const { return p_.l1_lines != 0; }
    /// Stores that miss do not allocate in the L1D.
    bool streaming() const { return streaming_; }
    /// The line being watched or gathered; ~0 if none.
    std::uint64_t line() const { return line_; }

    void begin(std::uint64_t pline) {
        line_ = pline;
        mask_ = 0;
    }
    enum class Added : std::uint8_t {
        part,     ///< new bytes; some are still missing
        whole,    ///< the line is complete now
        rewritten ///< nothing new: not a stream
    };
    /// Bytes stored to line().
    Added add(unsigned offset, unsigned bytes) {
        const std::uint64_t m = (bytes >= 64 ? ~0ull : (1ull << bytes) - 1) << offset;
        if ((mask_ & m) == m) return Added::rewritten;
        mask_ |= m;
        if (mask_ != ~0ull) return Added::part;
        whole_ = line_;
        return Added::whole;
    }
    void end() { line_ = ~0ull; }
    /// The line that was whole last is stored to again: a stream goes on to others.
    bool stays(std::uint64_t pline) const { return pline == whole_; }

    /// A whole line was stored. True: write streaming begins with the next line.
    bool whole_line(std::uint32_t clock) { // of the core's accesses
        last_whole_ = clock;
        if (lines_ != ~0u) ++lines_;
        if (streaming_ || lines_ < p_.l1_lines) return false;
        return streaming_ = true;
    }
    /// The stream is over (a line was left incomplete).
    void broken() {
        lines_ = 0;
        streaming_ = false;
    }
    /// Between two lines the core was busy elsewhere for too long.
    bool paused(std::uint32_t clock) const {
        return streaming_ && line_ == ~0ull && p_.pause != 0 && clock - last_whole_ > p_.pause;
    }
    /// Where the next whole line goes.
    Target target() const {
        if (!streaming_) return Target::l1;
        if (p_.l3_lines != 0 && lines_ >= p_.l3_lines) return Target::memory;
        if (p_.l2_lines != 0 && lines_ >= p_.l2_lines) return Target::l3;
        return Target::l2;
    }
    unsigned buffers() const { return p_.buffers; }

  private:
    WriteStreamParams p_;
    std::uint64_t line_{~0ull}, whole_{~0ull}; ///< whole_: the last one that was
    std::uint64_t mask_{};
    unsigned lines_{};
    std::uint32_t last_whole_{}; ///< when a line was whole last
    bool streaming_{};
};

} // namespace rkperf::mem
