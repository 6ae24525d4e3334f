//! Members that use a name as a thread-local variable while another object of the link uses it as
//! an ordinary symbol, or the reverse. GNU ld rejects this even if one of the symbols is undefined
//! (`elf_link_add_object_symbols` in `bfd/elflink.c`). Only names that a member refers to, or that
//! the run looked up in archives, are compared. `linkable` reports duplicate definitions of any
//! name.

use crate::audit::{Audit, Libraries};
use crate::format::archive::LinkFacts;
use crate::format::elf::Object;
use crate::format::elf::tables::Symbol;
use crate::id::{FastMap, FastSet, Id as _, MemberId, NameId};
use crate::text::show;
use object::elf;

#[derive(Default)]
struct Used {
    thread_local: FastSet<NameId>,
    ordinary: FastSet<NameId>,
}

/// The members that use a name as a thread-local variable if another object or library uses it as
/// an ordinary symbol, or the reverse. Also the members that use a name as both. Each member comes
/// with the reason. `facts` must have the names of all thread-local symbols of the members.
pub(super) fn members(
    audit: &Audit,
    linked: (&Object, &Libraries<'_>),
    facts: &FastMap<MemberId, LinkFacts>,
) -> Vec<(MemberId, String)> {
    let library = &audit.library;
    let thread_local: FastMap<MemberId, FastSet<NameId>> = facts
        .iter()
        .map(|(member, facts)| (*member, thread_local(audit, facts)))
        .filter(|(_, names)| !names.is_empty())
        .collect();
    let of_linked = of_linked(audit, linked, &thread_local);
    let all = of_linked.thread_local.iter().chain(thread_local.values().flatten());
    // By the index of a name: true for a thread-local name. This is a vector, because members use
    // hundreds of thousands of names.
    let mut is_thread_local = Vec::new();
    for name in all {
        is_thread_local.resize(library.names(), false);
        is_thread_local[name.index()] = true;
    }
    if is_thread_local.is_empty() {
        return Vec::new();
    }
    let mut out = Vec::new();
    let mut members: Vec<MemberId> = facts.keys().copied().collect();
    members.sort_unstable();
    for member in members {
        let own = thread_local.get(&member);
        if let Some(name) = own.and(facts.get(&member)).and_then(both) {
            let why = format!(
                "uses {} both as a thread-local variable and as an ordinary symbol",
                show(name)
            );
            out.push((member, why));
            continue;
        }
        let is_own = |name: &NameId| own.is_some_and(|own| own.contains(name));
        let mut used = library.symbols(member).map(|(name, _)| name);
        let mixed = used.find(|name| {
            is_thread_local[name.index()] && (!is_own(name) || of_linked.ordinary.contains(name))
        });
        out.extend(mixed.map(|name| {
            let how = if is_own(&name) {
                "as a thread-local variable, and a linked file as an ordinary symbol"
            } else {
                "as an ordinary symbol, and another object as a thread-local variable"
            };
            (member, format!("uses {} {how}", show(library.text(name))))
        }));
    }
    out
}

/// The names of thread-local symbols of a member.
fn thread_local(audit: &Audit, facts: &LinkFacts) -> FastSet<NameId> {
    let symbols = facts.globals.iter().filter(|global| is_thread_local(global.kind));
    symbols.filter_map(|global| audit.library.find(facts.name(global))).collect()
}

/// The first name of a member that is both a thread-local and an ordinary symbol of this member.
fn both(facts: &LinkFacts) -> Option<&[u8]> {
    let names = |wanted: bool| {
        let kinds = facts.globals.iter().filter(move |g| is_thread_local(g.kind) == wanted);
        kinds.map(|global| facts.name(global))
    };
    let ordinary: FastSet<&[u8]> = names(false).collect();
    names(true).find(|name| ordinary.contains(name))
}

fn is_thread_local(kind: u8) -> bool {
    elf::SymbolType(kind) == elf::STT_TLS
}

/// The thread-local names of the object and the libraries, and the names of `members` that these
/// files use as ordinary symbols. `members` has the thread-local names of each member.
fn of_linked(
    audit: &Audit,
    (object, libraries): (&Object, &Libraries<'_>),
    members: &FastMap<MemberId, FastSet<NameId>>,
) -> Used {
    let mut out = Used::default();
    let asked: FastSet<NameId> = members.values().flatten().copied().collect();
    let names: Vec<&[u8]> = asked.iter().map(|name| audit.library.text(*name)).collect();
    let symbols = |object| symbols(object, &names);
    let of_libraries = libraries.objects().flat_map(symbols).filter(Symbol::has_plain_name);
    let all = symbols(object).into_iter().chain(of_libraries);
    for symbol in all.filter(|symbol| elf::SymbolBind(symbol.bind) != elf::STB_LOCAL) {
        let Some(name) = audit.library.find(symbol.name) else { continue };
        if is_thread_local(symbol.kind) {
            out.thread_local.insert(name);
        } else if asked.contains(&name) {
            out.ordinary.insert(name);
        }
    }
    out
}

/// The thread-local symbols of an object, and all symbols that may have one of `names`. No other
/// name is read.
fn symbols<'o>(object: &'o Object, names: &[&[u8]]) -> Vec<Symbol<'o>> {
    let Some(tables) = &object.tables else { return Vec::new() };
    let thread_local = tables.indices().filter(|index| tables.is_thread_local(*index));
    let named = match names {
        [] => Vec::new(),
        _ => tables.indices_of(names.iter().copied()),
    };
    thread_local.chain(named).filter_map(|index| tables.symbol(index)).collect()
}
