// SPDX-License-Identifier: Apache-2.0
// The socket system calls for sockets that are named by a struct sockaddr (net_syscalls.cpp).
#pragma once

#include "sim/os/fs/net_socket.h"
#include "sim/os/syscall/fs_common.h"

namespace rkperf::os {

using NetPtr = std::shared_ptr<NetSocket>;

/// The socket of a descriptor; null if it is none of these.
NetPtr net_of_fd(Task& t, std::uint64_t fd);
/// Whether net_socket makes sockets of this family.
bool net_family(std::uint64_t family);
std::int64_t net_socket(Kernel& k, Task& t, const SyscallArgs& a);

std::int64_t net_bind(Kernel& k, NetSocket& s, const SyscallArgs& a);
std::int64_t net_connect(Kernel& k, NetSocket& s, const SyscallArgs& a);
std::int64_t net_accept(Kernel& k, Task& t, NetSocket& s, const SyscallArgs& a, std::uint64_t kind);
std::int64_t net_name(Kernel& k, NetSocket& s, const SyscallArgs& a, bool peer);
std::int64_t net_sendto(Kernel& k, NetSocket& s, const SyscallArgs& a);
std::int64_t net_recvfrom(Kernel& k, NetSocket& s, const SyscallArgs& a);
/// Of one struct msghdr at `at`.
std::int64_t net_sendmsg(Kernel& k, NetSocket& s, std::uint64_t at, std::uint32_t flags);
std::int64_t net_recvmsg(Kernel& k, NetSocket& s, std::uint64_t at, std::uint32_t flags);
std::int64_t net_getsockopt(Kernel& k, NetSocket& s, const SyscallArgs& a);
std::int64_t net_setsockopt(Kernel& k, NetSocket& s, const SyscallArgs& a);

} // namespace rkperf::os
