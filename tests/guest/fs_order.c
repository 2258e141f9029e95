// SPDX-License-Identifier: Apache-2.0
// In which order a directory of tmpfs lists its names: the latest first, whatever made it so.
#include "fs_guest.h"

static void list(const char* what) {
    printf("%s:", what);
    DIR* d = opendir(".");
    for (struct dirent* e; (e = readdir(d));)
        if (e->d_name[0] != '.') printf(" %s", e->d_name);
    closedir(d);
    printf("\n");
}

static void make(const char* name) { close(open(name, O_CREAT | O_WRONLY, 0644)); }

int main(void) {
    mkdir("/tmp/order", 0755);
    chdir("/tmp/order");
    for (const char* n = "cabed"; *n; ++n) make((char[]){*n, 0});
    list("made c a b e d");
    make("a");
    list("opened a again");
    unlink("b");
    list("without b");
    make("b");
    list("b anew");
    rename("c", "x");
    list("c is x");
    rename("x", "a");
    list("x replaces a");
    link("d", "l");
    symlink("d", "s");
    mkdir("k", 0755);
    list("a link, a symbolic link, a folder");
    renameat2(AT_FDCWD, "e", AT_FDCWD, "s", RENAME_EXCHANGE);
    list("e and s exchanged");
    rename("d", "k/d");
    list("d went into k");
    rename("k/d", "d");
    list("and came back");
    return 0;
}
