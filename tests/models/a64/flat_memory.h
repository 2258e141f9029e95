// SPDX-License-Identifier: Apache-2.0
// CoreHooks over a few pages of plain memory, for tests of instruction bodies.
#pragma once

#include "models/a64/state.h"

#include <map>
#include <optional>
#include <vector>

namespace rkperf::a64::test {

/// Pages with permissions; every other address faults (translation fault, level 3; permission fault, level 3).
class FlatMemory : public CoreHooks {
  public:
    explicit FlatMemory(CpuState& state) : state_(state) { state.hooks = this; }

    /// Gives [va, va + bytes) the memory at `host` (not owned).
    void map(std::uint64_t va, std::uint8_t* host, std::uint64_t bytes, bool writable) {
        regions_.push_back({va, bytes, host, writable});
    }
    void unmap_all() { regions_.clear(); }

    std::uint8_t* access(std::uint64_t va, unsigned size, AccessKind kind) override {
        ++calls;
        last_kind = kind;
        last_size = size;
        if (!first_va) first_va = va;
        const bool write = kind == AccessKind::store || kind == AccessKind::atomic || kind == AccessKind::dc_zva;
        std::uint8_t status = kTranslation;
        for (const Region& r : regions_) {
            if (va - r.va >= r.bytes || r.bytes - (va - r.va) < size) continue;
            if (write && !r.writable) {
                status = kPermission;
                break;
            }
            std::uint8_t* host = r.host + (va - r.va);
            if (fill_lines) fill(va, r);
            return host;
        }
        if (is_prefetch(kind)) return nullptr;
        state_.stop = Stop::data_abort;
        state_.fault = Fault{.addr = va, .status = status, .write = write, .cache_maintenance = false};
        return nullptr;
    }
    SysRegOutcome read_sysreg(SysReg reg, std::uint64_t& value) override {
        last_sysreg = reg;
        value = sysreg_value;
        return sysreg_outcome;
    }
    SysRegOutcome write_sysreg(SysReg reg, std::uint64_t value) override {
        last_sysreg = reg;
        if (sysreg_outcome == SysRegOutcome::ok) sysreg_value = value;
        return sysreg_outcome;
    }
    void set_exclusive(std::uint64_t va, unsigned size) override { monitor = {va, size}; }
    bool check_exclusive(std::uint64_t va, unsigned size) override {
        return monitor && monitor->first == va && monitor->second == size;
    }
    void clear_exclusive() override {
        monitor.reset();
        ++clears;
    }
    bool cache_op(SysReg op, std::uint64_t va) override {
        last_sysreg = op;
        return access(va, 1, AccessKind::maintenance) != nullptr;
    }
    void barrier(unsigned option) override { last_barrier = static_cast<int>(option); }

    /// Forgets all lines of the fast path.
    void drop_lines() {
        for (const unsigned slot : filled_) state_.mem.lines[slot] = {};
        filled_.clear();
    }

    static constexpr std::uint8_t kTranslation = 0x07, kPermission = 0x0f;
    bool fill_lines = false; ///< let accesses fill MemPort::lines
    unsigned calls = 0, clears = 0, last_size = 0;
    std::optional<std::uint64_t> first_va; ///< of the first call since it was reset
    AccessKind last_kind{};
    SysReg last_sysreg{};
    SysRegOutcome sysreg_outcome = SysRegOutcome::undefined;
    std::uint64_t sysreg_value = 0;
    std::optional<std::pair<std::uint64_t, unsigned>> monitor;
    int last_barrier = -1;

  private:
    struct Region {
        std::uint64_t va, bytes;
        std::uint8_t* host;
        bool writable;
    };
    void fill(std::uint64_t va, const Region& r) {
        const unsigned slot = MemPort::slot(va);
        const std::uint64_t line = va & ~(kLineSize - 1);
        state_.mem.lines[slot] = {line, r.writable ? line : ~0ull, r.host + (line - r.va), &stamp_, &stamp_};
        filled_.push_back(slot);
    }

    CpuState& state_;
    std::vector<Region> regions_;
    std::vector<unsigned> filled_;
    std::uint32_t stamp_ = 0;
};

} // namespace rkperf::a64::test
