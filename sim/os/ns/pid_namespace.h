// SPDX-License-Identifier: Apache-2.0
// Pid namespaces (pid_namespaces(7)). Inside the kernel a task, group or session is known by its number in the initial
// namespace; a namespace below it knows its own number for each that it can see.
#pragma once

#include "sim/os/ns/namespaces.h"

#include <map>

namespace rkperf::os {

struct PidNamespace final : Namespace {
    PidNamespace(Namespaces& all, UserNsPtr owner, std::shared_ptr<PidNamespace> parent, std::uint64_t fixed_ino = 0)
        : Namespace(all, NsKind::pid, std::move(owner), fixed_ino),
          parent(std::move(parent)),
          level(this->parent ? this->parent->level + 1 : 0) {}
    const std::shared_ptr<PidNamespace> parent;
    const int level;
    Task* child_reaper{}; ///< its process 1; null before that was made and after it has ended
    bool dead{};          ///< process 1 has ended: no new process can be made
    int nr_tasks{};       ///< how many were ever made in it
    int last_pid{};

    /// Numbers of the initial namespace from those here and back; 0: nobody, or nobody who can be seen from here.
    int global(int local) const;
    int local(int global) const;
    bool below(const PidNamespace& other) const; ///< other itself or a descendant of it
    /// Gives a task a number here and in all namespaces above but the initial one, whose number it has already.
    /// `wanted`: the numbers to take, from here upwards; as many as there are.
    void enter(int global, const std::vector<int>& wanted = {});
    void leave(int global);

  private:
    std::map<int, int> to_global_, to_local_;
};

/// A number of the initial namespace as `viewer` sees it, and the reverse.
int pid_vnr(const Task& viewer, int global);
int pid_global(const Task& viewer, int local);
/// May the viewer see this task at all?
bool pid_visible(const Task& viewer, const Task& t);

/// Process 1 of a namespace has ended: kills and waits for all the others in it.
void zap_pid_ns_processes(Kernel& k, Task& reaper);

} // namespace rkperf::os
