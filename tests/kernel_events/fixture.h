// SPDX-License-Identifier: Apache-2.0
// A perf subsystem on a fake kernel, with short ways to open, enable and read events.
#pragma once

#include "tests/kernel_events/fake_kernel.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <catch2/catch.hpp>
#include <initializer_list>

namespace rkperf::ke::test {

inline constexpr std::uint32_t kPmuType = 8; ///< the first core PMU
inline constexpr std::uint64_t kCycles = 0x11, kInstructions = 0x08;

struct World {
    FakeKernel k;
    Perf perf;
    FakeTask& task; ///< the current task of CPU 0

    explicit World(int cpus = 2, std::vector<PmuNode> nodes = {}, bool pseudo_nmi = false)
        : k(cpus), perf(k, config(cpus, std::move(nodes))), task(k.make_task(100, "first")) {
        k.perf = &perf;
        k.pseudo_nmi = pseudo_nmi;
        perf.perf_event_init();
        k.switch_to(0, &task);
        k.user_regs.pc = 0x401000;
    }
    ~World() {
        while (!k.files.empty()) k.close(k.files.begin()->first);
        k.on_cpu(0);
        for (FakeTask& t : k.tasks)
            if (!t.dead && (t.perf_event_ctxp[0] || t.perf_event_ctxp[1])) perf.perf_event_exit_task(t);
        CHECK(p().nr_live_events == 0);
        CHECK(p().nr_live_contexts == 0);
        CHECK(p().nr_live_buffers() == 0);
        CHECK(p().counts.perf_sched_count == 0);
        CHECK(k.stack.empty());
        CHECK(k.pages_in_use == 0);
    }
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    static PerfConfig config(int cpus, std::vector<PmuNode> nodes) {
        PerfConfig c;
        if (nodes.empty()) nodes.push_back({"armv8_pmuv3", (1u << cpus) - 1, {23}, 0, {}});
        c.pmus = std::move(nodes);
        return c;
    }
    Perf::Impl& p() { return perf.impl(); }

    static perf_event_attr attr(std::uint32_t type, std::uint64_t config) {
        perf_event_attr a{};
        a.type = type;
        a.size = sizeof a;
        a.config = config;
        a.disabled = 1;
        a.exclude_kernel = 1;
        a.exclude_hv = 1;
        return a;
    }
    static perf_event_attr hw(std::uint64_t event) { return attr(kPmuType, event); }
    static perf_event_attr sw(std::uint64_t event) { return attr(PERF_TYPE_SOFTWARE, event); }
    static perf_event_attr on(perf_event_attr a) {
        a.disabled = 0;
        return a;
    }
    int open(const perf_event_attr& a, int pid = 0, int cpu = -1, int group = -1, std::uint64_t flags = 0) {
        return static_cast<int>(perf.sys_perf_event_open(k.put_user(a), pid, cpu, group, flags));
    }
    /// Opens; the descriptor must be good.
    int must_open(const perf_event_attr& a, int pid = 0, int cpu = -1, int group = -1, std::uint64_t flags = 0) {
        const int fd = open(a, pid, cpu, group, flags);
        REQUIRE(fd >= 0);
        return fd;
    }
    /// Opens and closes again; 0 or the errno, positive.
    int try_open(const perf_event_attr& a, int pid = 0, int cpu = -1, int group = -1, std::uint64_t flags = 0) {
        const int fd = open(a, pid, cpu, group, flags);
        if (fd < 0) return -fd;
        k.close(fd);
        return 0;
    }
    PerfEvent& event(int fd) { return static_cast<PerfFile*>(k.ops(fd))->event(); }
    std::int64_t ioctl(int fd, std::uint32_t cmd, std::uint64_t arg = 0) { return k.ops(fd)->ioctl(cmd, arg); }
    void enable(int fd, std::uint64_t flags = 0) { REQUIRE(ioctl(fd, PERF_EVENT_IOC_ENABLE, flags) == 0); }
    void disable(int fd, std::uint64_t flags = 0) { REQUIRE(ioctl(fd, PERF_EVENT_IOC_DISABLE, flags) == 0); }
    void reset(int fd, std::uint64_t flags = 0) { REQUIRE(ioctl(fd, PERF_EVENT_IOC_RESET, flags) == 0); }
    /// The words that read(2) gives; empty at end of file.
    std::vector<std::uint64_t> read(int fd, std::size_t bytes = 512) {
        const std::uint64_t buf = k.alloc_user(bytes);
        const std::int64_t n = k.ops(fd)->read(buf, bytes, false);
        REQUIRE(n >= 0);
        std::vector<std::uint64_t> v(static_cast<std::size_t>(n) / 8);
        std::memcpy(v.data(), k.user_ptr(buf), static_cast<std::size_t>(n));
        return v;
    }
    std::int64_t read_result(int fd, std::uint64_t bytes) {
        return k.ops(fd)->read(k.alloc_user(bytes ? bytes : 8), bytes, false);
    }
    std::uint64_t count(int fd) { return read(fd).at(0); }
    /// A new task, child of the current one of CPU 0, with what it inherits.
    FakeTask& fork(std::int32_t pid, std::uint64_t clone_flags = 0) {
        FakeTask& t = k.make_task(pid, "child");
        REQUIRE(perf.perf_event_init_task(t, clone_flags) == 0);
        return t;
    }
    /// The current task of `cpu` exits; idle follows.
    void exit_current(int cpu) {
        k.on_cpu(cpu);
        FakeTask& t = *k.here().current;
        t.exiting = true;
        perf.perf_event_exit_task(t);
        k.switch_to(cpu, nullptr);
        t.dead = true;
        k.on_cpu(0);
    }
    std::size_t noticed(EventNotice::What what) {
        return static_cast<std::size_t>(std::count(k.notices.begin(), k.notices.end(), what));
    }
    std::string attribute(const std::string& path) { return k.attributes.at(path).show(); }
};

} // namespace rkperf::ke::test
