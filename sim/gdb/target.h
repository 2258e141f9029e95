// SPDX-License-Identifier: Apache-2.0
// What the stub debugs: a machine of CPUs that stands still while it is asked.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rkperf::gdb {

/// Numbers of registers as the target description gives them to gdb.
namespace reg {
inline constexpr unsigned x0 = 0, sp = 31, pc = 32, cpsr = 33, v0 = 34, fpsr = 66, fpcr = 67, tpidr = 68, ttbr0 = 69,
                          currentel = 70, count = 71;
}

struct Registers {
    std::array<std::uint64_t, 31> x{};
    std::uint64_t sp{}, pc{};
    std::uint32_t cpsr{};
    std::array<std::array<std::uint8_t, 16>, 32> v{};
    std::uint32_t fpsr{}, fpcr{};
    std::uint64_t tpidr{};     ///< TPIDR_EL0
    std::uint64_t ttbr0{};     ///< root of the tables of the current address space; read-only
    std::uint32_t currentel{}; ///< 0: in the program, 1: in the kernel; read-only
};

/// Kinds of Z packets.
enum class PointKind : std::uint8_t { software = 0, hardware = 1, write = 2, read = 3, access = 4 };

/// Why the machine stands still.
struct Stop {
    enum class Why : std::uint8_t { start, interrupt, breakpoint, step, watchpoint, exited } why{};
    unsigned cpu{};
    PointKind kind{};        ///< of the breakpoint or watchpoint
    std::uint64_t address{}; ///< of the access that was watched
    int status{};            ///< wait status, when exited
};

class Target {
  public:
    virtual ~Target() = default;
    virtual unsigned cpus() const = 0;
    /// "CPU 4, Cortex-A76: ls[305]".
    virtual std::string cpu_text(unsigned cpu) = 0;
    virtual Registers registers(unsigned cpu) = 0;
    /// False if the CPU has no program's registers now.
    virtual bool set_registers(unsigned cpu, const Registers& r) = 0;
    /// Through the address space of the CPU's task; bytes up to the first that cannot be reached.
    virtual std::size_t read_memory(unsigned cpu, std::uint64_t address, std::span<std::uint8_t> to) = 0;
    virtual std::size_t write_memory(unsigned cpu, std::uint64_t address, std::span<const std::uint8_t> from) = 0;
    /// The auxiliary vector that the CPU's program was started with: pairs of 64-bit words; empty without a program.
    virtual std::vector<std::uint8_t> auxv(unsigned cpu) = 0;
    /// Path of the program that the CPU runs, as the guest calls it; empty without one.
    virtual std::string exec_file(unsigned cpu) = 0;
    /// A file that the CPU's program has mapped, by the guest's path or its last part: bytes in it.
    virtual std::optional<std::uint64_t> file_size(unsigned cpu, std::string_view path) = 0;
    /// Bytes of such a file that were read; fewer than asked for at its end.
    virtual std::size_t read_file(unsigned cpu, std::string_view path, std::uint64_t offset,
                                  std::span<std::uint8_t> to) = 0;
    /// True if it could be set, or is gone. They are not the program's debug registers.
    virtual bool set_point(PointKind kind, std::uint64_t address, std::uint64_t length, bool set) = 0;
    virtual void clear_points() = 0;
    /// The machine runs until the next stop; `step`: the CPU that stops after one instruction; `held`: those that stand still.
    virtual void resume(std::optional<unsigned> step, const std::vector<bool>& held) = 0;
    /// The debugger goes: the machine runs without it, or ends.
    virtual void detach() = 0;
    virtual void kill() = 0;
    /// "monitor ...": the text to show; `cpu` is the one selected.
    virtual std::string monitor(unsigned cpu, std::string_view command) = 0;
};

} // namespace rkperf::gdb
