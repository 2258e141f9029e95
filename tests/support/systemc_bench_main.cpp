// SPDX-License-Identifier: Apache-2.0
// sc_main() of the benchmark programs that link SystemC.
#include <benchmark/benchmark.h>

#include <systemc>

int sc_main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
