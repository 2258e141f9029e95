// SPDX-License-Identifier: Apache-2.0
// Deferred deletion of events. A walk over receivers passes points where other CPUs run, so an event in the walk may be
// freed meanwhile; it must stay readable (its state says that it is dead) until the walk has ended.
#include "kernel_events/internal.h"

#include <algorithm>
#include <stdexcept>

namespace rkperf::ke {

void Perf::Impl::free_event_rcu(PerfEvent& event) {
    if (event.linked()) throw std::logic_error("free_event_rcu: the event is still in a list");
    rcu_freed.emplace_back(&event);
    if (rcu_readers) return;
    rcu_read_lock();
    rcu_read_unlock();
}

void Perf::Impl::rcu_read_unlock() {
    if (--rcu_readers || rcu_freed.empty()) return;
    // irq_work that a last record has queued holds on to its event.
    std::erase_if(rcu_freed, [](const std::unique_ptr<PerfEvent>& e) { return !e->pending_irq.pending; });
}

} // namespace rkperf::ke
