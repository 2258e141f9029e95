// SPDX-License-Identifier: Apache-2.0
// What probes fetch, as the trace file shows it: registers, memory, strings, arrays, bit fields, constants, what cannot be read;
// filters, enabling by the event, its group and set_event, results of kernel functions [UPR-096] [UPR-099].
#include "upr_guest.h"

#define T "/sys/kernel/tracing/"
static char big[70000];
static void* volatile bad = (void*)16; // no address
static int rd(const char* f, char* b, int n) {
    int fd = open(f, O_RDONLY);
    if (fd < 0) return -errno;
    int t = 0, r;
    while (t < n - 1 && (r = read(fd, b + t, n - 1 - t)) > 0) t += r;
    close(fd);
    b[t] = 0;
    return t;
}
static int wr(const char* f, const char* s, int fl) {
    int fd = open(f, O_WRONLY | fl);
    if (fd < 0) return -errno;
    int r = write(fd, s, strlen(s));
    int e = errno;
    close(fd);
    return r < 0 ? -e : r;
}
struct S {
    long a;
    int b;
    short c;
    char d, e;
    char text[24];
    char* p;
    uint64_t arr[4];
    char* strs[3];
};
static struct S s = {
    -5, -7, -3, 'x', -1, "hello world", "pointed", {1, 2, 3, 0xffffffffffffffff}, {"one", "two", "three"}};
__attribute__((noinline, noclone)) long fn(struct S* p, long n, const char* t, long m) {
    __asm__ volatile("" ::: "memory");
    return n * 2 + 1;
}
static void show(const char* what) {
    rd(T "trace", big, sizeof big);
    char* q = big;
    while (q && *q) {
        char* nl = strchr(q, '\n');
        if (nl) *nl = 0;
        if (*q != '#') {
            char* ev = strstr(q, "ev_");
            if (!ev) ev = strstr(q, "kev_");
            if (ev) {
                char* lp = strchr(ev, '(');
                char* rp = lp ? strchr(lp, ')') : 0;
                if (lp && rp) {
                    *lp = 0;
                    printf("   %s(..)%s\n", ev, rp + 1);
                } else
                    printf("   %s\n", ev);
            }
        }
        q = nl ? nl + 1 : 0;
    }
    wr(T "trace", "", O_TRUNC);
}
int main(void) {
    alarm(60);
    setvbuf(stdout, 0, _IONBF, 0);
    char exe[256] = {0};
    readlink("/proc/self/exe", exe, 255);
    uint64_t o = file_offset(fn);
    char l[1000];
    char* page = mmap(0, 8192, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(page + 4096, 4096);
    memset(page, 'z', 4096);
    const char* a[] = {"x0=%x1 n=%x1:s64 m=%x3:u8 k=%x3:s8 h=%x1:x16",
                       "a=+0(%x0):s64 b=+8(%x0):s32 c=+12(%x0):s16 d=+14(%x0):u8 e=+15(%x0):s8",
                       "t=+16(%x0):string",
                       "p=+0(+40(%x0)):string",
                       "p=+0(+40(%x0)):ustring",
                       "p=+u0(+u40(%x0)):string",
                       "arr=+48(%x0):u64[4]",
                       "arr=+48(%x0):x8[6]",
                       "st=+80(%x0):string[3]",
                       "st=+80(%x0):ustring[3]",
                       "bit=%x1:b4@4/8 b2=%x1:b1@0/8 b3=+0(%x0):b12@4/64",
                       "com=$comm",
                       "imm=\\5 neg=\\-5 str=\\\"abc\"",
                       "bad=+0(%xzr):u8",
                       "f=+0(+0(%x1)):u64",
                       "f=+0(%x1):string",
                       "t=+0(%x2):string",
                       "far=+0(%x2):x8[3]",
                       "sp=$stack0:b1@0/8",
                       "off=@+0:x32 off2=@+0:string",
                       "sym=%x1:symbol",
                       "sym=%x1:symstr",
                       "pc=%pc:u8 ps=%pstate:b4@28/32",
                       "u=+4088(%x3):string",
                       "many=%x1 b=+16(%x0):string c=%x1 d=+0(+40(%x0)):string",
                       0};
    wr(T "trace", "", O_TRUNC);
    for (int i = 0; a[i]; i++) {
        snprintf(l, 1000, "p:tst/ev_%d %s:0x%lx %s", i, exe, o, a[i]);
        int r = wr(T "uprobe_events", l, O_APPEND);
        printf("%s: %s\n", a[i], r < 0 ? strerrorname_np(-r) : "ok");
        if (r < 0) continue;
        snprintf(l, 1000, T "events/tst/ev_%d/enable", i);
        r = wr(l, "1", 0);
        if (r < 0) printf("enable %d\n", r);
        fn(&s, 0x1234, "text here", (long)page);
        fn(&s, -2, (char*)16, 0x80ff);
        wr(l, "0", 0);
        show(a[i]);
        snprintf(l, 1000, "-:tst/ev_%d", i);
        r = wr(T "uprobe_events", l, O_APPEND);
        if (r < 0) printf("remove %d\n", r);
    }
    // return probes, filters, busy, profile
    snprintf(l, 1000, "r:tst/ev_r %s:0x%lx r=$retval:s64 c=$comm a=%%x0", exe, o);
    wr(T "uprobe_events", l, O_APPEND);
    wr(T "events/tst/ev_r/enable", "1", 0);
    fn(&s, 21, 0, 0);
    wr(T "uprobe_events", "-:tst/ev_r", O_APPEND);
    printf("busy %d all %d\n", wr(T "uprobe_events", "-:tst/ev_r", O_APPEND), wr(T "uprobe_events", "\n", O_TRUNC));
    show("ret");
    wr(T "events/tst/ev_r/enable", "0", 0);
    const char* fl[] = {"r > 40",          "r == 43", "r == 99", "c == \"t7\"",          "c ~ \"t*\"",
                        "nope == 1",       "r > ",    "r & 1",   "c != \"t7\" || r < 5", "__probe_func > 0",
                        "common_pid != 0", "0",       0};
    for (int i = 0; fl[i]; i++) {
        int r = wr(T "events/tst/ev_r/filter", fl[i], 0);
        wr(T "events/tst/ev_r/enable", "1", 0);
        for (int k = 0; k < 4; k++) fn(&s, k * 7, 0, 0);
        wr(T "events/tst/ev_r/enable", "0", 0);
        printf("filter %s: %s\n", fl[i], r < 0 ? strerrorname_np(-r) : "ok");
        rd(T "events/tst/ev_r/filter", big, sizeof big);
        printf("%s", big);
        show("f");
    }
    rd(T "uprobe_profile", big, sizeof big);
    {
        char* e = strstr(big, "ev_r");
        printf("profile %s", e ? e : "none\n");
    }
    printf("group enable %d\n", wr(T "events/tst/enable", "1", 0));
    rd(T "events/tst/enable", big, 100);
    printf("reads %s", big);
    fn(&s, 1, 0, 0);
    wr(T "events/tst/enable", "0", 0);
    show("g");
    printf("set_event %d\n", wr(T "set_event", "tst:ev_r", 0));
    fn(&s, 2, 0, 0);
    rd(T "set_event", big, sizeof big);
    printf("%s", strstr(big, "tst") ? "listed\n" : "not\n");
    wr(T "set_event", "!tst:ev_r", 0);
    show("s");
    printf("bad enable %d %d %d\n", wr(T "events/tst/ev_r/enable", "2", 0), wr(T "events/tst/ev_r/enable", "x", 0),
           -22);
    // kprobes
    const char* ka[] = {"fd=%x0:u32",
                        "n=%x2:u64",
                        "s=+0(%x1):ustring",
                        "s=+u0(%x1):string",
                        "s=+0(%x1):string",
                        "a1=$arg1:u32 a3=$arg3:u64",
                        "c=$comm",
                        "bad=+0(%x30):u8[0]",
                        "k=\\7",
                        0};
    for (int i = 0; ka[i]; i++) {
        snprintf(l, 1000, "p:tst/kev_%d ksys_write %s", i, ka[i]);
        int r = wr(T "kprobe_events", l, O_APPEND);
        printf("%s: %s\n", ka[i], r < 0 ? strerrorname_np(-r) : "ok");
        if (r < 0) continue;
        snprintf(l, 1000, T "events/tst/kev_%d/filter", i);
        wr(l, "common_pid != 0", 0);
        snprintf(l, 1000, T "events/tst/kev_%d/enable", i);
        int fd = open(l, O_WRONLY), dn = open("/dev/null", O_WRONLY);
        write(fd, "1", 1);
        write(dn, "some text", 9);
        write(dn, bad, 3);
        write(fd, "0\0zzz", 1);
        close(fd);
        close(dn);
        show(ka[i]);
        snprintf(l, 1000, "-:tst/kev_%d", i);
        r = wr(T "kprobe_events", l, O_APPEND);
        if (r < 0) printf("remove %d\n", r);
    }
    snprintf(l, 1000, "r:tst/kev_r ksys_write r=$retval:s64");
    wr(T "kprobe_events", l, O_APPEND);
    int fd = open(T "events/tst/kev_r/enable", O_WRONLY), dn = open("/dev/null", O_WRONLY);
    write(fd, "1", 1);
    write(dn, "abc", 3);
    write(dn, (void*)0, 0);
    write(99, "x", 1);
    write(fd, "0", 1);
    show("kr");
    wr(T "kprobe_events", "", O_TRUNC);
    wr(T "uprobe_events", "", O_TRUNC);
    rd(T "dynamic_events", big, sizeof big);
    printf("left [%s]\n", big);
    return 0;
}
