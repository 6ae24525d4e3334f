# A GPU math library that goes wrong as packages do, built as items of a real store.
#
# A compiler library is merged from the static archives that a list names. The list holds the parts
# for one processor family and lacks those for the other, so the shared library made from it links
# and cannot run. The C runtime is the build machine's, copied, so that the store stands alone.
{
  complete ? false, # whether the list names every archive
  ghost ? false, # whether the library also needs a library that exists nowhere
}:
let
  item =
    name: inputs: script:
    derivation (
      inputs
      // {
        inherit name;
        system = builtins.currentSystem;
        builder = "/bin/sh";
        args = [
          "-euc"
          ''
            export PATH=/usr/local/bin:/usr/bin:/bin
            cd "$NIX_BUILD_TOP"
            mkdir -p "$out/lib"
            ${script}
          ''
        ];
      }
    );
  families = "AMDGPU X86";
  # What a family has to offer, and the archive in which each lies.
  parts = "TargetInfo:Info Target:CodeGen TargetMC:Desc AsmPrinter:CodeGen AsmParser:AsmParser";
  fromCompiler = names: ''
    for name in ${names}; do cp -L "$(gcc -print-file-name=$name)" "$out/lib/"; done
  '';
in
rec {
  libc = item "linkaudit-libc-1.0" { } (fromCompiler "libc.so.6 libm.so.6 ld-linux-x86-64.so.2");

  runtime = item "linkaudit-gcc-lib-1.0" { } (fromCompiler "libstdc++.so.6 libgcc_s.so.1");

  zlib = item "linkaudit-zlib-1.0" { } (fromCompiler "libz.so.1");

  archives = item "linkaudit-llvm-1.0" { } ''
    for family in ${families}; do
      for part in ${parts}; do
        name=LLVMInitialize$family''${part%%:*}
        echo "int state_$name; void $name(void) { state_$name = 1; }" > "$name.c"
        gcc -O1 -fPIC -c "$name.c" -o "$family''${part%%:*}.o"
        ar rcsD "$out/lib/libLLVM$family''${part##*:}.a" "$family''${part%%:*}.o"
      done
    done
  '';

  rock = item "linkaudit-rock-1.0" { inherit archives; } ''
    {
      for family in ${families}; do
        for part in ${parts}; do echo "void LLVMInitialize$family''${part%%:*}(void);"; done
      done
      echo 'int rockCompile(void) {'
      for family in ${families}; do
        for part in ${parts}; do echo "  LLVMInitialize$family''${part%%:*}();"; done
      done
      echo '  return 0; }'
    } > rock.c
    gcc -O1 -fPIC -c rock.c
    list=$(cd "$archives/lib" && echo libLLVM${if complete then "*" else "AMDGPU*"}.a)
    {
      echo "create $out/lib/librock.a"
      echo "addmod rock.o"
      for archive in $list; do echo "addlib $archives/lib/$archive"; done
      echo save
      echo end
    } | ar -M
  '';

  math =
    item "linkaudit-math-1.0"
      {
        inherit
          libc
          runtime
          zlib
          rock
          ;
      }
      ''
        cat > math.cpp <<END
        #include <string>
        extern "C" int rockCompile(void);
        extern "C" unsigned long crc32(unsigned long, const unsigned char *, unsigned);
        ${if ghost then "extern \"C\" int ghostly(void);" else "static int ghostly(void) { return 0; }"}
        std::string options(const std::string &device) { return device + ",fast"; }
        extern "C" int mathCreate(void) {
          return ghostly() + rockCompile() + (int)crc32(0, 0, (unsigned)options("a").size());
        }
        extern "C" int mathVersion(void) { return 1; }
        END
        echo 'int ghostly(void) { return 0; }' > ghost.c
        gcc -shared -fPIC ghost.c -o libghost.so.7 -Wl,-soname,libghost.so.7
        # The copied libstdc++ has no RUNPATH: libm must be there before it is asked for.
        g++ -O1 -fPIC -shared math.cpp -o "$out/lib/libmath.so.1.0" -Wl,-soname,libmath.so.1 \
          "$rock/lib/librock.a" "$zlib/lib/libz.so.1" ${if ghost then "./libghost.so.7" else ""} \
          -Wl,--no-as-needed -lm -Wl,--enable-new-dtags,-rpath,"$zlib/lib:$libc/lib:$runtime/lib"
        ln -s libmath.so.1.0 "$out/lib/libmath.so.1"
      '';

  program =
    item "linkaudit-program-1.0"
      {
        inherit libc runtime math;
      }
      ''
        mkdir "$out/bin"
        cat > program.c <<END
        int mathCreate(void), mathVersion(void);
        int main(int argc, char **argv) { return argc > 1 ? mathCreate() : mathVersion() - 1; }
        END
        gcc -O1 program.c -o "$out/bin/program" "$math/lib/libmath.so.1" \
          -Wl,--allow-shlib-undefined -Wl,--unresolved-symbols=ignore-in-shared-libs \
          -Wl,--dynamic-linker="$libc/lib/ld-linux-x86-64.so.2" \
          -Wl,--enable-new-dtags,-rpath,"$math/lib:$libc/lib:$runtime/lib"
      '';
}
