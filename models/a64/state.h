// SPDX-License-Identifier: Apache-2.0
// The architectural state of one processing element as an EL0 program sees it, and the port through which the
// instruction semantics reach memory and the rest of the core.
#pragma once

#include "sim/base/sysreg.h"
#include "sim/base/types.h"

#include <array>
#include <cstdint>
#include <cstring>

namespace rkperf::a64 {

/// Register slots of CpuState::x. The decoder maps register number 31 to one of the last three, so that semantics
/// need no test: reads of XZR come from kZr (always 0), writes to XZR go to kSink.
inline constexpr unsigned kZr = 31, kSp = 32, kSink = 33, kGprSlots = 34;

union alignas(16) Vec {
    std::uint8_t b[16];
    std::uint16_t h[8];
    std::uint32_t s[4];
    std::uint64_t d[2];
    std::int8_t sb[16];
    std::int16_t sh[8];
    std::int32_t ss[4];
    std::int64_t sd[2];
};

/// PSTATE.NZCV in bits 31:28, as in SPSR and NZCV.
namespace nzcv {
inline constexpr std::uint32_t N = 1u << 31, Z = 1u << 30, C = 1u << 29, V = 1u << 28;
}

/// Bits of FPCR and FPSR that hold a value on Armv8.2 without trapped floating-point exceptions; the others read as 0.
inline constexpr std::uint32_t kFpcrMask = 0x07c80000; ///< AHP, DN, FZ, RMode, FZ16
inline constexpr std::uint32_t kFpsrMask = 0xf800009f; ///< N, Z, C, V (AArch32), QC, IDC, IXC, UFC, OFC, DZC, IOC

/// Why execution must leave the straight line after an instruction.
enum class Stop : std::uint8_t {
    none = 0,
    svc,         ///< SVC executed; stop_info = imm16; pc = next instruction
    brk,         ///< BRK; stop_info = imm16; pc = the BRK itself
    hlt,         ///< HLT (undefined at EL0 without a debugger); pc = itself
    undefined,   ///< undefined encoding or register; pc = itself; nothing else changed
    trap_sysreg, ///< EL0 system-register or cache-maintenance trap (EC 0x18); stop_info = ISS; pc = itself
    data_abort, ///< translation, permission, access flag or alignment fault; see fault; pc = itself, nothing written back
    insn_abort,   ///< instruction fetch fault at pc; see fault
    pc_alignment, ///< pc not a multiple of 4
    sp_alignment, ///< SP not 16-byte aligned on a use that checks it
    illegal,      ///< illegal execution state
    /// Hint that the core model wants to see; stop_info = its number (1 YIELD, 2 WFE, 3 WFI, 4 SEV, 5 SEVL); pc = next.
    wait,
    isb,        ///< context synchronisation: code caches must be looked up anew; pc = next
    watchpoint, ///< debug model: access matched; fault.addr = address; pc = itself
};

/// Details of an abort, in the architecture's own encodings (ESR_ELx.ISS for data and instruction aborts).
struct Fault {
    std::uint64_t addr{}; ///< FAR
    /// DFSC/IFSC: 0b0001LL translation, 0b0010LL access flag, 0b0011LL permission, 0x21 alignment.
    std::uint8_t status{};
    bool write{};             ///< WnR
    bool cache_maintenance{}; ///< CM
};

enum class AccessKind : std::uint8_t { load, store, atomic, prefetch, maintenance, dc_zva, prefetch_beyond };

/// PRFM for the L1 (prefetch) or for a level beyond it.
constexpr bool is_prefetch(AccessKind k) { return k == AccessKind::prefetch || k == AccessKind::prefetch_beyond; }

/// How an access is ordered; for timing and for the global monitor only (cores are interleaved, memory is coherent).
enum class Order : std::uint8_t { plain, acquire, release, acquire_release, exclusive };

/// The core, as instruction semantics see it when the fast path does not do. Implemented by models/cpu (and by a flat
/// memory in the instruction tests).
class CoreHooks {
  public:
    virtual ~CoreHooks() = default;
    /// Host address of guest bytes [va, va + size), which do not cross a 4 KiB page, for an access of kind `kind`; does
    /// translation, permission and watchpoint checks and all accounting (TLB, caches, MEM_ACCESS). Null after a fault:
    /// state.stop and state.fault are set then. A prefetch never faults: null without a stop means it did nothing. May
    /// fill a line of MemPort::lines.
    virtual std::uint8_t* access(std::uint64_t va, unsigned size, AccessKind kind) = 0;
    virtual SysRegOutcome read_sysreg(SysReg reg, std::uint64_t& value) = 0;
    virtual SysRegOutcome write_sysreg(SysReg reg, std::uint64_t value) = 0;
    /// Exclusives. load_exclusive arms the local monitor on [va,size) after an access(); store_exclusive tests whether
    /// it still holds (nobody else wrote the reservation granule); clear drops it.
    virtual void set_exclusive(std::uint64_t va, unsigned size) = 0;
    virtual bool check_exclusive(std::uint64_t va, unsigned size) = 0;
    virtual void clear_exclusive() = 0;
    /// IC IVAU and the like, DC C*: cache maintenance by address; false after a fault.
    virtual bool cache_op(SysReg op, std::uint64_t va) = 0;
    /// Barriers (DMB/DSB; `option` is CRm, bit 4 set for DSB): timing only.
    virtual void barrier(unsigned option) = 0;
};

/// Direct-mapped cache of host pointers to guest lines that hit in L1D and L1 DTLB right now, keyed by virtual line.
/// The core keeps it true: an entry is dropped when its line leaves the L1D (or loses write permission), its page leaves
/// the L1 DTLB, a watchpoint covers it, or the address space changes.
struct MemPort {
    struct Line {
        std::uint64_t rtag{~0ull}; ///< virtual address of the line, if it may be read
        /// The same, if it may be written (line exclusive or modified, page writable and dirty).
        std::uint64_t wtag{~0ull};
        std::uint8_t* host{};       ///< host address of the line's first byte
        std::uint32_t* tlb_stamp{}; ///< recency stamps to refresh on a hit
        std::uint32_t* line_stamp{};
    };
    static constexpr unsigned kLines = 1024;
    static constexpr std::uint32_t kCrossesPage = 8; ///< of `slow`
    std::array<Line, kLines> lines{};
    std::uint32_t clock{};    ///< recency clock, incremented per access
    std::uint32_t accesses{}; ///< accesses since the core last looked (split accesses count once each)
    /// Set by CoreHooks::access when this instruction's access was not a plain L1 hit; kCrossesPage by the access itself.
    std::uint32_t slow{};
    std::uint64_t last_va{}; ///< virtual address of the last access (for store forwarding and traces)

    static constexpr unsigned slot(std::uint64_t va) { return (va >> kLineShift) & (kLines - 1); }
};

struct CpuState {
    std::uint64_t x[kGprSlots]{};
    std::uint64_t pc{};
    std::uint32_t nzcv{};
    Stop stop{Stop::none};
    bool branch_taken{}; ///< set by a branch that wrote pc
    std::uint32_t stop_info{};
    Vec v[32]{};
    std::uint32_t fpcr{}, fpsr{};
    std::uint64_t tpidr_el0{}, tpidrro_el0{};
    Fault fault{};
    MemPort mem;
    CoreHooks* hooks{};

    /// Host pointer for an access, or null after a fault. The fast path is a hit in MemPort::lines.
    const std::uint8_t* read_ptr(std::uint64_t va, unsigned size) {
        const std::uint8_t* p = hit_read(va, size);
        return __builtin_expect(p != nullptr, 1) ? p : hooks->access(va, size, AccessKind::load);
    }
    std::uint8_t* write_ptr(std::uint64_t va, unsigned size) {
        std::uint8_t* p = hit_write(va, size);
        return __builtin_expect(p != nullptr, 1) ? p : hooks->access(va, size, AccessKind::store);
    }
    /// Host pointer for a read-modify-write of an aligned operand, or null after a fault.
    std::uint8_t* atomic_ptr(std::uint64_t va, unsigned size) {
        std::uint8_t* p = hit_write(va, size);
        return __builtin_expect(p != nullptr, 1) ? p : hooks->access(va, size, AccessKind::atomic);
    }
    /// Loads and stores of `size` bytes that may cross a page. False after a fault; then nothing was read or written.
    bool load(std::uint64_t va, void* to, unsigned size) {
        const std::uint8_t* p = hit_read(va, size);
        if (__builtin_expect(!p, 0)) return load_slow(va, to, size);
        std::memcpy(to, p, size);
        return true;
    }
    bool store(std::uint64_t va, const void* from, unsigned size) {
        std::uint8_t* p = hit_write(va, size);
        if (__builtin_expect(!p, 0)) return store_slow(va, from, size);
        std::memcpy(p, from, size);
        return true;
    }
    /// The same past the fast path, which has missed.
    bool load_slow(std::uint64_t va, void* to, unsigned size);
    bool store_slow(std::uint64_t va, const void* from, unsigned size);

  private:
    const std::uint8_t* hit_read(std::uint64_t va, unsigned size) {
        MemPort::Line& l = mem.lines[MemPort::slot(va)];
        const std::uint64_t off = va & (kLineSize - 1);
        mem.last_va = va;
        if (__builtin_expect(l.rtag != va - off || off + size > kLineSize, 0)) return nullptr;
        *l.tlb_stamp = *l.line_stamp = ++mem.clock;
        ++mem.accesses;
        if (!l.host) __builtin_unreachable(); // spares the caller's test
        return l.host + off;
    }
    std::uint8_t* hit_write(std::uint64_t va, unsigned size) {
        MemPort::Line& l = mem.lines[MemPort::slot(va)];
        const std::uint64_t off = va & (kLineSize - 1);
        mem.last_va = va;
        if (__builtin_expect(l.wtag != va - off || off + size > kLineSize, 0)) return nullptr;
        *l.tlb_stamp = *l.line_stamp = ++mem.clock;
        ++mem.accesses;
        if (!l.host) __builtin_unreachable(); // spares the caller's test
        return l.host + off;
    }
};

} // namespace rkperf::a64
