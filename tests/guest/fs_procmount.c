// SPDX-License-Identifier: Apache-2.0
// Options of a mount of /proc: subset=pid, hidepid and gid; what is refused.
#include "perf_guest.h"

#include <dirent.h>
#include <sys/mount.h>
#include <sys/stat.h>

#define AT "/tmp/procmount"
/// Which kinds of entries the folder lists.
static void entries(void) {
    DIR* d = opendir(AT);
    char mine[16];
    snprintf(mine, sizeof mine, "%d", getpid());
    int own = 0, one = 0, self = 0, others = 0;
    for (struct dirent* e; d && (e = readdir(d));) {
        own += !strcmp(e->d_name, mine);
        one += !strcmp(e->d_name, "1");
        self += !strcmp(e->d_name, "self") || !strcmp(e->d_name, "thread-self");
        others += !strcmp(e->d_name, "meminfo") || !strcmp(e->d_name, "sys") || !strcmp(e->d_name, "net");
    }
    if (d) closedir(d);
    printf("own %d, init %d, self %d, others %d\n", own, one, self, others);
}

static void look(void) {
    entries();
    SHOW(access(AT "/meminfo", F_OK));
    SHOW(access(AT "/self/status", F_OK));
    SHOW(access(AT "/1/status", R_OK));
    SHOW(access(AT "/sys", F_OK));
    SHOW(access(AT "/net", F_OK));
    SHOW(access(AT "/self/mounts", F_OK));
    FILE* f = fopen(AT "/self/mountinfo", "r");
    for (char line[512]; f && fgets(line, sizeof line, f);)
        if (strstr(line, " " AT " ")) printf("info%s", strstr(line, " - "));
    if (f) fclose(f);
    fflush(stdout);
    for (int gid = 100; gid <= 200; gid += 100)
        if (!fork()) {
            if (setgid((gid_t)gid) || setuid(1000)) _exit(1);
            printf("as user 1000 of group %d: ", gid);
            entries();
            SHOW(access(AT "/1", F_OK));
            SHOW(open(AT "/1/status", O_RDONLY) >= 0);
            SHOW(opendir(AT "/1") != NULL);
            SHOW(access(AT "/self/status", R_OK));
            _exit(0);
        } else {
            wait(NULL);
        }
}

int main(void) {
    mkdir(AT, 0755);
    static const char* const options[] = {"",
                                          "subset=pid",
                                          "hidepid=0",
                                          "hidepid=1",
                                          "hidepid=2",
                                          "hidepid=3",
                                          "hidepid=4",
                                          "hidepid=invisible",
                                          "hidepid=ptraceable",
                                          "hidepid=noaccess",
                                          "hidepid=off",
                                          "hidepid=2,gid=100",
                                          "hidepid=4,gid=100",
                                          "gid=100",
                                          "gid=x",
                                          "subset=all",
                                          "subset=",
                                          "nonsense",
                                          "hidepid",
                                          "hidepid=5",
                                          "hidepid=2,subset=pid"};
    for (unsigned i = 0; i < sizeof options / sizeof *options; ++i) {
        printf("\"%s\"\n", options[i]);
        SHOW(mount("proc", AT, "proc", 0, options[i]));
        look();
        umount(AT);
    }
    SHOW(rmdir(AT));
    return 0;
}
