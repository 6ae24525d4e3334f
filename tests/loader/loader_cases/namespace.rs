//! Files in `/etc`: a library that is only in `ld.so.cache`, and `ld.so.preload`.
//!
//! Both sides run in a mount namespace whose `/etc` holds only the loader's files, as copies. The
//! real loader is called directly, because a preload list also applies to the shell that runs
//! `ldd`.

use std::path::Path;

use super::kit::{Target, Targets, copy, exe, guard, lib, prog, see, so};
use crate::support::{self, Lab, Tally};

/// Builds files; returns a script to run in the namespace, and the targets.
type Case = (&'static str, fn(&Lab) -> (&'static str, Targets));

#[test]
fn cache_in_a_mount_namespace() {
    run(
        "cache",
        &[
            ("only_in_the_cache", only_in_the_cache),
            ("names_in_the_cache", names_in_the_cache),
            ("levels_in_the_cache", levels_in_the_cache),
            ("old_names_in_the_cache", old_names_in_the_cache),
            ("both_word_sizes", both_word_sizes),
            ("stale_entries", stale_entries),
            ("lists_before_the_cache", lists_before_the_cache),
            ("no_default_directories_and_the_cache", no_default_directories_and_the_cache),
            ("many_numbers", many_numbers),
            ("old_format", old_format),
            ("both_formats", both_formats),
            ("cache_that_is_none", cache_that_is_none),
            ("cache_of_text", cache_of_text),
        ],
    );
}

#[test]
fn preload_in_a_mount_namespace() {
    run(
        "preload",
        &[
            ("preload_list", preload_list),
            ("preload_with_two_comments", preload_with_two_comments),
            ("preload_by_name", preload_by_name),
            ("preload_that_fails", preload_that_fails),
            ("preload_without_file_end", preload_without_file_end),
        ],
    );
}

const SCRIPT: &str = r#"
mkdir etc && cp -a /etc/ld.so.* etc
mount --bind "$PWD/etc" /etc || exit 77
if [ -d /var/cache/ldconfig ]; then mkdir aux && mount --bind "$PWD/aux" /var/cache/ldconfig || exit 77; fi
eval "$SETUP" || exit 78
count=0
for target in "$@"; do
    loader=/lib64/ld-linux-x86-64.so.2
    case "$target" in *small*) loader=/lib/ld-linux.so.2;; esac
    case "$target" in */*) ;; *) target="./$target";; esac
    LD_TRACE_LOADED_OBJECTS=1 LD_WARN=yes LD_BIND_NOW=yes "$loader" "$target" >"theirs.$count" 2>&1
    "$LINKAUDIT" --as-ldd --format ldd "$target" >"ours.$count" 2>"said.$count"
    count=$((count + 1))
done
exit 0
"#;

fn run(theme: &str, cases: &[Case]) {
    let Some(flags) = namespace() else {
        return support::skip(
            "cache_in_a_mount_namespace",
            "unshare makes no mount namespace here",
        );
    };
    let mut tally = Tally::default();
    let mut broken = Vec::new();
    for (name, build) in cases {
        let lab = Lab::new();
        let (setup, targets) = build(&lab);
        let status = support::clean("unshare")
            .current_dir(lab.root())
            .args([flags, "sh", "-c", SCRIPT, "sh"])
            .args(targets.iter().map(|target: &Target| &target.file))
            .env("SETUP", setup)
            .env("LINKAUDIT", env!("CARGO_BIN_EXE_linkaudit"))
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .status()
            .expect("unshare runs");
        if status.code() == Some(77) {
            return support::skip("cache_in_a_mount_namespace", "no bind mount over /etc");
        }
        assert!(status.success(), "{name}: {status}");
        for (index, target) in targets.iter().enumerate() {
            let theirs = support::normalise(&read(&lab.path(&format!("theirs.{index}"))));
            broken.extend(guard(name, target, &lab, &theirs));
            let ours = read(&lab.path(&format!("ours.{index}")));
            tally.compare(&format!("{name}: {}", target.file), &ours, &theirs);
        }
    }
    assert!(broken.is_empty(), "{theme}: cases that miss their rule\n{}", broken.join("\n"));
    tally.finish(&format!("loader cases: {theme}"));
}

/// The option with which `unshare` works here: as root, or with a user namespace.
fn namespace() -> Option<&'static str> {
    ["-m", "-rm"].into_iter().find(|flag| {
        let output = support::clean("unshare").args([flag, "true"]).output();
        output.is_ok_and(|output| output.status.success())
    })
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(path).expect("an answer of the namespace")).into_owned()
}

/// Writes the cache with the directory `only` of the laboratory before the system's own.
const CACHE: &str = "mkdir -p only; echo $PWD/only >etc/first.conf; cat etc/ld.so.conf >>etc/first.conf; ldconfig -X -f /etc/first.conf 2>/dev/null";

fn only_in_the_cache(lab: &Lab) -> (&'static str, Targets) {
    lib(lab, "only/sub/libplum.so", &[], "");
    lib(lab, "only/libpear.so.1", &["only/sub/libplum.so"], "runpath=$ORIGIN/sub");
    lib(lab, "d/libfig.so", &["only/libpear.so.1"], "");
    prog(lab, "prog", &["only/libpear.so.1"], "");
    prog(lab, "through", &["d/libfig.so"], "runpath=$PWD/d");
    let found = "libpear.so.1 => $PWD/only/libpear.so.1";
    (CACHE, vec![see("prog", &[found, "libplum.so => $PWD/only/sub"]), see("through", &[found])])
}

fn names_in_the_cache(lab: &Lab) -> (&'static str, Targets) {
    lib(lab, "only/libfile.so", &[], "soname=libpear.so.4");
    lab.link("libfile.so", "only/libpear.so.4");
    lib(lab, "only/libbare.so", &[], "soname=");
    so(lab, "only/odd-name.so", "int odd;", "soname=odd-name.so");
    for (out, soname) in [
        ("by_file", "libfile.so"),
        ("by_soname", "libpear.so.4"),
        ("bare", "libbare.so"),
        ("odd", "odd-name.so"),
    ] {
        so(lab, "stub/any.so", "", &format!("soname={soname}"));
        exe(lab, out, "int main(void){return 0;}", "stub/any.so");
    }
    (
        CACHE,
        vec![
            see("by_file", &["libfile.so => not found"]),
            see("by_soname", &["libpear.so.4 => $PWD/only/libpear.so.4"]),
            see("bare", &["libbare.so => $PWD/only/libbare.so"]),
            see("odd", &["odd-name.so => not found"]),
        ],
    )
}

fn levels_in_the_cache(lab: &Lab) -> (&'static str, Targets) {
    lib(lab, "only/libpear.so.1", &[], "");
    for name in ["glibc-hwcaps/x86-64-v2", "glibc-hwcaps/x86-64-v3", "glibc-hwcaps/power9"] {
        copy(lab, "only/libpear.so.1", &format!("only/{name}/libpear.so.1"));
    }
    lib(lab, "only/libkiwi.so.1", &[], "");
    for name in ["tls", "x86_64", "glibc-hwcaps/x86-64-v9"] {
        copy(lab, "only/libkiwi.so.1", &format!("only/{name}/libkiwi.so.1"));
    }
    copy(lab, "only/libkiwi.so.1", "only/glibc-hwcaps/x86-64-v4/libelm.so.1");
    prog(lab, "level", &["only/libpear.so.1"], "");
    prog(lab, "legacy", &["only/libkiwi.so.1"], "");
    (
        CACHE,
        vec![
            see("level", &["libpear.so.1 => $PWD/only/"]),
            see("legacy", &["libkiwi.so.1 => $PWD/only/"]),
        ],
    )
}

/// Each library is in the subdirectories of one combination of old names.
fn old_names_in_the_cache(lab: &Lab) -> (&'static str, Targets) {
    const PLACES: [(&str, &[&str]); 8] = [
        ("features", &["sse2", "x86_64", "avx512_1"]),
        ("platforms", &["haswell", "xeon_phi", "i586", "i686"]),
        ("both", &["x86_64/haswell", "haswell/i686", "x86_64"]),
        ("thread", &["tls/x86_64", "tls/sse2", "tls"]),
        ("wide", &["tls/haswell/avx512_1/x86_64", "haswell/x86_64", "tls/haswell"]),
        ("old", &["sse2"]),
        ("older", &["i686/sse2", "x86_64/sse2", "tls/i686/sse2"]),
        ("named", &["tls/i686", "glibc-hwcaps/x86-64-v2"]),
    ];
    let mut targets = Vec::new();
    for (size, flags) in [("large", ""), ("small", "-m32")] {
        let files = PLACES.map(|(name, _)| format!("only/lib{size}{name}.so.1"));
        for ((_, places), file) in PLACES.iter().zip(&files) {
            lib(lab, file, &[], flags);
            for place in *places {
                copy(lab, file, &file.replace("only", &format!("only/{place}")));
            }
        }
        prog(lab, size, &files.each_ref().map(String::as_str), flags);
        targets.push(see(size, &["older.so.1 => $PWD/only/"]));
    }
    (CACHE, targets)
}

fn both_word_sizes(lab: &Lab) -> (&'static str, Targets) {
    lib(lab, "only/libpear.so.1", &[], "-m32");
    lib(lab, "d/libpear.so.1", &[], "");
    prog(lab, "large", &["d/libpear.so.1"], "");
    prog(lab, "small", &["only/libpear.so.1"], "-m32");
    (
        CACHE,
        vec![
            see("large", &["libpear.so.1 => not found"]),
            see("small", &["libpear.so.1 => $PWD/only/"]),
        ],
    )
}

fn stale_entries(lab: &Lab) -> (&'static str, Targets) {
    for name in ["gone", "text", "small", "arm", "util"] {
        let soname = if name == "util" {
            "only/libutil.so.1".to_owned()
        } else {
            format!("only/lib{name}.so.1")
        };
        lib(lab, &soname, &[], "");
    }
    for name in ["gone", "text", "small", "arm", "util"] {
        prog(lab, &format!("p_{name}"), &[&format!("only/lib{name}.so.1")], "");
    }
    copy(lab, "p_small", "q_other");
    lib(lab, "swap/libother.so.1", &[], "-m32");
    let setup = "mkdir -p only; echo $PWD/only >etc/first.conf; cat etc/ld.so.conf >>etc/first.conf
        ldconfig -X -f /etc/first.conf 2>/dev/null || exit 1
        rm only/libgone.so.1 only/libutil.so.1
        echo INPUT of some linker, at least as long as the header of an ELF file, sixty-four >only/libtext.so.1
        cp swap/libother.so.1 only/libsmall.so.1
        printf '\\267' | dd of=only/libarm.so.1 bs=1 seek=18 conv=notrunc 2>/dev/null";
    (
        setup,
        vec![
            see("p_gone", &["libgone.so.1 => not found"]),
            see("p_util", &["libutil.so.1 => /", "!$PWD"]),
            see("p_text", &["libtext.so.1: invalid ELF header"]),
            see("p_arm", &["libarm.so.1 => not found"]),
            see("q_other", &["libsmall.so.1"]),
        ],
    )
}

fn lists_before_the_cache(lab: &Lab) -> (&'static str, Targets) {
    for dir in ["only", "d"] {
        lib(lab, &format!("{dir}/libpear.so.1"), &[], "");
    }
    lib(lab, "only/libutil.so.1", &[], "");
    prog(lab, "list", &["d/libpear.so.1"], "runpath=$PWD/none:$PWD/d");
    prog(lab, "old_list", &["d/libpear.so.1"], "rpath=$PWD/d");
    prog(lab, "empty_list", &["d/libpear.so.1"], "runpath=$PWD/none");
    prog(lab, "system", &["only/libutil.so.1"], "");
    (
        CACHE,
        vec![
            see("list", &["=> $PWD/d/libpear.so.1"]),
            see("old_list", &["=> $PWD/d/libpear.so.1"]),
            see("empty_list", &["=> $PWD/only/libpear.so.1"]),
            see("system", &["libutil.so.1 => "]),
        ],
    )
}

fn no_default_directories_and_the_cache(lab: &Lab) -> (&'static str, Targets) {
    lib(lab, "only/libpear.so.1", &[], "");
    so(
        lab,
        "d/libfig.so",
        "int pear(void); double sin(double); int fig(void){return pear();} double s(double x){return sin(x);}",
        "soname=libfig.so only/libpear.so.1 -lm z=nodefaultlib",
    );
    exe(lab, "prog", "int fig(void); int main(void){return fig();}", "d/libfig.so runpath=$PWD/d");
    (
        CACHE,
        vec![see("prog", &["libpear.so.1 => $PWD/only/libpear.so.1", "libm.so.6 => not found"])],
    )
}

fn many_numbers(lab: &Lab) -> (&'static str, Targets) {
    let ends = ["1", "2", "9", "10", "11", "99", "100", "01", "1.2", "1.10", "a", "1a"];
    let mut flags = String::new();
    for end in ends {
        let out = format!("only/libn.so.{end}");
        so(lab, &out, "", &format!("soname=libn.so.{end}"));
        flags += &format!("{out} ");
    }
    exe(lab, "prog", "int main(void){return 0;}", &flags);
    (
        CACHE,
        vec![see(
            "prog",
            &[
                "libn.so.10 => $PWD/only/libn.so.10",
                "libn.so.1.2 => $PWD/only",
                "libn.so.1a => $PWD/only",
            ],
        )],
    )
}

const OLD: &str = "mkdir -p only; echo $PWD/only >etc/first.conf; cat etc/ld.so.conf >>etc/first.conf; ldconfig -X -c old -f /etc/first.conf 2>/dev/null";
const COMPAT: &str = "mkdir -p only; echo $PWD/only >etc/first.conf; cat etc/ld.so.conf >>etc/first.conf; ldconfig -X -c compat -f /etc/first.conf 2>/dev/null";

fn old_format(lab: &Lab) -> (&'static str, Targets) {
    lib(lab, "only/libpear.so.1", &[], "");
    prog(lab, "prog", &["only/libpear.so.1"], "-lm");
    (OLD, vec![see("prog", &["libpear.so.1 => "])])
}

fn both_formats(lab: &Lab) -> (&'static str, Targets) {
    lib(lab, "only/libpear.so.1", &[], "");
    prog(lab, "prog", &["only/libpear.so.1"], "-lm");
    prog(lab, "small", &[], "-m32 -lm");
    (COMPAT, vec![see("prog", &["libpear.so.1 => $PWD/only/"]), see("small", &["libm.so.6 => /"])])
}

fn cache_that_is_none(lab: &Lab) -> (&'static str, Targets) {
    prog(lab, "prog", &[], "-lm");
    prog(lab, "small", &[], "-m32 -lm");
    (
        "rm /etc/ld.so.cache",
        vec![see("prog", &["libm.so.6 => /", "!not found"]), see("small", &["libm.so.6"])],
    )
}

fn cache_of_text(lab: &Lab) -> (&'static str, Targets) {
    prog(lab, "prog", &[], "-lm");
    lib(lab, "stub/libgone.so", &[], "");
    prog(lab, "missing", &["stub/libgone.so"], "");
    (
        "echo glibc-ld.so.cache1.1 and nothing that follows has a meaning >/etc/ld.so.cache",
        vec![see("prog", &["libm.so.6 => /"]), see("missing", &["libgone.so => not found"])],
    )
}

fn preloads(lab: &Lab) {
    so(lab, "pre/libone.so", "int pear(void){return 1;}", "soname=libone.so");
    so(lab, "pre/libtwo.so", "int two;", "");
    so(lab, "stub/libpear.so", "int pear(void){return 1;}", "soname=libpear.so");
    so(lab, "d/libpear.so", "int none;", "soname=libpear.so");
    prog(lab, "prog", &["stub/libpear.so"], "runpath=$PWD/d");
}

fn preload_list(lab: &Lab) -> (&'static str, Targets) {
    preloads(lab);
    prog(lab, "plain", &[], "");
    prog(lab, "already", &["pre/libone.so"], "-nostartfiles -Wl,-emain runpath=$PWD/pre");
    (
        "printf '# a note\\n%s/pre/libone.so\\t%s/pre/libtwo.so\\n\\n' $PWD $PWD >/etc/ld.so.preload",
        vec![
            see("prog", &["$PWD/pre/libone.so", "$PWD/pre/libtwo.so", "!undefined"]),
            see("plain", &["$PWD/pre/libone.so", "!ERROR"]),
            see("already", &["$PWD/pre/libone.so", "!libone.so =>"]),
        ],
    )
}

/// The loader searches for each comment from the start of the file, over as many bytes as are left
/// after the comment before. So it misses a comment whose offset in the file is larger than that.
fn preload_with_two_comments(lab: &Lab) -> (&'static str, Targets) {
    preloads(lab);
    lab.write("late", "# one\nlibm.so.6 # two three\n");
    lab.write("early", "#1\n#2\n#3\nlibm.so.6\n");
    prog(lab, "plain", &[], "");
    (
        "cp early /etc/ld.so.preload; cat late >>/etc/ld.so.preload",
        vec![see("plain", &["libm.so.6"])],
    )
}

fn preload_by_name(lab: &Lab) -> (&'static str, Targets) {
    preloads(lab);
    prog(lab, "with_list", &["stub/libpear.so"], "runpath=$PWD/d:$PWD/pre");
    prog(lab, "old_list", &["stub/libpear.so"], "rpath=$PWD/d:$PWD/pre");
    (
        "echo libone.so libm.so.6:libtwo.so >/etc/ld.so.preload",
        vec![
            see("with_list", &["libone.so => $PWD/pre/libone.so", "libm.so.6 => /", "!undefined"]),
            see("old_list", &["libone.so => $PWD/pre/libone.so"]),
            see(
                "prog",
                &[
                    "object 'libone.so' from /etc/ld.so.preload cannot be preloaded",
                    "libm.so.6 => /",
                ],
            ),
        ],
    )
}

fn preload_that_fails(lab: &Lab) -> (&'static str, Targets) {
    preloads(lab);
    lab.write(
        "pre/text.so",
        "not a library, and long enough that the header could be read: sixty-four",
    );
    lib(lab, "pre/little.so", &[], "-m32");
    lib(lab, "pre/needs.so", &["stub/libpear.so"], "runpath=$PWD/d");
    prog(lab, "small", &[], "-m32");
    (
        "printf '%s/pre/text.so\\n%s/none.so\\n%s/pre/little.so\\n%s/pre/needs.so\\n' $PWD $PWD $PWD $PWD >/etc/ld.so.preload",
        vec![
            see("prog", &["cannot be preloaded (", "pre/needs.so"]),
            see("small", &["pre/little.so", "cannot be preloaded ("]),
        ],
    )
}

fn preload_without_file_end(lab: &Lab) -> (&'static str, Targets) {
    preloads(lab);
    (
        "printf ' :: \\t%s/pre/libone.so' $PWD >/etc/ld.so.preload",
        vec![see("prog", &["$PWD/pre/libone.so", "!undefined"])],
    )
}
