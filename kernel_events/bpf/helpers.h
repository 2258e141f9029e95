// SPDX-License-Identifier: Apache-2.0
// The helper functions that programs may call: what the verifier has to know of each.
#pragma once

#include <linux/bpf.h>
#include <array>
#include <cstdint>

namespace rkperf::ke {

/// enum bpf_arg_type, as far as it is used.
enum class BpfArg : std::uint8_t {
    none,
    const_map_ptr,
    map_key,    ///< key_size bytes of initialised memory
    map_value,  ///< value_size bytes of initialised memory
    mem,        ///< initialised memory of the size that the next argument gives
    uninit_mem, ///< memory that is written, of the size that the next argument gives
    const_size, ///< more than 0
    const_size_or_zero,
    ctx,
    anything
};
enum class BpfRet : std::uint8_t { integer, void_, map_value_or_null };

/// Program types as bits.
inline constexpr unsigned kBpfPerfEvent = 1, kBpfTracepoint = 2, kBpfKprobe = 4, kBpfSocket = 8,
                          kBpfTracing = kBpfPerfEvent | kBpfTracepoint | kBpfKprobe, kBpfAll = kBpfTracing | kBpfSocket;

struct BpfHelper {
    bpf_func_id id;
    unsigned progs; ///< program types that may call it
    bool gpl_only;
    BpfRet ret;
    std::array<BpfArg, 5> args;
};

/// Null: there is no such helper.
const BpfHelper* bpf_helper(std::int32_t id);

} // namespace rkperf::ke
