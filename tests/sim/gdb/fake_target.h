// SPDX-License-Identifier: Apache-2.0
// A target of two CPUs and 4 KiB of memory at 0x1000.
#pragma once

#include "sim/gdb/target.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace rkperf::gdb {

class FakeTarget final : public Target {
  public:
    static constexpr std::uint64_t kBase = 0x1000, kBytes = 0x1000;
    Registers regs[2];
    std::vector<std::uint8_t> memory = std::vector<std::uint8_t>(kBytes);
    std::vector<std::tuple<PointKind, std::uint64_t, std::uint64_t>> points;
    std::vector<int> resumed;        ///< CPU that steps, -1 for none
    std::vector<unsigned> held_back; ///< each time: a bit for each CPU that was held
    bool detached{}, killed{}, writable{true};
    std::string said, file = "a file";

    unsigned cpus() const override { return 2; }
    std::string cpu_text(unsigned cpu) override { return cpu ? "a<b>&c" : "first"; }
    Registers registers(unsigned cpu) override { return regs[cpu]; }
    bool set_registers(unsigned cpu, const Registers& r) override {
        if (writable) regs[cpu] = r;
        return writable;
    }
    std::size_t read_memory(unsigned, std::uint64_t address, std::span<std::uint8_t> to) override {
        const std::size_t n = reach(address, to.size());
        std::copy_n(memory.begin() + static_cast<std::ptrdiff_t>(n ? address - kBase : 0), n, to.begin());
        return n;
    }
    std::size_t write_memory(unsigned, std::uint64_t address, std::span<const std::uint8_t> from) override {
        const std::size_t n = reach(address, from.size());
        std::copy_n(from.begin(), n, memory.begin() + static_cast<std::ptrdiff_t>(n ? address - kBase : 0));
        return n;
    }
    std::vector<std::uint8_t> auxv(unsigned) override { return {9, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0}; }
    std::string exec_file(unsigned cpu) override { return cpu ? "" : "/bin/prog"; }
    std::optional<std::uint64_t> file_size(unsigned, std::string_view path) override {
        return path == "/bin/prog" ? std::optional<std::uint64_t>(file.size()) : std::nullopt;
    }
    std::size_t read_file(unsigned, std::string_view, std::uint64_t offset, std::span<std::uint8_t> to) override {
        const std::size_t n = offset < file.size() ? std::min<std::size_t>(to.size(), file.size() - offset) : 0;
        std::copy_n(file.begin() + static_cast<std::ptrdiff_t>(n ? offset : 0), n, to.begin());
        return n;
    }
    bool set_point(PointKind kind, std::uint64_t address, std::uint64_t length, bool set) override {
        const std::tuple p{kind, address, length};
        std::erase(points, p);
        if (set) points.push_back(p);
        return address < kBase + kBytes;
    }
    void clear_points() override { points.clear(); }
    void resume(std::optional<unsigned> step, const std::vector<bool>& held) override {
        resumed.push_back(step ? static_cast<int>(*step) : -1);
        held_back.push_back(held[0] + 2u * held[1]);
    }
    void detach() override { detached = true; }
    void kill() override { killed = true; }
    std::string monitor(unsigned cpu, std::string_view command) override {
        said = std::to_string(cpu) + ":" + std::string(command);
        return command == "long" ? std::string(100000, 'x') : "answer\n";
    }

  private:
    static std::size_t reach(std::uint64_t address, std::size_t n) {
        if (address < kBase || address >= kBase + kBytes) return 0;
        return std::min<std::uint64_t>(n, kBase + kBytes - address);
    }
};

} // namespace rkperf::gdb
