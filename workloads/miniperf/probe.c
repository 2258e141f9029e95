// SPDX-License-Identifier: Apache-2.0
// probe: defines uprobes and kprobes through tracefs, by symbol or by offset.
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "events.h"
#include "tracing.h"

static const char help[] =
    "usage: miniperf probe -x PROGRAM [OPTION]... SYMBOL|OFFSET[%return] [ARGUMENT]...\n"
    "       miniperf probe [OPTION]... FUNCTION[%return] [ARGUMENT]...\n"
    "       miniperf probe -d GROUP:EVENT | -l\n"
    "Defines a probe, on a program's instruction or on a kernel function's entry. ARGUMENT is NAME=FETCHARG as in\n"
    "tracefs: 'count=%x0', 'name=+0(%x1):ustring', 'ret=$retval'.\n"
    "  -x, --exec PROGRAM    the program or library\n"
    "  -n, --name NAME       the event's name; without it that of the symbol\n"
    "  -d, --del GROUP:EVENT deletes a probe\n"
    "  -l, --list            shows the probes\n";

// One line into uprobe_events or kprobe_events.
static int submit(const char* file, const char* line) {
    const char* root = tracing_root();
    if (!root) fatal("tracefs is not readable here");
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", root, file);
    const int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0) return -errno;
    const ssize_t n = write(fd, line, strlen(line));
    const int result = n < 0 ? -errno : 0;
    close(fd);
    return result;
}

struct image {
    const unsigned char* p;
    size_t size;
};

static const void* at(const struct image* m, uint64_t offset, uint64_t size) {
    return offset <= m->size && size <= m->size - offset ? m->p + offset : NULL;
}

// File offset of a virtual address.
static bool offset_of(const struct image* m, const Elf64_Ehdr* e, uint64_t address, uint64_t* offset) {
    for (unsigned i = 0; i < e->e_phnum; i++) {
        const Elf64_Phdr* p = at(m, e->e_phoff + (uint64_t)i * e->e_phentsize, sizeof(*p));
        if (p && p->p_type == PT_LOAD && address - p->p_vaddr < p->p_filesz) {
            *offset = address - p->p_vaddr + p->p_offset;
            return true;
        }
    }
    return false;
}

static bool find_in(const struct image* m, const Elf64_Ehdr* e, unsigned type, const char* name, uint64_t* offset) {
    for (unsigned i = 0; i < e->e_shnum; i++) {
        const Elf64_Shdr* s = at(m, e->e_shoff + (uint64_t)i * e->e_shentsize, sizeof(*s));
        if (!s || s->sh_type != type || s->sh_entsize < sizeof(Elf64_Sym)) continue;
        const Elf64_Shdr* names = at(m, e->e_shoff + (uint64_t)s->sh_link * e->e_shentsize, sizeof(*names));
        if (!names) continue;
        for (uint64_t k = 0; k < s->sh_size / s->sh_entsize; k++) {
            const Elf64_Sym* sym = at(m, s->sh_offset + k * s->sh_entsize, sizeof(*sym));
            if (!sym || !sym->st_shndx || sym->st_name >= names->sh_size) continue;
            const size_t room = (size_t)(names->sh_size - sym->st_name), n = strlen(name) + 1;
            const char* text = at(m, names->sh_offset + sym->st_name, n);
            if (n > room || !text || memcmp(text, name, n)) continue;
            if (offset_of(m, e, sym->st_value, offset)) return true;
        }
    }
    return false;
}

uint64_t find_symbol(const char* program, const char* name) {
    struct stat st;
    const int fd = open(program, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st)) fatal("cannot open %s: %s", program, strerror(errno));
    struct image m = {MAP_FAILED, (size_t)st.st_size};
    if (m.size) m.p = mmap(NULL, m.size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    const Elf64_Ehdr* e = m.p == MAP_FAILED ? NULL : at(&m, 0, sizeof(*e));
    uint64_t offset;
    if (!e || memcmp(e->e_ident, ELFMAG, SELFMAG) || e->e_ident[EI_CLASS] != ELFCLASS64)
        fatal("%s is no 64-bit ELF file", program);
    if (!find_in(&m, e, SHT_SYMTAB, name, &offset) && !find_in(&m, e, SHT_DYNSYM, name, &offset))
        fatal("%s has no symbol '%s'", program, name);
    munmap((void*)m.p, m.size);
    return offset;
}

// What may stand in the name of a group or event.
static void only_name_characters(char* s) {
    for (; *s; s++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", *s)) *s = '_';
}

static char* join(char** words, int n) {
    char* line = xstrdup("");
    for (int i = 0; i < n; i++) {
        char* longer = xformat("%s %s", line, words[i]);
        free(line);
        line = longer;
    }
    return line;
}

static int report(int error, const char* what) {
    if (!error) return 0;
    if (error == -EEXIST) fatal("%s is there already", what);
    if (error == -EBUSY) fatal("%s is in use", what);
    if (error == -EACCES || error == -EPERM) fatal("%s: only root may define probes", what);
    fatal("%s: %s; error_log in tracefs says more", what, strerror(-error));
}

static int add_probe(const char* program, char* place, const char* given_name, char** words, int n) {
    char* suffix = strstr(place, "%return");
    const bool is_return = suffix && !suffix[7];
    if (is_return) *suffix = 0;
    char* arguments = join(words, n);
    char* name = given_name ? xstrdup(given_name) : xformat("%s%s", place, is_return ? "__return" : "");
    char *group, *line;
    const char* file = "kprobe_events";
    if (program) {
        char path[PATH_MAX];
        if (!realpath(program, path)) fatal("cannot find %s: %s", program, strerror(errno));
        uint64_t offset;
        const bool number = parse_u64(place, &offset);
        if (!number) offset = find_symbol(path, place);
        if (number && !given_name) {
            free(name);
            name = xformat("abs_%llx%s", (unsigned long long)offset, is_return ? "__return" : "");
        }
        const char* slash = strrchr(path, '/');
        char* base = xstrdup(slash + 1);
        base[strcspn(base, ".-")] = 0;
        group = xformat("probe_%s", base);
        only_name_characters(group);
        only_name_characters(name);
        line = xformat("%c:%s/%s %s:0x%llx%s\n", is_return ? 'r' : 'p', group, name, path, (unsigned long long)offset,
                       arguments);
        file = "uprobe_events";
        free(base);
    } else {
        group = xstrdup("probe");
        only_name_characters(name);
        line = xformat("%c:%s/%s %s%s\n", is_return ? 'r' : 'p', group, name, place, arguments);
    }
    char* event = xformat("%s:%s", group, name);
    report(submit(file, line), event);
    printf(
        "Added new event:\n  %s\n\nYou can now use it in all miniperf tools, such as:\n\n"
        "\tminiperf record -e %s -a sleep 1\n\n",
        event, event);
    free(event);
    free(line);
    free(group);
    free(name);
    free(arguments);
    return 0;
}

static int delete_probe(const char* event) {
    char* line = xformat("-:%s\n", event);
    char* colon = strchr(line + 2, ':');
    if (colon) *colon = '/';
    int error = submit("uprobe_events", line);
    if (error == -ENOENT) error = submit("kprobe_events", line);
    free(line);
    if (error == -ENOENT) fatal("there is no probe '%s'", event);
    report(error, event);
    printf("Removed event: %s\n", event);
    return 0;
}

static int list_probes(void) {
    static const char* const files[] = {"kprobe_events", "uprobe_events"};
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        char path[PATH_MAX], text[1 << 16];
        snprintf(path, sizeof(path), "%s/%s", tracing_root() ? tracing_root() : "", files[i]);
        if (read_text(path, text, sizeof(text)) > 0) puts(text);
    }
    return 0;
}

int command_probe(int argc, char** argv) {
    static const struct option options[] = {
        {"exec", required_argument, NULL, 'x'}, {"name", required_argument, NULL, 'n'},
        {"del", required_argument, NULL, 'd'},  {"list", no_argument, NULL, 'l'},
        {"help", no_argument, NULL, 'h'},       {NULL, 0, NULL, 0}};
    const char *program = NULL, *name = NULL;
    optind = 1;
    for (int c; (c = getopt_long(argc, argv, "+x:n:d:lh", options, NULL)) != -1;) switch (c) {
            case 'x': program = optarg; break;
            case 'n': name = optarg; break;
            case 'd': return delete_probe(optarg);
            case 'l': return list_probes();
            case 'h': fputs(help, stdout); return 0;
            default: exit(EXIT_USAGE);
        }
    if (optind == argc) usage_error("probe: where? A symbol or an offset is missing");
    return add_probe(program, argv[optind], name, argv + optind + 1, argc - optind - 1);
}
