// SPDX-License-Identifier: Apache-2.0
// Namespaces (namespaces(7)): the objects, who owns them, and clone, unshare and setns. Numbers of processes and of users
// are those of the initial namespaces everywhere in the kernel; they are translated where a program says or sees them.
// What a uts and a user namespace holds is here; pid namespaces are in pid_namespace.h, mounts in fs/mnt_namespace.h. Of
// ipc, net, cgroup and time namespaces there is only which is which: all share the loopback device, and there are no System V
// objects to keep apart.
#pragma once

#include "sim/os/task.h"

#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rkperf::os {

class File;
class Kernel;
class Namespaces;
struct MntNamespace;
struct PidNamespace;
struct UserNamespace;
using UserNsPtr = std::shared_ptr<UserNamespace>;

enum class NsKind : std::uint8_t { uts, ipc, mnt, pid, net, user, cgroup, time };

/// The inode numbers of nsfs in use.
class NsNumbers {
  public:
    std::uint64_t alloc();
    void free(std::uint64_t ino) { used_.erase(ino); }

  private:
    std::set<std::uint64_t> used_;
};

/// struct ns_common: a number in nsfs and the user namespace that rules it.
struct Namespace {
    Namespace(Namespaces& all, NsKind kind, UserNsPtr owner, std::uint64_t fixed_ino = 0);
    virtual ~Namespace();
    Namespace(const Namespace&) = delete;
    Namespace& operator=(const Namespace&) = delete;

    Namespaces& all;
    const std::shared_ptr<NsNumbers> numbers; ///< outlives the kernel's table: mounted files hold namespaces
    const NsKind kind;
    const std::uint64_t ino;
    const UserNsPtr owner; ///< null only for the initial user namespace
};
using NsPtr = std::shared_ptr<Namespace>;

struct UtsNamespace final : Namespace {
    using Namespace::Namespace;
    std::string nodename, domainname;
};

/// struct uid_gid_extent: ids [first, first + count) here are [lower, lower + count) of the initial namespace.
struct IdExtent {
    std::uint32_t first{}, lower{}, count{};
};
inline constexpr std::uint32_t kNoId = ~0u, kOverflowId = 65534;

struct UserNamespace final : Namespace {
    UserNamespace(Namespaces& all, UserNsPtr parent, std::uint64_t fixed_ino = 0)
        : Namespace(all, NsKind::user, parent, fixed_ino), parent(std::move(parent)) {}
    const UserNsPtr parent;
    int level{};
    std::uint32_t owner_uid{}, owner_gid{}; ///< who made it, in the initial namespace
    std::vector<IdExtent> uid_map, gid_map, projid_map;
    bool setgroups_allowed{true};
    bool parent_could_setfcap{};
    bool below(const UserNamespace& other) const; ///< other itself or a descendant of it
};

/// Ids as the initial namespace has them, from those of a namespace and back; kNoId if there is none. A null namespace is
/// the initial one.
std::uint32_t make_kid(const std::vector<IdExtent>& map, std::uint32_t id);
std::uint32_t from_kid(const std::vector<IdExtent>& map, std::uint32_t kid);
std::uint32_t make_kuid(const UserNamespace* ns, std::uint32_t uid);
std::uint32_t make_kgid(const UserNamespace* ns, std::uint32_t gid);
/// The overflow id where there is none.
std::uint32_t from_kuid_munged(const UserNamespace* ns, std::uint32_t kuid);
std::uint32_t from_kgid_munged(const UserNamespace* ns, std::uint32_t kgid);

/// Does somebody with these credentials have a capability towards what `ns` (null: the initial one) rules?
bool ns_capable(const Credentials& cred, const UserNamespace* ns, int capability);
/// Towards their own namespace.
bool own_capable(const Credentials& cred, int capability);

/// struct nsproxy. The user namespace is in the credentials, the task's own pid namespace with its numbers.
struct NsProxy {
    std::shared_ptr<UtsNamespace> uts;
    NsPtr ipc, net, cgroup, time, time_for_children;
    std::shared_ptr<MntNamespace> mnt;
    std::shared_ptr<PidNamespace> pid_for_children;
};

class Namespaces {
  public:
    explicit Namespaces(Kernel& kernel);
    ~Namespaces();

    Kernel& kernel() { return k_; }
    const std::shared_ptr<NsProxy>& init_proxy() const { return init_; }
    const UserNsPtr& init_user() const { return init_user_; }
    const std::shared_ptr<PidNamespace>& init_pid() const { return init_pid_; }
    UserNsPtr user_of(const Credentials& cred) const;

    /// The part of clone: sets the child's credentials, proxy and pid namespace, all of which it shares with `t` before.
    int copy_creds(const Task& t, Task& child, std::uint64_t flags);
    int copy_namespaces(Task& t, Task& child, std::uint64_t flags);
    std::int64_t unshare(Task& t, std::uint64_t flags);
    std::int64_t setns(Task& t, File& file, int type);

    /// The namespace behind /proc/PID/ns/NAME; null if the task has none (any more). `for_children`: what its children get.
    NsPtr of_task(const Task& t, NsKind kind, bool for_children);

    const std::shared_ptr<NsNumbers>& numbers() const { return numbers_; }

  private:
    int create_user_ns(const Task& t, Credentials& cred);
    /// The parts of a proxy that `flags` ask for, made anew; `fs` is what a new mount namespace moves.
    int create_new_namespaces(std::uint64_t flags, const Task& t, const UserNsPtr& user, struct FsContext& fs,
                              std::shared_ptr<NsProxy>& out);
    int check_setns_flags(std::uint64_t flags);
    struct NsSet;
    int validate(NsSet& set, const NsPtr& ns);
    int install(NsSet& set, const NsPtr& ns);

    Kernel& k_;
    std::shared_ptr<NsNumbers> numbers_ = std::make_shared<NsNumbers>();
    UserNsPtr init_user_;
    std::shared_ptr<PidNamespace> init_pid_;
    std::shared_ptr<NsProxy> init_;
};

/// A kind by its CLONE_NEW* flag, and its names below /proc/PID/ns.
struct NsKindInfo {
    NsKind kind;
    std::uint64_t flag;
    const char* name;
    bool for_children;
    const char* type;
};
std::span<const NsKindInfo> ns_kinds(); ///< in the order in which /proc/PID/ns lists them
std::uint64_t clone_flag(NsKind kind);
inline constexpr std::uint64_t kCloneNewTime = 0x80;
inline constexpr std::uint64_t kCloneNewAny = 0x7e020000 | kCloneNewTime;

} // namespace rkperf::os
