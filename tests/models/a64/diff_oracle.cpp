// SPDX-License-Identifier: Apache-2.0
#ifdef RK_HAVE_UNICORN
#include "tests/models/a64/diff_oracle.h"

#include <unicorn/unicorn.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace rkperf::a64::test {
namespace {

void require(uc_err err, const char* what) {
    if (err != UC_ERR_OK) throw std::runtime_error(std::string("Unicorn: ") + what + ": " + uc_strerror(err));
}

// Exception numbers of QEMU's Arm target.
constexpr int kUndefined = 1, kSvc = 2, kPrefetchAbort = 3, kDataAbort = 4, kBreakpoint = 7;

} // namespace

const char* name_of(Outcome o) {
    static constexpr const char* kNames[] = {"done", "svc", "brk", "undefined", "fault", "other"};
    return kNames[static_cast<unsigned>(o)];
}

struct Oracle::Impl {
    uc_engine* uc{};
    std::vector<std::uint8_t> data_storage = std::vector<std::uint8_t>(kDataBytes + kPageSize);
    std::vector<std::uint8_t> code_storage = std::vector<std::uint8_t>(kCodeBytes + kPageSize);
    std::vector<std::uint8_t> branch_storage = std::vector<std::uint8_t>(2 * kPageSize);
    std::uint8_t *data{}, *code{}, *branch{};
    std::uint64_t next = kCodeBytes / 4;
    int interrupt = -1;
    std::uint64_t invalid_va = 0;
    std::vector<int> ids;
    std::vector<void*> values;
    std::uint64_t x[31], sp, pc, nzcv, fpcr, fpsr, tpidr, tpidrro;
    Vec v[32];

    static std::uint8_t* page_aligned(std::vector<std::uint8_t>& s) {
        const auto a = reinterpret_cast<std::uintptr_t>(s.data());
        return s.data() + ((kPageSize - (a & (kPageSize - 1))) & (kPageSize - 1));
    }
    static void on_interrupt(uc_engine* uc, std::uint32_t number, void* self) {
        static_cast<Impl*>(self)->interrupt = static_cast<int>(number);
        uc_emu_stop(uc);
    }
    static bool on_invalid(uc_engine*, uc_mem_type, std::uint64_t va, int, std::int64_t, void* self) {
        static_cast<Impl*>(self)->invalid_va = va;
        return false;
    }
    void add(int id, void* value) {
        ids.push_back(id);
        values.push_back(value);
    }
    void transfer_in(const ArchState& s) {
        for (unsigned n = 0; n < 31; ++n) x[n] = s.x[n];
        for (unsigned n = 0; n < 32; ++n) v[n] = s.v[n];
        sp = s.sp, pc = s.pc, nzcv = s.nzcv, fpcr = s.fpcr, fpsr = s.fpsr, tpidr = s.tpidr_el0, tpidrro = s.tpidrro_el0;
        require(uc_reg_write_batch(uc, ids.data(), values.data(), static_cast<int>(ids.size())), "write registers");
    }
    void transfer_out(ArchState& s) {
        nzcv = fpcr = fpsr = 0;
        require(uc_reg_read_batch(uc, ids.data(), values.data(), static_cast<int>(ids.size())), "read registers");
        for (unsigned n = 0; n < 31; ++n) s.x[n] = x[n];
        for (unsigned n = 0; n < 32; ++n) s.v[n] = v[n];
        s.sp = sp, s.pc = pc, s.nzcv = static_cast<std::uint32_t>(nzcv) & 0xf0000000u;
        s.fpcr = static_cast<std::uint32_t>(fpcr), s.fpsr = static_cast<std::uint32_t>(fpsr);
        s.tpidr_el0 = tpidr, s.tpidrro_el0 = tpidrro;
    }
    OracleResult start(ArchState& s) {
        const std::uint64_t at = s.pc;
        transfer_in(s);
        interrupt = -1;
        invalid_va = 0;
        const uc_err err = uc_emu_start(uc, at, at + 4, 0, 0);
        transfer_out(s);
        OracleResult r{Outcome::done, invalid_va, err != UC_ERR_OK ? static_cast<int>(err) : -interrupt};
        switch (err) {
            case UC_ERR_OK: break;
            case UC_ERR_READ_UNMAPPED:
            case UC_ERR_WRITE_UNMAPPED:
            case UC_ERR_READ_PROT:
            case UC_ERR_WRITE_PROT:
            case UC_ERR_READ_UNALIGNED:
            case UC_ERR_WRITE_UNALIGNED: r.outcome = Outcome::fault; return r;
            default: r.outcome = Outcome::other; return r;
        }
        switch (interrupt) {
            case -1: break;
            case kUndefined: r.outcome = Outcome::undefined; break;
            case kSvc: r.outcome = Outcome::svc; break;
            case kBreakpoint: r.outcome = Outcome::brk; break;
            case kDataAbort: r.outcome = Outcome::fault; break;
            case kPrefetchAbort:
            default: r.outcome = Outcome::other; break;
        }
        return r;
    }
};

Oracle::Oracle() : impl_(std::make_unique<Impl>()) {
    Impl& m = *impl_;
    m.data = Impl::page_aligned(m.data_storage);
    m.code = Impl::page_aligned(m.code_storage);
    m.branch = Impl::page_aligned(m.branch_storage);
    require(uc_open(UC_ARCH_ARM64, UC_MODE_ARM, &m.uc), "open");
    require(uc_ctl_set_cpu_model(m.uc, UC_CPU_ARM64_MAX), "model");
    require(uc_mem_map_ptr(m.uc, kData, kWritable, UC_PROT_READ | UC_PROT_WRITE, m.data), "map");
    require(uc_mem_map_ptr(m.uc, kData + kWritable, kDataBytes - kWritable, UC_PROT_READ, m.data + kWritable), "map");
    uc_hook hook;
    require(uc_hook_add(m.uc, &hook, UC_HOOK_INTR, reinterpret_cast<void*>(Impl::on_interrupt), &m, 1, 0), "hook");
    require(uc_hook_add(m.uc, &hook, UC_HOOK_MEM_INVALID, reinterpret_cast<void*>(Impl::on_invalid), &m, 1, 0), "hook");
    for (int n = 0; n < 29; ++n) m.add(UC_ARM64_REG_X0 + n, &m.x[n]);
    m.add(UC_ARM64_REG_X29, &m.x[29]);
    m.add(UC_ARM64_REG_X30, &m.x[30]);
    m.add(UC_ARM64_REG_SP, &m.sp);
    m.add(UC_ARM64_REG_PC, &m.pc);
    m.add(UC_ARM64_REG_NZCV, &m.nzcv);
    for (int n = 0; n < 32; ++n) m.add(UC_ARM64_REG_V0 + n, &m.v[n]);
    m.add(UC_ARM64_REG_FPCR, &m.fpcr);
    m.add(UC_ARM64_REG_FPSR, &m.fpsr);
    m.add(UC_ARM64_REG_TPIDR_EL0, &m.tpidr);
    m.add(UC_ARM64_REG_TPIDRRO_EL0, &m.tpidrro);
}
Oracle::~Oracle() {
    if (impl_->uc) uc_close(impl_->uc);
}
std::uint8_t* Oracle::data() { return impl_->data; }
std::uint8_t* Oracle::code() { return impl_->code; }

std::uint64_t Oracle::place(std::uint32_t raw) {
    Impl& m = *impl_;
    if (m.next == kCodeBytes / 4) { // used up: start again without the old translations
        uc_mem_unmap(m.uc, kCode, kCodeBytes);
        require(uc_ctl_flush_tlb(m.uc), "flush"); // the macro flushes translation blocks
        require(uc_mem_map_ptr(m.uc, kCode, kCodeBytes, UC_PROT_READ | UC_PROT_EXEC, m.code), "map");
        m.next = 0;
    }
    std::memcpy(m.code + m.next * 4, &raw, 4);
    return kCode + m.next++ * 4;
}

OracleResult Oracle::run(ArchState& state) { return impl_->start(state); }

OracleResult Oracle::run_branch(std::uint32_t raw, ArchState& state) {
    Impl& m = *impl_;
    const std::uint64_t pc = state.pc, page = pc & kPageMask;
    std::memset(m.branch, 0, kPageSize);
    std::memcpy(m.branch + (pc - page), &raw, 4);
    require(uc_mem_map_ptr(m.uc, page, kPageSize, UC_PROT_READ | UC_PROT_EXEC, m.branch), "map");
    OracleResult r = m.start(state);
    require(uc_mem_unmap(m.uc, page, kPageSize), "unmap");
    if (state.pc != pc) r.outcome = Outcome::done;
    return r;
}

} // namespace rkperf::a64::test
#endif
