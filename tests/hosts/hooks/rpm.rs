//! RPM: rpmbuild with the macros, and the file trigger in a transaction on a database of its own.

use super::kit::{Kit, Payload, Ran, WAIVER};
use super::pages;
use crate::support::{has, skip};

/// The macros lie in the laboratory, and so does the script that they call.
const BUILD: &str = "
    rpmbuild -bb --define \"_topdir $LAB/top\" --define \"_sourcedir $LAB/src\" --dbpath $LAB/db \
      --define \"_tmppath $LAB\" --load $LAB/hook/usr/lib/rpm/macros.d/macros.linkaudit \
      --define \"__brp_linkaudit $LAB/hook/usr/lib/rpm/brp-linkaudit %{?_linkaudit_flags}\" $SPEC";

fn built(payload: Payload, before: &str) -> Ran {
    let mut kit = Kit::new(payload, &["rpm"]);
    kit.lab.write("waiver.toml", WAIVER);
    kit.lab.write("src/linkaudit.toml", WAIVER);
    kit.environment.push_str("SPEC=demo.spec");
    kit.run(&format!("{before}\n{BUILD}"))
}

#[test]
fn rpmbuild() {
    if !has("rpmbuild") {
        return skip("rpmbuild", "there is no rpmbuild");
    }
    let broken = built(Payload::Broken, "").expect(1).tells();
    // The name of rpm's script is another in every run.
    let name = |log: &str| {
        let parts = log.split("rpm-tmp.");
        parts.map(str::to_owned).reduce(|all, part| all + "rpm-tmp.XXXXXX" + &part[6..])
    };
    let shown = Ran { status: 1, log: name(&broken.log).expect("a log") };
    pages::shows("rpm", "rpmbuild -bb demo.spec", &shown);
    built(Payload::Fixed, "").expect(0);
    // `set -e` of rpm's own script ends with the first failure: the audit was the reason.
    let waived = "sed -i \"1i %global _linkaudit_flags --policy $LAB/waiver.toml\" demo.spec";
    built(Payload::Broken, waived).expect(0);
    // An opt-out in the spec wins over the definition on the command line.
    built(Payload::Broken, "sed -i '1i %global __brp_linkaudit %{nil}' demo.spec").expect(0);
}

/// A package whose trigger looks at files below the laboratory, and the payload in a package there.
const TRANSACTION: &str = "
    set -e
    make -s install DESTDIR=$LAB/inst LDFLAGS='-Wl,-rpath,\\$$ORIGIN/../lib'
    # Scripts of rpm have a PATH of their own.
    sed -i \"s#^linkaudit#$LAB/bin/linkaudit#\" $LAB/hook/usr/lib/linkaudit/rpm-file-trigger
    cat > trigger.spec <<END
Name: trigger
Version: 1
Release: 1
Summary: Trigger
License: MIT
BuildArch: noarch
AutoReqProv: no
%description
Trigger.
%transfiletriggerin -- $LAB/inst
exec $LAB/hook/usr/lib/linkaudit/rpm-file-trigger
%files
END
    cat > files.spec <<END
Name: files
Version: 1
Release: 1
Summary: Files
License: MIT
AutoReqProv: no
%global __os_install_post %{nil}
%global debug_package %{nil}
%description
Files.
%install
mkdir -p %{buildroot}$LAB
cp -r $LAB/inst %{buildroot}$LAB/
%files
$LAB/inst
END
    for spec in trigger files; do
      rpmbuild -bb --quiet --define \"_topdir $LAB/top\" --dbpath $LAB/db --define \"_tmppath $LAB\" $spec.spec 2>&1
    done
    rm -rf $LAB/inst
    mkdir -p $LAB/db
    rpm -i --nodeps --ignorearch --dbpath $LAB/db $LAB/top/RPMS/noarch/trigger-1-1.noarch.rpm
    rpm -i --nodeps --ignorearch --dbpath $LAB/db $LAB/top/RPMS/*/files-1-1.*.rpm";

#[test]
fn rpm_file_trigger() {
    if !has("rpmbuild") {
        return skip("rpm_file_trigger", "there is no rpmbuild");
    }
    for payload in [Payload::Broken, Payload::Fixed] {
        let ran = Kit::new(payload, &["rpm"]).run(TRANSACTION).expect(0);
        let fails = ran.log.contains("scriptlet failed, exit status 1");
        assert_eq!(fails, payload == Payload::Broken, "{}", ran.log);
    }
}
