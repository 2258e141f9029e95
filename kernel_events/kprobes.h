// SPDX-License-Identifier: Apache-2.0
// Probes on the simulated kernel's functions (kernel/kprobes.c): what has a symbol can be probed at its entry, at its
// return, and at any 4 bytes inside. Native code has no instructions to put a breakpoint on, so a hit at the entry is
// Kernel::enter, with the cost of the exceptions charged. Inside, what is charged for a call passes the function's text from
// the beginning to the end, 4 bytes an instruction: a probe there is hit when it is passed, once a call, or never if the
// call is charged less than that.
//
// Registers at a hit: pc is the function, x0 to x7 are those of the system call that is being executed, which is what the
// first functions of a call get; other functions' arguments are not known. At a return x0 is what the function returned, if
// it said so (Kernel::function_returns), else 0.
#pragma once

#include "kernel_events/kernel.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace rkperf::ke {

/// struct kprobe, or struct kretprobe if ret_handler is there.
struct Kprobe {
    KernelSymbol symbol{};
    std::uint32_t offset{}; ///< bytes into it
    std::uint64_t addr{};
    std::function<void(Kprobe&, PtRegs&)> pre_handler;
    std::function<void(Kprobe&, std::uint64_t ret_addr, PtRegs&)> ret_handler;
    unsigned maxactive{}; ///< calls under way that a return probe follows; 0: 10, or two for each CPU if that is more
    unsigned active{};
    bool disabled{}; ///< registered, but not armed
    std::uint64_t nmissed{};
};

class Kprobes {
  public:
    explicit Kprobes(Kernel& kernel) : k_(kernel) {}
    Kprobes(const Kprobes&) = delete;
    Kprobes& operator=(const Kprobes&) = delete;

    static std::optional<KernelSymbol> find_symbol(std::string_view name);
    /// A kernel has several functions of this name: each driver of an interrupt controller has one of its own.
    static bool ambiguous(std::string_view name);
    struct Place {
        KernelSymbol symbol{};
        std::uint32_t offset{};
    };
    /// The function that an address is in.
    std::optional<Place> locate(std::uint64_t address);
    /// "name+0xoffset/0xsize", or the address (sprint_symbol).
    std::string sprint_symbol(std::uint64_t address);

    /// -EINVAL: may not be probed, or no instruction begins there.
    int register_kprobe(Kprobe& p);
    void unregister_kprobe(Kprobe& p);
    /// enable_kprobe, disable_kprobe.
    void set_enabled(Kprobe& p, bool on);

    bool armed(KernelSymbol s) const { return armed_[static_cast<unsigned>(s)]; }
    bool armed_inside(KernelSymbol s) const { return armed_inside_[static_cast<unsigned>(s)]; }
    /// Instructions from `offset` to an armed probe further inside the function; a great number: there is none.
    std::uint64_t next_inside(KernelSymbol s, std::uint64_t offset) const;
    /// The instruction at `offset` of a function is about to be executed.
    void hit_inside(KernelSymbol s, std::uint32_t offset, PtRegs& regs);
    /// The function was entered. Not 0: kretprobe_hit is to be called with it at the end.
    std::uint32_t hit(KernelSymbol s, PtRegs& regs);
    /// `ret_addr`: where the function returns to; regs.pc is the same.
    void kretprobe_hit(std::uint32_t instance, std::uint64_t ret_addr, PtRegs& regs);
    /// The call never returns (the task ends).
    void drop(std::uint32_t instance);

  private:
    struct Instance {
        std::vector<Kprobe*> probes;
    };
    void arm(KernelSymbol s);
    std::uint32_t hit_at(KernelSymbol s, std::uint32_t offset, PtRegs& regs);
    void forget(const std::vector<Kprobe*>& probes);

    Kernel& k_;
    std::array<std::vector<Kprobe*>, static_cast<unsigned>(KernelSymbol::count_)> probes_;
    std::array<bool, static_cast<unsigned>(KernelSymbol::count_)> armed_{}, armed_inside_{};
    std::array<bool, kMaxCpus> running_{}; ///< a handler runs on the CPU: hits are missed
    std::map<std::uint32_t, Instance> instances_;
    std::uint32_t next_instance_{};
};

} // namespace rkperf::ke
