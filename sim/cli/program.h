// SPDX-License-Identifier: Apache-2.0
// Before the simulation: which host files the guest sees, where the program is, and whether it can run at all.
#pragma once

#include "sim/cli/options.h"
#include "sim/os/fs/file.h"

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace rkperf::cli {

/// A mistake of the user's; what() is one sentence.
struct UserError : std::runtime_error {
    using runtime_error::runtime_error;
};

/// The guest's view of the host's files, as the simulated kernel will have it.
class GuestFiles {
  public:
    /// `cwd`: the host's current folder, bound writable under its own name.
    GuestFiles(const Options& o, const std::string& cwd);

    /// The host path behind a guest path, links followed as the guest would; empty if it is not there.
    std::optional<std::string> host_path(const std::string& guest) const;
    /// Makes a host file visible under its own name, read-only, if it is not.
    void show(const std::string& host_file);
    void bind(std::string host, std::string guest, bool writable);
    const os::MountConfig& mounts() const { return mounts_; }

  private:
    std::optional<std::string> map(const std::string& guest) const;
    os::MountConfig mounts_;
};

/// Guest path of the program `name` (looked up as a shell does), made visible. Throws UserError.
std::string find_program(GuestFiles& files, const std::string& name, const std::string& cwd);

/// Throws UserError unless the guest can execute the file: a complete AArch64 ELF file whose dynamic linker is visible,
/// or a script whose interpreter is such a file. `name`: what to call it.
void check_program(const GuestFiles& files, const std::string& guest_path, const std::string& name);

} // namespace rkperf::cli
