// SPDX-License-Identifier: Apache-2.0
// The implementation part of Catch2, compiled once for all test executables.
#define CATCH_CONFIG_RUNNER
#include "tests/support/run_catch.h"

#include <catch2/catch.hpp>

// Catch::Session is declared only where the runner is compiled, hence this
// function: the mains call it instead.
int run_catch(int argc, char** argv) { return Catch::Session().run(argc, argv); }
