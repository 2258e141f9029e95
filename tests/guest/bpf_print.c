// SPDX-License-Identifier: Apache-2.0
// bpf_trace_printk: what a program on an event writes into ftrace's ring: [CORE-482].
#include "bpf_guest.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>

#include "trace_guest.h"

static char log_text[65536];

static int load(const insn* p, unsigned n) {
    union bpf_attr a = {
        .prog_type = BPF_PROG_TYPE_TRACEPOINT, .insn_cnt = n, .log_level = 1, .log_size = sizeof log_text};
    a.insns = (uint64_t)p, a.license = (uint64_t) "GPL", a.log_buf = (uint64_t)log_text;
    return (int)bpf(BPF_PROG_LOAD, &a);
}

/// Calls trace_printk(format, its size, r3, r4, r5) at a hit, and shows the lines and what it gave.
static void print(const char* format, long r3, long r4, long r5) {
    const unsigned size = (unsigned)strlen(format) + 1, room = (size + 7) & ~7u;
    union bpf_attr m = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 1};
    const int map = (int)bpf(BPF_MAP_CREATE, &m);
    insn p[96];
    unsigned n = 0;
    uint64_t words[16] = {0};
    memcpy(words, format, size);
    for (unsigned i = 0; i < room / 8; ++i) {
        const insn load_word[] = {LD64(1, words[i]), STX(BPF_DW, 10, 1, (short)(8 * i) - (short)room)};
        memcpy(p + n, load_word, sizeof load_word);
        n += sizeof load_word / sizeof *p;
    }
    const insn rest[] = {MOV(1, 10),
                         ALUI(BPF_ADD, 1, -(int)room),
                         MOVI(2, (int)size),
                         LD64(3, r3),
                         LD64(4, r4),
                         LD64(5, r5),
                         CALL(BPF_FUNC_trace_printk),
                         MOV(6, 0),
                         STI(BPF_W, 10, -4, 0),
                         MOV(2, 10),
                         ALUI(BPF_ADD, 2, -4),
                         LDMAP(1, map),
                         CALL(BPF_FUNC_map_lookup_elem),
                         JMPI(BPF_JEQ, 0, 0, 1),
                         STX(BPF_DW, 0, 6, 0),
                         MOVI(0, 0),
                         EXIT};
    memcpy(p + n, rest, sizeof rest);
    n += sizeof rest / sizeof *p;
    const int prog = load(p, n);
    if (prog < 0) {
        say("'%s': %s", format, strerrorname_np(errno));
        close(map);
        return;
    }
    struct perf_event_attr a = tracepoint("syscalls", "sys_enter_getppid");
    a.sample_period = 1;
    const int fd = open_event(&a, 0, -1, -1);
    TRY(ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog));
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    syscall(SYS_getppid);
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    uint32_t zero = 0;
    long result = -12345;
    union bpf_attr l = {.map_fd = (unsigned)map, .key = (uint64_t)&zero, .value = (uint64_t)&result};
    bpf(BPF_MAP_LOOKUP_ELEM, &l);
    char text[8192];
    int found = 0;
    slurp("/trace", text, sizeof text);
    for (char* line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        char* at = strstr(line, "bpf_trace_printk: ");
        if (!at || line[0] == '#') continue;
        say("'%s' gives %ld: %s|", format, result, at);
        found = 1;
    }
    if (!found) say("'%s' gives %ld, and nothing is written", format, result);
    put("/trace", "");
    close(fd), close(prog), close(map);
}

int main(void) {
    put("/trace", "");
    print("plain", 0, 0, 0);
    print("with its end\n", 0, 0, 0);
    print("%d %u %x", -1, -1, 0x1234567890);
    print("%ld %lu %lx", -1, -1, 0x1234567890);
    print("%lld %llu %llx", -5, 5, 0xabcdef0123456789);
    print("%i|%5d|%-5d|%05d", 7, 8, 9);
    print("%i|%5d|%-5d|", 7, 8, 9);
    print("%05d|%#x|100%%", 42, 255, 0);
    print("%c%c", 'o', 'k', 0);
    print("%s", 0, 0, 0);
    print("%f", 0, 0, 0);
    print("%", 0, 0, 0);
    print("%hd", 5, 0, 0);
    print("%y", 0, 0, 0);
    print("a\tb\x01", 0, 0, 0);
    print("%p", 0, 0, 0);
    return 0;
}
