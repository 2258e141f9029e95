// SPDX-License-Identifier: Apache-2.0
// inotify: which events a program gets for what it does, in which order.
#include "perf_guest.h"

#include <poll.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

static int in;
static const struct {
    unsigned bit;
    const char* name;
} kBits[] = {{IN_ACCESS, "ACCESS"},
             {IN_MODIFY, "MODIFY"},
             {IN_ATTRIB, "ATTRIB"},
             {IN_CLOSE_WRITE, "CLOSE_WRITE"},
             {IN_CLOSE_NOWRITE, "CLOSE_NOWRITE"},
             {IN_OPEN, "OPEN"},
             {IN_MOVED_FROM, "MOVED_FROM"},
             {IN_MOVED_TO, "MOVED_TO"},
             {IN_CREATE, "CREATE"},
             {IN_DELETE, "DELETE"},
             {IN_DELETE_SELF, "DELETE_SELF"},
             {IN_MOVE_SELF, "MOVE_SELF"},
             {IN_Q_OVERFLOW, "Q_OVERFLOW"},
             {IN_UNMOUNT, "UNMOUNT"},
             {IN_IGNORED, "IGNORED"},
             {IN_ISDIR, "ISDIR"}};
/// Everything that waits, one line for each; cookies as first, second ...
static void events(const char* after) {
    static unsigned cookies[16], ncookies;
    _Alignas(8) char b[65536];
    printf("after %s:\n", after);
    for (;;) {
        const ssize_t n = read(in, b, sizeof b);
        if (n <= 0) break;
        for (ssize_t at = 0; at < n;) {
            const struct inotify_event* e = (void*)(b + at);
            at += (ssize_t)sizeof *e + e->len;
            printf("  %d", e->wd);
            for (unsigned i = 0; i < sizeof kBits / sizeof *kBits; ++i)
                if (e->mask & kBits[i].bit) printf(" %s", kBits[i].name);
            unsigned c = 0;
            if (e->cookie) {
                while (c < ncookies && cookies[c] != e->cookie) ++c;
                if (c == ncookies && ncookies < 16) cookies[ncookies++] = e->cookie;
                printf(" cookie %u", c + 1);
            }
            printf(" len %u%s%s\n", e->len, e->len ? " " : "", e->len ? e->name : "");
        }
    }
    fflush(stdout);
}
static void put(const char* path, int flags, const char* text) {
    const int fd = open(path, flags, 0644);
    if (text) write(fd, text, strlen(text));
    close(fd);
}

int main(void) {
    char dir[] = "/tmp/inotify-XXXXXX";
    mkdtemp(dir);
    chdir(dir);
    SHOW(inotify_init1(1));
    in = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    SHOW(in >= 0);
    SHOW(inotify_add_watch(in, ".", 0));
    SHOW(inotify_add_watch(in, ".", 0x00800000));
    SHOW(inotify_add_watch(in, "nothing", IN_ALL_EVENTS));
    SHOW(inotify_add_watch(99, ".", IN_ALL_EVENTS));
    SHOW(inotify_add_watch(0, ".", IN_ALL_EVENTS));
    SHOW(inotify_add_watch(in, ".", IN_MASK_ADD | IN_MASK_CREATE | IN_OPEN));
    SHOW(inotify_rm_watch(in, 1));
    SHOW(inotify_rm_watch(0, 1));
    char small[16];
    SHOW(read(in, small, sizeof small));

    SHOW(inotify_add_watch(in, ".", IN_ALL_EVENTS));
    SHOW(inotify_add_watch(in, ".", IN_MASK_CREATE | IN_ALL_EVENTS));
    put("one", O_CREAT | O_WRONLY, "hello");
    SHOW(read(in, small, sizeof small)); // has no room for a name
    int bytes = 0;
    SHOW(ioctl(in, FIONREAD, &bytes));
    SHOW(bytes);
    events("creation with five bytes");
    SHOW(inotify_add_watch(in, "one", IN_ALL_EVENTS));
    SHOW(inotify_add_watch(in, "one", IN_ONLYDIR | IN_ALL_EVENTS));
    put("one", O_RDONLY, NULL);
    put("one", O_RDONLY | O_PATH, NULL);
    put("one", O_WRONLY | O_TRUNC, "abc");
    events("opening");
    char b[8];
    int fd = open("one", O_RDWR);
    SHOW(read(fd, b, 2));
    SHOW(read(fd, b, 8));
    SHOW(read(fd, b, 8)); // nothing more
    SHOW(write(fd, b, 0));
    SHOW(pwrite(fd, "xy", 2, 0));
    SHOW(pwrite(fd, "xy", 2, 0)); // the same again
    ftruncate(fd, 1);
    fchmod(fd, 0600);
    futimens(fd, NULL);
    close(fd);
    events("reading and writing");
    truncate("one", 4);
    chmod("one", 0644);
    chown("one", getuid(), getgid());
    struct timespec times[2] = {{5, 0}, {0, UTIME_OMIT}};
    utimensat(AT_FDCWD, "one", times, 0);
    events("attributes");
    rename("one", "two");
    events("rename");
    link("two", "three");
    symlink("two", "four");
    mkdir("folder", 0755);
    mkfifo("fifo", 0600);
    events("names");
    SHOW(inotify_add_watch(in, "folder", IN_ALL_EVENTS));
    SHOW(inotify_add_watch(in, "four", IN_DONT_FOLLOW | IN_ALL_EVENTS));
    rename("two", "folder/a-name-that-is-longer");
    events("rename into a folder");
    unlink("three");
    unlink("four");
    unlink("fifo");
    events("unlinking");
    fd = open("folder/a-name-that-is-longer", O_RDONLY);
    unlink("folder/a-name-that-is-longer");
    events("unlinking what is open");
    SHOW(read(fd, b, 1));
    close(fd);
    events("its closing");
    put("x", O_CREAT | O_WRONLY, NULL);
    put("y", O_CREAT | O_WRONLY, NULL);
    SHOW(inotify_add_watch(in, "y", IN_ALL_EVENTS) > 0);
    events("two files");
    rename("x", "y");
    events("rename over the other");
    put("x", O_CREAT | O_WRONLY, NULL);
    SHOW(inotify_add_watch(in, "x", IN_ALL_EVENTS) > 0);
    SHOW(inotify_add_watch(in, "y", IN_ALL_EVENTS) > 0);
    mkdir("moved", 0755);
    mkdir("there", 0755);
    SHOW(inotify_add_watch(in, "moved", IN_ALL_EVENTS) > 0);
    SHOW(inotify_add_watch(in, "there", IN_ALL_EVENTS) > 0);
    events("watches of both");
    rename("x", "y");
    rename("moved", "there");
    events("both watched");
    rmdir("there");
    events("the folder gone");
    put("from", O_CREAT | O_WRONLY, "text");
    const int source = open("from", O_RDONLY), target = open("to", O_CREAT | O_RDWR, 0644);
    events("files to copy");
    SHOW(sendfile(target, source, NULL, 4));
    events("sendfile");
    lseek(source, 0, SEEK_SET);
    SHOW(copy_file_range(source, NULL, target, NULL, 4, 0));
    events("copy_file_range");
    const int excl = inotify_init1(IN_NONBLOCK);
    SHOW(inotify_add_watch(excl, ".", IN_ALL_EVENTS | IN_EXCL_UNLINK));
    SHOW(inotify_add_watch(excl, "to", IN_ALL_EVENTS | IN_EXCL_UNLINK));
    unlink("to");
    events("unlinking");
    SHOW(write(target, "x", 1));
    close(target);
    close(source);
    unlink("from");
    events("the end of the copy");
    const int before = in;
    in = excl;
    events("without those of open files that have no name");
    in = before;
    close(excl);
    rmdir("folder");
    events("rmdir");
    SHOW(inotify_add_watch(in, "y", IN_OPEN | IN_ONESHOT) > 0);
    put("y", O_RDONLY, NULL);
    put("y", O_RDONLY, NULL);
    SHOW(inotify_add_watch(in, ".", IN_CREATE));
    events("a watch for once");
    unlink("y");
    put("z", O_CREAT | O_WRONLY, NULL);
    SHOW(inotify_add_watch(in, ".", IN_MASK_ADD | IN_DELETE));
    unlink("z");
    events("fewer kinds");
    SHOW(inotify_rm_watch(in, 1));
    put("z", O_CREAT | O_WRONLY, NULL);
    events("the end of the watch");

    in = inotify_init1(IN_NONBLOCK);
    mkdir("m", 0755);
    SHOW(mount("none", "m", "tmpfs", 0, NULL));
    put("m/file", O_CREAT | O_WRONLY, NULL);
    SHOW(inotify_add_watch(in, "m/file", IN_OPEN));
    SHOW(umount("m"));
    events("unmounting");
    rmdir("m");
    fd = open("whole", O_CREAT | O_RDWR, 0644);
    SHOW(inotify_add_watch(in, "whole", IN_ALL_EVENTS));
    SHOW(fallocate(fd, 0, 0, 4096));
    SHOW(fchown(fd, -1, -1));
    SHOW(fallocate(fd, 0, 0, -1));
    events("fallocate and a chown that changes nothing");
    close(fd);
    unlink("whole");
    close(in);

    // Who waits is woken.
    in = inotify_init();
    SHOW(inotify_add_watch(in, ".", IN_CREATE | IN_MOVED_TO));
    if (!fork()) {
        usleep(20000);
        put("late", O_CREAT | O_WRONLY, NULL);
        _exit(0);
    }
    struct pollfd p = {in, POLLIN, 0};
    SHOW(poll(&p, 1, 0));
    SHOW(poll(&p, 1, -1));
    SHOW(p.revents);
    char one[512];
    SHOW(read(in, one, sizeof one));
    wait(NULL);
    if (!fork()) {
        usleep(20000);
        rename("late", "later");
        _exit(0);
    }
    SHOW(read(in, one, sizeof one));
    wait(NULL);
    SHOW(write(in, one, 1));
    SHOW(lseek(in, 0, SEEK_SET));
    close(in);
    // More than a queue holds.
    in = inotify_init1(IN_NONBLOCK);
    SHOW(inotify_add_watch(in, ".", IN_OPEN | IN_CLOSE));
    for (int i = 0; i < 8300; ++i) put("later", O_RDONLY, NULL);
    int n = 0, last = 0;
    static char all[1 << 20];
    for (ssize_t got; (got = read(in, all, sizeof all)) > 0;)
        for (ssize_t at = 0; at < got; ++n) {
            const struct inotify_event* e = (void*)(all + at);
            at += (ssize_t)sizeof *e + e->len;
            last = (int)e->mask;
        }
    SHOW(n);
    SHOW(last);
    close(in);
    int first = inotify_init(), instances = 1;
    while (instances < 1000 && inotify_init() >= 0) ++instances;
    const int error = errno;
    SHOW(error == EMFILE);
    SHOW(instances);
    SHOW(first >= 0);
    unlink("later");
    unlink("z");
    chdir("/");
    SHOW(rmdir(dir));
    return 0;
}
