// SPDX-License-Identifier: Apache-2.0
// The commands of the GDB remote serial protocol, on a Target. CPUs are threads 1, 2, ... of process 1.
#pragma once

#include "sim/gdb/host_io.h"
#include "sim/gdb/packet.h"
#include "sim/gdb/target.h"

#include <optional>
#include <string>
#include <string_view>

namespace rkperf::gdb {

class Server {
  public:
    explicit Server(Target& target) : target_(target), files_(target) {}

    struct Reply {
        std::string text; ///< to send as a packet
        bool send{true};  ///< false: the answer comes with the next stop
        bool no_ack{};    ///< after this reply packets are not acknowledged
        bool running{};   ///< the machine was told to run
        bool gone{};      ///< the debugger has left
    };
    /// Carries out one packet while the machine stands still. An unknown one is answered by an empty reply.
    Reply handle(std::string_view packet);
    /// The stop reply for gdb, and the CPU it is about becomes the selected one.
    std::string stopped(const Stop& stop);

  private:
    std::string query(std::string_view packet, Reply& reply);
    std::string read_register(unsigned n);
    std::string write_register(unsigned n, std::string_view hex);
    std::string all_registers();
    std::string write_all(std::string_view hex);
    std::string read_memory(Fields f);
    std::string write_memory(Fields f, bool binary);
    std::string point(Fields f, bool set);
    std::string transfer(std::string_view document, Fields f);
    std::string thread_list(Fields f);
    void resume(Fields f, Reply& reply);
    std::string select(Fields f);
    /// A CPU from a thread id; 0 and -1 are the selected one.
    std::optional<unsigned> cpu_of(Fields& f) const;

    Target& target_;
    HostIo files_;
    unsigned cpu_{}; ///< selected for registers and memory
    Stop last_;
};

/// The target description: core, fpu and system registers.
std::string target_xml();
/// Bytes of a register in the description.
unsigned register_bytes(unsigned n);

} // namespace rkperf::gdb
