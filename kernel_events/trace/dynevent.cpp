// SPDX-License-Identifier: Apache-2.0
#include "kernel_events/trace/dynevent.h"

#include <algorithm>
#include <cctype>
#include <cerrno>

namespace rkperf::ke {

namespace {
std::vector<std::string> split_words(std::string_view line) {
    std::vector<std::string> words;
    std::string word;
    for (const char c : line) {
        if (!std::isspace(static_cast<unsigned char>(c))) {
            word += c;
        } else if (!word.empty()) {
            words.push_back(std::move(word));
            word.clear();
        }
    }
    if (!word.empty()) words.push_back(std::move(word));
    return words;
}

template <class Kinds>
bool among(const Kinds& kinds, const DynEventKind* kind) {
    return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}
} // namespace

std::string TraceProbe::show() const {
    std::string line(1, is_return ? 'r' : 'p');
    line.append(":").append(group()).append("/").append(name()).append(" ").append(place());
    for (const ProbeArg& a : args) line.append(" ").append(a.name).append("=").append(a.comm);
    return line;
}

bool TraceProbe::match(std::string_view system, std::string_view event_name, std::span<const std::string> words) const {
    if (!event_name.empty() && event_name != name()) return false;
    if (!system.empty() && system != group()) return false;
    if (words.empty()) return true;
    return words[0] == place() && trace_probe_match_args(args, words.subspan(1));
}

void TraceProbe::describe(unsigned flags) {
    TraceEventCall& call = event->call;
    call.flags = flags;
    call.print_fmt = traceprobe_print_fmt(args, is_return);
    if (is_return) {
        call.fields.push_back(trace_field("unsigned long", "__probe_func", kTraceEntrySize, 8, false));
        call.fields.push_back(trace_field("unsigned long", "__probe_ret_ip", kTraceEntrySize + 8, 8, false));
    } else {
        call.fields.push_back(trace_field("unsigned long", "__probe_ip", kTraceEntrySize, 8, false));
    }
    traceprobe_define_arg_fields(args, head(), call.fields);
}

void DynEvents::remove(const TraceProbe& probe) {
    list_.remove_if([&](const Entry& e) { return e.probe.get() == &probe; });
}

TraceProbe* DynEvents::find(const DynEventKind& kind, std::string_view event, std::string_view group) const {
    for (const Entry& e : list_)
        if (e.kind == &kind && e.probe->name() == event && e.probe->group() == group) return e.probe.get();
    return nullptr;
}

std::string DynEvents::show(const DynEventKind* kind) const {
    std::string text;
    for_each(kind, [&](const TraceProbe& p) { text.append(p.show()).push_back('\n'); });
    return text;
}

int DynEvents::release_all(std::span<DynEventKind* const> kinds) {
    std::vector<Entry*> all;
    for (Entry& e : list_) {
        if (!among(kinds, e.kind)) continue;
        if (e.probe->event->enabled()) return -EBUSY;
        all.push_back(&e);
    }
    for (Entry* e : all)
        if (const int error = e->kind->release(*e->probe)) return error;
    return 0;
}

int DynEvents::release(std::vector<std::string> argv, std::span<DynEventKind* const> kinds) {
    std::string_view event = argv[0];
    const auto colon = event.find(':');
    if (colon == std::string_view::npos || (event[0] == '-' && colon != 1)) return -EINVAL;
    event.remove_prefix(colon + 1);
    std::string_view system;
    if (const auto slash = event.find('/'); slash != std::string_view::npos) {
        system = event.substr(0, slash);
        event.remove_prefix(slash + 1);
    } else if (event.empty()) {
        return -EINVAL;
    }
    const MutexGuard lock(events_.event_mutex());
    std::vector<Entry*> found;
    for (Entry& e : list_)
        if (among(kinds, e.kind) && e.probe->match(system, event, std::span(argv).subspan(1))) found.push_back(&e);
    int result = -ENOENT;
    for (Entry* e : found)
        if ((result = e->kind->release(*e->probe))) break;
    return result;
}

int DynEvents::run(std::string_view line, std::span<DynEventKind* const> kinds) {
    std::vector<std::string> argv = split_words(line.substr(0, line.find('#')));
    if (argv.empty()) return 0;
    // dynamic_events, where all kinds are, has a second way to write it
    if (argv[0][0] == '-' || (argv[0][0] == '!' && kinds.size() > 1)) return release(std::move(argv), kinds);
    const MutexGuard lock(events_.event_mutex());
    int result = -ECANCELED;
    for (DynEventKind* kind : kinds)
        if ((result = kind->create(argv)) != -ECANCELED) break;
    return result == -ECANCELED ? -EINVAL : result;
}

int DynEvents::store(std::string_view text, std::span<DynEventKind* const> kinds) {
    constexpr std::size_t kMaxLine = 4094;
    if (is_truncated(text)) {
        const MutexGuard lock(events_.event_mutex());
        return release_all(kinds);
    }
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        if (end > kMaxLine) return -EINVAL;
        if (const int e = run(text.substr(0, end), kinds)) return e;
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return 0;
}

} // namespace rkperf::ke
