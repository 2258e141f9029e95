// SPDX-License-Identifier: Apache-2.0
#include "sim/os/fs/net_socket.h"

#include "sim/os/kernel.h"

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <algorithm>
#include <cstring>
#include <utility>

namespace rkperf::os {

namespace {

constexpr std::uint32_t kLargestBuffer = 212992, kLeastSend = 4608, kLeastReceive = 2304; // net.core.*mem_max

void put_int(std::vector<std::uint8_t>& out, std::int32_t v, std::size_t room) {
    out.resize(std::min(room, sizeof v));
    std::memcpy(out.data(), &v, out.size());
}

} // namespace

NetSocket::NetSocket(FsServices& s, int family, int type, int protocol, std::uint64_t ino, std::uint32_t open_flags)
    : File(s.kernel()),
      s(s),
      family(family),
      type(type),
      protocol(protocol),
      ino(ino),
      uid(s.cred().euid),
      wq_(s.kernel()) {
    flags = abi::o_rdwr | open_flags;
}

int NetSocket::listen(int) { return -EOPNOTSUPP; }
int NetSocket::accept(bool, std::shared_ptr<NetSocket>&) { return -EOPNOTSUPP; }
int NetSocket::shutdown(int) { return -EOPNOTSUPP; }

std::int64_t NetSocket::read(std::span<std::uint8_t> to) {
    Received got;
    return receive(to, {.nonblock = nonblock()}, got);
}

std::int64_t NetSocket::write(std::span<const std::uint8_t> from) { return send(from, {}, nonblock(), false); }

int NetSocket::stat(FileStat& st) {
    st = FileStat{};
    st.dev = abi::make_dev(0, 8);
    st.ino = ino;
    st.mode = S_IFSOCK | 0777;
    st.uid = uid;
    return 0;
}

int NetSocket::fasync(bool on) {
    async_ = on;
    return 0;
}

int NetSocket::take_error() { return std::exchange(error_, 0); }

std::int64_t NetSocket::wait_for(const std::function<bool()>& cond, std::uint64_t timeout_ns) {
    if (cond()) return 0;
    const std::uint64_t deadline = timeout_ns == ~0ull ? ~0ull : s.clock_ns(CLOCK_MONOTONIC) + timeout_ns;
    const std::int64_t r = s.wait(wq_, cond, deadline);
    return r == -ETIME ? -EAGAIN : r;
}

void NetSocket::changed(int band) {
    wq_.wake_up_all();
    if (async_) s.kill_fasync(*this, band);
}

int NetSocket::get_option(int level, int option, std::size_t room, std::vector<std::uint8_t>& out) {
    if (level != SOL_SOCKET) return -EOPNOTSUPP;
    std::int32_t v = 0;
    switch (option) {
        case SO_TYPE: v = type; break;
        case SO_DOMAIN: v = family; break;
        case SO_PROTOCOL: v = protocol; break;
        case SO_ERROR: v = take_error(); break;
        case SO_ACCEPTCONN: v = listening(); break;
        case SO_SNDBUF: v = static_cast<std::int32_t>(send_buffer); break;
        case SO_RCVBUF: v = static_cast<std::int32_t>(receive_buffer); break;
        case SO_REUSEADDR: v = reuse_address; break;
        case SO_REUSEPORT: v = reuse_port; break;
        case SO_KEEPALIVE: v = keep_alive; break;
        case SO_BROADCAST: v = broadcast; break;
        case SO_RCVLOWAT: v = 1; break;
        case SO_SNDLOWAT: v = 1; break;
        case SO_DEBUG:
        case SO_DONTROUTE:
        case SO_OOBINLINE:
        case SO_PRIORITY:
        case SO_MARK:
        case SO_TIMESTAMP:
        case SO_TIMESTAMPNS:
        case SO_INCOMING_CPU: v = 0; break;
        case SO_LINGER: {
            const std::int32_t linger[2] = {linger_on, linger_seconds};
            out.resize(std::min(room, sizeof linger));
            std::memcpy(out.data(), linger, out.size());
            return 0;
        }
        case SO_RCVTIMEO:
        case SO_SNDTIMEO: {
            const std::uint64_t ns = option == SO_RCVTIMEO ? receive_timeout_ns : send_timeout_ns;
            const std::int64_t time[2] = {ns == ~0ull ? 0 : static_cast<std::int64_t>(ns / 1'000'000'000),
                                          ns == ~0ull ? 0 : static_cast<std::int64_t>(ns % 1'000'000'000 / 1000)};
            out.resize(std::min(room, sizeof time));
            std::memcpy(out.data(), time, out.size());
            return 0;
        }
        case SO_PEERCRED: {
            const std::int32_t nobody[3] = {0, -1, -1};
            out.resize(std::min(room, sizeof nobody));
            std::memcpy(out.data(), nobody, out.size());
            return 0;
        }
        default: return -ENOPROTOOPT;
    }
    put_int(out, v, room);
    return 0;
}

int NetSocket::set_option(int level, int option, std::span<const std::uint8_t> value) {
    if (level != SOL_SOCKET) return -ENOPROTOOPT;
    std::int32_t v = 0;
    if (value.size() < sizeof v) return -EINVAL;
    std::memcpy(&v, value.data(), sizeof v);
    const std::uint32_t buffer = std::min(static_cast<std::uint32_t>(std::max(v, 0)), kLargestBuffer) * 2;
    switch (option) {
        case SO_SNDBUF: send_buffer = std::max(buffer, kLeastSend); return 0;
        case SO_RCVBUF: receive_buffer = std::max(buffer, kLeastReceive); return 0;
        case SO_REUSEADDR: reuse_address = v != 0; return 0;
        case SO_REUSEPORT: reuse_port = v != 0; return 0;
        case SO_KEEPALIVE: keep_alive = v != 0; return 0;
        case SO_BROADCAST: broadcast = v != 0; return 0;
        case SO_DONTROUTE: // everything is on this machine, and stays in order
        case SO_PRIORITY: return 0;
        case SO_TYPE:
        case SO_PROTOCOL:
        case SO_DOMAIN:
        case SO_ERROR: return -ENOPROTOOPT;
        case SO_LINGER: {
            std::int32_t linger[2];
            if (value.size() < sizeof linger) return -EINVAL;
            std::memcpy(linger, value.data(), sizeof linger);
            linger_on = linger[0] != 0, linger_seconds = linger[0] ? linger[1] : linger_seconds;
            return 0;
        }
        case SO_RCVTIMEO:
        case SO_SNDTIMEO: {
            std::int64_t time[2]; // struct timeval
            if (value.size() < sizeof time) return -EINVAL;
            std::memcpy(time, value.data(), sizeof time);
            if (time[1] < 0 || time[1] >= 1'000'000) return -EDOM;
            std::uint64_t ns = ~0ull;
            if (time[0] < 0) ns = 0;
            if (time[0] > 0 || (time[0] == 0 && time[1]))
                ns = static_cast<std::uint64_t>(time[0]) * 1'000'000'000 + static_cast<std::uint64_t>(time[1]) * 1000;
            (option == SO_RCVTIMEO ? receive_timeout_ns : send_timeout_ns) = ns;
            return 0;
        }
        default: return -ENOPROTOOPT;
    }
}

std::int64_t device_ioctl(FsServices& s, std::uint32_t cmd, std::uint64_t arg) {
    if (cmd < 0x8900 || cmd > 0x89ff) return -ENOTTY;
    constexpr std::size_t kRequest = 40; // struct ifreq of a 64-bit kernel
    std::uint8_t r[kRequest] = {};
    const auto store = [&](const auto& v) {
        std::memcpy(r + IFNAMSIZ, &v, sizeof v);
        return s.put_user(arg, r, sizeof r);
    };
    const std::uint8_t address[16] = {2, 0, 0, 0, 127, 0, 0, 1}, netmask[16] = {2, 0, 0, 0, 255};
    if (cmd == SIOCGIFCONF) {
        struct {
            std::int32_t length, pad;
            std::uint64_t buffer;
        } conf;
        if (s.get_user(&conf, arg, sizeof conf)) return -EFAULT;
        if (conf.buffer) {
            std::memcpy(r, "lo", 2);
            std::memcpy(r + IFNAMSIZ, address, sizeof address);
            if (conf.length >= static_cast<std::int32_t>(kRequest)) {
                if (s.put_user(conf.buffer, r, sizeof r)) return -EFAULT;
                conf.length = kRequest;
            } else {
                conf.length = 0;
            }
        } else {
            conf.length = kRequest;
        }
        return s.put_user(arg, &conf, sizeof conf);
    }
    if (s.get_user(r, arg, sizeof r)) return -EFAULT;
    r[IFNAMSIZ - 1] = 0;
    if (cmd == SIOCGIFNAME) {
        std::int32_t index;
        std::memcpy(&index, r + IFNAMSIZ, sizeof index);
        if (index != loopback::kIndex) return -ENODEV;
        std::memset(r, 0, IFNAMSIZ);
        std::memcpy(r, "lo", 2);
        return s.put_user(arg, r, sizeof r);
    }
    const bool known = !std::strcmp(reinterpret_cast<const char*>(r), "lo");
    if (cmd >= SIOCDEVPRIVATE && !known) return -ENODEV;
    const std::uint8_t hardware[16] = {772 & 0xff, 772 >> 8}, none[16] = {2};
    switch (cmd) {
        case SIOCGIFFLAGS: return known ? store(static_cast<std::int16_t>(loopback::kFlags)) : -ENODEV;
        case SIOCGIFINDEX: return known ? store(std::int32_t{loopback::kIndex}) : -ENODEV;
        case SIOCGIFMTU: return known ? store(std::int32_t{loopback::kMtu}) : -ENODEV;
        case SIOCGIFMETRIC: return known ? store(std::int32_t{0}) : -ENODEV;
        case SIOCGIFTXQLEN: return known ? store(std::int32_t{1000}) : -ENODEV;
        case SIOCGIFHWADDR: return known ? store(hardware) : -ENODEV;
        case SIOCGIFADDR: return known ? store(address) : -ENODEV;
        case SIOCGIFNETMASK: return known ? store(netmask) : -ENODEV;
        case SIOCGIFBRDADDR: return known ? store(none) : -ENODEV;
        case SIOCSIFFLAGS: {
            if (s.cred().euid) return -EPERM;
            if (!known) return -ENODEV;
            std::int16_t wanted;
            std::memcpy(&wanted, r + IFNAMSIZ, sizeof wanted);
            return wanted & IFF_UP ? 0 : -EOPNOTSUPP; // the only device stays up
        }
        default: return cmd >= SIOCDEVPRIVATE ? -EOPNOTSUPP : -ENOTTY; // the device has none of its own
    }
}

} // namespace rkperf::os
