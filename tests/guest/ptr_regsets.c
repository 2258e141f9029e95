// SPDX-License-Identifier: Apache-2.0
// Register sets by number, with buffers of odd sizes, and which bits of pstate a debugger may set.
#include "os_guest.h"

#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

static pid_t child;
static char buffer[2048];

static const char* ask(int request, unsigned long set, void* base, size_t* n) {
    struct iovec v = {base, *n};
    const long r = ptrace(request, child, set, &v);
    const char* what = OK(r);
    *n = v.iov_len;
    return what;
}

static void sets(void) {
    static const unsigned long all[] = {0,     1,     2,     3,     6,     0x400, 0x401, 0x402, 0x403, 0x404,
                                        0x405, 0x406, 0x407, 0x408, 0x409, 0x40a, 0x40b, 0x40c, ~0ul};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        size_t n = sizeof buffer, four = 4, none = 0, bad = 64, three = 3;
        const char* got = ask(PTRACE_GETREGSET, all[i], buffer, &n);
        const char* got_four = ask(PTRACE_GETREGSET, all[i], buffer, &four);
        const char* got_none = ask(PTRACE_GETREGSET, all[i], buffer, &none);
        const char* got_bad = ask(PTRACE_GETREGSET, all[i], (void*)8, &bad);
        say("get %lx: %s %zu, 4 bytes %s %zu, none %s, nowhere %s", all[i], got, n, got_four, four, got_none, got_bad);
        if (!strcmp(got, "ok")) ask(PTRACE_GETREGSET, all[i], buffer, &n);
        const char* put = ask(PTRACE_SETREGSET, all[i], buffer, &n);
        const char* put_three = ask(PTRACE_SETREGSET, all[i], buffer, &three);
        say("set %lx: %s %zu, 3 bytes %s", all[i], put, n, put_three);
    }
}

static void pstate(void) {
    struct user_regs_struct before, g;
    size_t n = sizeof before;
    ask(PTRACE_GETREGSET, 1, &before, &n);
    for (int bit = 0; bit < 64; bit++) {
        g = before;
        g.pstate = 1ul << bit;
        const char* put = ask(PTRACE_SETREGSET, 1, &g, &n);
        ask(PTRACE_GETREGSET, 1, &g, &n);
        if (!strcmp(put, "ok"))
            say("pstate bit %d: ok, then %llx", bit, g.pstate);
        else
            say("pstate bit %d: %s, as before %d", bit, put, g.pstate == before.pstate);
        ask(PTRACE_SETREGSET, 1, &before, &n);
    }
    // The rest of the registers of a refused set stay as they were.
    g = before;
    g.pstate = 4;
    g.regs[5] = 12345;
    const char* put = ask(PTRACE_SETREGSET, 1, &g, &n);
    ask(PTRACE_GETREGSET, 1, &g, &n);
    say("refused: %s, x5 as before %d", put, g.regs[5] == before.regs[5]);
}

int main(void) {
    int status;
    child = fork();
    if (!child) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        _exit(3);
    }
    waitpid(child, &status, 0);
    sets();
    pstate();
    ptrace(PTRACE_CONT, child, 0, 0);
    waitpid(child, &status, 0);
    say("%s", status_text(status));
    return 0;
}
