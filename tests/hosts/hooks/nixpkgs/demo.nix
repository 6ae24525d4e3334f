# The payload as packages, each audited in another way.
{ linkaudit, salt, src, integration, waiver ? null }:
let
  pkgs = import ./. { inherit linkaudit salt; };
  # The C library of this machine, so that the store stands alone.
  libc = derivation {
    name = "linkaudit-libc-1.0";
    system = "x86_64-linux";
    builder = "/bin/bash";
    args = [ "-euc" ''
      PATH=/usr/local/bin:/usr/bin:/bin
      mkdir -p $out/lib
      for name in libc.so.6 ld-linux-x86-64.so.2; do cp -L "$(gcc -print-file-name=$name)" $out/lib/; done
    '' ];
  };
  demo = more: pkgs.stdenv.mkDerivation ({
    name = "demo-1.0";
    inherit src libc;
    installPhase = ''
      cp -r $src src; chmod -R u+w src
      make -s -C src install DESTDIR=$out LIBDIR=/lib \
        LDFLAGS="-Wl,-rpath,$out/lib:$libc/lib -Wl,--dynamic-linker=$libc/lib/ld-linux-x86-64.so.2"
      mv $out/usr/bin $out/bin; rmdir $out/usr
    '';
  } // more);
  hook = pkgs.callPackage (integration + "/setup-hook.nix") { };
  check = pkgs.callPackage (integration + "/closure-check.nix") { };
  flags = if waiver == null then [ ] else [ "--policy" "${waiver}" ];
in
{
  plain = demo { };
  hooked = demo { nativeBuildInputs = [ hook ]; linkauditFlags = flags; };
  off = demo { nativeBuildInputs = [ hook ]; dontLinkaudit = true; };
  late = demo { nativeBuildInputs = [ hook ]; linkauditInstallCheck = true; doInstallCheck = true; };
  phase = demo {
    nativeInstallCheckInputs = [ pkgs.linkaudit ];
    doInstallCheck = true;
    installCheckPhase = "linkaudit --isolated --policy nix $out";
  };
  closure = check { package = demo { }; inherit flags; };
  report = check { package = demo { }; report = true; };
}
