// SPDX-License-Identifier: Apache-2.0
#include "sim/os/fs/inotify.h"

#include "sim/os/kernel.h"

#include <sys/stat.h>
#include <algorithm>
#include <cstring>
#include <utility>

namespace rkperf::os {

namespace {
/// struct inotify_event without its name.
struct EventHead {
    std::int32_t wd;
    std::uint32_t mask, cookie, len;
};
constexpr std::uint32_t kFionread = 0x541b;

std::size_t padded(const std::string& name) {
    constexpr std::size_t kAlign = sizeof(EventHead);
    return name.empty() ? 0 : (name.size() + 1 + kAlign - 1) / kAlign * kAlign;
}
} // namespace

class Inotify final : public InotifyFile {
  public:
    struct Event {
        std::int32_t wd;
        std::uint32_t mask, cookie;
        std::string name;
        std::size_t bytes() const { return sizeof(EventHead) + padded(name); }
        bool same(const Event& o) const { return wd == o.wd && mask == o.mask && name == o.name; }
    };

    Inotify(FsServices& s, FsNotify& notify, std::uint32_t flags, std::uint32_t user)
        : InotifyFile(s, "inotify", abi::o_rdonly | flags), notify_(notify), user_(user), wq_(s.kernel()) {
        ++here().instances;
    }
    ~Inotify() override {
        detach_watchers();
        --here().instances;
        here().watches -= watches_.size();
        for (const auto& [wd, key] : watches_) drop_mark(key);
    }

    int add_watch(const DentryPtr& what, std::uint32_t mask) override {
        const FsNotify::Key key = FsNotify::key_of(*what->node);
        const std::uint32_t wanted = mask & (inotify::all_events | inotify::excl_unlink | inotify::oneshot);
        if (FsNotify::Mark* m = mark(key)) {
            if (mask & inotify::mask_create) return -EEXIST;
            m->mask = mask & inotify::mask_add ? m->mask | wanted : wanted;
            return m->wd;
        }
        if (here().watches >= FsNotify::max_user_watches(s_.pages().total_pages())) return -ENOSPC;
        ++here().watches;
        const int wd = ++last_wd_;
        watches_[wd] = key;
        notify_.marks_[key].push_back({this, wd, wanted, what, what->node});
        return wd;
    }
    int rm_watch(int wd) override {
        const auto at = watches_.find(wd);
        if (at == watches_.end()) return -EINVAL;
        drop_mark(at->second);
        forget(wd);
        queue({wd, inotify::ignored, 0, {}});
        return 0;
    }
    void forget(int wd) { here().watches -= watches_.erase(wd); }

    void queue(Event e) {
        if (events_.size() >= inotify::max_queued_events) {
            if (overflowed_) return;
            overflowed_ = true;
            e = {-1, inotify::q_overflow, 0, {}};
        } else if (!events_.empty() && !(events_.back().mask & inotify::ignored) && events_.back().same(e)) {
            return; // it is told once, as long as it is the last one that waits
        }
        events_.push_back(std::move(e));
        wq_.wake_up_all();
        s_.kill_fasync(*this, 1 /* POLL_IN */);
    }

    std::int64_t read(std::span<std::uint8_t> to) override {
        if (events_.empty()) {
            if (nonblock()) return -EAGAIN;
            if (const std::int64_t r = s_.wait(wq_, [&] { return !events_.empty(); }); r) return r;
        }
        std::size_t done = 0;
        while (!events_.empty() && events_.front().bytes() <= to.size() - done) {
            const Event& e = events_.front();
            const EventHead head{e.wd, e.mask, e.cookie, static_cast<std::uint32_t>(padded(e.name))};
            std::memset(to.data() + done, 0, e.bytes());
            std::memcpy(to.data() + done, &head, sizeof head);
            std::memcpy(to.data() + done + sizeof head, e.name.data(), e.name.size());
            done += e.bytes();
            if (e.mask & inotify::q_overflow) overflowed_ = false;
            events_.pop_front();
        }
        return done ? static_cast<std::int64_t>(done) : -EINVAL;
    }
    ke::PollMask poll(WaitQueueHead*& wq) override {
        wq = &wq_;
        return events_.empty() ? 0 : abi::epollin;
    }
    std::int64_t ioctl(std::uint32_t cmd, std::uint64_t arg) override {
        if (cmd != kFionread) return -ENOTTY;
        std::int32_t bytes = 0;
        for (const Event& e : events_) bytes += static_cast<std::int32_t>(e.bytes());
        return s_.put_user(arg, &bytes, sizeof bytes);
    }
    std::string fdinfo() const override {
        std::string out;
        for (const auto& [wd, key] : watches_) {
            const FsNotify::Mark* m = mark(key);
            const NodePtr node = m ? m->node.lock() : nullptr;
            if (!node) continue;
            char line[128];
            std::snprintf(line, sizeof line, "inotify wd:%x ino:%llx sdev:%llx mask:%x ignored_mask:0 \n", wd,
                          static_cast<unsigned long long>(node->ino), static_cast<unsigned long long>(node->stat().dev),
                          m->mask & inotify::all_events);
            out.insert(0, line); // the newest first
        }
        return out;
    }

  private:
    FsNotify::Mark* mark(const FsNotify::Key& key) const {
        const auto at = notify_.marks_.find(key);
        if (at == notify_.marks_.end()) return nullptr;
        const auto m =
            std::find_if(at->second.begin(), at->second.end(), [&](const auto& i) { return i.group == this; });
        return m == at->second.end() ? nullptr : &*m;
    }
    void drop_mark(const FsNotify::Key& key) {
        const auto at = notify_.marks_.find(key);
        if (at == notify_.marks_.end()) return;
        std::erase_if(at->second, [&](const auto& i) { return i.group == this; });
        if (at->second.empty()) notify_.marks_.erase(at);
    }

    FsNotify::User& here() { return notify_.users_[user_]; }

    FsNotify& notify_;
    std::uint32_t user_;
    WaitQueueHead wq_;
    std::map<int, FsNotify::Key> watches_;
    std::deque<Event> events_;
    int last_wd_{};
    bool overflowed_{}; ///< IN_Q_OVERFLOW waits
};

std::uint64_t FsNotify::max_user_watches(std::uint64_t pages) {
    constexpr std::uint64_t kCost = 1280; // INOTIFY_WATCH_COST: a mark and two inodes
    return std::clamp<std::uint64_t>(pages / 100 * kPageSize / kCost, 8192, 1048576);
}

std::shared_ptr<InotifyFile> FsNotify::make(std::uint32_t flags, int& error) {
    const std::uint32_t user = s_.cred().uid;
    error = users_[user].instances >= inotify::max_user_instances ? -EMFILE : 0;
    if (error) return nullptr;
    return std::make_shared<Inotify>(s_, *this, flags, user);
}

void FsNotify::tell(const Key& key, std::uint32_t mask, const std::string& name, std::uint32_t cookie, bool unlinked) {
    const auto at = marks_.find(key);
    if (at == marks_.end() || s_.kernel().dismantling()) return;
    const IrqGuard guard(s_.kernel());          // who is woken may close an instance
    const std::vector<Mark> marks = at->second; // a watch may end by this
    for (const Mark& m : marks) {
        if (!(mask & m.mask & inotify::all_events)) continue;
        if (unlinked && m.mask & inotify::excl_unlink) continue;
        m.group->queue({m.wd, mask, cookie, name});
        if (m.mask & inotify::oneshot) m.group->rm_watch(m.wd);
    }
}

void FsNotify::report(const DentryPtr& d, std::uint32_t mask, bool open) {
    if (!d) return;
    if (d->node->is_dir()) mask |= inotify::isdir;
    const bool unlinked = open && d->unlinked();
    if (d->parent) tell(key_of(*d->parent->node), mask, d->name, 0, unlinked);
    tell(key_of(*d->node), mask, {}, 0, unlinked);
}

void FsNotify::report_name(Node& dir, const std::string& name, std::uint32_t mask, bool is_dir, std::uint32_t cookie) {
    tell(key_of(dir), mask | (is_dir ? inotify::isdir : 0), name, cookie, false);
}

void FsNotify::unmounted(const FileSystem& fs) {
    std::vector<Key> keys;
    for (const auto& [key, marks] : marks_)
        if (std::get<0>(key) == &fs) keys.push_back(key);
    for (const Key& key : keys) end(key, inotify::unmount);
}

void FsNotify::end(const Key& key, std::uint32_t why) {
    std::erase(unlinked_, key);
    const auto at = marks_.find(key);
    if (at == marks_.end() || s_.kernel().dismantling()) return;
    const IrqGuard guard(s_.kernel());
    const std::vector<Mark> marks = std::move(at->second);
    marks_.erase(at);
    for (const Mark& m : marks) {
        if (why == inotify::unmount || m.mask & why) m.group->queue({m.wd, why, 0, {}});
        m.group->forget(m.wd);
        m.group->queue({m.wd, inotify::ignored, 0, {}});
    }
}

void FsNotify::unlinked(DentryPtr d) {
    if (marks_.empty()) return;
    const Key key = key_of(*d->node);
    const auto at = marks_.find(key);
    if (at == marks_.end()) return;
    // A folder has no other names, whatever its count says.
    if (!d->node->is_dir() && d->node->stat().nlink) return;
    for (Mark& m : at->second) m.held = nullptr;
    unlinked_.push_back(key);
    d->node->fs.forget(d->node);
    d = nullptr;
    reap();
}

void FsNotify::reap() {
    const std::vector<Key> nodes = unlinked_;
    for (const Key& key : nodes) {
        const auto at = marks_.find(key);
        if (at == marks_.end()) {
            std::erase(unlinked_, key);
        } else if (at->second.front().node.expired()) {
            end(key, inotify::delete_self);
        }
    }
}

void FsNotify::renamed(Node& old_dir, const std::string& old_name, Node& new_dir, const std::string& new_name,
                       const DentryPtr& moved, const DentryPtr& replaced) {
    if (marks_.empty()) return;
    const std::uint32_t cookie = ++last_cookie_;
    const bool is_dir = moved->node->is_dir();
    report_name(old_dir, old_name, inotify::moved_from, is_dir, cookie);
    report_name(new_dir, new_name, inotify::moved_to, is_dir, cookie);
    if (replaced) link_count(*replaced->node);
    tell(key_of(*moved->node), inotify::move_self, {}, 0, false);
}

void FsNotify::closed(DentryPtr d, std::uint32_t flags) {
    if (marks_.empty()) return;
    if (!(flags & abi::o_path))
        report(d, (flags & abi::o_accmode) == abi::o_rdonly ? inotify::close_nowrite : inotify::close_write, true);
    d = nullptr;
    reap();
}

} // namespace rkperf::os
