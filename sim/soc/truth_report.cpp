// SPDX-License-Identifier: Apache-2.0
// The table that stands at the end of stat and record: perf's figures beside the truth.
#include "sim/soc/truth_observer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rkperf::soc {

namespace {

std::string grouped(std::uint64_t v) {
    std::string s = std::to_string(v);
    for (std::size_t at = s.size(); at > 3;) s.insert(at -= 3, ",");
    return s;
}

/// perf's figure relative to the truth, in thousandths of a percent, by integers alone.
std::string error_of(std::uint64_t figure, std::uint64_t truth) {
    if (figure == truth) return "exact";
    if (!truth) return "-";
    const bool low = figure < truth;
    const auto difference = static_cast<unsigned __int128>(low ? truth - figure : figure - truth);
    const auto thousandths = static_cast<std::uint64_t>((difference * 100'000 + truth / 2) / truth);
    const char sign = low ? '-' : '+';
    return thousandths ? fmt::format("{}{}.{:03}%", sign, thousandths / 1000, thousandths % 1000)
                       : fmt::format("{}{}", sign, grouped(static_cast<std::uint64_t>(difference)));
}

using Line = std::vector<std::string>;

std::string table(const Line& head, const std::vector<Line>& lines) {
    std::vector<std::size_t> width;
    for (const std::string& h : head) width.push_back(h.size());
    for (const Line& l : lines)
        for (std::size_t i = 0; i < l.size(); ++i) width[i] = std::max(width[i], l[i].size());
    std::string out;
    const auto add = [&](const Line& l) {
        std::string text = fmt::format("  {:<{}}", l[0], width[0]);
        for (std::size_t i = 1; i < l.size(); ++i) text += fmt::format("  {:>{}}", l[i], width[i]);
        out += text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
    };
    add(head);
    for (const Line& l : lines) add(l);
    return out;
}

std::string share(const TruthRow& r) {
    if (r.running >= r.enabled || !r.enabled) return {};
    const auto tenths = static_cast<std::uint64_t>(static_cast<unsigned __int128>(r.running) * 1000 / r.enabled);
    return fmt::format("{}.{}%", tenths / 10, tenths % 10);
}

} // namespace

std::string print_truth(const std::vector<TruthRow>& rows) {
    std::vector<const TruthRow*> shown;
    for (const TruthRow& r : rows)
        if (r.enabled && !r.label.starts_with("dummy")) shown.push_back(&r);
    if (shown.empty()) return {};
    const bool sampling = std::any_of(shown.begin(), shown.end(), [](const TruthRow* r) { return r->samples; });
    const bool scaled = std::any_of(shown.begin(), shown.end(), [](const TruthRow* r) { return !share(*r).empty(); });

    Line head{"event"};
    if (sampling) head.insert(head.end(), {"samples", "lost", "sum of periods"});
    head.push_back("count");
    if (scaled) head.insert(head.end(), {"counted", "scaled"});
    head.insert(head.end(), {"truth", "error"});

    std::vector<Line> lines;
    for (const TruthRow* r : shown) {
        Line l{r->label};
        if (sampling && r->samples)
            l.insert(l.end(), {grouped(r->written), grouped(r->lost), grouped(r->period_sum)});
        else if (sampling)
            l.insert(l.end(), {"", "", ""});
        l.push_back(grouped(r->count) + (r->is_clock ? " ns" : ""));
        if (scaled) l.insert(l.end(), {share(*r), share(*r).empty() ? "" : grouped(r->scaled())});
        // What a recording says is the sum of its periods.
        const std::uint64_t figure = r->samples ? r->period_sum : r->scaled();
        if (r->hardware)
            l.insert(l.end(), {grouped(r->truth), error_of(figure, r->truth)});
        else
            l.insert(l.end(), {"", ""});
        lines.push_back(std::move(l));
    }
    std::string out =
        "rkperf: what perf says and what the cores did while the events were enabled\n" + table(head, lines);
    for (const TruthRow* r : shown)
        if (r->throttled) out += fmt::format("  {} was throttled {} times\n", r->label, r->throttled);
    for (const TruthRow* r : shown)
        if (r->resets)
            out += fmt::format("  {} was reset {} times: what it had counted until then is in both figures\n", r->label,
                               r->resets);
    return out;
}

} // namespace rkperf::soc
