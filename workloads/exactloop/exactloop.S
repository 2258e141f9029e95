// SPDX-License-Identifier: Apache-2.0
// Stresses nothing, counts exactly: between exact_begin and exact_end run 4 * N + 2 instructions. exactloop [N]
//
// No C library: the program starts at _start, prints nothing and ends with status 0 (2 for a bad argument).
// From exact_begin on, up to but not including exact_end:
//
//     1          movz of the sum
//     4 * N      add, eor, subs, b.ne
//     1          the nop before exact_end
//
// The N conditional branches are taken N - 1 times. No loads, stores or system calls happen in between.
// Without argument N is 2500000, which makes 10000002 instructions. The whole program then executes
// 4 * N + 11 instructions at EL0, and 4 * N + 17 + 7 * DIGITS with an argument of DIGITS digits.

    .file   "exactloop.S"
    .text
    .globl  _start
    .globl  exact_begin
    .globl  exact_end
    .type   _start, %function
_start:
    mov     x29, #0
    mov     x30, #0
    ldr     x1, [sp]
    ldr     x0, =2500000
    cmp     x1, #2
    b.lt    exact_begin
    ldr     x2, [sp, #16]
    mov     x0, #0
    mov     x4, #10
1:  ldrb    w3, [x2], #1
    cbz     w3, 2f
    sub     w3, w3, #'0'
    cmp     w3, #9
    b.hi    bad
    madd    x0, x0, x4, x3
    b       1b
2:  cbz     x0, bad

exact_begin:
    movz    x1, #0
3:  add     x1, x1, x0
    eor     x2, x1, x0
    subs    x0, x0, #1
    b.ne    3b
    nop
exact_end:
    mov     x0, #0
    mov     x8, #93
    svc     #0
bad:
    mov     x0, #2
    mov     x8, #93
    svc     #0
    .size   _start, . - _start
    .ltorg
    .section .note.GNU-stack, "", %progbits
