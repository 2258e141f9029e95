// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/signals.h"

#include <unistd.h>
#include <csignal>

namespace rkperf::cli {

namespace {

// A signal handler can reach nothing but this.
volatile std::sig_atomic_t interrupts = 0;

void on_signal(int signo) {
    interrupts = interrupts + 1;
    if (interrupts >= 3) _exit(128 + signo);
}

} // namespace

InterruptWatch::InterruptWatch() {
    interrupts = 0;
    struct sigaction action {};
    action.sa_handler = on_signal;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    // That nobody reads the output any more is for the guest to hear, as EPIPE and SIGPIPE of its own.
    std::signal(SIGPIPE, SIG_IGN);
}

InterruptWatch::~InterruptWatch() {
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
    std::signal(SIGPIPE, SIG_DFL);
}

int InterruptWatch::count() const { return interrupts; }

} // namespace rkperf::cli
