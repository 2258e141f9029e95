// SPDX-License-Identifier: Apache-2.0
#include "models/a64/state.h"

#include "models/a64/exec_util.h"

namespace rkperf::a64 {

static_assert(std::endian::native == std::endian::little, "guest memory is read and written as host integers");

namespace {

/// Most often a register's size, which the compiler copies without a call.
inline void copy(void* to, const void* from, unsigned size) {
    switch (size) {
        case 1: std::memcpy(to, from, 1); break;
        case 2: std::memcpy(to, from, 2); break;
        case 4: std::memcpy(to, from, 4); break;
        case 8: std::memcpy(to, from, 8); break;
        case 16: std::memcpy(to, from, 16); break;
        default: std::memcpy(to, from, size); break;
    }
}

/// The first part of an access stopped, at a watchpoint perhaps. That comes after an abort of the other part (DBG-048), so
/// `other` looks there too; without an abort the first part's watchpoint stands. False: there is no access.
template <class Other>
bool first_part_stopped(CpuState& s, Other other) {
    if (s.stop != Stop::watchpoint) return false;
    const Fault first = s.fault;
    other();
    if (s.stop == Stop::watchpoint) s.fault = first;
    return false;
}

} // namespace

bool CpuState::load_slow(u64 va, void* to, unsigned size) {
    const u64 room = kPageSize - (va & (kPageSize - 1));
    if (size <= room) {
        const u8* p = hooks->access(va, size, AccessKind::load);
        if (!p) return false;
        copy(to, p, size);
        return true;
    }
    const unsigned first = static_cast<unsigned>(room);
    const u8* lo = read_ptr(va, first);
    if (!lo) return first_part_stopped(*this, [&] { read_ptr(va + first, size - first); });
    const u8* hi = read_ptr(va + first, size - first);
    if (!hi) return false;
    std::memcpy(to, lo, first);
    std::memcpy(static_cast<u8*>(to) + first, hi, size - first);
    mem.last_va = va;
    mem.slow |= MemPort::kCrossesPage;
    return true;
}

bool CpuState::store_slow(u64 va, const void* from, unsigned size) {
    const u64 room = kPageSize - (va & (kPageSize - 1));
    if (size <= room) {
        u8* p = hooks->access(va, size, AccessKind::store);
        if (!p) return false;
        copy(p, from, size);
        return true;
    }
    const unsigned first = static_cast<unsigned>(room);
    u8* lo = write_ptr(va, first);
    if (!lo) return first_part_stopped(*this, [&] { write_ptr(va + first, size - first); });
    u8* hi = write_ptr(va + first, size - first);
    if (!hi) return false;
    std::memcpy(lo, from, first);
    std::memcpy(hi, static_cast<const u8*>(from) + first, size - first);
    mem.last_va = va;
    mem.slow |= MemPort::kCrossesPage;
    return true;
}

void alignment_fault(CpuState& s, u64 va, bool write) {
    s.fault = Fault{.addr = va, .status = 0x21, .write = write, .cache_maintenance = false};
    s.stop = Stop::data_abort;
}

void exec_undefined(CpuState& s, const Insn&) { stop_here(s, Stop::undefined); }
void exec_nop(CpuState&, const Insn&) {}

} // namespace rkperf::a64
