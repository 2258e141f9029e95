// SPDX-License-Identifier: Apache-2.0
// /proc/self/smaps of anonymous, shared, locked and protected memory, before and after fork: whose pages they are.
#include "os_guest.h"

#include <sys/mman.h>
#include <sys/wait.h>

enum { kBytes = 40960 };

/// The block of the mapping that holds `p`.
static void show(const char* name, const void* p) {
    FILE* f = fopen("/proc/self/smaps", "r");
    char line[300];
    int on = 0;
    while (fgets(line, sizeof line, f)) {
        unsigned long from, to;
        char rights[8];
        if (sscanf(line, "%lx-%lx %4s", &from, &to, rights) == 3 && strlen(rights) == 4) {
            on = (unsigned long)p >= from && (unsigned long)p < to;
            if (on) say("%s %s", name, rights);
        } else if (on && strncmp(line, "Referenced", 10)) { // that ages
            printf("  %s", line);
        }
    }
    fclose(f);
    fflush(stdout);
}

int main(void) {
    char* anon = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char* hole = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); // keeps them apart
    char* shared = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    anon[0] = anon[4096] = 1;
    volatile char c = anon[8192]; // the zero page is nobody's
    (void)c;
    shared[0] = 1;
    show("anonymous", anon);
    show("nothing", hole);
    show("shared", shared);
    int ready[2], go[2];
    char x;
    if (pipe(ready) || pipe(go)) return 1;
    const pid_t child = fork();
    if (!child) {
        anon[0] = 2; // its own from now on
        show("child's anonymous", anon);
        show("child's shared", shared);
        if (write(ready[1], "x", 1) != 1 || read(go[0], &x, 1) != 1) _exit(1);
        _exit(0);
    }
    if (read(ready[0], &x, 1) != 1) return 1;
    show("parent's anonymous", anon);
    show("parent's shared", shared);
    if (write(go[1], "x", 1) != 1) return 1;
    waitpid(child, NULL, 0);
    show("anonymous again", anon);
    madvise(anon, 4096, MADV_DONTFORK);
    show("not inherited", anon);
    show("the rest", anon + 4096);
    madvise(anon, 4096, MADV_DOFORK);
    mprotect(anon, kBytes, PROT_READ);
    show("protected", anon);
    show("locked", mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0));
    return 0;
}
