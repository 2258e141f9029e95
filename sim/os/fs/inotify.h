// SPDX-License-Identifier: Apache-2.0
// Watches on files and folders (fsnotify) and the files that programs read them from (inotify, uapi/linux/inotify.h).
#pragma once

#include "sim/os/fs/anon_files.h"

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace rkperf::os {

namespace inotify {
inline constexpr std::uint32_t access = 1, modify = 2, attrib = 4, close_write = 8, close_nowrite = 0x10, open = 0x20,
                               moved_from = 0x40, moved_to = 0x80, create = 0x100, delete_ = 0x200, delete_self = 0x400,
                               move_self = 0x800, unmount = 0x2000, q_overflow = 0x4000, ignored = 0x8000,
                               onlydir = 0x1000000, dont_follow = 0x2000000, excl_unlink = 0x4000000,
                               mask_create = 0x10000000, mask_add = 0x20000000, isdir = 0x40000000,
                               oneshot = 0x80000000;
inline constexpr std::uint32_t all_events = 0xfff;
inline constexpr std::uint32_t all_bits = all_events | unmount | q_overflow | ignored | onlydir | dont_follow |
                                          excl_unlink | mask_create | mask_add | isdir | oneshot;
/// Defaults of /proc/sys/fs/inotify.
inline constexpr int max_user_instances = 128;
inline constexpr std::size_t max_queued_events = 16384;
} // namespace inotify

/// An inotify instance.
class InotifyFile : public AnonFile {
  public:
    using AnonFile::AnonFile;
    /// A watch descriptor, or -EEXIST (IN_MASK_CREATE), -ENOSPC. A node that is watched already keeps its descriptor.
    virtual int add_watch(const DentryPtr& what, std::uint32_t mask) = 0;
    virtual int rm_watch(int wd) = 0; ///< 0 or -EINVAL
};

/// Who watches what. File systems report through it; nothing is done while nobody watches.
class FsNotify {
  public:
    /// A watch of one instance on one node.
    struct Mark {
        class Inotify* group{};
        int wd{};
        std::uint32_t mask{};
        DentryPtr held;           ///< keeps the node while it has a name
        std::weak_ptr<Node> node; ///< after that
    };
    explicit FsNotify(FsServices& s) : s_(s) {}
    /// A hundredth of memory may go into watches.
    static std::uint64_t max_user_watches(std::uint64_t pages);
    FsNotify(const FsNotify&) = delete;
    FsNotify& operator=(const FsNotify&) = delete;

    /// Null with -EMFILE in `error` beyond max_user_instances. flags: IN_NONBLOCK.
    std::shared_ptr<InotifyFile> make(std::uint32_t flags, int& error);

    /// Something was done to the file of this name: told to its watches and to those of its folder.
    void file(const DentryPtr& d, std::uint32_t mask) {
        if (!marks_.empty() && d) report(d, mask, false);
    }
    /// As file(), of a file that is open.
    void opened(const DentryPtr& d) {
        if (!marks_.empty()) report(d, inotify::open, true);
    }
    /// An open file, which may have no name, was read or written.
    void accessed(File& f, bool write) {
        if (!marks_.empty()) report(f.dentry(), write ? inotify::modify : inotify::access, true);
    }
    /// A name came into a folder, or went from it.
    void name(Node& dir, const std::string& name, std::uint32_t mask, bool is_dir, std::uint32_t cookie = 0) {
        if (!marks_.empty()) report_name(dir, name, mask, is_dir, cookie);
    }
    /// The number of a node's names has changed.
    void link_count(Node& n) {
        if (!marks_.empty()) tell(key_of(n), inotify::attrib | (n.is_dir() ? inotify::isdir : 0), {}, 0, false);
    }
    /// `d` was a name, and has gone: with the last one, unless a file is open, watches end.
    void unlinked(DentryPtr d);
    /// `replaced`: what had the new name before, or null.
    void renamed(Node& old_dir, const std::string& old_name, Node& new_dir, const std::string& new_name,
                 const DentryPtr& moved, const DentryPtr& replaced);
    /// An open file has ended. The caller gives up its name.
    void closed(DentryPtr d, std::uint32_t flags);
    /// Its last mount has gone.
    void unmounted(const FileSystem& fs);

  private:
    friend class Inotify;
    using Key = std::tuple<const FileSystem*, std::uint32_t, std::uint64_t>; ///< file system, device, inode
    static Key key_of(const Node& n) { return {&n.fs, n.dev_minor, n.ino}; }
    void report(const DentryPtr& d, std::uint32_t mask, bool open);
    void report_name(Node& dir, const std::string& name, std::uint32_t mask, bool is_dir, std::uint32_t cookie);
    /// Tells the watches of a node; `name` is empty for what concerns itself. `unlinked`: it comes from an open file without
    /// a name, of which some do not want to hear (IN_EXCL_UNLINK).
    void tell(const Key& key, std::uint32_t mask, const std::string& name, std::uint32_t cookie, bool unlinked);
    void end(const Key& key, std::uint32_t why); ///< the reason, and IN_IGNORED, to all
    void reap();                                 ///< nodes that nobody holds any more

    FsServices& s_;
    std::map<Key, std::vector<Mark>> marks_;
    std::vector<Key> unlinked_; ///< watched nodes without a name, in the order in which they lost it
    std::uint32_t last_cookie_{};
    struct User {
        int instances{};
        std::uint64_t watches{};
    };
    std::map<std::uint32_t, User> users_;
};

} // namespace rkperf::os
