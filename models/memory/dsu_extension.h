// SPDX-License-Identifier: Apache-2.0
// The transactions between a core's private caches and the DSU, a simplified AMBA CHI set, as a TLM-2.0 extension.
//
// A transaction is a tlm_generic_payload with TLM_IGNORE_COMMAND, address = physical address of the line, length 64, no
// data (tags only: data lives in PhysicalMemory), and this extension. The delay of b_transport is the core's local time
// minus sc_time_stamp() on the way in, and the time of the answer on the way out. Response: TLM_OK_RESPONSE; an address
// that nothing decodes beyond the DSU gives the memory's response.
#pragma once

#include "models/memory/hierarchy.h"

#include <cstdint>
#include <tlm>

namespace rkperf::mem {

enum class DsuKind : std::uint8_t {
    read_shared,         ///< load, fetch, walk: data; exclusive if nobody else has the line
    read_unique,         ///< store or atomic that needs the rest of the line: data and sole ownership
    upgrade,             ///< sole ownership of a line held shared; no data
    make_unique,         ///< sole ownership of a line that will be written whole; no data
    write_back,          ///< dirty victim; the core no longer has the line
    write_evict,         ///< clean victim with data; the core no longer has the line
    evict,               ///< clean victim without data; the core no longer has the line
    write_stream,        ///< a whole line written past the private caches into the L3
    write_stream_memory, ///< the same past the L3
    clean,               ///< DC CVAC: dirty data everywhere goes to memory, copies stay
    clean_invalidate,    ///< DC CIVAC: the same, copies go
    prefetch_l3,         ///< fill the L3 if nobody has the line; no data to the core
};

struct DsuExtension : tlm::tlm_extension<DsuExtension> {
    // request
    DsuKind kind{};
    bool dirty{};              ///< clean, clean_invalidate: the core hands dirty data over
    std::uint64_t next{~0ull}; ///< a line that the core will write out next; only lets the host get ready
    // answer
    Level level{
        Level::l3}; ///< where data came from: l3, peer, dram; peer: or others gave up their copies, but for whole lines
    CacheLine::State granted{CacheLine::State::invalid}; ///< shared, exclusive, or modified (dirty data handed over)
    bool allocated{};                                    ///< a line was allocated in the L3

    tlm::tlm_extension_base* clone() const override { return new DsuExtension(*this); }
    void copy_from(const tlm::tlm_extension_base& o) override { *this = static_cast<const DsuExtension&>(o); }
};

constexpr bool brings_data(DsuKind k) { return k == DsuKind::read_shared || k == DsuKind::read_unique; }
constexpr bool sends_data(DsuKind k) {
    return k == DsuKind::write_back || k == DsuKind::write_evict || k == DsuKind::write_stream ||
           k == DsuKind::write_stream_memory;
}

} // namespace rkperf::mem
