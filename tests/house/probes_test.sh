#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# rk-timeout: 1200
# Conformance probes: programs whose output on a real Linux 6.1 arm64 kernel is
# known. They must print the same inside the simulation; those of parts that are
# missing are reported.
# None may crash the simulator or hang. The probes live beside the checkout;
# RK_PROBES (a CMake variable) says where.
[ -x "$RK_PROBES/check" ] || { echo "no probes at $RK_PROBES"; exit 77; }
[ -x "$RKPERF" ] || { echo "$RKPERF has not been built"; exit 1; }
command -v aarch64-linux-gnu-gcc >/dev/null || { echo "no aarch64-linux-gnu-gcc"; exit 77; }

kept=$(mktemp -d)
trap 'rm -rf "$kept"' EXIT
required=() reported=()
for source in "$RK_PROBES"/*.c; do
    name=$(basename "$source" .c)
    case $name in
    a_* | b_*) required+=("$name") ;;
    *) reported+=("$name") ;;
    esac
done
# check NAME... prints a verdict for each and the differences of those that failed.
check() { bash "$RK_PROBES/check" "${options[@]}" -j "$(nproc)" -t 120 -k "$kept" "$@" -- "$RKPERF" run -- {}; }

bad=0
echo "== required"
options=()
check "${required[@]}" || bad=1
if [ ${#reported[@]} -gt 0 ]; then
    echo "== reported only"
    options=(-q)
    check "${reported[@]}"
fi
for status in "$kept"/*.rc; do
    name=$(basename "$status" .rc)
    case $(<"$status") in
    build) ;; # check has said so
    124) echo "$name hangs"; bad=1 ;;
    12[5-9] | 1[3-9][0-9] | 2??) echo "$name ends with status $(<"$status")"; sed 's/^/    /' "$kept/$name.err"; bad=1 ;;
    esac
    if grep -lE 'terminate called|Sanitizer|Segmentation fault|assert' "$kept/$name.err"; then bad=1; fi
done
exit $bad
