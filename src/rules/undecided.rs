//! `undecided`: questions that the audit could not answer, such as the loader of a file or the
//! result of a policy's requirement.

use super::{Query, Rule};
use crate::audit::{LeftOut, Undecided};
use crate::catalogue::INPUT;
use crate::finding::{CauseHint, Finding, Findings};
use crate::format::archive::MemberKind;
use crate::format::elf::{Foreign, Object, Role, machine};
use crate::format::gpu::DeviceCode;
use crate::id::{FastSet, FileId};
use crate::order::Arrange as _;
use crate::package::Located;
use crate::policy::Arch;
use crate::resolve::FoundBy;
use crate::resolve::hosts::Unhosted;
use crate::resolve::loader::{Family, Loader, NoLoader};
use crate::text::last_part;
use crate::text::show;
use std::sync::Arc;

pub(super) static RULE: Rule =
    Rule::new("undecided", INPUT, "a question could not be decided", DOCS, check)
        .keys(&["symbol", "version", "library", "detail"]);

const DOCS: &str = "\
## What it does

Reports every question without an answer:

- The loader of a program follows unknown rules, or does not exist on this system.
- A result depends on the processor or on the current directory.
- A path leads to `/proc/self`, `/dev/fd` or below, where each process finds different files. linkaudit reads
  nothing there.
- linkaudit had to guess the default directories.
- No plugin matches a `--host`, or the host program stops before it can load plugins.
- A policy has a requirement about files that were not given.
- A list of archives has a value whose names are unknown (`deps-list-drift`).
- `gpu --deep` found a compressed bundle of more than 1 GiB, or bundles of more than 4 GiB in all.
- A CMake package takes too long to evaluate, is nested too deeply, or includes a file whose name is not known.
  Packages are evaluated only for the rules of the group `package-text`.
- In `diff`: one side has no symbols, ran other rules than the other side, or has damaged files.

If this system has no loader for a machine, linkaudit still checks everything that depends only on the files and
policies. These are versions, forbidden names, search paths, and symbols among the available libraries. Libraries that a
policy provides are assumed to exist. For each machine, the report has one cause, which lists all libraries that could
not be searched for.

If a file has more than 100,000 needed libraries or undefined symbols, only the first 100,000 are checked.

A file of another system is reported if the command line names it: an object of Android or a BSD, a kernel
module, firmware, a core file. In a directory and in a list of `--files-from`, such files are only counted.

## Why it matters

A check without an answer has not passed.

## Example

```text
incomplete[undecided] bin/app: unknown loader: /lib/ld-uClibc.so.0
```

## How to fix

Audit the file on a system that has its loader, or with `--root`. Remove relative and empty entries from
search paths, or set `--cwd` and `--cpu` as for the real run. The GLOB of `--host FILE=GLOB` matches paths
below the prefix: `lib/**/*.so`. If a policy requires files, audit the whole prefix that the policy is about, or set
the rule of the requirement to `allow`.

## Limits

A result counts as dependent on the processor only if the loader found a library in a directory for certain
processors.
";

fn check(query: &Query<'_>) -> Findings {
    let mut out = Vec::new();
    for (file, why) in query.without_loader() {
        let Some(object) = query.view().object(*file) else { continue };
        if matches!(why, NoLoader::Refused(_)) {
            continue;
        }
        let interp = object.interp().map(show);
        let machine = machine::name(object.header.target());
        let message = match (why, interp) {
            (NoLoader::UnknownFamily, Some(interp)) => {
                format!("unknown loader: {interp}")
            }
            (NoLoader::UnknownFamily, None) => "unknown loader".into(),
            (NoLoader::UnknownMachine, _) => format!("loader rules of {machine} are not known"),
            (NoLoader::NotHere | NoLoader::Refused(_), _) => {
                format!("this system has no loader for {machine}")
            }
        };
        out.push(query.about(RULE.id, *file, message));
    }
    out.extend(absent(query));
    out.extend(query.foreign().iter().filter_map(|found| foreign(query, *found)));
    for (_, closure) in query.entry_points() {
        let loader = query.loader(closure);
        let by_cpu = closure.by_cpu() && !query.plan().cpu_stated;
        // The finding about a host program covers all plugins that it loads.
        let by_cwd = closure.by_cwd() && !closure.host().is_some_and(|host| host.by_cwd());
        let by_cwd = by_cwd && !query.plan().cwd_stated;
        let by_process =
            closure.by_process() && !closure.host().is_some_and(|host| host.by_process());
        let guessed = loader.guessed.filter(|_| closure.host().is_none());
        let cases = [
            (by_cpu, "what it loads depends on the processor", Some("--cpu")),
            (by_cwd, "what it loads depends on the current directory", Some("--cwd")),
            (by_process, "what it loads depends on the process: a path leads into /proc", None),
            (guessed.is_some(), guessed.unwrap_or_default(), None),
        ];
        for (_, fact, option) in cases.iter().filter(|(holds, ..)| *holds) {
            let located = query.locate(closure.root.file);
            let advice = option.map_or(String::new(), |option| format!("; set it with {option}"));
            let mut finding = Finding::new(RULE.id, located, format!("{fact}{advice}"));
            finding.detail = Some(fact.as_bytes().to_vec());
            finding.cause = option.map(|option| {
                let title = format!(
                    "{}{advice}",
                    fact.replace("what it loads depends", "the libraries depend")
                );
                CauseHint::MissingOption { option, title }
            });
            finding.root = Some(query.shared_path(closure.root.file));
            out.push(finding);
        }
    }
    out.extend(super::unanswered::check(query, RULE.id));
    out.extend(hosts(query));
    out.extend(members_outside(query));
    out.extend(left_out(query));
    out.extend(bundles(query));
    out.extend(cmake_packages(query));
    out
}

/// The objects that a loader loads, in words: the machine and the libc.
fn objects_of(machine: &str, family: Family) -> String {
    let musl = if family == Family::Glibc { "" } else { " with musl" };
    format!("{machine}{musl}")
}

/// Findings about entry points whose loader this system lacks, if the entry points need a library
/// that no policy provides. All findings about one machine and loader family have one cause.
/// Programs whose interpreter another finding reports are left out.
fn absent<'a>(query: &'a Query<'_>) -> impl Iterator<Item = Box<Finding>> + use<'a> {
    let closures = || query.entry_points().map(|(_, closure)| closure);
    // A sysroot without any loader may be a staging directory.
    let is_absent = |loader: &Loader| loader.is_absent && loader.family == Family::Glibc;
    let is_bare =
        query.plan().has_root && closures().all(|closure| is_absent(query.loader(closure)));
    let stage = if is_bare { " (if DIR is a staging directory, use --staged DIR)" } else { "" };
    let reported: FastSet<FileId> =
        query.bad_interpreters().iter().map(|(file, _)| *file).collect();
    closures().filter_map(move |closure| {
        let loader = query.loader(closure);
        let file = closure.root.file;
        let is_open = loader.is_absent && !reported.contains(&file);
        let object = query.view().object(file).filter(|_| is_open)?;
        let edges = closure.edges().iter().filter(|edge| edge.how == FoundBy::Provided);
        let needed = edges.map(|edge| query.text(edge.raw)).chain(object.interp().map(last_part));
        let policy = query.policy();
        // A policy that provides libc provides its loader too.
        let has_libc = policy.provided.iter().any(|provided| provided.soname.starts_with("libc."));
        let paths = loader.machine.loaders;
        let is_loader = |name: &[u8]| {
            name.starts_with(b"ld-musl-") || paths.iter().any(|at| last_part(at.as_bytes()) == name)
        };
        let arch = Arch::of_machine(loader.machine.name);
        let is_there = |name: &[u8]| policy.provides(name, arch) || has_libc && is_loader(name);
        let mut needed: Vec<&[u8]> = needed.filter(|name| !is_there(name)).collect();
        needed.arrange();
        needed.dedup();
        let (first, others) = needed.split_first()?;
        let objects = objects_of(loader.machine.name, loader.family);
        let more = match others.len() {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let lost = format!("{}{more} cannot be searched for{stage}", show(first));
        let message = format!("this system has no loader for {objects}: {lost}");
        let mut finding = query.about(RULE.id, file, message);
        finding.root = Some(query.shared_path(file));
        finding.cause = Some(CauseHint::NoLoader(objects));
        Some(finding)
    })
}

/// A finding about a file that the command line names and that is not for this system.
fn foreign(query: &Query<'_>, (file, foreign): (FileId, Foreign)) -> Option<Box<Finding>> {
    let object = query.view().object(file)?;
    let what = foreign.what();
    let message = if foreign == Foreign::Machine {
        format!("loader rules of {} are not known", machine::name(object.header.target()))
    } else if foreign.is_system() {
        format!("{what} {}: its loader's rules are not known", noun(object))
    } else {
        format!("{what}: no loader for it on this system")
    };
    Some(query.about(RULE.id, file, message))
}

fn noun(object: &Object) -> &'static str {
    match object.role {
        Role::Program | Role::Static => "program",
        Role::Shared => "library",
        Role::Relocatable | Role::Core | Role::Debug | Role::Device | Role::Broken => "object",
    }
}

/// `detail` of a finding about a host program as a whole.
const OPTION: &str = "--host";

/// Findings about programs of `--host` that load no plugin.
fn hosts(query: &Query<'_>) -> Findings {
    let Unhosted { unusable, idle, stopped, .. } = &query.unhosted();
    let unusable = unusable.iter().map(|number| {
        let path = &query.host_option(*number).path;
        let located = Arc::new(query.prefixes().locate(path));
        (located, OPTION, "is not a dynamically linked program, but --host names it".to_owned())
    });
    let idle = idle.iter().map(|(number, host)| {
        let host = query.locate(*host);
        match &query.host_option(*number).plugins {
            Some(glob) => {
                let glob = glob.text();
                (host, glob, format!("no shared object matches its --host GLOB {glob}"))
            }
            None => (
                host,
                OPTION,
                "--host names it, but no shared object is left for it to load".to_owned(),
            ),
        }
    });
    let stopped = stopped.iter().map(|(host, plugins)| {
        let plural = if *plugins == 1 { "" } else { "s" };
        let message = format!("does not start: {plugins} plugin{plural} not checked");
        (query.locate(*host), "plugins", message)
    });
    let finding = |(located, detail, message): (Arc<Located>, &str, String)| {
        let mut finding = Finding::new(RULE.id, located, message);
        finding.detail = Some(detail.as_bytes().to_vec());
        finding
    };
    unusable.chain(idle).chain(stopped).map(finding).collect()
}

/// Findings about files with more needs or symbols than the audit checks. The counts are not part
/// of the fingerprint.
fn left_out(query: &Query<'_>) -> Findings {
    let finding = |LeftOut { file, what, all, judged }: LeftOut| {
        let message = format!("{all} {what}: only the first {judged} are checked");
        let mut finding = query.about(RULE.id, file, message);
        finding.detail = Some(what.as_bytes().to_vec());
        finding
    };
    query.left_out().into_iter().map(finding).collect()
}

/// Findings about compressed bundles that are too large to be checked.
fn bundles(query: &Query<'_>) -> Findings {
    let files = query.devices().files.iter().filter(|(_, code)| !code.unchecked.is_empty());
    let finding = |(file, code): (&FileId, &DeviceCode)| {
        let what = "not inflated: more than 1 GiB in one or 4 GiB in all";
        let count = code.unchecked.len();
        let bundles = if count == 1 { "compressed bundle" } else { "compressed bundles" };
        let mut finding = query.about(RULE.id, *file, format!("{count} {bundles} {what}"));
        finding.detail = Some(b"compressed bundles not inflated".to_vec());
        finding
    };
    files.map(finding).collect()
}

/// Findings about CMake files whose evaluation stopped early. Rules do not see defects after the
/// command at which the evaluation stopped.
fn cmake_packages(query: &Query<'_>) -> Findings {
    let finding = |(path, reason): &Undecided| {
        let message = format!("not evaluated to its end: {reason}");
        let mut finding = query.about_text(RULE.id, path, message);
        finding.detail = Some(reason.as_bytes().to_vec());
        finding
    };
    query.package_text().undecided.iter().map(finding).collect()
}

/// Findings about members of thin archives that lie outside of the PATHs of the command line.
fn members_outside(query: &Query<'_>) -> Findings {
    let mut out = Findings::new();
    for (_, entry) in query.library().entries() {
        let members = entry.members.list.iter();
        for member in members.filter(|member| member.kind == MemberKind::Outside) {
            let name = entry.members.name(member);
            // `detail` is part of the fingerprint, so its text never changes.
            let fact = "is a member outside of what was named, and was not opened";
            let text = "outside the given paths, not opened; name its directory with --lib-path";
            let message = format!("{}: {text}", show(name));
            let mut finding = query.about(RULE.id, entry.file, message);
            finding.member = Some(name.to_vec());
            finding.detail = Some(fact.as_bytes().to_vec());
            out.push(finding);
        }
    }
    out
}
