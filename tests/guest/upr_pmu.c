// SPDX-License-Identifier: Apache-2.0
// The PMU "uprobe" and uprobe_events as programs see them: requests, counts, records, definitions and their errors.
#include "upr_guest.h"

#define TRACE "/sys/kernel/tracing/"

long p_add(long a, long b), p_two(long a);
extern char p_ret[], p_ldxr[];
asm(".text\n.balign 64\n.global p_add, p_ret, p_ldxr, p_two\n"
    "p_add:	add x0, x0, x1\n"
    "p_ret:	ret\n"
    "p_ldxr: ldxr x0, [x0]\n"
    "	ret\n"
    "p_two:	add x0, x0, #2\n"
    "	ret\n");

static const char self[] = "/proc/self/exe";

static int open_event(struct perf_event_attr* a, pid_t pid, int cpu) {
    a->size = sizeof *a;
    return (int)syscall(SYS_perf_event_open, a, pid, cpu, -1, 0);
}
static struct perf_event_attr attr(uint64_t offset) {
    struct perf_event_attr a = {.disabled = 1};
    a.type = (uint32_t)number_in("/sys/bus/event_source/devices/uprobe/type");
    a.uprobe_path = (uint64_t)self;
    a.probe_offset = offset;
    return a;
}
static int spill(const char* file, const char* text) {
    const int fd = open(file, O_WRONLY | O_APPEND);
    if (fd < 0) return -1;
    const ssize_t n = write(fd, text, strlen(text));
    const int e = errno;
    close(fd);
    errno = e;
    return n < 0 ? -1 : 0;
}
static void slurp(const char* file, char* b, size_t size) {
    const int fd = open(file, O_RDONLY);
    ssize_t n = 0, k;
    while (fd >= 0 && (size_t)n < size - 1 && (k = read(fd, b + n, size - 1 - (size_t)n)) > 0) n += k;
    b[n] = 0;
    close(fd);
}
static int define(const char* format, ...) {
    char b[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(b, sizeof b, format, ap);
    va_end(ap);
    return spill(TRACE "uprobe_events", b);
}

struct ring {
    struct perf_event_mmap_page* page;
    char* data;
};
static struct ring map_ring(int fd) {
    struct ring r;
    r.page = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    r.data = (char*)r.page + PAGE;
    return r;
}
static struct perf_event_header* next(struct ring* r) {
    if (r->page->data_tail == r->page->data_head) return NULL;
    struct perf_event_header* h = (void*)(r->data + r->page->data_tail % (2 * PAGE));
    r->page->data_tail += h->size;
    return h;
}

static void requests(void) {
    const uint64_t off = file_offset(p_add);
    struct perf_event_attr a = attr(off);
    // A dynamic type; an attribute of another type is not its [UPR-083].
    say("type: %d", a.type > PERF_TYPE_BREAKPOINT);
    // The order of checks [UPR-084][CORE-480].
    a.sample_type = PERF_SAMPLE_BRANCH_STACK;
    a.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
    a.uprobe_path = 0;
    say("branch stack before path: %s", OK(open_event(&a, 0, -1)));
    a = attr(off);
    a.uprobe_path = 0;
    say("no path: %s", OK(open_event(&a, 0, -1)));
    a.uprobe_path = 8;
    say("bad pointer: %s", OK(open_event(&a, 0, -1)));
    a.uprobe_path = (uint64_t) "";
    say("empty: %s", OK(open_event(&a, 0, -1)));
    char* lng = malloc(5000);
    memset(lng, '/', 4999);
    lng[4999] = 0;
    a.uprobe_path = (uint64_t)lng;
    say("long: %s", OK(open_event(&a, 0, -1)));
    lng[4095] = 0;
    say("4095 characters: %s", OK(open_event(&a, 0, -1)));
    a.uprobe_path = (uint64_t) "/no/such";
    say("no file: %s", OK(open_event(&a, 0, -1)));
    a.uprobe_path = (uint64_t) "/dev/null";
    say("a device: %s", OK(open_event(&a, 0, -1)));
    // Bit 0 is the return probe, the upper half the reference counter, the rest ignored [UPR-085].
    a = attr(off);
    a.config = 0xfffffffe;
    say("other bits: %s", OK(open_event(&a, 0, -1)));
    a.config = 1ull << 32;
    say("counter at an odd offset: %s", OK(open_event(&a, 0, -1)));
    // A refused instruction is an error where the file is mapped by who is asked for, and none elsewhere [UPR-086].
    a = attr(file_offset(p_ldxr));
    say("refused instruction: %s", OK(open_event(&a, 0, -1)));
    a.enable_on_exec = 1; // opened without looking: exec will map it [UPR-088]
    say("the same for after an exec: %s", OK(open_event(&a, 0, -1)));
}

static void counts(void) {
    const int other = probe_file(self, file_offset(p_add), 0, 1, -1); // of process 1 only
    uint32_t word;
    memcpy(&word, p_add, 4);
    // Only address spaces of the events' tasks are probed [UPR-087].
    say("for another process: %s, %s here", OK(other), word == 0xd42000a0 ? "the breakpoint" : "the instruction");
    struct perf_event_attr a = attr(file_offset(p_add));
    const int one = open_event(&a, 0, -1);
    a.exclude_kernel = 1; // no effect [UPR-094]
    const int two = open_event(&a, 0, -1);
    ioctl(one, PERF_EVENT_IOC_ENABLE, 0);
    ioctl(two, PERF_EVENT_IOC_ENABLE, 0);
    for (int i = 0; i < 5; i++) p_add(1, 2);
    // Each event of the PMU has its own consumer at the place [UPR-089].
    say("two events: %lu %lu", hits(one), hits(two));
    close(one);
    p_add(1, 2);
    say("one closed: %lu", hits(two));
    a.exclude_kernel = 0;
    a.exclude_user = 1;
    const int user = open_event(&a, 0, -1);
    ioctl(user, PERF_EVENT_IOC_ENABLE, 0);
    p_add(1, 2);
    say("exclude_user: %lu", hits(user));
    // A child that is not wanted loses its breakpoint at the first hit [UPR-090].
    pid_t p = fork();
    if (p == 0) {
        memcpy(&word, p_add, 4);
        const int before = word == 0xd42000a0;
        p_add(1, 2);
        memcpy(&word, p_add, 4);
        _exit(before * 2 + (word == 0xd42000a0));
    }
    int s;
    waitpid(p, &s, 0);
    say("child, breakpoint before and after: %s; parent %lu", status_text(s), hits(two));
    // Written pages are seen by instruction fetch at once [UPR-019].
    close(two);
    close(user);
    say("closed: %ld", p_add(20, 22));
}

static void records(void) {
    for (int ret = 0; ret < 2; ret++) {
        struct perf_event_attr a = attr(file_offset(p_add));
        a.config = (uint64_t)ret;
        a.sample_period = 1;
        a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_RAW;
        const int fd = open_event(&a, 0, -1);
        struct ring r = map_ring(fd);
        ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
        p_add(1, 2);
        ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
        for (struct perf_event_header* h; (h = next(&r));) {
            uint64_t ip, w[2];
            uint32_t size;
            uint16_t type;
            memcpy(&ip, h + 1, 8);
            memcpy(&size, (char*)(h + 1) + 8, 4);
            memcpy(&type, (char*)(h + 1) + 12, 2);
            memcpy(w, (char*)(h + 1) + 20, 16);
            // Head, place and padding [UPR-091]; the sample's ip [UPR-092]; no type of its own [UPR-095].
            say("%s: raw %u, type %u, first word the probe %d, ip %s", ret ? "return" : "entry", size, type,
                w[0] == (uint64_t)p_add,
                ip == (uint64_t)p_add ? "the probe"
                : ret && ip == w[1]   ? "the caller"
                                      : "other");
        }
        close(fd);
    }
}

static int tracepoint(const char* name) {
    char path[128];
    snprintf(path, sizeof path, TRACE "events/%s/id", name);
    struct perf_event_attr a = {.type = PERF_TYPE_TRACEPOINT, .disabled = 1};
    a.config = (uint64_t)number_in(path);
    const int fd = open_event(&a, 0, -1);
    if (fd >= 0) ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    return fd;
}

static void definitions(void) {
    const unsigned long off = file_offset(p_add), two = file_offset(p_two);
    static char b[8192];
    // Group, name and place; the default name [UPR-096].
    say("plain: %s", OK(define("p %s:0x%lx", self, off)));
    say("with a name: %s", OK(define("p:uprg/one %s:%lu%%return v=$retval", self, off)));
    slurp(TRACE "uprobe_events", b, sizeof b);
    // Listed with 16 digits [UPR-100].
    for (char* line = strtok(b, "\n"); line; line = strtok(NULL, "\n")) {
        char *at = strstr(line, ":0x"), *name = strstr(line, "p_exe_0x");
        say("%.*s:0x(%zu digits)%s", (int)((name ? name + 8 : at) - line), line, strspn(at + 3, "0123456789abcdef"),
            at + 19);
    }
    static const char* const wrong[] = {"p:uprg/x %s",
                                        "p:uprg/x %s:zz",
                                        "p:uprg/x /no/such:0x10",
                                        "p:uprg/x /proc:0x10",
                                        "p:uprg/x %s:0x10(0x20",
                                        "p:uprg/x %s:0x10(0x20)x",
                                        "p:uprg/x %s:0x10(zz)",
                                        "p:uprg/x %s:0x10%%retur",
                                        "p:uprg/x %s:0x10%%return+4",
                                        "x:uprg/x %s:0x10",
                                        "p:uprg/ %s:0x10",
                                        "p:/x %s:0x10",
                                        "p:uprg/9 %s:0x10",
                                        "p:uprg/x %s:0x10 a=",
                                        "p:uprg/x %s:0x10 =%%x0",
                                        "p:uprg/x %s:0x10 a=%%y0",
                                        "p:uprg/x %s:0x10 a=+8(%%x0",
                                        "p:uprg/x %s:0x10 a=+8%%x0",
                                        "p:uprg/x %s:0x10 a=@main",
                                        "p:uprg/x %s:0x10 a=%%x0:string",
                                        "p:uprg/x %s:0x10 a=%%x0:u8[2]",
                                        "p:uprg/x %s:0x10 a=+0(%%x0):u8[65]",
                                        "p:uprg/x %s:0x10 a=+0(%%x0):u8[",
                                        "p:uprg/x %s:0x10 a=%%x0:b0@1/8",
                                        "p:uprg/x %s:0x10 a=%%x0:b9@0/8",
                                        "p:uprg/x %s:0x10 a=$nothing",
                                        "p:uprg/x %s:0x10 a=\\x",
                                        "p:uprg/x %s:0x10 a=\\\"open",
                                        "p:uprg/x %s:0x10 a=+0($comm)",
                                        "p:uprg/x %s:0x10 common_pid=%%x0",
                                        "-:uprg/none",
                                        "-uprg/one",
                                        "-:"};
    // What a definition may look like [UPR-097].
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[256];
        snprintf(text, sizeof text, wrong[i], self);
        say("%s: %s", text, OK(spill(TRACE "uprobe_events", text)));
    }
    slurp(TRACE "error_log", b, sizeof b);
    int lines = 0;
    for (char* line = strtok(b, "\n"); line; line = strtok(NULL, "\n")) {
        char* what = strstr(line, "] ");
        if (++lines <= 9) say("log: %s", what && line[0] == '[' ? what + 2 : line);
    }
    say("another kind: %s", OK(define("p:uprg/one %s:0x%lx", self, two)));
    say("other arguments: %s", OK(define("r:uprg/one %s:0x%lx v=%%x0 w=%%x1", self, two)));
    say("the very same: %s", OK(define("r:uprg/one %s:0x%lx v=$retval", self, off)));
    say("another counter there: %s", OK(define("p:uprg/two %s:0x%lx(0x20)", self, off)));
    const int fd = tracepoint("uprg/one");
    say("deleted in use: %s", OK(define("-:uprg/one")));
    // One at a time: perf or the enable file [UPR-098].
    say("enabled while perf has it: %s", OK(spill(TRACE "events/uprg/one/enable", "1")));
    p_add(1, 2);
    say("hits %lu", hits(fd));
    close(fd);
    say("enabled: %s", OK(spill(TRACE "events/uprg/one/enable", "1")));
    say("perf while it is enabled: %s", OK(tracepoint("uprg/one")));
    say("disabled: %s", OK(spill(TRACE "events/uprg/one/enable", "0")));
    slurp(TRACE "uprobe_profile", b, sizeof b);
    for (char* line = strtok(b, "\n"); line; line = strtok(NULL, "\n")) {
        char file[64] = "", name[64] = "";
        unsigned long n = 99;
        sscanf(line, "%63s %63s %lu", file, name, &n);
        say("profile: %s %.6s %d", file, name, n > 0);
    }
    // Who may open one [UPR-099].
    say("paranoid: %s", OK(spill("/proc/sys/kernel/perf_event_paranoid", "2")));
    char path[64];
    snprintf(path, sizeof path, TRACE "events/uprg/one/id");
    struct perf_event_attr a = {.type = PERF_TYPE_TRACEPOINT, .disabled = 1, .exclude_kernel = 1};
    a.config = (uint64_t)number_in(path);
    pid_t p = fork();
    if (p == 0) {
        if (setresuid(1000, 1000, 1000)) _exit(9);
        say("a user, counting: %s", OK(open_event(&a, 0, -1)));
        a.sample_type = PERF_SAMPLE_RAW;
        a.sample_period = 1;
        say("a user, raw data of the own task: %s", OK(open_event(&a, 0, -1)));
        say("a user, raw data of a CPU: %s", OK(open_event(&a, -1, 0)));
        struct perf_event_attr u = attr(off);
        u.exclude_kernel = 1;
        say("a user, the PMU: %s", OK(open_event(&u, 0, -1)));
        _exit(0);
    }
    waitpid(p, NULL, 0);
    say("all deleted: %s", OK(define("-:uprg/one\n-:uprobes/p_exe_0x%lx", off)));
}

// The file may go: the probe keeps it [UPR-101].
static void unlinked(void) {
    char b[1 << 16];
    const int in = open(self, O_RDONLY), out = open("/tmp/upr_copy", O_CREAT | O_TRUNC | O_WRONLY, 0755);
    for (ssize_t n; (n = read(in, b, sizeof b)) > 0;)
        if (write(out, b, (size_t)n) != n) _exit(97);
    close(out);
    const uint64_t off = file_offset(p_add);
    const int fd = probe_file("/tmp/upr_copy", off, 0, 0, -1);
    const int copy = open("/tmp/upr_copy", O_RDONLY);
    unlink("/tmp/upr_copy");
    char* p = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, copy, (off_t)(off & ~(PAGE - 1)));
    close(copy);
    const long r = ((long (*)(long, long))(p + (off & (PAGE - 1))))(30, 12);
    say("result %ld, hits %lu", r, hits(fd));
}

// The MMAP record of a mapping is there whether or not it is probed, and changed mappings are probed, too [UPR-027] [UPR-028].
static void mapped(void) {
    const uint64_t off = file_offset(p_add);
    const int fd = probe((void*)p_add, 0), file = open(self, O_RDONLY);
    struct perf_event_attr a = {
        .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .mmap = 1, .sample_id_all = 0};
    const int side = open_event(&a, 0, -1);
    struct ring r = map_ring(side);
    ioctl(side, PERF_EVENT_IOC_ENABLE, 0);
    char* p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, (off_t)(off & ~(PAGE - 1)));
    int n = 0;
    for (struct perf_event_header* h; (h = next(&r));) n += h->type == PERF_RECORD_MMAP;
    uint32_t word;
    memcpy(&word, p + (off & (PAGE - 1)), 4);
    say("records %d, %s", n, word == 0xd42000a0 ? "the breakpoint" : "the instruction");
    mprotect(p + PAGE, PAGE, PROT_READ); // splits
    memcpy(&word, p + (off & (PAGE - 1)), 4);
    say("after a split: %s, result %ld, hits %lu", word == 0xd42000a0 ? "the breakpoint" : "the instruction",
        ((long (*)(long, long))(p + (off & (PAGE - 1))))(1, 1), hits(fd));
}

int main(void) {
    in_child("requests", requests);
    in_child("counts", counts);
    in_child("records", records);
    in_child("definitions", definitions);
    in_child("unlinked", unlinked);
    in_child("mapped", mapped);
    return 0;
}
