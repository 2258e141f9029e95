// SPDX-License-Identifier: Apache-2.0
#include "sim/os/mm/shmem.h"

#include "sim/os/kernel.h"

namespace rkperf::os {

ShmemInode::ShmemInode(Kernel& k, std::uint64_t bytes) : os_(k), bytes_(bytes) {
    dev_minor = 1; // the kernel's internal tmpfs mount
    ino = k.next_anon_ino();
}

ShmemInode::~ShmemInode() {
    for (auto& [i, pa] : pages_) os_.pages().put(pa);
}

FileStat ShmemInode::stat() {
    FileStat st;
    st.dev = 1;
    st.ino = ino;
    st.mode = 0100777;
    st.size = static_cast<std::int64_t>(bytes_);
    return st;
}

PhysAddr ShmemInode::page(std::uint64_t index, bool& major) {
    major = false;
    if (index >= (bytes_ + kPageSize - 1) >> kPageShift) return PhysAddr(0);
    PhysAddr& pa = pages_[index];
    if (!pa.v) {
        pa = os_.pages().alloc(Gfp::copy);
        { Frame alloc(os_, KernelSymbol::__alloc_pages); }
        Frame clear(os_, KernelSymbol::clear_page);
        os_.core().kernel_access(pa, kPageSize, true);
    }
    return pa;
}

} // namespace rkperf::os
