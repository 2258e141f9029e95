// SPDX-License-Identifier: Apache-2.0
// User-space probes (kernel/events/uprobes.c of Linux 6.1): which instruction of which file is probed by whom, the
// breakpoints in address spaces, what a hit does, execution out of line, return probes. UPR-001 to 082.
//
// Locks, in this order: Uprobe::register_rwsem, dup_mmap (registration against fork), an address space's mmap lock.
#pragma once

#include "kernel_events/kernel.h"
#include "kernel_events/probes/decode_insn.h"

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rkperf::ke {

inline constexpr int UPROBE_HANDLER_REMOVE = 1, UPROBE_HANDLER_MASK = 1;
inline constexpr unsigned MAX_URETPROBE_DEPTH = 64, UPROBE_SWBP_INSN_SIZE = 4;
inline constexpr unsigned UPROBE_XOL_SLOT_BYTES = 4, UINSNS_PER_PAGE = 4096 / UPROBE_XOL_SLOT_BYTES;
/// The kernel's own error number for "not supported", which reaches user space here (UPR-013).
inline constexpr int ENOTSUPP_ = 524;

/// A file that may hold probes. Holding it keeps the inode alive, whatever becomes of its name.
class ProbedInode {
  public:
    virtual ~ProbedInode() = default;
    virtual const void* key() const = 0; ///< the inode's identity
    virtual bool regular() const = 0;
    virtual bool readable_pages() const = 0; ///< its file system can read pages or is shmem
    virtual std::uint64_t size() const = 0;
    /// Bytes through the page cache; 0, or a negative errno.
    virtual int read(std::uint64_t offset, void* to, std::size_t n) = 0;
};

/// What uprobes look at in a mapping.
struct UprobeVma {
    std::uint64_t start{}, end{};
    std::uint64_t pgoff{};  ///< pages
    const void* inode{};    ///< ProbedInode::key, null: not a file's
    bool write{}, shared{}; ///< VM_WRITE, VM_SHARED
    bool may_exec{}, may_share{};
    std::uint64_t address_of(std::uint64_t offset) const { return start + offset - (pgoff << 12); }
    std::uint64_t offset_of(std::uint64_t address) const { return (pgoff << 12) + (address - start); }
};

struct Uprobe;

/// xol_area: the page in which instructions run out of line.
struct XolArea {
    std::uint64_t vaddr{};
    std::vector<bool> bitmap = std::vector<bool>(UINSNS_PER_PAGE);
    unsigned slot_count{1}; ///< slots taken, the trampoline's among them
    std::unique_ptr<WaitQueue> wq;
};

/// An address space with what uprobes keep and need. Addresses are user addresses; errors negative errnos.
class UprobeMm : public MmInfo {
  public:
    virtual void mmap_write_lock() = 0;
    virtual void mmap_write_unlock() = 0;
    /// Mappings in order of address.
    virtual void for_each_mapping(const std::function<void(const UprobeVma&)>& fn) = 0;
    virtual std::optional<UprobeVma> mapping_at(std::uint64_t address) = 0;
    /// A page as get_user_pages_remote gives it.
    struct PageView {
        const std::uint8_t* bytes{}; ///< 4096, at a host address
        bool anonymous{}, zero{};
    };
    /// Brings in the page of `address` (write: with a private copy and only if it may be written; else by force): 1, 0: no
    /// page, or an error.
    virtual int get_page(std::uint64_t address, bool write, PageView& page) = 0;
    /// A new anonymous page with the old one's contents and `opcode` at `address`. With `drop_if_original`, if that is what
    /// the file holds, no page instead: the next access faults the file's in. 0 or an error.
    virtual int replace_page(std::uint64_t address, std::uint32_t opcode, bool drop_if_original) = 0;
    /// Kernel store into a page that get_page gave for writing.
    virtual void store(std::uint64_t address, const void* from, std::size_t n) = 0;
    /// Maps one page "[uprobes]" that holds the trampoline's BRK, at `hint` if it is not 0; its address or an error. The
    /// caller holds the mmap lock.
    virtual std::int64_t install_xol_page(std::uint64_t hint) = 0;
    /// Writes an instruction into that page and makes it visible to instruction fetch.
    virtual void write_xol(std::uint64_t address, std::uint32_t insn) = 0;
    virtual bool has_users() const = 0; ///< mm_users is not 0

    bool mmf_has_uprobes{}, mmf_recalc_uprobes{};
    std::shared_ptr<XolArea> xol_area;
};

/// What uprobes ask of the rest of the kernel.
class UprobeServices {
  public:
    virtual ~UprobeServices() = default;
    /// Looks a path up, following links; 0 or the error of the lookup.
    virtual int kern_path(std::string_view path, std::shared_ptr<ProbedInode>& out) = 0;
    /// Every address space that a task uses, each once, in order of process number.
    virtual std::vector<std::shared_ptr<UprobeMm>> all_mms() = 0;
    /// dup_mmap_sem: while it is held no address space is duplicated.
    virtual void dup_mmap_lock() = 0;
    virtual void dup_mmap_unlock() = 0;
    virtual void user_enable_single_step(TaskBase& task) = 0;
    virtual void user_disable_single_step(TaskBase& task) = 0;
    virtual void force_sig(int signo) = 0; ///< to current, SI_KERNEL
    virtual bool fatal_signal_pending() = 0;
    virtual bool task_sigpending() = 0;
    /// thread.fault_code of current: what the last synchronous exception left.
    virtual void set_fault_code(std::uint32_t code) = 0;
    virtual std::uint32_t fault_code() = 0;
    /// Sleeps uninterruptibly until cond.
    virtual void wait_event(WaitQueue& wq, const std::function<bool()>& cond) = 0;
    virtual void task_work_add(TaskBase& task, std::function<void()> work) = 0;
};

enum class UprobeFilterCtx : std::uint8_t { REGISTER, UNREGISTER, MMAP };

/// struct uprobe_consumer: who wants to know. Empty functions are not there.
struct UprobeConsumer {
    std::function<int(UprobeConsumer&, PtRegs&)> handler; ///< bits UPROBE_HANDLER_*
    std::function<int(UprobeConsumer&, std::uint64_t func, PtRegs&)> ret_handler;
    std::function<bool(UprobeConsumer&, UprobeFilterCtx, MmInfo*)> filter;
};

/// A lock that readers share. A writer that waits keeps new readers out.
class RwSemaphore {
  public:
    void init(Kernel& kernel, UprobeServices& services);
    void down_read();
    void up_read();
    void down_write();
    void up_write();

  private:
    UprobeServices* services_{};
    std::unique_ptr<WaitQueue> wq_;
    unsigned readers_{}, writers_waiting_{};
    bool writer_{};
};

/// struct uprobe.
struct Uprobe {
    std::shared_ptr<ProbedInode> inode;
    std::uint64_t offset{}, ref_ctr_offset{};
    RwSemaphore register_rwsem;
    std::list<UprobeConsumer*> consumers; ///< newest first
    bool in_tree{};
    bool copy_insn{}; ///< UPROBE_COPY_INSN: insn and simulate are valid
    std::uint32_t insn{};
    bool simulate{};
};

struct ReturnInstance {
    std::shared_ptr<Uprobe> uprobe;
    std::uint64_t func{}, stack{}, orig_ret_vaddr{};
    bool chained{};
};

/// struct uprobe_task.
struct UprobeTask {
    enum class State : std::uint8_t { RUNNING, SSTEP, SSTEP_ACK, SSTEP_TRAPPED } state{};
    std::shared_ptr<Uprobe> active_uprobe;
    std::uint64_t xol_vaddr{}, vaddr{};
    std::shared_ptr<XolArea> xol_area;            ///< of the slot taken, null: none
    std::vector<ReturnInstance> return_instances; ///< innermost last
};

/// Steps of a hit, for whoever watches (trace, explain).
enum class UprobeStep : std::uint8_t { breakpoint, handlers, simulated, slot, stepped, trapped, trampoline, returned };

class Uprobes {
  public:
    Uprobes(Kernel& kernel, UprobeServices& services) : k_(kernel), s_(services) {}
    Uprobes(const Uprobes&) = delete;
    Uprobes& operator=(const Uprobes&) = delete;

    /// Takes over BRK #5 and the step exceptions of user code (arch_init_uprobes).
    void init(class DebugMonitors& monitors);

    // --- probes ---
    int uprobe_register(const std::shared_ptr<ProbedInode>& inode, std::uint64_t offset, std::uint64_t ref_ctr_offset,
                        UprobeConsumer& uc);
    void uprobe_unregister(const ProbedInode& inode, std::uint64_t offset, UprobeConsumer& uc);
    int uprobe_apply(const ProbedInode& inode, std::uint64_t offset, UprobeConsumer& uc, bool add);

    // --- address spaces; the caller holds the mmap lock of a living mm ---
    void uprobe_mmap(UprobeMm& mm, const UprobeVma& vma);
    void uprobe_munmap(UprobeMm& mm, const UprobeVma& vma, std::uint64_t start, std::uint64_t end);
    void uprobe_dup_mmap(const UprobeMm& old_mm, UprobeMm& new_mm);
    void uprobe_clear_state(UprobeMm& mm);

    // --- tasks ---
    void uprobe_copy_process(TaskBase& child, bool vfork);
    void uprobe_free_utask(TaskBase& task);

    // --- hits, on current ---
    bool uprobe_pre_sstep_notifier();  ///< BRK #5 at EL0; false: not ours
    bool uprobe_post_sstep_notifier(); ///< software step at EL0; false: not ours
    void uprobe_notify_resume(PtRegs& regs);
    bool uprobe_deny_signal(); ///< true: no signal is to be taken now
    std::uint64_t uprobe_get_trap_addr(const PtRegs& regs);

    bool no_uprobe_events() const { return tree_.empty(); }
    std::size_t count() const { return tree_.size(); }
    /// Address of the present hit's instruction, for consumers.
    static std::uint64_t bp_vaddr(const TaskBase& task) { return task.utask ? task.utask->vaddr : 0; }

    /// Hears the steps of every hit; set before simulation.
    std::function<void(UprobeStep, std::uint64_t address)> listener;

  private:
    using Key = std::pair<const void*, std::uint64_t>;
    struct Delayed {
        Uprobe* uprobe;
        UprobeMm* mm;
    };
    static UprobeMm& mm_of(TaskBase& t) { return *static_cast<UprobeMm*>(t.mm); }
    void step(UprobeStep what, std::uint64_t address) {
        if (listener) listener(what, address);
    }
    std::shared_ptr<Uprobe> find_uprobe(const void* inode, std::uint64_t offset);
    std::shared_ptr<Uprobe> alloc_uprobe(const std::shared_ptr<ProbedInode>& inode, std::uint64_t offset,
                                         std::uint64_t ref_ctr_offset);
    void delete_uprobe(Uprobe& uprobe);
    static bool valid_vma(const UprobeVma& vma, bool is_register);
    bool vma_has_uprobes(const UprobeVma& vma, std::uint64_t start, std::uint64_t end) const;
    static bool filter_chain(Uprobe& uprobe, UprobeFilterCtx ctx, UprobeMm& mm);
    int register_for_each_vma(Uprobe& uprobe, UprobeConsumer* uc);
    void unregister(Uprobe& uprobe, UprobeConsumer& uc);
    int prepare_uprobe(Uprobe& uprobe, std::uint64_t vaddr);
    int install_breakpoint(Uprobe& uprobe, UprobeMm& mm, std::uint64_t vaddr);
    int remove_breakpoint(Uprobe& uprobe, UprobeMm& mm, std::uint64_t vaddr);
    void unapply_uprobe(Uprobe& uprobe, UprobeMm& mm);
    int uprobe_write_opcode(Uprobe& uprobe, UprobeMm& mm, std::uint64_t vaddr, std::uint32_t opcode);
    static bool valid_ref_ctr_vma(const Uprobe& uprobe, const UprobeVma& vma);
    int write_ref_ctr(UprobeMm& mm, std::uint64_t vaddr, int d);
    int update_ref_ctr(Uprobe& uprobe, UprobeMm& mm, int d);
    void delayed_ref_ctr_inc(UprobeMm& mm, const UprobeVma& vma);
    void delayed_uprobe_remove(const Uprobe* uprobe, const UprobeMm* mm);

    // uprobe_hit.cpp
    UprobeTask& get_utask();
    std::shared_ptr<XolArea> get_xol_area();
    std::shared_ptr<XolArea> create_xol_area(std::uint64_t vaddr);
    std::uint64_t xol_get_insn_slot(UprobeTask& utask, std::uint32_t insn);
    void xol_free_insn_slot(UprobeTask& utask);
    std::shared_ptr<Uprobe> find_active_uprobe(UprobeMm& mm, std::uint64_t bp_vaddr, int& is_swbp);
    int is_trap_at_addr(UprobeMm& mm, std::uint64_t vaddr);
    void mmf_recalc_uprobes(UprobeMm& mm);
    void handle_swbp(PtRegs& regs);
    void handle_singlestep(UprobeTask& utask, PtRegs& regs);
    void handler_chain(const std::shared_ptr<Uprobe>& uprobe, PtRegs& regs);
    void handle_trampoline(PtRegs& regs);
    void handle_uretprobe_chain(const ReturnInstance& ri, PtRegs& regs);
    void prepare_uretprobe(const std::shared_ptr<Uprobe>& uprobe, PtRegs& regs);
    void uprobe_warn(std::string_view what);

    Kernel& k_;
    UprobeServices& s_;
    std::map<Key, std::shared_ptr<Uprobe>> tree_; ///< walked within one inode only
    std::list<Delayed> delayed_;
};

} // namespace rkperf::ke
