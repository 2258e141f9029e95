// SPDX-License-Identifier: Apache-2.0
#include "kernel_events/trace/trace_uprobe.h"

#include "kernel_events/internal.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace rkperf::ke {

namespace {

constexpr std::string_view kSystem = "uprobes", kLog = "trace_uprobe";
constexpr unsigned kFlags = TRACE_EVENT_FL_UPROBE | TRACE_EVENT_FL_CAP_ANY | TRACE_EVENT_FL_DYNAMIC;
constexpr std::size_t kBufferSize = 4096; ///< MAX_UCB_BUFFER_SIZE
constexpr std::uint64_t kPageBytes = 4096;

/// User memory of current, by way of page faults if need be.
class UserFetch final : public FetchContext {
  public:
    UserFetch(Kernel& k, std::uint64_t base) : k_(k), base_(base) {}
    std::uint64_t stack_word(const PtRegs& regs, unsigned n) override {
        std::uint64_t v = 0;
        return read(&v, regs.sp + n * sizeof v, sizeof v) ? v : 0;
    }
    bool read(void* to, std::uint64_t from, std::size_t n) override { return k_.copy_from_user(to, from, n); }
    bool read_user(void* to, std::uint64_t from, std::size_t n) override { return read(to, from, n); }
    bool read_string(std::uint64_t from, std::size_t max, bool, std::string& out) override {
        while (out.size() < max) {
            char part[256];
            const std::size_t n =
                std::min({sizeof part, max - out.size(), static_cast<std::size_t>(kPageBytes - from % kPageBytes)});
            if (!k_.copy_from_user(part, from, n)) return false;
            const auto* end = static_cast<const char*>(std::memchr(part, 0, n));
            out.append(part, end ? static_cast<std::size_t>(end - part) : n);
            if (end) return true;
            from += n;
        }
        return true; // cut off
    }
    bool reads_definition() const override { return false; } ///< Linux looks for it in the program's memory
    std::uint64_t file_address(std::uint64_t offset) override { return base_ + offset; }
    std::string symbol_text(std::uint64_t address) override {
        char text[32];
        std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
        return text;
    }
    std::string comm() override { return k_.current()->comm; }

  private:
    Kernel& k_;
    std::uint64_t base_; ///< where the file's offset 0 would be
};

bool perf_filter(const TraceProbeEvent& event, const MmInfo* mm) {
    return event.nr_systemwide || std::any_of(event.perf_events.begin(), event.perf_events.end(),
                                              [&](const PerfEvent* e) { return e->hw.target->mm == mm; });
}

/// A thread that has ended has no memory any more, but its event, which another one of its process may have, counts on.
bool made_for_thread_of(const TraceProbeEvent& event, const TaskBase& task) {
    return std::any_of(event.perf_events.begin(), event.perf_events.end(),
                       [&](const PerfEvent* e) { return e->hw.target->tgid == task.tgid; });
}

} // namespace

std::string TraceUprobe::place() const {
    char text[64];
    std::snprintf(text, sizeof text, ":0x%016llx", static_cast<unsigned long long>(offset));
    std::string s = filename + text;
    if (ref_ctr_offset) {
        std::snprintf(text, sizeof text, "(0x%llx)", static_cast<unsigned long long>(ref_ctr_offset));
        s += text;
    }
    return s;
}

TraceUprobes::TraceUprobes(Perf::Impl& perf, Uprobes& uprobes, UprobeServices& services, TraceEvents& events,
                           DynEvents& dynamic)
    : perf_(perf), k_(perf.kernel), uprobes_(uprobes), s_(services), events_(events), dynamic_(dynamic) {}

// --- definitions ---

std::unique_ptr<TraceUprobe> TraceUprobes::alloc(std::string group, std::string event, bool is_return) {
    auto tu = std::make_unique<TraceUprobe>();
    tu->is_return = is_return;
    tu->event = std::make_shared<TraceProbeEvent>();
    tu->event->call.system = std::move(group);
    tu->event->call.name = std::move(event);
    tu->event->probes.push_back(tu.get());
    TraceProbeEvent* const owner = tu->event.get();
    owner->call.reg = [this, owner](TraceReg what, PerfEvent* e) { return reg(*owner, what, e); };
    TraceUprobe* const p = tu.get();
    tu->consumer.handler = [this, p](UprobeConsumer&, PtRegs& regs) { return dispatch(*p, regs); };
    if (is_return)
        tu->consumer.ret_handler = [this, p](UprobeConsumer&, std::uint64_t func, PtRegs& regs) {
            dispatch_return(*p, func, regs);
            return 0;
        };
    return tu;
}

int TraceUprobes::create(std::vector<std::string> argv) {
    const char kind = argv[0][0];
    if ((kind != 'p' && kind != 'r') || argv.size() < 2 || argv[1].find('/') == std::string::npos) return -ECANCELED;
    bool is_return = kind == 'r';
    const auto colon = argv[1].rfind(':');
    if (colon == std::string::npos || !std::isdigit(static_cast<unsigned char>(argv[1][colon + 1]))) return -ECANCELED;
    ProbeParse parse(events_, kLog, std::move(argv));
    const std::string_view spec = parse.argv[1];
    const std::string filename(spec.substr(0, colon));
    std::shared_ptr<ProbedInode> inode;
    if (const int e = s_.kern_path(filename, inode)) return parse.err(1, 0, "Failed to find the given file", e);
    if (!inode->regular()) return parse.err(1, 0, "Not a regular file", -EINVAL);

    std::string_view place = spec.substr(colon + 1);
    std::uint64_t ref_ctr_offset = 0, offset = 0;
    const auto at = [&](std::string_view part) { return static_cast<std::size_t>(part.data() - spec.data()); };
    if (const auto open = place.find('('); open != std::string_view::npos) {
        const std::string_view counter = place.substr(open + 1);
        const auto close = counter.find(')');
        if (close == std::string_view::npos)
            return parse.err(1, spec.size(), "Reference counter brace is not closed", -EINVAL);
        if (close + 1 != counter.size())
            return parse.err(1, at(counter) + close + 1, "Reference counter has wrong suffix", -EINVAL);
        if (const int e = kstrtoul(counter.substr(0, close), 0, ref_ctr_offset))
            return parse.err(1, at(counter), "Invalid reference counter offset", e);
        place = place.substr(0, open);
    }
    if (const auto percent = place.find('%'); percent != std::string_view::npos) {
        if (place.substr(percent) != "%return")
            return parse.err(1, at(place) + percent, "Invalid probed address suffix", -EINVAL);
        is_return = true;
        place = place.substr(0, percent);
    }
    if (const int e = kstrtoul(place, 0, offset)) return parse.err(1, at(place), "Invalid uprobe offset", e);

    std::string group(kSystem), event;
    if (parse.argv[0].size() > 1 && parse.argv[0][1] == ':')
        if (const int e = traceprobe_parse_event_name(parse, 2, group, event)) return e;
    if (event.empty()) {
        const std::string base = filename.substr(filename.rfind('/') + 1);
        char text[MAX_EVENT_NAME_LEN];
        std::snprintf(text, sizeof text, "p_%s_0x%llx", base.substr(0, base.find_first_of(".-_")).c_str(),
                      static_cast<unsigned long long>(offset));
        event = text;
    }
    std::unique_ptr<TraceUprobe> tu = alloc(std::move(group), std::move(event), is_return);
    tu->inode = std::move(inode);
    tu->filename = filename;
    tu->offset = offset;
    tu->ref_ctr_offset = ref_ctr_offset;
    for (std::size_t i = 0; i + 2 < parse.argv.size() && i < MAX_TRACE_ARGS; ++i)
        if (const int e = traceprobe_parse_probe_arg(parse, i, is_return ? TPARG_FL_RETURN : 0, tu->args, tu->size))
            return e;
    return register_trace_uprobe(parse, std::move(tu));
}

int TraceUprobes::register_trace_uprobe(ProbeParse& parse, std::unique_ptr<TraceUprobe> tu) {
    bool mismatch = false;
    dynamic_.for_each(this, [&](const TraceProbe& p) {
        const auto& other = static_cast<const TraceUprobe&>(p);
        mismatch = mismatch || (other.inode->key() == tu->inode->key() && other.offset == tu->offset &&
                                other.ref_ctr_offset != tu->ref_ctr_offset);
    });
    if (mismatch) {
        k_.pr_info("Reference counter offset mismatch.");
        return -EINVAL;
    }
    if (TraceProbe* old = dynamic_.find(*this, tu->name(), tu->group())) {
        if (old->is_return != tu->is_return)
            return parse.err(0, 0, "Probe type is different from existing probe", -EEXIST);
        return append(parse, std::move(tu), static_cast<TraceUprobe&>(*old));
    }
    tu->describe(kFlags);
    if (const int e = events_.trace_add_event_call(tu->event->call))
        return parse.err(0, 0, "Given group/event name is already used by another event", e);
    dynamic_.add(*this, std::move(tu));
    return 0;
}

int TraceUprobes::append(ProbeParse& parse, std::unique_ptr<TraceUprobe> tu, TraceUprobe& to) {
    if (const std::size_t n = trace_probe_compare_arg_type(tu->args, to.args))
        return parse.err(n + 1, 0, "Argument type or name is different from existing probe", -EEXIST);
    for (const TraceProbe* p : to.event->probes) {
        const auto& other = static_cast<const TraceUprobe&>(*p);
        if (other.inode->key() != tu->inode->key() || other.offset != tu->offset) continue;
        const bool same = std::equal(other.args.begin(), other.args.end(), tu->args.begin(),
                                     [](const ProbeArg& a, const ProbeArg& b) { return a.comm == b.comm; });
        if (same) return parse.err(0, 0, "There is already the exact same probe event", -EEXIST);
    }
    tu->event = to.event;
    tu->event->probes.push_back(tu.get());
    dynamic_.add(*this, std::move(tu));
    return 0;
}

int TraceUprobes::release(TraceProbe& probe) {
    auto& tu = static_cast<TraceUprobe&>(probe);
    TraceProbeEvent& event = *tu.event;
    if (event.probes.size() == 1) {
        if (event.call.busy()) return -EBUSY;
        if (const int e = events_.trace_remove_event_call(event.call)) return e;
    }
    std::erase(event.probes, &tu);
    if (tu.registered) uprobes_.uprobe_unregister(*tu.inode, tu.offset, tu.consumer);
    dynamic_.remove(tu);
    return 0;
}

std::string TraceUprobes::profile() const {
    std::string text;
    dynamic_.for_each(this, [&](const TraceProbe& p) {
        char numbers[96];
        std::snprintf(numbers, sizeof numbers, " %-44s %15llu\n", p.name().c_str(),
                      static_cast<unsigned long long>(p.nhit));
        text.append("  ").append(static_cast<const TraceUprobe&>(p).filename).append(numbers);
    });
    return text;
}

// --- on and off ---

int TraceUprobes::reg(TraceProbeEvent& event, TraceReg what, PerfEvent* perf_event) {
    switch (what) {
        case TraceReg::register_: return probe_event_enable(event, true);
        case TraceReg::unregister: probe_event_disable(event, true); return 0;
        case TraceReg::perf_register: return probe_event_enable(event, false);
        case TraceReg::perf_unregister: probe_event_disable(event, false); return 0;
        case TraceReg::perf_open: return uprobe_perf_open(event, *perf_event);
        case TraceReg::perf_close: return uprobe_perf_close(event, *perf_event);
        default: return 0;
    }
}

void TraceUprobes::unregister_all(TraceProbeEvent& event) {
    for (TraceProbe* p : event.probes) {
        auto& tu = static_cast<TraceUprobe&>(*p);
        if (tu.registered) uprobes_.uprobe_unregister(*tu.inode, tu.offset, tu.consumer);
        tu.registered = false;
    }
}

int TraceUprobes::probe_event_enable(TraceProbeEvent& event, bool trace) {
    const bool was = event.enabled();
    if (trace ? event.flag_profile : event.flag_trace) return -EINTR; // ftrace or perf, not both (UPR-098)
    (trace ? event.flag_trace : event.flag_profile) = true;
    if (was) return 0;
    for (TraceProbe* p : event.probes) {
        auto& tu = static_cast<TraceUprobe&>(*p);
        tu.consumer.filter = nullptr;
        if (!trace)
            tu.consumer.filter = [&event](UprobeConsumer&, UprobeFilterCtx, MmInfo* mm) {
                return perf_filter(event, mm);
            };
        const int e = uprobes_.uprobe_register(tu.inode, tu.offset, tu.ref_ctr_offset, tu.consumer);
        if (e) {
            unregister_all(event);
            (trace ? event.flag_trace : event.flag_profile) = false;
            return e;
        }
        tu.registered = true;
    }
    return 0;
}

void TraceUprobes::probe_event_disable(TraceProbeEvent& event, bool trace) {
    if (!event.enabled()) return;
    (trace ? event.flag_trace : event.flag_profile) = false;
    unregister_all(event);
}

int TraceUprobes::uprobe_perf_open(TraceProbeEvent& event, PerfEvent& e) {
    bool covered = event.nr_systemwide;
    if (e.hw.target) {
        covered = covered || e.parent || e.attr.enable_on_exec || perf_filter(event, e.hw.target->mm);
        event.perf_events.insert(event.perf_events.begin(), &e);
    } else {
        ++event.nr_systemwide;
    }
    if (covered) return 0;
    for (TraceProbe* p : event.probes) {
        auto& tu = static_cast<TraceUprobe&>(*p);
        if (const int err = uprobes_.uprobe_apply(*tu.inode, tu.offset, tu.consumer, true)) {
            uprobe_perf_close(event, e);
            return err;
        }
    }
    return 0;
}

int TraceUprobes::uprobe_perf_close(TraceProbeEvent& event, PerfEvent& e) {
    bool covered;
    if (e.hw.target) {
        std::erase(event.perf_events, &e);
        covered = event.nr_systemwide || e.hw.target->exiting || perf_filter(event, e.hw.target->mm);
    } else {
        covered = --event.nr_systemwide;
    }
    if (covered) return 0;
    for (TraceProbe* p : event.probes) {
        auto& tu = static_cast<TraceUprobe&>(*p);
        if (const int err = uprobes_.uprobe_apply(*tu.inode, tu.offset, tu.consumer, false)) return err;
    }
    return 0;
}

// --- hits ---

int TraceUprobes::dispatch(TraceUprobe& tu, PtRegs& regs) {
    KernelFrame frame(k_, KernelSymbol::uprobe_dispatcher);
    ++tu.nhit;
    if (tu.event->flag_trace && !tu.is_return) emit(tu, 0, regs.pc, regs);
    if (!tu.event->flag_profile) return 0;
    // Tasks that an event was inherited by swap contexts, so that one may run with an event made for the other. If that is
    // another process, the filter knows only the other's memory and the hit is lost, as on Linux.
    const TaskBase& task = *k_.current();
    if (!perf_filter(*tu.event, task.mm) && !made_for_thread_of(*tu.event, task)) return UPROBE_HANDLER_REMOVE;
    if (!events_.perf_events_here(tu.event->call) && tu.args.empty())
        return 0; // most consumers, when many threads have inherited an event
    KernelFrame perf(k_, KernelSymbol::uprobe_perf_func);
    if (!tu.is_return) emit(tu, 0, regs.pc, regs);
    return 0;
}

void TraceUprobes::dispatch_return(TraceUprobe& tu, std::uint64_t func, PtRegs& regs) {
    KernelFrame frame(k_, KernelSymbol::uretprobe_dispatcher);
    if (!tu.event->enabled()) return;
    KernelFrame perf(k_, KernelSymbol::uretprobe_perf_func);
    emit(tu, func, func, regs);
}

void TraceUprobes::emit(TraceUprobe& tu, std::uint64_t func, std::uint64_t bp_addr, PtRegs& regs) {
    if (!events_.trace_call_bpf(tu.event->call, regs)) return;
    const unsigned head = tu.head();
    std::vector<std::uint8_t> data;
    if (!tu.args.empty()) {
        // Before preemption is off: user memory may have to be brought in.
        UserFetch fetch(k_, bp_addr - tu.offset);
        std::size_t dynamic = trace_probe_data_size(tu.args, regs, fetch);
        if (tu.size + dynamic > kBufferSize) dynamic = kBufferSize - tu.size;
        data.resize(head + tu.size + dynamic);
        trace_probe_store(tu.args, regs, fetch, data.data(), head, tu.size, dynamic);
    }
    k_.preempt_disable();
    TraceEventCall& call = tu.event->call;
    if (events_.wanted_here(call)) {
        if (PerfTraceBuf buf = events_.perf_trace_buf_alloc(std::max<std::size_t>(head, data.size()))) {
            std::uint8_t* record = buf.record();
            if (!data.empty()) std::memcpy(record, data.data(), data.size());
            const std::uint64_t words[2] = {tu.is_return ? func : regs.pc, regs.pc};
            std::memcpy(record + kTraceEntrySize, words, head - kTraceEntrySize);
            events_.perf_trace_buf_submit(buf, call, 1, regs);
        }
    }
    k_.preempt_enable();
}

// --- PMU ---

int TraceUprobes::perf_uprobe_init(PerfEvent& event, std::uint64_t ref_ctr_offset, bool is_return) {
    constexpr std::size_t kPathMax = 4096;
    if (!event.attr.uprobe_path) return -EINVAL;
    int error = 0;
    const std::string path = k_.strndup_user(event.attr.uprobe_path, kPathMax, error);
    if (error) return error == -EINVAL ? -E2BIG : error;
    if (path.empty()) return -EINVAL;
    std::shared_ptr<ProbedInode> inode;
    if (const int e = s_.kern_path(path, inode)) return e;
    if (!inode->regular()) return -EINVAL;
    std::unique_ptr<TraceUprobe> tu = alloc(std::string(kSystem), "DUMMY_EVENT", is_return);
    tu->inode = std::move(inode);
    tu->filename = path;
    tu->offset = event.attr.probe_offset;
    tu->ref_ctr_offset = ref_ctr_offset;
    tu->describe(kFlags);
    const MutexGuard lock(events_.event_mutex());
    if (const int e = events_.perf_trace_event_init(tu->event->call, event)) return e;
    local_.push_back(std::move(tu));
    return 0;
}

void TraceUprobes::perf_uprobe_destroy(PerfEvent& event) {
    TraceEventCall* const call = event.tp_event;
    events_.perf_trace_destroy(event);
    local_.remove_if([&](const std::unique_ptr<TraceUprobe>& tu) { return &tu->event->call == call; });
}

} // namespace rkperf::ke
