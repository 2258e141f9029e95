// SPDX-License-Identifier: Apache-2.0
// Sockets of the family AF_UNIX: stream, datagram and sequenced-packet, in pairs, by path name or abstract name. Other
// families are not there (EAFNOSUPPORT).
#pragma once

#include "sim/os/fs/node.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rkperf::os {

/// struct ucred.
struct PeerCredentials {
    std::int32_t pid{};
    std::uint32_t uid{~0u}, gid{~0u};
};

class UnixSocket;

/// Abstract names that are bound (VfsImpl::SocketNames).
using AbstractNames = std::map<std::string, std::weak_ptr<UnixSocket>>;

class UnixSocket final : public File {
  public:
    enum class Type : std::uint8_t { stream = 1, dgram = 2, seqpacket = 5 };
    enum class State : std::uint8_t { unconnected, listening, connected };
    static constexpr std::uint32_t kDefaultBuffer = 212992; ///< net.core.wmem_default, rmem_default
    static constexpr std::size_t kMaxPath = 108;            ///< of sun_path

    /// What is sent and received besides the bytes.
    struct Extra {
        std::vector<FileHandle> files; ///< SCM_RIGHTS
        PeerCredentials cred;          ///< of the sender
        std::string name;              ///< the sender's: sun_path, empty if it has none
        bool truncated{};              ///< the datagram was longer than the buffer
        std::size_t length{};          ///< of the datagram
    };
    struct HowReceive {
        bool nonblock{}, peek{}, wait_all{}, full_length{}; ///< MSG_DONTWAIT, MSG_PEEK, MSG_WAITALL, MSG_TRUNC
    };

    UnixSocket(FsServices& s, Type type, std::uint64_t ino, std::uint32_t flags);
    ~UnixSocket() override;

    static void pair(UnixSocket& a, UnixSocket& b);
    /// The name is taken; the caller has made the file of a path name. 0 or -errno.
    int bind(std::string name);
    int listen(int backlog);
    /// Streams and sequenced packets wait until there is room in the backlog; a datagram socket gets a partner.
    int connect(const std::shared_ptr<UnixSocket>& to, bool nonblock);
    int disconnect(); ///< AF_UNSPEC
    int accept(bool nonblock, std::shared_ptr<UnixSocket>& out);
    int shutdown(int how);

    /// Bytes sent or -errno; `to` is a datagram's addressee, else the partner. EPIPE brings SIGPIPE unless `no_signal`.
    std::int64_t send(std::span<const std::uint8_t> from, const std::shared_ptr<UnixSocket>& to, bool nonblock,
                      bool no_signal, Extra extra);
    std::int64_t receive(std::span<std::uint8_t> to, const HowReceive& how, Extra& extra);

    std::int64_t read(std::span<std::uint8_t> to) override;
    std::int64_t write(std::span<const std::uint8_t> from) override;
    std::int64_t ioctl(std::uint32_t cmd, std::uint64_t arg) override;
    ke::PollMask poll(WaitQueueHead*& wq) override;
    int stat(FileStat& st) override;
    int fasync(bool on) override;
    std::string path() const override { return "socket:[" + std::to_string(ino) + "]"; }

    std::shared_ptr<UnixSocket> peer() const { return peer_.lock(); }
    bool by_messages() const { return type != Type::stream; }
    int take_error();
    PeerCredentials own_credentials() const;

    FsServices& s;
    const Type type;
    const std::uint64_t ino;
    State state{State::unconnected};
    std::string name;      ///< sun_path as bound; abstract names begin with a zero byte
    std::string peer_name; ///< of the partner when it connected
    std::optional<PeerCredentials> peer_cred;
    std::uint32_t send_buffer{kDefaultBuffer}, receive_buffer{kDefaultBuffer};
    std::uint64_t send_timeout_ns{~0ull}, receive_timeout_ns{~0ull};
    bool pass_cred{};                     ///< SO_PASSCRED
    std::shared_ptr<AbstractNames> names; ///< set while an abstract name is held

  private:
    struct Message {
        std::vector<std::uint8_t> data;
        std::size_t taken{};
        std::uint32_t charged{}; ///< memory that counts against the sender's buffer
        std::weak_ptr<UnixSocket> sender;
        Extra extra;
        std::size_t left() const { return data.size() - taken; }
    };
    std::int64_t send_message(std::span<const std::uint8_t> part, const std::shared_ptr<UnixSocket>& to, bool nonblock,
                              Extra extra);
    std::int64_t receive_message(std::span<std::uint8_t> to, const HowReceive& how, Extra& extra);
    std::int64_t receive_stream(std::span<std::uint8_t> to, const HowReceive& how, Extra& extra);
    std::int64_t broken(bool no_signal);
    std::int64_t wait_for(const std::function<bool()>& cond, std::uint64_t timeout_ns);
    bool writable_now() const { return in_flight_ * 4ull <= send_buffer; }
    bool crowded() const; ///< a datagram's addressee holds as many as it may
    void consumed(Message& m);
    void changed(int band);

    std::weak_ptr<UnixSocket> peer_;
    std::deque<Message> queue_;
    std::deque<std::shared_ptr<UnixSocket>> backlog_;
    unsigned max_backlog_{10}; ///< net.unix.max_dgram_qlen; listen sets it
    std::uint32_t in_flight_{};
    int error_{};
    bool no_receive_{}, no_send_{};
    bool async_{};
    WaitQueueHead wq_;
};

} // namespace rkperf::os
