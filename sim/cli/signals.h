// SPDX-License-Identifier: Apache-2.0
// Ctrl-C while the simulation runs. A process has one set of signal handlers, hence one object at a time.
#pragma once

namespace rkperf::cli {

/// Counts SIGINT and SIGTERM while it lives, and keeps SIGPIPE away. A process that has not looked at count() 20 seconds
/// after the last of them is ended, and so is any by the third.
class InterruptWatch {
  public:
    InterruptWatch();
    ~InterruptWatch();
    InterruptWatch(const InterruptWatch&) = delete;
    InterruptWatch& operator=(const InterruptWatch&) = delete;
    int count() const;
};

} // namespace rkperf::cli
