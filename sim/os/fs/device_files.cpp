// SPDX-License-Identifier: Apache-2.0
#include "sim/os/fs/device_files.h"

#include <algorithm>
#include <cctype>

namespace rkperf::os {

namespace {

bool is_alnum(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }
std::int64_t size_of(std::string_view text) { return static_cast<std::int64_t>(text.size()); }

/// sysfs_streq: a newline at the end does not matter.
bool same(std::string_view text, std::string_view word) {
    return text == word || (text.ends_with('\n') && text.substr(0, text.size() - 1) == word);
}

ShowFn constant(std::string text) {
    return [text = std::move(text)](std::string& out) {
        out = text;
        return 0;
    };
}

bool is_uuid(std::string_view word) {
    constexpr std::string_view kForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    return word.size() == kForm.size() && std::equal(word.begin(), word.end(), kForm.begin(), [](char c, char form) {
               return form == '-' ? c == '-' : std::isxdigit(static_cast<unsigned char>(c)) != 0;
           });
}

bool is_pair(std::string_view word) {
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals >= word.size() - 1) return false;
    const std::string_view key = word.substr(0, equals), value = word.substr(equals + 1);
    return std::all_of(key.begin(), key.end(), is_alnum) && std::all_of(value.begin(), value.end(), is_alnum);
}

/// kobject_synth_uevent: an action, maybe a UUID, maybe pairs KEY=VALUE. Nobody listens.
std::int64_t synthesise_uevent(std::string_view text) {
    constexpr std::string_view kActions[] = {"add", "remove", "change", "move", "online", "offline", "bind", "unbind"};
    std::string_view rest = text;
    if (!rest.empty() && (rest.back() == '\n' || rest.back() == '\0')) rest.remove_suffix(1);
    for (int word = 0;; ++word) {
        const std::size_t end = std::min(rest.find(' '), rest.size());
        const std::string_view w = rest.substr(0, end);
        const bool good = word == 0   ? std::find(std::begin(kActions), std::end(kActions), w) != std::end(kActions)
                          : word == 1 ? is_uuid(w)
                                      : is_pair(w);
        if (!good) return -EINVAL;
        if (end == rest.size()) return size_of(text);
        rest.remove_prefix(end + 1);
    }
}

} // namespace

void add_device_files(AttrFs& fs, const std::string& dir) {
    fs.add_file(dir + "uevent", 0644, constant(""), synthesise_uevent);
    const auto fails = [](auto&&...) { return -EIO; };
    fs.add_file(dir + "power/autosuspend_delay_ms", 0644, fails, fails);
    const auto async = std::make_shared<bool>(false), forbidden = std::make_shared<bool>(false);
    const auto choice = [&](const char* file, const std::shared_ptr<bool>& value, const char* no, const char* yes) {
        fs.add_file(
            dir + "power/" + file, 0644,
            [=](std::string& out) {
                out = std::string(*value ? yes : no) + "\n";
                return 0;
            },
            [=](std::string_view text) -> std::int64_t {
                if (!same(text, yes) && !same(text, no)) return -EINVAL;
                *value = same(text, yes);
                return size_of(text);
            });
    };
    choice("async", async, "disabled", "enabled");
    choice("control", forbidden, "auto", "on");
    const auto follows = [&](const char* file, const char* otherwise, const char* when_forbidden) {
        fs.add_file(dir + "power/" + file, 0444, [=](std::string& out) {
            out = *forbidden ? when_forbidden : otherwise;
            return 0;
        });
    };
    follows("runtime_enabled", "disabled\n", "disabled & forbidden\n");
    follows("runtime_usage", "0\n", "1\n");
    for (const char* zero : {"runtime_active_kids", "runtime_active_time", "runtime_suspended_time"})
        fs.add_text(dir + "power/" + zero, "0\n");
    fs.add_text(dir + "power/runtime_status", "unsupported\n");
}

void add_bus_files(AttrFs& fs, const std::string& dir) {
    const auto autoprobe = std::make_shared<bool>(true);
    fs.add_file(
        dir + "drivers_autoprobe", 0644,
        [=](std::string& out) {
            out = *autoprobe ? "1\n" : "0\n";
            return 0;
        },
        [=](std::string_view text) {
            *autoprobe = !text.starts_with('0');
            return size_of(text);
        });
    // A device that exists has no driver to look for, one that does not is the error.
    fs.add_file(dir + "drivers_probe", 0200, {}, [&fs, dir](std::string_view text) -> std::int64_t {
        std::string_view name = text;
        if (name.ends_with('\n')) name.remove_suffix(1);
        const bool there =
            !name.empty() && name.find('/') == name.npos && fs.exists(dir + "devices/" + std::string(name));
        return there ? size_of(text) : -ENODEV;
    });
    fs.add_file(dir + "uevent", 0200, {}, synthesise_uevent);
}

} // namespace rkperf::os
