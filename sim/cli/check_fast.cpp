// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/check_fast.h"

#include "sim/cli/session.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

namespace rkperf::cli {

namespace fs = std::filesystem;

namespace {

using Bytes = std::map<std::string, std::string>; ///< what a run left, by name

/// Identity and state of a file, which tell a replacement and a change in place.
struct Mark {
    ino_t inode{};
    off_t size{};
    timespec modified{};

    bool same_state(const Mark& o) const {
        return size == o.size && modified.tv_sec == o.modified.tv_sec && modified.tv_nsec == o.modified.tv_nsec;
    }
};
using Files = std::map<std::string, Mark>;

/// A folder that goes away with its contents.
class Scratch {
  public:
    explicit Scratch(const std::string& beside) : path_(beside + "/.rkperf-check-XXXXXX") {
        if (!::mkdtemp(path_.data()))
            throw UserError(fmt::format("--check-fast: cannot make a folder in {}: {}", beside, std::strerror(errno)));
    }
    ~Scratch() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    std::string file(std::size_t n) const { return path_ + "/" + std::to_string(n); }
    std::string file(const std::string& name) const { return path_ + "/" + name; }

  private:
    std::string path_;
};

std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::set<std::string> writable_folders(const Options& o) {
    std::set<std::string> folders{fs::current_path().string()};
    for (const BindOption& b : o.binds)
        if (b.writable && fs::is_directory(b.host)) folders.insert(fs::canonical(b.host).string());
    return folders;
}

Files files_in(const std::set<std::string>& folders) {
    Files files;
    for (const std::string& folder : folders)
        for (const auto& entry : fs::directory_iterator(folder)) {
            struct stat st {};
            const std::string path = entry.path().string();
            if (::lstat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode))
                files[path] = Mark{st.st_ino, st.st_size, st.st_mtim};
        }
    return files;
}

int wait_for(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void redirect(int descriptor, const std::string& path) {
    const int to = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (to < 0 || ::dup2(to, descriptor) < 0) ::_exit(kExitUsage);
    ::close(to);
}

/// One run in a child process; gives what it left, its exit status as "exit status".
Bytes run_once(Options o, bool plain, const Scratch& scratch, const std::set<std::string>& folders) {
    // The key itself is no result: it must not show.
    o.plain_loop = plain;
    o.totals = scratch.file("totals");
    const std::string out = scratch.file("out"), err = scratch.file("err");
    const Files before = files_in(folders);
    std::fflush(stdout);
    std::fflush(stderr);
    const pid_t child = ::fork();
    if (child < 0) throw UserError(fmt::format("--check-fast: fork: {}", std::strerror(errno)));
    if (child == 0) {
        redirect(STDOUT_FILENO, out);
        redirect(STDERR_FILENO, err);
        int status = kExitUsage;
        try {
            status = run_session(o);
        } catch (const UserError& e) {
            fmt::print(stderr, "rkperf: {}\n", e.what());
        }
        std::fflush(stdout);
        std::fflush(stderr);
        ::_exit(status);
    }
    Bytes left;
    left["exit status"] = std::to_string(wait_for(child));
    left["standard output"] = read_file(out);
    left["standard error"] = read_file(err);
    left["totals of events"] = read_file(o.totals);
    std::error_code ignored;
    fs::remove(o.totals, ignored);
    for (const auto& [path, mark] : files_in(folders)) {
        const auto old = before.find(path);
        if (old != before.end() && old->second.inode == mark.inode) {
            if (old->second.same_state(mark)) continue;
            throw UserError(
                fmt::format("--check-fast: {} was there before and is changed in place, so the run cannot be "
                            "repeated; use an empty folder",
                            path));
        }
        left[path] = read_file(path);
    }
    return left;
}

} // namespace

int check_fast(const Options& o) {
    const std::set<std::string> folders = writable_folders(o);
    const Scratch scratch(fs::temp_directory_path().string());
    const Files before = files_in(folders);
    // Second names keep what the first run replaces or removes.
    std::map<std::string, Scratch> kept;
    std::map<std::string, std::string> names;
    for (const std::string& folder : folders) kept.try_emplace(folder, fs::path(folder).parent_path().string());
    for (const auto& [path, mark] : before) {
        const std::string folder = fs::path(path).parent_path().string();
        const std::string name = kept.at(folder).file(names.size());
        if (::link(path.c_str(), name.c_str()))
            throw UserError(fmt::format("--check-fast: {}: {}; use an empty folder", path, std::strerror(errno)));
        names[path] = name;
    }
    const Bytes plain = run_once(o, true, scratch, folders);
    for (const auto& [path, mark] : files_in(folders)) {
        const auto old = before.find(path);
        if (old == before.end() || old->second.inode != mark.inode) fs::remove(path);
    }
    for (const auto& [path, name] : names)
        if (!fs::exists(path)) fs::rename(name, path);
    const Bytes fast = run_once(o, false, scratch, folders);

    std::fputs(fast.at("standard error").c_str(), stderr);
    print_text(fast.at("standard output"));
    std::set<std::string> all;
    for (const Bytes* b : {&plain, &fast})
        for (const auto& [name, bytes] : *b) all.insert(name);
    bool differs = false;
    for (const std::string& name : all) {
        const auto a = plain.find(name), b = fast.find(name);
        const bool there = a != plain.end() && b != fast.end();
        if (there && a->second == b->second) continue;
        differs = true;
        fmt::print(stderr, "rkperf: --check-fast: {} {}\n", name,
                   there ? "differs between the plain and the fast loop" : "came of one loop only");
    }
    if (differs) return kExitDiffers;
    if (!o.quiet) fmt::print(stderr, "rkperf: --check-fast: {} results are the same, byte for byte\n", all.size());
    return std::atoi(fast.at("exit status").c_str());
}

} // namespace rkperf::cli
