// SPDX-License-Identifier: Apache-2.0
// Perf events on trace events: who may, what a hit counts and writes, whom it reaches.
#include "kernel_events/trace/trace_records.h"
#include "tests/kernel_events/ring.h"

namespace rkperf::ke::test::tracepoint_test {

struct Trace : World {
    using World::World;
    Tracepoints& tp() { return perf.tracepoints(); }
    perf_event_attr attr_of(const char* system, const char* name) {
        const TraceEventCall* call = perf.trace_events().find(system, name);
        REQUIRE(call);
        perf_event_attr a = attr(PERF_TYPE_TRACEPOINT, static_cast<std::uint64_t>(call->type));
        a.exclude_kernel = 0;
        return a;
    }
    perf_event_attr sampling(const char* system, const char* name) {
        perf_event_attr a = attr_of(system, name);
        a.sample_period = 1;
        a.sample_type = PERF_SAMPLE_RAW;
        return a;
    }
    std::int64_t set_filter(int fd, std::string_view text) {
        std::array<char, 128> buffer{};
        text.copy(buffer.data(), buffer.size() - 1);
        return ioctl(fd, PERF_EVENT_IOC_SET_FILTER, k.put_user(buffer));
    }
    FakeTask& other() { return k.make_task(200, "other"); }
};

TEST_CASE("attr.config is the id of an event that there is", "[CORE-473]") {
    Trace w;
    perf_event_attr a = w.attr_of("raw_syscalls", "sys_enter");
    CHECK(w.try_open(a) == 0);
    CHECK(w.try_open(a, -1, 0) == 0);
    a.config = 0;
    CHECK(w.try_open(a) == EINVAL);
    a.config = 65535;
    CHECK(w.try_open(a) == EINVAL);
    a = w.attr_of("raw_syscalls", "sys_enter");
    a.config |= 1ull << 32;
    CHECK(w.try_open(a) == EINVAL);
    a = w.attr_of("raw_syscalls", "sys_enter");
    a.sample_type = PERF_SAMPLE_BRANCH_STACK;
    a.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
    CHECK(w.try_open(a) == EOPNOTSUPP);
    const int fd = w.must_open(w.attr_of("raw_syscalls", "sys_enter"));
    CHECK(w.event(fd).pmu->task_ctx_nr == Pmu::TaskContext::software);
    CHECK(w.event(fd).pmu->name == "tracepoint");
}

TEST_CASE("an event of ftrace's own cannot be attached to", "[CORE-487]") {
    Trace w;
    CHECK(w.try_open(w.attr_of("ftrace", "function")) == EINVAL);
    CHECK(w.try_open(w.attr_of("ftrace", "print")) == EINVAL);
}

TEST_CASE("a registration that fails gives its error, and leaves nothing behind", "[CORE-473]") {
    Trace w;
    TraceEventCall call;
    call.system = "probes";
    call.name = "bad";
    TraceReg failing = TraceReg::perf_register;
    std::vector<TraceReg> calls;
    call.reg = [&](TraceReg what, PerfEvent*) {
        calls.push_back(what);
        return what == failing ? -EILSEQ : 0;
    };
    REQUIRE(w.perf.trace_events().trace_add_event_call(call) == 0);
    const perf_event_attr a = w.attr_of("probes", "bad");
    CHECK(w.try_open(a) == EILSEQ);
    CHECK(call.perf_refcount == 0);
    failing = TraceReg::perf_open;
    calls.clear();
    CHECK(w.try_open(a) == EILSEQ);
    CHECK(call.perf_refcount == 0);
    CHECK(calls == std::vector{TraceReg::perf_register, TraceReg::perf_open, TraceReg::perf_unregister});
    call.perf_perm = [](PerfEvent&) { return -EPERM; };
    CHECK(w.try_open(a) == EPERM);
    REQUIRE(w.perf.trace_events().trace_remove_event_call(call) == 0);
}

TEST_CASE("raw data needs privilege, but not of one's own system calls", "[CORE-473]") {
    Trace w;
    w.p().sysctl.perf_event_paranoid = 1;
    w.k.cap_perfmon = w.k.cap_sys_admin = false;
    perf_event_attr a = w.attr_of("sched", "sched_switch");
    CHECK(w.try_open(a) == 0); // counting only
    a.sample_period = 1;
    a.sample_type = PERF_SAMPLE_RAW;
    CHECK(w.try_open(a) == EPERM);
    CHECK(w.try_open(w.sampling("syscalls", "sys_enter_openat")) == 0);
    CHECK(w.try_open(w.sampling("raw_syscalls", "sys_exit")) == 0);
    w.p().sysctl.perf_event_paranoid = -1;
    CHECK(w.try_open(a) == 0);
    CHECK(w.try_open(w.sampling("raw_syscalls", "sys_exit"), -1, 0) == 0);
}

TEST_CASE("a hit reaches every event of that tracepoint on this CPU", "[CORE-474]") {
    Trace w;
    FakeTask& next = w.other();
    const int own = w.must_open(w.on(w.attr_of("sched", "sched_switch")), 0);
    const int cpu0 = w.must_open(w.on(w.attr_of("sched", "sched_switch")), -1, 0);
    const int cpu1 = w.must_open(w.on(w.attr_of("sched", "sched_switch")), -1, 1);
    const int off = w.must_open(w.attr_of("sched", "sched_switch"), 0);
    const int wakeups = w.must_open(w.on(w.attr_of("sched", "sched_wakeup")), 0);
    for (int i = 0; i < 3; ++i) w.tp().trace_sched_switch(w.task, TASK_INTERRUPTIBLE, next);
    CHECK(w.count(own) == 3);
    CHECK(w.count(cpu0) == 3);
    CHECK(w.count(cpu1) == 0);
    CHECK(w.count(off) == 0);
    CHECK(w.count(wakeups) == 0);
}

TEST_CASE("a tracepoint is on while somebody is attached", "[CORE-474]") {
    Trace w;
    CHECK_FALSE(w.tp().enabled(Tracepoint::sched_switch));
    const int a = w.must_open(w.attr_of("sched", "sched_switch"));
    const int b = w.must_open(w.attr_of("sched", "sched_switch"));
    CHECK(w.tp().enabled(Tracepoint::sched_switch));
    CHECK_FALSE(w.tp().enabled(Tracepoint::sched_wakeup));
    w.k.close(a);
    CHECK(w.tp().enabled(Tracepoint::sched_switch));
    const unsigned waits = w.k.rcu_waits;
    w.k.close(b);
    CHECK_FALSE(w.tp().enabled(Tracepoint::sched_switch));
    CHECK(w.k.rcu_waits == waits + 1); // nobody may be on the way to the list
}

TEST_CASE("the record is in the sample, with the common fields", "[CORE-474]") {
    Trace w;
    FakeTask& next = w.other();
    const int fd = w.must_open(w.on(w.sampling("sched", "sched_switch")));
    Ring ring(w, fd, 8);
    w.tp().trace_sched_switch(w.task, TASK_UNINTERRUPTIBLE, next);
    const Record r = ring.must_next();
    CHECK(r.header.type == PERF_RECORD_SAMPLE);
    CHECK(r.header.size == 8 + 4 + 68);
    CHECK(r.half(0) == 68); // fills words of 8 together with its size
    const auto raw = r.at<trace_event_raw_sched_switch>(12);
    CHECK(raw.ent.type == 264);
    CHECK(raw.ent.flags == 0);
    CHECK(raw.ent.preempt_count == 0);
    CHECK(raw.ent.pid == 100);
    CHECK(std::string(raw.prev_comm) == "first");
    CHECK(raw.prev_pid == 100);
    CHECK(raw.prev_prio == 120);
    CHECK(raw.prev_state == 2);
    CHECK(std::string(raw.next_comm) == "other");
    CHECK(raw.next_pid == 200);
}

TEST_CASE("common_flags tell where it happened", "[CORE-474]") {
    Trace w;
    const int fd = w.must_open(w.on(w.sampling("irq", "irq_handler_entry")));
    Ring ring(w, fd, 8);
    w.tp().trace_irq_handler_entry(11, "arch_timer");
    w.k.in_interrupt([&] { w.tp().trace_irq_handler_entry(11, "arch_timer"); });
    const Record task = ring.must_next(), irq = ring.must_next();
    CHECK(task.at<std::uint8_t>(14) == 0);
    CHECK(irq.at<std::uint8_t>(14) == 0x08);
    // A string: offset and length, then its bytes.
    CHECK(irq.half(0) == 28);
    CHECK(irq.at<std::int32_t>(12 + 8) == 11);
    CHECK(irq.at<std::uint32_t>(12 + 12) == (11u << 16 | 16));
    CHECK(irq.text(12 + 16) == "arch_timer");
}

TEST_CASE("what a hit weighs is counted, and its periods as of software events", "[CORE-474]") {
    Trace w;
    perf_event_attr a = w.sampling("sched", "sched_stat_runtime");
    const int plain = w.must_open(w.on(w.attr_of("sched", "sched_stat_runtime")));
    a.sample_period = 1000;
    a.sample_type = PERF_SAMPLE_ID;
    const int sampled = w.must_open(w.on(a));
    Ring ring(w, sampled, 8);
    for (int i = 0; i < 6; ++i) {
        w.tp().trace_sched_stat_runtime(w.task, 400, 1);
        CHECK(ring.drain().size() == (i == 2 || i == 4 ? 1 : 0)); // 1200 and 2000 reach the ends of periods
    }
    CHECK(w.count(plain) == 2400);
    CHECK(w.count(sampled) == 2400);
}

TEST_CASE("exclude_kernel keeps hits of the kernel's own registers out, exclude_user nothing", "[CORE-475]") {
    Trace w;
    perf_event_attr a = w.on(w.attr_of("sched", "sched_switch"));
    a.exclude_kernel = 1;
    const int kernel_out = w.must_open(a);
    a.exclude_kernel = 0;
    a.exclude_user = 1;
    const int user_out = w.must_open(a);
    w.tp().trace_sched_switch(w.task, 0, w.task);
    CHECK(w.count(kernel_out) == 0);
    CHECK(w.count(user_out) == 1);
    // System calls come with the user's registers.
    a = w.on(w.attr_of("syscalls", "sys_enter_getppid"));
    a.exclude_kernel = 1;
    const int call = w.must_open(a);
    w.tp().trace_sys_enter(w.task.regs, 173);
    CHECK(w.count(call) == 1);
}

TEST_CASE("a wake-up is seen by the events of the task that is woken", "[CORE-476]") {
    Trace w;
    FakeTask& woken = w.other();
    const perf_event_attr a = w.on(w.attr_of("sched", "sched_wakeup"));
    const int waker = w.must_open(a, 0);
    const int here = w.must_open(a, 200, 0); // bound to the CPU on which it happens
    const int there = w.must_open(a, 200, 1);
    const int anywhere = w.must_open(a, 200, -1);
    const int other_event = w.must_open(w.on(w.attr_of("sched", "sched_waking")), 200, 0);
    w.tp().trace_sched_wakeup(woken);
    CHECK(w.count(waker) == 1);
    CHECK(w.count(here) == 1);
    CHECK(w.count(there) == 0);
    CHECK(w.count(anywhere) == 0);
    CHECK(w.count(other_event) == 0);
    w.tp().trace_sched_wakeup(w.task);
    CHECK(w.count(waker) == 2);
    CHECK(w.count(here) == 1);
}

TEST_CASE("filters of perf events", "[CORE-477]") {
    Trace w;
    FakeTask& next = w.other();
    const int fd = w.must_open(w.on(w.attr_of("sched", "sched_switch")));
    CHECK(w.set_filter(fd, "nothing == 1") == -EINVAL);
    CHECK(w.set_filter(fd, "(next_pid == 1") == -ENOENT);
    CHECK(w.set_filter(fd, "next_pid == 1)") == -EPERM);
    CHECK(w.set_filter(fd, "next_comm == \"x") == -ESRCH);
    CHECK(w.set_filter(fd, "next_pid == 200") == 0);
    CHECK(w.set_filter(fd, "next_pid == 200") == -EEXIST);
    CHECK(w.ioctl(fd, PERF_EVENT_IOC_SET_FILTER, 16) == -EFAULT);
    w.tp().trace_sched_switch(w.task, 0, next);
    w.tp().trace_sched_switch(next, 0, w.task);
    CHECK(w.count(fd) == 1);
    const int other = w.must_open(World::sw(PERF_COUNT_SW_DUMMY));
    CHECK(w.set_filter(other, "next_pid == 200") == -EINVAL);
}

TEST_CASE("records that fail the filter are not sampled; children have the parent's", "[CORE-477]") {
    Trace w;
    perf_event_attr a = w.on(w.attr_of("sched", "sched_waking"));
    a.inherit = 1;
    const int fd = w.must_open(a);
    REQUIRE(w.set_filter(fd, "pid == 100") == 0);
    FakeTask& child = w.fork(101);
    w.k.switch_to(0, &child);
    w.tp().trace_sched_waking(w.task);
    w.tp().trace_sched_waking(child);
    w.exit_current(0);
    w.k.switch_to(0, &w.task);
    CHECK(w.count(fd) == 1);

    const int sampled = w.must_open(w.on(w.sampling("sched", "sched_waking")));
    Ring ring(w, sampled, 8);
    REQUIRE(w.set_filter(sampled, "pid != 100") == 0);
    w.tp().trace_sched_waking(w.task);
    CHECK(ring.drain().empty());
    CHECK(w.count(sampled) == 0);
}

TEST_CASE("a hit inside a hit of the same level is dropped, of a higher level it is not", "[CORE-478]") {
    Trace w;
    const int fd = w.must_open(w.on(w.attr_of("sched", "sched_switch")));
    bool interrupt = false, armed = false;
    w.k.time_passes = [&] {
        // The first charge inside the delivery is where the other hit comes.
        if (!armed || w.k.stack.empty() || w.k.stack.back() != KernelSymbol::perf_tp_event) return;
        armed = false;
        if (interrupt)
            w.k.in_interrupt([&] { w.tp().trace_sched_switch(w.task, 0, w.task); });
        else
            w.tp().trace_sched_switch(w.task, 0, w.task);
    };
    const auto hit = [&] {
        armed = true;
        w.tp().trace_sched_switch(w.task, 0, w.task);
        CHECK_FALSE(armed);
    };
    hit();
    CHECK(w.count(fd) == 1);
    interrupt = true;
    hit();
    CHECK(w.count(fd) == 3);
    w.k.time_passes = nullptr;
}

TEST_CASE("records have at most 8192 bytes", "[CORE-478]") {
    Trace w;
    TraceEvents& events = w.perf.trace_events();
    {
        PerfTraceBuf buf = events.perf_trace_buf_alloc(8188);
        CHECK(buf);
        CHECK(buf.data().size() == 8188);
        CHECK_FALSE(events.perf_trace_buf_alloc(16)); // the level's buffer is in use
    }
    CHECK_FALSE(events.perf_trace_buf_alloc(8189));
    CHECK(w.k.log.back().starts_with("perf buffer not large enough"));
    PerfTraceBuf again = events.perf_trace_buf_alloc(9);
    CHECK(again.data().size() == 12);
}

TEST_CASE("system calls by number and by name", "[CORE-474]") {
    Trace w;
    const int raw_in = w.must_open(w.on(w.attr_of("raw_syscalls", "sys_enter")));
    const int raw_out = w.must_open(w.on(w.attr_of("raw_syscalls", "sys_exit")));
    const int in = w.must_open(w.on(w.sampling("syscalls", "sys_enter_openat")));
    const int out = w.must_open(w.on(w.sampling("syscalls", "sys_exit_openat")));
    Ring rin(w, in, 8), rout(w, out, 8);
    for (unsigned i = 0; i < 6; ++i) w.task.regs.regs[i] = 0x10 + i;
    const auto call = [&](long nr, std::int64_t result) {
        w.tp().trace_sys_enter(w.task.regs, nr);
        w.tp().trace_sys_exit(w.task.regs, nr, result);
    };
    call(56, -2);
    call(57, 0);
    call(-1, -38);
    call(4000, -38);
    CHECK(w.count(raw_in) == 4);
    CHECK(w.count(raw_out) == 4);
    CHECK(w.count(in) == 1);
    CHECK(w.count(out) == 1);
    const Record enter = rin.must_next(), exit = rout.must_next();
    CHECK(enter.half(0) == 52);
    CHECK(enter.at<std::uint16_t>(12) == 580);
    CHECK(enter.at<std::int32_t>(12 + 8) == 56);
    for (unsigned i = 0; i < 4; ++i) CHECK(enter.at<std::uint64_t>(12 + 16 + 8 * i) == 0x10 + i);
    CHECK(enter.header.misc == PERF_RECORD_MISC_USER);
    CHECK(exit.half(0) == 28);
    CHECK(exit.at<std::uint16_t>(12) == 579);
    CHECK(exit.at<std::int32_t>(12 + 8) == 56);
    CHECK(exit.at<std::int64_t>(12 + 16) == -2);
}

TEST_CASE("the file of an exec stands behind the fixed part", "[CORE-474]") {
    Trace w;
    const int fd = w.must_open(w.on(w.sampling("sched", "sched_process_exec")));
    Ring ring(w, fd, 8);
    w.tp().trace_sched_process_exec(w.task, 100, "/proc/self/exe");
    const Record r = ring.must_next();
    CHECK(r.half(0) == 36);
    CHECK(r.at<std::uint32_t>(12 + 8) == (15u << 16 | 20));
    CHECK(r.text(12 + 20) == "/proc/self/exe");
}

} // namespace rkperf::ke::test::tracepoint_test
