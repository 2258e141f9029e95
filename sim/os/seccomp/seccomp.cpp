// SPDX-License-Identifier: Apache-2.0
#include "sim/os/seccomp/seccomp.h"

#include "sim/os/kernel.h"
#include "sim/os/ptrace/ptrace.h"
#include "sim/os/signal/signals.h"
#include "sim/os/syscall/tables.h"

#include <algorithm>
#include <array>
#include <cerrno>

namespace rkperf::os {

namespace {

constexpr int kCapSysAdmin = 21;
constexpr int kSkip = -1; ///< the call is not made

// SECCOMP_SET_MODE_*, SECCOMP_GET_*.
enum : std::uint64_t { SET_MODE_STRICT = 0, SET_MODE_FILTER = 1, GET_ACTION_AVAIL = 2, GET_NOTIF_SIZES = 3 };
// SECCOMP_FILTER_FLAG_*.
enum : std::uint64_t {
    TSYNC = 1,
    LOG = 2,
    SPEC_ALLOW = 4,
    NEW_LISTENER = 8,
    TSYNC_ESRCH = 16,
    WAIT_KILLABLE_RECV = 32
};
constexpr std::uint64_t kFlagMask = TSYNC | LOG | SPEC_ALLOW | NEW_LISTENER | TSYNC_ESRCH | WAIT_KILLABLE_RECV;
// SECCOMP_RET_*: a filter's answer is one of these, and 16 bits of data. The least of several, as signed numbers, wins.
enum : std::uint32_t {
    RET_KILL_PROCESS = 0x80000000,
    RET_KILL_THREAD = 0x00000000,
    RET_TRAP = 0x00030000,
    RET_ERRNO = 0x00050000,
    RET_USER_NOTIF = 0x7fc00000,
    RET_TRACE = 0x7ff00000,
    RET_LOG = 0x7ffc0000,
    RET_ALLOW = 0x7fff0000,
    RET_ACTION_FULL = 0xffff0000,
    RET_DATA = 0x0000ffff,
};
constexpr std::uint32_t kActions[] = {RET_KILL_PROCESS, RET_KILL_THREAD, RET_TRAP, RET_ERRNO,
                                      RET_USER_NOTIF,   RET_TRACE,       RET_LOG,  RET_ALLOW};
constexpr std::uint32_t kMaxErrno = 4095;
/// All filters of a task together, each counted with 4 more.
constexpr std::size_t kMaxInsnsPerPath = (1u << 18) / sizeof(bpf::Insn), kFilterPenalty = 4;
constexpr int kStrictCalls[] = {63 /* read */, 64 /* write */, 93 /* exit */, 139 /* rt_sigreturn */};
/// Instructions of a call that filters look at, beside the filters' own: an estimate, so that one filter of four
/// instructions that allows costs some 130.
constexpr std::uint32_t kFilterCost = 120, kInsnCost = 3;

std::int32_t action_only(std::uint32_t ret) { return static_cast<std::int32_t>(ret & RET_ACTION_FULL); }

std::uint32_t run_filters(Kernel& k, const Task& t, const bpf::SeccompData& data, const SeccompFilter*& match) {
    std::uint32_t ret = RET_ALLOW;
    unsigned executed = 0;
    for (const SeccompFilter* f = t.seccomp.filter.get(); f; f = f->prev.get()) {
        const std::uint32_t now = bpf::run(f->program, data, executed);
        if (action_only(now) >= action_only(ret)) continue;
        ret = now;
        match = f;
    }
    k.charge(kFilterCost + kInsnCost * executed);
    return ret;
}

void log_action(Kernel& k, const Task& t, int nr, int signo, std::uint32_t ret) {
    char text[160];
    std::snprintf(text, sizeof text,
                  "audit: type=1326 pid=%d comm=\"%s\" sig=%d arch=%x syscall=%d ip=0x%llx code=0x%x", t.pid, t.comm,
                  signo, bpf::kAuditArchAarch64, nr, static_cast<unsigned long long>(k.user().pc), ret);
    k.pr_info(text);
}

SigInfo siginfo_seccomp(Kernel& k, int nr, std::uint32_t data) {
    return siginfo_sys(1 /* SYS_SECCOMP */, static_cast<int>(data), k.user().pc, nr, bpf::kAuditArchAarch64);
}

void set_result(Kernel& k, std::int64_t value) { k.user().x[0] = static_cast<std::uint64_t>(value); }

int filter_call(Kernel& k, Task& t, bool after_trace) {
    const a64::CpuState& u = k.user();
    const int nr = t.syscall_nr;
    bpf::SeccompData data{nr, bpf::kAuditArchAarch64, u.pc, {t.orig_x0, u.x[1], u.x[2], u.x[3], u.x[4], u.x[5]}};
    const SeccompFilter* match = nullptr;
    const std::uint32_t ret = run_filters(k, t, data, match);
    const std::uint32_t value = ret & RET_DATA, action = ret & RET_ACTION_FULL;
    switch (action) {
        case RET_ALLOW: return 0;
        case RET_LOG: log_action(k, t, nr, 0, action); return 0;
        case RET_ERRNO:
            set_result(k, -static_cast<std::int64_t>(std::min(value, kMaxErrno)));
            if (match && match->log) log_action(k, t, nr, 0, action);
            return kSkip;
        case RET_USER_NOTIF: set_result(k, -ENOSYS); return kSkip;
        case RET_TRAP:
            set_result(k, static_cast<std::int64_t>(t.orig_x0));
            k.signals().force(t, siginfo_seccomp(k, nr, value));
            if (match && match->log) log_action(k, t, nr, SIGSYS, action);
            return kSkip;
        case RET_TRACE:
            if (after_trace) return 0;
            if (!ptrace_event_enabled(t, ptrace_event_nr::seccomp)) {
                set_result(k, -ENOSYS);
                return kSkip;
            }
            ptrace_event(k, ptrace_event_nr::seccomp, value);
            // The tracer may have changed the call or sent SIGKILL; what it set in x0 stays.
            if (Signals::fatal_pending(t) || t.syscall_nr < 0) return kSkip;
            return filter_call(k, t, true);
        default: break;
    }
    log_action(k, t, nr, SIGSYS, action);
    if (action == RET_KILL_THREAD && t.process->live > 1) k.do_exit(SIGSYS);
    set_result(k, static_cast<std::int64_t>(t.orig_x0));
    k.signals().force_exit(t, siginfo_seccomp(k, nr, value));
    return kSkip;
}

bool may_assign_mode(const Task& t, int mode) { return !t.seccomp.mode || t.seccomp.mode == mode; }

std::int64_t set_mode_strict(Task& t) {
    if (!may_assign_mode(t, SECCOMP_MODE_STRICT)) return -EINVAL;
    t.seccomp.mode = SECCOMP_MODE_STRICT;
    return 0;
}

/// Whether `older` is the filter of another thread or comes before it.
bool is_ancestor(const SeccompFilter* older, const SeccompFilter* newest) {
    if (!older) return true;
    for (; newest; newest = newest->prev.get())
        if (newest == older) return true;
    return false;
}

std::int64_t attach_filter(Task& t, std::uint64_t flags, std::shared_ptr<SeccompFilter> filter) {
    std::size_t total = filter->program.size();
    for (const SeccompFilter* f = t.seccomp.filter.get(); f; f = f->prev.get())
        total += f->program.size() + kFilterPenalty;
    if (total > kMaxInsnsPerPath) return -ENOMEM;
    if (flags & TSYNC)
        for (const Task* other : t.process->threads) {
            if (other == &t || other->exiting) continue;
            const bool follows =
                !other->seccomp.mode || (other->seccomp.mode == SECCOMP_MODE_FILTER &&
                                         is_ancestor(other->seccomp.filter.get(), t.seccomp.filter.get()));
            if (!follows) return flags & TSYNC_ESRCH ? -ESRCH : other->pid;
        }
    filter->prev = t.seccomp.filter;
    t.seccomp.filter = std::move(filter);
    t.seccomp.mode = SECCOMP_MODE_FILTER;
    if (flags & TSYNC)
        for (Task* other : t.process->threads) {
            if (other == &t || other->exiting) continue;
            other->seccomp = t.seccomp;
            if (t.cred.no_new_privs) other->cred.no_new_privs = true;
        }
    return 0;
}

std::int64_t set_mode_filter(Kernel& k, Task& t, std::uint64_t flags, std::uint64_t at) {
    if (flags & ~kFlagMask) return -EINVAL;
    if ((flags & TSYNC) && (flags & NEW_LISTENER) && !(flags & TSYNC_ESRCH)) return -EINVAL;
    if ((flags & WAIT_KILLABLE_RECV) && !(flags & NEW_LISTENER)) return -EINVAL;
    struct {
        std::uint16_t len, pad[3];
        std::uint64_t filter;
    } prog;
    if (k.get(at, prog)) return -EFAULT;
    if (prog.len == 0 || prog.len > bpf::kMaxInsns) return -EINVAL;
    if (!t.cred.no_new_privs && !Kernel::has_cap(t, kCapSysAdmin)) return -EACCES;
    auto filter = std::make_shared<SeccompFilter>();
    filter->program.resize(prog.len);
    if (k.get_user(filter->program.data(), prog.filter, prog.len * sizeof(bpf::Insn))) return -EFAULT;
    if (!bpf::valid(filter->program)) return -EINVAL;
    if (flags & NEW_LISTENER) {
        k.pr_info("seccomp: SECCOMP_FILTER_FLAG_NEW_LISTENER is not implemented: EINVAL");
        return -EINVAL;
    }
    filter->log = flags & LOG;
    const IrqGuard guard(k); // all threads at once
    if (!may_assign_mode(t, SECCOMP_MODE_FILTER)) return -EINVAL;
    return attach_filter(t, flags, std::move(filter));
}

std::int64_t get_action_avail(Kernel& k, std::uint64_t at) {
    std::uint32_t action = 0;
    if (k.get(at, action)) return -EFAULT;
    return std::find(std::begin(kActions), std::end(kActions), action) != std::end(kActions) ? 0 : -EOPNOTSUPP;
}

std::int64_t get_notif_sizes(Kernel& k, std::uint64_t at) {
    const std::array<std::uint16_t, 3> sizes{80, 24, 64}; // of seccomp_notif, seccomp_notif_resp, seccomp_data
    return k.put(at, sizes) ? -EFAULT : 0;
}

std::int64_t do_seccomp(Kernel& k, Task& t, std::uint64_t op, std::uint64_t flags, std::uint64_t args) {
    switch (op) {
        case SET_MODE_STRICT: return flags || args ? -EINVAL : set_mode_strict(t);
        case SET_MODE_FILTER: return set_mode_filter(k, t, flags, args);
        case GET_ACTION_AVAIL: return flags ? -EINVAL : get_action_avail(k, args);
        case GET_NOTIF_SIZES: return flags ? -EINVAL : get_notif_sizes(k, args);
        default: return -EINVAL;
    }
}

std::int64_t sys_seccomp(Kernel& k, Task& t, const SyscallArgs& a) {
    return do_seccomp(k, t, static_cast<std::uint32_t>(a[0]), static_cast<std::uint32_t>(a[1]), a[2]);
}

/// The filter number `index` of a task, the oldest first; for whom may look.
std::int64_t nth_filter(const Task& me, const Task& t, std::uint64_t index, const SeccompFilter*& out) {
    if (!Kernel::has_cap(me, kCapSysAdmin) || me.seccomp.mode != SECCOMP_MODE_DISABLED) return -EACCES;
    if (t.seccomp.mode != SECCOMP_MODE_FILTER) return -EINVAL;
    const std::uint64_t count = t.seccomp.filters();
    if (index >= count) return -ENOENT;
    const SeccompFilter* f = t.seccomp.filter.get();
    for (std::uint64_t n = count - 1; n > index; --n) f = f->prev.get();
    out = f;
    return 0;
}

constexpr SyscallRow kRows[] = {{277, "seccomp", sys_seccomp, 3}};

} // namespace

unsigned SeccompState::filters() const {
    unsigned n = 0;
    for (const SeccompFilter* f = filter.get(); f; f = f->prev.get()) ++n;
    return n;
}

int secure_computing(Kernel& k, Task& t) {
    if (t.ptrace && (t.ptrace.options & ptrace_option::suspend_seccomp)) return 0;
    switch (t.seccomp.mode) {
        case SECCOMP_MODE_DISABLED: return 0;
        case SECCOMP_MODE_STRICT: break;
        default: return filter_call(k, t, false);
    }
    if (std::find(std::begin(kStrictCalls), std::end(kStrictCalls), t.syscall_nr) != std::end(kStrictCalls)) return 0;
    log_action(k, t, t.syscall_nr, SIGKILL, RET_KILL_THREAD);
    k.do_exit(SIGKILL);
}

std::int64_t prctl_set_seccomp(Kernel& k, Task& t, std::uint64_t mode, std::uint64_t filter) {
    switch (mode) {
        case SECCOMP_MODE_STRICT: return do_seccomp(k, t, SET_MODE_STRICT, 0, 0);
        case SECCOMP_MODE_FILTER: return do_seccomp(k, t, SET_MODE_FILTER, 0, filter);
        default: return -EINVAL;
    }
}

std::int64_t seccomp_get_filter(Kernel& k, const Task& me, const Task& t, std::uint64_t index, std::uint64_t to) {
    const SeccompFilter* f = nullptr;
    if (const std::int64_t e = nth_filter(me, t, index, f)) return e;
    if (to && k.put_user(to, f->program.data(), f->program.size() * sizeof(bpf::Insn))) return -EFAULT;
    return static_cast<std::int64_t>(f->program.size());
}

std::int64_t seccomp_get_metadata(Kernel& k, const Task& me, const Task& t, std::uint64_t size, std::uint64_t to) {
    struct {
        std::uint64_t filter_off, flags;
    } md{};
    if (!Kernel::has_cap(me, kCapSysAdmin) || me.seccomp.mode != SECCOMP_MODE_DISABLED) return -EACCES;
    size = std::min<std::uint64_t>(size, sizeof md);
    if (size < sizeof md.filter_off) return -EINVAL;
    if (k.get(to, md.filter_off)) return -EFAULT;
    const SeccompFilter* f = nullptr;
    if (const std::int64_t e = nth_filter(me, t, md.filter_off, f)) return e;
    if (f->log) md.flags = LOG;
    return k.put_user(to, &md, size) ? -EFAULT : static_cast<std::int64_t>(size);
}

std::span<const SyscallRow> seccomp_syscalls() { return kRows; }

} // namespace rkperf::os
