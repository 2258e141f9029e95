// SPDX-License-Identifier: Apache-2.0
// The nameless file behind a shared anonymous mapping, so that processes which inherit the mapping share its pages.
#pragma once

#include "sim/os/fs/file.h"

#include <map>

namespace rkperf::os {

class ShmemInode final : public Inode {
  public:
    ShmemInode(Kernel& k, std::uint64_t bytes);
    ~ShmemInode() override;
    FileStat stat() override;
    std::uint64_t size() override { return bytes_; }
    PhysAddr page(std::uint64_t index, bool& major) override;
    Cached cached(std::uint64_t index) override {
        const auto it = pages_.find(index);
        if (it == pages_.end() || index >= (bytes_ + kPageSize - 1) >> kPageShift) return {};
        return {it->second, true, true};
    }
    void mark_dirty(std::uint64_t) override {}
    void grow(std::uint64_t bytes) { bytes_ = bytes; }

  private:
    Kernel& os_;
    std::uint64_t bytes_;
    std::map<std::uint64_t, PhysAddr> pages_;
};

class ShmemFile final : public File {
  public:
    ShmemFile(Kernel& k, std::uint64_t bytes) : File(k), inode_(std::make_shared<ShmemInode>(k, bytes)) { flags = 2; }
    int stat(FileStat& st) override {
        st = inode_->stat();
        return 0;
    }
    Inode* inode() override { return inode_.get(); }
    std::string path() const override { return "/dev/zero (deleted)"; }

  private:
    std::shared_ptr<ShmemInode> inode_;
};

} // namespace rkperf::os
