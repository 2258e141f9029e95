// SPDX-License-Identifier: Apache-2.0
#include "models/memory/prefetcher.h"

#include <algorithm>

namespace rkperf::mem {

bool Prefetcher::train(std::uint64_t pline, bool instruction, Plan& plan) {
    if (streams_.empty()) return false;
    // A stream that expected just this line comes first, then one that was last seen near by.
    Stream* found = nullptr;
    for (Stream& s : streams_) {
        if (!s.valid) continue;
        const auto d = static_cast<std::int64_t>(pline - s.last);
        if (d == 0) return false;
        if (s.confidence != 0 && d == s.stride) {
            found = &s;
            break;
        }
        if (!found && d >= -static_cast<std::int64_t>(p_.max_stride) && d <= static_cast<std::int64_t>(p_.max_stride)) {
            found = &s;
        }
    }
    if (instruction && found && !neighbours(static_cast<std::int64_t>(pline - found->last))) return false;
    if (found && found->confidence >= p_.confirm) {
        // Behind the head of a stream that a prefetch instruction has led ahead: nothing new.
        const auto d = static_cast<std::int64_t>(pline - found->last);
        if ((d < 0) != (found->stride < 0) && d % found->stride == 0) return false;
    }
    if (!found) {
        Stream& s = *std::min_element(streams_.begin(), streams_.end(),
                                      [](const Stream& a, const Stream& b) { return a.stamp < b.stamp; });
        s = Stream{.last = pline, .stamp = ++clock_, .valid = true};
        return false;
    }
    Stream& s = *found;
    const auto d = static_cast<std::int64_t>(pline - s.last);
    s.stamp = ++clock_;
    s.last = pline;
    if (d != s.stride) {
        s.stride = d;
        s.confidence = 1;
        s.done_l1 = s.done_l2 = s.done_l3 = 0;
        return false;
    }
    step(s.done_l1);
    step(s.done_l2);
    step(s.done_l3);
    if (++s.confidence < p_.confirm) return false;
    s.confidence = p_.confirm;
    const bool apart = p_.apart_differs && !neighbours(s.stride);
    plan.l1 = run_ahead(s, s.done_l1, apart ? p_.l1_ahead_apart : s.stride < 0 ? p_.l1_ahead_down : p_.l1_ahead);
    s.done_l2 = std::max(s.done_l2, s.done_l1);
    if (apart) {
        plan.l2 = run_on_in_page(s);
        return plan.l1.count + plan.l2.count != 0;
    }
    plan.l2 = run_ahead(s, s.done_l2, p_.l2_ahead);
    s.done_l3 = std::max(s.done_l3, s.done_l2);
    plan.l3 = run_ahead(s, s.done_l3, p_.l3_ahead);
    return plan.l1.count + plan.l2.count + plan.l3.count != 0;
}

Prefetcher::Batch Prefetcher::run_ahead(const Stream& s, unsigned& done, unsigned ahead) const {
    if (done >= ahead) return {};
    const unsigned n = std::min(ahead - done, p_.per_trigger);
    const Batch b{s.line(done + 1), s.stride, n};
    done += n;
    return b;
}

Prefetcher::Batch Prefetcher::run_on_in_page(Stream& s) const {
    const auto page = [&s](unsigned ahead) { return s.line(ahead) >> kLinesPerPageShift; };
    const std::uint64_t here = page(s.done_l1);
    if (s.done_l1 == 0 || page(s.done_l1 - 1) != here) {
        s.done_l2 = s.done_l1;
        return {};
    }
    const Batch b{s.line(s.done_l2 + 1), s.stride, 0};
    unsigned n = 0;
    while (n < p_.per_trigger && s.done_l2 + n - s.done_l1 < p_.l2_ahead_apart && page(s.done_l2 + n + 1) == here) ++n;
    s.done_l2 += n;
    return {b.first, b.stride, n};
}

} // namespace rkperf::mem
