// SPDX-License-Identifier: Apache-2.0
// exec by somebody who runs with rights that are not his own: the process is not dumpable any more, and the events of
// others leave it, as at its end. [CORE-130]
#include "perf_guest.h"

#include <poll.h>
#include <sys/prctl.h>
#include <time.h>

static void watch(const char* how) {
    printf("%s\n", how);
    int go[2], up[2];
    pipe(go);
    pipe(up);
    const int pid = fork();
    if (!pid) {
        char b;
        dup2(go[0], 50);
        dup2(up[1], 51);
        read(go[0], &b, 1);
        if (*how == 'e') setresuid(0, 1000, 0);
        if (*how == 'g') setresgid(0, 1000, 0);
        execl("/proc/self/exe", "perf_setid", "child", NULL);
        _exit(9);
    }
    struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_TASK_CLOCK);
    attr.task = 1;
    attr.sample_period = 1000000000;
    const int fd = perf_open(&attr, pid, -1, -1, 0);
    char* ring = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    SHOW(ring != MAP_FAILED);
    write(go[1], "x", 1);
    char dumpable = 0;
    read(up[0], &dumpable, 1);
    SHOW(dumpable - '0');
    struct pollfd p = {fd, POLLIN, 0};
    poll(&p, 1, 0);
    SHOW(p.revents & POLLHUP ? 1 : 0);
    const struct perf_event_header* h = (const void*)(ring + 4096);
    const uint64_t head = ((struct perf_event_mmap_page*)ring)->data_head;
    SHOW(head ? h->type : 0);
    // It can still be asked, and another can be opened.
    SHOW(read(fd, &(uint64_t){0}, 8));
    const int again = perf_open(&(struct perf_event_attr){.type = 1, .size = sizeof attr, .config = 9}, pid, -1, -1, 0);
    SHOW(again >= 0);
    write(go[1], "x", 1);
    waitpid(pid, NULL, 0);
    close(fd);
    close(again);
}

int main(int argc, char** argv) {
    (void)argv;
    if (argc > 1) {
        char b = (char)('0' + prctl(PR_GET_DUMPABLE));
        write(51, &b, 1);
        read(50, &b, 1);
        return 0;
    }
    watch("with its own rights");
    watch("effective user");
    watch("group");
    return 0;
}
