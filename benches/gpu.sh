#!/usr/bin/env bash
# Measures three commands:
# - `linkaudit gpu` on a library of 513 MB with 95 bundles, against objcopy of its section and
#   clang-offload-bundler
# - `linkaudit gpu` on 700 compressed code objects
# - an audit of a prefix without device code, with and without the rules about device code
#
# usage: benches/gpu.sh [ROUNDS]       5 rounds if not said; writes benches/results/DATE-gpu.txt
#
# Both commands of a comparison run alternately on a warm cache. A bound holds for the median of the
# ratios of all rounds. Exit status 1 if a bound is missed, 2 if a required tool is missing.
#
# LINKAUDIT=FILE   the program to measure; otherwise it is built with --release
# LIBRARY=FILE     libonnxruntime_providers_rocm.so; otherwise the wheel onnxruntime-rocm 1.22.2.post3 is fetched
# BUNDLER=FILE     clang-offload-bundler of LLVM 19 or later, on the path otherwise
# PREFIX=DIR       the prefix without device code, /usr otherwise
# RESULTS=DIR      another place for the result (for trials)
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
rounds=${1:-5}
results=${RESULTS:-$here/results}
bundler=${BUNDLER:-$(command -v clang-offload-bundler || command -v clang-offload-bundler-19 || true)}
for tool in python3 objcopy; do
  command -v "$tool" >/dev/null || { echo "gpu.sh: $tool is not there" >&2; exit 2; }
done
[[ -x $bundler ]] || { echo "gpu.sh: no clang-offload-bundler; set BUNDLER" >&2; exit 2; }

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
if [[ -z ${LINKAUDIT:-} ]]; then
  (cd "$here/.." && cargo build --release --quiet)
  LINKAUDIT=${CARGO_TARGET_DIR:-$here/../target}/release/linkaudit
fi
program=$(realpath "$LINKAUDIT")
if [[ -z ${LIBRARY:-} ]]; then
  python3 -m pip download --quiet --no-deps --only-binary=:all: --python-version=3.11 \
    --platform=manylinux_2_34_x86_64 --dest="$tmp" onnxruntime-rocm==1.22.2.post3
  python3 -m zipfile -e "$tmp"/*.whl "$tmp/wheel"
  LIBRARY=$tmp/wheel/onnxruntime/capi/libonnxruntime_providers_rocm.so
fi

# 700 bundles of one code object each, compressed by zlib.
python3 - "$tmp/objects" <<'PYTHON'
import hashlib, os, struct, sys, zlib
os.makedirs(sys.argv[1])
target = b"hipv4-amdgcn-amd-amdhsa--gfx90a"
for number in range(700):
    code = b"\x7fELF\2\1\1\x40\3" + bytes(7) + struct.pack("<HHIQQQIHHHHHH", 3, 224, 1, 0, 64, 0, 0x53F, 64, 56, 0, 64, 0, 0)
    code += hashlib.sha256(str(number).encode()).digest() * 4096
    at = 32 + 24 + len(target)
    plain = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<QQQQ", 1, at, len(code), len(target)) + target + code
    packed = zlib.compress(plain)
    head = b"CCOB" + struct.pack("<HHII", 2, 0, 24 + len(packed), len(plain)) + hashlib.md5(plain).digest()[:8]
    with open(f"{sys.argv[1]}/{number}.co", "wb") as file:
        file.write(head + packed)
PYTHON

mkdir -p "$results"
report=$results/$(date +%F)-gpu.txt
: >"$report"
say() { printf '%s\n' "$*" | tee -a "$report"; }
cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
say "# linkaudit gpu, $(date -u +%FT%TZ)"
say ""
say "machine: $(nproc) x ${cpu:-unknown}; $(uname -srm)"
say "version: $("$program" --version) (sha256 $(sha256sum "$program" | cut -c1-16))"
say "against: $("$bundler" --version | head -n 1)"
say "load before: $(cut -d' ' -f1-3 /proc/loadavg); warm cache: one round that is not counted"
say "input: $(stat -c %s "$LIBRARY") bytes"
say ""

seconds() {
  local start=$EPOCHREALTIME
  "$@" >/dev/null 2>&1 || true
  python3 -c "print($EPOCHREALTIME - $start)"
}
theirs() {
  objcopy -O binary --only-section=.hip_fatbin "$LIBRARY" "$tmp/section"
  "$bundler" --list --type=o --input="$tmp/section"
}
prefix=${PREFIX:-/usr}
# Seconds of processor time. Other programs change it less than the elapsed time.
audit() {
  local TIMEFORMAT='%U %S'
  { time "$program" "$prefix" --isolated --format json "$@" >/dev/null 2>&1 || true; } 2>&1 | awk '{ print $1 + $2 }'
}
ours=() other=() objects=() audits=() without=()
for ((round = 0; round <= rounds; round++)); do
  a=$(seconds "$program" gpu --isolated --format json "$LIBRARY")
  b=$(seconds theirs)
  c=$(seconds "$program" gpu --isolated --format json "$tmp/objects")
  d=$(audit)
  e=$(audit --allow gpu)
  ((round == 0)) || { ours+=("$a"); other+=("$b"); objects+=("$c"); audits+=("$d"); without+=("$e"); }
done
python3 - "${ours[*]}" "${other[*]}" "${objects[*]}" "${audits[*]}" "${without[*]}" "$prefix" <<'PYTHON' | tee -a "$report"
import statistics, sys
ours, other, objects, audits, without = ([float(word) for word in text.split()] for text in sys.argv[1:6])
ratio = statistics.median(b / a for a, b in zip(ours, other))
each = statistics.median(objects)
print(f"library: linkaudit {statistics.median(ours):.4f} s, extract and list {statistics.median(other):.3f} s, ratio {ratio:.0f} (bound 20)")
print(f"700 compressed code objects: {each:.3f} s (bound 1)")
cost = statistics.median(audits) / statistics.median(without)
print(f"audit of {sys.argv[6]}: {statistics.median(audits):.3f} s of processor time, without the group gpu {statistics.median(without):.3f} s, ratio {cost:.3f} (bound 1.05)")
sys.exit(0 if ratio >= 20 and each < 1 and cost <= 1.05 else 1)
PYTHON
