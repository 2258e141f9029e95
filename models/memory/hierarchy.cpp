// SPDX-License-Identifier: Apache-2.0
#include "models/memory/hierarchy.h"

#include "models/memory/dsu_extension.h"
#include "models/memory/private_caches.h"
#include "models/memory/slot_calendar.h"
#include "models/memory/translation.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace rkperf::mem {

struct CoreMemory::Impl final : DsuPort {
    Impl(CoreMemory& owner, const CoreMemoryParams& p, PhysicalMemory& memory, EventTotals& totals)
        : owner(owner),
          caches(p, memory, totals, *this),
          translation(p, memory, totals, caches),
          bus_read(p.bus_read_interval_ps),
          bus_write(p.bus_write_interval_ps) {
        payload.set_command(tlm::TLM_IGNORE_COMMAND);
        payload.set_data_length(kLineSize);
        payload.set_streaming_width(kLineSize);
        set_recency_clock(nullptr);
        caches.set_page_lookup(&translation);
    }
    ~Impl() override { payload.clear_extension<DsuExtension>(); }

    void set_recency_clock(std::uint32_t* c) {
        const std::uint32_t present = clock_in_use ? *clock_in_use : 0;
        clock_in_use = c ? c : &own_clock;
        *clock_in_use = present;
        caches.set_recency_clock(clock_in_use);
        translation.set_recency_clock(clock_in_use);
    }

    std::uint64_t transact(DsuExtension& x, std::uint64_t pline, std::uint64_t now) override {
        if (!clock) throw std::logic_error(std::string(owner.name()) + ": access beyond the L2 before set_clock()");
        const std::uint64_t base = sc_core::sc_time_stamp().value();
        // Cycles before the last change of frequency have no time any more.
        const std::uint64_t asked = clock->time_of(std::max(Cycles(now), clock->cycle_at(Picoseconds(0)))).v;
        std::uint64_t at = asked;
        if (sends_data(x.kind)) at = bus_write.reserve(at);
        payload.set_address(pline << kLineShift);
        payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
        payload.set_extension(&x);
        sc_core::sc_time delay = sc_core::sc_time::from_value(at > base ? at - base : 0);
        const std::uint64_t sent = base + delay.value();
        owner.to_dsu->b_transport(payload, delay);
        if (!payload.is_response_ok()) {
            throw std::logic_error(std::string(owner.name()) + ": the memory system refused line " +
                                   std::to_string(pline) + ": " + payload.get_response_string());
        }
        std::uint64_t answer = at + (base + delay.value() - sent);
        if (brings_data(x.kind)) answer = bus_read.reserve(answer);
        return cycles(answer - asked);
    }

    /// Whole core cycles that cover a duration.
    std::uint64_t cycles(std::uint64_t ps) const {
        return (ps * clock->hertz() + Clock::kPicosPerSecond - 1) / Clock::kPicosPerSecond;
    }

    CoreMemory& owner;
    std::uint32_t own_clock{};
    std::uint32_t* clock_in_use{};
    const Clock* clock{};
    PrivateCaches caches;
    TranslationUnit translation;
    SlotCalendar bus_read, bus_write;
    tlm::tlm_generic_payload payload;
};

CoreMemory::CoreMemory(sc_core::sc_module_name name, CpuId, const CoreMemoryParams& params, PhysicalMemory& memory,
                       EventTotals& totals)
    : sc_module(name), to_dsu("to_dsu"), impl_(std::make_unique<Impl>(*this, params, memory, totals)) {}

CoreMemory::~CoreMemory() = default;

SnoopPort& CoreMemory::snoop_port() { return impl_->caches; }

void CoreMemory::set_listener(FastPathListener* l) {
    impl_->caches.set_listener(l);
    impl_->translation.set_listener(l);
}

void CoreMemory::set_clock(const Clock* clock) { impl_->clock = clock; }

void CoreMemory::set_recency_clock(std::uint32_t* clock) { impl_->set_recency_clock(clock); }

void CoreMemory::set_ttbr0(PhysAddr table, std::uint16_t asid) {
    impl_->translation.set_ttbr0(table, asid);
    impl_->caches.set_page(~0ull, ~0ull);
}

void CoreMemory::tlb_invalidate(std::uint32_t asid, std::uint64_t vpn) {
    impl_->translation.invalidate(asid, vpn);
    impl_->caches.set_page(~0ull, ~0ull);
}

Translation CoreMemory::translate_data(VirtAddr va, bool write, bool kernel, std::uint64_t now) {
    const Translation t = impl_->translation.data(va, write, kernel, now);
    if (t.entry) impl_->caches.set_page(t.entry->vpn, t.entry->ppn, now);
    return t;
}

Translation CoreMemory::translate_fetch(VirtAddr va, std::uint64_t now) {
    const Translation t = impl_->translation.fetch(va, now);
    if (t.entry) impl_->caches.set_code_page(t.entry->vpn, t.entry->ppn);
    return t;
}

Timing CoreMemory::access(PhysAddr pa, Access kind, std::uint64_t now, CacheLine** line, unsigned bytes) {
    return impl_->caches.access(pa, kind, now, line, bytes);
}

Timing CoreMemory::touch_data(PhysAddr line, bool write, std::uint64_t now) {
    return impl_->caches.touch_data(line.v >> kLineShift, write, now);
}

std::uint64_t CoreMemory::touch_code(PhysAddr pa, std::uint64_t lines, std::uint64_t now) {
    return impl_->caches.touch_code(pa.v >> kLineShift, lines, now);
}

std::uint64_t CoreMemory::drain(std::uint64_t now) { return impl_->caches.drain(now); }

Timing CoreMemory::clean_line(PhysAddr pa, bool invalidate, std::uint64_t now) {
    return impl_->caches.clean_line(pa.v >> kLineShift, invalidate, now);
}

void CoreMemory::invalidate_icache() { impl_->caches.invalidate_icache(); }

void CoreMemory::invalidate_icache_line(PhysAddr pa) { impl_->caches.invalidate_icache_line(pa.v >> kLineShift); }

const CacheLine* CoreMemory::find_l1d(PhysAddr pa) const { return impl_->caches.l1d().find(pa.v >> kLineShift); }

const CacheLine* CoreMemory::find_l2(PhysAddr pa) const { return impl_->caches.l2().find(pa.v >> kLineShift); }

} // namespace rkperf::mem
