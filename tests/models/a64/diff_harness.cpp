// SPDX-License-Identifier: Apache-2.0
#ifdef RK_HAVE_UNICORN
#include "tests/models/a64/diff_harness.h"

#include "tests/models/a64/diff_oracle.h"
#include "tests/models/a64/diff_values.h"
#include "tests/models/a64/flat_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace rkperf::a64::test {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text && *text ? std::strtoull(text, nullptr, 0) : otherwise;
}

std::uint64_t hash_name(std::string_view s) {
    std::uint64_t h = 0xcbf29ce484222325u;
    for (const char c : s) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return h;
}

bool is_branch(const OpRow& row) { return row.kind >= InsnKind::branch_immed && row.kind <= InsnKind::branch_return; }
bool needs_alignment(const OpRow& row) {
    switch (row.timing) {
        case TimingClass::load_excl:
        case TimingClass::store_excl:
        case TimingClass::load_acq:
        case TimingClass::store_rel:
        case TimingClass::atomic:
        case TimingClass::cas: return true;
        default: return false;
    }
}

ArchState snapshot(const CpuState& s) {
    ArchState a;
    std::copy_n(s.x, 31, a.x.begin());
    a.sp = s.x[kSp];
    a.pc = s.pc;
    std::copy_n(s.v, 32, a.v.begin());
    a.nzcv = s.nzcv;
    a.fpcr = s.fpcr;
    a.fpsr = s.fpsr;
    a.tpidr_el0 = s.tpidr_el0;
    a.tpidrro_el0 = s.tpidrro_el0;
    return a;
}
void restore(CpuState& s, const ArchState& a) {
    std::copy_n(a.x.begin(), 31, s.x);
    s.x[kZr] = s.x[kSink] = 0;
    s.x[kSp] = a.sp;
    s.pc = a.pc;
    std::copy_n(a.v.begin(), 32, s.v);
    s.nzcv = a.nzcv;
    s.fpcr = a.fpcr;
    s.fpsr = a.fpsr;
    s.tpidr_el0 = a.tpidr_el0;
    s.tpidrro_el0 = a.tpidrro_el0;
    s.stop = Stop::none;
    s.stop_info = 0;
    s.branch_taken = false;
    s.fault = {};
}

Outcome outcome_of(const CpuState& s) {
    switch (s.stop) {
        case Stop::none:
        case Stop::wait:
        case Stop::isb: return Outcome::done;
        case Stop::svc: return Outcome::svc;
        case Stop::brk: return Outcome::brk;
        case Stop::hlt: // QEMU has it undefined as well
        case Stop::undefined: return Outcome::undefined;
        case Stop::data_abort: return Outcome::fault;
        default: return Outcome::other;
    }
}

/// Lines "x3 ours ... unicorn ..." for all that differs.
std::string differences(const ArchState& a, const ArchState& b, bool fpsr) {
    std::string out;
    const auto line = [&](std::string_view what, std::uint64_t ours, std::uint64_t theirs) {
        if (ours != theirs) out += fmt::format("    {}: ours {:#018x}, Unicorn {:#018x}\n", what, ours, theirs);
    };
    for (unsigned n = 0; n < 31; ++n) line(fmt::format("x{}", n), a.x[n], b.x[n]);
    line("sp", a.sp, b.sp);
    line("pc", a.pc, b.pc);
    line("nzcv", a.nzcv, b.nzcv);
    for (unsigned n = 0; n < 32; ++n) {
        line(fmt::format("v{}.d[0]", n), a.v[n].d[0], b.v[n].d[0]);
        line(fmt::format("v{}.d[1]", n), a.v[n].d[1], b.v[n].d[1]);
    }
    if (fpsr) line("fpsr", a.fpsr, b.fpsr);
    line("fpcr", a.fpcr, b.fpcr);
    line("tpidr_el0", a.tpidr_el0, b.tpidr_el0);
    return out;
}

/// The registers an instruction reads, for a report.
std::string inputs(const Insn& insn, const ArchState& a) {
    std::string out = fmt::format("    nzcv {:#x} fpcr {:#x} fpsr {:#x} sp {:#x}", a.nzcv, a.fpcr, a.fpsr, a.sp);
    const unsigned fields[] = {insn.raw & 31, insn.raw >> 5 & 31, insn.raw >> 16 & 31, insn.raw >> 10 & 31};
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned n = fields[i];
        if (std::find(fields, fields + i, n) != fields + i) continue;
        if (n < 31) out += fmt::format("\n    x{} = {:#x}", n, a.x[n]);
        out += fmt::format("\n    v{} = {:016x}_{:016x}", n, a.v[n].d[1], a.v[n].d[0]);
    }
    return out;
}

class Session {
  public:
    Session() : memory_(state_) {
        memory_.map(Oracle::kData, data_.data(), Oracle::kWritable, true);
        memory_.map(Oracle::kData + Oracle::kWritable, data_.data() + Oracle::kWritable,
                    Oracle::kDataBytes - Oracle::kWritable, false);
        memory_.map(Oracle::kCode, oracle_.code(), Oracle::kCodeBytes, false);
    }
    std::string row(const OpRow& row, std::uint64_t seed, unsigned cases, const DiffOptions& options);

  private:
    std::string one(const OpRow& row, std::uint64_t rng, const DiffOptions& options);
    void random_state(const OpRow& row, std::uint64_t& rng, const DiffOptions& options);
    void refill_memory(std::uint64_t& rng);
    void aim(const OpRow& row, const Insn& insn, std::uint64_t& rng);

    Oracle oracle_;
    CpuState state_;
    FlatMemory memory_;
    std::vector<std::uint8_t> data_ = std::vector<std::uint8_t>(Oracle::kDataBytes);
};

void Session::refill_memory(std::uint64_t& rng) {
    for (std::size_t at = 0; at < data_.size(); at += 16) {
        const Vec v = interesting_vector(rng);
        std::memcpy(data_.data() + at, &v, 16);
    }
    std::memcpy(oracle_.data(), data_.data(), data_.size());
}

void Session::random_state(const OpRow& row, std::uint64_t& rng, const DiffOptions& options) {
    ArchState a;
    for (auto& x : a.x) x = interesting_integer(rng);
    if (next_random(rng) % 4 == 0) a.x[next_random(rng) % 31] = a.x[next_random(rng) % 31];
    a.sp = interesting_integer(rng) & ~std::uint64_t{15};
    for (auto& v : a.v) v = interesting_vector(rng);
    if (next_random(rng) % 4 == 0) a.v[next_random(rng) % 32] = a.v[next_random(rng) % 32];
    a.nzcv = static_cast<std::uint32_t>(next_random(rng)) & 0xf0000000u;
    const bool vector = row.kind == InsnKind::fp || row.kind == InsnKind::simd;
    if (vector && next_random(rng) % 2) a.fpcr = static_cast<std::uint32_t>(next_random(rng)) & options.fpcr_mask;
    if (next_random(rng) % 4 == 0) a.fpsr = static_cast<std::uint32_t>(next_random(rng)) & 0x0800009fu;
    a.tpidr_el0 = next_random(rng);
    a.tpidrro_el0 = next_random(rng);
    restore(state_, a);
}

/// Moves the base register so that the access hits the mapped pages or one of their edges. Where our address comes
/// from is found by a run against no memory at all; if it is wrong, Unicorn's access goes elsewhere and shows.
void Session::aim(const OpRow& row, const Insn& insn, std::uint64_t& rng) {
    if (insn.mem_bytes == 0 || insn.src[0] == reg::none || insn.rn == kZr) return;
    const ArchState before = snapshot(state_);
    FlatMemory nothing(state_);
    insn.fn(state_, insn);
    const std::uint64_t va = nothing.first_va ? *nothing.first_va : state_.fault.addr;
    restore(state_, before);
    state_.hooks = &memory_;

    const std::uint64_t r = next_random(rng), page = kPageSize;
    std::uint64_t want = Oracle::kData;
    switch (r & 15) {
        case 0: want += 2 * page - (r >> 8) % 80; break; // into the read-only page
        case 1: want += page - (r >> 8) % 80; break;     // across mapped pages
        case 2: want += 3 * page - (r >> 8) % 80; break; // into nothing
        case 3: want -= (r >> 8) % 80; break;
        case 4: want += 0x1000000 + (r >> 8) % 0x10000; break;
        case 5: want += 2 * page + (r >> 8) % (page - 80); break;
        case 6:
        case 7: want += ((r >> 8) % (2 * page - 80)) & ~std::uint64_t{63}; break;
        case 8:
        case 9:
        case 10: want += ((r >> 8) % (2 * page - 80)) & ~std::uint64_t{15}; break;
        default: want += (r >> 8) % (2 * page - 80); break;
    }
    if (needs_alignment(row)) want &= ~std::uint64_t{insn.mem_bytes - 1u};
    state_.x[insn.rn] += want - va;
    if (insn.rn == kSp) state_.x[kSp] &= ~std::uint64_t{15};

    // Let a compare-and-swap find what it compares with every other time.
    const std::uint64_t at = state_.x[insn.rn] - Oracle::kData;
    if (row.timing == TimingClass::cas && r >> 63 && at <= Oracle::kDataBytes - insn.mem_bytes) {
        const bool pair = std::string_view(row.name).substr(0, 4) == "CASP";
        const unsigned half = pair ? insn.mem_bytes / 2 : insn.mem_bytes;
        std::memcpy(data_.data() + at, &state_.x[insn.rm], half);
        if (pair) std::memcpy(data_.data() + at + half, &state_.x[insn.b], half);
        std::memcpy(oracle_.data() + at, data_.data() + at, insn.mem_bytes);
    }
}

std::string Session::one(const OpRow& row, std::uint64_t rng, const DiffOptions& options) {
    random_state(row, rng, options);
    std::uint32_t raw = random_encoding(row, rng);
    if (options.adjust) options.adjust(raw, state_);
    const Insn insn = decode(raw);
    if (insn.row != kNoRow && op_table()[insn.row].name != row.name) {
        return fmt::format("  {:08x} decodes as {}\n", raw, op_table()[insn.row].name);
    }
    if (insn.row == kNoRow && options.lax_undefined) return {};
    const bool branch = is_branch(row);
    if (branch && insn.imm == 0 && row.kind != InsnKind::branch_indirect && row.kind != InsnKind::branch_return &&
        row.kind != InsnKind::branch_call_indirect)
        return {}; // would never end

    state_.pc = branch ? 0x100000000u + (next_random(rng) & 0xffffffcu) : oracle_.place(raw);
    aim(row, insn, rng);
    memory_.drop_lines();
    memory_.fill_lines = next_random(rng) & 1;
    memory_.monitor.reset();
    if (memory_.fill_lines && insn.mem_bytes) { // run once before, so that the second run hits
        const ArchState before = snapshot(state_);
        const std::vector<std::uint8_t> old(data_);
        insn.fn(state_, insn);
        restore(state_, before);
        std::copy(old.begin(), old.end(), data_.begin());
        memory_.monitor.reset();
    }

    const ArchState before = snapshot(state_);
    insn.fn(state_, insn);
    if (state_.stop == Stop::none && !state_.branch_taken) state_.pc += 4;
    const Outcome outcome = outcome_of(state_);
    const ArchState ours = snapshot(state_);
    ArchState theirs = before;
    const OracleResult result = branch ? oracle_.run_branch(raw, theirs) : oracle_.run(theirs);

    std::string diff;
    if (outcome != result.outcome) {
        diff += fmt::format("    ended: ours {} at {:#x}, Unicorn {} ({}) at {:#x}\n", name_of(outcome),
                            state_.fault.addr, name_of(result.outcome), result.detail, result.fault_va);
    } else if (outcome == Outcome::fault) {
        // QEMU leaves parts of multi-register accesses done; the architecture and we leave nothing.
        diff += differences(ours, before, true);
        if (result.fault_va && ((result.fault_va ^ state_.fault.addr) & kPageMask)) {
            diff += fmt::format("    fault address: ours {:#x}, Unicorn {:#x}\n", state_.fault.addr, result.fault_va);
        }
    } else {
        diff += differences(ours, theirs, options.compare_fpsr);
    }
    if (insn.mem_bytes || outcome == Outcome::fault || result.outcome == Outcome::fault) {
        const auto [at, other] = std::mismatch(data_.begin(), data_.end(), oracle_.data());
        if (outcome != Outcome::fault && at != data_.end()) {
            diff += fmt::format("    memory at {:#x}: ours {:02x}, Unicorn {:02x}\n",
                                Oracle::kData + static_cast<std::uint64_t>(at - data_.begin()), *at, *other);
        }
        if (at != data_.end()) std::memcpy(oracle_.data(), data_.data(), data_.size());
    }
    if (diff.empty()) return {};
    return fmt::format("  {} {:08x} {}\n{}\n{}", row.name, raw, disassemble(raw, before.pc), inputs(insn, before),
                       diff);
}

std::string Session::row(const OpRow& row, std::uint64_t seed, unsigned cases, const DiffOptions& options) {
    constexpr unsigned kReports = 3;
    std::string report;
    unsigned bad = 0;
    std::uint64_t stream = seed ^ hash_name(row.name);
    refill_memory(stream);
    oracle_.place(0);
    for (unsigned c = 0; c < cases; ++c) {
        const std::string diff = one(row, next_random(stream), options);
        if (diff.empty()) continue;
        if (bad++ < kReports) report += diff;
    }
    if (bad == 0) return {};
    return fmt::format("{} of {} cases differ (RKPERF_SEED={:#x})\n{}", bad, cases, seed, report);
}

} // namespace

std::uint64_t diff_seed() { return from_environment("RKPERF_SEED", 0x5eed); }
unsigned diff_cases() { return static_cast<unsigned>(from_environment("RKPERF_CASES", 1000)); }

bool skipped(std::span<const DiffSkip> skips, const OpRow& row) {
    return std::any_of(skips.begin(), skips.end(), [&](const DiffSkip& s) { return s.row == row.name; });
}

std::uint32_t random_encoding(const OpRow& row, std::uint64_t& rng) {
    std::uint32_t raw = static_cast<std::uint32_t>(next_random(rng));
    static constexpr unsigned kFields[] = {0, 5, 16, 10};
    const std::uint64_t r = next_random(rng);
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned choice = r >> (8 * i) & 15;
        std::uint32_t value = raw >> kFields[i] & 31;
        if (choice == 0) value = 31;
        if (choice == 1) value = raw >> kFields[(i + 1) & 3] & 31;
        raw = (raw & ~(31u << kFields[i])) | value << kFields[i];
    }
    return (raw & ~row.mask) | row.value;
}

std::string diff_row(const OpRow& row, std::uint64_t seed, unsigned cases, const DiffOptions& options) {
    static Session session; // Unicorn starts slowly; a row's cases do not depend on the rows before
    return session.row(row, seed, cases, options);
}

} // namespace rkperf::a64::test
#endif
