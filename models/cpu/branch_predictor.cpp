// SPDX-License-Identifier: Apache-2.0
#include "models/cpu/branch_predictor.h"

#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>

namespace rkperf::cpu {
namespace {

constexpr std::uint64_t kWindow = 32; ///< bytes that one prediction covers
constexpr std::uint64_t kMix = 0xc2b2ae3d27d4eb4f;
constexpr std::uint64_t kTableMix[] = {0x9e3779b97f4a7c15, 0xff51afd7ed558ccd, 0x165667b19e3779f9, 0xd6e8feb86659fd93};

constexpr std::uint64_t kOlderMix = 0xa0761d6478bd642f;
constexpr std::uint64_t low_bits(unsigned n) { return n ? ~std::uint64_t{0} >> (64 - n) : 0; }

/// By what hits, bit t for table t + 1: the last of them and the last but one; 0: the base.
struct Providers {
    std::uint8_t last{}, other{};
};
constexpr auto kProviders = [] {
    std::array<Providers, 16> all{};
    for (unsigned hits = 0; hits < all.size(); ++hits) {
        const auto last = static_cast<unsigned>(std::bit_width(hits));
        all[hits] = {static_cast<std::uint8_t>(last),
                     static_cast<std::uint8_t>(std::bit_width(hits & ~(1u << last >> 1)))};
    }
    return all;
}();

// Entries of the tagged tables: see counters_. Which way a branch goes is what hosts guess as badly as the modelled core,
// so what follows from it is looked up, not decided.
constexpr unsigned kUsefulShift = 3, kCounterMask = 7, kWeaklyTaken = 4, kMostUseful = 3;
constexpr std::uint8_t kNoEntry = 4 << kUsefulShift;
constexpr std::uint8_t entry_of(unsigned counter, unsigned useful) {
    return static_cast<std::uint8_t>(counter | useful << kUsefulShift);
}
/// What an entry that provides the prediction says and becomes, as bits.
namespace step {
constexpr unsigned entry = 0xff;      ///< afterwards
constexpr unsigned says = 1 << 8;     ///< the prediction
constexpr unsigned sure = 1 << 9;     ///< nothing to learn, and the alternate agrees
constexpr unsigned useful = 1 << 10;  ///< it was before
constexpr unsigned useless = 1 << 11; ///< it is afterwards
} // namespace step
constexpr std::uint16_t step_of(unsigned entry, bool alternate_says, bool taken) {
    const auto bits = [](unsigned after, bool says, bool sure, bool useful, bool useless) {
        return static_cast<std::uint16_t>(after | (says ? step::says : 0) | (sure ? step::sure : 0) |
                                          (useful ? step::useful : 0) | (useless ? step::useless : 0));
    };
    if (entry == kNoEntry) return bits(kNoEntry, alternate_says, true, false, true);
    const unsigned counter = entry & kCounterMask, useful = entry >> kUsefulShift;
    const bool entry_says = counter >= kWeaklyTaken;
    const bool fresh = useful == 0 && (counter == kWeaklyTaken || counter == kWeaklyTaken - 1);
    const unsigned most = taken ? kCounterMask : 0;
    unsigned after = useful;
    if (entry_says != alternate_says) {
        if (entry_says == taken) {
            after = std::min(useful + 1, kMostUseful);
        } else if (useful) {
            after = useful - 1;
        }
    }
    const unsigned moved = counter == most ? counter : taken ? counter + 1 : counter - 1;
    return bits(entry_of(moved, after), fresh ? alternate_says : entry_says,
                counter == most && entry_says == alternate_says, useful != 0, after == 0);
}
constexpr auto kSteps = [] {
    std::array<std::array<std::uint16_t, kNoEntry + 1>, 4> all{}; // by taken << 1 | alternate_says
    for (unsigned k = 0; k < all.size(); ++k)
        for (unsigned e = 0; e <= kNoEntry; ++e) all[k][e] = step_of(e, k & 1, k >> 1);
    return all;
}();

} // namespace

BranchPredictor::BranchPredictor(const PredictorParams& params)
    : params_(params),
      bias_mask_(params.bimodal - 1),
      bias_(params.bimodal, Bias::unseen),
      bimodal_(params.bimodal, std::int8_t{-1}),
      nano_(params.nano_btb),
      micro_(params.micro_btb),
      main_(std::size_t{params.main_btb_sets} * params.main_btb_ways),
      indirect_base_(params.indirect),
      indirect_history_(params.indirect),
      stack_(params.return_stack) {
    const std::size_t entries = std::size_t{kTables} * params.tagged;
    tags_.resize(entries + 2);
    counters_.assign(entries + 2, entry_of(kWeaklyTaken, 0));
    counters_[entries] = kNoEntry;
    for (unsigned t = 0; t < kTables; ++t) {
        if (params.history[t] > (t + 1 < kTables ? 63u : 128u)) throw std::invalid_argument("branch history");
        history_mask_[t] = low_bits(std::min(params.history[t], 64u));
    }
    older_mask_ = low_bits(std::max(params.history.back(), 64u) - 64);
}

// Nothing in here that depends on the branch's direction, or on what is known of it, is a branch of the host's: it would be
// guessed wrongly as often as the modelled core does.
bool BranchPredictor::tagged(std::uint64_t pc, bool taken) {
    const std::uint64_t address = pc >> 2;
    const std::uint64_t mask = params_.tagged - 1;
    const std::uint64_t mixed = address * kMix;
    std::int8_t& base = bimodal_[address & (params_.bimodal - 1)];
    std::uint16_t* const tags = tags_.data();
    std::uint8_t* const counters = counters_.data();
    const auto none = static_cast<std::uint32_t>(kTables * (mask + 1)), nowhere = none + 1;
    // By number of the table, from 1 on. One after the other, as compilers would gather in vectors what is alike, and the way
    // back from there is long.
    struct Place {
        std::uint32_t entry;
        std::uint16_t tag;
    } places[kTables + 1];
    places[0].entry = none;
    unsigned hits = 0; // bit t: table t + 1
#pragma GCC unroll 4
    for (unsigned t = 0; t < kTables; ++t) {
        std::uint64_t h = ((history_ & history_mask_[t]) * kTableMix[t]) ^ mixed;
        if (t == kTables - 1) h ^= (older_ & older_mask_) * kOlderMix;
        const auto entry = static_cast<std::uint32_t>((h >> 48 & mask) + t * (mask + 1));
        const auto tag = static_cast<std::uint16_t>(h >> 30 | 1);
        places[t + 1].entry = entry;
        places[t + 1].tag = tag;
        hits |= static_cast<unsigned>(tags[entry] == tag) << t;
    }
    // What knows the branch: the base, or the tables with growing history.
    const auto [provider, alternate] = kProviders[hits];
    const unsigned other = counters[places[alternate].entry];
    std::uint8_t& entry = counters[places[provider].entry];
    const bool alone = alternate == 0; // the alternate is the base
    const unsigned alternate_says =
        (other >> 2 & 1) | (unsigned{other == kNoEntry} & unsigned{base >= 0}); // kNoEntry has no counter
    const unsigned step = kSteps[unsigned{taken} << 1 | alternate_says][entry];
    const bool says = step & step::says;
    const std::int8_t most = static_cast<std::int8_t>(3 * taken - 2);
    const bool base_sure = base == most;
    const unsigned sure = step / step::sure & (unsigned{!alone} | step / step::useful | unsigned{base_sure}) & 1;

    if (__builtin_expect(sure, 1)) {
        known_[address & (kKnown - 1)] = {pc, history_ & history_mask_.back(), older_ & older_mask_, lessons_, taken};
        return taken;
    }
    ++lessons_;
    entry = static_cast<std::uint8_t>(step & step::entry);
    const int learns = unsigned{alone} & unsigned{(step & step::useless) != 0} & unsigned{!base_sure};
    base = static_cast<std::int8_t>(base + (learns & taken) - (learns & !taken));

    // After a wrong prediction a longer history gets a chance, from the table behind the provider on; the start rotates so that
    // one table does not take them all.
    unsigned useless = 0; // bit t: table t + 1
#pragma GCC unroll 4
    for (unsigned t = 1; t <= kTables; ++t)
        useless |= static_cast<unsigned>(counters[places[t].entry] <= kCounterMask) << (t - 1);
    const unsigned asks = unsigned{says != taken} & unsigned{provider < kTables};
    const unsigned rotates = asks & unsigned{provider + 1u < kTables};
    allocation_ += rotates;
    const unsigned first = provider + (rotates & unsigned{(allocation_ & 3) == 0});
    const unsigned free = useless & ~0u << first;
    const auto t = static_cast<unsigned>(std::countr_zero(free | 1u << (kTables - 1))) + 1;
    const std::uint32_t finds = 0u - (asks & unsigned{free != 0});
    const std::uint32_t place =
        nowhere ^ ((nowhere ^ places[t].entry) & finds); // compilers make branches of selections
    tags[place] = places[t].tag;
    counters[place] = entry_of(kWeaklyTaken - 1 + taken, 0);
    if (__builtin_expect(asks & unsigned{free == 0}, 0)) {
        for (unsigned k = provider + 1u; k <= kTables; ++k) {
            std::uint8_t& e = counters[places[k].entry];
            if (e > kCounterMask)
                e = static_cast<std::uint8_t>(e - (1 << kUsefulShift)); // the first may not have been asked
        }
    }
    return says;
}

bool BranchPredictor::indirect(std::uint64_t pc, std::uint64_t target) {
    const std::uint64_t mask = params_.indirect - 1;
    Indirect& by_pc = indirect_base_[pc >> 2 & mask];
    const std::uint64_t h = ((history_ & 0xff) * kTableMix[0] ^ path_ * kTableMix[1] ^ pc * kMix) >> 40;
    Indirect& by_history = indirect_history_[h & mask];
    const Indirect& used = by_history.pc == pc ? by_history : by_pc;
    const bool right = used.pc == pc && used.target == target;
    // The plain table keeps the last target; the other learns where that is not enough.
    if (!right && (by_history.pc == pc || by_pc.pc == pc)) by_history = {pc, target};
    by_pc = {pc, target};
    return right;
}

std::uint8_t BranchPredictor::target_known_slow(std::uint64_t pc) {
    const bool next_at_hand = micro_.has(pc);
    if (next_at_hand) micro_.leave(pc);
    comes_to_hand(pc);
    if (next_at_hand) return params_.micro_bubble;
    if (main_.empty()) return params_.decode_bubble;
    const std::uint64_t window = pc / kWindow;
    Btb* const set = &main_[window % params_.main_btb_sets * params_.main_btb_ways];
    Btb *found = nullptr, *victim = set;
    bool choice = false;
    ++clock_;
    for (unsigned w = 0; w < params_.main_btb_ways; ++w) {
        if (set[w].pc == pc) found = &set[w];
        choice |= set[w].pc / kWindow == window && set[w].pc > pc;
        if (clock_ - set[w].used > clock_ - victim->used) victim = &set[w];
    }
    if (!found) {
        *victim = {pc, clock_};
        return params_.decode_bubble;
    }
    found->used = clock_;
    return static_cast<std::uint8_t>(params_.main_bubble + (choice ? params_.main_choice : 0));
}

namespace {

/// The branch in an even line of text that is passed through.
struct Passed {
    explicit Passed(std::uint64_t line)
        // Anywhere in its line, so that all entries of direct-mapped parts get their share.
        : pc((line * 16 + (line * kMix >> 60)) << 2), kind(line / 2 % 8) {}
    bool taken() const { return kind < 5; }
    bool decides() const { return kind == 3; }
    bool asks() const { return kind == 0; }

    std::uint64_t pc, kind;
};

constexpr std::uint64_t kLineOfText = 64;

} // namespace

void BranchPredictor::Passage::begin(std::uint64_t pc, unsigned lines) {
    clear();
    first = (pc / kLineOfText + 1) & ~std::uint64_t{1};
    end = pc / kLineOfText + std::min(lines, kMostLines);
    for (std::uint64_t line = first; line < end; line += 2) {
        const Passed b(line);
        history = history << 1 | b.taken();
        ++count;
        deciders += b.decides();
        if (!b.taken()) continue;
        path = path << 3 ^ b.pc >> 2;
        targets[taken_count++] = b.pc | (b.asks() ? 1 : 0);
    }
}

/// A taken branch at `pc` becomes known. The large BTB needs not be asked for each: it has room.
inline void BranchPredictor::pass(std::uint64_t pc, bool ask) {
    if (at_hand(pc)) return;
    if (ask) {
        target_known_slow(pc);
    } else {
        comes_to_hand(pc);
    }
}

unsigned BranchPredictor::pass_through(Passage& p) {
    // What code was called for decides the way of some branches: now and then it is another one.
    constexpr std::uint32_t kEvery = 16;
    if (p.seen && passes_ % kEvery + p.deciders < kEvery) {
        passes_ += p.deciders;
        if (p.count) older_ = older_ << p.count | history_ >> (64 - p.count);
        history_ = history_ << p.count | p.history;
        path_ = (path_ << std::min(3 * p.taken_count, 63u) ^ p.path) & 0xffff;
        for (unsigned i = 0; i < p.taken_count; ++i) pass(p.targets[i] & ~std::uint64_t{1}, p.targets[i] & 1);
        return 0;
    }
    unsigned wrong = 0;
    bool saw_all = true;
    for (std::uint64_t line = p.first; line < p.end; line += 2) {
        const Passed b(line);
        if (b.decides() && ++passes_ % kEvery == 0) {
            tagged(b.pc, !b.taken());
            ++wrong;
            remember(!b.taken());
            saw_all = false;
            continue;
        }
        Bias& bias = bias_[b.pc >> 2 & (params_.bimodal - 1)];
        const Bias now = b.taken() ? Bias::always : Bias::never;
        if (bias != now && bias != Bias::both) {
            wrong += b.taken() || bias != Bias::unseen;
            bias = bias == Bias::unseen ? now : Bias::both;
        }
        remember(b.taken());
        if (!b.taken()) continue;
        path_ = (path_ << 3 ^ b.pc >> 2) & 0xffff;
        pass(b.pc, b.asks());
    }
    p.seen |= saw_all;
    return wrong;
}

} // namespace rkperf::cpu
