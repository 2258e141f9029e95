// SPDX-License-Identifier: Apache-2.0
// Path lookup, one component at a time. ".." and links are resolved here, in the guest's own tree, and never by the host.
#pragma once

#include "sim/os/fs/vfs_impl.h"

#include <deque>
#include <string>

namespace rkperf::os {

class Walker {
  public:
    Walker(FsServices& s, DentryPtr root, std::uint64_t resolve) : s_(s), root_(std::move(root)), resolve_(resolve) {}

    /// The object itself. `follow`: also a link at the end.
    int walk(DentryPtr from, std::string_view path, bool follow, Found& out);
    /// The folder of the last component, which is not looked up.
    int parent(DentryPtr from, std::string_view path, Parent& out);
    /// After parent(): the object `p.name`, following links at the end if wanted. On -ENOENT, `p` tells where a file
    /// that does not exist yet would be made, which may be another folder if a link led there.
    int last(Parent& p, bool follow, Found& out);

  private:
    int push(std::string_view path);
    /// Walks all pending components but, if `keep_last`, the last.
    int run(bool follow, bool keep_last, Found& at);
    int step(const std::string& name, bool last, bool follow, Found& at);
    int go_up(Found& at);

    FsServices& s_;
    DentryPtr root_;
    DentryPtr start_;
    std::uint64_t resolve_;
    std::deque<std::string> pending_;
    int links_{};
};

} // namespace rkperf::os
