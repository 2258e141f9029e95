// SPDX-License-Identifier: Apache-2.0
// A PMU driven by tests: it accepts what it is told to and writes down how it is called.
#pragma once

#include "tests/kernel_events/fixture.h"

#include <set>

namespace rkperf::ke::test {

class TestPmu : public Pmu {
  public:
    struct Call {
        std::string what;
        PerfEvent* event{};
        int flags{};
        PerfEventState state{}; ///< of the event at the call
        int oncpu{};
        bool pmu_off{}; ///< perf_pmu_disable was in force
    };
    TestPmu(Kernel& k, TaskContext context, unsigned caps) : Pmu(k) {
        task_ctx_nr = context;
        capabilities = caps;
    }
    int event_init(PerfEvent& event) override {
        if (event.attr.type != type) return -ENOENT;
        if (on_init) return on_init(event);
        return 0;
    }
    int add(PerfEvent& event, int flags) override {
        note("add", event, flags);
        if (refused.count(&event) || active >= limit) return -EAGAIN;
        ++active;
        return 0;
    }
    void del(PerfEvent& event, int flags) override {
        note("del", event, flags);
        --active;
    }
    void start(PerfEvent& event, int flags) override {
        note("start", event, flags);
        event.hw.state = 0;
    }
    void stop(PerfEvent& event, int flags) override {
        note("stop", event, flags);
        event.hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
    }
    void read(PerfEvent& event) override { note("read", event, 0); }
    void start_txn(unsigned flags) override { txns.push_back("start " + std::to_string(flags)); }
    int commit_txn() override {
        txns.push_back("commit");
        return commit_error;
    }
    void cancel_txn() override { txns.push_back("cancel"); }
    bool filter_match(PerfEvent& event) override { return !filtered.count(&event); }

    /// The calls of this kind, as the numbers that the events have in `config`.
    std::string order(const std::string& what) const {
        std::string s;
        for (const Call& c : calls)
            if (c.what == what) s += (s.empty() ? "" : " ") + std::to_string(c.event->attr.config);
        return s;
    }
    const Call& last(const std::string& what) const {
        const auto it = std::find_if(calls.rbegin(), calls.rend(), [&](const Call& c) { return c.what == what; });
        REQUIRE(it != calls.rend());
        return *it;
    }

    std::function<int(PerfEvent&)> on_init;
    std::set<const PerfEvent*> refused;  ///< by add
    std::set<const PerfEvent*> filtered; ///< by filter_match
    unsigned limit{~0u}, active{};
    int commit_error{};
    std::vector<Call> calls;
    std::vector<std::string> txns;

  private:
    void note(const char* what, PerfEvent& event, int flags) {
        const auto cpu = static_cast<unsigned>(kernel.smp_processor_id());
        calls.push_back({what, &event, flags, event.state, event.oncpu, pmu_disable_count[cpu] > 0});
    }
};

/// Registers one. By default it shares the tasks' hardware context with the core PMU.
inline TestPmu& add_pmu(World& w, const char* name = "test", Pmu::TaskContext context = Pmu::TaskContext::hardware,
                        unsigned caps = Pmu::PERF_PMU_CAP_HETEROGENEOUS_CPUS) {
    auto owned = std::make_unique<TestPmu>(w.k, context, caps);
    TestPmu& pmu = *owned;
    REQUIRE(w.p().perf_pmu_register(std::move(owned), name, -1) == 0);
    return pmu;
}
inline perf_event_attr attr_of(const Pmu& pmu, std::uint64_t config) {
    perf_event_attr a = World::attr(pmu.type, config);
    a.exclude_kernel = a.exclude_hv = 0;
    return a;
}

} // namespace rkperf::ke::test
