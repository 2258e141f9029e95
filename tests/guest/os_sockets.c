// SPDX-License-Identifier: Apache-2.0
// Sockets of the family AF_UNIX: pairs, names, connections, messages with descriptors, limits, errors.
#include "os_guest.h"

#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>

static int signals;
static void count(int s) { (void)s, signals++; }

static const char* bits(int fd) {
    static char b[8][16];
    static int k;
    struct pollfd p = {.fd = fd, .events = POLLIN | POLLOUT | POLLRDHUP | POLLPRI};
    poll(&p, 1, 0);
    k = (k + 1) & 7;
    snprintf(b[k], 16, "%x", p.revents);
    return b[k];
}

static socklen_t address(struct sockaddr_un* u, const char* name, int abstract) {
    memset(u, 0, sizeof *u);
    u->sun_family = AF_UNIX;
    strcpy(u->sun_path + abstract, name);
    return offsetof(struct sockaddr_un, sun_path) + strlen(name) + 1;
}

static void errors(void) {
    int s[2];
    SHOW(socketpair(AF_UNIX, SOCK_STREAM, 7, s));
    SHOW(socketpair(AF_UNIX, 9, 0, s));
    SHOW(socketpair(AF_UNIX, SOCK_STREAM | 0x10000, 0, s));
    SHOW(socketpair(99, SOCK_STREAM, 0, s));
    SHOW(syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, 8));
    SHOW(socket(AF_UNIX, SOCK_RDM, 0));
    SHOW(send(0x4000, "x", 1, 0));
    int p[2];
    pipe(p);
    SHOW(send(p[1], "x", 1, 0));
    SHOW(listen(p[0], 1));
    int u = socket(AF_UNIX, SOCK_STREAM, 0), d = socket(AF_UNIX, SOCK_DGRAM, 0), q = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    char c;
    SHOW(send(u, "x", 1, MSG_NOSIGNAL));
    SHOW(recv(u, &c, 1, 0));
    SHOW(recv(q, &c, 1, 0));
    SHOW(send(q, "x", 1, 0));
    SHOW(send(d, "x", 1, 0));
    SHOW(recv(d, &c, 1, MSG_DONTWAIT));
    SHOW(listen(u, 1));
    SHOW(listen(d, 1));
    SHOW(accept(u, 0, 0));
    SHOW(accept(d, 0, 0));
    SHOW(shutdown(u, 3));
    SHOW(lseek(u, 0, SEEK_SET));
    SHOW(pread(u, &c, 1, 0));
    SHOW(ftruncate(u, 0));
    struct sockaddr_un a;
    socklen_t n = address(&a, "/tmp/nobody", 0);
    SHOW(connect(u, (void*)&a, n));
    SHOW(connect(u, (void*)&a, 1));
    SHOW(bind(u, (void*)&a, sizeof a + 1));
    n = address(&a, "nobody", 1);
    SHOW(connect(u, (void*)&a, n));
    n = sizeof a;
    SHOW(getpeername(u, (void*)&a, &n));
    say("unconnected polls %s %s %s", bits(u), bits(d), bits(q));
    close(u), close(d), close(q), close(p[0]), close(p[1]);
}

static void stream(void) {
    int s[2];
    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, s);
    SHOW(fcntl(s[0], F_GETFL));
    SHOW(fcntl(s[1], F_GETFD));
    struct stat st;
    fstat(s[0], &st);
    say("mode %o", st.st_mode);
    char b[64] = "";
    SHOW(read(s[0], b, 8));
    SHOW(write(s[0], "hello", 5));
    SHOW(write(s[0], " world", 6));
    int left;
    ioctl(s[1], FIONREAD, &left);
    say("waiting %d, polls %s %s", left, bits(s[0]), bits(s[1]));
    SHOW(recv(s[1], b, 3, MSG_PEEK));
    SHOW(recv(s[1], b, sizeof b, MSG_PEEK));
    say("%.11s", b);
    SHOW(recv(s[1], b, 7, MSG_WAITALL));
    SHOW(recv(s[1], b, sizeof b, MSG_WAITALL));
    say("%.4s", b);
    struct iovec v[2] = {{"ab", 2}, {"cde", 3}};
    SHOW(writev(s[1], v, 2));
    struct iovec r[2] = {{b, 4}, {b + 10, 8}};
    SHOW(readv(s[0], r, 2));
    say("%.4s %.1s", b, b + 10);
    long total = 0, n;
    static char big[4096];
    while ((n = write(s[0], big, sizeof big)) > 0) total += n;
    say("full after more than 100k: %d, less than 300k: %d, error %s", total > 100000, total < 300000, res(n));
    say("polls %s %s", bits(s[0]), bits(s[1]));
    SHOW(shutdown(s[0], SHUT_WR));
    signal(SIGPIPE, count);
    SHOW(write(s[0], "x", 1));
    SHOW(send(s[0], "x", 1, MSG_NOSIGNAL));
    say("signals %d", signals);
    while ((n = read(s[1], big, sizeof big)) > 0) total -= n;
    say("all there: %d, then %s", total == 0, res(n));
    say("polls %s %s", bits(s[0]), bits(s[1]));
    SHOW(write(s[1], "back", 4));
    SHOW(read(s[0], b, 8));
    write(s[1], "lost", 4);
    close(s[0]);
    say("polls %s", bits(s[1]));
    SHOW(read(s[1], b, 8));
    SHOW(write(s[1], "x", 1));
    say("signals %d", signals);
    close(s[1]);
    // Unread bytes of the one who closes are an error for the other.
    socketpair(AF_UNIX, SOCK_STREAM, 0, s);
    write(s[0], "x", 1);
    close(s[1]);
    say("polls %s", bits(s[0]));
    SHOW(read(s[0], b, 8));
    SHOW(read(s[0], b, 8));
    close(s[0]);
}

static void messages(int type) {
    say("messages of type %d", type);
    int s[2];
    socketpair(AF_UNIX, type, 0, s);
    char b[64] = "";
    SHOW(send(s[0], "first", 5, 0));
    SHOW(send(s[0], "second one", 10, 0));
    SHOW(send(s[0], "", 0, 0));
    int left;
    ioctl(s[1], FIONREAD, &left);
    say("waiting %d", left);
    SHOW(recv(s[1], b, 3, MSG_PEEK | MSG_TRUNC));
    SHOW(recv(s[1], b, 3, 0));
    struct iovec v[2] = {{b, 4}, {b + 20, 3}};
    struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
    SHOW(recvmsg(s[1], &m, 0));
    say("flags %x, %.4s %.3s", m.msg_flags, b, b + 20);
    SHOW(recv(s[1], b, 8, 0));
    SHOW(recv(s[1], b, 8, MSG_DONTWAIT));
    static char big[300000];
    SHOW(send(s[0], big, sizeof big, 0));
    long n, total = 0;
    while ((n = send(s[0], big, 8192, MSG_DONTWAIT)) > 0) total++;
    say("more than 8: %d, %s", total > 8, res(n));
    say("polls %s %s", bits(s[0]), bits(s[1]));
    close(s[0]);
    while ((n = recv(s[1], big, sizeof big, MSG_DONTWAIT)) > 0) total--;
    say("all there: %d, then %s", total == 0, res(n));
    SHOW(send(s[1], "x", 1, MSG_NOSIGNAL));
    say("polls %s", bits(s[1]));
    close(s[1]);
}

static void rights(void) {
    int s[2], p[2];
    socketpair(AF_UNIX, SOCK_STREAM, 0, s);
    pipe(p);
    union {
        char b[CMSG_SPACE(2 * sizeof(int))];
        struct cmsghdr align;
    } c;
    struct iovec v = {"fd", 2};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = c.b, .msg_controllen = CMSG_LEN(sizeof(int))};
    struct cmsghdr* h = CMSG_FIRSTHDR(&m);
    *h = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(h), &p[1], sizeof(int));
    SHOW(sendmsg(s[0], &m, 0));
    SHOW(write(s[0], "more", 4));
    memcpy(CMSG_DATA(h), &(int){0x5000}, sizeof(int));
    SHOW(sendmsg(s[0], &m, 0));
    close(p[1]);
    struct pollfd alive = {.fd = p[0], .events = POLLIN};
    poll(&alive, 1, 0);
    say("the pipe has a writer: %d", !(alive.revents & POLLHUP));
    char b[16];
    v = (struct iovec){b, sizeof b};
    m = (struct msghdr){.msg_iov = &v, .msg_iovlen = 1, .msg_control = c.b, .msg_controllen = sizeof c.b};
    SHOW(recvmsg(s[1], &m, MSG_CMSG_CLOEXEC));
    h = CMSG_FIRSTHDR(&m);
    say("control %zu, flags %x, type %d", m.msg_controllen, m.msg_flags & ~MSG_CMSG_CLOEXEC, h ? h->cmsg_type : -1);
    int got = -1;
    if (h) memcpy(&got, CMSG_DATA(h), sizeof got);
    SHOW(fcntl(got, F_GETFD));
    SHOW(write(got, "through", 7));
    SHOW(read(p[0], b, sizeof b));
    close(got);
    SHOW(read(s[1], b, sizeof b));
    SHOW(read(p[0], b, sizeof b));
    int on = 1;
    SHOW(setsockopt(s[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof on));
    write(s[0], "cred", 4);
    m.msg_controllen = sizeof c.b;
    SHOW(recvmsg(s[1], &m, 0));
    h = CMSG_FIRSTHDR(&m);
    struct ucred u = {0};
    if (h) memcpy(&u, CMSG_DATA(h), sizeof u);
    say("credentials: pid %d, uid %d", u.pid == getpid(), u.uid);
    socklen_t n = sizeof u;
    SHOW(getsockopt(s[1], SOL_SOCKET, SO_PEERCRED, &u, &n));
    say("partner: pid %d, uid %d, size %d", u.pid == getpid(), u.uid, n);
    close(s[0]), close(s[1]), close(p[0]);
}

static void options(void) {
    int s = socket(AF_UNIX, SOCK_STREAM, 0), v = 0;
    socklen_t n = sizeof v;
    for (int o = 1; o <= 12; o++) {
        n = sizeof v, v = -1;
        int r = getsockopt(s, SOL_SOCKET, o, &v, &n);
        if (o != SO_PRIORITY && o != SO_NO_CHECK) say("option %d: %s, %d, size %d", o, res(r), r ? 0 : v, n);
    }
    v = 50000;
    SHOW(setsockopt(s, SOL_SOCKET, SO_SNDBUF, &v, sizeof v));
    getsockopt(s, SOL_SOCKET, SO_SNDBUF, &v, &n);
    say("buffer %d", v);
    SHOW(setsockopt(s, SOL_SOCKET, SO_SNDBUF, &v, 2));
    SHOW(getsockopt(s, 77, 1, &v, &n));
    struct timeval t = {0, 5000};
    SHOW(setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t));
    close(s);
    int p[2];
    socketpair(AF_UNIX, SOCK_DGRAM, 0, p);
    setsockopt(p[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
    int64_t before = now_ns();
    char c;
    SHOW(recv(p[0], &c, 1, 0));
    say("waited: %d", now_ns() - before >= 5000000);
    close(p[0]), close(p[1]);
}

static void serve(const char* name, int abstract, int type) {
    say("%s, type %d", name, type);
    struct sockaddr_un a, b;
    socklen_t n = address(&a, name, abstract), m = sizeof b;
    if (abstract) n--;
    int l = socket(AF_UNIX, type, 0), again = socket(AF_UNIX, type, 0);
    SHOW(bind(l, (void*)&a, n));
    SHOW(bind(l, (void*)&a, n));
    SHOW(bind(again, (void*)&a, n));
    SHOW(connect(again, (void*)&a, n));
    SHOW(listen(l, 2));
    SHOW(getsockname(l, (void*)&b, &m));
    say("name of %d bytes: %d %.7s", m, b.sun_path[0] == 0, b.sun_path + abstract);
    fflush(stdout);
    if (fork() == 0) {
        int c = socket(AF_UNIX, type, 0);
        if (connect(c, (void*)&a, n)) _exit(1);
        char got[16];
        if (write(c, "question", 8) != 8 || read(c, got, 16) != 6) _exit(2);
        _exit(memcmp(got, "answer", 6) ? 3 : 0);
    }
    m = sizeof b;
    int c = accept4(l, (void*)&b, &m, SOCK_CLOEXEC);
    say("accepted %d, address of %d bytes", c >= 0, m);
    char got[16] = "";
    SHOW(read(c, got, sizeof got));
    SHOW(write(c, "answer", 6));
    int status;
    wait(&status);
    say("%s, child %x", got, status);
    SHOW(read(c, got, sizeof got));
    m = sizeof b;
    SHOW(getsockname(c, (void*)&b, &m));
    say("name of %d bytes", m);
    SHOW(fcntl(l, F_SETFL, O_NONBLOCK));
    SHOW(accept(l, 0, 0));
    close(c);
    // Three wait, the fourth does not find room.
    for (int i = 0; i < 4; i++) {
        int f = socket(AF_UNIX, type | SOCK_NONBLOCK, 0);
        say("connect %s", res(connect(f, (void*)&a, n)));
    }
    say("polls %s", bits(l));
    close(l), close(again);
    if (!abstract) {
        SHOW(connect(socket(AF_UNIX, type, 0), (void*)&a, n));
        SHOW(unlink(name));
    }
}

static void datagrams(void) {
    struct sockaddr_un a, b, got;
    socklen_t n = address(&a, "/tmp/first.sock", 0), m = address(&b, "second", 1) - 1, g = sizeof got;
    int one = socket(AF_UNIX, SOCK_DGRAM, 0), two = socket(AF_UNIX, SOCK_DGRAM, 0);
    bind(one, (void*)&a, n), bind(two, (void*)&b, m);
    char c[16] = "";
    SHOW(sendto(two, "letter", 6, 0, (void*)&a, n));
    SHOW(recvfrom(one, c, sizeof c, 0, (void*)&got, &g));
    say("%s from %d bytes %.5s", c, g, got.sun_path + 1);
    SHOW(sendto(one, "reply", 5, 0, (void*)&got, g));
    SHOW(recv(two, c, sizeof c, 0));
    SHOW(connect(two, (void*)&a, n));
    SHOW(send(two, "to it", 5, 0));
    int i = 0;
    while (send(two, "x", 1, MSG_DONTWAIT) == 1) i++;
    say("sent %d more: %s", i, strerrorname_np(errno));
    say("polls %s", bits(two));
    SHOW(connect(two, &(struct sockaddr){.sa_family = AF_UNSPEC}, 2));
    SHOW(send(two, "x", 1, 0));
    close(one);
    SHOW(sendto(two, "letter", 6, 0, (void*)&a, n));
    unlink("/tmp/first.sock");
    SHOW(sendto(two, "letter", 6, 0, (void*)&a, n));
    close(two);
}

static void* slow_reader(void* arg) {
    char b[1000];
    long total = 0, n;
    usleep(2000);
    while ((n = read(*(int*)arg, b, sizeof b)) > 0) total += n;
    return (void*)total;
}

static void blocking(void) {
    int s[2];
    socketpair(AF_UNIX, SOCK_STREAM, 0, s);
    pthread_t t;
    pthread_create(&t, 0, slow_reader, &s[1]);
    static char big[500000];
    SHOW(write(s[0], big, sizeof big));
    shutdown(s[0], SHUT_WR);
    void* total;
    pthread_join(t, &total);
    say("read %ld", (long)total);
    int e = epoll_create1(0);
    struct epoll_event ev = {.events = EPOLLIN | EPOLLET, .data.fd = 5}, out;
    socketpair(AF_UNIX, SOCK_STREAM, 0, s);
    epoll_ctl(e, EPOLL_CTL_ADD, s[1], &ev);
    SHOW(epoll_wait(e, &out, 1, 0));
    write(s[0], "x", 1);
    SHOW(epoll_wait(e, &out, 1, 0));
    SHOW(epoll_wait(e, &out, 1, 0));
    write(s[0], "x", 1);
    SHOW(epoll_wait(e, &out, 1, 0));
    close(s[0]);
    SHOW(epoll_wait(e, &out, 1, 0));
    say("events %x", out.events);
    signals = 0;
    signal(SIGIO, count);
    socketpair(AF_UNIX, SOCK_STREAM, 0, s);
    fcntl(s[0], F_SETOWN, getpid());
    fcntl(s[0], F_SETFL, O_ASYNC);
    write(s[1], "x", 1);
    say("signals %d", signals);
}

int main(void) {
    errors();
    stream();
    messages(SOCK_DGRAM);
    messages(SOCK_SEQPACKET);
    rights();
    options();
    serve("/tmp/listener.sock", 0, SOCK_STREAM);
    serve("listener", 1, SOCK_SEQPACKET);
    datagrams();
    blocking();
    return 0;
}
