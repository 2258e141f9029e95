// SPDX-License-Identifier: Apache-2.0
// The loop of workloads/exactloop in VIXL's simulator: vixl_loop N prints the CPU seconds that N turns take.
#include <aarch64/simulator-aarch64.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

int main(int argc, char** argv) {
    using namespace vixl::aarch64;
    static const std::uint32_t kLoop[] = {
        0x8b000021, // add x1, x1, x0
        0xca000022, // eor x2, x1, x0
        0xf1000400, // subs x0, x0, #1
        0x54ffffa1, // b.ne to the first
        0xd65f03c0, // ret
    };
    Decoder decoder;
    Simulator simulator(&decoder);
    simulator.WriteXRegister(0, argc > 1 ? std::strtoll(argv[1], nullptr, 10) : 1'000'000);
    const std::clock_t start = std::clock();
    simulator.RunFrom(reinterpret_cast<const Instruction*>(kLoop));
    std::printf("%.6f\n", static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    return 0;
}
