// SPDX-License-Identifier: Apache-2.0
// Files that shrink, grow and get holes while they are mapped: what the mappings show, and where SIGBUS comes.
#include "os_guest.h"

#include <setjmp.h>
#include <sys/mman.h>

static sigjmp_buf back;
static void on_signal(int s) { siglongjmp(back, s); }
/// The byte, or minus the signal that came of looking at it.
static int look(volatile char* p) {
    const int s = sigsetjmp(back, 1);
    return s ? -s : *p;
}

static void shrink(const char* name, int fd, int flags) {
    char bytes[2 * PAGE];
    memset(bytes, 'x', sizeof bytes);
    pwrite(fd, bytes, sizeof bytes, 0);
    char* m = mmap(NULL, sizeof bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    say("%s: %d %d", name, look(m), look(m + PAGE));
    if (flags == MAP_PRIVATE) m[0] = 'p', m[PAGE] = 'q'; // copies of its own
    ftruncate(fd, PAGE);
    say("one page: %d %d", look(m), look(m + PAGE));
    ftruncate(fd, 2 * PAGE);
    say("two pages again: %d %d", look(m), look(m + PAGE));
    ftruncate(fd, 100);
    say("100 bytes: %d %d %d", look(m + 99), look(m + 100), look(m + PAGE));
    ftruncate(fd, 2 * PAGE);
    say("two pages once more: %d %d %d", look(m + 99), look(m + 100), look(m + PAGE));
    pwrite(fd, bytes, sizeof bytes, 0);
    say("written: %d %d", look(m + 100), look(m + PAGE));
    SHOW(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, PAGE, PAGE));
    say("with a hole: %d %d", look(m), look(m + PAGE));
    munmap(m, sizeof bytes);
}

int main(void) {
    signal(SIGBUS, on_signal);
    signal(SIGSEGV, on_signal);
    const int memory = memfd_create("m", 0);
    shrink("memory, shared", memory, MAP_SHARED);
    shrink("memory, private", memory, MAP_PRIVATE);
    char path[] = "/tmp/os_truncateXXXXXX";
    const int file = mkstemp(path);
    shrink("file, shared", file, MAP_SHARED);
    shrink("file, private", file, MAP_PRIVATE);
    // Another process has it mapped, and a program opens it anew for writing.
    char* m = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, file, 0);
    say("before: %d", look(m));
    const int again = open(path, O_RDWR | O_TRUNC);
    say("emptied: %d", look(m));
    pwrite(again, "new", 3, 0);
    say("filled: %d %d", look(m), look(m + 3));
    unlink(path);
    return 0;
}
