// SPDX-License-Identifier: Apache-2.0
#include "sim/soc/machine.h"

#include "models/cpu_a55/core_a55.h"
#include "models/cpu_a55/id_registers.h"
#include "models/cpu_a76/core_a76.h"
#include "models/cpu_a76/id_registers.h"
#include "models/memory/kernel_layout.h"
#include "sim/soc/pmu_nodes.h"

#include <cstring>
#include <stdexcept>

namespace rkperf::soc {

namespace {

constexpr std::uint64_t kDramBase = 0;
/// Firmware and the kernel's own image lie below (TF-A memory map of the RK3588).
constexpr std::uint64_t kFirstFreePage = 0x0200'0000;
static_assert(kFirstFreePage >= mem::kernel_layout::kEnd);
constexpr unsigned kVirtualTimerIntid = 27, kPhysicalTimerIntid = 30;
/// Read-only part of PMCR_EL0: IMP, IDCODE, N = 6.
constexpr std::uint32_t kPmcrA76 = 0x410b3000, kPmcrA55 = 0x41453000;

const mem::DramTiming& timing_of(DramKind kind) {
    switch (kind) {
        case DramKind::lpddr5_2736: return mem::kLpddr5_2736;
        case DramKind::lpddr4x_2112: break;
    }
    return mem::kLpddr4x2112;
}

os::KernelConfig kernel_config(const MachineConfig& c, const os::MountConfig& mounts, Picoseconds timeout) {
    os::KernelConfig k;
    k.hz = c.hz;
    k.pseudo_nmi = c.pseudo_nmi;
    for (const CpuConfig& cpu : c.cpus) k.cpu_capacity.push_back(cpu.capacity);
    k.dram_first = PhysAddr(kDramBase + kFirstFreePage);
    k.dram_bytes = (c.dram_mib << 20) - kFirstFreePage;
    k.perf.pmus = pmu_nodes(c);
    k.perf.paranoid = c.paranoid;
    k.perf.mlock_kb = c.perf_mlock_kb;
    k.perf.max_sample_rate = c.perf_max_sample_rate;
    k.perf.cpu_time_max_percent = c.perf_cpu_time_max_percent;
    k.mounts = mounts;
    k.seed = c.seed;
    k.hostname = c.hostname;
    k.epoch_s = c.epoch;
    k.timeout = timeout;
    return k;
}

} // namespace

MachineConfig MachineConfig::rk3588() {
    MachineConfig c;
    // capacity-dmips-mhz 530 and 1024 at the clocks of the highest operating points.
    constexpr unsigned kCapacityA55 = 530 * 1800 / 2400;
    for (int i = 0; i < 4; ++i) c.cpus.push_back({CoreKind::cortex_a55, 1'800'000'000, kCapacityA55, 0});
    for (int i = 0; i < 4; ++i) c.cpus.push_back({CoreKind::cortex_a76, 2'400'000'000, 1024, 0});
    return c;
}

int RunResult::exit_code() const {
    const int sig = status & 0x7f;
    return sig ? 128 + sig : status >> 8 & 0xff;
}

Machine::Machine(sc_core::sc_module_name name, const MachineConfig& config, const os::MountConfig& mounts,
                 Picoseconds timeout)
    : sc_module(name), config_(config), mode_(config.timing, config.warm_up), bus_("bus") {
    const auto n = static_cast<unsigned>(config_.cpus.size());
    memory_ = std::make_unique<mem::PhysicalMemory>(PhysAddr(kDramBase), config_.dram_mib << 20);
    dram_ = std::make_unique<mem::Dram>("dram", PhysAddr(kDramBase), config_.dram_mib << 20, timing_of(config_.dram));
    mem::DsuParams dsu;
    dsu.hertz = config_.dsu_hertz;
    dsu_ = std::make_unique<mem::Dsu>("dsu", n, dsu);
    dsu_->to_dram.bind(dram_->socket);
    gic::GicConfig gic;
    gic.params.ppi_to_cpu = Picoseconds(config_.gic_ppi_delay_ps);
    gic.params.sgi_to_cpu = Picoseconds(config_.gic_sgi_delay_ps);
    gic.params.spi_to_cpu = Picoseconds(config_.gic_spi_delay_ps);
    gic_ = std::make_unique<gic::Gic600>("gic", gic);
    bus_.bind(gic_->mmio);

    std::vector<cpu::Core*> pointers;
    for (unsigned i = 0; i < n; ++i) {
        const CpuConfig& cc = config_.cpus[i];
        const bool a55 = cc.kind == CoreKind::cortex_a55;
        const std::string id = std::to_string(i);
        cpu::CoreConfig core;
        core.cpu = CpuId(i);
        core.hertz = cc.hertz;
        core.quantum = config_.quantum;
        core.seed = config_.seed;
        core.simple = config_.simple_cores;
        core.domain = &domain_;
        core.plain = config_.plain_loop;
        core.mode = &mode_;
        const cpu::CoreQuirks quirks{config_.a55_br_retired_isb, config_.a76_no_pc_write_retired,
                                     config_.wfi_stops_cycles, cc.exception_entry};
        cores_.push_back(a55 ? cpu_a55::make_core(("cpu" + id).c_str(), core, *memory_, quirks)
                             : cpu_a76::make_core(("cpu" + id).c_str(), core, *memory_, quirks));
        cpu::Core& c = *cores_.back();
        c.memory().to_dsu.bind(dsu_->from_core[i]);
        dsu_->attach(i, c.memory().snoop_port());

        const cpu::CoreTables& tables = a55 ? cpu_a55::tables() : cpu_a76::tables();
        pmu::PmuConfig pc;
        pc.cpu = CpuId(i);
        pc.pmcr_ro = a55 ? kPmcrA55 : kPmcrA76;
        pc.pmceid0 = tables.events.pmceid0;
        if (!config_.a76_no_pc_write_retired) pc.pmceid0 |= std::uint64_t{1} << pmu_event::PC_WRITE_RETIRED;
        pc.pmceid1 = tables.events.pmceid1;
        const unsigned pmu_irq = pmu_intid(config_, i);
        LevelSink& pmu_line = gic::is_private(pmu_irq) ? gic_->ppi(CpuId(i), pmu_irq) : gic_->spi(pmu_irq);
        pmus_.push_back(std::make_unique<pmu::PmuV3>(("pmu" + id).c_str(), pc, c, pmu_line));
        timers_.push_back(std::make_unique<timer::GenericTimer>(("timer" + id).c_str(), timer::TimerConfig{},
                                                                gic_->ppi(CpuId(i), kVirtualTimerIntid),
                                                                gic_->ppi(CpuId(i), kPhysicalTimerIntid)));
        SysRegConstants constants;
        for (const cpu::IdRegister& r : a55 ? cpu_a55::id_registers() : cpu_a76::id_registers())
            constants.emplace_back(r.reg, r.value);
        constants.emplace_back(sysreg::MPIDR_EL1, c.mpidr());
        routers_.push_back(std::make_unique<SysRegRouter>(("sysregs" + id).c_str(), std::move(constants)));
        SysRegRouter& router = *routers_.back();
        c.sysreg.bind(router.core);
        router.pmu.bind(pmus_.back()->sysreg);
        router.gic.bind(gic_->sysreg(CpuId(i)));
        router.timer.bind(timers_.back()->sysreg);
        debug::DebugConfig dc;
        dc.cpu = CpuId(i);
        debugs_.push_back(std::make_unique<debug::DebugRegs>(("debug" + id).c_str(), dc));
        router.debug.bind(debugs_.back()->sysreg);
        debug_adapters_.push_back(std::make_unique<DebugAdapter>(*debugs_.back(), c));
        c.set_overflow_monitor(*pmus_.back());
        c.add_deadline_source(*timers_.back());
        irq_lines_.push_back(std::make_unique<LineTap>(c));
        gic_->connect_cpu(CpuId(i), *irq_lines_.back());
        pointers.push_back(&c);
    }
    kernel_ = std::make_unique<os::Kernel>(pointers, *memory_, kernel_config(config_, mounts, timeout));
    kernel_->set_mmio([this](int cpu, std::uint64_t address, bool write, std::uint64_t value) {
        return mmio(cpu, address, write, value);
    });
    kernel_->set_on_exit([this](int status) {
        ended_ = true;
        result_.timed_out = status == os::kStatusTimeout;
        result_.finished = !result_.timed_out;
        if (result_.finished) result_.status = status;
        sc_core::sc_stop();
    });
}

Machine::~Machine() = default;

std::uint64_t Machine::mmio(int cpu, std::uint64_t address, bool write, std::uint64_t value) {
    // Device registers are 32 bits wide here; GICD_IROUTER is the only wider one and its upper half is zero.
    auto word = static_cast<std::uint32_t>(value);
    tlm::tlm_generic_payload p;
    p.set_command(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
    p.set_address(address);
    p.set_data_ptr(reinterpret_cast<unsigned char*>(&word));
    p.set_data_length(sizeof word);
    p.set_streaming_width(sizeof word);
    SysRegExtension origin;
    origin.cpu = CpuId(static_cast<std::uint32_t>(cpu));
    p.set_extension(&origin);
    const Picoseconds now = cores_[static_cast<unsigned>(cpu)]->now();
    sc_core::sc_time delay = to_sc_time(now) - sc_core::sc_time_stamp();
    bus_->b_transport(p, delay);
    p.clear_extension(&origin);
    if (!p.is_response_ok())
        throw std::logic_error("access to device register " + std::to_string(address) +
                               " was refused: " + p.get_response_string());
    return word;
}

RunResult Machine::run(os::InitProgram program, const std::function<bool(const RunResult&)>& poll, Picoseconds end_at) {
    kernel_->set_init(std::move(program));
    constexpr Picoseconds kSlice{5'000'000'000};
    const auto measure = [&] {
        result_.time = to_picoseconds(sc_core::sc_time_stamp());
        result_.user_instructions = result_.kernel_instructions = 0;
        for (const auto& c : cores_) {
            result_.user_instructions += c->totals().get(pmu_event::INST_RETIRED, ExceptionLevel::el0);
            result_.kernel_instructions += c->totals().get(pmu_event::INST_RETIRED, ExceptionLevel::el1);
        }
    };
    bool asked = false;
    while (!ended_) {
        const Picoseconds now = to_picoseconds(sc_core::sc_time_stamp());
        const bool cut = end_at > now && end_at - now < kSlice;
        sc_core::sc_start(to_sc_time(cut ? end_at - now : kSlice));
        measure();
        if (ended_ || !sc_core::sc_pending_activity()) break;
        if (result_.time >= end_at && !asked) {
            asked = true;
            kernel_->interrupt();
        }
        if (!poll || poll(result_)) continue;
        result_.interrupted = true;
        if (asked) break;
        asked = true;
        kernel_->interrupt();
    }
    kernel_->vfs().sync_all();
    measure();
    return result_;
}

} // namespace rkperf::soc
