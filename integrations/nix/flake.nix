{
  description = "Audits the linkage of an install prefix the way the dynamic loader will see it";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      systems = [
        "x86_64-linux"
        "aarch64-linux"
      ];
      forAll =
        make: nixpkgs.lib.genAttrs systems (system: make system nixpkgs.legacyPackages.${system});
    in
    {
      packages = forAll (
        system: pkgs: rec {
          default = linkaudit;
          linkaudit = pkgs.callPackage ./package.nix { };
          # nativeBuildInputs = [ linkaudit.packages.${system}.hook ];
          hook = pkgs.callPackage ./setup-hook.nix { inherit linkaudit; };
        }
      );
      # closureCheck.${system} { package = ...; } is a derivation for the checks of another flake.
      closureCheck = forAll (
        system: pkgs:
        pkgs.callPackage ./closure-check.nix { linkaudit = self.packages.${system}.default; }
      );
      checks = forAll (
        system: _: { linkage = self.closureCheck.${system} { package = self.packages.${system}.default; }; }
      );
    };
}
