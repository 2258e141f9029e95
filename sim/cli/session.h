// SPDX-License-Identifier: Apache-2.0
// One run of a program in the simulated machine, as the commands start it.
#pragma once

#include "sim/cli/options.h"
#include "sim/cli/program.h"
#include "sim/soc/config_load.h"

#include <string>
#include <string_view>
#include <vector>

namespace rkperf::cli {

/// The machine that the options ask for. Throws UserError with all faults, one a line.
soc::LoadedConfig load_machine(const Options& o);

/// What is started in the guest.
struct Start {
    GuestFiles files;
    std::string path; ///< guest path
    std::vector<std::string> argv;
    bool client{}; ///< it is the perf client
};
/// For run: the program; for stat, record and explain: the perf client with the user's options. Throws UserError.
Start prepare_start(const Options& o);

/// Environment of the first program: always the same, so that it does not change what is measured, and --env.
std::vector<std::string> guest_environment(const Options& o, const std::string& cwd);

/// To standard output. Throws UserError if it cannot be written.
void print_text(std::string_view text);

/// Exit status of the command. Inside sc_main only.
int run_session(const Options& o);

} // namespace rkperf::cli
