// SPDX-License-Identifier: Apache-2.0
// Runs the programs that fetch a probe's arguments (kernel/trace/trace_probe_tmpl.h).
#include "kernel_events/trace/trace_probe.h"

#include <cerrno>
#include <cstring>

namespace rkperf::ke {

namespace {

/// A __data_loc word: where a string is in the record, and its length.
constexpr std::uint32_t data_loc(std::size_t length, std::size_t offset) {
    return static_cast<std::uint32_t>(length << 16 | (offset & 0xffff));
}

std::uint64_t register_value(const PtRegs& regs, unsigned n) {
    return n < 31 ? regs.regs[n] : n == 31 ? regs.sp : n == 32 ? regs.pc : regs.pstate;
}

/// Strings that are not in memory: what a first stage gave besides the value.
struct Value {
    std::uint64_t number{};
    const std::string* text{};
};

class Fetcher {
  public:
    Fetcher(const PtRegs& regs, FetchContext& ctx) : regs_(regs), ctx_(ctx) {}

    /// Length of the strings an argument needs (record null), or stores it at record + at: bytes of strings stored, or < 0.
    int run(const ProbeArg& arg, std::uint8_t* record, std::size_t at, std::size_t dyn_at, std::size_t dyn_max);

  private:
    bool first(const FetchInsn*& code, Value& value);
    int string(const FetchInsn& code, const Value& value, std::uint8_t* record, std::size_t at, std::size_t dyn_at,
               std::size_t max);
    void store(const FetchInsn& code, const Value& value, std::uint8_t* to);

    const PtRegs& regs_;
    FetchContext& ctx_;
    std::string comm_;
};

bool Fetcher::first(const FetchInsn*& code, Value& v) {
    while (code->op == FetchOp::NOP_SYMBOL) ++code;
    switch (code->op) {
        case FetchOp::REG: v.number = register_value(regs_, code->param); break;
        case FetchOp::STACK: v.number = ctx_.stack_word(regs_, code->param); break;
        case FetchOp::STACKP: v.number = regs_.sp; break;
        case FetchOp::RETVAL: v.number = regs_.regs[0]; break;
        case FetchOp::IMM: v.number = code->immediate; break;
        case FetchOp::ARG: v.number = code->param < 8 ? regs_.regs[code->param] : 0; break;
        case FetchOp::FOFFS: v.number = ctx_.file_address(code->immediate); break;
        case FetchOp::COMM:
            comm_ = ctx_.comm();
            v.text = &comm_;
            break;
        case FetchOp::DATA: v.text = &code->data; break;
        default: return false;
    }
    ++code;
    return true;
}

int Fetcher::string(const FetchInsn& code, const Value& v, std::uint8_t* record, std::size_t at, std::size_t dyn_at,
                    std::size_t max) {
    std::string text;
    bool ok = true;
    const std::uint64_t from = v.number + static_cast<std::uint64_t>(code.offset);
    if (code.op == FetchOp::ST_SYMSTR)
        text = ctx_.symbol_text(from);
    else if (v.text && v.text != &comm_ && !ctx_.reads_definition())
        ok = false;
    else if (v.text)
        text = *v.text;
    else
        ok = ctx_.read_string(from, record ? max : MAX_STRING_SIZE, code.op == FetchOp::ST_USTRING, text);
    if (!record) return ok ? static_cast<int>(text.size() + 1) : 0;
    if (!max) return -ENOMEM;
    std::size_t length = 0;
    if (ok) {
        length = std::min(text.size() + 1, max);
        std::memcpy(record + dyn_at, text.c_str(), length);
        record[dyn_at + length - 1] = 0;
    }
    const std::uint32_t loc = data_loc(length, dyn_at);
    std::memcpy(record + at, &loc, sizeof loc);
    return ok ? static_cast<int>(length) : -EFAULT;
}

void Fetcher::store(const FetchInsn& code, const Value& v, std::uint8_t* to) {
    switch (code.op) {
        case FetchOp::ST_RAW: std::memcpy(to, &v.number, code.size); break; // little endian
        case FetchOp::ST_MEM: ctx_.read(to, v.number + static_cast<std::uint64_t>(code.offset), code.size); break;
        case FetchOp::ST_UMEM: ctx_.read_user(to, v.number + static_cast<std::uint64_t>(code.offset), code.size); break;
        default: break;
    }
}

void apply_bitfield(const FetchInsn& code, std::uint8_t* at) {
    std::uint64_t value = 0;
    std::memcpy(&value, at, code.basesize);
    const std::uint64_t mask = code.basesize == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << code.basesize * 8) - 1;
    value = (value << code.lshift & mask) >> code.rshift;
    std::memcpy(at, &value, code.basesize);
}

int Fetcher::run(const ProbeArg& arg, std::uint8_t* record, std::size_t at, std::size_t dyn_at, std::size_t dyn_max) {
    const FetchInsn* code = arg.code.data();
    Value v;
    if (!first(code, v)) return -EILSEQ;
    const FetchInsn* const stage2 = code;
    std::uint64_t last = v.number; // before the last dereference
    const auto dereference = [&](const FetchInsn*& c) {
        for (; c->op == FetchOp::DEREF || c->op == FetchOp::UDEREF; ++c) {
            last = v.number;
            const std::uint64_t from = v.number + static_cast<std::uint64_t>(c->offset);
            const bool user = c->op == FetchOp::UDEREF;
            if (!(user ? ctx_.read_user(&v.number, from, 8) : ctx_.read(&v.number, from, 8))) return false;
        }
        return true;
    };
    if (!dereference(code)) return -EFAULT;
    const FetchInsn* const stage3 = code;
    int total = 0;
    for (unsigned i = 0;;) {
        int ret = 0;
        code = stage3;
        if (arg.dynamic)
            ret = string(*code, v, record, at, dyn_at, dyn_max);
        else if (record)
            store(*code, v, record + at);
        ++code;
        if (code->op == FetchOp::MOD_BF) {
            if (record) apply_bitfield(*code, record + at);
            ++code;
        }
        if (code->op != FetchOp::LP_ARRAY) return ret;
        if (ret > 0) {
            total += ret;
            dyn_at += static_cast<std::size_t>(ret);
            dyn_max -= record ? static_cast<std::size_t>(ret) : 0;
        }
        if (++i >= code->param) return total;
        at += stage3->size;
        if (!arg.dynamic) {
            v.number += stage3->size;
            continue;
        }
        // The next pointer of the array, and what it points to: the last dereference is done anew.
        v.number = last + sizeof(std::uint64_t);
        if (stage3 != stage2) {
            const FetchInsn* again = stage3 - 1;
            if (!dereference(again)) return -EFAULT;
        }
    }
}

} // namespace

std::size_t trace_probe_data_size(const std::vector<ProbeArg>& args, const PtRegs& regs, FetchContext& ctx) {
    std::size_t total = 0;
    for (const ProbeArg& arg : args) {
        if (!arg.dynamic) continue;
        const int n = Fetcher(regs, ctx).run(arg, nullptr, 0, 0, 0);
        if (n > 0) total += static_cast<std::size_t>(n);
    }
    return total;
}

void trace_probe_store(const std::vector<ProbeArg>& args, const PtRegs& regs, FetchContext& ctx, std::uint8_t* record,
                       unsigned head, unsigned fixed, std::size_t dynamic) {
    std::size_t dyn_at = head + fixed, left = dynamic;
    for (const ProbeArg& arg : args) {
        const std::size_t at = head + arg.offset;
        if (arg.dynamic) {
            const std::uint32_t loc = data_loc(left, dyn_at);
            std::memcpy(record + at, &loc, sizeof loc);
        }
        const int n = Fetcher(regs, ctx).run(arg, record, at, dyn_at, left);
        if (arg.dynamic && n > 0) {
            dyn_at += static_cast<std::size_t>(n);
            left -= static_cast<std::size_t>(n);
        }
    }
}

} // namespace rkperf::ke
