// SPDX-License-Identifier: Apache-2.0
// Control groups, version 2 (Documentation/admin-guide/cgroup-v2.rst of Linux 6.1): the tree, who is in which, and the
// controllers that are there: pids, and perf_event, which is implicit (CORE-250).
#pragma once

#include "kernel_events/kernel.h"
#include "sim/os/ns/namespaces.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace rkperf::os {

struct Cgroup;
using CgroupPtr = std::shared_ptr<Cgroup>;

/// Bits of controllers.
inline constexpr unsigned kCgroupPids = 1, kCgroupPerfEvent = 2;

struct Cgroup final : ke::PerfCgroup, std::enable_shared_from_this<Cgroup> {
    std::string name; ///< empty for the root
    CgroupPtr up;     ///< null for the root
    std::map<std::string, CgroupPtr> children;
    std::vector<Task*> tasks; ///< threads that have not ended
    bool dead{};              ///< removed
    bool threaded{};
    unsigned subtree_control{};                      ///< as written
    unsigned subtree_ss_mask{};                      ///< what children get, implicit controllers included
    unsigned css{};                                  ///< controllers it has
    std::int64_t max_depth{-1}, max_descendants{-1}; ///< -1: no limit
    std::int64_t pids_max{-1}, pids_peak{}, pids_events{};

    int level() const;
    bool populated() const; ///< somebody is in it or below
    bool below(const Cgroup& other) const;
    std::uint64_t descendants() const;
    std::int64_t pids() const;         ///< in it and below, as far as its pids controller counts
    std::string path() const override; ///< from the hierarchy's root: "/a/b"
    std::string path_from(const Cgroup& root) const;
    const char* type() const; ///< cgroup.type
    bool thread_root() const; ///< "domain threaded"
};

struct CgroupNamespace final : Namespace {
    CgroupNamespace(Namespaces& all, UserNsPtr owner, CgroupPtr root, std::uint64_t fixed_ino)
        : Namespace(all, NsKind::cgroup, std::move(owner), fixed_ino), root(std::move(root)) {}
    const CgroupPtr root; ///< null: the hierarchy's
};

class Cgroups {
  public:
    explicit Cgroups(Kernel& kernel);
    Kernel& kernel() { return k_; }
    const CgroupPtr& root() const { return root_; }

    // --- folders: 0 or -errno ---
    int mkdir(const CgroupPtr& parent, const std::string& name, CgroupPtr& out);
    int rmdir(const CgroupPtr& parent, const std::string& name);
    // --- files; results are bytes taken or -errno ---
    std::int64_t write_procs(const CgroupPtr& to, std::string_view text, bool threads);
    std::int64_t write_subtree_control(const CgroupPtr& c, std::string_view text);
    std::int64_t write_type(const CgroupPtr& c, std::string_view text);
    std::int64_t write_kill(const CgroupPtr& c, std::string_view text);
    std::string procs(const Cgroup& c, bool threads, int& error);
    // --- life of tasks ---
    /// May a child be made there? clone3's CLONE_INTO_CGROUP gives `into`. -EAGAIN: pids.max.
    int can_fork(const Task& t, const CgroupPtr& into);
    void post_fork(Task& child, const CgroupPtr& into);
    void exit(Task& t);

    std::string proc_text(const Task& t, const Task& viewer); ///< /proc/PID/cgroup
    CgroupPtr of_id(std::uint64_t id) const;                  ///< for open_by_handle_at
    std::uint64_t next_id() { return ++last_id_; }
    /// The root that a process's cgroup namespace gives it.
    CgroupPtr ns_root(const Task& t) const;

  private:
    int migrate(const std::vector<Task*>& who, const CgroupPtr& to);
    void propagate_control(Cgroup& c);
    void apply_control(Cgroup& c);
    void css_online(Cgroup& c, unsigned controllers);

    Kernel& k_;
    CgroupPtr root_;
    std::uint64_t last_id_{};
};

} // namespace rkperf::os
