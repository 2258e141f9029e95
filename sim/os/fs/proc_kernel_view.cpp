// SPDX-License-Identifier: Apache-2.0
// What a task is doing in the kernel, and its page table: /proc/PID/syscall, wchan, stack, pagemap.
#include "sim/os/fs/mm_file.h"
#include "sim/os/fs/procfs.h"
#include "sim/os/kernel.h"
#include "sim/os/ptrace/ptrace.h"

#include <algorithm>
#include <cstring>

namespace rkperf::os {

namespace {

using ull = unsigned long long;
constexpr std::uint32_t kCodeBytes = 4; ///< of an instruction

bool asleep(const Task& t) {
    return t.state == TaskState::interruptible || t.state == TaskState::uninterruptible ||
           t.state == TaskState::stopped || t.state == TaskState::traced;
}

/// Frames of a sleeping task without the scheduler's own, innermost first.
std::vector<const Task::Frame*> frames_of(const Task& t) {
    std::vector<const Task::Frame*> out;
    const auto of_scheduler = [](KernelSymbol f) {
        return f == KernelSymbol::__schedule || f == KernelSymbol::schedule;
    };
    for (auto f = t.kstack.rbegin(); f != t.kstack.rend(); ++f)
        if (!out.empty() || !of_scheduler(f->symbol)) out.push_back(&*f);
    return out;
}

/// One word of /proc/PID/pagemap for each page (Documentation/admin-guide/mm/pagemap.rst).
class PagemapFile final : public MmFile {
  public:
    using MmFile::MmFile;
    std::int64_t pread(std::span<std::uint8_t> to, std::uint64_t offset) override {
        if (offset % 8 || to.size() % 8) return -EINVAL;
        const std::shared_ptr<AddressSpace> as = as_.lock();
        if (!as) return 0;
        constexpr std::uint64_t kPages = std::uint64_t{1} << 36; // of 48 bits
        std::size_t done = 0;
        for (std::uint64_t page = offset / 8; done < to.size() && page < kPages; ++page, done += 8) {
            const std::uint64_t word = entry(*as, page << kPageShift);
            std::memcpy(to.data() + done, &word, sizeof word);
        }
        return static_cast<std::int64_t>(done);
    }

  private:
    std::uint64_t entry(AddressSpace& as, std::uint64_t va) {
        constexpr std::uint64_t kPresent = 1ull << 63, kFile = 1ull << 61, kExclusive = 1ull << 56,
                                kSoftDirty = 1ull << 55;
        const Vma* v = as.find(va);
        if (!v) return 0;
        const auto pa = as.lookup(va, false);
        if (!pa) return kSoftDirty; // of a mapping that was never cleared
        std::uint64_t word = kPresent | kSoftDirty;
        if (v->file) word |= kFile;
        const PhysAddr page(pa->v & kPageMask);
        if (!v->file && k_.pages().refs(page) == 1) word |= kExclusive;
        // Where pages lie is not for everybody.
        if (Kernel::has_cap(k_.cur(), kCapSysAdmin)) word |= page.v >> kPageShift;
        return word;
    }
};

} // namespace

int proc_syscall_text(Kernel& k, Task& t, std::string& out) {
    if (!ptrace_may_access(k.cur(), t, PtraceMode::fscreds)) return -EPERM;
    const bool own = &t == &k.cur();
    if (!own && !asleep(t)) {
        out = "running\n";
        return 0;
    }
    const ke::PtRegs& r = t.pt_regs;
    if (!own && t.syscall_nr < 0) {
        append(out, "-1 0x%llx 0x%llx\n", static_cast<ull>(r.sp), static_cast<ull>(r.pc));
        return 0;
    }
    append(out, "%d 0x%llx 0x%llx 0x%llx 0x%llx 0x%llx 0x%llx 0x%llx 0x%llx\n", t.syscall_nr,
           static_cast<ull>(t.orig_x0), static_cast<ull>(r.regs[1]), static_cast<ull>(r.regs[2]),
           static_cast<ull>(r.regs[3]), static_cast<ull>(r.regs[4]), static_cast<ull>(r.regs[5]),
           static_cast<ull>(r.sp), static_cast<ull>(r.pc));
    return 0;
}

int proc_wchan_text(Kernel& k, Task& t, std::string& out) {
    out = "0";
    if (!asleep(t) || !ptrace_may_access(k.cur(), t, PtraceMode::fscreds)) return 0;
    const auto frames = frames_of(t);
    if (!frames.empty()) out = std::string(info(frames.front()->symbol).name);
    return 0;
}

int proc_stack_text(Kernel& k, Task& t, std::string& out) {
    if (!Kernel::has_cap(k.cur(), kCapSysAdmin)) return -EACCES;
    const bool own = &t == &k.cur();
    if (!own && !asleep(t)) return 0;
    for (const Task::Frame* f : frames_of(t))
        append(out, "[<0>] %s+0x%x/0x%x\n", std::string(info(f->symbol).name).c_str(), f->offset,
               std::max<std::uint32_t>(info(f->symbol).instructions * kCodeBytes, f->offset + kCodeBytes));
    return 0;
}

int proc_open_pagemap(Kernel& k, Task& t, const DentryPtr& name, std::uint32_t flags, FileHandle& out) {
    if (!ptrace_may_access(k.cur(), t, PtraceMode::fscreds)) return -EACCES;
    if (!t.as) return -EIO;
    out = std::make_shared<PagemapFile>(name, flags, t.as, k);
    return 0;
}

} // namespace rkperf::os
