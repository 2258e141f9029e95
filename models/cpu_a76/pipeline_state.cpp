// SPDX-License-Identifier: Apache-2.0
// The pipeline's state as an image, relative to the cycle of dispatch. Nothing waits for what is there by then. The
// addresses of stores and loads under way stay in the pipeline itself (stores_, banks_): they are inputs of a block.
#include "models/cpu_a76/pipeline.h"

#include <algorithm>

namespace rkperf::cpu_a76 {
namespace {

/// Whose time it is.
constexpr unsigned kReady = 1, kAccumulated = 2, kBoth = kReady | kAccumulated;
constexpr unsigned kFusableShift = 3, kInverseShift = 4, kRegisterShift = 5, kLeftShift = 12;

} // namespace

std::uint64_t Pipeline::least_ceiling(std::uint64_t enough) const {
    std::uint64_t last = cpu::latest(cpu::latest(present(), retired(), fetch_, drained_), memory_order_,
                                     cpu::latest(div_free_, fp_div_free_, booked_));
    if (last + kCeilingMargin >= enough) return last + kCeilingMargin;
    for (const std::uint64_t ready : ready_) last = cpu::latest(last, ready);
    return last + kCeilingMargin;
}

void Pipeline::save(cpu::PipeImage& image, bool inside) const {
    const std::uint64_t at = present();
    // Behind a block nothing is dispatched before the front end has delivered; a present cycle with a dispatch in it is not lost.
    const bool waits = !inside && fetch_ > at;
    const std::uint64_t next_slot = waits ? fetch_ * kWidth : slots_, next = next_slot / kWidth;
    const auto rel = [&](std::uint64_t t) { return t > next ? t - at : 0; };
    const bool fusable = head_ == fusable_head_;
    image.put(
        (waits ? slots_ % kWidth != 0 : slots_ % kWidth) | std::uint64_t{redirected_} << 2 |
        std::uint64_t{fusable} << kFusableShift | std::uint64_t{redirected_ ? 0 : left_} << kLeftShift |
        (fusable ? std::uint64_t{fusable_inverse_} << kInverseShift | std::uint64_t{fusable_} << kRegisterShift : 0));
    // What comes next retires in a later cycle if it is dispatched in one.
    const std::uint64_t retirement = retired() < next ? retired() * kRetireWidth : retire_slots_;
    image.put(retirement + kRetireWidth - at * kRetireWidth);
    // The front end goes on from where it is if the block that it has delivered ends in a taken branch. Far behind, its lead
    // will be the greatest, whatever it is now.
    const std::uint64_t behind = furthest_behind();
    const bool far = fetch_ + behind < at;
    image.put((!inside ? fetch_at() : far ? at - behind : fetch_) + behind - at);
    image.put(!inside ? lead() : far ? 0 : lead_);
    image.put(rel(memory_order_));
    // Nobody asks for it alone before everything has retired.
    const std::uint64_t last = std::max(retired(), next);
    image.put(drained_ > last ? drained_ - at : 0);
    image.put(rel(div_free_));
    image.put(rel(fp_div_free_));
    const unsigned registers = image.reserve();
    unsigned n = 0;
    cpu::each_later(next, ready_, accumulated_, [&](unsigned r) {
        if (r >= cpu::kReadySink) return;
        if (ready_[r] > next) {
            image.put(r << 2 | (accumulated_[r] == ready_[r] ? kBoth : kReady));
            image.put(ready_[r] - at);
            ++n;
        }
        if (accumulated_[r] > next && accumulated_[r] != ready_[r]) {
            image.put(r << 2 | kAccumulated);
            image.put(accumulated_[r] - at);
            ++n;
        }
    });
    image.set(registers, n);
    // An entry of the window or of a queue is waited for by the operation that is to take its place; it does not matter
    // if that is not dispatched before then anyway, behind all that take the places in between.
    // `most`: none is later.
    const auto put_places = [&](unsigned places, std::uint64_t most, auto place) {
        const std::uint64_t from = next_slot + places - 1; // the youngest entry's place is taken last
        const auto first =
            static_cast<unsigned>(std::min<std::uint64_t>(from > kWidth * most ? from - kWidth * most : 0, places));
        unsigned end = first;
        for (unsigned k = first; k < places; ++k)
            if (place(k) > (from - k) / kWidth) end = k + 1;
        image.put(end - first);
        if (end == first) return;
        image.put(first);
        for (unsigned k = first; k < end; ++k) image.put(place(k) > (from - k) / kWidth ? place(k) - at : 0);
    };
    put_places(kWindow, retired(), [&](unsigned k) { return window_[(head_ + kWindow - 1 - k) % kWindow]; });
    put_places(params_.load_queue, retired(),
               [&](unsigned k) { return load_queue_[(loads_ - 1 - k) % kMaxLoadQueue]; });
    put_places(params_.store_queue, std::max(retired(), drained_),
               [&](unsigned k) { return store_queue_[(stores_seen_ - 1 - k) % kMaxStoreQueue]; });
    const unsigned ports = image.reserve();
    const std::uint64_t end = std::max(last, booked_) + 1;
    // Bookings further ahead than the calendar reaches stand where those of nearer cycles would.
    if (end > at + kCalendar && std::any_of(calendar_.begin(), calendar_.end(),
                                            [&](std::uint64_t e) { return e >> 8 >= at + kCalendar && e & 0xff; }))
        image.refuse();
    n = 0;
    for (std::uint64_t t = next; t < std::min(end, at + kCalendar); ++t) {
        const std::uint64_t e = calendar_[t % kCalendar];
        if (e >> 8 != t || (e & 0xff) == 0) continue;
        image.put(t - at);
        image.put(e & 0xff);
        ++n;
    }
    image.set(ports, n);
}

void Pipeline::restore(std::span<const std::uint16_t> words, std::uint64_t at) {
    cpu::PipeImageReader image(words);
    const auto time = [&] {
        const std::uint64_t t = image.get();
        return t ? at + t : 0;
    };
    const bool clear = std::max(retired(), drained_) > at; // else nothing old can be taken for something under way
    const unsigned front = image.get();
    slots_ = at * kWidth + front % kWidth;
    redirected_ = front >> 2 & 1;
    fusable_inverse_ = front >> kInverseShift & 1;
    fusable_ = static_cast<std::uint8_t>(front >> kRegisterShift & ((1u << (kLeftShift - kRegisterShift)) - 1));
    left_ = front >> kLeftShift;
    fusable_head_ = front >> kFusableShift & 1 ? head_ : ~std::uint64_t{0};
    retire_slots_ = at * kRetireWidth - kRetireWidth + image.get();
    fetch_ = at - furthest_behind() + image.get();
    lead_ = image.get();
    memory_order_ = time();
    drained_ = time();
    div_free_ = time();
    fp_div_free_ = time();
    ready_.fill(0);
    accumulated_.fill(0);
    for (unsigned n = image.get(); n; --n) {
        const unsigned what = image.get();
        const std::uint64_t time = at + image.get();
        if (what & kReady) ready_[what >> 2] = time;
        if (what & kAccumulated) accumulated_[what >> 2] = time;
    }
    if (clear) {
        window_.fill(0);
        load_queue_.fill(0);
        store_queue_.fill(0);
    }
    const auto get_places = [&](auto place) {
        const unsigned count = image.get();
        if (!count) return;
        const unsigned first = image.get();
        for (unsigned k = first; k < first + count; ++k) place(k) = time();
    };
    get_places([&](unsigned k) -> std::uint64_t& { return window_[(head_ + kWindow - 1 - k) % kWindow]; });
    get_places([&](unsigned k) -> std::uint64_t& { return load_queue_[(loads_ - 1 - k) % kMaxLoadQueue]; });
    get_places([&](unsigned k) -> std::uint64_t& { return store_queue_[(stores_seen_ - 1 - k) % kMaxStoreQueue]; });
    for (unsigned n = image.get(); n; --n) {
        const std::uint64_t t = at + image.get();
        calendar_[t % kCalendar] = t << 8 | image.get();
        booked_ = std::max(booked_, t);
    }
}

bool Pipeline::note_access(const cpu::DecodedOp& op, std::uint64_t entry, std::uint64_t issue, std::uint64_t va,
                           cpu::ReplayInput& input) const {
    input.issue = static_cast<std::uint16_t>(issue - entry);
    if (op.is_store) {
        const Store& s = stores_[va >> 3 & (kStores - 1)];
        input.done = static_cast<std::uint16_t>(s.data - entry);
        input.drained = static_cast<std::uint16_t>(s.done - entry);
        return s.done - entry <= 0xffff;
    }
    input.read_at = static_cast<std::uint16_t>(read_at_ - entry);
    input.done = static_cast<std::uint16_t>(loaded_ - entry);
    input.from_cache = loaded_ == read_at_ + op.timing.latency;
    return loaded_ - entry <= 0xffff && bank_waits_ <= 1; // of more it is not known when they were
}

bool Pipeline::note_slow_access(const cpu::DecodedOp& op, std::uint64_t entry, std::uint64_t issue, std::uint64_t took,
                                std::uint32_t slow, std::uint64_t va, cpu::ReplayInput& input) const {
    if (!note_access(op, entry, issue, va, input)) return false;
    if (op.is_store) return true;
    // Only what found its bank free and took nothing from a store is known by what it took.
    const std::uint64_t split = slow & cpu::slow::split ? params_.split_penalty : 0;
    return bank_waits_ == 0 && loaded_ == issue + took + op.timing.latency + split;
}

} // namespace rkperf::cpu_a76
