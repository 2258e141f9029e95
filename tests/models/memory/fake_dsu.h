// SPDX-License-Identifier: Apache-2.0
// One core's caches in front of a DSU that records what it is asked and answers as if the core were alone.
#pragma once

#include "models/memory/private_caches.h"
#include "tests/models/memory/machine.h"

#include <set>
#include <vector>

namespace rkperf::mem::test {

struct FakeDsu : DsuPort {
    struct Asked {
        DsuKind kind;
        std::uint64_t pline, now;
        bool dirty;
    };
    std::uint64_t latency{50};
    Level level{Level::dram};
    CacheLine::State grant{CacheLine::State::exclusive};
    std::vector<Asked> asked;
    std::set<std::uint64_t> held; ///< what a directory would say

    std::uint64_t transact(DsuExtension& x, std::uint64_t pline, std::uint64_t now) override {
        asked.push_back({x.kind, pline, now, x.dirty});
        x.level = level;
        x.granted =
            grant == CacheLine::State::shared && x.kind != DsuKind::read_shared ? CacheLine::State::exclusive : grant;
        x.allocated = x.kind == DsuKind::write_back || x.kind == DsuKind::write_evict ||
                      x.kind == DsuKind::write_stream || x.kind == DsuKind::prefetch_l3;
        switch (x.kind) {
            case DsuKind::read_shared:
            case DsuKind::read_unique:
            case DsuKind::make_unique:
            case DsuKind::upgrade: held.insert(pline); break;
            case DsuKind::write_back:
            case DsuKind::write_evict:
            case DsuKind::evict:
            case DsuKind::clean_invalidate: held.erase(pline); break;
            default: break;
        }
        return latency;
    }
    std::size_t count(DsuKind k) const {
        std::size_t n = 0;
        for (const Asked& a : asked) n += a.kind == k;
        return n;
    }
};

struct CachesFixture {
    explicit CachesFixture(const CoreMemoryParams& p)
        : params(p), memory(PhysAddr(0), kDramBytes), caches(params, memory, totals, dsu) {
        caches.set_listener(&listener);
        caches.set_recency_clock(&clock);
    }
    Timing go(std::uint64_t pa, Access kind = Access::load, unsigned bytes = 8, CacheLine** line = nullptr) {
        const Timing t = caches.access(PhysAddr(pa), kind, cycle, line, bytes);
        cycle = std::max(cycle, t.ready);
        return t;
    }
    std::uint64_t total(EventNumber e) const { return totals.get(e, ExceptionLevel::el1); }
    CacheLine::State l1d(std::uint64_t pa) const {
        const CacheLine* l = caches.l1d().find(pa >> kLineShift);
        return l ? l->state : CacheLine::State::invalid;
    }
    CacheLine::State l2(std::uint64_t pa) const {
        const CacheLine* l = caches.l2().find(pa >> kLineShift);
        return l ? l->state : CacheLine::State::invalid;
    }

    CoreMemoryParams params;
    EventTotals totals;
    PhysicalMemory memory;
    FakeDsu dsu;
    Listener listener;
    std::uint32_t clock{};
    PrivateCaches caches;
    std::uint64_t cycle{1000};
};

inline CoreMemoryParams plain_a76() { return without_streaming(without_prefetch(cortex_a76_memory())); }
inline CoreMemoryParams plain_a55() { return without_streaming(without_prefetch(cortex_a55_memory())); }

/// Distance of addresses that fall into the same L1D set.
inline std::uint64_t l1d_way(const CoreMemoryParams& p) { return p.l1d.bytes / p.l1d.ways; }

} // namespace rkperf::mem::test
