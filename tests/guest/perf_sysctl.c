// SPDX-License-Identifier: Apache-2.0
// Writes to /proc/sys/kernel/perf_* and to the files of PMUs below /sys: numbers of every shape, positions, pieces; and
// what of a descriptor has nothing to do with events.
#include "perf_guest.h"

#include <sys/uio.h>

static const char* result(long r) {
    static char text[4][24];
    static int next;
    char* t = text[next = (next + 1) % 4];
    if (r < 0)
        snprintf(t, sizeof text[0], "%s", strerrorname_np(errno));
    else
        snprintf(t, sizeof text[0], "%ld", r);
    return t;
}
static void quote(const char* text, long n) {
    printf(" '");
    for (long i = 0; i < n; ++i) printf(text[i] >= 32 && text[i] < 127 ? "%c" : "\\%o", text[i]);
    printf("'");
}
static int sysctl_file(const char* name, int flags) {
    char path[96];
    snprintf(path, sizeof path, "/proc/sys/kernel/%s", name);
    return open(path, flags);
}
/// What a read of at most `room` bytes gives, and the one after it.
static void show(const char* name, size_t room) {
    char text[64];
    const int fd = sysctl_file(name, O_RDONLY);
    const long n = read(fd, text, room);
    printf(" -> %s", result(n));
    quote(text, n);
    printf(", %s", result(read(fd, text, room)));
    printf(", at 1 %s\n", result(pread(fd, text, room, 1)));
    close(fd);
}
static void store(const char* name, const char* text, size_t size) {
    const int fd = sysctl_file(name, O_WRONLY);
    printf("%s", name);
    quote(text, (long)size);
    printf(": %s", result(write(fd, text, size)));
    show(name, 30);
    close(fd);
}

static void numbers(void) {
    static const char* const kNames[] = {"perf_event_paranoid",        "perf_event_mlock_kb",
                                         "perf_event_max_sample_rate", "perf_cpu_time_max_percent",
                                         "perf_event_max_stack",       "perf_user_access"};
    static const char* const kTexts[] = {"1",
                                         " 1",
                                         "\t\v1\n\n",
                                         "\2401",
                                         "1 2",
                                         "1\n2",
                                         "1,2",
                                         "1x",
                                         "0x1",
                                         "01",
                                         "+1",
                                         "-",
                                         "--1",
                                         "- 1",
                                         "-0",
                                         " ",
                                         "\n",
                                         "0x",
                                         "08",
                                         "1\r",
                                         "0x1 junk",
                                         "2147483647",
                                         "2147483648",
                                         "4294967297",
                                         "1e1",
                                         "-2147483648",
                                         "000000000000000000001",
                                         "0000000000000000000001"};
    for (size_t i = 0; i < sizeof kNames / sizeof *kNames; ++i) {
        for (size_t j = 0; j < sizeof kTexts / sizeof *kTexts; ++j) store(kNames[i], kTexts[j], strlen(kTexts[j]));
        store(kNames[i], "1\0002", 3);
        store(kNames[i], "1\0", 2);
        store(kNames[i], "", 0);
    }
}

static void positions(const char* name) {
    char text[8];
    int fd = sysctl_file(name, O_RDWR);
    printf("%s at 1: %s", name, result(pwrite(fd, "3", 1, 1)));
    show(name, 1);
    printf("first %s", result(write(fd, "2", 1)));
    printf(" second %s", result(write(fd, "1", 1)));
    printf(" nonsense %s", result(write(fd, "x", 1)));
    show(name, 2);
    printf("end %s", result(lseek(fd, 0, SEEK_END)));
    printf(" beyond %s", result(lseek(fd, 3, SEEK_END)));
    printf(" before %s", result(lseek(fd, -1, SEEK_SET)));
    printf(" read %s", result(read(fd, text, 8)));
    printf(" back %s", result(lseek(fd, 0, SEEK_SET)));
    printf(" read %s\n", result(read(fd, text, 8)));
    close(fd);
    fd = sysctl_file(name, O_WRONLY | O_APPEND);
    const struct iovec pieces[] = {{(void*)"1", 1}, {(void*)"0 ", 2}, {(void*)"7", 1}};
    printf("pieces %s", result(writev(fd, pieces, 3)));
    show(name, 30);
    close(fd);
}

/// A limit that is in use can be written only where nothing is stored, and not even there.
static void in_use(void) {
    struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);
    attr.sample_period = 1;
    attr.sample_type = PERF_SAMPLE_CALLCHAIN;
    const int event = perf_open(&attr, 0, -1, -1, 0), fd = sysctl_file("perf_event_max_stack", O_WRONLY);
    printf("in use: %s", result(write(fd, "9", 1)));
    printf(" at 1 %s", result(pwrite(fd, "9", 1, 1)));
    printf(" nothing %s\n", result(write(fd, "", 0)));
    close(event);
    store("perf_event_max_stack", "127", 3);
    close(fd);
}

static void put(const char* path, const char* text) {
    const int fd = open(path, O_WRONLY);
    printf("%s", path);
    quote(text, (long)strlen(text));
    printf(": %s\n", result(fd < 0 ? -1 : write(fd, text, strlen(text))));
    close(fd);
}
static void get(const char* path) {
    char text[64];
    const int fd = open(path, O_RDONLY);
    const long n = fd < 0 ? -1 : read(fd, text, sizeof text);
    printf("%s: %s", path, result(n));
    quote(text, n);
    printf("\n");
    close(fd);
}

#define BUS "/sys/bus/event_source/"
#define DEVICE BUS "devices/software/"
#define UUID "fe4d7c9d-b8c6-4a70-9ef1-3d8a58d18eed"
static void devices(void) {
    char target[64];
    printf("link %s\n", result(readlink(BUS "devices/software", target, sizeof target)));
    static const char* const kEvents[] = {"add",
                                          "remove\n",
                                          "change ",
                                          " add",
                                          "adds",
                                          "bind",
                                          "",
                                          "add 1",
                                          "add " UUID,
                                          "add " UUID " ",
                                          "unbind x",
                                          "move " UUID " A=1 B=c",
                                          "move " UUID " A=",
                                          "move " UUID " A=b_c"};
    for (size_t i = 0; i < sizeof kEvents / sizeof *kEvents; ++i) {
        put(DEVICE "uevent", kEvents[i]);
        put(BUS "uevent", kEvents[i]);
    }
    get(DEVICE "uevent");
    get(BUS "uevent");
    static const char* const kNames[] = {"software", "software\n", "softwar", "", "\n", "software/type", "1"};
    for (size_t i = 0; i < sizeof kNames / sizeof *kNames; ++i) put(BUS "drivers_probe", kNames[i]);
    put(BUS "drivers_autoprobe", "0");
    get(BUS "drivers_autoprobe");
    put(BUS "drivers_autoprobe", "x");
    get(BUS "drivers_autoprobe");
    static const char* const kPower[] = {"async",
                                         "autosuspend_delay_ms",
                                         "control",
                                         "runtime_active_kids",
                                         "runtime_active_time",
                                         "runtime_enabled",
                                         "runtime_status",
                                         "runtime_suspended_time",
                                         "runtime_usage"};
    for (int on = 1; on >= 0; --on) {
        put(DEVICE "power/control", on ? "on\n" : "auto");
        put(DEVICE "power/async", on ? "enabled" : "disabled\n");
        for (size_t i = 0; i < sizeof kPower / sizeof *kPower; ++i) {
            char path[96];
            snprintf(path, sizeof path, DEVICE "power/%s", kPower[i]);
            get(path);
            put(path, "2");
        }
    }
    put(DEVICE "type", "");
    put(DEVICE "power/autosuspend_delay_ms", "");
}

static void descriptors(void) {
    struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_DUMMY);
    const int event = perf_open(&attr, 0, -1, -1, 0), child = fork();
    if (!child) {
        pause();
        _exit(0);
    }
    printf("owner %s", result(fcntl(event, F_SETOWN, child)));
    printf(" is it %d", fcntl(event, F_GETOWN) == child);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    printf(" ended %s", result(fcntl(event, F_GETOWN)));
    struct f_owner_ex owner = {7, 7};
    printf(" %s", result(fcntl(event, F_GETOWN_EX, &owner)));
    printf(" type %d pid %d\n", owner.type, owner.pid);
    for (int advice = 0; advice < 7; ++advice) printf("fadvise %d\n", posix_fadvise(event, 0, 0, advice));
    printf("fallocate %s\n", result(fallocate(event, 0, 0, 1)));
    close(event);
}

int main(void) {
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    numbers();
    positions("perf_event_mlock_kb");
    positions("perf_event_max_contexts_per_stack");
    store("perf_cpu_time_max_percent", "100", 3);
    positions("perf_event_max_sample_rate");
    store("perf_cpu_time_max_percent", "25", 2);
    positions("kptr_restrict");
    store("perf_event_max_stack", "127", 3);
    in_use();
    devices();
    fflush(stdout);
    descriptors();
    return 0;
}
