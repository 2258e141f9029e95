// SPDX-License-Identifier: Apache-2.0
// Lines written to uprobe_events, kprobe_events and dynamic_events, most of them wrong in one way: the errno, what error_log
// says and where its caret stands, what the files hold afterwards [UPR-096] [UPR-097].
#include "os_guest.h"

#define TRACE "/sys/kernel/tracing/"
static char text[70000], line[6000];

static int get(const char* file) {
    int fd = open(file, O_RDONLY), n = 0, r;
    if (fd < 0) return 0;
    while ((r = read(fd, text + n, sizeof text - 1 - n)) > 0) n += r;
    close(fd);
    text[n] = 0;
    return n;
}
static void clear(const char* file) {
    int fd = open(file, O_WRONLY | O_TRUNC);
    if (fd >= 0) write(fd, "\n", 1);
    close(fd);
}
static void fields(const char* group, const char* event) {
    char path[300];
    snprintf(path, sizeof path, TRACE "events/%s/%s/format", group, event);
    if (!get(path)) return;
    char* s = strstr(text, "common_pid");
    s = s ? strstr(s, "\n\n") : NULL;
    for (s = s ? strtok(s, "\n") : NULL; s; s = strtok(NULL, "\n")) say("   %.300s", s);
}
// The number of calls that a return probe follows depends on the number of CPUs.
static void definition(const char* s, int given) {
    int digits = 0;
    if (*s == 'r' && !given)
        while (s[1 + digits] >= '0' && s[1 + digits] <= '9') digits++;
    say("   = %c%.600s", *s, s + 1 + digits);
}
static void try(const char* file, const char* what) {
    char path[100], head[160], group[100] = "", event[200] = "";
    snprintf(path, sizeof path, TRACE "%s", file);
    snprintf(head, sizeof head, "%.150s", what);
    for (char* c = head; *c; c++)
        if (*c == '\n') *c = '|';
    int fd = open(path, O_WRONLY | O_APPEND), n = strlen(what);
    int r = write(fd, what, n), e = r < 0 ? errno : 0;
    close(fd);
    say("%c [%s] %s", file[0], head, e ? strerrorname_np(e) : r == n ? "ok" : "short");
    get(TRACE "error_log");
    for (char* s = strtok(text, "\n"); s; s = strtok(NULL, "\n")) {
        char* time = *s == '[' ? strchr(s, ']') : NULL;
        say("   ! %.300s", time ? time + 2 : s);
    }
    clear(TRACE "error_log");
    get(path);
    sscanf(text, "%*[^:]:%99[^/]/%199s", group, event);
    for (char* s = strtok(text, "\n"); s; s = strtok(NULL, "\n")) definition(s, what[1] != ':' && what[1] != ' ');
    if (*event) fields(group, event);
    clear(path);
}
static void repeated(const char* before, const char* part, int n, const char* after, int m, const char* end) {
    strcpy(line, before);
    while (n-- > 0) strcat(line, part);
    strcat(line, after);
    while (m-- > 0) strcat(line, ")");
    strcat(line, end);
}

static const char* const uprobe_lines[] = {"",
                                           "\n",
                                           "#comment",
                                           "p",
                                           "r",
                                           "x",
                                           "p:a",
                                           "p:a/b",
                                           "p /tmp/f.so",
                                           "p /tmp/f.so:",
                                           "p /tmp/f.so:0",
                                           "p /tmp/f.so:0x0",
                                           "p:a/b /tmp/f.so:0x10",
                                           "p:a/b /tmp/f.so:16",
                                           "p:a/b /tmp/f.so:020",
                                           "p:a/b /tmp/f.so:+16",
                                           "p:a/b /tmp/f.so:-16",
                                           "p:a/b /tmp/f.so:0x",
                                           "p:a/b /tmp/f.so:0xfffffffffffffffff",
                                           "p:a/b /tmp/f.so:0xffffffffffffffff",
                                           "p:a/b /tmp/f.so:0x4000",
                                           "p:a/b /tmp/none:0x10",
                                           "p:a/b /tmp:0x10",
                                           "p:a/b tmp/f.so:0x10",
                                           "p:a/b /proc/self/exe:0x10",
                                           "p:a/b /dev/null:0x10",
                                           "p:a/b f.so:0x10",
                                           "p:a/b /tmp/f.so:0x10(",
                                           "p:a/b /tmp/f.so:0x10(0x20",
                                           "p:a/b /tmp/f.so:0x10(0x20)",
                                           "p:a/b /tmp/f.so:0x10(0x20)x",
                                           "p:a/b /tmp/f.so:0x10()",
                                           "p:a/b /tmp/f.so:0x10(zz)",
                                           "p:a/b /tmp/f.so:0x10(0x20)%return",
                                           "p:a/b /tmp/f.so:0x10%return(0x20)",
                                           "p:a/b /tmp/f.so:0x10%return",
                                           "p:a/b /tmp/f.so:0x10%ret",
                                           "p:a/b /tmp/f.so:%return",
                                           "r:a/b /tmp/f.so:0x10%return",
                                           "p:a/b /tmp/f.so:main",
                                           "p:a/b /tmp/f.so:0x10:0x20",
                                           "p:a/b /tmp/f.so:0x11",
                                           "p:a/b /tmp/f.so:0x12",
                                           "p:a/b /tmp/f.so:8192",
                                           "p:/b /tmp/f.so:0x10",
                                           "p:a/ /tmp/f.so:0x10",
                                           "p: /tmp/f.so:0x10",
                                           "p:a.b /tmp/f.so:0x10",
                                           "p:a-c/b /tmp/f.so:0x10",
                                           "p:a/b-c /tmp/f.so:0x10",
                                           "p:1a/b /tmp/f.so:0x10",
                                           "p:a/1b /tmp/f.so:0x10",
                                           "p:a/b/c /tmp/f.so:0x10",
                                           "p:a/b.c /tmp/f.so:0x10",
                                           "p:-a/b /tmp/f.so:0x10",
                                           "p:a$/b /tmp/f.so:0x10",
                                           "pp:a/b /tmp/f.so:0x10",
                                           "p5:a/b /tmp/f.so:0x10",
                                           "r5:a/b /tmp/f.so:0x10",
                                           "px /tmp/f.so:0x10",
                                           "p::a/b /tmp/f.so:0x10",
                                           "p:sched/sched_switch /tmp/f.so:0x10",
                                           "p:uprobes/format /tmp/f.so:0x10",
                                           "p:uprobes/enable /tmp/f.so:0x10",
                                           "p:events/enable /tmp/f.so:0x10",
                                           "-:a/b",
                                           "-:nothere",
                                           "-",
                                           "-:",
                                           "-:a/",
                                           "+:a/b /tmp/f.so:0x10",
                                           "  p:a/b   /tmp/f.so:0x10   x=%x0  ",
                                           "p:a/b /tmp/f.so:0x10 # comment",
                                           "p:a/b /tmp/f.so:0x10 a=%x0 #b=%x1",
                                           "p:a/b /tmp/f.so:0x10\np:a/c /tmp/f.so:0x20\n",
                                           "p:a/b /tmp/f.so:0x10\nbad\np:a/c /tmp/f.so:0x20\n",
                                           "p:a/b /tmp/f.so:0x10\np:a/b /tmp/f.so:0x10\n",
                                           "p:a/b /tmp/f.so:0x10\np:a/b /tmp/f.so:0x20\n",
                                           "p:a/b /tmp/f.so:0x10\nr:a/b /tmp/f.so:0x20\n",
                                           "p:a/b /tmp/f.so:0x10 x=%x0\np:a/b /tmp/f.so:0x10 x=%x1\n",
                                           "p:a/b /tmp/f.so:0x10 x=%x0\np:a/b /tmp/f.so:0x20 y=%x1\n",
                                           "p:a/b /tmp/f.so:0x10 x=%x0\np:a/b /tmp/f.so:0x20 x=%x0:u8\n",
                                           "p:a/b /tmp/f.so:0x10 x=%x0\np:a/b /tmp/f.so:0x20\n",
                                           "p:a/b /tmp/f.so:0x10\np:a/c /tmp/f.so:0x10(0x20)\n",
                                           "p:a/b /tmp/f.so:0x10\n-:a/b\n",
                                           "p:a/b /tmp/f.so:0x10\n-:a/b /tmp/f.so:0x20\n",
                                           "p:a/b /tmp/f.so:0x10\n-:a/b /tmp/f.so:0x10\n",
                                           "p:a/b /tmp/f.so:0x10\n-:a/b /tmp/f.so:0x0000000000000010\n",
                                           "p:a/b /tmp/f.so:0x10 x=%x0\n-:a/b /tmp/f.so:0x0000000000000010 x=%x1\n",
                                           "p:a/b /tmp/f.so:0x10 x=%x0\n-:a/b /tmp/f.so:0x0000000000000010 x=%x0\n",
                                           "p:a/b /tmp/f.so:0x10\n-:b\n",
                                           "p:uprobes/b /tmp/f.so:0x10\n-:b\n",
                                           "p:b /tmp/f.so:0x10\np:c/b /tmp/f.so:0x10\n-:b\n",
                                           "p:a/b /tmp/f.so:0x10\n-a/b\n",
                                           "p:a/b /tmp/f.so:0x10\n-:a/b junk\n"};
static const char* const arguments[] = {"%x0",
                                        "%x30",
                                        "%x31",
                                        "%lr",
                                        "%sp",
                                        "%pc",
                                        "%pstate",
                                        "%X0",
                                        "%w0",
                                        "%x",
                                        "%",
                                        "%x00",
                                        "%x01",
                                        "%x1 ",
                                        "$stack",
                                        "$stack0",
                                        "$stack5",
                                        "$stack99999",
                                        "$stack2147483647",
                                        "$stack2147483648",
                                        "$stack4294967296",
                                        "$stack-1",
                                        "$stack+1",
                                        "$stackx",
                                        "$stack 5",
                                        "$comm",
                                        "$COMM",
                                        "$comm:string",
                                        "$comm:u8",
                                        "$comm:x64",
                                        "$comm:ustring",
                                        "$comm:string[2]",
                                        "$retval",
                                        "$arg1",
                                        "$arg0",
                                        "$argx",
                                        "$foo",
                                        "$",
                                        "$retval:u8",
                                        "@0x1000",
                                        "@0",
                                        "@",
                                        "@+0x10",
                                        "@+",
                                        "@+zz",
                                        "@-0x10",
                                        "@foo",
                                        "@foo+10",
                                        "@0xzz",
                                        "@+-5",
                                        "@1000",
                                        "+0(%x0)",
                                        "+0(%x0",
                                        "+0%x0)",
                                        "+0()",
                                        "+(%x0)",
                                        "+u0(%x0)",
                                        "-u8(%x0)",
                                        "-8(%x0)",
                                        "+0x10(%x0)",
                                        "+010(%x0)",
                                        "++0(%x0)",
                                        "+-0(%x0)",
                                        "+u(%x0)",
                                        "+uu0(%x0)",
                                        "+0(%x0)x",
                                        "+0(%x0))",
                                        "+0((%x0)",
                                        "+0(+8(%x0))",
                                        "+0(+8(-16(%x0)))",
                                        "+0($comm)",
                                        "+0(\\5)",
                                        "+0(@0x1000)",
                                        "+zz(%x0)",
                                        "+9223372036854775807(%x0)",
                                        "+9223372036854775808(%x0)",
                                        "-9223372036854775808(%x0)",
                                        "-9223372036854775809(%x0)",
                                        "+0($stack)",
                                        "+0($stack0)",
                                        "+0($retval)",
                                        "\\5",
                                        "\\0x10",
                                        "\\-5",
                                        "\\+5",
                                        "\\",
                                        "\\x",
                                        "\\\"abc\"",
                                        "\\\"abc",
                                        "\\\"",
                                        "\\\"\"",
                                        "\\\"abc\":string",
                                        "\\\"abc\":u8",
                                        "\\\"abc\":ustring",
                                        "\\\"a b\"",
                                        "\\5:string",
                                        "\\5:u8",
                                        "\\18446744073709551615",
                                        "\\18446744073709551616",
                                        "\\-9223372036854775809",
                                        "\\5:ustring",
                                        "%x0:u8",
                                        "%x0:u16",
                                        "%x0:u32",
                                        "%x0:u64",
                                        "%x0:s8",
                                        "%x0:s16",
                                        "%x0:s32",
                                        "%x0:s64",
                                        "%x0:x8",
                                        "%x0:x16",
                                        "%x0:x32",
                                        "%x0:x64",
                                        "%x0:symbol",
                                        "%x0:string",
                                        "%x0:ustring",
                                        "%x0:symstr",
                                        "%x0:",
                                        "%x0:u7",
                                        "%x0:U8",
                                        "%x0:u128",
                                        "%x0:char",
                                        "%x0:u8:u8",
                                        "%x0::u8",
                                        "%x0:b",
                                        "%x0:b1",
                                        "%x0:b1@2",
                                        "%x0:b1@2/8",
                                        "%x0:b8@0/8",
                                        "%x0:b9@0/8",
                                        "%x0:b4@5/8",
                                        "%x0:b4@4/8",
                                        "%x0:b0@0/8",
                                        "%x0:b4@4/16",
                                        "%x0:b4@4/32",
                                        "%x0:b4@4/64",
                                        "%x0:b64@0/64",
                                        "%x0:b4@4/7",
                                        "%x0:b4@4/",
                                        "%x0:b@4/8",
                                        "%x0:b4@/8",
                                        "%x0:b4/8",
                                        "%x0:b4@4/8x",
                                        "%x0:b-4@4/8",
                                        "%x0:b4@-4/8",
                                        "%x0:b4@4/8[2]",
                                        "+0(%x0):b4@4/8[2]",
                                        "+0(%x0):u8[4]",
                                        "%x0:u8[4]",
                                        "+0(%x0):u8[0]",
                                        "+0(%x0):u8[64]",
                                        "+0(%x0):u8[65]",
                                        "+0(%x0):u8[-1]",
                                        "+0(%x0):u8[]",
                                        "+0(%x0):u8[4",
                                        "+0(%x0):u8[4]]",
                                        "+0(%x0):u8[4]x",
                                        "+0(%x0):u8[x]",
                                        "+0(%x0):u8[4][4]",
                                        "+0(%x0):[4]",
                                        "+0(%x0):u8]",
                                        "+0(%x0):string",
                                        "+0(%x0):ustring",
                                        "+u0(%x0):string",
                                        "+u0(%x0):ustring",
                                        "+0(%x0):symstr",
                                        "+u0(%x0):symstr",
                                        "+0(%x0):string[3]",
                                        "+u0(%x0):string[3]",
                                        "+0(%x0):ustring[3]",
                                        "+0(%x0):symstr[3]",
                                        "+0(%x0):u64[64]",
                                        "+0(%x0):symbol",
                                        "+0(%x0):symbol[2]",
                                        "@0x1000:string",
                                        "@+0x10:string",
                                        "@+0x10:u8[3]",
                                        "@0x1000:u8",
                                        "$stack:string",
                                        "$stack0:string",
                                        "$stack0:symstr",
                                        "$stack0:u8[2]",
                                        "+0(%x0):x8[3]",
                                        "+0(%x0):s16[3]",
                                        "+u8(%x0):u32[5]",
                                        "x=%x0",
                                        "x=",
                                        "=%x0",
                                        "x==%x0",
                                        "1x=%x0",
                                        "x-y=%x0",
                                        "x.y=%x0",
                                        "x y=%x0",
                                        "_x=%x0",
                                        "common_pid=%x0",
                                        "common_type=%x0",
                                        "__probe_ip=%x0",
                                        "__probe_func=%x0",
                                        "__probe_ret_ip=%x0",
                                        "common_foo=%x0",
                                        "x=%x0 x=%x1",
                                        "x=%x0 X=%x1",
                                        "arg1=%x0 %x1",
                                        "arg2=%x0 %x1",
                                        "arg2=%x1 %x0",
                                        "x=$comm y=+0(%x0):string",
                                        "x=\\\"lit=eral\"",
                                        "%x0=x",
                                        "a=%x0 b=%x1 c=%x2:u8 d=%x3:u16 e=%x4:s32",
                                        "a=%x0:u8 b=%x1",
                                        "a=$comm:string",
                                        "foo",
                                        "5",
                                        "0x10",
                                        "x=foo",
                                        "x=%x0:string[2]",
                                        "a=%x0,b=%x1",
                                        "a=%x0;",
                                        "type=%x0",
                                        "id=%x0",
                                        "name=%x0 value=+8(%x1):u32",
                                        "REC=%x0",
                                        "print=%x0"};
static const char* const return_arguments[] = {"$retval",      "$retval:u8", "$retval:string", "+0($retval):string",
                                               "$stack0",      "%x0",        "$arg1",          "$comm",
                                               "r=$retval:s32"};
static const char* const kprobe_lines[] = {"p vfs_read",
                                           "p:vfs_read",
                                           "p:a/b vfs_read",
                                           "p:a/b vfs_read+0",
                                           "p:a/b vfs_read-0",
                                           "p:a/b vfs_read+4",
                                           "p:a/b vfs_read+1",
                                           "p:a/b vfs_read+0x4",
                                           "p:a/b vfs_read-4",
                                           "p:a/b vfs_read+99999999",
                                           "p:a/b vfs_read+4294967296",
                                           "p:a/b vfs_read+",
                                           "p:a/b vfs_read++4",
                                           "p:a/b vfs_read+-4",
                                           "p:a/b vfs_read+zz",
                                           "p:a/b nothere",
                                           "p:a/b nothere+4",
                                           "p:a/b nothere%return",
                                           "p:a/b vfs_read%return",
                                           "p:a/b vfs_read+0%return",
                                           "p:a/b vfs_read+4%return",
                                           "p:a/b vfs_read%return+4",
                                           "p:a/b vfs_read%ret",
                                           "r:a/b vfs_read",
                                           "r:a/b vfs_read+0",
                                           "r:a/b vfs_read+4",
                                           "r:a/b vfs_read%return",
                                           "r:a/b nothere",
                                           "r5:a/b vfs_read",
                                           "r0:a/b vfs_read",
                                           "r4096:a/b vfs_read",
                                           "r4097:a/b vfs_read",
                                           "r99999999999:a/b vfs_read",
                                           "r5x:a/b vfs_read",
                                           "r0x10:a/b vfs_read",
                                           "r5 vfs_read",
                                           "p5:a/b vfs_read",
                                           "p5 vfs_read",
                                           "p:a/b 0",
                                           "p:a/b 0x0",
                                           "p:a/b 0xffffffffffffffff",
                                           "p:a/b 0xfffffffffffffffff",
                                           "p:a/b -5",
                                           "p:a/b vmlinux:vfs_read",
                                           "p:a/b nomod:vfs_read",
                                           "p:a/b :vfs_read",
                                           "p:a/b",
                                           "r:a/b",
                                           "p:a/b /vfs_read",
                                           "p:a/b vfs/read",
                                           "p:a/b a/b:c",
                                           "p:a/b el0_svc",
                                           "p:a/b gic_handle_irq",
                                           "p:a/b do_page_fault",
                                           "p:a/b do_el0_svc",
                                           "p:a/b _stext",
                                           "p:a/b kprobe_dispatcher",
                                           "p:a/b jiffies",
                                           "p:a/b linux_banner",
                                           "p:kprobes/format vfs_read",
                                           "p:sched/sched_switch vfs_read",
                                           "p:vfs.read vfs_read",
                                           "p:a/b vfs_read\np:a/b vfs_read\n",
                                           "p:a/b vfs_read\np:a/b vfs_write\n",
                                           "p:a/b vfs_read\nr:a/b vfs_read\n",
                                           "p:a/b vfs_read x=%x0\np:a/b vfs_read x=%x1\n",
                                           "p:a/b vfs_read x=%x0\np:a/b vfs_write y=%x1\n",
                                           "p:a/b vfs_read\n-:a/b\n",
                                           "-:a/b",
                                           "-:b",
                                           "p:b vfs_read\n-:b\n",
                                           "p:a/b vfs_read\n-:a/b vfs_write\n",
                                           "p:a/b vfs_read\n-:a/b vfs_read\n",
                                           "p:a/b vfs_read+0\n-:a/b vfs_read+0\n",
                                           "p:a/b vfs_read+4\n-:a/b vfs_read+4\n",
                                           "r:a/b vfs_read\np:a/c vfs_read\n",
                                           "r10:a/b vfs_read $retval\n",
                                           "-*",
                                           "-:*",
                                           "p:a/b vfs_read#c",
                                           "p vfs_read p vfs_read",
                                           "p:a/b vfs_read%return $retval",
                                           "q vfs_read",
                                           "e:a/b sched/sched_switch",
                                           "e:a/b sched/sched_switch x=$prev_pid",
                                           "e:a/b nosuch/ev",
                                           "e:a/b",
                                           "s:a int b",
                                           "f:a/b vfs_read",
                                           "x:a/b vfs_read",
                                           "t:a/b sched_switch"};
static const char* const kernel_arguments[] = {"%x0",
                                               "%w0",
                                               "$stack",
                                               "$stack0",
                                               "$stack2048",
                                               "$stack2049",
                                               "$stack99999999999999999999",
                                               "$comm",
                                               "$retval",
                                               "$arg1",
                                               "$arg8",
                                               "$arg9",
                                               "$arg0",
                                               "$arg2048",
                                               "$arg2049",
                                               "$argx",
                                               "$arg",
                                               "$arg010",
                                               "$arg0x1",
                                               "$arg-1",
                                               "$arg+1",
                                               "$arg1:string",
                                               "+0($arg1):string",
                                               "+0($arg2):ustring",
                                               "+u0($arg2):string",
                                               "@0x1000",
                                               "@+0x10",
                                               "@",
                                               "@nothere",
                                               "@nothere+4",
                                               "@nothere-4",
                                               "@nothere+zz",
                                               "@nothere+0xfffffffffffffffffff",
                                               "@vfs_read",
                                               "@vfs_read+4",
                                               "@vfs_read+4:u32",
                                               "@vfs_read:string",
                                               "+0(@vfs_read)",
                                               "@vfs_read:x8[4]",
                                               "@@vfs_read",
                                               "@-vfs_read",
                                               "%x0:symbol",
                                               "%x0:symstr",
                                               "+0(%sp):symbol",
                                               "$arg1:symbol",
                                               "x=@vfs_read y=@nothere",
                                               "@5",
                                               "\\5",
                                               "%lr",
                                               "%pc:symstr",
                                               "$retval:symstr",
                                               "$stack0:symstr",
                                               "@nothere x=%zz",
                                               "%x0:b1@+2/8",
                                               "%x0:b+1@2/8",
                                               "%x0:b4@4/010",
                                               "%x0:b04@4/8",
                                               "%x0:b0x4@4/8",
                                               "%x0:b4@4/+8",
                                               "%x0:b4@4@4/8",
                                               "%x0:u8\t",
                                               "%x0 \n#x"};
static const char* const mixed_lines[] = {"p:a/b vfs_read",
                                          "r:a/b vfs_read $retval",
                                          "p:a/b /tmp/f.so:0x10",
                                          "-:a/b",
                                          "p:a/b vfs_read\np:a/c /tmp/f.so:16\n",
                                          "p:a/b",
                                          "x:a/b foo",
                                          "p nothere",
                                          "p /tmp/none:0",
                                          "p:a/b vfs_read\n-:a/b vfs_read\n",
                                          "p:a/b vfs_read\n-:a/\n",
                                          "p:a/b vfs_read\n-:b\n",
                                          "p:kprobes/b vfs_read\n-:b\n",
                                          "p:a/b vfs_read\n-:c/b\n",
                                          "p:a/b vfs_read\n!p:a/b\n"};
#define N(a) (sizeof(a) / sizeof *(a))

static void lengths(void) {
    static const char kU[] = "uprobe_events", kAt[] = " /tmp/f.so:0x10", kP[] = "p:a/b /tmp/f.so:0x10 ";
    for (int n = 62; n <= 65; n++) {
        repeated("p:a/", "e", n, kAt, 0, "");
        try(kU, line);
        repeated("p:", "g", n, "/e", 0, kAt);
        try(kU, line);
    }
    for (int n = 31; n <= 33; n++) {
        repeated(kP, "a", n, "=%x0", 0, "");
        try(kU, line);
    }
    for (int n = 10; n <= 15; n++) {
        static const char* const types[] = {"", ":string[2]", ":b1@2/8[2]"};
        for (unsigned t = 0; t < 3; t++) {
            repeated(kP, "+0(", n, "%x0", n, types[t]);
            try(kU, line);
        }
        repeated("p:a/b vfs_read ", "+0(", n - 2, "@vfs_read", n - 2, "");
        try("kprobe_events", line);
    }
    for (int n = 55; n <= 58; n++) {
        repeated("p:a/b /tmp/f.so:0x10 x=+0x", "0", n, "(%x0)", 0, "");
        try(kU, line);
    }
    for (int n = 127; n <= 130; n++) {
        strcpy(line, kP);
        for (int i = 0; i < n; i++) sprintf(line + strlen(line), " a%d=%%x0", i);
        try(kU, line);
    }
    for (int n = 5; n <= 7; n++) {
        strcpy(line, kP);
        for (int i = 0; i < n; i++) sprintf(line + strlen(line), " a%d=+0(%%x0):u64[64]", i);
        try(kU, line);
    }
    for (int n = 4072; n <= 4076; n++) {
        repeated(kP, "x", n, "\n", 0, "");
        try(kU, line);
    }
}

int main(void) {
    mkdir("/tmp", 0777);
    int fd = open("/tmp/f.so", O_CREAT | O_TRUNC | O_RDWR, 0755);
    ftruncate(fd, 8192);
    clear(TRACE "error_log");
    for (unsigned i = 0; i < N(uprobe_lines); i++) try("uprobe_events", uprobe_lines[i]);
    for (unsigned i = 0; i < N(arguments); i++) {
        snprintf(line, sizeof line, "p:a/b /tmp/f.so:0x10 %s", arguments[i]);
        try("uprobe_events", line);
    }
    for (unsigned i = 0; i < N(return_arguments); i++) {
        snprintf(line, sizeof line, "r:a/b /tmp/f.so:0x10 %s", return_arguments[i]);
        try("uprobe_events", line);
    }
    for (unsigned i = 0; i < N(kprobe_lines); i++) try("kprobe_events", kprobe_lines[i]);
    for (unsigned i = 0; i < N(kernel_arguments); i++) {
        static const char* const places[] = {"p:a/b vfs_read", "r:a/b vfs_read", "p:a/b vfs_read+8"};
        for (unsigned p = 0; p < N(places); p++) {
            snprintf(line, sizeof line, "%s %s", places[p], kernel_arguments[i]);
            try("kprobe_events", line);
        }
    }
    for (unsigned i = 0; i < N(mixed_lines); i++) try("dynamic_events", mixed_lines[i]);
    lengths();
    return 0;
}
