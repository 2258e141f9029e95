// SPDX-License-Identifier: Apache-2.0
#include "sim/os/cgroup/cgroup.h"

#include "sim/os/kernel.h"
#include "sim/os/ns/pid_namespace.h"
#include "sim/os/signal/signals.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>

namespace rkperf::os {

namespace {

constexpr unsigned kVisible = kCgroupPids, kImplicit = kCgroupPerfEvent, kAllControllers = kVisible | kImplicit;
constexpr struct {
    const char* name;
    unsigned bit;
} kControllers[] = {{"pids", kCgroupPids}};

std::string_view strip(std::string_view s) {
    const auto space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
    while (!s.empty() && space(s.front())) s.remove_prefix(1);
    while (!s.empty() && space(s.back())) s.remove_suffix(1);
    return s;
}

std::optional<int> to_int(std::string_view s) {
    int n = 0;
    const auto r = std::from_chars(s.data(), s.data() + s.size(), n);
    if (s.empty() || r.ec != std::errc() || r.ptr != s.data() + s.size()) return std::nullopt;
    return n;
}

template <class Fn>
void each_descendant(Cgroup& c, Fn&& fn) { // parents first, itself included
    fn(c);
    for (const auto& [_, child] : c.children) each_descendant(*child, fn);
}

} // namespace

int Cgroup::level() const { return up ? up->level() + 1 : 0; }

bool Cgroup::populated() const {
    return !tasks.empty() ||
           std::any_of(children.begin(), children.end(), [](const auto& c) { return c.second->populated(); });
}

bool Cgroup::below(const Cgroup& other) const {
    for (const Cgroup* c = this; c; c = c->up.get())
        if (c == &other) return true;
    return false;
}

std::uint64_t Cgroup::descendants() const {
    std::uint64_t n = children.size();
    for (const auto& [_, c] : children) n += c->descendants();
    return n;
}

std::int64_t Cgroup::pids() const {
    auto n = static_cast<std::int64_t>(tasks.size());
    for (const auto& [_, c] : children) n += c->pids();
    return n;
}

std::string Cgroup::path() const {
    if (!up) return "/";
    std::string out = up->up ? up->path() : std::string();
    return out.append("/").append(name);
}

std::string Cgroup::path_from(const Cgroup& root) const {
    if (!root.up) return path();
    // What is outside is reached by way of "..".
    const Cgroup* common = &root;
    std::string out;
    while (!below(*common)) {
        out += "/..";
        common = common->up.get();
    }
    std::string rest;
    for (const Cgroup* c = this; c != common; c = c->up.get()) rest.insert(0, std::string("/").append(c->name));
    out += rest;
    return out.empty() ? "/" : out;
}

bool Cgroup::thread_root() const {
    if (threaded || !up) return false;
    if (std::any_of(children.begin(), children.end(), [](const auto& c) { return c.second->threaded; })) return true;
    // Controllers that work on threads, given on by who has members himself, make a threaded tree.
    return !tasks.empty() && subtree_control;
}

const char* Cgroup::type() const {
    if (threaded) return "threaded";
    for (const Cgroup* c = up.get(); c; c = c->up.get())
        if (c->threaded || c->thread_root()) return "domain invalid";
    return thread_root() ? "domain threaded" : "domain";
}

Cgroups::Cgroups(Kernel& kernel) : k_(kernel), root_(std::make_shared<Cgroup>()) {
    root_->id = next_id();
    root_->css = kAllControllers;
}

void Cgroups::propagate_control(Cgroup& c) {
    each_descendant(c, [](Cgroup& d) {
        const unsigned available = d.up ? d.up->subtree_ss_mask : kAllControllers;
        d.subtree_control &= available;
        d.subtree_ss_mask = (d.subtree_control | kImplicit) & available;
    });
}

void Cgroups::css_online(Cgroup& c, unsigned controllers) {
    if (const unsigned added = controllers & ~c.css) {
        c.css |= added;
        if (added & kCgroupPids) c.pids_peak = c.pids();
        if (added & kCgroupPerfEvent) k_.perf().perf_event_cgroup(c);
    }
}

void Cgroups::apply_control(Cgroup& c) {
    propagate_control(c);
    each_descendant(c, [&](Cgroup& d) {
        if (!d.up) return;
        css_online(d, d.up->subtree_ss_mask);
        if (!(d.up->subtree_ss_mask & kCgroupPids)) d.css &= ~kCgroupPids;
    });
}

int Cgroups::mkdir(const CgroupPtr& parent, const std::string& name, CgroupPtr& out) {
    if (name.find('\n') != std::string::npos) return -EINVAL;
    if (parent->dead) return -ENODEV;
    int depth = 1;
    for (const Cgroup* c = parent.get(); c; c = c->up.get(), ++depth) {
        if (c->max_descendants >= 0 && c->descendants() >= static_cast<std::uint64_t>(c->max_descendants))
            return -EAGAIN;
        if (c->max_depth >= 0 && depth > c->max_depth) return -EAGAIN;
    }
    auto c = std::make_shared<Cgroup>();
    c->name = name;
    c->up = parent;
    c->parent = parent.get();
    c->id = next_id();
    parent->children[name] = c;
    propagate_control(*c);
    css_online(*c, parent->subtree_ss_mask);
    out = std::move(c);
    return 0;
}

int Cgroups::rmdir(const CgroupPtr& parent, const std::string& name) {
    const auto it = parent->children.find(name);
    if (it == parent->children.end()) return -ENOENT;
    const CgroupPtr c = it->second;
    if (c->populated() || !c->children.empty()) return -EBUSY;
    c->dead = true;
    c->online = false;
    parent->children.erase(it);
    return 0;
}

int Cgroups::migrate(const std::vector<Task*>& who, const CgroupPtr& to) {
    for (Task* t : who) {
        Cgroup& from = *t->cgroup;
        if (&from == to.get()) continue;
        std::erase(from.tasks, t);
        to->tasks.push_back(t);
        t->cgroup = to;
        for (Cgroup* c = to.get(); c; c = c->up.get()) c->pids_peak = std::max(c->pids_peak, c->pids());
        if (t->on_cpu >= 0) k_.perf().perf_cgroup_attach(*t);
    }
    return 0;
}

std::int64_t Cgroups::write_procs(const CgroupPtr& to, std::string_view text, bool threads) {
    if (to->dead) return -ENODEV;
    Task& me = k_.cur();
    const auto pid = to_int(strip(text));
    if (!pid || *pid < 0) return -EINVAL;
    Task* t = *pid ? k_.find_task(pid_global(me, *pid)) : &me;
    if (!t || t->dead) return -ESRCH;
    if (!threads) t = t->process->leader;
    if (t->kthread) return -EINVAL;
    const Cgroup& from = *t->cgroup;
    if (threads) {
        // Only within one threaded tree.
        const auto dom = [](const Cgroup* c) {
            while (c->threaded) c = c->up.get();
            return c;
        };
        if (dom(&from) != dom(to.get())) return -EOPNOTSUPP;
    }
    const std::string_view type = to->type();
    if (type == "domain invalid" || (type == "threaded" && !threads)) return -EOPNOTSUPP;
    const std::vector<Task*> who = threads ? std::vector<Task*>{t} : t->process->threads;
    const IrqGuard guard(k_);
    std::vector<Task*> living;
    for (Task* x : who)
        if (!x->exiting) living.push_back(x);
    migrate(living, to);
    return static_cast<std::int64_t>(text.size());
}

std::string Cgroups::procs(const Cgroup& c, bool threads, int& error) {
    error = 0;
    if (!threads && (c.threaded || std::string_view(c.type()) == "domain invalid")) {
        error = -EOPNOTSUPP;
        return {};
    }
    const Task& me = k_.cur();
    std::vector<int> pids;
    const auto add = [&](const Cgroup& from) {
        for (const Task* t : from.tasks) {
            const int pid = pid_vnr(me, threads ? t->pid : t->tgid);
            if (std::find(pids.begin(), pids.end(), pid) == pids.end()) pids.push_back(pid);
        }
    };
    add(c);
    // Processes of a threaded tree belong to its root.
    if (!threads && c.thread_root())
        for (const auto& [_, child] : c.children)
            each_descendant(*child, [&](Cgroup& d) {
                if (d.threaded) add(d);
            });
    std::string out;
    for (const int pid : pids) out.append(std::to_string(pid)).append("\n");
    return out;
}

std::int64_t Cgroups::write_subtree_control(const CgroupPtr& c, std::string_view text) {
    const auto size = static_cast<std::int64_t>(text.size());
    unsigned enable = 0, disable = 0;
    std::string_view rest = strip(text);
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(' '), rest.size());
        std::string_view word = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (word.empty()) continue;
        const char sign = word.front();
        word.remove_prefix(1);
        const auto* k = std::find_if(std::begin(kControllers), std::end(kControllers),
                                     [&](const auto& x) { return x.name == word; });
        if (k == std::end(kControllers)) return -EINVAL;
        if (sign == '+')
            enable |= k->bit, disable &= ~k->bit;
        else if (sign == '-')
            disable |= k->bit, enable &= ~k->bit;
        else
            return -EINVAL;
    }
    if (c->dead) return -ENODEV;
    const unsigned available = c->up ? c->up->subtree_control : kVisible;
    for (const auto& k : kControllers) {
        if (enable & k.bit) {
            if (c->subtree_control & k.bit)
                enable &= ~k.bit;
            else if (!(available & k.bit))
                return -ENOENT;
        } else if (disable & k.bit) {
            if (!(c->subtree_control & k.bit)) {
                disable &= ~k.bit;
                continue;
            }
            for (const auto& [_, child] : c->children)
                if (child->subtree_control & k.bit) return -EBUSY;
        }
    }
    if (!enable && !disable) return size;
    if (std::string_view(c->type()) == "domain invalid") return -EOPNOTSUPP;
    c->subtree_control = (c->subtree_control | enable) & ~disable;
    apply_control(*c);
    return size;
}

std::int64_t Cgroups::write_type(const CgroupPtr& c, std::string_view text) {
    if (strip(text) != "threaded") return -EINVAL;
    if (c->dead) return -ENODEV;
    if (c->threaded) return static_cast<std::int64_t>(text.size());
    if (c->populated() && c->subtree_control) return -EOPNOTSUPP;
    const Cgroup& parent = *c->up;
    const std::string_view above = parent.type();
    if (above == "domain invalid") return -EOPNOTSUPP;
    c->threaded = true;
    return static_cast<std::int64_t>(text.size());
}

std::int64_t Cgroups::write_kill(const CgroupPtr& c, std::string_view text) {
    const auto n = to_int(strip(text));
    if (!n) return -EINVAL;
    if (*n != 1) return -ERANGE;
    if (c->dead) return -ENOENT;
    if (c->threaded) return -EOPNOTSUPP;
    std::vector<Task*> who;
    each_descendant(*c, [&](Cgroup& d) { who.insert(who.end(), d.tasks.begin(), d.tasks.end()); });
    for (Task* t : who)
        if (!t->exiting && !t->kthread) k_.signals().send_process(*t, siginfo_kernel(SIGKILL));
    return static_cast<std::int64_t>(text.size());
}

int Cgroups::can_fork(const Task& t, const CgroupPtr& into) {
    const Cgroup& where = into ? *into : *t.cgroup;
    if (into) {
        if (into->dead) return -ENODEV;
        const std::string_view type = into->type();
        if (type == "domain invalid" || type == "threaded") return -EOPNOTSUPP;
    }
    for (const Cgroup* c = &where; c; c = c->up.get())
        if (c->up && (c->css & kCgroupPids) && c->pids_max >= 0 && c->pids() >= c->pids_max) {
            ++const_cast<Cgroup&>(where).pids_events;
            return -EAGAIN;
        }
    return 0;
}

void Cgroups::post_fork(Task& child, const CgroupPtr& into) {
    if (into) child.cgroup = into;
    child.cgroup->tasks.push_back(&child);
    for (Cgroup* c = child.cgroup.get(); c; c = c->up.get()) c->pids_peak = std::max(c->pids_peak, c->pids());
}

void Cgroups::exit(Task& t) {
    if (t.cgroup) std::erase(t.cgroup->tasks, &t);
}

CgroupPtr Cgroups::ns_root(const Task& t) const {
    const auto* ns = t.nsproxy ? dynamic_cast<const CgroupNamespace*>(t.nsproxy->cgroup.get()) : nullptr;
    return ns && ns->root ? ns->root : root_;
}

std::string Cgroups::proc_text(const Task& t, const Task& viewer) {
    const Cgroup& c = t.cgroup ? *t.cgroup : *root_;
    std::string out = "0::";
    out += c.path_from(*ns_root(viewer));
    if (c.dead) out += " (deleted)";
    return out.append("\n");
}

CgroupPtr Cgroups::of_id(std::uint64_t id) const {
    CgroupPtr found;
    each_descendant(*root_, [&](Cgroup& c) {
        if (c.id == id) found = c.shared_from_this();
    });
    return found;
}

} // namespace rkperf::os
