// SPDX-License-Identifier: Apache-2.0
// A core that stands still, and a kernel on it: enough for wait queues, whose wake-ups mask interrupts.
#pragma once

#include "sim/os/kernel.h"

#include <stdexcept>

namespace rkperf::os::test {

class FakeCore final : public cpu::Core {
  public:
    FakeCore() : Core("fake_core"), clock_(1'000'000'000) {}

    CpuId id() const override { return CpuId(0); }
    std::uint64_t midr() const override { return 0x412fd050; }
    std::uint64_t mpidr() const override { return 0; }
    mem::CoreMemory& memory() override { throw std::logic_error("the fake core has no memory"); }
    void set_software(cpu::Software&) override {}
    void set_overflow_monitor(OverflowMonitor&) override {}
    void add_deadline_source(DeadlineSource&) override {}
    void set_debug_monitor(cpu::DebugMonitor&) override {}
    void debug_changed() override {}
    Cycles cycle() const override { return Cycles(0); }
    const Clock& clock() const override { return clock_; }
    void set_frequency(std::uint64_t) override {}
    void set_quantum(Picoseconds) override {}
    void sync() override {}
    cpu::UserExit run_user(a64::CpuState&) override { throw std::logic_error("the fake core runs nothing"); }
    void set_address_space(PhysAddr, std::uint16_t) override {}
    void write_contextidr(std::uint32_t) override {}
    void charge(const cpu::KernelWork&) override {}
    void kernel_access(PhysAddr, std::uint64_t, bool) override {}
    std::uint64_t mrs(SysReg) override { return 0; }
    void msr(SysReg, std::uint64_t) override {}
    bool irq_masked() const override { return masked_; }
    void set_irq_mask(bool masked) override { masked_ = masked; }
    bool irq_signalled() const override { return false; }
    void wait_for_interrupt() override {}
    void tlb_invalidate(std::uint32_t, std::uint64_t) override {}
    void code_changed(PhysAddr) override {}
    EventTotals& totals() override { return totals_; }
    const cpu::CoreStats& stats() const override { return stats_; }
    std::uint64_t present_pc() const override { return 0; }
    void set_level(bool, Picoseconds) override {}
    std::uint64_t total(EventNumber, ExceptionLevel) const override { return 0; }
    bool knows(EventNumber) const override { return false; }
    Picoseconds now() const override { return Picoseconds(0); }
    void rearm() override {}

  private:
    Clock clock_;
    EventTotals totals_{};
    cpu::CoreStats stats_;
    bool masked_{};
};

/// One kernel for all tests of the executable: SystemC modules are made once, and never taken down.
inline Kernel& fake_kernel() {
    static Kernel* const kernel = [] {
        constexpr std::uint64_t kBytes = 64 << 20;
        auto* memory = new mem::PhysicalMemory(PhysAddr(0x200000), kBytes);
        static cpu::Core* cores[] = {new FakeCore};
        KernelConfig config;
        config.dram_first = PhysAddr(0x200000);
        config.dram_bytes = kBytes;
        return new Kernel(cores, *memory, config);
    }();
    return *kernel;
}

} // namespace rkperf::os::test
