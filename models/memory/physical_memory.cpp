// SPDX-License-Identifier: Apache-2.0
#include "models/memory/physical_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace rkperf::mem {

PhysicalMemory::PhysicalMemory(PhysAddr base, std::uint64_t bytes) : base_(base), bytes_(bytes) {
    if (bytes == 0 || (base.v | bytes) % kPageSize != 0) {
        throw std::invalid_argument("PhysicalMemory: base and size must be multiples of 4 KiB, size not 0");
    }
    void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        throw std::system_error(errno, std::generic_category(),
                                "cannot reserve address space for the simulated memory");
    }
    host_ = static_cast<std::uint8_t*>(p);
}

PhysicalMemory::~PhysicalMemory() { munmap(host_, bytes_); }

void PhysicalMemory::discard(PhysAddr page, std::uint64_t bytes) {
    if ((page.v | bytes) % kPageSize != 0 || !contains(page, bytes)) {
        throw std::invalid_argument("PhysicalMemory::discard: not a range of whole pages of this memory");
    }
    if (bytes != 0 && madvise(host(page), bytes, MADV_DONTNEED) != 0) {
        throw std::system_error(errno, std::generic_category(), "PhysicalMemory::discard");
    }
}

} // namespace rkperf::mem
