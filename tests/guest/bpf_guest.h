// SPDX-License-Identifier: Apache-2.0
// Instructions of BPF by hand, and the system call.
#pragma once

#include "os_guest.h"

#include <linux/bpf.h>

typedef struct bpf_insn insn;
#define MOVI(d, v) \
    { .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = d, .imm = v }
#define MOV(d, s) \
    { .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = d, .src_reg = s }
#define ALUI(op, d, v) \
    { .code = BPF_ALU64 | op | BPF_K, .dst_reg = d, .imm = v }
#define ALU(op, d, s) \
    { .code = BPF_ALU64 | op | BPF_X, .dst_reg = d, .src_reg = s }
#define ALU32I(op, d, v) \
    { .code = BPF_ALU | op | BPF_K, .dst_reg = d, .imm = v }
#define LDX(sz, d, s, o) \
    { .code = BPF_LDX | BPF_MEM | sz, .dst_reg = d, .src_reg = s, .off = o }
#define STX(sz, d, s, o) \
    { .code = BPF_STX | BPF_MEM | sz, .dst_reg = d, .src_reg = s, .off = o }
#define STI(sz, d, o, v) \
    { .code = BPF_ST | BPF_MEM | sz, .dst_reg = d, .off = o, .imm = v }
#define ATOMIC(sz, d, s, o, op) \
    { .code = BPF_STX | BPF_ATOMIC | sz, .dst_reg = d, .src_reg = s, .off = o, .imm = op }
#define JMPI(op, d, v, o) \
    { .code = BPF_JMP | op | BPF_K, .dst_reg = d, .imm = v, .off = o }
#define JMP(op, d, s, o) \
    { .code = BPF_JMP | op | BPF_X, .dst_reg = d, .src_reg = s, .off = o }
#define JA(o) \
    { .code = BPF_JMP | BPF_JA, .off = o }
#define CALL(f) \
    { .code = BPF_JMP | BPF_CALL, .imm = f }
#define CALLP(o) \
    { .code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_CALL, .imm = o }
#define EXIT \
    { .code = BPF_JMP | BPF_EXIT }
#define LDMAP(d, fd) \
    {.code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = d, .src_reg = BPF_PSEUDO_MAP_FD, .imm = fd}, { 0 }
#define LDVAL(d, fd, o) \
    {.code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = d, .src_reg = BPF_PSEUDO_MAP_VALUE, .imm = fd}, { .imm = o }
#define LD64(d, v) \
    {.code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = d, .imm = (int)(uint64_t)(v)}, { .imm = (int)((uint64_t)(v) >> 32) }

static long bpf(int cmd, union bpf_attr* a) { return syscall(SYS_bpf, cmd, a, sizeof *a); }
