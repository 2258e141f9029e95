// SPDX-License-Identifier: Apache-2.0
// The folders of tasks: /proc/PID, /proc/PID/task/TID and what lies in them.
#include "sim/os/cgroup/cgroup.h"
#include "sim/os/fs/mm_file.h"
#include "sim/os/fs/proc_ns.h"
#include "sim/os/fs/procfs.h"
#include "sim/os/fs/tmpfs.h"
#include "sim/os/kernel.h"
#include "sim/os/ns/pid_namespace.h"
#include "sim/os/ptrace/ptrace.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace rkperf::os {

namespace {

struct Ctx {
    AttrFs& fs;
    VfsImpl& vfs;
    Kernel& k;
    std::shared_ptr<PidNamespace> ns; ///< whose numbers this /proc shows; null: the initial one
    int local(int global) const { return ns ? ns->local(global) : global; }
    int global(int local) const { return ns ? ns->global(local) : local; }
};

/// The task, if it has not gone; threads that have ended count as gone, zombies do not.
Task* alive(Kernel& k, int tid) {
    Task* t = k.find_task(tid);
    return t && t->state != TaskState::dead ? t : nullptr;
}

/// Looking into another task's memory and files is what ptrace may do.
bool may_look(Kernel& k, Task& t) { return ptrace_may_access(k.cur(), t, PtraceMode::fscreds); }

std::optional<int> number(const std::string& name) {
    int n = 0;
    const char* end = name.data() + name.size();
    const auto r = std::from_chars(name.data(), end, n);
    if (r.ec != std::errc() || r.ptr != end || name[0] == '-' || (name.size() > 1 && name[0] == '0'))
        return std::nullopt;
    return n;
}

void own(Node& n, const Task& t) {
    if (!t.process->dumpable) return;
    n.attr.uid = t.cred.euid;
    n.attr.gid = t.cred.egid;
}

/// Text made from a task.
class TaskText final : public Node {
  public:
    using Show = int (*)(Ctx&, Task&, std::string&);
    using Store = std::int64_t (*)(Ctx&, Task&, std::string_view);
    TaskText(const Ctx& c, int tid, std::uint32_t mode, Show show, Store store)
        : Node(c.fs, S_IFREG | mode), c_(c), tid_(tid), show_(show), store_(store) {}
    int open(const DentryPtr& name, std::uint32_t flags, FileHandle& out) override {
        ShowFn show = [c = c_, tid = tid_, fn = show_](std::string& text) mutable {
            Task* t = alive(c.k, tid);
            return t ? fn(c, *t, text) : -ESRCH;
        };
        StoreFn store;
        if (store_)
            store = [c = c_, tid = tid_, fn = store_](std::string_view text) mutable -> std::int64_t {
                Task* t = alive(c.k, tid);
                return t ? fn(c, *t, text) : -ESRCH;
            };
        out = make_text_file(name, flags, std::move(show), std::move(store), {-EINVAL, -EINVAL, false});
        return 0;
    }
    int set_size(std::uint64_t) override { return 0; }

  private:
    Ctx c_;
    int tid_;
    Show show_;
    Store store_;
};

/// exe, cwd, root.
class TaskLink final : public Node {
  public:
    using Target = int (*)(Ctx&, Task&, DentryPtr&, std::string&);
    TaskLink(const Ctx& c, int tid, Target target) : Node(c.fs, S_IFLNK | 0777), c_(c), tid_(tid), target_(target) {}
    int readlink(std::string& out) override {
        DentryPtr d;
        if (const int err = get(d, out); err) return err;
        if (d) out = d->path();
        return 0;
    }
    int jump(DentryPtr& out, FileHandle&) override {
        std::string path;
        if (const int err = get(out, path); err || out) return err;
        const Task* t = alive(c_.k, tid_);
        return t->process->exe_file && (out = t->process->exe_file->dentry()) ? 0 : -ENOENT;
    }

  private:
    int get(DentryPtr& d, std::string& path) {
        Task* t = alive(c_.k, tid_);
        if (!t) return -ENOENT;
        if (!may_look(c_.k, *t)) return -EACCES;
        return target_(c_, *t, d, path);
    }
    Ctx c_;
    int tid_;
    Target target_;
};

int exe_of(Ctx&, Task& t, DentryPtr&, std::string& path) {
    path = t.process->exe_path;
    return path.empty() || !t.as ? -ENOENT : 0;
}
int dir_of(Ctx& c, const FsContext* fs, bool root, DentryPtr& d, std::string&) {
    if (!fs) return -ENOENT;
    d = root ? fs->root : fs->pwd;
    if (d) return 0;
    if (root) {
        d = c.vfs.root()->covered();
        return 0;
    }
    Found f;
    if (const int err = c.vfs.walk(abi::at_fdcwd, fs->cwd, true, false, f); err) return err;
    d = f.dentry;
    return d ? 0 : -ENOENT;
}
int cwd_of(Ctx& c, Task& t, DentryPtr& d, std::string& path) { return dir_of(c, t.fs.get(), false, d, path); }
int root_of(Ctx& c, Task& t, DentryPtr& d, std::string& path) { return dir_of(c, t.fs.get(), true, d, path); }

/// /proc/PID/fd/N.
class FdLink final : public Node {
  public:
    FdLink(const Ctx& c, int tid, int fd, const File& f) : Node(c.fs, S_IFLNK), c_(c), tid_(tid), fd_(fd) {
        attr.mode |= (f.readable() ? 0500u : 0u) | (f.writable() ? 0300u : 0u);
        attr.size = 64;
    }
    int readlink(std::string& out) override {
        const FileHandle f = file();
        if (!f) return -ENOENT;
        out = f->path();
        return 0;
    }
    int jump(DentryPtr& out, FileHandle& f) override {
        f = file();
        if (!f) return -ENOENT;
        if ((out = f->dentry())) f = nullptr;
        return 0;
    }

  private:
    FileHandle file() {
        Task* t = alive(c_.k, tid_);
        return t && t->files && may_look(c_.k, *t) ? t->files->get(fd_) : nullptr;
    }
    Ctx c_;
    int tid_, fd_;
};

class FdDir final : public Node {
  public:
    FdDir(const Ctx& c, int tid, bool info)
        : Node(c.fs, S_IFDIR | (info ? 0555 : 0500)), c_(c), tid_(tid), info_(info) {}
    int lookup(const std::string& name, NodePtr& out) override {
        Task* t = alive(c_.k, tid_);
        const auto fd = number(name);
        if (!t || !t->files || !fd) return -ENOENT;
        const FileHandle f = t->files->get(*fd);
        if (!f) return -ENOENT;
        if (!info_) {
            out = std::make_shared<FdLink>(c_, tid_, *fd, *f);
        } else {
            ShowFn show = [c = c_, tid = tid_, n = *fd](std::string& text) mutable {
                Task* task = alive(c.k, tid);
                const FileHandle file = task && task->files ? task->files->get(n) : nullptr;
                if (!file) return -ENOENT;
                FileStat st;
                file->stat(st);
                const DentryPtr d = file->dentry();
                const std::uint32_t flags = file->flags | (task->files->cloexec(n) ? abi::o_cloexec : 0);
                append(text, "pos:\t%lld\nflags:\t0%o\nmnt_id:\t%d\nino:\t%llu\n", static_cast<long long>(file->pos),
                       flags, d && d->mount ? d->mount->id : 12, static_cast<unsigned long long>(st.ino));
                text += file->fdinfo();
                return 0;
            };
            out = std::make_shared<AttrFile>(c_.fs, AttrStyle::proc, 0444, std::move(show), StoreFn{});
        }
        own(*out, *t);
        return 0;
    }
    int list(std::vector<DirEntry>& out) override {
        Task* t = alive(c_.k, tid_);
        if (!t || !t->files) return -ENOENT;
        for (const auto& [fd, slot] : t->files->slots())
            out.push_back({std::to_string(fd), fs.next_ino(), info_ ? S_IFREG : static_cast<std::uint32_t>(S_IFLNK)});
        return 0;
    }
    int permission(int mask, const Credentials& cred) override {
        Task* t = alive(c_.k, tid_);
        if (t && t->process == c_.k.cur().process) return 0;
        return Node::permission(mask, cred);
    }

  private:
    Ctx c_;
    int tid_;
    bool info_;
};

/// /proc/PID/mem: the task's memory at the file position.
class MemFile final : public MmFile {
  public:
    using MmFile::MmFile;
    std::int64_t pread(std::span<std::uint8_t> to, std::uint64_t offset) override {
        return transfer(to, offset, false);
    }
    std::int64_t pwrite(std::span<const std::uint8_t> from, std::uint64_t offset) override {
        std::vector<std::uint8_t> copy(from.begin(), from.end());
        return transfer(copy, offset, true);
    }
    std::int64_t write(std::span<const std::uint8_t> from) override { return moved(pwrite(from, pos)); }

  private:
    std::int64_t transfer(std::span<std::uint8_t> bytes, std::uint64_t offset, bool write) {
        std::shared_ptr<AddressSpace> as = as_.lock();
        if (!as) return 0; // its last user has gone
        const std::size_t n = access_remote_vm(k_, std::move(as), offset, bytes, write, true);
        return n || bytes.empty() ? static_cast<std::int64_t>(n) : -EIO;
    }
};

class MemNode final : public Node {
  public:
    MemNode(const Ctx& c, int tid, bool pagemap)
        : Node(c.fs, S_IFREG | (pagemap ? 0400 : 0600)), c_(c), tid_(tid), pagemap_(pagemap) {}
    int open(const DentryPtr& name, std::uint32_t flags, FileHandle& out) override {
        Task* t = alive(c_.k, tid_);
        if (!t) return -ESRCH;
        if (pagemap_) return proc_open_pagemap(c_.k, *t, name, flags, out);
        if (!may_look(c_.k, *t)) return -EACCES;
        if (!t->as) return -EIO;
        out = std::make_shared<MemFile>(name, flags, t->as, c_.k);
        return 0;
    }
    int set_size(std::uint64_t) override { return 0; }

  private:
    Ctx c_;
    int tid_;
    bool pagemap_;
};

// --- texts that need no table of their own ---

int memory_range(Ctx& c, Task& t, std::uint64_t from, std::uint64_t to, std::string& out) {
    if (!t.as || to <= from) return 0;
    out.resize(std::min<std::uint64_t>(to - from, 1 << 20));
    const std::span bytes(reinterpret_cast<std::uint8_t*>(out.data()), out.size());
    out.resize(access_remote_vm(c.k, t.as, from, bytes, false, true));
    return 0;
}
int show_cmdline(Ctx& c, Task& t, std::string& out) {
    return t.as ? memory_range(c, t, t.as->arg_start, t.as->arg_end, out) : 0;
}
int show_environ(Ctx& c, Task& t, std::string& out) {
    if (!may_look(c.k, t)) return -EACCES;
    return t.as ? memory_range(c, t, t.as->env_start, t.as->env_end, out) : 0;
}
int show_auxv(Ctx& c, Task& t, std::string& out) {
    if (!may_look(c.k, t)) return -EACCES;
    out.assign(t.process->auxv.begin(), t.process->auxv.end());
    return 0;
}
int show_comm(Ctx&, Task& t, std::string& out) {
    out = std::string(t.comm, strnlen(t.comm, sizeof t.comm)) + "\n";
    return 0;
}
std::int64_t store_comm(Ctx& c, Task& t, std::string_view text) {
    if (t.process != c.k.cur().process) return -EINVAL;
    std::string name(text.substr(0, sizeof t.comm - 1));
    name = name.substr(0, name.find('\0'));
    std::memset(t.comm, 0, sizeof t.comm);
    std::memcpy(t.comm, name.data(), name.size());
    c.k.perf().perf_event_comm(t, false);
    return static_cast<std::int64_t>(text.size());
}
int show_statm(Ctx&, Task& t, std::string& out) {
    std::uint64_t shared = 0, text = 0, data = 0;
    if (t.as) {
        text = (t.as->end_code - t.as->start_code + kPageSize - 1) / kPageSize;
        for (const auto& [start, v] : t.as->vmas())
            if (!v.file && v.prot & 2) data += (v.end - v.start) / kPageSize;
    }
    append(out, "%llu %llu %llu %llu 0 %llu 0\n", t.as ? static_cast<unsigned long long>(t.as->total_vm()) : 0ull,
           t.as ? static_cast<unsigned long long>(t.as->rss()) : 0ull, static_cast<unsigned long long>(shared),
           static_cast<unsigned long long>(text), static_cast<unsigned long long>(data));
    return 0;
}
int io_text(Ctx& c, Task& t, bool process, std::string& out) {
    if (!may_look(c.k, t)) return -EACCES;
    using ull = unsigned long long;
    const IoCounts n = c.vfs.io_counts(t.pid, process);
    append(out, "rchar: %llu\nwchar: %llu\nsyscr: %llu\nsyscw: %llu\n", static_cast<ull>(n.rchar),
           static_cast<ull>(n.wchar), static_cast<ull>(n.syscr), static_cast<ull>(n.syscw));
    out += "read_bytes: 0\nwrite_bytes: 0\ncancelled_write_bytes: 0\n"; // there is no block device
    return 0;
}
int show_io(Ctx& c, Task& t, std::string& out) { return io_text(c, t, true, out); }
int show_thread_io(Ctx& c, Task& t, std::string& out) { return io_text(c, t, false, out); }
int show_cgroup(Ctx& c, Task& t, std::string& out) {
    out = c.k.cgroups().proc_text(t, c.k.cur());
    return 0;
}
int show_mounts(Ctx& c, Task& t, std::string& out) {
    out = proc_mounts_text(c.vfs, t, false);
    return 0;
}
int show_mountinfo(Ctx& c, Task& t, std::string& out) {
    out = proc_mounts_text(c.vfs, t, true);
    return 0;
}
template <IdMapFile Which>
int show_id_map(Ctx& c, Task& t, std::string& out) {
    out = id_map_text(c.k, t, Which);
    return 0;
}
template <IdMapFile Which>
std::int64_t store_id_map(Ctx& c, Task& t, std::string_view text) {
    return id_map_write(c.k, t, Which, text);
}
int show_timens(Ctx&, Task&, std::string& out) {
    out = "monotonic           0         0\nboottime            0         0\n";
    return 0;
}
int show_wchan(Ctx& c, Task& t, std::string& out) { return proc_wchan_text(c.k, t, out); }
int show_syscall(Ctx& c, Task& t, std::string& out) { return proc_syscall_text(c.k, t, out); }
int show_stack(Ctx& c, Task& t, std::string& out) { return proc_stack_text(c.k, t, out); }
int show_personality(Ctx&, Task& t, std::string& out) {
    append(out, "%08x\n", t.personality);
    return 0;
}
int show_children(Ctx& c, Task& t, std::string& out) {
    // Children belong to the process here, so the leader shows them all.
    if (t.process->leader != &t) return 0;
    for (const Task* child : t.process->children) out += std::to_string(c.local(child->pid)) + " ";
    return 0;
}
int show_oom_score_adj(Ctx&, Task&, std::string& out) {
    out = "0\n";
    return 0;
}
int show_stat(Ctx& c, Task& t, std::string& out) { return proc_stat_text(c.k, t, true, c.ns.get(), out); }
int show_thread_stat(Ctx& c, Task& t, std::string& out) { return proc_stat_text(c.k, t, false, c.ns.get(), out); }
int show_status(Ctx& c, Task& t, std::string& out) { return proc_status_text(c.k, t, c.ns.get(), out); }
int show_limits(Ctx& c, Task& t, std::string& out) { return proc_limits_text(c.k, t, out); }
int show_maps(Ctx& c, Task& t, std::string& out) { return may_look(c.k, t) ? proc_maps_text(c.k, t, out) : -EACCES; }
int show_smaps(Ctx& c, Task& t, std::string& out) {
    return may_look(c.k, t) ? proc_smaps_text(c.k, t, false, out) : -EACCES;
}
int show_rollup(Ctx& c, Task& t, std::string& out) {
    return may_look(c.k, t) ? proc_smaps_text(c.k, t, true, out) : -EACCES;
}

enum class Kind : std::uint8_t { text, link, fd, fdinfo, mem, pagemap, task, ns };
enum : std::uint8_t { kProcess = 1, kThread = 2, kBoth = 3 };

struct Row {
    const char* name;
    std::uint32_t mode;
    std::uint8_t where;
    Kind kind;
    TaskText::Show show{};
    TaskText::Store store{};
    TaskLink::Target target{};
};

constexpr Row kRows[] = {
    {"auxv", 0400, kBoth, Kind::text, show_auxv},
    {"cgroup", 0444, kBoth, Kind::text, show_cgroup},
    {"children", 0444, kThread, Kind::text, show_children},
    {"cmdline", 0444, kBoth, Kind::text, show_cmdline},
    {"comm", 0644, kBoth, Kind::text, show_comm, store_comm},
    {"cwd", 0777, kBoth, Kind::link, nullptr, nullptr, cwd_of},
    {"environ", 0400, kBoth, Kind::text, show_environ},
    {"exe", 0777, kBoth, Kind::link, nullptr, nullptr, exe_of},
    {"fd", 0500, kBoth, Kind::fd},
    {"fdinfo", 0555, kBoth, Kind::fdinfo},
    {"gid_map", 0644, kBoth, Kind::text, show_id_map<IdMapFile::gid>, store_id_map<IdMapFile::gid>},
    {"io", 0400, kProcess, Kind::text, show_io},
    {"io", 0400, kThread, Kind::text, show_thread_io},
    {"limits", 0444, kBoth, Kind::text, show_limits},
    {"maps", 0444, kBoth, Kind::text, show_maps},
    {"mem", 0600, kBoth, Kind::mem},
    {"mountinfo", 0444, kBoth, Kind::text, show_mountinfo},
    {"mounts", 0444, kBoth, Kind::text, show_mounts},
    {"ns", 0511, kBoth, Kind::ns},
    {"oom_score_adj", 0444, kBoth, Kind::text, show_oom_score_adj},
    {"pagemap", 0400, kBoth, Kind::pagemap},
    {"personality", 0400, kBoth, Kind::text, show_personality},
    {"projid_map", 0644, kBoth, Kind::text, show_id_map<IdMapFile::projid>, store_id_map<IdMapFile::projid>},
    {"root", 0777, kBoth, Kind::link, nullptr, nullptr, root_of},
    {"setgroups", 0644, kBoth, Kind::text, show_id_map<IdMapFile::setgroups>, store_id_map<IdMapFile::setgroups>},
    {"smaps", 0444, kBoth, Kind::text, show_smaps},
    {"smaps_rollup", 0444, kProcess, Kind::text, show_rollup},
    {"stack", 0400, kBoth, Kind::text, show_stack},
    {"stat", 0444, kProcess, Kind::text, show_stat},
    {"stat", 0444, kThread, Kind::text, show_thread_stat},
    {"statm", 0444, kBoth, Kind::text, show_statm},
    {"status", 0444, kBoth, Kind::text, show_status},
    {"syscall", 0400, kBoth, Kind::text, show_syscall},
    {"task", 0555, kProcess, Kind::task},
    {"timens_offsets", 0644, kProcess, Kind::text, show_timens},
    {"uid_map", 0644, kBoth, Kind::text, show_id_map<IdMapFile::uid>, store_id_map<IdMapFile::uid>},
    {"wchan", 0444, kBoth, Kind::text, show_wchan},
};

class TaskDir final : public Node {
  public:
    TaskDir(const Ctx& c, int tid, bool process)
        : Node(c.fs, S_IFDIR | 0555), c_(c), tid_(tid), where_(process ? kProcess : kThread) {}
    int lookup(const std::string& name, NodePtr& out) override;
    int list(std::vector<DirEntry>& out) override {
        if (!alive(c_.k, tid_)) return -ENOENT;
        for (const Row& r : kRows)
            if (r.where & where_) {
                const bool file = r.kind == Kind::text || r.kind == Kind::mem || r.kind == Kind::pagemap;
                const std::uint32_t type = file ? S_IFREG : r.kind == Kind::link ? S_IFLNK : S_IFDIR;
                out.push_back({r.name, fs.next_ino(), type});
            }
        return 0;
    }

  private:
    Ctx c_;
    int tid_;
    std::uint8_t where_;
};

/// /proc/PID/task.
class ThreadsDir final : public Node {
  public:
    ThreadsDir(const Ctx& c, int pid) : Node(c.fs, S_IFDIR | 0555), c_(c), pid_(pid) {}
    int lookup(const std::string& name, NodePtr& out) override {
        const auto tid = number(name);
        Task* t = tid ? alive(c_.k, c_.global(*tid)) : nullptr;
        if (!t || t->tgid != pid_) return -ENOENT;
        out = std::make_shared<TaskDir>(c_, t->pid, false);
        own(*out, *t);
        return 0;
    }
    int list(std::vector<DirEntry>& out) override {
        Task* t = alive(c_.k, pid_);
        if (!t) return -ENOENT;
        for (const Task* x : t->process->threads)
            if (x->state != TaskState::dead) out.push_back({std::to_string(c_.local(x->pid)), fs.next_ino(), S_IFDIR});
        return 0;
    }

  private:
    Ctx c_;
    int pid_;
};

int TaskDir::lookup(const std::string& name, NodePtr& out) {
    Task* t = alive(c_.k, tid_);
    if (!t) return -ENOENT;
    for (const Row& r : kRows) {
        if (!(r.where & where_) || name != r.name) continue;
        switch (r.kind) {
            case Kind::text: out = std::make_shared<TaskText>(c_, tid_, r.mode, r.show, r.store); break;
            case Kind::link: out = std::make_shared<TaskLink>(c_, tid_, r.target); break;
            case Kind::fd: out = std::make_shared<FdDir>(c_, tid_, false); break;
            case Kind::fdinfo: out = std::make_shared<FdDir>(c_, tid_, true); break;
            case Kind::mem:
            case Kind::pagemap: out = std::make_shared<MemNode>(c_, tid_, r.kind == Kind::pagemap); break;
            case Kind::task: out = std::make_shared<ThreadsDir>(c_, tid_); break;
            case Kind::ns: out = make_ns_dir(c_.fs, c_.k, tid_); break;
        }
        own(*out, *t);
        return 0;
    }
    return -ENOENT;
}

} // namespace

int proc_task_lookup(AttrFs& fs, VfsImpl& vfs, Kernel& kernel, const std::shared_ptr<PidNamespace>& ns,
                     const std::string& name, NodePtr& out) {
    Ctx c{fs, vfs, kernel, ns};
    const Task& me = kernel.cur();
    if (name == "self" || name == "thread-self") {
        if (me.kthread) return -ENOENT;
        if (!c.local(me.tgid)) return -ENOENT;
        std::string target = std::to_string(c.local(me.tgid));
        if (name != "self") target += "/task/" + std::to_string(c.local(me.pid));
        out = std::make_shared<LinkNode>(fs, target);
        return 0;
    }
    const auto pid = number(name);
    Task* t = pid && *pid > 0 ? alive(kernel, c.global(*pid)) : nullptr;
    if (!t) return -ENOENT;
    // A thread's number works too, though it is not listed; it shows the whole process.
    fs.s.charge(info(KernelSymbol::proc_pid_lookup).instructions);
    out = std::make_shared<TaskDir>(c, t->pid, true);
    own(*out, *t);
    return 0;
}

void proc_task_list(AttrFs& fs, Kernel& kernel, const PidNamespace* ns, std::vector<DirEntry>& out) {
    for (const auto& [tid, t] : kernel.tasks()) {
        const int shown = ns ? ns->local(tid) : tid;
        if (t->pid == t->tgid && t->state != TaskState::dead && shown > 0)
            out.push_back({std::to_string(shown), fs.next_ino(), S_IFDIR});
    }
    out.push_back({"self", fs.next_ino(), S_IFLNK});
    out.push_back({"thread-self", fs.next_ino(), S_IFLNK});
}

} // namespace rkperf::os
