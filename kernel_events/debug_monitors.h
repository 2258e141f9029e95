// SPDX-License-Identifier: Apache-2.0
// arch/arm64/kernel/debug-monitors.c and the debug part of mm/fault.c: MDSCR_EL1, single-stepping of user code, hooks of
// BRK and of the step exception, and the dispatch of debug exceptions (spec DBG-057 to DBG-075).
#pragma once

#include "kernel_events/kernel.h"
#include "sim/base/sysreg_debug.h"

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

namespace rkperf::ke {

enum class DbgActiveEl : std::uint8_t { el0, el1 };

/// si_code of SIGTRAP.
inline constexpr int TRAP_BRKPT = 1, TRAP_TRACE = 2, TRAP_HWBKPT = 4;

/// BRK immediates (asm/brk-imm.h, DBG-071).
inline constexpr std::uint16_t KPROBES_BRK_IMM = 0x004, UPROBES_BRK_IMM = 0x005, KPROBES_BRK_SS_IMM = 0x006,
                               FAULT_BRK_IMM = 0x100, KGDB_DYN_DBG_BRK_IMM = 0x400, KGDB_COMPILED_DBG_BRK_IMM = 0x401,
                               BUG_BRK_IMM = 0x800, KASAN_BRK_IMM = 0x900, KASAN_BRK_MASK = 0x0ff,
                               CFI_BRK_IMM_BASE = 0x8000;
/// The instruction BRK #imm.
constexpr std::uint32_t aarch64_brk(std::uint16_t imm) { return 0xd4200000u | std::uint32_t{imm} << 5; }

/// Numbers of debug exceptions in ESR bits 29:27 (DBG_ESR_EVT, DBG-066).
enum class DbgEvt : unsigned { hwbp = 0, hwss = 1, hwwp = 2, bkpt32 = 4, vector_catch = 5, brk = 6 };
constexpr unsigned dbg_esr_evt(std::uint32_t esr) { return esr >> 27 & 7; }

class DebugMonitors {
  public:
    /// 0: dealt with.
    using FaultHandler = std::function<int(std::uint64_t addr, std::uint32_t esr, PtRegs& regs)>;
    /// Hooks return true if the exception was theirs (DBG_HOOK_HANDLED).
    using Hook = std::function<bool(PtRegs& regs, std::uint32_t esr)>;

    explicit DebugMonitors(Kernel& kernel);

    /// On each CPU when it starts, interrupts masked: MDSCR_EL1, the locks (DBG-004, DBG-061).
    void cpu_starting();

    /// debugfs "debug_enabled" and the command line's "nodebugmon": without it MDSCR_EL1 stays as it is (DBG-057).
    bool debug_enabled{true};
    void enable_debug_monitors(DbgActiveEl el);
    void disable_debug_monitors(DbgActiveEl el);

    // --- single-stepping of user code: TIF_SINGLESTEP and SPSR.SS of the saved registers (DBG-063, 064) ---
    void user_enable_single_step(TaskBase& task);
    void user_disable_single_step(TaskBase& task);
    /// If the task is being stepped, it executes one instruction more before the step exception.
    void user_rewind_single_step(TaskBase& task);
    /// If the task is being stepped, the step exception comes before the next instruction.
    void user_fastforward_single_step(TaskBase& task);
    /// After a debugger or sigreturn wrote the registers: SPSR.SS is what TIF_SINGLESTEP says.
    void user_regs_reset_single_step(PtRegs& regs, const TaskBase& task);
    /// Around EL0, interrupts masked: MDSCR_EL1.SS if current is being stepped.
    void enable_step_tsk(const TaskBase& task);
    void disable_step_tsk(const TaskBase& task);

    // --- stepping of kernel code, interrupts masked (DBG-065) ---
    void kernel_enable_single_step(PtRegs& regs);
    void kernel_disable_single_step();
    bool kernel_active_single_step();

    // --- hooks ---
    /// Asked in turn, the latest registered first, until one returns true.
    void register_user_step_hook(Hook hook) { user_step_.insert(user_step_.begin(), std::move(hook)); }
    void register_kernel_step_hook(Hook hook) { kernel_step_.insert(kernel_step_.begin(), std::move(hook)); }
    /// For BRKs whose comment without `mask` is `imm`; of several the first registered.
    void register_user_break_hook(std::uint16_t imm, std::uint16_t mask, Hook hook) {
        user_break_.push_back({imm, mask, std::move(hook)});
    }
    void register_kernel_break_hook(std::uint16_t imm, std::uint16_t mask, Hook hook) {
        kernel_break_.push_back({imm, mask, std::move(hook)});
    }
    /// Takes over breakpoint or watchpoint exceptions.
    void hook_debug_fault_code(DbgEvt evt, FaultHandler fn, int signo, int code);
    /// Sees a step exception before the hooks: 0 if it was for suspended breakpoints (reinstall_suspended_bps).
    void set_reinstall_suspended_bps(std::function<int(PtRegs&)> fn) { reinstall_suspended_bps_ = std::move(fn); }

    /// A debug exception: `addr` is FAR for watchpoints, else the pc (DBG-066 to 070).
    void do_debug_exception(std::uint64_t addr, std::uint32_t esr, PtRegs& regs);

    /// A user breakpoint of AArch32, which arrives as an undefined instruction (DBG-072): `insn` is the word at pc of A32,
    /// or the one or two halfwords of T32, the first in the low half.
    static bool aarch32_break(std::uint32_t insn, bool thumb);

  private:
    struct BreakHook {
        std::uint16_t imm{}, mask{};
        Hook fn;
    };
    struct FaultInfo {
        FaultHandler fn;
        int signo{}, code{};
    };
    int single_step_handler(std::uint32_t esr, PtRegs& regs);
    int brk_handler(std::uint32_t esr, PtRegs& regs);
    std::uint32_t mdscr_read();
    void mdscr_write(std::uint32_t value);
    void send_user_sigtrap(int code, const PtRegs& regs);

    Kernel& kernel_;
    std::array<int, kMaxCpus> mde_ref_count_{}, kde_ref_count_{};
    std::array<FaultInfo, 8> debug_fault_info_;
    std::vector<Hook> user_step_, kernel_step_;
    std::vector<BreakHook> user_break_, kernel_break_;
    std::function<int(PtRegs&)> reinstall_suspended_bps_;
};

} // namespace rkperf::ke
