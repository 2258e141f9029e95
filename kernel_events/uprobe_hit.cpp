// SPDX-License-Identifier: Apache-2.0
// What a hit of a uprobe does: handlers, the instruction out of line or simulated, signals meanwhile, return probes
// (UPR-035 to 082).
#include "kernel_events/debug_monitors.h"
#include "kernel_events/uprobes.h"

#include <cerrno>
#include <csignal>
#include <cstring>

namespace rkperf::ke {

namespace {
/// thread.fault_code while an instruction is stepped: anything else means that it trapped.
constexpr std::uint32_t UPROBE_INV_FAULT_CODE = ~0u;
constexpr std::uint64_t kNoTrampoline = ~std::uint64_t{0};

enum class RpCheck : std::uint8_t { call, chain_call, ret };

/// The frame is still there, judged by the stack pointer. A chained one may have the same stack as its caller.
bool uretprobe_is_alive(const ReturnInstance& ri, RpCheck ctx, const PtRegs& regs) {
    return ctx == RpCheck::chain_call ? regs.sp <= ri.stack : regs.sp < ri.stack;
}

std::uint64_t trampoline_vaddr(const UprobeMm& mm) { return mm.xol_area ? mm.xol_area->vaddr : kNoTrampoline; }
} // namespace

UprobeTask& Uprobes::get_utask() {
    TaskBase& t = *k_.current();
    if (!t.utask) t.utask = std::make_shared<UprobeTask>();
    return *t.utask;
}

void Uprobes::uprobe_warn(std::string_view what) {
    const TaskBase& t = *k_.current();
    k_.pr_info("uprobe: " + std::string(t.comm) + ":" + std::to_string(t.pid) + " failed to " + std::string(what));
}

// --- slots ---

std::shared_ptr<XolArea> Uprobes::create_xol_area(std::uint64_t vaddr) {
    KernelFrame frame(k_, KernelSymbol::__create_xol_area);
    UprobeMm& mm = mm_of(*k_.current());
    auto area = std::make_shared<XolArea>();
    area->bitmap[0] = true; // the trampoline's
    area->wq = k_.make_waitqueue();
    if (s_.fatal_signal_pending()) return nullptr;
    mm.mmap_write_lock();
    if (!mm.xol_area) {
        const std::int64_t at = mm.install_xol_page(vaddr);
        if (at > 0) {
            area->vaddr = static_cast<std::uint64_t>(at);
            mm.xol_area = area;
        }
    }
    mm.mmap_write_unlock();
    return mm.xol_area == area ? area : nullptr;
}

std::shared_ptr<XolArea> Uprobes::get_xol_area() {
    UprobeMm& mm = mm_of(*k_.current());
    if (!mm.xol_area) create_xol_area(0);
    return mm.xol_area;
}

std::uint64_t Uprobes::xol_get_insn_slot(UprobeTask& utask, std::uint32_t insn) {
    const std::shared_ptr<XolArea> area = get_xol_area();
    if (!area) return 0;
    unsigned slot = 0;
    const auto take = [&] {
        if (area->slot_count == UINSNS_PER_PAGE) return false;
        slot = 1;
        while (area->bitmap[slot]) ++slot;
        area->bitmap[slot] = true;
        ++area->slot_count;
        return true;
    };
    if (!take()) s_.wait_event(*area->wq, take);
    utask.xol_area = area;
    const std::uint64_t at = area->vaddr + slot * UPROBE_XOL_SLOT_BYTES;
    utask.xol_vaddr = at;
    mm_of(*k_.current()).write_xol(at, insn);
    return at;
}

void Uprobes::xol_free_insn_slot(UprobeTask& utask) {
    if (!utask.xol_area) return;
    XolArea& area = *utask.xol_area;
    const bool was_full = area.slot_count == UINSNS_PER_PAGE;
    area.bitmap[(utask.xol_vaddr - area.vaddr) / UPROBE_XOL_SLOT_BYTES] = false;
    --area.slot_count;
    if (was_full) area.wq->wake_up_all();
    utask.xol_area.reset();
    utask.xol_vaddr = 0;
}

// --- exceptions ---

void Uprobes::init(DebugMonitors& monitors) {
    monitors.register_user_break_hook(UPROBES_BRK_IMM, 0,
                                      [this](PtRegs&, std::uint32_t) { return uprobe_pre_sstep_notifier(); });
    monitors.register_user_step_hook([this](PtRegs&, std::uint32_t) { return uprobe_post_sstep_notifier(); });
}

bool Uprobes::uprobe_pre_sstep_notifier() {
    TaskBase& t = *k_.current();
    if (!t.mm) return false;
    if (!mm_of(t).mmf_has_uprobes && !(t.utask && !t.utask->return_instances.empty())) return false;
    t.tif_uprobe = true;
    step(UprobeStep::breakpoint, 0);
    return true;
}

bool Uprobes::uprobe_post_sstep_notifier() {
    TaskBase& t = *k_.current();
    if (!t.mm || !t.utask || !t.utask->active_uprobe) return false;
    t.utask->state = UprobeTask::State::SSTEP_ACK;
    t.tif_uprobe = true;
    return true;
}

bool Uprobes::uprobe_deny_signal() {
    TaskBase& t = *k_.current();
    if (!t.utask || !t.utask->active_uprobe) return false;
    if (s_.task_sigpending() && (s_.fatal_signal_pending() || s_.fault_code() != UPROBE_INV_FAULT_CODE)) {
        t.utask->state = UprobeTask::State::SSTEP_TRAPPED;
        t.tif_uprobe = true;
    }
    return true;
}

std::uint64_t Uprobes::uprobe_get_trap_addr(const PtRegs& regs) {
    const TaskBase& t = *k_.current();
    return t.utask && t.utask->active_uprobe ? t.utask->vaddr : regs.pc;
}

void Uprobes::uprobe_notify_resume(PtRegs& regs) {
    KernelFrame frame(k_, KernelSymbol::uprobe_notify_resume);
    TaskBase& t = *k_.current();
    t.tif_uprobe = false;
    if (t.utask && t.utask->active_uprobe)
        handle_singlestep(*t.utask, regs);
    else
        handle_swbp(regs);
}

// --- the breakpoint ---

int Uprobes::is_trap_at_addr(UprobeMm& mm, std::uint64_t vaddr) {
    UprobeMm::PageView page;
    const int got = mm.get_page(vaddr, false, page);
    if (got <= 0) return got;
    std::uint32_t insn;
    std::memcpy(&insn, page.bytes + (vaddr & 0xfff), sizeof insn);
    return insn == UPROBE_SWBP_INSN;
}

void Uprobes::mmf_recalc_uprobes(UprobeMm& mm) {
    bool any = false;
    mm.for_each_mapping(
        [&](const UprobeVma& v) { any = any || (valid_vma(v, false) && vma_has_uprobes(v, v.start, v.end)); });
    if (!any) mm.mmf_has_uprobes = false;
}

std::shared_ptr<Uprobe> Uprobes::find_active_uprobe(UprobeMm& mm, std::uint64_t bp_vaddr, int& is_swbp) {
    std::shared_ptr<Uprobe> uprobe;
    is_swbp = -EFAULT;
    if (const std::optional<UprobeVma> v = mm.mapping_at(bp_vaddr)) {
        if (valid_vma(*v, false)) uprobe = find_uprobe(v->inode, v->offset_of(bp_vaddr));
        if (!uprobe) is_swbp = is_trap_at_addr(mm, bp_vaddr);
    }
    if (!uprobe && mm.mmf_recalc_uprobes) {
        mm.mmf_recalc_uprobes = false;
        mmf_recalc_uprobes(mm);
    }
    return uprobe;
}

void Uprobes::handle_swbp(PtRegs& regs) {
    KernelFrame frame(k_, KernelSymbol::handle_swbp);
    UprobeMm& mm = mm_of(*k_.current());
    const std::uint64_t bp_vaddr = regs.pc;
    if (bp_vaddr == trampoline_vaddr(mm)) return handle_trampoline(regs);
    int is_swbp = 0;
    const std::shared_ptr<Uprobe> uprobe = find_active_uprobe(mm, bp_vaddr, is_swbp);
    if (!uprobe) {
        if (is_swbp > 0) s_.force_sig(SIGTRAP);
        return; // removed meanwhile, or unmapped: the instruction is executed again
    }
    if (!uprobe->copy_insn) return;
    UprobeTask& utask = get_utask();
    utask.vaddr = bp_vaddr;
    handler_chain(uprobe, regs);
    if (regs.pc != bp_vaddr) return; // a handler sends it elsewhere
    if (uprobe->simulate) {
        KernelFrame simulate(k_, KernelSymbol::arch_uprobe_skip_sstep);
        simulate_insn(uprobe->insn, bp_vaddr, regs);
        step(UprobeStep::simulated, bp_vaddr);
        return;
    }
    KernelFrame ssout(k_, KernelSymbol::arch_uprobe_pre_xol);
    const std::uint64_t xol_vaddr = xol_get_insn_slot(utask, uprobe->insn);
    if (!xol_vaddr) return; // as long as there is no memory the task comes back here
    utask.vaddr = bp_vaddr;
    s_.set_fault_code(UPROBE_INV_FAULT_CODE);
    regs.pc = xol_vaddr;
    s_.user_enable_single_step(*k_.current());
    utask.active_uprobe = uprobe;
    utask.state = UprobeTask::State::SSTEP;
    step(UprobeStep::slot, xol_vaddr);
}

void Uprobes::handler_chain(const std::shared_ptr<Uprobe>& uprobe, PtRegs& regs) {
    KernelFrame frame(k_, KernelSymbol::handler_chain);
    uprobe->register_rwsem.down_read();
    int remove = UPROBE_HANDLER_REMOVE;
    bool need_prep = false;
    for (UprobeConsumer* uc : uprobe->consumers) {
        const int rc = uc->handler ? uc->handler(*uc, regs) : 0;
        if (rc & ~UPROBE_HANDLER_MASK) k_.pr_info("uprobe: bad rc=" + std::to_string(rc) + " from a handler");
        need_prep = need_prep || uc->ret_handler;
        remove &= rc;
    }
    step(UprobeStep::handlers, regs.pc);
    if (need_prep && !remove) prepare_uretprobe(uprobe, regs);
    if (remove && !uprobe->consumers.empty()) unapply_uprobe(*uprobe, mm_of(*k_.current()));
    uprobe->register_rwsem.up_read();
}

void Uprobes::handle_singlestep(UprobeTask& utask, PtRegs& regs) {
    KernelFrame frame(k_, KernelSymbol::handle_singlestep);
    switch (utask.state) {
        case UprobeTask::State::SSTEP_ACK:
            regs.pc = utask.vaddr + 4;
            s_.user_disable_single_step(*k_.current());
            step(UprobeStep::stepped, utask.vaddr);
            break;
        case UprobeTask::State::SSTEP_TRAPPED:
            regs.pc = utask.vaddr;
            s_.user_disable_single_step(*k_.current());
            step(UprobeStep::trapped, utask.vaddr);
            break;
        default: k_.pr_info("uprobe: a step was completed that was not under way"); break;
    }
    utask.active_uprobe.reset();
    utask.state = UprobeTask::State::RUNNING;
    xol_free_insn_slot(utask);
}

// --- return probes ---

void Uprobes::prepare_uretprobe(const std::shared_ptr<Uprobe>& uprobe, PtRegs& regs) {
    KernelFrame frame(k_, KernelSymbol::prepare_uretprobe);
    const std::shared_ptr<XolArea> area = get_xol_area();
    if (!area) return;
    UprobeTask& utask = get_utask();
    auto& instances = utask.return_instances;
    if (instances.size() >= MAX_URETPROBE_DEPTH) {
        const TaskBase& t = *k_.current();
        k_.pr_info("uprobe: omit uretprobe due to nestedness limit pid/tgid=" + std::to_string(t.pid) + "/" +
                   std::to_string(t.tgid));
        return;
    }
    std::uint64_t orig_ret_vaddr = regs.regs[30];
    regs.regs[30] = area->vaddr;
    const bool chained = orig_ret_vaddr == area->vaddr;
    // What a longjmp has left.
    const RpCheck ctx = chained ? RpCheck::chain_call : RpCheck::call;
    while (!instances.empty() && !uretprobe_is_alive(instances.back(), ctx, regs)) instances.pop_back();
    if (chained) {
        if (instances.empty()) return uprobe_warn("handle tail call");
        orig_ret_vaddr = instances.back().orig_ret_vaddr;
    }
    instances.push_back({uprobe, regs.pc, regs.sp, orig_ret_vaddr, chained});
}

void Uprobes::handle_uretprobe_chain(const ReturnInstance& ri, PtRegs& regs) {
    ri.uprobe->register_rwsem.down_read();
    for (UprobeConsumer* uc : ri.uprobe->consumers)
        if (uc->ret_handler) uc->ret_handler(*uc, ri.func, regs);
    ri.uprobe->register_rwsem.up_read();
}

void Uprobes::handle_trampoline(PtRegs& regs) {
    KernelFrame frame(k_, KernelSymbol::handle_trampoline);
    step(UprobeStep::trampoline, regs.pc);
    TaskBase& t = *k_.current();
    if (!t.utask || t.utask->return_instances.empty()) {
        uprobe_warn("handle uretprobe, sending SIGILL.");
        return s_.force_sig(SIGILL);
    }
    auto& instances = t.utask->return_instances;
    bool valid = false;
    do {
        // The chain ends with its first instance that is not chained; below it begins the next.
        std::size_t next = instances.size();
        do --next;
        while (instances[next].chained);
        valid = next == 0 || uretprobe_is_alive(instances[next - 1], RpCheck::ret, regs);
        regs.pc = instances.back().orig_ret_vaddr;
        while (instances.size() > next) {
            const ReturnInstance ri = instances.back();
            if (valid) handle_uretprobe_chain(ri, regs);
            instances.pop_back();
        }
    } while (!valid);
    step(UprobeStep::returned, regs.pc);
}

// --- tasks ---

void Uprobes::uprobe_copy_process(TaskBase& child, bool vfork) {
    child.utask.reset();
    TaskBase& t = *k_.current();
    if (!t.utask || t.utask->return_instances.empty()) return;
    const bool same_mm = t.mm == child.mm;
    if (same_mm && !vfork) return;
    child.utask = std::make_shared<UprobeTask>();
    child.utask->return_instances = t.utask->return_instances;
    const std::shared_ptr<XolArea> area = mm_of(t).xol_area;
    if (!area) return uprobe_warn("dup xol area");
    if (same_mm) return;
    s_.task_work_add(child, [this, at = area->vaddr] {
        if (k_.current()->exiting) return;
        if (!create_xol_area(at) && !s_.fatal_signal_pending()) uprobe_warn("dup xol area");
    });
}

void Uprobes::uprobe_free_utask(TaskBase& t) {
    if (!t.utask) return;
    const std::shared_ptr<UprobeTask> utask = std::move(t.utask);
    t.utask.reset();
    xol_free_insn_slot(*utask);
}

} // namespace rkperf::ke
