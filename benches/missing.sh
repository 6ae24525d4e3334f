#!/usr/bin/env bash
# Measures `fix` for sixty archives that are left out of a list: it finds the archives and verifies
# them. The comparison is the link of the whole library by lld. The library refers to all targets of
# LLVM 19, and the merged archive lacks every second archive from which lld extracts members.
#
# usage: benches/missing.sh [ROUNDS]        5 rounds if not said; writes benches/results/DATE-missing.txt
#
# Debian: apt-get install lld-19 llvm-19-dev liblld-19-dev libpolly-19-dev. Exit status 1 if the median ratio
# of processor times is above a third.
#
# LINKAUDIT=FILE   the program to measure; otherwise it is built with --release. RESULTS=DIR (for trials)
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
rounds=${1:-5}
results=${RESULTS:-$here/results}
lib=/usr/lib/llvm-19/lib
system="-L/usr/lib/x86_64-linux-gnu -L/usr/lib/gcc/x86_64-linux-gnu/12
  -lz -lzstd -lxml2 -ltinfo -lz3 -lffi -lm -lstdc++ -lc -lgcc_s"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
if [[ -z ${LINKAUDIT:-} ]]; then
  (cd "$here/.." && cargo build --release --quiet)
  LINKAUDIT=${CARGO_TARGET_DIR:-$here/../target}/release/linkaudit
fi
program=$(realpath "$LINKAUDIT")
mkdir -p "$results"
cd "$tmp"

names() { nm --defined-only "$@" 2>/dev/null | sed -n 's/^[0-9a-f]* T //p'; }
{ names "$lib"/libLLVM*{CodeGen,AsmParser,Disassembler}.a | grep '^LLVMInitialize'
  names "$lib/liblldELF.a" | grep '^_ZN3lld3elf4link'; } | sort -u | sed 's/^/-u /' >roots
# shellcheck disable=SC2206 # a list of words
system=($system)
whole() {
  ld.lld-19 -shared -o all.so @roots "$@" --start-group "$lib"/libLLVM*.a "$lib"/liblld*.a --end-group \
    "${system[@]}"
}
whole --print-archive-stats=stats
awk -F'\t' '$2 > 0 && $3 ~ /libLLVM/ { print $3 }' stats >used
awk 'NR % 2 == 0' used | head -n 60 >gone
{ grep -vxFf gone used; ls "$lib"/liblld*.a; } >kept
{ echo 'set(__mlir_libs'; sed 's|.*/lib\(.*\)\.a$|\1|' kept | sort -u; printf ')\nset(__rocmlir_libs\n)\n'; } >deps.cmake
{ echo 'create fat.a'; sed 's/^/addlib /' kept; printf 'save\nend\n'; } | ar -M
ld.lld-19 -shared -o libbad.so @roots fat.a "${system[@]}"

repair() {
  "$program" fix libbad.so --isolated --lib-path fat.a --lib-path "$lib" --deps-list deps.cmake \
    --emit cmake-deps -o cmake-deps=new.cmake >out.txt
}
seconds() {
  local TIMEFORMAT='%U %S'
  { time "$@" >/dev/null 2>&1; } 2>&1 | tail -n 1 | awk '{ print $1 + $2 }'
}
repair || true
{
  echo "missing archives, $(date -u +%F), $(nproc) processors"
  echo "$(wc -l <gone) archives left out; $(tail -n 2 out.txt | tr '\n' ';')"
  echo 'round  lld (s)  linkaudit (s)  ratio    user and system time'
  for round in $(seq "$rounds"); do
    theirs=$(seconds whole)
    ours=$(seconds repair)
    awk -v n="$round" -v a="$theirs" -v b="$ours" 'BEGIN { printf "%5d  %7.2f  %13.2f  %5.2f\n", n, a, b, b / a }'
  done
} | tee "$results/$(date -u +%F)-missing.txt"
median=$(awk 'NR > 3 { print $4 }' "$results/$(date -u +%F)-missing.txt" | sort -n | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }')
echo "median ratio $median; limit 0.33"
awk -v m="$median" 'BEGIN { exit !(m <= 0.333) }'
