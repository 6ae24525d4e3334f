//! `human`: grouped by file and rule, with the summary and the next command to type last, because
//! build logs show only their last lines. Names of symbols are demangled here and nowhere earlier.

use super::model::{Causes, Facts, Finding, Report};
use super::{Style, summary};
use crate::catalogue::Level;
use crate::demangle::demangle;
use crate::finding::{Evidence, EvidenceKind, Fix, Intent, Proof, When};
use crate::text::{show, show_path};
use std::io::{self, Write};
use std::path::Path;

/// Symbols shown for one group unless everything is wanted.
const MOST: usize = 20;
/// The rule whose findings are symbols without definition.
const UNDEFINED: &str = "undefined-symbol";
/// Paths tried that are shown for one library.
const MOST_TRIED: usize = 6;

pub(super) fn render(
    report: &Report,
    _: Option<&dyn Facts>,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut page = Page { report, causes: Causes::of(report), style, out };
    let findings = &report.findings;
    let mut prefix: Option<&Path> = None;
    let mut above: Option<&Finding> = None;
    let mut at = 0;
    while at < findings.len() {
        let group = group(&findings[at..]);
        at += group.len();
        if style.quiet && group[0].level != Level::Error {
            continue;
        }
        let here = group[0].file.prefix.as_deref();
        if here != prefix {
            if let Some(here) = here {
                writeln!(page.out, "{}", page.style.bold(&format!("in {}", show_path(here))))?;
            }
            prefix = here;
        }
        let finding = &group[0];
        let known = above.filter(|above| !style.verbose && page.is_searched_alike(above, finding));
        page.group(group, known)?;
        if known.is_none() && page.evidence(finding, EvidenceKind::Tried).next().is_some() {
            above = Some(finding);
        }
    }
    summary::write(report, style, page.out)
}

/// Findings that are shown together: symbols of one file by one rule with the same origin, anything else
/// alone.
fn group(findings: &[Finding]) -> &[Finding] {
    let first = &findings[0];
    let alike = |finding: &&Finding| {
        finding.rule == first.rule
            && finding.file == first.file
            && first.symbol.is_some()
            && finding.root == first.root
            && finding.level == first.level
    };
    &findings[..findings.iter().take_while(alike).count().max(1)]
}

struct Page<'a> {
    report: &'a Report,
    causes: Causes<'a>,
    style: Style,
    out: &'a mut dyn Write,
}

impl<'a> Page<'a> {
    /// All evidence of one kind for a finding.
    fn evidence(
        &self,
        finding: &'a Finding,
        kind: EvidenceKind,
    ) -> impl Iterator<Item = &'a Evidence> + use<'a> {
        self.causes.evidence(finding, kind)
    }

    /// The evidence of one kind for all findings of a group.
    fn of_group(&self, group: &'a [Finding], kind: EvidenceKind) -> Vec<&'a Evidence> {
        group.iter().flat_map(|finding| self.evidence(finding, kind)).collect()
    }

    /// True if both searches for a library tried the same paths and have the same candidates. One
    /// program without a search path may cause forty such findings.
    fn is_searched_alike(&self, above: &'a Finding, finding: &'a Finding) -> bool {
        let same = |kind| self.evidence(above, kind).eq(self.evidence(finding, kind));
        above.rule == finding.rule
            && above.file.prefix == finding.file.prefix
            && finding.symbol.is_none()
            && same(EvidenceKind::Tried)
            && same(EvidenceKind::Candidate)
    }

    /// Shows a group; `above` is what was shown before with the same search.
    fn group(&mut self, group: &'a [Finding], above: Option<&'a Finding>) -> io::Result<()> {
        let finding = &group[0];
        let subject = self.style.bold(&show_path(&finding.file.path));
        let tag = self.style.tag(finding, self.report.is_input(finding));
        if finding.rule == UNDEFINED {
            let symbols = if group.len() == 1 {
                "a symbol that nothing defines".to_owned()
            } else {
                format!("{} symbols that nothing defines", group.len())
            };
            writeln!(self.out, "{tag} {subject}: {symbols}")?;
            self.symbols(group)?;
        } else if let [_] = group {
            writeln!(self.out, "{tag} {subject}: {}", finding.message)?;
        } else {
            writeln!(self.out, "{tag} {subject}: {} symbols", group.len())?;
            self.messages(group)?;
        }
        match above {
            Some(above) => {
                let text = format!("as for {}, above", show_path(&above.file.path));
                self.line("tried", &text)?;
            }
            None => self.tried(finding)?,
        }
        self.referrers(group)?;
        if above.is_none() {
            self.candidates(group)?;
        }
        self.fixes(group)?;
        self.explained(finding)?;
        self.chain(finding)?;
        writeln!(self.out)
    }

    fn line(&mut self, label: &str, text: &str) -> io::Result<()> {
        let label = self.style.dim(&format!("{label:<8}"));
        let text = self.style.fit(text, 13);
        writeln!(self.out, "    {label} {text}")
    }

    fn more(&mut self, hidden: usize, what: &str) -> io::Result<()> {
        if hidden == 0 {
            return Ok(());
        }
        let plural = match (hidden, what) {
            (1, _) => "",
            (_, "fix") => "es",
            _ => "s",
        };
        let text = format!("    … and {hidden} more {what}{plural} (-v shows all)");
        writeln!(self.out, "{}", self.style.dim(&text))
    }

    fn symbols(&mut self, group: &'a [Finding]) -> io::Result<()> {
        let most = if self.style.verbose { usize::MAX } else { MOST };
        for finding in group.iter().take(most) {
            let raw = finding.symbol.as_deref().unwrap_or_default();
            let mut name = demangle(raw).unwrap_or_else(|| show(raw));
            if let Some(version) = &finding.version {
                name = format!("{name}, version {}", show(version));
            }
            let when = match finding.when {
                Some(When::Load) => "at load",
                Some(When::Call) => "at call",
                None => "",
            };
            self.line(when, &name)?;
            if self.style.verbose && demangle(raw).is_some() {
                self.line("", &show(raw))?;
            }
        }
        self.more(group.len().saturating_sub(most), "symbol")
    }

    /// Findings about symbols that bind, each with what is wrong with it.
    fn messages(&mut self, group: &'a [Finding]) -> io::Result<()> {
        let most = if self.style.verbose { usize::MAX } else { MOST };
        for finding in group.iter().take(most) {
            self.line("", &finding.message)?;
        }
        self.more(group.len().saturating_sub(most), "symbol")
    }

    fn tried(&mut self, finding: &'a Finding) -> io::Result<()> {
        let tried: Vec<&Evidence> = self.evidence(finding, EvidenceKind::Tried).collect();
        // Subdirectories for processors, and directories that are not there, say little.
        let plain = tried.iter().filter(|evidence| !evidence.minor).count();
        let wanted = |evidence: &&&Evidence| self.style.verbose || plain == 0 || !evidence.minor;
        let most = if self.style.verbose { usize::MAX } else { MOST_TRIED };
        let mut shown: Vec<&Evidence> = tried.iter().filter(wanted).copied().collect();
        // Default directories are the same for all; what the objects name themselves comes first.
        shown.sort_by_key(|evidence| {
            !self.style.verbose && evidence.how.as_deref() == Some("default")
        });
        shown.truncate(most);
        for evidence in &shown {
            let path = evidence.path.as_deref().map(show_path).unwrap_or_default();
            let how = evidence.how.as_deref().map(|how| format!(" ({how})")).unwrap_or_default();
            let reason = evidence.reason.as_deref().map(|text| format!(": {text}"));
            self.line("tried", &format!("{path}{how}{}", reason.unwrap_or_default()))?;
        }
        self.more(tried.len() - shown.len(), "path")
    }

    /// Members that refer to symbols of the group, each once, with the archive they came from.
    fn referrers(&mut self, group: &'a [Finding]) -> io::Result<()> {
        let name = |path: &Path| show_path(path.file_name().map_or(path, Path::new));
        let mut shown: Vec<String> = Vec::new();
        for evidence in self.of_group(group, EvidenceKind::Reference) {
            let (Some(path), Some(member)) = (&evidence.path, &evidence.member) else { continue };
            let from = evidence.archive.as_deref().map(|path| format!(", from {}", name(path)));
            let text = format!("{}({}{})", name(path), show(member), from.unwrap_or_default());
            if !shown.contains(&text) {
                shown.push(text);
            }
        }
        let most = if self.style.verbose { usize::MAX } else { MOST_TRIED };
        for text in shown.iter().take(most) {
            self.line("referred", &format!("by {text}"))?;
        }
        self.more(shown.len().saturating_sub(most), "member")
    }

    /// Files at hand, each once, with how many of the group's symbols it defines.
    fn candidates(&mut self, group: &'a [Finding]) -> io::Result<()> {
        type File<'a> = (String, Option<&'a str>);
        let mut files: Vec<(File<'_>, Vec<&[u8]>)> = Vec::new();
        for evidence in self.of_group(group, EvidenceKind::Candidate) {
            let mut file = evidence.path.as_deref().map(show_path).unwrap_or_default();
            if let Some(member) = &evidence.member {
                file = format!("{file}({})", show(member));
            }
            let file = (file, evidence.reason.as_deref());
            let symbol = evidence.symbol.as_deref().unwrap_or_default();
            match files.iter_mut().find(|(known, _)| *known == file) {
                Some((_, symbols)) => symbols.push(symbol),
                None => files.push((file, vec![symbol])),
            }
        }
        files.sort_by_key(|(_, symbols)| std::cmp::Reverse(symbols.len()));
        let most = if self.style.verbose { usize::MAX } else { MOST };
        for ((file, reason), symbols) in files.iter().take(most) {
            let reason = reason.map(|reason| format!(", {reason}")).unwrap_or_default();
            let comma = if reason.is_empty() { "" } else { "," };
            let what = match symbols.as_slice() {
                _ if group.len() == 1 => String::new(),
                [symbol] => {
                    let symbol = demangle(symbol).unwrap_or_else(|| show(symbol));
                    format!("{comma} defines {symbol}")
                }
                several => format!("{comma} defines {} of them", several.len()),
            };
            self.line("at hand", &format!("{file}{reason}{what}"))?;
        }
        self.more(files.len().saturating_sub(most), "file")
    }

    /// What would make the group go away, each thing once, under a line for all that is alike.
    fn fixes(&mut self, group: &'a [Finding]) -> io::Result<()> {
        let mut fixes: Vec<&Fix> = group.iter().flat_map(|finding| &finding.fix).collect();
        // Of one thing that is proven for some only, the doubt is what is worth saying.
        fixes.sort_by(|a, b| {
            let [of_a, of_b] = [a, b].map(|fix| (fix.intent, &fix.list, &fix.set, &fix.entry));
            of_a.cmp(&of_b).then(b.proof.cmp(&a.proof))
        });
        fixes.dedup_by_key(|fix| (fix.intent, &fix.list, &fix.set, &fix.entry));
        let most = if self.style.verbose { usize::MAX } else { MOST };
        let hidden = fixes.len().saturating_sub(most);
        fixes.truncate(most);
        let place = |fix: &Fix| (fix.intent, fix.list.clone(), fix.set.clone());
        fixes.sort_by_cached_key(|fix| (place(fix), fix.proof.clone()));
        for alike in fixes.chunk_by(|a, b| place(a) == place(b) && a.proof == b.proof) {
            let Some(first) = alike.first() else { continue };
            let list = first.list.as_deref().map(show_path).unwrap_or_default();
            let what = match (first.intent, &first.set) {
                (Intent::AddToList, Some(set)) => format!("add to {} of {list}", show(set)),
                (Intent::AddToList, None) => format!("add to {list}"),
                (Intent::LinkArchive, _) => "link with".to_owned(),
            };
            let sure = match &first.proof {
                Proof::Proven(_) => "(proven)".to_owned(),
                Proof::Unknown(why) => format!("(not proven: {why})"),
            };
            self.line("fix:", &format!("{what} {sure}"))?;
            for fix in alike {
                self.line("", &fix.entry.as_deref().map(show).unwrap_or_default())?;
            }
        }
        self.more(hidden, "fix")
    }

    fn explained(&mut self, finding: &'a Finding) -> io::Result<()> {
        let explained: Vec<&Evidence> = self.evidence(finding, EvidenceKind::Explained).collect();
        if explained.is_empty() {
            return Ok(());
        }
        let n = explained.len();
        let plural = if n == 1 { "reference" } else { "references" };
        self.line("explains", &format!("{n} undefined {plural} that only it could satisfy"))?;
        if self.style.verbose {
            for evidence in explained {
                let symbol = evidence.symbol.as_deref().unwrap_or_default();
                self.line("", &demangle(symbol).unwrap_or_else(|| show(symbol)))?;
            }
        }
        Ok(())
    }

    fn chain(&mut self, finding: &'a Finding) -> io::Result<()> {
        let hops: Vec<String> = self
            .evidence(finding, EvidenceKind::Chain)
            .filter_map(|hop| hop.path.as_deref().map(show_path).or_else(|| hop.reason.clone()))
            .collect();
        if hops.len() > 1 {
            self.line("chain", &hops.join(" > "))?;
        }
        // A root that was found somehow is the host of one.
        let roots = self.evidence(finding, EvidenceKind::Root).filter(|root| root.how.is_none());
        let roots = roots.count();
        if roots > 1 {
            self.line("roots", &format!("{roots} roots are affected"))?;
        }
        Ok(())
    }
}
