// SPDX-License-Identifier: Apache-2.0
#include "sim/soc/config_load.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>

using namespace rkperf;
using namespace rkperf::soc;

namespace {

LoadedConfig load(const std::string& toml, const std::vector<ConfigOverride>& sets = {}) {
    return load_config(toml, "m.toml", sets);
}

std::vector<std::string> faults(const std::string& toml) { return load(toml).faults; }

bool same(const MachineConfig& a, const MachineConfig& b) {
    if (a.cpus.size() != b.cpus.size()) return false;
    for (std::size_t i = 0; i < a.cpus.size(); ++i)
        if (a.cpus[i].kind != b.cpus[i].kind || a.cpus[i].hertz != b.cpus[i].hertz ||
            a.cpus[i].capacity != b.cpus[i].capacity)
            return false;
    return a.name == b.name && a.dram_mib == b.dram_mib && a.dram == b.dram && a.dsu_hertz == b.dsu_hertz &&
           a.quantum == b.quantum && a.simple_cores == b.simple_cores && a.gic_ppi_delay_ps == b.gic_ppi_delay_ps &&
           a.gic_sgi_delay_ps == b.gic_sgi_delay_ps && a.gic_spi_delay_ps == b.gic_spi_delay_ps && a.pmu == b.pmu &&
           a.hz == b.hz && a.paranoid == b.paranoid && a.perf_mlock_kb == b.perf_mlock_kb &&
           a.perf_max_sample_rate == b.perf_max_sample_rate &&
           a.perf_cpu_time_max_percent == b.perf_cpu_time_max_percent && a.hostname == b.hostname && a.seed == b.seed;
}

} // namespace

TEST_CASE("without a description the machine is the RK3588") {
    const LoadedConfig c = load_config_file("", {});
    REQUIRE(c.faults.empty());
    CHECK(same(c.config, MachineConfig::rk3588()));
    REQUIRE(c.config.cpus.size() == 8);
    CHECK(c.config.cpus[3].kind == CoreKind::cortex_a55);
    CHECK(c.config.cpus[3].hertz == 1'800'000'000);
    CHECK(c.config.cpus[4].kind == CoreKind::cortex_a76);
    CHECK(c.config.cpus[4].capacity == 1024);
}

TEST_CASE("the machines that come with rkperf load without a fault") {
    const std::string folder = std::string(RK_SOURCE_DIR) + "/machines/";
    const LoadedConfig vendor = load_config_file(folder + "rk3588.toml", {});
    REQUIRE(vendor.faults.empty());
    CHECK(same(vendor.config, MachineConfig::rk3588()));
    const LoadedConfig mainline = load_config_file(folder + "rk3588-mainline.toml", {});
    REQUIRE(mainline.faults.empty());
    CHECK(mainline.config.pmu == PmuShape::mainline);
    CHECK(mainline.config.cpus.size() == 8);
    const LoadedConfig qemu = load_config_file(folder + "qemu-like.toml", {});
    REQUIRE(qemu.faults.empty());
    CHECK(qemu.config.simple_cores);
    CHECK(qemu.config.hz == 250);
    CHECK(qemu.config.cpus.size() == 4);
}

TEST_CASE("all faults of a file are listed, with their lines and the valid choices") {
    const auto f = faults(
        "name = \"x\"\n"
        "sed = 3\n"
        "[kernel]\n"
        "hz = 99\n"
        "hostnam = \"a\"\n"
        "[memory]\n"
        "dram = \"ddr5\"\n"
        "dram_mib = \"big\"\n"
        "[sim]\n"
        "quantum = \"10 parsecs\"\n"
        "simple_cores = 1\n"
        "[pmuu]\n"
        "shape = \"vendor\"\n");
    REQUIRE(f.size() == 8);
    CHECK(f[0] == "m.toml:2: sed is not a key of a machine description; did you mean seed?");
    CHECK(f[1] == "m.toml:4: kernel.hz must be 100, 250, 300 or 1000, not 99");
    CHECK(f[2] == "m.toml:5: kernel.hostnam is not a key of a machine description; did you mean kernel.hostname?");
    CHECK(f[3] == "m.toml:7: memory.dram must be lpddr4x-2112, lpddr5-2736 or lpddr5-2400, not ddr5");
    CHECK_THAT(f[4], Catch::StartsWith("m.toml:8: memory.dram_mib must be a whole number"));
    CHECK_THAT(f[5], Catch::StartsWith("m.toml:10: sim.quantum must be a time such as 10us"));
    CHECK_THAT(f[6], Catch::StartsWith("m.toml:11: sim.simple_cores must be true or false"));
    CHECK_THAT(f[7], Catch::StartsWith("m.toml:12: pmuu is not a table"));
}

TEST_CASE("a file that is no TOML says where") {
    const auto f = faults("name = \"x\"\nseed = = 3\n");
    REQUIRE(f.size() == 1);
    CHECK_THAT(f[0], Catch::StartsWith("m.toml:2:"));
}

TEST_CASE("clusters replace the default ones and take the kind's own clock") {
    const LoadedConfig c = load(
        "[[cluster]]\ncore = \"cortex-a76\"\ncpus = 2\n"
        "[[cluster]]\ncore = \"cortex-a55\"\ncpus = 1\nhertz = \"408MHz\"\n");
    REQUIRE(c.faults.empty());
    REQUIRE(c.config.cpus.size() == 3);
    CHECK(c.config.cpus[1].hertz == 2'400'000'000);
    CHECK(c.config.cpus[2].kind == CoreKind::cortex_a55);
    CHECK(c.config.cpus[2].hertz == 408'000'000);
    CHECK(c.config.cpus[2].capacity == default_capacity(CoreKind::cortex_a55));
}

TEST_CASE("clusters that make no machine are refused") {
    CHECK_THAT(faults("[[cluster]]\ncpus = 2\n").at(0), Catch::Contains("does not say 'core'"));
    CHECK_THAT(faults("[[cluster]]\ncore = \"cortex-a76\"\ncpus = 0\n").at(0), Catch::Contains("have 0 CPUs"));
    CHECK_THAT(
        faults("[[cluster]]\ncore = \"cortex-a76\"\ncpus = 8\n[[cluster]]\ncore = \"cortex-a55\"\ncpus = 1\n").at(0),
        Catch::Contains("9 CPUs"));
    CHECK_THAT(faults("[cluster]\ncore = \"cortex-a76\"\n").at(0), Catch::Contains("[[cluster]]"));
    CHECK_THAT(faults("[[cluster]]\ncore = \"cortex-a72\"\ncpus = 1\n").at(0),
               Catch::Contains("m.toml:2: cluster.0.core must be cortex-a55 or cortex-a76, not cortex-a72"));
}

TEST_CASE("settings of the command line are checked like those of a file and win over them") {
    const LoadedConfig c =
        load("seed = 5\n[kernel]\nhz = 250\n",
             {{"--set", "kernel.hz", "1000"}, {"--set", "cluster.1.hertz", "1.2GHz"}, {"--seed", "seed", "7"}});
    REQUIRE(c.faults.empty());
    CHECK(c.config.hz == 1000);
    CHECK(c.config.seed == 7);
    CHECK(c.config.cpus[4].hertz == 1'200'000'000);
    CHECK(c.config.cpus[0].hertz == 1'800'000'000);
    CHECK(c.origins.at("kernel.hz") == "--set");
    CHECK(c.origins.at("seed") == "--seed");

    const LoadedConfig bad = load("", {{"--set", "kernel.hz", "7"},
                                       {"--set", "kernel.herz", "7"},
                                       {"--set", "cluster.2.hertz", "1GHz"},
                                       {"--quantum", "sim.quantum", "1s"},
                                       {"--seed", "seed", "-1"},
                                       {"--seed", "seed", "1.5"}});
    REQUIRE(bad.faults.size() == 6);
    CHECK_THAT(bad.faults[0], Catch::Contains("--set kernel.hz=7: kernel.hz must be 100, 250, 300 or 1000, not 7"));
    CHECK_THAT(bad.faults[1], Catch::Contains("did you mean kernel.hz?"));
    CHECK_THAT(bad.faults[2], Catch::Contains("names no cluster"));
    CHECK_THAT(bad.faults[3], Catch::Contains("--quantum 1s: sim.quantum must be between 1ns and 1ms, not 1s"));
    CHECK_THAT(bad.faults[4], Catch::Contains("at least 0"));
    CHECK_THAT(bad.faults[5], Catch::Contains("whole number"));
}

TEST_CASE("a warm-up needs something that is timed behind it, wherever the two are set") {
    const LoadedConfig bad = load("[sim]\ntiming = \"none\"\n", {{"--warm-up", "sim.warm_up", "10"}});
    REQUIRE(bad.faults.size() == 1);
    CHECK_THAT(bad.faults[0],
               Catch::Contains("sim.warm_up (--warm-up) 10 does not go with sim.timing (--timing) none"));
    CHECK(load("[sim]\ntiming = \"none\"\n", {{"--warm-up", "sim.warm_up", "00"}}).faults.empty());
    CHECK(load("[sim]\ntiming = \"regions\"\n", {{"--warm-up", "sim.warm_up", "10"}}).faults.empty());
}

TEST_CASE("what is printed is a description that gives the same machine") {
    const LoadedConfig c = load("name = \"a \\\"b\\\"\"\n[sim]\nquantum = \"1500ns\"\n[pmu]\nshape = \"mainline\"\n",
                                {{"--set", "cluster.0.cpus", "2"}});
    REQUIRE(c.faults.empty());
    const std::string text = print_config(c);
    CHECK_THAT(text, Catch::Contains("m.toml:3"));
    CHECK_THAT(text, Catch::Contains("# --set"));
    const LoadedConfig again = load(text);
    REQUIRE(again.faults.empty());
    CHECK(same(c.config, again.config));
    CHECK(print_config(again) != text); // every origin is the file now
}

TEST_CASE("every key has a meaning, a value within its bounds, and a name of its own") {
    const ConfigDraft d = ConfigDraft::rk3588();
    for (const ConfigKey& k : config_keys()) {
        CAPTURE(k.key);
        CHECK_FALSE(k.doc.empty());
        CHECK(check_config_value(k, k.get(d, 0)).empty());
        CHECK(std::count_if(config_keys().begin(), config_keys().end(),
                            [&](const ConfigKey& o) { return o.key == k.key; }) == 1);
        // Setting what was read changes nothing, and the text of a value gives the value.
        ConfigDraft copy = d;
        k.set(copy, 0, k.get(d, 0));
        CHECK(k.get(copy, 0) == k.get(d, 0));
        std::string text = format_config_value(k, k.get(d, 0));
        if (text.front() == '"') text = text.substr(1, text.size() - 2);
        ConfigValue v;
        CHECK(parse_config_value(k, text, v).empty());
        CHECK(v == k.get(d, 0));
    }
}

TEST_CASE("times and frequencies are exact") {
    CHECK(parse_time("10us") == 10'000'000);
    CHECK(parse_time("1.5 ms") == 1'500'000'000);
    CHECK(parse_time("250") == 250);
    CHECK(parse_time("0.001ns") == 1);
    CHECK_FALSE(parse_time("0.0001ns"));
    CHECK_FALSE(parse_time("10 minutes"));
    CHECK_FALSE(parse_time(""));
    CHECK_FALSE(parse_time("."));
    CHECK_FALSE(parse_time("99999999999999999999s"));
    CHECK(parse_frequency("1.8GHz") == 1'800'000'000);
    CHECK(parse_frequency("2256MHz") == 2'256'000'000);
    CHECK(format_time(10'000'000) == "10us");
    CHECK(format_time(1'234) == "1234ps");
    CHECK(format_frequency(1'800'000'000) == "1800MHz");
}

TEST_CASE("a file that cannot be read is a fault") {
    CHECK_THAT(load_config_file("/nonexistent/m.toml", {}).faults.at(0), Catch::Contains("No such file"));
    CHECK_THAT(load_config_file("/", {}).faults.at(0), Catch::Contains("folder"));
}
