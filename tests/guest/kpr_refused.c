// SPDX-License-Identifier: Apache-2.0
// Which functions of the kernel take no kprobe: those on the way of a probe's own exceptions, and those without a place for
// ftrace. By the PMU and in tracefs, entry and return, and behind the first instructions.
#include "upr_guest.h"

static const char* const functions[] = {"__arch_copy_from_user",
                                        "__arch_copy_to_user",
                                        "__arm64_sys_set_mempolicy_home_node",
                                        "__do_sys_perf_event_open",
                                        "__el0_irq_handler_common",
                                        "__schedule",
                                        "__switch_to",
                                        "bpf_perf_event_output",
                                        "breakpoint_handler",
                                        "brk_handler",
                                        "call_on_irq_stack",
                                        "clear_page",
                                        "copy_page",
                                        "do_debug_exception",
                                        "do_mem_abort",
                                        "do_page_fault",
                                        "el0_da",
                                        "el0_dbg",
                                        "el0_ia",
                                        "el0_interrupt",
                                        "el0_pc",
                                        "el0_svc",
                                        "el0_undef",
                                        "el0t_64_irq",
                                        "el0t_64_irq_handler",
                                        "el0t_64_sync",
                                        "el0t_64_sync_handler",
                                        "el1_dbg",
                                        "el1_interrupt",
                                        "el1h_64_irq",
                                        "el1h_64_irq_handler",
                                        "handle_mm_fault",
                                        "irq_work_run",
                                        "kprobe_breakpoint_handler",
                                        "kprobe_breakpoint_ss_handler",
                                        "kprobe_dispatcher",
                                        "kprobe_perf_func",
                                        "kretprobe_dispatcher",
                                        "kretprobe_perf_func",
                                        "perf_swevent_event",
                                        "perf_syscall_enter",
                                        "perf_syscall_exit",
                                        "perf_trace_add",
                                        "perf_trace_del",
                                        "perf_trace_destroy",
                                        "perf_trace_init",
                                        "pre_handler_kretprobe",
                                        "reinstall_suspended_bps",
                                        "schedule",
                                        "single_step_handler",
                                        "toggle_bp_registers",
                                        "trace_call_bpf",
                                        "trampoline_probe_handler",
                                        "uprobe_dispatcher",
                                        "uprobe_notify_resume",
                                        "uretprobe_dispatcher",
                                        "vfs_read",
                                        "watchpoint_handler"};

static const char* pmu(const char* function, int ret, uint64_t offset) {
    struct perf_event_attr a = {.size = sizeof a, .disabled = 1};
    a.type = (uint32_t)number_in("/sys/bus/event_source/devices/kprobe/type");
    a.config = (uint64_t)ret;
    a.kprobe_func = (uint64_t)function;
    a.probe_offset = offset;
    const int fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
    const char* result = OK(fd);
    if (fd >= 0) close(fd);
    return result;
}

static const char* tracefs(char kind, const char* function) {
    const int fd = open("/sys/kernel/tracing/kprobe_events", O_WRONLY | O_APPEND);
    char line[128];
    const int n = snprintf(line, sizeof line, "%c:kprr/one %s\n", kind, function);
    const char* result = OK(write(fd, line, (size_t)n));
    close(fd);
    close(open("/sys/kernel/tracing/kprobe_events", O_WRONLY | O_TRUNC));
    return result;
}

int main(void) {
    for (unsigned i = 0; i < sizeof functions / sizeof *functions; i++) {
        const char* f = functions[i];
        say("%s: %s, return %s, in tracefs %s %s, behind %s", f, pmu(f, 0, 0), pmu(f, 1, 0), tracefs('p', f),
            tracefs('r', f), pmu(f, 0, 8));
    }
    return 0;
}
