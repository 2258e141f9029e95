// SPDX-License-Identifier: Apache-2.0
// Regular files whose contents lie in pages of simulated memory: one copy for read, write and mappings.
#pragma once

#include "sim/os/fs/node.h"

#include <map>

namespace rkperf::os {

class PagedNode : public Node {
  public:
    using Node::Node;
    ~PagedNode() override;

    std::uint64_t size() override { return bytes_; }
    PhysAddr page(std::uint64_t index, bool& major) override;
    bool peek(std::uint64_t index, std::span<std::uint8_t, kPageSize> to) override;
    Cached cached(std::uint64_t index) override;
    void mark_dirty(std::uint64_t index) override;
    std::vector<std::uint8_t> build_id() override;
    int set_size(std::uint64_t size) override;
    int open(const DentryPtr& name, std::uint32_t flags, FileHandle& out) override;

    /// Bytes read (0 at the end) or -errno.
    std::int64_t read_at(std::span<std::uint8_t> to, std::uint64_t offset);
    /// Bytes written, fewer than asked for only if an error came on the way; -errno if there was none.
    std::int64_t write_at(std::span<const std::uint8_t> from, std::uint64_t offset);
    /// FALLOC_FL_PUNCH_HOLE, ZERO_RANGE: zeroes [from, to).
    int zero_range(std::uint64_t from, std::uint64_t to);
    /// SEEK_DATA, SEEK_HOLE.
    virtual std::int64_t seek_hole(std::uint64_t offset, bool data);
    /// Dirty pages go to where the file lives: 0 or the first error.
    virtual int write_back() { return 0; }
    virtual void opened(std::uint32_t flags) { (void)flags; }
    virtual void closed(std::uint32_t flags) { (void)flags; }

    std::uint32_t seals{1}; ///< F_SEAL_SEAL unless made by memfd_create with MFD_ALLOW_SEALING

  protected:
    struct Slot {
        PhysAddr pa{};
        bool dirty{};
    };
    /// Reads what the page holds where the file lives; the page is zero. 0 or -errno.
    virtual int fill(std::uint64_t index, std::uint8_t* to) {
        (void)index, (void)to;
        return 0;
    }
    /// Writes through: bytes stored or -errno.
    virtual std::int64_t store(std::span<const std::uint8_t> from, std::uint64_t offset) {
        (void)offset;
        return static_cast<std::int64_t>(from.size());
    }
    virtual int resize(std::uint64_t size) {
        (void)size;
        return 0;
    }
    /// Room for one more page: 0 or -ENOSPC.
    virtual int reserve() { return 0; }
    virtual void released(std::uint64_t pages) { (void)pages; }
    /// Holes are not read from anywhere: reading them needs no page.
    virtual bool holes() const { return true; }
    virtual void modified();

    /// The page was dropped from the cache: it takes a major fault to have it again.
    virtual bool cold(std::uint64_t index) const {
        (void)index;
        return false;
    }

    int get_page(std::uint64_t index, PhysAddr& out, bool& filled);
    void drop_from(std::uint64_t first_index);
    void page_cache_changed(std::uint64_t index, PhysAddr pa, bool added);
    void drop_all();

    std::map<std::uint64_t, Slot> pages_;
    std::uint64_t bytes_{};
};

} // namespace rkperf::os
