//! The command `archive`: reads archives and the objects that are linked with them. Shows the
//! members that the link needs, and the names that stay undefined. `--why-extract` and
//! `--archive-stats` also write tables in lld's format.

use super::archive_options::is_stdout;
use super::dependents::Dependents;
use super::exit::Exit;
use super::link_line::{LeftOut, Typed};
use super::nesting::Nesting;
use super::plan::{Prepared, Sinks, prepare_with, sinks};
use super::progress::Progress;
use super::run::{AuditRun, walk};
use super::script_commands::{add_inputs, refuse_own_operands};
use super::{
    ArchiveOptions, FailOn, LinkerOption, SharedOptions, baseline, compilers, message, out,
    output_conflicts, scripts,
};
use crate::cover::{self, DefsymOption, Wrap};
use crate::plan::Plan;
use crate::report::model::Parts;
use crate::report::{Paths, Style};
use crate::text::{show, show_path};
use crate::tree::{DiskTree, Tree as _};
use crate::views;
use crate::views::archive::{
    ArchiveAnswer, ArchiveQuestion, GENERATED, LinkArgument, OUTPUTS, PositionalOption, ShownHints,
    TypedLink, lld, shown,
};
use anyhow::{Context as _, Result, bail};
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Runs `linkaudit archive`: writes the answer about a link, and returns the exit status.
pub(super) fn archive(shared: &SharedOptions, options: &ArchiveOptions) -> Result<Exit> {
    let start = Instant::now();
    baseline::refuse(shared, "archive")?;
    if !options.self_dirs.is_empty() {
        return installed(shared, options, start);
    }
    let ignored = options_without_effect(options)?;
    if !ignored.is_empty() && !shared.quiet {
        message::fact(&format!("options without effect here: {}", ignored.join(", ")));
    }
    if !shared.quiet {
        options.left_out.assumed.iter().for_each(|assumed| message::fact(assumed));
    }
    let is_ordered = is_ordered(options);
    let has_files = !options.archives.is_empty() || !options.library.is_empty();
    if !has_files && options.order.is_none() {
        bail!(
            "no archive given\nhelp: name one: linkaudit archive libfoo.a --from /usr/lib --root-object libbar.so"
        );
    }
    let named = options.archives.iter().chain(options.order.iter().flatten());
    let mut named = named.chain(&options.root_object);
    if let Some(absent) = named.find(|path| !is_there(shared, path)) {
        bail!("{}: no such file or directory", show_path(absent));
    }
    // In an ordered link, the ARCHIVE operands may include the objects.
    let asks = !options.root_object.is_empty() || !options.root_symbol.is_empty();
    if !asks && !options.all_members && !is_ordered {
        bail!(
            "no object or symbol given that needs the archive\nhelp: add --root-object FILE, --root-symbol NAME or \
             --all-members"
        );
    }
    // Linkers ignore missing directories of -L.
    let dirs: Vec<PathBuf> =
        options.library_dirs().into_iter().filter(|dir| is_there(shared, dir)).collect();
    let files = options.archives.iter().chain(options.order.iter().flatten());
    let typed: Vec<PathBuf> = files.chain(&options.root_object).chain(&dirs).cloned().collect();
    if let (true, Some(name)) = (typed.is_empty(), options.library.first()) {
        let name = show(name.as_bytes());
        bail!("-l {name}: not found\nhelp: add its directory with -L DIR, or name the file");
    }
    let tables = options.why_extract.iter().chain(&options.archive_stats);
    let tables: Vec<&Path> = tables.map(PathBuf::as_path).filter(|file| !is_stdout(file)).collect();
    let mut prepared = prepare_with(shared, &typed, &options.from, &tables)?;
    // The `-L` directories are not audited: only the libraries that `-l` names are read there.
    let dirs = prepared.plan.paths.split_off(typed.len() - dirs.len());
    let sinks = sinks(shared, "archive", OUTPUTS)?;
    options.refuse_tables_on_stdout(sinks.stdout.name)?;
    prepared.say_what_is_assumed(shared);
    output_conflicts::check(&prepared.plan, &*prepared.tree, shared, &tables)?;
    apart_from_lines(shared, &tables, options)?;
    let mut asked = ask(options, &prepared, &dirs)?;
    if let Some(link) = asked.question.link.as_ref().filter(|_| !shared.quiet) {
        link.assumed.iter().for_each(|assumed| message::fact(assumed));
    }
    let exports = options.shared || options.export_dynamic;
    if let Some(command) =
        version_script(&asked.question).filter(|_| options.gc_sections && exports)
    {
        bail!("{command}: {GC_SECTIONS}");
    }
    let mut dependents = Dependents::default();
    let (run, view, rendering) = loop {
        let (run, view, rendering) = answered(shared, &prepared, &sinks, &tables, &asked)?;
        let search = (&*asked.end.dirs, asked.end.nesting.modes.is_static);
        let more = dependents.more(&*prepared.tree, (&view, &run.audit.library), search)?;
        if more.is_empty() {
            break (run, view, rendering);
        }
        asked.add_dependents(&more, options, &prepared)?;
    };
    let asked = &asked.question;
    refuse_without_machine(asked, &view, &run.audit.library)?;
    let hides = options.left_out.hiding.first().map(String::as_str).or(version_script(asked));
    if let Some(option) = hides.filter(|_| view.coverage.needs_exports) {
        bail!(
            "{option}: may hide symbols that shared objects need, which is not followed\nhelp: leave it out"
        );
    }
    let look = (prepared.style, &prepared.paths);
    write_files(&sinks, &run, &view, look)?;
    let library = &run.audit.library;
    if let Some(file) = &options.why_extract {
        write(file, |w| lld::why_extract(&view, library, w))?;
    }
    if let Some(file) = &options.archive_stats {
        write(file, |w| lld::archive_stats(&view, library, w))?;
    }
    let status = answer(shared, &sinks, &run, &view, look)?;
    run.finish(shared, rendering, start);
    Ok(status)
}

/// Audits the inputs of the link and answers the question. Also returns the time at which the
/// audit ended.
fn answered(
    shared: &SharedOptions,
    prepared: &Prepared,
    sinks: &ArchiveSinks,
    tables: &[&Path],
    asked: &Asked,
) -> Result<(AuditRun, ArchiveAnswer, Instant)> {
    let (plan, tree) = (asked.plan.clone(), &*prepared.tree);
    // The files that linker scripts name are inputs too.
    output_conflicts::check(&plan, tree, shared, tables)?;
    let read = asked.scripts.iter().map(PathBuf::as_path);
    output_conflicts::apart_from(tree, shared, tables, read)?;
    let progress = Progress::new(prepared.progress);
    let mut walked = walk(&plan, tree, &progress);
    let named = scripts::named(tree, walked.scripts(), &plan.lib_paths);
    output_conflicts::apart_from(tree, shared, tables, named.all())?;
    walked.add_providers(&plan, tree, &named.files);
    let run = AuditRun::new(plan, tree, walked, &prepared.baselines, Parts::default());
    output_conflicts::after(&run.audit, shared, tables)?;
    let rendering = Instant::now();
    let style = prepared.style;
    let files = sinks.files.iter().map(|(output, _)| shown(output, style.plain()));
    let shown = files.fold(shown(sinks.stdout, style), ShownHints::and);
    let source = (&run.audit, &run.plan, tree);
    let view = ArchiveAnswer::new(source, &asked.question, shown).map_err(anyhow::Error::msg)?;
    drop(progress);
    Ok((run, view, rendering))
}

/// The end of the error about an option that changes which sections `--gc-sections` keeps.
const GC_SECTIONS: &str =
    "its effect on --gc-sections is not followed\nhelp: leave out one of the two";

/// Fails if no input tells lld or mold the machine: a script or an empty archive has none. GNU ld
/// has a default (`inferMachineType` in `lld/ELF/Driver.cpp`).
fn refuse_without_machine(
    asked: &ArchiveQuestion,
    view: &ArchiveAnswer,
    library: &cover::ArchiveSet,
) -> Result<()> {
    let Some(link) = &asked.link else { return Ok(()) };
    let mut archives = view.archives.iter().chain(&view.candidates);
    let has_input =
        !view.roots.is_empty() || archives.any(|(archive, _)| library.has_members(*archive));
    let knows_machine = match link.linker {
        cover::Linker::Lld => link.emulation.is_some(),
        cover::Linker::Gnu => true,
        cover::Linker::Mold => false,
    };
    if knows_machine || has_input {
        return Ok(());
    }
    let title = link.linker.title();
    bail!("no object in the link: {title} does not know the machine\nhelp: add an object, or -m")
}

/// The words by which errors name the command VERSION; `None` if no linker script of the link has
/// this command. VERSION hides symbols, as `--version-script` does.
fn version_script(asked: &ArchiveQuestion) -> Option<&'static str> {
    asked.link.as_ref().is_some_and(|link| link.has_version_script).then_some("VERSION of a script")
}

/// The linker options on the command line that have no effect on this link. Fails for an option
/// whose effect the audit does not follow.
fn options_without_effect(options: &ArchiveOptions) -> Result<Vec<&str>> {
    let LeftOut { ignored, hiding, keeping, refused, .. } = &options.left_out;
    if let Some(error) = refused {
        bail!("{error}");
    }
    let exports = options.shared || options.export_dynamic;
    let hiding_counts = hiding.iter().filter(|_| exports);
    let mut counts = keeping.iter().chain(hiding_counts).filter(|_| options.gc_sections);
    if let Some(option) = counts.next() {
        bail!("{option}: {GC_SECTIONS}");
    }
    let is_idle = !options.gc_sections && options.wrap.is_empty();
    let exported = (options.export_dynamic && is_idle).then_some("--export-dynamic");
    let left_out = ignored.iter().chain(hiding).chain(keeping).map(String::as_str);
    Ok(left_out.chain(exported).collect())
}

/// True if the path exists: as typed, in a staging directory or in the sysroot.
fn is_there(shared: &SharedOptions, path: &Path) -> bool {
    let here = DiskTree::new();
    let tops = shared.root.iter().chain(&shared.staged);
    let mut below = tops.map(|top| top.join(path.strip_prefix("/").unwrap_or(path)));
    here.look(path).is_ok() || below.any(|path| here.look(&path).is_ok())
}

/// Runs `linkaudit archive --self`: all files below the directories are candidates for a link, and
/// none is an entry point.
fn installed(shared: &SharedOptions, options: &ArchiveOptions, start: Instant) -> Result<Exit> {
    let prepared = prepare_with(shared, &options.self_dirs, &options.from, &[])?;
    let sinks = sinks(shared, "archive", OUTPUTS)?;
    prepared.say_what_is_assumed(shared);
    output_conflicts::check(&prepared.plan, &*prepared.tree, shared, &[])?;
    apart_from_lines(shared, &[], options)?;
    let (dirs, mut more) = (prepared.plan.paths.clone(), prepared.plan.lib_paths.clone());
    more.extend(compilers::archives(&*prepared.tree));
    let plan = Plan {
        paths: Vec::new(),
        lib_paths: [&*dirs, &*more].concat(),
        self_dirs: dirs.clone(),
        facts: false,
        definitions: true,
        members: true,
        ..prepared.plan.clone()
    };
    let progress = Progress::new(prepared.progress);
    let mut walked = walk(&plan, &*prepared.tree, &progress);
    let named = scripts::named(&*prepared.tree, walked.scripts(), &plan.lib_paths);
    output_conflicts::apart_from(&*prepared.tree, shared, &[], named.all())?;
    walked.add_providers(&plan, &*prepared.tree, &named.files);
    let run = AuditRun::new(plan, &*prepared.tree, walked, &prepared.baselines, Parts::default());
    output_conflicts::after(&run.audit, shared, &[])?;
    let rendering = Instant::now();
    let view =
        ArchiveAnswer::installed(&run.audit, &run.plan, &*prepared.tree, &dirs, options.output());
    drop(progress);
    if view.archives.is_empty() {
        prepared.refuse_other_files(shared, &options.self_dirs)?;
        let dirs: Vec<String> = options.self_dirs.iter().map(|dir| show_path(dir)).collect();
        bail!("{}: no static archive found", dirs.join(", "));
    }
    let look = (prepared.style, &prepared.paths);
    write_files(&sinks, &run, &view, look)?;
    let status = answer(shared, &sinks, &run, &view, look)?;
    run.finish(shared, rendering, start);
    Ok(status)
}

/// Refuses outputs that would overwrite a response file.
fn apart_from_lines(
    shared: &SharedOptions,
    tables: &[&Path],
    options: &ArchiveOptions,
) -> Result<()> {
    let files = options.response_files.iter().map(PathBuf::as_path);
    output_conflicts::apart_from(&DiskTree::new(), shared, tables, files)
}

type ArchiveSinks = Sinks<views::ViewOutput<ArchiveAnswer>>;

fn write_files(
    sinks: &ArchiveSinks,
    run: &AuditRun,
    view: &ArchiveAnswer,
    (style, paths): (Style, &Paths),
) -> Result<()> {
    let subject = run.subject(paths);
    for (output, file) in &sinks.files {
        write(file, |w| (output.render)(&subject, view, style.plain(), w))?;
    }
    Ok(())
}

/// Writes the answer to stdout, and returns the exit status.
fn answer(
    shared: &SharedOptions,
    sinks: &ArchiveSinks,
    run: &AuditRun,
    view: &ArchiveAnswer,
    (style, paths): (Style, &Paths),
) -> Result<Exit> {
    out::stdout(|w| (sinks.stdout.render)(&run.subject(paths), view, style, w))
        .context("cannot write the answer to stdout")?;
    let fails = view.fails() && shared.fail_on != FailOn::Never;
    Ok(match (fails, view.is_complete(run.report.complete)) {
        (true, _) => Exit::Findings,
        (false, false) => Exit::Incomplete,
        (false, true) => Exit::Clean,
    })
}

/// True if the order of the files matters, as it does for lld's tables (`--why-extract`).
fn is_ordered(options: &ArchiveOptions) -> bool {
    let tables = options.why_extract.is_some() || options.archive_stats.is_some();
    let is_position = |typed: &Typed| !matches!(typed, Typed::File(_) | Typed::Order(_));
    options.order.is_some()
        || options.linker.is_some()
        || tables
        || options.typed.iter().any(is_position)
        || !options.entry.is_empty()
        || !options.undefined.is_empty()
        || !options.wrap.is_empty()
        || options.gc_sections && options.export_dynamic
}

/// The question about the link, and the audit that answers it.
struct Asked {
    question: ArchiveQuestion,
    plan: Plan,
    /// The linker scripts that were read.
    scripts: Vec<PathBuf>,
    end: LineEnd,
}

/// The state after the last input of the link line, in which lld adds dependent libraries.
#[derive(Default)]
struct LineEnd {
    /// The directories that are searched for libraries.
    dirs: Vec<PathBuf>,
    nesting: Nesting,
}

impl Asked {
    /// Adds dependent libraries after all inputs.
    fn add_dependents(
        &mut self,
        files: &[PathBuf],
        options: &ArchiveOptions,
        prepared: &Prepared,
    ) -> Result<()> {
        let Some(link) = &mut self.question.link else { return Ok(()) };
        let LineEnd { dirs, nesting } = &mut self.end;
        for path in files {
            let search = (&**dirs, None, nesting.modes.is_static);
            let inputs = scripts::linked(&*prepared.tree, path, link.linker, search)?;
            add_inputs(link, &inputs, LinkArgument::Library, nesting)?;
            self.scripts.extend(inputs.scripts);
            dirs.extend(inputs.dirs);
        }
        refuse_own_operands(link)?;
        self.plan = plan_of(&self.question, options, prepared);
        Ok(())
    }
}

/// Returns the question about the link, and the plan of the audit that answers it. In the question,
/// the files that a script names replace it, and the library found in `dirs` replaces each `-l`.
fn ask(options: &ArchiveOptions, prepared: &Prepared, dirs: &[PathBuf]) -> Result<Asked> {
    let (archives, rest) = prepared.plan.paths.split_at(options.archives.len());
    let (order, objects) = rest.split_at(options.order.as_ref().map_or(0, Vec::len));
    let mut question = ArchiveQuestion {
        objects: objects.to_vec(),
        symbols: bytes(&options.root_symbol),
        all_members: options.all_members,
        output: options.output(),
        gc_sections: options.gc_sections,
        ..ArchiveQuestion::default()
    };
    let (mut scripts, mut end) = (Vec::new(), LineEnd::default());
    if is_ordered(options) {
        let (link, at_end) =
            link(options, prepared, (archives, order, objects), (dirs, &mut scripts))?;
        (question.link, end) = (Some(link), at_end);
    } else {
        let found = scripts::expand(&*prepared.tree, archives, &prepared.plan.lib_paths)?;
        (question.archives, scripts) = (found.files, found.scripts);
    }
    let plan = plan_of(&question, options, prepared);
    Ok(Asked { question, plan, scripts, end })
}

/// The plan of the audit that answers `question`.
fn plan_of(question: &ArchiveQuestion, options: &ArchiveOptions, prepared: &Prepared) -> Plan {
    let mut paths: Vec<PathBuf> = question.objects.clone();
    paths.extend(question.archives.iter().cloned());
    let mut names = question.symbols.clone();
    names.push(GENERATED.into());
    if let Some(link) = &question.link {
        paths.extend(link.items.iter().filter_map(LinkArgument::path).map(Path::to_path_buf));
        names.extend(link.names());
    }
    Plan {
        paths,
        link: question.link.as_ref().map(TypedLink::lazy),
        facts: false,
        definitions: true,
        members: true,
        indexes: linker_of(options) == cover::Linker::Gnu,
        symbols: names,
        // The linker runs in this directory too.
        cwd_stated: prepared.plan.cwd_stated || is_ordered(options),
        ld_library_path: needed_path(options, (&prepared.plan.cwd, &prepared.plan.ld_library_path)),
        ..prepared.plan.clone()
    }
}

/// The directories in which GNU ld searches for libraries that shared objects need, separated by
/// colons. They are the directories of `-rpath-link`, then of `-rpath`, then of LD_LIBRARY_PATH.
/// GNU ld searches them before the DT_RUNPATH of the shared object that needs the library.
/// Relative directories start from `cwd`, the working directory of the linker.
fn needed_path(options: &ArchiveOptions, (cwd, library_path): (&Path, &[u8])) -> Vec<u8> {
    let mut lists: Vec<_> = options.left_out.needed_dirs.iter().collect();
    lists.sort_by_key(|(search, _)| *search);
    let dirs = lists.into_iter().flat_map(|(_, list)| list.as_bytes().split(|byte| *byte == b':'));
    let whole = |dir: &[u8]| {
        if dir.starts_with(b"$") {
            dir.to_vec()
        } else {
            cwd.join(OsStr::from_bytes(dir)).into_os_string().into_vec()
        }
    };
    let mut out: Vec<Vec<u8>> = dirs.map(whole).collect();
    out.extend((!library_path.is_empty()).then(|| library_path.to_vec()));
    out.join(&b':')
}

fn bytes(names: &[OsString]) -> Vec<Box<[u8]>> {
    names.iter().map(|name| name.as_bytes().into()).collect()
}

/// The link as typed: `--root-object` first, then the files and options in their order; and the
/// state at its end. `scripts` gets the linker scripts that were read.
fn link(
    options: &ArchiveOptions,
    prepared: &Prepared,
    (archives, order, objects): (&[PathBuf], &[PathBuf], &[PathBuf]),
    (dirs, scripts): (&[PathBuf], &mut Vec<PathBuf>),
) -> Result<(TypedLink, LineEnd)> {
    let linker = linker_of(options);
    let is_lib = |typed: &Typed| matches!(typed, Typed::Position(PositionalOption::StartLib));
    if linker == cover::Linker::Gnu && options.typed.iter().any(is_lib) {
        bail!("GNU ld has no --start-lib\nhelp: use --linker lld or --linker mold");
    }
    let define = |text: &OsString| {
        let defined = DefsymOption::parse(text.as_bytes(), linker);
        defined
            .with_context(|| format!("--defsym {}: not NAME=EXPRESSION", show_path(text.as_ref())))
    };
    let mut nesting = Nesting::new(options, linker);
    let mut out = TypedLink {
        linker,
        items: objects.iter().cloned().map(LinkArgument::Root).collect(),
        entry: bytes(&options.entry).pop(),
        undefined: bytes(&options.undefined),
        requested: Vec::new(),
        defined: options.defsym.iter().map(define).collect::<Result<_>>()?,
        wraps: options.wrap.iter().map(|name| Wrap::new(name.as_bytes())).collect(),
        allow_shlib_undefined: options.allow_shlib_undefined,
        checks_shared: options.left_out.checks_shared,
        has_version_script: false,
        versioned: options.left_out.versioned.clone(),
        undefined_versions: options.left_out.allows_undefined_versions,
        assumed: Vec::new(),
        export_dynamic: options.export_dynamic,
        emulation: options.left_out.emulation,
        keeps_tls_calls: options.left_out.keeps_tls_calls && !nesting.modes.is_static,
        adds_dependents: linker == cover::Linker::Lld && !options.left_out.ignores_dependents,
    };
    let tree = &*prepared.tree;
    // GNU ld and mold skip a `-l` library for another ELF class or machine. lld refuses it.
    let mut given = objects.iter().chain(archives).chain(order);
    let target = match linker {
        cover::Linker::Lld => None,
        cover::Linker::Gnu | cover::Linker::Mold => {
            given.find_map(|path| scripts::target_of(tree, path))
        }
    };
    let mut dirs = dirs.to_vec();
    let (mut archives, mut order) = (archives.iter().cloned(), order.iter().cloned());
    for typed in &options.typed {
        let search = (&*dirs, target, nesting.modes.is_static);
        let (path, item): (_, fn(PathBuf) -> LinkArgument) = match typed {
            Typed::Position(position) => {
                nesting.enter(*position, linker)?;
                out.items.push(LinkArgument::Position(*position));
                continue;
            }
            Typed::Static(_) | Typed::PushState | Typed::PopState => {
                out.items
                    .extend(nesting.apply(typed, linker)?.into_iter().map(LinkArgument::Position));
                continue;
            }
            Typed::File(_) => (archives.next(), LinkArgument::File),
            Typed::Order(_) => (order.next(), LinkArgument::Added),
            Typed::Library(name) => {
                (Some(scripts::library(tree, name, search)?), LinkArgument::Library)
            }
        };
        if let Some(path) = path {
            let inputs = scripts::linked(tree, &path, linker, search)?;
            let is_script = matches!(typed, Typed::Library(_)) && !inputs.scripts.is_empty();
            let item = if is_script { LinkArgument::File } else { item };
            add_inputs(&mut out, &inputs, item, &nesting)?;
            scripts.extend(inputs.scripts);
            dirs.extend(inputs.dirs);
        }
    }
    refuse_own_operands(&out)?;
    Ok((out, LineEnd { dirs, nesting }))
}

/// The linker whose rules apply to an ordered link: `--linker`, or the default.
fn linker_of(options: &ArchiveOptions) -> cover::Linker {
    options.linker.map_or_else(cover::Linker::default, LinkerOption::linker)
}

/// Writes a table of lld. As for lld, `-` is stdout.
fn write(file: &Path, render: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let written = if is_stdout(file) { out::stdout(render) } else { out::file(file, render) };
    written.with_context(|| format!("cannot write {}", show_path(file)))
}
