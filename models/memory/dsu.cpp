// SPDX-License-Identifier: Apache-2.0
#include "models/memory/dsu.h"

#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>
#include <string>

namespace rkperf::mem {

Dsu::Dsu(sc_core::sc_module_name name, unsigned ports, const DsuParams& params)
    : sc_module(name),
      from_core("from_core", ports),
      to_dram("to_dram"),
      p_(params),
      l3_(params.l3),
      caches_(ports),
      prefetches_(params.prefetches) {
    if (ports == 0 || ports > 32) throw std::invalid_argument("Dsu: 1 to 32 ports");
    for (unsigned i = 0; i < ports; ++i) {
        from_core[i].register_b_transport(this, &Dsu::b_transport, static_cast<int>(i));
    }
    dram_payload_.set_data_ptr(buffer_);
    dram_payload_.set_data_length(kLineSize);
    dram_payload_.set_streaming_width(kLineSize);
    set_hertz(params.hertz);
}

Dsu::~Dsu() = default;

void Dsu::attach(unsigned port, SnoopPort& caches) { caches_.at(port) = &caches; }

void Dsu::set_hertz(std::uint64_t hertz) {
    p_.hertz = hertz;
    request_ps_ = ps(p_.request);
    data_ps_ = ps(p_.data);
    response_ps_ = ps(p_.response);
    snoop_ps_ = ps(p_.snoop);
    slices_.assign(std::max(p_.slices, 1u), SlotCalendar(ps(p_.slice_interval)));
}

std::uint32_t Dsu::holders(PhysAddr pa) {
    const Directory::Entry* e = directory_.find(pa.v >> kLineShift);
    return e ? e->holders : 0;
}

std::int32_t Dsu::owner(PhysAddr pa) {
    const Directory::Entry* e = directory_.find(pa.v >> kLineShift);
    return e ? e->owner : Directory::kNone;
}

void Dsu::b_transport(int port, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    DsuExtension* x = payload.get_extension<DsuExtension>();
    if (!x || !caches_[static_cast<unsigned>(port)]) {
        throw std::logic_error(std::string(name()) + ": transaction without DsuExtension, or port not attached");
    }
    const std::uint64_t base = sc_core::sc_time_stamp().value();
    Request r{.port = static_cast<unsigned>(port),
              .bit = 1u << port,
              .pline = payload.get_address() >> kLineShift,
              .looked_up = base + delay.value() + request_ps_};
    directory_.expect(r.pline);
    l3_.expect(r.pline, false);
    if (x->next != ~0ull) {
        directory_.expect(x->next);
        l3_.expect(x->next, true);
        x->next = ~0ull;
    }
    r.looked_up = slices_[r.pline % slices_.size()].reserve(r.looked_up);
    dram_status_ = tlm::TLM_OK_RESPONSE;
    x->allocated = false;
    x->level = Level::l3;
    const std::uint64_t done = serve(r, *x);
    delay = sc_core::sc_time::from_value(done - base);
    payload.set_response_status(dram_status_);
}

std::uint64_t Dsu::serve(const Request& r, DsuExtension& x) {
    switch (x.kind) {
        case DsuKind::read_shared: return read_shared(r, x);
        case DsuKind::read_unique: return take_unique(r, x, true);
        case DsuKind::upgrade:
        case DsuKind::make_unique: return take_unique(r, x, false);
        case DsuKind::write_back:
        case DsuKind::write_evict:
        case DsuKind::evict: return victim(r, x);
        case DsuKind::write_stream:
        case DsuKind::write_stream_memory: return stream(r, x);
        case DsuKind::clean:
        case DsuKind::clean_invalidate: return clean(r, x);
        case DsuKind::prefetch_l3: return prefetch(r, x);
    }
    throw std::logic_error("Dsu: unknown kind of transaction");
}

std::uint64_t Dsu::read_shared(const Request& r, DsuExtension& x) {
    Directory::Entry& e = directory_.insert(r.pline);
    const std::uint32_t others = e.holders & ~r.bit;
    CacheLine* const l = l3_.find(r.pline);
    std::uint64_t done;
    if (others != 0) {
        x.granted = State::shared;
        const int owner = e.owner;
        e.owner = Directory::kNone;
        e.holders |= r.bit;
        if (owner == Directory::kNone && l) {
            l->stamp = static_cast<std::uint32_t>(use(l, e.standing, x));
            return std::max(in_turn(r), l3_data_ready(r));
        }
        // The owner, or one of the sharers, supplies the data; shared lines are in the L3, too.
        const unsigned source =
            owner != Directory::kNone ? static_cast<unsigned>(owner) : static_cast<unsigned>(std::countr_zero(others));
        const SnoopResult s = caches_[source]->snoop(r.pline, SnoopKind::downgrade, true);
        put(r.pline, s.dirty, r.looked_up, std::max(e.standing, Standing::asked), true);
        x.level = Level::peer;
        return pass_on(r, in_turn(r));
    }
    e.holders = r.bit;
    e.owner = static_cast<std::int16_t>(r.port);
    e.standing = use(l, Standing::ahead, x);
    x.granted = State::exclusive;
    if (l) {
        done = l3_data_ready(r);
        if (l->state == State::modified) x.granted = State::modified;
        l3_.drop(*l);
    } else {
        done = dram(r.pline, tlm::TLM_READ_COMMAND, r.looked_up + p_.memory_request_ps) + p_.memory_return_ps;
        x.level = Level::dram;
    }
    return done;
}

/// When a request for a line that others have can be served: one after the other, so that what a core writes reaches nobody
/// before the line is its own.
std::uint64_t Dsu::in_turn(const Request& r) const {
    const Passage& p = passages_[passage(r.pline)];
    const bool waits = p.pline == r.pline && r.looked_up < p.done && p.done - r.looked_up < kLagPs;
    return waits ? p.done : r.looked_up;
}

std::uint64_t Dsu::pass_on(const Request& r, std::uint64_t at) {
    Passage& p = passages_[passage(r.pline)];
    const std::uint64_t done = at + snoop_ps_;
    // A core that lags far behind is not waited for by those that wait for others.
    p = {.pline = r.pline, .done = p.pline == r.pline ? std::max(p.done, done) : done};
    return done;
}

Dsu::Snooped Dsu::invalidate_others(const Request& r, bool want_data) {
    Snooped result;
    const Directory::Entry* e = directory_.find(r.pline);
    if (!e) return result;
    const int owner = e->owner;
    for (std::uint32_t rest = e->holders & ~r.bit; rest != 0; rest &= rest - 1) {
        const int port = std::countr_zero(rest);
        // One of them supplies clean data: the owner, else the first.
        const bool supplier = want_data && (owner != Directory::kNone ? port == owner : !result.any);
        const SnoopResult s = caches_[static_cast<unsigned>(port)]->snoop(r.pline, SnoopKind::invalidate, supplier);
        result.any = true;
        result.dirty |= s.dirty;
        result.from_owner |= port == owner;
    }
    return result;
}

std::uint64_t Dsu::take_unique(const Request& r, DsuExtension& x, bool with_data) {
    CacheLine* const l = l3_.find(r.pline);
    const Directory::Entry* before = directory_.find(r.pline);
    const bool owned_elsewhere =
        before && before->owner != Directory::kNone && before->owner != static_cast<std::int32_t>(r.port);
    const Snooped s = invalidate_others(r, with_data && (owned_elsewhere || !l));
    std::uint64_t done = s.any ? pass_on(r, in_turn(r)) : r.looked_up + response_ps_;
    if (s.any) x.level = Level::peer;
    if (with_data && !(s.any && (s.from_owner || !l))) {
        if (l) {
            done = std::max(s.any ? done : 0, l3_data_ready(r));
        } else {
            done = dram(r.pline, tlm::TLM_READ_COMMAND, r.looked_up + p_.memory_request_ps) + p_.memory_return_ps;
            x.level = Level::dram;
        }
    }
    const bool dirty = s.dirty || (l && l->state == State::modified);
    x.granted = dirty ? State::modified : State::exclusive;
    const Standing stands = use(l, before ? before->standing : Standing::ahead, x);
    if (l) l3_.drop(*l);
    Directory::Entry& e = directory_.insert(r.pline);
    e.holders = r.bit;
    e.owner = static_cast<std::int16_t>(r.port);
    e.standing = stands;
    return done;
}

/// What a line that is asked for, and is in the L3 if not null, will come back with; `known`: of the cores' copies. What was
/// brought ahead is used for the first time, and a core that asks to write what it has does not use the L3: neither has proved
/// worth its place. Est.: the policy is not published. M: what a prefetcher takes is used like what a load takes (of a walk
/// through 16 MiB with a prefetcher before it 0.136 hit, docs/fidelity.md).
Standing Dsu::use(const CacheLine* l, Standing known, const DsuExtension& x) {
    const Standing before = l ? std::max(known, standing(*l)) : known;
    if (!l || x.kind == DsuKind::upgrade) return std::max(before, Standing::asked);
    return before == Standing::ahead ? Standing::asked : Standing::reused;
}

std::uint64_t Dsu::victim(const Request& r, DsuExtension& x) {
    Standing stands = Standing::asked;
    if (Directory::Entry* e = directory_.find(r.pline)) {
        stands = e->standing;
        e->holders &= ~r.bit;
        if (e->owner == static_cast<std::int32_t>(r.port)) e->owner = Directory::kNone;
        if (e->holders == 0) directory_.erase(*e);
    }
    if (x.kind != DsuKind::evict) x.allocated = put(r.pline, x.kind == DsuKind::write_back, r.looked_up, stands);
    return r.looked_up;
}

std::uint64_t Dsu::stream(const Request& r, DsuExtension& x) {
    invalidate_others(r, false);
    if (Directory::Entry* e = directory_.find(r.pline)) directory_.erase(*e);
    if (x.kind == DsuKind::write_stream) {
        x.allocated = put(r.pline, true, r.looked_up, Standing::ahead, true);
        return r.looked_up;
    }
    if (CacheLine* l = l3_.find(r.pline)) l3_.drop(*l);
    // Not posted without bound: the line has left when the memory controller has taken it.
    return dram(r.pline, tlm::TLM_WRITE_COMMAND, r.looked_up + p_.memory_request_ps) - p_.memory_request_ps;
}

std::uint64_t Dsu::clean(const Request& r, DsuExtension& x) {
    const bool invalidate = x.kind == DsuKind::clean_invalidate;
    bool dirty = x.dirty;
    bool snooped = false;
    if (Directory::Entry* e = directory_.find(r.pline)) {
        for (std::uint32_t rest = e->holders & ~r.bit; rest != 0; rest &= rest - 1) {
            SnoopPort& c = *caches_[static_cast<unsigned>(std::countr_zero(rest))];
            dirty |= c.snoop(r.pline, invalidate ? SnoopKind::invalidate : SnoopKind::clean, false).dirty;
            snooped = true;
        }
        if (invalidate) directory_.erase(*e);
    }
    if (CacheLine* l = l3_.find(r.pline)) {
        dirty |= l->state == State::modified;
        if (invalidate) {
            l3_.drop(*l);
        } else {
            l->state = State::exclusive;
        }
    }
    std::uint64_t done = r.looked_up + (snooped ? snoop_ps_ : response_ps_);
    if (dirty) {
        const std::uint64_t written = dram(r.pline, tlm::TLM_WRITE_COMMAND, done + p_.memory_request_ps);
        done = written + p_.memory_return_ps;
    }
    return done;
}

std::uint64_t Dsu::prefetch(const Request& r, DsuExtension& x) {
    if (directory_.find(r.pline) || l3_.find(r.pline)) return r.looked_up;
    const auto slot = std::min_element(prefetches_.begin(), prefetches_.end(),
                                       [](const L3Fill& a, const L3Fill& b) { return a.ready < b.ready; });
    // All in flight: the prefetch is given up. A core far ahead of this one must not keep it from prefetching.
    if (slot == prefetches_.end() || (slot->ready > r.looked_up && slot->begun <= r.looked_up)) return r.looked_up;
    const std::uint64_t ready =
        dram(r.pline, tlm::TLM_READ_COMMAND, r.looked_up + p_.memory_request_ps) + p_.memory_return_ps - data_ps_;
    *slot = {.pline = r.pline, .begun = r.looked_up, .ready = ready};
    x.allocated = put(r.pline, false, r.looked_up, Standing::ahead, true);
    x.level = Level::dram;
    return r.looked_up;
}

std::uint64_t Dsu::l3_data_ready(const Request& r) const {
    std::uint64_t from = r.looked_up;
    for (const L3Fill& f : prefetches_) {
        if (f.pline == r.pline && f.begun <= from && f.ready > from) {
            from = f.ready;
            break;
        }
    }
    return from + data_ps_;
}

bool Dsu::put(std::uint64_t pline, bool dirty, std::uint64_t now, Standing standing, bool must) {
    if (CacheLine* l = l3_.find(pline)) {
        if (dirty) l->state = State::modified;
        l->stamp = static_cast<std::uint32_t>(std::max(standing, Dsu::standing(*l)));
        return dirty;
    }
    if (standing == Standing::asked && chance(p_.newcomers_kept)) standing = Standing::reused;
    CacheLine* const place = make_room(pline, must || standing == Standing::reused);
    if (!place) {
        if (dirty) dram(pline, tlm::TLM_WRITE_COMMAND, now + p_.memory_request_ps);
        return false;
    }
    if (place->state == State::modified) dram(place->pline, tlm::TLM_WRITE_COMMAND, now + p_.memory_request_ps);
    l3_.replace(*place, {.pline = pline,
                         .state = dirty ? State::modified : State::exclusive,
                         .stamp = static_cast<std::uint32_t>(standing)});
    return true;
}

/// Where a line goes in its set: a free place, else at random that of a line of less standing than reused, else any. The last
/// only a line gets that `must` have a place, others seldom.
CacheLine* Dsu::make_room(std::uint64_t pline, bool must) {
    const std::span<CacheLine> set = l3_.set(pline);
    std::array<CacheLine*, TagArray::kMaxWays> spare;
    unsigned n = 0;
    for (CacheLine& l : set) {
        if (l.state == State::invalid) return &l;
        spare[n] = &l;
        n += standing(l) != Standing::reused;
    }
    if (n != 0) return spare[dice_.below(n)];
    if (!must && !chance(p_.second_chance)) return nullptr;
    return &set[dice_.below(set.size())];
}

std::uint64_t Dsu::dram(std::uint64_t pline, tlm::tlm_command command, std::uint64_t at) {
    const std::uint64_t base = sc_core::sc_time_stamp().value();
    dram_payload_.set_command(command);
    dram_payload_.set_address(pline << kLineShift);
    dram_payload_.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
    sc_core::sc_time delay = sc_core::sc_time::from_value(at - base);
    to_dram->b_transport(dram_payload_, delay);
    if (!dram_payload_.is_response_ok()) dram_status_ = dram_payload_.get_response_status();
    return base + delay.value();
}

} // namespace rkperf::mem
