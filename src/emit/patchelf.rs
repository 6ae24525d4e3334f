//! `patchelf`: a shell script that sets the verified search paths and needs of files. The prefix is
//! the argument of the script, because the tree may have moved. The script skips a file that is
//! already patched, and refuses a file that differs from the audited one. File capabilities and
//! set-ID bits stay.

use super::{Emission, Emitted};
use crate::fix::fix_plan::ElfPatch;
use crate::order::Arrange as _;
use crate::report::Paths;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

const HEAD: &str = "\
#!/bin/sh
# Changes search paths and needed libraries. linkaudit verified that the loader then finds the missing
# libraries, and still loads every needed file that it loaded before.
";

/// The lines that read the prefix if the files are in several staging directories.
const ARGUMENT_OF_PARTS: &str = "\
# usage: sh SCRIPT [PREFIX], by default the audited staging directories
# In PREFIX, the script changes the files of each staging directory that is installed there.
set -u
given=${1-}
parts=0
";

/// The part of the script after the lines that set the prefix and the required tools.
const BODY: &str = r#"
# PATH of a user may lack the directories of getcap and setcap.
PATH=$PATH:/usr/sbin:/sbin
for tool in $tools; do
    if ! command -v "$tool" >/dev/null 2>&1; then
        printf '%s\n' "not installed: $tool" >&2
        exit 1
    fi
done
failed=0

# absolute
# Makes the prefix a path that no tool takes for an option.
absolute() {
    case $prefix in
    /*) ;;
    *) prefix=./$prefix ;;
    esac
}

# fail MESSAGE
fail() {
    printf '%s\n' "$1" >&2
    failed=1
}

# has_tag FILE SEARCH-PATH OPTIONS
# True if patchelf with OPTIONS, which set the tag of the search path, changes nothing.
has_tag() {
    copy=$(mktemp) || return
    # Options are several words.
    # shellcheck disable=SC2086
    cp "$1" "$copy" && patchelf $3 "$2" "$copy" && cmp -s "$1" "$copy"
    same=$?
    rm -f "$copy"
    return $same
}

# capabilities FILE
# Prints its file capabilities in the form that setcap takes.
capabilities() {
    command -v getcap >/dev/null 2>&1 || return 0
    caps=$(getcap "$1" 2>/dev/null)
    caps=${caps#"$1"}
    # Before libcap 2.41: FILE = CAPABILITIES
    caps=${caps#" ="}
    printf '%s' "${caps# }"
}

# replace FILE NEW
# Writes NEW into FILE, whose links, owner, ACLs and attributes stay. The kernel drops file
# capabilities when a file is written, and for most users the set-ID bits too.
replace() {
    caps=$(capabilities "$1")
    bits=
    if [ -u "$1" ]; then bits=u+s; fi
    if [ -g "$1" ]; then bits=${bits:+$bits,}g+s; fi
    if [ -n "$caps" ] && ! setcap "$caps" "$2"; then
        fail "refused: $name would lose its file capabilities, which only root may set: $caps"
        return 1
    fi
    if ! cat "$2" >"$1"; then
        kept=$2
        fail "failed: $name cannot be written, or only in part; its new content is in $kept"
        return 1
    fi
    if [ -n "$bits" ] && ! chmod "$bits" "$1"; then
        fail "lost: the set-ID bits of $name; restore them with: chmod $bits '$1'"
    fi
    if [ -n "$caps" ] && ! setcap "$caps" "$1"; then
        fail "lost: the file capabilities of $name; restore them with: setcap '$caps' '$1'"
    fi
}

# patch FILE SHA256 SEARCH-PATH NEEDED [OPTIONS]
# SEARCH-PATH and NEEDED (sorted) are what FILE has after `edit`. OPTIONS set the tag of the search path.
patch() {
    name=$1
    file=$prefix/$1
    if [ ! -f "$file" ]; then
        fail "not found: $file"
        return
    fi
    if ! path=$(patchelf --print-rpath "$file") || ! needed=$(patchelf --print-needed "$file"); then
        fail "failed: patchelf cannot read $name"
        return
    fi
    needed=$(printf '%s\n' "$needed" | LC_ALL=C sort)
    if [ "$path" = "$3" ] && [ "$needed" = "$4" ] && { [ $# -eq 4 ] || has_tag "$file" "$3" "$5"; }; then
        printf '%s\n' "unchanged: $name"
        return
    fi
    if [ "$(sha256sum <"$file" | cut -d ' ' -f 1)" != "$2" ]; then
        fail "refused: $name is not the file that was audited"
        return
    fi
    # patchelf changes a copy, so that a failing edit leaves the file as it is.
    kept=
    if ! new=$(mktemp "$file.XXXXXX"); then
        fail "failed: the directory of $name cannot be written"
        return
    fi
    if ! cp -p "$file" "$new" || ! edit "$new"; then
        fail "failed: patchelf cannot change $name"
    elif replace "$file" "$new"; then
        printf '%s\n' "changed: $name"
    fi
    [ -n "$kept" ] || rm -f "$new"
}

"#;

/// The shell function that checks a file whose new search path names the audited prefix.
const AT_HOME: &str = r#"# at_home NAME
# True if the files are in the directory that the search path of the file names.
at_home() {
    if [ -d "$audited" ] && [ "$(cd "$prefix" && pwd -P)" = "$(cd "$audited" && pwd -P)" ]; then
        return
    fi
    fail "refused: the search path of $1 names $audited, and the files are in $prefix"
    return 1
}

"#;

/// The shell function that selects the prefix of the files of one part.
const PART: &str = r#"# part DIRECTORY FILE...
# Sets the prefix of the next files: the script's argument, by default DIRECTORY. False if the argument
# has none of the files, because it may be the staging directory of other files.
part() {
    prefix=${given:-$1}
    absolute
    shift
    for name; do
        if [ -z "$given" ] || [ -f "$prefix/$name" ]; then
            parts=$((parts + 1))
            return
        fi
    done
    return 1
}

"#;

/// A file to patch.
struct File<'p> {
    /// The path below its staging directory. For a file outside of stages, the path in the audited
    /// system.
    path: PathBuf,
    /// The staging directory.
    stage: Option<&'p Path>,
    patch: &'p ElfPatch,
}

impl<'p> File<'p> {
    fn new(paths: &'p Paths, patch: &'p ElfPatch) -> Self {
        let path = paths.in_stage(&patch.file).to_path_buf();
        Self { path, stage: paths.stage(&patch.file), patch }
    }
}

pub(super) fn render(emission: &Emission<'_>) -> Emitted {
    let mut out = Emitted::default();
    let patches = emission.remedy.patches.iter();
    let mut files: Vec<File<'_>> = patches.map(|patch| File::new(emission.paths, patch)).collect();
    let Some(prefix) = common(&files) else { return out };
    files.arrange_by_key(|file| file.stage);
    // A package that is built alone has only its own staging directory.
    let parts: Vec<&[File<'_>]> = files.chunk_by(|a, b| a.stage == b.stage).collect();
    let here = |part: &[File<'_>]| {
        emission.paths.directory(&prefix, part.first().and_then(|file| file.stage))
    };
    out.bytes.extend(HEAD.as_bytes());
    match parts[..] {
        [part] => argument(&here(part), &mut out.bytes),
        _ => out.bytes.extend(ARGUMENT_OF_PARTS.as_bytes()),
    }
    out.bytes.extend(b"tools='patchelf sha256sum mktemp cmp");
    if files.iter().any(|file| file.patch.has_capabilities) {
        out.bytes.extend(b" getcap setcap");
    }
    out.bytes.extend(b"'\n");
    // In a sysroot, the prefix is a path of the audited system, and not of this machine.
    let is_home = emission.paths.directory(&prefix, None) == prefix;
    let fixed = |file: &File<'_>| {
        let is_new = is_home && file.stage.is_none() && file.patch.change.options().is_some();
        is_new && names_prefix(&file.patch.path, &prefix)
    };
    if files.iter().any(fixed) {
        out.bytes.extend(b"audited=");
        quote(prefix.as_os_str().as_bytes(), &mut out.bytes);
        out.bytes.push(b'\n');
    }
    out.bytes.extend(BODY.as_bytes());
    if files.iter().any(fixed) {
        out.bytes.extend(AT_HOME.as_bytes());
    }
    if let [part] = parts[..] {
        out.bytes.extend(b"absolute\n");
        for file in part {
            call(file, &prefix, fixed(file), &mut out);
        }
    } else {
        out.bytes.extend(PART.as_bytes());
        for part in parts {
            out.bytes.extend(b"if part ");
            quote(here(part).as_os_str().as_bytes(), &mut out.bytes);
            for file in part {
                out.bytes.push(b' ');
                quote(below(file, &prefix), &mut out.bytes);
            }
            out.bytes.extend(b"; then\n");
            for file in part {
                call(file, &prefix, fixed(file), &mut out);
            }
            out.bytes.extend(b":\nfi\n");
        }
        out.bytes.extend(b"[ $parts -gt 0 ] || fail \"not found: a file to change in $given\"\n");
    }
    out.bytes.extend(b"exit $failed\n");
    out
}

/// The path of a file below the prefix.
fn below<'f>(file: &'f File<'_>, prefix: &Path) -> &'f [u8] {
    file.path.strip_prefix(prefix).unwrap_or(&file.path).as_os_str().as_bytes()
}

/// Writes the commands that change a file. `is_fixed` is true if its new search path names the
/// audited prefix.
fn call(file: &File<'_>, prefix: &Path, is_fixed: bool, out: &mut Emitted) {
    let (patch, name) = (file.patch, below(file, prefix));
    let needed = patch.needed_after();
    // A newline cannot be written: the shell drops a newline at the end of a command's output,
    // and newlines separate the needed names.
    let mut texts = [name, &patch.path].into_iter().chain(needed.iter().copied());
    if texts.any(|text| text.contains(&b'\n')) {
        return out.refuse(name, "has a newline in a name or in its search path");
    }
    edit(patch, &mut out.bytes);
    if is_fixed {
        out.bytes.extend(b"at_home ");
        quote(name, &mut out.bytes);
        out.bytes.extend(b" &&\n    ");
    }
    out.bytes.extend(b"patch ");
    quote(name, &mut out.bytes);
    out.bytes.extend(format!(" {} ", patch.sha256).as_bytes());
    quote(&patch.path, &mut out.bytes);
    out.bytes.push(b' ');
    quote(&needed.join(&b'\n'), &mut out.bytes);
    if let Some(options) = patch.change.options().filter(|_| patch.new_tag) {
        out.bytes.push(b' ');
        quote(options.as_bytes(), &mut out.bytes);
    }
    out.bytes.push(b'\n');
}

/// Writes the line that reads the prefix from the script's argument. A user gives it, for example,
/// if the same files are at their installed paths on another system. The default is `here`.
fn argument(here: &Path, out: &mut Vec<u8>) {
    out.extend(b"# usage: sh SCRIPT [PREFIX], by default the audited one\nset -u\nprefix=${1-");
    quote(here.as_os_str().as_bytes(), out);
    out.extend(b"}\n");
}

/// True if a search path has an absolute entry below `prefix`.
fn names_prefix(path: &[u8], prefix: &Path) -> bool {
    let mut entries =
        path.split(|byte| *byte == b':').map(|entry| Path::new(OsStr::from_bytes(entry)));
    prefix != Path::new("/") && entries.any(|entry| entry.starts_with(prefix))
}

/// Writes the shell function that changes a file.
fn edit(patch: &ElfPatch, out: &mut Vec<u8>) {
    out.extend(b"edit() {");
    for (place, (options, values)) in patch.calls().into_iter().enumerate() {
        out.extend(if place == 0 { &b"\n"[..] } else { b" &&\n" });
        out.extend(format!("    patchelf {options} ").as_bytes());
        for value in values {
            quote(value, out);
            out.push(b' ');
        }
        out.extend(b"\"$1\"");
    }
    out.extend(b"\n}\n");
}

/// The prefix of all files. If they have several prefixes, the deepest directory that contains all
/// prefixes. `None` without files.
fn common(files: &[File<'_>]) -> Option<PathBuf> {
    // The path of a file in its stage may be outside of the prefix of its installed path.
    let mut directories = files.iter().map(|File { path, patch, .. }| {
        if path.starts_with(&patch.prefix) { &*patch.prefix } else { Path::new("/") }
    });
    let first = directories.next()?.to_path_buf();
    Some(directories.fold(first, |common, next| {
        let same = common.ancestors().find(|ancestor| next.starts_with(ancestor));
        same.unwrap_or(Path::new("/")).to_path_buf()
    }))
}

/// Writes a word in single quotes, which preserve every byte except a single quote (POSIX shell,
/// 2.2.2).
fn quote(word: &[u8], out: &mut Vec<u8>) {
    out.push(b'\'');
    for byte in word {
        match byte {
            b'\'' => out.extend(b"'\\''"),
            byte => out.push(*byte),
        }
    }
    out.push(b'\'');
}
