// SPDX-License-Identifier: Apache-2.0
// Strong types for the quantities that are easiest to confuse. Each wraps one integer, costs nothing, and converts only
// explicitly; `.v` is the raw value for hot paths.
#pragma once

#include <compare>
#include <cstdint>

namespace rkperf {

template <class Tag, class Rep = std::uint64_t>
struct Strong {
    using rep = Rep;
    Rep v{};

    constexpr Strong() = default;
    constexpr explicit Strong(Rep raw) : v(raw) {}
    constexpr auto operator<=>(const Strong&) const = default;

    constexpr Strong& operator+=(Strong o) {
        v += o.v;
        return *this;
    }
    constexpr Strong& operator-=(Strong o) {
        v -= o.v;
        return *this;
    }
    friend constexpr Strong operator+(Strong a, Strong b) { return Strong(a.v + b.v); }
    friend constexpr Strong operator-(Strong a, Strong b) { return Strong(a.v - b.v); }
    constexpr Strong& operator++() {
        ++v;
        return *this;
    }
};

/// A duration or a point in simulated time, in picoseconds since the machine's reset.
using Picoseconds = Strong<struct PicosecondsTag>;
/// Clock cycles of one core.
using Cycles = Strong<struct CyclesTag>;
/// An address in the machine's physical address space (40 bits on the RK3588).
using PhysAddr = Strong<struct PhysAddrTag>;
/// A virtual address as a program or the kernel uses it (48 bits, sign extended).
using VirtAddr = Strong<struct VirtAddrTag>;
/// Linux's CPU number: 0-3 Cortex-A55, 4-7 Cortex-A76.
using CpuId = Strong<struct CpuIdTag, std::uint32_t>;

/// "Never": later than every point of simulated time.
inline constexpr Picoseconds kNever{~std::uint64_t{0}};

inline constexpr unsigned kPageShift = 12;
inline constexpr std::uint64_t kPageSize = 1u << kPageShift;
inline constexpr std::uint64_t kPageMask = ~(kPageSize - 1);
inline constexpr unsigned kLineShift = 6;
inline constexpr std::uint64_t kLineSize = 1u << kLineShift;

enum class ExceptionLevel : std::uint8_t { el0 = 0, el1 = 1, el2 = 2, el3 = 3 };
inline constexpr unsigned kExceptionLevels = 4;

} // namespace rkperf
