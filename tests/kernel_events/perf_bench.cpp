// SPDX-License-Identifier: Apache-2.0
// What the perf subsystem costs the host: opening and closing, samples, rotation, switches, ten thousand events. On the
// tests' fake kernel, so without the machine's share. Targets: open and close 5 us, a sample with ten frames 2 us, a
// rotation of 50 events 20 us, switches that do not feel other tasks' events.
#include "tests/kernel_events/fake_kernel.h"

#include <benchmark/benchmark.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>

using namespace rkperf;
using namespace rkperf::ke;
using namespace rkperf::ke::test;

namespace {

struct World {
    FakeKernel k;
    Perf perf;
    FakeTask& task;

    World() : k(2), perf(k, config()), task(k.make_task(100, "bench")) {
        k.perf = &perf;
        k.max_fds = 20'000;
        perf.perf_event_init();
        k.switch_to(0, &task);
    }
    ~World() {
        while (!k.files.empty()) k.close(k.files.begin()->first);
        for (FakeTask& t : k.tasks)
            if (t.perf_event_ctxp[0] || t.perf_event_ctxp[1]) perf.perf_event_exit_task(t);
    }
    static PerfConfig config() {
        PerfConfig c;
        c.pmus.push_back({"armv8_pmuv3", 3, {23}, 0, {}});
        c.paranoid = -1;
        return c;
    }
    static perf_event_attr attr(std::uint32_t type, std::uint64_t event) {
        perf_event_attr a{};
        a.type = type;
        a.size = sizeof a;
        a.config = event;
        return a;
    }
    int open(const perf_event_attr& a, int pid = 0, int cpu = -1) {
        const int fd = static_cast<int>(perf.sys_perf_event_open(k.put_user(a), pid, cpu, -1, 0));
        if (fd < 0) throw std::runtime_error("perf_event_open failed");
        return fd;
    }
    PerfEvent& event(int fd) { return static_cast<PerfFile*>(k.ops(fd))->event(); }
};
constexpr std::uint32_t kPmu = 8;

void open_and_close(benchmark::State& state) {
    World w;
    const perf_event_attr a = World::attr(kPmu, 0x11);
    for (auto _ : state) w.k.close(w.open(a));
}

void sample_with_ten_frames(benchmark::State& state) {
    World w;
    perf_event_attr a = World::attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
    a.sample_period = 1;
    a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN;
    const int fd = w.open(a);
    FakeMmap vma;
    vma.size_ = 9 * 4096;
    vma.writable_ = false; // overwrites
    vma.mm_ = &w.k.mm;
    w.k.ops(fd)->mmap(vma);
    std::uint64_t fp = w.k.alloc_user(10 * 16);
    PtRegs regs;
    regs.pc = 0x400000;
    regs.regs[29] = fp;
    for (int i = 0; i < 9; ++i, fp += 16) {
        const std::uint64_t record[2] = {i < 8 ? fp + 16 : 0, 0x400100u + static_cast<unsigned>(i)};
        std::memcpy(w.k.user_ptr(fp), record, sizeof record);
    }
    for (auto _ : state) w.perf.perf_sw_event(PERF_COUNT_SW_PAGE_FAULTS, 1, &regs, 0x1000);
    w.k.ops(fd)->mmap_close(vma);
}

void rotation(benchmark::State& state) {
    World w;
    for (unsigned i = 0; i < state.range(0); ++i) w.open(World::attr(kPmu, 0x100 + i));
    for (auto _ : state) w.k.advance(4'000'000);
}

/// A task with two events is switched in and out while other tasks have as many as it says.
void context_switch(benchmark::State& state) {
    World w;
    w.open(World::attr(kPmu, 0x11));
    w.open(World::attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK));
    FakeTask& other = w.k.make_task(300, "other");
    FakeTask& idle = w.k.make_task(301, "none");
    for (unsigned i = 0; i < state.range(0); ++i) w.open(World::attr(kPmu, 0x11), other.pid);
    for (auto _ : state) {
        w.k.switch_to(0, &idle);
        w.k.switch_to(0, &w.task);
    }
}

/// Opening and closing 10,000 events of a task or of a CPU: that are off, and with the one that Linux has to pay for,
/// too, that each new one that is on has all the others scheduled anew.
enum class Ten : std::uint8_t { task_off, cpu_off, task_on };
void ten_thousand_events(benchmark::State& state, Ten how) {
    constexpr unsigned kEvents = 10'000;
    for (auto _ : state) {
        World w;
        for (unsigned i = 0; i < kEvents; ++i) {
            perf_event_attr a = i % 2 ? World::attr(kPmu, 0x11) : World::attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
            a.disabled = how != Ten::task_on;
            a.mmap = 1; // also on the list of those that want records
            if (how == Ten::cpu_off)
                w.open(a, -1, 0);
            else
                w.open(a);
        }
        benchmark::DoNotOptimize(w.perf.impl().nr_live_events);
    }
    state.SetItemsProcessed(state.iterations() * kEvents);
}

BENCHMARK(open_and_close)->Unit(benchmark::kMicrosecond);
BENCHMARK(sample_with_ten_frames)->Unit(benchmark::kMicrosecond);
BENCHMARK(rotation)->Arg(8)->Arg(50)->Unit(benchmark::kMicrosecond);
BENCHMARK(context_switch)->Arg(0)->Arg(100)->Arg(10'000)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(ten_thousand_events, task_off, Ten::task_off)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(ten_thousand_events, cpu_off, Ten::cpu_off)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(ten_thousand_events, task_on, Ten::task_on)->Unit(benchmark::kMillisecond);

} // namespace
