// SPDX-License-Identifier: Apache-2.0
// Stresses the way into the kernel and back: N times getppid, uname and a one-byte pipe write and read. syscalls [N]
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/workload.h"

int main(int argc, char** argv) {
    uint64_t n = workload_arg(argc, argv, 1, 3000, 1ull << 32), sum = 0;
    int fd[2];
    if (pipe(fd)) {
        perror("syscalls: pipe");
        return 1;
    }
    for (uint64_t i = 0; i < n; i++) {
        struct utsname u;
        char c = (char)i;
        if (syscall(SYS_getppid) < 0 || uname(&u) || write(fd[1], &c, 1) != 1 || read(fd[0], &c, 1) != 1) {
            perror("syscalls");
            return 1;
        }
        sum = workload_mix(sum, (uint8_t)c);
    }
    return workload_report("syscalls", sum);
}
