// SPDX-License-Identifier: Apache-2.0
// Copying in and checking perf_event_attr (CORE-016 to 036), and the permission checks (CORE-115 to 122).
#include "kernel_events/internal.h"

#include <algorithm>
#include <cstring>

namespace rkperf::ke {

namespace {

constexpr std::uint32_t kAttrSize = sizeof(perf_event_attr);
static_assert(kAttrSize == 128, "the ABI of Linux 6.1 (PERF_ATTR_SIZE_VER7)");
constexpr std::uint64_t kPage = 4096;
/// Registers that a sample can hold on arm64: x0 to x30, sp, pc.
constexpr std::uint64_t kPerfRegs = (std::uint64_t{1} << 33) - 1;
constexpr std::uint64_t kBranchLevels = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV;
constexpr std::uint32_t kMaxStackDump = 0xffff;

/// Copies an attr of `size` bytes; a tail that the kernel does not know must be zero.
int copy_struct_from_user(Kernel& kernel, perf_event_attr& attr, std::uint64_t uattr, std::uint32_t size) {
    if (size > kAttrSize) {
        std::array<std::uint8_t, 256> chunk;
        for (std::uint64_t at = kAttrSize; at < size;) {
            const std::size_t n = std::min<std::uint64_t>(chunk.size(), size - at);
            if (!kernel.copy_from_user(chunk.data(), uattr + at, n)) return -EFAULT;
            if (std::any_of(chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(n),
                            [](std::uint8_t b) { return b != 0; }))
                return -E2BIG;
            at += n;
        }
    }
    return kernel.copy_from_user(&attr, uattr, std::min(size, kAttrSize)) ? 0 : -EFAULT;
}

/// Branch levels that were not named follow the exclude bits.
std::uint64_t branch_levels(const perf_event_attr& attr) {
    std::uint64_t mask = 0;
    if (!attr.exclude_kernel) mask |= PERF_SAMPLE_BRANCH_KERNEL;
    if (!attr.exclude_user) mask |= PERF_SAMPLE_BRANCH_USER;
    if (!attr.exclude_hv) mask |= PERF_SAMPLE_BRANCH_HV;
    return mask;
}

} // namespace

int Perf::Impl::perf_reg_validate(std::uint64_t mask) { return !mask || (mask & ~kPerfRegs) ? -EINVAL : 0; }

int Perf::Impl::perf_copy_attr(std::uint64_t uattr, perf_event_attr& attr) {
    KernelFrame frame(kernel, KernelSymbol::perf_copy_attr);
    attr = perf_event_attr{};
    std::uint32_t size = 0;
    if (!kernel.copy_from_user(&size, uattr + offsetof(perf_event_attr, size), sizeof size)) return -EFAULT;
    if (!size) size = PERF_ATTR_SIZE_VER0;
    int error = size < PERF_ATTR_SIZE_VER0 || size > kPage ? -E2BIG : copy_struct_from_user(kernel, attr, uattr, size);
    if (error == -E2BIG) kernel.copy_to_user(uattr + offsetof(perf_event_attr, size), &kAttrSize, sizeof kAttrSize);
    if (error) return error;
    attr.size = size;

    if (attr.__reserved_1 || attr.__reserved_2 || attr.__reserved_3) return -EINVAL;
    if (attr.sample_type & ~(std::uint64_t{PERF_SAMPLE_MAX} - 1)) return -EINVAL;
    if (attr.read_format & ~(std::uint64_t{PERF_FORMAT_MAX} - 1)) return -EINVAL;

    if (attr.sample_type & PERF_SAMPLE_BRANCH_STACK) {
        std::uint64_t mask = attr.branch_sample_type;
        if (mask & ~(std::uint64_t{PERF_SAMPLE_BRANCH_MAX} - 1)) return -EINVAL;
        if (!(mask & ~kBranchLevels)) return -EINVAL;
        if (!(mask & kBranchLevels)) {
            mask |= branch_levels(attr);
            attr.branch_sample_type = mask;
        }
        if (mask & (PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV))
            if (const int e = perf_allow_kernel()) return e;
    }
    if (attr.sample_type & PERF_SAMPLE_REGS_USER)
        if (const int e = perf_reg_validate(attr.sample_regs_user)) return e;
    if (attr.sample_type & PERF_SAMPLE_STACK_USER)
        if (attr.sample_stack_user >= kMaxStackDump || attr.sample_stack_user % 8) return -EINVAL;
    if (!attr.sample_max_stack) attr.sample_max_stack = static_cast<std::uint16_t>(sysctl.perf_event_max_stack);
    if (attr.sample_type & PERF_SAMPLE_REGS_INTR) error = perf_reg_validate(attr.sample_regs_intr);
    if ((attr.sample_type & PERF_SAMPLE_CGROUP) && !config.cgroup_perf) return -EINVAL;
    if ((attr.sample_type & PERF_SAMPLE_WEIGHT) && (attr.sample_type & PERF_SAMPLE_WEIGHT_STRUCT)) return -EINVAL;
    if (!attr.inherit && attr.inherit_thread) return -EINVAL;
    if (attr.remove_on_exec && attr.enable_on_exec) return -EINVAL;
    if (attr.sigtrap && !attr.remove_on_exec) return -EINVAL;
    return error;
}

bool Perf::Impl::perfmon_capable() {
    return kernel.capable(Capability::perfmon) || kernel.capable(Capability::sys_admin);
}

int Perf::Impl::perf_allow_kernel() {
    if (sysctl.perf_event_paranoid > 1 && !perfmon_capable()) return -EACCES;
    return kernel.security_perf_event_open(PerfSecurity::kernel);
}

int Perf::Impl::perf_allow_cpu() {
    if (sysctl.perf_event_paranoid > 0 && !perfmon_capable()) return -EACCES;
    return kernel.security_perf_event_open(PerfSecurity::cpu);
}

int Perf::Impl::perf_allow_tracepoint() {
    if (sysctl.perf_event_paranoid > -1 && !perfmon_capable()) return -EPERM;
    return kernel.security_perf_event_open(PerfSecurity::tracepoint);
}

bool Perf::Impl::perf_check_permission(const perf_event_attr& attr, TaskBase& task) {
    bool capable = perfmon_capable();
    // A SIGTRAP disturbs the target, so looking is not enough.
    if (attr.sigtrap) capable = capable && kernel.capable(Capability::kill);
    return capable || kernel.ptrace_may_access(&task);
}

} // namespace rkperf::ke
