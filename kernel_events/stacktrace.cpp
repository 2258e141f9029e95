// SPDX-License-Identifier: Apache-2.0
#include "kernel_events/stacktrace.h"

#include <algorithm>
#include <array>

namespace rkperf::ke {

namespace {

constexpr unsigned kVaBits = 48;
constexpr std::uint64_t kRecordBytes = 16; ///< frame pointer and return address

/// The stacks that may still be entered, and what is left of the one the walk is on.
class Accessible {
  public:
    Accessible(const KernelStacks& stacks, bool preemptible) : left_{stacks.task} {
        // Who can be preempted is on the task's stack: the CPU's own may be another's by now (CC-039).
        if (!preemptible) left_ = {stacks.task, stacks.irq, stacks.overflow};
    }
    /// Uses the record at fp: nothing at or below it can be used again (CC-040).
    bool consume(std::uint64_t fp) {
        if (!present_.holds(fp, kRecordBytes)) {
            const auto next = std::find_if(left_.begin(), left_.end(),
                                           [&](const StackRange& s) { return s.holds(fp, kRecordBytes); });
            if (next == left_.end()) return false;
            present_ = *next;
            *next = {};
        }
        present_.low = fp + kRecordBytes;
        return true;
    }

  private:
    std::array<StackRange, 3> left_;
    StackRange present_;
};

} // namespace

std::uint64_t ptrauth_strip_insn_pac(std::uint64_t ptr) {
    constexpr std::uint64_t kernel_mask = ~std::uint64_t{0} << kVaBits;
    constexpr std::uint64_t user_mask = kernel_mask & ((std::uint64_t{1} << 55) - 1);
    return ptr >> 55 & 1 ? ptr | kernel_mask : ptr & ~user_mask;
}

void arch_stack_walk(Kernel& kernel, const PtRegs& regs, const std::function<bool(std::uint64_t)>& consume) {
    const KernelStacks stacks = kernel.kernel_stacks();
    Accessible accessible(stacks, kernel.preemptible());
    std::uint64_t fp = regs.regs[29], pc = regs.pc;
    // Records come in the order of the walk, so each search begins where the last one ended.
    auto at = stacks.records.begin();
    while (consume(pc)) {
        if (fp == stacks.outermost || fp % 8 || !accessible.consume(fp)) return;
        const auto record = std::find_if(at, stacks.records.end(), [&](const auto& r) { return r.at == fp; });
        if (record == stacks.records.end()) return;
        at = record;
        fp = record->fp;
        pc = ptrauth_strip_insn_pac(record->lr);
    }
}

} // namespace rkperf::ke
