// SPDX-License-Identifier: Apache-2.0
// Mapping of events: rules and errors, accounting, faults, lifetime, the control page. The figures of the first cases
// are those of a real Linux 6.1 (tests/probes a_ring_map).
#include "tests/kernel_events/ring.h"

namespace rkperf::ke::test::mmap_test {

constexpr std::uint64_t kPage = 4096;

/// mmap and munmap; 0 or the negative errno.
std::int64_t try_map(World& w, int fd, std::uint64_t bytes, std::uint64_t pgoff = 0, bool shared = true,
                     bool writable = true) {
    FakeMmap vma;
    vma.size_ = bytes;
    vma.pgoff_ = pgoff;
    vma.shared_ = shared;
    vma.writable_ = writable;
    vma.mm_ = &w.k.mm;
    const std::int64_t r = w.k.ops(fd)->mmap(vma);
    if (r == 0) w.k.ops(fd)->mmap_close(vma);
    return r;
}

TEST_CASE("sizes and modes", "[RB-010][RB-011][RB-015][RB-019][CORE-338][CORE-339]") {
    World w;
    const int fd = w.must_open(fault_attr(0));
    for (const unsigned n : {1u, 2u, 3u, 5u, 9u, 17u, 33u, 65u, 129u}) CHECK(try_map(w, fd, n * kPage) == 0);
    for (const unsigned n : {4u, 6u, 7u, 8u, 10u, 16u, 18u}) CHECK(try_map(w, fd, n * kPage) == -EINVAL);
    CHECK(try_map(w, fd, 2 * kPage, 0, false) == -EINVAL);
    CHECK(try_map(w, fd, 2 * kPage, 0, false, false) == -EINVAL);
    CHECK(try_map(w, fd, 2 * kPage, 1) == -EINVAL);
    CHECK(w.k.pages_in_use == 0);
    CHECK(w.k.mm_user.locked_vm == 0);
    CHECK(w.k.mm.pinned_vm == 0);

    Ring rw(w, fd, 4);
    CHECK_FALSE(rw.rb().overwrite);
    CHECK(rw.rb().head == 0);
    CHECK(rw.rb().nest == 0);
    CHECK(rw.rb().events == 0);
    CHECK(rw.rb().poll == 0);
    rw.unmap();
    Ring ro(w, fd, 4, false);
    CHECK(ro.rb().overwrite);
}

TEST_CASE("an inherited event needs a CPU", "[RB-010][CORE-338]") {
    World w;
    perf_event_attr a = fault_attr(0);
    a.inherit = 1;
    CHECK(try_map(w, w.must_open(a), 3 * kPage) == -EINVAL);
    CHECK(try_map(w, w.must_open(a, 0, 0), 3 * kPage) == 0);
}

TEST_CASE("a second mapping has the size of the first and its mode", "[RB-012][CORE-340][CORE-350]") {
    World w;
    const int fd = w.must_open(fault_attr(0));
    Ring r(w, fd, 4);
    const std::uint64_t charged = w.k.mm_user.locked_vm;
    CHECK(try_map(w, fd, 5 * kPage) == 0);
    CHECK(try_map(w, fd, 3 * kPage) == -EINVAL);
    CHECK(try_map(w, fd, 9 * kPage) == -EINVAL);
    CHECK(try_map(w, fd, kPage) == -EINVAL);
    CHECK(try_map(w, fd, 4 * kPage, 1) == -EINVAL);
    CHECK(try_map(w, fd, kPage, 5) == -EINVAL);
    {
        Ring s(w, fd, 4, false);
        CHECK(&s.rb() == &r.rb());
        CHECK_FALSE(s.rb().overwrite);
        CHECK(w.k.mm_user.locked_vm == charged); // no further charge
        CHECK(r.rb().mmap_count == 2);
        // fork or a split duplicates a mapping.
        w.k.ops(fd)->mmap_open(s.vma);
        CHECK(r.rb().mmap_count == 3);
        CHECK(w.event(fd).mmap_count == 3);
        w.k.ops(fd)->mmap_close(s.vma);
    }
    CHECK(w.event(fd).rb);
    r.unmap();
    CHECK_FALSE(w.event(fd).rb);
    CHECK(try_map(w, fd, 3 * kPage) == 0);
}

TEST_CASE("an AUX mapping is checked, then refused", "[RB-094][RB-095][CORE-352]") {
    World w;
    const int fd = w.must_open(fault_attr(0));
    CHECK(try_map(w, fd, 4 * kPage, 5) == -EINVAL);
    Ring r(w, fd, 4);
    const auto describe = [&](std::uint64_t offset, std::uint64_t size) {
        std::memcpy(r.rb().user_page.host + offsetof(perf_event_mmap_page, aux_offset), &offset, 8);
        std::memcpy(r.rb().user_page.host + offsetof(perf_event_mmap_page, aux_size), &size, 8);
    };
    describe(5 * kPage, 4 * kPage);
    CHECK(try_map(w, fd, 4 * kPage, 5) == -EOPNOTSUPP);
    CHECK(try_map(w, fd, 4 * kPage, 6) == -EINVAL);
    CHECK(try_map(w, fd, 8 * kPage, 5) == -EINVAL);
    describe(5 * kPage, 3 * kPage);
    CHECK(try_map(w, fd, 3 * kPage, 5) == -EINVAL);
    describe(4 * kPage, 4 * kPage);
    CHECK(try_map(w, fd, 4 * kPage, 4) == -EINVAL);
    describe(5 * kPage, 4 * kPage);
    CHECK(try_map(w, fd, (std::uint64_t{1} << 31) * kPage, 5) == -ENOMEM);
    // The locked-memory check comes before the PMU is asked.
    w.p().sysctl.perf_event_mlock_kb = 12;
    w.k.cap_ipc_lock = false;
    w.k.rlimit_memlock = 0;
    CHECK(try_map(w, fd, 4 * kPage, 5) == -EPERM);
    CHECK(r.rb().mmap_count == 1);
}

TEST_CASE("locked memory: the user's allowance, then the limit", "[RB-013][CORE-344][CORE-345][CORE-346][CORE-347]") {
    World w; // two CPUs
    w.p().sysctl.perf_event_mlock_kb = 12;
    w.k.cap_ipc_lock = false;
    w.k.rlimit_memlock = 0;
    const auto map3 = [&] { return std::make_unique<Ring>(w, w.must_open(fault_attr(0)), 2); };
    std::vector<std::unique_ptr<Ring>> rings;
    const int fd = w.must_open(fault_attr(0));
    SECTION("a buffer of three pages for each CPU, and no more") {
        rings.push_back(map3());
        rings.push_back(map3());
        CHECK(w.k.mm_user.locked_vm == 6);
        CHECK(try_map(w, fd, 3 * kPage) == -EPERM);
        CHECK(try_map(w, fd, kPage) == -EPERM);
        CHECK(w.k.mm_user.locked_vm == 6);
        rings.pop_back();
        CHECK(w.k.mm_user.locked_vm == 3);
        CHECK(try_map(w, fd, 3 * kPage) == 0);
    }
    SECTION("the limit stands beside it") {
        w.k.rlimit_memlock = 6 * kPage;
        for (int i = 0; i < 4; ++i) rings.push_back(map3());
        CHECK(w.k.mm_user.locked_vm == 6);
        CHECK(w.k.mm.pinned_vm == 6);
        CHECK(try_map(w, fd, 3 * kPage) == -EPERM);
        rings.clear();
        CHECK(w.k.mm_user.locked_vm == 0);
        CHECK(w.k.mm.pinned_vm == 0);
    }
    SECTION("a part of a buffer may lie beyond the allowance") {
        w.k.rlimit_memlock = 3 * kPage;
        rings.push_back(std::make_unique<Ring>(w, fd, 8));
        CHECK(w.k.mm_user.locked_vm == 6);
        CHECK(w.k.mm.pinned_vm == 3);
        CHECK(rings[0]->rb().mmap_locked == 3);
    }
    SECTION("pages pinned by others count even if nothing is needed beyond the allowance") {
        w.k.mm.pinned_vm = 1;
        CHECK(try_map(w, fd, kPage) == -EPERM);
        w.k.mm.pinned_vm = 0;
    }
    SECTION("an allowance that was lowered") {
        rings.push_back(map3());
        w.p().sysctl.perf_event_mlock_kb = 4;
        w.k.rlimit_memlock = kPage;
        CHECK(try_map(w, fd, kPage) == 0); // as if the user had no more than the limit
        CHECK(try_map(w, fd, 3 * kPage) == -EPERM);
    }
    SECTION("with CAP_IPC_LOCK, or without paranoia, there is no limit") {
        w.k.cap_ipc_lock = true;
        CHECK(try_map(w, fd, 129 * kPage) == 0);
        w.k.cap_ipc_lock = false;
        w.p().sysctl.perf_event_paranoid = -1;
        CHECK(try_map(w, fd, 129 * kPage) == 0);
        w.p().sysctl.perf_event_paranoid = 0;
        CHECK(try_map(w, fd, 129 * kPage) == -EPERM);
    }
}

TEST_CASE("out of memory", "[RB-018][CORE-347]") {
    World w;
    const int fd = w.must_open(fault_attr(0));
    w.k.pages_left = GENERATE(0u, 1u, 4u);
    CHECK(try_map(w, fd, 5 * kPage) == -ENOMEM);
    CHECK(w.k.pages_in_use == 0);
    CHECK(w.k.mm_user.locked_vm == 0);
    w.k.pages_left = 5;
    CHECK(try_map(w, fd, 5 * kPage) == 0);
    CHECK_FALSE(rb_alloc(w.k, std::uint64_t{1} << 19, 0, -1, 0));
}

TEST_CASE("faults: which page, and who may write", "[RB-007][RB-008][RB-009][CORE-349]") {
    World w;
    const int fd = w.must_open(fault_attr(0));
    FileOperations* ops = w.k.ops(fd);
    FakeMmap vma;
    CHECK_FALSE(ops->fault(vma, 0, false)); // no buffer
    Ring r(w, fd, 2);
    CHECK(ops->fault(r.vma, 0, false).host == r.rb().user_page.host);
    CHECK(ops->fault(r.vma, 0, true).host == r.rb().user_page.host);
    for (std::uint64_t i = 1; i <= 2; ++i) {
        CHECK(ops->fault(r.vma, i, false).host == r.rb().data_pages[i - 1].host);
        CHECK_FALSE(ops->fault(r.vma, i, true));
    }
    CHECK_FALSE(ops->fault(r.vma, 3, false));
}

TEST_CASE("a mapping keeps the event alive after close", "[CORE-337][CORE-350]") {
    World w;
    const int fd = w.must_open(fault_attr(PERF_SAMPLE_ADDR));
    w.enable(fd);
    Ring r(w, fd, 1);
    for (int i = 0; i < 2; ++i) w.k.page_fault(0, fault_page(0));
    w.k.close(fd);
    for (int i = 0; i < 3; ++i) w.k.page_fault(0, fault_page(0));
    CHECK(r.drain().size() == 5);
    r.unmap();
    CHECK(w.p().nr_live_events == 0);
}

TEST_CASE("mapping again: the head starts anew, the count does not", "[RB-111][CORE-350][CORE-359]") {
    World w;
    const int fd = w.must_open(fault_attr(PERF_SAMPLE_ADDR));
    {
        Ring r(w, fd, 1);
        faults(w, fd, 0, 2);
    }
    faults(w, fd, 0, 4);
    Ring r(w, fd, 1);
    CHECK(r.head() == 0);
    CHECK(r.control().offset == 6);
}

TEST_CASE("the control page",
          "[RB-001][RB-002][RB-003][RB-004][RB-005][RB-006][CORE-354][CORE-355][CORE-356][CORE-357]"
          "[CORE-358][CORE-359][CORE-361]") {
    CHECK(offsetof(perf_event_mmap_page, lock) == 8);
    CHECK(offsetof(perf_event_mmap_page, index) == 12);
    CHECK(offsetof(perf_event_mmap_page, capabilities) == 40);
    CHECK(offsetof(perf_event_mmap_page, time_cycles) == 80);
    CHECK(offsetof(perf_event_mmap_page, data_head) == 1024);
    CHECK(offsetof(perf_event_mmap_page, aux_size) == 1080);
    World w;
    perf_event_attr a = fault_attr(0);
    const int fd = w.must_open(a);
    Ring r(w, fd, 4);
    const auto c = r.control();
    CHECK(c.version == 0);
    CHECK(c.compat_version == 0);
    CHECK(c.cap_bit0 == 0);
    CHECK(c.cap_bit0_is_deprecated == 1);
    CHECK(c.size == 96);
    CHECK(c.data_offset == 4096);
    CHECK(c.data_size == 16384);
    CHECK(c.index == 0);
    CHECK(c.offset == 0);
    CHECK(c.data_head == 0);
    CHECK(c.data_tail == 0);
    CHECK((c.aux_head | c.aux_tail | c.aux_offset | c.aux_size) == 0);
    CHECK(c.lock == 2); // one update
    for (unsigned char b : c.__reserved) CHECK(b == 0);

    w.enable(fd);
    const auto d = r.control();
    CHECK(d.lock > c.lock);
    CHECK(d.lock % 2 == 0);
    for (int i = 0; i < 6; ++i) w.k.page_fault(0, fault_page(0));
    w.k.advance(1000);
    w.disable(fd);
    CHECK(r.head() == 48);
    // Fields of the user's side and those that are not updated stay as they are.
    const std::uint32_t nonsense = 0x1234;
    std::memcpy(r.rb().user_page.host, &nonsense, 4);
    std::memcpy(r.rb().user_page.host + 72, &nonsense, 4);
    r.store_tail(24);
    w.p().perf_event_update_userpage(w.event(fd));
    const auto e = r.control();
    CHECK(e.offset == 6);
    CHECK(e.time_enabled == w.event(fd).total_time_enabled);
    CHECK(e.time_running == w.event(fd).total_time_running);
    CHECK(e.time_enabled >= 1000);
    CHECK(e.version == nonsense);
    CHECK(e.size == nonsense);
    CHECK(e.data_tail == 24);
    CHECK(e.data_size == 16384);
    w.reset(fd);
    CHECK(r.control().offset == 0);

    // Time of a running event is that of the last update, children included.
    w.event(fd).child_count = 5;
    w.event(fd).child_total_time_enabled = 100;
    w.event(fd).child_total_time_running = 50;
    w.p().perf_event_update_userpage(w.event(fd));
    CHECK(r.control().offset == 5);
    CHECK(r.control().time_enabled == e.time_enabled + 100);
    CHECK(r.control().time_running == e.time_running + 50);
}

TEST_CASE("lock is odd during an update", "[RB-004][CORE-355]") {
    World w;
    const int fd = w.must_open(fault_attr(0));
    Ring r(w, fd, 1);
    const std::uint32_t before = r.control().lock;
    std::vector<std::pair<std::uint32_t, std::int64_t>> seen;
    w.event(fd).count = 99;
    w.k.time_passes = [&] { seen.emplace_back(r.control().lock, r.control().offset); };
    w.p().perf_event_update_userpage(w.event(fd));
    w.k.time_passes = nullptr;
    for (const auto& [lock, offset] : seen) CHECK((lock == before + 1 || offset == (lock == before ? 0 : 99)));
    CHECK(std::count_if(seen.begin(), seen.end(), [&](const auto& s) { return s.first == before + 1; }) >= 2);
    CHECK(r.control().lock == before + 2);
    w.event(fd).count = 0;
}

TEST_CASE("a counter in use: index, offset", "[RB-005][CORE-356][CORE-357]") {
    World w;
    const int fd = w.must_open(World::hw(kInstructions));
    Ring r(w, fd, 0);
    w.enable(fd);
    PerfEvent& e = w.event(fd);
    w.k.count(0, EventNumber(kInstructions), 1000);
    const int index = w.p().perf_event_index(e);
    w.p().perf_event_update_userpage(e);
    const auto c = r.control();
    CHECK(c.index == static_cast<std::uint32_t>(index));
    CHECK(static_cast<std::uint64_t>(c.offset) == e.count - (index ? e.hw.prev_count : 0));
    w.disable(fd);
    w.p().perf_event_update_userpage(e);
    CHECK(r.control().index == 0);
    CHECK(r.control().offset == 1000);
    CHECK(w.count(fd) == 1000);
}

TEST_CASE("the page of a redirected event's buffer shows who updated last", "[CORE-341][CORE-361]") {
    World w;
    const int fa = w.must_open(fault_attr(0)), fb = w.must_open(fault_attr(0));
    w.p().perf_event_update_userpage(w.event(fb)); // no buffer: nothing happens
    Ring r(w, fa, 1);
    REQUIRE(w.ioctl(fb, PERF_EVENT_IOC_SET_OUTPUT, static_cast<std::uint64_t>(fa)) == 0);
    CHECK(try_map(w, fb, 3 * kPage) == -EINVAL);
    faults(w, fa, 0, 3);
    w.p().perf_event_update_userpage(w.event(fa));
    CHECK(r.control().offset == 3);
    w.p().perf_event_update_userpage(w.event(fb));
    CHECK(r.control().offset == 0);
}

} // namespace rkperf::ke::test::mmap_test
