// SPDX-License-Identifier: Apache-2.0
// The keys of a machine description: name, kind of value, bounds, choices, what it means, and where it is stored. The
// loader, the command line's --set and `rkperf machine` all go by this one table.
#pragma once

#include "sim/soc/machine_config.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace rkperf::soc {

/// A [[cluster]]: equal cores with consecutive CPU numbers.
struct ClusterConfig {
    CoreKind core{CoreKind::cortex_a76};
    unsigned cpus{1};
    std::optional<std::uint64_t> hertz; ///< absent: the kind's own
    std::optional<unsigned> capacity;   ///< absent: the kind's own
    std::optional<unsigned> exception_entry;
};

/// A description while it is being read: clusters not yet expanded to CPUs.
struct ConfigDraft {
    MachineConfig machine;
    std::vector<ClusterConfig> clusters;
    std::map<std::size_t, std::uint64_t> cpu_hertz; ///< of single CPUs: cpuN.freq, each with its frequency domain

    /// The RK3588, as MachineConfig::rk3588().
    static ConfigDraft rk3588();
    /// The configuration with machine.cpus filled in from the clusters.
    MachineConfig expand() const;
};

/// What a core of this kind has if the description does not say (RK3588 device tree, highest operating points).
std::uint64_t default_hertz(CoreKind kind);
unsigned default_capacity(CoreKind kind);
/// Cycles (estimates, see docs/user-guide.md).
unsigned default_exception_entry(CoreKind kind);

using ConfigValue = std::variant<bool, std::int64_t, std::string>;

enum class ConfigKind : std::uint8_t {
    text,       ///< string
    boolean,    ///< true, false
    integer,    ///< between least and most
    choice,     ///< one of choices
    time,       ///< "10us" or a whole number of picoseconds
    node_lists, ///< lists of numbers, one for each PMU node (sim/soc/pmu_nodes.h)
    frequency,  ///< "1.8GHz" or a whole number of hertz
};

struct ConfigKey {
    /// "kernel.hz"; keys of clusters are "cluster.hertz" here, "cluster.0.hertz" to the user, and "cpu.freq" is "cpu0.freq"
    std::string_view key;
    ConfigKind kind{};
    std::int64_t least{}, most{};              ///< numbers; for a text its length
    std::span<const std::string_view> choices; ///< of a choice, or the only values of an integer
    std::string_view doc;
    ConfigValue (*get)(const ConfigDraft& d, std::size_t cluster);
    void (*set)(ConfigDraft& d, std::size_t cluster, const ConfigValue& v);

    bool of_cluster() const { return key.starts_with("cluster."); }
    bool of_cpu() const { return key.starts_with("cpu."); }
};

/// In the order in which they are printed.
std::span<const ConfigKey> config_keys();
/// By the schema's name ("cluster.hertz"); null if there is none.
const ConfigKey* find_config_key(std::string_view key);
/// The known key nearest to `key`, empty if none resembles it.
std::string nearest_config_key(std::string_view key);

/// "10us", "1.5 ms", "250": a whole number of picoseconds. Empty if it is not one.
std::optional<std::int64_t> parse_time(std::string_view text);
/// "1.8GHz", "2400000000": a whole number of hertz.
std::optional<std::int64_t> parse_frequency(std::string_view text);
/// In the largest unit that leaves a whole number: "10us", "1800MHz".
std::string format_time(std::int64_t picoseconds);
std::string format_frequency(std::int64_t hertz);

/// As TOML writes it.
std::string format_config_value(const ConfigKey& key, const ConfigValue& v);

/// Is the value one that the key takes? Empty if so, otherwise the reason: "must be between 1 and 8, not 9".
std::string check_config_value(const ConfigKey& key, const ConfigValue& v);
/// From the command line's text. Returns the reason if it is none, without checking bounds.
std::string parse_config_value(const ConfigKey& key, std::string_view text, ConfigValue& out);

} // namespace rkperf::soc
