// SPDX-License-Identifier: Apache-2.0
// Pipes, eventfd, epoll, attribute files.
#include "sim/os/fs/epoll.h"
#include "sim/os/fs/pipe.h"
#include "tests/sim/os/fs/fake_services.h"

#include <catch2/catch.hpp>
#include <csignal>

using namespace rkperf::os;
using namespace rkperf::os::test;

namespace {

struct PipePair {
    explicit PipePair(std::uint32_t flags = abi::o_nonblock) { make_pipe(s, 1, flags, r, w); }
    std::string read(std::size_t n) {
        std::vector<std::uint8_t> b(n);
        const std::int64_t got = r->read(b);
        return got < 0 ? "errno " + std::to_string(-got) : std::string(b.begin(), b.begin() + got);
    }
    std::int64_t write(const std::string& text) { return w->write(bytes(text)); }
    std::uint32_t poll(const FileHandle& f) {
        WaitQueueHead* wq = nullptr;
        return f->poll(wq);
    }
    FakeServices s;
    FileHandle r, w;
};

/// The events of one epoll_wait that does not sleep, as (data, events).
std::vector<std::pair<std::uint64_t, std::uint32_t>> ready(Epoll& ep, int max = 8) {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> out;
    ep.wait(max, 0, [&](int, const abi::epoll_event& e) {
        out.emplace_back(e.data, e.events);
        return 0;
    });
    return out;
}
using Events = std::vector<std::pair<std::uint64_t, std::uint32_t>>;

} // namespace

TEST_CASE("a pipe: order, end, broken pipe") {
    PipePair p;
    CHECK(p.read(4) == "errno 11");
    CHECK(p.write("abc") == 3);
    CHECK(p.write("def") == 3);
    CHECK(p.read(4) == "abcd");
    CHECK(p.read(9) == "ef");
    p.write("last");
    p.w.reset();
    CHECK(p.read(9) == "last");
    CHECK(p.read(9).empty());
    PipePair q;
    q.r.reset();
    CHECK(q.write("x") == -EPIPE);
    CHECK(q.s.signals == std::vector<int>{SIGPIPE});
    CHECK(q.write("") == 0);
}

TEST_CASE("a pipe holds 16 pages; small writes share one, and up to a page goes in whole or not at all") {
    PipePair p;
    CHECK(p.write(std::string(100'000, 'x')) == 65536);
    CHECK(p.write("y") == -EAGAIN);
    CHECK(p.poll(p.w) == 0);
    CHECK(p.read(4095).size() == 4095);
    CHECK(p.write("y") == -EAGAIN); // no slot has become free
    CHECK(p.read(1).size() == 1);
    CHECK(p.write(std::string(4096, 'z')) == 4096);
    CHECK(p.write("y") == -EAGAIN);
    PipePair q;
    for (int i = 0; i < 65536; ++i) REQUIRE(q.write("s") == 1);
    CHECK(q.write("s") == -EAGAIN);
    PipePair t;
    for (int i = 0; i < 16; ++i) REQUIRE(t.write(std::string(2049, 's')) == 2049); // two do not fit in a page
    CHECK(t.write(std::string(2049, 's')) == -EAGAIN);
    CHECK(t.write(std::string(2047, 's')) == 2047);
}

TEST_CASE("packets keep their limits") {
    PipePair p(abi::o_nonblock | abi::o_direct);
    p.write("one");
    p.write("two");
    CHECK(p.read(2) == "on"); // the rest of the packet is lost
    CHECK(p.read(9) == "two");
}

TEST_CASE("a sleeping reader and writer go on when the other side acts") {
    PipePair p(0);
    p.s.on_wait = [&] { p.write("late"); };
    CHECK(p.read(9) == "late");
    CHECK(p.s.waits == 1);
    p.write(std::string(65536, 'x'));
    std::string got;
    p.s.on_wait = [&] { got = p.read(8192); };
    CHECK(p.write("yz") == 2);
    CHECK(got.size() == 8192);
    CHECK(p.read(1) == "x");
    PipePair q(0);
    CHECK(q.read(1) == "errno 512");
    q.s.on_wait = [&] { q.w.reset(); };
    CHECK(q.read(1).empty());
}

TEST_CASE("a pipe's size can be set") {
    PipePair p;
    Pipe& pipe = dynamic_cast<PipeFile&>(*p.w).pipe();
    CHECK(pipe.set_size(1) == 4096);
    CHECK(p.write(std::string(5000, 'x')) == 4096);
    CHECK(pipe.set_size(5000) == 8192);
    CHECK(p.write(std::string(5000, 'x')) == 4096);
    CHECK(pipe.set_size(4096) == -EBUSY);
    CHECK(pipe.set_size(0) == -EINVAL);
    p.s.become(1000);
    CHECK(pipe.set_size(1 << 21) == -EPERM);
}

TEST_CASE("poll on a pipe") {
    PipePair p;
    CHECK(p.poll(p.r) == 0);
    CHECK(p.poll(p.w) == (abi::epollout | abi::epollwrnorm));
    p.write("x");
    CHECK(p.poll(p.r) == (abi::epollin | abi::epollrdnorm));
    p.w.reset();
    CHECK(p.poll(p.r) == (abi::epollin | abi::epollrdnorm | abi::epollhup));
    PipePair q;
    q.r.reset();
    CHECK(q.poll(q.w) == (abi::epollout | abi::epollwrnorm | abi::epollerr));
}

TEST_CASE("O_ASYNC on a pipe tells its reader") {
    PipePair p;
    p.r->fasync(true);
    p.write("x");
    CHECK(p.s.bands == std::vector<int>{1});
    p.r->fasync(false);
    p.write("x");
    CHECK(p.s.bands.size() == 1);
}

TEST_CASE("a FIFO waits for its other side") {
    World w;
    REQUIRE(w.vfs->mknodat(-100, "/tmp/fifo", S_IFIFO | 0666, 0) == 0);
    FileHandle r, x;
    CHECK(w.open("/tmp/fifo", 1 | abi::o_nonblock, x) == -ENXIO);
    CHECK(w.open("/tmp/fifo", 0, r) == -512);
    w.s->on_wait = [&] { CHECK(w.open("/tmp/fifo", 1 | abi::o_nonblock, x) == 0); };
    CHECK(w.open("/tmp/fifo", 0, r) == 0);
    CHECK(x->write(bytes("a")) == 1);
    std::uint8_t b[2];
    CHECK(r->read(b) == 1);
    CHECK(r->path() == "/tmp/fifo");
}

TEST_CASE("eventfd counts") {
    FakeServices s;
    const FileHandle f = make_eventfd(s, 3, abi::o_nonblock), sem = make_eventfd(s, 2, abi::o_nonblock | 1);
    std::uint64_t v = 0;
    const auto in = [&] { return std::span<std::uint8_t>(reinterpret_cast<std::uint8_t*>(&v), 8); };
    CHECK(f->read(in().first(7)) == -EINVAL);
    CHECK(f->read(in()) == 8);
    CHECK(v == 3);
    CHECK(f->read(in()) == -EAGAIN);
    v = ~0ull;
    CHECK(f->write(in()) == -EINVAL);
    v = ~0ull - 1;
    CHECK(f->write(in()) == 8);
    v = 1;
    CHECK(f->write(in()) == -EAGAIN);
    CHECK(sem->read(in()) == 8);
    CHECK(v == 1);
    CHECK(sem->read(in()) == 8);
    CHECK(sem->read(in()) == -EAGAIN);
}

TEST_CASE("epoll, level-triggered: reported as long as it is so") {
    PipePair p;
    Epoll ep(p.s);
    REQUIRE(ep.ctl(1, 5, p.r, {abi::epollin, 0, 55}) == 0);
    CHECK(ready(ep).empty());
    p.write("ab");
    CHECK(ready(ep) == Events{{55, abi::epollin}});
    CHECK(ready(ep) == Events{{55, abi::epollin}});
    p.read(2);
    CHECK(ready(ep).empty());
    p.w.reset();
    CHECK(ready(ep) == Events{{55, abi::epollhup}});
}

TEST_CASE("epoll, edge-triggered: reported once for each write") {
    PipePair p;
    Epoll ep(p.s);
    p.write("a");
    REQUIRE(ep.ctl(1, 5, p.r, {abi::epollin | abi::epollet, 0, 55}) == 0);
    CHECK(ready(ep).size() == 1); // it was ready when it was added
    CHECK(ready(ep).empty());
    p.write("b");
    p.write("c");
    CHECK(ready(ep).size() == 1);
    CHECK(ready(ep).empty());
    p.read(1);
    CHECK(ready(ep).empty());
    REQUIRE(ep.ctl(3, 5, p.r, {abi::epollin | abi::epollet, 0, 56}) == 0);
    CHECK(ready(ep) == Events{{56, abi::epollin}}); // changing it looks again
}

TEST_CASE("epoll, one-shot: silent until armed again") {
    PipePair p;
    Epoll ep(p.s);
    REQUIRE(ep.ctl(1, 5, p.r, {abi::epollin | abi::epolloneshot, 0, 55}) == 0);
    p.write("a");
    CHECK(ready(ep).size() == 1);
    p.write("b");
    CHECK(ready(ep).empty());
    REQUIRE(ep.ctl(3, 5, p.r, {abi::epollin | abi::epolloneshot, 0, 55}) == 0);
    CHECK(ready(ep).size() == 1);
}

TEST_CASE("epoll_ctl refuses what Linux refuses") {
    PipePair p;
    World w;
    Epoll ep(p.s);
    FileHandle file;
    w.put("/tmp/f", "f");
    REQUIRE(w.open("/tmp/f", 0, file) == 0);
    CHECK(ep.ctl(1, 3, file, {abi::epollin, 0, 0}) == -EPERM);
    CHECK(ep.ctl(2, 5, p.r, {}) == -ENOENT);
    CHECK(ep.ctl(3, 5, p.r, {}) == -ENOENT);
    CHECK(ep.ctl(1, 5, p.r, {abi::epollin, 0, 0}) == 0);
    CHECK(ep.ctl(1, 5, p.r, {abi::epollin, 0, 0}) == -EEXIST);
    CHECK(ep.ctl(1, 6, p.r, {abi::epollin, 0, 0}) == 0); // another descriptor of the same file
    CHECK(ep.ctl(9, 5, p.r, {}) == -EINVAL);
    CHECK(ep.ctl(3, 5, p.r, {abi::epollin | abi::epollexclusive, 0, 0}) == -EINVAL);
    CHECK(ep.ctl(1, 7, p.w, {abi::epollpri | abi::epollexclusive, 0, 0}) == -EINVAL);
}

TEST_CASE("epoll in epoll, but never in a circle") {
    PipePair p;
    const auto a = std::make_shared<Epoll>(p.s), b = std::make_shared<Epoll>(p.s);
    CHECK(a->ctl(1, 5, p.r, {abi::epollin, 0, 1}) == 0);
    CHECK(b->ctl(1, 6, a, {abi::epollin, 0, 2}) == 0);
    CHECK(a->ctl(1, 7, b, {abi::epollin, 0, 3}) == -ELOOP);
    CHECK(a->ctl(1, 8, a, {abi::epollin, 0, 3}) == -EINVAL);
    CHECK(ready(*b).empty());
    p.write("x");
    CHECK(ready(*b) == Events{{2, abi::epollin}});
    p.read(1);
    CHECK(ready(*b).empty());
    std::vector<std::shared_ptr<Epoll>> chain{b};
    for (int i = 0; i < 4; ++i) {
        chain.push_back(std::make_shared<Epoll>(p.s));
        CHECK(chain.back()->ctl(1, 9, *std::prev(chain.end(), 2), {abi::epollin, 0, 4}) == (i < 3 ? 0 : -ELOOP));
    }
}

TEST_CASE("a file that is closed leaves its epolls, an epoll that is closed leaves its files") {
    PipePair p;
    auto ep = std::make_shared<Epoll>(p.s);
    REQUIRE(ep->ctl(1, 5, p.r, {abi::epollin, 0, 1}) == 0);
    REQUIRE(ep->ctl(1, 6, p.w, {abi::epollout, 0, 2}) == 0);
    CHECK(ready(*ep) == Events{{2, abi::epollout}});
    p.r.reset();
    CHECK(ready(*ep) == Events{{2, abi::epollout | abi::epollerr}});
    p.w.reset();
    CHECK(ready(*ep).empty());
    PipePair q;
    REQUIRE(ep->ctl(1, 5, q.r, {abi::epollin, 0, 1}) == 0);
    ep.reset();
    CHECK(q.write("x") == 1); // wakes nobody that is gone
    CHECK(q.r->watchers.empty());
}

TEST_CASE("epoll_wait takes turns when there is more than it may give") {
    FakeServices s;
    Epoll ep(s);
    std::vector<FileHandle> files;
    for (unsigned i = 0; i < 3; ++i) {
        files.push_back(make_eventfd(s, 1, 0));
        REQUIRE(ep.ctl(1, static_cast<int>(i), files.back(), {abi::epollin, 0, i}) == 0);
    }
    const auto two = ready(ep, 2), next = ready(ep, 2);
    CHECK((two.size() == 2 && two[0].first == 0 && two[1].first == 1));
    CHECK((next.size() == 2 && next[0].first == 2 && next[1].first == 0));
}

TEST_CASE("a fault while events are stored loses none") {
    FakeServices s;
    Epoll ep(s);
    const FileHandle a = make_eventfd(s, 1, 0), b = make_eventfd(s, 1, 0);
    REQUIRE(ep.ctl(1, 1, a, {abi::epollin | abi::epollet, 0, 1}) == 0);
    REQUIRE(ep.ctl(1, 2, b, {abi::epollin | abi::epollet, 0, 2}) == 0);
    CHECK(ep.wait(8, 0, [](int, const abi::epoll_event&) { return -EFAULT; }) == -EFAULT);
    CHECK(ep.wait(8, 0, [](int i, const abi::epoll_event&) { return i ? -EFAULT : 0; }) == 1);
    CHECK(ready(ep) == Events{{2, abi::epollin}});
}

TEST_CASE("attribute files follow the rules of their trees") {
    World w;
    const auto sys = std::make_shared<AttrFs>(*w.s, "sysfs", abi::sysfs_magic, 30, AttrStyle::sysfs);
    const auto proc = std::make_shared<AttrFs>(*w.s, "proc", abi::proc_super_magic, 31, AttrStyle::proc);
    const auto trace = std::make_shared<AttrFs>(*w.s, "tracefs", abi::tracefs_magic, 32, AttrStyle::tracefs);
    w.vfs->mount(sys, sys->root(), "/sys", false, "sysfs");
    w.vfs->mount(proc, proc->root(), "/proc", false, "proc");
    w.vfs->mount(trace, trace->root(), "/sys/kernel/tracing", false, "tracefs");
    w.vfs->add_tree("/sys", sys);
    w.vfs->add_tree("/proc", proc);
    w.vfs->add_tree("/sys/kernel/tracing", trace);

    std::string value = "9\n", stored;
    int result = 0;
    const auto add = [&](const std::string& path, std::uint32_t mode, bool store) {
        rkperf::ke::Attribute a;
        a.path = path;
        a.mode = mode;
        a.show = [&] { return value; };
        if (store)
            a.store = [&](std::string_view t) {
                stored = t;
                return result;
            };
        w.vfs->add_attribute(std::move(a));
    };
    FileHandle f;
    SECTION("sysfs") {
        add("/sys/bus/event_source/devices/pmu/type", 0444, false);
        add("/sys/bus/event_source/devices/pmu/mux", 0644, true);
        CHECK(w.text("/sys/bus/event_source/devices/pmu/type") == "9\n");
        CHECK(w.text("/sys/devices/pmu/type") == "9\n");
        std::string target;
        CHECK(w.vfs->readlinkat(-100, "/sys/bus/event_source/devices/pmu", target) == 0);
        CHECK(target == "../../../devices/pmu");
        CHECK(w.stat("/sys/devices/pmu/type").size == 4096);
        CHECK((w.stat("/sys/devices/pmu/mux").mode & 07777) == 0644);
        CHECK(w.open("/sys/devices/pmu/type", 1, f) == -EACCES); // root too
        CHECK(w.put("/sys/devices/pmu/mux", "4") == 1);
        CHECK(stored == "4");
        result = -EINVAL;
        CHECK(w.put("/sys/devices/pmu/mux", "x") == -EINVAL);
        CHECK(w.open("/sys/devices/pmu/new", abi::o_creat | 1, f) == -EACCES);
        CHECK(w.vfs->mkdirat(-100, "/sys/devices/d", 0755) == -EPERM);
        w.s->become(1000);
        CHECK(w.open("/sys/devices/pmu/mux", 1, f) == -EACCES);
        w.vfs->remove_attribute("/sys/bus/event_source/devices/pmu/type");
        CHECK(w.text("/sys/devices/pmu/type") == "errno 2");
    }
    SECTION("sysctl: the mode binds root") {
        add("/proc/sys/kernel/perf_event_paranoid", 0644, true);
        add("/proc/sys/kernel/fixed", 0444, false);
        CHECK(w.put("/proc/sys/kernel/perf_event_paranoid", "-1\n") == 3);
        CHECK(w.open("/proc/sys/kernel/fixed", 1, f) == -EACCES);
        CHECK(w.stat("/proc/sys/kernel/fixed").size == 0);
    }
    SECTION("proc: root may open, writing fails") {
        add("/proc/version", 0444, false);
        CHECK(w.put("/proc/version", "x", 1) == -EIO);
        w.s->become(1000);
        CHECK(w.put("/proc/version", "x", 1) == -EACCES);
    }
    SECTION("tracefs: truncation empties") {
        add("/sys/kernel/tracing/kprobe_events", 0640, true);
        stored = "old";
        CHECK(w.open("/sys/kernel/tracing/kprobe_events", 1 | abi::o_trunc, f) == 0);
        CHECK(stored.empty());
        CHECK(w.put("/sys/kernel/tracing/kprobe_events", "p:x", 1 | abi::o_append) == 3);
        CHECK(stored == "p:x");
        add("/sys/kernel/tracing/events/a/b/id", 0444, false);
        CHECK(w.text("/sys/kernel/tracing/events/a/b/id") == "9\n");
        CHECK(w.put("/sys/kernel/tracing/events/a/b/id", "1", 1) == -EINVAL);
        w.vfs->remove_attribute("/sys/kernel/tracing/events/a/b/id");
        CHECK(w.list("/sys/kernel/tracing/events").empty()); // folders made for it went along
    }
    SECTION("contents are made anew when read from the start") {
        add("/sys/x", 0444, false);
        REQUIRE(w.open("/sys/x", 0, f) == 0);
        std::uint8_t b[8];
        CHECK(f->read(b) == 2);
        value = "longer\n";
        CHECK(f->read(b) == 0);
        CHECK(f->lseek(0, SEEK_SET) == 0);
        CHECK(f->read(b) == 7);
    }
}
