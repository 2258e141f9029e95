// SPDX-License-Identifier: Apache-2.0
// Files opened by a name: directories, O_PATH, and text made on demand.
#include "sim/os/fs/file_kinds.h"

#include "sim/os/fs/inotify.h"
#include "sim/os/fs/locks.h"

#include <algorithm>
#include <cstring>

namespace rkperf::os {

NamedFile::NamedFile(DentryPtr name, std::uint32_t open_flags)
    : File(name->node->services().kernel()), name_(std::move(name)) {
    flags = open_flags;
}

NamedFile::~NamedFile() {
    if (node()->locks) node()->locks->release(static_cast<File*>(this));
    s().notify().closed(std::move(name_), flags);
}

int NamedFile::stat(FileStat& st) {
    st = node()->stat();
    return 0;
}

std::int64_t generic_lseek(std::uint64_t pos, std::uint64_t size, std::int64_t offset, int whence) {
    std::int64_t base = 0;
    switch (whence) {
        case SEEK_SET: break;
        case SEEK_CUR: base = static_cast<std::int64_t>(pos); break;
        case SEEK_END: base = static_cast<std::int64_t>(size); break;
        case SEEK_DATA:
        case SEEK_HOLE:
            if (offset < 0 || static_cast<std::uint64_t>(offset) >= size) return -ENXIO;
            return whence == SEEK_DATA ? offset : static_cast<std::int64_t>(size);
        default: return -EINVAL;
    }
    std::int64_t to;
    if (__builtin_add_overflow(base, offset, &to) || to < 0) return -EINVAL;
    return to;
}

namespace {

class PathFile final : public NamedFile {
  public:
    using NamedFile::NamedFile;
    std::int64_t read(std::span<std::uint8_t>) override { return -EBADF; }
    std::int64_t write(std::span<const std::uint8_t>) override { return -EBADF; }
    std::int64_t pread(std::span<std::uint8_t>, std::uint64_t) override { return -EBADF; }
    std::int64_t pwrite(std::span<const std::uint8_t>, std::uint64_t) override { return -EBADF; }
    std::int64_t lseek(std::int64_t, int) override { return -EBADF; }
    std::int64_t ioctl(std::uint32_t, std::uint64_t) override { return -EBADF; }
    std::int64_t fsync() override { return -EBADF; }
    std::int64_t truncate(std::uint64_t) override { return -EBADF; }
    std::int64_t getdents64(std::span<std::uint8_t>) override { return -EBADF; }
    bool pollable() const override { return false; }
};

/// By name; numbers (of processes, of descriptors) by value.
bool before(const DirEntry& a, const DirEntry& b) {
    const auto number = [](const std::string& s) { return s.find_first_not_of("0123456789") == std::string::npos; };
    if (number(a.name) && number(b.name) && a.name.size() != b.name.size()) return a.name.size() < b.name.size();
    return a.name < b.name;
}

class DirFile final : public NamedFile {
  public:
    using NamedFile::NamedFile;
    std::int64_t read(std::span<std::uint8_t>) override { return -EISDIR; }
    std::int64_t pread(std::span<std::uint8_t>, std::uint64_t) override { return -EISDIR; }
    std::int64_t fsync() override { return 0; }
    bool pollable() const override { return false; }
    std::int64_t lseek(std::int64_t offset, int whence) override {
        const std::int64_t to = generic_lseek(pos, entries_.size(), offset, whence);
        if (to < 0) return to;
        pos = static_cast<std::uint64_t>(to);
        if (pos == 0) listed_ = false;
        return to;
    }
    std::int64_t getdents64(std::span<std::uint8_t> to) override {
        if (name_->unlinked()) return -ENOENT;
        if (!listed_ || pos == 0)
            if (const int err = list(); err) return err;
        return fill_dirents(entries_, pos, to);
    }

  private:
    int list() {
        std::vector<DirEntry> found;
        if (const int err = node()->list(found); err) return err;
        for (const auto& [name, d] : name_->pinned) {
            const FileStat& a = d->covered()->node->attr;
            const auto same = [n = &name](const DirEntry& e) { return e.name == *n; };
            const auto there = std::find_if(found.begin(), found.end(), same);
            if (there != found.end())
                *there = {name, a.ino, a.mode};
            else
                found.push_back({name, a.ino, a.mode});
        }
        if (!node()->lists_in_order()) std::sort(found.begin(), found.end(), before);
        const NodePtr& up = name_->parent ? name_->parent->node : node();
        entries_.clear();
        entries_.push_back({".", node()->attr.ino, S_IFDIR});
        entries_.push_back({"..", up->attr.ino, S_IFDIR});
        entries_.insert(entries_.end(), found.begin(), found.end());
        listed_ = true;
        return 0;
    }
    std::vector<DirEntry> entries_;
    bool listed_{};
};

class TextFile final : public NamedFile {
  public:
    TextFile(const DentryPtr& name, std::uint32_t flags, ShowFn show, StoreFn store, TextRules rules)
        : NamedFile(name, flags), show_(std::move(show)), store_(std::move(store)), rules_(rules) {}
    bool pollable() const override { return rules_.pollable; }

    std::int64_t read(std::span<std::uint8_t> to) override {
        const std::int64_t n = pread(to, pos);
        if (n > 0) pos += static_cast<std::uint64_t>(n);
        return n;
    }
    std::int64_t pread(std::span<std::uint8_t> to, std::uint64_t offset) override {
        if (!show_) return rules_.no_read;
        if (offset && rules_.positions == TextPositions::number) return 0;
        if (offset == 0 || !made_ || rules_.positions == TextPositions::string) {
            text_.clear();
            if (const int err = show_(text_); err) return err;
            made_ = true;
            s().charge(static_cast<std::uint32_t>(text_.size() * 8)); // formatting
        }
        if (offset >= text_.size()) return 0;
        const std::size_t n = std::min<std::size_t>(to.size(), text_.size() - offset);
        std::memcpy(to.data(), text_.data() + offset, n);
        return static_cast<std::int64_t>(n);
    }
    std::int64_t write(std::span<const std::uint8_t> from) override {
        std::uint64_t at = pos;
        const std::int64_t n = write_at(from, at);
        pos = at;
        return n;
    }
    std::int64_t pwrite(std::span<const std::uint8_t> from, std::uint64_t offset) override {
        return write_at(from, offset);
    }
    std::int64_t lseek(std::int64_t offset, int whence) override {
        // The size of a value is 0.
        if (rules_.positions != TextPositions::text && whence == SEEK_END) whence = SEEK_SET;
        if (whence != SEEK_SET && whence != SEEK_CUR) return -EINVAL;
        const std::int64_t to = generic_lseek(pos, 0, offset, whence);
        if (to >= 0) pos = static_cast<std::uint64_t>(to);
        return to;
    }

  private:
    std::int64_t write_at(std::span<const std::uint8_t> from, std::uint64_t& at) {
        if (!store_) return rules_.no_write;
        if (rules_.positions == TextPositions::string) return write_string(text_of(from), at);
        const bool lost = at && rules_.positions == TextPositions::number;
        const std::int64_t n = store_(text_of(lost ? std::span<const std::uint8_t>() : from));
        const std::int64_t taken = lost && n >= 0 ? static_cast<std::int64_t>(from.size()) : n;
        if (taken > 0) at += static_cast<std::uint64_t>(taken);
        return taken;
    }
    /// Takes everything, but stores no more than one line of it. What comes too late does not move the position either.
    std::int64_t write_string(std::string_view from, std::uint64_t& at) {
        if (from.empty()) return 0;
        std::string line;
        if (const int err = show_(line); err) return err;
        line.resize(std::min(line.find('\n'), line.size()));
        if (at <= line.size()) {
            line.resize(at);
            line += from.substr(0, from.find_first_of(std::string_view("\n\0", 2)));
            if (const std::int64_t r = store_(line); r < 0) return r;
            at += from.size();
        }
        return static_cast<std::int64_t>(from.size());
    }
    /// Never null, so that a write of nothing is told from a truncation.
    static std::string_view text_of(std::span<const std::uint8_t> from) {
        return from.empty() ? std::string_view("")
                            : std::string_view(reinterpret_cast<const char*>(from.data()), from.size());
    }
    ShowFn show_;
    StoreFn store_;
    TextRules rules_;
    std::string text_;
    bool made_{};
};

} // namespace

FileHandle make_path_file(const DentryPtr& name, std::uint32_t flags) {
    return std::make_shared<PathFile>(name, flags);
}
FileHandle make_dir_file(const DentryPtr& name, std::uint32_t flags) { return std::make_shared<DirFile>(name, flags); }
FileHandle make_text_file(const DentryPtr& name, std::uint32_t flags, ShowFn show, StoreFn store, TextRules rules) {
    return std::make_shared<TextFile>(name, flags, std::move(show), std::move(store), rules);
}

std::int64_t fill_dirents(const std::vector<DirEntry>& entries, std::uint64_t& pos, std::span<std::uint8_t> to) {
    std::size_t used = 0;
    while (pos < entries.size()) {
        const DirEntry& e = entries[pos];
        const std::size_t head = 19; // d_ino, d_off, d_reclen, d_type
        const std::size_t length = (head + e.name.size() + 1 + 7) & ~std::size_t{7};
        if (used + length > to.size()) {
            if (used == 0) return -EINVAL;
            break;
        }
        std::uint8_t* p = to.data() + used;
        std::memset(p, 0, length);
        const std::uint64_t next = pos + 1;
        const auto reclen = static_cast<std::uint16_t>(length);
        std::memcpy(p, &e.ino, 8);
        std::memcpy(p + 8, &next, 8);
        std::memcpy(p + 16, &reclen, 2);
        p[18] = static_cast<std::uint8_t>((e.type & S_IFMT) >> 12);
        std::memcpy(p + head, e.name.data(), e.name.size());
        used += length;
        ++pos;
    }
    return static_cast<std::int64_t>(used);
}

} // namespace rkperf::os
