// SPDX-License-Identifier: Apache-2.0
#include "models/gic/gic600.h"

#include "sim/base/sysreg_target.h"

#include <spdlog/spdlog.h>

#include <cstring>
#include <string>

namespace rkperf::gic {

namespace {

constexpr std::uint32_t kDpgs = 1u << 5, kLast = 1u << 4;
constexpr std::uint32_t kDpg1ns = 1u << 25;
constexpr std::uint8_t kPriorityMask = 0xF8;

} // namespace

void Gic600::Input::set_level(bool level, Picoseconds when) { distributor_.set_line(cpu_, intid_, level, when); }

Gic600::Gic600(sc_core::sc_module_name name, const GicConfig& config)
    : sc_module(name), mmio("mmio"), distributor_(config) {
    mmio.register_b_transport(this, &Gic600::transport_mmio);
    for (unsigned c = 0; c < kCpus; ++c) {
        interfaces_[c] = std::make_unique<CpuInterface>(distributor_, CpuId(c));
        sockets_[c] = std::make_unique<CpuSocket>(("sysreg" + std::to_string(c)).c_str());
        sockets_[c]->register_b_transport(this, &Gic600::transport_sysreg, static_cast<int>(c));
        for (unsigned intid = kSgis; intid < kPrivate; ++intid)
            ppis_.push_back(std::make_unique<Input>(distributor_, CpuId(c), intid));
    }
    for (unsigned intid = kPrivate; intid < kIntids; ++intid)
        spis_.push_back(std::make_unique<Input>(distributor_, CpuId(0), intid));
}

Gic600::~Gic600() = default;

LevelSink& Gic600::ppi(CpuId cpu, unsigned intid) {
    if (cpu.v >= kCpus || intid < kSgis || intid >= kPrivate) SC_REPORT_FATAL(name(), "no such PPI");
    return *ppis_[cpu.v * (kPrivate - kSgis) + (intid - kSgis)];
}

LevelSink& Gic600::spi(unsigned intid) {
    if (intid < kPrivate || intid >= kIntids) SC_REPORT_FATAL(name(), "no such SPI");
    return *spis_[intid - kPrivate];
}

void Gic600::connect_cpu(CpuId cpu, LevelSink& irq) { interfaces_[cpu.v]->connect_irq(irq); }
void Gic600::connect_cpu_fiq(CpuId cpu, LevelSink& fiq) { interfaces_[cpu.v]->connect_fiq(fiq); }

void Gic600::transport_sysreg(int cpu, tlm::tlm_generic_payload& trans, sc_core::sc_time& delay) {
    const auto request = sysreg_request(name(), trans);
    if (!request) return;
    CpuInterface& interface = *interfaces_[static_cast<std::size_t>(cpu)];
    const Picoseconds t = local_time(delay);
    const ExceptionLevel el = request->from.el;
    const auto a =
        request->write ? interface.write(request->reg, request->value, el, t) : interface.read(request->reg, el, t);
    sysreg_answer(trans, *request, a.decoded, a.allowed ? SysRegOutcome::ok : SysRegOutcome::undefined, a.value);
}

void Gic600::transport_mmio(tlm::tlm_generic_payload& trans, sc_core::sc_time& delay) {
    const std::uint64_t address = trans.get_address();
    const unsigned length = trans.get_data_length();
    std::optional<CpuId> cpu;
    std::uint32_t offset = 0;
    if (address >= kGicdBase.v && address < kGicdBase.v + kGicdSize) {
        offset = static_cast<std::uint32_t>(address - kGicdBase.v);
    } else if (address >= kGicrBase.v && address < kGicrBase.v + kCpus * kGicrStride) {
        cpu = CpuId(static_cast<std::uint32_t>((address - kGicrBase.v) / kGicrStride));
        offset = static_cast<std::uint32_t>((address - kGicrBase.v) % kGicrStride);
    } else {
        return trans.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    }
    const MmioRow* row = find_row(cpu ? redistributor_rows() : distributor_rows(), offset);
    const bool narrow = length == 1 || length == 2;
    const bool sized = length == 4 || length == 8 || (narrow && (!row || row->bytes));
    if (!sized || offset % length != 0 || trans.get_byte_enable_ptr())
        return trans.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);

    unsigned char* data = trans.get_data_ptr();
    for (unsigned done = 0; done < length; done += 4) {
        const std::uint32_t word_offset = (offset + done) & ~3u;
        const unsigned shift = narrow ? offset % 4 * 8 : 0;
        Word word{word_offset, 0, narrow ? ((1u << length * 8) - 1) << shift : ~0u, trans.is_write(),
                  local_time(delay)};
        const std::size_t bytes = narrow ? length : 4;
        if (word.write) {
            std::memcpy(&word.value, data + done, bytes);
            word.value <<= shift;
        }
        row = find_row(cpu ? redistributor_rows() : distributor_rows(), word_offset);
        if (!row)
            spdlog::warn("{}: {} of reserved register at {:#x}", name(), word.write ? "write" : "read", address + done);
        const std::uint32_t result = row ? access(*row, cpu, word) >> shift : 0;
        if (!word.write) std::memcpy(data + done, &result, bytes);
    }
    trans.set_response_status(tlm::TLM_OK_RESPONSE);
}

std::uint32_t Gic600::access(const MmioRow& row, std::optional<CpuId> cpu, const Word& word) {
    using K = MmioRow::Kind;
    const CpuId core = cpu.value_or(CpuId(0));
    const std::uint32_t inside = word.offset - row.first;
    switch (row.kind) {
        case K::constant: return row.value;
        case K::zero: return 0;
        case K::control:
            if (word.write)
                distributor_.set_groups_enabled(word.value & gicd::kEnableGrp0, word.value & gicd::kEnableGrp1, word.t);
            return gicd::kAre | gicd::kDs | (distributor_.group_enabled(false) ? gicd::kEnableGrp0 : 0) |
                   (distributor_.group_enabled(true) ? gicd::kEnableGrp1 : 0);
        case K::redist_control:
            if (word.write) distributor_.set_excluded(core, word.value & kDpg1ns, word.t);
            return distributor_.excluded(core) ? kDpg1ns : 0;
        case K::redist_type:
            if (inside) return distributor_.config().affinity[core.v];
            return core.v << 8 | kDpgs | (core.v + 1 == kCpus ? kLast : 0);
        case K::waker:
            if (word.write) distributor_.set_asleep(core, word.value & gicr::kProcessorSleep, word.t);
            return distributor_.asleep(core) ? gicr::kProcessorSleep | gicr::kChildrenAsleep : 0;
        case K::message_set:
        case K::message_clear: {
            const unsigned intid = word.value & 0x3ff;
            if (word.write && intid >= kPrivate && intid < kIntids)
                distributor_.set_pending(core, intid, row.kind == K::message_set, word.t);
            return 0;
        }
        case K::router: return access_route(kPrivate + inside / 8, inside % 8 != 0, word);
        case K::priority: return access_bits(row, core, inside, word);
        case K::config: return access_bits(row, core, inside * 4, word);
        default: return access_bits(row, core, inside * 8, word);
    }
}

std::uint32_t Gic600::access_route(unsigned intid, bool high, const Word& word) {
    if (intid >= kIntids) return 0;
    constexpr std::uint64_t kStored = 0xff'80ff'ffff; // Aff3, IRM, Aff2, Aff1, Aff0
    std::uint64_t route = distributor_.state(CpuId(0), intid).route;
    const unsigned shift = high ? 32 : 0;
    if (word.write) {
        route = (route & ~(std::uint64_t{0xffffffff} << shift)) | std::uint64_t{word.value} << shift;
        distributor_.set_route(intid, route & kStored, word.t);
    }
    return static_cast<std::uint32_t>(route >> shift);
}

// The registers with one field per interrupt. The distributor has none for private interrupts, a redistributor none for
// shared ones.
std::uint32_t Gic600::access_bits(const MmioRow& row, CpuId cpu, unsigned first_intid, const Word& word) {
    using K = MmioRow::Kind;
    const bool distributor = row.name.starts_with("GICD");
    const unsigned width = row.kind == K::priority ? 8 : row.kind == K::config ? 2 : 1;
    std::uint32_t result = 0;
    for (unsigned n = 0; n * width < 32; ++n) {
        const unsigned intid = first_intid + n;
        if (intid >= kIntids || is_private(intid) == distributor) continue;
        const std::uint32_t field = word.value >> n * width & ((1u << width) - 1);
        const bool touched = word.write && (word.lanes >> n * width & 1);
        const bool one = touched && field & 1;
        const Interrupt& x = distributor_.state(cpu, intid);
        std::uint32_t present = 0;
        switch (row.kind) {
            case K::group:
                if (touched && one != x.group1) distributor_.set_group1(cpu, intid, one, word.t);
                present = x.group1;
                break;
            case K::enable_set:
            case K::enable_clear:
                if (one) distributor_.set_enabled(cpu, intid, row.kind == K::enable_set, word.t);
                present = x.enabled;
                break;
            case K::pending_set:
            case K::pending_clear:
                if (one) distributor_.set_pending(cpu, intid, row.kind == K::pending_set, word.t);
                present = x.pending();
                break;
            case K::active_set:
            case K::active_clear:
                if (one) distributor_.set_active(cpu, intid, row.kind == K::active_set, word.t);
                present = x.active;
                break;
            case K::config:
                if (touched && intid >= kSgis) distributor_.set_edge(cpu, intid, field >> 1, word.t);
                present = x.edge ? 2 : 0;
                break;
            case K::priority:
                if (touched)
                    distributor_.set_priority(cpu, intid, static_cast<std::uint8_t>(field) & kPriorityMask, word.t);
                present = x.priority;
                break;
            default: SC_REPORT_FATAL(name(), "not a register of fields");
        }
        result |= present << n * width;
    }
    return result;
}

} // namespace rkperf::gic
