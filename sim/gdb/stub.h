// SPDX-License-Identifier: Apache-2.0
// A gdb stub on the machine: connection, protocol and target put together.
#pragma once

#include "sim/gdb/machine_target.h"
#include "sim/gdb/server.h"
#include "sim/gdb/transport.h"

#include <string_view>

namespace rkperf::gdb {

class Stub {
  public:
    /// Listens, and stops the machine before the program's first instruction. `where`: see Transport.
    Stub(soc::Machine& machine, std::string_view where);

    const std::string& address() const { return transport_.address(); }
    /// From time to time while the machine runs, outside of the simulation: looks for Ctrl-C of the debugger. False once
    /// the debugger wants the run to end.
    bool poll();
    /// The run is over, with the wait status of the program.
    void finished(int status);

  private:
    /// Serves the debugger until it lets the machine go on.
    void serve(const Stop& stop);
    void send(std::string_view data);
    void leave();

    Transport transport_;
    MachineTarget target_;
    Server server_;
    PacketReader reader_;
    std::string last_sent_;
    bool acks_{true};
    bool gone_{}; ///< no debugger any more
};

} // namespace rkperf::gdb
