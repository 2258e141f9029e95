// SPDX-License-Identifier: Apache-2.0
// Namespaces: clone, unshare, setns, the links and files of /proc, what is seen inside; process descriptors.
#include "os_guest.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/utsname.h>

#define NS_GET_USERNS 0xb701
#define NS_GET_PARENT 0xb702
#define NS_GET_NSTYPE 0xb703
#define NS_GET_OWNER_UID 0xb704

static const char* const kName[] = {
    "cgroup", "ipc", "mnt", "net", "pid", "pid_for_children", "time", "time_for_children", "user", "uts"};

static long ino(const char* pid, const char* ns) {
    char p[64];
    struct stat st;
    snprintf(p, sizeof p, "/proc/%s/ns/%s", pid, ns);
    return stat(p, &st) ? -errno : (long)st.st_ino;
}

static const char* text_of(const char* path) {
    static char b[4][512];
    static int k;
    char* t = b[k = (k + 1) & 3];
    int fd = open(path, O_RDONLY);
    if (fd < 0) return strerrorname_np(errno);
    ssize_t n = read(fd, t, 511);
    close(fd);
    if (n < 0) return strerrorname_np(errno);
    t[n] = 0;
    if (n && t[n - 1] == '\n') t[n - 1] = 0;
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

// Runs a part in a process of its own.
static void part(const char* name, void (*fn)(void)) {
    say("[%s]", name);
    pid_t p = fork();
    if (!p) {
        fn();
        _exit(0);
    }
    int st;
    waitpid(p, &st, 0);
    if (st) say("ended: %s", status_text(st));
}

static void links(void) {
    for (unsigned i = 0; i < sizeof kName / sizeof *kName; i++) {
        char path[64], text[64], want[64];
        struct stat st, lst;
        snprintf(path, sizeof path, "/proc/self/ns/%s", kName[i]);
        ssize_t n = readlink(path, text, 63);
        text[n < 0 ? 0 : n] = 0;
        stat(path, &st);
        lstat(path, &lst);
        int end = strcspn(kName[i], "_");
        snprintf(want, sizeof want, "%.*s:[%lu]", end, kName[i], (unsigned long)st.st_ino);
        int fd = open(path, O_RDONLY);
        struct statfs fs;
        fstatfs(fd, &fs);
        struct stat fst;
        fstat(fd, &fst);
        char link[64], proc[64];
        snprintf(proc, sizeof proc, "/proc/self/fd/%d", fd);
        n = readlink(proc, link, 63);
        link[n < 0 ? 0 : n] = 0;
        say("%s: text %d, mode %o, link mode %o, fs %lx, same %d %d, type %x, read %s", kName[i], !strcmp(text, want),
            st.st_mode, lst.st_mode, (long)fs.f_type, fst.st_ino == st.st_ino && fst.st_dev == st.st_dev,
            !strcmp(link, want), ioctl(fd, NS_GET_NSTYPE), res(read(fd, text, 1)));
        say("  parent %s, user %s, owner %s, other %s", OK(ioctl(fd, NS_GET_PARENT)), OK(ioctl(fd, NS_GET_USERNS)),
            OK(ioctl(fd, NS_GET_OWNER_UID, &n)), OK(ioctl(fd, 0xb7ff)));
        say("  initial number %lx", (long)st.st_ino >= 0xf0000000 ? 0 : (long)st.st_ino);
        close(fd);
    }
    TRY(open("/proc/self/ns/uts", O_WRONLY));
    TRY(open("/proc/self/ns/none", O_RDONLY));
}

static void uts(void) {
    struct utsname u;
    TRY(sethostname("first", 5));
    long was = ino("self", "uts");
    TRY(unshare(CLONE_NEWUTS));
    say("another: %d", ino("self", "uts") != was);
    uname(&u);
    say("inherited %s", u.nodename);
    TRY(sethostname("second.name", 6));
    TRY(setdomainname("domain", 6));
    uname(&u);
    say("now %s, %s", u.nodename, u.domainname);
    say("proc: %s %s", text_of("/proc/sys/kernel/hostname"), text_of("/proc/sys/kernel/domainname"));
    SHOW(put("/proc/sys/kernel/hostname", "third\n"));
    uname(&u);
    say("now %s", u.nodename);
    TRY(syscall(SYS_sethostname, "x", 65));
    TRY(syscall(SYS_sethostname, "x", -1));
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/ns/uts", getppid());
    int fd = open(path, O_RDONLY);
    TRY(setns(fd, CLONE_NEWIPC));
    TRY(setns(fd, CLONE_NEWUTS));
    uname(&u);
    say("back: %s, same %d", u.nodename, ino("self", "uts") == was);
    TRY(setns(0, CLONE_NEWUTS));
    TRY(setns(-1, 0));
    int null = open("/dev/null", O_RDONLY);
    TRY(setns(null, 0));
}

static void flags(void) {
    TRY(unshare(0));
    TRY(unshare(0x80000000));
    TRY(unshare(CLONE_PARENT));
    TRY(unshare(CLONE_FILES | CLONE_FS | CLONE_SYSVSEM));
    TRY(unshare(CLONE_THREAD));
    TRY(unshare(CLONE_VM));
    TRY(unshare(CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWCGROUP));
    TRY(unshare(0x80));
    say("time: own %d, children's %d", ino("self", "time") == 0xeffffffa,
        ino("self", "time_for_children") == 0xeffffffa);
    TRY(syscall(SYS_clone, CLONE_NEWNS | CLONE_FS | SIGCHLD, 0, 0, 0, 0));
    TRY(syscall(SYS_clone, CLONE_NEWUSER | CLONE_FS | SIGCHLD, 0, 0, 0, 0));
    TRY(syscall(SYS_clone, CLONE_NEWPID | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM, 0, 0, 0, 0));
    TRY(syscall(SYS_clone, CLONE_NEWIPC | CLONE_SYSVSEM | SIGCHLD, 0, 0, 0, 0));
    if (setresuid(1000, 1000, 1000)) _exit(1);
    TRY(unshare(CLONE_NEWUTS));
    TRY(unshare(CLONE_NEWPID));
    TRY(sethostname("no", 2));
}

static void pid_ns(void) {
    long own = ino("self", "pid");
    TRY(unshare(CLONE_NEWPID));
    char b[64];
    say("own the same %d, children's %s", ino("self", "pid") == own,
        OK(readlink("/proc/self/ns/pid_for_children", b, 63)));
    int up[2], down[2];
    pipe(up), pipe(down);
    pid_t p = fork();
    if (!p) {
        char c;
        say("inside: pid %d, ppid %d, sid %d, pgid %d", getpid(), getppid(), getsid(0), getpgid(0));
        say("kill 1: %s, kill a stranger: %s", OK(kill(1, 0)), OK(kill(77, 0)));
        pid_t q = fork();
        if (!q) {
            say("second: pid %d, ppid %d, tid %d", getpid(), getppid(), gettid());
            pid_t r = fork();
            if (!r) { // an orphan soon
                read(down[0], &c, 1);
                say("orphan: pid %d, ppid %d", getpid(), getppid());
                _exit(9);
            }
            say("third: %d", r);
            // The first of a namespace does not mind what it has no handler for.
            say("SIGTERM to 1: %s, SIGKILL to 1: %s", OK(kill(1, SIGTERM)), OK(kill(1, SIGKILL)));
            _exit(3);
        }
        int st;
        pid_t w = waitpid(q, &st, 0);
        say("waited for %d: %d %s", q, w, status_text(st));
        siginfo_t si;
        write(down[1], "x", 1);
        w = waitpid(-1, &st, 0);
        say("adopted: %d %s", w, status_text(st));
        say("setsid: %d, then %d %d", setsid(), getsid(0), getpgid(0));
        q = fork();
        if (!q) {
            pause();
            _exit(1);
        }
        kill(q, SIGUSR1);
        waitid(P_PID, q, &si, WEXITED);
        say("waitid: pid right %d, code %d, status %d", si.si_pid == q, si.si_code, si.si_status);
        write(up[1], "x", 1);
        q = fork();
        if (!q) {
            pause();
            _exit(1);
        }
        read(down[0], &c, 1);
        _exit(5); // takes the other along
    }
    char c;
    read(up[0], &c, 1);
    char line[64], path[64];
    snprintf(path, sizeof path, "/proc/%d/status", p);
    FILE* f = fopen(path, "r");
    while (fgets(line, sizeof line, f)) {
        int a, d, n = sscanf(line, "NSpid: %d %d", &a, &d);
        if (n > 0) say("NSpid: %d numbers, first right %d, second %d", n, a == p, n > 1 ? d : 0);
    }
    fclose(f);
    say("another namespace %d", ino("self", "pid") != (snprintf(path, 64, "%d", p), ino(path, "pid")));
    // From outside it can be killed.
    write(down[1], "x", 1);
    int st;
    waitpid(p, &st, 0);
    say("ended: %s", status_text(st));
    TRY(fork());
    say("children's: %s", OK(readlink("/proc/self/ns/pid_for_children", b, 63)));
}

static void pid_kill(void) {
    pid_t p = syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);
    if (!p) {
        signal(SIGUSR1, SIG_IGN);
        for (;;) pause();
    }
    msleep(20);
    kill(p, SIGTERM);
    msleep(20);
    int st;
    say("after SIGTERM from outside: %s", waitpid(p, &st, WNOHANG) == p ? "ended" : "lives");
    kill(p, SIGKILL);
    waitpid(p, &st, 0);
    say("after SIGKILL: %s", status_text(st));
}

static void user_ns(void) {
    if (setresgid(1000, 1000, 1000) || setresuid(1000, 1000, 1000)) _exit(1);
    prctl(PR_SET_DUMPABLE, 1);
    say("before: %s | %s | %s", text_of("/proc/self/uid_map"), text_of("/proc/self/gid_map"),
        text_of("/proc/self/setgroups"));
    TRY(unshare(CLONE_NEWUSER));
    say("uid %d gid %d, maps '%s' '%s'", getuid(), getgid(), text_of("/proc/self/uid_map"),
        text_of("/proc/self/gid_map"));
    SHOW(put("/proc/self/uid_map", "0 0 1\n"));
    SHOW(put("/proc/self/uid_map", "0 1000 2\n"));
    SHOW(put("/proc/self/uid_map", "nonsense\n"));
    SHOW(put("/proc/self/gid_map", "0 1000 1\n"));
    SHOW(put("/proc/self/setgroups", "maybe"));
    SHOW(put("/proc/self/setgroups", "deny"));
    SHOW(put("/proc/self/gid_map", "0 1000 1\n"));
    SHOW(put("/proc/self/uid_map", "0 1000 1\n"));
    SHOW(put("/proc/self/uid_map", "0 1000 1\n"));
    SHOW(put("/proc/self/setgroups", "allow"));
    say("uid %d %d gid %d, maps '%s' '%s' '%s'", getuid(), geteuid(), getgid(), text_of("/proc/self/uid_map"),
        text_of("/proc/self/gid_map"), text_of("/proc/self/setgroups"));
    gid_t g[1] = {0};
    TRY(syscall(SYS_setgroups, 1, g));
    TRY(setuid(5));
    TRY(setuid(0));
    struct stat st;
    stat("/proc/1", &st);
    say("a stranger's file: %d %d", st.st_uid, st.st_gid);
    int fd = open("/proc/self/ns/user", O_RDONLY);
    unsigned owner = 99;
    ioctl(fd, NS_GET_OWNER_UID, &owner);
    say("owner %u, parent %s", owner, OK(ioctl(fd, NS_GET_PARENT)));
    TRY(sethostname("no", 2));
    TRY(unshare(CLONE_NEWUTS));
    TRY(sethostname("yes", 3));
    TRY(unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET));
    TRY(setns(fd, 0));
    TRY(kill(1, 0));
}

static void mounts(void) {
    mkdir("/tmp/ns-m", 0755);
    int fd = open("/proc/self/ns/mnt", O_RDONLY);
    TRY(unshare(CLONE_NEWNS));
    TRY(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL));
    TRY(mount("mine", "/tmp/ns-m", "tmpfs", 0, "size=1m,mode=0700"));
    TRY(mkdir("/tmp/ns-m/a", 0755));
    TRY(mkdir("/tmp/ns-m/b", 0755));
    SHOW(close(creat("/tmp/ns-m/a/file", 0644)));
    TRY(mount("/tmp/ns-m/a", "/tmp/ns-m/b", NULL, MS_BIND, NULL));
    SHOW(access("/tmp/ns-m/b/file", F_OK));
    TRY(rmdir("/tmp/ns-m/b"));
    TRY(umount("/tmp/ns-m"));
    TRY(umount("/tmp/ns-m/b"));
    SHOW(access("/tmp/ns-m/b/file", F_OK));
    TRY(umount("/tmp/ns-m/b"));
    TRY(mount("x", "/tmp/ns-m/b", "nosuchfs", 0, NULL));
    TRY(mount("x", "/tmp/ns-m/none", "tmpfs", 0, NULL));
    TRY(mount("x", "/tmp/ns-m/a/file", "tmpfs", 0, NULL));
    int n = 0;
    char line[512];
    FILE* f = fopen("/proc/self/mounts", "r");
    while (fgets(line, sizeof line, f)) n += !strncmp(line, "mine /tmp/ns-m tmpfs rw", 23);
    fclose(f);
    say("in /proc/self/mounts: %d", n);
    pid_t p = fork();
    if (!p) {
        TRY(setns(fd, 0));
        SHOW(access("/tmp/ns-m/a", F_OK));
        SHOW(access("/tmp/ns-m", F_OK));
        char cwd[64];
        say("cwd %s", getcwd(cwd, 64));
        _exit(0);
    }
    waitpid(p, NULL, 0);
    SHOW(access("/tmp/ns-m/a", F_OK));
    TRY(chdir("/tmp/ns-m/a"));
    TRY(umount("/tmp/ns-m"));
    TRY(umount2("/tmp/ns-m", MNT_DETACH));
    SHOW(access("/tmp/ns-m/a", F_OK));
    TRY(chdir("/"));
    setresuid(1000, 1000, 1000);
    TRY(mount("x", "/tmp/ns-m", "tmpfs", 0, NULL));
    TRY(umount("/tmp"));
}

static void pidfds(void) {
    int pfd = -1;
    pid_t p = syscall(SYS_clone, CLONE_PIDFD | SIGCHLD, 0, &pfd, 0, 0);
    if (!p) {
        for (;;) pause();
    }
    say("descriptor %d, cloexec %d", pfd >= 0, fcntl(pfd, F_GETFD));
    struct pollfd q = {pfd, POLLIN, 0};
    SHOW(poll(&q, 1, 0));
    TRY(syscall(SYS_pidfd_open, p, 0));
    TRY(syscall(SYS_pidfd_open, p, 1));
    TRY(syscall(SYS_pidfd_open, 0, 0));
    TRY(syscall(SYS_pidfd_open, 32000, 0));
    TRY(syscall(SYS_pidfd_getfd, pfd, 1, 0));
    TRY(syscall(SYS_pidfd_getfd, pfd, 77, 0));
    TRY(syscall(SYS_pidfd_getfd, 1, 1, 0));
    TRY(syscall(SYS_pidfd_send_signal, pfd, 0, NULL, 0));
    TRY(syscall(SYS_pidfd_send_signal, pfd, 0, NULL, 1));
    TRY(syscall(SYS_pidfd_send_signal, 1, 0, NULL, 0));
    TRY(setns(pfd, 0));
    TRY(setns(pfd, CLONE_NEWUTS | CLONE_NEWIPC));
    TRY(syscall(SYS_pidfd_send_signal, pfd, SIGKILL, NULL, 0));
    SHOW(poll(&q, 1, 5000));
    siginfo_t si;
    SHOW(waitid(P_PIDFD, pfd, &si, WEXITED));
    say("pid right %d, code %d, status %d", si.si_pid == p, si.si_code, si.si_status);
    SHOW(waitid(P_PIDFD, pfd, &si, WEXITED));
    SHOW(waitid(P_PIDFD, 1, &si, WEXITED));
    TRY(syscall(SYS_pidfd_send_signal, pfd, 0, NULL, 0));
    TRY(setns(pfd, CLONE_NEWUTS));
    struct {
        uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size,
            cgroup;
    } a = {0};
    pid_t want[1] = {30123};
    a.exit_signal = SIGCHLD;
    a.set_tid = (uint64_t)want, a.set_tid_size = 1;
    p = syscall(SYS_clone3, &a, sizeof a);
    if (!p) _exit(getpid() == 30123);
    int st;
    say("set_tid: %d", p);
    waitpid(p, &st, 0);
    say("%s", status_text(st));
    want[0] = getpid();
    TRY(syscall(SYS_clone3, &a, sizeof a));
    want[0] = -1;
    TRY(syscall(SYS_clone3, &a, sizeof a));
    want[0] = 30124, a.set_tid_size = 2;
    TRY(syscall(SYS_clone3, &a, sizeof a));
    a.set_tid_size = 0;
    TRY(syscall(SYS_clone3, &a, sizeof a));
}

int main(void) {
    part("links", links);
    part("flags", flags);
    part("uts", uts);
    part("pid", pid_ns);
    part("pid_kill", pid_kill);
    part("user", user_ns);
    part("mounts", mounts);
    part("pidfds", pidfds);
    return 0;
}
