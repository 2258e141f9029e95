// SPDX-License-Identifier: Apache-2.0
// The table of static trace events, and those of system calls (kernel/trace/trace_syscalls.c).
#include "kernel_events/internal.h"
#include "kernel_events/trace/trace_records.h"
#include "kernel_events/trace/tracepoints.h"

#include <cstddef>
#include <cstring>
#include <type_traits>

namespace rkperf::ke {

namespace {

/// Instructions of registering a probe function and patching the tracepoint's branch, and of undoing it.
constexpr std::uint32_t kPatchInCost = 9900, kPatchOutCost = 700;
/// Of the way of every system call through syscall_trace_enter and syscall_trace_exit while a tracepoint of system calls is
/// on, for whomever, beside what these functions have themselves: 138 to 163 were measured in all.
constexpr std::uint32_t kSyscallWorkCost = 90;

struct Row {
    const char *system, *name;
    int id;
    const char* print_fmt;
};
constexpr Row kRows[] = {
#define TRACE_EVENT(system, name, id, fields, fmt) {#system, #name, id, fmt},
#include "kernel_events/trace/trace_events.def"
#undef TRACE_EVENT
};

/// A field whose member has type T; char is unsigned on arm64.
template <class T>
TraceField make_field(const char* type, const char* name, std::size_t offset) {
    using Element = std::remove_all_extents_t<T>;
    const bool is_signed = std::is_signed_v<Element> && !std::is_same_v<Element, char>;
    std::string text = type;
    if constexpr (std::is_array_v<T>) text.append("[").append(std::to_string(std::extent_v<T>)).append("]");
    return trace_field(std::move(text), name, static_cast<unsigned>(offset), sizeof(T), is_signed);
}

using FieldsOf = std::vector<TraceField> (*)();
#define FIELD(type, name) make_field<decltype(R::name)>(#type, #name, offsetof(R, name)),
#define FIELD_AS(text, type, member, name) make_field<decltype(R::member)>(text, name, offsetof(R, member)),
#define ARRAY(type, name, n) make_field<decltype(R::name)>(#type, #name, offsetof(R, name)),
#define DATA_LOC(text, name) make_field<std::uint32_t>("__data_loc " text, #name, offsetof(R, __data_loc_##name)),
constexpr FieldsOf kFields[] = {
#define TRACE_EVENT(system, name, id, fields, fmt) \
    +[]() -> std::vector<TraceField> { \
        using R = trace_event_raw_##name; \
        return {fields}; \
    },
#include "kernel_events/trace/trace_events.def"
#undef TRACE_EVENT
};
#undef DATA_LOC
#undef ARRAY
#undef FIELD_AS
#undef FIELD

/// Records of ftrace's own tracers. Nothing here writes them, and perf cannot attach to them (CORE-487); readers of
/// recordings look for their descriptions.
struct FtraceRow {
    const char* name;
    int id;
    std::vector<TraceField> fields;
    const char* print_fmt;
};
std::vector<FtraceRow> ftrace_rows() {
    return {
        {"function",
         1,
         {trace_field("unsigned long", "ip", 8, 8, false), trace_field("unsigned long", "parent_ip", 16, 8, false)},
         R"(" %ps <-- %ps", (void *)REC->ip, (void *)REC->parent_ip)"},
        {"print",
         5,
         {trace_field("unsigned long", "ip", 8, 8, false), trace_field("char[]", "buf", 16, 0, false)},
         R"("%ps: %s", (void *)REC->ip, REC->buf)"},
        {"bprint",
         6,
         {trace_field("unsigned long", "ip", 8, 8, false), trace_field("const char *", "fmt", 16, 8, false),
          trace_field("u32[]", "buf", 24, 0, false)},
         R"("%ps: %s", (void *)REC->ip, REC->fmt)"},
    };
}

struct SyscallRow {
    int nr;
    const char* name;
    int enter_id;
    std::string_view params; ///< "int dfd; const char * filename"
};
constexpr SyscallRow kSyscalls[] = {
#define X(nr, name, id, params) {nr, #name, id, params},
#include "kernel_events/trace/syscall_events.def"
#undef X
};

constexpr std::size_t kEnterArgs = 16;
constexpr unsigned kMaxArgs = 6;

TraceField syscall_nr_field() { return trace_field("int", "__syscall_nr", offsetof(syscall_trace_enter, nr), 4, true); }

/// The parameters' fields, and the print format that goes with them.
void describe_params(std::string_view params, TraceEventCall& call) {
    std::string names, values;
    for (std::size_t offset = kEnterArgs; !params.empty(); offset += 8) {
        const std::size_t end = std::min(params.find("; "), params.size());
        const std::string_view param = params.substr(0, end);
        params.remove_prefix(std::min(end + 2, params.size()));
        const std::size_t split = param.rfind(' ');
        const std::string name(param.substr(split + 1));
        call.fields.push_back(
            trace_field(std::string(param.substr(0, split)), name, static_cast<unsigned>(offset), 8, false));
        names.append(names.empty() ? "" : ", ").append(name).append(": 0x%08lx");
        values.append(", ((unsigned long)(REC->").append(name).append("))");
    }
    call.print_fmt = '"' + names + '"' + values;
}

} // namespace

Tracepoints::Tracepoints(Perf::Impl& perf, TraceEvents& events) : perf_(perf), events_(events) {
    for (unsigned i = 0; i < calls_.size(); ++i) {
        auto c = std::make_unique<TraceEventCall>();
        c->system = kRows[i].system;
        c->name = kRows[i].name;
        c->type = kRows[i].id;
        c->fields = kFields[i]();
        c->print_fmt = kRows[i].print_fmt;
        c->flags = TRACE_EVENT_FL_TRACEPOINT;
        if (c->system == "raw_syscalls") c->flags |= TRACE_EVENT_FL_CAP_ANY;
        c->reg = [this, i](TraceReg what, PerfEvent*) {
            switch_listener(enabled_[i], what);
            return 0;
        };
        events_.trace_add_event_call(*c);
        calls_[i] = std::move(c);
    }
    add_syscall_events();
    for (FtraceRow& row : ftrace_rows()) {
        auto c = std::make_unique<TraceEventCall>();
        c->system = "ftrace";
        c->name = row.name;
        c->type = row.id;
        c->fields = std::move(row.fields);
        c->print_fmt = row.print_fmt;
        events_.trace_add_event_call(*c);
        ftrace_.push_back(std::move(c));
    }
}

Tracepoints::~Tracepoints() = default;

void Tracepoints::add_syscall_events() {
    for (const SyscallRow& row : kSyscalls) {
        const int nr = row.nr;
        SyscallEvents& s = syscalls_[static_cast<unsigned>(nr)];
        for (const bool exit : {true, false}) {
            auto c = std::make_unique<TraceEventCall>();
            c->system = "syscalls";
            c->name = std::string(exit ? "sys_exit_" : "sys_enter_").append(row.name);
            c->type = row.enter_id - exit;
            c->flags = TRACE_EVENT_FL_TRACEPOINT | TRACE_EVENT_FL_CAP_ANY;
            c->fields.push_back(syscall_nr_field());
            if (exit) {
                c->fields.push_back(trace_field("long", "ret", offsetof(syscall_trace_exit, ret), 8, true));
                c->print_fmt = "\"0x%lx\", REC->ret";
            } else {
                describe_params(row.params, *c);
            }
            c->reg = [this, nr, exit](TraceReg what, PerfEvent*) { return reg_syscall(nr, exit, what); };
            events_.trace_add_event_call(*c);
            (exit ? s.exit : s.enter) = std::move(c);
        }
    }
}

void Tracepoints::switch_listener(std::uint8_t& listeners, TraceReg what) {
    const bool perf = what == TraceReg::perf_register || what == TraceReg::perf_unregister;
    const bool on = what == TraceReg::perf_register || what == TraceReg::register_;
    if (!on && what != TraceReg::perf_unregister && what != TraceReg::unregister) return;
    const std::uint8_t before = listeners, bit = perf ? 1 : 2;
    listeners = on ? before | bit : before & static_cast<std::uint8_t>(~bit);
    if (!before != !listeners) perf_.kernel.charge(on ? kPatchInCost : kPatchOutCost);
}

int Tracepoints::reg_syscall(int nr, bool exit, TraceReg what) {
    auto& set = exit ? enabled_exit_syscalls_ : enabled_enter_syscalls_;
    int& refs = exit ? sys_exit_refs_ : sys_enter_refs_;
    // The code is patched once for all calls.
    const bool perf = what == TraceReg::perf_register || what == TraceReg::perf_unregister;
    const bool on = what == TraceReg::perf_register || what == TraceReg::register_;
    if (!on && what != TraceReg::perf_unregister && what != TraceReg::unregister) return 0;
    std::uint8_t& listeners = set[static_cast<unsigned>(nr)];
    const std::uint8_t bit = perf ? 1 : 2;
    if (on) {
        if (!refs++) perf_.kernel.charge(kPatchInCost);
        listeners |= bit;
    } else {
        if (!--refs) perf_.kernel.charge(kPatchOutCost);
        listeners &= static_cast<std::uint8_t>(~bit);
    }
    return 0;
}

void Tracepoints::sys_enter(PtRegs& regs, long id) {
    const KernelFrame way(perf_.kernel, KernelSymbol::syscall_trace_enter);
    perf_.kernel.charge(kSyscallWorkCost);
    if (enabled(Tracepoint::sys_enter)) {
        trace_event_raw_sys_enter r{};
        r.id = id;
        for (unsigned i = 0; i < kMaxArgs; ++i) r.args[i] = regs.regs[i];
        submit_bytes(Tracepoint::sys_enter, {reinterpret_cast<const std::uint8_t*>(&r), sizeof r}, {}, 1, nullptr);
    }
    if (id < 0 || id >= kNrSyscalls || !enabled_enter_syscalls_[static_cast<unsigned>(id)]) return;
    TraceEventCall& c = *syscalls_[static_cast<unsigned>(id)].enter;
    if (!events_.wanted_here(c)) return;
    KernelFrame frame(perf_.kernel, KernelSymbol::perf_syscall_enter);
    perf_.kernel.preempt_disable();
    const std::size_t args = 8 * (c.fields.size() - 1);
    if (PerfTraceBuf buf = events_.perf_trace_buf_alloc(kEnterArgs + args)) {
        const auto nr = static_cast<std::int32_t>(id);
        std::memcpy(buf.record() + offsetof(syscall_trace_enter, nr), &nr, sizeof nr);
        std::memcpy(buf.record() + kEnterArgs, regs.regs, args);
        events_.perf_trace_buf_submit(buf, c, 1, regs);
    }
    perf_.kernel.preempt_enable();
}

void Tracepoints::sys_exit(PtRegs& regs, long id, std::int64_t ret) {
    const KernelFrame way(perf_.kernel, KernelSymbol::syscall_trace_exit);
    const bool charged_at_entry = enabled(Tracepoint::sys_enter) || sys_enter_refs_;
    if (!charged_at_entry) perf_.kernel.charge(kSyscallWorkCost);
    if (enabled(Tracepoint::sys_exit)) {
        trace_event_raw_sys_exit r{};
        r.id = id;
        r.ret = ret;
        submit_bytes(Tracepoint::sys_exit, {reinterpret_cast<const std::uint8_t*>(&r), sizeof r}, {}, 1, nullptr);
    }
    if (id < 0 || id >= kNrSyscalls || !enabled_exit_syscalls_[static_cast<unsigned>(id)]) return;
    TraceEventCall& c = *syscalls_[static_cast<unsigned>(id)].exit;
    if (!events_.wanted_here(c)) return;
    KernelFrame frame(perf_.kernel, KernelSymbol::perf_syscall_exit);
    perf_.kernel.preempt_disable();
    if (PerfTraceBuf buf = events_.perf_trace_buf_alloc(sizeof(syscall_trace_exit))) {
        syscall_trace_exit r{};
        r.nr = static_cast<std::int32_t>(id);
        r.ret = ret;
        std::memcpy(buf.record(), &r, sizeof r);
        events_.perf_trace_buf_submit(buf, c, 1, regs);
    }
    perf_.kernel.preempt_enable();
}

} // namespace rkperf::ke
