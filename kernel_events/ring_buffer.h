// SPDX-License-Identifier: Apache-2.0
// Writing into the ring buffer: reservation, copying, publication (kernel/events/ring_buffer.c; spec RB-020 to 069).
//
// A writer reserves room by moving PerfBuffer::head, copies its record, and ends. Writers on one CPU nest: one interrupts
// another completely. Only the outermost publishes data_head and raises the wakeup. Every charge in these functions is a
// place where an interrupt, and so a nested writer, can come in between.
#pragma once

#include "kernel_events/internal.h"

#include <span>

namespace rkperf::ke {

/// A writer under way (struct perf_output_handle).
struct PerfOutputHandle {
    Perf::Impl* perf{};
    PerfEvent* event{}; ///< the root event
    std::shared_ptr<PerfBuffer> rb;
    std::uint64_t wakeup{};    ///< PerfBuffer::wakeup before this writer could move it
    std::uint64_t record{};    ///< position of the caller's record, counted as data_head is
    unsigned page{};           ///< data page of the next byte
    unsigned offset{};         ///< in that page
    std::uint64_t size{};      ///< bytes left in that page; of an AUX transaction: bytes that may be written
    std::uint64_t head{};      ///< AUX: position of the next byte
    std::uint64_t aux_flags{}; ///< AUX: PERF_AUX_FLAG_*
};

inline constexpr unsigned RING_BUFFER_WRITABLE = 1;

/// A buffer of `nr_pages` data pages; watermark 0: half of them. Null: out of memory, or too large (RB-015 to 019).
std::shared_ptr<PerfBuffer> rb_alloc(Kernel& kernel, std::uint64_t nr_pages, std::uint64_t watermark, int cpu,
                                     unsigned flags);
/// Page `pgoff` of the buffer's mapping, AUX area included; empty beyond its end.
Page perf_mmap_to_page(const PerfBuffer& rb, std::uint64_t pgoff);

/// Reserves `size` bytes in the buffer of `event` (of its parent if it has one) and writes a LOST record in front if
/// something was lost. `data` holds the identification of the record and is refreshed by LOST. Returns 0, or -ENOSPC:
/// no buffer, paused, or no room. After 0 perf_output_end must follow.
int perf_output_begin(Perf::Impl& perf, PerfOutputHandle& handle, PerfSampleData& data, PerfEvent& event,
                      unsigned size);
int perf_output_begin_forward(Perf::Impl& perf, PerfOutputHandle& handle, PerfSampleData& data, PerfEvent& event,
                              unsigned size);
int perf_output_begin_backward(Perf::Impl& perf, PerfOutputHandle& handle, PerfSampleData& data, PerfEvent& event,
                               unsigned size);
void perf_output_end(PerfOutputHandle& handle);

/// Returns how many bytes were not copied: none.
std::size_t perf_output_copy(PerfOutputHandle& handle, const void* from, std::size_t n);
/// Some words that the kernel puts one by one.
void perf_output_words(PerfOutputHandle& handle, std::span<const std::uint64_t> words);
/// Leaves `n` bytes as they are.
void perf_output_skip(PerfOutputHandle& handle, std::size_t n);
/// Copies in a way of its own, page by page of the buffer, until a part is not complete; returns how many bytes are missing.
std::size_t perf_output_custom(PerfOutputHandle& handle, const PerfCopy& copy, const void* src, std::size_t n);
/// Copies from current's memory without taking page faults; returns how many bytes are missing.
std::size_t perf_output_copy_user(PerfOutputHandle& handle, std::uint64_t from, std::size_t n);

template <class T>
void perf_output_put(PerfOutputHandle& handle, const T& value) {
    perf_output_copy(handle, &value, sizeof value);
}

void perf_output_wakeup(PerfOutputHandle& handle); ///< the readers are to be woken, by irq_work

// --- the AUX area (ring_buffer_aux.cpp; RB-079 to 105) ---
/// Gives the buffer an AUX area of `nr_pages` at `pgoff` of the mapping. 0, -EOPNOTSUPP: the event's PMU has none, or -ENOMEM.
int rb_alloc_aux(PerfBuffer& rb, PerfEvent& event, std::uint64_t pgoff, std::uint64_t nr_pages, std::uint64_t watermark,
                 unsigned flags);
/// Drops a reference to the area; the last frees it.
void rb_free_aux(PerfBuffer& rb);

/// A driver begins to write; handle.head and handle.size say where and how much. Null: it must not (no area, no room,
/// a transaction is open already).
AuxArea* perf_aux_output_begin(Perf::Impl& perf, PerfOutputHandle& handle, PerfEvent& event);
void perf_aux_output_flag(PerfOutputHandle& handle, std::uint64_t flags);
/// `size` bytes were written (overwrite mode: handle.head is where the next would be). Publishes them with an AUX record.
void perf_aux_output_end(PerfOutputHandle& handle, std::uint64_t size);
/// Leaves bytes out inside a transaction: 0, or -ENOSPC.
int perf_aux_output_skip(PerfOutputHandle& handle, std::uint64_t size);
AuxArea* perf_get_aux(PerfOutputHandle& handle); ///< null outside a transaction
/// Copies [from, to) of the area, positions modulo its size, equal ones mean all of it; returns bytes copied.
std::int64_t perf_output_copy_aux(const PerfBuffer& aux, PerfOutputHandle& handle, std::uint64_t from,
                                  std::uint64_t to);

} // namespace rkperf::ke
