// SPDX-License-Identifier: Apache-2.0
#include "sim/os/fs/inet_socket.h"

#include "sim/os/kernel.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <algorithm>
#include <cstring>

namespace rkperf::os {

namespace {

constexpr std::uint16_t kFirstEphemeral = 32768, kLastEphemeral = 60999, kFirstUnprivileged = 1024;
constexpr std::size_t kSockaddrIn = 16, kSockaddrIn6 = 28, kOldSockaddrIn6 = 24;

/// Options that are kept, and what they are at first. Those that would have to do something that is not there are
/// missing: they are refused.
struct KnownOption {
    int level, name, value;
};
constexpr KnownOption kOptions[] = {
    {IPPROTO_TCP, TCP_NODELAY, 0},
    {IPPROTO_TCP, TCP_MAXSEG, 536},
    {IPPROTO_TCP, TCP_CORK, 0},
    {IPPROTO_TCP, TCP_KEEPIDLE, 7200},
    {IPPROTO_TCP, TCP_KEEPINTVL, 75},
    {IPPROTO_TCP, TCP_KEEPCNT, 9},
    {IPPROTO_TCP, TCP_SYNCNT, 6},
    {IPPROTO_TCP, TCP_LINGER2, 60},
    {IPPROTO_TCP, TCP_DEFER_ACCEPT, 0},
    {IPPROTO_TCP, TCP_QUICKACK, 1},
    {IPPROTO_TCP, TCP_USER_TIMEOUT, 0},
    {IPPROTO_IP, IP_TOS, 0},
    {IPPROTO_IP, IP_TTL, 64},
    {IPPROTO_IP, IP_MTU_DISCOVER, 1},
    {IPPROTO_IP, IP_RECVERR, 0},
    {IPPROTO_IP, IP_FREEBIND, 0},
    {IPPROTO_IP, IP_MULTICAST_TTL, 1},
    {IPPROTO_IP, IP_MULTICAST_LOOP, 1},
    {IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 0},
    {IPPROTO_IPV6, IPV6_UNICAST_HOPS, 64},
    {IPPROTO_IPV6, IPV6_MTU_DISCOVER, 1},
    {IPPROTO_IPV6, IPV6_RECVERR, 0},
    {IPPROTO_IPV6, IPV6_TCLASS, 0},
};

bool overlap(const InetSocket& a, const InetSocket& b) {
    const bool v4_a = a.local.is_v4(), v4_b = b.local.is_v4();
    if (v4_a == v4_b) return a.local.any() || b.local.any() || a.local.ip == b.local.ip;
    // :: without IPV6_V6ONLY takes IPv4 as well.
    const InetSocket& six = v4_a ? b : a;
    return six.local.any() && !six.v6_only;
}

} // namespace

InetAddress InetAddress::v4(std::uint32_t address, std::uint16_t port) {
    InetAddress a;
    a.ip[10] = a.ip[11] = 0xff;
    for (unsigned i = 0; i < 4; ++i) a.ip[12 + i] = static_cast<std::uint8_t>(address >> (24 - 8 * i));
    a.port = port;
    return a;
}

InetAddress InetAddress::v6_loopback() {
    InetAddress a;
    a.ip[15] = 1;
    return a;
}

bool InetAddress::is_v4() const {
    return std::all_of(ip.begin(), ip.begin() + 10, [](std::uint8_t b) { return !b; }) && ip[10] == 0xff &&
           ip[11] == 0xff;
}

bool InetAddress::any() const {
    return std::all_of(ip.begin() + (is_v4() ? 12 : 0), ip.end(), [](std::uint8_t b) { return !b; });
}

bool InetAddress::loopback() const { return is_v4() ? ip[12] == 127 : ip == v6_loopback().ip; }

InetSocket::InetSocket(FsServices& s, std::shared_ptr<InetTable> table, int family, int type, int protocol,
                       std::uint64_t ino, std::uint32_t open_flags)
    : NetSocket(s, family, type, protocol, ino, open_flags), table_(std::move(table)) {
    if (family == AF_INET) local = remote = InetAddress::v4(0, 0);
}

InetSocket::~InetSocket() { leave_table(); }

int InetSocket::take_ends(std::span<const std::uint8_t> name) {
    InetAddress to, from;
    if (const int e = parse(name, to); e) return e;
    if (const int e = route(to, from); e) return e;
    if (const int e = autobind(); e) return e;
    from.port = local.port;
    local = from, remote = to;
    return 0;
}

void InetSocket::enter_table() {
    if (!entered_) table_->sockets.push_back(this);
    entered_ = true;
}

void InetSocket::leave_table() {
    if (entered_) std::erase(table_->sockets, this);
    entered_ = false;
}

int InetSocket::parse(std::span<const std::uint8_t> name, InetAddress& out) const {
    std::uint16_t name_family;
    if (name.size() < sizeof name_family) return -EINVAL;
    if (name.size() < (family == AF_INET ? kSockaddrIn : kOldSockaddrIn6)) return -EINVAL;
    std::memcpy(&name_family, name.data(), sizeof name_family);
    if (name_family != family) return -EAFNOSUPPORT;
    const auto port = static_cast<std::uint16_t>(name[2] << 8 | name[3]);
    if (family == AF_INET) {
        const std::uint32_t ip = std::uint32_t{name[4]} << 24 | name[5] << 16 | name[6] << 8 | name[7];
        out = InetAddress::v4(ip, port);
        return 0;
    }
    std::memcpy(out.ip.data(), name.data() + 8, out.ip.size());
    out.port = port;
    return 0;
}

SocketName InetSocket::printed(const InetAddress& a) const {
    SocketName out(family == AF_INET ? kSockaddrIn : kSockaddrIn6);
    out[0] = static_cast<std::uint8_t>(family);
    out[2] = static_cast<std::uint8_t>(a.port >> 8), out[3] = static_cast<std::uint8_t>(a.port);
    if (family == AF_INET)
        std::memcpy(out.data() + 4, a.ip.data() + 12, 4);
    else if (!(a.is_v4() && a.any()))
        std::memcpy(out.data() + 8, a.ip.data(), a.ip.size());
    return out;
}

bool InetSocket::conflicts(const InetSocket& other) const {
    if (reuse_port && other.reuse_port && uid == other.uid) return false;
    return !(reuse_address && other.reuse_address);
}

int InetSocket::bind(std::span<const std::uint8_t> name) {
    InetAddress a;
    if (const int e = parse(name, a); e) {
        // AF_UNSPEC with the address 0 was once meant as AF_INET.
        const bool unspec = e == -EAFNOSUPPORT && family == AF_INET && !name[0] && !name[1];
        if (!unspec || std::any_of(name.begin() + 4, name.begin() + 8, [](std::uint8_t b) { return b; })) return e;
        a = InetAddress::v4(0, static_cast<std::uint16_t>(name[2] << 8 | name[3]));
    }
    if (a.is_v4() && family == AF_INET6 && v6_only) return -EINVAL;
    if (!a.any() && !a.loopback()) return -EADDRNOTAVAIL;
    if (a.port && a.port < kFirstUnprivileged && s.cred().euid) return -EACCES;
    if (local.port) return -EINVAL;
    const InetAddress before = local;
    local = a;
    if (!a.port) {
        const int e = autobind();
        if (e) local = before;
        return e;
    }
    for (const InetSocket* other : table_->sockets) {
        if (other == this || other->type != type || other->local.port != local.port) continue;
        if (!overlap(*this, *other) || !conflicts(*other)) continue;
        local = before;
        return -EADDRINUSE;
    }
    enter_table();
    return 0;
}

int InetSocket::autobind() {
    if (local.port) return 0;
    constexpr unsigned kPorts = kLastEphemeral - kFirstEphemeral + 1u;
    const auto start = static_cast<unsigned>(s.random() % kPorts);
    for (unsigned i = 0; i < kPorts; ++i) {
        const auto port = static_cast<std::uint16_t>(kFirstEphemeral + (start + i) % kPorts);
        const bool taken = std::any_of(table_->sockets.begin(), table_->sockets.end(), [&](const InetSocket* other) {
            return other->type == type && (other->local.port == port || other->remote.port == port);
        });
        if (taken) continue;
        local.port = port;
        enter_table();
        return 0;
    }
    return -EADDRINUSE;
}

int InetSocket::route(InetAddress& to, InetAddress& from) const {
    const bool v4 = to.is_v4();
    if (v4 && family == AF_INET6 && v6_only) return -ENETUNREACH;
    if (to.any()) {
        const std::uint16_t port = to.port;
        to = v4 ? InetAddress::v4(INADDR_LOOPBACK, port) : InetAddress::v6_loopback();
        to.port = port;
    }
    if (!to.loopback()) return -ENETUNREACH;
    from = local;
    if (local.any()) {
        from = v4 ? InetAddress::v4(INADDR_LOOPBACK, local.port) : InetAddress::v6_loopback();
        from.port = local.port;
    } else if (local.is_v4() != v4) {
        return -ENETUNREACH;
    }
    return 0;
}

int& InetSocket::option(int level, int name) {
    const auto [it, fresh] = options_.try_emplace({level, name}, 0);
    if (fresh)
        for (const KnownOption& o : kOptions)
            if (o.level == level && o.name == name) it->second = o.value;
    return it->second;
}

int InetSocket::get_option(int level, int name, std::size_t room, std::vector<std::uint8_t>& out) {
    if (level == SOL_SOCKET) return NetSocket::get_option(level, name, room, out);
    if (level == IPPROTO_TCP && type != SOCK_STREAM) return -EOPNOTSUPP;
    if (level == IPPROTO_IPV6 && family != AF_INET6) return -EOPNOTSUPP;
    if (level != IPPROTO_TCP && level != IPPROTO_IP && level != IPPROTO_IPV6) return -EOPNOTSUPP;
    const auto give = [&](const void* from, std::size_t n) {
        out.resize(std::min(room, n));
        std::memcpy(out.data(), from, out.size());
        return 0;
    };
    if (level == IPPROTO_TCP && name == TCP_CONGESTION) {
        static constexpr char kName[16] = "cubic";
        return give(kName, sizeof kName);
    }
    if (level == IPPROTO_IPV6 && name == IPV6_V6ONLY) {
        const std::int32_t v = v6_only;
        return give(&v, sizeof v);
    }
    if (level == IPPROTO_IP && name == IP_MTU) {
        const std::int32_t v = loopback::kMtu;
        return remote.port ? give(&v, sizeof v) : -ENOTCONN;
    }
    for (const KnownOption& o : kOptions)
        if (o.level == level && o.name == name) return give(&option(level, name), sizeof(int));
    return -ENOPROTOOPT;
}

int InetSocket::set_option(int level, int name, std::span<const std::uint8_t> value) {
    if (level == SOL_SOCKET) return NetSocket::set_option(level, name, value);
    if (level == IPPROTO_TCP && type != SOCK_STREAM) return -ENOPROTOOPT;
    if (level == IPPROTO_IPV6 && family != AF_INET6) return -ENOPROTOOPT;
    if (level == IPPROTO_TCP && name == TCP_CONGESTION) {
        const std::string_view asked(reinterpret_cast<const char*>(value.data()), value.size());
        return asked.substr(0, asked.find('\0')) == "cubic" ? 0 : -ENOENT;
    }
    std::int32_t v = 0;
    if (value.size() >= sizeof v)
        std::memcpy(&v, value.data(), sizeof v);
    else if (level == IPPROTO_IP && !value.empty())
        v = value[0]; // one byte will do there
    else
        return -EINVAL;
    if (level == IPPROTO_IPV6 && name == IPV6_V6ONLY) {
        if (local.port) return -EINVAL;
        v6_only = v != 0;
        return 0;
    }
    const auto switches = [&](std::initializer_list<int> names) {
        return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (level == IPPROTO_TCP) {
        if (switches({TCP_KEEPIDLE, TCP_KEEPINTVL}) && (v < 1 || v > 32767)) return -EINVAL;
        if (switches({TCP_KEEPCNT, TCP_SYNCNT}) && (v < 1 || v > 127)) return -EINVAL;
        if (name == TCP_USER_TIMEOUT && v < 0) return -EINVAL;
        if (name == TCP_MAXSEG && v && (v < 88 || v > 32767)) return -EINVAL;
        if (switches({TCP_NODELAY, TCP_CORK, TCP_QUICKACK})) v = v != 0;
    }
    if (level == IPPROTO_IP) {
        if (name == IP_TTL && v != -1 && (v < 1 || v > 255)) return -EINVAL;
        if (name == IP_TTL && v == -1) v = 64;
        if (name == IP_TOS) v &= type == SOCK_STREAM ? 0xfc : 0xff;
        if (switches({IP_RECVERR, IP_FREEBIND, IP_MULTICAST_LOOP})) v = v != 0;
    }
    for (const KnownOption& o : kOptions)
        if (o.level == level && o.name == name) {
            option(level, name) = v;
            return 0;
        }
    return -ENOPROTOOPT;
}

std::int64_t InetSocket::ioctl(std::uint32_t cmd, std::uint64_t arg) {
    if (cmd != FIONREAD && cmd != TIOCOUTQ) return device_ioctl(s, cmd, arg);
    const auto v = static_cast<std::int32_t>(cmd == FIONREAD ? bytes_in() : bytes_out());
    return s.put_user(arg, &v, sizeof v);
}

} // namespace rkperf::os
