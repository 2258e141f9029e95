// SPDX-License-Identifier: Apache-2.0
#include "models/cpu/replay.h"

#include <algorithm>

namespace rkperf::cpu {

std::uint64_t ReplayTable::hash_of(const PipeImage& image) {
    const auto words = image.words();
    constexpr std::size_t kAtOnce = 4;
    std::uint64_t h = words.size();
    const auto mix = [&h](std::uint64_t w) {
        h = (h ^ w) * 0x9e3779b97f4a7c15;
        h ^= h >> 29;
    };
    std::size_t i = 0;
    for (; i + kAtOnce <= words.size(); i += kAtOnce)
        mix(words[i] | std::uint64_t{words[i + 1]} << 16 | std::uint64_t{words[i + 2]} << 32 |
            std::uint64_t{words[i + 3]} << 48);
    for (; i < words.size(); ++i) mix(words[i]);
    return h;
}

void ReplayTable::clear() {
    std::fill(buckets_.begin(), buckets_.end(), nullptr);
    states_.clear();
    nodes_.clear();
    cuts_.clear();
    inputs_.clear();
    chunk_used_ = kChunk;
    words_ = 0;
    full_ = false;
}

PipeState* ReplayTable::find(const PipeImage& image, std::uint64_t hash) {
    const auto words = image.words();
    buckets_.resize(kBuckets);
    for (PipeState* s = buckets_[hash % kBuckets]; s; s = s->next_in_bucket)
        if (s->hash == hash && std::equal(words.begin(), words.end(), s->words.begin(), s->words.end())) return s;
    return nullptr;
}

PipeState* ReplayTable::make(const PipeImage& image, std::uint64_t hash, std::uint64_t ceiling) {
    const auto words = image.words();
    if (states_.size() == kMostStates || words_ > kMostWords) {
        full_ = true;
        return nullptr;
    }
    words_ += words.size();
    PipeState& s = states_.emplace_back();
    s.hash = hash;
    s.ceiling = static_cast<std::uint32_t>(ceiling);
    s.words.assign(words.begin(), words.end());
    PipeState*& bucket = buckets_[hash % kBuckets];
    s.next_in_bucket = bucket;
    return bucket = &s;
}

ReplayNode* ReplayTable::add(PipeState& state, Block& block, unsigned first) {
    unsigned variants = 0;
    for (ReplayNode* n = state.nodes; n; n = n->other) {
        if (n->block != &block || n->first != first) continue;
        if (!n->known) return n;
        ++variants;
    }
    if (variants == kMostVariants) return nullptr;
    if (nodes_.size() == kMostNodes) {
        full_ = true;
        return nullptr;
    }
    ReplayNode& n = nodes_.emplace_back();
    n.block = &block;
    n.first = static_cast<std::uint8_t>(first);
    n.other = state.nodes;
    return state.nodes = &n;
}

ReplayCut* ReplayTable::add_cut(ReplayNode& node, unsigned op, std::span<const ReplayInput> inputs) {
    unsigned variants = 0;
    for (const ReplayCut* c = node.cuts; c; c = c->other) variants += c->op == op;
    if (variants == kMostVariants) return nullptr;
    if (cuts_.size() == kMostCuts) {
        full_ = true;
        return nullptr;
    }
    ReplayCut& c = cuts_.emplace_back();
    c.block = node.block;
    if (!set_inputs(c, inputs)) {
        cuts_.pop_back();
        return nullptr;
    }
    c.op = static_cast<std::uint8_t>(op);
    c.other = node.cuts;
    return node.cuts = &c;
}

bool ReplayTable::set_inputs(ReplayInputs& of, std::span<const ReplayInput> inputs) {
    if (inputs.empty()) {
        of.first_input = of.last_input = nullptr;
        return true;
    }
    if (chunk_used_ + inputs.size() > kChunk) {
        if (inputs_.size() == kMostChunks) {
            full_ = true;
            return false;
        }
        inputs_.push_back(std::make_unique<ReplayInput[]>(kChunk));
        chunk_used_ = 0;
    }
    ReplayInput* const to = inputs_.back().get() + chunk_used_;
    std::copy(inputs.begin(), inputs.end(), to);
    chunk_used_ += inputs.size();
    of.first_input = to;
    of.last_input = to + inputs.size();
    return true;
}

} // namespace rkperf::cpu
