// SPDX-License-Identifier: Apache-2.0
#include "sim/soc/truth_names.h"

#include "kernel_events/trace/trace_events.h"
#include "sim/base/pmu_events.h"

#include <fmt/format.h>
#include <linux/hw_breakpoint.h>

#include <algorithm>
#include <array>

namespace rkperf::soc {

namespace {

constexpr std::array<const char*, PERF_COUNT_HW_MAX> kHardware{
    "cycles",        "instructions", "cache-references",        "cache-misses",           "branches",
    "branch-misses", "bus-cycles",   "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles",
};
constexpr std::array<const char*, PERF_COUNT_SW_MAX> kSoftware{
    "cpu-clock",        "task-clock",   "page-faults",  "context-switches",
    "cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
    "emulation-faults", "dummy",        "bpf-output",   "cgroup-switches",
};
constexpr std::array<const char*, PERF_COUNT_HW_CACHE_MAX> kCaches{"L1-dcache", "L1-icache", "LLC", "dTLB",
                                                                   "iTLB",      "branch",    "node"};
struct Operation {
    const char *plural, *singular;
};
constexpr std::array<Operation, PERF_COUNT_HW_CACHE_OP_MAX> kOperations{
    {{"loads", "load"}, {"stores", "store"}, {"prefetches", "prefetch"}}};

std::string cache_label(std::uint64_t config) {
    const std::size_t cache = config & 0xff, op = config >> 8 & 0xff, result = config >> 16 & 0xff;
    if (cache >= kCaches.size() || op >= kOperations.size()) return fmt::format("cache/{:#x}", config);
    return result == PERF_COUNT_HW_CACHE_RESULT_MISS
               ? fmt::format("{}-{}-misses", kCaches[cache], kOperations[op].singular)
               : fmt::format("{}-{}", kCaches[cache], kOperations[op].plural);
}

/// As perf names it: mem:ADDRESS[/LENGTH]:ACCESS, without the length that perf takes by itself.
std::string breakpoint_label(const perf_event_attr& a) {
    const std::uint64_t usual = a.bp_type & HW_BREAKPOINT_X ? sizeof(long) : 4;
    std::string label = fmt::format("mem:{:#x}", a.bp_addr);
    if (a.bp_len != usual) label += fmt::format("/{}", a.bp_len);
    label += ':';
    if (a.bp_type & HW_BREAKPOINT_R) label += 'r';
    if (a.bp_type & HW_BREAKPOINT_W) label += 'w';
    if (a.bp_type & HW_BREAKPOINT_X) label += 'x';
    return label;
}

std::string base_label(const ke::PerfEvent& e) {
    const perf_event_attr& a = e.attr;
    // Which PMU a generic event is for, if the user said so (PERF_PMU_CAP_EXTENDED_HW_TYPE).
    const std::uint64_t config = a.config & 0xffffffff;
    switch (e.orig_type) {
        case PERF_TYPE_HARDWARE:
            if (config < kHardware.size()) return kHardware[config];
            break;
        case PERF_TYPE_SOFTWARE:
            if (config < kSoftware.size()) return kSoftware[config];
            break;
        case PERF_TYPE_HW_CACHE: return cache_label(config);
        case PERF_TYPE_RAW: {
            const std::string_view name = pmu_event_name(static_cast<EventNumber>(config));
            return name.empty() ? fmt::format("r{:x}", a.config) : fmt::format("r{:x} {}", a.config, name);
        }
        case PERF_TYPE_BREAKPOINT: return breakpoint_label(a);
        case PERF_TYPE_TRACEPOINT:
            if (e.tp_event) return e.tp_event->system + ":" + e.tp_event->name;
            break;
        default: break;
    }
    const std::string pmu = e.pmu ? e.pmu->name : fmt::format("type{}", e.orig_type);
    const std::string_view name =
        e.pmu && e.pmu->heterogeneous() ? pmu_event_name(static_cast<EventNumber>(config)) : "";
    return name.empty() ? fmt::format("{}/{:#x}/", pmu, a.config) : fmt::format("{}/{}/", pmu, name);
}

} // namespace

std::string_view pmu_event_name(EventNumber number) {
    struct Row {
        EventNumber number;
        std::string_view name;
    };
    static constexpr Row kRows[] = {
#define RKPERF_X(number, name) {number, #name},
        RKPERF_PMU_EVENTS(RKPERF_X)
#undef RKPERF_X
    };
    const auto* it = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.number == number; });
    return it == std::end(kRows) ? std::string_view{} : it->name;
}

std::string event_label(const ke::PerfEvent& e) {
    const perf_event_attr& a = e.attr;
    std::string modifiers;
    if (a.exclude_kernel && !a.exclude_user) modifiers = "u";
    if (a.exclude_user && !a.exclude_kernel) modifiers = "k";
    if (a.pinned) modifiers += "D";
    if (modifiers.empty()) return base_label(e);
    const std::string base = base_label(e);
    return base.ends_with('/') ? base + modifiers : base + ":" + modifiers;
}

} // namespace rkperf::soc
