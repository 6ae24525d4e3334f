# The setup hook as a package: nativeBuildInputs = [ (callPackage ./setup-hook.nix { }) ];
{
  lib,
  makeSetupHook,
  linkaudit,
}:
makeSetupHook {
  name = "linkaudit-hook";
  substitutions.linkaudit = lib.getExe linkaudit;
} ./setup-hook.sh
