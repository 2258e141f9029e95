// SPDX-License-Identifier: Apache-2.0
// Moving bytes from one descriptor to another: sendfile, copy_file_range, splice, tee, vmsplice.
#include "sim/os/fs/inotify.h"
#include "sim/os/fs/page_cache.h"
#include "sim/os/fs/pipe.h"
#include "sim/os/syscall/fs_common.h"

#include <algorithm>
#include <csignal>

namespace rkperf::os {

namespace {

constexpr std::size_t kPiece = 64 * 1024;

/// An offset at a user address that replaces the file's position.
struct Offset {
    Offset(Kernel& k, std::uint64_t address) : k(k), address(address) {}
    int load() { return !address ? 0 : k.get(address, value) ? -EFAULT : value < 0 ? -EINVAL : 0; }
    int save() { return address && k.put(address, value) ? -EFAULT : 0; }
    std::int64_t read(File& f, std::span<std::uint8_t> to) {
        if (!address) return f.read(to);
        const std::int64_t n = f.pread(to, static_cast<std::uint64_t>(value));
        if (n > 0) value += n;
        return n;
    }
    std::int64_t write(File& f, std::span<const std::uint8_t> from) {
        if (!address) return f.write(from);
        const std::int64_t n = f.pwrite(from, static_cast<std::uint64_t>(value));
        if (n > 0) value += n;
        return n;
    }
    /// What was read but could not be written stays unread.
    void give_back(File& f, std::size_t n) {
        if (address)
            value -= static_cast<std::int64_t>(n);
        else
            f.pos -= n;
    }
    Kernel& k;
    std::uint64_t address;
    std::int64_t value{};
};

bool regular(const FileHandle& f) {
    const DentryPtr d = f->dentry();
    return d && d->node->is(S_IFREG);
}

/// Copies up to `count` bytes; `in` can be sought.
std::int64_t move_bytes(File& in, Offset& in_off, File& out, Offset& out_off, std::uint64_t count) {
    std::vector<std::uint8_t> buffer(std::min<std::uint64_t>(count, kPiece));
    std::uint64_t done = 0;
    while (done < count) {
        const std::span<std::uint8_t> part(buffer.data(), std::min<std::uint64_t>(buffer.size(), count - done));
        const std::int64_t n = in_off.read(in, part);
        if (n <= 0) return done ? static_cast<std::int64_t>(done) : n;
        const std::int64_t w = out_off.write(out, part.first(static_cast<std::size_t>(n)));
        if (w < n) in_off.give_back(in, static_cast<std::size_t>(n - std::max<std::int64_t>(w, 0)));
        if (w < 0) return done ? static_cast<std::int64_t>(done) : w;
        done += static_cast<std::uint64_t>(w);
        if (w < n) break;
    }
    return static_cast<std::int64_t>(done);
}

void tell_watchers(Kernel& k, File& in, File& out, std::int64_t moved) {
    if (moved <= 0) return;
    vfs_of(k).notify().accessed(out, true); // by the writing itself, and again at the end
    vfs_of(k).notify().accessed(in, false);
    vfs_of(k).notify().accessed(out, true);
}

std::int64_t sys_sendfile(Kernel& k, Task& t, const SyscallArgs& a) {
    Frame f(k, KernelSymbol::do_sendfile);
    Offset in_off(k, a[2]), none(k, 0);
    if (const int err = in_off.load(); err) return err;
    const FileHandle out = file_of_fd(t, a[0]), in = file_of_fd(t, a[1]);
    if (!in || !in->readable()) return -EBADF;
    if (!out || !out->writable()) return -EBADF;
    if (dynamic_cast<PipeFile*>(in.get())) return a[2] ? -ESPIPE : -EINVAL;
    if (!in->dentry() || in->dentry()->node->is_dir()) return -EINVAL;
    if (out->flags & abi::o_append) return -EINVAL;
    const std::int64_t n = move_bytes(*in, in_off, *out, none, std::min(a[3], abi::max_rw_count));
    tell_watchers(k, *in, *out, n);
    if (const int err = in_off.save(); err) return err;
    return n;
}

std::int64_t sys_copy_file_range(Kernel& k, Task& t, const SyscallArgs& a) {
    Frame f(k, KernelSymbol::do_sendfile);
    const FileHandle in = file_of_fd(t, a[0]), out = file_of_fd(t, a[2]);
    if (!in || !out) return -EBADF;
    Offset in_off(k, a[1]), out_off(k, a[3]);
    if (const int err = in_off.load(); err) return err;
    if (const int err = out_off.load(); err) return err;
    if (a[5]) return -EINVAL;
    const auto is_dir = [](const FileHandle& x) { return x->dentry() && x->dentry()->node->is_dir(); };
    if (is_dir(in) || is_dir(out)) return -EISDIR;
    if (!regular(in) || !regular(out)) return -EINVAL;
    if (!in->readable() || !out->writable() || out->flags & abi::o_append) return -EBADF;
    if (&in->dentry()->node->fs != &out->dentry()->node->fs) return -EXDEV;
    if (!dynamic_cast<PagedNode*>(in->dentry()->node.get())) return -EINVAL;
    const std::uint64_t from = in_off.address ? static_cast<std::uint64_t>(in_off.value) : in->pos;
    const std::uint64_t to = out_off.address ? static_cast<std::uint64_t>(out_off.value) : out->pos;
    std::uint64_t count = std::min(a[4], abi::max_rw_count);
    const std::uint64_t size = in->inode()->size();
    count = std::min(count, size > from ? size - from : 0);
    if (in->inode() == out->inode() && from < to + count && to < from + count) return -EINVAL;
    const std::int64_t n = move_bytes(*in, in_off, *out, out_off, count);
    tell_watchers(k, *in, *out, n);
    if (in_off.save() || out_off.save()) return -EFAULT;
    return n;
}

constexpr std::uint64_t kSpliceNonblock = 2, kSpliceAll = 15;

std::int64_t sys_splice(Kernel& k, Task& t, const SyscallArgs& a) {
    Frame f(k, KernelSymbol::do_sendfile);
    if (!a[4]) return 0;
    if (a[5] & ~kSpliceAll) return -EINVAL;
    const FileHandle in = file_of_fd(t, a[0]), out = file_of_fd(t, a[2]);
    if (!in || !out || !in->readable() || !out->writable()) return -EBADF;
    auto* pin = dynamic_cast<PipeFile*>(in.get());
    auto* pout = dynamic_cast<PipeFile*>(out.get());
    if ((pin && a[1]) || (pout && a[3])) return -ESPIPE;
    if (!pin && !pout) return -EINVAL;
    if (pin && pout && &pin->pipe() == &pout->pipe()) return -EINVAL;
    if (!pout && out->flags & abi::o_append) return -EINVAL;
    Offset in_off(k, a[1]), out_off(k, a[3]);
    if (const int err = in_off.load(); err) return err;
    if (const int err = out_off.load(); err) return err;
    const bool nonblock = a[5] & kSpliceNonblock;
    std::uint64_t room = kPiece;
    if (pout && !pin) {
        // What is read must go in at once.
        Pipe& to = pout->pipe();
        const auto broken = [&] {
            if (to.readers) return false;
            to.s.send_signal(SIGPIPE);
            return true;
        };
        if (broken()) return -EPIPE;
        if (to.full()) {
            if (nonblock || out->nonblock()) return -EAGAIN;
            if (const std::int64_t r = to.s.wait(to.wr_wait, [&] { return !to.full() || !to.readers; })) return r;
            if (broken()) return -EPIPE;
        }
        room = std::min(room, to.free_slots() * kPageSize);
    }
    std::vector<std::uint8_t> buffer(std::min(a[4], room));
    const std::int64_t n = pin         ? pin->pipe().read(buffer, nonblock || in->nonblock())
                           : a[1] != 0 ? in_off.read(*in, buffer)
                                       : in->splice_read(buffer, nonblock || (pout && out->nonblock()));
    if (n <= 0) return n;
    std::size_t done = 0;
    while (done < static_cast<std::size_t>(n)) {
        const std::span<const std::uint8_t> rest(buffer.data() + done, static_cast<std::size_t>(n) - done);
        const std::int64_t w =
            pout ? pout->pipe().write(rest, nonblock || out->nonblock(), false) : out_off.write(*out, rest);
        if (w <= 0) {
            if (!pin) in_off.give_back(*in, rest.size());
            if (!done) return w;
            break;
        }
        done += static_cast<std::size_t>(w);
    }
    if (in_off.save() || out_off.save()) return -EFAULT;
    return static_cast<std::int64_t>(done);
}

std::int64_t sys_tee(Kernel& k, Task& t, const SyscallArgs& a) {
    Frame f(k, KernelSymbol::do_sendfile);
    if (a[3] & ~kSpliceAll) return -EINVAL;
    if (!a[2]) return 0;
    const FileHandle in = file_of_fd(t, a[0]), out = file_of_fd(t, a[1]);
    if (!in || !out || !in->readable() || !out->writable()) return -EBADF;
    auto* pin = dynamic_cast<PipeFile*>(in.get());
    auto* pout = dynamic_cast<PipeFile*>(out.get());
    if (!pin || !pout || &pin->pipe() == &pout->pipe()) return -EINVAL;
    Pipe& from = pin->pipe();
    if (from.empty()) {
        if (!from.writers) return 0;
        if (a[3] & kSpliceNonblock || in->nonblock()) return -EAGAIN;
        const std::int64_t r = from.s.wait(from.rd_wait, [&] { return !from.empty() || !from.writers; });
        if (r) return r;
    }
    std::vector<std::uint8_t> buffer(std::min<std::uint64_t>(a[2], kPiece));
    const std::size_t n = from.peek(buffer);
    return pout->pipe().write({buffer.data(), n}, a[3] & kSpliceNonblock || out->nonblock(), false);
}

std::int64_t sys_vmsplice(Kernel& k, Task& t, const SyscallArgs& a) {
    if (a[3] & ~kSpliceAll) return -EINVAL;
    const FileHandle file = file_of_fd(t, a[0]);
    if (!file || !dynamic_cast<PipeFile*>(file.get())) return -EBADF;
    std::int64_t error = 0;
    UserBuffers b(k, a[1], a[2], error);
    if (error) return error;
    if (b.size() == 0) return 0;
    return file->writable() ? do_write(k, *file, b, std::nullopt) : do_read(k, *file, b, std::nullopt);
}

constexpr SyscallRow kRows[] = {
    {71, "sendfile", sys_sendfile, 4},
    {75, "vmsplice", sys_vmsplice, 4},
    {76, "splice", sys_splice, 6},
    {77, "tee", sys_tee, 4},
    {285, "copy_file_range", sys_copy_file_range, 6},
};

} // namespace

std::span<const SyscallRow> fs_copy_rows() { return kRows; }

} // namespace rkperf::os
