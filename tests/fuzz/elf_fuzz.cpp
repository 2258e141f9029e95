// SPDX-License-Identifier: Apache-2.0
// fuzz-sources: sim/os/exec/elf.cpp
// fuzz-max-len: 8192
// fuzz-corpus: elf
// Hostile program files: whatever the bytes, read_elf gives a reason, or an image whose parts lie inside the file and
// the user's address space.
#include "sim/os/exec/elf.h"

#include "sim/base/types.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>

using namespace rkperf;

namespace {

void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "read_elf: %s\n", what);
    std::abort();
}

constexpr std::uint64_t kUserEnd = 1ull << 48;

void check(const os::ElfImage& image, std::uint64_t size) {
    require(!image.segments.empty(), "accepted a file without segments");
    require(image.interpreter.size() <= 4096, "an interpreter's name longer than a path");
    bool entry = false;
    std::uint64_t end = 0;
    for (const os::ElfSegment& s : image.segments) {
        require(s.memsz > 0 && s.filesz <= s.memsz, "a segment with less memory than file");
        require(s.offset <= size && s.filesz <= size - s.offset, "a segment outside the file");
        require(s.vaddr < kUserEnd && s.memsz <= kUserEnd - s.vaddr, "a segment outside the user's addresses");
        require((s.vaddr & kPageMask) >= end, "segments share a page");
        require(((s.vaddr ^ s.offset) & ~kPageMask) == 0, "a segment that cannot be mapped by pages");
        end = (s.vaddr + s.memsz + kPageSize - 1) & kPageMask;
        entry = entry || (s.exec && image.entry >= s.vaddr && image.entry - s.vaddr < s.memsz);
    }
    require(entry, "an entry point that is not code");
    require(image.lowest() < image.highest(), "an empty image");
    const std::uint64_t table = image.phdr_address();
    require(!table || (table >= image.lowest() && table < image.highest()), "program headers outside the image");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto read = [&](std::uint64_t offset, std::span<std::uint8_t> to) {
        if (offset > size || to.size() > size - offset) return false;
        if (!to.empty()) std::memcpy(to.data(), data + offset, to.size());
        return true;
    };
    os::ElfImage image;
    os::ElfError error;
    const int result = os::read_elf(read, size, image, error);
    if (result == 0) {
        check(image, size);
    } else {
        require(result > 0 && result == error.errno_value, "an error that is no errno");
        require(!error.reason.empty(), "an error without a reason");
    }
    return 0;
}
