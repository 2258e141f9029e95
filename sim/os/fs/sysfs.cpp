// SPDX-License-Identifier: Apache-2.0
#include "sim/os/fs/sysfs.h"

#include "sim/os/cpufreq/cpufreq.h"
#include "sim/os/fs/device_files.h"
#include "sim/os/fs/procfs.h"
#include "sim/os/kernel.h"
#include "sim/os/sched/scheduler.h"

#include <algorithm>
#include <charconv>

namespace rkperf::os {

namespace {

using ull = unsigned long long;

/// A cache as /sys/devices/system/cpu/cpuN/cache/indexM shows it (facts: rk3588, CPU complex).
struct CacheRow {
    const char* type;
    unsigned level, size_kb, ways, sets;
    bool shared; ///< by all CPUs
};
constexpr CacheRow kA55[] = {{"Data", 1, 32, 4, 128, false},
                             {"Instruction", 1, 32, 4, 128, false},
                             {"Unified", 2, 128, 4, 512, false},
                             {"Unified", 3, 3072, 12, 4096, true}};
constexpr CacheRow kA76[] = {{"Data", 1, 64, 4, 256, false},
                             {"Instruction", 1, 64, 4, 256, false},
                             {"Unified", 2, 512, 8, 1024, false},
                             {"Unified", 3, 3072, 12, 4096, true}};
constexpr unsigned kPartA76 = 0xd0b;

unsigned part_of(Kernel& k, int cpu) { return static_cast<unsigned>(k.pcpu(cpu).core->midr() >> 4 & 0xfff); }
bool big(Kernel& k, int cpu) { return part_of(k, cpu) == kPartA76; }

std::string list_text(unsigned mask) {
    std::string out;
    for (unsigned i = 0; i < 32; ++i) {
        if (!(mask >> i & 1)) continue;
        unsigned j = i;
        while (j + 1 < 32 && mask >> (j + 1) & 1) ++j;
        if (!out.empty()) out += ",";
        out += std::to_string(i);
        if (j > i) out += "-" + std::to_string(j);
        i = j;
    }
    return out + "\n";
}
std::string mask_text(unsigned mask, int cpus) {
    std::string out;
    append(out, "%0*x\n", (cpus + 3) / 4, mask);
    return out;
}
std::string line(ull v) { return std::to_string(v) + "\n"; }

int cluster_of(Kernel& k, int cpu) {
    int cluster = -1;
    unsigned seen = 0;
    for (int c = 0; c <= cpu; ++c)
        if (!(seen >> c & 1)) {
            seen |= CpuFreq::domain_of(k, c);
            ++cluster;
        }
    return cluster;
}

void add_topology(AttrFs& fs, Kernel& k, int cpu, const std::string& dir) {
    const int n = k.num_cpus();
    const unsigned self = 1u << cpu, cluster = CpuFreq::domain_of(k, cpu), all = (1u << n) - 1;
    int core = 0;
    for (int c = 0; c < cpu; ++c) core += static_cast<int>(cluster >> c & 1);
    fs.add_text(dir + "physical_package_id", "0\n");
    fs.add_text(dir + "cluster_id", line(static_cast<ull>(cluster_of(k, cpu))));
    fs.add_text(dir + "core_id", line(static_cast<ull>(core)));
    const std::tuple<const char*, const char*, unsigned> rows[] = {{"core_cpus", "core_cpus_list", self},
                                                                   {"thread_siblings", "thread_siblings_list", self},
                                                                   {"cluster_cpus", "cluster_cpus_list", cluster},
                                                                   {"core_siblings", "core_siblings_list", all},
                                                                   {"package_cpus", "package_cpus_list", all}};
    for (const auto& [mask_name, list_name, mask] : rows) {
        fs.add_text(dir + mask_name, mask_text(mask, n));
        fs.add_text(dir + list_name, list_text(mask));
    }
}

/// kstrtobool: what the first letters say; the rest does not matter.
int kstrtobool(std::string_view text, bool& value) {
    const char first = text.empty() ? '\0' : text[0], second = text.size() > 1 ? text[1] : '\0';
    const bool word = first == 'o' || first == 'O';
    const bool yes = first == 'y' || first == 'Y' || first == '1' || (word && (second == 'n' || second == 'N'));
    const bool no = first == 'n' || first == 'N' || first == '0' || (word && (second == 'f' || second == 'F'));
    value = yes;
    return yes || no ? 0 : -EINVAL;
}

void add_cpu(AttrFs& fs, Kernel& k, int cpu) {
    const std::string dir = "devices/system/cpu/cpu" + std::to_string(cpu) + "/";
    const bool is_big = big(k, cpu);
    const auto store_online = [&k, cpu](std::string_view text) -> std::int64_t {
        bool on = false;
        int error = kstrtobool(text, on);
        if (!error) error = on ? k.sched().cpu_up(cpu) : k.sched().cpu_down(cpu);
        return error ? error : static_cast<std::int64_t>(text.size());
    };
    const auto show_online = [&k, cpu](std::string& out) {
        out = k.pcpu(cpu).online ? "1\n" : "0\n";
        return 0;
    };
    fs.add_file(dir + "online", 0644, show_online, store_online);
    fs.add_text(dir + "cpu_capacity", line(k.config().cpu_capacity[static_cast<std::size_t>(cpu)]));
    fs.add_text(dir + "uevent", "DRIVER=cpu\nOF_NAME=cpu\nMODALIAS=cpu:type:aarch64:feature:\n");
    std::string midr;
    append(midr, "0x%016llx\n", static_cast<ull>(k.pcpu(cpu).core->midr()));
    fs.add_text(dir + "regs/identification/midr_el1", midr);
    fs.add_text(dir + "regs/identification/revidr_el1", "0x0000000000000000\n");
    add_topology(fs, k, cpu, dir + "topology/");
    unsigned index = 0;
    const unsigned all = (1u << k.num_cpus()) - 1;
    for (const CacheRow& c : is_big ? kA76 : kA55) {
        const std::string at = dir + "cache/index" + std::to_string(index++) + "/";
        const unsigned mask = c.shared ? all : 1u << cpu;
        fs.add_text(at + "type", std::string(c.type) + "\n");
        fs.add_text(at + "level", line(c.level));
        fs.add_text(at + "size", std::to_string(c.size_kb) + "K\n");
        fs.add_text(at + "ways_of_associativity", line(c.ways));
        fs.add_text(at + "number_of_sets", line(c.sets));
        fs.add_text(at + "coherency_line_size", line(kLineSize));
        fs.add_text(at + "shared_cpu_map", mask_text(mask, k.num_cpus()));
        fs.add_text(at + "shared_cpu_list", list_text(mask));
    }
    fs.add_link(dir + "cpufreq", "../cpufreq/policy" + std::to_string(__builtin_ctz(CpuFreq::domain_of(k, cpu))));
}

/// A number of kHz as store_scaling_* reads it (sscanf "%u").
bool read_khz(std::string_view text, unsigned& out) {
    while (!text.empty() && (text[0] == ' ' || text[0] == '\t')) text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc() && end != text.data();
}

using PolicyShow = std::string (*)(CpuFreq& f, CpuFreqPolicy& p);
using PolicyStore = int (*)(CpuFreq& f, CpuFreqPolicy& p, std::string_view text);

template <unsigned CpuFreqPolicy::*Member>
std::string show_khz(CpuFreq&, CpuFreqPolicy& p) {
    return line(p.*Member);
}
template <unsigned CpuFreqPolicy::*Member>
int store_khz(CpuFreq& f, CpuFreqPolicy& p, std::string_view text) {
    unsigned khz = 0;
    if (!read_khz(text, khz)) return -EINVAL;
    p.*Member = khz;
    f.set_policy(p);
    return 0;
}
std::string show_cpus(CpuFreq&, CpuFreqPolicy& p) {
    std::string out;
    for (int c = 0; c < 32; ++c)
        if (p.cpus >> c & 1) out += (out.empty() ? "" : " ") + std::to_string(c);
    return out + "\n";
}
std::string show_frequencies(CpuFreq&, CpuFreqPolicy& p) {
    std::string out;
    for (const unsigned f : p.table) out += std::to_string(f) + " ";
    return out + "\n";
}
std::string show_governors(CpuFreq&, CpuFreqPolicy&) {
    std::string out;
    for (const std::string_view g : kCpuFreqGovernors) out.append(g).append(" ");
    return out + "\n";
}
std::string show_governor(CpuFreq&, CpuFreqPolicy& p) {
    return std::string(kCpuFreqGovernors[static_cast<std::size_t>(p.governor)]) + "\n";
}
int store_governor(CpuFreq& f, CpuFreqPolicy& p, std::string_view text) {
    const std::string_view word = text.substr(0, text.find_first_of(" \t\n"));
    const auto* const g = std::find(std::begin(kCpuFreqGovernors), std::end(kCpuFreqGovernors), word);
    if (g == std::end(kCpuFreqGovernors)) return -EINVAL;
    p.governor = static_cast<CpuFreqGovernor>(g - kCpuFreqGovernors);
    p.setspeed = p.cur; // userspace begins with what there is
    f.set_policy(p);
    return 0;
}
std::string show_setspeed(CpuFreq&, CpuFreqPolicy& p) {
    return p.governor == CpuFreqGovernor::userspace ? line(p.setspeed) : "<unsupported>\n";
}
int store_setspeed(CpuFreq& f, CpuFreqPolicy& p, std::string_view text) {
    unsigned khz = 0;
    return read_khz(text, khz) ? f.set_speed(p, khz) : -EINVAL;
}
std::string show_time_in_state(CpuFreq& f, CpuFreqPolicy& p) {
    f.account(p);
    std::string out;
    constexpr ull kTick = 10'000'000'000; // USER_HZ
    for (std::size_t i = 0; i < p.table.size(); ++i) append(out, "%u %llu\n", p.table[i], p.time_in_state[i].v / kTick);
    return out;
}
std::string show_transitions(CpuFreq&, CpuFreqPolicy& p) { return line(p.transitions); }

struct PolicyFile {
    const char* name;
    std::uint32_t mode;
    PolicyShow show;
    PolicyStore store;
};
constexpr PolicyFile kPolicyFiles[] = {
    {"affected_cpus", 0444, show_cpus, nullptr},
    {"cpuinfo_cur_freq", 0400, show_khz<&CpuFreqPolicy::cur>, nullptr},
    {"cpuinfo_max_freq", 0444, show_khz<&CpuFreqPolicy::cpuinfo_max>, nullptr},
    {"cpuinfo_min_freq", 0444, show_khz<&CpuFreqPolicy::cpuinfo_min>, nullptr},
    {"cpuinfo_transition_latency", 0444, [](CpuFreq&, CpuFreqPolicy&) { return line(CpuFreq::kTransitionLatencyNs); },
     nullptr},
    {"related_cpus", 0444, show_cpus, nullptr},
    {"scaling_available_frequencies", 0444, show_frequencies, nullptr},
    {"scaling_available_governors", 0444, show_governors, nullptr},
    {"scaling_cur_freq", 0444, show_khz<&CpuFreqPolicy::cur>, nullptr},
    {"scaling_driver", 0444, [](CpuFreq&, CpuFreqPolicy&) { return std::string("scmi\n"); }, nullptr},
    {"scaling_governor", 0644, show_governor, store_governor},
    {"scaling_max_freq", 0644, show_khz<&CpuFreqPolicy::max>, store_khz<&CpuFreqPolicy::max_request>},
    {"scaling_min_freq", 0644, show_khz<&CpuFreqPolicy::min>, store_khz<&CpuFreqPolicy::min_request>},
    {"scaling_setspeed", 0644, show_setspeed, store_setspeed},
    {"stats/time_in_state", 0444, show_time_in_state, nullptr},
    {"stats/total_trans", 0444, show_transitions, nullptr},
};

void add_cpufreq(AttrFs& fs, Kernel& k) {
    const auto cpufreq = std::make_shared<CpuFreq>(k);
    for (const CpuFreqPolicy& policy : cpufreq->policies()) {
        const int cpu = policy.cpu;
        const std::string dir = "devices/system/cpu/cpufreq/policy" + std::to_string(cpu) + "/";
        for (const PolicyFile& f : kPolicyFiles) {
            const auto show = [cpufreq, cpu, &f](std::string& out) {
                out = f.show(*cpufreq, cpufreq->policy_of(cpu));
                return 0;
            };
            StoreFn store;
            if (f.store)
                store = [cpufreq, cpu, &f](std::string_view text) -> std::int64_t {
                    const int error = f.store(*cpufreq, cpufreq->policy_of(cpu), text);
                    return error ? error : static_cast<std::int64_t>(text.size());
                };
            fs.add_file(dir + f.name, f.mode, show, store);
        }
    }
}

void add_cpus(AttrFs& fs, Kernel& k) {
    const std::string all = list_text((1u << k.num_cpus()) - 1), dir = "devices/system/cpu/";
    fs.add_text(dir + "possible", all);
    fs.add_text(dir + "present", all);
    fs.add_file(dir + "online", 0444, [&k](std::string& out) {
        out = list_text(k.cpu_online_mask());
        return 0;
    });
    fs.add_file(dir + "offline", 0444, [&k](std::string& out) {
        out = list_text(k.cpu_possible_mask() & ~k.cpu_online_mask());
        return 0;
    });
    fs.add_text(dir + "isolated", "\n");
    fs.add_text(dir + "kernel_max", line(static_cast<ull>(ke::kMaxCpus) - 1));
    fs.add_text(dir + "vulnerabilities/meltdown", "Not affected\n");
    fs.add_text(dir + "vulnerabilities/spectre_v2", "Mitigation: CSV2, BHB\n");
    fs.add_text(dir + "smt/active", "0\n");
    fs.add_text(dir + "smt/control", "notsupported\n");
    for (int c = 0; c < k.num_cpus(); ++c) add_cpu(fs, k, c);
}

void add_node(AttrFs& fs, Kernel& k) {
    const std::string dir = "devices/system/node/";
    for (const char* name : {"online", "possible", "has_cpu", "has_memory", "has_normal_memory"})
        fs.add_text(dir + name, "0\n");
    const unsigned all = (1u << k.num_cpus()) - 1;
    fs.add_text(dir + "node0/cpulist", list_text(all));
    fs.add_text(dir + "node0/cpumap", mask_text(all, k.num_cpus()));
    fs.add_text(dir + "node0/distance", "10\n");
    fs.add_file(dir + "node0/meminfo", 0444, [&k](std::string& out) {
        const ull total = k.pages().total_pages() * 4, free = k.pages().free_pages() * 4;
        append(out,
               "Node 0 MemTotal:       %8llu kB\nNode 0 MemFree:        %8llu kB\nNode 0 MemUsed:        %8llu kB\n",
               total, free, total - free);
        return 0;
    });
    for (int c = 0; c < k.num_cpus(); ++c) {
        const std::string cpu = "cpu" + std::to_string(c);
        fs.add_link(dir + "node0/" + cpu, "../../cpu/" + cpu);
    }
}

} // namespace

void add_sysfs(VfsImpl& vfs, Kernel& k) {
    const auto fs =
        std::make_shared<AttrFs>(vfs.services(), "sysfs", abi::sysfs_magic, vfs.next_minor(), AttrStyle::sysfs);
    add_cpus(*fs, k);
    add_cpufreq(*fs, k);
    add_node(*fs, k);
    fs->add_dir("bus/event_source/devices");
    fs->add_dir("bus/event_source/drivers");
    add_bus_files(*fs, "bus/event_source/");
    fs->add_dir("bus/cpu/devices");
    for (int c = 0; c < k.num_cpus(); ++c) {
        const std::string cpu = "cpu" + std::to_string(c);
        fs->add_link("bus/cpu/devices/" + cpu, "../../../devices/system/cpu/" + cpu);
    }
    for (const char* dir : {"class", "dev/char", "dev/block", "firmware", "fs", "kernel/mm", "module", "power"})
        fs->add_dir(dir);
    fs->add_text("kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
    fs->add_text("kernel/notes", Kernel::notes());
    vfs.mount(fs, fs->root(), "/sys", false, "sysfs");
    vfs.add_tree("/sys", fs);
}

} // namespace rkperf::os
