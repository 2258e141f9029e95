// SPDX-License-Identifier: Apache-2.0
#include "sim/soc/explain_observer.h"
#include "sim/soc/explain_symbols.h"

#include <catch2/catch.hpp>

#include <elf.h>
#include <unistd.h>
#include <cstdio>
#include <cstring>
#include <fstream>

using namespace rkperf;
using namespace rkperf::soc;

namespace {

ExplainStep step(std::uint64_t ns, std::uint64_t cycles, std::uint64_t instructions, std::string text,
                 bool predicted = false) {
    ExplainStep s;
    s.cpu = 4;
    s.when = Picoseconds(ns * 1000);
    s.cycles = cycles;
    s.instructions = instructions;
    s.counted = true;
    s.predicted = predicted;
    s.text = std::move(text);
    return s;
}

Explanation sample() {
    Explanation e;
    e.event = "cycles:u";
    e.task = "app[3]";
    e.period = 1000;
    e.from_counter = true;
    e.cpu = 4;
    e.start = Picoseconds(100'000);
    e.wrap_pc = 0x400100;
    e.sample_pc = 0x400108;
    e.steps = {step(100, 0, 0, "wraps"), step(145, 108, 0, "signalled", true), step(120, 48, 12, "between"),
               step(150, 120, 30, "taken")};
    e.taken = e.steps.back();
    return e;
}

template <class T>
void put(std::string& s, std::size_t at, const T& v) {
    if (s.size() < at + sizeof v) s.resize(at + sizeof v);
    std::memcpy(s.data() + at, &v, sizeof v);
}

/// Code at file offset 0x1000 for address 0x400000, symbols in a table.
std::string elf_with_symbols() {
    const std::string names("\0first\0second\0$x\0", 17);
    std::string s(0x1100, '\0');
    Elf64_Ehdr h{};
    std::memcpy(h.e_ident, ELFMAG, SELFMAG);
    h.e_machine = EM_AARCH64;
    h.e_phoff = 0x40;
    h.e_phnum = 1;
    h.e_shoff = 0x200;
    h.e_shnum = 2;
    put(s, 0, h);
    Elf64_Phdr p{};
    p.p_type = PT_LOAD;
    p.p_vaddr = 0x400000;
    p.p_offset = 0x1000;
    p.p_filesz = p.p_memsz = 0x100;
    put(s, 0x40, p);
    Elf64_Shdr symtab{}, strtab{};
    symtab.sh_type = SHT_SYMTAB;
    symtab.sh_offset = 0x300;
    symtab.sh_size = 4 * sizeof(Elf64_Sym);
    symtab.sh_link = 1;
    strtab.sh_type = SHT_STRTAB;
    strtab.sh_offset = 0x400;
    strtab.sh_size = names.size();
    put(s, 0x200, symtab);
    put(s, 0x200 + sizeof symtab, strtab);
    const auto symbol = [&](unsigned i, unsigned name, std::uint64_t value, std::uint64_t size, unsigned type) {
        Elf64_Sym sym{};
        sym.st_name = name;
        sym.st_value = value;
        sym.st_size = size;
        sym.st_info = static_cast<unsigned char>(ELF64_ST_INFO(STB_GLOBAL, type));
        sym.st_shndx = 1;
        put(s, 0x300 + i * sizeof sym, sym);
    };
    symbol(0, 7, 0x400040, 0x20, STT_FUNC); // second
    symbol(1, 1, 0x400000, 0x10, STT_FUNC); // first
    symbol(2, 14, 0x400000, 0, STT_NOTYPE); // a mapping symbol
    symbol(3, 1, 0x900000, 0x10, STT_FUNC); // in no segment
    std::memcpy(s.data() + 0x400, names.data(), names.size());
    return s;
}

} // namespace

TEST_CASE("a way is printed in the order of time, with the skid") {
    const std::string t = print_explanation(sample(), 7, MachineConfig::rk3588());
    CHECK_THAT(t, Catch::Contains("sample 7 of cycles:u, period 1000: task app[3] on CPU 4 (Cortex-A76, 2400 MHz)"));
    CHECK(t.find("wraps") < t.find("between"));
    CHECK(t.find("between") < t.find("signalled"));
    CHECK(t.find("signalled") < t.find("taken"));
    CHECK_THAT(t, Catch::Contains("skid: 30 instructions, 120 cycles, 50.000 ns") &&
                      Catch::Contains("pc 0x400100 at the wrap, 0x400108"));
    CHECK_THAT(t, Catch::Contains("the client had not read it"));
}

TEST_CASE("a software event has no wrap") {
    Explanation e = sample();
    e.from_counter = false;
    CHECK_THAT(print_explanation(e, 1, MachineConfig::rk3588()),
               Catch::Contains("software event") && Catch::Contains("ns since IRQ"));
}

TEST_CASE("functions of an ELF file are found by their place in the file") {
    const std::string path = "/tmp/rkperf-explain-test-" + std::to_string(::getpid());
    std::ofstream(path, std::ios::binary) << elf_with_symbols();
    const auto symbols = read_elf_functions(path);
    REQUIRE(symbols.size() == 2);
    CHECK(symbols[0].name == "first");
    CHECK(symbols[0].start == 0x1000);
    CHECK(symbols[0].size == 0x10);
    CHECK(symbols[1].name == "second");
    CHECK(symbols[1].start == 0x1040);
    // Cut anywhere it must not be believed.
    const std::string whole = elf_with_symbols();
    for (std::size_t n = 0; n < 0x440; n += 7) {
        std::ofstream(path, std::ios::binary | std::ios::trunc) << whole.substr(0, n);
        CHECK(read_elf_functions(path).size() <= 2);
    }
    std::remove(path.c_str());
    CHECK(read_elf_functions(path).empty());
}
