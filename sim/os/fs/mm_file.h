// SPDX-License-Identifier: Apache-2.0
// Files of /proc/PID that show an address space by position: mem, pagemap. The position is an address, or counts from one:
// there is no end to seek from.
#pragma once
#include "sim/os/fs/file_kinds.h"
#include "sim/os/kernel.h"

#include <memory>

namespace rkperf::os {

class MmFile : public NamedFile {
  public:
    MmFile(const DentryPtr& name, std::uint32_t flags, const std::shared_ptr<AddressSpace>& as, Kernel& k)
        : NamedFile(name, flags), as_(as), k_(k) {}
    std::int64_t read(std::span<std::uint8_t> to) override { return moved(pread(to, pos)); }
    std::int64_t lseek(std::int64_t offset, int whence) override {
        if (whence != SEEK_SET && whence != SEEK_CUR) return -EINVAL;
        pos = static_cast<std::uint64_t>(offset) + (whence == SEEK_CUR ? pos : 0);
        return static_cast<std::int64_t>(pos);
    }

  protected:
    /// What was transferred, or an error, after the position has gone on.
    std::int64_t moved(std::int64_t n) {
        if (n > 0) pos += static_cast<std::uint64_t>(n);
        return n;
    }

    std::weak_ptr<AddressSpace> as_; ///< its users are not kept from going
    Kernel& k_;
};

} // namespace rkperf::os
