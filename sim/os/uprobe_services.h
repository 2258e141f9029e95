// SPDX-License-Identifier: Apache-2.0
// What the simulated kernel does for uprobes: files by name, address spaces, signals, sleeping (ke::UprobeServices).
#pragma once

#include "kernel_events/uprobes.h"
#include "sim/os/wait_queue.h"

#include <memory>

namespace rkperf::os {

class Inode;
class Kernel;
struct Task;

class UprobeServices final : public ke::UprobeServices {
  public:
    explicit UprobeServices(Kernel& k);
    int kern_path(std::string_view path, std::shared_ptr<ke::ProbedInode>& out) override;
    std::vector<std::shared_ptr<ke::UprobeMm>> all_mms() override;
    void dup_mmap_lock() override;
    void dup_mmap_unlock() override;
    void user_enable_single_step(ke::TaskBase& task) override;
    void user_disable_single_step(ke::TaskBase& task) override;
    void force_sig(int signo) override;
    bool fatal_signal_pending() override;
    bool task_sigpending() override;
    void set_fault_code(std::uint32_t code) override;
    std::uint32_t fault_code() override;
    void wait_event(ke::WaitQueue& wq, const std::function<bool()>& cond) override;
    void task_work_add(ke::TaskBase& task, std::function<void()> work) override;

    /// The other side of dup_mmap_lock: an address space is being duplicated until the child can be found.
    class DupMmap {
      public:
        explicit DupMmap(UprobeServices& s) : s_(s) { s_.start_dup_mmap(); }
        ~DupMmap() { s_.end_dup_mmap(); }
        DupMmap(const DupMmap&) = delete;
        DupMmap& operator=(const DupMmap&) = delete;

      private:
        UprobeServices& s_;
    };

  private:
    void start_dup_mmap();
    void end_dup_mmap();

    Kernel& os_;
    ke::RwSemaphore dup_mmap_sem_;
};

/// TIF_UPROBE of current is set: handles the hit, on its user registers.
void uprobe_resume(Kernel& k, Task& t);

} // namespace rkperf::os
