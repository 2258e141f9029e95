// SPDX-License-Identifier: Apache-2.0
// What the helper functions do (kernel/bpf/helpers.c, kernel/trace/bpf_trace.c).
#include "kernel_events/bpf/runtime.h"
#include "kernel_events/callchain.h"
#include "kernel_events/internal.h"
#include "kernel_events/trace/trace_buffer.h"
#include "kernel_events/trace/trace_events.h"

#include <linux/perf_event.h>
#include <time.h>
#include <algorithm>
#include <cstdio>
#include <cstring>

namespace rkperf::ke {

namespace {

/// What the helpers cost beyond the call, estimated.
constexpr std::uint32_t kHelperCost = 40, kMapCost = 60, kProbeReadCost = 120;

std::uint64_t result(std::int64_t v) { return static_cast<std::uint64_t>(v); }

} // namespace

std::uint32_t BpfRun::map_index(std::uint64_t address) const { return static_cast<std::uint32_t>(address); }

BpfMap* BpfRun::map(std::uint64_t address) {
    const std::uint32_t i = map_index(address);
    return i < prog->maps.size() ? prog->maps[i].get() : nullptr;
}

BpfProg* BpfRun::tail_call() {
    auto* array = dynamic_cast<BpfFdArray*>(map(r[BPF_REG_2]));
    const auto* e = array ? array->entry(static_cast<std::uint32_t>(r[BPF_REG_3])) : nullptr;
    return e ? e->prog.get() : nullptr;
}

std::uint64_t BpfRun::map_helper(std::int32_t helper) {
    BpfMap& m = *map(r[BPF_REG_1]);
    const std::uint8_t* key = memory(r[BPF_REG_2], m.key_size());
    if (!key) return result(helper == BPF_FUNC_map_lookup_elem ? 0 : -EFAULT);
    const std::span<const std::uint8_t> k(key, m.key_size());
    bpf.kernel().charge(kMapCost);
    // The map's own functions are called directly and return an int: the upper half of R0 is 0.
    const auto as_int = [](int v) { return std::uint64_t{static_cast<std::uint32_t>(v)}; };
    if (helper == BPF_FUNC_map_delete_elem) return as_int(m.erase(k));
    if (helper == BPF_FUNC_map_update_elem) {
        const std::uint8_t* value = memory(r[BPF_REG_3], m.value_size());
        return as_int(value ? m.update(k, {value, m.value_size()}, r[BPF_REG_4], cpu) : -EFAULT);
    }
    const BpfMap::Slot s = m.lookup(k, cpu);
    if (!s.data) return 0;
    const std::uint64_t stride = (m.value_size() + 7u) & ~7u;
    return ((bpf_address::kMapValues + map_index(r[BPF_REG_1])) << bpf_address::kRegionBits) + s.index * stride;
}

std::int64_t BpfRun::probe_read(std::uint64_t to, std::uint64_t size, std::uint64_t from, bool user, bool string) {
    bpf.kernel().charge(kProbeReadCost);
    if (!size) return 0;
    std::uint8_t* out = memory(to, size);
    if (!out) return -EFAULT;
    std::memset(out, 0, size);
    // Of kernel memory there are a program's own and the kernel's stack.
    if (!user) {
        const std::uint8_t* own = memory(from, string ? 1 : size);
        if (!own && !string && bpf.kernel().copy_from_kernel_nofault(out, from, size)) return 0;
        if (!own) return -EFAULT;
        if (!string) {
            std::memcpy(out, own, size);
            return 0;
        }
        std::uint64_t n = 0;
        for (const std::uint8_t* p; n + 1 < size && (p = memory(from + n, 1)) && *p; ++n) out[n] = *p;
        return static_cast<std::int64_t>(n + 1);
    }
    if (!string) {
        if (bpf.kernel().copy_from_user_nofault(out, from, size) == size) return 0;
        std::memset(out, 0, size);
        return -EFAULT;
    }
    for (std::uint64_t n = 0; n < size; ++n) {
        if (bpf.kernel().copy_from_user_nofault(out + n, from + n, 1) != 1) {
            std::memset(out, 0, size);
            return -EFAULT;
        }
        if (!out[n]) return static_cast<std::int64_t>(n + 1);
    }
    out[size - 1] = 0;
    return static_cast<std::int64_t>(size);
}

/// Into the kernel log, for there is no ftrace buffer: %d, %i, %u, %x, %ld, %lu, %lx, %lld, %llu, %llx, %p, %s.
std::int64_t BpfRun::trace_printk() {
    const std::uint64_t size = r[BPF_REG_2];
    const auto* format = reinterpret_cast<const char*>(memory(r[BPF_REG_1], size));
    if (!format || !size || format[size - 1]) return -EINVAL;
    const std::string_view all(format, std::strlen(format));
    const auto allowed = [](char c) { return (c >= ' ' && c <= '~') || (c >= '\t' && c <= '\r'); };
    if (!std::all_of(all.begin(), all.end(), allowed)) return -EINVAL;
    std::string out;
    unsigned next = BPF_REG_3;
    for (const char* p = format; *p; ++p) {
        if (*p != '%') {
            out += *p;
            continue;
        }
        if (*++p == '%') {
            out += '%';
            continue;
        }
        if (next > BPF_REG_5) return -EINVAL;
        // Flags and a width, as printf has them but for '#'; no precision.
        std::string spec = "%";
        while (*p && std::strchr("0+- ", *p)) spec += *p++;
        while (*p >= '0' && *p <= '9') spec += *p++;
        int longs = 0;
        while (*p == 'l' && longs < 2) ++longs, ++p;
        const std::uint64_t v = r[next++];
        char text[512] = "";
        switch (*p) {
            case 'd':
            case 'i':
                std::snprintf(text, sizeof text, (spec + "lld").c_str(),
                              longs ? static_cast<long long>(v) : static_cast<std::int32_t>(v));
                break;
            case 'u':
            case 'x':
            case 'X':
                std::snprintf(text, sizeof text, (spec + "ll" + *p).c_str(),
                              longs ? static_cast<unsigned long long>(v) : static_cast<std::uint32_t>(v));
                break;
            case 'c':
                if (longs) return -EINVAL;
                std::snprintf(text, sizeof text, (spec + 'c').c_str(), static_cast<int>(v & 0xff));
                break;
            case 'p':
                if (longs) return -EINVAL;
                std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(v));
                break;
            case 's':
                if (longs) return -EINVAL;
                for (std::uint64_t n = 0; n < 63; ++n) {
                    const std::uint8_t* c = memory(v + n, 1);
                    std::uint8_t byte = c ? *c : 0;
                    if (!c && bpf.kernel().copy_from_user_nofault(&byte, v + n, 1) != 1) break;
                    if (!byte) break;
                    out += static_cast<char>(byte);
                }
                break;
            default: return -EINVAL;
        }
        out += text;
    }
    bpf.perf().perf.trace_events().buffer().write_bpf_printk(out);
    return static_cast<std::int64_t>(out.size());
}

PerfEvent* BpfRun::event_of(BpfMap& m, std::uint64_t flags, std::int64_t& error) {
    error = -EINVAL;
    if (flags & ~static_cast<std::uint64_t>(BPF_F_INDEX_MASK)) return nullptr;
    std::uint64_t index = flags & BPF_F_INDEX_MASK;
    if (index == BPF_F_CURRENT_CPU) index = static_cast<std::uint64_t>(cpu);
    error = -E2BIG;
    auto* array = dynamic_cast<BpfFdArray*>(&m);
    const auto* e = array ? array->entry(index) : nullptr;
    if (!e) return nullptr;
    error = e->event ? 0 : -ENOENT;
    return e->event;
}

std::int64_t BpfRun::perf_event_output() {
    KernelFrame frame(bpf.kernel(), KernelSymbol::bpf_perf_event_output);
    std::int64_t error = 0;
    PerfEvent* event = event_of(*map(r[BPF_REG_2]), r[BPF_REG_3], error);
    if (!event) return error;
    if (event->attr.type != PERF_TYPE_SOFTWARE || event->attr.config != PERF_COUNT_SW_BPF_OUTPUT) return -EINVAL;
    if (event->oncpu != cpu) return -EOPNOTSUPP;
    const std::uint64_t size = r[BPF_REG_5];
    const std::uint8_t* from = size ? memory(r[BPF_REG_4], size) : nullptr;
    if (size && !from) return -EFAULT;
    const PerfRawFrag raw{from, static_cast<std::uint32_t>(size), nullptr, {}};
    PerfSampleData data;
    perf_sample_data_init(data, 0, 0);
    data.raw = &raw;
    data.sample_flags |= PERF_SAMPLE_RAW;
    PtRegs regs = context.regs ? *context.regs : PtRegs{};
    if (!bpf.perf().ring_buffer_get(*event)) return -ENOSPC;
    event->overflow_handler(*event, data, regs);
    return 0;
}

std::int64_t BpfRun::perf_event_read_value(PerfEvent* event, std::uint64_t buffer, std::uint64_t size,
                                           std::int64_t error) {
    bpf_perf_event_value value{};
    if (size != sizeof value) error = -EINVAL;
    if (!error) {
        std::uint64_t counter = 0, enabled = 0, running = 0;
        error = bpf.perf().perf_event_read_local(*event, counter, &enabled, &running);
        value.counter = counter, value.enabled = enabled, value.running = running;
    }
    std::uint8_t* out = memory(buffer, size);
    if (!out) return -EFAULT;
    std::memset(out, 0, size);
    if (!error) std::memcpy(out, &value, sizeof value);
    return error;
}

std::int64_t BpfRun::get_stack() {
    constexpr std::uint64_t kKnown = BPF_F_SKIP_FIELD_MASK | BPF_F_USER_STACK | BPF_F_USER_BUILD_ID;
    const std::uint64_t size = r[BPF_REG_3], flags = r[BPF_REG_4];
    if (flags & ~kKnown || flags & BPF_F_USER_BUILD_ID || size % 8) return -EINVAL;
    std::uint8_t* out = memory(r[BPF_REG_2], size);
    if (!out && size) return -EFAULT;
    std::memset(out, 0, size);
    const bool user = flags & BPF_F_USER_STACK;
    const PtRegs* regs = context.regs;
    if (user && regs && !regs->user_mode()) regs = bpf.kernel().task_pt_regs(bpf.kernel().current());
    if (!regs) return -EFAULT;
    CallchainRequest request;
    request.kernel = !user;
    request.user = user;
    request.max_stack = static_cast<std::uint32_t>(bpf.perf().sysctl.perf_event_max_stack);
    request.add_mark = false;
    PtRegs at = *regs;
    std::vector<std::uint64_t> chain;
    if (!get_perf_callchain(bpf.perf(), at, request, chain)) return -EFAULT;
    const std::uint64_t skip = flags & BPF_F_SKIP_FIELD_MASK;
    if (chain.size() < skip) return -EFAULT;
    const std::uint64_t n = std::min<std::uint64_t>(chain.size() - skip, size / 8);
    if (n) std::memcpy(out, chain.data() + skip, n * 8);
    return static_cast<std::int64_t>(n * 8);
}

std::uint64_t BpfRun::call(std::int32_t helper) {
    Kernel& k = bpf.kernel();
    k.charge(kHelperCost);
    const std::uint64_t a = r[BPF_REG_1], b = r[BPF_REG_2], c = r[BPF_REG_3];
    switch (helper) {
        case BPF_FUNC_map_lookup_elem:
        case BPF_FUNC_map_update_elem:
        case BPF_FUNC_map_delete_elem: return map_helper(helper);
        case BPF_FUNC_ktime_get_ns: return k.ktime_get_ns(CLOCK_MONOTONIC);
        case BPF_FUNC_ktime_get_boot_ns: return k.ktime_get_ns(CLOCK_BOOTTIME);
        case BPF_FUNC_jiffies64: return k.jiffies();
        case BPF_FUNC_get_prandom_u32: return k.get_random_u32();
        case BPF_FUNC_get_smp_processor_id: return static_cast<std::uint64_t>(cpu);
        case BPF_FUNC_get_numa_node_id: return 0;
        case BPF_FUNC_get_current_pid_tgid: {
            const TaskBase& t = *k.current();
            return static_cast<std::uint64_t>(t.tgid) << 32 | static_cast<std::uint32_t>(t.pid);
        }
        case BPF_FUNC_get_current_uid_gid: return k.current_uid_gid();
        case BPF_FUNC_get_current_comm: {
            std::uint8_t* to = memory(a, b);
            if (!to) return result(-EFAULT);
            std::memset(to, 0, b);
            std::memcpy(to, k.current()->comm, std::min<std::uint64_t>(b - 1, strnlen(k.current()->comm, 16)));
            return 0;
        }
        case BPF_FUNC_get_current_cgroup_id: {
            const auto cgroup = k.perf_cgroup_from_task(*k.current());
            return cgroup ? cgroup->id : 0;
        }
        case BPF_FUNC_probe_read: // by the address, as on Linux where the two do not overlap
            return result(probe_read(a, b, c, c >> 48 == 0, false));
        case BPF_FUNC_probe_read_str: return result(probe_read(a, b, c, c >> 48 == 0, true));
        case BPF_FUNC_probe_read_user: return result(probe_read(a, b, c, true, false));
        case BPF_FUNC_probe_read_user_str: return result(probe_read(a, b, c, true, true));
        case BPF_FUNC_probe_read_kernel: return result(probe_read(a, b, c, false, false));
        case BPF_FUNC_probe_read_kernel_str: return result(probe_read(a, b, c, false, true));
        case BPF_FUNC_probe_write_user: {
            const std::uint8_t* from = memory(b, c);
            if (k.in_hardirq() || k.current()->kthread || k.current()->exiting) return result(-EPERM);
            return result(from && k.copy_to_user_nofault(a, from, c) ? 0 : -EFAULT);
        }
        case BPF_FUNC_trace_printk: return result(trace_printk());
        case BPF_FUNC_send_signal: return result(k.send_signal(static_cast<int>(a), false));
        case BPF_FUNC_send_signal_thread: return result(k.send_signal(static_cast<int>(a), true));
        case BPF_FUNC_perf_event_output: return result(perf_event_output());
        case BPF_FUNC_perf_event_read: {
            std::int64_t error = 0;
            PerfEvent* event = event_of(*map(a), b, error);
            std::uint64_t value = 0;
            if (event) error = bpf.perf().perf_event_read_local(*event, value, nullptr, nullptr);
            return error ? result(error) : value;
        }
        case BPF_FUNC_perf_event_read_value: {
            std::int64_t error = 0;
            PerfEvent* event = event_of(*map(a), b, error);
            return result(perf_event_read_value(event, c, r[BPF_REG_4], error));
        }
        case BPF_FUNC_perf_prog_read_value:
            return result(perf_event_read_value(context.event, b, c, context.event ? 0 : -EINVAL));
        case BPF_FUNC_get_stack: return result(get_stack());
        default: return result(-EINVAL);
    }
}

} // namespace rkperf::ke
