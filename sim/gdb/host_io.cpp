// SPDX-License-Identifier: Apache-2.0
#include "sim/gdb/host_io.h"

#include <algorithm>
#include <vector>

namespace rkperf::gdb {

namespace {

/// The protocol's numbers of errors.
enum class FileError : unsigned { ENOENT_ = 2, EBADF_ = 9, EINVAL_ = 22, EMFILE_ = 24, EROFS_ = 30 };

std::string failed(FileError e) { return "F-1," + hex_number(static_cast<unsigned>(e)); }

/// struct stat of the protocol: big-endian, 64 bytes; a regular file that may be read and executed.
std::string stat_bytes(std::uint64_t size) {
    std::string out;
    const auto put = [&out](std::uint64_t value, unsigned bytes) {
        while (bytes--) out += static_cast<char>(value >> (8 * bytes));
    };
    for (const std::uint32_t word : {0u, 0u, 0100555u, 1u, 0u, 0u, 0u})
        put(word, 4); // dev, ino, mode, nlink, uid, gid, rdev
    put(size, 8);
    put(4096, 8);
    put((size + 511) / 512, 8);
    for (int i = 0; i < 3; ++i) put(0, 4); // times
    return out;
}

} // namespace

std::string HostIo::handle(unsigned cpu, Fields f) {
    if (f.skip("setfs:")) return "F0"; // one file system: that of the selected CPU's program
    if (f.skip("open:")) {
        const auto path = from_hex(f.until(','));
        const auto flags = f.hex();
        if (!path || !flags) return failed(FileError::EINVAL_);
        if (*flags & 3) return failed(FileError::EROFS_);
        if (open_.size() >= kMaxOpen) return failed(FileError::EMFILE_);
        const auto size = target_.file_size(cpu, *path);
        if (!size) return failed(FileError::ENOENT_);
        std::uint64_t fd = 3;
        while (open_.count(fd)) ++fd;
        open_[fd] = {*path, *size};
        return "F" + hex_number(fd);
    }
    const bool close = f.skip("close:"), fstat = !close && f.skip("fstat:");
    if (!close && !fstat && !f.skip("pread:")) return "";
    const auto fd = f.hex();
    const auto file = fd ? open_.find(*fd) : open_.end();
    if (file == open_.end()) return failed(FileError::EBADF_);
    if (close) {
        open_.erase(file);
        return "F0";
    }
    if (fstat) return "F40;" + stat_bytes(file->second.size);
    f.skip(',');
    const auto count = f.hex();
    f.skip(',');
    const auto offset = f.hex();
    if (!count || !offset) return failed(FileError::EINVAL_);
    // Escapes may double what is sent.
    std::vector<std::uint8_t> bytes(std::min<std::uint64_t>(*count, PacketReader::kMaxPacket / 2 - 16));
    const std::size_t n = target_.read_file(cpu, file->second.path, *offset, bytes);
    return "F" + hex_number(n) + ";" + std::string(reinterpret_cast<const char*>(bytes.data()), n);
}

} // namespace rkperf::gdb
