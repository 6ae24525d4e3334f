#!/usr/bin/env bash
# Measures how time grows with the input: runs each case of growth_cases.py at doubling sizes. Also
# audits a large input and all of /usr with little address space and few file descriptors. The
# result goes to results/DATE-growth.txt. Exit status 1 if a case grows faster than n log n, or
# exceeds a limit of time or memory.
#   bash benches/growth.sh [CASE...]      only these cases, to stdout
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -z "${LINKAUDIT:-}" ]; then
  cargo build --release --quiet
  LINKAUDIT=$PWD/target/release/linkaudit
fi
export LINKAUDIT
if [ $# -gt 0 ]; then
  exec python3 benches/growth.py "$@"
fi
result=benches/results/$(date +%F)-growth.txt
status=0
{
  echo "$(date +%F), $(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2 | xargs), $(nproc) CPUs," \
    "$(awk '/MemTotal/ { printf "%d GB", $2 / 1048576 }' /proc/meminfo), Linux $(uname -r)"
  echo "commit $(git rev-parse --short HEAD), $("$LINKAUDIT" --version)"
  echo
  python3 benches/growth.py
} >"$result.new" || status=1
mv "$result.new" "$result"
cat "$result"
exit "$status"
