// SPDX-License-Identifier: Apache-2.0
#include "models/memory/private_caches.h"

#include <algorithm>
#include <stdexcept>

namespace rkperf::mem {

namespace ev = pmu_event;

namespace {

constexpr unsigned kFetchesInFlight = 4;
constexpr std::uint64_t kLinesPerPageMask = (1u << kLinesPerPageShift) - 1;

std::uint64_t line_address(std::uint64_t pline) { return pline << kLineShift; }

} // namespace

PrivateCaches::PrivateCaches(const CoreMemoryParams& params, const PhysicalMemory& memory, EventTotals& totals,
                             DsuPort& dsu)
    : p_(params),
      memory_(memory),
      totals_(totals),
      dsu_(dsu),
      colours_(memory, params.l1d.bytes / params.l1d.ways),
      code_colours_(memory, params.l1i.bytes / params.l1i.ways),
      l1i_(params.l1i),
      l1d_(params.l1d),
      l2_(params.l2),
      mshrs_(std::max(params.mshrs, 1u)),
      prefetches_(params.prefetch.in_flight),
      asked_for_(std::max(params.prefetch.asked_for, 1u)),
      fetches_(kFetchesInFlight),
      stream_out_(std::max(params.write_stream.buffers, 1u)),
      l2_port_(params.l2_line_interval),
      prefetcher_(params.prefetch),
      stream_(params.write_stream) {
    l1d_.index_by(colours_);
    l1i_.index_by(code_colours_);
}

Timing PrivateCaches::access(PhysAddr pa, Access kind, std::uint64_t now, CacheLine** line, unsigned bytes) {
    const std::uint64_t pline = pa.v >> kLineShift;
    CacheLine* held = nullptr;
    Timing t;
    switch (kind) {
        case Access::load: t = load(pline, now, &held); break;
        case Access::store:
        case Access::atomic: t = store(pline, pa.v & (kLineSize - 1), bytes, now, &held); break;
        case Access::fetch: t = fetch(pline, now, &held); break;
        case Access::walk: t = walk_read(pline, now); break;
        case Access::prefetch: t = software_prefetch(pline, now, &held); break;
        case Access::prefetch_l2: t.ready = software_prefetch_l2(pline, now); break;
        case Access::zero_line: t = zero_line(pline, now, &held); break;
    }
    // A prefetch started by this very access may have pushed the line out through the inclusive L2.
    if (line) *line = held && held->pline == pline ? held : nullptr;
    return t;
}

// --- requests of the core ---------------------------------------------------------------------------------------------

Timing PrivateCaches::load(std::uint64_t pline, std::uint64_t now, CacheLine** line) {
    if (stream_.line() == pline && stream_.streaming()) break_stream(now);
    count(ev::L1D_CACHE);
    count(ev::L1D_CACHE_RD);
    if (CacheLine* l = l1d_.find(pline)) {
        *line = l;
        return l1d_hit(*l, now, true);
    }
    l2_.expect(pline, true);
    Fills::Slot& slot = *mshrs_.pick(now);
    const Fill f = from_l2(pline, Into::l1d, false, For::demand, std::max(now, slot.ready));
    take_place(slot, pline, f);
    count_refill(ev::L1D_CACHE_REFILL_RD, f.level);
    *line = &allocate_l1d(pline, f.state, now);
    if (!f.in_l2 || p_.prefetch.by_l2_hits) train(pline, true, now);
    return {.ready = f.ready, .level = f.level};
}

Timing PrivateCaches::store(std::uint64_t pline, unsigned offset, unsigned bytes, std::uint64_t now, CacheLine** line) {
    count(ev::L1D_CACHE);
    count(ev::L1D_CACHE_WR);
    CacheLine* const l = l1d_.find(pline);
    if (!l && stream_.paused(*clock_)) break_stream(now);
    if (!l && stream_.streaming()) return streamed_store(pline, offset, bytes, now, line);
    Timing t;
    if (!l) {
        if (stream_.enabled()) {
            if (stream_.line() != ~0ull) stream_.broken();
            stream_.begin(pline);
        }
        t = store_miss(pline, now, line);
    } else {
        *line = l;
        if (l->state == State::shared) {
            t = upgrade(*l, now);
        } else {
            l->state = State::modified;
            t = l1d_hit(*l, now, false);
        }
    }
    if (stream_.line() == pline && !stream_.streaming()) {
        switch (stream_.add(offset, bytes)) {
            case WriteStream::Added::whole: whole_line_stored(now); break;
            case WriteStream::Added::part: *line = nullptr; break; // the rest of its stores must be seen here
            case WriteStream::Added::rewritten: break_stream(now); break;
        }
    }
    return t;
}

Timing PrivateCaches::zero_line(std::uint64_t pline, std::uint64_t now, CacheLine** line) {
    count(ev::L1D_CACHE);
    count(ev::L1D_CACHE_WR);
    if (CacheLine* l = l1d_.find(pline)) {
        *line = l;
        if (l->state == State::shared) return upgrade(*l, now);
        l->state = State::modified;
        return l1d_hit(*l, now, false, false);
    }
    if (stream_.line() != ~0ull && stream_.line() != pline) break_stream(now);
    stream_.begin(pline);
    stream_.add(0, kLineSize);
    Timing t{.ready = now};
    if (stream_.streaming()) {
        account_streaming(now);
        t.ready = write_whole_line(pline, now);
    } else {
        // Sole ownership is asked for, no data: not a refill.
        Fills::Slot& slot = *mshrs_.pick(now);
        const std::uint64_t start = std::max(now, slot.ready);
        count_l2_write();
        CacheLine* l2 = l2_.find(pline);
        State held = l2 ? l2->state : State::invalid;
        if (l2 && p_.l2_inclusive_of_l1d) {
            l2->stamp = ++inner_clock_; // the L1D victim must not push out this very line
        } else if (l2) {
            l2_.drop(*l2);
            l2 = nullptr;
        }
        std::uint64_t ready = start + p_.l2_hit;
        t.level = Level::l2;
        if (held == State::invalid || held == State::shared) {
            ready = own(pline, held == State::shared ? DsuKind::upgrade : DsuKind::make_unique, start);
            t.level = x_.level;
            if (l2) {
                l2->state = State::exclusive;
            } else if (p_.l2_inclusive_of_l1d) {
                allocate_l2(l2_victim(pline), pline, State::exclusive, now);
            }
        }
        mshrs_.occupy(slot, pline, ready, t.level);
        *line = &allocate_l1d(pline, State::modified, now);
        t.ready = ready;
    }
    whole_line_stored(now);
    return t;
}

Timing PrivateCaches::fetch(std::uint64_t pline, std::uint64_t now, CacheLine** line) {
    count(ev::L1I_CACHE);
    if (CacheLine* l = l1i_.find(pline)) {
        l->stamp = ++inner_clock_;
        *line = l;
        Timing t{.ready = now};
        if (const Fills::Fill* s = fetches_.find(pline, now)) {
            t = {.ready = s->ready, .level = s->level};
            if (l->prefetched && p_.late_prefetch_is_refill) count(ev::L1I_CACHE_REFILL); // est.: as of data
        }
        if (l->prefetched) {
            l->prefetched = false;
            prefetch_l1i_after(pline, now);
        }
        return t;
    }
    count(ev::L1I_CACHE_REFILL);
    Fills::Slot& slot = *fetches_.pick(now);
    const Fill f = from_l2(pline, Into::other, false, For::demand, std::max(now, slot.ready));
    fetches_.occupy(slot, pline, f.ready, f.level);
    *line = &allocate_l1i(pline);
    prefetch_l1i_after(pline, now);
    return {.ready = f.ready, .level = f.level};
}

std::uint64_t PrivateCaches::touch_code(std::uint64_t pline, std::uint64_t lines, std::uint64_t now) {
    std::uint64_t hits = 0;
    for (const std::uint64_t end = pline + lines; pline != end; ++pline) {
        // Kernel code comes again and again: where a line was last time.
        CacheLine*& last = touched_[pline % touched_.size()];
        CacheLine* l = last&& last->pline == pline ? last : last = l1i_.find(pline);
        if (l && !l->prefetched) {
            l->stamp = ++inner_clock_;
            ++hits;
        } else {
            now = std::max(now, fetch(pline, now, &l).ready);
        }
    }
    if (hits) count(ev::L1I_CACHE, hits);
    return now;
}

Timing PrivateCaches::touch_data(std::uint64_t pline, bool write, std::uint64_t now) {
    // As with code, where the line was last time: what is left of load() and store() then.
    CacheLine*& last = touched_data_[pline % touched_data_.size()];
    if (last && last->pline == pline && stream_.line() != pline && !(write && last->state == State::shared)) {
        count(ev::L1D_CACHE);
        count(write ? ev::L1D_CACHE_WR : ev::L1D_CACHE_RD);
        if (write) last->state = State::modified;
        return l1d_hit(*last, now, !write);
    }
    return write ? store(pline, 0, kTouchedBytes, now, &last) : load(pline, now, &last);
}

Timing PrivateCaches::walk_read(std::uint64_t pline, std::uint64_t now) {
    if (p_.walks_skip_l1d) {
        const Fill f = from_l2(pline, Into::other, false, For::demand, now);
        return {.ready = f.ready, .level = f.level};
    }
    count(ev::L1D_CACHE);
    count(ev::L1D_CACHE_RD);
    if (CacheLine* l = l1d_.find(pline)) return l1d_hit(*l, now, true);
    const Fill f = from_l2(pline, Into::other, false, For::demand, now);
    count_refill(ev::L1D_CACHE_REFILL_RD, f.level);
    return {.ready = f.ready, .level = f.level};
}

Timing PrivateCaches::software_prefetch(std::uint64_t pline, std::uint64_t now, CacheLine** line) {
    if (CacheLine* l = l1d_.find(pline)) {
        *line = l;
        if (l->prefetched) {
            l->prefetched = false;
            train(pline, true, now, true);
        }
        return {.ready = now};
    }
    if (stream_.line() == pline && stream_.streaming()) return {.ready = now};
    Fills::Slot& slot = *mshrs_.pick(now);
    const std::uint64_t start = std::max(now, slot.ready);
    const Fill f = from_l2(pline, Into::l1d, false, For::prefetch, start);
    take_place(slot, pline, f);
    *line = &allocate_l1d(pline, f.state, now);
    train(pline, true, now, true);
    return {.ready = start, .level = f.level};
}

/// PRFM for the L2 or the L3: the line is fetched into the L2, and the prefetcher does not see it.
std::uint64_t PrivateCaches::software_prefetch_l2(std::uint64_t pline, std::uint64_t now) {
    if (l1d_.find(pline) || (stream_.line() == pline && stream_.streaming())) return now;
    count(ev::L2D_CACHE);
    count(ev::L2D_CACHE_RD);
    if (l2_.find(pline)) return now;
    Fills::Slot& slot = *asked_for_.pick(now);
    const std::uint64_t asked = std::max(now, slot.ready), start = through_l2_port(asked);
    const Fill f = from_dsu(pline, DsuKind::read_shared, For::prefetch, start);
    asked_for_.occupy(slot, pline, f.ready, f.level);
    allocate_l2(l2_victim(pline), pline, f.state, start);
    return asked;
}

// --- L1D --------------------------------------------------------------------------------------------------------------

Timing PrivateCaches::l1d_hit(CacheLine& l, std::uint64_t now, bool is_load, bool needs_data) {
    l.stamp = tick();
    Timing t{.ready = now};
    const std::uint64_t pline = l.pline;
    if (const Fills::Fill* s = mshrs_.find(pline, now)) {
        t = {.ready = s->ready, .level = s->level};
    } else if (const Fills::Fill* s2 = prefetches_.find(pline, now)) {
        t = {.ready = s2->ready, .level = s2->level};
        if (needs_data && l.prefetched && p_.late_prefetch_is_refill)
            count_refill(is_load ? ev::L1D_CACHE_REFILL_RD : ev::L1D_CACHE_REFILL_WR, s2->level);
    }
    if (l.prefetched) {
        l.prefetched = false;
        // While whole lines are written past the L1D, lines ahead of them must not be read.
        if (is_load || !stream_.streaming()) train(pline, is_load, now);
    }
    return t;
}

/// What is read into the L1D has a place among the misses for as long as the core needs it.
void PrivateCaches::take_place(Fills::Slot& slot, std::uint64_t pline, const Fill& f) {
    unsigned release = p_.mshr_release + (f.level == Level::dram ? p_.mshr_release_memory : 0);
    if (p_.mshrs_in_order) {
        if (f.ready + release < oldest_free_) release = static_cast<unsigned>(oldest_free_ - f.ready);
        oldest_free_ = f.ready + release;
    }
    mshrs_.occupy(slot, pline, f.ready, f.level, release);
}

Timing PrivateCaches::store_miss(std::uint64_t pline, std::uint64_t now, CacheLine** line) {
    l2_.expect(pline, true);
    Fills::Slot& slot = *mshrs_.pick(now);
    const Fill f = from_l2(pline, Into::l1d, true, For::demand, std::max(now, slot.ready));
    mshrs_.occupy(slot, pline, f.ready, f.level);
    count_refill(ev::L1D_CACHE_REFILL_WR, f.level);
    *line = &allocate_l1d(pline, State::modified, now);
    train(pline, false, now);
    return {.ready = f.ready, .level = f.level};
}

Timing PrivateCaches::upgrade(CacheLine& l, std::uint64_t now) {
    Fills::Slot& slot = *mshrs_.pick(now);
    const std::uint64_t start = std::max(now, slot.ready);
    count_l2_write();
    const std::uint64_t ready = own(l.pline, DsuKind::upgrade, start);
    mshrs_.occupy(slot, l.pline, ready, x_.level);
    if (CacheLine* l2 = l2_.find(l.pline)) l2->state = State::exclusive;
    l.state = State::modified;
    l.prefetched = false;
    l.stamp = tick();
    return {.ready = ready, .level = x_.level};
}

CacheLine& PrivateCaches::allocate_l1d(std::uint64_t pline, State state, std::uint64_t now) {
    CacheLine& l = l1d_.victim(pline, *clock_);
    if (l.state != State::invalid) evict_l1d(l, now);
    l1d_.replace(l, {.pline = pline, .state = state, .stamp = tick()});
    return l;
}

void PrivateCaches::evict_l1d(CacheLine& l, std::uint64_t now) {
    if (listener_) listener_->l1d_line_lost(l, false);
    const bool dirty = l.state == State::modified;
    CacheLine* const l2 = l2_.find(l.pline);
    if (dirty) {
        count(ev::L1D_CACHE_WB);
        count(ev::L1D_CACHE_WB_VICTIM);
    }
    // An exclusive L2 takes clean lines, too.
    if (dirty || !l2) {
        count_l2_write();
        count(ev::L2D_CACHE_ALLOCATE);
    }
    if (l2) {
        if (dirty) {
            l2->state = State::modified;
            l2->stamp = ++inner_clock_;
        }
    } else if (p_.l2_inclusive_of_l1d) {
        throw std::logic_error("L1D line missing in the inclusive L2");
    } else {
        allocate_l2(l2_victim(l.pline), l.pline, l.state, now);
    }
    l1d_.drop(l);
}

void PrivateCaches::invalidate_l1d(CacheLine& l) {
    if (listener_) listener_->l1d_line_lost(l, false);
    l1d_.drop(l);
}

/// A page is used by another virtual address than before: its lines are not where they will be looked for.
void PrivateCaches::recolour(std::uint64_t ppn, std::uint64_t vpn, std::uint64_t now) {
    const std::uint64_t first = ppn << kLinesPerPageShift;
    for (std::uint64_t line = first; line <= (first | kLinesPerPageMask); ++line) {
        CacheLine* const l = l1d_.find(line);
        if (!l) continue;
        const CacheLine moved = *l;
        if (listener_) listener_->l1d_line_lost(*l, false);
        l1d_.drop(*l);
        moved_.push_back(moved);
    }
    colours_.set(ppn, vpn);
    for (CacheLine& l : moved_) {
        CacheLine& to = l1d_.victim(l.pline, *clock_);
        if (to.state != State::invalid) evict_l1d(to, now);
        l.fast_slot = 0;
        l1d_.replace(to, l);
    }
    moved_.clear();
}

void PrivateCaches::count_refill(EventNumber direction, Level level) {
    count(ev::L1D_CACHE_REFILL);
    count(direction);
    count(level == Level::dram ? ev::L1D_CACHE_REFILL_OUTER : ev::L1D_CACHE_REFILL_INNER);
}

// --- write streaming --------------------------------------------------------------------------------------------------

Timing PrivateCaches::streamed_store(std::uint64_t pline, unsigned offset, unsigned bytes, std::uint64_t now,
                                     CacheLine** line) {
    account_streaming(now);
    if (stream_.line() != pline) {
        if (stream_.line() != ~0ull) {
            // Another line before this one was whole: back to allocating.
            break_stream(now);
            stream_.begin(pline);
            const Timing t = store_miss(pline, now, line);
            stream_.add(offset, bytes);
            *line = nullptr;
            return t;
        }
        if (stream_.stays(pline)) { // this one is in use
            break_stream(now);
            return store_miss(pline, now, line);
        }
        stream_.begin(pline);
    }
    Timing t{.ready = now};
    switch (stream_.add(offset, bytes)) {
        case WriteStream::Added::whole:
            t.ready = write_whole_line(pline, now);
            whole_line_stored(now);
            break;
        case WriteStream::Added::part: break;
        case WriteStream::Added::rewritten:
            stream_.end();
            break_stream(now);
            t = store_miss(pline, now, line);
            break;
    }
    return t;
}

std::uint64_t PrivateCaches::write_whole_line(std::uint64_t pline, std::uint64_t now) {
    Fills::Slot& slot = *stream_out_.pick(now);
    const std::uint64_t start = through_l2_port(std::max(now, slot.ready));
    std::uint64_t done = start + p_.l2_hit;
    count_l2_write();
    CacheLine* const l = l2_.find(pline);
    if (l) {
        if (l->state == State::shared) done = own(pline, DsuKind::upgrade, start);
        count(ev::L2D_CACHE_ALLOCATE);
        l->state = State::modified;
        l->stamp = ++inner_clock_;
    } else if (stream_.target() == WriteStream::Target::l2) {
        done = own(pline, DsuKind::make_unique, start);
        count(ev::L2D_CACHE_ALLOCATE);
        allocate_l2(l2_victim(pline), pline, State::modified, now);
    } else {
        const bool to_l3 = stream_.target() == WriteStream::Target::l3;
        done = write_out(pline, to_l3 ? DsuKind::write_stream : DsuKind::write_stream_memory, start);
    }
    stream_out_.occupy(slot, pline, done, Level::l2);
    return start;
}

void PrivateCaches::whole_line_stored(std::uint64_t now) {
    stream_.end();
    if (stream_.enabled() && stream_.whole_line(*clock_)) {
        count(ev::L1D_WS_MODE_ENTRY);
        streaming_since_ = now;
    }
}

void PrivateCaches::break_stream(std::uint64_t now) {
    const std::uint64_t pline = stream_.line();
    const bool gathered = stream_.streaming() && pline != ~0ull;
    if (stream_.streaming()) account_streaming(now);
    stream_.end();
    stream_.broken();
    if (gathered && !l1d_.find(pline)) {
        CacheLine* unused = nullptr;
        store_miss(pline, now, &unused);
    }
}

void PrivateCaches::account_streaming(std::uint64_t now) {
    if (now <= streaming_since_) return;
    const std::uint64_t n = now - streaming_since_;
    streaming_since_ = now;
    count(ev::L1D_WS_MODE, n);
    const WriteStream::Target t = stream_.target();
    if (t == WriteStream::Target::l3 || t == WriteStream::Target::memory) count(ev::L2D_WS_MODE, n);
    if (t == WriteStream::Target::memory) count(ev::L3D_WS_MODE, n);
}

std::uint64_t PrivateCaches::drain(std::uint64_t now) {
    if (stream_.streaming() && stream_.line() != ~0ull) break_stream(now);
    std::uint64_t done = now;
    if (const auto last = stream_out_.latest(); last > done) done = last;
    return done;
}

// --- L2 and beyond ----------------------------------------------------------------------------------------------------

PrivateCaches::Fill PrivateCaches::from_l2(std::uint64_t pline, Into who, bool unique, For why, std::uint64_t start) {
    const bool stays = p_.l2_inclusive_of_l1d || who == Into::other; // in the L2
    count(ev::L2D_CACHE);
    count(ev::L2D_CACHE_RD);
    start = through_l2_port(start);
    if (CacheLine* l = l2_.find(pline)) {
        l->stamp = ++inner_clock_;
        l->prefetched = false;
        Fill f{.ready = start + p_.l2_hit, .level = Level::l2, .state = State::exclusive, .in_l2 = true};
        if (const Fills::Fill* s = prefetches_.find(pline, f.ready)) {
            f.ready = s->ready;
            f.level = s->level;
        } else if (const Fills::Fill* a = asked_for_.find(pline, f.ready)) {
            f.ready = a->ready;
            f.level = a->level;
        }
        if (l->state == State::shared) {
            if (unique) {
                const std::uint64_t owned = own(pline, DsuKind::upgrade, start);
                if (owned >= f.ready) f.level = x_.level;
                f.ready = std::max(f.ready, owned);
                l->state = State::exclusive;
            } else {
                f.state = State::shared;
            }
        }
        if (!stays) {
            if (l->state == State::modified) f.state = State::modified;
            l2_.drop(*l);
        }
        return f;
    }
    if (const CacheLine* c = l1d_.find(pline)) {
        // A fetch of a line that the L1D holds, and so the exclusive L2 does not.
        return {.ready = start + p_.l2_hit, .level = Level::l2, .state = c->state};
    }
    count(ev::L2D_CACHE_REFILL);
    count(ev::L2D_CACHE_REFILL_RD);
    const DsuKind kind = unique ? DsuKind::read_unique : DsuKind::read_shared;
    if (!stays) return from_dsu(pline, kind, why, start);
    CacheLine& place = l2_victim(pline);
    x_.next = place.pline;
    const Fill f = from_dsu(pline, kind, why, start);
    through_l2_port(start); // the line's way in: it waits for a gap
    allocate_l2(place, pline, f.state, start);
    return {.ready = f.ready, .level = f.level, .state = f.state == State::shared ? State::shared : State::exclusive};
}

PrivateCaches::Fill PrivateCaches::from_dsu(std::uint64_t pline, DsuKind kind, For why, std::uint64_t start) {
    x_.kind = kind;
    const std::uint64_t ready = start + p_.to_dsu + dsu_.transact(x_, pline, start + p_.to_dsu / 2);
    count(ev::L3D_CACHE);
    count(ev::L3D_CACHE_RD);
    count(ev::LL_CACHE_RD);
    if (x_.level == Level::dram) {
        count(ev::L3D_CACHE_REFILL);
        count(ev::L3D_CACHE_REFILL_RD);
        count(ev::LL_CACHE_MISS_RD);
        if (why == For::prefetch) count(ev::L3D_CACHE_REFILL_PREFETCH);
    }
    count_bus_read();
    return {.ready = ready, .level = x_.level, .state = x_.granted};
}

std::uint64_t PrivateCaches::own(std::uint64_t pline, DsuKind kind, std::uint64_t start) {
    x_.kind = kind;
    return start + p_.to_dsu + dsu_.transact(x_, pline, start + p_.to_dsu / 2);
}

void PrivateCaches::count_l2_write() {
    count(ev::L2D_CACHE);
    count(ev::L2D_CACHE_WR);
}

CacheLine& PrivateCaches::allocate_l2(CacheLine& l, std::uint64_t pline, State state, std::uint64_t now) {
    if (l.state != State::invalid) evict_l2(l, now);
    l2_.replace(l, {.pline = pline, .state = state, .stamp = ++inner_clock_});
    return l;
}

void PrivateCaches::evict_l2(CacheLine& l, std::uint64_t now) {
    bool dirty = l.state == State::modified;
    if (CacheLine* c = l1d_.find(l.pline)) {
        if (c->state == State::modified) {
            dirty = true;
            count(ev::L1D_CACHE_WB);
            count(ev::L1D_CACHE_WB_VICTIM);
            count_l2_write();
            count(ev::L2D_CACHE_ALLOCATE);
        }
        invalidate_l1d(*c);
    }
    if (dirty || l.state == State::exclusive) {
        count(ev::L2D_CACHE_WB);
        count(ev::L2D_CACHE_WB_VICTIM);
        write_out(l.pline, dirty ? DsuKind::write_back : DsuKind::write_evict, now);
    } else {
        x_.kind = DsuKind::evict;
        dsu_.transact(x_, l.pline, now);
    }
    l2_.drop(l);
}

std::uint64_t PrivateCaches::write_out(std::uint64_t pline, DsuKind kind, std::uint64_t now) {
    x_.kind = kind;
    const std::uint64_t done = now + dsu_.transact(x_, pline, now);
    count(ev::L3D_CACHE);
    if (x_.allocated) count(ev::L3D_CACHE_ALLOCATE);
    count_bus_write();
    return done;
}

SnoopResult PrivateCaches::snoop(std::uint64_t pline, SnoopKind kind, bool want_data) {
    CacheLine* const c = l1d_.find(pline);
    CacheLine* const l = l2_.find(pline);
    SnoopResult r{.held = c || l, .dirty = false};
    if (!r.held) return r;
    const bool l1_dirty = c && c->state == State::modified;
    r.dirty = l1_dirty || (l && l->state == State::modified);
    if (l1_dirty) {
        count(ev::L1D_CACHE_WB);
        count(ev::L1D_CACHE_WB_CLEAN);
    } else if (l && (r.dirty || want_data)) {
        count(ev::L2D_CACHE_WB);
        count(ev::L2D_CACHE_WB_CLEAN);
    }
    if (r.dirty || want_data) count_bus_write();
    switch (kind) {
        case SnoopKind::invalidate:
            if (c) {
                count(ev::L1D_CACHE_INVAL);
                invalidate_l1d(*c);
            }
            if (l) {
                count(ev::L2D_CACHE_INVAL);
                l2_.drop(*l);
            }
            break;
        case SnoopKind::downgrade:
            if (c && c->state != State::shared) {
                if (listener_) listener_->l1d_line_lost(*c, true);
                c->state = State::shared;
            }
            if (l) l->state = State::shared;
            break;
        case SnoopKind::clean:
            if (l1_dirty) {
                // Written again, it has to become modified again, which the core's fast path cannot do.
                if (listener_) listener_->l1d_line_lost(*c, true);
                c->state = State::exclusive;
            }
            if (l && l->state == State::modified) l->state = State::exclusive;
            break;
    }
    return r;
}

Timing PrivateCaches::clean_line(std::uint64_t pline, bool invalidate, std::uint64_t now) {
    if (stream_.line() == pline) break_stream(now);
    const SnoopResult own_copy = snoop(pline, invalidate ? SnoopKind::invalidate : SnoopKind::clean, false);
    x_.kind = invalidate ? DsuKind::clean_invalidate : DsuKind::clean;
    x_.dirty = own_copy.dirty;
    const std::uint64_t ready = now + p_.to_dsu + dsu_.transact(x_, pline, now + p_.to_dsu / 2);
    x_.dirty = false;
    if (own_copy.dirty) count(ev::L3D_CACHE);
    return {.ready = ready, .level = Level::l3};
}

void PrivateCaches::count_bus_read() {
    const unsigned n = kLineSize / p_.bus_read_beat;
    count(ev::BUS_ACCESS, n);
    count(ev::BUS_ACCESS_RD, n);
}

void PrivateCaches::count_bus_write() {
    const unsigned n = kLineSize / p_.bus_write_beat;
    count(ev::BUS_ACCESS, n);
    count(ev::BUS_ACCESS_WR, n);
}

// --- L1I and prefetching ----------------------------------------------------------------------------------------------

CacheLine& PrivateCaches::allocate_l1i(std::uint64_t pline) {
    CacheLine& l = l1i_.victim(pline, inner_clock_);
    if (l.state != State::invalid && listener_) listener_->l1i_line_lost(l.pline);
    l1i_.replace(l, {.pline = pline, .state = State::shared, .stamp = ++inner_clock_});
    return l;
}

/// Its lines are not where they will be looked for: they are fetched anew.
void PrivateCaches::recolour_code(std::uint64_t ppn, std::uint64_t vpn) {
    const std::uint64_t first = ppn << kLinesPerPageShift;
    for (std::uint64_t line = first; line <= (first | kLinesPerPageMask); ++line) invalidate_icache_line(line);
    code_colours_.set(ppn, vpn);
}

void PrivateCaches::invalidate_icache() {
    for (CacheLine& l : l1i_.lines()) l1i_.drop(l);
    if (listener_) listener_->l1i_line_lost(~0ull);
}

void PrivateCaches::invalidate_icache_line(std::uint64_t pline) {
    CacheLine* const l = l1i_.find(pline);
    if (!l) return;
    l1i_.drop(*l);
    if (listener_) listener_->l1i_line_lost(pline);
}

void PrivateCaches::prefetch_l1i_after(std::uint64_t pline, std::uint64_t now) {
    for (unsigned i = 1; i <= p_.l1i_next_lines; ++i) {
        const std::uint64_t next = pline + i;
        if (line_address(next) >> kPageShift != line_address(pline) >> kPageShift || l1i_.find(next)) continue;
        Fills::Slot& slot = *fetches_.pick(now);
        if (slot.ready > now) return;
        const Fill f = from_l2(next, Into::other, false, For::prefetch, now);
        fetches_.occupy(slot, next, f.ready, f.level);
        allocate_l1i(next).prefetched = true;
    }
}

void PrivateCaches::train(std::uint64_t pline, bool is_load, std::uint64_t now, bool instruction) {
    Prefetcher::Plan plan;
    const bool crosses = is_load && p_.prefetch.crosses_pages;
    const bool follow = crosses && pline >> kLinesPerPageShift == ppn_;
    trained_virtual_ = follow;
    // Other loads are the kernel's, by addresses of its linear map.
    trained_page_ = crosses ? ~0ull : pline >> kLinesPerPageShift;
    if (!prefetcher_.train(follow ? vpn_ << kLinesPerPageShift | (pline & kLinesPerPageMask) : pline, instruction,
                           plan))
        return;
    // Stores are prefetched for into the L2 where there is a prefetcher for it (TRM 100798), else into the L1D.
    const bool to_l1 = is_load || p_.prefetch.l2_ahead == 0;
    const auto run = [this](const Prefetcher::Batch& b, auto&& one) {
        for (unsigned i = 0; i < b.count; ++i) {
            const std::uint64_t l = physical_line(b.first + static_cast<std::uint64_t>(b.stride * std::int64_t{i}));
            if (l != ~0ull) one(l);
        }
    };
    // What the L2 was asked for as far ahead is not asked for again nearer by.
    run(plan.l1, [&](std::uint64_t l) {
        if (to_l1)
            prefetch_l1d(l, now);
        else if (!l2_.find(l))
            prefetch_l2(l, now);
    });
    run(plan.l2, [&](std::uint64_t l) { prefetch_l2(l, now); });
    run(plan.l3, [&](std::uint64_t l) { prefetch_l3(l, now); });
}

/// The physical line of one that a trained stream asks for; ~0 if nothing is mapped there.
std::uint64_t PrivateCaches::physical_line(std::uint64_t line) {
    const std::uint64_t page = line >> kLinesPerPageShift;
    if (!trained_virtual_) return trained_page_ == ~0ull || page == trained_page_ ? line : ~0ull;
    if (page == vpn_) return ppn_ << kLinesPerPageShift | (line & kLinesPerPageMask);
    if (!lookup_) return ~0ull;
    if (page != other_vpn_) {
        other_vpn_ = page;
        other_ppn_ = lookup_->page_behind(page);
    }
    return other_ppn_ == ~0ull ? ~0ull : other_ppn_ << kLinesPerPageShift | (line & kLinesPerPageMask);
}

bool PrivateCaches::prefetchable(std::uint64_t pline) const {
    return memory_.contains(PhysAddr(line_address(pline)), kLineSize) && !l1d_.find(pline);
}

bool PrivateCaches::prefetch_l1d(std::uint64_t pline, std::uint64_t now) {
    if (!prefetchable(pline)) return false;
    Fills::Slot* const slot = prefetches_.pick(now);
    if (!slot || slot->ready > now) return false;
    const Fill f = from_l2(pline, Into::l1d, false, For::prefetch, now);
    prefetches_.occupy(*slot, pline, f.ready, f.level);
    allocate_l1d(pline, f.state, now).prefetched = true;
    count(ev::L1D_CACHE_REFILL_PREFETCH);
    return true;
}

bool PrivateCaches::prefetch_l2(std::uint64_t pline, std::uint64_t now) {
    if (!prefetchable(pline)) return false;
    Fills::Slot* const slot = prefetches_.pick(now);
    if (!slot || slot->ready > now) return false;
    count(ev::L2D_CACHE);
    count(ev::L2D_CACHE_RD);
    if (l2_.find(pline)) return false;
    CacheLine& place = l2_victim(pline);
    x_.next = place.pline;
    const Fill f = from_dsu(pline, DsuKind::read_shared, For::prefetch, now);
    through_l2_port(now);
    prefetches_.occupy(*slot, pline, f.ready, f.level);
    allocate_l2(place, pline, f.state, now).prefetched = true;
    return true;
}

void PrivateCaches::prefetch_l3(std::uint64_t pline, std::uint64_t now) {
    if (!prefetchable(pline) || l2_.find(pline)) return;
    x_.kind = DsuKind::prefetch_l3;
    dsu_.transact(x_, pline, now);
    if (x_.allocated) count(ev::L3D_CACHE_REFILL_PREFETCH);
}

} // namespace rkperf::mem
