// SPDX-License-Identifier: Apache-2.0
// Sockets of the families AF_INET and AF_INET6 on the loopback device, the only one there is: addresses, ports, options.
// What is sent arrives at once and is never lost. tcp_socket.cpp and udp_socket.cpp hold the protocols.
#pragma once

#include "sim/os/fs/net_socket.h"

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace rkperf::os {

/// An address and a port. IPv4 addresses stand in the last four bytes, behind ::ffff:.
struct InetAddress {
    std::array<std::uint8_t, 16> ip{};
    std::uint16_t port{}; ///< in the host's order
    static InetAddress v4(std::uint32_t address, std::uint16_t port);
    static InetAddress v6_loopback();
    bool is_v4() const;
    bool any() const;
    bool loopback() const; ///< 127.0.0.0/8 or ::1
    bool operator==(const InetAddress&) const = default;
};

class InetSocket;

/// The bound sockets of the machine, and what has gone over its device.
struct InetTable {
    std::vector<InetSocket*> sockets;
    loopback::Traffic traffic;
};

class InetSocket : public NetSocket {
  public:
    InetSocket(FsServices& s, std::shared_ptr<InetTable> table, int family, int type, int protocol, std::uint64_t ino,
               std::uint32_t open_flags);
    ~InetSocket() override;

    int bind(std::span<const std::uint8_t> name) override;
    int get_option(int level, int option, std::size_t room, std::vector<std::uint8_t>& out) override;
    int set_option(int level, int option, std::span<const std::uint8_t> value) override;
    std::int64_t ioctl(std::uint32_t cmd, std::uint64_t arg) override;

    struct Line { ///< of /proc/net/tcp and udp
        int state{};
        std::uint64_t send_queue{}, receive_queue{};
    };
    virtual Line line() const = 0;

    InetAddress local, remote; ///< a port of 0: none
    bool v6_only{};

  protected:
    /// 0, or -errno: no address of this family. An address nobody has comes later.
    int parse(std::span<const std::uint8_t> name, InetAddress& out) const;
    SocketName printed(const InetAddress& a) const;
    bool v4_only() const;
    int autobind();
    /// What a connection or datagram to `to` has at its ends; -ENETUNREACH beyond the device.
    int route(InetAddress& to, InetAddress& from) const;
    /// Both ends of a connection to what `name` says, a port included; 0 or -errno.
    int take_ends(std::span<const std::uint8_t> name);
    void enter_table();
    void leave_table();
    virtual bool conflicts(const InetSocket& other) const;
    int& option(int level, int name);
    virtual std::int64_t bytes_in() const = 0;
    virtual std::int64_t bytes_out() const { return 0; }

    const std::shared_ptr<InetTable> table_;

  private:
    bool entered_{};
    std::map<std::pair<int, int>, int> options_;
};

class TcpSocket final : public InetSocket {
  public:
    enum class State : std::uint8_t { closed, listening, connecting, established };
    static constexpr std::uint32_t kSendBuffer = 16384, kReceiveBuffer = 131072; ///< tcp_wmem, tcp_rmem
    static constexpr std::uint32_t kTunedSendBuffer = 2626560; ///< of an established connection with a window of 64 KiB

    TcpSocket(FsServices& s, std::shared_ptr<InetTable> table, int family, std::uint64_t ino, std::uint32_t open_flags);
    ~TcpSocket() override;

    int listen(int backlog) override;
    int accept(bool nonblock, std::shared_ptr<NetSocket>& out) override;
    int connect(std::span<const std::uint8_t> name, bool nonblock) override;
    int shutdown(int how) override;
    int name(bool peer, SocketName& out) override;
    std::int64_t send(std::span<const std::uint8_t> from, std::span<const std::uint8_t> to, bool nonblock,
                      bool no_signal) override;
    std::int64_t receive(std::span<std::uint8_t> to, const HowReceive& how, Received& got) override;
    int set_option(int level, int option, std::span<const std::uint8_t> value) override;
    std::int64_t ioctl(std::uint32_t cmd, std::uint64_t arg) override;
    ke::PollMask poll(WaitQueueHead*& wq) override;
    Line line() const override;

  private:
    using Ptr = std::shared_ptr<TcpSocket>;
    bool listening() const override { return state_ == State::listening; }
    bool conflicts(const InetSocket& other) const override;
    std::int64_t bytes_in() const override { return static_cast<std::int64_t>(queued_); }
    std::int64_t bytes_out() const override;
    Ptr find_listener(const InetAddress& to) const;
    void establish(TcpSocket& listener);
    void reset(int error); ///< RST: the connection is no more
    void finish();         ///< FIN: nothing more will come
    void stop_listening();
    void refuse();
    bool crowded() const { return backlog_.size() > max_backlog_; }
    std::uint64_t room_at(const TcpSocket& peer) const;
    std::int64_t broken(bool no_signal);

    State state_{State::closed};
    std::weak_ptr<TcpSocket> peer_;
    std::deque<std::vector<std::uint8_t>> queue_;
    std::size_t taken_{}; ///< of the first piece
    std::uint64_t queued_{};
    std::deque<Ptr> backlog_;
    std::deque<std::weak_ptr<TcpSocket>> pending_; ///< connect without waiting, and the backlog is full
    unsigned max_backlog_{};
    bool no_receive_{}, no_send_{}, fin_{}, sent_fin_{};
    bool in_progress_{}; ///< the outcome of a connect without waiting has not been fetched by another connect
    bool send_buffer_set_{};
};

class UdpSocket final : public InetSocket {
  public:
    UdpSocket(FsServices& s, std::shared_ptr<InetTable> table, int family, std::uint64_t ino, std::uint32_t open_flags);
    ~UdpSocket() override;

    int connect(std::span<const std::uint8_t> name, bool nonblock) override;
    int shutdown(int how) override;
    int name(bool peer, SocketName& out) override;
    std::int64_t send(std::span<const std::uint8_t> from, std::span<const std::uint8_t> to, bool nonblock,
                      bool no_signal) override;
    std::int64_t receive(std::span<std::uint8_t> to, const HowReceive& how, Received& got) override;
    std::size_t largest_message() const override { return kLargest; }
    ke::PollMask poll(WaitQueueHead*& wq) override;
    Line line() const override;
    std::uint64_t drops() const { return drops_; }

  private:
    static constexpr std::size_t kLargest = 65507;
    struct Datagram {
        std::vector<std::uint8_t> data;
        InetAddress from;
        std::uint32_t charged{};
    };
    std::int64_t bytes_in() const override;
    UdpSocket* find_receiver(const InetAddress& to, const InetAddress& from) const;

    std::deque<Datagram> queue_;
    std::uint32_t held_{};
    std::uint64_t drops_{};
    bool connected_{}, no_receive_{}, no_send_{};
};

} // namespace rkperf::os
