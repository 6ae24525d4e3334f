#!/usr/bin/env bash
# Measures the time and memory that damaged files cost: twenty thousand mutants of the libraries of
# other machines, 500 at a time.
#
# usage: benches/mutants.sh        writes benches/results/DATE-mutants.txt
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
report=$here/results/$(date +%F)-mutants.txt
line=$(cd "$here/.." && LINKAUDIT_NO_SKIP=1 LINKAUDIT_MUTANTS=5000 \
  cargo test --release --quiet --test inputs foreign_mutants:: -- --nocapture | grep '^foreign mutants')
{
  echo "# mutants of other machines, $(date -u +%FT%TZ)"
  echo
  echo "machine: $(nproc) x $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(uname -srm)"
  echo "$line"
} | tee "$report"
