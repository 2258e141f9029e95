// SPDX-License-Identifier: Apache-2.0
// bpf(2): maps and programs by descriptor (kernel/bpf/syscall.c).
#include "kernel_events/bpf/bpf.h"

#include "kernel_events/bpf/sha1.h"
#include "kernel_events/core/parse.h"

#include <time.h>
#include <algorithm>
#include <cstring>

namespace rkperf::ke {

namespace {

constexpr int kENOTSUPP = 524; ///< the kernel's own, seen by programs all the same
constexpr std::uint32_t kMaxInsns = 1'000'000;
constexpr std::uint64_t kBpfText = 0xffff'8000'0800'0000; ///< where compiled programs would lie
constexpr std::uint32_t kBytesPerInsn = 8;                ///< of compiled code, about

/// The last field of each command's part of union bpf_attr: what lies behind it must be 0 (CHECK_ATTR).
constexpr struct {
    int cmd;
    std::size_t end;
} kAttrEnds[] = {
    {BPF_MAP_CREATE, offsetof(bpf_attr, map_extra) + sizeof(__u64)},
    {BPF_MAP_LOOKUP_ELEM, offsetof(bpf_attr, flags) + sizeof(__u64)},
    {BPF_MAP_UPDATE_ELEM, offsetof(bpf_attr, flags) + sizeof(__u64)},
    {BPF_MAP_LOOKUP_AND_DELETE_ELEM, offsetof(bpf_attr, flags) + sizeof(__u64)},
    {BPF_MAP_DELETE_ELEM, offsetof(bpf_attr, key) + sizeof(__u64)},
    {BPF_MAP_GET_NEXT_KEY, offsetof(bpf_attr, next_key) + sizeof(__u64)},
    {BPF_MAP_FREEZE, sizeof(__u32)},
    {BPF_PROG_LOAD, offsetof(bpf_attr, core_relo_rec_size) + sizeof(__u32)},
    {BPF_PROG_TEST_RUN, offsetof(bpf_attr, test.batch_size) + sizeof(__u32)},
    {BPF_PROG_GET_NEXT_ID, offsetof(bpf_attr, next_id) + sizeof(__u32)},
    {BPF_MAP_GET_NEXT_ID, offsetof(bpf_attr, next_id) + sizeof(__u32)},
    {BPF_PROG_GET_FD_BY_ID, offsetof(bpf_attr, prog_id) + sizeof(__u32)},
    {BPF_MAP_GET_FD_BY_ID, offsetof(bpf_attr, open_flags) + sizeof(__u32)},
    {BPF_OBJ_GET_INFO_BY_FD, offsetof(bpf_attr, info.info) + sizeof(__u64)},
};

bool tail_is_zero(const bpf_attr& attr, int cmd) {
    for (const auto& row : kAttrEnds) {
        if (row.cmd != cmd) continue;
        const auto* bytes = reinterpret_cast<const std::uint8_t*>(&attr);
        return std::all_of(bytes + row.end, bytes + sizeof attr, [](std::uint8_t b) { return !b; });
    }
    return false;
}

/// bpf_obj_name_cpy: -EINVAL for characters that a name may not have, or no end.
int object_name(std::span<const char> from, std::string& out) {
    for (const char c : from) {
        if (!c) return 0;
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && c != '_' && c != '.') return -EINVAL;
        out += c;
    }
    return -EINVAL;
}

bool gpl_compatible(std::string_view license) {
    static constexpr std::string_view kGood[] = {"GPL",          "GPL v2",       "GPL and additional rights",
                                                 "Dual BSD/GPL", "Dual MIT/GPL", "Dual MPL/GPL"};
    return std::find(std::begin(kGood), std::end(kGood), license) != std::end(kGood);
}

/// Program types that there are, and those that Linux has beside them.
constexpr std::uint32_t kTypes[] = {BPF_PROG_TYPE_PERF_EVENT, BPF_PROG_TYPE_TRACEPOINT, BPF_PROG_TYPE_KPROBE,
                                    BPF_PROG_TYPE_SOCKET_FILTER};
constexpr std::uint32_t kLastLinuxType = BPF_PROG_TYPE_SYSCALL;

template <class Map>
std::uint32_t next_id(const Map& all, std::uint32_t after) {
    for (auto it = all.upper_bound(after); it != all.end(); ++it)
        if (!it->second.expired()) return it->first;
    return 0;
}

} // namespace

std::string BpfProg::ksym_name() const {
    static constexpr char kHex[] = "0123456789abcdef";
    std::string out = "bpf_prog_";
    for (const std::uint8_t b : tag) out.append(1, kHex[b >> 4]).append(1, kHex[b & 15]);
    if (!name.empty()) out.append("_").append(name);
    return out;
}

Bpf::Bpf(Perf& perf, Kernel& kernel) : perf_(perf), kernel_(kernel), ksym_next_(kBpfText) {}
Bpf::~Bpf() = default;

void Bpf::init() {
    kernel_.add_attribute({"/proc/sys/kernel/unprivileged_bpf_disabled", 0644,
                           [this] { return std::to_string(unprivileged_disabled_).append("\n"); },
                           [this](std::string_view text) {
                               if (!kernel_.capable(Capability::sys_admin)) return -EPERM;
                               int v = unprivileged_disabled_;
                               const int taken = proc_dointvec(text, v, 0, 2);
                               if (taken < 0) return taken;
                               // 1 is for good.
                               if (unprivileged_disabled_ == 1 && v != 1) return -EPERM;
                               unprivileged_disabled_ = v;
                               return taken;
                           }});
}

int Bpf::num_cpus() {
    int n = 0;
    for (CpuMask m = kernel_.cpu_possible_mask(); m; m &= m - 1) ++n;
    return n;
}

int Bpf::new_fd(std::unique_ptr<BpfFile> file, std::string_view name) {
    const int fd = kernel_.anon_inode_getfd(name, file.get(), true);
    if (fd >= 0) static_cast<void>(file.release());
    return fd;
}

BpfMapPtr Bpf::map_of_fd(int fd, int& error) {
    const auto file = kernel_.fget(fd);
    error = file ? -EINVAL : -EBADF;
    auto* f = file ? dynamic_cast<BpfFile*>(file->perf_ops()) : nullptr;
    return f ? f->map() : nullptr;
}

BpfProgPtr Bpf::prog_of_fd(int fd, int& error) {
    const auto file = kernel_.fget(fd);
    error = file ? -EINVAL : -EBADF;
    auto* f = file ? dynamic_cast<BpfFile*>(file->perf_ops()) : nullptr;
    return f ? f->prog() : nullptr;
}

int Bpf::map_create(const bpf_attr& attr, std::uint32_t) {
    if (attr.btf_fd || attr.btf_key_type_id || attr.btf_value_type_id || attr.btf_vmlinux_value_type_id) {
        kernel_.pr_info("bpf: BTF is not implemented: EBADF");
        return -EBADF;
    }
    if (attr.map_extra || attr.map_ifindex) return -EINVAL;
    if (attr.map_flags & BPF_F_NUMA_NODE && attr.numa_node != 0) return -EINVAL; // there is one
    std::string name;
    if (const int e = object_name(attr.map_name, name)) return e;
    int error = 0;
    BpfMapPtr made = make_bpf_map(attr, name, num_cpus(), error);
    if (!made) {
        constexpr std::uint32_t kLastMapType = BPF_MAP_TYPE_BLOOM_FILTER;
        if (error == -EINVAL && attr.map_type > BPF_MAP_TYPE_PERCPU_ARRAY && attr.map_type <= kLastMapType &&
            attr.map_type != BPF_MAP_TYPE_LRU_HASH)
            kernel_.pr_info("bpf: map type " + std::to_string(attr.map_type) + " is not implemented: EINVAL");
        return error;
    }
    const bool needs_bpf = attr.map_type == BPF_MAP_TYPE_LRU_HASH;
    if (needs_bpf && !kernel_.capable(Capability::bpf) && !kernel_.capable(Capability::sys_admin)) return -EPERM;
    made->id = ++last_map_id_;
    maps_[made->id] = made;
    return new_fd(std::make_unique<BpfFile>(made, nullptr), "bpf-map");
}

int Bpf::map_update_fd_array(BpfFdArray& map, std::span<const std::uint8_t> key, std::span<const std::uint8_t> value,
                             std::uint64_t flags) {
    if (flags) return -EINVAL; // BPF_ANY only
    std::uint32_t index = 0, fd = 0;
    std::memcpy(&index, key.data(), sizeof index);
    std::memcpy(&fd, value.data(), sizeof fd);
    BpfFdArray::Entry* e = map.entry(index);
    if (!e) return -E2BIG;
    BpfFdArray::Entry made;
    int error = 0;
    if (map.type() == BPF_MAP_TYPE_PROG_ARRAY) {
        made.prog = prog_of_fd(static_cast<int>(fd), error);
        if (!made.prog) return error;
        // All programs of an array are of one type.
        for (const BpfFdArray::Entry& other : map.entries)
            if (other.prog && other.prog->type != made.prog->type) return -EINVAL;
    } else {
        made.file = kernel_.fget(static_cast<int>(fd));
        made.event = perf().perf_event_of(made.file.get());
        if (!made.event) return -EBADF;
        std::uint64_t count = 0;
        if (perf().perf_event_read_local(*made.event, count, nullptr, nullptr) == -EOPNOTSUPP) return -EOPNOTSUPP;
    }
    *e = std::move(made);
    return 0;
}

int Bpf::map_elem(int cmd, const bpf_attr& attr) {
    int error = 0;
    const BpfMapPtr map = map_of_fd(static_cast<int>(attr.map_fd), error);
    if (!map) return error;
    const bool reads = cmd == BPF_MAP_LOOKUP_ELEM || cmd == BPF_MAP_LOOKUP_AND_DELETE_ELEM;
    const bool writes = cmd != BPF_MAP_LOOKUP_ELEM;
    if (reads && attr.flags) return -EINVAL;
    if (writes && (map->frozen || map->flags() & BPF_F_RDONLY)) return -EPERM;
    if (reads && map->flags() & BPF_F_WRONLY) return -EPERM;
    std::vector<std::uint8_t> key(map->key_size());
    if (!kernel_.copy_from_user(key.data(), attr.key, key.size())) return -EFAULT;
    auto* fds = dynamic_cast<BpfFdArray*>(map.get());
    const int cpus = map->per_cpu() ? num_cpus() : 1;
    const std::size_t stride = (map->value_size() + 7u) & ~std::size_t{7};
    if (cmd == BPF_MAP_DELETE_ELEM) return map->erase(key);
    std::vector<std::uint8_t> value(map->user_value_size(cpus));
    if (cmd == BPF_MAP_UPDATE_ELEM) {
        if (!kernel_.copy_from_user(value.data(), attr.value, value.size())) return -EFAULT;
        if (fds) return map_update_fd_array(*fds, key, value, attr.flags);
        if (!map->per_cpu()) return map->update(key, value, attr.flags, 0);
        std::uint64_t flags = attr.flags;
        for (int cpu = 0; cpu < cpus; ++cpu) {
            const std::span<const std::uint8_t> part(value.data() + static_cast<std::size_t>(cpu) * stride,
                                                     map->value_size());
            if (const int e = map->update(key, part, flags, cpu)) return e;
            if (flags == BPF_NOEXIST) flags = BPF_ANY; // the first has made it
        }
        return 0;
    }
    if (fds) {
        // Programs have numbers that can be shown, events have not.
        if (map->type() != BPF_MAP_TYPE_PROG_ARRAY || cmd != BPF_MAP_LOOKUP_ELEM) return -kENOTSUPP;
        std::uint32_t index = 0;
        std::memcpy(&index, key.data(), sizeof index);
        const BpfFdArray::Entry* e = fds->entry(index);
        if (!e || !*e) return -ENOENT;
        std::memcpy(value.data(), &e->prog->id, sizeof e->prog->id);
    } else {
        if (cmd == BPF_MAP_LOOKUP_AND_DELETE_ELEM &&
            (map->type() == BPF_MAP_TYPE_ARRAY || map->type() == BPF_MAP_TYPE_PERCPU_ARRAY))
            return -kENOTSUPP;
        for (int cpu = 0; cpu < cpus; ++cpu) {
            const BpfMap::Slot s = map->lookup(key, cpu);
            if (!s.data) return -ENOENT;
            std::memcpy(value.data() + static_cast<std::size_t>(cpu) * stride, s.data, map->value_size());
        }
        if (cmd == BPF_MAP_LOOKUP_AND_DELETE_ELEM) map->erase(key);
    }
    return kernel_.copy_to_user(attr.value, value.data(), value.size()) ? 0 : -EFAULT;
}

int Bpf::map_get_next_key(const bpf_attr& attr) {
    int error = 0;
    const BpfMapPtr map = map_of_fd(static_cast<int>(attr.map_fd), error);
    if (!map) return error;
    if (map->flags() & BPF_F_WRONLY) return -EPERM;
    std::vector<std::uint8_t> key(attr.key ? map->key_size() : 0), next;
    if (!key.empty() && !kernel_.copy_from_user(key.data(), attr.key, key.size())) return -EFAULT;
    if (const int e = map->next_key(key, next)) return e;
    return kernel_.copy_to_user(attr.next_key, next.data(), next.size()) ? 0 : -EFAULT;
}

int Bpf::map_freeze(const bpf_attr& attr) {
    int error = 0;
    const BpfMapPtr map = map_of_fd(static_cast<int>(attr.map_fd), error);
    if (!map) return error;
    if (!kernel_.capable(Capability::bpf) && !kernel_.capable(Capability::sys_admin)) return -EPERM;
    if (map->frozen) return -EBUSY;
    map->frozen = true;
    return 0;
}

int Bpf::prog_load(const bpf_attr& attr, std::uint32_t, std::uint64_t) {
    constexpr std::uint32_t kFlags = BPF_F_STRICT_ALIGNMENT | BPF_F_ANY_ALIGNMENT | BPF_F_TEST_STATE_FREQ |
                                     BPF_F_SLEEPABLE | BPF_F_TEST_RND_HI32 | BPF_F_XDP_HAS_FRAGS;
    if (attr.prog_flags & ~kFlags) return -EINVAL;
    int error = 0;
    const std::string license = kernel_.strndup_user(attr.license, 128, error);
    if (error == -EFAULT) return error;
    const bool can_bpf = kernel_.capable(Capability::bpf) || kernel_.capable(Capability::sys_admin);
    if (!attr.insn_cnt || attr.insn_cnt > (can_bpf ? kMaxInsns : 4096)) return -E2BIG;
    if (attr.prog_type != BPF_PROG_TYPE_SOCKET_FILTER && !can_bpf) return -EPERM;
    if (attr.prog_type != BPF_PROG_TYPE_SOCKET_FILTER && !perf().perfmon_capable()) return -EPERM;
    if (attr.prog_btf_fd || attr.attach_btf_id || attr.attach_prog_fd) {
        kernel_.pr_info("bpf: BTF is not implemented: EINVAL");
        return -EINVAL;
    }
    auto owner = std::make_unique<BpfProg>();
    BpfProg& prog = *owner;
    prog.type = attr.prog_type;
    prog.gpl = gpl_compatible(license);
    prog.insns.resize(attr.insn_cnt);
    if (!kernel_.copy_from_user(prog.insns.data(), attr.insns, prog.insns.size() * sizeof(bpf_insn))) return -EFAULT;
    if (std::find(std::begin(kTypes), std::end(kTypes), prog.type) == std::end(kTypes)) {
        if (prog.type && prog.type <= kLastLinuxType)
            kernel_.pr_info("bpf: program type " + std::to_string(prog.type) + " is not implemented: EINVAL");
        return -EINVAL;
    }
    prog.load_time_ns = kernel_.ktime_get_ns(CLOCK_BOOTTIME);
    prog.created_by_uid = static_cast<std::uint32_t>(kernel_.current_uid_gid());
    if (const int e = object_name(attr.prog_name, prog.name)) return e;

    constexpr std::uint32_t kMinLog = 128, kMaxLog = 0xffffffffu >> 2;
    if (attr.log_level || attr.log_buf || attr.log_size) {
        if (attr.log_level > 7 || !attr.log_level || !attr.log_buf || attr.log_size < kMinLog ||
            attr.log_size > kMaxLog)
            return -EINVAL;
    }
    // The tag is that of the program as it came, without its maps.
    std::vector<bpf_insn> plain = prog.insns;
    for (std::size_t i = 0; i + 1 < plain.size(); ++i)
        if (plain[i].code == (BPF_LD | BPF_IMM | BPF_DW)) {
            if (plain[i].src_reg == BPF_PSEUDO_MAP_FD || plain[i].src_reg == BPF_PSEUDO_MAP_VALUE)
                plain[i].imm = plain[i + 1].imm = 0;
            ++i;
        }
    const auto digest = sha1({reinterpret_cast<const std::uint8_t*>(plain.data()), plain.size() * sizeof(bpf_insn)});
    std::copy_n(digest.begin(), prog.tag.size(), prog.tag.begin());

    std::string log;
    error = bpf_check(prog, log, attr.log_level);
    if (attr.log_level) {
        const std::size_t n = std::min<std::size_t>(log.size() + 1, attr.log_size);
        if (!kernel_.copy_to_user(attr.log_buf, log.c_str(), n)) return -EFAULT;
        if (log.size() + 1 > attr.log_size) {
            const char end = 0;
            if (!kernel_.copy_to_user(attr.log_buf + attr.log_size - 1, &end, 1)) return -EFAULT;
            if (!error) error = -ENOSPC;
        }
    }
    if (error) return error;
    if (prog.uses_stack_helper && (error = perf().get_callchain_buffers(perf().sysctl.perf_event_max_stack)))
        return error;

    prog.id = ++last_prog_id_;
    prog.ksym_len = (attr.insn_cnt + 8) * kBytesPerInsn;
    prog.ksym_addr = ksym_next_;
    ksym_next_ += (prog.ksym_len + 127) & ~std::uint64_t{63};
    const BpfProgPtr shared(owner.release(), [this](BpfProg* p) {
        prog_free(*p);
        delete p;
    });
    progs_[shared->id] = shared;
    prog_event(*shared, true);
    return new_fd(std::make_unique<BpfFile>(nullptr, shared), "bpf-prog");
}

void Bpf::prog_event(BpfProg& prog, bool load) {
    Perf::Impl& p = perf();
    if (p.counts.nr_ksymbol)
        p.perf_event_ksymbol(PERF_RECORD_KSYMBOL_TYPE_BPF, prog.ksym_addr, prog.ksym_len, !load, prog.ksym_name());
    if (p.counts.nr_bpf)
        p.perf_event_bpf_event(load ? PERF_BPF_EVENT_PROG_LOAD : PERF_BPF_EVENT_PROG_UNLOAD, prog.id, prog.tag);
}

void Bpf::prog_free(BpfProg& prog) {
    progs_.erase(prog.id);
    prog_event(prog, false);
    if (prog.uses_stack_helper) perf().put_callchain_buffers();
}

int Bpf::prog_test_run(const bpf_attr& attr, std::uint64_t) {
    int error = 0;
    const BpfProgPtr prog = prog_of_fd(static_cast<int>(attr.test.prog_fd), error);
    return prog ? -kENOTSUPP : error; // these types have nothing to be run on
}

int Bpf::get_next_id(int cmd, const bpf_attr& attr, std::uint64_t uattr) {
    if (attr.start_id >= 0x7fffffff) return -EINVAL;
    if (!kernel_.capable(Capability::sys_admin)) return -EPERM;
    const std::uint32_t id =
        cmd == BPF_PROG_GET_NEXT_ID ? next_id(progs_, attr.start_id) : next_id(maps_, attr.start_id);
    if (!id) return -ENOENT;
    return kernel_.copy_to_user(uattr + offsetof(bpf_attr, next_id), &id, sizeof id) ? 0 : -EFAULT;
}

int Bpf::get_fd_by_id(int cmd, const bpf_attr& attr) {
    if (!kernel_.capable(Capability::sys_admin)) return -EPERM;
    if (cmd == BPF_PROG_GET_FD_BY_ID) {
        const auto it = progs_.find(attr.prog_id);
        const BpfProgPtr prog = it == progs_.end() ? nullptr : it->second.lock();
        return prog ? new_fd(std::make_unique<BpfFile>(nullptr, prog), "bpf-prog") : -ENOENT;
    }
    if (attr.open_flags & ~static_cast<std::uint32_t>(BPF_F_RDONLY | BPF_F_WRONLY)) return -EINVAL;
    const auto it = maps_.find(attr.map_id);
    const BpfMapPtr map = it == maps_.end() ? nullptr : it->second.lock();
    return map ? new_fd(std::make_unique<BpfFile>(map, nullptr), "bpf-map") : -ENOENT;
}

std::int64_t Bpf::sys_bpf(int cmd, std::uint64_t uattr, std::uint32_t size) {
    KernelFrame frame(kernel_, KernelSymbol::__sys_bpf);
    const bool can_bpf = kernel_.capable(Capability::bpf) || kernel_.capable(Capability::sys_admin);
    if (!can_bpf && unprivileged_disabled_ && (cmd == BPF_MAP_CREATE || cmd == BPF_PROG_LOAD)) return -EPERM;
    if (size > 4096) return -E2BIG;
    for (std::uint32_t at = sizeof(bpf_attr); at < size; ++at) {
        std::uint8_t byte = 0;
        if (!kernel_.copy_from_user(&byte, uattr + at, 1)) return -EFAULT;
        if (byte) return -E2BIG;
    }
    bpf_attr attr{};
    if (!kernel_.copy_from_user(&attr, uattr, std::min<std::size_t>(size, sizeof attr))) return -EFAULT;
    const bool known =
        std::any_of(std::begin(kAttrEnds), std::end(kAttrEnds), [&](const auto& r) { return r.cmd == cmd; });
    if (known && !tail_is_zero(attr, cmd)) return -EINVAL;
    switch (cmd) {
        case BPF_MAP_CREATE: return map_create(attr, size);
        case BPF_MAP_LOOKUP_ELEM:
        case BPF_MAP_UPDATE_ELEM:
        case BPF_MAP_DELETE_ELEM:
        case BPF_MAP_LOOKUP_AND_DELETE_ELEM: return map_elem(cmd, attr);
        case BPF_MAP_GET_NEXT_KEY: return map_get_next_key(attr);
        case BPF_MAP_FREEZE: return map_freeze(attr);
        case BPF_PROG_LOAD: return prog_load(attr, size, uattr);
        case BPF_PROG_TEST_RUN: return prog_test_run(attr, uattr);
        case BPF_PROG_GET_NEXT_ID:
        case BPF_MAP_GET_NEXT_ID: return get_next_id(cmd, attr, uattr);
        case BPF_PROG_GET_FD_BY_ID:
        case BPF_MAP_GET_FD_BY_ID: return get_fd_by_id(cmd, attr);
        case BPF_OBJ_GET_INFO_BY_FD: return obj_get_info(attr, uattr);
        default:
            if (cmd >= 0 && cmd <= BPF_PROG_BIND_MAP)
                kernel_.pr_info("bpf: command " + std::to_string(cmd) + " is not implemented: EINVAL");
            return -EINVAL;
    }
}

} // namespace rkperf::ke
