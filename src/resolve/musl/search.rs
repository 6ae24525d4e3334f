//! The search for one need as musl does it (`ldso/dynlink.c`, `load_library`, `path_open`,
//! `fixup_rpath`): LD_LIBRARY_PATH, the search paths of all objects that led to the need, the
//! system's directories. Only `Load` calls it.

use super::super::trace::Outcome;
use super::super::{How, ROOT};
use super::{Load, Loaded};
use crate::facts::{Need, Place};
use crate::id::StrId;
use crate::tree::Errno;
use std::os::unix::ffi::OsStrExt as _;

/// How the search through one list of directories ended.
enum Opened {
    At(StrId, Place),
    Not,
    /// An error that ends all searching.
    Stop(Errno),
    Unknown,
}

impl Load<'_, '_> {
    /// The first file that opens: LD_LIBRARY_PATH, the paths of the requester and of all that led to
    /// it, the system's.
    pub(super) fn search(
        &mut self,
        name: StrId,
        requester: Option<u32>,
    ) -> Result<(StrId, Place, How), Loaded> {
        if self.resolver.strings.text(name).contains(&b'/') {
            self.by_cwd |= !self.resolver.strings.text(name).starts_with(b"/");
            return match self.look(name, How::Path) {
                Some(Place::Failed(errno)) => Err(Loaded::Failed(None, words(errno))),
                Some(place) => Ok((name, place, How::Path)),
                None => Err(Loaded::Unknown),
            };
        }
        let mut lists = vec![(self.plan.ld_library_path.clone(), How::LdLibraryPath)];
        let mut here = requester;
        while let Some(module) = here {
            lists.extend(self.rpath(module).map(|list| (list, How::Rpath(module))));
            here = self.modules[module as usize].requester.or((module != ROOT).then_some(ROOT));
        }
        let loader = self.resolver.loaders.get(self.root.loader);
        let system = loader.system_dirs.iter().map(|dir| self.resolver.strings.text(*dir));
        lists.push((system.collect::<Vec<_>>().join(&b':'), How::Default));
        for (list, how) in lists {
            match self.open_in(&list, name, how) {
                Opened::At(path, place) => return Ok((path, place, how)),
                Opened::Not => {}
                Opened::Stop(errno) => return Err(Loaded::Failed(None, words(errno))),
                Opened::Unknown => return Err(Loaded::Unknown),
            }
        }
        Err(Loaded::Failed(None, self.errno))
    }

    /// `path_open`
    fn open_in(&mut self, list: &[u8], name: StrId, how: How) -> Opened {
        let dirs = list.split(|b| matches!(b, b':' | b'\n')).filter(|dir| !dir.is_empty());
        let join = |dir: &[u8], name: &[u8]| [dir, b"/", name].concat();
        let name = self.resolver.strings.text(name).to_vec();
        let paths: Vec<Vec<u8>> = dirs.map(|dir| join(dir, &name)).collect();
        for (at, path) in paths.iter().enumerate() {
            self.by_cwd |= !path.starts_with(b"/");
            let id = self.resolver.strings.id(path);
            match self.look(id, how) {
                Some(Place::Failed(errno)) => {
                    self.errno = words(errno);
                    let goes_on = [Errno::NOENT, Errno::NOTDIR, Errno::ACCESS, Errno::NAMETOOLONG];
                    if !goes_on.contains(&errno) {
                        return Opened::Stop(errno);
                    }
                }
                Some(place) => return Opened::At(id, place),
                None => {
                    // In one go, as far as the loader would go.
                    self.needs.pop();
                    self.needs.push(Need::First {
                        paths: paths[at..].to_vec(),
                        target: None,
                        portion: None,
                    });
                    return Opened::Unknown;
                }
            }
        }
        Opened::Not
    }

    fn look(&mut self, path: StrId, how: How) -> Option<Place> {
        let text = self.resolver.strings.text(path);
        let Some(place) = self.view.place(text) else {
            self.needs.push(Need::path(text.to_vec(), None));
            return None;
        };
        if let Some(trace) = &mut self.trace {
            let outcome = match place {
                Place::Failed(errno) => Outcome::Failed(errno),
                Place::File(_) => Outcome::Taken,
                Place::Directory => Outcome::Fatal("Is a directory"),
                Place::Special(special) => Outcome::Fatal(special.describe()),
            };
            trace.push(how, outcome, false, || text.to_vec());
        }
        Some(place)
    }

    /// `fixup_rpath`: DT_RUNPATH, else DT_RPATH; with any token but `$ORIGIN` there is none.
    fn rpath(&self, module: u32) -> Option<Vec<u8>> {
        let m = &self.modules[module as usize];
        let object = self.view.object(m.file?)?;
        let text = object.str(object.runpath.or(object.rpath)?);
        let path = if module == ROOT && !self.plan.as_ldd {
            // The kernel has mapped it: /proc/self/exe.
            self.view.file(self.root.file).real.as_os_str().as_bytes()
        } else {
            self.resolver.strings.text(m.path)
        };
        let origin = path.iter().rposition(|b| *b == b'/').map_or(&b"."[..], |at| &path[..at]);
        let mut out = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.iter().position(|b| *b == b'$') {
            let token = [&b"$ORIGIN"[..], b"${ORIGIN}"];
            let token = token.iter().find(|token| rest[at..].starts_with(token))?;
            out.extend_from_slice(&rest[..at]);
            out.extend_from_slice(origin);
            rest = &rest[at + token.len()..];
        }
        out.extend_from_slice(rest);
        Some(out)
    }
}

/// An error number in musl's words (`src/errno/__strerror.h`).
pub(super) fn words(errno: Errno) -> &'static str {
    match errno {
        Errno::NOENT => "No such file or directory",
        Errno::NOTDIR => "Not a directory",
        Errno::ACCESS => "Permission denied",
        Errno::LOOP => "Symbolic link loop",
        Errno::NAMETOOLONG => "Filename too long",
        Errno::NXIO => "No such device or address",
        _ => "I/O error",
    }
}
