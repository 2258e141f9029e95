// SPDX-License-Identifier: Apache-2.0
// fuzz-sources: sim/gdb/host_io.cpp sim/gdb/packet.cpp sim/gdb/server.cpp sim/gdb/target_xml.cpp
// fuzz-max-len: 4096
// Hostile debuggers: whatever bytes come, replies fit into a packet, and the next good packet is understood.
#include "sim/gdb/server.h"
#include "tests/sim/gdb/fake_target.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

using namespace rkperf::gdb;

namespace {

void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "gdb stub: %s\n", what);
    std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    FakeTarget target;
    Server server(target);
    PacketReader reader;
    const auto feed = [&](std::uint8_t byte) {
        if (reader.feed(byte) != PacketReader::Event::packet) return false;
        const Server::Reply r = server.handle(reader.data());
        require(r.text.size() <= PacketReader::kMaxPacket, "a reply longer than a packet");
        return true;
    };
    for (std::size_t i = 0; i < size; ++i) feed(data[i]);
    // The same bytes as the contents of a good packet.
    const std::string framed = make_packet({reinterpret_cast<const char*>(data), size});
    bool understood = false;
    for (const char c : framed) understood = feed(static_cast<std::uint8_t>(c)) || understood;
    require(understood, "a good packet was not taken");
    return 0;
}
