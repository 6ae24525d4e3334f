//! Integrations with package managers, build systems and CI. The program contains their files,
//! which are in `integrations/`. Each system has one folder there and one row in [`SYSTEMS`]. The
//! path of a file in its folder is also its path below the directory of `--install`. `cli::hook`
//! writes the files.

mod diff;

pub use diff::unified;

/// One system that can call linkaudit.
pub struct HookSystem {
    /// The name of the system on the command line, such as `debian`.
    pub name: &'static str,
    /// One line for the list of systems.
    pub summary: &'static str,
    /// The directory to pass to `--install`, in words.
    pub dir: &'static str,
    /// The documentation page. It shows real output, and says what the integration blocks, how to
    /// allow a finding, and how to turn the integration off.
    pub page: &'static str,
    /// The files, executable ones first.
    pub files: &'static [HookFile],
}

/// One file of an integration, contained in the program.
pub struct HookFile {
    /// The path of the file below the directory of `--install`.
    pub path: &'static str,
    /// The content of the file, installed unchanged.
    pub text: &'static str,
    /// True for an executable file.
    pub is_program: bool,
}

impl HookSystem {
    /// The row of [`SYSTEMS`] with this name; `None` for an unknown name.
    pub fn named(name: &str) -> Option<&'static Self> {
        SYSTEMS.iter().find(|system| system.name == name)
    }

    /// The mark that starts a line comment in all files of the system.
    pub fn comment(&self) -> &'static str {
        let extension = |end: &str| self.files.iter().all(|file| file.path.ends_with(end));
        if extension(".scm") {
            ";;"
        } else if extension("Jenkinsfile") {
            "//"
        } else {
            "#"
        }
    }
}

/// Builds a row of [`SYSTEMS`]: name, summary, the directory of `--install`, programs, other files.
macro_rules! system {
    ($name:literal, $summary:literal, $dir:literal, [$($program:literal),*], [$($other:literal),*]) => {
        HookSystem {
            name: $name,
            summary: $summary,
            dir: $dir,
            page: include_str!(concat!("../../integrations/", $name, "/page.md")),
            files: &[
                $(system!(@file $name, $program, true),)*
                $(system!(@file $name, $other, false),)*
            ],
        }
    };
    (@file $name:literal, $path:literal, $is_program:literal) => {
        HookFile {
            path: $path,
            text: include_str!(concat!("../../integrations/", $name, "/", $path)),
            is_program: $is_program,
        }
    };
}

/// All systems, in the order in which `linkaudit hook` lists them.
pub const SYSTEMS: &[HookSystem] = &[
    system!(
        "nix",
        "setup hook, installCheckPhase, check of a closure, report after each build",
        "a directory of Nix expressions",
        ["post-build-hook"],
        ["setup-hook.sh", "setup-hook.nix", "closure-check.nix"]
    ),
    system!(
        "debian",
        "dh sequence: dpkg-buildpackage fails",
        "/, or the staging directory of a package",
        ["usr/bin/dh_linkaudit"],
        ["usr/share/perl5/Debian/Debhelper/Sequence/linkaudit.pm"]
    ),
    system!(
        "autopkgtest",
        "DEP-8 test of the installed packages",
        "a Debian source package",
        ["debian/tests/linkaudit"],
        ["debian/tests/control"]
    ),
    system!(
        "apt",
        "Pre-Install-Pkgs: apt stops before it unpacks anything",
        "/",
        ["usr/lib/linkaudit/apt-pre-install"],
        ["etc/apt/apt.conf.d/80linkaudit"]
    ),
    system!(
        "rpm",
        "brp script: rpmbuild fails; file trigger that reports",
        "/, or the staging directory of a package",
        ["usr/lib/rpm/brp-linkaudit", "usr/lib/linkaudit/rpm-file-trigger"],
        ["usr/lib/rpm/macros.d/macros.linkaudit"]
    ),
    system!(
        "arch",
        "makepkg lint_package: makepkg fails",
        "/, or the staging directory of a package",
        [],
        ["usr/share/makepkg/lint_package/linkaudit.sh"]
    ),
    system!(
        "pacman",
        "alpm hook that reports after each transaction",
        "/",
        ["usr/share/libalpm/scripts/linkaudit"],
        ["usr/share/libalpm/hooks/zz-linkaudit.hook"]
    ),
    system!(
        "gentoo",
        "install-qa-check.d: emerge reports, or dies",
        "/",
        [],
        ["usr/local/lib/install-qa-check.d/80linkaudit"]
    ),
    system!(
        "guix",
        "phase after validate-runpath: the build fails",
        "a directory of the Guile load path, such as a channel",
        [],
        ["linkaudit/phase.scm"]
    ),
    system!(
        "cmake",
        "audit at the end of `cmake --install`, and as a test",
        "a CMake project",
        [],
        ["cmake/Linkaudit.cmake"]
    ),
    system!(
        "meson",
        "audit at the end of `meson install`, and as a test",
        "a Meson project",
        ["linkaudit/audit"],
        ["linkaudit/meson.build"]
    ),
    system!(
        "pre-commit",
        "libraries and archives that a commit changes",
        "a Git repository",
        [],
        [".pre-commit-config.yaml"]
    ),
    system!(
        "spack",
        "mixin for packages: the installation fails",
        "a package repository, below spack_repo/NAMESPACE",
        [],
        ["build_systems/linkaudit.py"]
    ),
    system!(
        "conda",
        "last line of build.sh: rattler-build and conda-build fail",
        "a recipe",
        ["linkaudit.sh"],
        []
    ),
    system!(
        "yocto",
        "QA of a recipe like those of insane.bbclass, and of an image",
        "a layer",
        [],
        ["classes/linkaudit.bbclass", "classes/linkaudit-image.bbclass"]
    ),
    system!(
        "buildroot",
        "post-build script: the build of the image fails",
        "a Buildroot external tree",
        ["board/linkaudit/post-build.sh"],
        []
    ),
    system!(
        "github",
        "composite action: annotations and SARIF",
        "a Git repository",
        [],
        [".github/actions/linkaudit/action.yml"]
    ),
    system!("gitlab", "job of a pipeline", "a Git repository", [], [".gitlab/linkaudit.yml"]),
    system!("jenkins", "stage of a pipeline", "a Git repository", [], ["Jenkinsfile"]),
    system!(
        "upgrade",
        "audit of the machine after upgrades, with a baseline and mail",
        "/",
        ["usr/local/sbin/linkaudit-upgrade"],
        []
    ),
];

#[cfg(test)]
mod tests {
    use super::SYSTEMS;
    use std::collections::BTreeSet;

    #[test]
    fn names_and_paths_are_distinct() {
        let names: BTreeSet<&str> = SYSTEMS.iter().map(|system| system.name).collect();
        assert_eq!(names.len(), SYSTEMS.len());
        for system in SYSTEMS {
            let paths: BTreeSet<&str> = system.files.iter().map(|file| file.path).collect();
            assert_eq!(paths.len(), system.files.len(), "{}", system.name);
            assert!(!paths.is_empty(), "{}", system.name);
        }
    }

    #[test]
    fn paths_stay_below_the_directory() {
        for file in SYSTEMS.iter().flat_map(|system| system.files) {
            let is_plain = |part: &str| !matches!(part, "" | "." | "..");
            assert!(file.path.split('/').all(is_plain), "{}", file.path);
        }
    }
}
