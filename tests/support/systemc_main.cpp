// SPDX-License-Identifier: Apache-2.0
// sc_main() of the test executables that use SystemC (main() is SystemC's own).
#include "tests/support/run_catch.h"

#include <systemc>

int sc_main(int argc, char** argv) {
    // SystemC's reports would mix with what the tests print.
    sc_core::sc_report_handler::set_actions(sc_core::SC_INFO, sc_core::SC_DO_NOTHING);
    return run_catch(argc, argv);
}
