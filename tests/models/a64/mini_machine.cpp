// SPDX-License-Identifier: Apache-2.0
#include "tests/models/a64/mini_machine.h"

#include <elf.h>
#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <stdexcept>

namespace rkperf::a64::test {
namespace {

constexpr std::uint64_t kErrnoNoSys = static_cast<std::uint64_t>(-38), kErrnoBadFile = static_cast<std::uint64_t>(-9);

// System call numbers of the generic Linux ABI.
constexpr std::uint64_t kWrite = 64, kWritev = 66, kExit = 93, kExitGroup = 94, kSetTidAddress = 96, kBrk = 214,
                        kMunmap = 215, kMmap = 222, kMprotect = 226;
// HWCAP of the RK3588's cores: fp asimd aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp
constexpr std::uint64_t kHwcap = 0x119fff & ~std::uint64_t{4};

} // namespace

SysRegOutcome MiniMachine::Memory::read_sysreg(SysReg reg, std::uint64_t& value) {
    if (reg == sysreg::MIDR_EL1)
        value = 0x414fd0b0;
    else if (reg == sysreg::DCZID_EL0)
        value = 4;
    else if (reg == sysreg::CTR_EL0)
        value = 0x8444c004;
    else if (reg.op0() == 3 && reg.op1() == 0 && reg.crn() == 0)
        value = 0;
    else
        return SysRegOutcome::undefined;
    return SysRegOutcome::ok;
}

MiniMachine::MiniMachine(const std::string& path) {
    load(path);
    build_stack(path);
    state.pc = entry_;
    memory_.fill_lines = true;
}

void MiniMachine::load(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    const std::vector<char> file((std::istreambuf_iterator<char>(in)), {});
    Elf64_Ehdr header;
    if (file.size() < sizeof header) throw std::runtime_error("not an ELF file: " + path);
    std::memcpy(&header, file.data(), sizeof header);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_machine != EM_AARCH64 || header.e_type != ET_EXEC)
        throw std::runtime_error("not a static AArch64 program: " + path);
    entry_ = header.e_entry;
    program_header_count_ = header.e_phnum;
    storage_.reserve(16);
    for (unsigned n = 0; n < header.e_phnum; ++n) {
        Elf64_Phdr p;
        std::memcpy(&p, file.data() + header.e_phoff + n * sizeof p, sizeof p);
        if (p.p_type != PT_LOAD) continue;
        const std::uint64_t begin = p.p_vaddr & kPageMask, end = (p.p_vaddr + p.p_memsz + kPageSize - 1) & kPageMask;
        auto& bytes = storage_.emplace_back(end - begin);
        std::memcpy(bytes.data() + (p.p_vaddr - begin), file.data() + p.p_offset, p.p_filesz);
        memory_.map(begin, bytes.data(), bytes.size(), p.p_flags & PF_W);
        if (p.p_flags & PF_X) {
            text_base_ = begin;
            text_ = &bytes;
            code_.resize(bytes.size() / 4);
        }
        if (p.p_offset == 0) program_headers_ = p.p_vaddr + header.e_phoff;
        heap_base_ = std::max(heap_base_, end);
    }
    heap_end_ = heap_base_;
    auto& heap = storage_.emplace_back(kHeapBytes);
    memory_.map(heap_base_, heap.data(), heap.size(), true);
    auto& anonymous = storage_.emplace_back(kMmapBytes);
    memory_.map(kMmapBase, anonymous.data(), anonymous.size(), true);
}

void MiniMachine::build_stack(const std::string& path) {
    auto& stack = storage_.emplace_back(kStackBytes);
    memory_.map(kStackTop - kStackBytes, stack.data(), stack.size(), true);
    std::uint64_t strings = kStackTop - 4096;
    std::memcpy(stack.data() + (strings - (kStackTop - kStackBytes)), path.c_str(), path.size() + 1);
    const std::uint64_t random = kStackTop - 64;
    const std::uint64_t words[] = {1,         strings,
                                   0,         0,
                                   AT_PHDR,   program_headers_,
                                   AT_PHENT,  sizeof(Elf64_Phdr),
                                   AT_PHNUM,  program_header_count_,
                                   AT_PAGESZ, kPageSize,
                                   AT_HWCAP,  kHwcap,
                                   AT_RANDOM, random,
                                   AT_ENTRY,  entry_,
                                   AT_SECURE, 0,
                                   AT_NULL,   0};
    const std::uint64_t sp = (strings - sizeof words) & ~std::uint64_t{15};
    std::memcpy(stack.data() + (sp - (kStackTop - kStackBytes)), words, sizeof words);
    state.x[kSp] = sp;
}

bool MiniMachine::copy_out(std::uint64_t va, std::uint64_t bytes, std::string& to) {
    for (std::uint64_t n = 0; n < bytes; ++n) {
        char c;
        if (!state.load(va + n, &c, 1)) return false;
        to += c;
    }
    return true;
}

void MiniMachine::system_call() {
    auto& x = state.x;
    switch (x[8]) {
        case kExit:
        case kExitGroup:
            exit_status = static_cast<int>(x[0]);
            running_ = false;
            return;
        case kWrite:
            if (x[0] != 1 && x[0] != 2)
                x[0] = kErrnoBadFile;
            else if (copy_out(x[1], x[2], output))
                x[0] = x[2];
            return;
        case kWritev: {
            std::uint64_t total = 0;
            for (std::uint64_t n = 0; n < x[2]; ++n) {
                std::uint64_t v[2];
                if (!state.load(x[1] + 16 * n, v, 16) || !copy_out(v[0], v[1], output)) return;
                total += v[1];
            }
            x[0] = total;
            return;
        }
        case kBrk:
            if (x[0] >= heap_base_ && x[0] <= heap_base_ + kHeapBytes) heap_end_ = x[0];
            x[0] = heap_end_;
            return;
        case kMmap:
            x[0] = mmap_next_;
            mmap_next_ += (x[1] + kPageSize - 1) & kPageMask;
            return;
        case kSetTidAddress: x[0] = 1; return;
        case kMunmap:
        case kMprotect: x[0] = 0; return;
        default: x[0] = kErrnoNoSys; return;
    }
}

bool MiniMachine::run(std::uint64_t max_instructions) {
    running_ = true;
    for (; running_ && instructions < max_instructions; ++instructions) {
        const std::uint64_t at = (state.pc - text_base_) / 4;
        if (at >= code_.size() || state.pc & 3) {
            error = fmt::format("jumped to {:#x}", state.pc);
            return false;
        }
        Insn& insn = code_[at];
        if (!insn.fn) {
            std::uint32_t raw;
            std::memcpy(&raw, text_->data() + at * 4, 4);
            insn = decode(raw);
        }
        insn.fn(state, insn);
        if (__builtin_expect(state.stop == Stop::none, 1)) {
            if (!state.branch_taken) state.pc += 4;
            state.branch_taken = false;
            continue;
        }
        const Stop why = state.stop;
        state.stop = Stop::none;
        if (why == Stop::svc)
            system_call();
        else if (why != Stop::wait && why != Stop::isb)
            state.stop = why;
        if (state.stop != Stop::none) {
            error = fmt::format("stop {} at {:#x}: {} (address {:#x})", static_cast<int>(state.stop), state.pc,
                                disassemble(insn.raw, state.pc), state.fault.addr);
            return false;
        }
    }
    if (running_) error = "not finished";
    return !running_;
}

} // namespace rkperf::a64::test
