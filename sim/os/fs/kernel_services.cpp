// SPDX-License-Identifier: Apache-2.0
// FsServices by the simulated kernel, and make_vfs.
#include "sim/os/fs/kernel_services.h"

#include "kernel_events/trace/tracepoints.h"
#include "sim/os/cgroup/cgroup_fs.h"
#include "sim/os/fs/inotify.h"
#include "sim/os/fs/mount_types.h"
#include "sim/os/fs/procfs.h"
#include "sim/os/fs/sysfs.h"
#include "sim/os/fs/tracefs.h"
#include "sim/os/fs/vfs_impl.h"
#include "sim/os/kernel.h"
#include "sim/os/signal/signals.h"
#include "sim/os/time/time_keeper.h"

namespace rkperf::os {

namespace {

class KernelServices final : public FsServices {
  public:
    explicit KernelServices(Kernel& k) : k_(k) { boot_cred_.cap_effective = boot_cred_.cap_permitted = ~0ull >> 23; }

    Kernel& kernel() override { return k_; }
    FsNotify& notify() override { return notify_; }
    PageAllocator& pages() override { return k_.pages(); }
    const Credentials& cred() override { return in_task() ? k_.cur().cred : boot_cred_; }
    FdTable& files() override { return in_task() ? *k_.cur().files : boot_files_; }
    FsContext& fs() override { return in_task() ? *k_.cur().fs : boot_fs_; }
    std::uint64_t rlimit(int resource) override { return in_task() ? k_.rlimit(resource) : ~0ull; }
    bool signal_pending() override { return in_task() && k_.signal_pending(); }
    void send_signal(int signo) override {
        if (in_task()) k_.signals().send_thread(k_.cur(), siginfo_kernel(signo));
    }
    int get_user(void* to, std::uint64_t from, std::size_t n) override { return k_.get_user(to, from, n); }
    int put_user(std::uint64_t to, const void* from, std::size_t n) override { return k_.put_user(to, from, n); }
    std::uint64_t realtime_ns() override {
        return in_task() ? k_.time().clock_ns(CLOCK_REALTIME) : k_.config().epoch_s * 1'000'000'000ull;
    }
    std::uint64_t clock_ns(int clockid) override { return in_task() ? k_.time().clock_ns(clockid) : 0; }
    void enter(KernelSymbol symbol) override {
        if (in_task()) k_.enter(symbol);
    }
    void leave() override {
        if (in_task()) k_.leave();
    }
    void charge(std::uint32_t instructions) override {
        if (in_task() && instructions) k_.charge(instructions);
    }
    void page_access(PhysAddr pa, std::uint64_t bytes, bool write) override {
        if (in_task() && bytes) k_.core().kernel_access(pa, bytes, write);
        if (!bytes) { // new contents of a page that may have held code of another file before
            for (int cpu = 0; cpu < k_.num_cpus(); ++cpu)
                if (k_.pcpu(cpu).core) k_.pcpu(cpu).core->icache_invalidated(pa);
            return;
        }
        if (!write || k_.pages().refs(PhysAddr(pa.v & kPageMask)) < 2) return;
        for (int cpu = 0; cpu < k_.num_cpus(); ++cpu) k_.pcpu(cpu).core->code_changed(PhysAddr(pa.v & kPageMask));
    }
    void unmap_mapping_range(const Inode& inode, std::uint64_t first) override {
        if (in_task()) k_.unmap_mapping_range(inode, first);
    }
    void page_cache_changed(PhysAddr pa, std::uint64_t ino, std::uint32_t dev, std::uint64_t index,
                            bool added) override {
        if (k_.dismantling()) return; // perf is gone before the last files
        ke::Tracepoints& trace = k_.tracepoints();
        const bool wanted = trace.enabled(added ? ke::Tracepoint::mm_filemap_add_to_page_cache
                                                : ke::Tracepoint::mm_filemap_delete_from_page_cache);
        if (!wanted || !in_task()) return;
        IrqGuard guard(k_); // the cache's map must not change meanwhile
        if (added) {
            trace.trace_mm_filemap_add_to_page_cache(pa.v >> kPageShift, ino, index, dev);
        } else {
            trace.trace_mm_filemap_delete_from_page_cache(pa.v >> kPageShift, ino, index, dev);
        }
    }
    std::int64_t wait(WaitQueueHead& wq, const std::function<bool()>& cond, std::uint64_t deadline_ns) override {
        return k_.wait_event_interruptible_until(wq, cond, deadline_ns);
    }
    void hrtimer_start(ke::HrTimer& timer, std::uint64_t expires_ns) override {
        k_.hrtimer_start(timer, expires_ns, k_.this_cpu());
    }
    void hrtimer_cancel(ke::HrTimer& timer) override { k_.hrtimer_cancel(timer); }
    std::uint64_t random() override { return k_.random(); }
    void perf_file_released(ke::FileOperations* ops) override { k_.perf_file_released(ops); }
    const Task* current() override { return &k_.cur(); }
    const std::map<int, Task*>* tasks() override { return &k_.tasks(); }
    void kill_fasync(File& file, int band) override {
        if (file.owner_pid) send_fasync(k_, file, band);
    }

  private:
    /// False before the first task runs, while mounts are made and attributes added.
    bool in_task() { return !k_.cur().kthread; }

    FsNotify notify_{*this};
    Kernel& k_;
    Credentials boot_cred_;
    FdTable boot_files_;
    FsContext boot_fs_;
};

} // namespace

std::unique_ptr<FsServices> make_kernel_services(Kernel& kernel) { return std::make_unique<KernelServices>(kernel); }

std::unique_ptr<Vfs> make_vfs(Kernel& kernel, const MountConfig& config) {
    auto vfs = std::make_unique<VfsImpl>(make_kernel_services(kernel), config);
    add_procfs(*vfs, kernel);
    add_sysfs(*vfs, kernel);
    add_tracefs(*vfs, kernel);
    add_cgroupfs(*vfs, kernel);
    add_mount_types(*vfs, kernel);
    return vfs;
}

} // namespace rkperf::os
