//! Build systems: CMake, Meson, and the phase of Guix in Guile.

use super::kit::{Kit, Payload, Ran, WAIVER};
use super::pages;
use crate::support::{has, skip};

fn with(system: &str, payload: Payload, script: &str) -> Ran {
    let kit = Kit::new(payload, &[]);
    kit.install(system, "src");
    kit.lab.write("waiver.toml", WAIVER);
    kit.lab.write("src/linkaudit.toml", WAIVER);
    kit.run(&format!("set -e\n{script}"))
}

#[test]
fn cmake() {
    if !has("cmake") {
        return skip("cmake", "there is no cmake");
    }
    let build = |more: &str| {
        format!(
            "cmake -S . -B build -DCMAKE_INSTALL_PREFIX=/usr {more} >/dev/null; cmake --build build >/dev/null\n"
        )
    };
    let plain = build("");
    let install = format!("{plain}DESTDIR=$LAB/stage cmake --install build");
    let broken = with("cmake", Payload::Broken, &install).expect(1).tells();
    pages::shows("cmake", "DESTDIR=stage cmake --install build", &broken);
    with("cmake", Payload::Fixed, &install).expect(0);
    with(
        "cmake",
        Payload::Broken,
        &format!("{plain}DESTDIR=$LAB/stage LINKAUDIT=off cmake --install build"),
    )
    .expect(0);
    let flags = build("-DLINKAUDIT_FLAGS=\"--policy;$LAB/waiver.toml\"");
    with("cmake", Payload::Broken, &format!("{flags}DESTDIR=$LAB/stage cmake --install build"))
        .expect(0);
    // Without DESTDIR, only what was installed is audited.
    let prefix = format!("{plain}mkdir -p $LAB/p/lib; cmake --install build --prefix $LAB/p");
    with("cmake", Payload::Broken, &prefix).expect(1).tells();
    with(
        "cmake",
        Payload::Broken,
        &format!("{}DESTDIR=$LAB/stage cmake --install build", build("-DLINKAUDIT=OFF")),
    )
    .expect(0);

    let test = format!("{plain}cd build; ctest --output-on-failure");
    let ran = with("cmake", Payload::Broken, &test).expect(8).tells();
    assert!(ran.log.contains("3 - linkaudit (Failed)"), "{}", ran.log);
    with("cmake", Payload::Fixed, &test).expect(0);
}

#[test]
fn meson() {
    if !has("meson") || !has("ninja") {
        return skip("meson", "there is no meson or ninja");
    }
    let setup = "meson setup build --prefix /usr >/dev/null; ninja -C build >/dev/null\n";
    let install = format!("{setup}DESTDIR=$LAB/stage meson install -C build");
    let broken = with("meson", Payload::Broken, &install).expect(1).tells();
    pages::shows("meson", "DESTDIR=stage meson install -C build", &broken);
    with("meson", Payload::Fixed, &install).expect(0);
    with(
        "meson",
        Payload::Broken,
        &format!("{setup}DESTDIR=$LAB/stage LINKAUDIT=off meson install -C build"),
    )
    .expect(0);
    let waived = format!(
        "{setup}LINKAUDIT_FLAGS=\"--policy $LAB/waiver.toml\" DESTDIR=$LAB/stage meson install -C build"
    );
    with("meson", Payload::Broken, &waived).expect(0);

    let test = format!("{setup}meson test -C build --print-errorlogs");
    with("meson", Payload::Broken, &test).expect(1).tells();
    with("meson", Payload::Fixed, &test).expect(0);
}

/// The parts of `(guix build utils)` that the phase uses, reimplemented.
const UTILS: &str = "(define-module (guix build utils) #:export (invoke))
(define (invoke program . arguments)
  (let ((status (apply system* program arguments)))
    (unless (zero? status)
      (error \"program exited\" program (status:exit-val status)))
    #t))
";

/// A build of one phase, which ends as those of `gnu-build` do.
const BUILD: &str = "(use-modules (linkaudit phase))
(catch #t
  (lambda ()
    (audit-linkage #:outputs `((\"out\" . ,(getenv \"OUT\")) (\"debug\" . \"/nowhere\")) #:inputs '() @more@))
  (lambda (key . arguments)
    (format (current-error-port) \"error: in phase 'audit-linkage': uncaught exception: ~s ~s~%\" key arguments)
    (exit 1)))
";

#[test]
fn guix_phase() {
    if !has("guile") {
        return skip("guix_phase", "there is no guile");
    }
    for (payload, more, status) in [
        (Payload::Broken, "", 1),
        (Payload::Fixed, "", 0),
        (Payload::Broken, "#:audit-linkage? #f", 0),
        (Payload::Broken, "#:linkaudit-flags (list \"--policy\" (getenv \"WAIVER\"))", 0),
    ] {
        let kit = Kit::new(payload, &["guix"]);
        kit.lab.write("waiver.toml", WAIVER);
        kit.lab.write("hook/guix/build/utils.scm", UTILS);
        kit.lab.write("build.scm", BUILD.replace("@more@", more));
        let ran = kit.run(
            "make -s install DESTDIR=$LAB/stage LDFLAGS='-Wl,-rpath,\\$$ORIGIN/../lib'
            export GUILE_AUTO_COMPILE=0 OUT=$LAB/stage/usr WAIVER=$LAB/waiver.toml
            guile -L $LAB/hook $LAB/build.scm",
        );
        let ran = ran.expect(status);
        if payload == Payload::Broken && more.is_empty() {
            assert!(ran.log.contains("uncaught exception"), "{}", ran.log);
            pages::shows("guix", "guile -L . build.scm", &ran);
        }
    }
}

/// The parts of Spack that the mixin uses, reimplemented.
const SPACK: &str = r#"
import subprocess, sys, types
package = types.ModuleType("spack.package")
package.PackageBase = object
package.run_after = lambda phase: lambda method: method
def which(name, required):
    def run(*arguments):
        if subprocess.run([name, *arguments]).returncode:
            sys.exit("Error: ProcessError: Command exited with status 1")
    return run
package.which = which
package.__all__ = ["PackageBase", "run_after", "which"]
sys.modules.update({"spack": types.ModuleType("spack"), "spack.package": package})
sys.path.insert(0, sys.argv[1])
from build_systems.linkaudit import Linkaudit
demo = Linkaudit()
demo.prefix = sys.argv[2]
demo.linkaudit_enabled = sys.argv[3] != "off"
demo.linkaudit_flags = sys.argv[4:]
demo.audit_linkage()
"#;

#[test]
fn spack_mixin() {
    let cases = [
        (Payload::Broken, "on", 1),
        (Payload::Fixed, "on", 0),
        (Payload::Broken, "off", 0),
        (Payload::Broken, "on --policy $LAB/waiver.toml", 0),
    ];
    for (payload, more, status) in cases {
        let kit = Kit::new(payload, &["spack"]);
        kit.lab.write("waiver.toml", WAIVER);
        kit.lab.write("package.py", SPACK);
        let ran = kit.run(&format!(
            "make -s install DESTDIR=$LAB/stage LDFLAGS='-Wl,-rpath,\\$$ORIGIN/../lib'
            PYTHONDONTWRITEBYTECODE=1 python3 -u $LAB/package.py $LAB/hook $LAB/stage/usr {more}"
        ));
        let ran = ran.expect(status);
        if status == 1 {
            pages::shows("spack", "python3 package.py", &ran.tells());
        }
    }
}
