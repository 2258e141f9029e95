// SPDX-License-Identifier: Apache-2.0
// Odd numbers, nothing at all, and zero bytes, written to files of tracefs: what is taken for a number, and that a write of
// nothing is not the truncation that empties a list.
#include "trace_guest.h"

#define N(a) (sizeof(a) / sizeof *(a))

static void store(const char* file, const char* text, size_t n, int flags) {
    char path[128], now[4096], shown[64] = "";
    snprintf(path, sizeof path, TRACE "%s", file);
    const int fd = open(path, O_WRONLY | flags);
    const long r = write(fd, text, n);
    const int e = errno;
    close(fd);
    for (size_t i = 0, k = 0; i < n && k + 3 < sizeof shown; i++)
        k += (size_t)sprintf(shown + k, text[i] < 33 ? "\\%o" : "%c", text[i]);
    slurp(file, now, sizeof now);
    for (char* q = now; *q; q++)
        if (*q == '\n') *q = '|';
    if (strstr(file, "log")) strcpy(now, *now ? "something" : "nothing");
    printf("%s <- %s'%s': %ld %s, now '%.50s'\n", file, flags ? "truncated, " : "", shown, r,
           r < 0 ? strerrorname_np(e) : "", now);
    fflush(stdout);
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    static const char* const numbers[] = {"/events/sched/sched_switch/enable", "/events/sched/enable", "/tracing_on"};
    static const char* const texts[] = {"1",
                                        "0",
                                        " 1",
                                        "1 ",
                                        "1\n",
                                        "1\n\n",
                                        "\n1",
                                        "+1",
                                        "-1",
                                        "+0",
                                        "01",
                                        "0x1",
                                        "00000000000000000000000000000000001",
                                        "99999999999999999999999",
                                        "18446744073709551616",
                                        "18446744073709551615",
                                        "4294967296",
                                        "4294967297",
                                        "1\t",
                                        "1x",
                                        "",
                                        "\n",
                                        " ",
                                        "2",
                                        "3",
                                        "0\n"};
    for (unsigned f = 0; f < N(numbers); f++) {
        for (unsigned t = 0; t < N(texts); t++) store(numbers[f], texts[t], strlen(texts[t]), 0);
        store(numbers[f], "1\0 1", 4, 0);
        store(numbers[f], "0", 1, 0);
    }
    put("/tracing_on", "1");
    put("/events/sched/sched_switch/filter", "prev_pid == 3");
    put("/uprobe_events", "p:tn/one /proc/self/exe:0x1000");
    put("/events/sched/sched_wakeup/enable", "1");
    put("/events/sched/sched_wakeup/filter", "nosuchfield == 1"); // something for the log
    static const char* const files[] = {"/events/sched/sched_switch/enable",
                                        "/events/sched/enable",
                                        "/tracing_on",
                                        "/events/sched/sched_switch/filter",
                                        "/set_event",
                                        "/set_event_pid",
                                        "/set_event_notrace_pid",
                                        "/error_log",
                                        "/current_tracer",
                                        "/trace_clock",
                                        "/buffer_size_kb",
                                        "/events/sched/sched_switch/trigger",
                                        "/kprobe_events",
                                        "/uprobe_events",
                                        "/dynamic_events"};
    for (unsigned f = 0; f < N(files); f++)
        for (int flags = 0; flags <= O_TRUNC; flags += O_TRUNC) {
            store(files[f], "", 0, flags);
            store(files[f], "\n", 1, flags);
            store(files[f], " ", 1, flags);
            store(files[f], "\0", 1, flags);
        }
    return 0;
}
