# SPDX-License-Identifier: Apache-2.0
# The commands of the README and of the user guide run, and print the lines shown there, in that
# order; figures may have moved (scripts/doc-examples --update takes the new ones over).
set -eu
command -v perf >/dev/null || exit 77
exec "$RK_SOURCE/scripts/doc-examples" --shapes --build "$RK_BUILD"
