// SPDX-License-Identifier: Apache-2.0
// Sockets that are named by a struct sockaddr: those of the Internet families and netlink. System calls
// (syscall/net_syscalls.cpp) know them by this interface only.
#pragma once

#include "sim/os/fs/node.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rkperf::os {

/// The bytes of a struct sockaddr_*.
using SocketName = std::vector<std::uint8_t>;

class NetSocket : public File {
  public:
    struct HowReceive {
        bool nonblock{}, peek{}, wait_all{}, full_length{}; ///< MSG_DONTWAIT, MSG_PEEK, MSG_WAITALL, MSG_TRUNC
    };
    struct Received {
        SocketName from;  ///< empty: not told
        bool truncated{}; ///< the datagram was longer than the buffer
    };

    NetSocket(FsServices& s, int family, int type, int protocol, std::uint64_t ino, std::uint32_t open_flags);

    // All give 0, or a length, or -errno.
    virtual int bind(std::span<const std::uint8_t> name) = 0;
    virtual int listen(int backlog);
    virtual int accept(bool nonblock, std::shared_ptr<NetSocket>& out);
    virtual int connect(std::span<const std::uint8_t> name, bool nonblock) = 0;
    virtual int shutdown(int how);
    virtual int name(bool peer, SocketName& out) = 0;
    virtual std::int64_t send(std::span<const std::uint8_t> from, std::span<const std::uint8_t> to, bool nonblock,
                              bool no_signal) = 0;
    virtual std::int64_t receive(std::span<std::uint8_t> to, const HowReceive& how, Received& got) = 0;
    /// The value is at most `room` bytes long.
    virtual int get_option(int level, int option, std::size_t room, std::vector<std::uint8_t>& out);
    virtual int set_option(int level, int option, std::span<const std::uint8_t> value);
    /// Bytes of a message that are looked at; more give -EMSGSIZE before any is copied.
    virtual std::size_t largest_message() const { return ~std::size_t{0}; }

    std::int64_t read(std::span<std::uint8_t> to) override;
    std::int64_t write(std::span<const std::uint8_t> from) override;
    int stat(FileStat& st) override;
    int fasync(bool on) override;
    std::string path() const override { return "socket:[" + std::to_string(ino) + "]"; }

    int take_error();

    FsServices& s;
    const int family, type, protocol;
    const std::uint64_t ino;
    const std::uint32_t uid;
    std::uint32_t send_buffer{212992}, receive_buffer{212992};
    std::uint64_t send_timeout_ns{~0ull}, receive_timeout_ns{~0ull};
    bool reuse_address{}, reuse_port{}, keep_alive{}, broadcast{};
    std::int32_t linger_on{}, linger_seconds{};

  protected:
    std::int64_t wait_for(const std::function<bool()>& cond, std::uint64_t timeout_ns);
    void changed(int band);
    virtual bool listening() const { return false; }

    int error_{}; ///< sk_err, told once
    WaitQueueHead wq_;

  private:
    bool async_{};
};

/// "lo" of the simulated machine.
namespace loopback {
inline constexpr int kIndex = 1, kMtu = 65536;
inline constexpr unsigned kFlags = 0x49; ///< IFF_UP | IFF_LOOPBACK | IFF_RUNNING
/// What has gone over it, in each direction.
struct Traffic {
    std::uint64_t packets{}, bytes{};
};
} // namespace loopback

/// ioctls SIOC* about network devices; -ENOTTY for others.
std::int64_t device_ioctl(FsServices& s, std::uint32_t cmd, std::uint64_t arg);

} // namespace rkperf::os
