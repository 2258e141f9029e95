// SPDX-License-Identifier: Apache-2.0
// nsfs: what the links below /proc/PID/ns lead to (ioctl_ns(2)).
#pragma once

#include "sim/os/fs/file.h"
#include "sim/os/ns/namespaces.h"

namespace rkperf::os {

inline constexpr std::uint64_t kNsfsMagic = 0x6e736673;
inline constexpr std::uint32_t kNsfsMinor = 4; ///< device 0:4

class NsFile final : public File {
  public:
    NsFile(Kernel& k, NsPtr ns, std::uint32_t open_flags) : File(k), ns_(std::move(ns)) { flags = open_flags; }
    const NsPtr& ns() const { return ns_; }
    int stat(FileStat& st) override;
    std::int64_t ioctl(std::uint32_t cmd, std::uint64_t arg) override;
    int reopen(std::uint32_t new_flags, FileHandle& out) override;
    bool pollable() const override { return false; }
    std::string path() const override;

  private:
    std::int64_t open_related(const NsPtr& ns);
    NsPtr ns_;
};

/// "uts:[4026531838]".
std::string ns_name(const Namespace& ns);

} // namespace rkperf::os
