// SPDX-License-Identifier: Apache-2.0
// Figures about the run on standard error: a line that changes while it runs (only on a terminal), and the last line.
// Wall-clock time appears nowhere else.
#pragma once

#include "sim/soc/machine.h"

#include <chrono>
#include <string>

namespace rkperf::cli {

class Progress {
  public:
    /// `show`: standard error is a terminal and the user wants it.
    explicit Progress(bool show);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    void update(const soc::RunResult& r);
    void clear();
    /// "12,345,678 instructions (user 12,000,000, kernel 345,678), 1.234 ms simulated, 83.1 MIPS"
    std::string summary(const soc::RunResult& r) const;

  private:
    using Clock = std::chrono::steady_clock;
    double seconds() const;
    bool show_, shown_{};
    Clock::time_point start_, last_;
};

/// With commas between groups of three digits.
std::string grouped(std::uint64_t v);
/// "1.234 ms": four significant digits in a fitting unit.
std::string human_time(Picoseconds t);

} // namespace rkperf::cli
