// SPDX-License-Identifier: Apache-2.0
// The command line of rkperf. Its own options are long ones; for stat and record everything else before the program is
// passed to the perf client of the guest unchanged.
#pragma once

#include "sim/base/types.h"
#include "sim/soc/config_load.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rkperf::cli {

inline constexpr const char* kVersion = "rkperf 0.1.0";
/// A mistake of the user's: one clear sentence was printed.
inline constexpr int kExitUsage = 2;

enum class Command : std::uint8_t { run, stat, record, explain, machine };
std::string_view command_name(Command c);

struct BindOption {
    std::string host, guest;
    bool writable{true};
};

struct Options {
    Command command{};
    std::string machine;                        ///< file or name of a machine description, empty: the default
    std::vector<soc::ConfigOverride> overrides; ///< --set, --seed, --quantum, --timing, --warm-up
    std::uint32_t cpus{~0u};                    ///< affinity of the started program, bit n: CPU n
    std::string cpus_text;
    std::string root;
    std::vector<BindOption> binds;
    std::vector<std::string> env; ///< NAME=VALUE
    std::string trace;            ///< file, empty: none
    std::string gdb;              ///< run: where a debugger connects, empty: none
    std::string log{"warn"};
    Picoseconds timeout{kNever};
    std::string totals; ///< file for the totals of all events, empty: none
    bool quiet{}, stats{};
    bool check_fast{};                    ///< run twice, by the plain and the fast loops, and compare
    bool plain_loop{};                    ///< of the two, this is the plain one
    unsigned nth_sample{1};               ///< explain -n
    bool skid{};                          ///< explain --skid
    std::vector<std::string> client_args; ///< for the perf client
    std::vector<std::string> program;     ///< program and its arguments
};

/// What parsing gave: options, or a text to print (standard output if status is 0) and a status to exit with.
struct ParseResult {
    std::optional<Options> options;
    int status{};
    std::string text;
};
ParseResult parse_options(const std::vector<std::string>& args);

/// "0-3,5" as a mask of CPUs 0 to 31; empty if it is no such list.
std::optional<std::uint32_t> parse_cpu_list(std::string_view text);

} // namespace rkperf::cli
