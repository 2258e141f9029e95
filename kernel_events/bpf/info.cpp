// SPDX-License-Identifier: Apache-2.0
// BPF_OBJ_GET_INFO_BY_FD.
#include "kernel_events/bpf/bpf.h"

#include <algorithm>
#include <cstring>

namespace rkperf::ke {

namespace {

/// A user's struct that is longer than the kernel's must end in zeros.
int take_info(Kernel& k, const bpf_attr& attr, void* info, std::size_t size, std::uint32_t& length) {
    length = attr.info.info_len;
    for (std::size_t at = size; at < length; ++at) {
        std::uint8_t byte = 0;
        if (!k.copy_from_user(&byte, attr.info.info + at, 1)) return -EFAULT;
        if (byte) return -E2BIG;
    }
    length = std::min(length, static_cast<std::uint32_t>(size));
    return k.copy_from_user(info, attr.info.info, length) ? 0 : -EFAULT;
}

int give_info(Kernel& k, const bpf_attr& attr, std::uint64_t uattr, const void* info, std::uint32_t length) {
    return k.copy_to_user(attr.info.info, info, length) &&
                   k.copy_to_user(uattr + offsetof(bpf_attr, info.info_len), &length, sizeof length)
               ? 0
               : -EFAULT;
}

} // namespace

int Bpf::obj_get_info(const bpf_attr& attr, std::uint64_t uattr) {
    if (attr.info.info_len > 4096) return -E2BIG;
    const auto file = kernel_.fget(static_cast<int>(attr.info.bpf_fd));
    if (!file) return -EBADF;
    auto* f = dynamic_cast<BpfFile*>(file->perf_ops());
    if (!f) return -EINVAL;
    return f->prog() ? prog_info(*f->prog(), attr, uattr) : map_info(*f->map(), attr, uattr);
}

int Bpf::prog_info(BpfProg& prog, const bpf_attr& attr, std::uint64_t uattr) {
    bpf_prog_info info{};
    std::uint32_t length = 0;
    if (const int e = take_info(kernel_, attr, &info, sizeof info, length)) return e;
    const std::uint32_t room_maps = info.nr_map_ids, room_ksyms = info.nr_jited_ksyms,
                        room_lens = info.nr_jited_func_lens, room_tags = info.nr_prog_tags,
                        room_xlated = info.xlated_prog_len;
    info.type = prog.type;
    info.id = prog.id;
    std::memcpy(info.tag, prog.tag.data(), sizeof info.tag);
    info.load_time = prog.load_time_ns;
    info.created_by_uid = prog.created_by_uid;
    info.gpl_compatible = prog.gpl;
    std::memset(info.name, 0, sizeof info.name);
    std::memcpy(info.name, prog.name.data(), std::min(prog.name.size(), sizeof info.name - 1));
    info.verified_insns = prog.verified_insns;
    info.run_time_ns = info.run_cnt = info.recursion_misses = 0; // kernel.bpf_stats_enabled is 0
    info.nr_map_ids = static_cast<std::uint32_t>(prog.maps.size());
    std::vector<std::uint32_t> ids;
    for (const BpfMapPtr& m : prog.maps) ids.push_back(m->id);
    ids.resize(std::min<std::size_t>(ids.size(), room_maps));
    if (!ids.empty() && !kernel_.copy_to_user(info.map_ids, ids.data(), ids.size() * sizeof ids[0])) return -EFAULT;
    if (!kernel_.capable(Capability::bpf) && !kernel_.capable(Capability::sys_admin)) {
        info.jited_prog_len = info.xlated_prog_len = info.nr_jited_ksyms = info.nr_jited_func_lens = info.nr_func_info =
            info.nr_line_info = info.nr_jited_line_info = 0;
        return give_info(kernel_, attr, uattr, &info, length);
    }
    info.xlated_prog_len = static_cast<std::uint32_t>(prog.insns.size() * sizeof(bpf_insn));
    if (room_xlated) {
        const std::size_t n = std::min(room_xlated, info.xlated_prog_len);
        if (!kernel_.copy_to_user(info.xlated_prog_insns, prog.insns.data(), n)) return -EFAULT;
    }
    info.jited_prog_len = prog.ksym_len; // the code itself does not exist
    const auto one = [&](std::uint32_t& count, std::uint32_t room, std::uint64_t to, const void* from, std::size_t n) {
        count = 1;
        return !room || kernel_.copy_to_user(to, from, n);
    };
    if (!one(info.nr_jited_ksyms, room_ksyms, info.jited_ksyms, &prog.ksym_addr, sizeof prog.ksym_addr) ||
        !one(info.nr_jited_func_lens, room_lens, info.jited_func_lens, &prog.ksym_len, sizeof prog.ksym_len) ||
        !one(info.nr_prog_tags, room_tags, info.prog_tags, prog.tag.data(), prog.tag.size()))
        return -EFAULT;
    info.btf_id = info.nr_func_info = info.nr_line_info = info.nr_jited_line_info = 0;
    return give_info(kernel_, attr, uattr, &info, length);
}

int Bpf::map_info(BpfMap& map, const bpf_attr& attr, std::uint64_t uattr) {
    bpf_map_info info{};
    std::uint32_t length = 0;
    if (const int e = take_info(kernel_, attr, &info, sizeof info, length)) return e;
    info = bpf_map_info{};
    info.type = map.type();
    info.id = map.id;
    info.key_size = map.key_size();
    info.value_size = map.value_size();
    info.max_entries = map.max_entries();
    info.map_flags = map.flags();
    std::memcpy(info.name, map.name().data(), std::min(map.name().size(), sizeof info.name - 1));
    return give_info(kernel_, attr, uattr, &info, length);
}

} // namespace rkperf::ke
