#!/usr/bin/env bash
# Measures `linkaudit archive` against other tools on a warm cache. For all archives of LLVM, the
# other tool is `llvm-nm -A`, which only lists their symbols. With arguments, it also measures the
# search for archives that a library and its merged archive lack, against the link by lld.
#   bash benches/archives.sh [LIBRARY MERGED-ARCHIVE OBJECT]
set -euo pipefail
cd "$(dirname "$0")/.."
[[ -n ${LINKAUDIT:-} ]] || cargo build --release --quiet
linkaudit=${LINKAUDIT:-$PWD/target/release/linkaudit}
llvm=${LLVM_LIB:-/usr/lib/llvm-19/lib}
rounds=${ROUNDS:-7}
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
printf '!<arch>\n' >"$here/none.a"

# Nanoseconds that a command takes; its exit status is ignored.
seconds() {
  local start end
  start=$(date +%s%N)
  "$@" >/dev/null 2>&1 || true
  end=$(date +%s%N)
  echo $((end - start))
}

# Runs two commands alternately. Prints the lowest time of each, and the median of the ratios.
compare() {
  local name=$1 ours=$2 theirs=$3 a b lines=""
  seconds $ours >/dev/null
  seconds $theirs >/dev/null
  for _ in $(seq "$rounds"); do
    a=$(seconds $ours)
    b=$(seconds $theirs)
    lines+="$a $b"$'\n'
  done
  local ratios low other
  ratios=$(printf '%s' "$lines" | awk '{ printf "%.2f\n", $2 / $1 }' | sort -n)
  low=$(printf '%s' "$lines" | awk '{ print $1 }' | sort -n | head -1)
  other=$(printf '%s' "$lines" | awk '{ print $2 }' | sort -n | head -1)
  printf '%s: %d ms against %d ms, median of %d ratios %s\n' "$name" $((low / 1000000)) \
    $((other / 1000000)) "$rounds" "$(printf '%s\n' "$ratios" | sed -n "$(((rounds + 1) / 2))p")"
}

# Peak memory in kB.
peak() { { /usr/bin/time -f '%M' "$@" >/dev/null 2>"$here/peak" || true; tail -1 "$here/peak"; }; }

mkdir "$here/from"
for archive in "$llvm"/*.a; do ln -s "$archive" "$here/from/"; done
all="$linkaudit archive $here/none.a --from $here/from --root-symbol LLVMInitializeX86Target -q"
compare "coverage over $(ls "$here/from" | wc -l) archives / llvm-nm -A" "$all" "llvm-nm-19 -A $llvm/*.a"
echo "peak: $(peak $all) kB"
if [ $# = 3 ]; then
  birth="$linkaudit archive $2 --from $llvm --root-object $1 -q"
  compare "a library and its merged archive / the link by lld" "$birth" \
    "ld.lld-19 -shared -o $here/out.so $3 $2"
  echo "peak: $(peak $birth) kB"
fi
