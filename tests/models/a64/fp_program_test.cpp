// SPDX-License-Identifier: Apache-2.0
// A floating-point program with the C library, under qemu-user and on our semantics: the second opinion beside Unicorn
// (QEMU 7.2 instead of 5.0), and the code that compilers make.
#include "tests/models/a64/mini_machine.h"

#include <unistd.h>
#include <catch2/catch.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace rkperf::a64 {
namespace {

std::string output_of(const std::string& command) {
    FILE* pipe = popen(command.c_str(), "r");
    REQUIRE(pipe);
    std::string out;
    char buffer[4096];
    while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) out.append(buffer, n);
    REQUIRE(pclose(pipe) == 0);
    return out;
}

struct Removed {
    std::string path;
    ~Removed() { std::filesystem::remove(path); }
};

} // namespace

TEST_CASE("a floating-point program prints the same as under qemu-user") {
    // -Ofast makes the start-up code set FPCR.FZ.
    for (const char* options : {"-O0", "-O2 -ffp-contract=fast", "-O3 -ffp-contract=off", "-Ofast"}) {
        INFO(options);
        const Removed program{
            (std::filesystem::temp_directory_path() / ("rkperf_fp_" + std::to_string(getpid()))).string()};
        const std::string build = std::string("aarch64-linux-gnu-gcc ") + options +
                                  " -march=armv8.2-a+fp16+dotprod+crypto -static -o " + program.path +
                                  " " RK_SOURCE_DIR "/tests/models/a64/guest/fp_kernels.c -lm";
        REQUIRE(std::system(build.c_str()) == 0);
        const std::string expected = output_of("qemu-aarch64 -cpu cortex-a76 " + program.path);
        REQUIRE(expected.size() > 5000);
        test::MiniMachine machine(program.path);
        const bool finished = machine.run(200'000'000);
        CHECK(machine.error == "");
        REQUIRE(finished);
        CHECK(machine.exit_status == 0);
        CHECK(machine.output == expected);
    }
}

} // namespace rkperf::a64
