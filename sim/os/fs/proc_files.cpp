// SPDX-License-Identifier: Apache-2.0
// Files of /proc that tell about the machine and the kernel.
#include "sim/os/fs/procfs.h"
#include "sim/os/irq/gic_driver.h"
#include "sim/os/kernel.h"
#include "sim/os/ns/pid_namespace.h"
#include "sim/os/sched/scheduler.h"
#include "sim/os/time/time_keeper.h"

#include <algorithm>

namespace rkperf::os {

namespace {

using ull = unsigned long long;
constexpr std::uint64_t kTick = 10'000'000; ///< ns of USER_HZ

/// Time of one CPU by kind, ns. What is not idle is shared out by the instructions executed at EL0 and EL1.
struct CpuTimes {
    std::uint64_t user{}, system{}, idle{};
};
CpuTimes times_of(Kernel& k, int cpu) {
    const cpu::CoreStats& s = k.pcpu(cpu).core->stats();
    CpuTimes t;
    const std::uint64_t up = k.time().clock_ns(CLOCK_MONOTONIC);
    t.idle = std::min(up, s.idle_time_ps / 1000);
    const std::uint64_t busy = up - t.idle, all = s.user_instructions + s.kernel_instructions;
    t.user = all ? static_cast<std::uint64_t>(static_cast<unsigned __int128>(busy) * s.user_instructions / all) : 0;
    t.system = busy - t.user;
    return t;
}

int cpuinfo(Kernel& k, std::string& out) {
    // Both kinds of core have the same hardware capabilities (facts: rk3588, boot logs).
    constexpr const char* kFeatures =
        "fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp";
    for (int c = 0; c < k.num_cpus(); ++c) {
        if (!k.pcpu(c).online) continue;
        const std::uint64_t midr = k.pcpu(c).core->midr();
        append(out, "processor\t: %d\nBogoMIPS\t: 48.00\nFeatures\t: %s\n", c, kFeatures);
        append(out,
               "CPU implementer\t: 0x%02x\nCPU architecture: 8\nCPU variant\t: 0x%x\nCPU part\t: 0x%03x\n"
               "CPU revision\t: %u\n\n",
               static_cast<unsigned>(midr >> 24 & 0xff), static_cast<unsigned>(midr >> 20 & 0xf),
               static_cast<unsigned>(midr >> 4 & 0xfff), static_cast<unsigned>(midr & 0xf));
    }
    return 0;
}

int meminfo(Kernel& k, const VfsImpl& vfs, std::string& out) {
    const std::uint64_t cached = vfs.cached_pages() * 4;
    const std::uint64_t total = k.pages().total_pages() * 4, free = k.pages().free_pages() * 4;
    const std::pair<const char*, std::uint64_t> rows[] = {{"MemTotal", total},
                                                          {"MemFree", free},
                                                          {"MemAvailable", free},
                                                          {"Buffers", 0},
                                                          {"Cached", cached},
                                                          {"SwapCached", 0},
                                                          {"Active", 0},
                                                          {"Inactive", 0},
                                                          {"Unevictable", 0},
                                                          {"Mlocked", 0},
                                                          {"SwapTotal", 0},
                                                          {"SwapFree", 0},
                                                          {"Dirty", 0},
                                                          {"Writeback", 0},
                                                          {"AnonPages", 0},
                                                          {"Mapped", 0},
                                                          {"Shmem", 0},
                                                          {"Slab", 0},
                                                          {"KernelStack", 0},
                                                          {"PageTables", 0},
                                                          {"CommitLimit", total / 2},
                                                          {"Committed_AS", 0},
                                                          {"VmallocTotal", 133141626880},
                                                          {"VmallocUsed", 0},
                                                          {"AnonHugePages", 0}};
    for (const auto& [name, kb] : rows)
        append(out, "%-16s%8llu kB\n", (std::string(name) + ":").c_str(), static_cast<ull>(kb));
    append(out, "HugePages_Total:       0\nHugePages_Free:        0\nHugepagesize:       2048 kB\n");
    return 0;
}

int stat(Kernel& k, std::string& out) {
    CpuTimes sum;
    std::string cpus;
    std::uint64_t irqs = 0;
    for (int c = 0; c < k.num_cpus(); ++c) {
        const CpuTimes t = times_of(k, c);
        sum.user += t.user, sum.system += t.system, sum.idle += t.idle;
        irqs += k.pcpu(c).irqs;
        if (k.pcpu(c).online)
            append(cpus, "cpu%d %llu 0 %llu %llu 0 0 0 0 0 0\n", c, static_cast<ull>(t.user / kTick),
                   static_cast<ull>(t.system / kTick), static_cast<ull>(t.idle / kTick));
    }
    int running = 0, blocked = 0, last = 0;
    for (const auto& [tid, t] : k.tasks()) {
        running += t->state == TaskState::running;
        blocked += t->state == TaskState::uninterruptible;
        last = std::max(last, tid);
    }
    append(out, "cpu  %llu 0 %llu %llu 0 0 0 0 0 0\n", static_cast<ull>(sum.user / kTick),
           static_cast<ull>(sum.system / kTick), static_cast<ull>(sum.idle / kTick));
    out += cpus;
    append(out, "intr %llu\nctxt %llu\nbtime %llu\nprocesses %d\nprocs_running %d\nprocs_blocked %d\n",
           static_cast<ull>(irqs), static_cast<ull>(k.sched().nr_switches()), static_cast<ull>(k.config().epoch_s),
           last, std::max(running, 1), blocked);
    append(out, "softirq 0 0 0 0 0 0 0 0 0 0 0\n");
    return 0;
}

/// Of the kernel's counters those that are kept here; what never happens in this machine (swapping, reclaim, huge pages) is 0.
int vmstat(Kernel& k, const VfsImpl& vfs, std::string& out) {
    const std::pair<const char*, std::uint64_t> rows[] = {{"nr_free_pages", k.pages().free_pages()},
                                                          {"nr_inactive_anon", 0},
                                                          {"nr_active_anon", 0},
                                                          {"nr_inactive_file", 0},
                                                          {"nr_active_file", vfs.cached_pages()},
                                                          {"nr_unevictable", 0},
                                                          {"nr_mlock", 0},
                                                          {"nr_file_pages", vfs.cached_pages()},
                                                          {"nr_dirty", 0},
                                                          {"nr_writeback", 0},
                                                          {"pgpgin", 0},
                                                          {"pgpgout", 0},
                                                          {"pswpin", 0},
                                                          {"pswpout", 0},
                                                          {"pgfault", k.vm_events.pgfault},
                                                          {"pgmajfault", k.vm_events.pgmajfault},
                                                          {"oom_kill", 0}};
    for (const auto& [name, n] : rows) append(out, "%s %llu\n", name, static_cast<ull>(n));
    return 0;
}

int uptime(Kernel& k, std::string& out) {
    const std::uint64_t up = k.time().clock_ns(CLOCK_BOOTTIME);
    std::uint64_t idle = 0;
    for (int c = 0; c < k.num_cpus(); ++c) idle += times_of(k, c).idle;
    append(out, "%llu.%02llu %llu.%02llu\n", static_cast<ull>(up / 1'000'000'000), static_cast<ull>(up / kTick % 100),
           static_cast<ull>(idle / 1'000'000'000), static_cast<ull>(idle / kTick % 100));
    return 0;
}

int loadavg(Kernel& k, std::string& out) {
    int running = 0, last = 0;
    for (const auto& [tid, t] : k.tasks()) {
        running += t->state == TaskState::running;
        last = std::max(last, tid);
    }
    if (const auto& ns = k.cur().pid_ns) last = ns->last_pid; // the reader's, whichever this /proc belongs to
    append(out, "0.00 0.00 0.00 %d/%zu %d\n", running, k.tasks().size(), last);
    return 0;
}

int interrupts(Kernel& k, std::string& out) {
    append(out, "     ");
    for (int c = 0; c < k.num_cpus(); ++c) append(out, "      CPU%d", c);
    out += "\n";
    for (const auto& i : k.gic().irqs()) {
        append(out, "%3u: ", i.intid);
        for (int c = 0; c < k.num_cpus(); ++c)
            append(out, "%10llu ", static_cast<ull>(i.count[static_cast<unsigned>(c)]));
        append(out, "    GICv3  %u Level     %s\n", i.intid, i.name.c_str());
    }
    static constexpr const char* kIpi[] = {"Rescheduling interrupts",    "Function call interrupts",
                                           "CPU stop interrupts",        "CPU stop (for crash dump) interrupts",
                                           "Timer broadcast interrupts", "IRQ work interrupts"};
    for (unsigned n = 0; n < std::size(kIpi); ++n) {
        append(out, "IPI%u:", n);
        for (int c = 0; c < k.num_cpus(); ++c)
            append(out, "%10llu ", static_cast<ull>(k.gic().ipi_count(c, static_cast<Ipi>(n))));
        append(out, "      %s\n", kIpi[n]);
    }
    out += "Err:          0\n";
    return 0;
}

/// kallsyms_show_value(): who may see addresses.
bool show_addresses(VfsImpl& vfs) {
    const auto value = [&](const char* path) {
        FileHandle f;
        if (vfs.openat(abi::at_fdcwd, path, abi::o_rdonly, 0, f)) return 0;
        std::uint8_t b[32]{};
        f->pread({b, sizeof b - 1}, 0);
        return std::atoi(reinterpret_cast<const char*>(b));
    };
    const bool syslog = capable_of(vfs.services().cred(), kCapSyslog);
    switch (value("/proc/sys/kernel/kptr_restrict")) {
        case 0: return value("/proc/sys/kernel/perf_event_paranoid") <= 1 || syslog;
        case 1: return syslog;
        default: return false;
    }
}

int kallsyms(VfsImpl& vfs, std::string& out) {
    out += Kernel::kallsyms(show_addresses(vfs));
    return 0;
}

constexpr const char* kFilesystems =
    "nodev\tsysfs\nnodev\ttmpfs\nnodev\tproc\nnodev\tdevtmpfs\nnodev\ttracefs\nnodev\tdebugfs\nnodev\tpipefs\n\text4\n";
constexpr const char* kDevices = "Character devices:\n  1 mem\n  5 /dev/tty\n136 pts\n\nBlock devices:\n179 mmc\n";

} // namespace

void add_proc_files(AttrFs& fs, VfsImpl& vfs, Kernel& kernel) {
    const auto of_kernel = [&](const char* name, int (*fn)(Kernel&, std::string&)) {
        fs.add_file(name, 0444, [&k = kernel, fn](std::string& out) { return fn(k, out); });
    };
    of_kernel("cpuinfo", cpuinfo);
    fs.add_file("meminfo", 0444, [&](std::string& out) { return meminfo(kernel, vfs, out); });
    fs.add_file("vmstat", 0444, [&](std::string& out) { return vmstat(kernel, vfs, out); });
    of_kernel("stat", stat);
    of_kernel("uptime", uptime);
    of_kernel("loadavg", loadavg);
    of_kernel("interrupts", interrupts);
    fs.add_file("kallsyms", 0444, [&vfs](std::string& out) { return kallsyms(vfs, out); });
    fs.add_text("version", "Linux version " + std::string(kOsRelease) + " (rkperf@rkperf) (aarch64-linux-gnu-gcc) " +
                               kOsVersion + "\n");
    fs.add_text("cmdline", "root=/dev/mmcblk0p2 rw nokaslr\n");
    fs.add_text("filesystems", kFilesystems);
    fs.add_text("devices", kDevices);
    fs.add_text("modules", "");
    fs.add_text("swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n");
    fs.add_text("partitions", "major minor  #blocks  name\n\n");
    fs.add_link("mounts", "self/mounts");
}

} // namespace rkperf::os
