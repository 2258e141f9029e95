// SPDX-License-Identifier: Apache-2.0
// The ring buffer through events: room, loss, wrap-around, overwriting, pausing, wakeups, redirection. The figures are
// those of a real Linux 6.1 (tests/probes a_ring_flow).
#include "tests/kernel_events/ring.h"

namespace rkperf::ke::test::ring_buffer_test {

constexpr std::uint64_t kAddr = PERF_SAMPLE_ADDR;

struct Stall {
    std::uint64_t sample_type;
    bool trailer;
    std::uint64_t head, lost;
    unsigned sample_size, lost_size;
};

TEST_CASE("a reader that stalls: what fits, what is lost, what tells of it",
          "[RB-015][RB-023][RB-024][RB-025][RB-028][RB-050][RB-051][RB-056][RB-063][CORE-392][CORE-402][CORE-303]") {
    const Stall c = GENERATE(Stall{kAddr, false, 4080, 345, 16, 24},
                             Stall{kAddr | PERF_SAMPLE_TID | PERF_SAMPLE_IDENTIFIER, true, 4064, 473, 32, 40},
                             Stall{0, false, 4088, 89, 8, 24});
    World w;
    perf_event_attr a = fault_attr(c.sample_type);
    a.sample_id_all = c.trailer;
    const int fd = w.must_open(a);
    Ring r(w, fd, 1);
    faults(w, fd, 0, 600);
    CHECK(r.head() == c.head);
    CHECK(lost_of(w, fd) == c.lost);
    const auto records = r.drain();
    CHECK(count_type(records, PERF_RECORD_SAMPLE) == 600 - c.lost);
    CHECK(records.size() == 600 - c.lost);

    faults(w, fd, 600, 2);
    const Record lost = r.must_next();
    CHECK(lost.header.type == PERF_RECORD_LOST);
    CHECK(lost.header.misc == 0);
    CHECK(lost.header.size == c.lost_size);
    CHECK(lost.word(0) == w.event(fd).id);
    CHECK(lost.word(1) == c.lost);
    if (c.trailer) {
        CHECK(lost.half(4) == 100);
        CHECK(lost.word(3) == w.event(fd).id);
    }
    for (int i = 0; i < 2; ++i) {
        const Record s = r.must_next();
        CHECK(s.header.type == PERF_RECORD_SAMPLE);
        CHECK(s.header.size == c.sample_size);
    }
    Record none;
    CHECK_FALSE(r.next(none));
    CHECK(lost_of(w, fd) == c.lost);
    CHECK(w.count(fd) == 602);
}

TEST_CASE("records wrap around and are split anywhere", "[RB-029][RB-030][RB-058][RB-066]") {
    World w;
    const int fd = w.must_open(fault_attr(kAddr | PERF_SAMPLE_CPU)); // 24 bytes
    Ring r(w, fd, 1);
    std::uint64_t seen = 0, split = 0;
    for (std::uint64_t i = 0; i < 1000; i += 50) {
        faults(w, fd, i, 50);
        for (const Record& s : r.drain()) {
            CHECK(s.word(0) == fault_page(seen));
            ++seen;
        }
    }
    for (std::uint64_t pos = 0; pos < 24000; pos += 24) split += pos / 4096 != (pos + 23) / 4096;
    CHECK(seen == 1000);
    CHECK(split == 4);
    CHECK(r.head() == 24000);
    CHECK(lost_of(w, fd) == 0);
}

TEST_CASE("records run over page boundaries of a larger buffer", "[RB-030][RB-058]") {
    World w;
    const int fd = w.must_open(fault_attr(kAddr | PERF_SAMPLE_CPU));
    Ring r(w, fd, 4);
    for (std::uint64_t i = 0; i < 2000; i += 500) {
        faults(w, fd, i, 500);
        std::uint64_t n = i;
        for (const Record& s : r.drain()) CHECK(s.word(0) == fault_page(n++));
        CHECK(n == i + 500);
    }
    CHECK(r.head() == 48000);
}

TEST_CASE("data_tail is taken at its word", "[RB-006][RB-024][RB-025][RB-054][CORE-342]") {
    World w;
    const int fd = w.must_open(fault_attr(kAddr));
    Ring r(w, fd, 1);
    const auto step = [&](std::uint64_t n, std::uint64_t head, std::uint64_t lost) {
        faults(w, fd, 0, n);
        CHECK(r.head() == head);
        CHECK(lost_of(w, fd) == lost);
    };
    step(255, 4080, 0);
    r.store_tail(16);
    step(1, 4096, 0);
    step(1, 4096, 1);
    r.store_tail(32); // room for the sample, but not with LOST in front
    step(1, 4096, 2);
    r.store_tail(48);
    step(1, 4136, 2);
    r.store_tail(64);
    step(1, 4152, 2);
    r.store_tail(r.head());
    step(300, 8232, 47);
    r.store_tail(r.head() + 8192); // only its value modulo the size matters
    faults(w, fd, 0, 3);
    CHECK(lost_of(w, fd) == 47);
    // A head written by the user is not looked at.
    const std::uint64_t scribble = 77;
    std::memcpy(r.rb().user_page.host + offsetof(perf_event_mmap_page, data_head), &scribble, 8);
    const std::uint64_t before = r.rb().head;
    r.store_tail(before);
    faults(w, fd, 0, 1);
    CHECK(r.head() == before + 16);
}

TEST_CASE("a read-only mapping is overwritten", "[RB-015][RB-026][RB-029][CORE-342]") {
    World w;
    const int fd = w.must_open(fault_attr(kAddr));
    Ring r(w, fd, 1, false);
    faults(w, fd, 0, 1000);
    CHECK(r.head() == 16000);
    CHECK(lost_of(w, fd) == 0);
    CHECK(r.at(16000 - 16).word(0) == fault_page(999));
    CHECK(r.at(16000).word(0) == fault_page(744));
}

TEST_CASE("backward writing and pausing",
          "[RB-022][RB-032][RB-057][RB-064][RB-065][RB-066][RB-067][RB-068][CORE-075][CORE-322]") {
    World w;
    perf_event_attr a = fault_attr(kAddr);
    a.write_backward = 1;
    const int fd = w.must_open(a);
    {
        Ring r(w, fd, 1, false);
        faults(w, fd, 0, 3);
        CHECK(static_cast<std::int64_t>(r.head()) == -48);
        for (std::uint64_t i = 0; i < 3; ++i) CHECK(r.at(r.head() + 16 * i).word(0) == fault_page(2 - i));
        faults(w, fd, 3, 900);
        CHECK(static_cast<std::int64_t>(r.head()) == -14448);
        CHECK(w.ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1) == 0);
        faults(w, fd, 903, 10);
        CHECK(static_cast<std::int64_t>(r.head()) == -14448);
        CHECK(lost_of(w, fd) == 10);
        CHECK(w.ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0) == 0);
        faults(w, fd, 913, 10);
        CHECK(static_cast<std::int64_t>(r.head()) == -14632); // 10 samples and one LOST
        CHECK(lost_of(w, fd) == 10);
        // LOST has the lower addresses of the pair, so a reader walking up meets it before its record.
        const std::uint64_t pair = r.head() + 9 * 16;
        CHECK(r.at(pair).header.type == PERF_RECORD_LOST);
        CHECK(r.at(pair).word(1) == 10);
        CHECK(r.at(pair + 24).word(0) == fault_page(913));
    }
    Ring r(w, fd, 1);
    faults(w, fd, 923, 2);
    CHECK(static_cast<std::int64_t>(r.head()) == -32);
    // The mirrored space rule: the reader's position is the end it has read down from.
    faults(w, fd, 925, 400);
    CHECK(static_cast<std::int64_t>(r.head()) == -4080);
    CHECK(lost_of(w, fd) == 10 + 402 - 255);
}

TEST_CASE("paused forward output counts as lost", "[RB-022][RB-064][RB-065]") {
    World w;
    const int fd = w.must_open(fault_attr(kAddr));
    Ring r(w, fd, 1);
    faults(w, fd, 0, 4);
    CHECK(w.ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 2) == 0);
    faults(w, fd, 4, 5);
    CHECK(r.head() == 64);
    CHECK(lost_of(w, fd) == 5);
    CHECK(w.count(fd) == 9);
    CHECK(w.ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0) == 0);
    faults(w, fd, 9, 6);
    const auto records = r.drain();
    CHECK(count_type(records, PERF_RECORD_SAMPLE) == 10);
    CHECK(count_type(records, PERF_RECORD_LOST) == 1);
    CHECK(r.head() == 184);
}

TEST_CASE("a buffer without data pages takes nothing and counts nothing as lost",
          "[RB-017][RB-021][RB-022][RB-064][CORE-339]") {
    World w;
    const int fd = w.must_open(fault_attr(kAddr));
    CHECK(w.ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1) == -EINVAL);
    faults(w, fd, 0, 2); // no buffer at all
    CHECK(lost_of(w, fd) == 0);
    Ring r(w, fd, 0);
    CHECK(w.ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0) == -EINVAL);
    CHECK(r.rb().watermark == 0);
    faults(w, fd, 0, 2);
    CHECK(r.head() == 0);
    CHECK(lost_of(w, fd) == 0);
    CHECK(w.count(fd) == 4);
}

TEST_CASE("wakeup_events: how often poll reports", "[RB-043][RB-045][RB-047][CORE-329][CORE-393][CORE-394]") {
    using Case = std::pair<unsigned, std::string>;
    const Case c =
        GENERATE(Case{0, "000000000000"}, Case{1, "111111111111"}, Case{2, "010101010101"}, Case{3, "001001001001"},
                 Case{5, "000010000100"}, Case{12, "000000000001"}, Case{13, "000000000000"});
    World w;
    perf_event_attr a = fault_attr(kAddr);
    a.wakeup_events = c.first;
    const int fd = w.must_open(a);
    Ring r(w, fd, 1);
    std::string s;
    WaitQueue* wq = nullptr;
    for (std::uint64_t i = 0; i < 12; ++i) {
        faults(w, fd, i, 1);
        const PollMask m = w.k.ops(fd)->poll(wq);
        CHECK((m == 0 || m == 0x41));
        s += m ? '1' : '0';
        CHECK(w.k.ops(fd)->poll(wq) == 0); // taken
    }
    CHECK(s == c.second);
}

TEST_CASE("watermarks: at which heads poll reports", "[RB-016][RB-042][RB-044][RB-048][CORE-343][CORE-395]") {
    struct Case {
        unsigned watermark, step;
        std::vector<std::uint64_t> heads;
    };
    const Case c = GENERATE(Case{0, 24, {2304}}, Case{1, 1, {16, 32, 48, 64, 80, 96, 112, 128, 144, 160}},
                            Case{16, 1, {32, 48, 64, 80, 96, 112, 128, 144, 160}},
                            Case{17, 1, {32, 48, 64, 80, 96, 112, 128, 144, 160}}, Case{40, 1, {48, 96, 128}},
                            Case{2048, 24, {2304}}, Case{5000, 24, {}});
    World w;
    perf_event_attr a = fault_attr(kAddr);
    a.watermark = 1;
    a.wakeup_watermark = c.watermark;
    const int fd = w.must_open(a);
    Ring r(w, fd, 1);
    std::vector<std::uint64_t> heads;
    WaitQueue* wq = nullptr;
    for (int i = 0; i < 10; ++i) {
        faults(w, fd, 0, c.step);
        if (w.k.ops(fd)->poll(wq)) heads.push_back(r.head());
    }
    CHECK(heads == c.heads);
}

TEST_CASE("overwritten and backward buffers wake by the same rules", "[RB-049][RB-068]") {
    World w;
    perf_event_attr a = fault_attr(kAddr);
    a.watermark = 1;
    a.wakeup_watermark = 40;
    a.write_backward = GENERATE(0, 1);
    const int fd = w.must_open(a);
    Ring r(w, fd, 1, false);
    std::vector<std::uint64_t> at;
    WaitQueue* wq = nullptr;
    for (std::uint64_t i = 1; i <= 10; ++i) {
        faults(w, fd, 0, 1);
        if (w.k.ops(fd)->poll(wq)) at.push_back(16 * i);
    }
    CHECK(at == std::vector<std::uint64_t>{48, 96, 128});
}

TEST_CASE("the wakeup comes with irq_work and reaches all events of the buffer; lost samples wake nobody",
          "[RB-045][RB-046][CORE-288][CORE-331][CORE-332]") {
    World w;
    perf_event_attr a = fault_attr(kAddr);
    a.wakeup_events = 1;
    const int fa = w.must_open(a), fb = w.must_open(a);
    Ring r(w, fa, 1);
    CHECK(w.ioctl(fb, PERF_EVENT_IOC_SET_OUTPUT, static_cast<std::uint64_t>(fa)) == 0);
    auto& qa = static_cast<FakeWaitQueue&>(*w.event(fa).waitq);
    auto& qb = static_cast<FakeWaitQueue&>(*w.event(fb).waitq);
    const unsigned a0 = qa.wakeups, b0 = qb.wakeups;
    w.enable(fa);
    const bool was = w.k.local_irq_save();
    w.k.page_fault(0, fault_page(0));
    CHECK(w.event(fa).pending_wakeup);
    CHECK(qa.wakeups == a0);
    w.k.local_irq_restore(was);
    CHECK_FALSE(w.event(fa).pending_wakeup);
    CHECK(qa.wakeups == a0 + 1);
    CHECK(qb.wakeups == b0 + 1);
    // The mask belongs to the buffer: the first poller takes it.
    WaitQueue* wq = nullptr;
    CHECK(w.k.ops(fb)->poll(wq) == 0x41);
    CHECK(w.k.ops(fa)->poll(wq) == 0);
    for (int i = 0; i < 300; ++i) w.k.page_fault(0, fault_page(0));
    w.k.ops(fa)->poll(wq);
    const unsigned full = qa.wakeups;
    for (int i = 0; i < 5; ++i) w.k.page_fault(0, fault_page(0));
    CHECK(qa.wakeups == full);
    CHECK(w.k.ops(fa)->poll(wq) == 0);
}

TEST_CASE("notices follow a sample: written at which position, lost, woken up", "[RB-030][RB-045]") {
    World w;
    perf_event_attr a = fault_attr(kAddr);
    a.wakeup_events = 1;
    const int fd = w.must_open(a);
    Ring r(w, fd, 1);
    faults(w, fd, 0, 1);
    w.k.record_notices = true;
    faults(w, fd, 1, 300);
    r.drain();
    faults(w, fd, 301, 1);
    std::vector<EventNotice> written, lost, woken;
    for (const EventNotice& n : w.k.notice_log) {
        if (n.what == EventNotice::What::sample_written) written.push_back(n);
        if (n.what == EventNotice::What::sample_lost) lost.push_back(n);
        if (n.what == EventNotice::What::wakeup) woken.push_back(n);
    }
    REQUIRE(written.size() == 255);
    CHECK(written[0].event == &w.event(fd));
    CHECK(written[0].a == 16);
    CHECK(written[0].b == 16);
    CHECK(written[253].a == 254 * 16);
    CHECK(written[254].a == 4080 + 24); // behind LOST
    REQUIRE(lost.size() == 46);
    CHECK(lost[0].a == 4080);
    CHECK(lost[0].b == 1);
    CHECK(lost[45].b == 46);
    REQUIRE(woken.size() == 255);
    CHECK(woken[0].a == 32);
}

TEST_CASE("several events in one buffer",
          "[RB-043][RB-053][RB-109][RB-110][RB-111][CORE-335][CORE-350][CORE-362][CORE-363]"
          "[CORE-364][CORE-365][CORE-366][CORE-367][CORE-368]") {
    World w;
    perf_event_attr a = fault_attr(PERF_SAMPLE_IDENTIFIER), b = a;
    b.sample_period = 2;
    const int fa = w.must_open(a), fb = w.must_open(b);
    const auto set_output = [&](int fd, std::int64_t to) {
        return w.ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, static_cast<std::uint64_t>(to));
    };
    CHECK(set_output(fb, fa) == -EINVAL); // the target has no buffer yet
    auto r = std::make_unique<Ring>(w, fa, 1);
    CHECK(set_output(fb, fb) == -EINVAL);
    CHECK(set_output(fb, fa) == 0);
    w.enable(fb);
    w.enable(fa);
    for (std::uint64_t i = 0; i < 6; ++i) w.k.page_fault(0, fault_page(i));
    std::string order;
    for (const Record& s : r->drain()) order += s.word(0) == w.event(fa).id ? 'a' : 'b';
    CHECK(order == "abaabaaba"); // of one trigger the newest event comes first
    {
        Ring s(w, fb, 1); // maps the same buffer
        CHECK(&s.rb() == &r->rb());
        CHECK(set_output(fb, fa) == -EINVAL);
        CHECK(set_output(fb, -1) == -EINVAL);
    }
    CHECK_FALSE(w.event(fb).rb); // unmapping it took its output away
    CHECK(set_output(fb, fa) == 0);
    const unsigned woken = static_cast<FakeWaitQueue&>(*w.event(fb).waitq).wakeups;
    CHECK(set_output(fb, -1) == 0);
    CHECK(static_cast<FakeWaitQueue&>(*w.event(fb).waitq).wakeups == woken + 1);
    w.disable(fa);
    for (std::uint64_t i = 0; i < 4; ++i) w.k.page_fault(0, fault_page(i));
    CHECK(r->drain().empty());

    // A chain of redirections leads to the buffer, not to the event.
    const int fc = w.must_open(a);
    CHECK(set_output(fc, fa) == 0);
    CHECK(set_output(fb, fc) == 0);
    CHECK(w.event(fb).rb.get() == &r->rb());
    CHECK(r->rb().event_list.size() == 3);
    CHECK(set_output(fc, -1) == 0);
    CHECK(w.event(fb).rb.get() == &r->rb());

    // Losses are counted for each event, told for the one whose record follows.
    w.enable(fa);
    for (std::uint64_t i = 0; i < 600; ++i) w.k.page_fault(0, fault_page(i));
    CHECK(lost_of(w, fa) + lost_of(w, fb) == 900 - 255);
    CHECK(lost_of(w, fb) > 0);
    r->drain();
    w.k.page_fault(0, fault_page(0));
    CHECK(r->must_next().word(1) == 900 - 255);

    // The last mapping goes: nobody writes any more, and the pages are given back.
    r.reset();
    CHECK_FALSE(w.event(fa).rb);
    CHECK_FALSE(w.event(fb).rb);
    CHECK(w.k.pages_in_use == 0);
    w.k.page_fault(0, fault_page(0));
    Ring again(w, fb, 2); // another size is fine now
    CHECK(again.rb().nr_pages == 2);
}

TEST_CASE("attaching again within a grace period waits for it", "[RB-109]") {
    World w;
    const int fd = w.must_open(fault_attr(kAddr));
    { Ring r(w, fd, 1); }
    const unsigned before = w.k.rcu_waits;
    { Ring r(w, fd, 1); }
    CHECK(w.k.rcu_waits == before + 1);
    w.k.advance(12'000'000);
    { Ring r(w, fd, 1); }
    CHECK(w.k.rcu_waits == before + 1);
}

TEST_CASE("children write into the parent's buffer and wake the parent", "[RB-020][RB-112][CORE-333][CORE-396]") {
    World w;
    perf_event_attr a = fault_attr(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_TID);
    a.inherit = 1;
    a.wakeup_events = 1;
    a.disabled = 0;
    const int fd = w.must_open(a, 0, 0);
    Ring r(w, fd, 1);
    FakeTask& child = w.fork(101);
    w.k.switch_to(0, nullptr); // not directly: the two would only swap their contexts
    w.k.switch_to(0, &child);
    w.k.page_fault(0, fault_page(0));
    const Record s = r.must_next();
    CHECK(s.word(0) == w.event(fd).id);
    CHECK(s.half(2) == 101);
    CHECK(s.word(2) != w.event(fd).id); // the copy's own
    WaitQueue* wq = nullptr;
    CHECK(w.k.ops(fd)->poll(wq) == 0x41);
    w.exit_current(0);
    w.k.switch_to(0, &w.task);
}

TEST_CASE("between begin and end: the handle, no preemption", "[RB-031][RB-033][RB-034][RB-039][RB-112]") {
    World w;
    perf_event_attr a = fault_attr(0);
    a.inherit = 1;
    const int fd = w.must_open(a, 0, 0);
    Ring r(w, fd, 1);
    w.fork(101);
    PerfEvent& child = *w.event(fd).child_list.front();
    PerfOutputHandle handle;
    PerfSampleData data;
    const int before = w.k.preempt_count;
    REQUIRE(perf_output_begin(w.p(), handle, data, child, 16) == 0);
    CHECK(handle.event == &w.event(fd));
    CHECK(handle.rb.get() == &r.rb());
    CHECK(handle.size == 4096);
    CHECK(w.k.preempt_count == before + 1);
    CHECK(r.rb().nest == 1);
    CHECK(w.p().rcu_readers == 1);
    CHECK(r.head() == 0);
    perf_output_end(handle);
    CHECK(w.k.preempt_count == before);
    CHECK(r.rb().nest == 0);
    CHECK(w.p().rcu_readers == 0);
    CHECK(r.head() == 16);
    // All failures leave nothing behind.
    CHECK(perf_output_begin(w.p(), handle, data, child, 4096) == -ENOSPC);
    r.rb().paused = true;
    CHECK(perf_output_begin(w.p(), handle, data, child, 16) == -ENOSPC);
    r.rb().paused = false;
    CHECK(w.k.preempt_count == before);
    CHECK(r.rb().nest == 0);
    CHECK(w.p().rcu_readers == 0);
    CHECK(w.event(fd).lost_samples == 2);
    CHECK(child.lost_samples == 0);
}

TEST_CASE("an event that is freed during a walk over receivers stays readable until its end", "[RB-109]") {
    World w;
    const int fd = w.must_open(fault_attr(kAddr));
    w.p().rcu_read_lock();
    w.k.close(fd);
    REQUIRE(w.p().rcu_freed.size() == 1);
    CHECK(w.p().rcu_freed[0]->state == PerfEventState::dead);
    w.p().rcu_read_unlock();
    CHECK(w.p().rcu_freed.empty());
}

} // namespace rkperf::ke::test::ring_buffer_test
