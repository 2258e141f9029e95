// SPDX-License-Identifier: Apache-2.0
// The AUX area of a ring buffer: a second, larger area that a tracing PMU fills itself (RB-079 to 105). No PMU of the
// RK3588 has one; the interface is for models of those that do.
#include "kernel_events/core/output.h"
#include "kernel_events/ring_buffer.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace rkperf::ke {

namespace {

constexpr unsigned kMaxOrder = 11;

unsigned ilog2(std::uint64_t n) { return static_cast<unsigned>(std::bit_width(n)) - 1; }
/// The smallest order of pages that `bytes` fit into.
unsigned get_order(std::uint64_t bytes) { return static_cast<unsigned>(std::bit_width((bytes - 1) >> kPageShift)); }

std::uint64_t load_user(const PerfBuffer& rb, std::size_t offset) {
    std::uint64_t value;
    std::memcpy(&value, rb.user_page.host + offset, sizeof value);
    return value;
}

void publish_aux_head(PerfBuffer& rb) {
    rb.kernel.page_write(rb.user_page, offsetof(perf_event_mmap_page, aux_head), &rb.aux_head, sizeof rb.aux_head);
}

void __rb_free_aux(PerfBuffer& rb) {
    rb.aux_priv.reset();
    for (const Page& page : rb.aux_pages) rb.kernel.free_page(page);
    rb.aux_pages.clear();
    rb.aux_orders.clear();
}

/// A run of pages, the largest that can be had up to 2^order.
std::vector<Page> rb_alloc_aux_page(Kernel& kernel, unsigned order, int cpu) {
    for (order = std::min(order, kMaxOrder);; --order) {
        std::vector<Page> run = kernel.alloc_pages(order, cpu);
        if (!run.empty() || !order) return run;
    }
}

bool rb_need_aux_wakeup(PerfBuffer& rb) {
    if (rb.aux_overwrite || rb.aux_head - rb.aux_wakeup < rb.aux_watermark) return false;
    rb.aux_wakeup = rb.aux_head - rb.aux_head % rb.aux_watermark;
    return true;
}

/// The number of the CPU goes where only "not 0" is looked at, so CPU 0 disables nothing (RB-083).
void disable_soon(PerfEvent& event, int cpu) { event.pending_disable = cpu != 0; }

} // namespace

int rb_alloc_aux(PerfBuffer& rb, PerfEvent& event, std::uint64_t pgoff, std::uint64_t nr_pages, std::uint64_t watermark,
                 unsigned flags) {
    if (!has_aux(event)) return -EOPNOTSUPP;
    const bool overwrite = !(flags & RING_BUFFER_WRITABLE);
    unsigned max_order;
    if (overwrite) {
        max_order = ilog2(nr_pages);
        watermark = 0;
    } else {
        // Runs no longer than a watermark, so that a driver can switch from one to the next there.
        if (!watermark)
            watermark =
                std::min<std::uint64_t>(std::numeric_limits<std::uint32_t>::max(), nr_pages << (kPageShift - 1));
        max_order = get_order(watermark);
    }
    if (get_order(nr_pages * sizeof(void*)) > kMaxOrder) return -ENOMEM;
    while (rb.aux_pages.size() < nr_pages) {
        const std::vector<Page> run =
            rb_alloc_aux_page(rb.kernel, std::min(max_order, ilog2(nr_pages - rb.aux_pages.size())), event.cpu);
        if (run.empty()) {
            __rb_free_aux(rb);
            return -ENOMEM;
        }
        rb.aux_orders.push_back(ilog2(run.size()));
        rb.aux_pages.insert(rb.aux_pages.end(), run.begin(), run.end());
    }
    // A PMU that cannot scatter its data needs one run; only while overwriting does it never come to an end.
    const bool scattered =
        (event.pmu->capabilities & Pmu::PERF_PMU_CAP_AUX_NO_SG) && overwrite && rb.aux_orders.front() != max_order;
    if (!scattered) rb.aux_priv = event.pmu->setup_aux(event, rb.aux_pages, overwrite);
    if (!rb.aux_priv) {
        __rb_free_aux(rb);
        return -ENOMEM;
    }
    rb.aux_refcount = 1;
    rb.aux_overwrite = overwrite;
    rb.aux_watermark = watermark;
    rb.aux_pgoff = pgoff;
    return 0;
}

void rb_free_aux(PerfBuffer& rb) {
    if (--rb.aux_refcount == 0) __rb_free_aux(rb);
}

AuxArea* perf_aux_output_begin(Perf::Impl& perf, PerfOutputHandle& handle, PerfEvent& event) {
    handle = PerfOutputHandle{};
    handle.perf = &perf;
    const std::shared_ptr<PerfBuffer> buffer = perf.ring_buffer_get(event);
    if (!buffer || !buffer->has_aux()) return nullptr;
    PerfBuffer& rb = *buffer;
    // Without a mapping the area is about to go. Transactions do not nest.
    if (!rb.aux_mmap_count || !rb.aux_refcount) return nullptr;
    if (rb.aux_nest) {
        perf.kernel.pr_info("perf: an AUX transaction inside another");
        return nullptr;
    }
    ++rb.aux_refcount;
    rb.aux_nest = 1;
    handle.rb = buffer;
    handle.event = &event;
    handle.head = rb.aux_head;
    if (rb.aux_overwrite) return rb.aux_priv.get();

    const std::uint64_t tail = load_user(rb, offsetof(perf_event_mmap_page, aux_tail)), size = rb.perf_aux_size();
    handle.wakeup = rb.aux_wakeup + rb.aux_watermark;
    // A tail that cannot be gives no room.
    if (rb.aux_head - tail < size) handle.size = (tail - (rb.aux_head + 1)) & (size - 1);
    if (handle.size) return rb.aux_priv.get();
    disable_soon(event, perf.kernel.smp_processor_id());
    perf_output_wakeup(handle);
    rb.aux_nest = 0;
    rb_free_aux(rb);
    handle.event = nullptr;
    handle.rb.reset();
    return nullptr;
}

void perf_aux_output_flag(PerfOutputHandle& handle, std::uint64_t flags) {
    // That is the buffer's to say.
    if (flags & PERF_AUX_FLAG_OVERWRITE) {
        handle.perf->kernel.pr_info("perf: a driver sets PERF_AUX_FLAG_OVERWRITE");
        return;
    }
    handle.aux_flags |= flags;
}

void perf_aux_output_end(PerfOutputHandle& handle, std::uint64_t size) {
    PerfBuffer& rb = *handle.rb;
    Perf::Impl& perf = *handle.perf;
    const bool truncated = handle.aux_flags & PERF_AUX_FLAG_TRUNCATED;
    std::uint64_t offset;
    if (rb.aux_overwrite) {
        handle.aux_flags |= PERF_AUX_FLAG_OVERWRITE;
        offset = rb.aux_head = handle.head;
    } else {
        handle.aux_flags &= ~std::uint64_t{PERF_AUX_FLAG_OVERWRITE};
        offset = rb.aux_head;
        rb.aux_head += size;
    }
    // Which PMU and which mode it is are no news.
    constexpr std::uint64_t no_news = PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK | PERF_AUX_FLAG_OVERWRITE;
    if (size || (handle.aux_flags & ~no_news)) perf.perf_event_aux_event(*handle.event, offset, size, handle.aux_flags);
    publish_aux_head(rb);
    const bool due = rb_need_aux_wakeup(rb);
    if (due || truncated) {
        if (truncated) disable_soon(*handle.event, perf.kernel.smp_processor_id());
        perf_output_wakeup(handle);
    }
    handle.event = nullptr;
    rb.aux_nest = 0;
    rb_free_aux(rb);
    handle.rb.reset();
}

int perf_aux_output_skip(PerfOutputHandle& handle, std::uint64_t size) {
    if (size > handle.size) return -ENOSPC;
    PerfBuffer& rb = *handle.rb;
    rb.aux_head += size;
    publish_aux_head(rb);
    if (rb_need_aux_wakeup(rb)) {
        perf_output_wakeup(handle);
        handle.wakeup = rb.aux_wakeup + rb.aux_watermark;
    }
    handle.head = rb.aux_head;
    handle.size -= size;
    return 0;
}

AuxArea* perf_get_aux(PerfOutputHandle& handle) { return handle.event ? handle.rb->aux_priv.get() : nullptr; }

std::int64_t perf_output_copy_aux(const PerfBuffer& aux, PerfOutputHandle& handle, std::uint64_t from,
                                  std::uint64_t to) {
    const std::uint64_t mask = aux.perf_aux_size() - 1;
    from &= mask;
    to &= mask;
    std::int64_t copied = 0;
    do {
        std::uint64_t n = kPageSize - (from & (kPageSize - 1));
        if (to > from) n = std::min(n, to - from);
        if (perf_output_copy(handle, aux.aux_pages[from >> kPageShift].host + (from & (kPageSize - 1)), n))
            return -EFAULT;
        copied += static_cast<std::int64_t>(n);
        from = (from + n) & mask;
    } while (from != to);
    return copied;
}

} // namespace rkperf::ke
