// SPDX-License-Identifier: Apache-2.0
// Sample records: which words each sample_type bit adds, their order and values (tests/probes a_sample on a real
// Linux 6.1).
#include "tests/kernel_events/ring.h"

#include <time.h>

namespace rkperf::ke::test::sample_test {

/// One page-fault sample of an event with this attr.
struct Shot {
    World w;
    int fd;
    std::unique_ptr<Ring> ring;
    explicit Shot(perf_event_attr a) : fd(w.must_open(a, 0, 0)), ring(std::make_unique<Ring>(w, fd, 32)) {
        w.enable(fd);
    }
    ~Shot() { ring.reset(); }
    Record fault(std::uint64_t addr = fault_page(1) + 16) {
        w.k.page_fault(0, addr);
        return ring->must_next();
    }
    PerfEvent& event() { return w.event(fd); }
};

struct Bit {
    const char* name;
    std::uint64_t bit;
    std::uint64_t value;
};

TEST_CASE("no sample_type: a header only", "[CORE-369]") {
    Shot s(fault_attr(0));
    const Record r = s.fault();
    CHECK(r.header.type == PERF_RECORD_SAMPLE);
    CHECK(r.header.misc == PERF_RECORD_MISC_USER);
    CHECK(r.header.size == 8);
    s.w.k.user_regs.pstate = 5;
    s.event().attr.exclude_kernel = 0;
    CHECK(s.fault().header.misc == PERF_RECORD_MISC_KERNEL);
    s.w.k.user_regs.pstate = 0;
}

TEST_CASE("each field alone is one word",
          "[CORE-372][CORE-373][CORE-374][CORE-375][CORE-376][CORE-377][CORE-378]"
          "[CORE-382][CORE-390][CC-045][RB-073]") {
    const Bit b = GENERATE(Bit{"IP", PERF_SAMPLE_IP, 0x401000}, Bit{"TID", PERF_SAMPLE_TID, 100ull << 32 | 100},
                           Bit{"TIME", PERF_SAMPLE_TIME, 1'000'000'000}, Bit{"ADDR", PERF_SAMPLE_ADDR, 0x10001010},
                           Bit{"READ", PERF_SAMPLE_READ, 1}, Bit{"ID", PERF_SAMPLE_ID, 1},
                           Bit{"CPU", PERF_SAMPLE_CPU, 0}, Bit{"PERIOD", PERF_SAMPLE_PERIOD, 1},
                           Bit{"STREAM_ID", PERF_SAMPLE_STREAM_ID, 1}, Bit{"RAW", PERF_SAMPLE_RAW, 4},
                           Bit{"WEIGHT", PERF_SAMPLE_WEIGHT, 0}, Bit{"DATA_SRC", PERF_SAMPLE_DATA_SRC, 0x5080021},
                           Bit{"IDENTIFIER", PERF_SAMPLE_IDENTIFIER, 1}, Bit{"TRANSACTION", PERF_SAMPLE_TRANSACTION, 0},
                           Bit{"PHYS_ADDR", PERF_SAMPLE_PHYS_ADDR, 0}, Bit{"AUX", PERF_SAMPLE_AUX, 0},
                           Bit{"CGROUP", PERF_SAMPLE_CGROUP, 1}, Bit{"DATA_PAGE_SIZE", PERF_SAMPLE_DATA_PAGE_SIZE, 0},
                           Bit{"CODE_PAGE_SIZE", PERF_SAMPLE_CODE_PAGE_SIZE, 4096},
                           Bit{"WEIGHT_STRUCT", PERF_SAMPLE_WEIGHT_STRUCT, 0});
    INFO(b.name);
    perf_event_attr a = fault_attr(b.bit);
    a.read_format = 0;
    Shot s(a);
    const Record r = s.fault();
    CHECK(r.header.size == 16);
    CHECK(r.header.misc == PERF_RECORD_MISC_USER);
    CHECK(r.word(0) == b.value);
}

TEST_CASE("the order of all fields",
          "[CORE-370][CORE-371][CORE-372][CORE-379][CORE-384][CORE-385][CORE-386][CORE-397]") {
    perf_event_attr a = fault_attr(
        PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_READ |
        PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_STREAM_ID |
        PERF_SAMPLE_RAW | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC |
        PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_PHYS_ADDR |
        PERF_SAMPLE_AUX | PERF_SAMPLE_CGROUP | PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE);
    a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID |
                    PERF_FORMAT_GROUP | PERF_FORMAT_LOST;
    a.sample_regs_user = 1ull << 32 | 1ull << 31 | 1;
    a.sample_regs_intr = 1ull << 32 | 2;
    a.sample_stack_user = 16;
    Shot s(a);
    const std::uint64_t sp = s.w.k.alloc_user(64);
    const std::uint64_t stack[2] = {0x1111, 0x2222};
    std::memcpy(s.w.k.user_ptr(sp), stack, sizeof stack);
    PtRegs& regs = s.w.k.user_regs;
    regs.sp = sp;
    regs.regs[0] = 0xa0;
    regs.regs[1] = 0xa1;
    const std::uint64_t addr = s.w.k.alloc_user(16);
    s.w.k.advance(5000);
    const Record r = s.fault(addr);
    const std::uint64_t id = s.event().id;
    const std::vector<std::uint64_t> expected{
        id,
        0x401000,
        100ull << 32 | 100,
        1'000'005'000,
        addr,
        id,
        id,
        0,
        1, // to PERIOD
        1,
        5000,
        5000,
        1,
        id,
        0, // READ: group of one
        2,
        static_cast<std::uint64_t>(-512),
        0x401000, // CALLCHAIN
        4,        // RAW
        2,
        0xa0,
        sp,
        0x401000, // REGS_USER
        16,
        0x1111,
        0x2222,
        16, // STACK_USER
        0,
        0x5080021,
        0, // WEIGHT, DATA_SRC, TRANSACTION
        2,
        0xa1,
        0x401000, // REGS_INTR
        addr + 0x80000000,
        1,
        4096,
        4096, // PHYS_ADDR, CGROUP, page sizes
        0,    // AUX
    };
    REQUIRE(r.words() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        INFO("word " << i);
        CHECK(r.word(i) == expected[i]);
    }
}

TEST_CASE("fields that the source has filled are kept", "[CORE-391]") {
    Shot s(fault_attr(PERF_SAMPLE_ADDR | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TIME));
    PerfSampleData data;
    perf_sample_data_init(data, 0, 7);
    data.weight = 11;
    data.data_src = 12;
    data.time = 13;
    data.addr = 14; // not marked as filled
    data.sample_flags |= PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TIME;
    s.w.p().perf_event_output_forward(s.event(), data, s.w.k.user_regs);
    const Record r = s.ring->must_next();
    CHECK(r.word(0) == 13);
    CHECK(r.word(1) == 0);
    CHECK(r.word(2) == 11);
    CHECK(r.word(3) == 12);
}

TEST_CASE("raw data is padded so that the record stays a multiple of 8", "[CORE-382][RB-060][RB-073]") {
    for (std::size_t n = 1; n <= 17; ++n) {
        Shot s(fault_attr(PERF_SAMPLE_RAW));
        std::vector<std::uint8_t> raw(n);
        for (std::size_t i = 0; i < n; ++i) raw[i] = static_cast<std::uint8_t>(i + 1);
        PerfSampleData data;
        perf_sample_data_init(data, 0, 1);
        const PerfRawFrag frag{raw.data(), static_cast<std::uint32_t>(n), nullptr, {}};
        data.raw = &frag;
        data.sample_flags |= PERF_SAMPLE_RAW;
        s.w.p().perf_event_output_forward(s.event(), data, s.w.k.user_regs);
        const Record r = s.ring->must_next();
        CHECK(r.header.size % 8 == 0);
        CHECK(r.half(0) == (n + 4 + 7) / 8 * 8 - 4);
        CHECK(r.header.size == 8 + 4 + r.half(0));
        CHECK(std::equal(raw.begin(), raw.end(), r.bytes.begin() + 12));
    }
}

TEST_CASE("raw data may come in pieces, and a piece in a way of its own", "[RB-062][CORE-382]") {
    const std::vector<std::uint8_t> head(6, 0x11);
    const std::uint32_t source = 0x40;
    std::vector<std::pair<std::size_t, std::size_t>> calls;
    std::size_t limit = 100; // bytes that the copy can get at
    PerfRawFrag packet{&source, 14, nullptr, [&](std::uint8_t* dst, const void* src, std::size_t off, std::size_t n) {
                           CHECK(src == &source); // not moved on
                           calls.emplace_back(off, n);
                           const std::size_t can = std::min(n, limit > off ? limit - off : 0);
                           for (std::size_t i = 0; i < can; ++i)
                               dst[i] = static_cast<std::uint8_t>(*static_cast<const std::uint32_t*>(src) + off + i);
                           return n - can;
                       }};
    const PerfRawFrag first{head.data(), 6, &packet, {}};
    const auto record = [&](Shot& s) {
        PerfSampleData data;
        perf_sample_data_init(data, 0, 1);
        data.raw = &first;
        data.sample_flags |= PERF_SAMPLE_RAW;
        s.w.p().perf_event_output_forward(s.event(), data, s.w.k.user_regs);
        return s.ring->must_next();
    };
    {
        Shot s(fault_attr(PERF_SAMPLE_RAW));
        const Record r = record(s);
        CHECK(r.half(0) == 20);
        CHECK(r.header.size == 8 + 4 + 20);
        CHECK(std::count(r.bytes.begin() + 12, r.bytes.begin() + 18, 0x11) == 6);
        for (unsigned i = 0; i < 14; ++i) CHECK(r.bytes[18 + i] == 0x40 + i);
        CHECK(calls == std::vector<std::pair<std::size_t, std::size_t>>{{0, 14}});
    }
    {
        // 127 records of 32 bytes, and 18 before the piece: 14 of its bytes are in the first page.
        Shot s(fault_attr(PERF_SAMPLE_RAW));
        for (int i = 0; i < 127; ++i) record(s);
        packet.size = 58;
        calls.clear();
        const Record r = record(s);
        CHECK(calls == std::vector<std::pair<std::size_t, std::size_t>>{{0, 14}, {14, 44}});
        for (unsigned i = 0; i < 58; ++i) CHECK(r.bytes[18 + i] == 0x40 + i);
    }
    {
        // What cannot be copied is left out, and nothing is asked for behind it.
        Shot s(fault_attr(PERF_SAMPLE_RAW));
        limit = 5;
        packet.size = 14;
        calls.clear();
        const Record r = record(s);
        CHECK(r.header.size == 8 + 4 + 20);
        for (unsigned i = 0; i < 5; ++i) CHECK(r.bytes[18 + i] == 0x40 + i);
        CHECK(std::count(r.bytes.begin() + 23, r.bytes.end(), 0) == 9);
        CHECK(calls.size() == 1);
    }
}

TEST_CASE("registers: numbering, whose they are", "[CORE-384][CORE-385][CC-046][CC-047][CC-049]") {
    perf_event_attr a = fault_attr(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_REGS_INTR);
    a.exclude_kernel = 0;
    a.sample_regs_user = a.sample_regs_intr = (1ull << 33) - 1;
    Shot s(a);
    PtRegs user{};
    for (int i = 0; i < 31; ++i) user.regs[i] = 1000u + static_cast<unsigned>(i);
    user.sp = 2031;
    user.pc = 2032;
    const auto sample = [&](PtRegs& regs) {
        s.w.perf.perf_sw_event(PERF_COUNT_SW_PAGE_FAULTS, 1, &regs, 0);
        return s.ring->must_next();
    };
    Record r = sample(user);
    CHECK(r.header.size == 8 + 2 * (8 + 33 * 8));
    CHECK(r.word(0) == PERF_SAMPLE_REGS_ABI_64);
    for (unsigned i = 0; i < 31; ++i) CHECK(r.word(1 + i) == 1000 + i);
    CHECK(r.word(32) == 2031);
    CHECK(r.word(33) == 2032);
    CHECK(r.word(34) == PERF_SAMPLE_REGS_ABI_64);
    CHECK(r.word(34 + 33) == 2032);
    // In the kernel: the user's as they were at the entry, beside those interrupted.
    s.w.task.regs = user;
    PtRegs kernel{};
    kernel.pc = 0xffff800008000100;
    kernel.pstate = 5;
    r = sample(kernel);
    CHECK(r.word(33) == 2032);
    CHECK(r.word(34 + 33) == 0xffff800008000100);
}

TEST_CASE("registers of an AArch32 program", "[CC-048][CC-049]") {
    perf_event_attr a = fault_attr(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_REGS_INTR);
    a.exclude_kernel = 0;
    a.sample_regs_user = a.sample_regs_intr = (1ull << 33) - 1;
    Shot s(a);
    s.w.task.compat = true;
    PtRegs user{};
    for (int i = 0; i < 31; ++i) user.regs[i] = 1000u + static_cast<unsigned>(i);
    user.sp = 2031;
    user.pc = 2032;
    user.pstate = 0x10;
    s.w.perf.perf_sw_event(PERF_COUNT_SW_PAGE_FAULTS, 1, &user, 0);
    const Record r = s.ring->must_next();
    CHECK(r.word(0) == PERF_SAMPLE_REGS_ABI_32);
    CHECK(r.word(34) == PERF_SAMPLE_REGS_ABI_32);
    for (unsigned i = 0; i < 30; ++i) CHECK(r.word(1 + i) == (i == 15 ? 2032 : 1000 + i));
    CHECK(r.word(1 + 30) == 1014);
    CHECK(r.word(1 + 31) == 1013);
    CHECK(r.word(1 + 32) == 2032);
}

TEST_CASE("a kernel thread has no user registers and no user stack", "[CORE-384][CORE-386][CC-049][RB-072]") {
    World w;
    perf_event_attr a = fault_attr(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
    a.exclude_kernel = 0;
    a.sample_regs_user = 7;
    a.sample_stack_user = 64;
    const int fd = w.must_open(a, -1, 0);
    Ring ring(w, fd, 1);
    w.enable(fd);
    w.k.switch_to(0, nullptr);
    PtRegs kernel{};
    kernel.pstate = 5;
    w.perf.perf_sw_event(PERF_COUNT_SW_PAGE_FAULTS, 1, &kernel, 0);
    const Record r = ring.must_next();
    CHECK(r.header.size == 24);
    CHECK(r.word(0) == PERF_SAMPLE_REGS_ABI_NONE);
    CHECK(r.word(1) == 0);
    w.k.switch_to(0, &w.task);
}

struct StackCase {
    unsigned wanted, record, size;
};

TEST_CASE("the user's stack: sizes", "[CORE-386][CORE-387][CORE-388][CORE-389][RB-060][RB-061][RB-070][RB-072]") {
    const StackCase c =
        GENERATE(StackCase{0, 24, 0}, StackCase{8, 40, 8}, StackCase{64, 96, 64}, StackCase{4096, 4128, 4096},
                 StackCase{65504, 65528, 65496}, StackCase{65528, 65528, 65496});
    const bool near_end = GENERATE(false, true);
    perf_event_attr a = fault_attr(PERF_SAMPLE_IP | PERF_SAMPLE_STACK_USER);
    a.sample_stack_user = c.wanted;
    Shot s(a);
    const std::uint64_t top = FakeKernel::kUserBase + s.w.k.user.size();
    const std::uint64_t sp = near_end ? top - 128 : top - 100000;
    for (std::uint64_t p = sp; p < top && p < sp + 65536; p += 8) std::memcpy(s.w.k.user_ptr(p), &p, 8);
    s.w.k.user_regs.sp = sp;
    const Record r = s.fault();
    CHECK(r.header.size == c.record);
    CHECK(r.word(1) == c.size);
    if (!c.size) return;
    const std::uint64_t dyn = r.word(2 + c.size / 8);
    CHECK(dyn == (near_end ? std::min(c.size, 128u) : c.size));
    bool right = true;
    for (std::uint64_t i = 0; i < dyn / 8; ++i) right &= r.word(2 + i) == sp + 8 * i;
    CHECK(right);
}

TEST_CASE("no stack where there cannot be one", "[CORE-387][RB-072]") {
    perf_event_attr a = fault_attr(PERF_SAMPLE_STACK_USER);
    a.sample_stack_user = 64;
    Shot s(a);
    s.w.k.user_regs.sp = 0;
    CHECK(s.fault().header.size == 16);
    s.w.k.user_regs.sp = std::uint64_t{1} << 48;
    CHECK(s.fault().header.size == 16);
    s.w.k.user_regs.sp = (std::uint64_t{1} << 48) - 16; // 16 bytes below the limit
    const Record r = s.fault();
    CHECK(r.header.size == 8 + 8 + 16 + 8);
    CHECK(r.word(0) == 16);
    CHECK(r.word(3) == 0); // nothing mapped there
}

TEST_CASE("READ of a group: others are read on the spot, children's times are left out", "[CORE-379]") {
    World w;
    perf_event_attr lead = World::hw(kInstructions), a = fault_attr(PERF_SAMPLE_READ);
    lead.read_format = a.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED;
    a.disabled = 0;
    const int leader = w.must_open(lead);
    const int fd = w.must_open(a, 0, -1, leader);
    Ring ring(w, fd, 1);
    w.enable(leader);
    w.k.count(0, EventNumber(kInstructions), 1234);
    w.k.advance(777);
    w.event(fd).child_total_time_enabled = 100'000;
    w.k.page_fault(0, fault_page(0));
    const Record r = ring.must_next();
    CHECK(r.words() == 6);
    CHECK(r.word(0) == 2);
    CHECK(r.word(1) == 777);
    CHECK(r.word(2) == 1234);
    CHECK(r.word(3) == w.event(leader).id);
    CHECK(r.word(4) == 1);
    CHECK(r.word(5) == w.event(fd).id);
}

TEST_CASE("READ alone has the children's count and times", "[CORE-379]") {
    perf_event_attr a = fault_attr(PERF_SAMPLE_READ);
    a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_LOST;
    Shot s(a);
    s.event().child_count = 10;
    s.event().child_total_time_enabled = 1000;
    s.event().child_total_time_running = 500;
    s.event().lost_samples = 3;
    s.w.k.advance(50);
    const Record r = s.fault();
    CHECK(r.word(0) == 11);
    CHECK(r.word(1) == 1050);
    CHECK(r.word(2) == 550);
    CHECK(r.word(3) == 3);
    s.event().child_count = s.event().lost_samples = 0;
}

TEST_CASE("TIME is of the event's clock", "[CORE-373][CORE-521]") {
    perf_event_attr a = fault_attr(PERF_SAMPLE_TIME);
    a.use_clockid = 1;
    a.clockid = CLOCK_MONOTONIC;
    Shot s(a);
    CHECK(s.fault().word(0) == s.w.k.ktime_get_ns(CLOCK_MONOTONIC));
}

TEST_CASE("samples of a hardware overflow: period, interrupted place, wakeup",
          "[CORE-252][CORE-263][CORE-374][CORE-392]") {
    World w;
    perf_event_attr a = World::hw(kInstructions);
    a.sample_period = 1000;
    a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD;
    a.wakeup_events = 1;
    const int fd = w.must_open(a);
    Ring ring(w, fd, 1);
    w.enable(fd);
    for (int i = 0; i < 3; ++i) w.k.count(0, EventNumber(kInstructions), 1000);
    const auto v = ring.drain();
    REQUIRE(v.size() == 3);
    for (const Record& r : v) {
        CHECK(r.header.misc == PERF_RECORD_MISC_USER);
        CHECK(r.word(0) == 0x401000);
        CHECK(r.word(1) == 1000);
    }
    // Taken late, in the kernel: still a sample.
    w.k.user_regs.pstate = 5;
    w.k.count(0, EventNumber(kInstructions), 1000);
    CHECK(ring.must_next().header.misc == PERF_RECORD_MISC_KERNEL);
    w.k.user_regs.pstate = 0;
}

TEST_CASE("header sizes", "[CORE-397][RB-070]") {
    World w;
    perf_event_attr a = fault_attr(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_READ | PERF_SAMPLE_WEIGHT_STRUCT |
                                   PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CALLCHAIN);
    const int fd = w.must_open(a);
    CHECK(w.event(fd).header_size == 8 + 16 + 8); // IP, READ (value, lost), WEIGHT_STRUCT
    CHECK(w.event(fd).id_header_size == 16);      // TID, IDENTIFIER
}

} // namespace rkperf::ke::test::sample_test
