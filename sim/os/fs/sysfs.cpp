// SPDX-License-Identifier: Apache-2.0
#include "sim/os/fs/sysfs.h"

#include "sim/os/fs/procfs.h"
#include "sim/os/kernel.h"
#include "sim/os/sched/scheduler.h"

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

/// Frequencies that the device trees list, kHz.
constexpr unsigned kFreqA55[] = {1008000, 1200000, 1416000, 1608000, 1800000};
constexpr unsigned kFreqA76[] = {1200000, 1416000, 1608000, 1800000, 2016000, 2208000, 2400000};

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

/// CPUs of the same frequency domain: the four small ones, then pairs of big ones (device tree cpu-map).
unsigned domain_of(Kernel& k, int cpu) {
    unsigned mask = 0;
    for (int c = 0; c < k.num_cpus(); ++c) {
        const bool same = big(k, c) == big(k, cpu) && (!big(k, cpu) || c / 2 == cpu / 2);
        mask |= static_cast<unsigned>(same) << c;
    }
    return mask;
}
int cluster_of(Kernel& k, int cpu) {
    int cluster = -1;
    unsigned seen = 0;
    for (int c = 0; c <= cpu; ++c)
        if (!(seen >> c & 1)) {
            seen |= domain_of(k, c);
            ++cluster;
        }
    return cluster;
}

void add_topology(AttrFs& fs, Kernel& k, int cpu, const std::string& dir) {
    const int n = k.num_cpus();
    const unsigned self = 1u << cpu, cluster = domain_of(k, cpu), all = (1u << n) - 1;
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
    const unsigned domain = domain_of(k, cpu);
    const int first = __builtin_ctz(domain);
    const std::string policy = "devices/system/cpu/cpufreq/policy" + std::to_string(first) + "/";
    fs.add_link(dir + "cpufreq", "../cpufreq/policy" + std::to_string(first));
    if (first != cpu) return;
    const std::span<const unsigned> table =
        is_big ? std::span<const unsigned>(kFreqA76) : std::span<const unsigned>(kFreqA55);
    std::string freqs, cpus;
    for (const unsigned f : table) freqs += std::to_string(f) + " ";
    for (int c = 0; c < k.num_cpus(); ++c)
        if (domain >> c & 1) cpus += (cpus.empty() ? "" : " ") + std::to_string(c);
    fs.add_text(policy + "affected_cpus", cpus + "\n");
    fs.add_text(policy + "related_cpus", cpus + "\n");
    fs.add_text(policy + "scaling_available_frequencies", freqs + "\n");
    fs.add_text(policy + "scaling_available_governors", "performance\n");
    fs.add_text(policy + "scaling_governor", "performance\n"); // the clock of a run is fixed
    fs.add_text(policy + "scaling_driver", "scmi\n");
    fs.add_text(policy + "cpuinfo_min_freq", line(table.front()));
    fs.add_text(policy + "cpuinfo_max_freq", line(table.back()));
    const auto now = [&k, cpu](std::string& out) {
        out = line(k.pcpu(cpu).core->clock().hertz() / 1000);
        return 0;
    };
    for (const char* name : {"scaling_cur_freq", "cpuinfo_cur_freq", "scaling_min_freq", "scaling_max_freq"})
        fs.add_file(policy + name, 0444, now);
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
    add_node(*fs, k);
    fs->add_dir("bus/event_source/devices");
    fs->add_dir("bus/event_source/drivers");
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
