// SPDX-License-Identifier: Apache-2.0
#include "models/a64/insn.h"

#include <capstone/capstone.h>
#include <fmt/format.h>

#include <stdexcept>

namespace rkperf::a64 {
namespace {

class Capstone {
  public:
    Capstone() {
        if (cs_open(CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, &handle_) != CS_ERR_OK)
            throw std::runtime_error("Capstone was built without AArch64");
    }
    ~Capstone() { cs_close(&handle_); }
    Capstone(const Capstone&) = delete;
    Capstone& operator=(const Capstone&) = delete;

    std::string text(std::uint32_t raw, std::uint64_t pc) const {
        const std::uint8_t bytes[4] = {static_cast<std::uint8_t>(raw), static_cast<std::uint8_t>(raw >> 8),
                                       static_cast<std::uint8_t>(raw >> 16), static_cast<std::uint8_t>(raw >> 24)};
        cs_insn* insn = nullptr;
        const std::size_t n = cs_disasm(handle_, bytes, sizeof bytes, pc, 1, &insn);
        if (n == 0) return {};
        std::string out = insn->mnemonic;
        if (insn->op_str[0]) out.append(" ").append(insn->op_str);
        cs_free(insn, n);
        return out;
    }

  private:
    csh handle_{};
};

} // namespace

std::string disassemble(std::uint32_t raw, std::uint64_t pc) {
    const Insn insn = decode(raw);
    if (insn.row != kNoRow) {
        static const Capstone capstone;
        std::string text = capstone.text(raw, pc);
        if (!text.empty()) return text;
        return fmt::format(".inst 0x{:08x} // {}", raw, op_table()[insn.row].name);
    }
    if (raw >> 16 == 0) return fmt::format("udf #0x{:x}", raw);
    return fmt::format(".inst 0x{:08x} // undefined", raw);
}

} // namespace rkperf::a64
