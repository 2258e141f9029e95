// SPDX-License-Identifier: Apache-2.0
// Texts of /proc/PID: stat, status, maps, limits (formats of Documentation/filesystems/proc.rst).
#include "sim/os/fs/mnt_namespace.h"
#include "sim/os/fs/procfs.h"
#include "sim/os/kernel.h"
#include "sim/os/ns/pid_namespace.h"
#include "sim/os/process/process.h"
#include "sim/os/ptrace/ptrace.h"

#include <linux/prctl.h>
#include <sys/mman.h>
#include <cstdarg>
#include <cstring>

namespace rkperf::os {

void append(std::string& out, const char* format, ...) {
    char b[1024];
    std::va_list ap;
    va_start(ap, format);
    const int n = std::vsnprintf(b, sizeof b, format, ap);
    va_end(ap);
    if (n > 0) out.append(b, std::min<std::size_t>(static_cast<std::size_t>(n), sizeof b - 1));
}

namespace {

using ull = unsigned long long;
constexpr std::uint64_t kTick = 10'000'000; ///< ns of USER_HZ

struct StateName {
    char letter;
    const char* text;
};
StateName state_of(const Task& t) {
    switch (t.state) {
        case TaskState::running: return {'R', "running"};
        case TaskState::interruptible: return {'S', "sleeping"};
        case TaskState::uninterruptible: return {'D', "disk sleep"};
        case TaskState::stopped: return {'T', "stopped"};
        case TaskState::traced: return {'t', "tracing stop"};
        case TaskState::zombie: return {'Z', "zombie"};
        default: return {'X', "dead"};
    }
}

std::string comm_of(const Task& t) { return {t.comm, strnlen(t.comm, sizeof t.comm)}; }

int shown(const PidNamespace* ns, int pid) { return ns ? ns->local(pid) : pid; }
int parent_of(const PidNamespace* ns, const Task& t) { return t.parent ? shown(ns, t.parent->tgid) : 0; }

std::string vma_name(const AddressSpace& as, const Vma& v) {
    if (!v.name.empty()) return v.name;
    if (v.file) return v.file->path();
    return v.start <= as.cur_brk && v.end >= as.start_brk ? "[heap]" : "";
}

std::uint64_t sigset_of(const SigHand& h, std::uint64_t handler_kind) {
    std::uint64_t set = 0;
    for (int n = 1; n <= kNumSignals; ++n) {
        const std::uint64_t handler = h.action[static_cast<std::size_t>(n)].handler;
        const bool match = handler_kind == 1 ? handler == 1 : handler > 1;
        if (match) set |= 1ull << (n - 1);
    }
    return set;
}

} // namespace

void proc_map_line(const AddressSpace& as, const Vma& v, std::string& out) {
    const ke::VmaInfo i = as.info(v);
    std::string line;
    const bool file = static_cast<bool>(v.file);
    append(line, "%08llx-%08llx %c%c%c%c %08llx %02x:%02x %llu ", static_cast<ull>(v.start), static_cast<ull>(v.end),
           v.prot & PROT_READ ? 'r' : '-', v.prot & PROT_WRITE ? 'w' : '-', v.prot & PROT_EXEC ? 'x' : '-',
           v.map_flags & MAP_SHARED ? 's' : 'p', file ? static_cast<ull>(v.pgoff * kPageSize) : 0ull,
           file ? i.inode.maj : 0, file ? i.inode.min : 0, file ? static_cast<ull>(i.inode.ino) : 0ull);
    const std::string name = vma_name(as, v);
    if (!name.empty()) {
        constexpr std::size_t kNameColumn = 72;
        if (line.size() < kNameColumn) line.resize(kNameColumn, ' ');
        line += ' ';
        for (const char c : name) c == '\n' ? line += "\\012" : line += c;
    }
    out += line + "\n";
}

int proc_stat_text(Kernel& k, Task& t, bool whole, const PidNamespace* ns, std::string& out) {
    const Process& p = *t.process;
    const Rusage used = whole ? usage_of(p) : t.usage(), children = whole ? p.reaped : Rusage{};
    const AddressSpace* as = t.as.get();
    const bool look = ptrace_may_access(k.cur(), t, PtraceMode::fscreds);
    const auto addr = [&](std::uint64_t v) { return as && look ? static_cast<ull>(v) : 0ull; };
    const std::uint64_t ignored = p.sighand ? sigset_of(*p.sighand, 1) : 0,
                        caught = p.sighand ? sigset_of(*p.sighand, 2) : 0;
    const bool rt = t.se.policy == 1 || t.se.policy == 2;
    append(out, "%d (%s) %c %d %d %d 0 -1 %u %llu %llu %llu %llu ", shown(ns, t.pid), comm_of(t).c_str(),
           state_of(t).letter, parent_of(ns, t), shown(ns, p.pgid), shown(ns, p.sid), 0x400000u,
           static_cast<ull>(used.min_flt), static_cast<ull>(children.min_flt), static_cast<ull>(used.maj_flt),
           static_cast<ull>(children.maj_flt));
    append(out, "%llu %llu %lld %lld %d %d %zu 0 %llu %llu %llu %llu ", static_cast<ull>(used.utime / kTick),
           static_cast<ull>(used.stime / kTick), static_cast<long long>(children.utime / kTick),
           static_cast<long long>(children.stime / kTick), rt ? -1 - t.se.rt_priority : 20 + t.se.nice, t.se.nice,
           p.threads.size(), static_cast<ull>(t.start_time_ns / kTick),
           as ? static_cast<ull>(as->total_vm() * kPageSize) : 0ull, as ? static_cast<ull>(as->rss()) : 0ull,
           static_cast<ull>(p.rlimits[5].cur));
    append(out, "%llu %llu %llu 0 0 %llu %llu %llu %llu %d 0 0 %d %d %d %d 0 0 0 ", addr(as ? as->start_code : 0),
           addr(as ? as->end_code : 0), addr(as ? as->start_stack : 0), static_cast<ull>(t.pending.set & 0x7fffffff),
           static_cast<ull>(t.blocked & 0x7fffffff), static_cast<ull>(ignored & 0x7fffffff),
           static_cast<ull>(caught & 0x7fffffff),
           t.state == TaskState::interruptible || t.state == TaskState::uninterruptible, t.exit_signal, t.task_cpu,
           rt ? t.se.rt_priority : 0, t.se.policy);
    append(out, "%llu %llu %llu %llu %llu %llu %llu %d\n", addr(as ? as->start_data : 0), addr(as ? as->end_data : 0),
           addr(as ? as->start_brk : 0), addr(as ? as->arg_start : 0), addr(as ? as->arg_end : 0),
           addr(as ? as->env_start : 0), addr(as ? as->env_end : 0), look ? t.exit_code : 0);
    return 0;
}

int proc_status_text(Kernel& k, Task& t, const PidNamespace* ns, std::string& out) {
    const Process& p = *t.process;
    const Credentials& c = t.cred;
    const UserNamespace* user = k.cur().cred.user_ns.get();
    const auto uid = [&](std::uint32_t id) { return from_kuid_munged(user, id); };
    const auto gid = [&](std::uint32_t id) { return from_kgid_munged(user, id); };
    const StateName s = state_of(t);
    append(out, "Name:\t%s\n", comm_of(t).c_str());
    if (t.fs) append(out, "Umask:\t%04o\n", t.fs->umask);
    append(out, "State:\t%c (%s)\nTgid:\t%d\nNgid:\t0\nPid:\t%d\nPPid:\t%d\nTracerPid:\t%d\n", s.letter, s.text,
           shown(ns, t.tgid), shown(ns, t.pid), parent_of(ns, t), t.ptrace ? shown(ns, t.ptrace.tracer->pid) : 0);
    append(out, "Uid:\t%u\t%u\t%u\t%u\nGid:\t%u\t%u\t%u\t%u\nFDSize:\t%zu\nGroups:\t", uid(c.uid), uid(c.euid),
           uid(c.suid), uid(c.fsuid), gid(c.gid), gid(c.egid), gid(c.sgid), gid(c.fsgid),
           t.files ? std::max<std::size_t>(64, t.files->slots().size()) : 0);
    for (std::size_t i = 0; i < c.groups.size(); ++i) append(out, i ? " %u" : "%u", gid(c.groups[i]));
    out += ' ';
    static constexpr const char* kNames[] = {"\nNStgid:", "\nNSpid:", "\nNSpgid:", "\nNSsid:"};
    const int numbers[] = {t.tgid, t.pid, p.pgid, p.sid};
    for (std::size_t i = 0; i < std::size(numbers); ++i) {
        // One for each namespace, from the reader's inwards.
        std::string line;
        for (const PidNamespace* n = t.pid_ns.get(); n && n->level && n != ns; n = n->parent.get())
            line.insert(0, std::string("\t").append(std::to_string(n->local(numbers[i]))));
        out.append(kNames[i]).append("\t").append(std::to_string(shown(ns, numbers[i]))).append(line);
    }
    out += "\n";
    if (const AddressSpace* as = t.as.get()) {
        std::uint64_t data = 0, stack = 0, anon = 0, exec = 0; // kB
        for (const auto& [start, v] : as->vmas()) {
            const std::uint64_t kb = (v.end - v.start) / 1024;
            if (v.map_flags & MAP_GROWSDOWN || v.name == "[stack]")
                stack += kb;
            else if (v.prot & PROT_WRITE && !(v.map_flags & MAP_SHARED))
                data += kb;
            else if (v.prot & PROT_EXEC && !(v.prot & PROT_WRITE))
                exec += kb;
            if (!v.file) anon += kb;
        }
        constexpr std::uint64_t kPageKb = kPageSize / 1024;
        const std::uint64_t rss = as->rss() * kPageKb;
        const std::uint64_t code = ((as->end_code + kPageSize - 1) & kPageMask) - (as->start_code & kPageMask);
        const std::uint64_t text = std::min(code / 1024, exec);
        const auto line = [&](const char* key, std::uint64_t kb) {
            append(out, "%s:\t%8llu kB\n", key, static_cast<ull>(kb));
        };
        line("VmPeak", as->hiwater_vm() * kPageKb);
        line("VmSize", as->total_vm() * kPageKb);
        line("VmLck", as->locked_vm * kPageKb);
        line("VmPin", as->pinned_vm * kPageKb);
        line("VmHWM", as->hiwater_rss() * kPageKb);
        line("VmRSS", rss);
        line("RssAnon", std::min(rss, anon));
        line("RssFile", rss - std::min(rss, anon));
        line("RssShmem", 0);
        line("VmData", data);
        line("VmStk", stack);
        line("VmExe", text);
        line("VmLib", exec - text);
        line("VmPTE", as->pgtables_bytes() / 1024);
        line("VmSwap", 0);
        line("HugetlbPages", 0);
        append(out, "CoreDumping:\t0\nTHP_enabled:\t%d\n", !as->thp_disabled);
    }
    append(out, "Threads:\t%zu\nSigQ:\t%zu/%llu\nSigPnd:\t%016llx\nShdPnd:\t%016llx\nSigBlk:\t%016llx\n",
           p.threads.size(), t.pending.queue.size() + p.shared_pending.queue.size(),
           static_cast<ull>(p.rlimits[11].cur), static_cast<ull>(t.pending.set), static_cast<ull>(p.shared_pending.set),
           static_cast<ull>(t.blocked));
    append(out, "SigIgn:\t%016llx\nSigCgt:\t%016llx\n", p.sighand ? static_cast<ull>(sigset_of(*p.sighand, 1)) : 0ull,
           p.sighand ? static_cast<ull>(sigset_of(*p.sighand, 2)) : 0ull);
    append(out, "CapInh:\t%016llx\nCapPrm:\t%016llx\nCapEff:\t%016llx\nCapBnd:\t%016llx\nCapAmb:\t%016llx\n",
           static_cast<ull>(c.cap_inheritable), static_cast<ull>(c.cap_permitted), static_cast<ull>(c.cap_effective),
           static_cast<ull>(c.cap_bounding), static_cast<ull>(c.cap_ambient));
    append(out, "NoNewPrivs:\t%d\nSeccomp:\t%d\nSeccomp_filters:\t%u\n", c.no_new_privs, t.seccomp.mode,
           t.seccomp.filters());
    append(out, "Speculation_Store_Bypass:\t%s\nSpeculationIndirectBranch:\tunknown\n",
           t.store_bypass == PR_SPEC_ENABLE           ? "thread vulnerable"
           : t.store_bypass == PR_SPEC_DISABLE_NOEXEC ? "vulnerable"
           : t.store_bypass == PR_SPEC_FORCE_DISABLE  ? "thread force mitigated"
                                                      : "thread mitigated");
    std::string cpus;
    const int n = k.num_cpus();
    for (int i = 0; i < n; ++i) {
        if (!(t.cpus_allowed >> i & 1)) continue;
        int j = i;
        while (j + 1 < n && t.cpus_allowed >> (j + 1) & 1) ++j;
        if (!cpus.empty()) cpus += ',';
        cpus += std::to_string(i);
        if (j > i) cpus += "-" + std::to_string(j);
        i = j;
    }
    append(out, "Cpus_allowed:\t%02x\nCpus_allowed_list:\t%s\nMems_allowed:\t0001\nMems_allowed_list:\t0\n",
           t.cpus_allowed & ((1u << n) - 1), cpus.c_str());
    append(out, "voluntary_ctxt_switches:\t%llu\nnonvoluntary_ctxt_switches:\t%llu\n", static_cast<ull>(t.nvcsw),
           static_cast<ull>(t.nivcsw));
    return 0;
}

int proc_maps_text(Kernel&, Task& t, std::string& out) {
    if (!t.as) return 0;
    for (const auto& [start, v] : t.as->vmas()) proc_map_line(*t.as, v, out);
    return 0;
}

int proc_limits_text(Kernel&, Task& t, std::string& out) {
    static constexpr struct {
        const char* name;
        const char* unit;
    } kRows[16] = {
        {"Max cpu time", "seconds"},    {"Max file size", "bytes"},      {"Max data size", "bytes"},
        {"Max stack size", "bytes"},    {"Max core file size", "bytes"}, {"Max resident set", "bytes"},
        {"Max processes", "processes"}, {"Max open files", "files"},     {"Max locked memory", "bytes"},
        {"Max address space", "bytes"}, {"Max file locks", "locks"},     {"Max pending signals", "signals"},
        {"Max msgqueue size", "bytes"}, {"Max nice priority", nullptr},  {"Max realtime priority", nullptr},
        {"Max realtime timeout", "us"},
    };
    append(out, "Limit                     Soft Limit           Hard Limit           Units     \n");
    for (unsigned i = 0; i < 16; ++i) {
        const Rlimit& r = t.process->rlimits[i];
        const auto text = [](std::uint64_t v) { return v == ~0ull ? std::string("unlimited") : std::to_string(v); };
        append(out, "%-25s %-20s %-20s ", kRows[i].name, text(r.cur).c_str(), text(r.max).c_str());
        if (kRows[i].unit)
            append(out, "%-10s\n", kRows[i].unit);
        else
            out += "\n";
    }
    return 0;
}

std::string proc_mounts_text(VfsImpl& vfs, const Task& t, bool info) {
    std::string out;
    for (const auto& m : vfs.mounts()) {
        if (t.nsproxy && m->ns != t.nsproxy->mnt.get()) continue;
        const DentryPtr point = m->mountpoint.lock();
        const std::string at = point ? point->path() : "/";
        const char* rw = m->read_only ? "ro" : "rw";
        const std::string options = m->root->node->mount_options();
        if (info)
            append(out, "%d %d %u:%u %s %s %s,relatime - %s %s %s%s\n", m->id, m->parent_id, m->fs->dev_major,
                   m->fs->dev_minor, m->subtree.c_str(), at.c_str(), rw, m->fs->type.c_str(), m->source.c_str(), rw,
                   options.c_str());
        else
            append(out, "%s %s %s %s,relatime%s 0 0\n", m->source.c_str(), at.c_str(), m->fs->type.c_str(), rw,
                   options.c_str());
    }
    return out;
}

} // namespace rkperf::os
