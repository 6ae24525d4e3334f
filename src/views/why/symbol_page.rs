//! The page of a symbol: its names, definitions in lookup order, then the references and their
//! bindings. Strong undefined references come first.

use super::human::{Cell, WhyPage, column, display};
use super::symbol::{self, Bind, ReferenceBinding, SymbolAnswer};
use crate::demangle::demangle;
use crate::id::{FileId, RootId};
use crate::order;
use crate::order::Arrange as _;
use crate::report::layout::{name as glued, painted};
use crate::text::show;
use crate::views::count;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// Maximum number of groups of entry points that are shown without `-v`.
const MOST_GROUPS: usize = 3;

/// Definitions in lookup order: the index of each, and true if an object binds to it. The index is
/// `None` for a definition in the entry point itself, so that entry points with the same order
/// share a group.
type Order = Vec<(Option<usize>, bool)>;

impl WhyPage<'_> {
    pub(super) fn symbol(
        &mut self,
        name: &[u8],
        symbol: &SymbolAnswer,
        under: Option<&str>,
    ) -> io::Result<()> {
        let SymbolAnswer { providers, requesters, .. } = symbol;
        self.repeated = repeated(symbol);
        if !self.style.quiet {
            self.names(symbol)?;
            self.scopes(symbol)?;
            self.outside(providers)?;
            self.references(symbol)?;
            self.searched(symbol)?;
            self.steps(symbol)?;
            writeln!(self.out)?;
        }
        let strong = |r: &&symbol::SymbolRequester| !r.weak;
        let unbound = |r: &&symbol::SymbolRequester| r.bound.iter().any(ReferenceBinding::is_open);
        let files = |of: &mut dyn Iterator<Item = &symbol::SymbolRequester>| {
            of.map(|requester| requester.file).collect::<BTreeSet<FileId>>().len()
        };
        let undefined = files(&mut requesters.iter().filter(strong).filter(unbound));
        let result = match (undefined, files(&mut requesters.iter())) {
            (0, 0) => "nothing refers to it".to_owned(),
            (0, n) => format!("referred to by {}", count(n, "file", "files")),
            (undefined, n) => {
                format!("referred to by {}, undefined for {undefined}", count(n, "file", "files"))
            }
        };
        let code = if undefined > 0 { "1;31" } else { "1;32" };
        let defined = count(providers.len(), "definition", "definitions");
        let under = under.map(|entry| format!(" under {entry}")).unwrap_or_default();
        let text = format!("{}: a symbol; {result}; {defined}{under}", glued(&show(name)));
        painted(&text, (&result, code), self.style, self.out)
    }

    /// Writes the raw names, each with its demangled form.
    fn names(&mut self, symbol: &SymbolAnswer) -> io::Result<()> {
        let defined = symbol.providers.iter().map(|provider| &provider.symbol);
        let asked = symbol.requesters.iter().map(|requester| &requester.symbol);
        let raw: BTreeSet<&Vec<u8>> = order::set(defined.chain(asked));
        let names: Vec<(String, String)> =
            raw.into_iter().filter_map(|raw| Some((demangle(raw)?, show(raw)))).collect();
        if names.is_empty() {
            return Ok(());
        }
        self.heading("names")?;
        let column = column(self.style, names.iter().map(|(name, _)| name.clone()));
        for (name, raw) in names.iter().take(self.most()) {
            self.row(3, &[Cell::new(name.clone(), column), Cell::new(raw.clone(), 0)])?;
        }
        self.more(names.len())
    }

    /// Writes the definitions in lookup order, for each group of entry points with the same order.
    fn scopes(&mut self, symbol: &SymbolAnswer) -> io::Result<()> {
        let mut by_root: BTreeMap<RootId, Vec<(u32, usize, u32)>> = BTreeMap::new();
        for (at, provider) in symbol.providers.iter().enumerate() {
            for place in &provider.places {
                let entry = (place.position, at, place.taken);
                by_root.entry(place.root).or_default().push(entry);
            }
        }
        let mut groups: Vec<(Order, Vec<RootId>)> = Vec::new();
        for (root, list) in &mut by_root {
            list.arrange();
            let main = self.audit.closures.roots[*root].root.file;
            let is_main = |at: usize| symbol.providers[at].file == main;
            let key = list.iter().map(|(_, at, n)| (Some(*at).filter(|at| !is_main(*at)), *n > 0));
            let key: Order = key.collect();
            match groups.iter_mut().find(|(known, _)| *known == key) {
                Some((_, roots)) => roots.push(*root),
                None => groups.push((key, vec![*root])),
            }
        }
        groups.arrange_by_key(|(_, roots)| std::cmp::Reverse(roots.len()));
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

    fn scope(&mut self, symbol: &SymbolAnswer, list: &[(u32, usize, u32)]) -> io::Result<()> {
        let paths = list.iter().map(|(_, at, _)| self.path(symbol.providers[*at].file));
        let column = column(self.style, paths);
        let versions = list.iter().map(|(_, at, _)| self.versioned(&symbol.providers[*at]));
        let version = self::column(self.style, versions);
        for (position, at, taken) in list {
            let provider = &symbol.providers[*at];
            let path = self.path(provider.file);
            let is_taken = |(_, at, taken): &&(u32, usize, u32)| {
                *taken > 0 && symbol.providers[*at].symbol == provider.symbol
            };
            let taken_at = list.iter().find(is_taken).map(|(position, ..)| *position);
            let what = match (taken, taken_at) {
                (0, _) if provider.bind == Bind::Local => "local".to_owned(),
                (0, Some(first)) if *position > first => "shadowed".to_owned(),
                (0, Some(_)) => "skipped".to_owned(),
                (0, None) => "not used".to_owned(),
                (n, _) => {
                    let files = count(usize::try_from(*n).unwrap_or(usize::MAX), "file", "files");
                    format!("taken by {files}")
                }
            };
            let what = match (taken, provider.bind) {
                (0, _) => Cell::dim(what),
                (_, Bind::Weak | Bind::Unique) => {
                    Cell::new(format!("{what} ({})", provider.bind.name()), 0)
                }
                _ => Cell::new(what, 0),
            };
            let text = Cell::new(self.versioned(provider), version);
            let position = Cell::new(format!("{position:>3}"), 0);
            self.row(3, &[position, Cell::new(path, column), text, what])?;
        }
        Ok(())
    }

    /// Writes definitions that are in no scope, if their file is audited or below `--lib-path`.
    fn outside(&mut self, providers: &[symbol::SymbolProvider]) -> io::Result<()> {
        let facts = |file: FileId| &self.audit.corpus.files[file];
        let at_hand = |provider: &&symbol::SymbolProvider| {
            let file = facts(provider.file);
            provider.places.is_empty() && (file.audited || file.provider)
        };
        let outside: Vec<&symbol::SymbolProvider> = providers.iter().filter(at_hand).collect();
        if outside.is_empty() {
            return Ok(());
        }
        self.heading("definitions that no entry point loads")?;
        for provider in outside.iter().take(self.most()) {
            let member = provider.member.as_deref().map(|name| format!("({})", show(name)));
            let path = format!("{}{}", self.path(provider.file), member.unwrap_or_default());
            self.row(8, &[Cell::new(path, 0), Cell::new(self.versioned(provider), 0)])?;
        }
        self.more(outside.len())
    }

    fn references(&mut self, symbol: &SymbolAnswer) -> io::Result<()> {
        if symbol.requesters.is_empty() {
            return Ok(());
        }
        self.heading("referred to by")?;
        let mut sorted: Vec<&symbol::SymbolRequester> = symbol.requesters.iter().collect();
        // Strong undefined references come first.
        sorted.arrange_by_key(|r| r.weak || !r.bound.iter().any(ReferenceBinding::is_open));
        let shown = &sorted[..sorted.len().min(self.most())];
        let column = column(self.style, shown.iter().map(|r| self.path(r.file)));
        let name = self::column(self.style, shown.iter().map(|r| self.asked(r)));
        for requester in shown {
            let (mut path, mut text) = (self.path(requester.file), self.asked(requester));
            for Reached { what, state, searched, roots } in self.reached(symbol, requester) {
                let is_everywhere = !text.is_empty() && requester.bound.len() == roots.len();
                let first = roots.first().filter(|_| !is_everywhere);
                let under = first.map(|root| format!("under {}", self.roots(*root, roots.len())));
                let cells = [
                    Cell::new(std::mem::take(&mut path), column),
                    Cell::new(std::mem::take(&mut text), name),
                    what,
                    Cell::dim(under.unwrap_or_default()),
                ];
                self.row(3, &cells)?;
                if let Some(state) = state {
                    self.detail("check", &state)?;
                }
                if let Some(files) = searched {
                    self.searched_files("searched", &files)?;
                }
            }
            self.near_misses(requester)?;
        }
        self.more(sorted.len())
    }

    /// The results of a reference, each with the entry points that have this result.
    fn reached(&self, symbol: &SymbolAnswer, requester: &symbol::SymbolRequester) -> Vec<Reached> {
        let mut out: Vec<Reached> = Vec::new();
        for bound in &requester.bound {
            let ReferenceBinding { root, provider, used, stopped, state, searched } = bound;
            let what = match provider.map(|at| symbol.providers[at].file) {
                Some(file) if file == requester.file => Cell::new("-> itself", 0),
                Some(file) => Cell::new(format!("-> {}", self.path(file)), 0),
                None if *stopped => Cell::alarm("not bound: the loader stops before it"),
                None if !used => Cell::dim("no relocation uses it"),
                None if requester.weak => Cell::new("undefined, allowed", 0),
                None => Cell::alarm("UNDEFINED"),
            };
            let state = state.map(|state| self.state(requester, state));
            let reached = Reached { what, state, searched: searched.clone(), roots: vec![*root] };
            match out.iter_mut().find(|known| known.is_same(&reached)) {
                Some(known) => known.roots.push(*root),
                None => out.push(reached),
            }
        }
        if out.is_empty() {
            let what = Cell::dim("no entry point loads it");
            out.push(Reached { what, state: None, searched: None, roots: Vec::new() });
        }
        out
    }
}

/// A result of looking up a reference, and the entry points that have this result.
struct Reached {
    what: Cell,
    state: Option<String>,
    searched: Option<Vec<FileId>>,
    roots: Vec<RootId>,
}

impl Reached {
    fn is_same(&self, other: &Self) -> bool {
        self.what.text() == other.what.text()
            && self.state == other.state
            && self.searched == other.searched
    }
}

/// Demangled names that several raw names of an answer share, such as the variants of a destructor.
fn repeated(symbol: &SymbolAnswer) -> BTreeSet<String> {
    let defined = symbol.providers.iter().map(|provider| &provider.symbol);
    let asked = symbol.requesters.iter().map(|requester| &requester.symbol);
    let raw: BTreeSet<&Vec<u8>> = order::set(defined.chain(asked));
    let mut known: BTreeSet<String> = BTreeSet::new();
    let texts = raw.into_iter().map(|raw| display(raw));
    order::set(texts.filter(|text| !known.insert(text.clone())))
}

impl WhyPage<'_> {
    /// A symbol, with its raw name if another symbol has the same text.
    fn symbol_text(&self, raw: &[u8]) -> String {
        let text = display(raw);
        if self.repeated.contains(&text) { format!("{text} [{}]", show(raw)) } else { text }
    }

    /// A definition as `nm -D` writes it.
    fn versioned(&self, provider: &symbol::SymbolProvider) -> String {
        let name = self.symbol_text(&provider.symbol);
        match &provider.version {
            Some(version) => {
                let at = if provider.default { "@@" } else { "@" };
                format!("{name}{at}{}", show(version))
            }
            None => name,
        }
    }

    /// A reference as `nm -D` writes it.
    fn asked(&self, requester: &symbol::SymbolRequester) -> String {
        let name = self.symbol_text(&requester.symbol);
        let version = requester.version.as_deref().map(|version| format!("@{}", show(version)));
        let weak = if requester.weak { " (weak)" } else { "" };
        format!("{name}{}{weak}", version.unwrap_or_default())
    }
}
