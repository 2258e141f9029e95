// SPDX-License-Identifier: Apache-2.0
// The grammar of filters: predicates FIELD OP VALUE joined by && (binds closer) and ||, with ! and parentheses. Errors and the
// places they are reported at are those of Linux 6.1.
#include "kernel_events/trace/event_filter_node.h"
#include "kernel_events/trace/trace_events.h"

#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>

namespace rkperf::ke {

namespace {

constexpr std::size_t kMaxFilterStrVal = 256, kMaxNumber = 24;
/// What the grammar itself returns for unbalanced text; user space sees them as error numbers.
constexpr int kTooManyClose = -1, kTooManyOpen = -2, kMissingQuote = -3, kSyntax = -1;

constexpr const char *kInvalidOp = "Invalid operator", *kTooManyOpenText = "Too many '('",
                     *kTooManyCloseText = "Too few '('", *kMissingQuoteText = "Missing matching quote",
                     *kOperandTooLong = "Operand too long", *kExpectString = "Expecting string field",
                     *kExpectDigit = "Expecting numeric field", *kIllegalFieldOp = "Illegal operation for field type",
                     *kFieldNotFound = "Field not found", *kIllegalIntval = "Illegal integer value",
                     *kTooManyPreds = "Too many terms in predicate expression",
                     *kInvalidFilter = "Meaningless filter expression",
                     *kInvalidValue = "Invalid value (did you forget quotes)?";

struct OpName {
    std::string_view text;
    FilterOp op;
};
/// Longer ones before those they begin with.
constexpr OpName kOps[] = {{"~", FilterOp::glob}, {"!=", FilterOp::ne}, {"==", FilterOp::eq}, {"<=", FilterOp::le},
                           {"<", FilterOp::lt},   {">=", FilterOp::ge}, {">", FilterOp::gt},  {"&", FilterOp::band}};

bool space(char c) { return std::isspace(static_cast<unsigned char>(c)); }
bool alnum(char c) { return std::isalnum(static_cast<unsigned char>(c)); }
bool digit(char c) { return c >= '0' && c <= '9'; }

bool is_string_field(const TraceField& f) {
    return f.filter_type != FilterType::other && f.filter_type != FilterType::cpu;
}

/// kstrtoull and kstrtoll with base 0, for text without a newline.
bool parse_integer(std::string_view text, bool is_signed, std::uint64_t& out) {
    bool negative = false;
    if (is_signed && !text.empty() && text[0] == '-') {
        negative = true;
        text.remove_prefix(1);
    }
    int base = 10;
    if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') &&
        std::isxdigit(static_cast<unsigned char>(text[2]))) {
        base = 16;
        text.remove_prefix(2);
    } else if (text.size() > 1 && text[0] == '0') {
        base = 8;
        text.remove_prefix(1);
    }
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return false;
    constexpr std::uint64_t kMin = std::uint64_t{1} << 63;
    if (is_signed && value >= kMin + negative) return false;
    out = negative ? 0 - value : value;
    return true;
}

class Parser {
  public:
    Parser(const TraceEventCall& call, std::string_view text, FilterError& error)
        : call_(call), text_(text), error_(error) {}

    std::unique_ptr<EventFilter::Node> parse() {
        if (!check_balance()) return nullptr;
        auto root = parse_any();
        if (!root) return nullptr;
        if (at(i_)) return fail(kTooManyClose, kTooManyCloseText, i_ + 1);
        return root;
    }

  private:
    using NodePtr = std::unique_ptr<EventFilter::Node>;
    using Kind = EventFilter::Node::Kind;

    char at(std::size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
    void skip_space() {
        while (space(at(i_))) ++i_;
    }
    NodePtr fail(int result, const char* text, std::size_t position) {
        error_ = {result, text, position};
        return nullptr;
    }
    bool fail_pred(const char* text, std::size_t position) {
        error_ = {-EINVAL, text, position};
        return false;
    }

    /// Quotes and parentheses are looked at before anything else.
    bool check_balance() {
        int open = 0;
        char quote = 0;
        std::size_t last_quote = 0;
        std::vector<std::size_t> opened;
        bool any = false;
        for (std::size_t i = 0; i < text_.size(); ++i) {
            const char c = text_[i];
            if (space(c)) continue;
            if (quote) {
                if (c == quote) quote = 0;
                continue;
            }
            if (c == '\'' || c == '"') {
                quote = c;
                last_quote = i;
                any = true;
            } else if (c == '(') {
                opened.push_back(i);
                ++open;
            } else if (c == ')') {
                if (!open) {
                    error_ = {kTooManyClose, kTooManyCloseText, i};
                    return false;
                }
                opened.pop_back();
                --open;
            } else if (!((c == '&' || c == '|') && at(i + 1) == c)) {
                any = true;
            }
        }
        if (quote) {
            error_ = {kMissingQuote, kMissingQuoteText, last_quote};
            return false;
        }
        if (open) {
            error_ = {kTooManyOpen, kTooManyOpenText, opened.back()};
            return false;
        }
        if (!any) error_ = {-EINVAL, nullptr, 0};
        return any;
    }

    NodePtr parse_any() { return parse_list('|'); }

    /// Terms joined by "||", each of which is terms joined by "&&".
    NodePtr parse_list(char op) {
        auto node = std::make_unique<EventFilter::Node>();
        node->kind = op == '|' ? Kind::any : Kind::all;
        for (;;) {
            NodePtr part = op == '|' ? parse_list('&') : parse_term();
            if (!part) return nullptr;
            node->parts.push_back(std::move(part));
            skip_space();
            const char c = at(i_);
            if (c == '\0' || c == ')') break;
            if ((c != '&' && c != '|') || at(i_ + 1) != c) return fail(kSyntax, kTooManyPreds, i_);
            if (c != op) break;
            i_ += 2;
        }
        return node->parts.size() == 1 ? std::move(node->parts[0]) : std::move(node);
    }

    /// "!=" and "!~" are no negations.
    bool is_not() const { return at(i_) == '!' && at(i_ + 1) != '=' && at(i_ + 1) != '~'; }

    NodePtr parse_term() {
        bool inverted = false;
        for (;;) {
            skip_space();
            if (!is_not()) break;
            inverted = !inverted;
            ++i_;
        }
        if (!at(i_)) return fail(-EINVAL, kInvalidFilter, i_);
        NodePtr node;
        if (at(i_) == '(') {
            ++i_;
            node = parse_any();
            if (!node) return nullptr;
            if (at(i_) != ')') return fail(kTooManyOpen, kTooManyOpenText, i_);
            ++i_;
        } else {
            node = std::make_unique<EventFilter::Node>();
            if (!parse_pred(node->predicate)) return nullptr;
        }
        node->inverted ^= inverted;
        return node;
    }

    bool parse_pred(FilterPredicate& p) {
        // Positions of errors are one too far, as Linux counts from behind the first character.
        const std::size_t begin = i_;
        while (alnum(at(i_)) || at(i_) == '_') ++i_;
        if (i_ == begin) {
            error_ = {kSyntax, nullptr, 0};
            return false;
        }
        p.field = trace_find_event_field(call_, text_.substr(begin, i_ - begin));
        if (!p.field) return fail_pred(kFieldNotFound, i_ + 1);
        constexpr std::string_view kUstring = ".ustring";
        if (text_.substr(i_).starts_with(kUstring)) {
            p.ustring = true;
            i_ += kUstring.size();
        }
        skip_space();
        const OpName* found = nullptr;
        for (const OpName& o : kOps)
            if (!found && text_.substr(i_).starts_with(o.text)) found = &o;
        if (!found) return fail_pred(kInvalidOp, i_ + 1);
        p.op = found->op;
        i_ += found->text.size();
        skip_space();
        const char c = at(i_);
        if (c == '\'' || c == '"') return parse_string(p, c);
        if (digit(c) || c == '-') return parse_number(p);
        return fail_pred(kInvalidValue, i_ + 1);
    }

    bool parse_string(FilterPredicate& p, char quote) {
        if (p.op != FilterOp::ne && p.op != FilterOp::glob && p.op != FilterOp::eq)
            return fail_pred(kIllegalFieldOp, i_ + 1);
        if (!is_string_field(*p.field)) return fail_pred(kExpectDigit, i_ + 1);
        const std::size_t begin = ++i_;
        while (at(i_) && at(i_) != quote) ++i_;
        if (!at(i_)) return fail_pred(kMissingQuoteText, i_ + 1);
        if (i_ - begin >= kMaxFilterStrVal) return fail_pred(kOperandTooLong, i_ + 1);
        p.is_string = true;
        p.pattern = text_.substr(begin, i_ - begin);
        p.negated = p.op == FilterOp::ne;
        if (p.op == FilterOp::glob) build_regex(p);
        ++i_;
        return true;
    }

    /// Patterns with a star at an end only are matched without the general matcher, which has consequences (match_string).
    static void build_regex(FilterPredicate& p) {
        std::string& s = p.pattern;
        if (!s.empty() && s[0] == '!') {
            p.negated = true;
            s.erase(0, 1);
        }
        p.regex = RegexType::full;
        if (!s.empty() && digit(s[0])) return;
        for (std::size_t i = 0; i < s.size(); ++i) {
            if (s[i] == '*') {
                if (i == 0) {
                    p.regex = RegexType::end;
                } else if (i + 1 == s.size()) {
                    p.regex = p.regex == RegexType::end ? RegexType::middle : RegexType::front;
                    s.pop_back();
                    break;
                } else {
                    p.regex = RegexType::glob;
                    return;
                }
            } else if (s[i] == '[' || s[i] == '?' || s[i] == '\\') {
                p.regex = RegexType::glob;
                return;
            }
        }
        if (!s.empty() && s[0] == '*') s.erase(0, 1);
    }

    bool parse_number(FilterPredicate& p) {
        if (is_string_field(*p.field)) return fail_pred(kExpectString, i_ + 1);
        if (p.op == FilterOp::glob) return fail_pred(kIllegalFieldOp, i_ + 1);
        const std::size_t begin = i_;
        if (at(i_) == '-') ++i_;
        while (alnum(at(i_))) ++i_;
        if (i_ - begin >= kMaxNumber) return fail_pred(kOperandTooLong, i_ + 1);
        if (!parse_integer(text_.substr(begin, i_ - begin), p.field->is_signed, p.value))
            return fail_pred(kIllegalIntval, begin + 1);
        return true;
    }

    const TraceEventCall& call_;
    std::string_view text_;
    FilterError& error_;
    std::size_t i_{};
};

} // namespace

std::unique_ptr<EventFilter::Node> parse_filter(const TraceEventCall& call, std::string_view text, FilterError& error) {
    return Parser(call, text.substr(0, text.find('\0')), error).parse();
}

const TraceField* trace_find_event_field(const TraceEventCall& call, std::string_view name) {
    static const std::array<TraceField, 5> generic = {TraceField{"int", "CPU", 0, 4, true, FilterType::cpu},
                                                      TraceField{"int", "cpu", 0, 4, true, FilterType::cpu},
                                                      TraceField{"int", "common_cpu", 0, 4, true, FilterType::cpu},
                                                      TraceField{"char *", "COMM", 0, 8, false, FilterType::comm},
                                                      TraceField{"char *", "comm", 0, 8, false, FilterType::comm}};
    for (const TraceField& f : call.fields)
        if (f.name == name) return &f;
    for (const TraceField& f : generic)
        if (f.name == name) return &f;
    for (const TraceField& f : trace_common_fields())
        if (f.name == name) return &f;
    return nullptr;
}

std::span<const TraceField> trace_common_fields() {
    static const std::array<TraceField, 4> common = {trace_field("unsigned short", "common_type", 0, 2, false),
                                                     trace_field("unsigned char", "common_flags", 2, 1, false),
                                                     trace_field("unsigned char", "common_preempt_count", 3, 1, false),
                                                     trace_field("int", "common_pid", 4, 4, true)};
    return common;
}

} // namespace rkperf::ke
