// SPDX-License-Identifier: Apache-2.0
// TCP between two sockets of this machine: its states as far as programs see them, not its segments.
#include "sim/os/fs/inet_socket.h"
#include "sim/os/kernel.h"

#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <algorithm>
#include <csignal>
#include <cstring>
#include <utility>

namespace rkperf::os {

namespace {

// Instructions beyond those of the call itself, measured on Linux 6.1 arm64 over lo. Sending includes what the receiver's
// side does in softirq.
constexpr std::uint32_t kConnectCost = 32000, kAcceptCost = 4500, kSendCost = 16000, kReceiveCost = 2900,
                        kEmptyCost = 700, kCloseCost = 12000, kLastCloseCost = 26000;
constexpr std::uint32_t kCopyShift = 3; ///< copying itself is charged with the user's memory

constexpr std::size_t kLargestPiece = 32768;
/// A writer that waits goes on when this much has been read (less of a small buffer).
constexpr std::uint64_t kRoomStep = 196608;
constexpr int kStateEstablished = 1, kStateSynSent = 2, kStateFinWait2 = 5, kStateClose = 7, kStateCloseWait = 8,
              kStateListen = 10;

} // namespace

TcpSocket::TcpSocket(FsServices& s, std::shared_ptr<InetTable> table, int family, std::uint64_t ino,
                     std::uint32_t open_flags)
    : InetSocket(s, std::move(table), family, SOCK_STREAM, IPPROTO_TCP, ino, open_flags) {
    send_buffer = kSendBuffer;
    receive_buffer = kReceiveBuffer;
}

TcpSocket::~TcpSocket() {
    detach_watchers();
    stop_listening();
    leave_table(); // nobody finds it while time passes here
    const auto partner = peer_.lock();
    if (state_ == State::established) s.charge(partner && !partner->sent_fin_ ? kCloseCost : kLastCloseCost);
    if (!partner) return;
    const bool abort = queued_ || (linger_on && !linger_seconds);
    if (abort)
        partner->reset(partner->fin_ ? EPIPE : ECONNRESET);
    else if (!sent_fin_)
        partner->finish();
}

bool TcpSocket::conflicts(const InetSocket& other) const {
    if (reuse_port && other.reuse_port && uid == other.uid) return false;
    const auto& tcp = static_cast<const TcpSocket&>(other);
    return !(reuse_address && other.reuse_address) || tcp.state_ == State::listening;
}

void TcpSocket::stop_listening() {
    if (state_ != State::listening) return;
    state_ = State::closed;
    for (const Ptr& waiting : std::exchange(backlog_, {}))
        if (const auto client = waiting->peer_.lock()) client->reset(ECONNRESET);
    for (const auto& waiting : std::exchange(pending_, {}))
        if (const auto client = waiting.lock()) client->refuse();
    wq_.wake_up_all();
}

int TcpSocket::listen(int backlog) {
    if (state_ != State::closed && state_ != State::listening) return -EINVAL;
    if (const int e = autobind(); e) return e;
    if (state_ == State::closed) {
        // Two may be bound to a port with SO_REUSEADDR, but only one listens.
        for (const InetSocket* other : table_->sockets) {
            const auto* tcp = other->type == SOCK_STREAM ? static_cast<const TcpSocket*>(other) : nullptr;
            if (!tcp || tcp == this || tcp->state_ != State::listening || tcp->local != local) continue;
            if (!(reuse_port && tcp->reuse_port && uid == tcp->uid)) return -EADDRINUSE;
        }
        no_receive_ = no_send_ = fin_ = sent_fin_ = false;
    }
    constexpr unsigned kSomaxconn = 4096;
    max_backlog_ = std::min(static_cast<unsigned>(backlog), kSomaxconn);
    state_ = State::listening;
    return 0;
}

TcpSocket::Ptr TcpSocket::find_listener(const InetAddress& to) const {
    TcpSocket* best = nullptr;
    for (InetSocket* other : table_->sockets) {
        if (other->type != SOCK_STREAM || other->local.port != to.port) continue;
        auto* tcp = static_cast<TcpSocket*>(other);
        if (tcp->state_ != State::listening) continue;
        const bool exact = tcp->local.ip == to.ip;
        const bool any = tcp->local.any() && (tcp->local.is_v4() == to.is_v4() || (to.is_v4() && !tcp->v6_only));
        if (exact || (any && !best)) best = tcp;
        if (exact) break;
    }
    return best ? std::static_pointer_cast<TcpSocket>(best->shared_from_this()) : nullptr;
}

/// Both ends are connected, and the other one waits to be accepted.
void TcpSocket::establish(TcpSocket& listener) {
    auto served = std::make_shared<TcpSocket>(s, table_, listener.family, ino + 1, 0);
    served->local = remote;
    served->remote = local;
    served->reuse_address = listener.reuse_address, served->reuse_port = listener.reuse_port;
    served->keep_alive = listener.keep_alive;
    served->linger_on = listener.linger_on, served->linger_seconds = listener.linger_seconds;
    served->receive_buffer = listener.receive_buffer;
    served->send_buffer = listener.send_buffer_set_ ? listener.send_buffer : kTunedSendBuffer;
    if (!send_buffer_set_) send_buffer = kTunedSendBuffer;
    served->state_ = state_ = State::established;
    served->peer_ = std::static_pointer_cast<TcpSocket>(shared_from_this());
    peer_ = served;
    served->enter_table();
    table_->traffic.packets += 3;
    listener.backlog_.push_back(std::move(served));
    listener.changed(1);
    changed(2);
}

/// Nobody listens there.
void TcpSocket::refuse() { reset(ECONNREFUSED); }

void TcpSocket::reset(int error) {
    error_ = error;
    state_ = State::closed;
    no_receive_ = no_send_ = true;
    peer_.reset();
    changed(6);
}

void TcpSocket::finish() {
    fin_ = no_receive_ = true;
    if (sent_fin_) state_ = State::closed;
    changed(no_send_ ? 6 : 1);
}

int TcpSocket::connect(std::span<const std::uint8_t> name, bool nonblock) {
    s.charge(kConnectCost);
    std::uint16_t unspec = 1;
    if (name.size() < sizeof unspec) return -EINVAL;
    std::memcpy(&unspec, name.data(), sizeof unspec);
    if (unspec == AF_UNSPEC) {
        stop_listening();
        if (const auto partner = peer_.lock()) partner->reset(ECONNRESET);
        const bool was = state_ != State::closed;
        state_ = State::closed;
        peer_.reset();
        remote.port = 0;
        no_receive_ = no_send_ = fin_ = sent_fin_ = in_progress_ = false;
        queue_.clear(), queued_ = taken_ = 0;
        error_ = was ? ECONNRESET : 0;
        return 0;
    }
    if (in_progress_) {
        if (state_ == State::connecting) {
            if (nonblock) return -EALREADY;
            if (const std::int64_t r = wait_for([&] { return state_ != State::connecting; }, send_timeout_ns); r)
                return r == -EAGAIN ? -EALREADY : static_cast<int>(r);
        }
        in_progress_ = false;
        if (state_ == State::established) return 0;
        const int e = take_error();
        no_receive_ = no_send_ = false;
        return -(e ? e : ECONNABORTED);
    }
    if (state_ != State::closed) return -EISCONN;
    if (const int e = take_ends(name); e) return e;
    for (;;) {
        const Ptr listener = find_listener(remote);
        if (!listener) {
            if (!nonblock) return -ECONNREFUSED;
            in_progress_ = true;
            refuse();
            return -EINPROGRESS;
        }
        if (!listener->crowded()) {
            establish(*listener);
            // The handshake is over before anybody can look, but not before the call has its result.
            in_progress_ = nonblock;
            return nonblock ? -EINPROGRESS : 0;
        }
        state_ = State::connecting;
        if (nonblock) {
            in_progress_ = true;
            listener->pending_.push_back(std::static_pointer_cast<TcpSocket>(shared_from_this()));
            return -EINPROGRESS;
        }
        const auto room = [&] { return listener->state_ != State::listening || !listener->crowded(); };
        const std::uint64_t deadline = send_timeout_ns == ~0ull ? ~0ull : s.clock_ns(CLOCK_MONOTONIC) + send_timeout_ns;
        const std::int64_t r = s.wait(listener->wq_, room, deadline);
        state_ = State::closed;
        if (r) return r == -ETIME ? -EINPROGRESS : static_cast<int>(r);
    }
}

int TcpSocket::accept(bool nonblock, std::shared_ptr<NetSocket>& out) {
    s.charge(kAcceptCost);
    if (state_ != State::listening) return -EINVAL;
    if (backlog_.empty() && nonblock) return -EAGAIN;
    const auto ready = [&] { return !backlog_.empty() || state_ != State::listening; };
    if (const std::int64_t r = wait_for(ready, receive_timeout_ns); r) return static_cast<int>(r);
    if (backlog_.empty()) return -EINVAL;
    out = std::move(backlog_.front());
    backlog_.pop_front();
    while (!pending_.empty() && !crowded()) {
        const auto client = pending_.front().lock();
        pending_.pop_front();
        if (client && client->state_ == State::connecting) client->establish(*this);
    }
    wq_.wake_up_all();
    return 0;
}

int TcpSocket::shutdown(int how) {
    if (how < 0 || how > 2) return -EINVAL;
    const bool receive = how != 1, send = how != 0;
    if (state_ == State::listening) {
        if (receive) stop_listening();
        return 0;
    }
    const bool connected = state_ == State::established;
    no_receive_ |= receive, no_send_ |= send;
    if (connected && send && !sent_fin_) {
        sent_fin_ = true;
        if (fin_) state_ = State::closed;
        if (const auto partner = peer_.lock()) partner->finish();
    }
    changed(6);
    return connected ? 0 : -ENOTCONN;
}

int TcpSocket::name(bool peer, SocketName& out) {
    if (peer && (state_ != State::established || !remote.port)) return -ENOTCONN;
    out = printed(peer ? remote : local);
    return 0;
}

std::uint64_t TcpSocket::room_at(const TcpSocket& peer) const {
    const std::uint64_t most = std::uint64_t{send_buffer} + peer.receive_buffer / 2;
    return most - std::min(most, peer.queued_);
}

std::int64_t TcpSocket::bytes_out() const {
    const auto partner = peer_.lock();
    if (!partner) return 0;
    const std::uint64_t window = partner->receive_buffer / 2;
    return static_cast<std::int64_t>(partner->queued_ - std::min(partner->queued_, window));
}

std::int64_t TcpSocket::broken(bool no_signal) {
    const int e = take_error();
    if (e && e != EPIPE) return -e;
    if (!no_signal) s.send_signal(SIGPIPE);
    return -EPIPE;
}

std::int64_t TcpSocket::send(std::span<const std::uint8_t> from, std::span<const std::uint8_t>, bool nonblock,
                             bool no_signal) {
    if (state_ == State::connecting) {
        if (nonblock) return -EAGAIN;
        if (const std::int64_t r = wait_for([&] { return state_ != State::connecting; }, send_timeout_ns); r) return r;
    }
    std::size_t done = 0;
    const auto so_far = [&](std::int64_t otherwise) { return done ? static_cast<std::int64_t>(done) : otherwise; };
    while (done < from.size()) {
        if (error_ || no_send_ || state_ != State::established) return done ? so_far(0) : broken(no_signal);
        const auto to = peer_.lock();
        if (!to) {
            // The other end has been closed: it answers that nobody is there.
            s.charge(kSendCost);
            reset(fin_ ? EPIPE : ECONNRESET);
            return static_cast<std::int64_t>(from.size());
        }
        const std::uint64_t room = room_at(*to);
        if (!room) {
            if (nonblock) return so_far(-EAGAIN);
            const auto ready = [&] {
                const auto there = peer_.lock();
                const std::uint64_t least = std::min<std::uint64_t>(kRoomStep, send_buffer / 3);
                return error_ || no_send_ || !there || room_at(*there) >= least;
            };
            if (const std::int64_t r = wait_for(ready, send_timeout_ns); r) return so_far(r);
            continue;
        }
        const std::size_t n = std::min({from.size() - done, static_cast<std::size_t>(room), kLargestPiece});
        s.charge(kSendCost + static_cast<std::uint32_t>(n >> kCopyShift));
        const auto part = from.subspan(done, n);
        ++table_->traffic.packets;
        table_->traffic.bytes += n + 66;
        if (!to->no_receive_ || to->fin_) {
            // Small pieces go together, as in the kernel's buffers.
            if (!to->queue_.empty() && to->queue_.back().size() + n <= kLargestPiece)
                to->queue_.back().insert(to->queue_.back().end(), part.begin(), part.end());
            else
                to->queue_.emplace_back(part.begin(), part.end());
            to->queued_ += n;
        }
        to->changed(1);
        done += n;
    }
    return static_cast<std::int64_t>(done);
}

std::int64_t TcpSocket::receive(std::span<std::uint8_t> to, const HowReceive& how, Received&) {
    if (state_ == State::listening) return -ENOTCONN;
    s.charge(queued_ ? kReceiveCost : kEmptyCost);
    std::size_t done = 0;
    for (;;) {
        std::size_t piece = 0, skip = taken_;
        const std::size_t before = done;
        while (done < to.size() && piece < queue_.size()) {
            const std::vector<std::uint8_t>& q = queue_[piece];
            const std::size_t n = std::min(to.size() - done, q.size() - skip);
            if (!how.full_length) std::memcpy(to.data() + done, q.data() + skip, n); // MSG_TRUNC: the bytes are dropped
            done += n;
            if (how.peek) {
                ++piece, skip = 0;
                continue;
            }
            taken_ += n, queued_ -= n;
            if (taken_ < q.size()) break;
            queue_.pop_front();
            taken_ = skip = 0;
        }
        if (done > before && !how.peek) {
            s.charge(static_cast<std::uint32_t>((done - before) >> kCopyShift));
            if (const auto partner = peer_.lock()) partner->changed(2);
        }
        if (done && (!how.wait_all || how.peek || done == to.size())) return static_cast<std::int64_t>(done);
        if (to.empty()) return 0;
        if (fin_) return static_cast<std::int64_t>(done);
        if (error_) return done ? static_cast<std::int64_t>(done) : -take_error();
        if (no_receive_) return static_cast<std::int64_t>(done);
        if (state_ == State::closed) return done ? static_cast<std::int64_t>(done) : -ENOTCONN;
        if (how.nonblock) return done ? static_cast<std::int64_t>(done) : -EAGAIN;
        if (how.peek && done) return static_cast<std::int64_t>(done);
        const auto ready = [&] { return queued_ || fin_ || no_receive_ || error_; };
        if (const std::int64_t r = wait_for(ready, receive_timeout_ns); r)
            return done ? static_cast<std::int64_t>(done) : r;
    }
}

int TcpSocket::set_option(int level, int option, std::span<const std::uint8_t> value) {
    const int e = InetSocket::set_option(level, option, value);
    if (!e && level == SOL_SOCKET && option == SO_SNDBUF) send_buffer_set_ = true;
    return e;
}

std::int64_t TcpSocket::ioctl(std::uint32_t cmd, std::uint64_t arg) {
    if (state_ == State::listening && (cmd == FIONREAD || cmd == TIOCOUTQ)) return -EINVAL;
    if (cmd == SIOCATMARK) {
        const std::int32_t no_urgent_data = 0;
        return s.put_user(arg, &no_urgent_data, sizeof no_urgent_data);
    }
    return InetSocket::ioctl(cmd, arg);
}

ke::PollMask TcpSocket::poll(WaitQueueHead*& wq) {
    constexpr ke::PollMask kRdHup = 0x2000; // EPOLLRDHUP
    wq = &wq_;
    if (state_ == State::listening) return backlog_.empty() ? 0 : abi::epollin | abi::epollrdnorm;
    ke::PollMask m = 0;
    if ((no_receive_ && no_send_) || state_ == State::closed) m |= abi::epollhup;
    if (no_receive_) m |= kRdHup | abi::epollin | abi::epollrdnorm;
    if (state_ != State::connecting) {
        if (queued_) m |= abi::epollin | abi::epollrdnorm;
        const auto partner = peer_.lock();
        const std::uint64_t least = std::min<std::uint64_t>(kRoomStep, send_buffer / 3);
        if (no_send_ || !partner || room_at(*partner) >= least) m |= abi::epollout | abi::epollwrnorm;
    }
    if (error_) m |= abi::epollerr;
    return m;
}

InetSocket::Line TcpSocket::line() const {
    int state = kStateClose;
    if (state_ == State::listening) state = kStateListen;
    if (state_ == State::connecting) state = kStateSynSent;
    if (state_ == State::established) state = fin_ ? kStateCloseWait : sent_fin_ ? kStateFinWait2 : kStateEstablished;
    const std::uint64_t waiting = state_ == State::listening ? backlog_.size() : queued_;
    return {state, static_cast<std::uint64_t>(bytes_out()), waiting};
}

} // namespace rkperf::os
