// SPDX-License-Identifier: Apache-2.0
// Synchronous exceptions: what signal a fault gives, with which code and address, and how an uncaught one ends.
#include "os_guest.h"

static sigjmp_buf jump;
static volatile int sig, code;
static void* volatile addr;
static volatile uintptr_t pc;
static volatile unsigned long far_, esr;
static char* page;
static int fd;

static void handler(int s, siginfo_t* i, void* u) {
    ucontext_t* c = u;
    sig = s, code = i->si_code, addr = i->si_addr, pc = c->uc_mcontext.pc, far_ = c->uc_mcontext.fault_address;
    struct fpsimd_context* f = (void*)c->uc_mcontext.__reserved;
    struct esr_context* e = (void*)((char*)f + f->head.size);
    esr = e->head.magic == ESR_MAGIC ? e->esr : 0;
    siglongjmp(jump, 1);
}
static const char* name(int s) {
    return s == SIGSEGV   ? "SEGV"
           : s == SIGBUS  ? "BUS"
           : s == SIGILL  ? "ILL"
           : s == SIGTRAP ? "TRAP"
           : s == SIGFPE  ? "FPE"
                          : "?";
}

static void show(const char* what, void* expected) {
    say("%s: %s code %d addr %s esr %#lx far %s", what, name(sig), code,
        addr == expected    ? "right"
        : addr == (void*)pc ? "pc"
        : addr              ? "other"
                            : "0",
        esr,
        far_ == 0                 ? "0"
        : (void*)far_ == expected ? "right"
                                  : "other");
}
#define FAULT(what, expected, ...) \
    do { \
        sig = 0, addr = (void*)1; \
        if (!sigsetjmp(jump, 1)) { \
            __VA_ARGS__; \
        } \
        show(what, (void*)(expected)); \
    } while (0)

__attribute__((noinline)) static void null_read(void) {
    __asm__ volatile("mov x0, #0\n ldr w0, [x0]" ::: "x0", "memory");
}
static void abort_child(void) { abort(); }
static void illegal(void) { __asm__ volatile(".inst 0"); }
static void trap(void) { __asm__ volatile("brk #0"); }
static void blocked_segv(void) {
    sigset_t s;
    sigfillset(&s);
    sigprocmask(SIG_BLOCK, &s, NULL);
    null_read();
}
static void ignored_segv(void) {
    signal(SIGSEGV, SIG_IGN);
    null_read();
}
static void bad_stack(void) {
    struct sigaction a = {.sa_handler = SIG_DFL};
    a.sa_sigaction = handler, a.sa_flags = SA_SIGINFO;
    sigaction(SIGUSR1, &a, NULL);
    __asm__ volatile("mov x0, #64\n mov sp, x0\n mov x8, %0\n mov x0, %1\n mov x1, %2\n svc #0" ::"i"(SYS_kill),
                     "r"((long)getpid()), "i"(SIGUSR1)
                     : "x0", "x1", "x8");
}
static void bad_sigreturn(void) { __asm__ volatile("mov x8, %0\n svc #0" ::"i"(SYS_rt_sigreturn) : "x0", "x8"); }

int main(void) {
    struct sigaction a = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    for (int s = 1; s < 32; s++)
        if (s == SIGSEGV || s == SIGBUS || s == SIGILL || s == SIGTRAP || s == SIGFPE) sigaction(s, &a, NULL);
    page = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(page + 3 * PAGE, PAGE);
    mprotect(page + PAGE, PAGE, PROT_READ);
    mprotect(page + 2 * PAGE, PAGE, PROT_NONE);
    FAULT("read null", 0, *(volatile int*)0);
    FAULT("write null + 8", 8, *(volatile int*)8 = 1);
    FAULT("read unmapped", page + 3 * PAGE, *(volatile char*)(page + 3 * PAGE));
    FAULT("write unmapped", page + 3 * PAGE + 5, *(volatile char*)(page + 3 * PAGE + 5) = 1);
    FAULT("write read-only, not present", page + PAGE, *(volatile char*)(page + PAGE) = 1);
    *(volatile char*)(page + PAGE);
    FAULT("write read-only, present", page + PAGE, *(volatile char*)(page + PAGE) = 1);
    FAULT("read PROT_NONE", page + 2 * PAGE, *(volatile char*)(page + 2 * PAGE));
    page[0] = 1;
    mprotect(page, PAGE, PROT_NONE);
    FAULT("read PROT_NONE, present", page, *(volatile char*)page);
    mprotect(page, PAGE, PROT_READ | PROT_WRITE);
    say("content kept: %d", page[0]);
    FAULT("execute data", page, ((void (*)(void))page)());
    FAULT("execute null", 0, ((void (*)(void))0)());
    FAULT("unaligned pc", page + 2, ((void (*)(void))(page + 2))());
    FAULT("kernel address", 0xffff000000000000, *(volatile char*)0xffff000000000000);
    FAULT("non-canonical address", 0x00ff000000000000, *(volatile char*)0x00ff000000000000);
    FAULT("write across into unmapped", page + 3 * PAGE, mprotect(page + 2 * PAGE, PAGE, PROT_READ | PROT_WRITE);
          *(volatile long*)(page + 3 * PAGE - 4) = 1);
    FAULT("unaligned exclusive", page + 1, __asm__ volatile("ldxr x1, [%0]" ::"r"(page + 1) : "x1", "memory"));
    FAULT("unaligned acquire", page + 1, __asm__ volatile("ldar x1, [%0]" ::"r"(page + 1) : "x1", "memory"));
    FAULT("undefined", 0, illegal());
    FAULT("hlt", 0, __asm__ volatile("hlt #0"));
    FAULT("privileged mrs", 0, __asm__ volatile("mrs x0, sctlr_el1" ::: "x0"));
    FAULT("privileged msr", 0, __asm__ volatile("msr daifset, #2"));
    FAULT("eret", 0, __asm__ volatile("eret"));
    FAULT("hvc", 0, __asm__ volatile("hvc #0"));
    FAULT("smc", 0, __asm__ volatile("smc #0"));
    FAULT("brk", 0, trap());
    FAULT("unaligned sp", 0,
          __asm__ volatile("mov x9, sp\n sub x10, x9, #8\n mov sp, x10\n ldr x10, [sp]\n mov sp, x9" ::
                               : "x9", "x10"));
    unsigned long id;
    __asm__ volatile("mrs %0, midr_el1" : "=r"(id));
    say("midr: %d", id >> 24 == 0x41);
    __asm__ volatile("mrs %0, id_aa64pfr0_el1" : "=r"(id));
    say("pfr0 EL0, EL1: %#lx", id & 0xff);
    __asm__ volatile("mrs %0, mpidr_el1" : "=r"(id));
    say("mpidr: %#lx", id);
    // A file mapping beyond the file's end.
    char name_[] = "/tmp/os_faultsXXXXXX";
    fd = mkstemp(name_);
    if (ftruncate(fd, 100)) return 1;
    char* f = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    f[99] = 1, f[4000] = 2;
    FAULT("beyond the file", f + PAGE, *(volatile char*)(f + PAGE));
    FAULT("write beyond the file", f + 2 * PAGE + 1, *(volatile char*)(f + 2 * PAGE + 1) = 1);
    if (ftruncate(fd, 2 * PAGE)) return 1;
    FAULT("within by now", 1, *(volatile char*)(f + PAGE); sig = SIGFPE; code = 0; esr = 0; far_ = 0; addr = (void*)1);
    // Bad addresses given to system calls are errors.
    SHOW(write(1, (void*)8, 1));
    SHOW(pread(fd, page + PAGE, 1, 0));
    SHOW(write(fd, page + 2 * PAGE + 4000, 200));
    SHOW(syscall(SYS_clock_gettime, 0, (void*)0xffff000000000000));
    unlink(name_);
    signal(SIGSEGV, SIG_DFL), signal(SIGILL, SIG_DFL), signal(SIGTRAP, SIG_DFL), signal(SIGBUS, SIG_DFL);
    in_child("uncaught null", null_read);
    in_child("uncaught undefined", illegal);
    in_child("uncaught brk", trap);
    in_child("abort", abort_child);
    in_child("blocked SEGV", blocked_segv);
    in_child("ignored SEGV", ignored_segv);
    in_child("no stack for a handler", bad_stack);
    in_child("sigreturn from nowhere", bad_sigreturn);
    return 0;
}
