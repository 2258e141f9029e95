// SPDX-License-Identifier: Apache-2.0
// The pipeline's state as an image, relative to the present issue cycle. Nothing waits for what is there by then.
#include "models/cpu_a55/pipeline.h"

namespace rkperf::cpu_a55 {
namespace {

/// Whose time it is.
constexpr unsigned kReady = 1, kAccumulated = 2, kBoth = kReady | kAccumulated;
constexpr unsigned kToldShift = 8; // behind Hold::why

} // namespace

std::uint64_t Pipeline::least_ceiling(std::uint64_t enough) const {
    std::uint64_t last = cpu::latest(cpu::latest(issue_, fetch_, late_, drained_),
                                     cpu::latest(memory_order_, mac_free_, div_free_, fp_div_free_),
                                     cpu::latest(load_free_, store_free_, prefetch_free_));
    if (last + kCeilingMargin >= enough) return last + kCeilingMargin;
    for (unsigned r = 0; r < ready_.size(); ++r) last = cpu::latest(last, ready_[r], replay_[r]);
    return last + kCeilingMargin;
}

void Pipeline::save(cpu::PipeImage& image, bool inside) const {
    const std::uint64_t at = issue_;
    const auto rel = [&](std::uint64_t t) { return t > at ? t - at : 0; };
    const bool fusable = slot() == fusable_slot_;
    // What a prefetch instruction would load is nobody's base.
    const bool chased = chased_ != cpu::kReadySink && chased_ready_ > at && chased_ready_ == ready_[chased_];
    image.put(count_ | std::uint64_t{count_ ? used_ : std::uint8_t{}} << 8);
    image.put(std::uint64_t{redirected_} | std::uint64_t{fusable} << 1 | std::uint64_t{chased} << 2 |
              std::uint64_t{fusable && fusable_inverse_} << 3);
    image.put((fusable ? fusable_ : 0u) | (chased ? chased_ : 0u) << 8);
    // The front end goes on from where it is if the block that it has delivered ends in a taken branch.
    const std::uint64_t behind = params_.run_ahead + cpu::ReplayNode::kMostBubble;
    image.put((inside ? std::max(fetch_, at - std::min(at, behind)) : fetch_at()) + behind - at);
    image.put(static_cast<std::uint64_t>(fetch_why_));
    image.put(rel(memory_order_));
    image.put(rel(drained_));
    image.put(rel(late_));
    image.put(rel(mac_free_));
    image.put(rel(div_free_));
    image.put(rel(fp_div_free_));
    image.put(rel(load_free_));
    image.put(rel(store_free_));
    image.put(rel(prefetch_free_));
    const unsigned registers = image.reserve();
    unsigned n = 0;
    cpu::each_later(at, ready_, accumulated_, [&](unsigned r) {
        if (ready_[r] > at) {
            image.put(r << 8 | std::uint64_t{why_[r]} << 2 | (accumulated_[r] == ready_[r] ? kBoth : kReady));
            image.put(ready_[r] - at);
            ++n;
        }
        if (accumulated_[r] > at && accumulated_[r] != ready_[r]) {
            image.put(r << 8 | kAccumulated);
            image.put(accumulated_[r] - at);
            ++n;
        }
    });
    image.set(registers, n);
    const unsigned replays = image.reserve();
    n = 0;
    cpu::each_later(at, replay_, replay_, [&](unsigned r) {
        if (replay_[r] <= at) return;
        image.put(r);
        image.put(replay_[r] - at);
        ++n;
    });
    image.set(replays, n);
    for (n = 0; n < params_.store_buffer; ++n) image.put(rel(store_buffer_[(stores_ + n) % kMaxStoreBuffer]));
    const unsigned holds = image.reserve();
    n = 0;
    std::uint64_t moved = 0; // by those that have come to wr
    for (Hold h : holds_) {
        if (h.from == ~0ull) break;
        h.from += moved;
        if (h.from <= at) {
            moved += h.stands();
            h.told = true;
            if (h.until <= at) continue; // over
        }
        image.put(std::uint64_t{h.why} | std::uint64_t{h.told} << kToldShift);
        image.put(rel(h.from));
        image.put(rel(h.until));
        ++n;
    }
    image.set(holds, n);
}

void Pipeline::restore(std::span<const std::uint16_t> words, std::uint64_t at) {
    cpu::PipeImageReader image(words);
    const auto time = [&] {
        const std::uint64_t t = image.get();
        return t ? at + t : 0;
    };
    issue_ = at;
    const unsigned issued = image.get();
    count_ = static_cast<std::uint8_t>(issued);
    used_ = static_cast<std::uint8_t>(issued >> 8);
    const unsigned flags = image.get();
    const unsigned named = image.get();
    redirected_ = flags & 1;
    fusable_slot_ = flags & 2 ? slot() : ~0ull;
    fusable_inverse_ = flags & 8;
    fusable_ = static_cast<std::uint8_t>(named);
    chased_ = static_cast<std::uint8_t>(named >> 8);
    fetch_ = at - params_.run_ahead - cpu::ReplayNode::kMostBubble + image.get();
    fetch_why_ = static_cast<cpu::Lane>(image.get());
    memory_order_ = time();
    drained_ = time();
    late_ = time();
    mac_free_ = time();
    div_free_ = time();
    fp_div_free_ = time();
    load_free_ = time();
    store_free_ = time();
    prefetch_free_ = time();
    ready_.fill(0);
    accumulated_.fill(0);
    for (unsigned n = image.get(); n; --n) {
        const unsigned what = image.get();
        const std::uint64_t time = at + image.get();
        if (what & kReady) {
            ready_[what >> 8] = time;
            why_[what >> 8] = static_cast<std::uint8_t>(what >> 2 & 0x3f);
        }
        if (what & kAccumulated) accumulated_[what >> 8] = time;
    }
    replay_.fill(0);
    for (unsigned n = image.get(); n; --n) {
        const unsigned r = image.get();
        replay_[r] = at + image.get();
    }
    chased_ready_ = flags & 4 ? ready_[chased_] : ~0ull;
    for (unsigned n = 0; n < params_.store_buffer; ++n) store_buffer_[(stores_ + n) % kMaxStoreBuffer] = time();
    holds_.fill({});
    const unsigned holds = image.get();
    for (unsigned n = 0; n < holds; ++n) {
        const unsigned why = image.get();
        holds_[n].why = static_cast<std::uint8_t>(why);
        holds_[n].told = why >> kToldShift;
        holds_[n].from = at + image.get();
        holds_[n].until = at + image.get();
    }
}

} // namespace rkperf::cpu_a55
