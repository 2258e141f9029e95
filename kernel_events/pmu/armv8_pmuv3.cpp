// SPDX-License-Identifier: Apache-2.0
#include "kernel_events/pmu/armv8_pmuv3.h"

#include "kernel_events/pmu/armv8_events.h"

#include <bit>

namespace rkperf::ke {

namespace {

constexpr int kCycleIdx = 0, kCounter0Idx = 1;
constexpr unsigned kCommonEvents = 0x40;
constexpr std::uint64_t kEvtypeMask = 0xc800ffff, kEventMask = 0xffff;
constexpr std::uint64_t kExcludeEl1 = std::uint64_t{1} << 31, kExcludeEl0 = std::uint64_t{1} << 30,
                        kIncludeEl2 = std::uint64_t{1} << 27;
constexpr std::uint64_t PMCR_E = 0x1, PMCR_P = 0x2, PMCR_C = 0x4, PMCR_LC = 0x40, PMCR_LP = 0x80;
constexpr std::uint64_t PMUSERENR_CR = 0x4, PMUSERENR_ER = 0x8;
constexpr std::uint64_t kAllCounters = 0xffffffff;

bool is_64bit(const PerfEvent& e) { return e.attr.config1 & 1; }
bool wants_user_access(const PerfEvent& e) { return e.attr.config1 & 2; }
bool has_user_read(const PerfEvent& e) { return e.hw.flags & PERF_EVENT_FLAG_USER_READ_CNT; }
/// Number of the event counter behind a driver's index.
unsigned counter_of(int idx) { return static_cast<unsigned>(idx - kCounter0Idx); }
/// Bit of a driver's index in the enable, interrupt and overflow registers.
std::uint64_t bit_of(int idx) { return std::uint64_t{1} << (idx == kCycleIdx ? 31 : counter_of(idx)); }

int map_hw_event(const perf_event_attr& attr) {
    if (attr.config >= PERF_COUNT_HW_MAX) return -EINVAL;
    const std::uint16_t e = kArmv8PerfMap[attr.config];
    return e == HW_OP_UNSUPPORTED ? -ENOENT : e;
}

int map_cache_event(const perf_event_attr& attr) {
    const unsigned cache = attr.config & 0xff, op = attr.config >> 8 & 0xff, result = attr.config >> 16 & 0xff;
    if (cache >= PERF_COUNT_HW_CACHE_MAX || op >= PERF_COUNT_HW_CACHE_OP_MAX ||
        result >= PERF_COUNT_HW_CACHE_RESULT_MAX)
        return -EINVAL;
    if (op != PERF_COUNT_HW_CACHE_OP_READ) return -ENOENT;
    const std::uint16_t e = kArmv8CacheMap[cache][result];
    return e == HW_OP_UNSUPPORTED ? -ENOENT : e;
}

} // namespace

bool Armv8Pmu::probe() {
    pmuver_ = static_cast<unsigned>(kernel.mrs(sysreg::ID_AA64DFR0_EL1) >> 8 & 0xf);
    if (pmuver_ == 0 || pmuver_ == 0xf) return false;
    num_events_ = static_cast<int>(kernel.mrs(sysreg::PMCR_EL0) >> 11 & 0x1f) + 1;
    const std::uint64_t id0 = kernel.mrs(sysreg::PMCEID0_EL0), id1 = kernel.mrs(sysreg::PMCEID1_EL0);
    pmceid_[0] = (id0 & 0xffffffff) | id1 << 32;
    pmceid_[1] = id0 >> 32 | (id1 & ~std::uint64_t{0xffffffff});
    return true;
}

bool Armv8Pmu::advertised(unsigned n) const {
    if (n < kCommonEvents) return pmceid_[0] >> n & 1;
    if (n >= 0x4000 && n < 0x4000 + kCommonEvents) return pmceid_[1] >> (n - 0x4000) & 1;
    return false;
}

int Armv8Pmu::map_event(PerfEvent& event) {
    const perf_event_attr& attr = event.attr;
    int number = -ENOENT;
    const bool raw = attr.type == type || attr.type == PERF_TYPE_RAW;
    if (raw)
        number = static_cast<int>(attr.config & kEventMask);
    else if (attr.type == PERF_TYPE_HARDWARE)
        number = map_hw_event(attr);
    else if (attr.type == PERF_TYPE_HW_CACHE)
        number = map_cache_event(attr);

    // What follows is asked of events of any type, as in Linux.
    if (is_64bit(event)) event.hw.flags |= ARMPMU_EVT_64BIT;
    // A user reads one register, so its event must not be chained.
    if (wants_user_access(event)) {
        if (!(event.attach_state & PERF_ATTACH_TASK)) return -EINVAL;
        if (is_64bit(event) && number != pmu_event::CPU_CYCLES && !has_long_event()) return -EOPNOTSUPP;
        event.hw.flags |= PERF_EVENT_FLAG_USER_READ_CNT;
    }
    if (raw || number < 0) return number;
    return number > 0 && number < static_cast<int>(kCommonEvents) && advertised(static_cast<unsigned>(number))
               ? number
               : -ENOENT;
}

int Armv8Pmu::set_event_filter(HwPerfEvent& hw, const perf_event_attr& attr) {
    if (attr.exclude_idle) return -EPERM;
    std::uint64_t base = 0;
    if (perf_.config.kernel_in_hyp_mode) {
        if (!attr.exclude_kernel && !attr.exclude_host) base |= kIncludeEl2;
        if (attr.exclude_guest) base |= kExcludeEl1;
        if (attr.exclude_host) base |= kExcludeEl0;
    } else if (!attr.exclude_hv && !attr.exclude_host) {
        base |= kIncludeEl2;
    }
    if (attr.exclude_kernel) base |= kExcludeEl1;
    if (attr.exclude_user) base |= kExcludeEl0;
    hw.config_base = base;
    return 0;
}

bool Armv8Pmu::event_is_chained(const PerfEvent& event) const {
    return (event.hw.flags & ARMPMU_EVT_64BIT) && !has_user_read(event) && !has_long_event() &&
           event.hw.idx != kCycleIdx;
}

bool Armv8Pmu::event_needs_bias(const PerfEvent& event) const {
    // A 32-bit event in a 64-bit counter: the upper half holds ones, so that it overflows like a short one.
    return !(event.hw.flags & ARMPMU_EVT_64BIT) && (has_long_event() || event.hw.idx == kCycleIdx);
}

bool Armv8Pmu::driver_filter_match(PerfEvent& event) { return (event.hw.config_base & kEventMask) != pmu_event::CHAIN; }

int Armv8Pmu::get_event_idx(PmuHwEvents& hw_events, PerfEvent& event) {
    KernelFrame frame(kernel, KernelSymbol::armv8pmu_get_event_idx);
    auto& used = hw_events.used_mask;
    const auto take = [&used](int idx) {
        used.set(static_cast<unsigned>(idx));
        return idx;
    };
    const auto is_free = [&used](int idx) { return !used.test(static_cast<unsigned>(idx)); };
    if ((event.hw.config_base & kEventMask) == pmu_event::CPU_CYCLES) {
        if (is_free(kCycleIdx)) return take(kCycleIdx);
        if ((event.hw.flags & ARMPMU_EVT_64BIT) && has_user_read(event) && !has_long_event()) return -EAGAIN;
    }
    if (event_is_chained(event)) {
        for (int idx = kCounter0Idx + 1; idx < num_events_; idx += 2)
            if (is_free(idx) && is_free(idx - 1)) {
                take(idx - 1);
                return take(idx);
            }
        return -EAGAIN;
    }
    for (int idx = kCounter0Idx; idx < num_events_; ++idx)
        if (is_free(idx)) return take(idx);
    return -EAGAIN;
}

void Armv8Pmu::clear_event_idx(PmuHwEvents& hw_events, PerfEvent& event) {
    const int idx = event.hw.idx;
    hw_events.used_mask.reset(static_cast<unsigned>(idx));
    if (event_is_chained(event)) hw_events.used_mask.reset(static_cast<unsigned>(idx - 1));
}

std::uint64_t Armv8Pmu::read_evcntr(int idx) { return kernel.mrs(sysreg::PMEVCNTR_EL0(counter_of(idx))); }
void Armv8Pmu::write_evcntr(int idx, std::uint64_t value) { kernel.msr(sysreg::PMEVCNTR_EL0(counter_of(idx)), value); }
void Armv8Pmu::write_evtype(int idx, std::uint64_t value) {
    kernel.msr(sysreg::PMEVTYPER_EL0(counter_of(idx)), value & kEvtypeMask);
}

std::uint64_t Armv8Pmu::read_counter(PerfEvent& event) {
    KernelFrame frame(kernel, KernelSymbol::armv8pmu_read_counter);
    const int idx = event.hw.idx;
    std::uint64_t value;
    if (idx == kCycleIdx) {
        value = kernel.mrs(sysreg::PMCCNTR_EL0);
    } else if (event_is_chained(event)) {
        const std::uint64_t high = read_evcntr(idx);
        value = high << 32 | read_evcntr(idx - 1);
    } else {
        value = read_evcntr(idx);
    }
    return event_needs_bias(event) ? value & 0xffffffff : value;
}

void Armv8Pmu::write_counter(PerfEvent& event, std::uint64_t value) {
    KernelFrame frame(kernel, KernelSymbol::armv8pmu_write_counter);
    const int idx = event.hw.idx;
    if (event_needs_bias(event)) value |= ~std::uint64_t{0xffffffff};
    if (idx == kCycleIdx) {
        kernel.msr(sysreg::PMCCNTR_EL0, value);
    } else if (event_is_chained(event)) {
        write_evcntr(idx, value >> 32);
        write_evcntr(idx - 1, value & 0xffffffff);
    } else {
        write_evcntr(idx, value);
    }
}

void Armv8Pmu::write_event_type(PerfEvent& event) {
    const int idx = event.hw.idx;
    if (event_is_chained(event)) {
        write_evtype(idx - 1, event.hw.config_base);
        write_evtype(idx, pmu_event::CHAIN | kIncludeEl2);
    } else if (idx == kCycleIdx) {
        kernel.msr(sysreg::PMCCFILTR_EL0, event.hw.config_base);
    } else {
        write_evtype(idx, event.hw.config_base);
    }
}

void Armv8Pmu::enable_event(PerfEvent& event) {
    KernelFrame frame(kernel, KernelSymbol::armv8pmu_enable_event);
    const int idx = event.hw.idx;
    const std::uint64_t counters = bit_of(idx) | (event_is_chained(event) ? bit_of(idx - 1) : 0);
    // Nothing may count while the type changes.
    kernel.msr(sysreg::PMCNTENCLR_EL0, counters);
    kernel.isb();
    write_event_type(event);
    // Of a pair only the upper counter interrupts.
    kernel.msr(sysreg::PMINTENSET_EL1, bit_of(idx));
    kernel.isb();
    // Events of guests alone are switched on at the entry of a guest, except by a kernel at EL2, which has a filter.
    if (!perf_.config.kernel_in_hyp_mode && event.attr.exclude_host && !event.attr.exclude_guest) return;
    kernel.msr(sysreg::PMCNTENSET_EL0, counters);
}

void Armv8Pmu::disable_event(PerfEvent& event) {
    KernelFrame frame(kernel, KernelSymbol::armv8pmu_disable_event);
    const int idx = event.hw.idx;
    kernel.msr(sysreg::PMCNTENCLR_EL0, bit_of(idx) | (event_is_chained(event) ? bit_of(idx - 1) : 0));
    kernel.msr(sysreg::PMINTENCLR_EL1, bit_of(idx));
    kernel.isb();
    // An overflow that came just now would interrupt the counter's next user.
    kernel.msr(sysreg::PMOVSCLR_EL0, bit_of(idx));
    kernel.isb();
}

void Armv8Pmu::pmcr_write(std::uint64_t value) {
    kernel.isb();
    kernel.msr(sysreg::PMCR_EL0, value & 0xff);
}

void Armv8Pmu::enable_user_access() {
    // Counters of others must not show.
    const PmuHwEvents& hw_events = this_cpu_events();
    for (int idx = kCycleIdx; idx < num_events_; ++idx) {
        if (hw_events.used_mask.test(static_cast<unsigned>(idx))) continue;
        if (idx == kCycleIdx)
            kernel.msr(sysreg::PMCCNTR_EL0, 0);
        else
            write_evcntr(idx, 0);
    }
    kernel.msr(sysreg::PMUSERENR_EL0, 0);
    kernel.msr(sysreg::PMUSERENR_EL0, PMUSERENR_ER | PMUSERENR_CR);
}

void Armv8Pmu::pmu_start() {
    KernelFrame frame(kernel, KernelSymbol::armv8pmu_start);
    const PerfEventContext* task_ctx = perf_.this_cpu_context(*this).task_ctx;
    if (perf_.sysctl.perf_user_access && task_ctx && task_ctx->nr_user)
        enable_user_access();
    else
        kernel.msr(sysreg::PMUSERENR_EL0, 0);
    pmcr_write(kernel.mrs(sysreg::PMCR_EL0) | PMCR_E);
}

void Armv8Pmu::pmu_stop() {
    KernelFrame frame(kernel, KernelSymbol::armv8pmu_stop);
    pmcr_write(kernel.mrs(sysreg::PMCR_EL0) & ~PMCR_E);
}

void Armv8Pmu::pmu_reset() {
    kernel.msr(sysreg::PMCNTENCLR_EL0, kAllCounters);
    kernel.msr(sysreg::PMINTENCLR_EL1, kAllCounters);
    kernel.msr(sysreg::PMOVSCLR_EL0, kAllCounters);
    pmcr_write(PMCR_P | PMCR_C | PMCR_LC | (has_long_event() ? PMCR_LP : 0));
}

bool Armv8Pmu::handle_irq(PtRegs& regs) {
    KernelFrame frame(kernel, KernelSymbol::armv8pmu_handle_irq);
    const std::uint64_t overflowed = kernel.mrs(sysreg::PMOVSCLR_EL0);
    kernel.msr(sysreg::PMOVSCLR_EL0, overflowed);
    if (!overflowed) return false;
    PmuHwEvents& hw_events = this_cpu_events();
    // The counters stand still while the samples are written.
    pmu_stop();
    for (int idx = 0; idx < num_events_; ++idx) {
        PerfEvent* event = hw_events.events[static_cast<unsigned>(idx)];
        if (!event || !(overflowed & bit_of(idx))) continue;
        event_update(*event);
        PerfSampleData data;
        perf_sample_data_init(data, 0, event->hw.last_period);
        if (!event_set_period(*event)) continue;
        if (perf_.perf_event_overflow(*event, data, regs)) disable_event(*event);
    }
    pmu_start();
    return true;
}

int Armv8Pmu::event_idx(PerfEvent& event) {
    if (!perf_.sysctl.perf_user_access || !has_user_read(event)) return 0;
    return event.hw.idx == kCycleIdx ? 32 : event.hw.idx;
}

void Perf::Impl::arch_perf_update_userpage(PerfEvent& event, perf_event_mmap_page& userpg, std::uint64_t now) {
    KernelFrame frame(kernel, KernelSymbol::arch_perf_update_userpage);
    userpg.cap_user_time = userpg.cap_user_time_zero = userpg.cap_user_time_short = 0;
    userpg.cap_user_rdpmc = has_user_read(event);
    if (userpg.cap_user_rdpmc) userpg.pmc_width = event.hw.flags & ARMPMU_EVT_64BIT ? 64 : 32;

    // local_clock follows the architected counter, so a user can compute it.
    const SchedClock& clock = sched_clock();
    if (!clock.mult) return;
    const std::uint64_t cycles = kernel.mrs(sysreg::CNTVCT_EL0);
    const std::uint64_t ns = kernel.local_clock();
    const auto scaled = static_cast<std::uint64_t>(static_cast<unsigned __int128>(cycles) * clock.mult >> clock.shift);
    userpg.time_mult = clock.mult;
    userpg.time_shift = static_cast<std::uint16_t>(clock.shift);
    userpg.time_cycles = cycles;
    userpg.time_mask = (std::uint64_t{1} << 56) - 1;
    userpg.time_zero = ns - scaled;
    userpg.time_offset = userpg.time_zero - now;
    if (userpg.time_shift == 32) {
        userpg.time_shift = 31;
        userpg.time_mult >>= 1;
    }
    userpg.cap_user_time = userpg.cap_user_time_zero = userpg.cap_user_time_short = 1;
}

const Perf::Impl::SchedClock& Perf::Impl::sched_clock() {
    if (sched_clock_known_) return sched_clock_;
    sched_clock_known_ = true;
    const std::uint64_t rate = kernel.mrs(sysreg::CNTFRQ_EL0);
    if (!rate) return sched_clock_;
    // The largest shift for which an hour of cycles times mult still fits 64 bits.
    constexpr std::uint64_t kMaxSeconds = 3600;
    const int bits = 32 - static_cast<int>(std::bit_width(kMaxSeconds * rate >> 32));
    for (unsigned shift = 32; shift > 0; --shift) {
        const std::uint64_t mult = ((NSEC_PER_SEC << shift) + rate / 2) / rate;
        if (mult >> bits) continue;
        sched_clock_ = {static_cast<std::uint32_t>(mult), shift};
        break;
    }
    return sched_clock_;
}

} // namespace rkperf::ke
