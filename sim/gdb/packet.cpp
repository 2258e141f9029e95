// SPDX-License-Identifier: Apache-2.0
#include "sim/gdb/packet.h"

namespace rkperf::gdb {

namespace {

int digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

constexpr char kDigits[] = "0123456789abcdef";

} // namespace

PacketReader::Event PacketReader::feed(std::uint8_t byte) {
    const char c = static_cast<char>(byte);
    if (c == '$') {
        // A new packet, even if the last one was cut off: inside of one the character is escaped.
        state_ = State::data;
        data_.clear();
        sum_ = 0;
        sum_bad_ = too_long_ = false;
        return Event::none;
    }
    switch (state_) {
        case State::idle:
            if (byte == 3) return Event::interrupt;
            if (c == '+') return Event::ack;
            if (c == '-') return Event::nak;
            return Event::none;
        case State::data:
        case State::escape:
            if (c == '#' && state_ == State::data) {
                state_ = State::sum1;
                return Event::none;
            }
            sum_ = static_cast<std::uint8_t>(sum_ + byte);
            if (c == '}' && state_ == State::data) {
                state_ = State::escape;
                return Event::none;
            }
            if (data_.size() >= kMaxPacket)
                too_long_ = true;
            else
                data_ += state_ == State::escape ? static_cast<char>(byte ^ 0x20) : c;
            state_ = State::data;
            return Event::none;
        case State::sum1:
            sum_bad_ = digit(c) < 0;
            expected_ = static_cast<std::uint8_t>(digit(c) << 4);
            state_ = State::sum2;
            return Event::none;
        case State::sum2: break;
    }
    state_ = State::idle;
    if (digit(c) < 0 || sum_bad_ || too_long_) return Event::bad;
    return (expected_ | digit(c)) == sum_ ? Event::packet : Event::bad;
}

std::string make_packet(std::string_view data) {
    std::string out = "$";
    std::uint8_t sum = 0;
    const auto put = [&](char c) {
        out += c;
        sum = static_cast<std::uint8_t>(sum + static_cast<std::uint8_t>(c));
    };
    for (const char c : data) {
        if (c == '$' || c == '#' || c == '}' || c == '*') {
            put('}');
            put(static_cast<char>(c ^ 0x20));
        } else {
            put(c);
        }
    }
    out += '#';
    out += kDigits[sum >> 4];
    out += kDigits[sum & 15];
    return out;
}

std::string hex_number(std::uint64_t n) {
    std::string s;
    do {
        s.insert(s.begin(), kDigits[n & 15]);
        n >>= 4;
    } while (n);
    return s;
}

std::string to_hex(std::string_view bytes) {
    std::string out;
    out.reserve(bytes.size() * 2);
    for (const char c : bytes) {
        out += kDigits[static_cast<std::uint8_t>(c) >> 4];
        out += kDigits[c & 15];
    }
    return out;
}

std::optional<std::string> from_hex(std::string_view digits) {
    if (digits.size() % 2) return std::nullopt;
    std::string out;
    for (std::size_t i = 0; i < digits.size(); i += 2) {
        const int high = digit(digits[i]), low = digit(digits[i + 1]);
        if (high < 0 || low < 0) return std::nullopt;
        out += static_cast<char>(high << 4 | low);
    }
    return out;
}

std::string hex_le(std::uint64_t value, unsigned bytes) {
    std::string out;
    for (unsigned i = 0; i < bytes; ++i, value >>= 8) {
        out += kDigits[value >> 4 & 15];
        out += kDigits[value & 15];
    }
    return out;
}

std::optional<std::uint64_t> Fields::hex() {
    std::uint64_t value = 0;
    std::size_t n = 0;
    while (n < rest_.size() && digit(rest_[n]) >= 0) {
        if (n == 16) return std::nullopt;
        value = value << 4 | static_cast<std::uint64_t>(digit(rest_[n++]));
    }
    if (!n) return std::nullopt;
    rest_.remove_prefix(n);
    return value;
}

bool Fields::skip(char c) { return skip(std::string_view(&c, 1)); }

bool Fields::skip(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
}

std::string_view Fields::until(char c) {
    const std::size_t at = rest_.find(c);
    const std::string_view out = rest_.substr(0, at);
    rest_ = at == std::string_view::npos ? std::string_view() : rest_.substr(at + 1);
    return out;
}

} // namespace rkperf::gdb
