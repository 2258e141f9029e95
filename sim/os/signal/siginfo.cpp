// SPDX-License-Identifier: Apache-2.0
// siginfo_t of arm64: int signo, errno, code at 0, 4, 8; the union begins at 16 (uapi/asm-generic/siginfo.h).
#include "sim/os/signal/signals.h"

#include <cstring>

namespace rkperf::os {

namespace {

template <class T>
void set(SigInfo& i, std::size_t at, T value) {
    std::memcpy(i.raw.data() + at, &value, sizeof value);
}

SigInfo base(int signo, int code) {
    SigInfo i;
    set<std::int32_t>(i, 0, signo);
    set<std::int32_t>(i, 8, code);
    return i;
}

constexpr int kSiKernel = 0x80, kSiTimer = -2, kTrapPerf = 6;

} // namespace

int SigInfo::signo() const {
    std::int32_t n;
    std::memcpy(&n, raw.data(), sizeof n);
    return n;
}

int SigInfo::code() const {
    std::int32_t n;
    std::memcpy(&n, raw.data() + 8, sizeof n);
    return n;
}

SigInfo siginfo_user(int signo, int code, int pid, std::uint32_t uid, std::uint64_t value) {
    SigInfo i = base(signo, code);
    set<std::int32_t>(i, 16, pid);
    set<std::uint32_t>(i, 20, uid);
    set<std::uint64_t>(i, 24, value);
    return i;
}

SigInfo siginfo_fault(int signo, int code, std::uint64_t addr) {
    SigInfo i = base(signo, code);
    set<std::uint64_t>(i, 16, addr);
    return i;
}

SigInfo siginfo_child(int signo, int code, int pid, std::uint32_t uid, int status, std::uint64_t utime_ticks,
                      std::uint64_t stime_ticks) {
    SigInfo i = base(signo, code);
    set<std::int32_t>(i, 16, pid);
    set<std::uint32_t>(i, 20, uid);
    set<std::int32_t>(i, 24, status);
    set<std::uint64_t>(i, 32, utime_ticks);
    set<std::uint64_t>(i, 40, stime_ticks);
    return i;
}

SigInfo siginfo_poll(int signo, int code, std::int64_t band, int fd) {
    SigInfo i = base(signo, code);
    set<std::int64_t>(i, 16, band);
    set<std::int32_t>(i, 24, fd);
    return i;
}

SigInfo siginfo_perf(std::uint64_t addr, std::uint32_t type, std::uint64_t data) {
    SigInfo i = base(SIGTRAP, kTrapPerf);
    set<std::uint64_t>(i, 16, addr);
    set<std::uint64_t>(i, 24, data);
    set<std::uint32_t>(i, 32, type);
    return i;
}

SigInfo siginfo_timer(int signo, int timerid, int overrun, std::uint64_t value) {
    SigInfo i = base(signo, kSiTimer);
    set<std::int32_t>(i, 16, timerid);
    set<std::int32_t>(i, 20, overrun);
    set<std::uint64_t>(i, 24, value);
    return i;
}

bool siginfo_is_timer(const SigInfo& i, int timerid, int& overrun) {
    const auto word = [&](std::size_t at) {
        std::int32_t v;
        std::memcpy(&v, i.raw.data() + at, sizeof v);
        return v;
    };
    if (word(8) != kSiTimer || word(16) != timerid) return false;
    overrun = word(20);
    return true;
}

SigInfo siginfo_sys(int code, int error, std::uint64_t call_addr, int nr, std::uint32_t arch) {
    SigInfo i = base(SIGSYS, code);
    set<std::int32_t>(i, 4, error);
    set<std::uint64_t>(i, 16, call_addr);
    set<std::int32_t>(i, 24, nr);
    set<std::uint32_t>(i, 28, arch);
    return i;
}

SigInfo siginfo_kernel(int signo) { return base(signo, kSiKernel); }

} // namespace rkperf::os
