// SPDX-License-Identifier: Apache-2.0
// Trace events as files. Folders and files below events/ are made when somebody looks, so that a run that does not trace pays
// nothing for them.
#include "sim/os/fs/tracefs.h"

#include "kernel_events/trace/trace_events.h"
#include "kernel_events/trace/tracepoints.h"
#include "sim/os/fs/ftrace_files.h"
#include "sim/os/fs/tracefs_text.h"
#include "sim/os/kernel.h"

namespace rkperf::os {

namespace {

using ke::TraceEventCall;
using ke::TraceEvents;

constexpr std::uint32_t kDirMode = 0750, kRead = 0440, kReadWrite = 0640;

/// What events/header_page and header_event say of ftrace's ring buffer.
constexpr const char* kHeaderPage =
    "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
    "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
    "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
    "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";
constexpr const char* kHeaderEvent =
    "# compressed entry header\n"
    "\ttype_len    :    5 bits\n"
    "\ttime_delta  :   27 bits\n"
    "\tarray       :   32 bits\n"
    "\n"
    "\tpadding     : type == 29\n"
    "\ttime_extend : type == 30\n"
    "\ttime_stamp : type == 31\n"
    "\tdata max type_len  == 28\n";
constexpr const char* kTriggers =
    "# Available triggers:\n"
    "# traceon traceoff snapshot stacktrace enable_event disable_event enable_hist "
    "disable_hist hist\n";

/// A folder whose entries are made when they are looked for, and kept.
class LazyDir : public AttrDir {
  public:
    explicit LazyDir(FileSystem& fs) : AttrDir(fs, kDirMode) {}
    int lookup(const std::string& name, NodePtr& out) override {
        if (!exists(name)) {
            entries.erase(name);
            return -ENOENT;
        }
        NodePtr& slot = entries[name];
        if (!slot) slot = make(name);
        out = slot;
        return 0;
    }
    int list(std::vector<DirEntry>& out) override {
        for (const std::string& name : names()) {
            NodePtr node;
            if (lookup(name, node) == 0) out.push_back({name, node->attr.ino, node->attr.mode});
        }
        return 0;
    }

  protected:
    virtual bool exists(const std::string& name) = 0;
    virtual NodePtr make(const std::string& name) = 0;
    virtual std::vector<std::string> names() = 0;
    NodePtr file(std::uint32_t mode, ShowFn show, StoreFn store = {}) {
        return std::make_shared<AttrFile>(fs, AttrStyle::tracefs, mode, std::move(show), std::move(store));
    }
};

/// events/SYSTEM/EVENT
class EventDir final : public LazyDir {
  public:
    EventDir(FileSystem& fs, Kernel& k, int type) : LazyDir(fs), k_(k), type_(type) {}
    int type() const { return type_; }

  private:
    /// Of an event without a probe function (those of system "ftrace") only the description is there.
    static constexpr std::string_view kDescription[] = {"format", "hist", "id"};
    static constexpr std::string_view kFiles[] = {"enable", "filter", "format", "hist", "id", "trigger"};
    std::span<const std::string_view> files() {
        const TraceEventCall* call = k_.perf().trace_events().find(type_);
        if (call && call->reg) return kFiles;
        return kDescription;
    }
    std::vector<std::string> names() override { return {files().begin(), files().end()}; }
    bool exists(const std::string& name) override {
        const auto all = files();
        return std::find(all.begin(), all.end(), name) != all.end();
    }
    /// The file may outlive the event.
    ShowFn showing(std::string (*text)(const TraceEventCall&)) {
        return [&k = k_, type = type_, text](std::string& out) {
            const TraceEventCall* call = k.perf().trace_events().find(type);
            if (!call) return -ENODEV;
            out = text(*call);
            return 0;
        };
    }
    NodePtr make(const std::string& name) override {
        Kernel& k = k_;
        const int type = type_;
        if (name == "format") return file(kRead, showing(TraceEvents::format_text));
        if (name == "id")
            return file(kRead, showing([](const TraceEventCall& c) { return std::to_string(c.type) + "\n"; }));
        if (name == "hist") return file(kRead, constant(""));
        if (name == "trigger")
            return file(kReadWrite, constant(kTriggers), taking([](std::string_view text) {
                            return text.empty() ? 0 : -EINVAL; // there are no triggers here
                        }));
        if (name == "enable")
            return file(kReadWrite,
                        showing([](const TraceEventCall& c) { return std::string(c.enabled ? "1\n" : "0\n"); }),
                        taking_switch([&k, type](bool on) {
                            TraceEventCall* call = k.perf().trace_events().find(type);
                            return call ? k.perf().trace_events().store_enable(*call, on) : -ENODEV;
                        }));
        return file(kReadWrite, showing(TraceEvents::filter_text), taking([&k, type](std::string_view text) {
                        TraceEventCall* call = k.perf().trace_events().find(type);
                        return call ? k.perf().trace_events().store_filter(*call, text) : -ENODEV;
                    }));
    }

    Kernel& k_;
    int type_;
};

/// events/SYSTEM
class SystemDir final : public LazyDir {
  public:
    SystemDir(FileSystem& fs, Kernel& k, std::string system) : LazyDir(fs), k_(k), system_(std::move(system)) {}
    int lookup(const std::string& name, NodePtr& out) override {
        // An event that was deleted and defined anew is another one.
        const auto it = entries.find(name);
        const auto* dir = it == entries.end() ? nullptr : dynamic_cast<EventDir*>(it->second.get());
        const TraceEventCall* call = k_.perf().trace_events().find(system_, name);
        if (dir && (!call || call->type != dir->type())) entries.erase(it);
        return LazyDir::lookup(name, out);
    }

  private:
    bool has_files() const { return system_ != "ftrace"; }
    bool exists(const std::string& name) override {
        if (has_files() && (name == "enable" || name == "filter")) return true;
        return k_.perf().trace_events().find(system_, name) != nullptr;
    }
    std::vector<std::string> names() override {
        std::vector<std::string> out;
        if (has_files()) out = {"enable", "filter"};
        const auto& systems = k_.perf().trace_events().systems();
        if (const auto it = systems.find(system_); it != systems.end())
            for (const auto& [name, call] : it->second) out.push_back(name);
        return out;
    }
    NodePtr make(const std::string& name) override {
        Kernel& k = k_;
        const std::string system = system_;
        if (name == "enable" && has_files())
            return file(
                kReadWrite,
                [&k, system](std::string& out) {
                    out = k.perf().trace_events().enable_text(system);
                    return 0;
                },
                taking_switch(
                    [&k, system](bool on) { return k.perf().trace_events().store_system_enable(system, on); }));
        if (name == "filter" && has_files())
            return file(kReadWrite, constant(TraceEvents::system_filter_text()),
                        taking([&k, system](std::string_view text) {
                            return k.perf().trace_events().store_system_filter(system, text);
                        }));
        return std::make_shared<EventDir>(fs, k_, k_.perf().trace_events().find(system_, name)->type);
    }

    Kernel& k_;
    std::string system_;
};

/// events
class EventsDir final : public LazyDir {
  public:
    EventsDir(FileSystem& fs, Kernel& k) : LazyDir(fs), k_(k) {}

  private:
    static constexpr std::string_view kFiles[] = {"enable", "header_event", "header_page"};
    bool is_file(const std::string& name) {
        return std::find(std::begin(kFiles), std::end(kFiles), name) != std::end(kFiles);
    }
    bool exists(const std::string& name) override {
        return is_file(name) || k_.perf().trace_events().systems().contains(name);
    }
    std::vector<std::string> names() override {
        std::vector<std::string> out(std::begin(kFiles), std::end(kFiles));
        for (const auto& [system, events] : k_.perf().trace_events().systems()) out.push_back(system);
        return out;
    }
    NodePtr make(const std::string& name) override {
        Kernel& k = k_;
        if (name == "header_page") return file(kRead, constant(kHeaderPage));
        if (name == "header_event") return file(kRead, constant(kHeaderEvent));
        if (name == "enable")
            return file(
                kReadWrite,
                [&k](std::string& out) {
                    out = k.perf().trace_events().enable_text({});
                    return 0;
                },
                taking_switch([&k](bool on) { return k.perf().trace_events().store_system_enable({}, on); }));
        return std::make_shared<SystemDir>(fs, k_, name);
    }

    Kernel& k_;
};

void add_event_lists(AttrFs& fs, Kernel& k) {
    fs.add_file("available_events", kRead, [&k](std::string& out) {
        for (const TraceEventCall* call : k.perf().trace_events().calls())
            if (call->reg) out.append(call->system).append(":").append(call->name).append("\n");
        return 0;
    });
    fs.add_file(
        "set_event", kReadWrite,
        [&k](std::string& out) {
            for (const TraceEventCall* call : k.perf().trace_events().calls())
                if (call->enabled) out.append(call->system).append(":").append(call->name).append("\n");
            return 0;
        },
        [&k](std::string_view text) -> std::int64_t {
            // O_TRUNC alone clears the list.
            TraceEvents& events = k.perf().trace_events();
            const int error =
                ke::is_truncated(text) ? events.store_system_enable({}, false) : events.store_set_event(text);
            return error ? error : static_cast<std::int64_t>(text.size());
        });
    fs.add_file(
        "error_log", kReadWrite,
        [&k](std::string& out) {
            out = k.perf().trace_events().error_log_text();
            return 0;
        },
        [&k](std::string_view text) -> std::int64_t {
            if (ke::is_truncated(text)) k.perf().trace_events().clear_error_log();
            return static_cast<std::int64_t>(text.size());
        });
    fs.add_file("printk_formats", kRead, constant(ke::Tracepoints::printk_formats()));
}

} // namespace

void add_tracefs(VfsImpl& vfs, Kernel& k) {
    const auto fs =
        std::make_shared<AttrFs>(vfs.services(), "tracefs", abi::tracefs_magic, vfs.next_minor(), AttrStyle::tracefs);
    fs->root()->attr.mode = S_IFDIR | 0700;
    fs->add_node("events", std::make_shared<EventsDir>(*fs, k));
    add_event_lists(*fs, k);
    add_ftrace_files(*fs, k);
    vfs.mount(fs, fs->root(), "/sys/kernel/tracing", false, "tracefs");
    vfs.add_tree("/sys/kernel/tracing", fs);
    const auto debug =
        std::make_shared<AttrFs>(vfs.services(), "debugfs", abi::debugfs_magic, vfs.next_minor(), AttrStyle::tracefs);
    debug->root()->attr.mode = S_IFDIR | 0700;
    debug->add_dir("tracing");
    vfs.mount(debug, debug->root(), "/sys/kernel/debug", false, "debugfs");
    vfs.add_tree("/sys/kernel/debug", debug);
    vfs.mount(fs, fs->root(), "/sys/kernel/debug/tracing", false, "tracefs");
}

} // namespace rkperf::os
