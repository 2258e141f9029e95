// SPDX-License-Identifier: Apache-2.0
// Threads: mutexes of all kinds, condition variables, barriers, semaphores, many threads, their stacks and ends.
#include "os_guest.h"

#include <semaphore.h>

enum { N = 8, ROUNDS = 2000, MANY = 200 };

static pthread_mutex_t lock;
static long counter;

static void* add(void* arg) {
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&lock);
        counter++;
        pthread_mutex_unlock(&lock);
        if (arg && i % 100 == 0) sched_yield();
    }
    return arg;
}

static void contend(const char* name, int type, int protocol, int robust) {
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_settype(&a, type);
    pthread_mutexattr_setprotocol(&a, protocol);
    pthread_mutexattr_setrobust(&a, robust);
    pthread_mutex_init(&lock, &a);
    counter = 0;
    pthread_t t[N];
    for (long i = 0; i < N; i++) pthread_create(&t[i], NULL, add, (void*)i);
    for (int i = 0; i < N; i++) pthread_join(t[i], NULL);
    say("%s: %ld", name, counter);
    pthread_mutex_destroy(&lock);
}

static void* dies_with_lock(void* arg) {
    pthread_mutex_lock(&lock);
    msleep(5);
    return arg;
}

static void robust(int protocol) {
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_setprotocol(&a, protocol);
    pthread_mutex_init(&lock, &a);
    pthread_t t;
    pthread_create(&t, NULL, dies_with_lock, NULL);
    msleep(2);
    ERR(pthread_mutex_lock(&lock));
    ERR(pthread_mutex_consistent(&lock));
    ERR(pthread_mutex_unlock(&lock));
    pthread_join(t, NULL);
    pthread_create(&t, NULL, dies_with_lock, NULL);
    pthread_join(t, NULL);
    ERR(pthread_mutex_lock(&lock));
    ERR(pthread_mutex_unlock(&lock));
    ERR(pthread_mutex_lock(&lock));
    pthread_mutex_destroy(&lock);
}

static void kinds(void) {
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&lock, &a);
    ERR(pthread_mutex_unlock(&lock));
    ERR(pthread_mutex_lock(&lock));
    ERR(pthread_mutex_lock(&lock));
    ERR(pthread_mutex_trylock(&lock));
    ERR(pthread_mutex_unlock(&lock));
    pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&lock, &a);
    ERR(pthread_mutex_lock(&lock));
    ERR(pthread_mutex_lock(&lock));
    ERR(pthread_mutex_unlock(&lock));
    ERR(pthread_mutex_unlock(&lock));
    pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_NONE);
    pthread_mutex_init(&lock, &a);
    ERR(pthread_mutex_lock(&lock));
    ERR(pthread_mutex_lock(&lock));
    ERR(pthread_mutex_unlock(&lock));
    ERR(pthread_mutex_unlock(&lock));
    ERR(pthread_mutex_unlock(&lock));
}

static void* holds(void* arg) {
    pthread_mutex_lock(&lock);
    msleep(30);
    pthread_mutex_unlock(&lock);
    return arg;
}

static void timed(int protocol) {
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_setprotocol(&a, protocol);
    pthread_mutex_init(&lock, &a);
    pthread_t t;
    pthread_create(&t, NULL, holds, NULL);
    msleep(5);
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_nsec += 5000000;
    if (at.tv_nsec >= 1000000000) at.tv_nsec -= 1000000000, at.tv_sec++;
    ERR(pthread_mutex_timedlock(&lock, &at));
    at.tv_sec += 1;
    ERR(pthread_mutex_timedlock(&lock, &at));
    ERR(pthread_mutex_unlock(&lock));
    pthread_join(t, NULL);
}

// A bounded buffer with condition variables.
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER, not_full = PTHREAD_COND_INITIALIZER;
static long buffer[4], put_at, got_at, sum;
static void* producer(void* arg) {
    for (long i = 1; i <= 1000; i++) {
        pthread_mutex_lock(&m);
        while (put_at - got_at == 4) pthread_cond_wait(&not_full, &m);
        buffer[put_at++ % 4] = i;
        pthread_cond_signal(&not_empty);
        pthread_mutex_unlock(&m);
    }
    return arg;
}
static void* consumer(void* arg) {
    for (long i = 1; i <= 1000; i++) {
        pthread_mutex_lock(&m);
        while (put_at == got_at) pthread_cond_wait(&not_empty, &m);
        sum += buffer[got_at++ % 4];
        pthread_cond_signal(&not_full);
        pthread_mutex_unlock(&m);
    }
    return arg;
}
static void conditions(void) {
    pthread_t t[6];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, producer, NULL), pthread_create(&t[i + 3], NULL, consumer, NULL);
    for (int i = 0; i < 6; i++) pthread_join(t[i], NULL);
    say("bounded buffer: %ld", sum);
    pthread_mutex_lock(&m);
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    ERR(pthread_cond_timedwait(&not_empty, &m, &at));
    pthread_mutex_unlock(&m);
}

static pthread_barrier_t barrier;
static int phase[N], serial;
static void* steps(void* arg) {
    long me = (long)arg;
    int bad = 0;
    for (int i = 1; i <= 100; i++) {
        phase[me] = i;
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
            __atomic_add_fetch(&serial, 1, __ATOMIC_SEQ_CST);
        for (int k = 0; k < N; k++) bad += phase[k] != i;
        pthread_barrier_wait(&barrier);
    }
    return (void*)(long)bad;
}
static void barriers(void) {
    pthread_t t[N];
    long bad = 0;
    pthread_barrier_init(&barrier, NULL, N);
    for (long i = 0; i < N; i++) pthread_create(&t[i], NULL, steps, (void*)i);
    for (int i = 0; i < N; i++) {
        void* r;
        pthread_join(t[i], &r);
        bad += (long)r;
    }
    say("barrier: %ld early, %d serial", bad, serial);
}

static sem_t sem[2];
static void* pong(void* arg) {
    for (int i = 0; i < 500; i++) sem_wait(&sem[0]), sem_post(&sem[1]);
    return arg;
}
static void semaphores(void) {
    pthread_t t;
    sem_init(&sem[0], 0, 0), sem_init(&sem[1], 0, 0);
    pthread_create(&t, NULL, pong, NULL);
    for (int i = 0; i < 500; i++) sem_post(&sem[0]), sem_wait(&sem[1]);
    pthread_join(t, NULL);
    SHOW(sem_trywait(&sem[0]));
    struct timespec past = {1, 0};
    SHOW(sem_timedwait(&sem[0], &past));
}

static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static long pair[2];
static void* reader_writer(void* arg) {
    long bad = 0;
    for (int i = 0; i < 500; i++) {
        if ((i + (long)arg) % 4 == 0) {
            pthread_rwlock_wrlock(&rw);
            pair[0]++, pair[1]++;
        } else {
            pthread_rwlock_rdlock(&rw);
            bad += pair[0] != pair[1];
        }
        pthread_rwlock_unlock(&rw);
    }
    return (void*)bad;
}
static void rwlocks(void) {
    pthread_t t[N];
    long bad = 0;
    for (long i = 0; i < N; i++) pthread_create(&t[i], NULL, reader_writer, (void*)i);
    for (int i = 0; i < N; i++) {
        void* r;
        pthread_join(t[i], &r);
        bad += (long)r;
    }
    say("rwlock: %ld writes, %ld torn", pair[0], bad);
}

static __thread int mine = 5;
static _Atomic int started;
static void* one_of_many(void* arg) {
    mine += (int)(long)arg;
    started++;
    while (started < MANY) usleep(100);
    volatile char stack[20000];
    memset((void*)stack, mine, sizeof stack);
    return (void*)(long)(mine - 5 + stack[19999] * 0);
}
static void many(void) {
    static pthread_t t[MANY];
    pthread_attr_t a;
    pthread_attr_init(&a);
    pthread_attr_setstacksize(&a, 64 * 1024);
    int failed = 0;
    long total = 0;
    for (long i = 0; i < MANY; i++) failed += pthread_create(&t[i], &a, one_of_many, (void*)i) != 0;
    for (int i = 0; i < MANY; i++) {
        void* r;
        pthread_join(t[i], &r);
        total += (long)r;
    }
    say("%d threads: %d failed, sum %ld, main's own %d", MANY, failed, total, mine);
}

static void cleanup(void* arg) { say("cleanup %s", (char*)arg); }
static void* cancelled(void* arg) {
    pthread_cleanup_push(cleanup, arg);
    for (;;) pause();
    pthread_cleanup_pop(0);
    return NULL;
}
static void* detached(void* arg) {
    sem_post(arg);
    return NULL;
}
static void ends(void) {
    pthread_t t;
    void* r;
    pthread_create(&t, NULL, cancelled, "handler");
    msleep(2);
    ERR(pthread_cancel(t));
    pthread_join(t, &r);
    say("cancelled: %d", r == PTHREAD_CANCELED);
    sem_init(&sem[0], 0, 0);
    pthread_create(&t, NULL, detached, &sem[0]);
    ERR(pthread_detach(t));
    sem_wait(&sem[0]);
}

int main(void) {
    contend("normal", PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, 0);
    contend("recursive", PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, 0);
    contend("adaptive", PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_PRIO_NONE, 0);
    contend("robust", PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST);
    contend("inheriting", PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, 0);
    contend("inheriting robust", PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_ROBUST);
    kinds();
    robust(PTHREAD_PRIO_NONE);
    robust(PTHREAD_PRIO_INHERIT);
    timed(PTHREAD_PRIO_NONE);
    timed(PTHREAD_PRIO_INHERIT);
    conditions();
    barriers();
    semaphores();
    rwlocks();
    many();
    ends();
    return 0;
}
