// SPDX-License-Identifier: Apache-2.0
// What all records share: who they are about, the sample-id trailer, values of events, and the way of a record into the
// buffer (records.md sections 3 and 5; CORE-397 to 402).
#pragma once

#include "kernel_events/ring_buffer.h"

#include <cstring>
#include <stdexcept>
#include <type_traits>

namespace rkperf::ke {

/// Process and thread id in an event's records, as the pid namespace of who opened it has them: 0 if it does not see the
/// task, all ones for a task that nobody can find any more (CORE-014).
std::uint32_t perf_event_pid(Perf::Impl& perf, const PerfEvent& event, const TaskBase& task);
std::uint32_t perf_event_tid(Perf::Impl& perf, const PerfEvent& event, const TaskBase& task);

/// Fills the identification fields of `data` that `sample_type` has.
void __perf_event_header__init_id(Perf::Impl& perf, PerfSampleData& data, PerfEvent& event, std::uint64_t sample_type);
/// For a record with a trailer: adds its size and fills `data`. Nothing without attr.sample_id_all.
void perf_event_header__init_id(Perf::Impl& perf, perf_event_header& header, PerfSampleData& data, PerfEvent& event);
/// The trailer, if attr.sample_id_all.
void perf_event__output_id_sample(const PerfEvent& event, PerfOutputHandle& handle, const PerfSampleData& data);
/// The event's values in its read format.
void perf_output_read(PerfOutputHandle& handle, PerfEvent& event);

void perf_prepare_sample(Perf::Impl& perf, perf_event_header& header, PerfSampleData& data, PerfEvent& event,
                         PtRegs& regs);
/// Writes what perf_prepare_sample has prepared and counts it for wakeup_events.
void perf_output_sample(PerfOutputHandle& handle, const perf_event_header& header, PerfSampleData& data,
                        PerfEvent& event);

/// AUX data of a sample (core/aux.cpp): how many bytes there will be, a multiple of 8; then the bytes.
std::uint64_t perf_prepare_sample_aux(Perf::Impl& perf, PerfEvent& event, PerfSampleData& data, std::uint64_t size);
void perf_aux_sample_output(PerfEvent& event, PerfOutputHandle& handle, const PerfSampleData& data);

/// The body of a record between header and trailer.
class RecordBody {
  public:
    explicit RecordBody(std::size_t size) { bytes_.reserve(size); }
    template <class T>
    void put(T value) {
        static_assert(std::is_integral_v<T>);
        put_bytes(&value, sizeof value);
    }
    void put_bytes(const void* from, std::size_t n) {
        const auto* b = static_cast<const std::uint8_t*>(from);
        bytes_.insert(bytes_.end(), b, b + n);
    }
    /// NUL-terminated and zero filled to a multiple of 8.
    void put_string(std::string_view s) {
        put_bytes(s.data(), s.size());
        bytes_.resize(bytes_.size() + string_size(s) - s.size());
    }
    void pad_to(std::size_t size) { bytes_.resize(size); }
    static std::size_t string_size(std::string_view s) { return (s.size() + 8) & ~std::size_t{7}; }
    std::span<const std::uint8_t> bytes() const { return bytes_; }

  private:
    std::vector<std::uint8_t> bytes_;
};

/// Writes a record that is not a sample: header, what `fill` puts into a body of `body_size` bytes, trailer. The body is
/// made after the room has been reserved, so that times in it are not earlier than the trailer's.
template <class Fill>
bool perf_output_record(Perf::Impl& perf, PerfEvent& event, std::uint32_t type, std::uint16_t misc,
                        std::size_t body_size, Fill&& fill) {
    perf_event_header header{type, misc, static_cast<std::uint16_t>(sizeof(perf_event_header) + body_size)};
    PerfSampleData data;
    PerfOutputHandle handle;
    perf_event_header__init_id(perf, header, data, event);
    if (perf_output_begin(perf, handle, data, event, header.size)) return false;
    RecordBody body(sizeof header + body_size);
    body.put_bytes(&header, sizeof header);
    fill(body);
    if (body.bytes().size() != sizeof header + body_size)
        throw std::logic_error("perf_output_record: a body of another size than announced");
    perf_output_copy(handle, body.bytes().data(), body.bytes().size());
    perf_event__output_id_sample(event, handle, data);
    perf_output_end(handle);
    return true;
}

} // namespace rkperf::ke
