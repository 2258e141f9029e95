// SPDX-License-Identifier: Apache-2.0
// An address space: mappings (struct vm_area_struct), Armv8 page tables in simulated memory, page faults.
#pragma once

#include "kernel_events/kernel.h"
#include "kernel_events/uprobes.h"
#include "models/a64/state.h"
#include "sim/base/types.h"
#include "sim/os/fs/file.h"
#include "sim/os/mm/page_table.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rkperf::os {

class Kernel;
struct Task;

/// Kinds of what is behind a mapping.
enum class VmaKind : std::uint8_t { anonymous, file, device_ops, special, vdso, vvar };

/// What madvise says of how a file mapping will be read: VM_SEQ_READ, VM_RAND_READ.
enum class ReadHint : std::uint8_t { normal, sequential, random };

struct Vma {
    std::uint64_t start{}, end{};
    std::uint32_t prot{};      ///< PROT_*
    std::uint32_t map_flags{}; ///< MAP_SHARED or MAP_PRIVATE, MAP_GROWSDOWN, MAP_LOCKED ...
    std::uint64_t pgoff{};     ///< in pages
    VmaKind kind{VmaKind::anonymous};
    FileHandle file;                          ///< file mappings and perf files
    std::string name;                         ///< "[heap]", "[stack]", "[vdso]" for special and well-known ones
    ke::FileOperations* ops{};                ///< perf files
    std::shared_ptr<ke::MmapRequest> request; ///< what ops saw
    std::uint32_t max_prot{7};                ///< mprotect may not exceed it
    bool dont_copy{}, dont_expand{}, dont_dump{}, wipe_on_fork{};
    bool io{};         ///< VM_IO: not for others, no ordinary memory
    bool no_reserve{}; ///< VM_NORESERVE
    bool accounted{};  ///< VM_ACCOUNT: it could be written once; such mappings do not grow together with others
    /// Which struct anon_vma, 0: none. With one it has had pages of its own: fork copies its page table, and else leaves the
    /// pages to faults. Mappings with different ones do not grow together.
    std::uint32_t anon_vma{};
    bool anon_forked{}; ///< its anon_vma_chain has more than one link: it came from a parent that had one
    ReadHint read_hint{ReadHint::normal};

    /// accountable_mapping: what is private and can be written now counts from now on.
    void account() { accounted |= (prot & 2) && !(map_flags & 1) && !no_reserve; }
};

/// Why a fault could not be resolved.
struct FaultResult {
    int signal{}; ///< 0: resolved; SIGSEGV or SIGBUS
    int code{};   ///< SEGV_MAPERR, SEGV_ACCERR, BUS_ADRERR ...
    bool major{};
};

/// What a perf file sees of a mapping of it.
class VmaRequest final : public ke::MmapRequest {
  public:
    VmaRequest(const Vma& v, ke::MmInfo* mm) : start_(v.start), size_(v.end - v.start), pgoff_(v.pgoff), mm_(mm) {
        shared_ = v.map_flags & 1;
        writable_ = v.prot & 2;
    }
    std::uint64_t start() const override { return start_; }
    std::uint64_t size() const override { return size_; }
    std::uint64_t pgoff() const override { return pgoff_; }
    bool shared() const override { return shared_; }
    bool writable() const override { return writable_; }
    ke::MmInfo* mm() const override { return mm_; }

  private:
    std::uint64_t start_, size_, pgoff_;
    ke::MmInfo* mm_;
    bool shared_, writable_;
};

class AddressSpace : public ke::UprobeMm, public std::enable_shared_from_this<AddressSpace> {
  public:
    explicit AddressSpace(Kernel& k);
    ~AddressSpace() override;

    PhysAddr pgd() const { return table_.root(); }
    std::uint16_t asid() const { return asid_; }

    // --- system calls; addresses and lengths in bytes; negative errno or result ---
    std::int64_t mmap(std::uint64_t addr, std::uint64_t length, int prot, int flags, FileHandle file,
                      std::uint64_t offset);
    std::int64_t munmap(std::uint64_t addr, std::uint64_t length);
    std::int64_t mprotect(std::uint64_t addr, std::uint64_t length, int prot);
    std::int64_t mremap(std::uint64_t old_addr, std::uint64_t old_len, std::uint64_t new_len, int flags,
                        std::uint64_t new_addr);
    std::int64_t madvise(std::uint64_t addr, std::uint64_t length, int advice);
    std::int64_t brk(std::uint64_t addr);
    std::int64_t msync(std::uint64_t addr, std::uint64_t length, int flags);
    std::int64_t mincore(std::uint64_t addr, std::uint64_t length, std::uint64_t vec);
    /// `bring_in`: all pages at once (not with MLOCK_ONFAULT). `limited`: RLIMIT_MEMLOCK is still to be asked.
    std::int64_t mlock(std::uint64_t addr, std::uint64_t length, bool lock, bool bring_in, bool limited = true);
    /// __oom_reap_task_mm: the private pages of a process that is being killed go at once.
    void reap();

    /// Who needs the page: an exception at EL0, an exception of kernel code that copies to or from user memory, or
    /// kernel code that brings pages in by itself (populate, access to another task), which no software event counts.
    enum class FaultBy : std::uint8_t { user, kernel, populate };
    /// exec: instruction fetch. Charges time.
    FaultResult handle_fault(std::uint64_t addr, bool write, bool exec, FaultBy by);

    /// A copy for fork: private pages become copy-on-write in both.
    std::shared_ptr<AddressSpace> fork();
    /// Drops all mappings (exec, exit). Calls perf's mmap_close.
    void unmap_all();

    const Vma* find(std::uint64_t addr) const;                         ///< the mapping that contains addr, or null
    const std::map<std::uint64_t, Vma>& vmas() const { return vmas_; } ///< by start
    ke::VmaInfo info(const Vma& v) const;

    /// Physical address behind a user address if a page is present with the wanted right; no fault is taken.
    std::optional<PhysAddr> lookup(std::uint64_t addr, bool write) const;

    /// The byte's place in memory, brought in, for a reader or writer that is not the task itself (get_user_pages). `force`:
    /// what the mapping may ever allow is enough; a page of a private mapping is then copied, not made writable.
    std::optional<PhysAddr> access_page(std::uint64_t addr, bool write, bool force);

    /// Takes the file's pages from `first` on, and private copies of them, out of the page table.
    void unmap_file_pages(const Inode& inode, std::uint64_t first);

    /// The page's bytes for the machine's debugger, from where they are: memory, the file, or nothing yet (zeros). Changes
    /// nothing and takes no time. False: nothing is mapped, or its contents cannot be known without asking for them.
    bool peek_page(std::uint64_t addr, std::span<std::uint8_t, kPageSize> to) const;
    /// The page's place in memory for the machine's debugger to write to, whatever the mapping's rights: a private page is
    /// made the program's own. Takes no time. Empty: nothing is mapped, or it is a file that was opened for reading.
    std::optional<PhysAddr> poke_page(std::uint64_t addr);

    /// For the loader and special mappings: no checks of length limits; tells perf as mmap does.
    std::int64_t map_special(std::uint64_t addr, std::uint64_t length, int prot, std::string name, int flags = 0,
                             VmaKind kind = VmaKind::anonymous);
    /// arch_setup_additional_pages: [vvar] and [vdso] where there is room; 0 or negative errno.
    std::int64_t map_vdso();

    // --- ke::UprobeMm (uprobe_pages.cpp) ---
    void mmap_write_lock() override { mmap_lock_.lock(); }
    void mmap_write_unlock() override { mmap_lock_.unlock(); }
    void for_each_mapping(const std::function<void(const ke::UprobeVma&)>& fn) override;
    std::optional<ke::UprobeVma> mapping_at(std::uint64_t address) override;
    int get_page(std::uint64_t address, bool write, PageView& page) override;
    int replace_page(std::uint64_t address, std::uint32_t opcode, bool drop_if_original) override;
    void store(std::uint64_t address, const void* from, std::size_t n) override;
    std::int64_t install_xol_page(std::uint64_t hint) override;
    void write_xol(std::uint64_t address, std::uint32_t insn) override;
    bool has_users() const override { return !unmapping_; }

    std::uint64_t start_brk{}, cur_brk{}, start_stack{}, mmap_base{};
    std::uint64_t start_code{}, end_code{}, start_data{}, end_data{}, arg_start{}, arg_end{}, env_start{}, env_end{};
    std::uint64_t total_vm() const;                                            ///< pages
    std::uint64_t rss() const { return rss_; }                                 ///< pages
    std::uint64_t hiwater_rss() const { return std::max(hiwater_rss_, rss_); } ///< the most there ever were
    std::uint64_t hiwater_vm() const { return std::max(hiwater_vm_, total_vm()); }
    std::uint64_t pgtables_bytes() const { return table_.tables() * kPageSize; }
    std::uint64_t locked_vm{};              ///< pages
    std::uint64_t vdso{};                   ///< address of the vDSO
    std::shared_ptr<void> exe_denies_write; ///< as long as it lives the program's file is not opened for writing
    bool thp_disabled{};                    ///< PR_SET_THP_DISABLE; there are no huge pages for it to forbid
    bool lock_future{};                     ///< MCL_FUTURE: new mappings are locked
    bool lock_on_fault{};                   ///< MCL_ONFAULT beside it: but not brought in
    std::uint32_t membarrier_state{};       ///< MEMBARRIER_CMD_* that the process has registered for

  private:
    using Iter = std::map<std::uint64_t, Vma>::iterator;
    std::optional<std::uint64_t> find_gap(std::uint64_t length) const;
    bool is_free(std::uint64_t start, std::uint64_t end) const;
    /// RLIMIT_MEMLOCK or CAP_IPC_LOCK allows so many pages more.
    bool may_lock(std::uint64_t pages) const;
    /// The end of a locked mapping that mremap has just made: it is locked, and brought in.
    void lock_grown(std::uint64_t from, std::uint64_t to);
    /// Brings in what is not there of a part of one mapping, up to the first page that cannot be.
    void populate(std::uint64_t from, std::uint64_t to);
    Iter split(Iter it, std::uint64_t at); ///< returns the upper part
    void remove_range(std::uint64_t start, std::uint64_t end);
    /// Both take effect at once and return what they cost, in instructions.
    std::uint32_t zap(std::uint64_t start, std::uint64_t end);
    std::uint32_t flush(std::uint64_t start, std::uint64_t end);
    Iter insert(Vma v);
    /// vma_merge: with the one before and the one behind, where flags, file and anon_vma allow. If these two cannot go together
    /// it is the one before, for a new mapping (`next_first`) the one behind.
    Iter merge(Iter it, bool next_first = false);
    void anon_vma_prepare(Vma& v);
    void absorb(Vma& into, const Vma& gone);
    bool expand_stack(std::uint64_t addr);
    /// What a fault found; it must be the same when the page is installed.
    struct Found {
        std::uint64_t start{}, end{}, pgoff{};
        std::uint32_t prot{}, map_flags{};
        VmaKind kind{};
        FileHandle file;
        ke::FileOperations* ops{};
        std::shared_ptr<ke::MmapRequest> request;
        std::uint64_t pte{};
        bool operator==(const Found&) const = default;
    };
    Found look(const Vma& v, std::uint64_t page);
    enum class Step : std::uint8_t { done, again };
    Step fault_in(const Found& found, std::uint64_t page, bool write, FaultResult& result);
    /// Puts `pa` behind `page` unless something has changed since; takes over the caller's reference of `pa`. `own`: it
    /// is a page of this mapping alone.
    Step install(const Found& found, std::uint64_t page, PhysAddr pa, bool writable, bool own = false);
    /// do_fault_around: maps what the page cache holds of the 64 KiB around `page`, as for reading. `mapped`: `page` too.
    Step map_pages(const Found& found, std::uint64_t page, bool& mapped);
    /// Pages of a shared mapping are writable from the start if nobody wants to hear of the first write.
    static bool writable_unnoticed(std::uint32_t prot, std::uint32_t map_flags, const FileHandle& file);
    static std::uint64_t attributes(std::uint32_t prot, bool writable);
    bool covered(std::uint64_t start, std::uint64_t end) const;
    /// The tail of mremap: pages and mapping go to `to`; with keep_old an empty mapping stays.
    std::int64_t move_mapping(std::uint64_t old_addr, std::uint64_t old_len, std::uint64_t to, std::uint64_t new_len,
                              bool keep_old);
    /// False if a border of [start, end) lies inside a mapping that cannot be split: perf's buffers (CORE-348).
    bool may_split(std::uint64_t start, std::uint64_t end) const;
    static ke::UprobeVma uprobe_vma(const Vma& v);
    /// The mapping is new or was changed: probes of its file go into it.
    void tell_uprobes(const Vma& v);
    /// Brings a page in without looking at the mapping's rights; -EFAULT if there is none to bring.
    int fault_forced(std::uint64_t page, bool write);
    /// Instruction fetch on every core sees what was written at `pa`.
    void sync_icache(PhysAddr pa);
    /// Drops the reference that a present entry holds. A page that goes for good takes along what was decoded from it.
    void put_page(std::uint64_t pte);
    void drop_xol_page();

    Kernel& os_;
    KernelMutex mmap_lock_; ///< held by whoever changes mappings; faults only look, and look again before they install
    PageTable table_;
    std::uint16_t asid_{};
    std::map<std::uint64_t, Vma> vmas_;
    std::uint64_t rss_{}, hiwater_rss_{}, hiwater_vm_{}; ///< the latter as of the last removal
    bool unmapping_{};                                   ///< its last user has gone
    std::uint32_t last_anon_vma_{};
    PhysAddr xol_page_{0}; ///< [uprobes]' page, which stays when the mapping loses it
};

} // namespace rkperf::os
