// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/program.h"

#include <catch2/catch.hpp>

#include <elf.h>
#include <unistd.h>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

using namespace rkperf::cli;
namespace fs = std::filesystem;

namespace {

/// A folder of its own, in which the test stands, removed at the end.
class Folder {
  public:
    Folder()
        : path_(fs::temp_directory_path() / ("rkperf-program-test-" + std::to_string(::getpid()))),
          old_(fs::current_path()) {
        fs::remove_all(path_);
        fs::create_directories(path_ / "work");
        fs::current_path(path_ / "work");
    }
    ~Folder() {
        fs::current_path(old_);
        fs::remove_all(path_);
    }
    std::string work() const { return (path_ / "work").string(); }
    std::string path(const std::string& name) const { return (path_ / name).string(); }

  private:
    fs::path path_, old_;
};

/// A small AArch64 executable; with an interpreter if one is named.
std::string elf(const std::string& interpreter = "", unsigned machine = EM_AARCH64) {
    Elf64_Ehdr h{};
    std::memcpy(h.e_ident, ELFMAG, SELFMAG);
    h.e_ident[EI_CLASS] = ELFCLASS64;
    h.e_ident[EI_DATA] = ELFDATA2LSB;
    h.e_ident[EI_VERSION] = EV_CURRENT;
    h.e_type = ET_EXEC;
    h.e_machine = static_cast<Elf64_Half>(machine);
    h.e_version = EV_CURRENT;
    h.e_entry = 0x400200;
    h.e_phoff = sizeof h;
    h.e_ehsize = sizeof h;
    h.e_phentsize = sizeof(Elf64_Phdr);
    h.e_phnum = interpreter.empty() ? 1 : 2;
    Elf64_Phdr load{}, interp{};
    load.p_type = PT_LOAD;
    load.p_flags = PF_R | PF_X;
    load.p_vaddr = 0x400000;
    load.p_filesz = load.p_memsz = 0x400;
    interp.p_type = PT_INTERP;
    interp.p_offset = 0x300;
    interp.p_filesz = interpreter.size() + 1;
    std::string s(0x400, '\0');
    std::memcpy(s.data(), &h, sizeof h);
    std::memcpy(s.data() + sizeof h, &load, sizeof load);
    std::memcpy(s.data() + sizeof h + sizeof load, &interp, sizeof interp);
    std::memcpy(s.data() + 0x300, interpreter.c_str(), interpreter.size());
    return s;
}

void write(const std::string& path, const std::string& bytes, unsigned mode = 0755) {
    if (fs::path(path).has_parent_path()) fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
    fs::permissions(path, static_cast<fs::perms>(mode));
}

/// The sentence with which the program is refused, or its guest path.
std::string outcome(const std::string& name, const Options& o = {}) {
    const std::string cwd = fs::current_path().string();
    try {
        GuestFiles files(o, cwd);
        const std::string guest = find_program(files, name, cwd);
        check_program(files, guest, name);
        return guest;
    } catch (const UserError& e) {
        return e.what();
    }
}

} // namespace

TEST_CASE("programs are found by path and refused with their name and the reason") {
    const Folder f;
    write("good", elf());
    CHECK(outcome("./good") == f.work() + "/good");
    CHECK(outcome(f.work() + "/good") == f.work() + "/good");
    CHECK_THAT(outcome("good"), Catch::Contains("good: not found in PATH; ./good"));
    CHECK(outcome("no-such-program-anywhere") == "no-such-program-anywhere: not found in PATH");
    CHECK(outcome("./missing") == "./missing: there is no such file");
    CHECK(outcome("./good/x") == "./good/x: Not a directory");
    fs::create_directory("folder");
    CHECK(outcome("./folder") == "./folder: it is a folder, not a program");
    write("empty", "");
    CHECK_THAT(outcome("./empty"), Catch::Contains("./empty: it is empty"));
    write("text", "hello\n");
    CHECK(outcome("./text") == "./text: not an ELF file");
    write("x86", elf("", EM_X86_64));
    CHECK_THAT(outcome("./x86"), Catch::Contains("./x86: an ELF file for another architecture"));
    write("cut", elf().substr(0, 40));
    CHECK(outcome("./cut") == "./cut: the ELF header is cut off");
    write("short", elf().substr(0, 0x200));
    CHECK_THAT(outcome("./short"), Catch::Contains("beyond the end of the file"));
    write("plain", elf(), 0644);
    CHECK_THAT(outcome("./plain"), Catch::Contains("./plain: it is not executable"));
    CHECK_THAT(outcome(""), Catch::Contains("empty"));
}

TEST_CASE("a dynamic program needs its linker to be visible") {
    const Folder f;
    write("dynamic", elf("/lib/ld-test.so.1"));
    CHECK_THAT(outcome("./dynamic"),
               Catch::Contains("it needs the dynamic linker /lib/ld-test.so.1") && Catch::Contains("--root"));
    write(f.path("root/usr/lib/ld-test.so.1"), elf());
    fs::create_symlink("usr/lib", f.path("root/lib"));
    Options o;
    o.root = f.path("root");
    CHECK(outcome("./dynamic", o) == f.work() + "/dynamic");
    // A link is followed as the guest follows it: from the guest's root.
    fs::remove(f.path("root/lib"));
    fs::create_symlink("/usr/lib", f.path("root/lib"));
    CHECK(outcome("./dynamic", o) == f.work() + "/dynamic");
    fs::remove(f.path("root/lib"));
    fs::create_symlink("/elsewhere", f.path("root/lib"));
    CHECK_THAT(outcome("./dynamic", o), Catch::Contains("dynamic linker"));
}

TEST_CASE("scripts need their interpreter") {
    const Folder f;
    write("script", "#! /bin/test-shell -e\necho\n");
    CHECK_THAT(outcome("./script"), Catch::Contains("a script for /bin/test-shell"));
    write(f.path("root/bin/test-shell"), elf());
    Options o;
    o.root = f.path("root");
    CHECK(outcome("./script", o) == f.work() + "/script");
    write(f.path("root/bin/test-shell"), "nothing");
    CHECK_THAT(outcome("./script", o), Catch::Contains("/bin/test-shell (interpreter of ./script): not an ELF file"));
}

TEST_CASE("a program without slash comes from the guest's root first") {
    const Folder f;
    write(f.path("root/usr/bin/prog"), elf());
    Options o;
    o.root = f.path("root");
    CHECK(outcome("prog", o) == "/usr/bin/prog");
}

TEST_CASE("what the guest sees: the current folder, and the program's own read-only") {
    const Folder f;
    write(f.path("other/prog"), elf());
    const std::string cwd = fs::current_path().string();
    GuestFiles files(Options{}, cwd);
    CHECK(find_program(files, f.path("other/prog"), cwd) == f.path("other/prog"));
    const auto& binds = files.mounts().binds;
    REQUIRE(binds.size() == 2);
    CHECK(binds[0].host == cwd);
    CHECK(binds[0].writable);
    CHECK(binds[1].guest == f.path("other"));
    CHECK_FALSE(binds[1].writable);
    CHECK(files.mounts().cwd == cwd);
    // Nothing else of the host.
    CHECK_FALSE(files.host_path("/etc/passwd"));
    CHECK_FALSE(files.host_path(cwd + "/../other2"));
    CHECK(files.host_path(cwd + "/../other/prog") == f.path("other/prog"));
}

TEST_CASE("a folder that holds the current one does not hide it") {
    const Folder f;
    write("../prog", elf());
    const std::string cwd = fs::current_path().string();
    GuestFiles files(Options{}, cwd);
    find_program(files, "../prog", cwd);
    const auto& binds = files.mounts().binds;
    REQUIRE(binds.size() == 2);
    CHECK(binds[0].guest == fs::path(cwd).parent_path());
    CHECK_FALSE(binds[0].writable);
    CHECK(binds[1].guest == cwd);
    CHECK(binds[1].writable);
}

TEST_CASE("the folder that a link leads to is visible, too") {
    const Folder f;
    write(f.path("real/prog"), elf());
    fs::create_symlink(f.path("real/prog"), "link");
    CHECK(outcome("./link") == f.work() + "/link");
}

TEST_CASE("folders of the guest's own are not covered by the host's") {
    const Folder f;
    const std::string direct = "/tmp/rkperf-direct-" + std::to_string(::getpid());
    write(direct, elf());
    const std::string cwd = fs::current_path().string();
    GuestFiles files(Options{}, cwd);
    find_program(files, direct, cwd);
    fs::remove(direct);
    CHECK(files.mounts().binds.back().guest == direct); // the file alone, not /tmp
}

TEST_CASE("roots and binds that are not there are refused") {
    const Folder f;
    Options o;
    o.root = f.path("nowhere");
    CHECK_THAT(outcome("./x", o), Catch::StartsWith("--root " + f.path("nowhere")));
    write("file", "x");
    o.root = "file";
    CHECK_THAT(outcome("./x", o), Catch::Contains("it is not a folder"));
    o.root.clear();
    o.binds.push_back({f.path("nowhere"), "", true});
    CHECK_THAT(outcome("./x", o), Catch::StartsWith("--bind " + f.path("nowhere")));
}
