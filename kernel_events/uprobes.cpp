// SPDX-License-Identifier: Apache-2.0
// Registration of uprobes and their breakpoints in address spaces (UPR-001 to 034). Hits are in uprobe_hit.cpp.
#include "kernel_events/uprobes.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rkperf::ke {

namespace {
class MmapLock {
  public:
    explicit MmapLock(UprobeMm& mm) : mm_(mm) { mm_.mmap_write_lock(); }
    ~MmapLock() { mm_.mmap_write_unlock(); }
    MmapLock(const MmapLock&) = delete;
    MmapLock& operator=(const MmapLock&) = delete;

  private:
    UprobeMm& mm_;
};

std::uint32_t insn_at(const std::uint8_t* page, std::uint64_t address) {
    std::uint32_t insn;
    std::memcpy(&insn, page + (address & 0xfff), sizeof insn);
    return insn;
}
} // namespace

// --- RwSemaphore ---

void RwSemaphore::init(Kernel& kernel, UprobeServices& services) {
    services_ = &services;
    wq_ = kernel.make_waitqueue();
}

void RwSemaphore::down_read() {
    if (writer_ || writers_waiting_) services_->wait_event(*wq_, [this] { return !writer_ && !writers_waiting_; });
    ++readers_;
}

void RwSemaphore::up_read() {
    if (--readers_ == 0 && writers_waiting_) wq_->wake_up_all();
}

void RwSemaphore::down_write() {
    if (readers_ || writer_) {
        ++writers_waiting_;
        services_->wait_event(*wq_, [this] { return !readers_ && !writer_; });
        --writers_waiting_;
    }
    writer_ = true;
}

void RwSemaphore::up_write() {
    writer_ = false;
    wq_->wake_up_all();
}

// --- the tree ---

std::shared_ptr<Uprobe> Uprobes::find_uprobe(const void* inode, std::uint64_t offset) {
    const auto it = tree_.find({inode, offset});
    return it == tree_.end() ? nullptr : it->second;
}

std::shared_ptr<Uprobe> Uprobes::alloc_uprobe(const std::shared_ptr<ProbedInode>& inode, std::uint64_t offset,
                                              std::uint64_t ref_ctr_offset) {
    if (std::shared_ptr<Uprobe> found = find_uprobe(inode->key(), offset)) {
        if (found->ref_ctr_offset == ref_ctr_offset) return found;
        k_.pr_info("ref_ctr_offset mismatch. offset 0x" + std::to_string(offset));
        return nullptr;
    }
    auto uprobe = std::make_shared<Uprobe>();
    uprobe->inode = inode;
    uprobe->offset = offset;
    uprobe->ref_ctr_offset = ref_ctr_offset;
    uprobe->register_rwsem.init(k_, s_);
    uprobe->in_tree = true;
    tree_[{inode->key(), offset}] = uprobe;
    return uprobe;
}

void Uprobes::delete_uprobe(Uprobe& uprobe) {
    delayed_uprobe_remove(&uprobe, nullptr);
    uprobe.in_tree = false;
    tree_.erase({uprobe.inode->key(), uprobe.offset});
}

bool Uprobes::valid_vma(const UprobeVma& v, bool is_register) {
    return v.inode && v.may_exec && !v.may_share && !(is_register && v.write);
}

bool Uprobes::vma_has_uprobes(const UprobeVma& v, std::uint64_t start, std::uint64_t end) const {
    const std::uint64_t first = v.offset_of(start);
    const auto it = tree_.lower_bound({v.inode, first});
    return it != tree_.end() && it->first.first == v.inode && it->first.second < first + (end - start);
}

bool Uprobes::filter_chain(Uprobe& uprobe, UprobeFilterCtx ctx, UprobeMm& mm) {
    return std::any_of(uprobe.consumers.begin(), uprobe.consumers.end(),
                       [&](UprobeConsumer* uc) { return !uc->filter || uc->filter(*uc, ctx, &mm); });
}

// --- registration ---

int Uprobes::register_for_each_vma(Uprobe& uprobe, UprobeConsumer* uc) {
    const bool is_register = uc != nullptr;
    struct Place {
        std::shared_ptr<UprobeMm> mm;
        std::uint64_t vaddr;
    };
    s_.dup_mmap_lock();
    std::vector<Place> places;
    for (const std::shared_ptr<UprobeMm>& mm : s_.all_mms())
        mm->for_each_mapping([&](const UprobeVma& v) {
            if (!valid_vma(v, is_register) || v.inode != uprobe.inode->key()) return;
            const std::uint64_t vaddr = v.address_of(uprobe.offset);
            if (uprobe.offset >= v.pgoff << 12 && vaddr < v.end) places.push_back({mm, vaddr});
        });
    int err = 0;
    for (const Place& p : places) {
        if (err && is_register) break;
        const MmapLock lock(*p.mm);
        // It may have changed before the lock was ours.
        const std::optional<UprobeVma> v = p.mm->mapping_at(p.vaddr);
        if (!v || !valid_vma(*v, is_register) || v->inode != uprobe.inode->key() ||
            v->offset_of(p.vaddr) != uprobe.offset)
            continue;
        if (is_register) {
            if (!uc->filter || uc->filter(*uc, UprobeFilterCtx::REGISTER, p.mm.get()))
                err = install_breakpoint(uprobe, *p.mm, p.vaddr);
        } else if (p.mm->mmf_has_uprobes && !filter_chain(uprobe, UprobeFilterCtx::UNREGISTER, *p.mm)) {
            err |= remove_breakpoint(uprobe, *p.mm, p.vaddr);
        }
    }
    s_.dup_mmap_unlock();
    return err;
}

void Uprobes::unregister(Uprobe& uprobe, UprobeConsumer& uc) {
    const auto it = std::find(uprobe.consumers.begin(), uprobe.consumers.end(), &uc);
    if (it == uprobe.consumers.end()) {
        k_.pr_info("uprobe: unregistering a consumer that is not registered");
        return;
    }
    uprobe.consumers.erase(it);
    const int err = register_for_each_vma(uprobe, nullptr);
    if (uprobe.consumers.empty() && !err) delete_uprobe(uprobe);
}

int Uprobes::uprobe_register(const std::shared_ptr<ProbedInode>& inode, std::uint64_t offset,
                             std::uint64_t ref_ctr_offset, UprobeConsumer& uc) {
    if (!uc.handler && !uc.ret_handler) return -EINVAL;
    if (!inode->readable_pages()) return -EIO;
    // a loff_t: an offset with bit 63 set is before the file's end
    if (static_cast<std::int64_t>(offset) > static_cast<std::int64_t>(inode->size())) return -EINVAL;
    if (offset % UPROBE_SWBP_INSN_SIZE) return -EINVAL;
    if (ref_ctr_offset % sizeof(std::uint16_t)) return -EINVAL;
    KernelFrame frame(k_, KernelSymbol::__uprobe_register);
    for (;;) {
        const std::shared_ptr<Uprobe> uprobe = alloc_uprobe(inode, offset, ref_ctr_offset);
        if (!uprobe) return -EINVAL;
        uprobe->register_rwsem.down_write();
        int ret = -EAGAIN;
        if (uprobe->in_tree) {
            uprobe->consumers.push_front(&uc);
            ret = register_for_each_vma(*uprobe, &uc);
            if (ret) unregister(*uprobe, uc);
        }
        uprobe->register_rwsem.up_write();
        if (ret != -EAGAIN) return ret;
    }
}

void Uprobes::uprobe_unregister(const ProbedInode& inode, std::uint64_t offset, UprobeConsumer& uc) {
    KernelFrame frame(k_, KernelSymbol::uprobe_unregister);
    const std::shared_ptr<Uprobe> uprobe = find_uprobe(inode.key(), offset);
    if (!uprobe) {
        k_.pr_info("uprobe: unregistering a probe that does not exist");
        return;
    }
    uprobe->register_rwsem.down_write();
    unregister(*uprobe, uc);
    uprobe->register_rwsem.up_write();
}

int Uprobes::uprobe_apply(const ProbedInode& inode, std::uint64_t offset, UprobeConsumer& uc, bool add) {
    const std::shared_ptr<Uprobe> uprobe = find_uprobe(inode.key(), offset);
    if (!uprobe) return -ENOENT;
    KernelFrame frame(k_, KernelSymbol::uprobe_apply);
    uprobe->register_rwsem.down_write();
    const bool found = std::find(uprobe->consumers.begin(), uprobe->consumers.end(), &uc) != uprobe->consumers.end();
    const int ret = found ? register_for_each_vma(*uprobe, add ? &uc : nullptr) : -ENOENT;
    uprobe->register_rwsem.up_write();
    return ret;
}

// --- breakpoints ---

int Uprobes::prepare_uprobe(Uprobe& uprobe, std::uint64_t vaddr) {
    if (uprobe.copy_insn) return 0;
    if (uprobe.offset >= uprobe.inode->size()) return -EIO;
    std::uint32_t insn = 0;
    if (const int e = uprobe.inode->read(uprobe.offset, &insn, sizeof insn)) return e;
    if (insn == UPROBE_SWBP_INSN) return -ENOTSUPP_;
    if (vaddr % UPROBE_SWBP_INSN_SIZE) return -EINVAL;
    const ProbeInsn kind = arm_probe_decode_insn(insn);
    if (kind == ProbeInsn::INSN_REJECTED) return -EINVAL;
    uprobe.insn = insn;
    uprobe.simulate = kind == ProbeInsn::INSN_GOOD_NO_SLOT;
    uprobe.copy_insn = true;
    return 0;
}

int Uprobes::install_breakpoint(Uprobe& uprobe, UprobeMm& mm, std::uint64_t vaddr) {
    if (const int e = prepare_uprobe(uprobe, vaddr)) return e;
    const bool first = !mm.mmf_has_uprobes;
    mm.mmf_has_uprobes = true; // a hit may come as soon as the opcode is there
    const int e = uprobe_write_opcode(uprobe, mm, vaddr, UPROBE_SWBP_INSN);
    if (!e)
        mm.mmf_recalc_uprobes = false;
    else if (first)
        mm.mmf_has_uprobes = false;
    return e;
}

int Uprobes::remove_breakpoint(Uprobe& uprobe, UprobeMm& mm, std::uint64_t vaddr) {
    mm.mmf_recalc_uprobes = true;
    return uprobe_write_opcode(uprobe, mm, vaddr, uprobe.insn);
}

int Uprobes::uprobe_write_opcode(Uprobe& uprobe, UprobeMm& mm, std::uint64_t vaddr, std::uint32_t opcode) {
    KernelFrame frame(k_, KernelSymbol::uprobe_write_opcode);
    const bool is_register = opcode == UPROBE_SWBP_INSN;
    bool counted = false;
    int ret = 0;
    do {
        UprobeMm::PageView page;
        ret = mm.get_page(vaddr, false, page);
        if (ret <= 0) break;
        ret = 0;
        // Someone else has put or taken the breakpoint.
        if ((insn_at(page.bytes, vaddr) == UPROBE_SWBP_INSN) == is_register) break;
        if (page.zero) {
            ret = -EINVAL;
            break;
        }
        if (!counted && uprobe.ref_ctr_offset) {
            ret = update_ref_ctr(uprobe, mm, is_register ? 1 : -1);
            if (ret) break;
            counted = true;
        }
        if (!is_register && !page.anonymous) break;
        ret = mm.replace_page(vaddr, opcode, !is_register);
    } while (ret == -EAGAIN);
    if (ret && is_register && counted) update_ref_ctr(uprobe, mm, -1);
    return ret;
}

void Uprobes::unapply_uprobe(Uprobe& uprobe, UprobeMm& mm) {
    const MmapLock lock(mm);
    std::vector<std::uint64_t> places;
    mm.for_each_mapping([&](const UprobeVma& v) {
        if (!valid_vma(v, false) || v.inode != uprobe.inode->key()) return;
        const std::uint64_t first = v.pgoff << 12;
        if (uprobe.offset >= first && uprobe.offset < first + (v.end - v.start))
            places.push_back(v.address_of(uprobe.offset));
    });
    for (const std::uint64_t vaddr : places) remove_breakpoint(uprobe, mm, vaddr);
}

// --- reference counters ---

bool Uprobes::valid_ref_ctr_vma(const Uprobe& uprobe, const UprobeVma& v) {
    if (!uprobe.ref_ctr_offset || v.inode != uprobe.inode->key() || !v.write || v.shared) return false;
    const std::uint64_t vaddr = v.address_of(uprobe.ref_ctr_offset);
    return v.start <= vaddr && vaddr < v.end;
}

int Uprobes::write_ref_ctr(UprobeMm& mm, std::uint64_t vaddr, int d) {
    UprobeMm::PageView page;
    const int got = mm.get_page(vaddr, true, page);
    if (got <= 0) return got ? got : -EBUSY;
    std::int16_t value;
    std::memcpy(&value, page.bytes + (vaddr & 0xfff), sizeof value);
    if (value + d < 0) {
        k_.pr_info("ref_ctr going negative. curr val: " + std::to_string(value) + ", delta: " + std::to_string(d));
        return -EINVAL;
    }
    value = static_cast<std::int16_t>(value + d);
    mm.store(vaddr, &value, sizeof value);
    return 0;
}

int Uprobes::update_ref_ctr(Uprobe& uprobe, UprobeMm& mm, int d) {
    std::optional<std::uint64_t> vaddr;
    mm.for_each_mapping([&](const UprobeVma& v) {
        if (!vaddr && valid_ref_ctr_vma(uprobe, v)) vaddr = v.address_of(uprobe.ref_ctr_offset);
    });
    int ret = 0;
    if (vaddr) {
        ret = write_ref_ctr(mm, *vaddr, d);
        if (ret) k_.pr_info(std::string("ref_ctr ").append(d > 0 ? "increment" : "decrement").append(" failed"));
        if (d > 0) return ret;
    }
    if (d < 0) {
        delayed_uprobe_remove(&uprobe, &mm);
        return ret;
    }
    const bool known = std::any_of(delayed_.begin(), delayed_.end(),
                                   [&](const Delayed& e) { return e.uprobe == &uprobe && e.mm == &mm; });
    if (!known) delayed_.push_front({&uprobe, &mm});
    return ret;
}

void Uprobes::delayed_uprobe_remove(const Uprobe* uprobe, const UprobeMm* mm) {
    delayed_.remove_if([&](const Delayed& e) { return (!uprobe || e.uprobe == uprobe) && (!mm || e.mm == mm); });
}

void Uprobes::delayed_ref_ctr_inc(UprobeMm& mm, const UprobeVma& v) {
    std::list<Delayed> due;
    for (auto it = delayed_.begin(); it != delayed_.end();) {
        const auto next = std::next(it);
        if (it->mm == &mm && valid_ref_ctr_vma(*it->uprobe, v)) due.splice(due.end(), delayed_, it);
        it = next;
    }
    for (const Delayed& e : due)
        if (write_ref_ctr(mm, v.address_of(e.uprobe->ref_ctr_offset), 1)) k_.pr_info("ref_ctr increment failed");
}

// --- address spaces ---

void Uprobes::uprobe_mmap(UprobeMm& mm, const UprobeVma& v) {
    if (no_uprobe_events()) return;
    if (v.inode && v.write && !v.shared && mm.mmf_has_uprobes) delayed_ref_ctr_inc(mm, v);
    if (!valid_vma(v, true)) return;
    std::vector<std::shared_ptr<Uprobe>> list;
    const std::uint64_t first = v.pgoff << 12, last = first + (v.end - v.start);
    for (auto it = tree_.lower_bound({v.inode, first});
         it != tree_.end() && it->first.first == v.inode && it->first.second < last; ++it)
        list.push_back(it->second);
    for (const std::shared_ptr<Uprobe>& uprobe : list)
        if (!s_.fatal_signal_pending() && filter_chain(*uprobe, UprobeFilterCtx::MMAP, mm))
            install_breakpoint(*uprobe, mm, v.address_of(uprobe->offset)); // mmap succeeds whatever comes of it
}

void Uprobes::uprobe_munmap(UprobeMm& mm, const UprobeVma& v, std::uint64_t start, std::uint64_t end) {
    if (no_uprobe_events() || !valid_vma(v, false)) return;
    if (!mm.has_users() || !mm.mmf_has_uprobes || mm.mmf_recalc_uprobes) return;
    if (vma_has_uprobes(v, start, end)) mm.mmf_recalc_uprobes = true;
}

void Uprobes::uprobe_dup_mmap(const UprobeMm& old_mm, UprobeMm& new_mm) {
    // The child got the pages with the breakpoints, but not all of the mappings.
    if (old_mm.mmf_has_uprobes) new_mm.mmf_has_uprobes = new_mm.mmf_recalc_uprobes = true;
}

void Uprobes::uprobe_clear_state(UprobeMm& mm) {
    delayed_uprobe_remove(nullptr, &mm);
    mm.xol_area.reset();
}

} // namespace rkperf::ke
