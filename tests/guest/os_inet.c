// SPDX-License-Identifier: Apache-2.0
// Sockets of the families AF_INET and AF_INET6 over the loopback device: addresses, connections, datagrams, options, errors.
#include "os_guest.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

static int signals;
static void count(int s) { (void)s, signals++; }

static const char* bits(int fd) {
    static char b[8][16];
    static int k;
    struct pollfd p = {.fd = fd, .events = POLLIN | POLLOUT | POLLRDHUP | POLLPRI | POLLRDNORM | POLLWRNORM};
    poll(&p, 1, 0);
    k = (k + 1) & 7;
    snprintf(b[k], 16, "%x", p.revents);
    return b[k];
}

static struct sockaddr_in v4(unsigned ip, int port) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(ip)};
    return a;
}
#define HERE v4(INADDR_LOOPBACK, 0)
#define A(a) (struct sockaddr*)&(a), sizeof(a)

static int tcp(void) { return socket(AF_INET, SOCK_STREAM, 0); }
static int udp(void) { return socket(AF_INET, SOCK_DGRAM, 0); }

/// A listening socket; its address goes to `a`.
static int server(struct sockaddr_in* a, int backlog) {
    const int s = tcp();
    *a = HERE;
    bind(s, (struct sockaddr*)a, sizeof *a);
    listen(s, backlog);
    socklen_t n = sizeof *a;
    getsockname(s, (struct sockaddr*)a, &n);
    return s;
}

static int error_of(int fd) {
    int e = -1;
    socklen_t n = sizeof e;
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &n);
    return e;
}

static void families(void) {
    SHOW(socket(AF_INET, SOCK_SEQPACKET, 0));
    SHOW(socket(AF_INET, SOCK_STREAM, IPPROTO_UDP));
    SHOW(socket(AF_INET, SOCK_DGRAM, IPPROTO_TCP));
    SHOW(socket(AF_INET, SOCK_STREAM, 300));
    SHOW(socket(AF_INET, SOCK_STREAM | 0x10000, 0));
    SHOW(socket(AF_INET, 11, 0));
    int p[2];
    SHOW(socketpair(AF_INET, SOCK_STREAM, 0, p));
    const int s = tcp();
    struct stat st;
    fstat(s, &st);
    say("mode %o, fl %x", st.st_mode, fcntl(s, F_GETFL));
    SHOW(lseek(s, 0, SEEK_SET));
    say("fresh: tcp %s udp %s", bits(s), bits(udp()));
}

static void binding(void) {
    struct sockaddr_in a = HERE, far = v4(0x0a000001, 0), wrong = HERE, got;
    wrong.sin_family = AF_INET6;
    socklen_t n = sizeof got;
    const int s = tcp();
    SHOW(bind(s, A(wrong)));
    SHOW(bind(s, (struct sockaddr*)&a, 8));
    SHOW(bind(s, (struct sockaddr*)&a, -1));
    SHOW(bind(s, (struct sockaddr*)8, sizeof a));
    SHOW(bind(s, A(far)));
    getsockname(s, (struct sockaddr*)&got, &n);
    say("unbound: %x:%d, %d bytes", ntohl(got.sin_addr.s_addr), ntohs(got.sin_port), (int)n);
    SHOW(bind(s, A(a)));
    SHOW(bind(s, A(a)));
    n = 6;
    memset(&got, 0x55, sizeof got);
    getsockname(s, (struct sockaddr*)&got, &n);
    say("cut: %d bytes, family %d, address %x", (int)n, got.sin_family, got.sin_addr.s_addr);
    n = sizeof got;
    getsockname(s, (struct sockaddr*)&got, &n);
    say("bound: %x, port %s", ntohl(got.sin_addr.s_addr), got.sin_port ? "given" : "none");
    const int t = tcp();
    SHOW(bind(t, A(got)));
    const int one = 1;
    setsockopt(t, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    SHOW(bind(t, A(got)));
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    SHOW(bind(t, A(got)));
    SHOW(listen(s, 1));
    SHOW(listen(t, 1));
    const int u = udp();
    SHOW(bind(u, A(got)));
    n = sizeof got;
    SHOW(getpeername(s, (struct sockaddr*)&got, &n));
    SHOW(getsockname(s, (struct sockaddr*)8, &n));
    close(s), close(t), close(u);
}

static void connections(void) {
    struct sockaddr_in a, got;
    socklen_t n = sizeof got;
    char b[64];
    const int s = server(&a, 2);
    int c = tcp();
    SHOW(send(c, "x", 1, 0));
    SHOW(recv(c, b, 1, 0));
    SHOW(accept(c, 0, 0));
    SHOW(shutdown(c, SHUT_WR));
    // It stays shut when it is connected.
    SHOW(connect(c, A(a)));
    SHOW(send(c, "x", 1, 0));
    close(c);
    close(accept(s, 0, 0));
    c = tcp();
    SHOW(recv(s, b, 1, 0));
    SHOW(fcntl(s, F_SETFL, O_NONBLOCK));
    SHOW(accept(s, 0, 0));
    say("listening %s", bits(s));
    SHOW(connect(c, A(a)));
    say("one waits %s, client %s", bits(s), bits(c));
    const int d = accept4(s, (struct sockaddr*)&got, &n, SOCK_NONBLOCK | SOCK_CLOEXEC);
    struct sockaddr_in mine;
    n = sizeof mine;
    getsockname(c, (struct sockaddr*)&mine, &n);
    say("accepted: fl %x fd %x, peer is the client %d", fcntl(d, F_GETFL), fcntl(d, F_GETFD),
        !memcmp(&mine, &got, sizeof got));
    n = sizeof got;
    getpeername(c, (struct sockaddr*)&got, &n);
    say("the client's peer is the server %d", !memcmp(&a, &got, sizeof got));
    SHOW(connect(c, A(a)));
    SHOW(listen(c, 1));
    SHOW(connect(s, A(a)));
    SHOW(send(c, "hello", 5, 0));
    SHOW(send(c, " world", 6, 0));
    int in = -1;
    SHOW(ioctl(d, FIONREAD, &in));
    say("in %d, %s", in, bits(d));
    SHOW(recv(d, b, 5, MSG_PEEK));
    SHOW(recv(d, b, sizeof b, 0));
    say("%.11s", b);
    SHOW(recv(d, b, sizeof b, 0));
    SHOW(send(d, "abcdefgh", 8, 0));
    SHOW(recv(c, b, 3, MSG_TRUNC));
    SHOW(recv(c, b, 5, MSG_WAITALL));
    say("%.5s", b);
    struct iovec v[2] = {{"12", 2}, {"345", 3}};
    SHOW(writev(d, v, 2));
    struct msghdr h = {.msg_name = &got, .msg_namelen = sizeof got, .msg_iov = &(struct iovec){b, 64}, .msg_iovlen = 1};
    SHOW(recvmsg(c, &h, 0));
    say("name %d, flags %x, control %d", (int)h.msg_namelen, h.msg_flags, (int)h.msg_controllen);
    SHOW(sendto(c, "to", 2, 0, A(a)));
    SHOW(recvfrom(d, b, 64, 0, (struct sockaddr*)&got, &n));
    // Half closed, then closed.
    SHOW(shutdown(c, SHUT_WR));
    say("after SHUT_WR: client %s, server %s", bits(c), bits(d));
    SHOW(send(c, "x", 1, MSG_NOSIGNAL));
    SHOW(send(c, "x", 1, 0));
    say("signals %d", signals);
    SHOW(recv(d, b, 1, 0));
    SHOW(send(d, "last", 4, 0));
    SHOW(recv(c, b, 64, 0));
    close(d);
    say("both closed: client %s", bits(c));
    SHOW(recv(c, b, 64, 0));
    SHOW(getpeername(c, (struct sockaddr*)&got, &n));
    close(c);
    close(s);
}

static void ends(void) {
    struct sockaddr_in a;
    char b[64];
    const int s = server(&a, 8);
    // The other end closes with data unread: reset.
    int c = tcp(), d;
    connect(c, A(a));
    d = accept(s, 0, 0);
    send(c, "unread", 6, 0);
    close(d);
    say("reset: %s", bits(c));
    SHOW(recv(c, b, 1, 0));
    SHOW(recv(c, b, 1, 0));
    SHOW(send(c, "x", 1, MSG_NOSIGNAL));
    close(c);
    // It closes in peace, and is written to.
    c = tcp();
    connect(c, A(a));
    d = accept(s, 0, 0);
    close(d);
    say("fin: %s", bits(c));
    SHOW(send(c, "x", 1, MSG_NOSIGNAL));
    say("then: %s", bits(c));
    SHOW(send(c, "x", 1, MSG_NOSIGNAL));
    SHOW(recv(c, b, 1, 0));
    close(c);
    // No wait at the end.
    c = tcp();
    connect(c, A(a));
    d = accept(s, 0, 0);
    const struct linger now = {1, 0};
    SHOW(setsockopt(d, SOL_SOCKET, SO_LINGER, &now, sizeof now));
    close(d);
    SHOW(recv(c, b, 1, 0));
    close(c);
    // The listener goes while one waits.
    c = tcp();
    SHOW(connect(c, A(a)));
    close(s);
    say("listener gone: %s, error %d", bits(c), error_of(c));
    close(c);
    c = tcp();
    SHOW(connect(c, A(a)));
    struct sockaddr_in far = v4(0x0a000001, 80);
    SHOW(connect(c, A(far)));
    SHOW(connect(c, (struct sockaddr*)&a, 4));
    far.sin_family = AF_UNIX;
    SHOW(connect(c, A(far)));
    close(c);
}

static void without_waiting(void) {
    struct sockaddr_in a;
    const int s = server(&a, 1);
    int c = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    SHOW(connect(c, A(a)));
    usleep(1000);
    say("%s, error %d", bits(c), error_of(c));
    SHOW(connect(c, A(a)));
    SHOW(connect(c, A(a)));
    close(c);
    close(s);
    c = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    SHOW(connect(c, A(a)));
    usleep(1000);
    say("refused: %s, error %d", bits(c), error_of(c));
    say("again: %s, error %d", bits(c), error_of(c));
    close(c);
    c = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    SHOW(connect(c, A(a)));
    usleep(1000);
    SHOW(connect(c, A(a)));
    close(c);
}

static void datagrams(void) {
    struct sockaddr_in a = HERE, from, b4;
    socklen_t n = sizeof a;
    char b[64];
    const int s = udp(), c = udp();
    bind(s, A(a));
    getsockname(s, (struct sockaddr*)&a, &n);
    SHOW(send(c, "x", 1, 0));
    SHOW(recv(c, b, 1, MSG_DONTWAIT));
    SHOW(shutdown(c, SHUT_RD));
    close(c);
    const int d = udp();
    SHOW(sendto(d, "one", 3, 0, A(a)));
    SHOW(sendto(d, "", 0, 0, A(a)));
    SHOW(sendto(d, "three", 5, 0, A(a)));
    int in = -1;
    ioctl(s, FIONREAD, &in);
    say("in %d, %s", in, bits(s));
    n = sizeof from;
    SHOW(recvfrom(s, b, 2, 0, (struct sockaddr*)&from, &n));
    n = sizeof b4;
    getsockname(d, (struct sockaddr*)&b4, &n);
    say("from %x, its port %d, the sender is bound to %x", ntohl(from.sin_addr.s_addr), from.sin_port == b4.sin_port,
        ntohl(b4.sin_addr.s_addr));
    SHOW(recv(s, b, 64, 0));
    SHOW(recv(s, b, 2, MSG_TRUNC | MSG_PEEK));
    struct msghdr h = {
        .msg_name = &from, .msg_namelen = sizeof from, .msg_iov = &(struct iovec){b, 2}, .msg_iovlen = 1};
    SHOW(recvmsg(s, &h, 0));
    say("name %d, flags %x", (int)h.msg_namelen, h.msg_flags);
    SHOW(recv(s, b, 64, MSG_DONTWAIT));
    static char big[70000];
    SHOW(sendto(d, big, 65507, 0, A(a)));
    SHOW(sendto(d, big, 65508, 0, A(a)));
    SHOW(recv(s, big, sizeof big, 0));
    struct sockaddr_in zero = v4(INADDR_LOOPBACK, 0), far = v4(0x0a000001, 9);
    SHOW(sendto(d, "x", 1, 0, A(zero)));
    SHOW(sendto(d, "x", 1, 0, A(far)));
    SHOW(sendto(d, "x", 1, 0, (struct sockaddr*)&a, 4));
    SHOW(connect(d, A(a)));
    SHOW(send(d, "connected", 9, 0));
    SHOW(recv(s, b, 64, 0));
    SHOW(sendto(s, "back", 4, 0, A(b4)));
    SHOW(recv(d, b, 64, 0));
    SHOW(listen(d, 1));
    SHOW(accept(d, 0, 0));
    // Nobody there: those who are connected hear of it.
    close(s);
    SHOW(send(d, "x", 1, 0));
    say("unreachable: %s", bits(d));
    SHOW(send(d, "x", 1, 0));
    SHOW(send(d, "x", 1, 0));
    SHOW(recv(d, b, 1, MSG_DONTWAIT));
    SHOW(recv(d, b, 1, MSG_DONTWAIT));
    struct sockaddr none = {.sa_family = AF_UNSPEC};
    SHOW(connect(d, &none, sizeof none));
    SHOW(send(d, "x", 1, 0));
    SHOW(sendto(d, "x", 1, 0, A(a)));
    SHOW(recv(d, b, 1, MSG_DONTWAIT));
    close(d);
    // What does not fit is lost.
    const int r = udp(), w = udp();
    a = HERE;
    n = sizeof a;
    bind(r, A(a));
    getsockname(r, (struct sockaddr*)&a, &n);
    int held = 0;
    for (int i = 0; i < 1000; ++i) sendto(w, "x", 1, 0, A(a));
    while (recv(r, b, 1, MSG_DONTWAIT) == 1) ++held;
    say("of 1000 short ones %d are there", held);
    close(r), close(w);
}

static void six(void) {
    struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT}, got;
    struct sockaddr_in b = HERE;
    socklen_t n = sizeof a;
    char text[64];
    const int s = socket(AF_INET6, SOCK_STREAM, 0);
    int v = -1;
    socklen_t vn = sizeof v;
    getsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, &v, &vn);
    say("only v6: %d", v);
    SHOW(bind(s, (struct sockaddr*)&b, sizeof b));
    SHOW(bind(s, (struct sockaddr*)&a, 20));
    SHOW(bind(s, A(a)));
    SHOW(listen(s, 4));
    getsockname(s, (struct sockaddr*)&a, &n);
    say("%d bytes, %s", (int)n, inet_ntop(AF_INET6, &a.sin6_addr, text, sizeof text));
    // From IPv4, and from IPv6.
    int c = tcp();
    b.sin_port = a.sin6_port;
    SHOW(connect(c, A(b)));
    n = sizeof got;
    int d = accept(s, (struct sockaddr*)&got, &n);
    say("from %s", inet_ntop(AF_INET6, &got.sin6_addr, text, sizeof text));
    close(c), close(d);
    c = socket(AF_INET6, SOCK_STREAM, 0);
    struct sockaddr_in6 there = a;
    there.sin6_addr = (struct in6_addr)IN6ADDR_LOOPBACK_INIT;
    SHOW(connect(c, A(there)));
    n = sizeof got;
    d = accept(s, (struct sockaddr*)&got, &n);
    say("from %s", inet_ntop(AF_INET6, &got.sin6_addr, text, sizeof text));
    SHOW(send(d, "six", 3, 0));
    SHOW(recv(c, text, 8, 0));
    close(c), close(d);
    const int u = tcp();
    SHOW(bind(u, A(b)));
    close(u), close(s);
}

static void options(void) {
    static const struct {
        const char* name;
        int level, option;
    } all[] = {{"SO_TYPE", SOL_SOCKET, SO_TYPE},
               {"SO_DOMAIN", SOL_SOCKET, SO_DOMAIN},
               {"SO_PROTOCOL", SOL_SOCKET, SO_PROTOCOL},
               {"SO_ERROR", SOL_SOCKET, SO_ERROR},
               {"SO_ACCEPTCONN", SOL_SOCKET, SO_ACCEPTCONN},
               {"SO_SNDBUF", SOL_SOCKET, SO_SNDBUF},
               {"SO_RCVBUF", SOL_SOCKET, SO_RCVBUF},
               {"SO_REUSEADDR", SOL_SOCKET, SO_REUSEADDR},
               {"SO_REUSEPORT", SOL_SOCKET, SO_REUSEPORT},
               {"SO_KEEPALIVE", SOL_SOCKET, SO_KEEPALIVE},
               {"SO_BROADCAST", SOL_SOCKET, SO_BROADCAST},
               {"TCP_NODELAY", IPPROTO_TCP, TCP_NODELAY},
               {"TCP_MAXSEG", IPPROTO_TCP, TCP_MAXSEG},
               {"TCP_CORK", IPPROTO_TCP, TCP_CORK},
               {"TCP_KEEPIDLE", IPPROTO_TCP, TCP_KEEPIDLE},
               {"TCP_KEEPINTVL", IPPROTO_TCP, TCP_KEEPINTVL},
               {"TCP_KEEPCNT", IPPROTO_TCP, TCP_KEEPCNT},
               {"TCP_USER_TIMEOUT", IPPROTO_TCP, TCP_USER_TIMEOUT},
               {"IP_TOS", IPPROTO_IP, IP_TOS},
               {"IP_TTL", IPPROTO_IP, IP_TTL},
               {"IP_MTU_DISCOVER", IPPROTO_IP, IP_MTU_DISCOVER},
               {"IP_MTU", IPPROTO_IP, IP_MTU},
               {"IPV6_V6ONLY", IPPROTO_IPV6, IPV6_V6ONLY},
               {"none", IPPROTO_TCP, 999},
               {"no level", 999, 1}};
    const int s[2] = {tcp(), udp()};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        for (int k = 0; k < 2; ++k) {
            int v = -77;
            socklen_t n = sizeof v;
            errno = 0;
            const int r = getsockopt(s[k], all[i].level, all[i].option, &v, &n), e = errno;
            int w = 1;
            errno = 0;
            const int t = setsockopt(s[k], all[i].level, all[i].option, &w, sizeof w), f = errno;
            say("%s of %s: %d %s, set %d %s", all[i].name, k ? "udp" : "tcp", r ? r : v, r ? strerrorname_np(e) : "", t,
                t ? strerrorname_np(f) : "");
        }
    int v = 100000;
    socklen_t n = sizeof v;
    SHOW(setsockopt(s[0], SOL_SOCKET, SO_RCVBUF, &v, sizeof v));
    getsockopt(s[0], SOL_SOCKET, SO_RCVBUF, &v, &n);
    say("SO_RCVBUF %d", v);
    v = 1;
    SHOW(setsockopt(s[0], SOL_SOCKET, SO_SNDBUF, &v, sizeof v));
    getsockopt(s[0], SOL_SOCKET, SO_SNDBUF, &v, &n);
    say("SO_SNDBUF %d", v);
    SHOW(setsockopt(s[0], SOL_SOCKET, SO_REUSEADDR, &v, 2));
    SHOW(setsockopt(s[0], SOL_SOCKET, SO_REUSEADDR, &v, -1));
    v = 0;
    SHOW(setsockopt(s[0], IPPROTO_TCP, TCP_KEEPIDLE, &v, sizeof v));
    v = 256;
    SHOW(setsockopt(s[0], IPPROTO_IP, IP_TTL, &v, sizeof v));
    struct timeval limit = {0, 20000}, none = {0, 1000000};
    SHOW(setsockopt(s[1], SOL_SOCKET, SO_RCVTIMEO, &none, sizeof none));
    SHOW(setsockopt(s[1], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit));
    char b;
    SHOW(recv(s[1], &b, 1, 0));
    close(s[0]), close(s[1]);
}

static void* echo(void* arg) {
    const int s = *(int*)arg, d = accept(s, 0, 0);
    char b[4096];
    for (ssize_t n; (n = read(d, b, sizeof b)) > 0;)
        for (ssize_t at = 0; at < n;) at += write(d, b + at, (size_t)(n - at));
    close(d);
    return 0;
}

/// Much more than fits, through a server that sends it back, and with epoll.
static void through(void) {
    struct sockaddr_in a;
    int s = server(&a, 1);
    pthread_t t;
    pthread_create(&t, 0, echo, &s);
    const int c = tcp(), e = epoll_create1(0);
    connect(c, A(a));
    fcntl(c, F_SETFL, O_NONBLOCK);
    struct epoll_event ev = {.events = EPOLLIN | EPOLLOUT};
    epoll_ctl(e, EPOLL_CTL_ADD, c, &ev);
    enum { kAll = 300000 };
    static unsigned char out[kAll], in[kAll];
    for (int i = 0; i < kAll; ++i) out[i] = (unsigned char)(i * 7 + i / 251);
    size_t sent = 0, got = 0;
    while (got < kAll) {
        epoll_wait(e, &ev, 1, -1);
        ssize_t n;
        if (ev.events & EPOLLIN)
            while ((n = read(c, in + got, kAll - got)) > 0) got += (size_t)n;
        if (ev.events & EPOLLOUT && sent < kAll && (n = write(c, out + sent, kAll - sent)) > 0) sent += (size_t)n;
        if (sent == kAll && ev.events & EPOLLOUT) {
            ev.events = EPOLLIN;
            epoll_ctl(e, EPOLL_CTL_MOD, c, &ev);
        }
    }
    say("echo of %zu bytes: %s", sent, memcmp(in, out, kAll) ? "differs" : "the same");
    close(c);
    pthread_join(t, 0);
    close(s), close(e);
}

int main(void) {
    signal(SIGPIPE, count);
    families();
    binding();
    connections();
    ends();
    without_waiting();
    datagrams();
    six();
    options();
    through();
    return 0;
}
