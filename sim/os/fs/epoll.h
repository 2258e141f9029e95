// SPDX-License-Identifier: Apache-2.0
// epoll: a list of watched files and the part of it that is, or may be, ready.
#pragma once

#include "sim/os/fs/anon_files.h"

#include <list>
#include <map>
#include <memory>
#include <utility>

namespace rkperf::os {

class Epoll final : public AnonFile, public FileWatcher {
  public:
    explicit Epoll(FsServices& s);
    ~Epoll() override;

    /// epoll_ctl; op: EPOLL_CTL_ADD 1, DEL 2, MOD 3. 0 or -errno.
    int ctl(int op, int fd, const FileHandle& file, const abi::epoll_event& event);
    /// epoll_wait: events delivered through `put` (index, event; 0 or -EFAULT), at most `max`; 0 after the deadline
    /// (CLOCK_MONOTONIC ns; 0: at once, ~0: never), -EINTR.
    using PutFn = std::function<int(int, const abi::epoll_event&)>;
    std::int64_t wait(int max, std::uint64_t deadline_ns, const PutFn& put);

    /// The file that was added as descriptor `fd`; the `nth` of them, if it was more than one. Null: there is none.
    const File* target(int fd, std::uint32_t nth) const;

    ke::PollMask poll(WaitQueueHead*& wq) override;
    std::string fdinfo() const override;

  private:
    struct Item {
        Epoll* owner{};
        File* file{};
        int fd{};
        abi::epoll_event event{};
        WaitQueueHead::Entry entry;
        bool linked{}, host{};
    };
    using Key = std::pair<int, File*>;

    int add(int fd, const FileHandle& file, abi::epoll_event event);
    void remove(std::map<Key, std::unique_ptr<Item>>::iterator it);
    ke::PollMask poll_item(Item& item, bool watch);
    void make_ready(Item& item);
    void look_at_host_files();
    void wait_for_host();
    std::int64_t send(int max, const PutFn& put);
    void file_gone(File& file) override;
    /// Depth of epolls below, or -1 if `target` is among them.
    int depth(const Epoll& target, int level) const;
    int height(int level) const; ///< of epolls above

    /// Of the items, while code runs that may let others run (ep->mtx). An inner epoll's is taken within an outer's.
    KernelMutex mutex_;
    std::map<Key, std::unique_ptr<Item>> items_;
    std::list<Item*> ready_;
    WaitQueueHead wq_, poll_wait_;
    unsigned host_polled_{};
};

/// How often files whose readiness comes from the host are looked at, in simulated time.
inline constexpr std::uint64_t kHostPollNs = 10'000'000;
inline constexpr int kHostPollMs = 10; ///< the same in real time

} // namespace rkperf::os
