// SPDX-License-Identifier: Apache-2.0
// Side-band records: who receives them and what is in them (tests/probes b_sideband on a real Linux 6.1).
#include "tests/kernel_events/ring.h"

namespace rkperf::ke::test::sideband_test {

perf_event_attr dummy() { return World::on(World::sw(PERF_COUNT_SW_DUMMY)); }

template <class Set>
perf_event_attr dummy(Set&& set) {
    perf_event_attr a = dummy();
    set(a);
    return a;
}

struct Names {
    const char* comm;
    unsigned size;
};

TEST_CASE("COMM: name, size, exec", "[CORE-400][CORE-401][CORE-407][CORE-415]") {
    const Names n = GENERATE(Names{"", 24}, Names{"a", 24}, Names{"1234567", 24}, Names{"12345678", 32},
                             Names{"123456789012345", 32});
    World w;
    w.perf.perf_event_comm(w.task, false); // nobody asks
    const int fd = w.must_open(dummy([](auto& a) { a.comm = 1; }));
    Ring ring(w, fd, 1);
    std::memset(w.task.comm, 0, sizeof w.task.comm);
    std::strncpy(w.task.comm, n.comm, sizeof w.task.comm - 1);
    w.perf.perf_event_comm(w.task, false);
    w.perf.perf_event_comm(w.task, true);
    const auto v = ring.drain();
    REQUIRE(v.size() == 2);
    CHECK(v[0].header.misc == 0);
    CHECK(v[1].header.misc == PERF_RECORD_MISC_COMM_EXEC);
    for (const Record& r : v) {
        CHECK(r.header.type == PERF_RECORD_COMM);
        CHECK(r.header.size == n.size);
        CHECK(r.half(0) == 100);
        CHECK(r.half(1) == 100);
        CHECK(r.text(16) == n.comm);
        for (std::size_t i = 16 + std::strlen(n.comm); i < r.bytes.size(); ++i) CHECK(r.bytes[i] == 0);
    }
}

TEST_CASE("trailers", "[CORE-397][CORE-398][CORE-399]") {
    using Case = std::pair<std::uint64_t, unsigned>;
    const Case c =
        GENERATE(Case{0, 24}, Case{PERF_SAMPLE_TID, 32}, Case{PERF_SAMPLE_TIME, 32}, Case{PERF_SAMPLE_ID, 32},
                 Case{PERF_SAMPLE_STREAM_ID, 32}, Case{PERF_SAMPLE_CPU, 32}, Case{PERF_SAMPLE_IDENTIFIER, 32},
                 Case{PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD, 24}, Case{0x102c7, 72});
    const bool all = GENERATE(false, true);
    World w;
    perf_event_attr a = dummy();
    a.comm = 1;
    a.sample_id_all = all;
    a.sample_type = c.first;
    const int fd = w.must_open(a);
    Ring ring(w, fd, 1);
    FakeTask& other = w.k.make_task(300, "other");
    w.perf.perf_event_comm(other, false); // current renames another task
    const Record r = ring.must_next();
    CHECK(r.header.size == (all ? c.second : 24));
    CHECK(r.half(0) == 300);
    if (!all || c.second != 72) return;
    const std::uint64_t id = w.event(fd).id;
    CHECK(r.word(2) == (100ull << 32 | 100)); // current, not the subject
    CHECK(r.word(3) == w.k.now_ns);
    CHECK(r.word(4) == id);
    CHECK(r.word(5) == id);
    CHECK(r.word(6) == 0);
    CHECK(r.word(7) == id);
}

TEST_CASE("FORK and EXIT: who is whose parent", "[CORE-411][CORE-412][CORE-413][CORE-521]") {
    World w;
    const int fd = w.must_open(dummy([](auto& a) { a.task = 1; }));
    Ring ring(w, fd, 1);
    w.task.tgid = 90; // current is a thread of process 90
    w.task.pid = 100;
    FakeTask& child = w.k.make_task(101);
    child.real_parent = &w.task;
    w.k.advance(500);
    w.perf.perf_event_fork(child);
    Record r = ring.must_next();
    CHECK(r.header.type == PERF_RECORD_FORK);
    CHECK(r.header.misc == 0);
    CHECK(r.header.size == 32);
    CHECK(r.half(0) == 101); // pid
    CHECK(r.half(1) == 90);  // ppid
    CHECK(r.half(2) == 101); // tid
    CHECK(r.half(3) == 100); // ptid
    CHECK(r.word(2) == w.k.now_ns);
    w.p().perf_event_task(child, nullptr, false);
    r = ring.must_next();
    CHECK(r.header.type == PERF_RECORD_EXIT);
    CHECK(r.half(0) == 101);
    CHECK(r.half(1) == 90);
    CHECK(r.half(2) == 101);
    CHECK(r.half(3) == 90);
    w.task.tgid = 100;
}

TEST_CASE("which attributes receive FORK and EXIT", "[CORE-407][CORE-411]") {
    World w;
    struct Case {
        void (*set)(perf_event_attr&);
        bool receives;
    };
    const Case c = GENERATE(
        Case{[](perf_event_attr& a) { a.comm = 1; }, true}, Case{[](perf_event_attr& a) { a.mmap = 1; }, true},
        Case{[](perf_event_attr& a) { a.mmap_data = 1; }, true}, Case{[](perf_event_attr& a) { a.task = 1; }, true},
        Case{[](perf_event_attr& a) { a.mmap2 = 1; }, false}, // alone it opens no gate
        Case{[](perf_event_attr& a) { a.context_switch = 1; }, false}, Case{[](perf_event_attr&) {}, false});
    const int fd = w.must_open(dummy(c.set));
    Ring ring(w, fd, 1);
    w.perf.perf_event_fork(w.k.make_task(101));
    CHECK(ring.drain().size() == (c.receives ? 1 : 0));
}

TEST_CASE("mmap2 alone receives when another event opens the gate", "[CORE-091][CORE-411]") {
    World w;
    const int fd = w.must_open(dummy([](auto& a) { a.mmap2 = 1; }));
    Ring ring(w, fd, 1);
    VmaInfo vma;
    vma.vm_exec = true;
    vma.path = "/x";
    vma.has_file = true;
    w.perf.perf_event_mmap(vma);
    CHECK(ring.drain().empty());
    w.must_open(dummy([](auto& a) { a.mmap = 1; }));
    w.perf.perf_event_mmap(vma);
    w.perf.perf_event_fork(w.k.make_task(101));
    CHECK(ring.drain().size() == 2);
}

TEST_CASE("the end of a task is told to its own events first, then once to the CPU's",
          "[CORE-403][CORE-413][CORE-414]") {
    World w;
    perf_event_attr a = dummy([](auto& x) { x.task = 1; });
    const int own = w.must_open(a), cpu = w.must_open(a, -1, 0), other_cpu = w.must_open(a, -1, 1);
    Ring r_own(w, own, 1), r_cpu(w, cpu, 1), r_other(w, other_cpu, 1);
    w.exit_current(0);
    CHECK(r_own.drain().size() == 1);
    CHECK(r_cpu.drain().size() == 1);
    CHECK(r_other.drain().empty());
}

TEST_CASE("order of receivers: the CPU's newest first, then the task's newest first",
          "[CORE-403][CORE-404][CORE-405][CORE-410]") {
    World w;
    perf_event_attr a = dummy([](auto& x) { x.comm = 1; });
    a.sample_id_all = 1;
    a.sample_type = PERF_SAMPLE_IDENTIFIER;
    std::vector<int> fds;
    for (const int cpu : {-1, 0, -1, 0}) {
        const int fd = cpu < 0 ? w.must_open(a) : w.must_open(a, -1, cpu);
        fds.push_back(fd);
    }
    // All write to one buffer each; the order shows in the trace of the room they take.
    std::vector<std::uint64_t> order;
    std::vector<std::unique_ptr<Ring>> rings;
    for (const int fd : fds) rings.push_back(std::make_unique<Ring>(w, fd, 1));
    w.k.time_passes = [&] {
        for (std::size_t i = 0; i < rings.size(); ++i)
            if (rings[i]->rb().head && std::find(order.begin(), order.end(), i) == order.end()) order.push_back(i);
    };
    w.perf.perf_event_comm(w.task, false);
    w.k.time_passes = nullptr;
    CHECK(order == std::vector<std::uint64_t>{3, 1, 2, 0});
    // OFF receives nothing.
    w.disable(fds[2]);
    w.perf.perf_event_comm(w.task, false);
    CHECK(rings[2]->drain().size() == 1);
    CHECK(rings[0]->drain().size() == 2);
}

TEST_CASE("only on its CPU, only where its PMU is", "[CORE-406][CORE-409]") {
    World w(4, {{"little", 0x3, {23}, 0, {}}, {"big", 0xc, {23}, 2, {}}});
    perf_event_attr a = dummy([](auto& x) { x.comm = 1; });
    perf_event_attr hw = World::hw(kCycles); // of the first PMU
    hw.comm = 1;
    hw.disabled = 0;
    const int bound = w.must_open(a, 0, 1), any = w.must_open(a), core = w.must_open(hw);
    Ring r_bound(w, bound, 1), r_any(w, any, 1), r_core(w, core, 1);
    const auto rename_on = [&](int cpu) {
        w.k.switch_to(w.task.task_cpu, nullptr);
        w.k.switch_to(cpu, &w.task);
        w.k.on_cpu(cpu);
        w.perf.perf_event_comm(w.task, false);
        w.k.on_cpu(0);
        return std::vector<std::size_t>{r_bound.drain().size(), r_any.drain().size(), r_core.drain().size()};
    };
    CHECK(rename_on(0) == std::vector<std::size_t>{0, 1, 1});
    CHECK(rename_on(1) == std::vector<std::size_t>{1, 1, 1});
    CHECK(rename_on(2) == std::vector<std::size_t>{0, 1, 0});
    rename_on(0);
}

TEST_CASE("copies receive for their task, into the original's buffer", "[CORE-408]") {
    World w;
    perf_event_attr a = dummy([](auto& x) { x.comm = x.inherit = 1; });
    const int fd = w.must_open(a, 0, 0);
    Ring ring(w, fd, 1);
    FakeTask& child = w.fork(101);
    w.k.switch_to(0, nullptr);
    w.k.switch_to(0, &child);
    w.perf.perf_event_comm(child, false);
    CHECK(ring.must_next().half(0) == 101);
    w.exit_current(0);
    w.k.switch_to(0, &w.task);
}

VmaInfo text_map() {
    VmaInfo v;
    v.start = 0x400000;
    v.end = 0x402000;
    v.pgoff = 3;
    v.prot = 5;
    v.flags = 2;
    v.vm_exec = v.has_file = true;
    v.path = "/usr/bin/program";
    v.inode = {8, 1, 4711, 99};
    for (int i = 0; i < 20; ++i) v.build_id.push_back(static_cast<std::uint8_t>(0x80 + i));
    return v;
}

TEST_CASE("MMAP", "[CORE-400][CORE-401][CORE-417][CORE-418][CORE-420]") {
    World w;
    const bool data = GENERATE(false, true);
    const int fd = w.must_open(dummy([&](auto& a) { (data ? a.mmap_data = 1 : a.mmap = 1); }));
    Ring ring(w, fd, 4);
    VmaInfo v = text_map();
    v.vm_exec = !data;
    w.perf.perf_event_mmap(v);
    const Record r = ring.must_next();
    CHECK(r.header.type == PERF_RECORD_MMAP);
    CHECK(r.header.misc == (data ? 0x2002 : 2));
    CHECK(r.header.size == 40 + 24);
    CHECK(r.half(0) == 100);
    CHECK(r.half(1) == 100);
    CHECK(r.word(1) == 0x400000);
    CHECK(r.word(2) == 0x2000);
    CHECK(r.word(3) == 0x3000);
    CHECK(r.text(40) == "/usr/bin/program");
    v.vm_exec = data; // the other kind
    w.perf.perf_event_mmap(v);
    CHECK(ring.drain().empty());
    v.vm_exec = !data;
    v.path = std::string(4087, 'a');
    w.perf.perf_event_mmap(v);
    CHECK(ring.must_next().header.size == 40 + 4088);
    v.path += 'b';
    w.perf.perf_event_mmap(v);
    CHECK(ring.must_next().text(40) == "//toolong");
    v.has_file = false;
    v.path = "a name of a driver";
    w.perf.perf_event_mmap(v);
    CHECK(ring.must_next().text(40) == "a name of a dri");
}

TEST_CASE("MMAP2 with inode or build id", "[CORE-419][CORE-421]") {
    World w;
    const bool build_id = GENERATE(false, true);
    const int fd = w.must_open(dummy([&](auto& a) {
        a.mmap = a.mmap2 = 1;
        a.build_id = build_id;
    }));
    Ring ring(w, fd, 1);
    VmaInfo v = text_map();
    w.perf.perf_event_mmap(v);
    Record r = ring.must_next();
    CHECK(r.header.type == PERF_RECORD_MMAP2);
    CHECK(r.header.misc == (build_id ? 0x4002 : 2));
    CHECK(r.header.size == 72 + 24);
    CHECK(r.word(3) == 0x3000);
    if (build_id) {
        CHECK(r.at<std::uint32_t>(40) == 20);
        for (std::size_t i = 0; i < 20; ++i) CHECK(r.bytes[44 + i] == 0x80 + i);
    } else {
        CHECK(r.at<std::uint32_t>(40) == 8);
        CHECK(r.at<std::uint32_t>(44) == 1);
        CHECK(r.at<std::uint64_t>(48) == 4711);
        CHECK(r.at<std::uint64_t>(56) == 99);
    }
    CHECK(r.at<std::uint32_t>(64) == 5);
    CHECK(r.at<std::uint32_t>(68) == 2);
    CHECK(r.text(72) == "/usr/bin/program");
    v.build_id.clear();
    w.perf.perf_event_mmap(v);
    r = ring.must_next();
    CHECK(r.header.misc == 2);
    CHECK(r.at<std::uint64_t>(48) == 4711);
    v.build_id.assign(8, 0xcc); // shorter: filled with zeros
    w.perf.perf_event_mmap(v);
    r = ring.must_next();
    CHECK(r.at<std::uint32_t>(40) == 8); // the size, or the device's major number
    if (build_id) CHECK(r.at<std::uint64_t>(52) == 0);
}

TEST_CASE("the build-id bit sticks for later receivers of one mapping", "[CORE-422]") {
    World w;
    const auto open = [&](bool build_id) {
        return w.must_open(dummy([&](auto& a) {
            a.mmap = a.mmap2 = 1;
            a.build_id = build_id;
        }));
    };
    const int plain = open(false), with = open(true); // the newest is first
    Ring r_plain(w, plain, 1), r_with(w, with, 1);
    w.perf.perf_event_mmap(text_map());
    CHECK(r_with.must_next().header.misc == 0x4002);
    const Record r = r_plain.must_next();
    CHECK(r.header.misc == 0x4002);
    CHECK(r.at<std::uint64_t>(48) == 4711); // yet plain contents
}

TEST_CASE("NAMESPACES", "[CORE-404][CORE-412][CORE-423]") {
    World w;
    const int fd = w.must_open(dummy([](auto& a) { a.namespaces = 1; }));
    const int cpu = w.must_open(dummy([](auto& a) { a.namespaces = 1; }), -1, 0);
    Ring ring(w, fd, 1), none(w, cpu, 1);
    FakeTask& child = w.k.make_task(101);
    w.perf.perf_event_fork(child);
    const Record r = ring.must_next();
    CHECK(r.header.type == PERF_RECORD_NAMESPACES);
    CHECK(r.header.size == 136);
    CHECK(r.half(0) == 101);
    CHECK(r.word(1) == 7);
    for (std::size_t i = 0; i < 7; ++i) CHECK(r.word(2 + 2 * i) == 4);
    CHECK(r.word(3) == 0xf0000000);  // net
    CHECK(r.word(11) == 0xeffffffd); // user
    CHECK(none.drain().empty());     // namespaces alone makes no CPU-wide receiver
}

TEST_CASE("SWITCH and SWITCH_CPU_WIDE", "[CORE-401][CORE-424][CORE-425]") {
    World w;
    perf_event_attr a = dummy([](auto& x) { x.context_switch = 1; });
    a.sample_id_all = 1;
    a.sample_type = PERF_SAMPLE_TID;
    const int own = w.must_open(a), cpu = w.must_open(a, -1, 0);
    Ring r_own(w, own, 1), r_cpu(w, cpu, 1);
    FakeTask& other = w.k.make_task(200);
    w.k.switch_to(0, &other); // blocks
    Record r = r_own.must_next();
    CHECK(r.header.type == PERF_RECORD_SWITCH);
    CHECK(r.header.misc == PERF_RECORD_MISC_SWITCH_OUT);
    CHECK(r.header.size == 16);
    CHECK(r.half(0) == 100);
    r = r_cpu.must_next();
    CHECK(r.header.type == PERF_RECORD_SWITCH_CPU_WIDE);
    CHECK(r.header.misc == PERF_RECORD_MISC_SWITCH_OUT);
    CHECK(r.header.size == 24);
    CHECK(r.half(0) == 200); // next
    CHECK(r.half(2) == 100); // written by the one that leaves
    r = r_cpu.must_next();
    CHECK(r.header.misc == 0);
    CHECK(r.half(0) == 100); // previous
    CHECK(r.half(2) == 200);
    Record none;
    CHECK_FALSE(r_own.next(none));
    other.runnable = true; // preempted
    w.k.switch_to(0, &w.task);
    CHECK(r_cpu.must_next().header.misc == (PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT));
    CHECK(r_cpu.must_next().header.misc == 0);
    r = r_own.must_next();
    CHECK(r.header.misc == 0);
    CHECK_FALSE(r_own.next(none));
}

TEST_CASE("a task that nobody can find any more is -1", "[CORE-014]") {
    World w;
    perf_event_attr a = dummy([](auto& x) { x.context_switch = 1; });
    const int cpu = w.must_open(a, -1, 0);
    Ring ring(w, cpu, 1);
    w.task.dead = true;
    w.k.switch_to(0, nullptr);
    CHECK(ring.must_next().half(0) == 0); // next is the idle task
    CHECK(ring.must_next().half(0) == 0xffffffff);
    w.task.dead = false;
    w.k.switch_to(0, &w.task);
}

TEST_CASE("READ", "[CORE-428]") {
    World w;
    perf_event_attr a = fault_attr(PERF_SAMPLE_CPU);
    a.sample_id_all = 1;
    a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_ID;
    const int fd = w.must_open(a);
    Ring ring(w, fd, 1);
    w.event(fd).count = 42;
    FakeTask& task = w.k.make_task(300);
    w.p().perf_event_read_event(w.event(fd), task);
    const Record r = ring.must_next();
    CHECK(r.header.type == PERF_RECORD_READ);
    CHECK(r.header.size == 16 + 24 + 8);
    CHECK(r.half(0) == 300);
    CHECK(r.half(1) == 300);
    CHECK(r.word(1) == 42);
    CHECK(r.word(3) == w.event(fd).id);
    CHECK(r.word(4) == 0);
}

TEST_CASE("KSYMBOL", "[CORE-407][CORE-429]") {
    World w;
    w.p().perf_event_ksymbol(PERF_RECORD_KSYMBOL_TYPE_OOL, 1, 2, false, "nobody asks");
    const int fd = w.must_open(dummy([](auto& a) { a.ksymbol = 1; }), -1, 0);
    Ring ring(w, fd, 1);
    const std::uint16_t ool = PERF_RECORD_KSYMBOL_TYPE_OOL;
    w.p().perf_event_ksymbol(ool, 0xffff800008000000, 64, false, "symbol");
    Record r = ring.must_next();
    CHECK(r.header.type == PERF_RECORD_KSYMBOL);
    CHECK(r.header.size == 24 + 8);
    CHECK(r.word(0) == 0xffff800008000000);
    CHECK(r.half(2) == 64);
    CHECK(r.half(3) == 2);
    CHECK(r.text(24) == "symbol");
    w.p().perf_event_ksymbol(ool, 1, 2, true, std::string(600, 'x'));
    r = ring.must_next();
    CHECK(r.half(3) == (1u << 16 | 2));
    CHECK(r.header.size == 24 + 512);
    CHECK(r.text(24) == std::string(511, 'x'));
    w.p().perf_event_ksymbol(PERF_RECORD_KSYMBOL_TYPE_MAX, 1, 2, false, "x");
    CHECK(ring.drain().empty());
    REQUIRE_FALSE(w.k.log.empty());
    CHECK(w.k.log.back() == "Invalid KSYMBOL type 3");
}

TEST_CASE("BPF_EVENT", "[CORE-430]") {
    World w;
    const int fd = w.must_open(dummy([](auto& a) { a.bpf_event = 1; }), -1, 0);
    Ring ring(w, fd, 1);
    const std::uint8_t tag[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    w.p().perf_event_bpf_event(PERF_BPF_EVENT_PROG_UNLOAD, 77, tag);
    const Record r = ring.must_next();
    CHECK(r.header.type == PERF_RECORD_BPF_EVENT);
    CHECK(r.header.size == 24);
    CHECK(r.half(0) == 2);
    CHECK(r.half(1) == 77);
    CHECK(r.word(1) == 0x0807060504030201);
    w.p().perf_event_bpf_event(PERF_BPF_EVENT_UNKNOWN, 77, tag);
    CHECK(ring.drain().empty());
}

TEST_CASE("TEXT_POKE", "[CORE-432]") {
    World w;
    const int fd = w.must_open(dummy([](auto& a) { a.text_poke = 1; }), -1, 0);
    Ring ring(w, fd, 1);
    const std::vector<std::uint8_t> none, insn{0x1f, 0x20, 0x03, 0xd5};
    w.p().perf_event_text_poke(0xffff800008000000, none, insn);
    Record r = ring.must_next();
    CHECK(r.header.type == PERF_RECORD_TEXT_POKE);
    CHECK(r.header.misc == PERF_RECORD_MISC_KERNEL);
    CHECK(r.header.size == 16 + 8);
    CHECK(r.word(0) == 0xffff800008000000);
    CHECK(r.half(2) == 4u << 16);
    CHECK(r.half(3) == 0xd503201f);
    w.p().perf_event_text_poke(1, insn, insn);
    r = ring.must_next();
    CHECK(r.header.size == 16 + 16);
    CHECK(r.half(2) == (4u << 16 | 4));
    CHECK(r.half(5) == 0); // filled up
}

TEST_CASE("at exec: events are enabled, then they see COMM and the new mappings", "[CORE-416]") {
    World w;
    perf_event_attr a = World::sw(PERF_COUNT_SW_DUMMY);
    a.comm = a.mmap = a.enable_on_exec = 1;
    perf_event_attr gone = dummy([](auto& x) { x.comm = x.remove_on_exec = 1; });
    const int fd = w.must_open(a), removed = w.must_open(gone);
    Ring ring(w, fd, 1), none(w, removed, 1);
    w.perf.perf_event_exec();
    w.perf.perf_event_comm(w.task, true);
    w.perf.perf_event_mmap(text_map());
    const auto v = ring.drain();
    REQUIRE(v.size() == 2);
    CHECK(v[0].header.type == PERF_RECORD_COMM);
    CHECK(v[0].header.misc == PERF_RECORD_MISC_COMM_EXEC);
    CHECK(v[1].header.type == PERF_RECORD_MMAP);
    CHECK(none.drain().empty());
}

TEST_CASE("receivers that another CPU closes while they are served", "[CORE-403][RB-109]") {
    World w;
    const perf_event_attr a = dummy([](auto& x) { x.comm = 1; });
    const int first = w.must_open(a, -1, 0), second = w.must_open(a, -1, 0), last = w.must_open(a);
    Ring ring(w, last, 1);
    auto gone = std::make_unique<Ring>(w, second, 1);
    bool done = false;
    w.k.time_passes = [&] {
        if (done || gone->rb().head == 0) return; // in the middle of the record of `second`, which is served first
        done = true;
        w.k.on_cpu(1);
        w.k.close(first);
        w.k.close(second);
        gone.reset();
        w.k.on_cpu(0);
        CHECK(w.p().rcu_freed.size() == 2);
    };
    w.perf.perf_event_comm(w.task, false);
    w.k.time_passes = nullptr;
    CHECK(done);
    CHECK(w.p().rcu_freed.empty());
    CHECK(ring.drain().size() == 1); // the others are served all the same
}

TEST_CASE("an interrupt in the middle of a record nests its sample behind it", "[RB-027][RB-035][RB-036]") {
    World w;
    perf_event_attr a = fault_attr(PERF_SAMPLE_ADDR);
    a.comm = 1;
    a.disabled = 0;
    const int fd = w.must_open(a);
    Ring ring(w, fd, 1);
    bool done = false;
    w.k.time_passes = [&] {
        if (done || ring.rb().head == 0) return; // room is reserved: now
        done = true;
        w.k.in_interrupt([&] { w.k.page_fault(0, fault_page(7)); });
        CHECK(ring.head() == 0); // not published by the one inside
    };
    w.perf.perf_event_comm(w.task, false);
    w.k.time_passes = nullptr;
    const auto v = ring.drain();
    REQUIRE(v.size() == 2);
    CHECK(v[0].header.type == PERF_RECORD_COMM);
    CHECK(v[0].text(16) == "first");
    CHECK(v[1].word(0) == fault_page(7));
}

} // namespace rkperf::ke::test::sideband_test
