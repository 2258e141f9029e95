// SPDX-License-Identifier: Apache-2.0
// Kernel stacks: where the frames of the entered functions lie, and the registers of kernel code. Native code keeps no
// frame records in simulated memory; they are laid out here when somebody looks, as compiled code would have left them.
#include "sim/os/kernel.h"

#include <algorithm>
#include <array>
#include <utility>

namespace rkperf::os {

namespace {

constexpr std::uint64_t kThreadSize = 16384;    // THREAD_SIZE
constexpr std::uint64_t kStackDistance = 32768; // THREAD_ALIGN with VMAP_STACK: the rest is a guard
constexpr std::uint64_t kOverflowBytes = 4096;  // OVERFLOW_STACK_SIZE
constexpr std::uint64_t kPtRegsBytes = 336;     // sizeof(struct pt_regs)
constexpr std::uint64_t kStackframe = 304;      // offsetof(struct pt_regs, stackframe)
constexpr std::uint64_t kFrameBytes = 48;       // of a function with three callee-saved pairs
constexpr std::uint64_t kEl1h = 5;              // PSTATE of the kernel
constexpr std::uint64_t kIrqStacks = 0xffff80000a000000, kOverflowStacks = 0xffff80000a800000,
                        kIdleStacks = 0xffff80000ac00000, kTaskStacks = 0xffff80000b000000;

std::uint64_t slot(std::uint64_t base, int n) { return base + static_cast<std::uint64_t>(n) * kStackDistance; }
std::uint64_t top_of(std::uint64_t stack) { return stack + kThreadSize; }

/// An exception's entry: its frame record is the one in the registers it saves.
bool is_entry(KernelSymbol s) {
    switch (s) {
        case KernelSymbol::el0t_64_sync:
        case KernelSymbol::el0t_64_irq:
        case KernelSymbol::el1h_64_irq: return true;
        default: return false;
    }
}

/// Functions without a frame of their own.
bool is_leaf(KernelSymbol s) {
    switch (s) {
        case KernelSymbol::__arch_copy_from_user:
        case KernelSymbol::__arch_copy_to_user:
        case KernelSymbol::clear_page:
        case KernelSymbol::copy_page: return true;
        default: return false;
    }
}

/// sp and x29 in a function, behind its first instructions.
struct StackPlace {
    std::uint64_t sp, fp;
};

/// Walks over frames, outermost first.
class StackLayout {
  public:
    StackLayout(std::uint64_t task_top, std::uint64_t irq_top)
        : outermost_(task_top - kPtRegsBytes + kStackframe),
          irq_top_(irq_top),
          at_{task_top - kPtRegsBytes, outermost_} {}
    std::uint64_t outermost() const { return outermost_; }
    const StackPlace& at() const { return at_; }
    /// Goes on to the next frame; true if it has a record, whose address at().fp is then.
    bool enter(KernelSymbol s) {
        const bool first = !std::exchange(entered_, true);
        if (switch_) {
            at_.sp = irq_top_;
            on_irq_stack_ = true;
        }
        switch_ = s == KernelSymbol::call_on_irq_stack && !on_irq_stack_;
        // The outermost frame's record is that of the entry from EL0, or a new task's, which looks the same.
        if (first || is_leaf(s)) return false;
        at_.sp -= is_entry(s) ? kPtRegsBytes : kFrameBytes;
        at_.fp = at_.sp + (is_entry(s) ? kStackframe : 0);
        return true;
    }

  private:
    std::uint64_t outermost_, irq_top_;
    StackPlace at_;
    bool entered_{}, switch_{}, on_irq_stack_{};
};

} // namespace

std::uint64_t Kernel::task_stack() {
    const Task& t = cur();
    return &t == here().idle ? slot(kIdleStacks, this_cpu()) : slot(kTaskStacks, t.pid);
}

ke::KernelStacks Kernel::kernel_stacks() {
    const auto range = [](std::uint64_t low, std::uint64_t bytes) { return ke::StackRange{low, low + bytes}; };
    const std::uint64_t task = task_stack(), irq = slot(kIrqStacks, this_cpu());
    ke::KernelStacks out;
    out.task = range(task, kThreadSize);
    out.irq = range(irq, kThreadSize);
    out.overflow = range(slot(kOverflowStacks, this_cpu()), kOverflowBytes);
    StackLayout layout(top_of(task), top_of(irq));
    out.outermost = layout.outermost();
    const auto& frames = *here().frames;
    out.records.reserve(frames.size());
    for (std::size_t i = 0; i < frames.size(); ++i) {
        const std::uint64_t caller = layout.at().fp;
        if (layout.enter(frames[i].symbol)) out.records.push_back({layout.at().fp, caller, place_in(frames[i - 1])});
    }
    std::reverse(out.records.begin(), out.records.end());
    return out;
}

bool Kernel::preemptible() {
    return !cur().preempt_count && !here().hardirq_depth && !here().nmi_depth && !core().irq_masked();
}

void Kernel::kernel_regs(ke::PtRegs& regs, std::uint64_t pc, CodeAt where) {
    regs = ke::PtRegs{};
    const auto& frames = *here().frames;
    StackLayout layout(top_of(task_stack()), top_of(slot(kIrqStacks, this_cpu())));
    // A function that has just been called, or has returned, has no frame.
    const std::size_t own = frames.size() && where != CodeAt::inside ? 1 : 0;
    for (std::size_t i = 0; i + own < frames.size(); ++i) layout.enter(frames[i].symbol);
    regs.pc = pc;
    regs.sp = layout.at().sp;
    regs.regs[29] = layout.at().fp;
    if (frames.size() > 1) regs.regs[30] = place_in(frames[frames.size() - 2]);
    regs.pstate = kEl1h;
}

void Kernel::fetch_caller_regs(ke::PtRegs& regs) {
    const auto& frames = *here().frames;
    const std::uint64_t caller =
        frames.empty() ? symbol_address(KernelSymbol{}) : place_in(frames[frames.size() > 1 ? frames.size() - 2 : 0]);
    kernel_regs(regs, caller, CodeAt::inside);
    regs.regs[30] = 0;
}

std::uint64_t Kernel::task_pt_regs_address() { return top_of(task_stack()) - kPtRegsBytes; }

bool Kernel::copy_from_kernel_nofault(void* to, std::uint64_t from, std::size_t n) {
    const ke::KernelStacks stacks = kernel_stacks();
    const auto on = [&](const ke::StackRange& s) { return s.holds(from, n); };
    if (!on(stacks.task) && !on(stacks.irq) && !on(stacks.overflow)) return false;
    const Task& t = cur();
    // struct pt_regs up to its stackframe; what nothing was said to be on the stack is 0.
    std::array<std::uint64_t, kStackframe / 8> saved{};
    std::copy_n(t.pt_regs.regs, 31, saved.begin());
    saved[31] = t.pt_regs.sp;
    saved[32] = t.pt_regs.pc;
    saved[33] = t.pt_regs.pstate;
    saved[34] = t.orig_x0;
    saved[35] = static_cast<std::uint32_t>(t.syscall_nr);
    const std::uint64_t regs = task_pt_regs_address();
    const auto word_at = [&](std::uint64_t at) -> std::uint64_t {
        if (at >= regs && at < regs + kStackframe) return saved[(at - regs) / 8];
        for (const auto& r : stacks.records) {
            if (at == r.at) return r.fp;
            if (at == r.at + 8) return r.lr;
        }
        return 0;
    };
    auto* out = static_cast<std::uint8_t*>(to);
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t at = from + i;
        out[i] = static_cast<std::uint8_t>(word_at(at & ~std::uint64_t{7}) >> at % 8 * 8);
    }
    return true;
}

void Kernel::fault_regs(ke::PtRegs& regs) {
    const auto& frames = *here().frames;
    kernel_regs(regs, frames.empty() ? symbol_address(KernelSymbol{}) : place_in(frames.back()), CodeAt::inside);
}

} // namespace rkperf::os
