//! `patchelf`: a shell script that gives files the search paths that were verified. It takes the prefix as
//! its argument, so that the tree may have moved. It leaves a file that has its search path already, and
//! refuses a file that is not the one that was audited.

use super::{Emission, Emitted};
use crate::fix::fix_plan::SearchPath;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

const HEAD: &str = "\
#!/bin/sh
# Search paths that linkaudit verified: the missing libraries are found, and no file is hidden.
# usage: sh SCRIPT [PREFIX]
set -u
";

/// `patchelf --set-rpath` writes DT_RUNPATH unless `--force-rpath` is given.
const BODY: &str = r#"
case $prefix in
/*) ;;
*) prefix=./$prefix ;;
esac
failed=0

# set_path FILE SHA256 PATH [--force-rpath]
set_path() {
    file=$prefix/$1
    if [ "$(patchelf --print-rpath "$file")" = "$3" ]; then
        printf '%s\n' "unchanged: $1"
    elif [ "$(sha256sum <"$file" | cut -d ' ' -f 1)" != "$2" ]; then
        printf '%s\n' "refused: $1 is not the file that was audited" >&2
        failed=1
    elif patchelf ${4:+"$4"} --set-rpath "$3" "$file"; then
        printf '%s\n' "changed: $1"
    else
        failed=1
    fi
}

"#;

pub(super) fn render(emission: &Emission<'_>) -> Emitted {
    let mut out = Emitted::default();
    let files = &emission.remedy.search_paths;
    let Some(prefix) = common(files) else { return out };
    out.bytes.extend(HEAD.as_bytes());
    out.bytes.extend(b"prefix=${1-");
    quote(prefix.as_os_str().as_bytes(), &mut out.bytes);
    out.bytes.extend(b"}\n");
    out.bytes.extend(BODY.as_bytes());
    for SearchPath { file, path, is_rpath, sha256, .. } in files {
        let name = file.strip_prefix(&prefix).unwrap_or(file).as_os_str().as_bytes();
        // The end of a line is lost in the output of a command.
        if name.contains(&b'\n') || path.contains(&b'\n') {
            out.refuse(name, "has the end of a line in its name or search path");
            continue;
        }
        out.bytes.extend(b"set_path ");
        quote(name, &mut out.bytes);
        out.bytes.extend(format!(" {sha256} ").as_bytes());
        quote(path, &mut out.bytes);
        out.bytes.extend(if *is_rpath { &b" --force-rpath\n"[..] } else { b"\n" });
    }
    out.bytes.extend(b"exit $failed\n");
    out
}

/// The prefix of all files, or the directory that holds their prefixes.
fn common(files: &[SearchPath]) -> Option<PathBuf> {
    let mut directories = files.iter().map(|one| &*one.prefix);
    let first = directories.next()?.to_path_buf();
    Some(directories.fold(first, |common, next| {
        let same = common.ancestors().find(|ancestor| next.starts_with(ancestor));
        same.unwrap_or(Path::new("/")).to_path_buf()
    }))
}

/// A word between single quotes, which keep every byte but themselves (POSIX shell, 2.2.2).
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
