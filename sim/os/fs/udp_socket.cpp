// SPDX-License-Identifier: Apache-2.0
// UDP between sockets of this machine.
#include "sim/os/fs/inet_socket.h"
#include "sim/os/kernel.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <algorithm>
#include <bit>
#include <cstring>

namespace rkperf::os {

namespace {

// Instructions beyond those of the call itself, measured on Linux 6.1 arm64 over lo.
constexpr std::uint32_t kSendCost = 8000, kReceiveCost = 2700, kEmptyCost = 500;
constexpr std::uint32_t kCopyShift = 3;
constexpr int kStateEstablished = 1, kStateClose = 7;

/// Memory a datagram takes: its head, and data, headers and the shared part in a power of two.
std::uint32_t true_size(std::size_t n) {
    constexpr std::uint32_t kHead = 256, kHeaders = 44, kShared = 320;
    const auto data = static_cast<std::uint32_t>((n + kHeaders + 63) & ~63ull);
    return kHead + std::bit_ceil(data + kShared);
}

} // namespace

UdpSocket::UdpSocket(FsServices& s, std::shared_ptr<InetTable> table, int family, std::uint64_t ino,
                     std::uint32_t open_flags)
    : InetSocket(s, std::move(table), family, SOCK_DGRAM, IPPROTO_UDP, ino, open_flags) {}

UdpSocket::~UdpSocket() { detach_watchers(); }

int UdpSocket::connect(std::span<const std::uint8_t> name, bool) {
    std::uint16_t unspec = 1;
    if (name.size() < sizeof unspec) return -EINVAL;
    std::memcpy(&unspec, name.data(), sizeof unspec);
    if (unspec == AF_UNSPEC) {
        connected_ = false;
        remote.port = 0;
        return 0;
    }
    if (const int e = take_ends(name); e) return e;
    connected_ = true;
    return 0;
}

int UdpSocket::shutdown(int how) {
    if (how < 0 || how > 2) return -EINVAL;
    no_receive_ |= how != 1, no_send_ |= how != 0;
    changed(6);
    return connected_ ? 0 : -ENOTCONN;
}

int UdpSocket::name(bool peer, SocketName& out) {
    if (peer && !connected_) return -ENOTCONN;
    out = printed(peer ? remote : local);
    return 0;
}

/// The best match: connected to the sender before bound to the address before bound to any.
UdpSocket* UdpSocket::find_receiver(const InetAddress& to, const InetAddress& from) const {
    UdpSocket* best = nullptr;
    int best_score = -1;
    for (InetSocket* other : table_->sockets) {
        if (other->type != SOCK_DGRAM || other->local.port != to.port) continue;
        auto* udp = static_cast<UdpSocket*>(other);
        const bool any = udp->local.any() && (udp->local.is_v4() == to.is_v4() || (to.is_v4() && !udp->v6_only));
        if (!any && udp->local.ip != to.ip) continue;
        if (udp->connected_ && udp->remote != from) continue;
        const int score = (udp->connected_ ? 2 : 0) + (any ? 0 : 1);
        if (score > best_score) best = udp, best_score = score;
    }
    return best;
}

std::int64_t UdpSocket::send(std::span<const std::uint8_t> from, std::span<const std::uint8_t> name, bool, bool) {
    s.charge(kSendCost + static_cast<std::uint32_t>(from.size() >> kCopyShift));
    if (from.size() > 65535) return -EMSGSIZE;
    InetAddress to, source;
    if (!name.empty()) {
        if (const int e = parse(name, to); e) return e;
        if (!to.port) return -EINVAL;
    } else if (connected_) {
        to = remote;
    } else {
        return -EDESTADDRREQ;
    }
    if (error_) return -take_error();
    if (const int e = route(to, source); e) return e;
    if (no_send_) return -EPIPE;
    if (from.size() > kLargest) return -EMSGSIZE;
    if (const int e = autobind(); e) return e;
    source.port = local.port;
    ++table_->traffic.packets;
    table_->traffic.bytes += from.size() + 42;
    UdpSocket* receiver = find_receiver(to, source);
    if (!receiver) {
        // "Port unreachable" comes back at once; those who are not connected do not hear it unless they asked.
        const bool asked = option(IPPROTO_IP, IP_RECVERR) || option(IPPROTO_IPV6, IPV6_RECVERR);
        if (connected_ || asked) {
            error_ = ECONNREFUSED;
            changed(1);
        }
        return static_cast<std::int64_t>(from.size());
    }
    if (receiver->held_ > receiver->receive_buffer) {
        ++receiver->drops_;
    } else {
        const std::uint32_t charged = true_size(from.size());
        receiver->queue_.push_back({{from.begin(), from.end()}, source, charged});
        receiver->held_ += charged;
        receiver->changed(1);
    }
    return static_cast<std::int64_t>(from.size());
}

std::int64_t UdpSocket::receive(std::span<std::uint8_t> to, const HowReceive& how, Received& got) {
    s.charge(queue_.empty() ? kEmptyCost : kReceiveCost);
    if (error_) return -take_error();
    if (queue_.empty()) {
        if (no_receive_) return 0;
        if (how.nonblock) return -EAGAIN;
        const auto ready = [&] { return !queue_.empty() || no_receive_ || error_; };
        if (const std::int64_t r = wait_for(ready, receive_timeout_ns); r) return r;
        if (error_) return -take_error();
        if (queue_.empty()) return 0;
    }
    // Taken before time passes: another reader may come meanwhile.
    const Datagram d = how.peek ? queue_.front() : std::move(queue_.front());
    if (!how.peek) {
        held_ -= d.charged;
        queue_.pop_front();
    }
    const std::size_t n = std::min(to.size(), d.data.size()), length = d.data.size();
    std::copy_n(d.data.begin(), n, to.begin());
    got.from = printed(d.from);
    got.truncated = n < length;
    s.charge(static_cast<std::uint32_t>(n >> kCopyShift));
    return static_cast<std::int64_t>(how.full_length ? length : n);
}

std::int64_t UdpSocket::bytes_in() const {
    return queue_.empty() ? 0 : static_cast<std::int64_t>(queue_.front().data.size());
}

ke::PollMask UdpSocket::poll(WaitQueueHead*& wq) {
    constexpr ke::PollMask kRdHup = 0x2000; // EPOLLRDHUP
    wq = &wq_;
    ke::PollMask m = abi::epollout | abi::epollwrnorm | abi::epollwrband;
    if (error_) m |= abi::epollerr;
    if (no_receive_) m |= kRdHup | abi::epollin | abi::epollrdnorm;
    if (no_receive_ && no_send_) m |= abi::epollhup;
    if (!queue_.empty()) m |= abi::epollin | abi::epollrdnorm;
    return m;
}

InetSocket::Line UdpSocket::line() const { return {connected_ ? kStateEstablished : kStateClose, 0, held_}; }

} // namespace rkperf::os
