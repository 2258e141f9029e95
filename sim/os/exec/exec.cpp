// SPDX-License-Identifier: Apache-2.0
#include "sim/os/exec/exec.h"

#include "kernel_events/hw_breakpoint.h"
#include "kernel_events/trace/tracepoints.h"
#include "sim/os/exec/elf.h"
#include "sim/os/ns/namespaces.h"
#include "sim/os/process/credentials.h"
#include "sim/os/process/process.h"
#include "sim/os/ptrace/ptrace.h"
#include "sim/os/sched/scheduler.h"
#include "sim/os/signal/signals.h"

#include <elf.h>
#include <linux/prctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rkperf::os {

namespace {

/// What a stack has beyond the strings, within its limit (setup_arg_pages).
constexpr std::uint64_t kStackExpand = 131072;
constexpr std::uint64_t kStackTop = 0xfffffffff000;  // STACK_TOP, without randomisation
constexpr std::uint64_t kMmapBase = 0xfffff8000000;  // the least gap for the stack, 128 MiB, below TASK_SIZE
constexpr std::uint64_t kPieBase = 0xaaaaaaaa0000;   // ELF_ET_DYN_BASE
constexpr std::uint64_t kMaxArgStrings = 6ull << 20; // three quarters of the default stack limit
constexpr std::uint64_t kMaxArgString = 32 * kPageSize;
constexpr int kMaxInterpreters = 4;

constexpr unsigned hwcap_bits[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15, 16, 20};

int to_prot(const ElfSegment& s) {
    return (s.read ? PROT_READ : 0) | (s.write ? PROT_WRITE : 0) | (s.exec ? PROT_EXEC : 0);
}

ElfReader reader_of(const FileHandle& f) {
    return [f](std::uint64_t offset, std::span<std::uint8_t> to) {
        while (!to.empty()) {
            const std::int64_t n = f->pread(to, offset);
            if (n <= 0) return false;
            offset += static_cast<std::uint64_t>(n);
            to = to.subspan(static_cast<std::size_t>(n));
        }
        return true;
    };
}

/// Maps the segments of an image at `bias`; 0 or negative errno.
std::int64_t map_image(Kernel& k, AddressSpace& as, const FileHandle& file, const ElfImage& image, std::uint64_t bias) {
    for (const ElfSegment& s : image.segments) {
        const std::uint64_t start = (s.vaddr + bias) & kPageMask;
        const std::uint64_t file_end = s.vaddr + bias + s.filesz, mem_end = s.vaddr + bias + s.memsz;
        if (s.filesz) {
            const auto r =
                as.mmap(start, file_end - start, to_prot(s), MAP_PRIVATE | MAP_FIXED, file, s.offset & kPageMask);
            if (r < 0) return r;
        }
        const std::uint64_t bss = s.filesz ? (file_end + kPageSize - 1) & kPageMask : start;
        if (mem_end > bss) {
            const auto r = as.mmap(bss, mem_end - bss, to_prot(s), MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, nullptr, 0);
            if (r < 0) return r;
        }
        if (s.memsz > s.filesz && (file_end & ~kPageMask)) {
            // The whole rest of the last file page is zero, beyond the end of bss too: the dynamic linker's first heap
            // begins there. In a read-only segment it stays as it is.
            const std::uint64_t n = bss - file_end;
            const std::vector<std::uint8_t> zeros(n);
            if (s.write && k.put_user(file_end, zeros.data(), n)) return -EFAULT;
        }
    }
    return 0;
}

struct Loaded {
    ElfImage image;
    std::uint64_t bias{};
};

} // namespace

std::uint64_t elf_hwcap() {
    std::uint64_t caps = 0;
    for (unsigned b : hwcap_bits) caps |= 1ull << b;
    return caps;
}

namespace {

/// How many pages at the top of the stack the strings take, with the word above them.
std::uint64_t string_pages(const std::string& path, const std::vector<std::string>& argv,
                           const std::vector<std::string>& envp) {
    std::uint64_t bytes = 8 + path.size() + 1;
    for (const auto* list : {&argv, &envp})
        for (const std::string& s : *list) bytes += s.size() + 1;
    return (bytes + kPageSize - 1) >> kPageShift;
}

/// Builds the initial stack; returns the stack pointer, or negative errno.
std::int64_t build_stack(Kernel& k, Task& t, AddressSpace& as, const std::string& path,
                         const std::vector<std::string>& argv, const std::vector<std::string>& envp,
                         const Loaded& program, std::uint64_t entry, std::uint64_t base) {
    std::uint64_t sp = kStackTop - 8;
    // Strings are copied to the pages of the new stack before it is one (get_arg_page): those faults are nobody's.
    for (std::uint64_t page = kStackTop - string_pages(path, argv, envp) * kPageSize; page < kStackTop;
         page += kPageSize)
        if (as.handle_fault(page, true, false, AddressSpace::FaultBy::populate).signal) return -ENOMEM;
    const auto push = [&](const void* data, std::size_t n) {
        sp -= n;
        return k.put_user(sp, data, n) == 0;
    };
    const auto push_string = [&](const std::string& s) { return push(s.c_str(), s.size() + 1); };
    if (!push_string(path)) return -E2BIG;
    const std::uint64_t execfn = sp;
    std::vector<std::uint64_t> envs, args;
    as.env_end = sp;
    for (auto it = envp.rbegin(); it != envp.rend(); ++it) {
        if (!push_string(*it)) return -E2BIG;
        envs.insert(envs.begin(), sp);
    }
    as.env_start = as.arg_end = sp;
    for (auto it = argv.rbegin(); it != argv.rend(); ++it) {
        if (!push_string(*it)) return -E2BIG;
        args.insert(args.begin(), sp);
    }
    as.arg_start = sp;
    sp &= ~std::uint64_t{15};
    if (!push_string("aarch64")) return -EFAULT;
    const std::uint64_t platform = sp;
    std::uint64_t random[2] = {k.random(), k.random()};
    sp &= ~std::uint64_t{15};
    if (!push(random, sizeof random)) return -EFAULT;
    const std::uint64_t random_at = sp;

    const std::pair<std::uint64_t, std::uint64_t> aux[] = {
        {AT_SYSINFO_EHDR, as.vdso},
        {51 /* AT_MINSIGSTKSZ */, 4720},
        {AT_HWCAP, elf_hwcap()},
        {AT_PAGESZ, kPageSize},
        {AT_CLKTCK, 100},
        {AT_PHDR, program.image.phdr_address() ? program.image.phdr_address() + program.bias : 0},
        {AT_PHENT, sizeof(Elf64_Phdr)},
        {AT_PHNUM, program.image.phnum},
        {AT_BASE, base},
        {AT_FLAGS, 0},
        {AT_ENTRY, entry},
        {AT_UID, t.cred.uid},
        {AT_EUID, t.cred.euid},
        {AT_GID, t.cred.gid},
        {AT_EGID, t.cred.egid},
        {AT_SECURE, 0},
        {AT_RANDOM, random_at},
        {AT_HWCAP2, 0},
        {AT_EXECFN, execfn},
        {AT_PLATFORM, platform},
        {AT_NULL, 0},
    };
    std::vector<std::uint64_t> words;
    words.push_back(args.size());
    words.insert(words.end(), args.begin(), args.end());
    words.push_back(0);
    words.insert(words.end(), envs.begin(), envs.end());
    words.push_back(0);
    for (const auto& [type, value] : aux) words.push_back(type), words.push_back(value);
    t.process->auxv.resize(sizeof aux);
    std::memcpy(t.process->auxv.data(), words.data() + words.size() - sizeof aux / 8, sizeof aux);
    sp -= words.size() * 8;
    sp &= ~std::uint64_t{15};
    if (k.put_user(sp, words.data(), words.size() * 8)) return -EFAULT;
    as.start_stack = sp;
    return static_cast<std::int64_t>(sp);
}

/// "#! interpreter [argument]": rewrites path, file and argv. 0 if it is no script, 1 if rewritten, or negative errno.
int resolve_script(Kernel& k, FileHandle& file, std::string& path, std::vector<std::string>& argv) {
    std::uint8_t buffer[256] = {};
    const std::int64_t n = file->pread(buffer, 0);
    if (n < 2 || buffer[0] != '#' || buffer[1] != '!') return 0;
    std::string line(reinterpret_cast<const char*>(buffer) + 2, static_cast<std::size_t>(n) - 2);
    line = line.substr(0, line.find('\n'));
    const auto trim = [](std::string s) {
        const auto b = s.find_first_not_of(" \t"), e = s.find_last_not_of(" \t\r");
        return b == std::string::npos ? std::string() : s.substr(b, e - b + 1);
    };
    line = trim(line);
    if (line.empty()) return -ENOEXEC;
    const auto space = line.find_first_of(" \t");
    const std::string interpreter = line.substr(0, space);
    const std::string argument = space == std::string::npos ? "" : trim(line.substr(space));
    if (!argv.empty()) argv.erase(argv.begin());
    argv.insert(argv.begin(), path);
    if (!argument.empty()) argv.insert(argv.begin(), argument);
    argv.insert(argv.begin(), interpreter);
    FileHandle next;
    const std::int64_t r = k.vfs().openat(-100, interpreter, 0, 0, next);
    if (r < 0) return static_cast<int>(r);
    file = next;
    path = interpreter;
    return 1;
}

} // namespace

std::int64_t do_execve(Kernel& k, Task& t, FileHandle file, const std::string& given_path,
                       std::vector<std::string> argv, std::vector<std::string> envp) {
    Frame frame(k, KernelSymbol::bprm_execve);
    std::string path = given_path;
    const std::string comm_source = given_path;
    for (int depth = 0;; ++depth) {
        const int r = resolve_script(k, file, path, argv);
        if (r < 0) return r;
        if (r == 0) break;
        if (depth >= kMaxInterpreters) return -ELOOP;
    }
    std::uint64_t bytes = 0;
    for (const auto* list : {&argv, &envp})
        for (const std::string& s : *list) {
            if (s.size() >= kMaxArgString) return -E2BIG;
            bytes += s.size() + 1 + 8;
        }
    if (bytes > kMaxArgStrings) return -E2BIG;
    if (argv.empty()) argv.emplace_back();

    Inode* inode = file->inode();
    if (!inode) return -EACCES;
    Loaded program, interp;
    ElfError error;
    if (const int e = read_elf(reader_of(file), inode->size(), program.image, error)) {
        k.pr_info(path + ": " + error.reason);
        return -e;
    }
    FileHandle interp_file;
    if (!program.image.interpreter.empty()) {
        const std::int64_t r = k.vfs().openat(-100, program.image.interpreter, 0, 0, interp_file);
        if (r < 0) return r;
        if (!interp_file->inode()) return -EACCES;
        if (const int e = read_elf(reader_of(interp_file), interp_file->inode()->size(), interp.image, error))
            return -e;
    }
    if (program.image.position_independent) program.bias = kPieBase - program.image.lowest();

    // While the interpreter is read nobody may write it, and none may be writing it or the program (deny_write_access).
    if (inode->writers || (interp_file && interp_file->inode()->writers)) return -ETXTBSY;
    ++inode->deny_write;
    const std::shared_ptr<void> denied(file.get(), [file](void*) { --file->inode()->deny_write; });

    // Point of no return: other threads go, the old address space goes.
    const int old_pid = t.pid;
    if (const int r = de_thread(k, t)) return r;
    k.uprobes().uprobe_free_utask(t);
    auto as = std::make_shared<AddressSpace>(k);
    if (t.as) {
        as->thp_disabled = t.as->thp_disabled;
        t.process->exited.maxrss = std::max(t.process->exited.maxrss, t.as->hiwater_rss());
    }
    as->mmap_base = kMmapBase;
    as->exe_denies_write = denied;
    std::shared_ptr<AddressSpace> old = std::move(t.as);
    t.as = as;
    t.mm = as.get();
    k.sched().switch_address_space();
    release_vfork_parent(t);
    if (old && old.use_count() == 1) old->unmap_all();
    old.reset();
    t.robust_list = 0;
    t.clear_child_tid = 0;
    t.rseq = 0;
    t.rseq_event = false;
    exit_posix_timers(k, *t.process);
    t.process->exe_path = file->path();
    t.process->exe_file = file;
    // Who runs with rights that are not his own is not to be looked into.
    t.process->dumpable = t.cred.euid == t.cred.uid && t.cred.egid == t.cred.gid;
    t.files = t.files.use_count() > 1 ? t.files->clone() : t.files;
    t.files->close_on_exec();
    k.signals().flush_handlers(t);
    t.altstack_sp = t.altstack_size = 0;
    t.altstack_flags = 2;
    t.tagged_addr = false;
    if (t.store_bypass == PR_SPEC_DISABLE_NOEXEC) t.store_bypass = PR_SPEC_ENABLE;
    t.cred.securebits &= ~securebit::keep_caps;
    // capabilities(7): root gets what its bounding set allows, others keep what is ambient.
    const std::uint64_t root_caps = t.cred.cap_bounding | t.cred.cap_inheritable;
    // With SECBIT_NOROOT, root is nobody special.
    const bool special = !(t.cred.securebits & securebit::noroot);
    const std::uint32_t root = make_kuid(t.cred.user_ns.get(), 0);
    t.cred.cap_permitted = special && (t.cred.uid == root || t.cred.euid == root) ? root_caps : t.cred.cap_ambient;
    t.cred.cap_effective = special && t.cred.euid == root ? t.cred.cap_permitted : t.cred.cap_ambient;
    k.perf().hw_breakpoints().flush_ptrace_hw_breakpoint(t);
    k.perf().perf_event_exec();
    const auto slash = comm_source.rfind('/');
    set_comm(k, t, slash == std::string::npos ? comm_source : comm_source.substr(slash + 1), true);
    if (!t.process->dumpable) k.perf().perf_event_exit_task(t);

    const auto die = [&](std::int64_t) -> std::int64_t {
        k.signals().force(t, siginfo_kernel(SIGKILL));
        return -EFAULT;
    };
    as->start_stack = kStackTop;
    const std::uint64_t strings = string_pages(path, argv, envp) * kPageSize;
    const std::uint64_t stack = std::max(strings, std::min(strings + kStackExpand, k.rlimit(RLIMIT_STACK) & kPageMask));
    as->map_special(kStackTop - stack, stack, PROT_READ | PROT_WRITE, "[stack]", MAP_GROWSDOWN);
    if (const auto r = map_image(k, *as, file, program.image, program.bias); r < 0) return die(r);
    std::uint64_t entry = program.image.entry + program.bias, base = 0;
    const std::uint64_t program_entry = entry;
    if (interp_file) {
        const std::uint64_t span = interp.image.highest() - interp.image.lowest();
        const auto at = as->mmap(0, span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, nullptr, 0);
        if (at < 0) return die(at);
        as->munmap(static_cast<std::uint64_t>(at), span);
        interp.bias = static_cast<std::uint64_t>(at) - interp.image.lowest();
        if (const auto r = map_image(k, *as, interp_file, interp.image, interp.bias); r < 0) return die(r);
        entry = interp.image.entry + interp.bias;
        base = interp.bias;
    }
    as->start_code = program.image.lowest() + program.bias;
    for (const ElfSegment& s : program.image.segments) {
        if (s.exec) as->end_code = s.vaddr + s.filesz + program.bias;
        if (s.write) as->start_data = s.vaddr + program.bias, as->end_data = s.vaddr + s.filesz + program.bias;
    }
    as->start_brk = as->cur_brk = (program.image.highest() + program.bias + kPageSize - 1) & kPageMask;

    if (const auto r = as->map_vdso(); r < 0) return die(r);

    const auto sp = build_stack(k, t, *as, path, argv, envp, program, program_entry, base);
    if (sp < 0) return die(sp);
    UserContext regs;
    regs.sp = static_cast<std::uint64_t>(sp);
    regs.pc = entry;
    regs.load(k.user());
    std::memset(t.pt_regs.regs, 0, sizeof t.pt_regs.regs);
    t.pt_regs.sp = regs.sp;
    t.pt_regs.pc = regs.pc;
    t.pt_regs.pstate = 0;
    k.tracepoints().trace_sched_process_exec(t, old_pid, given_path);
    ptrace_event(k, ptrace_event_nr::exec, static_cast<std::uint64_t>(old_pid));
    return 0;
}

} // namespace rkperf::os
