// SPDX-License-Identifier: Apache-2.0
// /proc/sys: the values that programs ask for. Those that can be changed are kept here and act only where said.
#include "kernel_events/core/parse.h"
#include "sim/os/fs/inotify.h"
#include "sim/os/fs/procfs.h"
#include "sim/os/kernel.h"
#include "sim/os/ns/namespaces.h"

#include <memory>

namespace rkperf::os {

namespace {

struct Fixed {
    const char* path;
    std::uint32_t mode;
    const char* value;
    AttrStyle style{AttrStyle::sysctl};
};
/// Defaults of Linux 6.1 on arm64. Nothing of this kernel depends on them, so they cannot be changed: mode 0444 stands
/// where Linux has 0644, and a program that tries hears of it.
constexpr Fixed kFixed[] = {
    {"sys/fs/aio-max-nr", 0444, "65536"},
    {"sys/fs/epoll/max_user_watches", 0444, "1048576"},
    {"sys/fs/file-max", 0444, "9223372036854775807"},
    {"sys/fs/file-nr", 0444, "0\t0\t9223372036854775807"},
    {"sys/fs/nr_open", 0444, "1048576"},
    {"sys/fs/overflowgid", 0444, "65534"},
    {"sys/fs/overflowuid", 0444, "65534"},
    {"sys/fs/pipe-max-size", 0444, "1048576"},
    {"sys/fs/protected_hardlinks", 0444, "0"},
    {"sys/fs/protected_symlinks", 0444, "0"},
    {"sys/fs/suid_dumpable", 0444, "0"},
    {"sys/kernel/cap_last_cap", 0444, "40"},
    {"sys/kernel/core_pattern", 0444, "core", AttrStyle::sysctl_string},
    {"sys/kernel/core_uses_pid", 0444, "0"},
    {"sys/kernel/ngroups_max", 0444, "65536"},
    {"sys/kernel/osrelease", 0444, kOsRelease, AttrStyle::sysctl_string},
    {"sys/kernel/ostype", 0444, "Linux", AttrStyle::sysctl_string},
    {"sys/kernel/overflowgid", 0444, "65534"},
    {"sys/kernel/overflowuid", 0444, "65534"},
    {"sys/kernel/panic", 0444, "0"},
    {"sys/kernel/pid_max", 0444, "32768"},
    {"sys/kernel/printk", 0444, "7\t4\t1\t7"},
    {"sys/kernel/random/entropy_avail", 0444, "256"},
    {"sys/kernel/random/poolsize", 0444, "256"},
    {"sys/kernel/randomize_va_space", 0444, "2"},
    {"sys/kernel/sched_autogroup_enabled", 0444, "0"},
    {"sys/kernel/sched_child_runs_first", 0444, "0"},
    {"sys/kernel/sched_rr_timeslice_ms", 0444, "100"},
    {"sys/kernel/sched_schedstats", 0444, "0"},
    {"sys/kernel/shmall", 0444, "18446744073692774399"},
    {"sys/kernel/shmmax", 0444, "18446744073692774399"},
    {"sys/kernel/tainted", 0444, "0"},
    {"sys/kernel/threads-max", 0444, "63448"},
    {"sys/kernel/version", 0444, kOsVersion, AttrStyle::sysctl_string},
    {"sys/vm/max_map_count", 0444, "65530"},
    {"sys/vm/mmap_min_addr", 0444, "32768"},
    {"sys/vm/nr_hugepages", 0444, "0"},
    {"sys/vm/overcommit_memory", 0444, "0"},
    {"sys/vm/overcommit_ratio", 0444, "50"},
    {"sys/vm/page-cluster", 0444, "3"},
    {"sys/vm/swappiness", 0444, "60"},
};

void add_int(AttrFs& fs, const char* path, int initial, int low, int high) {
    const auto value = std::make_shared<int>(initial);
    fs.add_file(
        path, 0644, AttrStyle::sysctl,
        [value](std::string& out) {
            out = std::to_string(*value) + "\n";
            return 0;
        },
        [value, low, high](std::string_view text) -> std::int64_t {
            return ke::proc_dointvec(text, *value, low, high);
        });
}

/// How much of each period real-time tasks may have, all of it with -1. Nothing here makes use of it: they are never held up.
void add_rt_limits(AttrFs& fs) {
    struct Limits {
        int period{1'000'000}, runtime{950'000};
    };
    const auto limits = std::make_shared<Limits>();
    const auto add = [&](const char* path, int Limits::*field) {
        fs.add_file(
            path, 0644, AttrStyle::sysctl,
            [limits, field](std::string& out) {
                out = std::to_string((*limits).*field) + "\n";
                return 0;
            },
            [limits, field](std::string_view text) -> std::int64_t {
                Limits changed = *limits;
                const int taken = ke::proc_dointvec(text, changed.*field);
                if (taken < 0) return taken;
                if (changed.period < 1 || changed.runtime < -1 || changed.runtime > changed.period) return -EINVAL;
                *limits = changed;
                return taken;
            });
    };
    add("sys/kernel/sched_rt_period_us", &Limits::period);
    add("sys/kernel/sched_rt_runtime_us", &Limits::runtime);
}

} // namespace

void add_proc_sys(AttrFs& fs, VfsImpl&, Kernel& kernel) {
    const auto add_fixed = [&](const char* path, std::uint32_t mode, const std::string& value, AttrStyle style) {
        fs.add_file(path, mode, style,
                    [text = value + "\n"](std::string& out) {
                        out = text;
                        return 0;
                    },
                    {});
    };
    for (const Fixed& f : kFixed) add_fixed(f.path, f.mode, f.value, f.style);
    const std::pair<const char*, std::uint64_t> of_inotify[] = {
        {"sys/fs/inotify/max_queued_events", inotify::max_queued_events},
        {"sys/fs/inotify/max_user_instances", inotify::max_user_instances},
        {"sys/fs/inotify/max_user_watches", FsNotify::max_user_watches(kernel.pages().total_pages())}};
    for (const auto& [path, value] : of_inotify) add_fixed(path, 0444, std::to_string(value), AttrStyle::sysctl);
    add_rt_limits(fs);
    add_int(fs, "sys/kernel/kptr_restrict", 0, 0, 2); // acts on /proc/kallsyms
    static constexpr struct {
        const char* path;
        std::string UtsNamespace::*field;
    } kUtsNames[] = {{"sys/kernel/hostname", &UtsNamespace::nodename},
                     {"sys/kernel/domainname", &UtsNamespace::domainname}};
    for (const auto& n : kUtsNames)
        fs.add_file(
            n.path, 0644, AttrStyle::sysctl_string,
            [&kernel, field = n.field](std::string& out) {
                out = (*kernel.cur().nsproxy->uts).*field + "\n";
                return 0;
            },
            [&kernel, field = n.field](std::string_view text) {
                (*kernel.cur().nsproxy->uts).*field = text.substr(0, 64);
                return static_cast<std::int64_t>(text.size());
            });
    fs.add_file("sys/kernel/random/boot_id", 0444, AttrStyle::sysctl_string,
                [seed = kernel.config().seed](std::string& out) {
                    const std::uint64_t a = seed * 0x9e3779b97f4a7c15ull, b = ~a * 0xbf58476d1ce4e5b9ull;
                    append(out, "%08x-%04x-4%03x-a%03x-%012llx\n", static_cast<unsigned>(a >> 32),
                           static_cast<unsigned>(a >> 16 & 0xffff), static_cast<unsigned>(a & 0xfff),
                           static_cast<unsigned>(b >> 52), static_cast<unsigned long long>(b & 0xffffffffffff));
                    return 0;
                },
                {});
}

} // namespace rkperf::os
