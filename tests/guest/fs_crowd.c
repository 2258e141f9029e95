// SPDX-License-Identifier: Apache-2.0
// A crowd that polls one file, while threads on other CPUs put the file into an epoll instance and take it out again: the
// waiting for the lock of its queue must not let them into the middle of each other's work. Nor must an instance lose
// what it is about to report to those who take it out.
#include "fs_guest.h"

#include <pthread.h>
#include <sched.h>

enum { kSleepers = 40, kTogglers = 6, kRounds = 60 };
static int file, epoll_fd;
static volatile int stop;

static void pin(int nth) {
    static cpu_set_t all;
    if (!CPU_COUNT(&all)) sched_getaffinity(0, sizeof all, &all);
    nth %= CPU_COUNT(&all);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &all) && nth-- == 0) {
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            sched_setaffinity(0, sizeof one, &one);
        }
}
static void* sleeper(void* unused) {
    pin(7);
    for (struct pollfd p = {file, POLLIN, 0}; !stop;) poll(&p, 1, 3);
    return unused;
}
static void* toggler(void* nth) {
    pin(1 + (int)(long)nth);
    while (!stop) {
        struct epoll_event e = {.events = EPOLLIN};
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, file, &e);
        epoll_ctl(epoll_fd, EPOLL_CTL_DEL, file, NULL);
    }
    return NULL;
}

enum { kReady = 32 };
static int ready[kReady], busy_fd;
static void* reporter(void* unused) {
    pin(7);
    for (struct epoll_event e[kReady]; !stop;) epoll_wait(busy_fd, e, kReady, 0);
    return unused;
}
static void* remover(void* nth) {
    pin(1 + (int)(long)nth);
    for (long i = (long)nth; !stop; i = (i + 7) % kReady) {
        struct epoll_event e = {.events = EPOLLIN};
        epoll_ctl(busy_fd, EPOLL_CTL_DEL, ready[i], NULL);
        epoll_ctl(busy_fd, EPOLL_CTL_ADD, ready[i], &e);
    }
    return NULL;
}
static void reports(void) {
    pthread_t waiting, removers[kTogglers];
    busy_fd = epoll_create1(0);
    for (int i = 0; i < kReady; i++) {
        struct epoll_event e = {.events = EPOLLIN};
        ready[i] = eventfd(1, EFD_NONBLOCK);
        epoll_ctl(busy_fd, EPOLL_CTL_ADD, ready[i], &e);
    }
    stop = 0;
    pthread_create(&waiting, NULL, reporter, NULL);
    for (long i = 0; i < kTogglers; i++) pthread_create(&removers[i], NULL, remover, (void*)i);
    usleep(3000);
    stop = 1;
    pthread_join(waiting, NULL);
    for (int i = 0; i < kTogglers; i++) pthread_join(removers[i], NULL);
    struct epoll_event e[kReady];
    SHOW(epoll_wait(busy_fd, e, kReady, 0));
}

int main(void) {
    pthread_t sleepers[kSleepers], togglers[kTogglers];
    file = eventfd(0, EFD_NONBLOCK);
    epoll_fd = epoll_create1(0);
    pin(0);
    for (long i = 0; i < kSleepers; i++) pthread_create(&sleepers[i], NULL, sleeper, NULL);
    for (long i = 0; i < kTogglers; i++) pthread_create(&togglers[i], NULL, toggler, (void*)i);
    for (int i = 0; i < kRounds; i++) {
        uint64_t value = 1;
        usleep(100);
        write(file, &value, sizeof value);
        read(file, &value, sizeof value);
    }
    stop = 1;
    for (int i = 0; i < kTogglers; i++) pthread_join(togglers[i], NULL);
    for (int i = 0; i < kSleepers; i++) pthread_join(sleepers[i], NULL);
    struct epoll_event e = {.events = EPOLLIN};
    SHOW(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, file, &e));
    SHOW(epoll_ctl(epoll_fd, EPOLL_CTL_DEL, file, NULL));
    reports();
    return 0;
}
