// SPDX-License-Identifier: Apache-2.0
// What the sockets of the machine share.
#pragma once

#include "sim/os/fs/inet_socket.h"
#include "sim/os/fs/netlink_socket.h"

namespace rkperf::os {

struct Network {
    std::shared_ptr<InetTable> inet{std::make_shared<InetTable>()};
    std::shared_ptr<NetlinkSocket::Ports> netlink_ports{std::make_shared<NetlinkSocket::Ports>()};
};

} // namespace rkperf::os
