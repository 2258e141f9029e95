// SPDX-License-Identifier: Apache-2.0
#include "sim/os/fs/procfs.h"

#include "sim/os/kernel.h"

namespace rkperf::os {

namespace {

class ProcRoot final : public AttrDir {
  public:
    ProcRoot(AttrFs& fs, VfsImpl& vfs, Kernel& kernel, std::shared_ptr<PidNamespace> ns = nullptr)
        : AttrDir(fs, 0555), tree_(fs), vfs_(vfs), k_(kernel), ns_(std::move(ns)) {}
    int lookup(const std::string& name, NodePtr& out) override {
        if (AttrDir::lookup(name, out) == 0) return 0;
        return proc_task_lookup(tree_, vfs_, k_, ns_, name, out);
    }
    int list(std::vector<DirEntry>& out) override {
        AttrDir::list(out);
        proc_task_list(tree_, k_, ns_.get(), out);
        return 0;
    }

  private:
    AttrFs& tree_;
    VfsImpl& vfs_;
    Kernel& k_;
    std::shared_ptr<PidNamespace> ns_;
};

} // namespace

NodePtr proc_root_for(VfsImpl& vfs, Kernel& kernel, const std::shared_ptr<PidNamespace>& ns) {
    const auto tree = vfs.tree("/proc");
    auto root = std::make_shared<ProcRoot>(*tree, vfs, kernel, ns);
    root->entries = tree->root()->entries;
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
