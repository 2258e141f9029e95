// SPDX-License-Identifier: Apache-2.0
#include "kernel_events/trace/event_pids.h"

#include "kernel_events/trace/trace_events.h"
#include "kernel_events/trace/trace_probe.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rkperf::ke {

namespace {

constexpr std::uint32_t kPidListMax = 1u << 30;
constexpr std::string_view kBlanks{" \t\n\v\f\r\0", 7};

/// A pid in a field of the record; -1: there is no such field.
std::int32_t pid_in(const TraceEventCall& call, std::span<const std::uint8_t> record, std::string_view field) {
    for (const TraceField& f : call.fields)
        if (f.name == field && f.size == sizeof(std::int32_t) && f.offset + f.size <= record.size()) {
            std::int32_t pid = 0;
            std::memcpy(&pid, record.data() + f.offset, sizeof pid);
            return pid;
        }
    return -1;
}

} // namespace

std::string EventPids::text(List list) const {
    std::string out;
    const Pids& pids = list == List::only ? only_ : except_;
    if (!pids) return out;
    for (const std::int32_t pid : *pids) out += std::to_string(pid) + "\n";
    return out;
}

int EventPids::store(List list, std::string_view text) {
    std::set<std::int32_t> more;
    for (;;) {
        text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
        if (text.empty()) break;
        const std::string_view word = text.substr(0, text.find_first_of(kBlanks));
        text.remove_prefix(word.size());
        std::uint64_t pid = 0;
        if (kstrtoul(word, 0, pid)) return -EINVAL;
        const auto cut = static_cast<std::uint32_t>(pid);
        if (cut >= kPidListMax) return -EPERM;
        more.insert(static_cast<std::int32_t>(cut));
    }
    Pids& pids = set(list);
    if (!pids) pids.emplace();
    pids->merge(more);
    if (pids->empty()) pids.reset();
    return 0;
}

void EventPids::forked(std::int32_t parent, std::int32_t child) {
    if (!event_fork) return;
    for (Pids* s : {&only_, &except_})
        if (*s && (*s)->count(parent)) (*s)->insert(child);
}

void EventPids::freed(std::int32_t pid) {
    if (!event_fork) return;
    for (Pids* s : {&only_, &except_})
        if (*s) (*s)->erase(pid);
}

bool EventPids::ignores_listed(const TraceEventCall& call, std::span<const std::uint8_t> record,
                               std::int32_t current) const {
    if (!ignores_task(current)) return false;
    if (call.system != "sched") return true;
    // A switch concerns both tasks, and a wake-up the one that is woken as well.
    if (call.name == "sched_switch") {
        const std::int32_t next = pid_in(call, record, "next_pid");
        return (excepted(current) && excepted(next)) || (missing(current) && missing(next));
    }
    const bool wakes = call.name == "sched_wakeup" || call.name == "sched_wakeup_new" || call.name == "sched_waking";
    return !wakes || ignores_task(pid_in(call, record, "pid"));
}

} // namespace rkperf::ke
