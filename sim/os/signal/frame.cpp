// SPDX-License-Identifier: Apache-2.0
// Delivery of signals at the return to EL0: the frame on the user stack (struct rt_sigframe of arm64), restart of
// system calls, stops, deaths, and rt_sigreturn.
#include "kernel_events/debug_monitors.h"
#include "kernel_events/trace/tracepoints.h"
#include "sim/os/exec/vdso.h"
#include "sim/os/kernel.h"
#include "sim/os/ptrace/ptrace.h"
#include "sim/os/signal/signals.h"

#include <cerrno>
#include <cstring>

namespace rkperf::os {

namespace {

// Layout of struct rt_sigframe (arch/arm64: siginfo, ucontext) and of the records in sigcontext.__reserved.
constexpr std::uint64_t kUcontext = 128;
constexpr std::uint64_t kUcStack = kUcontext + 16, kUcSigmask = kUcontext + 40;
constexpr std::uint64_t kMcontext =
    kUcontext + 176; ///< fault_address, regs[31], sp, pc, pstate, then 16-aligned records
constexpr std::uint64_t kReserved = kMcontext + 288;
constexpr std::uint64_t kFrameBytes = kReserved + 4096;
constexpr std::uint64_t kFrameRecord = kFrameBytes; ///< fp, lr
constexpr std::uint64_t kTotal = kFrameBytes + 16;
constexpr std::uint32_t kFpsimdMagic = 0x46508001, kFpsimdSize = 528;
constexpr std::uint32_t kEsrMagic = 0x45535201, kEsrSize = 16;
constexpr std::uint32_t kExtraMagic = 0x45585401, kExtraSize = 32;
constexpr std::uint64_t kRecordHead = 8, kTerminator = 16, kMostFrameBytes = 64 * 1024;

constexpr std::uint64_t kSaNodefer = 0x40000000, kSaResethand = 0x80000000, kSaRestart = 0x10000000,
                        kSaOnstack = 0x08000000, kSaRestorer = 0x04000000;
constexpr int kSsDisable = 2, kSsOnstack = 1;
constexpr std::uint64_t kSsAutodisarm = 1ull << 31;
constexpr SigSet bit(int signo) { return 1ull << (signo - 1); }
constexpr SigSet kStop = bit(SIGSTOP) | bit(SIGTSTP) | bit(SIGTTIN) | bit(SIGTTOU);
constexpr SigSet kIgnore = bit(SIGCHLD) | bit(SIGCONT) | bit(SIGURG) | bit(SIGWINCH);
constexpr SigSet kCore = bit(SIGQUIT) | bit(SIGILL) | bit(SIGTRAP) | bit(SIGABRT) | bit(SIGFPE) | bit(SIGSEGV) |
                         bit(SIGBUS) | bit(SIGSYS) | bit(SIGXCPU) | bit(SIGXFSZ);

constexpr bool is_restart(std::int64_t result) {
    return result == kERESTARTSYS || result == kERESTARTNOINTR || result == kERESTARTNOHAND ||
           result == kERESTART_RESTARTBLOCK;
}

bool on_altstack(const Task& t, std::uint64_t sp) {
    return t.altstack_size && sp > t.altstack_sp && sp <= t.altstack_sp + t.altstack_size;
}

template <class T>
void put(std::vector<std::uint8_t>& f, std::uint64_t at, T v) {
    std::memcpy(f.data() + at, &v, sizeof v);
}
template <class T>
T get(const std::vector<std::uint8_t>& f, std::uint64_t at) {
    T v;
    std::memcpy(&v, f.data() + at, sizeof v);
    return v;
}

void trace_deliver(Kernel& os, const SigInfo& info, const SigAction& action) {
    const IrqGuard guard(os); // under the lock of the signal handlers
    std::int32_t words[3];    // si_signo, si_errno, si_code
    std::memcpy(words, info.raw.data(), sizeof words);
    os.tracepoints().trace_signal_deliver({words[0], words[1], words[2]}, action.handler, action.flags);
}

} // namespace

int Signals::setup_frame(Task& t, const SigInfo& info, const SigAction& action, SigSet old_mask) {
    Frame fr(os_, KernelSymbol::setup_rt_frame);
    a64::CpuState& u = os_.user();
    std::uint64_t sp = u.x[a64::kSp];
    if ((action.flags & kSaOnstack) && !(t.altstack_flags & kSsDisable) && !on_altstack(t, sp))
        sp = t.altstack_sp + t.altstack_size;
    const std::uint64_t frame = (sp & ~std::uint64_t{15}) - kTotal;

    std::vector<std::uint8_t> f(kTotal);
    std::memcpy(f.data(), info.raw.data(), info.raw.size());
    put<std::uint64_t>(f, kUcStack, t.altstack_sp);
    put<std::int32_t>(f, kUcStack + 8,
                      t.altstack_flags == kSsDisable ? kSsDisable
                                                     : (on_altstack(t, u.x[a64::kSp]) ? kSsOnstack : 0) |
                                                           (t.altstack_flags & static_cast<int>(kSsAutodisarm)));
    put<std::uint64_t>(f, kUcStack + 16, t.altstack_size);
    put<SigSet>(f, kUcSigmask, old_mask);
    put<std::uint64_t>(f, kMcontext, t.fault_address);
    std::memcpy(f.data() + kMcontext + 8, u.x, 31 * 8);
    put<std::uint64_t>(f, kMcontext + 256, u.x[a64::kSp]);
    put<std::uint64_t>(f, kMcontext + 264, u.pc);
    put<std::uint64_t>(f, kMcontext + 272, u.nzcv | (t.pt_regs.pstate & spsr::SS));
    put<std::uint32_t>(f, kReserved, kFpsimdMagic);
    put<std::uint32_t>(f, kReserved + 4, kFpsimdSize);
    put<std::uint32_t>(f, kReserved + 8, u.fpsr);
    put<std::uint32_t>(f, kReserved + 12, u.fpcr);
    std::memcpy(f.data() + kReserved + 16, u.v, sizeof u.v);
    if (t.fault_code) {
        put<std::uint32_t>(f, kReserved + kFpsimdSize, kEsrMagic);
        put<std::uint32_t>(f, kReserved + kFpsimdSize + 4, kEsrSize);
        put<std::uint64_t>(f, kReserved + kFpsimdSize + 8, t.fault_code);
    }
    put<std::uint64_t>(f, kFrameRecord, u.x[29]);
    put<std::uint64_t>(f, kFrameRecord + 8, u.x[30]);
    if (os_.put_user(frame, f.data(), f.size())) return -EFAULT;

    a64::CpuState& now = os_.user(); // put_user may have slept
    now.x[0] = static_cast<std::uint64_t>(info.signo());
    now.x[1] = frame;
    now.x[2] = frame + kUcontext;
    now.x[a64::kSp] = frame;
    now.x[29] = frame + kFrameRecord;
    now.x[30] = action.flags & kSaRestorer ? action.restorer : t.as->vdso + Vdso::kSigreturn;
    now.pc = action.handler;
    if (t.altstack_flags & static_cast<int>(kSsAutodisarm)) t.altstack_size = 0, t.altstack_flags = kSsDisable;
    return 0;
}

/// Where the record of the vector registers lies in the frame that comes back, or 0 if the records are not well formed.
std::uint64_t Signals::find_fpsimd(std::uint64_t frame) {
    std::uint64_t base = frame + kReserved, offset = 0, limit = kFrameBytes - kReserved, fpsimd = 0;
    struct Head {
        std::uint32_t magic, size;
    };
    for (bool extra = false;;) {
        Head head;
        if (limit - offset < kRecordHead || offset % 16 || os_.get(base + offset, head)) return 0;
        if (limit - offset < head.size) return 0;
        if (head.magic == 0) return head.size ? 0 : fpsimd;
        if (head.magic == kFpsimdMagic) {
            if (fpsimd || head.size < kFpsimdSize) return 0;
            fpsimd = base + offset;
        } else if (head.magic == kExtraMagic) {
            // The records go on behind the terminator that follows this one.
            struct {
                std::uint64_t datap;
                std::uint32_t size;
            } more;
            Head last;
            if (extra || head.size < kExtraSize || os_.get(base + offset + kRecordHead, more)) return 0;
            const std::uint64_t terminator = base + offset + head.size, behind = terminator + kTerminator;
            if (limit - offset - head.size < kTerminator || os_.get(terminator, last)) return 0;
            if (last.magic || last.size || behind % 16 || more.size % 16 || more.datap != behind) return 0;
            if (more.size > frame + kMostFrameBytes - behind) return 0;
            extra = true;
            base = behind, offset = 0, limit = more.size;
            continue;
        } else if (head.magic != kEsrMagic) {
            return 0;
        }
        if (head.size < kRecordHead) return 0;
        offset += head.size;
    }
}

std::int64_t Signals::sigreturn() {
    Frame fr(os_, KernelSymbol::restore_sigframe);
    Task& t = os_.cur();
    const std::uint64_t frame = os_.user().x[a64::kSp];
    std::vector<std::uint8_t> f(kReserved), vectors(kFpsimdSize);
    const auto bad = [&] {
        const std::uint64_t sp = os_.user().x[a64::kSp];
        constexpr int kMapErr = 1, kAccErr = 2;
        const bool above = !t.as->vmas().empty() && t.as->vmas().rbegin()->second.end > sp;
        force(t, siginfo_fault(SIGSEGV, above ? kAccErr : kMapErr, sp));
        return std::int64_t{0};
    };
    if (frame & 15) return bad();
    // What follows holds for a frame that is refused further on, too: the fault is reported at its stack pointer. What
    // cannot be read of a frame is 0.
    const bool whole = !os_.get_user(f.data(), frame, f.size());
    if (!whole)
        for (std::uint64_t at = 0; at < f.size(); at += 8)
            if (os_.get_user(f.data() + at, frame + at, 8)) put<std::uint64_t>(f, at, 0);
    if (SigSet blocked; whole || !os_.get(frame + kUcSigmask, blocked)) set_blocked(t, get<SigSet>(f, kUcSigmask));
    const auto pstate = get<std::uint64_t>(f, kMcontext + 272);
    {
        a64::CpuState& u = os_.user();
        std::memcpy(u.x, f.data() + kMcontext + 8, 31 * 8);
        u.x[a64::kSp] = get<std::uint64_t>(f, kMcontext + 256);
        u.pc = get<std::uint64_t>(f, kMcontext + 264);
        u.nzcv = static_cast<std::uint32_t>(pstate & 0xf0000000u);
    }
    t.syscall_nr = -1;
    t.syscall_restart = false;
    os_.perf().debug_monitors().user_regs_reset_single_step(t.pt_regs, t);
    // Only flags and the like may come back from user memory: the mode bits must be EL0t, nothing masked.
    if (!whole || pstate & 0x3df) return bad();
    const std::uint64_t fpsimd = find_fpsimd(frame);
    if (!fpsimd || os_.get_user(vectors.data(), fpsimd, vectors.size()) ||
        get<std::uint32_t>(vectors, 4) != kFpsimdSize)
        return bad();
    a64::CpuState& u = os_.user();
    u.fpsr = get<std::uint32_t>(vectors, 8);
    u.fpcr = get<std::uint32_t>(vectors, 12);
    std::memcpy(u.v, vectors.data() + 16, sizeof u.v);
    const int flags = get<std::int32_t>(f, kUcStack + 8);
    if (!on_altstack(t, u.x[a64::kSp])) {
        t.altstack_sp = get<std::uint64_t>(f, kUcStack);
        t.altstack_size = flags & kSsDisable ? 0 : get<std::uint64_t>(f, kUcStack + 16);
        t.altstack_flags = flags & kSsDisable ? kSsDisable : flags & ~kSsOnstack;
    }
    return static_cast<std::int64_t>(u.x[0]);
}

bool Signals::get_signal(SigInfo& info, SigAction& action) {
    Task& t = os_.cur();
    Process& p = *t.process;
    for (;;) {
        if (p.cld_stopped || p.cld_continued) {
            const IrqGuard guard(os_);
            const int why = p.cld_continued ? cld::continued : cld::stopped;
            p.cld_stopped = p.cld_continued = false;
            notify_parent_cldstop(t, false, why);
            if (ptrace_reparented(*p.leader)) notify_parent_cldstop(*p.leader, true, why);
            continue;
        }
        if (p.group_exit || t.exec_killed) {
            t.pending.set &= ~bit(SIGKILL); // its work is done; the stop at exit is still to come
            trace_deliver(os_, siginfo_user(SIGKILL, 0, 0, 0), SigAction{});
            os_.do_exit(p.group_exit ? p.group_exit_code : 0); // an exec ends the other threads with 0
        }
        if ((t.jobctl & jobctl::stop_pending) && do_signal_stop(0)) continue;
        if (t.jobctl & jobctl::trap_mask) {
            do_jobctl_trap();
            continue;
        }
        bool shared = false;
        if (!dequeue(t, t.blocked, info, &shared)) return false;
        int signo = info.signo();
        if (t.ptrace && signo != SIGKILL && !(p.sighand->immutable & bit(signo))) {
            signo = ptrace_signal(info, shared);
            if (!signo) continue;
        }
        SigAction& entry = p.sighand->action[static_cast<unsigned>(signo)];
        trace_deliver(os_, info, entry);
        if (entry.handler == 1) continue;
        if (entry.handler != 0) {
            action = entry;
            if (entry.flags & kSaResethand) entry = SigAction{};
            return true;
        }
        if (kIgnore & bit(signo)) continue;
        if (kStop & bit(signo)) {
            if (signo != SIGSTOP && will_become_orphaned_pgrp(os_, p.pgid, nullptr)) continue;
            do_signal_stop(signo);
            continue;
        }
        // No core file is written, but a shell expects the bit where RLIMIT_CORE would allow one.
        const bool core = (kCore & bit(signo)) && p.rlimits[4].cur != 0;
        os_.do_group_exit(signo | (core ? 0x80 : 0));
    }
}

void Signals::do_notify_resume() {
    Frame fr(os_, KernelSymbol::do_signal);
    Task& t = os_.cur();
    // A system call to be restarted looks, to a tracer, as if it had not been made yet.
    const bool in_syscall = t.syscall_nr != -1;
    std::uint64_t continue_at = 0, restart_at = 0;
    std::int64_t result = 0;
    if (in_syscall) {
        a64::CpuState& u = os_.user();
        continue_at = u.pc;
        restart_at = continue_at - 4;
        result = static_cast<std::int64_t>(u.x[0]);
        t.syscall_nr = -1;
        t.syscall_restart = false;
        if (is_restart(result)) {
            u.x[0] = t.orig_x0;
            u.pc = restart_at;
        }
    }
    SigInfo info;
    SigAction action;
    const bool deliver = get_signal(info, action);
    a64::CpuState& u = os_.user();
    const bool restarts = in_syscall && is_restart(result) && u.pc == restart_at;
    if (deliver) {
        if (restarts && (result == kERESTARTNOHAND || result == kERESTART_RESTARTBLOCK ||
                         (result == kERESTARTSYS && !(action.flags & kSaRestart)))) {
            u.x[0] = static_cast<std::uint64_t>(-EINTR);
            u.pc = continue_at;
        }
        handle_signal(info, action);
        return;
    }
    if (restarts) {
        if (result == kERESTART_RESTARTBLOCK) u.x[8] = 128; // restart_syscall
        os_.perf().debug_monitors().user_rewind_single_step(t);
    }
    if (t.restore_sigmask) {
        t.restore_sigmask = false;
        set_blocked(t, t.saved_sigmask);
    }
}

void Signals::handle_signal(const SigInfo& info, const SigAction& action) {
    Task& t = os_.cur();
    const int signo = info.signo();
    if (t.rseq) os_.rseq_handle_resume(t); // the handler returns to where an aborted sequence goes on
    const SigSet old = t.restore_sigmask ? t.saved_sigmask : t.blocked;
    t.restore_sigmask = false;
    if (setup_frame(t, info, action, old)) {
        // No room for the frame: fatal, unless another signal's handler has a stack to run on.
        if (signo == SIGSEGV) t.process->sighand->action[SIGSEGV] = SigAction{};
        force(t, siginfo_kernel(SIGSEGV));
        return;
    }
    SigSet blocked = t.blocked | action.mask;
    if (!(action.flags & kSaNodefer)) blocked |= bit(signo);
    set_blocked(t, blocked);
    t.fault_address = t.fault_code = 0;
    // A step that ends in a handler has been done: the tracer sees the handler's first instruction.
    os_.perf().debug_monitors().user_regs_reset_single_step(t.pt_regs, t);
    if (t.tif_singlestep) ptrace_notify(os_, SIGTRAP, 0);
}

} // namespace rkperf::os
