//! Arch: makepkg with the lint, and the script of the alpm hook with the list that pacman gives it.

use super::kit::{Kit, Payload, Ran, WAIVER};
use super::pages;
use crate::support::{has, skip};

/// makepkg refuses to run as root, and takes its lints from one directory.
const BUILD: &str = "
    set -e
    cp -r /usr/share/makepkg $LAB/makepkg
    cp -r $LAB/hook/usr/share/makepkg/. $LAB/makepkg
    as=
    if [ \"$(id -u)\" = 0 ]; then
      chmod 755 $LAB
      chown -R 65534 $LAB/src
      as='setpriv --reuid=65534 --regid=65534 --clear-groups'
    fi
    TMPDIR=$LAB/src HOME=$LAB/src LIBRARY=$LAB/makepkg $as makepkg -d -f --nocolor";

fn built(payload: Payload, more: &str) -> Ran {
    let kit = Kit::new(payload, &["arch"]);
    kit.lab.write("src/waiver.toml", WAIVER);
    kit.lab.write("src/linkaudit.toml", WAIVER);
    kit.run(&format!("printf '%s\\n' '{more}' >> PKGBUILD\n{BUILD}"))
}

#[test]
fn makepkg() {
    if !has("makepkg") {
        return skip("makepkg", "there is no makepkg");
    }
    let broken = built(Payload::Broken, "").expect(5).tells();
    pages::shows("arch", "makepkg", &broken);
    built(Payload::Fixed, "").expect(0);
    built(Payload::Broken, "_linkaudit=no").expect(0);
    built(Payload::Broken, "_linkaudit_flags=(--policy \"$startdir/waiver.toml\")").expect(0);
}

/// A program and its library in two packages of one PKGBUILD find each other.
#[test]
fn makepkg_split() {
    if !has("makepkg") {
        return skip("makepkg_split", "there is no makepkg");
    }
    let split = "pkgbase=demo
pkgname=(a-program demo-library)
unset -f package
package_a-program() { install -D demo \"$pkgdir/usr/bin/demo\"; }
package_demo-library() { install -D libdemo.so.1 \"$pkgdir/usr/lib/libdemo.so.1\"; }";
    built(Payload::Broken, split).expect(5).tells();
    built(Payload::Fixed, split).expect(0);
}

/// The script alone: installing with pacman needs a whole Arch root.
#[test]
fn alpm_script() {
    for (payload, status) in [(Payload::Broken, 1), (Payload::Fixed, 0)] {
        let kit = Kit::new(payload, &["pacman"]);
        let ran = kit.run(
            "make -s install DESTDIR=$LAB/inst LDFLAGS='-Wl,-rpath,\\$$ORIGIN/../lib'
             find $LAB/inst | sed 's#^/##' | $LAB/hook/usr/share/libalpm/scripts/linkaudit",
        );
        let ran = ran.expect(status);
        if payload == Payload::Broken {
            pages::shows(
                "pacman",
                "printf 'usr/lib/libdemo.so.1\\nusr/bin/demo\\n' | /usr/share/libalpm/scripts/linkaudit",
                &ran,
            );
        }
    }
}
