#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# rk-timeout: 300
# Every workload counts what it counted before: a changed figure is entered by scripts/figures --update, and explained.
exec "$RK_SOURCE/scripts/figures" --build "$RK_BUILD"
