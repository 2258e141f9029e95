// SPDX-License-Identifier: Apache-2.0
#include "sim/os/syscall/fs_common.h"

#include "sim/os/fs/inotify.h"
#include "sim/os/fs/pipe.h"
#include "sim/os/time/time_keeper.h"

#include <sys/resource.h>
#include <algorithm>

namespace rkperf::os {

namespace {

constexpr std::size_t kChunk = 64 * 1024; ///< bytes moved at a time between a file and user memory
constexpr std::size_t kStream = 1 << 20;  ///< the most one read of a stream gives
constexpr std::uint64_t kMaxIov = 1024;

/// Files that a read fills as far as it can; others give what there is now.
bool fills(File& f) {
    const DentryPtr d = f.dentry();
    return d && !d->node->is(S_IFIFO);
}

} // namespace

UserBuffers::UserBuffers(Kernel& k, std::uint64_t address, std::uint64_t length) : k_(k) { add(address, length); }

UserBuffers::UserBuffers(Kernel& k, std::uint64_t iov, std::uint64_t count, std::int64_t& error) : k_(k) {
    error = 0;
    if (count > kMaxIov) {
        error = -EINVAL;
        return;
    }
    std::vector<std::uint64_t> raw(count * 2);
    if (count && k.get_user(raw.data(), iov, raw.size() * 8)) {
        error = -EFAULT;
        return;
    }
    for (std::uint64_t i = 0; i < count; ++i) {
        if (static_cast<std::int64_t>(raw[2 * i + 1]) < 0) {
            error = -EINVAL;
            return;
        }
        if (!k.access_ok(raw[2 * i], raw[2 * i + 1])) {
            error = -EFAULT;
            return;
        }
        add(raw[2 * i], raw[2 * i + 1]);
    }
}

void UserBuffers::add(std::uint64_t address, std::uint64_t length) {
    length = std::min(length, abi::max_rw_count - size_);
    if (!length) return;
    parts_.push_back({address, length});
    size_ += length;
}

template <class Fn>
std::size_t UserBuffers::each(std::uint64_t offset, std::size_t n, Fn&& copy) {
    std::size_t done = 0;
    for (const Part& p : parts_) {
        if (done == n) break;
        if (offset >= p.length) {
            offset -= p.length;
            continue;
        }
        const std::size_t take = std::min<std::uint64_t>(n - done, p.length - offset);
        if (copy(p.address + offset, done, take)) {
            // Up to the page that is not there.
            for (std::size_t at = 0; at < take;) {
                const std::size_t page =
                    std::min<std::uint64_t>(take - at, kPageSize - (p.address + offset + at) % kPageSize);
                if (copy(p.address + offset + at, done + at, page)) return done + at;
                at += page;
            }
        }
        done += take;
        offset = 0;
    }
    return done;
}

std::size_t UserBuffers::copy_in(std::uint64_t offset, std::span<std::uint8_t> to) {
    return each(offset, to.size(), [&](std::uint64_t user, std::size_t at, std::size_t n) {
        return k_.get_user(to.data() + at, user, n);
    });
}

std::size_t UserBuffers::copy_out(std::uint64_t offset, std::span<const std::uint8_t> from) {
    return each(offset, from.size(), [&](std::uint64_t user, std::size_t at, std::size_t n) {
        return k_.put_user(user, from.data() + at, n);
    });
}

namespace {

std::int64_t read_to(Kernel& k, File& f, UserBuffers& to, std::optional<std::uint64_t> offset) {
    return kernel_function(k, KernelSymbol::vfs_read, [&]() -> std::int64_t {
        if (!f.readable()) return -EBADF;
        if (ke::FileOperations* ops = f.perf_ops()) return ops->read(to.first_address(), to.size(), f.nonblock());
        { Frame lsm(k, KernelSymbol::security_file_permission); }
        const bool whole = fills(f);
        std::vector<std::uint8_t> buffer(std::min<std::uint64_t>(to.size(), whole ? kChunk : kStream));
        std::uint64_t done = 0;
        do {
            const std::span<std::uint8_t> part(buffer.data(), std::min<std::uint64_t>(buffer.size(), to.size() - done));
            const std::int64_t n = offset ? f.pread(part, *offset + done) : f.read(part);
            if (n < 0) return done ? static_cast<std::int64_t>(done) : n;
            const std::size_t copied = to.copy_out(done, part.first(static_cast<std::size_t>(n)));
            done += copied;
            if (copied < static_cast<std::size_t>(n)) {
                if (!offset && whole) f.pos -= static_cast<std::size_t>(n) - copied; // the rest was not read
                return done ? static_cast<std::int64_t>(done) : -EFAULT;
            }
            if (static_cast<std::size_t>(n) < part.size()) break;
        } while (whole && done < to.size());
        return static_cast<std::int64_t>(done);
    });
}

std::int64_t write_from(Kernel& k, File& f, UserBuffers& from, std::optional<std::uint64_t> offset) {
    return kernel_function(k, KernelSymbol::vfs_write, [&]() -> std::int64_t {
        if (!f.writable()) return -EBADF;
        { Frame lsm(k, KernelSymbol::security_file_permission); }
        std::vector<std::uint8_t> buffer(std::min<std::uint64_t>(from.size(), kChunk));
        std::uint64_t done = 0;
        do {
            const std::size_t want = std::min<std::uint64_t>(buffer.size(), from.size() - done);
            const std::size_t got = f.ignores_data() ? want : from.copy_in(done, {buffer.data(), want});
            if (want && !got) return done ? static_cast<std::int64_t>(done) : -EFAULT;
            const std::span<const std::uint8_t> part(buffer.data(), got);
            const std::int64_t n = offset ? f.pwrite(part, *offset + done) : f.write(part);
            if (n < 0) return done ? static_cast<std::int64_t>(done) : n;
            done += static_cast<std::uint64_t>(n);
            if (static_cast<std::size_t>(n) < want) break;
        } while (done < from.size());
        return static_cast<std::int64_t>(done);
    });
}

} // namespace

std::int64_t do_read(Kernel& k, File& f, UserBuffers& to, std::optional<std::uint64_t> offset) {
    const std::int64_t n = read_to(k, f, to, offset);
    if (n > 0) vfs_of(k).notify().accessed(f, false);
    vfs_of(k).account_io(k.cur().tgid, k.cur().pid, false, n);
    return n;
}

std::int64_t do_write(Kernel& k, File& f, UserBuffers& from, std::optional<std::uint64_t> offset) {
    const std::int64_t n = write_from(k, f, from, offset);
    if (n > 0) vfs_of(k).notify().accessed(f, true);
    vfs_of(k).account_io(k.cur().tgid, k.cur().pid, true, n);
    return n;
}

int get_timespec(Kernel& k, std::uint64_t address, std::uint64_t& ns) {
    std::int64_t ts[2];
    if (k.get_user(ts, address, sizeof ts)) return -EFAULT;
    if (ts[0] < 0 || ts[1] < 0 || ts[1] >= 1'000'000'000) return -EINVAL;
    constexpr std::int64_t kMaxSeconds = 9'000'000'000; // KTIME_MAX in seconds, less one
    ns = static_cast<std::uint64_t>(std::min(ts[0], kMaxSeconds)) * 1'000'000'000 + static_cast<std::uint64_t>(ts[1]);
    return 0;
}

int put_timespec(Kernel& k, std::uint64_t address, std::uint64_t ns) {
    const std::int64_t ts[2] = {static_cast<std::int64_t>(ns / 1'000'000'000),
                                static_cast<std::int64_t>(ns % 1'000'000'000)};
    return k.put_user(address, ts, sizeof ts);
}

std::uint64_t now_ns(Kernel& k) { return k.time().clock_ns(CLOCK_MONOTONIC); }

std::int64_t new_fd(Kernel& k, Task& t, FileHandle f, bool cloexec, int min) {
    return t.files->alloc(std::move(f), cloexec, k.rlimit(RLIMIT_NOFILE), min);
}

} // namespace rkperf::os
