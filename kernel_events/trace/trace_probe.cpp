// SPDX-License-Identifier: Apache-2.0
// Parsing of probe definitions and how the events describe themselves.
#include "kernel_events/trace/trace_probe.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>

namespace rkperf::ke {

namespace {

constexpr std::array kFetchTypes{
    FetchType{"string", 4, true, true, "\\\"%s\\\"", "__data_loc char[]"},
    FetchType{"ustring", 4, true, true, "\\\"%s\\\"", "__data_loc char[]"},
    FetchType{"symstr", 4, true, true, "\\\"%s\\\"", "__data_loc char[]"},
    FetchType{"u8", 1, false, false, "%u", "u8"},
    FetchType{"u16", 2, false, false, "%u", "u16"},
    FetchType{"u32", 4, false, false, "%u", "u32"},
    FetchType{"u64", 8, false, false, "%Lu", "u64"},
    FetchType{"s8", 1, true, false, "%d", "s8"},
    FetchType{"s16", 2, true, false, "%d", "s16"},
    FetchType{"s32", 4, true, false, "%d", "s32"},
    FetchType{"s64", 8, true, false, "%Ld", "s64"},
    FetchType{"x8", 1, false, false, "0x%x", "u8"},
    FetchType{"x16", 2, false, false, "0x%x", "u16"},
    FetchType{"x32", 4, false, false, "0x%x", "u32"},
    FetchType{"x64", 8, false, false, "0x%Lx", "u64"},
    FetchType{"symbol", 8, false, false, "%pS", "u64"},
};
constexpr std::string_view kDefaultType = "x64", kTooNested = "Dereference is too much nested";
constexpr std::size_t kMaxOps = 15; ///< FETCH_INSN_MAX without the end

constexpr std::array<std::string_view, 8> kReservedNames{"common_type",    "common_flags", "common_preempt_count",
                                                         "common_pid",     "common_tgid",  "__probe_ip",
                                                         "__probe_ret_ip", "__probe_func"};

const FetchType* find_fetch_type(std::string_view type) {
    if (type.starts_with('b')) { // a bit field: the container's size is behind the slash
        const auto slash = type.find('/');
        std::uint64_t bits = 0;
        if (slash == std::string_view::npos || kstrtoul(type.substr(slash + 1), 0, bits)) return nullptr;
        for (const unsigned n : {8u, 16u, 32u, 64u})
            if (bits == n) return find_fetch_type("u" + std::to_string(n));
        return nullptr;
    }
    const auto it =
        std::find_if(kFetchTypes.begin(), kFetchTypes.end(), [&](const FetchType& t) { return t.name == type; });
    return it == kFetchTypes.end() ? nullptr : &*it;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int register_number(std::string_view name) {
    if (name == "lr") return 30;
    if (name == "sp") return 31;
    if (name == "pc") return 32;
    if (name == "pstate") return 33;
    for (int n = 0; n < 31; ++n)
        if (name == "x" + std::to_string(n)) return n;
    return -1;
}

/// One argument's expression, from the outside in.
class ArgParser {
  public:
    ArgParser(ProbeParse& parse, std::size_t word, unsigned flags) : parse_(parse), word_(word), flags_(flags) {}

    int expression(std::string_view arg, std::size_t offs);
    std::vector<FetchInsn> code;

  private:
    int fail(std::size_t offs, std::string_view text, int error = -EINVAL) {
        return parse_.err(word_, offs, text, error);
    }
    int push(FetchInsn insn, std::size_t offs) {
        if (code.size() >= kMaxOps) return fail(offs, kTooNested);
        code.push_back(std::move(insn));
        return 0;
    }
    int variable(std::string_view name, std::size_t offs);
    int memory(std::string_view arg, std::size_t offs);
    int dereference(std::string_view arg, std::size_t offs);
    int immediate(std::string_view arg, std::size_t offs);

    ProbeParse& parse_;
    std::size_t word_;
    unsigned flags_;
};

int ArgParser::variable(std::string_view name, std::size_t offs) {
    constexpr std::uint64_t kMaxStack = 2048;
    constexpr std::string_view kBad = "Invalid $-variable specified";
    FetchInsn insn;
    std::uint64_t n = 0;
    if (name == "retval") {
        if (!(flags_ & TPARG_FL_RETURN)) return fail(offs, "$retval is not available on probe");
        insn.op = FetchOp::RETVAL;
    } else if (name == "stack") {
        insn.op = FetchOp::STACKP;
    } else if (name.starts_with("stack") && is_digit(name[5])) {
        if (kstrtoul(name.substr(5), 10, n)) return fail(offs, kBad);
        if ((flags_ & TPARG_FL_KERNEL) && n > kMaxStack) return fail(offs, "Invalid stack number");
        insn.op = FetchOp::STACK;
        insn.param = static_cast<std::uint32_t>(n);
    } else if (name == "comm" || name == "COMM") {
        insn.op = FetchOp::COMM;
    } else if (name.starts_with("arg") && (flags_ & (TPARG_FL_KERNEL | TPARG_FL_FENTRY | TPARG_FL_RETURN)) ==
                                              (TPARG_FL_KERNEL | TPARG_FL_FENTRY)) {
        if (kstrtoul(name.substr(3), 10, n)) return fail(offs, kBad);
        if (!n || n > kMaxStack) return fail(offs, "Invalid argument number");
        insn.op = FetchOp::ARG;
        insn.param = static_cast<std::uint32_t>(n - 1);
    } else {
        return fail(offs, kBad);
    }
    return push(insn, offs);
}

int ArgParser::memory(std::string_view arg, std::size_t offs) {
    FetchInsn insn;
    insn.op = FetchOp::IMM;
    if (arg.size() > 1 && is_digit(arg[1])) {
        if (const int e = kstrtoul(arg.substr(1), 0, insn.immediate)) return fail(offs, "Invalid memory address", e);
    } else if (arg.size() > 1 && arg[1] == '+') {
        if (flags_ & TPARG_FL_KERNEL) return fail(offs, "File offset is not available with kprobe");
        std::int64_t offset = 0;
        if (const int e = kstrtol(arg.substr(2), offset)) return fail(offs, "Invalid file offset value", e);
        insn.op = FetchOp::FOFFS;
        insn.immediate = static_cast<std::uint64_t>(offset);
    } else {
        if (!(flags_ & TPARG_FL_KERNEL)) return fail(offs, "Symbol is not available with uprobe");
        FetchInsn symbol;
        symbol.op = FetchOp::NOP_SYMBOL; // looked up when the probe is registered
        symbol.data = std::string(arg.substr(1));
        if (const int e = push(std::move(symbol), offs)) return e;
    }
    if (const int e = push(insn, offs)) return e;
    FetchInsn deref;
    deref.op = FetchOp::DEREF;
    return push(deref, offs);
}

int ArgParser::dereference(std::string_view arg, std::size_t offs) {
    FetchInsn deref;
    deref.op = FetchOp::DEREF;
    std::string sign(1, arg[0]);
    std::string_view rest = arg.substr(1);
    if (rest.starts_with('u')) {
        deref.op = FetchOp::UDEREF;
        rest.remove_prefix(1); // Linux's caret does not count the letter
    }
    const auto open = rest.find('(');
    if (open == std::string_view::npos) return fail(offs, "Dereference needs a brace");
    const std::string number = (sign == "-" ? "-" : "") + std::string(rest.substr(0, open));
    if (const int e = kstrtol(number, deref.offset)) return fail(offs, "Invalid dereference offset", e);
    offs += 1 + open + 1;
    rest.remove_prefix(open + 1);
    const auto close = rest.rfind(')');
    if (close == std::string_view::npos) return fail(offs + rest.size(), "Dereference brace is not closed");
    if (const int e = expression(rest.substr(0, close), offs)) return e;
    if (code.back().op == FetchOp::COMM || code.back().op == FetchOp::DATA)
        return fail(offs, "$comm can not be dereferenced");
    return push(deref, offs);
}

int ArgParser::immediate(std::string_view arg, std::size_t offs) {
    FetchInsn insn;
    const std::string_view text = arg.substr(1);
    if (text.starts_with('"')) {
        const std::string_view body = text.substr(1);
        if (body.empty() || body.back() != '"') return fail(offs + 2 + body.size(), "String is not closed with '\"'");
        insn.op = FetchOp::DATA;
        insn.data = std::string(body.substr(0, body.size() - 1));
        return push(insn, offs);
    }
    insn.op = FetchOp::IMM;
    std::int64_t value = 0;
    const char first = text.empty() ? '\0' : text[0];
    const int e = is_digit(first) ? kstrtoul(text, 0, insn.immediate)
                  : first == '-'  ? kstrtol(text, value)
                  : first == '+'  ? kstrtol(text.substr(1), value)
                                  : -EINVAL;
    if (e) return fail(offs + 1, "Invalid immediate value", e);
    if (!is_digit(first)) insn.immediate = static_cast<std::uint64_t>(value);
    return push(insn, offs);
}

int ArgParser::expression(std::string_view arg, std::size_t offs) {
    if (!arg.empty()) switch (arg[0]) {
            case '$': return variable(arg.substr(1), offs);
            case '%': {
                FetchInsn insn;
                const int n = register_number(arg.substr(1));
                if (n < 0) return fail(offs, "Invalid register name");
                insn.op = FetchOp::REG;
                insn.param = static_cast<std::uint32_t>(n);
                return push(insn, offs);
            }
            case '@': return memory(arg, offs);
            case '+':
            case '-': return dereference(arg, offs);
            case '\\': return immediate(arg, offs);
            default: break;
        }
    return fail(offs, "Invalid fetch argument");
}

/// "bWIDTH@OFFSET/CONTAINER": shifts that leave the field at the right.
bool parse_bitfield(std::string_view text, const FetchType& type, FetchInsn& insn) {
    const auto at = text.find('@'), slash = text.find('/');
    std::uint64_t width = 0, offset = 0;
    if (at == std::string_view::npos || slash == std::string_view::npos || at > slash) return false;
    // simple_strtoul knows no sign
    if (!is_digit(text[1]) || !is_digit(text[at + 1])) return false;
    if (kstrtoul(text.substr(1, at - 1), 0, width) || !width) return false;
    if (kstrtoul(text.substr(at + 1, slash - at - 1), 0, offset)) return false;
    const unsigned bits = type.size * 8;
    if (width > bits || offset > bits - width) return false;
    insn.op = FetchOp::MOD_BF;
    insn.lshift = bits - static_cast<unsigned>(width + offset);
    insn.rshift = bits - static_cast<unsigned>(width);
    insn.basesize = type.size;
    return true;
}

/// "[N]" behind a type: takes it off.
int parse_array(ProbeParse& parse, std::size_t word, std::size_t base, std::string_view body, std::string_view& type,
                ProbeArg& arg) {
    const auto open = type.find('[');
    if (open == std::string_view::npos) return 0;
    const std::string_view rest = type.substr(open + 1);
    const std::size_t at = base + static_cast<std::size_t>(rest.data() - body.data());
    type = type.substr(0, open);
    const auto close = rest.find(']');
    if (close == std::string_view::npos) return parse.err(word, at + rest.size(), "Array is not closed", -EINVAL);
    if (close + 1 != rest.size()) return parse.err(word, at + close + 1, "Array has wrong suffix", -EINVAL);
    std::uint64_t n = 0;
    if (kstrtoul(rest.substr(0, close), 0, n) || !n || n > 0xffffffffu)
        return parse.err(word, at, "Invalid array size", -EINVAL);
    if (n > MAX_ARRAY_LEN) return parse.err(word, at, "Array number is too big", -EINVAL);
    arg.count = static_cast<unsigned>(n);
    return 0;
}

/// What is done with the fetched value: the last instructions of the program.
int add_store(ProbeParse& parse, std::size_t word, std::size_t base, std::size_t type_at, ProbeArg& arg,
              std::string_view type_text) {
    FetchInsn& last = arg.code.back();
    const FetchType& type = *arg.type;
    const auto is = [&](std::initializer_list<FetchOp> ops) {
        return std::find(ops.begin(), ops.end(), last.op) != ops.end();
    };
    const auto append = [&](FetchInsn insn) {
        if (arg.code.size() >= kMaxOps) return parse.err(word, base, kTooNested, -EINVAL);
        arg.code.push_back(std::move(insn));
        return 0;
    };
    const auto store = [&](FetchOp op, bool in_place) {
        if (!in_place)
            if (const int e = append({})) return e;
        arg.code.back().op = op;
        arg.code.back().size = type.size;
        return 0;
    };
    int error = 0;
    if (type.is_string) {
        const bool symstr = type.name == "symstr";
        if (symstr && !is({FetchOp::REG, FetchOp::STACK, FetchOp::RETVAL, FetchOp::ARG, FetchOp::DEREF}))
            return parse.err(word, type_at, "Symbol String doesn't accept data/userdata", -EINVAL);
        if (!symstr && !is({FetchOp::DEREF, FetchOp::UDEREF, FetchOp::IMM, FetchOp::COMM, FetchOp::DATA}))
            return parse.err(word, type_at, "String accepts only memory argument", -EINVAL);
        const bool value = symstr || arg.count || is({FetchOp::IMM, FetchOp::COMM, FetchOp::DATA});
        const bool user = type.name == "ustring" || (!value && last.op == FetchOp::UDEREF);
        error = store(user ? FetchOp::ST_USTRING : symstr ? FetchOp::ST_SYMSTR : FetchOp::ST_STRING, !value);
        arg.dynamic = true;
    } else if (last.op == FetchOp::DEREF) {
        error = store(FetchOp::ST_MEM, true);
    } else if (last.op == FetchOp::UDEREF) {
        error = store(FetchOp::ST_UMEM, true);
    } else {
        error = store(FetchOp::ST_RAW, false);
    }
    if (error) return error;
    const FetchOp stored = arg.code.back().op;
    if (type_text.starts_with('b')) {
        FetchInsn bits;
        if (arg.code.size() >= kMaxOps || !parse_bitfield(type_text, type, bits))
            return parse.err(word, type_at, "Invalid bitfield", -EINVAL);
        arg.code.push_back(bits);
    }
    if (arg.count) {
        if (stored != FetchOp::ST_MEM && stored != FetchOp::ST_STRING && stored != FetchOp::ST_USTRING)
            return parse.err(word, type_at, "String accepts only memory argument", -EINVAL);
        FetchInsn loop;
        loop.op = FetchOp::LP_ARRAY;
        loop.param = arg.count;
        if (const int e = append(loop)) return e;
    }
    FetchInsn end;
    end.op = FetchOp::END;
    arg.code.push_back(end);
    return 0;
}

int parse_arg_body(ProbeParse& parse, std::size_t word, std::size_t base, std::string_view body, unsigned flags,
                   ProbeArg& arg, unsigned& size) {
    if (body.size() > MAX_ARGSTR_LEN) return parse.err(word, base, "Argument expression is too long", -EINVAL);
    if (body.empty()) return parse.err(word, base, "No argument expression", -EINVAL);
    arg.comm = std::string(body);
    std::string_view expression = body, type;
    const auto colon = body.find(':');
    const bool typed = colon != std::string_view::npos;
    if (typed) {
        expression = body.substr(0, colon);
        type = body.substr(colon + 1);
        if (const int e = parse_array(parse, word, base, body, type, arg)) return e;
    }
    const std::size_t type_at = base + (typed ? colon + 1 : 0);
    if (expression == "$comm" || expression == "$COMM" || expression.starts_with("\\\"")) {
        if (arg.count || (typed && type != "string")) return -EINVAL;
        arg.type = find_fetch_type("string");
    } else {
        arg.type = find_fetch_type(typed ? type : kDefaultType);
    }
    if (!arg.type) return parse.err(word, type_at, "Unknown type is specified", -EINVAL);
    arg.offset = size;
    size += arg.type->size * std::max(arg.count, 1u);
    if (size > MAX_PROBE_EVENT_SIZE) return parse.err(word, base, "Event too big (too many fields?)", -E2BIG);
    ArgParser parser(parse, word, flags);
    if (const int e = parser.expression(expression, base)) return e;
    arg.code = std::move(parser.code);
    return add_store(parse, word, base, type_at, arg, type);
}

} // namespace

// --- numbers and names ---

int kstrtoul(std::string_view text, unsigned base, std::uint64_t& value) {
    if (text.starts_with('+')) text.remove_prefix(1);
    if (text.ends_with('\n')) text.remove_suffix(1);
    const auto hex = [&] {
        return text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') &&
               std::isxdigit(static_cast<unsigned char>(text[2]));
    };
    if (!base) base = hex() ? 16 : text.starts_with('0') ? 8 : 10;
    if (base == 16 && hex()) text.remove_prefix(2);
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value, static_cast<int>(base));
    if (ec == std::errc::result_out_of_range) return -ERANGE;
    return ec == std::errc{} && end == text.data() + text.size() ? 0 : -EINVAL;
}

int kstrtol(std::string_view text, std::int64_t& value) {
    const bool negative = text.starts_with('-');
    if (negative) text.remove_prefix(1);
    std::uint64_t magnitude = 0;
    if (negative && text.starts_with('+')) return -EINVAL;
    if (const int e = kstrtoul(text, 0, magnitude)) return e;
    if (magnitude > (std::uint64_t{1} << 63) - (negative ? 0 : 1)) return -ERANGE;
    value = static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
    return 0;
}

int traceprobe_split_symbol_offset(std::string& symbol, std::int64_t& offset) {
    offset = 0;
    const auto sign = symbol.find_first_of("+-");
    if (sign == std::string::npos) return 0;
    if (const int e = kstrtol(std::string_view(symbol).substr(sign), offset)) return e;
    symbol.resize(sign);
    return 0;
}

int traceprobe_update_arg(ProbeArg& arg, const SymbolLookup& symbols) {
    for (std::size_t i = 0; i < arg.code.size(); ++i) {
        if (arg.code[i].op != FetchOp::NOP_SYMBOL) continue;
        std::string symbol = arg.code[i].data;
        std::int64_t offset = 0;
        if (const int e = traceprobe_split_symbol_offset(symbol, offset)) return e;
        const std::uint64_t address = symbols(symbol);
        if (!address) return -ENOENT;
        arg.code[i + 1].immediate = address + static_cast<std::uint64_t>(offset);
    }
    return 0;
}

bool is_good_name(std::string_view name) {
    const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; };
    return !name.empty() && letter(name[0]) &&
           std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || is_digit(c); });
}

bool is_good_system_name(std::string_view name) {
    std::string plain(name);
    std::replace(plain.begin(), plain.end(), '-', '_');
    return is_good_name(plain);
}

// --- complaints ---

int ProbeParse::err(std::size_t index, std::size_t offset, std::string_view text, int error) {
    std::string command;
    std::size_t position = 0;
    for (std::size_t i = 0; i < argv.size(); ++i) {
        if (i == index) position = command.size();
        command.append(argv[i]).push_back(' ');
    }
    if (index >= argv.size()) {
        position = command.size();
        offset = 0;
    }
    if (!command.empty()) command.pop_back();
    events_.tracing_log_err(subsystem_, command, text, position + offset);
    return error;
}

// --- definitions ---

int traceprobe_parse_event_name(ProbeParse& parse, std::size_t offset, std::string& group, std::string& event) {
    constexpr std::string_view kRule = " must follow the same rules as C identifiers";
    std::string_view name = std::string_view(parse.argv[0]).substr(offset);
    auto slash = name.find('/');
    if (slash == std::string_view::npos) slash = name.find('.');
    if (slash != std::string_view::npos) {
        if (slash == 0) return parse.err(0, offset, "Group name is not specified", -EINVAL);
        if (slash + 1 > MAX_EVENT_NAME_LEN) return parse.err(0, offset, "Group name is too long", -EINVAL);
        if (!is_good_system_name(name.substr(0, slash)))
            return parse.err(0, offset, std::string("Group name").append(kRule), -EINVAL);
        group = std::string(name.substr(0, slash));
        name.remove_prefix(slash + 1);
        offset += slash + 1;
        if (name.empty()) {
            event.clear();
            return 0;
        }
    }
    if (name.empty()) return parse.err(0, offset, "Event name is not specified", -EINVAL);
    if (name.size() >= MAX_EVENT_NAME_LEN) return parse.err(0, offset, "Event name is too long", -EINVAL);
    if (!is_good_name(name)) return parse.err(0, offset, std::string("Event name").append(kRule), -EINVAL);
    event = std::string(name);
    return 0;
}

int traceprobe_parse_probe_arg(ProbeParse& parse, std::size_t i, unsigned flags, std::vector<ProbeArg>& args,
                               unsigned& size) {
    const std::size_t word = i + 2;
    const std::string_view text = parse.argv[word];
    ProbeArg arg;
    std::size_t body = 0;
    if (const auto equal = text.find('='); equal != std::string_view::npos) {
        if (equal > MAX_ARG_NAME_LEN) return parse.err(word, 0, "Argument name is too long", -EINVAL);
        if (equal == 0) return parse.err(word, 0, "Argument name is not specified", -EINVAL);
        arg.name = std::string(text.substr(0, equal));
        body = equal + 1;
    } else {
        arg.name = "arg" + std::to_string(i + 1);
    }
    if (!is_good_name(arg.name))
        return parse.err(word, 0, "Argument name must follow the same rules as C identifiers", -EINVAL);
    const bool used = std::find(kReservedNames.begin(), kReservedNames.end(), arg.name) != kReservedNames.end() ||
                      std::any_of(args.begin(), args.end(), [&](const ProbeArg& a) { return a.name == arg.name; });
    if (used) return parse.err(word, 0, "This argument name is already used", -EINVAL);
    if (const int e = parse_arg_body(parse, word, body, text.substr(body), flags, arg, size)) return e;
    args.push_back(std::move(arg));
    return 0;
}

// --- descriptions ---

std::string traceprobe_print_fmt(const std::vector<ProbeArg>& args, bool is_return) {
    std::string fmt = is_return ? "\"(%lx <- %lx)" : "\"(%lx)";
    std::string values = is_return ? ", REC->__probe_func, REC->__probe_ret_ip" : ", REC->__probe_ip";
    for (const ProbeArg& a : args) {
        fmt.append(" ").append(a.name).append("=");
        if (a.count) fmt.push_back('{');
        for (unsigned j = 0; j < std::max(a.count, 1u); ++j) {
            if (j) fmt.push_back(',');
            fmt.append(a.type->fmt);
            const std::string index = a.count ? "[" + std::to_string(j) + "]" : "";
            if (a.type->is_string)
                values.append(", __get_str(").append(a.name).append(index).append(")");
            else
                values.append(", REC->").append(a.name).append(index);
        }
        if (a.count) fmt.push_back('}');
    }
    return fmt + "\"" + values;
}

void traceprobe_define_arg_fields(const std::vector<ProbeArg>& args, unsigned head, std::vector<TraceField>& fields) {
    for (const ProbeArg& a : args) {
        std::string type(a.type->fmttype);
        // the format file gives the length of arrays of strings only
        if (a.count) type.append("[").append(a.type->is_string ? std::to_string(a.count) : "").append("]");
        const unsigned size = a.type->size * std::max(a.count, 1u);
        fields.push_back(trace_field(std::move(type), a.name, head + a.offset, size, a.type->is_signed));
    }
}

std::size_t trace_probe_compare_arg_type(const std::vector<ProbeArg>& a, const std::vector<ProbeArg>& b) {
    if (a.size() != b.size()) return std::min(a.size(), b.size()) + 1;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (a[i].type != b[i].type || a[i].count != b[i].count || a[i].name != b[i].name) return i + 1;
    return 0;
}

bool trace_probe_match_args(const std::vector<ProbeArg>& args, std::span<const std::string> words) {
    if (args.size() < words.size()) return false;
    for (std::size_t i = 0; i < words.size(); ++i)
        if (words[i] != args[i].name + "=" + args[i].comm) return false;
    return true;
}

} // namespace rkperf::ke
