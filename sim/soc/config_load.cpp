// SPDX-License-Identifier: Apache-2.0
#include "sim/soc/config_load.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <sys/stat.h>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>

namespace rkperf::soc {

namespace {

constexpr unsigned kMaxCpus = 8;
constexpr std::string_view kClusterPrefix = "cluster.";

std::string describe(const toml::node& n) {
    std::ostringstream out;
    if (n.is_table()) return "a table";
    if (n.is_array()) return "an array";
    n.visit([&](const auto& v) {
        if constexpr (!toml::is_table<decltype(v)> && !toml::is_array<decltype(v)>) out << toml::node_view(v);
    });
    return out.str();
}

class Loader {
  public:
    Loader(LoadedConfig& out, std::string_view file) : out_(out), file_(file) {}

    void read(std::string_view text) {
        try {
            const toml::table root = toml::parse(text, file_);
            walk(root, "");
        } catch (const toml::parse_error& e) {
            const auto at = e.source().begin;
            out_.faults.push_back(fmt::format("{}:{}:{}: {}", file_, at.line, at.column, e.description()));
        }
    }

    void override_with(const ConfigOverride& o) {
        const std::string where =
            o.option == "--set" ? fmt::format("--set {}={}", o.key, o.value) : fmt::format("{} {}", o.option, o.value);
        std::size_t cluster = 0;
        std::string reason;
        const ConfigKey* key = find(o.key, cluster, reason);
        ConfigValue v;
        if (key) reason = parse_config_value(*key, o.value, v);
        if (key && reason.empty()) reason = check_config_value(*key, v);
        if (!reason.empty()) {
            out_.faults.push_back(fmt::format("{}: {} {}", where, o.key, reason));
            return;
        }
        key->set(out_.draft, cluster, v);
        out_.origins[o.key] = o.option;
    }

    void check_whole() {
        unsigned cpus = 0;
        for (const ClusterConfig& c : out_.draft.clusters) cpus += c.cpus;
        if (cpus < 1 || cpus > kMaxCpus)
            out_.faults.push_back(fmt::format("{}the clusters have {} CPUs together; a machine has 1 to {}",
                                              file_.empty() ? "" : file_ + ": ", cpus, kMaxCpus));
        const unsigned spi = out_.draft.machine.pmu_spi;
        if (spi && spi < 32)
            out_.faults.push_back(fmt::format("{}pmu.spi must be 0 or at least 32, the first shared interrupt, not {}",
                                              file_.empty() ? "" : file_ + ": ", spi));
        const soc::MachineConfig& m = out_.draft.machine;
        if (m.warm_up && m.timing == cpu::TimingPolicy::none)
            out_.faults.push_back(
                fmt::format("{}sim.warm_up (--warm-up) {} does not go with sim.timing (--timing) none, which "
                            "times nothing behind it",
                            file_.empty() ? "" : file_ + ": ", m.warm_up));
    }

  private:
    void fault(const toml::source_region& at, std::string_view key, std::string_view reason) {
        out_.faults.push_back(fmt::format("{}:{}: {} {}", file_, at.begin.line, key, reason));
    }

    /// The schema's row of a key as the user writes it; otherwise the reason why there is none.
    const ConfigKey* find(std::string_view key, std::size_t& cluster, std::string& reason) {
        if (key.starts_with(kClusterPrefix)) {
            const std::string_view rest = key.substr(kClusterPrefix.size());
            const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), cluster);
            if (error == std::errc() && end != rest.data() + rest.size() && *end == '.') {
                if (cluster >= out_.draft.clusters.size()) {
                    reason = fmt::format("names no cluster of this machine, which has {}", out_.draft.clusters.size());
                    return nullptr;
                }
                const std::string schema_name =
                    "cluster" + std::string(rest.substr(static_cast<std::size_t>(end - rest.data())));
                if (const ConfigKey* k = find_config_key(schema_name)) return k;
                reason = unknown(schema_name, cluster);
                return nullptr;
            }
            reason = fmt::format("needs the number of a cluster, for instance cluster.0.hertz");
            return nullptr;
        }
        if (key.starts_with("cpu") && key.size() > 4 && key[3] >= '0' && key[3] <= '9') {
            const auto [end, error] = std::from_chars(key.data() + 3, key.data() + key.size(), cluster);
            const std::string schema_name = "cpu" + std::string(key.substr(static_cast<std::size_t>(end - key.data())));
            const ConfigKey* const k = error == std::errc() ? find_config_key(schema_name) : nullptr;
            if (!k) {
                reason = "is not a key of a machine description; did you mean cpu" + std::string(1, key[3]) + ".freq?";
                return nullptr;
            }
            const std::size_t cpus = cpus_of_draft();
            if (cluster < cpus) return k;
            reason = fmt::format("names no CPU of this machine, which has {}", cpus);
            return nullptr;
        }
        if (const ConfigKey* k = find_config_key(key); k && !k->of_cpu()) return k;
        reason = unknown(key, 0);
        return nullptr;
    }

    std::size_t cpus_of_draft() const {
        std::size_t n = 0;
        for (const ClusterConfig& c : out_.draft.clusters) n += c.cpus;
        return n;
    }

    static std::string unknown(std::string_view schema_name, std::size_t cluster) {
        std::string near = nearest_config_key(schema_name);
        if (near.empty()) return "is not a key of a machine description; 'rkperf machine' shows them all";
        if (near.starts_with(kClusterPrefix))
            near = fmt::format("cluster.{}.{}", cluster, near.substr(kClusterPrefix.size()));
        return fmt::format("is not a key of a machine description; did you mean {}?", near);
    }

    void walk(const toml::table& table, const std::string& prefix) {
        // In the order of the file: faults are listed as a reader meets them.
        std::vector<std::pair<const toml::key*, const toml::node*>> nodes;
        for (const auto& [k, v] : table) nodes.emplace_back(&k, &v);
        std::sort(nodes.begin(), nodes.end(), [](const auto& a, const auto& b) {
            return std::pair(a.first->source().begin.line, a.first->source().begin.column) <
                   std::pair(b.first->source().begin.line, b.first->source().begin.column);
        });
        for (const auto& [k, v] : nodes) {
            const std::string key = prefix + std::string(k->str());
            if (key == "cluster")
                clusters(*v);
            else if (const toml::table* t = v->as_table())
                section(*t, key, k->source());
            else
                leaf(key, k->source(), *v);
        }
    }

    void section(const toml::table& t, const std::string& name, const toml::source_region& at) {
        for (const ConfigKey& k : config_keys())
            if (k.key.starts_with(name + ".")) return walk(t, name + ".");
        if (name.size() > 3 && name.starts_with("cpu") && name[3] >= '0' && name[3] <= '9') return walk(t, name + ".");
        if (find_config_key(name))
            fault(at, name, "is a value, not a table");
        else
            fault(at, name,
                  "is not a table of a machine description; there are memory, sim, gic, quirks, pmu, kernel and "
                  "[[cluster]]");
    }

    void clusters(const toml::node& node) {
        const toml::array* a = node.as_array();
        if (!a || a->empty() || !a->is_homogeneous(toml::node_type::table)) {
            fault(node.source(), "cluster", "must be written as tables [[cluster]], one for each kind of core");
            return;
        }
        out_.draft.clusters.assign(a->size(), ClusterConfig{});
        for (std::size_t i = 0; i < a->size(); ++i) {
            const toml::table& t = *(*a)[i].as_table();
            walk(t, fmt::format("cluster.{}.", i));
            for (const char* needed : {"core", "cpus"})
                if (!t.contains(needed))
                    fault(t.source(), fmt::format("cluster.{}", i), fmt::format("does not say '{}'", needed));
        }
    }

    void leaf(const std::string& name, const toml::source_region& at, const toml::node& node) {
        std::size_t cluster = 0;
        std::string reason;
        const ConfigKey* key = find(name, cluster, reason);
        if (!key) return fault(at, name, reason);
        ConfigValue v;
        reason = convert(*key, node, v);
        if (reason.empty()) reason = check_config_value(*key, v);
        if (!reason.empty()) return fault(at, name, reason);
        key->set(out_.draft, cluster, v);
        out_.origins[name] = fmt::format("{}:{}", file_, at.begin.line);
    }

    static std::string convert(const ConfigKey& key, const toml::node& node, ConfigValue& v) {
        if (const auto* s = node.as_string()) {
            const bool words =
                key.kind == ConfigKind::text || key.kind == ConfigKind::choice || key.kind == ConfigKind::node_lists;
            const bool quantity = key.kind == ConfigKind::time || key.kind == ConfigKind::frequency;
            if (words || quantity) return parse_config_value(key, s->get(), v);
        }
        if (const auto* b = node.as_boolean(); b && key.kind == ConfigKind::boolean) return v = b->get(), std::string();
        const bool takes_numbers =
            key.kind == ConfigKind::integer || key.kind == ConfigKind::time || key.kind == ConfigKind::frequency;
        if (const auto* n = node.as_integer(); n && takes_numbers) return v = n->get(), std::string();
        switch (key.kind) {
            case ConfigKind::node_lists:
            case ConfigKind::text: return fmt::format("must be a text in quotes, not {}", describe(node));
            case ConfigKind::choice:
                // The choices are named by check_config_value.
                v = describe(node);
                return {};
            case ConfigKind::boolean: return fmt::format("must be true or false, not {}", describe(node));
            case ConfigKind::integer: return fmt::format("must be a whole number, not {}", describe(node));
            case ConfigKind::time: return fmt::format("must be a time such as \"10us\", not {}", describe(node));
            case ConfigKind::frequency:
                return fmt::format("must be a frequency such as \"1.8GHz\", not {}", describe(node));
        }
        return {};
    }

    LoadedConfig& out_;
    std::string file_;
};

} // namespace

LoadedConfig load_config(std::string_view toml, std::string_view file, const std::vector<ConfigOverride>& overrides) {
    LoadedConfig out;
    out.draft = ConfigDraft::rk3588();
    Loader loader(out, file);
    loader.read(toml);
    for (const ConfigOverride& o : overrides) loader.override_with(o);
    if (out.faults.empty()) loader.check_whole();
    out.config = out.draft.expand();
    return out;
}

LoadedConfig load_config_file(const std::string& path, const std::vector<ConfigOverride>& overrides) {
    if (path.empty()) return load_config("", "", overrides);
    const auto refuse = [&](const char* reason) {
        LoadedConfig out;
        out.faults.push_back(fmt::format("{}: cannot read the machine description: {}", path, reason));
        return out;
    };
    struct stat st {};
    if (::stat(path.c_str(), &st)) return refuse(std::strerror(errno));
    if (!S_ISREG(st.st_mode)) return refuse(S_ISDIR(st.st_mode) ? "it is a folder" : "it is not a regular file");
    std::ifstream in(path, std::ios::binary);
    if (!in) return refuse(std::strerror(errno));
    std::ostringstream text;
    text << in.rdbuf();
    return load_config(text.str(), path, overrides);
}

std::string print_config(const LoadedConfig& c) {
    std::string out, clusters;
    const auto line = [&](std::string& to, const ConfigKey& k, std::string_view shown, const std::string& full,
                          std::size_t cluster) {
        const auto origin = c.origins.find(full);
        const std::string setting = fmt::format("{} = {}", shown, format_config_value(k, k.get(c.draft, cluster)));
        const std::string from = origin == c.origins.end() ? "default" : origin->second;
        to += fmt::format("{:<42} # {}: {}\n", setting, from, k.doc);
    };
    for (const ConfigKey& k : config_keys())
        if (!k.of_cluster() && !k.of_cpu()) line(out, k, k.key, std::string(k.key), 0);
    for (const auto& [cpu, hertz] : c.draft.cpu_hertz) {
        const std::string key = fmt::format("cpu{}.freq", cpu);
        line(out, *find_config_key("cpu.freq"), key, key, cpu);
    }
    for (std::size_t i = 0; i < c.draft.clusters.size(); ++i) {
        out += "\n[[cluster]]\n";
        for (const ConfigKey& k : config_keys())
            if (k.of_cluster()) {
                const std::string_view field = k.key.substr(kClusterPrefix.size());
                line(out, k, field, fmt::format("cluster.{}.{}", i, field), i);
            }
    }
    return out;
}

} // namespace rkperf::soc
