// SPDX-License-Identifier: Apache-2.0
// miniperf: a small perf client. Counts and samples programs through perf_event_open.
#include <stdlib.h>
#include <string.h>

#include "events.h"
#include "record.h"
#include "version.h"

static const char help[] =
    "usage: miniperf COMMAND [OPTION]... [PROGRAM [ARGUMENT]...]\n"
    "  stat      count events while a program runs\n"
    "  record    sample events into a perf.data file\n"
    "  probe     define probes on programs and on the kernel\n"
    "  list      show the events that are known here\n"
    "  --version, --help\n"
    "'miniperf COMMAND --help' lists a command's options.\n";

static const struct {
    const char* name;
    int (*run)(int argc, char** argv);
} commands[] = {{"stat", command_stat}, {"record", command_record}, {"probe", command_probe}, {"list", command_list}};

int main(int argc, char** argv) {
    const char* name = argc > 1 ? argv[1] : NULL;
    if (!name) {
        fputs(help, stderr);
        return EXIT_USAGE;
    }
    if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
        fputs(help, stdout);
        return 0;
    }
    if (!strcmp(name, "--version") || !strcmp(name, "version")) {
        puts(MINIPERF_VERSION);
        return 0;
    }
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        if (!strcmp(name, commands[i].name)) {
            int status = commands[i].run(argc - 1, argv + 1);
            if (fflush(stdout) || ferror(stdout)) {
                warn("cannot write standard output");
                status = EXIT_TROUBLE;
            }
            return status;
        }
    usage_error("there is no command '%s'; there are stat, record, probe and list", name);
}
