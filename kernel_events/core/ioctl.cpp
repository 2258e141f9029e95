// SPDX-License-Identifier: Apache-2.0
// ioctl on an event, redirecting its output, and the file operations of its descriptor (CORE-310 to 327, 362 to 368).
#include "kernel_events/bpf/bpf.h"
#include "kernel_events/core/context_lock.h"

#include <sys/ioctl.h>
#include <algorithm>

namespace rkperf::ke {

PerfEvent* Perf::Impl::perf_event_of(FileRef* file) {
    FileOperations* ops = file ? file->perf_ops() : nullptr;
    auto* perf_file = dynamic_cast<PerfFile*>(ops);
    return perf_file ? &perf_file->event() : nullptr;
}

int Perf::Impl::perf_event_set_output(PerfEvent& event, PerfEvent* output) {
    KernelFrame frame(kernel, KernelSymbol::perf_event_set_output);
    if (output) {
        if (output == &event || output->cpu != event.cpu) return -EINVAL;
        // Events on any CPU can share a buffer only if one task writes it.
        if (output->cpu == -1 && output->hw.target != event.hw.target) return -EINVAL;
        if (output->clock != event.clock) return -EINVAL;
        if (is_write_backward(*output) != is_write_backward(event)) return -EINVAL;
        // One AUX area has one writer.
        if (has_aux(event) && has_aux(*output) && event.pmu != output->pmu) return -EINVAL;
    }
    MutexGuard lock(*event.mmap_mutex);
    std::unique_ptr<MutexGuard> output_lock;
    if (output) output_lock = std::make_unique<MutexGuard>(*output->mmap_mutex);
    if (event.mmap_count) return -EINVAL;
    std::shared_ptr<PerfBuffer> rb;
    if (output) {
        rb = ring_buffer_get(*output);
        if (!rb || !rb->mmap_count) return -EINVAL;
    }
    ring_buffer_attach(event, std::move(rb));
    return 0;
}

int Perf::Impl::perf_event_modify_attr(PerfEvent& event, const perf_event_attr& attr) {
    if (event.attr.type != attr.type) return -EINVAL;
    // Other events cannot be changed.
    if (event.attr.type != PERF_TYPE_BREAKPOINT) return -EOPNOTSUPP;
    MutexGuard lock(*event.child_mutex);
    const auto modify = [&](PerfEvent& e) {
        e.attr.sig_data = attr.sig_data;
        return e.pmu->modify_attr(e, attr);
    };
    if (const int error = modify(event)) return error;
    for (PerfEvent* child : event.child_list)
        if (const int error = modify(*child)) return error;
    return 0;
}

int Perf::Impl::perf_event_set_filter(PerfEvent& event, std::uint64_t arg) {
    int error = 0;
    const std::string filter = kernel.strndup_user(arg, kPageSize, error);
    if (error) return error;
    return has_addr_filter(event) ? perf_event_set_addr_filter(event, filter) : event.pmu->set_filter(event, filter);
}

int Perf::Impl::perf_event_set_bpf_prog(PerfEvent& event, int fd) {
    return perf.bpf().perf_event_set_bpf_prog(event, fd);
}

int Perf::Impl::perf_event_query_prog_array(PerfEvent& event, std::uint64_t info) {
    return perf.bpf().perf_event_query_prog_array(event, info);
}

std::int64_t Perf::Impl::perf_ioctl(PerfEvent& event, std::uint32_t cmd, std::uint64_t arg) {
    KernelFrame frame(kernel, KernelSymbol::perf_ioctl);
    if (const int error = kernel.security_perf_event_write(event)) return error;
    EventContextLock lock(*this, event);
    void (Impl::*fn)(PerfEvent&) = nullptr;
    switch (cmd) {
        case PERF_EVENT_IOC_ENABLE: fn = &Impl::_perf_event_enable; break;
        case PERF_EVENT_IOC_DISABLE: fn = &Impl::_perf_event_disable; break;
        case PERF_EVENT_IOC_RESET: fn = &Impl::_perf_event_reset; break;
        case PERF_EVENT_IOC_REFRESH: return _perf_event_refresh(event, static_cast<int>(arg));
        case PERF_EVENT_IOC_PERIOD: {
            std::uint64_t value = 0;
            if (!kernel.copy_from_user(&value, arg, sizeof value)) return -EFAULT;
            return _perf_event_period(event, value);
        }
        case PERF_EVENT_IOC_ID: {
            const std::uint64_t id = primary_event_id(event);
            return kernel.copy_to_user(arg, &id, sizeof id) ? 0 : -EFAULT;
        }
        case PERF_EVENT_IOC_SET_OUTPUT: {
            if (arg == ~std::uint64_t{0}) return perf_event_set_output(event, nullptr);
            const auto file = kernel.fget(static_cast<int>(arg));
            PerfEvent* output = perf_event_of(file.get());
            return output ? perf_event_set_output(event, output) : -EBADF;
        }
        case PERF_EVENT_IOC_SET_FILTER: return perf_event_set_filter(event, arg);
        case PERF_EVENT_IOC_SET_BPF: return perf_event_set_bpf_prog(event, static_cast<int>(arg));
        case PERF_EVENT_IOC_QUERY_BPF: return perf_event_query_prog_array(event, arg);
        case PERF_EVENT_IOC_PAUSE_OUTPUT: {
            if (!event.rb || !event.rb->nr_pages) return -EINVAL;
            event.rb->paused = arg != 0;
            return 0;
        }
        case PERF_EVENT_IOC_MODIFY_ATTRIBUTES: {
            perf_event_attr attr;
            const int error = perf_copy_attr(arg, attr);
            return error ? error : perf_event_modify_attr(event, attr);
        }
        default: return -ENOTTY;
    }
    if (arg & PERF_IOC_FLAG_GROUP)
        perf_event_for_each(event, fn);
    else
        perf_event_for_each_child(event, fn);
    return 0;
}

std::int64_t PerfFile::read(std::uint64_t user_buf, std::uint64_t count, bool) {
    return perf_.perf_read(event_, user_buf, count);
}
PollMask PerfFile::poll(WaitQueue*& wq) { return perf_.perf_poll(event_, wq); }
std::int64_t PerfFile::ioctl(std::uint32_t cmd, std::uint64_t arg) { return perf_.perf_ioctl(event_, cmd, arg); }
std::int64_t PerfFile::mmap(MmapRequest& vma) { return perf_.perf_mmap(event_, vma); }
void PerfFile::mmap_open(MmapRequest& vma) { perf_.perf_mmap_open(event_, vma); }
void PerfFile::mmap_close(MmapRequest& vma) { perf_.perf_mmap_close(event_, vma); }
Page PerfFile::fault(MmapRequest& vma, std::uint64_t pgoff, bool write) {
    return perf_.perf_mmap_fault(event_, vma, pgoff, write);
}
void PerfFile::fasync(bool on) { event_.fasync = on; }
void PerfFile::release() {
    Perf::Impl& perf = perf_;
    PerfEvent& event = event_;
    KernelFrame frame(perf.kernel, KernelSymbol::perf_release);
    // The event may outlive its file (a child holds it); it must not look for the file then.
    event.file = nullptr;
    event.fasync = false;
    delete this;
    perf.perf_event_release_kernel(event);
}

} // namespace rkperf::ke
