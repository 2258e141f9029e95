// SPDX-License-Identifier: Apache-2.0
// What the system calls about files share.
#pragma once

#include "sim/os/fs/vfs_impl.h"
#include "sim/os/kernel.h"

#include <optional>
#include <string>
#include <vector>

namespace rkperf::os {

/// A function of the kernel whose result return probes may ask for.
template <class Body>
std::int64_t kernel_function(Kernel& k, KernelSymbol symbol, Body body) {
    Frame frame(k, symbol);
    const std::int64_t result = body();
    k.function_returns(result);
    return result;
}

inline VfsImpl& vfs_of(Kernel& k) { return static_cast<VfsImpl&>(k.vfs()); }

/// The open file of a descriptor; null (EBADF) also for O_PATH descriptors, which most calls refuse.
inline FileHandle file_of_fd(Task& t, std::uint64_t fd, bool path_too = false) {
    FileHandle f = t.files->get(static_cast<int>(fd));
    return f && f->flags & abi::o_path && !path_too ? nullptr : f;
}

inline int fd_of(std::uint64_t a) { return static_cast<int>(a); }

/// A list of user buffers taken as one stream of bytes.
class UserBuffers {
  public:
    UserBuffers(Kernel& k, std::uint64_t address, std::uint64_t length);
    /// From a struct iovec array: 0 or -errno.
    UserBuffers(Kernel& k, std::uint64_t iov, std::uint64_t count, std::int64_t& error);

    std::uint64_t size() const { return size_; }
    std::uint64_t first_address() const { return parts_.empty() ? 0 : parts_.front().address; }
    /// Copies bytes [offset, offset + to.size()); how many came before a fault.
    std::size_t copy_in(std::uint64_t offset, std::span<std::uint8_t> to);
    std::size_t copy_out(std::uint64_t offset, std::span<const std::uint8_t> from);

  private:
    struct Part {
        std::uint64_t address, length;
    };
    void add(std::uint64_t address, std::uint64_t length);
    template <class Fn>
    std::size_t each(std::uint64_t offset, std::size_t n, Fn&& copy);

    Kernel& k_;
    std::vector<Part> parts_;
    std::uint64_t size_{};
};

/// read and write of an open file from and to user memory, at its position or at `offset`.
std::int64_t do_read(Kernel& k, File& f, UserBuffers& to, std::optional<std::uint64_t> offset);
std::int64_t do_write(Kernel& k, File& f, UserBuffers& from, std::optional<std::uint64_t> offset);

/// struct timespec at a user address as ns; -EFAULT, -EINVAL.
int get_timespec(Kernel& k, std::uint64_t address, std::uint64_t& ns);
int put_timespec(Kernel& k, std::uint64_t address, std::uint64_t ns);
std::uint64_t now_ns(Kernel& k);

/// A new descriptor, as get_unused_fd_flags and fd_install.
std::int64_t new_fd(Kernel& k, Task& t, FileHandle f, bool cloexec, int min = 0);

// The rows by file (fs_table.cpp makes one table of them).
std::span<const SyscallRow> fs_io_rows();
std::span<const SyscallRow> fs_open_rows();
std::span<const SyscallRow> fs_path_rows();
std::span<const SyscallRow> fs_poll_rows();
std::span<const SyscallRow> fs_watch_rows();
std::span<const SyscallRow> fs_copy_rows();
std::span<const SyscallRow> fs_socket_rows();

} // namespace rkperf::os
