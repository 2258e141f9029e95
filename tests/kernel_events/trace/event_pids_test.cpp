// SPDX-License-Identifier: Apache-2.0
// Whose events go into ftrace's buffer. The whole way is in tests/guest/trace_pids.c.
#include "kernel_events/trace/event_pids.h"
#include "kernel_events/trace/trace_events.h"

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>

using namespace rkperf::ke;

namespace event_pids_test {

using List = EventPids::List;

struct Call : TraceEventCall {
    Call(const char* system_name, const char* event, const char* field) {
        system = system_name, name = event;
        fields.push_back(trace_field("pid_t", field, 8, 4, true));
    }
};
std::array<std::uint8_t, 12> record(std::int32_t pid) {
    std::array<std::uint8_t, 12> r{};
    std::memcpy(r.data() + 8, &pid, sizeof pid);
    return r;
}

TEST_CASE("lists of pids: what they take") {
    EventPids p;
    CHECK(p.store(List::only, std::string_view(" 5\n0x10\t+7\0", 11)) == 0);
    CHECK(p.text(List::only) == "5\n7\n16\n");
    CHECK(p.store(List::only, "0b11") == -EINVAL);
    CHECK(p.text(List::except).empty());
    CHECK(p.store(List::only, "8 x") == -EINVAL);
    CHECK(p.store(List::only, "-1") == -EINVAL);
    CHECK(p.store(List::only, "99999999999999999999") == -EINVAL);
    CHECK(p.store(List::only, "1073741824") == -EPERM);
    CHECK(p.store(List::only, "4294967305") == 0); // cut to 32 bits: 9
    CHECK(p.text(List::only) == "5\n7\n9\n16\n");
    p.clear(List::only);
    CHECK(p.text(List::only).empty());
}

TEST_CASE("lists of pids: whose events are left out") {
    EventPids p;
    const Call plain("syscalls", "sys_enter_getppid", "pid"), wakes("sched", "sched_waking", "pid"),
        switches("sched", "sched_switch", "next_pid"), runtime("sched", "sched_stat_runtime", "pid");
    CHECK_FALSE(p.ignores(plain, record(2), 1));
    p.store(List::only, "5");
    CHECK_FALSE(p.ignores(plain, record(2), 5));
    CHECK(p.ignores(plain, record(5), 1));
    CHECK_FALSE(p.ignores(wakes, record(5), 1));
    CHECK_FALSE(p.ignores(switches, record(5), 1));
    CHECK(p.ignores(switches, record(6), 1));
    CHECK(p.ignores(runtime, record(5), 1));
    p.store(List::except, "5");
    CHECK(p.ignores(plain, record(2), 5));
    p.clear(List::only);
    CHECK_FALSE(p.ignores(plain, record(2), 1));
    CHECK(p.ignores(switches, record(5), 5));
    CHECK_FALSE(p.ignores(switches, record(1), 5));
    // Of a switch both must be missing in the one list, or both stand in the other.
    p.store(List::only, "5");
    CHECK_FALSE(p.ignores(switches, record(5), 1));
    CHECK(p.ignores(switches, record(2), 1));
}

TEST_CASE("event-fork: children are listed, freed tasks no longer") {
    EventPids p;
    p.store(List::only, "5");
    p.store(List::except, "6");
    p.forked(5, 50);
    p.freed(6);
    CHECK(p.text(List::only) == "5\n");
    CHECK(p.text(List::except) == "6\n");
    p.event_fork = true;
    p.forked(5, 50);
    p.forked(6, 60);
    p.forked(1, 10);
    p.freed(5);
    CHECK(p.text(List::only) == "50\n");
    CHECK(p.text(List::except) == "6\n60\n");
    // With its last task a list does not go away: nobody is listed now.
    const Call plain("syscalls", "sys_enter_getppid", "pid");
    p.freed(50);
    CHECK(p.text(List::only).empty());
    CHECK(p.ignores(plain, record(1), 1));
    CHECK(p.store(List::only, " ") == 0);
    CHECK_FALSE(p.ignores(plain, record(1), 1));
}

} // namespace event_pids_test
