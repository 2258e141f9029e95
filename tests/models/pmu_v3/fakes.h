// SPDX-License-Identifier: Apache-2.0
// Stand-ins for what surrounds a model on the system-register bus: a core's totals, a line that remembers its changes,
// and an initiator that executes MRS and MSR.
#pragma once

#include "sim/base/pmu_events.h"
#include "sim/base/sysreg.h"
#include "sim/base/sysreg_bus.h"
#include "sim/base/wires.h"

#include <tlm_utils/simple_initiator_socket.h>
#include <array>
#include <cstdint>
#include <set>
#include <systemc>
#include <tlm>
#include <vector>

namespace rkperf::test {

class FakeTotals : public EventTotalsView {
  public:
    void add(EventNumber event, std::uint64_t n, ExceptionLevel el = ExceptionLevel::el0) {
        rows_[static_cast<unsigned>(el)][event] += n;
    }
    std::uint64_t total(EventNumber event, ExceptionLevel el) const override {
        return event < pmu_event::kCount ? rows_[static_cast<unsigned>(el)][event] : 0;
    }
    bool knows(EventNumber event) const override { return event < pmu_event::kCount && !unknown.contains(event); }
    Picoseconds now() const override { return time; }
    void rearm() override { ++rearms; }

    Picoseconds time{};
    unsigned rearms{};
    std::set<EventNumber> unknown{};

  private:
    std::array<std::array<std::uint64_t, pmu_event::kCount>, kExceptionLevels> rows_{};
};

/// One change of a line.
struct Change {
    bool level{};
    Picoseconds when{};
    bool operator==(const Change&) const = default;
};

class FakeLine : public LevelSink {
  public:
    /// A repeated level has no effect, as LevelSink demands.
    void set_level(bool level, Picoseconds when) override {
        if (level == (!changes.empty() && changes.back().level))
            ++repeats;
        else
            changes.push_back({level, when});
    }
    /// Level at `t`: each statement holds from its time on, whatever was said before.
    bool level_at(Picoseconds t) const {
        bool level = false;
        for (const Change& c : changes)
            if (c.when <= t) level = c.level;
        return level;
    }
    std::vector<Change> changes;
    unsigned repeats{};
};

/// Executes accesses at a core's local time `time`, which may be ahead of SystemC's.
class FakeCore : public sc_core::sc_module {
  public:
    tlm_utils::simple_initiator_socket<FakeCore> sysreg;

    explicit FakeCore(sc_core::sc_module_name name) : sc_module(name), sysreg("sysreg") { trans_.set_extension(&ext_); }
    ~FakeCore() override { trans_.clear_extension(&ext_); }

    std::uint64_t mrs(SysReg reg, ExceptionLevel el = ExceptionLevel::el1) {
        std::uint64_t value = 0;
        access(tlm::TLM_READ_COMMAND, reg, value, el);
        return value;
    }
    void msr(SysReg reg, std::uint64_t value, ExceptionLevel el = ExceptionLevel::el1) {
        access(tlm::TLM_WRITE_COMMAND, reg, value, el);
    }
    SysRegOutcome outcome() const { return ext_.outcome; }
    tlm::tlm_response_status status() const { return trans_.get_response_status(); }

    Picoseconds time{};

  private:
    void access(tlm::tlm_command command, SysReg reg, std::uint64_t& value, ExceptionLevel el) {
        ext_.el = el;
        trans_.set_command(command);
        trans_.set_address(std::uint64_t{reg.encoding} * 8);
        trans_.set_data_ptr(reinterpret_cast<unsigned char*>(&value));
        trans_.set_data_length(sizeof value);
        trans_.set_streaming_width(sizeof value);
        trans_.set_byte_enable_ptr(nullptr);
        trans_.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
        sc_core::sc_time delay = to_sc_time(time) - sc_core::sc_time_stamp();
        sysreg->b_transport(trans_, delay);
    }

    tlm::tlm_generic_payload trans_;
    SysRegExtension ext_;
};

} // namespace rkperf::test
