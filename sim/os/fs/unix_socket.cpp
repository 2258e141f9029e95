// SPDX-License-Identifier: Apache-2.0
#include "sim/os/fs/unix_socket.h"

#include "sim/os/fs/net_socket.h"
#include "sim/os/kernel.h"

#include <sys/ioctl.h>
#include <algorithm>
#include <bit>
#include <csignal>
#include <cstring>
#include <utility>

namespace rkperf::os {

namespace {

// What the paths of a socket need in instructions beyond those of the call itself: measured on Linux 6.1 arm64.
constexpr std::uint32_t kSendCost = 2200, kReceiveCost = 1400, kEmptyCost = 500, kConnectCost = 9000;
constexpr std::uint32_t kCopyShift = 1; ///< two bytes an instruction: 3300 for sending and receiving 4 KiB

constexpr std::size_t kLargestPiece = 36544; ///< a stream is cut into buffers of at most this size

/// Memory a buffer takes: its head, and the data with its shared part in a power of two.
std::uint32_t true_size(std::size_t n) {
    constexpr std::uint32_t kHead = 256, kShared = 320;
    const auto data = static_cast<std::uint32_t>((n + 63) & ~63ull);
    return kHead + std::bit_ceil(data + kShared);
}

} // namespace

UnixSocket::UnixSocket(FsServices& s, Type type, std::uint64_t ino, std::uint32_t open_flags)
    : File(s.kernel()), s(s), type(type), ino(ino), wq_(s.kernel()) {
    flags = abi::o_rdwr | open_flags;
}

UnixSocket::~UnixSocket() {
    detach_watchers();
    if (names && !name.empty()) names->erase(name);
    const bool unread = !queue_.empty();
    for (Message& m : queue_) consumed(m);
    for (const auto& waiting : backlog_)
        if (const auto client = waiting->peer()) {
            client->error_ = ECONNRESET;
            client->no_receive_ = client->no_send_ = true;
            client->changed(6);
        }
    const auto partner = peer_.lock();
    if (!partner || type == Type::dgram) {
        if (partner) partner->wq_.wake_up_all();
        return;
    }
    partner->no_receive_ = partner->no_send_ = true;
    if (unread) partner->error_ = ECONNRESET;
    partner->changed(6);
}

PeerCredentials UnixSocket::own_credentials() const {
    const Credentials& c = s.cred();
    return {os.cur().tgid, c.euid, c.egid};
}

void UnixSocket::pair(UnixSocket& a, UnixSocket& b) {
    const auto share = [](UnixSocket& of) { return std::static_pointer_cast<UnixSocket>(of.shared_from_this()); };
    a.peer_ = share(b), b.peer_ = share(a);
    a.peer_cred = b.peer_cred = a.own_credentials();
    // Datagram sockets are partners, but not connected as streams are.
    if (a.type != Type::dgram) a.state = b.state = State::connected;
}

int UnixSocket::bind(std::string to) {
    if (!name.empty()) return -EINVAL;
    name = std::move(to);
    return 0;
}

int UnixSocket::listen(int backlog) {
    if (type == Type::dgram) return -EOPNOTSUPP;
    if (name.empty() || state == State::connected) return -EINVAL;
    state = State::listening;
    max_backlog_ = static_cast<unsigned>(std::clamp(backlog, 0, 4096));
    peer_cred = own_credentials();
    wq_.wake_up_all();
    return 0;
}

int UnixSocket::connect(const std::shared_ptr<UnixSocket>& to, bool nonblock) {
    s.charge(kConnectCost);
    if (to->type != type) return -EPROTOTYPE;
    if (type == Type::dgram) {
        peer_ = to;
        peer_name = to->name;
        return 0;
    }
    if (state == State::connected) return -EISCONN;
    if (state == State::listening) return -EINVAL;
    for (;;) {
        if (to->state != State::listening || to->no_receive_) return -ECONNREFUSED;
        if (to->backlog_.size() <= to->max_backlog_) break;
        if (nonblock) return -EAGAIN;
        const auto room = [&] { return to->state != State::listening || to->backlog_.size() <= to->max_backlog_; };
        const std::uint64_t deadline = send_timeout_ns == ~0ull ? ~0ull : s.clock_ns(CLOCK_MONOTONIC) + send_timeout_ns;
        if (const std::int64_t r = s.wait(to->wq_, room, deadline); r)
            return r == -ETIME ? -EAGAIN : static_cast<int>(r);
    }
    const auto self = std::static_pointer_cast<UnixSocket>(shared_from_this());
    auto served = std::make_shared<UnixSocket>(s, type, ino + 1, 0);
    served->peer_ = self, peer_ = served;
    served->name = to->name; // the accepted end has the listener's name, and must not free it
    served->state = state = State::connected;
    served->peer_cred = own_credentials();
    served->peer_name = name;
    served->pass_cred = to->pass_cred;
    peer_cred = to->peer_cred;
    peer_name = to->name;
    to->backlog_.push_back(std::move(served));
    to->changed(1);
    return 0;
}

int UnixSocket::disconnect() {
    if (type != Type::dgram) return -EINVAL;
    peer_.reset();
    peer_name.clear();
    return 0;
}

int UnixSocket::accept(bool nonblock, std::shared_ptr<UnixSocket>& out) {
    s.charge(kConnectCost / 2);
    if (type == Type::dgram) return -EOPNOTSUPP;
    if (state != State::listening) return -EINVAL;
    if (backlog_.empty() && nonblock) return -EAGAIN;
    if (const std::int64_t r = wait_for([&] { return !backlog_.empty() || no_receive_; }, receive_timeout_ns); r)
        return static_cast<int>(r);
    if (backlog_.empty()) return -EINVAL;
    out = std::move(backlog_.front());
    backlog_.pop_front();
    wq_.wake_up_all();
    return 0;
}

int UnixSocket::shutdown(int how) {
    if (how < 0 || how > 2) return -EINVAL;
    const bool receive = how != 1, send = how != 0;
    no_receive_ |= receive, no_send_ |= send;
    const auto partner = peer_.lock();
    if (partner && type != Type::dgram) {
        partner->no_receive_ |= send, partner->no_send_ |= receive;
        partner->changed(partner->no_receive_ && partner->no_send_ ? 6 : 1);
    }
    changed(6);
    return 0;
}

int UnixSocket::take_error() { return std::exchange(error_, 0); }

bool UnixSocket::crowded() const { return queue_.size() > max_backlog_; }

void UnixSocket::changed(int band) {
    wq_.wake_up_all();
    if (async_) s.kill_fasync(*this, band);
}

/// The receiver is done with a message: its memory is the sender's again.
void UnixSocket::consumed(Message& m) {
    const auto from = m.sender.lock();
    m.extra.files.clear();
    if (!from || from.get() == this) return;
    from->in_flight_ -= std::min(from->in_flight_, m.charged);
    if (from->writable_now()) from->changed(2);
}

std::int64_t UnixSocket::wait_for(const std::function<bool()>& cond, std::uint64_t timeout_ns) {
    if (cond()) return 0;
    const std::uint64_t deadline = timeout_ns == ~0ull ? ~0ull : s.clock_ns(CLOCK_MONOTONIC) + timeout_ns;
    const std::int64_t r = s.wait(wq_, cond, deadline);
    return r == -ETIME ? -EAGAIN : r;
}

std::int64_t UnixSocket::broken(bool no_signal) {
    if (!no_signal) s.send_signal(SIGPIPE);
    return -EPIPE;
}

std::int64_t UnixSocket::send_message(std::span<const std::uint8_t> part, const std::shared_ptr<UnixSocket>& to,
                                      bool nonblock, Extra extra) {
    s.charge(kSendCost + static_cast<std::uint32_t>(part.size() >> kCopyShift));
    if (in_flight_ >= send_buffer) {
        if (nonblock) return -EAGAIN;
        const auto room = [&] { return in_flight_ < send_buffer || no_send_ || error_; };
        if (const std::int64_t r = wait_for(room, send_timeout_ns); r) return r;
        if (error_) return -take_error();
        if (no_send_) return -EPIPE;
    }
    Message m;
    m.data.assign(part.begin(), part.end());
    m.charged = true_size(part.size());
    m.sender = std::static_pointer_cast<UnixSocket>(shared_from_this());
    m.extra = std::move(extra);
    in_flight_ += m.charged;
    to->queue_.push_back(std::move(m));
    to->changed(1);
    return static_cast<std::int64_t>(part.size());
}

std::int64_t UnixSocket::send(std::span<const std::uint8_t> from, const std::shared_ptr<UnixSocket>& addressee,
                              bool nonblock, bool no_signal, Extra extra) {
    extra.cred = own_credentials();
    extra.name = name;
    if (type == Type::dgram) {
        if (error_) return -take_error();
        const auto to = addressee ? addressee : peer_.lock();
        if (!to) {
            if (peer_.owner_before(std::weak_ptr<UnixSocket>{}) || std::weak_ptr<UnixSocket>{}.owner_before(peer_)) {
                peer_.reset(); // there was one
                return -ECONNREFUSED;
            }
            return -ENOTCONN;
        }
        if (from.size() > send_buffer - 32) return -EMSGSIZE;
        if (no_send_ || to->no_receive_) return -EPIPE;
        if (to.get() != this && to->peer_.lock().get() != this && to->crowded()) {
            if (nonblock) return -EAGAIN;
            const auto room = [&] { return !to->crowded() || to->no_receive_; };
            if (const std::int64_t r = s.wait(to->wq_, room); r) return r;
        }
        return send_message(from, to, nonblock, std::move(extra));
    }
    if (type == Type::seqpacket && error_) return -take_error();
    if (state != State::connected) return -ENOTCONN;
    if (type == Type::seqpacket) {
        const auto to = peer_.lock();
        if (!to || no_send_ || to->no_receive_) return -EPIPE;
        if (from.size() > send_buffer - 32) return -EMSGSIZE;
        return send_message(from, to, nonblock, std::move(extra));
    }
    std::size_t done = 0;
    while (done < from.size()) {
        const auto to = peer_.lock();
        if (!to || no_send_ || to->no_receive_) return done ? static_cast<std::int64_t>(done) : broken(no_signal);
        const std::size_t n =
            std::min({from.size() - done, static_cast<std::size_t>(send_buffer / 2 - 64), kLargestPiece});
        const std::int64_t r = send_message(from.subspan(done, n), to, nonblock, std::move(extra));
        extra = Extra{{}, own_credentials(), name, false, 0}; // descriptors go with the first bytes
        if (r == -EPIPE) return done ? static_cast<std::int64_t>(done) : broken(no_signal);
        if (r < 0) return done ? static_cast<std::int64_t>(done) : r;
        done += static_cast<std::size_t>(r);
    }
    return static_cast<std::int64_t>(done);
}

std::int64_t UnixSocket::receive_stream(std::span<std::uint8_t> to, const HowReceive& how, Extra& extra) {
    std::size_t done = 0;
    for (;;) {
        // In a look ahead nothing is taken, so the place is kept here.
        std::size_t at = 0, skip = 0;
        bool stop = false;
        while (done < to.size() && at < queue_.size() && !stop) {
            Message& m = queue_[at];
            // Bytes of another sender, or behind descriptors, are for the next call.
            if (done && (!m.extra.files.empty() || !extra.files.empty())) break;
            if (done && pass_cred && m.extra.cred.pid != extra.cred.pid) break;
            const std::size_t n = std::min(to.size() - done, m.left() - skip);
            std::memcpy(to.data() + done, m.data.data() + m.taken + skip, n);
            done += n;
            extra.cred = m.extra.cred;
            if (!m.extra.files.empty()) {
                extra.files = how.peek ? m.extra.files : std::exchange(m.extra.files, {});
                stop = true;
            }
            if (how.peek) {
                ++at;
                continue;
            }
            m.taken += n;
            if (m.left()) break;
            Message gone = std::move(m);
            queue_.pop_front();
            consumed(gone);
        }
        if (done && (!how.wait_all || how.peek || done == to.size() || stop)) return static_cast<std::int64_t>(done);
        if (error_) return done ? static_cast<std::int64_t>(done) : -take_error();
        if (no_receive_ || to.empty()) return static_cast<std::int64_t>(done);
        if (how.nonblock) return done ? static_cast<std::int64_t>(done) : -EAGAIN;
        const auto ready = [&] { return !queue_.empty() || no_receive_ || error_; };
        if (const std::int64_t r = wait_for(ready, receive_timeout_ns); r)
            return done ? static_cast<std::int64_t>(done) : r;
    }
}

std::int64_t UnixSocket::receive_message(std::span<std::uint8_t> to, const HowReceive& how, Extra& extra) {
    if (queue_.empty()) {
        if (error_) return -take_error();
        if (no_receive_) return how.nonblock && type == Type::dgram ? -EAGAIN : 0;
        if (how.nonblock) return -EAGAIN;
        const auto ready = [&] { return !queue_.empty() || no_receive_ || error_; };
        if (const std::int64_t r = wait_for(ready, receive_timeout_ns); r) return r;
        if (error_) return -take_error();
        if (queue_.empty()) return 0;
    }
    Message& m = queue_.front();
    const std::size_t n = std::min(to.size(), m.data.size());
    std::memcpy(to.data(), m.data.data(), n);
    extra = m.extra;
    extra.truncated = n < m.data.size();
    extra.length = m.data.size();
    if (!how.peek) {
        Message gone = std::move(m);
        queue_.pop_front();
        wq_.wake_up_all(); // of senders that found it crowded
        consumed(gone);
    }
    return static_cast<std::int64_t>(how.full_length ? extra.length : n);
}

std::int64_t UnixSocket::receive(std::span<std::uint8_t> to, const HowReceive& how, Extra& extra) {
    if (type != Type::dgram && state != State::connected) return type == Type::stream ? -EINVAL : -ENOTCONN;
    s.charge(queue_.empty() ? kEmptyCost : kReceiveCost);
    const std::int64_t n = type == Type::stream ? receive_stream(to, how, extra) : receive_message(to, how, extra);
    if (n > 0) s.charge(static_cast<std::uint32_t>(n >> kCopyShift));
    return n;
}

std::int64_t UnixSocket::read(std::span<std::uint8_t> to) {
    Extra extra;
    return receive(to, {.nonblock = nonblock()}, extra);
}

std::int64_t UnixSocket::write(std::span<const std::uint8_t> from) {
    return send(from, nullptr, nonblock(), false, {});
}

std::int64_t UnixSocket::ioctl(std::uint32_t cmd, std::uint64_t arg) {
    if (cmd != FIONREAD && cmd != TIOCOUTQ) return device_ioctl(s, cmd, arg);
    if (cmd == FIONREAD && state == State::listening) return -EINVAL;
    std::size_t n = in_flight_;
    if (cmd == FIONREAD) {
        n = 0;
        for (const Message& m : queue_) {
            n += m.left();
            if (type == Type::dgram) break;
        }
    }
    const auto v = static_cast<std::int32_t>(n);
    return s.put_user(arg, &v, sizeof v);
}

ke::PollMask UnixSocket::poll(WaitQueueHead*& wq) {
    constexpr ke::PollMask kRdHup = 0x2000; // EPOLLRDHUP
    wq = &wq_;
    ke::PollMask m = 0;
    if (error_) m |= abi::epollerr;
    if (no_receive_ && no_send_) m |= abi::epollhup;
    if (no_receive_) m |= kRdHup | abi::epollin | abi::epollrdnorm;
    if (!queue_.empty() || !backlog_.empty()) m |= abi::epollin | abi::epollrdnorm;
    if (type != Type::dgram && state == State::unconnected) m |= abi::epollhup;
    const auto partner = peer_.lock();
    const bool crowd = type == Type::dgram && partner && partner->peer_.lock().get() != this && partner->crowded();
    if (writable_now() && state != State::listening && !crowd) m |= abi::epollout | abi::epollwrnorm | abi::epollwrband;
    return m;
}

int UnixSocket::stat(FileStat& st) {
    st = FileStat{};
    st.dev = abi::make_dev(0, 8);
    st.ino = ino;
    st.mode = S_IFSOCK | 0777;
    return 0;
}

int UnixSocket::fasync(bool on) {
    async_ = on;
    return 0;
}

} // namespace rkperf::os
