// SPDX-License-Identifier: Apache-2.0
// ftrace's ring gets its size when a tracer is chosen, even nop, or an event is switched, even off.
#include "trace_guest.h"

static void sizes(const char* when) {
    char text[64], all[64];
    slurp("/buffer_size_kb", text, sizeof text);
    slurp("/per_cpu/cpu0/buffer_size_kb", all, sizeof all);
    printf("%s: %s", when, text);
    printf("  one CPU: %s", all);
}

int main(int argc, char** argv) {
    (void)argv;
    sizes("at first");
    printf("no such tracer: %d\n", put("/current_tracer", "nix"));
    sizes("after that");
    printf("an event off: %d\n", put("/events/sched/sched_switch/enable", "0"));
    printf("nop: %d\n", put("/current_tracer", "nop"));
    sizes("then");
    printf("smaller: %d\n", put("/buffer_size_kb", "700"));
    sizes("then");
    return argc > 9;
}
