// SPDX-License-Identifier: Apache-2.0
// Files without a name: eventfd, timerfd, perf events.
#pragma once

#include "sim/os/fs/node.h"

namespace rkperf::os {

class AnonFile : public File {
  public:
    AnonFile(FsServices& s, std::string name, std::uint32_t open_flags)
        : File(s.kernel()), s_(s), name_(std::move(name)) {
        flags = open_flags;
    }
    int stat(FileStat& st) override;
    std::int64_t pread(std::span<std::uint8_t> to, std::uint64_t) override { return read(to); }
    std::int64_t pwrite(std::span<const std::uint8_t> from, std::uint64_t) override { return write(from); }
    std::int64_t lseek(std::int64_t, int) override { return static_cast<std::int64_t>(pos); }
    std::string path() const override { return "anon_inode:" + name_; }

  protected:
    FsServices& s_;
    std::string name_;
};

/// flags: EFD_SEMAPHORE 1, EFD_NONBLOCK.
FileHandle make_eventfd(FsServices& s, std::uint64_t init, std::uint32_t flags);
FileHandle make_perf_file(FsServices& s, std::string_view name, ke::FileOperations* ops, std::uint32_t flags);

/// timerfd_create and its calls.
class TimerFile : public AnonFile {
  public:
    struct Setting {
        std::uint64_t interval_ns{}, value_ns{};
    };
    using AnonFile::AnonFile;
    /// absolute: TFD_TIMER_ABSTIME. Returns what was set before.
    virtual Setting set(const Setting& to, bool absolute) = 0;
    virtual Setting get() = 0;
};
std::shared_ptr<TimerFile> make_timerfd(FsServices& s, int clockid, std::uint32_t flags);

} // namespace rkperf::os
