// SPDX-License-Identifier: Apache-2.0
// timerfd: expirations that were missed, intervals far shorter than an interrupt takes, what gettime and read do to them.
#include "os_guest.h"

#include <poll.h>
#include <sys/timerfd.h>
#include <time.h>

static struct itimerspec spec(long value_ns, long interval_ns) {
    return (struct itimerspec){.it_value = {.tv_nsec = value_ns}, .it_interval = {.tv_nsec = interval_ns}};
}
static uint64_t take(int fd) {
    uint64_t n = 0;
    return read(fd, &n, 8) == 8 ? n : 0;
}
static void wait_us(long us) {
    const struct timespec t = {.tv_nsec = us * 1000};
    nanosleep(&t, NULL);
}

int main(void) {
    const int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    struct itimerspec s = spec(1000000, 1000000), now;
    SHOW(timerfd_settime(fd, 0, &s, NULL));
    SHOW(read(fd, &now, 8));
    wait_us(5500);
    say("missed: %d", (int)take(fd));
    say("none left: %d", (int)take(fd));
    wait_us(2000);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    SHOW(poll(&p, 1, 0));
    SHOW(timerfd_gettime(fd, &now)); // counts what was missed and starts it again
    say("interval %ld, value within it: %d", now.it_interval.tv_nsec,
        now.it_value.tv_nsec > 0 && now.it_value.tv_nsec <= 1000000);
    wait_us(3000);
    const int more = (int)take(fd);
    say("about five: %d", more >= 4 && more <= 6);
    s = spec(1, 1); // every nanosecond
    SHOW(timerfd_settime(fd, 0, &s, NULL));
    wait_us(3000);
    const uint64_t many = take(fd);
    say("millions: %d", many > 2000000 && many < 100000000);
    s = spec(1000, 0);
    SHOW(timerfd_settime(fd, 0, &s, NULL));
    wait_us(3000);
    say("once: %d", (int)take(fd));
    SHOW(timerfd_gettime(fd, &now));
    say("off: %ld %ld", now.it_value.tv_nsec, now.it_interval.tv_nsec);

    // A POSIX timer of the same kind leaves the program time to run.
    timer_t t;
    struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    signal(SIGUSR1, SIG_IGN);
    SHOW(timer_create(CLOCK_MONOTONIC, &e, &t));
    s = spec(1, 1);
    SHOW(timer_settime(t, 0, &s, NULL));
    volatile long n = 0;
    while (n < 100000) n = n + 1;
    SHOW(timer_delete(t));
    return 0;
}
