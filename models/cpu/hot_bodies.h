// SPDX-License-Identifier: Apache-2.0
// The instructions that the threaded loops have handlers of their own for, by body. All others are called.
#pragma once

#include "models/a64/body_branch.h"
#include "models/a64/body_dp_imm.h"
#include "models/a64/body_dp_misc.h"
#include "models/a64/body_dp_reg.h"
#include "models/a64/body_ldst.h"

#include <type_traits>
#include <utility>

namespace rkperf::cpu::hot {

using a64::Exec;
using a64::InsnKind;
using a64::u16;
using a64::u32;
using a64::u64;
using a64::u8;
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

template <class... Ts>
struct Types {};
template <Exec... kFns>
struct Bodies {};
template <Exec kFn, InsnKind kKind>
struct Branch {};

template <class T>
using ImmediateOf =
    Bodies<a64::dp_imm::add_imm<T>, a64::dp_imm::adds_imm<T>, a64::dp_imm::subs_imm<T>, a64::dp_imm::cmp_imm<T>,
           a64::dp_imm::logic_imm<T, a64::dp_imm::Logic::band>, a64::dp_imm::logic_imm<T, a64::dp_imm::Logic::orr>,
           a64::dp_imm::logic_imm<T, a64::dp_imm::Logic::eor>, a64::dp_imm::logic_imm<T, a64::dp_imm::Logic::ands>,
           a64::dp_imm::bitfield<T>, a64::dp_imm::bitfield<std::make_signed_t<T>>, a64::dp_imm::shift_right_imm<T>,
           a64::dp_imm::shift_right_imm<std::make_signed_t<T>>, a64::dp_imm::lsl_imm<T>, a64::dp_imm::bfm<T>,
           a64::dp_imm::extr<T>, a64::dp_imm::ror_imm<T>>;
using Immediate = Bodies<a64::dp_imm::adr, a64::dp_imm::adrp, a64::dp_imm::mov_imm, a64::dp_imm::movk,
                         a64::dp_imm::movk_w, a64::dp_imm::extend_reg<u8>, a64::dp_imm::extend_reg<u16>,
                         a64::dp_imm::extend_reg<u32>, a64::dp_imm::extend_reg<i8>, a64::dp_imm::extend_reg<i16>,
                         a64::dp_imm::extend_reg<i32>, a64::dp_imm::extend_reg_w<u8>, a64::dp_imm::extend_reg_w<u16>,
                         a64::dp_imm::extend_reg_w<i8>, a64::dp_imm::extend_reg_w<i16>>;

template <class T, a64::dp_reg::Logic kOp>
using LogicOf =
    Bodies<a64::dp_reg::logic<T, kOp, a64::dp_reg::Shift::none>, a64::dp_reg::logic<T, kOp, a64::dp_reg::Shift::lsl>,
           a64::dp_reg::logic<T, kOp, a64::dp_reg::Shift::lsr>, a64::dp_reg::logic<T, kOp, a64::dp_reg::Shift::ror>>;
template <class T>
using LogicRegister =
    Types<LogicOf<T, a64::dp_reg::Logic::band>, LogicOf<T, a64::dp_reg::Logic::bic>,
          LogicOf<T, a64::dp_reg::Logic::orr>, LogicOf<T, a64::dp_reg::Logic::orn>, LogicOf<T, a64::dp_reg::Logic::eor>,
          LogicOf<T, a64::dp_reg::Logic::ands>, Bodies<a64::dp_reg::mov_reg<T>>>;
template <class T, bool kSub, bool kFlags>
using AddOf = Bodies<a64::dp_reg::add_shifted<T, kSub, kFlags, a64::dp_reg::Shift::none>,
                     a64::dp_reg::add_shifted<T, kSub, kFlags, a64::dp_reg::Shift::lsl>,
                     a64::dp_reg::add_shifted<T, kSub, kFlags, a64::dp_reg::Shift::lsr>,
                     a64::dp_reg::add_shifted<T, kSub, kFlags, a64::dp_reg::Shift::asr>,
                     a64::dp_reg::add_extended<T, kSub, kFlags, a64::Extend::uxtb>,
                     a64::dp_reg::add_extended<T, kSub, kFlags, a64::Extend::uxth>,
                     a64::dp_reg::add_extended<T, kSub, kFlags, a64::Extend::uxtw>,
                     a64::dp_reg::add_extended<T, kSub, kFlags, a64::Extend::uxtx>,
                     a64::dp_reg::add_extended<T, kSub, kFlags, a64::Extend::sxtw>>;
template <class T>
using AddRegister = Types<AddOf<T, false, false>, AddOf<T, false, true>, AddOf<T, true, false>, AddOf<T, true, true>,
                          Bodies<a64::dp_reg::cmp_reg<T>>>;

template <class T>
using MiscOf =
    Bodies<a64::dp_misc::ccmp<T, true, false>, a64::dp_misc::ccmp<T, true, true>, a64::dp_misc::ccmp<T, false, true>,
           a64::dp_misc::csel<T, a64::dp_misc::Select::sel>, a64::dp_misc::csel<T, a64::dp_misc::Select::inc>,
           a64::dp_misc::csel<T, a64::dp_misc::Select::inv>, a64::dp_misc::csel<T, a64::dp_misc::Select::neg>,
           a64::dp_misc::lslv<T>, a64::dp_misc::lsrv<T>, a64::dp_misc::asrv<T>, a64::dp_misc::rorv<T>,
           a64::dp_misc::clz<T>, a64::dp_misc::madd<T, false>, a64::dp_misc::madd<T, true>, a64::dp_misc::mul<T>>;
using Misc = Bodies<a64::dp_misc::rev_w, a64::dp_misc::rev_x, a64::dp_misc::madd_long<i32, false>,
                    a64::dp_misc::madd_long<u32, false>, a64::dp_misc::umulh, a64::dp_misc::smulh>;

using DataProcessing = Types<ImmediateOf<u32>, ImmediateOf<u64>, Immediate, LogicRegister<u32>, LogicRegister<u64>,
                             AddRegister<u32>, AddRegister<u64>, MiscOf<u32>, MiscOf<u64>, Misc>;

using Single =
    Types<a64::ldst::Load<u8, u8>, a64::ldst::Load<u16, u16>, a64::ldst::Load<u32, u32>, a64::ldst::Load<u64, u64>,
          a64::ldst::Load<i8, u64>, a64::ldst::Load<i8, u32>, a64::ldst::Load<i16, u64>, a64::ldst::Load<i16, u32>,
          a64::ldst::Load<i32, u64>, a64::ldst::Store<u8>, a64::ldst::Store<u16>, a64::ldst::Store<u32>,
          a64::ldst::Store<u64>, a64::ldst::LoadV<4>, a64::ldst::LoadV<8>, a64::ldst::LoadV<16>, a64::ldst::StoreV<4>,
          a64::ldst::StoreV<8>, a64::ldst::StoreV<16>>;
using Pair = Types<a64::ldst::LoadPair<u64, u64>, a64::ldst::LoadPair<u32, u32>, a64::ldst::StorePair<u64>,
                   a64::ldst::StorePair<u32>, a64::ldst::LoadVPair<8>, a64::ldst::LoadVPair<16>,
                   a64::ldst::StoreVPair<8>, a64::ldst::StoreVPair<16>>;

/// A subtraction that sets the flags. kImmediate: of Insn::imm, not rm. kResult: it has one.
template <Exec kFn, class T, bool kImmediate, bool kResult>
struct Compare {
    static constexpr Exec fn = kFn;
    using Operand = T;
    static constexpr bool has_result = kResult;
    static T second(const a64::CpuState& s, const a64::Insn& i) {
        return static_cast<T>(kImmediate ? static_cast<u64>(i.imm) : s.x[i.rm]);
    }
};
template <class T>
using ComparesOf =
    Types<Compare<a64::dp_imm::cmp_imm<T>, T, true, false>, Compare<a64::dp_imm::subs_imm<T>, T, true, true>,
          Compare<a64::dp_reg::cmp_reg<T>, T, false, false>>;
/// A condition on the flags of a - b, and whether it holds.
template <unsigned kCond>
struct Relation {
    static constexpr Exec branch = a64::branches::branch_if<a64::branches::OnFlags<kCond>>;
    template <class T>
    static bool holds(T a, T b) {
        using Signed = std::make_signed_t<T>;
        const auto x = static_cast<Signed>(a), y = static_cast<Signed>(b);
        if constexpr (kCond == 0) return a == b;
        if constexpr (kCond == 1) return a != b;
        if constexpr (kCond == 2) return a >= b;
        if constexpr (kCond == 3) return a < b;
        if constexpr (kCond == 8) return a > b;
        if constexpr (kCond == 9) return a <= b;
        if constexpr (kCond == 10) return x >= y;
        if constexpr (kCond == 11) return x < y;
        if constexpr (kCond == 12) return x > y;
        if constexpr (kCond == 13) return x <= y;
    }
};
using Relations = Types<Relation<0>, Relation<1>, Relation<2>, Relation<3>, Relation<8>, Relation<9>, Relation<10>,
                        Relation<11>, Relation<12>, Relation<13>>;

template <std::size_t... kConds>
constexpr auto on_flags(std::index_sequence<kConds...>) {
    return Types<a64::branches::OnFlags<kConds>...>{};
}
using OnFlags = decltype(on_flags(std::make_index_sequence<14>{}));
using OnRegister = Types<a64::branches::OnRegister<u32, false>, a64::branches::OnRegister<u64, false>,
                         a64::branches::OnRegister<u32, true>, a64::branches::OnRegister<u64, true>,
                         a64::branches::OnBit<false>, a64::branches::OnBit<true>>;
using Unconditional =
    Types<Branch<a64::branches::b, InsnKind::branch_immed>, Branch<a64::branches::bl, InsnKind::branch_call>,
          Branch<a64::branches::br, InsnKind::branch_indirect>, Branch<a64::branches::br, InsnKind::branch_return>,
          Branch<a64::branches::blr, InsnKind::branch_call_indirect>>;

} // namespace rkperf::cpu::hot
