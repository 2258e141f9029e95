// SPDX-License-Identifier: Apache-2.0
// Where the simulated kernel's functions lie, which of them the running context is in, and what entering them costs.
#include "kernel_events/kprobes.h"
#include "sim/os/kernel.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace rkperf::os {

namespace {
constexpr unsigned kSymbols = static_cast<unsigned>(KernelSymbol::count_);
/// _stext of a 6.1 kernel with 48-bit addresses and no KASLR.
constexpr std::uint64_t kTextBase = 0xffff800008010000;

/// A function is as long as the instructions charged for it, in whole cache lines.
constexpr std::uint64_t text_size(unsigned i) {
    const std::uint64_t bytes = std::uint64_t{kKernelSymbols[i].instructions} * 4;
    return std::max<std::uint64_t>((bytes + 63) & ~std::uint64_t{63}, 128);
}
constexpr std::array<std::uint64_t, kSymbols + 1> layout() {
    std::array<std::uint64_t, kSymbols + 1> a{};
    a[0] = kTextBase;
    for (unsigned i = 0; i < kSymbols; ++i) a[i + 1] = a[i] + text_size(i);
    return a;
}
constexpr auto kAddress = layout();

/// A plausible mix of compiled kernel code: a quarter loads, an eighth stores, a sixth branches.
constexpr cpu::KernelWork mixed(std::uint32_t instructions) {
    return {.instructions = instructions,
            .loads = instructions / 4,
            .stores = instructions / 8,
            .branches = instructions / 6};
}
/// What entering each function charges.
constexpr std::array<cpu::KernelWork, kSymbols> entries() {
    std::array<cpu::KernelWork, kSymbols> a{};
    for (unsigned i = 0; i < kSymbols; ++i) {
        a[i] = mixed(kKernelSymbols[i].instructions);
        a[i].code_address = a[i].function = kAddress[i];
        a[i].function_bytes = text_size(i);
    }
    return a;
}
constexpr auto kEntry = entries();
} // namespace

std::uint64_t Kernel::place_in(const Task::Frame& f) {
    const auto i = static_cast<unsigned>(f.symbol);
    // A call is never a function's first instruction, and what it returns to is in the same function.
    const std::uint64_t offset = f.offset % text_size(i);
    return kAddress[i] + (offset ? offset : f.offset ? text_size(i) - 4 : 4);
}

std::uint64_t Kernel::symbol_address(KernelSymbol s) { return kAddress[static_cast<unsigned>(s)]; }

std::optional<KernelSymbol> Kernel::symbol_at(std::uint64_t address) {
    if (address < kAddress.front() || address >= kAddress.back()) return std::nullopt;
    const auto it = std::upper_bound(kAddress.begin(), kAddress.end(), address);
    return static_cast<KernelSymbol>(it - kAddress.begin() - 1);
}

std::array<std::uint8_t, 20> Kernel::build_id() {
    std::array<std::uint8_t, 20> id{};
    for (unsigned word = 0; word < 5; ++word) {
        std::uint32_t h = 2166136261u + word * 0x9e3779b9u; // FNV-1a, one stream per word
        const auto mix = [&](std::uint8_t b) { h = (h ^ b) * 16777619u; };
        for (unsigned i = 0; i < kSymbols; ++i) {
            for (const char c : kKernelSymbols[i].name) mix(static_cast<std::uint8_t>(c));
            for (unsigned b = 0; b < 8; ++b) mix(static_cast<std::uint8_t>(kAddress[i] >> 8 * b));
        }
        for (unsigned b = 0; b < 4; ++b) id[word * 4 + b] = static_cast<std::uint8_t>(h >> 8 * b);
    }
    return id;
}

std::string Kernel::kallsyms(bool addresses) {
    std::string out;
    const auto line = [&](std::uint64_t address, std::string_view name) {
        char hex[32];
        std::snprintf(hex, sizeof hex, "%016llx T ", addresses ? static_cast<unsigned long long>(address) : 0ull);
        out.append(hex).append(name).push_back('\n');
    };
    line(kAddress.front(), "_text");
    line(kAddress.front(), "_stext");
    for (unsigned i = 0; i < kSymbols; ++i) line(kAddress[i], kKernelSymbols[i].name);
    line(kAddress.back(), "_etext");
    return out;
}

std::string Kernel::notes() {
    // Elf64_Nhdr: size of the name, size of the contents, NT_GNU_BUILD_ID.
    std::string note("\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0", 16);
    for (const std::uint8_t b : build_id()) note.push_back(static_cast<char>(b));
    return note;
}

void Kernel::enter(KernelSymbol symbol) {
    PerCpu& p = here();
    p.frames->push_back({symbol});
    for (auto* o : frame_observers_) o->kernel_enter(this_cpu(), symbol);
    const ke::Kprobes& kprobes = perf_->kprobes();
    const bool probed = kprobes.armed(symbol), bps = p.kernel_bps && *p.kernel_bps != 0;
    if (__builtin_expect(!(probed || bps || kprobes.armed_inside(symbol)), 1)) {
        const cpu::KernelWork& w = kEntry[static_cast<unsigned>(symbol)];
        p.frames->back().offset = w.instructions * 4;
        if (w.instructions) p.core->charge(w);
        return;
    }
    if (probed) kprobe_entry(symbol);
    if (bps) kernel_breakpoint(symbol_address(symbol));
    charge(info(symbol).instructions); // by now the task may be on another CPU
}

void Kernel::arguments(ke::PtRegs& regs, KernelSymbol symbol) {
    // What a system call's first functions get is what the program put into the registers.
    const Task& t = cur();
    if (t.as) std::copy_n(t.pt_regs.regs, 8, regs.regs);
    if (takes_pt_regs(symbol)) regs.regs[0] = task_pt_regs_address();
}

void Kernel::kprobe_entry(KernelSymbol symbol) {
    if (dismantling_) return;
    ke::PtRegs regs;
    kernel_regs(regs, symbol_address(symbol), CodeAt::entry);
    arguments(regs, symbol);
    const std::uint32_t instance = perf_->kprobes().hit(symbol, regs);
    here().frames->back().kretprobe = instance;
}

void Kernel::kprobe_return(std::uint32_t instance) {
    if (dismantling_) return;
    const auto& frames = *here().frames;
    const Task::Frame f = frames.back();
    std::uint64_t ret_addr = kTextBase;
    if (frames.size() > 1) {
        const Task::Frame& caller = frames[frames.size() - 2];
        ret_addr = place_in(caller);
    }
    ke::PtRegs regs;
    kernel_regs(regs, ret_addr, CodeAt::returned);
    regs.regs[0] = static_cast<std::uint64_t>(f.result);
    perf_->kprobes().kretprobe_hit(instance, ret_addr, regs);
}

void Kernel::function_returns(std::int64_t result) {
    if (!here().frames->empty()) here().frames->back().result = result;
}

void Kernel::leave() {
    PerCpu* p = &here();
    if (const std::uint32_t instance = p->frames->back().kretprobe) {
        kprobe_return(instance);
        p = &here();
    }
    for (auto* o : frame_observers_) o->kernel_leave(this_cpu(), p->frames->back().symbol);
    p->frames->pop_back();
}

void Kernel::kprobes_inside(std::uint32_t& instructions) {
    while (instructions) {
        // A handler may leave the task on another CPU.
        const KernelSymbol symbol = here().frames->back().symbol;
        const std::uint64_t at = here().frames->back().offset, before = perf_->kprobes().next_inside(symbol, at);
        if (before >= instructions) return;
        if (before) {
            charge_plain(here(), static_cast<std::uint32_t>(before));
            instructions -= static_cast<std::uint32_t>(before);
        }
        ke::PtRegs regs;
        const std::uint64_t offset = at + 4 * before;
        kernel_regs(regs, symbol_address(symbol) + offset, CodeAt::inside);
        arguments(regs, symbol);
        perf_->kprobes().hit_inside(symbol, static_cast<std::uint32_t>(offset), regs);
        charge_plain(here(), 1);
        --instructions;
    }
}

void Kernel::charge(std::uint32_t instructions) {
    PerCpu& p = here();
    if (p.frames->empty() || __builtin_expect(!perf_->kprobes().armed_inside(p.frames->back().symbol), 1) ||
        dismantling_)
        return charge_plain(p, instructions);
    kprobes_inside(instructions);
    charge_plain(here(), instructions);
}

void Kernel::charge_plain(PerCpu& p, std::uint32_t instructions) {
    if (!instructions) return;
    cpu::KernelWork w = mixed(instructions);
    if (p.frames->empty()) {
        w.code_address = kTextBase;
    } else {
        Task::Frame& f = p.frames->back();
        const auto size = text_size(static_cast<unsigned>(f.symbol));
        w.function = symbol_address(f.symbol);
        w.function_bytes = size;
        w.code_address = w.function + f.offset % size;
        f.offset += instructions * 4;
        if (f.offset >> 31) f.offset = static_cast<std::uint32_t>(size + f.offset % size); // has passed its end, still
    }
    p.core->charge(w);
}

} // namespace rkperf::os
