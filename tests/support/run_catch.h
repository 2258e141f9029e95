// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs the Catch2 tests of this executable with the command line given; returns
// the exit status. The archive's sc_main() calls it; a test file may define its
// own sc_main() instead, build a model there, and call this.
int run_catch(int argc, char** argv);
