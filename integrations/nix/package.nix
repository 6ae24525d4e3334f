# linkaudit from a checkout: nix-build -E '(import <nixpkgs> { }).callPackage ./integrations/nix/package.nix { }'
{
  lib,
  rustPlatform,
  installShellFiles,
  src ? ../..,
}:
rustPlatform.buildRustPackage {
  pname = "linkaudit";
  version = (lib.importTOML (src + "/Cargo.toml")).package.version;
  inherit src;
  cargoLock.lockFile = src + "/Cargo.lock";
  nativeBuildInputs = [ installShellFiles ];
  # The tests compare with the loader, compilers and package managers of an ordinary system.
  doCheck = false;
  postInstall = ''
    $out/bin/linkaudit man --install man
    installManPage man/man1/*
    for shell in bash fish zsh; do $out/bin/linkaudit completions $shell > linkaudit.$shell; done
    installShellCompletion linkaudit.{bash,fish,zsh}
  '';
  meta = {
    description = "Audits the linkage of an install prefix the way the dynamic loader will see it";
    license = [
      lib.licenses.mit
      lib.licenses.asl20
    ];
    mainProgram = "linkaudit";
    platforms = lib.platforms.linux;
  };
}
