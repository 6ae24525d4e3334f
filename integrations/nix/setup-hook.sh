# shellcheck shell=bash
# Setup hook of linkaudit for the stdenv of nixpkgs: the build fails if the outputs have findings.
#
# It runs after fixup. List it after autoPatchelfHook in nativeBuildInputs: hooks run in that order.
#   linkauditFlags = [ "--policy" "${./linkaudit.toml}" ];   allows one finding, with a [[waive]] entry
#   dontLinkaudit = true;                                     turns it off
#   linkauditInstallCheck = true;                             runs it in installCheckPhase instead

linkauditOutputs() {
  if [[ -n "${dontLinkaudit-}" ]]; then
    echo "linkaudit: turned off by dontLinkaudit"
    return 0
  fi
  local output
  local -a paths=() flags=()
  for output in $(getAllOutputNames); do
    if [[ -e "${!output-}" ]]; then paths+=("${!output}"); fi
  done
  # With __structuredAttrs it is an array, else one string.
  # shellcheck disable=SC2154 # the package sets it
  if [[ "$(declare -p linkauditFlags 2>/dev/null)" == "declare -a"* ]]; then
    flags=("${linkauditFlags[@]}")
  else
    read -r -a flags <<<"${linkauditFlags-}"
  fi
  echo "linkaudit: auditing ${paths[*]}"
  # The status ends the build.
  @linkaudit@ --isolated --policy nix "${flags[@]}" "${paths[@]}" || exit 1
}

# A package may bring the hook in twice.
if [[ -z "${linkauditHookIsThere-}" ]]; then
  linkauditHookIsThere=1
  if [[ -n "${linkauditInstallCheck-}" ]]; then
    # shellcheck disable=SC2034 # stdenv reads it
    postInstallCheckHooks+=(linkauditOutputs)
  else
    # shellcheck disable=SC2034 # stdenv reads it
    postFixupHooks+=(linkauditOutputs)
  fi
fi
