// SPDX-License-Identifier: Apache-2.0
#include "sim/os/fs/procfs.h"

#include "sim/os/kernel.h"
#include "sim/os/ns/pid_namespace.h"
#include "sim/os/ptrace/ptrace.h"

#include <algorithm>
#include <charconv>

namespace rkperf::os {

namespace {

using HidePid = ProcOptions::HidePid;
constexpr struct {
    std::string_view name;
    HidePid value;
} kHidePid[] = {{"off", HidePid::off},
                {"noaccess", HidePid::noaccess},
                {"invisible", HidePid::invisible},
                {"ptraceable", HidePid::ptraceable}};

/// A task's folder that only says that it is there.
class HiddenDir final : public Node {
  public:
    explicit HiddenDir(FileSystem& fs) : Node(fs, S_IFDIR | 0555) {}
    int permission(int, const Credentials&) override { return -EPERM; }
};

class ProcRoot final : public AttrDir {
  public:
    ProcRoot(AttrFs& fs, VfsImpl& vfs, Kernel& kernel, std::shared_ptr<PidNamespace> ns = nullptr,
             ProcOptions options = {})
        : AttrDir(fs, 0555), tree_(fs), vfs_(vfs), k_(kernel), ns_(std::move(ns)), options_(std::move(options)) {}
    int lookup(const std::string& name, NodePtr& out) override {
        if (AttrDir::lookup(name, out) == 0) return 0;
        const int err = proc_task_lookup(tree_, vfs_, k_, ns_, name, out);
        if (err || sees(name, HidePid::noaccess)) return err;
        if (options_.hidepid == HidePid::invisible) return -ENOENT;
        const NodePtr real = std::move(out);
        out = std::make_shared<HiddenDir>(tree_);
        out->attr.uid = real->attr.uid;
        out->attr.gid = real->attr.gid;
        return 0;
    }
    int list(std::vector<DirEntry>& out) override {
        AttrDir::list(out);
        proc_task_list(tree_, k_, ns_.get(), out);
        if (options_.hidepid >= HidePid::invisible)
            std::erase_if(out, [&](const DirEntry& e) { return !sees(e.name, HidePid::invisible); });
        return 0;
    }
    std::string mount_options() const override { return options_.text(); }

  private:
    /// Whether current may see a task, by its name here; `least`: the setting from which on that is asked.
    bool sees(const std::string& name, HidePid least) const {
        if (options_.hidepid < least) return true;
        int pid = 0;
        const auto r = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (r.ec != std::errc() || r.ptr != name.data() + name.size()) return true;
        const auto& tasks = k_.tasks();
        const auto t = tasks.find(ns_ ? ns_->global(pid) : pid);
        if (t == tasks.end()) return true;
        const Credentials& c = k_.cur().cred;
        const bool in_group =
            c.fsgid == options_.gid || std::find(c.groups.begin(), c.groups.end(), options_.gid) != c.groups.end();
        if (in_group && options_.hidepid != HidePid::ptraceable) return true;
        return ptrace_may_access(k_.cur(), *t->second, PtraceMode::fscreds);
    }

    AttrFs& tree_;
    VfsImpl& vfs_;
    Kernel& k_;
    std::shared_ptr<PidNamespace> ns_;
    ProcOptions options_;
};

} // namespace

std::string ProcOptions::text() const {
    std::string out;
    if (gid) out += ",gid=" + std::to_string(gid);
    for (const auto& h : kHidePid)
        if (h.value == hidepid && hidepid != HidePid::off) out.append(",hidepid=").append(h.name);
    if (subset_pid) out += ",subset=pid";
    return out;
}

int proc_options(std::string_view data, ProcOptions& out) {
    for (std::size_t at = 0; at < data.size();) {
        const std::size_t end = std::min(data.find(',', at), data.size());
        const std::string_view option = data.substr(at, end - at);
        at = end + 1;
        if (option.empty()) continue;
        const std::size_t eq = std::min(option.find('='), option.size());
        const std::string_view key = option.substr(0, eq), value = option.substr(std::min(eq + 1, option.size()));
        std::uint32_t n = 0;
        const auto r = std::from_chars(value.data(), value.data() + value.size(), n);
        const bool number = !value.empty() && r.ec == std::errc() && r.ptr == value.data() + value.size();
        const auto* hide = std::find_if(std::begin(kHidePid), std::end(kHidePid), [&](const auto& h) {
            return number ? n == static_cast<std::uint32_t>(h.value) : value == h.name;
        });
        if (key == "hidepid" && hide != std::end(kHidePid))
            out.hidepid = hide->value;
        else if (key == "gid" && number)
            out.gid = n;
        else if (key == "subset" && value == "pid")
            out.subset_pid = true;
        else
            return -EINVAL;
    }
    return 0;
}

NodePtr proc_root_for(VfsImpl& vfs, Kernel& kernel, const std::shared_ptr<PidNamespace>& ns,
                      const ProcOptions& options) {
    const auto tree = vfs.tree("/proc");
    auto root = std::make_shared<ProcRoot>(*tree, vfs, kernel, ns, options);
    if (!options.subset_pid) root->entries = tree->root()->entries;
    return root;
}

void add_procfs(VfsImpl& vfs, Kernel& kernel) {
    const auto fs =
        std::make_shared<AttrFs>(vfs.services(), "proc", abi::proc_super_magic, vfs.next_minor(), AttrStyle::proc);
    fs->set_root(std::make_shared<ProcRoot>(*fs, vfs, kernel));
    add_proc_files(*fs, vfs, kernel);
    add_proc_sys(*fs, vfs, kernel);
    add_proc_net(*fs, vfs);
    vfs.mount(fs, fs->root(), "/proc", false, "proc");
    vfs.add_tree("/proc", fs);
}

} // namespace rkperf::os
