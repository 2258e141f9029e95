// SPDX-License-Identifier: Apache-2.0
// tmpfs, files of the host, descriptors, locks.
#include "sim/os/fs/locks.h"
#include "sim/os/fs/page_cache.h"
#include "tests/sim/os/fs/fake_services.h"

#include <catch2/catch.hpp>
#include <csignal>

using namespace rkperf;
using namespace rkperf::os;
using namespace rkperf::os::test;

TEST_CASE("a tmpfs file: read, write, append, holes, truncate") {
    World w;
    CHECK(w.put("/tmp/f", "hello") == 5);
    CHECK(w.put("/tmp/f", " world", 02001) == 6);
    CHECK(w.text("/tmp/f") == "hello world");
    FileHandle f;
    REQUIRE(w.open("/tmp/f", 2, f) == 0);
    CHECK(f->pwrite(bytes("X"), 10000) == 1);
    FileStat st;
    f->stat(st);
    CHECK(st.size == 10001);
    CHECK(st.blocks == 16); // two pages: the hole has none
    std::uint8_t b[4] = {9, 9, 9, 9};
    CHECK(f->pread(b, 5000) == 4);
    CHECK(b[0] + b[1] + b[2] + b[3] == 0);
    CHECK(f->lseek(0, SEEK_HOLE) == 4096);
    CHECK(f->lseek(4096, SEEK_DATA) == 8192);
    CHECK(f->lseek(10001, SEEK_DATA) == -ENXIO);
    CHECK(f->lseek(-1, SEEK_SET) == -EINVAL);
    CHECK(f->lseek(-1, SEEK_END) == 10000);
    CHECK(f->truncate(3) == 0);
    CHECK(f->truncate(8) == 0);
    std::uint8_t c[8];
    CHECK(f->pread(c, 0) == 8);
    CHECK(std::string(reinterpret_cast<char*>(c), 8) == std::string("hel\0\0\0\0\0", 8));
}

TEST_CASE("a mapping and read see the same page") {
    World w;
    w.put("/tmp/f", "abc");
    FileHandle f;
    REQUIRE(w.open("/tmp/f", 2, f) == 0);
    bool major = false;
    const PhysAddr pa = f->inode()->page(0, major);
    REQUIRE(pa.v != 0);
    CHECK_FALSE(major);
    w.s->pages().host(pa)[1] = 'X';
    CHECK(w.text("/tmp/f") == "aXc");
    CHECK(f->pwrite(bytes("Y"), 2) == 1);
    CHECK(w.s->pages().host(pa)[2] == 'Y');
    CHECK(f->inode()->page(1, major).v == 0); // beyond the end
}

TEST_CASE("tmpfs gives its pages back, and is limited") {
    World w;
    const std::uint64_t before = w.s->pages().free_pages();
    FileHandle f;
    REQUIRE(w.open("/tmp/f", 0102, f) == 0);
    const std::vector<std::uint8_t> block(1 << 20, 1);
    std::int64_t n, total = 0;
    while ((n = f->write(block)) > 0) total += n;
    CHECK(n == -ENOSPC);
    CHECK(total == FakeServices::kBytes / 2);
    CHECK(w.vfs->unlinkat(-100, "/tmp/f", 0) == 0);
    CHECK(w.s->pages().free_pages() < before); // still open
    f.reset();
    CHECK(w.s->pages().free_pages() == before);
}

TEST_CASE("tmpfs folders: links, rename, sticky bit") {
    World w;
    VfsImpl& v = *w.vfs;
    CHECK(v.mkdirat(-100, "/tmp/a", 0777) == 0);
    CHECK(v.mkdirat(-100, "/tmp/a", 0777) == -EEXIST);
    CHECK((w.stat("/tmp/a").mode & 07777) == 0755); // umask
    CHECK(w.stat("/tmp/a").nlink == 2);
    CHECK(v.mkdirat(-100, "/tmp/a/b", 0700) == 0);
    CHECK(w.stat("/tmp/a").nlink == 3);
    CHECK(v.unlinkat(-100, "/tmp/a", abi::at_removedir) == -ENOTEMPTY);
    CHECK(v.unlinkat(-100, "/tmp/a", 0) == -EISDIR);
    CHECK(v.unlinkat(-100, "/tmp/a/b/.", abi::at_removedir) == -EINVAL);
    CHECK(v.renameat2(-100, "/tmp/a", -100, "/tmp/a/b/c", 0) == -EINVAL);
    CHECK(v.renameat2(-100, "/tmp/a/b", -100, "/tmp/a", 0) == -ENOTEMPTY);
    w.put("/tmp/f", "f");
    w.put("/tmp/g", "g");
    CHECK(v.linkat(-100, "/tmp/f", -100, "/tmp/h", 0) == 0);
    CHECK(w.stat("/tmp/f").nlink == 2);
    CHECK(w.stat("/tmp/f").ino == w.stat("/tmp/h").ino);
    CHECK(v.renameat2(-100, "/tmp/f", -100, "/tmp/h", 0) == 0); // the same file: nothing happens
    CHECK(w.text("/tmp/f") == "f");
    CHECK(v.renameat2(-100, "/tmp/f", -100, "/tmp/g", abi::rename_noreplace) == -EEXIST);
    CHECK(v.renameat2(-100, "/tmp/f", -100, "/tmp/g", abi::rename_exchange) == 0);
    CHECK(w.text("/tmp/g") == "f");
    CHECK(w.text("/tmp/f") == "g");
    CHECK(v.renameat2(-100, "/tmp/f", -100, "/tmp/a", 0) == -EISDIR);
    CHECK(v.renameat2(-100, "/tmp/a", -100, "/tmp/f", 0) == -ENOTDIR);
    w.s->become(1000);
    CHECK(v.unlinkat(-100, "/tmp/f", 0) == -EPERM); // root's, in a sticky folder
    CHECK(w.put("/tmp/mine", "m") == 1);
    CHECK(v.unlinkat(-100, "/tmp/mine", 0) == 0);
    CHECK(w.text("/tmp/a/b/x") == "errno 13");
}

TEST_CASE("a folder that moves takes open files and the current directory along") {
    World w;
    w.vfs->mkdirat(-100, "/tmp/a", 0755);
    w.put("/tmp/a/f", "f");
    FileHandle f;
    REQUIRE(w.open("/tmp/a/f", 0, f) == 0);
    REQUIRE(w.vfs->chdir("/tmp/a") == 0);
    REQUIRE(w.vfs->renameat2(-100, "/tmp/a", -100, "/tmp/b", 0) == 0);
    CHECK(f->path() == "/tmp/b/f");
    std::string cwd;
    CHECK(w.vfs->getcwd(cwd) == 0);
    CHECK(cwd == "/tmp/b");
    REQUIRE(w.vfs->unlinkat(-100, "/tmp/b/f", 0) == 0);
    CHECK(f->path() == "/tmp/b/f (deleted)");
    REQUIRE(w.vfs->unlinkat(-100, "/tmp/b", abi::at_removedir) == 0);
    CHECK(w.vfs->getcwd(cwd) == -ENOENT);
    CHECK(w.put("x", "x") == -ENOENT);
}

TEST_CASE("host files: written through, coherent, mapped pages come back") {
    HostFolder host;
    host.write("f", "0123456789");
    MountConfig config;
    config.binds.push_back({host.path(), "/w", true});
    World w(config);
    FileHandle f;
    REQUIRE(w.open("/w/f", 2, f) == 0);
    CHECK(f->pwrite(bytes("AB"), 2) == 2);
    CHECK(host.read("f") == "01AB456789");
    bool major = false;
    const PhysAddr pa = f->inode()->page(0, major);
    w.s->pages().host(pa)[9] = 'Z';
    f->inode()->mark_dirty(0);
    CHECK(w.text("/w/f") == "01AB45678Z");
    CHECK(host.read("f") == "01AB456789");
    CHECK(f->fsync() == 0);
    CHECK(host.read("f") == "01AB45678Z");
    CHECK(f->truncate(4) == 0);
    CHECK(host.read("f") == "01AB");
    f.reset();
    host.write("f", "changed outside");
    CHECK(w.text("/w/f") == "changed outside");
    CHECK(w.put("/w/new", "text") == 4);
    CHECK(host.read("new") == "text");
    CHECK((w.stat("/w/new").mode & 07777) == 0644);
    CHECK(w.stat("/w/new").uid == 0);
}

TEST_CASE("a host file is in the page cache until its pages are dropped") {
    HostFolder host;
    host.write("f", std::string(40 * kPageSize, 'x'));
    MountConfig config;
    config.binds.push_back({host.path(), "/w", true});
    World w(config);
    FileHandle f;
    REQUIRE(w.open("/w/f", 0, f) == 0);
    Inode& inode = *f->inode();
    bool major = false;
    CHECK(inode.page(0, major).v);
    CHECK_FALSE(major);
    CHECK(inode.cached_page(1).v); // though it was never read
    CHECK(inode.cached_page(40).v == 0);
    CHECK(inode.wants_write_notify());
    inode.drop_cache(0, 40);
    CHECK(inode.cached_page(1).v == 0);
    inode.page(0, major);
    CHECK(major);
    major = false;
    inode.page(0, major);
    CHECK_FALSE(major);
    inode.readahead(8, 4);
    CHECK(inode.cached_page(7).v == 0);
    CHECK(inode.cached_page(8).v);
    CHECK(inode.cached_page(11).v);
    CHECK(inode.cached_page(12).v == 0);
    inode.page(9, major);
    CHECK_FALSE(major);
    // A page that somebody has mapped stays.
    const PhysAddr mapped = inode.cached_page(9);
    w.s->pages().get(mapped);
    inode.drop_cache(0, 40);
    CHECK(inode.cached_page(9) == mapped);
    CHECK(inode.cached_page(8).v == 0);
    w.s->pages().put(mapped);
}

TEST_CASE("files in memory are in the page cache where they have been written") {
    World w;
    FileHandle f;
    REQUIRE(w.open("/tmp/f", 0102, f) == 0);
    CHECK(f->truncate(4 * kPageSize) == 0);
    CHECK(f->pwrite(bytes("AB"), kPageSize) == 2);
    CHECK(f->inode()->cached_page(0).v == 0);
    CHECK(f->inode()->cached_page(1).v);
    CHECK_FALSE(f->inode()->wants_write_notify());
}

TEST_CASE("a full host reports ENOSPC to the writer") {
    MountConfig config;
    config.binds.push_back({"/dev/full", "/full", true});
    World w(config);
    FileHandle f;
    CHECK(w.open("/full", 1, f) == -ENXIO); // the device itself is never opened
}

TEST_CASE("RLIMIT_FSIZE cuts, then signals") {
    World w;
    FileHandle f;
    REQUIRE(w.open("/tmp/f", 0102, f) == 0);
    w.s->file_limit = 4;
    CHECK(f->write(bytes("abcdef")) == 4);
    CHECK(f->write(bytes("x")) == -EFBIG);
    CHECK(w.s->signals == std::vector<int>{SIGXFSZ});
}

TEST_CASE("permissions are those of the mode") {
    World w;
    w.put("/tmp/f", "f");
    w.vfs->fchmodat(-100, "/tmp/f", 0600);
    w.s->become(1000);
    FileHandle f;
    CHECK(w.open("/tmp/f", 0, f) == -EACCES);
    CHECK(w.vfs->fchmodat(-100, "/tmp/f", 0777) == -EPERM);
    CHECK(w.vfs->faccessat(-100, "/tmp/f", 4, 0) == -EACCES);
    CHECK(w.vfs->fchownat(-100, "/tmp/f", 1000, ~0u, 0) == -EPERM);
    w.s->become(0);
    w.vfs->fchownat(-100, "/tmp/f", 1000, 1000, 0);
    w.s->become(1000);
    CHECK(w.open("/tmp/f", 2, f) == 0);
    CHECK(w.vfs->faccessat(-100, "/tmp/f", 1, 0) == -EACCES);
}

TEST_CASE("descriptors: lowest first, limit, close-on-exec, copies") {
    World w;
    FdTable t;
    FileHandle f;
    REQUIRE(w.open("/dev/null", 0, f) == 0);
    CHECK(t.alloc(f, false, 4) == 0);
    CHECK(t.alloc(f, true, 4) == 1);
    CHECK(t.alloc(f, false, 4) == 2);
    CHECK(t.close(1) == 0);
    CHECK(t.close(1) == -EBADF);
    CHECK(t.alloc(f, true, 4) == 1);
    CHECK(t.alloc(f, false, 4, 3) == 3);
    CHECK(t.alloc(f, false, 4) == -EMFILE);
    CHECK(t.alloc(f, false, 100, 50) == 50);
    CHECK(t.set(7, f, false, 100) == 7);
    CHECK(t.set(100, f, false, 100) == -EBADF);
    const auto copy = t.clone();
    t.close_on_exec();
    CHECK_FALSE(t.get(1));
    CHECK(copy->get(1));
    CHECK(copy->cloexec(1));
    copy->set_cloexec(1, false);
    CHECK_FALSE(copy->cloexec(1));
    t.close_all();
    CHECK(t.slots().empty());
}

TEST_CASE("record locks split, merge, conflict and find circles") {
    FakeServices s;
    FileLocks l(s);
    int a, b;
    const auto rec = [](const void* owner, bool exclusive, std::uint64_t start, std::uint64_t end) {
        return FileLocks::Record{owner, 1, exclusive, start, end};
    };
    CHECK(l.lock(rec(&a, true, 0, 99), false, nullptr) == 0);
    CHECK(l.lock(rec(&b, false, 50, 60), false, nullptr) == -EAGAIN);
    l.unlock(&a, 40, 70);
    CHECK(l.lock(rec(&b, false, 50, 60), false, nullptr) == 0);
    CHECK(l.conflict(rec(&b, true, 0, 39))->end == 39);
    CHECK(l.conflict(rec(&b, true, 71, 80))->start == 71);
    CHECK(l.conflict(rec(&a, false, 50, 60)) == nullptr); // both may read
    CHECK(l.lock(rec(&a, true, 40, 49), false, nullptr) == 0);
    CHECK(l.conflict(rec(&b, true, 45, 45))->start == 0); // merged with its neighbour
    std::map<const void*, const void*> waits{{&a, &b}};
    CHECK(l.lock(rec(&b, true, 0, 10), true, &waits) == -EDEADLK);
    CHECK(l.flock(&a, false, false) == 0);
    CHECK(l.flock(&b, false, false) == 0);
    CHECK(l.flock(&b, true, false) == -EAGAIN);
    l.release(&a);
    CHECK(l.flock(&b, true, false) == 0);
    CHECK(l.conflict(rec(&b, true, 0, 10)) == nullptr);
}

TEST_CASE("closing any descriptor of a file drops the process's locks on it") {
    World w;
    w.put("/tmp/f", "f");
    FileHandle f, g;
    REQUIRE(w.open("/tmp/f", 2, f) == 0);
    REQUIRE(w.open("/tmp/f", 0, g) == 0);
    FdTable& t = w.s->files();
    t.alloc(f, false, 100);
    const int second = t.alloc(g, false, 100);
    FileLocks& l = locks_of(*w.s, *f->inode());
    int other;
    REQUIRE(l.lock({&t, 1, true, 0, 10}, false, nullptr) == 0);
    CHECK(l.conflict({&other, 2, false, 0, 0}) != nullptr);
    t.close(second);
    CHECK(l.conflict({&other, 2, false, 0, 0}) == nullptr);
}

TEST_CASE("an open file description takes its locks along when it goes") {
    World w;
    w.put("/tmp/f", "f");
    FileHandle f, g;
    REQUIRE(w.open("/tmp/f", 2, f) == 0);
    REQUIRE(w.open("/tmp/f", 2, g) == 0);
    FileLocks& l = locks_of(*w.s, *f->inode());
    REQUIRE(l.flock(f.get(), true, false) == 0);
    REQUIRE(l.lock({f.get(), -1, true, 0, 10}, false, nullptr) == 0);
    CHECK(l.flock(g.get(), true, false) == -EAGAIN);
    f.reset();
    CHECK(l.flock(g.get(), true, false) == 0);
    CHECK(l.conflict({g.get(), -1, true, 0, 10}) == nullptr);
}

TEST_CASE("a nameless file gets a name once, an unlinked one never again") {
    World w;
    FileHandle f, g;
    REQUIRE(w.open("/tmp", 2 | abi::o_tmpfile, f) == 0);
    f->write(bytes("t"));
    const std::string fd = std::to_string(w.s->files().alloc(f, false, 100));
    CHECK(w.vfs->linkat(std::stoi(fd), "", -100, "/tmp/named", abi::at_empty_path) == 0);
    CHECK(w.text("/tmp/named") == "t");
    REQUIRE(w.open("/tmp/named", 0, g) == 0);
    CHECK(w.vfs->unlinkat(-100, "/tmp/named", 0) == 0);
    w.put("/tmp/x", "x");
    REQUIRE(w.open("/tmp/x", 0, g) == 0);
    CHECK(w.vfs->unlinkat(-100, "/tmp/x", 0) == 0);
    const int x = w.s->files().alloc(g, false, 100);
    CHECK(w.vfs->linkat(x, "", -100, "/tmp/again", abi::at_empty_path) == -ENOENT);
}

TEST_CASE("memfd: sealed files refuse what is sealed") {
    World w;
    const FileHandle f = w.vfs->memfd("buf", 0);
    CHECK(f->path() == "/memfd:buf (deleted)");
    CHECK(f->write(bytes("abcd")) == 4);
    auto& n = dynamic_cast<PagedNode&>(*f->inode());
    n.seals = abi::f_seal_grow;
    CHECK(f->write(bytes("e")) == -EPERM);
    CHECK(f->pwrite(bytes("X"), 0) == 1);
    CHECK(f->truncate(2) == 0);
    n.seals |= abi::f_seal_shrink | abi::f_seal_write;
    CHECK(f->truncate(1) == -EPERM);
    CHECK(f->pwrite(bytes("X"), 0) == -EPERM);
}

TEST_CASE("the build id of an ELF file is found in its first page") {
    World w;
    std::string elf(4096, '\0');
    const unsigned char head[] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    std::memcpy(elf.data(), head, sizeof head);
    const auto put = [&](std::size_t at, std::uint64_t v, int n) {
        std::memcpy(elf.data() + at, &v, static_cast<std::size_t>(n));
    };
    put(16, 2, 2);         // ET_EXEC
    put(32, 64, 8);        // e_phoff
    put(56, 1, 2);         // e_phnum
    put(64, 4, 4);         // PT_NOTE
    put(64 + 8, 0x200, 8); // p_offset
    put(64 + 32, 20, 8);   // p_filesz
    put(0x200, 4, 4), put(0x204, 4, 4), put(0x208, 3, 4);
    std::memcpy(elf.data() + 0x20c, "GNU", 4);
    put(0x210, 0xefbeadde, 4);
    w.put("/tmp/elf", elf);
    FileHandle f;
    REQUIRE(w.open("/tmp/elf", 0, f) == 0);
    CHECK(f->inode()->build_id() == std::vector<std::uint8_t>{0xde, 0xad, 0xbe, 0xef});
    w.put("/tmp/elf", "#!", 01001);
    CHECK(f->inode()->build_id().empty());
}
