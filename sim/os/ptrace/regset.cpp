// SPDX-License-Identifier: Apache-2.0
// Register sets of a stopped task, by ELF note (arch/arm64/kernel/ptrace.c, user_aarch64_view).
#include "kernel_events/hw_breakpoint.h"
#include "sim/os/process/tagged_addr.h"
#include "sim/os/ptrace/ptrace.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace rkperf::os {

namespace {

/// Bits of pstate that a debugger may not set: they are RES0 in SPSR_EL1, or the kernel's.
constexpr std::uint64_t kPstateRes0 = ~0xffffffffull | 0x0c000000 | 0x00c00000 | 0x001fe000 | 0x20;
constexpr std::uint64_t kFlags = 0xf0000000, kModeMask = 0x1f, kDaif = 0x3c0;
/// TCO, DIT, SSBS, BTYPE: a debugger reads back what it wrote, until the task runs.
constexpr std::uint64_t kKept = 0x03001c00;

using Bytes = std::vector<std::uint8_t>;

/// Of a set as much as was asked for; of what is written as much as there is, the rest stays.
template <class T>
void give(const T& set, Bytes& out) {
    std::copy_n(reinterpret_cast<const std::uint8_t*>(&set), std::min(out.size(), sizeof set), out.begin());
}
template <class T>
void take(const Bytes& in, T& set) {
    std::copy_n(in.begin(), std::min(in.size(), sizeof set), reinterpret_cast<std::uint8_t*>(&set));
}

/// Instructions beyond the system call and the copy (measured with NT_PRSTATUS: 2068 and 1517 in all).
constexpr std::uint32_t kGetCost = 850, kSetCost = 300;

/// struct user_pt_regs.
struct Gpr {
    std::uint64_t regs[31], sp, pc, pstate;
};

int gpr_get(Kernel& k, Task& t, Bytes& out) {
    UserContext u;
    k.read_user_context(t, u);
    Gpr g;
    std::copy_n(u.x, 31, g.regs);
    g.sp = u.sp;
    g.pc = u.pc;
    g.pstate = (u.nzcv & kFlags) | (t.pt_regs.pstate & (spsr::SS | kKept));
    give(g, out);
    return 0;
}

int gpr_set(Kernel& k, Task& t, const Bytes& in) {
    Bytes whole(sizeof(Gpr));
    gpr_get(k, t, whole);
    std::copy(in.begin(), in.end(), whole.begin());
    Gpr g;
    std::memcpy(&g, whole.data(), sizeof g);
    g.pstate &= ~kPstateRes0;
    if (g.pstate & (kModeMask | kDaif)) return -EINVAL; // not EL0t of AArch64 with nothing masked
    UserContext u;
    k.read_user_context(t, u);
    std::copy_n(g.regs, 31, u.x);
    u.sp = g.sp;
    u.pc = g.pc;
    u.nzcv = static_cast<std::uint32_t>(g.pstate & kFlags);
    k.write_user_context(t, u);
    std::copy_n(g.regs, 31, t.pt_regs.regs);
    t.pt_regs.sp = g.sp;
    t.pt_regs.pc = g.pc;
    t.pt_regs.pstate = g.pstate & (kFlags | kKept);
    k.perf().debug_monitors().user_regs_reset_single_step(t.pt_regs, t);
    return 0;
}

/// struct user_fpsimd_state.
struct Fpr {
    a64::Vec v[32];
    std::uint32_t fpsr, fpcr, reserved[2];
};

int fpr_get(Kernel& k, Task& t, Bytes& out) {
    UserContext u;
    k.read_user_context(t, u);
    Fpr f{};
    std::copy_n(u.v, 32, f.v);
    f.fpsr = u.fpsr;
    f.fpcr = u.fpcr;
    give(f, out);
    return 0;
}

int fpr_set(Kernel& k, Task& t, const Bytes& in) {
    Bytes whole(sizeof(Fpr));
    fpr_get(k, t, whole);
    std::copy(in.begin(), in.end(), whole.begin());
    Fpr f;
    std::memcpy(static_cast<void*>(&f), whole.data(), sizeof f);
    UserContext u;
    k.read_user_context(t, u);
    std::copy_n(f.v, 32, u.v);
    u.fpsr = f.fpsr & a64::kFpsrMask;
    u.fpcr = f.fpcr & a64::kFpcrMask;
    k.write_user_context(t, u);
    return 0;
}

/// TPIDR_EL0, and TPIDR2_EL0, which these cores do not have.
int tls_get(Kernel& k, Task& t, Bytes& out) {
    UserContext u;
    k.read_user_context(t, u);
    const std::uint64_t tls[2] = {u.tpidr_el0, 0};
    give(tls, out);
    return 0;
}
int tls_set(Kernel& k, Task& t, const Bytes& in) {
    UserContext u;
    k.read_user_context(t, u);
    take(in, u.tpidr_el0);
    k.write_user_context(t, u);
    return 0;
}

int system_call_get(Kernel&, Task& t, Bytes& out) {
    const std::int32_t nr = t.syscall_nr;
    give(nr, out);
    return 0;
}
int system_call_set(Kernel&, Task& t, const Bytes& in) {
    take(in, t.syscall_nr);
    return 0;
}

int tagged_addr_get(Kernel&, Task& t, Bytes& out) {
    give(get_tagged_addr_ctrl(t), out);
    return 0;
}
int tagged_addr_set(Kernel&, Task& t, const Bytes& in) {
    std::uint64_t ctrl = get_tagged_addr_ctrl(t);
    take(in, ctrl);
    return set_tagged_addr_ctrl(t, ctrl);
}

/// NT_ARM_HW_BREAK and NT_ARM_HW_WATCH: struct user_hwdebug_state, slots that do not exist read as zeros.
constexpr std::uint32_t kHwBreak = 0x402, kHwWatch = 0x403;
template <std::uint32_t note>
int hw_get(Kernel& k, Task& t, Bytes& out) {
    const Bytes all = k.perf().hw_breakpoints().hw_break_get(note, t);
    std::copy_n(all.begin(), std::min(all.size(), out.size()), out.begin());
    return 0;
}
template <std::uint32_t note>
int hw_set(Kernel& k, Task& t, const Bytes& in) {
    return k.perf().hw_breakpoints().hw_break_set(note, t, in);
}

struct Regset {
    std::uint32_t note;    ///< NT_*
    std::uint32_t n, size; ///< of so many bytes each
    int (*get)(Kernel&, Task&, Bytes&);
    int (*set)(Kernel&, Task&, const Bytes&);
};

/// Sets of extensions that the cores lack (SVE, SME, PAC, MTE) are not among them: EINVAL, as on such hardware.
constexpr Regset kRegsets[] = {
    {1 /* NT_PRSTATUS */, 34, 8, gpr_get, gpr_set},
    {2 /* NT_PRFPREG */, 132, 4, fpr_get, fpr_set},
    {0x401 /* NT_ARM_TLS */, 2, 8, tls_get, tls_set},
    {kHwBreak, 66, 4, hw_get<kHwBreak>, hw_set<kHwBreak>},
    {kHwWatch, 66, 4, hw_get<kHwWatch>, hw_set<kHwWatch>},
    {0x404 /* NT_ARM_SYSTEM_CALL */, 1, 4, system_call_get, system_call_set},
    {0x406 /* NT_ARM_PAC_MASK */, 2, 8, nullptr, nullptr}, // these cores have none, and nobody sets it
    {0x409 /* NT_ARM_TAGGED_ADDR_CTRL */, 1, 8, tagged_addr_get, tagged_addr_set},
};

} // namespace

std::int64_t ptrace_regset(Kernel& k, Task& child, bool set, std::uint32_t note, std::uint64_t at) {
    struct {
        std::uint64_t base, length;
    } iov;
    if (k.get(at, iov)) return -EFAULT;
    const auto r =
        std::find_if(std::begin(kRegsets), std::end(kRegsets), [&](const Regset& x) { return x.note == note; });
    if (r == std::end(kRegsets) || iov.length % r->size) return -EINVAL;
    if (set && !r->set) return -EOPNOTSUPP;
    if (!set && !r->get) return -EINVAL;
    k.charge(set ? kSetCost : kGetCost);
    Bytes bytes(std::min<std::uint64_t>(iov.length, std::uint64_t{r->n} * r->size));
    if (set) {
        if (k.get_user(bytes.data(), iov.base, bytes.size())) return -EFAULT;
        if (const int e = r->set(k, child, bytes)) return e;
    } else {
        if (const int e = r->get(k, child, bytes)) return e;
        if (k.put_user(iov.base, bytes.data(), bytes.size())) return -EFAULT;
    }
    const std::uint64_t length = bytes.size();
    return k.put(at + 8, length) ? -EFAULT : 0;
}

} // namespace rkperf::os
