// SPDX-License-Identifier: Apache-2.0
// What both cores do with counters that are armed while kernel code is charged. The including file has `registered` and kCases.
#pragma once

#include "tests/models/cpu/charges.h"

TEST_CASE("a counter wraps in kernel work where it would if no charge passed in one piece", "[PMUV3-062]") {
    REQUIRE(registered);
    check_charges(kCases);
}

TEST_CASE("a counter wraps at the last event of a charge, one before it, and one behind", "[PMUV3-062]") {
    check_charge_edges();
}
