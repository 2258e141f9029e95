// SPDX-License-Identifier: Apache-2.0
// BPF (kernel/bpf of Linux 6.1): maps, programs, bpf(2), and the programs of events. The ABI is <linux/bpf.h> itself.
//
// There are the program types that can see perf events: PERF_EVENT, TRACEPOINT, KPROBE, and SOCKET_FILTER, which can be
// loaded, tested and put into a map but has nothing to be attached to. Map types: array, per-CPU array, hash, per-CPU hash,
// LRU hash, prog array, perf event array. There is no BTF. Programs are interpreted; their time is charged per instruction.
#pragma once

#include "kernel_events/internal.h"

#include <linux/bpf.h>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rkperf::ke {

struct TraceEventCall;

/// struct bpf_map. Keys and values are bytes; a per-CPU value is as many values as there are CPUs, each rounded up to 8.
class BpfMap {
  public:
    BpfMap(const bpf_attr& attr, std::string name) : attr_(attr), name_(std::move(name)) {}
    virtual ~BpfMap() = default;
    std::uint32_t type() const { return attr_.map_type; }
    std::uint32_t key_size() const { return attr_.key_size; }
    std::uint32_t value_size() const { return attr_.value_size; }
    std::uint32_t max_entries() const { return attr_.max_entries; }
    std::uint32_t flags() const { return attr_.map_flags; }
    const std::string& name() const { return name_; }
    std::uint32_t id{};
    bool frozen{};

    bool per_cpu() const { return type() == BPF_MAP_TYPE_PERCPU_ARRAY || type() == BPF_MAP_TYPE_PERCPU_HASH; }
    /// Bytes of a value as bpf(2) reads and writes it.
    std::size_t user_value_size(int cpus) const {
        return per_cpu() ? static_cast<std::size_t>(cpus) * ((value_size() + 7u) & ~7u) : value_size();
    }
    /// Storage of the value for programs on `cpu`, and its number for addresses; null: no such element.
    struct Slot {
        std::uint8_t* data{};
        std::uint64_t index{};
    };
    virtual Slot lookup(std::span<const std::uint8_t> key, int cpu) = 0;
    /// Storage of slot `index` as lookup gave it; null if the element has gone and its place is not in use.
    virtual std::uint8_t* slot(std::uint64_t index, int cpu) = 0;
    /// From a program: `flags` BPF_ANY, BPF_NOEXIST, BPF_EXIST. cpu: whose value of a per-CPU map.
    virtual int update(std::span<const std::uint8_t> key, std::span<const std::uint8_t> value, std::uint64_t flags,
                       int cpu) = 0;
    virtual int erase(std::span<const std::uint8_t> key) = 0;
    /// The key after `key` (empty: the first); -ENOENT at the end.
    virtual int next_key(std::span<const std::uint8_t> key, std::vector<std::uint8_t>& out) = 0;

  protected:
    const bpf_attr attr_;
    const std::string name_;
};
using BpfMapPtr = std::shared_ptr<BpfMap>;

/// A perf event array or a prog array: elements are descriptors' objects, which programs reach through helpers only.
class BpfFdArray : public BpfMap {
  public:
    using BpfMap::BpfMap;
    struct Entry {
        std::unique_ptr<FileRef> file; ///< keeps a perf event's file open
        PerfEvent* event{};
        std::shared_ptr<BpfProg> prog;
        explicit operator bool() const { return event || prog; }
    };
    Slot lookup(std::span<const std::uint8_t>, int) override { return {}; }
    std::uint8_t* slot(std::uint64_t, int) override { return nullptr; }
    int update(std::span<const std::uint8_t>, std::span<const std::uint8_t>, std::uint64_t, int) override {
        return -EOPNOTSUPP;
    }
    int erase(std::span<const std::uint8_t> key) override;
    int next_key(std::span<const std::uint8_t> key, std::vector<std::uint8_t>& out) override;
    Entry* entry(std::uint64_t index) { return index < entries.size() ? &entries[index] : nullptr; }
    std::vector<Entry> entries = std::vector<Entry>(max_entries());
};

/// struct bpf_prog.
class BpfProg {
  public:
    std::uint32_t type{};
    std::uint32_t id{};
    std::string name;
    bool gpl{};
    std::uint64_t load_time_ns{};
    std::uint32_t created_by_uid{};
    std::array<std::uint8_t, 8> tag{};
    std::vector<bpf_insn> insns; ///< as verified; a map load holds the map's number in `maps`
    std::vector<BpfMapPtr> maps; ///< used by it
    std::uint32_t max_ctx_offset{};
    std::uint32_t stack_depth{};
    std::uint32_t verified_insns{};
    bool uses_stack_helper{}; ///< bpf_get_stackid, bpf_get_stack
    std::uint64_t ksym_addr{}, run_cnt{};
    std::uint32_t ksym_len{};
    std::string ksym_name() const; ///< "bpf_prog_TAG_NAME"
};
using BpfProgPtr = std::shared_ptr<BpfProg>;

/// What a program is run on.
struct BpfContext {
    const PtRegs* regs{};                 ///< of the event; also the context of kprobe programs
    std::span<const std::uint8_t> record; ///< tracepoints: the record, common fields included
    PerfEvent* event{};                   ///< perf events
    PerfSampleData* data{};
    TraceEventCall* call{};
};

class BpfFile;

class Bpf {
  public:
    explicit Bpf(Perf& perf, Kernel& kernel);
    ~Bpf();
    void init(); ///< sysctl files

    /// System call; `attr` is a user address. Result or negative errno.
    std::int64_t sys_bpf(int cmd, std::uint64_t attr, std::uint32_t size);

    // --- programs of events (attach.cpp) ---
    int perf_event_set_bpf_prog(PerfEvent& event, int fd);
    void perf_event_free_bpf_prog(PerfEvent& event);
    int perf_event_query_prog_array(PerfEvent& event, std::uint64_t info);
    /// Runs what is attached to a trace event: false: nobody is to hear of the hit.
    bool trace_call_bpf(TraceEventCall& call, std::span<const std::uint8_t> record, PtRegs& regs);

    /// Runs a program; what it leaves in R0 (interpreter.cpp).
    std::uint64_t run(BpfProg& prog, const BpfContext& ctx);

    Kernel& kernel() { return kernel_; }
    Perf::Impl& perf() { return perf_.impl(); }
    int num_cpus();

    // --- syscall.cpp ---
    BpfMapPtr map_of_fd(int fd, int& error);
    BpfProgPtr prog_of_fd(int fd, int& error);
    /// Checks a program and fills what follows from that; 0 or -errno (verifier.cpp). `log`: what bpf(2) writes to log_buf.
    int bpf_check(BpfProg& prog, std::string& log, unsigned log_level);
    void prog_free(BpfProg& prog);

  private:
    friend class BpfFile;
    int map_create(const bpf_attr& attr, std::uint32_t size);
    int map_elem(int cmd, const bpf_attr& attr);
    int map_update_fd_array(BpfFdArray& map, std::span<const std::uint8_t> key, std::span<const std::uint8_t> value,
                            std::uint64_t flags);
    int map_get_next_key(const bpf_attr& attr);
    int map_freeze(const bpf_attr& attr);
    int prog_load(const bpf_attr& attr, std::uint32_t size, std::uint64_t uattr);
    int prog_test_run(const bpf_attr& attr, std::uint64_t uattr);
    int get_next_id(int cmd, const bpf_attr& attr, std::uint64_t uattr);
    int get_fd_by_id(int cmd, const bpf_attr& attr);
    int obj_get_info(const bpf_attr& attr, std::uint64_t uattr);
    int prog_info(BpfProg& prog, const bpf_attr& attr, std::uint64_t uattr);
    int map_info(BpfMap& map, const bpf_attr& attr, std::uint64_t uattr);
    void prog_event(BpfProg& prog, bool load); ///< KSYMBOL and BPF_EVENT records
    int new_fd(std::unique_ptr<BpfFile> file, std::string_view name);

    Perf& perf_;
    Kernel& kernel_;
    std::map<std::uint32_t, std::weak_ptr<BpfMap>> maps_;
    std::map<std::uint32_t, std::weak_ptr<BpfProg>> progs_;
    std::uint32_t last_map_id_{}, last_prog_id_{};
    std::uint64_t ksym_next_;
    int unprivileged_disabled_{2};
    std::array<int, kMaxCpus> active_{}; ///< a program of an event is running on this CPU
};

/// The object behind a descriptor of bpf(2).
class BpfFile final : public FileOperations {
  public:
    BpfFile(BpfMapPtr map, BpfProgPtr prog) : map_(std::move(map)), prog_(std::move(prog)) {}
    const BpfMapPtr& map() const { return map_; }
    const BpfProgPtr& prog() const { return prog_; }
    std::int64_t read(std::uint64_t, std::uint64_t, bool) override { return -EINVAL; }
    PollMask poll(WaitQueue*& wq) override {
        wq = nullptr;
        return 0;
    }
    std::int64_t ioctl(std::uint32_t, std::uint64_t) override { return -ENOTTY; }
    std::int64_t mmap(MmapRequest&) override { return -ENODEV; }
    void mmap_open(MmapRequest&) override {}
    void mmap_close(MmapRequest&) override {}
    Page fault(MmapRequest&, std::uint64_t, bool) override { return {}; }
    void fasync(bool) override {}
    void release() override { delete this; }

  private:
    BpfMapPtr map_;
    BpfProgPtr prog_;
};

/// A map of a type that there is (maps.cpp); null and an error otherwise.
BpfMapPtr make_bpf_map(const bpf_attr& attr, std::string name, int cpus, int& error);

} // namespace rkperf::ke
