// SPDX-License-Identifier: Apache-2.0
// ftrace's own ring buffer (kernel/trace/trace.c, ring_buffer.c): what events enabled by their `enable` file and writes to
// trace_marker leave, per CPU, for tracefs' trace and trace_pipe. perf's rings have nothing to do with it.
#pragma once

#include "kernel_events/kernel.h"
#include "kernel_events/trace/trace_field.h"

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rkperf::ke {

class TraceEvents;
class Kprobes;

class TraceBuffer {
  public:
    /// Bytes of data in a page of it, and what a CPU gets when it is first used (trace_buf_size).
    static constexpr std::size_t kPageData = 4080, kPageHead = 16, kDefaultBytes = 1441792;
    using RawPage = std::array<std::uint8_t, kPageHead + kPageData>;
    static constexpr int kAllCpus = -1;

    TraceBuffer(Kernel& kernel, TraceEvents& events) : k_(kernel), events_(events) {}

    bool tracing_on{true};
    /// Runs in interrupt context after data has come while a reader sleeps.
    std::function<void()> wake_readers;
    int sleeping_readers{};

    /// A record of an event, common fields first, on this CPU. `remember`: its task's name is kept for pid -> comm.
    void write(std::span<const std::uint8_t> record, bool remember = true);
    /// A write to trace_marker: bytes taken; -EBADF while tracing is off.
    std::int64_t write_marker(std::string_view text);
    /// What bpf_trace_printk prints.
    void write_bpf_printk(std::string_view text);
    void clear(int cpu = kAllCpus);

    bool expanded() const { return expanded_; }
    void expand() { expanded_ = true; }
    /// KiB that one CPU holds, and its limit in bytes set; both to the page.
    std::size_t size_kb() const;
    void resize(std::size_t bytes);

    /// Contents of `trace`: header and all there is, of one CPU or of all in order of time; nothing is taken out.
    std::string text(int cpu, Kprobes& kprobes, int online_cpus) const;
    bool empty(int cpu) const;
    /// Takes the oldest record out and renders it, with a note if some before it were overwritten; false: there is none.
    bool consume(int cpu, Kprobes& kprobes, std::string& out);
    /// Takes the oldest data out as it lies in the ring, for trace_pipe_raw: one page's at most, no more than `room` bytes
    /// with the page's head. `whole`: only a page that the writer has left. False: there is none, or no room for a record.
    bool take_page(int cpu, std::size_t room, bool whole, RawPage& page);
    /// Whether there is a page that the writer has left.
    bool has_whole_page(int cpu) const;
    /// Whether so much of a CPU's ring is in use that a reader who waits for `percent` of it is woken.
    bool full_hit(int cpu, unsigned percent) const;
    /// Contents of per_cpu/cpuN/stats.
    std::string stats(int cpu) const;
    std::string saved_cmdlines() const;

  private:
    struct Record {
        std::uint64_t ts;
        std::vector<std::uint8_t> data;
        std::uint64_t delta{}; ///< since what the ring has before it; 0 at a page's start
        std::uint32_t bytes{}; ///< in the ring, with an entry for the time before it
    };
    struct Page {
        std::deque<Record> records; ///< that nobody has taken out
        std::size_t written{}, unread{};
    };
    struct Cpu {
        std::deque<Page> pages; ///< oldest first; only the writer's, the last, can have no records
        bool empty() const { return pages.empty() || pages.front().records.empty(); }
        std::uint64_t entries{}, overrun{}, lost{}, bytes{}, read{}, last_ts{};
    };

    void write_text(std::size_t printer, std::string_view text);
    void add(Cpu& cpu, Record record);
    static void drop_oldest(Cpu& cpu);
    std::size_t max_pages() const { return (limit_ + kPageData - 1) / kPageData; }
    std::string line(int cpu, const Record& record, Kprobes& kprobes) const;
    std::string body(std::span<const std::uint8_t> record, Kprobes& kprobes) const;
    /// The CPU whose oldest record is the oldest of all; -1: none.
    int oldest(int cpu) const;

    Kernel& k_;
    TraceEvents& events_;
    std::array<Cpu, kMaxCpus> cpus_;
    std::map<std::int32_t, std::string> comms_;
    std::size_t limit_{kDefaultBytes};
    bool expanded_{};
    IrqWork wake_work_;
};

} // namespace rkperf::ke
