// SPDX-License-Identifier: Apache-2.0
#include "sim/os/syscall/fs_common.h"
#include "sim/os/syscall/tables.h"

namespace rkperf::os {

std::span<const SyscallRow> fs_syscalls() {
    static const std::vector<SyscallRow> rows = [] {
        std::vector<SyscallRow> all;
        for (const auto part : {fs_io_rows(), fs_open_rows(), fs_path_rows(), fs_poll_rows(), fs_watch_rows(),
                                fs_copy_rows(), fs_socket_rows()})
            all.insert(all.end(), part.begin(), part.end());
        return all;
    }();
    return rows;
}

} // namespace rkperf::os
