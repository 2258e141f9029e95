// SPDX-License-Identifier: Apache-2.0
// The debugger's connection: a TCP port of the loopback interface, a Unix socket, or standard input and output.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rkperf::gdb {

class Transport {
  public:
    /// PORT, HOST:PORT, unix:PATH or stdio. Listens at once. Throws std::runtime_error with one sentence.
    explicit Transport(std::string_view where);
    ~Transport();
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;

    /// What to tell the user: how gdb connects.
    const std::string& address() const { return address_; }
    /// Waits for a debugger; false if there will be none. Nothing to do for stdio.
    bool accept();
    bool connected() const { return in_ >= 0; }
    /// Waits for bytes; 0 if the debugger has gone.
    std::size_t read(std::uint8_t* to, std::size_t n);
    /// True if bytes, or the end, can be read without waiting.
    bool readable() const;
    bool write(std::string_view bytes);
    void close();

  private:
    void listen_tcp(std::string_view host, std::string_view port);
    void listen_unix(const std::string& path);

    std::string address_, path_;
    int listener_{-1}, in_{-1}, out_{-1};
    bool stdio_{};
};

} // namespace rkperf::gdb
