// SPDX-License-Identifier: Apache-2.0
// Framing of the GDB remote serial protocol (gdb manual, appendix E): packets `$data#checksum`, acknowledgements, the
// interrupt byte, escapes, and hexadecimal fields. Takes any bytes whatever.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rkperf::gdb {

/// What a peer has sent, byte by byte.
class PacketReader {
  public:
    enum class Event : std::uint8_t {
        none,      ///< more bytes are needed
        packet,    ///< data() is a whole packet, escapes resolved
        bad,       ///< checksum wrong, or longer than kMaxPacket
        interrupt, ///< Ctrl-C (0x03) outside of a packet
        ack,
        nak,
    };
    Event feed(std::uint8_t byte);
    const std::string& data() const { return data_; }

    /// Longest packet that is taken; told to gdb as PacketSize.
    static constexpr std::size_t kMaxPacket = 0x4000;

  private:
    enum class State : std::uint8_t { idle, data, escape, sum1, sum2 };
    State state_{State::idle};
    std::string data_;
    std::uint8_t sum_{}, expected_{};
    bool sum_bad_{}, too_long_{};
};

/// `$data#checksum`, with the bytes escaped that need it.
std::string make_packet(std::string_view data);

/// As numbers are sent: lower case, no leading zeros.
std::string hex_number(std::uint64_t n);
std::string to_hex(std::string_view bytes);
/// Nothing if it is not an even number of hexadecimal digits.
std::optional<std::string> from_hex(std::string_view digits);
/// Value as 2 * bytes digits, least significant byte first, as registers are sent.
std::string hex_le(std::uint64_t value, unsigned bytes);

/// Takes fields off the front of a packet; a field that is not there leaves everything as it was.
class Fields {
  public:
    explicit Fields(std::string_view text) : rest_(text) {}
    std::optional<std::uint64_t> hex(); ///< 1 to 16 digits
    bool skip(char c);
    bool skip(std::string_view word);
    std::string_view until(char c); ///< up to c, which is taken too, or the end
    std::string_view rest() const { return rest_; }
    bool empty() const { return rest_.empty(); }

  private:
    std::string_view rest_;
};

} // namespace rkperf::gdb
