# SPDX-License-Identifier: Apache-2.0
# rk-timeout: 1200
# Conformance probes: programs whose output on a real Linux 6.1 arm64 kernel is
# known must print the same inside the simulation. They live beside the checkout;
# RK_PROBES (a CMake variable) says where.
[ -x "$RK_PROBES/check" ] || { echo "no probes at $RK_PROBES"; exit 77; }
[ -x "$RKPERF" ] || { echo "$RKPERF has not been built"; exit 1; }
command -v aarch64-linux-gnu-gcc >/dev/null || { echo "no aarch64-linux-gnu-gcc"; exit 77; }
exec bash "$RK_PROBES/check" -j "$(nproc)" -t 120 -- "$RKPERF" run -- {}
