// SPDX-License-Identifier: Apache-2.0
// What ptrace makes of hardware breakpoints: the regsets NT_ARM_HW_BREAK and NT_ARM_HW_WATCH (HWBP-083 to 088).
#include "kernel_events/hw_breakpoint.h"

#include <csignal>
#include <cstring>

namespace rkperf::ke {

namespace {

/// struct user_hwdebug_state: info, pad, then {addr, ctrl, pad} for each slot.
constexpr std::size_t kHeader = 8, kEntry = 16;

/// The debugger's view of ctrl: byte mask 12:5, type 4:3, E 0.
struct Decoded {
    unsigned len{}, type{}, offset{};
    bool enabled{};
};
Decoded decode_ctrl_reg(std::uint32_t reg) {
    Decoded d;
    d.enabled = reg & 1;
    d.type = reg >> 3 & 3;
    const unsigned mask = reg >> 5 & 0xff;
    d.offset = mask ? static_cast<unsigned>(__builtin_ctz(mask)) : 0;
    d.len = mask >> d.offset;
    return d;
}

/// bp_type and bp_len of it, HWBP-086.
int arch_bp_generic_fields(const Decoded& d, unsigned& type, unsigned& len) {
    switch (d.type) {
        case ArchBreakpoint::execute: type = HW_BREAKPOINT_X; break;
        case ArchBreakpoint::load: type = HW_BREAKPOINT_R; break;
        case ArchBreakpoint::store: type = HW_BREAKPOINT_W; break;
        default: type = HW_BREAKPOINT_RW; break;
    }
    for (len = 1; len <= 8; ++len)
        if (d.len == (1u << len) - 1) return 0;
    return -EINVAL;
}

} // namespace

std::uint32_t HwBreakpoints::ptrace_hbp_get_resource_info(unsigned note_type) const {
    return debug_arch_ << 8 | (note_type == NT_ARM_HW_BREAK ? core_num_brps_ : core_num_wrps_);
}

PerfEvent* HwBreakpoints::ptrace_hbp_get_event(unsigned note_type, TaskBase& task, std::uint64_t idx) const {
    const auto& slots = note_type == NT_ARM_HW_BREAK ? task.debug.hbp_break : task.debug.hbp_watch;
    return idx < slots.size() ? slots[idx] : nullptr;
}

int HwBreakpoints::ptrace_hbp_get_addr(unsigned note_type, TaskBase& task, std::uint64_t idx,
                                       std::uint64_t& addr) const {
    if (idx >= kArmMaxHbpSlots) return -EINVAL;
    const PerfEvent* bp = ptrace_hbp_get_event(note_type, task, idx);
    addr = bp ? bp->hw.breakpoint->address : 0;
    return 0;
}

int HwBreakpoints::ptrace_hbp_get_ctrl(unsigned note_type, TaskBase& task, std::uint64_t idx,
                                       std::uint32_t& ctrl) const {
    if (idx >= kArmMaxHbpSlots) return -EINVAL;
    const PerfEvent* bp = ptrace_hbp_get_event(note_type, task, idx);
    if (!bp) {
        ctrl = 0;
        return 0;
    }
    const ArchBreakpoint::Ctrl& c = bp->hw.breakpoint->ctrl;
    ctrl = encode_ctrl_reg(c) | c.enabled;
    return 0;
}

PerfEvent* HwBreakpoints::ptrace_hbp_get_initialised_bp(unsigned note_type, TaskBase& task, std::uint64_t idx,
                                                        int& error) {
    error = -EINVAL;
    if (idx >= kArmMaxHbpSlots) return nullptr;
    auto& slots = note_type == NT_ARM_HW_BREAK ? task.debug.hbp_break : task.debug.hbp_watch;
    error = 0;
    if (slots[idx]) return slots[idx];
    perf_event_attr attr;
    ptrace_breakpoint_init(attr);
    attr.bp_addr = 0;
    attr.bp_len = 4;
    attr.bp_type = note_type == NT_ARM_HW_BREAK ? HW_BREAKPOINT_X : HW_BREAKPOINT_RW;
    attr.disabled = 1;
    // ptrace_hbptriggered: the debugger hears of it before the instruction has executed.
    const auto triggered = [this](PerfEvent& bp, PerfSampleData&, PtRegs&) {
        kernel_.force_sig_fault(SIGTRAP, TRAP_HWBKPT, bp.hw.breakpoint->trigger, 0);
    };
    PerfEvent* bp = register_user_hw_breakpoint(attr, triggered, task, error);
    if (bp) slots[idx] = bp;
    return bp;
}

int HwBreakpoints::ptrace_hbp_set_addr(unsigned note_type, TaskBase& task, std::uint64_t idx, std::uint64_t addr) {
    int error = 0;
    PerfEvent* bp = ptrace_hbp_get_initialised_bp(note_type, task, idx, error);
    if (!bp) return error;
    perf_event_attr attr = bp->attr;
    attr.bp_addr = addr;
    return modify_ptrace_bp(*bp, attr);
}

int HwBreakpoints::ptrace_hbp_set_ctrl(unsigned note_type, TaskBase& task, std::uint64_t idx, std::uint32_t ctrl) {
    int error = 0;
    PerfEvent* bp = ptrace_hbp_get_initialised_bp(note_type, task, idx, error);
    if (!bp) return error;
    const Decoded d = decode_ctrl_reg(ctrl);
    perf_event_attr attr = bp->attr;
    attr.disabled = !d.enabled;
    if (d.enabled) {
        unsigned type = 0, len = 0;
        if ((error = arch_bp_generic_fields(d, type, len))) return error;
        if ((note_type == NT_ARM_HW_BREAK) != (type == HW_BREAKPOINT_X)) return -EINVAL;
        attr.bp_len = len;
        attr.bp_type = type;
        attr.bp_addr += d.offset;
    }
    return modify_ptrace_bp(*bp, attr);
}

std::vector<std::uint8_t> HwBreakpoints::hw_break_get(unsigned note_type, TaskBase& task) const {
    const unsigned n = note_type == NT_ARM_HW_BREAK ? core_num_brps_ : core_num_wrps_;
    std::vector<std::uint8_t> bytes(kHeader + n * kEntry);
    const std::uint32_t info = ptrace_hbp_get_resource_info(note_type);
    std::memcpy(bytes.data(), &info, sizeof info);
    for (unsigned i = 0; i < n; ++i) {
        std::uint64_t addr = 0;
        std::uint32_t ctrl = 0;
        ptrace_hbp_get_addr(note_type, task, i, addr);
        ptrace_hbp_get_ctrl(note_type, task, i, ctrl);
        std::memcpy(&bytes[kHeader + i * kEntry], &addr, sizeof addr);
        std::memcpy(&bytes[kHeader + i * kEntry + 8], &ctrl, sizeof ctrl);
    }
    return bytes;
}

int HwBreakpoints::hw_break_set(unsigned note_type, TaskBase& task, const std::vector<std::uint8_t>& bytes) {
    // info and its padding are read-only: whatever is there is skipped.
    std::uint64_t idx = 0;
    for (std::size_t at = kHeader; at < bytes.size(); at += kEntry, ++idx) {
        std::uint64_t addr = 0;
        std::uint32_t ctrl = 0;
        if (bytes.size() - at < sizeof addr) return -EINVAL;
        std::memcpy(&addr, &bytes[at], sizeof addr);
        if (const int error = ptrace_hbp_set_addr(note_type, task, idx, addr)) return error;
        if (bytes.size() - at == sizeof addr) break;
        if (bytes.size() - at < sizeof addr + sizeof ctrl) return -EINVAL;
        std::memcpy(&ctrl, &bytes[at + sizeof addr], sizeof ctrl);
        if (const int error = ptrace_hbp_set_ctrl(note_type, task, idx, ctrl)) return error;
    }
    return 0;
}

void HwBreakpoints::flush_ptrace_hw_breakpoint(TaskBase& task) {
    for (auto* slots : {&task.debug.hbp_break, &task.debug.hbp_watch})
        for (PerfEvent*& bp : *slots) {
            PerfEvent* gone = bp;
            bp = nullptr;
            unregister_hw_breakpoint(gone);
        }
}

} // namespace rkperf::ke
