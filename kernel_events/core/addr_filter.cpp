// SPDX-License-Identifier: Apache-2.0
// Address filters (PERF_EVENT_IOC_SET_FILTER of PMUs that trace code): what the text says, and where the files it names
// are mapped (CORE-488 to 491).
#include "kernel_events/internal.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace rkperf::ke {

namespace {

constexpr std::string_view kSeparators = " ,\n";

/// An unsigned number at the start of `text`, with C's prefixes, or nothing; takes it off.
std::optional<std::uint64_t> take_number(std::string_view& text) {
    int base = 10;
    if (text.size() > 1 && text[0] == '0') {
        base = text[1] == 'x' || text[1] == 'X' ? 16 : 8;
        text.remove_prefix(base == 16 ? 2 : 1);
    }
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc{}) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return value;
}

std::optional<PerfAddrFilter::Action> action_of(std::string_view word) {
    if (word == "filter") return PerfAddrFilter::Action::filter;
    if (word == "start") return PerfAddrFilter::Action::start;
    if (word == "stop") return PerfAddrFilter::Action::stop;
    return std::nullopt;
}

bool same_file(const InodeInfo& a, const InodeInfo& b) { return a.maj == b.maj && a.min == b.min && a.ino == b.ino; }

/// perf_addr_filter_vma_adjust: the part of the filter that lies in this mapping. False: none.
bool vma_adjust(const PerfAddrFilter& filter, const VmaInfo& vma, PerfAddrFilterRange& range) {
    const std::uint64_t size = vma.end - vma.start, offset = vma.pgoff << kPageShift;
    if (!filter.has_file || !vma.has_file || !same_file(filter.inode, vma.inode)) return false;
    if (filter.offset > offset + size || filter.offset + filter.size < offset) return false;
    if (filter.offset < offset) {
        range = {vma.start, std::min(size, filter.size - (offset - filter.offset))};
    } else {
        range.start = vma.start + filter.offset - offset;
        range.size = std::min(vma.end - range.start, filter.size);
    }
    return true;
}

} // namespace

int Perf::Impl::perf_event_parse_addr_filter(PerfEvent& event, std::string_view text,
                                             std::vector<PerfAddrFilter>& filters) {
    bool want_action = true;
    while (!text.empty()) {
        const std::size_t end = text.find_first_of(kSeparators);
        std::string_view word = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (word.empty()) continue;
        if (want_action) {
            const auto action = action_of(word);
            if (!action) return -EINVAL;
            filters.emplace_back().action = *action;
            want_action = false;
            continue;
        }
        PerfAddrFilter& filter = filters.back();
        const auto offset = take_number(word);
        if (!offset) return -EINVAL;
        filter.offset = *offset;
        if (word.starts_with('/')) {
            word.remove_prefix(1);
            const auto size = take_number(word);
            if (!size) return -EINVAL;
            filter.size = *size;
        }
        filter.has_file = word.starts_with('@');
        if (!filter.has_file && !word.empty()) return -EINVAL;
        if (filter.action == PerfAddrFilter::Action::filter && !filter.size) return -EINVAL;
        if (filter.has_file) {
            // A CPU's events meet the mappings of all tasks.
            if (!event.ctx->task) return -EOPNOTSUPP;
            if (const int error = kernel.kern_path(word.substr(1), filter.inode)) return error;
        }
        want_action = true;
    }
    return want_action ? 0 : -EINVAL;
}

int Perf::Impl::perf_event_set_addr_filter(PerfEvent& event, std::string_view text) {
    std::vector<PerfAddrFilter> filters;
    if (const int error = perf_event_parse_addr_filter(event, text, filters)) return error;
    if (const int error = event.pmu->addr_filters_validate(filters)) return error;
    event.addr_filters = std::move(filters);
    perf_event_for_each_child(event, &Impl::perf_event_addr_filters_apply);
    return 0;
}

void Perf::Impl::perf_event_addr_filters_apply(PerfEvent& event) {
    if (event.ctx->dead) return;
    const std::vector<PerfAddrFilter>& filters = root_event(event).addr_filters;
    for (std::size_t i = 0; i < filters.size(); ++i) {
        const PerfAddrFilter& filter = filters[i];
        PerfAddrFilterRange& range = event.addr_filter_ranges.at(i);
        range = {};
        if (!filter.has_file) {
            range = {filter.offset, filter.size};
        } else {
            bool found = false;
            kernel.for_each_vma(event.ctx->task,
                                [&](const VmaInfo& vma) { found = found || vma_adjust(filter, vma, range); });
        }
    }
    ++event.addr_filters_gen;
    perf_event_stop(event, true);
}

void Perf::Impl::perf_addr_filters_adjust(const VmaInfo& vma) {
    if (!vma.vm_exec || !vma.has_file) return;
    for (const PerfEventContext* ctx : kernel.current()->perf_event_ctxp) {
        if (!ctx) continue;
        const std::vector<PerfEvent*> events = ctx->event_list;
        for (PerfEvent* event : events) {
            if (!has_addr_filter(*event)) continue;
            const std::vector<PerfAddrFilter>& filters = root_event(*event).addr_filters;
            bool changed = false;
            for (std::size_t i = 0; i < filters.size(); ++i)
                if (vma_adjust(filters[i], vma, event->addr_filter_ranges.at(i))) changed = true;
            if (!changed) continue;
            ++event->addr_filters_gen;
            perf_event_stop(*event, true);
        }
    }
}

void Perf::Impl::perf_event_addr_filters_exec(PerfEvent& event) {
    if (!has_addr_filter(event)) return;
    const std::vector<PerfAddrFilter>& filters = root_event(event).addr_filters;
    bool changed = false;
    for (std::size_t i = 0; i < filters.size(); ++i) {
        if (!filters[i].has_file) continue;
        event.addr_filter_ranges.at(i) = {};
        changed = true;
    }
    if (!changed) return;
    ++event.addr_filters_gen;
    perf_event_stop(event, true);
}

void Perf::Impl::perf_event_addr_filters_sync(PerfEvent& event) {
    if (!has_addr_filter(event) || event.addr_filters_gen == event.hw.addr_filters_gen) return;
    event.pmu->addr_filters_sync(event);
    event.hw.addr_filters_gen = event.addr_filters_gen;
}

} // namespace rkperf::ke
