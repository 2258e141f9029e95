#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# rk-timeout: 900
# The same bytes from every compiler and optimisation level, if the builds for that are there and nearly up to date.
# scripts/test makes them before this suite, and says here when that failed.
verdict=$RK_BUILD/compilers.result
[ ! -f "$verdict" ] || { cat "$verdict"; exit 1; }
exec "$RK_SOURCE/scripts/check-determinism" --at-most 40
