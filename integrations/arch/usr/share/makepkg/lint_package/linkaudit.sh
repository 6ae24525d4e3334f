#!/bin/bash
# Lint of makepkg: the build fails if the packages have findings.
#   _linkaudit_flags=(--policy "$startdir/linkaudit.toml")   allows one finding, with a [[waive]] entry
#   _linkaudit=no                                            turns it off, in the PKGBUILD

[[ -n "$LIBMAKEPKG_LINT_PACKAGE_LINKAUDIT_SH" ]] && return
LIBMAKEPKG_LINT_PACKAGE_LINKAUDIT_SH=1

lint_package_functions+=('lint_linkaudit')

lint_linkaudit() {
	[[ ${_linkaudit-} = no ]] && return 0
	# makepkg calls it for each package of a PKGBUILD. They are audited together, after the last one.
	# shellcheck disable=SC2154 # pkgname is makepkg's
	if [[ -n ${pkgname_backup-} && $pkgname != "${pkgname_backup[-1]}" ]]; then
		return 0
	fi
	local dir stages=()
	# shellcheck disable=SC2154 # pkgdirbase is makepkg's
	for dir in "$pkgdirbase"/*/; do
		stages+=(--staged "$dir")
	done
	# shellcheck disable=SC2154 # the PKGBUILD may set _linkaudit_flags
	linkaudit --isolated "${stages[@]}" "${_linkaudit_flags[@]}"
}
