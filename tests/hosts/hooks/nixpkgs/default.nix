# The few parts of nixpkgs that the integration uses, restated: stdenv sources the setup hooks of
# nativeBuildInputs, fixes up, and checks. `linkaudit` is the program under test; `salt` makes every
# run build anew. Scripts end with a builtin: coreutils close their output before they exit, and Nix
# 2.8 kills a builder then.
{ linkaudit, salt }:
let
  builder = {
    system = "x86_64-linux";
    builder = "/bin/bash";
    inherit salt;
    PATH = "/usr/local/bin:/usr/bin:/bin";
  };
  setup = builtins.toFile "setup.sh" ''
    set -eu -o pipefail
    cd "$NIX_BUILD_TOP"
    postFixupHooks=() postInstallCheckHooks=()
    getAllOutputNames() { echo "$outputs"; }
    runHook() {
      local -n hooks="$1Hooks"
      local hook
      for hook in "''${hooks[@]}"; do "$hook"; done
    }
    for input in ''${nativeBuildInputs-} ''${nativeInstallCheckInputs-}; do
      if [ -d "$input/bin" ]; then PATH=$input/bin:$PATH; fi
      if [ -e "$input/nix-support/setup-hook" ]; then . "$input/nix-support/setup-hook"; fi
    done
    eval "$installPhase"
    runHook postFixup
    if [ -n "''${doInstallCheck-}" ]; then
      if [ -n "''${installCheckPhase-}" ]; then eval "$installCheckPhase"; else runHook postInstallCheck; fi
    fi
  '';
  script = name: inputs: text:
    derivation (builder // inputs // { inherit name; args = [ "-euc" "${text}
:" ]; });
  pkgs = rec {
    lib = {
      getExe = package: "${package}/bin/linkaudit";
      escapeShellArgs = builtins.concatStringsSep " ";
      optionals = wanted: list: if wanted then list else [ ];
      importTOML = file: builtins.fromTOML (builtins.readFile file);
      genAttrs =
        names: make: builtins.listToAttrs (map (name: { inherit name; value = make name; }) names);
      licenses = { mit = "MIT"; asl20 = "Apache-2.0"; };
      platforms.linux = [ "x86_64-linux" ];
    };
    stdenv.mkDerivation =
      inputs: derivation (builder // { outputs = [ "out" ]; args = [ setup ]; } // inputs);
    linkaudit = script "linkaudit" { } "mkdir -p $out/bin; ln -s ${toString linkauditProgram} $out/bin/linkaudit";
    rustPlatform.buildRustPackage =
      inputs: assert builtins.pathExists inputs.cargoLock.lockFile;
      linkaudit // { inherit (inputs) pname version; };
    installShellFiles = null;
    makeSetupHook =
      { name, substitutions }:
      hook:
      script name { inherit hook; inherit (substitutions) linkaudit; } ''
        mkdir -p $out/nix-support
        sed "s#@linkaudit@#$linkaudit#" $hook > $out/nix-support/setup-hook
      '';
    runCommand = name: inputs: text:
      derivation (builder // inputs // {
        inherit name;
        args = [ "-euc" ''for input in $nativeBuildInputs; do PATH=$input/bin:$PATH; done
          ${text}
          : '' ];
      });
    closureInfo =
      { rootPaths }:
      script "closure-info" { exportReferencesGraph = [ "graph" (builtins.head rootPaths) ]; } ''
        mkdir $out
        grep '^/nix/store/' graph | sort -u > $out/store-paths
      '';
    callPackage =
      file: more:
      let make = import file; in
      make (builtins.intersectAttrs (builtins.functionArgs make) pkgs // more);
  };
  linkauditProgram = linkaudit;
in
pkgs
