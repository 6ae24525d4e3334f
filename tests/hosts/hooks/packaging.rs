//! Packages of linkaudit itself: the Debian directory and the RPM spec package the program under
//! test. A build of linkaudit in each package would take minutes and test nothing more. They run
//! with `--include-ignored`.

use std::path::Path;

use super::kit::{Kit, Payload, copy};
use crate::support::{has, skip};

fn kit() -> Kit {
    let kit = Kit::new(Payload::Fixed, &[]);
    let packaging = Path::new(env!("CARGO_MANIFEST_DIR")).join("integrations/packaging");
    copy(&packaging.join("debian"), &kit.lab.path("package"));
    copy(&packaging.join("rpm"), &kit.lab.path("package"));
    kit
}

#[test]
#[ignore = "an unoptimised program takes long to compress"]
fn debian_package() {
    if !has("dh") {
        return skip("debian_package", "there is no debhelper");
    }
    let build = "set -e; cd $LAB/package
        export DEB_BUILD_OPTIONS=noautodbgsym
        PROGRAM=$LAB/bin/linkaudit dpkg-buildpackage -b -d -us -uc
        for deb in $LAB/*.deb; do dpkg-deb --contents $deb; dpkg-deb --field $deb Provides; done";
    let ran = kit().run(build).expect(0);
    for path in [
        "./usr/bin/linkaudit\n",
        "./usr/bin/dh_linkaudit\n",
        "./usr/share/perl5/Debian/Debhelper/Sequence/linkaudit.pm\n",
        "./usr/share/man/man1/linkaudit.1.gz\n",
        "./usr/share/man/man1/dh_linkaudit.1.gz\n",
        "dh-sequence-linkaudit\n",
    ] {
        assert!(ran.log.contains(path), "{path} in {}", ran.log);
    }
}

#[test]
#[ignore = "an unoptimised program takes long to compress"]
fn rpm_package() {
    if !has("rpmbuild") {
        return skip("rpm_package", "there is no rpmbuild");
    }
    let build = "set -e; cd $LAB/package
        rpmbuild -bb --quiet --define \"_topdir $LAB/top\" --dbpath $LAB/db --define \"_tmppath $LAB\" \
          --define \"program $LAB/bin/linkaudit\" --define 'debug_package %{nil}' --define '__os_install_post %{nil}' linkaudit.spec
        rpm -qlp $LAB/top/RPMS/*/*.rpm";
    let ran = kit().run(build).expect(0);
    for path in
        ["/usr/bin/linkaudit\n", "/usr/lib/rpm/brp-linkaudit\n", "/usr/share/man/man1/linkaudit.1"]
    {
        assert!(ran.log.contains(path), "{path} in {}", ran.log);
    }
}
