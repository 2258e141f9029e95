// SPDX-License-Identifier: Apache-2.0
#include "models/cpu_a76/pipeline.h"

namespace rkperf::cpu_a76 {

using cpu::DecodedOp;

namespace {
/// AESD and AESIMC, which go together as AESE and AESMC do.
bool inverse(const DecodedOp& op) { return op.insn.raw >> 12 & 1; }
} // namespace

void Pipeline::restart(std::uint64_t cycle) {
    slots_ = cycle * kWidth;
    fetch_ = cycle;
    lead_ = 0;
    retire_slots_ = cycle * kRetireWidth;
    memory_order_ = 0;
    redirected_ = true;
}

std::uint64_t Pipeline::take_port_long(std::uint8_t pipes, std::uint64_t t, unsigned cycles) {
    std::uint64_t mine = 0;
    t = take_port(pipes, t, mine);
    booked_ = std::max(booked_, t + cycles);
    for (unsigned c = 1; c < cycles; ++c) {
        std::uint64_t& e = calendar_[(t + c) % kCalendar];
        e = (t + c) << 8 | (e >> 8 == t + c ? e & 0xff : 0) | mine;
    }
    return t;
}

std::uint64_t Pipeline::begin_more(const DecodedOp& op) {
    const auto& src = op.insn.src;
    std::uint64_t t = cpu::latest(dispatch_memory(op.is_store), ready_[src[0]], ready_[src[1]], memory_order_);
    if (!op.is_store) t = cpu::latest(t, ready_[src[2]], ready_[src[3]]); // store data may come later
    // Atomics and exclusive stores act on the line, where a store goes after it has retired.
    if (op.timing.detail & detail::oldest) t = cpu::latest(t, retired(), drained_);
    t = take_port(op.timing.pipes, t);
    for (unsigned u = 1; u < op.timing.uops; ++u) t = take_port(op.timing.pipes, t);
    return t;
}

void Pipeline::execute(const DecodedOp& op, unsigned latency, unsigned occupancy) {
    const auto& src = op.insn.src;
    if (__builtin_expect(op.timing.detail & detail::fused, 0) && head_ == fusable_head_ &&
        inverse(op) == fusable_inverse_ && op.timing.dst[0] == fusable_ && (src[0] == fusable_ || src[1] == fusable_))
        return; // its result is there when that of the AESE or AESD is
    std::uint64_t t = cpu::latest(dispatch(), ready_[src[0]], ready_[src[1]], ready_[src[2]]);
    std::uint64_t accumulator = ready_[src[3]];
    if (op.timing.accumulate && accumulator == accumulated_[src[3]])
        accumulator -= std::min<std::uint64_t>(accumulator, op.timing.accumulate);
    t = std::max(t, accumulator);
    if (occupancy > kLong) {
        std::uint64_t& free = op.timing.pipes & port::V ? fp_div_free_ : div_free_;
        t = std::max(t, free);
        free = t + occupancy;
    } else {
        t = occupancy > 1 ? take_port_long(op.timing.pipes, t, occupancy) : take_port(op.timing.pipes, t);
    }
    for (unsigned u = 1; u < op.timing.uops; ++u) t = take_port(op.timing.pipes, t);
    const std::uint64_t done = t + latency;
    const auto& dst = op.timing.dst;
    ready_[dst[0]] = done;
    ready_[dst[1]] = done + op.timing.second;
    ready_[dst[2]] = done;
    if (op.timing.accumulate) accumulated_[dst[0]] = done;
    retire(done);
    if (op.insn.timing == a64::TimingClass::aes) {
        fusable_head_ = head_;
        fusable_ = dst[0];
        fusable_inverse_ = inverse(op);
    }
}

void Pipeline::divide(const DecodedOp& op, unsigned quotient_bits) {
    // Iterative with early out: four quotient bits a cycle over a base of five cycles give the published 5..12 and 5..20.
    const unsigned most = op.timing.latency;
    const unsigned cycles = std::min(most, 4 + std::max(1u, (quotient_bits + 3) / 4));
    execute(op, cycles, cycles);
}

std::uint64_t Pipeline::begin_system(const DecodedOp& op) {
    const auto& src = op.insn.src;
    // Waits for everything older, as the register or barrier it is about must see it done.
    return cpu::latest(dispatch(), retired(), ready_[src[0]], ready_[src[1]]);
}

void Pipeline::system(const DecodedOp& op, std::uint64_t ready) {
    const bool dsb = op.insn.kind == a64::InsnKind::barrier_dsb;
    std::uint64_t done = ready + op.timing.latency;
    if (dsb) done = std::max(done, drained_ + op.timing.latency);
    ready_[op.timing.dst[0]] = ready_[op.timing.dst[1]] = done;
    retire(done);
    memory_order_ = std::max(memory_order_, done);
    if (op.insn.kind == a64::InsnKind::barrier_dmb) return;
    // Nothing younger is dispatched before.
    const std::uint64_t at = slots_ / kWidth;
    if (done > at) {
        stall(op.insn.kind == a64::InsnKind::isb ? cpu::Lane::stall_frontend : cpu::Lane::stall_backend, done);
        slots_ = done * kWidth;
    }
    fetch_stall(done, cpu::Lane::stall_frontend);
    if (op.insn.kind == a64::InsnKind::isb) lead_ = 0; // what was predicted is thrown away
}

} // namespace rkperf::cpu_a76
