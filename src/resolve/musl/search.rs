//! The search for one need as musl does it (`ldso/dynlink.c`, `load_library`, `path_open`,
//! `fixup_rpath`): LD_LIBRARY_PATH, the search paths of all objects that led to the need, the
//! system's directories. Only `Load` calls it.

use super::super::paths::new_list;
use super::super::portions::{self, portion};
use super::super::trace::Outcome;
use super::super::{How, ROOT};
use super::{Load, Loaded};
use crate::facts::{Need, Place, Portion};
use crate::id::{Id as _, ModuleId, StrId};
use crate::tree::Errno;
use std::os::unix::ffi::OsStrExt as _;

/// How many needs are asked for in one round: each may be hundreds of paths.
const MOST_ASKED: usize = 512;

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
        requester: Option<ModuleId>,
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
            here = self.modules[module.index()].requester.or((module != ROOT).then_some(ROOT));
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
        let dirs: Vec<&[u8]> =
            list.split(|b| matches!(b, b':' | b'\n')).filter(|dir| !dir.is_empty()).collect();
        let number = (dirs.len() > portions::FIRST).then(|| self.number(list));
        let key = number.map(|number| (number, name));
        // A trace begins anew.
        let known = key.filter(|_| self.trace.is_none());
        let known = known.and_then(|key| self.resolver.memo.passed.get(&key).copied());
        let mut passed = known.unwrap_or_default();
        self.by_cwd |= dirs[..passed.done].iter().any(|dir| !dir.starts_with(b"/"));
        let name_text = self.resolver.strings.text(name).to_vec();
        let path = |dir: &[u8]| [dir, b"/", &name_text].concat();
        for (at, dir) in dirs.iter().enumerate().skip(passed.done) {
            self.by_cwd |= !dir.starts_with(b"/");
            let path_here = path(dir);
            passed.done = at;
            match self.place(&path_here, key.and_then(|(list, name)| portion(list, name, at))) {
                Some(Place::Failed(errno)) => {
                    self.tell(&path_here, Place::Failed(errno), how);
                    self.errno = words(errno);
                    let goes_on = [Errno::NOENT, Errno::NOTDIR, Errno::ACCESS, Errno::NAMETOOLONG];
                    if !goes_on.contains(&errno) {
                        return Opened::Stop(errno);
                    }
                }
                Some(place) => {
                    self.tell(&path_here, place, how);
                    return Opened::At(self.resolver.strings.id(&path_here), place);
                }
                None => {
                    self.resolver.memo.passed.extend(key.map(|key| (key, passed)));
                    // In one go, as far as the loader would go.
                    let end = portions::end_of(at).min(dirs.len());
                    let portion = key.and_then(|(list, name)| portion(list, name, at));
                    if self.needs.len() < MOST_ASKED {
                        let paths = dirs[at..end].iter().map(|dir| path(dir)).collect();
                        self.needs.push(Need::First { paths, target: None, portion });
                    }
                    return Opened::Unknown;
                }
            }
        }
        self.resolver.memo.passed.extend(key.map(|key| (key, passed)));
        Opened::Not
    }

    /// The number of a long list.
    fn number(&mut self, list: &[u8]) -> u64 {
        let text = self.resolver.strings.id(list);
        *self.resolver.memo.long.entry(text).or_insert_with(new_list)
    }

    /// What lies at a path. Of a portion that was looked through, what is not known is not there.
    fn place(&self, path: &[u8], portion: Option<Portion>) -> Option<Place> {
        self.view.place(path).or_else(|| {
            let absent = self.view.is_looked_through(&portion?);
            absent.then_some(Place::Failed(Errno::NOENT))
        })
    }

    fn look(&mut self, path: StrId, how: How) -> Option<Place> {
        let text = self.resolver.strings.text(path).to_vec();
        let Some(place) = self.view.place(&text) else {
            self.needs.push(Need::path(text, None));
            return None;
        };
        self.tell(&text, place, how);
        Some(place)
    }

    /// Writes down what came of a path, if anybody wants to know.
    fn tell(&mut self, path: &[u8], place: Place, how: How) {
        if let Some(trace) = &mut self.trace {
            let outcome = match place {
                Place::Failed(errno) => Outcome::Failed(errno),
                Place::File(_) => Outcome::Taken,
                Place::Directory => Outcome::Fatal("Is a directory"),
                Place::Special(special) => Outcome::Fatal(special.describe()),
            };
            trace.push(how, outcome, false, || path.to_vec());
        }
    }

    /// `fixup_rpath`: DT_RUNPATH, else DT_RPATH; with any token but `$ORIGIN` there is none.
    fn rpath(&self, module: ModuleId) -> Option<Vec<u8>> {
        let m = &self.modules[module.index()];
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
