// SPDX-License-Identifier: Apache-2.0
#include "sim/os/ns/nsfs.h"

#include "sim/os/fs/node.h"
#include "sim/os/kernel.h"
#include "sim/os/ns/pid_namespace.h"

#include <sys/stat.h>
#include <algorithm>
#include <cerrno>

namespace rkperf::os {

namespace {
/// <linux/nsfs.h>.
constexpr std::uint32_t NS_GET_USERNS = 0xb701, NS_GET_PARENT = 0xb702, NS_GET_NSTYPE = 0xb703,
                        NS_GET_OWNER_UID = 0xb704;
} // namespace

std::string ns_name(const Namespace& ns) {
    const auto kinds = ns_kinds();
    const auto it = std::find_if(kinds.begin(), kinds.end(), [&](const NsKindInfo& i) { return i.kind == ns.kind; });
    return std::string(it->type).append(":[").append(std::to_string(ns.ino)).append("]");
}

int NsFile::stat(FileStat& st) {
    st = FileStat{};
    st.dev = abi::make_dev(0, kNsfsMinor);
    st.ino = ns_->ino;
    st.mode = S_IFREG | 0444;
    return 0;
}

std::string NsFile::path() const { return ns_name(*ns_); }

int NsFile::reopen(std::uint32_t new_flags, FileHandle& out) {
    if ((new_flags & abi::o_accmode) != abi::o_rdonly) return -EPERM; // they are immutable
    out = std::make_shared<NsFile>(os, ns_, new_flags);
    return 0;
}

std::int64_t NsFile::open_related(const NsPtr& ns) {
    return os.cur().files->alloc(std::make_shared<NsFile>(os, ns, abi::o_largefile), true, os.rlimit(7));
}

std::int64_t NsFile::ioctl(std::uint32_t cmd, std::uint64_t arg) {
    Namespaces& all = os.namespaces();
    const UserNsPtr mine = all.user_of(os.cur().cred);
    switch (cmd) {
        case NS_GET_USERNS:
            // Only what lies at or below the caller's own namespace can be seen.
            if (!ns_->owner || !ns_->owner->below(*mine)) return -EPERM;
            return open_related(ns_->owner);
        case NS_GET_PARENT: {
            if (ns_->kind == NsKind::user) {
                const auto& parent = static_cast<UserNamespace&>(*ns_).parent;
                return parent && parent->below(*mine) ? open_related(parent) : -EPERM;
            }
            if (ns_->kind != NsKind::pid) return -EINVAL;
            const auto& parent = static_cast<PidNamespace&>(*ns_).parent;
            const auto& active = os.cur().pid_ns ? os.cur().pid_ns : all.init_pid();
            return parent && parent->below(*active) ? open_related(parent) : -EPERM;
        }
        case NS_GET_NSTYPE: return static_cast<std::int64_t>(clone_flag(ns_->kind));
        case NS_GET_OWNER_UID: {
            if (ns_->kind != NsKind::user) return -EINVAL;
            const std::uint32_t uid =
                from_kuid_munged(os.cur().cred.user_ns.get(), static_cast<UserNamespace&>(*ns_).owner_uid);
            return os.put(arg, uid) ? -EFAULT : 0;
        }
        default: return -ENOTTY;
    }
}

} // namespace rkperf::os
