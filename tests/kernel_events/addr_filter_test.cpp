// SPDX-License-Identifier: Apache-2.0
// Address filters, on a PMU that has some: the text, replacement, files found among the mappings, copies.
#include "tests/kernel_events/test_pmu.h"

namespace rkperf::ke::test::addr_filter_test {

class FilterPmu final : public TestPmu {
  public:
    using TestPmu::TestPmu;
    int addr_filters_validate(const std::vector<PerfAddrFilter>& filters) override {
        return filters.size() > nr_addr_filters ? -EOPNOTSUPP : 0;
    }
    void addr_filters_sync(PerfEvent& event) override { synced.push_back(event.addr_filter_ranges); }
    void start(PerfEvent& event, int flags) override {
        if (impl) impl->perf_event_addr_filters_sync(event);
        TestPmu::start(event, flags);
    }
    Perf::Impl* impl{};
    std::vector<std::vector<PerfAddrFilterRange>> synced;
};

struct Fixture : World {
    FilterPmu* pmu{};
    Fixture() {
        auto owned = std::make_unique<FilterPmu>(k, Pmu::TaskContext::hardware, Pmu::PERF_PMU_CAP_HETEROGENEOUS_CPUS);
        pmu = owned.get();
        pmu->nr_addr_filters = 4;
        pmu->impl = &p();
        REQUIRE(p().perf_pmu_register(std::move(owned), "tracer", -1) == 0);
        k.regular_files["/bin/app"] = {8, 1, 77, 0};
    }
    int set(int fd, std::string_view text) {
        std::array<char, 256> buffer{};
        text.copy(buffer.data(), buffer.size() - 1);
        return static_cast<int>(ioctl(fd, PERF_EVENT_IOC_SET_FILTER, k.put_user(buffer)));
    }
    static VmaInfo mapping(std::uint64_t start, std::uint64_t end, std::uint64_t pgoff) {
        VmaInfo v;
        v.start = start;
        v.end = end;
        v.pgoff = pgoff;
        v.vm_exec = v.has_file = true;
        v.path = "/bin/app";
        v.inode = {8, 1, 77, 0};
        return v;
    }
    PerfAddrFilterRange range(int fd, std::size_t n = 0) { return event(fd).addr_filter_ranges.at(n); }
};

TEST_CASE("what a filter's text may say", "[CORE-488]") {
    Fixture w;
    const int fd = w.must_open(attr_of(*w.pmu, 1)), cpu = w.must_open(attr_of(*w.pmu, 1), -1, 0);
    struct {
        const char* text;
        int result;
    } const cases[] = {
        {"filter 0x1000/0x20", 0},
        {"filter 4096/32,start 010\nstop 0x10", 0},
        {"  filter   4096/32 , ", 0},
        {"start 5", 0},
        {"start 5/6", 0},
        {"", 0},
        {"filter 4096", -EINVAL}, // has no size
        {"filter 4096/0", -EINVAL},
        {"filter", -EINVAL},
        {"4096/32", -EINVAL},
        {"filter filter 1/2", -EINVAL},
        {"trace 1/2", -EINVAL},
        {"start x", -EINVAL},
        {"start 5/", -EINVAL},
        {"start 5/x", -EINVAL},
        {"start 5+6", -EINVAL},
        {"start 5 6", -EINVAL},
        {"filter 0x10/16@/bin/app", 0},
        {"start 16@/bin/app", 0},
        {"start 16@/no/such", -ENOENT},
        {"start 16@/", -EINVAL}, // no regular file
    };
    for (const auto& c : cases) {
        CAPTURE(c.text);
        CHECK(w.set(fd, c.text) == c.result);
    }
    CHECK(w.set(cpu, "start 16") == 0);
    CHECK(w.set(cpu, "start 16@/bin/app") == -EOPNOTSUPP);
    CHECK(w.set(cpu, "start 16@/no/such") == -EOPNOTSUPP);
    CHECK(w.ioctl(fd, PERF_EVENT_IOC_SET_FILTER, 8) == -EFAULT);
    CHECK(w.attribute("/sys/bus/event_source/devices/tracer/nr_addr_filters") == "4\n");
}

TEST_CASE("PMUs without filters refuse them; none of the machine's has any", "[CORE-488]") {
    Fixture w;
    CHECK(w.set(w.must_open(World::hw(kCycles)), "filter 1/2") == -EINVAL);
    CHECK(w.set(w.must_open(World::sw(PERF_COUNT_SW_DUMMY)), "filter 1/2") == -EINVAL);
    for (const auto& [path, attribute] : w.k.attributes)
        if (path.ends_with("nr_addr_filters")) CHECK(path.find("tracer") != std::string::npos);
}

TEST_CASE("new filters take the place of all old ones, unless they are refused", "[CORE-489]") {
    Fixture w;
    const int fd = w.must_open(attr_of(*w.pmu, 1));
    REQUIRE(w.set(fd, "filter 0x1000/0x20, start 0x2000, stop 0x3000") == 0);
    CHECK(w.event(fd).addr_filters.size() == 3);
    CHECK(w.set(fd, "start 1 start 2 start 3 start 4 start 5") == -EOPNOTSUPP);
    CHECK(w.set(fd, "start 1 nonsense") == -EINVAL);
    REQUIRE(w.event(fd).addr_filters.size() == 3);
    CHECK(w.range(fd).start == 0x1000);
    CHECK(w.range(fd).size == 0x20);
    CHECK(w.range(fd, 1).start == 0x2000);
    CHECK(w.event(fd).addr_filters[2].action == PerfAddrFilter::Action::stop);
    REQUIRE(w.set(fd, "start 7") == 0);
    CHECK(w.event(fd).addr_filters.size() == 1);
    CHECK(w.range(fd).start == 7);
}

TEST_CASE("a file's filters follow its mappings; whatever changes starts the event anew", "[CORE-490]") {
    Fixture w;
    w.k.vmas = {Fixture::mapping(0x400000, 0x410000, 0)};
    const int fd = w.must_open(World::on(attr_of(*w.pmu, 1)));
    w.pmu->calls.clear();
    w.pmu->synced.clear();
    REQUIRE(w.set(fd, "filter 0x1000/0x20@/bin/app") == 0);
    CHECK(w.range(fd).start == 0x401000);
    CHECK(w.range(fd).size == 0x20);
    CHECK(w.pmu->order("stop") == "1");
    CHECK(w.pmu->order("start") == "1");
    REQUIRE(w.pmu->synced.size() == 1); // the hardware has them now
    CHECK(w.pmu->synced[0].at(0).start == 0x401000);
    // The filter begins before the mapping, or ends behind it.
    REQUIRE(w.set(fd, "filter 0xff0/0x30@/bin/app") == 0);
    w.perf.perf_event_mmap(Fixture::mapping(0x500000, 0x501000, 1)); // nobody asks for MMAP records
    CHECK(w.range(fd).start == 0x400ff0);
    perf_event_attr maps = World::on(World::sw(PERF_COUNT_SW_DUMMY));
    maps.mmap = 1;
    w.must_open(maps);
    w.pmu->calls.clear();
    w.perf.perf_event_mmap(Fixture::mapping(0x500000, 0x501000, 1));
    CHECK(w.range(fd).start == 0x500000);
    CHECK(w.range(fd).size == 0x20);
    CHECK(w.pmu->order("start") == "1");
    // Data, other files, other parts of the file.
    VmaInfo data = Fixture::mapping(0x600000, 0x601000, 1);
    data.vm_exec = false;
    w.perf.perf_event_mmap(data);
    VmaInfo other = Fixture::mapping(0x600000, 0x601000, 1);
    other.inode.ino = 78;
    w.perf.perf_event_mmap(other);
    w.perf.perf_event_mmap(Fixture::mapping(0x600000, 0x601000, 9));
    CHECK(w.range(fd).start == 0x500000);
    CHECK(w.pmu->order("start") == "1");
    // exec: nothing is mapped any more. A kernel range stays.
    REQUIRE(w.set(fd, "filter 0x1000/0x20@/bin/app start 0x9000") == 0);
    w.perf.perf_event_exec();
    CHECK(w.range(fd, 0).size == 0);
    CHECK(w.range(fd, 1).start == 0x9000);
}

TEST_CASE("copies use their parent's filters, with ranges of their own", "[CORE-491]") {
    Fixture w;
    w.k.vmas = {Fixture::mapping(0x400000, 0x410000, 0)};
    perf_event_attr a = attr_of(*w.pmu, 1);
    a.inherit = 1;
    const int fd = w.must_open(World::on(a));
    REQUIRE(w.set(fd, "filter 0x1000/0x20@/bin/app") == 0);
    FakeTask& child = w.fork(200);
    PerfEvent& copy = *w.event(fd).child_list.front();
    CHECK(copy.addr_filters.empty());
    CHECK(copy.addr_filter_ranges.at(0).start == 0x401000);
    w.k.switch_to(1, &child);
    w.k.on_cpu(1);
    w.perf.perf_event_exec();
    w.k.on_cpu(0);
    CHECK(copy.addr_filter_ranges.at(0).size == 0);
    CHECK(w.range(fd).start == 0x401000);
    // A new filter is looked for in the child's mappings, too.
    w.k.vmas = {Fixture::mapping(0x700000, 0x710000, 0)};
    REQUIRE(w.set(fd, "filter 0x2000/0x20@/bin/app") == 0);
    CHECK(copy.addr_filter_ranges.at(0).start == 0x702000);
    w.exit_current(1);
}

} // namespace rkperf::ke::test::addr_filter_test
