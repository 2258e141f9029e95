// SPDX-License-Identifier: Apache-2.0
#include "sim/os/fs/pidfd.h"

#include "sim/os/fs/anon_files.h"
#include "sim/os/ns/pid_namespace.h"
#include "sim/os/syscall/fs_common.h"

namespace rkperf::os {

namespace {

class PidFd final : public AnonFile {
  public:
    PidFd(FsServices& s, Task& leader, std::uint32_t flags)
        : AnonFile(s, "[pidfd]", abi::o_rdwr | flags), process_(leader.process), pid_(leader.tgid) {
        if (!process_->wait_pidfd) process_->wait_pidfd = std::make_unique<WaitQueueHead>(s.kernel());
    }
    ~PidFd() override { detach_watchers(); }
    Task* leader() const {
        Task* t = process_->leader;
        return os.find_task(pid_) == t ? t : nullptr;
    }
    ke::PollMask poll(WaitQueueHead*& wq) override {
        wq = process_->wait_pidfd.get();
        const Task* t = leader();
        const bool ended = !t || (t->state == TaskState::zombie && !process_->live);
        return ended ? abi::epollin | abi::epollrdnorm : 0;
    }
    std::string fdinfo() const override {
        const Task* t = leader();
        const Task& me = os.cur();
        const int pid = t ? pid_vnr(me, pid_) : -1;
        std::string out = "Pid:\t" + std::to_string(pid) + "\nNSpid:\t" + std::to_string(pid);
        if (t && pid) {
            // From the reader's namespace inwards.
            std::string inner;
            for (const PidNamespace* ns = t->pid_ns.get(); ns && ns != me.pid_ns.get() && ns->level;
                 ns = ns->parent.get())
                inner.insert(0, std::string("\t").append(std::to_string(ns->local(pid_))));
            out += inner;
        }
        return out.append("\n");
    }

  private:
    std::shared_ptr<Process> process_;
    int pid_;
};

} // namespace

FileHandle make_pidfd(Kernel& k, Task& leader, std::uint32_t flags) {
    return std::make_shared<PidFd>(vfs_of(k).services(), leader, flags);
}

bool is_pidfd(const File& file) { return dynamic_cast<const PidFd*>(&file); }

Task* pidfd_task(const File& file) {
    const auto* p = dynamic_cast<const PidFd*>(&file);
    return p ? p->leader() : nullptr;
}

} // namespace rkperf::os
