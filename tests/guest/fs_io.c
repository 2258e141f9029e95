// SPDX-License-Identifier: Apache-2.0
// Reading and writing in all their forms, descriptors, fcntl, locks.
#include "fs_guest.h"

static char* volatile bad = (char*)8;

static void basic(void) {
    char b[64] = "";
    int fd = open("f", O_RDWR | O_CREAT | O_TRUNC, 0644);
    SHOW(write(fd, "0123456789", 10));
    SHOW(lseek(fd, -3, SEEK_END));
    SHOW(read(fd, b, 64));
    SHOW(read(fd, b, 64));
    SHOW(lseek(fd, 20, SEEK_SET));
    SHOW(read(fd, b, 64));
    SHOW(lseek(fd, -1, SEEK_SET));
    SHOW(lseek(fd, 0, 9));
    SHOW(pread(fd, b, 4, 8));
    SHOW(pread(fd, b, 4, -1));
    SHOW(pwrite(fd, "X", 1, 12));
    SHOW(lseek(fd, 0, SEEK_CUR));
    struct iovec v[3] = {{b, 3}, {b + 10, 0}, {b + 20, 30}};
    SHOW(lseek(fd, 0, SEEK_SET));
    SHOW(readv(fd, v, 3));
    SHOW(readv(fd, v, 0));
    SHOW(readv(fd, v, 1025));
    SHOW(readv(fd, v, -1));
    v[1].iov_len = -1;
    SHOW(readv(fd, v, 3));
    v[1].iov_len = 4;
    SHOW(writev(fd, v, 2));
    SHOW(preadv(fd, v, 2, 2));
    SHOW(pwritev(fd, v, 1, 100));
    SHOW(syscall(SYS_preadv2, fd, v, 1, 0L, 0L, 0x100));
    SHOW(syscall(SYS_pwritev2, fd, v, 1, 0L, 0L, RWF_APPEND));
    SHOW(lseek(fd, 0, SEEK_END));
    SHOW(write(fd, bad, 1));
    SHOW(write(fd, bad, 0));
    lseek(fd, 0, SEEK_SET);
    SHOW(read(fd, bad, 1));
    SHOW(read(fd, bad, 0));
    SHOW(read(fd, b, -1));
    char* page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(page + 4096, 4096);
    memset(page, 'p', 4096);
    SHOW(pwrite(fd, page + 4090, 20, 0));
    SHOW(ftruncate(fd, 8000));
    SHOW(pread(fd, page + 4000, 200, 0));
    int a = open("f", O_WRONLY | O_APPEND);
    SHOW(pwrite(a, "at the end", 10, 0));
    SHOW(lseek(a, 0, SEEK_CUR));
    struct stat st;
    fstat(a, &st);
    say("size: %d", (int)st.st_size);
    SHOW(ftruncate(open("f", O_RDONLY), 0));
    SHOW(ftruncate(fd, -1));
    SHOW(fallocate(fd, 0, 0, 10000));
    fstat(fd, &st);
    say("size: %d", (int)st.st_size);
    SHOW(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 20000));
    SHOW(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4));
    SHOW(fallocate(fd, FALLOC_FL_PUNCH_HOLE, 0, 4));
    SHOW(fallocate(fd, 0, 0, 0));
    SHOW(fallocate(fd, 0, -1, 1));
    SHOW(pread(fd, b, 6, 0));
    say("punched: %d %d", b[0], b[4]);
    SHOW(posix_fadvise(fd, 0, 0, 99));
    SHOW(fsync(fd));
    SHOW(fdatasync(fd));
    SHOW(fsync(99));
    int n = 0;
    lseek(fd, 5000, SEEK_SET);
    SHOW(ioctl(fd, FIONREAD, &n));
    say("FIONREAD: %d", n);
    SHOW(ioctl(fd, 0x5401, b)); // TCGETS
    SHOW(ioctl(fd, 0xdeadbeef, 0));
}

static void devices(void) {
    char b[16] = "xxxxxxxxxxxxxxx";
    int null = open("/dev/null", O_RDWR), zero = open("/dev/zero", O_RDWR), full = open("/dev/full", O_RDWR);
    SHOW(read(null, b, 4));
    SHOW(write(null, b, 4));
    SHOW(write(null, bad, 4));
    SHOW(read(zero, b, 4));
    say("zero: %d%d%d%d%c", b[0], b[1], b[2], b[3], b[4]);
    SHOW(write(full, b, 4));
    SHOW(read(full, b, 4));
    SHOW(lseek(null, 7, SEEK_SET));
    SHOW(pread(zero, b, 4, 100));
    struct stat st;
    stat("/dev/null", &st);
    say("null: %o %x", st.st_mode, (unsigned)st.st_rdev);
    SHOW(read(open("/dev/urandom", O_RDONLY), b, 8));
    SHOW(ftruncate(null, 0));
    SHOW(read(open("/dev/zero", O_RDONLY), malloc(300000), 300000));
    TRY(open("/dev/null", O_WRONLY | O_TRUNC));
    TRY(open("/dev/null/x", O_RDONLY));
}

static void descriptors(void) {
    int fd = open("f", O_RDWR);
    int d = dup(fd);
    lseek(fd, 5, SEEK_SET);
    SHOW(lseek(d, 0, SEEK_CUR));
    SHOW(fcntl(fd, F_DUPFD, 100));
    SHOW(fcntl(fd, F_DUPFD_CLOEXEC, 100));
    SHOW(fcntl(101, F_GETFD));
    SHOW(fcntl(101, F_SETFD, 0));
    SHOW(fcntl(101, F_GETFD));
    SHOW(fcntl(fd, F_DUPFD, -1));
    SHOW(dup3(fd, fd, 0));
    SHOW(dup3(fd, 200, 0x1));
    SHOW(dup3(fd, 200, O_CLOEXEC));
    SHOW(fcntl(200, F_GETFD));
    SHOW(dup2(99, 300));
    SHOW(dup2(fd, 1 << 30));
    SHOW(fcntl(99, F_GETFD));
    SHOW(fcntl(fd, 9999));
    SHOW(fcntl(fd, F_SETFL, O_APPEND | O_NONBLOCK | O_RDONLY | O_CREAT));
    say("flags: %o", fcntl(fd, F_GETFL));
    SHOW(syscall(SYS_close_range, 100, 101, 0));
    SHOW(fcntl(100, F_GETFD));
    SHOW(syscall(SYS_close_range, 200, 100, 0));
    SHOW(syscall(SYS_close_range, 0, 5, 0x10));
    SHOW(syscall(SYS_close_range, 200, ~0U, 4));
    struct rlimit r = {64, 64};
    setrlimit(RLIMIT_NOFILE, &r);
    SHOW(fcntl(fd, F_DUPFD, 64));
    SHOW(fcntl(fd, F_DUPFD, 63));
    SHOW(fcntl(fd, F_DUPFD, 63));
    SHOW(dup2(fd, 64));
    close(63);
    int n = 1;
    SHOW(ioctl(fd, FIOCLEX));
    SHOW(fcntl(fd, F_GETFD));
    SHOW(ioctl(fd, FIONBIO, &n));
    SHOW(ioctl(fd, FIONBIO, bad));
    SHOW(fcntl(fd, F_SETOWN, getpid()) == 0 && fcntl(fd, F_GETOWN) == getpid());
    SHOW(fcntl(fd, F_SETOWN, -getpgrp()));
    struct f_owner_ex o;
    SHOW(fcntl(fd, F_GETOWN_EX, &o));
    say("owner: type %d, the group: %d", o.type, o.pid == getpgrp());
    o.type = 7;
    SHOW(fcntl(fd, F_SETOWN_EX, &o));
    SHOW(fcntl(fd, F_SETOWN, 4000000));
    SHOW(fcntl(fd, F_SETSIG, 40));
    SHOW(fcntl(fd, F_GETSIG));
    SHOW(fcntl(fd, F_SETSIG, 65));
    SHOW(fcntl(fd, F_GETPIPE_SZ));
    SHOW(fcntl(fd, F_GETLEASE));
    close(fd);
    close(d);
}

static int set(int fd, int cmd, int type, int start, int len) {
    struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = len};
    return fcntl(fd, cmd, &l);
}

static void locks(void) {
    int fd = open("locked", O_RDWR | O_CREAT, 0644), ro = open("locked", O_RDONLY);
    SHOW(set(fd, F_SETLK, F_WRLCK, 0, 100));
    SHOW(set(ro, F_SETLK, F_WRLCK, 200, 1));
    SHOW(set(fd, F_SETLK, 9, 0, 1));
    SHOW(set(fd, F_SETLK, F_UNLCK, 40, 20));
    int go[2];
    if (pipe(go)) _exit(1);
    pid_t c = fork();
    if (!c) {
        int mine = open("locked", O_RDWR);
        SHOW(set(mine, F_SETLK, F_RDLCK, 10, 5));
        SHOW(set(mine, F_SETLK, F_RDLCK, 45, 5));
        struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0};
        SHOW(fcntl(mine, F_GETLK, &l));
        say("in the way: type %d, %d+%d, the parent's: %d", l.l_type, (int)l.l_start, (int)l.l_len,
            l.l_pid == getppid());
        l = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 50, .l_len = 1};
        SHOW(fcntl(mine, F_GETLK, &l));
        say("free: %d", l.l_type == F_UNLCK);
        SHOW(set(mine, F_OFD_SETLK, F_WRLCK, 60, 1));
        SHOW(flock(mine, LOCK_EX | LOCK_NB));
        if (write(go[1], "", 1) != 1) _exit(1);
        SHOW(set(mine, F_SETLKW, F_WRLCK, 0, 10)); // until the parent closes
        _exit(0);
    }
    char x;
    SHOW(read(go[0], &x, 1));
    close(ro); // any descriptor of the file
    waitpid(c, NULL, 0);
    SHOW(set(fd, F_SETLK, F_WRLCK, 0, 0));
    SHOW(flock(fd, LOCK_SH));
    int other = open("locked", O_RDWR);
    SHOW(flock(other, LOCK_EX | LOCK_NB));
    SHOW(flock(other, LOCK_SH | LOCK_NB));
    SHOW(flock(fd, LOCK_UN));
    SHOW(flock(other, LOCK_EX | LOCK_NB));
    SHOW(flock(fd, 77));
    SHOW(flock(99, LOCK_SH));
}

static void copying(void) {
    put("src", "abcdefghij");
    int in = open("src", O_RDONLY), out = open("dst", O_RDWR | O_CREAT | O_TRUNC, 0644);
    off_t off = 4;
    SHOW(sendfile(out, in, &off, 3));
    say("offset: %d", (int)off);
    SHOW(lseek(in, 0, SEEK_CUR));
    SHOW(sendfile(out, in, NULL, 100));
    SHOW(lseek(in, 0, SEEK_CUR));
    loff_t from = 0, to = 20;
    SHOW(copy_file_range(in, &from, out, &to, 5, 0));
    SHOW(copy_file_range(in, &from, out, &to, 5, 1));
    SHOW(lseek(out, 0, SEEK_END));
    int p[2], q[2];
    if (pipe(p) || pipe(q)) _exit(1);
    loff_t at = 2;
    SHOW(splice(in, &at, p[1], NULL, 4, 0));
    SHOW(tee(p[0], q[1], 100, 0));
    char b[16] = "";
    SHOW(read(p[0], b, sizeof b));
    SHOW(read(q[0], b, sizeof b));
    say("spliced: %.4s", b);
    SHOW(splice(in, NULL, out, NULL, 4, 0));
    SHOW(splice(p[0], &at, out, NULL, 4, 0));
    SHOW(sendfile(out, p[0], NULL, 1));
    SHOW(sendfile(out, in, NULL, 1));
    int a = open("dst", O_WRONLY | O_APPEND);
    lseek(in, 0, SEEK_SET);
    SHOW(sendfile(a, in, NULL, 1));
    SHOW(copy_file_range(in, NULL, p[1], NULL, 1, 0));
}

static void memory(void) {
    int fd = memfd_create("buf", MFD_ALLOW_SEALING);
    SHOW(write(fd, "abcd", 4));
    SHOW(fcntl(fd, F_GET_SEALS));
    SHOW(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK));
    SHOW(write(fd, "e", 1));
    SHOW(ftruncate(fd, 1));
    SHOW(pwrite(fd, "X", 1, 0));
    SHOW(fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL));
    SHOW(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE));
    char link[64], name[64] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    SHOW(readlink(link, name, sizeof name - 1));
    say("name: %s", name);
    SHOW(fcntl(memfd_create("x", 0), F_GET_SEALS));
    SHOW(memfd_create("x", 0x8000));
    struct stat st;
    fstat(fd, &st);
    say("mode: %o links %d", st.st_mode, (int)st.st_nlink);
    char* p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    p[1] = 'M';
    char b[5] = "";
    SHOW(pread(fd, b, 4, 0));
    say("through the mapping: %s", b);
}

int main(void) {
    setpgid(0, 0);
    char dir[] = "/tmp/fs_io.XXXXXX";
    if (!mkdtemp(dir) || chdir(dir)) return 1;
    basic();
    devices();
    copying();
    memory();
    locks();
    descriptors();
    return 0;
}
