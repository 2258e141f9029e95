// SPDX-License-Identifier: Apache-2.0
// Processes: fork, vfork, clone, exec, wait in all its ways, sessions and groups, memory after fork.
#include "os_guest.h"

#include <linux/sched.h>
#include <spawn.h>

static const char* self;

static pid_t child(int code) {
    pid_t p = fork();
    if (p == 0) {
        if (code < 0) kill(getpid(), -code), pause();
        _exit(code);
    }
    return p;
}

static void waits(void) {
    int s;
    siginfo_t i;
    pid_t p = child(7);
    say("wait: %d %s", wait(&s) == p, status_text(s));
    SHOW(wait(&s));
    p = child(300);
    say("waitpid: %d %s", waitpid(p, &s, 0) == p, status_text(s));
    p = child(-SIGTERM);
    say("killed: %d %s", waitpid(p, &s, 0) == p, status_text(s));
    p = child(-SIGABRT);
    say("aborted: %d %s", waitpid(-1, &s, 0) == p, status_text(s));
    p = child(3);
    memset(&i, 0xff, sizeof i);
    SHOW(waitid(P_PID, p, &i, WEXITED | WNOWAIT));
    say("siginfo: %d %d %d %d %d", i.si_signo, i.si_code == CLD_EXITED, i.si_pid == p, i.si_uid, i.si_status);
    SHOW(waitid(P_ALL, 0, &i, WEXITED));
    SHOW(waitid(P_ALL, 0, &i, WEXITED));
    SHOW(waitid(P_ALL, 0, &i, 0));
    SHOW(waitid(P_PID, -1, &i, WEXITED));
    SHOW(waitpid(p, &s, 0));
    SHOW(waitpid(1, &s, WNOHANG));
    SHOW(waitpid(-1, &s, 0x100));
    p = fork();
    if (p == 0) {
        msleep(20);
        _exit(1);
    }
    SHOW(waitpid(p, &s, WNOHANG));
    memset(&i, 0xff, sizeof i);
    SHOW(waitid(P_PID, p, &i, WEXITED | WNOHANG));
    say("nothing yet: %d %d", i.si_pid, i.si_signo);
    SHOW(waitpid(-getpgrp(), &s, 0) == p);
    struct rusage ru;
    p = child(0);
    say("wait4: %d %d", wait4(p, &s, 0, &ru) == p, ru.ru_minflt > 0);
    int pids = 0;
    for (int k = 0; k < 20; k++) child(k);
    while (wait(&s) > 0) pids += WEXITSTATUS(s);
    say("20 children: %d", pids);
}

static void stops(void) {
    int s;
    siginfo_t i;
    pid_t p = fork();
    if (p == 0)
        for (;;) pause();
    kill(p, SIGSTOP);
    say("stop: %d %s", waitpid(p, &s, WUNTRACED) == p, status_text(s));
    SHOW(waitpid(p, &s, WUNTRACED | WNOHANG));
    kill(p, SIGCONT);
    say("cont: %d %s", waitpid(p, &s, WCONTINUED) == p, status_text(s));
    kill(p, SIGSTOP);
    SHOW(waitid(P_PID, p, &i, WSTOPPED));
    say("waitid stop: %d %d", i.si_code == CLD_STOPPED, i.si_status);
    kill(p, SIGCONT);
    SHOW(waitid(P_PID, p, &i, WCONTINUED));
    say("waitid cont: %d %d", i.si_code == CLD_CONTINUED, i.si_status);
    kill(p, SIGSTOP);
    SHOW(waitid(P_PID, p, &i, WSTOPPED));
    kill(p, SIGKILL);
    say("kill while stopped: %d %s", waitpid(p, &s, 0) == p, status_text(s));
}

static volatile int shared_value = 1;
static void vforks(void) {
    int s;
    pid_t p = vfork();
    if (p == 0) {
        shared_value = 2;
        _exit(5);
    }
    waitpid(p, &s, 0);
    say("vfork: %d %s", shared_value, status_text(s));
    p = fork();
    if (p == 0) {
        shared_value = 3;
        _exit(6);
    }
    waitpid(p, &s, 0);
    say("fork: %d %s", shared_value, status_text(s));
}

static int clone_child(void* arg) {
    shared_value = 10;
    return (int)(long)arg;
}
static void clones(void) {
    static char stack[65536] __attribute__((aligned(16)));
    int s, tid = 0, parent_tid = 0;
    pid_t p = clone(clone_child, stack + sizeof stack, SIGCHLD, (void*)4L);
    waitpid(p, &s, 0);
    say("clone: %d %s", shared_value, status_text(s));
    p = clone(clone_child, stack + sizeof stack, CLONE_VM | SIGCHLD, (void*)5L);
    waitpid(p, &s, 0);
    say("clone VM: %d %s", shared_value, status_text(s));
    p = clone(clone_child, stack + sizeof stack, CLONE_VM | CLONE_PARENT_SETTID | CLONE_CHILD_SETTID | SIGCHLD,
              (void*)6L, &parent_tid, NULL, &tid);
    waitpid(p, &s, 0);
    say("tids: %d %d %s", parent_tid == p, tid == p, status_text(s));
    p = clone(clone_child, stack + sizeof stack, 0, (void*)7L);
    SHOW(waitpid(p, &s, 0));
    say("no signal: %d %s", waitpid(p, &s, __WALL) == p, status_text(s));
    SHOW(clone(clone_child, stack + sizeof stack, CLONE_THREAD, NULL));
    SHOW(clone(clone_child, stack + sizeof stack, CLONE_SIGHAND, NULL));
    SHOW(clone(clone_child, stack + sizeof stack, CLONE_FS | CLONE_NEWNS, NULL));
    struct clone_args a;
    memset(&a, 0, sizeof a);
    SHOW(syscall(SYS_clone3, &a, 8));
    a.exit_signal = 1000;
    SHOW(syscall(SYS_clone3, &a, sizeof a));
    a.exit_signal = SIGCHLD;
    a.stack = 16;
    SHOW(syscall(SYS_clone3, &a, sizeof a));
    a.stack = 0;
    p = syscall(SYS_clone3, &a, sizeof a);
    if (p == 0) _exit(9);
    waitpid(p, &s, 0);
    say("clone3: %s", status_text(s));
}

static void execs(void) {
    int s;
    char* none[] = {NULL};
    SHOW(execve("/nonexistent", none, none));
    SHOW(execve("/", none, none));
    SHOW(execve(NULL, none, none));
    SHOW(execve("", none, none));
    pid_t p = fork();
    if (p == 0) {
        char* argv[] = {"renamed", "exec", "two words", "", NULL};
        char* envp[] = {"VAR=value", NULL};
        execve(self, argv, envp);
        _exit(99);
    }
    waitpid(p, &s, 0);
    say("exec: %s", status_text(s));
    p = vfork();
    if (p == 0) {
        execl(self, "x", "exit", "17", NULL);
        _exit(98);
    }
    waitpid(p, &s, 0);
    say("vfork exec: %s", status_text(s));
    char* argv[] = {"x", "exit", "18", NULL};
    ERR(posix_spawn(&p, self, NULL, NULL, argv, none));
    waitpid(p, &s, 0);
    say("spawn: %s", status_text(s));
    ERR(posix_spawn(&p, "/nonexistent", NULL, NULL, argv, none));
}

static void* execs_in_thread(void* arg) {
    execl(self, "x", "threadexec", NULL);
    return arg;
}
static void* sleeps(void* arg) {
    for (;;) pause();
    return arg;
}
static void* spins(void* arg) {
    for (volatile long i = 0;; i++) {
    }
    return arg;
}
static void thread_exec(void) {
    int s;
    pid_t p = fork();
    if (p == 0) {
        pthread_t t;
        char expected[16];
        snprintf(expected, sizeof expected, "%d", getpid());
        setenv("PID", expected, 1);
        pthread_create(&t, NULL, sleeps, NULL);
        pthread_create(&t, NULL, spins, NULL);
        pthread_create(&t, NULL, execs_in_thread, NULL);
        sleeps(NULL);
    }
    waitpid(p, &s, 0);
    say("exec by a thread: %s", status_text(s));
    p = fork();
    if (p == 0) {
        pthread_t t;
        pthread_create(&t, NULL, spins, NULL);
        pthread_create(&t, NULL, sleeps, NULL);
        msleep(2);
        exit(21);
    }
    waitpid(p, &s, 0);
    say("exit_group: %s", status_text(s));
    p = fork();
    if (p == 0) {
        pthread_t t;
        pthread_create(&t, NULL, spins, NULL);
        msleep(1);
        kill(getpid(), SIGKILL);
        sleeps(NULL);
    }
    waitpid(p, &s, 0);
    say("killed threads: %s", status_text(s));
}
static void* leader_gone(void* arg) {
    msleep(10);
    _exit((int)(long)arg);
}
static void leader_exits(void) {
    int s;
    pid_t p = fork();
    if (p == 0) {
        pthread_t t;
        pthread_create(&t, NULL, leader_gone, (void*)31L);
        pthread_exit(NULL);
    }
    msleep(4);
    SHOW(waitpid(p, &s, WNOHANG));
    waitpid(p, &s, 0);
    say("leader left first: %s", status_text(s));
}

static void groups(void) {
    int s, pipefd[2];
    SHOW(getpgid(0) == getpgrp());
    SHOW(setpgid(-1, 0));
    SHOW(getpgid(999999));
    SHOW(setsid() > 0 || errno == EPERM);
    pid_t p = fork();
    if (p == 0) {
        int bad = setsid() != getpid() || getpgrp() != getpid() || getsid(0) != getpid();
        bad += setpgid(0, 0) != -1;
        _exit(bad);
    }
    waitpid(p, &s, 0);
    say("setsid: %s", status_text(s));
    if (pipe(pipefd)) return;
    p = fork();
    if (p == 0) {
        setpgid(0, 0);
        for (int i = 0; i < 3; i++)
            if (fork() == 0)
                for (;;) pause();
        write(pipefd[1], "x", 1);
        int n = 0;
        while (wait(&s) > 0) n += WTERMSIG(s) == SIGUSR1;
        _exit(n);
    }
    char c;
    signal(SIGUSR1, SIG_IGN);
    read(pipefd[0], &c, 1);
    msleep(5);
    SHOW(waitpid(-p, &s, WNOHANG));
    p = p;
    kill(-p, SIGUSR1);
    waitpid(p, &s, 0);
    say("group kill: %s", status_text(s));
    signal(SIGUSR1, SIG_DFL);
    // An orphan is adopted.
    p = fork();
    if (p == 0) {
        pid_t me = getpid();
        if (fork() == 0) {
            while (getppid() == me) usleep(200);
            write(pipefd[1], getppid() == 1 ? "1" : "?", 1);
            _exit(0);
        }
        _exit(0);
    }
    waitpid(p, &s, 0);
    read(pipefd[0], &c, 1);
    say("adopted by: %c", c);
    SHOW(prctl(PR_SET_CHILD_SUBREAPER, 1));
    p = fork();
    if (p == 0) {
        if (fork() == 0) {
            msleep(5);
            _exit(44);
        }
        _exit(43);
    }
    waitpid(p, &s, 0);
    say("child: %s", status_text(s));
    say("grandchild: %d %s", wait(&s) > 0, status_text(s));
    SHOW(prctl(PR_SET_CHILD_SUBREAPER, 0));
}

static void memory(void) {
    int s;
    char* private = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char* shared = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    memset(private, 1, 8 * PAGE);
    shared[0] = 1;
    pid_t p = fork();
    if (p == 0) {
        private[0] = 2, private[PAGE] = 3;
        shared[0] = 4, shared[5 * PAGE] = 5;
        pid_t q = fork();
        if (q == 0) {
            private[0] = 6;
            shared[1] = 7;
            _exit(private[PAGE]);
        }
        waitpid(q, &s, 0);
        _exit(WEXITSTATUS(s) == 3 && private[0] == 2 && shared[1] == 7 ? 0 : 1);
    }
    private[2 * PAGE] = 9;
    waitpid(p, &s, 0);
    say("copy on write: %s, %d %d %d, %d %d %d", status_text(s), private[0], private[PAGE], private[2 * PAGE],
        shared[0], shared[1], shared[5 * PAGE]);
    TRY(madvise(private, PAGE, MADV_WIPEONFORK));
    TRY(madvise(private + PAGE, PAGE, MADV_DONTFORK));
    TRY(madvise(shared, PAGE, MADV_WIPEONFORK));
    private[0] = 8;
    p = fork();
    if (p == 0) {
        if (private[0]) _exit(1);
        private[PAGE] = 1;
        _exit(2);
    }
    waitpid(p, &s, 0);
    say("wipe and dontfork: %s", status_text(s));
}

int main(int argc, char** argv) {
    self = "/proc/self/exe";
    if (argc > 1 && !strcmp(argv[1], "exec")) {
        say("in exec: %d args, %s, [%s] [%s], VAR %s, pages %d", argc, argv[0], argv[2], argv[3], getenv("VAR"),
            getenv("PATH") != NULL);
        return 23;
    }
    if (argc > 1 && !strcmp(argv[1], "exit")) return atoi(argv[2]);
    if (argc > 1 && !strcmp(argv[1], "threadexec"))
        return getpid() == atoi(getenv("PID")) && gettid() == getpid() ? 29 : 1;
    waits();
    stops();
    vforks();
    clones();
    execs();
    thread_exec();
    leader_exits();
    groups();
    memory();
    return 0;
}
