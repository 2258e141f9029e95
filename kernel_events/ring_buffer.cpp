// SPDX-License-Identifier: Apache-2.0
#include "kernel_events/ring_buffer.h"

#include "kernel_events/core/output.h"
#include "kernel_events/output_costs.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace rkperf::ke {

namespace {

/// More data pages than this cannot be kept track of in one allocation of the largest order (RB-018).
constexpr std::uint64_t kMaxDataPages = 1u << 18;

/// CIRC_SPACE: free bytes of a ring, one always left over. `size` is a power of two.
std::uint64_t circ_space(std::uint64_t head, std::uint64_t tail, std::uint64_t size) {
    return (tail - (head + 1)) & (size - 1);
}

bool ring_buffer_has_space(std::uint64_t head, std::uint64_t tail, std::uint64_t data_size, unsigned size,
                           bool backward) {
    return (backward ? circ_space(tail, head, data_size) : circ_space(head, tail, data_size)) >= size;
}

/// The reader's position: whatever the user has stored there.
std::uint64_t load_data_tail(const PerfBuffer& rb) {
    std::uint64_t tail = 0;
    std::memcpy(&tail, rb.user_page.host + offsetof(perf_event_mmap_page, data_tail), sizeof tail);
    return tail;
}

} // namespace

void perf_output_wakeup(PerfOutputHandle& handle) {
    handle.rb->poll = kPollIn;
    handle.event->pending_wakeup = true;
    handle.perf->notice(EventNotice::What::wakeup, *handle.event, handle.rb->head);
    handle.perf->kernel.charge(cost::kRaiseWakeup);
    handle.perf->kernel.irq_work_queue(handle.event->pending_irq);
}

namespace {

void perf_output_get_handle(PerfOutputHandle& handle) {
    PerfBuffer& rb = *handle.rb;
    handle.perf->kernel.preempt_disable();
    ++rb.nest;
    handle.wakeup = rb.wakeup;
}

void perf_output_put_handle(PerfOutputHandle& handle) {
    Kernel& kernel = handle.perf->kernel;
    KernelFrame frame(kernel, KernelSymbol::perf_output_put_handle);
    PerfBuffer& rb = *handle.rb;
    for (;;) {
        // Somebody we have interrupted will publish.
        if (rb.nest > 1) {
            --rb.nest;
            break;
        }
        const std::uint64_t head = rb.head;
        kernel.charge(cost::kStep);
        kernel.page_write(rb.user_page, offsetof(perf_event_mmap_page, data_head), &head, sizeof head);
        kernel.charge(cost::kStep);
        rb.nest = 0;
        kernel.charge(cost::kStep);
        // A writer that came in while nest was still 1 has left its head to us.
        if (head != rb.head) {
            rb.nest = 1;
            continue;
        }
        if (handle.wakeup != rb.wakeup) perf_output_wakeup(handle);
        break;
    }
    kernel.preempt_enable();
}

void output_lost(PerfOutputHandle& handle, PerfSampleData& data) {
    Perf::Impl& perf = *handle.perf;
    PerfEvent& event = *handle.event;
    struct {
        perf_event_header header;
        std::uint64_t id, lost;
    } lost_event{{PERF_RECORD_LOST, 0, sizeof lost_event}, event.id, std::exchange(handle.rb->lost, 0)};
    perf_event_header__init_id(perf, lost_event.header, data, event);
    handle.record += lost_event.header.size;
    perf_output_put(handle, lost_event);
    perf_event__output_id_sample(event, handle, data);
}

int output_begin(Perf::Impl& perf, PerfOutputHandle& handle, PerfSampleData& data, PerfEvent& writer, unsigned size,
                 bool backward) {
    PerfEvent& event = root_event(writer);
    handle = PerfOutputHandle{};
    if (!event.rb) return -ENOSPC;
    PerfBuffer& rb = *event.rb;
    if (rb.paused) {
        if (rb.nr_pages) {
            ++rb.lost;
            ++event.lost_samples;
        }
        return -ENOSPC;
    }
    perf.rcu_read_lock();
    handle.perf = &perf;
    handle.event = &event;
    handle.rb = event.rb;

    const bool have_lost = rb.lost != 0;
    if (have_lost) {
        size += sizeof(perf_event_header) + 16;
        if (event.attr.sample_id_all) size += event.id_header_size;
    }
    perf_output_get_handle(handle);

    std::uint64_t offset = rb.head, head;
    for (;;) {
        const std::uint64_t tail = load_data_tail(rb);
        if (!rb.overwrite && !ring_buffer_has_space(offset, tail, rb.perf_data_size(), size, backward)) {
            ++rb.lost;
            ++event.lost_samples;
            perf_output_put_handle(handle);
            perf.rcu_read_unlock();
            return -ENOSPC;
        }
        head = backward ? offset - size : offset + size;
        perf.kernel.charge(cost::kReserve);
        if (rb.head == offset) break;
        offset = rb.head; // a writer came in between
    }
    rb.head = head;
    perf.kernel.charge(cost::kStep);
    if (backward) {
        offset = head;
        head = -head;
    }
    if (head - rb.wakeup > rb.watermark) rb.wakeup += rb.watermark;

    handle.record = offset;
    handle.page = static_cast<unsigned>(offset >> kPageShift) & (static_cast<unsigned>(rb.nr_pages) - 1);
    handle.offset = static_cast<unsigned>(offset & ~kPageMask);
    handle.size = kPageSize - handle.offset;
    if (have_lost) output_lost(handle, data);
    return 0;
}

void advance(PerfOutputHandle& handle, std::size_t n) {
    handle.offset += static_cast<unsigned>(n);
    handle.size -= n;
    if (handle.size) return;
    handle.page = (handle.page + 1) & (static_cast<unsigned>(handle.rb->nr_pages) - 1);
    handle.offset = 0;
    handle.size = kPageSize;
}

void output_copy(PerfOutputHandle& handle, const void* from, std::size_t n) {
    const auto* bytes = static_cast<const std::uint8_t*>(from);
    while (n) {
        const std::size_t part = std::min<std::size_t>(n, handle.size);
        handle.perf->kernel.page_write(handle.rb->data_pages[handle.page], handle.offset, bytes, part);
        advance(handle, part);
        bytes += part;
        n -= part;
    }
}

/// Copies parts that each lie in one page of the buffer: `copy` (dst, bytes before, length) says how many bytes it has not
/// put. What it has put goes to the page; a part that is not complete ends the copy. Returns how many bytes are missing.
template <class Copy>
std::size_t output_parts(PerfOutputHandle& handle, const std::size_t n, Copy copy) {
    std::array<std::uint8_t, kPageSize> bounce;
    for (std::size_t off = 0; off < n;) {
        const std::size_t part = std::min<std::size_t>(n - off, handle.size);
        const std::size_t done = part - copy(bounce.data(), off, part);
        if (done) output_copy(handle, bounce.data(), done);
        off += done;
        if (done != part) return n - off;
    }
    return 0;
}

} // namespace

PerfBuffer::~PerfBuffer() {
    aux_priv.reset();
    for (const Page& page : aux_pages) kernel.free_page(page);
    for (const Page& page : data_pages) kernel.free_page(page);
    if (user_page) kernel.free_page(user_page);
}

std::shared_ptr<PerfBuffer> rb_alloc(Kernel& kernel, std::uint64_t nr_pages, std::uint64_t watermark, int cpu,
                                     unsigned flags) {
    KernelFrame frame(kernel, KernelSymbol::rb_alloc);
    if (nr_pages > kMaxDataPages) return nullptr;
    auto rb = std::make_shared<PerfBuffer>(kernel);
    rb->user_page = kernel.alloc_page(cpu);
    if (!rb->user_page) return nullptr;
    rb->data_pages.reserve(nr_pages);
    for (std::uint64_t i = 0; i < nr_pages; ++i) {
        const Page page = kernel.alloc_page(cpu);
        if (!page) return nullptr;
        rb->data_pages.push_back(page);
        kernel.charge(cost::kAllocPage);
    }
    rb->aux_mutex = kernel.make_mutex();
    rb->nr_pages = static_cast<int>(nr_pages);
    rb->overwrite = !(flags & RING_BUFFER_WRITABLE);
    rb->paused = nr_pages == 0;
    const std::uint64_t size = rb->perf_data_size();
    if (watermark) rb->watermark = std::min(size, watermark);
    if (!rb->watermark) rb->watermark = size / 2;
    return rb;
}

Page perf_mmap_to_page(const PerfBuffer& rb, std::uint64_t pgoff) {
    if (rb.has_aux()) {
        if (pgoff > rb.aux_pgoff + rb.aux_pages.size()) return {};
        // The page behind the last is let through, and the first given for it (RB-009).
        if (pgoff >= rb.aux_pgoff) return rb.aux_pages[(pgoff - rb.aux_pgoff) % rb.aux_pages.size()];
    }
    if (pgoff > static_cast<std::uint64_t>(rb.nr_pages)) return {};
    return pgoff ? rb.data_pages[pgoff - 1] : rb.user_page;
}

int perf_output_begin(Perf::Impl& perf, PerfOutputHandle& handle, PerfSampleData& data, PerfEvent& event,
                      unsigned size) {
    KernelFrame frame(perf.kernel, KernelSymbol::perf_output_begin);
    return output_begin(perf, handle, data, event, size, is_write_backward(event));
}

int perf_output_begin_forward(Perf::Impl& perf, PerfOutputHandle& handle, PerfSampleData& data, PerfEvent& event,
                              unsigned size) {
    KernelFrame frame(perf.kernel, KernelSymbol::perf_output_begin_forward);
    return output_begin(perf, handle, data, event, size, false);
}

int perf_output_begin_backward(Perf::Impl& perf, PerfOutputHandle& handle, PerfSampleData& data, PerfEvent& event,
                               unsigned size) {
    KernelFrame frame(perf.kernel, KernelSymbol::perf_output_begin_backward);
    return output_begin(perf, handle, data, event, size, true);
}

void perf_output_end(PerfOutputHandle& handle) {
    KernelFrame frame(handle.perf->kernel, KernelSymbol::perf_output_end);
    perf_output_put_handle(handle);
    handle.perf->rcu_read_unlock();
}

std::size_t perf_output_copy(PerfOutputHandle& handle, const void* from, std::size_t n) {
    KernelFrame frame(handle.perf->kernel, KernelSymbol::perf_output_copy);
    if (n > 8) handle.perf->kernel.charge(static_cast<std::uint32_t>((n - 8) / 8 * cost::kCopyWord));
    output_copy(handle, from, n);
    return 0;
}

void perf_output_words(PerfOutputHandle& handle, std::span<const std::uint64_t> words) {
    if (words.empty()) return;
    KernelFrame frame(handle.perf->kernel, KernelSymbol::perf_output_copy);
    handle.perf->kernel.charge(static_cast<std::uint32_t>(words.size() - 1) *
                               info(KernelSymbol::perf_output_copy).instructions);
    output_copy(handle, words.data(), words.size_bytes());
}

void perf_output_skip(PerfOutputHandle& handle, std::size_t n) {
    handle.perf->kernel.charge(cost::kStep);
    while (n) {
        const std::size_t part = std::min<std::size_t>(n, handle.size);
        advance(handle, part);
        n -= part;
    }
}

std::size_t perf_output_custom(PerfOutputHandle& handle, const PerfCopy& copy, const void* src, std::size_t n) {
    KernelFrame frame(handle.perf->kernel, KernelSymbol::perf_output_copy);
    if (n > 8) handle.perf->kernel.charge(static_cast<std::uint32_t>((n - 8) / 8 * cost::kCopyWord));
    return output_parts(
        handle, n, [&](std::uint8_t* dst, std::size_t off, std::size_t part) { return copy(dst, src, off, part); });
}

std::size_t perf_output_copy_user(PerfOutputHandle& handle, std::uint64_t from, std::size_t n) {
    Kernel& kernel = handle.perf->kernel;
    return output_parts(handle, n, [&](std::uint8_t* dst, std::size_t off, std::size_t part) {
        kernel.charge(static_cast<std::uint32_t>(cost::kCopyUserChunk + part / 8 * cost::kCopyUserWord8 / 8));
        return kernel.access_ok(from + off, part) ? part - kernel.copy_from_user_nofault(dst, from + off, part) : part;
    });
}

void Perf::Impl::ring_buffer_attach(PerfEvent& event, std::shared_ptr<PerfBuffer> rb) {
    KernelFrame frame(kernel, KernelSymbol::ring_buffer_attach);
    const std::shared_ptr<PerfBuffer> old_rb = event.rb;
    if (old_rb) {
        IrqGuard irq(kernel);
        old_rb->event_list.erase(event);
        event.rcu_batches = perf_clock();
        event.rcu_pending = true;
    }
    if (rb) {
        // Readers of the old buffer's list may still be at this event.
        if (event.rcu_pending) {
            if (perf_clock() - event.rcu_batches < cost::kGracePeriodTicks * kernel.tick_nsec())
                kernel.synchronize_rcu();
            event.rcu_pending = false;
        }
        IrqGuard irq(kernel);
        rb->event_list.push_front(event);
    }
    // A writer of AUX data has taken hold of the old buffer.
    if (has_aux(event)) perf_event_stop(event, false);
    event.rb = std::move(rb);
    // A wakeup meant for the old buffer may have gone astray.
    if (old_rb) event.waitq->wake_up_all();
}

std::shared_ptr<PerfBuffer> Perf::Impl::ring_buffer_get(PerfEvent& event) { return root_event(event).rb; }

void Perf::Impl::ring_buffer_wakeup(PerfEvent& event) {
    KernelFrame frame(kernel, KernelSymbol::ring_buffer_wakeup);
    const std::shared_ptr<PerfBuffer> rb = root_event(event).rb;
    if (!rb) return;
    RcuReadLock rcu(*this);
    const std::vector<PerfEvent*> events = rb->event_list;
    for (PerfEvent* e : events) e->waitq->wake_up_all();
}

} // namespace rkperf::ke
