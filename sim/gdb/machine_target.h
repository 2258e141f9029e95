// SPDX-License-Identifier: Apache-2.0
// The simulated machine as a debugger's target.
#pragma once

#include "sim/gdb/monitor_point.h"
#include "sim/gdb/target.h"
#include "sim/soc/machine.h"

#include <functional>
#include <memory>
#include <vector>

namespace rkperf::gdb {

class MachineTarget final : public Target, public os::KernelObserver {
  public:
    /// `halted` is called with the machine standing still, on the stack of whatever was being simulated; it returns when
    /// the debugger lets the machine go on.
    using Halted = std::function<void(const Stop&)>;
    MachineTarget(soc::Machine& machine, Halted halted);

    /// The first instruction of a program on any CPU stops.
    void stop_at_start();
    bool killed() const { return killed_; }
    /// The first CPU that runs a program, else 0.
    unsigned busy_cpu();

    // Target
    unsigned cpus() const override { return machine_.cores(); }
    std::string cpu_text(unsigned cpu) override;
    Registers registers(unsigned cpu) override;
    bool set_registers(unsigned cpu, const Registers& r) override;
    std::size_t read_memory(unsigned cpu, std::uint64_t address, std::span<std::uint8_t> to) override;
    std::size_t write_memory(unsigned cpu, std::uint64_t address, std::span<const std::uint8_t> from) override;
    std::vector<std::uint8_t> auxv(unsigned cpu) override;
    std::string exec_file(unsigned cpu) override;
    std::optional<std::uint64_t> file_size(unsigned cpu, std::string_view path) override;
    std::size_t read_file(unsigned cpu, std::string_view path, std::uint64_t offset,
                          std::span<std::uint8_t> to) override;
    bool set_point(PointKind kind, std::uint64_t address, std::uint64_t length, bool set) override;
    void clear_points() override;
    void resume(std::optional<unsigned> step, const std::vector<bool>& held) override;
    void detach() override;
    void kill() override { killed_ = true; }
    std::string monitor(unsigned cpu, std::string_view command) override;

    // os::KernelObserver
    bool follows_frames() const override { return false; }
    void exception(int cpu, std::string_view, bool enter) override { in_user_[static_cast<unsigned>(cpu)] = !enter; }

  private:
    os::Task& task(unsigned cpu);
    bool in_user(unsigned cpu) const { return in_user_[cpu]; }
    void points_changed();
    void halt(const Stop& stop);
    /// A file that the CPU's program runs from or has mapped. Libraries are found by their last part, too: their folders may
    /// be known under other names.
    os::Inode* mapped_file(unsigned cpu, std::string_view path);

    soc::Machine& machine_;
    Halted halted_;
    Points points_;
    std::vector<std::unique_ptr<CoreMonitor>> monitors_;
    std::vector<bool> in_user_;
    bool killed_{};
};

/// What "monitor COMMAND" shows.
std::string monitor_text(soc::Machine& machine, unsigned cpu, std::string_view command);

} // namespace rkperf::gdb
