// SPDX-License-Identifier: Apache-2.0
// What the files of tracefs have in common: how they show constants and take settings.
#pragma once

#include "kernel_events/trace/dynevent.h"
#include "sim/os/fs/attr_tree.h"

#include <cctype>
#include <functional>
#include <string>
#include <string_view>

namespace rkperf::os {

inline ShowFn constant(std::string text) {
    return [text = std::move(text)](std::string& out) {
        out = text;
        return 0;
    };
}

inline std::string_view trim(std::string_view s) {
    while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back()))) s.remove_suffix(1);
    while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front()))) s.remove_prefix(1);
    return s;
}

/// A store function from one that takes a text; opening with O_TRUNC alone changes nothing.
inline StoreFn taking(std::function<int(std::string_view)> fn) {
    return [fn = std::move(fn)](std::string_view text) -> std::int64_t {
        if (ke::is_truncated(text)) return 0;
        const int error = fn(text);
        return error ? error : static_cast<std::int64_t>(text.size());
    };
}

/// A store function for numbers up to `max`, -EINVAL beyond (kstrtoul_from_user).
inline StoreFn taking_number(std::uint64_t max, std::function<int(std::uint64_t)> fn) {
    return taking([max, fn = std::move(fn)](std::string_view text) {
        constexpr std::size_t kLongest = 66;
        text = text.substr(0, kLongest);
        std::uint64_t value = 0;
        if (const int e = ke::kstrtoul(text.substr(0, text.find('\0')), 10, value)) return e;
        return value > max ? -EINVAL : fn(value);
    });
}

/// A store function for "0" and "1".
inline StoreFn taking_switch(std::function<int(bool)> fn) {
    return taking_number(1, [fn = std::move(fn)](std::uint64_t v) { return fn(v != 0); });
}

} // namespace rkperf::os
