// SPDX-License-Identifier: Apache-2.0
// Timing of the Cortex-A76: out of order behind a 4-wide in-order front end, eight issue ports, a window of 128
// instructions, in-order retirement. Each operation is placed once, in program order: dispatched when the front end has
// it and the window has room, issued at the first cycle at which its operands are there and one of its ports is free.
#pragma once

#include "models/cpu/code_cache.h"
#include "models/cpu/core_base.h"
#include "models/cpu/decoded_op.h"
#include "models/cpu/latest.h"
#include "models/cpu/replay.h"
#include "models/cpu/stall_counts.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace rkperf::cpu_a76 {

/// Issue ports, as bits of OpTiming::pipes (AnandTech 12785, WikiChip; latency_a76.csv).
namespace port {
inline constexpr std::uint8_t B = 1, S0 = 2, S1 = 4, M = 8, L0 = 16, L1 = 32, V0 = 64, V1 = 128;
inline constexpr std::uint8_t I = S0 | S1 | M, L = L0 | L1, V = V0 | V1;
} // namespace port

/// OpTiming::detail.
namespace detail {
inline constexpr std::uint8_t result_store = 1; ///< store that gives back a result
inline constexpr std::uint8_t fused = 2;        ///< AESMC, AESIMC: one operation with the AESE, AESD right before it
inline constexpr std::uint8_t oldest =
    4; ///< of accesses: not before everything older has retired and reached the cache
} // namespace detail

struct PipelineParams {
    unsigned mispredict_penalty{}; ///< cycles lost from the branch's issue to the right path's dispatch
    unsigned run_ahead{};          ///< cycles by which the front end may be ahead of dispatch
    unsigned prediction_lead{};    ///< half cycles by which the branch predictor may be ahead of fetch
    unsigned load_queue{}, store_queue{};
    unsigned split_penalty{};   ///< load across a line
    unsigned partial_forward{}; ///< load that an older store covers only in part: from the store's end
};

class Pipeline {
  public:
    static constexpr bool kSimple = false;

    Pipeline(cpu::StallCounts& stalls, const PipelineParams& params) : stalls_(stalls), params_(params) {}

    void restart(std::uint64_t cycle);

    void enter_block(unsigned, cpu::BlockPlace place) {
        const Fetch fetch = fetch_of(place);
        const std::uint64_t at = slots_ / kWidth;
        if (fetch_ > at) {
            stall(cpu::Lane::stall_frontend, fetch_);
            slots_ = fetch_ * kWidth;
        } else {
            lead_ = lead();
            fetch_ = fetch_at();
        }
        fetch_ += fetch.cycles;
        // A prediction covers the rest of an aligned window of 32 bytes.
        lead_ += 2 * fetch.cycles;
        lead_ = std::min(lead_ - std::min(lead_, 2 * fetch.windows), params_.prediction_lead);
        redirected_ = false;
    }
    std::uint64_t fetch_at() const {
        const std::uint64_t at = slots_ / kWidth;
        return std::max(fetch_, at - std::min<std::uint64_t>(at, params_.run_ahead));
    }
    std::uint64_t horizon() const { return std::min(fetch_at(), slots_ / kWidth); }
    void fetch_stall(std::uint64_t ready, cpu::Lane) {
        if (ready <= fetch_) return;
        lead_ = lead_after(ready - fetch_);
        fetch_ = ready;
    }

    void simple(const cpu::DecodedOp& op) {
        const auto& src = op.insn.src;
        const std::uint64_t t = cpu::latest(dispatch(), ready_[src[0]], ready_[src[1]]);
        const std::uint64_t done = take_port(op.timing.pipes, t) + op.timing.latency;
        ready_[op.timing.dst[0]] = done;
        retire(done);
    }
    void flags(const cpu::DecodedOp& op) {
        const auto& src = op.insn.src;
        const std::uint64_t t = cpu::latest(dispatch(), ready_[src[0]], ready_[src[1]], ready_[src[2]]);
        const std::uint64_t done = take_port(op.timing.pipes, t) + op.timing.latency;
        ready_[op.timing.dst[0]] = done;
        ready_[op.timing.dst[1]] = done + op.timing.second;
        retire(done);
    }
    void general(const cpu::DecodedOp& op) { execute(op, op.timing.latency, op.timing.occupancy); }
    void divide(const cpu::DecodedOp& op, unsigned quotient_bits);

    std::uint64_t begin(const cpu::DecodedOp& op) {
        const auto& src = op.insn.src;
        if (__builtin_expect(!op.plain, 0)) return begin_more(op);
        return take_port(op.timing.pipes,
                         cpu::latest(dispatch_memory(op.is_store), ready_[src[0]], ready_[src[1]], memory_order_));
    }
    void load(const cpu::DecodedOp& op, std::uint64_t issue, std::uint64_t ready, std::uint32_t slow,
              std::uint64_t va) {
        read_at_ = bank(op, issue, va);
        ready += read_at_ - issue;
        std::uint64_t done = ready + op.timing.latency;
        const Store& s = stores_[va >> 3 & (kStores - 1)];
        if (__builtin_expect(s.done > issue && (s.va ^ va) < 8, 0)) done = std::max(done, forward(op, s, issue, va));
        if (__builtin_expect(slow & cpu::slow::split, 0)) {
            booked_ = std::max(booked_, take_port(op.timing.pipes, issue));
            done += params_.split_penalty;
        }
        loaded_ = done;
        const auto& dst = op.timing.dst;
        ready_[dst[0]] = done;
        if (!op.plain) {
            ready_[dst[1]] = done + op.timing.second;
            ready_[dst[2]] = issue + 1;
        }
        retire(done);
        load_queue_[loads_++ % kMaxLoadQueue] = retired();
    }
    void store(const cpu::DecodedOp& op, std::uint64_t issue, std::uint64_t ready, std::uint32_t slow,
               std::uint64_t va) {
        if (__builtin_expect(slow & cpu::slow::split, 0))
            booked_ = std::max(booked_, take_port(op.timing.pipes, issue));
        const auto& src = op.insn.src;
        const std::uint64_t data = cpu::latest(issue, ready_[src[2]], ready_[src[3]]);
        std::uint64_t done = data + 1;
        const auto& dst = op.timing.dst;
        // Exclusives and atomics give back a result: they act on the line itself.
        if (op.timing.detail & detail::result_store) done = std::max(data, ready) + op.timing.latency;
        if (!op.plain) {
            ready_[dst[0]] = ready_[dst[1]] = done;
            ready_[dst[2]] = issue + 1;
        }
        retire(done);
        // Written to the cache after retirement, once the line is owned, if it was not when executed.
        const std::uint64_t drained = std::max(retired() + !(op.timing.detail & detail::oldest), ready);
        store_queue_[stores_seen_++ % kMaxStoreQueue] = drained;
        drained_ = std::max(drained_, drained);
        Store& s = stores_[va >> 3 & (kStores - 1)];
        s = Store{va, drained, done, op.insn.mem_bytes};
    }
    void fault(std::uint64_t at) { retire_slots_ = std::max(retire_slots_, at * kRetireWidth); }

    std::uint64_t begin_system(const cpu::DecodedOp& op);
    void system(const cpu::DecodedOp& op, std::uint64_t ready);

    std::uint64_t branch(const cpu::DecodedOp& op) {
        const auto& src = op.insn.src;
        const std::uint64_t t = cpu::latest(dispatch(), ready_[src[0]], ready_[src[1]]);
        const std::uint64_t issue = take_port(op.timing.pipes, t);
        ready_[op.timing.dst[0]] = issue + op.timing.latency;
        retire(issue + op.timing.latency);
        return issue;
    }
    void mispredict(std::uint64_t resolved) {
        redirected_ = true;
        fetch_ = std::max(fetch_, resolved + params_.mispredict_penalty);
        lead_ = 0;
    }
    /// `bubble`: cycles that the predictor loses. Fetch does not as long as it has addresses to go on with.
    void taken(unsigned bubble) {
        redirected_ = true;
        const unsigned hidden = std::min(2 * bubble, lead_ / 2 * 2);
        lead_ -= hidden;
        fetch_ += bubble - hidden / 2;
    }
    /// Operations issued past a branch that is resolved at `resolved`.
    std::uint64_t wrong_path(std::uint64_t resolved) const {
        const std::uint64_t at = slots_ / kWidth;
        return resolved > at ? std::min<std::uint64_t>((resolved - at) * kWidth, kWindow) : 0;
    }
    std::uint64_t retired() const { return retire_slots_ / kRetireWidth; }
    std::uint64_t ceiling() const { return cpu::latest(retired(), fetch_, drained_) + kLongestWait; }
    std::uint64_t least_ceiling(std::uint64_t enough) const;
    unsigned mispredict_penalty() const { return params_.mispredict_penalty; }

    // For replaying (replayer.h).

    static constexpr bool kReplays = true, kReadsAddresses = true;
    static constexpr bool more_beats(bool, unsigned, std::uint64_t) { return false; }
    static constexpr unsigned kYield = 100;
    static constexpr unsigned kLongestWait = 256; ///< cycles for which a port may be taken (OpTiming::occupancy)
    /// What an operation can take beyond the cycles of its row in the tables, which Block::cycles counts.
    static constexpr unsigned kCeilingMargin = 32;
    std::uint64_t present() const { return slots_ / kWidth; }
    void save(cpu::PipeImage& image, bool inside = false) const;
    void restore(std::span<const std::uint16_t> image, std::uint64_t at);
    /// What the access that was just placed was to what depends on addresses, of a block entered at `entry`. False: it did
    /// what an access that is replayed cannot do.
    bool note_access(const cpu::DecodedOp& op, std::uint64_t entry, std::uint64_t issue, std::uint64_t va,
                     cpu::ReplayInput& input) const;
    /// Accesses and divisions like those of the node, which was entered at `entry`; `notes`: of its operations (threads.h).
    /// False: one of them does not act alike, and nothing has happened.
    bool repeat(const cpu::ReplayInputs& node, std::uint64_t entry, const std::uint64_t* notes);
    /// The same of one access that was no plain hit; `took`: cycles from its issue until its data were there.
    bool note_slow_access(const cpu::DecodedOp& op, std::uint64_t entry, std::uint64_t issue, std::uint64_t took,
                          std::uint32_t slow, std::uint64_t va, cpu::ReplayInput& input) const;
    bool repeat_access(const cpu::ReplayInput& access, std::uint64_t entry, std::uint64_t va);
    /// Undoes repeat().
    void take_back(const cpu::ReplayInputs& node, std::uint64_t entry, const std::uint64_t* notes) {
        take_back(node.first_input, node.last_input, entry, notes);
    }

  private:
    static constexpr unsigned kWidth = 4;       // dispatch (WikiChip)
    static constexpr unsigned kRetireWidth = 8; // est.: twice the dispatch width
    static constexpr unsigned kWindow = 128;    // AnandTech 12785
    static constexpr unsigned kCalendar = 512;  // cycles of port bookings remembered
    static constexpr unsigned kLong = 4;        // what takes longer keeps a divider busy, not its port
    static constexpr unsigned kMaxLoadQueue = 128, kMaxStoreQueue = 128;
    static constexpr unsigned kStores = 64;
    static constexpr unsigned kBankCycles = 64;

    struct Store {
        std::uint64_t va{~0ull};
        std::uint64_t done{}; ///< written to the cache
        std::uint64_t data{}; ///< data known
        unsigned bytes{};
    };

    /// What a load of some cycle reads: two of one cycle must not read different lines of the same bank of the L1D.
    struct BankUse {
        std::uint64_t cycle{}, word{};
    };
    /// What an input that was repeated has overwritten.
    struct Old {
        Store store;
        BankUse bank;
    };
    /// What it takes to fetch a block.
    struct Fetch {
        unsigned cycles{}, windows{}; ///< beyond those of the block before that it goes on in
    };
    /// Four instructions a cycle from one window, from wherever it is entered.
    Fetch fetch_of(cpu::BlockPlace place) {
        constexpr unsigned kWindow32 = 8;
        const bool enters = redirected_ || place.start() % kWindow32 == 0;
        const unsigned had = enters ? 0 : left_;
        const unsigned first = std::min(place.size(), kWindow32 - place.start() % kWindow32);
        const unsigned second = place.size() - first; // a block does not go beyond its line
        Fetch f;
        f.windows = enters + (second != 0);
        f.cycles = first > had ? (first - had + kWidth - 1) / kWidth : 0;
        left_ = had + f.cycles * kWidth - first;
        if (second) {
            const unsigned more = (second + kWidth - 1) / kWidth;
            f.cycles += more;
            left_ = more * kWidth - second;
        }
        return f;
    }
    static bool banks_clash(std::uint64_t a, std::uint64_t b) { return ((a ^ b) & 7) == 0 && a >> 3 != b >> 3; }
    /// The cycle at which a load issued at `issue` gets its bank.
    std::uint64_t bank(const cpu::DecodedOp& op, std::uint64_t issue, std::uint64_t va) {
        const std::uint64_t word = va >> 3;
        BankUse* use = &banks_[issue % kBankCycles];
        bank_waits_ = 0;
        while (__builtin_expect(use->cycle == issue && banks_clash(use->word, word), 0)) {
            issue = take_port(op.timing.pipes, issue + 1);
            use = &banks_[issue % kBankCycles];
            ++bank_waits_;
        }
        *use = {issue, word};
        return issue;
    }
    /// The predictor's lead when fetch has waited for `cycles`.
    unsigned lead_after(std::uint64_t cycles) const {
        return static_cast<unsigned>(std::min<std::uint64_t>(lead_ + 2 * cycles, params_.prediction_lead));
    }
    /// Cycles by which fetch may be behind dispatch, in a block, without the predictor having all its lead afterwards.
    std::uint64_t furthest_behind() const {
        return params_.run_ahead + cpu::ReplayNode::kMostBubble + params_.prediction_lead / 2 + 1;
    }
    unsigned lead() const { return lead_after(fetch_at() - fetch_); }
    /// Nothing more is dispatched before cycle `until`: the present cycle is lost only if nothing was dispatched in it.
    void stall(cpu::Lane l, std::uint64_t until) {
        const std::uint64_t idle = (slots_ + kWidth - 1) / kWidth;
        if (until > idle) stalls_.add(l, until - idle);
    }

    /// Cycle at which the next operation is dispatched; takes a slot of it and room in the window.
    std::uint64_t dispatch() {
        const std::uint64_t free = window_[head_ % kWindow];
        if (__builtin_expect(free > slots_ / kWidth, 0)) {
            stall(cpu::Lane::stall_backend, free);
            slots_ = free * kWidth;
        }
        return slots_++ / kWidth;
    }
    std::uint64_t dispatch_memory(bool store) {
        const std::uint64_t free = store ? store_queue_[(stores_seen_ - params_.store_queue) % kMaxStoreQueue]
                                         : load_queue_[(loads_ - params_.load_queue) % kMaxLoadQueue];
        if (__builtin_expect(free > slots_ / kWidth, 0)) {
            stall(cpu::Lane::stall_backend, free);
            slots_ = free * kWidth;
        }
        return dispatch();
    }
    /// First cycle from `t` on at which one of `pipes` is free; books that port and tells which it is.
    std::uint64_t take_port(std::uint8_t pipes, std::uint64_t t, std::uint64_t& taken) {
        for (;; ++t) {
            std::uint64_t& entry = calendar_[t % kCalendar];
            const std::uint64_t booked = entry, empty = t << 8;
            const std::uint64_t e = (booked ^ empty) < 256 ? booked : empty; // the entry may be another cycle's
            const std::uint64_t free = pipes & ~e;
            if (__builtin_expect(free != 0, 1)) {
                taken = free & (0 - free);
                entry = e | taken;
                return t;
            }
            if (pipes == 0) return t; // no port at all: done at rename
        }
    }
    std::uint64_t take_port(std::uint8_t pipes, std::uint64_t t) {
        std::uint64_t taken = 0;
        return take_port(pipes, t, taken);
    }
    void retire(std::uint64_t done) {
        retire_slots_ = std::max(retire_slots_ + 1, done * kRetireWidth);
        window_[head_++ % kWindow] = retired();
    }
    bool clashes(std::uint64_t cycle, std::uint64_t word) const {
        const BankUse& use = banks_[cycle % kBankCycles];
        return use.cycle == cycle && banks_clash(use.word, word);
    }
    bool acts_alike(const cpu::ReplayInputs& node, const cpu::ReplayInput& load, std::uint64_t entry,
                    std::uint64_t va) const;
    void repeat_load(const cpu::ReplayInput& load, std::uint64_t entry, std::uint64_t va, Old& old) {
        const std::uint64_t read_at = entry + load.read_at;
        BankUse& use = banks_[read_at % kBankCycles];
        old.bank = use;
        use = {read_at, va >> 3};
    }
    void repeat_store(const cpu::ReplayInput& store, std::uint64_t entry, std::uint64_t va, Old& old) {
        Store& s = stores_[va >> 3 & (kStores - 1)];
        old.store = s;
        s = Store{va, entry + store.drained, entry + store.done, store.bytes};
    }
    bool repeat_from(const cpu::ReplayInput* i, const cpu::ReplayInputs& node, std::uint64_t entry,
                     const std::uint64_t* notes);
    void take_back(const cpu::ReplayInput* first, const cpu::ReplayInput* last, std::uint64_t entry,
                   const std::uint64_t* notes);
    std::uint64_t begin_more(const cpu::DecodedOp& op);
    void execute(const cpu::DecodedOp& op, unsigned latency, unsigned occupancy);
    std::uint64_t take_port_long(std::uint8_t pipes, std::uint64_t t, unsigned cycles);
    std::uint64_t forward(const cpu::DecodedOp& op, const Store& s, std::uint64_t issue, std::uint64_t va) const {
        const bool covered = va >= s.va && va + op.insn.mem_bytes <= s.va + s.bytes;
        if (covered) return std::max(issue, s.data) + op.timing.forward;
        return std::max(issue, s.done) + op.timing.latency + params_.partial_forward;
    }

    std::uint64_t slots_{};                    ///< dispatch slots used since cycle 0: kWidth * cycle + slot
    std::uint64_t retire_slots_{};             ///< the same for retirement: the last slot used
    std::uint64_t fetch_{};                    ///< cycle at which the next block can be dispatched
    unsigned lead_{};                          ///< half cycles by which the branch predictor is ahead of fetch
    std::uint64_t head_{};                     ///< operations seen
    unsigned left_{};                          ///< instructions of the last fetch that no block has yet
    bool redirected_{true};                    ///< the next block comes from elsewhere
    std::uint64_t memory_order_{};             ///< no younger access issues before (barriers)
    std::uint64_t drained_{};                  ///< all stores so far have reached the cache
    std::uint64_t div_free_{}, fp_div_free_{}; ///< dividers: take one operation at a time
    unsigned loads_{}, stores_seen_{};
    cpu::StallCounts& stalls_;
    const PipelineParams params_;
    std::array<std::uint64_t, cpu::kReadySlots> ready_{};
    std::array<std::uint64_t, cpu::kReadySlots> accumulated_{}; ///< ready_, if written by an accumulating operation
    std::array<std::uint64_t, kWindow> window_{};               ///< retirement of the last kWindow operations
    std::array<std::uint64_t, kCalendar> calendar_{};           ///< cycle << 8 | busy ports
    std::array<std::uint64_t, kMaxLoadQueue> load_queue_{};
    std::array<std::uint64_t, kMaxStoreQueue> store_queue_{};
    std::array<Store, kStores> stores_{};
    std::array<BankUse, kBankCycles> banks_{};
    std::uint64_t booked_{}; ///< no port is taken after this cycle or the last retirement
    // Of the last load: when it got its bank, how often it found it taken, and when its data were there.
    std::uint64_t read_at_{}, loaded_{};
    unsigned bank_waits_{};
    std::array<Old, cpu::Block::kMaxOps> old_{}; ///< by the input's number in its block
    std::uint64_t fusable_head_{~0ull};          ///< head_ just after an AESE or AESD
    std::uint8_t fusable_{};                     ///< the register it wrote
    bool fusable_inverse_{};                     ///< it was an AESD
};

} // namespace rkperf::cpu_a76
