// SPDX-License-Identifier: Apache-2.0
// What gdb is tried on: a function that is called often, a variable that is written rarely, and an end of its own.
#include <stdio.h>

volatile long counter;
volatile double ratio = 0.5;
char message[32] = "before";

__attribute__((noinline)) long work(long n) {
    long sum = 0;
    for (long i = 0; i < n; i++) sum += i;
    return sum;
}

__attribute__((noinline)) void tick(long n) { counter = n; }

int main(void) {
    long sum = 0;
    for (long i = 1; i <= 5; i++) {
        sum += work(i * 100);
        tick(i);
    }
    printf("%s %ld\n", message, sum);
    return 3;
}
