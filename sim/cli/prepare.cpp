// SPDX-License-Identifier: Apache-2.0
// What is needed before the machine exists: its description, the files, the command line of the first program.
#include "sim/cli/session.h"

#include <fmt/format.h>

#include <sys/stat.h>
#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace rkperf::cli {

namespace fs = std::filesystem;

namespace {

constexpr const char* kClientFolder = "/usr/libexec/rkperf"; ///< in the guest
constexpr const char* kClientName = "miniperf";

bool is_file(const fs::path& p) {
    struct stat st {};
    return !::stat(p.c_str(), &st) && S_ISREG(st.st_mode);
}

fs::path own_folder() {
    std::error_code error;
    return fs::read_symlink("/proc/self/exe", error).parent_path();
}

/// The host's folder with the perf client: RKPERF_LIBEXEC, the build, or where it is installed.
std::string client_folder() {
    if (const char* given = std::getenv("RKPERF_LIBEXEC")) {
        if (!is_file(fs::path(given) / kClientName))
            throw UserError(fmt::format("RKPERF_LIBEXEC={}: there is no {} in it", given, kClientName));
        return fs::absolute(given).lexically_normal().string();
    }
    const fs::path own = own_folder();
    for (const fs::path& folder : {own / "workloads", own / "../libexec/rkperf"})
        if (is_file(folder / kClientName)) return folder.lexically_normal().string();
    throw UserError(fmt::format("the perf client {} is neither in {} nor in {}; RKPERF_LIBEXEC can name its folder",
                                kClientName, (own / "workloads").string(),
                                (own / "../libexec/rkperf").lexically_normal().string()));
}

/// A name without folder or suffix is one of those that come with rkperf.
std::string machine_file(const std::string& text) {
    if (text.empty() || text.find('/') != std::string::npos || text.ends_with(".toml")) return text;
    const fs::path own = own_folder();
    std::vector<std::string> names;
    for (const fs::path& folder : {own / "machines", own / "../share/rkperf/machines"}) {
        const fs::path file = (folder / (text + ".toml")).lexically_normal();
        if (is_file(file)) return file.string();
        std::error_code error;
        for (const auto& entry : fs::directory_iterator(folder, error))
            if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
    }
    std::sort(names.begin(), names.end());
    std::string known;
    for (const std::string& n : names) known += (known.empty() ? "" : ", ") + n;
    throw UserError(fmt::format("--machine {}: there is no such machine; there are {}, or give a file", text,
                                known.empty() ? "none" : known));
}

} // namespace

soc::LoadedConfig load_machine(const Options& o) {
    soc::LoadedConfig c = soc::load_config_file(machine_file(o.machine), o.overrides);
    if (!c.faults.empty()) {
        std::string all;
        for (const std::string& f : c.faults) all += (all.empty() ? "" : "\nrkperf: ") + f;
        throw UserError(all);
    }
    if (o.cpus != ~0u) {
        const std::uint32_t there = (1u << c.config.cpus.size()) - 1;
        if (o.cpus & ~there)
            throw UserError(
                fmt::format("--cpus {}: this machine has the CPUs 0 to {}", o.cpus_text, c.config.cpus.size() - 1));
    }
    return c;
}

Start prepare_start(const Options& o) {
    std::error_code error;
    const std::string cwd = fs::current_path(error).string();
    if (error) throw UserError(fmt::format("the current folder is not there: {}", error.message()));
    Start s{GuestFiles(o, cwd), {}, {}, false};
    GuestFiles& files = s.files;
    s.client = o.command != Command::run;
    if (!s.client) {
        if (o.program.empty()) throw UserError("run: the program to run is missing");
        s.path = find_program(files, o.program[0], cwd);
        check_program(files, s.path, o.program[0]);
        s.argv = o.program;
    } else {
        const std::string host = client_folder();
        files.bind(host, kClientFolder, false);
        s.path = std::string(kClientFolder) + "/" + kClientName;
        check_program(files, s.path, host + "/" + kClientName);
        const bool counts = o.command == Command::stat;
        s.argv = {kClientName, counts ? "stat" : "record"};
        if (o.command == Command::explain) {
            // The recording itself is of no interest: it goes to the guest's own /tmp, unless asked for.
            s.argv.insert(s.argv.end(), {"-q", "-o", "/tmp/perf.data"});
        }
        s.argv.insert(s.argv.end(), o.client_args.begin(), o.client_args.end());
        if (!o.program.empty()) {
            const std::string guest = find_program(files, o.program[0], cwd);
            check_program(files, guest, o.program[0]);
            s.argv.push_back("--");
            const bool usable = o.program[0].find('/') != std::string::npos && cwd != "/";
            s.argv.push_back(usable ? o.program[0] : guest);
            s.argv.insert(s.argv.end(), o.program.begin() + 1, o.program.end());
        }
    }
    return s;
}

std::vector<std::string> guest_environment(const Options& o, const std::string& cwd) {
    std::vector<std::string> env{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root",
                                 "LANG=C", "PWD=" + cwd};
    for (const std::string& e : o.env) {
        const std::string name = e.substr(0, e.find('=') + 1);
        const auto same =
            std::find_if(env.begin(), env.end(), [&](const std::string& x) { return x.starts_with(name); });
        if (same == env.end())
            env.push_back(e);
        else
            *same = e;
    }
    return env;
}

} // namespace rkperf::cli
