// SPDX-License-Identifier: Apache-2.0
#include "sim/os/fs/mount_types.h"

#include "sim/os/fs/procfs.h"
#include "sim/os/kernel.h"

#include <sys/stat.h>
#include <charconv>

namespace rkperf::os {

namespace {

constexpr std::uint64_t kTmpShare = 2; ///< of memory, as for /tmp

/// Options of tmpfs: size, nr_blocks, mode, uid, gid; those about inodes change nothing.
int tmpfs_options(const std::string& data, TmpFs& fs) {
    for (std::size_t at = 0; at < data.size();) {
        const std::size_t end = std::min(data.find(',', at), data.size());
        const std::string_view option(data.data() + at, end - at);
        at = end + 1;
        const std::size_t eq = std::min(option.find('='), option.size());
        const std::string_view key = option.substr(0, eq), value = option.substr(std::min(eq + 1, option.size()));
        std::uint64_t n = 0;
        const auto r = std::from_chars(value.data(), value.data() + value.size(), n, key == "mode" ? 8 : 10);
        std::uint64_t unit = 1;
        if (r.ec == std::errc() && r.ptr != value.data() + value.size()) {
            switch (*r.ptr | 0x20) {
                case 'k': unit = 1ull << 10; break;
                case 'm': unit = 1ull << 20; break;
                case 'g': unit = 1ull << 30; break;
                default: return -EINVAL;
            }
        }
        const bool number = r.ec == std::errc() && !value.empty();
        if (option.empty() || option == "inode32" || option == "inode64") continue;
        if (!number) return -EINVAL;
        if (key == "size")
            fs.max_pages = (n * unit + kPageSize - 1) / kPageSize;
        else if (key == "nr_blocks")
            fs.max_pages = n * unit;
        else if (key == "mode")
            fs.root()->attr.mode = S_IFDIR | (static_cast<std::uint32_t>(n) & 07777);
        else if (key == "uid")
            fs.root()->attr.uid = static_cast<std::uint32_t>(n);
        else if (key == "gid")
            fs.root()->attr.gid = static_cast<std::uint32_t>(n);
        else if (key != "nr_inodes")
            return -EINVAL;
    }
    return 0;
}

} // namespace

void add_mount_types(VfsImpl& vfs, Kernel& kernel) {
    const auto tmp = [&vfs](const std::string& data, std::shared_ptr<FileSystem>& out, NodePtr& root) {
        const auto fs =
            std::make_shared<TmpFs>(vfs.services(), vfs.next_minor(), vfs.services().pages().total_pages() / kTmpShare);
        fs->root()->attr.mode = S_IFDIR | 01777;
        if (const int e = tmpfs_options(data, *fs)) return e;
        root = fs->root();
        out = fs;
        return 0;
    };
    vfs.add_fs_type("tmpfs", true, tmp);
    vfs.add_fs_type("ramfs", true, tmp);
    vfs.add_fs_type("proc", true,
                    [&vfs, &kernel](const std::string& data, std::shared_ptr<FileSystem>& fs, NodePtr& root) {
                        ProcOptions options;
                        if (const int e = proc_options(data, options)) return e;
                        fs = vfs.tree("/proc");
                        root = proc_root_for(vfs, kernel, kernel.cur().pid_ns, options);
                        return 0;
                    });
    // There is one tree of each of these, wherever it is mounted.
    static constexpr struct {
        const char *type, *at;
        bool in_user_namespace;
    } kTrees[] = {{"sysfs", "/sys", true}, {"tracefs", "/sys/kernel/tracing", false}};
    for (const auto& t : kTrees)
        vfs.add_fs_type(t.type, t.in_user_namespace,
                        [&vfs, at = t.at](const std::string&, std::shared_ptr<FileSystem>& fs, NodePtr& root) {
                            const auto tree = vfs.tree(at);
                            root = tree->root();
                            fs = tree;
                            return 0;
                        });
}

} // namespace rkperf::os
