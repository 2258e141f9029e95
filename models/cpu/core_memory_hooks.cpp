// SPDX-License-Identifier: Apache-2.0
// The instruction semantics' slow way to memory: translation, caches, exclusives, cache maintenance; and the fetch side.
#include "models/cpu/core_base.h"

#include <algorithm>
#include <cstring>

namespace rkperf::cpu {
namespace {

using a64::AccessKind;
using a64::Stop;
namespace ev = pmu_event;

// Fault status codes (DDI 0487, ESR_ELx.DFSC).
constexpr std::uint8_t kTranslationFault = 0x04, kDebugFault = 0x22;

constexpr unsigned kRefresh = 8;

constexpr std::uint64_t line_of(std::uint64_t a) { return a & ~(kLineSize - 1); }
/// Top-byte-ignore at EL0, as Linux has it: bit 55 selects the half of the address space.
constexpr bool tagged(std::uint64_t va) { return va >> 56 != 0; }
constexpr std::uint64_t untag(std::uint64_t va) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(va << 8) >> 8);
}

mem::Access to_access(AccessKind k) {
    switch (k) {
        case AccessKind::store: return mem::Access::store;
        case AccessKind::atomic: return mem::Access::atomic;
        case AccessKind::prefetch: return mem::Access::prefetch;
        case AccessKind::prefetch_beyond: return mem::Access::prefetch_l2;
        case AccessKind::dc_zva: return mem::Access::zero_line;
        case AccessKind::load:
        case AccessKind::maintenance: break;
    }
    return mem::Access::load;
}

} // namespace

bool CoreBase::fault(std::uint64_t va, std::uint8_t status, bool write, bool maintenance) {
    state_->fault = a64::Fault{va, status, write, maintenance};
    state_->stop = Stop::data_abort;
    return false;
}

/// One line's part of an access. Returns its host address; `line` is set if it may go into the fast port.
std::uint8_t* CoreBase::access_line(PhysAddr pa, unsigned bytes, mem::Access kind, std::uint64_t now,
                                    mem::CacheLine*& line) {
    const bool write = kind == mem::Access::store || kind == mem::Access::atomic || kind == mem::Access::zero_line;
    if (simple_) {
        line = &simple_line_;
        if (!mem::is_prefetch(kind)) {
            count_simple_hit(write);
        }
    } else {
        const mem::Timing t = memory_.access(pa, kind, now, &line, bytes);
        if (t.level == mem::Level::peer) share_line(now);
        mem_ready_ = std::max(mem_ready_, t.ready);
        if (t.ready > now) line = nullptr; // still on its way: the next access asks again how long
        if (t.level != mem::Level::l1) state_->mem.slow |= slow::cache_miss;
    }
    if (!mem::is_prefetch(kind)) note(write ? Lane::write_slow : Lane::read_slow);
    return physical_.host(pa);
}

void CoreBase::count_simple_hit(bool write) {
    for (EventNumber e : {ev::L1D_CACHE, ev::L1D_TLB, write ? ev::L1D_CACHE_WR : ev::L1D_CACHE_RD,
                          write ? ev::L1D_TLB_WR : ev::L1D_TLB_RD})
        totals_.add(e);
}

bool CoreBase::stops_at_watchpoint(std::uint64_t va, unsigned size, AccessKind kind) {
    if (is_prefetch(kind) || kind == AccessKind::maintenance) return false;
    std::uint64_t far = va;
    const bool write = kind != AccessKind::load;
    // An atomic reads too: WnR is 0 if a plain read would have been caught (DBG-052).
    const bool read = kind == AccessKind::load || kind == AccessKind::atomic;
    const bool by_read = read && debug_->watchpoint_matches(untag(va), size, false, far);
    if (!by_read && !(write && debug_->watchpoint_matches(untag(va), size, true, far))) return false;
    state_->fault = a64::Fault{far, kDebugFault, !by_read, false};
    state_->stop = Stop::watchpoint;
    return true;
}

std::uint8_t* CoreBase::access(std::uint64_t va, unsigned size, AccessKind kind) {
    if (functional_) return functional_access(va, size, kind);
    state_->mem.slow |= slow::access;
    const bool write = kind == AccessKind::store || kind == AccessKind::atomic || kind == AccessKind::dc_zva;
    const mem::Translation t = memory_.translate_data(VirtAddr(va), write, false, mem_issue_);
    if (t.missed) state_->mem.slow |= slow::tlb_miss;
    if (t.missed && write && !simple_) state_->mem.slow = slow::with_translation(state_->mem.slow, t.cycles);
    const std::uint64_t issue = mem_issue_ + (simple_ ? 0 : t.cycles);
    mem_ready_ = std::max(mem_ready_, issue);
    if (totals_.dirty) stop_soon();
    if (!t.entry) {
        if (is_prefetch(kind)) return nullptr;
        // An atomic's fault is a read fault if a read would have faulted too.
        const bool read_faults = (t.status & 0x3c) <= 0x08 || !t.status;
        fault(va, t.status ? t.status : kTranslationFault, write && !(kind == AccessKind::atomic && read_faults));
        return nullptr;
    }
    if (watching_ && stops_at_watchpoint(va, size, kind)) return nullptr;
    const PhysAddr pa(t.entry->ppn << kPageShift | (va & (kPageSize - 1)));
    __builtin_prefetch(physical_.host(pa));
    const mem::Access how = to_access(kind);
    const auto first = static_cast<unsigned>(std::min<std::uint64_t>(size, kLineSize - (va & (kLineSize - 1))));
    mem::CacheLine* line = nullptr;
    std::uint8_t* host = access_line(pa, first, how, issue, line);
    const bool code = write && code_.holds_code(t.entry->ppn);
    const bool watched = watching_ && debug_->may_watch(untag(line_of(va)), kLineSize);
    if (line && !tagged(va) && !watched && !is_prefetch(kind)) {
        const bool writable = t.entry->writable && line->state == mem::CacheLine::State::modified &&
                              (write ? !code : !code_.holds_code(t.entry->ppn));
        port_.fill(va, host - (va & (kLineSize - 1)), *t.entry, *line, writable);
    }
    if (first < size) {
        state_->mem.slow |= slow::split;
        access_line(PhysAddr(pa.v + first), size - first, how, issue, line);
    }
    if (code) drop_code(t.entry->ppn);
    last_slow_line_ = line_of(va);
    last_slow_host_ = host - (va & (kLineSize - 1));
    if (totals_.dirty) stop_soon();
    return host;
}

// --- exclusives ---

const std::uint8_t* CoreBase::exclusive_host(std::uint64_t va) {
    const std::uint8_t* line = last_slow_line_ == line_of(va) ? last_slow_host_ : port_.find(va);
    return line ? line + (va & (kLineSize - 1)) : nullptr;
}

void CoreBase::set_exclusive(std::uint64_t va, unsigned size) {
    const std::uint8_t* host = exclusive_host(va);
    exclusive_.valid = host != nullptr;
    if (!host) return;
    exclusive_.va = va;
    exclusive_.size = size;
    exclusive_.pline = physical_.phys(host).v >> kLineShift;
    std::memcpy(exclusive_.value, host, size);
}

bool CoreBase::check_exclusive(std::uint64_t va, unsigned size) {
    state_->mem.slow |= slow::exclusive;
    if (!exclusive_.valid || exclusive_.va != va || exclusive_.size != size) return false;
    // Another core's store takes the line away and with it the reservation. The value is compared too, for writers that
    // caches do not see (the kernel's native code).
    const std::uint8_t* host = physical_.host(PhysAddr(exclusive_.pline << kLineShift)) + (va & (kLineSize - 1));
    return std::memcmp(host, exclusive_.value, size) == 0;
}

void CoreBase::l1d_line_lost(const mem::CacheLine& line, bool write_only) {
    ++data_losses_;
    if (exclusive_.pline == line.pline && !write_only) exclusive_.valid = false;
    if (line.fast_slot != 0) lose({write_only ? Loss::line_writes : Loss::line, line.pline, line.fast_slot});
    if (last_slow_host_ == physical_.host(PhysAddr(line.pline << kLineShift))) last_slow_line_ = ~0ull;
}

void CoreBase::dtlb_entry_lost(std::uint64_t vpn, std::uint64_t fast_lines) {
    ++page_losses_;
    last_slow_line_ = ~0ull;
    if (vpn == ~std::uint64_t{0}) {
        lose({Loss::everything, 0});
    } else {
        lose({Loss::page, vpn, fast_lines});
    }
}

void CoreBase::itlb_entry_lost(std::uint64_t vpn) {
    ++code_losses_;
    if (vpn == ~std::uint64_t{0}) {
        fetch_pages_.fill(FetchPage{});
    } else if (FetchPage& p = fetch_pages_[vpn % kFetchPages]; p.vpn == vpn) {
        p = FetchPage{};
    }
    if (vpn == ~std::uint64_t{0} || vpn == vpn_) {
        vpn_ = ~0ull;
        relookup_ = true;
        stop_soon();
    }
}

void CoreBase::tlb_invalidate(std::uint32_t asid, std::uint64_t vpn) {
    memory_.tlb_invalidate(asid, vpn);
    forget_functional_pages();
}

void CoreBase::set_address_space(PhysAddr ttbr0, std::uint16_t asid) {
    spend(1, tables_.costs.sysreg_write);
    note(Lane::ttbr_write);
    memory_.set_ttbr0(ttbr0, asid);
    root_ = ttbr0;
    forget_functional_pages();
    // The fast paths are keyed by virtual page only.
    fetch_pages_.fill(FetchPage{});
    vpn_ = ~0ull;
    lose({Loss::everything, 0});
}

// --- code ---

void CoreBase::drop_code(std::uint64_t ppn) {
    if (std::find(dropped_code_.begin(), dropped_code_.end(), ppn) == dropped_code_.end()) dropped_code_.push_back(ppn);
    relookup_ = true;
    stop_soon();
}

void CoreBase::code_changed(PhysAddr page) {
    for (std::uint64_t at = 0; at < kPageSize; at += kLineSize)
        memory_.invalidate_icache_line(PhysAddr((page.v & kPageMask) + at));
    drop_code(page.v >> kPageShift);
}

void CoreBase::icache_invalidated(PhysAddr pa) {
    if (!simple_) memory_.invalidate_icache_line(pa);
    if (code_.holds_code(pa.v >> kPageShift)) drop_code(pa.v >> kPageShift);
}

bool CoreBase::cache_op(SysReg op, std::uint64_t va) {
    constexpr SysReg kIcIvau = SysReg::make(1, 3, 7, 5, 1), kDcCivac = SysReg::make(1, 3, 7, 14, 1);
    mem_ready_ = mem_issue_;
    PhysAddr pa{};
    if (functional_) {
        mem::Leaf leaf;
        std::uint8_t status = 0;
        if (!functional_translate(va, leaf, pa, status)) return fault(va, status, true, true);
        pa = PhysAddr(line_of(pa.v));
    } else {
        const mem::Translation t = memory_.translate_data(VirtAddr(va), false, false, mem_issue_);
        if (!t.entry) return fault(va, t.status ? t.status : kTranslationFault, true, true);
        pa = PhysAddr(line_of(t.entry->ppn << kPageShift | (va & (kPageSize - 1))));
        mem_ready_ += t.cycles;
    }
    if (op == kIcIvau) {
        if (config_.domain) {
            config_.domain->invalidate_icache(pa);
        } else {
            icache_invalidated(pa);
        }
    } else if (!simple_) {
        mem_ready_ = std::max(mem_ready_, memory_.clean_line(pa, op == kDcCivac, mem_ready_).ready);
    }
    if (totals_.dirty) stop_soon();
    return true;
}

void CoreBase::barrier(unsigned option) {
    const bool dsb = option >> 4 & 1;
    if (dsb && !simple_) barrier_until_ = memory_.drain(mem_issue_);
    mem_ready_ = std::max(mem_issue_, barrier_until_) + (dsb ? tables_.costs.barrier_dsb : tables_.costs.barrier_dmb);
}

Block* CoreBase::find_block(std::uint64_t now) {
    std::uint64_t pc = state_->pc;
    if (tagged(pc)) state_->pc = pc = untag(pc);
    if (pc & 3) {
        state_->stop = Stop::pc_alignment;
        state_->fault = a64::Fault{pc, 0, false, false};
        return nullptr;
    }
    const std::uint64_t vpn = pc >> kPageShift;
    FetchPage& f = fetch_pages_[vpn % kFetchPages];
    if (functional_) {
        fetch_ready_ = now;
        if (f.vpn != vpn && !functional_fetch_page(pc)) return nullptr;
        return block_of_page(f, pc);
    }
    // The ITLB's and L1I's recency is theirs alone. So that pages and lines in use do not look old, every few changes of
    // page go the slow way.
    const bool refresh = ++page_changes_ % kRefresh == 0;
    fetch_ready_ = now;
    if (f.vpn != vpn || refresh) {
        const mem::Translation t = memory_.translate_fetch(VirtAddr(pc), now);
        if (!simple_) fetch_ready_ = now + t.cycles;
        if (totals_.dirty) stop_soon();
        if (!t.entry) {
            state_->stop = Stop::insn_abort;
            state_->fault = a64::Fault{pc, t.status ? t.status : kTranslationFault, false, false};
            return nullptr; // no block will count this lookup
        }
        ++fast_.translations_slow;
        f = FetchPage{vpn, &code_.page(t.entry->ppn), t.entry};
    }
    if (refresh) f.page->l1i[(pc & (kPageSize - 1)) >> kLineShift] = nullptr;
    return block_of_page(f, pc);
}

Block* CoreBase::block_of_page(const FetchPage& f, std::uint64_t pc) {
    vpn_ = f.vpn;
    page_ = f.page;
    if (debug_active_ || page_armed_) look_at_page();
    Block* b = page_->at[(pc & (kPageSize - 1)) / 4];
    if (b) return b;
    if (page_->blocks.empty()) {
        std::uint8_t* const host = physical_.host(PhysAddr(page_->ppn << kPageShift));
        port_.drop_writes(host);
        for (FunctionalPage& p : functional_pages_)
            if (p.host == host) p.wtag = ~0ull;
    }
    return code_.decode(*page_, pc & (kPageSize - 1));
}

std::uint64_t CoreBase::fetch_line(Block& block, std::uint64_t now) {
    ++fast_.fetches_slow;
    if (simple_) {
        page_->l1i[block.line] = &simple_line_;
        return now;
    }
    mem::CacheLine* line = nullptr;
    const PhysAddr pa((page_->ppn << kPageShift) + (std::uint64_t{block.line} << kLineShift));
    const mem::Timing t = memory_.access(pa, mem::Access::fetch, now, &line, kLineSize);
    page_->l1i[block.line] = line;
    if (totals_.dirty) stop_soon();
    return t.ready;
}

} // namespace rkperf::cpu
