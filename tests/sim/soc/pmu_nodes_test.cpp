// SPDX-License-Identifier: Apache-2.0
// PMU nodes from the keys of the machine description.
#include "sim/soc/pmu_nodes.h"
#include "sim/soc/config_load.h"

#include <catch2/catch.hpp>

using namespace rkperf;
using namespace rkperf::soc;

namespace {
using Lists = std::vector<std::vector<int>>;
std::vector<ke::PmuNode> nodes(const std::vector<ConfigOverride>& sets) {
    const LoadedConfig c = load_config("", "", sets);
    REQUIRE(c.faults.empty());
    return pmu_nodes(c.config);
}
} // namespace

TEST_CASE("lists for PMU nodes") {
    CHECK(parse_node_lists("260") == Lists{{260}});
    CHECK(parse_node_lists("260,261;264,?") == Lists{{260, 261}, {264, -1}});
    for (const char* bad : {"", ",", "1,", ";1", "a", "1 2", "-1", "512", "1;;2"}) CHECK_FALSE(parse_node_lists(bad));
}

TEST_CASE("PMU nodes: shapes and interrupts", "[ARMPMU-038]") {
    auto n = nodes({});
    REQUIRE(n.size() == 1);
    CHECK(n[0].name == "armv8_pmuv3");
    CHECK(n[0].partition == 0xff);
    CHECK(n[0].interrupts == std::vector<unsigned>{23});
    CHECK_FALSE(n[0].interrupt_affinity);
    n = nodes({{"--set", "pmu.intid", "0"}});
    CHECK(n[0].interrupts.empty());
    n = nodes({{"--set", "pmu.shape", "mainline"},
               {"--set", "pmu.interrupts", "260,261;264"},
               {"--set", "pmu.interrupt_affinity", "0,1;?"}});
    REQUIRE(n.size() == 2);
    CHECK(n[0].interrupts == std::vector<unsigned>{260, 261});
    CHECK(*n[0].interrupt_affinity == std::vector<int>{0, 1});
    CHECK(n[1].partition == 0xf0);
    CHECK(n[1].probe_cpu == 4);
    CHECK(n[1].interrupts == std::vector<unsigned>{264});
    CHECK(*n[1].interrupt_affinity == std::vector<int>{ke::PmuNode::kBadPhandle});
    // The last list is for all further nodes; nodes that are not there have none.
    n = nodes({{"--set", "pmu.shape", "mainline"}, {"--set", "pmu.interrupts", "22"}});
    CHECK(n[1].interrupts == std::vector<unsigned>{22});
    n = nodes({{"--set", "pmu.shape", "a76"}, {"--set", "pmu.interrupts", "22;23"}});
    REQUIRE(n.size() == 1);
    CHECK(n[0].interrupts == std::vector<unsigned>{22});
    CHECK(nodes({{"--set", "pmu.shape", "none"}}).empty());
}

TEST_CASE("PMU interrupts that a machine cannot have are faults") {
    const auto fault = [](const char* key, const char* value) {
        return load_config("", "", {{"--set", key, value}}).faults.at(0);
    };
    CHECK(fault("pmu.interrupts", "260,x").find("must be lists of numbers such as 260,261;264, not 260,x") !=
          std::string::npos);
    CHECK(fault("pmu.spi", "20") == "pmu.spi must be 0 or at least 32, the first shared interrupt, not 20");
    CHECK(load_config("", "", {{"--set", "pmu.spi", "505"}}).faults.size() == 1);
    CHECK(load_config("[pmu]\ninterrupts = 23\n", "m.toml", {}).faults.size() == 1);
}
