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

LockUses::Found LockUses::at(Picoseconds now, int cpu) const {
    Found found;
    if (now >= last_) return found;
    for (const Use& use : latest_) {
        if (use.cpu == cpu || now < use.came || now >= use.until) continue;
        found.until = std::max(found.until, use.until);
        ++found.others;
    }
    return found;
}

void LockUses::add(Picoseconds came, Picoseconds until, int cpu) {
    latest_[number_++ % latest_.size()] = {came, until, cpu};
    last_ = std::max(last_, until);
}

void SpinLock::lock() {
    came_ = kernel_.core().now();
    spend(kernel_, wait_from(came_));
}

void SpinLock::unlock() { used(came_, kernel_.core().now()); }

SpinLock::Wait SpinLock::arrive() {
    if (!uses_ || kernel_.dismantling()) return {};
    const Picoseconds now = kernel_.core().now();
    const Wait wait = wait_from(now);
    used(now, std::max(now, wait.until));
    return wait;
}

void SpinLock::spend(Kernel& k, const Wait& wait) {
    if (k.dismantling() || k.core().now() >= wait.until) return;
    const IrqGuard guard(k);
    Frame f(k, KernelSymbol::queued_spin_lock_slowpath);
    if (wait.queued) k.tracepoints().trace_contention_begin(wait.address, ke::LCB_F_SPIN);
    spin(k, wait.until);
    if (wait.queued) k.tracepoints().trace_contention_end(wait.address, 0);
}

SpinLock::Wait SpinLock::wait_from(Picoseconds now) const {
    if (!uses_) return {};
    const LockUses::Found found = uses_->at(now, kernel_.this_cpu());
    return {found.until, uses_->address, found.others > 1};
}

void SpinLock::used(Picoseconds came, Picoseconds until) {
    if (until == came) return;
    if (!uses_) {
        uses_ = std::make_unique<Uses>();
        uses_->address = kernel_.new_lock_address();
    }
    uses_->add(came, until, kernel_.this_cpu());
}

} // namespace rkperf::os
