// SPDX-License-Identifier: Apache-2.0
// AUX areas, with a PMU that writes one as a driver would.
#include "tests/kernel_events/ring.h"
#include "tests/kernel_events/test_pmu.h"

using namespace rkperf::ke;
using namespace rkperf::ke::test;

namespace {

struct Area : AuxArea {
    explicit Area(std::string& l) : log(l) {}
    ~Area() override { log += "area "; }
    std::string& log;
};

class AuxPmu : public TestPmu {
  public:
    using TestPmu::TestPmu;
    bool has_setup_aux() const override { return true; }
    std::unique_ptr<AuxArea> setup_aux(PerfEvent&, const std::vector<Page>& p, bool o) override {
        pages = p;
        overwrite = o;
        return fails ? nullptr : std::make_unique<Area>(log);
    }
    bool has_snapshot_aux() const override { return true; }
    std::int64_t snapshot_aux(PerfEvent& e, PerfOutputHandle& handle, std::uint64_t size) override {
        in_sampling = e.rb->aux_in_sampling;
        masked = static_cast<FakeKernel&>(kernel).here().masked;
        return perf_output_copy_aux(*e.rb, handle, snapshot_at, snapshot_at + std::min(size, snapshot_bytes));
    }
    bool aux_output_match(PerfEvent& leader) override { return leader.pmu == this; }
    std::vector<Page> pages;
    bool overwrite{}, fails{}, in_sampling{}, masked{};
    std::uint64_t snapshot_at{}, snapshot_bytes{~0ull};
    std::string log;
};

/// An event with a buffer of one data page and, by map_aux, an AUX area behind it.
struct Aux : World {
    AuxPmu& pmu;
    int fd;
    PerfEvent& e;
    Ring ring;
    FakeMmap area;
    explicit Aux(perf_event_attr (*change)(perf_event_attr) = nullptr,
                 unsigned caps = Pmu::PERF_PMU_CAP_HETEROGENEOUS_CPUS | Pmu::PERF_PMU_CAP_AUX_OUTPUT)
        : pmu(make(*this, caps)),
          fd(must_open(change ? change(on(attr_of(pmu, 1))) : on(attr_of(pmu, 1)))),
          e(event(fd)),
          ring(*this, fd, 1) {}
    ~Aux() { unmap_aux(); }
    static AuxPmu& make(World& w, unsigned caps) {
        auto owned = std::make_unique<AuxPmu>(w.k, Pmu::TaskContext::hardware, caps);
        AuxPmu& p = *owned;
        REQUIRE(w.p().perf_pmu_register(std::move(owned), "aux", -1) == 0);
        return p;
    }
    void store(std::size_t offset, std::uint64_t v) { std::memcpy(ring.rb().user_page.host + offset, &v, sizeof v); }
    std::int64_t map_aux(std::uint64_t pages, bool writable = true, std::uint64_t pgoff = 2) {
        store(offsetof(perf_event_mmap_page, aux_offset), pgoff << 12);
        store(offsetof(perf_event_mmap_page, aux_size), pages << 12);
        FakeMmap vma;
        vma.pgoff_ = pgoff;
        vma.size_ = pages << 12;
        vma.writable_ = writable;
        vma.mm_ = &k.mm;
        const std::int64_t result = k.ops(fd)->mmap(vma);
        if (!result) area = vma, mapped = true;
        return result;
    }
    void unmap_aux() {
        if (mapped) k.ops(fd)->mmap_close(area);
        mapped = false;
    }
    void tail(std::uint64_t v) { store(offsetof(perf_event_mmap_page, aux_tail), v); }
    std::uint64_t user_head() { return ring.page<std::uint64_t>(offsetof(perf_event_mmap_page, aux_head)); }
    AuxArea* begin(PerfOutputHandle& handle) { return perf_aux_output_begin(p(), handle, e); }
    bool mapped{};
};

} // namespace

TEST_CASE("mapping an AUX area", "[RB-093][RB-094][RB-096][RB-097][CORE-352]") {
    Aux w;
    CHECK(w.map_aux(4, true, 1) == -EINVAL); // in the data
    CHECK(w.map_aux(3) == -EINVAL);
    w.store(offsetof(perf_event_mmap_page, aux_size), 0x2000);
    const std::uint64_t locked = w.k.mm_user.locked_vm;
    REQUIRE(w.map_aux(4) == 0);
    PerfBuffer& rb = w.ring.rb();
    CHECK(w.k.mm_user.locked_vm == locked + 4);
    CHECK(rb.aux_watermark == 8192); // half of it
    CHECK_FALSE(rb.aux_overwrite);
    CHECK_FALSE(w.pmu.overwrite);
    CHECK(rb.aux_pgoff == 2);
    CHECK(w.pmu.pages.size() == 4);
    CHECK((rb.aux_mmap_count == 1 && rb.aux_refcount == 1));
    CHECK(w.e.mmap_count == 2);
    // Later mappings are like the first; they do not cost anything.
    CHECK(w.map_aux(2) == -EINVAL);
    CHECK(w.map_aux(4, true, 3) == -EINVAL);
    CHECK(w.map_aux(4) == 0);
    CHECK(rb.aux_mmap_count == 2);
    CHECK(w.k.mm_user.locked_vm == locked + 4);
    w.k.ops(w.fd)->mmap_close(w.area);
    CHECK(rb.has_aux());
    w.unmap_aux();
    CHECK_FALSE(rb.has_aux());
    CHECK(w.k.mm_user.locked_vm == locked);
    CHECK(w.e.mmap_count == 1);
    // Read-only: a snapshot.
    REQUIRE(w.map_aux(4, false) == 0);
    CHECK(rb.aux_overwrite);
    CHECK(w.pmu.overwrite);
    CHECK(rb.aux_watermark == 0);
}

TEST_CASE("the watermark asked for; events without AUX; memory that runs out", "[RB-095][RB-097][RB-101][RB-102]") {
    Aux w([](perf_event_attr a) {
        a.aux_watermark = 4096;
        return a;
    });
    const unsigned pages = w.k.pages_in_use;
    w.pmu.fails = true;
    CHECK(w.map_aux(4) == -ENOMEM);
    CHECK(w.k.pages_in_use == pages);
    CHECK_FALSE(w.ring.rb().has_aux());
    CHECK(w.ring.rb().mmap_count == 1);
    w.pmu.fails = false;
    w.k.pages_left = 3;
    CHECK(w.map_aux(4) == -ENOMEM);
    CHECK(w.k.pages_in_use == pages);
    w.k.pages_left = ~0u;
    REQUIRE(w.map_aux(4) == 0);
    CHECK(w.ring.rb().aux_watermark == 4096);
    CHECK(w.pmu.log.empty());
    w.unmap_aux();
    CHECK(w.pmu.log == "area ");
    CHECK(w.k.pages_in_use == pages);

    const int plain = w.must_open(World::sw(PERF_COUNT_SW_DUMMY));
    Ring other(w, plain, 1);
    const std::uint64_t at = 2 << 12, size = 1 << 12;
    std::memcpy(other.rb().user_page.host + offsetof(perf_event_mmap_page, aux_offset), &at, 8);
    std::memcpy(other.rb().user_page.host + offsetof(perf_event_mmap_page, aux_size), &size, 8);
    FakeMmap vma;
    vma.pgoff_ = 2;
    vma.size_ = size;
    vma.mm_ = &w.k.mm;
    CHECK(w.k.ops(plain)->mmap(vma) == -EOPNOTSUPP);
}

TEST_CASE("runs of pages", "[RB-098][RB-099][RB-100][CORE-108]") {
    constexpr unsigned caps = Pmu::PERF_PMU_CAP_HETEROGENEOUS_CPUS | Pmu::PERF_PMU_CAP_AUX_NO_SG;
    using Orders = std::vector<unsigned>;
    Aux w(nullptr, caps);
    w.k.max_order = 2;
    // No longer than a watermark in normal mode, as long as possible while overwriting.
    REQUIRE(w.map_aux(4) == 0);
    CHECK(w.ring.rb().aux_orders == Orders{1, 1});
    w.unmap_aux();
    REQUIRE(w.map_aux(4, false) == 0);
    CHECK(w.ring.rb().aux_orders == Orders{2});
    w.unmap_aux();
    // This PMU needs one run then; in normal mode it does not.
    CHECK(w.map_aux(8, false) == -ENOMEM);
    REQUIRE(w.map_aux(8) == 0);
    CHECK(w.ring.rb().aux_orders == Orders{2, 2});
    w.unmap_aux();
    w.k.max_order = 0;
    CHECK(w.map_aux(2, false) == -ENOMEM);
    REQUIRE(w.map_aux(1, false) == 0);
    Aux x;
    x.k.max_order = 1;
    REQUIRE(x.map_aux(8, false) == 0);
    CHECK(x.ring.rb().aux_orders == Orders{1, 1, 1, 1});
    CHECK(x.map_aux(1 << 21) == -EINVAL); // of another size
    x.unmap_aux();
    CHECK(x.map_aux(std::uint64_t{1} << 21, false) == -ENOMEM); // too many to list
}

TEST_CASE("pages of a mapping with an AUX area", "[RB-009]") {
    Aux w;
    REQUIRE(w.map_aux(2, true, 4) == 0);
    PerfBuffer& rb = w.ring.rb();
    const auto page = [&](std::uint64_t pgoff) { return perf_mmap_to_page(rb, pgoff).host; };
    CHECK(page(0) == rb.user_page.host);
    CHECK(page(1) == rb.data_pages[0].host);
    CHECK(page(2) == nullptr);
    CHECK(page(3) == nullptr);
    CHECK(page(4) == rb.aux_pages[0].host);
    CHECK(page(5) == rb.aux_pages[1].host);
    CHECK(page(6) == rb.aux_pages[0].host);
    CHECK(page(7) == nullptr);
    // The user may not write to it.
    CHECK_FALSE(w.k.ops(w.fd)->fault(w.area, 4, true));
    CHECK(w.k.ops(w.fd)->fault(w.area, 4, false));
}

TEST_CASE("when a transaction cannot begin", "[RB-079][RB-092]") {
    Aux w;
    PerfOutputHandle handle;
    CHECK(w.begin(handle) == nullptr);
    CHECK(handle.event == nullptr);
    CHECK(perf_get_aux(handle) == nullptr);
    REQUIRE(w.map_aux(4) == 0);
    PerfBuffer& rb = w.ring.rb();
    rb.aux_mmap_count = 0;
    CHECK(w.begin(handle) == nullptr);
    rb.aux_mmap_count = 1;
    const int refs = rb.aux_refcount;
    rb.aux_refcount = 0;
    CHECK(w.begin(handle) == nullptr);
    rb.aux_refcount = refs;
    REQUIRE(w.begin(handle));
    CHECK(perf_get_aux(handle) == rb.aux_priv.get());
    PerfOutputHandle second;
    w.k.log.clear();
    CHECK(w.begin(second) == nullptr);
    CHECK(second.event == nullptr);
    CHECK(w.k.log.size() == 1);
    CHECK(rb.aux_refcount == refs + 1);
    perf_aux_output_end(handle, 0);
    CHECK(perf_get_aux(handle) == nullptr);
    CHECK(rb.aux_refcount == refs);
}

TEST_CASE("a transaction: room, data, record, head, wakeup",
          "[RB-080][RB-081][RB-086][RB-087][RB-088][RB-089][RB-090][CORE-433]") {
    Aux w;
    REQUIRE(w.map_aux(4) == 0);
    PerfBuffer& rb = w.ring.rb();
    PerfOutputHandle handle;
    AuxArea* priv = w.begin(handle);
    CHECK(priv == rb.aux_priv.get());
    CHECK(handle.event == &w.e);
    CHECK((handle.head == 0 && handle.size == 16383 && handle.aux_flags == 0));
    CHECK(handle.wakeup == 8192);
    CHECK(rb.aux_nest == 1);
    // Nothing written and nothing to say: no record.
    perf_aux_output_end(handle, 0);
    CHECK((w.ring.head() == 0 && w.user_head() == 0));
    CHECK((rb.aux_nest == 0 && handle.event == nullptr));
    w.begin(handle);
    perf_aux_output_end(handle, 1000);
    CHECK(w.user_head() == 1000);
    Record r = w.ring.must_next();
    CHECK(r.header.type == PERF_RECORD_AUX);
    CHECK((r.word(0) == 0 && r.word(1) == 1000 && r.word(2) == 0));
    CHECK(r.header.size == 32);
    CHECK(rb.poll == 0);
    w.begin(handle);
    CHECK((handle.head == 1000 && handle.size == 15383));
    perf_aux_output_flag(handle, PERF_AUX_FLAG_PARTIAL);
    perf_aux_output_end(handle, 8000);
    r = w.ring.must_next();
    CHECK((r.word(0) == 1000 && r.word(1) == 8000 && r.word(2) == PERF_AUX_FLAG_PARTIAL));
    // The watermark was passed.
    CHECK(rb.aux_wakeup == 8192);
    CHECK(rb.poll != 0);
    // With flags a record comes also for no data, but not for the PMU's format alone.
    w.begin(handle);
    perf_aux_output_flag(handle, 0x100);
    perf_aux_output_end(handle, 0);
    Record none;
    CHECK_FALSE(w.ring.next(none));
    w.begin(handle);
    perf_aux_output_flag(handle, PERF_AUX_FLAG_COLLISION | 0x200);
    perf_aux_output_end(handle, 0);
    CHECK(w.ring.must_next().word(2) == (PERF_AUX_FLAG_COLLISION | 0x200));
    // The reader has released some; the record is there before the new head is shown.
    w.tail(9000);
    w.begin(handle);
    CHECK(handle.size == 16383);
    std::uint64_t head_at_record = 0;
    w.k.time_passes = [&] {
        if (w.ring.head() > w.ring.tail && !head_at_record) head_at_record = w.user_head();
    };
    perf_aux_output_end(handle, 100);
    w.k.time_passes = nullptr;
    CHECK(head_at_record == 9000);
    CHECK(w.user_head() == 9100);
}

TEST_CASE("no room, or a tail that cannot be: the event is to stop", "[RB-081][RB-082][RB-083][RB-089]") {
    for (const int cpu : {0, 1}) {
        Aux w;
        REQUIRE(w.map_aux(1) == 0);
        w.k.switch_to(0, nullptr);
        w.k.switch_to(cpu, &w.task);
        w.k.on_cpu(cpu);
        PerfOutputHandle handle;
        w.begin(handle);
        perf_aux_output_end(handle, 4095);
        w.ring.rb().poll = 0;
        const bool was = w.k.local_irq_save();
        CHECK(w.begin(handle) == nullptr);
        CHECK(handle.event == nullptr);
        CHECK(w.ring.rb().poll != 0);
        CHECK(w.ring.rb().aux_nest == 0);
        // CPU 0 looks like "no".
        CHECK(w.e.pending_disable == (cpu != 0));
        w.k.local_irq_restore(was);
        CHECK(w.e.state == (cpu ? PerfEventState::off : PerfEventState::active));
        w.tail(4095);
        REQUIRE(w.begin(handle));
        perf_aux_output_flag(handle, PERF_AUX_FLAG_TRUNCATED);
        perf_aux_output_end(handle, 0);
        CHECK(w.ring.rb().poll != 0);
        w.tail(1 << 20);
        CHECK(w.begin(handle) == nullptr);
        w.k.on_cpu(0);
    }
}

TEST_CASE("overwriting: no tail, the driver says where it is", "[RB-084][RB-086][RB-108][RB-085]") {
    Aux w;
    REQUIRE(w.map_aux(4, false) == 0);
    w.tail(77);
    PerfOutputHandle handle;
    REQUIRE(w.begin(handle));
    CHECK((handle.size == 0 && handle.wakeup == 0));
    w.k.log.clear();
    perf_aux_output_flag(handle, PERF_AUX_FLAG_OVERWRITE | PERF_AUX_FLAG_PARTIAL);
    CHECK(handle.aux_flags == 0); // all of it is ignored
    CHECK(w.k.log.size() == 1);
    handle.head = 70000;
    perf_aux_output_end(handle, 0);
    CHECK(w.user_head() == 70000);
    CHECK(w.ring.head() == 0); // OVERWRITE alone is no news
    REQUIRE(w.begin(handle));
    CHECK(handle.head == 70000);
    handle.head = 80000;
    perf_aux_output_end(handle, 500);
    const Record r = w.ring.must_next();
    CHECK((r.word(0) == 80000 && r.word(1) == 500 && r.word(2) == PERF_AUX_FLAG_OVERWRITE));
    CHECK(w.ring.rb().poll == 0);
}

TEST_CASE("skipping", "[RB-091]") {
    Aux w;
    REQUIRE(w.map_aux(4) == 0);
    PerfOutputHandle handle;
    REQUIRE(w.begin(handle));
    CHECK(perf_aux_output_skip(handle, 16384) == -ENOSPC);
    CHECK(perf_aux_output_skip(handle, 4096) == 0);
    CHECK((handle.head == 4096 && handle.size == 16383 - 4096));
    CHECK(w.user_head() == 4096);
    CHECK(w.ring.rb().poll == 0);
    CHECK(perf_aux_output_skip(handle, 4100) == 0);
    CHECK(w.ring.rb().poll != 0);
    CHECK(handle.wakeup == 8192 + 8192);
    perf_aux_output_end(handle, 10);
    CHECK(w.ring.must_next().word(0) == 8196);
}

TEST_CASE("the last mapping goes while a writer is at work", "[CORE-353][RB-090][RB-102]") {
    Aux w;
    REQUIRE(w.map_aux(4) == 0);
    PerfOutputHandle handle;
    // A driver ends its transaction when it is stopped.
    struct Guard {
        PerfOutputHandle& h;
    };
    REQUIRE(w.begin(handle));
    const std::shared_ptr<PerfBuffer> rb = w.e.rb;
    w.pmu.calls.clear();
    w.unmap_aux();
    CHECK(w.pmu.order("stop") == "1");
    // The transaction holds the area.
    CHECK(rb->has_aux());
    perf_aux_output_end(handle, 0);
    CHECK_FALSE(rb->has_aux());
    CHECK(w.begin(handle) == nullptr);
}

TEST_CASE("changing the buffer stops a writer", "[CORE-363]") {
    Aux w;
    w.pmu.calls.clear();
    w.ring.unmap();
    CHECK(w.pmu.order("stop") == "1");
}

TEST_CASE("AUX data in samples", "[RB-074][RB-103][RB-104][RB-105][CORE-064][CORE-492]") {
    Aux w;
    REQUIRE(w.map_aux(2) == 0);
    for (unsigned i = 0; i < 8192; ++i)
        w.ring.rb().aux_pages[i >> 12].host[i & 4095] = static_cast<std::uint8_t>(i / 8);
    perf_event_attr a = fault_attr(PERF_SAMPLE_AUX);
    a.aux_sample_size = 100;
    CHECK(w.try_open(World::on(a)) == EINVAL); // no leader
    const int plain = w.must_open(World::sw(PERF_COUNT_SW_DUMMY));
    CHECK(w.try_open(World::on(a), 0, -1, plain) == EINVAL);
    perf_event_attr both = attr_of(w.pmu, 2);
    both.aux_output = 1;
    both.aux_sample_size = 8;
    CHECK(w.try_open(both, 0, -1, w.fd) == EINVAL);
    const int fd = w.must_open(World::on(a), 0, -1, w.fd);
    CHECK(w.event(fd).aux_event == &w.e);
    Ring samples(w, fd, 16);
    w.pmu.snapshot_at = 8192 - 40;
    w.pmu.snapshot_bytes = 93;
    w.k.page_fault(0, 0x1000);
    Record r = samples.must_next();
    // 100 bytes are rounded down to 96; the driver had 93, the rest is zero.
    CHECK(r.word(0) == 96);
    CHECK(r.header.size == 8 + 8 + 96);
    CHECK(r.at<std::uint8_t>(16) == static_cast<std::uint8_t>((8192 - 40) / 8));
    CHECK(r.at<std::uint8_t>(16 + 40) == 0); // round the end
    CHECK(r.at<std::uint8_t>(16 + 92) == 6);
    CHECK(r.at<std::uint8_t>(16 + 93) == 0);
    CHECK(w.pmu.in_sampling);
    CHECK(w.pmu.masked);
    CHECK_FALSE(w.ring.rb().aux_in_sampling);
    // While another sample copies, and while the writer does not run here: none.
    w.ring.rb().aux_in_sampling = true;
    w.k.page_fault(0, 0x1000);
    r = samples.must_next();
    CHECK((r.word(0) == 0 && r.header.size == 16));
    w.ring.rb().aux_in_sampling = false;
    w.e.oncpu = 1;
    w.k.page_fault(0, 0x1000);
    CHECK(samples.must_next().word(0) == 0);
    w.e.oncpu = 0;
    // No more than the area, no more than a record holds.
    w.event(fd).attr.aux_sample_size = 60000;
    w.pmu.snapshot_at = 0;
    w.pmu.snapshot_bytes = ~0ull;
    w.k.page_fault(0, 0x1000);
    CHECK(samples.must_next().word(0) == 8192);
    samples.release();
    PerfOutputHandle handle;
    PerfSampleData data;
    REQUIRE(perf_output_begin(w.p(), handle, data, w.event(fd), 8192) == 0);
    CHECK(perf_output_copy_aux(w.ring.rb(), handle, 4096, 4096) == 8192); // all of it
    perf_output_end(handle);
    // The leader goes: the member cannot go on, but can be enabled again.
    w.ring.unmap();
    w.unmap_aux();
}

TEST_CASE("events that write through a leader's AUX area lose it", "[CORE-492]") {
    Aux w;
    perf_event_attr a = World::on(attr_of(w.pmu, 2));
    a.aux_output = 1;
    a.inherit = 0;
    const int fd = w.must_open(a, 0, -1, w.fd);
    CHECK(w.e.refcount == 2);
    CHECK(w.event(fd).state == PerfEventState::active);
    // A PMU that does not know the leader's.
    TestPmu& other = add_pmu(w, "other", Pmu::TaskContext::hardware,
                             Pmu::PERF_PMU_CAP_HETEROGENEOUS_CPUS | Pmu::PERF_PMU_CAP_AUX_OUTPUT);
    perf_event_attr b = attr_of(other, 1);
    b.aux_output = 1;
    CHECK(w.try_open(b, 0, -1, w.fd) == EINVAL);
    w.p().perf_remove_from_context(w.e, DETACH_GROUP);
    CHECK(w.event(fd).aux_event == nullptr);
    CHECK(w.event(fd).state == PerfEventState::error);
    CHECK(w.e.refcount == 1);
    w.enable(fd);
    CHECK(w.event(fd).state == PerfEventState::active);
}

TEST_CASE("AUX_OUTPUT_HW_ID", "[CORE-434]") {
    Aux w;
    w.p().perf_report_aux_output_id(w.e, 0x1234);
    const Record r = w.ring.must_next();
    CHECK(r.header.type == PERF_RECORD_AUX_OUTPUT_HW_ID);
    CHECK(r.header.size == 16);
    CHECK(r.word(0) == 0x1234);
}

TEST_CASE("a copy returns what it has not copied", "[RB-059]") {
    Aux w;
    PerfOutputHandle handle;
    PerfSampleData data;
    const std::uint64_t word = 5;
    REQUIRE(perf_output_begin(w.p(), handle, data, w.e, 8) == 0);
    CHECK(perf_output_copy(handle, &word, sizeof word) == 0);
    perf_output_end(handle);
}
