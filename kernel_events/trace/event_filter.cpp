// SPDX-License-Identifier: Apache-2.0
#include "kernel_events/trace/event_filter.h"

#include "kernel_events/trace/event_filter_node.h"
#include "kernel_events/trace/trace_events.h"

#include <array>
#include <cstring>

namespace rkperf::ke {

namespace {

constexpr std::size_t kTaskCommLen = 16, kUstringBufSize = 1024;

/// The string that begins at `s`: up to its NUL, or all of it.
std::string_view terminated(std::string_view s) { return s.substr(0, s.find('\0')); }

/// strncmp(a, b, n) == 0 for a bounded `a`.
bool same_first(std::string_view a, std::string_view b, std::size_t n) {
    return terminated(a.substr(0, n)) == terminated(b.substr(0, n));
}

bool match_string(const FilterPredicate& p, std::string_view s) {
    const std::string_view pattern = p.pattern;
    switch (p.regex) {
        case RegexType::full: return s.size() >= pattern.size() && same_first(s, pattern, s.size());
        case RegexType::front: return s.size() >= pattern.size() && same_first(s, pattern, pattern.size());
        // These two look at the whole field, whatever comes after the string in it.
        case RegexType::middle: return s.find(pattern) != std::string_view::npos;
        case RegexType::end: {
            const std::size_t length = s.size() - 1;
            return !s.empty() && length >= pattern.size() &&
                   s.substr(length - pattern.size(), pattern.size()) == pattern;
        }
        case RegexType::glob: return glob_match_len(pattern, s);
    }
    return false;
}

template <class T>
bool compare(FilterOp op, T a, T b) {
    switch (op) {
        case FilterOp::lt: return a < b;
        case FilterOp::le: return a <= b;
        case FilterOp::gt: return a > b;
        case FilterOp::ge: return a >= b;
        case FilterOp::eq: return a == b;
        case FilterOp::ne: return a != b;
        default: return (a & b) != 0;
    }
}

template <class S, class U>
bool match_number(const FilterPredicate& p, const std::uint8_t* at) {
    U raw;
    std::memcpy(&raw, at, sizeof raw);
    return p.field->is_signed ? compare<S>(p.op, static_cast<S>(raw), static_cast<S>(p.value))
                              : compare<U>(p.op, raw, static_cast<U>(p.value));
}

bool match_number(const FilterPredicate& p, std::span<const std::uint8_t> record) {
    const std::uint8_t* at = record.data() + p.field->offset;
    switch (p.field->size) {
        case 8: return match_number<std::int64_t, std::uint64_t>(p, at);
        case 4: return match_number<std::int32_t, std::uint32_t>(p, at);
        case 2: return match_number<std::int16_t, std::uint16_t>(p, at);
        case 1: return match_number<std::int8_t, std::uint8_t>(p, at);
        default: return false; // an array has no value
    }
}

std::string_view text_at(std::span<const std::uint8_t> record, std::size_t offset, std::size_t size) {
    if (offset >= record.size()) return {};
    return {reinterpret_cast<const char*>(record.data()) + offset, std::min(size, record.size() - offset)};
}

bool match_pointer(const FilterPredicate& p, Kernel& kernel, std::span<const std::uint8_t> record) {
    // A kernel pointer leads nowhere here: the simulated kernel's data is not in simulated memory.
    if (!p.ustring) return false;
    std::uint64_t address;
    std::memcpy(&address, record.data() + p.field->offset, sizeof address);
    std::array<char, kUstringBufSize> buffer{};
    std::size_t got = 0;
    while (got < buffer.size()) {
        if (!kernel.copy_from_user_nofault(&buffer[got], address + got, 1)) return false;
        if (!buffer[got++]) break;
    }
    const std::string_view text(buffer.data(), got);
    return match_string(p, text) != p.negated;
}

} // namespace

bool FilterPredicate::match(Kernel& kernel, std::span<const std::uint8_t> record) const {
    if (!is_string) {
        if (field->filter_type == FilterType::cpu)
            return op != FilterOp::band &&
                   compare<std::int32_t>(op, kernel.smp_processor_id(), static_cast<std::int32_t>(value));
        return match_number(*this, record);
    }
    switch (field->filter_type) {
        case FilterType::comm: return match_string(*this, {kernel.current()->comm, kTaskCommLen}) != negated;
        case FilterType::static_string:
            return match_string(*this, text_at(record, field->offset, field->size)) != negated;
        case FilterType::dyn_string:
        case FilterType::rdyn_string: {
            std::uint32_t item;
            std::memcpy(&item, record.data() + field->offset, sizeof item);
            std::size_t at = item & 0xffff;
            if (field->filter_type == FilterType::rdyn_string) at += field->offset + sizeof item;
            return match_string(*this, text_at(record, at, item >> 16)) != negated;
        }
        default: return match_pointer(*this, kernel, record);
    }
}

bool EventFilter::Node::match(Kernel& kernel, std::span<const std::uint8_t> record) const {
    bool result = false;
    switch (kind) {
        case Kind::predicate: result = predicate.match(kernel, record); break;
        case Kind::all:
            result = true;
            for (const auto& n : parts)
                if (!n->match(kernel, record)) {
                    result = false;
                    break;
                }
            break;
        case Kind::any:
            for (const auto& n : parts)
                if (n->match(kernel, record)) {
                    result = true;
                    break;
                }
            break;
    }
    return result != inverted;
}

EventFilter::EventFilter(std::unique_ptr<Node> root) : root_(std::move(root)) {}
EventFilter::~EventFilter() = default;

bool EventFilter::match(Kernel& kernel, std::span<const std::uint8_t> record) const {
    return root_->match(kernel, record);
}

std::shared_ptr<const EventFilter> EventFilter::create(const TraceEventCall& call, std::string_view text,
                                                       FilterError& error) {
    std::unique_ptr<Node> root = parse_filter(call, text, error);
    if (!root) return nullptr;
    return std::shared_ptr<const EventFilter>(new EventFilter(std::move(root)));
}

std::string EventFilter::describe(std::string_view text, const FilterError& error) {
    std::string out(text);
    if (!error.text) return out += "\nError: (0)\n";
    std::size_t mark = std::min(error.position, text.size());
    if (mark) ++mark; // the mark stands below the character, counted from one
    out += '\n';
    if (mark > 1) out.append(mark - 1, ' ');
    out += "^\nparse_error: ";
    out += error.text;
    out += '\n';
    return out;
}

FilterType filter_assign_type(std::string_view type) {
    const auto has = [type](std::string_view part) { return type.find(part) != std::string_view::npos; };
    if (has("__data_loc") && has("char")) return FilterType::dyn_string;
    if (has("__rel_loc") && has("char")) return FilterType::rdyn_string;
    if (has("[") && has("char")) return FilterType::static_string;
    if (type == "char *" || type == "const char *") return FilterType::ptr_string;
    return FilterType::other;
}

bool glob_match_len(std::string_view pattern, std::string_view text) {
    text = terminated(text);
    std::size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
    // One element of the pattern against c; p moves behind the element.
    const auto element = [&](char c) {
        if (pattern[p] == '?') return ++p, true;
        if (pattern[p] == '[') {
            std::size_t at = p + 1;
            const bool inverted = at < pattern.size() && pattern[at] == '!';
            at += inverted;
            bool found = false;
            for (bool first = true; at < pattern.size() && (first || pattern[at] != ']'); first = false) {
                const auto low = static_cast<unsigned char>(pattern[at++]);
                auto high = low;
                if (at + 1 < pattern.size() && pattern[at] == '-' && pattern[at + 1] != ']') {
                    high = static_cast<unsigned char>(pattern[at + 1]);
                    at += 2;
                }
                const auto value = static_cast<unsigned char>(c);
                found = found || (low <= value && value <= high);
            }
            if (at < pattern.size()) {
                p = at + 1;
                return found != inverted;
            } // without an end it is a character like others
        }
        if (pattern[p] == '\\' && p + 1 < pattern.size()) ++p;
        return pattern[p++] == c;
    };
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = ++p;
            resume = t;
            continue;
        }
        if (p < pattern.size() && element(text[t])) {
            ++t;
            continue;
        }
        if (star == std::string_view::npos) return false;
        p = star; // the star takes one more character
        t = ++resume;
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

} // namespace rkperf::ke
