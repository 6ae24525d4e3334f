//! Systems that are fetched from PyPI: pre-commit, Portage, rattler-build. They run with
//! `--include-ignored`.

use std::path::{Path, PathBuf};

use super::kit::{Kit, Payload, Ran, WAIVER};
use super::pages;
use crate::support::clean;

/// Programs of packages of PyPI in an environment below `target/`.
fn environment(packages: &[&str]) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hooks-{}", packages[0]));
    let run = |program: PathBuf, args: &[&str]| {
        let output = clean(program).args(args).output().expect("Python runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    run("python3".into(), &["-m", "venv", dir.to_str().expect("a path in UTF-8")]);
    run(
        dir.join("bin/pip"),
        &[&["install", "--quiet", "--disable-pip-version-check"], packages].concat(),
    );
    dir
}

fn with(mut kit: Kit, environment: &Path, script: &str) -> Ran {
    kit.environment = format!("export VENV={}\nset -e", environment.display());
    kit.run(script)
}

#[test]
#[ignore = "fetches packages of PyPI"]
fn pre_commit() {
    let venv = environment(&["pre-commit==4.3.0"]);
    let commit = "make -s install DESTDIR=$PWD LIBDIR=/lib; make -s clean
        git init -q . 2>/dev/null; git add -A
        PRE_COMMIT_HOME=$LAB/cache $VENV/bin/pre-commit run --all-files --color never";
    let kit = |payload| {
        let kit = Kit::new(payload, &[]);
        kit.install("pre-commit", "src");
        kit.lab.write("src/linkaudit.toml", WAIVER);
        kit
    };
    let broken = with(kit(Payload::Broken), &venv, commit).expect(1).tells();
    pages::shows("pre-commit", "pre-commit run --all-files", &broken);
    with(kit(Payload::Fixed), &venv, commit).expect(0);
    with(kit(Payload::Broken), &venv, &format!("export SKIP=linkaudit\n{commit}")).expect(0);
    let policy =
        "sed -i 's/--isolated/--isolated --policy linkaudit.toml/' .pre-commit-config.yaml";
    with(kit(Payload::Broken), &venv, &format!("{policy}\n{commit}")).expect(0);
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join(".pre-commit-hooks.yaml");
    let check = format!("$VENV/bin/pre-commit validate-manifest {}", manifest.display());
    with(kit(Payload::Fixed), &venv, &check).expect(0);
}

/// A repository with one ebuild, and a profile. The settings that Portage has in its own
/// directory are taken from the environment.
const EBUILD: &str = "
    G=$LAB/gentoo
    mkdir -p $G/repo/metadata $G/repo/profiles/base $G/repo/app-misc/demo $G/conf/etc/portage/repos.conf $G/tmp
    printf 'masters =\\nthin-manifests = true\\nsign-manifests = false\\nuse-manifests = false\\n' > $G/repo/metadata/layout.conf
    echo demo > $G/repo/profiles/repo_name
    echo amd64 > $G/repo/profiles/arch.list
    echo app-misc > $G/repo/profiles/categories
    echo 8 | tee $G/repo/profiles/eapi > $G/repo/profiles/base/eapi
    printf 'ARCH=\"amd64\"\\nACCEPT_KEYWORDS=\"amd64\"\\nCHOST=\"x86_64-pc-linux-gnu\"\\nELIBC=\"glibc\"\\nKERNEL=\"linux\"\\n' > $G/repo/profiles/base/make.defaults
    ln -s $G/repo/profiles/base $G/conf/etc/portage/make.profile
    printf '[DEFAULT]\\nmain-repo = demo\\n[demo]\\nlocation = %s\\n' $G/repo > $G/conf/etc/portage/repos.conf/demo.conf
    {
      cat $VENV/share/portage/config/make.globals
      echo 'FEATURES=\"-sandbox -usersandbox -userpriv -ipc-sandbox -network-sandbox -pid-sandbox -mount-sandbox -news -xattr\"'
      printf 'PORTAGE_TMPDIR=\"%s\"\\nDISTDIR=\"%s\"\\nPKGDIR=\"%s\"\\nPORTAGE_USERNAME=root\\nPORTAGE_GRPNAME=root\\n' $G/tmp $G/dist $G/pkg
    } > $G/conf/etc/portage/make.conf
    cat > $G/repo/app-misc/demo/demo-1.ebuild <<'END'
EAPI=8
DESCRIPTION=\"Library that lacks two functions\"
HOMEPAGE=\"https://example.org\"
LICENSE=\"MIT\"
SLOT=\"0\"
KEYWORDS=\"amd64\"
S=${WORKDIR}
src_unpack() { cp \"${DEMO_SRC}\"/*.c \"${DEMO_SRC}\"/*.h \"${DEMO_SRC}\"/Makefile . 2>/dev/null || true; }
END
    echo \"$MORE\" >> $G/repo/app-misc/demo/demo-1.ebuild
    mkdir -p $G/repo/metadata/install-qa-check.d
    cp $LAB/hook/usr/local/lib/install-qa-check.d/80linkaudit $G/repo/metadata/install-qa-check.d/
    export PORTAGE_CONFIGROOT=$G/conf PORTAGE_OVERRIDE_EPREFIX= ROOT=/ NOCOLOR=true NO_COLOR=1 DEMO_SRC=$LAB/src
    PATH=$VENV/bin:$PATH ebuild $G/repo/app-misc/demo/demo-1.ebuild install";

#[test]
#[ignore = "fetches packages of PyPI"]
fn portage() {
    let venv = environment(&["portage==3.0.83"]);
    let run = |payload, before: &str| {
        let kit = Kit::new(payload, &["gentoo"]);
        kit.lab.write("waiver.toml", WAIVER);
        kit.lab.write("src/linkaudit.toml", WAIVER);
        with(kit, &venv, &format!("{before}\n{EBUILD}"))
    };
    let broken = run(Payload::Broken, "").expect(1).tells();
    pages::shows("gentoo", "ebuild demo-1.ebuild install", &broken);
    run(Payload::Fixed, "").expect(0);
    run(Payload::Broken, "MORE='QA_LINKAUDIT=no'").expect(0);
    run(Payload::Broken, "MORE=\"QA_LINKAUDIT_FLAGS='--policy $LAB/waiver.toml'\"").expect(0);
    run(Payload::Broken, "export LINKAUDIT_STRICT=0").expect(0).tells();
}

/// rattler-build does not show the output of the script to its caller.
const RATTLER: &str = "
    mkdir -p $LAB/channel/noarch $LAB/channel/linux-64
    echo '{\"packages\":{},\"packages.conda\":{}}' | tee $LAB/channel/noarch/repodata.json > $LAB/channel/linux-64/repodata.json
    cp -r $LAB/src $LAB/recipe/src
    printf 'package:\\n  name: demo\\n  version: \"1.0\"\\nsource:\\n  path: src\\nbuild:\\n  script: build.sh\\n' > $LAB/recipe/recipe.yaml
    cat > $LAB/recipe/build.sh <<END
exec >$LAB/build.log 2>&1
export PATH=$LAB/bin:\\$PATH
make libdemo.so.1
make install DESTDIR=\"\\$PREFIX\" LIBDIR=/lib LDFLAGS='-Wl,-rpath,\\\\\\$\\$ORIGIN/../../lib'
\"\\$RECIPE_DIR/linkaudit.sh\" $MORE
END
    cat > $LAB/build.py <<END
from rattler_build import build_recipes
build_recipes([\"$LAB/recipe/recipe.yaml\"], output_dir=\"$LAB/out\", channel=[\"file://$LAB/channel\"])
END
    status=0
    $VENV/bin/python -W ignore $LAB/build.py > $LAB/rattler.log 2>&1 || status=$?
    cat $LAB/build.log
    grep 'Script failed' $LAB/rattler.log || true
    exit $status";

#[test]
#[ignore = "fetches packages of PyPI"]
fn rattler_build() {
    let venv = environment(&["py-rattler-build==0.73.0"]);
    let run = |payload, before: &str| {
        let kit = Kit::new(payload, &[]);
        kit.lab.mkdir("recipe");
        kit.install("conda", "recipe");
        kit.lab.write("waiver.toml", WAIVER);
        with(kit, &venv, &format!("{before}\n{RATTLER}"))
    };
    let broken = run(Payload::Broken, "").expect(1).tells();
    pages::shows("conda", "python3 build.py", &broken);
    run(Payload::Fixed, "").expect(0);
    run(Payload::Broken, "MORE=\"--policy $LAB/waiver.toml\"").expect(0);
}
