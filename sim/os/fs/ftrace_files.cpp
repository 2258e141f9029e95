// SPDX-License-Identifier: Apache-2.0
#include "sim/os/fs/ftrace_files.h"

#include "kernel_events/trace/trace_buffer.h"
#include "kernel_events/trace/trace_events.h"
#include "sim/os/fs/file_kinds.h"
#include "sim/os/fs/tracefs_text.h"
#include "sim/os/kernel.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace rkperf::os {

namespace {

/// What there is, and the syntax of probes in the words that tools look for (perf probe: which fetch arguments it may use).
constexpr const char* kReadme =
    R"(tracefs of the simulated kernel: events and ftrace's own ring. There are no tracers but nop.

  available_events, set_event, events/	- events: id, format, enable, filter
  set_event_pid, set_event_notrace_pid	- of which tasks; options/event-fork: and of their children
  trace, trace_pipe, trace_marker	- what was recorded: to look at, to consume, to write into
  tracing_on, buffer_size_kb, trace_clock, timestamp_mode	- the ring
  dynamic_events	- Create/append/remove/show probes of both kinds
  kprobe_events	- Create/append/remove/show probes of kernel functions
	 accepts: p[:[<group>/][<event>]] <place> [<args>]
	          r[maxactive][:[<group>/][<event>]] <place> [<args>]
	          -:[<group>/][<event>]
  uprobe_events	- Create/append/remove/show probes of programs
	    place: [<module>:]<symbol>[+<offset>]|<memaddr>
place (kretprobe): [<module>:]<symbol>[+<offset>]%return|<memaddr>
   place (uprobe): <path>:<offset>[%return][(ref_ctr_offset)]
	     args: <name>=fetcharg[:type]
	 fetcharg: %<register>, @<address>, @<symbol>[+|-<offset>],
	           $stack<index>, $stack, $retval, $comm, $arg<N>,
	           +|-[u]<offset>(<fetcharg>), \imm-value, \"imm-string"
	     type: s8/16/32/64, u8/16/32/64, x8/16/32/64, string, symbol,
	           b<bit-width>@<bit-offset>/<container-size>, ustring,
	           <type>\[<array-size>\]
  kprobe_profile, uprobe_profile	- hits and misses of each probe
)";

using ke::TraceBuffer;

constexpr std::uint32_t kRead = 0440, kReadWrite = 0640, kWrite = 0220;
constexpr const char* kClocks[] = {"local", "global", "counter", "uptime", "perf", "mono", "mono_raw", "boot", "tai"};
constexpr std::size_t kMaxBufferKb = 1 << 20;

/// What is set beyond the ring buffer itself.
struct Ftrace {
    explicit Ftrace(Kernel& k) : k(k), readers(k) {}
    Kernel& k;
    WaitQueueHead readers; ///< of trace_pipe
    std::string clock{"local"};
    unsigned buffer_percent{50}; ///< of a ring that must be in use before a reader of whole pages is woken

    TraceBuffer& buffer() const { return k.perf().trace_events().buffer(); }
    ke::Kprobes& kprobes() const { return k.perf().kprobes(); }
    int online() { return std::popcount(static_cast<std::uint64_t>(k.cpu_online_mask())); }
};
using FtracePtr = std::shared_ptr<Ftrace>;

/// Whether poll() finds data: one CPU's reader waits for as much as buffer_percent says.
bool has_data(const Ftrace& f, int cpu) {
    const TraceBuffer& buffer = f.buffer();
    return cpu != TraceBuffer::kAllCpus && f.buffer_percent ? buffer.full_hit(cpu, f.buffer_percent)
                                                            : !buffer.empty(cpu);
}

void wake_on_data(const FtracePtr& ftrace) {
    ftrace->buffer().wake_readers = [f = std::weak_ptr(ftrace)] {
        if (const FtracePtr alive = f.lock()) alive->readers.wake_up_all();
    };
}

/// Records are taken out by reading; a reader sleeps until there is one.
class TracePipe final : public NamedFile {
  public:
    TracePipe(const DentryPtr& name, std::uint32_t flags, FtracePtr ftrace, int cpu)
        : NamedFile(name, flags), f_(std::move(ftrace)), cpu_(cpu) {
        wake_on_data(f_);
    }
    ~TracePipe() override {
        if (polled_) --f_->buffer().sleeping_readers;
        detach_watchers();
    }

    std::int64_t read(std::span<std::uint8_t> to) override {
        TraceBuffer& buffer = f_->buffer();
        while (rest_.empty() && buffer.empty(cpu_)) {
            if (nonblock()) return -EAGAIN;
            if (!buffer.tracing_on && read_any_) return 0;
            ++buffer.sleeping_readers;
            const std::int64_t r = s().wait(f_->readers, [&] { return !buffer.empty(cpu_); });
            --buffer.sleeping_readers;
            if (r) return r;
        }
        while (rest_.size() < std::min(to.size(), kPageSize) && buffer.consume(cpu_, f_->kprobes(), rest_)) {
        }
        const std::size_t n = std::min(to.size(), rest_.size());
        std::memcpy(to.data(), rest_.data(), n);
        rest_.erase(0, n);
        read_any_ = true;
        return static_cast<std::int64_t>(n);
    }
    ke::PollMask poll(WaitQueueHead*& wq) override {
        wq = &f_->readers;
        // Somebody who polls is not seen to sleep: data must wake the queue from now on.
        if (!polled_) ++f_->buffer().sleeping_readers;
        polled_ = true;
        return rest_.empty() && !has_data(*f_, cpu_) ? 0 : abi::epollin | abi::epollrdnorm;
    }

  private:
    FtracePtr f_;
    int cpu_;
    std::string rest_; ///< of a line that did not fit
    bool read_any_{}, polled_{};
};

/// trace_pipe_raw: one CPU's data as it lies in the ring. read() gives what there is, splice() whole pages only.
class TraceRaw final : public NamedFile {
  public:
    TraceRaw(const DentryPtr& name, std::uint32_t flags, FtracePtr ftrace, int cpu)
        : NamedFile(name, flags), f_(std::move(ftrace)), cpu_(cpu) {
        wake_on_data(f_);
    }
    ~TraceRaw() override {
        if (polled_) --f_->buffer().sleeping_readers;
        detach_watchers();
    }

    std::int64_t read(std::span<std::uint8_t> to) override {
        if (to.empty()) return 0;
        while (read_ >= page_.size()) {
            if (f_->buffer().take_page(cpu_, to.size(), false, page_)) {
                read_ = 0;
                break;
            }
            if (!f_->buffer().empty(cpu_)) return 0; // no room for the first record
            if (nonblock()) return -EAGAIN;
            if (const std::int64_t r = wait([&] { return !f_->buffer().empty(cpu_); })) return r;
        }
        const std::size_t n = std::min(to.size(), page_.size() - read_);
        std::memcpy(to.data(), page_.data() + read_, n);
        read_ += n;
        pos += n;
        return static_cast<std::int64_t>(n);
    }
    std::int64_t splice_read(std::span<std::uint8_t> to, bool no_wait) override {
        if (pos % kPageSize || to.size() < kPageSize) return -EINVAL;
        TraceBuffer& buffer = f_->buffer();
        std::size_t n = 0;
        TraceBuffer::RawPage page;
        for (;;) {
            for (; n + kPageSize <= to.size() && buffer.take_page(cpu_, kPageSize, true, page); n += kPageSize)
                std::memcpy(to.data() + n, page.data(), page.size());
            if (n) break;
            if (no_wait || nonblock()) return -EAGAIN;
            const std::int64_t r = wait([&] {
                const bool enough = !f_->buffer_percent || buffer.full_hit(cpu_, f_->buffer_percent);
                return !buffer.tracing_on || (buffer.has_whole_page(cpu_) && enough);
            });
            if (r || !buffer.tracing_on) return r;
        }
        pos += n;
        return static_cast<std::int64_t>(n);
    }
    ke::PollMask poll(WaitQueueHead*& wq) override {
        wq = &f_->readers;
        if (!polled_) ++f_->buffer().sleeping_readers;
        polled_ = true;
        return has_data(*f_, cpu_) ? abi::epollin | abi::epollrdnorm : 0;
    }
    std::int64_t lseek(std::int64_t, int) override { return -ESPIPE; }

  private:
    std::int64_t wait(const std::function<bool()>& ready) {
        ++f_->buffer().sleeping_readers;
        const std::int64_t r = s().wait(f_->readers, ready);
        --f_->buffer().sleeping_readers;
        return r;
    }

    FtracePtr f_;
    int cpu_;
    TraceBuffer::RawPage page_{};
    std::size_t read_{page_.size()}; ///< of page_
    bool polled_{};
};

template <class Opened>
class TracePipeNode final : public Node {
  public:
    TracePipeNode(FileSystem& fs, FtracePtr ftrace, int cpu)
        : Node(fs, S_IFREG | kRead), f_(std::move(ftrace)), cpu_(cpu) {}
    int open(const DentryPtr& name, std::uint32_t flags, FileHandle& out) override {
        out = std::make_shared<Opened>(name, flags, f_, cpu_);
        return 0;
    }

  private:
    FtracePtr f_;
    int cpu_;
};

ShowFn show(std::function<std::string()> fn) {
    return [fn = std::move(fn)](std::string& out) {
        out = fn();
        return 0;
    };
}

/// trace, trace_pipe and buffer_size_kb of one CPU or of all, below `path`.
void add_buffer_files(AttrFs& fs, const FtracePtr& f, const std::string& path, int cpu) {
    fs.add_file(path + "trace", kReadWrite, show([f, cpu] { return f->buffer().text(cpu, f->kprobes(), f->online()); }),
                [f, cpu](std::string_view text) {
                    if (ke::is_truncated(text)) f->buffer().clear(cpu); // O_TRUNC; what is written does nothing
                    return static_cast<std::int64_t>(text.size());
                });
    fs.add_node(path + "trace_pipe", std::make_shared<TracePipeNode<TracePipe>>(fs, f, cpu));
    fs.add_file(path + "buffer_size_kb", kReadWrite, show([f, cpu]() -> std::string {
                    if (!f->buffer().expanded()) return cpu == TraceBuffer::kAllCpus ? "7 (expanded: 1408)\n" : "7\n";
                    return std::to_string(f->buffer().size_kb()) + "\n";
                }),
                taking_number(kMaxBufferKb, [f](std::uint64_t kb) {
                    if (!kb) return -EINVAL;
                    f->buffer().resize(kb * 1024);
                    return 0;
                }));
}

void add_switches(AttrFs& fs, const FtracePtr& f) {
    fs.add_file("tracing_on", kReadWrite, show([f]() -> std::string { return f->buffer().tracing_on ? "1\n" : "0\n"; }),
                taking_number(~0ull, [f](std::uint64_t on) {
                    f->buffer().tracing_on = on != 0;
                    if (!on) f->readers.wake_up_all();
                    return 0;
                }));
    fs.add_file("trace_clock", kReadWrite, show([f] {
                    std::string out;
                    for (const char* name : kClocks) {
                        if (!out.empty()) out += ' ';
                        out += f->clock == name ? std::string("[").append(name).append("]") : std::string(name);
                    }
                    return out + "\n";
                }),
                taking([f](std::string_view text) {
                    for (const char* name : kClocks)
                        if (trim(text) == name) {
                            // All of them run alike here; another one empties the buffer, as on Linux.
                            f->clock = name;
                            f->buffer().clear();
                            return 0;
                        }
                    return -EINVAL;
                }));
    fs.add_file("buffer_percent", kReadWrite, show([f] { return std::to_string(f->buffer_percent) + "\n"; }),
                taking_number(100, [f](std::uint64_t percent) {
                    f->buffer_percent = static_cast<unsigned>(percent);
                    return 0;
                }));
    fs.add_file("trace_marker", kWrite, {}, [f](std::string_view text) -> std::int64_t {
        return text.empty() ? 0 : f->buffer().write_marker(text);
    });
}

void add_event_pids(AttrFs& fs, const FtracePtr& f) {
    using List = ke::EventPids::List;
    const auto pids = [f]() -> ke::EventPids& { return f->k.perf().trace_events().pids(); };
    for (const auto& [name, list] : {std::pair{"set_event_pid", List::only}, {"set_event_notrace_pid", List::except}})
        fs.add_file(name, kReadWrite, show([pids, list = list] { return pids().text(list); }),
                    [pids, list = list](std::string_view text) -> std::int64_t {
                        if (ke::is_truncated(text)) pids().clear(list);
                        const int error = pids().store(list, text);
                        return error ? error : static_cast<std::int64_t>(text.size());
                    });
    fs.add_file("options/event-fork", kReadWrite,
                show([pids]() -> std::string { return pids().event_fork ? "1\n" : "0\n"; }),
                taking_switch([pids](bool on) {
                    pids().event_fork = on;
                    return 0;
                }));
}

} // namespace

void add_ftrace_files(AttrFs& fs, Kernel& k) {
    const auto f = std::make_shared<Ftrace>(k);
    add_switches(fs, f);
    add_buffer_files(fs, f, "", TraceBuffer::kAllCpus);
    for (int cpu = 0; cpu < k.num_cpus(); ++cpu) {
        const std::string path = "per_cpu/cpu" + std::to_string(cpu) + "/";
        add_buffer_files(fs, f, path, cpu);
        fs.add_node(path + "trace_pipe_raw", std::make_shared<TracePipeNode<TraceRaw>>(fs, f, cpu));
        fs.add_file(path + "stats", kRead, show([f, cpu] { return f->buffer().stats(cpu); }));
    }
    fs.add_file("buffer_total_size_kb", kRead, show([f]() -> std::string {
                    const auto cpus = static_cast<std::size_t>(f->k.num_cpus());
                    if (f->buffer().expanded()) return std::to_string(f->buffer().size_kb() * cpus) + "\n";
                    return std::to_string(7 * cpus) + " (expanded: " + std::to_string(1408 * cpus) + ")\n";
                }));
    // The function tracers are not there: kernel functions run natively and have no place to patch.
    fs.add_file("README", kRead, constant(kReadme));
    fs.add_file("available_tracers", kRead, constant("nop\n"));
    fs.add_file("current_tracer", kReadWrite, constant("nop\n"), taking([f](std::string_view text) {
                    f->buffer().expand();
                    return trim(text) == "nop" ? 0 : -EINVAL;
                }));
    fs.add_file("saved_cmdlines", kRead, show([f] { return f->buffer().saved_cmdlines(); }));
    fs.add_file("saved_cmdlines_size", kRead, constant("128\n"));
    fs.add_file("saved_tgids", kRead, constant(""));
    add_event_pids(fs, f);
    fs.add_file("timestamp_mode", kRead, constant("[delta] absolute\n"));
    fs.add_dir("instances");
}

} // namespace rkperf::os
