// SPDX-License-Identifier: Apache-2.0
#include "models/cpu/code_cache.h"

#include <cstring>

namespace rkperf::cpu {
namespace {

/// Budget that a heavy operation takes beyond one instruction: 64 accesses at the weight of a plain one's 4.
constexpr std::uint32_t kHeavyCost = 16;

} // namespace

std::uint32_t most_cycles(const DecodedOp& op) {
    const OpTiming& t = op.timing;
    constexpr unsigned kSlack = 8;
    return t.latency + t.second + t.forward + (t.occupancy + 1u) * t.uops + kSlack;
}

CodePage& CodeCache::page(std::uint64_t ppn) {
    std::unique_ptr<CodePage>& p = pages_[ppn];
    if (!p) {
        p = std::make_unique<CodePage>();
        p->ppn = ppn;
    }
    return *p;
}

Block* CodeCache::decode(CodePage& page, std::uint64_t offset) {
    auto block = std::make_unique<Block>();
    const std::uint8_t* code = memory_.host(PhysAddr(page.ppn << kPageShift));
    const std::uint64_t end = (offset & ~(kLineSize - 1)) + kLineSize;
    block->line = static_cast<std::uint8_t>(offset >> kLineShift);
    block->ops.reserve((end - offset) / 4 + 1);
    for (std::uint64_t at = offset; at < end; at += 4) {
        std::uint32_t raw = 0;
        std::memcpy(&raw, code + at, 4);
        DecodedOp& op = block->ops.emplace_back(make_op(raw, timing_of_));
        if (handler_of_) op.handler = handler_of_(op, *block);
        const std::uint32_t reads = reads_memory(op.insn);
        const std::uint32_t lanes = static_lanes(op.insn, at, at == offset) | reads << kReads;
        block->op_lanes[(at - offset) / 4] = lanes;
        for (unsigned l = 0; l < kVectorLanes; ++l)
            if (lanes >> l & 1) block->lanes.add(l);
        block->fetches += lanes >> index_of(Lane::fetch) & 1;
        block->reads += static_cast<std::uint8_t>(reads);
        block->cycles += most_cycles(op);
        block->cost += op.heavy ? 1 + kHeavyCost : 1;
        if (a64::ends_block(op.insn)) break;
    }
    block->size = static_cast<std::uint16_t>(block->ops.size());
    block->place = {static_cast<unsigned>(offset % kLineSize) / 4, block->size};
    block->ops.emplace_back().handler = end_;
    Block* b = block.get();
    if (page.blocks.empty()) ++census_[page.ppn % kCensus];
    page.blocks.push_back(std::move(block));
    page.at[offset / 4] = b;
    ++decoded_;
    return b;
}

void CodeCache::forget(CodePage& page) {
    if (page.blocks.empty()) return;
    --census_[page.ppn % kCensus];
    ++drops_;
    page.at.fill(nullptr);
    page.blocks.clear();
}

void CodeCache::drop_blocks(std::uint64_t ppn) {
    if (CodePage* p = find(ppn)) forget(*p);
}

void CodeCache::drop_all_blocks() {
    for (auto& entry : pages_) forget(*entry.second);
}

void CodeCache::l1i_line_lost(std::uint64_t pline) {
    constexpr unsigned kLinesPerPageShift = kPageShift - kLineShift;
    if (pline == ~std::uint64_t{0}) {
        for (auto& entry : pages_) entry.second->l1i.fill(nullptr);
        return;
    }
    if (CodePage* p = find(pline >> kLinesPerPageShift)) p->l1i[pline & ((1u << kLinesPerPageShift) - 1)] = nullptr;
}

} // namespace rkperf::cpu
