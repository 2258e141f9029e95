// SPDX-License-Identifier: Apache-2.0
#include "kernel_events/trace/event_pids.h"

#include "kernel_events/trace/trace_events.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace rkperf::ke {

namespace {

constexpr std::uint32_t kPidListMax = 1u << 30;
constexpr std::string_view kBlanks = " \t\n\v\f\r";

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
    for (const std::int32_t pid : list == List::only ? only_ : except_) out += std::to_string(pid) + "\n";
    return out;
}

int EventPids::store(List list, std::string_view text) {
    std::set<std::int32_t> more;
    for (;;) {
        text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
        if (text.empty()) break;
        const std::string word(text.substr(0, text.find_first_of(kBlanks)));
        text.remove_prefix(word.size());
        char* end = nullptr;
        errno = 0;
        const unsigned long long pid = std::strtoull(word.c_str(), &end, 0);
        const bool number = word[0] >= '0' && word[0] <= '9' && !*end && !errno;
        if (!number) return -EINVAL;
        const auto cut = static_cast<std::uint32_t>(pid);
        if (cut >= kPidListMax) return -EPERM;
        more.insert(static_cast<std::int32_t>(cut));
    }
    set(list).merge(more);
    return 0;
}

void EventPids::forked(std::int32_t parent, std::int32_t child) {
    if (!event_fork) return;
    for (std::set<std::int32_t>* s : {&only_, &except_})
        if (s->count(parent)) s->insert(child);
}

void EventPids::freed(std::int32_t pid) {
    if (!event_fork) return;
    for (std::set<std::int32_t>* s : {&only_, &except_}) s->erase(pid);
}

bool EventPids::ignores_task(std::int32_t pid) const {
    return (!only_.empty() && !only_.count(pid)) || except_.count(pid);
}

bool EventPids::ignores_listed(const TraceEventCall& call, std::span<const std::uint8_t> record,
                               std::int32_t current) const {
    if (!ignores_task(current)) return false;
    if (call.system != "sched") return true;
    // A switch concerns both tasks, and a wake-up the one that is woken as well.
    const bool wakes = call.name == "sched_wakeup" || call.name == "sched_wakeup_new" || call.name == "sched_waking";
    const char* other = call.name == "sched_switch" ? "next_pid" : wakes ? "pid" : nullptr;
    return !other || ignores_task(pid_in(call, record, other));
}

} // namespace rkperf::ke
