#!/usr/bin/env bash
# Measures `linkaudit diff`: two trees against one audit, and two reports with --facts against one
# second.
#
# usage: benches/diff.sh [ROUNDS]       5 rounds if not said; writes benches/results/DATE-diff.txt
#
# The old tree has copies of all ELF files of /usr with the links beside them. The new tree is a
# copy of the old one without each hundredth library, so that the users of these libraries are
# searched too. Both commands of a comparison run alternately on a warm cache. A bound holds for the
# median of the ratios of all rounds. Exit status 1 if a bound is missed, 2 if a required tool is
# missing.
#
# LINKAUDIT=FILE   the program to measure; otherwise it is built with --release
# TREE=DIR         another tree than /usr; RESULTS=DIR (for trials)
set -euo pipefail
export LC_ALL=C
for name in $(compgen -e LD_ || true); do unset "$name"; done

here=$(cd "$(dirname "$0")" && pwd)
rounds=${1:-5}
tree=${TREE:-/usr}
results=${RESULTS:-$here/results}
command -v python3 >/dev/null || { echo "diff.sh: python3 is not there" >&2; exit 2; }

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export TMPDIR=$tmp

if [[ -z ${LINKAUDIT:-} ]]; then
  (cd "$here/.." && cargo build --release --quiet)
  LINKAUDIT=${CARGO_TARGET_DIR:-$here/../target}/release/linkaudit
fi
program=$(realpath "$LINKAUDIT")
mkdir -p "$tmp/lists" "$results"
lists=$(python3 "$here/lists.py" "$tree" "$tmp/lists")

mkdir "$tmp/old"
tr '\n' '\0' <"$tmp/lists/elf" | xargs -0 cp --parents -t "$tmp/old"
find "$tree" -type l -name '*.so*' -print0 | xargs -0 cp -P --parents -t "$tmp/old"
cp -a "$tmp/old" "$tmp/new"
find "$tmp/new" -type f -name '*.so.*' | sort | awk 'NR % 100 == 0' >"$tmp/lists/removed"
xargs -d '\n' -a "$tmp/lists/removed" rm
for side in old new; do
  "$program" check --isolated --facts --format json "$tmp/$side" >"$tmp/$side.json" || (($? == 1 || $? == 3))
done

report=$results/$(date +%F)-diff.txt
: >"$report"
say() { printf '%s\n' "$*" | tee -a "$report"; }
cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
memory=$(awk '/^MemTotal/ { printf "%.1f GiB", $2 / 1048576 }' /proc/meminfo)
say "# linkaudit diff of two copies of $tree, $(date -u +%FT%TZ)"
say ""
say "machine: $(nproc) x ${cpu:-unknown}, $memory; $(uname -srm)"
say "version: $("$program" --version) (sha256 $(sha256sum "$program" | cut -c1-16))"
say "load before: $(cut -d' ' -f1-3 /proc/loadavg); warm cache: one round that is not counted"
say "input: $lists; $(wc -l <"$tmp/lists/removed") libraries removed"
say "reports with --facts: $(($(stat -c %s "$tmp/old.json") >> 20)) and $(($(stat -c %s "$tmp/new.json") >> 20)) MiB"
say ""

status=0
ratio() {
  python3 "$here/ratio.py" --rounds "$rounds" --show "$program=linkaudit" --show "$tmp/=" "$@" |
    tee -a "$report" || status=1
}
ratio --name "Two trees: against one audit of the old one" --at-most 2.5 \
  --theirs "$program check --isolated --format json $tmp/old" \
  --ours "$program diff --isolated --format json $tmp/old $tmp/new"
ratio --name "Two reports: against one second" --at-most 1 \
  --theirs "sh -c 'sleep 1; echo slept'" \
  --ours "$program diff --isolated --format json $tmp/old.json $tmp/new.json"
# On a busy machine, elapsed times grow. The processor time of a run changes less.
TIMEFORMAT='%U user, %S system'
spent() {
  say "$1: $({ time "${@:2}" >/dev/null || true; } 2>&1 | tail -n 1)"
}
say "seconds of processor time of one run"
spent "audit of the old tree" "$program" check --isolated --format json "$tmp/old"
spent "diff of the trees" "$program" diff --isolated --format json "$tmp/old" "$tmp/new"
spent "diff of the reports" "$program" diff --isolated --format json "$tmp/old.json" "$tmp/new.json"
say ""
say "load after: $(cut -d' ' -f1-3 /proc/loadavg)"
((status == 0)) || say "A bound is missed."
echo "written: $report" >&2
exit "$status"
