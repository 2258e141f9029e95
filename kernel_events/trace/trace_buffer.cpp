// SPDX-License-Identifier: Apache-2.0
#include "kernel_events/trace/trace_buffer.h"

#include "kernel_events/internal.h"
#include "kernel_events/kprobes.h"
#include "kernel_events/trace/print_fmt.h"
#include "kernel_events/trace/trace_events.h"
#include "kernel_events/trace/tracepoints.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rkperf::ke {

namespace {

constexpr int kPrintType = 5; ///< TRACE_PRINT
constexpr std::size_t kPrintIp = 8, kPrintText = 16, kMarkerMax = 1024;
/// A marker has room for what stands for a text that could not be read, and for a line's end.
constexpr std::size_t kFaultedText = 9, kTextEnd = 2;
/// What a record of text has in place of the writer's address.
constexpr std::string_view kPrinters[] = {"tracing_mark_write", "bpf_trace_printk"};
/// Instructions of reserving and committing an entry: an estimate.
constexpr std::uint32_t kWriteCost = 110;
/// A difference of time that does not fit 27 bits takes an entry of its own.
constexpr std::uint64_t kMaxDelta = std::uint64_t{1} << 27;
constexpr std::size_t kExtendBytes = 8, kMaxSmallData = 112;
/// Lengths with a meaning of their own in an entry's first word, and flags in the head of a page.
constexpr std::uint32_t kPadding = 29, kTimeExtend = 30;
constexpr std::size_t kMinEntry = 8;
constexpr std::uint64_t kMissedEvents = 1u << 31, kMissedStored = 1u << 30;

/// Bytes of data in words. Eight get a ninth to twelfth: an entry must not be one word longer than one for time.
std::size_t ring_data(std::size_t data) {
    const std::size_t words = (data + 3) & ~std::size_t{3};
    return words == 8 ? 12 : words;
}
/// Bytes of an entry in the ring: a word that holds time and length, another one for a long one, data in words.
std::size_t ring_bytes(std::size_t data) {
    const std::size_t words = ring_data(data);
    return words + (words > kMaxSmallData ? 8 : 4);
}

/// Writes entries as they lie in a page.
class PageWriter {
  public:
    explicit PageWriter(TraceBuffer::RawPage& page) : page_(page) {}
    void word(std::uint64_t v) { put(static_cast<std::uint32_t>(v)); }
    void entry(std::span<const std::uint8_t> data, std::uint64_t delta) {
        if (delta >= kMaxDelta) {
            word(kTimeExtend | (delta & (kMaxDelta - 1)) << 5);
            word(delta / kMaxDelta);
            delta = 0;
        }
        const std::size_t words = ring_data(data.size());
        const bool small = words <= kMaxSmallData;
        word((small ? words / 4 : 0) | delta << 5);
        if (!small) word(words + 4);
        std::memcpy(page_.data() + at_, data.data(), data.size());
        at_ += words;
    }
    void padding(std::size_t bytes) {
        word(kPadding | 1u << 5);
        word(bytes - 4);
        at_ += bytes - kMinEntry;
    }
    void put(auto v) {
        std::memcpy(page_.data() + at_, &v, sizeof v);
        at_ += sizeof v;
    }
    std::size_t bytes() const { return at_ - TraceBuffer::kPageHead; }

  private:
    TraceBuffer::RawPage& page_;
    std::size_t at_{TraceBuffer::kPageHead};
};

TraceEntry entry_of(std::span<const std::uint8_t> record) {
    TraceEntry e;
    std::memcpy(&e, record.data(), sizeof e);
    return e;
}

/// irqs-off, need-resched, hardirq/softirq, preempt-depth, migrate-disable (trace_print_lat_fmt).
std::string context_letters(const TraceEntry& e) {
    const bool need = e.flags & TRACE_FLAG_NEED_RESCHED, folded = e.flags & TRACE_FLAG_PREEMPT_RESCHED;
    const bool nmi = e.flags & TRACE_FLAG_NMI, hard = e.flags & TRACE_FLAG_HARDIRQ, soft = e.flags & TRACE_FLAG_SOFTIRQ;
    std::string out;
    out += e.flags & TRACE_FLAG_IRQS_OFF ? 'd' : '.';
    out += need && folded ? 'N' : need ? 'n' : folded ? 'p' : '.';
    out += nmi && hard ? 'Z' : nmi ? 'z' : hard && soft ? 'H' : hard ? 'h' : soft ? 's' : '.';
    const auto depth = [](unsigned n) { return n ? "0123456789abcdef"[n & 15] : '.'; };
    out += depth(e.preempt_count & 15u);
    out += depth(e.preempt_count >> 4u);
    return out;
}

std::string seconds(std::uint64_t ns) {
    char b[40];
    std::snprintf(b, sizeof b, "%5llu.%06u", static_cast<unsigned long long>(ns / NSEC_PER_SEC),
                  static_cast<unsigned>(ns % NSEC_PER_SEC / 1000));
    return b;
}

std::uint64_t word_at(std::span<const std::uint8_t> record, std::size_t at) {
    std::uint64_t v = 0;
    if (at + sizeof v <= record.size()) std::memcpy(&v, record.data() + at, sizeof v);
    return v;
}

/// "(place)" or "(return address <- function)" that a probe's text begins with; its format has plain numbers there.
std::string probe_head(const TraceEventCall& call, std::span<const std::uint8_t> record, Kprobes& kprobes) {
    const bool is_return = call.print_fmt.starts_with("\"(%lx <- %lx)");
    const auto place = [&](std::size_t at) {
        const std::uint64_t address = word_at(record, at);
        if (call.flags & TRACE_EVENT_FL_KPROBE) return kprobes.sprint_symbol(address);
        char b[24];
        std::snprintf(b, sizeof b, "0x%llx", static_cast<unsigned long long>(address));
        return std::string(b);
    };
    // A return probe's record has the function first, then where it returned to.
    if (is_return) return "(" + place(16) + " <- " + place(8) + ")";
    return "(" + place(8) + ")";
}

constexpr std::string_view kFault = "(fault)";

/// A string that could not be read has no length.
void mark_faults(const TraceEventCall& call, std::span<const std::uint8_t> record, std::string& text) {
    std::size_t from = 0; // a string may look like a field that comes later
    for (const TraceField& f : call.fields) {
        if (f.name.starts_with("common_") || f.name.starts_with("__probe")) continue;
        if (!f.type.starts_with("__data_loc")) {
            const std::size_t at = text.find(" " + f.name + "=", from);
            if (at != text.npos) from = at + f.name.size() + 2;
            continue;
        }
        const bool array = f.type.ends_with("]") && !f.type.ends_with("[]");
        const std::string shown = " " + f.name + (array ? "={" : "=");
        std::size_t at = text.find(shown, from);
        if (at == text.npos) continue;
        at += shown.size();
        for (unsigned i = 0; i < f.size / 4u; ++i) { // each in quotes, with a comma behind it
            std::uint32_t loc = 0;
            if (f.offset + 4 * i + sizeof loc > record.size()) break;
            std::memcpy(&loc, record.data() + f.offset + 4 * i, sizeof loc);
            const std::size_t offset = loc & 0xffff, length = loc >> 16;
            if (!length) text.replace(at, 2, kFault);
            const std::size_t chars = length && offset < record.size()
                                          ? strnlen(reinterpret_cast<const char*>(record.data() + offset),
                                                    std::min(length, record.size() - offset))
                                          : 0;
            at += (length ? chars + 2 : kFault.size()) + 1;
        }
        from = std::min(at, text.size()) - 1;
    }
}

/// "sys_NAME(arg: value, ...)" and "sys_NAME -> 0xresult".
std::string syscall_text(const TraceEventCall& call, std::span<const std::uint8_t> record) {
    char b[40];
    const bool exit = call.name.starts_with("sys_exit_");
    std::string out = "sys_" + call.name.substr(exit ? 9 : 10);
    if (exit) {
        std::snprintf(b, sizeof b, " -> 0x%llx", static_cast<unsigned long long>(word_at(record, 16)));
        return out + b;
    }
    out += '(';
    for (std::size_t i = 1; i < call.fields.size(); ++i) {
        const TraceField& f = call.fields[i];
        std::snprintf(b, sizeof b, ": %llx", static_cast<unsigned long long>(word_at(record, f.offset)));
        out.append(i > 1 ? ", " : "").append(f.name).append(b);
    }
    return out + ")";
}

} // namespace

std::size_t TraceBuffer::size_kb() const { return max_pages() * kPageData / 1024; }

void TraceBuffer::resize(std::size_t bytes) {
    limit_ = std::max(bytes, 2 * kPageData);
    expanded_ = true;
    for (Cpu& cpu : cpus_)
        while (cpu.pages.size() > max_pages() + 1) {
            cpu.entries -= cpu.pages.front().records.size();
            cpu.bytes -= cpu.pages.front().unread;
            cpu.pages.pop_front();
        }
}

void TraceBuffer::add(Cpu& cpu, Record record) {
    record.delta = cpu.pages.empty() ? 0 : record.ts - cpu.last_ts;
    std::size_t bytes = ring_bytes(record.data.size()) + (record.delta < kMaxDelta ? 0 : kExtendBytes);
    if (cpu.pages.empty() || cpu.pages.back().written + bytes > kPageData) {
        if (cpu.pages.size() > max_pages()) { // one more is the reader's
            const Page& old = cpu.pages.front();
            cpu.entries -= old.records.size();
            cpu.overrun += old.records.size();
            cpu.lost += old.records.size();
            cpu.bytes -= old.unread;
            cpu.pages.pop_front();
        }
        if (!cpu.pages.empty() && cpu.pages.back().records.empty()) cpu.pages.pop_back();
        cpu.pages.emplace_back();
        record.delta = 0; // a page begins with the time
        bytes = ring_bytes(record.data.size());
    }
    cpu.last_ts = record.ts;
    record.bytes = static_cast<std::uint32_t>(bytes);
    cpu.pages.back().written += bytes;
    cpu.pages.back().unread += bytes;
    cpu.pages.back().records.push_back(std::move(record));
    cpu.bytes += bytes;
    ++cpu.entries;
}

void TraceBuffer::write(std::span<const std::uint8_t> record, bool remember) {
    if (!tracing_on) return;
    k_.charge(kWriteCost);
    const auto cpu = static_cast<unsigned>(k_.smp_processor_id());
    const TaskBase& me = *k_.current();
    if (remember && me.pid) comms_[me.pid] = std::string(me.comm, strnlen(me.comm, sizeof me.comm));
    add(cpus_[cpu], {k_.local_clock(), {record.begin(), record.end()}, 0, 0});
    if (sleeping_readers && wake_readers && !wake_work_.pending) {
        wake_work_.func = wake_readers;
        k_.irq_work_queue(wake_work_);
    }
}

std::int64_t TraceBuffer::write_marker(std::string_view text) {
    if (!tracing_on) return -EBADF;
    text = text.substr(0, kMarkerMax);
    write_text(0, text);
    return static_cast<std::int64_t>(text.size());
}

void TraceBuffer::write_bpf_printk(std::string_view text) { write_text(1, text); }

void TraceBuffer::write_text(std::size_t printer, std::string_view text) {
    std::vector<std::uint8_t> record(kPrintText);
    TraceEntry entry{};
    entry.type = kPrintType;
    entry.pid = k_.current()->pid;
    std::memcpy(record.data(), &entry, sizeof entry);
    record[kPrintIp] = static_cast<std::uint8_t>(printer);
    record.insert(record.end(), text.begin(), text.end());
    if (text.empty() || text.back() != '\n') record.push_back('\n');
    record.push_back(0);
    // Only what users write may have to be replaced by a word of this length.
    const std::size_t least = printer ? 0 : kPrintText + std::max(text.size(), kFaultedText) + kTextEnd;
    record.resize(std::max(record.size(), least));
    write(record, false);
}

void TraceBuffer::clear(int cpu) {
    for (int c = 0; c < kMaxCpus; ++c)
        if (cpu == kAllCpus || cpu == c) cpus_[static_cast<unsigned>(c)] = {};
}

std::string TraceBuffer::body(std::span<const std::uint8_t> record, Kprobes& kprobes) const {
    const TraceEntry entry = entry_of(record);
    if (entry.type == kPrintType) {
        const auto* text = reinterpret_cast<const char*>(record.data() + kPrintText);
        return std::string(kPrinters[record[kPrintIp]])
            .append(": ")
            .append(text, strnlen(text, record.size() - kPrintText));
    }
    const TraceEventCall* call = events_.find(entry.type);
    if (!call) return "Unknown type " + std::to_string(entry.type) + "\n";
    if (call->system == "syscalls") return syscall_text(*call, record) + "\n";
    const PrintFmtSymbols symbols{[&](std::uint64_t a) { return kprobes.sprint_symbol(a); },
                                  [](std::uint64_t a) { return Tracepoints::printk_string(a); }};
    std::string text = render_print_fmt(call->print_fmt, call->fields, record, symbols);
    if (call->flags & (TRACE_EVENT_FL_KPROBE | TRACE_EVENT_FL_UPROBE))
        if (const auto end = text.find(')'); end != text.npos)
            text.replace(0, end + 1, probe_head(*call, record, kprobes));
    if (call->flags & (TRACE_EVENT_FL_KPROBE | TRACE_EVENT_FL_UPROBE)) mark_faults(*call, record, text);
    return call->name + ": " + text + "\n";
}

std::string TraceBuffer::line(int cpu, const Record& record, Kprobes& kprobes) const {
    const TraceEntry entry = entry_of(record.data);
    const auto known = comms_.find(entry.pid);
    const std::string comm = !entry.pid ? "<idle>" : known == comms_.end() ? "<...>" : known->second;
    char head[80];
    std::snprintf(head, sizeof head, "%16s-%-7d [%03d] ", comm.c_str(), entry.pid, cpu);
    return head + context_letters(entry) + " " + seconds(record.ts) + ": " + body(record.data, kprobes);
}

std::string TraceBuffer::text(int cpu, Kprobes& kprobes, int online_cpus) const {
    std::uint64_t entries = 0, written = 0;
    struct At {
        std::uint64_t ts;
        int cpu;
        const Record* record;
    };
    std::vector<At> all;
    for (int c = 0; c < kMaxCpus; ++c) {
        if (cpu != kAllCpus && cpu != c) continue;
        const Cpu& here = cpus_[static_cast<unsigned>(c)];
        entries += here.entries;
        written += here.entries + here.overrun;
        for (const Page& p : here.pages)
            for (const Record& r : p.records) all.push_back({r.ts, c, &r});
    }
    std::stable_sort(all.begin(), all.end(), [](const At& a, const At& b) { return a.ts < b.ts; });
    std::string out = "# tracer: nop\n#\n# entries-in-buffer/entries-written: ";
    out.append(std::to_string(entries)).append("/").append(std::to_string(written));
    out.append("   #P:").append(std::to_string(online_cpus)).append("\n#\n");
    out +=
        "#                                _-----=> irqs-off/BH-disabled\n"
        "#                               / _----=> need-resched\n"
        "#                              | / _---=> hardirq/softirq\n"
        "#                              || / _--=> preempt-depth\n"
        "#                              ||| / _-=> migrate-disable\n"
        "#                              |||| /     delay\n"
        "#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
        "#              | |         |   |||||     |         |\n";
    for (const At& a : all) out += line(a.cpu, *a.record, kprobes);
    return out;
}

int TraceBuffer::oldest(int cpu) const {
    int found = -1;
    for (int c = 0; c < kMaxCpus; ++c) {
        if (cpu != kAllCpus && cpu != c) continue;
        const Cpu& here = cpus_[static_cast<unsigned>(c)];
        if (here.empty()) continue;
        const auto ts = [&](int i) { return cpus_[static_cast<unsigned>(i)].pages.front().records.front().ts; };
        if (found < 0 || ts(c) < ts(found)) found = c;
    }
    return found;
}

bool TraceBuffer::empty(int cpu) const { return oldest(cpu) < 0; }

bool TraceBuffer::consume(int cpu, Kprobes& kprobes, std::string& out) {
    const int c = oldest(cpu);
    if (c < 0) return false;
    Cpu& here = cpus_[static_cast<unsigned>(c)];
    if (here.lost)
        out.append("CPU:")
            .append(std::to_string(c))
            .append(" [LOST ")
            .append(std::to_string(here.lost))
            .append(" EVENTS]\n");
    here.lost = 0;
    out += line(c, here.pages.front().records.front(), kprobes);
    drop_oldest(here);
    return true;
}

void TraceBuffer::drop_oldest(Cpu& cpu) {
    Page& page = cpu.pages.front();
    const std::uint32_t bytes = page.records.front().bytes;
    page.unread -= bytes;
    cpu.bytes -= bytes;
    page.records.pop_front();
    --cpu.entries;
    ++cpu.read;
    if (page.records.empty() && cpu.pages.size() > 1) cpu.pages.pop_front();
}

bool TraceBuffer::take_page(int cpu, std::size_t room, bool whole, RawPage& page) {
    Cpu& here = cpus_[static_cast<unsigned>(cpu)];
    if (here.empty() || room <= kPageHead) return false;
    room = std::min(room - kPageHead, kPageData);
    const Page& from = here.pages.front();
    if (whole && (here.pages.size() == 1 || from.unread > room)) return false;
    if (from.records.front().bytes > room) return false;
    page.fill(0);
    PageWriter writer(page);
    const std::uint64_t start = from.records.front().ts - from.records.front().delta;
    // Of a page that was begun before, what is behind the last record is taken along.
    const std::size_t behind = from.written > from.unread && here.pages.size() > 1 ? kPageData - from.written : 0;
    // The page goes when its last record is taken.
    for (std::size_t left = from.records.size(); left; --left) {
        const Record& record = here.pages.front().records.front();
        if (writer.bytes() + record.bytes > room) break;
        writer.entry(record.data, record.delta);
        drop_oldest(here);
        if (left == 1 && behind >= kMinEntry && writer.bytes() + behind <= room) writer.padding(behind);
    }
    std::uint64_t commit = writer.bytes();
    if (here.lost) {
        if (kPageData - commit >= sizeof here.lost) {
            writer.put(here.lost);
            commit |= kMissedStored;
        }
        commit |= kMissedEvents;
    }
    here.lost = 0;
    std::memcpy(page.data(), &start, sizeof start);
    std::memcpy(page.data() + sizeof start, &commit, sizeof commit);
    return true;
}

bool TraceBuffer::has_whole_page(int cpu) const { return cpus_[static_cast<unsigned>(cpu)].pages.size() > 1; }

bool TraceBuffer::full_hit(int cpu, unsigned percent) const {
    // The page that is being written counts as used, as else all could never be.
    return cpus_[static_cast<unsigned>(cpu)].pages.size() * 100 >= percent * max_pages();
}

std::string TraceBuffer::stats(int cpu) const {
    const Cpu& here = cpus_[static_cast<unsigned>(cpu)];
    const std::uint64_t first = here.empty() ? 0 : here.pages.front().records.front().ts;
    std::string out;
    const auto row = [&](std::string_view name, const std::string& value) {
        out.append(name).append(": ").append(value).append("\n");
    };
    row("entries", std::to_string(here.entries));
    row("overrun", std::to_string(here.overrun));
    row("commit overrun", "0");
    row("bytes", std::to_string(here.bytes));
    row("oldest event ts", seconds(first));
    row("now ts", seconds(k_.local_clock()));
    row("dropped events", "0");
    row("read events", std::to_string(here.read));
    return out;
}

std::string TraceBuffer::saved_cmdlines() const {
    std::string out;
    for (const auto& [pid, comm] : comms_) out.append(std::to_string(pid)).append(" ").append(comm).append("\n");
    return out;
}

} // namespace rkperf::ke
