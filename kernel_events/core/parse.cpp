// SPDX-License-Identifier: Apache-2.0
#include "kernel_events/core/parse.h"

#include <cerrno>
#include <cstdint>
#include <limits>

namespace rkperf::ke {

namespace {

int digit_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return 99;
}

/// An unsigned number at the front of `text`, which loses it. False without any digit.
bool take_number(std::string_view& text, std::uint64_t& value, bool& overflow) {
    int base = 10;
    if (text.size() > 2 && text[0] == '0' && (text[1] | 0x20) == 'x' && digit_of(text[2]) < 16) {
        base = 16;
        text.remove_prefix(2);
    } else if (text.size() > 1 && text[0] == '0') {
        base = 8;
    }
    value = 0;
    overflow = false;
    bool any = false;
    while (!text.empty() && digit_of(text.front()) < base) {
        if (value > (std::numeric_limits<std::uint64_t>::max() >> 5)) overflow = true;
        value = value * static_cast<unsigned>(base) + static_cast<unsigned>(digit_of(text.front()));
        text.remove_prefix(1);
        any = true;
    }
    return any;
}

bool is_separator(char c) { return c == ' ' || c == '\t' || c == '\n'; }

/// isspace(): of Latin-1, so with its no-break space.
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r') || static_cast<unsigned char>(c) == 0xa0; }

void skip_spaces(std::string_view& text) {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
}

/// proc_get_long looks at no more characters than this, and takes none of so many.
constexpr std::size_t kLongestNumber = 21;

constexpr std::uint64_t kIntMax = std::numeric_limits<int>::max();

} // namespace

int kstrtoint(std::string_view text, int& value) {
    bool negative = false, overflow = false;
    if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
        negative = text[0] == '-';
        text.remove_prefix(1);
    }
    std::uint64_t v = 0;
    if (!take_number(text, v, overflow)) return -EINVAL;
    if (!text.empty() && text.front() == '\n') text.remove_prefix(1);
    if (!text.empty()) return -EINVAL;
    if (overflow || v > kIntMax + (negative ? 1 : 0)) return -ERANGE;
    value = static_cast<int>(negative ? -static_cast<std::int64_t>(v) : static_cast<std::int64_t>(v));
    return 0;
}

int proc_dointvec(std::string_view text, int& value, int min, int max) {
    const std::size_t given = text.size();
    if (!given) return 0;
    skip_spaces(text);
    const std::size_t from = text.size();
    bool negative = false, overflow = false;
    if (text.size() > 1 && text[0] == '-') {
        negative = true;
        text.remove_prefix(1);
    }
    std::uint64_t v = 0;
    if (!take_number(text, v, overflow) || from - text.size() >= kLongestNumber) return -EINVAL;
    if (!text.empty() && !is_separator(text.front())) return -EINVAL;
    if (overflow || v > kIntMax + (negative ? 1 : 0)) return -EINVAL;
    const std::int64_t number = negative ? -static_cast<std::int64_t>(v) : static_cast<std::int64_t>(v);
    if (number < min || number > max) return -EINVAL;
    value = static_cast<int>(number);
    skip_spaces(text);
    return static_cast<int>(given - text.size());
}

} // namespace rkperf::ke
