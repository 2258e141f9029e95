// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/signals.h"

#include <unistd.h>
#include <csignal>

namespace rkperf::cli {

namespace {

constexpr unsigned kPatience = 20; // seconds

// A signal handler can reach nothing but this.
volatile std::sig_atomic_t interrupts = 0;
volatile std::sig_atomic_t last_signal = 0;

void on_signal(int signo) {
    interrupts = interrupts + 1;
    last_signal = signo;
    if (interrupts >= 3) _exit(128 + signo);
    alarm(kPatience);
}

void on_alarm(int) {
    static constexpr char kText[] =
        "rkperf: the simulation did not react to the signal and was ended; nothing was written out\n";
    if (write(STDERR_FILENO, kText, sizeof kText - 1) < 0) _exit(1);
    _exit(128 + last_signal);
}

} // namespace

InterruptWatch::InterruptWatch() {
    interrupts = 0;
    struct sigaction action {};
    action.sa_handler = on_signal;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    action.sa_handler = on_alarm;
    sigaction(SIGALRM, &action, nullptr);
    // That nobody reads the output any more is for the guest to hear, as EPIPE and SIGPIPE of its own.
    std::signal(SIGPIPE, SIG_IGN);
}

InterruptWatch::~InterruptWatch() {
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
    alarm(0);
    std::signal(SIGALRM, SIG_DFL);
    std::signal(SIGPIPE, SIG_DFL);
}

int InterruptWatch::count() const {
    if (interrupts) alarm(0); // someone looks
    return interrupts;
}

} // namespace rkperf::cli
