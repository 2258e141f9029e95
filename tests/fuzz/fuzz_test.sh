#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# rk-timeout: 300
# A short run of every libFuzzer target, from a fresh corpus so that each run is the same.
rm -rf "$RK_BUILD"/fuzz/*/corpus
exec "$RK_SOURCE/scripts/fuzz" --runs 60000
