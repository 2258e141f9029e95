// SPDX-License-Identifier: Apache-2.0
#include "sim/os/fs/signal_file.h"

#include "sim/os/kernel.h"
#include "sim/os/signal/signals.h"

#include <csignal>
#include <cstring>
#include <set>

namespace rkperf::os {

namespace {

constexpr std::size_t kInfoSize = 128; ///< struct signalfd_siginfo

/// struct signalfd_siginfo from siginfo_t (asm-generic layouts; uapi/linux/signalfd.h).
void convert(const SigInfo& from, std::uint8_t* to) {
    std::memset(to, 0, kInfoSize);
    const auto word = [&](std::size_t at) {
        std::uint32_t v;
        std::memcpy(&v, from.raw.data() + at, 4);
        return v;
    };
    const auto put = [&](std::size_t at, std::uint32_t v) { std::memcpy(to + at, &v, 4); };
    const std::uint32_t signo = word(0), code = word(8);
    put(0, signo);
    put(4, word(4));
    put(8, code);
    const bool fault = signo == SIGSEGV || signo == SIGBUS || signo == SIGILL || signo == SIGFPE || signo == SIGTRAP;
    if (static_cast<std::int32_t>(code) > 0 && code != 0x80 && fault) {
        std::memcpy(to + 56, from.raw.data() + 16, 8); // ssi_addr
        return;
    }
    if (static_cast<std::int32_t>(code) == SI_TIMER) {
        put(24, word(16)); // ssi_tid
        put(32, word(20)); // ssi_overrun
    } else if (signo == SIGIO && static_cast<std::int32_t>(code) > 0) {
        put(28, word(16)); // ssi_band
        put(20, word(24)); // ssi_fd
        return;
    } else {
        put(12, word(16)); // ssi_pid
        put(16, word(20)); // ssi_uid
        if (signo == SIGCHLD && static_cast<std::int32_t>(code) > 0) {
            put(40, word(24));                             // ssi_status
            std::memcpy(to + 64, from.raw.data() + 32, 8); // ssi_utime
            std::memcpy(to + 72, from.raw.data() + 40, 8); // ssi_stime
            return;
        }
    }
    put(44, word(24));                             // ssi_int
    std::memcpy(to + 48, from.raw.data() + 24, 8); // ssi_ptr
}

class SignalFd final : public SignalFile {
  public:
    SignalFd(FsServices& s, SigSet mask, std::uint32_t flags)
        : SignalFile(s, "[signalfd]", abi::o_rdwr | flags), mask_(mask), wq_(s.kernel()) {}
    ~SignalFd() override { detach_watchers(); }

    void set_mask(SigSet mask) override {
        mask_ = mask;
        wq_.wake_up_all();
    }
    std::int64_t read(std::span<std::uint8_t> to) override {
        std::size_t done = 0;
        if (to.size() < kInfoSize) return -EINVAL;
        Task& me = os.cur();
        listen(me);
        while (to.size() - done >= kInfoSize) {
            SigInfo info;
            if (os.signals().dequeue(me, ~mask_, info)) {
                convert(info, to.data() + done);
                done += kInfoSize;
                continue;
            }
            if (done) break;
            if (nonblock()) return -EAGAIN;
            if (const std::int64_t r = s_.wait(wq_, [&] { return ready(me); }); r) return r;
        }
        return static_cast<std::int64_t>(done);
    }
    ke::PollMask poll(WaitQueueHead*& wq) override {
        wq = &wq_;
        Task& me = os.cur();
        listen(me);
        return ready(me) ? abi::epollin : 0;
    }
    std::string fdinfo() const override {
        char b[40];
        std::snprintf(b, sizeof b, "sigmask:\t%016llx\n", static_cast<unsigned long long>(mask_));
        return b;
    }

  private:
    bool ready(const Task& t) const { return ((t.pending.set | t.process->shared_pending.set) & mask_) != 0; }

    /// Hears of the task's signals. The entry outlives whichever of the two ends first: it is freed with the task's
    /// queue never, and does nothing once this file is gone.
    void listen(Task& t) {
        if (!known_.insert(t.pid).second) return;
        if (!t.signalfd_wq) t.signalfd_wq = std::make_unique<WaitQueueHead>(os);
        auto entry = std::make_shared<WaitQueueHead::Entry>();
        entry->func = [self = weak_from_this(), keep = entry](WaitQueueHead::Entry&) {
            if (const auto f = self.lock()) static_cast<SignalFd&>(*f).wq_.wake_up_all();
        };
        t.signalfd_wq->add(*entry);
    }

    SigSet mask_;
    WaitQueueHead wq_;
    std::set<int> known_; ///< tasks whose signals are listened to
};

} // namespace

std::shared_ptr<SignalFile> make_signalfd(FsServices& s, SigSet mask, std::uint32_t flags) {
    return std::make_shared<SignalFd>(s, mask, flags & abi::o_nonblock);
}

} // namespace rkperf::os
