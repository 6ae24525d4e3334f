#!/usr/bin/env bash
# User time of a report about a whole system, with inferred host programs and without.
#
# usage: benches/inferred.sh ROOT [ROUNDS]      writes benches/results/DATE-inferred.txt
#
# ROOT is a Debian root with plugins; the program runs in it by chroot, so this needs root. Runs
# with and without inferred hosts alternate on a warm cache. Exit status 1 if the median with
# inferred hosts is above 1.2 times the other median, or above 2 s in a root of at most 9,000 ELF
# files.
#
# LINKAUDIT=FILE   the program to measure; otherwise it is built with --release. RESULTS=DIR (for trials)
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
root=${1:?usage: inferred.sh ROOT [ROUNDS]}
rounds=${2:-5}
results=${RESULTS:-$here/results}
if [[ -z ${LINKAUDIT:-} ]]; then
  (cd "$here/.." && cargo build --release --quiet)
  LINKAUDIT=${CARGO_TARGET_DIR:-$here/../target}/release/linkaudit
fi
mkdir -p "$results"
# The program must be inside of the root. It is removed at the end.
program=$(mktemp "$root/linkaudit.XXXXXX")
out=$(mktemp)
trap 'rm -f "$program" "$out"' EXIT
cp "$LINKAUDIT" "$program"
chmod 755 "$program"

# Runs one of the two commands and prints its user time. Exit statuses 1 and 3 report findings or an
# incomplete audit, and are accepted.
side() {
  local TIMEFORMAT=%U status=0
  { time chroot "$root" "/${program##*/}" check /usr "$@" >"$out" 2>&1 || status=$?; } 2>&1
  [[ $status = [013] ]] || { cat "$out" >&2; exit 2; }
}
median() { tr ' ' '\n' | sed '/^$/d' | sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }

side >/dev/null
totals=$(sed -n '/ELF files/p' "$out")
elf=$(sed -n 's/.* \([0-9]*\) ELF files.*/\1/p' <<<"$totals")
[[ -n $elf ]] || { cat "$out" >&2; exit 2; }
with='' without=''
for _ in $(seq "$rounds"); do
  with+=" $(side)"
  without+=" $(side --no-inferred-hosts)"
done
ratio=$(awk "BEGIN { printf \"%.2f\", $(median <<<"$with") / $(median <<<"$without") }")
status=0
{
  echo "inferred host programs, $(date -u +%F), $(nproc) processors, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
  echo "command: linkaudit check /usr [--no-inferred-hosts]"
  echo "report: $totals"
  echo
  echo "user time, inferred (s):$with  median $(median <<<"$with")"
  echo "user time, not inferred:$without  median $(median <<<"$without")"
  echo "ratio of the medians $ratio, at most 1.2 wanted"
} | tee "$results/$(date +%F)-inferred.txt"
awk "BEGIN { exit !($ratio <= 1.2) }" || status=1
if [[ $elf -le 9000 ]]; then
  awk "BEGIN { exit !($(median <<<"$with") <= 2) }" || status=1
fi
exit "$status"
