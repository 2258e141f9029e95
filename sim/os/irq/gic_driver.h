// SPDX-License-Identifier: Apache-2.0
// The GICv3 driver: distributor and redistributors by memory-mapped TLM, CPU interface by system registers; per-CPU
// interrupt handlers and inter-processor interrupts.
#pragma once

#include "kernel_events/kernel.h"

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace rkperf::os {

class Kernel;

/// Numbers of the SGIs, in the kernel's own order.
enum class Ipi : std::uint8_t {
    reschedule = 0,
    call_func = 1,
    cpu_stop = 2,
    cpu_crash_stop = 3,
    timer = 4,
    irq_work = 5
};

class GicDriver {
  public:
    /// ICC_PMR_EL1 of a kernel with pseudo-NMIs: all interrupts, or only NMIs.
    static constexpr std::uint64_t kPriorityIrqOn = 0xe0, kPriorityIrqOff = 0x60;

    explicit GicDriver(Kernel& k) : os_(k) {}

    void init_distributor();
    void init_cpu(int cpu); ///< redistributor and CPU interface of the calling CPU
    void send(int cpu, Ipi ipi);
    void request_percpu(unsigned intid, std::string_view name, std::function<bool(ke::PtRegs&)> handler,
                        bool nmi = false);
    /// Gives a per-CPU interrupt of the calling CPU the priority of an NMI.
    void prepare_percpu_nmi(unsigned intid);
    void enable_percpu(unsigned intid, bool on);
    // Shared interrupts (SPIs): routed to one CPU, disabled when they are requested.
    int set_affinity(unsigned intid, int cpu);
    int request_shared(unsigned intid, std::string_view name, std::function<bool(ke::PtRegs&)> handler, bool nmi);
    void enable_shared(unsigned intid, bool on);
    void free(unsigned intid);
    /// Acknowledges and handles until nothing is pending. `regs`: interrupted registers.
    void handle(ke::PtRegs& regs);

    struct Call {
        std::function<void()> fn;
        bool done{};
        Picoseconds done_at{};
    };
    void queue_call(int cpu, std::shared_ptr<Call> call);
    void queue_irq_work(int cpu, ke::IrqWork& work);
    void drop_irq_work(ke::IrqWork& work);

    struct Irq {
        unsigned intid{};
        std::string name;
        std::function<bool(ke::PtRegs&)> handler;
        std::array<std::uint64_t, ke::kMaxCpus> count{};
        bool nmi{};
    };
    const std::vector<Irq>& irqs() const { return irqs_; }
    std::uint64_t ipi_count(int cpu, Ipi i) const {
        return ipis_[static_cast<unsigned>(cpu)][static_cast<unsigned>(i)];
    }

  private:
    bool is_shared(unsigned intid);
    void set_priority(std::uint64_t registers, unsigned intid, std::uint64_t priority);
    void dispatch(unsigned intid, ke::PtRegs& regs);
    void handle_one(unsigned intid, ke::PtRegs& regs);
    void handle_nmi(unsigned intid, ke::PtRegs& regs);
    void handle_irq_from_irqsoff(ke::PtRegs& regs);
    void handle_ipi(Ipi ipi);

    Kernel& os_;
    std::vector<Irq> irqs_; ///< requested ones, of each CPU and shared
    std::array<std::deque<std::shared_ptr<Call>>, ke::kMaxCpus> calls_;
    std::array<std::deque<ke::IrqWork*>, ke::kMaxCpus> works_;
    std::array<std::array<std::uint64_t, 8>, ke::kMaxCpus> ipis_{};
};

} // namespace rkperf::os
