// SPDX-License-Identifier: Apache-2.0
// The mount table and what path system calls do with it.
#pragma once

#include "sim/os/fs/attr_tree.h"
#include "sim/os/fs/host_fs.h"
#include "sim/os/fs/node.h"
#include "sim/os/fs/tmpfs.h"

#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace rkperf::os {

class UnixSocket;
struct Network;
class Namespaces;
struct UserNamespace;

/// What a path leads to: a name, or a file that has none (/proc/PID/fd/N of a pipe).
struct Found {
    DentryPtr dentry;
    FileHandle file;
    int stat(FileStat& st) const;
};

/// The folder that a last component stands in.
struct Parent {
    enum class Last : std::uint8_t { normal, dot, dotdot, root };
    DentryPtr dir;
    std::string name;
    Last last{Last::normal};
    bool slash{};   ///< the path ended with '/'
    bool missing{}; ///< only the last component is not there
};

/// What /proc/PID/io shows of read and write calls.
struct IoCounts {
    std::uint64_t rchar{}, wchar{}, syscr{}, syscw{};
};

class VfsImpl final : public Vfs {
  public:
    /// What is below /proc, /sys is put there by the caller through attributes() and mount().
    VfsImpl(std::unique_ptr<FsServices> services, const MountConfig& config);
    ~VfsImpl() override;

    std::int64_t openat(int dirfd, std::string_view path, std::uint32_t flags, std::uint32_t mode,
                        FileHandle& out) override;
    int statat(int dirfd, std::string_view path, int flags, FileStat& st) override;
    std::int64_t readlinkat(int dirfd, std::string_view path, std::string& out) override;
    int resolve(int dirfd, std::string_view path, bool follow, std::string& out) override;
    int faccessat(int dirfd, std::string_view path, int mode, int flags) override;
    int mkdirat(int dirfd, std::string_view path, std::uint32_t mode) override;
    int unlinkat(int dirfd, std::string_view path, int flags) override;
    int renameat2(int odir, std::string_view from, int ndir, std::string_view to, unsigned flags) override;
    int linkat(int odir, std::string_view from, int ndir, std::string_view to, int flags) override;
    int symlinkat(std::string_view target, int dirfd, std::string_view path) override;
    int fchmodat(int dirfd, std::string_view path, std::uint32_t mode) override;
    int fchownat(int dirfd, std::string_view path, std::uint32_t uid, std::uint32_t gid, int flags) override;
    int utimensat(int dirfd, std::string_view path, const std::int64_t times[4], int flags) override;
    int truncate(std::string_view path, std::uint64_t size) override;
    int chdir(std::string_view path) override;
    int mknodat(int dirfd, std::string_view path, std::uint32_t mode, std::uint64_t dev) override;
    int statfs(std::string_view path, std::array<std::uint64_t, 15>& out) override;
    void add_attribute(ke::Attribute attribute) override;
    void remove_attribute(std::string_view path) override;
    int pipe(FileHandle& read_end, FileHandle& write_end, std::uint32_t flags) override;
    FileHandle eventfd(std::uint64_t init, std::uint32_t flags) override;
    FileHandle perf_file(std::string_view name, ke::FileOperations* ops, std::uint32_t flags) override;
    FileHandle stdio(int host_fd) override;
    void sync_all() override;

    // --- more than Vfs offers to the rest of the kernel ---
    int chmod_file(File& file, std::uint32_t mode);
    int chown_file(File& file, std::uint32_t uid, std::uint32_t gid);
    int utimes_file(File& file, const std::int64_t times[4]);
    int statfs_file(File& file, StatFs& out);
    int fchdir(File& file);
    int getcwd(std::string& out);
    int chroot(std::string_view path);
    int access_found(const Found& what, int mode, const Credentials& cred);
    int sync(File* file); ///< one file system, or all
    /// memfd_create: a file of its own with these seals.
    FileHandle memfd(std::string_view name, std::uint32_t seals);
    /// openat2's restrictions on the way.
    std::int64_t open_how(int dirfd, std::string_view path, const abi::open_how& how, FileHandle& out);

    FsServices& services() { return *s_; }
    FsNotify& notify() { return s_->notify(); }
    const std::vector<std::unique_ptr<Mount>>& mounts() const { return mounts_; }
    DentryPtr root() const { return root_->root; }
    /// Mounts a node at a guest path; missing folders on the way are made up, and seen by the guest only.
    Mount& mount(std::shared_ptr<FileSystem> fs, NodePtr node, std::string_view at, bool read_only, std::string source);
    /// mount(2): a new file system of a type, another place for a folder (MS_BIND), or other flags (MS_REMOUNT).
    int do_mount(const std::string& source, std::string_view path, const std::string& type, std::uint64_t flags,
                 const std::string& data);
    /// umount2: -EINVAL if nothing is mounted there, -EBUSY for what the guest was given and for what is in use.
    int umount(std::string_view path, int flags);
    /// A type for mount(2); `make` gives the file system and what is its root.
    using FsMaker = std::function<int(const std::string& data, std::shared_ptr<FileSystem>& fs, NodePtr& root)>;
    void add_fs_type(std::string type, bool in_user_namespace, FsMaker make);
    // mount namespaces (mnt_namespace.cpp)
    std::shared_ptr<MntNamespace> init_mnt_namespace(Namespaces& all, const std::shared_ptr<UserNamespace>& user);
    /// A namespace with copies of all mounts of `from`; root and current folder in `fs` move to the copies.
    std::shared_ptr<MntNamespace> copy_mnt_namespace(Namespaces& all, const std::shared_ptr<UserNamespace>& user,
                                                     const MntNamespace& from, FsContext& fs);
    void enter_mnt_namespace(MntNamespace& ns, FsContext& fs); ///< setns: its root is the caller's now
    void drop_mnt_namespace(MntNamespace& ns);
    bool chrooted(const FsContext& fs, const MntNamespace& ns) const;
    MntNamespace* current_mnt_namespace(); ///< of the running task; null while there is none yet
    void add_tree(std::string prefix, std::shared_ptr<AttrFs> tree) { trees_[std::move(prefix)] = std::move(tree); }
    std::shared_ptr<AttrFs> tree(const std::string& prefix) const { return trees_.at(prefix); }
    std::uint64_t next_anon_ino() { return ++anon_ino_; }
    /// Sockets by their abstract names.
    using SocketNames = std::map<std::string, std::weak_ptr<UnixSocket>>;
    const std::shared_ptr<SocketNames>& abstract_names() const { return socket_names_; }
    Network& network(); ///< what other sockets share (proc_net.cpp)
    std::uint32_t next_minor() { return ++minor_; }
    HostFs& host() { return *host_; }
    std::map<const void*, const void*>& lock_waits() { return lock_waits_; }
    /// A read or write call of a thread that gave `result`.
    void account_io(int tgid, int tid, bool write, std::int64_t result);
    IoCounts io_counts(int id, bool process) const;
    std::uint64_t cached_pages() const; ///< memory that holds contents of files
    int walk(int dirfd, std::string_view path, bool follow, bool empty_ok, Found& out, std::uint64_t resolve = 0);

  private:
    friend class Walker;
    int start_of(int dirfd, std::string_view path, DentryPtr& out);
    int walk_parent(int dirfd, std::string_view path, Parent& out);
    std::int64_t open_path(int dirfd, std::string_view path, const abi::open_how& how, FileHandle& out);
    int open_found(const Found& what, std::uint32_t flags, FileHandle& out);
    int open_dentry(const DentryPtr& d, std::uint32_t flags, bool created, FileHandle& out);
    /// Checks for making something new in a folder.
    int may_create(const Parent& p);
    int may_delete(const Parent& p, const DentryPtr& victim, bool directory);
    /// Tells of a new name unless there was an error, which it returns.
    int made(const Parent& p, int error, bool directory = false);
    int setattr_allowed(const DentryPtr& d, bool owner_only);
    int chmod_node(const DentryPtr& d, std::uint32_t mode);
    int chown_node(const DentryPtr& d, std::uint32_t uid, std::uint32_t gid);
    int utimes_node(const DentryPtr& d, const std::int64_t times[4]);
    DentryPtr process_root();
    DentryPtr process_cwd();
    DentryPtr make_mountpoint(std::string_view at);
    Mount& attach(const DentryPtr& point, std::shared_ptr<FileSystem> fs, NodePtr node, bool read_only,
                  std::string source);
    bool mount_busy(const Mount& m);

    std::unique_ptr<FsServices> s_;
    std::shared_ptr<HostFs> host_;
    std::shared_ptr<TmpFs> skeleton_, anonymous_;
    std::shared_ptr<Mount> anonymous_mount_;               ///< of files without a name, in no namespace
    std::map<std::string, std::shared_ptr<AttrFs>> trees_; ///< by the path they are mounted at
    std::vector<std::unique_ptr<Mount>> mounts_;
    std::vector<std::unique_ptr<Mount>> gone_mounts_; ///< out of every table; open files may still name them
    Mount* root_{};
    MntNamespace* init_ns_{};
    struct FsType {
        bool in_user_namespace{};
        FsMaker make;
    };
    std::map<std::string, FsType> fs_types_;
    std::uint64_t anon_ino_{15000};
    std::shared_ptr<SocketNames> socket_names_{std::make_shared<SocketNames>()};
    std::shared_ptr<Network> network_;
    std::uint32_t minor_{20};
    int mount_id_{20};
    std::map<int, IoCounts> process_io_, thread_io_;
    std::map<const void*, const void*> lock_waits_; ///< POSIX locks: who waits for whom
};

} // namespace rkperf::os
