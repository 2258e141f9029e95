// SPDX-License-Identifier: Apache-2.0
// Registration, breakpoints in address spaces, reference counters, mmap, munmap and fork.
#include "tests/kernel_events/probes/uprobe_world.h"

using namespace rkperf::ke;
using namespace rkperf::ke::test;

namespace {
constexpr std::uint64_t kText = UprobeWorld::kText;
}

TEST_CASE("A registration is checked in a fixed order", "[UPR-001]") {
    UprobeWorld w;
    Counter c;
    UprobeConsumer nobody;
    w.file->readable = false;
    CHECK(w.u.uprobe_register(w.file, 1 << 20, 1, nobody) == -EINVAL);
    CHECK(w.add(c, 1 << 20, 1) == -EIO);
    w.file->readable = true;
    CHECK(w.add(c, w.file->size() + 4) == -EINVAL);
    CHECK(w.add(c, 2) == -EINVAL);
    CHECK(w.add(c, 4, 1) == -EINVAL);
    CHECK(w.u.no_uprobe_events());
    CHECK(w.add(c, w.file->size()) == 0); // the end itself passes
    CHECK(w.add(c, 4, 2) == 0);
}

TEST_CASE("An instruction of a file has one probe, with one reference counter", "[UPR-002]") {
    UprobeWorld w;
    Counter a, b, c;
    CHECK(w.add(a, 8, 0x100) == 0);
    CHECK(w.add(b, 8, 0x100) == 0);
    CHECK(w.u.count() == 1);
    CHECK(w.add(c, 8) == -EINVAL);
    CHECK(w.said("ref_ctr_offset mismatch"));
    CHECK(w.add(c, 8, 0x102) == -EINVAL);
    CHECK(w.add(c, 12) == 0);
    CHECK(w.u.count() == 2);
}

TEST_CASE("Handlers run newest first, and a consumer is there before its breakpoints are", "[UPR-003]") {
    UprobeWorld w;
    w.map_text();
    Counter a, b;
    std::string order;
    a.on_hit = [&](PtRegs&) { order += 'a'; };
    b.on_hit = [&](PtRegs&) { order += 'b'; };
    FakeMm other; // maps the file while the first breakpoint is being installed
    other.map(*w.file, 0x700000, 0, 0x1000);
    w.mm->on_replace = [&] { w.u.uprobe_mmap(other, other.vmas[0]); };
    REQUIRE(w.add(a, 8) == 0);
    CHECK(other.insn(0x700008) == UPROBE_SWBP_INSN);
    w.mm->on_replace = nullptr;
    w.hit(kText + 8);
    CHECK(order == "a");
    w.step();
    REQUIRE(w.add(b, 8) == 0);
    w.hit(kText + 8);
    CHECK(order == "aba");
}

TEST_CASE("Every address space is visited under its lock, and only the new consumer is asked", "[UPR-004]") {
    UprobeWorld w;
    w.map_text();
    auto other = std::make_shared<FakeMm>();
    other->map(*w.file, 0x700000, 0x1000, 0x1000);
    w.s.mms.push_back(other);
    Counter first, second(false, true);
    first.accept = false;
    REQUIRE(w.add(first, 0x1008) == 0);
    CHECK(w.mm->insn(kText + 0x1008) == UPROBE_SWBP_INSN);
    CHECK(other->insn(0x700008) == UPROBE_SWBP_INSN);
    w.remove(first, 0x1008);
    bool locked = false;
    other->on_replace = [&] { locked = other->lock.is_locked(); };
    second.only = other.get();
    REQUIRE(w.add(second, 0x1008) == 0);
    CHECK(locked);
    CHECK(second.asked == std::vector{UprobeFilterCtx::REGISTER, UprobeFilterCtx::REGISTER});
    CHECK(w.mm->insn(kText + 0x1008) == kNop);
    CHECK(other->insn(0x700008) == UPROBE_SWBP_INSN);
}

TEST_CASE("The mapping is looked at again once the lock is held", "[UPR-004]") {
    UprobeWorld w;
    w.map_text();
    auto other = std::make_shared<FakeMm>();
    other->map(*w.file, 0x700000, 0, 0x1000);
    w.s.mms.push_back(other);
    w.mm->on_unlock = [&] { other->vmas.clear(); };
    Counter c;
    CHECK(w.add(c, 8) == 0);
    CHECK(other->replacements == 0);
}

TEST_CASE("The first failure undoes the whole registration", "[UPR-005]") {
    UprobeWorld w;
    w.map_text();
    auto other = std::make_shared<FakeMm>(), third = std::make_shared<FakeMm>();
    other->map(*w.file, 0x700000, 0, 0x1000);
    third->map(*w.file, 0x700000, 0, 0x1000);
    w.s.mms.push_back(other);
    w.s.mms.push_back(third);
    other->replace_error = -ENOMEM;
    Counter c;
    CHECK(w.add(c, 8) == -ENOMEM);
    CHECK(w.mm->insn(kText + 8) == kNop);
    CHECK(third->replacements == 0);
    CHECK(w.u.no_uprobe_events());
    CHECK(w.add(c, 8) == 0);
}

TEST_CASE("Without a mapping any instruction may be registered; mapping the file ignores the error",
          "[UPR-006][UPR-026]") {
    UprobeWorld w;
    w.file->put(8, kLdxr);
    Counter c;
    CHECK(w.add(c, 8) == 0);
    w.map_text();
    w.u.uprobe_mmap(*w.mm, w.mm->vmas[0]);
    CHECK(w.mm->insn(kText + 8) == kLdxr);
    CHECK_FALSE(w.mm->mmf_has_uprobes);
    Counter later;
    CHECK(w.add(later, 8) == -EINVAL);
}

TEST_CASE("A breakpoint goes when the last consumer that wants the address space does", "[UPR-007]") {
    UprobeWorld w;
    w.map_text();
    Counter a(false, true), b(false, true);
    REQUIRE(w.add(a, 8) == 0);
    REQUIRE(w.add(b, 8) == 0);
    w.remove(a, 8);
    CHECK(w.mm->insn(kText + 8) == UPROBE_SWBP_INSN);
    CHECK(b.asked.back() == UprobeFilterCtx::UNREGISTER);
    CHECK(w.u.count() == 1);
    w.remove(b, 8);
    CHECK(w.mm->insn(kText + 8) == kNop);
    CHECK(w.u.no_uprobe_events());
    CHECK_FALSE(w.mm->pages.contains(kText + 0x1000));
}

TEST_CASE("A probe whose breakpoint could not be removed stays without consumers", "[UPR-007]") {
    UprobeWorld w;
    w.map_text();
    Counter a;
    REQUIRE(w.add(a, 8) == 0);
    w.mm->replace_error = -ENOMEM;
    w.remove(a, 8);
    CHECK(w.u.count() == 1);
    CHECK(w.hit(kText + 8)); // nobody is told, the instruction runs
    CHECK(a.hits == 0);
    CHECK(w.stepping());
}

TEST_CASE("Consumers change their mind with uprobe_apply", "[UPR-008]") {
    UprobeWorld w;
    w.map_text();
    Counter a(false, true), stranger;
    CHECK(w.u.uprobe_apply(*w.file, 8, a.uc, true) == -ENOENT);
    a.accept = false;
    REQUIRE(w.add(a, 8) == 0);
    CHECK(w.mm->insn(kText + 8) == kNop);
    CHECK(w.u.uprobe_apply(*w.file, 8, stranger.uc, true) == -ENOENT);
    a.accept = true;
    CHECK(w.u.uprobe_apply(*w.file, 8, a.uc, true) == 0);
    CHECK(w.mm->insn(kText + 8) == UPROBE_SWBP_INSN);
    a.accept = false;
    CHECK(w.u.uprobe_apply(*w.file, 8, a.uc, false) == 0);
    CHECK(w.mm->insn(kText + 8) == kNop);
}

TEST_CASE("No address space is duplicated while breakpoints are installed", "[UPR-009]") {
    UprobeWorld w;
    w.map_text();
    bool locked = false;
    w.mm->on_replace = [&] { locked = w.s.dup_lock.is_locked(); };
    Counter a;
    REQUIRE(w.add(a, 8) == 0);
    CHECK(locked);
    locked = false;
    w.remove(a, 8);
    CHECK(locked);
    CHECK_FALSE(w.s.dup_lock.is_locked());
}

TEST_CASE("Unregistering what is not there only warns", "[UPR-010]") {
    UprobeWorld w;
    Counter a, b;
    w.remove(a, 8);
    CHECK(w.said("does not exist"));
    REQUIRE(w.add(a, 8) == 0);
    w.remove(b, 8);
    CHECK(w.said("not registered"));
    CHECK(w.u.count() == 1);
}

TEST_CASE("Which mappings hold breakpoints", "[UPR-011][UPR-012]") {
    UprobeWorld w;
    struct Case {
        const char* name;
        bool write, may_exec, may_share, file, expected;
    };
    const Case cases[] = {
        {"private, executable", false, true, false, true, true},
        {"read only, of an executable file", false, true, false, true, true},
        {"writable", true, true, false, true, false},
        {"never to be executed", false, false, false, true, false},
        {"shared", false, true, true, true, false},
        {"anonymous", false, true, false, false, false},
    };
    std::uint64_t at = 0x500000;
    for (const Case& c : cases) {
        UprobeVma v;
        v.start = at;
        v.end = at + 0x1000;
        v.pgoff = 1;
        v.inode = c.file ? w.file.get() : nullptr;
        v.write = c.write;
        v.may_exec = c.may_exec;
        v.may_share = c.may_share;
        w.mm->vmas.push_back(v);
        at += 0x10000;
    }
    Counter probe;
    REQUIRE(w.add(probe, 0x1010) == 0);
    at = 0x500000;
    for (const Case& c : cases) {
        INFO(c.name);
        // vm_start + offset - pgoff * 4096
        CHECK((w.mm->pages.contains(at) && w.mm->insn(at + 0x10) == UPROBE_SWBP_INSN) == c.expected);
        at += 0x10000;
    }
    // A mapping that became writable later loses its breakpoint all the same, and a hit there is known.
    w.mm->vmas[0].write = true;
    CHECK(w.hit(0x500010));
    CHECK(probe.hits == 1);
    w.step();
    w.remove(probe, 0x1010);
    CHECK(w.mm->insn(0x500010) == kNop);
}

TEST_CASE("The instruction is read and judged once, at the first installation", "[UPR-013]") {
    UprobeWorld w;
    w.map_text();
    Counter c;
    SECTION("behind the end of the file") {
        w.file->data.resize(0x2800);
        CHECK(w.add(c, 0x2800) == -EIO);
    }
    SECTION("a failing read") {
        w.file->read_error = -ENOMEM;
        CHECK(w.add(c, 8) == -ENOMEM);
        w.file->read_error = 0;
        CHECK(w.add(c, 8) == 0); // tried again
    }
    SECTION("a uprobe's own breakpoint") {
        w.file->put(8, UPROBE_SWBP_INSN);
        CHECK(w.add(c, 8) == -524);
    }
    SECTION("an instruction that cannot be probed") {
        w.file->put(8, kLdxr);
        CHECK(w.add(c, 8) == -EINVAL);
    }
    SECTION("once for all mappings") {
        auto other = std::make_shared<FakeMm>();
        other->map(*w.file, 0x700000, 0, 0x1000);
        w.s.mms.push_back(other);
        REQUIRE(w.add(c, 8) == 0);
        CHECK(w.file->reads == 1);
    }
}

TEST_CASE("The flag of an address space with probes is there before the breakpoint", "[UPR-014]") {
    UprobeWorld w;
    w.map_text();
    bool flag = false;
    w.mm->on_replace = [&] { flag = w.mm->mmf_has_uprobes; };
    w.mm->replace_error = -ENOMEM;
    Counter a, b;
    CHECK(w.add(a, 8) == -ENOMEM);
    CHECK(flag);
    CHECK_FALSE(w.mm->mmf_has_uprobes); // it would have been the first
    w.mm->mmf_recalc_uprobes = true;
    CHECK(w.add(a, 8) == 0);
    CHECK(w.mm->mmf_has_uprobes);
    CHECK_FALSE(w.mm->mmf_recalc_uprobes);
    w.mm->replace_error = -ENOMEM;
    CHECK(w.add(b, 12) == -ENOMEM);
    CHECK(w.mm->mmf_has_uprobes);
}

TEST_CASE("An opcode is written only where something is to change", "[UPR-015][UPR-020]") {
    UprobeWorld w;
    w.map_text();
    Counter c;
    const auto poke = [&](std::uint32_t insn) {
        auto& p = w.mm->fault(kText, w.mm->vmas[0]);
        p.anonymous = true;
        std::memcpy(p.bytes.data() + 8, &insn, 4);
    };
    SECTION("the breakpoint is there already") {
        poke(UPROBE_SWBP_INSN);
        CHECK(w.add(c, 8) == 0);
        CHECK(w.mm->replacements == 0);
    }
    SECTION("somebody has put something else in its place") {
        REQUIRE(w.add(c, 8) == 0);
        poke(0xd4200000); // a debugger's BRK #0 is no uprobe's
        w.remove(c, 8);
        CHECK(w.mm->insn(kText + 8) == 0xd4200000);
    }
    SECTION("a debugger's BRK is overwritten") {
        poke(0xd4200000);
        CHECK(w.add(c, 8) == 0);
        CHECK(w.mm->insn(kText + 8) == UPROBE_SWBP_INSN);
    }
    SECTION("no page") {
        w.mm->page_error = 1;
        CHECK(w.add(c, 8) == 0);
        CHECK(w.mm->replacements == 0);
    }
    SECTION("a page that cannot be had") {
        w.mm->page_error = -EFAULT;
        CHECK(w.add(c, 8) == -EFAULT);
    }
    SECTION("the page of zeroes") {
        w.mm->fault(kText, w.mm->vmas[0]).zero = true;
        CHECK(w.add(c, 8) == -EINVAL);
    }
}

TEST_CASE("The page is replaced by a private copy; a change on the way starts anew", "[UPR-016]") {
    UprobeWorld w;
    w.map_text();
    Counter c;
    w.mm->replace_error = -EAGAIN;
    REQUIRE(w.add(c, 8) == 0);
    CHECK(w.mm->replacements == 2);
    std::uint32_t in_file = 0;
    w.file->read(8, &in_file, 4);
    CHECK(in_file == kNop);
    CHECK(w.mm->pages.at(kText).anonymous);
}

TEST_CASE("Removal drops the copy if it is what the file holds", "[UPR-017]") {
    UprobeWorld w;
    w.map_text();
    Counter a, b;
    REQUIRE(w.add(a, 8) == 0);
    REQUIRE(w.add(b, 12) == 0);
    w.remove(a, 8);
    CHECK(w.mm->pages.at(kText).anonymous); // the other breakpoint is still in it
    CHECK(w.mm->insn(kText + 8) == kNop);
    w.remove(b, 12);
    CHECK_FALSE(w.mm->pages.contains(kText));
    REQUIRE(w.add(a, 8) == 0);
    w.mm->pages.erase(kText); // as madvise(MADV_DONTNEED) does
    const int before = w.mm->replacements;
    auto& p = w.mm->fault(kText, w.mm->vmas[0]);
    std::memcpy(p.bytes.data() + 8, &UPROBE_SWBP_INSN, 4); // a file that has it: never modified, nothing to do
    w.remove(a, 8);
    CHECK(w.mm->replacements == before);
}

TEST_CASE("Removal asks for a new look at the address space", "[UPR-018]") {
    UprobeWorld w;
    w.map_text();
    Counter a;
    REQUIRE(w.add(a, 8) == 0);
    w.remove(a, 8);
    CHECK(w.mm->mmf_recalc_uprobes);
    CHECK(w.mm->mmf_has_uprobes);
}

// --- reference counters ---

namespace {
struct Semaphore : UprobeWorld {
    static constexpr std::uint64_t kData = 0x600000, kCounter = 0x2010;
    Semaphore() {
        map_text();
        put(0);
    }
    void map_data() { mm->map(*file, kData, 0x2000, 0x1000, true); }
    void put(std::int16_t v) { std::memcpy(file->data.data() + kCounter, &v, 2); }
    std::int16_t value() {
        std::int16_t v;
        std::memcpy(&v, mm->fault(kData, *mm->mapping_at(kData)).bytes.data() + 0x10, 2);
        return v;
    }
};
} // namespace

TEST_CASE("A reference counter goes with its breakpoint, before it", "[UPR-021]") {
    Semaphore w;
    w.map_data();
    Counter a, b;
    int seen = -1;
    w.mm->on_replace = [&] { seen = w.value(); };
    REQUIRE(w.add(a, 8, Semaphore::kCounter) == 0);
    CHECK(seen == 1);
    CHECK(w.value() == 1);
    REQUIRE(w.add(b, 8, Semaphore::kCounter) == 0);
    CHECK(w.value() == 1);
    w.remove(a, 8);
    CHECK(w.value() == 1);
    w.remove(b, 8);
    CHECK(w.value() == 0);
    w.mm->on_replace = nullptr;
    w.mm->replace_error = -ENOMEM;
    CHECK(w.add(a, 8, Semaphore::kCounter) == -ENOMEM);
    CHECK(w.value() == 0); // taken back
}

TEST_CASE("The counter is in the first private writable mapping of its place in the file", "[UPR-022]") {
    Semaphore w;
    w.mm->map(*w.file, 0x500000, 0x2000, 0x1000);
    UprobeVma shared;
    shared.start = 0x580000;
    shared.end = 0x581000;
    shared.pgoff = 2;
    shared.inode = w.file.get();
    shared.write = shared.shared = shared.may_share = true;
    w.mm->vmas.push_back(shared);
    w.map_data();
    w.mm->map(*w.file, 0x680000, 0x2000, 0x1000, true);
    Counter a;
    REQUIRE(w.add(a, 8, Semaphore::kCounter) == 0);
    CHECK(w.value() == 1);
    CHECK_FALSE(w.mm->pages.contains(0x500000));
    CHECK_FALSE(w.mm->pages.contains(0x580000));
    CHECK_FALSE(w.mm->pages.contains(0x680000));
}

TEST_CASE("A counter never goes below zero", "[UPR-023]") {
    Semaphore w;
    w.map_data();
    Counter a;
    REQUIRE(w.add(a, 8, Semaphore::kCounter) == 0);
    const std::int16_t zero = 0;
    w.mm->store(Semaphore::kData + 0x10, &zero, 2); // the program has changed it
    w.remove(a, 8);
    CHECK(w.said("going negative"));
    CHECK(w.value() == 0);
    CHECK(w.mm->insn(kText + 8) == UPROBE_SWBP_INSN);
}

TEST_CASE("A counter that is not mapped yet is counted when it is", "[UPR-024]") {
    Semaphore w;
    Counter a, b;
    REQUIRE(w.add(a, 8, Semaphore::kCounter) == 0);
    CHECK(w.mm->insn(kText + 8) == UPROBE_SWBP_INSN);
    w.map_data();
    const UprobeVma data = *w.mm->mapping_at(Semaphore::kData);
    w.u.uprobe_mmap(*w.mm, data);
    CHECK(w.value() == 1);
    w.u.uprobe_mmap(*w.mm, data); // only once
    CHECK(w.value() == 1);
    w.remove(a, 8);
    CHECK(w.value() == 0);

    std::erase_if(w.mm->vmas, [](const UprobeVma& v) { return v.start == Semaphore::kData; });
    REQUIRE(w.add(b, 8, Semaphore::kCounter) == 0);
    w.remove(b, 8); // what was waiting goes, too
    w.mm->vmas.push_back(data);
    w.mm->mmf_has_uprobes = true;
    Counter keep;
    REQUIRE(w.add(keep, 0x1000) == 0);
    w.u.uprobe_mmap(*w.mm, data);
    CHECK(w.value() == 0);
}

TEST_CASE("What waits for a counter's mapping goes with its address space", "[UPR-025]") {
    Semaphore w;
    Counter a;
    REQUIRE(w.add(a, 8, Semaphore::kCounter) == 0);
    w.u.uprobe_clear_state(*w.mm);
    w.map_data();
    w.u.uprobe_mmap(*w.mm, *w.mm->mapping_at(Semaphore::kData));
    CHECK(w.value() == 0);
}

// --- mmap, munmap, fork ---

TEST_CASE("A new mapping gets the breakpoints of the probes inside it that anybody wants", "[UPR-026]") {
    UprobeWorld w;
    Counter inside(false, true), refuses(false, true), outside, last;
    refuses.accept = false;
    REQUIRE(w.add(inside, 0x1008) == 0);
    REQUIRE(w.add(refuses, 0x1008) == 0);
    REQUIRE(w.add(outside, 0x2000) == 0);
    REQUIRE(w.add(last, 0x1ffc) == 0);
    w.mm->map(*w.file, kText, 0x1000, 0x1000);
    const UprobeVma v = w.mm->vmas[0];
    w.s.fatal = true;
    w.u.uprobe_mmap(*w.mm, v);
    CHECK(w.mm->replacements == 0);
    w.s.fatal = false;
    w.u.uprobe_mmap(*w.mm, v);
    CHECK(w.mm->replacements == 2);
    CHECK(inside.asked == std::vector{UprobeFilterCtx::MMAP});
    CHECK(w.mm->insn(kText + 8) == UPROBE_SWBP_INSN);
    CHECK(w.mm->insn(kText + 0xffc) == UPROBE_SWBP_INSN);
    w.u.uprobe_mmap(*w.mm, v); // mprotect and the like tell again
    CHECK(w.mm->replacements == 2);
    UprobeVma writable = v;
    writable.write = true;
    w.mm->pages.clear();
    w.u.uprobe_mmap(*w.mm, writable);
    CHECK(w.mm->replacements == 2);
}

TEST_CASE("Unmapping probes makes the next unknown hit look again", "[UPR-029]") {
    UprobeWorld w;
    w.map_text();
    Counter c;
    REQUIRE(w.add(c, 8) == 0);
    const UprobeVma v = w.mm->vmas[0];
    w.u.uprobe_munmap(*w.mm, v, kText + 0x1000, kText + 0x2000); // none there
    CHECK_FALSE(w.mm->mmf_recalc_uprobes);
    w.mm->users = false;
    w.u.uprobe_munmap(*w.mm, v, kText, kText + 0x1000);
    CHECK_FALSE(w.mm->mmf_recalc_uprobes);
    w.mm->users = true;
    w.u.uprobe_munmap(*w.mm, v, kText, kText + 0x1000);
    CHECK(w.mm->mmf_recalc_uprobes);

    CHECK(w.hit(kText + 0x100)); // something is still there: the flag stays
    CHECK_FALSE(w.mm->mmf_recalc_uprobes);
    CHECK(w.mm->mmf_has_uprobes);
    w.mm->vmas.clear();
    w.mm->mmf_recalc_uprobes = true;
    CHECK(w.hit(kText + 0x100));
    CHECK_FALSE(w.mm->mmf_has_uprobes);
    CHECK_FALSE(w.hit(kText + 0x100)); // no longer anybody's
}

TEST_CASE("A copied address space has its parent's breakpoints and is to be looked at", "[UPR-030]") {
    UprobeWorld w;
    FakeMm child;
    w.u.uprobe_dup_mmap(*w.mm, child);
    CHECK_FALSE(child.mmf_has_uprobes);
    w.mm->mmf_has_uprobes = true;
    w.u.uprobe_dup_mmap(*w.mm, child);
    CHECK(child.mmf_has_uprobes);
    CHECK(child.mmf_recalc_uprobes);
}
