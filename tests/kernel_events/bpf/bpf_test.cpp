// SPDX-License-Identifier: Apache-2.0
#include "kernel_events/bpf/bpf.h"
#include "kernel_events/bpf/sha1.h"
#include "kernel_events/bpf/verifier_state.h"
#include "tests/kernel_events/fixture.h"
#include "tests/kernel_events/ring.h"

#include <sys/ioctl.h>

using namespace rkperf::ke;
using namespace rkperf::ke::test;

namespace {

using Insns = std::vector<bpf_insn>;

bpf_insn insn(unsigned code, unsigned dst = 0, unsigned src = 0, int off = 0, int imm = 0) {
    bpf_insn i{};
    i.code = static_cast<std::uint8_t>(code);
    i.dst_reg = dst & 15, i.src_reg = src & 15;
    i.off = static_cast<std::int16_t>(off);
    i.imm = imm;
    return i;
}
bpf_insn mov(unsigned d, int v) { return insn(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, v); }
const bpf_insn kExit = insn(BPF_JMP | BPF_EXIT);
Insns constant(int v) { return {mov(0, v), kExit}; }
bpf_insn call(int f) { return insn(BPF_JMP | BPF_CALL, 0, 0, 0, f); }

struct BpfWorld : World {
    std::int64_t bpf(int cmd, bpf_attr& a) {
        const std::uint64_t at = k.put_user(a);
        const std::int64_t r = perf.bpf().sys_bpf(cmd, at, sizeof a);
        a = k.get_user<bpf_attr>(at);
        return r;
    }
    int load(std::uint32_t type, const Insns& p, const char* name = "", const char* license = "GPL") {
        bpf_attr a{};
        a.prog_type = type;
        a.insn_cnt = static_cast<std::uint32_t>(p.size());
        a.insns = k.alloc_user(p.size() * sizeof p[0]);
        std::memcpy(k.user_ptr(a.insns), p.data(), p.size() * sizeof p[0]);
        a.license = k.alloc_user(32);
        std::strcpy(reinterpret_cast<char*>(k.user_ptr(a.license)), license);
        std::strncpy(a.prog_name, name, sizeof a.prog_name - 1);
        return static_cast<int>(bpf(BPF_PROG_LOAD, a));
    }
    int perf_prog(const Insns& p) { return load(BPF_PROG_TYPE_PERF_EVENT, p); }
    int map(std::uint32_t type, std::uint32_t key, std::uint32_t value, std::uint32_t n) {
        bpf_attr a{};
        a.map_type = type, a.key_size = key, a.value_size = value, a.max_entries = n;
        return static_cast<int>(bpf(BPF_MAP_CREATE, a));
    }
    template <class K, class V>
    std::int64_t update(int fd, K key, V value, std::uint64_t flags = 0) {
        bpf_attr a{};
        a.map_fd = static_cast<std::uint32_t>(fd);
        a.key = k.put_user(key), a.value = k.put_user(value), a.flags = flags;
        return bpf(BPF_MAP_UPDATE_ELEM, a);
    }
    std::uint64_t lookup(int fd, std::uint32_t key) {
        bpf_attr a{};
        a.map_fd = static_cast<std::uint32_t>(fd);
        a.key = k.put_user(key), a.value = k.put_user(std::array<std::uint64_t, 16>{});
        REQUIRE(bpf(BPF_MAP_LOOKUP_ELEM, a) == 0);
        return k.get_user<std::uint64_t>(a.value);
    }
    perf_event_attr faults() {
        perf_event_attr a = World::on(World::sw(PERF_COUNT_SW_PAGE_FAULTS));
        a.exclude_kernel = 0;
        a.sample_period = 1;
        a.sample_type = PERF_SAMPLE_IP;
        return a;
    }
    int set(int fd, int prog) {
        return static_cast<int>(ioctl(fd, PERF_EVENT_IOC_SET_BPF, static_cast<std::uint64_t>(prog)));
    }
    std::size_t samples(Ring& ring) {
        std::size_t n = 0;
        for (const Record& r : ring.drain()) n += r.header.type == PERF_RECORD_SAMPLE;
        return n;
    }
};

} // namespace

TEST_CASE("a program decides whether a sample is taken", "[CORE-483][CORE-484]") {
    BpfWorld w;
    const int ret = GENERATE(0, 1, 2, -1);
    const int fd = w.must_open(w.faults());
    Ring ring(w, fd, 1);
    CHECK(w.set(fd, w.perf_prog(constant(ret))) == 0);
    CHECK(w.set(fd, w.perf_prog(constant(1))) == -EEXIST);
    for (int i = 0; i < 5; ++i) w.k.page_fault(0, 0x1000);
    CHECK(w.count(fd) == 5);
    CHECK(w.samples(ring) == (ret ? 5u : 0u));
    CHECK(w.event(fd).lost_samples == 0);
}

TEST_CASE("only programs for perf events go there", "[CORE-483]") {
    BpfWorld w;
    const int fd = w.must_open(w.faults());
    CHECK(w.set(fd, -1) == -EBADF);
    CHECK(w.set(fd, fd) == -EINVAL);
    CHECK(w.set(fd, w.load(BPF_PROG_TYPE_TRACEPOINT, constant(1))) == -EINVAL);
    CHECK(w.set(fd, w.map(BPF_MAP_TYPE_ARRAY, 4, 4, 1)) == -EINVAL);
    CHECK(w.set(w.must_open(w.faults()), w.perf_prog(constant(1))) == 0);
}

TEST_CASE("a program sees the event", "[CORE-484]") {
    BpfWorld w;
    const int array = w.map(BPF_MAP_TYPE_ARRAY, 4, 8, 1);
    // *value = ctx->addr
    const Insns p = {insn(BPF_LD | BPF_IMM | BPF_DW, 2, BPF_PSEUDO_MAP_VALUE, 0, array),
                     insn(0),
                     insn(BPF_LDX | BPF_MEM | BPF_DW, 3, 1, 280),
                     insn(BPF_STX | BPF_MEM | BPF_DW, 2, 3, 0),
                     mov(0, 1),
                     kExit};
    const int fd = w.must_open(w.faults());
    REQUIRE(w.set(fd, w.perf_prog(p)) == 0);
    w.k.page_fault(0, 0xabc000);
    CHECK(w.lookup(array, 0) == 0xabc000);
}

TEST_CASE("children run their parent's program", "[CORE-485]") {
    BpfWorld w;
    perf_event_attr a = w.faults();
    a.inherit = 1;
    const int fd = w.must_open(a, 0, 0), prog = w.perf_prog(constant(0));
    Ring ring(w, fd, 1);
    REQUIRE(w.set(fd, prog) == 0);
    w.k.close(prog);
    FakeTask& child = w.fork(101);
    w.k.switch_to(0, &child);
    w.k.page_fault(0, 0x1000);
    w.exit_current(0);
    w.k.switch_to(0, &w.task);
    CHECK(w.samples(ring) == 0);
    CHECK(w.count(fd) == 1);
}

TEST_CASE("programs on a tracepoint have to agree", "[CORE-323][CORE-481][CORE-482][CORE-486]") {
    BpfWorld w;
    perf_event_attr a =
        World::attr(PERF_TYPE_TRACEPOINT,
                    static_cast<std::uint64_t>(w.perf.trace_events().find("sched", "sched_process_fork")->type));
    a.disabled = a.exclude_kernel = a.exclude_hv = 0;
    const int one = w.must_open(a), two = w.must_open(a);
    const std::uint64_t info = w.k.put_user(std::array<std::uint32_t, 8>{4});
    CHECK(w.ioctl(one, PERF_EVENT_IOC_QUERY_BPF, info) == 0);
    CHECK(w.k.get_user<std::array<std::uint32_t, 8>>(info)[1] == 0);
    CHECK(w.set(one, w.perf_prog(constant(1))) == -EINVAL);
    CHECK(w.set(one, w.load(BPF_PROG_TYPE_KPROBE, constant(1))) == -EINVAL);
    CHECK(w.set(one, w.load(BPF_PROG_TYPE_TRACEPOINT, {insn(BPF_LDX | BPF_MEM | BPF_DW, 0, 1, 512), kExit})) ==
          -EACCES);
    const int yes = w.load(BPF_PROG_TYPE_TRACEPOINT, constant(1)), no = w.load(BPF_PROG_TYPE_TRACEPOINT, constant(2));
    CHECK(w.set(one, yes) == 0);
    CHECK(w.set(one, no) == -EEXIST);
    CHECK(w.set(two, yes) == -EEXIST);
    FakeTask& child = w.k.make_task(300);
    w.perf.tracepoints().trace_sched_process_fork(w.task, child);
    CHECK(w.count(one) == 1);
    CHECK(w.set(two, no) == 0);
    w.perf.tracepoints().trace_sched_process_fork(w.task, child);
    CHECK(w.count(one) == 1); // 1 & 2
    CHECK(w.count(two) == 1);
    const std::uint64_t small = w.k.put_user(std::array<std::uint32_t, 8>{1});
    CHECK(w.ioctl(one, PERF_EVENT_IOC_QUERY_BPF, small) == -ENOSPC);
    CHECK(w.k.get_user<std::array<std::uint32_t, 8>>(small)[1] == 2);
    const std::uint64_t big = w.k.put_user(std::array<std::uint32_t, 8>{65});
    CHECK(w.ioctl(one, PERF_EVENT_IOC_QUERY_BPF, big) == -E2BIG);
    w.k.close(two);
    w.perf.tracepoints().trace_sched_process_fork(w.task, child);
    CHECK(w.count(one) == 2);
    w.k.cap_perfmon = w.k.cap_sys_admin = false;
    CHECK(w.ioctl(one, PERF_EVENT_IOC_QUERY_BPF, info) == -EPERM);
}

TEST_CASE("at most 64 programs on one tracepoint", "[CORE-481]") {
    BpfWorld w;
    w.k.max_fds = 400;
    perf_event_attr a =
        World::attr(PERF_TYPE_TRACEPOINT,
                    static_cast<std::uint64_t>(w.perf.trace_events().find("sched", "sched_process_fork")->type));
    a.exclude_kernel = a.exclude_hv = 0;
    for (int i = 0; i < 64; ++i) REQUIRE(w.set(w.must_open(a), w.load(BPF_PROG_TYPE_TRACEPOINT, constant(1))) == 0);
    CHECK(w.set(w.must_open(a), w.load(BPF_PROG_TYPE_TRACEPOINT, constant(1))) == -E2BIG);
}

TEST_CASE("KSYMBOL comes before BPF_EVENT, for loading and unloading", "[CORE-429][CORE-430]") {
    BpfWorld w;
    perf_event_attr a = World::on(World::sw(PERF_COUNT_SW_DUMMY));
    a.ksymbol = a.bpf_event = 1;
    const int fd = w.must_open(a);
    Ring ring(w, fd, 1);
    const int prog = w.load(BPF_PROG_TYPE_PERF_EVENT, constant(0), "nought");
    const Record s = ring.must_next();
    CHECK(s.header.type == PERF_RECORD_KSYMBOL);
    CHECK(s.at<std::uint16_t>(20) == PERF_RECORD_KSYMBOL_TYPE_BPF);
    CHECK(s.at<std::uint16_t>(22) == 0);
    CHECK(s.text(24).substr(0, 9) == "bpf_prog_");
    CHECK(s.text(24).substr(25) == "_nought");
    const Record e = ring.must_next();
    CHECK(e.header.type == PERF_RECORD_BPF_EVENT);
    CHECK(e.header.size == 24);
    CHECK(e.at<std::uint16_t>(8) == PERF_BPF_EVENT_PROG_LOAD);
    w.k.close(prog);
    CHECK(ring.must_next().at<std::uint16_t>(22) == PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER);
    const Record u = ring.must_next();
    CHECK(u.at<std::uint16_t>(8) == PERF_BPF_EVENT_PROG_UNLOAD);
    CHECK(u.at<std::uint32_t>(12) == e.at<std::uint32_t>(12));
}

TEST_CASE("perf output of a program", "[CORE-457]") {
    BpfWorld w;
    const int events = w.map(BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, 4, 2);
    perf_event_attr o = World::on(World::sw(PERF_COUNT_SW_BPF_OUTPUT));
    o.sample_type = PERF_SAMPLE_RAW;
    o.sample_period = 1;
    const int out = w.must_open(o, -1, 0);
    Ring ring(w, out, 1);
    const Insns p = {insn(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8, 0x77),
                     insn(BPF_LD | BPF_IMM | BPF_DW, 2, BPF_PSEUDO_MAP_FD, 0, events),
                     insn(0),
                     insn(BPF_ALU | BPF_MOV | BPF_K, 3, 0, 0, -1), // BPF_F_CURRENT_CPU
                     insn(BPF_ALU64 | BPF_MOV | BPF_X, 4, 10),
                     insn(BPF_ALU64 | BPF_ADD | BPF_K, 4, 0, 0, -8),
                     mov(5, 8),
                     call(BPF_FUNC_perf_event_output),
                     mov(0, 0),
                     kExit};
    const int fd = w.must_open(w.faults());
    REQUIRE(w.set(fd, w.perf_prog(p)) == 0);
    w.k.page_fault(0, 0x1000); // no event there
    CHECK(ring.drain().empty());
    REQUIRE(w.update(events, std::uint32_t{0}, static_cast<std::uint32_t>(out)) == 0);
    w.k.page_fault(0, 0x1000);
    const Record r = ring.must_next();
    CHECK(r.header.type == PERF_RECORD_SAMPLE);
    CHECK(r.half(0) == 12); // 8 bytes and what fills the word
    CHECK(r.at<std::uint64_t>(12) == 0x77);
    CHECK(w.count(out) == 0);
}

TEST_CASE("what the verifier refuses", "[CORE-481]") {
    BpfWorld w;
    CHECK(w.perf_prog({kExit}) == -EACCES);
    CHECK(w.perf_prog({mov(0, 0)}) == -EINVAL);
    CHECK(w.perf_prog({insn(0xff), kExit}) == -EINVAL);
    CHECK(w.perf_prog({mov(0, 0), insn(BPF_JMP | BPF_JA, 0, 0, -1), kExit}) == -EINVAL);
    CHECK(w.perf_prog({insn(BPF_LDX | BPF_MEM | BPF_DW, 0, 1, 288), kExit}) == -EACCES);
    CHECK(w.perf_prog({insn(BPF_LDX | BPF_MEM | BPF_DW, 0, 10, 0), kExit}) == -EACCES);
    CHECK(w.perf_prog({insn(BPF_ST | BPF_MEM | BPF_DW, 1), mov(0, 0), kExit}) == -EACCES);
    CHECK(w.load(BPF_PROG_TYPE_PERF_EVENT, {call(BPF_FUNC_trace_printk), kExit}, "", "none") == -EINVAL);
    CHECK(w.load(BPF_PROG_TYPE_PERF_EVENT, constant(0), "a b") == -EINVAL);
    CHECK(w.load(1000, constant(0)) == -EINVAL);
    w.k.cap_sys_admin = w.k.cap_perfmon = false;
    CHECK(w.perf_prog(constant(0)) == -EPERM);
}

TEST_CASE("known bits and bounds stay true", "[bpf]") {
    // Against what the operations do, for all numbers that a state stands for.
    std::uint64_t seed = 7;
    const auto next = [&] { return seed = seed * 6364136223846793005u + 1442695040888963407u, seed >> 33; };
    for (int round = 0; round < 2000; ++round) {
        const auto make = [&] {
            const std::uint64_t mask = next() & next() & 0xff;
            return Tnum{next() & 0xff & ~mask, mask};
        };
        const Tnum a = make(), b = make();
        const std::uint64_t x = a.value | (next() & a.mask), y = b.value | (next() & b.mask);
        const auto holds = [](Tnum t, std::uint64_t v) { return !((v ^ t.value) & ~t.mask); };
        CHECK(holds(tnum_add(a, b), x + y));
        CHECK(holds(tnum_sub(a, b), x - y));
        CHECK(holds(tnum_and(a, b), x & y));
        CHECK(holds(tnum_or(a, b), x | y));
        CHECK(holds(tnum_xor(a, b), x ^ y));
        CHECK(holds(tnum_lshift(a, 3), x << 3));
        CHECK(holds(tnum_range(std::min(x, y), std::max(x, y)), x));
    }
    BpfReg r;
    r.mark_unknown();
    r.umax = 10;
    CHECK(r.sync());
    CHECK(r.smin == 0);
    CHECK(r.smax == 10);
    CHECK(r.bits.mask == 15);
    r.umin = 11;
    CHECK_FALSE(r.sync());
}

TEST_CASE("SHA-1 of known texts", "[bpf]") {
    const auto hex = [](std::string_view s) {
        std::string out;
        for (const std::uint8_t b : sha1({reinterpret_cast<const std::uint8_t*>(s.data()), s.size()})) {
            char t[3];
            std::snprintf(t, sizeof t, "%02x", b);
            out += t;
        }
        return out;
    };
    CHECK(hex("abc") == "a9993e364706816aba3e25717850c26c9cd0d89d");
    CHECK(hex("") == "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    CHECK(hex(std::string(64, 'a')) == "0098ba824b5c16427bd7a1122a5a442a25ec644d");
}
