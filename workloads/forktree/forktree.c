// SPDX-License-Identifier: Apache-2.0
// Stresses process creation and inherited events: a binary tree of processes, each computing WORK steps. forktree [DEPTH] [WORK]
#include <sys/wait.h>
#include <unistd.h>

#include "common/workload.h"

WORKLOAD_FUNCTION static uint64_t work(uint64_t x, uint64_t steps) {
    while (steps--) x = x * 6364136223846793005u + 1442695040888963407u;
    return x;
}

// Every process tells its result to its parent through a pipe.
static uint64_t node(uint64_t depth, uint64_t name, uint64_t steps) {
    uint64_t sum = work(name, steps);
    for (uint64_t child = 0; depth > 1 && child < 2; child++) {
        int fd[2], status;
        uint64_t result;
        if (pipe(fd)) {
            perror("forktree: pipe");
            exit(1);
        }
        pid_t pid = fork();
        if (pid < 0) {
            perror("forktree: fork");
            exit(1);
        }
        if (!pid) {
            result = node(depth - 1, 2 * name + child, steps);
            _exit(write(fd[1], &result, sizeof(result)) != sizeof(result));
        }
        close(fd[1]);
        if (read(fd[0], &result, sizeof(result)) != sizeof(result) || waitpid(pid, &status, 0) != pid || status) {
            fprintf(stderr, "forktree: a child failed\n");
            exit(1);
        }
        close(fd[0]);
        sum = workload_mix(sum, result);
    }
    return sum;
}

int main(int argc, char** argv) {
    uint64_t depth = workload_arg(argc, argv, 1, 4, 10), steps = workload_arg(argc, argv, 2, 300000, 1ull << 40);
    return workload_report("forktree", node(depth, 1, steps));
}
