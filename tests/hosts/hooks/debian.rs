//! Debian: dpkg-buildpackage with the debhelper sequence, the DEP-8 script, apt with its hook
//! before dpkg unpacks into another root.

use linkaudit::hooks::HookSystem;

use super::kit::{Kit, Payload, Ran, WAIVER};
use super::pages;
use crate::support::{has, skip};

const BUILD: &str = "PERL5LIB=$LAB/hook/usr/share/perl5 dpkg-buildpackage -b -us -uc -d";

fn built(payload: Payload, prepare: impl FnOnce(&Kit)) -> Ran {
    let kit = Kit::new(payload, &["debian"]);
    prepare(&kit);
    kit.run(BUILD)
}

#[test]
fn dpkg_buildpackage() {
    if !has("dh") || !has("dpkg-buildpackage") {
        return skip("dpkg_buildpackage", "there is no debhelper");
    }
    let broken = built(Payload::Broken, |_| {}).expect(2).tells();
    pages::shows("debian", "dpkg-buildpackage -b", &broken);
    built(Payload::Fixed, |_| {}).expect(0);
    built(Payload::Broken, |kit| drop(kit.lab.write("src/debian/linkaudit.toml", WAIVER)))
        .expect(0);
    // Upstream's policy is not the packager's.
    built(Payload::Broken, |kit| drop(kit.lab.write("src/linkaudit.toml", WAIVER))).expect(2);
    built(Payload::Broken, |kit| {
        kit.run("printf '\\noverride_dh_linkaudit:\\n' >> debian/rules").expect(0);
    })
    .expect(0);
}

/// The test of installed packages, with a database of dpkg that says that `demo` is installed here.
#[test]
fn autopkgtest_script() {
    if !has("dpkg-query") {
        return skip("autopkgtest_script", "there is no dpkg");
    }
    for (payload, status) in [(Payload::Broken, 1), (Payload::Fixed, 0)] {
        let kit = Kit::new(payload, &[]);
        kit.install("autopkgtest", "src");
        let prepare = "set -e
            make -s install DESTDIR=$LAB/inst LDFLAGS='-Wl,-rpath,\\$$ORIGIN/../lib'
            export DPKG_ADMINDIR=$LAB/admin
            mkdir -p $LAB/admin/info
            printf 'Package: demo\\nStatus: install ok installed\\nVersion: 1\\nArchitecture: amd64\\nMaintainer: D <d@example.org>\\nDescription: d\\n\\n' > $LAB/admin/status
            find $LAB/inst > $LAB/admin/info/demo.list
            LD_LIBRARY_PATH= debian/tests/linkaudit";
        let ran = kit.run(prepare).expect(status);
        if payload == Payload::Broken {
            pages::shows("autopkgtest", "debian/tests/linkaudit", &ran.tells());
            kit.lab.write("src/debian/tests/linkaudit.toml", WAIVER);
            kit.run("export DPKG_ADMINDIR=$LAB/admin; debian/tests/linkaudit").expect(0);
        }
    }
}

/// apt of this machine on a root of its own. dpkg unpacks there; the hook audits over this system.
const APT: &str = "
    set -e
    cd $LAB
    make -s -C src install DESTDIR=$LAB/package
    mkdir -p package/DEBIAN root/var/lib/dpkg/info root/var/lib/dpkg/updates root/var/lib/dpkg/triggers
    mkdir -p state/lists/partial cache/archives/partial log
    printf 'Package: demo\\nVersion: 1\\nArchitecture: amd64\\nMaintainer: D <d@example.org>\\nDescription: d\\n' > package/DEBIAN/control
    dpkg-deb --root-owner-group --build package demo.deb > /dev/null
    touch root/var/lib/dpkg/status sources.list
    sed \"s#/usr/lib/linkaudit#$LAB/hook/usr/lib/linkaudit#\" hook/etc/apt/apt.conf.d/80linkaudit > apt.conf
    echo \"$SETTINGS\" >> apt.conf
    set +e
    APT_CONFIG=$LAB/apt.conf apt-get -y -q -o Dir::State=$LAB/state -o Dir::State::status=$LAB/root/var/lib/dpkg/status \
      -o Dir::Cache=$LAB/cache -o Dir::Etc::sourcelist=$LAB/sources.list -o Dir::Etc::sourceparts=- \
      -o Dir::Etc::parts=- -o Dir::Log=$LAB/log -o DPkg::Options::=--root=$LAB/root \
      -o DPkg::Options::=--force-not-root -o DPkg::Options::=--log=/dev/null install ./demo.deb
    status=$?
    if [ -e root/usr/bin/demo ]; then echo 'demo: unpacked'; else echo 'demo: not unpacked'; fi >&3
    exit $status";

/// A run of apt with more settings, and true if the package was unpacked.
fn installed(payload: Payload, settings: &str) -> (Ran, bool) {
    let mut kit = Kit::new(payload, &["apt"]);
    kit.lab.write("waiver.toml", WAIVER);
    let settings = settings.replace("$LAB", kit.lab.root().to_str().expect("a path in UTF-8"));
    kit.environment = format!("exec 3>$LAB/unpacked\nSETTINGS='{settings}'");
    let ran = kit.run(APT);
    let unpacked = std::fs::read_to_string(kit.lab.path("unpacked")).expect("the script says it");
    (ran, unpacked == "demo: unpacked\n")
}

#[test]
fn apt_pre_install_pkgs() {
    if !has("apt-get") {
        return skip("apt_pre_install_pkgs", "there is no apt");
    }
    let (broken, unpacked) = installed(Payload::Broken, "");
    let broken = broken.expect(100);
    assert!(!unpacked, "{}", broken.log);
    pages::shows("apt", "apt-get install ./demo.deb", &broken);
    let cases = [
        (Payload::Fixed, ""),
        (Payload::Broken, "LinkAudit::Mode \"off\";"),
        (Payload::Broken, "LinkAudit::Mode \"report\";"),
        (Payload::Broken, "LinkAudit::Flags \"--policy $LAB/waiver.toml\";"),
    ];
    for (payload, settings) in cases {
        let (ran, unpacked) = installed(payload, settings);
        assert!(unpacked, "{settings}: {}", ran.expect(0).log);
    }
}

/// The line of the page for administrators: dpkg is done when the audit runs, and its status is
/// ignored.
#[test]
fn apt_post_invoke() {
    if !has("apt-get") {
        return skip("apt_post_invoke", "there is no apt");
    }
    let page = HookSystem::named("upgrade").expect("a system").page;
    let row = page.lines().find(|line| line.starts_with("| apt |")).expect("the row of apt");
    let line = row.split('`').nth(1).expect("the setting").replace("\\|", "|");
    let mut settings = format!("LinkAudit::Mode \"off\";\n{line}");
    settings = settings
        .replace("linkaudit-upgrade", "linkaudit --isolated --root $LAB/root $LAB/root/usr");
    let (ran, unpacked) = installed(Payload::Broken, &settings);
    let ran = ran.expect(0).tells();
    assert!(unpacked, "{}", ran.log);
}
