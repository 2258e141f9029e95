// SPDX-License-Identifier: Apache-2.0
// CPUs that go and come (kernel/cpu.c, in the order of its states). A CPU that has gone stays in its idle loop; nothing
// is sent there.
#include "sim/os/irq/gic_driver.h"
#include "sim/os/kernel.h"
#include "sim/os/sched/scheduler.h"
#include "sim/os/time/time_keeper.h"

#include <bit>
#include <cerrno>

namespace rkperf::os {

void Scheduler::migrate_tasks(int cpu) {
    for (auto* list : {&rq(cpu).rt, &rq(cpu).fair})
        while (!list->empty()) {
            Task& t = *list->front();
            const int to = select_cpu(t, true);
            move(t, cpu, to);
            check_preempt(to, t);
        }
}

int Scheduler::cpu_down(int cpu) {
    auto& p = os_.pcpu(cpu);
    if (!p.online) return 0;
    if (std::popcount(os_.cpu_online_mask()) == 1) return -EBUSY;
    // perf's events of the CPU go while it still works, then its PMU.
    if (cpu == os_.this_cpu()) {
        const IrqGuard guard(os_);
        os_.perf().cpu_dying(cpu);
    } else {
        os_.smp_call_function_single(cpu, [&] { os_.perf().cpu_dying(cpu); });
    }
    const bool was = os_.local_irq_save();
    p.online = false;
    migrate_tasks(cpu);
    if (cpu == os_.this_cpu())
        schedule(false); // hands this task to another CPU
    else
        resched(cpu);
    os_.local_irq_restore(was);
    while (p.current != p.idle) {
        os_.charge(20);
        os_.core().sync();
    }
    const IrqGuard guard(os_);
    os_.time().migrate_timers(cpu, os_.this_cpu());
    os_.pr_info("psci: CPU" + std::to_string(cpu) + " killed (polled 0 ms)");
    return 0;
}

int Scheduler::cpu_up(int cpu) {
    auto& p = os_.pcpu(cpu);
    if (p.online) return 0;
    p.online = true;
    os_.smp_call_function_single(cpu, [&] { os_.perf().cpu_starting(cpu); });
    os_.pr_info("CPU" + std::to_string(cpu) + ": Booted secondary processor");
    const IrqGuard guard(os_);
    resched(cpu); // it may take over waiting tasks
    return 0;
}

} // namespace rkperf::os
