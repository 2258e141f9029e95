// SPDX-License-Identifier: Apache-2.0
// Random calls of all that can be done with perf events, by one thread, in which only what does not depend on time is
// looked at: results, errors, numbers of group members, whose id stands where, end of file, hang-ups, the fixed part of
// control pages. perf_random: a line for each seed; perf_random FIRST LAST: for these. perf_random SEED: each call.
#include "perf_guest.h"

#include <poll.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { kFds = 24, kMaps = 8, kChildren = 3, kSeeds = 40, kSteps = 250 };

static uint64_t state, digest;
static int verbose;
static uint64_t rnd(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}
static unsigned below(unsigned n) { return (unsigned)(rnd() >> 33) % n; }
static int one_in(unsigned n) { return below(n) == 0; }

__attribute__((format(printf, 1, 2))) static void say(const char* format, ...) {
    char line[256];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    for (const char* p = line; *p; ++p) digest = (digest ^ (unsigned char)*p) * 0x100000001b3ull;
    if (verbose) printf("%s\n", line), fflush(stdout);
}
static const char* result(long value) {
    static char text[4][32];
    static int next;
    char* t = text[next = (next + 1) % 4];
    if (value < 0)
        snprintf(t, sizeof text[0], "%s", strerrorname_np(errno));
    else
        snprintf(t, sizeof text[0], "%ld", value);
    return t;
}

static struct slot {
    int fd;
    uint64_t id;
    struct perf_event_attr attr;
} slots[kFds];
static int nslots, other_file, children[kChildren], nchildren, alive[2];
static struct {
    char* at;
    size_t size;
} maps[kMaps];
static int nmaps;
static volatile uint64_t watched[8];

static struct slot* any(void) { return nslots ? &slots[below((unsigned)nslots)] : NULL; }
static int any_fd(void) {
    switch (below(14)) {
        case 0: return -1;
        case 1: return 999;
        case 2: return other_file;
        default: return nslots ? any()->fd : -1;
    }
}
/// What is said of an id: which of our events it is.
static int whose(uint64_t id) {
    for (int i = 0; i < nslots; ++i)
        if (slots[i].id == id) return i;
    return -1;
}

static int tracepoint(const char* event) {
    char path[128], text[16] = "";
    snprintf(path, sizeof path, "/sys/kernel/tracing/events/%s/id", event);
    const int fd = open(path, O_RDONLY);
    if (fd < 0) return 0;
    if (read(fd, text, sizeof text - 1) <= 0) text[0] = 0;
    close(fd);
    return atoi(text);
}

static void fill(struct perf_event_attr* a) {
    static const uint64_t kRaw[] = {0x11, 0x11, 0x11, 0x3fe};
    static const char* const kEvents[] = {"sched/sched_switch", "raw_syscalls/sys_enter", "syscalls/sys_enter_openat"};
    memset(a, 0, sizeof *a);
    a->size = one_in(12)  ? below(200)
              : one_in(6) ? (uint32_t[]){64, 72, 80, 96, 104, 112, 120, 128, 136}[below(9)]
                          : (uint32_t)sizeof *a;
    switch (below(9)) {
        case 0:
            a->type = PERF_TYPE_HARDWARE;
            a->config = one_in(4) ? 10 + below(5) : 0;
            break;
        case 1:
            a->type = PERF_TYPE_RAW;
            a->config = kRaw[below(4)];
            if (one_in(6)) a->config1 = below(4);
            break;
        case 2:
            a->type = PERF_TYPE_BREAKPOINT;
            a->bp_type = one_in(8) ? below(9) : 1 + below(3);
            a->bp_addr = (uintptr_t)&watched[below(8)] + (one_in(6) ? below(8) : 0);
            a->bp_len = one_in(4) ? below(10) : 8;
            if (one_in(8)) a->bp_type = 4, a->bp_len = one_in(2) ? 4 : 8, a->bp_addr = (uintptr_t)&fill;
            break;
        case 3:
            a->type = PERF_TYPE_TRACEPOINT;
            a->config = one_in(6) ? 60000 + below(9) : (uint64_t)tracepoint(kEvents[below(3)]);
            break;
        case 4:
            a->type = one_in(2) ? 6 + below(2) : 40 + below(100);
            a->config = below(4);
            break;
        default:
            a->type = PERF_TYPE_SOFTWARE;
            a->config = one_in(10) ? 12 + below(4) : below(11);
            break;
    }
    a->disabled = one_in(2);
    a->inherit = one_in(5);
    a->pinned = one_in(10);
    a->exclusive = one_in(16);
    a->exclude_user = one_in(6);
    a->exclude_kernel = one_in(2);
    a->exclude_hv = one_in(3);
    a->exclude_idle = one_in(8);
    a->exclude_host = one_in(24);
    a->exclude_guest = one_in(8);
    a->read_format = one_in(8) ? below(64) : below(32);
    a->enable_on_exec = one_in(8);
    a->inherit_stat = one_in(10);
    a->inherit_thread = one_in(10);
    a->remove_on_exec = one_in(12);
    a->sigtrap = one_in(30);
    a->task = one_in(6);
    a->comm = one_in(6);
    a->comm_exec = one_in(8);
    a->mmap = one_in(6);
    a->mmap2 = one_in(8);
    a->mmap_data = one_in(8);
    a->build_id = one_in(12);
    a->context_switch = one_in(8);
    a->namespaces = one_in(12);
    a->ksymbol = one_in(12);
    a->bpf_event = one_in(16);
    a->cgroup = one_in(16);
    a->text_poke = one_in(16);
    a->sample_id_all = one_in(2);
    a->write_backward = one_in(12);
    a->aux_output = one_in(30);
    a->watermark = one_in(6);
    a->wakeup_events = one_in(4) ? below(1000) : 0;
    if (one_in(14)) a->precise_ip = below(4);
    if (one_in(10)) a->use_clockid = 1, a->clockid = (int)below(13) - 1;
    if (one_in(3)) {
        a->freq = one_in(4);
        a->sample_period = a->freq      ? (one_in(6) ? 100001 : 1 + below(300))
                           : one_in(12) ? rnd()
                                        : 100000000 + below(1000);
        a->sample_type = rnd() & (one_in(6) ? 0x1ffffff : 0x1f00ef & ~(uint64_t)PERF_SAMPLE_BRANCH_STACK);
        if (a->sample_type & PERF_SAMPLE_REGS_USER) a->sample_regs_user = one_in(4) ? rnd() : rnd() & 0x1ffffffff;
        if (a->sample_type & PERF_SAMPLE_REGS_INTR) a->sample_regs_intr = one_in(4) ? rnd() : 1 + below(1000);
        if (a->sample_type & PERF_SAMPLE_STACK_USER) a->sample_stack_user = one_in(3) ? below(70000) : 8 * below(1000);
        if (a->sample_type & PERF_SAMPLE_BRANCH_STACK) a->branch_sample_type = below(0x80000);
        if (one_in(10)) a->sample_max_stack = (uint16_t)below(300);
        if (one_in(12)) a->aux_sample_size = below(70000);
        a->exclude_callchain_user = one_in(8);
        a->exclude_callchain_kernel = one_in(8);
    }
    // A hit of a breakpoint that is signalled comes again and again.
    if (a->type == PERF_TYPE_BREAKPOINT) a->sample_period = 0, a->freq = a->sigtrap = 0;
    if (one_in(12)) ((unsigned char*)a)[below(sizeof *a)] ^= (unsigned char)(1u << below(8));
}

static void op_open(void) {
    if (nslots == kFds) return;
    struct perf_event_attr a;
    fill(&a);
    int pid = one_in(3) ? -1 : 0, cpu = pid < 0 || one_in(5) ? 0 : -1;
    if (one_in(8)) cpu = (const int[]){-2, 1000, 64, 4096, -1, 0x7fffffff}[below(6)];
    if (one_in(10)) pid = one_in(2) ? getpid() : 99999;
    if (nchildren && one_in(4)) pid = children[below((unsigned)nchildren)];
    const int group = one_in(3) ? any_fd() : -1;
    const unsigned long flags = one_in(6) ? below(16) : one_in(40) ? 16 : 0;
    const uint32_t size = a.size;
    errno = 0;
    const int fd = perf_open(&a, pid, cpu, group, flags);
    const int error = errno;
    const int kind = pid == -1 ? 0 : pid == 0 ? 1 : 2;
    errno = error;
    say("open type %u config %s size %u target %d cpu %d group %d flags %lx: %s, size %u", a.type,
        a.type == PERF_TYPE_TRACEPOINT ? "-" : result((long)(a.config & 0xffff)), size, kind, cpu,
        group == other_file ? 77 : group, flags, fd < 0 ? strerrorname_np(error) : "ok", a.size);
    if (fd < 0) return;
    struct slot* s = &slots[nslots++];
    s->fd = fd;
    s->attr = a;
    ioctl(fd, PERF_EVENT_IOC_ID, &s->id);
    say("  fd %d cloexec %d id %d", fd, fcntl(fd, F_GETFD), whose(s->id) == nslots - 1);
}

static void op_read(void) {
    struct slot* s = any();
    if (!s) return;
    uint64_t v[600] = {0};
    const size_t size = one_in(4) ? below(80) : sizeof v;
    const long n = read(s->fd, v, size);
    say("read %ld format %llx size %zu: %s", (long)(s - slots), (unsigned long long)s->attr.read_format, size,
        result(n));
    if (n <= 0) return;
    const uint64_t f = s->attr.read_format;
    if (f & PERF_FORMAT_GROUP) {
        size_t at = 1 + !!(f & PERF_FORMAT_TOTAL_TIME_ENABLED) + !!(f & PERF_FORMAT_TOTAL_TIME_RUNNING);
        say("  members %llu", (unsigned long long)v[0]);
        for (uint64_t i = 0; i < v[0] && i < 100; ++i) {
            ++at;
            if (f & PERF_FORMAT_ID) say("  id %d", whose(v[at++]));
            if (f & PERF_FORMAT_LOST) say("  lost %llu", (unsigned long long)v[at++]);
        }
    } else {
        size_t at = 1;
        if (s->attr.type == PERF_TYPE_SOFTWARE && s->attr.config == PERF_COUNT_SW_DUMMY)
            say("  count %llu", (unsigned long long)v[0]);
        if (f & PERF_FORMAT_TOTAL_TIME_ENABLED) say("  enabled %d", v[at++] != 0);
        if (f & PERF_FORMAT_TOTAL_TIME_RUNNING) ++at;
        if (f & PERF_FORMAT_ID) say("  id %d", whose(v[at++]));
        if (f & PERF_FORMAT_LOST) say("  lost %llu", (unsigned long long)v[at++]);
    }
}

static void op_ioctl(void) {
    struct slot* s = any();
    if (!s) return;
    const int n = (int)(s - slots);
    uint64_t value = one_in(6) ? rnd() : 1 + below(1000);
    const unsigned long group = one_in(4);
    switch (below(13)) {
        case 0:
        case 1: say("enable %d %lu: %s", n, group, result(ioctl(s->fd, PERF_EVENT_IOC_ENABLE, group))); break;
        case 2: say("disable %d %lu: %s", n, group, result(ioctl(s->fd, PERF_EVENT_IOC_DISABLE, group))); break;
        case 3: say("reset %d %lu: %s", n, group, result(ioctl(s->fd, PERF_EVENT_IOC_RESET, group))); break;
        case 4: say("refresh %d: %s", n, result(ioctl(s->fd, PERF_EVENT_IOC_REFRESH, below(4)))); break;
        case 5:
            value = one_in(6) ? rnd() : one_in(6) ? 0 : 100000000 + below(1000);
            if (s->attr.freq && value > 1000) value = value % 1000 + 1;
            say("period %d: %s", n, result(ioctl(s->fd, PERF_EVENT_IOC_PERIOD, one_in(12) ? (void*)8 : &value)));
            break;
        case 6: {
            const int to = any_fd();
            say("set_output %d to %d: %s", n, to == other_file ? 77 : to,
                result(ioctl(s->fd, PERF_EVENT_IOC_SET_OUTPUT, to)));
            break;
        }
        case 7: say("pause %d: %s", n, result(ioctl(s->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, one_in(2)))); break;
        case 8:
            value = 0;
            say("id %d: %s", n, result(ioctl(s->fd, PERF_EVENT_IOC_ID, one_in(10) ? (void*)8 : &value)));
            if (value) say("  %d", whose(value));
            break;
        case 9: {
            static const char* const kFilters[] = {"common_pid == 1", "nonsense", "", "prev_pid > 0 && next_pid != 3",
                                                   "id == 4"};
            const unsigned which = below(6);
            say("filter %d %u: %s", n, which,
                result(ioctl(s->fd, PERF_EVENT_IOC_SET_FILTER, which == 5 ? (void*)8 : (void*)kFilters[which])));
            break;
        }
        case 10: {
            struct perf_event_attr a = s->attr;
            a.size = sizeof a;
            if (one_in(3)) fill(&a);
            if (one_in(3)) a.bp_len = 4, a.bp_addr = (uintptr_t)&watched[below(8)];
            a.disabled = one_in(2);
            say("modify %d: %s", n, result(ioctl(s->fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, one_in(14) ? (void*)8 : &a)));
            break;
        }
        case 11:
            say("set_bpf %d: %s", n, result(ioctl(s->fd, PERF_EVENT_IOC_SET_BPF, one_in(2) ? -1 : other_file)));
            break;
        default: {
            const unsigned long request = one_in(2) ? _IO('$', 12 + below(9)) : (unsigned long)below(0x10000);
            say("ioctl %d %lx: %s", n, request, result(ioctl(s->fd, request, 0)));
            break;
        }
    }
}

static void op_mmap(void) {
    struct slot* s = any();
    if (!s || nmaps == kMaps) return;
    const size_t size = (one_in(5) ? below(20) : 1 + (one_in(6) ? 0 : 1u << below(6))) * 4096;
    const int prot = one_in(3) ? PROT_READ : one_in(12) ? PROT_READ | PROT_EXEC : PROT_READ | PROT_WRITE;
    const int flags = one_in(10) ? MAP_PRIVATE : MAP_SHARED;
    const long offset = one_in(12) ? 4096 * (1 + below(3)) : 0;
    char* p = mmap(NULL, size, prot, flags, s->fd, offset);
    say("mmap %ld %zu prot %x flags %x offset %ld: %s", (long)(s - slots), size, (unsigned)prot, (unsigned)flags,
        offset, p == MAP_FAILED ? result(-1) : "ok");
    if (p == MAP_FAILED) return;
    maps[nmaps].at = p;
    maps[nmaps++].size = size;
    const struct perf_event_mmap_page* page = (void*)p;
    if (!offset)
        say("  version %u %u data %llu %llu aux %llu caps %d", page->version, page->compat_version,
            (unsigned long long)page->data_offset, (unsigned long long)page->data_size,
            (unsigned long long)page->aux_size, page->cap_bit0_is_deprecated);
}
static void op_munmap(void) {
    if (!nmaps) return;
    const unsigned i = below((unsigned)nmaps);
    if (one_in(8)) say("mprotect: %s", result(mprotect(maps[i].at, maps[i].size, PROT_READ | PROT_WRITE)));
    say("munmap %u: %s", i, result(munmap(maps[i].at, maps[i].size)));
    maps[i] = maps[--nmaps];
}
static void op_close(void) {
    struct slot* s = any();
    if (!s) return;
    say("close %ld: %s", (long)(s - slots), result(close(s->fd)));
    *s = slots[--nslots];
}
static void op_poll(void) {
    struct slot* s = any();
    if (!s) return;
    struct pollfd p = {s->fd, POLLIN, 0};
    const long n = poll(&p, 1, 0);
    // A buffer may or may not have been woken.
    const int in_doubt = nmaps || s->attr.sample_period;
    say("poll %ld: %s %x", (long)(s - slots), in_doubt ? "-" : result(n),
        (unsigned)p.revents & ~(in_doubt ? POLLIN : 0));
}
static void op_file(void) {
    struct slot* s = any();
    if (!s) return;
    char b[16] = "x";
    struct stat st;
    switch (below(7)) {
        case 0: say("write: %s", result(write(s->fd, b, 1))); break;
        case 1: say("lseek: %s", result(lseek(s->fd, 0, SEEK_SET))); break;
        case 2: say("pread: %s", result(pread(s->fd, b, 8, 0))); break;
        case 3: say("fstat: %s mode %o size %ld", result(fstat(s->fd, &st)), st.st_mode, (long)st.st_size); break;
        case 4: say("fsync: %s", result(fsync(s->fd))); break;
        case 5: say("ftruncate: %s", result(ftruncate(s->fd, 0))); break;
        default: {
            const int async = one_in(2) ? O_ASYNC : 0;
            say("flags %x: %s", (unsigned)fcntl(s->fd, F_GETFL), result(fcntl(s->fd, F_SETFL, async)));
        }
    }
}
static void op_dup(void) {
    struct slot* s = any();
    if (!s || nslots == kFds) return;
    const int fd = dup(s->fd);
    say("dup %ld: %d", (long)(s - slots), fd);
    slots[nslots] = *s;
    slots[nslots++].fd = fd;
}
static void op_prctl(void) {
    const int on = one_in(2);
    say("prctl %d: %s", on, result(prctl(on ? PR_TASK_PERF_EVENTS_ENABLE : PR_TASK_PERF_EVENTS_DISABLE)));
}
/// Until the child sleeps in its read: whether it runs while an event of it is open must not depend on anybody's speed.
static void wait_asleep(int pid) {
    char path[32], text[64];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    for (;;) {
        const int fd = open(path, O_RDONLY);
        const long n = read(fd, text, sizeof text - 1);
        close(fd);
        text[n > 0 ? n : 0] = 0;
        const char* state_of = strrchr(text, ')');
        if (!state_of || state_of[2] == 'S') return;
        usleep(100);
    }
}
static void op_child(void) {
    if (nchildren < kChildren && one_in(2)) {
        fflush(stdout);
        const int pid = fork();
        if (pid < 0) {
            say("fork: %s", result(-1));
            return;
        }
        if (!pid) {
            char b;
            close(alive[1]);
            while (read(alive[0], &b, 1) > 0) continue;
            _exit(0);
        }
        wait_asleep(pid);
        children[nchildren++] = pid;
        say("fork");
    } else if (nchildren) {
        const unsigned i = below((unsigned)nchildren);
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
        children[i] = children[--nchildren];
        say("gone");
    }
}
static void op_sysctl(void) {
    static const struct {
        const char *name, *values[7];
    } kFiles[] = {{"perf_event_paranoid", {"-1", "0", "1", "2", "-2", "x", "3"}},
                  {"perf_event_mlock_kb", {"516", "0", "64", "1024", "-1", "x", "516"}},
                  {"perf_event_max_sample_rate", {"100000", "1", "0", "250", "-1", "x", "100000"}},
                  {"perf_cpu_time_max_percent", {"0", "101", "100", "-1", "x", "0", "100"}},
                  {"perf_event_max_stack", {"127", "0", "641", "640", "-1", "x", "127"}},
                  {"perf_event_max_contexts_per_stack", {"8", "0", "1001", "1000", "-1", "x", "8"}}};
    const unsigned file = below(6), value = below(7);
    char path[96], text[32] = "";
    snprintf(path, sizeof path, "/proc/sys/kernel/%s", kFiles[file].name);
    const int fd = open(path, O_RDWR);
    if (fd < 0) {
        say("sysctl %u: %s", file, result(-1));
        return;
    }
    const char* v = kFiles[file].values[value];
    say("sysctl %s %s: %s", kFiles[file].name, v, result(write(fd, v, strlen(v))));
    close(fd);
    const int again = open(path, O_RDONLY);
    read(again, text, sizeof text - 1);
    close(again);
    say("  %s", text);
}
static void op_work(void) {
    touch_pages((int)below(4) + 1);
    for (unsigned i = 0; i < 50; ++i) watched[i & 7] += i;
}
/// The rest as somebody without rights.
static void op_drop(void) {
    if (getuid() || nchildren || !one_in(4)) return; // it could not end them
    say("drop: %s", result(setresuid(1000, 1000, 1000)));
}

static void (*const kOps[])(void) = {op_open, op_read, op_ioctl, op_mmap,  op_munmap, op_close, op_poll,
                                     op_file, op_dup,  op_prctl, op_child, op_sysctl, op_work,  op_drop};
static const unsigned char kWeights[] = {30, 14, 24, 8, 4, 7, 5, 4, 2, 2, 4, 3, 4, 1};

static void set_sysctl(const char* name, const char* value) {
    char path[96];
    snprintf(path, sizeof path, "/proc/sys/kernel/%s", name);
    const int fd = open(path, O_WRONLY);
    write(fd, value, strlen(value));
    close(fd);
}

static void run(uint64_t seed) {
    set_sysctl("perf_event_paranoid", "2");
    set_sysctl("perf_event_mlock_kb", "516");
    set_sysctl("perf_cpu_time_max_percent", "100");
    set_sysctl("perf_event_max_sample_rate", "100000");
    set_sysctl("perf_event_max_stack", "127");
    set_sysctl("perf_event_max_contexts_per_stack", "8");
    struct rlimit lock = {65536, 65536};
    setrlimit(RLIMIT_MEMLOCK, &lock);
    bind_to(0);
    signal(SIGTRAP, SIG_IGN);
    signal(SIGIO, SIG_IGN);
    state = seed * 0x9e3779b97f4a7c15ull + 1;
    digest = 0xcbf29ce484222325ull;
    for (int i = 0; i < 20; ++i) rnd();
    other_file = open("/dev/null", O_RDWR);
    pipe(alive);
    unsigned total = 0;
    for (size_t i = 0; i < sizeof kWeights; ++i) total += kWeights[i];
    for (int n = 0; n < kSteps; ++n) {
        unsigned w = below(total);
        size_t op = 0;
        while (w >= kWeights[op]) w -= kWeights[op++];
        if (verbose) printf("%d ", n);
        errno = 0;
        kOps[op]();
        if (verbose) printf("\n");
    }
    while (nchildren) {
        kill(children[--nchildren], SIGKILL);
        waitpid(children[nchildren], NULL, 0);
    }
    printf("seed %llu: %016llx\n", (unsigned long long)seed, (unsigned long long)digest);
    fflush(stdout);
}

int main(int argc, char** argv) {
    verbose = argc == 2;
    const uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    const uint64_t last = argc > 2 ? strtoull(argv[2], NULL, 0) : verbose ? first : kSeeds;
    for (uint64_t seed = first; seed <= last; ++seed) {
        fflush(stdout);
        const int pid = fork();
        if (!pid) {
            run(seed);
            _exit(0);
        }
        int status;
        waitpid(pid, &status, 0);
        if (status) printf("seed %llu: status %x\n", (unsigned long long)seed, (unsigned)status);
    }
    return 0;
}
