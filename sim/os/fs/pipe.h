// SPDX-License-Identifier: Apache-2.0
// Pipes and FIFOs: a ring of buffers of one page each, as fs/pipe.c has it, so that capacity and atomicity are Linux's.
#pragma once

#include "sim/os/fs/node.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace rkperf::os {

/// What both ends share (struct pipe_inode_info).
class Pipe : public std::enable_shared_from_this<Pipe> {
  public:
    static constexpr unsigned kDefaultSlots = 16;
    static constexpr std::uint64_t kMaxSize = 1 << 20; ///< /proc/sys/fs/pipe-max-size

    explicit Pipe(FsServices& s, std::uint64_t ino);

    std::int64_t read(std::span<std::uint8_t> to, bool nonblock);
    std::int64_t write(std::span<const std::uint8_t> from, bool nonblock, bool packet);
    std::uint64_t bytes() const;
    bool empty() const { return slots_.empty(); }
    std::size_t free_slots() const { return max_slots_ - std::min<std::size_t>(max_slots_, slots_.size()); }
    bool full() const { return slots_.size() >= max_slots_; }
    std::uint64_t size() const { return max_slots_ * kPageSize; }
    std::int64_t set_size(std::uint64_t bytes);
    /// Copies without taking (tee): bytes.
    std::size_t peek(std::span<std::uint8_t> to) const;
    void changed(bool for_readers); ///< wakes sleepers and pollers

    FsServices& s;
    const std::uint64_t ino;
    unsigned readers{}, writers{};
    std::uint64_t reader_opens{}, writer_opens{}; ///< a FIFO's opener waits for these to move
    WaitQueueHead rd_wait, wr_wait, both_wait;
    std::vector<File*> async; ///< open with O_ASYNC

  private:
    struct Slot {
        std::vector<std::uint8_t> data;
        std::size_t taken{};
        bool packet{};
        std::size_t left() const { return data.size() - taken; }
    };
    std::deque<Slot> slots_;
    unsigned max_slots_{kDefaultSlots};
};

/// One end of a pipe, or a FIFO opened for either or both.
class PipeFile : public File {
  public:
    PipeFile(std::shared_ptr<Pipe> pipe, std::uint32_t flags, DentryPtr name);
    ~PipeFile() override;
    std::int64_t read(std::span<std::uint8_t> to) override;
    std::int64_t write(std::span<const std::uint8_t> from) override;
    std::int64_t ioctl(std::uint32_t cmd, std::uint64_t arg) override;
    ke::PollMask poll(WaitQueueHead*& wq) override;
    int stat(FileStat& st) override;
    std::string path() const override;
    Inode* inode() override { return name_ ? name_->node.get() : nullptr; }
    std::shared_ptr<Dentry> dentry() const override { return name_; }
    int reopen(std::uint32_t new_flags, FileHandle& out) override;
    int fasync(bool on) override;
    Pipe& pipe() { return *pipe_; }

  private:
    std::shared_ptr<Pipe> pipe_;
    DentryPtr name_;
};

/// Both ends; flags: O_NONBLOCK, O_DIRECT (packets).
void make_pipe(FsServices& s, std::uint64_t ino, std::uint32_t flags, FileHandle& read_end, FileHandle& write_end);
/// open(2) of a FIFO: sleeps until the other side is there, unless O_NONBLOCK.
int open_fifo(const DentryPtr& name, std::uint32_t flags, FileHandle& out);

} // namespace rkperf::os
