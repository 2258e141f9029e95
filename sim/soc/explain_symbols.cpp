// SPDX-License-Identifier: Apache-2.0
#include "sim/soc/explain_symbols.h"

#include "sim/base/types.h"

#include <fmt/format.h>

#include <elf.h>
#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

namespace rkperf::soc {

namespace {

/// Bytes of a file; reads outside of it give nothing.
class Image {
  public:
    explicit Image(const std::string& path) {
        std::ifstream in(path, std::ios::binary);
        bytes_.assign(std::istreambuf_iterator<char>(in), {});
    }
    template <class T>
    bool get(std::uint64_t at, T& out) const {
        if (at > bytes_.size() || bytes_.size() - at < sizeof out) return false;
        std::memcpy(&out, bytes_.data() + at, sizeof out);
        return true;
    }
    std::string text(std::uint64_t at) const {
        if (at >= bytes_.size()) return {};
        const char* p = bytes_.data() + at;
        return std::string(p, strnlen(p, bytes_.size() - at));
    }

  private:
    std::vector<char> bytes_;
};

/// File offset of a virtual address, or nothing.
std::optional<std::uint64_t> offset_of(const std::vector<Elf64_Phdr>& segments, std::uint64_t va) {
    for (const Elf64_Phdr& p : segments)
        if (p.p_type == PT_LOAD && va >= p.p_vaddr && va - p.p_vaddr < p.p_filesz) return va - p.p_vaddr + p.p_offset;
    return std::nullopt;
}

template <class T>
std::vector<T> headers(const Image& image, std::uint64_t at, unsigned n) {
    std::vector<T> out;
    T h;
    for (unsigned i = 0; i < n && image.get(at + i * sizeof h, h); ++i) out.push_back(h);
    return out;
}

} // namespace

std::vector<ElfSymbol> read_elf_functions(const std::string& host_path) {
    const Image image(host_path);
    Elf64_Ehdr h;
    if (!image.get(0, h) || std::memcmp(h.e_ident, ELFMAG, SELFMAG) || h.e_machine != EM_AARCH64) return {};
    const auto segments = headers<Elf64_Phdr>(image, h.e_phoff, h.e_phnum);
    const auto sections = headers<Elf64_Shdr>(image, h.e_shoff, h.e_shnum);
    std::vector<ElfSymbol> out;
    for (const Elf64_Shdr& s : sections) {
        if ((s.sh_type != SHT_SYMTAB && s.sh_type != SHT_DYNSYM) || s.sh_link >= sections.size()) continue;
        const std::uint64_t names = sections[s.sh_link].sh_offset;
        Elf64_Sym sym;
        for (std::uint64_t at = 0; at + sizeof sym <= s.sh_size && image.get(s.sh_offset + at, sym); at += sizeof sym) {
            const unsigned type = ELF64_ST_TYPE(sym.st_info);
            if (type != STT_FUNC && type != STT_NOTYPE) continue;
            std::string name = image.text(names + sym.st_name);
            // $x and $d mark code and data for tools.
            if (name.empty() || name[0] == '$' || sym.st_shndx == SHN_UNDEF) continue;
            if (const auto offset = offset_of(segments, sym.st_value))
                out.push_back({*offset, sym.st_size, std::move(name)});
        }
    }
    // Of several names for one place the one with a size is the function's.
    std::sort(out.begin(), out.end(), [](const ElfSymbol& a, const ElfSymbol& b) {
        return std::tuple(a.start, b.size, a.name) < std::tuple(b.start, a.size, b.name);
    });
    out.erase(
        std::unique(out.begin(), out.end(), [](const ElfSymbol& a, const ElfSymbol& b) { return a.start == b.start; }),
        out.end());
    return out;
}

std::string GuestSymbols::name(const ke::TaskBase& task, std::uint64_t address) {
    std::string path;
    std::uint64_t offset = 0;
    kernel_.for_each_vma(const_cast<ke::TaskBase*>(&task), [&](const ke::VmaInfo& v) {
        if (!v.has_file || address < v.start || address >= v.end) return;
        path = v.path;
        offset = address - v.start + (v.pgoff << kPageShift);
    });
    if (path.empty()) return {};
    auto file = files_.find(path);
    if (file == files_.end()) {
        const auto host = host_path_(path);
        file = files_.emplace(path, host ? read_elf_functions(*host) : std::vector<ElfSymbol>{}).first;
    }
    const auto& symbols = file->second;
    auto it = std::upper_bound(symbols.begin(), symbols.end(), offset,
                               [](std::uint64_t o, const ElfSymbol& s) { return o < s.start; });
    if (it == symbols.begin()) return {};
    --it;
    const std::uint64_t into = offset - it->start;
    if (it->size && into >= it->size) return {};
    return into ? fmt::format("{}+{:#x}", it->name, into) : it->name;
}

} // namespace rkperf::soc
