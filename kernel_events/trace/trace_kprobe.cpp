// SPDX-License-Identifier: Apache-2.0
#include "kernel_events/trace/trace_kprobe.h"

#include "kernel_events/internal.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

namespace rkperf::ke {

namespace {

constexpr std::string_view kSystem = "kprobes", kLog = "trace_kprobe";
constexpr unsigned kFlags = TRACE_EVENT_FL_KPROBE | TRACE_EVENT_FL_DYNAMIC;
constexpr std::string_view kBadAddress = "Invalid probed address or symbol";
constexpr std::uint64_t kTaskSize = 1ull << 48;
constexpr std::uint64_t kMaxActiveMax = 4096; ///< KRETPROBE_MAXACTIVE_MAX

/// User memory and the kernel's stack without faults; other kernel memory is not simulated and reads as a fault.
class KernelFetch final : public FetchContext {
  public:
    KernelFetch(Kernel& k, Kprobes& kprobes) : k_(k), kprobes_(kprobes) {}
    std::uint64_t stack_word(const PtRegs& regs, unsigned n) override {
        std::uint64_t word = 0;
        return k_.copy_from_kernel_nofault(&word, regs.sp + std::uint64_t{n} * sizeof word, sizeof word) ? word : 0;
    }
    bool read(void* to, std::uint64_t from, std::size_t n) override {
        return from < kTaskSize ? read_user(to, from, n) : k_.copy_from_kernel_nofault(to, from, n);
    }
    bool read_user(void* to, std::uint64_t from, std::size_t n) override {
        return from < kTaskSize && k_.copy_from_user_nofault(to, from, n) == n;
    }
    bool read_string(std::uint64_t from, std::size_t max, bool, std::string& out) override {
        while (from < kTaskSize && out.size() < max) {
            char part[64];
            const std::size_t want =
                std::min({sizeof part, max - out.size(), static_cast<std::size_t>(4096 - from % 4096)});
            if (k_.copy_from_user_nofault(part, from, want) != want) return false;
            const auto* end = static_cast<const char*>(std::memchr(part, 0, want));
            out.append(part, end ? static_cast<std::size_t>(end - part) : want);
            if (end) return true;
            from += want;
        }
        return from < kTaskSize;
    }
    std::string symbol_text(std::uint64_t address) override { return kprobes_.sprint_symbol(address); }
    std::string comm() override { return k_.current()->comm; }

  private:
    Kernel& k_;
    Kprobes& kprobes_;
};

/// What is at `name` + `offset`, which may be counted from the start of the text, as perf probe does. `known` is false if
/// there is no such name.
std::optional<Kprobes::Place> function_at(Kernel& k, Kprobes& kprobes, std::string_view name, std::uint64_t offset,
                                          bool& known) {
    const std::optional<KernelSymbol> base =
        name == "_text" || name == "_stext" ? static_cast<KernelSymbol>(0) : Kprobes::find_symbol(name);
    known = base.has_value();
    if (!base) return std::nullopt;
    return kprobes.locate(k.kernel_symbol_address(*base) + offset);
}

} // namespace

std::string TraceKprobe::place() const {
    if (!by_address) return symbol;
    char text[32];
    std::snprintf(text, sizeof text, "0x%016llx", static_cast<unsigned long long>(kprobe.addr));
    return text;
}

std::string TraceKprobe::show() const {
    std::string line = TraceProbe::show();
    if (is_return && kprobe.maxactive) line.insert(1, std::to_string(kprobe.maxactive));
    return line;
}

TraceKprobes::TraceKprobes(Perf::Impl& perf, Kprobes& kprobes, TraceEvents& events, DynEvents& dynamic)
    : k_(perf.kernel), kprobes_(kprobes), events_(events), dynamic_(dynamic) {}

std::unique_ptr<TraceKprobe> TraceKprobes::alloc(std::string group, std::string event, bool is_return) {
    auto tk = std::make_unique<TraceKprobe>();
    tk->is_return = is_return;
    tk->event = std::make_shared<TraceProbeEvent>();
    tk->event->call.system = std::move(group);
    tk->event->call.name = std::move(event);
    tk->event->probes.push_back(tk.get());
    TraceProbeEvent* const owner = tk->event.get();
    owner->call.reg = [this, owner](TraceReg what, PerfEvent*) { return enable(*owner, what); };
    TraceKprobe* const p = tk.get();
    if (is_return)
        tk->kprobe.ret_handler = [this, p](Kprobe&, std::uint64_t ret_addr, PtRegs& regs) {
            dispatch_return(*p, ret_addr, regs);
        };
    else
        tk->kprobe.pre_handler = [this, p](Kprobe&, PtRegs& regs) { dispatch(*p, regs); };
    return tk;
}

// --- definitions ---

int TraceKprobes::create(std::vector<std::string> argv) {
    const char kind = argv[0][0];
    if ((kind != 'p' && kind != 'r') || argv.size() < 2) return -ECANCELED;
    bool is_return = kind == 'r';
    ProbeParse parse(events_, kLog, std::move(argv));
    const std::string_view head = parse.argv[0], spec = parse.argv[1];
    const auto colon = head.find(':');
    std::uint64_t maxactive = 0, address = 0;
    if (head.size() > 1 && std::isdigit(static_cast<unsigned char>(head[1]))) {
        if (!is_return) return parse.err(0, 1, "Maxactive is not for kprobe", -EINVAL);
        const std::string_view digits = head.substr(1, std::min(colon, head.size()) - 1);
        if (digits.size() > MAX_EVENT_NAME_LEN - 1 || kstrtoul(digits, 0, maxactive) || !maxactive ||
            maxactive > UINT_MAX)
            return parse.err(0, 1, "Invalid maxactive number", -EINVAL);
        if (maxactive > kMaxActiveMax) return parse.err(0, 1, "Maxactive is too big", -EINVAL);
    }
    std::optional<Kprobes::Place> symbol;
    std::string name;
    unsigned flags = TPARG_FL_KERNEL;
    std::int64_t offset = 0;
    const bool by_address = !kstrtoul(spec, 0, address);
    if (by_address) {
        symbol = kprobes_.locate(address);
    } else {
        if (spec.find('/') != std::string_view::npos && spec.find(':') != std::string_view::npos) return -ECANCELED;
        name = std::string(spec);
        if (const auto percent = name.find('%'); percent != std::string::npos) {
            if (name.substr(percent) != "%return")
                return parse.err(1, percent, "Invalid probed address suffix", -EINVAL);
            is_return = true;
            name.resize(percent);
        }
        if (traceprobe_split_symbol_offset(name, offset) || offset < 0 || offset > UINT_MAX)
            return parse.err(1, 0, kBadAddress, -EINVAL);
        bool known = false;
        symbol = function_at(k_, kprobes_, name, static_cast<std::uint64_t>(offset), known);
        if (!known && name.find(':') == std::string::npos) return parse.err(1, 0, kBadAddress, -ENOENT);
        if (Kprobes::ambiguous(name)) return parse.err(1, 0, "The symbol is not unique", -EADDRNOTAVAIL);
        if (symbol && !symbol->offset) flags |= TPARG_FL_FENTRY;
        if (is_return && symbol && symbol->offset)
            return parse.err(1, 0, "Retprobe address must be an function entry", -EINVAL);
    }
    if (is_return) flags |= TPARG_FL_RETURN;

    std::string group(kSystem), event;
    if (colon != std::string_view::npos)
        if (const int e = traceprobe_parse_event_name(parse, colon + 1, group, event)) return e;
    if (event.empty()) {
        char text[MAX_EVENT_NAME_LEN];
        if (by_address)
            std::snprintf(text, sizeof text, "%c_0x%llx", is_return ? 'r' : 'p',
                          static_cast<unsigned long long>(address));
        else
            std::snprintf(text, sizeof text, "%c_%s_%lld", is_return ? 'r' : 'p', name.c_str(),
                          static_cast<long long>(offset));
        event = text;
    }
    std::unique_ptr<TraceKprobe> tk = alloc(std::move(group), std::move(event), is_return);
    tk->symbol = name;
    if (offset) tk->symbol.append("+").append(std::to_string(offset));
    tk->by_address = by_address;
    tk->kprobe.addr = address;
    tk->kprobe.maxactive = static_cast<unsigned>(maxactive);
    for (std::size_t i = 0; i + 2 < parse.argv.size() && i < MAX_TRACE_ARGS; ++i)
        if (const int e = traceprobe_parse_probe_arg(parse, i, flags, tk->args, tk->size)) return e;
    tk->at = symbol;
    return register_trace_kprobe(parse, std::move(tk));
}

int TraceKprobes::register_probe(TraceKprobe& tk) {
    const SymbolLookup lookup = [this](std::string_view s) {
        const auto found = Kprobes::find_symbol(s);
        return found ? k_.kernel_symbol_address(*found) : 0;
    };
    for (ProbeArg& arg : tk.args)
        if (const int e = traceprobe_update_arg(arg, lookup)) return e;
    if (!tk.at) return tk.by_address && !tk.kprobe.addr ? -EINVAL : -ENOENT;
    if (tk.is_return && tk.at->offset) return -EINVAL;
    tk.kprobe.symbol = tk.at->symbol;
    tk.kprobe.offset = tk.at->offset;
    tk.kprobe.disabled = !tk.event->enabled();
    const int e = kprobes_.register_kprobe(tk.kprobe);
    tk.registered = !e;
    return e;
}

void TraceKprobes::unregister_probe(TraceKprobe& tk) {
    if (tk.registered) kprobes_.unregister_kprobe(tk.kprobe);
    tk.registered = false;
}

int TraceKprobes::register_trace_kprobe(ProbeParse& parse, std::unique_ptr<TraceKprobe> tk) {
    if (TraceProbe* old = dynamic_.find(*this, tk->name(), tk->group())) {
        if (old->is_return != tk->is_return)
            return parse.err(0, 0, "Probe type is different from existing probe", -EEXIST);
        return append(parse, std::move(tk), static_cast<TraceKprobe&>(*old));
    }
    tk->describe(kFlags);
    if (const int e = events_.trace_add_event_call(tk->event->call))
        return parse.err(0, 0, "Given group/event name is already used by another event", e);
    if (const int e = register_or_wait(parse, *tk)) {
        events_.trace_remove_event_call(tk->event->call);
        return e;
    }
    dynamic_.add(*this, std::move(tk));
    return 0;
}

/// A probe of an address or a module that is not there yet is kept: the module may come.
int TraceKprobes::register_or_wait(ProbeParse& parse, TraceKprobe& tk) {
    const int e = register_probe(tk);
    if (e == -ENOENT && (tk.by_address || tk.symbol.find(':') != std::string::npos)) {
        k_.pr_info("the place of a kprobe is not there yet; the probe is kept for when it is");
        return 0;
    }
    return e ? parse.err(1, 0, e == -ENOENT ? kBadAddress : "Failed to register probe event", e) : 0;
}

int TraceKprobes::append(ProbeParse& parse, std::unique_ptr<TraceKprobe> tk, TraceKprobe& to) {
    if (const std::size_t n = trace_probe_compare_arg_type(tk->args, to.args))
        return parse.err(n + 1, 0, "Argument type or name is different from existing probe", -EEXIST);
    for (const TraceProbe* p : to.event->probes) {
        const auto& other = static_cast<const TraceKprobe&>(*p);
        if (other.symbol != tk->symbol) continue;
        const bool same = std::equal(other.args.begin(), other.args.end(), tk->args.begin(),
                                     [](const ProbeArg& a, const ProbeArg& b) { return a.comm == b.comm; });
        if (same) return parse.err(0, 0, "There is already the exact same probe event", -EEXIST);
    }
    tk->event = to.event;
    if (const int e = register_or_wait(parse, *tk)) return e;
    tk->event->probes.push_back(tk.get());
    dynamic_.add(*this, std::move(tk));
    return 0;
}

int TraceKprobes::release(TraceProbe& probe) {
    auto& tk = static_cast<TraceKprobe&>(probe);
    TraceProbeEvent& event = *tk.event;
    if (event.probes.size() == 1) {
        if (event.call.busy()) return -EBUSY;
        if (const int e = events_.trace_remove_event_call(event.call)) return e;
    }
    std::erase(event.probes, &tk);
    unregister_probe(tk);
    dynamic_.remove(tk);
    return 0;
}

std::string TraceKprobes::profile() const {
    std::string text;
    dynamic_.for_each(this, [&](const TraceProbe& p) {
        char line[160];
        std::snprintf(line, sizeof line, "  %-44s %15llu %15llu\n", p.name().c_str(),
                      static_cast<unsigned long long>(p.nhit),
                      static_cast<unsigned long long>(static_cast<const TraceKprobe&>(p).kprobe.nmissed));
        text += line;
    });
    return text;
}

int TraceKprobes::enable(TraceProbeEvent& event, TraceReg what) {
    switch (what) {
        case TraceReg::register_: event.flag_trace = true; break;
        case TraceReg::unregister: event.flag_trace = false; break;
        case TraceReg::perf_register: event.flag_profile = true; break;
        case TraceReg::perf_unregister: event.flag_profile = false; break;
        default: break;
    }
    for (TraceProbe* p : event.probes)
        if (auto& tk = static_cast<TraceKprobe&>(*p); tk.registered) kprobes_.set_enabled(tk.kprobe, event.enabled());
    return 0;
}

// --- hits ---

void TraceKprobes::dispatch(TraceKprobe& tk, PtRegs& regs) {
    KernelFrame frame(k_, KernelSymbol::kprobe_dispatcher);
    ++tk.nhit;
    if (!tk.event->enabled()) return;
    KernelFrame perf(k_, KernelSymbol::kprobe_perf_func);
    emit(tk, regs.pc, 0, regs);
}

void TraceKprobes::dispatch_return(TraceKprobe& tk, std::uint64_t ret_addr, PtRegs& regs) {
    KernelFrame frame(k_, KernelSymbol::kretprobe_dispatcher);
    ++tk.nhit;
    if (!tk.event->enabled()) return;
    KernelFrame perf(k_, KernelSymbol::kretprobe_perf_func);
    emit(tk, tk.kprobe.addr, ret_addr, regs);
}

void TraceKprobes::emit(TraceKprobe& tk, std::uint64_t first, std::uint64_t second, PtRegs& regs) {
    TraceEventCall& call = tk.event->call;
    const bool perf = events_.perf_events_here(call) && events_.trace_call_bpf(call, regs);
    if (!perf && !call.enabled) return;
    const unsigned head = tk.head();
    KernelFetch fetch(k_, kprobes_);
    const std::size_t dynamic = trace_probe_data_size(tk.args, regs, fetch);
    PerfTraceBuf buf = events_.perf_trace_buf_alloc(head + tk.size + dynamic);
    if (!buf) return;
    const std::uint64_t words[2] = {first, second};
    std::memcpy(buf.record() + kTraceEntrySize, words, head - kTraceEntrySize);
    trace_probe_store(tk.args, regs, fetch, buf.record(), head, tk.size, dynamic);
    if (perf)
        events_.perf_trace_buf_submit(buf, call, 1, regs);
    else
        events_.ftrace_buf_submit(buf, call);
}

// --- PMU ---

int TraceKprobes::perf_kprobe_init(PerfEvent& event, bool is_return) {
    constexpr std::size_t kSymbolMax = 512; // KSYM_NAME_LEN
    std::string func;
    if (event.attr.kprobe_func) {
        int error = 0;
        func = k_.strndup_user(event.attr.kprobe_func, kSymbolMax, error);
        if (error) return error == -EINVAL ? -E2BIG : error;
    }
    std::optional<Kprobes::Place> symbol;
    if (!func.empty()) {
        bool known = false;
        symbol = function_at(k_, kprobes_, func, event.attr.probe_offset, known);
        if (!known) return -ENOENT;
        if (Kprobes::ambiguous(func)) return -EADDRNOTAVAIL;
    } else {
        symbol = kprobes_.locate(event.attr.kprobe_addr);
    }
    std::unique_ptr<TraceKprobe> tk = alloc(std::string(kSystem), func.empty() ? "DUMMY_EVENT" : func, is_return);
    tk->symbol = func;
    tk->by_address = func.empty();
    tk->kprobe.addr = event.attr.kprobe_addr;
    tk->at = symbol;
    tk->describe(kFlags);
    if (const int e = register_probe(*tk)) return e;
    const MutexGuard lock(events_.event_mutex());
    if (const int e = events_.perf_trace_event_init(tk->event->call, event)) {
        unregister_probe(*tk);
        return e;
    }
    local_.push_back(std::move(tk));
    return 0;
}

void TraceKprobes::perf_kprobe_destroy(PerfEvent& event) {
    TraceEventCall* const call = event.tp_event;
    events_.perf_trace_destroy(event);
    const auto it = std::find_if(local_.begin(), local_.end(),
                                 [&](const std::unique_ptr<TraceKprobe>& tk) { return &tk->event->call == call; });
    if (it == local_.end()) return;
    unregister_probe(**it);
    local_.erase(it);
}

} // namespace rkperf::ke
