// SPDX-License-Identifier: Apache-2.0
// signalfd: takes signals of whoever reads.
#pragma once

#include "sim/os/fs/anon_files.h"

namespace rkperf::os {

class SignalFile : public AnonFile {
  public:
    using AnonFile::AnonFile;
    virtual void set_mask(SigSet mask) = 0;
};
std::shared_ptr<SignalFile> make_signalfd(FsServices& s, SigSet mask, std::uint32_t flags);

} // namespace rkperf::os
