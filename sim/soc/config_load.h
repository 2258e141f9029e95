// SPDX-License-Identifier: Apache-2.0
// Reads machine descriptions (machines/*.toml) and the command line's settings into a MachineConfig, and shows it.
#pragma once

#include "sim/soc/config_schema.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rkperf::soc {

/// One key=value of the command line, with the name of the option it came from ("--set", "--seed").
struct ConfigOverride {
    std::string option, key, value;
};

struct LoadedConfig {
    ConfigDraft draft;
    MachineConfig config;
    /// Where the value of a key ("cluster.1.hertz") came from: "rk3588.toml:12", "--set". Absent: default.
    std::map<std::string, std::string> origins;
    /// Empty: all is well. Otherwise one line for each fault, "FILE:LINE: KEY ...", and config is not to be used.
    std::vector<std::string> faults;
};

/// The text of a machine description, called `file` in messages (empty text: the defaults), then the overrides.
LoadedConfig load_config(std::string_view toml, std::string_view file, const std::vector<ConfigOverride>& overrides);
/// The same from a file of the host (empty: the defaults). A file that cannot be read is a fault.
LoadedConfig load_config_file(const std::string& path, const std::vector<ConfigOverride>& overrides);

/// All keys with their values as a machine description that load_config takes, each with its origin and meaning in a
/// comment.
std::string print_config(const LoadedConfig& c);

} // namespace rkperf::soc
