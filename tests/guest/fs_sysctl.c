// SPDX-License-Identifier: Apache-2.0
// Strings below /proc/sys: reads and writes at positions; and who may write unprivileged_bpf_disabled.
#include "fs_guest.h"

#include <linux/capability.h>

#define KERNEL "/proc/sys/kernel/"

static int open_value(const char* name, int flags) {
    char path[80];
    snprintf(path, sizeof path, KERNEL "%s", name);
    return open(path, flags);
}
static void quote(const char* what, const char* text, ssize_t n) {
    char out[300] = "", *o = out;
    for (ssize_t i = 0; i < n; i++) o += sprintf(o, text[i] >= 32 && text[i] < 127 ? "%c" : "\\%o", text[i]);
    say("%s: %zd '%s'", what, n, out);
}
static void value_of(const char* name) {
    char text[100];
    const int fd = open_value(name, O_RDONLY);
    quote(name, text, read(fd, text, sizeof text));
    close(fd);
}

/// In pieces of one byte and of three, and with positions.
static void pieces(const char* name) {
    char whole[200] = "", part[200] = "";
    const int fd = open_value(name, O_RDONLY);
    const ssize_t n = read(fd, whole, sizeof whole);
    ssize_t sum = 0, r;
    say("%s: ends with a newline %d, then %zd", name, n > 0 && whole[n - 1] == '\n', read(fd, part, 1));
    for (int size = 1; size < 4; size += 2) {
        lseek(fd, 0, SEEK_SET);
        for (sum = 0; (r = read(fd, part + sum, size)) > 0;) sum += r;
        say("%s in pieces of %d: %d", name, size, sum == n && !memcmp(whole, part, n));
    }
    say("%s from 2 on: %d", name, pread(fd, part, sizeof part, 2) == n - 2 && !memcmp(whole + 2, part, n - 2));
    say("%s at its newline: %zd, after it: %zd", name, pread(fd, part, 9, n - 1), pread(fd, part, 9, n));
    say("%s, end: %ld", name, (long)lseek(fd, 0, SEEK_END));
    close(fd);
}

static void writes(const char* name) {
    static const char kLong[] = "0123456789012345678901234567890123456789012345678901234567890123456789";
    static const struct {
        const char* text;
        size_t size;
        int at;
    } kAt[] = {{"box", 3, 0},    {"es", 2, 3},    {"q", 1, 9},  {"", 0, 0},   {"", 0, 2},       {"X\nY", 3, 1},
               {"ab\0cd", 5, 0}, {"\nabc", 4, 0}, {"u", 1, 1},  {"v", 1, 0},  {"w\n", 2, 1},    {"\n", 1, 1},
               {kLong, 70, 0},   {kLong, 70, 60}, {"z", 1, 64}, {"z", 1, 65}, {" blank ", 7, 0}};
    char text[100];
    int fd = open_value(name, O_RDWR);
    SHOW(write(fd, "ab", 2));
    SHOW(write(fd, "cd", 2));
    value_of(name);
    quote("rest", text, read(fd, text, sizeof text));
    SHOW(lseek(fd, 0, SEEK_CUR));
    SHOW(write(fd, "lost", 4));
    SHOW(lseek(fd, 0, SEEK_CUR));
    for (size_t i = 0; i < sizeof kAt / sizeof *kAt; i++) {
        say("%zu bytes at %d: %zd", kAt[i].size, kAt[i].at, pwrite(fd, kAt[i].text, kAt[i].size, kAt[i].at));
        value_of(name);
    }
    close(fd);
    // What is read is the value of the moment.
    fd = open_value(name, O_RDONLY);
    read(fd, text, 3);
    const int other = open_value(name, O_WRONLY | O_TRUNC);
    value_of(name);
    write(other, "another", 7);
    quote("goes on", text, read(fd, text, sizeof text));
    close(fd);
    close(other);
    const int end = open_value(name, O_WRONLY | O_APPEND);
    const struct iovec iov[] = {{"an", 2}, {"d\n", 2}, {"more", 4}};
    SHOW(writev(end, iov, 3));
    value_of(name);
    close(end);
}

static void bpf(void) {
    const int fd = open_value("unprivileged_bpf_disabled", O_RDWR);
    SHOW(write(fd, "x", 1));
    SHOW(pwrite(fd, "1", 1, 3));
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
    SHOW(syscall(SYS_capset, &header, none));
    SHOW(write(fd, "x", 1));
    SHOW(write(fd, "0", 1));
    SHOW(write(fd, "", 0));
    SHOW(pwrite(fd, "1", 1, 3));
}

int main(void) {
    static const char* const kNames[] = {"osrelease",  "ostype",       "version",       "hostname",
                                         "domainname", "core_pattern", "random/boot_id"};
    for (size_t i = 0; i < sizeof kNames / sizeof *kNames; i++) pieces(kNames[i]);
    writes("hostname");
    writes("domainname");
    bpf();
    return 0;
}
