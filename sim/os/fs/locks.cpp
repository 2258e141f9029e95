// SPDX-License-Identifier: Apache-2.0
#include "sim/os/fs/locks.h"

#include <algorithm>
#include <cerrno>

namespace rkperf::os {

FileLocks& locks_of(FsServices& s, Inode& inode) {
    if (!inode.locks) inode.locks = std::make_shared<FileLocks>(s);
    return *inode.locks;
}

const FileLocks::Record* FileLocks::conflict(const Record& want) const {
    for (const Record& r : records_)
        if (r.owner != want.owner && r.start <= want.end && want.start <= r.end && (r.exclusive || want.exclusive))
            return &r;
    return nullptr;
}

void FileLocks::unlock(const void* owner, std::uint64_t start, std::uint64_t end) {
    bool freed = false;
    for (auto it = records_.begin(); it != records_.end();) {
        if (it->owner != owner || it->start > end || start > it->end) {
            ++it;
            continue;
        }
        freed = true;
        Record before = *it, after = *it;
        it = records_.erase(it);
        if (before.start < start) {
            before.end = start - 1;
            insert(before);
        }
        if (after.end > end) {
            after.start = end + 1;
            insert(after);
        }
    }
    if (freed) wq_.wake_up_all();
}

void FileLocks::insert(const Record& r) {
    const auto at = std::find_if(records_.begin(), records_.end(), [&](const Record& x) { return x.start > r.start; });
    records_.insert(at, r);
}

std::int64_t FileLocks::lock(const Record& want, bool wait, std::map<const void*, const void*>* waits) {
    while (const Record* other = conflict(want)) {
        if (!wait) return -EAGAIN;
        if (waits) {
            // A circle of processes that wait for each other would never end.
            const void* at = other->owner;
            for (std::size_t steps = 0; at && steps <= waits->size(); ++steps) {
                if (at == want.owner) return -EDEADLK;
                const auto it = waits->find(at);
                at = it == waits->end() ? nullptr : it->second;
            }
            (*waits)[want.owner] = other->owner;
        }
        const std::int64_t r = s_.wait(wq_, [&] { return !conflict(want); });
        if (waits) waits->erase(want.owner);
        if (r) return r;
    }
    unlock(want.owner, want.start, want.end);
    Record merged = want;
    for (auto it = records_.begin(); it != records_.end();) {
        const bool touches =
            (it->end == kEnd || it->end + 1 >= merged.start) && (merged.end == kEnd || merged.end + 1 >= it->start);
        if (it->owner == want.owner && it->exclusive == want.exclusive && touches) {
            merged.start = std::min(merged.start, it->start);
            merged.end = std::max(merged.end, it->end);
            it = records_.erase(it);
        } else {
            ++it;
        }
    }
    insert(merged);
    return 0;
}

std::int64_t FileLocks::flock(const void* owner, bool exclusive, bool wait) {
    const auto blocked = [&] {
        return std::any_of(flocks_.begin(), flocks_.end(),
                           [&](const auto& f) { return f.first != owner && (exclusive || f.second); });
    };
    const auto mine = flocks_.find(owner);
    if (mine != flocks_.end()) {
        if (mine->second == exclusive) return 0;
        unflock(owner);
    }
    while (blocked()) {
        if (!wait) return -EAGAIN;
        if (const std::int64_t r = s_.wait(wq_, [&] { return !blocked(); }); r) return r;
    }
    flocks_[owner] = exclusive;
    return 0;
}

void FileLocks::unflock(const void* owner) {
    if (flocks_.erase(owner)) wq_.wake_up_all();
}

void FileLocks::release(const void* owner) {
    unlock(owner, 0, kEnd);
    unflock(owner);
}

} // namespace rkperf::os
