// SPDX-License-Identifier: Apache-2.0
// Sockets: socket, socketpair, bind, listen, accept, connect, names, send, receive, options. Here for AF_UNIX; those of
// other families are handed to net_syscalls.cpp.
#include "sim/os/fs/unix_socket.h"
#include "sim/os/syscall/net_syscalls.h"

#include <sys/socket.h>
#include <algorithm>
#include <cstring>

namespace rkperf::os {

namespace {

constexpr std::uint32_t kPairCost = 8000, kSocketCost = 4000, kCallCost = 150, kMessageCost = 350; // instructions
constexpr std::size_t kMaxRights = 253;                                                            // SCM_MAX_FD
constexpr std::uint64_t kNameOffset = 2; // of sun_path in struct sockaddr_un
constexpr std::uint64_t kMaxName = kNameOffset + UnixSocket::kMaxPath;

using SocketPtr = std::shared_ptr<UnixSocket>;

int socket_of_fd(Task& t, std::uint64_t fd, SocketPtr& out) {
    const FileHandle f = file_of_fd(t, fd);
    if (!f) return -EBADF;
    out = std::dynamic_pointer_cast<UnixSocket>(f);
    return out ? 0 : -ENOTSOCK;
}

/// The type with its SOCK_CLOEXEC and SOCK_NONBLOCK taken off; the latter are O_CLOEXEC and O_NONBLOCK.
int check_kind(std::uint64_t family, std::uint64_t kind, std::uint64_t protocol, UnixSocket::Type& type) {
    const auto plain = static_cast<std::uint32_t>(kind) & 0xf;
    if (static_cast<std::uint32_t>(kind) & ~(0xfu | abi::o_cloexec | abi::o_nonblock)) return -EINVAL;
    if (static_cast<int>(family) < 0 || family >= 46) return -EAFNOSUPPORT;
    if (plain > 10) return -EINVAL;
    if (family != AF_UNIX) return -EAFNOSUPPORT;
    if (protocol != 0 && static_cast<int>(protocol) != AF_UNIX) return -EPROTONOSUPPORT;
    switch (plain) {
        case SOCK_STREAM: type = UnixSocket::Type::stream; return 0;
        case SOCK_RAW: // as the kernel, which takes it for a datagram socket
        case SOCK_DGRAM: type = UnixSocket::Type::dgram; return 0;
        case SOCK_SEQPACKET: type = UnixSocket::Type::seqpacket; return 0;
        default: return -ESOCKTNOSUPPORT;
    }
}

SocketPtr new_socket(Kernel& k, UnixSocket::Type type, std::uint64_t kind) {
    return std::make_shared<UnixSocket>(vfs_of(k).services(), type, vfs_of(k).next_anon_ino(),
                                        static_cast<std::uint32_t>(kind) & abi::o_nonblock);
}

std::int64_t sys_socket(Kernel& k, Task& t, const SyscallArgs& a) {
    k.charge(kSocketCost);
    UnixSocket::Type type{};
    const int bad = check_kind(a[0], a[1], a[2], type);
    if (bad == -EAFNOSUPPORT && net_family(a[0])) return net_socket(k, t, a);
    if (bad) return bad;
    return new_fd(k, t, new_socket(k, type, a[1]), a[1] & abi::o_cloexec);
}

std::int64_t sys_socketpair(Kernel& k, Task& t, const SyscallArgs& a) {
    k.charge(kPairCost);
    UnixSocket::Type type{};
    const int bad = check_kind(a[0], a[1], a[2], type);
    if (bad) return bad == -EAFNOSUPPORT && net_family(a[0]) ? -EOPNOTSUPP : bad;
    const SocketPtr one = new_socket(k, type, a[1]), two = new_socket(k, type, a[1]);
    UnixSocket::pair(*one, *two);
    const std::int64_t r = new_fd(k, t, one, a[1] & abi::o_cloexec);
    if (r < 0) return r;
    const std::int64_t w = new_fd(k, t, two, a[1] & abi::o_cloexec);
    const std::int32_t fds[2] = {static_cast<std::int32_t>(r), static_cast<std::int32_t>(w)};
    if (w >= 0 && k.put_user(a[3], fds, sizeof fds) == 0) return 0;
    t.files->close(fds[0]);
    if (w < 0) return w;
    t.files->close(fds[1]);
    return -EFAULT;
}

/// A struct sockaddr_un from the guest. `unspec`: family AF_UNSPEC; the name is empty for an address without one.
struct Address {
    bool unspec{};
    std::string name;
    bool abstract() const { return !name.empty() && name[0] == 0; }
};

int get_address(Kernel& k, std::uint64_t at, std::uint64_t length, Address& out) {
    char b[kMaxName + 1] = {};
    if (static_cast<std::int32_t>(length) < 0 || length > 128) return -EINVAL;
    if (length < kNameOffset) return -EINVAL;
    const std::size_t n = std::min<std::size_t>(length, kMaxName);
    if (k.get_user(b, at, n)) return -EFAULT;
    std::uint16_t family;
    std::memcpy(&family, b, sizeof family);
    out.unspec = family == AF_UNSPEC;
    if (out.unspec) return 0;
    if (family != AF_UNIX || length > kMaxName) return -EINVAL;
    const std::size_t path = n - kNameOffset;
    // A path name ends at its first zero byte, an abstract name has the length that was given.
    if (path && b[kNameOffset]) out.name.assign(b + kNameOffset);
    if (path && !b[kNameOffset]) out.name.assign(b + kNameOffset, path);
    return 0;
}

/// The name, cut to what `length_at` says there is room for; its full length goes there.
int put_address(Kernel& k, std::uint64_t at, std::uint64_t length_at, const std::string& name) {
    if (!at) return 0;
    std::int32_t room = 0;
    if (k.get(length_at, room)) return -EFAULT;
    if (room < 0) return -EINVAL;
    std::uint8_t b[kMaxName + 1] = {AF_UNIX, 0};
    std::memcpy(b + kNameOffset, name.data(), std::min(name.size(), UnixSocket::kMaxPath));
    const bool path = !name.empty() && name[0];
    const auto full = static_cast<std::int32_t>(kNameOffset + name.size() + (path ? 1 : 0));
    if (k.put_user(at, b, static_cast<std::size_t>(std::min(room, full)))) return -EFAULT;
    return k.put(length_at, full) ? -EFAULT : 0;
}

std::shared_ptr<AbstractNames> abstract_names(Kernel& k) { return vfs_of(k).abstract_names(); }

int find_bound(Kernel& k, const Address& address, SocketPtr& out) {
    if (address.abstract()) {
        const auto names = abstract_names(k);
        const auto it = names->find(address.name);
        out = it == names->end() ? nullptr : it->second.lock();
        return out ? 0 : -ECONNREFUSED;
    }
    Found found;
    if (const int e = vfs_of(k).walk(abi::at_fdcwd, address.name, true, false, found); e) return e;
    if (!found.dentry || !found.dentry->node->is(S_IFSOCK)) return -ECONNREFUSED;
    const Node& node = *found.dentry->node;
    if (const int e = found.dentry->node->permission(kMayWrite, vfs_of(k).services().cred()); e) return e;
    const auto bound = std::static_pointer_cast<std::weak_ptr<UnixSocket>>(node.extra);
    out = bound ? bound->lock() : nullptr;
    return out ? 0 : -ECONNREFUSED;
}

/// A name of five hexadecimal digits that nobody has.
int autobind(Kernel& k, UnixSocket& s, const SocketPtr& self) {
    if (!s.name.empty()) return 0;
    const auto names = abstract_names(k);
    for (unsigned n = 0; n < 0x100000; ++n) {
        char digits[8];
        std::snprintf(digits, sizeof digits, "%05x", n);
        const std::string name = std::string(1, '\0').append(digits);
        if (names->contains(name)) continue;
        (*names)[name] = self;
        s.names = names;
        return s.bind(name);
    }
    return -ENOSPC;
}

std::int64_t sys_bind(Kernel& k, Task& t, const SyscallArgs& a) {
    k.charge(kSocketCost);
    if (const NetPtr n = net_of_fd(t, a[0])) return net_bind(k, *n, a);
    SocketPtr s;
    if (const int e = socket_of_fd(t, a[0], s); e) return e;
    Address address;
    if (const int e = get_address(k, a[1], a[2], address); e) return e;
    if (address.unspec) return -EINVAL;
    if (address.name.empty()) return autobind(k, *s, s);
    if (address.abstract()) {
        const auto names = abstract_names(k);
        if (!s->name.empty()) return -EINVAL;
        if (const auto it = names->find(address.name); it != names->end() && !it->second.expired()) return -EADDRINUSE;
        (*names)[address.name] = s;
        s->names = names;
        return s->bind(address.name);
    }
    const int made = vfs_of(k).mknodat(abi::at_fdcwd, address.name, S_IFSOCK | 0777, 0);
    if (made) return made == -EEXIST ? -EADDRINUSE : made;
    Found found;
    if (const int e = vfs_of(k).walk(abi::at_fdcwd, address.name, false, false, found); e) return e;
    if (const int e = s->bind(address.name); e) {
        vfs_of(k).unlinkat(abi::at_fdcwd, address.name, 0);
        return e;
    }
    found.dentry->node->extra = std::make_shared<std::weak_ptr<UnixSocket>>(s);
    return 0;
}

std::int64_t sys_listen(Kernel& k, Task& t, const SyscallArgs& a) {
    k.charge(kCallCost);
    if (const NetPtr n = net_of_fd(t, a[0])) return n->listen(static_cast<int>(a[1]));
    SocketPtr s;
    if (const int e = socket_of_fd(t, a[0], s); e) return e;
    return s->listen(static_cast<int>(a[1]));
}

std::int64_t do_accept(Kernel& k, Task& t, const SyscallArgs& a, std::uint64_t kind) {
    k.charge(kSocketCost);
    if (kind & ~static_cast<std::uint64_t>(abi::o_cloexec | abi::o_nonblock)) return -EINVAL;
    if (const NetPtr n = net_of_fd(t, a[0])) return net_accept(k, t, *n, a, kind);
    SocketPtr s, got;
    if (const int e = socket_of_fd(t, a[0], s); e) return e;
    if (const int e = s->accept(s->nonblock(), got); e) return e;
    got->flags |= static_cast<std::uint32_t>(kind) & abi::o_nonblock;
    if (const int e = put_address(k, a[1], a[2], got->peer_name); e) return e;
    return new_fd(k, t, got, kind & abi::o_cloexec);
}
std::int64_t sys_accept(Kernel& k, Task& t, const SyscallArgs& a) { return do_accept(k, t, a, 0); }
std::int64_t sys_accept4(Kernel& k, Task& t, const SyscallArgs& a) { return do_accept(k, t, a, a[3]); }

std::int64_t sys_connect(Kernel& k, Task& t, const SyscallArgs& a) {
    k.charge(kCallCost);
    if (const NetPtr n = net_of_fd(t, a[0])) return net_connect(k, *n, a);
    SocketPtr s, to;
    if (const int e = socket_of_fd(t, a[0], s); e) return e;
    Address address;
    if (const int e = get_address(k, a[1], a[2], address); e) return e;
    if (address.unspec) return s->disconnect();
    if (address.name.empty()) return -EINVAL;
    if (const int e = find_bound(k, address, to); e) return e;
    if (s->pass_cred)
        if (const int e = autobind(k, *s, s); e) return e;
    return s->connect(to, s->nonblock());
}

std::int64_t sys_getsockname(Kernel& k, Task& t, const SyscallArgs& a) {
    k.charge(kCallCost);
    if (const NetPtr n = net_of_fd(t, a[0])) return net_name(k, *n, a, false);
    SocketPtr s;
    if (const int e = socket_of_fd(t, a[0], s); e) return e;
    return a[1] ? put_address(k, a[1], a[2], s->name) : -EFAULT;
}

std::int64_t sys_getpeername(Kernel& k, Task& t, const SyscallArgs& a) {
    k.charge(kCallCost);
    if (const NetPtr n = net_of_fd(t, a[0])) return net_name(k, *n, a, true);
    SocketPtr s;
    if (const int e = socket_of_fd(t, a[0], s); e) return e;
    const SocketPtr peer = s->peer();
    if (!peer) return -ENOTCONN;
    return a[1] ? put_address(k, a[1], a[2], peer->name) : -EFAULT;
}

std::int64_t sys_shutdown(Kernel& k, Task& t, const SyscallArgs& a) {
    k.charge(kCallCost);
    if (const NetPtr n = net_of_fd(t, a[0])) return n->shutdown(static_cast<int>(a[1]));
    SocketPtr s;
    if (const int e = socket_of_fd(t, a[0], s); e) return e;
    if (s->type != UnixSocket::Type::dgram && s->state == UnixSocket::State::unconnected &&
        static_cast<unsigned>(a[1]) <= 2)
        return 0; // a socket that is in no connection has nothing to end
    return s->shutdown(static_cast<int>(a[1]));
}

/// Descriptors and credentials of a control buffer: SCM_RIGHTS, SCM_CREDENTIALS.
int get_control(Kernel& k, Task& t, std::uint64_t at, std::uint64_t length, UnixSocket::Extra& extra) {
    std::vector<std::uint8_t> b(std::min<std::uint64_t>(length, 65536));
    if (length > b.size()) return -ENOBUFS;
    if (k.get_user(b.data(), at, b.size())) return -EFAULT;
    for (std::size_t pos = 0; b.size() - pos >= sizeof(cmsghdr);) {
        cmsghdr head;
        std::memcpy(&head, b.data() + pos, sizeof head);
        if (head.cmsg_len < sizeof head || head.cmsg_len > b.size() - pos) return -EINVAL;
        const std::uint8_t* data = b.data() + pos + sizeof head;
        const std::size_t n = head.cmsg_len - sizeof head;
        if (head.cmsg_level == SOL_SOCKET) {
            if (head.cmsg_type == SCM_RIGHTS) {
                if (extra.files.size() + n / 4 > kMaxRights) return -EINVAL;
                for (std::size_t i = 0; i + 4 <= n; i += 4) {
                    std::int32_t fd;
                    std::memcpy(&fd, data + i, sizeof fd);
                    const FileHandle f = file_of_fd(t, static_cast<std::uint64_t>(fd), true);
                    if (!f) return -EBADF;
                    extra.files.push_back(f);
                }
            } else if (head.cmsg_type == SCM_CREDENTIALS) {
                if (n != sizeof(PeerCredentials)) return -EINVAL;
            } else {
                return -EINVAL;
            }
        }
        pos += (head.cmsg_len + 7) & ~7ull;
        if (pos > b.size()) break;
    }
    return 0;
}

struct GuestMsgHdr { // struct user_msghdr of arm64
    std::uint64_t name;
    std::uint32_t namelen, pad;
    std::uint64_t iov, iovlen, control, controllen;
    std::uint32_t flags, pad2;
};
static_assert(sizeof(GuestMsgHdr) == 56);

constexpr std::uint32_t kOob = 1, kPeek = 2, kTrunc = 0x20, kDontWait = 0x40, kWaitAll = 0x100, kNoSignal = 0x4000,
                        kWaitForOne = 0x10000, kCmsgCloexec = 0x40000000, kCtrunc = 8;

std::int64_t send_from(Kernel& k, UnixSocket& s, UserBuffers& from, std::uint64_t name, std::uint32_t namelen,
                       std::uint32_t flags, UnixSocket::Extra extra) {
    if (flags & kOob) return -EOPNOTSUPP;
    SocketPtr to;
    if (namelen && name) {
        if (s.type == UnixSocket::Type::stream) return s.state == UnixSocket::State::connected ? -EISCONN : -EOPNOTSUPP;
        Address address;
        if (const int e = get_address(k, name, namelen, address); e) return e;
        if (s.type == UnixSocket::Type::dgram) { // a sequenced packet goes to the partner all the same
            if (address.name.empty()) return -EINVAL;
            if (const int e = find_bound(k, address, to); e) return e;
            if (to->type != s.type) return -EPROTOTYPE;
        }
    }
    if (s.by_messages() && from.size() > s.send_buffer - 32) return -EMSGSIZE;
    std::vector<std::uint8_t> bytes(from.size());
    if (from.copy_in(0, bytes) < bytes.size()) return -EFAULT;
    return s.send(bytes, to, s.nonblock() || flags & kDontWait, flags & kNoSignal, std::move(extra));
}

std::int64_t sys_sendto(Kernel& k, Task& t, const SyscallArgs& a) {
    k.charge(kCallCost);
    if (!k.access_ok(a[1], a[2])) return -EFAULT;
    if (const NetPtr n = net_of_fd(t, a[0])) return net_sendto(k, *n, a);
    SocketPtr s;
    if (const int e = socket_of_fd(t, a[0], s); e) return e;
    UserBuffers b(k, a[1], std::min<std::uint64_t>(a[2], 0x7ffff000));
    return send_from(k, *s, b, a[4], static_cast<std::uint32_t>(a[5]), static_cast<std::uint32_t>(a[3]), {});
}

std::int64_t send_msg(Kernel& k, Task& t, UnixSocket& s, std::uint64_t at, std::uint32_t flags) {
    GuestMsgHdr h;
    if (k.get(at, h)) return -EFAULT;
    std::int64_t error = 0;
    UserBuffers b(k, h.iov, h.iovlen, error);
    if (error) return error == -EINVAL && h.iovlen > 1024 ? -EMSGSIZE : error;
    UnixSocket::Extra extra;
    if (h.control && h.controllen)
        if (const int e = get_control(k, t, h.control, h.controllen, extra); e) return e;
    return send_from(k, s, b, h.name, h.namelen, flags, std::move(extra));
}

std::int64_t sys_sendmsg(Kernel& k, Task& t, const SyscallArgs& a) {
    k.charge(kMessageCost);
    if (const NetPtr n = net_of_fd(t, a[0])) return net_sendmsg(k, *n, a[1], static_cast<std::uint32_t>(a[2]));
    SocketPtr s;
    if (const int e = socket_of_fd(t, a[0], s); e) return e;
    return send_msg(k, t, *s, a[1], static_cast<std::uint32_t>(a[2]));
}

std::int64_t receive_into(UnixSocket& s, UserBuffers& to, std::uint32_t flags, UnixSocket::Extra& extra) {
    if (flags & kOob) return -EOPNOTSUPP;
    // No more than is there, so that a large buffer costs nothing.
    std::vector<std::uint8_t> bytes(std::min<std::uint64_t>(to.size(), 1u << 20));
    const std::int64_t n = s.receive(bytes,
                                     {.nonblock = s.nonblock() || flags & kDontWait,
                                      .peek = (flags & kPeek) != 0,
                                      .wait_all = (flags & kWaitAll) != 0,
                                      .full_length = (flags & kTrunc) != 0},
                                     extra);
    if (n <= 0) return n;
    const auto have = std::min(bytes.size(), static_cast<std::size_t>(n));
    return to.copy_out(0, std::span(bytes).first(have)) < have ? -EFAULT : n;
}

std::int64_t sys_recvfrom(Kernel& k, Task& t, const SyscallArgs& a) {
    k.charge(kCallCost);
    if (!k.access_ok(a[1], a[2])) return -EFAULT;
    if (const NetPtr n = net_of_fd(t, a[0])) return net_recvfrom(k, *n, a);
    SocketPtr s;
    if (const int e = socket_of_fd(t, a[0], s); e) return e;
    UserBuffers b(k, a[1], std::min<std::uint64_t>(a[2], 0x7ffff000));
    UnixSocket::Extra extra;
    const std::int64_t n = receive_into(*s, b, static_cast<std::uint32_t>(a[3]), extra);
    if (n < 0 || !a[4]) return n;
    if (s->by_messages() && !extra.name.empty()) {
        const int e = put_address(k, a[4], a[5], extra.name);
        return e ? e : n;
    }
    return k.put(a[5], std::int32_t{0}) ? -EFAULT : n;
}

/// Appends one control message; what has no room is left off, and MSG_CTRUNC says so.
struct ControlWriter {
    Kernel& k;
    std::uint64_t at, left, used{};
    std::uint32_t flags{};
    bool put(int type, const void* data, std::size_t n) {
        cmsghdr head{};
        if (left < sizeof head) return flags |= kCtrunc, true;
        const std::size_t room = std::min<std::size_t>(n, left - sizeof head);
        if (room < n) flags |= kCtrunc;
        head.cmsg_len = sizeof head + room;
        head.cmsg_level = SOL_SOCKET;
        head.cmsg_type = type;
        if (k.put_user(at, &head, sizeof head) || k.put_user(at + sizeof head, data, room)) return false;
        const std::uint64_t step = std::min<std::uint64_t>((head.cmsg_len + 7) & ~7ull, left);
        at += step, left -= step, used += step;
        return true;
    }
};

std::int64_t receive_msg(Kernel& k, Task& t, UnixSocket& s, std::uint64_t at, std::uint32_t flags) {
    GuestMsgHdr h;
    if (k.get(at, h)) return -EFAULT;
    std::int64_t error = 0;
    UserBuffers b(k, h.iov, h.iovlen, error);
    if (error) return error;
    UnixSocket::Extra extra;
    const std::int64_t n = receive_into(s, b, flags, extra);
    if (n < 0) return n;
    ControlWriter out{k, h.control, h.control ? h.controllen : 0};
    if (s.pass_cred && !out.put(SCM_CREDENTIALS, &extra.cred, sizeof extra.cred)) return -EFAULT;
    if (!extra.files.empty()) {
        const std::size_t fit = out.left > sizeof(cmsghdr) ? (out.left - sizeof(cmsghdr)) / 4 : 0;
        std::vector<std::int32_t> fds;
        for (const FileHandle& f : extra.files) {
            if (fds.size() == fit) break;
            const std::int64_t fd = new_fd(k, t, f, flags & kCmsgCloexec);
            if (fd < 0) break;
            fds.push_back(static_cast<std::int32_t>(fd));
        }
        if (fds.size() < extra.files.size()) out.flags |= kCtrunc;
        if (!fds.empty() && !out.put(SCM_RIGHTS, fds.data(), fds.size() * 4)) return -EFAULT;
    }
    h.flags = out.flags | (extra.truncated ? kTrunc : 0) | (flags & kCmsgCloexec);
    h.controllen = out.used;
    if (h.name) {
        const bool named = s.by_messages() && !extra.name.empty();
        const std::uint64_t length_at = at + offsetof(GuestMsgHdr, namelen);
        if (const int e = named ? put_address(k, h.name, length_at, extra.name) : k.put(length_at, 0u); e) return e;
    }
    if (k.put(at + offsetof(GuestMsgHdr, flags), h.flags)) return -EFAULT;
    if (k.put(at + offsetof(GuestMsgHdr, controllen), h.controllen)) return -EFAULT;
    return n;
}

std::int64_t sys_recvmsg(Kernel& k, Task& t, const SyscallArgs& a) {
    k.charge(kMessageCost);
    if (const NetPtr n = net_of_fd(t, a[0])) return net_recvmsg(k, *n, a[1], static_cast<std::uint32_t>(a[2]));
    SocketPtr s;
    if (const int e = socket_of_fd(t, a[0], s); e) return e;
    return receive_msg(k, t, *s, a[1], static_cast<std::uint32_t>(a[2]));
}

constexpr std::uint64_t kMmsgSize = 64; // struct mmsghdr: the header, a length, padding

/// sendmmsg, recvmmsg: how many went, or the error of the first.
template <class One>
std::int64_t many(Kernel& k, std::uint64_t at, std::uint64_t count, One&& one) {
    std::int64_t done = 0;
    for (const auto n = static_cast<std::int64_t>(std::min<std::uint64_t>(count, 1024)); done < n; ++done) {
        const std::uint64_t here = at + static_cast<std::uint64_t>(done) * kMmsgSize;
        const std::int64_t r = one(here, done);
        if (r < 0) return done ? done : r;
        if (k.put(here + sizeof(GuestMsgHdr), static_cast<std::uint32_t>(r))) return done ? done : -EFAULT;
    }
    return done;
}

std::int64_t sys_sendmmsg(Kernel& k, Task& t, const SyscallArgs& a) {
    const NetPtr net = net_of_fd(t, a[0]);
    SocketPtr s;
    if (const int e = net ? 0 : socket_of_fd(t, a[0], s); e) return e;
    return many(k, a[1], static_cast<std::uint32_t>(a[2]), [&](std::uint64_t at, std::int64_t) {
        k.charge(kMessageCost);
        if (net) return net_sendmsg(k, *net, at, static_cast<std::uint32_t>(a[3]));
        return send_msg(k, t, *s, at, static_cast<std::uint32_t>(a[3]));
    });
}

std::int64_t sys_recvmmsg(Kernel& k, Task& t, const SyscallArgs& a) {
    const NetPtr net = net_of_fd(t, a[0]);
    SocketPtr s;
    if (const int e = net ? 0 : socket_of_fd(t, a[0], s); e) return e;
    std::uint64_t limit = ~0ull;
    if (a[4]) {
        if (const int e = get_timespec(k, a[4], limit); e) return e;
        limit += now_ns(k);
    }
    const auto flags = static_cast<std::uint32_t>(a[3]);
    return many(k, a[1], static_cast<std::uint32_t>(a[2]), [&](std::uint64_t at, std::int64_t done) -> std::int64_t {
        k.charge(kMessageCost);
        if (done && now_ns(k) >= limit) return -EAGAIN; // looked at between messages only
        const std::uint32_t now = done && flags & kWaitForOne ? flags | kDontWait : flags;
        if (net) return net_recvmsg(k, *net, at, now & ~kWaitForOne);
        return receive_msg(k, t, *s, at, now & ~kWaitForOne);
    });
}

std::int64_t sys_getsockopt(Kernel& k, Task& t, const SyscallArgs& a) {
    k.charge(kCallCost);
    if (const NetPtr n = net_of_fd(t, a[0])) return net_getsockopt(k, *n, a);
    SocketPtr s;
    if (const int e = socket_of_fd(t, a[0], s); e) return e;
    if (static_cast<int>(a[1]) != SOL_SOCKET) return -EOPNOTSUPP;
    std::int32_t room = 0;
    if (k.get(a[4], room)) return -EFAULT;
    if (room < 0) return -EINVAL;
    std::int32_t v = 0;
    std::int64_t time[2];
    const void* from = &v;
    std::size_t n = sizeof v;
    switch (static_cast<int>(a[2])) {
        case SO_TYPE: v = static_cast<std::int32_t>(s->type); break;
        case SO_DOMAIN: v = AF_UNIX; break;
        case SO_PROTOCOL: v = 0; break;
        case SO_ERROR: v = s->take_error(); break;
        case SO_ACCEPTCONN: v = s->state == UnixSocket::State::listening; break;
        case SO_SNDBUF: v = static_cast<std::int32_t>(s->send_buffer); break;
        case SO_RCVBUF: v = static_cast<std::int32_t>(s->receive_buffer); break;
        case SO_PASSCRED: v = s->pass_cred; break;
        case SO_RCVLOWAT: v = 1; break;
        case SO_REUSEADDR:
        case SO_KEEPALIVE:
        case SO_BROADCAST:
        case SO_DEBUG:
        case SO_DONTROUTE:
        case SO_OOBINLINE: v = 0; break;
        case SO_RCVTIMEO:
        case SO_SNDTIMEO: {
            const std::uint64_t ns = static_cast<int>(a[2]) == SO_RCVTIMEO ? s->receive_timeout_ns : s->send_timeout_ns;
            time[0] = ns == ~0ull ? 0 : static_cast<std::int64_t>(ns / 1'000'000'000);
            time[1] = ns == ~0ull ? 0 : static_cast<std::int64_t>(ns % 1'000'000'000 / 1000);
            from = time, n = sizeof time;
            break;
        }
        case SO_PEERCRED: {
            static constexpr PeerCredentials kNobody;
            from = s->peer_cred ? &*s->peer_cred : &kNobody, n = sizeof(PeerCredentials);
            break;
        }
        default: return -ENOPROTOOPT;
    }
    n = std::min(n, static_cast<std::size_t>(room));
    if (k.put_user(a[3], from, n)) return -EFAULT;
    return k.put(a[4], static_cast<std::int32_t>(n)) ? -EFAULT : 0;
}

std::int64_t sys_setsockopt(Kernel& k, Task& t, const SyscallArgs& a) {
    k.charge(kCallCost);
    if (const NetPtr n = net_of_fd(t, a[0])) return net_setsockopt(k, *n, a);
    SocketPtr s;
    if (const int e = socket_of_fd(t, a[0], s); e) return e;
    if (static_cast<int>(a[4]) < 0) return -EINVAL;
    if (static_cast<int>(a[1]) != SOL_SOCKET) return -EOPNOTSUPP;
    constexpr std::uint32_t kLargest = 212992; // net.core.wmem_max, rmem_max
    if (a[4] < sizeof(std::int32_t)) return -EINVAL;
    std::int32_t v = 0;
    if (k.get(a[3], v)) return -EFAULT;
    const std::uint32_t buffer =
        std::min(static_cast<std::uint32_t>(v), kLargest) * 2; // the kernel doubles what it is given
    switch (static_cast<int>(a[2])) {
        case SO_SNDBUF: s->send_buffer = std::max(buffer, 4608u); return 0;
        case SO_RCVBUF: s->receive_buffer = std::max(buffer, 2304u); return 0;
        case SO_PASSCRED: s->pass_cred = v != 0; return 0;
        case SO_REUSEADDR:
        case SO_KEEPALIVE:
        case SO_BROADCAST: return 0; // without a meaning for these sockets
        case SO_RCVTIMEO:
        case SO_SNDTIMEO: {
            std::int64_t time[2]; // struct timeval
            if (a[4] < sizeof time) return -EINVAL;
            if (k.get_user(time, a[3], sizeof time)) return -EFAULT;
            if (time[1] < 0 || time[1] >= 1'000'000) return -EDOM;
            std::uint64_t ns = ~0ull;
            if (time[0] < 0) ns = 0;
            if (time[0] > 0 || (time[0] == 0 && time[1]))
                ns = static_cast<std::uint64_t>(time[0]) * 1'000'000'000 + static_cast<std::uint64_t>(time[1]) * 1000;
            (static_cast<int>(a[2]) == SO_RCVTIMEO ? s->receive_timeout_ns : s->send_timeout_ns) = ns;
            return 0;
        }
        default: return -ENOPROTOOPT;
    }
}

constexpr SyscallRow kRows[] = {
    {198, "socket", sys_socket, 3},
    {199, "socketpair", sys_socketpair, 4},
    {200, "bind", sys_bind, 3},
    {201, "listen", sys_listen, 2},
    {202, "accept", sys_accept, 3},
    {203, "connect", sys_connect, 3},
    {204, "getsockname", sys_getsockname, 3},
    {205, "getpeername", sys_getpeername, 3},
    {206, "sendto", sys_sendto, 6},
    {207, "recvfrom", sys_recvfrom, 6},
    {208, "setsockopt", sys_setsockopt, 5},
    {209, "getsockopt", sys_getsockopt, 5},
    {210, "shutdown", sys_shutdown, 2},
    {211, "sendmsg", sys_sendmsg, 3},
    {212, "recvmsg", sys_recvmsg, 3},
    {242, "accept4", sys_accept4, 4},
    {243, "recvmmsg", sys_recvmmsg, 5},
    {269, "sendmmsg", sys_sendmmsg, 4},
};

} // namespace

std::span<const SyscallRow> fs_socket_rows() { return kRows; }

} // namespace rkperf::os
