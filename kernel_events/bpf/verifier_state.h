// SPDX-License-Identifier: Apache-2.0
// What the verifier knows at one place of a program on one way to it.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace rkperf::ke {

/// What a register holds (enum bpf_reg_type).
enum class BpfType : std::uint8_t { not_init, scalar, ctx, stack, map_ptr, map_value, map_value_or_null };

/// Known bits of a number: those not in `mask` are as in `value`.
struct Tnum {
    std::uint64_t value{}, mask{~std::uint64_t{0}};
    bool is_const() const { return !mask; }
    bool contains(const Tnum& o) const { return !(o.mask & ~mask) && (o.value & ~mask) == value; }
    bool operator==(const Tnum&) const = default;
};
Tnum tnum_const(std::uint64_t v);
Tnum tnum_range(std::uint64_t min, std::uint64_t max);
Tnum tnum_add(Tnum a, Tnum b);
Tnum tnum_sub(Tnum a, Tnum b);
Tnum tnum_and(Tnum a, Tnum b);
Tnum tnum_or(Tnum a, Tnum b);
Tnum tnum_xor(Tnum a, Tnum b);
Tnum tnum_lshift(Tnum a, unsigned n);
Tnum tnum_rshift(Tnum a, unsigned n);
Tnum tnum_intersect(Tnum a, Tnum b);

/// struct bpf_reg_state. Of a pointer the bounds are those of its variable offset.
struct BpfReg {
    BpfType type{BpfType::not_init};
    std::int32_t off{};    ///< constant offset of a pointer
    std::uint32_t id{};    ///< pointers that came from one lookup, scalars that are copies, share it; 0: none
    std::uint32_t map{};   ///< which of the program's maps
    std::uint32_t frame{}; ///< whose stack
    Tnum bits{};
    std::int64_t smin{std::numeric_limits<std::int64_t>::min()}, smax{std::numeric_limits<std::int64_t>::max()};
    std::uint64_t umin{0}, umax{std::numeric_limits<std::uint64_t>::max()};

    bool is_pointer() const { return type > BpfType::scalar; }
    bool is_const() const { return bits.is_const(); }
    void mark_unknown();
    void mark_const(std::uint64_t v);
    void mark_range(std::uint64_t min, std::uint64_t max);
    void mark_pointer(BpfType t);
    /// Bounds and bits learn from one another. false: they contradict, so this way is never taken.
    bool sync();
    bool operator==(const BpfReg&) const = default;
};

inline constexpr unsigned kBpfStack = 512, kBpfFrames = 8;

/// 8 bytes of a stack.
struct BpfSlot {
    enum class Byte : std::uint8_t { invalid, misc, zero, spill };
    std::array<Byte, 8> bytes{};
    BpfReg spilled;
    bool is_spill() const { return bytes[0] == Byte::spill; }
    bool operator==(const BpfSlot&) const = default;
};

struct BpfFrame {
    std::array<BpfReg, 11> regs{};
    std::array<BpfSlot, kBpfStack / 8> stack{}; ///< slot 0 is at r10 - 8
    std::int32_t return_to{-1};
    std::int32_t subprog_start{};
    bool operator==(const BpfFrame&) const = default;
};

struct BpfState {
    std::vector<BpfFrame> frames;
    BpfFrame& cur() { return frames.back(); }
    bool operator==(const BpfState&) const = default;
};

/// Would whatever is safe from `old` be safe from `now`, too?
bool bpf_states_equal(const BpfState& old, const BpfState& now);

} // namespace rkperf::ke
