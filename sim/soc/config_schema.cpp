// SPDX-License-Identifier: Apache-2.0
#include "sim/soc/config_schema.h"

#include "models/cpu_a55/core_a55.h"
#include "models/cpu_a76/core_a76.h"
#include "models/gic/registers.h"
#include "sim/soc/pmu_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

namespace rkperf::soc {

namespace {

using sv = std::string_view;
using Kind = ConfigKind;

constexpr std::int64_t kMaxInt = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMicro = 1'000'000, kMilli = 1'000'000'000;
constexpr std::int64_t kMHz = 1'000'000;

// The order of the names is that of the enumerators.
constexpr std::array<sv, 2> kCores{"cortex-a55", "cortex-a76"};
constexpr std::array<sv, 5> kPmus{"vendor", "mainline", "a55", "a76", "none"};
constexpr std::array<sv, 3> kDrams{"lpddr4x-2112", "lpddr5-2736", "lpddr5-2400"};
constexpr std::array<sv, 3> kTimings{"full", "none", "regions"};
constexpr std::array<sv, 4> kHz{"100", "250", "300", "1000"};

template <class T>
std::int64_t number(T v) {
    return static_cast<std::int64_t>(v);
}

template <class E>
E choice(std::span<const sv> names, const ConfigValue& v) {
    const auto at = std::find(names.begin(), names.end(), std::get<std::string>(v));
    return static_cast<E>(at - names.begin());
}
template <class E>
std::string name_of(std::span<const sv> names, E e) {
    return std::string(names[static_cast<std::size_t>(e)]);
}

// A key stored in a member of MachineConfig.
template <auto Member>
ConfigValue get_member(const ConfigDraft& d, std::size_t) {
    const auto& m = d.machine.*Member;
    using T = std::remove_cvref_t<decltype(m)>;
    if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, bool>)
        return m;
    else if constexpr (std::is_same_v<T, Picoseconds>)
        return number(m.v);
    else
        return number(m);
}
template <auto Member>
void set_member(ConfigDraft& d, std::size_t, const ConfigValue& v) {
    auto& m = d.machine.*Member;
    using T = std::remove_cvref_t<decltype(m)>;
    if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, bool>)
        m = std::get<T>(v);
    else if constexpr (std::is_same_v<T, Picoseconds>)
        m = Picoseconds(static_cast<std::uint64_t>(std::get<std::int64_t>(v)));
    else
        m = static_cast<T>(std::get<std::int64_t>(v));
}

template <auto Member>
ConfigKey member(sv key, Kind kind, std::int64_t least, std::int64_t most, sv doc) {
    return {key, kind, least, most, {}, doc, get_member<Member>, set_member<Member>};
}

using M = MachineConfig;

const std::array kKeys{
    member<&M::name>("name", Kind::text, 1, 64, "name of the machine, for people"),
    member<&M::seed>("seed", Kind::integer, 0, kMaxInt, "start of all random numbers"),
    ConfigKey{
        "cluster.core", Kind::choice, 0, 0, kCores, "kind of core",
        [](const ConfigDraft& d, std::size_t c) -> ConfigValue { return name_of(kCores, d.clusters[c].core); },
        [](ConfigDraft& d, std::size_t c, const ConfigValue& v) { d.clusters[c].core = choice<CoreKind>(kCores, v); }},
    ConfigKey{"cluster.cpus",
              Kind::integer,
              0,
              8,
              {},
              "cores of the cluster",
              [](const ConfigDraft& d, std::size_t c) -> ConfigValue { return number(d.clusters[c].cpus); },
              [](ConfigDraft& d, std::size_t c, const ConfigValue& v) {
                  d.clusters[c].cpus = static_cast<unsigned>(std::get<std::int64_t>(v));
              }},
    ConfigKey{"cluster.hertz",
              Kind::frequency,
              10 * kMHz,
              4000 * kMHz,
              {},
              "clock of the cores",
              [](const ConfigDraft& d, std::size_t c) -> ConfigValue {
                  const ClusterConfig& k = d.clusters[c];
                  return number(k.hertz.value_or(default_hertz(k.core)));
              },
              [](ConfigDraft& d, std::size_t c, const ConfigValue& v) {
                  d.clusters[c].hertz = static_cast<std::uint64_t>(std::get<std::int64_t>(v));
              }},
    ConfigKey{"cluster.capacity",
              Kind::integer,
              1,
              1024,
              {},
              "what the scheduler thinks of them, 1024 is the fastest",
              [](const ConfigDraft& d, std::size_t c) -> ConfigValue {
                  const ClusterConfig& k = d.clusters[c];
                  return number(k.capacity.value_or(default_capacity(k.core)));
              },
              [](ConfigDraft& d, std::size_t c, const ConfigValue& v) {
                  d.clusters[c].capacity = static_cast<unsigned>(std::get<std::int64_t>(v));
              }},
    ConfigKey{"cluster.exception_entry",
              Kind::integer,
              1,
              1000,
              {},
              "cycles from the last instruction before an exception to the first of its vector",
              [](const ConfigDraft& d, std::size_t c) -> ConfigValue {
                  const ClusterConfig& k = d.clusters[c];
                  return number(k.exception_entry.value_or(default_exception_entry(k.core)));
              },
              [](ConfigDraft& d, std::size_t c, const ConfigValue& v) {
                  d.clusters[c].exception_entry = static_cast<unsigned>(std::get<std::int64_t>(v));
              }},
    ConfigKey{"cpu.freq",
              Kind::frequency,
              10 * kMHz,
              4000 * kMHz,
              {},
              "clock of a CPU and of those that share it",
              [](const ConfigDraft& d, std::size_t cpu) -> ConfigValue {
                  if (const auto at = d.cpu_hertz.find(cpu); at != d.cpu_hertz.end()) return number(at->second);
                  for (std::size_t first = 0; const ClusterConfig& k : d.clusters)
                      if (cpu < (first += k.cpus)) return number(k.hertz.value_or(default_hertz(k.core)));
                  return number(std::uint64_t{0});
              },
              [](ConfigDraft& d, std::size_t cpu, const ConfigValue& v) {
                  d.cpu_hertz[cpu] = static_cast<std::uint64_t>(std::get<std::int64_t>(v));
              }},
    member<&M::dram_mib>("memory.dram_mib", Kind::integer, 64, 32768, "size of the memory in MiB"),
    ConfigKey{"memory.dram", Kind::choice, 0, 0, kDrams, "kind and clock of the memory, MHz",
              [](const ConfigDraft& d, std::size_t) -> ConfigValue { return name_of(kDrams, d.machine.dram); },
              [](ConfigDraft& d, std::size_t, const ConfigValue& v) { d.machine.dram = choice<DramKind>(kDrams, v); }},
    member<&M::dsu_hertz>("memory.dsu_hertz", Kind::frequency, 100 * kMHz, 4000 * kMHz,
                          "clock of the shared unit with the L3 cache"),
    member<&M::quantum>("sim.quantum", Kind::time, 1000, kMilli, "how far a core may run ahead of the others"),
    member<&M::simple_cores>("sim.simple_cores", Kind::boolean, 0, 0,
                             "one instruction a cycle and no misses, as emulators count"),
    member<&M::plain_loop>("sim.plain_loop", Kind::boolean, 0, 0,
                           "execute with the plain loop only, which is slower and gives the same results"),
    ConfigKey{"sim.timing", Kind::choice, 0, 0, kTimings,
              "what is timed: all, nothing (fast-forward), or regions that the program marks",
              [](const ConfigDraft& d, std::size_t) -> ConfigValue { return name_of(kTimings, d.machine.timing); },
              [](ConfigDraft& d, std::size_t, const ConfigValue& v) {
                  d.machine.timing = choice<cpu::TimingPolicy>(kTimings, v);
              }},
    member<&M::warm_up>("sim.warm_up", Kind::integer, 0, kMaxInt,
                        "instructions of programs that are executed without timing first"),
    member<&M::gic_ppi_delay_ps>("gic.ppi_delay", Kind::time, 0, kMicro,
                                 "from a core's own interrupt line to the core"),
    member<&M::gic_sgi_delay_ps>("gic.sgi_delay", Kind::time, 0, kMicro, "from the sending to the receiving core"),
    member<&M::gic_spi_delay_ps>("gic.spi_delay", Kind::time, 0, kMicro, "from a device to the core"),
    member<&M::pseudo_nmi>("irqchip.pseudo_nmi", Kind::boolean, 0, 0,
                           "the kernel masks interrupts by priority, and the PMU's is an NMI"),
    member<&M::a55_br_retired_isb>("quirks.a55_br_retired_isb", Kind::boolean, 0, 0,
                                   "Cortex-A55: BR_RETIRED counts ISB, the core's own too"),
    member<&M::a76_no_pc_write_retired>("quirks.a76_no_pc_write_retired", Kind::boolean, 0, 0,
                                        "Cortex-A76: there is no event 0x0C, so no 'branches'"),
    member<&M::wfi_stops_cycles>("quirks.wfi_stops_cycles", Kind::boolean, 0, 0,
                                 "cycle counters stand while a CPU waits in WFI"),
    ConfigKey{"pmu.shape", Kind::choice, 0, 0, kPmus,
              "nodes of the device tree: one PMU over all CPUs (Rockchip's kernel), or one for each kind, or fewer",
              [](const ConfigDraft& d, std::size_t) -> ConfigValue { return name_of(kPmus, d.machine.pmu); },
              [](ConfigDraft& d, std::size_t, const ConfigValue& v) { d.machine.pmu = choice<PmuShape>(kPmus, v); }},
    member<&M::pmu_intid>("pmu.intid", Kind::integer, 0, 31,
                          "interrupt that the device tree gives the PMU; 23 is right, 0: none"),
    member<&M::pmu_interrupts>("pmu.interrupts", Kind::node_lists, 0, 200,
                               "interrupts of the PMU nodes instead of pmu.intid: 260,261;264 (nodes by ;)"),
    member<&M::pmu_interrupt_affinity>("pmu.interrupt_affinity", Kind::node_lists, 0, 200,
                                       "the nodes' interrupt-affinity: the CPU of each interrupt, ? is a bad phandle"),
    member<&M::pmu_spi>("pmu.spi", Kind::integer, 0, gic::kIntids - ke::kMaxCpus,
                        "wires CPU n's PMU to the shared interrupt INTID + n; 0: to PPI 7, as in the RK3588"),
    ConfigKey{"kernel.hz", Kind::integer, 0, 0, kHz, "CONFIG_HZ, ticks a second", get_member<&M::hz>,
              set_member<&M::hz>},
    member<&M::hostname>("kernel.hostname", Kind::text, 1, 64, "what uname says"),
    member<&M::epoch>("kernel.epoch", Kind::integer, 0, 4102444800, "what the clock shows at boot, seconds since 1970"),
    member<&M::paranoid>("kernel.perf_event_paranoid", Kind::integer, -1, 3, "sysctl at boot"),
    member<&M::perf_mlock_kb>("kernel.perf_event_mlock_kb", Kind::integer, 0, 1 << 20, "sysctl at boot"),
    member<&M::perf_max_sample_rate>("kernel.perf_event_max_sample_rate", Kind::integer, 1, 10'000'000,
                                     "sysctl at boot"),
    member<&M::perf_cpu_time_max_percent>("kernel.perf_cpu_time_max_percent", Kind::integer, 0, 100,
                                          "sysctl at boot; 0 and 100 switch the limit off"),
};

struct Unit {
    sv name;
    std::int64_t scale;
};
constexpr std::array<Unit, 5> kTimeUnits{
    {{"s", 1'000'000'000'000}, {"ms", kMilli}, {"us", kMicro}, {"ns", 1000}, {"ps", 1}}};
constexpr std::array<Unit, 4> kFrequencyUnits{{{"GHz", 1'000'000'000}, {"MHz", kMHz}, {"kHz", 1000}, {"Hz", 1}}};

bool digit(char c) { return c >= '0' && c <= '9'; }

/// A decimal number and a unit, exactly; without a unit the last one.
std::optional<std::int64_t> parse_quantity(sv text, std::span<const Unit> units) {
    std::size_t i = 0;
    __int128 value = 0, divisor = 1;
    bool any = false, fraction = false;
    for (; i < text.size() && (digit(text[i]) || (text[i] == '.' && !fraction)); ++i) {
        if (text[i] == '.') {
            fraction = true;
            continue;
        }
        any = true;
        value = value * 10 + (text[i] - '0');
        if (fraction) divisor *= 10;
        if (value > static_cast<__int128>(kMaxInt) || divisor > static_cast<__int128>(kMaxInt)) return std::nullopt;
    }
    if (!any) return std::nullopt;
    while (i < text.size() && text[i] == ' ') ++i;
    const sv rest = text.substr(i);
    std::int64_t scale = units.back().scale;
    if (!rest.empty()) {
        const auto u = std::find_if(units.begin(), units.end(), [&](const Unit& x) { return x.name == rest; });
        if (u == units.end()) return std::nullopt;
        scale = u->scale;
    }
    value *= scale;
    if (value % divisor) return std::nullopt;
    value /= divisor;
    if (value > static_cast<__int128>(kMaxInt)) return std::nullopt;
    return static_cast<std::int64_t>(value);
}

std::string format_quantity(std::int64_t v, std::span<const Unit> units) {
    if (v == 0) return fmt::format("0{}", units.back().name);
    for (const Unit& u : units)
        if (v % u.scale == 0) return fmt::format("{}{}", v / u.scale, u.name);
    return std::to_string(v);
}

std::string list(std::span<const sv> choices) {
    std::string out;
    for (std::size_t i = 0; i < choices.size(); ++i) {
        if (i) out += i + 1 == choices.size() ? " or " : ", ";
        out += choices[i];
    }
    return out;
}

std::string bare(const ConfigKey& key, const ConfigValue& v) {
    if (const auto* b = std::get_if<bool>(&v)) return *b ? "true" : "false";
    if (const auto* s = std::get_if<std::string>(&v)) return *s;
    const std::int64_t n = std::get<std::int64_t>(v);
    if (key.kind == Kind::time) return format_time(n);
    if (key.kind == Kind::frequency) return format_frequency(n);
    return std::to_string(n);
}

std::size_t distance(sv a, sv b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t next = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
            diagonal = row[j];
            row[j] = next;
        }
    }
    return row.back();
}

} // namespace

std::uint64_t default_hertz(CoreKind kind) { return kind == CoreKind::cortex_a55 ? 1'800'000'000 : 2'400'000'000; }
unsigned default_capacity(CoreKind kind) {
    // capacity-dmips-mhz 530 and 1024, times the clocks.
    return kind == CoreKind::cortex_a55 ? 530 * 1800 / 2400 : 1024;
}

unsigned default_exception_entry(CoreKind kind) {
    return (kind == CoreKind::cortex_a55 ? cpu_a55::tables() : cpu_a76::tables()).costs.exception_entry;
}

ConfigDraft ConfigDraft::rk3588() {
    ConfigDraft d;
    d.clusters = {{CoreKind::cortex_a55, 4, {}, {}, {}}, {CoreKind::cortex_a76, 4, {}, {}, {}}};
    return d;
}

MachineConfig ConfigDraft::expand() const {
    MachineConfig m = machine;
    m.cpus.clear();
    for (const ClusterConfig& c : clusters)
        for (unsigned i = 0; i < c.cpus; ++i)
            m.cpus.push_back({c.core, c.hertz.value_or(default_hertz(c.core)),
                              c.capacity.value_or(default_capacity(c.core)),
                              c.exception_entry.value_or(default_exception_entry(c.core))});
    // Frequency domains of the RK3588: the small cores together, the big ones in pairs.
    for (const auto& [cpu, hertz] : cpu_hertz)
        for (std::size_t i = 0; cpu < m.cpus.size() && i < m.cpus.size(); ++i)
            if (m.cpus[i].kind == m.cpus[cpu].kind && (m.cpus[i].kind == CoreKind::cortex_a55 || i / 2 == cpu / 2))
                m.cpus[i].hertz = hertz;
    return m;
}

std::span<const ConfigKey> config_keys() { return kKeys; }

const ConfigKey* find_config_key(sv key) {
    const auto it = std::find_if(kKeys.begin(), kKeys.end(), [&](const ConfigKey& k) { return k.key == key; });
    return it == kKeys.end() ? nullptr : &*it;
}

std::string nearest_config_key(sv key) {
    // The right name in the wrong table is a likely mistake; beyond that, a few wrong letters.
    const sv leaf = key.substr(key.rfind('.') + 1);
    sv best;
    std::size_t best_distance = std::max<std::size_t>(2, key.size() / 3) + 1;
    for (const ConfigKey& k : kKeys) {
        const sv its_leaf = k.key.substr(k.key.rfind('.') + 1);
        const std::size_t d = its_leaf == leaf ? 1 : distance(key, k.key);
        if (d < best_distance) best = k.key, best_distance = d;
    }
    return std::string(best);
}

std::optional<std::int64_t> parse_time(sv text) { return parse_quantity(text, kTimeUnits); }
std::optional<std::int64_t> parse_frequency(sv text) { return parse_quantity(text, kFrequencyUnits); }
std::string format_time(std::int64_t ps) { return format_quantity(ps, kTimeUnits); }
std::string format_frequency(std::int64_t hertz) { return format_quantity(hertz, kFrequencyUnits); }

std::string format_config_value(const ConfigKey& key, const ConfigValue& v) {
    const std::string text = bare(key, v);
    if (key.kind == Kind::integer || key.kind == Kind::boolean) return text;
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        if (static_cast<unsigned char>(c) < 0x20)
            out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        else
            out += c;
    }
    return out + "\"";
}

std::string check_config_value(const ConfigKey& key, const ConfigValue& v) {
    const std::string text = bare(key, v);
    if (!key.choices.empty()) {
        if (std::find(key.choices.begin(), key.choices.end(), text) != key.choices.end()) return {};
        return fmt::format("must be {}, not {}", list(key.choices), text);
    }
    if (key.kind == Kind::boolean) return {};
    if (key.kind == Kind::node_lists && !text.empty() && !parse_node_lists(text))
        return fmt::format("must be lists of numbers such as 260,261;264, not {}", text);
    const bool letters = key.kind == Kind::text || key.kind == Kind::node_lists;
    const std::int64_t n = letters ? number(text.size()) : std::get<std::int64_t>(v);
    if (n >= key.least && n <= key.most) return {};
    if (letters) return fmt::format("must have {} to {} letters, not {}", key.least, key.most, n);
    if (key.most == kMaxInt) return fmt::format("must be at least {}, not {}", bare(key, key.least), text);
    return fmt::format("must be between {} and {}, not {}", bare(key, key.least), bare(key, key.most), text);
}

std::string parse_config_value(const ConfigKey& key, sv text, ConfigValue& out) {
    switch (key.kind) {
        case Kind::text:
        case Kind::node_lists:
        case Kind::choice: out = std::string(text); return {};
        case Kind::boolean:
            if (text != "true" && text != "false") return fmt::format("must be true or false, not {}", text);
            out = text == "true";
            return {};
        case Kind::time:
            if (const auto v = parse_time(text)) return out = *v, std::string();
            return fmt::format("must be a time such as 10us, 250ns or 1.5ms, not {}", text);
        case Kind::frequency:
            if (const auto v = parse_frequency(text)) return out = *v, std::string();
            return fmt::format("must be a frequency such as 1.8GHz or 408MHz, not {}", text);
        case Kind::integer: break;
    }
    const bool negative = text.starts_with('-');
    const auto v = parse_quantity(text.substr(negative), std::span<const Unit>(kTimeUnits).last(1));
    if (!v || !digit(text.back())) return fmt::format("must be a whole number, not {}", text);
    out = negative ? -*v : *v;
    return {};
}

} // namespace rkperf::soc
