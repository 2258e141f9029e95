# SPDX-License-Identifier: Apache-2.0
# The tree keeps the house rules: include arrows, file lengths, licence lines.
exec "$RK_SOURCE/scripts/check-includes" "$RK_SOURCE"
