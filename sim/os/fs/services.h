// SPDX-License-Identifier: Apache-2.0
// What the file systems need from the kernel around them: the current task, its memory, sleeping, time and cost. A narrow
// seam, so that files can be tested without a machine.
#pragma once

#include "kernel_events/kernel_symbols.h"
#include "sim/base/types.h"
#include "sim/os/fs/file.h"
#include "sim/os/mm/page_allocator.h"
#include "sim/os/task.h"

#include <cstdint>
#include <functional>
#include <map>

namespace rkperf::os {

class FsNotify;

class FsServices {
  public:
    virtual ~FsServices() = default;
    virtual FsNotify& notify() = 0; ///< who watches files
    /// For the constructors of files and wait queues.
    virtual Kernel& kernel() = 0;
    virtual PageAllocator& pages() = 0;

    // --- the current task ---
    virtual const Credentials& cred() = 0;
    virtual FdTable& files() = 0;
    virtual FsContext& fs() = 0;
    virtual std::uint64_t rlimit(int resource) = 0;
    virtual bool signal_pending() = 0;
    virtual const Task* current() { return nullptr; }               ///< null where there are no tasks
    virtual const std::map<int, Task*>* tasks() { return nullptr; } ///< all of them, or null
    virtual void send_signal(int signo) = 0;                        ///< SIGPIPE, SIGXFSZ: to the calling thread

    // --- its memory: 0 or -EFAULT ---
    virtual int get_user(void* to, std::uint64_t from, std::size_t n) = 0;
    virtual int put_user(std::uint64_t to, const void* from, std::size_t n) = 0;

    // --- time and cost ---
    virtual std::uint64_t realtime_ns() = 0;
    virtual std::uint64_t clock_ns(int clockid) = 0;
    virtual void enter(KernelSymbol symbol) = 0;
    virtual void leave() = 0;
    virtual void charge(std::uint32_t instructions) = 0;
    /// The kernel reads or writes this part of a page (caches see it). A write drops decoded code of the page.
    virtual void page_access(PhysAddr pa, std::uint64_t bytes, bool write) = 0;
    /// A page of a file came into the page cache or leaves it (tracepoints of filemap).
    virtual void page_cache_changed(PhysAddr pa, std::uint64_t ino, std::uint32_t dev, std::uint64_t index,
                                    bool added) {
        (void)pa, (void)ino, (void)dev, (void)index, (void)added;
    }

    /// The file's pages from `first` on go away: no mapping keeps them, nor private copies of them.
    virtual void unmap_mapping_range(const Inode& inode, std::uint64_t first) { (void)inode, (void)first; }

    // --- sleeping: 0, kERESTARTSYS, or -ETIME after the CLOCK_MONOTONIC deadline (~0: none) ---
    virtual std::int64_t wait(WaitQueueHead& wq, const std::function<bool()>& cond,
                              std::uint64_t deadline_ns = ~0ull) = 0;

    /// Timers on CLOCK_MONOTONIC; their functions run in hard interrupt context.
    virtual void hrtimer_start(ke::HrTimer& timer, std::uint64_t expires_ns) = 0;
    virtual void hrtimer_cancel(ke::HrTimer& timer) = 0;

    virtual std::uint64_t random() = 0;
    virtual void perf_file_released(ke::FileOperations* ops) = 0;
    /// O_ASYNC: the signal that F_SETOWN and F_SETSIG of the file ask for; band: POLL_IN 1, POLL_OUT 2, POLL_HUP 6.
    virtual void kill_fasync(File& file, int band) = 0;
};

/// RAII kernel function frame over FsServices.
class FsFrame {
  public:
    FsFrame(FsServices& s, KernelSymbol symbol) : s_(s) { s_.enter(symbol); }
    ~FsFrame() { s_.leave(); }
    FsFrame(const FsFrame&) = delete;
    FsFrame& operator=(const FsFrame&) = delete;

  private:
    FsServices& s_;
};

} // namespace rkperf::os
