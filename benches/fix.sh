#!/usr/bin/env bash
# Measures `fix` on the case that linkaudit was written for, against the link by lld that reports
# the same undefined symbols. `fix` reads the library, the merged archive that it was linked from
# and all archives of LLVM 19 as candidates, and writes the new list.
#
# usage: benches/fix.sh [ROUNDS]        5 rounds if not said; writes benches/results/DATE-fix.txt
#
# The sources are those of tests/archives/rocklab. Debian: apt-get install lld llvm-19-dev
# libmlir-19-dev liblld-19-dev libpolly-19-dev. Exit status 1 if the bound is missed, 2 if a
# required tool or file is missing.
#
# LINKAUDIT=FILE   the program to measure; otherwise it is built with --release
# LAB=DIR          a directory with libMIOpen.so, librockCompiler.a and the list beside them, instead of
#                  the one that is built here (the result is DATE-fix-lab.txt then); ENTRY=SYMBOL is
#                  what the library takes of the archive; RESULTS=DIR (for trials)
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
rounds=${1:-5}
kind=fix${LAB:+-lab}
results=${RESULTS:-$here/results}
llvm=/usr/lib/llvm-19
system="-lz -lzstd -lxml2 -ltinfo -lz3 -lffi -lm"

missing() { echo "fix.sh: $1 is not there (Debian: apt-get install $2)" >&2; exit 2; }
command -v python3 >/dev/null || missing python3 python3-minimal
command -v c++ >/dev/null || missing c++ g++
command -v ld.lld >/dev/null || missing ld.lld lld
[[ -d $llvm/include/mlir ]] || missing "$llvm/include/mlir" libmlir-19-dev

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
if [[ -z ${LINKAUDIT:-} ]]; then
  (cd "$here/.." && cargo build --release --quiet)
  LINKAUDIT=${CARGO_TARGET_DIR:-$here/../target}/release/linkaudit
fi
program=$(realpath "$LINKAUDIT")
mkdir -p "$results"

if [[ -z ${LAB:-} ]]; then
  LAB=$tmp/lab
  mkdir "$LAB" "$tmp/own"
  for source in codegen kernel; do
    c++ -std=c++17 -O1 -fPIC -fno-rtti -fno-exceptions -w -isystem "$llvm/include" -D_GNU_SOURCE \
      -D__STDC_CONSTANT_MACROS -D__STDC_FORMAT_MACROS -D__STDC_LIMIT_MACROS \
      -c "$here/../tests/archives/rocklab/$source.cpp" -o "$tmp/$source.o"
    ar rcs "$LAB/libDemo$source.a" "$tmp/$source.o"
  done
  # shellcheck disable=SC2086 # a list of words
  c++ -shared -fuse-ld=lld -Wl,-u,kernel "-Wl,--print-archive-stats=$tmp/stats" -o "$tmp/all.so" \
    "$LAB"/*.a -Wl,--start-group "$llvm"/lib/*.a -Wl,--end-group $system
  names=$(awk -F'\t' -v dir="$llvm" '$2 > 0 && index($3, dir) == 1 { print $3 }' "$tmp/stats" |
    sed 's|.*/lib\(.*\)\.a$|\1|' | grep -v '^LLVMX86' | sort -u)
  list=$LAB/librockcompiler_deps.cmake
  { echo "set(__mlir_libs"; echo "$names"; printf ')\nset(__rocmlir_libs\nDemocodegen\nDemokernel\n)\n'; } >"$list"
  { echo "create $LAB/librockCompiler.a"
    for name in Democodegen Demokernel; do echo "addlib $LAB/lib$name.a"; done
    for name in $names; do echo "addlib $llvm/lib/lib$name.a"; done
    printf 'save\nend\n'; } | ar -M
  # shellcheck disable=SC2086
  c++ -shared -fuse-ld=lld -Wl,-u,kernel -o "$LAB/libMIOpen.so" "$LAB/librockCompiler.a" $system
  entry=kernel
  # Write the new files to disk before the measurement.
  sync
fi
entry=${entry:-${ENTRY:-miopenCompileKernel}}
report=$results/$(date +%F)-$kind.txt
: >"$report"
say() { printf '%s\n' "$*" | tee -a "$report"; }
cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
say "# linkaudit fix, $(date -u +%FT%TZ)"
say ""
say "machine: $(nproc) x ${cpu:-unknown}"
say "versions: $("$program" --version) (sha256 $(sha256sum "$program" | cut -c1-16)); $(ld.lld --version)"
say "load before: $(cut -d' ' -f1-3 /proc/loadavg); warm cache: one round that is not counted"
size=$(stat -c %s "$LAB/librockCompiler.a")
say "input: a merged archive of $((size / 1000000)) MB, $(find "$llvm/lib" -name '*.a' | wc -l) candidates"
say ""
status=0
python3 "$here/ratio.py" --rounds "$rounds" --show "$program=linkaudit" --show "$LAB/=" --show "$LAB=lab" --show "$tmp/=" \
  --name "The birth case whole: against the link by lld that says what is undefined" \
  --at-least 6 --memory 150 \
  --theirs "c++ -shared -fuse-ld=lld -Wl,-z,defs -Wl,-u,$entry -o $tmp/out.so $LAB/librockCompiler.a $system" \
  --ours "$program fix $LAB/libMIOpen.so --lib-path $LAB --lib-path $llvm/lib --deps-list $LAB/librockcompiler_deps.cmake --emit cmake-deps" |
  tee -a "$report" || status=1
say "load after: $(cut -d' ' -f1-3 /proc/loadavg)"
((status == 0)) || say "The bound is missed."
echo "written: $report" >&2
exit "$status"
