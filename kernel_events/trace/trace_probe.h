// SPDX-License-Identifier: Apache-2.0
// What uprobe_events and kprobe_events have in common (kernel/trace/trace_probe.c): the grammar of a definition's name and
// arguments, the little programs that fetch the arguments' values, and how an event describes itself. Errors are negative
// errnos, with a line in error_log.
#pragma once

#include "kernel_events/trace/trace_events.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rkperf::ke {

inline constexpr std::size_t MAX_TRACE_ARGS = 128, MAX_ARGSTR_LEN = 63, MAX_ARRAY_LEN = 64, MAX_ARG_NAME_LEN = 32,
                             MAX_STRING_SIZE = 4096, MAX_EVENT_NAME_LEN = 64, MAX_PROBE_EVENT_SIZE = 3072;

enum class FetchOp : std::uint8_t {
    NOP,
    // stage 1: a value from the context
    REG,    ///< param: 0 to 30, 31 sp, 32 pc, 33 pstate
    STACK,  ///< word `param` of the stack
    STACKP, ///< the stack pointer
    RETVAL,
    IMM,
    COMM,
    ARG,   ///< argument `param` of a kernel function
    FOFFS, ///< an address in the probed file's mapping, from an offset in the file
    DATA,  ///< a string given in the definition
    // stage 2: memory
    DEREF,
    UDEREF,
    // stage 3: storing
    ST_RAW,
    ST_MEM,
    ST_UMEM,
    ST_STRING,
    ST_USTRING,
    ST_SYMSTR,
    // stage 4
    MOD_BF,
    LP_ARRAY,
    END,
    NOP_SYMBOL, ///< a place for a symbol's name before the IMM with its address
};

struct FetchInsn {
    FetchOp op{FetchOp::NOP};
    std::uint32_t param{};
    std::uint64_t immediate{};
    std::int64_t offset{};
    unsigned size{};
    unsigned lshift{}, rshift{}, basesize{};
    std::string data;
};

struct FetchType {
    std::string_view name;
    unsigned size{}; ///< bytes
    bool is_signed{}, is_string{};
    std::string_view fmt;     ///< in print fmt
    std::string_view fmttype; ///< in the format file
};

struct ProbeArg {
    std::vector<FetchInsn> code;
    bool dynamic{};
    unsigned offset{}; ///< behind the entry's head
    unsigned count{};  ///< of an array, 0: none
    std::string name, comm;
    const FetchType* type{};
};

/// Which arguments make sense (TPARG_FL_*).
inline constexpr unsigned TPARG_FL_RETURN = 1, TPARG_FL_KERNEL = 2, TPARG_FL_FENTRY = 4;

/// trace_probe_log: the definition being parsed.
class ProbeParse {
  public:
    ProbeParse(TraceEvents& events, std::string_view subsystem, std::vector<std::string> argv)
        : argv(std::move(argv)), events_(events), subsystem_(subsystem) {}
    /// Complains about word `index` at `offset` in it; returns `error` for the caller to return.
    int err(std::size_t index, std::size_t offset, std::string_view text, int error);
    const std::vector<std::string> argv;

  private:
    TraceEvents& events_;
    std::string subsystem_;
};

/// Looks up a kernel symbol's address; 0: there is none.
using SymbolLookup = std::function<std::uint64_t(std::string_view)>;

/// "GROUP/EVENT", "GROUP.EVENT" or "EVENT" at `offset` in argv[0]; `event` empty: only a group was given.
int traceprobe_parse_event_name(ProbeParse& parse, std::size_t offset, std::string& group, std::string& event);
/// Argument `i` of a definition, from argv[i + 2]. `args` has those before it.
int traceprobe_parse_probe_arg(ProbeParse& parse, std::size_t i, unsigned flags, std::vector<ProbeArg>& args,
                               unsigned& size);
/// Looks up the kernel symbols that an argument names.
int traceprobe_update_arg(ProbeArg& arg, const SymbolLookup& symbols);
/// "SYMBOL", "SYMBOL+N" or "SYMBOL-N": leaves the symbol.
int traceprobe_split_symbol_offset(std::string& symbol, std::int64_t& offset);
std::string traceprobe_print_fmt(const std::vector<ProbeArg>& args, bool is_return);
/// The fields of the format file, from `head` bytes on.
void traceprobe_define_arg_fields(const std::vector<ProbeArg>& args, unsigned head, std::vector<TraceField>& fields);
/// Number, from 1 on, of the first argument whose name or type differs; 0: none.
std::size_t trace_probe_compare_arg_type(const std::vector<ProbeArg>& a, const std::vector<ProbeArg>& b);
/// Whether "NAME=COMM" words match the arguments.
bool trace_probe_match_args(const std::vector<ProbeArg>& args, std::span<const std::string> words);
bool is_good_name(std::string_view name);
bool is_good_system_name(std::string_view name);

/// What fetching asks of the probe: memory and the like. The uprobe's reads user memory and may sleep.
class FetchContext {
  public:
    virtual ~FetchContext() = default;
    virtual std::uint64_t stack_word(const PtRegs& regs, unsigned n) = 0;
    virtual bool read(void* to, std::uint64_t from, std::size_t n) = 0;
    virtual bool read_user(void* to, std::uint64_t from, std::size_t n) = 0;
    /// A string of at most `max` bytes with its NUL; false: a fault.
    virtual bool read_string(std::uint64_t from, std::size_t max, bool user, std::string& out) = 0;
    /// Whether a string in the definition itself can be had.
    virtual bool reads_definition() const { return true; }
    virtual std::uint64_t file_address(std::uint64_t offset) { return offset; }
    virtual std::string symbol_text(std::uint64_t address) = 0;
    virtual std::string comm() = 0;
};

/// Bytes that the strings of `args` take now (__get_data_size).
std::size_t trace_probe_data_size(const std::vector<ProbeArg>& args, const PtRegs& regs, FetchContext& ctx);
/// Stores the arguments behind a head of `head` bytes at `record + head` (store_trace_args); `fixed` is their size without
/// strings, `dynamic` what trace_probe_data_size gave.
void trace_probe_store(const std::vector<ProbeArg>& args, const PtRegs& regs, FetchContext& ctx, std::uint8_t* record,
                       unsigned head, unsigned fixed, std::size_t dynamic);

/// A number that is all of the text: in base 0 decimal, 0x, or 0 for octal. -EINVAL: it is none, -ERANGE: too big.
int kstrtoul(std::string_view text, unsigned base, std::uint64_t& value);
/// The same in base 0, with a '-' or not.
int kstrtol(std::string_view text, std::int64_t& value);

} // namespace rkperf::ke
