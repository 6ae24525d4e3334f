//! The page of a symbol: definitions in the order of lookup, then what refers to it and where that
//! leads, what is undefined first.

use super::human::{Page, column, display};
use super::symbol::{self, Bind, Bound, Symbol};
use crate::id::{FileId, RootId};
use crate::text::show;
use crate::views::count;
use std::collections::BTreeMap;
use std::io;

/// Groups of roots that are told apart, unless everything is wanted.
const MOST_GROUPS: usize = 3;

/// Definitions in the order of lookup, each with whether somebody takes it; one of the root itself,
/// whichever root that is, has no place among the providers. Roots with the same order are alike.
type Order = Vec<(Option<usize>, bool)>;

impl Page<'_> {
    pub(super) fn symbol(&mut self, name: &[u8], symbol: &Symbol) -> io::Result<()> {
        let Symbol { providers, requesters } = symbol;
        if !self.style.quiet {
            self.scopes(symbol)?;
            self.outside(providers)?;
            self.references(symbol)?;
            writeln!(self.out)?;
        }
        let strong = |r: &&symbol::Requester| !r.weak;
        let unbound = |r: &&symbol::Requester| {
            r.bound.iter().any(|bound| bound.used && bound.provider.is_none())
        };
        let undefined = requesters.iter().filter(strong).filter(unbound).count();
        let verdict = match (undefined, requesters.len()) {
            (0, 0) => "nothing refers to it".to_owned(),
            (0, n) => format!("referred to by {}", count(n, "file", "files")),
            (undefined, n) => {
                format!("referred to by {}, undefined for {undefined}", count(n, "file", "files"))
            }
        };
        let verdict = self.style.paint(if undefined > 0 { "1;31" } else { "1;32" }, &verdict);
        let defined = count(providers.len(), "definition", "definitions");
        writeln!(self.out, "{}: a symbol; {verdict}; {defined}", show(name))
    }

    /// Definitions in the order of lookup, for each group of roots in which it is the same.
    fn scopes(&mut self, symbol: &Symbol) -> io::Result<()> {
        let mut by_root: BTreeMap<RootId, Vec<(u32, usize, u32)>> = BTreeMap::new();
        for (at, provider) in symbol.providers.iter().enumerate() {
            for place in &provider.places {
                let entry = (place.position, at, place.taken);
                by_root.entry(place.root).or_default().push(entry);
            }
        }
        let mut groups: Vec<(Order, Vec<RootId>)> = Vec::new();
        for (root, list) in &mut by_root {
            list.sort_unstable();
            let main = self.audit.closures.roots[*root].root.file;
            let is_main = |at: usize| symbol.providers[at].file == main;
            let key = list.iter().map(|(_, at, n)| (Some(*at).filter(|at| !is_main(*at)), *n > 0));
            let key: Order = key.collect();
            match groups.iter_mut().find(|(known, _)| *known == key) {
                Some((_, roots)) => roots.push(*root),
                None => groups.push((key, vec![*root])),
            }
        }
        groups.sort_by_key(|(_, roots)| std::cmp::Reverse(roots.len()));
        let most = if self.style.verbose { usize::MAX } else { MOST_GROUPS };
        for (_, roots) in groups.iter().take(most) {
            let Some(first) = roots.first() else { continue };
            let heading = format!("in the order of lookup of {}", self.roots(*first, roots.len()));
            self.heading(&heading)?;
            self.scope(symbol, &by_root[first])?;
        }
        if groups.len() > most {
            let text = format!("   … and {} other orders (-v shows all)", groups.len() - most);
            writeln!(self.out, "{}", self.style.dim(&text))?;
        }
        Ok(())
    }

    fn scope(&mut self, symbol: &Symbol, list: &[(u32, usize, u32)]) -> io::Result<()> {
        let paths = list.iter().map(|(_, at, _)| self.path(symbol.providers[*at].file));
        let column = column(self.style, paths);
        let versions = list.iter().map(|(_, at, _)| versioned(&symbol.providers[*at]));
        let version = versions.map(|text| text.chars().count()).max().unwrap_or(0);
        let taken_at = list.iter().find(|(.., taken)| *taken > 0).map(|(position, ..)| *position);
        for (position, at, taken) in list {
            let provider = &symbol.providers[*at];
            let path = self.path(provider.file);
            let what = match (taken, taken_at) {
                (0, _) if provider.bind == Bind::Local => "not for others".to_owned(),
                (0, Some(first)) if *position > first => "shadowed".to_owned(),
                (0, Some(_)) => "passed over".to_owned(),
                (0, None) => "nothing takes it".to_owned(),
                (n, _) => {
                    let files = count(usize::try_from(*n).unwrap_or(usize::MAX), "file", "files");
                    format!("taken by {files}")
                }
            };
            let what = match (taken, provider.bind) {
                (0, _) => self.style.dim(&what),
                (_, Bind::Weak | Bind::Unique) => format!("{what} ({})", provider.bind.name()),
                _ => what,
            };
            let text = versioned(provider);
            writeln!(self.out, "   {position:>3}  {path:column$}  {text:version$}  {what}")?;
        }
        Ok(())
    }

    /// Definitions at hand that are in no scope.
    fn outside(&mut self, providers: &[symbol::Provider]) -> io::Result<()> {
        let facts = |file: FileId| &self.audit.corpus.files[file];
        let at_hand = |provider: &&symbol::Provider| {
            let file = facts(provider.file);
            provider.places.is_empty() && (file.audited || file.provider)
        };
        let outside: Vec<&symbol::Provider> = providers.iter().filter(at_hand).collect();
        if outside.is_empty() {
            return Ok(());
        }
        self.heading("at hand, in the scope of no root")?;
        for provider in outside.iter().take(self.most()) {
            let member = provider.member.as_deref().map(|name| format!("({})", show(name)));
            let path = format!("{}{}", self.path(provider.file), member.unwrap_or_default());
            writeln!(self.out, "        {path}  {}", versioned(provider))?;
        }
        self.more(outside.len())
    }

    fn references(&mut self, symbol: &Symbol) -> io::Result<()> {
        if symbol.requesters.is_empty() {
            return Ok(());
        }
        self.heading("referred to by")?;
        let mut sorted: Vec<&symbol::Requester> = symbol.requesters.iter().collect();
        // What is undefined comes first.
        sorted.sort_by_key(|r| r.weak || r.bound.iter().all(|bound| bound.provider.is_some()));
        let shown = &sorted[..sorted.len().min(self.most())];
        let column = column(self.style, shown.iter().map(|r| self.path(r.file)));
        let names = shown.iter().map(|r| asked(r).chars().count());
        let name = names.max().unwrap_or(0);
        for requester in shown {
            let path = self.path(requester.file);
            let text = asked(requester);
            for (number, (what, roots)) in self.answers(symbol, requester).iter().enumerate() {
                let start = if number == 0 {
                    format!("   {path:column$}  {text:name$}")
                } else {
                    format!("   {:column$}  {:name$}", "", "")
                };
                let under = if number == 0 && requester.bound.len() == roots.len() {
                    String::new()
                } else {
                    let first = roots.first().map(|root| self.roots(*root, roots.len()));
                    self.style.dim(&format!("  under {}", first.unwrap_or_default()))
                };
                writeln!(self.out, "{start}  {what}{under}")?;
            }
        }
        self.more(sorted.len())
    }

    /// What a reference binds to, with the roots under which it does.
    fn answers(
        &self,
        symbol: &Symbol,
        requester: &symbol::Requester,
    ) -> Vec<(String, Vec<RootId>)> {
        let mut out: Vec<(String, Vec<RootId>)> = Vec::new();
        for Bound { root, provider, used } in &requester.bound {
            let what = match provider.map(|at| symbol.providers[at].file) {
                Some(file) if file == requester.file => "-> itself".to_owned(),
                Some(file) => format!("-> {}", self.path(file)),
                None if !used => self.style.dim("no relocation uses it"),
                None if requester.weak => "undefined, and may be".to_owned(),
                None => self.style.alarm("UNDEFINED"),
            };
            match out.iter_mut().find(|(known, _)| *known == what) {
                Some((_, roots)) => roots.push(*root),
                None => out.push((what, vec![*root])),
            }
        }
        if out.is_empty() {
            out.push((self.style.dim("no root loads it"), Vec::new()));
        }
        out
    }
}

/// A definition as `nm -D` writes it.
fn versioned(provider: &symbol::Provider) -> String {
    let name = display(&provider.symbol);
    match &provider.version {
        Some(version) => {
            let at = if provider.default { "@@" } else { "@" };
            format!("{name}{at}{}", show(version))
        }
        None => name,
    }
}

/// A reference as `nm -D` writes it.
fn asked(requester: &symbol::Requester) -> String {
    let name = display(&requester.symbol);
    let version = requester.version.as_deref().map(|version| format!("@{}", show(version)));
    let weak = if requester.weak { " (weak)" } else { "" };
    format!("{name}{}{weak}", version.unwrap_or_default())
}
