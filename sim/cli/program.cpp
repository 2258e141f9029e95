// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/program.h"

#include "sim/os/exec/elf.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace rkperf::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::array kGuestPath{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"};
/// Folders of the guest's own, which no folder of the host may cover.
constexpr std::array kGuestOwn{"/", "/dev", "/dev/shm", "/proc", "/sys", "/tmp"};
constexpr int kMaxLinks = 40, kMaxInterpreters = 5;

class HostFile {
  public:
    explicit HostFile(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
    ~HostFile() {
        if (fd_ >= 0) ::close(fd_);
    }
    HostFile(const HostFile&) = delete;
    HostFile& operator=(const HostFile&) = delete;
    explicit operator bool() const { return fd_ >= 0; }
    bool read(std::uint64_t offset, std::span<std::uint8_t> to) const {
        std::size_t done = 0;
        while (done < to.size()) {
            const ssize_t n = ::pread(fd_, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
            if (n <= 0) return false;
            done += static_cast<std::size_t>(n);
        }
        return true;
    }

  private:
    int fd_;
};

bool under(const std::string& path, const std::string& folder) {
    if (folder == "/") return true;
    return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

std::string normal(const fs::path& p) {
    std::string s = p.lexically_normal().string();
    while (s.size() > 1 && s.back() == '/') s.pop_back();
    return s;
}

bool is_regular(const std::string& host) {
    struct stat st {};
    return !::stat(host.c_str(), &st) && S_ISREG(st.st_mode);
}

/// First line of a script without "#!", or empty.
std::string script_interpreter(const HostFile& f, std::uint64_t size) {
    std::array<std::uint8_t, 256> head{};
    const std::size_t n = std::min<std::uint64_t>(size, head.size());
    if (!f.read(0, std::span(head).first(n))) return {};
    const std::string_view text(reinterpret_cast<const char*>(head.data()), n);
    if (!text.starts_with("#!")) return {};
    std::string_view line = text.substr(2, text.find('\n') == std::string_view::npos ? text.npos : text.find('\n') - 2);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    return std::string(line.substr(0, line.find_first_of(" \t")));
}

} // namespace

GuestFiles::GuestFiles(const Options& o, const std::string& cwd) {
    if (!o.root.empty()) {
        struct stat st {};
        if (::stat(o.root.c_str(), &st)) throw UserError(fmt::format("--root {}: {}", o.root, std::strerror(errno)));
        if (!S_ISDIR(st.st_mode)) throw UserError(fmt::format("--root {}: it is not a folder", o.root));
        mounts_.root = normal(fs::absolute(o.root));
    }
    mounts_.cwd = cwd;
    // As a bind it would replace the guest's whole root.
    if (cwd != "/") bind(cwd, cwd, true);
    for (const BindOption& b : o.binds) {
        struct stat st {};
        if (::stat(b.host.c_str(), &st)) throw UserError(fmt::format("--bind {}: {}", b.host, std::strerror(errno)));
        if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
            throw UserError(fmt::format("--bind {}: it is neither a folder nor a regular file", b.host));
        const std::string host = normal(fs::absolute(b.host));
        bind(host, b.guest.empty() ? host : normal(b.guest), b.writable);
    }
}

void GuestFiles::bind(std::string host, std::string guest, bool writable) {
    // They are mounted in this order, and a folder must not hide one inside it.
    auto& binds = mounts_.binds;
    const auto inside = std::find_if(binds.begin(), binds.end(),
                                     [&](const auto& b) { return b.guest != guest && under(b.guest, guest); });
    binds.insert(inside, {std::move(host), std::move(guest), writable});
}

std::optional<std::string> GuestFiles::map(const std::string& guest) const {
    const os::MountConfig::Bind* best = nullptr;
    for (const auto& b : mounts_.binds)
        if (under(guest, b.guest) && (!best || b.guest.size() >= best->guest.size())) best = &b;
    if (best) return best->guest == "/" ? normal(best->host + guest) : best->host + guest.substr(best->guest.size());
    for (const char* own : kGuestOwn)
        if (std::strcmp(own, "/") && under(guest, own)) return std::nullopt;
    if (mounts_.root.empty()) return std::nullopt;
    return normal(mounts_.root + guest);
}

std::optional<std::string> GuestFiles::host_path(const std::string& guest) const {
    std::vector<std::string> todo; // components still to walk, the next one last
    const auto push = [&](const fs::path& p) {
        std::vector<std::string> parts;
        for (const auto& c : p.relative_path())
            if (!c.empty() && c != ".") parts.push_back(c.string());
        todo.insert(todo.end(), parts.rbegin(), parts.rend());
    };
    push(guest);
    std::string at;
    int links = 0;
    while (!todo.empty()) {
        const std::string name = todo.back();
        todo.pop_back();
        if (name == "..") {
            at.resize(at.empty() ? 0 : at.rfind('/'));
            continue;
        }
        const std::string next = at + "/" + name;
        const auto host = map(next);
        struct stat st {};
        if (!host || ::lstat(host->c_str(), &st)) {
            // A folder that exists only because something is mounted below it.
            const bool passage = std::any_of(mounts_.binds.begin(), mounts_.binds.end(),
                                             [&](const auto& b) { return under(b.guest, next); });
            if (!passage) return std::nullopt;
            at = next;
            continue;
        }
        if (!S_ISLNK(st.st_mode)) {
            at = next;
            continue;
        }
        if (++links > kMaxLinks) return std::nullopt;
        std::error_code error;
        const fs::path target = fs::read_symlink(*host, error);
        if (error) return std::nullopt;
        if (target.is_absolute()) at.clear();
        push(target);
    }
    const auto host = map(at.empty() ? "/" : at);
    struct stat st {};
    if (!host || ::stat(host->c_str(), &st)) return std::nullopt;
    return host;
}

void GuestFiles::show(const std::string& host_file) {
    const auto make_visible = [&](const std::string& path) {
        const auto seen = map(path);
        if (seen && *seen == path) return;
        const std::string folder = normal(fs::path(path).parent_path());
        const bool own = std::find(kGuestOwn.begin(), kGuestOwn.end(), folder) != kGuestOwn.end();
        const std::string& what = own ? path : folder;
        bind(what, what, false);
    };
    make_visible(host_file);
    // What a link points to must be seen as well.
    std::error_code error;
    const fs::path real = fs::canonical(host_file, error);
    if (!error && real.string() != host_file) make_visible(real.string());
}

std::string find_program(GuestFiles& files, const std::string& name, const std::string& cwd) {
    if (name.empty()) throw UserError("the name of the program is empty");
    if (name.find('/') == std::string::npos) {
        if (!files.mounts().root.empty())
            for (const char* folder : kGuestPath) {
                const std::string guest = std::string(folder) + "/" + name;
                if (const auto host = files.host_path(guest); host && is_regular(*host)) return guest;
            }
        const char* path = std::getenv("PATH");
        std::string_view rest = path ? path : "";
        while (!rest.empty()) {
            const std::string folder(rest.substr(0, rest.find(':')));
            rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
            const std::string host = normal(fs::absolute(folder) / name);
            if (!folder.empty() && is_regular(host) && !::access(host.c_str(), X_OK)) {
                files.show(host);
                return host;
            }
        }
        if (is_regular(cwd + "/" + name))
            throw UserError(fmt::format("{}: not found in PATH; ./{} is the file in the current folder", name, name));
        throw UserError(fmt::format("{}: not found in PATH", name));
    }
    const std::string path = normal(name[0] == '/' ? fs::path(name) : fs::path(cwd) / name);
    if (!files.mounts().root.empty() && files.host_path(path)) return path;
    struct stat st {};
    if (::stat(path.c_str(), &st)) {
        const int error = errno;
        throw UserError(fmt::format("{}: {}", name, error == ENOENT ? "there is no such file" : std::strerror(error)));
    }
    files.show(path);
    return path;
}

void check_program(const GuestFiles& files, const std::string& guest_path, const std::string& name) {
    std::string path = guest_path, called = name;
    for (int depth = 0; depth < kMaxInterpreters; ++depth) {
        const auto refuse = [&](std::string_view reason) { return UserError(fmt::format("{}: {}", called, reason)); };
        const auto host = files.host_path(path);
        if (!host) throw refuse("there is no such file in the simulated system");
        struct stat st {};
        if (::stat(host->c_str(), &st)) throw refuse(std::strerror(errno));
        if (S_ISDIR(st.st_mode)) throw refuse("it is a folder, not a program");
        if (!S_ISREG(st.st_mode)) throw refuse("it is not a regular file");
        const HostFile file(*host);
        if (!file) throw refuse(fmt::format("it cannot be read: {}", std::strerror(errno)));
        if (st.st_size == 0) throw refuse("it is empty, not an ELF file");
        const auto size = static_cast<std::uint64_t>(st.st_size);
        const std::string interpreter = script_interpreter(file, size);
        if (!interpreter.empty()) {
            if (!files.host_path(interpreter))
                throw refuse(
                    fmt::format("it is a script for {}, which the simulated system does not see; give --root DIR "
                                "with the folder of an arm64 root file system",
                                interpreter));
            path = interpreter;
            called = fmt::format("{} (interpreter of {})", interpreter, called);
            continue;
        }
        os::ElfImage image;
        os::ElfError error;
        const auto read = [&](std::uint64_t offset, std::span<std::uint8_t> to) { return file.read(offset, to); };
        if (os::read_elf(read, size, image, error)) throw refuse(error.reason);
        if (!(st.st_mode & 0111)) throw refuse("it is not executable; chmod +x makes it so");
        if (!image.interpreter.empty() && !files.host_path(image.interpreter))
            throw refuse(
                fmt::format("it needs the dynamic linker {}, which the simulated system does not see; give --root DIR "
                            "with the folder of an arm64 root file system, for instance /usr/aarch64-linux-gnu",
                            image.interpreter));
        return;
    }
    throw UserError(fmt::format("{}: too many interpreters one after the other", name));
}

} // namespace rkperf::cli
