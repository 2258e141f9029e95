// SPDX-License-Identifier: Apache-2.0
#include "sim/os/uprobe_services.h"

#include "kernel_events/debug_monitors.h"
#include "sim/os/fs/page_cache.h"
#include "sim/os/fs/vfs_impl.h"
#include "sim/os/kernel.h"
#include "sim/os/signal/signals.h"

#include <sys/stat.h>
#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rkperf::os {

namespace {

class ProbedFile final : public ke::ProbedInode {
  public:
    ProbedFile(Kernel& k, std::shared_ptr<Inode> inode) : os_(k), inode_(std::move(inode)) {}
    const void* key() const override { return inode_.get(); }
    bool regular() const override { return (inode_->stat().mode & S_IFMT) == S_IFREG; }
    bool readable_pages() const override {
        if (dynamic_cast<const PagedNode*>(inode_.get())) return true;
        // Those of kernfs have pages for whoever asks, though never anything in them.
        const auto* node = dynamic_cast<const Node*>(inode_.get());
        return node && (node->fs.type == "sysfs" || node->fs.type == "cgroup2");
    }
    std::uint64_t size() const override { return inode_->size(); }
    int read(std::uint64_t offset, void* to, std::size_t n) override {
        // n does not cross a page: instructions are aligned.
        bool major = false;
        const PhysAddr page = inode_->page(offset >> kPageShift, major);
        if (!page.v) return -EIO;
        const PhysAddr at = page + PhysAddr(offset & ~kPageMask);
        std::memcpy(to, os_.memory().host(at), n);
        os_.core().kernel_access(at, n, false);
        return 0;
    }

  private:
    Kernel& os_;
    std::shared_ptr<Inode> inode_;
};

} // namespace

UprobeServices::UprobeServices(Kernel& k) : os_(k) { dup_mmap_sem_.init(k, *this); }

int UprobeServices::kern_path(std::string_view path, std::shared_ptr<ke::ProbedInode>& out) {
    constexpr int kAtFdCwd = -100;
    Found found;
    if (const int e = static_cast<VfsImpl&>(os_.vfs()).walk(kAtFdCwd, path, true, false, found)) return e;
    std::shared_ptr<Inode> inode;
    if (found.dentry)
        inode = found.dentry->node;
    else if (found.file && found.file->inode())
        inode = found.file->inode()->shared_from_this();
    if (!inode) return -EINVAL;
    out = std::make_shared<ProbedFile>(os_, std::move(inode));
    return 0;
}

std::vector<std::shared_ptr<ke::UprobeMm>> UprobeServices::all_mms() {
    std::vector<std::shared_ptr<ke::UprobeMm>> mms;
    for (const auto& [pid, task] : os_.tasks())
        if (task->as && std::find(mms.begin(), mms.end(), task->as) == mms.end()) mms.push_back(task->as);
    return mms;
}

void UprobeServices::dup_mmap_lock() { dup_mmap_sem_.down_write(); }
void UprobeServices::dup_mmap_unlock() { dup_mmap_sem_.up_write(); }
void UprobeServices::start_dup_mmap() { dup_mmap_sem_.down_read(); }
void UprobeServices::end_dup_mmap() { dup_mmap_sem_.up_read(); }

void UprobeServices::user_enable_single_step(ke::TaskBase& task) {
    os_.perf().debug_monitors().user_enable_single_step(task);
}
void UprobeServices::user_disable_single_step(ke::TaskBase& task) {
    os_.perf().debug_monitors().user_disable_single_step(task);
}

void UprobeServices::force_sig(int signo) { os_.signals().force(os_.cur(), siginfo_kernel(signo)); }

bool UprobeServices::fatal_signal_pending() {
    const Task& t = os_.cur();
    constexpr SigSet kKill = 1ull << (SIGKILL - 1);
    return ((t.pending.set | t.process->shared_pending.set) & kKill) || t.process->group_exit || t.exec_killed;
}

bool UprobeServices::task_sigpending() { return Signals::pending(os_.cur()); }
void UprobeServices::set_fault_code(std::uint32_t code) { os_.cur().fault_code = code; }
std::uint32_t UprobeServices::fault_code() { return static_cast<std::uint32_t>(os_.cur().fault_code); }

void UprobeServices::wait_event(ke::WaitQueue& wq, const std::function<bool()>& cond) {
    os_.wait_event(static_cast<WaitQueueHead&>(wq), cond);
}

void UprobeServices::task_work_add(ke::TaskBase& task, std::function<void()> work) {
    static_cast<Task&>(task).task_work.push_back(std::move(work));
}

void uprobe_resume(Kernel& k, Task& t) {
    const a64::CpuState& before = k.user();
    ke::PtRegs& regs = t.pt_regs;
    std::memcpy(regs.regs, before.x, sizeof regs.regs);
    regs.sp = before.x[a64::kSp];
    regs.pc = before.pc;
    k.uprobes().uprobe_notify_resume(regs);
    a64::CpuState& after = k.user(); // the task may be on another CPU by now
    std::memcpy(after.x, regs.regs, sizeof regs.regs);
    after.x[a64::kSp] = regs.sp;
    after.pc = regs.pc;
}

} // namespace rkperf::os
