// SPDX-License-Identifier: Apache-2.0
// Open regular files over pages.
#include "sim/os/fs/file_kinds.h"
#include "sim/os/fs/page_cache.h"

#include <sys/resource.h>
#include <csignal>

namespace rkperf::os {

namespace {

class RegularFile final : public NamedFile {
  public:
    RegularFile(const DentryPtr& name, std::uint32_t flags)
        : NamedFile(name, flags), counts_as_writer_((flags & abi::o_accmode) != abi::o_rdonly) {
        paged().opened(flags);
        paged().writers += counts_as_writer_;
    }
    ~RegularFile() override {
        paged().writers -= counts_as_writer_;
        paged().closed(flags);
    }

    std::int64_t read(std::span<std::uint8_t> to) override {
        const std::int64_t n = pread(to, pos);
        if (n > 0) pos += static_cast<std::uint64_t>(n);
        return n;
    }
    std::int64_t pread(std::span<std::uint8_t> to, std::uint64_t offset) override {
        FsFrame f(s(), KernelSymbol::generic_file_read_iter);
        return paged().read_at(to, offset);
    }
    std::int64_t write(std::span<const std::uint8_t> from) override {
        if (flags & abi::o_append) pos = paged().size();
        const std::int64_t n = write_checked(from, pos);
        if (n > 0) pos += static_cast<std::uint64_t>(n);
        return n;
    }
    std::int64_t pwrite(std::span<const std::uint8_t> from, std::uint64_t offset) override {
        return write_checked(from, flags & abi::o_append ? paged().size() : offset);
    }
    std::int64_t lseek(std::int64_t offset, int whence) override {
        std::int64_t to;
        if ((whence == SEEK_DATA || whence == SEEK_HOLE) && offset >= 0)
            to = paged().seek_hole(static_cast<std::uint64_t>(offset), whence == SEEK_DATA);
        else
            to = generic_lseek(pos, node()->stat().size < 0 ? 0 : paged().size(), offset, whence);
        if (to >= 0) pos = static_cast<std::uint64_t>(to);
        return to;
    }
    bool pollable() const override { return false; }
    std::int64_t fsync() override { return paged().write_back(); }
    std::int64_t flush() override { return writable() ? paged().write_back() : 0; }
    std::int64_t truncate(std::uint64_t size) override {
        if (const int err = check_seals(size, size); err) return err;
        if (const int err = check_limit(size); err && size > paged().size()) return err;
        return paged().set_size(size);
    }

  private:
    const bool counts_as_writer_;

    PagedNode& paged() const { return static_cast<PagedNode&>(*node()); }

    int check_limit(std::uint64_t end) {
        if (end <= s().rlimit(RLIMIT_FSIZE)) return 0;
        s().send_signal(SIGXFSZ);
        return -EFBIG;
    }
    /// A change that would make the file `end` bytes long, or cut it to `cut`.
    int check_seals(std::uint64_t end, std::uint64_t cut) {
        const std::uint32_t seals = paged().seals;
        if (end > paged().size() && seals & abi::f_seal_grow) return -EPERM;
        if (cut < paged().size() && seals & abi::f_seal_shrink) return -EPERM;
        return 0;
    }
    std::int64_t write_checked(std::span<const std::uint8_t> from, std::uint64_t offset) {
        FsFrame f(s(), KernelSymbol::generic_file_write_iter);
        if (from.empty()) return 0;
        if (paged().seals & (abi::f_seal_write | abi::f_seal_future_write)) return -EPERM;
        if (offset > abi::max_file_size - from.size()) return -EFBIG;
        if (const int err = check_seals(offset + from.size(), ~0ull); err) return err;
        const std::uint64_t limit = s().rlimit(RLIMIT_FSIZE);
        if (limit != RLIM_INFINITY) {
            if (offset >= limit) return check_limit(offset + 1);
            from = from.first(std::min<std::uint64_t>(from.size(), limit - offset));
        }
        const std::int64_t n = paged().write_at(from, offset);
        if (n > 0 && flags & abi::o_dsync)
            if (const int err = paged().write_back(); err) return err;
        return n;
    }
};

} // namespace

FileHandle make_regular_file(const DentryPtr& name, std::uint32_t flags) {
    return std::make_shared<RegularFile>(name, flags);
}

} // namespace rkperf::os
