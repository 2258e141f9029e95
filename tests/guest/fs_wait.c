// SPDX-License-Identifier: Apache-2.0
// Pipes, FIFOs, eventfd, timerfd, signalfd, and waiting for them with poll, select and epoll.
#include "fs_guest.h"

static const char* ev(int e) {
    static char b[4][80];
    static int k;
    char* s = b[k = (k + 1) & 3];
    static const struct {
        int bit;
        const char* name;
    } n[] = {{POLLIN, "IN"},   {POLLPRI, "PRI"},   {POLLOUT, "OUT"},       {POLLERR, "ERR"},
             {POLLHUP, "HUP"}, {POLLNVAL, "NVAL"}, {POLLRDNORM, "RDNORM"}, {POLLWRNORM, "WRNORM"}};
    *s = 0;
    for (unsigned i = 0; i < sizeof n / sizeof *n; i++)
        if (e & n[i].bit) strcat(strcat(s, *s ? " " : ""), n[i].name);
    return *s ? s : "none";
}
static const char* now(int fd) {
    struct pollfd p = {fd, POLLIN | POLLPRI | POLLOUT | POLLRDNORM | POLLWRNORM, 0};
    poll(&p, 1, 0);
    return ev(p.revents);
}

static int sigs;
static void on_signal(int s) { sigs += s == SIGPIPE ? 1 : 100; }

static void pipes(void) {
    int p[2];
    char b[70000];
    SHOW(pipe2(p, O_NONBLOCK));
    SHOW(pipe2((int*)8, 0));
    SHOW(pipe2(p, 0x1));
    say("empty: %s / %s", now(p[0]), now(p[1]));
    SHOW(read(p[0], b, 1));
    SHOW(write(p[1], b, sizeof b));
    say("full: %s / %s", now(p[0]), now(p[1]));
    SHOW(write(p[1], b, 1));
    int n;
    SHOW(ioctl(p[0], FIONREAD, &n));
    say("FIONREAD: %d", n);
    SHOW(read(p[0], b, 4095));
    say("a page less one byte: %s", now(p[1]));
    SHOW(read(p[0], b, 1));
    say("a page: %s", now(p[1]));
    SHOW(write(p[1], b, 5000));
    SHOW(fcntl(p[0], F_GETPIPE_SZ));
    SHOW(fcntl(p[0], F_SETPIPE_SZ, 4096));
    SHOW(read(p[0], b, sizeof b));
    SHOW(fcntl(p[0], F_SETPIPE_SZ, 4096));
    SHOW(fcntl(p[0], F_SETPIPE_SZ, 5000));
    SHOW(lseek(p[0], 0, SEEK_SET));
    SHOW(pread(p[0], b, 1, 0));
    SHOW(read(p[1], b, 1));
    SHOW(write(p[0], b, 1));
    SHOW(fsync(p[0]));
    SHOW(ftruncate(p[1], 0));
    SHOW(read(p[0], b, 0));
    write(p[1], "rest", 4);
    close(p[1]);
    say("no writer, data: %s", now(p[0]));
    SHOW(read(p[0], b, 9));
    say("no writer: %s", now(p[0]));
    SHOW(read(p[0], b, 9));
    close(p[0]);
    signal(SIGPIPE, on_signal);
    pipe(p);
    close(p[0]);
    say("no reader: %s", now(p[1]));
    SHOW(write(p[1], b, 1));
    SHOW(sigs);
    close(p[1]);
    pipe2(p, O_DIRECT | O_NONBLOCK);
    write(p[1], "one", 3);
    write(p[1], "two", 3);
    SHOW(read(p[0], b, 2));
    SHOW(read(p[0], b, 9));
    struct stat st;
    fstat(p[0], &st);
    say("mode %o size %d", st.st_mode, (int)st.st_size);
    char link[40], name[40] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", p[0]);
    readlink(link, name, sizeof name - 1);
    say("name: %.6s", name);
    int again = open(link, O_WRONLY);
    SHOW(write(again, "via proc", 8));
    SHOW(read(p[0], b, 9));
    struct pollfd none = {-1, POLLIN, 55}, gone = {99, POLLIN, 0};
    SHOW(poll(&none, 1, 0));
    say("negative: %s", ev(none.revents));
    SHOW(poll(&gone, 1, 0));
    say("closed: %s", ev(gone.revents));
    say("a regular file: %s", now(open("/tmp", O_RDONLY)));
    say("/dev/null: %s", now(open("/dev/null", O_RDWR)));
}

static void blocking(void) {
    int p[2];
    char b[100];
    pipe(p);
    pid_t c = fork();
    if (!c) {
        usleep(20000);
        write(p[1], "late", 4);
        usleep(20000);
        _exit(0);
    }
    close(p[1]);
    SHOW(read(p[0], b, sizeof b));
    struct pollfd f = {p[0], POLLIN, 0};
    SHOW(poll(&f, 1, 5000));
    say("after the writer's end: %s", ev(f.revents));
    SHOW(read(p[0], b, sizeof b));
    waitpid(c, NULL, 0);
    mkfifo("fifo", 0600);
    c = fork();
    if (!c) {
        int w = open("fifo", O_WRONLY);
        write(w, "fifo", 4);
        _exit(0);
    }
    int r = open("fifo", O_RDONLY);
    SHOW(read(r, b, sizeof b));
    SHOW(read(r, b, sizeof b));
    waitpid(c, NULL, 0);
    int both = open("fifo", O_RDWR | O_NONBLOCK);
    say("a FIFO for both: %s", now(both));
    SHOW(write(both, "x", 1));
    say("with data: %s", now(both));
    r = open("fifo", O_RDONLY | O_NONBLOCK);
    close(both);
    int fresh;
    mkfifo("fifo2", 0600);
    fresh = open("fifo2", O_RDONLY | O_NONBLOCK);
    say("a FIFO without writers yet: %s", now(fresh));
    // A signal ends a wait.
    struct sigaction sa = {.sa_handler = on_signal};
    sigaction(SIGALRM, &sa, NULL);
    pipe(p);
    alarm(1);
    SHOW(read(p[0], b, 1));
    alarm(1);
    f = (struct pollfd){p[0], POLLIN, 0};
    SHOW(poll(&f, 1, 5000));
    sa.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &sa, NULL);
    alarm(1);
    SHOW(poll(&f, 1, 1500));
    struct timespec t = {0, 1000000}, wrong = {0, -1};
    SHOW(ppoll(&f, 1, &t, NULL));
    SHOW(ppoll(&f, 1, &wrong, NULL));
    SHOW(ppoll((struct pollfd*)8, 1, &t, NULL));
    SHOW(syscall(SYS_ppoll, &f, 1, &t, &t, 4));
    SHOW(syscall(SYS_ppoll, &f, 100000000, &t, NULL, 8));
}

static void selecting(void) {
    int p[2];
    pipe(p);
    fd_set in, out;
    struct timeval t = {0, 1000};
    FD_ZERO(&in);
    FD_ZERO(&out);
    FD_SET(p[0], &in);
    FD_SET(p[1], &out);
    SHOW(select(p[1] + 1, &in, &out, NULL, &t));
    say("in %d out %d", !!FD_ISSET(p[0], &in), !!FD_ISSET(p[1], &out));
    FD_SET(p[0], &in);
    SHOW(select(p[0] + 1, &in, NULL, NULL, &t));
    say("time left: %d.%06d, in %d", (int)t.tv_sec, (int)t.tv_usec, !!FD_ISSET(p[0], &in));
    write(p[1], "x", 1);
    FD_SET(p[0], &in);
    SHOW(select(p[0] + 1, &in, NULL, NULL, NULL));
    close(p[0]);
    SHOW(select(p[0] + 1, &in, NULL, NULL, NULL));
    SHOW(select(-1, NULL, NULL, NULL, NULL));
    SHOW(select(0, NULL, NULL, NULL, &(struct timeval){0, 10}));
}

static void events(void) {
    uint64_t v;
    int e = eventfd(3, EFD_NONBLOCK), s = eventfd(2, EFD_NONBLOCK | EFD_SEMAPHORE);
    say("eventfd: %s", now(e));
    SHOW(read(e, &v, 7));
    SHOW(read(e, &v, 8));
    say("value: %d, %s", (int)v, now(e));
    SHOW(read(e, &v, 8));
    v = -1;
    SHOW(write(e, &v, 8));
    v = -2;
    SHOW(write(e, &v, 8));
    say("at its limit: %s", now(e));
    v = 1;
    SHOW(write(e, &v, 8));
    SHOW(write(e, &v, 4));
    SHOW(read(s, &v, 8));
    SHOW((int)v);
    SHOW(read(s, &v, 8));
    SHOW(read(s, &v, 8));
    SHOW(eventfd(0, 0x10000));
    SHOW(lseek(s, 0, SEEK_SET));
    struct stat st;
    fstat(s, &st);
    say("mode: %o", st.st_mode);
    char link[40], name[40] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", s);
    readlink(link, name, sizeof name - 1);
    say("name: %s", name);
    TRY(open(link, O_RDONLY));

    int t = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    struct itimerspec it = {{0, 5000000}, {0, 5000000}}, old;
    SHOW(timerfd_settime(t, 0, &it, NULL));
    SHOW(read(t, &v, 8));
    struct pollfd f = {t, POLLIN, 0};
    SHOW(poll(&f, 1, 1000));
    SHOW(read(t, &v, 8));
    say("ticks: %s", v >= 1 && v < 100 ? "some" : "none");
    SHOW(timerfd_gettime(t, &old));
    say("interval: %d.%09d", (int)old.it_interval.tv_sec, (int)old.it_interval.tv_nsec);
    it = (struct itimerspec){{0, 0}, {0, 0}};
    SHOW(timerfd_settime(t, 0, &it, &old));
    SHOW(timerfd_gettime(t, &old));
    say("stopped: %d", old.it_value.tv_sec == 0 && old.it_value.tv_nsec == 0);
    it.it_value.tv_nsec = 1000000000;
    SHOW(timerfd_settime(t, 0, &it, NULL));
    SHOW(timerfd_settime(e, 0, &old, NULL));
    SHOW(timerfd_create(55, 0));
    it.it_value = (struct timespec){1, 0};
    SHOW(timerfd_settime(t, TFD_TIMER_ABSTIME, &it, NULL)); // long past
    SHOW(poll(&f, 1, 1000));

    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int g = signalfd(-1, &set, SFD_NONBLOCK);
    struct signalfd_siginfo si;
    SHOW(read(g, &si, sizeof si));
    say("signalfd: %s", now(g));
    kill(getpid(), SIGUSR1);
    say("signalfd: %s", now(g));
    SHOW(read(g, &si, 10));
    SHOW(read(g, &si, sizeof si));
    say("signal %s, from itself %d", si.ssi_signo == SIGUSR1 ? "USR1" : "?", (int)si.ssi_pid == getpid());
    pid_t c = fork();
    if (!c) {
        usleep(20000);
        kill(getppid(), SIGUSR1);
        _exit(0);
    }
    f = (struct pollfd){g, POLLIN, 0};
    SHOW(poll(&f, 1, 5000));
    waitpid(c, NULL, 0);
}

static void epolls(void) {
    int p[2], ep = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event e = {EPOLLIN, {.u64 = 0x1122334455667788}}, got[4];
    pipe2(p, O_NONBLOCK);
    char b[16];
    SHOW(epoll_create1(0x1));
    SHOW(epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &e));
    SHOW(epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &e));
    SHOW(epoll_ctl(ep, EPOLL_CTL_ADD, 99, &e));
    SHOW(epoll_ctl(99, EPOLL_CTL_ADD, p[0], &e));
    SHOW(epoll_ctl(p[0], EPOLL_CTL_ADD, p[1], &e));
    SHOW(epoll_ctl(ep, EPOLL_CTL_ADD, ep, &e));
    SHOW(epoll_ctl(ep, EPOLL_CTL_ADD, open("/tmp", O_RDONLY), &e));
    SHOW(epoll_ctl(ep, EPOLL_CTL_ADD, open("/dev/null", O_RDONLY), &e));
    SHOW(epoll_ctl(ep, EPOLL_CTL_ADD, open("/proc/self/maps", O_RDONLY), &e));
    SHOW(epoll_ctl(ep, EPOLL_CTL_DEL, p[1], NULL));
    SHOW(epoll_ctl(ep, EPOLL_CTL_MOD, p[1], &e));
    SHOW(epoll_ctl(ep, 9, p[1], &e));
    SHOW(epoll_ctl(ep, EPOLL_CTL_ADD, p[1], (struct epoll_event*)8));
    SHOW(epoll_wait(ep, got, 0, 0));
    SHOW(epoll_wait(p[0], got, 1, 0));
    SHOW(epoll_wait(99, got, 1, 0));
    SHOW(epoll_wait(ep, got, 4, 0));
    write(p[1], "ab", 2);
    SHOW(epoll_wait(ep, got, 4, 1000));
    say("%s %llx", ev(got[0].events), (unsigned long long)got[0].data.u64);
    say("level: %d, the epoll itself: %s", epoll_wait(ep, got, 4, 0), now(ep));
    read(p[0], b, 16);
    say("drained: %d, the epoll itself: %s", epoll_wait(ep, got, 4, 0), now(ep));
    e.events = EPOLLIN | EPOLLET;
    epoll_ctl(ep, EPOLL_CTL_MOD, p[0], &e);
    write(p[1], "a", 1);
    int first = epoll_wait(ep, got, 4, 0), second = epoll_wait(ep, got, 4, 0);
    write(p[1], "b", 1);
    say("edge: %d %d, after another write %d", first, second, epoll_wait(ep, got, 4, 0));
    read(p[0], b, 1);
    say("edge after a read: %d", epoll_wait(ep, got, 4, 0));
    e.events = EPOLLIN | EPOLLONESHOT;
    epoll_ctl(ep, EPOLL_CTL_MOD, p[0], &e);
    first = epoll_wait(ep, got, 4, 0);
    write(p[1], "c", 1);
    second = epoll_wait(ep, got, 4, 0);
    epoll_ctl(ep, EPOLL_CTL_MOD, p[0], &e);
    say("one-shot: %d %d, armed again %d", first, second, epoll_wait(ep, got, 4, 0));
    e.events = EPOLLOUT;
    epoll_ctl(ep, EPOLL_CTL_ADD, p[1], &e);
    e.events = 0;
    epoll_ctl(ep, EPOLL_CTL_MOD, p[0], &e);
    close(p[1]);
    say("the writer gone: %d %s", epoll_wait(ep, got, 4, 0), ev(got[0].events));
    int copy = dup(p[0]);
    close(p[0]);
    say("a copy keeps the watch: %d", epoll_wait(ep, got, 4, 0));
    close(copy);
    say("the last descriptor closed: %d", epoll_wait(ep, got, 4, 0));
    // Nesting.
    int outer = epoll_create1(0), v = eventfd(0, 0);
    e.events = EPOLLIN;
    SHOW(epoll_ctl(outer, EPOLL_CTL_ADD, ep, &e));
    SHOW(epoll_ctl(ep, EPOLL_CTL_ADD, outer, &e));
    SHOW(epoll_ctl(ep, EPOLL_CTL_ADD, v, &e));
    say("inner quiet: %d", epoll_wait(outer, got, 4, 0));
    eventfd_write(v, 1);
    say("inner ready: %d", epoll_wait(outer, got, 4, 0));
    pid_t c = fork();
    if (!c) {
        usleep(20000);
        eventfd_write(v, 1);
        _exit(0);
    }
    eventfd_t x;
    eventfd_read(v, &x);
    SHOW(epoll_wait(outer, got, 4, 5000));
    waitpid(c, NULL, 0);
    eventfd_read(v, &x);
    SHOW(epoll_wait(outer, got, 4, 10));
    int chain = ep, depth = 0;
    for (; depth < 20; depth++) {
        int next = epoll_create1(0);
        if (epoll_ctl(next, EPOLL_CTL_ADD, chain, &e)) break;
        chain = next;
    }
    say("epolls above one: %d, then %s", depth, strerrorname_np(errno));
    struct timespec t = {0, 1000000};
    SHOW(syscall(SYS_epoll_pwait2, outer, got, 4, &t, NULL, 8));
    struct sigaction sa = {.sa_handler = on_signal};
    sigaction(SIGALRM, &sa, NULL);
    alarm(1);
    SHOW(epoll_wait(outer, got, 4, 5000));
}

int main(void) {
    char dir[] = "/tmp/fs_wait.XXXXXX";
    if (!mkdtemp(dir) || chdir(dir)) return 1;
    pipes();
    blocking();
    selecting();
    events();
    epolls();
    return 0;
}
