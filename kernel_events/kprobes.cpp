// SPDX-License-Identifier: Apache-2.0
#include "kernel_events/kprobes.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <string>

namespace rkperf::ke {

namespace {
/// Functions on the way of a probe's own exceptions (NOKPROBE_SYMBOL, noinstr, the entry code), and behind them those that
/// trace_kprobe refuses because ftrace has no place in them (within_notrace_func): assembly, all of kernel/trace.
constexpr std::array kBlacklist{
    KernelSymbol::el0t_64_sync,
    KernelSymbol::el0t_64_sync_handler,
    KernelSymbol::el0t_64_irq,
    KernelSymbol::el0t_64_irq_handler,
    KernelSymbol::__el0_irq_handler_common,
    KernelSymbol::el0_interrupt,
    KernelSymbol::el1h_64_irq,
    KernelSymbol::el1h_64_irq_handler,
    KernelSymbol::el1_interrupt,
    KernelSymbol::el1_dbg,
    KernelSymbol::call_on_irq_stack,
    KernelSymbol::gic_handle_irq,
    KernelSymbol::do_mem_abort,
    KernelSymbol::do_page_fault,
    KernelSymbol::el0_svc,
    KernelSymbol::el0_da,
    KernelSymbol::el0_ia,
    KernelSymbol::el0_dbg,
    KernelSymbol::el0_undef,
    KernelSymbol::el0_pc,
    KernelSymbol::brk_handler,
    KernelSymbol::single_step_handler,
    KernelSymbol::kprobe_breakpoint_handler,
    KernelSymbol::kprobe_breakpoint_ss_handler,
    KernelSymbol::kprobe_dispatcher,
    KernelSymbol::kretprobe_dispatcher,
    KernelSymbol::kprobe_perf_func,
    KernelSymbol::kretprobe_perf_func,
    KernelSymbol::pre_handler_kretprobe,
    KernelSymbol::trampoline_probe_handler,
    KernelSymbol::__arch_copy_from_user,
    KernelSymbol::__arch_copy_to_user,
    KernelSymbol::__do_sys_perf_event_open,
    KernelSymbol::__schedule,
    KernelSymbol::__switch_to,
    KernelSymbol::bpf_perf_event_output,
    KernelSymbol::breakpoint_handler,
    KernelSymbol::clear_page,
    KernelSymbol::copy_page,
    KernelSymbol::do_debug_exception,
    KernelSymbol::irq_work_run,
    KernelSymbol::perf_syscall_enter,
    KernelSymbol::perf_syscall_exit,
    KernelSymbol::perf_trace_add,
    KernelSymbol::perf_trace_del,
    KernelSymbol::perf_trace_destroy,
    KernelSymbol::perf_trace_init,
    KernelSymbol::reinstall_suspended_bps,
    KernelSymbol::toggle_bp_registers,
    KernelSymbol::trace_call_bpf,
    KernelSymbol::uprobe_dispatcher,
    KernelSymbol::uretprobe_dispatcher,
    KernelSymbol::watchpoint_handler,
};
/// The second instruction of every function is ftrace's, and no kprobe may take it (check_ftrace_location).
constexpr std::uint32_t kFtraceOffset = 4;
constexpr unsigned kSymbols = static_cast<unsigned>(KernelSymbol::count_);
} // namespace

std::optional<KernelSymbol> Kprobes::find_symbol(std::string_view name) {
    for (unsigned i = 0; i < kSymbols; ++i)
        if (kKernelSymbols[i].name == name) return static_cast<KernelSymbol>(i);
    return std::nullopt;
}

bool Kprobes::ambiguous(std::string_view name) { return name == info(KernelSymbol::gic_handle_irq).name; }

std::optional<Kprobes::Place> Kprobes::locate(std::uint64_t address) {
    for (unsigned i = 0; i < kSymbols; ++i) {
        const auto symbol = static_cast<KernelSymbol>(i);
        const std::uint64_t start = k_.kernel_symbol_address(symbol);
        if (address >= start && address < k_.kernel_symbol_address(static_cast<KernelSymbol>(i + 1)))
            return Place{symbol, static_cast<std::uint32_t>(address - start)};
    }
    return std::nullopt;
}

std::string Kprobes::sprint_symbol(std::uint64_t address) {
    char text[160];
    if (const auto place = locate(address)) {
        const auto i = static_cast<unsigned>(place->symbol);
        const std::uint64_t size =
            k_.kernel_symbol_address(static_cast<KernelSymbol>(i + 1)) - (address - place->offset);
        std::snprintf(text, sizeof text, "%.*s+0x%x/0x%llx", static_cast<int>(kKernelSymbols[i].name.size()),
                      kKernelSymbols[i].name.data(), place->offset, static_cast<unsigned long long>(size));
    } else {
        std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
    }
    return text;
}

int Kprobes::register_kprobe(Kprobe& p) {
    KernelFrame frame(k_, KernelSymbol::register_kprobe);
    // What lies behind the function's end is another one.
    const auto place = locate(k_.kernel_symbol_address(p.symbol) + p.offset);
    if (!place || place->offset % 4 || place->offset == kFtraceOffset) return -EINVAL;
    p.symbol = place->symbol;
    p.offset = place->offset;
    if (std::find(kBlacklist.begin(), kBlacklist.end(), p.symbol) != kBlacklist.end()) return -EINVAL;
    p.addr = k_.kernel_symbol_address(p.symbol) + p.offset;
    if (p.ret_handler && !p.maxactive)
        p.maxactive = std::max(10u, 2 * static_cast<unsigned>(std::popcount(k_.cpu_possible_mask())));
    probes_[static_cast<unsigned>(p.symbol)].push_back(&p);
    arm(p.symbol);
    return 0;
}

void Kprobes::arm(KernelSymbol s) {
    const auto& list = probes_[static_cast<unsigned>(s)];
    const auto any = [&](bool inside) {
        return std::any_of(list.begin(), list.end(),
                           [&](const Kprobe* p) { return !p->disabled && (p->offset != 0) == inside; });
    };
    armed_[static_cast<unsigned>(s)] = any(false);
    armed_inside_[static_cast<unsigned>(s)] = any(true);
}

void Kprobes::set_enabled(Kprobe& p, bool on) {
    p.disabled = !on;
    arm(p.symbol);
}

void Kprobes::unregister_kprobe(Kprobe& p) {
    KernelFrame frame(k_, KernelSymbol::unregister_kprobe);
    std::erase(probes_[static_cast<unsigned>(p.symbol)], &p);
    arm(p.symbol);
    for (auto& [id, instance] : instances_) std::erase(instance.probes, &p);
}

std::uint64_t Kprobes::next_inside(KernelSymbol s, std::uint64_t offset) const {
    std::uint64_t least = ~std::uint64_t{0};
    for (const Kprobe* p : probes_[static_cast<unsigned>(s)])
        if (!p->disabled && p->offset >= offset && p->offset) least = std::min(least, (p->offset - offset) / 4);
    return least;
}

void Kprobes::hit_inside(KernelSymbol s, std::uint32_t offset, PtRegs& regs) { hit_at(s, offset, regs); }
std::uint32_t Kprobes::hit(KernelSymbol s, PtRegs& regs) { return hit_at(s, 0, regs); }

std::uint32_t Kprobes::hit_at(KernelSymbol s, std::uint32_t offset, PtRegs& regs) {
    const IrqGuard irq(k_); // a debug exception masks everything
    bool& running = running_[static_cast<unsigned>(k_.smp_processor_id())];
    // A handler may take probes off, so the walk goes over a copy.
    std::vector<Kprobe*> list = probes_[static_cast<unsigned>(s)];
    std::erase_if(list, [&](const Kprobe* p) { return p->offset != offset; });
    if (running) {
        for (Kprobe* p : list) ++p->nmissed;
        return 0;
    }
    running = true;
    Instance instance;
    {
        KernelFrame brk(k_, KernelSymbol::kprobe_breakpoint_handler);
        for (Kprobe* p : list) {
            if (p->disabled) continue;
            if (p->pre_handler) p->pre_handler(*p, regs);
            if (!p->ret_handler) continue;
            KernelFrame pre(k_, KernelSymbol::pre_handler_kretprobe);
            if (p->active == p->maxactive) {
                ++p->nmissed;
                continue;
            }
            ++p->active;
            instance.probes.push_back(p);
        }
    }
    { KernelFrame step(k_, KernelSymbol::kprobe_breakpoint_ss_handler); }
    running = false;
    if (instance.probes.empty()) return 0;
    if (++next_instance_ == 0) ++next_instance_;
    instances_[next_instance_] = std::move(instance);
    return next_instance_;
}

void Kprobes::forget(const std::vector<Kprobe*>& probes) {
    for (Kprobe* p : probes) --p->active;
}

void Kprobes::kretprobe_hit(std::uint32_t id, std::uint64_t ret_addr, PtRegs& regs) {
    const IrqGuard irq(k_);
    const auto it = instances_.find(id);
    if (it == instances_.end()) return;
    const Instance instance = std::move(it->second);
    instances_.erase(it);
    bool& running = running_[static_cast<unsigned>(k_.smp_processor_id())];
    const bool was = running;
    running = true;
    {
        KernelFrame frame(k_, KernelSymbol::trampoline_probe_handler);
        for (auto p = instance.probes.rbegin(); p != instance.probes.rend(); ++p)
            if ((*p)->ret_handler) (*p)->ret_handler(**p, ret_addr, regs);
    }
    forget(instance.probes);
    running = was;
}

void Kprobes::drop(std::uint32_t id) {
    const auto it = instances_.find(id);
    if (it == instances_.end()) return;
    forget(it->second.probes);
    instances_.erase(it);
}

} // namespace rkperf::ke
