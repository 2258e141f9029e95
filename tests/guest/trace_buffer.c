// SPDX-License-Identifier: Apache-2.0
// ftrace's own ring buffer as scripts use it: enable events, let something happen, read trace and trace_pipe.
#include "trace_guest.h"

#include <poll.h>

static char text[1 << 18];

__attribute__((noinline, used)) long traced(long a, const char* s) {
    __asm__ volatile("" : "+r"(a), "+r"(s));
    return a * 2;
}

/// Context and text: names, pids, CPUs and times differ from run to run.
static void mask(char* to, const char* line) {
    const char* body = strstr(line, ": ");
    const char* flags = strchr(line, ']');
    sprintf(to, "%.5s%s", flags + 2, body);
}

/// Lines of `trace` that are this program's own.
static void show(const char* title) {
    printf("%s:\n", title);
    slurp("/trace", text, sizeof text);
    for (char* line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        char out[512];
        if (*line == '#') continue;
        if (!strstr(line, "trace_buffer-") && !strstr(line, "<...>-")) continue;
        mask(out, line);
        printf("%s\n", out);
    }
}

static unsigned long file_offset(const void* address) {
    unsigned long start, end, offset, found = 0;
    char line[256];
    FILE* maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 && start <= (unsigned long)address &&
            (unsigned long)address < end)
            found = (unsigned long)address - start + offset;
    fclose(maps);
    return found;
}

static void clear(void) { put("/trace", ""); }

static void markers(void) {
    const int fd = open(TRACE "/trace_marker", O_WRONLY);
    printf("marker: %zd", write(fd, "one", 3));
    printf(" %zd", write(fd, "two\n", 4));
    put("/tracing_on", "0");
    printf(" off: %zd %s\n", write(fd, "no", 2), strerrorname_np(errno));
    put("/tracing_on", "1");
    show("markers");
    clear();
    show("cleared");
    close(fd);
}

static void syscalls(void) {
    put("/events/raw_syscalls/sys_exit/filter", "id == 129");
    put("/events/raw_syscalls/sys_exit/enable", "1");
    put("/events/syscalls/sys_enter_kill/enable", "1");
    put("/events/syscalls/sys_exit_kill/enable", "1");
    kill(0x7ffffff, 0);
    put("/events/enable", "0");
    put("/events/raw_syscalls/sys_exit/filter", "0");
    show("system calls");
    clear();
}

static void signals(void) {
    put("/events/signal/enable", "1");
    signal(SIGUSR1, SIG_IGN);
    raise(SIGUSR1);
    put("/events/signal/enable", "0");
    slurp("/trace", text, sizeof text);
    const char* line = strstr(text, "signal_generate: sig=10");
    const char* group = line ? strstr(line, " grp=") : NULL;
    printf("signal: %.*s ...%.*s\n", line ? 22 : 4, line ? line + 17 : "none", group ? (int)strcspn(group, "\n") : 0,
           group ? group : "");
    clear();
}

static void probes(void) {
    char spec[512], self[200];
    self[readlink("/proc/self/exe", self, sizeof self - 1)] = 0;
    snprintf(spec, sizeof spec, "p:suite/in %s:0x%lx a=%%x0:s32 s=+0(%%x1):string b=%%x0:x8", self,
             file_offset((void*)traced));
    printf("uprobe: %d\n", put("/uprobe_events", spec));
    snprintf(spec, sizeof spec, "r:suite/out %s:0x%lx r=$retval", self, file_offset((void*)traced));
    const int fd = open(TRACE "/uprobe_events", O_WRONLY | O_APPEND);
    printf("uretprobe: %zd\n", write(fd, spec, strlen(spec)) > 0 ? 0l : -1l);
    close(fd);
    printf("enable: %d\n", put("/events/suite/enable", "1"));
    traced(-5, "hello");
    traced(300, (char*)8);
    put("/events/suite/enable", "0");
    slurp("/trace", text, sizeof text);
    for (char* line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        // The addresses are the compiler's.
        char* at = strstr(line, "in: (0x");
        if (at && strchr(at, ')')) printf("in: (...%s\n", strchr(at, ')'));
        at = strstr(line, "out: (0x");
        if (at && strstr(at, " <- ")) printf("out: (... <- ...%s\n", strchr(at, ')'));
    }
    printf("remove: %d\n", put("/uprobe_events", ""));
    show("after the events have gone");
}

static void kernel_probe(void) {
    printf("kprobe: %d\n", put("/kprobe_events", "p:suite_k/sys do_sys_openat2 how=%x0:s32"));
    printf("enable: %d\n", put("/events/suite_k/enable", "1"));
    close(open("/", O_RDONLY));
    put("/events/suite_k/enable", "0");
    slurp("/trace", text, sizeof text);
    const char* line = strstr(text, "sys: (do_sys_openat2+0x0/0x");
    printf("hit: %s\n", line ? "with the function's name" : "none");
    printf("argument: %s\n", line && strstr(line, "how=-100") ? "how=-100" : "another");
    printf("remove: %d\n", put("/kprobe_events", ""));
}

static void pipe_reader(void) {
    clear();
    const int fd = open(TRACE "/trace_pipe", O_RDONLY | O_NONBLOCK);
    struct pollfd p = {fd, POLLIN, 0};
    printf("empty: %zd %s, poll %d\n", read(fd, text, 100), strerrorname_np(errno), poll(&p, 1, 0));
    put("/trace_marker", "first");
    put("/trace_marker", "second");
    printf("poll: %d\n", poll(&p, 1, 1000));
    for (ssize_t n; (n = read(fd, text, 4096)) > 0;) {
        text[n] = 0;
        for (char* line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) printf("%s\n", strstr(line, ": ") + 2);
    }
    show("taken out");
    fcntl(fd, F_SETFL, 0);
    fflush(stdout);
    const pid_t child = fork();
    if (!child) {
        usleep(20000);
        put("/trace_marker", "third");
        _exit(0);
    }
    const ssize_t n = read(fd, text, 4096);
    text[n > 0 ? n : 0] = 0;
    printf("woken: %s", n > 0 ? strstr(text, ": ") + 2 : "no\n");
    waitpid(child, NULL, 0);
    close(fd);
}

static void overwriting(void) {
    put("/buffer_size_kb", "4");
    slurp("/buffer_size_kb", text, sizeof text);
    printf("size: %s", text);
    clear();
    for (int i = 0; i < 2000; ++i) {
        char m[32];
        snprintf(m, sizeof m, "line %04d", i);
        put("/trace_marker", m);
    }
    slurp("/trace", text, sizeof text);
    long in = 0, written = 0;
    sscanf(strstr(text, "written: "), "written: %ld/%ld", &in, &written);
    printf("written: %ld, kept some: %d, last kept: %d, first gone: %d\n", written, in > 0 && in < 2000,
           strstr(text, "line 1999") != NULL, strstr(text, "line 0000") == NULL);
    printf("size 0: %d\n", put("/buffer_size_kb", "0"));
    clear();
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    markers();
    syscalls();
    signals();
    probes();
    kernel_probe();
    pipe_reader();
    overwriting();
    printf("tracer: %d\n", put("/current_tracer", "nosuch"));
    printf("tracer: %d\n", put("/current_tracer", "nop"));
    return 0;
}
