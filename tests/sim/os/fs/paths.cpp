// SPDX-License-Identifier: Apache-2.0
// No path leads out of what the guest was given.
#include "tests/sim/os/fs/fake_services.h"

#include <unistd.h>
#include <catch2/catch.hpp>

using namespace rkperf::os;
using namespace rkperf::os::test;

namespace {

/// A folder given as /w, with a secret beside it on the host.
struct Given {
    Given() {
        std::filesystem::create_directories(host / "given/sub/deep");
        host.write("given/file", "inside");
        host.write("given/sub/other", "other");
        host.write("secret", "SECRET");
        MountConfig config;
        config.binds.push_back({host / "given", "/w", true});
        config.cwd = "/w";
        w = std::make_unique<World>(config);
        w->s->fs().cwd = "/w";
    }
    void link(const std::string& target, const std::string& name) const {
        REQUIRE(::symlink(target.c_str(), (host / ("given/" + name)).c_str()) == 0);
    }
    HostFolder host;
    std::unique_ptr<World> w;
};

} // namespace

TEST_CASE("what was given is there, by absolute and relative names") {
    Given g;
    CHECK(g.w->text("/w/file") == "inside");
    CHECK(g.w->text("file") == "inside");
    CHECK(g.w->text("sub/../file") == "inside");
    CHECK(g.w->text("/w/sub/deep/../other") == "other");
    CHECK(g.w->text("./././/sub//other") == "other");
}

TEST_CASE("dot-dot stops at the root") {
    Given g;
    CHECK(g.w->text("../secret") == "errno 2");
    CHECK(g.w->text("/w/../secret") == "errno 2");
    CHECK(g.w->text("../../../../../../../../../../" + g.host.path() + "/secret") == "errno 2");
    std::string where;
    REQUIRE(g.w->vfs->resolve(-100, "../../../..", true, where) == 0);
    CHECK(where == "/");
    REQUIRE(g.w->vfs->resolve(-100, "sub/deep/../../..", true, where) == 0);
    CHECK(where == "/");
}

TEST_CASE("links are resolved in the guest's tree") {
    Given g;
    SECTION("relative, upwards") {
        g.link("../secret", "up");
        CHECK(g.w->text("/w/up") == "errno 2");
        g.link("../w/file", "round");
        CHECK(g.w->text("/w/round") == "inside");
    }
    SECTION("absolute") {
        g.link(g.host / "secret", "abs");
        CHECK(g.w->text("/w/abs") == "errno 2");
        g.link("/w/file", "home");
        CHECK(g.w->text("/w/home") == "inside");
        g.link("/etc/passwd", "passwd");
        CHECK(g.w->text("/w/passwd") == "errno 2");
    }
    SECTION("of a folder, in the middle") {
        g.link(g.host.path(), "d");
        CHECK(g.w->text("/w/d/secret") == "errno 2");
        g.link("..", "parent");
        CHECK(g.w->text("/w/parent/secret") == "errno 2");
        CHECK(g.w->text("/w/parent/w/file") == "inside");
    }
    SECTION("to the host's /proc/self/root and cwd") {
        g.link("/proc/self/root", "root");
        CHECK(g.w->text("/w/root" + g.host.path() + "/secret") == "errno 2");
        g.link("/proc/self/cwd", "cwd");
        CHECK(g.w->text("/w/cwd/file") == "errno 2");
    }
    SECTION("chains and circles") {
        g.link("b", "a");
        g.link("a", "b");
        CHECK(g.w->text("/w/a") == "errno 40");
        for (int i = 0; i < 40; ++i) g.link(i ? "c" + std::to_string(i - 1) : "file", "c" + std::to_string(i));
        CHECK(g.w->text("/w/c39") == "inside");
        g.link("c39", "c40");
        CHECK(g.w->text("/w/c40") == "errno 40");
    }
    SECTION("dangling: made where the link points, inside") {
        g.link("../made", "new");
        CHECK(g.w->put("/w/new", "x") == 1);
        CHECK_FALSE(std::filesystem::exists(g.host / "made"));
        CHECK(g.w->text("/made") == "x"); // in the guest's own root
        g.link("missing/made", "nowhere");
        CHECK(g.w->put("/w/nowhere", "x") == -ENOENT);
    }
    SECTION("not followed") {
        g.link("file", "l");
        FileHandle f;
        CHECK(g.w->open("/w/l", abi::o_nofollow, f) == -ELOOP);
        CHECK(g.w->open("/w/l", abi::o_nofollow | abi::o_path, f) == 0);
        CHECK(g.w->open("/w/l", abi::o_creat | abi::o_excl | 1, f) == -EEXIST);
        CHECK((g.w->stat("/w/l", abi::at_symlink_nofollow).mode & S_IFMT) == S_IFLNK);
        std::string target;
        CHECK(g.w->vfs->readlinkat(-100, "/w/l", target) == 0);
        CHECK(target == "file");
        CHECK(g.w->vfs->readlinkat(-100, "/w/file", target) == -EINVAL);
    }
}

TEST_CASE("a folder moved out on the host takes nobody along") {
    Given g;
    FileHandle dir;
    REQUIRE(g.w->open("/w/sub/deep", abi::o_directory, dir) == 0);
    const int fd = g.w->s->files().alloc(dir, false, 1024);
    std::filesystem::rename(g.host / "given/sub/deep", g.host / "outside");
    FileHandle f;
    CHECK(g.w->open("../secret", 0, f, 0, fd) == -ENOENT);
    CHECK(g.w->open("../../secret", 0, f, 0, fd) == -ENOENT);
    CHECK(g.w->open("../other", 0, f, 0, fd) == 0); // its parent is still the one it was reached by
}

TEST_CASE("a name that becomes a link while it is held") {
    Given g;
    FileHandle dir;
    REQUIRE(g.w->open("/w/sub", abi::o_directory, dir) == 0);
    std::filesystem::rename(g.host / "given/sub", g.host / "given/old");
    std::filesystem::create_directory_symlink(g.host.path(), g.host / "given/sub");
    CHECK(g.w->text("/w/sub/secret") == "errno 2");
    const int fd = g.w->s->files().alloc(dir, false, 1024);
    FileHandle f;
    CHECK(g.w->open("other", 0, f, 0, fd) == 0);
}

TEST_CASE("hard cases of lookup give Linux's errors") {
    Given g;
    CHECK(g.w->text("") == "errno 2");
    CHECK(g.w->text("/w/file/") == "errno 20");
    CHECK(g.w->text("/w/file/..") == "errno 20");
    CHECK(g.w->text("/w/file/x") == "errno 20");
    CHECK(g.w->text("/w/" + std::string(256, 'n')) == "errno 36");
    CHECK(g.w->text("/w/" + std::string(255, 'n')) == "errno 2");
    FileHandle f;
    CHECK(g.w->open("/w/sub", 1, f) == -EISDIR);
    CHECK(g.w->open("/w/file", abi::o_directory, f) == -ENOTDIR);
    CHECK(g.w->open("/w/new/", abi::o_creat | 1, f) == -EISDIR);
    CHECK(g.w->open("file", 0, f, 0, 77) == -EBADF);
    CHECK(g.w->open("/w/file", 0, f, 0, 77) == 0);
}

TEST_CASE("a read-only folder cannot be changed in any way") {
    HostFolder host;
    host.write("file", "text");
    std::filesystem::create_directory(host / "dir");
    MountConfig config;
    config.binds.push_back({host.path(), "/ro", false});
    World w(config);
    FileHandle f;
    CHECK(w.text("/ro/file") == "text");
    CHECK(w.open("/ro/file", 1, f) == -EROFS);
    CHECK(w.open("/ro/file", abi::o_trunc, f) == -EROFS);
    CHECK(w.open("/ro/new", abi::o_creat | 1, f) == -EROFS);
    CHECK(w.vfs->mkdirat(-100, "/ro/d", 0755) == -EROFS);
    CHECK(w.vfs->mkdirat(-100, "/ro/dir", 0755) == -EEXIST);
    CHECK(w.vfs->unlinkat(-100, "/ro/file", 0) == -EROFS);
    CHECK(w.vfs->renameat2(-100, "/ro/file", -100, "/ro/x", 0) == -EROFS);
    CHECK(w.vfs->symlinkat("x", -100, "/ro/l") == -EROFS);
    CHECK(w.vfs->linkat(-100, "/ro/file", -100, "/ro/l", 0) == -EROFS);
    CHECK(w.vfs->fchmodat(-100, "/ro/file", 0) == -EROFS);
    CHECK(w.vfs->truncate("/ro/file", 0) == -EROFS);
    CHECK(w.vfs->faccessat(-100, "/ro/file", 2, 0) == -EROFS);
    CHECK(host.read("file") == "text");
}

TEST_CASE("names and links do not cross mounts") {
    Given g;
    CHECK(g.w->vfs->renameat2(-100, "/w/file", -100, "/tmp/file", 0) == -EXDEV);
    CHECK(g.w->vfs->linkat(-100, "/w/file", -100, "/tmp/file", 0) == -EXDEV);
    CHECK(g.w->vfs->unlinkat(-100, "/w", abi::at_removedir) == -EBUSY);
    CHECK(g.w->vfs->renameat2(-100, "/tmp", -100, "/t", 0) == -EBUSY);
    CHECK(g.w->vfs->umount("/w", 0) == -EBUSY);
    CHECK(g.w->vfs->umount("/w/sub", 0) == -EINVAL);
}

TEST_CASE("devices and sockets of the host stay closed, a FIFO is the guest's own") {
    Given g;
    REQUIRE(::mknod((g.host / "given/fifo").c_str(), S_IFIFO | 0666, 0) == 0);
    FileHandle r, x;
    REQUIRE(g.w->open("/w/fifo", abi::o_nonblock, r) == 0);
    REQUIRE(g.w->open("/w/fifo", 1, x) == 0);
    CHECK(x->write(bytes("hi")) == 2);
    std::uint8_t b[8];
    CHECK(r->read(b) == 2);
    CHECK(g.w->vfs->mknodat(-100, "/w/null", S_IFCHR | 0666, 0x103) == -EPERM);
    CHECK(g.w->text("/dev/null").empty());
}

TEST_CASE("a folder can be the root, with the kernel's own mounts over it") {
    HostFolder host;
    std::filesystem::create_directory(host / "tmp");
    host.write("tmp/hosts", "host's");
    host.write("hello", "root");
    MountConfig config;
    config.root = host.path();
    World w(config);
    CHECK(w.text("/hello") == "root");
    CHECK(w.text("/tmp/hosts") == "errno 2");
    CHECK(w.put("/tmp/mine", "x") == 1);
    CHECK_FALSE(std::filesystem::exists(host / "tmp/mine"));
    CHECK_FALSE(std::filesystem::exists(host / "dev")); // made up for the guest, not on the host
    CHECK(w.list("/") == std::vector<std::string>{".", "..", "dev", "hello", "tmp"});
    CHECK(w.put("/other", "x") == -EROFS);
}

TEST_CASE("a single file can be given, at a place that has no folder") {
    HostFolder host;
    host.write("program", "ELF");
    MountConfig config;
    config.binds.push_back({host / "program", "/opt/bin/prog", false});
    World w(config);
    CHECK(w.text("/opt/bin/prog") == "ELF");
    CHECK(w.list("/opt/bin") == std::vector<std::string>{".", "..", "prog"});
    CHECK(w.text("/opt/bin/prog/x") == "errno 20");
}

TEST_CASE("openat2 restricts the way") {
    Given g;
    g.link("file", "l");
    const auto how = [&](const std::string& path, std::uint64_t resolve) {
        FileHandle dir, f;
        REQUIRE(g.w->open("/w/sub", abi::o_directory, dir) == 0);
        const int fd = g.w->s->files().alloc(dir, false, 1024);
        abi::open_how h;
        h.resolve = resolve;
        return g.w->vfs->open_how(fd, path, h, f);
    };
    CHECK(how("other", abi::resolve_beneath) == 0);
    CHECK(how("../file", abi::resolve_beneath) == -EXDEV);
    CHECK(how("/w/file", abi::resolve_beneath) == -EXDEV);
    CHECK(how("deep/../other", abi::resolve_beneath) == 0);
    CHECK(how("/other", abi::resolve_in_root) == 0);
    CHECK(how("../../other", abi::resolve_in_root) == 0);
    CHECK(how("../l", abi::resolve_no_symlinks) == -ELOOP);
    CHECK(how("../../tmp", abi::resolve_no_xdev) == -EXDEV);
}

TEST_CASE("folders are listed in order of names, entries numbered by the first look") {
    HostFolder a, b;
    for (const char* n : {"z", "m", "a", "10", "9"}) a.write(n, n);
    for (const char* n : {"9", "10", "a", "m", "z"}) b.write(n, n);
    const auto look = [](const HostFolder& h) {
        MountConfig config;
        config.binds.push_back({h.path(), "/w", true});
        World w(config);
        std::vector<std::pair<std::string, std::uint64_t>> out;
        for (const std::string& n : w.list("/w")) out.emplace_back(n, w.stat("/w/" + n).ino);
        return out;
    };
    CHECK(look(a) == look(b));
    CHECK(look(a)[2].first == "9");
}
