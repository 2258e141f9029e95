// SPDX-License-Identifier: Apache-2.0
// What programs ask of the network's devices: netlink, getifaddrs, the ioctls, /proc/net.
#include "os_guest.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

static unsigned char reply[16384];

static void attributes(const char* what, struct rtattr* a, int left) {
    for (; RTA_OK(a, left); a = RTA_NEXT(a, left)) {
        // The counters, the cache's ages and what belongs to drivers say nothing.
        char text[80] = "";
        for (unsigned i = 0; i < RTA_PAYLOAD(a) && i < 16; ++i)
            snprintf(text + 3 * i, 4, " %02x", ((unsigned char*)RTA_DATA(a))[i]);
        if (a->rta_type == 3 || a->rta_type == 1 || a->rta_type == 2 || a->rta_type == 4)
            say("  %s attribute %d, %d bytes:%s", what, a->rta_type, (int)RTA_PAYLOAD(a), text);
    }
}

static void dump(int s, int type, int family, int flags) {
    struct {
        struct nlmsghdr h;
        struct ifinfomsg i;
    } q = {{sizeof q, (unsigned short)type, (unsigned short)(NLM_F_REQUEST | flags), 77, 0},
           {.ifi_family = (unsigned char)family}};
    if (!(flags & NLM_F_DUMP)) q.i.ifi_index = 1;
    say("request %d of family %d: %zd", type, family, send(s, &q, sizeof q, 0));
    for (int done = 0; !done;) {
        const ssize_t n = recv(s, reply, sizeof reply, MSG_DONTWAIT);
        if (n < 0) {
            say("no more: %s", strerrorname_np(errno));
            break;
        }
        struct nlmsghdr* h = (void*)reply;
        for (unsigned left = (unsigned)n; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
            say(" type %d flags %x seq %u", h->nlmsg_type, h->nlmsg_flags, h->nlmsg_seq);
            done |= h->nlmsg_type == NLMSG_DONE;
            if (h->nlmsg_type == NLMSG_ERROR) {
                const struct nlmsgerr* e = NLMSG_DATA(h);
                say("  error %d, of a request of type %d", e->error, e->msg.nlmsg_type);
                done = 1;
            }
            if (h->nlmsg_type == RTM_NEWLINK) {
                struct ifinfomsg* i = NLMSG_DATA(h);
                say("  link: family %d type %d index %d flags %x", i->ifi_family, i->ifi_type, i->ifi_index,
                    i->ifi_flags);
                attributes("link", IFLA_RTA(i), (int)IFLA_PAYLOAD(h));
                done |= !(flags & NLM_F_DUMP);
            }
            if (h->nlmsg_type == RTM_NEWADDR) {
                struct ifaddrmsg* i = NLMSG_DATA(h);
                say("  address: family %d prefix %d flags %x scope %d index %d", i->ifa_family, i->ifa_prefixlen,
                    i->ifa_flags, i->ifa_scope, i->ifa_index);
                attributes("address", IFA_RTA(i), (int)IFA_PAYLOAD(h));
            }
        }
    }
}

static void netlink(void) {
    SHOW(socket(AF_NETLINK, SOCK_STREAM, 0));
    SHOW(socket(AF_NETLINK, SOCK_RAW, 200));
    const int s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    struct sockaddr_nl a = {.nl_family = AF_NETLINK}, got;
    socklen_t n = sizeof got;
    SHOW(bind(s, (struct sockaddr*)&a, 8));
    SHOW(bind(s, (struct sockaddr*)&a, sizeof a));
    SHOW(getsockname(s, (struct sockaddr*)&got, &n));
    say("%d bytes, port is the process %d, groups %x", (int)n, got.nl_pid == (unsigned)getpid(), got.nl_groups);
    const int t = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    a.nl_pid = (unsigned)getpid();
    SHOW(bind(t, (struct sockaddr*)&a, sizeof a));
    a.nl_pid = 0;
    SHOW(bind(t, (struct sockaddr*)&a, sizeof a));
    n = sizeof got;
    getsockname(t, (struct sockaddr*)&got, &n);
    say("another port: %d", got.nl_pid != (unsigned)getpid() && got.nl_pid);
    SHOW(recv(s, reply, 10, MSG_DONTWAIT));
    SHOW(listen(s, 1));
    SHOW(accept(s, 0, 0));
    dump(s, RTM_GETLINK, AF_UNSPEC, NLM_F_DUMP);
    dump(s, RTM_GETLINK, AF_UNSPEC, 0);
    dump(s, RTM_GETADDR, AF_UNSPEC, NLM_F_DUMP);
    dump(s, RTM_GETADDR, AF_INET, NLM_F_DUMP);
    dump(s, RTM_GETADDR, AF_INET6, NLM_F_DUMP);
    dump(s, 2000, 0, 0);
    struct nlmsghdr noop = {sizeof noop, NLMSG_NOOP, NLM_F_REQUEST | NLM_F_ACK, 78, 0};
    SHOW(send(s, &noop, sizeof noop, 0));
    SHOW(recv(s, reply, sizeof reply, MSG_DONTWAIT));
    // Cut short.
    struct {
        struct nlmsghdr h;
        struct rtgenmsg g;
    } q = {{sizeof q, RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP, 79, 0}, {AF_UNSPEC}};
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK}, from;
    SHOW(sendto(s, &q, sizeof q, 0, (struct sockaddr*)&kernel, sizeof kernel));
    struct pollfd p = {.fd = s, .events = POLLIN | POLLOUT};
    SHOW(poll(&p, 1, 0));
    say("%x", p.revents);
    struct iovec v = {reply, 20};
    struct msghdr m = {.msg_name = &from, .msg_namelen = sizeof from, .msg_iov = &v, .msg_iovlen = 1};
    SHOW(recvmsg(s, &m, 0));
    say("flags %x, name of %d bytes, from %u", m.msg_flags, (int)m.msg_namelen, from.nl_pid);
    close(s), close(t);
}

static void names(void) {
    struct ifaddrs *all, *i;
    SHOW(getifaddrs(&all));
    for (i = all; i; i = i->ifa_next)
        say("%s flags %x family %d", i->ifa_name, i->ifa_flags, i->ifa_addr ? i->ifa_addr->sa_family : -1);
    SHOW(if_nametoindex("lo"));
    SHOW(if_nametoindex("eth7"));
    char name[IF_NAMESIZE];
    say("%s", if_indextoname(1, name) ? name : "none");
}

static void requests(void) {
    const int s = socket(AF_INET, SOCK_DGRAM, 0);
    struct ifreq r = {.ifr_name = "lo"};
    SHOW(ioctl(s, SIOCGIFFLAGS, &r));
    say("flags %x", r.ifr_flags);
    SHOW(ioctl(s, SIOCGIFMTU, &r));
    say("mtu %d", r.ifr_mtu);
    SHOW(ioctl(s, SIOCGIFADDR, &r));
    say("%s", inet_ntoa(((struct sockaddr_in*)&r.ifr_addr)->sin_addr));
    SHOW(ioctl(s, SIOCGIFNETMASK, &r));
    say("%s", inet_ntoa(((struct sockaddr_in*)&r.ifr_addr)->sin_addr));
    SHOW(ioctl(s, SIOCGIFHWADDR, &r));
    say("hardware %d", r.ifr_hwaddr.sa_family);
    SHOW(ioctl(s, SIOCGIFINDEX, &r));
    say("index %d", r.ifr_ifindex);
    struct ifreq none = {.ifr_name = "eth7"};
    SHOW(ioctl(s, SIOCGIFFLAGS, &none));
    SHOW(ioctl(s, SIOCGIFADDR, &none));
    struct ifreq list[4];
    struct ifconf c = {.ifc_len = sizeof list, .ifc_req = list};
    SHOW(ioctl(s, SIOCGIFCONF, &c));
    say("%d bytes, %s %s", c.ifc_len, list[0].ifr_name, inet_ntoa(((struct sockaddr_in*)&list[0].ifr_addr)->sin_addr));
    SHOW(ioctl(s, 0x89fe, &r));
    close(s);
}

/// The line of our listening socket in /proc/net/tcp, without what differs.
static void in_proc(void) {
    const int s = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(0x5678)};
    bind(s, (struct sockaddr*)&a, sizeof a);
    listen(s, 3);
    const int c = socket(AF_INET, SOCK_STREAM, 0);
    connect(c, (struct sockaddr*)&a, sizeof a);
    char line[400];
    FILE* f = fopen("/proc/net/tcp", "r");
    while (f && fgets(line, sizeof line, f))
        if (strstr(line, "0100007F:5678 00000000")) say("%.56s (%zu)", line + 6, strlen(line));
    if (f) fclose(f);
    f = fopen("/proc/net/tcp6", "r");
    if (f && fgets(line, sizeof line, f)) say("%s", line);
    if (f) fclose(f);
    close(c), close(s);
}

int main(void) {
    netlink();
    names();
    requests();
    in_proc();
    return 0;
}
