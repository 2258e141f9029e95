#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs inside the guest: every program, then miniperf's options. One line per check; status 1 when one failed.
# Records r_*.data, which the host opens afterwards.
failed=0
check() { # check NAME STATUS_OF_LAST_TEST
    if [ "$2" = 0 ]; then echo "ok   $1"; else echo "FAIL $1"; failed=1; fi
}
# expect STATUS PATTERN COMMAND...: exit status and a line of the output
expect() {
    want=$1 pattern=$2
    shift 2
    output=$("$@" 2>&1)
    got=$?
    [ "$got" = "$want" ] && echo "$output" | grep -q -- "$pattern"
    status=$?
    check "$*" $status
    [ $status = 0 ] || { echo "     status $got, wanted $want and '$pattern' in:"; echo "$output" | sed 's/^/     /'; }
}

grep -v '^#' checksums.txt > programs
while read -r name sum; do
    expect 0 "^$name checksum $sum\$" "$name"
done < programs
expect 2 'must be a number' quicksort 0
expect 2 'must be a number' matmul x

# Counting. 4 N + 11 instructions, see exactloop.S; 4 N + 17 + 7 digits with an argument.
expect 0 '^10000011,,instructions:u,' miniperf stat -x, -e instructions:u exactloop
expect 0 '^4049,,instructions:u,' miniperf stat -x, -e instructions:u exactloop 1001
expect 0 'insn per cycle' miniperf stat -e cycles,instructions exactloop
expect 0 '^ *10,000,011 ' miniperf stat -e '{instructions,cycles}:u' exactloop
expect 0 '^ *10000011 ' miniperf stat --no-big-num -e r8:u exactloop
expect 0 'CPUs utilized' miniperf stat quicksort
expect 0 'seconds user' miniperf stat -e cs true
expect 0 '(3 runs)' miniperf stat -r 3 -e task-clock true
expect 0 ' +- .* seconds time elapsed' miniperf stat -r 3 -e task-clock exactloop 1000
expect 0 '<not supported>      ref-cycles' miniperf stat -e ref-cycles true
expect 0 '^<not supported>,,ref-cycles,0,100.00,,$' miniperf stat -x, -e ref-cycles true
expect 0 '<not counted>' miniperf stat -e cycles -p 1 sleep 0.01
expect 0 '([0-9.]*%)$' miniperf stat -e cycles,r1,r2,r3,r4,r5,r6,r7,r9,r10 exactloop
expect 0 'time             counts unit events' miniperf stat -I 5 -e cycles exactloop
expect 0 "'system wide'" miniperf stat -a -e cycles true
expect 0 '^CPU0 ' miniperf stat -a -A -e cycles true
expect 0 "'CPU(s) 0'" miniperf stat -C 0 -e cycles true
expect 0 '0      mem:0x10:rw' miniperf stat -e mem:0x10:rw true
expect 0 '100      mem:0x400158:x' miniperf stat -e mem:0x400158:x exactloop 100
expect 3 '' miniperf stat -e cs sh -c 'exit 3'
expect 0 'Killed' miniperf stat -e cs sh -c 'kill -9 $$'
expect 255 'No such file' miniperf stat -e cs nosuchprogram
expect 255 'No space left' miniperf stat -o /dev/full -e cs true
expect 129 'did you mean cycles?' miniperf stat -e cycels true
expect 129 'no option' miniperf stat --nosuch true
expect 129 'closed by a brace' miniperf stat -e '{cycles' true
expect 129 'is no period' miniperf record -c 0 true
expect 129 'only one of them' miniperf record -c 10 -F 10 true
expect 129 'needs a program' miniperf record
expect 255 'not supported' miniperf record -e ref-cycles true
expect 255 'No space left' miniperf record -o /dev/full true
expect 255 'cannot create' miniperf record -o /nosuch/file true
expect 3 '' miniperf record -o x.data sh -c 'exit 3'

# Sampling
expect 0 samples miniperf record -c 10000 -g -o r_calls.data quicksort
expect 0 samples miniperf record -F 2000 -o r_freq.data matmul
expect 0 samples miniperf record -a -o r_all.data forktree
expect 0 samples miniperf record -C 0 -c 50000 -o r_cpu.data phases
expect 0 samples miniperf record -e '{cycles,page-faults}:u' -c 5000 -e cpu-clock -d -T -o r_many.data pages
expect 0 samples miniperf record -m 1 -c 5000 -g -o r_wrap.data deepstack
expect 0 samples miniperf record --per-thread -c 50000 -o r_thread.data branchy
expect 0 samples miniperf record -e sched:sched_switch,cycles -o r_trace.data forktree
expect 0 samples miniperf record -e mem:0x400158:x:u -c 100 -o r_mem.data exactloop 10000
locks 2 100000000 > /dev/null &
victim=$!
sleep 0.1
expect 0 samples miniperf record -g -p $victim -o r_pid.data sleep 0.1
expect 0 'process id' miniperf stat -p $victim -e task-clock sleep 0.05
kill $victim
miniperf record -q -c 20000 -o - exactloop > r_pipe.data
check 'record -o -' $?
miniperf record -q -e raw_syscalls:sys_enter -o - sh -c 'syscalls 5 > /dev/null' > r_tpipe.data
check 'tracepoint record -o -' $?
mkdir small && mount -t tmpfs -o size=16k none small
expect 255 'No space left' miniperf record -c 5000 -g -o small/r_full.data quicksort
cp small/r_full.data . 2> /dev/null
exit $failed
