// SPDX-License-Identifier: Apache-2.0
#include "sim/os/process/credentials.h"

#include "sim/os/ns/namespaces.h"
#include "sim/os/process/process.h"

namespace rkperf::os {

namespace {

/// CAP_CHOWN, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER, FSETID, LINUX_IMMUTABLE, MKNOD, MAC_OVERRIDE.
constexpr std::uint64_t kFileCaps = 0x1f | 1ull << 9 | 1ull << 27 | 1ull << 32;

std::uint32_t root_of(const Credentials& c) { return make_kuid(c.user_ns.get(), 0); }

} // namespace

void commit_creds(Task& t, const Credentials& old) {
    const Credentials& c = t.cred;
    const bool more_caps = c.user_ns != old.user_ns || c.cap_permitted & ~old.cap_permitted;
    if (c.euid == old.euid && c.egid == old.egid && c.fsuid == old.fsuid && c.fsgid == old.fsgid && !more_caps) return;
    t.process->dumpable = false;
    t.pdeath_signal = 0;
}

void fix_caps_after_setuid(Credentials& c, const Credentials& old) {
    if (c.securebits & securebit::no_setuid_fixup) return;
    const std::uint32_t root = root_of(old);
    const auto any_root = [root](const Credentials& x) { return x.uid == root || x.euid == root || x.suid == root; };
    if (any_root(old) && !any_root(c)) {
        if (!(c.securebits & securebit::keep_caps)) c.cap_permitted = c.cap_effective = 0;
        c.cap_ambient = 0;
    }
    if (old.euid == root && c.euid != root) c.cap_effective = 0;
    if (old.euid != root && c.euid == root) c.cap_effective = c.cap_permitted;
}

void fix_caps_after_setfsuid(Credentials& c, const Credentials& old) {
    if (c.securebits & securebit::no_setuid_fixup) return;
    const std::uint32_t root = root_of(old);
    if (old.fsuid == root && c.fsuid != root) c.cap_effective &= ~kFileCaps;
    if (old.fsuid != root && c.fsuid == root) c.cap_effective |= c.cap_permitted & kFileCaps;
}

} // namespace rkperf::os
