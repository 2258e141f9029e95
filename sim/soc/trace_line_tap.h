// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/wires.h"

#include <functional>

namespace rkperf::soc {

/// A wire that can be watched: passes levels on and tells a listener first.
class LineTap final : public LevelSink {
  public:
    explicit LineTap(LevelSink& to) : to_(to) {}
    void set_level(bool level, Picoseconds when) override {
        if (listener) listener(level, when);
        to_.set_level(level, when);
    }
    /// (level, from when on); empty: nobody listens.
    std::function<void(bool, Picoseconds)> listener;

  private:
    LevelSink& to_;
};

} // namespace rkperf::soc
