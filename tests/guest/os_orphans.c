// SPDX-License-Identifier: Apache-2.0
// Process groups that are orphaned while something in them is stopped get SIGHUP and SIGCONT; SIGKILL ends the wait for a
// vfork child.
#include "os_guest.h"

static int tell; // a pipe's end
static volatile sig_atomic_t heard[2];
static void on_signal(int n) { heard[n == SIGCONT] = 1; }

// A child of `middle`, in a group of its own, that stops; `middle` ends then.
static void orphan(const char* what, int with_handler, int stops) {
    int p[2];
    if (pipe(p)) say("pipe");
    fflush(stdout);
    const pid_t middle = fork();
    if (!middle) {
        const pid_t inner = fork();
        if (!inner) {
            tell = p[1];
            setpgid(0, 0);
            if (with_handler) signal(SIGHUP, on_signal);
            signal(SIGCONT, on_signal);
            write(tell, "s", 1);
            if (stops) raise(SIGSTOP);
            msleep(20);
            char text[32];
            write(tell, text, (size_t)snprintf(text, sizeof text, "hup %d cont %d", heard[0], heard[1]));
            _exit(0);
        }
        setpgid(inner, inner);
        int status;
        if (stops)
            waitpid(inner, &status, WUNTRACED);
        else
            msleep(5);
        _exit(0);
    }
    close(p[1]);
    waitpid(middle, NULL, 0);
    char text[64] = "";
    int n = 0, r;
    while ((r = (int)read(p[0], text + n, sizeof text - 1 - (size_t)n)) > 0) n += r;
    close(p[0]);
    say("%s: %s", what, text);
}

static void vfork_wait(int signo) {
    int p[2];
    if (pipe(p)) say("pipe");
    const pid_t parent = fork();
    if (!parent) {
        const pid_t child = vfork();
        if (!child) {
            write(p[1], "v", 1);
            struct timespec t = {0, 60 * 1000000l};
            nanosleep(&t, NULL);
            _exit(3);
        }
        _exit(4);
    }
    char c;
    read(p[0], &c, 1);
    msleep(5);
    const int64_t begin = now_ns();
    kill(parent, signo);
    int status;
    waitpid(parent, &status, 0);
    const int64_t ms = (now_ns() - begin) / 1000000;
    say("vfork and signal %d: %s, at once %d", signo, status_text(status), ms < 30);
    close(p[0]);
    close(p[1]);
    msleep(80);
}

int main(void) {
    orphan("stopped, handler", 1, 1);
    orphan("stopped, no handler", 0, 1);
    orphan("not stopped", 1, 0);
    vfork_wait(SIGKILL);
    return 0;
}
