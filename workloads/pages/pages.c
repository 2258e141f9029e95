// SPDX-License-Identifier: Apache-2.0
// Stresses page faults: maps PAGES fresh pages, touches each once, unmaps, ROUNDS times. pages [PAGES] [ROUNDS]
#include <sys/mman.h>

#include "common/workload.h"

enum { PAGE = 4096 };

int main(int argc, char** argv) {
    uint64_t pages = workload_arg(argc, argv, 1, 1000, 1u << 20), rounds = workload_arg(argc, argv, 2, 3, 1u << 20),
             sum = 0;
    for (uint64_t r = 0; r < rounds; r++) {
        unsigned char* p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) {
            perror("pages: mmap");
            return 1;
        }
        for (uint64_t i = 0; i < pages; i++) p[i * PAGE + i % PAGE] = (unsigned char)(i + r);
        for (uint64_t i = 0; i < pages; i++) sum = workload_mix(sum, p[i * PAGE + i % PAGE]);
        munmap(p, pages * PAGE);
    }
    return workload_report("pages", sum);
}
