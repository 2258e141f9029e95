// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/options.h"

#include <catch2/catch.hpp>

using namespace rkperf;
using namespace rkperf::cli;

namespace {

using Words = std::vector<std::string>;

Options good(const Words& args) {
    const ParseResult r = parse_options(args);
    INFO(r.text);
    REQUIRE(r.options);
    return *r.options;
}

std::string bad(const Words& args) {
    const ParseResult r = parse_options(args);
    REQUIRE_FALSE(r.options);
    CHECK(r.status == 2);
    return r.text;
}

} // namespace

TEST_CASE("run takes its own options and leaves the program's alone") {
    const Options o = good({"run", "--cpus", "0-1,4", "--seed=9", "--timeout-sim", "5ms", "--set", "kernel.hz=250",
                            "--set", "sim.quantum=1us", "--", "prog", "--seed", "-x"});
    CHECK(o.command == Command::run);
    CHECK(o.cpus == 0x13);
    CHECK(o.timeout == Picoseconds(5'000'000'000));
    CHECK(o.program == Words{"prog", "--seed", "-x"});
    REQUIRE(o.overrides.size() == 3);
    CHECK(o.overrides[0].key == "kernel.hz");
    CHECK(o.overrides[1].value == "1us");
    CHECK(o.overrides[2].option == "--seed");
    CHECK(good({"run", "prog", "--quiet"}).program == Words{"prog", "--quiet"});
    CHECK(good({"run", "-v", "prog"}).stats);
}

TEST_CASE("perf's options reach the client unchanged, rkperf's do not") {
    const Options o = good({"record", "-e", "cycles:u", "--machine", "x.toml", "-c", "10000", "-g", "--quantum=1us",
                            "--call-graph", "fp", "-o", "out.data", "--", "prog", "-o", "x"});
    CHECK(o.client_args == Words{"-e", "cycles:u", "-c", "10000", "-g", "--call-graph", "fp", "-o", "out.data"});
    CHECK(o.machine == "x.toml");
    CHECK(o.overrides.at(0).key == "sim.quantum");
    CHECK(o.program == Words{"prog", "-o", "x"});
}

TEST_CASE("the program is found without two dashes, too") {
    CHECK(good({"stat", "-e", "cycles", "-I", "10", "prog", "a"}).program == Words{"prog", "a"});
    CHECK(good({"stat", "-ecycles", "prog"}).program == Words{"prog"});
    CHECK(good({"record", "-gc", "100", "prog"}).client_args == Words{"-gc", "100"});
    CHECK(good({"record", "-gc100", "prog"}).program == Words{"prog"});
    CHECK(good({"stat", "--event=cycles", "prog"}).program == Words{"prog"});
    CHECK(good({"stat", "-a"}).program.empty());
    CHECK(good({"stat", "-x", "-", "prog"}).client_args == Words{"-x", "-"});
}

TEST_CASE("--quiet of record silences the client as well") {
    CHECK(good({"record", "--quiet", "prog"}).client_args == Words{"-q"});
    CHECK(good({"stat", "--quiet", "prog"}).client_args.empty());
}

TEST_CASE("what is timed") {
    const Options o = good({"record", "--timing=regions", "--warm-up", "5000", "--check-fast", "-c", "10", "prog"});
    REQUIRE(o.overrides.size() == 2);
    CHECK(o.overrides[0].key == "sim.timing");
    CHECK(o.overrides[0].value == "regions");
    CHECK(o.overrides[1].key == "sim.warm_up");
    CHECK(o.check_fast);
    CHECK(o.client_args == Words{"-c", "10"});
    CHECK(good({"run", "--totals", "T", "prog"}).totals == "T");
    CHECK_THAT(bad({"run", "--check-fast", "--stats", "prog"}), Catch::Contains("runs twice"));
    CHECK_THAT(bad({"run", "--check-fast", "--gdb", "stdio", "prog"}), Catch::Contains("runs twice"));
}

TEST_CASE("explain chooses a sample") {
    CHECK(good({"explain", "-n", "5", "-c", "1000", "prog"}).nth_sample == 5);
    CHECK(good({"explain", "-n7", "prog"}).nth_sample == 7);
    CHECK(good({"explain", "prog"}).nth_sample == 1);
    CHECK_THAT(bad({"explain", "-n", "0", "prog"}), Catch::Contains("0"));
}

TEST_CASE("mistakes on the command line are named") {
    CHECK_THAT(bad({"fly"}), Catch::Contains("there is no command 'fly'"));
    CHECK_THAT(bad({"run", "--fast", "prog"}), Catch::Contains("there is no option '--fast'"));
    CHECK_THAT(bad({"--fast"}), Catch::Contains("there is no option '--fast'"));
    // Another command has it.
    CHECK_THAT(bad({"stat", "--gdb", ":1", "--", "prog"}), Catch::Contains("stat: there is no option '--gdb'"));
    CHECK_THAT(bad({"record", "--gdb=:1", "-e", "cycles", "prog"}), Catch::Contains("there is no option '--gdb'"));
    CHECK_THAT(bad({"run", "--cpus", "4-2", "prog"}), Catch::Contains("--cpus 4-2"));
    CHECK_THAT(bad({"run", "--timeout-sim", "soon", "prog"}), Catch::Contains("--timeout-sim soon"));
    CHECK_THAT(bad({"run", "--timeout-sim", "0", "prog"}), Catch::Contains("--timeout-sim 0"));
    CHECK_THAT(bad({"run", "--set", "kernel.hz", "prog"}), Catch::Contains("KEY=VALUE"));
    CHECK_THAT(bad({"run", "--bind", "/a:b", "prog"}), Catch::Contains("--bind /a:b"));
    CHECK_THAT(bad({"run", "--env", "X", "prog"}), Catch::Contains("NAME=VALUE"));
    CHECK_THAT(bad({"run", "--log", "loud", "prog"}), Catch::Contains("loud"));
    CHECK_THAT(bad({"run", "--seed"}), Catch::Contains("--seed"));
    CHECK_THAT(bad({"machine", "x"}), Catch::Contains("'x'"));
    CHECK_THAT(bad({}), Catch::Contains("record"));
}

TEST_CASE("help and version go to standard output") {
    for (const Words& args : {Words{"--help"}, Words{"run", "--help"}, Words{"stat", "-h"}, Words{"--version"}}) {
        const ParseResult r = parse_options(args);
        CHECK_FALSE(r.options);
        CHECK(r.status == 0);
        CHECK_FALSE(r.text.empty());
    }
    CHECK_THAT(parse_options({"record", "--help"}).text, Catch::Contains("[PERF OPTION]... [--] PROGRAM"));
    CHECK_THAT(parse_options({"--version"}).text, Catch::Contains("rkperf 0."));
}

TEST_CASE("binds have a guest's name and may be read-only") {
    const Options o = good({"run", "--bind", "/a", "--bind", "b:/c", "--bind", "d:/e:ro", "--bind", "/f:ro", "prog"});
    REQUIRE(o.binds.size() == 4);
    CHECK(o.binds[0].host == "/a");
    CHECK(o.binds[0].guest.empty());
    CHECK(o.binds[0].writable);
    CHECK(o.binds[1].guest == "/c");
    CHECK_FALSE(o.binds[2].writable);
    CHECK(o.binds[2].guest == "/e");
    CHECK(o.binds[3].guest.empty());
    CHECK_FALSE(o.binds[3].writable);
}

TEST_CASE("lists of CPUs") {
    CHECK(parse_cpu_list("0") == 1u);
    CHECK(parse_cpu_list("4-7,0") == 0xf1u);
    for (const char* t : {"", ",", "1,", "a", "3-", "-3", "32", "100", "1 2"}) CHECK_FALSE(parse_cpu_list(t));
}
