// SPDX-License-Identifier: Apache-2.0
#include "sim/soc/pmu_nodes.h"

#include "models/gic/registers.h"

#include <algorithm>
#include <charconv>

namespace rkperf::soc {

namespace {

constexpr int kLargest = static_cast<int>(gic::kIntids) - 1;

std::optional<int> parse_item(std::string_view text) {
    if (text == "?") return ke::PmuNode::kBadPhandle;
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > kLargest) return std::nullopt;
    return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const std::size_t at = text.find(separator);
        parts.push_back(text.substr(0, at));
        if (at == std::string_view::npos) return parts;
        text.remove_prefix(at + 1);
    }
}

/// Node n's list; the last one is that of all further nodes.
std::vector<int> list_of_node(std::string_view text, std::size_t n) {
    const auto lists = *parse_node_lists(text); // the schema has checked it
    return lists[std::min(n, lists.size() - 1)];
}

} // namespace

std::optional<std::vector<std::vector<int>>> parse_node_lists(std::string_view text) {
    std::vector<std::vector<int>> lists;
    for (const std::string_view list : split(text, ';')) {
        lists.emplace_back();
        for (const std::string_view item : split(list, ',')) {
            const auto value = parse_item(item);
            if (!value) return std::nullopt;
            lists.back().push_back(*value);
        }
    }
    return lists;
}

std::vector<ke::PmuNode> pmu_nodes(const MachineConfig& c) {
    ke::CpuMask all = 0, a55 = 0, a76 = 0;
    for (std::size_t i = 0; i < c.cpus.size(); ++i) {
        const ke::CpuMask bit = 1u << i;
        all |= bit;
        (c.cpus[i].kind == CoreKind::cortex_a55 ? a55 : a76) |= bit;
    }
    std::vector<ke::PmuNode> nodes;
    const auto add = [&](const char* name, ke::CpuMask cpus) {
        if (!cpus) return;
        ke::PmuNode node{name, cpus, {}, __builtin_ctz(cpus), {}};
        if (!c.pmu_interrupts.empty()) {
            for (const int intid : list_of_node(c.pmu_interrupts, nodes.size()))
                node.interrupts.push_back(static_cast<unsigned>(std::max(intid, 0)));
        } else if (c.pmu_intid) {
            node.interrupts = {c.pmu_intid};
        }
        if (!c.pmu_interrupt_affinity.empty())
            node.interrupt_affinity = list_of_node(c.pmu_interrupt_affinity, nodes.size());
        nodes.push_back(std::move(node));
    };
    switch (c.pmu) {
        case PmuShape::vendor: add("armv8_pmuv3", all); break;
        case PmuShape::mainline:
            add("armv8_cortex_a55", a55);
            add("armv8_cortex_a76", a76);
            break;
        case PmuShape::a55: add("armv8_cortex_a55", a55); break;
        case PmuShape::a76: add("armv8_cortex_a76", a76); break;
        case PmuShape::none: break;
    }
    return nodes;
}

} // namespace rkperf::soc
