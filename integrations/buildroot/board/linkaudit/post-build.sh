#!/bin/sh
# BR2_ROOTFS_POST_BUILD_SCRIPT: audits the target directory; the build of the image fails on findings.
# BR2_ROOTFS_POST_SCRIPT_ARGS are passed on: --policy FILE allows one finding, with a [[waive]] entry.
# LINKAUDIT=off in the environment turns it off.
set -eu
if [ "${LINKAUDIT:-}" = off ]; then
  exit 0
fi
target=$1
shift
exec linkaudit --isolated --root "$target" "$@" "$target"
