// SPDX-License-Identifier: Apache-2.0
// /proc/net: the sockets of the Internet families, and their device.
#include "sim/os/fs/network.h"
#include "sim/os/fs/procfs.h"
#include "sim/os/kernel.h"

#include <sys/socket.h>
#include <algorithm>
#include <cstring>

namespace rkperf::os {

namespace {

constexpr const char* kTcp4 =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode";
constexpr const char* kTcp6 =
    "  sl  local_address                         remote_address                        st "
    "tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";
constexpr const char* kUdp4 =
    "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode ref pointer drops";
constexpr const char* kUdp6 =
    "  sl  local_address                         remote_address                        st "
    "tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops";
constexpr int kLine4 = 149, kLineUdp4 = 127;

/// As words of the kernel's byte order.
std::string address_text(const InetAddress& a, bool v6) {
    std::string out;
    for (unsigned at = v6 ? 0 : 12; at < 16; at += 4) {
        std::uint32_t word;
        std::memcpy(&word, a.ip.data() + at, sizeof word);
        append(out, "%08X", v6 && a.is_v4() && a.any() ? 0 : word);
    }
    append(out, ":%04X", a.port);
    return out;
}

int sockets(const InetTable& table, int type, int family, std::string& out) {
    const bool v6 = family == AF_INET6, tcp = type == SOCK_STREAM;
    std::string head = tcp ? v6 ? kTcp6 : kTcp4 : v6 ? kUdp6 : kUdp4;
    const auto width = static_cast<std::size_t>(v6 ? 0 : tcp ? kLine4 : kLineUdp4);
    const auto line_end = [&](std::string line) {
        if (line.size() < width) line.resize(width, ' ');
        out.append(line).append("\n");
    };
    line_end(head);
    int row = 0;
    for (const InetSocket* s : table.sockets) {
        if (s->type != type || s->family != family) continue;
        const InetSocket::Line l = s->line();
        std::string line;
        append(line, tcp ? "%4d: " : "%5d: ", tcp ? row : s->local.port & 0xff);
        ++row;
        InetAddress remote = s->remote;
        if (!remote.port) remote = v6 ? InetAddress{} : InetAddress::v4(0, 0);
        line.append(address_text(s->local, v6)).append(" ").append(address_text(remote, v6));
        append(line, " %02X %08llX:%08llX 00:00000000 00000000 %5u        0 %llu %d %016llx",
               static_cast<unsigned>(l.state), static_cast<unsigned long long>(l.send_queue),
               static_cast<unsigned long long>(l.receive_queue), s->uid, static_cast<unsigned long long>(s->ino),
               tcp ? 1 : 2, 0ull);
        if (tcp)
            append(line, " 100 0 0 10 0");
        else
            append(line, " %llu", static_cast<unsigned long long>(static_cast<const UdpSocket*>(s)->drops()));
        line_end(std::move(line));
    }
    return 0;
}

int device(const InetTable& table, std::string& out) {
    out +=
        "Inter-|   Receive                                                |  Transmit\n"
        " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls "
        "carrier compressed\n";
    const auto bytes = static_cast<unsigned long long>(table.traffic.bytes),
               packets = static_cast<unsigned long long>(table.traffic.packets);
    append(out,
           "    lo: %7llu %7llu    0    0    0     0          0         0 %8llu %7llu    0    0    0     0       0     "
           "     0\n",
           bytes, packets, bytes, packets);
    return 0;
}

} // namespace

Network& VfsImpl::network() {
    if (!network_) network_ = std::make_shared<Network>();
    return *network_;
}

void add_proc_net(AttrFs& fs, VfsImpl& vfs) {
    const auto table = vfs.network().inet;
    fs.add_file("net/tcp", 0444, [table](std::string& out) { return sockets(*table, SOCK_STREAM, AF_INET, out); });
    fs.add_file("net/tcp6", 0444, [table](std::string& out) { return sockets(*table, SOCK_STREAM, AF_INET6, out); });
    fs.add_file("net/udp", 0444, [table](std::string& out) { return sockets(*table, SOCK_DGRAM, AF_INET, out); });
    fs.add_file("net/udp6", 0444, [table](std::string& out) { return sockets(*table, SOCK_DGRAM, AF_INET6, out); });
    fs.add_file("net/dev", 0444, [table](std::string& out) { return device(*table, out); });
    fs.add_text("net/if_inet6", "00000000000000000000000000000001 01 80 10 80       lo\n");
}

} // namespace rkperf::os
