// SPDX-License-Identifier: Apache-2.0
// Programs from the cross compiler at every optimisation level: under qemu-user and on our semantics they print the same.
#include "tests/models/a64/mini_machine.h"

#include <unistd.h>
#include <catch2/catch.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace rkperf::a64 {
namespace {

std::string output_of(const std::string& command) {
    FILE* pipe = popen(command.c_str(), "r");
    if (!pipe) throw std::runtime_error("cannot run " + command);
    std::string out;
    char buffer[4096];
    while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) out.append(buffer, n);
    if (pclose(pipe) != 0) throw std::runtime_error(command + " failed");
    return out;
}

/// A program built for the test, removed afterwards.
class Guest {
  public:
    Guest(const std::string& source, const std::string& options)
        : path_((std::filesystem::temp_directory_path() / ("rkperf_guest_" + std::to_string(getpid()))).string()) {
        const std::string command = "aarch64-linux-gnu-gcc " + options + " -static -o " + path_ +
                                    " " RK_SOURCE_DIR "/tests/models/a64/guest/" + source + " -lm";
        if (std::system(command.c_str()) != 0) throw std::runtime_error(command + " failed");
    }
    ~Guest() { std::filesystem::remove(path_); }
    Guest(const Guest&) = delete;
    Guest& operator=(const Guest&) = delete;
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

void compare_with_qemu(const std::string& source, const std::string& options) {
    INFO(source << " " << options);
    const Guest guest(source, options);
    const std::string expected = output_of("qemu-aarch64 -cpu cortex-a76 " + guest.path());
    REQUIRE(expected.size() > 100);
    test::MiniMachine machine(guest.path());
    const bool finished = machine.run(200'000'000);
    CHECK(machine.error == "");
    REQUIRE(finished);
    CHECK(machine.exit_status == 0);
    CHECK(machine.output == expected);
}

} // namespace

TEST_CASE("integer program without a C library") {
    for (const char* level : {"-O0", "-O1", "-O2", "-O3"}) {
        compare_with_qemu("integer.c",
                          std::string(level) +
                              " -march=armv8.2-a+rcpc -mgeneral-regs-only -ffreestanding -fno-stack-protector"
                              " -fno-tree-loop-distribute-patterns -nostdlib");
    }
}

TEST_CASE("program with the C library") {
    for (const char* options : {"-O0", "-O2 -march=armv8.2-a+crypto", "-O3 -march=armv8.2-a+crypto+fp16+dotprod",
                                "-O3 -ffast-math -mcpu=cortex-a76"}) {
        compare_with_qemu("library.c", options);
    }
}

} // namespace rkperf::a64
