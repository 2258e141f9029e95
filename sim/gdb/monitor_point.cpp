// SPDX-License-Identifier: Apache-2.0
#include "sim/gdb/monitor_point.h"

#include <algorithm>

namespace rkperf::gdb {

namespace {

bool is_break(PointKind k) { return k == PointKind::software || k == PointKind::hardware; }
/// [a, a + n) and [b, b + m) have an address in common; no sum may wrap.
bool overlap(std::uint64_t a, std::uint64_t n, std::uint64_t b, std::uint64_t m) {
    return a < b ? b - a < n : a - b < m;
}

} // namespace

bool Points::any_break(std::uint64_t va, std::uint64_t bytes) const {
    return std::any_of(list.begin(), list.end(),
                       [&](const Point& p) { return is_break(p.kind) && overlap(va, bytes, p.address, 1); });
}
const Points::Point* Points::break_at(std::uint64_t pc) const {
    const auto p =
        std::find_if(list.begin(), list.end(), [&](const Point& x) { return is_break(x.kind) && x.address == pc; });
    return p == list.end() ? nullptr : &*p;
}
const Points::Point* Points::watch_at(std::uint64_t va, std::uint64_t bytes, bool write) const {
    const auto p = std::find_if(list.begin(), list.end(), [&](const Point& x) {
        const bool kind = x.kind == PointKind::access || x.kind == (write ? PointKind::write : PointKind::read);
        return kind && overlap(va, bytes, x.address, x.length);
    });
    return p == list.end() ? nullptr : &*p;
}
bool Points::any_watch(std::uint64_t va, std::uint64_t bytes) const {
    return std::any_of(list.begin(), list.end(),
                       [&](const Point& p) { return !is_break(p.kind) && overlap(va, bytes, p.address, p.length); });
}

CoreMonitor::CoreMonitor(unsigned cpu, cpu::Core& core, cpu::DebugMonitor& inner, const Points& points,
                         std::function<std::uint64_t()> pc, Halt halt)
    : cpu_(cpu), core_(core), inner_(inner), points_(points), pc_(std::move(pc)), halt_(std::move(halt)) {
    core_.set_debug_monitor(*this);
}

CoreMonitor::~CoreMonitor() { core_.set_debug_monitor(inner_); }

void CoreMonitor::stop_next(Stop::Why why) {
    stop_next_ = true;
    why_ = why;
    if (why == Stop::Why::step) {
        executed_ = false;
        stood_at_ = pc_();
    }
    core_.debug_changed();
}

void CoreMonitor::stop_never() {
    if (!stop_next_) return;
    stop_next_ = false;
    core_.debug_changed();
}

void CoreMonitor::hold(bool on) {
    if (on == held_) return;
    held_ = on;
    if (!on) released_.notify(sc_core::SC_ZERO_TIME);
    core_.debug_changed();
}

void CoreMonitor::wait_for_release() {
    // Time goes on even if whatever could happen is held back, so that the debugger can still interrupt.
    sc_core::wait(sc_core::sc_time(1, sc_core::SC_MS), released_);
}

bool CoreMonitor::may_stop(std::uint64_t va, std::uint64_t bytes) {
    // A hit only makes the core look at its next boundary; no page is slower for it.
    const bool everywhere = bytes == ~std::uint64_t{0};
    return inner_.may_stop(va, bytes) || stop_next_ || held_ || (everywhere && hit_) || points_.any_break(va, bytes);
}

void CoreMonitor::stepped(bool load_exclusive) {
    executed_ = true;
    inner_.stepped(load_exclusive);
}

bool CoreMonitor::breakpoint_matches(std::uint64_t pc) {
    Stop stop;
    stop.cpu = cpu_;
    const Points::Point* p = points_.break_at(pc);
    // An instruction that went to the kernel without having been executed, for an interrupt or a fault, is still the next.
    const bool moved = executed_ || pc != stood_at_;
    if (hit_) {
        stop = watch_stop_;
    } else if (p && moved) {
        stop.why = Stop::Why::breakpoint;
        stop.kind = p->kind;
    } else if (stop_next_ && moved) {
        stop.why = why_;
    } else {
        return inner_.breakpoint_matches(pc);
    }
    const bool changed = due();
    hit_ = stop_next_ = false;
    if (changed) core_.debug_changed();
    executed_ = false;
    halt_(stop);
    const std::uint64_t now = pc_();
    stood_at_ = now;
    return inner_.breakpoint_matches(now);
}

bool CoreMonitor::may_watch(std::uint64_t va, std::uint64_t bytes) {
    return inner_.may_watch(va, bytes) || points_.any_watch(va, bytes);
}

bool CoreMonitor::watched_range(unsigned n, std::uint64_t& first, std::uint64_t& last) {
    for (const Points::Point& p : points_.list) {
        if (is_break(p.kind) || n--) continue;
        first = p.address;
        last = p.address + (p.length - 1);
        return true;
    }
    return inner_.watched_range(n, first, last);
}

void CoreMonitor::watch(std::uint64_t va, std::uint64_t bytes, bool write) {
    const Points::Point* p = points_.watch_at(va, bytes, write);
    if (!p || hit_) return;
    // The access is made; the machine stands still after it, with the old value gone and the new one to be seen.
    hit_ = true;
    watch_stop_ = {Stop::Why::watchpoint, cpu_, p->kind, std::max(va, p->address), 0};
    core_.debug_changed();
}

bool CoreMonitor::kernel_access_matches(std::uint64_t va, std::uint64_t bytes, bool write, std::uint64_t& far) {
    watch(va, bytes, write); // seen when the program goes on
    return inner_.kernel_access_matches(va, bytes, write, far);
}

bool CoreMonitor::watchpoint_matches(std::uint64_t va, unsigned bytes, bool write, std::uint64_t& far) {
    watch(va, bytes, write);
    return inner_.watchpoint_matches(va, bytes, write, far);
}

} // namespace rkperf::gdb
