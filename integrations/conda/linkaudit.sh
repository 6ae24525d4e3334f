#!/bin/sh
# Last line of build.sh: "$RECIPE_DIR/linkaudit.sh". The build fails if the files that it installed have
# findings. Options are passed on:
#   "$RECIPE_DIR/linkaudit.sh" --policy "$RECIPE_DIR/linkaudit.toml"   allows one finding
#   LINKAUDIT=off                                                     turns it off
set -eu
if [ "${LINKAUDIT:-}" = off ]; then
  exit 0
fi
list=$(mktemp)
trap 'rm -f "$list"' EXIT
# $PREFIX holds the dependencies too. conda_build.sh is written just before the build begins, and the
# time of the last change of an inode cannot be set back.
find "$PREFIX" -type f -newercm "$SRC_DIR/conda_build.sh" >"$list"
linkaudit --isolated --prefix "$PREFIX" --files-from "$list" "$@"
