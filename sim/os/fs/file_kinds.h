// SPDX-License-Identifier: Apache-2.0
// Makers of the kinds of open files.
#pragma once

#include "sim/os/fs/node.h"

#include <functional>
#include <string>
#include <string_view>

namespace rkperf::os {

class PagedNode;

/// A file opened by a name.
class NamedFile : public File {
  public:
    NamedFile(DentryPtr name, std::uint32_t open_flags);
    ~NamedFile() override; ///< drops the locks of this open file description
    int stat(FileStat& st) override;
    Inode* inode() override { return node().get(); }
    std::shared_ptr<Dentry> dentry() const override { return name_; }
    std::string path() const override { return name_->path(); }
    const NodePtr& node() const { return name_->node; }
    FsServices& s() const { return name_->node->services(); }

  protected:
    DentryPtr name_;
};

/// open(O_PATH): a place in the tree, nothing else.
FileHandle make_path_file(const DentryPtr& name, std::uint32_t flags);
FileHandle make_dir_file(const DentryPtr& name, std::uint32_t flags);
/// Pages of a PagedNode.
FileHandle make_regular_file(const DentryPtr& name, std::uint32_t flags);

/// Contents made when the file is read from its start; 0 or -errno.
using ShowFn = std::function<int(std::string& out)>;
/// Takes what one write(2) brings: bytes taken or -errno.
using StoreFn = std::function<std::int64_t(std::string_view)>;
/// What a position means to a text file.
enum class TextPositions : std::uint8_t {
    text,   ///< a place in the text as it was when read from its start; a write stores what it brings, wherever it is
    number, ///< only the start counts, as for numbers below /proc/sys (proc_dointvec): a read elsewhere gives nothing, a
            ///< write elsewhere is taken and lost
    string, ///< a place in the line as it is now, as for strings below /proc/sys (proc_dostring): a write replaces what is
            ///< from there on, and past the end is taken and lost
};
struct TextRules {
    int no_read{-EINVAL}, no_write{-EINVAL}; ///< errors of an operation without function
    bool pollable{true};
    TextPositions positions{};
};
FileHandle make_text_file(const DentryPtr& name, std::uint32_t flags, ShowFn show, StoreFn store, TextRules rules);

/// Bytes of a directory entry stream (struct linux_dirent64) from entry `pos` on, as many as fit; -EINVAL if not even one
/// does. `pos` advances.
std::int64_t fill_dirents(const std::vector<DirEntry>& entries, std::uint64_t& pos, std::span<std::uint8_t> to);

/// lseek for a file of `size` bytes with plain positions: the new position or -errno.
std::int64_t generic_lseek(std::uint64_t pos, std::uint64_t size, std::int64_t offset, int whence);

} // namespace rkperf::os
