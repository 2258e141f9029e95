// SPDX-License-Identifier: Apache-2.0
// Writes protocol buffers (encoding of protobuf.dev/programming-guides/encoding): as much as a trace needs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rkperf::soc {

class ProtoMessage {
  public:
    void clear() { bytes_.clear(); }
    const std::string& bytes() const { return bytes_; }

    /// Field of a varint type; a negative number takes ten bytes.
    void number(unsigned field, std::uint64_t v) {
        varint(std::uint64_t{field} << 3);
        varint(v);
    }
    /// Field of type string, bytes or message.
    void text(unsigned field, std::string_view v) {
        varint(std::uint64_t{field} << 3 | 2);
        varint(v.size());
        bytes_.append(v);
    }
    void message(unsigned field, const ProtoMessage& m) { text(field, m.bytes_); }
    void varint(std::uint64_t v) {
        for (; v >= 0x80; v >>= 7) bytes_.push_back(static_cast<char>(v | 0x80));
        bytes_.push_back(static_cast<char>(v));
    }

  private:
    std::string bytes_;
};

} // namespace rkperf::soc
