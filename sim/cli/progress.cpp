// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>

namespace rkperf::cli {

namespace {
constexpr auto kInterval = std::chrono::milliseconds(200);
}

std::string grouped(std::uint64_t v) {
    const std::string digits = std::to_string(v);
    std::string s;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        if (i && (digits.size() - i) % 3 == 0) s.push_back(',');
        s.push_back(digits[i]);
    }
    return s;
}

std::string human_time(Picoseconds t) {
    struct Unit {
        std::uint64_t scale;
        const char* name;
    };
    static constexpr std::array<Unit, 3> kUnits{{{1'000'000'000'000, "s"}, {1'000'000'000, "ms"}, {1'000'000, "us"}}};
    for (const Unit& u : kUnits)
        if (t.v >= u.scale) return fmt::format("{}.{:03} {}", t.v / u.scale, t.v % u.scale / (u.scale / 1000), u.name);
    return fmt::format("{}.{:03} ns", t.v / 1000, t.v % 1000);
}

Progress::Progress(bool show) : show_(show), start_(Clock::now()), last_(start_) {}

Progress::~Progress() { clear(); }

double Progress::seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

void Progress::update(const soc::RunResult& r) {
    if (!show_ || Clock::now() - last_ < kInterval) return;
    last_ = Clock::now();
    shown_ = true;
    std::fprintf(stderr, "\r\033[K%s", summary(r).c_str());
    std::fflush(stderr);
}

void Progress::clear() {
    if (!shown_) return;
    shown_ = false;
    std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
}

std::string Progress::summary(const soc::RunResult& r) const {
    const std::uint64_t all = r.user_instructions + r.kernel_instructions;
    return fmt::format("{} instructions (user {}, kernel {}), {} simulated, {:.1f} MIPS", grouped(all),
                       grouped(r.user_instructions), grouped(r.kernel_instructions), human_time(r.time),
                       static_cast<double>(all) / 1e6 / std::max(seconds(), 1e-6));
}

} // namespace rkperf::cli
