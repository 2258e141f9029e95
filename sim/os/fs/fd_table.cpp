// SPDX-License-Identifier: Apache-2.0
#include "sim/os/fs/file.h"
#include "sim/os/fs/locks.h"

#include <algorithm>
#include <cerrno>

namespace rkperf::os {

namespace {
/// A process that closes any descriptor of a file loses its POSIX locks on it.
void drop_locks(const FdTable& table, const FileHandle& file) {
    if (Inode* i = file->inode(); i && i->locks) i->locks->release(&table);
}
} // namespace

int FdTable::first_free(std::uint64_t limit, int min) const {
    const bool lowest = min <= next_free_;
    int fd = lowest ? next_free_ : min;
    for (auto it = slots_.lower_bound(fd); it != slots_.end() && it->first == fd; ++it) ++fd;
    if (lowest) next_free_ = fd;
    return static_cast<std::uint64_t>(fd) >= limit ? -EMFILE : fd;
}

int FdTable::alloc(FileHandle file, bool cloexec, std::uint64_t limit, int min) {
    const int fd = first_free(limit, min);
    if (fd < 0) return fd;
    slots_[fd] = {std::move(file), cloexec};
    return fd;
}

int FdTable::set(int fd, FileHandle file, bool cloexec, std::uint64_t limit) {
    if (fd < 0 || static_cast<std::uint64_t>(fd) >= limit) return -EBADF;
    const FileHandle keep = std::move(file);
    if (slots_.count(fd)) close(fd);
    slots_[fd] = {keep, cloexec};
    return fd;
}

FileHandle FdTable::get(int fd) const {
    const auto it = slots_.find(fd);
    return it == slots_.end() ? nullptr : it->second.file;
}

int FdTable::close(int fd) {
    const auto it = slots_.find(fd);
    if (it == slots_.end()) return -EBADF;
    const FileHandle file = std::move(it->second.file);
    next_free_ = std::min(next_free_, fd);
    slots_.erase(it); // the number is free before anything that may sleep
    last_error = file->flush();
    drop_locks(*this, file);
    return 0;
}

void FdTable::close_on_exec() {
    for (auto it = slots_.begin(); it != slots_.end();) {
        const int fd = it->first;
        const bool gone = it->second.cloexec;
        if (gone) {
            close(fd);
            it = slots_.upper_bound(fd);
        } else {
            ++it;
        }
    }
}

void FdTable::close_all() {
    while (!slots_.empty()) close(slots_.begin()->first);
}

bool FdTable::cloexec(int fd) const {
    const auto it = slots_.find(fd);
    return it != slots_.end() && it->second.cloexec;
}

void FdTable::set_cloexec(int fd, bool on) {
    if (const auto it = slots_.find(fd); it != slots_.end()) it->second.cloexec = on;
}

std::shared_ptr<FdTable> FdTable::clone() const {
    auto out = std::make_shared<FdTable>();
    out->slots_ = slots_;
    out->next_free_ = next_free_;
    return out;
}

} // namespace rkperf::os
