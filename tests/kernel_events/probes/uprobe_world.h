// SPDX-License-Identifier: Apache-2.0
// Uprobes on a fake kernel: files, address spaces and tasks driven by hand.
#pragma once

#include "kernel_events/uprobes.h"
#include "tests/kernel_events/fake_kernel.h"

#include <array>
#include <catch2/catch.hpp>
#include <csignal>
#include <map>

namespace rkperf::ke::test {

inline constexpr std::uint32_t kNop = 0xd503201f, kRet = 0xd65f03c0, kAdd = 0x8b010000, kLdxr = 0xc85f7c23;

/// A file of instructions.
class FakeInode final : public ProbedInode {
  public:
    explicit FakeInode(std::size_t bytes = 0x3000) : data(bytes) {
        for (std::uint64_t at = 0; at + 4 <= bytes; at += 4) put(at, kNop);
    }
    const void* key() const override { return this; }
    bool regular() const override { return true; }
    bool readable_pages() const override { return readable; }
    std::uint64_t size() const override { return data.size(); }
    int read(std::uint64_t offset, void* to, std::size_t n) override {
        ++reads;
        if (read_error) return read_error;
        std::memcpy(to, data.data() + offset, n);
        return 0;
    }
    void put(std::uint64_t at, std::uint32_t insn) { std::memcpy(data.data() + at, &insn, 4); }

    std::vector<std::uint8_t> data;
    bool readable{true};
    int read_error{}, reads{};
};

class FakeMm final : public UprobeMm {
  public:
    struct Page {
        std::array<std::uint8_t, 4096> bytes{};
        bool anonymous{}, zero{};
    };
    void mmap_write_lock() override { lock.lock(); }
    void mmap_write_unlock() override {
        lock.unlock();
        if (on_unlock) on_unlock();
    }
    void for_each_mapping(const std::function<void(const UprobeVma&)>& fn) override {
        const auto copy = vmas;
        for (const auto& v : copy) fn(v);
    }
    std::optional<UprobeVma> mapping_at(std::uint64_t a) override {
        for (const auto& v : vmas)
            if (a >= v.start && a < v.end) return v;
        return std::nullopt;
    }
    int get_page(std::uint64_t a, bool write, PageView& view) override {
        if (page_error) return page_error < 0 ? page_error : 0;
        const auto v = mapping_at(a);
        if (!v || (write && !v->write)) return -EFAULT;
        Page& p = fault(a, *v);
        if (write) p.anonymous = true;
        view = {p.bytes.data(), p.anonymous, p.zero};
        return 1;
    }
    int replace_page(std::uint64_t a, std::uint32_t opcode, bool drop) override {
        ++replacements;
        if (on_replace) on_replace();
        if (replace_error) return std::exchange(replace_error, 0);
        const auto v = mapping_at(a);
        Page& p = fault(a, *v);
        p.anonymous = true;
        std::memcpy(p.bytes.data() + (a & 0xfff), &opcode, 4);
        if (drop && p.bytes == original(a, *v)) pages.erase(a & ~0xfffull);
        return 0;
    }
    void store(std::uint64_t a, const void* from, std::size_t n) override {
        std::memcpy(pages.at(a & ~0xfffull).bytes.data() + (a & 0xfff), from, n);
    }
    std::int64_t install_xol_page(std::uint64_t hint) override {
        if (xol_error) return xol_error;
        CHECK(lock.is_locked());
        return static_cast<std::int64_t>(hint ? hint : 0xffffffffe000);
    }
    void write_xol(std::uint64_t a, std::uint32_t insn) override { xol[a] = insn; }
    bool has_users() const override { return users; }

    std::array<std::uint8_t, 4096> original(std::uint64_t a, const UprobeVma& v) {
        std::array<std::uint8_t, 4096> bytes{};
        const std::uint64_t off = v.offset_of(a & ~0xfffull);
        const auto* inode = static_cast<const FakeInode*>(v.inode);
        if (inode && off < inode->data.size())
            std::memcpy(bytes.data(), inode->data.data() + off, std::min<std::size_t>(4096, inode->data.size() - off));
        return bytes;
    }
    Page& fault(std::uint64_t a, const UprobeVma& v) {
        const auto [it, fresh] = pages.try_emplace(a & ~0xfffull);
        if (fresh) it->second.bytes = original(a, v);
        return it->second;
    }
    /// What a program that reads its own code sees.
    std::uint32_t insn(std::uint64_t a) {
        std::uint32_t i = 0;
        std::memcpy(&i, fault(a, *mapping_at(a)).bytes.data() + (a & 0xfff), 4);
        return i;
    }
    std::uint64_t map(const FakeInode& inode, std::uint64_t start, std::uint64_t offset, std::uint64_t length,
                      bool write = false) {
        UprobeVma v;
        v.start = start;
        v.end = start + length;
        v.pgoff = offset >> 12;
        v.inode = &inode;
        v.write = write;
        v.may_exec = true;
        vmas.push_back(v);
        std::sort(vmas.begin(), vmas.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
        return start;
    }

    FakeMutex lock;
    std::vector<UprobeVma> vmas;
    std::map<std::uint64_t, Page> pages;
    std::map<std::uint64_t, std::uint32_t> xol;
    std::function<void()> on_unlock, on_replace;
    int replacements{}, replace_error{}, page_error{}, xol_error{};
    bool users{true};
};

class FakeServices final : public UprobeServices {
  public:
    explicit FakeServices(FakeKernel& k) : k(k) {}
    int kern_path(std::string_view, std::shared_ptr<ProbedInode>&) override { return -ENOENT; }
    std::vector<std::shared_ptr<UprobeMm>> all_mms() override { return {mms.begin(), mms.end()}; }
    void dup_mmap_lock() override { dup_lock.lock(); }
    void dup_mmap_unlock() override { dup_lock.unlock(); }
    void user_enable_single_step(TaskBase& t) override { stepping[&t] = true; }
    void user_disable_single_step(TaskBase& t) override { stepping[&t] = false; }
    void force_sig(int signo) override { signals.push_back(signo); }
    bool fatal_signal_pending() override { return fatal; }
    bool task_sigpending() override { return sigpending || fatal; }
    void set_fault_code(std::uint32_t code) override { thread_fault_code = code; }
    std::uint32_t fault_code() override { return thread_fault_code; }
    void wait_event(WaitQueue&, const std::function<bool()>& cond) override {
        ++waits;
        if (while_waiting) while_waiting();
        if (!cond()) throw std::logic_error("nobody wakes it");
    }
    void task_work_add(TaskBase& t, std::function<void()> work) override { works.emplace_back(&t, std::move(work)); }

    FakeKernel& k;
    std::vector<std::shared_ptr<FakeMm>> mms;
    FakeMutex dup_lock;
    std::map<TaskBase*, bool> stepping;
    std::vector<int> signals;
    bool fatal{}, sigpending{};
    std::uint32_t thread_fault_code{};
    int waits{};
    std::function<void()> while_waiting;
    std::vector<std::pair<TaskBase*, std::function<void()>>> works;
};

/// A consumer that counts.
struct Counter {
    UprobeConsumer uc;
    int hits{}, returns{}, result{};
    std::vector<std::uint64_t> funcs;
    bool accept{true};
    std::vector<UprobeFilterCtx> asked;
    explicit Counter(bool ret = false, bool filtered = false) {
        uc.handler = [this](UprobeConsumer&, PtRegs& r) {
            ++hits;
            if (on_hit) on_hit(r);
            return result;
        };
        if (ret)
            uc.ret_handler = [this](UprobeConsumer&, std::uint64_t func, PtRegs& r) {
                ++returns;
                funcs.push_back(func);
                if (on_return) on_return(r);
                return 0;
            };
        if (filtered)
            uc.filter = [this](UprobeConsumer&, UprobeFilterCtx ctx, MmInfo* mm) {
                asked.push_back(ctx);
                return only ? mm == only : accept;
            };
    }
    std::function<void(PtRegs&)> on_hit, on_return;
    MmInfo* only{};
};

/// One task in one address space that maps one file at 0x400000.
struct UprobeWorld {
    static constexpr std::uint64_t kText = 0x400000;
    FakeKernel k{1};
    FakeServices s{k};
    Uprobes u{k, s};
    std::shared_ptr<FakeInode> file = std::make_shared<FakeInode>();
    std::shared_ptr<FakeMm> mm = std::make_shared<FakeMm>();
    FakeTask& task{k.make_task(100, "probed")};
    PtRegs regs;

    UprobeWorld() {
        task.mm = mm.get();
        s.mms.push_back(mm);
        k.switch_to(0, &task);
    }
    ~UprobeWorld() { k.switch_to(0, nullptr); }
    void map_text() { mm->map(*file, kText, 0, 0x3000); }
    int add(Counter& c, std::uint64_t offset, std::uint64_t ref = 0) {
        return u.uprobe_register(file, offset, ref, c.uc);
    }
    void remove(Counter& c, std::uint64_t offset) { u.uprobe_unregister(*file, offset, c.uc); }
    /// The task executes the BRK at `pc`: exception and way back to user mode. False: not a uprobe's.
    bool hit(std::uint64_t pc) {
        regs.pc = pc;
        if (!u.uprobe_pre_sstep_notifier()) return false;
        CHECK(k.here().current->tif_uprobe);
        u.uprobe_notify_resume(regs);
        return true;
    }
    /// The instruction in the slot has executed.
    void step() {
        regs.pc += 4;
        REQUIRE(u.uprobe_post_sstep_notifier());
        u.uprobe_notify_resume(regs);
    }
    bool said(const std::string& text) const {
        return std::any_of(k.log.begin(), k.log.end(), [&](const auto& l) { return l.find(text) != l.npos; });
    }
    bool stepping() { return s.stepping[&task]; }
};

} // namespace rkperf::ke::test
