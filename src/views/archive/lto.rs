//! The effect of LTO objects on an answer. LTO objects contain intermediate language, and their
//! symbols are known. The compiler translates them after the linker has resolved all symbols: code
//! generation adds references, and optimisation removes some.

use crate::cover::{ArchiveSet, Coverage, CoverageQuestion, ReferredBy, UndefinedName};
use crate::id::MemberId;

/// The function to which code generation refers most often. A link that does not define this
/// function probably lacks the C library and the compiler's runtime.
pub const GENERATED: &[u8] = b"memcpy";

/// The effect of linked objects in intermediate language on an answer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LtoEffect {
    /// Number of linked objects in intermediate language whose symbols are known.
    pub(super) objects: usize,
    /// True if the real link may differ from the answer. Either only LTO objects refer to an
    /// undefined name, or the link order is given, and no input defines [`GENERATED`] or `unlisted`
    /// is a name. Without a link order, these do not count, because the question is not about the C
    /// library.
    pub(super) is_uncertain: bool,
    /// A function of the C library to which an LTO object may refer without a symbol. An archive of
    /// the link defines it, in a member that is not extracted.
    pub(super) unlisted: Option<&'static str>,
}

impl LtoEffect {
    /// The effect on `coverage`, the answer to `question`. With `--all-members` there is no link,
    /// and so no effect.
    pub(super) fn new(question: &CoverageQuestion<'_>, coverage: &Coverage) -> Self {
        if question.all_members {
            return Self::default();
        }
        let library = question.library;
        let members = coverage.order.iter().filter(|member| is_lto(library, **member)).count();
        let objects = members
            + question.roots.iter().filter(|root| root.lto && root.opaque.is_none()).count();
        let is_linked = question.link.is_some() && objects > 0;
        let unlisted = if is_linked { unlisted(question, coverage) } else { None };
        let mut undefined = coverage.undefined.iter();
        let is_uncertain = is_linked && !defines(question, coverage, GENERATED)
            || unlisted.is_some()
            || objects > 0 && undefined.any(|one| only_lto_refers(question, one));
        Self { objects, is_uncertain, unlisted }
    }
}

/// The first function of the C library to which intermediate language may refer without a symbol,
/// and that only a member defines which is not extracted. The linker may extract it after LTO.
fn unlisted(question: &CoverageQuestion<'_>, coverage: &Coverage) -> Option<&'static str> {
    let library = question.library;
    let of_roots = question.roots.iter().flat_map(|root| &root.unlisted).copied();
    let of_members = coverage.order.iter().flat_map(|member| library.unlisted(*member));
    let mut names: Vec<&str> = of_roots.chain(of_members).collect();
    names.sort_unstable();
    names.dedup();
    let is_in_archive = |name: &str| {
        let found = library.find(name.as_bytes()).into_iter();
        let mut found = found.flat_map(|name| library.definitions(name));
        found.any(|found| question.archives.contains(&library.archive_of(found.member)))
    };
    let mut names = names.into_iter();
    names.find(|name| is_in_archive(name) && !defines(question, coverage, name.as_bytes()))
}

/// Removes from `coverage` the undefined names that the linker perhaps does not report, and returns
/// these names. Only intermediate language refers to them, or only it defines them. LTO drops
/// functions that a program does not use, code that is never reached, and, for shared objects too,
/// copies of functions of other files (`available_externally`) and functions that `--defsym`
/// replaces. The symbol table does not tell these references from others. LTO may also drop a
/// definition to which only shared objects refer.
pub(super) fn take_droppable(
    question: &CoverageQuestion<'_>,
    coverage: &mut Coverage,
) -> Vec<UndefinedName> {
    if question.all_members {
        return Vec::new();
    }
    let only_defined = &coverage.only_lto_defines;
    let is_droppable = |one: &mut UndefinedName| {
        only_lto_refers(question, one) || only_defined.contains(&one.symbol)
    };
    coverage.undefined.extract_if(.., is_droppable).collect()
}

/// True if only objects in intermediate language refer to the name.
fn only_lto_refers(question: &CoverageQuestion<'_>, undefined: &UndefinedName) -> bool {
    !undefined.by.is_empty()
        && undefined.by.iter().all(|by| match by {
            ReferredBy::Root(at) => question.roots.get(*at).is_some_and(|root| root.lto),
            ReferredBy::Member(member) => is_lto(question.library, *member),
            ReferredBy::Asked | ReferredBy::EntryPoint | ReferredBy::LibraryCall => false,
        })
}

/// True for a member in intermediate language whose symbols are known.
fn is_lto(library: &ArchiveSet, member: MemberId) -> bool {
    let member = library.member(member);
    member.kind.is_lto() && !member.is_opaque()
}

/// True if a file that is linked defines `name`.
fn defines(question: &CoverageQuestion<'_>, coverage: &Coverage, name: &[u8]) -> bool {
    let library = question.library;
    let in_root = || {
        let symbols = question.roots.iter().flat_map(|root| &root.symbols);
        symbols.filter(|(_, kind)| kind.is_definition()).any(|(symbol, _)| **symbol == *name)
    };
    let in_member = || {
        let found = library.find(name).into_iter().flat_map(|name| library.definitions(name));
        found.map(|definition| definition.member).any(|member| coverage.order.contains(&member))
    };
    let in_shared = || question.objects.iter().flatten().any(|o| o.satisfies_link(name));
    (question.provided)(name) || in_shared() || in_root() || in_member()
}
