// SPDX-License-Identifier: Apache-2.0
#include "models/a64/state.h"

#include "models/a64/exec_util.h"

namespace rkperf::a64 {

static_assert(std::endian::native == std::endian::little, "guest memory is read and written as host integers");

bool CpuState::load_slow(u64 va, void* to, unsigned size) {
    const u64 room = kPageSize - (va & (kPageSize - 1));
    if (size <= room) {
        const u8* p = hooks->access(va, size, AccessKind::load);
        if (!p) return false;
        std::memcpy(to, p, size);
        return true;
    }
    const unsigned first = static_cast<unsigned>(room);
    const u8* lo = read_ptr(va, first);
    if (!lo) return false;
    const u8* hi = read_ptr(va + first, size - first);
    if (!hi) return false;
    std::memcpy(to, lo, first);
    std::memcpy(static_cast<u8*>(to) + first, hi, size - first);
    mem.last_va = va;
    return true;
}

bool CpuState::store_slow(u64 va, const void* from, unsigned size) {
    const u64 room = kPageSize - (va & (kPageSize - 1));
    if (size <= room) {
        u8* p = hooks->access(va, size, AccessKind::store);
        if (!p) return false;
        std::memcpy(p, from, size);
        return true;
    }
    const unsigned first = static_cast<unsigned>(room);
    u8* lo = write_ptr(va, first);
    if (!lo) return false;
    u8* hi = write_ptr(va + first, size - first);
    if (!hi) return false;
    std::memcpy(lo, from, first);
    std::memcpy(hi, static_cast<const u8*>(from) + first, size - first);
    mem.last_va = va;
    return true;
}

void alignment_fault(CpuState& s, u64 va, bool write) {
    s.fault = Fault{.addr = va, .status = 0x21, .write = write, .cache_maintenance = false};
    s.stop = Stop::data_abort;
}

void exec_undefined(CpuState& s, const Insn&) { stop_here(s, Stop::undefined); }
void exec_nop(CpuState&, const Insn&) {}

} // namespace rkperf::a64
