// SPDX-License-Identifier: Apache-2.0
// The system call ptrace: finding the tracee, checking that it is stopped, and one function per request.
#include "kernel_events/debug_monitors.h"
#include "sim/os/process/process.h"
#include "sim/os/ptrace/ptrace.h"
#include "sim/os/signal/signals.h"
#include "sim/os/syscall/tables.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rkperf::os {

namespace {

/// PTRACE_* of linux/ptrace.h and asm/ptrace.h.
enum Request : std::uint64_t {
    traceme = 0,
    peektext = 1,
    peekdata = 2,
    poketext = 4,
    pokedata = 5,
    cont = 7,
    kill = 8,
    singlestep = 9,
    attach = 16,
    detach = 17,
    syscall = 24,
    sysemu = 31,
    sysemu_singlestep = 32,
    setoptions = 0x4200,
    geteventmsg = 0x4201,
    getsiginfo = 0x4202,
    setsiginfo = 0x4203,
    getregset = 0x4204,
    setregset = 0x4205,
    seize = 0x4206,
    interrupt = 0x4207,
    listen = 0x4208,
    peeksiginfo = 0x4209,
    getsigmask = 0x420a,
    setsigmask = 0x420b,
    seccomp_filter = 0x420c,
    seccomp_metadata = 0x420d,
    get_syscall_info = 0x420e,
    get_rseq_configuration = 0x420f,
};

constexpr SigSet kUnblockable = 1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1);
/// Instructions to find the tracee and to see that it is stopped (measured, with the call itself: GETSIGINFO takes 1171).
constexpr std::uint32_t kCheckAttach = 450;

struct Call {
    Kernel& k;
    Task& me;
    Task& child;
    std::uint64_t request, addr, data;
};

bool valid_signal(std::uint64_t n) { return n <= static_cast<std::uint64_t>(kNumSignals); }

void wake_traced(const Call& c) {
    c.child.jobctl &= ~jobctl::traced;
    if (c.child.state == TaskState::traced) c.k.wake_up_process(c.child);
}

std::int64_t do_peek(const Call& c) {
    std::uint64_t word = 0;
    const std::span bytes(reinterpret_cast<std::uint8_t*>(&word), sizeof word);
    if (!c.child.as || access_remote_vm(c.k, c.child.as, c.addr, bytes, false, true) != sizeof word) return -EIO;
    return c.k.put(c.data, word) ? -EFAULT : 0;
}
std::int64_t do_poke(const Call& c) {
    std::uint64_t word = c.data;
    const std::span bytes(reinterpret_cast<std::uint8_t*>(&word), sizeof word);
    const bool ok = c.child.as && access_remote_vm(c.k, c.child.as, c.addr, bytes, true, true) == sizeof word;
    return ok ? 0 : -EIO;
}

/// CONT, SYSCALL, SINGLESTEP, SYSEMU.
std::int64_t do_resume(const Call& c) {
    if (!valid_signal(c.data)) return -EIO;
    PtraceLink& p = c.child.ptrace;
    p.syscall_trace = c.request == syscall;
    p.syscall_emu = c.request == sysemu || c.request == sysemu_singlestep;
    if (c.request == singlestep || c.request == sysemu_singlestep)
        c.k.perf().debug_monitors().user_enable_single_step(c.child);
    else
        c.k.perf().debug_monitors().user_disable_single_step(c.child);
    const IrqGuard guard(c.k);
    p.stop_code = static_cast<int>(c.data);
    wake_traced(c);
    return 0;
}

std::int64_t do_kill(const Call& c) {
    c.k.signals().send_process(c.child, siginfo_user(SIGKILL, 0, c.me.tgid, c.me.cred.uid));
    return 0;
}

std::int64_t do_detach(const Call& c) {
    if (!valid_signal(c.data)) return -EIO;
    c.k.perf().debug_monitors().user_disable_single_step(c.child);
    const IrqGuard guard(c.k);
    c.child.ptrace.stop_code = static_cast<int>(c.data);
    if (ptrace_detach_links(c.k, c.me, c.child)) release_task(c.k, c.child);
    return 0;
}

std::int64_t do_interrupt(const Call& c) {
    if (!c.child.ptrace.seized) return -EIO;
    const IrqGuard guard(c.k);
    if (Signals::set_jobctl_pending(c.child, jobctl::trap_stop))
        c.k.signals().ptrace_wake(c.child, c.child.jobctl & jobctl::listening);
    return 0;
}

std::int64_t do_listen(const Call& c) {
    const SigInfo* info = c.child.ptrace.last_siginfo;
    if (!c.child.ptrace.seized || !info || info->code() >> 8 != ptrace_event_nr::stop) return -EIO;
    const IrqGuard guard(c.k);
    c.child.jobctl |= jobctl::listening;
    if (c.child.jobctl & jobctl::trap_notify) c.k.signals().ptrace_wake(c.child, true);
    return 0;
}

std::int64_t do_setoptions(const Call& c) {
    if (c.data & ~std::uint64_t{ptrace_option::mask}) return -EINVAL;
    if ((c.data & ptrace_option::suspend_seccomp) && !may_suspend_seccomp(c.me)) return -EPERM;
    c.child.ptrace.options = static_cast<std::uint32_t>(c.data);
    return 0;
}
std::int64_t do_geteventmsg(const Call& c) { return c.k.put(c.data, c.child.ptrace.message) ? -EFAULT : 0; }

std::int64_t do_getsiginfo(const Call& c) {
    if (!c.child.ptrace.last_siginfo) return -EINVAL;
    const SigInfo info = *c.child.ptrace.last_siginfo;
    return c.k.put_user(c.data, info.raw.data(), info.raw.size()) ? -EFAULT : 0;
}
std::int64_t do_setsiginfo(const Call& c) {
    SigInfo info;
    if (c.k.get_user(info.raw.data(), c.data, info.raw.size())) return -EFAULT;
    if (!c.child.ptrace.last_siginfo) return -EINVAL;
    *c.child.ptrace.last_siginfo = info;
    return 0;
}
std::int64_t do_peeksiginfo(const Call& c) {
    struct {
        std::uint64_t off;
        std::uint32_t flags;
        std::int32_t nr;
    } arg;
    if (c.k.get(c.addr, arg)) return -EFAULT;
    if ((arg.flags & ~1u) || arg.nr < 0) return -EINVAL;
    const PendingSignals& from = arg.flags & 1 ? c.child.process->shared_pending : c.child.pending;
    std::uint64_t at = c.data;
    std::int32_t n = 0;
    for (; n < arg.nr && arg.off + static_cast<std::uint64_t>(n) < from.queue.size(); ++n, at += sizeof(SigInfo::raw)) {
        const SigInfo info = from.queue[arg.off + static_cast<std::uint64_t>(n)];
        if (c.k.put_user(at, info.raw.data(), info.raw.size())) return n ? n : -EFAULT;
        if (Signals::pending(c.me)) return n + 1;
    }
    return n;
}

std::int64_t do_getsigmask(const Call& c) {
    if (c.addr != sizeof(SigSet)) return -EINVAL;
    return c.k.put(c.data, c.child.restore_sigmask ? c.child.saved_sigmask : c.child.blocked) ? -EFAULT : 0;
}
std::int64_t do_setsigmask(const Call& c) {
    SigSet set;
    if (c.addr != sizeof(SigSet)) return -EINVAL;
    if (c.k.get(c.data, set)) return -EFAULT;
    c.child.blocked = set & ~kUnblockable;
    c.child.restore_sigmask = false;
    return 0;
}

/// struct ptrace_syscall_info.
struct SyscallInfo {
    std::uint8_t op, pad[3];
    std::uint32_t arch;
    std::uint64_t instruction_pointer, stack_pointer;
    std::uint64_t words[8]; ///< entry: nr, args; exit: rval, is_error (a byte); seccomp: nr, args, ret_data (32 bits)
};
enum : std::uint8_t { info_none = 0, info_entry = 1, info_exit = 2, info_seccomp = 3 };

std::int64_t do_get_syscall_info(const Call& c) {
    constexpr std::uint64_t kHead = 24, kEntry = kHead + 56, kExit = kHead + 9, kSeccomp = kEntry + 4;
    UserContext u;
    c.k.read_user_context(c.child, u);
    SyscallInfo s{info_none, {}, bpf::kAuditArchAarch64, u.pc, u.sp, {}};
    std::uint64_t size = kHead;
    const SigInfo* info = c.child.ptrace.last_siginfo;
    const auto entry = [&] {
        s.words[0] = static_cast<std::uint64_t>(static_cast<std::int64_t>(c.child.syscall_nr));
        s.words[1] = c.child.orig_x0;
        std::copy_n(u.x + 1, 5, s.words + 2);
    };
    if (info && info->code() == (ptrace_event_nr::seccomp << 8 | SIGTRAP)) {
        s.op = info_seccomp;
        entry();
        s.words[7] = static_cast<std::uint32_t>(c.child.ptrace.message);
        size = kSeccomp;
    } else if (info && info->code() == (SIGTRAP | 0x80)) {
        if (c.child.ptrace.message == kEventmsgSyscallEntry) {
            s.op = info_entry;
            entry();
            size = kEntry;
        } else if (c.child.ptrace.message == kEventmsgSyscallExit) {
            s.op = info_exit;
            s.words[0] = u.x[0];
            s.words[1] = u.x[0] >= static_cast<std::uint64_t>(-4095ll);
            size = kExit;
        }
    }
    return c.k.put_user(c.data, &s, std::min(size, c.addr)) ? -EFAULT : static_cast<std::int64_t>(size);
}

std::int64_t do_get_rseq_configuration(const Call& c) {
    const struct {
        std::uint64_t pointer;
        std::uint32_t size, signature, flags, pad;
    } r{c.child.rseq, c.child.rseq ? 32u : 0u, c.child.rseq_sig, 0, 0};
    return c.k.put_user(c.data, &r, std::min<std::uint64_t>(sizeof r, c.addr)) ? -EFAULT
                                                                               : static_cast<std::int64_t>(sizeof r);
}

std::int64_t do_getregset(const Call& c) {
    return ptrace_regset(c.k, c.child, false, static_cast<std::uint32_t>(c.addr), c.data);
}
std::int64_t do_setregset(const Call& c) {
    return ptrace_regset(c.k, c.child, true, static_cast<std::uint32_t>(c.addr), c.data);
}

std::int64_t do_seccomp_filter(const Call& c) { return seccomp_get_filter(c.k, c.me, c.child, c.addr, c.data); }
std::int64_t do_seccomp_metadata(const Call& c) { return seccomp_get_metadata(c.k, c.me, c.child, c.addr, c.data); }

constexpr struct {
    std::uint64_t request;
    std::int64_t (*call)(const Call&);
} kRequests[] = {
    {peektext, do_peek},
    {peekdata, do_peek},
    {poketext, do_poke},
    {pokedata, do_poke},
    {cont, do_resume},
    {syscall, do_resume},
    {singlestep, do_resume},
    {sysemu, do_resume},
    {sysemu_singlestep, do_resume},
    {kill, do_kill},
    {detach, do_detach},
    {interrupt, do_interrupt},
    {listen, do_listen},
    {setoptions, do_setoptions},
    {geteventmsg, do_geteventmsg},
    {getsiginfo, do_getsiginfo},
    {setsiginfo, do_setsiginfo},
    {peeksiginfo, do_peeksiginfo},
    {getsigmask, do_getsigmask},
    {setsigmask, do_setsigmask},
    {getregset, do_getregset},
    {setregset, do_setregset},
    {seccomp_filter, do_seccomp_filter},
    {seccomp_metadata, do_seccomp_metadata},
    {get_syscall_info, do_get_syscall_info},
    {get_rseq_configuration, do_get_rseq_configuration},
};

/// ptrace_check_attach: the caller traces it, and it is stopped unless the request does not need that.
bool may_request(const Task& me, const Task& child, std::uint64_t request) {
    if (child.ptrace.tracer != &me) return false;
    if (request == kill || request == interrupt) return true;
    return (child.jobctl & jobctl::traced) && !(child.jobctl & jobctl::listening) && !Signals::fatal_pending(child);
}

std::int64_t sys_ptrace(Kernel& k, Task& t, const SyscallArgs& a) {
    k.charge(kCheckAttach);
    const std::uint64_t request = a[0];
    if (request == traceme) return ptrace_traceme(k, t);
    Task* child = k.find_task_vpid(static_cast<int>(a[1]));
    if (!child || child->state == TaskState::dead) return -ESRCH;
    ++child->refs;
    std::int64_t result = -ESRCH;
    if (request == attach || request == seize) {
        result = ptrace_attach(k, t, *child, request == seize, a[2], a[3]);
    } else if (may_request(t, *child, request)) {
        result = -EIO;
        for (const auto& r : kRequests)
            if (r.request == request) {
                Frame f(k, KernelSymbol::ptrace_request);
                result = r.call({k, t, *child, request, a[2], a[3]});
            }
    }
    k.drop_ref(*child);
    return result;
}

constexpr SyscallRow kRows[] = {{117, "ptrace", sys_ptrace, 4}};

} // namespace

std::span<const SyscallRow> ptrace_syscalls() { return kRows; }

} // namespace rkperf::os
