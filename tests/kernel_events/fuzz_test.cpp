// SPDX-License-Identifier: Apache-2.0
// Random programs against the perf subsystem alone: tasks on two CPUs open, group, read, map, redirect, fork, exec, exit,
// move, count and close, timers and ticks come, a CPU goes and returns. Seeded; at the end nothing may be left (World's
// destructor looks) and the books must balance at any time.
#include "tests/kernel_events/ring.h"

#include <random>

using namespace rkperf::ke;
using namespace rkperf::ke::test;

namespace {

class Fuzzer {
  public:
    explicit Fuzzer(unsigned seed) : random_(seed) {
        w_.k.max_fds = 60;
        running_[0] = &w_.task;
    }
    ~Fuzzer() {
        rings_.clear();
        if (!w_.k.cpu_is_on(1)) cpu_on(true);
        for (int cpu : {0, 1})
            if (running_[cpu] && running_[cpu] != &w_.task) exit_task(cpu);
        // Those that wait get a CPU to end on.
        for (FakeTask* t : waiting_) {
            if (t == &w_.task) continue;
            w_.k.switch_to(1, t);
            running_[1] = t;
            exit_task(1);
        }
    }
    void step() {
        w_.k.on_cpu(below(2) && running_[1] ? 1 : 0);
        if (!running_[w_.k.smp_processor_id()]) w_.k.on_cpu(running_[0] ? 0 : 1);
        if (!running_[w_.k.smp_processor_id()]) return switch_task(0);
        switch (below(24)) {
            case 0:
            case 1:
            case 2:
            case 3:
            case 4: return open();
            case 5:
            case 6: return close();
            case 7:
            case 8: return ioctl();
            case 9: return read();
            case 10: return map();
            case 11: return unmap();
            case 12:
            case 13: return switch_task(static_cast<int>(below(2)));
            case 14: return fork();
            case 15: return one_in(3) ? exit_task(w_.k.smp_processor_id()) : exec();
            case 16: return w_.k.advance(below(5'000'000));
            case 17: return tick();
            case 18:
            case 19: return count();
            case 20: return fault();
            case 21: return prctl();
            case 22: return one_in(20) ? cpu_on(!cpu_is_on(1)) : count();
            default: return drain();
        }
    }
    void check() {
        const Perf::Impl& p = w_.p();
        std::uint64_t events = 0;
        for (const auto& set : p.cpu_contexts)
            for (const PerfCpuContext& c : *set) {
                CHECK(c.active_oncpu >= 0);
                CHECK(static_cast<std::size_t>(c.ctx.nr_events) == c.ctx.event_list.size());
                events += c.ctx.event_list.size();
            }
        for (const FakeTask& t : w_.k.tasks)
            for (const PerfEventContext* ctx : t.perf_event_ctxp)
                if (ctx) {
                    CHECK(ctx->task == &t);
                    CHECK(static_cast<std::size_t>(ctx->nr_events) == ctx->event_list.size());
                    CHECK(ctx->nr_active <= ctx->nr_events);
                    if (t.on_cpu < 0) CHECK(ctx->nr_active == 0);
                    events += ctx->event_list.size();
                }
        CHECK(events <= p.nr_live_events);
        for (int cpu : {0, 1}) CHECK_FALSE(w_.k.cpu(cpu).masked);
        CHECK(w_.k.preempt_count == 0);
        CHECK(w_.k.stack.empty());
    }

  private:
    unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
    bool one_in(unsigned n) { return below(n) == 0; }
    bool cpu_is_on(int cpu) { return w_.k.cpu_is_on(cpu); }
    int any_fd() {
        if (w_.k.files.empty()) return -1;
        auto it = w_.k.files.begin();
        std::advance(it, below(static_cast<unsigned>(w_.k.files.size())));
        return it->first;
    }
    perf_event_attr attr() {
        perf_event_attr a{};
        const unsigned kind = below(5);
        if (kind < 2) {
            a = World::hw(one_in(2) ? kInstructions : one_in(2) ? kCycles : 0x100 + below(4));
            a.config1 = one_in(6) ? below(4) : 0;
        } else if (kind == 2) {
            a = World::attr(PERF_TYPE_HARDWARE, below(4));
        } else {
            a = World::sw(below(12));
        }
        a.exclude_kernel = one_in(2);
        a.disabled = one_in(3);
        if (one_in(2)) {
            a.freq = one_in(3);
            a.sample_period = 1 + below(a.freq ? 5000 : 300);
            a.sample_type =
                random_() & ((1u << 24) - 1) & ~(PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_AUX | PERF_SAMPLE_RAW);
            if (a.sample_type & PERF_SAMPLE_WEIGHT) a.sample_type &= ~std::uint64_t{PERF_SAMPLE_WEIGHT_STRUCT};
            a.sample_regs_user = 1 + below(1000);
            a.sample_regs_intr = 1 + below(1000);
            a.sample_stack_user = 8 * below(100);
            a.wakeup_events = below(3);
        }
        a.read_format = one_in(2) ? below(32) : 0;
        a.inherit = one_in(3);
        if (a.inherit) a.sample_type &= ~std::uint64_t{PERF_SAMPLE_READ};
        a.inherit_stat = one_in(6);
        a.pinned = one_in(8);
        a.exclusive = one_in(10);
        a.enable_on_exec = one_in(8);
        if (!a.enable_on_exec) a.remove_on_exec = one_in(8);
        a.sigtrap = a.remove_on_exec && one_in(2);
        a.comm = one_in(4);
        a.task = one_in(4);
        a.mmap = one_in(4);
        a.context_switch = one_in(5);
        a.sample_id_all = one_in(2);
        a.write_backward = one_in(8);
        return a;
    }
    void open() {
        int pid = one_in(4) ? -1 : 0, cpu = pid < 0 || one_in(4) ? static_cast<int>(below(2)) : -1;
        if (one_in(5) && !waiting_.empty()) pid = waiting_[below(static_cast<unsigned>(waiting_.size()))]->pid;
        w_.open(attr(), pid, cpu, one_in(3) ? any_fd() : -1, one_in(10) ? below(4) : 0);
    }
    void close() {
        const int fd = any_fd();
        if (fd >= 0) w_.k.close(fd);
    }
    void ioctl() {
        const int fd = any_fd();
        if (fd < 0) return;
        const std::uint64_t group = one_in(4), value = 1 + below(1000);
        switch (below(9)) {
            case 0:
            case 1: w_.ioctl(fd, PERF_EVENT_IOC_ENABLE, group); break;
            case 2: w_.ioctl(fd, PERF_EVENT_IOC_DISABLE, group); break;
            case 3: w_.ioctl(fd, PERF_EVENT_IOC_RESET, group); break;
            case 4: w_.ioctl(fd, PERF_EVENT_IOC_REFRESH, below(4)); break;
            case 5: w_.ioctl(fd, PERF_EVENT_IOC_PERIOD, w_.k.put_user(value)); break;
            case 6:
                w_.ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, one_in(4) ? ~0ull : static_cast<std::uint64_t>(any_fd()));
                break;
            case 7: w_.ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, below(2)); break;
            default: w_.ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, w_.k.put_user(attr())); break;
        }
    }
    void read() {
        const int fd = any_fd();
        if (fd >= 0) w_.read_result(fd, one_in(4) ? below(64) : 4096);
    }
    struct Mapping {
        World* w;
        FileOperations* ops;
        FakeMmap vma;
        ~Mapping() {
            if (!ops) return; // it was never mapped
            ops->mmap_close(vma);
            w->k.fput(ops);
        }
    };
    void map() {
        const int fd = any_fd();
        if (fd < 0 || rings_.size() > 12) return;
        auto m = std::make_unique<Mapping>();
        m->w = &w_;
        m->ops = w_.k.ops(fd);
        m->vma.size_ = (1 + (one_in(8) ? below(5) : 1ull << below(3))) * 4096;
        m->vma.writable_ = !one_in(3);
        m->vma.mm_ = &w_.k.mm;
        if (m->ops->mmap(m->vma)) {
            m->ops = nullptr;
            return;
        }
        ++w_.k.open_files.at(m->ops).refs;
        rings_.push_back(std::move(m));
    }
    void unmap() {
        if (rings_.empty()) return;
        rings_.erase(rings_.begin() + below(static_cast<unsigned>(rings_.size())));
    }
    void drain() {
        for (auto& m : rings_)
            if (PerfBuffer* rb = static_cast<PerfFile*>(m->ops)->event().rb.get(); rb && one_in(2))
                std::memcpy(rb->user_page.host + offsetof(perf_event_mmap_page, data_tail),
                            rb->user_page.host + offsetof(perf_event_mmap_page, data_head), 8);
    }
    void switch_task(int cpu) {
        if (!cpu_is_on(cpu)) return;
        FakeTask* next = nullptr;
        if (!waiting_.empty() && !one_in(6)) {
            const unsigned i = below(static_cast<unsigned>(waiting_.size()));
            next = waiting_[i];
            waiting_.erase(waiting_.begin() + i);
        }
        FakeTask* prev = running_[cpu];
        w_.k.switch_to(cpu, next);
        running_[cpu] = next;
        if (prev) waiting_.push_back(prev);
    }
    void fork() {
        if (waiting_.size() > 6) return;
        FakeTask& t = w_.k.make_task(next_pid_++, "child");
        const bool was = w_.k.record_notices;
        if (w_.perf.perf_event_init_task(t, one_in(3) ? kCloneThread : 0)) {
            t.dead = true;
            return;
        }
        w_.k.record_notices = was;
        w_.perf.perf_event_fork(t);
        waiting_.push_back(&t);
    }
    void exit_task(int cpu) {
        FakeTask* t = running_[cpu];
        if (t == &w_.task) return;
        running_[cpu] = nullptr;
        w_.exit_current(cpu);
    }
    void exec() {
        w_.perf.perf_event_exec();
        w_.perf.perf_event_comm(*w_.k.here().current, true);
    }
    void tick() {
        for (int cpu : {0, 1})
            if (cpu_is_on(cpu)) w_.k.tick(cpu);
    }
    void count() {
        const int cpu = w_.k.smp_processor_id();
        const rkperf::EventNumber events[] = {0x08, 0x11, 0x100};
        w_.k.count(cpu, events[below(3)], below(2000), below(2));
    }
    void fault() {
        w_.k.user_regs.pc = 0x400000 + below(1000);
        w_.k.page_fault(w_.k.smp_processor_id(), fault_page(below(100)));
    }
    void prctl() {
        if (one_in(2))
            w_.perf.perf_event_task_enable();
        else
            w_.perf.perf_event_task_disable();
    }
    void cpu_on(bool on) {
        if (!on && running_[1]) switch_away(1);
        w_.k.on_cpu(1);
        if (on) {
            w_.k.online = 0;
            w_.perf.cpu_starting(1);
        } else {
            w_.k.in_interrupt([&] { w_.perf.cpu_dying(1); });
            w_.k.online = 1;
        }
        w_.k.on_cpu(0);
    }
    void switch_away(int cpu) {
        FakeTask* prev = running_[cpu];
        w_.k.switch_to(cpu, nullptr);
        running_[cpu] = nullptr;
        waiting_.push_back(prev);
    }

    std::mt19937 random_;
    World w_;
    FakeTask* running_[2]{};
    std::vector<FakeTask*> waiting_;
    std::vector<std::unique_ptr<Mapping>> rings_;
    std::int32_t next_pid_{1000};
};

} // namespace

TEST_CASE("random programs leave nothing behind", "[fuzz]") {
    const char* more = std::getenv("PERF_FUZZ_SEEDS");
    const unsigned seeds = more ? static_cast<unsigned>(std::atoi(more)) : 30;
    for (unsigned seed = 1; seed <= seeds; ++seed) {
        INFO("seed " << seed);
        Fuzzer f(seed);
        for (int i = 0; i < 600; ++i) {
            f.step();
            if (i % 20 == 0) f.check();
        }
    }
}
