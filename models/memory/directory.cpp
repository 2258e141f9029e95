// SPDX-License-Identifier: Apache-2.0
#include "models/memory/directory.h"

#include <utility>

namespace rkperf::mem {

Directory::Entry* Directory::find(std::uint64_t pline) {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = home(pline);; i = (i + 1) & mask) {
        if (slots_[i].pline == pline) return &slots_[i];
        if (slots_[i].pline == kEmpty) return nullptr;
    }
}

Directory::Entry& Directory::insert(std::uint64_t pline) {
    if (Entry* e = find(pline)) return *e;
    if (2 * (used_ + 1) > slots_.size()) grow();
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = home(pline);
    while (slots_[i].pline != kEmpty) i = (i + 1) & mask;
    ++used_;
    slots_[i] = Entry{.pline = pline};
    return slots_[i];
}

void Directory::erase(Entry& e) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t hole = static_cast<std::size_t>(&e - slots_.data());
    // Later entries of the probe sequence move up, unless that would put them before their home.
    for (std::size_t i = (hole + 1) & mask; slots_[i].pline != kEmpty; i = (i + 1) & mask) {
        const std::size_t h = home(slots_[i].pline);
        if (((i - h) & mask) >= ((i - hole) & mask)) {
            slots_[hole] = slots_[i];
            hole = i;
        }
    }
    slots_[hole] = Entry{};
    --used_;
}

void Directory::grow() {
    std::vector<Entry> old(2 * slots_.size());
    std::swap(old, slots_);
    used_ = 0;
    for (const Entry& e : old) {
        if (e.pline != kEmpty) insert(e.pline) = e;
    }
}

} // namespace rkperf::mem
