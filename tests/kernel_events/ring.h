// SPDX-License-Identifier: Apache-2.0
// A mapped buffer as a reader sees it, and records taken apart.
#pragma once

#include "kernel_events/ring_buffer.h"
#include "tests/kernel_events/fixture.h"

namespace rkperf::ke::test {

struct Record {
    perf_event_header header{};
    std::vector<std::uint8_t> bytes;                                                 ///< header included
    std::uint64_t word(std::size_t n) const { return at<std::uint64_t>(8 + 8 * n); } ///< n-th word of the body
    std::uint32_t half(std::size_t n) const { return at<std::uint32_t>(8 + 4 * n); }
    template <class T>
    T at(std::size_t offset) const {
        REQUIRE(offset + sizeof(T) <= bytes.size());
        T v;
        std::memcpy(&v, bytes.data() + offset, sizeof v);
        return v;
    }
    std::string text(std::size_t offset) const { return reinterpret_cast<const char*>(bytes.data() + offset); }
    std::size_t words() const { return bytes.size() / 8 - 1; }
};

/// mmap of an event's descriptor, and a reader of the records.
class Ring {
  public:
    Ring(World& w, int fd, unsigned data_pages, bool writable = true) : k_(&w.k), p_(&w.p()), ops_(w.k.ops(fd)) {
        vma.size_ = (1 + data_pages) * 4096ull;
        vma.writable_ = writable;
        vma.mm_ = &w.k.mm;
        // A mapping keeps the file.
        ++w.k.open_files.at(ops_).refs;
        REQUIRE(ops_->mmap(vma) == 0);
        rb_ = p_->ring_buffer_get(static_cast<PerfFile*>(ops_)->event());
    }
    ~Ring() { unmap(); }
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;
    void unmap() {
        if (!ops_) return;
        ops_->mmap_close(vma);
        k_->fput(ops_);
        ops_ = nullptr;
        rb_.reset();
    }
    PerfBuffer& rb() { return *rb_; }
    std::uint64_t size() const { return rb_->perf_data_size(); }
    template <class T>
    T page(std::size_t offset) const {
        T v;
        std::memcpy(&v, rb_->user_page.host + offset, sizeof v);
        return v;
    }
    std::uint64_t head() const { return page<std::uint64_t>(offsetof(perf_event_mmap_page, data_head)); }
    perf_event_mmap_page control() const { return page<perf_event_mmap_page>(0); }
    void store_tail(std::uint64_t v) {
        std::memcpy(rb_->user_page.host + offsetof(perf_event_mmap_page, data_tail), &v, sizeof v);
    }
    void copy(std::uint64_t pos, void* to, std::size_t n) const {
        auto* out = static_cast<std::uint8_t*>(to);
        for (std::size_t i = 0; i < n; ++i, ++pos) {
            const std::uint64_t at = pos & (size() - 1);
            out[i] = rb_->data_pages[at >> 12].host[at & 4095];
        }
    }
    Record at(std::uint64_t pos) const {
        Record r;
        copy(pos, &r.header, sizeof r.header);
        r.bytes.resize(r.header.size);
        copy(pos, r.bytes.data(), r.bytes.size());
        return r;
    }
    /// The next record; nothing released yet. False if there is none.
    bool next(Record& r) {
        if (tail == head()) return false;
        r = at(tail);
        REQUIRE(r.header.size >= 8);
        tail += r.header.size;
        return true;
    }
    Record must_next() {
        Record r;
        REQUIRE(next(r));
        return r;
    }
    void release() { store_tail(tail); }
    /// All records there are, released.
    std::vector<Record> drain() {
        std::vector<Record> v;
        for (Record r; next(r);) v.push_back(r);
        release();
        return v;
    }
    FakeMmap vma;
    std::uint64_t tail{};

  private:
    FakeKernel* k_;
    Perf::Impl* p_;
    FileOperations* ops_;
    std::shared_ptr<PerfBuffer> rb_;
};

inline std::size_t count_type(const std::vector<Record>& v, std::uint32_t type) {
    return static_cast<std::size_t>(
        std::count_if(v.begin(), v.end(), [&](const Record& r) { return r.header.type == type; }));
}

/// A page-fault event that samples each fault.
inline perf_event_attr fault_attr(std::uint64_t sample_type) {
    perf_event_attr a = World::sw(PERF_COUNT_SW_PAGE_FAULTS);
    a.sample_period = 1;
    a.sample_type = sample_type;
    a.read_format = PERF_FORMAT_LOST;
    return a;
}
/// Page n of a made-up mapping.
constexpr std::uint64_t fault_page(std::uint64_t n) { return 0x10000000 + n * 4096; }
/// Faults on pages from `first` on, with the event enabled meanwhile.
inline void faults(World& w, int fd, std::uint64_t first, std::uint64_t n) {
    w.enable(fd);
    for (std::uint64_t i = 0; i < n; ++i) w.k.page_fault(0, fault_page(first + i));
    w.disable(fd);
}
inline std::uint64_t lost_of(World& w, int fd) { return w.read(fd).at(1); }

} // namespace rkperf::ke::test
