// SPDX-License-Identifier: Apache-2.0
// /proc and /sys of a real kernel, before its first task runs.
#include "tests/sim/os/fs/fake_services.h"

#include <catch2/catch.hpp>
#include <set>

using namespace rkperf::os;
using namespace rkperf::os::test;

namespace {

std::string text(const std::string& path) {
    FileHandle f;
    if (const std::int64_t r = fake_kernel().vfs().openat(-100, path, 0, 0, f)) return "errno " + std::to_string(-r);
    std::string out;
    std::uint8_t b[4096];
    std::int64_t n;
    while ((n = f->read(b)) > 0) out.append(reinterpret_cast<char*>(b), static_cast<std::size_t>(n));
    return out;
}
bool has(const std::string& path, const std::string& part) { return text(path).find(part) != std::string::npos; }

} // namespace

TEST_CASE("the CPU is described as its registers say") {
    CHECK(has("/proc/cpuinfo", "processor\t: 0\nBogoMIPS\t: 48.00\n"));
    CHECK(
        has("/proc/cpuinfo", "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x2\nCPU part\t: 0xd05\n"));
    CHECK(text("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1") == "0x00000000412fd050\n");
    CHECK(text("/sys/devices/system/cpu/online") == "0\n");
    CHECK(text("/sys/devices/system/cpu/cpu0/cache/index0/size") == "32K\n");
    CHECK(text("/sys/devices/system/cpu/cpu0/cache/index3/ways_of_associativity") == "12\n");
    CHECK(text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq") == "1000000\n");
    CHECK(text("/sys/devices/system/node/node0/cpulist") == "0\n");
}

TEST_CASE("kallsyms lists every function once, in order of addresses, hidden as kptr_restrict says") {
    const std::string all = text("/proc/kallsyms");
    std::uint64_t last = 0, lines = 0;
    std::set<std::string> names;
    for (std::size_t at = 0; at < all.size(); ++lines) {
        const std::size_t end = all.find('\n', at);
        const std::string line = all.substr(at, end - at);
        const std::uint64_t address = std::stoull(line.substr(0, 16), nullptr, 16);
        CHECK(line.substr(16, 3) == " T ");
        CHECK(address >= last);
        CHECK(names.insert(line.substr(19)).second);
        last = address;
        at = end + 1;
    }
    CHECK(lines == static_cast<unsigned>(rkperf::KernelSymbol::count_) + 3);
    CHECK(names.count("vfs_read") == 1);
    const auto restrict_to = [](const char* level) {
        FileHandle f;
        REQUIRE(fake_kernel().vfs().openat(-100, "/proc/sys/kernel/kptr_restrict", 1, 0, f) == 0);
        CHECK(f->write(bytes(level)) == 2);
    };
    restrict_to("2\n");
    CHECK(has("/proc/kallsyms", "0000000000000000 T vfs_read\n"));
    restrict_to("0\n");
    CHECK_FALSE(has("/proc/kallsyms", "0000000000000000 T vfs_read\n"));
}

TEST_CASE("before there are tasks there is nothing about tasks") {
    CHECK(text("/proc/self/stat") == "errno 2");
    CHECK(text("/proc/1/stat") == "errno 2");
    CHECK(text("/proc/sys/kernel/osrelease") == std::string(kOsRelease).append("\n"));
    CHECK(has("/proc/meminfo", "MemTotal:          65536 kB\n"));
    CHECK(has("/proc/version", std::string("Linux version ").append(kOsRelease)));
    CHECK(text("/sys/kernel/tracing/none") == "errno 2");
}
