// SPDX-License-Identifier: Apache-2.0
// Advisory locks of an inode: POSIX records (fcntl), open-file-description records, and flock.
#pragma once

#include "sim/os/fs/services.h"

#include <cstdint>
#include <list>
#include <map>
#include <memory>

namespace rkperf::os {

class FileLocks {
  public:
    static constexpr std::uint64_t kEnd = ~0ull;

    explicit FileLocks(FsServices& s) : s_(s), wq_(s.kernel()) {}

    struct Record {
        const void* owner{}; ///< FdTable of a process, or File
        int pid{};           ///< for F_GETLK; -1: an open file description
        bool exclusive{};
        std::uint64_t start{}, end{kEnd}; ///< inclusive
    };
    /// The first record that would stand in the way, or null.
    const Record* conflict(const Record& want) const;
    /// Sets a lock, waiting for it if asked. -EAGAIN, -EDEADLK, kERESTARTSYS. `waits`: who waits for whom (POSIX only).
    std::int64_t lock(const Record& want, bool wait, std::map<const void*, const void*>* waits);
    void unlock(const void* owner, std::uint64_t start, std::uint64_t end);
    /// flock(2): whole-file locks, apart from records. Converting gives the old lock up first.
    std::int64_t flock(const void* owner, bool exclusive, bool wait);
    void unflock(const void* owner);
    /// All of an owner: close, exit.
    void release(const void* owner);

  private:
    void insert(const Record& r);
    FsServices& s_;
    std::list<Record> records_; ///< by start
    std::map<const void*, bool> flocks_;
    WaitQueueHead wq_;
};

/// The locks of an inode, made when first needed.
FileLocks& locks_of(FsServices& s, Inode& inode);

} // namespace rkperf::os
