// SPDX-License-Identifier: Apache-2.0
// Model checking of the ring buffer: writers nested up to three deep and one reader, in every interleaving of the points
// at which an interrupt or another CPU can come in between. A run is a list of choices; the explorer repeats the scenario
// from the start, each time with the next list in depth-first order, until there is none left.
#include "tests/kernel_events/ring.h"

#include <optional>

namespace rkperf::ke::test::ring_buffer_model {

/// Depth-first enumeration of all sequences of choices.
class Explorer {
  public:
    /// One of `options`, different in each run that has made the same choices before.
    unsigned choose(unsigned options) {
        if (next_ == path_.size()) path_.push_back({0, options});
        REQUIRE(path_[next_].options == options); // else the scenario is not deterministic
        return path_[next_++].taken;
    }
    /// False when all sequences have been tried.
    bool advance() {
        while (!path_.empty() && path_.back().taken + 1 == path_.back().options) path_.pop_back();
        if (path_.empty()) return false;
        ++path_.back().taken;
        next_ = 0;
        return true;
    }

  private:
    struct Choice {
        unsigned taken, options;
    };
    std::vector<Choice> path_;
    std::size_t next_{};
};

struct Scenario {
    bool writable, backward;
    std::uint64_t start; ///< head at the beginning
    std::uint64_t tail;  ///< the reader's position then
    unsigned depth;      ///< how deep writers nest
    unsigned reads;      ///< rounds of the reader
    unsigned watermark;
    unsigned writes{1};   ///< records of the outermost writer, one after the other
    std::uint64_t lost{}; ///< lost before
};

struct Totals {
    std::uint64_t runs{}, written{}, lost{}, reported{}, nested_publications{};
    unsigned deepest{};
};

constexpr std::uint64_t kDataSize = 4096;

/// Records carry their number in every word, so that a torn or unfinished one shows.
class Checker {
  public:
    Checker(World& w, int fd, Ring& ring, const Scenario& s) : w_(w), event_(w.event(fd)), ring_(ring), s_(s) {}

    Totals explore() {
        Explorer explorer;
        do {
            run(explorer);
            ++totals_.runs;
        } while (explorer.advance());
        return totals_;
    }

  private:
    void run(Explorer& explorer) {
        explorer_ = &explorer;
        PerfBuffer& rb = ring_.rb();
        rb.head = s_.start;
        rb.nest = 0;
        rb.events = 0;
        rb.lost = s_.lost;
        rb.watermark = s_.watermark;
        rb.wakeup = s_.backward ? -s_.start : s_.start;
        rb.poll = 0;
        event_.lost_samples = 0;
        event_.pending_wakeup = false;
        std::memset(rb.data_pages[0].host, 0, kDataSize);
        std::memcpy(rb.user_page.host + offsetof(perf_event_mmap_page, data_head), &s_.start, 8);
        ring_.store_tail(s_.tail);
        published_ = s_.start;
        reads_left_ = s_.reads;
        seen_.reset();
        tail_ = s_.tail;
        written_ = dropped_ = reported_ = found_ = number_ = 0;
        depth_ = 0;
        interrupts_left_ = s_.depth - 1;
        wakeup_before_ = rb.wakeup;

        w_.k.time_passes = [this] { point(); };
        for (unsigned i = 0; i < s_.writes; ++i) write();
        w_.k.time_passes = nullptr;

        // When the outermost writer is done nothing is left unpublished, and every drop is accounted for.
        CHECK_QUIET(rb.nest == 0);
        CHECK_QUIET(ring_.head() == rb.head);
        observe();
        CHECK_QUIET(written_ + dropped_ == number_);
        CHECK_QUIET(event_.lost_samples == dropped_);
        CHECK_QUIET(rb.lost + reported_ == dropped_ + s_.lost);
        CHECK_QUIET(found_ == written_);
        CHECK_QUIET((rb.poll != 0) == (rb.wakeup != wakeup_before_));
        CHECK_QUIET(event_.pending_wakeup == (rb.wakeup != wakeup_before_));
        totals_.written += written_;
        totals_.lost += dropped_;
        totals_.reported += reported_;
    }

    /// Here an interrupt may come and write, or the reader make a step.
    void point() {
        observe();
        const bool can_nest = interrupts_left_ > 0;
        const unsigned options = 1 + (can_nest ? 1 : 0) + (reads_left_ ? 1 : 0);
        if (options == 1) return;
        unsigned c = explorer_->choose(options);
        if (c == 0) return;
        if (can_nest && c == 1) {
            --interrupts_left_;
            write();
            return;
        }
        reader_step();
    }

    void write() {
        totals_.deepest = std::max(totals_.deepest, ++depth_);
        const std::uint64_t mine = ++number_;
        const std::uint64_t words = 2 + mine; // of different sizes
        PerfOutputHandle handle;
        PerfSampleData data;
        const std::uint64_t lost_before = event_.lost_samples;
        const auto size = static_cast<unsigned>(8 + 8 * words);
        if (perf_output_begin(w_.p(), handle, data, event_, size)) {
            ++dropped_;
            CHECK_QUIET(event_.lost_samples > lost_before);
        } else {
            perf_event_header header{PERF_RECORD_SAMPLE, 0, static_cast<std::uint16_t>(size)};
            perf_output_put(handle, header);
            std::vector<std::uint64_t> body(words, mine);
            perf_output_copy(handle, body.data(), 8);
            perf_output_copy(handle, body.data() + 1, 8 * (words - 1));
            ++written_;
            perf_output_end(handle);
        }
        --depth_;
    }

    /// What any reader would find if it looked now.
    void observe() {
        const std::uint64_t head = ring_.head();
        if (s_.backward) {
            CHECK_QUIET(published_ - head < std::uint64_t{1} << 63);
        } else {
            CHECK_QUIET(head - published_ < std::uint64_t{1} << 63); // never goes back
        }
        if (head == published_) return;
        if (ring_.rb().nest > 1) ++totals_.nested_publications;
        if (s_.backward)
            walk(head, published_);
        else
            walk(published_, head);
        published_ = head;
    }

    /// All records between two positions are complete.
    void walk(std::uint64_t from, std::uint64_t to) {
        while (from != to) {
            perf_event_header h;
            ring_.copy(from, &h, sizeof h);
            CHECK_QUIET(h.size >= 8);
            CHECK_QUIET(to - from >= h.size);
            std::vector<std::uint64_t> body(h.size / 8 - 1);
            ring_.copy(from + 8, body.data(), 8 * body.size());
            if (h.type == PERF_RECORD_LOST) {
                CHECK_QUIET(body.at(0) == event_.id);
                reported_ += body.at(1);
            } else {
                ++found_;
                CHECK_QUIET(h.type == PERF_RECORD_SAMPLE);
                CHECK_QUIET(body.at(0) >= 1);
                CHECK_QUIET(body.size() == body.at(0) + 2);
                for (const std::uint64_t v : body) CHECK_QUIET(v == body[0]);
            }
            from += h.size;
        }
    }

    /// First it takes data_head and copies what is there, later it gives the room back: meanwhile nothing there moves.
    void reader_step() {
        if (!seen_) {
            Seen seen{ring_.head(), {}};
            if (seen.head != tail_ && s_.writable) {
                const std::uint64_t n = s_.backward ? tail_ - seen.head : seen.head - tail_;
                seen.bytes.resize(n);
                ring_.copy(s_.backward ? seen.head : tail_, seen.bytes.data(), n);
            }
            seen_ = std::move(seen);
            return;
        }
        std::vector<std::uint8_t> now(seen_->bytes.size());
        ring_.copy(s_.backward ? seen_->head : tail_, now.data(), now.size());
        CHECK_QUIET(now == seen_->bytes);
        tail_ = seen_->head;
        ring_.store_tail(tail_);
        seen_.reset();
        --reads_left_;
    }

    /// CHECK for millions of cases.
    void CHECK_QUIET(bool ok) {
        if (!ok) FAIL("in run " << totals_.runs << ", writer " << number_ << " at depth " << depth_);
    }

    struct Seen {
        std::uint64_t head;
        std::vector<std::uint8_t> bytes;
    };
    World& w_;
    PerfEvent& event_;
    Ring& ring_;
    Scenario s_;
    Explorer* explorer_{};
    Totals totals_;
    std::uint64_t published_{}, tail_{}, written_{}, dropped_{}, reported_{}, found_{}, number_{}, wakeup_before_{};
    unsigned depth_{}, interrupts_left_{}, reads_left_{};
    std::optional<Seen> seen_;
};

Totals explore(const Scenario& s) {
    World w;
    perf_event_attr a = fault_attr(0);
    a.write_backward = s.backward;
    const int fd = w.must_open(a);
    Ring ring(w, fd, 1, s.writable);
    // Interrupts are played by the explorer; irq_work waits until the end.
    const bool was = w.k.local_irq_save();
    const Totals t = Checker(w, fd, ring, s).explore();
    w.k.local_irq_restore(was);
    return t;
}

TEST_CASE("three writers nested, nobody reads: every interleaving",
          "[RB-027][RB-034][RB-035][RB-036][RB-037][RB-038]"
          "[RB-039][RB-107]") {
    const bool backward = GENERATE(false, true);
    // At the wrap of the buffer, and at that of 64 bits.
    const std::uint64_t start = GENERATE(std::uint64_t{4096 - 24}, std::uint64_t{0} - 40);
    const Totals t = explore({true, backward, start, start, 3, 0, 2048});
    CHECK(t.runs > 300);
    CHECK(t.deepest == 3);
    CHECK(t.lost == 0);
    CHECK(t.nested_publications == 0); // only the outermost publishes
}

TEST_CASE("three writers nested and a reader, with room for all: every interleaving",
          "[RB-024][RB-036][RB-038][RB-106][RB-107]") {
    const bool backward = GENERATE(false, true);
    const Totals t = explore({true, backward, 4096 - 24, 4096 - 24, 3, 1, 2048});
    CHECK(t.runs > 10000);
    CHECK(t.lost == 0);
}

TEST_CASE("nested writers and a reader in a buffer that is nearly full: losses are counted and told",
          "[RB-023][RB-024][RB-028][RB-041][RB-051][RB-052][RB-054][RB-107]") {
    const bool backward = GENERATE(false, true);
    // 71 bytes are free: one record fits, or two short ones, more only when the reader has made room.
    const std::uint64_t start = 8192;
    const std::uint64_t tail = backward ? start + 4096 - 72 : start - 4096 + 72;
    SECTION("three deep") {
        const Totals t = explore({true, backward, start, tail, 3, 0, 2048});
        CHECK(t.deepest == 3);
        CHECK(t.lost > 0);
        CHECK(t.written > 0);
    }
    SECTION("records one after the other, and a reader") {
        const Totals t = explore({true, backward, start, tail, 2, 1, 2048, 3});
        CHECK(t.lost > 0);
        CHECK(t.reported > 0);
    }
    SECTION("something is lost already") {
        const Totals t = explore({true, backward, start, start, 3, 0, 2048, 1, 5});
        CHECK(t.lost == 0);
        CHECK(t.reported == 5 * t.runs);
    }
}

TEST_CASE("overwriting never loses", "[RB-026][RB-036]") {
    const Totals t = explore({false, GENERATE(false, true), 4096 - 24, 0, 3, 0, 2048});
    CHECK(t.lost == 0);
    CHECK(t.runs > 300);
}

TEST_CASE("a wakeup of a nested writer is raised once, by the outermost", "[RB-040][RB-042]") {
    const Totals t = explore({true, GENERATE(false, true), 4096, 4096, 3, 0, 40});
    CHECK(t.runs > 300);
}

} // namespace rkperf::ke::test::ring_buffer_model
