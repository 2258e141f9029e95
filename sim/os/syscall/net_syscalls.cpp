// SPDX-License-Identifier: Apache-2.0
#include "sim/os/syscall/net_syscalls.h"

#include "sim/os/fs/network.h"

#include <linux/netlink.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <algorithm>

namespace rkperf::os {

namespace {

constexpr std::uint64_t kLongestName = 128; // struct sockaddr_storage
constexpr std::uint32_t kOob = 1, kPeek = 2, kTrunc = 0x20, kDontWait = 0x40, kWaitAll = 0x100, kErrQueue = 0x2000,
                        kNoSignal = 0x4000;
constexpr std::uint64_t kLongestTransfer = 0x7ffff000;

struct GuestMsgHdr { // struct user_msghdr of arm64
    std::uint64_t name;
    std::uint32_t namelen, pad;
    std::uint64_t iov, iovlen, control, controllen;
    std::uint32_t flags, pad2;
};
static_assert(sizeof(GuestMsgHdr) == 56);

int get_name(Kernel& k, std::uint64_t at, std::uint64_t length, SocketName& out) {
    const auto n = static_cast<std::int32_t>(length);
    if (n < 0 || n > static_cast<std::int32_t>(kLongestName)) return -EINVAL;
    out.resize(static_cast<std::size_t>(n));
    return n && k.get_user(out.data(), at, out.size()) ? -EFAULT : 0;
}

/// The name, cut to what `length_at` says there is room for; its full length goes there.
int put_name(Kernel& k, std::uint64_t at, std::uint64_t length_at, const SocketName& name) {
    std::int32_t room = 0;
    if (k.get(length_at, room)) return -EFAULT;
    if (room < 0) return -EINVAL;
    const auto full = static_cast<std::int32_t>(name.size());
    if (k.put_user(at, name.data(), static_cast<std::size_t>(std::min(room, full)))) return -EFAULT;
    return k.put(length_at, full) ? -EFAULT : 0;
}

std::int64_t send_from(NetSocket& s, UserBuffers& from, const SocketName& to, std::uint32_t flags) {
    if (flags & kOob) return -EOPNOTSUPP;
    const std::uint64_t n = from.size();
    // Longer than any message can be: no need to look at it all.
    if (n > 65535 && s.type == SOCK_DGRAM) return -EMSGSIZE;
    std::vector<std::uint8_t> bytes(n);
    if (from.copy_in(0, bytes) < n) return -EFAULT;
    return s.send(bytes, to, s.nonblock() || flags & kDontWait, flags & kNoSignal);
}

std::int64_t receive_into(NetSocket& s, UserBuffers& to, std::uint32_t flags, NetSocket::Received& got) {
    if (flags & kErrQueue) return -EAGAIN;
    if (flags & kOob) return s.type == SOCK_STREAM ? -EINVAL : -EOPNOTSUPP;
    std::vector<std::uint8_t> bytes(std::min<std::uint64_t>(to.size(), 1u << 20));
    const NetSocket::HowReceive how{.nonblock = s.nonblock() || flags & kDontWait,
                                    .peek = (flags & kPeek) != 0,
                                    .wait_all = (flags & kWaitAll) != 0,
                                    .full_length = (flags & kTrunc) != 0};
    const std::int64_t n = s.receive(bytes, how, got);
    if (n <= 0) return n;
    if (how.full_length && s.type == SOCK_STREAM) return n; // the bytes are dropped
    const auto have = std::min(bytes.size(), static_cast<std::size_t>(n));
    return to.copy_out(0, std::span(bytes).first(have)) < have ? -EFAULT : n;
}

} // namespace

NetPtr net_of_fd(Task& t, std::uint64_t fd) { return std::dynamic_pointer_cast<NetSocket>(file_of_fd(t, fd)); }

bool net_family(std::uint64_t family) { return family == AF_INET || family == AF_INET6 || family == AF_NETLINK; }

std::int64_t net_socket(Kernel& k, Task& t, const SyscallArgs& a) {
    const auto kind = static_cast<std::uint32_t>(a[1]);
    const int family = static_cast<int>(a[0]), type = static_cast<int>(kind & 0xf), protocol = static_cast<int>(a[2]);
    VfsImpl& vfs = vfs_of(k);
    const std::uint64_t ino = vfs.next_anon_ino();
    const std::uint32_t open_flags = kind & abi::o_nonblock;
    NetPtr s;
    if (family == AF_NETLINK) {
        if (type != SOCK_RAW && type != SOCK_DGRAM) return -ESOCKTNOSUPPORT;
        if (protocol != NETLINK_ROUTE) return -EPROTONOSUPPORT;
        s = std::make_shared<NetlinkSocket>(vfs.services(), vfs.network().inet, vfs.network().netlink_ports, type, ino,
                                            open_flags);
    } else {
        if (protocol < 0 || protocol >= IPPROTO_MAX) return -EINVAL;
        if (type == SOCK_STREAM && (!protocol || protocol == IPPROTO_TCP))
            s = std::make_shared<TcpSocket>(vfs.services(), vfs.network().inet, family, ino, open_flags);
        else if (type == SOCK_DGRAM && (!protocol || protocol == IPPROTO_UDP))
            s = std::make_shared<UdpSocket>(vfs.services(), vfs.network().inet, family, ino, open_flags);
        else
            return type == SOCK_STREAM || type == SOCK_DGRAM || type == SOCK_RAW ? -EPROTONOSUPPORT : -ESOCKTNOSUPPORT;
    }
    return new_fd(k, t, s, kind & abi::o_cloexec);
}

std::int64_t net_bind(Kernel& k, NetSocket& s, const SyscallArgs& a) {
    SocketName name;
    if (const int e = get_name(k, a[1], a[2], name); e) return e;
    return s.bind(name);
}

std::int64_t net_connect(Kernel& k, NetSocket& s, const SyscallArgs& a) {
    SocketName name;
    if (const int e = get_name(k, a[1], a[2], name); e) return e;
    return s.connect(name, s.nonblock());
}

std::int64_t net_accept(Kernel& k, Task& t, NetSocket& s, const SyscallArgs& a, std::uint64_t kind) {
    NetPtr got;
    if (const int e = s.accept(s.nonblock(), got); e) return e;
    got->flags |= static_cast<std::uint32_t>(kind) & abi::o_nonblock;
    if (a[1]) {
        SocketName name;
        if (got->name(true, name)) return -ECONNABORTED;
        if (const int e = put_name(k, a[1], a[2], name); e) return e;
    }
    return new_fd(k, t, got, kind & abi::o_cloexec);
}

std::int64_t net_name(Kernel& k, NetSocket& s, const SyscallArgs& a, bool peer) {
    SocketName name;
    if (const int e = s.name(peer, name); e) return e;
    return put_name(k, a[1], a[2], name);
}

std::int64_t net_sendto(Kernel& k, NetSocket& s, const SyscallArgs& a) {
    SocketName to;
    if (a[4])
        if (const int e = get_name(k, a[4], a[5], to); e) return e;
    UserBuffers b(k, a[1], std::min<std::uint64_t>(a[2], kLongestTransfer));
    return send_from(s, b, to, static_cast<std::uint32_t>(a[3]));
}

std::int64_t net_recvfrom(Kernel& k, NetSocket& s, const SyscallArgs& a) {
    UserBuffers b(k, a[1], std::min<std::uint64_t>(a[2], kLongestTransfer));
    NetSocket::Received got;
    const std::int64_t n = receive_into(s, b, static_cast<std::uint32_t>(a[3]), got);
    if (n < 0 || !a[4]) return n;
    const int e = put_name(k, a[4], a[5], got.from);
    return e ? e : n;
}

std::int64_t net_sendmsg(Kernel& k, NetSocket& s, std::uint64_t at, std::uint32_t flags) {
    GuestMsgHdr h;
    if (k.get(at, h)) return -EFAULT;
    SocketName to;
    if (h.name)
        if (const int e = get_name(k, h.name, std::min<std::uint64_t>(h.namelen, kLongestName), to); e) return e;
    std::int64_t error = 0;
    UserBuffers b(k, h.iov, h.iovlen, error);
    if (error) return error == -EINVAL && h.iovlen > 1024 ? -EMSGSIZE : error;
    // Nothing can be said about where a packet leaves from: there is one device.
    if (h.control && h.controllen >= sizeof(cmsghdr)) return -EINVAL;
    return send_from(s, b, to, flags);
}

std::int64_t net_recvmsg(Kernel& k, NetSocket& s, std::uint64_t at, std::uint32_t flags) {
    GuestMsgHdr h;
    if (k.get(at, h)) return -EFAULT;
    std::int64_t error = 0;
    UserBuffers b(k, h.iov, h.iovlen, error);
    if (error) return error;
    NetSocket::Received got;
    const std::int64_t n = receive_into(s, b, flags, got);
    if (n < 0) return n;
    if (h.name) {
        const std::size_t room = std::min<std::size_t>(h.namelen, got.from.size());
        if (room && k.put_user(h.name, got.from.data(), room)) return -EFAULT;
        if (k.put(at + offsetof(GuestMsgHdr, namelen), static_cast<std::uint32_t>(got.from.size()))) return -EFAULT;
    }
    const std::uint32_t told = got.truncated ? kTrunc : 0;
    if (k.put(at + offsetof(GuestMsgHdr, flags), told)) return -EFAULT;
    return k.put(at + offsetof(GuestMsgHdr, controllen), std::uint64_t{0}) ? -EFAULT : n;
}

std::int64_t net_getsockopt(Kernel& k, NetSocket& s, const SyscallArgs& a) {
    std::int32_t room = 0;
    if (k.get(a[4], room)) return -EFAULT;
    if (room < 0) return -EINVAL;
    std::vector<std::uint8_t> value;
    const int e = s.get_option(static_cast<int>(a[1]), static_cast<int>(a[2]), static_cast<std::size_t>(room), value);
    if (e) return e;
    if (k.put_user(a[3], value.data(), value.size())) return -EFAULT;
    return k.put(a[4], static_cast<std::int32_t>(value.size())) ? -EFAULT : 0;
}

std::int64_t net_setsockopt(Kernel& k, NetSocket& s, const SyscallArgs& a) {
    constexpr std::uint32_t kLongestValue = 256;
    if (static_cast<int>(a[4]) < 0) return -EINVAL;
    std::vector<std::uint8_t> value(std::min(static_cast<std::uint32_t>(a[4]), kLongestValue));
    if (!value.empty() && k.get_user(value.data(), a[3], value.size())) return -EFAULT;
    return s.set_option(static_cast<int>(a[1]), static_cast<int>(a[2]), value);
}

} // namespace rkperf::os
