// SPDX-License-Identifier: Apache-2.0
// Mapping an event's buffer: rules, locked-memory accounting, faults, the control page (CORE-338 to 361, RB-001 to 018).
#include "kernel_events/output_costs.h"
#include "kernel_events/ring_buffer.h"

#include <sys/resource.h>
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace rkperf::ke {

namespace {

/// First and last field that an update of the control page rewrites, between the two steps of `lock`.
constexpr std::size_t kUpdatedFrom = offsetof(perf_event_mmap_page, index);
constexpr std::size_t kUpdatedTo = offsetof(perf_event_mmap_page, size);
constexpr std::size_t kUpdatedFrom2 = offsetof(perf_event_mmap_page, time_cycles);
constexpr std::size_t kUpdatedTo2 = offsetof(perf_event_mmap_page, __reserved);

template <class T>
T load(const Page& page, std::size_t offset) {
    T value;
    std::memcpy(&value, page.host + offset, sizeof value);
    return value;
}

/// What a mapping costs its user, and what goes beyond the user's allowance.
struct Charge {
    std::uint64_t user_extra{}; ///< pages of the allowance
    std::uint64_t extra{};      ///< pages beyond it: charged to the mm
};

/// The allowance that all CPUs give a user together, then RLIMIT_MEMLOCK (CORE-344 to 346).
int charge_pages(Perf::Impl& perf, std::uint64_t pages, const MmInfo& mm, Charge& charge) {
    Kernel& kernel = perf.kernel;
    const auto cpus = static_cast<std::int64_t>(std::popcount(kernel.cpu_online_mask()));
    const auto limit = static_cast<std::uint64_t>((perf.sysctl.perf_event_mlock_kb >> (kPageShift - 10)) * cpus);
    // The limit may have been lowered below what the user has already.
    const std::uint64_t locked_before = std::min(kernel.current()->user->locked_vm, limit);
    charge.user_extra = pages;
    if (locked_before + pages > limit) {
        charge.extra = locked_before + pages - limit;
        charge.user_extra -= charge.extra;
    }
    const std::uint64_t lock_limit = kernel.rlimit(RLIMIT_MEMLOCK) >> kPageShift;
    const bool paranoid = perf.sysctl.perf_event_paranoid > -1;
    if (mm.pinned_vm + charge.extra > lock_limit && paranoid && !kernel.capable(Capability::ipc_lock)) return -EPERM;
    return 0;
}

/// Fields of a new control page that never change (CORE-354).
void perf_event_init_userpage(Kernel& kernel, const PerfBuffer& rb) {
    auto page = load<perf_event_mmap_page>(rb.user_page, 0);
    page.cap_bit0_is_deprecated = 1;
    page.size = offsetof(perf_event_mmap_page, __reserved);
    page.data_offset = kPageSize;
    page.data_size = rb.perf_data_size();
    kernel.page_write(rb.user_page, 0, &page, sizeof page);
}

/// Does the control page describe an AUX area that this mapping could be? (CORE-352)
bool aux_mapping_fits(const PerfBuffer& rb, const MmapRequest& vma) {
    const auto offset = load<std::uint64_t>(rb.user_page, offsetof(perf_event_mmap_page, aux_offset));
    const auto size = load<std::uint64_t>(rb.user_page, offsetof(perf_event_mmap_page, aux_size));
    if (offset < rb.perf_data_size() + kPageSize || offset != vma.pgoff() << kPageShift) return false;
    // Later mappings of an area are like the first.
    if (rb.has_aux() && rb.aux_pgoff != vma.pgoff()) return false;
    if (size != vma.size() || size % kPageSize) return false;
    if (rb.has_aux() && rb.perf_aux_size() != size) return false;
    return std::has_single_bit(size / kPageSize) && rb.mmap_count > 0;
}

/// One on its way to be freed takes itself off the list.
PerfEvent* first_live_event(const PerfBuffer& rb) {
    const auto it =
        std::find_if(rb.event_list.begin(), rb.event_list.end(), [](PerfEvent* e) { return e->refcount > 0; });
    return it == rb.event_list.end() ? nullptr : *it;
}

} // namespace

/// A mapping at an offset: the AUX area.
static int perf_mmap_aux(Perf::Impl& perf, PerfEvent& event, MmapRequest& vma) {
    if (!event.rb) return -EINVAL;
    const std::uint64_t pages = vma.size() >> kPageShift;
    if (pages > std::numeric_limits<int>::max()) return -ENOMEM;
    MutexGuard lock(*event.mmap_mutex);
    if (!event.rb) return -EINVAL;
    PerfBuffer& rb = *event.rb;
    MutexGuard aux_lock(*rb.aux_mutex);
    if (!aux_mapping_fits(rb, vma)) return -EINVAL;
    if (rb.has_aux()) {
        ++rb.aux_mmap_count;
    } else {
        Charge charge;
        if (const int error = charge_pages(perf, pages, *vma.mm(), charge)) return error;
        const unsigned flags = vma.writable() ? RING_BUFFER_WRITABLE : 0;
        if (const int error = rb_alloc_aux(rb, event, vma.pgoff(), pages, event.attr.aux_watermark, flags))
            return error;
        rb.aux_mmap_count = 1;
        rb.aux_mmap_locked = charge.extra;
        perf.kernel.current()->user->locked_vm += charge.user_extra;
        vma.mm()->pinned_vm += charge.extra;
    }
    ++rb.mmap_count;
    ++event.mmap_count;
    return 0;
}

std::int64_t Perf::Impl::perf_mmap(PerfEvent& event, MmapRequest& vma) {
    KernelFrame frame(kernel, KernelSymbol::perf_mmap);
    // Copies of the event would write to the buffer from several CPUs at once.
    if (event.cpu == -1 && event.attr.inherit) return -EINVAL;
    if (!vma.shared()) return -EINVAL;
    if (const int error = kernel.security_perf_event_read(event)) return error;
    if (vma.pgoff()) {
        if (const int error = perf_mmap_aux(*this, event, vma)) return error;
        event.pmu->event_mapped(event, vma.mm());
        return 0;
    }

    const std::uint64_t nr_pages = vma.size() / kPageSize - 1;
    if (nr_pages && !std::has_single_bit(nr_pages)) return -EINVAL;
    if (vma.size() != kPageSize * (1 + nr_pages)) return -EINVAL;
    {
        MutexGuard lock(*event.mmap_mutex);
        // A buffer whose last mapping is being removed cannot be used again.
        if (event.rb && static_cast<std::uint64_t>(event.rb->nr_pages) == nr_pages && !event.rb->mmap_count)
            ring_buffer_attach(event, nullptr);
        if (event.rb) {
            if (static_cast<std::uint64_t>(event.rb->nr_pages) != nr_pages) return -EINVAL;
            ++event.rb->mmap_count;
        } else {
            Charge charge;
            if (const int error = charge_pages(*this, nr_pages + 1, *vma.mm(), charge)) return error;
            const std::uint64_t watermark = event.attr.watermark ? event.attr.wakeup_watermark : 0;
            auto rb = rb_alloc(kernel, nr_pages, watermark, event.cpu, vma.writable() ? RING_BUFFER_WRITABLE : 0);
            if (!rb) return -ENOMEM;
            std::erase_if(buffers, [](const auto& b) { return b.expired(); });
            buffers.push_back(rb);
            rb->mmap_count = 1;
            rb->mmap_user = kernel.current()->user;
            rb->mmap_locked = charge.extra;
            ring_buffer_attach(event, rb);
            perf_event_update_time(event);
            perf_event_init_userpage(kernel, *rb);
            perf_event_update_userpage(event);
            rb->mmap_user->locked_vm += charge.user_extra;
            vma.mm()->pinned_vm += charge.extra;
        }
        ++event.mmap_count;
    }
    event.pmu->event_mapped(event, vma.mm());
    return 0;
}

void Perf::Impl::perf_mmap_open(PerfEvent& event, MmapRequest& vma) {
    KernelFrame frame(kernel, KernelSymbol::perf_mmap_open);
    ++event.mmap_count;
    ++event.rb->mmap_count;
    if (vma.pgoff()) ++event.rb->aux_mmap_count;
    event.pmu->event_mapped(event, vma.mm());
}

std::uint64_t Perf::Impl::nr_live_buffers() const {
    return static_cast<std::uint64_t>(
        std::count_if(buffers.begin(), buffers.end(), [](const auto& b) { return !b.expired(); }));
}

void Perf::Impl::perf_mmap_close(PerfEvent& event, MmapRequest& vma) {
    KernelFrame frame(kernel, KernelSymbol::perf_mmap_close);
    const std::shared_ptr<PerfBuffer> rb = ring_buffer_get(event);
    event.pmu->event_unmapped(event, vma.mm());
    if (rb->has_aux() && vma.pgoff() == rb->aux_pgoff && --rb->aux_mmap_count == 0) {
        MutexGuard aux_lock(*rb->aux_mutex);
        // Whoever writes there stops, and will not begin again.
        perf_pmu_output_stop(*rb);
        rb->mmap_user->locked_vm -= rb->aux_pages.size() - rb->aux_mmap_locked;
        vma.mm()->pinned_vm -= rb->aux_mmap_locked;
        rb_free_aux(*rb);
    }
    const bool detach_rest = --rb->mmap_count == 0;
    {
        MutexGuard lock(*event.mmap_mutex);
        if (--event.mmap_count) return;
        ring_buffer_attach(event, nullptr);
    }
    if (!detach_rest) return;
    // Nobody can see the buffer any more: the events that write there write nowhere from now on.
    for (PerfEvent* other; (other = first_live_event(*rb));) {
        get_event(*other);
        {
            MutexGuard other_lock(*other->mmap_mutex);
            if (other->rb == rb) ring_buffer_attach(*other, nullptr);
        }
        put_event(*other);
    }
    kernel.charge(static_cast<std::uint32_t>(rb->nr_pages + 1) * cost::kFreePage);
    rb->mmap_user->locked_vm -= static_cast<std::uint64_t>(rb->nr_pages) + 1 - rb->mmap_locked;
    vma.mm()->pinned_vm -= rb->mmap_locked;
}

Page Perf::Impl::perf_mmap_fault(PerfEvent& event, MmapRequest&, std::uint64_t pgoff, bool write) {
    KernelFrame frame(kernel, KernelSymbol::perf_mmap_fault);
    // Only the control page is the user's to write.
    if (!event.rb || (pgoff && write)) return {};
    return perf_mmap_to_page(*event.rb, pgoff);
}

void Perf::Impl::perf_event_update_userpage(PerfEvent& event) {
    const std::shared_ptr<PerfBuffer> rb = event.rb;
    if (!rb) return;
    KernelFrame frame(kernel, KernelSymbol::perf_event_update_userpage);
    std::uint64_t now = 0, enabled = 0, running = 0;
    calc_timer_values(event, now, enabled, running);

    kernel.preempt_disable();
    const auto step_lock = [&] {
        const auto lock = load<std::uint32_t>(rb->user_page, offsetof(perf_event_mmap_page, lock)) + 1;
        kernel.page_write(rb->user_page, offsetof(perf_event_mmap_page, lock), &lock, sizeof lock);
    };
    step_lock();
    auto page = load<perf_event_mmap_page>(rb->user_page, 0);
    page.index = static_cast<std::uint32_t>(perf_event_index(event));
    page.offset = static_cast<std::int64_t>(perf_event_count(event) - (page.index ? event.hw.prev_count : 0));
    page.time_enabled = enabled + event.child_total_time_enabled;
    page.time_running = running + event.child_total_time_running;
    arch_perf_update_userpage(event, page, now);
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&page);
    kernel.page_write(rb->user_page, kUpdatedFrom, bytes + kUpdatedFrom, kUpdatedTo - kUpdatedFrom);
    kernel.page_write(rb->user_page, kUpdatedFrom2, bytes + kUpdatedFrom2, kUpdatedTo2 - kUpdatedFrom2);
    step_lock();
    kernel.preempt_enable();
}

} // namespace rkperf::ke
