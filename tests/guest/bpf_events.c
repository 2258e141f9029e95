// SPDX-License-Identifier: Apache-2.0
// bpf(2): maps, the verifier, programs on events, helpers: [CORE-457] [CORE-481] [CORE-482] [CORE-483] [CORE-484] [CORE-485]
// [CORE-486].
#include "bpf_guest.h"

#include <linux/perf_event.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

static int create(int type, int key, int value, int n, int flags) {
    union bpf_attr a = {.map_type = type, .key_size = key, .value_size = value, .max_entries = n, .map_flags = flags};
    return bpf(BPF_MAP_CREATE, &a);
}
static long elem(int cmd, int fd, const void* key, const void* value, uint64_t flags) {
    union bpf_attr a = {.map_fd = fd};
    a.key = (uint64_t)key, a.value = (uint64_t)value, a.flags = flags;
    return bpf(cmd, &a);
}
static long update(int fd, const void* k, const void* v, uint64_t f) { return elem(BPF_MAP_UPDATE_ELEM, fd, k, v, f); }
static long lookup(int fd, const void* k, void* v) { return elem(BPF_MAP_LOOKUP_ELEM, fd, k, v, 0); }
static long drop(int fd, const void* k) { return elem(BPF_MAP_DELETE_ELEM, fd, k, NULL, 0); }
static long next(int fd, const void* k, void* n) { return elem(BPF_MAP_GET_NEXT_KEY, fd, k, n, 0); }

static long load_as(int type, const insn* p, int n, const char* license) {
    union bpf_attr a = {.prog_type = type, .insn_cnt = n};
    a.insns = (uint64_t)p, a.license = (uint64_t)license;
    return bpf(BPF_PROG_LOAD, &a);
}
#define LOAD_AS(type, license, ...) \
    ({ \
        const insn p_[] = {__VA_ARGS__}; \
        load_as(type, p_, sizeof p_ / sizeof *p_, license); \
    })
#define LOAD(...) LOAD_AS(BPF_PROG_TYPE_PERF_EVENT, "GPL", __VA_ARGS__)
#define V(name, ...) say("%s: %s", name, OK(LOAD(__VA_ARGS__)))

static void maps(void) {
    say("[maps]");
    TRY(create(BPF_MAP_TYPE_ARRAY, 4, 8, 0, 0));
    TRY(create(BPF_MAP_TYPE_ARRAY, 8, 8, 4, 0));
    TRY(create(BPF_MAP_TYPE_ARRAY, 4, 0, 4, 0));
    TRY(create(BPF_MAP_TYPE_ARRAY, 4, 8, 4, BPF_F_NO_PREALLOC));
    TRY(create(BPF_MAP_TYPE_HASH, 0, 8, 4, 0));
    TRY(create(BPF_MAP_TYPE_HASH, 600, 8, 4, 0));
    TRY(create(BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, 8, 4, 0));
    TRY(create(1000, 4, 4, 4, 0));
    union bpf_attr bad = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
    strcpy(bad.map_name, "a-b");
    TRY(bpf(BPF_MAP_CREATE, &bad));
    int a = create(BPF_MAP_TYPE_ARRAY, 4, 8, 4, 0), h = create(BPF_MAP_TYPE_HASH, 4, 8, 2, 0);
    uint32_t k = 1, n;
    uint64_t v = 7, o = 0;
    say("array: update %s, lookup %s, value %lu", OK(update(a, &k, &v, 0)), OK(lookup(a, &k, &o)), o);
    TRY(update(a, &k, &v, BPF_NOEXIST));
    TRY(update(a, &k, &v, 5));
    TRY(drop(a, &k));
    k = 4;
    TRY(update(a, &k, &v, 0));
    TRY(lookup(a, &k, &o));
    say("next of 4: %s %u", OK(next(a, &k, &n)), n);
    k = 3;
    TRY(next(a, &k, &n));
    say("first: %s %u", OK(next(a, NULL, &n)), n);
    TRY(lookup(h, &k, &o));
    TRY(update(h, &k, &v, BPF_EXIST));
    TRY(update(h, &k, &v, BPF_NOEXIST));
    TRY(update(h, &k, &v, BPF_NOEXIST));
    k = 4;
    TRY(update(h, &k, &v, 0));
    k = 5;
    TRY(update(h, &k, &v, 0));
    TRY(drop(h, &k));
    k = 4;
    TRY(drop(h, &k));
    say("first: %s %u", OK(next(h, NULL, &n)), n);
    k = 3;
    TRY(next(h, &k, &n));
    TRY(elem(BPF_MAP_LOOKUP_AND_DELETE_ELEM, h, &k, &o, 0));
    TRY(lookup(h, &k, &o));
    TRY(next(h, NULL, &n));
    TRY(lookup(h, (void*)8, &o));
    TRY(lookup(1, &k, &o));
    TRY(lookup(-1, &k, &o));
    union bpf_attr f = {.map_fd = h};
    TRY(bpf(BPF_MAP_FREEZE, &f));
    TRY(bpf(BPF_MAP_FREEZE, &f));
    TRY(update(h, &k, &v, 0));
    int pa = create(BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 2, 0);
    int prog = LOAD(MOVI(0, 1), EXIT);
    k = 0;
    TRY(update(pa, &k, &prog, 0));
    TRY(update(pa, &k, &a, 0));
    say("prog array: %s, empty %s", OK(lookup(pa, &k, &n)), (k = 1, OK(lookup(pa, &k, &n))));
    struct bpf_map_info mi = {0};
    union bpf_attr q = {.info = {.bpf_fd = a, .info_len = sizeof mi, .info = (uint64_t)&mi}};
    say("info: %s type %u key %u value %u entries %u flags %u", OK(bpf(BPF_OBJ_GET_INFO_BY_FD, &q)), mi.type,
        mi.key_size, mi.value_size, mi.max_entries, mi.map_flags);
    char link[64] = "", path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", prog);
    readlink(path, link, 63);
    say("%s, cloexec %d", link, fcntl(prog, F_GETFD));
    snprintf(path, sizeof path, "/proc/self/fd/%d", a);
    link[readlink(path, link, 63)] = 0;
    say("%s", link);
    union bpf_attr id = {.start_id = 0};
    TRY(bpf(BPF_PROG_GET_NEXT_ID, &id));
    TRY(bpf(2000, &id));
    TRY(syscall(SYS_bpf, BPF_MAP_CREATE, 8, 8));
    char big[4096] = {0};
    TRY(syscall(SYS_bpf, BPF_MAP_CREATE, big, 4096));
    big[4000] = 1;
    TRY(syscall(SYS_bpf, BPF_MAP_CREATE, big, 4096));
    TRY(syscall(SYS_bpf, BPF_MAP_CREATE, big, 5000));
}

static void verifier(void) {
    say("[verifier]");
    int m = create(BPF_MAP_TYPE_ARRAY, 4, 16, 4, 0), h = create(BPF_MAP_TYPE_HASH, 8, 16, 4, 0),
        pe = create(BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, 4, 8, 0);
    V("no exit", MOVI(0, 0));
    V("empty body", EXIT);
    V("jump out", MOVI(0, 0), JA(5), EXIT);
    V("jump back out", MOVI(0, 0), JA(-5), EXIT);
    V("unreachable", MOVI(0, 0), EXIT, MOVI(0, 1), EXIT);
    V("endless", MOVI(0, 0), JA(-1), EXIT);
    V("endless with a test", MOVI(0, 0), JMPI(BPF_JEQ, 0, 0, -1), EXIT);
    V("bounded loop", MOVI(0, 0), ALUI(BPF_ADD, 0, 1), JMPI(BPF_JLT, 0, 100, -2), EXIT);
    V("into ld_imm64", MOVI(0, 0), JMPI(BPF_JEQ, 0, 0, 1), LD64(1, 5), EXIT);
    V("R11", {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 11}, EXIT);
    V("reserved", {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .off = 1}, EXIT);
    V("shift 64", MOVI(0, 1), ALUI(BPF_LSH, 0, 64), EXIT);
    V("shift 32 of 32", MOVI(0, 1), ALU32I(BPF_LSH, 0, 32), EXIT);
    V("div 0", MOVI(0, 1), ALUI(BPF_DIV, 0, 0), EXIT);
    V("div by register 0", MOVI(0, 1), MOVI(1, 0), ALU(BPF_DIV, 0, 1), EXIT);
    V("R10 written", MOVI(10, 0), MOVI(0, 0), EXIT);
    V("R5 unset", MOV(0, 5), EXIT);
    V("stack unset", LDX(BPF_DW, 0, 10, -8), EXIT);
    V("stack set", STI(BPF_DW, 10, -8, 3), LDX(BPF_DW, 0, 10, -8), EXIT);
    V("stack half set", STI(BPF_W, 10, -8, 3), LDX(BPF_DW, 0, 10, -8), EXIT);
    V("stack above", STI(BPF_DW, 10, 0, 3), MOVI(0, 0), EXIT);
    V("stack too deep", STI(BPF_DW, 10, -520, 3), MOVI(0, 0), EXIT);
    V("stack all", STI(BPF_DW, 10, -512, 3), MOVI(0, 0), EXIT);
    V("spill and fill", STX(BPF_DW, 10, 1, -8), LDX(BPF_DW, 2, 10, -8), LDX(BPF_DW, 0, 2, 8), EXIT);
    V("partial spill", STX(BPF_W, 10, 1, -8), MOVI(0, 0), EXIT);
    V("spill broken", STX(BPF_DW, 10, 1, -8), STI(BPF_B, 10, -4, 0), LDX(BPF_DW, 2, 10, -8), LDX(BPF_DW, 0, 2, 8),
      EXIT);
    V("ctx written", STI(BPF_DW, 1, 8, 0), MOVI(0, 0), EXIT);
    V("ctx half word", LDX(BPF_W, 0, 1, 8), EXIT);
    V("ctx period half", LDX(BPF_W, 0, 1, 272), EXIT);
    V("ctx unaligned", LDX(BPF_DW, 0, 1, 4), EXIT);
    V("ctx moved", ALUI(BPF_ADD, 1, 8), LDX(BPF_DW, 0, 1, 0), EXIT);
    V("ctx returned", MOV(0, 1), EXIT);
    V("number as pointer", MOVI(2, 8), LDX(BPF_DW, 0, 2, 0), EXIT);
    V("pointer times 2", ALUI(BPF_MUL, 1, 2), MOVI(0, 0), EXIT);
    V("pointer plus pointer", ALU(BPF_ADD, 1, 10), MOVI(0, 0), EXIT);
    V("pointer minus pointer", MOV(2, 10), ALU(BPF_SUB, 2, 10), MOV(0, 2), EXIT);
    V("pointer in 32 bits", ALU32I(BPF_ADD, 1, 1), MOVI(0, 0), EXIT);
    V("unknown helper", CALL(9999), MOVI(0, 0), EXIT);
    V("helper of others", CALL(BPF_FUNC_redirect), MOVI(0, 0), EXIT);
    V("ktime", CALL(BPF_FUNC_ktime_get_ns), EXIT);
    V("R1 after a call", CALL(BPF_FUNC_ktime_get_ns), MOV(0, 1), EXIT);
    V("R6 after a call", MOV(6, 1), CALL(BPF_FUNC_ktime_get_ns), LDX(BPF_DW, 0, 6, 272), EXIT);
    V("lookup without key", LDMAP(1, m), MOV(2, 10), ALUI(BPF_ADD, 2, -4), CALL(BPF_FUNC_map_lookup_elem), MOVI(0, 0),
      EXIT);
    V("lookup", STI(BPF_W, 10, -4, 0), LDMAP(1, m), MOV(2, 10), ALUI(BPF_ADD, 2, -4), CALL(BPF_FUNC_map_lookup_elem),
      MOVI(0, 0), EXIT);
    V("value without null check", STI(BPF_W, 10, -4, 0), LDMAP(1, m), MOV(2, 10), ALUI(BPF_ADD, 2, -4),
      CALL(BPF_FUNC_map_lookup_elem), LDX(BPF_DW, 0, 0, 0), EXIT);
#define LOOKUP(map) \
    STI(BPF_W, 10, -4, 0), LDMAP(1, map), MOV(2, 10), ALUI(BPF_ADD, 2, -4), CALL(BPF_FUNC_map_lookup_elem)
    V("value", LOOKUP(m), JMPI(BPF_JEQ, 0, 0, 1), LDX(BPF_DW, 0, 0, 8), MOVI(0, 0), EXIT);
    V("value in the wrong branch", LOOKUP(m), JMPI(BPF_JNE, 0, 0, 1), LDX(BPF_DW, 0, 0, 8), MOVI(0, 0), EXIT);
    V("value behind its end", LOOKUP(m), JMPI(BPF_JEQ, 0, 0, 1), LDX(BPF_DW, 0, 0, 16), MOVI(0, 0), EXIT);
    V("value before its start", LOOKUP(m), JMPI(BPF_JEQ, 0, 0, 1), LDX(BPF_DW, 0, 0, -1), MOVI(0, 0), EXIT);
    V("value, index unbounded", MOV(6, 1), LOOKUP(m), JMPI(BPF_JEQ, 0, 0, 3), LDX(BPF_DW, 3, 6, 272),
      ALU(BPF_ADD, 0, 3), LDX(BPF_B, 0, 0, 0), MOVI(0, 0), EXIT);
    V("value, index masked", MOV(6, 1), LOOKUP(m), JMPI(BPF_JEQ, 0, 0, 4), LDX(BPF_DW, 3, 6, 272), ALUI(BPF_AND, 3, 15),
      ALU(BPF_ADD, 0, 3), LDX(BPF_B, 0, 0, 0), MOVI(0, 0), EXIT);
    V("value, index masked too wide", MOV(6, 1), LOOKUP(m), JMPI(BPF_JEQ, 0, 0, 4), LDX(BPF_DW, 3, 6, 272),
      ALUI(BPF_AND, 3, 31), ALU(BPF_ADD, 0, 3), LDX(BPF_B, 0, 0, 0), MOVI(0, 0), EXIT);
    V("value, index compared", MOV(6, 1), LOOKUP(m), JMPI(BPF_JEQ, 0, 0, 4), LDX(BPF_DW, 3, 6, 272),
      JMPI(BPF_JGT, 3, 15, 2), ALU(BPF_ADD, 0, 3), LDX(BPF_B, 0, 0, 0), MOVI(0, 0), EXIT);
    V("value, index compared signed", MOV(6, 1), LOOKUP(m), JMPI(BPF_JEQ, 0, 0, 4), LDX(BPF_DW, 3, 6, 272),
      JMPI(BPF_JSGT, 3, 15, 2), ALU(BPF_ADD, 0, 3), LDX(BPF_B, 0, 0, 0), MOVI(0, 0), EXIT);
    V("value written", LOOKUP(m), JMPI(BPF_JEQ, 0, 0, 1), STI(BPF_DW, 0, 0, 1), MOVI(0, 0), EXIT);
    V("value added to", LOOKUP(m), MOVI(1, 1), JMPI(BPF_JEQ, 0, 0, 1), ATOMIC(BPF_DW, 0, 1, 0, BPF_ADD), MOVI(0, 0),
      EXIT);
    V("direct value", LDVAL(1, m, 8), MOVI(0, 0), EXIT);
    V("key too short", LOOKUP(h), MOVI(0, 0), EXIT);
    V("map as number", LDMAP(1, m), LDX(BPF_DW, 0, 1, 0), EXIT);
    V("bad map", LDMAP(1, 1), MOVI(0, 0), EXIT);
    V("closed map", LDMAP(1, 200), MOVI(0, 0), EXIT);
    V("lookup in an event array", LOOKUP(pe), MOVI(0, 0), EXIT);
    V("output to an array", STI(BPF_DW, 10, -8, 1), LDMAP(2, m), MOVI(3, 0), MOV(4, 10), ALUI(BPF_ADD, 4, -8),
      MOVI(5, 8), CALL(BPF_FUNC_perf_event_output), MOVI(0, 0), EXIT);
    V("output", STI(BPF_DW, 10, -8, 1), LDMAP(2, pe), MOVI(3, 0), MOV(4, 10), ALUI(BPF_ADD, 4, -8), MOVI(5, 8),
      CALL(BPF_FUNC_perf_event_output), MOVI(0, 0), EXIT);
    V("output of too much", STI(BPF_DW, 10, -8, 1), LDMAP(2, pe), MOVI(3, 0), MOV(4, 10), ALUI(BPF_ADD, 4, -8),
      MOVI(5, 16), CALL(BPF_FUNC_perf_event_output), MOVI(0, 0), EXIT);
    V("call", MOVI(1, 5), CALLP(1), EXIT, MOV(0, 1), EXIT);
    V("call with R2", MOVI(1, 5), CALLP(1), EXIT, MOV(0, 2), EXIT);
    V("call falls through", MOVI(1, 5), CALLP(1), EXIT, MOV(0, 1), JA(-2));
    V("recursion", MOVI(1, 5), CALLP(1), EXIT, CALLP(-1), EXIT);
    V("tail call", LDMAP(2, m), MOVI(3, 0), CALL(BPF_FUNC_tail_call), MOVI(0, 0), EXIT);
    say("GPL only: %s",
        OK(LOAD_AS(BPF_PROG_TYPE_PERF_EVENT, "Proprietary", STI(BPF_DW, 10, -8, 0), MOV(1, 10), ALUI(BPF_ADD, 1, -8),
                   MOVI(2, 8), MOVI(3, 0), CALL(BPF_FUNC_probe_read_user), MOVI(0, 0), EXIT)));
    say("not GPL only: %s",
        OK(LOAD_AS(BPF_PROG_TYPE_PERF_EVENT, "Proprietary", CALL(BPF_FUNC_get_current_pid_tgid), EXIT)));
    say("tracepoint, first word: %s", OK(LOAD_AS(BPF_PROG_TYPE_TRACEPOINT, "GPL", LDX(BPF_DW, 0, 1, 0), EXIT)));
    say("tracepoint, second word: %s", OK(LOAD_AS(BPF_PROG_TYPE_TRACEPOINT, "GPL", LDX(BPF_DW, 0, 1, 8), EXIT)));
    say("tracepoint, far: %s", OK(LOAD_AS(BPF_PROG_TYPE_TRACEPOINT, "GPL", LDX(BPF_DW, 0, 1, 8184), EXIT)));
    say("tracepoint, too far: %s", OK(LOAD_AS(BPF_PROG_TYPE_TRACEPOINT, "GPL", LDX(BPF_DW, 0, 1, 8192), EXIT)));
    say("kprobe, register: %s", OK(LOAD_AS(BPF_PROG_TYPE_KPROBE, "GPL", LDX(BPF_DW, 0, 1, 8), EXIT)));
    say("kprobe, half: %s", OK(LOAD_AS(BPF_PROG_TYPE_KPROBE, "GPL", LDX(BPF_W, 0, 1, 12), EXIT)));
    say("kprobe, behind: %s", OK(LOAD_AS(BPF_PROG_TYPE_KPROBE, "GPL", LDX(BPF_DW, 0, 1, 400), EXIT)));
    char log[512] = "";
    insn p[] = {MOV(0, 5), EXIT};
    union bpf_attr a = {.prog_type = BPF_PROG_TYPE_PERF_EVENT, .insn_cnt = 2, .log_level = 1, .log_size = sizeof log};
    a.insns = (uint64_t)p, a.license = (uint64_t) "GPL", a.log_buf = (uint64_t)log;
    say("log: %s, says %d", OK(bpf(BPF_PROG_LOAD, &a)), strstr(log, "R5 !read_ok") != NULL);
    a.log_size = 10;
    TRY(bpf(BPF_PROG_LOAD, &a));
    a.log_size = sizeof log, a.log_buf = 0;
    TRY(bpf(BPF_PROG_LOAD, &a));
    a.log_level = 0, a.log_size = 0, a.insn_cnt = 0;
    TRY(bpf(BPF_PROG_LOAD, &a));
    a.insn_cnt = 2, a.prog_flags = 0x1000;
    TRY(bpf(BPF_PROG_LOAD, &a));
}

static volatile uint64_t cell[8] __attribute__((aligned(64)));
static struct perf_event_attr watch(void) {
    struct perf_event_attr a = {.type = PERF_TYPE_BREAKPOINT,
                                .size = sizeof a,
                                .bp_type = 2,
                                .bp_addr = (uint64_t)cell,
                                .bp_len = 8,
                                .disabled = 1,
                                .exclude_kernel = 1,
                                .exclude_hv = 1,
                                .sample_period = 1};
    return a;
}
static int open_event(struct perf_event_attr* a, int pid, int cpu) {
    return syscall(SYS_perf_event_open, a, pid, cpu, -1, 0);
}
static void store(int n) {
    for (int i = 0; i < n; i++) cell[0] = i;
}

// Runs a program at each of ten stores; what it left in the array.
static void run(const char* name, int map, long prog, unsigned words) {
    struct perf_event_attr a = watch();
    int fd = open_event(&a, 0, -1);
    if (prog < 0) {
        say("%s: not loaded: %s", name, strerrorname_np(errno));
        return;
    }
    uint64_t zero[4] = {0}, v[4] = {0};
    uint32_t k = 0;
    update(map, &k, zero, 0);
    const char* e = OK(ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog));
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    store(10);
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    lookup(map, &k, v);
    char text[128] = "";
    for (unsigned i = 0; i < words; i++) snprintf(text + strlen(text), 32, " %lx", v[i]);
    say("%s: %s%s", name, e, text);
    close(fd);
    close(prog);
}

static void running(void) {
    say("[running]");
    int m = create(BPF_MAP_TYPE_ARRAY, 4, 32, 1, 0);
#define VALUE(d) LDVAL(d, m, 0)
#define RUN(name, words, ...) run(name, m, LOAD(__VA_ARGS__), words)
    RUN("count", 1, VALUE(1), MOVI(2, 1), ATOMIC(BPF_DW, 1, 2, 0, BPF_ADD), MOVI(0, 1), EXIT);
    RUN("fetch", 2, VALUE(1), MOVI(2, 3), ATOMIC(BPF_DW, 1, 2, 0, BPF_ADD | BPF_FETCH), STX(BPF_DW, 1, 2, 8),
        MOVI(0, 1), EXIT);
    RUN("exchange", 2, VALUE(1), MOVI(2, 3), ATOMIC(BPF_DW, 1, 2, 0, BPF_XCHG), STX(BPF_DW, 1, 2, 8), MOVI(0, 1), EXIT);
    RUN("compare and exchange", 2, VALUE(1), MOVI(0, 0), MOVI(2, 3), ATOMIC(BPF_DW, 1, 2, 0, BPF_CMPXCHG),
        STX(BPF_DW, 1, 0, 8), MOVI(0, 1), EXIT);
    RUN("or, and, xor of words", 3, VALUE(1), MOVI(2, -1), STI(BPF_DW, 1, 0, 0), ATOMIC(BPF_W, 1, 2, 0, BPF_OR),
        STI(BPF_DW, 1, 8, -1), MOVI(2, 0xf0), ATOMIC(BPF_DW, 1, 2, 8, BPF_AND), ATOMIC(BPF_DW, 1, 2, 16, BPF_XOR),
        MOVI(0, 1), EXIT);
    RUN("loop", 1, VALUE(1), MOVI(2, 0), MOVI(3, 0), ALU(BPF_ADD, 3, 2), ALUI(BPF_ADD, 2, 1), JMPI(BPF_JLE, 2, 100, -3),
        STX(BPF_DW, 1, 3, 0), MOVI(0, 1), EXIT);
    RUN("arithmetic", 4, VALUE(1), LD64(2, 0x123456789abcdef0), MOV(3, 2), ALUI(BPF_MUL, 3, 3), STX(BPF_DW, 1, 3, 0),
        MOV(3, 2), ALUI(BPF_DIV, 3, 7), STX(BPF_DW, 1, 3, 8), MOV(3, 2), ALUI(BPF_MOD, 3, 1000), STX(BPF_DW, 1, 3, 16),
        MOVI(3, -16), ALUI(BPF_ARSH, 3, 2), STX(BPF_DW, 1, 3, 24), MOVI(0, 1), EXIT);
    RUN("32 bits", 4, VALUE(1), LD64(2, 0x123456789abcdef0), MOV(3, 2), ALU32I(BPF_ADD, 3, 0x70000000),
        STX(BPF_DW, 1, 3, 0), MOV(3, 2), ALU32I(BPF_ARSH, 3, 4), STX(BPF_DW, 1, 3, 8), MOV(3, 2), ALU32I(BPF_NEG, 3, 0),
        STX(BPF_DW, 1, 3, 16), MOV(3, 2), {.code = BPF_ALU | BPF_MOV | BPF_X, .dst_reg = 3, .src_reg = 3},
        STX(BPF_DW, 1, 3, 24), MOVI(0, 1), EXIT);
    RUN("byte order", 4, VALUE(1), LD64(2, 0x123456789abcdef0), MOV(3, 2),
        {.code = BPF_ALU | BPF_END | BPF_TO_BE, .dst_reg = 3, .imm = 64}, STX(BPF_DW, 1, 3, 0), MOV(3, 2),
        {.code = BPF_ALU | BPF_END | BPF_TO_BE, .dst_reg = 3, .imm = 16}, STX(BPF_DW, 1, 3, 8), MOV(3, 2),
        {.code = BPF_ALU | BPF_END | BPF_TO_LE, .dst_reg = 3, .imm = 32}, STX(BPF_DW, 1, 3, 16), MOVI(0, 1), EXIT);
    RUN("division by 0", 2, VALUE(1), MOVI(2, 0), MOVI(3, 5), ALU(BPF_DIV, 3, 2), STX(BPF_DW, 1, 3, 0), MOVI(3, 5),
        ALU(BPF_MOD, 3, 2), STX(BPF_DW, 1, 3, 8), MOVI(0, 1), EXIT);
    RUN("sub program", 1, VALUE(6), MOVI(1, 20), MOVI(2, 22), CALLP(3), STX(BPF_DW, 6, 0, 0), MOVI(0, 1), EXIT,
        MOV(0, 1), ALU(BPF_ADD, 0, 2), EXIT);
    RUN("period and address", 2, VALUE(2), LDX(BPF_DW, 3, 1, 272), STX(BPF_DW, 2, 3, 0), LDX(BPF_DW, 3, 1, 280),
        LD64(4, cell), ALU(BPF_SUB, 3, 4), STX(BPF_DW, 2, 3, 8), MOVI(0, 1), EXIT);
    RUN("pstate mode", 1, VALUE(2), LDX(BPF_DW, 3, 1, 264), ALUI(BPF_AND, 3, 15), STX(BPF_DW, 2, 3, 0), MOVI(0, 1),
        EXIT);
    RUN("pid", 1, VALUE(6), CALL(BPF_FUNC_get_current_pid_tgid), MOV(1, 0), ALUI(BPF_RSH, 1, 32),
        ALUI(BPF_SUB, 1, getpid()), STX(BPF_DW, 6, 1, 0), MOVI(0, 1), EXIT);
    RUN("uid", 1, VALUE(6), CALL(BPF_FUNC_get_current_uid_gid), STX(BPF_DW, 6, 0, 0), MOVI(0, 1), EXIT);
    prctl(PR_SET_NAME, "bpf_run");
    RUN("comm", 2, VALUE(1), MOVI(2, 16), CALL(BPF_FUNC_get_current_comm), MOVI(0, 1), EXIT);
    static uint64_t secret = 0xfeed;
    static char word[16] = "hello";
    RUN("user memory", 2, VALUE(6), MOV(1, 6), MOVI(2, 8), LD64(3, &secret), CALL(BPF_FUNC_probe_read_user),
        STX(BPF_DW, 6, 0, 8), MOVI(0, 1), EXIT);
    RUN("no user memory", 2, VALUE(6), MOV(1, 6), MOVI(2, 8), MOVI(3, 8), CALL(BPF_FUNC_probe_read_user),
        STX(BPF_DW, 6, 0, 8), MOVI(0, 1), EXIT);
    RUN("user string", 2, VALUE(6), MOV(1, 6), MOVI(2, 8), LD64(3, word), CALL(BPF_FUNC_probe_read_user_str),
        STX(BPF_DW, 6, 0, 8), MOVI(0, 1), EXIT);
    RUN("short user string", 2, VALUE(6), MOV(1, 6), MOVI(2, 4), LD64(3, word), CALL(BPF_FUNC_probe_read_user_str),
        STX(BPF_DW, 6, 0, 8), MOVI(0, 1), EXIT);
    RUN("own count", 2, VALUE(6), MOV(7, 6), MOV(2, 10), ALUI(BPF_ADD, 2, -24), MOVI(3, 24),
        CALL(BPF_FUNC_perf_prog_read_value), STX(BPF_DW, 6, 0, 8), LDX(BPF_DW, 1, 10, -24), STX(BPF_DW, 6, 1, 0),
        MOVI(0, 1), EXIT);
    int h = create(BPF_MAP_TYPE_HASH, 8, 8, 4, 0);
    RUN("hash", 2, VALUE(6), STI(BPF_DW, 10, -8, 5), STI(BPF_DW, 10, -16, 6), LDMAP(1, h), MOV(2, 10),
        ALUI(BPF_ADD, 2, -8), MOV(3, 10), ALUI(BPF_ADD, 3, -16), MOVI(4, BPF_NOEXIST), CALL(BPF_FUNC_map_update_elem),
        STX(BPF_DW, 6, 0, 0), LDMAP(1, h), MOV(2, 10), ALUI(BPF_ADD, 2, -8), CALL(BPF_FUNC_map_lookup_elem),
        JMPI(BPF_JEQ, 0, 0, 2), LDX(BPF_DW, 1, 0, 0), STX(BPF_DW, 6, 1, 8), MOVI(0, 1), EXIT);
    RUN("delete", 2, VALUE(6), STI(BPF_DW, 10, -8, 5), LDMAP(1, h), MOV(2, 10), ALUI(BPF_ADD, 2, -8),
        CALL(BPF_FUNC_map_delete_elem), STX(BPF_DW, 6, 0, 0), LDMAP(1, h), MOV(2, 10), ALUI(BPF_ADD, 2, -8),
        CALL(BPF_FUNC_map_lookup_elem), STX(BPF_DW, 6, 0, 8), MOVI(0, 1), EXIT);
    int pa = create(BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 2, 0);
    int target = LOAD(VALUE(1), STI(BPF_DW, 1, 0, 77), MOVI(0, 1), EXIT);
    uint32_t k = 1;
    update(pa, &k, &target, 0);
    RUN("tail call", 2, LDMAP(2, pa), MOVI(3, 1), CALL(BPF_FUNC_tail_call), VALUE(1), STI(BPF_DW, 1, 8, 1), MOVI(0, 1),
        EXIT);
    RUN("tail call to nobody", 2, LDMAP(2, pa), MOVI(3, 0), CALL(BPF_FUNC_tail_call), VALUE(1), STI(BPF_DW, 1, 8, 1),
        MOVI(0, 1), EXIT);
}

static void output(void) {
    say("[output]");
    cpu_set_t s;
    CPU_ZERO(&s);
    CPU_SET(sched_getcpu(), &s);
    sched_setaffinity(0, sizeof s, &s);
    int cpu = sched_getcpu();
    int pe = create(BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, 4, 8, 0), m = create(BPF_MAP_TYPE_ARRAY, 4, 32, 1, 0);
    struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE,
                                .size = sizeof a,
                                .config = PERF_COUNT_SW_BPF_OUTPUT,
                                .sample_type = PERF_SAMPLE_RAW | PERF_SAMPLE_TID,
                                .sample_period = 1,
                                .wakeup_events = 1};
    int out = open_event(&a, -1, cpu);
    struct perf_event_mmap_page* pg = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, out, 0);
    uint32_t k = cpu;
    TRY(update(pe, &k, &m, 0));
    TRY(update(pe, &k, &out, BPF_EXIST));
#define OUT(flags, size) \
    VALUE(6), STI(BPF_DW, 10, -16, 0x1111), STI(BPF_DW, 10, -8, 0x2222), LDMAP(2, pe), LD64(3, flags), MOV(4, 10), \
        ALUI(BPF_ADD, 4, -16), MOVI(5, size), CALL(BPF_FUNC_perf_event_output), STX(BPF_DW, 6, 0, 0), MOVI(0, 1), EXIT
    RUN("no event", 1, OUT(BPF_F_CURRENT_CPU, 16));
    TRY(update(pe, &k, &out, 0));
    RUN("output", 1, OUT(BPF_F_CURRENT_CPU, 16));
    RUN("short output", 1, OUT(cpu, 6));
    RUN("behind the array", 1, OUT(8, 16));
    RUN("bad flags", 1, OUT(1ull << 40, 16));
    struct perf_event_attr d = {.type = PERF_TYPE_SOFTWARE, .size = sizeof d, .config = PERF_COUNT_SW_DUMMY};
    int dummy = open_event(&d, -1, cpu);
    uint32_t z = (cpu + 1) % 8;
    TRY(update(pe, &z, &dummy, 0));
    RUN("another kind of event", 1, OUT(z, 16));
    uint64_t head = __atomic_load_n(&pg->data_head, __ATOMIC_ACQUIRE), at = 0;
    int n = 0;
    unsigned char* base = (unsigned char*)pg + PAGE;
    while (at < head) {
        struct perf_event_header* h = (void*)(base + at % (2 * PAGE));
        uint32_t* b = (uint32_t*)(h + 1);
        if (n == 0 || n == 10)
            say("record type %u size %u, pid right %d, raw size %u, words %x %x", h->type, h->size,
                (int)b[0] == getpid(), b[2], b[3], b[5]);
        n++;
        at += h->size;
    }
    say("%d records", n);
    struct perf_event_attr w = watch();
    w.sample_period = 0;
    int counter = open_event(&w, 0, -1);
    ioctl(counter, PERF_EVENT_IOC_ENABLE, 0);
    TRY(update(pe, &z, &counter, 0));
    store(5);
    RUN("another's count", 1, VALUE(6), LDMAP(1, pe), MOVI(2, z), CALL(BPF_FUNC_perf_event_read), STX(BPF_DW, 6, 0, 0),
        MOVI(0, 1), EXIT);
    close(counter);
    RUN("nobody's count", 1, VALUE(6), LDMAP(1, pe), MOVI(2, (z + 1) % 8), CALL(BPF_FUNC_perf_event_read),
        STX(BPF_DW, 6, 0, 0), MOVI(0, 1), EXIT);
    RUN("signal", 1, VALUE(6), MOVI(1, 0), CALL(BPF_FUNC_send_signal), STX(BPF_DW, 6, 0, 0), MOVI(0, 1), EXIT);
}

static void query(void) {
    say("[query]");
    char b[32];
    int f = open("/sys/kernel/tracing/events/syscalls/sys_enter_getppid/id", O_RDONLY);
    b[read(f, b, 31)] = 0;
    struct perf_event_attr t = {.type = PERF_TYPE_TRACEPOINT, .size = sizeof t, .config = atoi(b), .disabled = 1};
    int e = open_event(&t, 0, -1), e2 = open_event(&t, 0, -1);
    struct {
        uint32_t len, cnt, ids[64];
    } q = {.len = 4};
    say("empty: %s, %u", OK(ioctl(e, PERF_EVENT_IOC_QUERY_BPF, &q)), q.cnt);
    int p = LOAD_AS(BPF_PROG_TYPE_TRACEPOINT, "GPL", MOVI(0, 1), EXIT),
        p2 = LOAD_AS(BPF_PROG_TYPE_TRACEPOINT, "GPL", MOVI(0, 2), EXIT),
        far = LOAD_AS(BPF_PROG_TYPE_TRACEPOINT, "GPL", LDX(BPF_DW, 0, 1, 64), EXIT);
    TRY(ioctl(e, PERF_EVENT_IOC_SET_BPF, far));
    TRY(ioctl(e, PERF_EVENT_IOC_SET_BPF, p));
    TRY(ioctl(e2, PERF_EVENT_IOC_SET_BPF, p));
    TRY(ioctl(e2, PERF_EVENT_IOC_SET_BPF, p2));
    say("two: %s, %u, ids %d %d", OK(ioctl(e, PERF_EVENT_IOC_QUERY_BPF, &q)), q.cnt, q.ids[0] != 0,
        q.ids[1] > q.ids[0]);
    q.len = 1;
    say("room for one: %s, %u", OK(ioctl(e, PERF_EVENT_IOC_QUERY_BPF, &q)), q.cnt);
    q.len = 0;
    say("room for none: %s, %u", OK(ioctl(e, PERF_EVENT_IOC_QUERY_BPF, &q)), q.cnt);
    q.len = 65;
    TRY(ioctl(e, PERF_EVENT_IOC_QUERY_BPF, &q));
    struct perf_event_attr w = watch();
    int bp = open_event(&w, 0, -1);
    q.len = 4;
    TRY(ioctl(bp, PERF_EVENT_IOC_QUERY_BPF, &q));
    ioctl(e, PERF_EVENT_IOC_ENABLE, 0);
    for (int i = 0; i < 5; i++) syscall(SYS_getppid);
    uint64_t n;
    read(e, &n, 8);
    say("1 and 2: %lu", n); // the results are and-ed
    close(e2);
    for (int i = 0; i < 5; i++) syscall(SYS_getppid);
    read(e, &n, 8);
    say("1 alone: %lu", n);
    close(p);
    struct bpf_prog_info info = {0};
    union bpf_attr a = {.info = {.bpf_fd = far, .info_len = sizeof info, .info = (uint64_t)&info}};
    say("info: %s type %u insns %u gpl %d jited %d maps %u name '%s'", OK(bpf(BPF_OBJ_GET_INFO_BY_FD, &a)), info.type,
        info.xlated_prog_len / 8, info.gpl_compatible, info.jited_prog_len > 0, info.nr_map_ids, info.name);
    say("tag %02x%02x%02x%02x%02x%02x%02x%02x", info.tag[0], info.tag[1], info.tag[2], info.tag[3], info.tag[4],
        info.tag[5], info.tag[6], info.tag[7]);
    // A tracepoint's fields.
    int m = create(BPF_MAP_TYPE_ARRAY, 4, 32, 1, 0);
    f = open("/sys/kernel/tracing/events/syscalls/sys_enter_getpriority/id", O_RDONLY);
    b[read(f, b, 31)] = 0;
    t.config = atoi(b);
    int e3 = open_event(&t, 0, -1);
    int r = LOAD_AS(BPF_PROG_TYPE_TRACEPOINT, "GPL", LDVAL(2, m, 0), LDX(BPF_DW, 3, 1, 8), STX(BPF_DW, 2, 3, 0),
                    LDX(BPF_DW, 3, 1, 16), STX(BPF_DW, 2, 3, 8), LDX(BPF_DW, 3, 1, 24), STX(BPF_DW, 2, 3, 16),
                    MOVI(0, 1), EXIT);
    TRY(ioctl(e3, PERF_EVENT_IOC_SET_BPF, r));
    ioctl(e3, PERF_EVENT_IOC_ENABLE, 0);
    syscall(SYS_getpriority, 1, 4321);
    uint64_t v[4];
    uint32_t k = 0;
    lookup(m, &k, v);
    say("getpriority: nr %lu, %lu %lu", v[0], v[1], v[2]);
}

static void inherited(void) {
    say("[inherited]");
    int m = create(BPF_MAP_TYPE_ARRAY, 4, 32, 1, 0);
    int p = LOAD(LDVAL(1, m, 0), MOVI(2, 1), ATOMIC(BPF_DW, 1, 2, 0, BPF_ADD), MOVI(0, 0), EXIT);
    struct perf_event_attr a = watch();
    a.inherit = 1;
    int fd = open_event(&a, 0, -1);
    TRY(ioctl(fd, PERF_EVENT_IOC_SET_BPF, p));
    close(p);
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    pid_t c = fork();
    if (!c) {
        store(7);
        _exit(0);
    }
    waitpid(c, NULL, 0);
    store(2);
    uint64_t n, v[4];
    uint32_t k = 0;
    read(fd, &n, 8);
    lookup(m, &k, v);
    say("count %lu, runs %lu", n, v[0]);
}

int main(void) {
    maps();
    verifier();
    running();
    output();
    query();
    inherited();
    if (setresuid(1000, 1000, 1000)) return 1;
    say("[user]");
    TRY(create(BPF_MAP_TYPE_ARRAY, 4, 8, 4, 0));
    TRY(LOAD_AS(BPF_PROG_TYPE_SOCKET_FILTER, "GPL", MOVI(0, 0), EXIT));
    return 0;
}
