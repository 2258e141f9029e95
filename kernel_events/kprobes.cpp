// SPDX-License-Identifier: Apache-2.0
#include "kernel_events/kprobes.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <string>

namespace rkperf::ke {

namespace {
/// Functions on the way of a probe's own exceptions (NOKPROBE_SYMBOL, noinstr, the entry code).
constexpr std::array kBlacklist{
    KernelSymbol::el0t_64_sync,
    KernelSymbol::el0t_64_irq,
    KernelSymbol::el1h_64_irq,
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
};
constexpr unsigned kSymbols = static_cast<unsigned>(KernelSymbol::count_);
} // namespace

std::optional<KernelSymbol> Kprobes::find_symbol(std::string_view name) {
    for (unsigned i = 0; i < kSymbols; ++i)
        if (kKernelSymbols[i].name == name) return static_cast<KernelSymbol>(i);
    return std::nullopt;
}

std::optional<KernelSymbol> Kprobes::symbol_at(std::uint64_t address) {
    for (unsigned i = 0; i < kSymbols; ++i)
        if (k_.kernel_symbol_address(static_cast<KernelSymbol>(i)) == address) return static_cast<KernelSymbol>(i);
    return std::nullopt;
}

std::string Kprobes::sprint_symbol(std::uint64_t address) {
    char text[160];
    for (unsigned i = 0; i + 1 < kSymbols; ++i) {
        const std::uint64_t start = k_.kernel_symbol_address(static_cast<KernelSymbol>(i));
        const std::uint64_t end = k_.kernel_symbol_address(static_cast<KernelSymbol>(i + 1));
        if (address < start || address >= end) continue;
        std::snprintf(text, sizeof text, "%.*s+0x%llx/0x%llx", static_cast<int>(kKernelSymbols[i].name.size()),
                      kKernelSymbols[i].name.data(), static_cast<unsigned long long>(address - start),
                      static_cast<unsigned long long>(end - start));
        return text;
    }
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
    return text;
}

int Kprobes::register_kprobe(Kprobe& p) {
    KernelFrame frame(k_, KernelSymbol::register_kprobe);
    if (std::find(kBlacklist.begin(), kBlacklist.end(), p.symbol) != kBlacklist.end()) return -EINVAL;
    p.addr = k_.kernel_symbol_address(p.symbol);
    if (p.ret_handler && !p.maxactive) p.maxactive = static_cast<unsigned>(std::popcount(k_.cpu_possible_mask()));
    probes_[static_cast<unsigned>(p.symbol)].push_back(&p);
    arm(p.symbol);
    return 0;
}

void Kprobes::arm(KernelSymbol s) {
    const auto& list = probes_[static_cast<unsigned>(s)];
    armed_[static_cast<unsigned>(s)] =
        std::any_of(list.begin(), list.end(), [](const Kprobe* p) { return !p->disabled; });
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

std::uint32_t Kprobes::hit(KernelSymbol s, PtRegs& regs) {
    const IrqGuard irq(k_); // a debug exception masks everything
    bool& running = running_[static_cast<unsigned>(k_.smp_processor_id())];
    // A handler may take probes off, so the walk goes over a copy.
    const std::vector<Kprobe*> list = probes_[static_cast<unsigned>(s)];
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
