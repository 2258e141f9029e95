// SPDX-License-Identifier: Apache-2.0
// The objects that paths lead through: file systems, their nodes (struct inode with its operations), names (struct
// dentry) and mounts. A name belongs to one mount; a folder bound at two places has two trees of names over the same nodes.
#pragma once

#include "sim/os/fs/abi.h"
#include "sim/os/fs/file.h"
#include "sim/os/fs/services.h"

#include <sys/stat.h>
#include <array>
#include <cerrno>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rkperf::os {

class Node;
class Dentry;
struct MntNamespace;
using NodePtr = std::shared_ptr<Node>;
using DentryPtr = std::shared_ptr<Dentry>;

/// struct statfs of arm64 as 15 words: type, bsize, blocks, bfree, bavail, files, ffree, fsid, namelen, frsize, flags, 4 spare.
using StatFs = std::array<std::uint64_t, 15>;

class FileSystem {
  public:
    FileSystem(FsServices& services, std::string type, std::uint64_t magic, std::uint32_t major, std::uint32_t minor)
        : s(services), type(std::move(type)), magic(magic), dev_major(major), dev_minor(minor) {}
    virtual ~FileSystem() = default;
    FileSystem(const FileSystem&) = delete;
    FileSystem& operator=(const FileSystem&) = delete;
    virtual void statfs(StatFs& out);
    /// Writes back; the first error met, or 0.
    virtual int sync() { return 0; }
    /// A node has lost its last name: nothing keeps it for later.
    virtual void forget(const std::shared_ptr<Node>& node) { (void)node; }
    std::uint64_t next_ino() { return ++last_ino_; }
    std::uint64_t dev() const { return abi::make_dev(dev_major, dev_minor); }

    FsServices& s;
    const std::string type;
    const std::uint64_t magic;
    const std::uint32_t dev_major, dev_minor;

  private:
    std::uint64_t last_ino_{};
};

struct Mount {
    int id{}, parent_id{};
    std::shared_ptr<FileSystem> fs;
    DentryPtr root;
    std::weak_ptr<Dentry> mountpoint; ///< empty for the namespace's root
    bool read_only{};
    bool given{};             ///< part of what the run was given: the guest cannot take it away
    bool expired{};           ///< marked by umount2(MNT_EXPIRE)
    MntNamespace* ns{};       ///< the namespace whose table it is in
    std::string source;       ///< first column of /proc/mounts
    std::string subtree{"/"}; ///< fourth column of mountinfo
};

struct DirEntry {
    std::string name;
    std::uint64_t ino{};
    std::uint32_t type{}; ///< mode & S_IFMT
};

inline constexpr int kMayExec = 1, kMayWrite = 2, kMayRead = 4;

/// A file, directory, link ... of a file system. Names given to methods are single components, never "." or "..".
/// The callers have checked kinds and permissions; results are 0 or -errno.
class Node : public Inode {
  public:
    Node(FileSystem& fs, std::uint32_t mode);

    FileStat stat() override { return attr; }
    std::uint64_t size() override { return static_cast<std::uint64_t>(stat().size); }
    PhysAddr page(std::uint64_t, bool&) override { return PhysAddr{0}; }
    void mark_dirty(std::uint64_t) override {}

    std::uint32_t mode() { return stat().mode; }
    bool is(std::uint32_t type) const { return (attr.mode & S_IFMT) == type; }
    bool is_dir() const { return is(S_IFDIR); }

    virtual int lookup(const std::string& name, NodePtr& out) {
        (void)name, (void)out;
        return -ENOENT;
    }
    virtual int list(std::vector<DirEntry>& out) {
        (void)out;
        return -ENOTDIR;
    }
    /// list() gives the order in which users see the names; else they are sorted.
    virtual bool lists_in_order() const { return false; }
    /// Any kind but a symbolic link, by the S_IFMT bits of `mode`. Owner and group are the caller's.
    virtual int create(const std::string& name, std::uint32_t mode, std::uint64_t rdev, NodePtr& out);
    virtual int symlink(const std::string& name, const std::string& target);
    virtual int link(const std::string& name, Node& target);
    virtual int unlink(const std::string& name, bool directory);
    /// Checks on what the new name replaces have been made; `exchange`: RENAME_EXCHANGE.
    virtual int rename(const std::string& name, Node& new_dir, const std::string& new_name, bool exchange);
    virtual int readlink(std::string& out) {
        (void)out;
        return -EINVAL;
    }
    /// Links of /proc that lead to an object and not to a path. -ENOSYS: an ordinary link.
    virtual int jump(DentryPtr& out, FileHandle& file) {
        (void)out, (void)file;
        return -ENOSYS;
    }
    virtual int open(const DentryPtr& name, std::uint32_t flags, FileHandle& out);
    /// kMay* bits against credentials: 0 or -EACCES.
    virtual int permission(int mask, const Credentials& cred);
    /// Tells a file apart that refuses what its mode would let the superuser do.
    virtual int open_permission(std::uint32_t flags) {
        (void)flags;
        return 0;
    }
    virtual int chmod(std::uint32_t mode);
    virtual int chown(std::uint32_t uid, std::uint32_t gid); ///< ~0: unchanged
    /// s, ns of atime and mtime; ns may be UTIME_OMIT.
    virtual int utimes(const std::int64_t times[4]);
    /// Of a mount whose root it is, what /proc/mounts shows beyond ro or rw: ",name=value".
    virtual std::string mount_options() const { return {}; }
    virtual int set_size(std::uint64_t size) {
        (void)size;
        return -EINVAL;
    }

    FsServices& services() { return services_; } ///< also when the file system is already gone
    void touch_times(bool access, bool modify, bool change);

    FileSystem& fs;
    FsServices& services_;
    FileStat attr;               ///< a node whose attributes live elsewhere keeps only the mode's type here
    std::shared_ptr<void> extra; ///< pipe behind a FIFO
    bool linkable{};             ///< made by O_TMPFILE: may get a name although it has none
};

int generic_permission(const FileStat& st, const Credentials& cred, int mask);
bool capable_of(const Credentials& cred, int capability);
inline constexpr int kCapChown = 0, kCapDacOverride = 1, kCapDacReadSearch = 2, kCapFowner = 3, kCapFsetid = 4,
                     kCapSyslog = 34, kCapSysAdmin = 21, kCapMknod = 27, kCapSysChroot = 18, kCapSysPtrace = 19;

/// A name in a mount's tree. Children are remembered while someone holds them, so that a directory that moves takes
/// the names below it along.
class Dentry : public std::enable_shared_from_this<Dentry> {
  public:
    Dentry(Mount* mount, DentryPtr parent, std::string name, NodePtr node)
        : mount(mount), parent(std::move(parent)), name(std::move(name)), node(std::move(node)) {}
    ~Dentry();

    /// The child `name`: pinned, remembered, or from the node. Does not cross mounts.
    int child(const std::string& name, DentryPtr& out);
    /// As child(), for a node just created.
    DentryPtr adopt(const std::string& name, NodePtr node);
    /// The name goes away (unlink, rename over it).
    void forget(const std::string& name);
    void move(const DentryPtr& new_parent, const std::string& new_name);
    /// Two names change places (RENAME_EXCHANGE).
    static void exchange(const DentryPtr& a, const DentryPtr& b);
    /// Down through whatever is mounted here.
    DentryPtr covered();
    std::string path(const Dentry* root = nullptr) const; ///< absolute, with " (deleted)" if it is gone
    bool unlinked() const { return unlinked_; }
    bool below(const Dentry& other) const;
    /// Lets go of the mount points below, which hold their parents as these hold them.
    void unpin_all();

    Mount* mount;
    DentryPtr parent; ///< null for a mount's root
    std::string name;
    NodePtr node;
    Mount* mounted{};                        ///< what is mounted here
    std::map<std::string, DentryPtr> pinned; ///< mount points: seen whatever the node has

  private:
    std::map<std::string, Dentry*> children_;
    bool unlinked_{};
};

} // namespace rkperf::os
