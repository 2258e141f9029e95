// SPDX-License-Identifier: Apache-2.0
#include "kernel_events/bpf/helpers.h"

#include <algorithm>
#include <iterator>

namespace rkperf::ke {

namespace {

using A = BpfArg;
using R = BpfRet;

// bpf_base_func_proto, bpf_tracing_func_proto and those of the program types; gpl_only as in Linux.
constexpr BpfHelper kHelpers[] = {
    {BPF_FUNC_map_lookup_elem, kBpfAll, false, R::map_value_or_null, {A::const_map_ptr, A::map_key}},
    {BPF_FUNC_map_update_elem, kBpfAll, false, R::integer, {A::const_map_ptr, A::map_key, A::map_value, A::anything}},
    {BPF_FUNC_map_delete_elem, kBpfAll, false, R::integer, {A::const_map_ptr, A::map_key}},
    {BPF_FUNC_probe_read, kBpfTracing, true, R::integer, {A::uninit_mem, A::const_size_or_zero, A::anything}},
    {BPF_FUNC_ktime_get_ns, kBpfAll, false, R::integer, {}},
    {BPF_FUNC_trace_printk, kBpfAll, true, R::integer, {A::mem, A::const_size, A::anything, A::anything, A::anything}},
    {BPF_FUNC_get_prandom_u32, kBpfAll, false, R::integer, {}},
    {BPF_FUNC_get_smp_processor_id, kBpfAll, false, R::integer, {}},
    {BPF_FUNC_tail_call, kBpfAll, false, R::void_, {A::ctx, A::const_map_ptr, A::anything}},
    {BPF_FUNC_get_current_pid_tgid, kBpfTracing, false, R::integer, {}},
    {BPF_FUNC_get_current_uid_gid, kBpfTracing, false, R::integer, {}},
    {BPF_FUNC_get_current_comm, kBpfTracing, false, R::integer, {A::uninit_mem, A::const_size}},
    {BPF_FUNC_perf_event_read, kBpfTracing, true, R::integer, {A::const_map_ptr, A::anything}},
    {BPF_FUNC_perf_event_output,
     kBpfTracing,
     true,
     R::integer,
     {A::ctx, A::const_map_ptr, A::anything, A::mem, A::const_size_or_zero}},
    {BPF_FUNC_probe_write_user, kBpfTracing, true, R::integer, {A::anything, A::mem, A::const_size}},
    {BPF_FUNC_get_numa_node_id, kBpfAll, false, R::integer, {}},
    {BPF_FUNC_probe_read_str, kBpfTracing, true, R::integer, {A::uninit_mem, A::const_size_or_zero, A::anything}},
    {BPF_FUNC_perf_event_read_value,
     kBpfTracing,
     true,
     R::integer,
     {A::const_map_ptr, A::anything, A::uninit_mem, A::const_size}},
    {BPF_FUNC_perf_prog_read_value, kBpfPerfEvent, true, R::integer, {A::ctx, A::uninit_mem, A::const_size}},
    {BPF_FUNC_get_stack, kBpfTracing, true, R::integer, {A::ctx, A::uninit_mem, A::const_size_or_zero, A::anything}},
    {BPF_FUNC_get_current_cgroup_id, kBpfTracing, false, R::integer, {}},
    {BPF_FUNC_send_signal, kBpfTracing, false, R::integer, {A::anything}},
    {BPF_FUNC_send_signal_thread, kBpfTracing, false, R::integer, {A::anything}},
    {BPF_FUNC_probe_read_user, kBpfTracing, true, R::integer, {A::uninit_mem, A::const_size_or_zero, A::anything}},
    {BPF_FUNC_probe_read_kernel, kBpfTracing, true, R::integer, {A::uninit_mem, A::const_size_or_zero, A::anything}},
    {BPF_FUNC_probe_read_user_str, kBpfTracing, true, R::integer, {A::uninit_mem, A::const_size_or_zero, A::anything}},
    {BPF_FUNC_probe_read_kernel_str,
     kBpfTracing,
     true,
     R::integer,
     {A::uninit_mem, A::const_size_or_zero, A::anything}},
    {BPF_FUNC_jiffies64, kBpfAll, false, R::integer, {}},
    {BPF_FUNC_ktime_get_boot_ns, kBpfAll, false, R::integer, {}},
};

} // namespace

const BpfHelper* bpf_helper(std::int32_t id) {
    const auto* h = std::find_if(std::begin(kHelpers), std::end(kHelpers),
                                 [&](const BpfHelper& x) { return static_cast<std::int32_t>(x.id) == id; });
    return h == std::end(kHelpers) ? nullptr : h;
}

} // namespace rkperf::ke
