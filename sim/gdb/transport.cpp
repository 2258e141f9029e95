// SPDX-License-Identifier: Apache-2.0
#include "sim/gdb/transport.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>

namespace rkperf::gdb {

namespace {

[[noreturn]] void fail(std::string_view what) {
    throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

} // namespace

Transport::Transport(std::string_view where) {
    if (where == "stdio") {
        // What the program writes must not get into the protocol, and the protocol is not its input.
        in_ = ::dup(STDIN_FILENO);
        out_ = ::dup(STDOUT_FILENO);
        const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (in_ < 0 || out_ < 0 || null < 0 || ::dup2(null, STDIN_FILENO) < 0 ||
            ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
            fail("stdio");
        ::close(null);
        stdio_ = true;
        address_ = "stdio";
        return;
    }
    const auto colon = where.rfind(':');
    if (where.starts_with("unix:"))
        listen_unix(std::string(where.substr(5)));
    else if (colon == std::string_view::npos)
        listen_tcp("127.0.0.1", where);
    else
        listen_tcp(where.substr(0, colon), where.substr(colon + 1));
}

Transport::~Transport() {
    close();
    if (listener_ >= 0) ::close(listener_);
    if (!path_.empty()) ::unlink(path_.c_str());
}

void Transport::listen_unix(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof address.sun_path)
        throw std::runtime_error("the path is empty or too long");
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener_ < 0) fail(path);
    const mode_t old = ::umask(0077);
    const int bound = ::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    const int error = errno;
    ::umask(old);
    errno = error;
    if (bound) fail(path);
    path_ = path;
    if (::listen(listener_, 1)) fail(path);
    address_ = path;
}

void Transport::listen_tcp(std::string_view host, std::string_view port) {
    const std::string h(host), p(port);
    if (p.empty() || p.find_first_not_of("0123456789") != std::string::npos || p.size() > 5 || std::stoi(p) > 65535)
        throw std::runtime_error(fmt::format("\"{}\" is no port; use PORT, unix:PATH or stdio", p));
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    addrinfo* found = nullptr;
    if (const int e = ::getaddrinfo(h.c_str(), p.c_str(), &hints, &found))
        throw std::runtime_error(fmt::format("{}: {}", h, ::gai_strerror(e)));
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> list(found, ::freeaddrinfo);
    listener_ = ::socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener_ < 0) fail("socket");
    const int on = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (::bind(listener_, list->ai_addr, list->ai_addrlen) || ::listen(listener_, 1)) fail(fmt::format("{}:{}", h, p));
    sockaddr_storage bound{};
    socklen_t size = sizeof bound;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&bound), &size);
    const auto number = bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                                    : reinterpret_cast<sockaddr_in*>(&bound)->sin_port;
    address_ = fmt::format("{}:{}", h, ntohs(number));
}

bool Transport::accept() {
    if (connected()) return true;
    if (stdio_ || listener_ < 0) return false;
    do {
        in_ = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    } while (in_ < 0 && errno == EINTR);
    if (in_ < 0) return false;
    const int on = 1;
    ::setsockopt(in_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); // refused by Unix sockets, which do not need it
    out_ = in_;
    return true;
}

std::size_t Transport::read(std::uint8_t* to, std::size_t n) {
    ssize_t r;
    do {
        r = ::read(in_, to, n);
    } while (r < 0 && errno == EINTR);
    return r > 0 ? static_cast<std::size_t>(r) : 0;
}

bool Transport::readable() const {
    if (!connected()) return false;
    pollfd p{in_, POLLIN, 0};
    return ::poll(&p, 1, 0) > 0;
}

bool Transport::write(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t r =
            stdio_ ? ::write(out_, bytes.data(), bytes.size()) : ::send(out_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (r < 0 && errno == EINTR) continue;
        if (r <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(r));
    }
    return true;
}

void Transport::close() {
    if (out_ >= 0 && out_ != in_) ::close(out_);
    if (in_ >= 0) ::close(in_);
    in_ = out_ = -1;
}

} // namespace rkperf::gdb
