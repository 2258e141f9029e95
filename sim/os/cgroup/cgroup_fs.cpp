// SPDX-License-Identifier: Apache-2.0
#include "sim/os/cgroup/cgroup_fs.h"

#include "sim/os/fs/file_kinds.h"
#include "sim/os/fs/procfs.h"
#include "sim/os/kernel.h"

#include <sys/stat.h>
#include <algorithm>
#include <charconv>

namespace rkperf::os {

namespace {

class CgroupFs final : public FileSystem {
  public:
    CgroupFs(FsServices& services, std::uint32_t minor, Cgroups& all)
        : FileSystem(services, "cgroup2", kCgroup2Magic, 0, minor), all(all) {}
    void statfs(StatFs& out) override {
        FileSystem::statfs(out);
        out[2] = out[3] = out[4] = 0;
    }
    Cgroups& all;
};

using Show = int (*)(Cgroups&, Cgroup&, std::string&);
using Store = std::int64_t (*)(Cgroups&, const CgroupPtr&, std::string_view);

/// Where a file is there: everywhere, below the root only, and with which controller.
struct Row {
    const char* name;
    std::uint32_t mode;
    bool in_root;
    unsigned controller;
    Show show;
    Store store;
};

std::string limit_text(std::int64_t v) { return v < 0 ? "max\n" : std::to_string(v) + "\n"; }

std::string_view strip(std::string_view s) {
    while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
    while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\n')) s.remove_suffix(1);
    return s;
}

int parse_limit(std::string_view text, std::int64_t& out) {
    text = strip(text);
    if (text == "max") {
        out = -1;
        return 0;
    }
    std::int64_t v = 0;
    const auto r = std::from_chars(text.data(), text.data() + text.size(), v);
    if (text.empty() || r.ec != std::errc() || r.ptr != text.data() + text.size()) return -EINVAL;
    if (v < 0) return -ERANGE;
    out = v;
    return 0;
}

template <std::int64_t Cgroup::*Field>
int show_limit(Cgroups&, Cgroup& c, std::string& out) {
    out = limit_text(c.*Field);
    return 0;
}
template <std::int64_t Cgroup::*Field>
std::int64_t store_limit(Cgroups&, const CgroupPtr& c, std::string_view text) {
    std::int64_t v;
    if (const int e = parse_limit(text, v)) return e;
    if (c->dead) return -ENOENT;
    (*c).*Field = v;
    return static_cast<std::int64_t>(text.size());
}

std::string controllers_text(unsigned mask) { return mask & kCgroupPids ? "pids\n" : "\n"; }

constexpr Row kRows[] = {
    {"cgroup.controllers", 0444, true, 0,
     [](Cgroups&, Cgroup& c, std::string& out) {
         out = controllers_text(c.up ? c.up->subtree_control : kCgroupPids);
         return 0;
     },
     nullptr},
    {"cgroup.events", 0444, false, 0,
     [](Cgroups&, Cgroup& c, std::string& out) {
         append(out, "populated %d\nfrozen 0\n", c.populated());
         return 0;
     },
     nullptr},
    {"cgroup.kill", 0200, false, 0, nullptr,
     [](Cgroups& all, const CgroupPtr& c, std::string_view text) { return all.write_kill(c, text); }},
    {"cgroup.max.depth", 0644, true, 0, show_limit<&Cgroup::max_depth>, store_limit<&Cgroup::max_depth>},
    {"cgroup.max.descendants", 0644, true, 0, show_limit<&Cgroup::max_descendants>,
     store_limit<&Cgroup::max_descendants>},
    {"cgroup.procs", 0644, true, 0,
     [](Cgroups& all, Cgroup& c, std::string& out) {
         int error;
         out = all.procs(c, false, error);
         return error;
     },
     [](Cgroups& all, const CgroupPtr& c, std::string_view text) { return all.write_procs(c, text, false); }},
    {"cgroup.stat", 0444, true, 0,
     [](Cgroups&, Cgroup& c, std::string& out) {
         append(out, "nr_descendants %llu\nnr_dying_descendants 0\n", static_cast<unsigned long long>(c.descendants()));
         return 0;
     },
     nullptr},
    {"cgroup.subtree_control", 0644, true, 0,
     [](Cgroups&, Cgroup& c, std::string& out) {
         out = controllers_text(c.subtree_control);
         return 0;
     },
     [](Cgroups& all, const CgroupPtr& c, std::string_view text) { return all.write_subtree_control(c, text); }},
    {"cgroup.threads", 0644, true, 0,
     [](Cgroups& all, Cgroup& c, std::string& out) {
         int error;
         out = all.procs(c, true, error);
         return error;
     },
     [](Cgroups& all, const CgroupPtr& c, std::string_view text) { return all.write_procs(c, text, true); }},
    {"cgroup.type", 0644, false, 0,
     [](Cgroups&, Cgroup& c, std::string& out) {
         out = std::string(c.type()).append("\n");
         return 0;
     },
     [](Cgroups& all, const CgroupPtr& c, std::string_view text) { return all.write_type(c, text); }},
    {"pids.current", 0444, false, kCgroupPids,
     [](Cgroups&, Cgroup& c, std::string& out) {
         out = std::to_string(c.pids()) + "\n";
         return 0;
     },
     nullptr},
    {"pids.events", 0444, false, kCgroupPids,
     [](Cgroups&, Cgroup& c, std::string& out) {
         out = "max " + std::to_string(c.pids_events) + "\n";
         return 0;
     },
     nullptr},
    {"pids.max", 0644, false, kCgroupPids, show_limit<&Cgroup::pids_max>,
     [](Cgroups& all, const CgroupPtr& c, std::string_view text) -> std::int64_t {
         std::int64_t v;
         if (parse_limit(text, v)) return -EINVAL;
         return store_limit<&Cgroup::pids_max>(all, c, text);
     }},
    {"pids.peak", 0444, false, kCgroupPids,
     [](Cgroups&, Cgroup& c, std::string& out) {
         out = std::to_string(c.pids_peak) + "\n";
         return 0;
     },
     nullptr},
};

bool has(const Row& r, const Cgroup& c) { return (r.in_root || c.up) && (!r.controller || (c.css & r.controller)); }

class CgroupFile final : public Node {
  public:
    CgroupFile(CgroupFs& fs, CgroupPtr c, const Row& row)
        : Node(fs, S_IFREG | row.mode), fs_(fs), c_(std::move(c)), row_(row) {}
    int open(const DentryPtr& name, std::uint32_t flags, FileHandle& out) override {
        if (c_->dead) return -ENODEV;
        ShowFn show;
        StoreFn store;
        if (row_.show)
            show = [all = &fs_.all, c = c_, fn = row_.show](std::string& text) {
                return c->dead ? -ENODEV : fn(*all, *c, text);
            };
        if (row_.store)
            store = [all = &fs_.all, c = c_, fn = row_.store](std::string_view text) -> std::int64_t {
                return c->dead ? -ENODEV : fn(*all, c, text);
            };
        out = make_text_file(name, flags, std::move(show), std::move(store), {-EINVAL, -EINVAL, true});
        return 0;
    }
    int set_size(std::uint64_t) override { return 0; }

  private:
    CgroupFs& fs_;
    CgroupPtr c_;
    const Row& row_;
};

class CgroupDir final : public Node {
  public:
    CgroupDir(CgroupFs& fs, const CgroupPtr& c) : Node(fs, S_IFDIR | (c->up ? 0755 : 0555)), fs_(fs), c_(c) {
        attr.ino = ino = c->id;
    }
    const CgroupPtr& cgroup() const { return c_; }

    FileStat stat() override {
        FileStat st = attr;
        st.nlink = 2 + static_cast<std::uint32_t>(c_->children.size());
        st.size = 0;
        return st;
    }
    int lookup(const std::string& name, NodePtr& out) override {
        if (const auto it = nodes_.find(name); it != nodes_.end()) {
            out = it->second;
            if (auto* d = dynamic_cast<CgroupDir*>(out.get())) {
                if (!d->c_->dead && c_->children.contains(name)) return 0;
            } else {
                const Row* row = row_of(name);
                if (row && has(*row, *c_)) return 0;
            }
            nodes_.erase(it);
        }
        if (c_->dead) return -ENOENT;
        if (const auto it = c_->children.find(name); it != c_->children.end()) {
            out = std::make_shared<CgroupDir>(fs_, it->second);
        } else {
            const Row* row = row_of(name);
            if (!row || !has(*row, *c_)) return -ENOENT;
            out = std::make_shared<CgroupFile>(fs_, c_, *row);
        }
        nodes_[name] = out;
        return 0;
    }
    int list(std::vector<DirEntry>& out) override {
        if (c_->dead) return -ENOENT;
        for (const auto& [name, c] : c_->children) out.push_back({name, c->id, S_IFDIR});
        for (const Row& r : kRows) {
            NodePtr n;
            if (has(r, *c_) && !lookup(r.name, n)) out.push_back({r.name, n->attr.ino, S_IFREG});
        }
        return 0;
    }
    int create(const std::string& name, std::uint32_t mode, std::uint64_t, NodePtr& out) override {
        if ((mode & S_IFMT) != S_IFDIR) return (mode & S_IFMT) == S_IFREG ? -EACCES : -EPERM;
        CgroupPtr made;
        if (const int e = fs_.all.mkdir(c_, name, made)) return e;
        out = std::make_shared<CgroupDir>(fs_, made);
        out->attr.mode = S_IFDIR | (mode & 07777);
        out->attr.uid = services().cred().fsuid;
        out->attr.gid = services().cred().fsgid;
        nodes_[name] = out;
        return 0;
    }
    int symlink(const std::string&, const std::string&) override { return -EPERM; }
    int link(const std::string&, Node&) override { return -EPERM; }
    int unlink(const std::string& name, bool directory) override {
        if (!directory) return -EPERM;
        if (const int e = fs_.all.rmdir(c_, name)) return e;
        nodes_.erase(name);
        return 0;
    }
    int rename(const std::string&, Node&, const std::string&, bool) override { return -EPERM; }

  private:
    static const Row* row_of(const std::string& name) {
        const auto* r = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& x) { return name == x.name; });
        return r == std::end(kRows) ? nullptr : r;
    }
    CgroupFs& fs_;
    CgroupPtr c_;
    std::map<std::string, NodePtr> nodes_; ///< owners, modes and times stay with them
};

/// The hierarchy's file system, and the folder of a cgroup in it.
struct Hierarchy {
    std::shared_ptr<CgroupFs> fs;
    std::shared_ptr<CgroupDir> root;
    NodePtr node_of(const CgroupPtr& c) const {
        if (!c->up) return root;
        const NodePtr above = node_of(c->up);
        NodePtr out;
        return above && !above->lookup(c->name, out) ? out : nullptr;
    }
};

} // namespace

void add_cgroupfs(VfsImpl& vfs, Kernel& kernel) {
    auto h = std::make_shared<Hierarchy>();
    h->fs = std::make_shared<CgroupFs>(vfs.services(), vfs.next_minor(), kernel.cgroups());
    h->root = std::make_shared<CgroupDir>(*h->fs, kernel.cgroups().root());
    vfs.mount(h->fs, h->root, "/sys/fs/cgroup", false, "cgroup2");
    vfs.add_fs_type("cgroup2", true,
                    [h, &kernel](const std::string& data, std::shared_ptr<FileSystem>& fs, NodePtr& root) {
                        // nsdelegate and the memory_* options change nothing here.
                        for (std::size_t at = 0; at < data.size();) {
                            const std::size_t end = std::min(data.find(',', at), data.size());
                            const std::string_view option(data.data() + at, end - at);
                            if (option != "nsdelegate" && option != "favordynmods" && option != "memory_localevents" &&
                                option != "memory_recursiveprot" && !option.empty())
                                return -EINVAL;
                            at = end + 1;
                        }
                        fs = h->fs;
                        root = h->node_of(kernel.cgroups().ns_root(kernel.cur()));
                        return root ? 0 : -ENOENT;
                    });
}

CgroupPtr cgroup_of(const Node& node) {
    const auto* d = dynamic_cast<const CgroupDir*>(&node);
    return d ? d->cgroup() : nullptr;
}

CgroupPtr cgroup_of(File& file) {
    const DentryPtr d = file.dentry();
    return d && !(file.flags & abi::o_path) ? cgroup_of(*d->node) : nullptr;
}

} // namespace rkperf::os
