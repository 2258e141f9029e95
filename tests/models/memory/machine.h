// SPDX-License-Identifier: Apache-2.0
// A small machine for tests: cores' memory sides, DSU, DRAM, and page tables built by hand. SystemC binds ports once per
// process, so a test program builds a stock of machines first (see sc_main in the *_systemc.cpp files) and each test
// takes fresh ones.
#pragma once

#include "models/memory/core_params.h"
#include "models/memory/descriptors.h"
#include "models/memory/dram.h"
#include "models/memory/dsu.h"
#include "models/memory/hierarchy.h"
#include "sim/base/event_totals.h"

#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace rkperf::mem::test {

inline constexpr std::uint64_t kDramBytes = 1ull << 30;
inline constexpr std::uint64_t kA55Hertz = 1'800'000'000, kA76Hertz = 2'304'000'000;

inline CoreMemoryParams without_prefetch(CoreMemoryParams p) {
    p.prefetch.streams = 0;
    p.l1i_next_lines = 0;
    return p;
}

inline CoreMemoryParams without_streaming(CoreMemoryParams p) {
    p.write_stream.l1_lines = 0;
    return p;
}

/// Page tables in simulated memory, taken from a bump allocator.
class Tables {
  public:
    Tables(PhysicalMemory& memory, PhysAddr first) : memory_(memory), next_(first), root_(take()) {}

    PhysAddr root() const { return root_; }
    static constexpr std::uint64_t kUserPage = desc::kAf | desc::kNotGlobal | desc::kApUser | desc::kShInner;

    /// Writes the entry of `level` that translates `va`, making tables on the way.
    void set(VirtAddr va, std::uint64_t descriptor, unsigned level = desc::kLastLevel) {
        PhysAddr table = root_;
        for (unsigned l = desc::kFirstLevel; l < level; ++l) {
            std::uint64_t d = read(table, desc::index(va, l));
            if (!desc::is_valid(d)) {
                d = desc::table(take());
                write(table, desc::index(va, l), d);
            }
            table = desc::address(d, l);
        }
        write(table, desc::index(va, level), descriptor);
    }
    void map(VirtAddr va, PhysAddr pa, std::uint64_t bytes, std::uint64_t attributes = kUserPage) {
        for (std::uint64_t o = 0; o < bytes; o += kPageSize) {
            set(VirtAddr(va.v + o), desc::page(PhysAddr(pa.v + o), attributes));
        }
    }
    /// Changes the table entry (not leaf) of `level` on the way to `va`.
    void add_to_table(VirtAddr va, unsigned level, std::uint64_t bits) {
        PhysAddr table = root_;
        for (unsigned l = desc::kFirstLevel; l < level; ++l) table = desc::address(read(table, desc::index(va, l)), l);
        write(table, desc::index(va, level), read(table, desc::index(va, level)) | bits);
    }

  private:
    PhysAddr take() {
        const PhysAddr p = next_;
        next_ += PhysAddr(desc::kTableBytes);
        return p;
    }
    std::uint64_t read(PhysAddr table, unsigned index) const {
        std::uint64_t d;
        std::memcpy(&d, memory_.host(PhysAddr(table.v + 8 * index)), 8);
        return d;
    }
    void write(PhysAddr table, unsigned index, std::uint64_t d) {
        std::memcpy(memory_.host(PhysAddr(table.v + 8 * index)), &d, 8);
    }

    PhysicalMemory& memory_;
    PhysAddr next_;
    PhysAddr root_;
};

/// Remembers what the fast paths were told.
struct Listener : FastPathListener {
    std::vector<std::pair<std::uint64_t, bool>> l1d;
    std::vector<std::uint64_t> dtlb, itlb, l1i;
    void l1d_line_lost(const CacheLine& line, bool write_only) override { l1d.emplace_back(line.pline, write_only); }
    void dtlb_entry_lost(std::uint64_t vpn, std::uint64_t) override { dtlb.push_back(vpn); }
    void itlb_entry_lost(std::uint64_t vpn) override { itlb.push_back(vpn); }
    void l1i_line_lost(std::uint64_t pline) override { l1i.push_back(pline); }
};

struct TestCore {
    TestCore(const std::string& name, unsigned id, const CoreMemoryParams& params, std::uint64_t hertz,
             PhysicalMemory& memory)
        : clock(hertz), mem(name.c_str(), CpuId(id), params, memory, totals) {
        mem.set_clock(&clock);
        mem.set_listener(&listener);
    }
    std::uint64_t total(EventNumber e) const { return totals.get(e, ExceptionLevel::el1); }
    std::uint64_t now() const { return cycle; }
    /// One access, after which the core's time is that of the answer. Returns the cycles it took.
    std::uint64_t go(PhysAddr pa, Access kind = Access::load, unsigned bytes = 8, CacheLine** line = nullptr) {
        last = mem.access(pa, kind, cycle, line, bytes);
        const std::uint64_t took = last.ready - cycle;
        cycle = last.ready;
        return took;
    }
    /// Nanoseconds of `cycles`.
    double ns(std::uint64_t cycles) const {
        return static_cast<double>(cycles) * 1e9 / static_cast<double>(clock.hertz());
    }

    EventTotals totals;
    Clock clock;
    Listener listener;
    CoreMemory mem;
    Timing last;
    std::uint64_t cycle{1000};
};

struct CoreSpec {
    CoreMemoryParams params;
    std::uint64_t hertz;
};
inline CoreSpec a55() { return {without_prefetch(cortex_a55_memory()), kA55Hertz}; }
inline CoreSpec a76() { return {without_prefetch(cortex_a76_memory()), kA76Hertz}; }

struct Machine {
    Machine(const std::string& name, const std::vector<CoreSpec>& specs, const DsuParams& dsu_params = {},
            const DramTiming& timing = kLpddr4x2112)
        : memory(PhysAddr(0), kDramBytes),
          tables(memory, PhysAddr(kDramBytes - (64 << 20))),
          dram((name + "_dram").c_str(), PhysAddr(0), kDramBytes, timing),
          dsu((name + "_dsu").c_str(), static_cast<unsigned>(specs.size()), dsu_params) {
        dsu.to_dram.bind(dram.socket);
        for (unsigned i = 0; i < specs.size(); ++i) {
            cores.emplace_back(name + "_core" + std::to_string(i), i, specs[i].params, specs[i].hertz, memory);
            cores[i].mem.to_dsu.bind(dsu.from_core[i]);
            dsu.attach(i, cores[i].mem.snoop_port());
            cores[i].mem.set_ttbr0(tables.root(), 1);
        }
    }
    TestCore& operator[](unsigned i) { return cores[i]; }

    PhysicalMemory memory;
    Tables tables;
    Dram dram;
    Dsu dsu;
    std::deque<TestCore> cores;
};

/// Machines built before elaboration, by kind.
class Stock {
  public:
    using Builder = std::function<std::unique_ptr<Machine>(const std::string& name)>;
    void add(const std::string& kind, unsigned count, const Builder& build) {
        for (unsigned i = 0; i < count; ++i) {
            shelves_.push_back({kind, build(kind + "_" + std::to_string(i))});
        }
    }
    /// A machine nobody used before.
    Machine& take(const std::string& kind) {
        for (Shelf& s : shelves_) {
            if (s.kind == kind && !s.taken) {
                s.taken = true;
                return *s.machine;
            }
        }
        throw std::logic_error("no machine of kind " + kind + " left in stock");
    }

  private:
    struct Shelf {
        std::string kind;
        std::unique_ptr<Machine> machine;
        bool taken{};
    };
    std::vector<Shelf> shelves_;
};

} // namespace rkperf::mem::test
