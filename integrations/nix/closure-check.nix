# Audits a package with all store items that it needs at run time. As a check of a flake:
#   checks.x86_64-linux.linkage = pkgs.callPackage ./closure-check.nix { } { package = self.packages.x86_64-linux.default; };
# With `report = true` findings do not fail the build, and $out/report.json can be uploaded.
{
  lib,
  runCommand,
  closureInfo,
  linkaudit,
}:
{
  package,
  flags ? [ ],
  report ? false,
}:
runCommand "linkaudit-${package.name}"
  {
    nativeBuildInputs = [ linkaudit ];
    closure = closureInfo { rootPaths = [ package ]; };
    flags = lib.escapeShellArgs (flags ++ lib.optionals report [ "--fail-on" "never" ]);
  }
  ''
    mkdir -p $out
    eval "linkaudit --isolated --policy nix --nix-closure $closure/store-paths -o json=$out/report.json $flags"
  ''
