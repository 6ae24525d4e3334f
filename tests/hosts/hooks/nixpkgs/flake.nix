# The same as a flake that takes the place of nixpkgs. @linkaudit@ and @salt@ are set by the test.
{
  outputs =
    { self }:
    let
      pkgs = import ./. { linkaudit = "@linkaudit@"; salt = "@salt@"; };
    in
    {
      inherit (pkgs) lib;
      legacyPackages = pkgs.lib.genAttrs [ "x86_64-linux" "aarch64-linux" ] (_: pkgs);
    };
}
