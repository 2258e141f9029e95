// SPDX-License-Identifier: Apache-2.0
// A small PMUv3 register file for tests of the driver: six event counters and the cycle counter of one CPU (spec
// PMUV3-044 to 065, without EL2 and EL3).
#pragma once

#include "sim/base/sysreg.h"
#include "sim/base/wires.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>

namespace rkperf::ke::test {

class FakePmuRegs {
  public:
    static constexpr unsigned kCounters = 6;
    std::uint64_t pmcr{std::uint64_t{0x410b3000}}, cnten{}, inten{}, ovs{}, ccntr{}, ccfiltr{}, userenr{}, selr{};
    std::array<std::uint64_t, kCounters> cntr{}, type{};
    std::uint64_t pmceid0{0x7fff0f3f}, pmceid1{0x00f2ae7f};
    std::map<std::uint16_t, unsigned> writes; ///< how often each register was written
    std::function<void(SysReg)> after_read;   ///< what happens between two reads

    std::uint64_t read(SysReg r) const {
        const std::uint64_t value = value_of(r);
        if (after_read) after_read(r);
        return value;
    }
    std::uint64_t value_of(SysReg r) const {
        using namespace sysreg;
        if (r == PMCR_EL0) return pmcr;
        if (r == PMCNTENSET_EL0 || r == PMCNTENCLR_EL0) return cnten;
        if (r == PMINTENSET_EL1 || r == PMINTENCLR_EL1) return inten;
        if (r == PMOVSCLR_EL0 || r == PMOVSSET_EL0) return ovs;
        if (r == PMCCNTR_EL0) return ccntr;
        if (r == PMCCFILTR_EL0) return ccfiltr;
        if (r == PMCEID0_EL0) return pmceid0;
        if (r == PMCEID1_EL0) return pmceid1;
        if (r == PMUSERENR_EL0) return userenr;
        if (r == PMSELR_EL0) return selr;
        if (r == ID_AA64DFR0_EL1) return 0x10305408;
        if (r == CNTFRQ_EL0) return 24'000'000;
        for (unsigned n = 0; n < kCounters; ++n) {
            if (r == PMEVCNTR_EL0(n)) return cntr[n];
            if (r == PMEVTYPER_EL0(n)) return type[n];
        }
        throw std::logic_error("FakePmuRegs: read of an unknown register");
    }
    void write(SysReg r, std::uint64_t v) {
        using namespace sysreg;
        ++writes[r.encoding];
        constexpr std::uint64_t mask = 0x8000003f;
        if (r == PMCR_EL0) {
            if (v & 2) cntr.fill(0);
            if (v & 4) ccntr = 0;
            pmcr = (pmcr & 0xffffff00) | (v & 0x79);
        } else if (r == PMCNTENSET_EL0) {
            cnten |= v & mask;
        } else if (r == PMCNTENCLR_EL0) {
            cnten &= ~v;
        } else if (r == PMINTENSET_EL1) {
            inten |= v & mask;
        } else if (r == PMINTENCLR_EL1) {
            inten &= ~v;
        } else if (r == PMOVSCLR_EL0) {
            ovs &= ~v;
        } else if (r == PMOVSSET_EL0) {
            ovs |= v & mask;
        } else if (r == PMCCNTR_EL0) {
            ccntr = v;
        } else if (r == PMCCFILTR_EL0) {
            ccfiltr = v & 0xfc000000;
        } else if (r == PMUSERENR_EL0) {
            userenr = v & 0xf;
        } else if (r == PMSELR_EL0) {
            selr = v & 0x1f;
        } else {
            for (unsigned n = 0; n < kCounters; ++n) {
                if (r == PMEVCNTR_EL0(n)) {
                    cntr[n] = v & 0xffffffff;
                    return;
                }
                if (r == PMEVTYPER_EL0(n)) {
                    type[n] = v & 0xfe00ffff;
                    return;
                }
            }
            throw std::logic_error("FakePmuRegs: write of an unknown register");
        }
    }
    /// `n` events at exception level 0 or 1.
    void count(EventNumber event, std::uint64_t n, unsigned el) {
        if (!(pmcr & 1)) return;
        if (event == 0x11 && (cnten >> 31 & 1) && passes(ccfiltr, el)) {
            const std::uint64_t before = ccntr;
            ccntr += n;
            if (ccntr < before) ovs |= 1u << 31;
        }
        for (unsigned i = 0; i < kCounters; ++i) {
            if (!(cnten >> i & 1) || (type[i] & 0xffff) != event || !passes(type[i], el)) continue;
            add(i, n);
        }
    }
    bool line() const { return (pmcr & 1) && (ovs & inten); }

  private:
    static bool passes(std::uint64_t t, unsigned el) { return el == 0 ? !(t >> 30 & 1) : !(t >> 31 & 1); }
    void add(unsigned i, std::uint64_t n) {
        const std::uint64_t sum = cntr[i] + n;
        cntr[i] = sum & 0xffffffff;
        if (!(sum >> 32)) return;
        ovs |= 1u << i;
        if (!(i & 1) && (cnten >> (i + 1) & 1) && (type[i + 1] & 0xffff) == 0x1e) add(i + 1, sum >> 32);
    }
};

} // namespace rkperf::ke::test
