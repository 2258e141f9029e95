// SPDX-License-Identifier: Apache-2.0
// The cgroup2 file system, who is in which cgroup, and events of cgroups: [CORE-186] [CORE-241] [CORE-242] [CORE-243]
// [CORE-244] [CORE-245] [CORE-246] [CORE-378] [CORE-458].
#include "os_guest.h"

#include <dirent.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#define ROOT "/sys/fs/cgroup"
#define TOP ROOT "/rk-top"

static char* text_of(const char* path) {
    static char b[4][1024];
    static int k;
    char* t = b[k = (k + 1) & 3];
    int fd = open(path, O_RDONLY);
    if (fd < 0) return strcpy(t, strerrorname_np(errno));
    ssize_t n = read(fd, t, 1023);
    int e = errno;
    close(fd);
    if (n < 0) return strcpy(t, strerrorname_np(e));
    t[n] = 0;
    for (ssize_t i = 0; i < n; i++)
        if (t[i] == '\n') t[i] = i == n - 1 ? 0 : '|';
    return t;
}
static long put(const char* path, const char* text) {
    int fd = open(path, O_WRONLY);
    if (fd < 0) return -1;
    long n = write(fd, text, strlen(text));
    int e = errno;
    close(fd);
    errno = e;
    return n;
}

static void files(void) {
    say("[files]");
    struct statfs fs;
    statfs(ROOT, &fs);
    struct stat st;
    stat(ROOT, &st);
    say("magic %lx, mode %o, number %ld", (long)fs.f_type, st.st_mode, (long)st.st_ino);
    SHOW(put(ROOT "/cgroup.subtree_control", "+pids"));
    say("given on: %s", text_of(ROOT "/cgroup.subtree_control"));
    SHOW(put(ROOT "/cgroup.subtree_control", "+nothing"));
    SHOW(put(ROOT "/cgroup.subtree_control", "pids"));
    TRY(mkdir(TOP, 0755));
    TRY(mkdir(TOP, 0755));
    TRY(mkdir(ROOT "/new\nline", 0755));
    stat(TOP, &st);
    say("mode %o, links %ld", st.st_mode, (long)st.st_nlink);
    static const char* const kFiles[] = {"controllers", "events", "max.depth",       "max.descendants",
                                         "procs",       "stat",   "subtree_control", "threads",
                                         "type",        "kill"};
    for (unsigned i = 0; i < sizeof kFiles / sizeof *kFiles; i++) {
        char p[128];
        snprintf(p, sizeof p, TOP "/cgroup.%s", kFiles[i]);
        stat(p, &st);
        say("%s: mode %o: %s", kFiles[i], st.st_mode, text_of(p));
    }
    say("pids: %s, %s, %s", text_of(TOP "/pids.max"), text_of(TOP "/pids.current"), text_of(TOP "/pids.events"));
    say("none in the root: %s, %s", text_of(ROOT "/cgroup.type"), text_of(ROOT "/pids.max"));
    SHOW(open(TOP "/file", O_CREAT | O_WRONLY, 0644));
    TRY(unlink(TOP "/cgroup.procs"));
    TRY(rename(TOP, ROOT "/rk-other"));
    SHOW(put(TOP "/cgroup.subtree_control", "+memory2"));
    TRY(mkdir(TOP "/a", 0755));
    TRY(mkdir(TOP "/a/b", 0755));
    say("no pids below: %s", text_of(TOP "/a/pids.max"));
    SHOW(put(TOP "/a/cgroup.subtree_control", "+pids"));
    SHOW(put(TOP "/cgroup.subtree_control", "+pids"));
    say("now: %s", text_of(TOP "/a/pids.max"));
    SHOW(put(TOP "/a/cgroup.subtree_control", "+pids"));
    SHOW(put(TOP "/cgroup.subtree_control", "-pids"));
    SHOW(put(TOP "/a/cgroup.subtree_control", "-pids"));
    say("stat: %s", text_of(TOP "/cgroup.stat"));
    TRY(rmdir(TOP));
    SHOW(put(TOP "/cgroup.max.descendants", "2"));
    TRY(mkdir(TOP "/c", 0755));
    SHOW(put(TOP "/cgroup.max.descendants", "max"));
    SHOW(put(TOP "/cgroup.max.depth", "1"));
    TRY(mkdir(TOP "/a/c", 0755));
    SHOW(put(TOP "/cgroup.max.depth", "-1"));
    SHOW(put(TOP "/cgroup.max.depth", "many"));
    SHOW(put(TOP "/cgroup.max.depth", "max"));
    struct {
        struct file_handle fh;
        uint64_t id;
    } f = {.fh.handle_bytes = 8};
    int mnt;
    stat(TOP "/a", &st);
    say("handle: %s, type %x, id right %d", OK(name_to_handle_at(AT_FDCWD, TOP "/a", &f.fh, &mnt, 0)), f.fh.handle_type,
        f.id == st.st_ino);
    int dir = open(ROOT, O_RDONLY), back = open_by_handle_at(dir, &f.fh, O_RDONLY);
    struct stat st2;
    fstat(back, &st2);
    say("opened again: %d", st2.st_ino == st.st_ino);
    f.fh.handle_bytes = 4;
    TRY(name_to_handle_at(AT_FDCWD, TOP "/a", &f.fh, &mnt, 0));
}

static void members(void) {
    say("[members]");
    say("self: %s", text_of("/proc/self/cgroup"));
    int up[2], down[2];
    pipe(up), pipe(down);
    char c;
    pid_t p = fork();
    if (!p) {
        SHOW(put(TOP "/a/cgroup.procs", "0"));
        say("self: %s", text_of("/proc/self/cgroup"));
        pid_t q = fork();
        if (!q) {
            say("child: %s", text_of("/proc/self/cgroup"));
            write(up[1], "x", 1);
            read(down[0], &c, 1);
            _exit(0);
        }
        waitpid(q, NULL, 0);
        read(down[0], &c, 1);
        _exit(0);
    }
    read(up[0], &c, 1);
    int n = 0, mine = 0;
    char* t = text_of(TOP "/a/cgroup.procs");
    for (char* w = strtok(t, "|"); w; w = strtok(NULL, "|")) n++, mine |= atoi(w) == p;
    say("%d there, right %d, %s, above %s", n, mine, text_of(TOP "/a/cgroup.events"), text_of(TOP "/cgroup.events"));
    say("root's events: %s", text_of(ROOT "/cgroup.events"));
    TRY(rmdir(TOP "/a"));
    TRY(rmdir(TOP "/a/b"));
    TRY(mkdir(TOP "/a/b", 0755));
    SHOW(put(TOP "/a/cgroup.procs", "123456"));
    SHOW(put(TOP "/a/cgroup.procs", "-1"));
    SHOW(put(TOP "/a/cgroup.procs", "x"));
    SHOW(put(TOP "/a/cgroup.threads", "0"));
    say("self: %s", text_of("/proc/self/cgroup"));
    SHOW(put(ROOT "/cgroup.procs", "0"));
    char pid[16];
    snprintf(pid, sizeof pid, "%d", p);
    TRY(put(TOP "/a/b/cgroup.procs", pid));
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/cgroup", p);
    say("moved: %s", text_of(path));
    pid_t z = fork();
    if (!z) {
        put(TOP "/c2/cgroup.procs", "0");
        _exit(0);
    }
    waitpid(z, NULL, 0);
    write(down[1], "xx", 2);
    waitpid(p, NULL, 0);
    say("empty: %s", text_of(TOP "/cgroup.events"));
    // A zombie does not keep its cgroup.
    TRY(mkdir(TOP "/z", 0755));
    z = fork();
    if (!z) {
        put(TOP "/z/cgroup.procs", "0");
        _exit(0);
    }
    siginfo_t si;
    waitid(P_PID, z, &si, WEXITED | WNOWAIT);
    msleep(20);
    TRY(rmdir(TOP "/z"));
    snprintf(path, sizeof path, "/proc/%d/cgroup", z);
    say("zombie: %s", text_of(path));
    waitpid(z, NULL, 0);
    // clone3 into one
    int dir = open(TOP "/a", O_RDONLY | O_DIRECTORY);
    struct clone_args ca = {.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = dir};
    z = syscall(SYS_clone3, &ca, sizeof ca);
    if (!z) {
        say("made there: %s", text_of("/proc/self/cgroup"));
        _exit(0);
    }
    int st;
    waitpid(z, &st, 0);
    ca.cgroup = 200;
    TRY(syscall(SYS_clone3, &ca, sizeof ca));
    ca.cgroup = 1;
    TRY(syscall(SYS_clone3, &ca, sizeof ca));
    // pids.max
    put(TOP "/cgroup.subtree_control", "+pids");
    TRY(mkdir(TOP "/p", 0755));
    SHOW(put(TOP "/p/pids.max", "2"));
    SHOW(put(TOP "/p/pids.max", "two"));
    z = fork();
    if (!z) {
        put(TOP "/p/cgroup.procs", "0");
        pid_t one = fork();
        if (!one) pause();
        SHOW(fork());
        say("current %s, peak %s, events %s", text_of(TOP "/p/pids.current"), text_of(TOP "/p/pids.peak"),
            text_of(TOP "/p/pids.events"));
        kill(one, SIGKILL);
        waitpid(one, NULL, 0);
        one = fork();
        if (!one) _exit(0);
        waitpid(one, NULL, 0);
        say("again %d", one > 0);
        one = fork();
        if (!one) pause();
        SHOW(put(TOP "/p/cgroup.kill", "2"));
        SHOW(put(TOP "/p/cgroup.kill", "1"));
        pause();
    }
    waitpid(z, &st, 0);
    say("killed: %s", status_text(st));
    msleep(20);
    TRY(rmdir(TOP "/p"));
}

static void spaces(void) {
    say("[namespaces]");
    pid_t p = fork();
    if (!p) {
        put(TOP "/a/cgroup.procs", "0");
        TRY(unshare(CLONE_NEWCGROUP));
        say("inside: %s", text_of("/proc/self/cgroup"));
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/cgroup", getppid());
        say("outside: %s", text_of(path));
        put(TOP "/a/b/cgroup.procs", "0");
        say("below: %s", text_of("/proc/self/cgroup"));
        put(TOP "/c2/cgroup.procs", "0");
        mkdir("/tmp/rk-cg", 0755);
        TRY(unshare(CLONE_NEWNS));
        TRY(mount("x", "/tmp/rk-cg", "cgroup2", 0, NULL));
        say("its root: %s", text_of("/tmp/rk-cg/cgroup.type"));
        TRY(mount("x", "/tmp/rk-cg", "cgroup2", 0, "nonsense"));
        TRY(umount("/tmp/rk-cg"));
        _exit(0);
    }
    waitpid(p, NULL, 0);
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
                                .exclude_hv = 1};
    return a;
}
static int here;
static int open_in(struct perf_event_attr* a, const char* dir, int group) {
    int d = open(dir, O_RDONLY), fd = syscall(SYS_perf_event_open, a, d, here, group, PERF_FLAG_PID_CGROUP);
    int e = errno;
    close(d);
    errno = e;
    return fd;
}
static uint64_t count(int fd) {
    uint64_t v[4] = {0};
    read(fd, v, sizeof v);
    return v[0];
}
static void store(int n) {
    for (int i = 0; i < n; i++) cell[0] = i;
}
static int in(const char* dir, int n) {
    pid_t p = fork();
    if (!p) {
        char path[128];
        snprintf(path, sizeof path, "%s/cgroup.procs", dir);
        if (put(path, "0") < 0) _exit(1);
        store(n);
        _exit(0);
    }
    int st;
    waitpid(p, &st, 0);
    return st;
}

static void events(void) {
    say("[events]");
    cpu_set_t s;
    CPU_ZERO(&s);
    here = sched_getcpu();
    CPU_SET(here, &s);
    sched_setaffinity(0, sizeof s, &s);
    struct perf_event_attr a = watch();
    int one = open_in(&a, TOP "/a", -1), two = open_in(&a, TOP "/a/b", -1);
    TRY(one), TRY(two);
    TRY(open_in(&a, TOP "/a/b", one));
    int mate = open_in(&a, TOP "/a", one);
    TRY(mate);
    TRY(syscall(SYS_perf_event_open, &a, -1, here, one, 0)); // of the CPU, in its group
    ioctl(one, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
    ioctl(two, PERF_EVENT_IOC_ENABLE, 0);
    in(TOP "/a", 5), in(TOP "/a/b", 7), in(TOP, 9), store(3);
    say("counts %lu %lu %lu", count(one), count(two), count(mate));
    ioctl(one, PERF_EVENT_IOC_DISABLE, 0);
    in(TOP "/a", 5);
    say("off: %lu %lu", count(one), count(two));
    ioctl(one, PERF_EVENT_IOC_ENABLE, 0);
    in(TOP "/a", 1);
    say("on: %lu %lu", count(one), count(two));
    ioctl(two, PERF_EVENT_IOC_RESET, 0);
    in(TOP "/a/b", 2);
    say("reset: %lu %lu", count(one), count(two));
    close(mate), close(two);
    // Its time passes only while its tasks run.
    struct perf_event_attr t = watch();
    t.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    t.disabled = 0;
    int timed = open_in(&t, TOP "/a", -1);
    msleep(50);
    uint64_t v[3], w[3];
    read(timed, v, sizeof v);
    in(TOP "/a", 4);
    read(timed, w, sizeof w);
    say("idle: enabled %s, running %s", v[1] ? "some" : "none", v[2] ? "some" : "none");
    say("after: count %lu, enabled %s, running equal %d", w[0], w[1] > v[1] ? "more" : "the same", w[1] == w[2]);
    close(timed);
    // In place, moved while it runs.
    ioctl(one, PERF_EVENT_IOC_RESET, 0);
    put(TOP "/a/cgroup.procs", "0");
    store(2);
    put(TOP "/a/b/cgroup.procs", "0");
    store(3);
    struct perf_event_attr d = {
        .type = PERF_TYPE_SOFTWARE, .size = sizeof d, .config = PERF_COUNT_SW_DUMMY, .sample_period = 1};
    TRY(open_in(&d, TOP "/a", -1));
    // Samples say where they were taken.
    struct perf_event_attr q = watch();
    q.sample_period = 1, q.sample_type = PERF_SAMPLE_CGROUP, q.disabled = 0;
    int fd = syscall(SYS_perf_event_open, &q, 0, -1, -1, 0);
    struct perf_event_mmap_page* pg = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    store(1);
    put(ROOT "/cgroup.procs", "0");
    store(1);
    struct stat st;
    stat(TOP "/a/b", &st);
    uint64_t* r = (uint64_t*)((char*)pg + PAGE);
    say("samples: %d bytes, in b %d, in the root %d", (int)pg->data_head, r[1] == st.st_ino, r[3] == 1);
    say("left: %lu", count(one));
    // Switches between cgroups.
    struct perf_event_attr sw = {
        .type = PERF_TYPE_SOFTWARE, .size = sizeof sw, .config = PERF_COUNT_SW_CGROUP_SWITCHES};
    int ctx = syscall(SYS_perf_event_open, &sw, -1, here, -1, 0);
    TRY(ctx);
    in(TOP "/a", 1);
    say("cgroup switches: %s", count(ctx) > 0 ? "some" : "none");
    close(ctx);
    setresuid(1000, 1000, 1000);
    TRY(open_in(&a, TOP "/a", -1));
}

int main(void) {
    files();
    mkdir(TOP "/c2", 0755);
    members();
    spaces();
    pid_t p = fork();
    if (!p) {
        events();
        _exit(0);
    }
    waitpid(p, NULL, 0);
    say("[removal]");
    TRY(rmdir(TOP "/c2"));
    TRY(rmdir(TOP "/a/b"));
    TRY(rmdir(TOP "/a"));
    TRY(rmdir(TOP));
    TRY(rmdir(TOP));
    return 0;
}
