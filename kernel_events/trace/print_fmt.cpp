// SPDX-License-Identifier: Apache-2.0
#include "kernel_events/trace/print_fmt.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cinttypes>
#include <cstring>
#include <optional>
#include <stdexcept>

namespace rkperf::ke {

namespace {

/// Enumerators that print formats name.
struct Enumerator {
    std::string_view name;
    std::int64_t value;
};
constexpr Enumerator kEnumerators[] = {
    {"HRTIMER_MODE_ABS", 0},
    {"HRTIMER_MODE_REL", 1},
    {"HRTIMER_MODE_ABS_PINNED", 2},
    {"HRTIMER_MODE_REL_PINNED", 3},
    {"HRTIMER_MODE_ABS_SOFT", 4},
    {"HRTIMER_MODE_REL_SOFT", 5},
    {"HRTIMER_MODE_ABS_PINNED_SOFT", 6},
    {"HRTIMER_MODE_REL_PINNED_SOFT", 7},
    {"HRTIMER_MODE_ABS_HARD", 8},
    {"HRTIMER_MODE_REL_HARD", 9},
    {"HRTIMER_MODE_ABS_PINNED_HARD", 10},
    {"HRTIMER_MODE_REL_PINNED_HARD", 11},
    {"memstart_addr", 0},
};

struct BadFormat : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Value {
    std::int64_t number{};
    std::optional<std::string> text;
    bool truth() const { return text || number; }
};

/// Binary operators from the loosest to the tightest.
constexpr std::string_view kLevels[][4] = {
    {"||"},       {"&&"},     {"|"},          {"^"}, {"&"}, {"==", "!="}, {"<=", ">=", "<", ">"},
    {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}};
constexpr std::size_t kNumLevels = std::size(kLevels);

std::int64_t apply(std::string_view op, std::int64_t a, std::int64_t b) {
    const auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
    if (op == "||") return a || b;
    if (op == "&&") return a && b;
    if (op == "|") return a | b;
    if (op == "^") return a ^ b;
    if (op == "&") return a & b;
    if (op == "==") return a == b;
    if (op == "!=") return a != b;
    if (op == "<") return a < b;
    if (op == ">") return a > b;
    if (op == "<=") return a <= b;
    if (op == ">=") return a >= b;
    if (op == "<<") return static_cast<std::int64_t>(ua << (ub & 63));
    if (op == ">>") return static_cast<std::int64_t>(ua >> (ub & 63));
    if (op == "+") return static_cast<std::int64_t>(ua + ub);
    if (op == "-") return static_cast<std::int64_t>(ua - ub);
    if (op == "*") return static_cast<std::int64_t>(ua * ub);
    if (!b) throw BadFormat("division by 0");
    if (b == -1) return op == "/" ? static_cast<std::int64_t>(-ua) : 0; // the lowest number has no opposite
    return op == "/" ? a / b : a % b;
}

/// Reads a print format's arguments: C expressions over the record.
class Reader {
  public:
    Reader(std::string_view text, std::span<const TraceField> fields, std::span<const std::uint8_t> record)
        : text_(text), fields_(fields), record_(record) {}

    std::string literal() {
        std::string out;
        skip();
        if (!at("\"")) throw BadFormat("string expected");
        while (take("\"")) {
            while (pos_ < text_.size() && text_[pos_] != '"') out += escaped();
            expect("\"");
            skip();
        }
        return out;
    }
    bool next_argument() { return take(","); }
    Value expression() {
        const Value condition = binary(0);
        if (!take("?")) return condition;
        Value yes = expression();
        expect(":");
        Value no = expression();
        return condition.truth() ? yes : no;
    }

  private:
    void skip() {
        while (pos_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[pos_]))) ++pos_;
    }
    bool at(std::string_view s) const { return text_.substr(pos_).starts_with(s); }
    bool take(std::string_view s) {
        skip();
        if (!at(s)) return false;
        pos_ += s.size();
        return true;
    }
    void expect(std::string_view s) {
        if (!take(s)) throw BadFormat("unexpected text");
    }
    char escaped() {
        const char c = text_[pos_++];
        if (c != '\\' || pos_ == text_.size()) return c;
        const char e = text_[pos_++];
        return e == 'n' ? '\n' : e == 't' ? '\t' : e;
    }
    std::string_view word() {
        skip();
        const std::size_t start = pos_;
        while (pos_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[pos_])) || text_[pos_] == '_'))
            ++pos_;
        return text_.substr(start, pos_ - start);
    }

    bool take_operator(std::string_view op) {
        skip();
        if (!at(op)) return false;
        // "|" is not the beginning of "||", and so on.
        if (op.size() == 1 && std::string_view("|&<>").find(op) != op.npos && pos_ + 1 < text_.size() &&
            (text_[pos_ + 1] == op[0] || (text_[pos_ + 1] == '=' && op != "|" && op != "&")))
            return false;
        pos_ += op.size();
        return true;
    }
    Value binary(std::size_t level) {
        if (level == kNumLevels) return unary();
        Value left = binary(level + 1);
        for (bool again = true; again;) {
            again = false;
            for (const std::string_view op : kLevels[level]) {
                if (op.empty() || !take_operator(op)) continue;
                const Value right = binary(level + 1);
                left = {apply(op, left.number, right.number), {}};
                again = true;
                break;
            }
        }
        return left;
    }
    Value unary() {
        if (take("~")) return {~unary().number, {}};
        if (take("!")) return {!unary().truth(), {}};
        if (take("-")) return {static_cast<std::int64_t>(-static_cast<std::uint64_t>(unary().number)), {}};
        if (take("(")) {
            if (cast()) return unary();
            Value v = expression();
            expect(")");
            return v;
        }
        skip();
        if (at("\"")) return {0, literal()};
        if (pos_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[pos_]))) return number();
        return named();
    }
    /// After '(': the rest of a cast, "unsigned long)" or "void *)". Casts change nothing that the conversions do not.
    bool cast() {
        const std::size_t back = pos_;
        bool any = false;
        for (std::string_view w = word(); !w.empty(); w = word()) {
            if (w == "REC" || std::isdigit(static_cast<unsigned char>(w[0])) || enumerator(w)) {
                pos_ = back;
                return false;
            }
            any = true;
        }
        while (any && take("*")) {
        }
        if (any && take(")")) return true;
        pos_ = back;
        return false;
    }
    Value number() {
        const std::string w(word());
        std::size_t used = 0;
        return {static_cast<std::int64_t>(std::stoull(w, &used, 0)), {}};
    }
    static const Enumerator* enumerator(std::string_view name) {
        const auto* e = std::find_if(std::begin(kEnumerators), std::end(kEnumerators),
                                     [&](const Enumerator& x) { return x.name == name; });
        return e == std::end(kEnumerators) ? nullptr : e;
    }
    /// After "sizeof(": the rest, of "struct page" or of an expression of the machine's word.
    std::int64_t size_of() {
        constexpr std::int64_t kPage = 64, kWord = 8;
        const std::size_t start = pos_;
        for (int depth = 1; depth; ++pos_) {
            if (pos_ == text_.size()) throw BadFormat("unexpected end");
            depth += text_[pos_] == '(' ? 1 : text_[pos_] == ')' ? -1 : 0;
        }
        return text_.substr(start, pos_ - start) == "struct page)" ? kPage : kWord;
    }
    Value named() {
        const std::string_view w = word();
        if (w == "REC") {
            expect("->");
            return field(word());
        }
        if (const Enumerator* e = enumerator(w)) return {e->value, {}};
        if (!take("(")) throw BadFormat("unknown name");
        if (w == "__get_str" || w == "__get_dynamic_array" || w == "__get_rel_str") {
            const std::string_view name = word();
            std::size_t index = 0;
            if (take("[")) {
                index = static_cast<std::size_t>(expression().number);
                expect("]");
            }
            expect(")");
            return {0, dynamic_text(name, index)};
        }
        if (w == "__get_bitmask") {
            const std::string_view name = word();
            expect(")");
            return {0, bitmask(name)};
        }
        if (w == "sizeof") return {size_of(), {}};
        if (w == "__builtin_constant_p") {
            size_of();
            return {0, {}};
        }
        if (w == "__ilog2_u32" || w == "__ilog2_u64" || w == "__builtin_clzll" || w == "__order_base_2") {
            const auto v = static_cast<std::uint64_t>(expression().number);
            expect(")");
            const int clz = std::countl_zero(v);
            return {w == "__builtin_clzll" ? clz : w == "__order_base_2" ? 64 - std::countl_zero(v - 1) : 63 - clz, {}};
        }
        if (w == "__print_flags") return flags();
        if (w == "__print_symbolic") return symbolic();
        throw BadFormat("unknown function");
    }

    const TraceField& find(std::string_view name) const {
        const auto f =
            std::find_if(fields_.begin(), fields_.end(), [&](const TraceField& x) { return x.name == name; });
        if (f == fields_.end()) throw BadFormat("unknown field");
        return *f;
    }
    std::int64_t load(std::size_t offset, std::size_t size, bool is_signed) const {
        if (size > 8 || offset + size > record_.size()) throw BadFormat("field outside the record");
        std::uint64_t v = 0;
        std::memcpy(&v, record_.data() + offset, size);
        if (is_signed && size && size < 8 && (v >> (size * 8 - 1) & 1)) v |= ~std::uint64_t{0} << (size * 8);
        return static_cast<std::int64_t>(v);
    }
    std::string chars(std::size_t offset, std::size_t size) const {
        if (offset > record_.size()) throw BadFormat("text outside the record");
        const auto* p = reinterpret_cast<const char*>(record_.data() + offset);
        return {p, strnlen(p, std::min(size, record_.size() - offset))};
    }
    Value field(std::string_view name) {
        const TraceField& f = find(name);
        if (take("[")) {
            const auto index = static_cast<std::size_t>(expression().number);
            expect("]");
            const std::size_t element = element_size(f);
            return {load(f.offset + index * element, element, f.is_signed), {}};
        }
        if (f.filter_type == FilterType::static_string) return {0, chars(f.offset, f.size)};
        if (f.size > 8 || !f.size) return {static_cast<std::int64_t>(f.offset), {}};
        return {load(f.offset, f.size, f.is_signed), {}};
    }
    static std::size_t element_size(const TraceField& f) {
        const auto bracket = f.type.find('[');
        if (bracket == std::string::npos) throw BadFormat("no array");
        // Of a probe's array the type gives no length, but its name the bits of an element: "u16[]".
        if (f.type.ends_with("[]")) {
            std::size_t bits = 0;
            for (const char c : f.type.substr(1, bracket - 1)) bits = bits * 10 + static_cast<std::size_t>(c - '0');
            if (bits != 8 && bits != 16 && bits != 32 && bits != 64) throw BadFormat("no array");
            return bits / 8;
        }
        const std::size_t n = std::stoul(f.type.substr(bracket + 1));
        if (!n) throw BadFormat("no array");
        return f.size / n;
    }
    /// Offset and length of a __data_loc field, or of one in an array of them.
    std::pair<std::size_t, std::size_t> located(std::string_view name, std::size_t index = 0) const {
        const TraceField& f = find(name);
        const auto loc = static_cast<std::uint32_t>(load(f.offset + 4 * index, 4, false));
        std::size_t offset = loc & 0xffff;
        if (f.filter_type == FilterType::rdyn_string) offset += f.offset + 4;
        return {offset, loc >> 16};
    }
    std::string dynamic_text(std::string_view name, std::size_t index) const {
        const auto [offset, length] = located(name, index);
        return chars(offset, length);
    }
    /// As %*pb writes it: words of 32 bits in hex, the highest first.
    std::string bitmask(std::string_view name) const {
        const auto [offset, length] = located(name);
        std::string out;
        for (std::size_t i = length / 4; i--;) {
            char w[12];
            std::snprintf(w, sizeof w, "%08x%s", static_cast<unsigned>(load(offset + i * 4, 4, false)), i ? "," : "");
            out += w;
        }
        return out;
    }
    /// { value, "name" } and a comma before it, until ')'.
    template <class Fn>
    void pairs(Fn fn) {
        while (take(",")) {
            expect("{");
            const Value value = expression();
            expect(",");
            const std::string name = literal();
            expect("}");
            fn(static_cast<std::uint64_t>(value.number), name);
        }
        expect(")");
    }
    Value flags() {
        auto rest = static_cast<std::uint64_t>(expression().number);
        expect(",");
        const std::string delimiter = literal();
        std::string out;
        const auto append = [&](std::string_view s) { out.append(out.empty() ? "" : delimiter).append(s); };
        pairs([&](std::uint64_t mask, const std::string& name) {
            if (!rest || (rest & mask) != mask) return;
            rest &= ~mask;
            append(name);
        });
        if (rest) append(hex(rest));
        return {0, out};
    }
    Value symbolic() {
        const auto v = static_cast<std::uint64_t>(expression().number);
        std::optional<std::string> found;
        pairs([&](std::uint64_t value, const std::string& name) {
            if (value == v && !found) found = name;
        });
        return {0, found ? *found : hex(v)};
    }
    static std::string hex(std::uint64_t v) {
        char b[24];
        std::snprintf(b, sizeof b, "0x%" PRIx64, v);
        return b;
    }

    std::string_view text_;
    std::span<const TraceField> fields_;
    std::span<const std::uint8_t> record_;
    std::size_t pos_{};
};

/// A pointer as %p shows it: not the address itself, but the same for the same one.
std::uint32_t hashed_pointer(std::uint64_t p) {
    p ^= p >> 33;
    p *= 0xff51afd7ed558ccd;
    p ^= p >> 33;
    p *= 0xc4ceb9fe1a85ec53;
    return static_cast<std::uint32_t>(p >> 32);
}

std::string pointer(std::string_view kind, std::uint64_t v, const PrintFmtSymbols& symbols) {
    if (kind == "S" || kind == "B") return symbols.symbol(v);
    if (kind == "s" || kind == "f") {
        const std::string s = symbols.symbol(v);
        return s.substr(0, s.find('+'));
    }
    char b[24];
    std::snprintf(b, sizeof b, "%016" PRIx64, v ? std::uint64_t{hashed_pointer(v)} : 0);
    return b;
}

/// One conversion; `spec` is from '%' on without its conversion letter and length.
std::string convert(std::string spec, std::string_view length, char letter, const Value& v,
                    const PrintFmtSymbols& symbols) {
    if (letter == 's') {
        std::string s = v.text ? *v.text : symbols.string(static_cast<std::uint64_t>(v.number));
        spec += 's';
        std::string out(s.size() + 256, '\0');
        out.resize(
            static_cast<std::size_t>(std::max(0, std::snprintf(out.data(), out.size(), spec.c_str(), s.c_str()))));
        return out;
    }
    char b[96];
    if (letter == 'c') {
        spec += 'c';
        std::snprintf(b, sizeof b, spec.c_str(), static_cast<int>(v.number));
        return b;
    }
    std::int64_t n = v.number;
    const bool is_signed = letter == 'd' || letter == 'i';
    const int bits = length.empty() ? 32 : length == "h" ? 16 : length == "hh" ? 8 : 64;
    if (bits < 64) {
        const std::uint64_t low = static_cast<std::uint64_t>(n) & ((std::uint64_t{1} << bits) - 1);
        n = static_cast<std::int64_t>(low);
        if (is_signed && low >> (bits - 1)) n = static_cast<std::int64_t>(low | ~std::uint64_t{0} << bits);
    }
    spec.append("ll").push_back(letter);
    std::snprintf(b, sizeof b, spec.c_str(), static_cast<long long>(n));
    return b;
}

std::string render(std::string_view fmt, std::span<const TraceField> fields, std::span<const std::uint8_t> record,
                   const PrintFmtSymbols& symbols) {
    Reader reader(fmt, fields, record);
    const std::string text = reader.literal();
    std::string out;
    const auto argument = [&] {
        if (!reader.next_argument()) throw BadFormat("argument missing");
        return reader.expression();
    };
    for (std::size_t i = 0; i < text.size();) {
        if (text[i] != '%') {
            out += text[i++];
            continue;
        }
        if (text.substr(i, 2) == "%%") {
            out += '%';
            i += 2;
            continue;
        }
        std::string spec = "%";
        for (++i; i < text.size() && std::strchr("-+ #0123456789.*", text[i]); ++i) {
            if (text[i] == '*')
                spec += std::to_string(argument().number);
            else
                spec += text[i];
        }
        std::size_t n = 0;
        while (i + n < text.size() && std::strchr("hlLqzt", text[i + n])) ++n;
        const std::string_view length = std::string_view(text).substr(i, n);
        i += n;
        if (i == text.size()) throw BadFormat("conversion missing");
        const char letter = text[i++];
        if (letter == 'p') {
            std::string_view kind;
            if (i < text.size() && std::strchr("sSfB", text[i])) kind = std::string_view(text).substr(i++, 1);
            out += pointer(kind, static_cast<std::uint64_t>(argument().number), symbols);
        } else if (std::strchr("diouxXcs", letter)) {
            out += convert(std::move(spec), length, letter, argument(), symbols);
        } else {
            throw BadFormat("unknown conversion");
        }
    }
    return out;
}

} // namespace

std::string render_print_fmt(std::string_view fmt, std::span<const TraceField> fields,
                             std::span<const std::uint8_t> record, const PrintFmtSymbols& symbols) {
    try {
        return render(fmt, fields, record, symbols);
    } catch (const std::exception&) {
        std::string out = "[FAILED TO PARSE]";
        for (const TraceField& f : fields) {
            out.append(" ").append(f.name).append("=");
            std::uint64_t v = 0;
            if (f.size <= 8 && f.offset + f.size <= record.size()) std::memcpy(&v, record.data() + f.offset, f.size);
            char b[24];
            std::snprintf(b, sizeof b, "0x%" PRIx64, v);
            out += b;
        }
        return out;
    }
}

} // namespace rkperf::ke
