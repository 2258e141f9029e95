// SPDX-License-Identifier: Apache-2.0
#include "sim/os/fs/pipe.h"

#include <sys/ioctl.h>
#include <algorithm>
#include <bit>
#include <csignal>
#include <cstring>

namespace rkperf::os {

Pipe::Pipe(FsServices& s, std::uint64_t ino)
    : s(s), ino(ino), rd_wait(s.kernel()), wr_wait(s.kernel()), both_wait(s.kernel()) {}

void Pipe::changed(bool for_readers) {
    (for_readers ? rd_wait : wr_wait).wake_up();
    both_wait.wake_up();
    const std::vector<File*> told = async;
    for (File* f : told)
        if (for_readers ? f->readable() : f->writable()) s.kill_fasync(*f, for_readers ? 1 : 2);
}

std::uint64_t Pipe::bytes() const {
    std::uint64_t n = 0;
    for (const Slot& slot : slots_) n += slot.left();
    return n;
}

std::int64_t Pipe::read(std::span<std::uint8_t> to, bool nonblock) {
    FsFrame f(s, KernelSymbol::pipe_read);
    if (to.empty()) return 0;
    std::size_t done = 0;
    for (;;) {
        const bool was_full = full();
        bool packet = false;
        while (!slots_.empty() && done < to.size() && !packet) {
            Slot& slot = slots_.front();
            const std::size_t n = std::min(to.size() - done, slot.left());
            std::memcpy(to.data() + done, slot.data.data() + slot.taken, n);
            done += n;
            slot.taken += n;
            packet = slot.packet; // a packet ends the read; what does not fit is lost
            if (packet || slot.left() == 0) slots_.pop_front();
        }
        if (done) {
            // Writers sleep only while all slots are taken.
            if (was_full && !full()) changed(false);
            return static_cast<std::int64_t>(done);
        }
        if (!writers) return 0;
        if (nonblock) return -EAGAIN;
        if (const std::int64_t r = s.wait(rd_wait, [&] { return !slots_.empty() || !writers; }); r) return r;
    }
}

std::int64_t Pipe::write(std::span<const std::uint8_t> from, bool nonblock, bool packet) {
    FsFrame f(s, KernelSymbol::pipe_write);
    if (from.empty()) return 0;
    if (!readers) {
        s.send_signal(SIGPIPE);
        return -EPIPE;
    }
    std::size_t done = 0;
    // A small rest first goes behind the last bytes, if it fits there as a whole.
    const std::size_t rest = from.size() % kPageSize;
    const bool was_empty = slots_.empty();
    if (rest && !slots_.empty() && !slots_.back().packet && !packet && slots_.back().data.size() + rest <= kPageSize) {
        slots_.back().data.insert(slots_.back().data.end(), from.begin(), from.begin() + static_cast<long>(rest));
        done = rest;
        if (done == from.size()) {
            changed(true); // edge-triggered pollers hear of every write
            return static_cast<std::int64_t>(done);
        }
    }
    bool woken = !was_empty;
    for (;;) {
        if (!readers) {
            s.send_signal(SIGPIPE);
            return done ? static_cast<std::int64_t>(done) : -EPIPE;
        }
        if (!full()) {
            const std::size_t n = std::min<std::size_t>(from.size() - done, kPageSize);
            Slot slot;
            slot.data.assign(from.begin() + static_cast<long>(done), from.begin() + static_cast<long>(done + n));
            slot.packet = packet;
            slots_.push_back(std::move(slot));
            done += n;
            if (done < from.size()) continue;
            changed(true);
            return static_cast<std::int64_t>(done);
        }
        if (nonblock) {
            if (done) changed(true);
            return done ? static_cast<std::int64_t>(done) : -EAGAIN;
        }
        if (!woken || done) changed(true);
        woken = true;
        const std::int64_t r = s.wait(wr_wait, [&] { return !full() || !readers; });
        if (r) return done ? static_cast<std::int64_t>(done) : r;
    }
}

std::size_t Pipe::peek(std::span<std::uint8_t> to) const {
    std::size_t done = 0;
    for (const Slot& slot : slots_) {
        const std::size_t n = std::min(to.size() - done, slot.left());
        std::memcpy(to.data() + done, slot.data.data() + slot.taken, n);
        done += n;
        if (done == to.size()) break;
    }
    return done;
}

std::int64_t Pipe::set_size(std::uint64_t want) {
    if (want > 1ull << 31) return -EINVAL;
    const std::uint64_t bytes = std::max<std::uint64_t>(std::bit_ceil(want), kPageSize);
    if (want == 0) return -EINVAL;
    if (bytes > size() && bytes > kMaxSize && !(s.cred().cap_effective >> 24 & 1)) return -EPERM; // CAP_SYS_RESOURCE
    if (slots_.size() > bytes / kPageSize) return -EBUSY;
    max_slots_ = static_cast<unsigned>(bytes / kPageSize);
    changed(false);
    return static_cast<std::int64_t>(bytes);
}

PipeFile::PipeFile(std::shared_ptr<Pipe> pipe, std::uint32_t open_flags, DentryPtr name)
    : File(pipe->s.kernel()), pipe_(std::move(pipe)), name_(std::move(name)) {
    flags = open_flags;
    if (readable()) ++pipe_->readers, ++pipe_->reader_opens;
    if (writable()) ++pipe_->writers, ++pipe_->writer_opens;
}

PipeFile::~PipeFile() {
    detach_watchers();
    std::erase(pipe_->async, this);
    if (readable()) --pipe_->readers;
    if (writable()) --pipe_->writers;
    // The side that is left must notice that it is alone.
    if (!pipe_->readers != !pipe_->writers) {
        pipe_->rd_wait.wake_up_all();
        pipe_->wr_wait.wake_up_all();
        pipe_->both_wait.wake_up_all();
    }
}

std::int64_t PipeFile::read(std::span<std::uint8_t> to) { return pipe_->read(to, nonblock()); }
std::int64_t PipeFile::write(std::span<const std::uint8_t> from) {
    return pipe_->write(from, nonblock(), flags & abi::o_direct);
}

std::int64_t PipeFile::ioctl(std::uint32_t cmd, std::uint64_t arg) {
    if (cmd != FIONREAD) return -ENOTTY;
    const auto n = static_cast<std::int32_t>(pipe_->bytes());
    return pipe_->s.put_user(arg, &n, sizeof n);
}

ke::PollMask PipeFile::poll(WaitQueueHead*& wq) {
    wq = readable() && writable() ? &pipe_->both_wait : readable() ? &pipe_->rd_wait : &pipe_->wr_wait;
    ke::PollMask m = 0;
    if (readable()) {
        if (!pipe_->empty()) m |= abi::epollin | abi::epollrdnorm;
        // A FIFO that never had a writer does not hang up.
        if (!pipe_->writers && pipe_->writer_opens) m |= abi::epollhup;
    }
    if (writable()) {
        if (!pipe_->full()) m |= abi::epollout | abi::epollwrnorm;
        if (!pipe_->readers) m |= abi::epollerr;
    }
    return m;
}

int PipeFile::stat(FileStat& st) {
    if (name_) {
        st = name_->node->stat();
        return 0;
    }
    st = FileStat{};
    st.dev = abi::make_dev(0, 13); // pipefs
    st.ino = pipe_->ino;
    st.mode = S_IFIFO | 0600;
    st.uid = pipe_->s.cred().fsuid;
    st.gid = pipe_->s.cred().fsgid;
    return 0;
}

int PipeFile::fasync(bool on) {
    std::erase(pipe_->async, this);
    if (on) pipe_->async.push_back(this);
    return 0;
}

std::string PipeFile::path() const { return name_ ? name_->path() : "pipe:[" + std::to_string(pipe_->ino) + "]"; }

int PipeFile::reopen(std::uint32_t new_flags, FileHandle& out) {
    out = std::make_shared<PipeFile>(pipe_, new_flags, name_);
    return 0;
}

void make_pipe(FsServices& s, std::uint64_t ino, std::uint32_t flags, FileHandle& read_end, FileHandle& write_end) {
    const auto pipe = std::make_shared<Pipe>(s, ino);
    read_end = std::make_shared<PipeFile>(pipe, abi::o_rdonly | (flags & abi::o_nonblock), nullptr);
    write_end = std::make_shared<PipeFile>(pipe, abi::o_wronly | (flags & (abi::o_nonblock | abi::o_direct)), nullptr);
}

int open_fifo(const DentryPtr& name, std::uint32_t flags, FileHandle& out) {
    Node& node = *name->node;
    if (!node.extra) node.extra = std::make_shared<Pipe>(node.services(), node.attr.ino);
    const auto pipe = std::static_pointer_cast<Pipe>(node.extra);
    const std::uint32_t mode = flags & abi::o_accmode;
    if (mode == abi::o_wronly && flags & abi::o_nonblock && !pipe->readers) return -ENXIO;
    auto file = std::make_shared<PipeFile>(pipe, flags, name);
    pipe->rd_wait.wake_up_all();
    pipe->wr_wait.wake_up_all();
    if (mode != abi::o_rdwr && !(flags & abi::o_nonblock)) {
        const bool reading = mode == abi::o_rdonly;
        const std::uint64_t seen = reading ? pipe->writer_opens : pipe->reader_opens;
        const bool there = reading ? pipe->writers : pipe->readers;
        if (!there) {
            const std::int64_t r = node.services().wait(reading ? pipe->rd_wait : pipe->wr_wait, [&] {
                return (reading ? pipe->writer_opens : pipe->reader_opens) != seen;
            });
            if (r) return static_cast<int>(r);
        }
    }
    out = std::move(file);
    return 0;
}

} // namespace rkperf::os
