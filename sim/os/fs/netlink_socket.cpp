// SPDX-License-Identifier: Apache-2.0
#include "sim/os/fs/netlink_socket.h"

#include "sim/os/kernel.h"

#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <algorithm>
#include <cstring>

namespace rkperf::os {

namespace {

constexpr std::uint32_t kRequestCost = 6000, kReceiveCost = 1500, kEmptyCost = 500; // instructions, estimates
constexpr std::uint16_t kLoopbackType = 772;                                        // ARPHRD_LOOPBACK
constexpr std::size_t kNameSize = sizeof(sockaddr_nl);

using Bytes = std::vector<std::uint8_t>;

/// A message that is being put together.
class Message {
  public:
    template <class Body>
    Message(std::uint16_t type, std::uint16_t flags, std::uint32_t seq, std::uint32_t port, const Body& body) {
        nlmsghdr head{};
        head.nlmsg_type = type;
        head.nlmsg_flags = flags;
        head.nlmsg_seq = seq;
        head.nlmsg_pid = port;
        append(&head, sizeof head);
        append(&body, sizeof body);
    }
    void attribute(std::uint16_t type, const void* data, std::size_t n) {
        const rtattr head{static_cast<unsigned short>(sizeof head + n), type};
        append(&head, sizeof head);
        append(data, n);
    }
    template <class T>
    void value(std::uint16_t type, const T& v) {
        attribute(type, &v, sizeof v);
    }
    void append(const void* data, std::size_t n) {
        const auto* p = static_cast<const std::uint8_t*>(data);
        bytes_.insert(bytes_.end(), p, p + n);
        length_ = bytes_.size();
        bytes_.resize(NLMSG_ALIGN(bytes_.size()));
    }
    Bytes take() {
        const auto n = static_cast<std::uint32_t>(length_);
        std::memcpy(bytes_.data(), &n, sizeof n);
        return std::move(bytes_);
    }

  private:
    Bytes bytes_;
    std::size_t length_{};
};

bool names_loopback(std::span<const std::uint8_t> message) {
    ifinfomsg info{};
    if (message.size() >= NLMSG_HDRLEN + sizeof info) std::memcpy(&info, message.data() + NLMSG_HDRLEN, sizeof info);
    if (info.ifi_index) return info.ifi_index == loopback::kIndex;
    for (std::size_t at = NLMSG_HDRLEN + sizeof info; at + sizeof(rtattr) <= message.size();) {
        rtattr a;
        std::memcpy(&a, message.data() + at, sizeof a);
        if (a.rta_len < sizeof a || at + a.rta_len > message.size()) break;
        const std::string_view text(reinterpret_cast<const char*>(message.data() + at + sizeof a),
                                    a.rta_len - sizeof a);
        if (a.rta_type == IFLA_IFNAME) return text.substr(0, text.find('\0')) == "lo";
        at += RTA_ALIGN(a.rta_len);
    }
    return false;
}

} // namespace

NetlinkSocket::NetlinkSocket(FsServices& s, std::shared_ptr<InetTable> table, std::shared_ptr<Ports> ports, int type,
                             std::uint64_t ino, std::uint32_t open_flags)
    : NetSocket(s, AF_NETLINK, type, NETLINK_ROUTE, ino, open_flags),
      table_(std::move(table)),
      ports_(std::move(ports)) {}

NetlinkSocket::~NetlinkSocket() {
    detach_watchers();
    if (port_) ports_->erase(port_);
}

int NetlinkSocket::autobind() {
    if (port_) return 0;
    // The process's number; then numbers that no process can have.
    std::uint32_t port = static_cast<std::uint32_t>(os.cur().tgid);
    for (std::uint32_t n = 0xfffff000; ports_->contains(port); --n) port = n;
    port_ = port;
    (*ports_)[port] = this;
    return 0;
}

int NetlinkSocket::bind(std::span<const std::uint8_t> name) {
    sockaddr_nl a;
    if (name.size() < kNameSize) return -EINVAL;
    std::memcpy(&a, name.data(), sizeof a);
    if (a.nl_family != AF_NETLINK) return -EINVAL;
    if (port_ && a.nl_pid != port_) return -EINVAL;
    if (!port_ && a.nl_pid) {
        if (ports_->contains(a.nl_pid)) return -EADDRINUSE;
        port_ = a.nl_pid;
        (*ports_)[port_] = this;
    }
    groups_ = a.nl_groups;
    return autobind();
}

int NetlinkSocket::connect(std::span<const std::uint8_t> name, bool) {
    sockaddr_nl a;
    if (name.size() < sizeof a.nl_family) return -EINVAL;
    std::memcpy(&a.nl_family, name.data(), sizeof a.nl_family);
    if (a.nl_family == AF_UNSPEC) {
        peer_port_ = 0;
        return 0;
    }
    if (a.nl_family != AF_NETLINK || name.size() < kNameSize) return -EINVAL;
    std::memcpy(&a, name.data(), sizeof a);
    peer_port_ = a.nl_pid;
    return autobind();
}

int NetlinkSocket::name(bool peer, SocketName& out) {
    sockaddr_nl a{};
    a.nl_family = AF_NETLINK;
    a.nl_pid = peer ? peer_port_ : port_;
    a.nl_groups = peer ? 0 : groups_;
    out.resize(sizeof a);
    std::memcpy(out.data(), &a, sizeof a);
    return 0;
}

void NetlinkSocket::queue(Bytes message) {
    queue_.push_back(std::move(message));
    changed(1);
}

std::int64_t NetlinkSocket::send(std::span<const std::uint8_t> from, std::span<const std::uint8_t> to, bool, bool) {
    std::uint32_t port = peer_port_;
    if (!to.empty()) {
        sockaddr_nl a;
        if (to.size() < kNameSize) return -EINVAL;
        std::memcpy(&a, to.data(), sizeof a);
        if (a.nl_family != AF_NETLINK) return -EINVAL;
        if (a.nl_groups && s.cred().euid) return -EPERM;
        port = a.nl_pid;
    }
    if (from.size() > send_buffer - 32) return -EMSGSIZE;
    if (const int e = autobind(); e) return e;
    if (port) { // to another socket: of this protocol, only the kernel's listens
        const auto it = ports_->find(port);
        if (it == ports_->end()) return -ECONNREFUSED;
        if (s.cred().euid) return -EPERM;
        it->second->queue({from.begin(), from.end()});
        return static_cast<std::int64_t>(from.size());
    }
    for (std::size_t at = 0; at + sizeof(nlmsghdr) <= from.size();) {
        nlmsghdr h;
        std::memcpy(&h, from.data() + at, sizeof h);
        if (h.nlmsg_len < sizeof h || h.nlmsg_len > from.size() - at) break;
        request(from.subspan(at, h.nlmsg_len));
        at += NLMSG_ALIGN(h.nlmsg_len);
    }
    return static_cast<std::int64_t>(from.size());
}

void NetlinkSocket::request(std::span<const std::uint8_t> message) {
    nlmsghdr h;
    std::memcpy(&h, message.data(), sizeof h);
    if (!(h.nlmsg_flags & NLM_F_REQUEST) || h.nlmsg_type < NLMSG_MIN_TYPE) {
        if (!(h.nlmsg_flags & NLM_F_ACK)) return;
    }
    s.charge(kRequestCost);
    const bool dump = (h.nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP || (h.nlmsg_flags & NLM_F_ROOT);
    const int error = h.nlmsg_flags & NLM_F_REQUEST && h.nlmsg_type >= NLMSG_MIN_TYPE ? answer(message, dump) : 0;
    if (!error && (dump || !(h.nlmsg_flags & NLM_F_ACK))) return;
    struct {
        std::int32_t error;
        nlmsghdr request;
    } body{error, h};
    Message m(NLMSG_ERROR, error && !cap_ack_ ? 0 : NLM_F_CAPPED, h.nlmsg_seq, port_, body);
    if (error && !cap_ack_) m.append(message.data() + sizeof h, message.size() - sizeof h);
    queue(m.take());
}

/// 0 if the request has been answered, or -errno for an NLMSG_ERROR.
int NetlinkSocket::answer(std::span<const std::uint8_t> message, bool dump) {
    nlmsghdr h;
    std::memcpy(&h, message.data(), sizeof h);
    if (h.nlmsg_type > RTM_MAX) return -EOPNOTSUPP;
    constexpr std::uint16_t kKind = 3; // of NEW, DEL, GET, SET
    if ((h.nlmsg_type & kKind) != (RTM_GETLINK & kKind)) return s.cred().euid ? -EPERM : -EOPNOTSUPP;
    std::uint8_t family = AF_UNSPEC;
    if (message.size() > sizeof h) family = message[sizeof h];
    switch (h.nlmsg_type) {
        case RTM_GETLINK:
            if (!dump) {
                if (!names_loopback(message)) return -ENODEV;
                queue(link(h.nlmsg_seq, 0));
                return 0;
            }
            queue(link(h.nlmsg_seq, NLM_F_MULTI));
            break;
        case RTM_GETADDR:
            if (!dump) return -EOPNOTSUPP;
            if (family != AF_INET6) queue(address(false, h.nlmsg_seq));
            if (family != AF_INET) queue(address(true, h.nlmsg_seq));
            break;
        case RTM_GETROUTE: // the main table has none
            if (!dump) return -ENETUNREACH;
            break;
        default: return -EOPNOTSUPP;
    }
    queue(Message(NLMSG_DONE, NLM_F_MULTI, h.nlmsg_seq, port_, std::int32_t{0}).take());
    return 0;
}

NetlinkSocket::Bytes NetlinkSocket::link(std::uint32_t seq, std::uint16_t flags) const {
    ifinfomsg info{};
    info.ifi_type = kLoopbackType;
    info.ifi_index = loopback::kIndex;
    info.ifi_flags = loopback::kFlags | 0x10000; // IFF_LOWER_UP
    Message m(RTM_NEWLINK, flags, seq, port_, info);
    const auto word = [&](std::uint16_t type, std::uint32_t v) { m.value(type, v); };
    const auto byte = [&](std::uint16_t type, std::uint8_t v) { m.value(type, v); };
    m.attribute(IFLA_IFNAME, "lo", 3);
    word(IFLA_TXQLEN, 1000);
    byte(IFLA_OPERSTATE, 0), byte(IFLA_LINKMODE, 0);
    word(IFLA_MTU, loopback::kMtu), word(IFLA_MIN_MTU, 0), word(IFLA_MAX_MTU, 0);
    word(IFLA_GROUP, 0), word(IFLA_PROMISCUITY, 0), word(IFLA_NUM_TX_QUEUES, 1);
    word(IFLA_GSO_MAX_SEGS, 65535), word(IFLA_GSO_MAX_SIZE, 65536);
    word(IFLA_NUM_RX_QUEUES, 1);
    byte(IFLA_CARRIER, 1);
    m.attribute(IFLA_QDISC, "noqueue", 8);
    word(IFLA_CARRIER_CHANGES, 0), word(IFLA_CARRIER_UP_COUNT, 0), word(IFLA_CARRIER_DOWN_COUNT, 0);
    byte(IFLA_PROTO_DOWN, 0);
    m.value(IFLA_MAP, rtnl_link_ifmap{});
    const std::uint8_t hardware[6] = {};
    m.value(IFLA_ADDRESS, hardware), m.value(IFLA_BROADCAST, hardware);
    const loopback::Traffic& t = table_->traffic;
    const std::uint64_t counts[25] = {t.packets, t.packets, t.bytes, t.bytes};
    m.value(IFLA_STATS64, counts);
    std::uint32_t old_counts[24] = {};
    for (unsigned i = 0; i < 4; ++i) old_counts[i] = static_cast<std::uint32_t>(counts[i]);
    m.value(IFLA_STATS, old_counts);
    return m.take();
}

NetlinkSocket::Bytes NetlinkSocket::address(bool v6, std::uint32_t seq) const {
    ifaddrmsg info{};
    info.ifa_family = v6 ? AF_INET6 : AF_INET;
    info.ifa_prefixlen = v6 ? 128 : 8;
    info.ifa_flags = IFA_F_PERMANENT;
    info.ifa_scope = RT_SCOPE_HOST;
    info.ifa_index = loopback::kIndex;
    Message m(RTM_NEWADDR, NLM_F_MULTI, seq, port_, info);
    const std::uint8_t four[4] = {127, 0, 0, 1};
    const ifa_cacheinfo life{~0u, ~0u, 0, 0};
    if (v6) {
        m.value(IFA_ADDRESS, InetAddress::v6_loopback().ip);
        m.value(IFA_CACHEINFO, life);
        m.value(IFA_FLAGS, std::uint32_t{IFA_F_PERMANENT});
    } else {
        m.value(IFA_ADDRESS, four), m.value(IFA_LOCAL, four);
        m.attribute(IFA_LABEL, "lo", 3);
        m.value(IFA_FLAGS, std::uint32_t{IFA_F_PERMANENT});
        m.value(IFA_CACHEINFO, life);
    }
    return m.take();
}

std::int64_t NetlinkSocket::receive(std::span<std::uint8_t> to, const HowReceive& how, Received& got) {
    s.charge(queue_.empty() ? kEmptyCost : kReceiveCost);
    if (queue_.empty()) {
        if (how.nonblock) return -EAGAIN;
        if (const std::int64_t r = wait_for([&] { return !queue_.empty(); }, receive_timeout_ns); r) return r;
    }
    const Bytes& m = queue_.front();
    const std::size_t n = std::min(to.size(), m.size()), length = m.size();
    std::copy_n(m.begin(), n, to.begin());
    got.truncated = n < length;
    got.from.assign(kNameSize, 0);
    got.from[0] = AF_NETLINK; // port 0: the kernel
    if (!how.peek) queue_.pop_front();
    return static_cast<std::int64_t>(how.full_length ? length : n);
}

int NetlinkSocket::get_option(int level, int option, std::size_t room, std::vector<std::uint8_t>& out) {
    if (level == SOL_SOCKET) return NetSocket::get_option(level, option, room, out);
    if (level != SOL_NETLINK) return -ENOPROTOOPT;
    if (room < sizeof(std::int32_t)) return -EINVAL;
    std::int32_t v = 0;
    switch (option) {
        case NETLINK_EXT_ACK: v = ext_ack_; break;
        case NETLINK_CAP_ACK: v = cap_ack_; break;
        case NETLINK_GET_STRICT_CHK: v = strict_; break;
        default: return -ENOPROTOOPT;
    }
    out.resize(sizeof v);
    std::memcpy(out.data(), &v, sizeof v);
    return 0;
}

int NetlinkSocket::set_option(int level, int option, std::span<const std::uint8_t> value) {
    if (level == SOL_SOCKET) return NetSocket::set_option(level, option, value);
    std::int32_t v = 0;
    if (level != SOL_NETLINK) return -ENOPROTOOPT;
    if (value.size() >= sizeof v) std::memcpy(&v, value.data(), sizeof v);
    switch (option) {
        case NETLINK_EXT_ACK: ext_ack_ = v != 0; return 0; // the kernel has no more to say than the error
        case NETLINK_CAP_ACK: cap_ack_ = v != 0; return 0;
        case NETLINK_GET_STRICT_CHK: strict_ = v != 0; return 0;
        case NETLINK_ADD_MEMBERSHIP:
        case NETLINK_DROP_MEMBERSHIP: {
            if (v < 1 || v > RTNLGRP_MAX) return -EINVAL;
            if (v > 32) return 0;
            const std::uint32_t bit = 1u << (v - 1);
            groups_ = option == NETLINK_ADD_MEMBERSHIP ? groups_ | bit : groups_ & ~bit;
            return 0;
        }
        default: return -ENOPROTOOPT;
    }
}

ke::PollMask NetlinkSocket::poll(WaitQueueHead*& wq) {
    wq = &wq_;
    ke::PollMask m = abi::epollout | abi::epollwrnorm | abi::epollwrband;
    if (!queue_.empty()) m |= abi::epollin | abi::epollrdnorm;
    return m;
}

} // namespace rkperf::os
