// SPDX-License-Identifier: Apache-2.0
// Fields of a sample that are one 64-bit word, in the order of the record (records.md section 4, CORE-370), and of the
// sample-id trailer (section 5). Between the groups come the fields of variable size.
#pragma once

#include "kernel_events/perf_event.h"

namespace rkperf::ke {

struct SampleField {
    std::uint64_t sample_type; ///< bits of which any asks for the field
    std::uint64_t (*value)(const PerfSampleData&);
    bool in_trailer; ///< part of the identification, whose size is id_header_size
};

namespace sample_value {
inline std::uint64_t pair(std::uint32_t low, std::uint32_t high) { return std::uint64_t{high} << 32 | low; }
inline std::uint64_t id(const PerfSampleData& d) { return d.id; }
inline std::uint64_t ip(const PerfSampleData& d) { return d.ip; }
inline std::uint64_t tid(const PerfSampleData& d) { return pair(d.pid, d.tid); }
inline std::uint64_t time(const PerfSampleData& d) { return d.time; }
inline std::uint64_t addr(const PerfSampleData& d) { return d.addr; }
inline std::uint64_t stream_id(const PerfSampleData& d) { return d.stream_id; }
inline std::uint64_t cpu(const PerfSampleData& d) { return pair(d.cpu, 0); }
inline std::uint64_t period(const PerfSampleData& d) { return d.period; }
inline std::uint64_t weight(const PerfSampleData& d) { return d.weight; }
inline std::uint64_t data_src(const PerfSampleData& d) { return d.data_src; }
inline std::uint64_t txn(const PerfSampleData& d) { return d.txn; }
inline std::uint64_t phys_addr(const PerfSampleData& d) { return d.phys_addr; }
inline std::uint64_t cgroup(const PerfSampleData& d) { return d.cgroup; }
inline std::uint64_t data_page_size(const PerfSampleData& d) { return d.data_page_size; }
inline std::uint64_t code_page_size(const PerfSampleData& d) { return d.code_page_size; }
} // namespace sample_value

inline constexpr std::uint64_t kSampleWeightType = PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT;

/// Before READ, CALLCHAIN, RAW, BRANCH_STACK, REGS_USER, STACK_USER.
inline constexpr SampleField kSampleHead[] = {
    {PERF_SAMPLE_IDENTIFIER, sample_value::id, true},
    {PERF_SAMPLE_IP, sample_value::ip, false},
    {PERF_SAMPLE_TID, sample_value::tid, true},
    {PERF_SAMPLE_TIME, sample_value::time, true},
    {PERF_SAMPLE_ADDR, sample_value::addr, false},
    {PERF_SAMPLE_ID, sample_value::id, true},
    {PERF_SAMPLE_STREAM_ID, sample_value::stream_id, true},
    {PERF_SAMPLE_CPU, sample_value::cpu, true},
    {PERF_SAMPLE_PERIOD, sample_value::period, false},
};
/// Before REGS_INTR.
inline constexpr SampleField kSampleMiddle[] = {
    {kSampleWeightType, sample_value::weight, false},
    {PERF_SAMPLE_DATA_SRC, sample_value::data_src, false},
    {PERF_SAMPLE_TRANSACTION, sample_value::txn, false},
};
/// Before AUX.
inline constexpr SampleField kSampleTail[] = {
    {PERF_SAMPLE_PHYS_ADDR, sample_value::phys_addr, false},
    {PERF_SAMPLE_CGROUP, sample_value::cgroup, false},
    {PERF_SAMPLE_DATA_PAGE_SIZE, sample_value::data_page_size, false},
    {PERF_SAMPLE_CODE_PAGE_SIZE, sample_value::code_page_size, false},
};
inline constexpr SampleField kSampleIdTrailer[] = {
    {PERF_SAMPLE_TID, sample_value::tid, true}, {PERF_SAMPLE_TIME, sample_value::time, true},
    {PERF_SAMPLE_ID, sample_value::id, true},   {PERF_SAMPLE_STREAM_ID, sample_value::stream_id, true},
    {PERF_SAMPLE_CPU, sample_value::cpu, true}, {PERF_SAMPLE_IDENTIFIER, sample_value::id, true},
};

/// The words of a group of fields that `sample_type` asks for; there are never more than ten.
class SampleWords {
  public:
    template <std::size_t N>
    SampleWords(const SampleField (&fields)[N], std::uint64_t sample_type, const PerfSampleData& data) {
        static_assert(N <= 10);
        for (const SampleField& f : fields)
            if (f.sample_type & sample_type) words_[n_++] = f.value(data);
    }
    operator std::span<const std::uint64_t>() const { return {words_.data(), n_}; }

  private:
    std::array<std::uint64_t, 10> words_;
    std::size_t n_{};
};

} // namespace rkperf::ke
