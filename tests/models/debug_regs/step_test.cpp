// SPDX-License-Identifier: Apache-2.0
// The software-step state machine. Spec DBG-039 to 046, 053.
#include "models/debug_regs/matching.h"

#include <catch2/catch.hpp>

using namespace rkperf;
using namespace rkperf::debug;
using EL = ExceptionLevel;

namespace {

State stepping() {
    State s;
    s.mdscr = mdscr::SS;
    return s;
}

} // namespace

TEST_CASE("with SPSR.SS one instruction executes before the step exception", "[DBG-039][DBG-040][DBG-041][DBG-053]") {
    const State s = stepping();
    Step step;
    step.exception_return(s, true, true);
    CHECK_FALSE(step.pending(s)); // active, not pending
    step.stepped(s, false);
    CHECK(step.pending(s));
    CHECK(step.syndrome() == (0x22u | esr::kISV));
    step.exception_return(s, true, true);
    step.stepped(s, true);
    CHECK(step.syndrome() == (0x22u | esr::kISV | esr::kEX));
    // Active-pending right after the return: nothing was stepped.
    step.exception_return(s, false, true);
    CHECK(step.pending(s));
    CHECK(step.syndrome() == 0x22u);
}

TEST_CASE("without MDSCR.SS, or with the exceptions disabled, the machine is inactive", "[DBG-039][DBG-041]") {
    State s;
    Step step;
    step.exception_return(s, true, true);
    CHECK_FALSE(step.pending(s));
    s.mdscr = mdscr::SS; // set too late: PSTATE.SS was not taken over
    CHECK(step.pending(s));
    State locked = stepping();
    locked.os_lock = true;
    step.exception_return(locked, true, true);
    CHECK_FALSE(step.pending(locked));
}

TEST_CASE("SPSR.SS is not taken over if step was enabled at the source", "[DBG-041]") {
    State s = stepping();
    s.mdscr |= mdscr::KDE;
    Step step;
    step.exception_return(s, true, false); // D clear: EL1 itself is being stepped
    CHECK(step.pending(s));
    step.exception_return(s, true, true);
    CHECK_FALSE(step.pending(s));
}

TEST_CASE("an exception saves what is left of the step", "[DBG-042][DBG-043]") {
    const State s = stepping();
    Step step;
    step.exception_return(s, true, true);
    CHECK(step.exception_entry(s, false)); // a fault or an interrupt before the instruction: still to do
    step.exception_return(s, true, true);
    CHECK_FALSE(step.exception_entry(s, true)); // an SVC has executed
    step.exception_return(s, true, true);
    step.stepped(s, false);
    CHECK_FALSE(step.exception_entry(s, false)); // an interrupt after it
    // PSTATE.SS is 0 in the handler: nothing of it is left for the next return.
    step.exception_return(s, false, true);
    CHECK_FALSE(step.exception_entry(s, false));
}

TEST_CASE("with SPSR.SS left 0 the step exception repeats", "[DBG-046]") {
    const State s = stepping();
    Step step;
    for (int i = 0; i < 3; ++i) {
        step.exception_return(s, false, true);
        CHECK(step.pending(s));
        step.exception_entry(s, false);
    }
}
