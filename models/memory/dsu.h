// SPDX-License-Identifier: Apache-2.0
// The DynamIQ Shared Unit: L3, snoop filter, and the serialisation point of coherence (Arm DSU TRM 100453). Works on
// tags; data lives in PhysicalMemory. The L3 follows the DSU's allocation rule: a line that one core alone uses is in
// that core and not in the L3 (it comes back as the core's victim); a line that several cores share is in the L3 too.
// Its clock is its own, so latencies do not follow the cores' frequencies.
#pragma once

#include "models/memory/directory.h"
#include "models/memory/dsu_extension.h"
#include "models/memory/hierarchy.h"
#include "models/memory/slot_calendar.h"
#include "models/memory/snoop.h"
#include "models/memory/tag_array.h"

#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>
#include <array>
#include <cstdint>
#include <memory>
#include <systemc>
#include <tlm>
#include <vector>

namespace rkperf::mem {

/// Latencies in DSU cycles unless named _ps. Fitted to: L3 16..18 ns load-to-use on both clusters at a DSU clock of
/// 1.8 GHz, DRAM 130 ns at 64 MiB (sbc-bench ramlat on four RK3588 boards); the split is an estimate.
struct DsuParams {
    std::uint64_t hertz{1'800'000'000};        ///< scmi_clk_dsu at its highest
    CacheGeometry l3{3 * 1024 * 1024, 12, 64}; ///< RK3588 device tree: 3 MiB, 4096 sets; `replacement` is not looked at
    unsigned slices{2};                        ///< est.
    unsigned slice_interval{3}; ///< cycles between two requests to one slice; M: eight chains, whose lines are
                                ///< all in one, take 3.75 ns a line and its victim
    unsigned request{6};        ///< core port to tags and snoop filter
    unsigned data{11};          ///< L3 data array and back to the core port
    unsigned response{4};       ///< an answer without data
    unsigned snoop{
        45}; ///< another core's caches, and its data to the requester's port; M: docs/fidelity.md, *From core to core*
    std::uint64_t memory_request_ps{26'000}; ///< L3 miss to the memory controller
    std::uint64_t memory_return_ps{26'000};  ///< memory controller to the core port
    unsigned prefetches{32};                 ///< L3 prefetches in flight; est.
    /// By their latencies, walks through 4, 8 and 16 MiB hit 0.7..0.8, 0.3..0.4 and 0.1..0.2, nearly what could hit at best.
    /// So a line that was used from the L3 again stays, but for chances in 256: that a line from memory is taken for one at
    /// once, and that in a set full of them another is replaced all the same; a thirty-second each, as bimodal insertion has
    /// it (Qureshi et al., ISCA 2007); est. for this L3.
    unsigned newcomers_kept{8}, second_chance{8};
};

class Dsu : public sc_core::sc_module {
  public:
    Dsu(sc_core::sc_module_name name, unsigned ports, const DsuParams& params);
    ~Dsu() override;

    /// One per core; transactions as in dsu_extension.h.
    sc_core::sc_vector<tlm_utils::simple_target_socket_tagged<Dsu>> from_core;
    /// To the DRAM: TLM_READ_COMMAND and TLM_WRITE_COMMAND of one line, timing only (the data pointer names a buffer
    /// that nobody need read or write).
    tlm_utils::simple_initiator_socket<Dsu> to_dram;

    /// Names the caches behind a port, before simulation.
    void attach(unsigned port, SnoopPort& caches);
    void set_hertz(std::uint64_t hertz);

    // For tests
    bool l3_holds(PhysAddr pa) const { return l3_.find(pa.v >> kLineShift) != nullptr; }
    /// Bit n: the core on port n has the line.
    std::uint32_t holders(PhysAddr pa);
    /// The port whose core holds the line exclusive or modified, or Directory::kNone.
    std::int32_t owner(PhysAddr pa);
    std::size_t lines_tracked() const { return directory_.size(); }

  private:
    using State = CacheLine::State;
    struct Request {
        unsigned port{};
        std::uint32_t bit{};
        std::uint64_t pline{};
        std::uint64_t looked_up{}; ///< time at which tags and snoop filter have been read
    };
    struct Snooped {
        bool any{}, dirty{}, from_owner{};
    };
    /// A line that went from core to core.
    struct Passage {
        std::uint64_t pline{~0ull}, done{};
    };
    struct L3Fill {
        std::uint64_t pline{~0ull}, begun{}, ready{};
    };

    void b_transport(int port, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
    std::uint64_t serve(const Request& r, DsuExtension& x);
    std::uint64_t read_shared(const Request& r, DsuExtension& x);
    std::uint64_t take_unique(const Request& r, DsuExtension& x, bool with_data);
    std::uint64_t victim(const Request& r, DsuExtension& x);
    std::uint64_t stream(const Request& r, DsuExtension& x);
    std::uint64_t clean(const Request& r, DsuExtension& x);
    std::uint64_t prefetch(const Request& r, DsuExtension& x);

    std::uint64_t in_turn(const Request& r) const;
    std::uint64_t pass_on(const Request& r, std::uint64_t at);
    Snooped invalidate_others(const Request& r, bool want_data);
    std::uint64_t l3_data_ready(const Request& r) const;
    /// Puts a line into the L3; true if it was written there: it was not there yet, or is dirty. One that need not be there
    /// may be passed over.
    bool put(std::uint64_t pline, bool dirty, std::uint64_t now, Standing standing, bool must = false);
    CacheLine* make_room(std::uint64_t pline, bool must);
    static Standing use(const CacheLine* l, Standing known, const DsuExtension& x);
    /// That of a line of the L3 is kept in its stamp.
    static Standing standing(const CacheLine& l) { return static_cast<Standing>(l.stamp); }
    bool chance(unsigned in256) { return dice_.below(256) < in256; }
    std::uint64_t dram(std::uint64_t pline, tlm::tlm_command command, std::uint64_t at);
    std::uint64_t ps(unsigned cycles) const { return cycles * 1'000'000'000'000ull / p_.hertz; }

    DsuParams p_;
    TagArray l3_;
    Dice dice_;
    Directory directory_;
    std::vector<SnoopPort*> caches_;
    std::vector<SlotCalendar> slices_;
    std::vector<L3Fill> prefetches_;
    static constexpr unsigned kPassages = 64;
    static constexpr std::uint64_t kLagPs =
        300'000; ///< of a core that others run ahead of, at most, for it to wait for them
    /// Its place: by bits of the page, too, as what cores share is often at the same place in several.
    static std::size_t passage(std::uint64_t pline) { return (pline ^ pline >> kLinesPerPageShift) % kPassages; }
    std::array<Passage, kPassages> passages_{}; ///< the last ones
    tlm::tlm_generic_payload dram_payload_;
    unsigned char buffer_[kLineSize]{};
    tlm::tlm_response_status dram_status_{};
    std::uint64_t request_ps_{}, data_ps_{}, response_ps_{}, snoop_ps_{};
};

} // namespace rkperf::mem
