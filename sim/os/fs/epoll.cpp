// SPDX-License-Identifier: Apache-2.0
#include "sim/os/fs/epoll.h"

#include <algorithm>
#include <ctime>

namespace rkperf::os {

namespace {
/// Bits of a watch that are not events.
constexpr std::uint32_t kPrivate = abi::epollwakeup | abi::epolloneshot | abi::epollet | abi::epollexclusive;
constexpr std::uint32_t kExclusiveOk = abi::epollin | abi::epollout | abi::epollerr | abi::epollhup | abi::epollwakeup |
                                       abi::epollet | abi::epollexclusive;
constexpr int kMaxNests = 4;
} // namespace

Epoll::Epoll(FsServices& s)
    : AnonFile(s, "[eventpoll]", abi::o_rdwr), mutex_(s.kernel()), wq_(s.kernel()), poll_wait_(s.kernel()) {}

Epoll::~Epoll() {
    detach_watchers();
    while (!items_.empty()) {
        std::erase(items_.begin()->second->file->watchers, this);
        remove(items_.begin());
    }
}

ke::PollMask Epoll::poll_item(Item& item, bool watch) {
    WaitQueueHead* wq = nullptr;
    const ke::PollMask m = item.file->poll(wq);
    if (watch && wq) wq->add(item.entry);
    return m & item.event.events;
}

void Epoll::make_ready(Item& item) {
    if (!(item.event.events & ~kPrivate)) return; // a one-shot watch that has fired
    if (!item.linked) {
        item.linked = true;
        ready_.push_back(&item);
    }
    wq_.wake_up();
    poll_wait_.wake_up_all();
}

int Epoll::depth(const Epoll& target, int level) const {
    if (this == &target) return -1;
    int deepest = 0;
    if (level > kMaxNests) return level;
    for (const auto& [key, item] : items_)
        if (const auto* below = dynamic_cast<const Epoll*>(item->file)) {
            const int d = below->depth(target, level + 1);
            if (d < 0) return d;
            deepest = std::max(deepest, d + 1);
        }
    return deepest;
}

int Epoll::height(int level) const {
    int highest = 0;
    if (level > kMaxNests) return level;
    for (const FileWatcher* w : watchers)
        if (const auto* above = dynamic_cast<const Epoll*>(w))
            highest = std::max(highest, above->height(level + 1) + 1);
    return highest;
}

const File* Epoll::target(int fd, std::uint32_t nth) const {
    for (const auto& [key, item] : items_)
        if (key.first == fd && nth-- == 0) return item->file;
    return nullptr;
}

int Epoll::add(int fd, const FileHandle& file, abi::epoll_event event) {
    if (items_.count({fd, file.get()})) return -EEXIST;
    if (const auto* below = dynamic_cast<const Epoll*>(file.get())) {
        const int d = below->depth(*this, 0);
        if (d < 0 || d + 1 + height(0) > kMaxNests) return -ELOOP;
    }
    auto item = std::make_unique<Item>();
    item->owner = this;
    item->file = file.get();
    item->fd = fd;
    item->event = event;
    item->event.events |= abi::epollerr | abi::epollhup;
    Item* const p = item.get();
    item->entry.func = [p](WaitQueueHead::Entry&) { p->owner->make_ready(*p); };
    auto& watchers = file->watchers;
    if (std::find(watchers.begin(), watchers.end(), this) == watchers.end()) watchers.push_back(this);
    item->host = file->host_polled();
    host_polled_ += item->host;
    items_[{fd, file.get()}] = std::move(item);
    if (poll_item(*p, true)) make_ready(*p);
    return 0;
}

void Epoll::remove(std::map<Key, std::unique_ptr<Item>>::iterator it) {
    Item& item = *it->second;
    if (item.entry.head) item.entry.head->remove(item.entry);
    if (item.linked) ready_.remove(&item);
    host_polled_ -= item.host;
    items_.erase(it);
}

void Epoll::file_gone(File& file) {
    const FileHandle self = weak_from_this().lock(); // the wait for the mutex may outlast the last descriptor
    const ke::MutexGuard lock(mutex_);
    for (auto it = items_.begin(); it != items_.end();) {
        const auto next = std::next(it);
        if (it->second->file == &file) remove(it);
        it = next;
    }
}

int Epoll::ctl(int op, int fd, const FileHandle& file, const abi::epoll_event& event) {
    FsFrame f(s_, KernelSymbol::do_epoll_ctl);
    if (!file->pollable()) return -EPERM;
    if (file.get() == this) return -EINVAL;
    if (op != 2 && event.events & abi::epollexclusive) {
        if (op == 3) return -EINVAL;
        if (op == 1 && (dynamic_cast<Epoll*>(file.get()) || event.events & ~kExclusiveOk)) return -EINVAL;
    }
    const ke::MutexGuard lock(mutex_);
    const auto it = items_.find({fd, file.get()});
    switch (op) {
        case 1: return add(fd, file, event);
        case 2:
            if (it == items_.end()) return -ENOENT;
            remove(it);
            if (std::none_of(items_.begin(), items_.end(), [&](const auto& e) { return e.second->file == file.get(); }))
                std::erase(file->watchers, this);
            return 0;
        case 3: {
            if (it == items_.end()) return -ENOENT;
            Item& item = *it->second;
            if (item.event.events & abi::epollexclusive) return -EINVAL;
            item.event = event;
            item.event.events |= abi::epollerr | abi::epollhup;
            if (poll_item(item, false)) make_ready(item);
            return 0;
        }
        default: return -EINVAL;
    }
}

void Epoll::look_at_host_files() {
    for (auto& [key, item] : items_)
        if (item->host && !item->linked && poll_item(*item, false)) make_ready(*item);
}

void Epoll::wait_for_host() {
    for (auto& [key, item] : items_)
        if (item->host) {
            item->file->host_wait(kHostPollMs);
            return;
        }
}

std::int64_t Epoll::send(int max, const PutFn& put) {
    FsFrame f(s_, KernelSymbol::ep_send_events);
    const ke::MutexGuard lock(mutex_);
    int sent = 0;
    std::list<Item*> round;
    round.swap(ready_);
    while (!round.empty() && sent < max) {
        Item& item = *round.front();
        round.pop_front();
        item.linked = false;
        const ke::PollMask m = poll_item(item, false);
        if (!m) continue;
        if (put(sent, {m, 0, item.event.data})) {
            item.linked = true;
            round.push_front(&item);
            if (!sent) sent = -EFAULT;
            break;
        }
        ++sent;
        if (item.event.events & abi::epolloneshot) {
            item.event.events &= kPrivate;
        } else if (!(item.event.events & abi::epollet) && !item.linked) {
            item.linked = true; // level-triggered: looked at again next time
            ready_.push_back(&item);
        }
    }
    ready_.splice(ready_.begin(), round);
    if (!ready_.empty()) wq_.wake_up(); // others found nothing meanwhile
    return sent;
}

std::int64_t Epoll::wait(int max, std::uint64_t deadline_ns, const PutFn& put) {
    bool last = deadline_ns == 0;
    for (;;) {
        if (host_polled_) {
            const ke::MutexGuard lock(mutex_);
            look_at_host_files();
        }
        if (!ready_.empty())
            if (const std::int64_t n = send(max, put); n) return n;
        if (last) return 0;
        if (s_.signal_pending()) return -EINTR;
        std::uint64_t until = deadline_ns;
        if (host_polled_) until = std::min(until, s_.clock_ns(CLOCK_MONOTONIC) + kHostPollNs);
        const std::int64_t r = s_.wait(
            wq_, [&] { return !ready_.empty(); }, until);
        if (r == -ETIME) {
            last = until == deadline_ns;
            wait_for_host();
        } else if (r)
            return -EINTR;
    }
}

ke::PollMask Epoll::poll(WaitQueueHead*& wq) {
    wq = &poll_wait_;
    const ke::MutexGuard lock(mutex_);
    if (host_polled_) look_at_host_files();
    // An entry of the list may have become stale; only one that still is ready counts.
    for (auto it = ready_.begin(); it != ready_.end();) {
        Item& item = **it;
        if (poll_item(item, false)) return abi::epollin | abi::epollrdnorm;
        item.linked = false;
        it = ready_.erase(it);
    }
    return 0;
}

std::string Epoll::fdinfo() const {
    std::string out;
    for (const auto& [key, item] : items_) {
        char line[128];
        std::snprintf(line, sizeof line, "tfd: %8d events: %8x data: %16llx  pos:%lli ino:%x sdev:%x\n", item->fd,
                      item->event.events, static_cast<unsigned long long>(item->event.data),
                      static_cast<long long>(item->file->pos), 0u, 0u);
        out += line;
    }
    return out;
}

} // namespace rkperf::os
