# SPDX-License-Identifier: Apache-2.0
# How the tests fared under the address and undefined-behaviour sanitizers:
# scripts/test runs them before this suite and leaves the verdict here.
result=$RK_BUILD/sanitizers.result
[ -f "$result" ] || { echo "not run; scripts/test runs them"; exit 77; }
cat "$result"
case $(head -n 1 "$result") in
passed) exit 0 ;;
cut) exit 77 ;;
*) exit 1 ;;
esac
