// SPDX-License-Identifier: Apache-2.0
#include "sim/os/ns/pid_namespace.h"

#include "sim/os/process/process.h"
#include "sim/os/signal/signals.h"

#include <csignal>

namespace rkperf::os {

namespace {
constexpr int kPidMax = 32768, kReservedPids = 300;
}

int PidNamespace::global(int local) const {
    if (!level) return local;
    const auto it = to_global_.find(local);
    return it == to_global_.end() ? 0 : it->second;
}

int PidNamespace::local(int global) const {
    if (!level) return global;
    const auto it = to_local_.find(global);
    return it == to_local_.end() ? 0 : it->second;
}

bool PidNamespace::below(const PidNamespace& other) const {
    for (const PidNamespace* ns = this; ns; ns = ns->parent.get())
        if (ns == &other) return true;
    return false;
}

void PidNamespace::enter(int global, const std::vector<int>& wanted) {
    std::size_t next = 0;
    for (PidNamespace* ns = this; ns->level; ns = ns->parent.get()) {
        int local = 0;
        if (next < wanted.size()) {
            local = wanted[next++];
        } else {
            do ns->last_pid = ns->last_pid + 1 >= kPidMax ? kReservedPids : ns->last_pid + 1;
            while (ns->to_global_.contains(ns->last_pid));
            local = ns->last_pid;
        }
        ns->to_global_[local] = global;
        ns->to_local_[global] = local;
    }
}

void PidNamespace::leave(int global) {
    for (PidNamespace* ns = this; ns->level; ns = ns->parent.get()) {
        const auto it = ns->to_local_.find(global);
        if (it == ns->to_local_.end()) continue;
        ns->to_global_.erase(it->second);
        ns->to_local_.erase(it);
    }
}

int pid_vnr(const Task& viewer, int global) { return viewer.pid_ns ? viewer.pid_ns->local(global) : global; }

int pid_global(const Task& viewer, int local) { return viewer.pid_ns ? viewer.pid_ns->global(local) : local; }

bool pid_visible(const Task& viewer, const Task& t) {
    return !viewer.pid_ns || (t.pid_ns && t.pid_ns->below(*viewer.pid_ns));
}

void zap_pid_ns_processes(Kernel& k, Task& reaper) {
    PidNamespace& ns = *reaper.pid_ns;
    ns.dead = true;
    // Those that were others' children become its own when these end; nobody is to be told any more.
    reaper.process->sighand->action[SIGCHLD].handler = 1;
    const auto others = [&] {
        std::vector<Task*> v;
        for (const auto& [pid, t] : k.tasks())
            if (t->process != reaper.process && t->pid_ns && t->pid_ns->below(ns)) v.push_back(t);
        return v;
    };
    for (Task* t : others())
        if (t->process->leader == t) k.signals().send_process(*t, siginfo_kernel(SIGKILL));
    constexpr int kWnohang = 1, kWexited = 4, kWall = 0x40000000;
    for (;;) {
        WaitResult r;
        if (do_wait(k, reaper, 0, 0, kWnohang | kWexited | kWall, r) > 0) continue;
        if (others().empty()) break;
        reaper.state = TaskState::uninterruptible;
        k.schedule_until(k.ktime_get_ns(1) + k.tick_nsec());
    }
    ns.child_reaper = nullptr;
}

} // namespace rkperf::os
