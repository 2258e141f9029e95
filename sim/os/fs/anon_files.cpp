// SPDX-License-Identifier: Apache-2.0
#include "sim/os/fs/anon_files.h"

#include "kernel_events/trace/tracepoints.h"
#include "sim/os/kernel.h"

#include <algorithm>
#include <cstring>

namespace rkperf::os {

int AnonFile::stat(FileStat& st) {
    st = FileStat{};
    st.dev = abi::make_dev(0, 14);
    st.ino = 1;     // one inode stands for all of them
    st.mode = 0600; // and it has no type
    return 0;
}

namespace {

class EventFile final : public AnonFile {
  public:
    static constexpr std::uint64_t kMax = ~0ull;

    EventFile(FsServices& s, std::uint64_t init, bool semaphore, std::uint32_t flags)
        : AnonFile(s, "[eventfd]", abi::o_rdwr | flags), count_(init), semaphore_(semaphore), wq_(s.kernel()) {}
    ~EventFile() override { detach_watchers(); }

    std::int64_t read(std::span<std::uint8_t> to) override {
        if (to.size() < 8) return -EINVAL;
        if (!count_) {
            if (nonblock()) return -EAGAIN;
            if (const std::int64_t r = s_.wait(wq_, [&] { return count_ != 0; }); r) return r;
        }
        const std::uint64_t v = semaphore_ ? 1 : count_;
        count_ -= v;
        std::memcpy(to.data(), &v, 8);
        wq_.wake_up_all();
        return 8;
    }
    std::int64_t write(std::span<const std::uint8_t> from) override {
        if (from.size() < 8) return -EINVAL;
        std::uint64_t v;
        std::memcpy(&v, from.data(), 8);
        if (v == kMax) return -EINVAL;
        if (kMax - count_ <= v) {
            if (nonblock()) return -EAGAIN;
            if (const std::int64_t r = s_.wait(wq_, [&] { return kMax - count_ > v; }); r) return r;
        }
        count_ += v;
        wq_.wake_up_all();
        return 8;
    }
    ke::PollMask poll(WaitQueueHead*& wq) override {
        wq = &wq_;
        ke::PollMask m = 0;
        if (count_) m |= abi::epollin;
        if (count_ == kMax) m |= abi::epollerr;
        if (count_ < kMax - 1) m |= abi::epollout;
        return m;
    }
    std::string fdinfo() const override {
        char b[64];
        std::snprintf(b, sizeof b, "eventfd-count: %16llx\neventfd-id: 0\n", static_cast<unsigned long long>(count_));
        return b;
    }

  private:
    std::uint64_t count_;
    bool semaphore_;
    WaitQueueHead wq_;
};

class PerfFile final : public AnonFile {
  public:
    PerfFile(FsServices& s, std::string_view name, ke::FileOperations* ops, std::uint32_t flags)
        : AnonFile(s, std::string(name), flags), ops_(ops) {}
    ~PerfFile() override {
        detach_watchers();
        s_.perf_file_released(ops_);
        ops_->release();
    }
    ke::FileOperations* perf_ops() override { return ops_; }
    std::int64_t ioctl(std::uint32_t cmd, std::uint64_t arg) override { return ops_->ioctl(cmd, arg); }
    ke::PollMask poll(WaitQueueHead*& wq) override {
        ke::WaitQueue* w = nullptr;
        const ke::PollMask m = ops_->poll(w);
        wq = static_cast<WaitQueueHead*>(w);
        return m;
    }
    int fasync(bool on) override {
        ops_->fasync(on);
        return 0;
    }
    std::int64_t lseek(std::int64_t, int) override { return -ESPIPE; }

  private:
    ke::FileOperations* ops_;
};

class TimerFd final : public TimerFile {
  public:
    TimerFd(FsServices& s, int clockid, std::uint32_t flags)
        : TimerFile(s, "[timerfd]", abi::o_rdwr | flags), clock_(clockid), wq_(s.kernel()) {
        timer_.symbol = KernelSymbol::timerfd_tmrproc;
        s.kernel().tracepoints().trace_hrtimer_init(timer_, clockid, ke::HRTIMER_MODE_ABS);
        timer_.function = [this](ke::HrTimer&) {
            ++ticks_;
            expired_ = true;
            wq_.wake_up_all();
            return ke::HrTimer::Restart::no; // whoever reads sets it going again
        };
    }
    ~TimerFd() override {
        detach_watchers();
        s_.hrtimer_cancel(timer_);
    }

    Setting set(const Setting& to, bool absolute) override {
        const Setting old = get();
        s_.hrtimer_cancel(timer_);
        ticks_ = 0;
        expired_ = false;
        interval_ = to.interval_ns;
        if (to.value_ns) {
            const std::uint64_t now = s_.clock_ns(CLOCK_MONOTONIC);
            std::uint64_t expires = now + to.value_ns;
            if (absolute) {
                const std::uint64_t there = s_.clock_ns(clock_);
                expires = to.value_ns > there ? now + (to.value_ns - there) : now;
            }
            armed_ = true;
            s_.hrtimer_start(timer_, expires);
        } else {
            armed_ = false;
        }
        return old;
    }
    Setting get() override {
        Setting out;
        out.interval_ns = interval_;
        if (expired_ && interval_) ticks_ += forward() - 1;
        expired_ = false;
        if (armed_ && timer_.queued) {
            const std::uint64_t now = s_.clock_ns(CLOCK_MONOTONIC);
            out.value_ns = timer_.expires > now ? timer_.expires - now : 1;
        }
        return out;
    }
    std::int64_t read(std::span<std::uint8_t> to) override {
        if (to.size() < 8) return -EINVAL;
        if (!ticks_) {
            if (nonblock()) return -EAGAIN;
            if (const std::int64_t r = s_.wait(wq_, [&] { return ticks_ != 0; }); r) return r;
        }
        std::uint64_t v = ticks_;
        if (expired_ && interval_) v += forward() - 1;
        expired_ = false;
        ticks_ = 0;
        std::memcpy(to.data(), &v, 8);
        return 8;
    }
    ke::PollMask poll(WaitQueueHead*& wq) override {
        wq = &wq_;
        return ticks_ ? abi::epollin : 0;
    }

  private:
    /// hrtimer_forward_now: starts it for the first expiry to come; how many it is ahead by.
    std::uint64_t forward() {
        const std::uint64_t now = s_.clock_ns(CLOCK_MONOTONIC);
        const std::uint64_t n = now >= timer_.expires ? (now - timer_.expires) / interval_ + 1 : 0;
        s_.hrtimer_start(timer_, timer_.expires + n * interval_);
        return n;
    }

    int clock_;
    WaitQueueHead wq_;
    ke::HrTimer timer_;
    std::uint64_t interval_{}, ticks_{};
    bool expired_{}; ///< and not started again
    bool armed_{};
};

} // namespace

FileHandle make_eventfd(FsServices& s, std::uint64_t init, std::uint32_t flags) {
    return std::make_shared<EventFile>(s, init, flags & 1, flags & abi::o_nonblock);
}

FileHandle make_perf_file(FsServices& s, std::string_view name, ke::FileOperations* ops, std::uint32_t flags) {
    return std::make_shared<PerfFile>(s, name, ops, flags);
}

std::shared_ptr<TimerFile> make_timerfd(FsServices& s, int clockid, std::uint32_t flags) {
    return std::make_shared<TimerFd>(s, clockid, flags & abi::o_nonblock);
}

} // namespace rkperf::os
