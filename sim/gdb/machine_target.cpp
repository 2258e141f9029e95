// SPDX-License-Identifier: Apache-2.0
#include "sim/gdb/machine_target.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace rkperf::gdb {

namespace {

constexpr std::uint64_t kMaxWatch = 1u << 20;

} // namespace

MachineTarget::MachineTarget(soc::Machine& machine, Halted halted)
    : machine_(machine), halted_(std::move(halted)), in_user_(machine.cores()) {
    machine.kernel().add_observer(*this);
    for (unsigned c = 0; c < machine.cores(); ++c)
        monitors_.push_back(std::make_unique<CoreMonitor>(
            c, machine.core(c), machine.debug_adapter(c), points_,
            [this, c] { return machine_.kernel().pcpu(static_cast<int>(c)).user.pc; },
            [this](const Stop& stop) { halt(stop); }));
}

os::Task& MachineTarget::task(unsigned cpu) { return *machine_.kernel().pcpu(static_cast<int>(cpu)).current; }

void MachineTarget::halt(const Stop& stop) {
    for (const auto& m : monitors_) m->stop_never();
    halted_(stop);
}

void MachineTarget::stop_at_start() {
    for (const auto& m : monitors_) m->stop_next(Stop::Why::start);
}

unsigned MachineTarget::busy_cpu() {
    for (unsigned c = 0; c < cpus(); ++c)
        if (task(c).as) return c;
    return 0;
}

std::string MachineTarget::cpu_text(unsigned cpu) {
    const bool a55 = machine_.config().cpus[cpu].kind == soc::CoreKind::cortex_a55;
    const os::Task& t = task(cpu);
    std::string text = a55 ? "Cortex-A55" : "Cortex-A76";
    if (!t.pid) return text + ", idle";
    text += ", " + t.name() + "[" + std::to_string(t.pid) + "]";
    if (in_user(cpu)) return text;
    const auto symbol = os::Kernel::symbol_at(machine_.core(cpu).present_pc());
    return text + ", in the kernel" + (symbol ? ": " + std::string(info(*symbol).name) : "");
}

// --- registers ---

Registers MachineTarget::registers(unsigned cpu) {
    Registers r;
    const os::Task& t = task(cpu);
    r.currentel = in_user(cpu) ? 0 : 1;
    if (!t.as) {
        r.pc = machine_.core(cpu).present_pc();
        return r;
    }
    const a64::CpuState& u = machine_.kernel().pcpu(static_cast<int>(cpu)).user;
    std::copy_n(u.x, r.x.size(), r.x.begin());
    r.sp = u.x[a64::kSp];
    r.pc = u.pc;
    r.cpsr = u.nzcv & 0xf0000000u;
    for (unsigned i = 0; i < 32; ++i) std::memcpy(r.v[i].data(), u.v[i].b, 16);
    r.fpsr = u.fpsr;
    r.fpcr = u.fpcr;
    r.tpidr = u.tpidr_el0;
    r.ttbr0 = t.as->pgd().v;
    return r;
}

bool MachineTarget::set_registers(unsigned cpu, const Registers& r) {
    os::Task& t = task(cpu);
    if (!t.as) return false;
    a64::CpuState& u = machine_.kernel().pcpu(static_cast<int>(cpu)).user;
    std::copy_n(r.x.begin(), r.x.size(), u.x);
    u.x[a64::kSp] = r.sp;
    u.nzcv = r.cpsr & 0xf0000000u;
    for (unsigned i = 0; i < 32; ++i) std::memcpy(u.v[i].b, r.v[i].data(), 16);
    u.fpsr = r.fpsr & a64::kFpsrMask;
    u.fpcr = r.fpcr & a64::kFpcrMask;
    u.tpidr_el0 = r.tpidr;
    if (u.pc != r.pc) {
        u.pc = r.pc;
        machine_.core(cpu).code_changed(PhysAddr(0)); // makes the core look where it is
    }
    return true;
}

// --- memory ---

std::size_t MachineTarget::read_memory(unsigned cpu, std::uint64_t address, std::span<std::uint8_t> to) {
    const os::Task& t = task(cpu);
    std::array<std::uint8_t, kPageSize> page;
    std::size_t done = 0;
    while (t.as && done < to.size() && t.as->peek_page(address + done, page)) {
        const std::uint64_t start = (address + done) & ~kPageMask;
        const std::size_t n = std::min<std::size_t>(to.size() - done, kPageSize - start);
        std::memcpy(to.data() + done, page.data() + start, n);
        done += n;
    }
    return done;
}

std::size_t MachineTarget::write_memory(unsigned cpu, std::uint64_t address, std::span<const std::uint8_t> from) {
    const os::Task& t = task(cpu);
    std::size_t done = 0;
    while (t.as && done < from.size()) {
        const auto page = t.as->poke_page(address + done);
        if (!page) break;
        const std::uint64_t start = (address + done) & ~kPageMask;
        const std::size_t n = std::min<std::size_t>(from.size() - done, kPageSize - start);
        std::memcpy(machine_.memory().host(*page) + start, from.data() + done, n);
        for (unsigned c = 0; c < machine_.cores(); ++c) machine_.core(c).code_changed(*page);
        done += n;
    }
    return done;
}

std::vector<std::uint8_t> MachineTarget::auxv(unsigned cpu) {
    const os::Task& t = task(cpu);
    return t.as ? t.process->auxv : std::vector<std::uint8_t>{};
}

// --- files ---

std::string MachineTarget::exec_file(unsigned cpu) {
    const os::Task& t = task(cpu);
    return t.as && t.process->exe_file ? t.process->exe_file->path() : std::string{};
}

os::Inode* MachineTarget::mapped_file(unsigned cpu, std::string_view path) {
    const os::Task& t = task(cpu);
    if (!t.as) return nullptr;
    os::Inode* by_name = nullptr;
    const auto last = [](std::string_view s) { return s.substr(s.rfind('/') + 1); };
    const auto look = [&](const os::FileHandle& f) -> os::Inode* {
        os::Inode* inode = f ? f->inode() : nullptr;
        if (!inode) return nullptr;
        const std::string name = f->path();
        if (!by_name && last(name) == last(path)) by_name = inode;
        return name == path ? inode : nullptr;
    };
    if (os::Inode* inode = look(t.process->exe_file)) return inode;
    for (const auto& [start, v] : t.as->vmas())
        if (os::Inode* inode = look(v.file)) return inode;
    return by_name;
}

std::optional<std::uint64_t> MachineTarget::file_size(unsigned cpu, std::string_view path) {
    os::Inode* inode = mapped_file(cpu, path);
    return inode ? std::optional(inode->size()) : std::nullopt;
}

std::size_t MachineTarget::read_file(unsigned cpu, std::string_view path, std::uint64_t offset,
                                     std::span<std::uint8_t> to) {
    os::Inode* inode = mapped_file(cpu, path);
    const std::uint64_t size = inode ? inode->size() : 0;
    std::array<std::uint8_t, kPageSize> page;
    std::size_t done = 0;
    while (done < to.size() && offset < size && inode->peek(offset >> kPageShift, page)) {
        const std::uint64_t start = offset & ~kPageMask;
        const std::size_t n = std::min<std::uint64_t>({to.size() - done, kPageSize - start, size - offset});
        std::memcpy(to.data() + done, page.data() + start, n);
        done += n;
        offset += n;
    }
    return done;
}

// --- running ---

void MachineTarget::points_changed() {
    for (const auto& m : monitors_) m->changed();
}

bool MachineTarget::set_point(PointKind kind, std::uint64_t address, std::uint64_t length, bool set) {
    const bool is_break = kind == PointKind::software || kind == PointKind::hardware;
    if (is_break ? (address & 3) != 0 : length == 0 || length > kMaxWatch || address + length < address) return false;
    const Points::Point p{kind, address, length};
    const auto at = std::find(points_.list.begin(), points_.list.end(), p);
    if (set && at == points_.list.end()) points_.list.push_back(p);
    if (!set && at != points_.list.end()) points_.list.erase(at);
    points_changed();
    return true;
}

void MachineTarget::clear_points() {
    points_.list.clear();
    points_changed();
}

void MachineTarget::resume(std::optional<unsigned> step, const std::vector<bool>& held) {
    for (const auto& m : monitors_)
        m->stop_never(); // a step may not have come to its end before something else stopped all
    for (unsigned c = 0; c < cpus(); ++c) monitors_[c]->hold(held[c]);
    if (step) monitors_[*step]->stop_next(Stop::Why::step);
}

void MachineTarget::detach() {
    clear_points();
    for (const auto& m : monitors_) {
        m->stop_never();
        m->hold(false);
    }
}

std::string MachineTarget::monitor(unsigned cpu, std::string_view command) {
    return monitor_text(machine_, cpu, command);
}

} // namespace rkperf::gdb
