// SPDX-License-Identifier: Apache-2.0
// main() of the test executables that do not use SystemC.
#include "tests/support/run_catch.h"

int main(int argc, char** argv) { return run_catch(argc, argv); }
