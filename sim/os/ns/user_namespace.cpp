// SPDX-License-Identifier: Apache-2.0
// User namespaces: ids and capabilities (user_namespaces(7)).
#include "sim/os/ns/namespaces.h"

namespace rkperf::os {

namespace {
constexpr std::uint64_t bit(int capability) { return std::uint64_t{1} << capability; }
} // namespace

bool UserNamespace::below(const UserNamespace& other) const {
    for (const UserNamespace* ns = this; ns; ns = ns->parent.get())
        if (ns == &other) return true;
    return false;
}

std::uint32_t make_kid(const std::vector<IdExtent>& map, std::uint32_t id) {
    for (const IdExtent& e : map)
        if (id >= e.first && id - e.first < e.count) return e.lower + (id - e.first);
    return kNoId;
}

std::uint32_t from_kid(const std::vector<IdExtent>& map, std::uint32_t kid) {
    for (const IdExtent& e : map)
        if (kid >= e.lower && kid - e.lower < e.count) return e.first + (kid - e.lower);
    return kNoId;
}

std::uint32_t make_kuid(const UserNamespace* ns, std::uint32_t uid) { return ns ? make_kid(ns->uid_map, uid) : uid; }
std::uint32_t make_kgid(const UserNamespace* ns, std::uint32_t gid) { return ns ? make_kid(ns->gid_map, gid) : gid; }

std::uint32_t from_kuid_munged(const UserNamespace* ns, std::uint32_t kuid) {
    if (!ns) return kuid;
    const std::uint32_t id = from_kid(ns->uid_map, kuid);
    return id == kNoId ? kOverflowId : id;
}

std::uint32_t from_kgid_munged(const UserNamespace* ns, std::uint32_t kgid) {
    if (!ns) return kgid;
    const std::uint32_t id = from_kid(ns->gid_map, kgid);
    return id == kNoId ? kOverflowId : id;
}

bool ns_capable(const Credentials& cred, const UserNamespace* ns, int capability) {
    const UserNamespace* mine = cred.user_ns.get();
    const int level = mine ? mine->level : 0;
    if (ns && !ns->level) ns = nullptr;
    for (;;) {
        if (ns == mine) return cred.cap_effective & bit(capability);
        if (!ns || ns->level <= level) return false;
        const UserNamespace* above = ns->parent->level ? ns->parent.get() : nullptr;
        // Who made a namespace can do everything in it, seen from where it was made.
        if (above == mine && ns->owner_uid == cred.euid) return true;
        ns = above;
    }
}

bool own_capable(const Credentials& cred, int capability) { return cred.cap_effective & bit(capability); }

} // namespace rkperf::os
