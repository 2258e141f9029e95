// SPDX-License-Identifier: Apache-2.0
// /proc, /sys and /dev: what must be there, its form, and who may write it.
#include "fs_guest.h"

#include <ctype.h>
#include <sys/utsname.h>

static char text[1 << 18];
static int slurp(const char* path) {
    int fd = open(path, O_RDONLY), n = 0, r;
    if (fd < 0) return -1;
    while ((r = read(fd, text + n, sizeof text - 1 - n)) > 0) n += r;
    close(fd);
    text[n] = 0;
    return r < 0 ? -1 : n;
}
/* The same for a file of any length, by lines. */
static int has_line(const char* path, const char* end) {
    FILE* f = fopen(path, "r");
    char line[1024];
    int found = 0;
    while (f && !found && fgets(line, sizeof line, f))
        found = strlen(line) > strlen(end) && !strcmp(line + strlen(line) - strlen(end), end);
    if (f) fclose(f);
    return found;
}
static int has(const char* path, const char* part) { return slurp(path) >= 0 && strstr(text, part) != NULL; }
static long value(const char* path) { return slurp(path) > 0 ? strtol(text, NULL, 0) : -1; }

static void self(void) {
    char b[256], want[64];
    ssize_t n = readlink("/proc/self", b, sizeof b);
    say("self is the process: %d", n > 0 && (b[n] = 0, atoi(b) == getpid()));
    n = readlink("/proc/thread-self", b, sizeof b);
    snprintf(want, sizeof want, "%d/task/%d", getpid(), getpid());
    say("thread-self: %d", n > 0 && (b[n] = 0, !strcmp(b, want)));
    slurp("/proc/self/comm");
    say("comm: %s", strtok(text, "\n"));
    slurp("/proc/self/stat");
    int pid, ppid;
    char comm[64], state;
    say("stat fields read: %d", sscanf(text, "%d %63s %c %d", &pid, comm, &state, &ppid));
    say("pid %d, comm %s, state %c, parent %d", pid == getpid(), comm, state, ppid == getppid());
    int fields = 1;
    for (char* p = strrchr(text, ')'); *p; p++) fields += *p == ' ';
    say("fields of stat: %d", fields + 1);
    slurp("/proc/self/statm");
    fields = 1;
    for (char* p = text; *p; p++) fields += *p == ' ';
    say("fields of statm: %d", fields);
    static const char* const keys[] = {"Name:\t",
                                       "Umask:\t",
                                       "State:\tR (running)",
                                       "Tgid:\t",
                                       "PPid:\t",
                                       "TracerPid:\t0",
                                       "Uid:\t",
                                       "Groups:\t",
                                       "VmSize:\t",
                                       "VmRSS:\t",
                                       "Threads:\t1\n",
                                       "SigBlk:\t",
                                       "SigCgt:\t",
                                       "CapEff:\t",
                                       "NoNewPrivs:\t0",
                                       "Cpus_allowed_list:\t",
                                       "voluntary_ctxt_switches:\t"};
    for (unsigned i = 0; i < sizeof keys / sizeof *keys; i++)
        say("status has %s %d", strtok(strdup(keys[i]), "\t"), has("/proc/self/status", keys[i]));
    slurp("/proc/self/cmdline");
    say("cmdline ends with fs_proc: %d", strlen(text) >= 7 && !strcmp(text + strlen(text) - 7, "fs_proc"));
    say("exe: %zd", readlink("/proc/self/exe", b, sizeof b) > 0 ? (ssize_t)1 : -1);
    say("exe opens: %s", OK(open("/proc/self/exe", O_RDONLY)));
    chdir("/tmp");
    n = readlink("/proc/self/cwd", b, sizeof b);
    say("cwd: %.*s", (int)n, b);
    n = readlink("/proc/self/root", b, sizeof b);
    say("root: %.*s", (int)n, b);
    say("auxv: %d", slurp("/proc/self/auxv") % 16);
    say("limits: %d", has("/proc/self/limits", "Max open files"));
    say("cgroup: %d", has("/proc/self/cgroup", "0::/"));
    say("mounts: %d", has("/proc/self/mounts", " /proc proc ") && has("/proc/mounts", " /sys sysfs "));
    say("mountinfo: %d", has("/proc/self/mountinfo", " - proc "));
    int fd = open("/proc/self/comm", O_WRONLY);
    SHOW(write(fd, "renamed by its own file", 23));
    slurp("/proc/self/comm");
    say("comm: %s", strtok(text, "\n"));
    TRY(open("/proc/self/stat", O_WRONLY));
    TRY(open("/proc/self/none", O_RDONLY));
    TRY(open("/proc/999999", O_RDONLY));
    TRY(open("/proc/self/task/999999", O_RDONLY));
    TRY(mkdir("/proc/x", 0755));
    TRY(open("/proc/x", O_WRONLY | O_CREAT, 0644));
    TRY(unlink("/proc/version"));
    struct stat st;
    stat("/proc/self/stat", &st);
    say("stat: %o %d", st.st_mode, (int)st.st_size);
    lstat("/proc/self/fd/1", &st);
    say("fd/1 is a link: %d, size %d", S_ISLNK(st.st_mode), (int)st.st_size);
    stat("/proc/self/fd", &st);
    say("fd: %o", st.st_mode);
    int p = open("/dev/null", O_RDWR | O_CLOEXEC);
    snprintf(b, sizeof b, "/proc/self/fdinfo/%d", p);
    lseek(p, 0, SEEK_SET);
    slurp(b);
    say("fdinfo: %.17s", text);
    TRY(open("/proc/self/fd/99", O_RDONLY));
    // Bytes read and written so far.
    int before = 0, after = 0;
    if (has("/proc/self/io", "wchar: ")) before = atoi(strstr(text, "wchar: ") + 7);
    write(p, text, 100);
    if (has("/proc/self/io", "wchar: ")) after = atoi(strstr(text, "wchar: ") + 7);
    say("io counts: %d", after - before);
    // Memory through its file.
    static char secret[] = "by way of mem";
    int mem = open("/proc/self/mem", O_RDWR);
    SHOW(pread(mem, b, sizeof secret, (off_t)(uintptr_t)secret));
    say("mem: %s", b);
    SHOW(pwrite(mem, "BY", 2, (off_t)(uintptr_t)secret));
    say("mem: %s", secret);
    SHOW(pread(mem, b, 1, 8));
}

static void maps(void) {
    int lines = 0, good = 0, stack = 0, exe = 0, vdso = 0;
    unsigned long a, z, off;
    char perm[8], name[256];
    slurp("/proc/self/maps");
    for (char* l = strtok(text, "\n"); l; l = strtok(NULL, "\n"), lines++) {
        int n = sscanf(l, "%lx-%lx %7s %lx %*s %*s %255s", &a, &z, perm, &off, name);
        good += n >= 4 && a < z && strlen(perm) == 4;
        if (n == 5 && strcmp(name, "[stack]") == 0)
            stack += perm[0] == 'r' && perm[3] == 'p' && l[72] == ' ' && l[73] == '[';
        if (n == 5 && strstr(name, "fs_proc") && a <= (unsigned long)(uintptr_t)maps &&
            (unsigned long)(uintptr_t)maps < z)
            exe += !strcmp(perm, "r-xp");
        if (n == 5 && strcmp(name, "[vdso]") == 0) vdso++;
    }
    say("maps: all lines good %d, stack %d, text %d, vdso %d", lines == good, stack, exe, vdso);
    say("smaps: %d", has("/proc/self/smaps", "Rss:  ") && strstr(text, "VmFlags:") != NULL);
    say("smaps_rollup: %d", has("/proc/self/smaps_rollup", "[rollup]"));
}

static void machine(void) {
    static const struct {
        const char *path, *part;
    } rows[] = {{"/proc/cpuinfo", "processor\t: 0\n"},
                {"/proc/cpuinfo", "CPU implementer\t: 0x41\n"},
                {"/proc/cpuinfo", "CPU architecture: 8\n"},
                {"/proc/meminfo", "MemTotal:  "},
                {"/proc/meminfo", "MemAvailable: "},
                {"/proc/stat", "cpu  "},
                {"/proc/stat", "\nbtime "},
                {"/proc/version", "Linux version 6.1"},
                {"/proc/filesystems", "nodev\tproc\n"},
                {"/proc/filesystems", "nodev\ttmpfs\n"},
                {"/proc/interrupts", "CPU0"},
                {"/proc/kallsyms", " T _stext\n"},
                {"/proc/devices", "  1 mem\n"},
                {"/proc/loadavg", "/"},
                {"/proc/uptime", "."},
                {"/sys/devices/system/cpu/online", "0"},
                {"/sys/devices/system/cpu/possible", "0"},
                {"/sys/devices/system/cpu/present", "0"},
                {"/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", "0x00000000"},
                {"/sys/devices/system/cpu/cpu0/topology/core_id", "0\n"},
                {"/sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n"},
                {"/sys/devices/system/cpu/cpu0/topology/core_cpus_list", "0\n"},
                {"/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0\n"},
                {"/sys/devices/system/node/online", "0\n"},
                {"/sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: "},
                {"/sys/bus/event_source/devices/software/type", "1\n"}};
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        say("%s has its line: %d", rows[i].path, has(rows[i].path, rows[i].part));
    say("kallsyms has vfs_read: %d", has_line("/proc/kallsyms", " T vfs_read\n"));
    struct utsname u;
    uname(&u);
    strcat(u.release, "\n");
    say("osrelease is uname's: %d", has("/proc/sys/kernel/osrelease", u.release));
    strcat(u.nodename, "\n");
    say("hostname is uname's: %d", has("/proc/sys/kernel/hostname", u.nodename));
    say("ostype: %d", has("/proc/sys/kernel/ostype", "Linux\n"));
    say("pid_max: %d", value("/proc/sys/kernel/pid_max") >= 32768);
    SHOW(value("/proc/sys/kernel/randomize_va_space"));
    SHOW(value("/proc/sys/kernel/ngroups_max"));
    SHOW(value("/proc/sys/kernel/cap_last_cap"));
    SHOW(value("/proc/sys/kernel/kptr_restrict"));
    SHOW(value("/proc/sys/vm/overcommit_memory"));
    SHOW(value("/proc/sys/vm/max_map_count"));
    SHOW(value("/proc/sys/fs/pipe-max-size"));
    SHOW(value("/proc/sys/fs/nr_open"));
    // Two functions of the kernel have different addresses, in order.
    slurp("/proc/kallsyms");
    char* p = strstr(text, " T _stext\n");
    say("kallsyms line: %d", p && p - text >= 16 && isxdigit((unsigned char)p[-1]));
}

static void writing(void) {
    TRY(open("/proc/version", O_WRONLY));
    SHOW(write(open("/proc/version", O_WRONLY), "x", 1));
    TRY(open("/proc/sys/kernel/osrelease", O_WRONLY));
    TRY(open("/sys/devices/system/cpu/possible", O_WRONLY));
    TRY(open("/sys/devices/system/cpu/possible", O_RDONLY | O_TRUNC));
    TRY(open("/sys/devices/x", O_WRONLY | O_CREAT, 0644));
    TRY(mkdir("/sys/devices/x", 0755));
    TRY(unlink("/sys/devices/system/cpu/possible"));
    TRY(rename("/sys/devices/system/cpu/possible", "/sys/x"));
    struct stat st;
    stat("/sys/devices/system/cpu/possible", &st);
    say("possible: %o %d", st.st_mode, (int)st.st_size);
    stat("/proc/sys/kernel/kptr_restrict", &st);
    say("kptr_restrict: %o %d", st.st_mode, (int)st.st_size);
    int fd = open("/proc/sys/kernel/kptr_restrict", O_RDWR);
    SHOW(write(fd, "1\n", 2));
    SHOW(value("/proc/sys/kernel/kptr_restrict"));
    fd = open("/proc/sys/kernel/kptr_restrict", O_WRONLY);
    SHOW(write(fd, "9\n", 2));
    SHOW(write(fd, "x\n", 2));
    fd = open("/proc/sys/kernel/kptr_restrict", O_WRONLY);
    SHOW(write(fd, " 0", 2));
    fd = open("/sys/devices/system/cpu/possible", O_RDONLY);
    char b[8];
    SHOW(read(fd, b, 1));
    SHOW(lseek(fd, 0, SEEK_SET));
    SHOW(read(fd, b, 1));
    SHOW(pread(fd, b, 1, 4096));
    ssize_t n = readlink("/sys/bus/event_source/devices/software", b, sizeof b);
    say("software is a link: %d", n == sizeof b && !memcmp(b, "../../..", 8));
    TRY(access("/sys/kernel/tracing", F_OK));
    n = readlink("/dev/fd", text, 100);
    say("/dev/fd: %.*s", (int)n, text);
    int p[2];
    pipe(p);
    dup2(p[0], 0);
    TRY(open("/dev/fd/0", O_RDONLY));
}

int main(void) {
    self();
    maps();
    machine();
    writing();
    return 0;
}
