# SPDX-License-Identifier: Apache-2.0
# Common to the scripts of this folder; source it, do not run it.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
script=$(basename "$0")
jobs=${JOBS:-$(nproc)}

say() { printf '== %s: %s\n' "$script" "$*"; }
warn() { printf '== %s: %s\n' "$script" "$*" >&2; }
die() { warn "$*"; exit 1; }

# build_dir PRESET: where CMakePresets.json puts that preset.
build_dir() { if [ "$1" = release ]; then echo build; else echo "build-$1"; fi; }

# configure PRESET [cmake option...]
configure() {
    local preset=$1 dir
    shift
    dir=$(build_dir "$preset")
    # A folder configured elsewhere (a copied or moved checkout) cannot be reused.
    if [ -f "$dir/CMakeCache.txt" ] &&
        ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$dir/CMakeCache.txt"; then
        warn "$dir belongs to another checkout, starting it anew"
        rm -rf "$dir"
    fi
    cmake --preset "$preset" "$@" >"/tmp/rkperf-configure.$$" 2>&1 || {
        cat "/tmp/rkperf-configure.$$"
        rm -f "/tmp/rkperf-configure.$$"
        die "cmake could not configure the preset $preset"
    }
    rm -f "/tmp/rkperf-configure.$$"
}
