//! Nix: the setup hook, `installCheckPhase`, the check of a closure, the flake and the
//! post-build-hook, in a real store without nixpkgs. `nixpkgs/` restates the parts that they use.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::kit::{Kit, Payload, Ran, WAIVER, copy};
use super::pages;
use crate::support::{has, skip};

const CONFIG: &str = "build-users-group =\nsandbox = false\nsubstitute = false\nsubstituters =\n\
    experimental-features = nix-command flakes\n";

/// Tests of one process take turns: a Nix without daemon kills the builds of another one of the
/// same user.
static TURN: Mutex<()> = Mutex::new(());

/// The turn of a test, if items can be built here.
pub fn turn(test: &str) -> Option<MutexGuard<'static, ()>> {
    is_possible(test).then(|| TURN.lock().unwrap_or_else(PoisonError::into_inner))
}

fn is_possible(test: &str) -> bool {
    if !has("nix-build") {
        skip(test, "there is no nix-build");
        return false;
    }
    let is_root = Path::new("/proc/self").metadata().is_ok_and(|process| process.uid() == 0);
    if !is_root && !Path::new("/nix/store").is_dir() {
        skip("nix_store", "only root can make /nix");
        return false;
    }
    true
}

/// The payload, the hook's files and the parts of nixpkgs.
fn kit(payload: Payload) -> Kit {
    let mut kit = Kit::new(payload, &["nix"]);
    kit.lab.write("nix.conf", CONFIG);
    kit.lab.write("waiver.toml", WAIVER);
    kit.lab.write("src/linkaudit.toml", WAIVER);
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    copy(&here.join("tests/hosts/hooks/nixpkgs"), &kit.lab.path("nixpkgs"));
    kit.environment = format!(
        "export NIX_CONF_DIR=$LAB NIX_REMOTE= PROGRAM={}\n\
         build() {{ attribute=$1; shift; nix-build --no-out-link $LAB/nixpkgs/demo.nix -A $attribute --argstr linkaudit $PROGRAM \
         --argstr salt $LAB --arg src $LAB/src --arg integration $LAB/hook \"$@\"; }}",
        env!("CARGO_BIN_EXE_linkaudit")
    );
    kit
}

/// Replaces the hashes of store items, which differ in every run.
fn shown(ran: &Ran) -> Ran {
    let mut parts = ran.log.split("/nix/store/");
    let mut log = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_hash = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let end = part.find(|c| !is_hash(c)).filter(|end| *end == 32).unwrap_or(0);
        log += "/nix/store/";
        log += if end == 32 { "HASH" } else { "" };
        log += &part[end..];
    }
    Ran { status: ran.status, log }
}

/// nix-build ends with 100 if a builder failed.
const FAILED: i32 = 100;

#[test]
fn nix_builds() {
    let Some(_turn) = turn("nix_builds") else { return };
    let (broken, fixed) = (kit(Payload::Broken), kit(Payload::Fixed));
    let hooked = broken.run("build hooked").expect(FAILED).tells();
    pages::shows("nix", "nix-build -A demo", &shown(&hooked));
    let mut count = 0;
    for attribute in ["hooked", "late", "phase", "closure"] {
        count += 2;
        broken.run(&format!("build {attribute}")).expect(FAILED).tells();
        fixed.run(&format!("build {attribute}")).expect(0);
    }
    for attribute in
        ["off", "hooked --arg waiver $LAB/waiver.toml", "closure --arg waiver $LAB/waiver.toml"]
    {
        count += 1;
        broken.run(&format!("build {attribute}")).expect(0);
    }
    let report = broken.run("cat $(build report)/report.json").expect(0);
    assert!(report.log.contains("LLVMInitializeX86TargetInfo"), "{}", report.log);
    println!("nix-build: {} cases, 0 differ", count + 1);
}

/// Nix registers the outputs before the hook runs: it reports, and the build succeeds.
#[test]
fn nix_post_build_hook() {
    let Some(_turn) = turn("nix_post_build_hook") else { return };
    let run = "build plain --option post-build-hook $LAB/hook/post-build-hook";
    let broken = kit(Payload::Broken).run(run).expect(0).tells();
    assert!(broken.log.contains("linkaudit: status 1; the build goes on"), "{}", broken.log);
    let fixed = kit(Payload::Fixed).run(run).expect(0);
    assert!(!fixed.log.contains("the build goes on"), "{}", fixed.log);
}

/// The flake of this repository with the restated parts in the place of nixpkgs.
#[test]
fn nix_flake() {
    let Some(_turn) = turn("nix_flake") else { return };
    let kit = kit(Payload::Fixed);
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    copy(&here.join("integrations/nix"), &kit.lab.path("repository/integrations/nix"));
    for file in ["Cargo.toml", "Cargo.lock"] {
        std::fs::copy(here.join(file), kit.lab.path("repository").join(file)).expect("a copy");
    }
    kit.run(
        "set -e
        sed -i \"s#@linkaudit@#$PROGRAM#; s#@salt@#$LAB#\" $LAB/nixpkgs/flake.nix
        git init -q $LAB/repository
        git -C $LAB/repository add -A
        flake=\"git+file://$LAB/repository?dir=integrations/nix\"
        options=\"--override-input nixpkgs path:$LAB/nixpkgs --no-write-lock-file\"
        for output in packages.x86_64-linux.hook packages.x86_64-linux.default; do
          nix build --no-link $options \"$flake#$output\"
        done
        nix eval --raw $options \"$flake#checks.x86_64-linux.linkage.drvPath\"",
    )
    .expect(0);
}
