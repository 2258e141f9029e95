// SPDX-License-Identifier: Apache-2.0
// Call chains: what is stored in which order, limits, broken frames. Cases follow a real Linux 6.1 (tests/probes
// b_callchain).
#include "kernel_events/callchain.h"

#include "tests/kernel_events/ring.h"

namespace rkperf::ke::test::callchain_test {

constexpr std::uint64_t kKernelMarker = static_cast<std::uint64_t>(-128),
                        kUserMarker = static_cast<std::uint64_t>(-512);
using Chain = std::vector<std::uint64_t>;

struct Fixture : World {
    int fd{-1};
    std::unique_ptr<Ring> ring;
    ~Fixture() { ring.reset(); }

    perf_event_attr attr() {
        perf_event_attr a = fault_attr(PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN);
        a.exclude_kernel = 0;
        return a;
    }
    void open(const perf_event_attr& a) {
        ring.reset();
        fd = must_open(a);
        ring = std::make_unique<Ring>(*this, fd, 64);
        enable(fd);
    }
    /// A frame record in user memory.
    void record(std::uint64_t at, std::uint64_t fp, std::uint64_t lr) {
        std::memcpy(k.user_ptr(at), &fp, 8);
        std::memcpy(k.user_ptr(at + 8), &lr, 8);
    }
    std::uint64_t alloc(std::uint64_t bytes) { return k.alloc_user(bytes); }
    /// The chain of a sample at these registers.
    Chain sample(PtRegs& regs) {
        perf.perf_sw_event(PERF_COUNT_SW_PAGE_FAULTS, 1, &regs, 0);
        const Record r = ring->must_next();
        CHECK(r.header.size == 8 + 8 + 8 + 8 * r.word(1));
        CHECK(r.word(0) == regs.pc);
        Chain c;
        for (std::size_t i = 0; i < r.word(1); ++i) c.push_back(r.word(2 + i));
        return c;
    }
    PtRegs user(std::uint64_t pc, std::uint64_t fp) {
        PtRegs r{};
        r.pc = pc;
        r.regs[29] = fp;
        r.regs[30] = 0xdead;
        return r;
    }
    PtRegs kernel_regs(std::uint64_t pc) {
        PtRegs r{};
        r.pc = pc;
        r.regs[29] = FakeKernel::kKernelStack;
        r.pstate = 5;
        return r;
    }
};

TEST_CASE("user frames", "[CC-014][CC-015][CC-023][CC-026][CC-027][CC-028][CORE-380]") {
    Fixture f;
    f.open(f.attr());
    const std::uint64_t s = f.alloc(64);
    f.record(s, s + 16, 0x2000);
    f.record(s + 16, s + 32, 0x3000);
    f.record(s + 32, 0, 0); // the outermost: its lr of 0 is shown
    PtRegs r = f.user(0x1000, s);
    CHECK(f.sample(r) == Chain{kUserMarker, 0x1000, 0x2000, 0x3000, 0});
    r = f.user(0x1000, 0);
    CHECK(f.sample(r) == Chain{kUserMarker, 0x1000});
}

TEST_CASE("frames that cannot be right", "[CC-030][CC-031][CC-032][CC-033]") {
    Fixture f;
    f.open(f.attr());
    const std::uint64_t s = f.alloc(512);
    const auto at = [&](std::uint64_t fp) {
        PtRegs r = f.user(0x1000, fp);
        return f.sample(r);
    };
    const Chain only{kUserMarker, 0x1000}, one{kUserMarker, 0x1000, 0x2000};
    f.record(s + 64, s + 64, 0x2000); // itself
    CHECK(at(s + 64) == one);
    f.record(s + 128, s, 0x2000); // downwards
    CHECK(at(s + 128) == one);
    f.record(s + 192, 0x9000000, 0x2000); // to nothing
    CHECK(at(s + 192) == one);
    CHECK(at(s + 4) == only); // misaligned
    CHECK(at(0xffff000000000000) == only);
    CHECK(at(0x9000000) == only);                                   // not mapped
    CHECK(at(FakeKernel::kUserBase + f.k.user.size() - 8) == only); // half of the record is not there
    CHECK(at((s + 64) | std::uint64_t{0x5a} << 56) == only);        // a tag
    CHECK(at((std::uint64_t{1} << 48) - 8) == only);                // over the end of user addresses
}

TEST_CASE("frames of AArch32 programs lie below their frame pointers", "[CC-034][CC-035]") {
    Fixture f;
    f.open(f.attr());
    const std::uint64_t s = f.alloc(128);
    const auto frame = [&](std::uint64_t fp, std::uint32_t next, std::uint32_t lr) {
        const std::uint32_t words[3] = {next, 0x5555, lr};
        std::memcpy(f.k.user_ptr(fp - sizeof words), words, sizeof words);
    };
    const auto at = [](std::uint64_t a) { return static_cast<std::uint32_t>(a); };
    frame(s + 16, at(s + 36), 0x2000);
    frame(s + 36, at(s + 64), 0x3001);
    frame(s + 64, 0, 0x4000); // the outermost: not above it
    PtRegs r = f.user(0x1000, 0xdead0);
    r.pstate = 0x10;
    r.regs[11] = s + 16;
    CHECK(f.sample(r) == Chain{kUserMarker, 0x1000, 0x2000, 0x3001, 0x4000});
    frame(s + 36, at(s + 24), 0x3001); // down again
    CHECK(f.sample(r) == Chain{kUserMarker, 0x1000, 0x2000, 0x3001});
    frame(s + 16, at(s + 37), 0x2000); // not aligned to words
    CHECK(f.sample(r) == Chain{kUserMarker, 0x1000, 0x2000});
    r.regs[11] = 0;
    CHECK(f.sample(r) == Chain{kUserMarker, 0x1000});
}

TEST_CASE("return addresses lose their authentication code", "[CC-029]") {
    Fixture f;
    f.open(f.attr());
    const std::uint64_t s = f.alloc(64);
    const auto lr = [&](std::uint64_t v) {
        f.record(s, 0, v);
        PtRegs r = f.user(0x1000, s);
        return f.sample(r).at(2);
    };
    CHECK(lr(0x0000ffff12345678) == 0x0000ffff12345678);
    CHECK(lr(0x007f123412345678) == 0x0000123412345678);
    CHECK(lr(0xab2a123412345678) == 0xab00123412345678);
    CHECK(lr(0x0080123412345678) == 0xffff123412345678);
}

TEST_CASE("depth", "[CC-007][CC-018][CC-019][CC-022][CORE-381]") {
    Fixture f;
    const std::uint64_t s = f.alloc(201 * 16);
    for (std::uint64_t i = 0; i < 200; ++i) f.record(s + 16 * i, s + 16 * (i + 1), 0x2000 + i);
    f.record(s + 3200, 0, 0);
    const auto nr = [&](unsigned max) {
        perf_event_attr a = f.attr();
        a.sample_max_stack = static_cast<std::uint16_t>(max);
        f.open(a);
        PtRegs r = f.user(0x1000, s);
        return f.sample(r).size();
    };
    CHECK(nr(0) == 128);
    CHECK(nr(1) == 2);
    CHECK(nr(2) == 3);
    CHECK(nr(10) == 11);
    CHECK(nr(126) == 127);
    CHECK(nr(127) == 128);
}

TEST_CASE("users of the buffers", "[CC-002][CC-003][CC-005][CC-006][CORE-088]") {
    Fixture f;
    perf_event_attr a = f.attr();
    a.sample_max_stack = 128;
    CHECK(f.try_open(a) == EOVERFLOW);
    a.sample_max_stack = 65535;
    CHECK(f.try_open(a) == EOVERFLOW);
    CHECK(f.p().counts.nr_callchain == 0);
    a.sample_type = PERF_SAMPLE_IP;
    CHECK(f.try_open(a) == 0);
    const auto set = [&](const char* v) { return f.k.attributes.at("/proc/sys/kernel/perf_event_max_stack").store(v); };
    {
        const int fd = f.must_open(f.attr());
        CHECK(f.p().counts.nr_callchain == 1);
        CHECK(set("64") == -EBUSY);
        f.k.close(fd);
    }
    CHECK(f.p().counts.nr_callchain == 0);
    CHECK(set("1") == 1);
    a = f.attr();
    a.sample_max_stack = 2;
    CHECK(f.try_open(a) == EOVERFLOW);
    a.sample_max_stack = 1;
    CHECK(f.try_open(a) == 0);
    a.sample_max_stack = 0; // the maximum of now
    const int fd = f.must_open(a);
    CHECK(f.event(fd).attr.sample_max_stack == 1);
}

TEST_CASE("limits of the limits", "[CC-001][CC-002]") {
    Fixture f;
    const auto& depth = f.k.attributes.at("/proc/sys/kernel/perf_event_max_stack");
    const auto& contexts = f.k.attributes.at("/proc/sys/kernel/perf_event_max_contexts_per_stack");
    CHECK(depth.mode == 0644);
    CHECK(depth.show() == "127\n");
    CHECK(contexts.show() == "8\n");
    CHECK(depth.store("655360") == 6);
    CHECK(depth.store("655361") == -EINVAL);
    CHECK(depth.store("-1") == -EINVAL);
    CHECK(depth.show() == "655360\n");
    CHECK(contexts.store("1000") == 4);
    CHECK(contexts.store("1001") == -EINVAL);
    f.must_open(f.attr());
    CHECK(contexts.store("8") == -EBUSY);
    CHECK(contexts.store("1001") == -EINVAL); // the value is looked at first
}

TEST_CASE("kernel frames come first and have priority",
          "[CC-014][CC-016][CC-018][CC-021][CC-036][CC-037][CORE-380][CORE-381]") {
    Fixture f;
    const std::uint64_t s = f.alloc(64);
    f.record(s, 0, 0x2000);
    f.task.regs = f.user(0x1000, s);
    f.k.kernel_frames = {0xffff800008000200, 0xffff800008000300};
    PtRegs regs = f.kernel_regs(0xffff800008000100);
    const Chain kernel{kKernelMarker, 0xffff800008000100, 0xffff800008000200, 0xffff800008000300};
    const auto chain = [&](unsigned max_stack, bool no_kernel = false, bool no_user = false) {
        perf_event_attr a = f.attr();
        a.sample_max_stack = static_cast<std::uint16_t>(max_stack);
        a.exclude_callchain_kernel = no_kernel;
        a.exclude_callchain_user = no_user;
        f.open(a);
        return f.sample(regs);
    };
    Chain all = kernel;
    all.insert(all.end(), {kUserMarker, 0x1000, 0x2000});
    CHECK(chain(0) == all);
    CHECK(chain(0, false, true) == kernel);
    CHECK(chain(0, true, false) == Chain{kUserMarker, 0x1000, 0x2000});
    CHECK(chain(0, true, true).empty());
    CHECK(chain(2) == Chain{kKernelMarker, 0xffff800008000100, 0xffff800008000200, kUserMarker});
    CHECK(chain(4) ==
          Chain{kKernelMarker, 0xffff800008000100, 0xffff800008000200, 0xffff800008000300, kUserMarker, 0x1000});
}

TEST_CASE("in a guest there are markers without frames, and the sample is the guest's",
          "[CC-024][CC-045][CORE-369][CORE-373]") {
    struct Guest final : PerfGuestInfoCallbacks {
        unsigned now{kActive};
        unsigned state() override { return now; }
        std::uint64_t get_ip() override { return 0x777000; }
    } guest, another;
    Fixture f;
    const std::uint64_t s = f.alloc(64);
    f.record(s, 0, 0x2000);
    f.task.regs = f.user(0x1000, s);
    f.k.kernel_frames = {0xffff800008000200};
    PtRegs regs = f.kernel_regs(0xffff800008000100);
    f.open(f.attr());
    REQUIRE(f.perf.perf_register_guest_info_cbs(guest));
    CHECK_FALSE(f.perf.perf_register_guest_info_cbs(another));
    const auto sample = [&] {
        f.perf.perf_sw_event(PERF_COUNT_SW_PAGE_FAULTS, 1, &regs, 0);
        return f.ring->must_next();
    };
    Record r = sample();
    CHECK(r.header.misc == PERF_RECORD_MISC_GUEST_KERNEL);
    CHECK(r.word(0) == 0x777000);
    REQUIRE(r.word(1) == 2);
    CHECK(r.word(2) == kKernelMarker);
    CHECK(r.word(3) == kUserMarker);
    guest.now |= PerfGuestInfoCallbacks::kUser;
    CHECK(sample().header.misc == PERF_RECORD_MISC_GUEST_USER);
    guest.now = 0;
    r = sample();
    CHECK(r.header.misc == PERF_RECORD_MISC_KERNEL);
    CHECK(r.word(0) == regs.pc);
    CHECK(r.word(1) == 6);
    f.perf.perf_unregister_guest_info_cbs(another);
    guest.now = PerfGuestInfoCallbacks::kActive;
    CHECK(sample().header.misc == PERF_RECORD_MISC_GUEST_KERNEL);
    f.perf.perf_unregister_guest_info_cbs(guest);
    CHECK(sample().header.misc == PERF_RECORD_MISC_KERNEL);
}

TEST_CASE("the number of markers is limited", "[CC-020][CC-021]") {
    Fixture f;
    f.task.regs = f.user(0x1000, 0);
    PtRegs regs = f.kernel_regs(0xffff800008000100);
    f.p().sysctl.perf_event_max_contexts_per_stack = 1;
    f.open(f.attr());
    CHECK(f.sample(regs) == Chain{kKernelMarker, 0xffff800008000100});
    f.p().sysctl.perf_event_max_contexts_per_stack = 0;
    CHECK(f.sample(regs).empty());
}

TEST_CASE("exclusions while in the user's code", "[CC-012][CC-015]") {
    Fixture f;
    PtRegs regs = f.user(0x1000, 0);
    perf_event_attr a = f.attr();
    a.exclude_callchain_user = 1;
    f.open(a);
    CHECK(f.sample(regs).empty());
    a.exclude_callchain_user = 0;
    a.exclude_callchain_kernel = 1;
    f.open(a);
    CHECK(f.sample(regs) == Chain{kUserMarker, 0x1000});
}

TEST_CASE("kernel threads have no user part", "[CC-012][CC-016]") {
    Fixture f;
    perf_event_attr a = f.attr();
    f.fd = f.must_open(a, -1, 0);
    f.ring = std::make_unique<Ring>(f, f.fd, 4);
    f.enable(f.fd);
    f.k.switch_to(0, nullptr);
    PtRegs regs = f.kernel_regs(0xffff800008000100);
    CHECK(f.sample(regs) == Chain{kKernelMarker, 0xffff800008000100});
    a.exclude_callchain_kernel = 1;
    f.ring.reset();
    f.fd = f.must_open(a, -1, 0);
    f.ring = std::make_unique<Ring>(f, f.fd, 4);
    f.enable(f.fd);
    CHECK(f.sample(regs).empty());
    f.k.switch_to(0, &f.task);
}

TEST_CASE("another task's user part is not looked at", "[CC-013][CC-014][CC-017][CORE-380]") {
    Fixture f;
    f.open(f.attr());
    PerfEvent& e = f.event(f.fd);
    f.task.regs = f.user(0x1000, 0);
    PtRegs regs = f.kernel_regs(0xffff800008000100);
    FakeTask& other = f.k.make_task(200);
    FakeTask* const mine = f.k.here().current;
    f.k.here().current = &other;
    Chain chain;
    perf_callchain(f.p(), e, regs, chain);
    CHECK(chain == Chain{kKernelMarker, 0xffff800008000100});
    e.attr.exclude_callchain_kernel = 1;
    perf_callchain(f.p(), e, regs, chain);
    CHECK(chain.empty());
    f.k.here().current = mine;
}

TEST_CASE("one chain at a time for each level of interruption", "[CC-009][RB-076][RB-077]") {
    Fixture f;
    f.open(f.attr());
    PtRegs regs = f.user(0x1000, 0);
    auto& slots = f.p().percpu[0].callchain_recursion;
    slots[0] = 1;
    CHECK(f.sample(regs).empty()); // still a sample, with an empty chain
    f.k.in_interrupt([&] { CHECK(f.sample(regs).size() == 2); });
    slots[0] = 0;
    CHECK(f.sample(regs).size() == 2);
    for (const auto s : slots) CHECK(s == 0);
    // Without users there are no buffers to build it in.
    Chain chain;
    f.p().counts.nr_callchain = 0;
    CHECK_FALSE(get_perf_callchain(f.p(), regs, {true, true, 127, false, true}, chain));
    f.p().counts.nr_callchain = 1;
    CHECK(slots[0] == 0);
}

} // namespace rkperf::ke::test::callchain_test
