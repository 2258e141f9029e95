# SPDX-License-Identifier: Apache-2.0
# C and C++ files are laid out as .clang-format says.
exec "$RK_SOURCE/scripts/check-format"
