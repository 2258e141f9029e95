// SPDX-License-Identifier: Apache-2.0
#include "models/cpu_a55/pipeline.h"

namespace rkperf::cpu_a55 {

using cpu::DecodedOp;
using cpu::Lane;

namespace {
/// AESD and AESIMC, which go together as AESE and AESMC do.
bool inverse(const DecodedOp& op) { return op.insn.raw >> 12 & 1; }
} // namespace

void Pipeline::restart(std::uint64_t cycle) {
    issue_ = fetch_ = cycle;
    count_ = used_ = 0;
    holds_.fill({});
    memory_order_ = 0;
    redirected_ = true;
    fetch_why_ = Lane::stall_frontend;
}

void Pipeline::front_end_stall() {
    next_cycle();
    if (fetch_ > issue_) {
        const std::uint64_t lost = fetch_ - issue_;
        stalls_.add(Lane::stall_frontend, lost);
        if (fetch_why_ != Lane::stall_frontend) stalls_.add(fetch_why_, lost);
        issue_ = fetch_;
    }
    fetch_why_ = Lane::stall_frontend;
}

void Pipeline::issue_late(const DecodedOp& op, std::uint64_t need) {
    next_cycle();
    if (std::max(need, issue_) >= holds_[0].from) held(need);
    if (need > issue_) {
        back_end_stall(op, need - issue_);
        issue_ = need;
    }
    count_ = 1;
}

void Pipeline::back_end_stall(const DecodedOp& op, std::uint64_t cycles) {
    stalls_.add(Lane::stall_backend, cycles);
    std::uint8_t latest = a64::reg::none;
    for (std::uint8_t s : op.insn.src)
        if (ready_[s] > std::max(ready_[latest], issue_)) latest = s; // what was there before does not count
    // No operand: then it is the older load that has still to write what this one loads.
    const bool load = latest == a64::reg::none && op.group == cpu::OpGroup::load;
    if (load) latest = op.timing.dst[0];
    // Nor that: it waits for the load unit.
    const std::uint64_t writes = earlier(ready_[latest], op.timing.latency);
    const std::uint8_t why = load && writes <= issue_ ? 0 : why_[latest];
    if (why & (kCacheMiss | kTlbMiss)) return load_stall(why, cycles);
    stalls_.add(Lane::stall_interlock, cycles);
    const bool memory = op.group == cpu::OpGroup::load || op.group == cpu::OpGroup::store;
    if (memory) stalls_.add(Lane::stall_interlock_agu, cycles);
    if (why & detail::fp) stalls_.add(Lane::stall_interlock_fpu, cycles);
}

void Pipeline::load_stall(std::uint8_t why, std::uint64_t cycles) {
    stalls_.add(Lane::stall_load, cycles);
    if (why & kCacheMiss) stalls_.add(Lane::stall_load_cache, cycles);
    if (why & kTlbMiss) stalls_.add(Lane::stall_load_tlb, cycles);
}

void Pipeline::hold_in_write(std::uint64_t at, std::uint64_t ready, std::uint8_t why) {
    for (Hold& h : holds_) {
        if (h.from != ~0ull) continue;
        h = {.from = at + kToWrite, .until = ready + kToWrite, .why = why};
        return;
    }
    holds_.back().until = std::max(holds_.back().until, ready + kToWrite);
}

/// An operation would issue at `need` or in the present cycle, when one that waits for its data stands in wr.
void Pipeline::held(std::uint64_t need) {
    while (std::max(need, issue_) >= holds_[0].from) {
        const Hold h = holds_[0];
        std::move(holds_.begin() + 1, holds_.end(), holds_.begin());
        holds_.back() = {};
        for (Hold& later : holds_)
            if (later.from != ~0ull) later.from += h.stands();
        // What waits for the data, or for anything else that is not there yet, has issued before, and stands behind the load.
        const std::uint64_t until = h.until - (need > std::max(h.from, issue_));
        if (until <= issue_) continue;
        next_cycle();
        stalls_.add(Lane::stall_backend, until - issue_);
        load_stall(h.why, until - issue_);
        issue_ = until;
    }
}

void Pipeline::execute(const DecodedOp& op, unsigned latency, unsigned occupancy) {
    const auto& src = op.insn.src;
    const std::uint8_t units = op.timing.pipes;
    if (__builtin_expect(op.timing.detail & detail::fused, 0)) {
        const bool next = slot() == fusable_slot_;
        if (next && op.timing.dst[0] == fusable_ && inverse(op) == fusable_inverse_) return;
    }
    // The multiplier adds in ex2.
    const bool forwarded = op.timing.accumulate && ready_[src[3]] == accumulated_[src[3]];
    const unsigned late = forwarded ? op.timing.accumulate : units & unit::MAC ? 1 : 0;
    const std::uint64_t accumulator = earlier(ready_[src[3]], late);
    std::uint64_t need = cpu::latest(ready_[src[0]], ready_[src[1]], ready_[src[2]], accumulator);
    std::uint64_t* const free = units & unit::MAC   ? &mac_free_
                                : units & unit::DIV ? &div_free_
                                : occupancy > 2     ? &fp_div_free_
                                                    : nullptr;
    if (free) need = std::max(need, *free);
    const std::uint64_t t = issue(op, need);
    if (free) {
        *free = t + occupancy;
    } else if (occupancy > 1) {
        issues_until(op, t + occupancy - 1);
    }
    const auto& dst = op.timing.dst;
    finish(dst[0], t + latency, op);
    finish(dst[1], t + latency + op.timing.second, op);
    finish(dst[2], t + latency, op);
    if (op.timing.accumulate) accumulated_[dst[0]] = t + latency;
    if (op.insn.timing == a64::TimingClass::aes) {
        fusable_ = dst[0];
        fusable_inverse_ = inverse(op);
        fusable_slot_ = slot();
    }
}

void Pipeline::divide(const DecodedOp& op, unsigned quotient_bits) {
    // Ends as soon as the result is known: 3 to 11 cycles for 32 bits, 3 to 19 for 64, one more with signs unless it is zero
    // (guide 3.4, 4.5). Nothing younger completes before it: the pipeline stands still for what is beyond wr.
    constexpr unsigned kLeast = 3, kBitsPerCycle = 4;
    const bool is_signed = op.insn.raw >> 10 & 1;
    const unsigned cycles = kLeast + (quotient_bits + kBitsPerCycle - 1) / kBitsPerCycle + (is_signed && quotient_bits);
    execute(op, cycles, cycles);
    if (cycles == kLeast) return;
    for (Lane l : {Lane::stall_backend, Lane::stall_interlock}) stalls_.add(l, cycles - kLeast);
    issues_until(op, issue_ + (cycles - kLeast));
}

void Pipeline::issues_until(const DecodedOp& op, std::uint64_t last) {
    const bool alone = op.timing.detail & detail::alone;
    issue_ = last + alone;
    count_ = !alone;
    used_ = alone ? 0 : op.timing.pipes;
}

std::uint8_t Pipeline::why_of(std::uint32_t slow) {
    return static_cast<std::uint8_t>((slow & cpu::slow::cache_miss ? kCacheMiss : 0) |
                                     (slow & cpu::slow::tlb_miss ? kTlbMiss : 0));
}

void Pipeline::slow_store(std::uint64_t at, std::uint32_t slow) {
    // The translation is needed before the store leaves the pipeline; the line is the store buffer's affair.
    const std::uint64_t translated = at + cpu::slow::translation(slow);
    if (translated <= at) return;
    next_cycle();
    if (translated <= issue_) return;
    const std::uint64_t lost = translated - issue_;
    for (Lane l : {Lane::stall_backend, Lane::stall_store, Lane::stall_store_tlb}) stalls_.add(l, lost);
    issue_ = translated;
}

void Pipeline::store_buffer_stall(const DecodedOp& op, std::uint64_t& need) {
    const std::uint64_t free = store_buffer_[stores_ % kMaxStoreBuffer];
    if (need > issue_) { // first the operands, for their own reason
        issue_late(op, need);
        count_ = 0;
    }
    next_cycle();
    if (free > issue_) {
        const std::uint64_t lost = free - issue_;
        for (Lane l : {Lane::stall_backend, Lane::stall_store, Lane::stall_store_buffer}) stalls_.add(l, lost);
        issue_ = free;
    }
    need = std::min(need, issue_);
}

std::uint64_t Pipeline::begin_system(const DecodedOp& op) {
    const auto& src = op.insn.src;
    return issue(op, cpu::latest(retired(), ready_[src[0]], ready_[src[1]]));
}

void Pipeline::system(const DecodedOp& op, std::uint64_t ready) {
    std::uint64_t done = ready + op.timing.latency;
    if (op.insn.kind == a64::InsnKind::barrier_dsb) done = std::max(done, drained_ + op.timing.latency);
    finish(op.timing.dst[0], done, op);
    finish(op.timing.dst[1], done, op);
    memory_order_ = std::max(memory_order_, done);
    if (op.insn.kind == a64::InsnKind::barrier_dmb) return;
    next_cycle();
    if (done > issue_) {
        if (op.insn.kind == a64::InsnKind::isb) {
            stalls_.add(Lane::stall_frontend, done - issue_);
        } else {
            stalls_.add(Lane::stall_backend, done - issue_);
            stalls_.add(Lane::stall_interlock, done - issue_);
        }
        issue_ = done;
    }
    fetch_ = std::max(fetch_, issue_);
}

} // namespace rkperf::cpu_a55
