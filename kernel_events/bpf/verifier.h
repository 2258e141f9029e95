// SPDX-License-Identifier: Apache-2.0
// The verifier (kernel/bpf/verifier.c): follows every way through a program and proves that each access is allowed and that
// the program ends. Errors are those of Linux: -EINVAL for what is no program, -EACCES for what a program may not do, -E2BIG
// for what takes too long to look at.
#pragma once

#include "kernel_events/bpf/bpf.h"
#include "kernel_events/bpf/helpers.h"
#include "kernel_events/bpf/verifier_state.h"

#include <map>
#include <string>
#include <vector>

namespace rkperf::ke {

class BpfVerifier {
  public:
    BpfVerifier(Bpf& bpf, BpfProg& prog, std::string& log, unsigned log_level)
        : bpf_(bpf), prog_(prog), log_(log), level_(log_level) {}
    int check();

  private:
    // --- verifier.cpp: the shape of the program, and the walk ---
    int resolve_maps();
    int check_cfg();
    int check_insn(int at, const bpf_insn& i);
    int walk();
    int step(int& at, bool& ended);
    int do_call(const bpf_insn& i, int& next);
    int do_exit(int& next, bool& ended);
    int do_branch(const bpf_insn& i, int at, int& next);
    void fork(int at, BpfState state);
    enum class Seen : std::uint8_t { fresh, pruned, loop };
    Seen seen_before(int at);
    int fail(int error, const char* format, ...) __attribute__((format(printf, 3, 4)));

    // --- verifier_alu.cpp ---
    int check_reg(unsigned n);      ///< -EACCES if it is not initialised
    int check_writable(unsigned n); ///< the frame pointer is not
    int do_alu(const bpf_insn& i);
    int adjust_pointer(const bpf_insn& i, BpfReg& to, const BpfReg& pointer, const BpfReg& offset, bool subtract);
    void adjust_scalar(BpfReg& to, const BpfReg& by, unsigned op, bool is64);
    /// What a comparison says of both operands on the way where it holds; false: that way is never taken.
    static bool narrow(BpfReg& a, BpfReg& b, unsigned op);
    static bool narrow32(BpfReg& a, const BpfReg& b, unsigned op);
    void set_all_with_id(BpfState& s, std::uint32_t id, const BpfReg& value);
    void mark_map_value(BpfState& s, std::uint32_t id, bool is_null);

    // --- verifier_mem.cpp ---
    int check_mem(unsigned base, int off, unsigned size, bool write, int value_reg, BpfReg* result);
    int check_stack_access(const BpfReg& base, int off, unsigned size, bool write, int value_reg, BpfReg* result);
    int check_ctx_access(int off, unsigned size, bool write);
    int check_map_access(const BpfReg& base, int off, unsigned size, bool write);
    /// Memory that a helper reads or, with `write`, fills.
    int check_mem_arg(unsigned reg, std::uint64_t size, bool write, bool zero_allowed);
    int check_helper(const BpfHelper& h);
    BpfFrame& frame_of(const BpfReg& r) { return state_.frames[r.frame]; }
    int touch_stack(const BpfReg& base, int off, unsigned size, int& first);

    Bpf& bpf_;
    BpfProg& prog_;
    bool uninit_stack_allowed_{}; ///< and other things for who may look into the kernel anyway (CAP_PERFMON)
    std::string& log_;
    unsigned level_;
    BpfState state_;
    std::uint32_t next_id_{};
    std::vector<bool> is_second_half_; ///< of BPF_LD | BPF_IMM | BPF_DW
    std::vector<bool> prune_point_;
    std::map<int, int> subprog_depth_; ///< stack bytes of each function, by its first instruction

    /// A state that was met at a place; done when all ways from it have been.
    struct Explored {
        BpfState state;
        Explored* parent{};
        int branches{1};
    };
    std::vector<std::vector<std::unique_ptr<Explored>>> explored_;
    Explored* parent_{};
    struct Pending {
        int at;
        BpfState state;
        Explored* parent;
    };
    std::vector<Pending> pending_;
};

} // namespace rkperf::ke
