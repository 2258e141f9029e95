// SPDX-License-Identifier: Apache-2.0
// Fast-forward: translation without TLBs, accesses without caches, and the change between it and timing.
#include "models/cpu/core_base.h"
#include "models/memory/descriptors.h"

#include <algorithm>

namespace rkperf::cpu {
namespace {

using a64::AccessKind;
using a64::Stop;
namespace fsc = mem::desc::fsc;

constexpr std::uint64_t kTagByte = 0xffull << 56, kAboveTtbr0 = 0xffull << mem::desc::kVaBits;

} // namespace

void CoreBase::switch_mode(bool functional) {
    flush();
    functional_ = functional;
    simple_ = config_.simple || functional;
    accounted_ = cycle_;
    functional_pages_.assign(functional ? kFunctionalPages : 0, FunctionalPage{});
    functional_used_.clear();
    // Blocks have the handlers of one mode, and lines of the other stand for nothing.
    code_.drop_all_blocks();
    code_.l1i_line_lost(~0ull);
    fetch_pages_.fill(FetchPage{});
    vpn_ = ~0ull;
    exclusive_.valid = false;
    last_slow_line_ = ~0ull;
    lose({Loss::everything, 0});
    set_limits();
}

void CoreBase::forget_functional_pages() {
    if (!functional_) return;
    for (const std::uint32_t i : functional_used_) functional_pages_[i] = FunctionalPage{};
    functional_used_.clear();
    fetch_pages_.fill(FetchPage{});
    vpn_ = ~0ull;
    last_slow_line_ = ~0ull;
    lose({Loss::everything, 0});
    relookup_ = true;
    stop_soon();
}

/// Physical address of `va`, whatever the permissions; false: there is none, for the reason in `status`.
bool CoreBase::functional_translate(std::uint64_t va, mem::Leaf& leaf, PhysAddr& pa, std::uint8_t& status) const {
    const std::uint64_t address = va & ~kTagByte;
    status = (address & kAboveTtbr0) ? fsc::kTranslation : mem::walk(physical_, root_, VirtAddr(address), leaf);
    if (status) return false;
    pa = PhysAddr(leaf.output.v + (address & (mem::desc::span(leaf.level) - 1)));
    if (!physical_.contains(PhysAddr(pa.v & kPageMask), kPageSize)) status = fsc::kExternalAbort;
    return status == 0;
}

bool CoreBase::functional_fetch_page(std::uint64_t pc) {
    mem::Leaf leaf;
    PhysAddr pa{};
    std::uint8_t status = 0;
    if (functional_translate(pc, leaf, pa, status) && !(leaf.user && leaf.exec))
        status = static_cast<std::uint8_t>(fsc::kPermission + leaf.level);
    if (status) {
        state_->stop = Stop::insn_abort;
        state_->fault = a64::Fault{pc, status, false, false};
        return false;
    }
    const std::uint64_t vpn = pc >> kPageShift;
    fetch_pages_[vpn % kFetchPages] = FetchPage{vpn, &code_.page(pa.v >> kPageShift), nullptr};
    return true;
}

std::uint8_t* CoreBase::functional_access(std::uint64_t va, unsigned size, AccessKind kind) {
    state_->mem.slow |= slow::access;
    mem_ready_ = mem_issue_;
    const bool write = kind == AccessKind::store || kind == AccessKind::atomic || kind == AccessKind::dc_zva;
    const std::uint64_t page_va = va & kPageMask, inside = va & (kPageSize - 1);
    FunctionalPage& p = functional_pages_[va >> kPageShift & (kFunctionalPages - 1)];
    bool writable = p.wtag == page_va, code = false;
    if (write ? !writable : p.rtag != page_va) {
        mem::Leaf leaf;
        PhysAddr pa{};
        std::uint8_t status = 0;
        if (functional_translate(va, leaf, pa, status) && (!leaf.user || (write && !leaf.writable)))
            status = static_cast<std::uint8_t>(fsc::kPermission + leaf.level);
        if (status) {
            if (is_prefetch(kind)) return nullptr;
            // An atomic's fault is a read fault if a read would have faulted too.
            const bool read_faults = (status & 0x3c) <= 0x08;
            fault(va, status, write && !(kind == AccessKind::atomic && read_faults));
            return nullptr;
        }
        code = code_.holds_code(pa.v >> kPageShift);
        writable = leaf.writable && !code;
        if (!p.host) functional_used_.push_back(static_cast<std::uint32_t>(&p - functional_pages_.data()));
        std::uint8_t* const host = physical_.host(PhysAddr(pa.v & kPageMask));
        p = FunctionalPage{page_va, writable ? page_va : ~0ull, host, reinterpret_cast<std::uintptr_t>(host) - page_va};
    }
    std::uint8_t* const host = p.host + inside;
    const std::uint64_t line = va & ~(kLineSize - 1);
    if (watching_ && debug_->may_watch(page_va & ~kTagByte, kPageSize)) {
        p.rtag = p.wtag = ~0ull; // every access to the page comes here
    } else if (!(va >> 56) && !is_prefetch(kind)) {
        port_.fill(va, host - (va - line), simple_page_, simple_line_, writable);
    }
    if (watching_ && stops_at_watchpoint(va, size, kind)) return nullptr;
    if (write && code) drop_code(physical_.phys(host).v >> kPageShift);
    last_slow_line_ = line;
    last_slow_host_ = host - (va - line);
    return host;
}

} // namespace rkperf::cpu
