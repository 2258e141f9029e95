// SPDX-License-Identifier: Apache-2.0
// The command rkperf. SystemC elaborates once per process, so one command is one process.
#include "sim/cli/check_fast.h"
#include "sim/cli/session.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <systemc>

using namespace rkperf::cli;

int sc_main(int argc, char** argv) {
    // "Simulation stopped by user" and the like are no news.
    sc_core::sc_report_handler::set_actions(sc_core::SC_INFO, sc_core::SC_DO_NOTHING);
    const ParseResult parsed = parse_options(std::vector<std::string>(argv + 1, argv + argc));
    if (!parsed.options && parsed.status) {
        std::fputs(parsed.text.c_str(), stderr);
        return parsed.status;
    }
    try {
        if (!parsed.options || parsed.options->command == Command::machine) {
            print_text(parsed.options ? rkperf::soc::print_config(load_machine(*parsed.options)) : parsed.text);
            return 0;
        }
        return parsed.options->check_fast ? check_fast(*parsed.options) : run_session(*parsed.options);
    } catch (const UserError& e) {
        fmt::print(stderr, "rkperf: {}\n", e.what());
        return kExitUsage;
    }
}

int main(int argc, char** argv) {
    ::setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
    return sc_core::sc_elab_and_sim(argc, argv);
}
