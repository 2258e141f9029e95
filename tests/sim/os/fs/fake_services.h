// SPDX-License-Identifier: Apache-2.0
// The kernel that file tests run in: one task, no machine. Sleeping calls `on_wait` once, then looks again; a sleep that
// nothing ends is interrupted by a signal.
#pragma once

#include "sim/os/fs/inotify.h"
#include "sim/os/fs/services.h"
#include "sim/os/fs/vfs_impl.h"
#include "tests/sim/os/fs/fake_core.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace rkperf::os::test {

class FakeServices final : public FsServices {
  public:
    static constexpr std::uint64_t kBytes = 64 << 20;

    FakeServices() : memory_(PhysAddr(0x200000), kBytes), pages_(memory_, PhysAddr(0x200000), kBytes) {
        cred_.cap_effective = cred_.cap_permitted = ~0ull >> 23;
    }
    Kernel& kernel() override { return fake_kernel(); }
    FsNotify& notify() override { return notify_; }
    PageAllocator& pages() override { return pages_; }
    const Credentials& cred() override { return cred_; }
    FdTable& files() override { return files_; }
    FsContext& fs() override { return fs_; }
    std::uint64_t rlimit(int) override { return file_limit; }
    bool signal_pending() override { return false; }
    void send_signal(int signo) override { signals.push_back(signo); }
    int get_user(void*, std::uint64_t, std::size_t) override { return -EFAULT; }
    int put_user(std::uint64_t, const void*, std::size_t) override { return -EFAULT; }
    std::uint64_t realtime_ns() override { return now; }
    std::uint64_t clock_ns(int) override { return now; }
    void enter(KernelSymbol) override {}
    void leave() override {}
    void charge(std::uint32_t) override {}
    void page_access(PhysAddr, std::uint64_t, bool) override {}
    std::int64_t wait(WaitQueueHead&, const std::function<bool()>& cond, std::uint64_t deadline) override {
        ++waits;
        if (cond()) return 0;
        if (on_wait) {
            const auto fn = std::exchange(on_wait, nullptr);
            fn();
        }
        if (cond()) return 0;
        return deadline == ~0ull ? -512 : -ETIME;
    }
    void hrtimer_start(ke::HrTimer& timer, std::uint64_t expires) override {
        timer.expires = expires;
        timer.queued = true;
    }
    void hrtimer_cancel(ke::HrTimer& timer) override { timer.queued = false; }
    std::uint64_t random() override { return ++random_; }
    void perf_file_released(ke::FileOperations*) override {}
    void kill_fasync(File&, int band) override { bands.push_back(band); }

    void become(std::uint32_t uid) {
        cred_.uid = cred_.euid = cred_.fsuid = uid;
        cred_.gid = cred_.egid = cred_.fsgid = uid;
        cred_.cap_effective = uid ? 0 : ~0ull >> 23;
    }

    std::vector<int> signals, bands;
    std::function<void()> on_wait;
    int waits{};
    std::uint64_t now{1'700'000'000'000'000'000}, file_limit{~0ull};

  private:
    FsNotify notify_{*this};
    mem::PhysicalMemory memory_;
    PageAllocator pages_;
    Credentials cred_;
    FdTable files_;
    FsContext fs_;
    std::uint64_t random_{};
};

/// A folder of the host that goes away with the test.
class HostFolder {
  public:
    HostFolder() {
        char name[] = "/tmp/rkperf-fs-XXXXXX";
        path_ = ::mkdtemp(name);
    }
    ~HostFolder() { std::filesystem::remove_all(path_); }
    std::string operator/(const std::string& name) const { return path_ + "/" + name; }
    const std::string& path() const { return path_; }
    void write(const std::string& name, const std::string& text) const { std::ofstream(path_ + "/" + name) << text; }
    std::string read(const std::string& name) const {
        std::ifstream in(path_ + "/" + name);
        return {std::istreambuf_iterator<char>(in), {}};
    }

  private:
    std::string path_;
};

/// A file system name space over the fake kernel.
struct World {
    explicit World(const MountConfig& config = {}) {
        auto own = std::make_unique<FakeServices>();
        s = own.get();
        vfs = std::make_unique<VfsImpl>(std::move(own), config);
    }
    std::int64_t open(const std::string& path, std::uint32_t flags, FileHandle& f, std::uint32_t mode = 0644,
                      int dirfd = -100) {
        return vfs->openat(dirfd, path, flags, mode, f);
    }
    /// The whole file, or "errno N".
    std::string text(const std::string& path) {
        FileHandle f;
        if (const std::int64_t r = open(path, 0, f); r) return "errno " + std::to_string(-r);
        std::string out;
        std::uint8_t b[4096];
        std::int64_t n;
        while ((n = f->read(b)) > 0) out.append(reinterpret_cast<char*>(b), static_cast<std::size_t>(n));
        return n < 0 ? "errno " + std::to_string(-n) : out;
    }
    std::int64_t put(const std::string& path, const std::string& text, std::uint32_t flags = 01101) {
        FileHandle f;
        if (const std::int64_t r = open(path, flags, f); r) return r;
        return f->write({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
    }
    std::vector<std::string> list(const std::string& path) {
        FileHandle f;
        std::vector<std::string> out;
        if (open(path, abi::o_directory, f)) return out;
        std::uint8_t b[512];
        std::int64_t n;
        while ((n = f->getdents64(b)) > 0)
            for (std::int64_t at = 0; at < n;) {
                std::uint16_t length;
                std::memcpy(&length, b + at + 16, 2);
                out.emplace_back(reinterpret_cast<char*>(b + at + 19));
                at += length;
            }
        return out;
    }
    FileStat stat(const std::string& path, int flags = 0) {
        FileStat st;
        st.mode = 0;
        vfs->statat(-100, path, flags, st);
        return st;
    }

    FakeServices* s{};
    std::unique_ptr<VfsImpl> vfs;
};

inline std::span<const std::uint8_t> bytes(std::string_view text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

} // namespace rkperf::os::test
