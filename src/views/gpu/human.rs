//! The human-readable output of `gpu`: the device code of each file, the matrix of targets and
//! libraries, and the findings. With `--target`, the files without code for that target are listed
//! too.

use super::{CoverageRow, CoverageScope, Gpu, shown};
use crate::audit::Audit;
use crate::catalogue::Level;
use crate::format::gpu::{Compression, Container, ContainerKind};
use crate::gpu::DeviceCoverage;
use crate::gpu::databases::{self, Database};
use crate::order::Arrange as _;
use crate::report::{Style, incomplete};
use crate::text::show;
use crate::views::{Subject, count};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// Maximum number of entries of files, and of findings, without `-v`.
const MOST: usize = 40;
/// Maximum number of members with device code that have entries of their own. An archive with more
/// than this number has one entry. With `-v`, each member has its own entry.
const MOST_MEMBERS: usize = 4;
/// Minimum width, in characters, of the column of one library in the matrix.
const CELL_WIDTH: usize = 4;
/// Minimum width, in characters, of the column of target names in the matrix.
const NAME_WIDTH: usize = 17;

pub(super) fn render(
    subject: &Subject<'_>,
    view: &Gpu,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    if !style.quiet {
        files(subject.audit, style, out)?;
        databases(subject.audit, style, out)?;
        if let Some(all) = view.scopes.first().filter(|scope| !scope.rows.is_empty()) {
            matrix(subject.audit, all, style, out)?;
        }
    }
    answers(subject.audit, view, style, out)?;
    findings(subject, style, out)?;
    summary(subject, view, style, out)
}

/// The containers of device code that share one entry of the output.
#[derive(Default)]
struct ContainerGroup<'a> {
    containers: Vec<&'a Container>,
    /// Number of wrappers (through which programs register device code) whose code is in kpack
    /// files.
    kpack: usize,
    /// The paths of these kpack files.
    kpack_paths: BTreeSet<&'a [u8]>,
    /// Number of archive members with device code, if they share this entry. 0 if each member has
    /// its own entry.
    members: usize,
}

/// Writes each file with its containers and targets. Without `-v`, standalone code objects and
/// bundles in one directory share an entry. The members of an archive share an entry if there are
/// more than [`MOST_MEMBERS`].
fn files(audit: &Audit, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let mut groups: BTreeMap<String, ContainerGroup<'_>> = BTreeMap::new();
    for (file, code) in &audit.devices.files {
        let path = &audit.corpus.files[*file].path;
        let dir = path.parent().filter(|_| !crate::gpu::is_host(code) && !style.verbose);
        let name = match dir {
            Some(dir) => format!("{}/", shown(audit, dir)),
            None => shown(audit, path),
        };
        let members: BTreeSet<_> =
            code.containers.iter().map(|one| one.member.as_deref()).collect();
        let is_folded = members.len() > MOST_MEMBERS && !style.verbose;
        for container in &code.containers {
            let group = match container.member.as_deref().filter(|_| !is_folded) {
                Some(member) => groups.entry(format!("{name}({})", show(member))).or_default(),
                None => groups.entry(name.clone()).or_default(),
            };
            group.containers.push(container);
            group.members = if is_folded { members.len() } else { 0 };
        }
        if code.containers.is_empty() || code.kpack > 0 {
            let group = groups.entry(name).or_default();
            group.kpack += code.kpack;
            group.kpack_paths.extend(code.kpack_paths.iter().map(|path| &**path));
        }
    }
    let most = if style.verbose { usize::MAX } else { MOST };
    for (name, group) in groups.iter().take(most) {
        writeln!(out, "{}", style.bold(name))?;
        for line in describe(group) {
            for line in wrapped(&line, style.columns().saturating_sub(4)) {
                writeln!(out, "    {line}")?;
            }
        }
    }
    if groups.len() > most {
        writeln!(out, "{} more files (-v shows them)", groups.len() - most)?;
    }
    if !groups.is_empty() {
        writeln!(out)?;
    }
    Ok(())
}

/// Writes the kinds, sizes and targets of the databases in each directory.
fn databases(audit: &Audit, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let mut dirs: BTreeMap<String, Vec<&Database>> = BTreeMap::new();
    for database in &audit.devices.databases {
        let dir = database.path.parent().unwrap_or(&database.path);
        dirs.entry(format!("{}/", shown(audit, dir))).or_default().push(database);
    }
    for (dir, all) in &dirs {
        writeln!(out, "{}", style.bold(dir))?;
        let kinds: BTreeSet<_> = all.iter().map(|one| one.name.kind).collect();
        for kind in kinds {
            let own: Vec<_> = all.iter().filter(|one| one.name.kind == kind).collect();
            let what = match kind {
                databases::DatabaseKind::Kernels | databases::DatabaseKind::RocFft => "kernels",
                databases::DatabaseKind::Performance => "tuned parameters",
                databases::DatabaseKind::Find => "algorithms found",
            };
            let bytes = own.iter().map(|one| one.size).fold(0, u64::saturating_add);
            let number = count(own.len(), "database", "databases");
            let targets: BTreeSet<_> =
                own.iter().filter_map(|one| one.name.target.as_ref()).collect();
            let targets: Vec<String> = targets.iter().map(ToString::to_string).collect();
            let line = format!("{number} of {what}, {}: {}", size(bytes), targets.join(" "));
            let line = line.trim_end_matches([':', ' ']);
            for line in wrapped(line, style.columns().saturating_sub(4)) {
                writeln!(out, "    {line}")?;
            }
        }
    }
    if !dirs.is_empty() {
        writeln!(out)?;
    }
    Ok(())
}

/// Format, version and compression of a container.
type Form = (ContainerKind, Option<u16>, Option<Compression>);

/// The lines of an entry: kinds and sizes of containers, and targets.
fn describe(group: &ContainerGroup<'_>) -> Vec<String> {
    let containers = &group.containers;
    let mut kinds: BTreeMap<Form, (usize, u64)> = BTreeMap::new();
    for one in containers {
        let kind = kinds.entry((one.kind, one.version, one.compression)).or_default();
        *kind = (kind.0 + 1, kind.1.saturating_add(one.size));
    }
    let kinds = kinds.into_iter().map(|((kind, version, compression), (n, bytes))| {
        let what = match kind {
            ContainerKind::Bundle => count(n, "bundle", "bundles"),
            ContainerKind::Ccob => count(n, "compressed bundle", "compressed bundles"),
            ContainerKind::OffloadBinary => count(n, "offload binary", "offload binaries"),
            ContainerKind::Elf => count(n, "code object", "code objects"),
            ContainerKind::Kpack => count(n, "kpack file", "kpack files"),
            ContainerKind::Nv => count(n, "NVIDIA fat binary", "NVIDIA fat binaries"),
        };
        let version = version.filter(|_| kind != ContainerKind::Nv).map(|v| format!(" v{v}"));
        let method = compression.map(|method| format!(" {}", method.name()));
        format!(
            "{what}{}{}, {}",
            version.unwrap_or_default(),
            method.unwrap_or_default(),
            size(bytes)
        )
    });
    let mut lines: Vec<String> = kinds.collect();
    if group.members > 0 {
        lines.push(format!("in {} members (-v lists them)", group.members));
    }
    if group.kpack > 0 {
        let wrappers = count(group.kpack, "wrapper", "wrappers");
        let paths: Vec<String> = group.kpack_paths.iter().map(|path| show(path)).collect();
        lines.push(format!("{wrappers}, code in {}", paths.join(" ")));
    }
    let entries = containers.iter().flat_map(|container| &container.entries);
    let versions: BTreeSet<u8> =
        entries.clone().filter_map(|entry| Some(entry.code.as_ref()?.version)).collect();
    if !versions.is_empty() {
        let versions: Vec<String> = versions.iter().map(|version| format!("v{version}")).collect();
        lines.push(format!("code object {}", versions.join(" ")));
    }
    let targets: BTreeSet<String> = entries.filter_map(|e| e.target().map(show)).collect();
    let mut targets: Vec<String> = targets.into_iter().collect();
    targets.arrange_by_key(|target| (target.split(':').next().map_or(0, str::len), target.clone()));
    if !targets.is_empty() {
        lines.push(targets.join(" "));
    }
    lines
}

/// A number of bytes as text, in B, kB or MB.
fn size(bytes: u64) -> String {
    match bytes {
        0..=9_999 => format!("{bytes} B"),
        10_000..=9_999_999 => format!("{} kB", bytes / 1000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}

/// Breaks text at blanks into lines of at most `width` columns.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match out.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => out.push(word.to_owned()),
        }
    }
    out
}

/// The letter that stands for a coverage in the matrix.
fn letter(coverage: DeviceCoverage) -> &'static str {
    match coverage {
        DeviceCoverage::Exact => "E",
        DeviceCoverage::Generic => "G",
        DeviceCoverage::Coerced => "C",
        DeviceCoverage::Spirv => "S",
        DeviceCoverage::None => "-",
    }
}

/// Writes the matrix of targets and numbered libraries. A matrix that is wider than the output has
/// several blocks.
fn matrix(
    audit: &Audit,
    scope: &CoverageScope,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    for (number, row) in scope.rows.iter().enumerate() {
        writeln!(out, "{:>4}  {}", number + 1, style.fit(&shown(audit, &row.path), 6))?;
    }
    writeln!(out)?;
    // A target with settings may be longer than the column: `gfx90a:sramecc+:xnack-`.
    let longest = scope.targets.iter().map(|target| target.to_string().len()).max();
    let name = NAME_WIDTH.max(longest.unwrap_or(0) + 1);
    let cell = CELL_WIDTH.max(scope.rows.len().to_string().len() + 1);
    let room = style.columns().saturating_sub(name).max(cell) / cell;
    let numbered: Vec<(usize, &CoverageRow)> = scope.rows.iter().enumerate().collect();
    for block in numbered.chunks(room) {
        let numbers: Vec<String> = block.iter().map(|(n, _)| format!("{:>cell$}", n + 1)).collect();
        let numbers = numbers.concat();
        writeln!(out, "{}", style.dim(&format!("{:<name$}{numbers}", "target")))?;
        for (at, target) in scope.targets.iter().enumerate() {
            let letters = |(_, row): &(usize, &CoverageRow)| {
                let coverage = row.coverage.get(at).copied().unwrap_or(DeviceCoverage::None);
                let text = format!("{:>cell$}", letter(coverage));
                if coverage == DeviceCoverage::None { style.alarm(&text) } else { text }
            };
            let cells: String = block.iter().map(letters).collect();
            writeln!(out, "{:<name$}{cells}", target.to_string())?;
        }
        writeln!(out)?;
    }
    let legend = format!(
        "E exact, G generic, C coerced, S SPIR-V, - none; loader profile {}: {}",
        scope.profile.name(),
        scope.reason
    );
    for line in wrapped(&legend, style.columns()) {
        writeln!(out, "{}", style.dim(&line))?;
    }
    writeln!(out)
}

/// Writes the libraries and data directories without code for the target of `--target`.
fn answers(audit: &Audit, view: &Gpu, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let Some(target) = &view.target else { return Ok(()) };
    let mut told = BTreeSet::new();
    for scope in &view.scopes {
        for (row, target) in scope.lacking().filter(|(row, _)| told.insert(row.path.clone())) {
            let path = style.bold(&shown(audit, &row.path));
            writeln!(out, "{path}")?;
            for line in wrapped(&scope.why(row, target), style.columns().saturating_sub(4)) {
                writeln!(out, "    {line}")?;
            }
        }
    }
    if told.is_empty() && view.scopes.iter().any(|scope| !scope.rows.is_empty()) {
        let each: BTreeSet<&str> = view
            .scopes
            .iter()
            .flat_map(|s| &s.rows)
            .flat_map(|r| &r.coverage)
            .map(|c| c.name())
            .collect();
        let each: Vec<&str> = each.into_iter().collect();
        writeln!(out, "{target} is served by all device code ({})", each.join(", "))?;
    } else if !told.is_empty() {
        let units =
            count(told.len(), "library or data directory", "libraries and data directories");
        let lack = if told.len() == 1 { "lacks" } else { "lack" };
        writeln!(out, "{} {units} {lack} code for {target}", style.alarm("not served:"))?;
    } else {
        return Ok(());
    }
    writeln!(out)
}

/// Writes the findings about device code, each in one line.
fn findings(subject: &Subject<'_>, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let is_gpu = |rule: &str| rule.starts_with("gpu-");
    let found = subject.report.findings.iter().filter(|finding| is_gpu(&finding.rule));
    let found: Vec<_> = found.collect();
    let most = if style.verbose { usize::MAX } else { MOST };
    for finding in found.iter().take(most) {
        let head = format!("{}[{}]", finding.level.name(), finding.rule);
        let head = if finding.level == Level::Error { style.alarm(&head) } else { head };
        let member = finding.member.as_deref().map(|member| format!("({})", show(member)));
        writeln!(
            out,
            "{head} {}{}: {}",
            shown(subject.audit, &finding.full_path()),
            member.unwrap_or_default(),
            finding.message
        )?;
    }
    if found.len() > most {
        writeln!(out, "{} more findings (-v shows them)", found.len() - most)?;
    }
    Ok(())
}

fn summary(subject: &Subject<'_>, view: &Gpu, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let devices = &subject.audit.devices;
    let containers: usize = devices.files.values().map(|code| code.containers.len()).sum();
    let targets = view.scopes.first().map_or(0, |scope| scope.targets.len());
    if devices.files.is_empty() {
        writeln!(out, "no device code")?;
    } else {
        let files = count(devices.files.len(), "file", "files");
        let bundles = count(containers, "container", "containers");
        let targets = count(targets, "target", "targets");
        writeln!(out, "{files} with device code, {bundles}, {targets}")?;
    }
    incomplete(subject.report, style, out)
}
