// SPDX-License-Identifier: Apache-2.0
// Hardware breakpoints: kernel/events/hw_breakpoint.c (slot accounting, in-kernel users) and
// arch/arm64/kernel/hw_breakpoint.c (attributes, registers, exceptions, stepping over a hit). Spec HWBP-001 to 089.
#pragma once

#include "kernel_events/debug_monitors.h"
#include "kernel_events/internal.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

namespace rkperf::ke {

/// bp_type (<linux/hw_breakpoint.h>).
inline constexpr unsigned HW_BREAKPOINT_EMPTY = 0, HW_BREAKPOINT_R = 1, HW_BREAKPOINT_W = 2, HW_BREAKPOINT_RW = 3,
                          HW_BREAKPOINT_X = 4, HW_BREAKPOINT_INVALID = 7;

enum class BpTypeIdx : unsigned { inst = 0, data = 1 };
inline constexpr unsigned TYPE_MAX = 2;
/// The pool of registers a bp_type needs (HWBP-003).
constexpr BpTypeIdx find_slot_idx(std::uint64_t bp_type) {
    return bp_type & HW_BREAKPOINT_RW ? BpTypeIdx::data : BpTypeIdx::inst;
}

/// struct arch_hw_breakpoint of arm64.
struct ArchBreakpoint {
    enum Type : unsigned { execute = 0, load = 1, store = 2 };
    static constexpr unsigned kEl1 = 1, kEl0 = 2; ///< privilege
    struct Ctrl {
        unsigned len{}; ///< byte mask
        unsigned type{}, privilege{};
        bool enabled{};
    };
    std::uint64_t address{}; ///< what the value register holds
    std::uint64_t trigger{}; ///< where it was hit last
    Ctrl ctrl;
};

/// How many bps want what, per type of register: struct bp_cpuinfo and its kin (HWBP-011 to 018). Weight is always 1.
class BpConstraints {
  public:
    /// Number of tasks, or CPUs, that hold n bps: bucket n - 1.
    class Histogram {
      public:
        explicit Histogram(unsigned slots = 0) : buckets_(slots) {}
        /// One holder goes from `from` to `to`. False: a bucket went negative or there is none, a bug of the caller.
        bool move(int from, int to);
        int max() const; ///< highest n that anybody holds
        bool any() const { return max() != 0; }

      private:
        std::vector<int> buckets_;
    };

    void init(CpuMask possible, unsigned inst_slots, unsigned data_slots);
    unsigned slots(BpTypeIdx type) const { return slots_[index(type)]; }
    /// Slots already needed where bp shall go (HWBP-013).
    int busy(const PerfEvent& bp, BpTypeIdx type) const;
    /// Books bp in, or out; -ENOENT: it was not booked.
    int toggle(PerfEvent& bp, BpTypeIdx type, bool enable);
    bool is_used() const;

  private:
    struct CpuInfo {
        int cpu_pinned{};
        Histogram tsk_pinned;
    };
    static constexpr unsigned index(BpTypeIdx t) { return static_cast<unsigned>(t); }
    /// bps of bp's task of this type that `cpu` may meet; cpu -1: of a task whose bps name no CPU, else -1 (HWBP-012).
    int task_bp_pinned(int cpu, const PerfEvent& bp, BpTypeIdx type) const;
    void toggle_task(const PerfEvent& bp, BpTypeIdx type, int delta);
    template <class F>
    void each_cpu(F f) const {
        for (int c = 0; c < kMaxCpus; ++c)
            if (possible_ >> c & 1) f(c);
    }
    void check(bool ok);

    CpuMask possible_{};
    std::array<unsigned, TYPE_MAX> slots_{};
    std::array<std::array<CpuInfo, TYPE_MAX>, kMaxCpus> cpu_;
    std::array<Histogram, TYPE_MAX> cpu_pinned_, tsk_pinned_all_;
    /// task_bps_ht: bps of both types by task. Looked up only.
    std::unordered_map<const TaskBase*, std::vector<PerfEvent*>> task_bps_;
};

/// A lock that holders share, or one has alone.
class RwSem {
  public:
    void init(Kernel& k);
    void down_read();
    void up_read();
    void down_write() { room_->lock(); }
    void up_write() { room_->unlock(); }
    bool is_write_locked() const { return !readers_ && room_->is_locked(); }
    bool is_read_locked() const { return readers_ != 0; }

  private:
    std::unique_ptr<Mutex> door_, room_;
    int readers_{};
};

class HwBreakpoints {
  public:
    using Overflow = std::function<void(PerfEvent&, PerfSampleData&, PtRegs&)>;

    HwBreakpoints(Perf::Impl& perf, DebugMonitors& monitors);
    /// init_hw_breakpoint and arch_hw_breakpoint_init, on the boot CPU.
    void init();
    /// On each CPU when it starts or has been without power, interrupts masked: hw_breakpoint_reset (HWBP-062).
    void cpu_starting();

    // --- slots; hw_breakpoint.cpp ---
    unsigned hw_breakpoint_slots(BpTypeIdx type) const { return constraints_.slots(type); }
    int reserve_bp_slot(PerfEvent& bp);
    void release_bp_slot(PerfEvent& bp);
    /// For a kernel debugger, which cannot wait: -1 if a lock is held (HWBP-026).
    int dbg_reserve_bp_slot(PerfEvent& bp);
    int dbg_release_bp_slot(PerfEvent& bp);
    bool hw_breakpoint_is_used() const { return constraints_initialized_ && constraints_.is_used(); }
    /// No memory for the accounting at boot: every reservation fails (HWBP-009).
    void constraints_failed() { constraints_initialized_ = false; }
    RwSem& bp_cpuinfo_sem() { return bp_cpuinfo_sem_; }
    /// The PMU's event_init.
    int register_perf_hw_breakpoint(PerfEvent& bp);

    // --- in-kernel users; hw_breakpoint_users.cpp ---
    static void hw_breakpoint_init(perf_event_attr& attr);
    static void ptrace_breakpoint_init(perf_event_attr& attr);
    /// A bp of `task` with a callback of the caller's; null and `error`.
    PerfEvent* register_user_hw_breakpoint(perf_event_attr attr, Overflow triggered, TaskBase& task, int& error);
    int modify_user_hw_breakpoint(PerfEvent& bp, const perf_event_attr& attr);
    void unregister_hw_breakpoint(PerfEvent* bp);
    /// One bp on every CPU that is online; by CPU, null where none is. `error`: 0 or why there are none.
    using Wide = std::array<PerfEvent*, kMaxCpus>;
    std::unique_ptr<Wide> register_wide_hw_breakpoint(const perf_event_attr& attr, const Overflow& triggered,
                                                      int& error);
    void unregister_wide_hw_breakpoint(std::unique_ptr<Wide> events);
    /// modify_user_hw_breakpoint without the disabling and enabling; `check`: other fields may not differ (ioctl).
    int modify_user_hw_breakpoint_check(PerfEvent& bp, const perf_event_attr& attr, bool check);

    // --- ptrace; hw_breakpoint_ptrace.cpp ---
    static constexpr unsigned NT_ARM_HW_BREAK = 0x402, NT_ARM_HW_WATCH = 0x403;
    std::uint32_t ptrace_hbp_get_resource_info(unsigned note_type) const;
    int ptrace_hbp_get_addr(unsigned note_type, TaskBase& task, std::uint64_t idx, std::uint64_t& addr) const;
    int ptrace_hbp_get_ctrl(unsigned note_type, TaskBase& task, std::uint64_t idx, std::uint32_t& ctrl) const;
    int ptrace_hbp_set_addr(unsigned note_type, TaskBase& task, std::uint64_t idx, std::uint64_t addr);
    int ptrace_hbp_set_ctrl(unsigned note_type, TaskBase& task, std::uint64_t idx, std::uint32_t ctrl);
    /// The regset as a whole (struct user_hwdebug_state): what hw_break_get writes, and hw_break_set from byte 0 on.
    std::vector<std::uint8_t> hw_break_get(unsigned note_type, TaskBase& task) const;
    int hw_break_set(unsigned note_type, TaskBase& task, const std::vector<std::uint8_t>& bytes);
    void flush_ptrace_hw_breakpoint(TaskBase& task);                                       ///< exec and exit
    static void clear_ptrace_hw_breakpoint(TaskBase& task) { task.debug = ThreadDebug{}; } ///< fork

    // --- arm64; hw_breakpoint_arch.cpp ---
    /// Decodes and checks an attr for bp (HWBP-045 to 056).
    int hw_breakpoint_parse(const PerfEvent& bp, const perf_event_attr& attr, ArchBreakpoint& hw);
    int arch_install_hw_breakpoint(PerfEvent& bp);
    void arch_uninstall_hw_breakpoint(PerfEvent& bp);
    int breakpoint_handler(std::uint32_t esr, PtRegs& regs);
    int watchpoint_handler(std::uint64_t addr, std::uint32_t esr, PtRegs& regs);
    /// 0: the step was for suspended breakpoints only.
    int reinstall_suspended_bps(PtRegs& regs);
    void hw_breakpoint_thread_switch(const TaskBase& next);
    /// The control word without E.
    std::uint32_t encode_ctrl_reg(const ArchBreakpoint::Ctrl& ctrl) const;
    /// Breakpoints and watchpoints for kernel code in the registers of this CPU.
    const int& kernel_bps(int cpu) const { return cpu_[static_cast<unsigned>(cpu)].kernel_bps; }
    void perf_bp_event(PerfEvent& bp, PtRegs& regs);

  private:
    enum class Ops : std::uint8_t { install, uninstall, restore };
    enum class KernelStep : std::uint8_t { none, active, suspend };
    struct Cpu {
        std::array<PerfEvent*, kArmMaxHbpSlots> bp_on_reg{}, wp_on_reg{};
        KernelStep stepping_kernel_bp{};
        int kernel_bps{};
    };
    /// One of the two sets of registers of this CPU.
    struct Set {
        std::array<PerfEvent*, kArmMaxHbpSlots>& slots;
        unsigned count;
        SysReg (*value)(unsigned);
        SysReg (*control)(unsigned);
    };
    int __reserve_bp_slot(PerfEvent& bp, std::uint64_t bp_type);
    int locked_reserve(PerfEvent& bp, std::uint64_t bp_type);
    int modify_bp_slot(PerfEvent& bp, std::uint64_t old_type, std::uint64_t new_type);
    template <class F>
    int with_constraints_lock(const PerfEvent& bp, F f);
    Set set_of(BpTypeIdx type);
    int hw_breakpoint_control(PerfEvent& bp, Ops ops);
    void write_wb_reg(SysReg reg, std::uint64_t value);
    void toggle_bp_registers(BpTypeIdx type, DbgActiveEl el, bool enable);
    void step_from_kernel(PtRegs& regs);
    void step_from_user(TaskBase& task);
    bool watchpoint_report(PerfEvent& wp, std::uint64_t addr, PtRegs& regs);
    PerfEvent* ptrace_hbp_get_event(unsigned note_type, TaskBase& task, std::uint64_t idx) const;
    PerfEvent* ptrace_hbp_get_initialised_bp(unsigned note_type, TaskBase& task, std::uint64_t idx, int& error);
    int modify_ptrace_bp(PerfEvent& bp, const perf_event_attr& attr) { return modify_user_hw_breakpoint(bp, attr); }
    Cpu& here() { return cpu_[static_cast<unsigned>(kernel_.smp_processor_id())]; }

    Perf::Impl& perf_;
    Kernel& kernel_;
    DebugMonitors& monitors_;
    BpConstraints constraints_;
    bool constraints_initialized_{};
    RwSem bp_cpuinfo_sem_;
    std::array<Cpu, kMaxCpus> cpu_;
    /// Smallest of the CPUs (HWBP-063); what A55 and A76 have, until a CPU says so.
    unsigned core_num_brps_{6}, core_num_wrps_{4};
    unsigned debug_arch_{8};
    bool counted_{}, warned_{};
};

/// The default: samples go to the ring buffer. Others make progress by themselves (HWBP-065).
inline bool is_default_overflow_handler(const PerfEvent& e) { return !e.kernel_counter; }

} // namespace rkperf::ke
