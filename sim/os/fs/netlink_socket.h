// SPDX-License-Identifier: Apache-2.0
// Sockets of the family AF_NETLINK for NETLINK_ROUTE: what there is of devices and addresses can be asked for, and does
// not change.
#pragma once

#include "sim/os/fs/inet_socket.h"

#include <deque>
#include <map>
#include <memory>
#include <vector>

namespace rkperf::os {

class NetlinkSocket final : public NetSocket {
  public:
    /// Port numbers that are taken.
    using Ports = std::map<std::uint32_t, NetlinkSocket*>;

    NetlinkSocket(FsServices& s, std::shared_ptr<InetTable> table, std::shared_ptr<Ports> ports, int type,
                  std::uint64_t ino, std::uint32_t open_flags);
    ~NetlinkSocket() override;

    int bind(std::span<const std::uint8_t> name) override;
    int connect(std::span<const std::uint8_t> name, bool nonblock) override;
    int name(bool peer, SocketName& out) override;
    std::int64_t send(std::span<const std::uint8_t> from, std::span<const std::uint8_t> to, bool nonblock,
                      bool no_signal) override;
    std::int64_t receive(std::span<std::uint8_t> to, const HowReceive& how, Received& got) override;
    int get_option(int level, int option, std::size_t room, std::vector<std::uint8_t>& out) override;
    int set_option(int level, int option, std::span<const std::uint8_t> value) override;
    ke::PollMask poll(WaitQueueHead*& wq) override;

  private:
    using Bytes = std::vector<std::uint8_t>;
    int autobind();
    void request(std::span<const std::uint8_t> message);
    int answer(std::span<const std::uint8_t> message, bool dump);
    void queue(Bytes message);
    Bytes link(std::uint32_t seq, std::uint16_t flags) const;
    Bytes address(bool v6, std::uint32_t seq) const;

    const std::shared_ptr<InetTable> table_;
    const std::shared_ptr<Ports> ports_;
    std::uint32_t port_{}, groups_{}, peer_port_{};
    bool ext_ack_{}, cap_ack_{}, strict_{};
    std::deque<Bytes> queue_;
};

} // namespace rkperf::os
