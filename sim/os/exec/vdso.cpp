// SPDX-License-Identifier: Apache-2.0
#include "sim/os/exec/vdso.h"

#include "sim/os/kernel.h"
#include "sim/os/time/time_keeper.h"

#include <elf.h>
#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace rkperf::os {

namespace {

/// The first data page, as the code below reads it.
struct VdsoData {
    std::uint32_t sequence; ///< odd while it is being written
    std::uint32_t reserved;
    std::uint64_t realtime_offset_ns; ///< CLOCK_REALTIME - CLOCK_MONOTONIC
    std::uint64_t coarse_res_ns;
};

constexpr std::uint64_t kCode = 0x300;

/// Position-independent; assembled for kCode bytes into the file, with the data two pages before it. x4: VdsoData.
constexpr std::uint32_t kCodeWords[] = {
    // __kernel_clock_gettime(w0, x1): clocks 0, 1, 4, 5, 6, 7 and 11 (mask 0x8f3), else the system call
    0x71002c1f, 0x54000408, // cmp w0, #11; b.hi 9f
    0x52800022, 0x1ac02042, // mov w2, #1; lsl w2, w2, w0
    0x52811e63, 0x6a03005f, // mov w3, #0x8f3; tst w2, w3
    0x54000360, 0x10fee724, // b.eq 9f; adr x4, data
    0xb9400085, 0x3707ffe5, // 1: ldr w5, [x4]; tbnz w5, #0, 1b
    0xd50339bf, 0xf9400486, // dmb ishld; ldr x6, [x4, #8]
    0xd5033fdf, 0xd53be047, // isb; mrs x7, cntvct_el0
    0xd50339bf, 0xb9400088, // dmb ishld; ldr w8, [x4]
    0x6b0800bf, 0x54fffee1, // cmp w5, w8; b.ne 1b
    0xd2800fa9, 0x9b097ce7, // mov x9, #125; mul x7, x7, x9
    0xd2800069, 0x9ac908e7, // mov x9, #3; udiv x7, x7, x9
    0x52810423, 0x6a03005f, // mov w3, #0x821 (those of the day); tst w2, w3
    0x9a9f10c6, 0x8b0600e7, // csel x6, x6, xzr, ne; add x7, x7, x6
    0xd2994009, 0xf2a77349, // mov x9, #1000000000
    0x9ac908ea, 0x9b099d47, // udiv x10, x7, x9; msub x7, x10, x9, x7
    0xa9001c2a, 0x52800000, // stp x10, x7, [x1]; mov w0, #0
    0xd65f03c0,             // ret
    0xd2800e28, 0xd4000001, // 9: mov x8, #113; svc #0
    0xd65f03c0,             // ret
    // __kernel_gettimeofday(x0, x1), at +0x90
    0xb4000300, 0x10fee364, // cbz x0, 2f; adr x4, data
    0xb9400085, 0x3707ffe5, // 1: ldr w5, [x4]; tbnz w5, #0, 1b
    0xd50339bf, 0xf9400486, // dmb ishld; ldr x6, [x4, #8]
    0xd5033fdf, 0xd53be047, // isb; mrs x7, cntvct_el0
    0xd50339bf, 0xb9400088, // dmb ishld; ldr w8, [x4]
    0x6b0800bf, 0x54fffee1, // cmp w5, w8; b.ne 1b
    0xd2800fa9, 0x9b097ce7, // mov x9, #125; mul x7, x7, x9
    0xd2800069, 0x9ac908e7, // mov x9, #3; udiv x7, x7, x9
    0x8b0600e7,             // add x7, x7, x6
    0xd2994009, 0xf2a77349, // mov x9, #1000000000
    0x9ac908ea, 0x9b099d47, // udiv x10, x7, x9; msub x7, x10, x9, x7
    0xd2807d09, 0x9ac908e7, // mov x9, #1000; udiv x7, x7, x9
    0xa9001c0a,             // stp x10, x7, [x0]
    0xb4000041, 0xf900003f, // 2: cbz x1, 3f; str xzr, [x1]
    0x52800000, 0xd65f03c0, // 3: mov w0, #0; ret
    // __kernel_clock_getres(w0, x1), at +0x100
    0x71002c1f, 0x540001e8, // cmp w0, #11; b.hi 9f
    0x52800022, 0x1ac02042, // mov w2, #1; lsl w2, w2, w0
    0x52811e63, 0x6a03005f, // mov w3, #0x8f3; tst w2, w3
    0x54000140, 0xb40000e1, // b.eq 9f; cbz x1, 4f
    0x10fedf04, 0xf9400885, // adr x4, data; ldr x5, [x4, #16]
    0x52800c03, 0x6a03005f, // mov w3, #0x60 (the coarse ones); tst w2, w3
    0x9a9f14a5, 0xa900143f, // csinc x5, x5, xzr, ne; stp xzr, x5, [x1]
    0x52800000, 0xd65f03c0, // 4: mov w0, #0; ret
    0xd2800e48, 0xd4000001, // 9: mov x8, #114; svc #0
    0xd65f03c0, 0xd503201f, // ret; nop (unwinders look up the address before the trampoline's)
    // __kernel_rt_sigreturn, at +0x150
    0xd2801168, 0xd4000001, // mov x8, #139; svc #0
};
static_assert(kCode + sizeof kCodeWords == Vdso::kSigreturn + 8);

struct Function {
    std::string_view name;
    std::uint64_t offset, size;
    unsigned char info;
};
constexpr unsigned char kGlobalFunc = 0x12, kGlobalObject = 0x11, kGlobal = 0x10;
constexpr Function kFunctions[] = {
    {"__kernel_clock_getres", kCode + 0x100, 0x4c, kGlobalFunc},
    {"__kernel_rt_sigreturn", Vdso::kSigreturn, 8, kGlobal},
    {"__kernel_gettimeofday", kCode + 0x90, 0x70, kGlobalFunc},
    {"__kernel_clock_gettime", kCode, 0x90, kGlobalFunc},
};
constexpr std::string_view kSoName = "linux-vdso.so.1", kVersion = "LINUX_2.6.39";

std::uint32_t elf_hash(std::string_view s) {
    std::uint32_t h = 0;
    for (const char c : s) {
        h = (h << 4) + static_cast<unsigned char>(c);
        const std::uint32_t top = h & 0xf0000000;
        h = (h ^ top >> 24) & ~top;
    }
    return h;
}

/// Writes an ELF file from front to back and keeps its section headers.
class Image {
  public:
    explicit Image(std::uint8_t* page) : page_(page) {}

    std::uint64_t at() const { return at_; }
    void skip_to(std::uint64_t offset) { at_ = offset; }
    template <class T>
    void put(const T& v) {
        std::memcpy(page_ + at_, &v, sizeof v);
        at_ += sizeof v;
    }
    void put(const void* from, std::size_t n) {
        std::memcpy(page_ + at_, from, n);
        at_ += n;
    }
    /// Begins a section at the next multiple of `align`; sh_size is set by the next begin or end.
    std::uint64_t begin(std::string_view name, std::uint32_t type, std::uint64_t flags, std::uint64_t align,
                        std::uint32_t link = 0, std::uint32_t info = 0, std::uint64_t entry = 0) {
        end();
        at_ = (at_ + align - 1) & ~(align - 1);
        sections_.push_back({static_cast<std::uint32_t>(names_.size()), type, flags, flags ? at_ : 0, at_, 0, link,
                             info, align, entry});
        names_.append(name).push_back('\0');
        return at_;
    }
    void end() {
        if (sections_.size() > 1 && !sections_.back().sh_size)
            sections_.back().sh_size = at_ - sections_.back().sh_offset;
    }
    const std::vector<Elf64_Shdr>& sections() const { return sections_; }
    const std::string& names() const { return names_; }

  private:
    std::uint8_t* page_;
    std::uint64_t at_{};
    std::string names_{'\0'};
    std::vector<Elf64_Shdr> sections_{Elf64_Shdr{}};
};

void build(std::uint8_t* page) {
    constexpr std::uint32_t kSymbols = 2, kStrings = 3; // sections
    constexpr std::uint16_t kAbsolute = 0xfff1, kTextSection = 7, kProgramHeaders = 3;
    constexpr std::uint64_t kAlloc = SHF_ALLOC;
    Image out(page);
    out.skip_to(sizeof(Elf64_Ehdr) + kProgramHeaders * sizeof(Elf64_Phdr));

    std::string strings(1, '\0');
    const auto intern = [&strings](std::string_view s) {
        const auto at = static_cast<std::uint32_t>(strings.size());
        strings.append(s).push_back('\0');
        return at;
    };
    std::vector<Elf64_Sym> symbols{Elf64_Sym{}};
    const std::uint32_t version = intern(kVersion), soname = intern(kSoName);
    symbols.push_back({version, kGlobalObject, 0, kAbsolute, 0, 0});
    for (const Function& f : kFunctions) symbols.push_back({intern(f.name), f.info, 0, kTextSection, f.offset, f.size});
    const auto count = static_cast<std::uint32_t>(symbols.size());

    const std::uint64_t hash = out.begin(".hash", SHT_HASH, kAlloc, 8, kSymbols, 0, 4);
    // One bucket; the chain leads from each symbol to the next.
    out.put(std::array<std::uint32_t, 3>{1, count, 1});
    for (std::uint32_t i = 0; i < count; ++i) out.put(i && i + 1 < count ? i + 1 : 0u);
    const std::uint64_t symtab = out.begin(".dynsym", SHT_DYNSYM, kAlloc, 8, kStrings, 1, sizeof(Elf64_Sym));
    out.put(symbols.data(), symbols.size() * sizeof(Elf64_Sym));
    const std::uint64_t strtab = out.begin(".dynstr", SHT_STRTAB, kAlloc, 1);
    out.put(strings.data(), strings.size());
    const std::uint64_t versym = out.begin(".gnu.version", SHT_GNU_versym, kAlloc, 2, kSymbols, 0, 2);
    for (std::uint32_t i = 0; i < count; ++i) out.put(static_cast<std::uint16_t>(i ? 2 : 0));
    const std::uint64_t verdef = out.begin(".gnu.version_d", SHT_GNU_verdef, kAlloc, 8, kStrings, 2);
    out.put(Elf64_Verdef{1, VER_FLG_BASE, 1, 1, elf_hash(kSoName), sizeof(Elf64_Verdef),
                         sizeof(Elf64_Verdef) + sizeof(Elf64_Verdaux)});
    out.put(Elf64_Verdaux{soname, 0});
    out.put(Elf64_Verdef{1, 0, 2, 1, elf_hash(kVersion), sizeof(Elf64_Verdef), 0});
    out.put(Elf64_Verdaux{version, 0});
    const std::uint64_t note = out.begin(".note", SHT_NOTE, kAlloc, 4);
    out.put(Elf64_Nhdr{4, 20, NT_GNU_BUILD_ID});
    out.put(std::array<char, 4>{'G', 'N', 'U', 0});
    const std::uint64_t build_id = out.at();
    out.skip_to(build_id + 20);
    const std::uint64_t note_end = out.at();
    out.end();
    out.skip_to(kCode);
    out.begin(".text", SHT_PROGBITS, kAlloc | SHF_EXECINSTR, 16);
    out.put(kCodeWords, sizeof kCodeWords);
    const std::uint64_t dynamic =
        out.begin(".dynamic", SHT_DYNAMIC, kAlloc | SHF_WRITE, 8, kStrings, 0, sizeof(Elf64_Dyn));
    const std::pair<std::int64_t, std::uint64_t> tags[] = {
        {DT_SONAME, soname},
        {DT_SYMBOLIC, 0},
        {DT_HASH, hash},
        {DT_STRTAB, strtab},
        {DT_SYMTAB, symtab},
        {DT_STRSZ, strings.size()},
        {DT_SYMENT, sizeof(Elf64_Sym)},
        {DT_VERDEF, verdef},
        {DT_VERDEFNUM, 2},
        {DT_FLAGS, DF_SYMBOLIC},
        {DT_VERSYM, versym},
        {DT_NULL, 0},
    };
    for (const auto& [tag, value] : tags) out.put(tag), out.put(value);
    const std::uint64_t loaded = out.at();
    out.begin(".shstrtab", SHT_STRTAB, 0, 1);
    out.put(out.names().data(), out.names().size());
    out.end();
    const std::uint64_t headers = (out.at() + 7) & ~7ull;
    out.skip_to(headers);
    for (const Elf64_Shdr& s : out.sections()) out.put(s);

    Elf64_Ehdr eh{};
    std::memcpy(eh.e_ident, ELFMAG, SELFMAG);
    eh.e_ident[EI_CLASS] = ELFCLASS64, eh.e_ident[EI_DATA] = ELFDATA2LSB, eh.e_ident[EI_VERSION] = EV_CURRENT;
    eh.e_type = ET_DYN, eh.e_machine = EM_AARCH64, eh.e_version = EV_CURRENT;
    eh.e_phoff = sizeof eh, eh.e_shoff = headers;
    eh.e_ehsize = sizeof eh, eh.e_phentsize = sizeof(Elf64_Phdr), eh.e_phnum = kProgramHeaders;
    eh.e_shentsize = sizeof(Elf64_Shdr), eh.e_shnum = static_cast<std::uint16_t>(out.sections().size());
    eh.e_shstrndx = static_cast<std::uint16_t>(eh.e_shnum - 1);
    out.skip_to(0);
    out.put(eh);
    const std::uint64_t dynamic_size = sizeof tags;
    out.put(Elf64_Phdr{PT_LOAD, PF_R | PF_X, 0, 0, 0, loaded, loaded, 16});
    out.put(Elf64_Phdr{PT_DYNAMIC, PF_R, dynamic, dynamic, dynamic, dynamic_size, dynamic_size, 8});
    out.put(Elf64_Phdr{PT_NOTE, PF_R, note, note, note, note_end - note, note_end - note, 4});

    // Names the contents, as a linker's does: a hash of them.
    std::uint64_t h = 0xcbf29ce484222325;
    for (std::uint64_t i = 0; i < 20; ++i) {
        for (std::uint64_t b = 0; b < loaded; ++b)
            if (b < build_id || b >= build_id + 20) h = (h ^ page[b] ^ i) * 0x100000001b3;
        page[build_id + i] = static_cast<std::uint8_t>(h >> 32);
    }
}

} // namespace

Vdso::Vdso(Kernel& k) : os_(k), text_(k.pages().alloc(Gfp::kernel)), data_(k.pages().alloc(Gfp::kernel)) {
    build(k.pages().host(text_));
    write_data(0);
}

void Vdso::write_data(std::uint32_t sequence) {
    const VdsoData d{sequence, 0, static_cast<std::uint64_t>(os_.time().realtime_offset_ns), os_.tick_nsec()};
    std::memcpy(os_.pages().host(data_), &d, sizeof d);
}

void Vdso::update() {
    const IrqGuard guard(os_); // so that nobody sees the odd number
    write_data(sequence_ += 2);
    os_.core().kernel_access(data_, sizeof(VdsoData), true);
}

} // namespace rkperf::os
