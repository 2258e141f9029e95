// SPDX-License-Identifier: Apache-2.0
// The remote protocol's file requests (gdb manual, "Host I/O packets"): gdb reads the program and its libraries out of the
// machine. Reading only.
#pragma once

#include "sim/gdb/packet.h"
#include "sim/gdb/target.h"

#include <map>
#include <string>

namespace rkperf::gdb {

class HostIo {
  public:
    explicit HostIo(Target& target) : target_(target) {}
    /// Answers what follows "vFile:"; empty: not a request that is known.
    std::string handle(unsigned cpu, Fields f);

  private:
    struct OpenFile {
        std::string path;
        std::uint64_t size{};
    };
    static constexpr std::size_t kMaxOpen = 64;

    Target& target_;
    std::map<std::uint64_t, OpenFile> open_; ///< by the number that gdb was given
};

} // namespace rkperf::gdb
