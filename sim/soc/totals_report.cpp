// SPDX-License-Identifier: Apache-2.0
#include "sim/soc/totals_report.h"

#include "sim/base/pmu_events.h"
#include "sim/soc/machine.h"
#include "sim/soc/truth_names.h"

#include <fmt/format.h>

#include <systemc>

namespace rkperf::soc {

std::string print_totals(Machine& machine) {
    std::string text = fmt::format("time_ps {}\n", sc_core::sc_time_stamp().value());
    for (unsigned n = 0; n < machine.cores(); ++n) {
        const EventTotals& totals = machine.core(n).totals();
        for (unsigned e = 0; e < pmu_event::kCount; ++e) {
            const auto number = static_cast<EventNumber>(e);
            std::string levels;
            bool any = false;
            for (unsigned el = 0; el < kExceptionLevels; ++el) {
                const std::uint64_t v = totals.get(number, static_cast<ExceptionLevel>(el));
                levels += fmt::format(" {}", v);
                any |= v != 0;
            }
            if (any) text += fmt::format("cpu{} {:#04x} {}{}\n", n, e, pmu_event_name(number), levels);
        }
    }
    return text;
}

} // namespace rkperf::soc
