// SPDX-License-Identifier: Apache-2.0
#include "sim/os/spin_lock.h"

#include "kernel_events/trace/tracepoints.h"
#include "sim/os/kernel.h"

#include <algorithm>

namespace rkperf::os {

namespace {

/// Waits for an event (WFE) again and again: hardly an instruction, but time.
void spin(Kernel& os, Picoseconds until) {
    cpu::Core& core = os.core();
    const std::uint64_t end = core.clock().cycle_at(until).v, now = core.cycle().v;
    if (end <= now) return; // the way here took as long
    const std::uint64_t cycles = end - now;
    cpu::KernelWork w;
    w.code_address = Kernel::symbol_address(KernelSymbol::queued_spin_lock_slowpath);
    w.extra_cycles = static_cast<std::uint32_t>(std::min<std::uint64_t>(cycles, ~0u));
    core.charge(w);
    // Cores without timing know no time without instructions.
    if (core.now() < until) os.charge(w.extra_cycles);
}

} // namespace

void SpinLock::lock() {
    came_ = kernel_.core().now();
    if (uses_ && came_ < uses_->last) contend();
}

void SpinLock::unlock() {
    const Picoseconds now = kernel_.core().now();
    if (now == came_) return;
    if (!uses_) {
        uses_ = std::make_unique<Uses>();
        uses_->address = kernel_.new_lock_address();
    }
    uses_->latest[uses_->next++ % uses_->latest.size()] = {came_, now, kernel_.this_cpu()};
    uses_->last = std::max(uses_->last, now);
}

void SpinLock::pass() {
    if (!uses_ || kernel_.dismantling() || kernel_.core().now() >= uses_->last) return;
    const IrqGuard guard(kernel_);
    lock();
    unlock();
}

void SpinLock::contend() {
    const int me = kernel_.this_cpu();
    Picoseconds until{};
    int others = 0;
    for (const Use& use : uses_->latest) {
        if (use.cpu == me || came_ < use.came || came_ >= use.until) continue;
        until = std::max(until, use.until);
        ++others;
    }
    if (!others) return;
    Frame f(kernel_, KernelSymbol::queued_spin_lock_slowpath);
    const bool queued = others > 1;
    if (queued) kernel_.tracepoints().trace_contention_begin(uses_->address, ke::LCB_F_SPIN);
    spin(kernel_, until);
    if (queued) kernel_.tracepoints().trace_contention_end(uses_->address, 0);
}

} // namespace rkperf::os
