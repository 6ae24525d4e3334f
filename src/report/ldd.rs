//! `ldd`: the output of `ldd -r` for each file, without the vdso line and the load addresses. Each
//! distinct message appears once (`elf/rtld.c`, `elf/dl-version.c`, `elf/dl-reloc.c`).

use crate::audit::Audit;
use crate::bind::{Abort, RelocationMessage, RootBinding};
use crate::format::elf::{NeedKind, Object};
use crate::id::{FastSet, FileId, Id as _, ModuleId, RootId, StrId};
use crate::resolve::loader::Family;
use crate::resolve::versions::{Stop, VersionDefect};
use crate::resolve::{Closure, ROOT};
use crate::text::{show, show_path};
use std::io::{self, Write};

pub(super) fn render(audit: &Audit, out: &mut dyn Write) -> io::Result<()> {
    let listing = &audit.listing;
    for (path, root) in listing {
        if listing.len() > 1 {
            writeln!(out, "{}:", show_path(path))?;
        }
        match root {
            Some(root) => {
                let page = LddPage::new(audit, *root);
                match audit.loader(*root).family {
                    Family::Glibc => page.write(out)?,
                    Family::Musl(_) => page.write_musl(out)?,
                }
            }
            None => writeln!(out, "\tnot a dynamic executable")?,
        }
    }
    Ok(())
}

/// The output for one entry point.
pub(super) struct LddPage<'a> {
    pub(super) audit: &'a Audit,
    pub(super) closure: &'a Closure,
    pub(super) binding: &'a RootBinding,
    /// The program's name as typed.
    program: String,
}

impl<'a> LddPage<'a> {
    fn new(audit: &'a Audit, root: RootId) -> Self {
        let closure = &audit.closures.roots[root];
        let program = show(audit.text(closure.root.path));
        Self { audit, closure, binding: &audit.bindings[root.index()], program }
    }

    /// A name in messages. The empty name means the program (`DSO_FILENAME`).
    pub(super) fn name(&self, id: StrId) -> String {
        match self.audit.text(id) {
            b"" => self.program.clone(),
            text => show(text),
        }
    }

    /// A module's name in messages.
    pub(super) fn object(&self, module: ModuleId) -> String {
        if module == ROOT {
            return self.program.clone();
        }
        self.name(self.closure.module(module).path)
    }

    pub(super) fn facts(&self, file: FileId) -> Option<&'a Object> {
        self.audit.corpus.files[file].object()
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let program = &self.program;
        for failure in self.closure.preload_failures() {
            let name = self.name(failure.name);
            let (source, text) = (failure.source, failure.text);
            writeln!(
                out,
                "ERROR: ld.so: object '{name}' from {source} cannot be preloaded ({text}): ignored."
            )?;
        }
        if let Some(fatal) = self.closure.fatal() {
            let object = self.name(fatal.object);
            return writeln!(
                out,
                "{program}: error while loading shared libraries: {object}: {}",
                fatal.text
            );
        }
        self.versions(out)?;
        match self.binding.checked.stop {
            Some(Stop::Relr(module)) => {
                let object = self.object(module);
                return writeln!(
                    out,
                    "{program}: error while loading shared libraries: {object}: DT_RELR without GLIBC_ABI_DT_RELR dependency"
                );
            }
            Some(Stop::NoSuchName(..)) => {
                return writeln!(
                    out,
                    "Inconsistency detected by ld.so: dl-version.c: _dl_check_map_versions: Assertion `needed != NULL' failed!"
                );
            }
            None => {}
        }
        self.libraries(out)?;
        self.messages(out)
    }

    fn versions(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut seen = FastSet::default();
        for issue in &self.binding.checked.issues {
            let provider = self.object(issue.provider);
            let requester = self.object(issue.requester);
            let version = show(&issue.version);
            let line = match issue.complaint {
                VersionDefect::Missing => format!("version `{version}' not found"),
                VersionDefect::WeakMissing => format!("weak version `{version}' not found"),
                VersionDefect::NoVersions => "no version information available".to_owned(),
            };
            let line = format!("{}: {provider}: {line} (required by {requester})", self.program);
            if seen.insert(line.clone()) {
                writeln!(out, "{line}")?;
            }
        }
        Ok(())
    }

    fn libraries(&self, out: &mut dyn Write) -> io::Result<()> {
        let needs = self.facts(self.closure.root.file).map_or(&[][..], |object| &object.needs);
        if !needs.iter().any(|need| need.kind == NeedKind::Needed) {
            return writeln!(out, "\tstatically linked");
        }
        for module in self.closure.list().iter().map(|module| self.closure.module(*module)) {
            let name = self.name(module.name);
            if module.is_stub() {
                writeln!(out, "\t{name} => not found")?;
            } else if module.name == module.path {
                writeln!(out, "\t{name}")?;
            } else {
                writeln!(out, "\t{name} => {}", self.name(module.path))?;
            }
        }
        Ok(())
    }

    fn messages(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut seen = FastSet::default();
        for (module, messages) in &self.binding.reports {
            let Some(object) = self.closure.module(*module).file.and_then(|file| self.facts(file))
            else {
                continue;
            };
            for message in messages {
                let line = self.message(*module, object, *message);
                if seen.insert(line.clone()) {
                    writeln!(out, "{line}")?;
                }
                if let Some(line) = self.refusal(object, *message) {
                    return writeln!(out, "{line}");
                }
            }
        }
        match self.binding.abort {
            Some((_, Abort::ProviderLostVersions)) => writeln!(
                out,
                "Inconsistency detected by ld.so: dl-lookup.c: check_match: Assertion `version->filename == NULL || ! _dl_name_match_p (version->filename, map)' failed!"
            ),
            // The loader crashes without a message.
            Some((_, Abort::NoVersionTable)) | None => Ok(()),
        }
    }

    /// The error that ends the relocation after this message; `None` if the relocation continues.
    fn refusal(&self, object: &Object, message: RelocationMessage) -> Option<String> {
        let RelocationMessage::Protected { symbol, provider, refused: true, .. } = message else {
            return None;
        };
        let (name, provider) = (show(object.symbol_name(symbol)), self.object(provider));
        Some(format!(
            "{}: {name}: {provider}: error due to GNU_PROPERTY_1_NEEDED_INDIRECT_EXTERN_ACCESS",
            self.program
        ))
    }

    fn message(&self, module: ModuleId, object: &Object, message: RelocationMessage) -> String {
        match message {
            RelocationMessage::Size { symbol, .. } => format!(
                "{}: Symbol `{}' has different size in shared object, consider re-linking",
                self.program,
                show(object.symbol_name(symbol))
            ),
            RelocationMessage::Protected { symbol, provider, copy, .. } => {
                let (name, object) = (show(object.symbol_name(symbol)), self.object(provider));
                if copy {
                    format!(
                        "warning: copy relocation against non-copyable protected symbol `{name}' in `{object}'"
                    )
                } else {
                    format!(
                        "warning: direct reference to protected function `{name}' in `{object}' may break pointer equality"
                    )
                }
            }
            RelocationMessage::Undefined { symbol, version, version_known, .. } => {
                let entry = object.versions.entry(version).filter(|_| version_known);
                let version = entry.map_or(String::new(), |entry| {
                    format!(", version {}", show(object.str(entry.name)))
                });
                let name = show(object.symbol_name(symbol));
                format!("undefined symbol: {name}{version}\t({})", self.object(module))
            }
        }
    }
}
