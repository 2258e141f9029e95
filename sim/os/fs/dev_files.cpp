// SPDX-License-Identifier: Apache-2.0
#include "sim/os/fs/dev_files.h"

#include <algorithm>
#include <cstring>

namespace rkperf::os {

namespace {

constexpr std::uint32_t kMem = 1, kTty = 5;
enum : std::uint32_t { kNull = 3, kZero = 5, kFull = 7, kRandom = 8, kUrandom = 9 };

constexpr DeviceInfo kDevices[] = {
    {"full", S_IFCHR | 0666, kMem, kFull},       {"null", S_IFCHR | 0666, kMem, kNull},
    {"random", S_IFCHR | 0666, kMem, kRandom},   {"tty", S_IFCHR | 0666, kTty, 0},
    {"urandom", S_IFCHR | 0666, kMem, kUrandom}, {"zero", S_IFCHR | 0666, kMem, kZero},
};

/// /dev/null, zero, full, random, urandom.
class MemoryDevice final : public NamedFile {
  public:
    MemoryDevice(const DentryPtr& name, std::uint32_t flags, std::uint32_t minor)
        : NamedFile(name, flags), minor_(minor) {}

    std::int64_t read(std::span<std::uint8_t> to) override {
        switch (minor_) {
            case kNull: return 0;
            case kRandom:
            case kUrandom: {
                FsFrame f(s(), KernelSymbol::get_random_bytes_user);
                for (std::size_t done = 0; done < to.size();) {
                    const std::uint64_t r = s().random();
                    const std::size_t n = std::min(sizeof r, to.size() - done);
                    std::memcpy(to.data() + done, &r, n);
                    done += n;
                }
                break;
            }
            default: std::fill(to.begin(), to.end(), std::uint8_t{0}); break;
        }
        return static_cast<std::int64_t>(to.size());
    }
    std::int64_t write(std::span<const std::uint8_t> from) override {
        FsFrame f(s(), KernelSymbol::write_null);
        if (minor_ == kFull) return from.empty() ? 0 : -ENOSPC;
        return static_cast<std::int64_t>(from.size());
    }
    std::int64_t pread(std::span<std::uint8_t> to, std::uint64_t) override { return read(to); }
    std::int64_t pwrite(std::span<const std::uint8_t> from, std::uint64_t) override { return write(from); }
    std::int64_t lseek(std::int64_t, int) override {
        if (minor_ == kRandom || minor_ == kUrandom) return 0;
        pos = 0;
        return 0;
    }
    std::int64_t mmap_anonymous(bool) override { return minor_ == kZero ? 0 : -ENODEV; }

    bool pollable() const override { return minor_ == kRandom || minor_ == kUrandom; }
    bool ignores_data() const override { return minor_ != kRandom && minor_ != kUrandom; }

  private:
    std::uint32_t minor_;
};

} // namespace

std::span<const DeviceInfo> char_devices() { return kDevices; }

int open_char_device(const DentryPtr& name, std::uint64_t rdev, std::uint32_t flags, FileHandle& out) {
    const auto major = static_cast<std::uint32_t>(rdev >> 8 & 0xfff), minor = static_cast<std::uint32_t>(rdev & 0xff);
    if (major != kMem) return -ENXIO; // /dev/tty: no task has a controlling terminal
    switch (minor) {
        case kNull:
        case kZero:
        case kFull:
        case kRandom:
        case kUrandom: out = std::make_shared<MemoryDevice>(name, flags, minor); return 0;
        default: return -ENXIO;
    }
}

} // namespace rkperf::os
