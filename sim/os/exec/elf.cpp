// SPDX-License-Identifier: Apache-2.0
#include "sim/os/exec/elf.h"

#include "sim/base/types.h"

#include <elf.h>
#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rkperf::os {

namespace {

constexpr std::uint64_t kTaskSize = 1ull << 48;
constexpr unsigned kMaxHeaders = 65536 / sizeof(Elf64_Phdr);
constexpr std::uint64_t kMaxInterpreter = 4096;

int fail(ElfError& e, int value, std::string reason) {
    e = {value, std::move(reason)};
    return value;
}

} // namespace

std::uint64_t ElfImage::lowest() const { return segments.front().vaddr & kPageMask; }
std::uint64_t ElfImage::highest() const { return segments.back().vaddr + segments.back().memsz; }

std::uint64_t ElfImage::phdr_address() const {
    for (const ElfSegment& s : segments)
        if (phoff >= s.offset && phoff < s.offset + s.filesz) return s.vaddr + (phoff - s.offset);
    return 0;
}

int read_elf(const ElfReader& read, std::uint64_t file_size, ElfImage& image, ElfError& error) {
    Elf64_Ehdr h{};
    std::uint8_t bytes[sizeof h];
    if (file_size < sizeof h || !read(0, bytes)) {
        std::uint8_t magic[4] = {};
        const bool elf = file_size >= 4 && read(0, magic) && !std::memcmp(magic, ELFMAG, SELFMAG);
        return fail(error, ENOEXEC, elf ? "the ELF header is cut off" : "not an ELF file");
    }
    std::memcpy(&h, bytes, sizeof h);
    if (std::memcmp(h.e_ident, ELFMAG, SELFMAG)) return fail(error, ENOEXEC, "not an ELF file");
    if (h.e_ident[EI_CLASS] != ELFCLASS64)
        return fail(error, ENOEXEC, "a 32-bit ELF file; only AArch64 programs run here");
    if (h.e_ident[EI_DATA] != ELFDATA2LSB) return fail(error, ENOEXEC, "a big-endian ELF file");
    if (h.e_machine != EM_AARCH64)
        return fail(
            error, ENOEXEC,
            "an ELF file for another architecture (e_machine " + std::to_string(h.e_machine) + ", AArch64 is 183)");
    if (h.e_type != ET_EXEC && h.e_type != ET_DYN)
        return fail(error, ENOEXEC, "an ELF file that is not executable (e_type " + std::to_string(h.e_type) + ")");
    if (h.e_phentsize != sizeof(Elf64_Phdr)) return fail(error, ENOEXEC, "program headers of an unknown size");
    if (h.e_phnum < 1 || h.e_phnum > kMaxHeaders) return fail(error, ENOEXEC, "no program headers, or too many");
    const std::uint64_t table = std::uint64_t{h.e_phnum} * sizeof(Elf64_Phdr);
    if (h.e_phoff > file_size || table > file_size - h.e_phoff)
        return fail(error, ENOEXEC, "the program headers lie beyond the end of the file");
    std::vector<std::uint8_t> raw(table);
    if (!read(h.e_phoff, raw)) return fail(error, ENOEXEC, "the program headers cannot be read");

    image = ElfImage{};
    image.position_independent = h.e_type == ET_DYN;
    image.entry = h.e_entry;
    image.phoff = h.e_phoff;
    image.phnum = h.e_phnum;
    for (unsigned i = 0; i < h.e_phnum; ++i) {
        Elf64_Phdr p;
        std::memcpy(&p, raw.data() + i * sizeof p, sizeof p);
        if (p.p_type == PT_GNU_STACK) image.exec_stack = p.p_flags & PF_X;
        if (p.p_type == PT_INTERP && image.interpreter.empty()) {
            if (p.p_filesz < 2 || p.p_filesz > kMaxInterpreter || p.p_offset > file_size ||
                p.p_filesz > file_size - p.p_offset)
                return fail(error, ENOEXEC, "the interpreter's name is out of bounds");
            std::vector<std::uint8_t> name(p.p_filesz);
            if (!read(p.p_offset, name) || name.back() != 0)
                return fail(error, ENOEXEC, "the interpreter's name is not terminated");
            image.interpreter = reinterpret_cast<const char*>(name.data());
        }
        if (p.p_type != PT_LOAD || !p.p_memsz) continue;
        if (p.p_filesz > p.p_memsz) return fail(error, EINVAL, "a segment is longer in the file than in memory");
        if (p.p_vaddr >= kTaskSize || p.p_memsz > kTaskSize - p.p_vaddr)
            return fail(error, ENOMEM, "a segment lies outside the user address space");
        if (p.p_offset > file_size || p.p_filesz > file_size - p.p_offset)
            return fail(error, ENOEXEC, "a segment lies beyond the end of the file (truncated?)");
        if ((p.p_vaddr ^ p.p_offset) & ~kPageMask)
            return fail(error, EINVAL, "a segment's address and offset do not agree modulo the page size");
        if (p.p_filesz == 0 && (p.p_offset & ~kPageMask) != (p.p_vaddr & ~kPageMask))
            return fail(error, EINVAL, "a segment is misaligned");
        ElfSegment s;
        s.vaddr = p.p_vaddr, s.memsz = p.p_memsz, s.offset = p.p_offset, s.filesz = p.p_filesz;
        s.read = p.p_flags & PF_R, s.write = p.p_flags & PF_W, s.exec = p.p_flags & PF_X;
        image.segments.push_back(s);
    }
    if (image.segments.empty()) return fail(error, ENOEXEC, "nothing to load");
    std::stable_sort(image.segments.begin(), image.segments.end(),
                     [](const ElfSegment& a, const ElfSegment& b) { return a.vaddr < b.vaddr; });
    for (std::size_t i = 1; i < image.segments.size(); ++i) {
        const ElfSegment& a = image.segments[i - 1];
        if (((a.vaddr + a.memsz + kPageSize - 1) & kPageMask) > (image.segments[i].vaddr & kPageMask))
            return fail(error, EINVAL, "segments overlap");
    }
    const bool entry_ok = std::any_of(image.segments.begin(), image.segments.end(), [&](const ElfSegment& s) {
        return s.exec && image.entry >= s.vaddr && image.entry < s.vaddr + s.memsz;
    });
    if (!entry_ok) return fail(error, EINVAL, "the entry point is not in an executable segment");
    return 0;
}

} // namespace rkperf::os
