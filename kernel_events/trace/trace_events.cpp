// SPDX-License-Identifier: Apache-2.0
// The table of trace events and the texts of their files in tracefs (kernel/trace/trace_events.c).
#include "kernel_events/trace/trace_events.h"

#include "kernel_events/internal.h"
#include "kernel_events/trace/event_filter.h"
#include "kernel_events/trace/trace_buffer.h"

#include <algorithm>
#include <cctype>

namespace rkperf::ke {

namespace {

/// The first id that no static event has (__TRACE_LAST_TYPE and the static events lie below).
constexpr int kFirstDynamicType = 1207;

constexpr const char* kDefaultSystemFilter =
    "### global filter ###\n"
    "# Use this to set filters for multiple events.\n"
    "# Only events with the given fields will be affected.\n"
    "# If no events are modified, an error message will be displayed here";

std::string_view trim_end(std::string_view s) {
    while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back()))) s.remove_suffix(1);
    return s;
}
std::string_view trim(std::string_view s) {
    s = trim_end(s);
    while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front()))) s.remove_prefix(1);
    return s;
}

void append_field(std::string& out, const TraceField& f) {
    // "char[16] comm" is written as C declares it, "__data_loc char[] name" is not.
    std::string_view type = f.type, array;
    if (const auto bracket = type.find('['); bracket != type.npos && !type.starts_with("__data_loc")) {
        array = type.substr(bracket);
        type = type.substr(0, bracket);
    }
    out.append("\tfield:").append(type).append(" ").append(f.name).append(array);
    out.append(";\toffset:").append(std::to_string(f.offset)).append(";\tsize:").append(std::to_string(f.size));
    out.append(";\tsigned:").append(f.is_signed ? "1" : "0").append(";\n");
}

} // namespace

TraceEvents::TraceEvents(Perf::Impl& perf)
    : perf_(perf), next_type_(kFirstDynamicType), buffer_(std::make_unique<TraceBuffer>(perf.kernel, *this)) {}
TraceEvents::~TraceEvents() = default;

Mutex& TraceEvents::event_mutex() {
    if (!event_mutex_) event_mutex_ = perf_.kernel.make_mutex();
    return *event_mutex_;
}

int TraceEvents::trace_add_event_call(TraceEventCall& call) {
    System& system = systems_[call.system];
    if (!system.try_emplace(call.name, &call).second) return -EEXIST;
    if (!call.type) call.type = next_type_++;
    by_type_[call.type] = &call;
    calls_.push_back(&call);
    call.listed = true;
    return 0;
}

int TraceEvents::trace_remove_event_call(TraceEventCall& call) {
    if (call.busy()) return -EBUSY;
    if (!call.listed) return 0;
    if (call.was_enabled) buffer_->clear(); // what it wrote could not be read any more
    const auto system = systems_.find(call.system);
    system->second.erase(call.name);
    if (system->second.empty()) systems_.erase(system);
    by_type_.erase(call.type);
    std::erase(calls_, &call);
    call.listed = false;
    return 0;
}

TraceEventCall* TraceEvents::find(int type) const {
    const auto it = by_type_.find(type);
    return it == by_type_.end() ? nullptr : it->second;
}

TraceEventCall* TraceEvents::find(std::string_view system, std::string_view name) const {
    const auto s = systems_.find(system);
    if (s == systems_.end()) return nullptr;
    const auto it = s->second.find(name);
    return it == s->second.end() ? nullptr : it->second;
}

std::string TraceEvents::format_text(const TraceEventCall& call) {
    std::string out = "name: ";
    out.append(call.name).append("\nID: ").append(std::to_string(call.type)).append("\nformat:\n");
    for (const TraceField& f : trace_common_fields()) append_field(out, f);
    out += '\n';
    for (const TraceField& f : call.fields) append_field(out, f);
    out.append("\nprint fmt: ").append(call.print_fmt).append("\n");
    return out;
}

std::string TraceEvents::filter_text(const TraceEventCall& call) {
    std::string out = call.filter_text.empty() ? "none" : call.filter_text;
    out += '\n';
    return out;
}

int TraceEvents::store_filter(TraceEventCall& call, std::string_view text) {
    MutexGuard lock(event_mutex());
    text = trim_end(text.substr(0, text.find('\0')));
    if (trim(text) == "0") {
        if (call.filter) perf_.kernel.synchronize_rcu();
        call.filter = nullptr;
        call.filter_text.clear();
        return 0;
    }
    int result = 0;
    compile_filter(call, text, false, result);
    return result;
}

int TraceEvents::store_system_filter(std::string_view system, std::string_view text) {
    MutexGuard lock(event_mutex());
    const auto s = systems_.find(system);
    if (s == systems_.end()) return -ENODEV;
    text = trim_end(text.substr(0, text.find('\0')));
    const bool clear = trim(text) == "0";
    for (const auto& [name, call] : s->second) {
        call->filter = nullptr;
        call->filter_text.clear();
        if (clear) continue;
        int result = 0; // an event that lacks the field does not count
        compile_filter(*call, text, true, result);
    }
    return 0;
}

void TraceEvents::tracing_log_err(std::string_view loc, std::string_view cmd, std::string_view error, std::size_t pos) {
    constexpr std::size_t kMaxErrors = 8;
    constexpr std::string_view kCommand = "  Command: ";
    const std::uint64_t now = perf_.kernel.local_clock();
    char time[40];
    std::snprintf(time, sizeof time, "[%5llu.%06u] ", static_cast<unsigned long long>(now / NSEC_PER_SEC),
                  static_cast<unsigned>(now % NSEC_PER_SEC / 1000));
    std::string entry = time;
    entry.append(loc).append(": error: ").append(error).append("\n").append(kCommand).append(cmd).append("\n");
    entry.append(kCommand.size() + pos, ' ').append("^\n");
    if (error_log_.size() == kMaxErrors) error_log_.pop_front();
    error_log_.push_back(std::move(entry));
}

std::string TraceEvents::error_log_text() const {
    std::string out;
    for (const std::string& entry : error_log_) out += entry;
    return out;
}

void TraceEvents::compile_filter(TraceEventCall& call, std::string_view text, bool whole_system, int& result) {
    FilterError error;
    call.filter = EventFilter::create(call, text, error);
    result = call.filter ? 0 : error.result;
    if (call.filter) {
        call.filter_text = text;
        return;
    }
    // What is shown after a wrong text is the complaint; the event is not filtered then.
    if (whole_system) error = {error.result, "Couldn't find or set field in one of a subsystem's events", 0};
    call.filter_text = EventFilter::describe(text, error);
    tracing_log_err("event filter parse error", text, error.text ? error.text : "Error", error.position);
}

std::string TraceEvents::system_filter_text() { return std::string(kDefaultSystemFilter) + "\n"; }

int TraceEvents::store_enable(TraceEventCall& call, bool on) {
    MutexGuard lock(event_mutex());
    buffer_->expand(); // even to switch off (tracing_update_buffers)
    return set_enabled(call, on);
}

int TraceEvents::set_enabled(TraceEventCall& call, bool on) {
    if (call.enabled == on || !call.reg) return 0;
    const int error = call.reg(on ? TraceReg::register_ : TraceReg::unregister, nullptr);
    if (!error) call.enabled = on;
    if (!error && on) call.was_enabled = true;
    return error;
}

std::string TraceEvents::enable_text(std::string_view system) const {
    bool on = false, off = false;
    for (const TraceEventCall* call : calls_)
        if (call->reg && (system.empty() || call->system == system)) (call->enabled ? on : off) = true;
    return on && off ? "X\n" : on ? "1\n" : off ? "0\n" : "?\n";
}

int TraceEvents::set_clr_event(std::string_view match, std::string_view system, std::string_view name, bool on) {
    MutexGuard lock(event_mutex());
    buffer_->expand();
    int result = -EINVAL, first_error = 0;
    for (TraceEventCall* call : calls_) {
        if (!call->reg) continue;
        if (!match.empty() && match != call->name && match != call->system) continue;
        if ((!system.empty() && system != call->system) || (!name.empty() && name != call->name)) continue;
        const int error = set_enabled(*call, on);
        if (error && !first_error) first_error = error;
        result = first_error;
    }
    return result;
}

int TraceEvents::store_system_enable(std::string_view system, bool on) { return set_clr_event({}, system, {}, on); }

int TraceEvents::store_set_event(std::string_view text) {
    int result = 0;
    text = text.substr(0, text.find('\0'));
    for (text = trim(text); !text.empty() && !result; text = trim(text)) {
        const std::size_t end = std::min(text.find_first_of(" \t\n"), text.size());
        std::string_view word = text.substr(0, end);
        text.remove_prefix(end);
        const bool on = word[0] != '!';
        if (!on) word.remove_prefix(1);
        const auto colon = word.find(':');
        if (colon == word.npos) {
            result = set_clr_event(word, {}, {}, on);
            continue;
        }
        const auto any = [](std::string_view s) { return s == "*" ? std::string_view{} : s; };
        result = set_clr_event({}, any(word.substr(0, colon)), any(word.substr(colon + 1)), on);
    }
    return result;
}

} // namespace rkperf::ke
