// SPDX-License-Identifier: Apache-2.0
// Which mapping of /proc/self/maps the program break lies behind, and what memory elsewhere is called.
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void name_of(const char* what, const void* p) {
    FILE* f = fopen("/proc/self/maps", "r");
    char line[512], name[256];
    while (f && fgets(line, sizeof line, f)) {
        unsigned long start, end;
        name[0] = 0;
        if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %255s", &start, &end, name) >= 2 && start <= (unsigned long)p &&
            (unsigned long)p < end)
            printf("%s: \"%s\"\n", what, strncmp(name, "/", 1) ? name : "file");
    }
    if (f) fclose(f);
}

int main(void) {
    char* const heap = sbrk(3 * 4096);
    name_of("below the break", heap + 4096);
    name_of("mapped", mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    name_of("local", &heap);
    name_of("constant", "text");
    return 0;
}
