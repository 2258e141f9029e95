// SPDX-License-Identifier: Apache-2.0
#include "sim/os/fs/proc_ns.h"

#include "sim/os/fs/procfs.h"
#include "sim/os/kernel.h"
#include "sim/os/ns/nsfs.h"
#include "sim/os/ptrace/ptrace.h"

#include <sys/stat.h>
#include <algorithm>
#include <charconv>

namespace rkperf::os {

namespace {

constexpr int kCapSetgidNr = 6, kCapSetuidNr = 7;
constexpr std::size_t kMaxExtents = 340;

Task* task_of(Kernel& k, int tid) {
    Task* t = k.find_task(tid);
    return t && t->state != TaskState::dead ? t : nullptr;
}

class NsLink final : public Node {
  public:
    NsLink(FileSystem& fs, Kernel& k, int tid, const NsKindInfo& info)
        : Node(fs, S_IFLNK | 0777), k_(k), tid_(tid), info_(info) {}
    int readlink(std::string& out) override {
        NsPtr ns;
        if (const int e = get(ns)) return e;
        out = ns_name(*ns);
        return 0;
    }
    int jump(DentryPtr&, FileHandle& file) override {
        NsPtr ns;
        if (const int e = get(ns)) return e;
        file = std::make_shared<NsFile>(k_, ns, 0);
        return 0;
    }

  private:
    int get(NsPtr& ns) {
        Task* t = task_of(k_, tid_);
        if (!t) return -EACCES;
        if (!ptrace_may_access(k_.cur(), *t, PtraceMode::fscreds)) return -EACCES;
        ns = k_.namespaces().of_task(*t, info_.kind, info_.for_children);
        return ns ? 0 : -ENOENT;
    }
    Kernel& k_;
    int tid_;
    const NsKindInfo& info_;
};

class NsDir final : public Node {
  public:
    NsDir(FileSystem& fs, Kernel& k, int tid) : Node(fs, S_IFDIR | 0511), k_(k), tid_(tid) {}
    int lookup(const std::string& name, NodePtr& out) override {
        if (!task_of(k_, tid_)) return -ENOENT;
        for (const NsKindInfo& i : ns_kinds())
            if (name == i.name) {
                out = std::make_shared<NsLink>(fs, k_, tid_, i);
                out->attr.uid = attr.uid;
                out->attr.gid = attr.gid;
                return 0;
            }
        return -ENOENT;
    }
    int list(std::vector<DirEntry>& out) override {
        for (const NsKindInfo& i : ns_kinds()) out.push_back({i.name, fs.next_ino(), S_IFLNK});
        return 0;
    }

  private:
    Kernel& k_;
    int tid_;
};

std::string_view strip(std::string_view s) {
    while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
    while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
    return s;
}

/// Lines of three numbers that do not overlap; -EINVAL.
int parse_extents(std::string_view text, std::vector<IdExtent>& out) {
    if (!text.empty() && text.back() == '\n') text.remove_suffix(1);
    while (true) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = strip(text.substr(0, end));
        std::uint32_t v[3];
        for (std::uint32_t& n : v) {
            line = strip(line);
            const auto r = std::from_chars(line.data(), line.data() + line.size(), n);
            if (r.ec != std::errc()) return -EINVAL;
            line.remove_prefix(static_cast<std::size_t>(r.ptr - line.data()));
            if (!line.empty() && line.front() != ' ' && line.front() != '\t') return -EINVAL;
        }
        if (!strip(line).empty()) return -EINVAL;
        const IdExtent e{v[0], v[1], v[2]};
        if (e.first == kNoId || e.lower == kNoId || !e.count) return -EINVAL;
        if (e.first + e.count <= e.first || e.lower + e.count <= e.lower) return -EINVAL;
        for (const IdExtent& o : out) {
            const auto apart = [](std::uint32_t a, std::uint32_t b, std::uint32_t n, std::uint32_t m) {
                return a + n <= b || b + m <= a;
            };
            if (!apart(e.first, o.first, e.count, o.count) || !apart(e.lower, o.lower, e.count, o.count))
                return -EINVAL;
        }
        if (out.size() == kMaxExtents) return -EINVAL;
        out.push_back(e);
        if (end >= text.size()) return 0;
        text.remove_prefix(end + 1);
    }
}

const UserNamespace* or_null(const UserNamespace& ns) { return ns.level ? &ns : nullptr; }

/// May this map be set? Own ids may be mapped by everybody, others by who rules the namespace above.
bool new_idmap_permitted(const Credentials& cred, const UserNamespace& ns, IdMapFile which,
                         const std::vector<IdExtent>& map) {
    if (which == IdMapFile::projid) return true;
    const bool uid = which == IdMapFile::uid;
    if (map.size() == 1 && map[0].count == 1 && ns.owner_uid == cred.euid) {
        const std::uint32_t kid = make_kid(uid ? ns.parent->uid_map : ns.parent->gid_map, map[0].lower);
        if (uid && kid == cred.euid) return true;
        if (!uid && !ns.setgroups_allowed && kid == cred.egid) return true;
    }
    return ns_capable(cred, or_null(*ns.parent), uid ? kCapSetuidNr : kCapSetgidNr);
}

std::int64_t write_setgroups(Kernel& k, UserNamespace& ns, std::string_view text) {
    const Credentials& cred = k.cur().cred;
    if (!ns_capable(cred, or_null(ns), kCapSysAdmin)) return -EACCES;
    if (text.size() >= 8) return -EINVAL;
    std::string_view word = text;
    while (!word.empty() && (word.back() == '\n' || word.back() == ' ')) word.remove_suffix(1);
    if (word != "allow" && word != "deny") return -EINVAL;
    if (word == "allow") {
        if (!ns.setgroups_allowed) return -EPERM;
    } else {
        // Too late once there are groups to use.
        if (!ns.gid_map.empty()) return -EPERM;
        ns.setgroups_allowed = false;
    }
    return static_cast<std::int64_t>(text.size());
}

} // namespace

NodePtr make_ns_dir(AttrFs& fs, Kernel& k, int tid) { return std::make_shared<NsDir>(fs, k, tid); }

std::string id_map_text(Kernel& k, Task& t, IdMapFile which) {
    const UserNsPtr ns = k.namespaces().user_of(t.cred);
    if (which == IdMapFile::setgroups) return ns->setgroups_allowed ? "allow\n" : "deny\n";
    const auto map_of = [&](const UserNamespace& u) -> const std::vector<IdExtent>& {
        return which == IdMapFile::uid ? u.uid_map : which == IdMapFile::gid ? u.gid_map : u.projid_map;
    };
    // As the reader's namespace has the ids, or the one above if it is the reader's own.
    UserNsPtr lower = k.namespaces().user_of(k.cur().cred);
    if (lower == ns && lower->parent) lower = lower->parent;
    std::string out;
    for (const IdExtent& e : map_of(*ns))
        append(out, "%10u %10u %10u\n", e.first, from_kid(map_of(*lower), e.lower), e.count);
    return out;
}

std::int64_t id_map_write(Kernel& k, Task& t, IdMapFile which, std::string_view text) {
    const UserNsPtr ns = k.namespaces().user_of(t.cred);
    const Credentials& cred = k.cur().cred;
    if (which == IdMapFile::setgroups) return write_setgroups(k, *ns, text);
    if (!ns->parent) return -EPERM;
    const UserNsPtr mine = k.namespaces().user_of(cred);
    if (mine != ns && mine != ns->parent) return -EPERM;
    if (text.size() >= kPageSize) return -EINVAL;
    std::vector<IdExtent>& map = which == IdMapFile::uid   ? ns->uid_map
                                 : which == IdMapFile::gid ? ns->gid_map
                                                           : ns->projid_map;
    if (!map.empty()) return -EPERM; // once only
    if (which != IdMapFile::projid && !ns_capable(cred, or_null(*ns), kCapSysAdmin)) return -EPERM;
    std::vector<IdExtent> made;
    if (const int e = parse_extents(text, made)) return e;
    const bool root = std::any_of(made.begin(), made.end(), [](const IdExtent& e) { return e.lower == 0; });
    if (which == IdMapFile::uid && root && mine == ns && !ns->parent_could_setfcap) return -EPERM;
    if (!new_idmap_permitted(cred, *ns, which, made)) return -EPERM;
    const auto& above = which == IdMapFile::uid   ? ns->parent->uid_map
                        : which == IdMapFile::gid ? ns->parent->gid_map
                                                  : ns->parent->projid_map;
    for (IdExtent& e : made) {
        const std::uint32_t first = make_kid(above, e.lower), last = make_kid(above, e.lower + e.count - 1);
        if (first == kNoId || last == kNoId || last - first != e.count - 1) return -EPERM;
        e.lower = first;
    }
    map = std::move(made);
    return static_cast<std::int64_t>(text.size());
}

} // namespace rkperf::os
