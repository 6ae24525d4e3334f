#!/usr/bin/env bash
# Measures linkaudit on all of /usr, against ldd, the loader itself, and a walk of the directories.
#
# usage: benches/usr.sh [ROUNDS]        5 rounds if not said; writes benches/results/DATE-usr.txt
#
# Both commands of a comparison run alternately on a warm cache. A bound holds for the median of the
# ratios of all rounds, because one absolute time says little about another machine. Exit status 1
# if a bound is missed, 2 if a required tool is missing.
#
# LINKAUDIT=FILE   the program to measure; otherwise it is built with --release
# TREE=DIR         another tree than /usr; EVERY=N only each N-th ELF file; RESULTS=DIR (for trials)
set -euo pipefail
export LC_ALL=C
for name in $(compgen -e LD_ || true); do unset "$name"; done

here=$(cd "$(dirname "$0")" && pwd)
rounds=${1:-5}
tree=${TREE:-/usr}
results=${RESULTS:-$here/results}

missing() { echo "usr.sh: $1 is not there (Debian: apt-get install $2)" >&2; exit 2; }
command -v python3 >/dev/null || missing python3 python3-minimal
command -v cc >/dev/null || missing cc gcc
command -v xargs >/dev/null || missing xargs findutils
command -v ldd >/dev/null || missing ldd libc-bin

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export TMPDIR=$tmp

if [[ -z ${LINKAUDIT:-} ]]; then
  (cd "$here/.." && cargo build --release --quiet)
  LINKAUDIT=${CARGO_TARGET_DIR:-$here/../target}/release/linkaudit
fi
program=$(realpath "$LINKAUDIT")
cc -O2 -Wall -o "$tmp/tight" "$here/tight.c" -pthread
mkdir -p "$tmp/lists" "$results"
lists=$(python3 "$here/lists.py" "$tree" "$tmp/lists" "${EVERY:-1}")
find "$tree" -type f -print0 >"$tmp/lists/files"

report=$results/$(date +%F)-usr.txt
: >"$report"
say() { printf '%s\n' "$*" | tee -a "$report"; }
cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
memory=$(awk '/^MemTotal/ { printf "%.1f GiB", $2 / 1048576 }' /proc/meminfo)
huge=$(sed -n 's/.*\[\(.*\)\].*/\1/p' /sys/kernel/mm/transparent_hugepage/enabled 2>/dev/null || true)
say "# linkaudit over $tree, $(date -u +%FT%TZ)"
say ""
say "machine: $(nproc) x ${cpu:-unknown}, $memory, huge pages ${huge:-unknown}"
say "kernel: $(uname -srm); $tree on $(stat -f -c %T "$tree")"
say "versions: $("$program" --version) (sha256 $(sha256sum "$program" | cut -c1-16)); $(ldd --version | head -n 1); $(find --version | head -n 1); $(xargs --version | head -n 1); $(cc --version | head -n 1)"
say "load before: $(cut -d' ' -f1-3 /proc/loadavg); warm cache: one round that is not counted"
say "input: $lists"
say ""

status=0
ratio() {
  python3 "$here/ratio.py" --rounds "$rounds" \
    --show "$program=linkaudit" --show "$tmp/lists/=" --show "$tmp/tight=tight" "$@" |
    tee -a "$report" || status=1
}
list="$program --format json --files-from $tmp/lists/elf"
ratio --name "All ELF programs and libraries, a list: against ldd -r" --at-least 100 --memory 200 \
  --theirs "xargs -d '\\n' -a $tmp/lists/elf -P2 -n1 ldd -r" --ours "$list"
ratio --name "Those that the loader accepts: against the loader called directly in trace mode" --at-least 20 \
  --theirs "$tmp/tight trace 2 $tmp/lists/traced" \
  --ours "$program --format json --files-from $tmp/lists/accepted"
ratio --name "The whole tree walked: against find and a 20-byte read of every file" --at-most 1.5 \
  --theirs "find $tree -type f" --theirs "$tmp/tight heads 2 $tmp/lists/files" \
  --ours "$program --format json $tree"
say "load after: $(cut -d' ' -f1-3 /proc/loadavg)"
((status == 0)) || say "A bound is missed."
echo "written: $report" >&2
exit "$status"
