// SPDX-License-Identifier: Apache-2.0
// Mount namespaces (mount_namespaces(7)): a table of mounts and the root that its processes start from. Mounts are private:
// none propagates from one namespace to another.
#pragma once

#include "sim/os/fs/vfs_impl.h"
#include "sim/os/ns/namespaces.h"

namespace rkperf::os {

struct MntNamespace final : Namespace {
    MntNamespace(Namespaces& all, UserNsPtr owner, VfsImpl& vfs)
        : Namespace(all, NsKind::mnt, std::move(owner)), vfs(vfs) {}
    ~MntNamespace() override;
    VfsImpl& vfs;
    Mount* root{};
};

} // namespace rkperf::os
