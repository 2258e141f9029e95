// SPDX-License-Identifier: Apache-2.0
// The descriptions of trace events, byte for byte those of a real kernel (formats.txt), and the table's own rules.
#include "tests/kernel_events/fixture.h"

#include <fstream>
#include <set>

namespace rkperf::ke::test::formats_test {

std::map<std::string, std::string> recorded() {
    std::ifstream in(RK_SOURCE_DIR "/tests/kernel_events/trace/formats.txt");
    REQUIRE(in);
    std::map<std::string, std::string> out;
    std::string line, name;
    while (std::getline(in, line)) {
        if (line.starts_with("# Format files")) continue;
        if (line.starts_with("@ "))
            name = line.substr(2);
        else
            out[name].append(line).append("\n");
    }
    return out;
}

TEST_CASE("format files are those of Linux", "[CORE-473]") {
    World w;
    const auto all = recorded();
    REQUIRE(all.size() == 61);
    for (const auto& [path, text] : all) {
        INFO(path);
        const auto slash = path.find('/');
        const TraceEventCall* call = w.perf.trace_events().find(path.substr(0, slash), path.substr(slash + 1));
        REQUIRE(call);
        CHECK(TraceEvents::format_text(*call) == text);
        CHECK(w.perf.trace_events().find(call->type) == call);
    }
}

TEST_CASE("every event has an id and a name of its own, and fields that do not overlap", "[CORE-473]") {
    World w;
    std::set<int> types;
    std::set<std::string> names;
    for (const TraceEventCall* call : w.perf.trace_events().calls()) {
        INFO(call->system << ":" << call->name);
        CHECK(types.insert(call->type).second);
        CHECK(names.insert(call->system + ":" + call->name).second);
        CHECK(call->type > 0);
        unsigned end = kTraceEntrySize;
        for (const TraceField& f : call->fields) {
            CHECK(f.offset >= end);
            end = f.offset + f.size;
        }
    }
    CHECK(w.perf.trace_events().systems().at("syscalls").size() == 600);
}

TEST_CASE("a dynamic event comes and goes", "[CORE-473]") {
    World w;
    TraceEvents& events = w.perf.trace_events();
    TraceEventCall call;
    call.system = "probes";
    call.name = "here";
    call.fields = {trace_field("unsigned long", "__probe_ip", 8, 8, false), trace_field("u8[3]", "data", 16, 3, false),
                   trace_field("__data_loc char[]", "text", 20, 4, true)};
    call.print_fmt = "\"(%lx)\", REC->__probe_ip";
    call.reg = [](TraceReg, PerfEvent*) { return 0; };
    REQUIRE(events.trace_add_event_call(call) == 0);
    CHECK(call.type > 1206);
    CHECK(events.find("probes", "here") == &call);
    CHECK(TraceEvents::format_text(call) ==
          "name: here\nID: " + std::to_string(call.type) +
              "\nformat:\n"
              "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
              "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
              "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
              "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
              "\n"
              "\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n"
              "\tfield:u8 data[3];\toffset:16;\tsize:3;\tsigned:0;\n"
              "\tfield:__data_loc char[] text;\toffset:20;\tsize:4;\tsigned:1;\n"
              "\nprint fmt: \"(%lx)\", REC->__probe_ip\n");
    TraceEventCall twin;
    twin.system = "probes";
    twin.name = "here";
    CHECK(events.trace_add_event_call(twin) == -EEXIST);
    // Not while somebody uses it.
    const int fd = w.must_open(World::attr(PERF_TYPE_TRACEPOINT, static_cast<std::uint64_t>(call.type)));
    CHECK(events.trace_remove_event_call(call) == -EBUSY);
    w.k.close(fd);
    CHECK(events.store_enable(call, true) == 0);
    CHECK(events.trace_remove_event_call(call) == -EBUSY);
    CHECK(events.store_enable(call, false) == 0);
    CHECK(events.trace_remove_event_call(call) == 0);
    CHECK(events.find("probes", "here") == nullptr);
    CHECK_FALSE(events.systems().contains("probes"));
}

TEST_CASE("enable files", "[CORE-473]") {
    World w;
    TraceEvents& events = w.perf.trace_events();
    TraceEventCall& in = *events.find("sched", "sched_switch");
    CHECK(events.enable_text("sched") == "0\n");
    CHECK(events.store_enable(in, true) == 0);
    CHECK(events.enable_text("sched") == "X\n");
    CHECK(events.enable_text("") == "X\n");
    CHECK(events.enable_text("ftrace") == "?\n");
    CHECK(events.store_system_enable("sched", true) == 0);
    CHECK(events.enable_text("sched") == "1\n");
    CHECK(events.store_set_event("!sched:*") == 0);
    CHECK(events.enable_text("sched") == "0\n");
    CHECK(events.store_set_event("sched_switch irq:irq_handler_entry") == 0);
    CHECK(in.enabled);
    CHECK(events.find("irq", "irq_handler_entry")->enabled);
    CHECK(events.store_set_event("nothing:there") == -EINVAL);
}

} // namespace rkperf::ke::test::formats_test
