// SPDX-License-Identifier: Apache-2.0
// Replaying: what the addresses of a block's accesses mean to its time.
#include "models/cpu_a76/pipeline.h"

namespace rkperf::cpu_a76 {

using cpu::OpGroup;
using cpu::ReplayInput;
using cpu::ReplayInputs;

/// Whether the load, now of `va`, finds its bank as it did when it was noted, and its data are there as late.
bool Pipeline::acts_alike(const ReplayInputs& node, const ReplayInput& load, std::uint64_t entry,
                          std::uint64_t va) const {
    const std::uint64_t issue = entry + load.issue, read_at = entry + load.read_at, word = va >> 3;
    if (clashes(read_at, word) || (read_at != issue && !clashes(issue, word))) return false;
    std::uint64_t done = read_at + load.latency;
    const Store& s = stores_[word % kStores];
    if (s.done > issue && (s.va ^ va) < 8) done = std::max(done, forward(node.block->ops[load.op], s, issue, va));
    return done == entry + load.done;
}

// Most loads find their bank as before and no store under way in their place. As soon as one does not, all that follow are
// looked at closely, by a function of its own, so that this one needs few registers.
bool Pipeline::repeat(const ReplayInputs& node, std::uint64_t entry, const std::uint64_t* notes) {
    Old* old = old_.data();
    for (const ReplayInput *i = node.first_input, *const last = node.last_input; i != last; ++i, ++old) {
        const std::uint64_t va = notes[i->slot];
        if (i->from_cache) {
            const std::uint64_t issue = entry + i->issue, read_at = entry + i->read_at, word = va >> 3;
            BankUse& use = banks_[read_at % kBankCycles];
            if ((__builtin_expect(use.cycle == read_at, 0) && banks_clash(use.word, word)) ||
                (__builtin_expect(i->read_at != i->issue, 0) && !clashes(issue, word)) ||
                __builtin_expect(stores_[word % kStores].done > issue, 0))
                return repeat_from(i, node, entry, notes);
            old->bank = use;
            use = {read_at, word};
        } else if (i->group == OpGroup::store) {
            repeat_store(*i, entry, va, *old);
        } else {
            return repeat_from(i, node, entry, notes);
        }
    }
    return true;
}

bool Pipeline::repeat_from(const ReplayInput* i, const ReplayInputs& node, std::uint64_t entry,
                           const std::uint64_t* notes) {
    for (; i != node.last_input; ++i) {
        Old& old = old_[static_cast<std::size_t>(i - node.first_input)];
        const std::uint64_t note = notes[i->slot];
        if (i->group == OpGroup::store) {
            repeat_store(*i, entry, note, old);
            continue;
        }
        // The note of a division is the bits of its quotient.
        const bool alike = i->group == OpGroup::load ? acts_alike(node, *i, entry, note) : note == i->done;
        if (!alike) {
            take_back(node.first_input, i, entry, notes);
            return false;
        }
        if (i->group == OpGroup::load) repeat_load(*i, entry, note, old);
    }
    return true;
}

bool Pipeline::repeat_access(const ReplayInput& access, std::uint64_t entry, std::uint64_t va) {
    Old old;
    if (access.group == OpGroup::store) {
        repeat_store(access, entry, va, old);
        return true;
    }
    const std::uint64_t issue = entry + access.issue;
    const Store& s = stores_[va >> 3 & (kStores - 1)];
    if (clashes(issue, va >> 3) || (s.done > issue && (s.va ^ va) < 8)) return false;
    repeat_load(access, entry, va, old);
    return true;
}

void Pipeline::take_back(const ReplayInput* first, const ReplayInput* last, std::uint64_t entry,
                         const std::uint64_t* notes) {
    // The last one first, as two may have met in the same place.
    while (last != first) {
        --last;
        const Old& old = old_[static_cast<std::size_t>(last - first)];
        if (last->group == OpGroup::load) {
            banks_[(entry + last->read_at) % kBankCycles] = old.bank;
        } else if (last->group == OpGroup::store) {
            stores_[notes[last->slot] >> 3 & (kStores - 1)] = old.store;
        }
    }
}

} // namespace rkperf::cpu_a76
